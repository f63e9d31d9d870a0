r"""Squared loss in the eigenvectors of the Gram matrix: every penalty at the price of one.

With S the square roots of the weights p, which sum to 1, and the eigenpairs (λ, B) of SKS in the
space orthogonal to SQ, the residuals are :math:`S(y - f) = B\, t\, B^\top S y` with the shares

.. math:: t_j = \frac{\gamma}{\lambda_j + \gamma}
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.check import Array
from mercer.engines.lapack import eigenpairs
from mercer.solve import Saddle

SMALLEST = 1e-13
"""Penalties are sought above this share of the largest eigenvalue, where rounding rules."""

LARGEST = 1e4
"""And below this multiple of it, where the null space alone is left."""


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
