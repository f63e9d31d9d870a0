"""Arrays of numpy's own formats: the declared size is asked first, and no object is ever read."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from mercer.check import Array
from mercer.data.raw_files import Limits, in_one_line
from mercer.errors import InvalidInput, MercerError, UnreadableFile

IS_ENCRYPTED = 0x1
"""The bit by which a member of an archive says that it needs a password."""


def declared(file: BinaryIO, name: str) -> tuple[tuple[int, ...], bool, Any]:
    """Return the shape, the order and the type that the header of a .npy file declares."""
    readers: dict[tuple[int, int], Callable[[BinaryIO], Any]] = {
        (1, 0): npy.read_array_header_1_0,
        (2, 0): npy.read_array_header_2_0,
    }
    try:
        version = npy.read_magic(file)
        shape, is_fortran, dtype = readers[version](file)
    except zipfile.BadZipFile:
        raise  # the archive is damaged, and what it holds may be right
    except Exception as error:  # the header is Python's notation, whose parsers fail in many ways
        raise UnreadableFile(f"{name} has no readable .npy header: {in_one_line(error)}") from error
    if dtype.hasobject:
        raise UnreadableFile(
            f"{name} holds Python objects, which are stored as code and never read; "
            "save numbers with a numeric dtype"
        )
    if dtype.kind not in "biuf":
        raise UnreadableFile(f"{name} has dtype {dtype}, and only real numbers are read")
    if not all(type(k) is int and k >= 0 for k in shape):
        raise UnreadableFile(f"{name} declares the shape {shape}, which no array has")
    _refuse_shape(shape, name)
    return shape, bool(is_fortran), dtype


def _refuse_shape(shape: tuple[int, ...], name: str) -> None:
    if len(shape) not in (1, 2) or 0 in shape:
        shown = shape if len(shape) < 10 else f"of {len(shape)} dimensions"
        raise InvalidInput(f"{name} has shape {shown}, which is not a table of numbers")


def in_file(path: Path) -> tuple[tuple[int, ...], bool, Any, int]:
    """Return what a .npy file declares and where its numbers begin, if they are all there."""
    with path.open("rb") as file:
        shape, is_fortran, dtype = declared(file, path.name)
        start = file.tell()
    size, left = prod(shape) * dtype.itemsize, path.stat().st_size - start
    if left < size:
        raise UnreadableFile(
            f"{path.name} declares {size:,} bytes of numbers and holds {left:,}: it was cut short"
        )
    return shape, is_fortran, dtype, start


def read_npy(path: Path, limits: Limits) -> Array:
    """Return the array of a .npy file."""
    with path.open("rb") as file:
        shape, _, dtype = declared(file, path.name)
    limits.check(prod(shape) * dtype.itemsize, None, path.name)
    shape, is_fortran, dtype, start = in_file(path)
    values = np.fromfile(path, dtype, prod(shape), offset=start)
    return values.reshape(shape, order="F" if is_fortran else "C")


def read_npz(path: Path, limits: Limits) -> dict[str, Array]:
    """Return the arrays of a .npz file by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
            if "content.xml" in archive.namelist() and not members:
                raise UnreadableFile(
                    f"{path.name} is an OpenDocument file; save it as .xlsx or CSV"
                )
            if not members:
                raise UnreadableFile(
                    f"{path.name} is a zip archive without arrays or sheets; unpack it, or save a "
                    "spreadsheet as .xlsx or CSV"
                )
            packed = min(sum(m.compress_size for m in members), path.stat().st_size)
            limits.check(sum(m.file_size for m in members), packed, path.name)
            return {m.filename[:-4]: _member(archive, m, path, limits) for m in members}
    except MercerError:
        raise
    except Exception as error:  # each way of packing has its own errors
        raise UnreadableFile(f"{path.name} is a damaged archive: {in_one_line(error)}") from error


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, limits: Limits) -> Array:
    name = f"{path.name}, array {member.filename[:-4][:80]!r}"
    if member.flag_bits & IS_ENCRYPTED:
        raise UnreadableFile(f"{name} is encrypted; unpack the archive with its password first")
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
    _refuse_shape(values.shape, name)
    return values[:, None] if values.ndim == 1 else values
