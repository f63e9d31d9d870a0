"""Data frames of pandas, polars and pyarrow as columns of numbers, dates and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data.table import as_labels
from mercer.errors import InvalidInput

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
