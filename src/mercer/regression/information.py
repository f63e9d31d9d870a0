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

The functions are plain arithmetic, for numbers and arrays alike, and are compiled where possible.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, TypeVar

from mercer.check import Array

Number = TypeVar("Number", float, Array)
Known: TypeAlias = tuple[Number, Number, Number, Number, Number, Number]
"""The numbers (a, m, c, d, u, v)."""


def six(known: Iterable[Number]) -> Known[Number]:
    """Return six numbers as a tuple of known length."""
    a, m, c, d, u, v = known
    return a, m, c, d, u, v


def observed(known: Known[Number], w: Number, y: Number) -> Known[Number]:
    """Add an observation y of g with weight w.

    >>> observed((0.0, 0.0, 2.0, 0.0, 0.0, 0.0), 3.0, 1.0)
    (3.0, 0.0, 2.0, 6.0, 3.0, 0.0)
    """
    a, m, c, d, u, v = known
    return a + w, m, c, d + w * c, u + w * y, v


def carried(known: Known[Number], h: Number, q: Number) -> tuple[Known[Number], Number]:
    r"""Carry the information over a gap h, in which g'' is white noise of rate q.

    The covariance becomes :math:`F C F^\top + q V` with

    .. math:: F = \begin{pmatrix} 1 & h \\ 0 & 1 \end{pmatrix}, \quad
        V = \begin{pmatrix} h^3/3 & h^2/2 \\ h^2/2 & h \end{pmatrix}

    The number returned beside it is the ratio of the determinants of the two information matrices,

    .. math:: \Delta = 1 + q\,(hc + h^2 m + h^3 a/3) + q^2 h^4 d/12

    Here (g, g') has covariance I and mean (1, 2), and is carried over a gap of 1 at rate 3:

    >>> import numpy as np
    >>> (a, m, c, d, u, v), ratio = carried((1.0, 0.0, 1.0, 1.0, 1.0, 2.0), 1.0, 3.0)
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
