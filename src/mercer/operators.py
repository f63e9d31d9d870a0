"""What a matrix must answer for its leading axes to be found, wherever its numbers are.

Three sources exist: tiles of a kernel (`mercer.gram.Gram`), stored distances
(`mercer.mds.distances.Distances`) and centred tables (`mercer.pca.centred_tables.CentredTable`).
They are asked for products of blocks of vectors; where these are computed is known to the source
and its engine alone. Each says what it ``offers`` besides, by which `mercer.spectrum.leading`
chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np

from mercer.check import (
    EPSILON,
    Array,
    Points,
    chunks,
    in_dtype_of,
    is_single,
    shares_of,
    weights_of,
)
from mercer.display import Shown
from mercer.engines.engine import Engine
from mercer.engines.held import Held, move_beside, to_host
from mercer.engines.limits import Limits
from mercer.engines.tiles import Rounding
from mercer.errors import InvalidInput
from mercer.kernels.statements import gamma

ENTRY_ROUNDING = 4.0 * EPSILON
"""Error of a centred entry, as a share of the largest of its column: it and its mean round."""

CENTRED_ROWS = 512
"""Rows of a factor that are centred at a time, while they are in the cache."""


@dataclass(frozen=True, repr=False)
class Barycentre(Shown):
    r"""The weighted mean :math:`\bar\varphi` of features, and its inner products with each."""

    facts: ClassVar[Mapping[str, str]] = {
        "mean": "of the features",
        "products": "of the features with it",
    }

    mean: Array
    products: Array


def centre(factor: Array, weights: Array) -> Barycentre:
    """Turn F, in its own memory, into W^½(F - 1wᵀF), and return what was subtracted.

    >>> F = np.array([[0.0], [2.0]])
    >>> centre(F, np.array([0.25, 0.75]))
    Barycentre
      mean      1.5   of the features
      products  0, 3  of the features with it
    >>> F.tolist()
    [[-0.75], [0.4330127018922193]]
    """
    kind = factor.real.dtype
    mean, roots = weights.astype(kind) @ factor, np.sqrt(weights)[:, None].astype(kind)
    products = np.empty(len(factor))
    for rows in chunks(len(factor), CENTRED_ROWS):
        part = factor[rows]
        products[rows] = np.real(part @ mean.conj())
        part -= mean
        part *= roots[rows]
    return Barycentre(mean.conj(), products)


class Operator(Protocol):
    r"""A Hermitian matrix A that is known by what it does, and how far that is from the truth.

    * `product`: A V for a block of vectors, and `rounding`, a bound for the norm of the error of
      one of its columns where that vector has length 1;
    * `diag`, `trace` and `square_sum`: :math:`A_{ii}`, :math:`\sum_i A_{ii}` and
      :math:`\sum_{ij} |A_{ij}|^2`, the last up to ``square_sum_error``, and only where a pass that
      was made anyway has found it (``square_sum_is_known``);
    * `dense`: the matrix itself, up to `dense_rounding` in norm;
    * `threshold`: the size of an eigenvalue that rounding can make of 0;
    * ``roots``: the square roots of the weights of rows, a column, by which a vector is divided to
      be a score; ``is_positive``: whether no eigenvalue is negative, by construction;
    * ``active``: the operator of the rows that have a weight, itself where all have one;
    * ``base``: what it is made of, with the ``engine`` that computes it;
    * ``offers``: whether rows are points of a kernel, some of which (``"landmarks"``) may stand for
      all, or ``"products"`` are all that there is.
    """

    @property
    def offers(self) -> Literal["landmarks", "products"]: ...
    @property
    def base(self) -> Any: ...
    @property
    def active(self) -> Any: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def roots(self) -> Array: ...
    @property
    def trace(self) -> float: ...
    @property
    def threshold(self) -> float: ...
    @property
    def is_positive(self) -> bool: ...
    @property
    def square_sum_is_known(self) -> bool: ...
    @property
    def square_sum(self) -> float: ...
    @property
    def square_sum_error(self) -> float: ...

    def product(self, vectors: Array, *, single: bool = False) -> Array: ...
    def diag(self) -> Array: ...
    def dense(self) -> Array: ...
    def rounding(self, *, single: bool = False) -> float: ...
    def dense_rounding(self) -> float: ...


class TwoSided(Protocol):
    r"""The matrix :math:`B^\top B` of a table B, whose axes its smaller side finds.

    * ``shape``: the rows and columns of B; `whole`: B itself, None where it is never written out;
    * `image` and `adjoint_image`: :math:`BV` and :math:`B^\top U` for blocks of vectors;
    * `covariance` and `gram`: :math:`B^\top B` and :math:`BB^\top`;
    * ``trace``, and ``size``, that of what is computed with, of which rounding is a share;
    * `threshold_beside`: the size of an eigenvalue that rounding can make of 0.
    """

    @property
    def offers(self) -> Literal["sides"]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def trace(self) -> float: ...
    @property
    def size(self) -> float: ...

    def whole(self) -> Array | None: ...
    def image(self, vectors: Array) -> Array: ...
    def adjoint_image(self, vectors: Array) -> Array: ...
    def covariance(self) -> Array: ...
    def gram(self) -> Array: ...
    def threshold_beside(self, largest: float) -> float: ...


class MatrixSource(Protocol):
    """A Hermitian matrix K between points x, of which at most a part exists at a time.

    Points are row numbers where there are no others. ``has_single_tiles`` says whether single
    precision saves anything; `entry_rounding` bounds the errors of entries and of products, and the
    entries themselves.
    """

    @property
    def x(self) -> Points: ...
    @property
    def engine(self) -> Engine: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def is_symmetric(self) -> bool: ...
    @property
    def has_single_tiles(self) -> bool: ...
    @property
    def is_positive(self) -> bool: ...

    def product(self, vectors: Array, *, single: bool = False) -> Array:
        """Return K V; ``single`` allows single precision."""

    def product_and_squares(self, vectors: Array, weights: Array) -> tuple[Array, float]:
        """Return K V and Σ wᵢwⱼ|Kᵢⱼ|² in one pass, in double precision."""

    def partial_product(self, rows: Array, columns: Array, vectors: Array) -> Array:
        """Return the product with a part of the matrix, by the numbers of its rows and columns."""

    def restricted(self, chosen: Array) -> Self | None:
        """Return the matrix of some points, None where they cannot be taken out."""

    def diag(self) -> Array:
        """Return the diagonal."""

    def dense(self) -> Array:
        """Return the whole matrix."""

    def entry_rounding(self, *, single: bool = False) -> Rounding:
        """Return bounds for the rounding of entries and products."""

    def square_sum_rounding(self, raw: float) -> float:
        """Return a bound for the error of Σ wᵢwⱼ|Kᵢⱼ|² for weights that sum to 1."""

    def spread(self, weights: Array) -> float:
        """Return a bound for the norm of W^½KW^½, for weights that sum to 1."""


S = TypeVar("S", bound=MatrixSource)


class CentredSource(Shown, Generic[S]):
    r"""The centred and weighted matrix of a source, whose eigenvalues are inertias.

    .. math:: W^{1/2} H K H^\top W^{1/2}, \quad H = I - 1 w^\top,\; W = \mathrm{diag}(w),\;
        \textstyle\sum_i w_i = 1

    Without weights :math:`w_i = 1/n` and it is :math:`HKH/n`. The mean rows K w are found in the
    same pass as the first product: the first in double precision where ``means_can_wait`` for it.
    """

    offers: Literal["landmarks", "products"] = "products"

    def __init__(self, base: S, weights: Sequence[float] | Array | None = None) -> None:
        if not base.is_symmetric:
            raise InvalidInput("only a symmetric Gram matrix can be centred; see Centred.cross")
        self._base = base
        n = base.shape[0]
        self.weights = np.full(n, 1.0 / max(n, 1)) if weights is None else shares(weights, n)
        self._mean_rows: Array | None = None
        self._norms: tuple[Any, Any, Array] | None = None
        self._held: tuple[Held, Held] | None = None
        self.means_are_single = self.means_can_wait = False
        self._square_sum: float | None = None

    @property
    def base(self) -> S:
        """The matrix that is centred."""
        return self._base

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape

    @cached_property
    def active(self) -> Self:
        """The operator of the points that have a weight, on which alone its axes depend.

        However far away a point without weight is, no bound, unit or landmark knows of it. Of
        points on disk it is the operator itself.
        """
        chosen = np.flatnonzero(self.weights)
        part = None if len(chosen) == len(self.weights) else self.base.restricted(chosen)
        return self if part is None else type(self)(part, self.weights[chosen])

    @property
    def is_positive(self) -> bool:
        """Whether no eigenvalue is negative, by construction."""
        return self.base.is_positive

    @property
    def threshold(self) -> float:
        """n·u·‖W^½KW^½‖, before centring, below which an eigenvalue counts as zero."""
        return self.shape[0] * float(np.finfo(float).eps) * self.base.spread(self.weights)

    def project(self, factor: Array) -> Array:
        """Turn the factor of an approximation of the Gram matrix into one of this operator's."""
        if isinstance(factor, Held):
            factor -= self.weights.astype(factor.dtype) @ factor
            factor *= self.roots.astype(factor.dtype)
            return factor
        centre(factor, self.weights)
        return factor

    def rounding(self, *, single: bool = False) -> float:
        r"""Return a bound for the norm of what rounding adds to a product with a unit vector.

        The operator is W^½KW^½ between two orthogonal projections, and weights sum to 1. Errors
        that are a share of values which are never negative have a norm of at most that share of
        :math:`\|W^{1/2}KW^{1/2}\| \le \max_i (Kw)_i` (Collatz and Wielandt), which is known after
        a pass in double precision.
        """
        known = self.base.entry_rounding(single=single)
        if self._mean_rows is None or self.means_are_single or known.relative == np.inf:
            return known.product
        means = self._mean_rows[self.weights > 0]
        norm = float(np.max(np.real(means), initial=0.0)) + self.base.entry_rounding().product
        return min(known.product, known.relative * norm + known.beside)

    def dense_rounding(self) -> float:
        r"""Return a bound for the norm of what rounding has done to the matrix from `dense`.

        Errors of the entries of K are between two orthogonal projections and weights that sum to
        1, so that their norm is at most the largest. A mean of a row is off by :math:`\gamma_m|K|`
        for sums of m terms, the grand mean by twice that; three differences, two products and the
        weights' own roundings add 24 units at most.
        """
        known = self.base.entry_rounding()
        terms = 4 * (2 * _span(self.shape[0]) + 4) + 24
        return known.entry + gamma(terms, float(np.finfo(float).eps) / 2) * known.value

    @cached_property
    def roots(self) -> Array:
        """The square roots of the weights, as a column."""
        return np.sqrt(self.weights)[:, None]

    def product(self, vectors: Array, *, single: bool = False) -> Array:
        """Return the operator times a block of vectors."""
        single = single and self.base.has_single_tiles
        roots, weights = self.weights_beside(vectors)
        u = roots * vectors
        u -= weights * column_sums(u)
        is_due = self._mean_rows is None and not (single and self.means_can_wait)
        if is_due or (self.means_are_single and not single):
            z = self._with_means(u, single)
        else:
            z = self.base.product(u, single=single)
        z -= column_sums(weights * z)
        z *= roots
        return z

    def weights_beside(self, vectors: Array) -> tuple[Any, Any]:
        """Return the square roots of the weights and these, as columns where vectors lie."""
        if not isinstance(vectors, Held):
            return self.roots, self.weights[:, None]
        if self._held is None:
            self._held = (
                move_beside(self.roots, vectors),
                move_beside(self.weights[:, None], vectors),
            )
        return self._held

    def _with_means(self, u: Array, single: bool) -> Array:
        """Return K u, and find the means of the rows of K in the same pass."""
        both = np.hstack([u, self.weights_beside(u)[1]])
        if single:
            images = self.base.product(both, single=True)
        else:
            images, self._square_sum = self.base.product_and_squares(both, self.weights)
        self._mean_rows = np.ascontiguousarray(to_host(images[:, -1]))
        self.means_are_single = single
        return images[:, :-1]

    def __matmul__(self, vectors: Any) -> Array:
        return multiply(self, self.base.x, vectors)

    @property
    def mean_rows(self) -> Array:
        """K w: the mean of each row, in the precision of the passes made so far."""
        if self._mean_rows is None:
            self._mean_rows = self._means_of_active()
        return self._mean_rows

    def _means_of_active(self) -> Array:
        """Return the mean of each row, with those that the operator of active points has found."""
        if self.active is self:
            return self.base.product(self.weights[:, None])[:, 0]
        active, others = np.flatnonzero(self.weights), np.flatnonzero(self.weights == 0)
        known = self.active.mean_rows
        beyond = self.base.partial_product(others, active, self.active.weights[:, None])[:, 0]
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
        return 4.0 * self.base.square_sum_rounding(self._square_sum or 0.0)

    @property
    def square_sum(self) -> float:
        r"""The squared Frobenius norm of the operator.

        .. math:: \|W^{1/2} H K H^\top W^{1/2}\|_F^2 =
            \sum_{ij} w_i w_j |K_{ij}|^2 - 2 \sum_i w_i |(Kw)_i|^2 + (w^\top K w)^2
        """
        if self._square_sum is None:
            block, self._square_sum = self.base.product_and_squares(
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
        means, single = self.mean_rows, self.means_are_single
        if self._norms is None or self._norms[0] is not means or self._norms[1] != single:
            self._norms = means, single, self._squared_norms()
        return self._norms[2].copy()

    def _squared_norms(self) -> Array:
        diagonal = self.base.diag()
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
        K = self.base.dense()
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


def _span(n: int) -> int:
    """Return how many terms are added at a time where n are, so that none is added often."""
    return int(np.ceil(np.sqrt(max(n, 1))))


def _row_means(K: Array, weights: Array) -> Array:
    """Return K w by sums of sums of √n terms, which bounds their rounding in any order."""
    starts = np.arange(0, len(weights), _span(len(weights)))
    means = np.empty(len(K), K.dtype)
    for rows in chunks(len(K), Limits.tile):
        means[rows] = np.add.reduceat(K[rows] * weights, starts, axis=1).sum(axis=1)
    return means


def multiply(operator: Operator, points: Points, vectors: Any) -> Array:
    """Return an operator times a vector or a block, single where they and the points are."""
    block = np.asarray(vectors)
    images = operator.product(block[:, None])[:, 0] if block.ndim == 1 else operator.product(block)
    return in_dtype_of(points, images) if is_single(block, points) else images


def column_sums(block: Array) -> Array:
    """Return the sums of columns, formed of sums of a few rows so that rounding does not pile up.

    Those of a block on a device stay there, as a row.

    >>> column_sums(np.ones((1000, 2)))
    array([1000., 1000.])
    """
    begins = np.arange(0, max(len(block), 1), Limits.summed_rows)
    parts: Array = np.add.reduceat(block, begins, axis=0)
    if isinstance(parts, Held):
        return parts
    return parts.sum(axis=0) if len(block) else np.zeros(block.shape[1])


def shares(weights: Any, n: int) -> Array:
    """Return nonnegative weights of n individuals, divided by their sum."""
    return shares_of(weights_of(weights, n, "weights"))
