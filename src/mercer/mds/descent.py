"""How a map is improved: where it starts, and the descent of its loss by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.csgraph import csgraph_from_dense, shortest_path
from scipy.spatial.distance import pdist, squareform

from mercer.check import Array
from mercer.errors import NotConverged
from mercer.mds.distances import Distances, refuse_groups
from mercer.mds.losses import Loss
from mercer.operators import CentredSource
from mercer.spectrum import leading
from mercer.spectrum.values import ranks

START_TOL = 1e-3
"""Residual of the axes that are only started from."""

JITTER = 1e-2
"""Noise, as a share of the typical distance, that separates what a start leaves together."""

CORRECTIONS_KEPT = 20
"""Pairs of steps and slopes from which L-BFGS makes its quadratic model."""

ROUNDING_STOP = 1e3
"""A line search that finds nothing lower this near the tolerance has met rounding, not failed."""


class Pairs:
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


def start_maps(pairs: Pairs, count: int, starts: int, rng: np.random.Generator) -> list[Array]:
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


def descended(
    pairs: Pairs,
    loss: Loss,
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
    result = minimize(
        value_and_gradient,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        callback=after_iteration,
        options=options,
    )
    slope = float(np.max(np.abs(result.jac)))
    has_converged = result.status == 0 or (result.status == 2 and slope <= ROUNDING_STOP * tol)
    x = result.x.reshape(start.shape)
    return End(x, float(result.fun), bool(has_converged), int(result.nit))
