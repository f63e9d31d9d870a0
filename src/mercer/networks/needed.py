r"""The number of replicates at which a ratio of separation to scatter reaches one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.check import Array
from mercer.display import Shown

MOST = 1_000
"""Replicates beyond which no number is named: the line is not to be trusted so far."""

ROUNDING = 1e-9
"""Distance from a whole number below which a crossing counts as that number."""


def line(sizes: Array, ratios: Array) -> tuple[float, float]:
    r"""Return α and β of the line :math:`S(m) = \alpha + \beta m` by which a ratio is continued.

    The scatter of networks decays like 1/m while the separation tends to a constant, so their
    ratio grows like a line. Least squares weigh sizes by m, since the line is an asymptote. One
    size alone is joined with S(1) = 0: one replicate makes no network.

    >>> line(np.array([2.0, 3.0, 4.0]), np.array([0.5, 1.0, 1.5]))
    (-0.5, 0.5)
    """
    if len(sizes) == 1:
        slope = float(ratios[0]) / (float(sizes[0]) - 1.0)
        return -slope, slope
    w = sizes.astype(float) ** 2
    centre, height = w @ sizes / w.sum(), w @ ratios / w.sum()
    slope = float(w @ ((sizes - centre) * (ratios - height)) / (w @ (sizes - centre) ** 2))
    return float(height - slope * centre), slope


def continued(sizes: Array, ratios: Array, at: Array) -> Array:
    """Return the ratio at any sizes: joined by lines where it was observed, continued beyond."""
    alpha, beta = line(sizes, ratios)
    return np.where(at <= sizes[-1], np.interp(at, sizes, ratios), alpha + beta * at)


def needed(sizes: Array, ratios: Array) -> float:
    """Return the smallest number from which on the ratio is at least one; infinite without one.

    >>> needed(np.array([2, 3, 4]), np.array([0.5, 1.1, 1.6]))
    3.0
    >>> needed(np.array([2, 3]), np.array([0.2, 0.4]))  # 0.2 (m - 1)
    6.0
    """
    short = np.flatnonzero(ratios < 1.0)
    if not len(short):
        return float(sizes[0])
    last = int(short[-1])
    if last + 1 < len(sizes):  # reached where it was observed
        low, high = ratios[last], ratios[last + 1]
        share = (1.0 - low) / (high - low)
        return float(np.ceil(sizes[last] + share * (sizes[last + 1] - sizes[last]) - ROUNDING))
    alpha, beta = line(sizes, ratios)
    if beta <= 0.0:
        return float("inf")
    reached = max(float(np.ceil((1.0 - alpha) / beta - ROUNDING)), sizes[-1] + 1.0)
    return reached if reached <= MOST else float("inf")


def rejects(p_value: float, confidence: float) -> bool:
    """Whether a p-value shows a difference: an interval errs by half of 1 - confidence above.

    >>> rejects(1 / 40, 0.95), rejects(1 / 10, 0.8), rejects(0.03, 0.95)
    (True, True, False)
    """
    return p_value <= (1.0 - confidence) / 2.0 + ROUNDING


@dataclass(frozen=True, repr=False)
class Needed(Shown):
    """How many replicates are enough, None where no number up to a thousand is.

    ``low`` and ``high`` are the ends of the interval, of that ``confidence``, ``high`` None where
    it is open. ``is_extrapolated`` tells that no two disjoint sets of so many replicates were at
    hand. ``p_value`` is that of a test of no difference between the conditions; where it is larger
    than half of 1 - confidence, no difference is shown and the interval is open.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "number": "of replicates that are enough",
        "low": "end of the interval",
        "high": "end of the interval",
        "confidence": "of the interval",
        "is_extrapolated": "beyond what was observed",
        "p_value": "of no difference between conditions",
    }

    number: int | None
    low: int | None
    high: int | None
    confidence: float
    is_extrapolated: bool
    p_value: float = 0.0

    @property
    def is_shown(self) -> bool:
        """Whether the replicates show a difference between the conditions at all."""
        return rejects(self.p_value, self.confidence)

    def __str__(self) -> str:
        """Return the number and its interval.

        >>> str(Needed(4, 3, 6, 0.95, False)), str(Needed(None, 9, None, 0.95, True))
        ('4 (95 % interval 3 to 6)', 'no number up to 1000 (95 % interval 9 or more)')
        """
        named = f"no number up to {MOST}" if self.number is None else str(self.number)
        return f"{named} ({100 * self.confidence:g} % interval {self.ends})"

    @property
    def ends(self) -> str:
        """The interval in words."""
        if self.high is not None:
            return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"
        return f"more than {MOST}" if self.low is None else f"{self.low} or more"


def decided(
    sizes: Array, ratios: Array, samples: Array, confidence: float, p_value: float = 0.0
) -> Needed:
    """Return the number that a curve of ratios needs, and its interval by bootstrap samples."""
    seen = needed(sizes, ratios)
    every = np.sort([needed(sizes, sample) for sample in samples])
    tail = (1.0 - confidence) / 2.0
    low = float(every[int(np.floor(tail * (len(every) - 1)))])
    high = float(every[int(np.ceil((1.0 - tail) * (len(every) - 1)))])
    if not rejects(p_value, confidence):
        high = np.inf
    is_beyond = bool(seen > sizes[-1])
    return Needed(_whole(seen), _whole(low), _whole(high), confidence, is_beyond, p_value)


def _whole(value: float) -> int | None:
    return int(value) if np.isfinite(value) else None
