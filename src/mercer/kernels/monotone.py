"""Completely monotone functions and Bernstein's: kernels of all dimensions, and their tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import comb

from mercer.callables import values_of
from mercer.check import UNIT, Array, array_like, as_numpy, power_of_two
from mercer.errors import InvalidParameter, NotDifferentiable, NotPositiveDefinite
from mercer.kernels.base import Domain, value
from mercer.kernels.definite import Verdict
from mercer.kernels.pairs import Pairs
from mercer.kernels.radial import Bandwidth, Radial, checked_bandwidth
from mercer.settings import spelled

ORDERS = 10
"""Orders of differences that are looked at: rounding hides a higher one in 2ⁿ units."""

PLACES = np.geomspace(1e-6, 1e6, 97)
"""Where differences begin."""

STEPS = np.array([1e-2, 0.1, 0.3, 1.0, 4.0])
"""Steps of differences, as shares of where they begin."""

NEAR_ZERO = np.geomspace(1e-10, 1e-6, 33)
"""Where a function is compared with its value at 0; nearer, rounding may be anything."""

FUNCTION = 16.0
"""Units of the last place by which a function of the user may be off."""

SCATTER = 8.0
"""Standard deviations of the scatter of a function's values by which they may be off."""

WIDTHS = 2.0 ** np.array([-17.0, -14.0, -11.0, -8.0, -5.0])
"""Steps, as shares of t, between the neighbours by which scatter is seen."""

OTHER_WIDTH, NEARBY = 2.0**-15.6, 3
"""A second step beside the narrowest, and places whose scatter counts for a place on either side.

Where steps of rounding happen to agree with those of t, neighbours do not scatter."""

FEW_VALUES = 8
"""Fewer distinct values among 21 neighbours show steps of rounding, and not their scatter."""

SINGLE = 1e-12
"""A scatter that is usually larger, as a share of the values, is that of single precision."""

SHAPELESS = 1e-3
"""A function with more scatter than this share of its values, at most places, shows no signs."""

Function = Callable[[Array], Array]


@spelled
def completely_monotone(function: Function, *, bernstein: bool = False) -> Verdict:
    r"""Tell whether a function on (0, ∞) is completely monotone, or else a Bernstein function.

    .. math:: (-1)^n f^{(n)} \ge 0 \;\;(n \ge 0) \quad\Longleftrightarrow\quad
        f(t) = \int_0^\infty e^{-\lambda t}\, d\mu(\lambda) \quad\Longleftrightarrow\quad
        f(\|x - y\|^2) \text{ is a kernel on every } \mathbb{R}^p

    (Bernstein; Schoenberg; the last where f(0) is finite and not below f(0+)). A Bernstein function
    is nonnegative with a completely monotone derivative, which is what transforms of squared
    distances are (`schoenberg`). What is looked at are the signs of differences of orders up to 10,

    .. math:: \sum_{k=0}^{n} (-1)^k \binom{n}{k} f(t + kh) \ge 0,

    at 97 places t from 1e-6 to 1e6 and with 5 steps h each: a sign that is wrong beyond rounding
    shows that the function is not; that none is found proves nothing. How far its values are
    rounded is estimated from how those of neighbours scatter, so that 1 - exp(-t) is not refuted
    by what cancels near 0. Signs that rounding decides are counted as undecided, and where all
    values scatter the whole answer is: neither proved nor refuted, and not True.

    >>> print(completely_monotone(lambda t: 1.0 / (1.0 + t)))
    completely monotone, as far as differences to order 10 can tell
    >>> print(completely_monotone(lambda t: np.exp(-t * t)))
    not completely monotone: its difference of order 2 from 0.1 in steps of 0.4 is -0.12 < 0
    >>> bool(completely_monotone(np.sqrt, bernstein=True)), bool(completely_monotone(np.sqrt))
    (True, False)

    Yao, on Schoenberg's theorem; the lecture calls Φ itself completely monotone.
    """
    found = _judge(function, bernstein)
    return Verdict(found.is_kept is True, found.reason, found.difference)


class _Finding(NamedTuple):
    """Whether a function was not refuted, None where rounding decides, and why."""

    is_kept: bool | None
    reason: str
    difference: float | None = None


def _judge(function: Function, bernstein: bool) -> _Finding:
    name = "a Bernstein function" if bernstein else "completely monotone"
    steps, starts = (PLACES[:, None] * STEPS).ravel(), np.repeat(PLACES, len(STEPS))
    t = starts[:, None] + steps[:, None] * np.arange(ORDERS + 1)
    values, precision = _values_and_precision(function, t)
    wrong = _without_value(t, values, bernstein)
    if wrong:
        return _Finding(False, f"not {name}: {wrong}")
    scatter, usual = _scatter(function, t)
    if usual > SHAPELESS:
        return _Finding(
            None,
            f"undecided whether {name}: values of neighbours scatter by {usual:.1g} of themselves, "
            "and differences have no sign",
        )
    rows = np.flatnonzero(np.all(np.isfinite(values), axis=1))
    if not len(rows):
        return _Finding(None, f"undecided whether {name}: it has no finite values")
    sizes = np.array([power_of_two(row) for row in values[rows]])[:, None]
    scaled = values[rows] / sizes
    unit, least = 0.5 * float(precision.eps), float(precision.smallest_subnormal)
    own = FUNCTION * (unit * np.abs(scaled) + least / sizes)
    doubt = own + SCATTER * (scatter[rows] / sizes + usual * np.abs(scaled))
    hidden = []
    for order in range(ORDERS + 1):
        k = np.arange(order + 1)
        sign = -1.0 if bernstein and order else 1.0
        differences = scaled[:, : order + 1] @ (sign * comb(order, k) * (-1.0) ** k)
        allowed = doubt[:, : order + 1] @ comb(order, k)
        worst = int(np.argmin(differences + allowed))
        if differences[worst] < -allowed[worst]:
            place, step = starts[rows[worst]], steps[rows[worst]]
            difference = float(differences[worst] * sizes[worst, 0])
            what = (
                f"its difference of order {order} from {place:.4g} in steps of {step:.4g} is "
                if order
                else f"its value at {place:.4g} is "
            )
            return _Finding(False, f"not {name}: {what}{difference:.2g} < 0", difference)
        is_hidden = differences < -own[:, : order + 1] @ comb(order, k)
        hidden += [(order, float(place)) for place in starts[rows[is_hidden]]]
    reason = f"{name}, as far as differences to order {ORDERS} can tell"
    if hidden:
        places = [place for _, place in hidden]
        reason += (
            f"; {len(hidden)} of {len(rows) * (ORDERS + 1)}, from order {hidden[0][0]} on and for "
            f"t from {min(places):.2g} to {max(places):.2g}, are undecided: rounding of its values "
            "decides their signs"
        )
    return _Finding(True, reason)


def _without_value(t: Array, values: Array, bernstein: bool) -> str:
    """Return where a function has no value; it may overflow towards 0, or a Bernstein one to ∞."""
    order = np.argsort(t, axis=None)
    places, found = t.ravel()[order], values.ravel()[order]
    wrong = np.isnan(found) | (found == -np.inf)
    finite = np.flatnonzero(np.isfinite(found))
    if len(finite):
        beyond = slice(None, finite[0]) if bernstein else slice(finite[-1] + 1, None)
        between = slice(finite[0], finite[-1] + 1)
        for part in (beyond, between):
            wrong[part] |= found[part] == np.inf
    if not np.any(wrong):
        return ""
    i = int(np.argmax(wrong))
    return f"its value at {places[i]:.4g} is {found[i]}"


def _scatter(function: Function, t: Array) -> tuple[Array, float]:
    """Return the standard deviation of values at t, and the usual one as a share of the values.

    Differences of order 10 of values nearby hold nothing else: with neighbours at a distance of
    δt they are of order (λtδ)¹⁰ for exp(-λt), and λt ≤ 745 where that is not 0.
    """
    grid = np.geomspace(np.min(t), 1.001 * np.max(t), 120)
    found, is_flat = _scatter_of_neighbours(function, grid, WIDTHS[0])
    found = np.fmax(found, _scatter_of_neighbours(function, grid, OTHER_WIDTH)[0])
    for width in WIDTHS[1:]:
        rows = np.flatnonzero(is_flat)
        if len(rows):
            found[rows], is_flat[rows] = _scatter_of_neighbours(function, grid[rows], width)
    values, precision = _values_and_precision(function, grid)
    with np.errstate(all="ignore"):
        shares = found / np.abs(values)
    shares = shares[np.isfinite(shares)]
    usual = float(np.median(shares)) if len(shares) else 0.0
    if 0.5 * float(precision.eps) > UNIT or usual > SINGLE:
        # Steps of single precision are seen from afar, beside what a smooth function has there.
        halfway = np.abs(_values(function, 0.5 * grid))
        for width in WIDTHS:
            wide = _scatter_of_neighbours(function, grid, width)[0]
            with np.errstate(invalid="ignore"):
                found = np.fmax(found, wide - _smoothest(width) * halfway)
    found = _largest_nearby(np.nan_to_num(found, nan=0.0, posinf=0.0), np.abs(values))
    i = np.clip(np.searchsorted(grid, t), 1, len(grid) - 1)
    return np.maximum(found[i - 1], found[i]), usual


def _largest_nearby(scatter: Array, sizes: Array) -> Array:
    """Return the largest scatter of a place and its neighbours, as it is or in units of values.

    That of few numbers may happen to be small, where steps of rounding and of t agree.
    """
    with np.errstate(all="ignore"):
        shares = np.nan_to_num(scatter / sizes, posinf=0.0)
        found = scatter.copy()
        for shift in range(1, NEARBY + 1):
            for here, there in (
                (slice(shift, None), slice(None, -shift)),
                (slice(None, -shift), slice(shift, None)),
            ):
                other = np.fmin(scatter[there], shares[there] * sizes[here])
                found[here] = np.fmax(found[here], other)
    return found


def _smoothest(width: float) -> float:
    """Bound the scatter that a difference of order n of exp(-λt) seems, as a share of exp(-λt/2).

    It is (1 - e^{-λδt})ⁿ e^{-λt/2}, largest where (2nδ + 1) e^{-λδt} = 1.
    """
    rate = np.log1p(2.0 * ORDERS * width) / width
    share = (-np.expm1(-rate * width)) ** ORDERS * np.exp(-0.5 * rate)
    return float(share / np.sqrt(comb(2 * ORDERS, ORDERS)))


def _scatter_of_neighbours(function: Function, t: Array, width: float) -> tuple[Array, Array]:
    """Return the standard deviation of values near t, and where they are few distinct ones."""
    values = _values(function, t[:, None] * (1.0 + width * np.arange(2 * ORDERS + 1)))
    sizes = np.max(np.abs(values), axis=1)
    with np.errstate(all="ignore"):
        differences = np.diff(values / sizes[:, None], n=ORDERS, axis=1)
        spread = np.sqrt(np.mean(differences**2, axis=1) / comb(2 * ORDERS, ORDERS))
        few = np.count_nonzero(np.diff(np.sort(values, axis=1), axis=1), axis=1) + 1 < FEW_VALUES
    return sizes * spread, few


def _values(function: Function, t: Array) -> Array:
    return _values_and_precision(function, t)[0]


def _values_and_precision(function: Function, t: Array) -> tuple[Array, Any]:
    """Return the values of a function as doubles, and what numpy knows of their own precision."""
    given = values_of(function, "function", "an array of squared distances", t)
    return given.astype(np.float64), np.finfo(given.dtype)


def _function(v: Any, name: str) -> Function:
    if not callable(v):
        raise InvalidParameter(f"{name} must be a function of squared distances, found {v!r}")
    found = _judge(v, False)
    if found.is_kept is None:
        raise InvalidParameter(f"{name} is {found.reason}")
    if not found.is_kept:
        raise NotPositiveDefinite(
            f"{name} is {found.reason}, and its kernel is not positive definite in every dimension"
        )
    _refuse_at_zero(v, name)
    return v  # type: ignore[no-any-return]


def _refuse_at_zero(function: Function, name: str) -> None:
    """Refuse a function whose value at 0 is not finite, or less than its limit there."""
    at_zero = float(_values(function, np.zeros(1))[0])
    if not np.isfinite(at_zero):
        raise InvalidParameter(
            f"{name} at 0 is {at_zero}, and k(x, x) = f(0) must be finite and at least the limit "
            "of f at 0; numpy.where can give it that limit, if it is finite"
        )
    values, precision = _values_and_precision(function, NEAR_ZERO)
    scatter, usual = _scatter(function, NEAR_ZERO)
    unit = 0.5 * float(precision.eps)
    doubt = FUNCTION * unit * np.maximum(np.abs(values), abs(at_zero))
    excess = values - at_zero - doubt - SCATTER * (scatter + usual * np.abs(values))
    if np.any(excess > 0.0):
        i = int(np.argmax(excess))
        raise NotPositiveDefinite(
            f"{name} at 0 is {at_zero:.6g}, less than {values[i]:.6g} at {NEAR_ZERO[i]:.2g}: a "
            "kernel has |k(x, y)| <= f(0)"
        )


def _derivative(v: Any, name: str) -> Function | None:
    if v is not None and not callable(v):
        raise InvalidParameter(f"{name} must be a function or None, found {v!r}")
    return v  # type: ignore[no-any-return]


@value
class CompletelyMonotone(Radial):
    r"""A completely monotone function of the squared distance: a kernel in every dimension.

    .. math:: k(x, y) = f\left(\frac{\|x - y\|^2}{\sigma^2}\right), \quad (-1)^n f^{(n)} \ge 0,
        \quad f(0+) \le f(0) < \infty

    The function takes an array of squared distances; one that is not completely monotone is
    refused with the difference that shows it (`completely_monotone`), and so is one whose value at
    0 is not finite or less than its limit there: more is noise of every point for itself. With its derivative the
    kernel has slopes.

    Points are vectors, real or complex; ``function`` f is completely monotone, ``derivative`` f' or
    None; ``bandwidth`` > 0, one number or one for each coordinate, or a rule.

    >>> k = CompletelyMonotone(lambda t: np.exp(-np.sqrt(t)))
    >>> k([[0.0, 0.0]], [[3.0, 4.0]])
    array([[0.00673795]])
    >>> CompletelyMonotone(lambda t: np.cos(t))
    Traceback (most recent call last):
    ...
    mercer.errors.NotPositiveDefinite: function is not completely monotone: its value at 562.3 is -1 < 0, and its kernel is not positive definite in every dimension

    Yao, on Schoenberg's theorem; Kroese et al., footnote 1 of chapter 6.
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)

    function: Function
    bandwidth: Bandwidth = 1.0
    derivative: Function | None = None
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


def _of(function: Function, s: Array) -> Array:
    return array_like(_values(function, as_numpy(s)), s)
