r"""Losses ℓ(y, f) of a prediction f, with what duality needs of them.

With weights p that sum to 1 the problem and its dual are

.. math:: \min_{h, \eta} \sum_i p_i\, \ell(y_i, f_i) + \gamma \|h\|^2
    = \max_{Q^\top \alpha = 0} - \sum_i p_i\, \ell^*(y_i, s_i) - \gamma\, \alpha^\top K \alpha,
    \quad s_i = -2 \gamma \alpha_i / p_i

with f = Kα + Qη and ℓ*(y, s) = sup_f (sf - ℓ(y, f)). The difference of both sides is the duality
gap: no function whatsoever has an objective lower by more than that.

What rounding can have done to a gap follows from the weights that were found: both sides are sums
whose terms were rounded, and the values of the kernel were rounded before. With :math:`\varepsilon`
a bound for the errors of Kα (`Saddle.product_error`),

.. math:: \sum_i p_i L_i (\varepsilon_i + \dots) \qquad\text{and}\qquad
    \gamma |\alpha|^\top \varepsilon + \dots

bound the errors of :math:`\sum_i p_i \ell(y_i, f_i)` and of :math:`\gamma \alpha^\top K \alpha`,
with L the slope of the loss; dots are a few units of the last place of what is added up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import fsum
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, xlogy

from mercer.check import TINY, UNIT, Array
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.statements import gamma
from mercer.settings import number
from mercer.solve import Saddle

NAMES = ("squared", "absolute", "quantile", "huber", "logistic", "hinge")
"""The losses that `loss_named` knows."""


@dataclass(frozen=True)
class Loss:
    r"""A convex loss; where it is piecewise linear or quadratic its conjugate is that of a box.

    .. math:: \ell^*(y, s) = sy + \tfrac{1}{2} c s^2, \quad
        s \in y^{e} [\mathrm{low}, \mathrm{high}]

    with e = 1 for losses of labels y = ±1, and 0 for others. A smooth loss has ``derivatives``, the
    first and the second in f, and a conjugate of its own, ``dual``.
    """

    name: str
    value: Callable[[Array, Array], Array]
    low: float = -1.0
    high: float = 1.0
    curvature: float = 0.0
    is_of_labels: bool = False
    derivatives: Callable[[Array, Array], tuple[Array, Array]] | None = None
    dual: Callable[[Array, Array], Array] | None = None

    @property
    def is_smooth(self) -> bool:
        """Whether Newton's method minimises it."""
        return self.derivatives is not None

    @property
    def is_own(self) -> bool:
        """Whether it is a `convex_loss`, all of which is the user's."""
        return self.derivatives is not None and not self.is_of_labels

    def box(self, y: Array) -> tuple[Array, Array]:
        """Return the least and the largest derivative at each observation."""
        if not self.is_of_labels:
            return np.full_like(y, self.low), np.full_like(y, self.high)
        return np.minimum(y * self.low, y * self.high), np.maximum(y * self.low, y * self.high)

    def conjugate(self, y: Array, s: Array) -> Array:
        """Return ℓ*(y, s) for s in the box."""
        if self.dual is not None:
            return np.asarray(self.dual(y, s))
        return np.asarray(s * y + 0.5 * self.curvature * s * s)


def _squared(y: Array, f: Array) -> Array:
    return np.asarray((y - f) ** 2)


def _hinge(y: Array, f: Array) -> Array:
    return np.asarray(np.maximum(0.0, 1.0 - y * f))


def _logistic(y: Array, f: Array) -> Array:
    return np.asarray(np.logaddexp(0.0, -y * f))


def _logistic_derivatives(y: Array, f: Array) -> tuple[Array, Array]:
    wrong = expit(-y * f)
    return np.asarray(-y * wrong), np.asarray(wrong * expit(y * f))


def _entropy(y: Array, s: Array) -> Array:
    t = np.clip(-y * s, 0.0, 1.0)
    return np.asarray(xlogy(t, t) + xlogy(1.0 - t, 1.0 - t))


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
    if isinstance(name, Loss):
        return name
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
        "logistic": Loss(
            "logistic", _logistic, -1.0, 0.0, 0.0, True, _logistic_derivatives, _entropy
        ),
        "hinge": Loss("hinge", _hinge, -1.0, 0.0, is_of_labels=True),
    }
    if not isinstance(name, str) or name not in NAMES:
        raise InvalidParameter(
            f"loss must be one of {', '.join(NAMES)}, or a convex_loss; found {name!r}"
        )
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
    if loss.is_of_labels or loss.is_smooth:
        return 1.0
    s = np.sqrt(p)[:, None]
    r = y - Q @ np.linalg.lstsq(s * Q, s * y, rcond=None)[0]
    square = float(p @ np.sum(r * r, axis=1))
    return float(p @ np.sum(loss.value(r, 0.0 * r), axis=1)) / square if square > 0 else 1.0


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


def objective_rounding(
    of: Penalised, alpha: Array, eta: Array, image: Array, objective: float, conjugates: Array
) -> float:
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
        own = 0.0
        if of.loss.is_smooth:
            # Entropies are of a share of 1; a loss of one's own is as large as what it adds up.
            added = np.ones_like(f)
            if of.loss.is_own:
                added = np.abs(of.loss.value(y, f)) + s * np.abs(f)
            own = FUNCTION * UNIT * float(p @ (added + np.abs(conjugates)))
        dual = float(p @ (2.0 * sums * terms)) + own
        total = primal + 2.0 * rough + dual
    return total if np.isfinite(total) else np.inf


def of_loss(loss: Loss, y: Array, f: Array, error: Array) -> Array:
    """Bound the error of a loss from that of the prediction, and of its own evaluation.

    >>> from mercer.regression.loss_functions import loss_named
    >>> one = np.ones(1)
    >>> bool(of_loss(loss_named("absolute"), one, 0.0 * one, 1e-9 * one)[0] < 1.001e-9)
    True
    """
    if loss.is_own and loss.derivatives is not None:
        total = error + 4.0 * UNIT * np.abs(f)  # the slope of a convex loss is largest at an end
        steep = [np.abs(loss.derivatives(y, f + sign * total)[0]) for sign in (-1.0, 1.0)]
        return np.asarray(np.maximum(*steep) * total + FUNCTION * UNIT * np.abs(loss.value(y, f)))
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
    labels do so from one side only; for a constant that is enough, and for other functions, and
    for a `convex_loss`, η* is taken to be at most twice as large as what was found.
    """
    saddle, p, y = of.saddle, of.p, of.y
    Q = saddle.Q
    if not Q.shape[1]:
        return 0.0
    w = np.array([abs(fsum(q * alpha)) for q in Q.T])
    w += 2.0 * UNIT * (np.abs(Q).T @ np.abs(alpha))
    if of.loss.is_own:
        return 4.0 * of.penalty * float(w @ np.abs(eta))
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
