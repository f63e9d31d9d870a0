"""The inverse of a low-rank matrix and a shift, the preconditioner of the iteration."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.engines.cpu import Threads
from mercer.engines.engine import Engine, Seed, combinations, inner_products
from mercer.engines.held import Held
from mercer.engines.lapack import eigenpairs

ROWS = 1024
"""Rows of the low-rank factor that are made double precision at a time."""

AT_ONCE = 2**34
"""So many products of numbers take less than a second: Ctrl-C is heard between them."""

NEAR = 16
"""Ritz vectors on either side of one that its correction is made orthogonal to."""

SMALLEST = 1e-14
"""Ritz values below this share of the largest are rounding, and no shift to divide by."""


class LowRankInverse:
    r"""The inverse of a shifted low-rank matrix, by its eigenpairs (Woodbury).

    .. math:: (F F^* - \theta I)^{-1} r = -\frac{1}{\theta} \left( r -
        U \,\mathrm{diag}\Bigl(\frac{\lambda}{\lambda - \theta}\Bigr) U^* r \right)
    """

    def __init__(self, factor: Array, engine: Engine | None = None) -> None:
        self.factor = factor
        self.engine = Threads() if engine is None else engine
        self.squares = self._adjoint(factor, is_double=True)
        decompose = factor.eigenpairs if isinstance(factor, Held) else eigenpairs
        values, axes = decompose(self.squares)
        largest = values.max(initial=0.0)
        keep = values > len(values) * np.finfo(factor.dtype).eps * largest
        self.values, self.axes = values[keep][::-1], axes[:, keep][:, ::-1]
        self._to_axes = (self.axes / np.sqrt(self.values)).astype(factor.dtype)

    def _adjoint(self, vectors: Array, *, is_double: bool = False) -> Array:
        """Return F* V in double precision, the products in the factor's own unless told."""
        if isinstance(self.factor, Held):
            return self.factor.adjoint_times(vectors, is_double=is_double)
        dtype = np.result_type(self.factor, vectors, float)
        inner = dtype if is_double else _beside(vectors, self.factor)

        def product(rows: slice) -> Array:
            left = self.factor[rows].astype(dtype if is_double else self.factor.dtype, copy=False)
            # The same array twice is seen by the library, which computes one triangle only.
            right = left if vectors is self.factor else vectors[rows].astype(inner, copy=False)
            image: Array = left.conj().T @ right
            return image.astype(dtype, copy=False)

        columns = self.factor.shape[1] * vectors.shape[1]
        size = ROWS if is_double else max(1, AT_ONCE // max(1, columns))
        return self.engine.sum_over_rows(product, len(self.factor), size)

    def _times(self, small: Array) -> Array:
        """Return F times a small matrix, in double precision."""
        if isinstance(self.factor, Held):
            return self.factor.times(small)
        dtype = np.result_type(self.factor, small, float)
        result = np.empty((len(self.factor), small.shape[1]), dtype)
        small = small.astype(_beside(small, self.factor))

        def part(rows: slice) -> None:
            result[rows] = self.factor[rows] @ small

        self.engine.over_rows(part, len(self.factor))
        return result

    def shares(self, vectors: Array) -> Array:
        """Return the coordinates of vectors on the eigenvectors of the low-rank matrix."""
        coordinates: Array = self._to_axes.conj().T @ self._adjoint(vectors)
        return coordinates

    def product(self, vectors: Array) -> Array:
        """Return the low-rank matrix times a block of vectors, in double precision throughout."""
        small = self._adjoint(vectors, is_double=True)
        if isinstance(self.factor, Held):
            return self.factor.times(small, is_double=True)
        result = np.empty((len(self.factor), small.shape[1]), small.dtype)

        def part(rows: slice) -> None:
            np.matmul(self.factor[rows].astype(small.dtype), small, out=result[rows])

        self.engine.over_rows(part, len(self.factor), ROWS)
        return result

    @cached_property
    def trace(self) -> float:
        """The trace of the low-rank matrix."""
        return float(np.linalg.norm(self.factor) ** 2)

    def outside(self, vectors: Array) -> float:
        r"""Return the norm of what orthonormal vectors leave of the low-rank matrix.

        .. math:: \|(I - QQ^*) F\|_2^2 = \lambda_1\bigl(F^*F - (Q^*F)^* (Q^*F)\bigr)
        """
        seen = self._adjoint(vectors, is_double=True)
        left = self.squares - seen @ seen.conj().T
        values = self.factor.eigenvalues if isinstance(self.factor, Held) else np.linalg.eigvalsh
        return float(values(left)[-1]) if left.size else 0.0

    def random_vectors(self, count: int, random_state: Seed) -> Array:
        """Return standard normal vectors, where the factor lies."""
        if isinstance(self.factor, Held):
            return self.factor.normal(count, random_state)
        return np.random.default_rng(random_state).standard_normal((len(self.factor), count))

    def start(self, count: int) -> Array:
        """Return the leading eigenvectors of the low-rank matrix."""
        return self._times(self._to_axes[:, :count])

    def correct(
        self, ritz: Array, residuals: Array, theta: Array, chosen: Array | None = None
    ) -> Array:
        r"""Return Jacobi and Davidson's corrections, orthogonal to Ritz vectors of near values.

        .. math:: c = (FF^* - \theta I)^{-1} (r - Q y), \quad Q^* c = 0

        The projection keeps them meaningful where θ is close to an eigenvalue of the low-rank
        matrix, whose inverse alone would return the Ritz vector itself, or those of its cluster.
        They are those of the pairs that a mask has ``chosen``, of all without one.
        """
        pairs = np.arange(len(theta)) if chosen is None else np.flatnonzero(chosen)
        largest = float(np.max(np.abs(theta), initial=0.0)) or 1.0
        theta = np.where(np.abs(theta) > SMALLEST * largest, theta, SMALLEST * largest)[pairs]
        used, starts, width = _neighbours(pairs, ritz.shape[1])
        Q, R = _columns(ritz, used), _columns(residuals, pairs)
        inside, rest = self.shares(Q), self.shares(R)
        gaps = self.values[:, None] - theta
        smallest = 1e-6 * np.abs(theta)
        gaps = np.where(np.abs(gaps) < smallest, np.where(gaps < 0, -smallest, smallest), gaps)
        weights = self.values[:, None] / gaps
        y = np.zeros((len(used), len(pairs)), inside.dtype)
        near = starts[:, None] + np.arange(width)
        y[near.T, np.arange(len(pairs))] = _projections(
            inside, rest, weights, inner_products(Q, R, self.engine), near
        ).T
        solved = self._times(self._to_axes @ (weights * (rest - inside @ y)))
        solved += combinations(Q, y, self.engine)
        solved -= R
        solved /= theta
        return solved


def _neighbours(pairs: Array, count: int) -> tuple[Array, Array, int]:
    """Return the pairs near chosen ones, where those of each begin among them, and how many.

    >>> used, starts, width = _neighbours(np.array([0, 60]), 99)
    >>> len(used), starts, width
    (66, array([ 0, 33]), 33)
    """
    width = min(2 * NEAR + 1, count)
    first = np.clip(pairs - NEAR, 0, count - width)
    used = np.unique(first[:, None] + np.arange(width))
    return used, np.searchsorted(used, first), width


def _columns(block: Array, chosen: Array) -> Array:
    """Return some columns of a block, which is not copied if they are all."""
    if len(chosen) == block.shape[1]:
        return block
    return block[:, chosen] if isinstance(block, Held) else np.ascontiguousarray(block[:, chosen])


def _projections(inside: Array, rest: Array, weights: Array, overlaps: Array, near: Array) -> Array:
    """Return each pair's coordinates on its neighbours, to which its correction is orthogonal."""
    m, width = near.shape
    along = np.empty((m, width, width), inside.dtype)
    across = np.empty((m, width, 1), inside.dtype)
    rows, others, shifts = (np.ascontiguousarray(A.T) for A in (inside, rest, weights))
    for i, (first, *_) in enumerate(near):
        part = rows[first : first + width]
        weighted = (shifts[i] * part).conj()
        along[i] = np.eye(width) - weighted @ part.T
        across[i, :, 0] = overlaps[near[i], i] - weighted @ others[i]
    return np.asarray((np.linalg.pinv(along, hermitian=True) @ across)[:, :, 0])


def _beside(vectors: Array, factor: Array) -> Any:
    """Return the factor's type, made complex for complex vectors."""
    is_complex = np.iscomplexobj(vectors) and not np.iscomplexobj(factor)
    return np.result_type(factor, np.complex64) if is_complex else factor.dtype
