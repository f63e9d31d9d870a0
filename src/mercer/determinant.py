"""log det(K + γI), factored with an interval that is proved, or sampled with a confidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal, qr
from scipy.special import stdtrit

from mercer.check import TINY, UNIT, Array
from mercer.engines.lapack import invert_triangle_in_place
from mercer.errors import InvalidParameter
from mercer.gram import Gram
from mercer.kernels.base import Kind
from mercer.kernels.statements import gamma
from mercer.settings import RandomState, nonnegative, seed_of, whole
from mercer.solve.saddle import Saddle
from mercer.solve.steps import Map, cholesky_factor, dots

METHODS = ("auto", "direct", "lanczos")

ENOUGH = 0.01
"""Steps end where the two rules differ by less than this share of the interval of sampling."""

LOST = 1e-12
"""Directions of a sketch that are a smaller share of it are rounding."""

SKEWED = {2: 131.5, 3: 28.4, 4: 15.9, 5: 11.4, 6: 9.2, 8: 6.95, 10: 5.85, 15: 4.55, 20: 3.96}
SKEWED |= {30: 3.40, 50: 2.95, 100: 2.57, 300: 2.28, 1000: 2.13}
"""By sample sizes, what (μ - mean) √t / deviation exceeds for a χ² law of one degree in 2.5 % of
samples; 2 million of each were drawn, and numbers rounded upwards."""


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
    random_state: RandomState = None,
    factor: Array | None = None,
) -> LogDeterminant:
    r"""Return the logarithm of the determinant of A = K + γI.

    ``method`` is ``"direct"``, ``"lanczos"``, or ``"auto"``, direct up to 3 000 points. The
    direct one is Cholesky's, :math:`2 \sum_i \log l_{ii}`. Its interval holds all that
    rounding can do, to the entries of K too as `Gram.entry_rounding` bounds it. Where that reaches
    the smallest eigenvalue, the field ``method`` says so and the lower end is n log γ, or minus
    infinity for γ = 0 and for kernels that are not proved positive definite.

    The other is stochastic Lanczos quadrature. The leading directions V, as many as ``probes``,
    come from a product with random vectors and have their part computed; the rest is sampled on
    unit vectors u of random direction orthogonal to them,

    .. math:: \log\det A = \operatorname{tr} V^* \log(A)\, V + (n - k)\, \mathbb{E}\,
        u^* \log(A)\, u, \qquad u^* \log(A)\, u \approx e_1^\top \log(T_u)\, e_1

    so that a matrix of no more directions than probes is left to no chance at all. The forms of u
    are weighted sums of squares of normal numbers, whose law is the more skewed the fewer of them
    dominate: the lower end is Student's, the upper one is right for one direction alone, the worst
    case, and so for all (95 per cent or more). The bias of so few ``steps`` is bounded, not
    estimated: Gauss' rule is never below the form, for all even derivatives of the logarithm are
    negative, and Radau's with a node at γ never above it. The interval goes from the lower end of
    one to the upper end of the other, and steps end early where the two rules differ by next to
    nothing of it. Rounding is left out: take a shift above ``gram.rounding()``.

    With a ``factor`` F of an approximation FF* ⪯ K, such as that of `mercer.lowrank.nystrom`, only
    what it leaves over is sampled, which makes the interval far shorter:

    .. math:: \log\det A = \log\det M + \log\det M^{-1/2} A M^{-1/2}, \quad
        M = F F^* + \gamma I

    The second matrix has no eigenvalue below 1.

    >>> from mercer.kernels import Delta
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> bool(np.isclose(log_determinant(Gram(Delta(), x), 1.0).value, 3 * np.log(2.0)))
    True
    """
    n = gram.shape[0]
    nonnegative(shift, "shift")
    if method not in METHODS:
        raise InvalidParameter(f"method must be one of {', '.join(METHODS)}, found {method!r}")
    if method == "direct" or (method == "auto" and n <= Saddle.limits.direct):
        return _by_cholesky(gram, shift)
    whole(probes, "probes", least=2)
    whole(steps, "steps", least=1)
    if factor is not None and shift == 0.0:
        raise InvalidParameter("a factor needs a shift > 0: FF* alone has no inverse")
    how = "stochastic Lanczos" + ("" if factor is None else ", preconditioned")
    known, node, multiply = _plain(gram, shift) if factor is None else _scaled(gram, shift, factor)
    rng = np.random.default_rng(seed_of(random_state))
    V, U = _directions(multiply, node, n, probes, rng)
    k = V.shape[1]

    def ends(rules: Array) -> tuple[float, float]:
        """Return both ends of what the rules of V and U say together."""
        (inside, below), (outside, above) = (np.split(rule, [k]) for rule in rules)
        below, above = (n - k) * below, (n - k) * above
        low = float(inside.sum() + below.mean()) - float(student_half(below))
        return low, float(outside.sum() + above.mean()) + skewed_half(above)

    def is_enough(rules: Array) -> bool:
        """Return whether the rules differ by next to nothing of the interval."""
        gaps = rules[1] - rules[0]
        gap = float(gaps[:k].sum() + (n - k) * gaps[k:].mean())
        return bool(gap <= ENOUGH * (n - k) * float(student_half(rules[1, k:])))

    rules = _quadratures(multiply, node, np.hstack([V, U]), steps, is_enough=is_enough)
    lower, upper = ends(rules)
    upper += known
    middle = rules[1] if shift == 0.0 else 0.5 * (rules[0] + rules[1])
    value = known + float(middle[:k].sum() + (n - k) * middle[k:].mean())
    return LogDeterminant(value, -np.inf if shift == 0.0 else known + lower, upper, 0.95, how)


def _directions(
    multiply: Map, node: float, n: int, count: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return leading directions V, as many as there are, and unit vectors U orthogonal to them."""
    sketch = rng.standard_normal((n, min(count, n)))
    image = multiply(sketch) - node * sketch
    size = float(np.max(np.abs(image), initial=0.0))
    Q, R, _ = qr(image / (size or 1.0), mode="economic", pivoting=True)
    rank = int(np.sum(np.abs(np.diag(R)) > LOST * max(abs(R[0, 0]), TINY))) if size > 0.0 else 0
    V = np.asarray(Q)[:, : min(rank, n - 1)]
    U = rng.standard_normal((n, count)).astype(V.dtype)
    for _ in range(2):
        U = U - V @ (V.conj().T @ U)
    return V, np.asarray(U / np.linalg.norm(U, axis=0))


def skewed_quantile(count: int) -> float:
    """Return the number of standard errors by which the mean of so skewed a sample may be too low.

    The law is that of squares of normal numbers, the level 97.5 per cent.

    >>> round(skewed_quantile(20), 2), round(skewed_quantile(10**6), 2)
    (3.96, 2.13)
    """
    sizes, quantiles = np.array(list(SKEWED)), np.array(list(SKEWED.values()))
    return float(np.exp(np.interp(np.log(count), np.log(sizes), np.log(quantiles))))


def skewed_half(sample: Array) -> float:
    """Return how far the mean of a skewed law is above that of a sample, with 97.5 % confidence.

    It is right for squares of normal numbers, and more than enough for sums of several.

    >>> bool(skewed_half(np.array([0.0, 2.0])) > student_half(np.array([0.0, 2.0])))
    True
    """
    count = sample.shape[-1]
    return skewed_quantile(count) * float(sample.std(axis=-1, ddof=1)) / float(np.sqrt(count))


def student_half(sample: Array) -> Any:
    """Return half of Student's interval, of confidence 95 %, for the mean over the last axis.

    >>> float(np.round(student_half(np.array([-1.0, 1.0])), 4))
    12.7062
    """
    count = sample.shape[-1]
    quantile = float(stdtrit(count - 1, 0.975)) / np.sqrt(count)
    return quantile * sample.std(axis=-1, ddof=1)


def _plain(gram: Gram, shift: float) -> tuple[float, float, Map]:
    """Return 0, the least eigenvalue that A can have, and the product with A."""
    return 0.0, shift, lambda v: np.asarray(gram.product(v) + shift * v)


def _scaled(gram: Gram, shift: float, factor: Array) -> tuple[float, float, Map]:
    """Return log det M, a bound for the least eigenvalue of M^{-1/2} A M^{-1/2}, its product."""
    axes, roots, _ = np.linalg.svd(factor, full_matrices=False)
    values = roots**2 + shift
    known = float(np.sum(np.log(values))) + (len(factor) - len(values)) * float(np.log(shift))
    powers = values**-0.5 - shift**-0.5

    def half(v: Array) -> Array:
        return np.asarray(v / np.sqrt(shift) + axes @ (powers[:, None] * (axes.conj().T @ v)))

    def multiply(v: Array) -> Array:
        image = half(v)
        return half(gram.product(image) + shift * image)

    # FF* ⪯ K up to rounding, which is at most that of the trace.
    rounding = 8 * UNIT * float(np.sum(np.abs(gram.diag())))
    return known, max(1.0 - rounding / shift, TINY), multiply


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
    L = cholesky_factor(A)[0]
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
    inverse = L.copy(order="F")
    invert_triangle_in_place(inverse)
    norm = float(np.linalg.norm(np.tril(inverse)))
    # The computed X has ‖XL - I‖ <= c‖X‖‖L‖, so the inverse is at most ‖X‖/(1 - c‖X‖‖L‖).
    residual = 4 * gamma(len(L), unit) * norm * float(np.linalg.norm(np.tril(L)))
    return norm / (1.0 - residual) if residual < 1.0 else np.inf


def _quadratures(
    multiply: Map,
    node: float,
    q: Array,
    steps: int,
    *,
    is_enough: Callable[[Array], bool] | None = None,
) -> Array:
    """Return Radau's and Gauss' rule for z* log(A) z, of each unit starting column z.

    ``multiply`` is by A, which has no eigenvalue below ``node``. Fewer steps are taken where
    ``is_enough`` says so of the rules.
    """
    n, count = q.shape
    alphas, betas = np.zeros((steps, count)), np.zeros((steps, count))
    lengths, is_over = np.full(count, steps), np.zeros(count, bool)
    before, beta, size = np.zeros_like(q), np.zeros(count), np.zeros(count)
    kept = [q]
    for j in range(steps):
        w = multiply(q) - before * beta
        alphas[j] = dots(q, w)
        w = w - q * alphas[j]
        for old in kept:  # full reorthogonalisation: T must have the spectrum of A, not copies
            w = w - old * np.einsum("ij,ij->j", old.conj(), w)
        beta = np.linalg.norm(w, axis=0)
        betas[j] = beta
        size = np.maximum(size, np.maximum(np.abs(alphas[j]), beta))  # at most ‖A‖
        is_over |= beta <= 2 * n * UNIT * size
        lengths = np.where(is_over, np.minimum(lengths, j + 1), lengths)
        rules = _rules(alphas, betas, np.minimum(lengths, j + 1), is_over, node)
        if np.all(is_over) or (is_enough is not None and is_enough(rules)):
            break
        before, q = q, np.where(is_over, 0.0, w / np.where(is_over, 1.0, beta))
        kept.append(q)
    return rules


def _rules(alphas: Array, betas: Array, lengths: Array, is_over: Array, node: float) -> Array:
    """Return both rules of each tridiagonal matrix, given by its leading entries."""
    rules = np.empty((2, len(lengths)))
    for i, m in enumerate(lengths):
        a, b = alphas[:m, i], betas[:m, i]
        rules[:, i] = _gauss(a, b[:-1], node)
        if not is_over[i]:  # else the space is invariant and Gauss' rule exact
            rules[0, i] = _radau(a, b, node)
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
