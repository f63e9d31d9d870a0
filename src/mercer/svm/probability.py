"""Probabilities from decisions: Platt's sigmoid for two classes, coupled for more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from mercer.check import Array
from mercer.display import Shown

STEPS = 100
"""More Newton steps than any sigmoid took: the problem is convex in two parameters."""

RIDGE = 1e-12
"""Added to the second derivatives, which vanish where decisions are all equal."""

PRECISION = 1e-10
"""The derivative allowed at the end, for one observation."""


@dataclass(frozen=True, repr=False)
class Sigmoid(Shown):
    r"""The probability of the positive class given a decision f.

    .. math:: p(f) = \frac{1}{1 + e^{-(a f + b)}}

    >>> Sigmoid(2.0, 0.0)(np.array([0.0]))
    array([0.5])
    """

    facts: ClassVar[Mapping[str, str]] = {
        "slope": "a",
        "offset": "b",
    }

    slope: float
    offset: float

    def __call__(self, decisions: Array) -> Array:
        return np.asarray(expit(self.slope * decisions + self.offset))


def platt(decisions: Array, y: Array, weights: Array) -> Sigmoid:
    r"""Return the sigmoid of the largest likelihood of labels y = ±1 that decisions did not see.

    Labels are moved towards ½ as if one more observation of each class had been seen,

    .. math:: t_+ = \frac{n_+ + 1}{n_+ + 2}, \qquad t_- = \frac{1}{n_- + 2}

    so that there is a maximum also where decisions separate the classes (Platt, 1999; the Newton
    method is that of Lin, Lin and Weng, 2007).

    >>> of = platt(np.array([-1.0, 1.0, -1.0, 1.0]), np.array([-1.0, 1.0, -1.0, 1.0]), np.ones(4))
    >>> np.round(of(np.array([-1.0, 1.0])), 6)
    array([0.25, 0.75])
    """
    above, below = float(weights[y > 0].sum()), float(weights[y < 0].sum())
    t = np.where(y > 0, (above + 1.0) / (above + 2.0), 1.0 / (below + 2.0))
    scale = float(np.max(np.abs(decisions), initial=0.0)) or 1.0
    X = np.column_stack([decisions / scale, np.ones_like(decisions)])
    at = np.array([0.0, np.log((above + 1.0) / (below + 1.0))])

    def loss(v: Array) -> float:
        f = X @ v
        return float(weights @ (np.logaddexp(0.0, f) - t * f))

    for _ in range(STEPS):
        p = expit(X @ at)
        gradient = X.T @ (weights * (p - t))
        if float(np.max(np.abs(gradient))) <= PRECISION * float(weights.sum()):
            break
        H = X.T @ ((weights * p * (1.0 - p))[:, None] * X) + RIDGE * np.eye(2)
        step = -np.linalg.solve(H, gradient)
        length, now = 1.0, loss(at)
        while length > PRECISION and loss(at + length * step) > now + 1e-4 * length * float(
            gradient @ step
        ):
            length *= 0.5
        at = at + length * step
    return Sigmoid(float(at[0]) / scale, float(at[1]))


def coupled(pairwise: Array) -> Array:
    r"""Return probabilities of classes from those of pairs, r_ij being that of i among i and j.

    .. math:: \min_p\; \sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2, \qquad \sum_i p_i = 1

    (Wu, Lin and Weng, 2004, their second method). The solution is positive for 0 < r < 1.

    >>> r = np.array([[[0.0, 0.5, 0.8], [0.5, 0.0, 0.8], [0.2, 0.2, 0.0]]])
    >>> np.round(coupled(r), 6)
    array([[0.444444, 0.444444, 0.111111]])
    """
    count = pairwise.shape[1]
    other = np.swapaxes(pairwise, 1, 2)
    Q = -other * pairwise
    Q[:, np.arange(count), np.arange(count)] = np.sum(other**2, axis=2) - np.einsum(
        "nii->ni", other**2
    )
    border = np.zeros((len(Q), count + 1, count + 1))
    border[:, :count, :count] = Q
    border[:, count, :count] = border[:, :count, count] = 1.0
    right = np.zeros((count + 1, 1))
    right[count] = 1.0
    p = np.linalg.solve(border, np.broadcast_to(right, (len(Q), count + 1, 1)))[:, :count, 0]
    p = np.maximum(p, 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
