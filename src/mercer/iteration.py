"""How an iteration goes: the Ritz pairs so far, what rounding hides, and which pass comes next.

Passes over a matrix are what costs. Early ones are made in single precision, and the course decides
when that helps no more, when residuals are as small as they can be, and when nothing moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.progress import tell_residual

SINGLE_FLOOR = 3e-6
"""Residuals relative to the largest value below which single precision products help no more."""

SINGLE_ERROR = 1e-7
"""The residual that axes of the single precision matrix usually have for the matrix itself."""

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

CORRECTION = 6.0
"""A residual r, relative to the largest value, asks for corrections whose sizes add up to 6r.

At the least: those of axes that are much smaller than the largest are as much longer.
"""

TINY = float(np.finfo(float).tiny)

GIVEN = ("tol", "noise")
"""What a course is told, and does not find out."""


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


class Step(Enum):
    """What the next pass multiplies, and in which precision."""

    SINGLE = "corrections, in single precision"
    DOUBLE = "corrections, in double precision"
    RESTART = "Ritz vectors and corrections, in double precision"
    IMPROVE = "corrected Ritz vectors, in double precision"
    REPEAT = "Ritz vectors, in double precision"


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
        step = cheapest_step(
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


def cheapest_step(
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
