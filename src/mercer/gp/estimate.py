"""The likelihood of more points than a matrix can be stored for: an interval, labelled as one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.check import Array, Points, number
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.solve import log_determinant, solve


@dataclass(frozen=True)
class LikelihoodInterval:
    """A log likelihood between two ends, exact up to rounding or with a stated confidence."""

    value: float
    lower: float
    upper: float
    confidence: float
    method: str


def log_likelihood_interval(
    kernel: Kernel,
    points: Points,
    y: Array,
    noise_variance: float,
    *,
    method: str = "auto",
    probes: int = 20,
    random_state: int | None = 0,
) -> LikelihoodInterval:
    r"""Return the log likelihood without storing a matrix, with mean zero.

    .. math:: -\tfrac{1}{2} y^\top A^{-1} y - \tfrac{1}{2} \log\det A - \tfrac{n}{2} \log 2\pi

    The quadratic form is found by conjugate gradients to rounding, the determinant by stochastic
    Lanczos quadrature with an interval of 95 per cent confidence over its probes.

    >>> from mercer import Delta
    >>> found = log_likelihood_interval(Delta(), [0, 1], np.array([2.0, 0.0]), 1.0)
    >>> bool(np.isclose(found.value, -1.0 - np.log(2.0) - np.log(2.0 * np.pi)))
    True
    """
    gram = Gram(kernel, points)
    noise = number(noise_variance, "noise_variance", above=0.0)
    ways = {"auto": "auto", "direct": "direct", "iterative": "lanczos"}
    found = solve(gram, y, noise, method=method, tol=1e-10, random_state=random_state)
    determinant = log_determinant(
        gram, noise, method=ways.get(method, method), probes=probes, random_state=random_state
    )
    fixed = -0.5 * float(y @ found.weights) - 0.5 * len(y) * float(np.log(2.0 * np.pi))
    # The error of the form is at most ‖residual‖ ‖α‖, and what λ >= σ² makes of both.
    left = y - gram @ found.weights - noise * found.weights
    error = 0.5 * float(np.linalg.norm(left)) * float(np.linalg.norm(y)) / noise
    return LikelihoodInterval(
        fixed - 0.5 * determinant.value,
        fixed - 0.5 * determinant.upper - error,
        fixed - 0.5 * determinant.lower + error,
        determinant.confidence,
        f"{found.method} solution, determinant by {determinant.method}",
    )
