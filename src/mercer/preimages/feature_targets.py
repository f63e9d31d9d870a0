"""The points of H that are looked for, and how far the feature of a point is from one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mercer.check import Array, chunks
from mercer.gram import Gram
from mercer.kernels.base import Kernel

TILE = 2**22
"""Kernel values that exist at a time, 32 MB of them."""

CANCELLED = 8.0 * float(np.finfo(float).eps)
"""Error of a sum of terms that cancel, as a share of the sum of their moduli."""


@dataclass(frozen=True, eq=False)
class Sections:
    r"""A barycentre and orthonormal axes of H, as weighted sums of sections of the kernel.

    .. math:: \mu = \sum_i b_i\, k(\cdot, x_i), \quad v_k = \sum_i A_{ik}\, k(\cdot, x_i), \quad
        P(f) = \mu + \sum_k f_k v_k

    Points are rows of numbers as the kernel sees them, from ``origin``.
    """

    kernel: Kernel
    points: Array
    barycentre: Array
    axes: Array
    origin: Array | float = 0.0


class Squares(NamedTuple):
    """Squared distances, and what rounding may have added to each."""

    values: Array
    rounding: Array


class Targets:
    r"""Points P of H, given by their coordinates on axes.

    .. math:: P = \sum_i g_i\, k(\cdot, x_i), \quad g = b + A f, \quad
        \|\varphi(x) - P\|^2 = k(x, x) - 2 \sum_i g_i\, k(x, x_i) + g^\top K g

    The last term takes one pass over the Gram matrix: that axes found by iteration are orthonormal
    up to a tolerance only does not enter the distances.

    >>> from mercer import Gaussian
    >>> x = np.array([[0.0], [1.0]])
    >>> middle = Targets(Sections(Gaussian(1.0), x, np.array([0.5, 0.5]), np.zeros((2, 0))),
    ...                  np.zeros((1, 0)))
    >>> middle.squares(x[:1]).values, np.array([1.0 - np.exp(-0.5)]) / 2.0
    (array([0.19673467]), array([0.19673467]))
    """

    def __init__(self, sections: Sections, scores: Array) -> None:
        self.sections, self.kernel, self.points = sections, sections.kernel, sections.points
        self.scores = scores
        self._parts = np.column_stack([sections.barycentre, sections.axes])
        self._shares = np.column_stack([np.ones(len(scores)), scores])

    def __len__(self) -> int:
        return len(self.scores)

    def rows(self, width: int = 1) -> Iterator[slice]:
        """Cut the targets so that ``width`` numbers for each pair with a point fit in a tile."""
        return chunks(len(self), max(1, TILE // max(1, width * len(self.points))))

    def weights(self, rows: slice | Array) -> Array:
        """Return g of some targets, as rows."""
        weights: Array = self._shares[rows] @ self._parts.T
        return weights

    @cached_property
    def _images(self) -> Array:
        return Gram(self.kernel, self.points).product(self._parts)

    @cached_property
    def _norms(self) -> Squares:
        """‖P‖², and the sum of the moduli of its terms."""
        form = self._parts.T @ self._images
        values = np.sum((self._shares @ form) * self._shares, axis=1)
        moduli = np.sum((np.abs(self._shares) @ np.abs(form)) * np.abs(self._shares), axis=1)
        return Squares(values, moduli)

    @cached_property
    def own(self) -> Array:
        """k(x, x) of the points of the sections."""
        return Gram(self.kernel, self.points).diag()

    def to_points(self, rows: slice) -> Array:
        """Return ‖P - φ(xᵢ)‖² of some targets to all points of the sections, never negative."""
        values: Array = self.own - 2.0 * (self._shares[rows] @ self._images.T)
        values += self._norms.values[rows, None]
        return np.maximum(values, 0.0)

    def nearest(self, count: int) -> Array:
        """Return the numbers of the points whose features are nearest, the nearest first."""
        count = min(count, len(self.points))
        found = np.empty((len(self), count), dtype=np.intp)
        for rows in self.rows():
            squares = self.to_points(rows)
            few = np.argpartition(squares, count - 1, axis=1)[:, :count]
            order = np.argsort(np.take_along_axis(squares, few, axis=1), axis=1, kind="stable")
            found[rows] = np.take_along_axis(few, order, axis=1)
        return found

    def squares(self, x: Array) -> Squares:
        """Return ‖φ(x) - P‖² of one point for each target, and what rounding may have added."""
        values, rounding = np.empty(len(self)), np.empty(len(self))
        own = Gram(self.kernel, x).diag()
        for rows in self.rows(2):
            k, g = np.asarray(self.kernel(x[rows], self.points), np.float64), self.weights(rows)
            terms = k * g
            values[rows] = own[rows] - 2.0 * terms.sum(axis=1)
            rounding[rows] = np.abs(own[rows]) + 2.0 * np.abs(terms, out=terms).sum(axis=1)
        values += self._norms.values
        return Squares(np.maximum(values, 0.0), CANCELLED * (rounding + self._norms.rounding))
