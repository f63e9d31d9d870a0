r"""What rounding can have done to a duality gap, from the weights that were found.

Both sides of a gap are sums whose terms were rounded, and the values of the kernel were rounded
before. With :math:`\varepsilon` a bound for the errors of Kα (`Saddle.product_error`),

.. math:: \sum_i p_i L_i (\varepsilon_i + \dots) \qquad\text{and}\qquad
    \gamma |\alpha|^\top \varepsilon + \dots

bound the errors of :math:`\sum_i p_i \ell(y_i, f_i)` and of :math:`\gamma \alpha^\top K \alpha`,
with L the slope of the loss; dots are a few units of the last place of what is added up.
"""

from __future__ import annotations

from math import fsum
from typing import Protocol

import numpy as np

from mercer.check import Array
from mercer.kernels.bounds import gamma
from mercer.regression.loss_functions import Loss
from mercer.solve import Saddle

UNIT = float(np.finfo(float).eps) / 2
TINY = float(np.finfo(float).tiny)

FUNCTION = 64
"""Units of rounding allowed to entropies, whose slope is at most 40 where their values are."""


class Penalised(Protocol):
    """A mean loss with weights p and a penalty, on the values of a kernel."""

    @property
    def saddle(self) -> Saddle: ...
    @property
    def y(self) -> Array: ...
    @property
    def p(self) -> Array: ...
    @property
    def penalty(self) -> float: ...
    @property
    def loss(self) -> Loss: ...


def rounding(of: Penalised, alpha: Array, eta: Array, image: Array, objective: float) -> float:
    """Bound what rounding does to an objective and to its dual, together."""
    saddle, y, p, penalty = of.saddle, of.y, of.p, of.penalty
    if not np.isfinite(objective):
        return np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        free = saddle.Q @ eta
        beside = np.abs(saddle.Q) @ np.abs(eta)
        f, sums = image + free, gamma(len(y) + 8, UNIT)
        of_image = saddle.product_error(alpha[:, None])[:, 0]
        of_f = of_image + gamma(len(eta) + 2, UNIT) * beside + UNIT * (np.abs(image) + np.abs(f))
        primal = float(p @ (of_loss(of.loss, y, f, of_f) + sums * of.loss.value(y, f)))
        rough = penalty * float(np.abs(alpha) @ (of_image + sums * np.abs(image)))
        s = np.abs(2.0 * penalty * alpha / p)
        # The conjugates are sy + cs²/2, or entropies of a share s of at most 1.
        terms = s * np.abs(y) + of.loss.curvature * s * s
        entropy = FUNCTION * UNIT if of.loss.name == "logistic" else 0.0
        dual = float(p @ (2.0 * sums * terms)) + entropy
        total = primal + 2.0 * rough + dual
    return total if np.isfinite(total) else np.inf


def of_loss(loss: Loss, y: Array, f: Array, error: Array) -> Array:
    """Bound the error of a loss from that of the prediction, and of its own evaluation.

    >>> from mercer.regression.loss_functions import loss_named
    >>> one = np.ones(1)
    >>> bool(of_loss(loss_named("absolute"), one, 0.0 * one, 1e-9 * one)[0] < 1.001e-9)
    True
    """
    # 1 - yf has an error of its own, y - f one that is a share of it.
    total = error + 4.0 * UNIT * (1.0 + np.abs(f) if loss.is_of_labels else np.abs(y - f))
    if loss.name == "squared":
        return np.asarray((2.0 * np.abs(y - f) + total) * total)
    return np.asarray(max(abs(loss.low), abs(loss.high)) * total)


def infeasibility(of: Penalised, alpha: Array, eta: Array, objective: float) -> float:
    r"""Bound what Qᵀα ≠ 0 adds to the dual objective.

    .. math:: 2 \gamma \left|(Q^\top \alpha)^\top \eta^*\right|

    with η* the null weights of the minimiser, which is bounded since its objective is no larger:
    it has :math:`\|h\|^2 \le P/\gamma`, and values that losses keep from the targets. Losses of
    labels do so from one side only; for a constant that is enough, and for other functions η* is
    taken to be at most twice as large as what was found.
    """
    saddle, p, y = of.saddle, of.p, of.y
    Q = saddle.Q
    if not Q.shape[1]:
        return 0.0
    w = np.array([abs(fsum(q * alpha)) for q in Q.T])
    w += 2.0 * UNIT * (np.abs(Q).T @ np.abs(alpha))
    with np.errstate(over="ignore"):
        own = np.maximum(saddle.gram.diag(), 0.0) / max(of.penalty, TINY)
        sections = np.sqrt(own * objective)  # how large h can be at each point
    found = float(w @ np.abs(eta))
    if of.loss.is_of_labels:
        if Q.shape[1] > 1 or np.ptp(Q) > 0.0:
            return 4.0 * of.penalty * found
        lightest = min(float(p[y > 0].sum()), float(p[y < 0].sum())) or 1.0
        most = (objective + 1.0) / lightest + float(np.max(sections, initial=0.0))
        return 2.0 * of.penalty * float(w[0]) * most / max(abs(float(Q[0, 0])), TINY)
    values = float(p @ (np.abs(y) + sections)) + _distance(of.loss, objective)
    # (Qᵀα)ᵀη* = vᵀQη* with v the shortest vector of Qᵀv = Qᵀα.
    v = Q @ np.linalg.lstsq(Q.T @ Q, w, rcond=None)[0]
    return 2.0 * of.penalty * max(float(np.max(np.abs(v) / p)) * values, found)


def _distance(loss: Loss, objective: float) -> float:
    """Bound the mean distance from targets of a function of some mean loss.

    >>> from mercer.regression.loss_functions import loss_named
    >>> [_distance(loss_named(name), 4.0) for name in ("squared", "absolute", "huber")]
    [2.0, 4.0, 5.0]
    """
    if loss.name == "squared":
        return float(np.sqrt(max(objective, 0.0)))
    if loss.name == "huber":
        corner = 0.5 * loss.high
        return corner + objective / corner
    return objective / min(abs(loss.low), abs(loss.high))
