"""Observations: points of any kind with targets and weights, and intervals around fitted values."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from mercer.check import Array, Points
from mercer.errors import InvalidInput
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.given import Precomputed
from mercer.points import take
from mercer.settings import confidence_of

LIGHTEST = 1e-16
"""Observations of less than this share of the largest weight are lost in losses with corners."""


@dataclass(frozen=True)
class WeightedTargets:
    """Points with their targets and weights, all positive; the points may be a Gram matrix."""

    points: Points
    y: Array
    weights: Array
    is_matrix: bool = False

    @property
    def p(self) -> Array:
        """The weights as shares of their sum."""
        relative = self.weights / self.weights.max()  # whose sum is a double
        return np.asarray(relative / relative.sum())

    def __len__(self) -> int:
        return len(self.weights)

    def part(self, rows: Array) -> WeightedTargets:
        """Return some of the observations."""
        return WeightedTargets(self._of(rows), self.y[rows], self.weights[rows], self.is_matrix)

    def folds(self, count: int, *, is_of_labels: bool = False) -> Array:
        """Return a random part of each observation, labels spread evenly over the parts.

        >>> labels = np.array([[1.0], [1.0], [-1.0], [-1.0]])
        >>> part = WeightedTargets(np.arange(4.0), labels, np.ones(4)).folds(2, is_of_labels=True)
        >>> sorted(part[:2].tolist()), sorted(part[2:].tolist())
        ([0, 1], [0, 1])
        """
        order = np.random.default_rng(0).permutation(len(self))
        if is_of_labels:
            order = order[np.lexsort(self.y[order].T)]
        fold = np.empty(len(self), np.intp)
        fold[order] = np.arange(len(self)) % count
        return fold

    def _of(self, rows: Array) -> Points:
        if self.is_matrix:
            matrix: Array = np.asarray(self.points)[np.ix_(rows, rows)]
            return matrix
        return self.points if len(rows) == len(self) else take(self.points, rows)

    def gram(self, kernel: Kernel | None) -> Gram:
        """Return the Gram matrix of a kernel, or the one that was given."""
        if kernel is None:
            return Gram(Precomputed(np.asarray(self.points)), np.arange(len(self)))
        return Gram(kernel, self.points)

    def cross(self, kernel: Kernel | None, rows: Array, columns: Array) -> Any:
        """Return the matrix between some of the points and others, as something to multiply by."""
        if kernel is None:
            return np.asarray(self.points)[np.ix_(rows, columns)]
        return Gram(kernel, take(self.points, rows), take(self.points, columns))


def refuse_light(weights: Array, who: str, share: float = LIGHTEST) -> None:
    """Refuse weights below a share of the largest, for a method that needs more.

    >>> refuse_light(np.array([1.0, 0.0, 1e-3]), "the hinge loss")
    >>> refuse_light(np.array([1.0, 1e-30]), "the hinge loss")
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: the weight 1e-30 at row 1 is below 1e-16 of the largest, which the hinge loss cannot tell from 0: give 0
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    light = np.flatnonzero((weights > 0) & (weights < share * weights.max()))
    if light.size:
        row = int(light[0])
        raise InvalidInput(
            f"the weight {weights[row]:g} at row {row} is below {share:g} of the largest, "
            f"which {who} cannot tell from 0: give 0"
        )


def band(
    values: Array, deviation: Array, noise_variance: float | Array, confidence: float
) -> tuple[Array, Array]:
    """Return the ends of central intervals of a confidence, for a function or with noise on top.

    >>> lower, upper = band(np.zeros(1), np.array([0.6]), 0.64, 0.95)
    >>> round(float(upper[0]), 3)
    1.96
    """
    half = NormalDist().inv_cdf(0.5 + 0.5 * confidence_of(confidence)) * np.sqrt(
        deviation**2 + noise_variance
    )
    return values - half, values + half
