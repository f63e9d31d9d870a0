"""The protocol between an operator and the place where its tiles are computed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from mercer.check import Array
from mercer.check import memory_bytes as memory_bytes
from mercer.engines.tiles import Block, Tiles
from mercer.errors import MercerError
from mercer.progress import Progress


class NotEnoughMemory(MercerError, MemoryError):
    """A computation that would take more memory than it may; the message names a smaller one."""


class Engine(Protocol):
    """What computes with the tiles of a Gram matrix that is never stored.

    ``memory`` is the budget in bytes for everything a computation holds, None for as little as it
    can do with.
    """

    memory: int | None

    def product(self, tiles: Tiles, vectors: Array, progress: Progress | None = None) -> Array:
        """Return K V in double precision, from tiles of whatever precision they have."""

    def product_and_squares(
        self, tiles: Tiles, vectors: Array, weights: Array | None, progress: Progress | None = None
    ) -> tuple[Array, float]:
        """Return K V and Σ wᵢwⱼ|Kᵢⱼ|² from the same tiles."""

    def each(self, tiles: Tiles) -> Iterator[tuple[Block, Array]]:
        """Yield every block with its tile, in a fixed order."""

    def over_rows(self, work: Callable[[slice], None], n: int, size: int | None = None) -> None:
        """Call ``work`` on consecutive parts of n rows, of at most ``size`` each, in parallel.

        Between parts the engine can be interrupted.
        """

    def sum_over_rows(
        self, work: Callable[[slice], Array], n: int, size: int | None = None
    ) -> Array:
        """Return the sum of new arrays that ``work`` makes of consecutive parts of n rows."""

    def session(self) -> AbstractContextManager[None]:
        """Return a context for many passes with small algebra between them."""


CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux tells the memory a container may use, in its newer and older form."""


def machine_bytes() -> int:
    """Return the memory of this machine, or of the container this process is in."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in map(Path, CONTAINER):
        try:
            limits.append(int(path.read_text()))
        except (OSError, ValueError):  # not in a container, or in one without a limit
            continue
    return min(limits)
