"""What the programs of all machines share: their solution as a function, starts and rounding."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.check import Array
from mercer.display import Shown
from mercer.kernels.bounds import gamma
from mercer.svm.quadratic import Point

UNIT = float(np.finfo(float).eps) / 2

SINGLE = float(np.finfo(np.float32).eps)
"""Matrices that are given may have been rounded so."""

START = {"kernel": "precomputed", "tol": 1e-6, "max_iter": 200_000}
"""Settings of the start in single precision: closer than its matrix is exact, and still quick.

Where its steps are not enough, the exact ones go on from there.
"""


@dataclass(frozen=True, repr=False)
class Expansion(Shown):
    """A function f = Σ βᵢ k(xᵢ, ·) + b that minimises an objective.

    Where no condition fixes the intercept every one of ``interval`` is optimal, and the middle is
    taken. No function has an objective lower by more than ``gap``, in which ``rounding`` is what
    rounding can have done to the kernel's values and to both sides of the gap. ``slacks`` are the
    losses of the points, each for a unit of cost.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "weights": "of the points",
        "intercept": "b",
        "interval": "of intercepts that are as good",
        "objective": "its least value found",
        "gap": "how far from the least it can be",
    }

    weights: Array
    intercept: float
    interval: tuple[float, float]
    objective: float
    gap: float
    slacks: Array
    rounding: float
    steps: int

    def moved(self, intercept: float) -> Self:
        """Return the function with something added to its intercept."""
        low, high = (end + intercept for end in self.interval)
        return replace(self, intercept=self.intercept + intercept, interval=(low, high))


class Found(NamedTuple):
    """Weights β with Kβ, and an intercept."""

    beta: Array
    image: Array
    intercept: float


def interval_of(point: Point, unit: float = 1.0) -> tuple[float, float]:
    """Return the multipliers of the first group, an infinite end replaced by the other one."""
    low, high = (unit * float(end) for end in point.intervals[0])
    low, high = (low if np.isfinite(low) else high), (high if np.isfinite(high) else low)
    return min(low, high), max(low, high)


def start_of(peer: Any, K: Array, y: Array, weights: Array) -> Array:
    """Return the dual variables of a machine of libsvm, zeros where it finds none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            peer.fit(K, y, sample_weight=weights)
        except ValueError:
            return np.zeros(len(K))
    beta = np.zeros(len(K))
    beta[peer.support_] = peer.dual_coef_[0]
    return beta if np.all(np.isfinite(beta)) else np.zeros(len(K))


def scale_of(values: Array) -> float:
    """Return the power of two above the largest modulus, 1 of zeros: to divide by it is exact.

    >>> scale_of(np.array([3.0, -5.0]))
    8.0
    """
    return float(np.ldexp(1.0, int(np.frexp(np.max(np.abs(values), initial=0.0))[1])))


def rounding_of(
    K: Array, entry: float, found: Found, margins: Array, levels: Array, costs: Array
) -> tuple[float, float]:
    r"""Bound what rounding does to an objective and to its dual, together, and to any value of f.

    Entries of K are right to ``entry``, so Kβ to :math:`\varepsilon` and with it the losses of the
    points whose ``margins``, the loss before it is cut at 0, are or may be positive. ``levels`` are
    the numbers that f is compared with.
    """
    beta, image, intercept = found
    sums = gamma(len(K) + 8, UNIT)
    of_image = entry * float(np.sum(np.abs(beta))) + sums * (np.abs(K) @ np.abs(beta))
    of_f = of_image + 4.0 * UNIT * (levels + np.abs(image) + abs(intercept))
    losses = np.maximum(0.0, margins)
    primal = float(costs @ np.where(margins + of_f > 0.0, of_f + sums * losses, 0.0))
    square = 0.5 * float(np.abs(beta) @ (of_image + sums * np.abs(image)))
    f = image + intercept
    dual = sums * float(levels @ np.abs(beta)) + 2.0 * UNIT * float(costs @ np.abs(f))
    return primal + 2.0 * square + dual, float(np.max(of_f, initial=0.0))


def excess_of(beta: Array, total: float = 0.0) -> float:
    """Return by how much Σβ can differ from what it should be."""
    return abs(fsum(beta) - total) + UNIT * float(np.sum(np.abs(beta))) + 4.0 * UNIT * abs(total)


def largest_value(K: Array, objective: float) -> float:
    """Bound the values at points of any h whose ½‖h‖² is at most the objective."""
    size = float(np.max(np.abs(np.diag(K)), initial=0.0))
    return float(np.sqrt(2.0 * size * max(objective, 0.0)))


def is_definite(K: Array, *, is_centred: bool = True) -> bool:
    """Say whether weights, which sum to zero if centred, have no negative square.

    This is up to single precision. Otherwise the conditions of an optimum hold at points that are
    none, and no gap proves one.

    >>> is_definite(np.array([[1.0, 0.5], [0.5, 1.0]]))
    True
    >>> is_definite(np.array([[0.0, 2.0], [2.0, 0.0]]))
    False
    >>> apart = -np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> is_definite(apart), is_definite(apart, is_centred=False)
    (True, False)
    """
    means = K.mean(axis=0)
    matrix = K - means - means[:, None] + means.mean() if is_centred else K.copy()
    np.fill_diagonal(matrix, matrix.diagonal() + len(K) * SINGLE * scale_of(K))
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
