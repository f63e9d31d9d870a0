"""What a worker of a cluster computes: its blocks of the matrix, on a core or on its GPU."""

from __future__ import annotations

import os
import pickle
import weakref
from bisect import bisect
from collections import OrderedDict
from functools import cache, partial
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from threading import Lock, RLock, local
from typing import Any, NamedTuple

import numpy as np

from mercer.check import Array, Points, chunks
from mercer.engines.cluster_cost import Pairs
from mercer.engines.cpu import Core, Threads
from mercer.engines.tiles import Block, Prepared, Recipe, Side, Tiles
from mercer.kernels.base import Kernel
from mercer.kernels.counts import remember_counts
from mercer.points import as_points, join_points

DEVICE = "MERCER_WORKER_DEVICE"
"""What names, in the environment of a worker, the device of torch's that it computes on."""

MOST_PREPARED = 2**27
"""Bytes of prepared points that a worker keeps, beside what its tasks are at."""


class Like(NamedTuple):
    """What a worker needs to know to compute tiles as those of the whole matrix."""

    kernel: Kernel
    recipe: Recipe | None
    single: bool
    size: int
    dtype: Any


Partial = tuple[dict[int, Array], float]
"""Products by the number of their block, and a sum of squares."""


class TileBlock(Tiles):
    """Some rows and columns of a matrix, prepared as all of it was."""

    def __init__(self, like: Like, x: Points, y: Points | None = None) -> None:
        self.is_symmetric, self.kernel = y is None, like.kernel
        self.x, self.y, self.prepared = x, x if y is None else y, None
        if like.recipe is None:
            self._read(x, y)
        else:
            sides = _side(like.recipe, x), _side(like.recipe, self.y, is_right=True)
            self.prepared = prepared_part(like.recipe, *sides)
        self.there = self.x, self.y
        self._set(like, (len(x), len(self.y)))

    def _set(self, like: Like, shape: tuple[int, int]) -> None:
        self.size = self.terms = like.size
        self.shape, self.single, self.dtype = shape, like.single, like.dtype
        self.room, self._kept, self._lock = 0, {}, Lock()

    def _read(self, x: Points, y: Points | None) -> None:
        """Keep points that a formula asks for themselves."""
        are_vectors = self.kernel.reads_vectors
        self.x = as_points(x, "x", are_vectors=are_vectors)
        other = None if y is None else as_points(y, "y", are_vectors=are_vectors)
        if self.kernel.is_counted:
            self.x, counted = remember_counts(self.x, other)
            other = None if other is None else counted
        self.y = self.x if other is None else other


class Pair(TileBlock):
    """The pairs between two blocks of points, each computed once for both sides of the diagonal.

    It is the symmetric matrix of the points of both, of which only the tiles between them are
    computed.
    """

    def __init__(self, like: Like, x: Points, y: Points) -> None:
        self.split = len(x)
        super().__init__(like, join_points(x, y))

    def blocks(self, size: int | None = None) -> list[Block]:
        size = size or self.size
        rest = [
            slice(c.start + self.split, c.stop + self.split)
            for c in chunks(self.shape[0] - self.split, size)
        ]
        return [Block(rows, columns) for rows in chunks(self.split, size) for columns in rest]


class Share(TileBlock):
    """Some pairs of blocks of points, as those tiles of the symmetric matrix of all their points.

    They are multiplied in one go, so that vectors and sums are laid out once.
    """

    def __init__(self, like: Like, pairs: Pairs, points: list[Points]) -> None:
        assert like.recipe is not None
        self.is_symmetric, self.kernel, self.pairs = True, like.kernel, pairs
        left, right = (Sides(like.recipe, points, is_right=side) for side in (False, True))
        self.prepared, self.starts = prepared_part(like.recipe, left, right), left.starts
        self._set(like, (self.starts[-1], self.starts[-1]))

    def blocks(self, size: int | None = None) -> list[Block]:
        size = size or self.size
        return [
            Block(rows, columns)
            for i, j in self.pairs
            for rows in self._cut(i, size)
            for columns in self._cut(j, size)
            if columns.start >= rows.start
        ]

    def _cut(self, number: int, size: int) -> list[slice]:
        start, stop = self.starts[number : number + 2]
        return [slice(start + c.start, start + c.stop) for c in chunks(stop - start, size)]


_buffers = local()
"""The memory of a thread for one tile, which its tasks hand on."""

_made: OrderedDict[Any, tuple[Any, dict[Any, Array]]] = OrderedDict()
"""What blocks of points contribute to products, by the array and by how it was prepared."""

_making = RLock()


class Sides(Side):
    """One side of a matrix product whose points lie in blocks, one after the other."""

    def __init__(self, recipe: Recipe, points: list[Points], *, is_right: bool) -> None:
        self.starts = [0, *accumulate(map(len, points))]
        self.blocks = [
            _side(recipe, block, is_right=is_right, first=start)
            for block, start in zip(points, self.starts, strict=False)
        ]

    def at(self, rows: slice) -> Array:
        return self._block(rows).at(rows)

    def part(self, rows: slice, statistic: Any) -> Array:
        return self._block(rows).part(rows, statistic)

    def _block(self, rows: slice) -> Side:
        return self.blocks[bisect(self.starts, rows.start) - 1]


def prepared_part(recipe: Recipe, x: Side, y: Side) -> Prepared:
    """Return two sides that were prepared as those of the whole matrix."""
    part = Prepared.alike(recipe, np.zeros((0, 0)))
    if getattr(_buffers, "uses", None) != recipe.uses:
        _buffers.__dict__.clear()
        _buffers.uses = recipe.uses
    part.local, part.x, part.y = _buffers, x, y
    return part


def _side(recipe: Recipe, points: Points, *, is_right: bool = False, first: int = 0) -> Side:
    """Return a block of points, prepared as all of them were, with rows numbered from ``first``.

    A block meets all others, pass after pass, and Dask hands out the same array each time: what
    was made of the last ones is kept as long as they are there.
    """
    values = np.asarray(points, np.float64)
    side = Side(values, recipe.centre, recipe.uses, recipe.dtype, is_right=is_right, first=first)
    if device_there():
        return side
    key = id(points), is_right, pickle.dumps(recipe)
    with _making:
        known = _made.pop(key, None)
    if known is not None and known[0]() is points:
        side.held = known[1]
    elif any(np.may_share_memory(values, made) for made in side.held.values()):
        return side  # which cost nothing, and would keep the points
    with _making:
        _made[key] = weakref.ref(points, partial(_forget, key)), side.held
        while sum(_size(held) for _, held in list(_made.values())) > MOST_PREPARED:
            _made.popitem(last=False)
    return side


def _size(held: dict[Any, Array]) -> int:
    return sum(made.nbytes for made in held.values())


def _forget(key: Any, _: Any) -> None:
    with _making:
        _made.pop(key, None)


@cache
def device_there() -> str:
    """Return the device of torch's that this worker computes on, an empty text for a core.

    `DEVICE` in its environment says which; else a GPU that the machine has and torch can use.
    """
    asked = os.environ.get(DEVICE)
    if asked is not None:
        return asked
    has_gpu = any(Path("/dev").glob("nvidia[0-9]*")) and find_spec("torch") is not None
    if not has_gpu:
        return ""
    from mercer.engines.device import torch_library

    return "cuda" if torch_library().cuda.is_available() else ""


def engine_there(terms: int) -> Threads:
    """Return what a task computes with: a core, or the GPU of its worker.

    Tiles on a GPU are those of a core: in the same precision, as many terms added in it, so that
    the bounds that the client knows hold for both.
    """
    if not device_there():
        return Core()
    from mercer.engines.gpu import Gpu

    gpu = Gpu(device_there())
    gpu.is_fused, gpu.terms = False, terms
    return gpu


def product_of_block(like: Like, i: int, x: Points, v: Array, w: Array | None) -> Partial:
    """Return the product with a block on the diagonal of a symmetric matrix."""
    images, squares = engine_there(like.size).product_and_squares(TileBlock(like, x), v, w)
    return {i: images}, squares


def product_of_pair(
    like: Like, pair: tuple[int, int], x: Points, y: Points, *sides: Any
) -> Partial:
    """Return the products with a block above the diagonal, and with its adjoint below."""
    (i, j), (v, w, other_v, other_w) = pair, sides
    weights = None if w is None else np.concatenate([w, other_w])
    part, engine = Pair(like, x, y), engine_there(like.size)
    images, squares = engine.product_and_squares(part, np.vstack([v, other_v]), weights)
    return {i: images[: len(x)], j: images[len(x) :]}, squares


def product_of_share(
    like: Like,
    pairs: Pairs,
    x: dict[int, Points],
    v: list[dict[int, Array]],
    w: dict[int, Array | None],
) -> Partial:
    """Return the sum of the products with some blocks on and above the diagonal.

    Points and vectors are given by the number of their block.
    """
    vectors = {i: part for several in v for i, part in several.items()}
    if like.recipe is None or device_there():
        total: Partial = {}, 0.0
        for i, j in pairs:
            if i == j:
                part = product_of_block(like, i, x[i], vectors[i], w[i])
            else:
                sides = vectors[i], w[i], vectors[j], w[j]
                part = product_of_pair(like, (i, j), x[i], x[j], *sides)
            total = sum_of_parts([total, part])
        return total
    numbers = sorted({i for pair in pairs for i in pair})
    at = {number: place for place, number in enumerate(numbers)}
    share = Share(like, [(at[i], at[j]) for i, j in pairs], [x[i] for i in numbers])
    weights = [values for i in numbers if (values := w[i]) is not None]
    images, squares = engine_there(like.size).product_and_squares(
        share,
        np.concatenate([vectors[i] for i in numbers]),
        np.concatenate(weights) if weights else None,
    )
    ends = zip(numbers, share.starts, share.starts[1:], strict=False)
    return {i: images[start:stop] for i, start, stop in ends}, squares


def product_of_sides(
    like: Like, pair: tuple[int, int], x: Points, y: Points, v: dict[int, Array]
) -> Partial:
    """Return the product with a block of a matrix between two data sets."""
    i, j = pair
    return {i: engine_there(like.size).product(TileBlock(like, x, y), v[j])}, 0.0


def factor_of_block(like: Like, x: Points, landmarks: Points, root: Array) -> Array:
    """Return the rows of Nyström's factor that belong to a block."""
    return engine_there(like.size).factor(TileBlock(like, x, landmarks), root)


def values_of_blocks(like: Like, x: Points, y: Points | None) -> Array:
    """Return the values of all pairs between two blocks, or within one."""
    part = TileBlock(like, x, y)
    result = np.empty(part.shape, like.dtype)
    for block, values in Threads(1).each(part):
        result[block.rows, block.columns] = values
        if part.is_symmetric and not block.is_diagonal:
            result[block.columns, block.rows] = values.conj().T
    return result


def sum_of_parts(parts: list[Partial]) -> Partial:
    """Return the sum of partial products, in their order."""
    total: dict[int, Array] = {}
    squares = 0.0
    for products, square in parts:
        squares += square
        for i, product in products.items():
            total[i] = total[i] + product if i in total else product
    return total, squares
