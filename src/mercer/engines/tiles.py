"""A Gram matrix cut into tiles, each computed from its own points when it is asked for.

Kernels that are functions of inner products and squared distances are evaluated on prepared
points: one matrix product for each tile, whatever the expression, in buffers that are used again.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from mercer.check import Array, Points, as_numpy, chunks, vectors
from mercer.kernels.algebra import Constant, Exponential, PolynomialOf, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.pairs import Scale, Table
from mercer.kernels.radial import Gaussian, Laplacian, Matern, NegativeDistance, RationalQuadratic
from mercer.kernels.squares import DISTANCE_ACCURACY, GAPS
from mercer.kernels.vectors import Linear, Polynomial, Sigmoid

TILE = 512
"""Rows of a tile: 512 x 512 numbers stay in a core's cache; half and double were slower."""

SINGLE_ACCURACY = 1e-3
"""Relative error allowed to a squared distance of a single precision tile with a kink at 0."""

SMOOTH = (Gaussian, RationalQuadratic)
"""Kernels that are smooth functions of the squared distance, also where rounding makes it < 0."""

OF_DISTANCES = (Gaussian, RationalQuadratic, Matern, Laplacian, NegativeDistance)
OF_INNER_PRODUCTS = (Linear, Polynomial, Sigmoid)
ENTRYWISE = (Sum, Product, Scaled, Power, PolynomialOf, Exponential)


class Block(NamedTuple):
    """The rows and columns of a tile."""

    rows: slice
    columns: slice

    @property
    def is_diagonal(self) -> bool:
        return self.rows == self.columns


class Tiles:
    """The matrix k(x, y), or k(x) of which only the upper triangle is computed.

    ``single`` asks for tiles in single precision, at which fast expressions are computed.
    """

    def __init__(
        self,
        kernel: Kernel,
        x: Points,
        y: Points | None = None,
        *,
        size: int = TILE,
        single: bool = False,
    ) -> None:
        self.kernel, self.x, self.y, self.size = kernel, x, (x if y is None else y), size
        self.is_symmetric = y is None
        self.shape = len(x), len(self.y)
        self.single = single
        self.prepared = Prepared.of(kernel, x, y, np.float32 if single else np.float64)
        self.dtype = self._dtype()

    def _dtype(self) -> Any:
        """Return the type of the tiles, complex for a complex kernel."""
        if self.prepared is not None or 0 in self.shape:
            return np.dtype(np.float32 if self.single else np.float64)
        return self.tile(Block(slice(0, 1), slice(0, 1))).dtype

    def blocks(self) -> list[Block]:
        """Return the blocks that are computed, row after row."""
        n, m = self.shape
        return [
            Block(rows, columns)
            for rows in chunks(n, self.size)
            for columns in chunks(m, self.size)
            if not self.is_symmetric or columns.start >= rows.start
        ]

    def tile(self, block: Block) -> Array:
        """Return the values of a block, valid until this thread asks for the next one."""
        if self.prepared is not None:
            return self.kernel.evaluate(PreparedTable(self.prepared, block, self.is_symmetric))
        diagonal = self.is_symmetric and block.is_diagonal
        pairs = Table(self.x[block.rows], None if diagonal else self.y[block.columns])
        with np.errstate(over="ignore", invalid="ignore"):
            values = as_numpy(self.kernel.evaluate(pairs))
        return values.astype(np.float32) if self.single and values.dtype == np.float64 else values


class Prepared:
    """Points made ready for matrix products: centred, with their squared norms as columns."""

    def __init__(self, kernel: Kernel, x: Array, y: Array, dtype: Any) -> None:
        self.uses = Counter(_statistics(kernel))
        self.dtype = np.dtype(dtype)
        self.needs_square_roots = any(not isinstance(k, SMOOTH) for k in _leaves(kernel))
        self.has_kink = any(_is_steep(leaf) for leaf in _leaves(kernel))
        self.local = threading.local()
        self.x, self.y = x, y
        self.inner = (
            [np.ascontiguousarray(v, dtype) for v in (x, y)] if "inner" in self.uses else []
        )
        self.sides = {s: self._augmented(s) for s in self.uses if s != "inner"}

    @staticmethod
    def of(kernel: Kernel, x: Points, y: Points | None, dtype: Any) -> Prepared | None:
        """Return the prepared points of a fast expression, or None for any other."""
        if not _is_fast(kernel):
            return None
        left = as_numpy(vectors(x, "x"))
        right = left if y is None else as_numpy(vectors(y, "y"))
        if np.iscomplexobj(left) or np.iscomplexobj(right):
            return None
        Table(left[:1], right[:1]).vectors  # noqa: B018  (refuses different numbers of columns)
        with np.errstate(over="ignore", invalid="ignore"):
            prepared = Prepared(kernel, left, right, dtype)
        sides = [side for pair in [prepared.inner, *prepared.sides.values()] for side in pair]
        # Squares that overflow are left to the general path, which scales them first.
        return prepared if all(np.isfinite(side).all() for side in sides) else None

    def _augmented(self, scale: Scale) -> tuple[Array, Array]:
        r"""Return rows whose inner products are squared distances.

        .. math:: (a, \|a\|^2, 1) \cdot (-2b, 1, \|b\|^2) = \|a - b\|^2
        """
        centre = self.x.mean(axis=0) if len(self.x) else 0.0
        sides = []
        for points in (self.x, self.y):
            a = (points - centre) / np.asarray(scale)
            norms = np.einsum("ij,ij->i", a, a)[:, None]
            sides.append((a, norms, np.ones_like(norms)))
        (a, p, one), (b, q, two) = sides
        left = np.hstack([a, p, one]).astype(self.dtype)
        right = np.hstack([-2.0 * b, two, q]).astype(self.dtype)
        return left, right

    def buffer(self, key: Any, shape: tuple[int, int]) -> Array:
        """Return this thread's memory for one statistic of a tile."""
        kept = self.local.__dict__.setdefault("buffers", {})
        size = shape[0] * shape[1]
        if key not in kept or kept[key].size < size:
            kept[key] = np.empty(size, self.dtype)
        return kept[key][:size].reshape(shape)  # type: ignore[no-any-return]


class PreparedTable(Table):
    """All pairs of a block, from prepared points."""

    def __init__(self, prepared: Prepared, block: Block, is_symmetric: bool) -> None:
        self.prepared, self.block = prepared, block
        self.x, self.y = prepared.x[block.rows], prepared.y[block.columns]
        self.same = is_symmetric and block.is_diagonal
        self.left_to_use = Counter(prepared.uses)
        self._known = {}

    @property
    def dtype(self) -> Any:
        return self.prepared.dtype

    def _product(self, key: Any, left: Array, right: Array) -> Array:
        if key not in self._known:
            # A buffer that its last user may have written to is not used again for this tile.
            given_away = self.left_to_use[key] <= 0
            out = np.empty(self.shape, self.dtype) if given_away else None
            out = self.prepared.buffer(key, self.shape) if out is None else out
            np.matmul(left[self.block.rows], right[self.block.columns].T, out=out)
            self._known[key] = out
        self.left_to_use[key] -= 1
        kept: Array = self._known[key]
        return kept

    def inner(self) -> Array:
        return self._product("inner", *self.prepared.inner)

    def squared_distance(self, scale: Scale = 1.0) -> Array:
        fresh = scale not in self._known
        s = self._product(scale, *self.prepared.sides[scale])
        if fresh:
            if self.prepared.needs_square_roots:
                np.maximum(s, 0.0, out=s)
            if self.same:
                np.fill_diagonal(s, 0.0)
            if self.prepared.has_kink:
                self._recompute_small(s, scale)
        if self.left_to_use[scale] > 0:
            return s.copy()
        del self._known[scale]  # the last one to ask may write into it
        return s

    def distance(self, norm: float, scale: Scale = 1.0) -> Array:
        s = self.squared_distance(scale)  # only the Euclidean norm is asked of prepared points
        return np.sqrt(s, out=s)

    def _recompute_small(self, s: Array, scale: Scale) -> None:
        """Replace squared distances that cancellation has spoilt by sums of squares."""
        left, right = (
            side[part] for side, part in zip(self.prepared.sides[scale], self.block, strict=True)
        )
        rounding = left.shape[1] * np.finfo(self.dtype).eps / 2
        doubt = rounding / (DISTANCE_ACCURACY if self.dtype == np.float64 else SINGLE_ACCURACY)
        i, j = np.nonzero(s < doubt * (left[:, -2][:, None] + right[:, -1][None, :]))
        for part in chunks(len(i), max(1, GAPS // left.shape[1])):
            gap = (self.x[i[part]] - self.y[j[part]]) / np.asarray(scale)
            s[i[part], j[part]] = np.einsum("ij,ij->i", gap, gap)


def _is_fast(kernel: Kernel) -> bool:
    if isinstance(kernel, ENTRYWISE):
        return all(_is_fast(k) for k in kernel.children().values())
    if isinstance(kernel, Laplacian):
        return kernel.norm == 2.0
    return isinstance(kernel, (*OF_DISTANCES, *OF_INNER_PRODUCTS, Constant))


def _statistics(kernel: Kernel) -> list[Any]:
    """Return what an expression asks of a pair of points, once for each time it asks."""
    if isinstance(kernel, OF_INNER_PRODUCTS):
        return ["inner"]
    if isinstance(kernel, OF_DISTANCES):
        return [kernel.length]
    return [s for k in kernel.children().values() for s in _statistics(k)]


def _is_steep(kernel: Kernel) -> bool:
    """Whether the derivative in d² is infinite at 0, so that rounding of d² would show."""
    if isinstance(kernel, Matern):
        return kernel.nu <= 1.0
    return isinstance(kernel, Laplacian | NegativeDistance)


def _leaves(kernel: Kernel) -> list[Kernel]:
    children = kernel.children().values()
    return [leaf for k in children for leaf in _leaves(k)] if children else [kernel]
