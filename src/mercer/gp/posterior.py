"""What a Gaussian process says of points: means with two variances, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from mercer.check import EPSILON, Array, Points, chunks
from mercer.data.frames import as_frame
from mercer.display import Shown, warn
from mercer.errors import NegativeVariance, NoNoise, ToleranceNotMet
from mercer.gp.likelihood import Conditioned, NoisyObservations
from mercer.gp.parameters import TOL
from mercer.gram import Gram, in_doubles
from mercer.kernels.base import Kernel
from mercer.settings import CONFIDENCE, confidence_of, spelled
from mercer.solve import Explained, Saddle

AT_ONCE = 2**24
"""Numbers of a matrix between new points and old ones that are in memory at a time."""


@dataclass(frozen=True, repr=False)
class Posterior(Shown):
    """The law of the function g and of new observations y = g + noise at points.

    >>> posterior = Posterior(np.array([1.0]), np.array([0.21]), 0.04)
    >>> posterior.observation_variance, posterior.latent_deviation
    (array([0.25]), array([0.45825757]))
    >>> lower, upper = posterior.band(0.95, observation=True)
    >>> round(float(upper[0] - lower[0]), 4)
    1.96
    """

    facts: ClassVar[Mapping[str, str]] = {
        "mean": "of the function",
        "latent_variance": "of the function",
        "noise_variance": "of an observation, on top",
    }

    mean: Array
    latent_variance: Array
    noise_variance: float | None

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: a row for each point, with the deviations that are known."""
        means = (
            {"mean": self.mean}
            if self.mean.ndim == 1
            else {f"mean_{j}": column for j, column in enumerate(self.mean.T)}
        )
        columns = {**means, "latent_deviation": self.latent_deviation}
        if self.noise_variance is not None:
            columns["observation_deviation"] = self.observation_deviation
        return as_frame(columns, library)

    @property
    def observation_variance(self) -> Array:
        """The variance of y, which is that of g and of the noise (Kroese (6.34) is of g alone)."""
        if self.noise_variance is None:
            raise NoNoise
        return np.asarray(self.latent_variance + self.noise_variance)

    @cached_property
    def latent_deviation(self) -> Array:
        """The standard deviation of g."""
        return np.sqrt(self.latent_variance)

    @cached_property
    def observation_deviation(self) -> Array:
        """The standard deviation of y."""
        return np.sqrt(self.observation_variance)

    @spelled
    def band(
        self, confidence: float = CONFIDENCE, *, observation: bool = False
    ) -> tuple[Array, Array]:
        """Return the ends of the central intervals of g, or of y, that have a probability."""
        confidence = confidence_of(confidence)
        deviation = self.observation_deviation if observation else self.latent_deviation
        half = NormalDist().inv_cdf(0.5 + 0.5 * confidence) * deviation
        half = half if self.mean.ndim == 1 else half[:, None]
        return self.mean - half, self.mean + half


@dataclass(frozen=True, repr=False)
class LeaveOneOut(Shown):
    """The law of each observation given all the others, at the parameters of the whole.

    ``mean`` and ``variance`` are of y, not of g; ``standardised`` are the errors divided by the
    standard deviations and ``log_density`` the logarithms of the densities at what was observed.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "mean": "of each observation given the others",
        "variance": "of each observation given the others",
        "standardised": "errors in standard deviations",
        "log_density": "at what was observed",
    }

    mean: Array
    variance: Array
    standardised: Array
    log_density: Array

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each observation."""
        columns = {
            name: np.asarray(getattr(self, name))
            for name in ("mean", "variance", "standardised", "log_density")
        }
        return as_frame({n: v for n, v in columns.items() if v.ndim == 1}, library)


def leave_one_out(y: Array, weights: Array, diagonal: Array) -> LeaveOneOut:
    r"""Return what the others say of each observation.

    .. math:: y_i - \mu_{-i} = \frac{(P y)_i}{P_{ii}}, \qquad \sigma^2_{-i} = \frac{1}{P_{ii}}

    >>> of = leave_one_out(np.array([[3.0]]), np.array([[1.5]]), np.array([0.5]))
    >>> of.mean, of.variance
    (array([[0.]]), array([[2.]]))
    """
    p = diagonal[:, None]
    errors = weights / p
    variance = np.broadcast_to(1.0 / p, y.shape).copy()
    standardised = errors * np.sqrt(p)
    log_density = -0.5 * (np.log(2.0 * np.pi * variance) + standardised**2)
    return LeaveOneOut(y - errors, variance, standardised, np.asarray(log_density))


def check_variance(variance: Array, scale: Array, n: int) -> Array:
    """Return variances, those within rounding below zero as zero; refuse what is below that.

    The rounding of k(x, x) - kₓᵀA⁻¹kₓ is at most n u k(x, x).

    >>> check_variance(np.array([0.5, -1e-17]), np.array([1.0, 1.0]), 10)
    array([0.5, 0. ])
    >>> check_variance(np.array([-0.1]), np.array([1.0]), 10)
    Traceback (most recent call last):
    ...
    mercer.errors.NegativeVariance: the variance at point 0 is -0.1, below zero by more than rounding: the kernel is not positive definite, or the noise variance too small for its condition
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    wrong = np.flatnonzero(variance < -n * EPSILON * scale)
    if wrong.size:
        i = int(wrong[0])
        raise NegativeVariance(
            f"the variance at point {i} is {variance[i]:.3g}, below zero by more than rounding: "
            "the kernel is not positive definite, or the noise variance too small for its condition"
        )
    return np.maximum(variance, 0.0)


def covariance_root(covariance: Array) -> Array:
    """Return F with FFᵀ = C for a covariance matrix that may be singular.

    >>> F = covariance_root(np.ones((2, 2)))
    >>> np.allclose(F @ F.T, 1.0)
    True
    """
    values, axes = np.linalg.eigh(covariance)
    scale = np.full(len(values), max(float(np.max(np.abs(values), initial=0.0)), 0.0))
    return np.asarray(axes * np.sqrt(check_variance(values, 100.0 * scale, len(values))))


@dataclass(frozen=True)
class Predictive:
    r"""The law of g at new points, with q the values of the unknown functions of the mean.

    .. math:: \mathrm{cov}(g(x), g(x')) = k(x, x') - k_x^\top A^{-1} k_{x'}
        + r_x^\top (Q^\top A^{-1} Q)^{-1} r_{x'}, \qquad r_x = q_x - Q^\top A^{-1} k_x
    """

    kernel: Kernel
    noise_variance: float
    data: NoisyObservations
    state: Conditioned

    def variances(self, points: Points, functions: Array) -> Array:
        """Return the variance of g at points."""
        size = max(1, AT_ONCE // len(self.data))
        parts = [self._part(points[r], functions[r]) for r in chunks(len(points), size)]
        return np.concatenate(parts)

    def _part(self, points: Points, functions: Array) -> Array:
        n = len(self.data)
        own = np.asarray(self.kernel.diag(in_doubles(points)), dtype=float)
        cross = Gram(self.kernel, self.data.points, points).dense()
        white = self.state.whitened(cross)
        variance = own - np.sum(white * white, axis=0)
        lost = np.flatnonzero(variance < -n * EPSILON * own)
        if lost.size:
            variance[lost] = self._stable(own[lost], cross[:, lost], white[:, lost])
        free = self._free(functions, white)
        return np.asarray(check_variance(variance, own, n) + np.sum(free * free, axis=0))

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


@dataclass(frozen=True)
class Iterated:
    """Weights of a process that was conditioned by conjugate gradients: it has no likelihood."""

    weights: Array
    null_weights: Array
    residual: float
    jitter: float = 0.0


def condition_by_iteration(gram: Gram, noise_variance: float, data: NoisyObservations) -> Iterated:
    """Return the process given observations with noise, storing no matrix in double precision.

    >>> from mercer.kernels import Delta
    >>> data = NoisyObservations([0, 1], np.array([[2.0], [0.0]]), np.zeros((2, 0)))
    >>> condition_by_iteration(Gram(Delta(), data.points), 1.0, data).weights.ravel()
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
    data: NoisyObservations

    def variances(self, points: Points, functions: Array) -> Array:
        """Return the variance of g at points."""
        of = self._explained()
        parts = []
        for rows in chunks(len(points), of.count):
            own = np.asarray(self.kernel.diag(in_doubles(points[rows])), dtype=float)
            k = Gram(self.kernel, self.data.points, points[rows]).dense()
            found = of.variances(own, k, functions[rows].T)
            parts.append(check_variance(found, own, len(self.data)))
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
