r"""Tiles on the workers of a Dask cluster: the same formulas and bounds, on other machines.

Points are cut into blocks of rows, which go to the workers once. A pass is one task for each pair
of blocks, which multiplies the vectors of both by its part of the matrix as the threads of this
machine would; what tasks return is added in a tree whose order is fixed, so that a pass gives the
same digits whoever computes what. Vectors come from here and return here.

All that workers hold is the value of a task, so that Dask makes it again where one of them dies.
"""

from __future__ import annotations

import os
import pickle
import weakref
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mercer.check import Array, Points, chunks
from mercer.engines.blocks import (
    BEAT,
    Blocks,
    Partitioned,
    blocks_of,
    distributed_library,
    given,
    is_up,
    refuse_closed,
    refuse_waiting,
    results_of,
    task,
)
from mercer.engines.cluster_cost import FAN, Workers, block_rows
from mercer.engines.cpu import Threads, using
from mercer.engines.tiles import TILE, Block, Prepared, Recipe, Tiles
from mercer.errors import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.counts import remember_counts
from mercer.points import as_points, joined
from mercer.progress import Progress

T = TypeVar("T")
Item = TypeVar("Item")

LARGE_KERNEL = 2**20
"""Bytes from which on a kernel, such as a matrix that was given, is multiplied where it is."""

HELD = 4
"""Data sets whose blocks stay on the workers, for the next pass and for `transform`."""

_held: weakref.WeakKeyDictionary[Any, OrderedDict[Any, tuple[Any, Blocks]]]
_held = weakref.WeakKeyDictionary()

DEVICE = "MERCER_WORKER_DEVICE"
"""What names, in the environment of a worker, the device of torch's that it computes on."""

AHEAD = 4
"""Pieces of work queued for each core, so that none waits and little is thrown away."""


def client_of(engine: Any) -> Any:
    """Return the client that was given, or for ``"dask"`` the one that is active."""
    library = distributed_library()
    if isinstance(engine, library.Client):
        return refuse_closed(engine)
    if engine is not None and engine != "dask":
        raise InvalidParameter(
            "engine must be a distributed.Client, which a cluster gives by cluster.get_client(); "
            f"found {type(engine).__name__}"
        )
    try:
        return refuse_closed(library.get_client())
    except ValueError as error:
        raise InvalidParameter(
            'engine="dask" needs a cluster that is active: make one first by '
            "distributed.Client(), or with the address of a scheduler, or give engine=client"
        ) from error


def is_in_task() -> bool:
    """Whether this code runs in a task of a cluster, which has a core and not the cluster."""
    try:
        distributed_library().get_worker()
    except ValueError:
        return False
    return True


@contextmanager
def on_cluster(client: Any = None, *, rows: int | None = None) -> Iterator[Cluster]:
    """Compute on a cluster whatever is called in this context, by default on the active one.

    Gram matrices go there tile by tile; permutations, replicates and draws of studies, which have
    no engine of their own, one after the other as tasks.
    """
    engine = Cluster(client, rows=rows)
    with using(engine):
        yield engine


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
    """Some rows and columns of a matrix, prepared as all of it was.

    With a ``split`` the points are those of two blocks, of which only the pairs between them are
    computed: each tile is then used twice, as those of a symmetric matrix are.
    """

    def __init__(self, like: Like, x: Points, y: Points | None = None, split: int = 0) -> None:
        kernel = like.kernel
        x = as_points(x, "x", are_vectors=kernel.reads_vectors)
        y = None if y is None else as_points(y, "y", are_vectors=kernel.reads_vectors)
        if kernel.is_counted:
            x, other = remember_counts(x, y)
            y = None if y is None else other
        self.is_symmetric, self.split = y is None, split
        self.kernel, self.x, self.y = kernel, x, x if y is None else y
        self.size = self.terms = like.size
        self.shape, self.single, self.dtype = (len(x), len(self.y)), like.single, like.dtype
        self.room, self._kept, self._lock = 0, {}, Lock()
        self.prepared = None
        if like.recipe is not None:
            sides = (None if s is None else np.asarray(s, np.float64) for s in (x, y))
            self.prepared = Prepared.alike(like.recipe, *sides)  # type: ignore[arg-type]

    def blocks(self, size: int | None = None) -> list[Block]:
        if not self.split:
            return super().blocks(size)
        size = size or self.size
        rest = [
            slice(c.start + self.split, c.stop + self.split)
            for c in chunks(self.shape[0] - self.split, size)
        ]
        return [Block(rows, columns) for rows in chunks(self.split, size) for columns in rest]


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
        return Threads(1)
    from mercer.engines.gpu import Gpu

    gpu = Gpu(device_there())
    gpu.is_fused, gpu.terms = False, terms
    return gpu


def _of_block(like: Like, i: int, x: Points, v: Array, w: Array | None) -> Partial:
    """Return the product with a block on the diagonal of a symmetric matrix."""
    images, squares = engine_there(like.size).product_and_squares(Part(like, x), v, w)
    return {i: images}, squares


def _of_pair(like: Like, pair: tuple[int, int], x: Points, y: Points, *sides: Any) -> Partial:
    """Return the products with a block above the diagonal, and with its adjoint below."""
    (i, j), (v, w, other_v, other_w) = pair, sides
    weights = None if w is None else np.concatenate([w, other_w])
    part, engine = Part(like, joined(x, y), split=len(x)), engine_there(like.size)
    images, squares = engine.product_and_squares(part, np.vstack([v, other_v]), weights)
    return {i: images[: len(x)], j: images[len(x) :]}, squares


def _of_sides(like: Like, i: int, x: Points, y: Points, v: Array) -> Partial:
    """Return the product with a block of a matrix between two data sets."""
    return {i: engine_there(like.size).product(Part(like, x, y), v)}, 0.0


def _factor(like: Like, x: Points, landmarks: Points, root: Array) -> Array:
    return engine_there(like.size).factor(Part(like, x, landmarks), root)


def _values(like: Like, x: Points, y: Points | None) -> Array:
    part = Part(like, x, y)
    result = np.empty(part.shape, like.dtype)
    for block, values in Threads(1).each(part):
        result[block.rows, block.columns] = values
        if part.is_symmetric and not block.is_diagonal:
            result[block.columns, block.rows] = values.conj().T
    return result


def _added(parts: list[Partial]) -> Partial:
    """Return the sum of partial products, in their order."""
    total: dict[int, Array] = {}
    squares = 0.0
    for products, square in parts:
        squares += square
        for i, product in products.items():
            total[i] = total[i] + product if i in total else product
    return total, squares


def _is_small(kernel: Kernel) -> bool:
    """Return whether a kernel is sent with every pass."""
    try:
        return len(pickle.dumps(kernel)) < LARGE_KERNEL
    except Exception:  # a function without a name, which Dask takes along all the same
        return True


def _done(work: Callable[[Item, Event], T], item: Item) -> T:
    """Do a piece of work in one thread of a worker."""
    engine = Threads(1)
    with using(engine), engine.session():
        return work(item, Event())


def _threads_there() -> Threads:
    """Return what a copy of an engine computes with: the core of a task, or a whole machine."""
    return Threads(1 if is_in_task() else None)


def _pointer(points: Points) -> Callable[[], Any]:
    """Return what gives points back for as long as somebody else has them."""
    try:
        return weakref.ref(points)
    except TypeError:  # a list, which is kept
        return lambda: points


class Cluster(Threads):
    """An engine that computes tiles on the workers of a Dask cluster.

    ``client`` is a `distributed.Client`, None for the one that is active. ``rows`` is how many
    points a block has, unless that is left to the number of cores. What is not made of tiles is
    computed here, in threads; ``memory`` and ``progress`` mean what they mean there.
    """

    def __init__(
        self,
        client: Any = None,
        *,
        rows: int | None = None,
        memory: Any = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(memory=memory, progress=progress)
        self.client, self.rows = client_of(client), rows
        self._last: tuple[Kernel, bool] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _threads_there, ()  # a client belongs to its process

    def __deepcopy__(self, memo: dict[int, Any]) -> Cluster:
        return self

    def with_settings(self, memory: Any, progress: Progress | None) -> Cluster:
        """Return the same cluster, with the blocks it has, for another model."""
        return Cluster(self.client, rows=self.rows, memory=memory, progress=progress)

    def cores(self) -> int:
        """Return how many threads the workers have, waiting a little for the first ones."""
        begun = monotonic()
        while True:
            found = sum(self.client.nthreads().values()) if is_up(self.client) else 0
            if found:
                return int(found)
            refuse_waiting(self.client, begun)
            Event().wait(BEAT)

    def workers(self) -> Workers:
        """Return the machines of the cluster, as plans count them."""
        cores, count = self.cores(), max(1, len(self.client.nthreads()))
        devices = [d for d in self.client.run(device_there).values() if d.startswith("cuda")]
        return Workers(count, max(1, cores // count), gpus=int(len(devices) == count))

    def sums(self, n: int) -> int:
        """Return how many sums of other machines are added up in an entry of a product."""
        return 2 * -(-n // (self.rows or TILE))  # at most: blocks, and a smaller tile in each

    def hold(self, data: Any) -> Any:
        """Return a Dask collection as points that stay on the workers, other data as they are."""
        home = type(data).__module__.partition(".")[0]
        is_table = home == "dask" and hasattr(data, "to_delayed") and hasattr(data, "ndim")
        return Partitioned.of(self.client, data) if is_table else data

    def placed(self, points: Points) -> Blocks:
        """Return the blocks of points on the workers, sent there if they are not."""
        held = _held.setdefault(self.client, OrderedDict())
        key = id(points), self.rows
        known = held.pop(key, None)
        is_known = known is not None and known[0]() is points
        blocks = known[1] if known is not None and is_known else self._cut(points)
        held[key] = _pointer(points), blocks
        while len(held) > HELD:
            held.popitem(last=False)
        blocks.restore()
        return blocks

    def _cut(self, points: Points) -> Blocks:
        width = int(np.prod(getattr(points, "shape", (1,))[1:]))
        rows = self.rows or block_rows(len(points), width, self.cores())
        return blocks_of(self.client, points, rows)

    def product(self, tiles: Tiles, vectors: Array, progress: Progress | None = None) -> Array:
        if not self._is_there(tiles):
            return super().product(tiles, vectors, progress)
        return self.product_and_squares(tiles, vectors, None, progress)[0]

    def product_and_squares(
        self, tiles: Tiles, vectors: Array, weights: Array | None, progress: Progress | None = None
    ) -> tuple[Array, float]:
        if not self._is_there(tiles):
            return super().product_and_squares(tiles, vectors, weights, progress)

        leaves = list(self._leaves(tiles, vectors, weights))
        root = self._tree(leaves)
        parts, squares = results_of(self.client, [root], leaves, progress or self.progress)[0]
        return np.vstack([parts[i] for i in sorted(parts)]), squares

    def factor(self, tiles: Tiles, root: Array, *, is_held: bool = False) -> Array:
        if not self._is_there(tiles):
            return super().factor(tiles, root)

        like, landmarks, small = self._sent(tiles, tiles.y, root)
        blocks = self.placed(tiles.x).futures
        found = [task(self.client, _factor, like, x, landmarks, small) for x in blocks]
        return np.vstack(results_of(self.client, found))

    def each(self, tiles: Tiles) -> Iterator[tuple[Block, Array]]:
        if not self._is_there(tiles) or not tiles.kernel.is_costly:
            yield from super().each(tiles)  # which is less work than to send them
            return
        x = self.placed(tiles.x)
        y = x if tiles.is_symmetric else self.placed(tiles.y)
        (like,) = self._sent(tiles)
        for i, rows in enumerate(x.bounds):
            first = i if tiles.is_symmetric else 0
            whole = y.bounds[first:]
            found = []
            for j in range(first, len(y.bounds)):
                is_diagonal = tiles.is_symmetric and i == j
                other = None if is_diagonal else y.futures[j]
                found.append(task(self.client, _values, like, x.futures[i], other))
            for columns, values in zip(whole, results_of(self.client, found), strict=True):
                yield Block(rows, columns), values

    def in_order(
        self, work: Callable[[Item, Event], T], items: Iterable[Item]
    ) -> Generator[T, None, None]:
        """Yield the results of work on items in their order, computed by the workers.

        The work itself is sent once; its results are waited for here, one after the other.
        """
        waiting, ahead, sent = iter(items), AHEAD * self.cores(), given(self.client, work)
        queue = [task(self.client, _done, sent, item) for item in islice(waiting, ahead)]
        try:
            while queue:
                (result,) = results_of(self.client, [queue.pop(0)])
                queue.extend(task(self.client, _done, sent, item) for item in islice(waiting, 1))
                yield result
        finally:
            self.client.cancel(queue)

    def _is_there(self, tiles: Tiles) -> bool:
        """Return whether workers compute such tiles: not by sparse factors, nor a large kernel."""
        if tiles.factors is not None or 0 in tiles.shape:
            return False
        if self._last is None or self._last[0] is not tiles.kernel:
            self._last = tiles.kernel, _is_small(tiles.kernel)
        return self._last[1]

    def _sent(self, tiles: Tiles, *others: Any) -> list[Any]:
        """Return what all tasks of a pass need, on the workers."""
        recipe = None if tiles.prepared is None else tiles.prepared.recipe
        like = Like(tiles.kernel, recipe, tiles.single, tiles.size, tiles.dtype)
        plain = [np.asarray(o) if isinstance(o, np.ndarray) else o for o in others]
        return [given(self.client, value) for value in (like, *plain)]

    def _leaves(self, tiles: Tiles, vectors: Array, weights: Array | None) -> Iterator[Any]:
        """Submit a task for each pair of blocks, with the vectors that it multiplies."""
        (like,) = self._sent(tiles)
        x = self.placed(tiles.x)
        y = x if tiles.is_symmetric else self.placed(tiles.y)
        v = [given(self.client, np.ascontiguousarray(vectors[rows])) for rows in y.bounds]
        if not tiles.is_symmetric:
            for i, left in enumerate(x.futures):
                for j, right in enumerate(y.futures):
                    yield task(self.client, _of_sides, like, i, left, right, v[j])
            return
        w = [None if weights is None else weights[rows] for rows in x.bounds]
        for i, left in enumerate(x.futures):
            yield task(self.client, _of_block, like, i, left, v[i], w[i])
            for j in range(i + 1, len(x.futures)):
                yield task(
                    self.client, _of_pair, like, (i, j), left, x.futures[j], v[i], w[i], v[j], w[j]
                )

    def _tree(self, parts: list[Any]) -> Any:
        """Return the sum of partial products, a few at a time."""
        while len(parts) > 1:
            parts = [task(self.client, _added, parts[few]) for few in chunks(len(parts), FAN)]
        return parts[0]
