r"""Squared loss over the functions that some landmarks span: an approximation with a gap.

Of all h = Σ βⱼ k(zⱼ, ·) the one of least objective is found from the features of the landmarks, in
time n m² and memory n m. One pass over the whole matrix then bounds what all of H could gain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer.check import Array, Points
from mercer.gram import Gram, columns
from mercer.lowrank import nystrom
from mercer.regression.choice import chosen
from mercer.regression.data import Data
from mercer.solve.steps import Reflections

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
    degrees_of_freedom: float
    square_sums: Array


@dataclass(frozen=True)
class Reduced:
    """The weighted problem in the singular vectors of its features, the null space put aside."""

    axes: Array
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
        n = len(self.axes) + self.free
        return left / (1.0 - self.degrees_of_freedom(penalty) / n) ** 2


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
    reflections = Reflections(s * Q)
    m = reflections.count
    inside = reflections.forth(s * low.factor)
    axes, sizes, right = np.linalg.svd(inside[m:], full_matrices=False)
    turned = reflections.forth(s * data.y)
    targets = axes.T @ turned[m:]
    outside = max(float(np.sum(turned[m:] ** 2) - np.sum(targets**2)), 0.0)
    problem = Reduced(axes, sizes, targets, outside, m)
    score = None
    if penalty is None:
        penalty, score = _chosen(problem.gcv, float(sizes.max(initial=0.0)) ** 2)
    w = right.T @ ((sizes / (sizes**2 + penalty))[:, None] * targets)
    eta = np.asarray(solve_triangular(reflections.triangle, turned[:m] - inside[:m] @ w))
    f = low.factor @ w + Q @ eta
    errors = data.y - f
    alpha = p[:, None] * errors / penalty
    roughness = penalty * float(np.sum(alpha * gram.product(alpha)))
    squares = p @ errors**2
    square = float(squares.sum())
    objective = square + penalty * float(np.sum(w * w))
    dual = 2.0 * float(np.sum(p[:, None] * errors * data.y)) - square - roughness
    return Spanned(
        low.features.landmarks,
        low.features.root @ w,
        eta,
        penalty,
        score,
        objective,
        max(objective - dual, 0.0),
        problem.degrees_of_freedom(penalty),
        squares,
    )


def _chosen(score: Callable[[float], float], largest: float) -> tuple[float, float]:
    scale = max(largest, float(np.finfo(float).tiny) * 1e20)
    low, high = np.log10(SMALLEST * scale), np.log10(LARGEST * scale)
    penalty, least = chosen(lambda g: score(min(g, LARGEST * scale)), float(low), float(high))
    return min(penalty, LARGEST * scale), least
