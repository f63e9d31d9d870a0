"""Variances and covariances of a conditioned process at new points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer.check import Array, Points, chunks
from mercer.gp.evidence import UNIT, Conditioned, Observations
from mercer.gp.posterior import checked_variance
from mercer.gram import Gram
from mercer.kernels.base import Kernel

AT_ONCE = 2**24
"""Numbers of a matrix between new points and old ones that are in memory at a time."""


@dataclass(frozen=True)
class Predictive:
    r"""The law of g at new points, with q the values of the unknown functions of the mean.

    .. math:: \mathrm{cov}(g(x), g(x')) = k(x, x') - k_x^\top A^{-1} k_{x'}
        + r_x^\top (Q^\top A^{-1} Q)^{-1} r_{x'}, \qquad r_x = q_x - Q^\top A^{-1} k_x
    """

    kernel: Kernel
    noise_variance: float
    data: Observations
    state: Conditioned

    def variances(self, points: Points, functions: Array) -> Array:
        """Return the variance of g at points."""
        size = max(1, AT_ONCE // len(self.data))
        parts = [self._part(points[r], functions[r]) for r in chunks(len(points), size)]
        return np.concatenate(parts)

    def _part(self, points: Points, functions: Array) -> Array:
        n = len(self.data)
        own = np.asarray(self.kernel.diag(points), dtype=float)
        cross = Gram(self.kernel, self.data.points, points).dense()
        white = self.state.whitened(cross)
        variance = own - np.sum(white * white, axis=0)
        lost = np.flatnonzero(variance < -n * UNIT * own)
        if lost.size:
            variance[lost] = self._stable(own[lost], cross[:, lost], white[:, lost])
        free = self._free(functions, white)
        return np.asarray(checked_variance(variance, own, n) + np.sum(free * free, axis=0))

    def _stable(self, own: Array, cross: Array, white: Array) -> Array:
        r"""Return variances in a form whose error is of second order in that of the weights.

        .. math:: \|k(x, \cdot) - \textstyle\sum_i a_i k(x_i, \cdot)\|^2 + \sigma^2 \|a\|^2,
            \quad a = A^{-1} k_x
        """
        a = self.state.unwhitened(white)
        images = self.data.gram(self.kernel).product(a)
        noise = self.data.variances(self.noise_variance + self.state.jitter)[:, None]
        return np.asarray(own + np.sum(a * (images - 2.0 * cross + noise * a), axis=0))

    def _free(self, functions: Array, white: Array) -> Array:
        """Return what the unknown functions of the mean add, as columns of a factor."""
        rows = functions.T - self.state.triangle.T @ (self.state.basis.T @ white)
        return np.asarray(solve_triangular(self.state.triangle, rows, trans="T"))

    def covariance(self, points: Points, functions: Array) -> Array:
        """Return the covariance matrix of g at points."""
        white = self.state.whitened(Gram(self.kernel, self.data.points, points).dense())
        free = self._free(functions, white)
        return np.asarray(Gram(self.kernel, points).dense() - white.T @ white + free.T @ free)
