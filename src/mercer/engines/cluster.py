r"""Tiles on the workers of a Dask cluster: the same formulas and bounds, on other machines.

Points are cut into blocks of rows, which go to the workers once. A pass is one task for each pair
of blocks, which multiplies the vectors of both by its part of the matrix as the threads of this
machine would; what tasks return is added in a tree whose order is fixed, so that a pass gives the
same digits whoever computes what. Vectors come from here and return here.

All that workers hold is the value of a task, so that Dask makes it again where one of them dies.
"""

from __future__ import annotations

import pickle
import weakref
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations, islice
from threading import Event
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from mercer.check import Array, Points, chunks
from mercer.engines.blocks import (
    BEAT,
    Blocks,
    Partitioned,
    blocks_of,
    distributed_library,
    given,
    given_each,
    is_up,
    refuse_closed,
    refuse_waiting,
    results_of,
    task,
    tasks,
)
from mercer.engines.cluster_cost import FAN, Workers, block_rows
from mercer.engines.cluster_tasks import (
    Like,
    device_there,
    factor_of_block,
    product_of_block,
    product_of_pair,
    product_of_sides,
    sum_of_parts,
    values_of_blocks,
)
from mercer.engines.cpu import Threads, using
from mercer.engines.tiles import TILE, Block, Tiles
from mercer.errors import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.progress import Progress

T = TypeVar("T")
Item = TypeVar("Item")

LARGE_KERNEL = 2**20
"""Bytes from which on a kernel, such as a matrix that was given, is multiplied where it is."""

HELD = 4
"""Data sets whose blocks stay on the workers, for the next pass and for `transform`."""

_held: weakref.WeakKeyDictionary[Any, OrderedDict[Any, tuple[Any, Blocks]]]
_held = weakref.WeakKeyDictionary()

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
        refuse_closed(self.client)
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

        leaves = self._leaves(tiles, vectors, weights)
        root = self._tree(leaves)
        parts, squares = results_of(self.client, [root], leaves, progress or self.progress)[0]
        return np.vstack([parts[i] for i in sorted(parts)]), squares

    def factor(self, tiles: Tiles, root: Array, *, is_held: bool = False) -> Array:
        if not self._is_there(tiles):
            return super().factor(tiles, root)

        sent, blocks = self._sent(tiles, tiles.y, root), self.placed(tiles.x).futures
        like, landmarks, small = ([value] * len(blocks) for value in sent)
        found = tasks(self.client, factor_of_block, like, blocks, landmarks, small)
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
            whole, others = y.bounds[first:], y.futures[first:]
            if tiles.is_symmetric:
                others = [None, *others[1:]]
            count = len(others)
            found = tasks(
                self.client, values_of_blocks, [like] * count, [x.futures[i]] * count, others
            )
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
        return given_each(self.client, (like, *plain))

    def _leaves(self, tiles: Tiles, vectors: Array, weights: Array | None) -> list[Any]:
        """Submit a task for each pair of blocks, with the vectors that it multiplies."""
        x = self.placed(tiles.x)
        y = x if tiles.is_symmetric else self.placed(tiles.y)
        (like,) = self._sent(tiles)
        v = given_each(self.client, (np.ascontiguousarray(vectors[rows]) for rows in y.bounds))
        if not tiles.is_symmetric:
            places = [(i, j) for i in range(len(x.futures)) for j in range(len(y.futures))]
            columns: Any = zip(
                *((like, i, x.futures[i], y.futures[j], v[j]) for i, j in places), strict=True
            )
            return tasks(self.client, product_of_sides, *columns)
        w = [None if weights is None else weights[rows] for rows in x.bounds]
        count = len(x.futures)
        alone = tasks(self.client, product_of_block, [like] * count, range(count), x.futures, v, w)
        pairs = list(combinations(range(count), 2))
        sides = [(x.futures[i], x.futures[j], v[i], w[i], v[j], w[j]) for i, j in pairs]
        columns = zip(*sides, strict=True) if pairs else ()
        between = iter(tasks(self.client, product_of_pair, [like] * len(pairs), pairs, *columns))
        return [
            future for i in range(count) for future in (alone[i], *islice(between, count - i - 1))
        ]

    def _tree(self, parts: list[Any]) -> Any:
        """Return the sum of partial products, a few at a time."""
        while len(parts) > 1:
            parts = tasks(
                self.client, sum_of_parts, [parts[few] for few in chunks(len(parts), FAN)]
            )
        return parts[0]
