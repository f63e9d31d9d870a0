"""Observations: points of any kind, or a precomputed matrix, with targets and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.check import (
    Array,
    InvalidInput,
    Points,
    real_array,
)
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.functions import Precomputed
from mercer.points import take


@dataclass(frozen=True)
class Data:
    """Points with their targets and weights, all positive; the points may be a Gram matrix."""

    points: Points
    y: Array
    weights: Array
    is_matrix: bool = False

    @property
    def p(self) -> Array:
        """The weights as shares of their sum."""
        return np.asarray(self.weights / self.weights.sum())

    def __len__(self) -> int:
        return len(self.weights)

    def part(self, rows: Array) -> Data:
        """Return some of the observations."""
        return Data(self._of(rows), self.y[rows], self.weights[rows], self.is_matrix)

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


def observation_weights(sample_weight: Any, n: int) -> Array:
    """Return weights of n observations as they are, 1 without any.

    >>> observation_weights(None, 2), observation_weights([1, 3], 2)
    (array([1., 1.]), array([1., 3.]))
    """
    if sample_weight is None:
        return np.ones(n)
    weights = real_array(np.asarray(sample_weight), "sample_weight")
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise InvalidInput(f"there are weights of shape {weights.shape} for {n} observations")
    if np.any(weights < 0) or not np.any(weights > 0):
        raise InvalidInput(
            "weights must be nonnegative and not all zero; the smallest is "
            f"{weights.min():g} at row {int(weights.argmin())}"
        )
    return weights
