"""What sweeps by numpy tell of each place: leverage, residual, and what either side knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from weakref import finalize

import numpy as np

from mercer.check import Array, chunks
from mercer.regression.information import (
    Known,
    carried,
    joint_determinant,
    left_out,
    observed,
    six,
)
from mercer.regression.stretches import Stretches, fill_powers, room

AT_ONCE = 2**15
"""Rates are swept together up to so many of them times places."""

READ = 2**13
"""So many places, times rates, are read off at once."""

POWERS = (1, 3), (1, 2), (1, 1), (2, 4), (1, 3), (1, 2)
"""The powers of q and h that make numbers without dimension of a, m, c, d, u and v."""

SLOWEST = 1e-20
"""At this rate a curve is the least squares line, in double precision."""


@dataclass(frozen=True)
class Sweeps:
    """What both sides know of each place, for many rates.

    ``known`` holds (qh³a, qh²m, qhc, q²h⁴d, qh³u, qh²v), with the gap h behind a place as the unit,
    by blocks, steps, these numbers, rates, and directions with stretches. Values, and so u and v,
    are multiples of the line's unit.
    """

    line: Stretches
    q: Array
    known: Array

    def __post_init__(self) -> None:
        # Fresh memory is slow: that of sweeps nobody holds any more serves the next.
        finalize(self, self.line.give_back, self.known).atexit = False

    def seen_from(self, way: int) -> Array:
        """Return what is known from one side by blocks, steps, numbers, rates and stretches."""
        return self.line.in_order(self.known[:, :-1], way)

    @cached_property
    def places(self) -> Array:
        """One minus the leverages, the leverages and the residuals, for each rate."""
        line, q = self.line, self.q
        found = room((3, q.size, line.blocks, line.side, line.length))
        from_left, from_right = (self.seen_from(way) for way in (0, 1))
        ratios, weights = (line.in_order(part, 0) for part in (line.ratios, line.weights))
        some = max(1, READ // (q.size * line.length))
        for block, part in product(range(line.blocks), chunks(line.side, some)):
            here = block, slice(None), None, part
            powers = np.empty((4, line.length, 1, part.stop - part.start))
            fill_powers(ratios[here], out=powers)
            # Both in units of the gap on the right.
            left, right = (np.moveaxis(k[block, ..., part], 1, 0) for k in (from_left, from_right))
            ahead = six(number * powers[k % 4] for k, number in enumerate(left))
            read = _read(ahead, six(right), weights[here] * q, line.values[here])
            for numbers, into, unit in zip(read, found, (1.0, 1.0, line.unit), strict=True):
                np.multiply(numbers.transpose(1, 2, 0), unit, out=into[:, block, part])
        return found.reshape(3, q.size, -1)[..., : line.size]

    def side(self, number: int, way: int) -> Known[Array]:
        """Return what one side knows of each place at one rate."""
        q, gaps, unit = self.q[number, 0], self.line.gaps[way], self.line.unit
        known = self.seen_from(way)[:, :, :, number]
        numbers = (known[:, :, k] / (q**p * gaps**r) for k, (p, r) in enumerate(POWERS))
        in_order = (part.swapaxes(1, 2).reshape(-1)[: self.line.size] for part in numbers)
        a, m, c, d, u, v = in_order
        return a, m, c, d, unit * u, unit * v


def _read(
    left: Known[Array], right: Known[Array], w: Array, y: Array
) -> tuple[Array, Array, Array]:
    """Return one minus the leverage, the leverage and the residual of observations."""
    without = joint_determinant(left, right)
    determinant, residuals = left_out(left, right, without, w, y)
    return without / determinant, w * (left[2] + right[2]) / determinant, residuals


@dataclass(frozen=True)
class Swept:
    """One rate of many that were swept together, place by place."""

    sweeps: Sweeps
    number: int

    @property
    def left(self) -> Known[Array]:
        return self.sweeps.side(self.number, 0)

    @property
    def right(self) -> Known[Array]:
        return self.sweeps.side(self.number, 1)

    @property
    def remainders(self) -> Array:
        return np.asarray(self.sweeps.places[0, self.number])

    @property
    def leverages(self) -> Array:
        return np.asarray(self.sweeps.places[1, self.number])

    @property
    def residuals(self) -> Array:
        return np.asarray(self.sweeps.places[2, self.number])

    @property
    def log_ratios(self) -> float:
        gaps, weights, values = self.sweeps.line.line
        after = observed(self.left, weights, values)
        rate = np.asarray(self.sweeps.q[self.number, 0])
        _, ratios = carried(six(part[:-1] for part in after), gaps, rate)
        return float(np.log(ratios).sum())


def swept(line: Stretches, rates: Array) -> list[Swept]:
    """Return what both sides know of each place, for each rate."""
    q = np.maximum(rates, SLOWEST)[:, None]
    known = line.borrowed((line.blocks, line.length + 1, 6, q.size, 2 * line.side))
    known[:, 0, :4] = line.beginnings(q)
    line.sweep(q, known)
    sweeps = Sweeps(line, q, known)
    return [Swept(sweeps, number) for number in range(q.size)]
