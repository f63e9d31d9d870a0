"""The Matérn profile and its slope in double precision, apart because Bessel functions need care.

The factors overflow or cancel long before the profile does, so each range of order and distance
has its own formula. Errors quoted below are relative, against mpmath at 50 digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb, perm

import numpy as np
from numpy.typing import NDArray
from scipy import special

DEBYE_FROM = 20.0
"""Lowest order for Debye's expansion; below it scipy's kve is under 1e224 for all z >= `NEAR`."""

DEBYE_TERMS = 12
"""Terms after the first: at order 20 they leave an error of 2e-16, where ten leave 1e-14."""

GAP, GAP_ORDER = (0.7, 2.0), 2.0
"""For z in this range and lower orders kve errs by up to 3e-13, elsewhere by 3e-14 at most."""

STEP, NODES = 0.2, 24
"""Trapezoidal rule that replaces kve in the `GAP`: its own error is 1e-15 at most there."""

NEAR, SMOOTH_FROM = 1e-10, 0.9
"""For z below the first, terms in z squared are below 3e-20; and from this order on M = 1."""

RATIO_TERMS = 24
"""Terms of the gamma ratio below that order: each gains a factor 4 or more, so 1e-18 is left."""

VANISHED = 1e3
"""The profile of order nu underflows to 0 before z = `VANISHED` * (1 + nu), whatever nu is."""


def matern(z: NDArray[np.float64], nu: float) -> NDArray[np.float64]:
    r"""Matérn profile of order nu, with the value 1 at 0.

    .. math::

        M_\nu(z) = \frac{2^{1-\nu}}{\Gamma(\nu)}\, z^\nu K_\nu(z)

    Here nu > 0 and z >= 0, of any shape and up to infinity; values lie in [0, 1], 0 on underflow.

    References
    ----------
    Kroese et al., *Data Science and Machine Learning*, (6.16); DLMF 10.41 (Debye's expansion).

    Examples
    --------
    >>> import numpy as np
    >>> z = np.array([0.0, 1.0, 1e300])
    >>> matern(z, 0.5)
    array([1.        , 0.36787944, 0.        ])
    >>> matern(z, 2.2)
    array([1.        , 0.83349685, 0.        ])
    """
    return np.asarray(np.minimum(_profile(z, nu, 1.0), 1.0))


def matern_slope(z: NDArray[np.float64], nu: float) -> NDArray[np.float64]:
    r"""Derivative of the Matérn profile of order nu with respect to the square of z.

    .. math::

        \frac{\mathrm{d} M_\nu}{\mathrm{d}(z^2)}
        = -\frac{2^{-\nu}}{\Gamma(\nu)}\, z^{\nu-1} K_{\nu-1}(z)
        = -\frac{M_{\nu-1}(z)}{4(\nu-1)} \quad\text{(the latter for } \nu > 1\text{)}

    At z = 0 it diverges when nu <= 1. The value there is 0 by convention: a gradient multiplies
    it by x - y = 0, and for nu <= 1/2 there is none. Overflow stops at minus the largest double.

    References
    ----------
    Kroese et al., *Data Science and Machine Learning*, (6.16); DLMF 10.29.4, 10.41 (Debye).

    Examples
    --------
    >>> import numpy as np
    >>> matern_slope(np.array([0.0, 1.0]), 1.5)
    array([-0.5       , -0.18393972])
    """
    if nu > 1.0:
        return _profile(z, nu - 1.0, -0.25 / (nu - 1.0))
    z = np.asarray(z, dtype=np.float64)
    slope = np.zeros(z.shape)
    apart = z != 0.0
    slope[apart] = -_steepness(z[apart], nu)
    return slope


def matern_descent(z: NDArray[np.float64], nu: float) -> NDArray[np.float64]:
    r"""Minus the derivative of the Matérn profile of order nu <= 1 with respect to z itself.

    .. math:: -M_\nu'(z) = \frac{2^{1-\nu}}{\Gamma(\nu)}\, z^\nu K_{1-\nu}(z)

    It is finite where the derivative in the square of z has long overflown. The value at z = 0 is
    0 by convention, as in `matern_slope`, and overflow stops at the largest double.

    Examples
    --------
    >>> import numpy as np
    >>> matern_descent(np.array([0.0, 1.0]), 0.5)
    array([0.        , 0.36787944])
    """
    z = np.asarray(z, dtype=np.float64)
    descent = np.zeros(z.shape)
    apart = z != 0.0
    descent[apart] = _steepness(z[apart], nu, in_square=False)
    return descent


def _profile(z: NDArray[np.float64], nu: float, scale: float) -> NDArray[np.float64]:
    """Profile times scale: for the slope at nu close to 1 it must come before underflow."""
    z = np.asarray(np.minimum(z, VANISHED * (1.0 + nu)), dtype=np.float64)
    if nu >= DEBYE_FROM:
        return np.asarray(scale * _debye(z, nu))
    if float(nu - 0.5).is_integer():
        return np.asarray(scale * _half_integer(z, int(nu)))
    value = np.full(z.shape, scale)
    near = z < NEAR
    value[~near] = _from_bessel(z[~near], nu, scale)
    if nu < SMOOTH_FROM:
        inside = near & (z > 0.0)
        value[inside] = scale * _near_zero(z[inside], nu)
    return value


def _steepness(z: NDArray[np.float64], nu: float, *, in_square: bool = True) -> NDArray[np.float64]:
    """Minus the slope for nu <= 1 and z > 0, through the profile of the reflected order 1 - nu."""
    mu = 1.0 - nu
    if mu == 0.0:
        # K_0 goes on as a logarithm below `NEAR`, for scipy's k0 is infinite at 5e-324.
        excess = np.log(NEAR) - np.log(np.minimum(z, NEAR))
        bessel = special.k0(np.maximum(z, NEAR)) + excess
        return np.asarray(0.5 * bessel if in_square else z * bessel)
    scale = 4.0 ** (mu - 1.0) * special.gamma(mu) / special.gamma(nu)
    z = np.minimum(z, VANISHED * (1.0 + nu))
    # Overflow is expected for tiny z, and clipping it is the documented result. Two halves of the
    # power let a small scale bring the product back into range; mu is exact for nu >= 1/2 only.
    with np.errstate(over="ignore"):
        half = z**-mu if nu >= 0.5 else z**nu / z
        other = half if in_square else 2.0 * z**nu
        steepness: NDArray[np.float64] = _profile(z, mu, scale) * other * half
    return np.minimum(steepness, np.finfo(np.float64).max)


def _half_integer(z: NDArray[np.float64], p: int) -> NDArray[np.float64]:
    """Profile of order p + 1/2: all terms are positive, so nothing cancels."""
    rising = [2**k * comb(p, k) / perm(2 * p, k) for k in range(p + 1)]
    # The exponential enters in two halves: exp(-z) is subnormal where the product is not.
    half = np.exp(-0.5 * z)
    return np.asarray(_horner(rising, z) * half * half)


def _from_bessel(z: NDArray[np.float64], nu: float, scale: float) -> NDArray[np.float64]:
    """Profile times scale, for z >= `NEAR` and nu < `DEBYE_FROM`, from K times exp(z)."""
    bessel = np.empty_like(z)
    gap = (nu < GAP_ORDER) & (z >= GAP[0]) & (z <= GAP[1])
    bessel[gap] = _integral(z[gap], nu)
    bessel[~gap] = special.kve(nu, z[~gap])
    half = np.exp(-0.5 * z)  # in two halves for the reason given in `_half_integer`
    return np.asarray((0.5 * z) ** nu * bessel * half * (2.0 * scale / special.gamma(nu)) * half)


def _integral(z: NDArray[np.float64], nu: float) -> NDArray[np.float64]:
    """K times exp(z) from its integral (DLMF 10.32.9): terms are positive, so nothing cancels."""
    t = STEP * np.arange(1, NODES)
    value = np.full(z.shape, 0.5)
    for weight, rate in zip(np.cosh(nu * t), 2.0 * np.sinh(0.5 * t) ** 2, strict=True):
        value += weight * np.exp(-rate * z)
    return STEP * value


def _near_zero(z: NDArray[np.float64], nu: float) -> NDArray[np.float64]:
    """Profile 1 - (z/2)^(2 nu) Gamma(1 - nu) / Gamma(1 + nu), for 0 < z < `NEAR`, nu < 0.9.

    The logarithm of the ratio of gammas (DLMF 5.7.3) has its slow part summed as an inverse
    hyperbolic tangent, so that it keeps its relative accuracy however small nu is.
    """
    k = np.arange(1, RATIO_TERMS)
    tail = np.sum(special.zetac(2.0 * k + 1.0) * nu ** (2.0 * k) / (2.0 * k + 1.0))
    ratio = np.euler_gamma - 1.0 + np.arctanh(nu) / nu + tail
    return np.asarray(-np.expm1(2.0 * nu * (np.log(z) - np.log(2.0) + ratio)))


def _debye(z: NDArray[np.float64], nu: float) -> NDArray[np.float64]:
    """Profile from Debye's uniform expansion (DLMF 10.41.4), divided by itself at z = 0."""
    t = z / nu
    s = np.sqrt(1.0 + t * t)
    e = t * t / (1.0 + s)
    series = ((-1.0 / nu) ** np.arange(DEBYE_TERMS + 1) @ _debye_table()).tolist()
    correction = _horner(series, 1.0 / s) / _horner(series, np.ones(())) / np.sqrt(s)
    return np.asarray(np.exp(nu * (np.log1p(0.5 * e) - e)) * correction)


@cache
def _debye_table() -> NDArray[np.float64]:
    """Coefficients of the polynomials u_k, one row each, from their recurrence (DLMF 10.41.9)."""
    table = np.zeros((DEBYE_TERMS + 1, 3 * DEBYE_TERMS + 1))
    u = [Fraction(1)]
    for row in table:
        row[: len(u)] = [float(c) for c in u]
        following = [Fraction(0)] * (len(u) + 3)
        for j, c in enumerate(u):
            following[j + 1] += c * (Fraction(j, 2) + Fraction(1, 8 * (j + 1)))
            following[j + 3] -= c * (Fraction(j, 2) + Fraction(5, 8 * (j + 3)))
        u = following
    return table


def _horner(rising: Sequence[float], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Polynomial with these coefficients, constant first, in two passes in place per degree."""
    value = np.full(np.shape(x), rising[-1])
    for c in rising[-2::-1]:
        value *= x
        value += c
    return value
