r"""Loops that numba compiles: the exponential in place, and numpy's shuffle without its lock.

The exponential is a polynomial times a power of two,

.. math:: e^{cx} = 2^k\, e^r, \quad k = \mathrm{round}(cx / \ln 2), \quad |r| \le \tfrac{1}{2} \ln 2

Adding 1.5 times two to the number of mantissa bits rounds to a whole number and leaves it in the
low bits, from where a shift moves it to the exponent: one loop, which the compiler turns into
vector instructions. The shuffle is numpy's own, for which other threads need not wait.
"""

# numba reads no annotations and has no type information of its own.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from math import factorial
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from mercer.check import Array

LOWEST_DOUBLE, HIGHEST_DOUBLE = -708.0, 710.0
LOWEST_SINGLE, HIGHEST_SINGLE = np.float32(-86.9), np.float32(89.0)
"""Exponents below the lowest give 0; of the highest the exponential is infinite by itself."""

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


def _seen_as(source: Any, target: Any, form: Any) -> Any:
    """Return a function for compiled code that sees the bits of a number as another type."""

    @intrinsic
    def seen(context: Any, number: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], form)

        return target(source), code

    return seen


_bits_of_double = _seen_as(numba.float64, numba.int64, ir.IntType(64))
_double_of_bits = _seen_as(numba.int64, numba.float64, ir.DoubleType())
_bits_of_single = _seen_as(numba.float32, numba.int32, ir.IntType(32))
_single_of_bits = _seen_as(numba.int32, numba.float32, ir.FloatType())


@compiled
def exp_double(a: Array, factor: float) -> None:
    """Replace doubles by the exponential of a multiple of them; below exp(-708) it is 0."""
    for i in range(a.size):
        y = factor * a[i]
        x = HIGHEST_DOUBLE if y > HIGHEST_DOUBLE else y  # what is no number stays so
        x = LOWEST_DOUBLE if x < LOWEST_DOUBLE else x
        rounded = x * INVERSE_LN2 + ROUNDER
        k = rounded - ROUNDER
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
        half = _double_of_bits((_bits_of_double(rounded) + 1022) << 52)  # of 2 to the k
        a[i] = 0.0 if y <= LOWEST_DOUBLE else 2.0 * (p * half)


@compiled
def exp_single(a: Array, factor: np.float32) -> None:
    """Replace singles by the exponential of a multiple of them; below exp(-86.9) it is 0."""
    for i in range(a.size):
        y = factor * a[i]
        x = HIGHEST_SINGLE if y > HIGHEST_SINGLE else y
        x = LOWEST_SINGLE if x < LOWEST_SINGLE else x
        rounded = x * SINGLE_INVERSE_LN2 + SINGLE_ROUNDER
        k = rounded - SINGLE_ROUNDER
        r = (x - k * SINGLE_HIGH) - k * SINGLE_LOW
        p = S6 * r + S5
        p = p * r + S4
        p = p * r + S3
        p = p * r + S2
        p = p * r + S1
        p = p * r + S0
        half = _single_of_bits((_bits_of_single(rounded) + np.int32(126)) << np.int32(23))
        a[i] = ZERO if y <= LOWEST_SINGLE else TWO * (p * half)


@numba.njit(nogil=True, cache=True)
def shuffle(columns: Array, draws: Array, out: Array) -> bool:
    """Write each row of ``columns`` shuffled to ``out``; False if there were too few draws.

    Fisher and Yates' exchanges: the last bits of a 32-bit draw, as many as the place i has, are
    the place to exchange with, or are drawn again where they are more than i.
    """
    p, n = columns.shape
    used, given = 0, draws.size
    largest = np.int64(1)
    while largest < n - 1:
        largest = 2 * largest + 1
    for c in range(p):
        mask, i = largest, n - 1
        for k in range(n):
            out[c, k] = columns[c, k]
        while i > 0:
            if used == given:
                return False
            drawn = np.int64(draws[used]) & mask
            used += 1
            # A draw that is too large exchanges i with itself, which spares a branch.
            j = min(drawn, i)
            here, there = out[c, i], out[c, j]
            out[c, i], out[c, j] = there, here
            i -= np.int64(drawn <= i)
            if i <= mask >> 1:
                mask >>= 1
    return True
