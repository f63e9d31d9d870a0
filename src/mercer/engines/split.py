r"""Operands split into two numbers of half precision, and what products of them round.

A half has 11 bits: :math:`x_h` is x up to :math:`2^{-11}|x|`, and :math:`x_h + x_l` up to
:math:`2^{-22}|x|`, where no exponent leaves the range; a power of two keeps the largest number of
an operand near the upper end of it. What is left out, :math:`x_l y_l`, is as small.

Tensor cores align the terms of a sum with the largest and cut them off there (Fasi, Higham,
Mikaitis and Pranesh, PeerJ Computer Science 7, e330, 2021): each addition loses at most
:math:`2^{-23}` of the largest number in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, inf, sqrt
from typing import Any

import numpy as np

from mercer.engines.tiles import Rounding
from mercer.engines.trace import Formula
from mercer.kernels.pairs import INNER, Scale
from mercer.kernels.statements import FUNCTION, Arithmetic, Bound, gamma

SPLIT = 2.0**-22
"""The relative error of a number that is split into two halves."""

CUT = 2.0**-23
"""What an addition in a tensor core loses of the largest number in it."""

AT_ONCE = 16
"""Products that a tensor core adds to a sum at once."""

LARGEST_COORDINATE, LARGEST_VALUE = 2.0**6, 2.0**14
"""To what operands are scaled by powers of two: halves end at 65504."""

NARROW, MOST_HELD = 16, 128
"""The fewest coordinates that tensor cores multiply, and the most that are held in registers."""


def truncation(terms: int) -> float:
    """Return a bound for what a sum of products loses in tensor cores, relative to its sizes.

    >>> truncation(512) < 7e-5
    True
    """
    return (terms + 2 * -(-terms // AT_ONCE)) * CUT


@dataclass(frozen=True)
class SplitArithmetic(Arithmetic):
    """Values of kernels from split points, elementary functions to a few units of 2⁻²²."""

    @property
    def unit(self) -> float:
        return SPLIT

    @property
    def accuracy(self) -> float:
        return inf  # no square is computed again

    def _product_error(self) -> float:
        """Return a bound for the error of x·y, relative to the larger of |x|² and |y|²."""
        # Each side is off by `SPLIT`, as much is left out, and sums of three parts are cut off.
        return 3.0 * SPLIT + 1.01 * truncation(3 * self.columns + 3 * AT_ONCE)

    def inner(self) -> Bound:
        size = self.largest[INNER]
        # Of centred points, which are at most twice as long; two more terms make it what it was.
        return Bound(size, self._product_error() * 4.0 * size + 16.0 * SPLIT * size)

    def squares_error(self, scale: Scale) -> float:
        # ‖x‖² and ‖y‖² are those of the split points, which are off by 2‖x-y‖·2·2⁻²²|x| together.
        return (2.0 * self._product_error() + 8.0 * SPLIT + 4.0 * SPLIT) * self.largest[scale]

    def distance_error(self, scale: Scale) -> float:
        # |√a - √b| ≤ √|a - b|
        return sqrt(self.squares_error(scale)) + FUNCTION * self.unit * self.distance(scale)


def split_rounding(entry: Bound, columns: int, terms: int) -> Rounding:
    """Return what split products round: sums of so many terms, added by Kahan's rule."""
    double = float(np.finfo(float).eps) / 2
    # Upper halves of values are cut off, not rounded: twice as much is left for the lower ones.
    sums = truncation(terms) * (1.0 + 2.0**-8) + 8.0 * SPLIT
    sums += columns * 2.0**-38  # numbers far below the largest have fewer bits
    sums += gamma(2 * (columns // terms) + 16, double)
    if entry.value >= 2.0**100 or entry.value <= 2.0**-60:
        return Rounding(inf, inf, entry.is_proved, entry.value)
    error = entry.error + sums * (entry.value + entry.error)
    return Rounding(entry.error, error, entry.is_proved, entry.value)


@dataclass(frozen=True)
class Layout:
    """How the halves of a point lie: ``width`` of them, ``held`` at a time, in ``parts``.

    In one part halves are side by side as they meet those of another point: (h, l, h), which are
    read as (l, h, h) there.
    """

    width: int
    held: int
    parts: int

    @staticmethod
    def of(columns: int) -> Layout:
        """Return the layout that asks for the fewest products.

        >>> Layout.of(20), Layout.of(50)
        (Layout(width=64, held=64, parts=1), Layout(width=128, held=64, parts=2))
        >>> Layout.of(300)
        Layout(width=640, held=64, parts=3)
        """
        together, apart = power_of_two_above(3 * columns), power_of_two_above(columns)
        if together < 3 * apart and together <= 2 * MOST_HELD:
            return Layout(together, together, 1)
        if apart <= MOST_HELD:
            return Layout(2 * apart, apart, 2)
        held = MOST_HELD // 2
        return Layout(2 * held * -(-columns // held), held, 3)


def power_of_two_above(count: int) -> int:
    """Return the least width of an operand that holds so many numbers."""
    return max(NARROW, 1 << (count - 1).bit_length())


def halves(torch: Any, a: Any) -> tuple[Any, Any]:
    """Return the two halves of doubles.

    >>> import torch
    >>> high, low = halves(torch, torch.tensor([1.0 + 2.0**-12], dtype=torch.float64))
    >>> high.item(), low.item()
    (1.0, 0.000244140625)
    """
    high = a.to(torch.float16)
    return high, (a - high.to(a.dtype)).to(torch.float16)


def laid_out(torch: Any, high: Any, low: Any, layout: Layout) -> Any:
    """Return the halves of points side by side, as the layout has them."""
    n, columns = high.shape
    result = torch.zeros((n, layout.width), dtype=high.dtype, device=high.device)
    if layout.parts == 1:
        result[:, : 3 * columns] = torch.cat((high, low, high), dim=1)
        return result
    for first in range(0, columns, layout.held):
        part = slice(first, min(first + layout.held, columns))
        at, length = 2 * first, part.stop - part.start
        result[:, at : at + length] = high[:, part]
        result[:, at + layout.held : at + layout.held + length] = low[:, part]
    return result


def unit_below(largest: float, limit: float) -> float:
    """Return the power of two that brings a number just below a limit.

    >>> unit_below(3.0, 64.0), unit_below(0.0, 64.0)
    (16.0, 1.0)
    """
    if largest <= 0.0:
        return 1.0
    return float(2.0 ** (frexp(limit)[1] - 1 - frexp(largest)[1]))


def lines_of(formula: Formula, unit: float, scale: float, *, is_steep: bool = False) -> list[str]:
    """Return the formula in terms of inner products, norms and offsets of split points.

    Points are in units of 1/``unit``, norms in those of the first scale, and the result is times
    ``scale``. Where it ``is_steep``, a point is exactly at distance 0 from itself (``is_same``).

    >>> from mercer import Gaussian, Linear
    >>> from mercer.engines.trace import formula_of
    >>> for line in lines_of(formula_of(Gaussian(2.0) * Linear()), 4.0, 0.5):
    ...     print(line)
    square = maximum(x_norm + y_norm - inner * 0.03125, 0.0)
    s0 = square
    s1 = inner * 0.0625 + (x_offset + y_offset)
    t0 = exp2(s0 * -0.7213475204444817)
    t1 = t0 * s1
    return t1 * 0.5
    """
    lines, first = [], norm_scale(formula)
    if formula.scales:
        twice = 2.0 * (unit * first) ** -2
        lines.append(f"square = maximum(x_norm + y_norm - inner * {twice!r}, 0.0)")
        lines.extend(["square = where(is_same, 0.0, square)"] if is_steep else [])
    for name, statistic in formula.inputs:
        if isinstance(statistic, str):
            lines.append(f"{name} = inner * {unit**-2!r} + (x_offset + y_offset)")
        elif isinstance(statistic, tuple) or statistic == first:
            lines.append(f"{name} = square")
        else:
            lines.append(f"{name} = square * {(first / statistic) ** 2!r}")
    return [*lines, *formula.lines, f"return {formula.result} * {scale!r}"]


def norm_scale(formula: Formula) -> float:
    """Return the first of the scales, 1 where lengths are in the points themselves."""
    scale = next(iter(formula.scales), 1.0)
    return 1.0 if isinstance(scale, tuple) else scale
