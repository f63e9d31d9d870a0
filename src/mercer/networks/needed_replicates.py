"""The curve of a study, and the number of replicates at which separation outgrows scatter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown
from mercer.errors import InvalidInput
from mercer.networks.draws import DrawnNetworks
from mercer.networks.moments import (
    Influences,
    NetworkMoments,
    distances,
    pool,
    ratios,
    recognition_rates,
)

MOST_REPLICATES = 1_000
"""Replicates beyond which no number is named: the line is not to be trusted so far."""

CROSSING_ROUNDING = 1e-9
"""Distance from a whole number below which a crossing counts as that number."""


@dataclass(frozen=True, eq=False, repr=False)
class ReplicateCurve(Shown):
    """Scatter of networks and separation of conditions, by the number of replicates.

    ``sizes`` are those of which every condition has two disjoint sets. ``scatter`` is the mean
    squared distance of networks to the mean network of their condition, ``separation`` the mean
    squared distance of these mean networks and ``ratio`` the second by the first, with the ends of
    bands (``samples``: the values of the ratio) over bootstrap samples of the replicates.
    ``recognised`` is how often a network lies nearest to that of its own condition among those of
    disjoint replicates.

    ``every`` are all sizes that were asked for, and ``to_full`` the mean distances of their
    networks to the network of all replicates of their condition: a row for each size and a column
    for each condition. ``to_full_band`` are the ends of the band of their mean over conditions,
    over the same bootstrap samples. These distances fall to 0 by themselves, since the sets are
    parts of the whole and then the whole.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "sizes": "numbers of replicates",
        "ratio": "of the separation to the scatter",
        "scatter": "of networks in their conditions, a squared distance",
        "separation": "of conditions, a squared distance",
        "recognised": "share of networks nearest to their own condition",
        "confidence": "of the bands",
    }

    sizes: Array
    scatter: Array
    separation: Array
    separation_band: Array
    ratio: Array
    samples: Array
    recognised: Array
    every: Array
    to_full: Array
    to_full_band: Array
    confidence: float

    def at(self, numbers: Any) -> tuple[Array, Array, Array]:
        """Return the ratio at numbers of replicates, and its band: extrapolated beyond sizes."""
        m = np.asarray(numbers, float)
        samples = np.stack([continue_line(self.sizes, s, m) for s in self.samples])
        tail = (1.0 - self.confidence) / 2.0
        low, high = np.quantile(samples, [tail, 1.0 - tail], axis=0)
        return continue_line(self.sizes, self.ratio, m), low, high

    def table(self, library: str | None = None) -> Any:
        """Return one row for each size; NaN where there are no two disjoint sets of it.

        ``within`` and ``between`` are the roots of ``scatter`` and ``separation``: distances, as
        ``to_full`` is. ``ratio`` is that of their squares.
        """
        place = {int(m): i for i, m in enumerate(self.sizes)}
        rows = [place.get(int(m), -1) for m in self.every]

        def column(values: Array) -> Array:
            return np.append(values, np.nan)[rows]

        columns = {
            "replicates": self.every,
            "within": column(np.sqrt(np.maximum(self.scatter, 0.0))),
            "between": column(np.sqrt(np.maximum(self.separation, 0.0))),
            "ratio": column(self.ratio),
            "recognised": column(self.recognised),
            "to_full": self.to_full.mean(axis=1),
            "to_full_low": self.to_full_band[0],
            "to_full_high": self.to_full_band[1],
        }
        return as_frame(columns, library)

    @property
    def law(self) -> tuple[float, float]:
        """α and β of the line α + βm by which the ratio is continued beyond ``sizes``."""
        return fit_line(self.sizes, self.ratio)


@dataclass(frozen=True, eq=False)
class Resampled:
    """Separations by sample, size and pair of conditions, those of the data first, and scatter.

    The scatter of each size and condition is taken as known: it is a mean over all pairs of genes,
    and varies less from study to study than the separation, a difference of such means.
    """

    scatter: Array
    separations: Array

    @classmethod
    def of(cls, found: list[NetworkMoments], influences: Influences, weights: Array) -> Resampled:
        """Move the inner products of means as bootstrap samples move those of the pseudo-values.

        They are moved in the unit of the products at each size.
        """
        every = np.vstack([np.ones(weights.shape[1]), weights])
        means = influences.means(1.0 + influences.tempering() * (every - 1.0))
        products = np.stack([m.means for m in found])
        own = np.trace(means[0])
        units = np.trace(products, axis1=1, axis2=2) / own if own > 0 else np.ones(len(found))
        moved = products + units[:, None, None] * (means - means[0])[:, None]
        diagonal = np.einsum("bmcc->bmc", moved)
        separations: Array = diagonal[..., :, None] + diagonal[..., None, :] - 2.0 * moved
        return cls(np.stack([m.scatter for m in found]), separations)

    def pair(self, c: int, d: int) -> Array:
        """Return the ratios of two conditions by themselves, by sample and size."""
        within = (self.scatter[:, c] + self.scatter[:, d]) / 2.0
        return ratios(self.separations[:, :, c, d], within)


def distances_to_full(
    drawn: Mapping[int, DrawnNetworks], influences: Influences, weights: Array
) -> tuple[Array, Array]:
    """Return the mean distance to the network of all replicates, and its mean in each sample.

    A sample multiplies squared distances as it multiplies the variance of the pseudo-values. That
    is what it does to distances of means; those of correlations of few replicates, which are
    bounded, vary less.
    """
    C = len(influences.counts)
    found = [distances(d.grams, slice(0, C), slice(-C, None)) for d in drawn.values()]
    to_full = np.array([d.mean(axis=0) for d in found])
    own = influences.variances(np.ones((1, weights.shape[1])))
    varies = own > 0.0
    factors = np.where(varies, influences.variances(weights) / np.where(varies, own, 1.0), 1.0)
    return to_full, np.sqrt(factors) @ to_full.T / C


def estimate_curve(
    drawn: Mapping[int, DrawnNetworks], influences: Influences, weights: Array, confidence: float
) -> tuple[ReplicateCurve, Resampled]:
    """Return the curve, and the moments of data and samples that it rests on."""
    C = len(influences.counts)
    split = {size: d for size, d in drawn.items() if d.is_split}
    found = [NetworkMoments.of(d.grams, C) for d in split.values()]
    if not any(np.any(m.scatter > 0.0) for m in found):
        raise InvalidInput(
            "networks of whatever replicates are all alike: the genes are constant, or no edge "
            "passes the threshold; lower it"
        )
    moved = Resampled.of(found, influences, weights)
    within, between = pool(moved.scatter, moved.separations)
    tail = (1.0 - confidence) / 2.0
    ends = [tail, 1.0 - tail]
    ratio = ratios(between, within)
    to_full, to_full_samples = distances_to_full(drawn, influences, weights)
    curve = ReplicateCurve(
        sizes=np.array(list(split)),
        scatter=within,
        separation=between[0],
        separation_band=np.quantile(between[1:], ends, axis=0),
        ratio=ratio[0],
        samples=ratio[1:],
        recognised=np.array([recognition_rates(d.grams, C).mean() for d in split.values()]),
        every=np.array(list(drawn)),
        to_full=to_full,
        to_full_band=np.quantile(to_full_samples, ends, axis=0),
        confidence=confidence,
    )
    return curve, moved


def fit_line(sizes: Array, ratios: Array) -> tuple[float, float]:
    r"""Return α and β of the line :math:`S(m) = \alpha + \beta m` by which a ratio is continued.

    The scatter of networks decays like 1/m while the separation tends to a constant, so their
    ratio grows like a line. Least squares weigh sizes by m, since the line is an asymptote. One
    size alone is joined with S(1) = 0: one replicate makes no network.

    >>> fit_line(np.array([2.0, 3.0, 4.0]), np.array([0.5, 1.0, 1.5]))
    (-0.5, 0.5)
    """
    if len(sizes) == 1:
        slope = float(ratios[0]) / (float(sizes[0]) - 1.0)
        return -slope, slope
    w = sizes.astype(float) ** 2
    centre, height = w @ sizes / w.sum(), w @ ratios / w.sum()
    slope = float(w @ ((sizes - centre) * (ratios - height)) / (w @ (sizes - centre) ** 2))
    return float(height - slope * centre), slope


def continue_line(sizes: Array, ratios: Array, at: Array) -> Array:
    """Return the ratio at any sizes: joined by lines where it was observed, continued beyond."""
    alpha, beta = fit_line(sizes, ratios)
    return np.where(at <= sizes[-1], np.interp(at, sizes, ratios), alpha + beta * at)


def crossing(sizes: Array, ratios: Array) -> float:
    """Return the smallest number from which on the ratio is at least one; infinite without one.

    >>> crossing(np.array([2, 3, 4]), np.array([0.5, 1.1, 1.6]))
    3.0
    >>> crossing(np.array([2, 3]), np.array([0.2, 0.4]))  # 0.2 (m - 1)
    6.0
    """
    short = np.flatnonzero(ratios < 1.0)
    if not len(short):
        return float(sizes[0])
    last = int(short[-1])
    if last + 1 < len(sizes):  # reached where it was observed
        low, high = ratios[last], ratios[last + 1]
        share = (1.0 - low) / (high - low)
        return float(
            np.ceil(sizes[last] + share * (sizes[last + 1] - sizes[last]) - CROSSING_ROUNDING)
        )
    alpha, beta = fit_line(sizes, ratios)
    if beta <= 0.0:
        return float("inf")
    reached = max(float(np.ceil((1.0 - alpha) / beta - CROSSING_ROUNDING)), sizes[-1] + 1.0)
    return reached if reached <= MOST_REPLICATES else float("inf")


def rejects(p_value: float, confidence: float) -> bool:
    """Whether a p-value shows a difference: an interval errs by half of 1 - confidence above.

    >>> rejects(1 / 40, 0.95), rejects(1 / 10, 0.8), rejects(0.03, 0.95)
    (True, True, False)
    """
    return p_value <= (1.0 - confidence) / 2.0 + CROSSING_ROUNDING


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
        named = f"no number up to {MOST_REPLICATES}" if self.number is None else str(self.number)
        return f"{named} ({100 * self.confidence:g} % interval {self.ends})"

    @property
    def ends(self) -> str:
        """The interval in words."""
        if self.high is not None:
            return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"
        return f"more than {MOST_REPLICATES}" if self.low is None else f"{self.low} or more"


def decide(
    sizes: Array, ratios: Array, samples: Array, confidence: float, p_value: float = 0.0
) -> Needed:
    """Return the number that a curve of ratios needs, and its interval by bootstrap samples."""
    seen = crossing(sizes, ratios)
    every = np.sort([crossing(sizes, sample) for sample in samples])
    tail = (1.0 - confidence) / 2.0
    low = float(every[int(np.floor(tail * (len(every) - 1)))])
    high = float(every[int(np.ceil((1.0 - tail) * (len(every) - 1)))])
    if not rejects(p_value, confidence):
        high = np.inf
    is_beyond = bool(seen > sizes[-1])
    return Needed(_whole(seen), _whole(low), _whole(high), confidence, is_beyond, p_value)


def _whole(value: float) -> int | None:
    return int(value) if np.isfinite(value) else None
