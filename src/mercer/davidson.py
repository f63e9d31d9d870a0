"""Block Davidson iteration: leading eigenpairs of an operator that can only multiply.

Directions are corrected with the inverse of a low-rank approximation of the operator, early
products are taken in single precision, and the last ones in double. Where the approximation does
not help, the residuals themselves are the directions, which is block Lanczos with thick restarts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol

import numpy as np

from mercer.check import EPSILON, Array
from mercer.engines.engine import Engine, combinations, inner_products, outside
from mercer.engines.lapack import eigenpairs
from mercer.progress import tell_residual
from mercer.woodbury import LowRankInverse

SINGLE_FLOOR = 3e-6
"""Residuals relative to the largest value below which single precision products help no more."""

SINGLE_ERROR = 1e-7
"""The residual that axes of the single precision matrix usually have for the matrix itself."""

DEPENDENT = 1e-14
"""Squared relative size below which a direction of a block is rounding."""

SLOW = 0.5
"""A pass that does not halve the residual in single precision is the last of its kind."""

DOUBT = 4.0
"""How much more than the pass before it a pass may leave of the residual."""

ROUNDED = 30.0
"""A residual above so many times the usual rounding of products is not what rounding left."""

SLOW_PASSES = 2
"""After so many slow passes in a row the approximation is not asked for directions any more."""

STALLED = 3
"""Passes in double precision that lower the residual by less than half end at rounding."""

MOST_ROUNDING = 30.0
"""But only up to so many times what rounding usually does."""

STUCK = 40
"""Passes that together lower the residual by less than half: it is not going to converge."""

NARROW = 32
"""Pairs up to which all are corrected together until the last one has converged."""

TOLD = 64
"""Ritz pairs that are told of at the end, or as many as were iterated."""

FRESH = 0.01
"""The squared share of a vector outside the basis from which on it is worth joining it."""

SHORT = 0.1
"""Corrections up to this length are added to unit Ritz vectors; longer ones may replace them."""

ROUNDING_LEFT = (1e3 * EPSILON) ** 2
"""The squared length of what rounding may leave of a unit vector that lies in a space."""

CORRECTION = 6.0
"""A residual r, relative to the largest value, asks for corrections whose sizes add up to 6r.

At the least: those of axes that are much smaller than the largest are as much longer.
"""

TINY = float(np.finfo(float).tiny)

GIVEN = ("tol", "noise")
"""What a course is told, and does not find out."""


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
    has_lanczos: bool = False

    @property
    def residuals(self) -> Array:
        residuals: Array = self.vectors * self.values
        np.subtract(self.images, residuals, out=residuals)
        return residuals


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


@dataclass(frozen=True)
class Noise:
    """Bounds for what rounding adds to a product with a unit vector, in each precision.

    ``usual_single`` and ``usual_double`` say what it adds as a rule, the bounds unless given: a
    residual can be lowered so far, and a bound that is never reached is no reason to stop. A pass
    in double precision may tell more of the matrix: then ``found`` returns a smaller bound of
    single precision, which is ``expected`` before.
    """

    single: float = 0.0
    double: float = 0.0
    usual_single: float | None = None
    usual_double: float | None = None
    expected: float | None = None
    found: Callable[[], float] | None = None

    def of(self, is_single: bool) -> float:
        return self.single if is_single else self.double

    @property
    def attainable(self) -> float:
        return self.double if self.usual_double is None else min(self.usual_double, self.double)

    @property
    def seen(self) -> float:
        return self.single if self.usual_single is None else min(self.usual_single, self.single)

    @property
    def later(self) -> float:
        """The bound of single precision that is expected after a pass in double precision."""
        return self.single if self.expected is None else min(self.expected, self.single)

    def sharpened(self) -> Noise:
        """Return the bounds after a pass in double precision."""
        if self.found is None:
            return self
        return replace(self, single=min(self.single, self.found()), expected=None, found=None)


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


def davidson(  # noqa: PLR0913  (what it is told, and two who look on)
    operator: Multiplies,
    count: int,
    start: Array,
    preconditioner: LowRankInverse,
    *,
    tol: float,
    noise: Noise = Noise(),  # noqa: B008  (a value)
    limits: Limits = Limits(),  # noqa: B008  (a value)
    witnesses: Witnesses = lambda value: None,
    keeper: Keeper | None = None,
) -> Iteration:
    """Return Ritz pairs whose first ``count`` residuals are at most ``tol`` of the largest value.

    The rounding of products counts: pairs have converged when residual and noise together are
    within tol, or the residual within what double precision can do: what it usually does, or where
    passes lower it no more. Passes are made in single precision while they help. If that cannot
    meet ``tol``, one pass takes the Ritz vectors in double precision; later corrections are small,
    and so is what single precision adds to them. ``witnesses`` are asked after every pass for
    vectors that the space may lack. A ``keeper`` keeps what is known after each pass, and may have
    it of an earlier run.
    """
    block, engine = start.shape[1], preconditioner.engine
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
        is_lanczos = course.is_lanczos
        most = max(limits.most_blocks * block, limits.columns if is_lanczos else 0)
        if space.size + block > most:
            kept = max(limits.kept_blocks * block, most // 3 if is_lanczos else 0)
            space = space.cut(values[:kept], axes[:, :kept])
        is_open = course.is_open(residuals)
        if is_lanczos:
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
    told = max(block, min(space.size, TOLD))
    if told == block:
        state = first
    else:
        del first, residuals  # whose memory the others take
        state = space.turned(values[:told], axes[:, :told])
    return course.noted(state, has_converged)


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


class Course:
    """The course of an iteration: what its passes have reached, and what the next one is."""

    def __init__(self, tol: float, noise: Noise, *, is_single: bool) -> None:
        self.tol, self.noise, self.is_single = tol, noise, is_single
        self.is_double = not is_single
        self.passes = {is_single: 1, not is_single: 0}
        self.history: list[float] = []
        self.step, self.size, self.goal = Step.SINGLE, 1.0, tol
        self._slow = self._doubles = 0

    def state(self) -> dict[str, Any]:
        """Return where the course is, as plain values."""
        plain = {name: value for name, value in vars(self).items() if name not in GIVEN}
        return {**plain, "step": self.step.name, "history": list(self.history)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where another course was."""
        for name, value in state.items():
            setattr(self, name, Step[value] if name == "step" else value)
        if self.passes[False]:
            self.noise = self.noise.sharpened()

    @property
    def is_lanczos(self) -> bool:
        """Whether the approximation is not asked for directions any more."""
        return self._slow >= SLOW_PASSES

    def has_converged(self, first: Iteration, residuals: Array, count: int, columns: int) -> bool:
        """Note the residuals after a pass, and say whether they are what can be reached."""
        if not self.is_single:
            self.noise = self.noise.sharpened()
        norms = np.linalg.norm(residuals[:, :count], axis=0)
        rounding = first.noise[:count]
        size = max(abs(float(first.values[0])), TINY)
        self.history.append(float(np.max(norms, initial=0.0)) / size)
        tell_residual(self.history[-1])
        usual = self.noise.attainable / size
        self.size, self.goal = size, max(self.tol, usual)
        self._doubles = 0 if self.is_single else self._doubles + 1
        self._note_slowness()
        limit = max(self.tol, 2.0 * float(np.sqrt(columns)) * self.noise.double / size)
        if self.history[-1] <= self.goal:
            return float(np.max(norms + rounding, initial=0.0)) / size <= limit
        # Above what rounding can do at most, a residual that stays is no rounding.
        is_precise = max(self.history[-1], float(np.max(rounding, initial=0.0)) / size) <= limit
        return is_precise and _is_rounded(self.history[-self._doubles :], usual)

    def is_open(self, residuals: Array) -> Array:
        """Say which pairs still need corrections: all of a narrow block, those not met of a wide.

        A correction for each of a few pairs costs little more than one, and helps the others.
        """
        if residuals.shape[1] <= NARROW:
            return np.ones(residuals.shape[1], bool)
        norms = np.linalg.norm(residuals, axis=0)
        is_open: Array = norms > 0.25 * self.goal * self.size
        return is_open if np.any(is_open) else np.ones(len(norms), bool)

    def _note_slowness(self) -> None:
        is_rounded = self.history[-1] <= ROUNDED * self.noise.seen / self.size
        is_slow = _is_slow(self.history, self.step) and (self.is_double or not is_rounded)
        if not self.is_lanczos:
            self._slow = self._slow + 1 if is_slow else 0

    def noted(self, state: Iteration, has_converged: bool) -> Iteration:
        """Return Ritz pairs with how they were reached."""
        state.single_passes, state.double_passes = self.passes[True], self.passes[False]
        state.history, state.has_converged = self.history, has_converged
        state.has_lanczos = self.is_lanczos
        return state

    def is_over(self, most_passes: int) -> bool:
        """Whether no more passes are to be made."""
        return sum(self.passes.values()) >= most_passes or _is_stuck(self.history)

    def next_step(self, lengths: Array, sums: Array) -> Step:
        """Decide the next pass, and count it.

        From the lengths of the corrections to be made, and the sums of their coordinates on the
        vectors that would be multiplied, whose images are rounded each by itself.
        """
        noise, size = self.noise, self.size
        together = float(np.max(sums, initial=0.0)) / max(self.history[-1], TINY)
        step = _next(
            self.history,
            self.goal,
            Noise(noise.single / size, 0.0, noise.seen / size, expected=noise.later / size),
            self.step,
            is_double=self.is_double,
            correction=max(CORRECTION, together),
            first_gain=float(np.max(lengths, initial=0.0)),
        )
        if self.is_lanczos and self.is_double and step is Step.RESTART:
            step = Step.DOUBLE  # a Krylov space is not thrown away
        self.step, self.is_single = step, step is Step.SINGLE
        self.is_double |= step in (Step.REPEAT, Step.IMPROVE, Step.RESTART)
        self.passes[self.is_single] += 1
        return step


def _is_slow(history: list[float], last: Step) -> bool:
    """Whether the last pass, one that corrected, has not halved the residual."""
    was_corrected = last in (Step.SINGLE, Step.DOUBLE) and len(history) > 1
    return was_corrected and history[-1] > SLOW * history[-2]


def _is_rounded(history: list[float], usual: float) -> bool:
    """Whether residuals of passes in double precision have come down to rounding and stay there.

    >>> _is_rounded([1e-3] + 7 * [2e-9], 1e-9), _is_rounded(8 * [1e-3], 1e-9)
    (True, False)
    """
    if len(history) <= STALLED:
        return False
    last = min(history[-STALLED:])
    return 0.5 * min(history[:-STALLED]) < last <= MOST_ROUNDING * usual


def _is_stuck(history: list[float]) -> bool:
    """Whether many passes have brought nothing."""
    return len(history) > STUCK and min(history[-STUCK:]) > 0.5 * min(history[:-STUCK])


class Step(Enum):
    """What the next pass multiplies, and in which precision."""

    SINGLE = "corrections, in single precision"
    DOUBLE = "corrections, in double precision"
    RESTART = "Ritz vectors and corrections, in double precision"
    IMPROVE = "corrected Ritz vectors, in double precision"
    REPEAT = "Ritz vectors, in double precision"


def _next(
    history: list[float],
    tol: float,
    noise: Noise,
    last: Step,
    *,
    is_double: bool,
    correction: float = CORRECTION,
    first_gain: float = 0.01,
) -> Step:
    """Return the cheapest pass that leads to ``tol``.

    Everything is in units of the largest value. A residual r calls for corrections of about
    ``correction`` r together, whose images alone are rounded once the Ritz vectors have images in
    double precision. What a pass leaves of a residual is not known before the second one. It is
    about as much as corrections are long: they are wrong by what the approximation misses of them,
    and it misses of a Ritz vector what its residual is.
    """
    residual = history[-1]
    bound = noise.single if is_double else noise.later

    def may_be_single(r: float) -> bool:
        return correction * r * bound <= 0.7 * tol

    if residual <= tol / 2.0:
        return Step.REPEAT  # the residual is met, only rounding is in the way
    is_slow = _is_slow(history, last)
    if is_double and is_slow and last is Step.SINGLE:
        # Where eigenvalues vanish, corrections are as long as the Ritz vectors, and so is their
        # rounding.
        return Step.RESTART
    if is_double:
        return Step.SINGLE if may_be_single(residual) else Step.DOUBLE
    if noise.single <= tol / 2.0:
        return Step.SINGLE
    gain = residual / history[-2] if len(history) > 1 else first_gain
    is_next_last = residual * gain <= tol / 2.0
    after = max(residual * gain, SINGLE_ERROR)
    doubt = DOUBT if len(history) > 1 else 1.0
    is_near = after * gain <= tol / 2.0 and may_be_single(doubt * after)
    if is_slow and residual <= ROUNDED * noise.seen:
        return Step.RESTART  # one correction more is not enough: the space has to grow
    is_met = residual <= SINGLE_FLOOR
    return Step.IMPROVE if is_next_last or is_near or is_met else Step.SINGLE


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
