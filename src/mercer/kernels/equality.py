"""When two points are the same: points of any kind as keys that compare and hash."""

from __future__ import annotations

from collections.abc import Hashable
from math import isnan
from numbers import Number
from typing import Any, cast

import numpy as np

from mercer.check import Points, as_numpy, rows_of, vectors
from mercer.errors import InvalidInput


def listed(points: Any) -> Points:
    """Return arrays as lists, whose members are Python's and compare like any others."""
    points = rows_of(points)
    if not hasattr(points, "ndim"):
        return cast(Points, points)
    array = as_numpy(points)
    checked = as_numpy(vectors(points)) if array.dtype.kind in "biufc" else array
    # Whole numbers remain what they are: beyond 2⁵³ doubles cannot tell neighbours apart.
    rows: list[Any] = (checked if array.dtype.kind in "fc" else array).tolist()
    return rows


def hashable(point: Any) -> Hashable:
    """Return a point as a key; a vector of one coordinate is the number it holds."""
    if isinstance(point, np.ndarray):
        point = point.tolist()
    if isinstance(point, list | tuple):
        items = tuple(hashable(p) for p in point)
        return items[0] if len(items) == 1 and isinstance(items[0], Number) else items
    if isinstance(point, set):
        return frozenset(point)
    if isinstance(point, float) and isnan(point):
        raise InvalidInput("a point is not a number (nan), which equals nothing; remove it")
    try:
        hash(point)
    except TypeError:
        raise InvalidInput(
            f"a point of type {type(point).__name__} cannot be tested for equality; "
            "use numbers, strings, tuples or frozensets"
        ) from None
    return cast(Hashable, point)
