"""Rows of numbers: explicit features, joined and multiplied, and the coordinates of tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Any

import numpy as np

from mercer.check import Array, finite, namespace, place_of
from mercer.errors import NoFeatureMap, NotDifferentiable
from mercer.points import Rows

MOST_FEATURES = 100_000
"""More columns than this are never what an explicit feature map is wanted for."""

MOST_FACTORS = 1_000_000
"""More multiplications than this, for each point, are not either: they come of huge degrees."""


MOST_NUMBERS = 100_000_000
"""Sparse features are made dense up to this many numbers, 800 MB of them."""


def refuse_too_many(columns: int) -> None:
    """Refuse a feature map that would not fit in memory, before building it."""
    if columns > MOST_FEATURES:
        raise NoFeatureMap(
            f"the explicit feature map has {columns} columns, more than {MOST_FEATURES}; "
            "use the kernel itself"
        )


def dense(features: Any) -> Array:
    """Return features as an array, for operations that leave few zeros; sparse ones may not fit."""
    if hasattr(features, "toarray"):
        rows, columns = features.shape
        if rows * columns > MOST_NUMBERS:
            raise NoFeatureMap(
                f"sparse features of shape {features.shape} would be dense here, and hold more "
                f"than {MOST_NUMBERS} numbers; use the kernel itself, or fewer points at a time"
            )
        features = features.toarray()
    result: Array = features
    return result


def join(parts: Sequence[Any]) -> Array:
    """Return the features of a sum: those of its terms side by side."""
    refuse_too_many(sum(part.shape[1] for part in parts))
    arrays = [dense(part) for part in parts]
    return namespace(*arrays).concat(arrays, axis=1)


def outer_rows(left: Any, right: Any) -> Array:
    """Return the features of a product: all products of a left and a right feature."""
    columns = left.shape[1] * right.shape[1]
    refuse_too_many(columns)
    a, b = dense(left), dense(right)
    xp = namespace(a, b)
    with np.errstate(over="ignore", invalid="ignore"):
        products = xp.reshape(a[:, :, None] * b[:, None, :], (a.shape[0], columns))
    return finite(products, "a product of features")


def monomials(features: Any, degree: int) -> Array:
    r"""Return the features of the m-th power of a kernel with given features.

    .. math:: \sqrt{\tfrac{m!}{i_1! \cdots i_d!}}\; \varphi_1^{i_1} \cdots \varphi_d^{i_d},
        \quad i_1 + \dots + i_d = m

    There are :math:`\binom{d+m-1}{m}` of them (Gallier and Quaintance, Problem 53.2).

    >>> monomials(np.array([[1.0, 2.0]]), 2)
    array([[1.        , 2.82842712, 4.        ]])
    """
    n, d = features.shape
    count = comb(d + degree - 1, degree) if d else int(degree == 0)
    refuse_too_many(count)
    if count * degree > MOST_FACTORS:
        raise NoFeatureMap(
            f"the explicit feature map of degree {degree} needs {count * degree} multiplications "
            f"for each point, more than {MOST_FACTORS}; use the kernel itself"
        )
    features = dense(features)
    xp = namespace(features)
    if count == 0:
        return xp.zeros((n, 0), dtype=features.dtype, **place_of(features))
    columns = []
    for indices in combinations_with_replacement(range(d), degree):
        repeats = np.bincount(indices, minlength=d) if indices else np.zeros(d, int)
        weight = (factorial(degree) / prod(factorial(int(i)) for i in repeats)) ** 0.5
        column = xp.full((n,), weight, dtype=features.dtype, **place_of(features))
        with np.errstate(over="ignore", invalid="ignore"):
            for j in indices:
                column = column * features[:, j]
        columns.append(column)
    return finite(xp.stack(columns, axis=1), "a monomial of features")


def places(rows: Any) -> dict[str, slice]:
    """Return which coordinates the columns of numbers are, in the order of the table.

    A block of numbers is as many coordinates as it has columns. Numbers held as objects are none.

    >>> places(Rows({"name": ["a", "b"], "age": [31.0, 46.0], "genes": np.ones((2, 3))}))
    {'age': slice(0, 1, None), 'genes': slice(1, 4, None)}
    """
    if not isinstance(rows, Rows):
        raise NotDifferentiable(
            "rows given one by one have no coordinates in an order: give a table by its columns"
        )
    found: dict[str, slice] = {}
    last = 0
    for name, column in rows.columns.items():
        block = _numbers(column)
        if block is not None:
            found[name] = slice(last, last + block.shape[1])
            last = found[name].stop
    return found


def how_wide(rows: Any) -> int:
    """Return how many coordinates there are.

    >>> how_wide(Rows({"age": [31.0, 46.0], "genes": np.ones((2, 3))}))
    4
    """
    return max((place.stop for place in places(rows).values()), default=0)


def coordinates(rows: Rows) -> tuple[Array, tuple[str, ...]]:
    """Return the numbers of a table, one row for each point, and the names of their columns.

    >>> coordinates(Rows({"name": ["a", "b"], "age": [31.0, 46.0]}))
    (array([[31.], [46.]]), ('age',))
    """
    blocks = {name: block for name, c in rows.columns.items() if (block := _numbers(c)) is not None}
    if not blocks:
        return np.zeros((len(rows), 0)), ()
    return np.hstack(list(blocks.values())), tuple(
        name if block.shape[1] == 1 else f"{name}[{j}]"
        for name, block in blocks.items()
        for j in range(block.shape[1])
    )


def step_coordinate(points: Any, j: int, step: float) -> Any:
    """Return points of which one coordinate has grown, in arrays or in the numbers of a table.

    >>> step_coordinate(Rows({"name": ["a", "b"], "age": [31.0, 46.0]}), 0, 0.5)[1]
    {'name': 'b', 'age': np.float64(46.5)}
    """
    if isinstance(points, Rows):
        name, place = next(item for item in places(points).items() if j < item[1].stop)
        own = np.asarray(points.columns[name], dtype=np.float64)
        return Rows(
            {**points.columns, name: step_coordinate(own, j - place.start, step)}, points.roles
        )
    grown = points.copy()
    grown.reshape(len(points), -1)[:, j] += step
    return grown


def _numbers(column: Any) -> Array | None:
    """Return a column of numbers as a matrix, None where it holds something else."""
    if isinstance(column, list | tuple):
        column = np.asarray(column) if _are_numbers(column) else None
    shape = np.shape(column)
    is_block = getattr(getattr(column, "dtype", None), "kind", "") in "biuf" and column is not None
    if not is_block or len(shape) not in (1, 2):
        return None
    return np.asarray(column, dtype=np.float64).reshape(shape[0], -1)


def _are_numbers(column: Any) -> bool:
    return all(isinstance(v, int | float | np.number) for v in column)
