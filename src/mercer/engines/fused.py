r"""Products with a Gram matrix whose tiles never leave the registers of a GPU.

Operands are split into two numbers of half precision.
A half has 11 bits: :math:`x_h` is x up to :math:`2^{-11}|x|`, and :math:`x_h + x_l` up to
:math:`2^{-22}|x|`, where no exponent leaves the range; a power of two keeps the largest number of
an operand near the upper end of it. What is left out, :math:`x_l y_l`, is as small.

Tensor cores align the terms of a sum with the largest and cut them off there (Fasi, Higham,
Mikaitis and Pranesh, PeerJ Computer Science 7, e330, 2021): each addition loses at most
:math:`2^{-23}` of the largest number in it.

A squared distance is :math:`|x|^2 + |y|^2 - 2 x \cdot y`, whose error is relative to the norms: it
shows where bandwidths are far below them, or where many points are close and the kernel has a kink
at 0. On the line, where both are common, it was 1e-5 to 1e-4 of a product. So differences of `FEW`
coordinates are made by tensor cores instead, as :math:`x_h - y_h + x_l - y_l`, and squared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from math import frexp, inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from mercer.check import Array, chunks
from mercer.engines.tiles import Rounding, Tiles
from mercer.engines.trace import TracedFormula, traced_formula
from mercer.kernels.pairs import INNER, Scale
from mercer.kernels.statements import FUNCTION, Arithmetic, Bound, gamma
from mercer.progress import Progress

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

FEW = 3
"""Coordinates whose differences are as quick as inner products and norms.

Compiled for an H200 a Gaussian product has 1112, 1224 and 1352 instructions of one, two and three;
by inner products it has 1344.
"""


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


@dataclass(frozen=True)
class DifferenceArithmetic(SplitArithmetic):
    """Values of kernels from differences of split points, whose errors are those of distances."""

    @property
    def _gap_error(self) -> float:
        """Return a bound for the error of x - y, relative to the larger of |x| and |y|."""
        return sqrt(self.columns) * (2.0 * SPLIT + truncation(NARROW))

    @property
    def _square_error(self) -> float:
        """Return a bound for the error of |x - y|², relative to the larger of |x|² and |y|²."""
        # |x - y| ≤ 2|x|; `SPLIT` is 4 units of the single precision in which squares are added.
        return self._gap_error * (4.0 + self._gap_error) + 1.01 * (self.columns + 4) * SPLIT

    def inner(self) -> Bound:
        size = self.largest[INNER]
        # (|x|² + |y|² - |x - y|²)/2 of centred points, and what `SplitArithmetic` has of offsets.
        return Bound(
            size, (0.5 * self._square_error + 4.0 * SPLIT) * 4.0 * size + 16.0 * SPLIT * size
        )

    def squares_error(self, scale: Scale) -> float:
        return self._square_error * self.largest[scale]

    def distance_error(self, scale: Scale) -> float:
        rounding = (FUNCTION + self.columns) * self.unit * self.distance(scale)
        return self._gap_error * sqrt(self.largest[scale]) + rounding


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
    read as (l, h, h) there. In no part, each coordinate is (1, 1, h, l) on its own, read as
    (h, l, -1, -1) there, so that products are differences.
    """

    width: int
    held: int
    parts: int

    @staticmethod
    def of(columns: int, *, has_distances: bool = False) -> Layout:
        """Return the layout that asks for the fewest products, or for differences.

        >>> Layout.of(20), Layout.of(50)
        (Layout(width=64, held=64, parts=1), Layout(width=128, held=64, parts=2))
        >>> Layout.of(300)
        Layout(width=640, held=64, parts=3)
        >>> Layout.of(2), Layout.of(2, has_distances=True)
        (Layout(width=16, held=16, parts=1), Layout(width=32, held=16, parts=0))
        """
        if has_distances and columns <= FEW:
            return Layout(NARROW * columns, NARROW, 0)
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
    if layout.parts == 0:
        result[:, 0 :: layout.held] = result[:, 1 :: layout.held] = 1.0
        result[:, 2 :: layout.held], result[:, 3 :: layout.held] = high, low
        return result
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


def lines_of(
    formula: TracedFormula,
    unit: float,
    scale: float,
    *,
    is_steep: bool = False,
    has_differences: bool = False,
) -> list[str]:
    """Return the formula in terms of sums, norms and offsets of split points.

    Sums are of products of coordinates, or of squares where it ``has_differences``. Points are in
    units of 1/``unit``, norms in those of the first scale, and the result is times ``scale``.
    Where it ``is_steep``, a point is exactly at distance 0 from itself (``is_same``).

    >>> from mercer import Gaussian, Linear
    >>> from mercer.engines.trace import traced_formula
    >>> for line in lines_of(traced_formula(Gaussian(2.0) * Linear()), 4.0, 0.5):
    ...     print(line)
    square = maximum(x_norm + y_norm - sums * 0.03125, 0.0)
    s0 = square
    s1 = sums * 0.0625 + (x_offset + y_offset)
    t0 = exp2(s0 * -0.7213475204444817)
    t1 = t0 * s1
    return t1 * 0.5
    """
    lines, first = [], norm_scale(formula)
    inner, unit_squared = f"sums * {unit**-2!r}", (unit * first) ** -2
    if has_differences:
        lines.append(f"square = sums * {unit_squared!r}")
        inner = f"(x_norm + y_norm - square) * {0.5 * first**2!r}"
    elif formula.scales:
        lines.append(f"square = maximum(x_norm + y_norm - sums * {2.0 * unit_squared!r}, 0.0)")
    if formula.scales and is_steep:
        lines.append("square = where(is_same, 0.0, square)")
    for name, statistic in formula.inputs:
        if isinstance(statistic, str):
            lines.append(f"{name} = {inner} + (x_offset + y_offset)")
        elif isinstance(statistic, tuple) or statistic == first:
            lines.append(f"{name} = square")
        else:
            lines.append(f"{name} = square * {(first / statistic) ** 2!r}")
    return [*lines, *formula.lines, f"return {formula.result} * {scale!r}"]


def norm_scale(formula: TracedFormula) -> float:
    """Return the first of the scales, 1 where lengths are in the points themselves."""
    scale = next(iter(formula.scales), 1.0)
    return 1.0 if isinstance(scale, tuple) else scale


TERMS = 256
"""Terms that tensor cores add before a sum is rounded: longer ones lose too much."""

FEWEST, MOST = 16, 32
"""Vectors that are multiplied at once; more are taken in turn."""

ENTRIES = 2**40
"""Entries of a matrix that are computed in about a second, between which Ctrl-C is heard."""

PROGRAMS = 2048
"""Blocks of rows and shares of columns that keep a GPU busy."""

PREPARED_ROWS = 2**18
"""Points that are split at a time."""


@dataclass(frozen=True)
class Launch:
    """The shape of the tiles in registers, and how many warps and buffers they have.

    128 × 64 were the fastest of sixteen shapes on an H200, for 16 vectors and for 32.
    """

    rows: int = 128
    columns: int = 64
    warps: int = 4
    stages: int = 3


class Split(NamedTuple):
    """Vectors as halves, columns of zeros among them, and the units of what is asked for."""

    halves: Any
    units: Any


def has_triton() -> bool:
    """Whether the compiler of such products is there."""
    return find_spec("triton") is not None


class Fused:
    """The product of one Gram matrix, from points that lie on a device as halves."""

    def __init__(self, torch: Any, tiles: Tiles, formula: TracedFormula, bound: Bound) -> None:
        assert tiles.prepared is not None
        self.torch, self.formula, self.bound, self.shape = torch, formula, bound, tiles.shape
        self.is_steep = tiles.is_symmetric and tiles.kernel.is_steep
        self.count = tiles.prepared.arithmetic.columns
        self.layout = Layout.of(self.count, has_distances=bool(formula.scales))

    @staticmethod
    def of(torch: Any, tiles: Tiles) -> Fused | None:
        """Return the product of tiles in single precision, None where it is not of this form."""
        prepared = tiles.prepared
        if prepared is None or not tiles.single or 0 in tiles.shape:
            return None
        formula = traced_formula(tiles.kernel)
        if formula is None or not _has_one_geometry(formula) or not _is_in_memory(tiles):
            return None
        known = prepared.arithmetic
        has_differences = bool(formula.scales) and known.columns <= FEW
        kind = DifferenceArithmetic if has_differences else SplitArithmetic
        bound = tiles.kernel.bounds(kind(known.dtype, known.columns, known.largest))
        if bound is None or not split_rounding(bound, tiles.shape[1], TERMS).product < bound.value:
            return None
        return Fused(torch, tiles, formula, bound)

    @property
    def rounding(self) -> Rounding:
        """Bounds for what these products round."""
        return split_rounding(self.bound, self.shape[1], TERMS)

    def prepare(self, x: Any, y: Any, centre: Array) -> None:
        """Split the points of both sides, which are doubles on the device."""
        centre = self.torch.as_tensor(centre, device=x.device)
        scale = next(iter(self.formula.scales), 1.0)
        lengths = 1.0
        if isinstance(scale, tuple):
            lengths = self.torch.as_tensor(scale, dtype=x.dtype, device=x.device)
        largest = max(
            float(((side[rows] - centre) / lengths).abs().max())
            for side in ((x,) if y is x else (x, y))
            for rows in chunks(len(side), PREPARED_ROWS)
        )
        self.unit = unit_below(largest, LARGEST_COORDINATE)
        self.right = self._side(y, centre, lengths)
        self.left = self.right if y is x else self._side(x, centre, lengths)

    def _side(self, points: Any, centre: Any, lengths: Any) -> tuple[Any, ...]:
        """Return the halves, squared norms and offsets of a side, with rows of zeros at its end."""
        torch, n = self.torch, len(points)
        height = n + -n % TERMS
        shape, place = (height, self.layout.width), points.device
        both = torch.zeros(shape, dtype=torch.float16, device=place)
        norms, offsets = (torch.zeros(height, device=place) for _ in range(2))
        length = self.unit * norm_scale(self.formula)
        for rows in chunks(n, PREPARED_ROWS):
            gaps = points[rows] - centre
            a = self.unit * gaps / lengths
            high, low = halves(torch, a)
            both[rows] = laid_out(torch, high, low, self.layout)
            split = high.to(a.dtype) + low.to(a.dtype)
            norms[rows] = ((split / length) ** 2).sum(dim=1).to(torch.float32)
            offsets[rows] = (gaps @ centre + 0.5 * centre @ centre).to(torch.float32)
        return both, norms, offsets

    @cached_property
    def _formula(self) -> tuple[Any, Any]:
        """The formula as triton compiles it, and its constants on the device."""
        from mercer.engines.triton_products import compile_formula

        settings = {"is_steep": self.is_steep, "has_differences": self.layout.parts == 0}
        lines = lines_of(self.formula, self.unit, self._value_unit, **settings)
        function, constants = compile_formula(lines)
        place = {"dtype": self.torch.float32, "device": self.left[0].device}
        return function, self.torch.tensor([*constants, 0.0], **place)

    @property
    def _value_unit(self) -> float:
        return unit_below(self.bound.value + self.bound.error, LARGEST_VALUE)

    def product(self, vectors: Any, progress: Progress | None = None) -> Any:
        """Return K V for doubles on the device."""
        parts = list(self._parts(vectors.shape[1]))
        is_whole = len(parts) == 1 and vectors.shape[1] == _width(vectors)
        total = None if is_whole else vectors.new_empty((self.shape[0], vectors.shape[1]))
        split = None
        for done, (rows, columns) in enumerate(parts, 1):
            if split is None or rows.start == 0:
                split = self.split(vectors[:, columns])
            images = self.part(split, rows)
            if total is not None:
                total[rows, columns] = images
            if len(parts) > 1:
                self._wait(vectors.device)
            if progress is not None:
                progress(done, len(parts))
        return images if total is None else total

    @property
    def launch(self) -> Launch:
        """Return the tiles in registers, which coordinates that are not held leave less room."""
        return Launch() if self.layout.parts <= 2 else Launch(columns=32, stages=2)

    def split(self, vectors: Any) -> Split:
        """Return the halves of at most `MOST` vectors, some rows at a time: high ones, then low."""
        torch, count, width = self.torch, vectors.shape[1], _width(vectors)
        units = _units(torch, vectors)
        shape = len(self.right[0]), 2 * width
        V = torch.zeros(shape, dtype=torch.float16, device=vectors.device)
        for rows in chunks(len(vectors), PREPARED_ROWS):
            V[rows, :count], V[rows, width : width + count] = halves(torch, vectors[rows] * units)
        return Split(V, units * self._value_unit)

    def part(self, split: Split, rows: slice) -> Any:
        """Return some rows of K V."""
        from mercer.engines.triton_products import product

        torch, launch = self.torch, self.launch
        (V, units), width = split, split.halves.shape[1] // 2
        X, x_norms, x_offsets = (part[rows] for part in self.left)
        Y, y_norms, y_offsets = self.right
        height, columns = rows.stop - rows.start, len(Y)
        blocks = -(-height // launch.rows)
        shares = max(1, min(columns // TERMS, PROGRAMS // blocks))
        span = TERMS * -(-columns // (TERMS * shares))
        shares = -(-columns // span)
        result = torch.empty((shares, height, width), dtype=torch.float64, device=V.device)
        function, constants = self._formula
        product[(blocks, shares)](
            X, Y, x_norms, y_norms, x_offsets, y_offsets, V, result, constants,
            height, span, columns, rows.start, self.count, function,
            self.layout.width, self.layout.held, self.layout.parts, width,
            launch.rows, launch.columns, TERMS,
            num_warps=launch.warps, num_stages=launch.stages,
        )  # fmt: skip
        total = (result[0] if shares == 1 else result.sum(dim=0))[:, : len(units)]
        total /= units
        return total

    def _parts(self, count: int) -> Iterator[tuple[slice, slice]]:
        n, m = self.shape
        height = PREPARED_ROWS * max(1, ENTRIES // (m * PREPARED_ROWS))
        for columns in chunks(count, MOST):
            for rows in chunks(n, height):
                yield rows, columns

    def _wait(self, device: Any) -> None:
        if device.type == "cuda":
            self.torch.cuda.synchronize(device)


def _width(vectors: Any) -> int:
    """Return how many vectors are multiplied with so many, the others being zeros."""
    return FEWEST if vectors.shape[1] <= FEWEST else MOST


def _units(torch: Any, vectors: Any) -> Any:
    """Return the powers of two that bring the largest entry of each column near its limit."""
    largest = vectors.abs().amax(dim=0)
    _, exponents = torch.frexp(torch.where(largest > 0, largest, 1.0))
    return torch.ldexp(torch.ones_like(largest), frexp(LARGEST_VALUE)[1] - 1 - exponents)


def _has_one_geometry(formula: TracedFormula) -> bool:
    """Whether all it asks for follows from one matrix of inner products."""
    has_lengths = any(isinstance(scale, tuple) for scale in formula.scales)
    return bool(formula.inputs) and (len(formula.inputs) == 1 or not has_lengths)


def _is_in_memory(tiles: Tiles) -> bool:
    prepared = tiles.prepared
    return prepared is not None and prepared.x.is_held and prepared.y.is_held
