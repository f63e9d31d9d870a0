"""Data frames of pandas, polars and pyarrow as columns, and as rows for kernels on tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mercer.check import Array, Points, members, refuse_lazy
from mercer.data.table import Role, Table, as_labels
from mercer.errors import InvalidInput
from mercer.points import (
    Rows,
    as_points,
)

NATIVE = ("pandas", "polars", "pyarrow", "modin", "cudf")


def is_frame(values: Any) -> bool:
    """Return whether the values are a data frame, without importing a library that has them."""
    home = type(values).__module__.partition(".")[0]
    return home in (*NATIVE, "narwhals") and hasattr(values, "columns")


def is_series(values: Any) -> bool:
    """Return whether the values are one column of a data frame, with its name and its index."""
    home = type(values).__module__.partition(".")[0]
    return home in (*NATIVE, "narwhals") and hasattr(values, "to_frame")


def frame_of(series: Any) -> Any:
    """Return the data frame of one column, called by its name or ``"value"``."""
    import narwhals.stable.v2 as nw

    native = nw.to_native(series, pass_through=True)
    return native.to_frame("value" if native.name in (None, "") else str(native.name))


def columns_of(frame: Any) -> tuple[list[str], list[Array], tuple[str, ...] | None]:
    """Return the names and columns of a data frame, and the names of its rows if it has any."""
    import narwhals.stable.v2 as nw

    names, columns = _series_of(frame)
    row_names = index_names(nw.to_native(frame, pass_through=True))
    return names, [_column(series, nw) for series in columns], row_names


def objects_of(frame: Any) -> Iterator[tuple[str, Any, tuple[str, ...] | str | None]]:
    """Yield names and columns, objects as they are, with the role of categories.

    That is ``"category"``, or their levels if these are in order.
    """
    import narwhals.stable.v2 as nw

    for name, series in zip(*_series_of(frame), strict=True):
        dtype: Any = series.dtype
        is_plain = dtype.is_numeric() or dtype in (nw.Date, nw.Datetime)
        role: tuple[str, ...] | str | None = None
        if dtype == nw.Enum:
            role = tuple(dtype.categories)
        elif dtype == nw.Categorical:
            role = "category"
        yield name, _column(series, nw) if is_plain else series.to_list(), role


def _series_of(frame: Any) -> tuple[list[str], list[Any]]:
    """Return the names and columns of a data frame that has rows, and no name twice."""
    import narwhals.stable.v2 as nw

    native = nw.to_native(frame, pass_through=True)
    names = [str(name) for name in _names(native)]
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise InvalidInput(f"the data frame has several columns named {twice[0]!r}; rename them")
    wrapped = nw.from_native(native, eager_only=True)
    if wrapped.shape[0] == 0:
        raise InvalidInput("the data frame has no rows")
    return names, list(wrapped.iter_columns())  # names need not be texts


def _names(native: Any) -> list[Any]:
    names = getattr(native, "column_names", None)  # pyarrow's columns are the values
    return list(native.columns if names is None else names)


def index_names(native: Any) -> tuple[str, ...] | None:
    """Return the index of a pandas frame or series, unless it only counts.

    >>> index_names([1.0, 2.0]) is None
    True
    """
    index = getattr(native, "index", None)
    if index is None or type(index).__name__ == "RangeIndex" or callable(index):
        return None
    return tuple(str(label) for label in index)


def only_counts(native: Any) -> bool:
    """Return whether an index is what a choice of rows leaves of their numbers: it names nobody.

    >>> only_counts([1.0, 2.0])
    False
    """
    index = getattr(native, "index", None)
    is_whole = getattr(getattr(index, "dtype", None), "kind", "") in "iu"
    is_unnamed = getattr(index, "name", "") is None
    return bool(is_unnamed and is_whole and index.is_monotonic_increasing and index.is_unique)  # type: ignore[union-attr]


def _column(series: Any, nw: Any) -> Array:
    dtype = series.dtype
    if dtype.is_numeric():
        if dtype.is_decimal():
            series = series.cast(nw.Float64)
        holes = series.is_null().to_numpy()
        if not holes.any():
            return np.asarray(series.to_numpy())
        return np.asarray(series.cast(nw.Float64).fill_null(float("nan")).to_numpy(), np.float64)
    if dtype in (nw.Date, nw.Datetime):
        return np.asarray(series.cast(nw.Datetime("us")).to_numpy(), "datetime64[us]")
    return as_labels(series.to_list())


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
