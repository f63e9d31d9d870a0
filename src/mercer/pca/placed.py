"""Points on disk that are seen from another origin, a part at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array, Points


class Placed:
    """Points minus an origin: the difference is taken of what is read, when it is read.

    >>> seen = Placed(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([1.0, 1.0]))
    >>> len(seen), seen[1:]
    (2, array([[2., 4.]]))
    """

    lies_on_disk = True

    def __init__(self, points: Points, origin: Array) -> None:
        self.points, self.origin = points, origin
        self.shape, self.dtype = (len(points), len(origin)), np.dtype(np.float64)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: Any, /) -> Array:
        part: Array = np.asarray(self.points[index], dtype=np.float64) - self.origin
        return part
