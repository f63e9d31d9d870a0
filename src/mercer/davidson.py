"""Block Davidson iteration: leading eigenpairs of an operator that can only multiply.

Directions are corrected with the inverse of a low-rank approximation of the operator, early
products are taken in single precision, and the last ones in double.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.linalg import eigh

from mercer.check import Array

MOST_BLOCKS = 4
"""The basis is restarted from the Ritz vectors when it holds this many blocks."""

SINGLE_FLOOR = 3e-6
"""Residuals relative to the largest value below which single precision products are noise."""

DEPENDENT = 1e-14
"""Squared relative size below which a direction of a block is rounding."""

SLOW = 0.5
"""A pass that does not halve the residual in single precision is the last of its kind."""


class Multiplies(Protocol):
    """A Hermitian matrix known by its products."""

    def product(self, vectors: Array, *, single: bool = False) -> Array: ...


class LowRankInverse:
    r"""The inverse of a shifted low-rank matrix, by its eigenpairs (Woodbury).

    .. math:: (F F^* - \theta I)^{-1} r = -\frac{1}{\theta} \left( r -
        U \,\mathrm{diag}\Bigl(\frac{\lambda}{\lambda - \theta}\Bigr) U^* r \right)
    """

    def __init__(self, factor: Array) -> None:
        self.factor = factor
        squares = np.asarray(factor.conj().T @ factor, np.result_type(factor, float))
        values, axes = eigh(squares) if squares.size else (np.zeros(0), squares)
        largest = values.max(initial=0.0)
        keep = values > len(values) * np.finfo(factor.dtype).eps * largest
        self.values = values[keep][::-1]
        self._to_axes = (axes[:, keep] / np.sqrt(values[keep]))[:, ::-1].astype(factor.dtype)

    def shares(self, vectors: Array) -> Array:
        """Return the coordinates of vectors on the eigenvectors of the low-rank matrix."""
        inner = self.factor.conj().T @ vectors.astype(self.factor.dtype)
        coordinates: Array = self._to_axes.conj().T @ inner
        return coordinates

    def product(self, vectors: Array) -> Array:
        """Return the low-rank matrix times a block of vectors."""
        image: Array = self.factor @ (self.factor.conj().T @ vectors.astype(self.factor.dtype))
        return image

    def start(self, count: int) -> Array:
        """Return the leading eigenvectors of the low-rank matrix."""
        axes: Array = self.factor @ self._to_axes[:, :count]
        return axes.astype(np.result_type(axes, float))

    def correct(self, ritz: Array, residuals: Array, theta: Array) -> Array:
        """Return Jacobi and Davidson's correction, orthogonal to each Ritz vector.

        The projection keeps it meaningful where θ is close to an eigenvalue of the low-rank
        matrix, whose inverse alone would return the Ritz vector itself.
        """
        b = len(theta)
        shares = self.shares(np.hstack([ritz, residuals]))
        gaps = self.values[:, None] - theta[None, :]
        smallest = 1e-6 * np.abs(theta)[None, :]
        gaps = np.where(np.abs(gaps) < smallest, np.where(gaps < 0, -smallest, smallest), gaps)
        weights = np.tile(self.values[:, None] / gaps, 2)
        inside = self.factor @ (self._to_axes @ (weights * shares).astype(self.factor.dtype))
        solved = (np.hstack([ritz, residuals]) - inside) / -np.tile(theta, 2)
        along, across = solved[:, :b], solved[:, b:]
        ratio = _dots(ritz, across) / _dots(ritz, along)
        corrections: Array = across - along * ratio
        return corrections


def _dots(a: Array, b: Array) -> Array:
    dots: Array = np.einsum("ij,ij->j", a.conj(), b)
    return dots


@dataclass
class Iteration:
    """Where the iteration stands: Ritz pairs, their images, and how it came there."""

    values: Array
    vectors: Array
    images: Array
    single_passes: int = 0
    double_passes: int = 0
    history: list[float] = field(default_factory=list)
    has_converged: bool = False

    @property
    def residuals(self) -> Array:
        residuals: Array = self.images - self.vectors * self.values
        return residuals

    def leading(self, count: int) -> Iteration:
        """Return the same with the first Ritz pairs only."""
        return Iteration(self.values[:count], self.vectors[:, :count], self.images[:, :count])


def davidson(
    operator: Multiplies,
    count: int,
    start: Array,
    preconditioner: LowRankInverse,
    *,
    tol: float,
    floor: float = 0.0,
    most_passes: int = 40,
    single: bool = True,
) -> Iteration:
    """Return Ritz pairs whose first ``count`` residuals are at most ``tol`` of the largest value.

    Residuals below ``floor``, which is rounding, are as good as zero.

    Single precision products are used while they help (``single``), and those of the returned
    pairs are in double precision.
    """
    state: Iteration | None = None
    passes = {True: 0, False: 0}
    history: list[float] = []
    block = start.shape[1]
    for is_single in (True, False) if single else (False,):
        goal = max(tol, SINGLE_FLOOR) if is_single else tol
        basis = _orthonormal(start if state is None else state.vectors[:, :block])
        images = operator.product(basis, single=is_single)
        passes[is_single] += 1
        while True:
            state = _rayleigh_ritz(basis, images)
            norms = np.linalg.norm(state.residuals[:, :count], axis=0)
            size = max(abs(float(state.values[0])), floor / tol, float(np.finfo(float).tiny))
            worst = float(np.max(norms, initial=0.0)) / size
            slow = is_single and bool(history) and worst > SLOW * history[-1]
            history.append(worst)
            if worst <= goal or slow or sum(passes.values()) >= most_passes:
                break
            first = state.leading(block)
            if basis.shape[1] + block > MOST_BLOCKS * block:
                basis, images = first.vectors, first.images
            fresh = preconditioner.correct(first.vectors, first.residuals, first.values)
            fresh = _orthonormal(fresh, against=basis)
            if fresh.shape[1] == 0:
                break
            basis = np.hstack([basis, fresh])
            images = np.hstack([images, operator.product(fresh, single=is_single)])
            passes[is_single] += 1
    assert state is not None
    state.single_passes, state.double_passes = passes[True], passes[False]
    state.history, state.has_converged = history, history[-1] <= tol
    return state


def _orthonormal(block: Array, against: Array | None = None) -> Array:
    """Return an orthonormal basis of a block, orthogonal to another; dependent columns fall out.

    By the eigenvectors of the block's own Gram matrix, which costs matrix products only; the
    second round repairs what the squared condition number of the first has lost.
    """
    norms = np.linalg.norm(block, axis=0)
    block = block[:, norms > 0] / norms[norms > 0]
    for _ in range(2):
        if against is not None:
            block = block - against @ (against.conj().T @ block)
        squares = block.conj().T @ block
        values, axes = eigh(squares) if squares.size else (np.zeros(0), squares)
        keep = values > DEPENDENT * values.max(initial=0.0)
        block = block @ (axes[:, keep] / np.sqrt(values[keep]))
    return block


def _rayleigh_ritz(basis: Array, images: Array) -> Iteration:
    small = basis.conj().T @ images
    values, axes = eigh((small + small.conj().T) / 2)
    return Iteration(values[::-1], basis @ axes[:, ::-1], images @ axes[:, ::-1])
