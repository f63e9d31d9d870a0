r"""Measures on (0, ∞), and the Bernstein functions that they make of squared distances.

.. math:: \Phi(t) = \int_0^\infty \frac{1 - e^{-\lambda t}}{\lambda}\, d\mu(\lambda)
    = \int_{-\infty}^\infty (1 - e^{-e^u t})\, g(e^u)\, du

A density g is integrated over u = log λ by Clenshaw and Curtis's rule of 17 nodes, which all
entries t share. Where g is not 0 is found first, on a fine grid; intervals in which the rule sees
less than the grid, or where its error is not small for every t, are halved.

As a function of v = log t, Φ extends to the strip :math:`|\Im v| < \pi/2`, whatever the measure:
there :math:`|1 - e^{-z}| \le \min(|z|, 2)`, which is at most 3.2 times :math:`1 - e^{-|z|}`. So it
is interpolated from 20 of Chebyshev's nodes in each unit of log t to 2e-15 of itself (Bernstein's
ellipse), and a matrix of any size costs a few hundred integrals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mercer.callables import values_of
from mercer.check import Array, chunks
from mercer.errors import InvalidParameter
from mercer.settings import nonnegative, number, numbers

Density = Callable[[Array], Array]
Measure = Density | Mapping[float, float]
"""A density on (0, ∞), or masses by their places."""

QUADRATURE = 1e-11
"""The error that is asked of an integral, as a share of it; a hundred times more is refused."""

REACH = 600.0
"""Natural logarithms of λ between which a density is looked at: e^600 is still a double."""

FAR_STEP, NEAR, NEAR_STEP = 0.01, 14.0, 2e-4
"""Steps of log λ by which a density is looked at, the smaller ones for λ from 1e-6 to 1e6."""

INSIDE = 20_001
"""Places at which a density is looked at in the support that was given, beside those."""

AROUND = np.concatenate([-np.logspace(-1, -14, 261), np.logspace(-14, -1, 261)])
"""Distances of log λ from a point that was given at which a density is looked at."""

PARTS, MOST_PARTS, HALVINGS = 64, 20_000, 60
"""Intervals of log λ at first and at most, and how often they are halved."""

NARROWEST = 1e-14
"""Intervals of log λ that rounding of λ leaves few nodes in: all that they hold is doubt."""

SEEN, ENOUGH = 10.0, 8
"""Squared steps by which the rule may differ from the grid, in intervals with so many of them."""

TOGETHER = 256
"""Squared distances whose integrals share their intervals."""

INTERPOLATED = 20
"""Chebyshev's nodes in each unit of log t."""

RULE = 16
"""Intervals between the nodes of Clenshaw and Curtis's rule: its ends are nodes, so that a jump
near to them is seen, as it is not by rules that leave them out."""


def transform_of(
    measure: Measure,
    t: Array,
    *,
    points: Sequence[float] | Array | None = None,
    support: Sequence[float] | None = None,
) -> Array:
    r"""Return the Bernstein function Φ of a measure at t ≥ 0.

    .. math:: \Phi(t) = \int_0^\infty \frac{1 - e^{-\lambda t}}{\lambda}\, d\mu(\lambda)

    A mass m at λ = 0 stands for m·t. See `schoenberg` for densities, ``points`` and ``support``.

    >>> transform_of({0.0: 2.0}, np.array([3.0])), transform_of({1.0: 1.0}, np.array([1.0]))
    (array([6.]), array([0.63212056]))
    >>> found = transform_of(lambda a: np.exp(-a), np.array([1.0, 2.0]))
    >>> bool(np.all(np.abs(found - np.log([2.0, 3.0])) < 1e-14))
    True
    """
    if isinstance(measure, Mapping):
        if points is not None or support is not None:
            raise InvalidParameter("points and support are for a density: masses have their places")
        total = np.zeros_like(t)
        for place, mass in measure.items():
            rate = nonnegative(place, "a place of the measure")
            weight = nonnegative(mass, f"the mass at {rate:g}")
            total = total + weight * (t if rate == 0.0 else -np.expm1(-rate * t) / rate)
        return np.asarray(total)
    if not callable(measure):
        raise InvalidParameter(f"a measure is a density or masses by place, found {measure!r}")
    places = _logarithms(points)
    scan = _scan(measure, places, _support(support))
    found = np.zeros(t.shape)
    apart = t > 0.0
    if np.any(apart):
        distinct, inverse = np.unique(t[apart], return_inverse=True)
        found[apart] = _interpolated(lambda s: _integrals(scan, s, places), distinct)[inverse]
    return found


class _Scan(NamedTuple):
    """A density seen on a grid of u = log λ, and the ends between which it is integrated."""

    density: Density
    u: Array
    values: Array
    ends: tuple[float, float]
    is_open: tuple[bool, bool]
    """Whether the density goes on beyond either end, where it cannot be looked at."""


def _logarithms(points: Any) -> Array:
    given = () if points is None else numbers(np.atleast_1d(points), "points", _positive)
    return np.asarray(np.log(np.asarray(given, np.float64)))


def _positive(value: Any, name: str) -> float:
    return number(value, name, above=0.0)


def _support(support: Any) -> tuple[float, float]:
    """Return the ends of the support as logarithms, within `REACH`."""
    if support is None:
        return -REACH, REACH
    ends = tuple(support) if np.ndim(support) == 1 else ()
    if len(ends) != 2:  # noqa: PLR2004
        raise InvalidParameter(f"support must be two numbers, its ends, found {support!r}")
    low = nonnegative(ends[0], "the lower end of the support")
    high = number(ends[1], "the upper end of the support", above=low, allowed=np.inf)
    with np.errstate(divide="ignore"):
        a, b = np.clip(np.log([low, high]), -REACH, REACH).tolist()
    if not a < b:
        raise InvalidParameter(f"support must reach into λ from 1e-260 to 1e260, found {support!r}")
    return a, b


def _scan(density: Density, places: Array, support: tuple[float, float]) -> _Scan:
    a, b = support
    far, near = np.arange(-REACH, REACH, FAR_STEP), np.arange(-NEAR, NEAR, NEAR_STEP)
    inside = a + (b - a) * (np.arange(INSIDE) + 0.5) / INSIDE
    # Shifted by π steps, so that round numbers, where densities may jump, are not met.
    steps = (far + np.pi * FAR_STEP / 4.0, near + np.pi * NEAR_STEP / 4.0, inside)
    grid = np.concatenate([*steps, (places[:, None] + AROUND).ravel()])
    u = np.unique(grid[(grid > a) & (grid < b)])
    g = _values(density, u)
    positive = np.flatnonzero((g > 0.0) & np.isfinite(g))
    if not len(positive):
        raise InvalidParameter(
            f"the density is 0 at all {len(u)} places from {np.exp(u[0]):.3g} to "
            f"{np.exp(u[-1]):.3g} where it was looked at: if it is not 0 in between, give points= "
            "where it is large, or support= that holds it"
        )
    first, last = int(positive[0]), int(positive[-1])
    unknown = np.flatnonzero(~np.isfinite(g))
    within = unknown[(unknown > first) & (unknown < last)]
    if len(within):
        i = int(within[0])
        raise InvalidParameter(f"the density is {g[i]} at {np.exp(u[i]):.4g}, and must be finite")
    # Beyond some λ there may be no numbers, such as ∞·0.
    start = int(np.max(unknown[unknown < first], initial=-1)) + 1
    stop = int(np.min(unknown[unknown > last], initial=len(u)))
    low, high, is_open = float(u[start]), float(u[stop - 1]), [first == start, last == stop - 1]
    if first > start:
        low = float(u[first - 1])
    elif start == 0:
        low, is_open[0] = a, a == -REACH
    if last < stop - 1:
        high = float(u[last + 1])
    elif stop == len(u):
        high, is_open[1] = b, b == REACH
    return _Scan(density, u[start:stop], g[start:stop], (low, high), (is_open[0], is_open[1]))


def _values(density: Density, u: Array) -> Array:
    """Return the density at λ = e^u."""
    rates = np.exp(u)
    g = values_of(density, "a density", "an array of λ", rates).astype(np.float64)
    negative = np.flatnonzero(g < 0.0)
    if len(negative):
        i = int(negative[0])
        raise InvalidParameter(f"a density is not negative, and this is {g[i]:g} at {rates[i]:.4g}")
    return g


@cache
def _rule() -> tuple[Array, Array, Array]:
    """Return nodes in [-1, 1] and their weights, and those of every other node alone.

    >>> nodes, fine, coarse = _rule()
    >>> float(abs(fine @ nodes**8 - 2 / 9)) < 1e-15, float(abs(coarse @ nodes**8 - 2 / 9)) < 1e-15
    (True, True)
    """
    coarse = np.zeros(RULE + 1)
    coarse[::2] = _clenshaw_curtis(RULE // 2)
    return np.cos(np.pi * np.arange(RULE + 1) / RULE), _clenshaw_curtis(RULE), coarse


def _clenshaw_curtis(n: int) -> Array:
    """Return the weights of the nodes cos(kπ/n), of which there is an even number n and one."""
    j, k = np.arange(1, n // 2 + 1), np.arange(n + 1)
    terms = np.where(j == n // 2, 1.0, 2.0) / (4.0 * j * j - 1.0)
    weights = (1.0 - np.cos(2.0 * np.pi * np.outer(k, j) / n) @ terms) / n
    weights[1:-1] *= 2.0
    return np.asarray(weights)


class _Parts(NamedTuple):
    """Intervals of u with their integrals and what these may be off, for every t."""

    a: Array
    b: Array
    values: Array
    errors: Array

    def chosen(self, rows: Array) -> _Parts:
        """Return some of the intervals."""
        return _Parts(*(column[rows] for column in self))


def _parts(scan: _Scan, a: Array, b: Array, t: Array) -> _Parts:
    """Return intervals with their integrals, and what every other node alone differs by."""
    nodes, fine, coarse = _rule()
    half = 0.5 * (b - a)
    u = np.clip(0.5 * (a + b)[:, None] + half[:, None] * nodes, a[:, None], b[:, None])
    g = _values(scan.density, u.ravel()).reshape(u.shape)
    if not np.all(np.isfinite(g)):
        i, j = np.argwhere(~np.isfinite(g))[0]
        raise InvalidParameter(
            f"the density is {g[i, j]} at {np.exp(u[i, j]):.17g}, and must be finite"
        )
    values, errors = np.empty((len(a), len(t))), np.empty((len(a), len(t)))
    for rows in chunks(len(a), 64):
        with np.errstate(over="ignore"):
            heights = -np.expm1(-np.exp(u[rows])[..., None] * t) * g[rows, :, None]
        values[rows] = np.einsum("ijk,j->ik", heights, fine) * half[rows, None]
        lower = np.einsum("ijk,j->ik", heights, coarse) * half[rows, None]
        errors[rows] = np.abs(values[rows] - lower)
    is_narrow = b - a < NARROWEST
    errors[is_narrow] = np.maximum(errors[is_narrow], values[is_narrow])
    return _Parts(a, b, values, errors)


def _integrals(scan: _Scan, t: Array, places: Array) -> Array:
    """Return Φ at increasing t > 0, refusing a density whose integrals do not settle."""
    return np.concatenate([_settled(scan, t[rows], places) for rows in chunks(len(t), TOGETHER)])


def _settled(scan: _Scan, t: Array, places: Array) -> Array:
    low, high = scan.ends
    inside = places[(places > low) & (places < high)]
    edges = np.unique(np.concatenate([np.linspace(low, high, PARTS + 1), inside]))
    parts = _parts(scan, edges[:-1], edges[1:], t)
    seen = _seen(scan, t[[0, -1]])
    for _ in range(HALVINGS):
        totals = parts.values.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.nan_to_num(np.max(parts.errors / totals, axis=1), nan=0.0, posinf=np.inf)
        order = np.argsort(off)
        is_split = np.zeros(len(off), bool)
        is_split[order] = np.cumsum(off[order]) > 0.5 * QUADRATURE
        is_split |= _overlooked(scan, seen, parts)
        is_split &= parts.b - parts.a >= NARROWEST
        rows = np.flatnonzero(is_split)
        if not len(rows) or len(off) + len(rows) > MOST_PARTS:
            break
        middles = 0.5 * (parts.a[rows] + parts.b[rows])
        halves = _parts(
            scan,
            np.concatenate([parts.a[rows], middles]),
            np.concatenate([middles, parts.b[rows]]),
            t,
        )
        kept = parts.chosen(np.flatnonzero(~is_split))
        parts = _Parts(*(np.concatenate(pair) for pair in zip(kept, halves, strict=True)))
    totals = parts.values.sum(axis=0)
    errors = parts.errors.sum(axis=0) + _tails(scan, t)
    if not np.all(errors <= 100.0 * QUADRATURE * totals):
        worst = int(np.argmax(errors / totals))
        raise InvalidParameter(
            f"the integral of (1 - exp(-λt))/λ over this density does not settle: at t = "
            f"{t[worst]:.4g} its error is {errors[worst] / totals[worst]:.1g} of it. ∫ g over "
            "(0, 1) and ∫ g/λ over (1, ∞) must be finite, and all but 1e-9 of them must lie "
            "between λ = 1e-260 and 1e260; places where g is steep may be given as points="
        )
    return np.asarray(totals)


def _seen(scan: _Scan, t: Array) -> Array:
    """Return the integrals up to each place of the grid, by trapezia."""
    with np.errstate(over="ignore"):
        heights = -np.expm1(-np.exp(scan.u)[:, None] * t) * scan.values[:, None]
    steps = 0.5 * np.diff(scan.u)[:, None] * (heights[1:] + heights[:-1])
    return np.concatenate([np.zeros((1, len(t))), np.cumsum(steps, axis=0)])


def _overlooked(scan: _Scan, seen: Array, parts: _Parts) -> Array:
    """Return which intervals hold more, or less, on the grid than by the rule."""
    count = np.searchsorted(scan.u, parts.b) - np.searchsorted(scan.u, parts.a)
    found = parts.values[:, [0, -1]]
    expected = np.stack(
        [np.interp(parts.b, scan.u, of) - np.interp(parts.a, scan.u, of) for of in seen.T], axis=1
    )
    # A smooth function has trapezia that are off by less than the square of the step.
    step = (parts.b - parts.a) / np.maximum(count, 1)
    allowed = SEEN * (step * step)[:, None] * np.maximum(found, expected)
    allowed += 1e-3 * QUADRATURE * np.maximum(seen[-1], found.sum(axis=0))
    is_off = np.any(np.abs(found - expected) > allowed, axis=1)
    return np.asarray(is_off & (count >= ENOUGH))


def _tails(scan: _Scan, t: Array) -> Array:
    """Estimate what lies beyond the ends, by the rate at which heights fall towards them."""
    total = np.zeros(len(t))
    for end, sign, is_open in zip(scan.ends, (-1.0, 1.0), scan.is_open, strict=True):
        if not is_open:
            continue
        u = np.array([end - sign * 1e-3 * REACH, end - sign * 2e-2 * REACH])
        g = _values(scan.density, u)
        with np.errstate(all="ignore"):
            last, before = -np.expm1(-np.exp(u)[:, None] * t) * g[:, None]
            rate = np.log(before / last) / abs(u[1] - u[0])
            total += np.where(last > 0.0, np.where(rate > 0.0, last / rate, np.inf), 0.0)
    return total


def _interpolated(function: Callable[[Array], Array], t: Array) -> Array:
    """Return a Bernstein function at increasing t > 0, from few of its values where t are many."""
    pieces = np.floor(np.log(t)).astype(np.int64)
    found, first = np.unique(pieces, return_index=True)
    if INTERPOLATED * len(found) >= len(t):
        return function(t)
    angles = np.pi * (np.arange(INTERPOLATED)[::-1] + 0.5) / INTERPOLATED
    nodes, signs = np.cos(angles), (-1.0) ** np.arange(INTERPOLATED) * np.sin(angles)
    middles = np.exp(found + 0.5)
    knots = function((middles[:, None] * np.exp(0.5 * nodes)).ravel()).reshape(-1, INTERPOLATED)
    values = np.empty_like(t)
    for i, start in enumerate(first):
        stop = first[i + 1] if i + 1 < len(first) else len(t)
        for rows in chunks(stop - start, 2**14):
            part = slice(start + rows.start, start + rows.stop)
            gaps = 2.0 * np.log(t[part] / middles[i])[:, None] - nodes
            is_knot = gaps == 0.0
            weights = signs / np.where(is_knot, 1.0, gaps)
            is_met = np.any(is_knot, axis=1)
            weights[is_met] = is_knot[is_met]
            values[part] = weights @ knots[i] / weights.sum(axis=1)
    return values
