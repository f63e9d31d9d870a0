"""What is computed of pairs of points: calls of Python functions, equality, squared distances."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import isnan
from numbers import Number
from typing import Any, TypeAlias, cast

import numpy as np
from array_api_compat import is_array_api_obj

from mercer.check import (
    Array,
    Points,
    as_numpy,
    chunks,
    how_many,
    is_single,
    members,
    namespace,
    number_array,
    part_of,
    rows_of,
    vectors,
)
from mercer.errors import InvalidInput, MercerError
from mercer.points import SparseRows

Function: TypeAlias = Callable[[Any, Any], Any]

BOTH_WAYS = 32
"""Points among which a function is called on (x, y) and on (y, x), so that asymmetry shows."""

SAME_VALUE = 1e-6
"""Relative difference allowed to a value computed in blocks of different sizes."""

MATCHING = 16
"""Points whose matrix a function of blocks is asked for where only its diagonal is needed."""

GAPS = 2**22
"""Differences of coordinates held at a time, 32 MB of them."""

DISTANCE_ACCURACY = 1e-10
"""Relative error allowed to a squared distance from a matrix product before it is recomputed."""


def on_all(function: Function, x: Points, y: Points, same: bool) -> Array:
    """Return the matrix of f(x[i], y[j]); if both sides are the same, half of it by symmetry.

    >>> on_all(lambda a, b: a * b, [1.0, 2.0], [3.0], False)
    array([[3.],
           [6.]])
    """
    n, m = how_many(x), how_many(y)
    x, y = _in_double(x), _in_double(y)
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
    both = enumerate(zip(members(_in_double(x)), members(_in_double(y)), strict=True))
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


def _in_double(points: Any) -> Any:
    """Return rows of float32 as doubles: what a function makes of them is rounded once, at the end.

    >>> _in_double(np.zeros((1, 2), np.float32)).dtype, _in_double(["a"])
    (dtype('float64'), ['a'])
    """
    if not is_single(points):
        return points
    if not is_array_api_obj(points):  # a data frame, whose columns keep their names
        return points.astype("float64") if hasattr(points, "iloc") else np.asarray(points, float)
    xp = namespace(points)
    is_complex = xp.isdtype(points.dtype, "complex floating")
    return xp.astype(points, xp.complex128 if is_complex else xp.float64)


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
    sides = [p.matrix if isinstance(p, SparseRows) else _in_double(p) for p in (x, y)]
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


def as_lists(points: Any) -> Points:
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


def sparse_squared_distances(a: Any, b: Any, lengths: Array) -> Array:
    r"""Squared Euclidean distances between sparse rows, by one sparse matrix product.

    The data are not centred, which would fill them; entries whose error could exceed
    `DISTANCE_ACCURACY` are recomputed from differences, which are as sparse as the rows.

    >>> from scipy.sparse import csr_array
    >>> x = csr_array([[1e8, 0.0, 1.0], [1e8, 2.0, 0.0]])
    >>> sparse_squared_distances(x, x, np.ones(3))
    array([[0., 5.],
           [5., 0.]])
    """
    left = in_lengths(a, lengths)
    right = left if b is a else in_lengths(b, lengths)
    left_norms = sums_of_squares(left)
    right_norms = left_norms if right is left else sums_of_squares(right)
    d: Array = (left @ right.T).toarray()
    d *= -2.0
    terms = max(int(np.max(np.diff(side.indptr), initial=0)) for side in (a, b))
    # A product of as many terms as a row has nonzeros, and two additions.
    doubt = (terms + 2) * np.finfo(np.float64).eps / 2 / DISTANCE_ACCURACY
    for rows in chunks(d.shape[0], 256):
        block = d[rows]
        norms = left_norms[rows, None] + right_norms[None, :]
        block += norms
        i, j = np.nonzero(block < doubt * norms)
        for part in chunks(len(i), max(1, GAPS // max(terms, 1))):
            gaps = in_lengths(a[rows.start + i[part]] - b[j[part]], lengths)
            block[i[part], j[part]] = sums_of_squares(gaps)
    return d


def in_lengths(rows: Any, lengths: Array) -> Any:
    """Return sparse rows with each column in units of its length."""
    if np.all(lengths == 1.0):
        return rows
    scaled = rows.copy()
    scaled.data = rows.data / lengths[rows.indices]
    return scaled


def sums_of_squares(rows: Any) -> Array:
    """Return the squared norms of sparse rows."""
    return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).reshape(-1)


def squared_distances(a: Array, b: Array, lengths: Array | float = 1.0) -> Array:
    r"""Squared Euclidean distances between rows, by one matrix product.

    .. math:: d^2(x, y) = \|x\|^2 + \|y\|^2 - 2\langle x, y\rangle

    loses all digits of distances that are small against the norms, so the data are centred
    first, and entries whose error could exceed `DISTANCE_ACCURACY` are recomputed from
    differences; among them the zeros of the diagonal. Columns are in units of the lengths.

    >>> x = 1e8 + np.eye(5)
    >>> squared_distances(x, x)[0, :2]
    array([0., 2.])
    """
    centre = a.mean(axis=0) if len(a) else 0.0
    left = (a - centre) / lengths
    right = left if b is a else (b - centre) / lengths
    left_norms = np.einsum("ij,ij->i", left, left)
    right_norms = left_norms if right is left else np.einsum("ij,ij->i", right, right)
    d: Array = left @ right.T
    d *= -2.0
    # A product of p terms and two additions are off by at most (p+2)u(‖x‖²+‖y‖²).
    doubt = (a.shape[1] + 2) * np.finfo(np.float64).eps / 2 / DISTANCE_ACCURACY
    for rows in chunks(len(left), 256):
        block = d[rows]
        norms = left_norms[rows, None] + right_norms[None, :]  # first: so d stays symmetric
        block += norms
        i, j = np.nonzero(block < doubt * norms)
        for part in chunks(len(i), max(1, GAPS // a.shape[1])):
            gap = (a[rows][i[part]] - b[j[part]]) / lengths
            block[i[part], j[part]] = np.einsum("ij,ij->i", gap, gap)
    return d
