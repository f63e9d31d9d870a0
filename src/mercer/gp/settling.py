"""The zero of derivatives that are known up to intervals, without the values of the function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import eigh

from mercer.check import Array
from mercer.errors import MercerError
from mercer.gp.search import held, updated

Derivatives: TypeAlias = Callable[[Array], tuple[Array, Array]]
"""The gradient g of a function to be minimised, and H: its part along v is right to √(vᵀHv)."""

STEPS = 40
"""More than any search took; one from a fit to some of the points takes three to six."""

LONGEST = 1.5
"""No logarithm of a parameter moves by more in one step."""

TURN = 0.5
"""A step is too long where the slope along it has turned to this share of what it was."""

SHORTER = 0.25
"""What is tried again of a step that has left the domain of the function."""


@dataclass(frozen=True)
class Directions:
    r"""Directions in which a gradient has uncorrelated errors and a curvature of 1.

    .. math:: V^\top B V = I, \qquad V^\top H V = \mathrm{diag}(s_1^2, s_2^2, \dots)

    ``slopes`` are the parts of the gradient along the columns of V, ``halves`` their s.

    >>> along = Directions.of(np.array([6.0, 1.0]), np.diag([1.0, 4.0]), np.diag([4.0, 1.0]))
    >>> along.step, along.errors
    (array([-1.5,  0. ]), array([1.75, 3.  ]))
    """

    V: Array
    slopes: Array
    halves: Array

    @staticmethod
    def of(g: Array, H: Array, B: Array) -> Directions:
        """Find them for a gradient g."""
        squares, V = eigh(H, B) if len(g) else (g, B)
        halves = np.sqrt(np.maximum(squares, 0.0))
        return Directions(np.asarray(V), np.asarray(V.T @ g), halves)

    @property
    def is_over(self) -> bool:
        """Whether no slope can be told from 0."""
        return bool(np.all(np.abs(self.slopes) <= self.halves))

    @property
    def step(self) -> Array:
        """Newton's step along the directions whose slope can be told from 0, and no others."""
        return np.asarray(-self.V @ np.where(np.abs(self.slopes) > self.halves, self.slopes, 0.0))

    @property
    def errors(self) -> Array:
        """How far each coordinate can be from the zero of the exact gradient."""
        return np.asarray(np.abs(self.V) @ (np.abs(self.slopes) + self.halves))


@dataclass(frozen=True)
class Settled:
    """Where a search ended: the point, the free derivatives there and what bounds hold.

    It has converged where no slope along any of the `Directions` that bounds leave can be told
    from 0. ``errors`` are how far each coordinate can be off.
    """

    x: Array
    gradient: Array
    curvature: Array
    errors: Array
    is_held: Array
    is_converged: bool


def settle(derivatives: Derivatives, x: Array, B: Array, bounds: Array, tol: float) -> Settled:
    """Follow quasi-Newton steps from a good guess B of the curvature until derivatives vanish.

    A step that is too long is not taken, but the curvature it has shown makes the next shorter.
    One that meets a bound ends there: cut in one coordinate alone it could lead uphill.
    A sampled value has the noise of its own probes, so that it and the derivatives would be
    lowest at different points: no value is asked for. Nothing below ``tol`` counts either: it is
    added to what is not known of each derivative.

    >>> line = lambda x: (4.0 * (x - 3.0), np.array([[0.01]]))
    >>> settle(line, np.zeros(1), np.eye(1), np.array([[-9.0, 9.0]]), 0.0).x
    array([3.])
    >>> settle(line, np.zeros(1), np.eye(1), np.array([[-9.0, 2.5]]), 0.0).is_held
    array([ True])
    """
    g, H = derivatives(x)
    floor, longest = tol**2 * np.eye(len(x)), LONGEST
    for left in reversed(range(STEPS + 1)):
        is_held = held(x, g, bounds)
        along = _along(~is_held, g, H + floor, B)
        if along.is_over or left == 0:
            break
        direction = _direction(x, is_held, bounds, g, H + floor, B)
        trial = np.clip(x + _share(x, direction, bounds, longest) * direction, *bounds.T)
        step = trial - x
        try:
            new, new_H = derivatives(trial)
        except MercerError:
            longest = SHORTER * float(np.max(np.abs(step)))
            continue
        longest = min(LONGEST, longest / SHORTER)
        B = updated(B, step, new - g)
        if float(new @ step) <= -TURN * float(g @ step):
            x, g, H = trial, new, new_H
    errors = np.zeros_like(x)
    errors[~is_held] = along.errors
    return Settled(x, np.where(is_held, 0.0, g), B, errors, is_held, along.is_over)


def _along(free: Array, g: Array, H: Array, B: Array) -> Directions:
    """Return the directions of the free coordinates."""
    inside = np.ix_(free, free)
    return Directions.of(g[free], H[inside], B[inside])


def _direction(x: Array, is_held: Array, bounds: Array, g: Array, H: Array, B: Array) -> Array:
    """Return Newton's step of the free coordinates, those at a bound not across it."""
    while True:
        direction = np.zeros_like(x)
        direction[~is_held] = _along(~is_held, g, H, B).step
        leaves = held(x, -direction, bounds)
        if not np.any(leaves):
            return direction
        is_held = is_held | leaves


def _share(x: Array, direction: Array, bounds: Array, longest: float) -> float:
    """Return how much of a direction, at most all, meets no bound and is not too long.

    >>> box = np.array([[0.0, 1.0], [0.0, 9.0]])
    >>> _share(np.zeros(2), np.array([2.0, 3.0]), box, 9.0)
    0.5
    """
    low, high = bounds.T
    room = np.minimum(np.where(direction > 0.0, high - x, x - low), longest)
    moves = direction != 0.0
    return float(np.min(room[moves] / np.abs(direction[moves]), initial=1.0))
