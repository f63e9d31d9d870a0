"""The mean loss and penalty of a regression, and weights with their duality gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidParameter
from mercer.regression.loss_functions import Loss, infeasibility, rounding
from mercer.solve import Saddle

MOST_STEPS = 100
"""More Newton steps than any problem took; an interior point method takes some twenty."""

TRIVIAL = 1e-4
"""The least unit of a gap, as a share of the objective of the zero function.

A nearly exact fit has an objective near 0, in units of which rounding alone would be a large gap.
"""

BESIDE = 1e-6
"""How far a derivative may lie outside of what the loss can have: for a `convex_loss`, as a share
of the largest."""

YOUNG = 1e-9
"""Share of its terms by which Fenchel and Young's inequality may fail, by rounding of a formula."""

LOST_GAP = 1.0
"""An objective that rounding may have changed by a larger share of it is not known."""


@dataclass(frozen=True)
class ConvexOptimum:
    """Weights with the objective they attain, and how far any function can be below it.

    ``gap`` is that of duality as it was computed, ``rounding`` what rounding can have done to both
    of its sides: together they bound the distance to the least objective. What is known to more
    than `LOST_GAP` of the ``scale`` of objectives is worth a warning.
    """

    weights: Array
    null_weights: Array
    objective: float
    gap: float
    allowed: float
    steps: int
    rounding: float = 0.0
    scale: float = 0.0

    @property
    def is_proved(self) -> bool:
        """Whether the gap is one that was asked for."""
        return self.gap <= self.allowed

    @property
    def is_lost(self) -> bool:
        """Whether rounding leaves next to nothing of the proof."""
        return self.rounding > LOST_GAP * self.scale


@dataclass(frozen=True)
class Problem:
    """The mean loss of f = Kα + Qη with weights p that sum to 1, plus γ αᵀKα."""

    saddle: Saddle
    y: Array
    p: Array
    penalty: float
    loss: Loss
    tol: float

    def optimum(
        self, alpha: Array, eta: Array, steps: int, image: Array | None = None
    ) -> ConvexOptimum:
        r"""Return the weights with their duality gap, given Kα if it is known.

        .. math:: \sum_i p_i (\ell(y_i, f_i) + \ell^*(y_i, s_i)) + 2\gamma\, \alpha^\top K \alpha
        """
        image = self.saddle.product(alpha[:, None])[:, 0] if image is None else image
        f = image + self.saddle.Q @ eta
        low, high = self.loss.box(self.y)
        s = -2.0 * self.penalty * alpha / self.p
        outside = float(np.max(np.maximum(s - high, low - s), initial=0.0))
        roughness = self.penalty * float(alpha @ image)
        objective = float(self.p @ self.loss.value(self.y, f)) + roughness
        conjugates = self.loss.conjugate(self.y, np.clip(s, low, high))
        # What leaves the box, or Qᵀα = 0, by rounding is charged with what it gains.
        gained = outside * float(self.p @ np.abs(f)) if outside <= BESIDE else np.inf
        if self.loss.is_own:
            conjugates, moved = self._reached(f, s, conjugates)
            gained += float(self.p @ (moved * (np.abs(f) + np.abs(image))))
        dual = -float(self.p @ conjugates) - roughness
        gained += infeasibility(self, alpha, eta, objective)
        gap = max(objective - dual, 0.0) + gained
        of_zero = float(self.p @ self.loss.value(self.y, 0.0 * self.y))
        scale = max(abs(objective), TRIVIAL * abs(of_zero))
        unknown = rounding(self, alpha, eta, image, objective, conjugates)
        return ConvexOptimum(alpha, eta, objective, gap, self.tol * scale, steps, unknown, scale)

    def _reached(self, f: Array, s: Array, conjugates: Array) -> tuple[Array, Array]:
        """Return conjugates where the derivative is s but for rounding, and how far s was moved.

        One that is too small is refused: a dual above the objective would prove nothing. Fenchel
        and Young: ℓ(y, f) + ℓ*(y, s) ≥ sf for every f and s.
        """
        assert self.loss.derivatives is not None
        with np.errstate(over="ignore", invalid="ignore"):
            slopes, values = self.loss.derivatives(self.y, f)[0], self.loss.value(self.y, f)
            is_beside = np.abs(slopes - s) <= BESIDE * np.max(np.abs(slopes), initial=0.0)
            is_moved = ~np.isfinite(conjugates) & is_beside
            near = np.where(is_moved, slopes, s)
            if np.any(is_moved):
                conjugates = self.loss.conjugate(self.y, near)
            left = values + conjugates - near * f
            allowed = YOUNG * (np.abs(values) + np.abs(conjugates) + np.abs(near * f))
            is_small = left < -allowed
        if np.any(is_small):
            i = int(np.argmax(is_small))
            raise InvalidParameter(
                f"the conjugate of the {self.loss.name} loss is too small: at y = {self.y[i]:.6g}, "
                f"s = {near[i]:.6g} it is {conjugates[i]:.6g}, less than sf - loss = "
                f"{near[i] * f[i] - values[i]:.6g} at f = {f[i]:.6g}"
            )
        return conjugates, np.abs(near - s)
