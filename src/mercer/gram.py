"""A Gram matrix as an operator: products, diagonals and rows, but no n x n memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer.barycentre import centre
from mercer.check import (
    Array,
    Checked,
    Points,
    as_numpy,
    chunks,
    finite,
    in_dtype_of,
    is_single,
    shares_of,
    weights_of,
    worst_asymmetry,
)
from mercer.display import Shown
from mercer.engines.cpu import engine_in_use
from mercer.engines.engine import BLOCK, Engine, Rounding, gamma, machine_bytes, rounding
from mercer.engines.tiles import TILE, Block, Tiles
from mercer.errors import InvalidInput, NotEnoughMemory
from mercer.kernels.base import Kernel, Kind
from mercer.kernels.calls import BOTH_WAYS
from mercer.kernels.functions import MOST_ASYMMETRY
from mercer.points import (
    as_points,
    lies_on_disk,
    readings,
    take,
)
from mercer.progress import Progress

KEPT_SHARE = 4
"""One part in so many of the memory that may be used keeps values that are costly to compute."""


class Gram(Shown):
    r"""The matrix of k(x, y), of which only tiles ever exist.

    .. math:: K_{ij} = k(x_i, y_j)

    ``gram @ V`` is the product with a vector or a block of vectors. Without ``y`` the matrix is
    Hermitian: each tile above the diagonal is computed once and used twice. Only `dense` needs
    the memory of the whole matrix.

    >>> from mercer import Gaussian
    >>> x = np.array([[0.0], [1.0], [3.0]])
    >>> gram = Gram(Gaussian(bandwidth=1.0), x)
    >>> np.allclose(gram @ np.ones(3), gram.dense().sum(axis=1))
    True
    """

    facts: ClassVar[Mapping[str, str]] = {
        "kernel": "of the points",
        "shape": "of the matrix, of which only tiles exist",
        "is_symmetric": "whether both sides are the same points",
    }

    def __init__(
        self,
        kernel: Kernel,
        x: Points,
        y: Points | None = None,
        *,
        engine: Engine | None = None,
        tile: int = TILE,
        progress: Progress | None = None,
    ) -> None:
        self.x = as_points(x, "x", are_vectors=kernel.reads_vectors)
        self.y = None if y is None else as_points(y, "y", are_vectors=kernel.reads_vectors)
        self.kernel = kernel.resolve(self.x)
        self.engine: Engine = engine_in_use() if engine is None else engine
        self.tile, self.progress = tile, progress
        self._tiles: dict[bool, Tiles] = {}
        self._rounding: dict[bool, Rounding] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tiles": {}}  # which hold the memory of threads

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.x), len(self.x if self.y is None else self.y)

    @property
    def is_symmetric(self) -> bool:
        return self.y is None

    @property
    def has_single_tiles(self) -> bool:
        """Whether single precision saves anything."""
        return not self.kernel.is_costly

    def cut(self, *, single: bool = False) -> Tiles:
        """Return the matrix cut into tiles of double or single precision.

        Values that are costly, such as those of a Python function, are computed once, in double
        precision, and kept as far as memory allows.
        """
        single = single and self.has_single_tiles
        if single not in self._tiles:
            tiles = Tiles(self.kernel, self.x, self.y, size=self.tile, single=single)
            if self.kernel.is_costly:
                tiles.keep((self.engine.memory or machine_bytes()) // KEPT_SHARE)
            self._tiles[single] = tiles
        return self._tiles[single]

    def tiles(self) -> Iterator[tuple[Block, Array]]:
        """Yield the blocks and their values; of a symmetric matrix, the upper triangle."""
        return self.engine.each(self.cut())

    def product(self, vectors: Array, *, single: bool = False) -> Array:
        """Return K V for a block of vectors; ``single`` allows tiles in single precision."""
        self._check(vectors)
        return self._finite(self.engine.product(self.cut(single=single), vectors, self.progress))

    def product_and_squares(self, vectors: Array, weights: Array) -> tuple[Array, float]:
        """Return K V and Σ wᵢwⱼ|Kᵢⱼ|² in one pass, in double precision."""
        self._check(vectors)
        images, squares = self.engine.product_and_squares(
            self.cut(), vectors, weights, self.progress
        )
        return self._finite(images), squares

    def _finite(self, images: Array) -> Array:
        """Refuse what overflowed: a kernel on its first rows names it, if it is the kernel's."""
        if not np.all(np.isfinite(images)):
            row = int(np.flatnonzero(~np.isfinite(images).all(axis=1))[0])
            self.rows(row)
            raise InvalidInput(f"the product with the kernel {self.kernel} overflows at row {row}")
        return images

    def _check(self, vectors: Array) -> None:
        if vectors.ndim != 2 or vectors.shape[0] != self.shape[1]:
            raise InvalidInput(
                f"the matrix is {self.shape[0]} x {self.shape[1]} and cannot multiply an array of "
                f"shape {vectors.shape}"
            )

    def __matmul__(self, vectors: Any) -> Array:
        return multiplied(self, self, vectors)

    def diag(self) -> Array:
        """Return the diagonal of a symmetric matrix."""
        if not self.is_symmetric:
            raise InvalidInput("a Gram matrix between two data sets has no diagonal")
        return self._diagonal.copy()

    @cached_property
    def _diagonal(self) -> Array:
        if not lies_on_disk(self.x):
            return as_numpy(self.kernel.diag(_in_doubles(self.x))).astype(np.float64)
        parts = (_in_doubles(self.x[rows]) for rows in readings(self.x))
        return np.concatenate([as_numpy(self.kernel.diag(x)) for x in parts]).astype(np.float64)

    def rows(self, indices: Any) -> Array:
        """Return some rows of the matrix, by their numbers."""
        tiles = self.cut()  # whose points remember what was counted in them
        x, y = _in_doubles(take(tiles.x, indices)), tiles.y
        if not lies_on_disk(y):
            return as_numpy(self.kernel(x, _in_doubles(y)))
        parts = (_in_doubles(y[rows]) for rows in readings(y))
        return np.hstack([as_numpy(self.kernel(x, part)) for part in parts])

    def dense(self) -> Array:
        """Return the whole matrix, for which it takes n x m numbers of memory."""
        tiles = self.cut()
        self.refuse_beyond_memory(tiles.dtype.itemsize)
        result = np.empty(self.shape, tiles.dtype)
        is_doubtful = self.is_symmetric and not self.kernel.proof
        for block, values in self.engine.each(tiles):
            result[block.rows, block.columns] = values
            if is_doubtful and block.is_diagonal:
                self._refuse_asymmetric(values, block.rows.start)
            if self.is_symmetric and not block.is_diagonal:
                result[block.columns, block.rows] = values.conj().T
        return finite(result, self.kernel)

    def refuse_beyond_memory(self, itemsize: int = 8) -> None:
        """Refuse to store a matrix that is larger than the engine's budget."""
        (n, m), budget = self.shape, self.engine.memory
        if budget is not None and n * m * itemsize > budget:
            raise NotEnoughMemory(
                f"the matrix of {n} x {m} points takes {n * m * itemsize / 1e6:.4g} MB, and "
                f"memory={budget} allows {budget / 1e6:.4g} MB: give more, or fewer points"
            )

    def refuse_no_kernel(self) -> None:
        """Look at a few points of a function without a proof, before much is made of it."""
        if self.is_symmetric and not self.kernel.proof:
            few = self.x[: min(BOTH_WAYS, self.shape[0])]
            self._refuse_asymmetric(as_numpy(self.kernel(few)), 0)

    def _refuse_asymmetric(self, values: Array, first: int) -> None:
        """Refuse a function that is not a kernel; those with a proof are symmetric by theorem."""
        asymmetry, (i, j) = worst_asymmetry(finite(values, self.kernel))
        if asymmetry > MOST_ASYMMETRY:
            raise InvalidInput(
                f"{self.kernel} is not symmetric, or not the same at every call: for points "
                f"{first + i} and {first + j} it is {values[i, j]:.6g}, the other way round "
                f"{values[j, i]:.6g}. A kernel has k(x, y) = conj k(y, x)"
            )

    @property
    def base(self) -> Gram:
        """The Gram matrix an operator is made of: of this one, itself."""
        return self

    @property
    def roots(self) -> Array:
        """The square roots of the points' weights, which are 1."""
        return np.ones((self.shape[0], 1))

    @property
    def trace(self) -> float:
        return float(self.diag().sum())

    square_sum_is_known = False
    means_are_single = False
    square_sum_error = 0.0

    @property
    def square_sum(self) -> float:
        """The squared Frobenius norm, by a pass over the tiles."""
        ones = np.ones(self.shape[0])
        return self.product_and_squares(ones[:, None], ones)[1]

    def project(self, factor: Array) -> Array:
        """Turn the factor of an approximation of the Gram matrix into one of this operator's."""
        return factor

    def dense_rounding(self) -> float:
        """Return a bound for the norm of what rounding has done to the matrix from `dense`."""
        return self.shape[0] * self.entry_rounding().entry

    def rounding(self, *, single: bool = False) -> float:
        """Return a bound for the norm of what rounding adds to a product with a unit vector."""
        return self.shape[0] * self.entry_rounding(single=single).product

    def entry_rounding(self, *, single: bool = False) -> Rounding:
        """Return bounds for the rounding of entries and products, and whether they are proved.

        They are proved for expressions of inner products and distances, and an estimate for other
        kernels, whose values are taken to be right to a few units of the last place.
        """
        if single not in self._rounding:
            tiles = self.cut(single=single)
            largest = 0.0 if tiles.prepared is not None else self._largest()
            self._rounding[single] = rounding(tiles, largest)
        return self._rounding[single]

    def _largest(self) -> float:
        """Return a bound for the values of a kernel, or what is known of those of another."""
        if self.kernel.has_exact_values:
            return max((float(np.max(np.abs(values))) for _, values in self.tiles()), default=0.0)
        largest = float(np.max(np.abs(self.diag()), initial=0.0))
        if self.kernel.kind is Kind.POSITIVE or self.shape[0] == 0:
            return largest
        return max(largest, 2.0 * float(np.max(np.abs(self.rows(0)))))

    def square_sum_rounding(self, raw: float) -> float:
        """Return a bound for the error of Σ wᵢwⱼ|Kᵢⱼ|² for weights that sum to 1."""
        entry, unit = self.entry_rounding().entry, float(np.finfo(float).eps) / 2
        terms = self.tile**2 + (self.shape[0] // self.tile + 1) ** 2
        return gamma(terms, unit) * raw + 2.0 * entry * float(np.sqrt(raw)) + entry**2

    def against(self, new: Points) -> Gram:
        """Return the matrix between new points and the points of this one."""
        return Gram(self.kernel, new, self.x, engine=self.engine, tile=self.tile)

    def centred(self, weights: Sequence[float] | Array | None = None) -> Centred:
        """Return the Gram matrix of the features minus their weighted mean."""
        return Centred(self, weights)


class Centred(Shown):
    r"""The centred and weighted Gram matrix whose eigenvalues are inertias.

    .. math:: W^{1/2} H K H^\top W^{1/2}, \quad H = I - 1 w^\top,\; W = \mathrm{diag}(w),\;
        \textstyle\sum_i w_i = 1

    Without weights :math:`w_i = 1/n` and it is :math:`HKH/n`. The mean rows K w are found in the
    same pass as the first product.

    >>> from mercer import Linear
    >>> x = np.array([[0.0], [1.0], [5.0]])
    >>> operator = Gram(Linear(), x).centred()
    >>> bool(np.isclose(operator.trace, np.var(x)))
    True
    """

    facts: ClassVar[Mapping[str, str]] = {
        "gram": "the matrix that is centred",
        "shape": "of the matrix, of which only tiles exist",
        "weights": "of the points, which sum to 1",
    }

    def __init__(self, gram: Gram, weights: Sequence[float] | Array | None = None) -> None:
        if not gram.is_symmetric:
            raise InvalidInput("only a symmetric Gram matrix can be centred; see Centred.against")
        self.gram = gram
        n = gram.shape[0]
        self.weights = np.full(n, 1.0 / max(n, 1)) if weights is None else shares(weights, n)
        self._mean_rows: Array | None = None
        self.means_are_single = False
        self._square_sum: float | None = None

    @property
    def base(self) -> Gram:
        """The Gram matrix that is centred."""
        return self.gram

    @property
    def shape(self) -> tuple[int, int]:
        return self.gram.shape

    @cached_property
    def active(self) -> Centred:
        """The operator of the points that have a weight, on which alone its axes depend.

        However far away a point without weight is, no bound, unit or landmark knows of it. Of
        points on disk it is the operator itself.
        """
        chosen, base = np.flatnonzero(self.weights), self.gram
        if len(chosen) == len(self.weights) or lies_on_disk(base.x):
            return self
        x = take(base.x, chosen)
        gram = Gram(base.kernel, x, engine=base.engine, tile=base.tile, progress=base.progress)
        return Centred(gram, self.weights[chosen])

    def project(self, factor: Array) -> Array:
        """Turn the factor of an approximation of the Gram matrix into one of this operator's."""
        centre(factor, self.weights)
        return factor

    def rounding(self, *, single: bool = False) -> float:
        """Return a bound for the norm of what rounding adds to a product with a unit vector.

        The operator is W^½KW^½ between two orthogonal projections, and weights sum to 1.
        """
        return self.gram.entry_rounding(single=single).product

    def dense_rounding(self) -> float:
        r"""Return a bound for the norm of what rounding has done to the matrix from `dense`.

        Errors of the entries of K are between two orthogonal projections and weights that sum to
        1, so that their norm is at most the largest. A mean of a row is off by :math:`\gamma_m|K|`
        for sums of m terms, the grand mean by twice that; three differences, two products and the
        weights' own roundings add 24 units at most.
        """
        known = self.gram.entry_rounding()
        terms = 4 * (2 * _span(self.shape[0]) + 4) + 24
        return known.entry + gamma(terms, float(np.finfo(float).eps) / 2) * known.value

    @cached_property
    def roots(self) -> Array:
        """The square roots of the weights, as a column."""
        return np.sqrt(self.weights)[:, None]

    def product(self, vectors: Array, *, single: bool = False) -> Array:
        """Return the operator times a block of vectors."""
        single = single and self.gram.has_single_tiles
        u = self.roots * vectors
        u -= self.weights[:, None] * column_sums(u)
        if self._mean_rows is None or (self.means_are_single and not single):
            z = self._with_means(u, single)
        else:
            z = self.gram.product(u, single=single)
        z -= column_sums(self.weights[:, None] * z)
        z *= self.roots
        return z

    def _with_means(self, u: Array, single: bool) -> Array:
        """Return K u, and find the means of the rows of K in the same pass."""
        both = np.column_stack([u, self.weights])
        if single:
            images = self.gram.product(both, single=True)
        else:
            images, self._square_sum = self.gram.product_and_squares(both, self.weights)
        self._mean_rows, self.means_are_single = np.ascontiguousarray(images[:, -1]), single
        return images[:, :-1]

    def __matmul__(self, vectors: Any) -> Array:
        return multiplied(self, self.gram, vectors)

    @property
    def mean_rows(self) -> Array:
        """K w: the mean of each row, in the precision of the passes made so far."""
        if self._mean_rows is None:
            self._mean_rows = self._means_of_active()
        return self._mean_rows

    def _means_of_active(self) -> Array:
        """Return the mean of each row, with those that the operator of active points has found."""
        if self.active is self:
            return self.gram @ self.weights
        active, others = np.flatnonzero(self.weights), np.flatnonzero(self.weights == 0)
        known, part = self.active.mean_rows, self.active.gram
        beyond = part.against(take(self.gram.x, others)) @ self.active.weights
        means = np.empty(self.shape[0], np.result_type(known, beyond))
        means[active], means[others] = known, beyond
        self.means_are_single = self.active.means_are_single
        return means

    @property
    def square_sum_is_known(self) -> bool:
        """Whether a pass in double precision has found the Frobenius norm already."""
        return self._square_sum is not None

    @property
    def square_sum_error(self) -> float:
        """A bound for the error of `square_sum`: it is a difference of sums over K uncentred."""
        return 4.0 * self.gram.square_sum_rounding(self._square_sum or 0.0)

    @property
    def square_sum(self) -> float:
        r"""The squared Frobenius norm of the operator.

        .. math:: \|W^{1/2} H K H^\top W^{1/2}\|_F^2 =
            \sum_{ij} w_i w_j |K_{ij}|^2 - 2 \sum_i w_i |(Kw)_i|^2 + (w^\top K w)^2
        """
        if self._square_sum is None:
            block, self._square_sum = self.gram.product_and_squares(
                self.weights[:, None], self.weights
            )
            self._mean_rows, self.means_are_single = block[:, 0], False
        means = float(self.weights @ np.abs(self.mean_rows) ** 2)
        return max(self._square_sum - 2.0 * means + self.grand_mean**2, 0.0)

    @property
    def grand_mean(self) -> float:
        """The squared norm of the barycentre, wᵀKw."""
        return float(np.real(self.weights @ self.mean_rows))

    def squared_norms(self) -> Array:
        """Return each point's squared distance to the barycentre, never negative by rounding."""
        diagonal = self.gram.diag()
        raw = diagonal - 2.0 * np.real(self.mean_rows) + self.grand_mean
        unit = np.finfo(np.float32 if self.means_are_single else float).eps
        # A point without weight, however far away, is in no mean but its own.
        sizes = np.abs(diagonal)
        noise = 8 * unit * np.maximum(sizes, np.max(sizes[self.weights > 0], initial=0.0))
        return np.where(np.abs(raw) <= noise, 0.0, raw)

    def diag(self) -> Array:
        """Return the diagonal of the operator: each point's inertia."""
        return self.weights * self.squared_norms()

    @property
    def trace(self) -> float:
        """The total inertia, exact without any eigenvalue."""
        return float(self.diag().sum())

    def dense(self) -> Array:
        """Return the whole matrix."""
        K = self.gram.dense()
        self._mean_rows, self.means_are_single = _row_means(K, self.weights), False
        K -= self._mean_rows[:, None]
        K -= self._mean_rows.conj()[None, :]
        K += self.grand_mean
        K *= self.roots
        K *= self.roots.T
        return K

    def cross(self, values: Array) -> Array:
        r"""Centre the kernel between new points and the training points, with training means.

        .. math:: \tilde\kappa = \kappa - Kw - (w^\top \kappa)\,1 + (w^\top K w)\,1
        """
        means: Array = values @ self.weights
        return values - self.mean_rows.conj()[None, :] - means[:, None] + self.grand_mean


def _in_doubles(points: Points) -> Points:
    """Return points in double precision, in which their kernel's values are computed too."""
    if isinstance(points, Checked):
        return points.doubles
    is_single = isinstance(points, np.ndarray) and points.dtype.kind == "f"
    return np.asarray(points, np.float64) if is_single else points


def _span(n: int) -> int:
    """Return how many terms are added at a time where n are, so that none is added often."""
    return int(np.ceil(np.sqrt(max(n, 1))))


def _row_means(K: Array, weights: Array) -> Array:
    """Return K w by sums of sums of √n terms, which bounds their rounding in any order."""
    starts = np.arange(0, len(weights), _span(len(weights)))
    means = np.empty(len(K), K.dtype)
    for rows in chunks(len(K), TILE):
        means[rows] = np.add.reduceat(K[rows] * weights, starts, axis=1).sum(axis=1)
    return means


def multiplied(operator: Gram | Centred, gram: Gram, vectors: Any) -> Array:
    """Return an operator times a vector or a block, single where they and the points are."""
    block = np.asarray(vectors)
    images = operator.product(block[:, None])[:, 0] if block.ndim == 1 else operator.product(block)
    return in_dtype_of(gram.x, images) if is_single(block, gram.x) else images


def column_sums(block: Array) -> Array:
    """Return the sums of columns, formed of sums of a few rows so that rounding does not pile up.

    >>> column_sums(np.ones((1000, 2)))
    array([1000., 1000.])
    """
    parts: Array = np.add.reduceat(block, np.arange(0, max(len(block), 1), BLOCK), axis=0)
    return np.asarray(parts.sum(axis=0)) if len(block) else np.zeros(block.shape[1])


def columns(points: Points) -> int:
    """Return how many coordinates the rows of an array have, 0 for points that are not rows."""
    shape: tuple[int, ...] = tuple(getattr(points, "shape", ()))
    return int(shape[1]) if len(shape) == 2 else 0


def shares(weights: Any, n: int) -> Array:
    """Return nonnegative weights of n individuals, divided by their sum."""
    return shares_of(weights_of(weights, n, "weights"))
