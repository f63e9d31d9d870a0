"""What an engine promises: products with tiles, how far rounding takes them, and tall products."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from mercer.check import Array
from mercer.check import memory_bytes as memory_bytes
from mercer.engines.held import Held
from mercer.engines.held import Seed as Seed
from mercer.engines.tiles import Block, Tiles
from mercer.kernels.statements import Bound
from mercer.kernels.statements import gamma as gamma
from mercer.progress import Progress

MOST_LANDMARKS = 400
"""Landmarks beyond which a processor would do better with more passes."""

SINGLE_ENOUGH = 1e-4
"""From this ``tol`` on, single precision is enough and its rounding estimated, not bounded."""


SINGLE_ROUNDING = 2e-6
"""That estimate, relative to the largest value of the kernel: 16 units of single precision."""


class Engine(Protocol):
    """What computes with the tiles of a Gram matrix that is never stored.

    ``memory`` is the budget in bytes for everything a computation holds, None for as little as it
    can do with. From a tolerance of ``single_enough`` on, passes in single precision are enough;
    ``single_name`` says what the estimate of their rounding rests on: on ``checked_rows`` rows of
    the images it is measured in the end.
    """

    memory: int | None
    single_enough: float
    single_name: str
    checked_rows: int

    def product(self, tiles: Tiles, vectors: Array, progress: Progress | None = None) -> Array:
        """Return K V in double precision, from tiles of whatever precision they have."""

    def product_and_squares(
        self, tiles: Tiles, vectors: Array, weights: Array | None, progress: Progress | None = None
    ) -> tuple[Array, float]:
        """Return K V and Σ wᵢwⱼ|Kᵢⱼ|² from the same tiles."""

    def rounding(self, tiles: Tiles, largest: float) -> Rounding:
        """Return what rounding can do to tiles and products, as `rounding` does."""

    def landmarks(self, n: int) -> int:
        """Return how many landmarks among n points are worth their cost, at the most."""

    def usual_rounding(
        self, single: Tiles, double: Tiles, value: float, *, is_centred: bool
    ) -> float:
        """Return what tiles in single precision usually add to products with unit vectors.

        In units of n; values of the kernel are at most ``value``, and vectors of a matrix that is
        to be centred sum to 0.
        """

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

    def factor(self, tiles: Tiles, root: Array, *, is_held: bool = False) -> Array:
        """Return a tall matrix times an upper triangular one, in the precision of the latter.

        Where it may be ``held``, it lies where the engine computes with it.
        """

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


def readable(count: int) -> str:
    """Return a number of bytes as a person would say it.

    >>> readable(3_200_000_000), readable(45_000), readable(12)
    ('3.2 GB', '45 kB', '12 bytes')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"


BLOCK = 512
"""Rows that are added up at a time where columns are centred."""

SMALLEST_TILE = 512
"""Rows that tiles are cut to at the least where memory is short."""

UNPROVED = 64
"""Units of rounding assumed of a kernel without a bound of its own, relative to its largest."""


class Rounding(NamedTuple):
    """Bounds for the error of an entry of K, of K V per unit of weight, and for an entry itself.

    The matrix of errors has a norm of at most n times ``product``, and at most ``product`` where
    rows and columns carry weights that sum to 1.
    """

    entry: float
    product: float
    is_proved: bool
    value: float


def rounding(tiles: Tiles, largest: float) -> Rounding:
    """Return what rounding can do to the entries of tiles and to products with them.

    ``largest`` bounds the kernel's values; it is used where no bound follows from the formula.
    """
    unit = float(np.finfo(tiles.dtype).eps) / 2
    if tiles.kernel.has_exact_values:
        entry: Bound | None = Bound(largest, 0.0)
    elif tiles.prepared is None:
        entry = None
    else:
        entry = tiles.kernel.bounds(tiles.prepared.arithmetic)
    if entry is None:
        entry = Bound(largest, UNPROVED * unit * largest, is_proved=False)
    inside = min(tiles.terms, tiles.shape[1]) + 1
    double = float(np.finfo(float).eps) / 2
    across = -(-tiles.shape[1] // min(tiles.terms, SMALLEST_TILE)) + tiles.sums
    if tiles.factors is not None:
        # Φ(Φ'V) adds up at most n numbers and then as many as a point has features, and
        # |Φ||Φ|' is at most the largest entry by Cauchy and Schwarz.
        across += tiles.shape[1] + tiles.factors.width
    centring = BLOCK + -(-tiles.shape[1] // BLOCK) + 16  # on both sides
    sums = gamma(inside, unit) + gamma(across, double) + 2.0 * gamma(centring, double)
    limits = np.finfo(tiles.dtype)
    is_small = tiles.single and entry.value <= 1e8 * float(limits.tiny)
    if is_small or entry.value >= float(limits.max) / tiles.shape[1]:
        # Products underflow or overflow; values in double precision may stand for themselves.
        error = np.inf if tiles.single else entry.error
        return Rounding(error, np.inf, entry.is_proved, entry.value)
    return Rounding(entry.error, entry.error + sums * entry.value, entry.is_proved, entry.value)


def norm_bound(A: Array) -> float:
    r"""Return an upper bound for the spectral norm: :math:`\sqrt{\|A\|_1 \|A\|_\infty}`.

    >>> norm_bound(np.array([[3.0, 0.0], [0.0, -4.0]]))
    4.0
    """
    return float(np.sqrt(np.linalg.norm(A, 1)) * np.sqrt(np.linalg.norm(A, np.inf)))


def inner_products(A: Array, B: Array, engine: Engine) -> Array:
    """Return A* B; of a matrix with itself, one triangle is computed.

    >>> from mercer.engines.cpu import Threads
    >>> inner_products(np.eye(3)[:, :2], np.ones((3, 1)), Threads(1)).tolist()
    [[1.0], [1.0]]
    """
    if isinstance(A, Held) or isinstance(B, Held):
        return np.asarray(A.conj().T @ B)

    def product(rows: slice) -> Array:
        left = A[rows]
        right = left if B is A else B[rows]  # which the library sees
        return np.asarray(left.conj().T @ right)

    return engine.sum_over_rows(product, len(A))


def combinations(A: Array, coordinates: Array, engine: Engine) -> Array:
    """Return A times a small matrix: combinations of its columns.

    >>> from mercer.engines.cpu import Threads
    >>> combinations(np.eye(3)[:, :2], np.array([[1.0], [2.0]]), Threads(1)).tolist()
    [[1.0], [2.0], [0.0]]
    """
    if isinstance(A, Held):
        return A @ coordinates
    result = np.empty((len(A), coordinates.shape[1]), np.result_type(A, coordinates))

    def part(rows: slice) -> None:
        np.matmul(A[rows], coordinates, out=result[rows])

    engine.over_rows(part, len(A))
    return result
