"""A Gram matrix cut into tiles, each computed from its own points when it is asked for.

Kernels that are functions of inner products and squared distances are evaluated on prepared
points: one matrix product for each tile, whatever the expression, in buffers that are used again.
Points in memory are prepared once: centred, scaled, with their squared norms as columns. Points on
disk are prepared part by part, when a tile asks.
"""

from __future__ import annotations

import threading
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from mercer.check import Array, Points, as_numpy, chunks, vectors
from mercer.engines.held import Held, to_host
from mercer.engines.limits import Limits
from mercer.errors import InvalidInput
from mercer.kernels.base import Kernel
from mercer.kernels.counts import Factors, factors, is_worthwhile, remember_counts
from mercer.kernels.pairs import INNER, AllPairs, Scale, Statistic
from mercer.kernels.point_pairs import GAPS
from mercer.kernels.statements import Arithmetic, Bound, gamma
from mercer.points import SparseRows, lies_on_disk, over_parts


class Block(NamedTuple):
    """The rows and columns of a tile."""

    rows: slice
    columns: slice

    @property
    def is_diagonal(self) -> bool:
        return self.rows == self.columns


class Grid(Sequence[Block]):
    """The blocks of a matrix, row after row, or those on and above the diagonal.

    Each is made when it is asked for: of a million points there are more than a million.

    >>> [(b.rows.start, b.columns.start) for b in Grid((5, 5), 3, is_upper=True)]
    [(0, 0), (0, 3), (3, 3)]
    """

    def __init__(self, shape: tuple[int, int], size: int, *, is_upper: bool) -> None:
        self.rows, self.columns = (list(chunks(length, size)) for length in shape)
        self.is_upper = is_upper
        widths = (len(self.columns) - (i if is_upper else 0) for i in range(len(self.rows)))
        self.starts = [0, *accumulate(widths)]

    def __len__(self) -> int:
        return self.starts[-1]

    def __getitem__(self, number: Any) -> Any:
        i = bisect(self.starts, number) - 1
        j = number - self.starts[i] + (i if self.is_upper else 0)
        return Block(self.rows[i], self.columns[j])


class Tiles:
    """The matrix k(x, y), or k(x) of which only the upper triangle is computed.

    ``single`` asks for tiles in single precision, at which fast expressions are computed. Products
    add up so many ``terms`` in the precision of the tiles, and these sums in double precision.
    Tiles are computed again for every pass, except those that `keep` found room for. A ``sibling``
    of the other precision has already looked at the points. ``sums`` is how many sums of other
    machines an engine adds up besides.
    """

    sums = 0

    def __init__(
        self,
        kernel: Kernel,
        x: Points,
        y: Points | None = None,
        *,
        size: int = Limits.tile,
        single: bool = False,
        terms: int | None = None,
        sibling: Tiles | None = None,
    ) -> None:
        self.is_symmetric = y is None
        if kernel.is_counted:
            x, other = remember_counts(x, y)  # what points count is found once, not for every tile
            y = None if y is None else other
        self.kernel, self.there, self.size = kernel, (x, x if y is None else y), size
        self.shape = len(x), len(self.there[1])
        self.single = single
        self.terms = min(size, size if terms is None else terms)
        known = None if sibling is None else sibling.prepared
        dtype = np.float32 if single else np.float64
        self.prepared: Prepared | None = Prepared.of(kernel, x, y, dtype, known)
        self.room = 0
        self._kept: dict[tuple[int, int], Array] = {}
        self._lock = threading.Lock()
        self.dtype = self._dtype()

    @cached_property
    def x(self) -> Points:
        """The points of the rows, for whoever is no engine of the device on which they lie."""
        return self._for_formulas(self.there[0])

    @cached_property
    def y(self) -> Points:
        """The points of the columns, likewise."""
        return self.x if self.is_symmetric else self._for_formulas(self.there[1])

    def _for_formulas(self, points: Points) -> Points:
        """Return points for a formula that the host computes: a copy of those on a device."""
        is_copied = self.prepared is None and isinstance(points, Held)
        return to_host(points) if is_copied else points

    @cached_property
    def factors(self) -> Factors | None:
        """The matrix as a product of thin sparse ones, where multiplying by these is cheaper."""
        if self.prepared is not None:
            return None
        if not (self.kernel.is_counted or isinstance(self.there[0], SparseRows)):
            return None
        found = factors(self.kernel, self.x, None if self.is_symmetric else self.y)
        is_cheap = found is not None and is_worthwhile(found, self.shape)
        return found if is_cheap else None

    def _dtype(self) -> Any:
        """Return the type of the tiles, complex for a complex kernel."""
        if self.prepared is not None or 0 in self.shape:
            return np.dtype(np.float32 if self.single else np.float64)
        x, y = (self._for_formulas(side[:1]) for side in self.there)
        return self._values(x, None if self.is_symmetric else y).dtype

    def rows(self, x: Points) -> Tiles:
        """Return the tiles of some of the points with all of the others, prepared as these were."""
        part = copy(self)
        for known in ("x", "y", "factors"):  # of the whole
            part.__dict__.pop(known, None)
        part.is_symmetric, part.there, part.shape = (
            False,
            (x, self.there[1]),
            (len(x), self.shape[1]),
        )
        part.prepared = None if self.prepared is None else self.prepared.rows(x)
        part.room, part._kept, part._lock = 0, {}, threading.Lock()
        return part

    def blocks(self, size: int | None = None) -> Sequence[Block]:
        """Return the blocks that are computed, row after row, of another size than the tiles'."""
        return Grid(self.shape, size or self.size, is_upper=self.is_symmetric)

    def keep(self, room: int) -> None:
        """Let computed tiles be kept for later passes, up to so many bytes in all.

        None are, where those would be too few to save time.
        """
        all_of_them = np.dtype(self.dtype).itemsize * self.shape[0] * self.shape[1]
        is_enough = room >= Limits.kept_share * all_of_them
        with self._lock:
            self.room = room - self.kept_bytes if is_enough else 0

    @property
    def kept_bytes(self) -> int:
        """The memory of the tiles that were kept."""
        return sum(tile.nbytes for tile in self._kept.values())

    def tile(self, block: Block) -> Array:
        """Return the values of a block, valid until this thread asks for the next one."""
        place = block.rows.start, block.columns.start
        kept = self._kept.get(place) if self._kept else None
        if kept is not None and kept.shape == _extent(block):
            return kept
        values = self._computed(block)
        if self.room >= values.nbytes:
            with self._lock:
                has_room = self.room >= values.nbytes
                self.room -= values.nbytes if has_room else 0
            if has_room:
                self._kept[place] = values.copy()
        return values

    def _computed(self, block: Block) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):  # `Gram` looks at what comes out
            if self.prepared is not None:
                return self.kernel.evaluate(PreparedTable(self.prepared, block, self.is_symmetric))
            diagonal = self.is_symmetric and block.is_diagonal
            return self._values(self.x[block.rows], None if diagonal else self.y[block.columns])

    def _values(self, x: Points, y: Points | None) -> Array:
        """Return the formula's values, in single precision where tiles are in single precision."""
        values = as_numpy(self.kernel.evaluate(AllPairs(x, y)))
        is_wide = self.single and values.dtype == np.float64
        return values.astype(np.float32) if is_wide else values


def _extent(block: Block) -> tuple[int, int]:
    rows, columns = block
    return rows.stop - rows.start, columns.stop - columns.start


SMALLEST = float(np.nextafter(0.0, 1.0))


class Recipe(NamedTuple):
    """How points are prepared: what parts of them elsewhere need to be prepared alike."""

    dtype: Any
    centre: Array
    uses: Counter[Statistic]
    arithmetic: Arithmetic
    is_clipped: bool


class Prepared:
    """Both sides of a table of pairs, and what an expression asks of them."""

    def __init__(
        self, kernel: Kernel, x: Points, y: Points | None, dtype: Any, known: Prepared | None
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.local = threading.local()
        if known is None:
            survey = Survey(x, "x")
            other = survey if y is None else Survey(y, "y")
        else:
            survey, other = known.surveys
        self.surveys: tuple[Survey, Survey] = survey, other
        self.centre = survey.centre
        self.uses: Counter[Statistic] = Counter(kernel.asks(survey.columns))
        self._set_sides(survey.points, other.points)
        sides = (self.x,) if y is None else (self.x, self.y)
        if known is None:
            largest = {s: max(side.largest(s) for side in sides) for s in self.uses}
        else:
            largest = known.largest
        self.largest: dict[Statistic, float] = largest
        self.arithmetic: Arithmetic = Arithmetic(
            self.dtype, survey.columns, largest, kernel.is_steep
        )
        self.is_clipped = not kernel.is_smooth
        distances = [s for s in self.uses if not isinstance(s, str)]
        errors = [self.arithmetic.squares_error(scale) for scale in distances]
        if any(error > 2.0 * self.arithmetic.accuracy for error in errors):
            # Points many bandwidths apart: what rounding leaves of d² would show in any function.
            self.arithmetic = replace(self.arithmetic, is_recomputed=True)
            self.is_clipped = True

    def _set_sides(self, x: Points, y: Points) -> None:
        self.x = Side(x, self.centre, self.uses, self.dtype)
        self.y = Side(y, self.centre, self.uses, self.dtype, is_right=True)

    @property
    def recipe(self) -> Recipe:
        """How the points were prepared."""
        return Recipe(self.dtype, self.centre, self.uses, self.arithmetic, self.is_clipped)

    def rows(self, x: Points) -> Prepared:
        """Return some of the points of the left side against all of the right one."""
        part = type(self).alike(self.recipe, np.zeros((0, 0)))
        part.x, part.y = Side(x, self.centre, self.uses, self.dtype), self.y
        return part

    @classmethod
    def alike(cls, recipe: Recipe, x: Array, y: Array | None = None) -> Prepared:
        """Return some points in memory, prepared as those of a larger table were."""
        part = cls.__new__(cls)
        part.dtype, part.centre, part.uses, part.arithmetic, part.is_clipped = recipe
        part.local = threading.local()
        part._set_sides(x, x if y is None else y)
        return part

    @staticmethod
    def of(
        kernel: Kernel, x: Points, y: Points | None, dtype: Any, known: Prepared | None = None
    ) -> Prepared | None:
        """Return the prepared points of a fast expression, or None for any other."""
        if isinstance(x, SparseRows) or isinstance(y, SparseRows):
            return None
        if kernel.asks(1) is None or 0 in (len(x), 1 if y is None else len(y)):
            return None
        sides = [x] if y is None else [x, y]
        first = AllPairs(*(to_host(s[:1]) if isinstance(s, Held) else s[:1] for s in sides)).vectors
        if any(np.iscomplexobj(as_numpy(side)) for side in first):
            return None
        if not kernel.is_fast(first[0].shape[1]):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            prepared = Prepared(kernel, x, y, dtype, known)
        # Squares that overflow or underflow are left to the general path, which scales them first.
        limits = np.finfo(prepared.dtype)
        norms = [norm for norm in prepared.arithmetic.largest.values() if norm != 0.0]
        smallest, largest = 1e8 * float(limits.tiny), float(limits.max) / 8
        is_safe = all(smallest < norm < largest for norm in norms)
        return prepared if is_safe else None

    def buffer(self, key: Any, shape: tuple[int, int]) -> Array:
        """Return this thread's memory for one statistic of a tile."""
        kept = self.local.__dict__.setdefault("buffers", {})
        size, place = shape[0] * shape[1], (key, self.dtype.char)
        if place not in kept or kept[place].size < size:
            kept[place] = np.empty(size, self.dtype)
        return kept[place][:size].reshape(shape)  # type: ignore[no-any-return]


class Survey:
    """Vectors that were checked once, how many coordinates they have, and their mean."""

    def __init__(self, points: Points, name: str) -> None:
        if isinstance(points, Held):  # examined where it lies
            self.points: Points = points.astype(np.float64, copy=False)
            self.centre: Array = np.asarray(self.points.sum(axis=0)) / len(points)
            self.columns = self.centre.size
            return
        self.points = points if lies_on_disk(points) else as_numpy(vectors(points, name))
        is_held = not lies_on_disk(points)

        def sums(part: Points, rows: slice) -> Array:
            x = np.asarray(part) if is_held else _checked(part, rows, name)
            return np.asarray(x.sum(axis=0))

        total: Array | float = 0.0
        for _, part in over_parts(self.points, sums):
            total = total + part
        self.centre = np.asarray(total) / len(points)
        self.columns = self.centre.size


def vectors_at(points: Points, rows: slice, name: str = "x") -> Array:
    """Return some rows as doubles; those read from disk are checked, and refused by their row."""
    if isinstance(points, Held):
        return to_host(points[rows])
    return _checked(points[rows], rows, name) if lies_on_disk(points) else np.asarray(points[rows])


def _checked(part: Points, rows: slice, name: str = "x") -> Array:
    try:
        return as_numpy(vectors(np.asarray(part), name))
    except InvalidInput as error:
        raise InvalidInput(f"in the part that begins at row {rows.start}: {error}") from error


class Side:
    r"""One side of a matrix product whose entries are inner products or squared distances.

    .. math:: (a, \|a\|^2, 1) \cdot (-2b, 1, \|b\|^2) = \|a - b\|^2

    with a and b centred and in units of the scale. Rows are numbered from ``first`` on.
    """

    def __init__(
        self,
        points: Points,
        centre: Array,
        statistics: Counter[Statistic],
        dtype: Any,
        *,
        is_right: bool = False,
        first: int = 0,
    ) -> None:
        self.points, self.centre, self.dtype, self.is_right = points, centre, dtype, is_right
        self.first = first
        self.local = threading.local()
        self.is_held = not lies_on_disk(points)
        self._statistics = statistics
        self._held: dict[Any, Array] | None = None
        self._lock = threading.Lock()

    @property
    def held(self) -> dict[Any, Array]:
        """What all points in memory contribute to each statistic, made by the first to ask."""
        if self._held is None:
            with self._lock:
                if self._held is None:
                    everything = vectors_at(self.points, slice(None))
                    self._held = {s: self._made(everything, s) for s in self._statistics}
        return self._held

    @held.setter
    def held(self, made: dict[Any, Array]) -> None:
        self._held = made

    def at(self, rows: slice) -> Array:
        """Return the points themselves, as doubles."""
        return vectors_at(self.points, self._own(rows))

    def _own(self, rows: slice) -> slice:
        return slice(rows.start - self.first, rows.stop - self.first) if self.first else rows

    def part(self, rows: slice, statistic: Any) -> Array:
        """Return what these rows contribute to the products of a statistic."""
        if self.is_held:
            return self.held[statistic][self._own(rows)]
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
        n, d = points.shape
        made = np.empty((n, d + 2), self.dtype)
        # The right side is (-2b, 1, |b|²), and what is between stays in the cache.
        factor, one, square = (-2.0, d, d + 1) if self.is_right else (1.0, d + 1, d)
        made[:, one] = 1.0
        for rows in chunks(n, max(1, Limits.prepared // max(d, 1))):
            a, norms = self._scaled(points[rows], statistic)
            made[rows, square] = norms
            made[rows, :d] = np.multiply(a, factor, out=a)
        return made

    def _scaled(self, points: Array, scale: Scale) -> tuple[Array, Array]:
        a = (points - self.centre) / np.asarray(scale)
        return a, _squared_norms(a)

    def largest(self, statistic: Any) -> float:
        """Return the largest squared norm among the points, as the statistic measures it.

        A square that underflows is the smallest number there is, not 0.
        """
        centre, is_held = self.centre, self.is_held
        if isinstance(self.points, Held):
            is_inner = statistic == INNER
            return self.points.largest_square(*((0.0, 1.0) if is_inner else (centre, statistic)))

        def largest_of(part: Points, rows: slice) -> float:
            a = np.asarray(part) if is_held else _checked(part, rows)
            a = a if statistic == INNER else (a - centre) / np.asarray(statistic)
            norm = float(np.max(_squared_norms(a), initial=0.0))
            return norm if norm > 0 or not np.any(a) else SMALLEST

        return max((norm for _, norm in over_parts(self.points, largest_of)), default=0.0)


def _squared_norms(a: Array) -> Array:
    norms: Array = np.einsum("ij,ij->i", a, a)
    return norms


NO_POINTS = np.empty(0)


class PreparedTable(AllPairs):
    """All pairs of a block, from prepared points."""

    def __init__(self, prepared: Prepared, block: Block, is_symmetric: bool) -> None:
        self.prepared, self.block = prepared, block
        self.same = is_symmetric and block.is_diagonal
        self.left_to_use = Counter(prepared.uses)
        self._known = {}

    @cached_property
    def x(self) -> Array:  # type: ignore[override]
        return self.prepared.x.at(self.block.rows)

    @cached_property
    def y(self) -> Array:  # type: ignore[override]
        return self.prepared.y.at(self.block.columns)

    @property
    def like(self) -> Any:
        return NO_POINTS

    @property
    def shape(self) -> tuple[int, int]:
        return _extent(self.block)

    @property
    def dtype(self) -> Any:
        return self.prepared.dtype

    def _sides(self, key: Any) -> tuple[Array, Array]:
        prepared, block = self.prepared, self.block
        return prepared.x.part(block.rows, key), prepared.y.part(block.columns, key)

    def _product(self, key: Any) -> Array:
        if key not in self._known:
            # A buffer that its last user may have written to is not used again for this tile.
            given_away = self.left_to_use[key] <= 0
            out = np.empty(self.shape, self.dtype) if given_away else None
            out = self.prepared.buffer(key, self.shape) if out is None else out
            left, right = self._sides(key)
            np.matmul(left, right.T, out=out)
            self._known[key] = out
        self.left_to_use[key] -= 1
        kept: Array = self._known[key]
        return kept

    def inner(self) -> Array:
        return self._product(INNER) if INNER in self.prepared.uses else super().inner()

    def squared_distance(self, scale: Scale = 1.0) -> Array:
        if scale not in self.prepared.uses:  # a formula that did not say so
            return super().squared_distance(scale)
        fresh = scale not in self._known
        s = self._product(scale)
        if fresh:
            if self.prepared.is_clipped:
                np.maximum(s, 0.0, out=s)
            if self.same:
                np.fill_diagonal(s, 0.0)
            if self.prepared.arithmetic.is_recomputed:
                self._recompute_small(s, scale)
        if self.left_to_use[scale] > 0:
            return s.copy()
        del self._known[scale]  # the last one to ask may write into it
        return s

    def distance(self, norm: float, scale: Scale = 1.0) -> Array:
        if norm != 2.0 or scale not in self.prepared.uses:
            return super().distance(norm, scale)
        s = self.squared_distance(scale)
        return np.sqrt(s, out=s)

    def _recompute_small(self, s: Array, scale: Scale) -> None:
        """Replace squared distances that cancellation has spoilt by sums of squares."""
        left, right = self._sides(scale)
        unit = float(np.finfo(self.dtype).eps) / 2
        rounding = 2.0 * gamma(left.shape[1] + 6, unit)  # as `Arithmetic.squares_error`
        doubt = rounding / self.prepared.arithmetic.accuracy
        i, j = np.nonzero(s < doubt * (left[:, -2][:, None] + right[:, -1][None, :]))
        for part in chunks(len(i), max(1, GAPS // left.shape[1])):
            gap = (self.x[i[part]] - self.y[j[part]]) / np.asarray(scale)
            s[i[part], j[part]] = np.einsum("ij,ij->i", gap, gap)


UNPROVED = 64
"""Units of rounding assumed of a kernel without a bound of its own, relative to its largest."""


class Rounding(NamedTuple):
    """Bounds for the error of an entry of K, of K V per unit of weight, and for an entry itself.

    The matrix of errors has a norm of at most n times ``product``, and at most ``product`` where
    rows and columns carry weights that sum to 1. No entry is negative where ``relative`` is finite,
    and the norm then is at most ``relative`` times that of the matrix plus ``beside``.
    """

    entry: float
    product: float
    is_proved: bool
    value: float
    relative: float = np.inf
    beside: float = 0.0


def rounding(tiles: Tiles, largest: float) -> Rounding:
    """Return what rounding can do to the entries of tiles and to products with them.

    ``largest`` bounds the kernel's values; it is used where no bound follows from the formula.
    """
    unit = float(np.finfo(tiles.dtype).eps) / 2
    if tiles.kernel.has_exact_values:
        entry: Bound | None = Bound(largest, 0.0)
    elif tiles.prepared is None:
        entry = None
    else:
        entry = tiles.kernel.bounds(tiles.prepared.arithmetic)
    if entry is None:
        entry = Bound(largest, UNPROVED * unit * largest, is_proved=False)
    inside = min(tiles.terms, tiles.shape[1]) + 1
    double = float(np.finfo(float).eps) / 2
    across = -(-tiles.shape[1] // min(tiles.terms, Limits.smallest_tile)) + tiles.sums
    if tiles.factors is not None:
        # Φ(Φ'V) adds up at most n numbers and then as many as a point has features, and
        # |Φ||Φ|' is at most the largest entry by Cauchy and Schwarz.
        across += tiles.shape[1] + tiles.factors.width
    centring = Limits.summed_rows + -(-tiles.shape[1] // Limits.summed_rows) + 16  # on both sides
    outer = gamma(across, double) + 2.0 * gamma(centring, double)
    sums = gamma(inside, unit) + outer
    limits = np.finfo(tiles.dtype)
    is_small = tiles.single and entry.value <= 1e8 * float(limits.tiny)
    if is_small or entry.value >= float(limits.max) / tiles.shape[1]:
        # Products underflow or overflow; values in double precision may stand for themselves.
        error = np.inf if tiles.single else entry.error
        return Rounding(error, np.inf, entry.is_proved, entry.value)
    # Vectors and their products with entries lose what is too small to be a number, term by term.
    vanished = tiles.shape[1] * float(limits.tiny) * (1.0 + entry.value + entry.error)
    beside = outer * (entry.value + entry.error) + (1.0 + sums) * entry.lost + vanished
    return Rounding(
        entry.error,
        entry.error + sums * entry.value,
        entry.is_proved,
        entry.value,
        (1.0 + entry.relative) * (1.0 + gamma(inside, unit)) - 1.0,
        beside,
    )
