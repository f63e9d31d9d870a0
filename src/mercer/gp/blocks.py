"""Sums over all pairs of points of the derivatives of a kernel, tile by tile in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mercer.check import Array, as_numpy, chunks
from mercer.engines.cpu import Threads
from mercer.engines.tiles import Block
from mercer.errors import InvalidInput
from mercer.gram import Gram
from mercer.kernels.pairs import Table


def contracted(gram: Gram, weight: Callable[[Block], Array]) -> dict[str, float | Array]:
    r"""Return the sum of a symmetric matrix W times each partial derivative of the kernel.

    .. math:: \sum_{ij} W_{ij} \frac{\partial k(x_i, x_j)}{\partial \theta}

    ``weight`` gives a block of W. Blocks above the diagonal are used twice.

    >>> from mercer import Gaussian
    >>> gram = Gram(Gaussian(1.0), [[0.0], [2.0]])
    >>> sums = contracted(gram, lambda block: np.ones((2, 2)))
    >>> bool(np.isclose(sums["bandwidth"], 2 * 4.0 * np.exp(-2.0)))
    True
    """
    tiles = gram.cut()
    blocks = tiles.blocks()
    sums: dict[tuple[int, int], dict[str, float | Array]] = {}

    def add(block: Block) -> None:
        x, y = tiles.x[block.rows], tiles.y[block.columns]
        partials = _partials(gram, Table(x, None if block.is_diagonal else y))
        W = weight(block) * (1.0 if block.is_diagonal else 2.0)
        sums[_place(block)] = {n: np.tensordot(W, as_numpy(d), 2) for n, d in partials.items()}

    Threads().over(add, blocks)
    names = sums[_place(blocks[0])]
    # In the order of the blocks, whichever thread was first: sums are the same every time.
    totals = {name: sum(sums[_place(block)][name] for block in blocks) for name in names}
    return _finite(gram, totals)


STRIPE = 512
"""Rows of the derivatives of a matrix that are in memory at a time, and columns."""

WORKERS = 8
"""Threads that sum products of derivatives, for each has a sum of its own."""


def partial_products(gram: Gram, block: Array) -> dict[str, Array]:
    r"""Return the products of each partial derivative of the matrix with a block of vectors.

    .. math:: \left(\sum_j \frac{\partial k(x_i, x_j)}{\partial \theta}\, v_j\right)_i

    Nothing larger than a tile is stored, and tiles above the diagonal are used twice. Parameters
    with several members have an axis for them between the rows and the columns.

    >>> from mercer import Gaussian
    >>> gram = Gram(Gaussian(1.0), [[0.0], [2.0]])
    >>> found = partial_products(gram, np.array([[0.0], [1.0]]))["bandwidth"]
    >>> bool(np.allclose(found, [[4.0 * np.exp(-2.0)], [0.0]]))
    True
    """
    x, stripes = gram.x, list(chunks(gram.shape[0], STRIPE))

    def add(mine: Iterator[int]) -> dict[str, Array]:
        total: dict[str, Array] = {}
        for i in mine:
            for columns in stripes[i:]:
                rows, is_diagonal = stripes[i], columns is stripes[i]
                partials = _partials(gram, Table(x[rows], None if is_diagonal else x[columns]))
                for name, derivative in partials.items():
                    tile = as_numpy(derivative)
                    if name not in total:
                        total[name] = np.zeros((len(block), *tile.shape[2:], block.shape[1]))
                    total[name][rows] += np.tensordot(tile, block[columns], axes=(1, 0))
                    if not is_diagonal:
                        total[name][columns] += np.tensordot(tile, block[rows], axes=(0, 0))
        return total

    engine = Threads(min(WORKERS, Threads().count), is_deterministic=True)
    totals = engine.share(add, range(len(stripes)))
    found = {name: np.asarray(sum(total[name] for total in totals)) for name in totals[0]}
    return _finite(gram, found)


def _partials(gram: Gram, pairs: Table) -> dict[str, Array]:
    """Return the derivatives of the kernel; `_finite` looks at their sums."""
    with np.errstate(over="ignore", invalid="ignore"):
        return gram.kernel.evaluate_partials(pairs)


def _finite(gram: Gram, sums: dict[str, Any]) -> dict[str, Any]:
    """Refuse sums that overflowed: the kernel names what did, if it is a derivative."""
    for name, total in sums.items():
        if not np.all(np.isfinite(total)):
            for rows in chunks(gram.shape[0], STRIPE):
                gram.kernel.partials(gram.x[rows], gram.x)
            raise InvalidInput(f"sums of derivatives of {gram.kernel} in {name} overflow")
    return sums


def _place(block: Block) -> tuple[int, int]:
    return block.rows.start, block.columns.start
