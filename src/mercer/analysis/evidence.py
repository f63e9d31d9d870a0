"""What a kernel adds to the straight map: how alike the two are, and how well groups part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from mercer.analysis.separation import (
    ENOUGH,
    GAIN,
    PLANE,
    READ,
    Separation,
    separations_of,
)
from mercer.check import Array
from mercer.clusters.finding import ward
from mercer.compare.dependence import alignment
from mercer.data.table import Column
from mercer.display import Shown, percent
from mercer.kernels.vectors import Linear
from mercer.reading.links import Scores
from mercer.resampling import PERMUTATIONS_UNASKED
from mercer.settings import LEVEL

SPACE = 3
"""Axes that a curved map has at least.

Two columns have two straight axes, and groups around each other part on the third curved one.
"""

SAMPLE = 3_000
"""Individuals that are compared; of more an even sample."""

SAME = 0.9
"""An alignment from which on two maps show the same."""

CLEAR, MOST_CLUSTERS = 0.6, 6
"""The mean silhouette of clear clusters, above that of clouds without any, and how many at most."""

FEWEST, SMALLEST, PAIRED = 5, 0.05, 500
"""Members of a cluster at least, also as a share, and individuals whose pairs are looked at."""


@dataclass(frozen=True, repr=False)
class Clustering(Shown):
    r"""How clearly individuals fall into clusters on the plane of a map: the mean silhouette.

    .. math:: s = \frac{1}{n} \sum_i \frac{b_i - a_i}{\max(a_i, b_i)}

    a is the mean distance of an individual to those of its own class, b to those of the nearest
    other one; the classes are those of Ward's tree, in the number from 2 to 6 with the largest s.
    Clouds without clusters have about 0.3 to 0.5 (Rousseeuw, 1987).
    """

    facts: ClassVar[Mapping[str, str]] = {
        "silhouette": "the mean, of 1",
        "count": "of classes",
        "smallest": "members of the smallest class",
    }

    silhouette: float
    count: int
    smallest: int

    def _title(self) -> str:
        return f"Clustering: {self.count} classes, mean silhouette {self.silhouette:.2f}"


@dataclass(frozen=True, repr=False)
class Evidence(Shown):
    """What a kernel adds to the straight map.

    ``alignment`` is the RV coefficient of the two planes, with the ``p_value`` of permutations;
    ``separations`` has a row for each factor; ``clusters`` are those of the straight plane and of
    the curved one; ``verdict`` is groups, clusters, same or other.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "alignment": "of the two maps, 1 where they show the same",
        "p_value": "of two maps that have nothing in common",
        "separations": "of the factors",
        "clusters": "on the straight and on the curved plane",
        "verdict": "groups that part better, clusters that appear, the same map, or another one",
        "individuals": "that were compared",
    }

    alignment: float
    p_value: float | None
    separations: tuple[Separation, ...]
    clusters: tuple[Clustering, Clustering] | None
    verdict: str
    individuals: int

    def _title(self) -> str:
        return f"Evidence: {self.adds}"

    @property
    def told(self) -> Separation | None:
        """The groups that the kernel parts better, those that colour if they are among them."""
        if self.verdict != "groups":
            return None
        best = max(self.separations, key=lambda s: s.curved - s.straight)
        return self.separations[0] if self.separations[0].is_gain else best

    @property
    def plane(self) -> tuple[int, int]:
        """The axes of the curved map on which what is told of it is seen."""
        return (1, 2) if self.told is None or self.told.axis <= PLANE else (1, self.told.axis)

    @property
    def adds(self) -> str:
        """What the kernel adds, in a sentence or two."""
        alike = f"alignment {self.alignment:.2f}"
        p = ""  # a small one says that the maps are not unrelated, which nobody doubts
        if self.p_value is not None and self.p_value > LEVEL:
            p = f", which {self.individuals} points can reach by chance, p = {self.p_value:.3g}"
        colour = next(iter(self.separations), None)  # of the individuals, which is judged first
        told = self.told
        if told is not None and colour is not None:
            rest = "" if told is colour else f' The groups of "{colour.factor}" it does not.'
            return (
                f'The kernel separates the groups of "{told.factor}" better: its axes reach '
                f"{percent(told.curved)} of a perfect separation, the straight ones "
                f"{percent(told.straight)} (axis {told.axis} most, p = {told.p_value:.3g}; "
                f"{alike}).{rest}"
            )
        if self.verdict == "clusters" and self.clusters is not None:
            straight, curved = self.clusters
            return (
                f"The kernel's map shows {curved.count} clusters (mean silhouette "
                f"{curved.silhouette:.2f}) that the straight map does not separate "
                f"({straight.silhouette:.2f}; {alike}): read both."
            )
        if self.verdict == "same":
            known = "" if colour is None else f"; {_on_both(colour)}"
            return (
                "A curved map, that of a kernel PCA, was drawn as a check and adds nothing: both "
                f"maps show the same ({alike} of 1{p}){known}. Read the straight map."
            )
        known = ", and no factor tells which of the two to trust"
        if colour is not None:
            known = f"; {_on_both(colour)}"
        return (
            f"A curved map, that of a kernel PCA, was drawn as a check and differs ({alike} of 1)"
            f"{known}. Read the straight one first."
        )


def _on_both(groups: Separation) -> str:
    """Return how groups part on both maps where the curved one is no gain, with what it rests on.

    >>> _on_both(Separation("sex", 0.6, 0.65, 0.01, 1, 0.005, (0.41, 0.44)))
    '41 % of the differences on the straight map lie between the groups of "sex", and 44 % of those on the curved one (p = 0.01, tested on up to 5 axes)'
    >>> _on_both(Separation("sex", 0.1, 0.12, 0.3, 1, 0.4, (0.05, 0.06)))
    'neither separates the groups of "sex" more than chance would (p = 0.4 and 0.3)'
    """  # noqa: E501  (a doctest in one line)
    whose = f'the groups of "{groups.factor}"'
    p, q = groups.straight_p_value, groups.p_value
    if p > LEVEL and q > LEVEL:
        return f"neither separates {whose} more than chance would (p = {p:.2g} and {q:.2g})"
    straight, curved = map(percent, groups.shares)
    tested = f"p = {min(p, q) if max(p, q) > LEVEL else max(p, q):.2g}, tested on up to {READ} axes"
    if p > LEVEL or q > LEVEL:
        which, share = ("curved", curved) if p > LEVEL else ("straight", straight)
        return (
            f"only the {which} one separates {whose} more than chance would: {share} of the "
            f"differences there lie between them ({tested})"
        )
    return (
        f"{straight} of the differences on the straight map lie between {whose}, and {curved} of "
        f"those on the curved one ({tested})"
    )


def evidence_of(
    straight: Any,
    curved: Any,
    factors: Sequence[Column],
    *,
    random_state: int,
    counted: int | None = None,
    seeks_clusters: bool = True,
) -> Evidence | None:
    """Return what a curved model adds to a straight one of the same individuals.

    ``counted`` individuals stand in the rows, where their weights say how often each was seen.
    """
    a, b = Scores.of(straight), Scores.of(curved)
    if min(a.coordinates.shape[1], b.coordinates.shape[1]) == 0 or a.count < 3:
        return None
    one_by_one, rows = replace(a, counted=counted).one_by_one()
    kept = rows[one_by_one.weights > 0]
    kept = kept[np.unique(np.linspace(0, len(kept) - 1, min(len(kept), SAMPLE)).astype(int))]
    w = a.weights[kept] if counted is None else np.ones(len(kept))
    F, G = a.coordinates[kept] / a.unit, b.coordinates[kept] / b.unit
    found = alignment(
        Linear(),
        Linear(),
        F[:, :PLANE],
        G[:, :PLANE],
        sample_weight=None if np.ptp(w) == 0 else w,
        permutations=PERMUTATIONS_UNASKED,
        stop_after=ENOUGH,
        random_state=random_state,
        threads=1,
    )
    separations = separations_of(F, G, w, kept, factors, random_state)
    alike = float(found.statistic)
    clusters = clusterings(F[:, :PLANE], G[:, :PLANE], w) if seeks_clusters else None
    if any(s.is_gain for s in separations):
        verdict = "groups"
    elif clusters is not None and appear(*clusters, min(len(kept), PAIRED)):
        verdict = "clusters"
    else:
        verdict = "same" if alike >= SAME else "other"
    return Evidence(alike, found.p_value, separations, clusters, verdict, len(kept))


def appear(straight: Clustering, curved: Clustering, individuals: int) -> bool:
    """Return whether clusters are clear on the curved plane alone, and none of them is a handful.

    >>> appear(Clustering(0.43, 6, 2), Clustering(0.62, 3, 8), 47)
    True
    >>> appear(Clustering(0.40, 4, 1), Clustering(0.51, 3, 7), 40)
    False
    >>> appear(Clustering(0.61, 3, 20), Clustering(0.72, 3, 20), 60)  # both maps show them
    False
    """
    is_new = straight.silhouette < CLEAR <= curved.silhouette
    is_clear = is_new and curved.silhouette - straight.silhouette >= GAIN
    return is_clear and curved.smallest >= max(FEWEST, SMALLEST * individuals)


def clusterings(F: Array, G: Array, weights: Array) -> tuple[Clustering, Clustering] | None:
    """Return the clusters of two planes, of an even sample where individuals are many."""
    n = len(F)
    if n < 2 * FEWEST:
        return None
    some = np.unique(np.linspace(0, n - 1, min(n, PAIRED)).astype(int))
    return clustering(F[some], weights[some]), clustering(G[some], weights[some])


def clustering(F: Array, weights: Array) -> Clustering:
    """Return the clearest clusters of a plane.

    >>> found = clustering(np.array([[0.0], [0.1], [5.0], [5.2], [5.1]]), np.ones(5))
    >>> found.count, found.smallest, found.silhouette > 0.9
    (2, 2, True)
    """
    distances, tree = cdist(F, F), ward(F, weights / weights.sum())
    found: list[Clustering] = []
    for count in range(2, min(MOST_CLUSTERS, len(F) - 1) + 1):
        labels = tree.cut(count)
        sizes = np.bincount(labels)
        found.append(Clustering(silhouette(distances, labels), count, int(sizes.min())))
    return max(found, key=lambda one: one.silhouette)


def silhouette(distances: Array, labels: Array) -> float:
    """Return the mean silhouette of classes, 0 for individuals that are alone in theirs.

    >>> round(silhouette(cdist([[0.0], [1.0], [5.0]], [[0.0], [1.0], [5.0]]), np.array([0, 0, 1])), 4)
    0.5167
    """  # noqa: E501  (a doctest in one line)
    everyone, members = np.arange(len(labels)), np.eye(labels.max() + 1)[labels]
    sizes = members.sum(axis=0)
    sums = distances @ members
    own = sums[everyone, labels] / np.maximum(sizes[labels] - 1.0, 1.0)
    means = sums / sizes
    means[everyone, labels] = np.inf
    other = means.min(axis=1)
    larger = np.maximum(own, other)
    each = np.where(larger > 0, (other - own) / np.where(larger > 0, larger, 1.0), 0.0)
    return float(np.mean(np.where(sizes[labels] > 1, each, 0.0)))
