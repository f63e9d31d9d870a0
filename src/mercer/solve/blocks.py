"""Work on all tiles of a Gram matrix in threads, and the triangle of it that is factored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

import numpy as np

from mercer.check import Array
from mercer.engines.compiled import fastest_exponential
from mercer.engines.cpu import Threads
from mercer.engines.tiles import Block
from mercer.gram import Gram
from mercer.kernels.pairs import exponential

Part = TypeVar("Part", Block, slice)


def over(blocks: Sequence[Part], work: Callable[[Part], None]) -> None:
    """Do the work of every block, in threads where there are several blocks."""

    def run(block: Part) -> None:
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


def lower_triangle(gram: Gram, s: Array | None = None, *, single: bool = False) -> Array:
    """Return SKS in the order of LAPACK, with zeros above the tiles of the diagonal.

    S is the diagonal matrix of s, the identity without it.

    >>> from mercer import Linear
    >>> lower_triangle(Gram(Linear(), [[1.0], [2.0]]), np.array([1.0, 3.0]), single=True)
    array([[ 1.,  6.],
           [ 6., 36.]], dtype=float32)
    """
    gram.refuse_no_kernel()
    tiles = gram.cut(single=single)
    rows = np.zeros(gram.shape, np.float32 if single else np.float64)
    is_scaled = s is not None and bool(np.any(s != 1.0))
    scale = np.ones(0) if s is None else s.astype(rows.dtype)

    def fill(block: Block) -> None:
        # Rows of the upper triangle, which LAPACK reads as columns of the lower one.
        place = rows[block.rows, block.columns]
        if is_scaled:
            np.multiply(scale[block.rows, None], tiles.tile(block), out=place)
            place *= scale[block.columns]
        else:
            place[...] = tiles.tile(block)

    over(tiles.blocks(), fill)
    return rows.T
