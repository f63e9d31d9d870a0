"""Pre-images of differentiable kernels: a descent on the distance in feature space."""

from __future__ import annotations

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidInput
from mercer.kernels.pairs import Aligned
from mercer.preimages.feature_targets import CANCELLED, Targets
from mercer.preimages.fixed_point import HALVINGS, Attempt

MEMORY = 6
"""Steps that a quasi-Newton direction remembers."""

FIRST_STEP = 0.1
"""The length of the first step, in deviations of the individuals' coordinates."""

DECREASE = 1e-4
"""The share of the decrease promised by the slope that a step must keep (Armijo)."""


def descend(targets: Targets, starts: Array, *, steps: int, tol: float) -> Attempt:
    r"""Minimise the squared distance to each target by quasi-Newton steps from a start.

    .. math:: \nabla_x \|\varphi(x) - P\|^2 = 2 \nabla_1 k(x, x) - 2 \sum_i g_i \nabla_1 k(x, x_i)

    where ∇₁ is the slope in the first argument. Coordinates are taken in units of their
    deviations. Each step goes down, so that no point ends farther from its target than it began.
    Of a kernel that does not exist everywhere, points are kept in the range of the individuals.
    """
    deviations = targets.points.std(axis=0)
    scale = np.where(deviations > 0.0, deviations, deviations.max() or 1.0)
    found, converged = starts.copy(), np.zeros(len(starts), dtype=bool)
    for rows in targets.rows(2 * targets.points.shape[1] + 2):
        valley = _Valley(targets, rows, scale)
        try:
            z, converged[rows] = _descent(valley, starts[rows] / scale, steps, tol)
        except InvalidInput:
            valley.box = targets.points.min(axis=0) / scale, targets.points.max(axis=0) / scale
            z, converged[rows] = _descent(valley, valley.kept(starts[rows] / scale), steps, tol)
        found[rows] = z * scale
    return Attempt(found, converged)


class _Valley:
    """The squared distances of points to some targets, less constants, and their slopes."""

    def __init__(self, targets: Targets, rows: slice, scale: Array) -> None:
        self.kernel, self.points, self.scale = targets.kernel, targets.points, scale
        self.weights = targets.weights(rows)
        self.box: tuple[Array, Array] | None = None

    def kept(self, z: Array) -> Array:
        """Return points within the box, if there is one."""
        return z if self.box is None else np.clip(z, *self.box)

    def heights(self, z: Array, which: Array) -> tuple[Array, Array]:
        """Return k(x, x) - 2 Σ g k(x, xᵢ), and what rounding may have added."""
        x = z * self.scale
        terms = self.weights[which] * np.asarray(self.kernel(x, self.points), np.float64)
        own = np.asarray(self.kernel.diag(x), np.float64)
        heights = own - 2.0 * terms.sum(axis=1)
        return heights, CANCELLED * (np.abs(own) + 2.0 * np.abs(terms, out=terms).sum(axis=1))

    def slopes(self, z: Array, which: Array) -> Array:
        x = z * self.scale
        slopes = np.asarray(self.kernel.slopes(x, self.points))
        own = np.asarray(self.kernel.evaluate_slopes(Aligned(x)))
        down: Array = own - np.einsum("ij,ijk->ik", self.weights[which], slopes)
        down *= 2.0 * self.scale
        return down


def _descent(valley: _Valley, z: Array, steps: int, tol: float) -> tuple[Array, Array]:
    """Return where the descents of all points end, and whether they came to their end."""
    z, converged = z.copy(), np.zeros(len(z), dtype=bool)
    active = np.arange(len(z))
    heights, rounding = valley.heights(z, active)
    slopes, directions = valley.slopes(z, active), _Directions(z.shape)
    for _ in range(steps):
        if not active.size:
            break
        here, down = z[active], slopes[active]
        move = directions(down, active)
        promised = np.sum(move * down, axis=1)
        is_end = (-promised <= rounding[active]) | (np.sqrt(np.sum(move**2, axis=1)) <= tol)
        there, height, is_lower = _step(valley, here, move, promised, heights[active], active)
        converged[active] = is_end | ~is_lower  # what no step betters has come to its end
        active, there, here = active[is_lower], there[is_lower], here[is_lower]
        after = valley.slopes(there, active)
        directions.remember(there - here, after - slopes[active], active)
        z[active], slopes[active], heights[active] = there, after, height[is_lower]
        active = active[~converged[active]]
    return z, converged


def _step(
    valley: _Valley, z: Array, move: Array, promised: Array, heights: Array, which: Array
) -> tuple[Array, Array, Array]:
    """Return points after a step halved until it goes down, their heights, and whether it does."""
    there, height = z.copy(), heights.copy()
    length, is_open = 1.0, np.ones(len(z), dtype=bool)
    for _ in range(HALVINGS):
        tried = valley.kept(z[is_open] + length * move[is_open])
        found, _ = valley.heights(tried, which[is_open])
        is_down = found < heights[is_open] + DECREASE * length * promised[is_open]
        rows = np.flatnonzero(is_open)[is_down]
        there[rows], height[rows], is_open[rows] = tried[is_down], found[is_down], False
        if not is_open.any():
            break
        length *= 0.5
    return there, height, ~is_open


class _Directions:
    """Quasi-Newton directions of many points at once, from the last steps of each (L-BFGS)."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.steps: list[tuple[Array, Array, Array]] = []

    def remember(self, moves: Array, changes: Array, which: Array) -> None:
        """Keep the last moves of some points and what they changed in the slopes."""
        s, y = np.zeros(self.shape), np.zeros(self.shape)
        s[which], y[which] = moves, changes
        products = np.sum(s * y, axis=1)
        is_convex = products > np.finfo(float).eps * np.sum(y * y, axis=1)
        inverse = np.where(is_convex, 1.0 / np.where(is_convex, products, 1.0), 0.0)
        self.steps = [*self.steps, (s, y, inverse)][-MEMORY:]

    def __call__(self, slopes: Array, which: Array) -> Array:
        """Return the directions in which some points go down."""
        q, shares = slopes.copy(), []
        for s, y, inverse in reversed(self.steps):
            share = inverse[which] * np.sum(s[which] * q, axis=1)
            q -= share[:, None] * y[which]
            shares.append(share)
        q *= self._lengths(slopes, which)[:, None]
        for (s, y, inverse), share in zip(self.steps, reversed(shares), strict=True):
            back = inverse[which] * np.sum(y[which] * q, axis=1)
            q += (share - back)[:, None] * s[which]
        is_down = np.sum(q * slopes, axis=1) > 0.0
        return np.where(is_down[:, None], -q, -self._first(slopes)[:, None] * slopes)

    def _lengths(self, slopes: Array, which: Array) -> Array:
        """Return the curvatures along the last step of each point, else a first length."""
        lengths = self._first(slopes)
        for s, y, inverse in self.steps:
            squares = np.sum(y[which] ** 2, axis=1)
            known = (inverse[which] > 0.0) & (squares > 0.0)
            curve = np.sum(s[which] * y[which], axis=1) / np.where(known, squares, 1.0)
            lengths = np.where(known, curve, lengths)
        return lengths

    def _first(self, slopes: Array) -> Array:
        sizes = np.sqrt(np.sum(slopes**2, axis=1))
        return FIRST_STEP / np.where(sizes > 0.0, sizes, 1.0)
