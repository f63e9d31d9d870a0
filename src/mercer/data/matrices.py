"""Square tables whose rows and columns have the same names: distances, or a Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.check import Array, worst_asymmetry
from mercer.data.table import Table, frozen
from mercer.display import Shown
from mercer.errors import InvalidInput

ASYMMETRY = 1e-6
"""What rounding to printed digits leaves of symmetry, relative to the largest entry."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SquareMatrix(Shown):
    """A symmetric matrix of pairs of individuals; ``is_distance`` if its diagonal is zero.

    As an array it is the matrix, which ``ClassicalMDS().fit`` or a kernel
    ``"precomputed"`` takes.
    """

    values: Array
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_distance(self) -> bool:
        """Whether the entries can be distances: none is negative, and the diagonal is zero."""
        return bool(np.all(np.diag(self.values) == 0.0) and np.all(self.values >= 0.0))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: slice, /) -> Array:
        part: Array = self.values[index]
        return part

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        return self.values.astype(dtype or np.float64, copy=bool(copy))  # type: ignore[call-overload,no-any-return]

    def _title(self) -> str:
        kind = "distances" if self.is_distance else "similarities"
        return f"SquareMatrix({kind} of {len(self)} individuals)"


def looks_square(table: Table) -> bool:
    """Return whether a table is a symmetric matrix with equal names of rows and columns."""
    numbers = table.numbers
    if table.row_names is None or numbers.shape[0] != numbers.shape[1]:
        return False
    return table.active == table.row_names and worst_asymmetry(numbers)[0] <= ASYMMETRY


def as_square(table: Table) -> SquareMatrix:
    """Return a table as a symmetric matrix, or say which entry or name stands in the way.

    >>> square = as_square(Table.of({"a": [0.0, 2.0], "b": [2.0, 0.0]}, row_names=["a", "b"]))
    >>> square, square.names
    (SquareMatrix(distances of 2 individuals), ('a', 'b'))
    """
    numbers, names = table.numbers, table.active
    if numbers.shape[0] != numbers.shape[1]:
        raise InvalidInput(f"a matrix of pairs must be square, found shape {numbers.shape}")
    rows = names if table.row_names is None else table.row_names
    for i, (row, column) in enumerate(zip(rows, names, strict=True)):
        if row != column:
            raise InvalidInput(
                f'rows and columns must have equal names in equal order: row {i} is "{row}" '
                f'and column {i} is "{column}"'
            )
    gap, (i, j) = worst_asymmetry(numbers)
    if gap > ASYMMETRY:
        raise InvalidInput(
            f'the matrix is not symmetric: ("{names[i]}", "{names[j]}") is {numbers[i, j]:g} and '
            f'("{names[j]}", "{names[i]}") is {numbers[j, i]:g}'
        )
    return SquareMatrix(frozen(numbers), names, table.notes)
