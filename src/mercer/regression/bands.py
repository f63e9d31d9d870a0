"""Intervals of a normal law around fitted values."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from mercer.check import Array
from mercer.settings import confidence_of


def band(
    values: Array, deviation: Array, noise_variance: float | Array, confidence: float
) -> tuple[Array, Array]:
    """Return the ends of central intervals of a confidence, for a function or with noise on top.

    >>> lower, upper = band(np.zeros(1), np.array([0.6]), 0.64, 0.95)
    >>> round(float(upper[0]), 3)
    1.96
    """
    half = NormalDist().inv_cdf(0.5 + 0.5 * confidence_of(confidence)) * np.sqrt(
        deviation**2 + noise_variance
    )
    return values - half, values + half
