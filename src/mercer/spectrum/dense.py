"""The spectrum of a matrix that is small enough to be stored."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.linalg import eigh  # scipy's does not let other threads run, not even for Ctrl-C

from mercer.certificate import FAILURE, WIDENED, Certificate, probe_quantile
from mercer.check import Array, chunks, power_of_two
from mercer.engines.lapack import factor_in_place, run_interruptibly
from mercer.engines.limits import Limits
from mercer.errors import Advice, InvalidParameter, NotConverged
from mercer.kernels.definite import LARGEST_MATRIX
from mercer.kernels.statements import gamma
from mercer.spectrum.axes_and_signs import (
    How,
    Operator,
    Spectrum,
    around,
    clusters,
    orient_axes,
    refuse_too_large,
    rounding_standing,
    sine_bounds,
)

EXACT = Advice("method", "exact")

LOOKED_AT_WHOLE = 100
"""Matrices of fewer rows have all their axes checked, which costs next to nothing."""

PROBES = 64
"""Random vectors by which all axes of a larger one are checked, in a fortieth of the time.

With half as many, intervals are half as wide again.
"""

TILT_PROBES = 16
"""Those of them that show how far axes are from orthogonal, which counts by its square only."""

FEW_SHARE, GUARDS = 8, 10
"""Up to an eighth of the axes are proved without the others; so many more may join them."""

INNER = 128
"""Terms that a checking product adds at a time: rounding grows with them, calls with fewer."""

GRID = 2.0**26
"""Products of two multiples of its inverse are exact, and so are sums of them up to 1."""

UNIT = float(np.finfo(float).eps) / 2.0
"""The rounding of one operation."""

ILL_SOLVED = 60.0
"""LAPACK's own test threshold for residual and orthogonality, in units of n·u·norm."""


def dense(operator: Operator, count: int, *, is_complete: bool = False) -> Spectrum:
    """Decompose the whole matrix, and check what came back, if completely by no random probes."""
    n = operator.shape[0]
    if n > LARGEST_MATRIX:
        raise InvalidParameter(
            f"a dense decomposition of {n} points would overflow LAPACK's work size (more than "
            f"{LARGEST_MATRIX}) and take {8e-9 * n * n:.0f} GB; use {EXACT}",
            EXACT,
        )
    begun = perf_counter()
    K = operator.dense()
    if n == 0:
        empty = np.zeros(0)
        proof = Certificate(empty, empty, empty, empty.astype(bool), (), ())
        return Spectrum(empty, np.zeros((0, 0)), proof, 0.0, 0.0, 0, 0.0, "verified", How("dense"))
    unit = power_of_two(K)
    K /= unit  # so that no sum or product of large or small entries leaves the range of doubles
    _symmetrise(K)
    with np.errstate(over="ignore"):
        threshold, rounding = operator.threshold, operator.dense_rounding()
    refuse_too_large(operator, threshold, rounding)
    zero = (threshold + rounding) / unit if operator.is_positive else None
    found = run_interruptibly(lambda: _decomposed(K, count, zero, is_complete=is_complete), n)
    with np.errstate(over="ignore"):
        values, trace = unit * found.values, unit * float(np.trace(K).real)
        error = unit * found.error + rounding
    refuse_too_large(operator, trace, error, *values[[0, -1]])
    # Values down to the threshold of K before centring are zero.
    is_negative = (values < -max(error, threshold)) & (not found.is_positive)
    mass = float(np.sum(-found.values[is_negative]) / max(np.sum(np.abs(found.values)), 1e-300))
    sines = sine_bounds(values[: found.used], error, unit * found.outside + rounding)
    name = "block residual of all axes" if found.used == n else "block residual, Cholesky"
    name += ", by random probes" if found.failure_probability else ""
    return Spectrum(
        values=values[:count],
        vectors=orient_axes(found.vectors[:, :count], operator),
        certificate=Certificate(
            values[:count] - error,
            values[:count] + error,
            sines[:count],
            np.ones(count, bool),
            (name,) * count,
            ("none",) * count,
            found.failure_probability,
            rounding=rounding_standing(operator),
            complete_above=_complete_above(found, count, unit, error, rounding),
        ),
        trace=trace,
        threshold=threshold,
        rank=int(np.sum(values > threshold)),
        negative_mass=mass,
        psd=_positivity(found, mass),
        how=How("dense", seconds=perf_counter() - begun, memory=dense_bytes(n)),
        clusters=clusters(values, *around(values, error, count)),
        smallest=float(values[-1]),
    )


def _positivity(found: Decomposed, negative_mass: float) -> str:
    """Say whether no eigenvalue is negative, and how that is known."""
    if found.is_positive:
        return "by construction"
    return "verified" if negative_mass == 0.0 else "not positive semidefinite"


def _complete_above(
    found: Decomposed, count: int, unit: float, error: float, rounding: float
) -> float:
    """Return what no eigenvalue after the first ``count`` is above."""
    if count < found.used:
        return unit * max(float(found.values[count]), found.outside) + error
    return unit * found.outside + rounding


class Decomposed(NamedTuple):
    """Eigenvalues, largest first, and vectors; how far the leading ones can be from the truth.

    ``error`` bounds the error of the first ``used`` values, of which every other is at most
    ``outside``, and what the first of their vectors have outside the true space, times its gap.
    """

    values: Array
    vectors: Array
    used: int
    outside: float
    error: float
    is_positive: bool = False
    failure_probability: float = 0.0


def _symmetrise(K: Array) -> None:
    """Replace a matrix by the mean of itself and its adjoint, tile by tile.

    What centring leaves may be as small as the rounding of what it took away, which need not be
    the same on both sides of the diagonal.
    """
    for rows in chunks(len(K), Limits.tile):
        for others in chunks(len(K), Limits.tile):
            if others.start >= rows.start:
                mean = (K[rows, others] + K[others, rows].conj().T) / 2.0
                K[rows, others], K[others, rows] = mean, mean.conj().T


def _decomposed(
    K: Array, count: int, zero: float | None, *, is_complete: bool = False
) -> Decomposed:
    """Decompose a matrix and bound the errors.

    >>> found = _decomposed(np.diag([1.0, 3.0]), 2, None)
    >>> found.values, found.used, found.error < 1e-13
    (array([3., 1.]), 2, True)
    """
    values, vectors = eigh(K)
    values, vectors = values[::-1], np.ascontiguousarray(vectors[:, ::-1])
    return _proved(K, values, vectors, count, zero, is_complete=is_complete)


def _proved(
    K: Array,
    values: Array,
    vectors: Array,
    count: int,
    zero: float | None,
    *,
    is_complete: bool = False,
) -> Decomposed:
    r"""Bound the errors of a decomposition, of a few axes without a look at all others.

    With :math:`\delta \ge \|V^*V - I\|_2` and Q the unitary factor of V, so that V = QP with
    :math:`\|P - I\|_2 \le \delta`,

    .. math:: \|KQ - Q\Theta\|_2 \le
        \rho = \frac{\|KV - V\Theta\|_2 + 2\delta\|\Theta\|_2}{1 - \delta}

    If V holds all axes, each value is right to ρ by Weyl's theorem; of many axes `_probed` finds
    such a bound without a product of whole matrices. If it holds some, it is so for those above
    τ + ρ where τ bounds what they leave out (`mercer.certificate.certify`): nothing need be known
    of the others but that none is above τ, which one of Cholesky's factors proves (`outside`), and
    that none is negative. That is so by construction where ``zero`` is given, the rounding of such
    a matrix, below which computed values would speak against it. Of the first k columns
    and the complement X of the true axes, :math:`X^* V_k` solves Sylvester's equation with the
    right side :math:`X^* (KV_k - V_k\Theta_k)`, so that ρ over the gap bounds the sine, whether
    or not they are orthogonal.
    """
    n, unit = len(K), float(np.finfo(float).eps) / 2 * (4.0 if np.iscomplexobj(K) else 1.0)
    norm = float(np.max(np.abs(values)))
    if zero is not None and values[-1] >= -zero and LOOKED_AT_WHOLE <= n >= FEW_SHARE * count:
        few = gap_after(values, count)
        error = _backward(K, np.ascontiguousarray(vectors[:, :few]), values[:few], norm, unit)
        beyond = outside(K, vectors[:, :few], values, unit, values[few - 1] - error)
        if np.isfinite(beyond):
            return Decomposed(values, vectors, few, beyond, error, is_positive=True)
    if n < LOOKED_AT_WHOLE or is_complete:
        error = _backward(K, vectors, values, norm, unit)
        return Decomposed(values, vectors, n, -np.inf, error)
    error = _probed(K, vectors, values, unit)
    return Decomposed(values, vectors, n, -np.inf, error, failure_probability=FAILURE)


def gap_after(values: Array, count: int) -> int:
    """Return how many leading axes, at least ``count``, end at the widest gap near them.

    >>> gap_after(np.array([5.0, 4.0, 3.9, 1.0, 0.9]), 2)
    3
    """
    last = min(count + GUARDS, len(values) - 1)
    return count + int(np.argmax(values[count - 1 : last] - values[count : last + 1]))


def outside(K: Array, V: Array, values: Array, unit: float = UNIT, most: float = np.inf) -> float:
    """Return a bound for every eigenvalue but those of V, ∞ if there is none near the gap.

    Cholesky's factors of σI - K + VΘV* exist for a σ in the gap after V's values; what the rounding
    of both can hide is added. Where that makes it ``most`` or more, it is not worth the factors.

    >>> K = np.diag([3.0, 1.0, 0.5])
    >>> round(outside(K, np.eye(3)[:, :1], np.array([3.0, 1.0])), 6)
    2.0
    >>> outside(K, np.eye(3)[:, 1:2], np.array([1.0, 0.5]))
    inf
    """
    n, few = V.shape
    sigma, theta = float(values[few - 1] + values[few]) / 2.0, values[:few]
    M = (V * theta) @ V.conj().T
    M -= K
    M.flat[:: n + 1] += sigma
    formed = abs(sigma) + float(np.linalg.norm(K)) + 1.01 * float(np.sum(np.abs(theta)))
    slack = gamma(few + 4, unit) * formed
    slack += 2.0 * gamma(n + 1, unit) * abs(float(np.trace(M).real))
    return sigma + slack if sigma + slack < most and factor_in_place(M.T) else np.inf


def _backward(K: Array, V: Array, values: Array, norm: float, unit: float) -> float:
    """Return ρ of `_decomposed`, with the rounding of its own computation."""
    tilt, residual = _tilt(V, unit), _residual(K, V, values)
    _refuse_ill_solved(len(V), residual / max(norm, unit), tilt, unit)
    # Entries are off by γ|K||V| + u|V||Θ|, whose Frobenius norm is at most this.
    size = (float(np.linalg.norm(K)) + norm) * float(np.sqrt(V.shape[1])) * (1.0 + tilt)
    residual += _growth(len(V), unit) * size
    return (residual + 2.0 * tilt * norm) / (1.0 - tilt)


def _probed(K: Array, V: Array, values: Array, unit: float) -> float:
    r"""Bound the errors of all eigenvalues by random probes, but with probability `FAILURE`.

    With V = QP for a unitary Q and E = KV - VΘ, Q*KQ is :math:`P\Theta P^{-1} + Q^*EP^{-1}` and,
    being Hermitian, the mean of that and its adjoint. For L = log P, whose norm is at most
    :math:`-\log(1 - \delta)/2` where :math:`\delta \ge \|V^*V - I\|_2`,

    .. math:: \|\tfrac12 (P\Theta P^{-1} + P^{-1}\Theta P) - \Theta\|
        = \|\cosh(\mathrm{ad}_L)\Theta - \Theta\| \le \frac{\delta^2}{2(1-\delta)} \|\Theta\|

    so that each value is right to :math:`\|E\|/\sqrt{1-\delta}` and that, in which δ is squared: a
    rough bound is enough for it. A matrix A times a normal Ω has :math:`\|A\Omega\|_F^2 \ge q
    \|A\|_2^2` (`mercer.certificate.probe_quantile`), for :math:`A = E^* = V^*K - \Theta V^*` and
    :math:`A = VV^* - I`. In this order rounding grows with the Frobenius norm of K.

    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((150, 150))
    >>> values, V = np.linalg.eigh(A + A.T)
    >>> bool(_probed(A + A.T, V, values, 1.2e-16) < 1e-9)
    True
    """
    n, growth, whole = len(V), _growth(len(V), unit), float(np.linalg.norm(V))
    probes = np.random.default_rng(n).standard_normal((n, PROBES))
    length = float(np.linalg.norm(probes))
    quantile, quantile_of_few = (
        probe_quantile(count, FAILURE / 2.0, is_complex=np.iscomplexobj(K))
        for count in (PROBES, TILT_PROBES)
    )
    images, seen = _product(K, probes), _product(V.conj().T, probes)
    few, seen_few = probes[:, :TILT_PROBES], seen[:, :TILT_PROBES]
    defect = float(np.linalg.norm(_product(V, seen_few) - few))
    slack = growth * whole * float(np.linalg.norm(seen_few) + whole * np.linalg.norm(few))
    tilt = (defect + slack) / float(np.sqrt(quantile_of_few))
    scaled = values[:, None] * seen
    left = float(np.linalg.norm(_product(V.conj().T, images) - scaled))
    norm = float(np.max(np.abs(values)))
    found = left / float(np.sqrt(quantile))
    # As much as the axes are tilted on average; a bound for the worst is what counts above.
    usual = defect / float(np.sqrt(TILT_PROBES))
    _refuse_ill_solved(n, found / max(norm, unit), usual, unit)
    slack = growth * (1.0 + tilt) * length * float(np.linalg.norm(K) + np.linalg.norm(values))
    slack += growth * whole * float(np.linalg.norm(images))
    slack += 2.0 * unit * float(np.linalg.norm(scaled) + left)
    residual = found + slack / float(np.sqrt(quantile))
    return WIDENED * float(residual / np.sqrt(1.0 - tilt) + tilt**2 / (2.0 - 2.0 * tilt) * norm)


def _growth(n: int, unit: float) -> float:
    """Return the relative rounding of a sum of n terms as `_product` adds them."""
    return gamma(min(INNER, n) + -(-n // INNER) + 3, unit)


def _refuse_ill_solved(n: int, residual: float, tilt: float, unit: float) -> None:
    """Refuse a decomposition that is worse than LAPACK's own tests allow."""
    if max(residual, tilt) > ILL_SOLVED * n * 2.0 * unit:
        raise NotConverged(
            f"the decomposition of the {n} x {n} matrix left a residual of {residual:.3g} of the "
            f"largest eigenvalue and axes that are {tilt:.3g} from orthogonal, more than rounding "
            f"explains: use {EXACT}",
            EXACT,
        )


def _residual(K: Array, V: Array, values: Array) -> float:
    """Return a bound for the norm of KV - VΘ as computed: √(‖·‖₁‖·‖∞), a few rows at a time."""
    columns, rows_sum = np.zeros(V.shape[1]), 0.0
    for rows in chunks(len(V), Limits.tile):
        left = np.abs(_product(K[rows], V) - V[rows] * values)
        columns += left.sum(axis=0)
        rows_sum = max(rows_sum, float(left.sum(axis=1).max()))
    return WIDENED * float(np.sqrt(columns.max()) * np.sqrt(rows_sum))


def _product(K: Array, V: Array) -> Array:
    """Return K V in sums of few terms, whose rounding is that much smaller in any order."""
    total = K[:, :INNER] @ V[:INNER]
    for rows in list(chunks(len(V), INNER))[1:]:
        total += K[:, rows] @ V[rows]
    return total


def _tilt(V: Array, unit: float) -> float:
    r"""Return a bound for the norm of V*V - I, the largest sum of moduli in a row of it.

    V is split into A, whose entries are multiples of :math:`2^{-26}`, and the rest B: then A*A is
    exact, for sums of products of unit vectors are at most 1, and
    :math:`V^*V = A^*A + B^*(A + B/2) + (A + B/2)^*B`, where the rounding of B's products is tiny.

    >>> bool(_tilt(np.eye(3), 1e-16) < 1e-20)
    True
    >>> bool(_tilt(np.eye(3) * (1.0 + 1e-9), 1e-16) >= 2e-9)
    True
    """
    n, k = V.shape
    sums, left_over = np.zeros(k), 0.0
    for rows in chunks(k, 2 * INNER):
        A, B = _split(V[:, rows])
        left_over += float(np.linalg.norm(B)) ** 2
        for others in chunks(k, 2 * INNER):
            if others.start < rows.start:
                continue
            C, D = (A, B) if others == rows else _split(V[:, others])
            excess = A.conj().T @ C
            if others == rows:
                excess.flat[:: len(excess) + 1] -= 1.0
            excess += B.conj().T @ (C + D / 2.0)
            excess += (A + B / 2.0).conj().T @ D
            sizes = np.abs(excess)
            sums[rows] += sizes.sum(axis=1)
            if others != rows:
                sums[others] += sizes.sum(axis=0)
    rounding = 2.0 * gamma(n + 6, unit) * float(np.sqrt(left_over * k))
    return WIDENED * (float(sums.max()) + rounding)


def _split(V: Array) -> tuple[Array, Array]:
    """Return multiples of 2⁻²⁶ and what they leave of entries that are at most 1."""
    A = np.round(V * GRID) / GRID
    return A, V - A


def dense_bytes(n: int) -> int:
    """Return the memory of a dense decomposition: the matrix, its vectors and LAPACK's work.

    That is three matrices of numbers, and two of LAPACK's own.
    """
    return 41 * n * n
