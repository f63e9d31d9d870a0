"""How well known groups part on a straight and on a curved map, with what chance could do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.table import Column
from mercer.display import Shown, percent
from mercer.reading.describe import trace_p_value
from mercer.reading.links import Scores
from mercer.resampling import PERMUTATIONS_UNASKED, Resampling
from mercer.settings import LEVEL

READ = 5
"""Axes on which groups are sought."""

PLANE = 2
"""Axes of the maps that are drawn, and compared."""

ENOUGH = 10
"""Exceedances after which a test ends."""

FACTORS = 10
"""Factors whose groups are sought, the first ones."""

GAIN = 0.1
"""How much more of a factor, or how much clearer clusters, a map must show to add something."""


AXIS_PARTS, BY_MORE = 0.5, 0.25
"""The share of an axis that lies between groups which it parts, and by how much it is larger."""


@dataclass(frozen=True, repr=False)
class Separation(Shown):
    r"""How well the groups of a factor part on the axes of each map, from 0 to 1.

    .. math:: s = \frac{1}{\min(K, g - 1)} \sum_{k=1}^K \eta^2_k

    is the mean squared canonical correlation of g groups with the first K axes, up to 5 of those
    that both maps have, or of the curved one where only its further axes part them. ``p_value`` is
    that of the curved map, by permutations of the groups, and ``straight_p_value`` of the other;
    ``axis`` is where the curved one parts them best. ``shares`` of the inertia of the two planes,
    which are drawn, lie between the groups.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "straight": "of 1, on the straight map",
        "curved": "of 1, on the curved map",
        "p_value": "of chance alone on the curved map",
        "axis": "of the curved map that separates the groups best",
        "straight_p_value": "of chance alone on the straight map",
        "shares": "of the inertia of both planes between the groups",
    }

    factor: str
    straight: float
    curved: float
    p_value: float
    axis: int
    straight_p_value: float
    shares: tuple[float, float]

    def _title(self) -> str:
        return f"Separation of {self.factor}"

    @property
    def is_gain(self) -> bool:
        """Whether the curved map parts the groups better, by more than chance."""
        return self.curved - self.straight >= GAIN and self.p_value <= LEVEL


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
        p, straight = _parted(F[known], places, w[known], seed, number)
        q, curved = _parted(G[known], places, w[known], seed, number)
        yield Separation(
            factor.name,
            float(straight.sum()) / most,
            float(curved.sum()) / most,
            q,
            1 + int(np.argmax(curved)),
            p,
            (plane_share(F[known], straight, w[known]), plane_share(G[known], curved, w[known])),
        )


def _parted(F: Array, places: Array, weights: Array, seed: int, number: int) -> tuple[float, Array]:
    """Return how well groups part on each axis, and with what chance if they were shuffled."""
    shares = correlation_ratios(F, places, weights)
    draws = Resampling(PERMUTATIONS_UNASKED, seed, stop_after=ENOUGH, threads=1)

    def statistic(r: int) -> float:
        order = draws.generator(number, r).permutation(len(places))
        return float(correlation_ratios(F, places[order], weights).sum())

    null = draws.null(draws.batches(statistic, ENOUGH), float(shares.sum()) * (1 - 1e-12))
    return float(null.p_values[0]), shares


def plane_share(F: Array, shares: Array, weights: Array) -> float:
    """Return the share of a plane between groups that have these ``shares`` of each axis."""
    F, w = F[:, :PLANE], weights / weights.sum()
    sizes = w @ (F - w @ F) ** 2
    total = float(sizes.sum())
    return float(shares[:PLANE] @ sizes) / total if total > 0 else 0.0


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
