r"""Tiles on the workers of a Dask cluster: the same formulas and bounds, on other machines.

Points are cut into blocks of rows, which go to the workers once. A pass is a few tasks for each
core, which have some pairs of blocks each and multiply the vectors of both by their part of the
matrix as the threads of this machine would; what tasks return is added in a tree whose order is
fixed, so that a pass gives the same digits whoever computes what. Vectors come from here and
return here.

All that workers hold is the value of a task, so that Dask makes it again where one of them dies.
"""

from __future__ import annotations

import pickle
import weakref
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from threading import Event, RLock
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from mercer.check import Array, Points, chunks
from mercer.engines.blocks import (
    BEAT,
    GONE,
    Blocks,
    Partitioned,
    blocks_of,
    distributed_library,
    is_up,
    refuse_closed,
    refuse_waiting,
    results_of,
    send,
    send_each,
    task,
    tasks,
)
from mercer.engines.cluster_cost import ADDED_HERE, FAN, Workers, block_rows, groups, shares
from mercer.engines.cluster_tasks import (
    Like,
    device_there,
    factor_of_block,
    product_of_share,
    product_of_sides,
    sum_of_parts,
    values_of_blocks,
)
from mercer.engines.cpu import Threads, using
from mercer.engines.limits import Limits
from mercer.engines.tiles import Block, Tiles
from mercer.errors import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.points import NamedRows
from mercer.progress import Progress

T = TypeVar("T")
Item = TypeVar("Item")

LARGE_KERNEL = 2**20
"""Bytes from which on a kernel, such as a matrix that was given, is multiplied where it is."""

LIGHT_FACTOR = 2**26
"""Bytes of a factor up to which it is made here in the time in which it would be fetched."""

FETCHED = 8
"""Blocks of a factor that are fetched together."""

HELD = 4
"""Data sets whose blocks stay on the workers, for the next pass and for `transform`."""

_held: weakref.WeakKeyDictionary[Any, OrderedDict[Any, tuple[Any, Blocks]]]
_held = weakref.WeakKeyDictionary()

_placing = RLock()
"""Threads that ask for the same points wait until the first has sent them."""

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
        self._likes: weakref.WeakKeyDictionary[Tiles, Any] = weakref.WeakKeyDictionary()

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
        # At most: blocks, and a smaller tile in each.
        return 2 * -(-n // (self.rows or Limits.tile))

    def hold(self, data: Any) -> Any:
        """Return a Dask collection as rows that stay on the workers, other data as they are."""
        home = type(data).__module__.partition(".")[0]
        is_table = home == "dask" and hasattr(data, "to_delayed") and hasattr(data, "ndim")
        if not is_table:
            return data
        rows = Partitioned.of(self.client, data)
        return NamedRows(rows, rows.labels, rows.names)

    def placed(self, points: Points) -> Blocks:
        """Return the blocks of points on the workers, sent there if they are not."""
        key = id(points), self.rows
        with _placing:
            held = _held.setdefault(self.client, OrderedDict())
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
        cores = self.cores()
        rows = self.rows or block_rows(len(points), width, cores)
        blocks = blocks_of(self.client, points, rows)
        blocks.shares = shares([part.stop - part.start for part in blocks.bounds], cores)
        blocks.homes, blocks.row_bytes = sorted(self.client.nthreads()), 8 * width
        return blocks

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
        roots = self._tree(list(leaves))
        found = results_of(self.client, roots, leaves, progress or self.progress)
        parts, squares = sum_of_parts(found)
        return np.vstack([parts[i] for i in sorted(parts)]), squares

    def factor(
        self,
        tiles: Tiles,
        root: Array,
        *,
        is_held: bool = False,
        place: Callable[..., Array] = np.empty,
    ) -> Array:
        size = tiles.shape[0] * root.shape[1] * root.itemsize
        is_light = not tiles.kernel.is_costly and not isinstance(tiles.x, Partitioned)
        if not self._is_there(tiles) or (is_light and size < LIGHT_FACTOR):
            return super().factor(tiles, root, place=place)

        landmarks = np.asarray(tiles.y) if isinstance(tiles.y, np.ndarray) else tiles.y
        sent = self._like(tiles), *send_each(self.client, (landmarks, np.asarray(root)))
        blocks = self.placed(tiles.x)
        like, y, small = ([value] * len(blocks.futures) for value in sent)
        found = tasks(self.client, factor_of_block, like, blocks.futures, y, small)
        factor = place((len(tiles.x), root.shape[1]), root.dtype)
        for some in chunks(len(found), FETCHED):
            parts = zip(blocks.bounds[some], results_of(self.client, found[some]), strict=True)
            for rows, part in parts:
                factor[rows] = part
        return factor

    def each(self, tiles: Tiles) -> Iterator[tuple[Block, Array]]:
        if not self._is_there(tiles) or not tiles.kernel.is_costly:
            yield from super().each(tiles)  # which is less work than to send them
            return
        x = self.placed(tiles.x)
        y = x if tiles.is_symmetric else self.placed(tiles.y)
        like = self._like(tiles)
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
        waiting, ahead, sent = iter(items), AHEAD * self.cores(), send(self.client, work)
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

    def _like(self, tiles: Tiles) -> Any:
        """Return what all tasks on some tiles need to know, on the workers: sent once."""
        known = self._likes.get(tiles)
        if known is None or known.status in GONE:
            recipe = None if tiles.prepared is None else tiles.prepared.recipe
            like = Like(tiles.kernel, recipe, tiles.single, tiles.size, tiles.dtype)
            known = self._likes[tiles] = send(self.client, like)
        return known

    def _leaves(self, tiles: Tiles, vectors: Array, weights: Array | None) -> list[Any]:
        """Submit the tasks of a pass, each with its pairs of blocks and the vectors of these."""
        x = self.placed(tiles.x)
        y = x if tiles.is_symmetric else self.placed(tiles.y)
        like, v = self._like(tiles), self._vectors(y, vectors)
        if not tiles.is_symmetric:
            places = [(i, j) for i in range(len(x.futures)) for j in range(len(y.futures))]
            columns: Any = zip(
                *((like, (i, j), x.futures[i], y.futures[j], v[j]) for i, j in places), strict=True
            )
            return tasks(self.client, product_of_sides, *columns)
        w = [None if weights is None else weights[rows] for rows in x.bounds]
        leaves = []
        for home, mine, held in x.at_homes(self.client):
            numbers = [sorted({i for pair in share for i in pair}) for share in mine]
            columns = (
                [like] * len(mine),
                mine,
                [held or {i: x.futures[i] for i in needed} for needed in numbers],
                [list({v[i].key: v[i] for i in needed}.values()) for needed in numbers],
                [{i: w[i] for i in needed} for needed in numbers],
            )
            leaves += tasks(self.client, product_of_share, *columns, home=home)
        return leaves

    def _vectors(self, blocks: Blocks, vectors: Array) -> list[Any]:
        """Send the rows of vectors, those of some blocks together; return where each block is."""
        lengths = [part.stop - part.start for part in blocks.bounds]
        together = groups(lengths, vectors[:1].nbytes)
        sent = send_each(
            self.client,
            ({i: np.ascontiguousarray(vectors[blocks.bounds[i]]) for i in few} for few in together),
        )
        return [future for few, future in zip(together, sent, strict=True) for _ in few]

    def _tree(self, parts: list[Any]) -> list[Any]:
        """Return sums of partial products, a few at a time, as few as are added here."""
        while len(parts) > ADDED_HERE:
            parts = tasks(
                self.client, sum_of_parts, [parts[few] for few in chunks(len(parts), FAN)]
            )
        return parts
