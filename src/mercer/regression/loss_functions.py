r"""Losses ℓ(y, f) of a prediction f, with what duality needs of them.

With weights p that sum to 1 the problem and its dual are

.. math:: \min_{h, \eta} \sum_i p_i\, \ell(y_i, f_i) + \gamma \|h\|^2
    = \max_{Q^\top \alpha = 0} - \sum_i p_i\, \ell^*(y_i, s_i) - \gamma\, \alpha^\top K \alpha,
    \quad s_i = -2 \gamma \alpha_i / p_i

with f = Kα + Qη and ℓ*(y, s) = sup_f (sf - ℓ(y, f)). The difference of both sides is the duality
gap: no function whatsoever has an objective lower by more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, xlogy

from mercer.check import Array, number
from mercer.errors import InvalidInput, InvalidParameter


@dataclass(frozen=True)
class Loss:
    r"""A convex loss; where it is piecewise linear or quadratic its conjugate is that of a box.

    .. math:: \ell^*(y, s) = sy + \tfrac{1}{2} c s^2, \quad
        s \in y^{e} [\mathrm{low}, \mathrm{high}]

    with e = 1 for losses of labels y = ±1, and 0 for others.
    """

    name: str
    value: Callable[[Array, Array], Array]
    low: float = -1.0
    high: float = 1.0
    curvature: float = 0.0
    is_of_labels: bool = False

    def box(self, y: Array) -> tuple[Array, Array]:
        """Return the least and the largest derivative at each observation."""
        if not self.is_of_labels:
            return np.full_like(y, self.low), np.full_like(y, self.high)
        return np.minimum(y * self.low, y * self.high), np.maximum(y * self.low, y * self.high)

    def conjugate(self, y: Array, s: Array) -> Array:
        """Return ℓ*(y, s) for s in the box."""
        if self.name == "logistic":
            t = np.clip(-y * s, 0.0, 1.0)
            return np.asarray(xlogy(t, t) + xlogy(1.0 - t, 1.0 - t))
        return np.asarray(s * y + 0.5 * self.curvature * s * s)


def _squared(y: Array, f: Array) -> Array:
    return np.asarray((y - f) ** 2)


def _hinge(y: Array, f: Array) -> Array:
    return np.asarray(np.maximum(0.0, 1.0 - y * f))


def _logistic(y: Array, f: Array) -> Array:
    return np.asarray(np.logaddexp(0.0, -y * f))


def loss_named(name: Any, *, quantile: float = 0.5, threshold: float = 1.0) -> Loss:
    r"""Return a loss by its name.

    squared (y - f)², absolute \|y - f\|, quantile max(τr, (τ-1)r) with r = y - f, huber r² up to
    the threshold δ and 2δ\|r\| - δ² beyond, and for labels y = ±1 logistic log(1 + e^{-yf}) and
    hinge max(0, 1 - yf).

    >>> huber = loss_named("huber", threshold=1.0)
    >>> huber.value(np.array([0.5, 3.0]), np.zeros(2))
    array([0.25, 5.  ])
    >>> loss_named("quantile", quantile=0.9).value(np.array([1.0, -1.0]), np.zeros(2))
    array([0.9, 0.1])
    """
    level, delta = number(quantile, "quantile"), number(threshold, "threshold", above=0.0)
    if not 0.0 < level < 1.0:
        raise InvalidParameter(f"quantile must be between 0 and 1, found {quantile!r}")

    def pinball(y: Array, f: Array) -> Array:
        return np.asarray(np.maximum(level * (y - f), (level - 1.0) * (y - f)))

    def huber(y: Array, f: Array) -> Array:
        r = np.abs(y - f)
        return np.asarray(np.where(r <= delta, r * r, delta * (2.0 * r - delta)))

    known = {
        "squared": Loss("squared", _squared, -np.inf, np.inf, 0.5),
        "absolute": Loss("absolute", lambda y, f: np.abs(y - f)),
        "quantile": Loss("quantile", pinball, -level, 1.0 - level),
        "huber": Loss("huber", huber, -2.0 * delta, 2.0 * delta, 0.5),
        "logistic": Loss("logistic", _logistic, -1.0, 0.0, is_of_labels=True),
        "hinge": Loss("hinge", _hinge, -1.0, 0.0, is_of_labels=True),
    }
    if name not in known:
        raise InvalidParameter(f"loss must be one of {', '.join(known)}, found {name!r}")
    return known[name]


def check_labels(loss: Loss, y: Array, rows: Array) -> None:
    """Refuse values other than -1 and 1 in some rows where the loss is one of labels."""
    if not loss.is_of_labels:
        return
    wrong = rows[np.any(np.abs(y[rows]) != 1.0, axis=1)]
    if wrong.size:
        row = int(wrong[0])
        raise InvalidInput(
            f"the {loss.name} loss is one of labels -1 and 1, and y has {y[row].tolist()} at row "
            f"{row}; for two classes give numpy.where(y == positive, 1, -1)"
        )


def probability(f: Array) -> Array:
    """Return the probability 1/(1 + e^{-f}) of the label 1 under logistic loss."""
    return np.asarray(expit(f))


def natural(loss: Loss, p: Array, y: Array, Q: Array) -> float:
    r"""Return a penalty in which the units of y are right, for a kernel with k(x, x) near 1.

    .. math:: \sum_i p_i\, \ell(r_i, 0) \Big/ \sum_i p_i r_i^2

    with r what least squares in the null space leave of the targets.

    >>> y, p, nothing = np.array([[3.0], [-1.0]]), np.full(2, 0.5), np.zeros((2, 0))
    >>> [natural(loss_named(name), p, y, nothing) for name in ("squared", "absolute")]
    [1.0, 0.4]
    """
    if loss.is_of_labels:
        return 1.0
    s = np.sqrt(p)[:, None]
    r = y - Q @ np.linalg.lstsq(s * Q, s * y, rcond=None)[0]
    square = float(p @ np.sum(r * r, axis=1))
    return float(p @ np.sum(loss.value(r, 0.0 * r), axis=1)) / square if square > 0 else 1.0
