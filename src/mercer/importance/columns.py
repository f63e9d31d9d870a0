"""What is permuted: columns of numbers, or the columns of a table of any kind, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.tables import Columns, columns_read
from mercer.points import Rows, take

Column: TypeAlias = int | tuple[str, int | None]
"""A column of an array, or one of a table, in which a block of numbers has columns of its own."""


def columns_of(points: Any, names: Sequence[str], kernel: Kernel | None) -> dict[str, list[Column]]:
    """Return the variables by name, with the columns of each: several where it is a block.

    >>> from mercer import Columns, Linear
    >>> kernel = Columns({"age": Linear(), "genes": Linear()})
    >>> columns_of(Rows({"age": np.ones(4), "genes": np.ones((4, 2))}), (), kernel)
    {'age': [('age', None)], 'genes': [('genes', 0), ('genes', 1)]}
    """
    if not isinstance(points, Rows) or kernel is None:
        return {name: [j] for j, name in enumerate(names)}
    return {name: _in_block(name, points.column(name)) for name in columns_read(kernel)}


def _in_block(name: str, column: Any) -> list[Any]:
    is_block = isinstance(column, np.ndarray) and column.ndim == 2 and column.dtype.kind in "biuf"
    return [(name, j) for j in range(column.shape[1])] if is_block else [(name, None)]


def shuffled(points: Any, columns: Sequence[Any], order: Array) -> Any:
    """Return individuals with the values of some columns in another order.

    >>> x = np.array([[1.0, 10.0], [2.0, 20.0]])
    >>> shuffled(x, [1], np.array([1, 0]))
    array([[ 1., 20.],
           [ 2., 10.]])
    """
    if not isinstance(points, Rows):
        X = points.copy()
        X[:, columns] = points[order][:, columns]
        return X
    changed: dict[str, Any] = dict(points.columns)
    for name in dict.fromkeys(name for name, _ in columns):
        own = [j for other, j in columns if other == name]
        column = points.columns[name]
        changed[name] = take(column, order) if own == [None] else shuffled(column, own, order)
    return Rows(changed, points.roles)


def split(kernel: Kernel, columns: Sequence[Any]) -> tuple[Kernel, Kernel | None]:
    """Return what permuting columns changes of a kernel, and what is added to it and stays.

    >>> from mercer.kernels import Category
    >>> from mercer import Linear
    >>> split(Columns({"age": Linear(), "sex": Category()}), [("age", None)])[0]
    Columns({"age": Linear()}, weights=[1.0])
    """
    if not kernel.is_sum_of_columns or not columns:
        return kernel, None
    names = {name for name, _ in columns}
    parts: tuple[list[Any], list[Any]] = ([], [])
    for (key, own), weight in zip(kernel.blocks, kernel.numbers, strict=True):
        read = {key} if isinstance(key, str) else set(key)
        parts[not read & names].append((key, own, weight))
    changed, still = (
        Columns({key: k for key, k, _ in part}, weights=[w for _, _, w in part]) if part else None
        for part in parts
    )
    return (kernel, None) if changed is None else (changed, still)


def groups_of(groups: Any, variables: Mapping[str, list[Column]]) -> dict[str, list[Column]]:
    """Return the columns of each group by name: those asked for, or each variable.

    >>> blocks: dict[str, list[Column]] = {"genes": [("genes", 0), ("genes", 1)]}
    >>> groups_of({"one": "genes[1]"}, blocks)
    {'one': [('genes', 1)]}
    """
    if groups is None:
        found = dict(variables)
    elif isinstance(groups, Mapping):
        found = {
            str(group): [c for part in _listed(given) for c in _called(part, variables)[1]]
            for group, given in groups.items()
        }
    else:
        found = dict(_called(part, variables) for part in _listed(groups))
    every = {c for block in variables.values() for c in block}
    for group, columns in found.items():
        if not columns or len(set(columns)) < len(columns):
            raise InvalidParameter(f"group {group!r} must hold some columns, each once")
        if len(columns) == len(every):
            raise InvalidParameter(
                f"group {group!r} holds all columns: permuted together they are the same "
                "individuals in another order"
            )
    if not found:
        raise InvalidParameter("groups holds no group")
    return found


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, str | int | np.integer) else list(given)


def _called(given: Any, variables: Mapping[str, list[Column]]) -> tuple[str, list[Column]]:
    """Return the name and the columns of a variable, or of one column of a block."""
    names = list(variables)
    is_number = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if is_number and 0 <= given < len(names):
        given = names[int(given)]
    if isinstance(given, str):
        blocks = [block for block in variables.values() if len(block) > 1]
        parts: dict[str, list[Column]] = {_part(c): [c] for block in blocks for c in block}
        if given in variables or given in parts:
            return given, {**parts, **variables}[given]
    raise InvalidParameter(
        f"there is no column {given!r}; columns are given by name or by a number from 0 to "
        f"{len(names) - 1}"
    )


def _part(column: Any) -> str:
    name, number = column
    return f"{name}[{number}]"
