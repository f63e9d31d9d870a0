"""The two sweeps of the information filter along a line, as loops that numba compiles.

The loops and their formulas stand once: without numba they run as they are written, some thirty
times slower and to the same digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from mercer.check import Array
from mercer.regression import information
from mercer.regression.information import (
    Known,
    carried,
    joint_determinant,
    left_out,
    observed,
    six,
)

LARGEST = 1e150
"""A product of ratios is replaced by its logarithm before it overflows."""

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
"""How numba compiles: sums and products may be fused, and nothing raises."""


@dataclass(frozen=True)
class Swept:
    """What the places on either side know of each place, and what follows for it."""

    weights: Array
    left: Known[Array]
    right: Known[Array]
    log_ratios: float
    """Σ log Δ."""
    without: Array
    determinant: Array
    residuals: Array
    """The observed means minus the curve."""

    @property
    def remainders(self) -> Array:
        """One minus the leverages."""
        return np.asarray(self.without / self.determinant)

    @property
    def leverages(self) -> Array:
        """The diagonal of the smoother."""
        return np.asarray(self.weights * (self.left[2] + self.right[2]) / self.determinant)


@cache
def is_compiled() -> bool:
    """Whether sweeps are compiled: numba is installed."""
    return find_spec("numba") is not None


def swept(gaps: Array, weights: Array, values: Array, rate: float) -> Swept:
    """Return what both sides know of each place."""
    left, right = np.empty((6, weights.size)), np.empty((6, weights.size))
    found = np.empty((3, weights.size))
    if is_compiled():
        forth, back = _compiled()
        logarithms = float(forth(gaps, weights, values, rate, left))
        back(gaps, weights, values, rate, (left, right), found)
    else:
        # Numbers of Python's, which a memory view returns, are much faster than numpy's.
        h, w, y = (np.ascontiguousarray(part).data for part in (gaps, weights, values))
        logarithms = sweep(h, w, y, rate, left.data)
        join(h, w, y, rate, (left.data, right.data), found.data)
    return Swept(weights, six(left), six(right), logarithms, *found)


@cache
def _compiled() -> list[Any]:
    """Return the two loops compiled, with the formulas that they call."""
    import numba
    from numba.extending import register_jitable

    for formula in (carried, observed, joint_determinant, left_out):
        register_jitable(**OPTIONS)(formula)
    formulas = crc32(Path(information.__file__).read_bytes())
    for loop in (sweep, join):
        # numba's cache is found by name, and does not see that formulas have changed.
        loop.__qualname__ = f"{loop.__name__}_{formulas:08x}"
    return [numba.njit(cache=True, **OPTIONS)(loop) for loop in (sweep, join)]


def sweep(gaps: Any, weights: Any, values: Any, rate: float, left: Any) -> float:
    """Fill ``left`` with what the earlier places know of each, and return Σ log Δ."""
    known = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    logarithms, product = 0.0, 1.0
    for i in range(len(weights)):
        if i > 0:
            known, ratio = carried(known, gaps[i - 1], rate)
            product *= ratio
            if product > LARGEST:
                logarithms += float(np.log(product))
                product = 1.0
        left[0, i], left[1, i], left[2, i], left[3, i], left[4, i], left[5, i] = known
        known = observed(known, weights[i], values[i])
    return logarithms + float(np.log(product))


def join(
    gaps: Any, weights: Any, values: Any, rate: float, sides: tuple[Any, Any], out: Any
) -> None:
    """Fill the right side with what the later places know, ``out`` with det⁻, det and residuals."""
    left, right = sides
    after = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(len(weights) - 1, -1, -1):
        if i < len(weights) - 1:
            after, _ = carried(after, gaps[i], rate)
        right[0, i], right[1, i], right[2, i], right[3, i], right[4, i], right[5, i] = after
        before = (left[0, i], left[1, i], left[2, i], left[3, i], left[4, i], left[5, i])
        out[0, i] = joint_determinant(before, after)
        out[1, i], out[2, i] = left_out(before, after, out[0, i], weights[i], values[i])
        after = observed(after, weights[i], values[i])
