r"""How far a computed value can be from the formula's, and what operations make of such bounds.

An inner product of d terms is off by at most :math:`\gamma_d \sum |a_i b_i|` with
:math:`\gamma_d = du/(1 - du)`, in whatever order a library adds them; a kernel states what its
formula makes of that, and an operation what it makes of the bounds of its parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from mercer.kernels.pairs import INNER, Scale, Statistic
from mercer.kernels.point_pairs import DISTANCE_ACCURACY

FUNCTION = 8
"""Units of rounding allowed to an elementary function, its argument's scaling included."""

SINGLE_ACCURACY = 1e-3
"""Relative error allowed to a squared distance in single precision with a kink at 0."""


def gamma(terms: int, unit: float) -> float:
    """Return Higham's bound for the relative error of a sum of products, in any order.

    >>> gamma(2, 0.125)
    0.3333333333333333
    """
    return terms * unit / (1.0 - terms * unit)


class Bound(NamedTuple):
    """Bounds for a value's modulus and for its error, and for the value itself if it is lower."""

    value: float
    error: float
    above: float = np.inf
    is_proved: bool = True

    @property
    def top(self) -> float:
        """A bound for the value itself, which may be negative or at most zero."""
        return min(self.value, self.above)


@dataclass(frozen=True)
class Arithmetic:
    """The precision at hand, and the sizes of what kernels ask of the points.

    ``largest`` has the largest squared norm of a point, by what is asked of pairs. Where
    ``is_recomputed``, squared distances that cancellation would spoil are sums of squares.
    """

    dtype: Any
    columns: int
    largest: Mapping[Statistic, float]
    is_recomputed: bool = False

    @property
    def unit(self) -> float:
        """The unit roundoff."""
        return float(np.finfo(self.dtype).eps) / 2

    @property
    def underflow(self) -> float:
        """What an operation loses at most where its value is too small to be a number."""
        return float(np.finfo(self.dtype).tiny)

    @property
    def accuracy(self) -> float:
        """The relative error allowed to a squared distance where a function has a kink."""
        return DISTANCE_ACCURACY if self.dtype == np.float64 else SINGLE_ACCURACY

    def inner(self) -> Bound:
        """Return the bounds of an inner product."""
        size = self.largest[INNER]
        return Bound(size, gamma(self.columns + 3, self.unit) * size)

    def squares_error(self, scale: Scale) -> float:
        """Return a bound for the error of a squared distance from a matrix product."""
        return gamma(self.columns + 8, self.unit) * 4.0 * self.largest[scale]

    def distance(self, scale: Scale) -> float:
        """Return a bound for the distances."""
        return 2.0 * sqrt(self.largest[scale])

    def distance_error(self, scale: Scale) -> float:
        """Return a bound for the error of a distance whose square was recomputed where small."""
        # d² is right to `accuracy` or was recomputed, so d² >= error/accuracy where it was not.
        squares = self.squares_error(scale)
        return 0.5 * sqrt(squares * self.accuracy) + FUNCTION * self.unit * self.distance(scale)

    def in_range(self, bound: Bound) -> Bound:
        """Return bounds as they are, infinite where values leave the range of the precision."""
        limits = np.finfo(self.dtype)
        is_small = self.dtype == np.float32 and 0.0 < bound.value <= 1e8 * float(limits.tiny)
        if is_small or bound.value >= float(limits.max) / 8:
            return Bound(np.inf, np.inf, is_proved=bound.is_proved)
        return bound

    def times(self, a: Bound, b: Bound) -> Bound:
        """Return the bounds of a product."""
        value = a.value * b.value
        error = a.value * b.error + b.value * a.error + a.error * b.error
        return Bound(value, error + self.unit * value + self.underflow)

    def power(self, base: Bound, exponent: int) -> Bound:
        """Return the bounds of a whole power.

        >>> double = Arithmetic(np.float64, 1, {})
        >>> double.power(Bound(2.0, 1e-9), 3).error < 1.3e-8
        True
        >>> double.power(Bound(1e200, 1e180), 2).value
        inf
        """
        if exponent == 0:
            return Bound(1.0, 0.0)
        with np.errstate(over="ignore"):  # an infinite bound is true
            value = float(np.float64(base.value) ** exponent)
            slope = exponent * float(np.float64(base.value + base.error) ** (exponent - 1))
        error = slope * base.error if base.error > 0.0 else 0.0
        rounding = (exponent + FUNCTION) * self.unit * value
        return Bound(value, error + rounding + self.underflow)
