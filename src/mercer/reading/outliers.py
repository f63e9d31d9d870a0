"""Individuals that stand apart from the others, on the axes or away from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.tidy import as_frame, frozen
from mercer.display import Shown
from mercer.reading.remarks import named
from mercer.reading.values import Individuals


@dataclass(frozen=True, eq=False, repr=False)
class Outliers(Shown):
    """Individuals that stand apart, and by which of three measures.

    ``rows`` are the row numbers of those whose contribution to an axis, distance to the
    barycentre or distance to the space of the axes exceeds the mean of all by more than
    ``deviations`` standard deviations.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "rows": "of those that stand apart",
        "deviations": "beyond the mean, by which they do",
    }

    individuals: Individuals
    deviations: float

    def _title(self) -> str:
        labels = [str(label) for label in self.individuals.labels[self.rows]]
        return f"Outliers: {named(labels) or 'none'}"

    @property
    def contributions(self) -> Array:
        return self.individuals.contributions

    @property
    def distances(self) -> Array:
        """Distances to the barycentre, in the space of the features."""
        return self.individuals.distances

    @property
    def plane_distances(self) -> Array:
        """Distances to the space of the axes, in the space of the features."""
        return self.individuals.plane_distances

    @cached_property
    def rows(self) -> Array:
        active = self.individuals.weights > 0
        lengths = np.column_stack([self.distances, self.plane_distances]) / self.individuals.unit
        measures = np.column_stack([self.contributions, lengths])
        mean, deviation = measures[active].mean(axis=0), measures[active].std(axis=0)
        limit = mean + self.deviations * deviation
        return frozen(np.flatnonzero(active & (measures > limit).any(axis=1)))

    def table(self, library: str | None = None) -> Any:
        """Return one row for each individual, with its largest contribution and its axis."""
        contributions = self.contributions
        count = len(contributions)
        axis = contributions.argmax(axis=1) if contributions.shape[1] else np.zeros(count, int)
        columns = {
            "individual": self.individuals.labels,
            "contribution": contributions.max(axis=1, initial=0.0),
            "axis": axis + 1,
            "distance": self.distances,
            "plane_distance": self.plane_distances,
            "is_outlier": np.isin(np.arange(count), self.rows),
        }
        return as_frame(columns, library or self.individuals.library)
