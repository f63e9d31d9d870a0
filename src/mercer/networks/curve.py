"""The curve of a study: scatter, separation and distance to the full network, with their bands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.tidy import as_frame
from mercer.display import Shown
from mercer.errors import InvalidInput
from mercer.networks.drawing import Drawn
from mercer.networks.moments import Influences, Moments, distances, pooled, ratios, recognised
from mercer.networks.needed import continued, line


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Shown):
    """Scatter of networks and separation of conditions, by the number of replicates.

    ``sizes`` are those of which every condition has two disjoint sets. ``scatter`` is the mean
    squared distance of networks to the mean network of their condition, ``separation`` the mean
    squared distance of these mean networks and ``ratio`` their quotient, with the ends of bands
    (``samples``: the values of the ratio) over bootstrap samples of the replicates. ``recognised``
    is how often a network lies nearest to that of its own condition among those of disjoint
    replicates.

    ``every`` are all sizes that were asked for, and ``to_full`` the mean distances of their
    networks to the network of all replicates of their condition: a row for each size and a column
    for each condition. ``to_full_band`` are the ends of the band of their mean over conditions,
    over the same bootstrap samples. These distances fall to 0 by themselves, since the sets are
    parts of the whole and then the whole.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "sizes": "numbers of replicates",
        "ratio": "of the scatter to the separation",
        "scatter": "of networks in their conditions",
        "separation": "of conditions",
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
        samples = np.stack([continued(self.sizes, s, m) for s in self.samples])
        tail = (1.0 - self.confidence) / 2.0
        low, high = np.quantile(samples, [tail, 1.0 - tail], axis=0)
        return continued(self.sizes, self.ratio, m), low, high

    def table(self, library: str | None = None) -> Any:
        """Return one row for each size; NaN where there are no two disjoint sets of it."""
        place = {int(m): i for i, m in enumerate(self.sizes)}
        rows = [place.get(int(m), -1) for m in self.every]

        def column(values: Array) -> Array:
            return np.append(values, np.nan)[rows]

        columns = {
            "replicates": self.every,
            "scatter": column(np.sqrt(np.maximum(self.scatter, 0.0))),
            "separation": column(np.sqrt(np.maximum(self.separation, 0.0))),
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
        return line(self.sizes, self.ratio)


@dataclass(frozen=True, eq=False)
class Resampled:
    """Separations by sample, size and pair of conditions, those of the data first, and scatter.

    The scatter of each size and condition is taken as known: it is a mean over all pairs of genes,
    and varies less from study to study than the separation, a difference of such means.
    """

    scatter: Array
    separations: Array

    @classmethod
    def of(cls, found: list[Moments], influences: Influences, weights: Array) -> Resampled:
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
    drawn: Mapping[int, Drawn], influences: Influences, weights: Array
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


def estimated(
    drawn: Mapping[int, Drawn], influences: Influences, weights: Array, confidence: float
) -> tuple[Curve, Resampled]:
    """Return the curve, and the moments of data and samples that it rests on."""
    C = len(influences.counts)
    split = {size: d for size, d in drawn.items() if d.is_split}
    found = [Moments.of(d.grams, C) for d in split.values()]
    if not any(np.any(m.scatter > 0.0) for m in found):
        raise InvalidInput(
            "networks of whatever replicates are all alike: the genes are constant, or no edge "
            "passes the threshold; lower it"
        )
    moved = Resampled.of(found, influences, weights)
    within, between = pooled(moved.scatter, moved.separations)
    tail = (1.0 - confidence) / 2.0
    ends = [tail, 1.0 - tail]
    ratio = ratios(between, within)
    to_full, to_full_samples = distances_to_full(drawn, influences, weights)
    curve = Curve(
        sizes=np.array(list(split)),
        scatter=within,
        separation=between[0],
        separation_band=np.quantile(between[1:], ends, axis=0),
        ratio=ratio[0],
        samples=ratio[1:],
        recognised=np.array([recognised(d.grams, C).mean() for d in split.values()]),
        every=np.array(list(drawn)),
        to_full=to_full,
        to_full_band=np.quantile(to_full_samples, ends, axis=0),
        confidence=confidence,
    )
    return curve, moved
