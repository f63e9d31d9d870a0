"""Tables whose columns are of several types, as points for kernels on tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mercer.check import Points, members, refuse_lazy
from mercer.data.frames import is_frame, objects_of
from mercer.data.table import Role, Table
from mercer.errors import InvalidInput
from mercer.points import (
    Rows,
    as_points,
)

ROLES = {Role.FACTOR: "category", Role.DATE: "time", Role.TEXT: "text", Role.NUMBER: "number"}


def rows(source: Any, *, roles: Mapping[str, Any] | None = None) -> Rows:
    """Return a data frame, a `Table`, a mapping or an array as rows with named columns.

    ``roles`` say what a column is for, where its values do not: number, time, category, ordinal
    (or its levels, lowest first), text, graph, set, composition, abundance, ignored. Ordered
    categories of a data frame are ordinals already.

    >>> rows({"age": [31.0, 46.0]}, roles={"age": "ordinal"}).roles
    {'age': 'ordinal'}
    """
    if isinstance(source, Rows):
        return Rows(source.columns, {**source.roles, **(roles or {})})
    if isinstance(source, Mapping):
        return Rows(source, roles)
    found = list(_columns(source))
    known = {name: role for name, _, role in found if role is not None}
    return Rows({name: values for name, values, _ in found}, {**known, **(roles or {})})


def _columns(source: Any) -> Iterator[tuple[str, Points, Any]]:
    """Yield names, values and what is known of roles."""
    refuse_lazy(source, "the table")
    if isinstance(source, Table):
        for column in source.columns():
            is_used = column.role in ROLES and column.name not in source.supplementary
            values = column.values if column.values.dtype.kind in "fM" else column.values.tolist()
            yield column.name, values, ROLES[column.role] if is_used else "ignored"
    elif is_frame(source):
        yield from objects_of(source)
    elif isinstance(source, np.ndarray) and source.ndim == 2:
        for j in range(source.shape[1]):
            yield f"x{j}", source[:, j], None
    else:
        points = as_points(source, "the table")
        if len(points) == 0 or not isinstance(points[0], Mapping):
            raise InvalidInput(
                "a table is a data frame, a mapping from names to columns, a list of mappings or "
                f"an array of two dimensions, found {type(source).__name__}"
            )
        for name in points[0]:
            yield name, _one_each(points, name), None


def _one_each(points: Points, name: str) -> list[Any]:
    found = []
    for i, point in enumerate(members(points)):
        if name not in point:
            raise InvalidInput(f"row {i} has no column {name!r}")
        found.append(point[name])
    return found
