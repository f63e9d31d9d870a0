"""Sums over all pairs of points of the derivatives of a kernel, tile by tile in threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.check import Array, as_numpy, chunks
from mercer.engines.tiles import Block
from mercer.gram import Gram
from mercer.solve.blocks import over


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
        partials = gram.kernel.partials(x, None if block.is_diagonal else y)
        W = weight(block) * (1.0 if block.is_diagonal else 2.0)
        sums[_place(block)] = {n: np.tensordot(W, as_numpy(d), 2) for n, d in partials.items()}

    over(blocks, add)
    names = sums[_place(blocks[0])]
    # In the order of the blocks, whichever thread was first: sums are the same every time.
    return {name: sum(sums[_place(block)][name] for block in blocks) for name in names}


STRIPE = 512
"""Rows of the derivatives of a matrix that are in memory at a time, and columns."""


def partial_products(gram: Gram, block: Array) -> dict[str, Array]:
    r"""Return the products of each partial derivative of the matrix with a block of vectors.

    .. math:: \left(\sum_j \frac{\partial k(x_i, x_j)}{\partial \theta}\, v_j\right)_i

    Nothing larger than a tile is stored. Parameters with several members have an axis for them
    between the rows and the columns.

    >>> from mercer import Gaussian
    >>> gram = Gram(Gaussian(1.0), [[0.0], [2.0]])
    >>> found = partial_products(gram, np.array([[0.0], [1.0]]))["bandwidth"]
    >>> bool(np.allclose(found, [[4.0 * np.exp(-2.0)], [0.0]]))
    True
    """
    x = gram.x
    stripes = list(chunks(len(x), STRIPE))
    done: dict[int, dict[str, Array]] = {}

    def add(rows: slice) -> None:
        total: dict[str, Array] = {}
        for columns in stripes:
            partials = gram.kernel.partials(x[rows], x[columns])
            for name, tile in partials.items():
                image = np.tensordot(as_numpy(tile), block[columns], axes=(1, 0))
                total[name] = total[name] + image if name in total else image
        done[rows.start] = total

    over(stripes, add)
    names = done[0]
    return {name: np.concatenate([done[rows.start][name] for rows in stripes]) for name in names}


def _place(block: Block) -> tuple[int, int]:
    return block.rows.start, block.columns.start
