"""The smoothing spline of given places for one penalty, in linear time and to full precision."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import CubicSpline, PPoly

from mercer.check import Array
from mercer.errors import InvalidInput, InvalidParameter
from mercer.regression.spline_filter import (
    Known,
    Swept,
    carry,
    joint_determinant,
    joint_mean,
    observe,
    six,
    swept,
)

WIDEST = 1e100
"""A penalty is in units of the cubed range, which must be a double."""

LIGHTEST = 1e-40
"""Observations of less than this share of the largest weight are lost beside it."""

INTERPOLATING = 1e-100
"""Penalties without dimension below this change no digit of the interpolating spline."""


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


def pool_places(x: Array, y: Array, weights: Array) -> Places:
    """Return the distinct places of observations with positive weights.

    >>> places = pool_places(np.array([3.0, 1.0, 3.0]), np.array([1.0, 4.0, 3.0]), np.ones(3))
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
            f"the range of x is {span:g}, whose cube leaves the range of double precision: "
            "multiply x by a power of ten"
        )
    with np.errstate(over="ignore"):
        mean_weight = float(weights.mean())
    if not WIDEST**-3 < mean_weight * span**3 < WIDEST**3:
        raise InvalidInput(
            f"the mean weight {mean_weight:g} times the cube of the range {span:g} of x "
            "leaves the range of double precision: multiply the weights by a power of ten"
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


@dataclass(frozen=True)
class Curve:
    r"""The minimiser of :math:`\sum_i w_i (y_i - g(x_i))^2 + \lambda \int g''^2`, λ > 0 or ∞.

    Each place is seen from the left and from the right by an information filter of rate 1/λ;
    the sum of both is all that is known there.
    """

    places: Places
    penalty: float

    @property
    def rate(self) -> float:
        return 1.0 / self.penalty

    @cached_property
    def _swept(self) -> Swept:
        return swept(self.places.gaps, self.places.weights, self.places.values, self.rate)

    @cached_property
    def left(self) -> Known[Array]:
        return self._swept.left

    @cached_property
    def right(self) -> Known[Array]:
        return self._swept.right

    @cached_property
    def remainders(self) -> Array:
        """One minus the leverages."""
        return self._swept.remainders

    @cached_property
    def leverages(self) -> Array:
        """The diagonal of the smoother."""
        return self._swept.leverages

    @cached_property
    def residuals(self) -> Array:
        """The observed means minus the curve."""
        return self._swept.residuals

    @property
    def degrees_of_freedom(self) -> float:
        """The trace of the smoother."""
        return float(self.leverages.sum())

    @property
    def freedom_left(self) -> float:
        """The number of observations minus the trace of the smoother, however small that is."""
        return self.places.count - self.places.at.size + float(self.remainders.sum())

    @cached_property
    def square_sum(self) -> float:
        """The weighted sum of squared residuals over all observations."""
        squares = np.einsum("i,i,i", self.places.weights, self.residuals, self.residuals)
        return float(squares) + self.places.within

    @cached_property
    def state(self) -> tuple[Array, Array, Array, Array]:
        """The curve's values, slopes, second derivatives, and third derivatives to the right."""
        p = self.places
        after = observe(self.left, p.weights, p.values)
        g, slope = joint_mean(after, self.right, joint_determinant(after, self.right))
        # By parts, half the cost on the right has the derivatives λg''' in g and -λg'' in g'.
        A, M, C, _, U, V = self.right
        third = self.rate * (A * g + M * slope - U)
        second = -self.rate * (V + M * g + C * slope)
        return g, slope, second, third

    @property
    def roughness(self) -> float:
        """∫ g''², from the piecewise linear second derivative."""
        c = self.state[2]
        return float(self.places.gaps @ (c[:-1] ** 2 + c[:-1] * c[1:] + c[1:] ** 2)) / 3.0

    @property
    def restricted(self) -> float:
        r"""Minus twice the restricted log-likelihood but for a constant.

        .. math:: (N - 2) \log S_\lambda + \textstyle\sum \log \Delta_i + \log d_n

        where S is the minimum of the penalised sum of squares.
        """
        p = self.places
        penalised = float(p.weights @ (p.values * self.residuals)) + p.within
        last = self.left[3][-1] + p.weights[-1] * self.left[2][-1]
        scale = max(penalised, np.finfo(float).tiny)
        return (p.count - 2) * float(np.log(scale)) + self._swept.log_ratios + float(np.log(last))

    @cached_property
    def pieces(self) -> PPoly:
        """The curve as polynomials between the places, linear beyond them."""
        p = self.places
        g, slope, second, third = (np.array(k) for k in self.state)
        g, slope = g + p.line(p.at), slope + p.slope
        second[[0, -1]] = third[-1] = 0.0  # a natural spline is linear beyond its ends
        before = [[0.0], [0.0], [slope[0]], [g[0] - slope[0]]]
        pieces = np.hstack([before, np.stack([third / 6.0, second / 2.0, slope, g])])
        return PPoly(pieces, np.concatenate([[-1.0], p.at, [2.0]]))

    def variances(self, at: Array) -> tuple[Array, Array]:
        """Return the posterior variances of g and g' at any places, for noise of variance 1.

        A place without observation is seen from its two neighbours.
        """
        p = self.places
        i = np.searchsorted(p.at, at, side="right")
        none = (np.zeros(1),) * 6
        from_left = observe(self.left, p.weights, p.values)
        from_right = observe(self.right, p.weights, p.values)
        lefts = (np.concatenate([z, k])[i] for z, k in zip(none, from_left, strict=True))
        rights = (np.concatenate([k, z])[i] for z, k in zip(none, from_right, strict=True))
        before = np.concatenate([[0.0], p.at])[i]
        after = np.concatenate([p.at, [0.0]])[i]
        rate = np.asarray(self.rate)
        left, _ = carry(six(lefts), np.where(i > 0, at - before, 0.0), rate)
        right, _ = carry(six(rights), np.where(i < p.at.size, after - at, 0.0), rate)
        determinant = joint_determinant(left, right)
        return (left[2] + right[2]) / determinant, (left[0] + right[0]) / determinant


class Interpolant(Curve):
    """The natural cubic spline through the places: the limit for penalty 0."""

    @cached_property
    def leverages(self) -> Array:
        return np.ones_like(self.places.at)

    @cached_property
    def remainders(self) -> Array:
        return np.zeros_like(self.places.at)

    @cached_property
    def residuals(self) -> Array:
        return np.zeros_like(self.places.at)

    @cached_property
    def state(self) -> tuple[Array, Array, Array, Array]:
        p = self.places
        natural = CubicSpline(p.at, p.values, bc_type="natural")
        third = np.append(natural(p.at[:-1], 3), 0.0)
        return p.values, natural(p.at, 1), natural(p.at, 2), third

    def variances(self, at: Array) -> tuple[Array, Array]:
        raise InvalidParameter(
            "a spline with penalty 0 goes through its data and knows nothing of their noise; "
            "there is a standard deviation for penalties > 0"
        )


def curve(places: Places, penalty: float) -> Curve:
    """Return the curve for a penalty without dimension between 0 and infinity, both included.

    >>> from mercer.regression.spline_curve import pool_places
    >>> places = pool_places(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0]), np.ones(3))
    >>> [round(curve(places, penalty).degrees_of_freedom, 6) for penalty in (0.0, 0.1, np.inf)]
    [3.0, 2.121951, 2.0]
    """
    return Interpolant(places, 0.0) if penalty < INTERPOLATING else Curve(places, penalty)
