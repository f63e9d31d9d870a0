"""Models on disk: a file is whole or not there, says what it holds, and nothing in it is code.

A file is ``prefix, header, arrays, sum``. The prefix holds the magic bytes, the version of the
format, the length of the header and the size of the file; the sum covers everything before it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import BufferedReader
from math import isfinite, prod
from pathlib import Path
from struct import Struct
from threading import Lock
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data.raw_files import in_one_line, regular
from mercer.errors import CorruptFile, NotSaved, NotStorable, UnreadableFile
from mercer.store.packing import PLAIN, Arrays, Taken, aligned_size, unpack

if sys.platform != "win32":
    import fcntl

WRONG = (LookupError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
"""What contents that make no sense raise, where they are put together."""

MAGIC = b"\x89MERCER\n"
FORMAT = 1
PREFIX = Struct("<8sIQQ")
SUM = hashlib.sha256().digest_size
BLOCK = 2**20
PARTS = {"model", "arrays", "about", "versions"}
KINDS: dict[str, type] = {"arrays": list, "about": dict, "versions": dict}

PATIENCE = 1.0
"""Seconds that a disk may take to begin a file before nobody waits for it any more."""

PART = re.compile(r"\.mercer-[0-9a-f]{16}\.part")
"""The names of files that are being written."""

_beginning = Lock()
_unfinished: set[Path] = set()


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, which holds the old model or the new one at any moment.

    Parameters are what ``get_params`` returns, the rest of the model's attributes is its state.
    Kernels are kept in their written form. A model that holds a Python function is refused by
    the name of what holds it.
    """
    save_tree(model, path, _about(model))


def save_tree(value: Any, path: str | os.PathLike[str], about: dict[str, Any]) -> None:
    """Write a value that is made of plain ones, of arrays and of mercer's own."""
    arrays, name = Arrays(), type(value).__name__
    try:
        tree = arrays.packed(value, name)
    except RecursionError:
        raise NotStorable(f"{name} is nested too deeply to be written as data") from None
    header = json.dumps(
        {
            "about": about,
            "versions": {"mercer": import_module("mercer").__version__, "numpy": np.__version__},
            "model": tree,
            "arrays": arrays.described,
        },
        allow_nan=False,
    ).encode()
    write_whole(path, parts_of(header, arrays.kept))


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file, after its sizes and its sum were found to be right.

    >>> from tempfile import TemporaryDirectory
    >>> import mercer as mc
    >>> model = mc.KernelPCA(1, kernel=mc.Gaussian(0.5)).fit([[0.0], [1.0], [3.0]])
    >>> with TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.mercer")
    ...     again = load(f"{folder}/model.mercer")
    >>> np.array_equal(again.transform([[2.0]]), model.transform([[2.0]]))
    True
    """
    return load_tree(path)


def load_tree(path: str | os.PathLike[str]) -> Any:
    """Return the value of a file, after its sizes and its sum were found to be right."""
    place = regular(path)
    with place.open("rb") as file:
        header, start = check_header(file, place.name)
        arrays = [array_of(file, about, start, place.name) for about in header["arrays"]]
    try:
        return unpack(header["model"], Taken(arrays))
    except CorruptFile as error:
        raise CorruptFile(f"{place.name}: {error}") from error
    except WRONG as error:
        raise CorruptFile(
            f"{place.name} is whole but cannot be understood ({in_one_line(error)}); it was "
            f"written by mercer {header['versions'].get('mercer')}: load it with that version"
        ) from error


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a file says of its model: class, kernel, inertias and their errors, versions."""
    place = regular(path)
    with place.open("rb") as file:
        header, _ = check_header(file, place.name)
    return {**header["about"], "versions": header["versions"]}


def _about(model: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"class": type(model).__name__}
    kernel = getattr(model, "kernel_", getattr(model, "kernel", None))
    if kernel is not None:
        facts["kernel"] = str(kernel)
    spectrum = getattr(model, "spectrum_", None)
    if spectrum is not None:
        facts["values"] = np.asarray(spectrum.values).tolist()
        facts["errors"] = [e if isfinite(e) else None for e in np.asarray(spectrum.errors).tolist()]
        facts["individuals"] = len(spectrum.vectors)
        facts["psd"], facts["method"] = spectrum.psd, spectrum.how.method
    return facts


def parts_of(header: bytes, arrays: list[Array]) -> Iterator[bytes | memoryview]:
    """Yield the parts of a file in their order, the sum of all of them last."""
    start = aligned_size(PREFIX.size + len(header))
    data = sum(aligned_size(a.nbytes) for a in arrays)
    total = hashlib.sha256()
    for part in (
        PREFIX.pack(MAGIC, FORMAT, len(header), start + data + SUM),
        header,
        bytes(start - PREFIX.size - len(header)),
        *(part for a in arrays for part in (_bytes(a), bytes(aligned_size(a.nbytes) - a.nbytes))),
    ):
        total.update(part)
        yield part
    yield total.digest()


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def check_header(file: BufferedReader, name: str) -> tuple[dict[str, Any], int]:
    """Return the header of a file and where its arrays begin, if its sum is right."""
    size = os.fstat(file.fileno()).st_size
    start = file.read(PREFIX.size)
    if not start.startswith(MAGIC):
        raise CorruptFile(f"{name} is not a file that mercer saved")
    if len(start) < PREFIX.size:
        raise CorruptFile(f"{name} was cut short")
    _, version, length, declared = PREFIX.unpack(start)
    if version > FORMAT:
        raise UnreadableFile(
            f"{name} has format {version}, and this version of mercer reads up to {FORMAT}: "
            "install a newer one (or the file is damaged)"
        )
    if declared != size or aligned_size(PREFIX.size + length) + SUM > size:
        raise CorruptFile(
            f"{name} has {size:,} bytes and should have {declared:,}: it was cut short or damaged"
        )
    total = hashlib.sha256()
    file.seek(0)
    for taken in range(0, size - SUM, BLOCK):
        total.update(file.read(min(BLOCK, size - SUM - taken)))
    if file.read(SUM) != total.digest():
        raise CorruptFile(f"{name} is damaged: its checksum is wrong. Restore it from a copy")
    file.seek(PREFIX.size)
    try:
        header = json.loads(file.read(length))
        if not header.keys() >= PARTS:
            raise ValueError("a part is missing")
        wrong = [part for part, kind in KINDS.items() if not isinstance(header[part], kind)]
        if wrong:
            raise ValueError(f"its {wrong[0]!r} is no {KINDS[wrong[0]].__name__}")
    except (ValueError, AttributeError, RecursionError) as error:
        raise CorruptFile(f"{name} has no readable header: {error}") from error
    return header, aligned_size(PREFIX.size + length)


def array_of(file: BufferedReader, about: dict[str, Any], start: int, name: str) -> Array:
    """Return an array that the header describes, if it lies within the file."""
    end = os.fstat(file.fileno()).st_size - SUM
    try:
        dtype, shape = np.dtype(about["dtype"]), tuple(int(k) for k in about["shape"])
        offset, size = start + int(about["offset"]), prod(shape) * dtype.itemsize
        order = str(about["order"])
        is_inside = min(shape, default=0) >= 0 and start <= offset <= end - size
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise CorruptFile(f"{name} describes an array that makes no sense: {error}") from error
    if dtype.kind not in PLAIN or not is_inside:
        raise CorruptFile(f"{name} describes an array that is not in it")
    values = np.empty(size, np.uint8)
    file.seek(offset)
    if file.readinto(values.data) != size:
        raise CorruptFile(f"{name} was cut short while it was read")
    array: Array = values.view(dtype)
    if not dtype.isnative:
        array = array.astype(dtype.newbyteorder("="))
    try:
        return array.reshape(shape[::-1]).T if order == "F" else array.reshape(shape)
    except ValueError as error:  # nothing has a shape that is too large all the same
        raise CorruptFile(f"{name} describes an array that makes no sense: {error}") from error


def write_whole(path: str | os.PathLike[str], parts: Iterable[bytes | memoryview]) -> None:
    """Write a file so that at every moment it is the old one or the new one, whole.

    The parts go to another file of the same folder, which takes the name once it is on the disk.
    """
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            raise OSError("it is a folder, a pipe or a device")
        handle, temporary = _begun(target.parent)
        try:
            with open(handle, "wb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
                if sys.platform != "win32":  # before the lock ends: nobody takes it for abandoned
                    os.replace(temporary, target)
            if sys.platform == "win32":  # where a file that is open keeps its name
                os.replace(temporary, target)
        finally:
            with suppress(OSError):
                temporary.unlink()
            _unfinished.discard(temporary)
        _synchronise(target.parent)
    except (OSError, ValueError) as error:
        with _beginning:  # an end of the process that took the file away holds it for good
            pass
        raise not_saved(path, error) from error


def not_saved(path: str | os.PathLike[str], error: Exception) -> NotSaved:
    """Return the error that says why a file could not be written."""
    return NotSaved(f"{path} could not be written, and is as it was before: {error}")


def _begun(folder: Path) -> tuple[int, Path]:
    """Open a new file that is removed if the process ends before it is whole.

    The lock on it ends with the process, in whatever way: by that others know an abandoned one.
    """
    while True:
        temporary = folder / f".mercer-{secrets.token_hex(8)}.part"
        with _beginning:
            _unfinished.add(temporary)
            try:
                handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            except OSError:
                _unfinished.discard(temporary)
                raise
        with suppress(OSError):  # of a system without locks, where nobody looks for abandoned files
            if sys.platform != "win32":
                fcntl.flock(handle, fcntl.LOCK_EX)
        if temporary.exists():
            return handle, temporary
        os.close(handle)  # somebody took it for abandoned, before it had its lock
        _unfinished.discard(temporary)


@contextmanager
def remove_at_end(path: Path, make: Callable[[], Any] | None = None) -> Iterator[None]:
    """Have a file removed when a context ends, or the process that is interrupted in it."""
    with _beginning:
        _unfinished.add(path)
        if make is not None:
            make()
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        _unfinished.discard(path)


def remove_abandoned(folder: str | os.PathLike[str]) -> None:
    """Remove the files of a folder whose writers were killed before these were whole.

    A file that is being written has a lock, and stays; so does any that is not ours by its name.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if PART.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    if sys.platform == "win32":
        os.unlink(path)  # which the system refuses while somebody writes it
        return
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(handle)


def remove_unfinished() -> None:
    """Remove what other threads write or hold, for good: no file can be begun afterwards."""
    _beginning.acquire(timeout=PATIENCE)
    for temporary in list(_unfinished):
        with suppress(OSError):
            temporary.unlink()


def _synchronise(folder: Path) -> None:
    """Put the new name on the disk too, where the system allows it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
