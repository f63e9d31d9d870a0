"""The axes of a table from its smaller side, by the cheapest exact route, with proved errors.

Small tables: the singular values of the table itself, the most accurate route. Larger ones: the
eigenvalues of the smaller matrix of inner products, between columns or between rows. Where both
sides are large and few axes are asked for: Lanczos steps with the table alone.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.linalg import eigh, qr, svd  # scipy's do not let other threads run, not even for Ctrl-C
from scipy.linalg import eigh as some_eigenvectors
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from mercer.certificate import Certificate
from mercer.check import EPSILON, Array
from mercer.engines.cpu import engine_in_use
from mercer.engines.lapack import norm_bound, run_interruptibly
from mercer.errors import Advice, InvalidParameter, NotConverged, NotEnoughMemory
from mercer.kernels.definite import LARGEST_MATRIX
from mercer.kernels.statements import gamma
from mercer.operators import TwoSided
from mercer.settings import allowed_bytes, readable
from mercer.spectrum.axes_and_signs import How, Spectrum, around, clusters, sine_bounds
from mercer.spectrum.dense import (
    GUARDS,
    ILL_SOLVED,
    dense_bytes,
    gap_after,
    outside,
)
from mercer.spectrum.limits import Limits


def decomposes_columns(n: int, p: int, count: int, limits: Limits) -> bool:
    """Whether the covariances of a table in memory will be decomposed: one pass then finds all."""
    return not _is_small(n, p, limits) and p <= n and _is_decomposed(p, count, limits)


def _is_small(n: int, p: int, limits: Limits) -> bool:
    is_light = (p > n and n <= limits.narrow) or n * p * min(n, p) <= limits.table_work
    return n * p <= limits.table_entries and is_light


def _is_decomposed(side: int, count: int, limits: Limits) -> bool:
    """Whether the matrix of the smaller side is decomposed: it fits, or many axes are needed."""
    return limits.all_share * count > side or (
        side <= limits.side and dense_bytes(side) <= allowed_bytes(engine_in_use().memory)
    )


def two_sides(
    table: TwoSided,
    count: int,
    *,
    method: str = "auto",
    limits: Limits = Limits(),  # noqa: B008  (a value)
) -> Spectrum:
    r"""Return the leading eigenpairs of BᵀB, the covariances of a table B = W^½Z.

    .. math:: Z^\top W Z = V \Lambda V^\top

    The signs of the axes are left open: the largest score decides, which takes a pass more.

    >>> from mercer.pca.centred_tables import read_table
    >>> x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> two_sides(read_table(x, np.full(4, 0.25)), 2).values
    array([1.  , 0.25])
    """
    begun = perf_counter()
    n, p = table.shape
    side = min(n, p)
    A = table.whole() if _is_small(n, p, limits) and method != "exact" else None
    if A is not None:
        values, vectors, rho = _singular(A)
        name = "singular values of the table"
    elif method == "dense" or (method != "exact" and _is_decomposed(side, count, limits)):
        _refuse_huge(side, limits)
        route = _covariances if p <= n else _inner_products
        values, vectors, rho, name = route(table, count, limits)
    else:
        values, vectors, name = *_by_products(table, count), "Lanczos steps with the table"
        rho = norm_bound(table.adjoint_image(table.image(vectors)) - vectors * values)
        _refuse_unsolved(vectors)
    seconds = perf_counter() - begun
    return _spectrum(table, values, vectors[:, :count], rho, How(name, seconds=seconds))


def from_covariances(
    table: TwoSided,
    count: int,
    limits: Limits = Limits(),  # noqa: B008  (a value)
) -> Spectrum:
    """Return the same of a table whose covariances are known, and its rows elsewhere or gone.

    >>> from mercer.pca.centred_tables import read_table
    >>> x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> from_covariances(read_table(x, np.full(4, 0.25), has_scatter=True), 2).values
    array([1.  , 0.25])
    """
    begun = perf_counter()
    side = min(table.shape)
    _refuse_huge(table.shape[1], limits)
    values, vectors, rho, name = _covariances(table, count, limits)
    how = How(name, seconds=perf_counter() - begun)
    return _spectrum(table, values[:side], vectors[:, : min(count, side)], rho, how)


def _spectrum(table: TwoSided, values: Array, vectors: Array, rho: float, how: How) -> Spectrum:
    n, p = table.shape
    count = vectors.shape[1]
    # Entries of the covariances are sums of n products, standardised and centred ones at that, and
    # the residual's are sums of p: errors of so many units each, as matrices, add up to the trace.
    rounding = rho + 3.0 * gamma(n + p + 16, EPSILON / 2) * table.size
    is_whole, is_ordered = len(values) == min(n, p), "Lanczos" not in how.method
    threshold = table.threshold_beside(float(values[0]))
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
        trace=table.trace,
        threshold=threshold,
        rank=int(np.sum(values > threshold)) if is_whole else None,
        negative_mass=0.0,
        psd="by construction",
        how=how,
        clusters=clusters(values, *around(values, rounding, count)),
    )


def _refuse_huge(side: int, limits: Limits) -> None:
    """Refuse a matrix that LAPACK does not address, or that there is no memory for."""
    needed, allowed = dense_bytes(side), allowed_bytes(engine_in_use().memory)
    if side > LARGEST_MATRIX or needed > allowed:
        fewer = Advice("n_components", side // limits.all_share, "n_components")
        text = (
            f"all axes of a table whose smaller side is {side} take a matrix of "
            f"{readable(8 * side * side)}"
        )
        remedy = "; give n_components a number up to a fifth of that side"
        if side > LARGEST_MATRIX:
            raise InvalidParameter(f"{text}, beyond what LAPACK addresses{remedy}", fewer)
        raise NotEnoughMemory(
            f"{text}, {readable(needed)} with what LAPACK needs, and {readable(allowed)} may be "
            f"used{remedy}",
            fewer,
        )


def _singular(A: Array) -> tuple[Array, Array, float]:
    left, sizes, rows = svd(A, full_matrices=False)
    rho = norm_bound(A.T @ (left * sizes) - rows.T * sizes**2)
    _refuse_unsolved(rows.T, rho, _allowed_residual(A) * norm_bound(A))
    return sizes**2, rows.T, rho


def _covariances(table: TwoSided, count: int, limits: Limits) -> tuple[Array, Array, float, str]:
    C = table.covariance()
    values, vectors, rho = _largest(C, count + 1, limits)
    return np.maximum(values, 0.0), vectors, rho, "eigenvalues of the covariances of columns"


def _inner_products(table: TwoSided, count: int, limits: Limits) -> tuple[Array, Array, float, str]:
    """Decompose the inner products of rows, then the table in the space of the axes found.

    Dividing by a small eigenvalue makes an axis inaccurate; in an orthonormal basis of all of
    them the singular values of the table are accurate again.
    """
    values, left, _ = _largest(table.gram(), count + 1, limits)
    values = np.maximum(values, 0.0)
    kept = values > max(table.shape) * EPSILON * values[0]
    basis, _ = qr(table.adjoint_image(left[:, kept]) / np.sqrt(values[kept]))
    left, sizes, rows = svd(table.image(basis), full_matrices=False)
    _refuse_unsolved(rows.T)
    vectors = np.zeros((table.shape[1], len(values)))
    values[kept], vectors[:, kept] = sizes**2, basis @ rows.T
    # B V = U S: one product with the table is enough for the residual.
    rho = norm_bound(table.adjoint_image(left * sizes) - vectors[:, kept] * sizes**2)
    return values, vectors, rho, "eigenvalues of the inner products of rows"


def _largest(A: Array, count: int, limits: Limits) -> tuple[Array, Array, float]:
    """Return the largest eigenvalues in decreasing order with their vectors and residual."""
    n = len(A)
    first, allowed = max(n - count, 0), _allowed_residual(A)
    if limits.some_share * count <= n <= limits.held:
        last = max(first - GUARDS, 0)
        values, vectors = some_eigenvectors(A, subset_by_index=(last, n - 1), driver="evr")
        values, vectors = values[::-1], np.ascontiguousarray(vectors[:, ::-1])
        rho = norm_bound(A @ vectors - vectors * values)
        if _is_solved(vectors, rho, allowed) and _is_complete(A, vectors, values, count - 1, rho):
            return values, vectors, rho
    values, vectors = run_interruptibly(lambda: eigh(A), n)
    rho = norm_bound(A @ vectors - vectors * values)
    _refuse_unsolved(vectors, rho, allowed)
    return values[first:][::-1], vectors[:, first:][:, ::-1], rho


def _is_complete(A: Array, vectors: Array, values: Array, count: int, rho: float) -> bool:
    """Whether the first axes are proved to be the leading ones: none beside them is as large.

    >>> A = np.diag([4.0, 3.0, 2.0, 1.0])
    >>> _is_complete(A, np.eye(4)[:, :3], np.diag(A)[:3], 2, 0.0)
    True
    >>> _is_complete(A, np.eye(4)[:, 1:], np.diag(A)[1:], 2, 0.0)
    False
    """
    few = gap_after(values, count)
    most = float(values[few - 1]) - rho
    return bool(np.isfinite(outside(A, vectors[:, :few], values, most=most)))


def _allowed_residual(A: Array) -> float:
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


def _by_products(table: TwoSided, count: int) -> tuple[Array, Array]:
    p = table.shape[1]

    def image(V: Array) -> Array:
        return table.adjoint_image(table.image(V.reshape(p, -1)))

    start = np.random.default_rng(0).standard_normal(p)
    try:
        return lanczos(image, min(count + 1, p - 1), start)
    except ArpackNoConvergence as error:
        raise NotConverged(
            f"Lanczos steps did not find {count} axes; the spectrum is too flat there: ask for "
            "fewer"
        ) from error


def lanczos(
    image: Callable[[Array], Array], count: int, start: Array, tol: float = 0.0
) -> tuple[Array, Array]:
    """Return the largest eigenvalues of a positive matrix known by its products, and their axes.

    >>> values, axes = lanczos(lambda v: np.diag([3.0, 2.0, 1.0]) @ v, 1, np.ones(3))
    >>> values.round(12), np.abs(axes[:, 0]).round(12)
    (array([3.]), array([1., 0., 0.]))
    """
    p = len(start)
    operator = LinearOperator((p, p), matvec=image, matmat=image, dtype=np.float64)
    values, vectors = eigsh(operator, count, which="LA", v0=start, tol=tol)
    order = np.argsort(values)[::-1]
    return np.maximum(values[order], 0.0), vectors[:, order]
