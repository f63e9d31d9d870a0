"""Individuals that stand apart from the others, on the axes or away from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import betainc, gammaincc

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown, first_names, listing, percent
from mercer.points import read_only
from mercer.reading.contributions_and_v_tests import Individuals

NOTHING = 1e-6
"""A share of the mean distance to the barycentre below which axes leave nothing out."""

WIDER = (1.3, 2.0)
"""By what variances of squared distances are multiplied: the second over √n is added to the first.

So few of 1 000 normal clouds with axes of random inertia have a distance beyond level 0.05: of 30
individuals on 4 axes 4.8 %, 60 on 6 3.4 %, 200 on 10 3.5 %; of 15 on 3, 10 %.
"""


ALONE, TIMES = 1 / 3, 6.0
"""The contribution of one individual from which on it makes an axis, and in terms of the mean."""

FEWEST_ROWS, PLANE = 10, 2
"""Individuals from which on one can be told from chance, and axes of which makers are told."""

TOLD, LONGEST = 5, 40
"""Individuals that a sentence names, and characters of a name."""


def makers_of(contributions: Array, count: int) -> list[tuple[int, int]]:
    """Return who makes one of the first two axes alone, as rows and axes counted from 0.

    That is a matter of the map, whether or not chance makes such individuals: an axis that one
    makes is another one without it. ``count`` individuals have a weight.

    >>> shares = np.full((20, 2), 1 / 20)
    >>> shares[:, 1] = np.r_[0.43, np.full(19, 0.03)]
    >>> makers_of(shares, 20)
    [(0, 1)]
    """
    if count < FEWEST_ROWS:
        return []
    first = contributions[:, :PLANE]
    return [
        (int(row), k)
        for k, row in enumerate(np.argmax(first, axis=0))
        if first[row, k] >= max(ALONE, TIMES / count)
    ]


@dataclass(frozen=True, eq=False, repr=False)
class Outliers(Shown):
    r"""Individuals that stand apart, with the reason.

    Each is measured by its contributions to the axes, its distance to the barycentre and its
    distance to the space of the axes. In a normal cloud of n individuals

    .. math:: \tfrac{n}{n-1}\gamma_{ik} \sim \mathrm{Beta}\!\left(\tfrac12, \tfrac{n-2}{2}\right),
        \qquad d_i^2 \approx g\,\chi^2_h, \quad
        g = \frac{s^2}{2m}, \; h = \frac{2m^2}{s^2},

    with the mean m of the squared distances of the others and s² their variance, widened by
    1.3 + 2/√n, since sums over unequal axes have longer tails and moments are estimated.
    ``p_values`` are the least of an individual's probabilities, corrected for the number of
    measures and of individuals (Šidák), so that of tables without outliers a share of at most
    about ``level`` shows any; ``rows`` are those with a p-value up to it, the least first.

    Thompson, Annals of Mathematical Statistics 6 (1935) 214-219; Box, Annals of Mathematical
    Statistics 25 (1954) 290-302.

    >>> from mercer import PCA
    >>> x = np.random.default_rng(0).standard_normal((40, 3))
    >>> x[7] += 9.0
    >>> found = PCA(2).fit(x).outliers()
    >>> found.rows, found.reasons
    (array([7]), ('83 % of axis 1',))
    """

    facts: ClassVar[Mapping[str, str]] = {
        "rows": "of those that stand apart",
        "reasons": "why they do",
        "level": "the share of tables without outliers that would show any",
    }

    individuals: Individuals
    level: float

    def _title(self) -> str:
        labels = [str(label) for label in self.individuals.labels[self.rows]]
        return f"Outliers: {first_names(labels) or 'none'}"

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
    def _chances(self) -> Array:
        """The probability of each measure of each individual: axes, distance, distance to them."""
        active = self.individuals.weights > 0
        n = int(active.sum())
        count, axes = self.contributions.shape
        chances = np.ones((count, axes + 2))
        if n < 3:
            return chances
        shares = np.clip(self.contributions[active] * n / (n - 1), 0.0, 1.0)
        chances[active, :axes] = 1.0 - betainc(0.5, 0.5 * (n - 2), shares)
        usual = float(np.mean(self.distances[active]))
        for j, lengths in enumerate((self.distances, self.plane_distances), axes):
            if float(lengths[active].max(initial=0.0)) > NOTHING * usual:
                chances[active, j] = _tail((lengths[active] / usual) ** 2)
        return chances

    @cached_property
    def p_values(self) -> Array:
        """The chance of so extreme a measure of any individual, 1 for those without a weight."""
        tests = max(int(np.sum(self.individuals.weights > 0)), 1) * self._chances.shape[1]
        least = np.clip(self._chances.min(axis=1, initial=1.0), 0.0, 1.0)
        with np.errstate(divide="ignore"):
            return read_only(-np.expm1(tests * np.log1p(-least)))

    @cached_property
    def rows(self) -> Array:
        order = np.argsort(self.p_values, kind="stable")
        return read_only(order[self.p_values[order] <= self.level])

    @cached_property
    def makers(self) -> list[tuple[int, int]]:
        """Who makes one of the first two axes alone, as rows and axes counted from 0."""
        return makers_of(self.contributions, self._active)

    @property
    def _active(self) -> int:
        """How many individuals have a weight."""
        return int(np.sum(self.individuals.weights > 0))

    def told(self, *, one: str = "individual", are_ringed: bool = False) -> str:
        """Say who stands apart and why, or that nobody does, with the rate of the rule.

        Who makes an axis and is no farther out than chance allows is named too. ``one`` is what a
        row is called, and ``are_ringed`` whether the sentence stands below a picture of them.
        """
        rate = (
            f"this rule names somebody in {100 * self.level:g} % of normal tables without outliers"
        )
        apart = [f"{self._name(i)} ({why})" for i, why in zip(self.rows, self.reasons, strict=True)]
        others = [(i, k) for i, k in self.makers if i not in self.rows]
        if apart:
            more = f" and {len(apart) - TOLD} more" if len(apart) > TOLD else ""
            start = "Ringed, farther" if are_ringed else "Farther"
            said = f"{start} out than chance allows ({rate}): {', '.join(apart[:TOLD])}{more}."
        elif others:
            said = f"No {one} is farther out than chance allows ({rate})."
        else:
            said = f"No {one} stands apart: none is farther out than chance allows ({rate})."
        return f"{said} {self._told_of(others, one)}" if others else said

    def _told_of(self, makers: list[tuple[int, int]], one: str) -> str:
        """Say who makes an axis alone without being farther out than chance allows."""
        shares = [
            f"{self._name(i)} makes {percent(self.contributions[i, k])} of axis {k + 1} alone"
            for i, k in makers
        ]
        them = "it" if len({i for i, _ in makers}) == 1 else "them"
        axes = "axis" if len(makers) == 1 else "axes"
        return (
            f"Yet {listing(shares)}: among {self._active} {one}s chance can do that, but see "
            f"whether the {axes} would be the same without {them}."
        )

    def _name(self, row: int) -> str:
        return str(self.individuals.labels[row])[:LONGEST]

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """The measure by which each of them stands apart most, in words."""
        return tuple(self._reason(i) for i in self.rows.tolist())

    def _reason(self, row: int) -> str:
        axes = self.contributions.shape[1]
        measure = int(np.argmin(self._chances[row]))
        if measure < axes:
            return f"{100 * self.contributions[row, measure]:.2g} % of axis {measure + 1}"
        lengths = self.distances if measure == axes else self.plane_distances
        usual = float(np.mean(lengths[self.individuals.weights > 0]))
        whence = "the barycentre" if measure == axes else "the axes"
        return f"{lengths[row] / usual:.2g} times the usual distance to {whence}"

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
            "p_value": self.p_values,
            "is_outlier": np.isin(np.arange(count), self.rows),
        }
        return as_frame(columns, library or self.individuals.library)


def _tail(squares: Array) -> Array:
    """Return the chance of squared lengths as large, under a multiple of χ² with others' moments.

    Each is compared with the mean and variance of the others, which it would itself make large.
    """
    n = len(squares)
    others = (squares.sum() - squares) / (n - 1)
    deviations = squares - squares.mean()
    scatter = np.sum(deviations**2) - deviations**2 * n / (n - 1)
    variances = scatter / (n - 2)
    variances = variances * (WIDER[0] + WIDER[1] / np.sqrt(n))
    lies = (variances > 0) & (others > 0)
    mean, variance = np.where(lies, others, 1.0), np.where(lies, variances, 1.0)
    return np.where(lies, gammaincc(mean**2 / variance, squares * mean / variance), 1.0)
