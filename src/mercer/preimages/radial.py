"""Pre-images for functions of a distance: a fixed point, and positions from distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.check import Array
from mercer.kernels.squares import squared_distances
from mercer.preimages.profile import Profile
from mercer.preimages.targets import CANCELLED, Targets

SHORTEST = 1e-9
"""Distances below this share of the usual one are taken to be it: a kink has no slope at 0."""

SMALLEST_SUM = 1e-3
"""A sum of slopes below this share of the sum of their moduli is replaced by it: it may be 0."""

HALVINGS = 30
"""A step that still goes down after so many halvings is none: the point is the best it can be."""


class Found(NamedTuple):
    """Points, one for each target, and whether the search for each came to its end."""

    points: Array
    converged: Array


def usual_distance(points: Array) -> float:
    """Return the root mean squared distance of points to their mean, 1 if it is 0."""
    spread = float(np.sqrt(np.sum(np.var(points, axis=0))))
    return spread or 1.0


def fixed_point(
    targets: Targets, profile: Profile, starts: Array, *, steps: int, tol: float
) -> Found:
    r"""Climb to a point where the sum of kernels is stationary, from a start for each target.

    .. math:: x \leftarrow \frac{\sum_i g_i h'(s_i)\, x_i}{\sum_i g_i h'(s_i)}, \quad
        s_i = \|x - x_i\|^2

    For the Gaussian h' is proportional to h and this is the rule of Mika et al. (1998). Weights
    g have both signs, so that the sum below may vanish or change its sign. The step is therefore
    taken as one uphill, :math:`\nabla/(2|\Sigma|)` with the sum kept away from 0, and halved until
    :math:`\sum_i g_i h(s_i)` grows: each step decreases the distance to the target.
    """
    Y = targets.points / profile.lengths
    unit = usual_distance(Y)
    x, converged = starts / profile.lengths, np.zeros(len(starts), dtype=bool)
    for rows in targets.rows(5):
        climber = _Climber(profile, Y, targets.weights(rows), unit)
        x[rows], converged[rows] = climber.climb(x[rows], steps, tol * unit)
    return Found(x * profile.lengths, converged)


class _Climber:
    """The search of some targets at once."""

    def __init__(self, profile: Profile, Y: Array, weights: Array, unit: float) -> None:
        self.profile, self.Y, self.weights, self.unit = profile, Y, weights, unit

    def climb(self, x: Array, steps: int, tol: float) -> Found:
        x, converged = x.copy(), np.zeros(len(x), dtype=bool)
        active = np.arange(len(x))
        state = self._state(x, active)
        for _ in range(steps):
            if not active.size:
                break
            move = self._move(x[active], state.squares, active)
            taken, state = self._uphill(x[active], move, state, active)
            x[active] += taken
            is_still = np.sqrt(np.sum(taken**2, axis=1)) <= tol
            converged[active] = np.sqrt(np.sum(move**2, axis=1)) <= tol
            if is_still.any():
                active, state = active[~is_still], state.of(~is_still)
        return Found(x, converged)

    def _state(self, x: Array, which: Array) -> _State:
        squares = np.maximum(squared_distances(x, self.Y), 0.0)
        terms = self.weights[which] * self.profile.value(squares)
        heights = terms.sum(axis=1)
        return _State(squares, heights, CANCELLED * np.abs(terms, out=terms).sum(axis=1))

    def _move(self, x: Array, squares: Array, which: Array) -> Array:
        """Return the step to the fixed point, or one in its direction."""
        slopes = self.weights[which] * self.profile.slope(squares, SHORTEST * self.unit)
        total, moduli = slopes.sum(axis=1), np.abs(slopes).sum(axis=1)
        divisor = np.maximum(-total, SMALLEST_SUM * moduli)
        move: Array = total[:, None] * x - slopes @ self.Y
        move /= np.where(divisor > 0.0, divisor, 1.0)[:, None]
        return move

    def _uphill(self, x: Array, move: Array, state: _State, which: Array) -> tuple[Array, _State]:
        """Return the moves, each halved until it does not go down, and where they lead."""
        taken, after = move.copy(), self._state(x + move, which)
        least = state.heights - state.rounding
        for _ in range(HALVINGS):
            down = np.flatnonzero(after.heights < least)
            if not down.size:
                return taken, after
            taken[down] *= 0.5
            after.put(down, self._state(x[down] + taken[down], which[down]))
        down = np.flatnonzero(after.heights < least)
        taken[down] = 0.0
        after.put(down, state.of(down))
        return taken, after


class _State(NamedTuple):
    """Squared distances to all points, Σ g h(s), and what rounding may have added to it."""

    squares: Array
    heights: Array
    rounding: Array

    def of(self, rows: Array) -> _State:
        return _State(*(part[rows] for part in self))

    def put(self, rows: Array, others: _State) -> None:
        for part, other in zip(self, others, strict=True):
            part[rows] = other


def by_distances(targets: Targets, profile: Profile, neighbours: int) -> Found:
    r"""Place points by their distances to the nearest individuals (Kwok and Tsang, 2004).

    .. math:: h(s_i) = h(0) - \tfrac12 \|P - \varphi(x_i)\|^2, \quad
        2 z_i^\top x = \|z_i\|^2 - s_i + c, \quad z_i = x_i - \bar x

    by least squares over the neighbours, where c makes the right side sum to 0. Directions in
    which they hardly extend are left out, as many as give the smallest distance to the target.
    A target without two neighbours within reach of the kernel is given the nearest individual.
    """
    Y = targets.points / profile.lengths
    unit = usual_distance(Y)
    chosen = targets.nearest(neighbours)
    s = _input_squares(targets, profile, chosen, unit)
    candidates = _placed(Y, chosen, s)
    best = targets.points[chosen[:, 0]]
    smallest = targets.squares(best).values
    for candidate in candidates:
        x = candidate * profile.lengths
        squares = targets.squares(x).values
        is_better = squares < smallest
        best = np.where(is_better[:, None], x, best)
        smallest = np.minimum(squares, smallest)
    return Found(best, np.isfinite(s).sum(axis=1) >= 2)


def _input_squares(targets: Targets, profile: Profile, chosen: Array, unit: float) -> Array:
    """Return the squared distances at which the kernel has the distances that features have."""
    squares = np.empty(chosen.shape)
    for rows in targets.rows():
        squares[rows] = np.take_along_axis(targets.to_points(rows), chosen[rows], axis=1)
    top = float(profile.value(np.zeros(1))[0])
    return profile.inverse(top - 0.5 * squares, unit)


def _placed(Y: Array, chosen: Array, s: Array) -> list[Array]:
    """Return positions by 0, 1, 2, … directions of the neighbours."""
    is_near = np.isfinite(s)
    count = np.maximum(is_near.sum(axis=1), 1)
    neighbours = Y[chosen]
    centre = np.einsum("ij,ijk->ik", is_near, neighbours) / count[:, None]
    z = (neighbours - centre[:, None, :]) * is_near[:, :, None]
    b = 0.5 * (np.sum(z**2, axis=2) - np.where(is_near, s, 0.0))
    b = np.where(is_near, b - (b.sum(axis=1) / count)[:, None], 0.0)
    left, sizes, right = np.linalg.svd(z, full_matrices=False)
    x, positions = centre, [centre]
    for r in range(min(chosen.shape[1] - 1, Y.shape[1])):
        size = sizes[:, r]
        is_long = size > len(s) * CANCELLED * sizes[:, 0]
        step = np.einsum("ij,ij->i", left[:, :, r], b) / np.where(is_long, size, 1.0)
        x = x + np.where(is_long, step, 0.0)[:, None] * right[:, r, :]
        positions.append(x)
    return positions
