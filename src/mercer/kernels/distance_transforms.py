"""Schoenberg's transforms: the functions that keep all squared distances squared distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from mercer.check import Array, finite, number, real_array
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.definite import ASYMMETRY, eigenvalues
from mercer.kernels.geometry import (
    across,
    centre_of,
    centred,
    conditional_verdict,
    not_distances,
    real_matrix,
    squares_of,
)

Transform = Callable[[Array, float], Array]

FINEST_POWER = 1e-14
"""No power is known more exactly: rounding moves the eigenvalue whose sign decides by some u."""

TRANSFORMS: dict[str, tuple[Transform, str]] = {
    "identity": (lambda t, _: t + 0.0, ""),
    "exponential": (lambda t, a: -np.expm1(-a * t) / a, "a"),
    "logarithm": (lambda t, a: np.log1p(t / a), "a"),
    "rational": (lambda t, a: (t / a) / (1.0 + t / a) / a, "a"),
    "power": (lambda t, p: t**p, "p"),
}
"""The transforms by name, each with the letter of its parameter."""


def schoenberg(squared_distances: Any, transform: str = "power", parameter: float = 0.5) -> Array:
    r"""Return a transform of squared distances that keeps Euclidean ones Euclidean.

    .. math:: t, \quad \frac{1 - e^{-at}}{a}, \quad \ln\left(1 + \frac{t}{a}\right), \quad
        \frac{t}{a(a + t)}, \quad t^p, \qquad a > 0,\; 0 < p \le 1

    named ``"identity"``, ``"exponential"``, ``"logarithm"``, ``"rational"`` and ``"power"``. Each
    is a Bernstein function Φ with Φ(0) = 0: Φ is nonnegative and its derivative is completely
    monotone (Φ itself is not), so that

    .. math:: \Phi(t) = \int_0^\infty \frac{1 - e^{-\lambda t}}{\lambda}\, g(\lambda)\, d\lambda,
        \quad g \ge 0, \quad \int_0^1 g\, d\lambda < \infty, \quad
        \int_1^\infty \frac{g}{\lambda}\, d\lambda < \infty

    with a point mass in place of g dλ for the first two. These Φ are the functions that keep
    *every* matrix of squared distances, in every dimension, one; for a single given matrix
    others may do too. The entries are transformed one by one, so that the array may be
    rectangular.

    >>> schoenberg([[0.0, 2.0]], "rational", 1.0)
    array([[0.        , 0.66666667]])

    Yao, Schoenberg transforms, with the conditions on g and Φ put right.
    """
    if transform not in TRANSFORMS:
        raise InvalidParameter(
            f"transform must be one of {', '.join(TRANSFORMS)}, found {transform!r}"
        )
    function, letter = TRANSFORMS[transform]
    p = number(parameter, f"the parameter {letter} of {transform}", above=0.0) if letter else 1.0
    if letter == "p" and p > 1.0:
        raise InvalidParameter(
            f"the parameter p of power must be a number in (0, 1], found {parameter!r}: powers "
            "greater than 1 do not keep distances Euclidean"
        )
    t = real_array(squared_distances, "the array of squared distances")
    if np.any(t < 0):
        place = tuple(int(i) for i in np.argwhere(t < 0)[0])
        raise InvalidInput(
            f"a squared distance cannot be negative, found {t[place]:.6g} at {place}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return finite(function(t, p), f"the transform {transform} of the squared distances")


def largest_euclidean_power(distances: Any, tol: float = 1e-10) -> float:
    r"""Return the largest p in (0, 1] for which the distances to the power p are Euclidean.

    .. math:: p^* = \max\,\{p \le 1 : (d_{ij}^{2p}) \text{ is conditionally negative definite}\}

    The powers that do form an interval (0, p*], because powers below 1 keep squared distances
    what they are (`schoenberg`), and small ones bring distinct points near the corners of a
    simplex. The result is right to ``tol``, or to 1e-14 if that is more, from below. Points at
    distance 0 must have equal rows: no power could make them Euclidean otherwise.

    >>> square = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    >>> largest_euclidean_power(square)
    0.5

    The two squared diagonals of that square, 2·4^p, may not exceed its four squared sides.
    """
    d, roundoff = real_matrix(distances, "the matrix of distances")
    tol = max(number(tol, "tol", above=0.0), FINEST_POWER)
    broken = not_distances(d, roundoff)
    if broken:
        raise InvalidInput(f"these are not distances: {broken}")
    squares = squares_of(_without_copies(0.5 * d + 0.5 * d.T))
    alpha = centre_of(None, len(squares))
    if conditional_verdict(squares, alpha, roundoff, "Euclidean"):
        return 1.0
    t = squares / np.max(squares)

    def smallest(p: float) -> float:
        return float(eigenvalues(across(centred(t**p, alpha), alpha))[0])

    low = 0.5
    while smallest(low) <= 0.0:
        low /= 2.0
    p = float(brentq(smallest, low, 1.0, xtol=tol, rtol=FINEST_POWER))
    step = max(tol, float(np.spacing(p)))
    while p > low and smallest(p) < 0.0:
        p -= step
        step *= 2.0  # few steps lead out of what rounding made negative
    return max(p, low)


def _without_copies(d: Array) -> Array:
    """Return the distances between distinct points, refusing distance 0 between others."""
    if len(d) == 0:
        return d
    first = np.argmax(d + np.diag(np.full(len(d), -np.inf)) <= 0.0, axis=1)
    gaps = np.max(np.abs(d - d[first]), axis=1, initial=0.0)
    for i in np.flatnonzero(gaps > ASYMMETRY * np.max(d, initial=0.0)):
        raise InvalidInput(
            f"points {first[i]} and {i} are at distance 0 but their distances to others differ: "
            "no power makes these distances Euclidean"
        )
    kept = np.flatnonzero(first == np.arange(len(d)))
    return d[np.ix_(kept, kept)]
