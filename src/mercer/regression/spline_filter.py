r"""What observations on one side of a place know of a curve there: an information filter.

A smoothing spline is the mean of a twice integrated white noise :math:`g''` of rate q, observed
with weights w (Wahba, 1978). What is known of the pair (g, g') at a place is a quadratic form; its
matrix and its linear part are

.. math:: \begin{pmatrix} a & -m \\ -m & c \end{pmatrix}, \quad d = ac - m^2, \qquad
    \begin{pmatrix} u \\ v \end{pmatrix}

Seen from the left, m is never negative, and if d is carried along like the others, no step
subtracts: a, m, c, d, hence variances and leverages, keep all their digits however close two
places are and however large or small the penalty is. The banded normal equations of Reinsch divide
by the gaps instead, and their condition number grows with the fourth power of the smallest one.

The functions are plain arithmetic, for numbers and arrays alike. Two sweeps along the line call
them: loops that numba compiles where it is installed, and that else run as they are written, some
thirty times slower and to the same digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from zlib import crc32

import numpy as np

from mercer.check import Array

Number = TypeVar("Number", float, Array)
Known: TypeAlias = tuple[Number, Number, Number, Number, Number, Number]
"""The numbers (a, m, c, d, u, v)."""


def six(known: Iterable[Number]) -> Known[Number]:
    """Return six numbers as a tuple of known length."""
    a, m, c, d, u, v = known
    return a, m, c, d, u, v


def observe(known: Known[Number], w: Number, y: Number) -> Known[Number]:
    """Add an observation y of g with weight w.

    >>> observe((0.0, 0.0, 2.0, 0.0, 0.0, 0.0), 3.0, 1.0)
    (3.0, 0.0, 2.0, 6.0, 3.0, 0.0)
    """
    a, m, c, d, u, v = known
    return a + w, m, c, d + w * c, u + w * y, v


def carry(known: Known[Number], h: Number, q: Number) -> tuple[Known[Number], Number]:
    r"""Carry the information over a gap h, in which g'' is white noise of rate q.

    The covariance becomes :math:`F C F^\top + q V` with

    .. math:: F = \begin{pmatrix} 1 & h \\ 0 & 1 \end{pmatrix}, \quad
        V = \begin{pmatrix} h^3/3 & h^2/2 \\ h^2/2 & h \end{pmatrix}

    The number returned beside it is the ratio of the determinants of the two information matrices,

    .. math:: \Delta = 1 + q\,(hc + h^2 m + h^3 a/3) + q^2 h^4 d/12

    Here (g, g') has covariance I and mean (1, 2), and is carried over a gap of 1 at rate 3:

    >>> import numpy as np
    >>> (a, m, c, d, u, v), ratio = carry((1.0, 0.0, 1.0, 1.0, 1.0, 2.0), 1.0, 3.0)
    >>> C = np.array([[2.0, 1.0], [1.0, 1.0]]) + 3.0 * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]])
    >>> np.allclose([[a, -m], [-m, c]], np.linalg.inv(C))
    True
    >>> np.allclose([u, v], np.linalg.solve(C, [3.0, 2.0]))
    True
    >>> np.allclose([d, d], [1.0 / np.linalg.det(C), 1.0 / ratio])
    True
    """
    a, m, c, d, u, v = known
    qh = q * h
    qhh = qh * h
    ah = a * h
    mh = m * h
    ch = c * h
    ratio = 1.0 + q * (ch + h * mh + h * h * ah / 3.0) + qhh * qhh * d / 12.0
    inverse = 1.0 / ratio
    forth = (1.0 + q * (h * mh / 2.0 + ch)) * u + q * (h * ah / 2.0 + mh) * v
    kept = (1.0 - qh * (h * ah / 6.0 + mh / 2.0)) * v
    lost = h * (1.0 + q * (ch / 2.0 + h * mh / 6.0)) * u
    after = (
        (a + qh * d) * inverse,
        (m + ah + qhh * d / 2.0) * inverse,
        (c + h * (2.0 * m + ah) + qhh * h * d / 3.0) * inverse,
        d * inverse,
        forth * inverse,
        (kept - lost) * inverse,
    )
    return after, ratio


def joint_determinant(left: Known[Number], right: Known[Number]) -> Number:
    """Return the determinant of the sum of what is known from both sides.

    The right side sees the slope with the opposite sign, so that this too is a sum.

    >>> joint_determinant((1.0, 0.5, 1.0, 0.75, 0.0, 0.0), (2.0, 1.0, 1.0, 1.0, 0.0, 0.0))
    5.75
    """
    a, m, c, d, _, _ = left
    A, M, C, D, _, _ = right
    total: Number = d + D + a * C + A * c + 2.0 * m * M
    return total


def joint_mean(
    left: Known[Number], right: Known[Number], determinant: Number
) -> tuple[Number, Number]:
    """Return the means of g and g' given what is known from both sides.

    >>> joint_mean((1.0, 0.0, 1.0, 1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), 1.0)
    (2.0, 3.0)
    """
    level, cross, slope = left[0] + right[0], right[1] - left[1], left[2] + right[2]
    u, v = left[4] + right[4], left[5] - right[5]
    return (slope * u - cross * v) / determinant, (level * v - cross * u) / determinant


def left_out(
    left: Known[Number], right: Known[Number], without: Number, w: Number, y: Number
) -> tuple[Number, Number]:
    r"""Return the determinant of what all know, and the residual of one observation.

    With det⁻ (``without``) the determinant of what the others know and det that of all, the
    leverage h of the observation and the curve :math:`g^{-}` without it are subject to

    .. math:: 1 - h = \det{}^- / \det, \qquad y - g = (1 - h)(y - g^{-})

    so that the residual keeps its digits also where it is far smaller than y.

    >>> others = (1.0, 0.0, 1.0, 1.0, 5.0, 0.0)  # g = 5 with variance 1
    >>> left_out(others, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), 1.0, 1.0, 7.0)
    (2.0, 1.0)
    """
    slope, cross = left[2] + right[2], right[1] - left[1]
    u, v = left[4] + right[4], left[5] - right[5]
    determinant = without + w * slope
    return determinant, (without * y - slope * u + cross * v) / determinant


LARGEST = 1e150
"""Largest product of ratios: its logarithm is taken before it overflows."""

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
"""Options of numba: sums and products may be fused, and nothing raises."""


@dataclass(frozen=True)
class Swept:
    """The knowledge of each place from the places on either side, and its consequence."""

    weights: Array
    left: Known[Array]
    right: Known[Array]
    log_ratios: float
    """Σ log Δ."""
    without: Array
    determinant: Array
    residuals: Array
    """The observed means minus the curve."""

    @property
    def remainders(self) -> Array:
        """One minus the leverages."""
        return np.asarray(self.without / self.determinant)

    @property
    def leverages(self) -> Array:
        """The diagonal of the smoother."""
        return np.asarray(self.weights * (self.left[2] + self.right[2]) / self.determinant)


@cache
def is_compiled() -> bool:
    """Whether sweeps are compiled: numba is installed."""
    return find_spec("numba") is not None


def swept(gaps: Array, weights: Array, values: Array, rate: float) -> Swept:
    """Return what both sides know of each place."""
    left, right = np.empty((6, weights.size)), np.empty((6, weights.size))
    found = np.empty((3, weights.size))
    if is_compiled():
        forth, back = _compiled()
        logarithms = float(forth(gaps, weights, values, rate, left))
        back(gaps, weights, values, rate, (left, right), found)
    else:
        # Numbers of Python's, which a memory view returns, are much faster than numpy's.
        h, w, y = (np.ascontiguousarray(part).data for part in (gaps, weights, values))
        logarithms = sweep(h, w, y, rate, left.data)
        join(h, w, y, rate, (left.data, right.data), found.data)
    return Swept(weights, six(left), six(right), logarithms, *found)


@cache
def _compiled() -> list[Any]:
    """Return the two loops compiled, with the formulas that they call."""
    import numba
    from numba.extending import register_jitable

    for formula in (carry, observe, joint_determinant, left_out):
        register_jitable(**OPTIONS)(formula)
    formulas = crc32(Path(__file__).read_bytes())
    for loop in (sweep, join):
        # numba's cache is found by name, and does not see that formulas have changed.
        loop.__qualname__ = f"{loop.__name__}_{formulas:08x}"
    return [numba.njit(cache=True, **OPTIONS)(loop) for loop in (sweep, join)]


def sweep(gaps: Any, weights: Any, values: Any, rate: float, left: Any) -> float:
    """Fill ``left`` with what the earlier places know of each, and return Σ log Δ."""
    known = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    logarithms, product = 0.0, 1.0
    for i in range(len(weights)):
        if i > 0:
            known, ratio = carry(known, gaps[i - 1], rate)
            product *= ratio
            if product > LARGEST:
                logarithms += float(np.log(product))
                product = 1.0
        left[0, i], left[1, i], left[2, i], left[3, i], left[4, i], left[5, i] = known
        known = observe(known, weights[i], values[i])
    return logarithms + float(np.log(product))


def join(
    gaps: Any, weights: Any, values: Any, rate: float, sides: tuple[Any, Any], out: Any
) -> None:
    """Fill the right side with what the later places know, ``out`` with det⁻, det and residuals."""
    left, right = sides
    after = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(len(weights) - 1, -1, -1):
        if i < len(weights) - 1:
            after, _ = carry(after, gaps[i], rate)
        right[0, i], right[1, i], right[2, i], right[3, i], right[4, i], right[5, i] = after
        before = (left[0, i], left[1, i], left[2, i], left[3, i], left[4, i], left[5, i])
        out[0, i] = joint_determinant(before, after)
        out[1, i], out[2, i] = left_out(before, after, out[0, i], weights[i], values[i])
        after = observe(after, weights[i], values[i])
