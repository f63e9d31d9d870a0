"""What a worker of a cluster computes: its blocks of the matrix, on a core or on its GPU."""

from __future__ import annotations

import os
import pickle
import weakref
from collections import OrderedDict
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, RLock, local
from typing import Any, NamedTuple

import numpy as np

from mercer.check import Array, Points, chunks
from mercer.engines.cpu import Core, Threads
from mercer.engines.tiles import Block, Prepared, Recipe, Side, Tiles
from mercer.kernels.base import Kernel
from mercer.kernels.counts import remember_counts
from mercer.points import as_points, joined

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


class Part(Tiles):
    """Some rows and columns of a matrix, prepared as all of it was, these from a number on."""

    def __init__(self, like: Like, x: Points, y: Points | None = None, *, first: int = 0) -> None:
        self.is_symmetric, self.kernel = y is None, like.kernel
        self.x, self.y, self.prepared = x, x if y is None else y, None
        if like.recipe is None:
            self._read(x, y)
        else:
            self.prepared = prepared_part(like.recipe, x, self.y, first=first)
        self.size = self.terms = like.size
        self.shape, self.single, self.dtype = (len(x), len(self.y)), like.single, like.dtype
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


class Pair(Part):
    """The pairs between two blocks of points, each computed once for both sides of the diagonal.

    It is the symmetric matrix of the points of both, of which only the tiles between them are
    computed.
    """

    def __init__(self, like: Like, x: Points, y: Points) -> None:
        self.split, both = len(x), len(x) + len(y)
        if like.recipe is None or device_there():
            super().__init__(like, joined(x, y))
        else:
            super().__init__(like, x, y, first=self.split)
        self.is_symmetric, self.shape = True, (both, both)

    def blocks(self, size: int | None = None) -> list[Block]:
        size = size or self.size
        rest = [
            slice(c.start + self.split, c.stop + self.split)
            for c in chunks(self.shape[0] - self.split, size)
        ]
        return [Block(rows, columns) for rows in chunks(self.split, size) for columns in rest]


_buffers = local()
"""The memory of a thread for one tile, which its tasks hand on."""

_made: OrderedDict[Any, tuple[Any, dict[Any, Array]]] = OrderedDict()
"""What blocks of points contribute to products, by the array and by how it was prepared."""

_making = RLock()


def prepared_part(recipe: Recipe, x: Points, y: Points, *, first: int = 0) -> Prepared:
    """Return blocks of points prepared as all of them were, the right ones from a number on.

    A block meets all others, pass after pass, and Dask hands out the same array each time: what
    was made of the last ones is kept as long as they are there.
    """
    part = Prepared.alike(recipe, np.zeros((0, 0)))
    if getattr(_buffers, "uses", None) != recipe.uses:
        _buffers.__dict__.clear()
        _buffers.uses = recipe.uses
    part.local = _buffers
    part.x = _side(recipe, x, is_right=False, first=0)
    part.y = _side(recipe, y, is_right=True, first=first)
    return part


def _side(recipe: Recipe, points: Points, *, is_right: bool, first: int) -> Side:
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
    from mercer.engines.gpu import torch_library

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
    images, squares = engine_there(like.size).product_and_squares(Part(like, x), v, w)
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


def product_of_sides(like: Like, i: int, x: Points, y: Points, v: Array) -> Partial:
    """Return the product with a block of a matrix between two data sets."""
    return {i: engine_there(like.size).product(Part(like, x, y), v)}, 0.0


def factor_of_block(like: Like, x: Points, landmarks: Points, root: Array) -> Array:
    """Return the rows of Nyström's factor that belong to a block."""
    return engine_there(like.size).factor(Part(like, x, landmarks), root)


def values_of_blocks(like: Like, x: Points, y: Points | None) -> Array:
    """Return the values of all pairs between two blocks, or within one."""
    part = Part(like, x, y)
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
