"""Permutations of each column by itself, drawn or given."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from mercer.check import Array, number_array
from mercer.errors import InvalidInput
from mercer.resampling import Resampling


class Rearrangements(Protocol):
    """Rearrangements of a table held by columns: each row of ``columns`` is one variable."""

    @property
    def count(self) -> int:
        """How many there are."""

    def apply(self, r: int, columns: Array, out: Array) -> Array:
        """Write the columns in the r-th rearrangement to ``out``."""


LOADING_PAYS = 2**25
"""Entries to be shuffled from which on it pays to load numba, which takes half a second."""


class Shuffled:
    """Entries that this process shuffled without numba: whoever tests often gets it in the end."""

    entries = 0


@dataclass(frozen=True)
class Drawn(Resampling):
    """Permutations drawn at random, the r-th from bits of its own."""

    def apply(self, r: int, columns: Array, out: Array) -> Array:
        left = (self.count - r) * columns.size
        pays = Shuffled.entries + left >= LOADING_PAYS or _compiled_shuffle.cache_info().currsize
        if not pays or not has_shuffled(self.bits(r), columns, out):
            self.generator(r).permuted(columns, axis=1, out=out)
            Shuffled.entries += columns.size
        return out

    def indices(self, n: int, p: int) -> Array:
        """Return the same permutations of n rows and p columns as an array R x n x p.

        >>> drawn = Drawn(2, seed=0).indices(4, 3)
        >>> drawn.shape, bool(np.all(np.sort(drawn, axis=1) == np.arange(4)[:, None]))
        ((2, 4, 3), True)
        """
        rows = np.broadcast_to(np.arange(n), (p, n))
        drawn = [self.apply(r, rows, np.empty((p, n), np.intp)).T for r in range(self.count)]
        return np.stack(drawn)


@cache
def _compiled_shuffle() -> Callable[[Array, Array, Array], bool] | None:
    """Return numpy's shuffle without its lock on other threads, where numba is installed."""
    if find_spec("numba") is None or sys.byteorder != "little":
        return None
    from mercer.engines.compiled_loops import shuffle

    compiled: Callable[[Array, Array, Array], bool] = shuffle
    return compiled


def has_shuffled(bits: np.random.PCG64, columns: Array, out: Array) -> bool:
    """Write what ``Generator(bits).permuted(columns, axis=1)`` would be, or return False."""
    shuffle, (p, n) = _compiled_shuffle(), columns.shape
    is_plain = columns.dtype == np.float64 and columns.flags.c_contiguous
    if shuffle is None or not is_plain or n == 0:
        return False
    draws = bits.random_raw(_draws(p, n) // 2 + 1)  # two halves of 32 bits in each
    return shuffle(columns, draws.view(np.uint32), out)


@cache
def _draws(p: int, n: int) -> int:
    """Return how many draws p shuffles of n take, but for one time in a thousand millions."""
    places = np.arange(2.0, n + 1.0)
    chance = places / 2.0 ** np.ceil(np.log2(places))  # that a draw is not made again
    mean, variance = p * np.sum(1.0 / chance), p * np.sum((1.0 - chance) / chance**2)
    return int(mean + 6.0 * np.sqrt(variance)) + 1


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


def is_given(permutations: Any) -> bool:
    """Whether permutations are given one by one, and not their number."""
    return hasattr(permutations, "__len__") and not isinstance(permutations, str)


def as_permutations(permutations: Any, n: int, p: int, draws: Resampling) -> Rearrangements:
    """Return the permutations of n rows and p columns that were given as an array, or drawn."""
    if is_given(permutations):
        return Given(_checked(number_array(permutations, "permutations"), n, p))
    return Drawn(**vars(draws))


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
