"""What is permuted: columns of a table, and the kernel values that they change."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from mercer.check import Array, chunks
from mercer.errors import InvalidParameter
from mercer.kernels.base import Kernel, Kind
from mercer.kernels.pairs import INNER, AllPairs, Scale
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


def shuffle_columns(points: Any, columns: Sequence[Any], order: Array) -> Any:
    """Return individuals with the values of some columns in another order.

    >>> x = np.array([[1.0, 10.0], [2.0, 20.0]])
    >>> shuffle_columns(x, [1], np.array([1, 0]))
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
        changed[name] = (
            take(column, order) if own == [None] else shuffle_columns(column, own, order)
        )
    return Rows(changed, points.roles)


def split_kernel(kernel: Kernel, columns: Sequence[Any]) -> tuple[Kernel, Kernel | None]:
    """Return what permuting columns changes of a kernel, and what is added to it and stays.

    >>> from mercer.kernels import Category
    >>> from mercer import Linear
    >>> split_kernel(Columns({"age": Linear(), "sex": Category()}), [("age", None)])[0]
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


SINGLE_SQUARES = 1e4
"""Squared distances, in bandwidths, up to which single precision leaves kernel values accurate."""

SPREAD_SQUARES = 0.1
"""Mean squared distances, in bandwidths, below which values differ too little for it: centred
products are of the size of their squares, and its rounding of the size of 1."""


TILE = 2**18
"""Kernel values at a time, a megabyte of them."""

ROWS = 2048
"""Rows at a time of kernels that are not made of distances."""

_memory = threading.local()
"""Where each thread puts one matrix of kernel values after the other: fresh pages cost more time
than filling them."""


def shares_squares(kernel: Kernel, columns: int) -> bool:
    """Whether a kernel is made of Euclidean distances alone, and bounded.

    >>> from mercer import Gaussian, Linear
    >>> shares_squares(Gaussian() + 2.0, 1), shares_squares(Gaussian() + Linear(), 1)
    (True, False)
    """
    is_bounded = kernel.kind is Kind.POSITIVE and kernel.is_fast(columns)
    return is_bounded and INNER not in (kernel.asks(columns) or ())


def width(X: Any) -> int:
    """Return the number of columns of a table of numbers, 1 of anything else."""
    return int(X.shape[1]) if isinstance(X, np.ndarray) else 1


class ColumnGroup:
    """The columns of a group, and the squared distances between rows that all others make."""

    def __init__(self, kernel: Kernel, X: Any, rows: Array, columns: list[Any]) -> None:
        self.kernel, still = split_kernel(kernel, columns)
        self.X, self.rows, self.columns = X, rows, columns
        self.still = 0.0 if still is None else np.asarray(still(X, take(X, rows)))
        self.still_own = 0.0 if still is None else still.diag(X)
        columns_of_all = width(X)
        is_shared = shares_squares(kernel, columns_of_all)
        self.uses: Counter[Any] = Counter(kernel.asks(columns_of_all) if is_shared else ())
        self.squares = {scale: self._squares(scale) for scale in self.uses}
        is_single = all(
            float(s.max()) < SINGLE_SQUARES and float(s.mean()) > SPREAD_SQUARES
            for s in self.squares.values()
        )
        self.precision: Any = np.float32 if self.uses and is_single else np.float64
        self.squares = {scale: s.astype(self.precision) for scale, s in self.squares.items()}
        self.sides = {scale: self._side(scale) for scale in self.uses}

    def _squares(self, scale: Scale) -> Array:
        columns = np.setdiff1d(np.arange(self.X.shape[1]), self.columns)
        lengths = np.broadcast_to(np.asarray(scale, dtype=np.float64), self.X.shape[1])[columns]
        a = (self.X[:, columns] - self.X[self.rows][:, columns].mean(axis=0)) / lengths
        b, own = a[self.rows], np.einsum("ij,ij->i", a, a)
        squares: Array = own[:, None] + own[self.rows] - 2.0 * (a @ b.T)
        return np.maximum(squares, 0.0, out=squares)

    def tiles(self, order: Array) -> Iterator[tuple[slice, Array]]:
        """Yield k(x, landmark), some rows at a time, with the columns of the group in this order.

        The values are valid until this thread asks for the next.
        """
        if self.uses:
            sides = {scale: side[:, order] for scale, side in self.sides.items()}
            for part in chunks(len(order), max(1, TILE // len(self.rows))):
                yield part, self.kernel.evaluate(Permuted(self, order, sides, part))
            return
        X = shuffle_columns(self.X, self.columns, order)
        for part in chunks(len(X), ROWS):
            still = self.still if isinstance(self.still, float) else self.still[part]
            yield part, self.kernel(X[part], take(X, self.rows)) + still

    def _side(self, scale: Scale) -> Array:
        """Return the columns of the group in units of a scale, as rows."""
        lengths = np.broadcast_to(np.asarray(scale), self.X.shape[1])[self.columns]
        own = self.X[:, self.columns]
        side: Array = np.ascontiguousarray((own / lengths).T, self.precision)
        return side

    def diagonal(self, order: Array) -> Array:
        """Return k(x, x) of the same individuals."""
        return self.kernel.diag(shuffle_columns(self.X, self.columns, order)) + self.still_own

    def buffer(self, count: int) -> Array:
        """Return this thread's memory for the values of some rows."""
        kept: Array | None = getattr(_memory, "values", None)
        if kept is None or kept.dtype != self.precision or kept.size < count * len(self.rows):
            kept = _memory.values = np.empty(count * len(self.rows), self.precision)
        return kept[: count * len(self.rows)].reshape(count, len(self.rows))


class Permuted(AllPairs):
    """Individuals and landmarks whose columns of a group are permuted."""

    def __init__(
        self, group: ColumnGroup, order: Array, sides: dict[Scale, Array], part: slice
    ) -> None:
        self.group, self.order, self.sides_of, self.part = group, order, sides, part
        self.same = False
        self.buffer: Array | None = group.buffer(part.stop - part.start)
        self._known = {}

    @cached_property
    def _points(self) -> Array:
        X: Array = shuffle_columns(self.group.X, self.group.columns, self.order)
        return X

    @property
    def x(self) -> Array:  # type: ignore[override]
        return self._points[self.part]

    @property
    def y(self) -> Array:  # type: ignore[override]
        return self._points[self.group.rows]

    def squared_distance(self, scale: Scale = 1.0) -> Array:
        group = self.group
        if scale not in group.squares:
            return super().squared_distance(scale)
        memory, self.buffer = self.buffer, None  # for the first term of an expression only
        first, *others = self.sides_of[scale]
        total: Array = np.subtract(first[self.part, None], first[group.rows], out=memory)
        total *= total
        for a in others:
            gap = a[self.part, None] - a[group.rows]
            gap *= gap
            total += gap
        total += group.squares[scale][self.part]
        return total

    def distance(self, norm: float, scale: Scale = 1.0) -> Array:
        if norm != 2.0 or scale not in self.group.squares:
            return super().distance(norm, scale)
        s: Array = self.squared_distance(scale)
        np.sqrt(s, out=s)
        return s
