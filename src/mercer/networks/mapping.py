"""The networks of a study on the axes of a kernel PCA, from few replicates to many."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.tidy import as_frame
from mercer.display import Shown
from mercer.errors import ReadingWarning
from mercer.networks.comparing import Comparison
from mercer.networks.drawing import Drawn
from mercer.pca.kernel import KernelPCA

AXES = 2


@dataclass(frozen=True, eq=False, repr=False)
class StudyMap(Shown):
    """Networks as points: where each lies, of which condition and size it is.

    ``sizes`` is 0 for the networks of all replicates. ``shares`` are those of the two axes in the
    inertia of the networks that are shown, each size with the same weight.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "coordinates": "of the networks",
        "sizes": "replicates of each network, 0 for all",
        "shares": "of the axes",
    }

    coordinates: Array
    conditions: Array
    sizes: Array
    shares: Array

    def _title(self) -> str:
        return f"StudyMap of {len(self.coordinates)} networks"

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each network."""
        columns = {"condition": self.conditions, "replicates": self.sizes}
        columns |= {f"axis_{k + 1}": column for k, column in enumerate(self.coordinates.T)}
        return as_frame(columns, library)

    def trajectory(self, condition: int) -> tuple[Array, Array]:
        """Return the sizes and the mean place of the networks of each, ending at the full one."""
        mine = self.conditions == condition
        sizes = np.unique(self.sizes[mine & (self.sizes > 0)])
        places = [self.coordinates[mine & (self.sizes == m)].mean(axis=0) for m in sizes]
        end = self.coordinates[mine & (self.sizes == 0)]
        return np.append(sizes, 0), np.vstack([*places, end])


def mapped(
    drawn: Mapping[int, Drawn], full: Array, compare: Comparison, conditions: tuple[str, ...]
) -> StudyMap:
    """Return the map of the first networks drawn of each size and those of all replicates.

    Networks of two replicates scatter far more than those of six, and would take the axes for
    themselves: a network of m replicates has the weight m - 1.
    """
    C = len(conditions)
    shown = [d.networks.reshape(-1, *full.shape[1:]) for d in drawn.values()]
    networks = np.concatenate([*shown, full])
    sizes = np.concatenate([np.full(len(s), m) for m, s in zip(drawn, shown, strict=True)])
    sizes = np.append(sizes, np.zeros(C, int))
    weights = np.where(sizes > 0, sizes - 1.0, float(max(drawn)))
    gram = compare.gram(networks)
    model = KernelPCA(AXES, kernel="precomputed", method="dense")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)  # one axis is drawn as a line
        model.fit(gram, sample_weight=weights)
    scores = model.individuals_.coordinates
    coordinates = np.zeros((len(networks), AXES))
    coordinates[:, : scores.shape[1]] = scores
    shares = np.zeros(AXES)
    shares[: scores.shape[1]] = model.inertias_ / model.inertia_
    owners = np.tile(np.arange(C), len(networks) // C)
    return StudyMap(coordinates, owners, sizes, shares)
