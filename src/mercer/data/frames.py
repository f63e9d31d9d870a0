"""Data frames of pandas, polars and pyarrow, and the Parquet and Arrow files they come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mercer.check import Array, InvalidInput, UnreadableFile
from mercer.data.extras import extra
from mercer.data.source import Limits
from mercer.data.table import as_labels

NATIVE = ("pandas", "polars", "pyarrow", "modin", "cudf")


def is_frame(values: Any) -> bool:
    """Return whether the values are a data frame, without importing a library that has them."""
    home = type(values).__module__.partition(".")[0]
    return home in (*NATIVE, "narwhals") and hasattr(values, "columns")


def columns_of(frame: Any) -> tuple[list[str], list[Array], list[str] | None]:
    """Return the names and columns of a data frame, and the names of its rows if it has any."""
    import narwhals.stable.v2 as nw

    names, columns = _series_of(frame)
    row_names = _row_names(nw.to_native(frame, pass_through=True))
    return names, [_column(series, nw) for series in columns], row_names


def objects_of(frame: Any) -> Iterator[tuple[str, Any, tuple[str, ...] | None]]:
    """Yield names and columns, objects as they are, with their levels if these are in order."""
    import narwhals.stable.v2 as nw

    for name, series in zip(*_series_of(frame), strict=True):
        dtype: Any = series.dtype
        is_plain = dtype.is_numeric() or dtype in (nw.Date, nw.Datetime)
        levels = tuple(dtype.categories) if dtype == nw.Enum else None
        yield name, _column(series, nw) if is_plain else series.to_list(), levels


def _series_of(frame: Any) -> tuple[list[str], list[Any]]:
    """Return the names and columns of a data frame that has rows, and no name twice."""
    import narwhals.stable.v2 as nw

    native = nw.to_native(frame, pass_through=True)
    names = [str(name) for name in _names(native)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"the data frame has several columns named {twice[0]!r}; rename them")
    wrapped = nw.from_native(native, eager_only=True)
    if wrapped.shape[0] == 0:
        raise InvalidInput("the data frame has no rows")
    return names, list(wrapped.iter_columns())  # names need not be texts


def _names(native: Any) -> list[Any]:
    names = getattr(native, "column_names", None)  # pyarrow's columns are the values
    return list(native.columns if names is None else names)


def _row_names(native: Any) -> list[str] | None:
    """Return the index of a pandas frame, unless it only counts."""
    index = getattr(native, "index", None)
    if index is None or type(index).__name__ == "RangeIndex" or callable(index):
        return None
    return [str(label) for label in index]


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


def read_parquet(path: Path, limits: Limits) -> Any:
    """Return a Parquet file as an Arrow table, after asking it how large it is."""
    parquet = extra("pyarrow.parquet", "io", "reading Parquet")
    arrow = extra("pyarrow", "io", "reading Parquet")
    try:
        with parquet.ParquetFile(path) as file:
            about = file.metadata
            groups = [about.row_group(i) for i in range(about.num_row_groups)]
            limits.check(
                max(
                    sum(g.total_byte_size for g in groups),
                    8 * about.num_rows * about.num_columns,
                ),
                None,
                f"the table in {path.name}",
            )
            if about.num_rows == 0:
                raise UnreadableFile(f"{path.name} has columns but no rows")
            return file.read()
    except (arrow.ArrowException, OSError) as error:
        raise _damaged(path, "Parquet", error) from error


def read_arrow(path: Path, limits: Limits) -> Any:
    """Return an Arrow (Feather) file as an Arrow table."""
    arrow = extra("pyarrow", "io", "reading Arrow files")
    limits.check(path.stat().st_size, None, path.name)
    try:
        with arrow.memory_map(str(path)) as file:
            return arrow.ipc.open_file(file).read_all()
    except (arrow.ArrowException, OSError) as error:
        raise _damaged(path, "Arrow", error) from error


def _damaged(path: Path, kind: str, error: Exception) -> UnreadableFile:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return UnreadableFile(f"{path.name} is a damaged or incomplete {kind} file: {reason}")
