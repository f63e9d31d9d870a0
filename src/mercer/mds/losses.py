"""What a map may be asked to minimise, as functions of its distances with their slopes.

All vectors run over the pairs i < j that are known. Dissimilarities come in a unit in which their
root mean square is 1, so that one step length and one tolerance suit all data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy import optimize

from mercer.check import Array

TIES = ("primary", "secondary")


class MapLoss(Protocol):
    """A function of the distances of a map: what to minimise, and what to report of it."""

    def __call__(self, d: Array) -> tuple[float, Array]:
        """Return the value to minimise, without dimension, and its derivative in each distance.

        The array of derivatives is used again by the next call.
        """

    def disparities(self, d: Array) -> Array:
        """Return what the distances would be if the map were perfect."""

    def scale(self, d: Array) -> float:
        """Return the factor that makes the map the best of its multiples."""

    def reported(self, d: Array) -> float:
        """Return the stress by its definition."""


def kruskal_stress(d: Array, target: Array, weights: Array | float = 1.0) -> float:
    r"""Return Kruskal's stress-1 of distances d for dissimilarities or disparities δ, scale-free.

    .. math:: \sqrt{1 - \frac{(\sum d\,\delta)^2}{\sum d^2 \sum \delta^2}}
        = \min_b \sqrt{\frac{\sum (d - b\,\delta)^2}{\sum d^2}}

    It is computed in the second form, in which nothing cancels.

    >>> kruskal_stress(np.array([3.0, 4.0]), np.array([1.0, 0.0]))
    0.8
    """
    squares, targets = float(np.sum(weights * d * d)), float(np.sum(weights * target * target))
    if squares == 0.0 or targets == 0.0:
        return float(squares != targets)
    gaps = d - (float(np.sum(weights * d * target)) / targets) * target
    return float(np.sqrt(np.sum(weights * gaps * gaps) / squares))


class Stress:
    r"""The sum of squared differences between distances and dissimilarities.

    .. math:: \frac{\sum w (d - \delta)^2}{\sum w \delta^2}

    Its minima are those of Kruskal's scale-free stress-1, at the scale that fits best.
    """

    def __init__(self, target: Array, weights: Array) -> None:
        self.target, self.weights = target, weights
        self.total = float(np.sum(weights * target * target))
        # Fresh memory for every call would cost more than the arithmetic.
        self._gaps, self._slopes = np.empty((2, len(target)))

    def __call__(self, d: Array) -> tuple[float, Array]:
        gaps = np.subtract(d, self.target, out=self._gaps)
        slopes = np.multiply(self.weights, gaps, out=self._slopes)
        value = float(slopes @ gaps) / self.total
        slopes *= 2.0 / self.total
        return value, slopes

    def disparities(self, d: Array) -> Array:
        return self.target

    def scale(self, d: Array) -> float:
        squares = float(np.sum(self.weights * d * d))
        return float(np.sum(self.weights * d * self.target)) / squares if squares > 0 else 1.0

    def reported(self, d: Array) -> float:
        return kruskal_stress(d, self.target, self.weights)


class Sammon(Stress):
    r"""Sammon's error, which counts a difference the more the smaller the dissimilarity is.

    .. math:: \frac{1}{\sum w\delta} \sum w \frac{(d - \delta)^2}{\delta}

    It is defined for positive dissimilarities, or where all are 0.
    """

    def __init__(self, target: Array, weights: Array) -> None:
        super().__init__(target, weights / np.where(target > 0.0, target, 1.0))

    def reported(self, d: Array) -> float:
        return self(d)[0] if self.total > 0 else 0.0


class SStress:
    r"""The sum of squared differences between squared distances and squared dissimilarities.

    .. math:: \sum_{i<j} w\, (d^2 - \delta^2)^2

    Yao calls minimising it nonmetric scaling; it is metric, and not `Ordinal`.
    """

    def __init__(self, target: Array, weights: Array) -> None:
        self.target, self.weights = target, weights
        self.squares = target * target
        self.total = float(np.sum(weights * self.squares**2))
        self._gaps, self._slopes = np.empty((2, len(target)))

    def __call__(self, d: Array) -> tuple[float, Array]:
        gaps = np.multiply(d, d, out=self._gaps)
        gaps -= self.squares
        slopes = np.multiply(self.weights, gaps, out=self._slopes)
        value = float(slopes @ gaps) / self.total
        slopes *= d
        slopes *= 4.0 / self.total
        return value, slopes

    def disparities(self, d: Array) -> Array:
        return self.target

    def scale(self, d: Array) -> float:
        fourth = float(np.sum(self.weights * d**4))
        return float(np.sqrt(np.sum(self.weights * d * d * self.squares) / fourth)) if fourth else 1

    def reported(self, d: Array) -> float:
        return float(np.sum(self.weights * (d * d - self.squares) ** 2))


class OrdinalStress:
    r"""Kruskal's stress-1 for the best disparities that are in the order of the dissimilarities.

    .. math:: \min_{\hat d} \frac{\sum w (d - \hat d)^2}{\sum w d^2}, \quad
        \delta_{ij} < \delta_{kl} \Rightarrow \hat d_{ij} \le \hat d_{kl}

    Equal dissimilarities may have different disparities ("primary" ties) or must not
    ("secondary"). Because the disparities are the nearest point of a convex cone, the value is
    differentiable where no distance is 0, as if they were constants.
    """

    def __init__(self, target: Array, weights: Array, ties: str = "primary") -> None:
        self.weights, self.ties = weights, ties
        levels, self.level = np.unique(target, return_inverse=True)
        self.has_ties = len(levels) < len(target)
        self.order = np.argsort(target, kind="stable")
        self.in_order = weights[self.order]
        self.counts = np.bincount(self.level, weights=weights)

    def disparities(self, d: Array) -> Array:
        if self.has_ties and self.ties == "secondary":
            means = np.bincount(self.level, weights=self.weights * d) / self.counts
            fitted: Array = optimize.isotonic_regression(means, weights=self.counts).x
            return fitted[self.level]
        order, weights = self.order, self.in_order
        if self.has_ties:
            order = np.lexsort((d, self.level))
            weights = self.weights[order]
        result = np.empty_like(d)
        result[order] = optimize.isotonic_regression(d[order], weights=weights).x
        return result

    def __call__(self, d: Array) -> tuple[float, Array]:
        gaps = d - self.disparities(d)
        squares = float(np.sum(self.weights * d * d))
        if squares == 0.0:
            return 1.0, np.zeros_like(d)
        value = float(np.sum(self.weights * gaps * gaps)) / squares
        gaps -= value * d
        gaps *= self.weights
        gaps *= 2.0 / squares
        return value, gaps

    def scale(self, d: Array) -> float:
        """The order says nothing of the scale: distances keep the unit of the dissimilarities."""
        squares = float(np.sum(self.weights * d * d))
        return float(np.sqrt(np.sum(self.weights) / squares)) if squares > 0 else 1.0

    def reported(self, d: Array) -> float:
        return kruskal_stress(d, self.disparities(d), self.weights)


PLAIN: dict[str, Callable[[Array, Array], MapLoss]] = {
    "stress": Stress,
    "sstress": SStress,
    "sammon": Sammon,
}

LOSSES = (*PLAIN, "ordinal")


def loss_of(name: str, target: Array, weights: Array, ties: str) -> MapLoss:
    """Return the loss of a name on given pairs."""
    return (
        OrdinalStress(target, weights, ties) if name == "ordinal" else PLAIN[name](target, weights)
    )
