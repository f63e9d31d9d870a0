"""Arrays of numpy's own formats: the declared size is asked first, and no object is ever read."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from mercer.check import Array, InvalidInput, UnreadableFile
from mercer.data.source import Limits


def declared(file: BinaryIO, name: str) -> tuple[tuple[int, ...], bool, Any]:
    """Return the shape, the order and the type that the header of a .npy file declares."""
    readers: dict[tuple[int, int], Callable[[BinaryIO], Any]] = {
        (1, 0): npy.read_array_header_1_0,
        (2, 0): npy.read_array_header_2_0,
    }
    try:
        version = npy.read_magic(file)
        shape, is_fortran, dtype = readers[version](file)
    except (KeyError, ValueError, EOFError) as error:
        raise UnreadableFile(f"{name} has no readable .npy header: {error}") from error
    if dtype.hasobject:
        raise UnreadableFile(
            f"{name} holds Python objects, which are stored as code and never read; "
            "save numbers with a numeric dtype"
        )
    if dtype.kind not in "biuf":
        raise UnreadableFile(f"{name} has dtype {dtype}, and only real numbers are read")
    return tuple(int(k) for k in shape), bool(is_fortran), dtype


def read_npy(path: Path, limits: Limits) -> Array:
    """Return the array of a .npy file."""
    with path.open("rb") as file:
        shape, _, dtype = declared(file, path.name)
        size = prod(shape) * dtype.itemsize
        limits.check(size, None, path.name)
        left = path.stat().st_size - file.tell()
    if left < size:
        raise UnreadableFile(
            f"{path.name} declares {size:,} bytes of numbers and holds {left:,}: it was cut short"
        )
    return np.asarray(np.load(path, allow_pickle=False))


def read_npz(path: Path, limits: Limits) -> dict[str, Array]:
    """Return the arrays of a .npz file by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
            if not members:
                raise UnreadableFile(
                    f"{path.name} is a zip archive without arrays; unpack it, or save a "
                    "spreadsheet as CSV"
                )
            packed = sum(m.compress_size for m in members)
            limits.check(sum(m.file_size for m in members), packed, path.name)
            return {m.filename[:-4]: _member(archive, m, path, limits) for m in members}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise UnreadableFile(f"{path.name} is a damaged archive: {error}") from error


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, limits: Limits) -> Array:
    name = f"{path.name}, array {member.filename[:-4]!r}"
    with archive.open(member) as file:
        shape, is_fortran, dtype = declared(file, name)  # type: ignore[arg-type]
        size = prod(shape) * dtype.itemsize
        limits.check(size, None, name)
        data = file.read(size)
        # Reading past the end makes zipfile compare the checksum.
        if len(data) < size or file.read(1):
            raise UnreadableFile(f"{name} declares {size:,} bytes and holds another number")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if is_fortran else "C")


def as_matrix(values: Array, name: str) -> Array:
    """Return an array whose rows are individuals; one dimension is one column."""
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or 0 in values.shape:
        raise InvalidInput(f"{name} has shape {values.shape}, which is not a table of numbers")
    return values
