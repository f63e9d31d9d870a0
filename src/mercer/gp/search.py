"""The maximum of a likelihood: several starts on some of the points, then all points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.optimize import Bounds, minimize

from mercer.check import Array
from mercer.display import Shown

Objective: TypeAlias = Callable[[Array], tuple[float, Array]]
"""A function to be minimised with its gradient; it is infinite where there is no likelihood."""

STEPS = 100
"""More quasi-Newton steps than any fit took; from a start on part of the points it is some ten."""

HALVINGS = 20

SPREAD = 3.0
"""Further starts lie within this many powers of e of the first."""

LEAST_GAIN = 1e-12
"""A step that should lower the objective by less than this share is lost in rounding."""

HIDDEN_GAIN = 1e-8
"""So is one by less than this share if no shorter step lowers the objective at all."""

START_GAIN = 1e-6
"""A start ends where a step lowers the objective by less than this share; a descent follows."""

NEAR = 1e-9
"""A logarithm this near to its bound is at the bound."""

DIFFERENCE = 1e-4
"""Of the logarithms, for second derivatives by differences of gradients."""


@dataclass(frozen=True, repr=False)
class Optimum(Shown):
    """The end of a search for the largest likelihood, and how far to trust it.

    ``gradient_norm`` is the largest derivative per observation, in the logarithms of the free
    parameters. The search has converged if that is below the tolerance, or if the next step would
    gain less than rounding. ``at_bounds`` names the parameters at their bounds, ``evaluations``
    counts evaluations on all points, and ``starts`` are the values reached from each start on a
    part of the points. With priors the log posterior density takes the place of the likelihood.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "value": "the log likelihood, or log posterior density",
        "gradient_norm": "the largest derivative left",
        "is_converged": "whether the search ended at an optimum",
        "at_bounds": "parameters that a bound holds",
        "evaluations": "on all points",
        "starts": "values that the starts reached",
    }

    value: float
    gradient_norm: float
    is_converged: bool
    at_bounds: tuple[str, ...]
    evaluations: int
    starts: tuple[float, ...]


def starts(first: Array, bounds: Array, count: int, seed: int | None) -> list[Array]:
    """Return the first start and others around it, within the bounds.

    >>> [s.tolist() for s in starts(np.zeros(1), np.array([[0.0, 0.0]]), 2, 0)]
    [[0.0], [0.0]]
    """
    rng = np.random.default_rng(seed)
    others = [first + rng.uniform(-SPREAD, SPREAD, len(first)) for _ in range(count - 1)]
    return [np.clip(start, bounds[:, 0], bounds[:, 1]) for start in (first, *others)]


def best_of(objective: Objective, begins: Sequence[Array], bounds: Array) -> tuple[Array, Array]:
    """Return the best point that any start reaches, and the values of all."""
    box = Bounds(*bounds.T)
    ends = [minimize(objective, start, jac=True, method="L-BFGS-B", bounds=box) for start in begins]
    values = np.array([float(end.fun) for end in ends])
    return np.asarray(ends[int(np.argmin(values))].x), values


def curvature(objective: Objective, x: Array, bounds: Array) -> Array:
    """Return the second derivatives by differences of gradients, made positive definite.

    >>> np.round(curvature(lambda x: (float(x @ x), 2.0 * x), np.ones(2), np.full((2, 2), 9.0)), 6)
    array([[2., 0.],
           [0., 2.]])
    """
    rows = []
    for e in np.eye(len(x)):
        # Towards the inside of the bounds.
        h = DIFFERENCE if float(e @ x) + DIFFERENCE <= float(e @ bounds[:, 1]) else -DIFFERENCE
        rows.append((objective(x + h * e)[1] - objective(x)[1]) / h)
    return definite(np.array(rows))


def definite(second: Array) -> Array:
    """Return second derivatives made symmetric and positive definite.

    >>> definite(np.diag([-4.0, 0.0]))
    array([[4.   , 0.   ],
           [0.   , 0.004]])
    """
    values, axes = np.linalg.eigh(0.5 * (second + second.T))
    least = 1e-3 * max(float(np.max(np.abs(values), initial=0.0)), 1e-12)
    return np.asarray((axes * np.maximum(np.abs(values), least)) @ axes.T)


@dataclass(frozen=True)
class Descent:
    """The end of a descent: the point, its value, free gradient, curvature and what bounds hold.

    It has converged where the gradient is below the tolerance, or a full step would gain nothing
    that rounding does not hide.
    """

    x: Array
    value: float
    gradient: Array
    curvature: Array
    is_held: Array
    is_converged: bool
    evaluations: int


def descend(objective: Objective, x: Array, B: Array, bounds: Array, tol: float) -> Descent:
    """Minimise by the quasi-Newton method of Broyden and others from a good guess B of curvature.

    >>> square = lambda x: (float((x - 3.0) @ (x - 3.0)), 2.0 * (x - 3.0))
    >>> descend(square, np.zeros(1), 2.0 * np.eye(1), np.array([[-9.0, 2.5]]), 1e-9).x
    array([2.5])
    """
    low, high = bounds.T
    value, slope = objective(x)
    evaluations, is_converged = 1, False
    is_held = held(x, slope, bounds)
    for _ in range(STEPS):
        free = ~is_held
        is_converged = not np.any(free) or float(np.max(np.abs(slope[free]))) <= tol
        if is_converged:
            break
        direction = np.zeros_like(x)
        direction[free] = -np.linalg.solve(B[np.ix_(free, free)], slope[free])
        gain = -0.5 * float(slope @ direction) / (1.0 + abs(value))
        is_converged = gain <= LEAST_GAIN
        if is_converged:
            break
        length = 1.0
        for _ in range(HALVINGS):
            trial = np.clip(x + length * direction, low, high)
            new_value, new_slope = objective(trial)
            evaluations += 1
            if new_value <= value + 1e-4 * float(slope @ (trial - x)):
                break
            length *= 0.5
        else:
            is_converged = gain <= HIDDEN_GAIN
            break
        B = updated(B, trial - x, new_slope - slope)
        x, value, slope = trial, new_value, new_slope
        is_held = held(x, slope, bounds)
    free_slope = np.where(is_held, 0.0, slope)
    return Descent(x, value, free_slope, B, is_held, is_converged, evaluations)


def updated(B: Array, step: Array, change: Array) -> Array:
    """Return the curvature after a step that changed the gradient, where it changed upwards.

    >>> updated(np.eye(2), np.array([2.0, 0.0]), np.array([6.0, 0.0]))
    array([[3., 0.],
           [0., 1.]])
    """
    if float(step @ change) <= 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return B
    image = B @ step
    B = B + np.outer(change, change) / (change @ step)
    return np.asarray(B - np.outer(image, image) / (step @ image))


def held(x: Array, slope: Array, bounds: Array) -> Array:
    """Return which coordinates a bound keeps from going on."""
    low, high = bounds.T
    return np.asarray(((x <= low + NEAR) & (slope > 0)) | ((x >= high - NEAR) & (slope < 0)))
