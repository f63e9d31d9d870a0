"""The likelihood of more points than a matrix can be stored for: intervals, labelled as such.

All that is sampled is preconditioned by a low-rank approximation, which is never larger than the
matrix: its own part is computed exactly, and only what it leaves over is left to chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.check import Array, InvalidInput, InvalidParameter, Points, number, whole
from mercer.determinant import log_determinant, student_half
from mercer.engines.tiles import Block
from mercer.gp.blocks import contracted, partial_products
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.solve import Answer, Saddle

WAYS = {"auto": "auto", "direct": "direct", "iterative": "low-rank"}

TOL = 1e-10
"""Residuals of the systems, as shares of their right sides; their effect is in the intervals."""


@dataclass(frozen=True)
class LikelihoodInterval:
    """A log likelihood between two ends, exact up to rounding or with a stated confidence."""

    value: float
    lower: float
    upper: float
    confidence: float
    method: str


@dataclass(frozen=True)
class GradientInterval:
    """The derivative in one parameter, or in each member of a sequence, between two ends."""

    value: Any
    lower: Any
    upper: Any
    confidence: float


def log_likelihood_interval(
    kernel: Kernel,
    points: Points,
    y: Array,
    noise_variance: float,
    *,
    functions: Array | None = None,
    method: str = "auto",
    probes: int = 20,
    random_state: int | None = 0,
) -> LikelihoodInterval:
    r"""Return the log likelihood without storing a matrix.

    .. math:: -\tfrac{1}{2} y^\top P y - \tfrac{1}{2} \log\det A
        - \tfrac{1}{2} \log\det Q^\top A^{-1} Q - \tfrac{n - m}{2} \log 2\pi

    It is the restricted one where ``functions`` Q of the mean (n x m) are given. The forms are
    found by conjugate gradients, and what their residuals can do is in the interval; the
    determinant of A by stochastic Lanczos quadrature with an interval of 95 per cent confidence
    over its probes. The method is ``"direct"``, ``"iterative"`` or by the size.

    >>> from mercer import Delta
    >>> found = log_likelihood_interval(Delta(), [0, 1], np.array([2.0, 0.0]), 1.0)
    >>> bool(np.isclose(found.value, -1.0 - np.log(2.0) - np.log(2.0 * np.pi)))
    True
    """
    gram, Y, Q, noise = _given(kernel, points, y, noise_variance, functions)
    if method not in WAYS:
        raise InvalidParameter(f"method must be one of {', '.join(WAYS)}, found {method!r}")
    (n, q), m = Y.shape, Q.shape[1]
    saddle = Saddle(gram, Q, method=WAYS[method], tol=TOL, random_state=random_state)
    answer = saddle.solve(np.ones(n), noise, Y)
    is_direct = answer.method == "direct"
    determinant = log_determinant(
        gram,
        noise,
        method="direct" if is_direct else "lanczos",
        probes=probes,
        random_state=random_state,
        factor=None if is_direct else saddle.factor,
    )
    of_functions, slack = _determinant_of_functions(saddle, noise)
    fixed = -0.5 * float(np.sum(Y * answer.weights))
    fixed -= 0.5 * q * ((n - m) * float(np.log(2.0 * np.pi)) + of_functions)
    # The error of a form is at most that of its weights, ‖residual‖/σ², times ‖y‖.
    error = 0.5 * (_error(answer, Y, noise) * float(np.linalg.norm(Y)) + q * slack)
    return LikelihoodInterval(
        fixed - 0.5 * q * determinant.value,
        fixed - 0.5 * q * determinant.upper - error,
        fixed - 0.5 * q * determinant.lower + error,
        determinant.confidence,
        f"{answer.method} solution, determinant by {determinant.method}",
    )


def log_likelihood_gradient_interval(
    kernel: Kernel,
    points: Points,
    y: Array,
    noise_variance: float,
    *,
    functions: Array | None = None,
    probes: int = 20,
    random_state: int | None = 0,
) -> dict[str, GradientInterval]:
    r"""Return the derivatives of the log likelihood in all parameters, storing no matrix.

    .. math:: \tfrac{1}{2} \alpha^\top \frac{\partial A}{\partial\theta} \alpha
        - \tfrac{1}{2} \operatorname{tr} P \frac{\partial A}{\partial\theta}, \quad \alpha = Py

    With M the preconditioner the trace is that of :math:`M^{-1} \partial A`, which is computed,
    and the mean over random signs z of :math:`z^\top (P - M^{-1}) \partial A z`. The interval of
    each derivative is Student's over the ``probes``, 95 per cent each, widened by what the
    residuals of the systems can do.

    >>> from mercer import Gaussian
    >>> x = np.linspace(0.0, 1.0, 40)[:, None]
    >>> found = log_likelihood_gradient_interval(2.0 * Gaussian(0.3), x, np.sin(6 * x[:, 0]), 0.1)
    >>> sorted(found)
    ['kernel__bandwidth', 'noise_variance', 'weight']
    >>> found["weight"].lower < found["weight"].value < found["weight"].upper
    True
    """
    gram, Y, Q, noise = _given(kernel, points, y, noise_variance, functions)
    n, q = Y.shape
    count = whole(probes, "probes", least=2)
    Z = np.random.default_rng(random_state).choice([-1.0, 1.0], (n, count))
    saddle = Saddle(gram, Q, method="low-rank", tol=TOL, random_state=random_state)
    answer = saddle.solve(np.ones(n), noise, np.hstack([Y, Z]))
    alpha, PZ = answer.weights[:, :q], answer.weights[:, q:]
    M = Preconditioner.of(saddle.factor, noise)
    errors = _error(answer, Y, noise), _error(answer, Z[:, :1], noise)
    vectors = np.hstack([alpha, Z])
    images = {**partial_products(gram, vectors), "noise_variance": vectors}
    exact = {**contracted(gram, M.block), "noise_variance": M.trace}
    left = np.hstack([alpha, PZ - M.inverse(Z)])
    return {
        name: _interval(np.moveaxis(image, 0, -2), left, np.asarray(exact[name]), q, errors)
        for name, image in images.items()
    }


def _interval(
    images: Array, left: Array, exact: Array, q: int, errors: tuple[float, float]
) -> GradientInterval:
    """Return a derivative from the products of ∂A with α and the probes, and their partners."""
    forms = np.sum(images * left, axis=-2)
    lengths = np.linalg.norm(images, axis=-2)
    sampled = forms[..., q:]
    value = 0.5 * (forms[..., :q].sum(axis=-1) - q * (exact + sampled.mean(axis=-1)))
    half = student_half(sampled) + errors[1] * lengths[..., q:].mean(axis=-1)
    half = 0.5 * q * half + errors[0] * lengths[..., :q].sum(axis=-1)
    ends = (np.asarray(value), np.asarray(value - half), np.asarray(value + half))
    middle, low, high = (end if end.ndim else float(end) for end in ends)
    return GradientInterval(middle, low, high, 0.95)


@dataclass(frozen=True)
class Preconditioner:
    """M = FFᵀ + σ²I by the factor F and G = F (FᵀF + σ²I)⁻¹.

    >>> M = Preconditioner.of(np.array([[1.0], [0.0]]), 1.0)
    >>> M.inverse(np.eye(2)), M.trace
    (array([[0.5, 0. ],
           [0. , 1. ]]), 1.5)
    """

    F: Array
    G: Array
    noise: float

    @staticmethod
    def of(F: Array, noise: float) -> Preconditioner:
        small = cho_factor(F.T @ F + noise * np.eye(F.shape[1]))
        return Preconditioner(F, np.asarray(cho_solve(small, F.T)).T, noise)

    @property
    def trace(self) -> float:
        """The trace of the inverse."""
        return (len(self.F) - float(np.sum(self.F * self.G))) / self.noise

    def inverse(self, v: Array) -> Array:
        """Return the inverse times columns."""
        return np.asarray((v - self.G @ (self.F.T @ v)) / self.noise)

    def block(self, block: Block) -> Array:
        """Return some rows and columns of the inverse."""
        found = self.G[block.rows] @ self.F[block.columns].T
        if block.is_diagonal:
            found = found - np.eye(len(found))
        return np.asarray(-found / self.noise)


def _given(
    kernel: Kernel, points: Points, y: Array, noise_variance: float, functions: Array | None
) -> tuple[Gram, Array, Array, float]:
    gram, Y = Gram(kernel, points), np.asarray(y, dtype=float)
    Y = Y[:, None] if Y.ndim == 1 else Y
    Q = np.zeros((len(Y), 0)) if functions is None else np.asarray(functions, dtype=float)
    for what, found in (("y", Y), ("functions", Q)):
        if len(found) != gram.shape[0]:
            raise InvalidInput(f"{what} has {len(found)} rows for {gram.shape[0]} points")
    return gram, Y, Q, number(noise_variance, "noise_variance", above=0.0)


def _error(answer: Answer, rhs: Array, noise: float) -> float:
    """Return how far weights can be off: no eigenvalue is below the noise."""
    return answer.residual * float(np.max(np.linalg.norm(rhs, axis=0))) / noise


def _determinant_of_functions(saddle: Saddle, noise: float) -> tuple[float, float]:
    """Return log det QᵀA⁻¹Q, and how far it can be off."""
    Q, m = saddle.Q, saddle.Q.shape[1]
    if m == 0:
        return 0.0, 0.0
    without = np.zeros((len(Q), 0))
    plain = Saddle(saddle.gram, without, method=saddle.method, tol=TOL)
    answer = plain.solve(np.ones(len(Q)), noise, Q)
    small = Q.T @ answer.weights
    value = float(np.linalg.slogdet(0.5 * (small + small.T))[1])
    # ‖S⁻¹‖ times the error of S, for each of the m eigenvalues.
    error = np.sqrt(m) * _error(answer, Q, noise) * float(np.linalg.norm(Q))
    return value, m * error / max(float(np.linalg.norm(small, -2)), float(np.finfo(float).tiny))
