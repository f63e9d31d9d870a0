r"""Kernels whose features are sparse, as products of thin matrices: K V in two short steps.

.. math:: K V = \Phi_x (\Phi_y^\top V)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_array, diags_array

from mercer.check import Array, Points, as_numpy
from mercer.kernels.base import Kernel
from mercer.kernels.pairs import Table

Factor: TypeAlias = tuple[Any, Any]
"""A matrix for x and one for y, dense or sparse, with as many columns: K = A B'."""


class Factors(NamedTuple):
    """A Gram matrix as a sum of products of thin matrices."""

    parts: tuple[Factor, ...]

    @property
    def size(self) -> int:
        """How many numbers a product with a vector multiplies."""
        return sum(_held(side) for part in self.parts for side in part)

    @property
    def width(self) -> int:
        """How many products an entry of K is a sum of, at the most."""
        return sum(_widest(left) for left, _ in self.parts)

    def product(self, vectors: Array) -> Array:
        """Return K V.

        >>> from mercer.kernels import StringSpectrum
        >>> of_strings = factors(StringSpectrum(1), ["ab", "a"], None)
        >>> of_strings.product(np.array([[1.0], [10.0]])).tolist()
        [[12.0], [11.0]]
        """
        first, *others = (left @ (right.T @ vectors) for left, right in self.parts)
        total: Array = first
        for other in others:
            total += other
        return total

    def scaled(self, left: Array, right: Array) -> Factors:
        """Return the factors with the points of both sides multiplied by numbers."""
        return Factors(tuple((_times(left, a), _times(right, b)) for a, b in self.parts))


def _held(side: Any) -> int:
    return int(side.nnz) if hasattr(side, "nnz") else int(side.size)


def _widest(side: Any) -> int:
    if hasattr(side, "indptr"):
        return int(np.max(np.diff(side.indptr), initial=0))
    return int(side.shape[1])


def _times(weights: Array, side: Any) -> Any:
    return diags_array(weights) @ side if hasattr(side, "nnz") else weights[:, None] * side


def _squares(parts: Sequence[Factor]) -> Array:
    """Return k(x, x) of points whose factors are given for both sides."""
    return sum(
        np.asarray((a.multiply(b) if hasattr(a, "nnz") else a * b).sum(axis=1)).reshape(-1)
        for a, b in parts
    )  # type: ignore[return-value]


def factors(kernel: Kernel, x: Points, y: Points | None) -> Factors | None:
    """Return the factors of a Gram matrix, or None where features are many or not sparse.

    They are known for counts, for real numbers beside them, and for sums, multiples and cosines of
    such kernels. ``y`` is ``x`` when it is None.
    """
    if not kernel.has_factors:
        return None
    found = Factors(tuple(kernel.sparse_factors(Table(x, y))))
    is_real = not any(np.iscomplexobj(side) for part in found.parts for side in part)
    return found if is_real else None


def factors_of_features(kernel: Kernel, pairs: Any) -> list[Factor]:
    """Return the one factor that features of both sides are."""
    left = as_numpy(kernel.features(pairs.x))
    return [(left, left if pairs.same else as_numpy(kernel.features(pairs.y)))]


def factors_of_cosines(kernel: Kernel, pairs: Any) -> list[Factor]:
    """Return the factors of cosines; points without features share one unit vector."""
    left = _squares(kernel.sparse_factors(Table(pairs.x)))
    right = left if pairs.same else _squares(kernel.sparse_factors(Table(pairs.y)))
    sides = [np.where(s > 0, 1.0 / np.sqrt(np.where(s > 0, s, 1.0)), 0.0) for s in (left, right)]
    scaled = Factors(tuple(kernel.sparse_factors(pairs))).scaled(*sides)
    alone = [csr_array((s == 0).astype(np.float64)[:, None]) for s in (left, right)]
    return [*scaled.parts, (alone[0], alone[1])]


def is_worthwhile(found: Factors, shape: tuple[int, int]) -> bool:
    """Whether a product by factors multiplies fewer numbers than one by entries."""
    return 2 * found.size < shape[0] * shape[1]
