"""Points seen from another origin, in another unit: for kernels whose axes stay the same.

The centred Gram matrix of the linear kernel, and of its sums with functions of distances, is the
same from everywhere, and from the mean no digits are lost; in a unit of the size of the data no
inner product leaves the range of doubles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array, Points, power_of_two
from mercer.gram import columns
from mercer.points import (
    SparseRows,
    as_table,
    lies_on_disk,
    readings,
)

SMALLEST, LARGEST = 1e-150, 1e150
"""Coordinates whose squares are doubles."""


class Placed:
    """Points on disk minus an origin, in a unit: what is read is placed when it is read.

    >>> seen = Placed(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([1.0, 1.0]))
    >>> len(seen), seen[1:]
    (2, array([[2., 4.]]))
    """

    lies_on_disk = True

    def __init__(self, points: Points, origin: Array, unit: float = 1.0) -> None:
        self.points, self.origin, self.unit = points, origin, unit
        self.shape, self.dtype = (len(points), len(origin)), np.dtype(np.float64)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: Any, /) -> Array:
        return _moved(as_table(self.points[index]), self.origin, self.unit)


def placed(points: Any, origin: Array | None, unit: float) -> Any:
    """Return points minus an origin, in a unit; as they are where there is no origin."""
    if origin is None:
        return points
    if lies_on_disk(points) or isinstance(points, SparseRows):
        return Placed(points, origin, unit)
    return _moved(points, origin, unit)


def place_of(points: Any, weights: Array) -> tuple[Array, float]:
    """Return the weighted mean of points, and 1 or the power of two that is their unit.

    >>> place_of(np.array([[1e200], [3e200]]), np.array([0.5, 0.5]))[0]
    array([2.e+200])
    """
    size, mean = 0.0, np.zeros(columns(points))
    for rows in readings(points):
        active = weights[rows] > 0
        part = np.asarray(points[rows], dtype=np.float64)[active]
        size = max(size, float(part.max(initial=0.0)), -float(part.min(initial=0.0)))
        mean += weights[rows][active] @ part
    is_usual = size == 0.0 or SMALLEST < size < LARGEST
    return mean, 1.0 if is_usual else power_of_two(np.array([size]))


def _moved(points: Array, origin: Array, unit: float) -> Array:
    moved: Array = points - origin if unit == 1.0 else points / unit - origin / unit
    return moved
