"""Points made ready for matrix products: centred, scaled, with their squared norms as columns.

Data in memory are prepared once. Data on disk are prepared part by part, when a tile asks.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.check import (
    Array,
    InvalidInput,
    Points,
    as_numpy,
    vectors,
)
from mercer.kernels.base import Kernel
from mercer.kernels.bounds import Arithmetic
from mercer.kernels.pairs import INNER, Scale, Statistic, Table
from mercer.points import (
    SparseRows,
    lies_on_disk,
    readings,
)

SMALLEST = float(np.nextafter(0.0, 1.0))


class Prepared:
    """Both sides of a table of pairs, and what an expression asks of them."""

    def __init__(self, kernel: Kernel, x: Points, y: Points | None, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.local = threading.local()
        survey = Survey(x, "x")
        other = survey if y is None else Survey(y, "y")
        self.uses: Counter[Statistic] = Counter(kernel.asks(survey.columns))
        self.x = Side(survey.points, survey.centre, self.uses, self.dtype)
        self.y = Side(other.points, survey.centre, self.uses, self.dtype, is_right=True)
        largest = {s: max(self.x.largest(s), self.y.largest(s)) for s in self.uses}
        self.arithmetic = Arithmetic(self.dtype, survey.columns, largest, kernel.is_steep)
        self.is_clipped = not kernel.is_smooth
        distances = [s for s in self.uses if not isinstance(s, str)]
        errors = [self.arithmetic.squares_error(scale) for scale in distances]
        if any(error > 2.0 * self.arithmetic.accuracy for error in errors):
            # Points many bandwidths apart: what rounding leaves of d² would show in any function.
            self.arithmetic = replace(self.arithmetic, is_recomputed=True)
            self.is_clipped = True

    @staticmethod
    def of(kernel: Kernel, x: Points, y: Points | None, dtype: Any) -> Prepared | None:
        """Return the prepared points of a fast expression, or None for any other."""
        if isinstance(x, SparseRows) or isinstance(y, SparseRows):
            return None
        if kernel.asks(1) is None or 0 in (len(x), 1 if y is None else len(y)):
            return None
        first = Table(x[:1], None if y is None else y[:1]).vectors
        if any(np.iscomplexobj(as_numpy(side)) for side in first):
            return None
        if not kernel.is_fast(first[0].shape[1]):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            prepared = Prepared(kernel, x, y, dtype)
        # Squares that overflow or underflow are left to the general path, which scales them first.
        limits = np.finfo(prepared.dtype)
        norms = [norm for norm in prepared.arithmetic.largest.values() if norm != 0.0]
        smallest, largest = 1e8 * float(limits.tiny), float(limits.max) / 8
        is_safe = all(smallest < norm < largest for norm in norms)
        return prepared if is_safe else None

    def buffer(self, key: Any, shape: tuple[int, int]) -> Array:
        """Return this thread's memory for one statistic of a tile."""
        kept = self.local.__dict__.setdefault("buffers", {})
        size = shape[0] * shape[1]
        if key not in kept or kept[key].size < size:
            kept[key] = np.empty(size, self.dtype)
        return kept[key][:size].reshape(shape)  # type: ignore[no-any-return]


class Survey:
    """Vectors that were checked once, how many coordinates they have, and their mean."""

    def __init__(self, points: Points, name: str) -> None:
        self.points = points if lies_on_disk(points) else as_numpy(vectors(points, name))
        total: Array | float = 0.0
        for rows in readings(self.points):
            total = total + vectors_at(self.points, rows, name).sum(axis=0)
        self.centre = np.asarray(total) / len(points)
        self.columns = self.centre.size


def vectors_at(points: Points, rows: slice, name: str = "x") -> Array:
    """Return some rows as doubles; those read from disk are checked, and refused by their row."""
    if not lies_on_disk(points):
        return np.asarray(points[rows])
    try:
        return as_numpy(vectors(np.asarray(points[rows]), name))
    except InvalidInput as error:
        raise InvalidInput(f"in the part that begins at row {rows.start}: {error}") from error


class Side:
    r"""One side of a matrix product whose entries are inner products or squared distances.

    .. math:: (a, \|a\|^2, 1) \cdot (-2b, 1, \|b\|^2) = \|a - b\|^2

    with a and b centred and in units of the scale.
    """

    def __init__(
        self,
        points: Points,
        centre: Array,
        statistics: Counter[Statistic],
        dtype: Any,
        *,
        is_right: bool = False,
    ) -> None:
        self.points, self.centre, self.dtype, self.is_right = points, centre, dtype, is_right
        self.local = threading.local()
        self.held: dict[Any, Array] | None = None
        if not lies_on_disk(points):
            everything = slice(0, len(points))
            self.held = {s: self._made(points[everything], s) for s in statistics}

    def at(self, rows: slice) -> Array:
        """Return the points themselves, as doubles."""
        return vectors_at(self.points, rows)

    def part(self, rows: slice, statistic: Any) -> Array:
        """Return what these rows contribute to the products of a statistic."""
        if self.held is not None:
            return self.held[statistic][rows]
        kept = self.local.__dict__.setdefault("parts", {})
        if kept.get("rows") != rows:
            kept.clear()
            kept["rows"] = rows
        if statistic not in kept:
            kept[statistic] = self._made(self.at(rows), statistic)
        made: Array = kept[statistic]
        return made

    def _made(self, points: Array, statistic: Any) -> Array:
        if statistic == INNER:
            return np.ascontiguousarray(points, self.dtype)
        a, norms = self._scaled(points, statistic)
        one = np.ones_like(norms)
        sides = (-2.0 * a, one, norms) if self.is_right else (a, norms, one)
        return np.hstack(sides).astype(self.dtype)

    def _scaled(self, points: Array, scale: Scale) -> tuple[Array, Array]:
        a = (points - self.centre) / np.asarray(scale)
        return a, np.einsum("ij,ij->i", a, a)[:, None]

    def largest(self, statistic: Any) -> float:
        """Return the largest squared norm among the points, as the statistic measures it.

        A square that underflows is the smallest number there is, not 0.
        """
        result = 0.0
        for rows in readings(self.points):
            points = self.at(rows)
            a = points if statistic == INNER else self._scaled(points, statistic)[0]
            norm = float(np.max(np.einsum("ij,ij->i", a, a), initial=0.0))
            result = max(result, norm if norm > 0 or not np.any(a) else SMALLEST)
        return result
