"""The sweeps of the information filter along a line, as loops that numba compiles."""

# numba reads no annotations and has no type information of its own.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numba
import numpy as np

from mercer.check import Array
from mercer.regression import information
from mercer.regression.information import Known, six

LARGEST = 1e150
"""A product of ratios is replaced by its logarithm before it overflows."""

compiled: Any = numba.njit(
    nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz"}
)
carried = compiled(information.carried)
observed = compiled(information.observed)
joint_determinant = compiled(information.joint_determinant)
left_out = compiled(information.left_out)

FORMULAS = crc32(Path(information.__file__).read_bytes())


def loop(function: Callable[..., Any]) -> Any:
    """Compile a loop under a name of its formulas: numba's cache does not see them change."""
    function.__qualname__ = f"{function.__qualname__}_{FORMULAS:08x}"
    return compiled(function)


@dataclass(frozen=True)
class Swept:
    """What the two sweeps found, place by place."""

    weights: Array
    left: Known[Array]
    right: Known[Array]
    log_ratios: float
    without: Array
    determinant: Array
    residuals: Array

    @property
    def remainders(self) -> Array:
        return np.asarray(self.without / self.determinant)

    @property
    def leverages(self) -> Array:
        return np.asarray(self.weights * (self.left[2] + self.right[2]) / self.determinant)


def swept(gaps: Array, weights: Array, values: Array, rate: float) -> Swept:
    """Return what both sides know of each place."""
    left, right = np.empty((6, weights.size)), np.empty((6, weights.size))
    found = np.empty((3, weights.size))
    logarithms = float(sweep(gaps, weights, values, rate, left))
    join(gaps, weights, values, rate, (left, right), found)
    return Swept(weights, six(left), six(right), logarithms, *found)


@loop
def sweep(gaps: Array, weights: Array, values: Array, rate: float, left: Array) -> float:
    """Fill ``left`` with what the earlier places know of each, and return Σ log Δ."""
    known = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    logarithms, product = 0.0, 1.0
    for i in range(weights.size):
        if i > 0:
            known, ratio = carried(known, gaps[i - 1], rate)
            product *= ratio
            if product > LARGEST:
                logarithms += np.log(product)
                product = 1.0
        left[0, i], left[1, i], left[2, i], left[3, i], left[4, i], left[5, i] = known
        known = observed(known, weights[i], values[i])
    return logarithms + float(np.log(product))


@loop
def join(
    gaps: Array, weights: Array, values: Array, rate: float, sides: tuple[Array, Array], out: Array
) -> None:
    """Fill the right side with what the later places know, ``out`` with det⁻, det and residuals."""
    left, right = sides
    after = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(weights.size - 1, -1, -1):
        if i < weights.size - 1:
            after, _ = carried(after, gaps[i], rate)
        right[0, i], right[1, i], right[2, i], right[3, i], right[4, i], right[5, i] = after
        before = (left[0, i], left[1, i], left[2, i], left[3, i], left[4, i], left[5, i])
        out[0, i] = joint_determinant(before, after)
        out[1, i], out[2, i] = left_out(before, after, out[0, i], weights[i], values[i])
        after = observed(after, weights[i], values[i])
