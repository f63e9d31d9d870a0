"""The axes of a cloud without one of its points, from its own axes: a secular equation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.check import Array

EPS = float(np.finfo(float).eps)

SMALLEST = 1e-60
"""A part of a point below this is taken to be this: it still decides which way an axis points."""

STEPS = 60
"""Steps of an iteration that converges quadratically; it takes about 6."""


def downdated(values: Array, points: Array, count: int) -> tuple[Array, Array]:
    r"""Return the largest eigenvalues of D - zzᵀ and their vectors, for each of some points z.

    D is the diagonal matrix of ``values``, largest first; points are rows. The eigenvalue μ between
    :math:`d_{k+1}` and :math:`d_k` is where

    .. math:: f(\mu) = 1 - \sum_j \frac{z_j^2}{d_j - \mu} = 0, \quad
        v_j \propto \frac{z_j}{d_j - \mu}

    It is found from the nearer of its two neighbours, so that differences keep their digits, by
    the rational interpolation of Li (1993). Equal values are set apart, and parts that are 0 away
    from it, by rounding errors of D and of z.

    >>> values, vectors = downdated(np.array([3.0, 1.0]), np.array([[1.0, 0.0], [2.0, 1.0]]), 2)
    >>> np.round(values, 6), np.linalg.eigvalsh(np.diag([3.0, 1.0]) - np.outer([2, 1], [2, 1]))
    (array([[ 2.      ,  1.      ],
           [ 1.561553, -2.561553]]), array([-2.56155281,  1.56155281]))
    """
    unit = float(values[0])
    steps = 4.0 * EPS * np.arange(len(values))
    d = np.minimum.accumulate(values / unit + steps) - steps
    z = points / np.sqrt(unit)
    squares = np.sum(z**2, axis=1)
    # Below the last value is none: one far down, that no point has a part in, stands for it.
    d = np.append(d, d[-1] - 1.0 - float(squares.max(initial=0.0)))
    least = np.maximum(EPS * np.sqrt(squares), SMALLEST)[:, None]
    z = np.hstack([z, np.zeros((len(z), 1))])
    z = np.where(np.abs(z) < least, np.copysign(least, z), z)
    roots = np.empty((len(z), count))
    vectors = np.empty((len(z), len(values), count))
    for k in range(count):
        found = _root(d, z**2, k)
        roots[:, k] = found.value
        v = z / found.gaps
        vectors[:, :, k] = v[:, :-1] / np.linalg.norm(v, axis=1)[:, None]
    return unit * roots, vectors


class _Root(NamedTuple):
    """An eigenvalue for each point, and its differences from the values of the diagonal."""

    value: Array
    gaps: Array


def _root(d: Array, squares: Array, k: int) -> _Root:
    """Return the eigenvalues between d[k + 1] and d[k]."""
    gap = d[k] - d[k + 1]
    is_upper = 1.0 - np.sum(squares / (d - d[k] + 0.5 * gap), axis=1) >= 0.0
    origin = np.where(is_upper, d[k], d[k + 1])
    away = d - origin[:, None]
    shift = np.where(is_upper, 0.5, -0.5) * gap  # what the eigenvalue is below its origin
    for _ in range(STEPS):
        before = shift
        shift = _interpolated(away, squares, shift, k, is_upper=is_upper)
        if np.all(np.abs(shift - before) <= 4.0 * EPS * np.abs(shift)):
            break
    return _Root(origin - shift, away + shift[:, None])


def _interpolated(away: Array, squares: Array, shift: Array, k: int, *, is_upper: Array) -> Array:
    r"""Return the root of :math:`c - s/\delta + t/(g - \delta)`, which has f and its slopes here.

    The first fraction stands for the poles from d[k] up, with δ the distance from d[k], the
    second for those from d[k + 1] down; g is the gap between the two.
    """
    gaps = away + shift[:, None]
    terms = squares / gaps
    slopes = terms / gaps
    upper, lower = gaps[:, k], -gaps[:, k + 1]
    gap = away[:, k] - away[:, k + 1]
    above, below = (np.sum(slopes[:, part], axis=1) for part in (slice(k + 1), slice(k + 1, None)))
    s, t = upper**2 * above, lower**2 * below
    c = 1.0 - np.sum(terms, axis=1) + upper * above - lower * below
    b = np.where(is_upper, c * gap + s + t, -c * gap + s + t)
    near, far = np.where(is_upper, s, t), np.where(is_upper, c, -c)
    root = np.sqrt(np.maximum(b**2 - 4.0 * far * near * gap, 0.0))
    is_plain = b >= 0.0  # of two ways to write a root, the one that does not cancel
    plain = 2.0 * near * gap / np.where(is_plain & (b + root > 0.0), b + root, 1.0)
    other = (b - root) / np.where(is_plain, 1.0, 2.0 * far)
    found: Array = np.where(is_plain, plain, other)
    return np.where(is_upper, found, -found)
