"""Corrections that make distances Euclidean: each adds, or takes the power, as little as it can."""

from __future__ import annotations

import numpy as np

from mercer.check import ASYMMETRY, Array
from mercer.engines.lapack import eigenpairs, run_interruptibly
from mercer.kernels.geometry import (
    across,
    centre_of,
    double_centre,
    euclidean,
    largest_euclidean_power,
)

CORRECTIONS = ("lingoes", "cailliez", "power")
"""The corrections that change distances; clipping only changes eigenvalues."""

CAILLIEZ_STEPS = 50
"""Each step squares the error: a handful are needed, and more would be a fault."""


def lingoes_constant(d: Array) -> float:
    r"""Return the smallest c for which the distances √(d² + 2c) are Euclidean.

    .. math:: c = -\lambda_{\min}\left(-\tfrac{1}{2} H (d_{ij}^2) H\right)

    >>> square = np.array([[0.0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    >>> lingoes_constant(square)
    1.0
    """
    if euclidean(d):
        return 0.0
    alpha = centre_of(None, len(d))
    matrix = across(double_centre(d**2, alpha), alpha)
    return -float(run_interruptibly(lambda: np.linalg.eigvalsh(matrix), len(matrix))[0])


def cailliez_constant(d: Array) -> float:
    r"""Return the constant c beyond which the distances d + c are Euclidean.

    .. math:: M(c) = -\tfrac{1}{2} H \left((d_{ij} + c)^2 1_{i \ne j}\right) H =
        \Delta_1 + 2c\,\Delta_2 + \tfrac{1}{2} c^2 H, \quad
        \Delta_1 = -\tfrac{1}{2} H (d_{ij}^2) H,\; \Delta_2 = -\tfrac{1}{2} H (d_{ij}) H

    It is the largest root of :math:`v^\top M(c)\, v` for any v: each step takes the lowest axis v
    of M(c) and moves to that root, from below and with quadratic convergence. It is the largest
    real eigenvalue of the matrix of twice the size by which it is usually found, for a small
    part of the work.

    >>> square = np.array([[0.0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    >>> cailliez_constant(square)
    1.41421356
    """
    if euclidean(d):
        return 0.0
    alpha = centre_of(None, len(d))
    first, second = (across(double_centre(power, alpha), alpha) for power in (d**2, d))
    axes = np.hstack([eigenpairs(matrix)[1] for matrix in (first, second)])
    c = _largest_root(first, second, axes)
    for _ in range(CAILLIEZ_STEPS):
        values, axes = eigenpairs(first + 2.0 * c * second + 0.5 * c * c * np.eye(len(first)))
        further = _largest_root(first, second, axes[:, values < 0.0])
        if further <= c * (1.0 + 1e-15):
            break
        c = further
    return c


def _largest_root(first: Array, second: Array, axes: Array) -> float:
    """Return the largest c at which a quadratic v'M(c)v vanishes for one of some axes v."""
    constant = np.einsum("ij,ij->j", axes, first @ axes)
    slope = 2.0 * np.einsum("ij,ij->j", axes, second @ axes)
    discriminant = slope**2 - 2.0 * constant
    real = discriminant >= 0.0
    return float(np.max(-slope[real] + np.sqrt(discriminant[real]), initial=0.0))


def constant_of(d: Array, correction: str) -> float:
    """Return the constant of a correction (of "power", the exponent), from distinct points."""
    first = copies(d)
    distinct = np.flatnonzero(first == np.arange(len(d)))
    d = d[np.ix_(distinct, distinct)]
    if correction == "lingoes":
        return lingoes_constant(d)
    return cailliez_constant(d) if correction == "cailliez" else largest_euclidean_power(d)


def correct_distances(d: Array, correction: str, constant: float) -> Array:
    """Return distances corrected one by one; which of them are left at 0 is for others to say."""
    if correction == "lingoes":
        moved: Array = np.sqrt(d * d + 2.0 * constant)
        return moved
    return d + constant if correction == "cailliez" else d**constant


def corrected_square(d: Array, correction: str, constant: float) -> Array:
    """Return the corrected distances between the same points; copies of a point remain copies."""
    first = copies(d)
    moved = correct_distances(d, correction, constant)
    moved[first[:, None] == first[None, :]] = 0.0
    return moved


def corrected_cross(new: Array, d: Array, correction: str, constant: float) -> Array:
    """Return the corrected distances of new points; one at distance 0 from a point is that point.

    Where a new point is at distance 0 from several points that are not copies of each other, it is
    the one whose distances it shares.
    """
    moved = correct_distances(new, correction, constant)
    first = copies(d)
    for i in np.flatnonzero(np.any(new == 0.0, axis=1)):
        zeros = np.flatnonzero(new[i] == 0.0)
        gaps = np.max(np.abs(d[zeros] - new[i]), axis=1)
        moved[i, first == first[zeros[np.argmin(gaps)]]] = 0.0
    return moved


def copies(d: Array) -> Array:
    """Return for each point the first one at distance 0 with the same distances to all others.

    >>> copies(np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 3.0], [3.0, 3.0, 0.0]]))
    array([0, 0, 2])
    """
    first = np.arange(len(d))
    allowed = ASYMMETRY * np.max(d, initial=0.0)
    rows, columns = np.nonzero(np.tril(d == 0.0, -1))
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        if first[i] == i and np.max(np.abs(d[i] - d[j])) <= allowed:
            first[i] = first[j]
    return first
