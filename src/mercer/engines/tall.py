"""Products of tall matrices, a few of whose rows each thread of an engine takes at a time."""

from __future__ import annotations

import numpy as np

from mercer.check import Array
from mercer.engines.base import Engine


def inner_products(A: Array, B: Array, engine: Engine) -> Array:
    """Return A* B; of a matrix with itself, one triangle is computed.

    >>> from mercer.engines.cpu import Threads
    >>> inner_products(np.eye(3)[:, :2], np.ones((3, 1)), Threads(1)).tolist()
    [[1.0], [1.0]]
    """

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
    result = np.empty((len(A), coordinates.shape[1]), np.result_type(A, coordinates))

    def part(rows: slice) -> None:
        np.matmul(A[rows], coordinates, out=result[rows])

    engine.over_rows(part, len(A))
    return result
