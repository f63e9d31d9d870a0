"""The numbers in the rows of a table as coordinates, in which kernels on tables have slopes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array
from mercer.errors import NotDifferentiable
from mercer.points import Rows


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


def stepped(points: Any, j: int, step: float) -> Any:
    """Return points of which one coordinate has grown, in arrays or in the numbers of a table.

    >>> stepped(Rows({"name": ["a", "b"], "age": [31.0, 46.0]}), 0, 0.5)[1]
    {'name': 'b', 'age': np.float64(46.5)}
    """
    if isinstance(points, Rows):
        name, place = next(item for item in places(points).items() if j < item[1].stop)
        own = np.asarray(points.columns[name], dtype=np.float64)
        return Rows({**points.columns, name: stepped(own, j - place.start, step)}, points.roles)
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
