"""Block Davidson iteration: leading eigenpairs of an operator that can only multiply.

Directions are corrected with the inverse of a low-rank approximation of the operator, early
products are taken in single precision, and the last ones in double.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import numpy as np

from mercer.check import Array
from mercer.engines.lapack import eigenpairs
from mercer.woodbury import LowRankInverse

MOST_BLOCKS, KEPT_BLOCKS = 4, 2
"""A basis of so many blocks is cut down to the best two: one would forget where it came from."""

SINGLE_FLOOR = 3e-6
"""Residuals relative to the largest value below which single precision products help no more."""

SINGLE_ERROR = 1e-7
"""The residual that axes of the single precision matrix usually have for the matrix itself."""

DEPENDENT = 1e-14
"""Squared relative size below which a direction of a block is rounding."""

SLOW = 0.5
"""A pass that does not halve the residual in single precision is the last of its kind."""

FIRST_GAIN = 0.01
"""By how much the first correction is expected to lower the residual."""

SEEN = 0.05
"""The share of its bound that rounding usually reaches: residuals can be lowered so far."""

SHORT = 0.1
"""Corrections up to this length are added to unit Ritz vectors; longer ones may replace them."""

CORRECTION = 12.0
"""A residual r, relative to the largest value, asks for corrections whose sizes add up to 12r."""


class Multiplies(Protocol):
    """A Hermitian matrix known by its products."""

    def product(self, vectors: Array, *, single: bool = False) -> Array: ...


@dataclass
class Iteration:
    """Where the iteration stands: Ritz pairs, their images, and how it came there.

    ``noise`` bounds, for each image, what the rounding of products has added to it.
    """

    values: Array
    vectors: Array
    images: Array
    noise: Array
    single_passes: int = 0
    double_passes: int = 0
    history: list[float] = field(default_factory=list)
    has_converged: bool = False

    @property
    def residuals(self) -> Array:
        residuals: Array = self.vectors * self.values
        np.subtract(self.images, residuals, out=residuals)
        return residuals


@dataclass
class Subspace:
    """An orthonormal basis with its images and a bound for the error of each."""

    basis: Array
    images: Array
    errors: Array

    @property
    def size(self) -> int:
        return int(self.basis.shape[1])

    def extended(self, basis: Array, images: Array, error: float) -> Subspace:
        """Return the space with more directions."""
        return Subspace(
            np.hstack([self.basis, basis]),
            np.hstack([self.images, images]),
            np.append(self.errors, np.full(basis.shape[1], error)),
        )

    def rayleigh_ritz(self) -> tuple[Array, Array]:
        """Return the Ritz values, largest first, and the coordinates of the Ritz vectors.

        K is Hermitian: q*(Kt) = (Kq)*t, and of the two the one with the better image is taken.
        With the mean of both, the rounding of a correction's image would come back into the Ritz
        vectors.
        """
        small = self.basis.conj().T @ self.images
        other = small.conj().T
        is_better = self.errors[None, :] < self.errors[:, None]
        small = np.where(is_better, small, np.where(is_better.T, other, (small + other) / 2))
        values, axes = eigenpairs(small)
        return values[::-1], axes[:, ::-1]

    def rotated(self, axes: Array) -> Subspace:
        """Return the space of vectors with orthonormal coordinates."""
        return Subspace(self.basis @ axes, self.images @ axes, self.errors @ np.abs(axes))

    def pairs(self, values: Array, axes: Array) -> Iteration:
        """Return Ritz pairs from their coordinates."""
        space = self.rotated(axes)
        return Iteration(values, space.basis, space.images, space.errors)


@dataclass(frozen=True)
class Noise:
    """Bounds for what rounding adds to a product with a unit vector, in each precision."""

    single: float = 0.0
    double: float = 0.0

    def of(self, is_single: bool) -> float:
        return self.single if is_single else self.double


def davidson(
    operator: Multiplies,
    count: int,
    start: Array,
    preconditioner: LowRankInverse,
    *,
    tol: float,
    noise: Noise = Noise(),  # noqa: B008  (a value)
    most_passes: int = 40,
) -> Iteration:
    """Return Ritz pairs whose first ``count`` residuals are at most ``tol`` of the largest value.

    The rounding of products counts: pairs have converged when residual and noise together are
    within tol, or within what double precision can do. Passes are made in single precision while
    they help. If that cannot meet ``tol``, one pass takes the Ritz vectors in double precision;
    later corrections are small, and so is what single precision adds to them.
    """
    block = start.shape[1]
    basis = _orthonormal(start)
    is_single = bool(np.isfinite(noise.single))
    errors = np.full(basis.shape[1], noise.of(is_single))
    space = Subspace(basis, operator.product(basis, single=is_single), errors)
    passes, history, is_double = {is_single: 1, not is_single: 0}, list[float](), not is_single
    step = Step.SINGLE
    while True:
        values, axes = space.rayleigh_ritz()
        first = space.pairs(values[:block], axes[:, :block])
        residuals = first.residuals
        norms = np.linalg.norm(residuals[:, :count], axis=0)
        size = max(abs(float(values[0])), float(np.finfo(float).tiny))
        floor = noise.double / size
        history.append(float(np.max(norms, initial=0.0)) / size)
        reached = float(np.max(norms + first.noise[:count], initial=0.0)) / size
        has_converged = history[-1] <= max(tol, SEEN * floor) and reached <= max(
            tol, 2.0 * np.sqrt(space.size) * floor
        )
        if has_converged or sum(passes.values()) >= most_passes:
            break
        is_full = space.size + block > MOST_BLOCKS * block
        kept = space.rotated(axes[:, : KEPT_BLOCKS * block]) if is_full else space
        corrections = preconditioner.correct(first.vectors, residuals, first.values)
        fresh = _orthonormal(corrections, against=kept.basis)
        if fresh.shape[1] == 0 and is_double:
            break
        space = kept
        goal = max(tol, SEEN * floor)
        step = _next(history, goal, noise.single / size, step, is_double=is_double)
        is_single = step is Step.SINGLE
        if step in (Step.REPEAT, Step.IMPROVE, Step.RESTART):
            basis = _restarted(step, first.vectors, corrections, fresh, count, goal)
            errors = np.full(basis.shape[1], noise.double)
            space, is_double = Subspace(basis, operator.product(basis), errors), True
        else:
            images = operator.product(fresh, single=is_single)
            space = space.extended(fresh, images, noise.of(is_single))
        passes[is_single] += 1
    state = space.pairs(values, axes)
    state.single_passes, state.double_passes = passes[True], passes[False]
    state.history, state.has_converged = history, has_converged
    return state


class Step(Enum):
    """What the next pass multiplies, and in which precision."""

    SINGLE = "corrections, in single precision"
    DOUBLE = "corrections, in double precision"
    RESTART = "Ritz vectors and corrections, in double precision"
    IMPROVE = "corrected Ritz vectors, in double precision"
    REPEAT = "Ritz vectors, in double precision"


def _next(history: list[float], tol: float, noise: float, last: Step, *, is_double: bool) -> Step:
    """Return the cheapest pass that leads to ``tol``; ``noise`` is that of single precision.

    A residual r calls for a correction of about `CORRECTION` r, whose image alone is rounded once
    the Ritz vectors have images in double precision.
    """
    residual = history[-1]

    def may_be_single(r: float) -> bool:
        return CORRECTION * r * noise <= 0.7 * tol

    if residual <= tol / 2.0:
        return Step.REPEAT  # the residual is met, only rounding is in the way
    was_corrected = last in (Step.SINGLE, Step.DOUBLE) and len(history) > 1
    is_slow = was_corrected and residual > SLOW * history[-2]
    if is_double and is_slow and last is Step.SINGLE:
        # Where eigenvalues vanish, corrections are as long as the Ritz vectors, and so is their
        # rounding.
        return Step.RESTART
    if is_double:
        return Step.SINGLE if may_be_single(residual) else Step.DOUBLE
    if noise <= tol / 2.0:
        return Step.SINGLE
    gain = residual / history[-2] if len(history) > 1 else FIRST_GAIN
    is_next_last = residual * gain <= tol / 2.0
    if is_next_last and may_be_single(residual):
        return Step.REPEAT
    after = max(residual * gain, SINGLE_ERROR)
    is_near = after * gain <= tol / 2.0 and may_be_single(after)
    if is_slow:
        return Step.RESTART  # one correction more is not enough: the space has to grow
    is_met = residual <= SINGLE_FLOOR
    return Step.IMPROVE if is_next_last or is_near or is_met else Step.SINGLE


def _restarted(
    step: Step, ritz: Array, corrections: Array, fresh: Array, count: int, tol: float
) -> Array:
    """Return the orthonormal basis that a restart in double precision multiplies.

    Newton's step q - c costs half of what the space of q and c does, but neglects |c|²: it is as
    good where that is within ``tol``, or within what single precision has left of the residual.
    """
    if step is Step.REPEAT:
        return _orthonormal(ritz)
    across = corrections - ritz @ (ritz.conj().T @ corrections)
    lengths = np.linalg.norm(across, axis=0)
    neglected = float(np.max(lengths[:count], initial=0.0)) ** 2
    is_short = np.all(lengths <= SHORT) and neglected <= max(tol, SINGLE_ERROR)
    if step is Step.IMPROVE and is_short:
        return _orthonormal(ritz - across)
    return _orthonormal(np.hstack([ritz, fresh]))


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
        values, axes = eigenpairs(squares)
        keep = values > DEPENDENT * values.max(initial=0.0)
        block = block @ (axes[:, keep] / np.sqrt(values[keep]))
    return block
