"""A Gram matrix as an operator: products, diagonals and rows, but no n x n memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from mercer.check import (
    ASYMMETRY,
    Array,
    Checked,
    Points,
    as_numpy,
    chunks,
    finite,
    worst_asymmetry,
)
from mercer.display import Shown
from mercer.engines.cpu import Threads, engine_in_use, engine_on
from mercer.engines.engine import Engine
from mercer.engines.held import Held, to_host
from mercer.engines.limits import Limits
from mercer.engines.tiles import Block, Rounding, Tiles
from mercer.errors import InvalidInput, NotEnoughMemory
from mercer.kernels.base import Kernel, Kind
from mercer.kernels.point_pairs import BOTH_WAYS
from mercer.kernels.statements import gamma
from mercer.operators import CentredSource, multiply
from mercer.points import (
    as_points,
    lies_on_disk,
    over_parts,
    readings,
    take,
)
from mercer.progress import Progress
from mercer.settings import allowed_bytes

ROW_VALUES = 2**18
"""Values of some rows that are computed at a time: kernels hold a few copies of them."""

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
        tile: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.engine: Engine = engine_in_use() if engine is None else engine
        hold = getattr(self.engine, "hold", None)
        if hold is not None:  # collections of a cluster stay there
            x, y = hold(x), hold(y)
        self.x = as_points(x, "x", are_vectors=kernel.reads_vectors)
        self.y = None if y is None else as_points(y, "y", are_vectors=kernel.reads_vectors)
        self.kernel = kernel.resolve(self.x)
        self.stays = isinstance(self.x, Held)
        """Whether points came on a device, where results stay that are as long as these."""
        sides = [side for side in (self.x, self.y) if isinstance(side, Held)]
        if sides:
            self.engine = engine_on(sides, self.engine)
        self.tile = getattr(self.engine, "tile", Limits.tile) if tile is None else tile
        self.progress = progress
        self._tiles: dict[bool, Tiles] = {}
        self._rounding: dict[bool, Rounding] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Tiles hold the memory of threads, and points may be placed on a device.
        return {k: v for k, v in self.__dict__.items() if k != "placed"} | {"_tiles": {}}

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

    @cached_property
    def placed(self) -> Points:
        """The points where the engine computes with them: of a GPU, on the device."""
        return self._place(self.x)

    def _place(self, points: Points) -> Points:
        place = getattr(self.engine, "place", None)
        placed: Points = points if place is None else place(self.kernel, points)
        return placed

    def cut(self, *, single: bool = False) -> Tiles:
        """Return the matrix cut into tiles of double or single precision.

        Values that are costly, such as those of a Python function, are computed once, in double
        precision, and kept as far as memory allows.
        """
        single = single and self.has_single_tiles
        if single not in self._tiles:
            terms = getattr(self.engine, "terms", None) if single else None
            tiles = Tiles(
                self.kernel,
                self.placed,
                None if self.y is None else self._place(self.y),
                size=self.tile,
                single=single,
                terms=terms,
                sibling=self._tiles.get(not single),
            )
            if hasattr(self.engine, "sums"):
                tiles.sums = self.engine.sums(tiles.shape[1])
            if self.kernel.is_costly:
                tiles.keep(allowed_bytes(self.engine.memory) // KEPT_SHARE)
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
            images = to_host(images)
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
        return multiply(self, self.x, vectors)

    def diag(self) -> Array:
        """Return the diagonal of a symmetric matrix."""
        if not self.is_symmetric:
            raise InvalidInput("a Gram matrix between two data sets has no diagonal")
        return self._diagonal.copy()

    @cached_property
    def _diagonal(self) -> Array:
        if not lies_on_disk(self.x):
            return as_numpy(self.kernel.diag(in_doubles(self.x))).astype(np.float64)
        kernel = self.kernel

        def squares(part: Points, rows: slice) -> Array:
            return as_numpy(kernel.diag(in_doubles(part)))

        parts = [part for _, part in over_parts(self.x, squares)]
        return np.concatenate(parts).astype(np.float64)

    def rows(self, indices: Any) -> Array:
        """Return some rows of the matrix, by their numbers."""
        tiles = self.cut()  # whose points remember what was counted in them
        given, others = (tiles.x, tiles.y) if tiles.prepared is None else (self.x, self.y)
        given = to_host(given) if isinstance(given, Held) else given
        others = to_host(others) if isinstance(others, Held) else others
        x, y = in_doubles(take(given, indices)), given if others is None else others
        is_there = lies_on_disk(y)
        width = max(1, ROW_VALUES // max(1, len(x)))
        if not is_there and len(y) <= width:
            return as_numpy(self.kernel(x, in_doubles(y)))
        result = np.empty((len(x), len(y)), tiles.dtype)
        for columns in readings(y) if is_there else chunks(len(y), width):
            result[:, columns] = as_numpy(self.kernel(x, in_doubles(y[columns])))
        return result

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
        n, m = self.shape
        refuse_beyond(self.engine.memory, f"the matrix of {n} x {m} points", n * m * itemsize)

    def refuse_features(self, count: int) -> None:
        """Refuse to store features of the points that take more than the engine's budget."""
        n = self.shape[0]
        what = f"the matrix of {n} points and {count} features"
        refuse_beyond(self.engine.memory, what, 8 * n * count, "points or features")

    def refuse_no_kernel(self) -> None:
        """Look at a few points of a function without a proof, before much is made of it."""
        if self.is_symmetric and not self.kernel.proof:
            few = in_doubles(self.x[: min(BOTH_WAYS, self.shape[0])])
            self._refuse_asymmetric(as_numpy(self.kernel(few)), 0)

    def _refuse_asymmetric(self, values: Array, first: int) -> None:
        """Refuse a function that is not a kernel; those with a proof are symmetric by theorem."""
        asymmetry, (i, j) = worst_asymmetry(finite(values, self.kernel))
        if asymmetry > ASYMMETRY:
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

    @property
    def active(self) -> Gram:
        """The matrix of the points that have a weight, which all have."""
        return self

    @property
    def is_positive(self) -> bool:
        """Whether no eigenvalue is negative, by construction."""
        return self.kernel.kind is Kind.POSITIVE and bool(self.kernel.proof)

    @property
    def threshold(self) -> float:
        """n·u·‖K‖, below which an eigenvalue counts as zero."""
        unit = float(np.finfo(float).eps)
        return self.shape[0] * unit * float(np.abs(self.diag()).sum())

    def spread(self, weights: Array) -> float:
        """Return a bound for the norm of W^½KW^½: the trace, of a kernel that is positive."""
        return float(np.abs(self.positive(weights).diag()) @ weights)

    def positive(self, weights: Array) -> Gram:
        """Return a positive definite Gram matrix that is the same once it is centred.

        Of a conditional kernel features are seen from the first point that has a weight.
        """
        if self.kernel.kind is not Kind.CONDITIONAL:
            return self
        return self._of(self.kernel.centred(self.first_of(weights)), self.x)

    def first_of(self, weights: Array) -> Points:
        """Return the first point that has a weight, as one from which features are seen."""
        first = int(np.argmax(weights > 0))
        seen: Points = self.x[first : first + 1]
        return to_host(seen) if isinstance(seen, Held) else seen

    def restricted(self, chosen: Array) -> Gram | None:
        """Return the matrix of some points, None of points on disk."""
        if lies_on_disk(self.x):
            return None
        return self._of(self.kernel, take(self.x, chosen))

    def _of(self, kernel: Kernel, x: Points) -> Gram:
        """Return the matrix of another kernel or other points, on the same engine."""
        return Gram(kernel, x, engine=self.engine, tile=self.tile, progress=self.progress)

    def partial_product(self, rows: Array, columns: Array, vectors: Array) -> Array:
        """Return the product with a part of the matrix, by the numbers of its rows and columns."""
        x = take(self.x, rows)
        is_whole = np.array_equal(columns, np.arange(len(self.x)))
        y = self.x if is_whole else take(self.x, columns)  # which other machines may have already
        return Gram(self.kernel, x, y, engine=self.engine, tile=self.tile).product(vectors)

    offers: Literal["landmarks", "products"] = "landmarks"
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
            self._rounding[single] = self.engine.rounding(tiles, largest)
        return self._rounding[single]

    def usual_rounding(self, *, is_centred: bool) -> float:
        """Return what single precision usually adds to products with unit vectors, in units of n.

        Of vectors that sum to 0, where the matrix is to be centred.
        """
        single, double = self.cut(single=True), self.cut()
        value = self.entry_rounding(single=True).value
        return self.engine.usual_rounding(single, double, value, is_centred=is_centred)

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


class Centred(CentredSource[Gram]):
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
        "base": "the matrix that is centred",
        "shape": "of the matrix, of which only tiles exist",
        "weights": "of the points, which sum to 1",
    }

    offers: Literal["landmarks", "products"] = "landmarks"

    def __init__(self, gram: Gram, weights: Sequence[float] | Array | None = None) -> None:
        super().__init__(gram, weights)
        self.gram = gram

    @property
    def is_positive(self) -> bool:
        """Whether no eigenvalue is negative, by construction: of conditional kernels too.

        >>> from mercer.kernels import NegativeDistance
        >>> gram = Gram(NegativeDistance(), np.array([[0.0], [1.0], [5.0]]))
        >>> gram.is_positive, gram.centred().is_positive
        (False, True)
        """
        return self.base.positive(self.weights).is_positive


def refuse_beyond(budget: int | None, what: str, size: int, fewer: str = "points") -> None:
    """Refuse what takes more bytes than a budget, which None leaves open."""
    if budget is not None and size > budget:
        raise NotEnoughMemory(
            f"{what} takes {size / 1e6:.4g} MB, and memory={budget} allows {budget / 1e6:.4g} MB: "
            f"give more, or fewer {fewer}"
        )


def in_doubles(points: Points) -> Points:
    """Return points in double precision, in which their kernel's values are computed too."""
    if isinstance(points, Held):
        tensor: Points = points.astype(np.float64, copy=False).tensor
        return tensor
    if isinstance(points, Checked):
        return points.doubles
    is_single = isinstance(points, np.ndarray) and points.dtype.kind == "f"
    return np.asarray(points, np.float64) if is_single else points


def columns(points: Points) -> int:
    """Return how many coordinates the rows of an array have, 0 for points that are not rows."""
    shape: tuple[int, ...] = tuple(getattr(points, "shape", ()))
    return int(shape[1]) if len(shape) == 2 else 0


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
