"""The likelihood of more points than a matrix can be stored for: intervals, labelled as such.

All that is sampled is preconditioned by a low-rank approximation, which is never larger than the
matrix: its own part is computed exactly, and only what it leaves over is left to chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import t as student

from mercer.check import TINY, Array, Points, real_array
from mercer.determinant import log_determinant, skewed_quantile
from mercer.errors import InvalidInput, InvalidParameter
from mercer.gp.likelihood import NoisyObservations, basis_and_triangle, partial_products
from mercer.gp.parameters import NOISE, TOL
from mercer.gp.preconditioner import Preconditioner, landmarks_of
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.points import as_points
from mercer.settings import RandomState, number, seed_of, whole
from mercer.solve import Saddle, SaddleSolution
from mercer.solve.system import METHODS
from mercer.targets import check_size


@dataclass(frozen=True)
class Solved:
    """Solutions of all systems with A, and how far columns can be from the exact ones.

    ``answer`` has α and the weights of the functions; ``U``, ``S`` belong to an orthonormal basis
    of them, ``others`` are A⁻¹ times further columns. ``log_determinant`` is that of QᵀA⁻¹Q for
    the functions themselves. ``errors`` bound the columns of α, U and of the others.
    """

    answer: SaddleSolution
    U: Array
    S: Array
    others: Array
    log_determinant: float
    errors: tuple[float, float, float]

    @property
    def slack(self) -> float:
        """How far the logarithm of the determinant can be off."""
        m = len(self.S)
        # |log det S̃ - log det S| is at most m ‖S⁻¹‖ times the error of S.
        return float(m**1.5 * self.errors[1] * self.stretch)

    @property
    def stretch(self) -> float:
        """The norm of S⁻¹."""
        return 1.0 / max(float(np.linalg.norm(self.S, -2)), TINY) if len(self.S) else 0.0


def solve_systems(saddle: Saddle, noise: float, data: NoisyObservations, further: Array) -> Solved:
    """Solve for outputs, functions of the mean and further columns; the saddle has no null space.

    >>> from mercer.kernels import Delta
    >>> from mercer.gram import Gram
    >>> data = NoisyObservations([0, 1], np.array([[2.0], [0.0]]), np.ones((2, 1)))
    >>> saddle = Saddle(Gram(Delta(), data.points), np.zeros((2, 0)))
    >>> found = solve_systems(saddle, 1.0, data, np.zeros((2, 0)))
    >>> found.answer.weights.ravel(), found.answer.null_weights.ravel()
    (array([ 0.5, -0.5]), array([1.]))
    >>> bool(np.isclose(found.log_determinant, 0.0))
    True
    """
    basis, triangle = basis_and_triangle(data.Q)
    (n, q), m = data.y.shape, basis.shape[1]
    inside = basis.T @ data.y
    rhs = np.hstack([data.y - basis @ inside, basis, further])
    found = saddle.solve(np.ones(n), noise, rhs)
    (a, U, others), left = _split(found.weights, q, m), rhs - found.images - noise * found.weights
    S = basis.T @ U
    c = np.linalg.solve(S, basis.T @ a)  # by this very S, so that Qᵀα = 0
    S = 0.5 * (S + S.T)
    left[:, :q] -= left[:, q : q + m] @ c  # that of α, for which QᵀA⁻¹y - Sc = 0
    errors = tuple(float(np.max(_lengths(part), initial=0.0)) for part in _split(left, q, m))
    sizes = np.maximum(_lengths(rhs[:, :q]), TINY)
    images = found.images[:, :q] - found.images[:, q : q + m] @ c
    answer = SaddleSolution(
        a - U @ c,
        np.asarray(solve_triangular(triangle, inside + c)),
        images,
        float(np.max(_lengths(left[:, :q]) / sizes, initial=0.0)),
        found.iterations,
        found.method,
    )
    value = float(np.linalg.slogdet(S)[1])
    value += 2.0 * float(np.sum(np.log(np.abs(np.diag(triangle)))))
    # No eigenvalue of A is below the noise.
    one, two, three = (error / noise for error in errors)
    return Solved(answer, U, S, others, value, (one, two, three))


def _split(columns: Array, q: int, m: int) -> list[Array]:
    return np.split(columns, [q, q + m], axis=1)


def _lengths(columns: Array) -> Array:
    return np.asarray(np.linalg.norm(columns, axis=0))


@dataclass(frozen=True)
class LikelihoodInterval:
    """A log likelihood between two ends, exact up to rounding or with a stated confidence."""

    value: float
    lower: float
    upper: float
    confidence: float
    method: str
    seed: int | None = None


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
    random_state: RandomState = None,
) -> LikelihoodInterval:
    r"""Return the log likelihood without storing a matrix.

    .. math:: -\tfrac{1}{2} y^\top P y - \tfrac{1}{2} \log\det A
        - \tfrac{1}{2} \log\det Q^\top A^{-1} Q - \tfrac{n - m}{2} \log 2\pi

    It is the restricted one where ``functions`` Q of the mean (n x m) are given. The forms are
    found by conjugate gradients, and what their residuals can do is in the interval; the
    determinant of A by stochastic Lanczos quadrature with an interval of 95 per cent confidence
    over its probes. The method is ``"direct"``, ``"iterative"`` or by the size.

    >>> from mercer.kernels import Delta
    >>> found = log_likelihood_interval(Delta(), [0, 1], np.array([2.0, 0.0]), 1.0)
    >>> bool(np.isclose(found.value, -1.0 - np.log(2.0) - np.log(2.0 * np.pi)))
    True
    """
    data, gram, noise = _given(kernel, points, y, noise_variance, functions)
    if method not in METHODS:
        raise InvalidParameter(f"method must be one of {', '.join(METHODS)}, found {method!r}")
    nothing, seed = np.zeros((len(data), 0)), seed_of(random_state)
    saddle = Saddle(gram, nothing, method=METHODS[method], tol=TOL, seed=seed)
    found = solve_systems(saddle, noise, data, nothing)
    return likelihood_of(saddle, noise, data, found, probes=probes, random_state=seed)


def likelihood_of(
    saddle: Saddle,
    noise: float,
    data: NoisyObservations,
    found: Solved,
    *,
    probes: int,
    random_state: int | None,
) -> LikelihoodInterval:
    """Return the log likelihood given the solutions of its systems."""
    (n, q), m, weights = data.y.shape, data.Q.shape[1], found.answer.weights
    is_direct = found.answer.method == "direct"
    determinant = log_determinant(
        saddle.gram,
        noise,
        method="direct" if is_direct else "lanczos",
        probes=probes,
        random_state=random_state,
        factor=None if is_direct else saddle.factor,
    )
    basis, _ = basis_and_triangle(data.Q)
    y = data.y - basis @ (basis.T @ data.y)  # of a mean however large nothing is left: Qᵀα = 0
    fixed = -0.5 * float(np.sum(y * weights))
    fixed -= 0.5 * q * ((n - m) * float(np.log(2.0 * np.pi)) + found.log_determinant)
    error = 0.5 * (found.errors[0] * float(np.linalg.norm(y, axis=0).sum()) + q * found.slack)
    return LikelihoodInterval(
        fixed - 0.5 * q * determinant.value,
        float(fixed - 0.5 * q * determinant.upper - error),
        float(fixed - 0.5 * q * determinant.lower + error),
        determinant.confidence,
        f"{found.answer.method} solution, determinant by {determinant.method}",
        random_state,
    )


def log_likelihood_gradient_interval(
    kernel: Kernel,
    points: Points,
    y: Array,
    noise_variance: float,
    *,
    functions: Array | None = None,
    probes: int = 20,
    random_state: RandomState = None,
) -> dict[str, GradientInterval]:
    r"""Return the derivatives of the log likelihood in all parameters, storing no matrix.

    .. math:: \tfrac{1}{2} \alpha^\top \frac{\partial A}{\partial\theta} \alpha
        - \tfrac{1}{2} \operatorname{tr} P \frac{\partial A}{\partial\theta}, \quad \alpha = Py

    The trace is that of :math:`A^{-1} \partial A`, less a part of as many dimensions as there are
    ``functions``, which is computed. With M a `Preconditioner` near A it is the mean of

    .. math:: z^\top M^{1/2} A^{-1}\, \partial A\, M^{-1/2} z

    over random signs z. The same forms of M, whose mean :math:`\operatorname{tr} M^{-1} \partial M`
    is computed, serve as a control: the regression of one on the other is read at the mean that is
    known. The interval of each derivative is that of this regression over the ``probes``, 95 per
    cent each, widened by what the residuals of the systems can do. Its ends are as many standard
    errors away as the law of a single direction takes, the most skewed one, either way: where
    ∂A has few directions, as that of a `Constant` has one, Student's are too near.

    >>> from mercer import Gaussian
    >>> x = np.linspace(0.0, 1.0, 40)[:, None]
    >>> y = np.sin(6.0 * x[:, 0])
    >>> found = log_likelihood_gradient_interval(2.0 * Gaussian(0.3), x, y, 0.1, random_state=0)
    >>> sorted(found)
    ['kernel__bandwidth', 'noise_variance', 'weight']
    >>> found["weight"].lower < found["weight"].value < found["weight"].upper
    True
    """
    data, gram, noise = _given(kernel, points, y, noise_variance, functions)
    seed = seed_of(random_state)
    Z = signs(len(data), whole(probes, "probes", least=3), seed)
    landmarks = landmarks_of(gram, seed)
    found = sampled_slopes(gram, noise, data, Z, landmarks, tol=TOL)
    return {name: _interval(slope) for name, slope in found.slopes.items()}


def signs(n: int, count: int, random_state: int | None) -> Array:
    """Return random signs, one column for each probe."""
    return np.random.default_rng(random_state).choice([-1.0, 1.0], (n, count))


@dataclass(frozen=True)
class Slope:
    """A derivative, half of its interval for the sampling, and what residuals can do to it.

    ``sampling`` is Student's, which a search may take for normal errors; `skewness_factor`
    makes it one that holds for any law. ``deviations`` are what the probes leave unexplained, by
    which errors of several derivatives are correlated.
    """

    value: Array
    sampling: Array
    solving: Array
    deviations: Array


@dataclass(frozen=True)
class Slopes:
    """The derivatives in all parameters, with what they were computed from.

    ``images`` are the products of ∂A with α = Py.
    """

    slopes: dict[str, Slope]
    images: dict[str, Array]
    solved: Solved
    saddle: Saddle


def sampled_slopes(
    gram: Gram, noise: float, data: NoisyObservations, Z: Array, landmarks: Points, *, tol: float
) -> Slopes:
    """Return the derivatives of the log likelihood from given probes and landmarks.

    They are a smooth function of the parameters, for nothing random is drawn.
    """
    q, M = data.y.shape[1], Preconditioner.of(gram, noise, landmarks)
    W = M.inverse_root(Z)
    saddle = Saddle(gram, np.zeros((len(data), 0)), method="low-rank", tol=tol)
    saddle.factor = M.F
    found = solve_systems(saddle, noise, data, M.product(W))
    vectors = np.hstack([found.answer.weights, found.U, W])
    images = {**partial_products(gram, vectors), NOISE: vectors}
    known = {**M.logarithmic(W), NOISE: (np.asarray(M.trace), np.sum(W * W, axis=0))}
    slopes = {
        name: _slope(np.moveaxis(image, 0, -2), found, q, *known[name])
        for name, image in images.items()
    }
    of_alpha = {name: image[..., :q] for name, image in images.items()}
    return Slopes(slopes, of_alpha, found, saddle)


def _slope(images: Array, found: Solved, q: int, known: Array, controls: Array) -> Slope:
    """Return a derivative from the products of ∂A with α, U and W = M^{-1/2}Z."""
    m = len(found.S)
    of_alpha, of_U, of_W = np.split(images, [q, q + m], axis=-1)
    trace, half, left = regress_on_controls(np.sum(of_W * found.others, axis=-2), controls, known)
    small = np.swapaxes(of_U, -1, -2) @ found.U
    trace = trace - np.trace(np.linalg.solve(found.S, small), axis1=-2, axis2=-1)
    value = 0.5 * (np.sum(of_alpha * found.answer.weights, axis=(-2, -1)) - q * trace)
    one, two, three = found.errors
    solving = one * np.linalg.norm(of_alpha, axis=-2).sum(axis=-1)
    solving = solving + 0.5 * q * three * np.linalg.norm(of_W, axis=-2).mean(axis=-1)
    # Of the trace of S⁻¹ Uᵀ ∂A U: by the error of U, and by that of S, which is no larger.
    of_S = 2.0 * np.linalg.norm(of_U, axis=(-2, -1))
    of_S = of_S + found.stretch * np.linalg.norm(small, axis=(-2, -1))
    solving = solving + 0.5 * q * np.sqrt(m) * two * found.stretch * of_S
    return Slope(np.asarray(value), np.asarray(0.5 * q * half), np.asarray(solving), left)


def regress_on_controls(sample: Array, controls: Array, known: Array) -> tuple[Array, Array, Array]:
    r"""Return the mean of a sample where that of its controls is known, with half its interval.

    .. math:: \bar f + \beta (\mu - \bar c), \qquad
        s^2 \left(\frac{1}{t} + \frac{(\mu - \bar c)^2}{\sum_i (c_i - \bar c)^2}\right)

    with β the slope of f on c by least squares and s² what it leaves, of t - 2 degrees of freedom.
    Means are over the last axis, and what is left is returned too.

    >>> f, c = np.array([3.0, 5.0, 7.0]), np.array([1.0, 2.0, 3.0])
    >>> value, half, left = regress_on_controls(f, c, np.array(1.5))
    >>> float(value), float(half), left
    (4.0, 0.0, array([0., 0., 0.]))
    """
    count = sample.shape[-1]
    f, c = sample.mean(axis=-1), controls.mean(axis=-1)
    free, turned = sample - f[..., None], controls - c[..., None]
    squares = np.sum(turned * turned, axis=-1)
    squares = np.where(squares > 0.0, squares, np.inf)  # a control that is constant says nothing
    slope, shift = np.sum(free * turned, axis=-1) / squares, known - c
    left = free - slope[..., None] * turned
    variance = np.sum(left * left, axis=-1) / (count - 2) * (1.0 / count + shift**2 / squares)
    half = float(student.ppf(0.975, count - 2)) * np.sqrt(variance)
    return np.asarray(f + slope * shift), np.asarray(half), left


def skewness_factor(count: int) -> float:
    """Return how many times Student's interval one is that holds for skewed laws too.

    >>> round(skewness_factor(20), 2)
    1.93
    """
    return skewed_quantile(count - 1) / float(student.ppf(0.975, count - 2))


def _interval(slope: Slope) -> GradientInterval:
    half = skewness_factor(slope.deviations.shape[-1]) * slope.sampling + slope.solving
    ends = slope.value, slope.value - half, slope.value + half
    middle, low, high = (end if end.ndim else float(end) for end in ends)
    return GradientInterval(middle, low, high, 0.95)


def _given(
    kernel: Kernel, points: Points, y: Array, noise_variance: float, functions: Array | None
) -> tuple[NoisyObservations, Gram, float]:
    n = len(as_points(points, "points"))
    Y = _columns(y, "y", n)
    check_size(Y, "y")
    Q = np.zeros((n, 0)) if functions is None else _columns(functions, "functions", n)
    data = NoisyObservations(points, Y, Q)
    return data, data.gram(kernel), number(noise_variance, NOISE, above=0.0)


def _columns(values: Any, name: str, n: int) -> Array:
    """Return numbers for so many points in columns; a flat array is one of them."""
    found = real_array(values, name)
    found = found[:, None] if found.ndim == 1 else found
    if found.ndim != 2:
        raise InvalidInput(f"{name} must have a row for each point, found shape {found.shape}")
    if len(found) != n:
        raise InvalidInput(f"{name} has {len(found)} rows for {n} points")
    return found
