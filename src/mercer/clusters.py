"""Classes of individuals on the axes of a model: a tree of least loss of inertia, and its cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.cluster.hierarchy import DisjointSet
from scipy.spatial.distance import cdist
from scipy.stats import f as f_law
from scipy.stats import hypergeom, norm
from sklearn.cluster import KMeans

from mercer.check import Array, is_missing, power_of_two, refuse_non_finite, whole
from mercer.data.tidy import Tidy, columns_of
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter
from mercer.reading.model import in_units_squared
from mercer.reading.scores import Scores
from mercer.settings import RandomState, seed_of

LEAST, MOST = 3, 10
"""Classes among which a number is suggested: two are seldom news, more are hard to tell."""

CELLS = 1_000
"""Individuals of a tree; more are first gathered in so many cells."""

ROUNDING = 64.0 * float(np.finfo(float).eps)
"""A share of the inertia, or of a column's largest entry, below which all is rounding."""

ROUNDS = 100
"""Rounds of consolidation at most."""


@dataclass(frozen=True, eq=False, repr=False)
class Clusters(Shown):
    r"""Individuals in classes, numbered from 1 along the first axis.

    .. math:: \sum_i w_i \|x_i - \mu\|^2 = \sum_c w_c \|\mu_c - \mu\|^2
        + \sum_c \sum_{i \in c} w_i \|x_i - \mu_c\|^2

    ``within`` is the last term, the inertia within classes, for 1, 2, … classes of the tree
    (``within_units`` in squares of ``unit``), and
    ``gains`` what each further class takes from it; ``suggested`` is the number of classes after
    which the least share is left. ``labels`` are the classes, ``is_consolidated`` whether
    individuals went to the nearest centre after the cut. ``distances`` are those of individuals
    to the centre of their class, on the axes, and ``remoteness`` to the nearest other centre.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "count": "of classes",
        "sizes": "of the classes, from 1",
        "share": "of the inertia that lies between classes",
        "suggested": "number of classes, by the tree",
    }

    labels: Array
    centres: Array
    within_units: Array
    suggested: int
    share: float
    distances: Array
    remoteness: Array
    weights: Array
    is_consolidated: bool
    names: tuple[str, ...] | None = None
    seed: int | None = None
    unit: float = 1.0

    @property
    def within(self) -> Array:
        """The inertia within 1, 2, … classes of the tree."""
        found: Array = in_units_squared(self.within_units, self.unit)
        return found

    @property
    def count(self) -> int:
        """How many classes there are."""
        return len(self.centres)

    @property
    def sizes(self) -> Array:
        """How many individuals each class has."""
        return _sizes(self.labels, self.count)

    @property
    def gains(self) -> Array:
        """The inertia that 2, 3, … classes take from within to between."""
        return -np.diff(self.within)

    def _title(self) -> str:
        return f"Clusters: {len(self.labels)} individuals in {self.count} classes"

    def members(self, label: int) -> Array:
        """Return the rows of a class, the nearest to its centre first: the most typical."""
        rows = np.flatnonzero(self.labels == self._known(label))
        return rows[np.argsort(self.distances[rows], kind="stable")]

    def remote(self, label: int) -> Array:
        """Return the rows of a class, the farthest from all other centres first."""
        rows = np.flatnonzero(self.labels == self._known(label))
        return rows[np.argsort(-self.remoteness[rows], kind="stable")]

    def _known(self, label: int) -> int:
        if whole(label, "label", least=1) > self.count:
            raise InvalidParameter(f"there are {self.count} classes, numbered from 1; not {label}")
        return int(label)

    def describe(self, data: Any) -> Tidy:
        r"""Return how each column of a table sets each class apart, the strongest first.

        .. math:: v = \frac{\bar x_c - \bar x}{\sqrt{\frac{N - n}{N - 1} \frac{s^2}{n}}}

        is the v-test of the mean of a column of numbers in a class of n among N individuals, s² its
        variance. Of a category v is the normal deviate of the hypergeometric law of its count in
        the class. Beyond ±1.96 chance alone would seldom do so. Individuals without weight are
        left out; others count alike.
        """
        active = np.flatnonzero(self.weights > 0)
        labels = self.labels[active]
        rows: list[dict[str, Any]] = []
        for name, column in columns_of(data, len(self.labels), "data").items():
            values = column[active]
            links = _of_numbers if values.dtype.kind in "iufb" else _of_labels
            rows += list(links(name, values, labels, self.count))
        rows.sort(key=lambda row: (row["class"], -abs(row["v_test"])))
        texts = {"column": object, "level": object}
        return Tidy({key: np.array([row[key] for row in rows], texts.get(key)) for key in rows[0]})

    def links(self, data: Any) -> Tidy:
        r"""Return how much of each column of numbers the classes account for, the most first.

        .. math:: \eta^2 = \frac{\sum_c n_c (\bar x_c - \bar x)^2}{\sum_i (x_i - \bar x)^2}, \quad
            F = \frac{\eta^2 / (k - 1)}{(1 - \eta^2) / (N - k)}

        with the p-value of F under its law. Classes were made from such columns: their p-values say
        how close a link is, not whether there is one.
        """
        active = np.flatnonzero(self.weights > 0)
        labels, k = self.labels[active], self.count
        found = []
        for name, column in columns_of(data, len(self.labels), "data").items():
            if column.dtype.kind not in "iufb":
                continue
            values, _ = _finite(name, column[active])
            away = values - values.mean()
            means = np.array([away[labels == c].mean() for c in range(1, k + 1)])
            total = float(away @ away) if np.ptp(values) > 0 else 0.0
            eta2 = float(_sizes(labels, k) @ means**2) / total if total > 0 else 0.0
            free = len(values) - k
            p_value = 1.0  # one class, or none with two members, can prove nothing
            if k > 1 and free > 0:
                F = free / (k - 1) * eta2 / (1.0 - eta2) if eta2 < 1.0 else np.inf
                p_value = float(f_law.sf(F, k - 1, free))
            found.append((name, eta2, p_value))
        if not found:
            raise InvalidInput("data hold no column of numbers; describe(data) reads categories")
        found.sort(key=lambda row: -row[1])
        names, eta2s, p_values = zip(*found, strict=True)
        return Tidy(
            {
                "column": np.array(names, dtype=object),
                "eta2": np.array(eta2s),
                "p_value": np.array(p_values),
            }
        )


def _sizes(labels: Array, count: int) -> Array:
    """Return how often each class occurs among labels."""
    return np.bincount(labels, minlength=count + 1)[1:]


def _finite(name: str, values: Array) -> tuple[Array, float]:
    """Return a column of numbers in a unit of their size, a constant one without rounding."""
    values = values.astype(np.float64)
    refuse_non_finite(values, f"data: {name!r}")
    unit = power_of_two(values)
    values = values / unit
    is_constant = float(np.ptp(values)) <= ROUNDING
    return (np.full(len(values), values[0]) if is_constant else values), unit


def _of_numbers(name: str, values: Array, labels: Array, count: int) -> Iterator[dict[str, Any]]:
    values, unit = _finite(name, values)
    N, mean, spread = len(values), values.mean(), values.std()
    spread = spread if np.ptp(values) > 0 else 0.0
    for label in range(1, count + 1):
        mine = values[labels == label]
        n = len(mine)
        error = spread * np.sqrt((N - n) / max(N - 1, 1) / max(n, 1))
        v = float((mine.mean() - mean) / error) if n and error > 0 else 0.0
        yield _row(
            label, name, "", v, unit * float(mine.mean()) if n else np.nan, unit * float(mean)
        )


def _of_labels(name: str, values: Array, labels: Array, count: int) -> Iterator[dict[str, Any]]:
    for row, value in enumerate(values.tolist()):
        if is_missing(value):
            raise InvalidInput(
                f"data: {name!r} has no label in row {row}; give the missing ones a level"
            )
    texts = np.array([str(value) for value in values.tolist()], dtype=object)
    for label in range(1, count + 1):
        mine = labels == label
        for level in sorted(set(texts.tolist())):
            has = texts == level
            both, n = int(np.sum(has & mine)), int(mine.sum())
            v = _hypergeometric_v(both, len(texts), int(has.sum()), n)
            yield _row(label, name, level, v, both / n if n else np.nan, float(has.mean()))


def _row(
    label: int, column: str, level: str, v: float, inside: float, overall: float
) -> dict[str, Any]:
    return {
        "class": label,
        "column": column,
        "level": level,
        "v_test": v,
        "p_value": float(2.0 * norm.sf(abs(v))),
        "in_class": inside,
        "overall": overall,
    }


def _hypergeometric_v(both: int, total: int, has: int, drawn: int) -> float:
    """Return the normal deviate of a count among individuals drawn without replacement.

    Half of the probability of the count itself is taken, as in the mid-p-value.

    >>> round(_hypergeometric_v(8, 20, 8, 8), 2), _hypergeometric_v(2, 4, 2, 4)
    (4.47, 0.0)
    """
    law = hypergeom(total, has, drawn)
    at = float(law.pmf(both))
    above = min(float(law.sf(both)) + 0.5 * at, 1.0)
    below = min(float(law.cdf(both)) - 0.5 * at, 1.0)
    return float(norm.isf(above) if above <= below else -norm.isf(below)) + 0.0


@dataclass(frozen=True)
class Tree:
    """Merges of cells, two at a time, by the inertia that is lost: the least first."""

    merges: Array
    losses: Array

    def cut(self, count: int) -> Array:
        """Return the class of each cell, from 0, once all but the last merges were made."""
        size = len(self.merges) + 1
        sets = DisjointSet(range(size))
        for a, b in self.merges[: size - count]:
            sets.merge(int(a), int(b))
        roots = [sets[i] for i in range(size)]
        return np.unique(roots, return_inverse=True)[1]

    @property
    def within(self) -> Array:
        """The inertia within 1, 2, … classes."""
        return np.cumsum(np.r_[0.0, self.losses])[::-1]


def ward(points: Array, weights: Array) -> Tree:
    r"""Return the tree of Ward, which loses the least inertia at each merge.

    .. math:: \Delta(a, b) = \frac{w_a w_b}{w_a + w_b} \|\mu_a - \mu_b\|^2

    Chains of nearest neighbours find it in time n² and memory n: two clusters that are nearest to
    each other are merged in any order, since no merge brings a cluster nearer to a third one.

    >>> tree = ward(np.array([[0.0], [1.0], [9.0]]), np.full(3, 1 / 3))
    >>> tree.losses.round(4), tree.cut(2)
    (array([ 0.1667, 16.0556]), array([0, 0, 1]))

    Murtagh, The Computer Journal 26 (1983) 354-359.
    """
    n = len(points)
    centres, masses = points.astype(np.float64).copy(), weights.astype(np.float64).copy()
    lives = np.ones(n, dtype=bool)
    chain: list[int] = []
    merges, losses = np.empty((n - 1, 2), dtype=int), np.empty(n - 1)
    for step in range(n - 1):
        if not chain:
            chain.append(int(np.argmax(lives)))
        while True:
            a = chain[-1]
            lost = masses[a] * masses / (masses[a] + masses)
            lost = np.where(lives, lost * np.sum((centres - centres[a]) ** 2, axis=1), np.inf)
            lost[a] = np.inf
            b = chain[-2] if len(chain) > 1 else -1
            nearest = int(np.argmin(lost))
            if b >= 0 and lost[b] <= lost[nearest]:
                break
            chain.append(nearest)
        del chain[-2:]
        merges[step], losses[step] = (a, b), lost[b]
        centres[b] = (masses[a] * centres[a] + masses[b] * centres[b]) / (masses[a] + masses[b])
        masses[b] += masses[a]
        lives[a] = False
    order = np.argsort(losses, kind="stable")
    return Tree(merges[order], losses[order])


def suggested_count(within: Array, individuals: int) -> int:
    """Return the number of classes that leaves the least share of what one class fewer left.

    It is from 3 to 10, at most half of the individuals, and not more than are needed to leave
    nothing within classes; of two or three individuals it is one class fewer.

    >>> suggested_count(np.array([10.0, 8.0, 7.0, 2.0, 1.8]), 50)
    4
    """
    least_left = ROUNDING * within[0]
    needed = int(np.sum(within > least_left)) + 1
    half = max(LEAST, round(individuals / 2))
    most = min(MOST, half, individuals - 1, needed, len(within))
    if most < LEAST:
        return max(1, most)
    left = np.maximum(within, least_left)
    shares = left[LEAST - 1 : most] / left[LEAST - 2 : most - 1]
    return LEAST + int(np.argmin(shares))


def cluster(
    model: Any,
    count: int | None = None,
    *,
    axes: int | None = None,
    consolidate: bool = True,
    random_state: RandomState = None,
) -> Clusters:
    """Return classes of the individuals of a model, near one another on its axes.

    Ward's tree of the individuals, each with its weight, is cut where it suggests or at ``count``
    classes; then individuals go to the nearest centre until none moves (k-means). More than a
    thousand individuals are first gathered in a thousand cells.

    Parameters
    ----------
    model : fitted model with individuals on axes, or a map
    count : int or None
        How many classes; None takes from 3 to 10, as the tree suggests.
    axes : int or None
        How many of the first axes decide; None takes all of the model.
    consolidate : bool
        Whether individuals move to the nearest centre after the cut.
    random_state : int, generator or None
        The seed of the cells of many individuals.

    Examples
    --------
    >>> import mercer as mc
    >>> irises = mc.datasets.iris()
    >>> found = mc.cluster(mc.PCA(2, standardize=True).fit(irises), 3)
    >>> found.sizes, round(found.share, 3)
    (array([50, 55, 45]), 0.8)
    >>> found.describe({"Species": irises.column("Species").values})["level"][0]
    'setosa'

    Husson, Josse & Pagès, Principal component methods - hierarchical clustering - partitional
    clustering, Agrocampus technical report, 2010.
    """
    scores = Scores.of(model)
    kept = scores.coordinates.shape[1]
    if kept == 0:
        raise InvalidInput("the model has no axes: all individuals coincide, and form one class")
    used = kept if axes is None else whole(axes, "axes", least=1)
    if used > kept:
        raise InvalidParameter(f"the model has {kept} axes, not {used}")
    X, w = scores.coordinates[:, :used] / scores.unit, scores.weights
    active = np.flatnonzero(w > 0)
    if len(active) < 2:
        raise InvalidInput("classes need at least two individuals with a weight")
    seed = seed_of(random_state) if len(active) > CELLS else None
    cells, masses, places = _cells(X[active], w[active], seed)
    tree = ward(cells, masses)
    within = tree.within + float(w[active] @ np.sum((X[active] - cells[places]) ** 2, axis=1))
    suggested = suggested_count(tree.within, len(active))
    k = suggested if count is None else whole(count, "count", least=1)
    if k > len(cells):
        raise InvalidParameter(f"{len(cells)} different individuals cannot form {k} classes")
    of_active = tree.cut(k)[places]
    centres = _means(X[active], w[active], of_active, k)
    if consolidate:
        rounds = KMeans(k, init=centres, n_init=1, max_iter=ROUNDS, tol=0.0)
        of_active = rounds.fit(X[active], sample_weight=w[active]).labels_
        centres = _means(X[active], w[active], of_active, k)
    order = np.argsort(centres[:, 0], kind="stable")
    centres = centres[order]
    distances = cdist(X, centres)
    labels = np.argmin(distances, axis=1)  # of those without a weight, which go to the nearest
    labels[active] = np.argsort(order)[of_active]
    own = np.take_along_axis(distances, labels[:, None], axis=1)[:, 0]
    np.put_along_axis(distances, labels[:, None], np.inf, axis=1)
    total = float(within[0])
    left = float(w @ own**2)
    return Clusters(
        labels=labels + 1,
        centres=scores.unit * centres,
        within_units=within,
        suggested=suggested,
        share=max(1.0 - left / total, 0.0) if total > 0 else 0.0,
        distances=scores.unit * own,
        remoteness=scores.unit * distances.min(axis=1) if k > 1 else np.full(len(X), np.inf),
        weights=w,
        is_consolidated=consolidate,
        names=getattr(getattr(model, "individuals_", None), "names", None),
        seed=seed,
        unit=scores.unit,
    )


def _cells(points: Array, weights: Array, seed: int | None) -> tuple[Array, Array, Array]:
    """Return cells, their masses, and which cell each individual is in; equal ones share one."""
    cells, places = np.unique(points, axis=0, return_inverse=True)
    places = places.ravel()
    if seed is not None and len(cells) > CELLS:
        found = KMeans(CELLS, n_init=1, max_iter=20, random_state=seed)
        labels = found.fit(points, sample_weight=weights).labels_
        _, places = np.unique(labels, return_inverse=True)
        cells = _means(points, weights, places, int(places.max()) + 1)
    return cells, np.bincount(places, weights, minlength=len(cells)), places


def _means(points: Array, weights: Array, labels: Array, count: int) -> Array:
    """Return the barycentres of classes."""
    masses = np.bincount(labels, weights, minlength=count)
    sums = np.column_stack([np.bincount(labels, weights * x, minlength=count) for x in points.T])
    return np.asarray(sums / masses[:, None])
