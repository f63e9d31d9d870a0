"""Functions of arrays that users give: how they are called, and what their values may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidParameter


def call_function(function: Any, name: str, of: str, *arrays: Any) -> Any:
    """Return what a user's function makes of arrays; one that takes none is named.

    >>> call_function(lambda t: 0.0 if t else 1.0, "f", "an array", np.zeros(3))
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: f must be a function of an array, and this one said: The truth value of an array with more than one element is ambiguous. Use a.any() or a.all(). numpy.vectorize makes one of a function of numbers
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    if not callable(function):
        raise InvalidParameter(f"{name} must be a function of {of}, found {function!r}")
    try:
        return function(*arrays)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"{name} must be a function of {of}, and this one said: {error}. numpy.vectorize makes "
            "one of a function of numbers"
        ) from error


def real_values(given: Any, name: str) -> Array:
    """Return the values of a function as an array in their own precision, complex ones refused.

    >>> real_values([1, 2], "f"), real_values(np.float32(1.0), "f").dtype
    (array([1., 2.]), dtype('float32'))
    >>> real_values(1j, "f")
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: f must have real values, and returned complex ones; numpy.real drops imaginary parts
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    try:
        values = np.asarray(given)
        if values.dtype.kind != "c":
            is_short = values.dtype in (np.float16, np.float32)
            return values if is_short else values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"{name} must have numbers for values: {error}") from error
    raise InvalidParameter(
        f"{name} must have real values, and returned complex ones; numpy.real drops imaginary parts"
    )


def values_of(function: Any, name: str, of: str, array: Array) -> Array:
    """Return the values of a user's function, one for each entry of an array.

    >>> values_of(lambda t: 1.0, "f", "an array", np.zeros(3))
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: f must return a value for each entry of its array, of shape (3,), and returned shape ()
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    with np.errstate(all="ignore"):
        values = real_values(call_function(function, name, of, array), name)
    if values.shape != array.shape:
        raise InvalidParameter(
            f"{name} must return a value for each entry of its array, of shape {array.shape}, and "
            f"returned shape {values.shape}"
        )
    return values
