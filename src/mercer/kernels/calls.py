"""Python functions of two points, or of two blocks of points, called on many of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from mercer.check import Array, Points, chunks, how_many, members, number_array, part_of
from mercer.errors import InvalidInput, MercerError
from mercer.points import SparseRows

Function: TypeAlias = Callable[[Any, Any], Any]

BOTH_WAYS = 32
"""Points among which a function is called on (x, y) and on (y, x), so that asymmetry shows."""

SAME_VALUE = 1e-6
"""Relative difference allowed to a value computed in blocks of different sizes."""

MATCHING = 16
"""Points whose matrix a function of blocks is asked for where only its diagonal is needed."""


def on_all(function: Function, x: Points, y: Points, same: bool) -> Array:
    """Return the matrix of f(x[i], y[j]); if both sides are the same, half of it by symmetry.

    >>> on_all(lambda a, b: a * b, [1.0, 2.0], [3.0], False)
    array([[3.],
           [6.]])
    """
    n, m = how_many(x), how_many(y)
    first = [i if same and i >= BOTH_WAYS else 0 for i in range(n)]
    right = list(members(y))
    values = [
        _called(function, point, right[j], (i, j))
        for i, point in enumerate(members(x))
        for j in range(first[i], m)
    ]
    numbers = _one_number_each(values)
    if not any(first):
        return numbers.reshape(n, m)
    known = np.arange(m) >= np.array(first)[:, None]
    matrix = np.empty((n, m), numbers.dtype)
    matrix[known] = numbers
    matrix[~known] = matrix.T[~known].conj()
    return matrix


def on_matching(function: Function, x: Points, y: Points) -> Array:
    """Return the vector of f(x[i], y[i])."""
    both = enumerate(zip(members(x), members(y), strict=True))
    return _one_number_each([_called(function, a, b, (i, i)) for i, (a, b) in both])


def on_blocks(function: Function, x: Points, y: Points) -> Array:
    """Return the matrix that a function of two blocks gives, once it was checked on two points."""
    _refuse_other_blocks(function, x, y)
    return _block(function, x, y)


def on_matching_blocks(function: Function, x: Points, y: Points) -> Array:
    """Return the vector of the values of x[i] and y[i], from a function of two blocks."""
    _refuse_other_blocks(function, x, y)
    parts = [(part_of(x, rows), part_of(y, rows)) for rows in chunks(how_many(x), MATCHING)]
    values = [np.diagonal(_block(function, a, b)) for a, b in parts]
    return np.concatenate([np.zeros(0), *values])


def _called(function: Function, x: Any, y: Any, place: tuple[int, int]) -> Any:
    try:
        return function(x, y)
    except MercerError:
        raise
    except Exception as error:
        shown = ", ".join(f"{str(p)[:40]}" for p in (x, y))
        raise InvalidInput(
            f"the function of two points failed on the points {place[0]} and {place[1]} of the "
            f"part at hand ({shown}): {type(error).__name__}: {error}"
        ) from error


def _block(function: Function, x: Points, y: Points) -> Array:
    """Return the matrix that a function gives for two blocks of points, as numbers of its shape."""
    shape = how_many(x), how_many(y)
    if 0 in shape:
        return np.zeros(shape)
    sides = [p.matrix if isinstance(p, SparseRows) else p for p in (x, y)]
    try:
        given = function(*sides)
    except MercerError:
        raise
    except Exception as error:
        raise InvalidInput(
            f"the function of two blocks of points failed on {shape[0]} and {shape[1]} points: "
            f"{type(error).__name__}: {error}"
        ) from error
    values = number_array(given, "what the function of two blocks of points returned")
    if values.shape != shape:
        raise InvalidInput(
            f"the function of two blocks of points returned shape {values.shape} for {shape[0]} "
            f"and {shape[1]} points; it must return a matrix of shape {shape}, entry (i, j) for "
            "x[i] and y[j]. A function of one pair of points is given without vectorised=True"
        )
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _refuse_other_blocks(function: Function, x: Points, y: Points) -> None:
    """Refuse a function of blocks whose value for a pair depends on the other points.

    Two points and one tell rows from columns, whatever the number of coordinates.
    """
    if how_many(x) < 2 or how_many(y) < 1:
        return
    one = part_of(y, slice(0, 1))
    pair = _block(function, part_of(x, slice(0, 2)), one)[:, 0]
    alone = np.array([_block(function, part_of(x, slice(i, i + 1)), one)[0, 0] for i in (0, 1)])
    gaps = np.abs(pair - alone)
    i = int(np.argmax(gaps))
    if gaps[i] > SAME_VALUE * np.abs(pair).max():
        raise InvalidInput(
            f"the function of two blocks of points gives {alone[i]:.6g} for point {i} of x and "
            f"point 0 of y alone, and {pair[i]:.6g} beside point {1 - i} of x: the value of a "
            "kernel depends on the pair only"
        )


def _one_number_each(values: list[Any]) -> Array:
    if any(v is None for v in values):
        raise InvalidInput(
            "a function of two points must return a number and returned None: did it forget to?"
        )
    has_complex = any(isinstance(v, complex | np.complexfloating) for v in values)
    try:
        return np.asarray(values, np.complex128 if has_complex else np.float64).reshape(len(values))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"a function of two points must return one number for each pair: {error}"
        ) from error
