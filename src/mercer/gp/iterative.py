"""A process with given parameters on more points than a matrix is stored for, by iteration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.check import Array, Points, chunks
from mercer.display import warn
from mercer.errors import ToleranceNotMet
from mercer.gp.evidence import Observations
from mercer.gp.posterior import checked_variance
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.solve import Explained, Saddle

TOL = 1e-10
"""Residuals of the systems, as shares of their right sides."""


@dataclass(frozen=True)
class Iterated:
    """Weights of a process that was conditioned by conjugate gradients: it has no likelihood."""

    weights: Array
    null_weights: Array
    residual: float
    jitter: float = 0.0


def iterated(gram: Gram, noise_variance: float, data: Observations) -> Iterated:
    """Return the process given observations with noise, storing no matrix in double precision.

    >>> from mercer.kernels import Delta
    >>> data = Observations([0, 1], np.array([[2.0], [0.0]]), np.zeros((2, 0)))
    >>> iterated(Gram(Delta(), data.points), 1.0, data).weights.ravel()
    array([1., 0.])
    """
    answer = Saddle(gram, data.Q, tol=TOL).solve(*data.precisions(noise_variance), data.y)
    if answer.method != "direct" and answer.residual > TOL:
        warn(
            f"rounding keeps the residual of the weights at {answer.residual:.2g} of y, above "
            f"{TOL:g}; a larger noise_variance is better conditioned",
            ToleranceNotMet,
        )
    return Iterated(answer.weights, answer.null_weights, answer.residual)


@dataclass(frozen=True)
class IterativePredictive:
    """The law of g at new points, each by a system of its own."""

    kernel: Kernel
    noise_variance: float
    data: Observations

    def variances(self, points: Points, functions: Array) -> Array:
        """Return the variance of g at points."""
        of = self._explained()
        parts = []
        for rows in chunks(len(points), of.count):
            own = np.asarray(self.kernel.diag(points[rows]), dtype=float)
            k = Gram(self.kernel, self.data.points, points[rows]).dense()
            found = of.variances(own, k, functions[rows].T)
            parts.append(checked_variance(found, own, len(self.data)))
        return np.concatenate(parts)

    def covariance(self, points: Points, functions: Array) -> Array:
        """Return the covariance matrix of g at points."""
        k = Gram(self.kernel, self.data.points, points).dense()
        a, image = self._explained().weights(k, functions.T)
        mixed = a.T @ (0.5 * image - k)
        return np.asarray(Gram(self.kernel, points).dense() + mixed + mixed.T)

    def _explained(self) -> Explained:
        saddle = Saddle(self.data.gram(self.kernel), self.data.Q, tol=TOL)
        return Explained(saddle, *self.data.precisions(self.noise_variance))
