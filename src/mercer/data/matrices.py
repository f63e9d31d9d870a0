"""Square tables whose rows and columns have the same names: distances, or a Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.check import Array, worst_asymmetry
from mercer.data.dialect import is_number
from mercer.data.table import Role, Table
from mercer.display import Shown
from mercer.errors import InvalidInput
from mercer.points import read_only

WRITTEN_ASYMMETRY = 1e-6
"""What rounding to printed digits leaves of symmetry, relative to the largest entry."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SquareMatrix(Shown):
    """A symmetric matrix of pairs of points; ``is_distance`` if its diagonal is zero.

    As an array it is the matrix, which ``ClassicalMDS().fit`` or a kernel
    ``"precomputed"`` takes.

    >>> SquareMatrix(np.array([[0.0, 3.0], [3.0, 0.0]]), ("here", "there"))
    SquareMatrix(distances between 2 points)
    """

    values: Array
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_distance(self) -> bool:
        """Whether the entries can be distances: none is negative, and the diagonal is zero."""
        return _are_distances(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: slice, /) -> Array:
        part: Array = self.values[index]
        return part

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        return self.values.astype(dtype or np.float64, copy=bool(copy))  # type: ignore[call-overload,no-any-return]

    def _title(self) -> str:
        kind = "distances" if self.is_distance else "similarities"
        return f"SquareMatrix({kind} between {len(self)} points)"


def looks_square(table: Table) -> bool:
    """Return whether a table is a symmetric matrix of pairs, or a triangle of one.

    Rows and columns of equal names are enough; where rows have no names, the entries must be
    distances: nonnegative, with a diagonal of zeros.
    """
    found = with_labels(table)
    numbers = found.numbers
    count = len(numbers)
    if numbers.shape != (count, count) or len(found.active) != count:
        return False
    is_named = found.row_names is not None
    if is_named and found.row_names != found.active:
        return False
    values = from_triangle(numbers)
    if np.isnan(values).any():
        return is_named and _is_symmetric(np.where(np.isnan(values + values.T), 0.0, values))
    if not _is_symmetric(values):
        return False
    return is_named or (count > 2 and _are_distances(values) and bool(values.any()))


def _are_distances(values: Array) -> bool:
    return bool(np.all(np.diag(values) == 0.0) and np.all(values >= 0.0))


def _is_symmetric(values: Array) -> bool:
    return bool(np.isfinite(values).all()) and worst_asymmetry(values)[0] <= WRITTEN_ASYMMETRY


def with_labels(table: Table) -> Table:
    """Return a table of pairs with the names of its rows, which may be its first column of numbers.

    A column in which nothing is written is one of numbers: that of the last row of a triangle.

    >>> table = Table.of({"dist": [1.0, 2.0], "1": [0.0, 5.0], "2": [5.0, 0.0]})
    >>> with_labels(table).row_names, with_labels(table).names
    (('1', '2'), ('1', '2'))
    """
    if table.row_names is not None:
        return _with_empty_columns(table, table.row_names)
    numbers, names = table.numbers, table.names
    is_wide = numbers.shape[1] == len(numbers) + 1 == len(names)
    if not is_wide or not all(is_number(name) for name in names[1:]):
        return table
    if not np.array_equal(numbers[:, 0], [float(name) for name in names[1:]]):
        return table
    return replace(
        table,
        names=names[1:],
        roles=table.roles[1:],
        numbers=read_only(np.ascontiguousarray(numbers[:, 1:])),
        row_names=names[1:],
    )


def _with_empty_columns(table: Table, rows: tuple[str, ...]) -> Table:
    columns = [c for c in table.columns() if c.role is not Role.IDENTIFIER]
    if tuple(c.name for c in columns) != rows or len(table.active) == len(rows):
        return table
    others = [c for c in columns if c.role is not Role.NUMBER]
    if any(value is not None for c in others for value in c.values):
        return table
    nothing = np.full(len(rows), np.nan)
    numbers = [c.values if c.role is Role.NUMBER else nothing for c in columns]
    return Table.of(dict(zip(rows, numbers, strict=True)), row_names=rows, notes=table.notes)


def from_triangle(values: Array) -> Array:
    """Return a square matrix of which only one triangle is written, completed.

    A diagonal that is not written is zero, as it is in tables of distances.

    >>> from_triangle(np.array([[np.nan, np.nan], [3.0, np.nan]])).tolist()
    [[0.0, 3.0], [3.0, 0.0]]
    """
    lost = np.isnan(values)
    if not lost.any():
        return values
    upper, lower = np.triu(lost, 1), np.tril(lost, -1)
    pairs = lost.size - len(lost)
    if not any(
        one.sum() * 2 == pairs and not other.any()
        for one, other in ((upper, lower), (lower, upper))
    ):
        return values
    whole = np.where(upper | lower, values.T, values)
    if lost.diagonal().all():
        np.fill_diagonal(whole, 0.0)
    return whole


def as_square(table: Table) -> SquareMatrix:
    """Return a table as a symmetric matrix, or say which entry or name stands in the way.

    >>> square = as_square(Table.of({"a": [0.0, 2.0], "b": [2.0, 0.0]}, row_names=["a", "b"]))
    >>> square, square.names
    (SquareMatrix(distances between 2 points), ('a', 'b'))
    """
    table = with_labels(table)
    numbers, names = table.numbers, table.active
    if numbers.shape[0] != numbers.shape[1]:
        raise InvalidInput(f"a matrix of pairs must be square, found shape {numbers.shape}")
    rows = names if table.row_names is None else table.row_names
    for i, (row, column) in enumerate(zip(rows, names, strict=True)):
        if row != column:
            raise InvalidInput(
                f'rows and columns must have equal names in equal order: row {i + 1} is "{row}" '
                f'and column {i + 1} is "{column}"'
            )
    values = from_triangle(numbers)
    if not np.isfinite(values).all():
        raise _not_known(values, names)
    gap, (i, j) = worst_asymmetry(values)
    if gap > WRITTEN_ASYMMETRY:
        raise InvalidInput(
            f'the matrix is not symmetric: ("{names[i]}", "{names[j]}") is {values[i, j]:g} and '
            f'("{names[j]}", "{names[i]}") is {values[j, i]:g}'
        )
    notes = table.notes if values is numbers else (*table.notes, "a triangle, completed")
    return SquareMatrix(read_only(values), names, notes)


def _not_known(values: Array, names: Sequence[str]) -> InvalidInput:
    """Return the refusal of pairs that are missing or infinite, which nothing can stand for."""
    i, j = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
    count = int((~np.isfinite(values)).sum())
    more = f", the first of {count} such entries" if count > 1 else ""
    word = "missing" if np.isnan(values[i, j]) else "infinite"
    return InvalidInput(
        f'the entry ("{names[i]}", "{names[j]}") is {word}{more}; a matrix of pairs needs all of '
        "them, or one whole triangle. Complete it, or leave out that individual, row and column"
    )
