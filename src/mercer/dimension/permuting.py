"""Permutations of each column by itself, drawn or given, and threads to work through them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import Any, Protocol, TypeVar

import numpy as np

from mercer.check import Array, InvalidInput, number_array, whole
from mercer.engines.cpu import Threads

T = TypeVar("T")

SHORT = 128
"""Columns up to this length are shuffled by sorting, which processors do many at a time; longer
ones by exchanges."""

AHEAD = 2
"""Pieces of work queued for each thread, so that none waits and little is thrown away."""


class Permutations(Protocol):
    """Rearrangements of a table held by columns: each row of ``columns`` is one variable."""

    @property
    def count(self) -> int:
        """How many there are."""

    def apply(self, r: int, columns: Array, out: Array) -> Array:
        """Write the columns in the r-th rearrangement to ``out``."""


@dataclass(frozen=True)
class Drawn:
    """Permutations drawn at random, the r-th from a generator of its own.

    So the r-th is the same whatever their number, the order in which they are computed and the
    threads that do it.
    """

    count: int
    seed: int

    def apply(self, r: int, columns: Array, out: Array) -> Array:
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(r,)))
        if columns.shape[1] > SHORT:
            return rng.permuted(columns, axis=1, out=out)
        rows = shuffled_rows(rng, *columns.shape)
        rows += columns.shape[1] * np.arange(len(columns))[:, None]
        return np.take(columns, rows, out=out, mode="clip")  # which does not buffer

    def indices(self, n: int, p: int) -> Array:
        """Return the same permutations of n rows and p columns as an array R x n x p.

        >>> drawn = Drawn(2, seed=0).indices(4, 3)
        >>> drawn.shape, bool(np.all(np.sort(drawn, axis=1) == np.arange(4)[:, None]))
        ((2, 4, 3), True)
        """
        rows = np.broadcast_to(np.arange(n), (p, n))
        drawn = [self.apply(r, rows, np.empty((p, n), np.intp)).T for r in range(self.count)]
        return np.stack(drawn)


def shuffled_rows(rng: np.random.Generator, p: int, n: int) -> Array:
    """Return p permutations of n rows, as the order of random keys.

    The lowest bits of a key hold its row, so that sorting the keys carries the rows along. The
    other 57 bits or more are random: that two agree, which alone would favour an order, has a
    probability below n²/2⁵⁷.

    >>> rows = shuffled_rows(np.random.default_rng(0), 100, 4)
    >>> bool(np.all(np.sort(rows, axis=1) == np.arange(4))), len(np.unique(rows, axis=0))
    (True, 24)
    """
    row = np.uint64(2 ** (n - 1).bit_length() - 1)
    keys = rng.bit_generator.random_raw((p, n))
    keys &= ~row
    keys |= np.arange(n, dtype=np.uint64)
    keys.sort(axis=1)
    keys &= row
    return keys.view(np.int64)


@dataclass(frozen=True, eq=False)
class Given:
    """Permutations given as row numbers: ``indices[r, i, j]`` is the source row of entry i, j."""

    indices: Array

    @property
    def count(self) -> int:
        return len(self.indices)

    def apply(self, r: int, columns: Array, out: Array) -> Array:
        out[...] = np.take_along_axis(columns, self.indices[r].T, axis=1)
        return out


def as_permutations(permutations: Any, n: int, p: int, random_state: int | None) -> Permutations:
    """Return so many permutations of n rows and p columns, or the ones given as an array."""
    if hasattr(permutations, "__len__") and not isinstance(permutations, str):
        return Given(_checked(number_array(permutations, "permutations"), n, p))
    count = whole(permutations, "permutations", least=1)
    if random_state is not None:
        random_state = whole(random_state, "random_state")
    entropy = np.random.SeedSequence(random_state).entropy
    assert isinstance(entropy, int)
    return Drawn(count, entropy)


def _checked(indices: Array, n: int, p: int) -> Array:
    if indices.ndim != 3 or indices.shape[1:] != (n, p) or len(indices) == 0:
        raise InvalidInput(
            f"permutations must be a number or an array R x {n} x {p} of row numbers for a table "
            f"of {n} rows and {p} columns, found shape {indices.shape}"
        )
    if indices.dtype.kind not in "iu":
        raise InvalidInput(f"permutations must hold whole row numbers, found {indices.dtype}")
    rows = np.arange(n)[:, None]
    for r, one in enumerate(indices):
        if one.min() < 0 or one.max() >= n:
            i, j = np.argwhere((one < 0) | (one >= n))[0]
            raise InvalidInput(
                f"permutations[{r}, {i}, {j}] is {one[i, j]}; row numbers go from 0 to {n - 1}"
            )
        wrong = np.flatnonzero(np.any(np.sort(one, axis=0) != rows, axis=0))
        if len(wrong):
            raise InvalidInput(
                f"permutations[{r}, :, {wrong[0]}] is not a permutation: some row occurs twice"
            )
    return indices


def in_order(
    work: Callable[[slice, Event], T], pieces: list[slice], threads: int | None = None
) -> Generator[T, None, None]:
    """Yield the results of pieces of work in their order, computed in threads.

    Linear algebra has one thread in each. When the caller stops or is interrupted, ``work`` is
    told by its event and should return soon.
    """
    engine = Threads(threads)
    count = min(engine.count, len(pieces))
    stop = Event()
    with engine.session():
        if count == 1:
            yield from (work(piece, stop) for piece in pieces)
            return
        with ThreadPoolExecutor(count) as pool:

            def submit(piece: slice) -> Future[T]:
                return pool.submit(copy_context().run, work, piece, stop)

            waiting = iter(pieces)
            queue = [submit(piece) for piece in islice(waiting, AHEAD * count)]
            try:
                while queue:
                    result = queue.pop(0).result()
                    queue.extend(submit(piece) for piece in islice(waiting, 1))
                    yield result
            finally:
                stop.set()
                for future in queue:
                    future.cancel()
