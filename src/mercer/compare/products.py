r"""Sums of products of centred matrices, and the same of permuted or multiplied individuals.

Three ways give the same numbers: matrices held in memory, tiles computed anew for each pass, and
features, by which products of n x n matrices become products of n x r ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Protocol

import numpy as np

from mercer.check import Array, chunks
from mercer.compare.sides import CentredSide, Centring, shifted
from mercer.engines.tiles import Block
from mercer.errors import InvalidInput
from mercer.gram import Gram
from mercer.kernels.base import Kind
from mercer.lowrank import pivoted_cholesky
from mercer.progress import Progress

STORED = 3_000
"""Individuals up to which centred matrices are kept in memory: 72 MB each."""

ROOM = 2**27
"""Numbers that the matrices kept in memory may have together: 1 GB."""

ROWS = 64
"""Rows of a stored matrix that are permuted at a time, so that they stay in the cache."""

BLOCKS = 4
"""Tiles of each matrix that are multiplied before Ctrl-C is heard."""

Statistic = Callable[[Array], float]
"""The sum of products as a function of a permutation, or of factors of the individuals."""


class Products(Protocol):
    """What a comparison asks of several centred matrices of the same individuals."""

    def matrix(self, tell: Progress | None = None) -> Array:
        """Return the sums of products of every two matrices; ``tell`` hears of their tiles."""

    def permuted(self, a: int, b: int) -> Statistic:
        r"""Return the function from a permutation π to :math:`\sum w_i w_j a_{ij} b_{π_i π_j}`.

        Rows of the first sum to zero, so the second need not be centred again for every π, also
        where individuals have weights, which stay in their places.
        """

    def multiplied(self, a: int, b: int) -> Statistic:
        r"""Return the function from ε to :math:`\sum ε_i ε_j\, w_i w_j a_{ij} b_{ij}`."""


def products_of(grams: Sequence[Gram], how: Centring, rank: int | None = None) -> Products:
    """Return the cheapest exact way to compare, or by features of so many dimensions."""
    if rank is not None:
        return Features.approximating(grams, how, rank)
    n = len(how.weights)
    is_linear = not how.is_unbiased and all(is_short(gram) for gram in grams)
    if is_linear:
        return Features([np.asarray(shifted(gram, how.weights).x) for gram in grams], how)
    if n <= STORED and len(grams) * n * n <= ROOM:
        return Stored([how.dense(gram) for gram in grams], how)
    return Tiled([how.of(gram) for gram in grams])


def is_short(gram: Gram) -> bool:
    """Whether a matrix is that of inner products of vectors shorter than their number."""
    shape = np.shape(gram.x) if isinstance(gram.x, np.ndarray) else ()
    is_real = getattr(gram.x, "dtype", None) == np.float64
    return (
        gram.kernel.is_linear
        and is_real
        and len(shape) in (1, 2)
        and 4 * (shape[1] if len(shape) == 2 else 1) <= shape[0]
    )


def gathered(parts: Sequence[Array], scale: Array) -> Array:
    """Return the weighted sums of products of every two blocks of values."""
    flat = np.stack([part.reshape(-1) for part in parts])
    weight = np.broadcast_to(scale, parts[0].shape).reshape(-1)
    return np.asarray(((flat * weight) @ flat.conj().T).real)


@dataclass(frozen=True, eq=False)
class Stored:
    """Centred matrices in memory."""

    matrices: Sequence[Array]
    how: Centring

    def matrix(self, tell: Progress | None = None) -> Array:
        n, many = len(self.how.weights), len(self.matrices)
        total = np.zeros((many, many))
        for rows in chunks(n, ROWS):
            block = Block(rows, slice(0, n))
            total += gathered([matrix[rows] for matrix in self.matrices], self.how.scale(block))
            if tell is not None:
                tell(rows.stop, n)
        return total

    def permuted(self, a: int, b: int) -> Statistic:
        parts, right = self._upper(a), self.matrices[b]

        def statistic(order: Array) -> float:
            total = 0.0
            for rows, part in parts:
                moved = np.take(right[order[rows]], order[rows.start :], axis=1, mode="clip")
                total += float(np.vdot(moved, part).real)
            return total

        return statistic

    def multiplied(self, a: int, b: int) -> Statistic:
        right = self.matrices[b]
        parts = [
            (rows, (right[rows, rows.start :].conj() * part).real) for rows, part in self._upper(a)
        ]
        return lambda e: float(sum(e[rows] @ part @ e[rows.start :] for rows, part in parts))

    def _upper(self, index: int) -> list[tuple[slice, Array]]:
        """Return the weighted matrix right of its diagonal blocks, where it counts twice."""
        n, found = len(self.how.weights), []
        for rows in chunks(n, ROWS):
            block = Block(rows, slice(rows.start, n))
            part = self.matrices[index][rows, rows.start :] * self.how.scale(block)
            part[:, rows.stop - rows.start :] *= 2.0
            found.append((rows, part))
        return found


@dataclass(frozen=True, eq=False)
class Tiled:
    """Centred tiles, computed anew in every pass: memory grows with n, not with n²."""

    sides: Sequence[CentredSide]

    def matrix(self, tell: Progress | None = None) -> Array:
        return summed(self.sides, tell=tell)

    def permuted(self, a: int, b: int) -> Statistic:
        left, right = self.sides[a], self.sides[b]
        return lambda order: float(summed([left, right.taken(order)])[0, 1])

    def multiplied(self, a: int, b: int) -> Statistic:
        return lambda e: float(summed([self.sides[a], self.sides[b]], e)[0, 1])


def summed(
    sides: Sequence[CentredSide],
    multipliers: Array | None = None,
    tell: Progress | None = None,
) -> Array:
    """Return the sums of products of every two matrices in one pass over their tiles.

    Multipliers of the individuals, where given, multiply each product.
    """
    how, n, size = sides[0].how, sides[0].n, sides[0].gram.tile
    for side in sides:
        side.gram.cut()  # once, before threads ask
    parts = list(chunks(n, size))
    blocks = [Block(rows, columns) for i, rows in enumerate(parts) for columns in parts[i:]]
    done, lock = count(1), Lock()

    def work(here: slice) -> Array:
        total = np.zeros((len(sides), len(sides)))
        for block in blocks[here]:
            twice = 1.0 if block.is_diagonal else 2.0
            tiles = [side.tile(block) for side in sides]
            scale = twice * how.scale(block)
            if multipliers is not None:
                scale = scale * np.outer(multipliers[block.rows], multipliers[block.columns])
            total += gathered(tiles, scale)
            if tell is not None:
                with lock:
                    tell(next(done), len(blocks))
        return total

    return sides[0].gram.engine.sum_over_rows(work, len(blocks), BLOCKS)


@dataclass(frozen=True, eq=False)
class Features:
    r"""Matrices F Fᵀ of centred features, exact for short vectors and else approximations.

    .. math:: \langle F F^\top, G G^\top \rangle = \| F^\top W G \|_F^2
    """

    factors: Sequence[Array]
    how: Centring
    held: float = 1.0
    """The least share of a trace that the features hold."""
    rank: int | None = None
    """How many an approximation was asked for, None where the features are exact."""

    @classmethod
    def approximating(cls, grams: Sequence[Gram], how: Centring, rank: int) -> Features:
        """Return features by randomly pivoted Cholesky of each matrix."""
        for gram in grams:
            if gram.kernel.kind is Kind.CONDITIONAL:
                raise InvalidInput(
                    f"{gram.kernel} is positive definite only once it is centred and has no "
                    "features to permute: leave rank= out"
                )
        found = [pivoted_cholesky(gram, rank) for gram in grams]
        factors = [each.factor - how.weights @ each.factor for each in found]
        held = min(1.0 - each.trace_error / (each.trace or 1.0) for each in found)
        return cls(factors, how, held, rank)

    def matrix(self, tell: Progress | None = None) -> Array:  # noqa: ARG002  (as of matrices)
        w = self.how.weights[:, None]
        return np.array([[_squares((w * f).T @ g) for g in self.factors] for f in self.factors])

    def permuted(self, a: int, b: int) -> Statistic:
        left = np.ascontiguousarray((self.how.weights[:, None] * self.factors[a]).T)
        right = self.factors[b]
        return lambda order: _squares(left @ right[order])

    def multiplied(self, a: int, b: int) -> Statistic:
        left = np.ascontiguousarray((self.how.weights[:, None] * self.factors[a]).T)
        right = self.factors[b]
        return lambda e: _squares((left * e) @ right)


def _squares(values: Array) -> float:
    return float(np.vdot(values, values).real)
