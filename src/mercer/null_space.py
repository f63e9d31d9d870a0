"""Functions that are not penalised, as columns of their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from mercer.check import Array, InvalidParameter, Points, as_numpy, real_array, vectors

Functions: TypeAlias = str | Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None


def null_columns(null_space: Functions, points: Points, name: str = "null_space") -> Array:
    """Return the values of the functions at points, one column each; ``name`` is for messages.

    >>> null_columns("linear", np.array([[5.0], [7.0]]))
    array([[1., 5.], [1., 7.]])
    >>> null_columns([lambda x: x[:, 0] ** 2], np.array([[5.0], [7.0]]))
    array([[25.], [49.]])
    """
    n = len(points)
    if null_space is None:
        return np.zeros((n, 0))
    if isinstance(null_space, str):
        if null_space == "constant":
            return np.ones((n, 1))
        if null_space == "linear":
            return np.hstack([np.ones((n, 1)), as_numpy(vectors(points, "X"))])
    elif callable(null_space):
        return _values(null_space, points)
    elif isinstance(null_space, list | tuple) and all(callable(f) for f in null_space):
        return np.hstack([np.zeros((n, 0)), *(_values(f, points) for f in null_space)])
    raise InvalidParameter(
        f"{name} must be None, 'constant', 'linear' or functions of the points, found "
        f"{null_space!r}"
    )


def _values(function: Callable[[Any], Any], points: Points) -> Array:
    name = getattr(function, "__name__", repr(function))
    values = real_array(function(points), f"the function {name} of the null space")
    if values.ndim not in (1, 2) or len(values) != len(points):
        raise InvalidParameter(
            f"the function {name} of the null space must give a value, or a row of values, for "
            f"each of {len(points)} points; found shape {values.shape}"
        )
    return values.reshape(len(points), -1)
