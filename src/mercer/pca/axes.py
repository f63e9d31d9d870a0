"""The axes of a centred table by the cheapest exact route, with the error each may have.

Small tables: the singular values of the table itself, the most accurate route. Larger ones: the
eigenvalues of the smaller matrix of inner products, between columns or between rows. Where both
sides are large and few axes are asked for: Lanczos steps with the table alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from time import perf_counter

import numpy as np
from numpy.linalg import eigh, qr, svd  # scipy's do not let other threads run, not even for Ctrl-C
from scipy.linalg import eigh as some_eigenvectors
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from mercer.certificate import Certificate, sine_bounds
from mercer.check import Array
from mercer.engines.engine import gamma, norm_bound
from mercer.errors import Advice, InvalidInput, InvalidParameter, NotConverged
from mercer.estimator import pieces
from mercer.pca.tables import EPSILON, DenseTable, SparseTable, Table, noise_of
from mercer.spectrum import ILL_SOLVED, MOST_DENSE, How, Spectrum, clusters, signs

SMALL_ENTRIES, SMALL_FLOPS = 1e6, 2e6
"""Up to this size and cost the table itself is decomposed."""

NARROW = 50
"""So few rows, of any length, are as quickly decomposed as multiplied with each other."""

SIDE = 3_000
"""Up to this many rows or columns their inner products are decomposed at once."""

FEW = 3
"""Axes of which at most one in so many is asked for are computed by scipy without the others."""

HELD = 1_500
"""Largest side for which that is done: scipy lets no other thread run meanwhile."""

CHANGED = 1e-6
"""Scores whose mean or variance is off by more, relatively, are not those of the data fitted."""


def wants_scatter(n: int, p: int, count: int) -> bool:
    """Whether the covariances of a dense table will be decomposed: one pass then finds all."""
    return not _is_small(n, p) and p <= n and (p <= SIDE or 5 * count > p)


def _is_small(n: int, p: int) -> bool:
    is_narrow = p > n and n <= NARROW
    return n * p <= SMALL_ENTRIES and (is_narrow or n * p * min(n, p) <= SMALL_FLOPS)


def principal(table: Table, count: int) -> Spectrum:
    r"""Return the leading eigenpairs of the covariance operator, whose axes are its vectors.

    .. math:: Z^\top W Z = V \Lambda V^\top

    The signs of the axes are left open: see `Oriented`.

    >>> from mercer.pca.tables import read
    >>> x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> principal(read(x, np.full(4, 0.25)), 2).values
    array([1.  , 0.25])
    """
    begun = perf_counter()
    n, p = table.shape
    side = min(n, p)
    if isinstance(table, DenseTable) and _is_small(n, p):
        values, vectors, rho = _singular(table)
        method = "singular values of the table"
    elif side <= SIDE or 5 * count > side:
        _refuse_huge(side)
        route = _covariances if p <= n else _inner_products
        values, vectors, rho, method = route(table, count)
    else:
        values, vectors, method = *_lanczos(table, count), "Lanczos steps with the table"
        rho = _residual(table, values, vectors)
        _refuse_unsolved(vectors)
    seconds = perf_counter() - begun
    return _spectrum(table, values, vectors[:, :count], rho, How(method, seconds=seconds))


def _spectrum(table: Table, values: Array, vectors: Array, rho: float, how: How) -> Spectrum:
    n, p = table.shape
    count = vectors.shape[1]
    # Entries of the covariances are sums of n products, standardised and centred ones at that, and
    # the residual's are sums of p: errors of so many units each, as matrices, add up to the trace.
    rounding = rho + 3.0 * gamma(n + p + 16, EPSILON / 2) * _size(table)
    is_whole, is_ordered = len(values) == min(n, p), "Lanczos" not in how.method
    threshold = _threshold(table, float(values[0]))
    kept = values[:count]
    certificate = Certificate(
        kept - rounding,
        kept + rounding,
        sine_bounds(values, rounding, -np.inf)[:count],
        np.full(count, is_ordered),
        ("block residual",) * count,
        ("none" if is_ordered else "no axis was missed",) * count,
    )
    return Spectrum(
        values=kept,
        vectors=vectors,
        certificate=certificate,
        trace=float(table.factors**2 @ table.variances),
        threshold=threshold,
        rank=int(np.sum(values > threshold)) if is_whole else None,
        negative_mass=0.0,
        psd="by construction",
        how=how,
        clusters=clusters(values, rounding, count),
    )


def _size(table: Table) -> float:
    """Return the total inertia of what is computed with: a sparse table is never centred."""
    if isinstance(table, SparseTable):
        return float(table.factors**2 @ (table.variances + table.centre**2))
    return float(table.factors**2 @ table.variances)


def _threshold(table: Table, largest: float) -> float:
    """Return the size of an eigenvalue that rounding alone can make.

    Centring a dense table leaves the rounding of its entries; a sparse one is never centred, and
    loses what the mean is larger than the deviations.
    """
    n, p = table.shape
    if isinstance(table, SparseTable):
        return max(n, p) * EPSILON * _size(table)
    return max(max(n, p) * EPSILON * largest, noise_of(table))


def _refuse_huge(side: int) -> None:
    if side > MOST_DENSE:
        raise InvalidParameter(
            f"all axes of a table whose smaller side is {side} take a matrix of "
            f"{8e-9 * side * side:.0f} GB, beyond what LAPACK addresses; give n_components a "
            "number up to a fifth of that side",
            Advice("n_components", side // 5, "n_components"),
        )


def _singular(table: DenseTable) -> tuple[Array, Array, float]:
    A = table.whole()
    left, sizes, rows = svd(A, full_matrices=False)
    rho = norm_bound(A.T @ (left * sizes) - rows.T * sizes**2)
    _refuse_unsolved(rows.T, rho, _allowed(A) * norm_bound(A))
    return sizes**2, rows.T, rho


def _covariances(table: Table, count: int) -> tuple[Array, Array, float, str]:
    C = table.covariance()
    values, vectors, rho = _largest(C, count + 1)
    return np.maximum(values, 0.0), vectors, rho, "eigenvalues of the covariances of columns"


def _inner_products(table: Table, count: int) -> tuple[Array, Array, float, str]:
    """Decompose the inner products of rows, then the table in the space of the axes found.

    Dividing by a small eigenvalue makes an axis inaccurate; in an orthonormal basis of all of
    them the singular values of the table are accurate again.
    """
    values, left, _ = _largest(table.gram(), count + 1)
    values = np.maximum(values, 0.0)
    kept = values > max(table.shape) * EPSILON * values[0]
    roots = np.sqrt(table.weights)[:, None]
    basis, _ = qr(table.adjoint(roots * left[:, kept]) / np.sqrt(values[kept]))
    left, sizes, rows = svd(roots * table.product(basis)[0], full_matrices=False)
    _refuse_unsolved(rows.T)
    vectors = np.zeros((table.shape[1], len(values)))
    values[kept], vectors[:, kept] = sizes**2, basis @ rows.T
    # W^½ Z V = U S: one product with the table is enough for the residual.
    rho = norm_bound(table.adjoint(roots * left * sizes) - vectors[:, kept] * sizes**2)
    return values, vectors, rho, "eigenvalues of the inner products of rows"


def _largest(A: Array, count: int) -> tuple[Array, Array, float]:
    """Return the largest eigenvalues in decreasing order with their vectors and residual."""
    n = len(A)
    first, allowed = max(n - count, 0), _allowed(A)
    if FEW * count <= n <= HELD:
        values, vectors = some_eigenvectors(A, subset_by_index=(first, n - 1), driver="evr")
        rho = norm_bound(A @ vectors - vectors * values)
        if _is_solved(vectors, rho, allowed):
            return values[::-1], vectors[:, ::-1], rho
    values, vectors = eigh(A)
    rho = norm_bound(A @ vectors - vectors * values)
    _refuse_unsolved(vectors, rho, allowed)
    return values[first:][::-1], vectors[:, first:][:, ::-1], rho


def _allowed(A: Array) -> float:
    """Return the residual that LAPACK allows itself."""
    rounding = float(ILL_SOLVED * max(A.shape) * EPSILON * norm_bound(A))
    return max(rounding, float(np.finfo(float).tiny))


def _is_solved(vectors: Array, rho: float = 0.0, allowed: float = 0.0) -> bool:
    """Whether axes are orthonormal, which zeros are not, and their residual is allowed."""
    gap = norm_bound(vectors.T @ vectors - np.eye(vectors.shape[1]))
    return rho <= allowed and gap <= ILL_SOLVED * len(vectors) * EPSILON


def _refuse_unsolved(vectors: Array, rho: float = 0.0, allowed: float = 0.0) -> None:
    if not _is_solved(vectors, rho, allowed):
        raise NotConverged(
            "the decomposition of the table left a residual or axes far from orthogonal, more than "
            "rounding explains: scale the columns, or use KernelPCA with the linear kernel"
        )


def _lanczos(table: Table, count: int) -> tuple[Array, Array]:
    p = table.shape[1]

    def image(V: Array) -> Array:
        block = V.reshape(p, -1)
        return table.adjoint(table.weights[:, None] * table.product(block)[0])

    operator = LinearOperator((p, p), matvec=image, matmat=image, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(p)
    try:
        values, vectors = eigsh(operator, k=min(count + 1, p - 1), v0=start, tol=0.0)
    except ArpackNoConvergence as error:
        raise NotConverged(
            f"Lanczos steps did not find {count} axes; the spectrum is too flat there: ask for "
            "fewer"
        ) from error
    order = np.argsort(values)[::-1]
    return np.maximum(values[order], 0.0), vectors[:, order]


def _residual(table: Table, values: Array, vectors: Array) -> float:
    image = table.adjoint(table.weights[:, None] * table.product(vectors)[0])
    return norm_bound(image - vectors * values)


class Oriented:
    """The axes of a table with their signs, which take a pass over it, found when first asked for.

    The largest score of an axis decides its sign, so that all scores must be seen once.
    """

    def __init__(self, table: Table, spectrum: Spectrum, kept: int) -> None:
        self.table = table
        self.values, self.unsigned = spectrum.values[:kept], spectrum.vectors[:, :kept]

    @cached_property
    def vectors(self) -> Array:
        """The axes, as columns."""
        if "scores" in vars(self):
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
