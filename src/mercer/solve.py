"""Systems (K + γI)x = b, with or without side conditions, and log-determinants; with errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh_tridiagonal, qr
from scipy.linalg.lapack import dtrtri, ztrtri
from scipy.stats import t as student

from mercer.check import (
    Array,
    InvalidInput,
    InvalidParameter,
    MercerError,
    nonnegative,
    number,
    whole,
)
from mercer.engines.prepared import gamma
from mercer.gram import Gram, columns
from mercer.kernels.base import Kind
from mercer.lowrank import nystrom

DIRECT = 3_000
"""Up to this size the matrix is stored and factored."""

LANDMARKS = 500
"""Rank of the preconditioner of an iterative solution."""

MOST_ITERATIONS = 1_000
"""After so many steps conjugate gradients give up."""

UNIT = float(np.finfo(float).eps) / 2
TINY = float(np.finfo(float).tiny)


class SingularSystem(MercerError, ValueError):
    """A system that has no unique solution, or none that can be computed."""


class ToleranceNotMet(UserWarning):
    """An iterative solution whose true residual rounding keeps above the tolerance asked for."""


@dataclass(frozen=True)
class Solution:
    r"""A solution of (K + γI)α + Qη = b with Q*α = 0, and how good it is.

    ``backward_error`` bounds the smallest relative change of the system that the computed solution
    solves exactly,

    .. math:: \frac{\|b - (K + \gamma I)\alpha - Q\eta\|}{(\|K\| + \gamma)\|\alpha\| + \|b\|}

    with the largest norm for K that its diagonal and the products made have shown: the bound is
    never too small.
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

    ``method`` is ``"direct"``, by Cholesky, ``"iterative"``, by preconditioned conjugate
    gradients, or ``"auto"``, which iterates on more than `DIRECT` points. An iteration ends when
    the residual of its solution, computed anew, is at most ``tol`` of the right side. It warns
    with `ToleranceNotMet` when rounding does not let it.

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
    number(tol, "tol", above=0.0)
    _one_of(method, "auto", "direct", "iterative")
    free = _orthonormal_null_space(null_space, n)
    if gram.kernel.kind is Kind.CONDITIONAL and not _holds_constants(free):
        raise SingularSystem(
            f"{gram.kernel} is conditionally positive definite: give a null space that holds the "
            "constants"
        )
    chosen = ("direct" if n <= DIRECT else "iterative") if method == "auto" else method
    if chosen == "direct":
        alpha, iterations = _direct(gram, rhs, shift, free), 0
    else:
        alpha, iterations = _iterative(gram, rhs, shift, free, tol, random_state)
    images, norm = _images_and_norm(gram, alpha)
    left = rhs - images - shift * alpha
    eta: Array = free.conj().T @ left
    residual = np.linalg.norm(left - free @ eta, axis=0)
    size = (norm + shift) * np.linalg.norm(alpha, axis=0) + np.linalg.norm(rhs, axis=0)
    error = float(np.max(residual / np.maximum(size, TINY), initial=0.0))
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


def _one_of(method: str, *names: str) -> None:
    if method not in names:
        raise InvalidParameter(f"method must be one of {', '.join(names)}, found {method!r}")


def _images_and_norm(gram: Gram, block: Array) -> tuple[Array, float]:
    """Return K V and a norm that K has at least, in one pass.

    Entries of one sign are common, and then the image of the constants is nearly as large as K.
    """
    both = np.column_stack([block, np.ones(len(block))])
    images = gram.product(both)
    lengths = np.linalg.norm(both, axis=0)
    ratios = np.linalg.norm(images, axis=0) / np.where(lengths > 0, lengths, 1.0)
    return images[:, :-1], float(np.max(np.append(ratios, np.abs(gram.diag()))))


def _holds_constants(free: Array) -> bool:
    ones = np.ones(len(free))
    outside = np.linalg.norm(ones - free @ (free.conj().T @ ones))
    return bool(outside <= 1e-8 * np.linalg.norm(ones))


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
    F = _preconditioner(gram, random_state)
    small = cho_factor(F.conj().T @ F + shift * np.eye(F.shape[1]))

    def project(v: Array) -> Array:
        return np.asarray(v - free @ (free.conj().T @ v))

    def precondition(v: Array) -> Array:
        return project((v - F @ cho_solve(small, F.conj().T @ v)) / shift)

    def multiply(v: Array) -> Array:
        return project(gram.product(v) + shift * v)

    r = b = project(rhs)
    size = np.maximum(np.linalg.norm(b, axis=0), TINY)
    x, total, reached = np.zeros_like(b), 0, 1.0
    while True:
        # The residual of the recurrence drifts from the true one: start again from the latter.
        correction, iterations = _conjugate_gradients(multiply, precondition, r, tol * size)
        r = b - multiply(x + correction)
        before, reached = reached, float(np.max(np.linalg.norm(r, axis=0) / size, initial=0.0))
        total += iterations
        if reached < before:
            x = x + correction
        if reached <= tol:
            return x, total
        if reached > 0.5 * before:
            _warn_of_tolerance(min(before, reached), tol)
            return x, total


def _warn_of_tolerance(reached: float, tol: float) -> None:
    warnings.warn(
        f"rounding keeps the residual at {reached:.2g} of the right side, above tol = {tol:g}; "
        "take a larger shift or tolerance",
        ToleranceNotMet,
        stacklevel=4,
    )


def _preconditioner(gram: Gram, random_state: int | None) -> Array:
    """Return F with FF* near the matrix, on the space orthogonal to the constants at least."""
    if gram.kernel.kind is Kind.CONDITIONAL:
        # Features seen from one of the points: positive definite, and the same form there.
        gram = Gram(gram.kernel.centred(gram.x[:1]), gram.x, engine=gram.engine, tile=gram.tile)
    rank = max(1, min(LANDMARKS, gram.shape[0] // 4))
    landmarks = "kmeans" if columns(gram.x) else "pivoted"
    return nystrom(gram, rank, landmarks=landmarks, random_state=random_state).factor


def _conjugate_gradients(
    multiply: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    rhs: Array,
    goal: Array,
) -> tuple[Array, int]:
    """Iterate until the recurrence for the residual of each column is at its goal."""
    r, z = rhs, precondition(rhs)
    x = np.zeros_like(z)
    p, rz = z, _dots(r, z)
    for iteration in range(1, MOST_ITERATIONS + 1):
        Ap = multiply(p)
        curvature = _dots(p, Ap)
        step = np.where(curvature > 0, rz / np.where(curvature > 0, curvature, 1.0), 0.0)
        x, r = x + p * step, r - Ap * step
        if np.all(np.linalg.norm(r, axis=0) <= goal):
            return x, iteration
        z = precondition(r)
        following = _dots(r, z)
        p, rz = z + p * (following / np.where(rz > 0, rz, 1.0)), following
    left = float(np.max(np.linalg.norm(r, axis=0) / goal))
    raise SingularSystem(
        f"{MOST_ITERATIONS} iterations left a residual {left:.2g} times as large as tol allows; "
        "take a larger shift"
    )


def _dots(a: Array, b: Array) -> Array:
    dots: Array = np.einsum("ij,ij->j", a.conj(), b).real
    return dots


@dataclass(frozen=True)
class LogDeterminant:
    """log det(K + γI) with an interval: proved, with confidence 1, or of a stated confidence."""

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
    r"""Return the logarithm of the determinant of A = K + γI.

    ``method`` is ``"direct"``, ``"lanczos"``, or ``"auto"``, direct up to `DIRECT` points. The
    direct one is Cholesky's, :math:`2 \sum_i \log l_{ii}`. Its interval holds all that
    rounding can do, to the entries of K too as `Gram.entry_rounding` bounds it. Where that reaches
    the smallest eigenvalue, the field ``method`` says so and the lower end is n log γ, or minus
    infinity for γ = 0 and for kernels that are not proved positive definite.

    The other is stochastic Lanczos quadrature on random signs z,

    .. math:: \log\det A = \mathbb{E}\, z^\top \log(A)\, z \approx
        \frac{n}{m} \sum_l e_1^\top \log(T_l)\, e_1

    Its confidence is that of Student's interval for the sampling of ``probes``. The bias of so few
    ``steps`` is bounded, not estimated: Gauss' rule is never below the form, for all even
    derivatives of the logarithm are negative, and Radau's with a node at γ never above it. The
    interval goes from the lower end of one to the upper end of the other. Rounding is left out:
    take a shift above ``gram.rounding()``.

    >>> from mercer import Delta
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> bool(np.isclose(log_determinant(Gram(Delta(), x), 1.0).value, 3 * np.log(2.0)))
    True
    """
    n = gram.shape[0]
    nonnegative(shift, "shift")
    _one_of(method, "auto", "direct", "lanczos")
    if method == "direct" or (method == "auto" and n <= DIRECT):
        return _by_cholesky(gram, shift)
    whole(probes, "probes", least=2)
    whole(steps, "steps", least=1)
    signs = np.random.default_rng(random_state).choice([-1.0, 1.0], (n, probes))
    below, above = n * _quadratures(gram, shift, signs / np.sqrt(n), steps)
    quantile = float(student.ppf(0.975, probes - 1)) / np.sqrt(probes)
    upper = float(above.mean() + quantile * above.std(ddof=1))
    if shift == 0.0:
        return LogDeterminant(float(above.mean()), -np.inf, upper, 0.95, "stochastic Lanczos")
    lower = float(below.mean() - quantile * below.std(ddof=1))
    value = 0.5 * float(below.mean() + above.mean())
    return LogDeterminant(value, lower, upper, 0.95, "stochastic Lanczos")


def _by_cholesky(gram: Gram, shift: float) -> LogDeterminant:
    r"""Return the determinant of the computed factor and what can be between it and the true one.

    .. math:: \hat L \hat L^* = A + E, \quad
        \|E\| \le \varepsilon = \frac{\gamma_{n+1}}{1 - \gamma_{n+1}} \operatorname{tr} A + n\eta

    for entries of K that are right to η (Higham, Accuracy and Stability, Theorem 10.3). So A is
    L(I - G)L* with :math:`\|G\| \le \rho = \varepsilon \|L^{-1}\|^2` and the moduli of G's
    eigenvalues sum to at most :math:`t = \varepsilon \|L^{-1}\|_F^2`, whence

    .. math:: \frac{t}{\rho} \log(1 - \rho) \le \log\det(I - G) \le n \log(1 + t/n)
    """
    n = gram.shape[0]
    if n == 0:
        return LogDeterminant(0.0, 0.0, 0.0, 1.0, "Cholesky")
    A = gram.dense()
    A[np.diag_indices_from(A)] += shift
    diagonal = np.diag(A).real.copy()
    L = _factored(A)[0]
    logs = np.log(np.abs(np.diag(L)))
    value = 2.0 * float(np.sum(logs))
    unit = 4 * UNIT if np.iscomplexobj(L) else UNIT
    entry = gram.entry_rounding().entry + UNIT * float(diagonal.max())
    error = n * entry + 2 * gamma(n + 1, unit) * float(diagonal.sum())
    nuclear = error * _inverse_norm(L, unit) ** 2
    spectral, floor, how = nuclear, -np.inf, "Cholesky"
    if shift > 0.0 and gram.kernel.kind is Kind.POSITIVE and gram.kernel.proof:
        floor = n * float(np.log(shift))  # no eigenvalue is below the shift
        spectral = min(nuclear, error / (shift - error)) if shift > error else nuclear
    gain = n * float(np.log1p(nuclear / n))
    if spectral >= 1.0:
        loss, how = np.inf, "Cholesky, but rounding reaches the smallest eigenvalue"
    else:
        loss = nuclear * -float(np.log1p(-spectral)) / max(spectral, TINY)
    tops = np.log(diagonal + entry)
    ceiling = float(tops.sum())  # Hadamard's inequality
    sizes = 2.0 * np.abs(logs) + np.abs(tops)
    slack = gamma(n + 4, UNIT) * (float(sizes.sum()) + (abs(floor) if floor > -np.inf else 0.0))
    lower, upper = max(value - loss, floor) - slack, min(value + gain, ceiling) + slack
    return LogDeterminant(value, lower, upper, 1.0, how)


def _inverse_norm(L: Array, unit: float) -> float:
    """Bound the Frobenius norm of the inverse of a lower triangle, what is above it left aside."""
    inverse, _ = (ztrtri if np.iscomplexobj(L) else dtrtri)(L, lower=1)
    norm = float(np.linalg.norm(np.tril(inverse)))
    # The computed X has ‖XL - I‖ <= c‖X‖‖L‖, so the inverse is at most ‖X‖/(1 - c‖X‖‖L‖).
    residual = 4 * gamma(len(L), unit) * norm * float(np.linalg.norm(np.tril(L)))
    return norm / (1.0 - residual) if residual < 1.0 else np.inf


def _quadratures(gram: Gram, shift: float, q: Array, steps: int) -> Array:
    """Return Radau's and Gauss' rule for z* log(A) z, of each unit starting column z."""
    n, count = q.shape
    alphas, betas = np.zeros((steps, count)), np.zeros((steps, count))
    lengths, is_over = np.full(count, steps), np.zeros(count, bool)
    before, beta, size = np.zeros_like(q), np.zeros(count), np.zeros(count)
    kept = [q]
    for j in range(steps):
        w = gram.product(q) + shift * q - before * beta
        alphas[j] = _dots(q, w)
        w = w - q * alphas[j]
        for old in kept:  # full reorthogonalisation: T must have the spectrum of A, not copies
            w = w - old * np.einsum("ij,ij->j", old.conj(), w)
        beta = np.linalg.norm(w, axis=0)
        betas[j] = beta
        size = np.maximum(size, np.maximum(np.abs(alphas[j]), beta))  # at most ‖A‖
        is_over |= beta <= 2 * n * UNIT * size
        lengths = np.where(is_over, np.minimum(lengths, j + 1), lengths)
        before, q = q, np.where(is_over, 0.0, w / np.where(is_over, 1.0, beta))
        kept.append(q)
    rules = np.empty((2, count))
    for i, m in enumerate(lengths):
        a, b = alphas[:m, i], betas[:m, i]
        rules[:, i] = _gauss(a, b[:-1], shift)
        if not is_over[i]:  # else the space is invariant and Gauss' rule exact
            rules[0, i] = _radau(a, b, shift)
    return rules


def _gauss(diagonal: Array, beside: Array, least: float) -> float:
    """Return e₁ᵀ log(T) e₁ for a tridiagonal T without eigenvalues below ``least``."""
    values, axes = eigh_tridiagonal(diagonal, beside)
    return float(np.sum(axes[0] ** 2 * np.log(np.maximum(values, max(least, TINY)))))


def _radau(diagonal: Array, beside: Array, node: float) -> float:
    """Return e₁ᵀ log(T) e₁ with the last entry of T such that ``node`` is its least eigenvalue.

    Golub, Some modified matrix eigenvalue problems (1973), §7.

    >>> bool(np.isclose(_radau(np.array([2.0]), np.array([1.0]), 1.0), 0.5 * np.log(3.0)))
    True
    """
    last = node
    for j, entry in enumerate(diagonal):
        pivot = entry - last
        if pivot <= 0.0:  # by rounding: the node is an eigenvalue already
            return _gauss(np.append(diagonal[:j], last), beside[:j], node)
        last = node + beside[j] * (beside[j] / pivot)
    return _gauss(np.append(diagonal, last), beside, node)
