"""Completely monotone functions and Bernstein's: kernels of all dimensions, and their tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import comb

from mercer.check import UNIT, Array, as_numpy, namespace
from mercer.errors import InvalidParameter, NotDifferentiable, NotPositiveDefinite
from mercer.kernels.bandwidth import Bandwidth, checked_bandwidth
from mercer.kernels.base import Domain, value
from mercer.kernels.definite import Verdict
from mercer.kernels.pairs import Pairs
from mercer.kernels.radial import Radial
from mercer.settings import nonnegative, spelled

ORDERS = 10
"""Orders of differences that are looked at: rounding hides a higher one in 2ⁿ units."""

PLACES = np.geomspace(1e-6, 1e6, 97)
"""Where differences begin."""

STEPS = np.array([1e-2, 0.1, 0.3, 1.0, 4.0])
"""Steps of differences, as shares of where they begin."""

FUNCTION = 16.0
"""Units of the last place by which a function of the user may be off."""

QUADRATURE = 1e-10
"""The relative error that is asked of an integral over a measure; ten times more is refused."""

REACH, PARTS = 600.0, 48
"""Natural logarithms of λ between which a density is integrated (e^600 is still a double), and in
how many parts at first, so that none hides between nodes."""

Density = Callable[[Array], Array]
Measure = Density | Mapping[float, float]
"""A density on (0, ∞), or masses by their places."""


@spelled
def completely_monotone(function: Callable[[Array], Array], *, bernstein: bool = False) -> Verdict:
    r"""Tell whether a function on (0, ∞) is completely monotone, or else a Bernstein function.

    .. math:: (-1)^n f^{(n)} \ge 0 \;\;(n \ge 0) \quad\Longleftrightarrow\quad
        f(t) = \int_0^\infty e^{-\lambda t}\, d\mu(\lambda) \quad\Longleftrightarrow\quad
        f(\|x - y\|^2) \text{ is a kernel on every } \mathbb{R}^p

    (Bernstein; Schoenberg). A Bernstein function is nonnegative with a completely monotone
    derivative, which is what transforms of squared distances are (`schoenberg`). What is looked at
    are the signs of differences of orders up to 10, at 97 places from 1e-6 to 1e6 and with 5 steps
    each: a sign that is wrong beyond rounding is a proof that the function is not; that none is
    found is none that it is.

    >>> bool(completely_monotone(lambda t: 1.0 / (1.0 + t)))
    True
    >>> print(completely_monotone(lambda t: np.exp(-t * t)))
    not completely monotone: its difference of order 2 from 0.1 in steps of 0.4 is -0.12 < 0
    >>> bool(completely_monotone(np.sqrt, bernstein=True)), bool(completely_monotone(np.sqrt))
    (True, False)

    Yao, on Schoenberg's theorem; the lecture calls Φ itself completely monotone.
    """
    name = "a Bernstein function" if bernstein else "completely monotone"
    steps = (PLACES[:, None] * STEPS).ravel()
    starts = np.repeat(PLACES, len(STEPS))
    values = _values(function, starts[:, None] + steps[:, None] * np.arange(ORDERS + 1))
    if not np.all(np.isfinite(values)):
        i, k = np.argwhere(~np.isfinite(values))[0]
        at = starts[i] + k * steps[i]
        return Verdict(False, f"not {name}: its value at {at:.4g} is {values[i, k]}")
    for order in range(ORDERS + 1):
        k = np.arange(order + 1)
        sign = -1.0 if bernstein and order else 1.0
        differences = values[:, : order + 1] @ (sign * comb(order, k) * (-1.0) ** k)
        doubt = FUNCTION * UNIT * np.abs(values[:, : order + 1]) @ comb(order, k)
        worst = int(np.argmin(differences + doubt))
        if differences[worst] < -doubt[worst]:
            size = f"{differences[worst]:.2g}"
            what = (
                f"its difference of order {order} from {starts[worst]:.4g} in steps of "
                f"{steps[worst]:.4g} is {size} < 0"
                if order
                else f"its value at {starts[worst]:.4g} is {size} < 0"
            )
            return Verdict(False, f"not {name}: {what}", float(differences[worst]))
    reason = f"{name}, as far as differences to order {ORDERS} can tell"
    return Verdict(True, reason)


def _values(function: Callable[[Array], Array], t: Array) -> Array:
    with np.errstate(all="ignore"):
        values = np.asarray(function(t), np.float64)
    if values.shape != t.shape:
        raise InvalidParameter(
            f"a function of squared distances must return a value for each entry of its array, of "
            f"shape {t.shape}, and returned shape {values.shape}"
        )
    return values


def _function(v: Any, name: str) -> Callable[[Array], Array]:
    if not callable(v):
        raise InvalidParameter(f"{name} must be a function of squared distances, found {v!r}")
    verdict = completely_monotone(v)
    if not verdict:
        raise NotPositiveDefinite(
            f"{name} is {verdict}, and its kernel is not positive definite in every dimension"
        )
    return v  # type: ignore[no-any-return]


def _derivative(v: Any, name: str) -> Callable[[Array], Array] | None:
    if v is not None and not callable(v):
        raise InvalidParameter(f"{name} must be a function or None, found {v!r}")
    return v  # type: ignore[no-any-return]


@value
class CompletelyMonotone(Radial):
    r"""A completely monotone function of the squared distance: a kernel in every dimension.

    .. math:: k(x, y) = f\left(\frac{\|x - y\|^2}{\sigma^2}\right), \quad (-1)^n f^{(n)} \ge 0

    The function takes an array of squared distances; one that is not completely monotone is
    refused with the difference that shows it (`completely_monotone`). With its derivative the
    kernel has slopes.

    >>> k = CompletelyMonotone(lambda t: np.exp(-np.sqrt(t)))
    >>> k([[0.0, 0.0]], [[3.0, 4.0]])
    array([[0.00673795]])
    >>> CompletelyMonotone(lambda t: np.cos(t))
    Traceback (most recent call last):
    ...
    mercer.errors.NotPositiveDefinite: function is not completely monotone: its value at 562.3 is -1 < 0, and its kernel is not positive definite in every dimension

    Yao, on Schoenberg's theorem; Kroese et al., footnote 1 of chapter 6.
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)

    function: Callable[[Array], Array]
    bandwidth: Bandwidth = 1.0
    derivative: Callable[[Array], Array] | None = None
    domain: ClassVar[Domain] = {
        "function": _function,
        "bandwidth": checked_bandwidth,
        "derivative": _derivative,
    }

    def profile(self, s: Array) -> Array:
        return _of(self.function, s)

    def profile_slope(self, s: Array) -> Array:
        if self.derivative is None:
            raise NotDifferentiable(
                "CompletelyMonotone has slopes where its function has a derivative: give "
                "derivative=, a function of the array of squared distances"
            )
        return _of(self.derivative, s)

    @property
    def steepest(self) -> float:
        return np.inf if self.derivative is None else self._at_zero(self.profile_slope)

    def evaluate(self, pairs: Pairs) -> Array:
        return self.profile(pairs.squared_distance(self.length))


def _of(function: Callable[[Array], Array], s: Array) -> Array:
    xp = namespace(s)
    return xp.asarray(_values(function, as_numpy(s)), dtype=s.dtype)


def transform_of(measure: Measure, t: Array) -> Array:
    r"""Return the Bernstein function Φ of a measure at t ≥ 0.

    .. math:: \Phi(t) = \int_0^\infty \frac{1 - e^{-\lambda t}}{\lambda}\, d\mu(\lambda)

    A mass m at λ = 0 stands for m·t. A density g is integrated over log λ.

    >>> transform_of({0.0: 2.0}, np.array([3.0])), transform_of({1.0: 1.0}, np.array([1.0]))
    (array([6.]), array([0.63212056]))
    >>> transform_of(lambda a: np.exp(-a), np.array([1.0, 2.0])) - np.log([2.0, 3.0])
    array([0., 0.])
    """
    if isinstance(measure, Mapping):
        total = np.zeros_like(t)
        for place, mass in measure.items():
            rate = nonnegative(place, "a place of the measure")
            weight = nonnegative(mass, f"the mass at {rate:g}")
            total = total + weight * (t if rate == 0.0 else -np.expm1(-rate * t) / rate)
        return np.asarray(total)
    if not callable(measure):
        raise InvalidParameter(f"a measure is a density or masses by place, found {measure!r}")
    from scipy.integrate import quad_vec  # only now: with it all of scipy.optimize is loaded

    places, inverse = np.unique(t, return_inverse=True)

    def integrand(u: float) -> Array:
        rate = np.exp(u)
        with np.errstate(all="ignore"):
            g = float(np.asarray(measure(np.array([rate])), np.float64).reshape(-1)[0])
        if not g >= 0.0:
            raise InvalidParameter(f"a density is not negative, and this is {g:g} at {rate:.4g}")
        return np.asarray(-np.expm1(-rate * places) * g)

    with np.errstate(over="ignore", invalid="ignore"):
        parts = np.linspace(-REACH, REACH, PARTS + 1)[1:-1]
        found, error = quad_vec(
            integrand, -REACH, REACH, epsrel=QUADRATURE, epsabs=0.0, norm="max", points=parts
        )[:2]
        ends = max(float(np.max(integrand(end), initial=0.0)) for end in (-REACH, REACH))
    largest = float(np.max(found, initial=0.0))
    if not max(error, ends) <= 10.0 * QUADRATURE * largest and largest > 0.0:
        raise InvalidParameter(
            "the integral of (1 - exp(-λt))/λ over this density does not settle: ∫ g over (0, 1) "
            "and ∫ g/λ over (1, ∞) must be finite"
        )
    return np.asarray(found[inverse].reshape(t.shape))
