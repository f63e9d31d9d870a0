"""Convex losses of one's own, tried before they are used, and conjugates that are not given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from mercer.callables import call_function, real_values
from mercer.check import UNIT, Array
from mercer.errors import InvalidParameter
from mercer.regression.loss_functions import FUNCTION, NAMES, Loss
from mercer.settings import numbers

Value = Callable[[Array, Array], Array]
Derivatives = Callable[[Array, Array], tuple[Array, Array]]

TARGETS = (-1.0, 0.0, 1.0, 4.0)
"""Values of y at which a loss is tried, unless others are given."""

PREDICTIONS = np.linspace(-3.0, 3.0, 16)
"""Values of f at which it is tried with each of them."""

PROBES = (1e-4, 1e-6, 1e-8)
"""Steps of the differences by which derivatives are tried."""

CURVED = 1e-3
"""Share of a second derivative by which differences may miss it, of one of these steps."""

EQUAL = 1e-7
"""Share of its terms by which Fenchel and Young's equality may fail."""

CORNER, HALVED = 1e-3, 40
"""A share of all that a derivative changes by which it jumps, within 2^-40 of a step."""

DIGITS = 64
"""Halvings of all doubles, in their order, that leave one."""

GROWTH = (2.0,) * 64 + (2.0**16,) * 60
"""Factors by which the place of a derivative is bracketed: doubled first, then by leaps."""


def convex_loss(
    value: Value,
    derivatives: Derivatives,
    conjugate: Callable[[Array, Array], Array] | None = None,
    *,
    name: str = "own",
    targets: Sequence[float] | Array = TARGETS,
) -> Loss:
    r"""Return a convex loss of one's own, for `KernelRegression`.

    .. math:: \ell(y, f), \qquad \left(\frac{\partial \ell}{\partial f},\,
        \frac{\partial^2 \ell}{\partial f^2}\right), \qquad
        \ell^*(y, s) = \sup_f\, (sf - \ell(y, f))

    All are functions of arrays; the loss is finite and convex in f, with a continuous derivative.
    The representer theorem holds for any loss; with a convex one the conjugate bounds what a
    function can gain, so that every fit carries its duality gap. Where the conjugate is not given
    it is found: the derivative increases, and ∂ℓ/∂f = s is solved by bisection.

    All that is given is tried, with ``targets`` for y and 16 values of f from -3 to 3: that the
    second derivative is not negative, that both agree with differences, that the first does not
    jump, and that :math:`\ell(y, f) + \ell^*(y, s) = sf` where s = ∂ℓ/∂f (Fenchel and Young). A
    loss of positive y needs ``targets`` that are positive.

    >>> counts = convex_loss(  # of Poisson's law with the mean exp(f), but for a term in y
    ...     lambda y, f: np.exp(f) - y * f, lambda y, f: (np.exp(f) - y, np.exp(f)), name="counts"
    ... )
    >>> counts.conjugate(np.array([1.0]), np.array([0.5])) - (1.5 * np.log(1.5) - 1.5)
    array([0.])
    >>> from mercer import Gaussian, KernelRegression
    >>> x = np.linspace(0.0, 1.0, 12)[:, None]
    >>> model = KernelRegression(Gaussian(0.3), 0.01, loss=counts).fit(x, np.arange(12.0))
    >>> model.gap_ <= 1e-8 * abs(model.objective_)
    True

    Kroese et al., Theorem 6.6; Martin, Theorem 3.
    """
    for what, given in (("value", value), ("derivatives", derivatives), ("conjugate", conjugate)):
        if not callable(given) and (what != "conjugate" or given is not None):
            variable = "s" if what == "conjugate" else "f"
            raise InvalidParameter(
                f"{what} must be a function of y and {variable}, found {given!r}"
            )
    if not isinstance(name, str):
        raise InvalidParameter(f"name must be a text, found {name!r}")
    if name in NAMES:
        raise InvalidParameter(f"name={name!r} is that of a loss which is known: give another")
    tried = np.unique(numbers(targets, "targets"))
    y, f = (part.ravel() for part in np.meshgrid(tried, PREDICTIONS, indexing="ij"))
    values, first, second = _tried(value, derivatives, y, f)
    _refuse_where(
        second < 0.0,
        (y, f),
        lambda i: f"the loss is not convex: its second derivative{{at}} is {second[i]:g}",
    )
    _refuse_corners(derivatives, tried)
    _refuse_differences(value, derivatives, y, f)
    if conjugate is not None:
        _refuse_conjugate(conjugate, (y, f), values, first)
    dual = partial(supremum, value, derivatives) if conjugate is None else conjugate
    return Loss(name, value, -np.inf, np.inf, derivatives=derivatives, dual=dual)


def _tried(
    value: Value, derivatives: Derivatives, y: Array, f: Array
) -> tuple[Array, Array, Array]:
    """Return a loss and its two derivatives, refusing what is not one finite number for each f."""
    with np.errstate(all="ignore"):
        values = _doubles_of(call_function(value, "value", "arrays y and f", y, f), "value")
        given = call_function(derivatives, "derivatives", "arrays y and f", y, f)
    if not isinstance(given, tuple | list) or len(given) != 2:  # noqa: PLR2004
        raise InvalidParameter(
            "derivatives must return two arrays, the first and the second derivative in f, and "
            f"returned {type(given).__name__}"
        )
    first, second = (_doubles_of(part, "derivatives") for part in given)
    if not values.shape == first.shape == second.shape == y.shape:
        raise InvalidParameter(
            f"a loss and its two derivatives must return one number for each of {len(y)}, and "
            f"returned shapes {values.shape}, {first.shape} and {second.shape}"
        )
    for what, part in (("loss", values), ("derivative", first), ("second derivative", second)):
        _refuse_where(
            ~np.isfinite(part),
            (y, f),
            lambda i, what=what, part=part: (  # type: ignore[misc]
                f"the {what}{{at}} is {part[i]}: it must be finite for every f; give targets= that "
                "y can have"
            ),
        )
    return values, first, second


def _doubles_of(given: Any, name: str) -> Array:
    return real_values(given, name).astype(np.float64)


def _refuse_where(is_wrong: Array, probes: tuple[Array, Array], why: Callable[[int], str]) -> None:
    """Refuse a loss for what is wrong at the first of the probes, which {at} names."""
    if not np.any(is_wrong):
        return
    i = int(np.argmax(is_wrong))
    y, f = (part[i] for part in probes)
    raise InvalidParameter(why(i).replace("{at}", f" at y = {y:g}, f = {f:g}"))


def _refuse_differences(value: Value, derivatives: Derivatives, y: Array, f: Array) -> None:
    r"""Refuse derivatives that differences do not bear out.

    A secant of a convex function has a slope between the derivatives at its ends; a second
    derivative lies near the slopes of secants of the first on either side, if these are short.
    """
    here = _tried(value, derivatives, y, f)
    slopes, secants = [], []
    is_first_wrong, is_second_wrong = np.ones(len(y), bool), np.ones(len(y), bool)
    for step in PROBES:
        below, above = (_tried(value, derivatives, y, f + h) for h in (-step, step))
        slope = (above[0] - below[0]) / (2.0 * step)
        sizes = np.max(np.abs([below[0], above[0]]), axis=0) + np.abs(here[1] * f)
        doubt = FUNCTION * UNIT * sizes / step + 1e-9 * np.abs(slope)
        is_first_wrong &= (slope < below[1] - doubt) | (slope > above[1] + doubt)
        left, right = (here[1] - below[1]) / step, (above[1] - here[1]) / step
        sizes = np.max(np.abs([below[1], here[1], above[1]]), axis=0) + np.abs(here[2] * f)
        doubt = FUNCTION * UNIT * sizes / step + CURVED * (np.abs(left) + np.abs(right))
        doubt += CURVED**2 * float(np.max(here[2]))  # where it vanishes at one point
        low, high = np.minimum(left, right) - doubt, np.maximum(left, right) + doubt
        is_second_wrong &= (here[2] < low) | (here[2] > high)
        slopes.append(slope)
        secants.append(0.5 * (left + right))
    for is_wrong, order, given, found in (
        (is_first_wrong, "first", here[1], slopes[0]),
        (is_second_wrong, "second", here[2], secants[0]),
    ):
        of = "the loss" if order == "first" else "the first"
        _refuse_where(
            is_wrong,
            (y, f),
            lambda i, order=order, given=given, found=found, of=of: (  # type: ignore[misc]
                f"the {order} derivative{{at}} is {given[i]:g}, and differences of {of} give "
                f"{found[i]:g}"
            ),
        )


def _refuse_corners(derivatives: Derivatives, targets: Array) -> None:
    """Refuse a derivative that jumps between two predictions: halves in which it changes most."""
    y = np.repeat(targets, len(PREDICTIONS) - 1)
    low, high = np.tile(PREDICTIONS[:-1], len(targets)), np.tile(PREDICTIONS[1:], len(targets))
    with np.errstate(all="ignore"):
        at_low, at_high = (np.asarray(derivatives(y, end)[0], np.float64) for end in (low, high))
        whole = np.abs(at_high - at_low).reshape(len(targets), -1).sum(axis=1)
        for _ in range(HALVED):
            middle = 0.5 * (low + high)
            at = np.asarray(derivatives(y, middle)[0], np.float64)
            is_left = at - at_low > at_high - at
            low, high = np.where(is_left, low, middle), np.where(is_left, middle, high)
            at_low, at_high = np.where(is_left, at_low, at), np.where(is_left, at, at_high)
    jumps = at_high - at_low
    _refuse_where(
        jumps > CORNER * np.repeat(whole, len(PREDICTIONS) - 1),
        (y, high),
        lambda i: (
            f"the loss has a corner{{at}}, where its derivative jumps from {at_low[i]:g} to "
            f"{at_high[i]:g}: convex_loss takes losses with a continuous derivative, and those "
            "with corners are known by name: absolute, quantile, hinge"
        ),
    )


def _refuse_conjugate(
    conjugate: Callable[[Array, Array], Array],
    probes: tuple[Array, Array],
    values: Array,
    slopes: Array,
) -> None:
    """Refuse a conjugate for which Fenchel and Young's inequality is no equality at s = ∂ℓ/∂f."""
    y, f = probes
    with np.errstate(all="ignore"):
        given = call_function(conjugate, "conjugate", "arrays y and s", y, slopes)
    found = _doubles_of(given, "conjugate")
    if found.shape != y.shape:
        raise InvalidParameter(
            f"a conjugate must return one number for each of {len(y)}, and returned shape "
            f"{found.shape}"
        )
    expected = slopes * f - values
    sizes = np.abs(slopes * f) + np.abs(values) + np.abs(slopes) * (np.abs(y) + 1.0)
    _refuse_where(
        ~(np.abs(found - expected) <= EQUAL * sizes),
        probes,
        lambda i: (
            f"the conjugate at y = {y[i]:g}, s = {slopes[i]:g} is {found[i]:g}, and must be "
            f"{expected[i]:g} = sf - loss, since the derivative{{at}} is s"
        ),
    )


def supremum(value: Value, derivatives: Derivatives, y: Array, s: Array) -> Array:
    """Return sup_f (sf - ℓ(y, f)), where the derivative of ℓ passes s; infinite if it never does.

    The place is bracketed from ±max(1, |y|) on, and halved between doubles in their order, so that
    64 steps find the last digit of any.

    >>> squared = (lambda y, f: (f - y) ** 2), (lambda y, f: (2.0 * (f - y), 2.0 + 0.0 * f))
    >>> supremum(*squared, np.array([3.0, 1e15]), np.array([2.0, 2.0]))
    array([7.e+00, 2.e+15])
    """

    def slope(f: Array) -> Array:
        first = np.asarray(derivatives(y, f)[0], np.float64)
        # What is no number far off, such as ∞/∞, lies beyond, and proves nothing if it is met.
        return np.where(np.isnan(first), np.copysign(np.inf, f), first)

    largest = float(np.finfo(np.float64).max)
    high = np.maximum(1.0, np.abs(y)) + 0.0 * s
    low = -high
    with np.errstate(all="ignore"):
        for factor in GROWTH:
            is_above, is_below = slope(low) > s, slope(high) < s
            if not np.any(is_above | is_below):
                break
            low = np.where(is_above, np.maximum(factor * low, -largest), low)
            high = np.where(is_below, np.minimum(factor * high, largest), high)
        is_outside = (slope(low) > s) | (slope(high) < s)
        left, right = _places(low), _places(high)
        for _ in range(DIGITS):
            middle = (left >> 1) + (right >> 1) + (left & right & 1)
            is_left = slope(_doubles(middle)) < s
            left, right = np.where(is_left, middle, left), np.where(is_left, right, middle)
        ends = _doubles(left), _doubles(right)
        is_outside |= np.isnan(derivatives(y, ends[0])[0] + derivatives(y, ends[1])[0])
        found = np.fmax(*(s * f - np.asarray(value(y, f)) for f in ends))
    return np.where(is_outside | ~np.isfinite(found), np.inf, found)


def _places(f: Array) -> Any:
    """Return the places of doubles among all of them, 0 having the place 0."""
    bits = np.ascontiguousarray(f, np.float64).view(np.int64)
    return np.where(bits < 0, -(bits & np.int64(2**63 - 1)), bits)


def _doubles(places: Any) -> Array:
    bits = np.abs(places)
    return np.where(places < 0, -1.0, 1.0) * np.ascontiguousarray(bits).view(np.float64)
