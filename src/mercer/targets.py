"""What is observed of points: numbers that can be squared, and points that stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array, InvalidInput, Points

EXTREME = 1e140
"""Numbers above this, or all below its inverse, have sums of squares that are no doubles."""


def check_size(values: Array, name: str) -> None:
    """Refuse numbers that cannot be squared.

    >>> check_size(np.array([1.0, 1e-200]), "y")
    >>> check_size(np.array([0.0, 1e-200]), "y")
    Traceback (most recent call last):
    ...
    mercer.check.InvalidInput: the largest modulus of y is 1e-200, whose square is no double: multiply y by a power of ten
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest > EXTREME or 0.0 < largest < 1.0 / EXTREME:
        raise InvalidInput(
            f"the largest modulus of {name} is {largest:g}, whose square is no double: multiply "
            f"{name} by a power of ten"
        )


def read_numbers(y: Any) -> Any:
    """Return targets as they are, but numbers in words as numbers; refuse other words.

    >>> read_numbers(["1.5", "2"])
    array([1.5, 2. ])
    >>> read_numbers(["1.5", "high"])
    Traceback (most recent call last):
    ...
    mercer.check.InvalidInput: y holds 'high' at row 1, which is no number; classes are for mercer.SVC
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    values = np.asarray(y)
    if values.ndim == 0 or values.dtype.kind not in "USO":
        return y
    for place, value in np.ndenumerate(values):
        try:
            float(value)
        except (TypeError, ValueError):
            word = repr(str(value) if isinstance(value, str) else value)
            raise InvalidInput(
                f"y holds {word:.40} at row {place[0]}, which is no number; classes are for "
                "mercer.SVC"
            ) from None
    return values.astype(np.float64)


def kept(points: Points) -> Points:
    """Return points that a model can keep: of an array in memory a copy, for it may change.

    >>> x = np.zeros((2, 1))
    >>> kept(x) is x
    False
    """
    return points.copy() if type(points) is np.ndarray else points
