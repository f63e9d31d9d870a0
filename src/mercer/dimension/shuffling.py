"""numpy's own shuffle as a loop that numba compiles, which other threads need not wait for."""

# numba reads no annotations and has no type information of its own.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numba
import numpy as np

from mercer.check import Array


@numba.njit(nogil=True, cache=True)
def shuffled(columns: Array, draws: Array, out: Array) -> bool:
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
