"""Systems (K + γI)x = b, with or without side conditions, and log-determinants; with errors."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh_tridiagonal, qr
from scipy.stats import t as student

from mercer.check import Array, InvalidInput, MercerError, nonnegative
from mercer.gram import Gram, columns
from mercer.kernels.base import Kind
from mercer.lowrank import nystrom

DIRECT = 3_000
"""Up to this size the matrix is stored and factored."""

LANDMARKS = 500
"""Rank of the preconditioner of an iterative solution."""


class SingularSystem(MercerError, ValueError):
    """A system that has no unique solution, or none that can be computed."""


@dataclass(frozen=True)
class Solution:
    r"""A solution of (K + γI)α + Qη = b with Q*α = 0, and how good it is.

    ``backward_error`` is the size of the smallest relative change of the system that the computed
    solution solves exactly,

    .. math:: \frac{\|b - (K + \gamma I)\alpha - Q\eta\|}{(\|K\| + \gamma)\|\alpha\| + \|b\|}
    """

    weights: Array
    null_weights: Array
    backward_error: float
    iterations: int
    method: str
    seconds: float


def solve(
    gram: Gram,
    b: Array,
    shift: float = 0.0,
    *,
    null_space: Array | None = None,
    tol: float = 1e-10,
    method: str = "auto",
    random_state: int | None = 0,
) -> Solution:
    r"""Solve the saddle system of the representer theorem.

    .. math:: \begin{pmatrix} K + \gamma I & Q \\ Q^* & 0 \end{pmatrix}
        \begin{pmatrix} \alpha \\ \eta \end{pmatrix} = \begin{pmatrix} b \\ 0 \end{pmatrix}

    Without ``null_space`` (the columns of Q) it is (K + γI)α = b. Conditionally positive definite
    kernels need a null space that holds the constants. The weights are sought in the space
    orthogonal to Q, where the matrix is positive definite, so its condition number is never
    squared (Kroese et al., (6.23), does).

    >>> from mercer import Gaussian
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> solution = solve(Gram(Gaussian(bandwidth=1.0), x), np.array([1.0, 0.0, 1.0]), 0.1)
    >>> solution.backward_error < 1e-15
    True
    """
    begun = perf_counter()
    n = gram.shape[0]
    rhs, is_vector = (b[:, None], True) if np.ndim(b) == 1 else (b, False)
    if rhs.shape[0] != n:
        raise InvalidInput(f"the right side has {rhs.shape[0]} rows for {n} points")
    nonnegative(shift, "shift")
    free = _orthonormal_null_space(null_space, n)
    if gram.kernel.kind is Kind.CONDITIONAL and free.shape[1] == 0:
        raise SingularSystem(
            f"{gram.kernel} is conditionally positive definite: give a null space that holds the "
            "constants"
        )
    chosen = ("direct" if n <= DIRECT else "iterative") if method == "auto" else method
    if chosen == "direct":
        alpha, iterations = _direct(gram, rhs, shift, free), 0
    else:
        alpha, iterations = _iterative(gram, rhs, shift, free, tol, random_state)
    images = gram.product(alpha) + shift * alpha
    left = rhs - images
    eta: Array = free.conj().T @ left
    residual = np.linalg.norm(left - free @ eta, axis=0)
    size = (float(np.sum(np.abs(gram.diag()))) + shift) * np.linalg.norm(alpha, axis=0)
    error = float(
        np.max(residual / np.maximum(size + np.linalg.norm(rhs, axis=0), 1e-300), initial=0)
    )
    if null_space is not None:
        eta = np.linalg.lstsq(null_space, free @ eta, rcond=None)[0]
    return Solution(
        alpha[:, 0] if is_vector else alpha,
        eta[:, 0] if is_vector else eta,
        error,
        iterations,
        chosen,
        perf_counter() - begun,
    )


def _orthonormal_null_space(null_space: Array | None, n: int) -> Array:
    if null_space is None:
        return np.zeros((n, 0))
    if null_space.ndim != 2 or len(null_space) != n:
        raise InvalidInput(f"the null space must have {n} rows, found shape {null_space.shape}")
    q, r, _ = qr(null_space, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(r))
    if len(sizes) and sizes[-1] <= n * np.finfo(float).eps * sizes[0]:
        raise SingularSystem(
            "the functions of the null space are linearly dependent on these points: leave one out"
        )
    return np.asarray(q)


def _direct(gram: Gram, rhs: Array, shift: float, free: Array) -> Array:
    """Factor the matrix on the space orthogonal to Q."""
    A = gram.dense()
    A[np.diag_indices_from(A)] += shift
    if free.shape[1] == 0:
        return np.asarray(cho_solve(_factored(A), rhs))
    Z = qr(free)[0][:, free.shape[1] :]
    return np.asarray(Z @ cho_solve(_factored(Z.conj().T @ A @ Z), Z.conj().T @ rhs))


def _factored(A: Array) -> tuple[Array, bool]:
    try:
        factor, lower = cho_factor(A, lower=True)
    except LinAlgError:
        smallest = float(np.linalg.eigvalsh(A)[0])
        raise SingularSystem(
            f"the matrix is not positive definite to working precision (smallest eigenvalue "
            f"{smallest:.3g}): points repeat or the kernel is very smooth. Add a shift of at least "
            f"{max(-2.0 * smallest, 0.0) + 1e-12 * float(np.trace(A).real):.1e}"
        ) from None
    return np.asarray(factor), bool(lower)


def _iterative(
    gram: Gram, rhs: Array, shift: float, free: Array, tol: float, random_state: int | None
) -> tuple[Array, int]:
    """Conjugate gradients on the space orthogonal to Q, preconditioned by a low-rank inverse."""
    if shift <= 0:
        raise SingularSystem(
            "an iterative solution needs a shift > 0; interpolation of this many points is a "
            "singular problem in double precision"
        )
    landmarks = "kmeans" if columns(gram.x) else "pivoted"
    F = nystrom(
        gram, min(LANDMARKS, gram.shape[0] // 4), landmarks=landmarks, random_state=random_state
    ).factor
    small = cho_factor(F.conj().T @ F + shift * np.eye(F.shape[1]))

    def project(v: Array) -> Array:
        return np.asarray(v - free @ (free.conj().T @ v))

    def precondition(v: Array) -> Array:
        return project((v - F @ cho_solve(small, F.conj().T @ v)) / shift)

    def multiply(v: Array) -> Array:
        return project(gram.product(v) + shift * v)

    x = np.zeros_like(rhs, dtype=np.result_type(rhs, F, float))
    r = project(rhs)
    goal = tol * np.maximum(np.linalg.norm(r, axis=0), 1e-300)
    z = precondition(r)
    p, rz = z, _dots(r, z)
    for iteration in range(1, 1001):
        Ap = multiply(p)
        curvature = _dots(p, Ap)
        step = np.where(curvature > 0, rz / np.where(curvature > 0, curvature, 1.0), 0.0)
        x, r = x + p * step, r - Ap * step
        if np.all(np.linalg.norm(r, axis=0) <= goal):
            return x, iteration
        z = precondition(r)
        following = _dots(r, z)
        p, rz = z + p * (following / np.where(rz > 0, rz, 1.0)), following
    left = float(np.max(np.linalg.norm(r, axis=0) / goal)) * tol
    raise SingularSystem(
        f"1000 iterations left a residual of {left:.2g} of the right side, above {tol:g}; take a "
        "larger shift"
    )


def _dots(a: Array, b: Array) -> Array:
    dots: Array = np.einsum("ij,ij->j", a.conj(), b).real
    return dots


@dataclass(frozen=True)
class LogDeterminant:
    """log det(K + γI) with an interval: exact up to rounding, or of a stated confidence."""

    value: float
    lower: float
    upper: float
    confidence: float
    method: str


def log_determinant(
    gram: Gram,
    shift: float,
    *,
    method: str = "auto",
    probes: int = 20,
    steps: int = 40,
    random_state: int | None = 0,
) -> LogDeterminant:
    r"""Return the logarithm of the determinant of K + γI.

    By Cholesky for small n; beyond, by stochastic Lanczos quadrature on random signs z,

    .. math:: \log\det A = \mathbb{E}\, z^\top \log(A)\, z \approx
        \frac{n}{m} \sum_l e_1^\top \log(T_l)\, e_1

    with a confidence interval from the spread over the probes.

    >>> from mercer import Delta
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> bool(np.isclose(log_determinant(Gram(Delta(), x), 1.0).value, 3 * np.log(2.0)))
    True
    """
    n = gram.shape[0]
    nonnegative(shift, "shift")
    if (method == "auto" and n <= DIRECT) or method == "direct":
        A = gram.dense()
        A[np.diag_indices_from(A)] += shift
        value = 2.0 * float(np.sum(np.log(np.abs(np.diag(_factored(A)[0])))))
        rounding = 10 * n * float(np.finfo(float).eps) * max(abs(value), n)
        return LogDeterminant(value, value - rounding, value + rounding, 1.0, "Cholesky")
    rng = np.random.default_rng(random_state)
    signs = rng.choice([-1.0, 1.0], (n, probes))
    estimates = n * _quadratures(gram, shift, signs / np.sqrt(n), steps)
    value, spread = float(estimates.mean()), float(estimates.std(ddof=1) / np.sqrt(probes))
    half = float(student.ppf(0.975, probes - 1)) * spread
    return LogDeterminant(value, value - half, value + half, 0.95, "stochastic Lanczos")


def _quadratures(gram: Gram, shift: float, q: Array, steps: int) -> Array:
    """Return e₁ᵀ log(T) e₁ for the Lanczos matrix T of each unit starting column."""
    count = q.shape[1]
    alphas, betas = np.zeros((steps, count)), np.zeros((steps, count))
    before, beta = np.zeros_like(q), np.zeros(count)
    kept = [q]
    for j in range(steps):
        w = gram.product(q) + shift * q - before * beta
        alphas[j] = _dots(q, w)
        w = w - q * alphas[j]
        for old in kept:  # full reorthogonalisation: T must have the spectrum of A, not copies
            w = w - old * _dots(old, w)
        beta = np.linalg.norm(w, axis=0)
        betas[j] = beta
        before, q = q, w / np.where(beta > 1e-12, beta, 1.0)
        kept.append(q)
    result = np.empty(count)
    for i in range(count):
        values, axes = eigh_tridiagonal(alphas[:, i], betas[:-1, i])
        floor = max(shift, float(np.finfo(float).tiny))
        result[i] = np.sum(axes[0] ** 2 * np.log(np.maximum(values, floor)))
    return result
