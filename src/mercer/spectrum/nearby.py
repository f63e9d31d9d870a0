"""Axes of one matrix after another, each near the last: those of permuted and of resampled data.

A study asks for thousands of them, and reads means whose own errors are far above an axis's. So no
certificate is made: what an iteration leaves open is estimated (``doubt``) and reported with the
result. Axes that are read themselves come from `mercer.spectrum.leading`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence

from mercer.check import Array
from mercer.spectrum.limits import Limits
from mercer.spectrum.two_sides import lanczos

TOLERANCE, ACCURATE = 1e-4, 1e-6
"""Residual of an axis, relative to the largest eigenvalue: its square is what shares are off by."""

PARALLEL = 1e-6
"""Residuals at a smaller angle are one direction, as all are in a space of few dimensions."""

EXTENSIONS = 12
"""Extensions of a basis that lead to the axes of a nearby matrix; the rest is counted as doubt."""

DENSE = 200
"""Covariances of up to so many coordinates are decomposed whole, larger ones by Lanczos steps."""


class Axes(NamedTuple):
    """Leading Ritz values and vectors, and how far their sum may be below the truth."""

    values: Array
    vectors: Array
    doubt: float


def refine_axes(
    apply: Callable[[Array], Array], start: Array, count: int, tolerance: float = TOLERANCE
) -> Axes:
    r"""Return leading eigenpairs by Rayleigh–Ritz steps from a start that is near them.

    The residuals extend the basis until they are small. The sum of the eigenvalues is above that
    of the Ritz values θ, by little more than

    .. math:: \sum_{k \le q} \frac{\|r_k\|^2}{\max(\theta_k - \theta_{q+1}, \|r_k\|)}

    >>> A = np.diag([4.0, 3.0, 1.0, 0.5, 0.1])
    >>> near = np.eye(5)[:, :3] + 0.1
    >>> refine_axes(lambda v: A @ v, near, 2).values[:2].round(6)
    array([4., 3.])
    """
    V = np.linalg.qr(start)[0]
    AV = apply(V)
    for step in range(EXTENSIONS + 1):
        H = V.T @ AV
        values, small = np.linalg.eigh(0.5 * (H + H.T))
        values, small = values[::-1], small[:, ::-1]
        R = AV @ small[:, :count] - (V @ small[:, :count]) * values[:count]
        sizes = np.linalg.norm(R, axis=0)
        is_full = V.shape[1] + count > len(V)
        if np.max(sizes) <= tolerance * abs(values[0]) or step == EXTENSIONS or is_full:
            break
        for _ in range(2):  # the second time removes what rounding left of the first
            R = R - V @ (V.T @ R)
        W, T = np.linalg.qr(R / np.maximum(np.linalg.norm(R, axis=0), np.finfo(float).tiny))
        W = W[:, np.abs(np.diag(T)) > PARALLEL]
        if not W.size:
            break
        W = np.linalg.qr(W - V @ (V.T @ W))[0]
        V, AV = np.hstack([V, W]), np.hstack([AV, apply(W)])
    return Axes(values, V @ small, doubt_of(values, sizes**2))


def doubt_of(values: Array, squares: Array) -> float:
    """Return what the sum of Ritz values may lack, given the squared norms of residuals."""
    count = len(squares)
    beyond = values[count] if len(values) > count else 0.0
    gaps = np.maximum(values[:count] - beyond, np.sqrt(squares))
    return float(np.sum(squares / np.maximum(gaps, np.finfo(float).tiny)))


def of_rows(A: Array, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of AᵀA and their vectors, by the smaller side of A.

    Coordinates on the axes of a model come first among the columns, and are near to the answer.

    >>> of_rows(np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), 1)[0]
    array([4.])
    """
    n, r = A.shape
    if min(n, r) <= max(DENSE, Limits.all_share * count):
        if n < r:
            values, left = largest(A @ A.T, count)
            values = np.maximum(values, 0.0)
            sizes = np.sqrt(np.where(values > 0.0, values, np.inf))
            return values, A.T @ left / sizes
        values, axes = largest(A.T @ A, count)
        return np.maximum(values, 0.0), axes
    start = np.where(np.arange(r) < count, 1.0, 1.0 / r)
    try:
        return lanczos(lambda v: A.T @ (A @ v), count, start)
    except ArpackNoConvergence:
        values, axes = largest(A.T @ A, count)
        return np.maximum(values, 0.0), axes


def largest(matrix: Array, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of a small symmetric matrix, and their vectors.

    >>> largest(np.diag([1.0, 3.0]), 1)[0]
    array([3.])
    """
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1][:count], vectors[:, ::-1][:, :count]
