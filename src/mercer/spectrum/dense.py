"""The spectrum of a matrix that is small enough to be stored."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.linalg import eigh  # scipy's does not let other threads run, not even for Ctrl-C

from mercer.certificate import Certificate
from mercer.check import Array, InvalidParameter, chunks
from mercer.engines.rounding import gamma, norm_bound
from mercer.engines.tiles import TILE
from mercer.engines.waiting import answered
from mercer.kernels.definite import power_of_two
from mercer.spectrum.values import (
    How,
    NotConverged,
    Operator,
    Spectrum,
    clusters,
    oriented,
    rank_threshold,
    rounding_standing,
)

MOST_DENSE = 32_766
"""LAPACK's work size for a larger matrix overflows 32 bits (numpy issue 25564)."""

INNER = 128
"""Terms that a checking product adds at a time: rounding grows with them, calls with fewer."""

ILL_SOLVED = 60.0
"""LAPACK's own test threshold for residual and orthogonality, in units of n·u·norm."""


def dense(operator: Operator, count: int) -> Spectrum:
    """Decompose the whole matrix, and check what came back."""
    n = operator.shape[0]
    if n > MOST_DENSE:
        raise InvalidParameter(
            f"a dense decomposition of {n} points would overflow LAPACK's work size (more than "
            f"{MOST_DENSE}) and take {8e-9 * n * n:.0f} GB; use method='exact'"
        )
    begun = perf_counter()
    K = operator.dense()
    if n == 0:
        empty = np.zeros(0)
        proof = Certificate(empty, empty, empty, empty.astype(bool), (), ())
        return Spectrum(empty, np.zeros((0, 0)), proof, 0.0, 0.0, 0, 0.0, "verified", How("dense"))
    _symmetrise(K)
    unit = power_of_two(K)
    K /= unit  # so that no product of large or small entries leaves the range of doubles
    values, vectors, backward, tilt = answered(lambda: _decomposed(K), n)
    values, trace = unit * values, unit * float(np.trace(K).real)
    error = unit * backward + operator.dense_rounding()
    threshold = rank_threshold(operator)
    is_negative = values < -max(error, threshold)  # of K before centring: the rest is zero
    total = max(float(np.sum(np.abs(values / unit))), 1e-300)
    mass = float(np.sum(np.abs(values[is_negative] / unit)) / total)
    return Spectrum(
        values=values[:count],
        vectors=oriented(vectors[:, :count], operator),
        certificate=replace(
            _certified(values, count, error, tilt), rounding=rounding_standing(operator)
        ),
        trace=trace,
        threshold=threshold,
        rank=int(np.sum(values > threshold)),
        negative_mass=mass,
        psd="verified" if mass == 0.0 else "not positive semidefinite",
        how=How("dense", seconds=perf_counter() - begun, memory=dense_bytes(n)),
        clusters=clusters(values, error, count),
    )


def _symmetrise(K: Array) -> None:
    """Replace a matrix by the mean of itself and its adjoint, tile by tile.

    What centring leaves may be as small as the rounding of what it took away, which need not be
    the same on both sides of the diagonal.
    """
    for rows in chunks(len(K), TILE):
        for others in chunks(len(K), TILE):
            if others.start >= rows.start:
                mean = (K[rows, others] + K[others, rows].conj().T) / 2.0
                K[rows, others], K[others, rows] = mean, mean.conj().T


def _decomposed(K: Array) -> tuple[Array, Array, float, float]:
    r"""Return eigenvalues, largest first, vectors, and bounds for the errors of both.

    With :math:`\delta \ge \|V^*V - I\|_2` and Q the unitary factor of V,
    :math:`K = Q(\Theta + E)Q^*` where

    .. math:: \|E\|_2 \le \frac{\|KV - V\Theta\|_2 + 2\delta\|\Theta\|_2}{1 - \delta}

    since :math:`V = QP` with :math:`\|P - I\|_2 \le \delta`. So the values are right to ‖E‖ by
    Weyl's theorem, and V is within δ of Q.

    >>> values, vectors, error, tilt = _decomposed(np.diag([1.0, 3.0]))
    >>> values, error < 1e-13, tilt < 1e-15
    (array([3., 1.]), True, True)
    """
    n, unit = len(K), float(np.finfo(float).eps) / 2 * (4.0 if np.iscomplexobj(K) else 1.0)
    values, vectors = eigh(K)
    values, vectors = values[::-1], np.ascontiguousarray(vectors[:, ::-1])
    norm, tilt = float(np.max(np.abs(values))), _tilt(vectors, unit)
    residual = norm_bound(_product(K, vectors) - vectors * values)
    if max(residual / max(norm, unit), tilt) > ILL_SOLVED * n * 2.0 * unit:
        raise NotConverged(
            f"the decomposition of the {n} x {n} matrix left a residual of "
            f"{residual / max(norm, unit):.3g} of the largest eigenvalue and axes that are "
            f"{tilt:.3g} from orthogonal, more than rounding explains: use method='exact'"
        )
    # Entries are off by γ|K||V| + u|V||Θ|, whose Frobenius norm is at most this.
    size = (float(np.linalg.norm(K)) + norm) * float(np.sqrt(n)) * (1.0 + tilt)
    residual += gamma(min(INNER, n) + -(-n // INNER) + 3, unit) * size
    return values, vectors, (residual + 2.0 * tilt * norm) / (1.0 - tilt), tilt


def _product(K: Array, V: Array) -> Array:
    """Return K V in sums of few terms, whose rounding is that much smaller in any order."""
    total = K[:, :INNER] @ V[:INNER]
    for rows in list(chunks(len(V), INNER))[1:]:
        total += K[:, rows] @ V[rows]
    return total


def _tilt(V: Array, unit: float) -> float:
    r"""Return a bound for the norm of V*V - I.

    V is split into A, whose entries are multiples of :math:`2^{-26}`, and the rest B: then A*A is
    exact, for sums of products of unit vectors are at most 1, and
    :math:`V^*V = A^*A + M + M^*` with :math:`M = B^*(A + B/2)`, whose rounding is tiny.

    >>> bool(_tilt(np.eye(3), 1e-16) < 1e-20)
    True
    >>> bool(_tilt(np.eye(3) * (1.0 + 1e-9), 1e-16) >= 2e-9)
    True
    """
    n, grid = len(V), 2.0**26
    A = np.round(V * grid) / grid
    B = V - A
    excess = A.conj().T @ A
    excess.flat[:: n + 1] -= 1.0
    M = B.conj().T @ (A + B / 2.0)
    rounding = gamma(n + 4, unit) * float(np.linalg.norm(B)) * float(np.linalg.norm(V))
    return norm_bound(excess + M + M.conj().T) * (1.0 + 4.0 * unit) + 2.0 * rounding


def _certified(values: Array, count: int, error: float, tilt: float) -> Certificate:
    sines = np.minimum(dense_sines(values, error) + tilt, 1.0)
    return Certificate(
        values[:count] - error,
        values[:count] + error,
        sines[:count],
        np.ones(count, bool),
        ("block residual of all axes",) * count,
        ("none",) * count,
    )


def dense_sines(values: Array, rho: float) -> Array:
    """Return bounds for the angles of leading spaces when all eigenvalues are known within ρ."""
    gaps = values - np.append(values[1:], -np.inf) - rho
    sines: Array = np.where(gaps > rho, rho / np.where(gaps > rho, gaps, 1.0), 1.0)
    return sines


def dense_bytes(n: int) -> int:
    """Return the memory of a dense decomposition: the matrix, its vectors and LAPACK's work."""
    return 40 * n * n
