"""What a kernel adds to the straight map: how alike the two are, and how well groups part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from mercer.check import Array
from mercer.clusters.finding import ward
from mercer.compare.dependence import alignment
from mercer.data.table import Column
from mercer.display import Shown, percent
from mercer.kernels.vectors import Linear
from mercer.reading.describe import trace_p_value
from mercer.reading.links import Scores
from mercer.resampling import PERMUTATIONS_UNASKED, Resampling
from mercer.settings import LEVEL

PLANE = 2
"""Axes of the maps that are drawn, and compared."""

READ, SPACE = 5, 3
"""Axes on which groups are sought, and those that a curved map has at least.

Two columns have two straight axes, and groups around each other part on the third curved one.
"""

ENOUGH = 10
"""Exceedances after which a test ends."""

FACTORS = 10
"""Factors whose groups are sought, the first ones."""

SAMPLE = 3_000
"""Individuals that are compared; of more an even sample."""

SAME = 0.9
"""An alignment from which on two maps show the same."""

GAIN = 0.1
"""How much more of a factor, or how much clearer clusters, a map must show to add something."""

CLEAR, MOST_CLUSTERS = 0.6, 6
"""The mean silhouette of clear clusters, above that of clouds without any, and how many at most."""

AXIS_PARTS, BY_MORE = 0.5, 0.25
"""The share of an axis that lies between groups which it parts, and by how much it is larger."""

FEWEST, SMALLEST, PAIRED = 5, 0.05, 500
"""Members of a cluster at least, also as a share, and individuals whose pairs are looked at."""


@dataclass(frozen=True, repr=False)
class Separation(Shown):
    r"""How well the groups of a factor part on the axes of each map, from 0 to 1.

    .. math:: s = \frac{1}{\min(K, g - 1)} \sum_{k=1}^K \eta^2_k

    is the mean squared canonical correlation of g groups with the first K axes, up to 5 of those
    that both maps have, or of the curved one where only its further axes part them. ``p_value`` is
    that of the curved map, by permutations of the groups; ``axis`` is where it parts them best.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "straight": "of 1, on the straight map",
        "curved": "of 1, on the curved map",
        "p_value": "of chance alone on the curved map",
        "axis": "of the curved map that separates the groups best",
    }

    factor: str
    straight: float
    curved: float
    p_value: float
    axis: int

    def _title(self) -> str:
        return f"Separation of {self.factor}"

    @property
    def is_gain(self) -> bool:
        """Whether the curved map parts the groups better, by more than chance."""
        return self.curved - self.straight >= GAIN and self.p_value <= LEVEL


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
            known = "" if colour is None else f" and {_as_well(colour, is_one_map=True)}"
            return (
                "A curved map, that of a kernel PCA, was drawn as a check and adds nothing: both "
                f"maps show the same ({alike} of 1{p}){known}. Read the straight map."
            )
        known = ", and no factor tells which of the two to trust"
        if colour is not None:
            known = f"; it {_as_well(colour)}"
        return (
            f"A curved map, that of a kernel PCA, was drawn as a check and differs ({alike} of 1)"
            f"{known}: read the straight one first."
        )


def _as_well(groups: Separation, *, is_one_map: bool = False) -> str:
    """Return how groups part on the curved map where that is no gain, with both numbers.

    ``is_one_map`` is whether the two maps were said to show the same.

    >>> _as_well(Separation("sex", 0.6, 0.65, 0.01, 1), is_one_map=True)
    'separate the groups of "sex" about as well (straight 60 %, curved 65 % on up to 5 axes)'
    >>> _as_well(Separation("sex", 0.6, 0.4, 0.01, 1), is_one_map=True)
    'the curved one separates the groups of "sex" worse (straight 60 %, curved 40 % on up to 5 axes)'
    """  # noqa: E501  (a doctest in one line)
    gain = groups.curved - groups.straight
    how = "worse" if gain <= -GAIN else "no better than chance would" if gain >= GAIN else ""
    straight, curved = percent(groups.straight), percent(groups.curved)
    numbers = f"straight {straight}, curved {curved} on up to {READ} axes"
    who = "separates" if not is_one_map else "the curved one separates" if how else "separate"
    return f'{who} the groups of "{groups.factor}" {how or "about as well"} ({numbers})'


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


def separations_of(  # noqa: PLR0913  (two maps of the same individuals, and whose groups)
    F: Array, G: Array, w: Array, kept: Array, factors: Sequence[Column], seed: int
) -> tuple[Separation, ...]:
    """Return how well groups part on as many axes as both maps have.

    Where that shows nothing new, the further axes of the curved map are asked: of two columns a
    straight map has no more than two.
    """
    F, G = F[:, :READ], G[:, :READ]
    shared = G[:, : F.shape[1]]
    first = tuple(_separations(F, shared, w, kept, factors, seed))
    if G.shape[1] == shared.shape[1] or any(one.is_gain for one in first):
        return first
    further = tuple(_separations(F, G, w, kept, factors, seed))
    return further if any(one.is_gain for one in further) else first


def _separations(  # noqa: PLR0913  (as above)
    F: Array, G: Array, w: Array, kept: Array, factors: Sequence[Column], seed: int
) -> Iterator[Separation]:
    for number, factor in enumerate(factors[:FACTORS]):
        labels = factor.values[kept]
        known = np.array([v is not None for v in labels.tolist()])
        levels, places = np.unique(labels[known].astype(str), return_inverse=True)
        if len(levels) < 2 or len(levels) >= known.sum():
            continue
        most = min(max(F.shape[1], G.shape[1]), len(levels) - 1)
        ours, theirs, weights = F[known], G[known], w[known]
        eta2 = correlation_ratios(theirs, places, weights)
        draws = Resampling(PERMUTATIONS_UNASKED, seed, stop_after=ENOUGH, threads=1)

        def statistic(
            r: int,
            draws: Resampling = draws,
            number: int = number,
            data: tuple[Array, Array, Array] = (theirs, places, weights),
        ) -> float:
            order = draws.generator(number, r).permutation(len(data[1]))
            return float(correlation_ratios(data[0], data[1][order], data[2]).sum())

        observed = float(eta2.sum())
        null = draws.null(draws.batches(statistic, ENOUGH), observed * (1 - 1e-12))
        yield Separation(
            factor.name,
            float(correlation_ratios(ours, places, weights).sum()) / most,
            observed / most,
            float(null.p_values[0]),
            1 + int(np.argmax(eta2)),
        )


def correlation_ratios(F: Array, places: Array, weights: Array) -> Array:
    r"""Return the share of each axis that lies between groups.

    .. math:: \eta^2 = \frac{\sum_g w_g (\bar f_g - \bar f)^2}{\sum_i w_i (f_i - \bar f)^2}

    >>> correlation_ratios(np.array([[0.0], [0.0], [1.0], [3.0]]), np.array([0, 0, 1, 1]), np.ones(4))
    array([0.66666667])
    """  # noqa: E501  (a doctest in one line)
    w = weights / weights.sum()
    away = F - w @ F
    masses = np.bincount(places, w)
    sums = np.column_stack([np.bincount(places, w * f) for f in away.T])
    total = w @ away**2
    between = np.sum(sums**2 / np.where(masses > 0, masses, 1.0)[:, None], axis=0)
    return np.asarray(between / np.where(total > 0, total, 1.0))


def parted_elsewhere(scores: Scores, factors: Sequence[Column]) -> str:
    r"""Return the groups that an axis beyond the first plane parts far better, and which to choose.

    Axis k parts groups by :math:`\eta^2_k`, the share of it that lies between them. It is told for
    the factor that gains most; with its best axis goes the one that parts all factors best.

    >>> from mercer.data.table import Role
    >>> F = np.random.default_rng(0).normal(size=(40, 3))
    >>> F[:, 2] += np.repeat([2.0, -2.0], 20)
    >>> kind = Column("kind", Role.FACTOR, np.repeat(["a", "b"], 20).astype(object))
    >>> scores = Scores(F, np.full(40, 1 / 40), np.ones(3), 1.0, None, ())
    >>> print(parted_elsewhere(scores, [kind]).partition(":")[0])
    Axis 3, which the first map does not show, separates the groups of "kind" best
    """
    F = scores.coordinates[:, :READ] / scores.unit
    found: list[tuple[str, np.ndarray]] = []
    for factor in factors[:FACTORS]:
        known = np.array([v is not None for v in factor.values.tolist()]) & (scores.weights > 0)
        levels, places = np.unique(factor.values[known].astype(str), return_inverse=True)
        if F.shape[1] > PLANE and 1 < len(levels) < known.sum():
            found.append((factor.name, correlation_ratios(F[known], places, scores.weights[known])))
            k = int(np.argmax(found[-1][1]))
            rest = scores.effective([k], known) - len(levels)
            if trace_p_value(float(found[-1][1][k]), 1, len(levels) - 1, rest) > LEVEL / READ:
                found.pop()
    if not found:
        return ""
    name, shares = max(found, key=lambda one: one[1].max() - one[1][:PLANE].max())
    best, seen = int(np.argmax(shares)), float(shares[:PLANE].max())
    if shares[best] < AXIS_PARTS or shares[best] - seen < BY_MORE:
        return ""
    together = np.sum([one for _, one in found], axis=0)
    together[best] = -1.0
    first, second = sorted((best + 1, int(np.argmax(together)) + 1))
    return (
        f'Axis {best + 1}, which the first map does not show, separates the groups of "{name}" '
        f"best: {percent(float(shares[best]))} of it lies between them, of axes 1 and 2 at most "
        f"{percent(seen)}. Choose axes {first} and {second} to see them."
    )
