"""How a map is improved, by the descent of its loss, and how new individuals are placed on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from scipy.sparse.csgraph import csgraph_from_dense, shortest_path
from scipy.spatial.distance import pdist, squareform

from mercer.check import Array, chunks
from mercer.errors import NotConverged
from mercer.mds.distances import Distances, refuse_groups
from mercer.mds.losses import MapLoss
from mercer.operators import CentredSource
from mercer.spectrum import leading
from mercer.spectrum.axes_and_signs import ranks

START_TOL = 1e-3
"""Residual of the axes that are only started from."""

JITTER = 1e-2
"""Noise, as a share of the typical distance, that separates what a start leaves together."""

CORRECTIONS_KEPT = 20
"""Pairs of steps and slopes from which L-BFGS makes its quadratic model."""

ROUNDING_STOP = 1e3
"""A line search that finds nothing lower this near the tolerance has met rounding, not failed."""


class WeightedPairs:
    """The pairs of individuals whose dissimilarity is known, in a unit of their own."""

    def __init__(self, delta: Array, weights: Array | None) -> None:
        self.count = len(delta)
        values = _above(delta)
        given = np.ones(len(values)) if weights is None else _above(weights)
        is_known = ~np.isnan(values) & (given > 0)
        self.is_complete = bool(is_known.all())
        self.known: Any = slice(None) if self.is_complete else np.flatnonzero(is_known)
        if not self.is_complete:
            refuse_groups(squareform(is_known))
        self.weights: Array = given[self.known]
        values = values[self.known]
        largest = float(np.max(values, initial=0.0))
        mean = float(np.mean((values / largest) ** 2)) if largest > 0 else 1.0
        self.unit = largest * float(np.sqrt(mean)) if largest > 0 else 1.0
        self.target: Array = values / self.unit

    def distances(self, x: Array, out: Array | None = None) -> Array:
        """Return the distances of a map between the known pairs; ``out`` has room for all."""
        d: Array = pdist(x, out=out)[self.known]
        return d

    def square(self, values: Array, otherwise: float = 0.0) -> Array:
        """Return values of the known pairs as a symmetric matrix with diagonal 0."""
        if self.is_complete:
            return squareform(values, checks=False)
        condensed = np.full(self.count * (self.count - 1) // 2, otherwise)
        condensed[self.known] = values
        return squareform(condensed, checks=False)

    def filled(self) -> Array:
        """Return all dissimilarities, the missing ones as the shortest way over known ones."""
        if self.is_complete:
            return self.square(self.target)
        graph = csgraph_from_dense(self.square(self.target, np.nan), null_value=np.nan)
        return np.asarray(shortest_path(graph, directed=False))


def _above(matrix: Array) -> Array:
    """Return the entries above the diagonal, row after row."""
    return squareform(matrix, checks=False) if len(matrix) > 1 else np.zeros(0)


class End(NamedTuple):
    """Where a descent ended, and whether there was nothing lower nearby."""

    coordinates: Array
    value: float
    has_converged: bool
    iterations: int


def start_maps(
    pairs: WeightedPairs, count: int, starts: int, rng: np.random.Generator
) -> list[Array]:
    """Return the classical map of the dissimilarities, and random ones of the same size."""
    delta = pairs.filled()
    place = ranks(delta.sum(axis=1))  # by which a draw goes to an individual, not to a row
    maps = [
        rng.standard_normal((pairs.count, count))[place] / np.sqrt(2 * count) for _ in range(starts)
    ]
    noise = maps[0]
    maps[0] = JITTER * noise
    if np.any(pairs.target):
        scores = _classical(delta, count)
        maps[0][:, : scores.shape[1]] = scores
        if np.any(pairs.distances(maps[0]) == 0.0):
            maps[0] += JITTER * noise
    return maps


def _classical(delta: Array, count: int) -> Array:
    """Return coordinates on as many of the leading axes as are positive, roughly."""
    n = len(delta)
    operator, axes = CentredSource(Distances(delta)), min(count, n - 1)
    try:
        spectrum = leading(operator, axes, tol=START_TOL, method="exact", random_state=0)
    except NotConverged:
        return np.empty((n, 0))
    kept = int(np.sum(spectrum.values > spectrum.threshold))
    scores: Array = spectrum.vectors[:, :kept] * np.sqrt(n * spectrum.values[:kept])
    return scores


def descend(
    pairs: WeightedPairs,
    loss: MapLoss,
    start: Array,
    max_iter: int,
    tol: float,
    tell: Callable[[int], None],
) -> End:
    r"""Return the end of L-BFGS from a start.

    .. math:: \nabla_i = \sum_j \frac{\partial f}{\partial d_{ij}} \frac{x_i - x_j}{d_{ij}}

    The loss is multiplied by n/4, which gives it about unit curvature.
    """
    if not np.any(pairs.target):
        return End(np.zeros_like(start), 0.0, True, 0)
    curvature = pairs.count / 4.0
    memory = np.empty(pairs.count * (pairs.count - 1) // 2)

    def value_and_gradient(flat: Array) -> tuple[float, Array]:
        x = flat.reshape(start.shape)
        d = pairs.distances(x, memory)
        value, slopes = loss(d)
        if np.min(d) > 0.0:
            slopes /= d
        else:  # points that coincide do not push each other in any direction
            np.divide(slopes, d, out=slopes, where=d > 0.0)
            slopes[d == 0.0] = 0.0
        sums = pairs.square(slopes) @ np.column_stack([x, np.ones(len(x))])
        gradient = sums[:, -1:] * x - sums[:, :-1]
        return curvature * value, curvature * gradient.ravel()

    done = [0]

    def after_iteration(xk: Array) -> None:
        done[0] += 1
        tell(done[0])

    options: Any = {
        "maxiter": max_iter,
        "maxfun": 2 * max_iter + 20,
        "maxcor": CORRECTIONS_KEPT,
        "gtol": tol,
        "ftol": float(np.finfo(float).eps),
    }
    result = optimize.minimize(
        value_and_gradient,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        callback=after_iteration,
        options=options,
    )
    slope = float(np.max(np.abs(np.asarray(result.jac, float))))
    has_converged = result.status == 0 or (result.status == 2 and slope <= ROUNDING_STOP * tol)
    x = result.x.reshape(start.shape)
    return End(x, float(result.fun), bool(has_converged), int(result.nit))


TOGETHER = 2**21
"""Numbers that the differences of some new individuals from all fitted ones may have."""

PLACING_STEPS = 200
"""Newton steps allowed; ten suffice from a good start."""

STILL = 1e-10
"""A step below this share of the size of the map ends the descent."""

NEAREST = 3
"""Starts beside so many of the most similar fitted individuals, and one by Gower's formula."""

DAMPING = (1e-3, 1e-14, 1e14)
"""The first damping, as a share of the mean curvature, and its limits."""

TINY = 1e-12
"""Squared distances, as a share of the size of the map, below which they are taken for this."""


class Bend(NamedTuple):
    """A sum of functions of squared distances, and their first and second derivatives."""

    value: Array
    first: Array
    second: Array


@dataclass(frozen=True, eq=False)
class Placement:
    """The loss of new individuals: targets, weights, and whether squares are compared.

    ``targets`` and ``weights`` have a row for each individual; a weight of 0 stands for a
    dissimilarity that is missing.
    """

    targets: Array
    weights: Array
    is_squared: bool

    def bend(self, q: Array) -> Bend:
        """Return the loss of each individual at squared distances, and what it is made of.

        >>> one = Placement(np.array([[2.0]]), np.ones((1, 1)), False).bend(np.array([[9.0]]))
        >>> float(one.value[0]), float(one.first[0, 0].round(3)), float(one.second[0, 0].round(3))
        (1.0, 0.333, 0.037)
        """
        w, t = self.weights, self.targets
        if self.is_squared:
            gaps = q - t * t
            return Bend(np.sum(w * gaps * gaps, axis=1), 2.0 * w * gaps, 2.0 * w)
        d = np.sqrt(q)
        return Bend(np.sum(w * (d - t) ** 2, axis=1), w * (1.0 - t / d), 0.5 * w * t / (q * d))

    def at(self, rows: slice | Array) -> Placement:
        return Placement(self.targets[rows], self.weights[rows], self.is_squared)


def place_individuals(fixed: Array, placement: Placement) -> Array:
    """Return the places of new individuals, the best of several starts for each.

    >>> corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    >>> new = Placement(np.array([[2.5, 2.5, 2.5]]), np.ones((1, 3)), False)
    >>> place_individuals(corners, new).round(6)
    array([[2. , 1.5]])
    """
    m, (n, d) = len(placement.targets), fixed.shape
    result = np.empty((m, d))
    size = float(np.sqrt(np.mean(np.sum((fixed - fixed.mean(axis=0)) ** 2, axis=1)))) or 1.0
    for rows in chunks(m, max(1, TOGETHER // (n * d))):
        part = placement.at(rows)
        best = np.full(len(part.targets), np.inf)
        for start in _starts(fixed, part, size):
            found, values = _descended(fixed, part, start, size)
            is_better = values < best * (1.0 - STILL)
            result[rows][is_better] = found[is_better]
            best = np.where(is_better, values, best)
    return result


def _starts(fixed: Array, part: Placement, size: float) -> Iterator[Array]:
    """Yield Gower's places, and ones beside the most similar fitted individuals.

    Beside, not upon them, where the loss has a corner: as far from it as the target says, towards
    Gower's place.
    """
    gower = _gower(fixed, part)
    yield gower
    t = np.where(part.weights > 0, part.targets, np.inf)
    nearest = np.argsort(t, axis=1, kind="stable")[:, :NEAREST]
    for k in range(nearest.shape[1]):
        at = fixed[nearest[:, k]]
        reach = np.take_along_axis(t, nearest[:, k : k + 1], axis=1)
        known = np.isfinite(reach[:, 0])
        way = gower - at
        length = np.linalg.norm(way, axis=1, keepdims=True)
        along = np.zeros_like(way)
        along[:, 0] = 1.0
        way = np.where(length > TINY * size, way / np.where(length > 0, length, 1.0), along)
        yield np.where(known[:, None], at + np.where(np.isfinite(reach), reach, 0.0) * way, gower)


def _gower(fixed: Array, part: Placement) -> Array:
    r"""Return the least squares solution of the equations that are linear in z.

    .. math:: -2 (x_i - \bar x)^\top z = \delta_i^2 - \|x_i\|^2 - \text{their mean}
    """
    known = (part.weights > 0).astype(np.float64)
    count = known.sum(axis=1, keepdims=True)
    means = known @ fixed / count
    right = np.where(known > 0, part.targets, 0.0) ** 2 - known * np.sum(fixed**2, axis=1)
    right = known * (right - right.sum(axis=1, keepdims=True) / count)
    products = np.einsum("mi,ij,ik->mjk", known, fixed, fixed, optimize=True)
    normal = products - count[:, :, None] * means[:, :, None] * means[:, None, :]
    sums = right @ fixed  # the rows of `right` sum to 0, so that x need not be centred
    solved: Array = -0.5 * np.einsum("mjk,mk->mj", np.linalg.pinv(normal, hermitian=True), sums)
    # Directions in which the known individuals do not differ are left at their mean.
    shown = np.einsum("mij,mjk->mik", np.linalg.pinv(normal, hermitian=True), normal)
    return np.asarray(solved + means - np.einsum("mij,mj->mi", shown, means))


def _descended(fixed: Array, part: Placement, z: Array, size: float) -> tuple[Array, Array]:
    """Return where damped Newton steps lead from given places, and the loss there."""
    d = fixed.shape[1]
    z, (first, low, high) = z.copy(), DAMPING
    damping = np.full(len(z), first)
    values = part.bend(_squares(fixed, z, size)[1]).value
    moving = np.arange(len(z))
    for _ in range(PLACING_STEPS):
        here = part.at(moving)
        away, q = _squares(fixed, z[moving], size)
        bend = here.bend(q)
        gradient = 2.0 * np.einsum("mi,mij->mj", bend.first, away)
        hessian = 4.0 * np.einsum("mi,mij,mik->mjk", bend.second, away, away, optimize=True)
        hessian += 2.0 * np.sum(bend.first, axis=1)[:, None, None] * np.eye(d)
        eigenvalues, axes = np.linalg.eigh(hessian)
        curvature = np.abs(eigenvalues)  # a saddle is left the way down
        shift = damping[moving][:, None] * np.max(curvature, axis=1, keepdims=True)
        turned = np.einsum("mij,mi->mj", axes, gradient)
        step = -np.einsum("mij,mj->mi", axes, turned / np.maximum(curvature + shift, TINY))
        tried = z[moving] + step
        lower = here.bend(_squares(fixed, tried, size)[1]).value
        is_down = lower <= values[moving]
        z[moving] = np.where(is_down[:, None], tried, z[moving])
        values[moving] = np.where(is_down, lower, values[moving])
        damping[moving] = np.clip(damping[moving] * np.where(is_down, 0.1, 10.0), low, high)
        is_still = np.linalg.norm(step, axis=1) <= STILL * size
        moving = moving[~(is_still | (damping[moving] >= high))]
        if not len(moving):
            break
    return z, values


def _squares(fixed: Array, z: Array, size: float) -> tuple[Array, Array]:
    """Return the differences of places from the fixed map, and their squared lengths, above 0."""
    away = z[:, None, :] - fixed
    return away, np.maximum(np.einsum("mij,mij->mi", away, away), (TINY * size) ** 2)
