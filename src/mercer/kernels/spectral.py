"""Kernels of differences: characteristic functions of symmetric laws, and periodic functions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer.callables import call_function
from mercer.check import Array, Points, array_like, namespace
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.laplacian_matern import Matern
from mercer.kernels.pairs import Pairs, Statistic, exp, is_complex
from mercer.kernels.radial import LENGTHS, Bandwidth, Metric, checked_bandwidth, positive
from mercer.kernels.statements import Arithmetic, Bound, Frequencies, lengths_of
from mercer.settings import is_yes


class Coordinatewise(Metric):
    r"""A product over coordinates of one function ρ of the difference.

    .. math:: k(x, y) = \prod_j \rho\left(\frac{x_j - y_j}{\sigma_j}\right)

    The radial function ρ(‖x - y‖) would not be positive definite in several dimensions.
    """

    __slots__ = ()

    @abstractmethod
    def factor(self, t: Array) -> Array:
        """Return ρ(t)."""

    @abstractmethod
    def factor_slope(self, t: Array) -> Array:
        """Return ρ'(t)."""

    def factor_partials(self, t: Array) -> dict[str, Array]:
        """Return the derivatives of ρ(t) in parameters other than the length of t."""
        return {}

    def draws(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        """Return draws of the law that ρ is the characteristic function of."""
        return Kernel.frequencies(self, shape[1], shape[0], rng).waves  # which refuses

    def frequencies(self, dimension: int, count: int, rng: np.random.Generator) -> Frequencies:
        lengths = lengths_of(self.length, dimension)
        waves = self.draws((count, dimension), rng) / lengths
        return Frequencies(waves, np.full(count, count**-0.5))

    @property
    def reads_sparse(self) -> bool:
        return False

    def evaluate(self, pairs: Pairs) -> Array:
        gaps = pairs.differences(self.length)
        product = self.factor(next(gaps))
        for t in gaps:
            product = product * self.factor(t)
        return product

    def _others(self, factors: list[Array]) -> list[Array]:
        """Return for each coordinate the product of all other factors, without dividing."""
        ones = 0.0 * factors[0] + 1.0
        before, after = [ones], [ones]
        for f in factors[:-1]:
            before.append(before[-1] * f)
        for f in reversed(factors[1:]):
            after.append(after[-1] * f)
        return [b * a for b, a in zip(before, reversed(after), strict=True)]

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        xp = pairs.xp
        gaps = list(pairs.differences(self.length))
        others = self._others([self.factor(t) for t in gaps])
        if isinstance(self.length, tuple):
            pairs.difference()  # refuses complex points, whose coordinates have two gaps each
        lengths = self.length if isinstance(self.length, tuple) else (self.length,) * len(gaps)
        by_length = [
            -o * self.factor_slope(t) * t / ell
            for o, t, ell in zip(others, gaps, lengths, strict=True)
        ]
        partials: dict[str, Array] = {}
        for o, t in zip(others, gaps, strict=True):
            for name, d in self.factor_partials(t).items():
                partials[name] = o * d + partials.get(name, 0.0)
        per_column = isinstance(self.length, tuple)
        stacked = xp.stack(by_length, axis=-1)
        partials[self.length_name] = stacked if per_column else xp.sum(stacked, axis=-1)
        return partials

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        xp = pairs.xp
        pairs.difference()  # refuses complex points
        gaps = list(pairs.differences(self.length))
        others = self._others([self.factor(t) for t in gaps])
        slopes = [o * self.factor_slope(t) for o, t in zip(others, gaps, strict=True)]
        return xp.stack(slopes, axis=-1) / pairs.array(self.length)


def _period(v: Any, name: str) -> Any:
    if isinstance(v, str):
        raise InvalidParameter(
            f"{name} must be a number > 0, or one for each coordinate, found {v!r}: no rule finds "
            "it from data"
        )
    return checked_bandwidth(v, name)


@value
class Periodic(Coordinatewise):
    r"""A kernel of functions that repeat after a period in every coordinate.

    .. math:: k(x, y) = \prod_j \exp\left(-\frac{2 \sin^2(\pi (x_j - y_j)/T)}{\sigma^2}\right)

    Points are vectors, real or complex; ``period`` T > 0, one number or one for each coordinate;
    ``bandwidth`` σ > 0.

    >>> Periodic(period=3.0)([[0.0]], [[3.0]])
    array([[1.]])

    It is the Gaussian on the circle, one circle for each coordinate. Of complex points, real and
    imaginary parts count as coordinates.

    Rasmussen and Williams, Gaussian processes for machine learning, 2006, chapter 4.
    """

    period: float | tuple[float, ...] = 1.0
    bandwidth: float = 1.0
    domain: ClassVar[Domain] = {"period": _period, "bandwidth": positive}
    theorem: ClassVar[str] = "a Gaussian kernel of points on circles, one for each coordinate"
    formula: ClassVar[str] = "prod(j, exp(-2 * sin(pi * t)**2 / bandwidth**2))"
    length_name: ClassVar[str] = "period"
    equivalents: ClassVar[Mapping[str, str]] = {**LENGTHS, "periodicity": "period"}

    @property
    def length(self) -> float | tuple[float, ...]:
        return self.period

    def resolve_own(self, x: Points) -> Kernel:
        return self

    def draws(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        # exp(z cos t) has the modified Bessel functions of z for coefficients: Skellam's law.
        poisson = rng.poisson(0.5 / self.bandwidth**2, (2, *shape))
        return np.asarray(2.0 * np.pi * (poisson[0] - poisson[1]))

    def _chord(self, t: Array) -> Array:
        return namespace(t).sin(np.pi * _within_period(t)) / self.bandwidth

    def factor(self, t: Array) -> Array:
        chord = self._chord(t)
        return exp(-2.0 * chord * chord)

    def factor_slope(self, t: Array) -> Array:
        sine = namespace(t).sin(2.0 * np.pi * _within_period(t)) / self.bandwidth
        return -2.0 * np.pi * self.factor(t) * sine / self.bandwidth

    def factor_partials(self, t: Array) -> dict[str, Array]:
        chord = self._chord(t)
        return {"bandwidth": 4.0 * self.factor(t) * chord * chord / self.bandwidth}


def _within_period(t: Array) -> Array:
    """Return t less the nearest whole number: π is rounded, and whole periods would show it."""
    xp: Any = namespace(t)
    nearest: Array = xp.round(t)
    return t - nearest


def _sinc(t: Array) -> Array:
    """Return sin(t)/t, which numpy's sinc is not."""
    xp = namespace(t)
    safe = xp.where(t == 0, 1.0, t)
    return xp.where(t == 0, 1.0, xp.sin(safe) / safe)


SERIES_BELOW = 0.2
"""Below this the two terms of the slope cancel by two digits, and five of its series suffice."""


def _sinc_slope(t: Array) -> Array:
    xp = namespace(t)
    small = xp.abs(t) < SERIES_BELOW
    near, far = xp.where(small, t, 0.0), xp.where(small, 1.0, t)
    s = near * near
    rest = 1.0 - s / 10.0 * (1.0 - s / 28.0 * (1.0 - s / 54.0 * (1.0 - s / 88.0)))
    return xp.where(small, -near / 3.0 * rest, (xp.cos(far) - _sinc(far)) / far)


@value
class Sinc(Coordinatewise):
    r"""The characteristic function of the uniform law, whose functions have bounded frequency.

    .. math:: k(x, y) = \prod_j \frac{\sin t_j}{t_j}, \quad t = (x - y)/\sigma

    Of complex points, real and imaginary parts count as coordinates.

    Points are vectors, real or complex; ``bandwidth`` > 0, one number or one for each coordinate,
    or a rule.

    >>> Sinc()([[0.0]], [[1.0]])
    array([[0.84147098]])

    Kroese et al., Example 6.7.
    """

    bandwidth: Bandwidth = 1.0
    domain: ClassVar[Domain] = {"bandwidth": checked_bandwidth}
    theorem: ClassVar[str] = "the characteristic function of a uniform law (Bochner)"
    formula: ClassVar[str] = "prod(j, sin(t) / t)"

    def draws(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        return LAWS["uniform"].draws(rng, shape)

    def factor(self, t: Array) -> Array:
        return _sinc(t)

    def factor_slope(self, t: Array) -> Array:
        return _sinc_slope(t)


def _normal(t: Array) -> Array:
    return exp(-0.5 * t * t)


def _cauchy(t: Array) -> Array:
    return exp(-namespace(t).abs(t))


def _laplace(t: Array) -> Array:
    return 1.0 / (1.0 + t * t)


def _triangular(t: Array) -> Array:
    return _sinc(0.5 * t) ** 2


def _signs(t: Array) -> Array:
    return namespace(t).cos(t)


class Law(NamedTuple):
    """A symmetric law on the line: its characteristic function, the slope of that, and draws."""

    formula: str
    transform: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    draws: Callable[[np.random.Generator, tuple[int, int]], Array]


LAWS = {
    "normal": Law(
        "exp(-t**2 / 2)",
        _normal,
        lambda t: -t * _normal(t),
        lambda rng, shape: rng.standard_normal(shape),
    ),
    "uniform": Law(
        "sin(t) / t", _sinc, _sinc_slope, lambda rng, shape: rng.uniform(-1.0, 1.0, shape)
    ),
    "cauchy": Law(
        "exp(-abs(t))",
        _cauchy,
        lambda t: -namespace(t).sign(t) * _cauchy(t),
        lambda rng, shape: rng.standard_cauchy(shape),
    ),
    "laplace": Law(
        "1 / (1 + t**2)",
        _laplace,
        lambda t: -2.0 * t * _laplace(t) ** 2,
        lambda rng, shape: rng.laplace(size=shape),
    ),
    "triangular": Law(
        "(sin(t / 2) / (t / 2))**2",
        _triangular,
        lambda t: _sinc(0.5 * t) * _sinc_slope(0.5 * t),
        lambda rng, shape: rng.triangular(-1.0, 0.0, 1.0, shape),
    ),
    "signs": Law(
        "cos(t)",
        _signs,
        lambda t: -namespace(t).sin(t),
        lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    ),
}
"""Symmetric laws on the line by name."""


AT_ZERO = 1e-8
"""How far from 1 the value of a characteristic function at 0 may be, by rounding."""


def _law(v: Any, name: str) -> Any:
    if callable(v) or (isinstance(v, str) and v in LAWS):
        return v
    raise InvalidParameter(
        f"{name} must be one of {', '.join(LAWS)}, or the characteristic function of a symmetric "
        f"law as a function of an array; found {v!r}"
    )


@value
class Characteristic(Coordinatewise):
    r"""The characteristic function ψ of a symmetric law, at the difference of two points.

    .. math:: k(x, y) = \prod_j \psi\left(\frac{x_j - y_j}{\sigma_j}\right), \quad
        \psi(t) = \mathbb{E}\, e^{itX}

    The law is one of ``"normal"``, ``"uniform"`` (on [-1, 1]), ``"cauchy"``, ``"laplace"``,
    ``"triangular"`` (on [-1, 1]), ``"signs"`` (±1), or a function ψ of an array, which is then
    assumed to be a characteristic function: `check_kernel` can tell. It gets the gaps of one
    coordinate, an array of any shape, and returns a value for each entry. Of complex points, real
    and imaginary parts count as coordinates.

    With ``joint=True`` the function is that of a law on R^p, whose coordinates need not be
    independent: k(x, y) = ψ((x - y)/σ), where ψ gets the gaps with the coordinates on a last axis
    and returns a value for each pair. `Bessel` and `Waves` are joint laws by name.

    Points are vectors, real or complex, and real with ``joint``; the ``law`` is symmetric;
    ``bandwidth`` > 0, one number or one for each coordinate, or a rule.

    >>> Characteristic("cauchy")([[0.0]], [[1.0]])
    array([[0.36787944]])
    >>> tilted = Characteristic(lambda t: np.exp(-0.5 * (t[..., 0] + t[..., 1]) ** 2), joint=True)
    >>> tilted([[0.0, 0.0]], [[1.0, -1.0], [1.0, 1.0]])
    array([[1.        , 0.13533528]])

    Kroese et al., Theorem 6.3 (Bochner).
    """

    law: str | Callable[[Array], Array] = "normal"
    bandwidth: Bandwidth = 1.0
    joint: bool = False
    domain: ClassVar[Domain] = {"law": _law, "bandwidth": checked_bandwidth, "joint": is_yes}

    def __post_init__(self) -> None:
        Kernel.__post_init__(self)
        if self.joint and not callable(self.law):
            raise InvalidParameter(
                f"joint=True is for a function ψ of all coordinates, and {self.law!r} is a law of "
                "one: a product over coordinates is Characteristic(law) itself"
            )

    def evaluate(self, pairs: Pairs) -> Array:
        if not self.joint:
            return Coordinatewise.evaluate(self, pairs)
        if is_complex(pairs.rows[0]) or is_complex(pairs.rows[1]):
            raise InvalidInput(
                "a joint law has real coordinates, and the points are complex: give their real and "
                "imaginary parts as columns"
            )
        gaps = pairs.difference(self.length)
        self._refuse_at_zero(gaps[:1, ...], gaps[:1, ...].shape[:-1])
        return self._psi(gaps, gaps.shape[:-1])

    def _psi(self, gaps: Array, shape: tuple[int, ...]) -> Array:
        """Return ψ, which must have a value for each pair, or for each entry."""
        assert callable(self.law)
        values: Array = call_function(
            self.law, "the function ψ of Characteristic", "an array", gaps
        )
        if not hasattr(values, "dtype"):  # a list, or a number
            values = array_like(np.asarray(values, np.float64), gaps)
        if tuple(values.shape) != tuple(shape):
            each, where = (
                ("pair", "coordinates are on the last axis of what it gets")
                if self.joint
                else ("entry of its array", "coordinates are multiplied afterwards")
            )
            raise InvalidParameter(
                f"the function ψ of Characteristic must return a value for each {each}, of shape "
                f"{tuple(shape)}, and returned shape {tuple(values.shape)}: {where}"
            )
        return values

    def _refuse_at_zero(self, gaps: Array, shape: tuple[int, ...]) -> None:
        xp = namespace(gaps)
        values = self._psi(xp.zeros_like(gaps), shape)
        if values.shape[0] and not bool(xp.all(abs(values - 1.0) <= AT_ZERO)):
            raise InvalidParameter(
                f"the function ψ of Characteristic is {complex(values[(0,) * values.ndim]):.6g} at "
                "0, and a characteristic function is 1 there: divide it by that, and multiply the "
                "kernel"
            )

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        if self.joint:
            return Kernel.evaluate_partials(self, pairs)  # which refuses
        return Coordinatewise.evaluate_partials(self, pairs)

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        if self.joint:
            return Kernel.evaluate_slopes(self, pairs)  # which refuses
        return Coordinatewise.evaluate_slopes(self, pairs)

    @property
    def formula(self) -> str:
        if self.joint:
            return ""
        return f"prod(j, {'psi(t)' if callable(self.law) else LAWS[self.law].formula})"

    @property
    def proof(self) -> str:
        if callable(self.law):
            return ""
        return f"Characteristic: the characteristic function of the {self.law} law (Bochner)"

    def draws(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        if callable(self.law):
            return Coordinatewise.draws(self, shape, rng)
        return LAWS[self.law].draws(rng, shape)

    def factor(self, t: Array) -> Array:
        if not callable(self.law):
            return LAWS[self.law].transform(t)
        self._refuse_at_zero(t[:1, ...], t[:1, ...].shape)
        # Of one row alone a function of the whole array is seldom as long as of all by chance.
        self._psi(t[:1, ...], t[:1, ...].shape)
        return self._psi(t, t.shape)

    def factor_slope(self, t: Array) -> Array:
        if callable(self.law):
            return Kernel.evaluate_slopes(self, None)  # type: ignore[arg-type]  # which refuses
        return LAWS[self.law].slope(t)


@value
class Sobolev(Metric):
    r"""The kernel with spectral density proportional to :math:`(1 + \|\omega\|^2)^{-s}`.

    .. math:: k(x, y) = \frac{2^{1-\nu}}{\Gamma(\nu)}\, r^\nu K_\nu(r),
        \quad r = \frac{\|x - y\|}{\sigma},\; \nu = s - \tfrac{p}{2} > 0

    where p is the number of real coordinates. It is normalised to 1 at zero, which the text's form
    is not, and its law is Student's with 2s - p degrees of freedom, rescaled.

    Points are vectors, real or complex; ``s`` > p/2; ``bandwidth`` > 0, one number or one for each
    coordinate, or a rule.

    >>> Sobolev(s=1.0)([[0.0]], [[1.0]])
    array([[0.36787944]])

    Kroese et al., §6.4.2.
    """

    s: float = 1.0
    bandwidth: Bandwidth = 1.0
    domain: ClassVar[Domain] = {"s": positive, "bandwidth": checked_bandwidth}
    theorem: ClassVar[str] = "the characteristic function of a Student law (Bochner)"
    formula: ClassVar[str] = "2**(1 - nu) / Gamma(nu) * r**nu * K[nu](r)"

    @property
    def symbols(self) -> Mapping[str, str]:
        return {"r": self.distance_symbols()["r"], "nu": "s - p / 2"}

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        return self.matern(columns)[0].asks(columns) if 2.0 * self.s > columns else None

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        return self.matern(arithmetic.columns)[0].evaluate_bounds(arithmetic)

    def frequencies(self, dimension: int, count: int, rng: np.random.Generator) -> Frequencies:
        return self.matern(dimension)[0].frequencies(dimension, count, rng)

    def _matern_of(self, pairs: Pairs) -> tuple[Matern, float]:
        return self.matern(pairs.columns * (2 if is_complex(pairs.rows[0]) else 1))

    def matern(self, p: int) -> tuple[Matern, float]:
        """Return the Matérn kernel that equals this one, and its bandwidth over this one's."""
        nu = self.s - p / 2.0
        if nu <= 0:
            raise InvalidParameter(
                f"Sobolev(s={self.s!r}) needs s > p/2 and the points have p = {p} real "
                f"coordinates; take s > {p / 2.0}"
            )
        stretch = sqrt(2.0 * nu)
        if isinstance(self.bandwidth, str):
            return Matern(nu, self.bandwidth), stretch
        lengths = self.length if isinstance(self.length, tuple) else (self.length,)
        scaled = tuple(stretch * ell for ell in lengths)
        return Matern(nu, scaled if isinstance(self.length, tuple) else scaled[0]), stretch

    def evaluate(self, pairs: Pairs) -> Array:
        return self._matern_of(pairs)[0].evaluate(pairs)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        matern, stretch = self._matern_of(pairs)
        return {"bandwidth": stretch * matern.evaluate_partials(pairs)["bandwidth"]}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        return self._matern_of(pairs)[0].evaluate_slopes(pairs)
