"""Points that stay on disk: a slice reads its own rows and no more."""

from __future__ import annotations

import os
import re
import threading
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mercer.check import Array, chunks
from mercer.data.arrays import in_file
from mercer.data.arrow import damage_named, declared_lengths, index_columns, refuse_twice
from mercer.data.raw_files import (
    MEMORY,
    first_bytes,
    kind_of,
    kind_of_bytes,
    regular,
)
from mercer.data.table import quote_names
from mercer.display import warn
from mercer.errors import (
    DataWarning,
    InvalidInput,
    InvalidParameter,
    TooLarge,
    UnreadableFile,
    extra,
)
from mercer.settings import spelled

ROWS = 2**14
"""Rows that are read at one time by those who walk over all of them."""


MOST_OPEN = 8
"""Files of a folder that are open at a time."""


NUMBERS = {
    "npy": (".npy",),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather"),
    "hdf5": (".h5", ".hdf5"),
}
"""Kinds of files whose rows are read when they are asked for, and how their names end."""

ZARR = (".zarray", ".zgroup", "zarr.json")
"""Files by which a folder says that it is a zarr store."""


class OnDisk(ABC):
    """Rows of numbers in a file: ``points[a:b]`` reads those rows, of the chosen columns.

    A sequence of points as any other. `blocks` walks over all of them in bounded memory. What
    `open_points` returns is one.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> import mercer as mc
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "x.npy"), np.arange(12.0).reshape(6, 2))
    ...     points = mc.open_points(Path(folder, "x.npy"))
    ...     points.shape, points[4:6].tolist()
    ((6, 2), [[8.0, 9.0], [10.0, 11.0]])
    """

    path: Path
    shape: tuple[int, int]
    dtype: Any
    names: tuple[str, ...]
    layer: str | None = None
    lies_on_disk = True

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hold the rows."""
        return (self.path,)

    @property
    def first_rows(self) -> tuple[int, ...]:
        """The numbers of the first row of each file, and at the end that of all rows."""
        return (0, len(self))

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
        self.path = path
        shape, is_fortran, dtype, start = in_file(path)
        order: Literal["C", "F"] = "F" if is_fortran else "C"
        try:
            mapped: Array = np.memmap(path, dtype, "r", start, shape, order)
        except (ValueError, OSError) as error:
            raise UnreadableFile(f"{path.name} cannot be mapped: {error}") from error
        self.values = mapped[:, None] if mapped.ndim == 1 else mapped
        every = tuple(f"column {j + 1}" for j in range(self.values.shape[1]))
        self.chosen = chosen_columns(every, columns)
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
        every = tuple(self.types)
        numeric = {name for name, type_ in self.types.items() if self._is_number(type_)}
        chosen = None if columns is None else [every[j] for j in chosen_columns(every, columns)]
        wanted = [n for n in every if n not in self.index] if chosen is None else chosen
        self.names = tuple(name for name in wanted if name in numeric)
        wrong = [name for name in wanted if name not in numeric]
        if not self.names or (wrong and columns is not None):
            which = f", column {quote_names(wrong)}" if wrong else ""
            raise InvalidInput(f"{path.name}{which} holds no numbers")
        types = {self.types[name] for name in self.names}
        is_single = types == {self.arrow.float32()}
        self.dtype = np.dtype(np.float32 if is_single else np.float64)
        self.shape = (self.starts[-1], len(self.names))
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
            refuse_twice(schema.names, self.path.name)
            self.types = {field.name: field.type for field in schema}
            self.index = index_columns(schema)
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


class InFiles(OnDisk):
    """The rows of all files of a folder, one file after the other in the order of their names.

    Only the files that were read last are open. Parts without rows are left out, and files of
    another kind, which a warning names.
    """

    def __init__(
        self, path: Path, columns: Sequence[str | int] | None, layer: str | None = None
    ) -> None:
        self.path, self.layer = path, layer
        self._columns, self._opened = columns, OrderedDict[Path, OnDisk]()
        self._opening = threading.Lock()
        files: list[Path] = []
        others: list[str] = []
        lengths: list[int] = []
        dtypes: set[Any] = set()
        for place in sorted(_parts(path), key=_natural):
            if not _is_of_numbers(place):
                others.append(place.name)
                continue
            part = self._file(place)
            if not len(part):
                continue
            if not files:
                self.names = part.names
            elif part.names != self.names:
                raise InvalidInput(
                    f"{place.name} has the columns {quote_names(part.names)}, and "
                    f"{files[0].name} before it {quote_names(self.names)}: choose columns that "
                    "all files have by columns=, or open them one by one"
                )
            files.append(place)
            lengths.append(len(part))
            dtypes.add(part.dtype)
        if not files:
            raise UnreadableFile(
                f"{path} is a folder and holds no files of numbers with rows (.npy, Parquet, "
                "Arrow, HDF5)"
            )
        if others:
            warn(
                f"{path.name}: these are not files of numbers and were not read: "
                f"{quote_names(others)}",
                DataWarning,
            )
        self._paths, self.starts = tuple(files), [0, *accumulate(lengths)]
        if columns is None:
            self._tell_keys()
        self.shape = (self.starts[-1], len(self.names))
        self.dtype = dtypes.pop() if len(dtypes) == 1 else np.dtype(np.float64)

    @property
    def files(self) -> tuple[Path, ...]:
        return self._paths

    @property
    def first_rows(self) -> tuple[int, ...]:
        return tuple(self.starts)

    def _tell_keys(self) -> None:
        """Say which columns only the names of folders hold, as in year=2024/part.parquet."""
        folders = dict.fromkeys(
            part for file in self.files for part in file.relative_to(self.path).parts[:-1]
        )
        keys = dict.fromkeys(part.partition("=")[0] for part in folders if "=" in part)
        lost = [key for key in keys if key not in self.names]
        if lost:
            warn(
                f"{self.path.name}: columns that only folder names hold were not read: "
                f"{quote_names(lost)}; write them into the files if you need them",
                DataWarning,
            )

    def _file(self, place: Path) -> OnDisk:
        with self._opening:
            found = self._opened.pop(place, None)
            if found is None:
                found = _opened(place, self._columns, self.layer)
            self._opened[place] = found
            while len(self._opened) > MOST_OPEN:
                self._opened.popitem(last=False)
        return found

    def rows(self, start: int, stop: int) -> Array:
        result = np.empty((max(stop - start, 0), self.shape[1]), self.dtype)
        place = start
        while place < stop:
            i = bisect_right(self.starts, place) - 1
            part, first = self._file(self.files[i]), self.starts[i]
            end = min(stop, self.starts[i + 1])
            result[place - start : end - start] = part.rows(place - first, end - first)
            place = end
        return result


def _parts(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of those in it, but not what other programs note there."""
    for place in folder.rglob("*"):
        is_noted = any(part.startswith((".", "_")) for part in place.relative_to(folder).parts)
        if place.is_file() and not is_noted:
            yield place


def _is_of_numbers(path: Path) -> bool:
    """Whether a file is one of numbers by what it holds, or claims to be by its name."""
    endings = tuple(ending for endings in NUMBERS.values() for ending in endings)
    return path.name.lower().endswith(endings) or kind_of_bytes(first_bytes(path)) in NUMBERS


def _natural(path: Path) -> list[Any]:
    """Return what sorts names as people count: "part 9" before "part 10".

    >>> _natural(Path("part.10.parquet")) > _natural(Path("part.9.parquet"))
    True
    """
    words = re.split(r"(\d+)", str(path))
    return [int(word) if i % 2 else word for i, word in enumerate(words)]


def _validated(batch: Any) -> Any:
    batch.validate(full=True)  # places and sizes that lie are read as they are
    return batch


def _copying(column: Any) -> dict[str, bool]:
    """Return how an Arrow array is told that it may copy; chunked arrays always may."""
    return {} if hasattr(column, "num_chunks") else {"zero_copy_only": False}


def chosen_columns(names: Sequence[str], columns: Sequence[str | int] | None) -> tuple[int, ...]:
    """Return the places of the columns that are asked for by name or number, else of all."""
    if columns is None:
        return tuple(range(len(names)))
    found = []
    for column in columns:
        if isinstance(column, str) and column in names:
            found.append(names.index(column))
        elif not isinstance(column, str) and -len(names) <= column < len(names):
            found.append(int(column) % len(names))
        else:
            raise InvalidParameter(f"there is no column {column!r}; there are {quote_names(names)}")
    if not found:
        raise InvalidParameter("columns must name at least one column")
    return tuple(found)


@spelled
def open_points(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str | int] | None = None,
    layer: str | None = None,
) -> OnDisk:
    """Return the rows of a .npy, Parquet, Arrow, HDF5 or zarr file as points that stay on disk.

    A folder is all its files, one after the other. ``columns`` chooses some by name or number; of a
    Parquet or Arrow file all columns of numbers are taken unless some are chosen, but for the index
    of a data frame that pandas or Dask wrote. ``layer`` names the array
    of an HDF5 file or a zarr store that has several, of each file of a folder. Single precision
    stays single.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "points.npy")
    ...     np.save(file, np.arange(6.0).reshape(3, 2))
    ...     points = open_points(file)
    ...     print(points.shape, points[1:])
    (3, 2) [[2. 3.]
     [4. 5.]]
    """
    if layer is not None and not isinstance(layer, str):
        raise InvalidParameter(f"layer must be the name of an array, found {layer!r}")
    folder = Path(path)
    if folder.is_dir():
        if not any((folder / mark).exists() for mark in ZARR):
            return InFiles(folder, columns, layer)
        from mercer.data.chunked import in_zarr  # which reads points on disk as these are

        return in_zarr(folder, layer, columns)
    points = _opened(regular(path), columns, layer)
    if not len(points):
        raise UnreadableFile(f"{points.path.name} has columns but no rows")
    return points


def _opened(place: Path, columns: Sequence[str | int] | None, layer: str | None) -> OnDisk:
    kind = kind_of(place)
    if layer is not None and kind != "hdf5":
        raise InvalidParameter(f"layer is for HDF5 files and zarr stores, and {place.name} is none")
    if kind == "npy":
        return InArray(place, columns)
    if kind in ("parquet", "arrow"):
        return InGroups(place, kind, columns)
    if kind == "hdf5":
        from mercer.data.chunked import in_hdf5

        return in_hdf5(place, layer, columns)
    raise UnreadableFile(
        f"{place.name} cannot be read in parts: convert it to .npy, Parquet or Arrow, or read it "
        "whole with mercer.read"
    )
