"""Functions of a distance: their bandwidths, numbers or rules for data, and the Gaussian."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np
from array_api_compat import is_array_api_obj

from mercer.check import Array, Points, array_like, as_numpy, how_many, namespace, vectors
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.pairs import (
    LARGEST_SQUARE,
    AllPairs,
    Pairs,
    Scale,
    Statistic,
    exp,
    multiply_scales,
)
from mercer.kernels.statements import (
    FUNCTION,
    SINGLE_ACCURACY,
    Arithmetic,
    Bound,
    Frequencies,
    lengths_of,
    mixed_frequencies,
)
from mercer.points import SparseRows, as_points
from mercer.settings import number, numbers

Bandwidth: TypeAlias = float | tuple[float, ...] | str
"""A length, one length for each coordinate, or the rule that finds it from data."""

DISTANCE_RULES = ("median", "neighbours", "quantiles")
"""Rules that find a bandwidth from the distances of points: see `typical_distance`."""

NEIGHBOUR = 7
"""The nearest neighbour whose distance is a bandwidth, by the rule of that name."""

QUANTILES = (0.1, 0.9)
"""Of the squared distances, between whose inverses a bandwidth lies by the rule of that name."""

RULES = (*DISTANCE_RULES, "scale")
"""Rules for a bandwidth: by distances (`typical_distance`) of at most 1 000 points; or
√(p·variance/2), scikit-learn's gamma="scale"."""


LENGTHS = dict.fromkeys(("length_scale", "lengthscale", "sigma"), "bandwidth")
"""What a bandwidth is called in other libraries."""


def positive(v: Any, name: str) -> float:
    """Return a parameter that is greater than zero."""
    return number(v, name, above=0.0)


def checked_bandwidth(v: Any, name: str) -> Bandwidth:
    """Return a bandwidth: positive, one per coordinate, or the name of a rule."""
    if isinstance(v, str):
        if v in RULES:
            return v
        raise InvalidParameter(f"{name} knows the rules {', '.join(RULES)}, found {v!r}")
    if getattr(v, "ndim", None) == 0:
        v = as_numpy(v).item()
    if isinstance(v, Real):
        return positive(v, name)
    if v is None:
        raise InvalidParameter(
            f"{name} must be a number > 0, a sequence of them or a rule ({', '.join(RULES)}), "
            "found None"
        )
    return numbers(v, name, positive)


class Metric(Kernel):
    """A function of the distance ‖(x - y)/bandwidth‖ in some norm."""

    __slots__ = ()
    is_vectorial: ClassVar[bool] = True
    equivalents: ClassVar[Mapping[str, str]] = LENGTHS
    length_name: ClassVar[str] = "bandwidth"
    """The parameter by which differences are divided."""
    bandwidth: Bandwidth
    norm: float = 2.0

    @property
    def inner_weight(self) -> float | None:
        return 0.0  # differences of points do not know their origin

    @property
    def is_steep(self) -> bool:
        return True  # as far as is known

    @property
    def is_smooth(self) -> bool:
        return False

    @property
    def symbols(self) -> Mapping[str, str]:
        return self.distance_symbols()

    def distance_symbols(self) -> dict[str, str]:
        """Return s for the squared distance, r for the distance, t for a coordinate of x - y."""
        ell = self.length_name
        if isinstance(getattr(self, ell), tuple):
            squares = f"sum(j, (x[j] - y[j])**2 / {ell}[j]**2)"
            return {"s": squares, "r": f"sqrt({squares})", "t": f"((x[j] - y[j]) / {ell}[j])"}
        squares = f"norm(x - y)**2 / {ell}**2"
        return {"s": squares, "r": f"norm(x - y) / {ell}", "t": f"(x[j] - y[j]) / {ell}"}

    @property
    def length(self) -> Scale:
        """The bandwidth as numbers."""
        if isinstance(self.bandwidth, str):
            raise InvalidParameter(
                f"the bandwidth {self.bandwidth!r} depends on data: call k.resolve(x) first"
            )
        return self.bandwidth

    def stretch(self, scale: Scale) -> Kernel:
        length = multiply_scales(self.length, scale)
        return replace(self, **{self.length_name: length})  # type: ignore[type-var]

    @property
    def unit(self) -> Scale:
        """The bandwidth as numbers, 1 where data are still to decide."""
        return 1.0 if isinstance(self.bandwidth, str) else self.bandwidth

    @property
    def reads_sparse(self) -> bool:
        return self.norm == 2.0

    def resolve_own(self, x: Points) -> Kernel:
        if not isinstance(self.bandwidth, str):
            return self
        given = as_points(x, "x")
        if isinstance(given, SparseRows):
            bandwidth = self._of_sparse(given)
        elif self.bandwidth in DISTANCE_RULES:
            bandwidth = self._by_distances(sample_points(given))
        elif hasattr(given, "deviation"):  # on a device, where it is found
            columns = cast(Array, given).shape[1]
            bandwidth = varying(given.deviation()) * float(np.sqrt(columns / 2.0))
        else:
            bandwidth = positive_scale(as_numpy(vectors(given)))
        if bandwidth == np.inf:
            raise InvalidParameter(
                f"the bandwidth {self.bandwidth!r} of these data is too large for a double; "
                "rescale the data or give a number"
            )
        return replace(self, bandwidth=bandwidth)  # type: ignore[type-var]

    def _of_sparse(self, x: SparseRows) -> float:
        """Return the bandwidth of sparse rows by the rule."""
        if self.bandwidth in DISTANCE_RULES:
            squares = AllPairs(sample_points(x)).distance(self.norm) ** 2
            return typical_distance(squares, str(self.bandwidth), type(self).__name__)
        return deviation_scale(x.matrix.data, int(np.prod(x.shape)), x.shape[1])

    def _by_distances(self, points: Points) -> float:
        """Return a typical distance of rows, which may be finite where the largest is not."""
        rows = vectors(points)
        largest = float(np.max(np.abs(as_numpy(rows)), initial=0.0))
        # A distance is at most the sum over real coordinates of twice the largest of them.
        unit = 2.0 ** (4 * rows.shape[1]).bit_length() if largest > LARGEST_SQUARE else 1.0
        with np.errstate(over="ignore"):
            pairs = AllPairs(points if unit == 1.0 else rows / unit)
            distances = as_numpy(pairs.distance(self.norm))
        most = float(np.max(distances, initial=0.0)) or 1.0
        if most == np.inf:
            return most
        shares = (distances / most) ** 2  # of the largest: so that squares do not overflow
        found = typical_distance(shares, str(self.bandwidth), type(self).__name__)
        return unit * (most * found)


def positive_scale(rows: Array) -> float:
    """Return √(p·variance/2), the bandwidth at which γ = 1/(p·variance)."""
    return deviation_scale(rows, rows.size, rows.shape[1])


def deviation_scale(entries: Array, count: int, columns: int) -> float:
    """Return the same of a table that has these entries, and zeros up to a count."""
    unit = float(np.max(np.abs(entries), initial=0.0))
    shares = entries / unit if unit > 0 else entries
    mean = shares.sum() / max(count, 1)
    zeros = count - entries.size
    squares = float(np.sum(np.abs(shares - mean) ** 2)) + zeros * float(np.abs(mean)) ** 2
    variance = squares / max(count, 1)
    spread = varying(float(np.sqrt(variance)))  # in units: squares may overflow
    return unit * spread * float(np.sqrt(columns / 2.0))


def varying(deviation: float) -> float:
    """Return a standard deviation, refused where there is none."""
    if deviation == 0.0:
        raise InvalidParameter(
            "the bandwidth 'scale' is undefined: the data do not vary. Give a number"
        )
    return deviation


MEDIAN_SAMPLE = 1000
"""A median over this many points (half a million pairs) is exact enough for a bandwidth."""


def sample_points(x: Points) -> Points:
    """Return at most `MEDIAN_SAMPLE` points, always the same ones, spread over the data."""
    x = as_points(x, "x")
    n = how_many(x)
    if hasattr(x, "on_host"):  # on a device
        few: Points = x[_chosen(n)].on_host()
        return few
    if n <= MEDIAN_SAMPLE:
        return x
    chosen = _chosen(n)
    if hasattr(x, "picked"):
        some: Points = x.picked(chosen)
        return some
    if is_array_api_obj(x):
        xp = namespace(x)
        return xp.take(x, array_like(chosen, x), axis=0)
    rows = np.asarray(x) if hasattr(x, "__array__") else x  # a data frame's index is its own
    return [rows[int(i)] for i in chosen]


def sample_weights(weights: Array) -> Array:
    """Return the weights of the points that `sample_points` returns."""
    return np.asarray(weights[_chosen(len(weights))])


def _chosen(n: int) -> Array:
    """Return the numbers of at most so many of n points."""
    count = min(n, MEDIAN_SAMPLE)
    return np.sort(np.random.default_rng(0).choice(n, count, replace=False))


def typical_distance(squares: Any, rule: str, what: str) -> float:
    r"""Return a length that distances suggest for a bandwidth, from a matrix of their squares.

    "median" is that of the distances between different points; "neighbours" the median distance of
    a point to the seventh nearest other; "quantiles" lies between the tenth and the ninetieth
    hundredth of the squared distances,

    .. math:: \sigma^2 = \Big(\frac{1}{q_{0.1}} + \frac{1}{q_{0.9}}\Big)^{-1}

    the middle of the range in which Gaussian kernels :math:`e^{-\|x-y\|^2/2\sigma^2}` were found
    to serve (Caputo et al., 2002; Zelnik-Manor & Perona, 2004, for the seventh neighbour).

    >>> line = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 4.0], [9.0, 4.0, 0.0]])
    >>> typical_distance(line, "median", "x"), typical_distance(line, "neighbours", "x")
    (2.0, 3.0)
    """
    matrix = as_numpy(squares)
    upper = matrix[np.triu_indices(len(matrix), 1)]
    apart = upper[upper > 0]
    if not len(apart):
        raise InvalidInput(
            f"the bandwidth {rule!r} is undefined: all points are equal for {what}. "
            "Give the bandwidth as a number"
        )
    if rule == "quantiles":
        low, high = np.quantile(apart, QUANTILES)
        return float(np.sqrt(low / (1.0 + low / high)))
    if rule == "neighbours":
        others = np.sort(np.where(matrix > 0, matrix, np.inf), axis=1)
        known = np.sum(np.isfinite(others), axis=1)
        places = np.minimum(NEIGHBOUR, known) - 1
        apart = others[np.arange(len(matrix)), places][known > 0]
    return float(np.sqrt(np.median(apart)))


VANISHED = 2.0
"""Below so many times the smallest number an exponential is 0, at e^-86.9 or e^-708."""


class Radial(Metric):
    r"""A function of the squared Euclidean distance s = ‖(x - y)/bandwidth‖²: its profile.

    .. math:: k(x, y) = f(\|x - y\|^2 / \sigma^2)

    A profile that is positive definite in every dimension is a mixture of :math:`e^{-as}`
    (Schoenberg), so that both its value and its slope are largest at 0. A kernel of which this is
    not true, or whose profile is not computed to within 8 units of rounding of its largest value,
    states bounds of its own in `evaluate_bounds`; `check_kernel` tells.

    Points are vectors, real or complex; the bandwidth σ > 0, one number or one for each coordinate.

    >>> isinstance(Gaussian(2.0), Radial), Gaussian(2.0).profile(np.array([0.0, 2.0])).round(4)
    (True, array([1.    , 0.3679]))

    Kroese et al., footnote 1 of chapter 6.
    """

    __slots__ = ()

    @abstractmethod
    def profile(self, s: Array) -> Array:
        """Return the value at squared distance s, whose memory it may use."""

    @abstractmethod
    def profile_slope(self, s: Array) -> Array:
        """Return the derivative of the profile in s; what is not finite at s = 0 counts as 0."""

    def profile_partials(self, s: Array) -> dict[str, Array]:
        """Return the derivatives of the profile in parameters other than the bandwidth."""
        return {}

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        return (self.unit,)

    @property
    def has_one_length(self) -> bool:
        return isinstance(getattr(self, "bandwidth", None), float)

    def _at_zero(self, function: Callable[[Array], Array], s: float = 0.0) -> float:
        """Return the modulus of a function of s at 0, infinite where it has no value."""
        with np.errstate(all="ignore"):
            found = abs(float(as_numpy(function(np.full(1, s)))[0]))
        return found if found < np.inf else np.inf

    @property
    def steepest(self) -> float:
        """The largest slope of the profile."""
        return self._at_zero(self.profile_slope)

    @property
    def is_steep(self) -> bool:
        return self.steepest == np.inf

    @property
    def is_smooth(self) -> bool:
        return self._at_zero(self.profile, -SINGLE_ACCURACY) < np.inf

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        value, squares = self._at_zero(self.profile), arithmetic.squares_error(self.unit)
        error = self.steepest * squares if squares > 0 else 0.0  # points that are all the same
        if error == np.inf:  # but a convex profile changes nowhere more than at 0
            error = value - self._at_zero(self.profile, squares)
        if arithmetic.is_recomputed:  # and s|h'(s)| <= h(0) by convexity
            error = min(error, arithmetic.accuracy * value)
        return Bound(value, error + FUNCTION * arithmetic.unit * value)

    def mixing(self, count: int, rng: np.random.Generator) -> Array:
        r"""Return draws of τ, where the profile is a mixture of Gaussians of bandwidths 1/τ.

        .. math:: h(s) = h(0)\, E\, e^{-\tau^2 s / 2}

        Random Fourier features need them; override where the law is known.
        """
        return Metric.frequencies(self, 1, count, rng).amplitudes  # which refuses

    def frequencies(self, dimension: int, count: int, rng: np.random.Generator) -> Frequencies:
        lengths = lengths_of(self.length, dimension)
        waves = mixed_frequencies(dimension, count, rng, self.mixing) / lengths
        top = self._at_zero(self.profile)
        return Frequencies(waves, np.full(count, top**0.5 * count**-0.5))

    def evaluate(self, pairs: Pairs) -> Array:
        return self.profile(pairs.squared_distance(self.length))

    def _slope(self, pairs: Pairs) -> tuple[Array, Array]:
        s = pairs.squared_distance(self.length)
        return s, pairs.xp.where(s > 0, self.profile_slope(s + 0.0), 0.0)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        s, slope = self._slope(pairs)
        others = self.profile_partials(s)
        length = self.length
        if isinstance(length, tuple):
            gaps = pairs.difference(length)
            lengths = pairs.array(length)
            # Factor by factor: a square may overflow where the slope is 0, and the other way round.
            in_length = slope[..., None] * gaps * gaps * -2.0 / lengths
        else:
            in_length = slope * s * -2.0 / length
        return {**others, "bandwidth": in_length}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        _, slope = self._slope(pairs)
        lengths = pairs.array(self.length)
        return slope[..., None] * pairs.difference(self.length) * 2.0 / lengths


class Descending(Metric):
    """A function of the Euclidean distance that still changes where its square is no double."""

    __slots__ = ()

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        return (self.unit,)

    @abstractmethod
    def descents(self, pairs: Pairs, r: Array) -> tuple[Array, Array]:
        """Return minus the derivatives in r and in log r, at distances that are 1 in place of 0."""

    def other_partials(self, pairs: Pairs, r: Array) -> dict[str, Array]:
        """Return the derivatives in parameters other than the bandwidth."""
        return {}

    def _apart(self, pairs: Pairs) -> tuple[Array, Array]:
        """Return where the scaled distance is not 0, and the distance, 1 in place of 0."""
        distance = pairs.distance(2.0, self.length)
        return distance > 0, pairs.xp.where(distance > 0, distance, 1.0)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        xp = pairs.xp
        is_apart, r = self._apart(pairs)
        growth = xp.where(is_apart, self.descents(pairs, r)[1], 0.0)
        if isinstance(self.length, tuple):
            growth = growth[..., None] * (pairs.difference(self.length) / r[..., None]) ** 2
        lengths = pairs.array(self.length)
        return {**self.other_partials(pairs, r), "bandwidth": growth / lengths}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        xp = pairs.xp
        is_apart, r = self._apart(pairs)
        descent = xp.where(is_apart, self.descents(pairs, r)[0], 0.0)
        direction = pairs.difference(self.length) / r[..., None]
        return -descent[..., None] * direction / pairs.array(self.length)


@value
class Gaussian(Radial):
    r"""The Gaussian kernel with one bandwidth, or one for each coordinate.

    .. math:: k(x, y) = \exp\left(-\frac{\|x - y\|^2}{2\sigma^2}\right), \quad \sigma > 0

    In terms of :math:`\gamma = 1/(2\sigma^2)` it is :math:`e^{-\gamma\|x-y\|^2}`. A bandwidth may
    be a rule that a model resolves once, at its fit: "median", "neighbours", "quantiles", "scale".

    Points are vectors, real or complex; ``bandwidth`` > 0, one number or one for each coordinate,
    or a rule.

    >>> Gaussian(bandwidth=0.5)([[0.0]], [[1.0]])
    array([[0.13533528]])

    Beeny, Theorem 3.23; Kroese et al., Example 6.6.
    """

    bandwidth: Bandwidth = 1.0
    domain: ClassVar[Domain] = {"bandwidth": checked_bandwidth}
    theorem: ClassVar[str] = "the Gaussian is positive definite on every Hilbert space"
    formula: ClassVar[str] = "exp(-s / 2)"
    equivalents: ClassVar[Mapping[str, str]] = {**LENGTHS, "gamma": "1/(2·bandwidth²)"}

    def profile(self, s: Array) -> Array:
        return exp(s, -0.5)

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        r"""Return the bounds of all radial kernels, and one that is relative to the value.

        A squared distance that is off by δ multiplies the value by :math:`e^{\delta/2}`; so does
        the rounding of s/2, which is at most twice the largest squared norm.
        """
        found = Radial.evaluate_bounds(self, arithmetic)
        assert found is not None
        argument = 2.0 * arithmetic.largest[self.unit] * arithmetic.unit
        off = arithmetic.squares_error(self.unit) / 2.0 + argument
        if off > 1.0:  # points far apart, whose values are 0
            return found
        share = float(np.expm1(off))
        share += FUNCTION * arithmetic.unit * (1.0 + share)
        return found._replace(relative=share, lost=VANISHED * arithmetic.underflow)

    def mixing(self, count: int, rng: np.random.Generator) -> Array:
        return np.ones(count)

    def of_features(self, kernel: Kernel) -> Kernel:
        return kernel.gaussian(self.bandwidth)  # type: ignore[arg-type]  # which refuses several

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return -2.0 * pairs.xp.expm1(-0.5 * pairs.squared_distance(self.length))

    def profile_slope(self, s: Array) -> Array:
        return -0.5 * exp(-0.5 * s)


USUAL_KERNEL = Gaussian("median")
"""The kernel where none is named; its bandwidth is the median distance of the points."""
