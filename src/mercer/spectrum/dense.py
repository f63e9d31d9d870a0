"""The spectrum of a matrix that is small enough to be stored."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.linalg import eigh  # scipy's does not let other threads run, not even for Ctrl-C

from mercer.certificate import Certificate
from mercer.check import Array, InvalidParameter
from mercer.engines.rounding import norm_bound
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
)

MOST_DENSE = 32_766
"""LAPACK's work size for a larger matrix overflows 32 bits (numpy issue 25564)."""

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
    unit = power_of_two(K)
    K /= unit  # so that no product of large or small entries leaves the range of doubles
    values, vectors, rho = answered(lambda: _decomposed(K), n)
    size = n * float(np.finfo(float).eps) * float(np.max(np.abs(values)))
    threshold = rank_threshold(operator)
    is_negative = values < -max(size, threshold / unit)  # of K before centring: the rest is zero
    mass = float(np.sum(np.abs(values[is_negative])) / max(float(np.sum(np.abs(values))), 1e-300))
    values, rounding, trace = unit * values, unit * (rho + size), unit * float(np.trace(K).real)
    return Spectrum(
        values=values[:count],
        vectors=oriented(vectors[:, :count], operator),
        certificate=_certified(values, count, rounding),
        trace=trace,
        threshold=threshold,
        rank=int(np.sum(values > threshold)),
        negative_mass=mass,
        psd="verified" if mass == 0.0 else "not positive semidefinite",
        how=How("dense", seconds=perf_counter() - begun, memory=dense_bytes(n)),
        clusters=clusters(values, rounding, count),
    )


def _decomposed(K: Array) -> tuple[Array, Array, float]:
    """Return eigenvalues, largest first, vectors, and the norm of the residual of all of them."""
    n = len(K)
    values, vectors = eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    norm = float(np.max(np.abs(values)))
    unit = float(np.finfo(float).eps)
    orthogonality = norm_bound(vectors.conj().T @ vectors - np.eye(n))
    rho = norm_bound(K @ vectors - vectors * values)
    if rho > ILL_SOLVED * n * unit * max(norm, unit) or orthogonality > ILL_SOLVED * n * unit:
        raise NotConverged(
            f"the dense eigensolver returned a residual of {rho / max(norm, unit):.3g} of the "
            "largest eigenvalue; this is a fault of the linear algebra library: use method='exact'"
        )
    return values, vectors, rho


def _certified(values: Array, count: int, rounding: float) -> Certificate:
    return Certificate(
        values[:count] - rounding,
        values[:count] + rounding,
        dense_sines(values, rounding)[:count],
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
