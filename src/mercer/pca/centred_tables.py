"""A table seen centred, scaled and weighted, of which only a piece is ever in memory twice.

In memory, on disk or sparse, a table answers the same few questions: products with the centred
table from both sides, and the two matrices of inner products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from scipy import sparse

from mercer.check import EPSILON, Array, chunks, refuse_non_finite
from mercer.errors import InvalidInput
from mercer.estimator import CHUNK, pieces
from mercer.operators import ENTRY_ROUNDING
from mercer.points import over_parts
from mercer.progress import Progress
from mercer.spectrum import Spectrum, signs

T = TypeVar("T")

DRIFT = 1e-13
"""A mean of centred values below this share of their deviation need not be subtracted."""

NEAR = 4.0
"""Means within two deviations of 0 cost less than a digit where squares are not centred first."""

SAFE = (2.0**-400, 2.0**400)
"""Sizes whose squares, summed over any table, neither overflow nor underflow."""


@dataclass(frozen=True, eq=False)
class CentredTable:
    r"""The centred table whose inner products, weighted, are inertias.

    .. math:: Z = (X / t - 1 \mu^\top)\, \mathrm{diag}(f), \quad \mu = X^\top w / t,\;
        \textstyle\sum_i w_i = 1

    The units t are powers of two, 1 unless the data are so large or small that squares would
    overflow. The factors f hold the standard deviations and the weights of columns. ``variances``
    and ``largest``, the largest modulus of each column, are those of X / t in rows with a weight.
    Passes over a dense table ``tell`` how many rows they have read; ``columns`` are its names, if
    it has any, for the refusal of an entry that is not finite.
    """

    values: Any
    weights: Array
    units: Array
    centre: Array
    variances: Array
    largest: Array
    factors: Array
    tell: Progress | None = None
    columns: tuple[str, ...] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.values.shape
        return n, p

    offers: ClassVar[Literal["sides"]] = "sides"

    @property
    def trace(self) -> float:
        """The total inertia."""
        return float(self.factors**2 @ self.variances)

    @property
    def size(self) -> float:
        """The total inertia of what is computed with."""
        return self.trace

    def threshold_beside(self, largest: float) -> float:
        """Return the size of an eigenvalue that rounding alone can make beside the largest one.

        Centring a dense table leaves the rounding of its entries.
        """
        return max(max(self.shape) * EPSILON * largest, noise_of(self))

    @cached_property
    def roots(self) -> Array:
        """The square roots of the weights, as a column."""
        return np.sqrt(self.weights)[:, None]

    def image(self, vectors: Array) -> Array:
        """Return W^½ Z V."""
        return self.roots * self.product(vectors)[0]

    def adjoint_image(self, vectors: Array) -> Array:
        """Return Zᵀ W^½ U."""
        return self.adjoint(self.roots * vectors)

    def whole(self) -> Array | None:
        """Return W^½ Z, None where it is never written out."""
        return None

    def scaled(self, factors: Array) -> Self:
        """Return the table with other factors."""
        return replace(self, factors=factors)

    def like(self, X: Any) -> Self:
        """Return new rows, centred and scaled as these are."""
        return replace(self, values=X, weights=np.zeros(X.shape[0]))

    def sizes_and_mean(self) -> tuple[Array, Array, Array]:
        """Return of each column the largest modulus, the mean, and the largest modulus of all rows.

        The first two are of rows with a weight. What is not finite is refused.
        """
        raise NotImplementedError

    def measured(self, has_scatter: bool) -> CentredTable:
        """Return the table with the variances of its columns."""
        raise NotImplementedError

    def centred(self, rows: slice) -> Array:
        """Return some rows of X / t - 1μᵀ, as a copy."""
        raise NotImplementedError

    def product(self, V: Array) -> tuple[Array, Array]:
        """Return Z V and the squared norm of each row of Z, in one pass."""
        raise NotImplementedError

    def adjoint(self, U: Array) -> Array:
        """Return Zᵀ U."""
        raise NotImplementedError

    def covariance(self) -> Array:
        """Return Zᵀ W Z, whose trace is the inertia."""
        raise NotImplementedError

    def gram(self) -> Array:
        """Return W^½ Z Zᵀ W^½, which has the same eigenvalues."""
        raise NotImplementedError


def read_table(
    X: Any,
    weights: Array,
    *,
    by_column: bool = False,
    has_scatter: bool = False,
    tell: Progress | None = None,
    columns: tuple[str, ...] | None = None,
) -> CentredTable:
    """Return a table with factors 1, after two passes for means and variances.

    ``by_column`` allows every column its own unit, which is right where it will be divided by its
    standard deviation; ``has_scatter`` finds the variances as the diagonal of all covariances.

    >>> table = read_table(np.array([[1e8 + 1.0], [1e8 + 3.0]]), np.array([0.5, 0.5]))
    >>> table.centre, table.variances
    (array([1.00000002e+08]), array([1.]))
    """
    p = X.shape[1]
    kind: type[CentredTable] = SparseTable if sparse.issparse(X) else DenseTable
    one, none = np.ones(p), np.zeros(p)
    raw = kind(X, weights, units=one, centre=none, variances=none, largest=none, factors=one)
    raw = replace(raw, tell=tell, columns=columns)
    largest, centre, most = raw.sizes_and_mean()
    units = safe_units(largest, by_column)
    if np.any(most / units > SAFE[1]):
        raise InvalidInput(
            f"a row without weight reaches {np.max(most):.3g}, which cannot be squared beside the "
            "others; leave it out"
        )
    if np.any(units != 1.0):
        raw = replace(raw, units=units)
        largest, centre = largest / units, raw.sizes_and_mean()[1]
    return replace(raw, centre=centre, largest=largest).measured(has_scatter)


def noise_of(table: CentredTable) -> float:
    """Return the squared norm that the rounding of centred entries can give a row."""
    return float(table.factors**2 @ (ENTRY_ROUNDING * table.largest) ** 2)


def safe_units(largest: Array, by_column: bool) -> Array:
    """Return the power of two in which each column, or all of them, can be squared; 1 as a rule.

    >>> safe_units(np.array([3.0, 0.5]), False), safe_units(np.array([0.0, 2.0**600]), True)
    (array([1., 1.]), array([1.00000000e+000, 4.14951557e+180]))
    """
    sizes = largest if by_column else np.full_like(largest, largest.max())
    is_safe = (sizes >= SAFE[0]) & (sizes <= SAFE[1]) | (sizes == 0.0)
    exponents = np.where(is_safe, 1, np.frexp(sizes)[1])
    units: Array = np.ldexp(1.0, exponents - 1)
    return units


@dataclass(frozen=True, eq=False)
class DenseTable(CentredTable):
    """Rows of an array, which may lie on disk: only a piece of it is copied at a time."""

    drift: Array | None = None
    scatter: Array | None = None

    def _pieces(self) -> Iterator[slice]:
        """Yield consecutive rows, and tell how many are done of this pass over the table."""
        for rows in pieces(self.shape):
            yield rows
            if self.tell is not None:
                self.tell(rows.stop, self.shape[0])

    def sizes_and_mean(self) -> tuple[Array, Array, Array]:
        largest, mean, most = np.zeros((3, self.shape[1]))
        for rows in self._pieces():
            piece = np.asarray(self.values[rows], dtype=np.float64)
            high, low = piece.max(axis=0), piece.min(axis=0)
            if not (np.all(np.isfinite(high)) and np.all(np.isfinite(low))):
                refuse_non_finite(piece, "X", first=rows.start, columns=self.columns)
            np.maximum(most, np.maximum(high, -low), out=most)
            if not np.all(self.weights[rows] > 0):
                active = piece[self.weights[rows] > 0]
                high, low = active.max(axis=0, initial=0.0), active.min(axis=0, initial=0.0)
            np.maximum(largest, np.maximum(high, -low), out=largest)
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # `read_table` then chooses other units
                mean += self.weights[rows] @ (piece if self._is_plain else piece / self.units)
        return largest, mean, most

    @cached_property
    def _is_plain(self) -> bool:
        return bool(np.all(self.units == 1.0))

    def centred(self, rows: slice) -> Array:
        piece = np.asarray(self.values[rows], dtype=np.float64)
        piece = (piece if self._is_plain else piece / self.units) - self.centre
        if self.drift is not None:
            piece -= self.drift
        return piece

    def measured(self, has_scatter: bool) -> DenseTable:
        """Return the table with its variances, and with its mean corrected.

        Rounding leaves a mean in the centred values, which are small, so that theirs is accurate.
        Where it is too small to be added to the centre it is subtracted on its own.
        """
        is_plain = has_scatter and self._is_plain  # else squares of raw values are no doubles
        if is_plain and self._is_near_origin(self._variances_of_first()):
            table = self._measured_from_origin()
            if self._is_near_origin(table.variances):
                return table
        p = self.shape[1]
        mean, squares = np.zeros(p), np.zeros((p, p) if has_scatter else p)
        for rows in self._pieces():
            piece = self.centred(rows)
            mean += self.weights[rows] @ piece
            if has_scatter:
                squares += self._inner(piece, rows)
            else:
                squares += self.weights[rows] @ np.square(piece, out=piece)
        squares -= np.outer(mean, mean) if has_scatter else mean**2
        variances = np.maximum(np.diag(squares) if has_scatter else squares, 0.0)
        centre = self.centre + mean
        drift = mean - (centre - self.centre)
        is_lost = np.any(np.abs(drift) > DRIFT * np.sqrt(variances))
        return replace(
            self,
            centre=centre,
            drift=drift if is_lost else None,
            variances=variances,
            scatter=squares if has_scatter else None,
        )

    def _is_near_origin(self, variances: Array) -> bool:
        """Whether all means are so small that squares need no centring before they are summed."""
        return bool(np.all(self.centre**2 <= NEAR * variances))

    def _variances_of_first(self) -> Array:
        first = next(iter(pieces(self.shape)))
        variances: Array = np.asarray(self.values[first], dtype=np.float64).var(axis=0)
        return variances

    def _measured_from_origin(self) -> DenseTable:
        """Return the table with its variances and covariances, without a centred copy."""
        scatter = -np.outer(self.centre, self.centre)
        for rows in self._pieces():
            scatter += self._inner(np.asarray(self.values[rows], dtype=np.float64), rows)
        return replace(self, variances=np.maximum(np.diag(scatter), 0.0), scatter=scatter)

    def _inner(self, piece: Array, rows: slice) -> Array:
        """Return Σ wᵢ zᵢ zᵢᵀ over some rows; equal weights are taken out of the sum."""
        weights = self.weights[rows]
        if np.all(weights == weights[0]):
            inner: Array = weights[0] * (piece.T @ piece)
        else:
            piece = np.sqrt(weights)[:, None] * piece
            inner = piece.T @ piece
        return inner

    def product(self, V: Array) -> tuple[Array, Array]:
        scores, squares = np.empty((self.shape[0], V.shape[1])), np.empty(self.shape[0])
        axes, metric = self.factors[:, None] * V, self.factors**2

        def placed(piece: Array, _: slice) -> tuple[Array, Array]:
            return piece @ axes, np.square(piece, out=piece) @ metric

        for rows, found in self._over_centred(placed):
            scores[rows], squares[rows] = found
        return scores, squares

    @property
    def is_elsewhere(self) -> bool:
        """Whether the rows lie on other machines."""
        return hasattr(self.values, "over_parts")

    def _over_centred(self, work: Callable[[Array, slice], T]) -> Iterator[tuple[slice, T]]:
        """Yield consecutive rows and what is made of them, centred, where they lie."""
        if not self.is_elsewhere:
            for rows in self._pieces():
                yield rows, work(self.centred(rows), rows)
            return
        bare = replace(self, values=None, weights=np.empty(0), scatter=None, tell=None)

        def there(part: Any, rows: slice) -> T:
            return work(replace(bare, values=part).centred(slice(None)), rows)

        yield from over_parts(self.values, there)

    def adjoint(self, U: Array) -> Array:
        total = np.zeros((self.shape[1], U.shape[1]))
        for _, part in self._over_centred(lambda piece, rows: piece.T @ U[rows]):
            total += part
        images: Array = self.factors[:, None] * total
        return images

    def covariance(self) -> Array:
        scatter: Any = self.scatter
        if scatter is None:
            scatter = self.measured(has_scatter=True).scatter
        scaled: Array = self.factors[:, None] * scatter * self.factors
        return scaled

    def gram(self) -> Array:
        n, p = self.shape
        total = np.zeros((n, n))
        for columns in chunks(p, max(1, CHUNK // n)):
            piece = self._columns(columns) / self.units[columns]
            piece -= self.centre[columns]
            if self.drift is not None:
                piece -= self.drift[columns]
            piece *= self.factors[columns]
            piece *= self.roots
            total += piece @ piece.T
            if self.tell is not None:
                self.tell(columns.stop, p)
        return total

    def _columns(self, columns: slice) -> Array:
        """Return some columns, of a file that is read by rows in one walk over them."""
        if isinstance(self.values, np.ndarray):
            return np.asarray(self.values[:, columns], dtype=np.float64)
        parts = [np.asarray(self.values[rows])[:, columns] for rows in pieces(self.shape)]
        return np.vstack(parts).astype(np.float64, copy=False)

    def whole(self) -> Array:
        """Return W^½ Z, which is as large as the table."""
        weighted: Array = self.roots * (self.centred(slice(None)) * self.factors)
        return weighted


@dataclass(frozen=True, eq=False)
class SparseTable(CentredTable):
    """Rows of a sparse matrix, whose centring is carried along and never written out."""

    @property
    def size(self) -> float:
        return float(self.factors**2 @ (self.variances + self.centre**2))

    def threshold_beside(self, largest: float) -> float:  # noqa: ARG002  (as for dense tables)
        """Return what is lost where the mean, never subtracted, is larger than the deviations."""
        return max(self.shape) * EPSILON * self.size

    def sizes_and_mean(self) -> tuple[Array, Array, Array]:
        largest, most = np.zeros((2, self.shape[1]))
        (i, j), sizes = self.values.tocoo().coords, np.abs(self.values.data)
        np.maximum.at(most, j, sizes)
        np.maximum.at(largest, j, np.where(self.weights[i] > 0, sizes, 0.0))
        with np.errstate(over="ignore", invalid="ignore"):
            mean: Array = self._in_units().T @ self.weights
        return largest, mean, most

    def _in_units(self, factors: Array | float = 1.0) -> Any:
        """Return the sparse matrix X / t, its columns multiplied by factors."""
        if np.all(factors == self.units):
            return self.values
        return self.values @ sparse.diags_array(factors / self.units, format="csr")

    def centred(self, rows: slice) -> Array:
        piece: Array = self.values[rows].toarray() / self.units - self.centre
        return piece

    def measured(self, has_scatter: bool) -> SparseTable:  # noqa: ARG002  (as for dense tables)
        """Return the table with its variances, formed without cancellation."""
        p, entries = self.shape[1], self._in_units().tocoo()
        j, w = entries.coords[1], self.weights[entries.coords[0]]
        gaps = entries.data - self.centre[j]
        rest = np.maximum(1.0 - np.bincount(j, w, p), 0.0)  # the weight of rows whose entry is 0
        squares = np.bincount(j, w * gaps**2, p) + rest * self.centre**2
        return replace(self, variances=squares)

    def product(self, V: Array) -> tuple[Array, Array]:
        axes, metric = self.factors[:, None] * V, self.factors**2
        X = self._in_units()
        scores: Array = X @ axes - self.centre @ axes
        raw = X.multiply(X) @ metric
        squares = raw - 2.0 * (X @ (metric * self.centre)) + metric @ self.centre**2
        noise = 8 * EPSILON * (raw + metric @ self.centre**2)
        return scores, np.where(squares <= noise, 0.0, squares)

    def adjoint(self, U: Array) -> Array:
        total: Array = self._in_units(self.factors).T @ U
        return total - np.outer(self.factors * self.centre, U.sum(axis=0))

    def covariance(self) -> Array:
        X = sparse.diags_array(np.sqrt(self.weights), format="csr") @ self._in_units(self.factors)
        middle = self.factors * self.centre
        total: Array = (X.T @ X).toarray() - np.outer(middle, middle)
        return total

    def gram(self) -> Array:
        X, middle = self._in_units(self.factors), self.factors * self.centre
        cross = X @ middle
        total: Array = (X @ X.T).toarray() - cross[:, None] - cross + middle @ middle
        roots = np.sqrt(self.weights)
        total *= roots[:, None] * roots
        return total


CHANGED = 1e-6
"""Scores whose mean or variance is off by more, relatively, are not those of the data fitted."""


class Oriented:
    """The axes of a table with their signs, which take a pass over it, found when first asked for.

    The largest score of an axis decides its sign, so that all scores must be seen once.
    """

    def __init__(self, table: CentredTable, spectrum: Spectrum, kept: int) -> None:
        self.table = table
        self.values, self.unsigned = spectrum.values[:kept], spectrum.vectors[:, :kept]

    @cached_property
    def vectors(self) -> Array:
        """The axes, as columns."""
        if "scores" in vars(self) or getattr(self.table, "is_elsewhere", False):
            _ = self.scores
            return self.unsigned * self._signs
        axes = self.table.factors[:, None] * self.unsigned
        rows = pieces(self.table.shape)
        return self.unsigned * self._decided((self.table.centred(r) @ axes, r) for r in rows)

    @cached_property
    def scores(self) -> tuple[Array, Array]:
        """The coordinates of the individuals, and their squared distances to the barycentre."""
        scores, squares = self.table.product(self.unsigned)
        self._refuse_changed(scores)
        self._signs = self._decided((scores[r], r) for r in pieces(self.table.shape))
        scores *= self._signs
        return scores, np.where(squares <= noise_of(self.table), 0.0, squares)

    def _decided(self, parts: Iterable[tuple[Array, slice]]) -> Array:
        """Return the signs by the largest score in each part, then the largest of those."""
        largest = []
        for scores, rows in parts:
            active = scores[self.table.weights[rows] > 0]
            largest.append(signs(active) * np.abs(active).max(axis=0, initial=0.0))
        return signs(np.array(largest))

    def _refuse_changed(self, scores: Array) -> None:
        """Refuse data that were written to since the fit: their scores are no longer centred."""
        if not len(self.values):
            return
        size = np.sqrt(self.values[0])
        allowed = CHANGED + np.sqrt(noise_of(self.table)) / size
        mean = np.abs(self.table.weights @ scores).max() / size
        variance = self.table.weights @ (scores[:, 0] / size) ** 2
        if mean > allowed or abs(variance - 1.0) > allowed:
            raise InvalidInput(
                "the data given to fit have been changed since; fit a copy of them, or fit again"
            )


class ByLoadings(Oriented):
    """The axes of rows that are gone: the largest loading decides the sign of each."""

    @cached_property
    def vectors(self) -> Array:
        return self.unsigned * signs(self.unsigned)
