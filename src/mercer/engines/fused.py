"""Products with a Gram matrix whose tiles never leave the registers of a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from mercer.check import Array, chunks
from mercer.engines.split import (
    LARGEST_COORDINATE,
    LARGEST_VALUE,
    Layout,
    SplitArithmetic,
    halves,
    laid_out,
    lines_of,
    norm_scale,
    split_rounding,
    unit_below,
)
from mercer.engines.tiles import Rounding, Tiles
from mercer.engines.trace import Formula, formula_of
from mercer.kernels.statements import Bound
from mercer.progress import Progress

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


def has_triton() -> bool:
    """Whether the compiler of such products is there."""
    return find_spec("triton") is not None


class Fused:
    """The product of one Gram matrix, from points that lie on a device as halves."""

    def __init__(self, torch: Any, tiles: Tiles, formula: Formula, bound: Bound) -> None:
        assert tiles.prepared is not None
        self.torch, self.formula, self.bound, self.shape = torch, formula, bound, tiles.shape
        self.is_steep = tiles.is_symmetric and tiles.kernel.is_steep
        self.count = tiles.prepared.arithmetic.columns
        self.layout = Layout.of(self.count)

    @staticmethod
    def of(torch: Any, tiles: Tiles) -> Fused | None:
        """Return the product of tiles in single precision, None where it is not of this form."""
        prepared = tiles.prepared
        if prepared is None or not tiles.single or 0 in tiles.shape:
            return None
        formula = formula_of(tiles.kernel)
        if formula is None or not _has_one_geometry(formula) or not _is_in_memory(tiles):
            return None
        arithmetic = prepared.arithmetic
        split = SplitArithmetic(arithmetic.dtype, arithmetic.columns, arithmetic.largest)
        bound = tiles.kernel.bounds(split)
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
        from mercer.engines.triton_products import compiled

        lines = lines_of(self.formula, self.unit, self._value_unit, is_steep=self.is_steep)
        function, constants = compiled(lines)
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
        for done, (rows, columns) in enumerate(parts, 1):
            images = self.part(vectors[:, columns], rows)
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

    def part(self, vectors: Any, rows: slice) -> Any:
        """Return some rows of K V, for at most `MOST` vectors."""
        from mercer.engines.triton_products import product

        torch, launch, width = self.torch, self.launch, _width(vectors)
        units = _units(torch, vectors)
        X, x_norms, x_offsets = (part[rows] for part in self.left)
        Y, y_norms, y_offsets = self.right
        height, columns = rows.stop - rows.start, len(Y)
        V = self._split_vectors(vectors, units, (columns, 2 * width))
        blocks = -(-height // launch.rows)
        shares = max(1, min(columns // TERMS, PROGRAMS // blocks))
        span = TERMS * -(-columns // (TERMS * shares))
        shares = -(-columns // span)
        result = torch.empty((shares, height, width), dtype=torch.float64, device=vectors.device)
        function, constants = self._formula
        product[(blocks, shares)](
            X, Y, x_norms, y_norms, x_offsets, y_offsets, V, result, constants,
            height, span, columns, rows.start, self.count, function,
            self.layout.width, self.layout.held, self.layout.parts, width,
            launch.rows, launch.columns, TERMS,
            num_warps=launch.warps, num_stages=launch.stages,
        )  # fmt: skip
        total = (result[0] if shares == 1 else result.sum(dim=0))[:, : vectors.shape[1]]
        total /= units * self._value_unit
        return total

    def _split_vectors(self, vectors: Any, units: Any, shape: tuple[int, int]) -> Any:
        """Return the halves of vectors, some rows at a time: high ones, then low ones."""
        torch, count, width = self.torch, vectors.shape[1], shape[1] // 2
        V = torch.zeros(shape, dtype=torch.float16, device=vectors.device)
        for rows in chunks(len(vectors), PREPARED_ROWS):
            V[rows, :count], V[rows, width : width + count] = halves(torch, vectors[rows] * units)
        return V

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
    _, limit = torch.frexp(torch.as_tensor(LARGEST_VALUE))
    return torch.ldexp(torch.ones_like(largest), limit.to(largest.device) - 1 - exponents)


def _has_one_geometry(formula: Formula) -> bool:
    """Whether all it asks for follows from one matrix of inner products."""
    has_lengths = any(isinstance(scale, tuple) for scale in formula.scales)
    return bool(formula.inputs) and (len(formula.inputs) == 1 or not has_lengths)


def _is_in_memory(tiles: Tiles) -> bool:
    prepared = tiles.prepared
    return prepared is not None and prepared.x.is_held and prepared.y.is_held
