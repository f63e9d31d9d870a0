r"""Kernels whose features are sparse, as products of thin matrices: K V in two short steps.

.. math:: K V = \Phi_x (\Phi_y^\top V)
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_array, diags_array

from mercer.check import Array, Points, as_numpy
from mercer.kernels.algebra import Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.counts import Counted
from mercer.kernels.metric import Normalised
from mercer.kernels.pairs import Table
from mercer.kernels.tables import Columns, in_column
from mercer.kernels.tensor import TensorSum
from mercer.kernels.variables import Ordinal, Standardised
from mercer.kernels.vectors import Linear

MOST_LEVELS = 64
"""Levels of an ordinal up to which those that were reached are features."""

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

        >>> from mercer import StringSpectrum
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
    if not _has_factors(kernel):
        return None
    found = Factors(tuple(_of(kernel, Table(x, y))))
    is_real = not any(np.iscomplexobj(side) for part in found.parts for side in part)
    return found if is_real else None


def _has_factors(kernel: Kernel) -> bool:
    if isinstance(kernel, Sum | Scaled | Normalised | TensorSum):
        return all(_has_factors(k) for k in kernel.children().values())
    if isinstance(kernel, Columns):
        is_sum = not kernel.product and bool(kernel.blocks)
        return is_sum and all(_has_factors(k) for k in kernel.children().values())
    if isinstance(kernel, Counted):
        return kernel.is_inner_product
    if isinstance(kernel, Ordinal):
        return len(kernel.levels or ()) <= MOST_LEVELS
    return isinstance(kernel, Linear | Standardised)


def _of(kernel: Kernel, pairs: Any) -> list[Factor]:
    if isinstance(kernel, Counted):
        counts, right = kernel.sides(pairs)
        weighted = counts.scaled()
        return [(weighted.common, right.common), (weighted.rare, right.rare)]
    if isinstance(kernel, Linear) and pairs.is_sparse:
        return [pairs.rows]
    if isinstance(kernel, Linear | Standardised | Ordinal):
        left = as_numpy(kernel.features(pairs.x))
        return [(left, left if pairs.same else as_numpy(kernel.features(pairs.y)))]
    if isinstance(kernel, Scaled):
        (inner,) = kernel.children().values()
        return [(kernel.weight * a, b) for a, b in _of(inner, pairs)]
    if isinstance(kernel, Normalised):
        return _normalised(kernel.kernel, pairs)
    weights = kernel.numbers if isinstance(kernel, Columns) else [1.0] * len(kernel.children())
    found: list[Factor] = []
    for (name, child), w in zip(kernel.children().items(), weights, strict=True):
        with in_column(name) if isinstance(kernel, Columns) else nullcontext():
            inside = kernel.pairs_of(name, pairs)  # type: ignore[attr-defined]
            found.extend((w * a, b) for a, b in _of(child, inside))
    return found


def _normalised(kernel: Kernel, pairs: Any) -> list[Factor]:
    """Return the factors of cosines; points without features share one unit vector."""
    left = _squares(_of(kernel, Table(pairs.x)))
    right = left if pairs.same else _squares(_of(kernel, Table(pairs.y)))
    sides = [np.where(s > 0, 1.0 / np.sqrt(np.where(s > 0, s, 1.0)), 0.0) for s in (left, right)]
    scaled = Factors(tuple(_of(kernel, pairs))).scaled(*sides)
    alone = [csr_array((s == 0).astype(np.float64)[:, None]) for s in (left, right)]
    return [*scaled.parts, (alone[0], alone[1])]


def is_worthwhile(found: Factors, shape: tuple[int, int]) -> bool:
    """Whether a product by factors multiplies fewer numbers than one by entries."""
    return 2 * found.size < shape[0] * shape[1]
