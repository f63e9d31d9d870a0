"""What an iteration for the leading axes holds, in memory and in a temporary file."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from functools import cache
from math import ceil, prod
from tempfile import TemporaryFile, gettempdir
from typing import Any, NamedTuple, cast

import numpy as np

from mercer.check import Array, Points, chunks
from mercer.davidson import Limits
from mercer.engines.engine import MOST_LANDMARKS, Engine
from mercer.engines.limits import Limits as EngineLimits
from mercer.errors import NotEnoughMemory
from mercer.gram import columns
from mercer.points import SparseRows, lies_on_disk
from mercer.settings import allowed_bytes, readable
from mercer.spectrum.axes_and_signs import KernelOperator, is_real_table
from mercer.spectrum.probes import PROBE_STEPS, PROBES

POINTS_PER_LANDMARK = 40
"""One landmark for so many points: more cost more than the passes they save."""

LANDMARKS_PER_AXIS = 4
"""But four for each vector that is iterated: fewer know nothing of the last of many axes."""

MOST_GUARDS = 24
"""Vectors that are iterated beside the axes, one for five of these, up to so many."""

HELD_ROWS = 6_000
"""Points on disk that are in memory at one time: samples for landmarks, and those of tiles."""

ZEROS = 2**22
"""Bytes that are written at a time where a file has to be filled."""


OWN_PAGES, MMAP_THRESHOLD = 2**21, -3
"""Bytes of an array from which on it has pages of its own, and glibc's number of that setting."""

FULL = (errno.ENOSPC, errno.EDQUOT)
"""What systems say of a disk, or of somebody's share of it, that has no room left."""


class Room(NamedTuple):
    """The bytes of an iteration beside the data: in memory, and in a temporary file."""

    memory: int
    disk: int = 0

    def __str__(self) -> str:
        there = f" and {readable(self.disk)} in a temporary file" if self.disk else ""
        return f"{readable(self.memory)}{there}"


def sizes(n: int, count: int, most: int = MOST_LANDMARKS) -> tuple[int, int]:
    """Return how many vectors are iterated at once, and the rank of the preconditioner.

    >>> sizes(10_000, 10), sizes(10**6, 10), sizes(20_000, 500)
    ((12, 250), (12, 600), (524, 2096))
    """
    block = min(count + max(2, min(-(-count // 5), MOST_GUARDS)), n)
    usual = min(n // POINTS_PER_LANDMARK, most)
    return block, min(max(usual, LANDMARKS_PER_AXIS * block), n)


def exact_room(operator: KernelOperator, count: int) -> Room:
    """Return what the iteration holds beside the data and the tiles it may keep.

    The factor of landmarks goes to a temporary file where memory is short of it.
    """
    base = operator.base
    n, engine = base.shape[0], base.engine
    given = n, held_columns(base.x), count, threads_of(engine)
    if not (is_real_table(base.x) and can_use_files(engine)):
        return Room(needed_bytes(*given))
    return room_within(*given, allowed_bytes(engine.memory))


def room_within(n: int, d: int, count: int, threads: int, allowed: int) -> Room:
    """Return the memory of an iteration, its factor in a file where all of it is not allowed.

    Read once or twice in a pass, from the first row to the last, the factor is the part that a
    disk serves best; fewer landmarks would cost more passes instead.

    >>> room_within(10**6, 1, 10, 2, 10**10), room_within(10**6, 1, 10, 2, 2 * 10**9)
    (Room(memory=4080230400, disk=0), Room(memory=1680230400, disk=2400000000))
    """
    memory = needed_bytes(n, d, count, threads)
    if memory <= allowed:
        return Room(memory)
    factor = _factor_bytes(n, count)
    return Room(memory - factor, factor)


def can_use_files(engine: Engine) -> bool:
    """Whether an engine computes with matrices of the host, which may lie in files."""
    return not hasattr(engine, "device")


def held_columns(points: Points) -> int:
    """Return how many numbers of a point are in memory, of sparse rows and on disk on average."""
    if isinstance(points, SparseRows):
        return points.held_columns
    is_there = lies_on_disk(points)
    return read_columns(len(points), columns(points)) if is_there else columns(points)


def read_columns(n: int, d: int) -> int:
    """Return how many numbers of a point on disk are in memory, on average.

    >>> read_columns(10**6, 50), read_columns(100, 50)
    (1, 50)
    """
    return ceil(min(1.0, HELD_ROWS / max(n, 1)) * d)


def threads_of(engine: Engine) -> int:
    """Return how many tiles an engine computes at once."""
    return int(getattr(engine, "count", 1))


def needed_bytes(n: int, d: int, count: int, threads: int) -> int:
    """Return the memory of an iteration on n points of d coordinates with so many threads.

    It holds the points prepared in both precisions, the low-rank factor, the powers of the probes,
    a tile in both precisions for each thread, and the squared factor with its eigenvectors. Of
    vectors there are most when the basis is cut, with its images and what is kept of both, or when
    twice as many as usual are multiplied, by threads with sums of their own.
    """
    block, rank = sizes(n, count)
    points = 24 * n * (d + 2)
    cut = block * (2 * Limits.most_blocks + 2 * Limits.kept_blocks + 2)
    twice = 10 * block + threads * (2 * block + PROBES + 1)
    vectors = 8 * n * max(cut, twice)
    probes = 8 * n * PROBES * (PROBE_STEPS + 1)
    tiles = threads * 12 * EngineLimits.tile * EngineLimits.tile
    return points + _factor_bytes(n, count) + vectors + probes + tiles + 40 * rank * rank


def _factor_bytes(n: int, count: int) -> int:
    """Return the bytes of the factor of landmarks, in single precision."""
    return 4 * n * sizes(n, count)[1]


@cache
def free_at_once() -> None:
    """Let arrays that are freed leave the process, for the rest of its life, where glibc can.

    Done before the first fit whose factor goes to a temporary file, and by no other: from then on
    glibc's ``malloc`` gives whatever takes 2 MB or more pages of its own, in the whole process. It
    would keep arrays of up to 32 MB for later ones, which are of other sizes: the peak of a fit of
    30 000 points was 28 % higher. A threshold that the environment sets, by
    ``MALLOC_MMAP_THRESHOLD_`` or ``GLIBC_TUNABLES``, stays as it is.
    """
    tunables = os.environ.get("GLIBC_TUNABLES", "").split(":")
    if "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return
    if any(one.startswith("glibc.malloc.mmap_threshold=") for one in tunables):
        return
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, OWN_PAGES)


def in_file(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return an array in a temporary file without a name, which ends with the array.

    It ends with the process, too, in whatever way. All of its bytes are the file's before any is
    written: a disk that becomes full in the middle would end the process by a signal.

    >>> rows = in_file((3, 2), np.float32)
    >>> rows[:] = 1.0
    >>> float(rows.sum())
    6.0
    """
    kind = np.dtype(dtype)
    size = prod(shape) * kind.itemsize
    try:
        with TemporaryFile(prefix="mercer-") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, max(size, 1))
            else:
                for part in chunks(max(size, 1), ZEROS):
                    file.write(bytes(part.stop - part.start))
                file.flush()
            return np.asarray(np.memmap(cast("Any", file), kind, "r+", shape=shape))
    except OSError as error:
        raise NotEnoughMemory(_no_file(size, error)) from error


def _no_file(size: int, error: OSError) -> str:
    """Return why there is no temporary file of so many bytes, and what to do."""
    try:
        folder = gettempdir()
    except OSError:  # it has tried all that it knows, and the error lists them
        folder = "any folder"
    why = error.strerror or str(error)
    if error.errno in FULL:
        return (
            f"{readable(size)} of a temporary file, for which there is no room in memory, have "
            f"none in {folder} either: {why}. Give more memory, or name a folder of a larger disk "
            "in the variable TMPDIR"
        )
    return (
        f"{readable(size)}, for which there is no room in memory, go to a temporary file, and none "
        f"can be made in {folder}: {why}. Name a folder that exists and may be written in the "
        "variable TMPDIR, or give more memory"
    )
