"""The triangle of a Gram matrix that is factored, filled in threads."""

from __future__ import annotations

import numpy as np

from mercer.check import Array
from mercer.engines.cpu import Threads
from mercer.engines.tiles import Block
from mercer.gram import Gram


def lower_triangle(gram: Gram, s: Array | None = None, *, single: bool = False) -> Array:
    """Return SKS in the order of LAPACK, with zeros above the tiles of the diagonal.

    S is the diagonal matrix of s, the identity without it.

    >>> from mercer import Linear
    >>> lower_triangle(Gram(Linear(), [[1.0], [2.0]]), np.array([1.0, 3.0]), single=True)
    array([[ 1.,  6.],
           [ 6., 36.]], dtype=float32)
    """
    gram.refuse_no_kernel()
    gram.refuse_beyond_memory(4 if single else 8)
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

    engine = gram.engine
    Threads().over(fill, tiles.blocks(), getattr(engine, "progress", None))
    return rows.T
