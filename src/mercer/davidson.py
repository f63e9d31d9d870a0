"""Block Davidson iteration: leading eigenpairs of an operator that can only multiply.

Directions are corrected with the inverse of a low-rank approximation of the operator, early
products are taken in single precision, and the last ones in double. Where the approximation does
not help, the residuals themselves are the directions, which is block Lanczos with thick restarts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mercer.check import EPSILON, Array
from mercer.engines.engine import Engine, combinations, inner_products, outside
from mercer.engines.lapack import eigenpairs
from mercer.iteration import SINGLE_ERROR, Course, Iteration, Noise, Step
from mercer.woodbury import LowRankInverse

DEPENDENT = 1e-14
"""Squared relative size below which a direction of a block is rounding."""

TOLD = 64
"""Ritz pairs that are told of at the end, or as many as were iterated."""

FRESH = 0.01
"""The squared share of a vector outside the basis from which on it is worth joining it."""

SHORT = 0.1
"""Corrections up to this length are added to unit Ritz vectors; longer ones may replace them."""

ROUNDING_LEFT = (1e3 * EPSILON) ** 2
"""The squared length of what rounding may leave of a unit vector that lies in a space."""


class Multiplies(Protocol):
    """A Hermitian matrix known by its products."""

    def product(self, vectors: Array, *, single: bool = False) -> Array: ...


@dataclass
class Subspace:
    """An orthonormal basis Q, its images with a bound for the error of each, and Q*KQ.

    K is Hermitian: q*(Kt) = (Kq)*t, and of the two the one with the better image is taken. With
    the mean of both, the rounding of a correction's image would come back into the Ritz vectors.
    """

    basis: Array
    images: Array
    errors: Array
    projected: Array
    engine: Engine

    @staticmethod
    def spanned(basis: Array, images: Array, error: float | Array, engine: Engine) -> Subspace:
        """Return the space of orthonormal vectors with their images."""
        errors = np.broadcast_to(error, basis.shape[1])
        one = inner_products(basis, images, engine)
        other, is_better = one.conj().T, errors[None, :] < errors[:, None]
        projected = np.where(is_better, one, np.where(is_better.T, other, (one + other) / 2))
        return Subspace(basis, images, errors, projected, engine)

    @property
    def size(self) -> int:
        return int(self.basis.shape[1])

    def extended(self, basis: Array, images: Array, error: float | Array) -> Subspace:
        """Return the space with more directions in the place of this one, whose memory it takes."""
        new = Subspace.spanned(basis, images, error, self.engine)
        across = self._products(new)
        self.basis = np.hstack([self.basis, basis])
        self.images = np.hstack([self.images, images])
        return Subspace(
            self.basis,
            self.images,
            np.append(self.errors, new.errors),
            np.block([[self.projected, across], [across.conj().T, new.projected]]),
            self.engine,
        )

    def _products(self, new: Subspace) -> Array:
        """Return Q*KT for another space, by the images whose errors are the smaller ones."""
        one, other = (self.basis, new.images), (self.images, new.basis)
        if np.max(new.errors, initial=0.0) <= np.min(self.errors, initial=np.inf):
            return inner_products(*one, self.engine)
        if np.min(new.errors, initial=np.inf) >= np.max(self.errors, initial=0.0):
            return inner_products(*other, self.engine)
        is_better = new.errors[None, :] < self.errors[:, None]
        both = [inner_products(*sides, self.engine) for sides in (one, other)]
        return np.where(is_better, *both)

    def joined(self, vectors: Array, images: Array, error: float) -> Subspace:
        """Return the space with unit vectors whose images are known; old ones fall out.

        What is subtracted from a vector is subtracted from its image, and its error added.
        """
        errors = np.full(vectors.shape[1], error)
        for _ in range(2):
            inside = self.basis.conj().T @ vectors
            vectors, images = vectors - self.basis @ inside, images - self.images @ inside
            errors = errors + self.errors @ np.abs(inside)
            values, axes = eigenpairs(vectors.conj().T @ vectors)
            turn = axes[:, values > FRESH] / np.sqrt(values[values > FRESH])
            vectors, images, errors = vectors @ turn, images @ turn, errors @ np.abs(turn)
        return self.extended(vectors, images, errors)

    def rayleigh_ritz(self) -> tuple[Array, Array]:
        """Return the Ritz values, largest first, and the coordinates of the Ritz vectors."""
        values, axes = eigenpairs(self.projected)
        return values[::-1], axes[:, ::-1]

    def cut(self, values: Array, axes: Array) -> Subspace:
        """Return the space of Ritz vectors, from their values and coordinates."""
        found = self.pairs(values, axes)
        diagonal = np.diag(values).astype(self.projected.dtype)
        return Subspace(found.vectors, found.images, found.noise, diagonal, self.engine)

    def turned(self, values: Array, axes: Array) -> Iteration:
        """Return Ritz pairs in the place of the space, whose memory they take in turn."""
        axes = np.ascontiguousarray(axes)
        self.basis = combinations(self.basis, axes, self.engine)
        self.images = combinations(self.images, axes, self.engine)
        return Iteration(values, self.basis, self.images, self.errors @ np.abs(axes))

    def pairs(self, values: Array, axes: Array) -> Iteration:
        """Return Ritz pairs from their coordinates."""
        axes = np.ascontiguousarray(axes)
        basis, images = (combinations(A, axes, self.engine) for A in (self.basis, self.images))
        return Iteration(values, basis, images, self.errors @ np.abs(axes))


Witnesses = Callable[[float], tuple[Array, Array, float] | None]
"""Unit vectors with images, and the error of these, that show something above a given value."""


@dataclass(frozen=True)
class Limits:
    """How many passes may be made, and how many columns the basis may have."""

    passes: int = 400
    """Passes after which an iteration ends without having converged."""

    columns: int = 144
    """Columns of the basis of a slow one, at least: a Krylov space converges by being large."""

    most_blocks: int = 4
    """Blocks of a basis from which on it is cut down."""

    kept_blocks: int = 2
    """The best blocks that are kept of it: one would forget where it came from."""

    def of_basis(self, block: int, *, is_lanczos: bool) -> tuple[int, int]:
        """Return how many columns a basis may have, and how many are kept of a larger one.

        >>> Limits().of_basis(20, is_lanczos=False), Limits().of_basis(20, is_lanczos=True)
        ((80, 40), (144, 48))
        """
        most = max(self.most_blocks * block, self.columns if is_lanczos else 0)
        return most, max(self.kept_blocks * block, most // 3 if is_lanczos else 0)


def davidson(  # noqa: PLR0913  (what it is told, and two who look on)
    operator: Multiplies,
    count: int,
    start: Array,
    preconditioner: LowRankInverse,
    *,
    tol: float,
    noise: Noise = Noise(),  # noqa: B008  (a value)
    limits: Limits = Limits(),  # noqa: B008  (a value)
    block: int | None = None,
    witnesses: Witnesses = lambda value: None,
    keeper: Keeper | None = None,
) -> Iteration:
    """Return Ritz pairs whose first ``count`` residuals are at most ``tol`` of the largest value.

    The rounding of products counts: pairs have converged when residual and noise together are
    within tol, or the residual within what double precision can do: what it usually does, or where
    passes lower it no more. Passes are made in single precision while they help. If that cannot
    meet ``tol``, one pass takes the Ritz vectors in double precision; later corrections are small,
    and so is what single precision adds to them. ``witnesses`` are asked after every pass for
    vectors that the space may lack. ``block`` vectors are iterated after the first pass, unless
    given as many as the start has. A ``keeper`` keeps what is known after each pass, and may have
    it of an earlier run.
    """
    block, engine = min(block or start.shape[1], start.shape[1]), preconditioner.engine
    course = Course(tol, noise, is_single=bool(np.isfinite(noise.single)))
    known = None if keeper is None else keeper.resume(course, engine)
    space = known or _first_space(operator, start, course, engine)
    while True:
        if keeper is not None and space is not known:
            keeper.keep(space, course, block)
        values, axes = space.rayleigh_ritz()
        lacking = witnesses(float(values[min(count, len(values)) - 1]))
        if lacking is not None:
            space = space.joined(*lacking)
            values, axes = space.rayleigh_ritz()
        first = space.pairs(values[:block], axes[:, :block])
        residuals = first.residuals
        has_converged = course.has_converged(first, residuals, count, space.size)
        if has_converged or course.is_over(limits.passes):
            break
        most, kept = limits.of_basis(block, is_lanczos=course.is_lanczos)
        if space.size + block > most:
            space = space.cut(values[:kept], axes[:, :kept])
        is_open = course.is_open(residuals)
        if course.is_lanczos:
            corrections = residuals[:, is_open]
        else:
            corrections = preconditioner.correct(first.vectors, residuals, first.values, is_open)
        fresh = orthonormal(corrections, engine, against=space.basis)
        if fresh.shape[1] == 0 and course.is_double:
            break
        asked = corrections[:, : int(np.sum(is_open[:count]))]
        step = course.next_step(
            np.linalg.norm(asked, axis=0), np.abs(inner_products(fresh, asked, engine)).sum(axis=0)
        )
        if step in (Step.REPEAT, Step.IMPROVE, Step.RESTART):
            short = np.zeros_like(first.vectors)
            short[:, is_open] = corrections
            basis = _restarted(
                step,
                first.vectors,
                short,
                fresh,
                count,
                course.goal,
                residual=course.history[-1],
                engine=engine,
            )
            del space, first, residuals, corrections, asked, short, fresh  # a pass takes memory
            space = Subspace.spanned(basis, operator.product(basis), course.noise.double, engine)
        else:
            del first, residuals, corrections, asked  # a pass takes memory of its own
            images = operator.product(fresh, single=course.is_single)
            space = space.extended(fresh, images, course.noise.of(course.is_single))
            del fresh, images  # which the space has copies of
    told = max(block, min(space.size, TOLD))
    if told > block:
        del first, residuals  # whose memory the others take
        first = space.turned(values[:told], axes[:, :told])
    return course.noted(first, has_converged)


def _first_space(operator: Multiplies, start: Array, course: Course, engine: Engine) -> Subspace:
    """Return the space of the starting block, by the first pass."""
    basis = orthonormal(start, engine)
    images = operator.product(basis, single=course.is_single)
    return Subspace.spanned(basis, images, course.noise.of(course.is_single), engine)


class Keeper(Protocol):
    """One who keeps the state of an iteration after each pass, and may have that of a run before.

    `resume` restores a course and returns the space that belongs to it, None for a new run.
    """

    def resume(self, course: Course, engine: Engine) -> Subspace | None: ...
    def keep(self, space: Subspace, course: Course, block: int) -> None: ...


def _restarted(
    step: Step,
    ritz: Array,
    corrections: Array,
    fresh: Array,
    count: int,
    goal: float,
    *,
    residual: float = 1.0,
    engine: Engine,
) -> Array:
    r"""Return the orthonormal basis that a restart in double precision multiplies.

    Newton's step Q - C costs half of what the space of Q and C does. With an orthonormal basis
    :math:`Q_\perp` of what is orthogonal to Q, the space of :math:`Q + Q_\perp T` is invariant if

    .. math:: Q_\perp^* K Q + (Q_\perp^* K Q_\perp)\, T - T\, (Q^* K Q)
        - T\, (Q^* K Q_\perp)\, T = 0

    and of this the step neglects the last term, whose norm is at most :math:`|C|^2` times that of
    the residuals. It is as good where that is within the goal, or within what single precision has
    left of the residual.
    """
    if step is Step.REPEAT:
        return orthonormal(ritz, engine)
    inside = inner_products(ritz, corrections, engine)
    across = corrections - combinations(ritz, inside, engine)
    lengths = np.linalg.norm(across, axis=0)
    neglected = float(np.max(lengths[:count], initial=0.0)) ** 2 * residual
    is_short = np.all(lengths <= SHORT) and neglected <= max(goal, SINGLE_ERROR)
    if step is Step.IMPROVE and is_short:
        return orthonormal(ritz - across, engine)
    return orthonormal(np.hstack([ritz, fresh]), engine)


def orthonormal(
    block: Array, engine: Engine, against: Array | None = None, least: float = 0.0
) -> Array:
    """Return an orthonormal basis of a block, orthogonal to another; dependent columns fall out.

    By the eigenvectors of the block's own Gram matrix, which costs matrix products only; the
    second round repairs what the squared condition number of the first has lost. Where no column
    falls out each vector is the nearest to one of the block (Löwdin). Directions of unit
    vectors of which less than ``least``, squared, is left fall out as well, and those of which
    nothing but rounding is: a basis of the whole space has none beside it.

    >>> from mercer.engines.cpu import Threads
    >>> whole = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 30)))[0]
    >>> orthonormal(np.ones((30, 2)) + np.eye(30, 2), Threads(1), against=whole).shape
    (30, 0)
    """
    least = max(least, ROUNDING_LEFT)
    norms = np.linalg.norm(block, axis=0)
    block = (block if np.all(norms > 0) else block[:, norms > 0]) / norms[norms > 0]
    for _ in range(2):
        if against is not None:
            block = outside(against, block, engine)
        values, axes = eigenpairs(inner_products(block, block, engine))
        keep = values > max(DEPENDENT * values.max(initial=0.0), least)
        turn = axes[:, keep] / np.sqrt(values[keep])
        block = combinations(block, turn @ axes.conj().T if np.all(keep) else turn, engine)
    return block
