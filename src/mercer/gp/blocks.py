"""Matrices and sums over all pairs of points, tile by tile in threads, one triangle only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np

from mercer.check import Array, as_numpy
from mercer.engines.compiled import fastest_exponential
from mercer.engines.cpu import Threads
from mercer.engines.tiles import Block
from mercer.gram import Gram
from mercer.kernels.pairs import exponential


def over(blocks: Sequence[Block], work: Callable[[Block], None]) -> None:
    """Do the work of every block, in threads where there are several blocks."""

    def run(block: Block) -> None:
        exponential.set(fastest_exponential())
        work(block)

    engine = Threads()
    if len(blocks) == 1 or engine.count == 1:
        for block in blocks:
            copy_context().run(run, block)
        return
    with engine.session(), ThreadPoolExecutor(engine.count) as pool:
        for future in [pool.submit(copy_context().run, run, block) for block in blocks]:
            future.result()


def lower_triangle(gram: Gram) -> Array:
    """Return the matrix in the order of LAPACK with zeros above the diagonal's tiles.

    >>> from mercer import Linear
    >>> lower_triangle(Gram(Linear(), [[1.0], [2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """
    gram.refuse_no_kernel()
    tiles = gram.cut()
    rows = np.zeros(gram.shape)  # of the upper triangle, which are columns of the lower one

    def fill(block: Block) -> None:
        rows[block.rows, block.columns] = tiles.tile(block)

    over(tiles.blocks(), fill)
    return rows.T


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


def _place(block: Block) -> tuple[int, int]:
    return block.rows.start, block.columns.start
