"""Intervals of a normal law around fitted values."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from mercer.check import Array, InvalidParameter, number


def band(
    values: Array, deviation: Array, noise_variance: float | Array, level: float
) -> tuple[Array, Array]:
    """Return the ends of central intervals of a level, for a function or with noise on top.

    >>> lower, upper = band(np.zeros(1), np.array([0.6]), 0.64, 0.95)
    >>> round(float(upper[0]), 3)
    1.96
    """
    if not 0.0 < number(level, "level") < 1.0:
        raise InvalidParameter(f"level must be between 0 and 1, found {level!r}")
    half = NormalDist().inv_cdf(0.5 + 0.5 * level) * np.sqrt(deviation**2 + noise_variance)
    return values - half, values + half
