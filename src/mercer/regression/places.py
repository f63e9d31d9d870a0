"""Observations on a line, pooled where they stand at the same place, in units without dimension."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidInput

WIDEST = 1e100
"""A penalty is in units of the cubed range, which must be a double."""

LIGHTEST = 1e-40
"""Observations of less than this share of the largest weight are lost beside it."""


@dataclass(frozen=True)
class Places:
    r"""Distinct places with the weights and means of their observations.

    Places are measured from the first as shares of the range, weights as multiples of their mean
    over the observations, and values from the weighted least squares line, which a spline
    reproduces exactly. Pooling changes the sum of squares by a constant,

    .. math:: \sum_i w_i (y_i - g(x_i))^2 = \sum_j W_j (\bar y_j - g(x_j))^2 + S
    """

    origin: float
    range: float
    at: Array
    weights: Array
    means: Array
    values: Array
    """The means minus the least squares line."""
    within: float
    """S, the sum of squares about the means of the places."""
    mean_weight: float
    count: int
    """How many observations there are."""
    intercept: float
    slope: float
    inverse: Array | None
    """The place of each observation, None where they are in order."""
    row_weights: Array
    deviations: Array
    """Each observation minus the mean of its place, a single 0 where no two share one."""

    @property
    def rows(self) -> Array | slice:
        """What takes places to observations."""
        return slice(None) if self.inverse is None else self.inverse

    @cached_property
    def gaps(self) -> Array:
        return np.diff(self.at)

    @property
    def unit(self) -> float:
        """The penalty that is 1 without dimension: mean weight times the cube of the range."""
        return self.mean_weight * self.range**3

    def line(self, at: Array) -> Array:
        """Return the least squares line."""
        return np.asarray(self.intercept + self.slope * at)


def pooled(x: Array, y: Array, weights: Array) -> Places:
    """Return the distinct places of observations with positive weights.

    >>> places = pooled(np.array([3.0, 1.0, 3.0]), np.array([1.0, 4.0, 3.0]), np.ones(3))
    >>> places.at, places.weights, places.within, places.line(places.at)
    (array([0., 1.]), array([1., 2.]), 2.0, array([4., 2.]))
    """
    origin = float(x.min())
    with np.errstate(over="ignore"):
        span = float(x.max() - origin)
    if span == 0.0:
        raise InvalidInput(
            f"a spline needs at least two different places, and all {x.size} observations of "
            f"positive weight have x = {origin!r}"
        )
    if not 1.0 / WIDEST < span < WIDEST:
        raise InvalidInput(
            f"the range of x is {span:g}, whose cube is no double: multiply x by a power of ten"
        )
    with np.errstate(over="ignore"):
        mean_weight = float(weights.mean())
    if not WIDEST**-3 < mean_weight * span**3 < WIDEST**3:
        raise InvalidInput(
            f"the mean weight {mean_weight:g} times the cube of the range {span:g} of x is no "
            "double: multiply the weights by a power of ten"
        )
    at: Array = x - origin
    at /= span
    w = weights if mean_weight == 1.0 else weights / mean_weight
    totals, means, deviations = w, y, np.zeros(1)
    inverse: Array | None = None
    if np.any(at[1:] <= at[:-1]):
        # Also places whose distances from the first round to the same number are one.
        at, inverse = map(np.asarray, np.unique(at, return_inverse=True))
        totals, means, deviations = _means(inverse, w, y, at.size)
    total = float(totals.sum())
    middle, level = float(totals @ at) / total, float(totals @ means) / total
    across, values = at - middle, means - level
    slope = _triple(totals, across, values) / _triple(totals, across, across)
    across *= slope
    values -= across
    return Places(
        origin=origin,
        range=span,
        at=at,
        weights=totals,
        means=means,
        values=values,
        within=float(np.sum(w * deviations**2)) if deviations.size > 1 else 0.0,
        mean_weight=mean_weight,
        count=x.size,
        intercept=level - slope * middle,
        slope=slope,
        inverse=inverse,
        row_weights=w,
        deviations=deviations,
    )


def _triple(a: Array, b: Array, c: Array) -> float:
    """Return the sum of products of three, without an array between."""
    return float(np.einsum("i,i,i", a, b, c))


def _means(rows: Array, w: Array, y: Array, count: int) -> tuple[Array, Array, Array]:
    """Return the weights and means of places, and what observations deviate from them."""
    totals: Array = np.bincount(rows, w)
    if count == y.size:
        means = np.empty(count)
        means[rows] = y  # as they are, only in order
        return totals, means, np.zeros(1)
    centre = float(y.mean())
    means = centre + np.bincount(rows, w * (y - centre)) / totals
    return totals, means, y - means[rows]
