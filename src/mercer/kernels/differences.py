"""Derivatives as differences tell them, for checking those that a kernel states."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mercer.check import Array
from mercer.errors import MercerError

STEP = 1e-4
"""Steps of differences, as a part of what is moved: errors of 1e-10 in the values become 1e-6."""

DERIVATIVE = 1e-5
"""Ten times that, relative to the largest derivative and to the largest value per unit moved."""

KINK = 0.1
"""Where two sides or two step lengths differ by more than this part of the derivative, there is a
kink or a jump, and nothing to compare."""

Moved: TypeAlias = Callable[[float], Array]
"""The kernel's matrix after a step in a parameter or a coordinate."""

CENTRAL = ((-1.0, -0.5), (1.0, 0.5))
FORWARD = ((0.0, -1.5), (1.0, 2.0), (2.0, -0.5))
BACKWARD = ((0.0, 1.5), (-1.0, -2.0), (-2.0, 0.5))
"""Steps and weights of differences of second order; the one-sided are for edges of a domain."""


class Disagreement(Exception):
    """A stated derivative is not what differences say."""


class NoRoom(Exception):
    """A parameter or a coordinate cannot be moved within its domain."""


def compare_slope(given: Array, moved: Moved, scale: float, what: str) -> float:
    """Compare a derivative with differences, as exactly as two step lengths agree on them."""
    # A power of two, so that a point plus a step is exact even far from the origin.
    step = float(2.0 ** np.round(np.log2(STEP * scale)))
    here = moved(0.0)
    slope, doubt, bend = _difference(moved, here, step, what)
    if given.shape != slope.shape:
        raise Disagreement(f"the derivative in {what} has shape {given.shape}, not {slope.shape}")
    size = float(np.max(np.abs(slope), initial=0.0) + np.max(np.abs(here), initial=0.0) / scale)
    is_kink = bend > KINK * size
    is_jump = doubt > np.maximum(KINK * np.abs(slope), DERIVATIVE * size)
    gap = np.where(is_kink | is_jump, 0.0, np.abs(given - slope))
    excess = gap - doubt
    if np.any(~(excess <= DERIVATIVE * size)):
        place = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), excess.shape))
        raise Disagreement(
            f"the derivative in {what} at {place} is given as {given[place]:.6g}, differences say "
            f"{slope[place]:.6g}"
        )
    return float(np.max(gap, initial=0.0))


def _difference(moved: Moved, here: Array, step: float, what: str) -> tuple[Array, Array, Array]:
    """Return a derivative, by how much two step lengths disagree, and two sides of a point."""
    for stencil in (CENTRAL, FORWARD, BACKWARD):
        try:
            near, far = (
                sum((w * moved(o * h) for o, w in stencil), start=0.0 * here) / h
                for h in (step, 2.0 * step)
            )
            bend = moved(step) + moved(-step) - 2.0 * here if stencil is CENTRAL else 0.0 * here
        except MercerError:  # the step leaves the domain
            continue
        return near, np.abs(near - far), np.abs(bend) / step
    raise NoRoom(f"{what} cannot be moved within its domain")
