"""Expression tables as studies read them: replicates in rows, genes in columns, conditions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.check import Array, refuse_non_finite
from mercer.data.frames import is_frame
from mercer.data.reading import read
from mercer.data.table import Role, Table, as_labels
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import numbers_of


@dataclass(frozen=True, eq=False)
class Expression:
    """The expression of genes in replicates, and the rows that belong to each condition."""

    values: Array
    genes: tuple[str, ...]
    conditions: tuple[str, ...]
    rows: tuple[Array, ...]

    @property
    def replicates(self) -> tuple[int, ...]:
        """How many replicates each condition has."""
        return tuple(len(rows) for rows in self.rows)

    def of(self, condition: int) -> Array:
        """Return the replicates of a condition."""
        part: Array = self.values[self.rows[condition]]
        return part


def as_expression(table: Any, conditions: Any = None) -> Expression:
    """Return a table as genes by name and conditions by row.

    ``conditions`` is one label for each row, or the name of a column of the table, or several
    names, whose labels are then taken together. Without conditions all rows are of one.

    >>> x = as_expression([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]], ["hot", "cold", "hot"])
    >>> x.conditions, x.replicates, x.of(1).tolist()
    (('cold', 'hot'), (1, 2), [[1.0, 2.0], [2.0, 2.0]])
    """
    whole = read(table, "table") if is_frame(table) else table
    labels, used = _labels(whole, conditions)
    if isinstance(whole, Table):
        names = [n for n in used if whole.column(n).role is Role.NUMBER]
        whole = whole.with_supplementary(*names)
        values, genes = whole.matrix(), whole.active
    else:
        values = numbers_of(whole, "expression")
        genes = tuple(f"gene {j + 1}" for j in range(values.shape[1]))
    values = np.asarray(values, np.float64)
    refuse_non_finite(values, "expression", columns=genes)
    if len(genes) < 2:
        raise InvalidInput(f"a network needs at least 2 genes, and the table has {len(genes)}")
    if labels is None:
        return Expression(values, genes, ("all",), (np.arange(len(values)),))
    if len(labels) != len(values):
        raise InvalidInput(f"{len(labels)} conditions were given for {len(values)} replicates")
    missing = [i for i, label in enumerate(labels) if label is None]
    if missing:
        where = f" in column {' or '.join(map(repr, used))}" if used else ""
        raise InvalidInput(
            f"row {missing[0]} has no condition{where}; every replicate needs one: fill it in, or "
            "leave the row out"
        )
    names = sorted(set(labels))
    rows = tuple(np.flatnonzero(labels == name) for name in names)
    return Expression(values, tuple(genes), tuple(names), rows)


def _labels(table: Any, conditions: Any) -> tuple[Array | None, tuple[str, ...]]:
    """Return one label for each row, and the columns they come from."""
    if conditions is None:
        return None, ()
    named = (conditions,) if isinstance(conditions, str) else conditions
    if not isinstance(named, Iterable):
        raise InvalidParameter(
            f"conditions must be labels or names of columns, found {conditions!r}"
        )
    given = list(named)
    are_names = len(given) != len(table) and all(isinstance(name, str) for name in given)
    if isinstance(conditions, str) or (given and isinstance(table, Table) and are_names):
        if not isinstance(table, Table):
            raise InvalidParameter(
                f"conditions={conditions!r} names a column, but the expression is an array: give "
                "one label for each row"
            )
        columns = [_texts(table.column(name).values) for name in given]
        joined = [None if None in row else " × ".join(row) for row in zip(*columns, strict=True)]
        return as_labels(joined), tuple(given)
    return as_labels(given), ()


def _texts(values: Array) -> list[Any]:
    """Return a column as texts; whole numbers without a fraction, all with every digit.

    >>> _texts(np.array([20261115.0, 0.5, np.nan]))
    ['20261115', '0.5', None]
    """
    if values.dtype.kind == "f":
        return [None if np.isnan(v) else repr(float(v)).removesuffix(".0") for v in values]
    return [None if v is None else str(v) for v in values]
