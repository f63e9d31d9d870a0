"""Words that mean the same in every call: a level, a confidence, a random state."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from mercer.check import number, whole
from mercer.errors import InvalidParameter

RandomState: TypeAlias = (
    int
    | np.integer[Any]
    | np.random.Generator
    | np.random.RandomState
    | np.random.BitGenerator
    | np.random.SeedSequence
    | None
)
"""Where chance comes from: a seed, a generator, or None for fresh draws, which is the default."""

FIXED = 0
"""The seed where chance changes the work and not the answer, such as that of a preconditioner."""

LEVEL = 0.05
"""The significance level of tests, unless another is given."""

CONFIDENCE = 0.95
"""The confidence of intervals, bands and ellipses, unless another is given."""

HALF = 0.5
"""No test has a level above it, and no interval a confidence below: one is taken for the other."""

SEEDS = 2**32
"""Seeds that are drawn lie below: scikit-learn and numpy's older generators take no larger ones."""


def level_of(level: Any) -> float:
    """Return a significance level, above 0 and at most a half.

    >>> level_of(0.01)
    0.01
    >>> level_of(0.95)
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: level is a significance level, above 0 and at most 0.5, found 0.95; did you mean level=0.05?
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    found = number(level, "level", above=0.0)
    if found > HALF:
        raise InvalidParameter(
            f"level is a significance level, above 0 and at most {HALF:g}, found {level!r}"
            f"{_meant(found, 'level', is_small=True)}"
        )
    return found


def confidence_of(confidence: Any) -> float:
    """Return a confidence, at least a half and below 1.

    >>> confidence_of(0.9)
    0.9
    >>> confidence_of(95)
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: confidence is that of an interval, at least 0.5 and below 1, found 95; did you mean confidence=0.95?
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    found = number(confidence, "confidence", above=0.0)
    if not HALF <= found < 1.0:
        raise InvalidParameter(
            f"confidence is that of an interval, at least {HALF:g} and below 1, found "
            f"{confidence!r}{_meant(found, 'confidence', is_small=False)}"
        )
    return found


def _meant(found: float, name: str, *, is_small: bool) -> str:
    """Return the value that was probably meant: a percentage, or the complement."""
    share = found / 100.0 if found > 1.0 else found
    if not 0.0 < share < 1.0:
        return ""
    rest = min(share, 1.0 - share)
    return f"; did you mean {name}={rest if is_small else 1.0 - rest:.12g}?"


def seed_of(random_state: RandomState) -> int:
    """Return the seed to draw from: a whole number that repeats what is drawn.

    A whole number is the seed itself. None draws a fresh one; a generator of numpy's draws one and
    moves on; a `SeedSequence` has always the same.

    >>> seed_of(7), seed_of(np.random.default_rng(0)), seed_of(np.random.RandomState(0))
    (7, 3653403231, 2357136044)
    >>> seed_of(None) == seed_of(None)
    False
    """
    if random_state is None:
        random_state = np.random.SeedSequence()
    if isinstance(random_state, np.random.SeedSequence):
        return int(random_state.generate_state(1)[0])
    if isinstance(random_state, np.random.BitGenerator):
        random_state = np.random.Generator(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(SEEDS))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(SEEDS, dtype=np.uint32))
    try:
        return whole(random_state, "random_state")
    except InvalidParameter as error:
        raise InvalidParameter(
            f"{error}; a generator of numpy's and None, which draws afresh, are understood too"
        ) from None


def generator_of(random_state: RandomState) -> np.random.Generator:
    """Return a generator to draw data from: the one that was given, or that of a seed.

    >>> float(generator_of(0).random()) == float(np.random.default_rng(0).random())
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_of(random_state))


def first_axes(axes: Any) -> int:
    """Return how many first axes are asked for: a number, or a sequence that counts them.

    >>> first_axes(3), first_axes([1, 2])
    (3, 2)
    >>> first_axes((2, 3))
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: axes must be a number, or the first ones in order (1, 2, ...), found (2, 3)
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    if np.ndim(axes) == 0:
        return whole(axes, "axes", least=1)
    listed = list(axes)
    if not listed or listed != list(range(1, len(listed) + 1)):
        raise InvalidParameter(
            f"axes must be a number, or the first ones in order (1, 2, ...), found {axes!r}"
        )
    return len(listed)
