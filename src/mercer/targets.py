"""What is observed of points: numbers that can be squared, and points that stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array, Checked, Points, refuse_non_finite
from mercer.errors import InvalidInput

EXTREME = 1e140
"""Numbers above this, or all below its inverse, have sums of squares that are no doubles."""


def check_size(values: Array, name: str) -> None:
    """Refuse numbers that cannot be squared.

    >>> check_size(np.array([1.0, 1e-200]), "y")
    >>> check_size(np.array([0.0, 1e-200]), "y")
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: the largest modulus of y is 1e-200, whose square is no double: multiply y by a power of ten
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest > EXTREME or 0.0 < largest < 1.0 / EXTREME:
        raise InvalidInput(
            f"the largest modulus of {name} is {largest:g}, whose square is no double: multiply "
            f"{name} by a power of ten"
        )


def read_numbers(y: Any) -> Any:
    """Return targets as they are, but numbers in words as numbers; refuse what is no number.

    >>> read_numbers(["1.5", "2"])
    array([1.5, 2. ])
    >>> read_numbers(["1.5", "high"])
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: y, row 1: 'high' is not a number; classes are for mercer.SVC
    >>> read_numbers([1.5, np.nan])
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: y, row 1 holds NaN. Remove or impute what is missing or infinite (NaN, inf) first
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    values = np.asarray(y)
    if values.ndim == 0:
        return y
    if values.dtype.kind in "USO":
        y = values = _in_words(values)
    elif values.dtype.kind in "cmM":
        what = (
            "complex numbers: give their real and their imaginary parts"
            if values.dtype.kind == "c"
            else "dates or times: give numbers, such as days since the first"
        )
        raise InvalidInput(f"y holds {what}")
    refuse_non_finite(values, "y")
    return y


def _in_words(values: Array) -> Array:
    for place, value in np.ndenumerate(values):
        try:
            float(value)
        except (TypeError, ValueError):
            word = repr(str(value) if isinstance(value, str) else value)
            raise InvalidInput(
                f"y, row {place[0]}: {word:.40} is not a number; classes are for mercer.SVC"
            ) from None
    return values.astype(np.float64)


def read_targets(y: Any, count: int, model: str) -> Array:
    """Return the targets of so many points, one or several numbers for each.

    >>> read_targets([1, 2], 2, "A model")
    array([1., 2.])
    >>> read_targets([1, 2], 3, "A model")
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: y has 2 values for 3 points
    """
    _refuse_none(y, model)
    targets = np.asarray(read_numbers(y), dtype=np.float64)
    if targets.ndim not in (1, 2) or 0 in targets.shape[1:]:
        raise InvalidInput(
            f"y must have a number, or a row of numbers, for each point; found shape "
            f"{targets.shape}"
        )
    _refuse_length(targets, count, "values")
    check_size(targets, "y")
    return targets


def read_labels(y: Any, count: int, model: str) -> Array:
    """Return the labels of so many points: numbers, words or others that have an order.

    >>> read_labels(["a", "b"], 2, "A model")
    array(['a', 'b'], dtype='<U1')
    >>> read_labels(["a", None], 2, "A model")
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: y, row 1 holds None. Leave out what has no label
    """
    _refuse_none(y, model)
    labels = np.asarray(y)
    if labels.ndim == 0:
        raise InvalidInput(f"y must have a label for each point, found {y!r}")
    if labels.dtype.kind == "f":
        refuse_non_finite(labels, "y")
    for row, label in enumerate(labels.flat):
        if label is None or (isinstance(label, float | np.floating) and np.isnan(label)):
            missing = "None" if label is None else "NaN"
            raise InvalidInput(f"y, row {row} holds {missing}. Leave out what has no label")
    try:
        np.unique(labels)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels.flat})
        raise InvalidInput(
            f"y mixes labels of the types {', '.join(kinds)}, which have no order: give words"
        ) from None
    _refuse_length(labels, count, "labels")
    return labels


def _refuse_none(y: Any, model: str) -> None:
    if y is None:
        raise InvalidInput(f"{model} requires y to be passed, but the target y is None")


def _refuse_length(values: Array, count: int, what: str) -> None:
    if len(values) != count:
        raise InvalidInput(f"y has {len(values)} {what} for {count} points")


def kept(points: Points) -> Points:
    """Return points that a model can keep: of an array in memory a copy, for it may change.

    >>> x = np.zeros((2, 1))
    >>> kept(x) is x
    False
    """
    if isinstance(points, Checked):
        return points.copied()
    return points.copy() if type(points) is np.ndarray else points
