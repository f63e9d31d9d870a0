"""Functions of a distance beside the Gaussian: Laplacian, Matérn, rational quadratic, negative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from array_api_compat import is_numpy_array

from mercer.check import Array, array_like, as_numpy, namespace
from mercer.errors import NotPositiveDefinite
from mercer.kernels.base import Domain, Kind, value
from mercer.kernels.bessel import matern, matern_descent, matern_slope
from mercer.kernels.pairs import (
    LARGEST_SQUARE,
    Pairs,
    Statistic,
    exp,
)
from mercer.kernels.radial import (
    LENGTHS,
    Bandwidth,
    Descending,
    Metric,
    Radial,
    checked_bandwidth,
    positive,
)
from mercer.kernels.statements import (
    FUNCTION,
    Arithmetic,
    Bound,
    Frequencies,
    lengths_of,
    mixed_frequencies,
)
from mercer.settings import number

BESSEL = 1e-12
"""Relative error allowed to the Matérn profile beside its argument's; 3e-13 was the worst seen."""


HALF_INTEGERS: Mapping[float, tuple[float, ...]] = {
    0.5: (1.0,),
    1.5: (1.0, 1.0),
    2.5: (1.0, 1.0, 1.0 / 3.0),
}
"""Coefficients of the polynomial in z that multiplies exp(-z) in Matérn's profile, by ν."""


@value
class Matern(Descending, Radial):
    r"""The Matérn kernel of smoothness ν; the exponential at ν = 1/2, the Gaussian at ν = ∞.

    .. math:: k(x, y) = \frac{2^{1-\nu}}{\Gamma(\nu)}\, z^\nu K_\nu(z),
        \quad z = \sqrt{2\nu}\, \frac{\|x - y\|}{\sigma}, \quad \nu > 0

    Its functions are those of the Sobolev space of order ν + p/2 in p dimensions.

    Points are vectors, real or complex; ``nu`` ν > 0, ∞ too; ``bandwidth`` > 0, one number or one
    for each coordinate, or a rule.

    >>> Matern(nu=1.5, bandwidth=1.3)([[0.0]], [[1.0]])
    array([[0.61540677]])

    Kroese et al., (6.16).
    """

    nu: float = 1.5
    bandwidth: Bandwidth = 1.0
    domain: ClassVar[Domain] = {
        "nu": lambda v, name: number(v, name, above=0.0, allowed=np.inf),
        "bandwidth": checked_bandwidth,
    }
    theorem: ClassVar[str] = "the characteristic function of a multivariate Student law"

    @property
    def formula(self) -> str:
        closed = {0.5: "exp(-r)", 1.5: "(1 + z) * exp(-z)", np.inf: "exp(-s / 2)"}
        closed[2.5] = "(1 + z + z**2 / 3) * exp(-z)"
        return closed.get(self.nu, "2**(1 - nu) / Gamma(nu) * z**nu * K[nu](z)")

    @property
    def symbols(self) -> Mapping[str, str]:
        symbols = self.distance_symbols()
        return {**symbols, "z": f"sqrt({2.0 * self.nu!r}) * {symbols['r']}"}

    def mixing(self, count: int, rng: np.random.Generator) -> Array:
        if self.nu == np.inf:
            return np.ones(count)
        return np.sqrt(2.0 * self.nu / rng.chisquare(2.0 * self.nu, count))  # Student's law

    @property
    def steepest(self) -> float:
        if self.nu <= 1.0:
            return np.inf
        return 0.5 if self.nu == np.inf else self.nu / (2.0 * (self.nu - 1.0))

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        found = Radial.evaluate_bounds(self, arithmetic)
        assert found is not None
        if self.nu == np.inf:
            return found
        return found._replace(error=found.error + BESSEL, is_proved=False)

    def _z(self, distance: Array) -> Array:
        return as_numpy(distance) * float(np.sqrt(2.0) * np.sqrt(self.nu))  # 2ν may overflow

    def _at(self, distance: Array) -> Array:
        if not is_numpy_array(distance) and self.nu in HALF_INTEGERS:  # where the points are
            z = distance * float(np.sqrt(2.0 * self.nu))
            return sum(c * z**j for j, c in enumerate(HALF_INTEGERS[self.nu])) * exp(z, -1.0)
        return array_like(matern(self._z(distance), self.nu), distance)

    def _slope_at(self, distance: Array) -> Array:
        slope = matern_slope(self._z(distance), self.nu)
        return array_like(2.0 * self.nu * slope, distance)

    def profile(self, s: Array) -> Array:
        return exp(s, -0.5) if self.nu == np.inf else self._at(namespace(s).sqrt(s))

    def profile_slope(self, s: Array) -> Array:
        if self.nu == np.inf:
            return -0.5 * exp(-0.5 * s)
        return self._slope_at(namespace(s).sqrt(s))

    # Through the distance: a small ν changes where the square is no longer a double.
    def evaluate(self, pairs: Pairs) -> Array:
        if self.nu == np.inf:
            return Radial.evaluate(self, pairs)
        return self._at(pairs.distance(2.0, self.length))

    def descents(self, pairs: Pairs, r: Array) -> tuple[Array, Array]:
        xp = pairs.xp
        if self.nu <= 1.0:
            rate = matern_descent(self._z(r), self.nu) * float(np.sqrt(2.0 * self.nu))
            descent = pairs.array(rate)
        else:
            slope = exp(-0.5 * r * r) if self.nu == np.inf else -2.0 * self._slope_at(r)
            descent = xp.where(slope > 0, slope * r, 0.0)
        return descent, xp.where(descent > 0, descent * r, 0.0)  # r may be infinite


@value
class RationalQuadratic(Descending, Radial):
    r"""A mixture of Gaussians over all bandwidths.

    .. math:: k(x, y) = \left(1 + \frac{\|x - y\|^2}{2 a \sigma^2}\right)^{-a}, \quad a > 0

    Points are vectors, real or complex; ``shape`` a > 0; ``bandwidth`` > 0, one number or one for
    each coordinate, or a rule.

    >>> RationalQuadratic(shape=1.0, bandwidth=1.0)([[0.0]], [[2.0]])
    array([[0.33333333]])

    It is the Gaussian mixed over inverse squared bandwidths with a Gamma law of shape a.

    Rasmussen and Williams, Gaussian processes for machine learning, 2006, chapter 4.
    """

    shape: float = 1.0
    bandwidth: Bandwidth = 1.0
    domain: ClassVar[Domain] = {"shape": positive, "bandwidth": checked_bandwidth}
    theorem: ClassVar[str] = "a mixture of Gaussians with nonnegative weights"
    formula: ClassVar[str] = "(1 + s / (2 * shape))**-shape"
    equivalents: ClassVar[Mapping[str, str]] = {**LENGTHS, "alpha": "shape"}

    def profile(self, s: Array) -> Array:
        return exp(-self.shape * self._log(s))

    def mixing(self, count: int, rng: np.random.Generator) -> Array:
        return np.sqrt(rng.gamma(self.shape, 1.0 / self.shape, count))

    def profile_slope(self, s: Array) -> Array:
        return -0.5 * exp(-(self.shape + 1.0) * self._log(s))

    def profile_partials(self, s: Array) -> dict[str, Array]:
        return {"shape": self._in_shape(self._log(s))}

    def _log(self, s: Array) -> Array:
        """Return log(1 + s/2a)."""
        return namespace(s).log1p(s / (2.0 * self.shape))

    def _in_shape(self, log: Array) -> Array:
        xp = namespace(log)
        in_shape: Array = exp(-self.shape * log) * (-xp.expm1(-log) - log)
        return in_shape

    # Through logarithms of distances: a small a changes where the square is no longer a double.
    def _log_at(self, pairs: Pairs) -> Array:
        xp = pairs.xp
        s = pairs.squared_distance(self.length)
        with np.errstate(over="ignore", divide="ignore"):
            near = self._log(s)
            is_far = (s >= LARGEST_SQUARE) | ~xp.isfinite(near)
            if not bool(xp.any(is_far)):
                return near
            before, after = (
                (self.length, 1.0) if isinstance(self.length, tuple) else (1.0, self.length)
            )
            half = xp.log(pairs.distance(2.0, before)) - float(np.log(after))
        return xp.where(is_far, 2.0 * half - float(np.log(2.0) + np.log(self.shape)), near)

    def evaluate(self, pairs: Pairs) -> Array:
        return exp(-self.shape * self._log_at(pairs))

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return -2.0 * pairs.xp.expm1(-self.shape * self._log_at(pairs))

    def other_partials(self, pairs: Pairs, r: Array) -> dict[str, Array]:
        return {"shape": self._in_shape(self._log_at(pairs))}

    def descents(self, pairs: Pairs, r: Array) -> tuple[Array, Array]:
        xp = pairs.xp
        log = self._log_at(pairs)
        k, root = exp(-self.shape * log), exp(-0.5 * log)
        # √(2a) is the limit of the product. Its factors: root² may be 0 where r is huge.
        reach = xp.where(xp.isfinite(r), root * r, float(np.sqrt(2.0 * self.shape)))
        return k * root * reach, k * reach * reach


def _norm(v: Any, name: str) -> float:
    p = number(v, name)
    if not 1.0 <= p <= 2.0:
        raise NotPositiveDefinite(
            f"exp(-‖x-y‖_p) is positive definite in every dimension for 1 <= p <= 2 only, "
            f"found {name} = {p!r}"
        )
    return p


@value
class Laplacian(Metric):
    r"""The exponential of a distance, in the norm that sums coordinates unless told otherwise.

    .. math:: k(x, y) = \exp\left(-\frac{\|x - y\|_p}{\sigma}\right), \quad 1 \le p \le 2

    Points are vectors, real or complex; ``norm`` p is in [1, 2]; ``bandwidth`` > 0, one number or
    one for each coordinate, or a rule.

    >>> Laplacian(bandwidth=2.0)([[0.0, 0.0]], [[1.0, 1.0]])
    array([[0.36787944]])

    Of complex points, real and imaginary parts count as coordinates. Its slope at x = y does not
    exist; 0 is returned there.

    Bretagnolle, Dacunha-Castelle and Krivine, Lois stables et espaces L^p, 1966.
    """

    bandwidth: Bandwidth = 1.0
    norm: float = 1.0
    domain: ClassVar[Domain] = {"bandwidth": checked_bandwidth, "norm": _norm}
    theorem: ClassVar[str] = "the p-norm is conditionally negative definite for 1 <= p <= 2"
    equivalents: ClassVar[Mapping[str, str]] = {**LENGTHS, "gamma": "1/bandwidth, for norm=1"}

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        return (self.unit,) if self.norm == 2.0 or columns == 1 else None

    @property
    def formula(self) -> str:
        if isinstance(self.bandwidth, tuple):
            return "exp(-norm((x - y) / bandwidth, norm))"
        return "exp(-norm(x - y, norm) / bandwidth)"

    def frequencies(self, dimension: int, count: int, rng: np.random.Generator) -> Frequencies:
        if self.norm not in (1.0, 2.0) and dimension > 1:
            return Metric.frequencies(self, dimension, count, rng)  # which refuses
        lengths = lengths_of(self.length, dimension)
        if self.norm == 2.0:
            waves = mixed_frequencies(dimension, count, rng, Matern(0.5).mixing)
        else:
            waves = rng.standard_cauchy((count, dimension))
        return Frequencies(waves / lengths, np.full(count, count**-0.5))

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        if self.norm != 2.0:
            return None
        error = arithmetic.distance_error(self.unit)
        return Bound(1.0, error + FUNCTION * arithmetic.unit)

    def evaluate(self, pairs: Pairs) -> Array:
        return exp(pairs.distance(self.norm, self.length), -1.0)

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return -2.0 * pairs.xp.expm1(-pairs.distance(self.norm, self.length))

    def _distance_slope(self, pairs: Pairs) -> tuple[Array, Array, Array]:
        """Return k, the scaled differences, and the gradient of the scaled distance in them."""
        xp = pairs.xp
        distance = pairs.distance(self.norm, self.length)
        gaps = pairs.difference(self.length)
        ratio = xp.abs(gaps) / xp.where(distance > 0, distance, 1.0)[..., None]
        return exp(-distance), gaps, xp.sign(gaps) * ratio ** (self.norm - 1.0)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        k, gaps, slope = self._distance_slope(pairs)
        length = pairs.array(self.length)
        each = k[..., None] * slope * gaps / length
        per_column = isinstance(self.length, tuple)
        return {"bandwidth": each if per_column else pairs.xp.sum(each, axis=-1)}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        k, _, slope = self._distance_slope(pairs)
        return -k[..., None] * slope / pairs.array(self.length)


def _distance_power(v: Any, name: str) -> float:
    power = number(v, name, above=0.0)
    if power > 2.0:
        raise NotPositiveDefinite(
            f"-‖x-y‖^β is conditionally positive definite for 0 < β <= 2 only, found {name} = "
            f"{power!r}"
        )
    return power


@value
class NegativeDistance(Descending):
    r"""Minus a power of the distance: conditionally positive definite, not positive definite.

    .. math:: k(x, y) = -\|x - y\|^\beta, \quad 0 < \beta \le 2

    It is valid wherever weights sum to zero: in kernel PCA, in systems whose null space holds the
    constants, and through `centred` or `exp`, which make it positive definite.

    Points are vectors, real or complex; ``exponent`` β is in (0, 2]; ``bandwidth`` > 0, one number
    or one for each coordinate, or a rule.

    >>> NegativeDistance(exponent=1.0)([[0.0]], [[3.0, ]])
    array([[-3.]])

    Schoenberg, On certain metric spaces arising from Euclidean spaces by a change of metric, 1937.
    """

    exponent: float = 1.0
    bandwidth: Bandwidth = 1.0
    domain: ClassVar[Domain] = {"exponent": _distance_power, "bandwidth": checked_bandwidth}
    theorem: ClassVar[str] = "a power <= 2 of a Hilbert space distance is conditionally negative"
    formula: ClassVar[str] = "-r**exponent"

    @property
    def kind(self) -> Kind:
        return Kind.CONDITIONAL

    @property
    def refutation(self) -> str:
        return (
            "k(x, x) = 0 > k(x, y) for different points x and y, so c = (1, 1) has "
            "c*Kc = 2 k(x, y) < 0"
        )

    @property
    def is_affine(self) -> bool:
        return self.exponent == 2.0

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        unit, distance = arithmetic.unit, arithmetic.distance(self.unit)
        value = distance**self.exponent
        if self.exponent >= 1.0:
            slope = self.exponent * distance ** (self.exponent - 1.0)
            error = slope * arithmetic.distance_error(self.unit)
        else:
            error = self.exponent * value * (arithmetic.accuracy / 2.0 + FUNCTION * unit)
        return Bound(value, error + FUNCTION * unit * value, 0.0)

    def evaluate(self, pairs: Pairs) -> Array:
        # The distance, not its square: without a profile to bound them, powers need its range.
        return 0.0 - pairs.distance(2.0, self.length) ** self.exponent

    def descents(self, pairs: Pairs, r: Array) -> tuple[Array, Array]:
        growth: Array = self.exponent * r**self.exponent
        return growth / r, growth

    def other_partials(self, pairs: Pairs, r: Array) -> dict[str, Array]:
        return {"exponent": -(r**self.exponent) * pairs.xp.log(r)}
