"""Pre-images of kernels that are functions of a distance: a fixed point, or by distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer.check import Array
from mercer.kernels.base import Kernel
from mercer.kernels.pairs import INNER, Aligned, Scale
from mercer.kernels.point_pairs import squared_distances
from mercer.preimages.feature_targets import CANCELLED, Targets

DOUBLINGS, BISECTIONS = 80, 60
"""Doublings of an interval until it holds a root, and halvings around it: to a double's end."""

SHORTEST = 1e-9
"""Distances below this share of the usual one are taken to be it: a kink has no slope at 0."""

SMALLEST_SUM = 1e-3
"""Least sum of slopes, as a share of the sum of their moduli: the sum itself may be 0."""

HALVINGS = 30
"""Halvings of a step after which the point is the best it can be."""


@dataclass(frozen=True)
class DistanceProfile:
    r"""A kernel as a function of the squared distance of points in units of lengths.

    .. math:: k(x, y) = h(s), \quad s = \textstyle\sum_j ((x_j - y_j)/\ell_j)^2

    >>> from mercer import Gaussian, Matern
    >>> found = profile_of(0.5 * Gaussian(2.0) + Matern(1.5, 1.0) * Gaussian(3.0), 2)
    >>> s, step = np.array([0.0, 1.0, 4.0]), 1e-6
    >>> np.allclose(found.slope(s[1:], 1e-9),
    ...             (found.value(s[1:] + step) - found.value(s[1:] - step)) / (2 * step))
    True
    >>> np.allclose(found.inverse(found.value(s)), s)
    True
    """

    kernel: Kernel
    lengths: Array

    def _pairs(self, squares: Array) -> OnLine:
        r = np.sqrt(squares).reshape(-1, 1)
        return OnLine(r, np.zeros_like(r), len(self.lengths), squares.reshape(-1))

    def value(self, s: Array) -> Array:
        """Return h(s)."""
        return np.asarray(self.kernel.evaluate(self._pairs(s))).reshape(s.shape)

    def slope(self, s: Array, smallest: float) -> Array:
        """Return h'(s), at distances below the smallest what it is there."""
        squares = np.maximum(s, smallest**2)
        slopes = np.asarray(self.kernel.evaluate_slopes(self._pairs(squares)))[:, 0]
        along: Array = slopes.reshape(s.shape) / (2.0 * np.sqrt(squares))
        return along

    def inverse(self, values: Array, unit: float = 1.0) -> Array:
        """Return s with h(s) as given: 0 for values too large, infinity for values too small.

        ``unit`` is a usual distance, at which the search begins.
        """
        low, high = np.zeros(values.shape), np.full(values.shape, unit)  # distances, not squares
        for _ in range(DOUBLINGS):
            is_short = self.value(high**2) > values
            if not is_short.any():
                break
            low, high = np.where(is_short, high, low), np.where(is_short, 2.0 * high, high)
        is_out = self.value(high**2) > values
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            is_beyond = self.value(middle**2) > values
            low, high = np.where(is_beyond, middle, low), np.where(is_beyond, high, middle)
        return np.where(is_out, np.inf, np.where(low > 0.0, (0.5 * (low + high)) ** 2, 0.0))


def profile_of(kernel: Kernel, columns: int) -> DistanceProfile | None:
    """Return a kernel on points of so many coordinates as a function of a distance, if it is one.

    >>> from mercer import Gaussian, Laplacian, Linear
    >>> profile_of(Linear().gaussian(2.0) + Gaussian((1.0, 3.0)), 2) is None
    True
    >>> profile_of(Gaussian((2.0, 6.0)) * Gaussian((1.0, 3.0)), 2).lengths
    array([1., 3.])
    >>> profile_of(Laplacian(norm=1.0), 2) is None, profile_of(Laplacian(norm=2.0), 2) is None
    (True, False)
    """
    asked = kernel.asks(columns)
    if not asked or INNER in asked:
        return None
    shapes = [np.broadcast_to(np.divide(s, np.ravel(s)[0]), columns) for s in asked]
    if any(not np.allclose(shape, shapes[0], rtol=1e-12) for shape in shapes):
        return None
    return DistanceProfile(kernel, np.array(shapes[0]))


class OnLine(Aligned):
    """Pairs of points of the line, in place of pairs of a space that are as far apart.

    Lengths of coordinates are proportional to each other, so that the first one decides.
    """

    def __init__(
        self, x: Array, y: Array | None, columns: int, squares: Array | None = None
    ) -> None:
        super().__init__(x, y)
        self.stands_for = columns
        self.squares = np.zeros(len(x)) if squares is None else squares

    @property
    def columns(self) -> int:
        return self.stands_for

    def sides(self, scale: Scale = 1.0) -> tuple[Array, Array, Array]:
        a, b = self.vectors
        return a, b, np.array([_first(scale)])

    def squared_distance(self, scale: Scale = 1.0) -> Array:
        scaled: Array = self.squares / _first(scale) ** 2
        return scaled

    def distance(self, norm: float, scale: Scale = 1.0) -> Array:
        scaled: Array = np.sqrt(self.squares) / _first(scale)
        return scaled

    def left(self) -> Aligned:
        return self._once("left", lambda: OnLine(self.vectors[0], None, self.stands_for))

    def right(self) -> Aligned:
        return self._once("right", lambda: OnLine(self.vectors[1], None, self.stands_for))


def _first(scale: Scale) -> float:
    return scale[0] if isinstance(scale, tuple) else scale


class Attempt(NamedTuple):
    """Points, one for each target, and whether the search for each came to its end."""

    points: Array
    converged: Array


def usual_distance(points: Array) -> float:
    """Return the root mean squared distance of points to their mean, 1 if it is 0."""
    spread = float(np.sqrt(np.sum(np.var(points, axis=0))))
    return spread or 1.0


def fixed_point(
    targets: Targets, profile: DistanceProfile, starts: Array, *, steps: int, tol: float
) -> Attempt:
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
    return Attempt(x * profile.lengths, converged)


class _Climber:
    """The search of some targets at once."""

    def __init__(self, profile: DistanceProfile, Y: Array, weights: Array, unit: float) -> None:
        self.profile, self.Y, self.weights, self.unit = profile, Y, weights, unit

    def climb(self, x: Array, steps: int, tol: float) -> Attempt:
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
        return Attempt(x, converged)

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


def by_distances(targets: Targets, profile: DistanceProfile, neighbours: int) -> Attempt:
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
    return Attempt(best, np.isfinite(s).sum(axis=1) >= 2)


def _input_squares(targets: Targets, profile: DistanceProfile, chosen: Array, unit: float) -> Array:
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
