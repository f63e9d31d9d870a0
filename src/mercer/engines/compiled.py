"""An exponential compiled for this machine's vectors, where numba is installed.

numpy's own is a scalar loop in double precision on processors without AVX-512.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

import numpy as np

from mercer.check import Array
from mercer.kernels.pairs import numpy_exponential

SMALL = 4096
"""Below this many numbers a compiled loop gains nothing."""


@cache
def fastest_exponential() -> Callable[[Array, float], Array]:
    """Return a function that replaces an array by exp(factor·a), as fast as this machine can."""
    if find_spec("numba") is None:
        return numpy_exponential
    from mercer.engines.exponential import exp_double, exp_single

    def compiled(a: Array, factor: float) -> Array:
        if a.size < SMALL or not a.flags.c_contiguous:
            return numpy_exponential(a, factor)
        if a.dtype == np.float64:
            exp_double(a.reshape(-1), float(factor))
            return a
        if a.dtype == np.float32:
            exp_single(a.reshape(-1), np.float32(factor))
            return a
        return numpy_exponential(a, factor)

    return compiled
