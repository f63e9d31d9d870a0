"""Tiles over the threads of this machine, one BLAS thread for each."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from importlib.util import find_spec
from threading import Event, Lock
from typing import Any, TypeVar, cast

import numpy as np

from mercer.check import Array, chunks, refuse_lazy
from mercer.engines.engine import MOST_LANDMARKS, SINGLE_ENOUGH, SINGLE_ROUNDING, Engine
from mercer.engines.lapack import one_blas_thread, pad_columns, strips_of
from mercer.engines.limits import Limits
from mercer.engines.tiles import Block, Rounding, Tiles, rounding
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.pairs import exponential, numpy_exponential
from mercer.progress import Progress
from mercer.settings import memory_bytes, whole

T = TypeVar("T")
Item = TypeVar("Item")

_sessions = threading.local()
"""The pools of the sessions that a thread is in, by how many threads they have."""


def _precision(vectors: Any, tiles: Any) -> Any:
    """Return the type in which vectors meet tiles: single where the tiles are."""
    if tiles != np.float32:
        return vectors
    return np.complex64 if np.issubdtype(vectors, np.complexfloating) else np.float32


def _squares(weights: Array) -> Callable[[Array, Block], float]:
    """Return the function that sums wᵢwⱼ|Kᵢⱼ|² over a tile."""
    if np.ptp(weights) == 0.0:
        share = float(weights[0]) ** 2

        def plain(tile: Array, block: Block) -> float:
            flat = tile.reshape(-1)
            return share * float(np.vdot(flat, flat).real)

        return plain

    def weighted(tile: Array, block: Block) -> float:
        return float(weights[block.rows] @ (np.abs(tile) ** 2) @ weights[block.columns])

    return weighted


def _cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _parts(n: int, size: int | None) -> list[slice]:
    """Cut n rows into consecutive parts, one at the least."""
    usual = max(Limits.part_rows, -(-n // Limits.parts))
    return list(chunks(n, usual if size is None else min(usual, size))) or [slice(0, 0)]


def _compiled(work: Callable[[Item], T], item: Item) -> T:
    """Do some work with the fastest exponential there is; the context is the caller's own."""
    exponential.set(fastest_exponential())
    return work(item)


class _OrderedSum:
    """A sum whose terms come in any order and are added in theirs, each as soon as it can be."""

    def __init__(self) -> None:
        self.value: Array | float = 0.0
        self._waiting: dict[int, Array] = {}
        self._next = 0
        self._lock = Lock()

    def add(self, number: int, term: Array) -> None:
        with self._lock:
            self._waiting[number] = term
            while self._next in self._waiting:
                following = self._waiting.pop(self._next)
                if self._next == 0:
                    self.value = following
                else:
                    self.value += following
                self._next += 1


_in_use: ContextVar[Engine | None] = ContextVar("engine", default=None)


def engine_in_use() -> Engine:
    """Return the engine of the model that is at work, or one with a thread for each core."""
    return _in_use.get() or Threads()


@contextmanager
def using(engine: Engine) -> Iterator[None]:
    """Compute all matrices on an engine, those too that are made far below a model.

    >>> with using(Threads(3)):
    ...     Threads().count, Threads(1).count
    (3, 1)
    """
    token = _in_use.set(engine)
    try:
        yield
    finally:
        _in_use.reset(token)


def engine_of(
    engine: Engine | str,
    *,
    threads: int | None = None,
    memory: int | str | None = None,
    is_deterministic: bool = False,
    progress: Progress | None = None,
) -> Engine:
    """Return the engine that a model's parameters ask for.

    >>> engine_of("auto", threads=2, memory="1GB").memory
    1000000000
    """
    count = None if threads is None else whole(threads, "threads", least=1)
    if isinstance(engine, str) and engine == "auto":
        outer: Any = _in_use.get()
        if count is None and hasattr(outer, "with_settings"):  # a cluster, by `on_cluster`
            chosen: Engine = outer.with_settings(memory, progress)
            return chosen
        return Threads(count, memory=memory, is_deterministic=is_deterministic, progress=progress)
    if isinstance(engine, str) and engine == "gpu" and threads is None:
        from mercer.engines.gpu import Gpu  # which imports this module

        return Gpu(memory=memory, progress=progress)
    if _is_cluster(engine) and threads is None:
        from mercer.engines.cluster import Cluster, is_in_task  # which import this module

        if is_in_task():
            return Threads(1, memory=memory, progress=progress)
        return Cluster(engine, memory=memory, progress=progress)
    is_engine = not isinstance(engine, str) and hasattr(engine, "product_and_squares")
    if not is_engine and not _is_cluster(engine):
        raise InvalidParameter(
            "engine must be 'auto', 'gpu', 'dask', a client of Dask's or an engine, found "
            f"{engine!r}"
        )
    if threads is not None or memory is not None:
        name = "memory" if threads is None else "threads"
        raise InvalidParameter(
            f"give {name} to the engine, which decides it: engine=Threads(count, memory=...); a "
            "cluster has the threads of its workers"
        )
    return cast(Engine, engine)


def held_elsewhere(data: Any) -> Any:
    """Return a Dask collection as rows that stay on the cluster in use, or on the active one."""
    engine: Any = _in_use.get()
    if not hasattr(data, "to_delayed"):
        return data
    if not hasattr(engine, "hold"):
        try:
            engine = engine_of("dask")
        except InvalidParameter:  # no cluster is active
            refuse_lazy(data, "X")
            raise
    return engine.hold(data)


def engine_on(points: Sequence[Any], engine: Engine) -> Engine:
    """Return the engine of the device that points lie on: the one given, where it is of there."""
    from mercer.engines.gpu import Gpu  # which imports this module

    devices = sorted({str(side.tensor.device) for side in points})
    if len(devices) > 1:
        raise InvalidInput(
            f"points of one matrix lie on {' and '.join(devices)}: bring them to one device first"
        )
    if not isinstance(engine, Gpu):
        return Gpu(devices[0], memory=engine.memory, progress=getattr(engine, "progress", None))
    if engine.is_on(devices[0]):
        return engine
    raise InvalidInput(
        f"the points lie on {devices[0]} and the engine computes on {engine.device}: bring them "
        f"there first, or leave engine='auto', which computes where they are"
    )


def _is_cluster(engine: Any) -> bool:
    """Whether an engine is the cluster that is active, or a client of one."""
    home = type(engine).__module__.partition(".")[0]
    return bool(engine == "dask" if isinstance(engine, str) else home == "distributed")


def engine_word(engine: Any) -> str | None:
    """Return the word that asks for an engine elsewhere, None where it can be described itself.

    A cluster and a GPU are of one process and machine: a model that was stored asks for them anew.
    """
    is_ours = isinstance(engine, Threads)
    if (is_ours and hasattr(engine, "client")) or (
        not isinstance(engine, str) and _is_cluster(engine)
    ):
        return "dask"
    device = getattr(engine, "device", None) if is_ours else None
    if device is None:
        return None
    return "auto" if device == "cpu" else "gpu"


class Threads:
    """An engine that shares tiles among threads.

    With ``is_deterministic`` each thread has its own fixed tiles, so that sums are formed in the
    same order every time; without it threads take the next tile when they are free. ``memory`` is
    a budget such as ``"4GB"``: what a computation does not need is used to keep tiles.
    ``progress`` is called with how many tiles of a pass are done, and how many there are.
    """

    single_enough, single_name, checked_rows = SINGLE_ENOUGH, "single precision", 0
    single_gain = 2.0

    def __init__(
        self,
        count: int | None = None,
        *,
        memory: Any = None,
        is_deterministic: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.count = count or getattr(_in_use.get(), "count", None) or _cores()
        self.memory = memory_bytes(memory)
        self.is_deterministic = is_deterministic
        self.progress = progress

    @contextmanager
    def session(self) -> Iterator[None]:
        """Keep the threads, and keep BLAS to one of its own between passes too.

        Its idle threads spin for some time after every call, on the cores the tiles need.
        """
        with self._pool():
            yield

    @contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor]:
        """Return the threads of the session this thread is in, or fresh ones."""
        pools = _sessions.__dict__.setdefault("pools", dict[int, ThreadPoolExecutor]())
        if self.count in pools:
            yield pools[self.count]
            return
        with one_blas_thread(), ThreadPoolExecutor(self.count) as pool:
            pools[self.count] = pool
            try:
                yield pool
            finally:
                del pools[self.count]

    def product(self, tiles: Tiles, vectors: Array, progress: Progress | None = None) -> Array:
        if tiles.factors is not None:
            return tiles.factors.product(vectors.astype(np.result_type(vectors, np.float64)))
        return self.product_and_squares(tiles, vectors, None, progress)[0]

    def products(self, tiles: Tiles, blocks: Sequence[Array]) -> list[Array]:
        images = self.product(tiles, np.hstack(blocks))
        ends = np.cumsum([block.shape[1] for block in blocks])
        return [
            images[:, end - block.shape[1] : end] for end, block in zip(ends, blocks, strict=True)
        ]

    def product_and_squares(
        self, tiles: Tiles, vectors: Array, weights: Array | None, progress: Progress | None = None
    ) -> tuple[Array, float]:
        n, _ = tiles.shape
        operand = pad_columns(vectors, _precision(vectors.dtype, tiles.dtype))
        adjoint = np.ascontiguousarray(operand.conj().T) if tiles.is_symmetric else operand
        blocks = tiles.blocks()
        dtype = np.result_type(vectors.dtype, np.float64, tiles.dtype)

        def work(mine: Iterator[Block]) -> tuple[Array, float]:
            total, squares = np.zeros((n, operand.shape[1]), dtype), 0.0
            square = _squares(weights) if weights is not None else None
            for block in mine:
                tile = tiles.tile(block)
                is_used_twice = tiles.is_symmetric and not block.is_diagonal
                images, right = total[block.rows], operand[block.columns]
                for strip in strips_of(tile.shape, right.shape[1]):
                    images[strip] += tile[strip] @ right
                if is_used_twice:
                    # (V* K)* rather than K* V: a tile's columns lie far apart in memory.
                    images, left = total[block.columns], adjoint[:, block.rows]
                    for strip in strips_of(tile.T.shape, len(left)):
                        images[strip] += (left @ tile[:, strip]).conj().T
                if square is not None:
                    squares += square(tile, block) * (2.0 if is_used_twice else 1.0)
            return total, squares

        parts = self.share(work, blocks, progress or self.progress)
        total = parts[0][0]
        for other, _ in parts[1:]:
            total += other
        return total[:, : vectors.shape[1]], sum(part[1] for part in parts)

    def rounding(self, tiles: Tiles, largest: float) -> Rounding:
        return rounding(tiles, largest)

    def landmarks(self, n: int) -> int:
        return MOST_LANDMARKS

    def usual_rounding(
        self, single: Tiles, double: Tiles, value: float, *, is_centred: bool
    ) -> float:
        """Return what sums of a tile lose, and the largest error of an entry of some rows.

        Copies of a point have the same error at all their places, which adds up like a value of
        the kernel, and squared distances of points that lie far apart have large ones.
        """
        return SINGLE_ROUNDING * value + _largest_gap(single, double)

    def each(self, tiles: Tiles) -> Iterator[tuple[Block, Array]]:
        blocks = tiles.blocks()
        for done, block in enumerate(blocks, 1):
            yield block, tiles.tile(block)
            if self.progress is not None:
                self.progress(done, len(blocks))

    def factor(
        self,
        tiles: Tiles,
        root: Array,
        *,
        is_held: bool = False,
        place: Callable[..., Array] = np.empty,
    ) -> Array:
        n, m = tiles.shape
        factor = place((n, root.shape[1]), root.dtype)

        def fill(rows: slice) -> None:
            tile = tiles.tile(Block(rows, slice(0, m)))
            for part in chunks(m, Limits.triangle_columns):  # the root is 0 below its diagonal
                np.matmul(tile[:, : part.stop], root[: part.stop, part], out=factor[rows, part])

        self.over_rows(fill, n, tiles.size)
        return factor

    def over(
        self,
        work: Callable[[Item], None],
        items: Sequence[Item],
        progress: Progress | None = None,
    ) -> None:
        """Do the work of every item, in threads where there are several."""

        def run(mine: Iterable[Item]) -> None:
            for item in mine:
                work(item)

        if len(items) > 1:
            self.share(run, items, progress)
        else:
            copy_context().run(_compiled, run, items)

    def over_rows(self, work: Callable[[slice], None], n: int, size: int | None = None) -> None:
        self.over(work, _parts(n, size))

    def sum_over_rows(
        self, work: Callable[[slice], Array], n: int, size: int | None = None
    ) -> Array:
        total, parts = _OrderedSum(), list(enumerate(_parts(n, size)))

        def add(part: tuple[int, slice]) -> None:
            number, rows = part
            total.add(number, work(rows))

        self.over(add, parts)
        return np.asarray(total.value)

    def share(
        self,
        work: Callable[[Iterator[Item]], T],
        items: Sequence[Item],
        progress: Progress | None = None,
    ) -> list[T]:
        """Run one worker in each thread over its share of the items; results in thread order."""
        count = max(1, min(self.count, len(items)))
        stop, lock = Event(), Lock()
        numbers, done = iter(range(len(items))), [0]

        def watched(mine: Iterator[Item]) -> Iterator[Item]:
            for item in mine:
                if stop.is_set():
                    return
                yield item
                if progress is not None:
                    with lock:
                        done[0] += 1
                        progress(done[0], len(items))

        def next_free() -> Iterator[Item]:
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                yield items[number]

        def run(index: int) -> T:
            fixed = (items[number] for number in range(index, len(items), count))
            mine = fixed if self.is_deterministic else next_free()
            try:
                return _compiled(work, watched(mine))
            except BaseException:
                stop.set()  # for the others, whose results nobody will want
                raise

        with self._pool() as pool:
            try:
                futures = [pool.submit(copy_context().run, run, i) for i in range(count)]
                return [future.result() for future in futures]
            except BaseException:
                stop.set()  # also on Ctrl-C: every thread returns after the tile it is at
                raise


class Core(Threads):
    """An engine that computes in the thread that calls it, as a task of a cluster has one."""

    def __init__(self) -> None:
        super().__init__(1)

    def share(
        self,
        work: Callable[[Iterator[Item]], T],
        items: Sequence[Item],
        progress: Progress | None = None,
    ) -> list[T]:
        with one_blas_thread():
            return [copy_context().run(_compiled, work, iter(items))]


@cache
def fastest_exponential() -> Callable[[Array, float], Array]:
    """Return a function that replaces an array by exp(factor·a), as fast as this machine can.

    numpy's own is a scalar loop in double precision on processors without AVX-512.
    """
    if find_spec("numba") is None:
        return numpy_exponential

    def compiled(a: Array, factor: float) -> Array:
        if a.size < Limits.small_array or not a.flags.c_contiguous:
            return numpy_exponential(a, factor)
        from mercer.engines.compiled_loops import exp_double, exp_single  # which loads numba

        if a.dtype == np.float64:
            exp_double(a.reshape(-1), float(factor))
            return a
        if a.dtype == np.float32:
            exp_single(a.reshape(-1), np.float32(factor))
            return a
        return numpy_exponential(a, factor)

    return compiled


def _largest_gap(single: Tiles, double: Tiles) -> float:
    """Return how far entries in single precision are from double precision, on some rows."""
    if single.prepared is None or not isinstance(single.x, np.ndarray):
        return 0.0  # values of the host, rounded once, or points that lie elsewhere
    n, m = single.shape
    some = single.x[np.linspace(0, n - 1, min(n, Limits.compared_rows)).astype(int)]
    rows, near, exact = slice(0, len(some)), single.rows(some), double.rows(some)
    gaps = (
        np.max(np.abs(near.tile(Block(rows, part)) - exact.tile(Block(rows, part))), initial=0.0)
        for part in chunks(m, single.size)
    )
    largest = float(max(gaps, default=0.0))
    return largest if np.isfinite(largest) else float(np.inf)
