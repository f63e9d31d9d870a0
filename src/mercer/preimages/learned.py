"""Pre-images learned from the individuals: ridge regression of points on their coordinates."""

from __future__ import annotations

import numpy as np

from mercer.check import Array, nonnegative
from mercer.errors import InvalidParameter
from mercer.gram import Gram
from mercer.kernels.base import Kernel

MOST = 3_000
"""Individuals from which a map is learned; of more, as many spread over them all."""

PENALTIES = np.logspace(-14.0, 0.0, 29)
"""Penalties that are tried, as shares of the largest eigenvalue."""


class Learned:
    r"""A map from coordinates to points, fitted by kernel ridge regression.

    .. math:: \min_g \sum_i w_i \|x_i - \bar x - g(F_i)\|^2 + \gamma \|g\|^2, \quad
        g(f) = k(f, F)\, W^{1/2} (W^{1/2} K W^{1/2} + \gamma I)^{-1} W^{1/2} (X - 1\bar x^\top)

    Without a penalty γ, the one whose error on individuals left out one at a time is smallest is
    taken; scikit-learn's ``alpha`` is nγ.

    >>> from mercer import Gaussian
    >>> f = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> curve = Learned(Gaussian(0.5), f, np.column_stack([f, f**2]), np.full(20, 0.05))
    >>> np.allclose(curve(np.array([[0.3]])), [[0.3, 0.09]], atol=1e-3)
    True

    Bakır, Weston and Schölkopf (2004).
    """

    def __init__(
        self, kernel: Kernel, F: Array, X: Array, weights: Array, penalty: float | None = None
    ) -> None:
        chosen = spread(np.flatnonzero(weights > 0))
        w = weights[chosen] / weights[chosen].sum()
        self.F, self.centre = F[chosen], w @ X[chosen]
        gram = Gram(kernel, self.F)
        self.kernel, roots = gram.kernel, np.sqrt(w)[:, None]
        values, vectors = np.linalg.eigh(roots * gram.dense() * roots.T)
        values = np.maximum(values, 0.0)
        images = vectors.T @ (roots * (X[chosen] - self.centre))
        if penalty is None:
            self.penalty = _best_penalty(values, vectors, images)
        else:
            self.penalty = nonnegative(penalty, "penalty")
        if values[0] + self.penalty <= 0.0:
            raise InvalidParameter("penalty must be > 0: the kernel of the coordinates is singular")
        self.weights = roots * (vectors @ (images / (values + self.penalty)[:, None]))

    def __call__(self, f: Array) -> Array:
        points = Gram(self.kernel, f, self.F).product(self.weights)
        points += self.centre
        return points


def _best_penalty(values: Array, vectors: Array, images: Array) -> float:
    """Return the penalty with the smallest error on individuals left out one at a time.

    With the hat matrix S, the residual of an individual left out is r/(1 - S_ii) (Allen's PRESS).
    """
    best, smallest = np.inf, np.inf
    for penalty in (float(values[-1]) or 1.0) * PENALTIES:
        left = penalty / (values + penalty)
        residuals = vectors @ (left[:, None] * images)
        freedom = np.maximum((vectors**2) @ left, np.finfo(float).eps)
        error = float(np.sum((residuals / freedom[:, None]) ** 2))
        if error < smallest:
            best, smallest = float(penalty), error
    return best


def spread(rows: Array) -> Array:
    """Return at most `MOST` of some rows, evenly spread over them.

    >>> len(spread(np.arange(10_000))), spread(np.arange(3))
    (3000, array([0, 1, 2]))
    """
    if len(rows) <= MOST:
        return rows
    chosen: Array = rows[np.linspace(0, len(rows) - 1, MOST).round().astype(int)]
    return chosen
