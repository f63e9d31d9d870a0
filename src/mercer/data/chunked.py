"""Arrays that lie in chunks, in HDF5 files and zarr stores: the chunks of a slice are read."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data.ondisk import OnDisk, chosen_columns
from mercer.data.raw_files import MEMORY, RATIO, in_one_line
from mercer.data.table import quote_names
from mercer.errors import (
    InvalidInput,
    InvalidParameter,
    MissingExtra,
    TooLarge,
    UnreadableFile,
    extra,
)

MOST_COLUMNS = 2**24
"""Of an array in chunks: each has a name, and a header may claim any number of them."""

DEEPEST = 100
"""Groups in one another that are looked into."""

BAND, MOST_KEPT = 2**22, 2**26
"""Bytes of chunks that are read at a time, at the least, and that are kept for the next slice."""

DAMAGE = (OSError, RuntimeError, LookupError, TypeError, ValueError, ArithmeticError)
"""What libraries raise of damaged files that have no error of their own."""


class InChunks(OnDisk):
    """The rows of an array in an HDF5 file or a zarr store, read from the chunks they lie in.

    The chunks that were read last are kept, for the next slice is mostly in them. Few are read at a
    time: zarr unpacks each in a thread, which does not give back the memory that it took.
    """

    def __init__(
        self, path: Path, values: Any, layer: str | None, columns: Sequence[str | int] | None
    ) -> None:
        self.path, self.values, self.layer = path, values, layer
        name = path.name if not layer else f"{path.name}, {layer}"
        shape = tuple(map(int, values.shape or ()))
        if len(shape) not in (1, 2) or 0 in shape:
            raise InvalidInput(f"{name} has shape {shape}, which is not a table of numbers")
        if values.dtype.kind not in "biuf":
            raise InvalidInput(f"{name} has type {values.dtype}, and only real numbers are read")
        _refuse_chunks(values, name)
        if len(shape) == 2 and shape[1] > MOST_COLUMNS:
            raise TooLarge(
                f"{name} has {shape[1]:,} columns, and at most {MOST_COLUMNS:,} are read: write it "
                "again with its rows as columns, or in parts"
            )
        every = tuple(f"column {j + 1}" for j in range(1 if len(shape) == 1 else shape[1]))
        self.chosen = chosen_columns(every, columns)
        self.names = tuple(every[j] for j in self.chosen)
        self.shape = (shape[0], len(self.chosen))
        self.dtype = np.dtype(np.float32 if values.dtype == np.float32 else np.float64)
        self._is_all = len(self.chosen) == len(every)
        self._reading = threading.Lock()
        self._kept: tuple[int, Array] | None = None
        length = values.chunks[0] if values.chunks else 0
        size = length * len(every) * values.dtype.itemsize
        self._band = length * max(1, BAND // max(size, 1)) if size <= MOST_KEPT else 0

    def rows(self, start: int, stop: int) -> Array:
        if not self._band:
            return self._read(start, stop)
        result, place = np.empty((max(stop - start, 0), self.shape[1]), self.dtype), start
        while place < stop:
            first = place // self._band * self._band
            end = min(stop, first + self._band)
            result[place - start : end - start] = self._kept_from(first)[
                place - first : end - first
            ]
            place = end
        return result

    def _kept_from(self, first: int) -> Array:
        kept = self._kept  # one assignment, so that threads may read at the same time
        if kept is None or kept[0] != first:
            part = self._read(first, min(first + self._band, len(self)))
            kept = self._kept = (first, part)
        return kept[1]

    def _read(self, start: int, stop: int) -> Array:
        try:
            with self._reading:  # neither library is made for several threads
                part = np.asarray(self.values[start:stop])
        except DAMAGE as error:
            raise UnreadableFile(
                f"{self.path.name} is damaged or incomplete in rows {start} to {stop - 1}: "
                f"{in_one_line(error)}"
            ) from error
        part = part[:, None] if part.ndim == 1 else part
        return (part if self._is_all else part[:, list(self.chosen)]).astype(self.dtype, copy=False)


def _refuse_chunks(values: Any, name: str) -> None:
    """Refuse chunks that no memory holds, and large ones that unfold from next to nothing."""
    if 0 in (values.chunks or ()):
        raise UnreadableFile(f"{name} has chunks of {values.chunks}, which hold no numbers")
    chunk = prod(values.chunks or (1,)) * values.dtype.itemsize
    why = "" if chunk <= MEMORY else "which are read as a whole"
    if not why and chunk > MOST_KEPT and chunk > RATIO * _stored(values):
        why = f"more than {RATIO:g} times what all of it takes on disk, as files made to exhaust "
        why += "memory do"
    if why:
        raise TooLarge(f"{name} has chunks of {chunk:,} bytes, {why}; write it with smaller ones")


def _stored(values: Any) -> int:
    """Return the bytes that an array of HDF5 or zarr takes on disk."""
    if hasattr(values, "id"):
        return int(values.id.get_storage_size())
    stored = values.nbytes_stored  # a property in zarr 2
    return int(stored() if callable(stored) else stored)


def in_hdf5(path: Path, layer: str | None, columns: Sequence[str | int] | None) -> InChunks:
    """Return the rows of an array of an HDF5 file, which stays open as long as they are."""
    h5py = extra("h5py", "io", "reading HDF5")
    with ExitStack() as opened:
        try:
            file = opened.enter_context(h5py.File(path, "r"))
            found = list(_tables(file, h5py.HardLink))
        except DAMAGE as error:
            raise UnreadableFile(
                f"{path.name} is a damaged or incomplete HDF5 file: {in_one_line(error)}"
            ) from error
        name = _one_of(found, layer, path)
        if file[name].external or file[name].is_virtual:
            raise UnreadableFile(
                f"{path.name}, {name} lies in another file, which is not read; copy it into one"
            )
        points = InChunks(path, file[name], name, columns)
        opened.pop_all()  # it stays open as long as its rows are asked for
    return points


def _tables(file: Any, kept_here: type) -> Iterator[str]:
    """Yield the names of the arrays of numbers in an HDF5 file, each by one of its names.

    A group is opened from the one it stands in: by its whole name, each would be sought from the
    root, and thousands in one another for ever.
    """
    left = [("", file["/"])]
    seen = {left[0][1].id}
    for name, group in left:
        if name.count("/") > DEEPEST:
            raise ValueError(f"groups stand more than {DEEPEST} deep in one another")
        for key in sorted(group):
            if not isinstance(group.get(key, getlink=True), kept_here):
                continue
            node = group[key]
            if node.id in seen:
                continue
            seen.add(node.id)
            if hasattr(node, "keys"):
                left.append((f"{name}/{key}", node))
            elif _is_table(node):
                yield f"{name}/{key}".strip("/")


def in_zarr(path: Path, layer: str | None, columns: Sequence[str | int] | None) -> InChunks:
    """Return the rows of an array of a zarr store."""
    try:
        zarr = import_module("zarr")
    except ImportError as error:
        raise MissingExtra(
            f"{path.name} is a zarr store, and zarr, which reads it, is not installed: pip install "
            "zarr brings it"
        ) from error
    try:
        node = zarr.open(str(path), mode="r")
        if not hasattr(node, "arrays"):
            if layer is not None:
                raise InvalidParameter(
                    f"layer names one array of several, and {path.name} is one: leave it out"
                )
            return InChunks(path, node, None, columns)
        name = _one_of([n for n, a in node.arrays() if _is_table(a)], layer, path)
        return InChunks(path, node[name], name, columns)
    except (InvalidInput, InvalidParameter, TooLarge):
        raise
    except Exception as error:  # each way of packing has its own errors
        raise UnreadableFile(
            f"{path.name} is a damaged or incomplete zarr store: {in_one_line(error)}"
        ) from error


def _is_table(node: Any) -> bool:
    """Whether a node of a file holds rows of real numbers."""
    return hasattr(node, "dtype") and node.dtype.kind in "biuf" and len(node.shape or ()) in (1, 2)


def _one_of(names: Sequence[str], layer: str | None, path: Path) -> str:
    """Return the array that is asked for, which need not be said where there is one."""
    if layer is not None and layer.strip("/") in names:
        return layer.strip("/")
    if layer is not None or not names:
        raise InvalidParameter(
            f"{path.name} has no array {layer!r}: it has {quote_names(names) if names else 'none'}"
            if layer is not None
            else f"{path.name} has no array of numbers with rows and columns"
        )
    tables = [name for name in names if name == "X"] or list(names)
    if len(tables) > 1:
        raise InvalidParameter(
            f"{path.name} has several arrays, {quote_names(names)}: say which by layer="
        )
    return tables[0]
