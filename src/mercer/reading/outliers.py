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
from mercer.display import Shown, first_names
from mercer.points import read_only
from mercer.reading.contributions_and_v_tests import Individuals

NOTHING = 1e-6
"""A share of the mean distance to the barycentre below which axes leave nothing out."""

WIDER = (1.3, 2.0)
"""By what variances of squared distances are multiplied: the second over √n is added to the first.

So few of 1 000 normal clouds with axes of random inertia have a distance beyond level 0.05: of 30
individuals on 4 axes 4.8 %, 60 on 6 3.4 %, 200 on 10 3.5 %; of 15 on 3, 10 %.
"""


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
