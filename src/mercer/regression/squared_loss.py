"""Squared loss: every penalty from one decomposition, or functions that some landmarks span."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer.check import UNIT, Array, Points, chunks
from mercer.engines.cpu import Threads
from mercer.engines.lapack import eigenpairs
from mercer.gram import Gram, columns
from mercer.kernels.statements import gamma
from mercer.lowrank import nystrom
from mercer.regression.observations import WeightedTargets
from mercer.regression.penalty_choice import choose_penalty
from mercer.settings import FIXED
from mercer.solve import Saddle
from mercer.solve.saddle import entry_error
from mercer.solve.steps import Reflections

SMALLEST = 1e-13
"""Penalties are sought above this share of the largest eigenvalue, where rounding rules."""

LARGEST = 1e4
"""And below this multiple of it, where the null space alone is left."""

ROWS = 4096
"""Rows whose triangle is found at a time."""


@dataclass(frozen=True)
class Decomposition:
    """The eigenvalues λ and axes B, and the coordinates of the targets in them."""

    values: Array
    axes: Array
    targets: Array

    def shares(self, penalty: float) -> Array:
        """Return t, which is 1 for an infinite penalty."""
        return np.asarray(1.0 / (1.0 + self.values / penalty))

    def degrees_of_freedom(self, penalty: float) -> float:
        """Return the trace of the smoother."""
        return len(self.axes) - float(self.shares(penalty).sum())

    def residuals(self, penalty: float) -> Array:
        """Return S(y - f)."""
        return np.asarray(self.axes @ (self.shares(penalty)[:, None] * self.targets))

    def remainders(self, penalty: float) -> Array:
        """Return one minus the leverages."""
        return np.asarray(self.axes**2 @ self.shares(penalty))

    def gcv(self, penalty: float) -> float:
        r"""Return :math:`\sum_i p_i (y_i - f_i)^2 / (1 - \mathrm{df}/n)^2`."""
        t = self.shares(penalty)
        return (
            float(np.sum((t[:, None] * self.targets) ** 2)) / float(t.sum() / len(self.axes)) ** 2
        )

    def loo(self, penalty: float) -> float:
        r"""Return :math:`\sum_i p_i ((y_i - f_i) / (1 - h_i))^2`: every observation left out."""
        left_out = self.residuals(penalty) / self.remainders(penalty)[:, None]
        return float(np.sum(left_out**2))

    def reml(self, penalty: float) -> float:
        r"""Return minus twice the restricted log-likelihood but for a constant.

        .. math:: (n - m) \log \sum_j t_j c_j^2 - \sum_j \log t_j

        for each output, with c the coordinates of the targets.
        """
        t = self.shares(penalty)
        sums = np.maximum(t @ self.targets**2, np.finfo(float).tiny)
        return float(np.sum(len(t) * np.log(sums) - np.sum(np.log(t))))

    @property
    def limits(self) -> tuple[float, float]:
        """The decimal logarithms between which a penalty is worth trying."""
        largest = max(float(self.values.max(initial=0.0)), float(np.finfo(float).tiny) * 1e20)
        return float(np.log10(SMALLEST * largest)), float(np.log10(LARGEST * largest))


def decomposition(saddle: Saddle, p: Array, y: Array) -> Decomposition:
    """Return the eigenvectors of a weighted problem, for which the matrix is stored.

    >>> from mercer import Gram, Linear
    >>> saddle = Saddle(Gram(Linear(), np.array([[1.0], [2.0]])), np.zeros((2, 0)))
    >>> of = decomposition(saddle, np.full(2, 0.5), np.array([[1.0], [2.0]]))
    >>> round(of.degrees_of_freedom(2.5), 6), round(of.gcv(2.5), 6)
    (0.5, 1.111111)
    """
    s = np.sqrt(p)
    inner, reflections = saddle.inner(s)
    values, vectors = eigenpairs(inner)
    m = reflections.count
    axes = reflections.back(np.vstack([np.zeros((m, vectors.shape[1])), vectors]))
    return Decomposition(np.maximum(values, 0.0), axes, axes.T @ (s[:, None] * y))


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


def fit_span(
    gram: Gram, Q: Array, data: WeightedTargets, count: int, penalty: float | None
) -> Spanned:
    r"""Return the best function of a span, its penalty given or by cross-validation (GCV).

    The gap is between its objective and the dual one at :math:`\alpha = p (y - f) / \gamma`,

    .. math:: \sum_i p_i (y_i - f_i)^2 + \gamma \|h\|^2 - \left(2 \gamma\, y^\top \alpha
        - \gamma^2 \sum_i \alpha_i^2 / p_i - \gamma\, \alpha^\top K \alpha\right)

    >>> from mercer import Gaussian
    >>> x = np.linspace(0.0, 1.0, 50)[:, None]
    >>> data = WeightedTargets(x, np.sin(6.0 * x), np.ones(50))
    >>> of = fit_span(Gram(Gaussian(0.3), x), np.zeros((50, 0)), data, 12, 1e-3)
    >>> 0.0 <= of.gap <= 1e-5 * of.objective
    True
    """
    p, s = data.p, np.sqrt(data.p)[:, None]
    how = "kmeans" if columns(gram.x) else "pivoted"
    gram.refuse_features(min(count, len(p)))
    low = nystrom(gram, min(count, len(p)), landmarks=how, random_state=FIXED)
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
    penalty, least = choose_penalty(
        lambda g: score(min(g, LARGEST * scale)), float(low), float(high)
    )
    return min(penalty, LARGEST * scale), least
