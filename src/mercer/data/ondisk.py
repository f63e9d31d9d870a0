"""Points that stay on disk: a slice reads its own rows and no more."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mercer.check import Array, chunks
from mercer.data.arrays import in_file
from mercer.data.arrow import damage_named, declared_lengths
from mercer.data.extras import extra
from mercer.data.raw_files import MEMORY, kind_of, regular
from mercer.data.table import listed
from mercer.errors import InvalidInput, InvalidParameter, TooLarge, UnreadableFile
from mercer.settings import spelled

ROWS = 2**14
"""Rows that are read at one time by those who walk over all of them."""


class OnDisk(ABC):
    """Rows of numbers in a file: ``points[a:b]`` reads those rows, of the chosen columns.

    A sequence of points as any other. `blocks` walks over all of them in bounded memory.
    """

    shape: tuple[int, int]
    dtype: Any
    names: tuple[str, ...]
    lies_on_disk = True

    @abstractmethod
    def rows(self, start: int, stop: int) -> Array:
        """Return consecutive rows as an array."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any, /) -> Array:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step <= 0:
                raise InvalidInput("points on disk are read forwards: a slice needs a step > 0")
            part = self.rows(start, max(start, stop))
            return part if step == 1 else part[::step]
        place = int(index) + (len(self) if index < 0 else 0)
        if not 0 <= place < len(self):
            raise IndexError(f"there is no point {index} among {len(self)}")
        row: Array = self.rows(place, place + 1)[0]
        return row

    def __iter__(self) -> Iterator[Array]:
        for block in self.blocks():
            yield from block

    def blocks(self, size: int = ROWS) -> Iterator[Array]:
        """Yield all rows, ``size`` at a time."""
        return (self.rows(part.start, part.stop) for part in chunks(len(self), size))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]} points of {self.shape[1]} {self.dtype})"


class InArray(OnDisk):
    """The rows of a .npy file, mapped into memory page by page."""

    def __init__(self, path: Path, columns: Sequence[str | int] | None) -> None:
        shape, is_fortran, dtype, start = in_file(path)
        order: Literal["C", "F"] = "F" if is_fortran else "C"
        try:
            mapped: Array = np.memmap(path, dtype, "r", start, shape, order)
        except (ValueError, OSError) as error:
            raise UnreadableFile(f"{path.name} cannot be mapped: {error}") from error
        self.values = mapped[:, None] if mapped.ndim == 1 else mapped
        every = tuple(f"column {j + 1}" for j in range(self.values.shape[1]))
        self.chosen = _chosen(every, columns)
        self.names = tuple(every[j] for j in self.chosen)
        self.shape = (len(self.values), len(self.chosen))
        self.dtype = dtype

    def rows(self, start: int, stop: int) -> Array:
        part = self.values[start:stop]
        if len(self.chosen) == self.values.shape[1]:
            return np.asarray(part)
        return np.asarray(part[:, list(self.chosen)])


class InGroups(OnDisk):
    """The rows of a Parquet or Arrow file, whose groups of rows are read when they are asked for.

    The group that was read last is kept, for the next slice is mostly in it.
    """

    read: Callable[[int], Any]

    def __init__(self, path: Path, kind: str, columns: Sequence[str | int] | None) -> None:
        self.path = path
        self.arrow = extra("pyarrow", "io", "reading Parquet")
        self._open(kind)
        numeric = [name for name, type_ in self.schema if self._is_number(type_)]
        every = tuple(name for name, _ in self.schema)
        chosen = None if columns is None else [every[j] for j in _chosen(every, columns)]
        wanted = numeric if chosen is None else chosen
        wrong = [name for name in wanted if name not in numeric]
        if wrong or not wanted:
            raise InvalidInput(f"{path.name}, column {listed(wrong or every)} holds no numbers")
        self.names = tuple(wanted)
        types = {type_ for name, type_ in self.schema if name in wanted}
        is_single = types == {self.arrow.float32()}
        self.dtype = np.dtype(np.float32 if is_single else np.float64)
        self.shape = (self.starts[-1], len(wanted))
        if self.shape[0] == 0:
            raise UnreadableFile(f"{path.name} has columns but no rows")
        self._kept: tuple[int, Array] | None = None
        self._reading = threading.Lock()

    def _open(self, kind: str) -> None:
        with damage_named(self.path, kind.capitalize()):
            if kind == "parquet":
                file = extra("pyarrow.parquet", "io", "reading Parquet").ParquetFile(self.path)
                about = file.metadata
                lengths = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
                schema = file.schema_arrow
                self.read = lambda i: file.read_row_group(i, columns=list(self.names))
            else:
                lengths = declared_lengths(self.path)
                reader = self.arrow.ipc.open_file(self.arrow.memory_map(str(self.path)))
                schema = reader.schema
                self.read = lambda i: _validated(reader.get_batch(i).select(list(self.names)))
            self.schema = [(field.name, field.type) for field in schema]
        self.starts = [0, *np.cumsum(lengths, dtype=object).tolist()]
        largest = max(lengths, default=0)
        if 8 * largest > MEMORY:
            raise TooLarge(
                f"{self.path.name} has a group of {largest:,} rows, which is read as a whole; "
                "write it again with smaller groups"
            )

    def _is_number(self, type_: Any) -> bool:
        kinds = self.arrow.types
        return bool(kinds.is_integer(type_) or kinds.is_floating(type_))

    def rows(self, start: int, stop: int) -> Array:
        result = np.empty((stop - start, self.shape[1]), self.dtype)
        place = start
        while place < stop:
            group = bisect_right(self.starts, place) - 1
            first = self.starts[group]
            end = min(stop, self.starts[group + 1])
            result[place - start : end - start] = self._group(group)[place - first : end - first]
            place = end
        return result

    def _group(self, i: int) -> Array:
        kept = self._kept  # one assignment, so that threads may read at the same time
        if kept is not None and kept[0] == i:
            return kept[1]
        # A reader of the library is not made for several threads.
        with damage_named(self.path, "Arrow or Parquet"), self._reading:
            table = self.read(i)
            if table.num_rows != self.starts[i + 1] - self.starts[i]:
                raise ValueError(f"row group {i} has another number of rows than it declares")
        values = np.empty((table.num_rows, self.shape[1]), self.dtype)
        for j, name in enumerate(self.names):
            column = table.column(name)
            if column.null_count:
                raise InvalidInput(
                    f'{self.path.name}, column "{name}" lacks {column.null_count} numbers in rows '
                    f"{self.starts[i]} to {self.starts[i + 1] - 1}; impute them before"
                )
            values[:, j] = column.to_numpy(**_copying(column))
        self._kept = (i, values)
        return values


def _validated(batch: Any) -> Any:
    batch.validate(full=True)  # places and sizes that lie are read as they are
    return batch


def _copying(column: Any) -> dict[str, bool]:
    """Return how an Arrow array is told that it may copy; chunked arrays always may."""
    return {} if hasattr(column, "num_chunks") else {"zero_copy_only": False}


def _chosen(names: Sequence[str], columns: Sequence[str | int] | None) -> tuple[int, ...]:
    if columns is None:
        return tuple(range(len(names)))
    found = []
    for column in columns:
        if isinstance(column, str) and column in names:
            found.append(names.index(column))
        elif not isinstance(column, str) and -len(names) <= column < len(names):
            found.append(int(column) % len(names))
        else:
            raise InvalidParameter(f"there is no column {column!r}; there are {listed(names)}")
    if not found:
        raise InvalidParameter("columns must name at least one column")
    return tuple(found)


@spelled
def open_points(
    path: str | os.PathLike[str], *, columns: Sequence[str | int] | None = None
) -> OnDisk:
    """Return the rows of a .npy, Parquet or Arrow file as points that stay on disk.

    ``columns`` chooses some by name or number; of a Parquet file all columns of numbers are taken
    unless some are chosen. Single precision stays single.
    """
    place = regular(path)
    kind = kind_of(place)
    if kind == "npy":
        return InArray(place, columns)
    if kind in ("parquet", "arrow"):
        return InGroups(place, kind, columns)
    raise UnreadableFile(
        f"{place.name} cannot be read in parts: convert it to .npy, Parquet or Arrow, or read it "
        "whole with mercer.read"
    )
