r"""Loops that numba compiles: the exponential in place, by a polynomial and a power of two.

.. math:: e^{cx} = 2^k\, e^r, \quad k = \mathrm{round}(cx / \ln 2), \quad |r| \le \tfrac{1}{2} \ln 2

Adding 1.5 times two to the number of mantissa bits rounds to a whole number and leaves it in the
low bits, where the same memory seen as whole numbers can move it to the exponent: hence the loops
over short stretches, each of which the compiler turns into vector instructions.
"""

# numba reads no annotations and has no type information of its own.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from math import factorial

import numba
import numpy as np

from mercer.check import Array

STRETCH = 512
LOWEST_DOUBLE, HIGHEST_DOUBLE = -708.0, 709.782712893384
LOWEST_SINGLE, HIGHEST_SINGLE = np.float32(-86.9), np.float32(88.72283)
INFINITE = np.float32(np.inf)

INVERSE_LN2 = 1.4426950408889634
# ln 2 in two parts: the first has few bits, so that k times it is exact.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUNDER = 1.5 * 2.0**52
SINGLE_INVERSE_LN2 = np.float32(INVERSE_LN2)
SINGLE_HIGH, SINGLE_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
SINGLE_ROUNDER = np.float32(1.5 * 2.0**23)
S0, S1, S2, S3, S4, S5, S6 = (np.float32(1.0 / factorial(i)) for i in range(7))
ZERO, TWO = np.float32(0.0), np.float32(2.0)

compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz"})


@compiled
def exp_double(a: Array, factor: float) -> None:
    """Replace doubles by the exponential of a multiple of them; below exp(-708) it is 0."""
    scratch = np.empty(STRETCH, np.float64)
    bits = scratch.view(np.int64)
    for start in range(0, a.size, STRETCH):
        part = a[start : start + STRETCH]
        for i in range(part.size):
            x = min(max(factor * part[i], LOWEST_DOUBLE), HIGHEST_DOUBLE)
            scratch[i] = x * INVERSE_LN2 + ROUNDER
        for i in range(part.size):
            x = min(max(factor * part[i], LOWEST_DOUBLE), HIGHEST_DOUBLE)
            k = scratch[i] - ROUNDER
            r = (x - k * LN2_HIGH) - k * LN2_LOW
            p = 1.0 / 6227020800.0
            p = p * r + 1.0 / 479001600.0
            p = p * r + 1.0 / 39916800.0
            p = p * r + 1.0 / 3628800.0
            p = p * r + 1.0 / 362880.0
            p = p * r + 1.0 / 40320.0
            p = p * r + 1.0 / 5040.0
            p = p * r + 1.0 / 720.0
            p = p * r + 1.0 / 120.0
            p = p * r + 1.0 / 24.0
            p = p * r + 1.0 / 6.0
            p = p * r + 0.5
            p = p * r + 1.0
            p = p * r + 1.0
            y = factor * part[i]
            p = p if y > LOWEST_DOUBLE else 0.0
            p = np.inf if y > HIGHEST_DOUBLE else p
            part[i] = y if np.isnan(y) else p
        for i in range(part.size):
            bits[i] = (bits[i] + 1022) << 52
        for i in range(part.size):
            part[i] = 2.0 * (part[i] * scratch[i])


@compiled
def exp_single(a: Array, factor: np.float32) -> None:
    """Replace singles by the exponential of a multiple of them; below exp(-86.9) it is 0."""
    scratch = np.empty(STRETCH, np.float32)
    bits = scratch.view(np.int32)
    for start in range(0, a.size, STRETCH):
        part = a[start : start + STRETCH]
        for i in range(part.size):
            x = min(max(factor * part[i], LOWEST_SINGLE), HIGHEST_SINGLE)
            scratch[i] = x * SINGLE_INVERSE_LN2 + SINGLE_ROUNDER
        for i in range(part.size):
            x = min(max(factor * part[i], LOWEST_SINGLE), HIGHEST_SINGLE)
            k = scratch[i] - SINGLE_ROUNDER
            r = (x - k * SINGLE_HIGH) - k * SINGLE_LOW
            p = S6 * r + S5
            p = p * r + S4
            p = p * r + S3
            p = p * r + S2
            p = p * r + S1
            p = p * r + S0
            y = factor * part[i]
            p = p if y > LOWEST_SINGLE else ZERO
            p = INFINITE if y > HIGHEST_SINGLE else p
            part[i] = y if np.isnan(y) else p
        for i in range(part.size):
            bits[i] = (bits[i] + np.int32(126)) << np.int32(23)
        for i in range(part.size):
            part[i] = TWO * (part[i] * scratch[i])
