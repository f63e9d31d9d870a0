"""What to do where a number is missing: the user decides, and a zero is never put there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.check import Array, InvalidInput, InvalidParameter
from mercer.data.table import Role, Table, frozen, listed

POLICIES = ("error", "drop", "mean", "keep")


def settled(table: Table, policy: str = "error") -> Table:
    """Return a table whose missing numbers were treated as asked.

    ``"error"`` counts them and names their columns, ``"drop"`` leaves their rows out, ``"mean"``
    puts the mean of the column, ``"keep"`` leaves NaN, which kernels refuse.

    >>> table = Table.of({"x": [1.0, np.nan, 3.0]})
    >>> settled(table, "mean").matrix().ravel()
    array([1., 2., 3.])
    >>> settled(table)
    Traceback (most recent call last):
    ...
    mercer.check.InvalidInput: 1 number is missing, in column "x" (1), the first in row 1. Say what to do: missing="drop" leaves out 1 of 3 rows, missing="mean" puts the mean of the column
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    if policy not in POLICIES:
        raise InvalidParameter(f"missing must be one of {', '.join(POLICIES)}, found {policy!r}")
    _refuse_infinite(table)
    holes = np.isnan(table.numbers)
    if policy == "keep" or not holes.any():
        return table
    if policy == "drop":
        return _dropped(table, holes)
    if policy == "mean":
        return _imputed(table, holes)
    raise InvalidInput(_counted(table, holes))


def _numeric_names(table: Table) -> list[str]:
    pairs = zip(table.names, table.roles, strict=True)
    return [name for name, role in pairs if role is Role.NUMBER]


def _row(table: Table, i: int) -> str:
    return f"row {i}" if table.row_names is None else f'row {i} ("{table.row_names[i]}")'


def _refuse_infinite(table: Table) -> None:
    infinite = np.isinf(table.numbers)
    if not infinite.any():
        return
    i, j = (int(k) for k in np.argwhere(infinite)[0])
    raise InvalidInput(
        f'{_row(table, i)}, column "{_numeric_names(table)[j]}" is {table.numbers[i, j]}, '
        "which no kernel can use; correct it, or declare it missing with na="
    )


def _counted(table: Table, holes: Array) -> str:
    names, counts = _numeric_names(table), holes.sum(axis=0)
    where = [f'"{names[j]}" ({counts[j]})' for j in np.argsort(-counts, kind="stable")[:6]]
    where = [text for text in where if not text.endswith("(0)")]
    total, columns = int(counts.sum()), int(np.sum(counts > 0))
    more = f" and {columns - len(where)} more" if columns > len(where) else ""
    first = _row(table, int(np.argmax(holes.any(axis=1))))
    rows = int(holes.any(axis=1).sum())
    what = "number is" if total == 1 else "numbers are"
    return (
        f"{total} {what} missing, in column{'s' * (columns > 1)} {', '.join(where)}{more}, "
        f'the first in {first}. Say what to do: missing="drop" leaves out {rows} of '
        f'{len(table)} rows, missing="mean" puts the mean of the column'
    )


def _dropped(table: Table, holes: Array) -> Table:
    kept = np.flatnonzero(~holes.any(axis=1))
    if len(kept) == 0:
        raise InvalidInput("every row has a missing number, so that none is left; impute or choose")
    note = f"{len(table) - len(kept)} of {len(table)} rows left out: a number was missing"
    return replace(table.picked(kept), notes=(*table.notes, note))


def _imputed(table: Table, holes: Array) -> Table:
    empty = [name for name, h in zip(_numeric_names(table), holes.T, strict=True) if h.all()]
    if empty:
        raise InvalidInput(
            f"column {listed(empty)} has no number at all, hence no mean; "
            "make it supplementary by its role, or leave it out of the file"
        )
    means = np.nanmean(table.numbers, axis=0)
    note = f"{int(holes.sum())} missing numbers replaced by the mean of their column"
    numbers = frozen(np.where(holes, means, table.numbers))
    return replace(table, numbers=numbers, notes=(*table.notes, note))
