"""What an engine promises: products with tiles and their rounding, and tall products."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

from mercer.check import Array
from mercer.engines.held import Held
from mercer.engines.held import Seed as Seed
from mercer.engines.tiles import Block, Rounding, Tiles
from mercer.progress import Progress

MOST_LANDMARKS = 600
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
    the images it is measured in the end. Such passes are ``single_gain`` times as fast as others.
    """

    memory: int | None
    single_enough: float
    single_name: str
    checked_rows: int
    single_gain: float

    def product(self, tiles: Tiles, vectors: Array, progress: Progress | None = None) -> Array:
        """Return K V in double precision, from tiles of whatever precision they have."""

    def products(self, tiles: Tiles, blocks: Sequence[Array]) -> list[Array]:
        """Return K V for several blocks of vectors, from tiles that are computed once."""

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

    def factor(
        self,
        tiles: Tiles,
        root: Array,
        *,
        is_held: bool = False,
        place: Callable[..., Array] = np.empty,
    ) -> Array:
        """Return a tall matrix times an upper triangular one, in the precision of the latter.

        Where it may be ``held``, it lies where the engine computes with it; on the host it is the
        array that ``place`` makes of a shape and a type.
        """

    def session(self) -> AbstractContextManager[None]:
        """Return a context for many passes with small algebra between them."""


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


def outside(A: Array, block: Array, engine: Engine) -> Array:
    """Return what orthonormal columns leave of a block of vectors: (I - AA*) B.

    >>> from mercer.engines.cpu import Threads
    >>> outside(np.eye(3)[:, :2], np.ones((3, 1)), Threads(1)).tolist()
    [[0.0], [0.0], [1.0]]
    """
    if isinstance(A, Held) and isinstance(block, Held):
        return block.outside(A)
    return block - combinations(A, inner_products(A, block, engine), engine)
