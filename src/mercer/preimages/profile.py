"""Kernels that are one function of a squared distance: which they are, and that function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.check import Array
from mercer.kernels.base import Kernel
from mercer.kernels.pairs import INNER, Aligned, Scale

DOUBLINGS, HALVINGS = 80, 60
"""How often an interval grows until it holds a root, and shrinks around it: to a double's end."""


@dataclass(frozen=True)
class Profile:
    r"""A kernel as a function of the squared distance of points in units of lengths.

    .. math:: k(x, y) = h(s), \quad s = \textstyle\sum_j ((x_j - y_j)/\ell_j)^2

    >>> from mercer import Gaussian, Matern
    >>> found = profile_of(0.5 * Gaussian(2.0) + Matern(1.5, 1.0) * Gaussian(3.0), 2)
    >>> s, step = np.array([0.0, 1.0, 4.0]), 1e-6
    >>> np.allclose(found.slope(s[1:], 1e-9),
    ...             (found.value(s[1:] + step) - found.value(s[1:] - step)) / (2 * step))
    True
    >>> np.allclose(found.inverse(found.value(s)), s)
    True
    """

    kernel: Kernel
    lengths: Array

    def _pairs(self, squares: Array) -> OnLine:
        r = np.sqrt(squares).reshape(-1, 1)
        return OnLine(r, np.zeros_like(r), len(self.lengths), squares.reshape(-1))

    def value(self, s: Array) -> Array:
        """Return h(s)."""
        return np.asarray(self.kernel.evaluate(self._pairs(s))).reshape(s.shape)

    def slope(self, s: Array, smallest: float) -> Array:
        """Return h'(s), at distances below the smallest what it is there."""
        squares = np.maximum(s, smallest**2)
        slopes = np.asarray(self.kernel.evaluate_slopes(self._pairs(squares)))[:, 0]
        along: Array = slopes.reshape(s.shape) / (2.0 * np.sqrt(squares))
        return along

    def inverse(self, values: Array, unit: float = 1.0) -> Array:
        """Return s with h(s) as given: 0 for values too large, infinity for values too small.

        ``unit`` is a usual distance, at which the search begins.
        """
        low, high = np.zeros(values.shape), np.full(values.shape, unit)  # distances, not squares
        for _ in range(DOUBLINGS):
            is_short = self.value(high**2) > values
            if not is_short.any():
                break
            low, high = np.where(is_short, high, low), np.where(is_short, 2.0 * high, high)
        is_out = self.value(high**2) > values
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            is_beyond = self.value(middle**2) > values
            low, high = np.where(is_beyond, middle, low), np.where(is_beyond, high, middle)
        return np.where(is_out, np.inf, np.where(low > 0.0, (0.5 * (low + high)) ** 2, 0.0))


def profile_of(kernel: Kernel, columns: int) -> Profile | None:
    """Return a kernel on points of so many coordinates as a function of a distance, if it is one.

    >>> from mercer import Gaussian, Laplacian, Linear
    >>> profile_of(Linear().gaussian(2.0) + Gaussian((1.0, 3.0)), 2) is None
    True
    >>> profile_of(Gaussian((2.0, 6.0)) * Gaussian((1.0, 3.0)), 2).lengths
    array([1., 3.])
    >>> profile_of(Laplacian(norm=1.0), 2) is None, profile_of(Laplacian(norm=2.0), 2) is None
    (True, False)
    """
    asked = kernel.asks(columns)
    if not asked or INNER in asked:
        return None
    shapes = [np.broadcast_to(np.divide(s, np.ravel(s)[0]), columns) for s in asked]
    if any(not np.allclose(shape, shapes[0], rtol=1e-12) for shape in shapes):
        return None
    return Profile(kernel, np.array(shapes[0]))


class OnLine(Aligned):
    """Pairs of points of the line, in place of pairs of a space that are as far apart.

    Lengths of coordinates are proportional to each other, so that the first one decides.
    """

    def __init__(
        self, x: Array, y: Array | None, columns: int, squares: Array | None = None
    ) -> None:
        super().__init__(x, y)
        self.stands_for = columns
        self.squares = np.zeros(len(x)) if squares is None else squares

    @property
    def columns(self) -> int:
        return self.stands_for

    def sides(self, scale: Scale = 1.0) -> tuple[Array, Array, Array]:
        a, b = self.vectors
        return a, b, np.array([_first(scale)])

    def squared_distance(self, scale: Scale = 1.0) -> Array:
        scaled: Array = self.squares / _first(scale) ** 2
        return scaled

    def distance(self, norm: float, scale: Scale = 1.0) -> Array:
        scaled: Array = np.sqrt(self.squares) / _first(scale)
        return scaled

    def left(self) -> Aligned:
        return self._once("left", lambda: OnLine(self.vectors[0], None, self.stands_for))

    def right(self) -> Aligned:
        return self._once("right", lambda: OnLine(self.vectors[1], None, self.stands_for))


def _first(scale: Scale) -> float:
    return scale[0] if isinstance(scale, tuple) else scale
