r"""Squared loss over the functions that some landmarks span: an approximation with a gap.

Of all h = Σ βⱼ k(zⱼ, ·) the one of least objective is found from the features of the landmarks, in
time n m² and memory n m: a triangle of all columns holds what is needed, and their orthonormal
basis is never formed. One pass over the whole matrix then bounds what all of H could gain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer.check import Array, Points, chunks
from mercer.engines.cpu import Threads
from mercer.gram import Gram, columns
from mercer.kernels.bounds import gamma
from mercer.lowrank import nystrom
from mercer.regression.choice import chosen
from mercer.regression.data import Data
from mercer.solve.saddle import entry_error
from mercer.solve.steps import Reflections

UNIT = float(np.finfo(float).eps) / 2

ROWS = 4096
"""Rows whose triangle is found at a time."""

SMALLEST, LARGEST = 1e-13, 1e4
"""Penalties are sought between these multiples of the largest eigenvalue."""


@dataclass(frozen=True)
class Spanned:
    """The minimiser within the span: landmarks, weights β and η, and what is known of it."""

    landmarks: Points
    weights: Array
    null_weights: Array
    penalty: float
    score: float | None
    objective: float
    gap: float
    rounding: float
    degrees_of_freedom: float
    square_sums: Array


@dataclass(frozen=True)
class Reduced:
    """The weighted problem in the singular vectors of its features, the null space put aside."""

    count: int
    sizes: Array
    targets: Array
    outside: float
    free: int

    def shares(self, penalty: float) -> Array:
        """Return the share of each coordinate of the targets that remains as residual."""
        return np.asarray(1.0 / (1.0 + self.sizes**2 / penalty))

    def degrees_of_freedom(self, penalty: float) -> float:
        return self.free + float(np.sum(1.0 - self.shares(penalty)))

    def gcv(self, penalty: float) -> float:
        r"""Return :math:`\sum_i p_i (y_i - f_i)^2 / (1 - \mathrm{df}/n)^2`."""
        left = float(np.sum((self.shares(penalty)[:, None] * self.targets) ** 2)) + self.outside
        return left / (1.0 - self.degrees_of_freedom(penalty) / self.count) ** 2


def spanned(gram: Gram, Q: Array, data: Data, count: int, penalty: float | None) -> Spanned:
    r"""Return the best function of a span, its penalty given or by cross-validation (GCV).

    The gap is between its objective and the dual one at :math:`\alpha = p (y - f) / \gamma`,

    .. math:: \sum_i p_i (y_i - f_i)^2 + \gamma \|h\|^2 - \left(2 \gamma\, y^\top \alpha
        - \gamma^2 \sum_i \alpha_i^2 / p_i - \gamma\, \alpha^\top K \alpha\right)

    >>> from mercer import Gaussian
    >>> x = np.linspace(0.0, 1.0, 50)[:, None]
    >>> data = Data(x, np.sin(6.0 * x), np.ones(50))
    >>> of = spanned(Gram(Gaussian(0.3), x), np.zeros((50, 0)), data, 12, 1e-3)
    >>> 0.0 <= of.gap <= 1e-5 * of.objective
    True
    """
    p, s = data.p, np.sqrt(data.p)[:, None]
    how = "kmeans" if columns(gram.x) else "pivoted"
    low = nystrom(gram, min(count, len(p)), landmarks=how)
    m, rank = Reflections(s * Q).count, low.factor.shape[1]  # which refuses dependent functions
    R = triangle([s * Q, s * low.factor, s * data.y])
    (free, inside, top), (core, targets), rest = (
        np.split(R[:m], [m, m + rank], axis=1),
        np.split(R[m : m + rank, m:], [rank], axis=1),
        R[m + rank :, m + rank :],
    )
    left, sizes, right = np.linalg.svd(core)
    problem = Reduced(len(p), sizes, left.T @ targets, float(np.sum(rest * rest)), m)
    score = None
    if penalty is None:
        penalty, score = _chosen(problem.gcv, float(sizes.max(initial=0.0)) ** 2)
    w = right.T @ ((sizes / (sizes**2 + penalty))[:, None] * problem.targets)
    eta = np.asarray(solve_triangular(free, top - inside @ w))
    f = low.factor @ w + Q @ eta
    errors = data.y - f
    alpha = p[:, None] * errors / penalty
    roughness = float(np.sum(alpha * gram.product(alpha)))
    squares = p @ errors**2
    square = float(squares.sum())
    objective = square + penalty * float(np.sum(w * w))
    dual = 2.0 * float(np.sum(p[:, None] * errors * data.y)) - square - penalty * roughness
    unknown = entry_error(gram) * float(np.sum(np.sum(np.abs(alpha), axis=0) ** 2))
    sums = square + float(np.sum(p @ data.y**2)) + penalty * roughness
    rounding = penalty * unknown + 8.0 * gamma(len(p) + rank, UNIT) * sums
    return Spanned(
        low.features.landmarks,
        low.features.root @ w,
        eta,
        penalty,
        score,
        objective,
        max(objective - dual, 0.0) + rounding,
        rounding,
        problem.degrees_of_freedom(penalty),
        squares,
    )


def triangle(parts: list[Array]) -> Array:
    """Return R with RᵀR = AᵀA for the columns A of some parts, the rows taken a few at a time.

    >>> R = triangle([np.array([[3.0], [4.0]]), np.array([[1.0], [0.0]])])
    >>> np.abs(R).round(12)
    array([[5. , 0.6],
           [0. , 0.8]])
    """
    n, width = len(parts[0]), sum(part.shape[1] for part in parts)
    found: dict[int, Array] = {}

    def add(rows: slice) -> None:
        found[rows.start] = np.asarray(
            np.linalg.qr(np.hstack([part[rows] for part in parts]), mode="r")
        )

    pieces = list(chunks(n, ROWS))
    Threads().over(add, pieces)
    stacked = np.vstack([found[rows.start] for rows in pieces])
    R = np.linalg.qr(stacked, mode="r") if len(pieces) > 1 else stacked
    return np.vstack([R, np.zeros((max(0, width - len(R)), width))])


def _chosen(score: Callable[[float], float], largest: float) -> tuple[float, float]:
    scale = max(largest, float(np.finfo(float).tiny) * 1e20)
    low, high = np.log10(SMALLEST * scale), np.log10(LARGEST * scale)
    penalty, least = chosen(lambda g: score(min(g, LARGEST * scale)), float(low), float(high))
    return min(penalty, LARGEST * scale), least
