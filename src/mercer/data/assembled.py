"""Columns of any origin put together as a table, each with its role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from mercer.check import Array
from mercer.data.roles import as_dates, guessed, may_be_identifier
from mercer.data.source import in_one_line
from mercer.data.table import Role, Table, as_labels, frozen, no_column
from mercer.errors import InvalidInput, InvalidParameter, UnreadableFile


def assembled(
    names: Sequence[str],
    columns: Sequence[Array],
    *,
    roles: Mapping[str, Role],
    row_names: Sequence[str] | None = None,
    notes: Iterable[str] = (),
) -> Table:
    """Return a table of columns of numbers, dates or labels; roles that are not given are guessed.

    The first column of labels without repetition names the rows, unless names are given.
    """
    unknown = [name for name in roles if name not in names]
    if unknown:
        raise InvalidParameter(no_column(unknown, names))
    found: list[Role] = []
    labels: dict[str, Array] = {}
    numeric: list[Array] = []
    for place, (name, values) in enumerate(zip(names, columns, strict=True)):
        is_open = row_names is None and Role.IDENTIFIER not in (*roles.values(), *found)
        role, kept = _settled_role(values, roles.get(name), place, name, is_open)
        found.append(role)
        if role is Role.NUMBER:
            numeric.append(kept)
        else:
            labels[name] = frozen(kept)
        if role is Role.IDENTIFIER and row_names is None:
            row_names = _row_names(name, kept)
    return Table(
        names=tuple(names),
        roles=tuple(found),
        numbers=frozen(_matrix(numeric, len(columns[0]) if columns else 0)),
        labels=labels,
        row_names=None if row_names is None else tuple(row_names),
        notes=tuple(notes),
    )


def _settled_role(
    values: Array, given: Role | None, place: int, name: str, may_name_rows: bool
) -> tuple[Role, Array]:
    """Return the role of a column, and its values in the form of that role."""
    if values.dtype.kind in "biuf":
        counts = given is None and place == 0 and may_name_rows and may_be_identifier(name)
        if counts and values.dtype.kind in "iu" and len(np.unique(values)) == len(values):
            return Role.IDENTIFIER, _as_text(values)
        if given in (None, Role.NUMBER):
            return Role.NUMBER, values.astype(np.float64, copy=False)
        values = _as_text(values)
    if values.dtype.kind == "M":
        if given in (None, Role.DATE):
            return Role.DATE, values
        values = _as_text(values)
    role = given or guessed(values, may_name_rows=may_name_rows)
    if role is Role.DATE:
        return _dates(values, name, given)
    if role is Role.NUMBER or (given is None and place == 0 and role is not Role.IDENTIFIER):
        numbers = _numbers(values, name, is_asked=role is Role.NUMBER)
        if numbers is not None and (role is Role.NUMBER or may_be_identifier(name)):
            return Role.NUMBER, numbers
    return role, values


def _dates(values: Array, name: str, given: Role | None) -> tuple[Role, Array]:
    try:
        return Role.DATE, as_dates(values)
    except ValueError as error:
        if given is None:
            return Role.TEXT, values
        raise UnreadableFile(
            f'column "{name}" cannot be read as dates: {in_one_line(error)}. Write dates as '
            "2024-01-31"
        ) from error


def _numbers(values: Array, name: str, *, is_asked: bool) -> Array | None:
    try:
        return np.array([np.nan if v is None else float(v) for v in values], np.float64)
    except ValueError as error:
        if not is_asked:
            return None
        raise InvalidInput(
            f'column "{name}" cannot be read as numbers: {in_one_line(error)}'
        ) from error


def _as_text(values: Array) -> Array:
    is_whole = values.dtype.kind == "f" and bool(np.all(values[~np.isnan(values)] % 1 == 0))
    if values.dtype.kind == "M":
        return as_labels(None if np.isnat(v) else str(v) for v in values)
    return as_labels(values.tolist(), (lambda v: str(int(v))) if is_whole else str)


def _row_names(name: str, values: Array) -> tuple[str, ...]:
    if any(v is None for v in values):
        row = next(i for i, v in enumerate(values) if v is None)
        raise InvalidInput(f'column "{name}" names the rows, but row {row + 1} has no name')
    return tuple(str(v) for v in values)


def _matrix(columns: Sequence[Array], count: int) -> Array:
    matrix = np.empty((count, len(columns)))
    for j, column in enumerate(columns):
        matrix[:, j] = column
    return matrix


def of_numbers(
    numbers: Array,
    names: Sequence[str] | None = None,
    *,
    notes: Iterable[str] = (),
) -> Table:
    """Return a table of nothing but numbers, which are not copied if they are doubles."""
    width = numbers.shape[1]
    return Table(
        names=tuple(names or (f"column {j + 1}" for j in range(width))),
        roles=(Role.NUMBER,) * width,
        numbers=frozen(np.asarray(numbers, np.float64)),
        labels={},
        notes=tuple(notes),
    )
