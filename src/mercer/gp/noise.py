"""The noise of observations where each has a variance of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array, real_array
from mercer.errors import InvalidParameter

NOISE = "noise_variance"


def each_noise(given: Any, n: int) -> Array | None:
    """Return the noise variances of n observations, or None where one number is for all.

    >>> each_noise([0.1, 0.2], 2), each_noise(0.1, 2)
    (array([0.1, 0.2]), None)
    >>> each_noise([0.1, -0.2], 2)
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: noise_variance[1] must be >= 0, found -0.2
    """
    if np.ndim(given) == 0:
        return None
    values = real_array(given, NOISE)
    if values.shape != (n,):
        raise InvalidParameter(
            f"noise_variance must be a number, or one for each of {n} observations; found shape "
            f"{values.shape}"
        )
    if np.any(values < 0.0):
        row = int(np.argmin(values))
        raise InvalidParameter(f"noise_variance[{row}] must be >= 0, found {values[row]:g}")
    return values.copy()
