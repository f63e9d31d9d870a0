"""What a Gaussian process says of points: means with two variances, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.tidy import as_frame
from mercer.display import Shown
from mercer.errors import NegativeVariance, NoNoise
from mercer.settings import CONFIDENCE, confidence_of
from mercer.spelling import spelled

UNIT = float(np.finfo(float).eps)


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


def left_out(y: Array, weights: Array, diagonal: Array) -> LeaveOneOut:
    r"""Return what the others say of each observation.

    .. math:: y_i - \mu_{-i} = \frac{(P y)_i}{P_{ii}}, \qquad \sigma^2_{-i} = \frac{1}{P_{ii}}

    >>> of = left_out(np.array([[3.0]]), np.array([[1.5]]), np.array([0.5]))
    >>> of.mean, of.variance
    (array([[0.]]), array([[2.]]))
    """
    p = diagonal[:, None]
    errors = weights / p
    variance = np.broadcast_to(1.0 / p, y.shape).copy()
    standardised = errors * np.sqrt(p)
    log_density = -0.5 * (np.log(2.0 * np.pi * variance) + standardised**2)
    return LeaveOneOut(y - errors, variance, standardised, np.asarray(log_density))


def checked_variance(variance: Array, scale: Array, n: int) -> Array:
    """Return variances, those within rounding below zero as zero; refuse what is below that.

    The rounding of k(x, x) - kₓᵀA⁻¹kₓ is at most n u k(x, x).

    >>> checked_variance(np.array([0.5, -1e-17]), np.array([1.0, 1.0]), 10)
    array([0.5, 0. ])
    >>> checked_variance(np.array([-0.1]), np.array([1.0]), 10)
    Traceback (most recent call last):
    ...
    mercer.errors.NegativeVariance: the variance at point 0 is -0.1, below zero by more than rounding: the kernel is not positive definite, or the noise variance too small for its condition
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    wrong = np.flatnonzero(variance < -n * UNIT * scale)
    if wrong.size:
        i = int(wrong[0])
        raise NegativeVariance(
            f"the variance at point {i} is {variance[i]:.3g}, below zero by more than rounding: "
            "the kernel is not positive definite, or the noise variance too small for its condition"
        )
    return np.maximum(variance, 0.0)


def root(covariance: Array) -> Array:
    """Return F with FFᵀ = C for a covariance matrix that may be singular.

    >>> F = root(np.ones((2, 2)))
    >>> np.allclose(F @ F.T, 1.0)
    True
    """
    values, axes = np.linalg.eigh(covariance)
    scale = np.full(len(values), max(float(np.max(np.abs(values), initial=0.0)), 0.0))
    return np.asarray(axes * np.sqrt(checked_variance(values, 100.0 * scale, len(values))))
