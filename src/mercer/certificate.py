"""Proved errors of eigenvalues and axes, from residuals and from what is left over.

Q holds orthonormal Ritz vectors, Θ their values, R = KQ - QΘ; ρ is the norm of R plus a bound for
the rounding of the products (`Gram.rounding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mercer.check import Array


@dataclass(frozen=True)
class Certificate:
    """Intervals that hold the true eigenvalues, and what proves each.

    Where ``is_ordered``, ``lower`` and ``upper`` enclose the k-th largest eigenvalue itself, so
    that none was missed; elsewhere they pair some eigenvalue with the computed one. ``sines``
    bound the angle between the space of the leading axes up to each one and the true space (1
    where nothing is proved). ``bounds`` names what proved each interval, ``assumptions`` what it
    rests on, and ``failure_probability`` is not zero where random vectors were used. Rounding is
    part of every bound; ``rounding`` says whether it was bounded or estimated.
    """

    lower: Array
    upper: Array
    sines: Array
    is_ordered: Array
    bounds: tuple[str, ...]
    assumptions: tuple[str, ...]
    failure_probability: float = 0.0
    rounding: str = "bounded"

    @property
    def errors(self) -> Array:
        """How far the true value can be from the computed one, which is inside the interval."""
        errors: Array = np.maximum(self.upper - self.lower, 0.0)
        return errors


def block_intervals(theta: Array, rho: float) -> tuple[Array, Array]:
    r"""Return intervals that b eigenvalues of K share out among the b Ritz values.

    .. math:: |\lambda_{\pi(i)} - \theta_i| \le \|R\|_2

    >>> block_intervals(np.array([2.0, 1.0]), 0.25)
    (array([1.75, 0.75]), array([2.25, 1.25]))
    """
    return theta - rho, theta + rho


def quadratic_intervals(theta: Array, rho: float, tau: float) -> tuple[Array, Array]:
    r"""Return intervals for the leading eigenvalues, given a bound τ for all others.

    .. math:: \theta_i \le \lambda_i \le \frac{\theta_i + \tau}{2} +
        \sqrt{\left(\frac{\theta_i - \tau}{2}\right)^2 + \|R\|_2^2}, \quad \theta_i > \tau

    The right side is the larger eigenvalue of [[θ, ρ], [ρ, τ]]: K is at most that in the two
    directions of Q and of its complement. It is quadratic in the residual.

    >>> lower, upper = quadratic_intervals(np.array([1.0]), 1e-4, 0.5)
    >>> bool(upper[0] - lower[0] < 2.1e-8)
    True
    """
    half = np.where(theta > tau, (theta - tau) / 2.0, 1.0)
    # θ + excess, with the excess formed without cancellation.
    excess = rho**2 / (half + np.sqrt(half**2 + rho**2))
    return theta, theta + np.where(theta > tau, excess, np.inf)


def ordered_intervals(theta: Array, rho: float, tau: float) -> tuple[Array, Array]:
    r"""Return intervals for the leading eigenvalues, linear in the residual.

    .. math:: |\lambda_i - \theta_i| \le \|R\|_2, \quad \theta_i > \tau + \|R\|_2

    K is within ‖R‖ of a matrix with the blocks Θ and one that is at most τ + ‖R‖ (Davis, Kahan and
    Weinberger's dilation), so that its leading eigenvalues are those of Θ (Weyl).

    >>> ordered_intervals(np.array([2.0, 1.0]), 0.25, 0.9)
    (array([1.75, -inf]), array([2.25,  inf]))
    """
    width = np.where(theta > tau + rho, rho, np.inf)
    return theta - width, theta + width


def sine_bounds(theta: Array, rho: float, tau: float, rounding: float = 0.0) -> Array:
    r"""Return bounds for the angle between the space of the first k axes and the true one.

    .. math:: \sin\angle \le \frac{\|R\|_2}{\theta_k - \tau_k}

    where :math:`\tau_k` bounds what lies outside the first k: the next Ritz value or τ, widened by
    the residual (Davis and Kahan). ``rounding`` bounds the error of the Ritz values themselves.
    """
    following = np.append(theta[1:], -np.inf)
    outside = np.maximum(following, tau) + rho + rounding
    gaps = theta - rounding - outside
    return np.where(gaps > 0, np.minimum(rho / np.where(gaps > 0, gaps, 1.0), 1.0), 1.0)


@dataclass(frozen=True)
class Complement:
    """A bound τ for every eigenvalue outside a subspace, and what it rests on."""

    tau: float
    name: str
    assumption: str = "none"
    failure_probability: float = 0.0


def certify(
    theta: Array,
    residuals: Array,
    noise: Array,
    count: int,
    complements: Sequence[Complement],
) -> Certificate:
    """Return for each of the first ``count`` values the narrowest interval that can be proved.

    ``residuals`` holds R for all Ritz vectors and ``noise`` a bound for the rounding in each of
    its columns; ``complements`` bound what all of them leave out.
    """
    # The residuals are known up to a matrix of this norm, and Q*KQ is Θ up to twice that: an entry
    # is taken from the better of two images, and its conjugate from the same one.
    rounding = np.sqrt(np.append(0.0, np.cumsum(noise**2)))
    rho = prefix_norms(residuals) + rounding
    lower, upper = block_intervals(theta[:count], float(rho[count]))
    sines, ordered = np.ones(count), np.zeros(count, bool)
    bounds, assumptions = ["block residual"] * count, ["none"] * count
    rests_on: list[Complement | None] = [None] * count
    angles_rest_on = list(rests_on)
    for used in range(count, len(theta) + 1):
        slack = 2.0 * float(rounding[used])
        for left_out in complements:
            outside = _outside(theta, used, left_out.tau, float(rho[-1] + 2.0 * rounding[-1]))
            low, high = quadratic_intervals(theta[:count], float(rho[used]), outside)
            near, far = ordered_intervals(theta[:count], float(rho[used]), outside)
            is_linear = far <= high + slack
            low, high = np.maximum(low - slack, near), np.minimum(high + slack, far)
            worth = np.where(ordered & (left_out.assumption == NOT_HIDDEN), WORTH, 1.0)
            # Of two intervals as wide, the one that knows its place says more.
            better = high - low < worth * (upper - lower) + np.where(ordered, 0.0, SAME * rho[used])
            lower, upper = np.where(better, low, lower), np.where(better, high, upper)
            ordered |= better
            angle = sine_bounds(theta[:used], float(rho[used]), outside, slack)[:count]
            closer = np.isfinite(high) & (angle < np.where(sines < 1.0, worth, 1.0) * sines)
            sines = np.where(closer, angle, sines)
            for k in np.flatnonzero(better):
                order = "linear" if is_linear[k] else "quadratic"
                bounds[k], rests_on[k] = f"{order}, {left_out.name}", left_out
            for k in np.flatnonzero(closer):
                angles_rest_on[k] = left_out
    for axis in range(count):
        used_here = {c.assumption for c in (rests_on[axis], angles_rest_on[axis]) if c is not None}
        assumptions[axis] = "; ".join(sorted(used_here - {"none"})) or "none"
    everything = [c for c in (*rests_on, *angles_rest_on) if c is not None]
    failure = max((c.failure_probability for c in everything), default=0.0)
    return Certificate(lower, upper, sines, ordered, tuple(bounds), tuple(assumptions), failure)


def prefix_norms(residuals: Array) -> Array:
    """Return ‖R‖₂ of the first 0, 1, 2, … columns."""
    squares = residuals.conj().T @ residuals
    largest = [np.linalg.eigvalsh(squares[:c, :c])[-1] for c in range(1, len(squares) + 1)]
    return np.sqrt(np.maximum([0.0, *largest], 0.0))


def _outside(theta: Array, used: int, tau: float, rho: float) -> float:
    """Return a bound for what the first ``used`` vectors leave out: the others and the rest."""
    rest = theta[used:]
    return max(tau, *rest) + rho if len(rest) else tau


def trace_complement(trace: float, theta: Array, rounding: float, assumption: str) -> Complement:
    r"""Return what the trace leaves for any other eigenvalue of a positive semidefinite matrix.

    .. math:: \lambda_{b+1} \le \operatorname{tr} K - \sum_{i \le b} \theta_i
    """
    return Complement(max(trace - float(np.sum(theta)), 0.0) + rounding, "trace", assumption)


def frobenius_complement(
    square_sum: float, images: Array, theta: Array, noise: Array, slack: float = 0.0
) -> Complement:
    r"""Return the Frobenius norm of what the Ritz vectors leave out, without any assumption.

    .. math:: \|(I-P)K(I-P)\|_F^2 = \|K\|_F^2 - 2\|KP\|_F^2 + \|PKP\|_F^2

    The subtraction can only be trusted down to √u·‖K‖_F, which is added, as are ``slack``, a bound
    for the error of the sum of squares, and what the rounding of the images can have taken away.
    """
    known = float(np.sum(np.abs(images) ** 2))
    left = square_sum - 2.0 * known + float(np.sum(theta**2))
    rounding = 4.0 * np.sqrt(known) * float(np.linalg.norm(noise))
    tau = np.sqrt(max(left, 0.0) + rounding + slack) + np.sqrt(np.finfo(float).eps * square_sum)
    return Complement(float(tau), "Frobenius norm")


FAILURE = 1e-9
"""The probability with which a bound from random vectors may be wrong."""

PROBES = 4
"""Random vectors that accompany the passes to measure a norm."""


NOT_HIDDEN = "rounding in single precision hides nothing from random probes"
"""What a small bound from probes rests on whose products were rounded a lot."""

SAME = 1e-9
"""Widths of intervals that differ by less than this share of the residual are the same."""

WORTH = 0.5
"""An interval that rests on an assumption replaces one that does not only if it is so narrow."""


class Approximation(Protocol):
    """A low-rank matrix FF*: its trace, products with it, and what vectors leave of it."""

    factor: Array

    @property
    def trace(self) -> float: ...

    def product(self, vectors: Array) -> Array: ...

    def outside(self, vectors: Array) -> float: ...


class NormProbe:
    r"""The norm of K - K̂ from random vectors that ride along with the passes over K.

    For ω uniform on the sphere and any Hermitian A (Dixon, 1983)

    .. math:: \|A\|_2 \le \theta\, \|A^s \omega\|^{1/s}
        \quad\text{except with probability } 0.8\, \theta^{-s} \sqrt{n}

    and several independent ω must all fail. A product is wrong by a vector of norm ε at most, so
    that with the norms :math:`\nu_1, \dots, \nu_s` that were computed

    .. math:: \|A^s \omega\| \le \prod_{i \le s} \nu_i
        + \varepsilon \sum_{j < s} \|A\|^{s-1-j} \prod_{i \le j} \nu_i
    """

    def __init__(
        self, approximation: Approximation, n: int, random_state: int | list[int] | None
    ) -> None:
        self.approximation, self.n = approximation, n
        rng = np.random.default_rng(random_state)
        block = rng.standard_normal((n, PROBES))
        self.vectors = block / np.linalg.norm(block, axis=0)
        self.norms: list[Array] = []

    @property
    def steps(self) -> int:
        return len(self.norms)

    def advance(self, images: Array) -> None:
        """Take K times the probes, from which the next power follows."""
        images = images - self.approximation.product(self.vectors)
        norms = np.maximum(np.linalg.norm(images, axis=0), np.finfo(float).tiny)
        self.vectors = images / norms
        self.norms.append(norms)

    def norm(self, noise: float = 0.0) -> float:
        """Return a bound for the norm that fails with probability at most `FAILURE`.

        ``noise`` bounds the error of K times a unit vector as it was given to `advance`. The
        bound is the only positive root of the two inequalities taken together.
        """
        if not self.norms:
            return np.inf
        each = FAILURE ** (1.0 / PROBES)
        inflation = 0.8 * np.sqrt(self.n) / each
        noise += self._rounding()
        return max(_largest_root(column, noise, inflation) for column in np.array(self.norms).T)

    def complements(self, ritz: Array, noise: float) -> list[Complement]:
        """Return the bound: what the approximation has outside, and the norm of the rest.

        The first holds whatever rounding did; the second, which is much smaller after passes in
        single precision, assumes that errors of the products did not happen to cancel the probes'
        share of the largest axis of the rest.
        """
        outside = self.approximation.outside(ritz) + self._rounding()
        name = "low-rank approximation and random probes"
        return [
            Complement(outside + self.norm(noise), name, "none", FAILURE),
            Complement(outside + self.norm() + noise, name, NOT_HIDDEN, FAILURE),
        ]

    def _rounding(self) -> float:
        """Bound the rounding of products with the approximation, and of what it has outside."""
        terms = 2 * sum(self.approximation.factor.shape) + 8
        return terms * float(np.finfo(float).eps) * self.approximation.trace


def _largest_root(norms: Array, noise: float, inflation: float) -> float:
    """Return the largest x with xˢ ≤ inflation (Π νᵢ + noise Σⱼ xˢ⁻¹⁻ʲ Π_{i≤j} νᵢ).

    >>> _largest_root(np.array([2.0, 2.0]), 0.0, 1.0), _largest_root(np.array([2.0]), 0.5, 1.0)
    (2.0, 2.5)
    """
    unit = float(norms.max()) + noise  # in which no coefficient overflows
    before = np.append(1.0, np.cumprod(norms / unit))
    polynomial = np.append(1.0, -inflation * noise / unit * before[:-1])
    polynomial[-1] -= inflation * before[-1]
    return unit * float(np.roots(polynomial).real.max())
