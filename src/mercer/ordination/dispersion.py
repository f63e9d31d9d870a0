"""Do groups differ in their spread: distances of individuals to the centre of their group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown, warn
from mercer.errors import InvalidInput, ReadingWarning
from mercer.estimator import one_of
from mercer.ordination.designs import BATCH, Cloud, factor_columns, groups_of
from mercer.ordination.permanova import TIES
from mercer.points import read_only
from mercer.progress import Progress, follow_work
from mercer.resampling import PERMUTATIONS, Resampling
from mercer.settings import RandomState, is_yes, spelled

CENTRES = ("centroid", "median")

MOST = 3_000
"""Individuals whose coordinates are found for spatial medians: all eigenvectors of n² numbers."""

STEPS = 10_000
"""Steps to a spatial median at most."""

SETTLED = 1e-13
"""A step below this share of the spread of a group ends the search for its median."""


@dataclass(frozen=True, eq=False, repr=False)
class Dispersion(Shown):
    """How far individuals are from the centre of their group, and whether groups differ in it.

    ``distances`` are those of the individuals in ``rows``, which have a weight; ``means`` are the
    mean distances of the groups in ``levels``. ``null`` has the F of each permutation; without
    permutations ``p_value`` is None.

    >>> import mercer as mc
    >>> irises = mc.datasets.iris()
    >>> apart = mc.distance("linear()", irises.matrix(), irises.matrix())
    >>> found = mc.dispersion(apart, irises.column("Species").values, random_state=0)
    >>> found.means.round(2), found.p_value
    (array([0.49, 0.71, 0.83]), 0.001)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "levels": "the groups",
        "means": "of the distances to the centre of the group",
        "f": "of the means",
        "p_value": "of equal spread",
    }

    levels: tuple[str, ...]
    groups: Array
    distances: Array
    means: Array
    f: float
    degrees: tuple[int, int]
    p_value: float | None
    centre: str
    rows: Array
    names: tuple[str, ...] | None
    permutations: int
    seed: int | None
    null: Array

    def _title(self) -> str:
        return (
            f"Dispersion: {len(self.distances)} individuals in {len(self.levels)} groups, about "
            f"their {self.centre}s, {self.permutations} permutations"
        )

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each individual."""
        labels = np.array(self.names or [str(row) for row in self.rows], dtype=object)
        levels = np.array(self.levels, dtype=object)
        columns = {"individual": labels, "group": levels[self.groups], "distance": self.distances}
        return as_frame(columns, library)


@spelled
def dispersion(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    individuals: Any,
    groups: Any,
    *,
    centre: str = "centroid",
    adjusted: bool = True,
    metric: str | None = None,
    axes: int | None = None,
    permutations: int = PERMUTATIONS,
    stop_after: int | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Dispersion:
    r"""Test whether groups are spread alike, by distances or in the space of any kernel.

    .. math:: z_i = \|\varphi_i - \mu_{g(i)}\|, \quad
        z_i^2 = B_{ii} - 2 \sum_{j \in g} a_j B_{ij} + \sum_{jk \in g} a_j a_k B_{jk}

    and F is that of the analysis of variance of z, its residuals permuted. The centre of a group
    is its mean, a = 1/n_g, or its spatial median, which minimises :math:`\sum_i \|\varphi_i -
    m\|` and moves little with single individuals. Of distances that are not Euclidean the median
    is found apart on the axes of positive and of negative eigenvalues, whose squares are
    subtracted; where z² is then negative z is 0, with a warning.

    An individual draws the centre of its group towards itself, in a small group more than in a
    large one, which alone would make small groups look tighter: z² is divided by 1 - 1/n_g, or by
    :math:`1 - \sum_g a_j^2` with weights, unless ``adjusted`` is False, which is
    the default of vegan's betadisper.

    ``individuals``, ``metric``, ``axes`` and what follows are those of `permanova`, which answers
    to unequal spread too: where it finds a difference, this says whether spread may be the reason.

    >>> import mercer as mc
    >>> x, side = np.array([[0.0], [2.0], [10.0], [16.0]]), ["a", "a", "b", "b"]
    >>> mc.dispersion(x, side, permutations=0, adjusted=False).distances
    array([1., 1., 3., 3.])
    >>> mc.dispersion(x, side, permutations=0).distances ** 2
    array([ 2.,  2., 18., 18.])

    Anderson, Biometrics 62 (2006) 245-253.
    """
    one_of(centre, "centre", CENTRES)
    cloud = Cloud.of(individuals, axes, metric)
    columns = factor_columns(groups, cloud.count)
    if len(columns) > 1:
        raise InvalidInput("dispersion is that of one factor; combine the labels of several")
    (name, values), *_ = columns.items()
    codes, levels = groups_of(values, name, cloud.rows)
    free = len(cloud) - len(levels)
    if free < 1:
        raise InvalidInput(f"{name!r} puts every individual in a group of its own")
    squares = (_to_means if centre == "centroid" else _to_medians)(cloud, codes, len(levels))
    z = np.sqrt(_not_negative(squares, float(np.max(cloud.squares))))
    if is_yes(adjusted, "adjusted"):
        z = z * _adjustments(codes, cloud.weights, len(levels))
    variance = Variance(codes, cloud.masses, len(levels))
    means = variance.means(z)
    observed = variance.ratio(z)
    rest = z - means[codes]
    with follow_work(progress, "permutations") as tell:
        draws = Resampling.of(
            permutations,
            random_state,
            least=0,
            stop_after=stop_after,
            threads=threads,
            progress=tell,
        )
        nulls = draws.batches(lambda r: variance.ratio(draws.generator(r).permutation(rest)), BATCH)
        found = draws.null(nulls, observed * (1.0 - TIES))
    return Dispersion(
        levels,
        read_only(codes),
        read_only(cloud.unit * z),
        read_only(cloud.unit * means),
        observed,
        (len(levels) - 1, free),
        float(found.p_values[0]) if draws.count else None,
        centre,
        read_only(cloud.rows),
        cloud.names,
        draws.count,
        draws.seed if draws.count else None,
        read_only(found.values[:, 0]),
    )


@dataclass(frozen=True, eq=False)
class Variance:
    """The analysis of variance of one column of numbers by groups.

    >>> found = Variance(np.array([0, 0, 1, 1]), np.ones(4), 2)
    >>> z = np.array([1.0, 3.0, 4.0, 6.0])
    >>> found.means(z), found.ratio(z)
    (array([2., 5.]), 4.5)
    """

    codes: Array
    masses: Array
    count: int

    def means(self, z: Array) -> Array:
        sums = np.bincount(self.codes, self.masses * z, minlength=self.count)
        return np.asarray(sums / np.bincount(self.codes, self.masses, minlength=self.count))

    def ratio(self, z: Array) -> float:
        """Return F, infinite where groups differ and have no spread, 0 where nothing varies."""
        away = z - self.masses @ z / self.masses.sum()
        means = self.means(away)
        within = float(self.masses @ (away - means[self.codes]) ** 2)
        between = float(self.masses @ means[self.codes] ** 2)
        noise = len(z) * float(np.finfo(float).eps) ** 2 * float(np.max(z * z, initial=0.0))
        if within <= noise:
            return float(np.inf) if between > noise else 0.0
        return between / (self.count - 1) / (within / (len(z) - self.count))


def _adjustments(codes: Array, weights: Array, count: int) -> Array:
    r"""Return :math:`1/\sqrt{1 - \sum_g a_j^2}` for each individual; 1 for one that is alone.

    >>> _adjustments(np.array([0, 0, 1]), np.ones(3), 2) ** 2
    array([2., 2., 1.])
    """
    shares = weights / np.bincount(codes, weights, minlength=count)[codes]
    rest = 1.0 - np.bincount(codes, shares**2, minlength=count)
    return np.asarray(1.0 / np.sqrt(np.where(rest > 0, rest, 1.0)))[codes]


def _not_negative(squares: Array, largest: float) -> Array:
    """Return squared distances with what rounding left below 0, or more with a warning, as 0."""
    noise = len(squares) * float(np.finfo(float).eps) * largest
    if np.any(squares < -noise):
        count = int(np.sum(squares < -noise))
        warn(
            f"{count} squared distances to the centre of a group are negative, and taken as 0: the "
            "distances are not Euclidean. ClassicalMDS(correction=...) makes them so",
            ReadingWarning,
        )
    return np.where(squares > noise, squares, 0.0)


def _to_means(cloud: Cloud, codes: Array, count: int) -> Array:
    """Return the squared distances to the means of groups."""
    members = (codes[:, None] == np.arange(count)) * cloud.weights[:, None]
    shares = members / members.sum(axis=0)
    images = cloud.product(shares)
    own = np.einsum("ij,ij->j", shares, images)
    rows = np.arange(len(cloud))
    return np.asarray(cloud.squares - 2.0 * images[rows, codes] + own[codes])


def _to_medians(cloud: Cloud, codes: Array, count: int) -> Array:
    """Return the squared distances to the spatial medians of groups."""
    if len(cloud) > MOST:
        raise InvalidInput(
            f"spatial medians take all coordinates of {len(cloud)} individuals, and are found for "
            f"{MOST} at most: take the coordinates of a fitted model by axes=, or its centroids"
        )
    B = cloud.product(np.eye(len(cloud)))
    values, vectors = np.linalg.eigh(0.5 * B + 0.5 * B.T)
    noise = len(cloud) * float(np.finfo(float).eps) * float(np.max(np.abs(values), initial=0.0))
    squares = np.zeros(len(cloud))
    for sign in (1.0, -1.0):
        kept = sign * values > noise
        F = vectors[:, kept] * np.sqrt(np.abs(values[kept]))
        for code in range(count):
            mine = np.flatnonzero(codes == code)
            middle = spatial_median(F[mine], cloud.weights[mine])
            squares[mine] += sign * np.sum((F[mine] - middle) ** 2, axis=1)
    return squares


def spatial_median(points: Array, weights: Array) -> Array:
    r"""Return the point m with the least weighted sum of distances to points.

    .. math:: \min_m \sum_i w_i \|x_i - m\|

    Weiszfeld's steps, which from a point of the data go on as Vardi and Zhang showed.

    >>> spatial_median(np.array([[0.0], [1.0], [9.0]]), np.ones(3))
    array([1.])

    Vardi & Zhang, Proceedings of the National Academy of Sciences 97 (2000) 1423-1426.
    """
    middle = weights @ points / weights.sum()
    spread = float(np.max(np.linalg.norm(points - middle, axis=1), initial=0.0))
    for _ in range(STEPS):
        away = np.linalg.norm(points - middle, axis=1)
        is_here = away <= SETTLED * spread
        pulls = np.where(is_here, 0.0, weights / np.where(is_here, 1.0, away))
        if not np.any(pulls):
            break
        aim = pulls @ points / pulls.sum()
        pull = float(np.linalg.norm(pulls @ (points - middle)))
        mass = float(weights @ is_here)
        stay = min(1.0, mass / pull) if pull > 0 else 1.0
        further = (1.0 - stay) * aim + stay * middle
        moved = float(np.linalg.norm(further - middle))
        middle = further
        if moved <= SETTLED * spread:
            break
    nearest = int(np.argmin(np.linalg.norm(points - middle, axis=1)))
    losses = [
        float(weights @ np.linalg.norm(points - m, axis=1)) for m in (middle, points[nearest])
    ]
    return np.asarray(points[nearest] if losses[1] <= losses[0] else middle)
