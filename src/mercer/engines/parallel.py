"""Pieces of work in threads, their results in order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice
from threading import Event
from typing import Protocol, TypeVar, runtime_checkable

from mercer.engines.cpu import Threads, engine_in_use

T = TypeVar("T")
Item = TypeVar("Item")

AHEAD = 2
"""Pieces of work queued for each thread, so that none waits and little is thrown away."""


@runtime_checkable
class SharesOut(Protocol):
    """An engine that has others do whole pieces of work."""

    def in_order(
        self, work: Callable[[Item, Event], T], items: Iterable[Item]
    ) -> Generator[T, None, None]: ...


def in_order(
    work: Callable[[Item, Event], T], items: Iterable[Item], threads: int | None = None
) -> Generator[T, None, None]:
    """Yield the results of work on items in their order, computed in threads.

    Items may be made as they are needed, by the thread that asks for results. Linear algebra has
    one thread in each. When the caller stops or is interrupted, ``work`` is told by its event and
    should return soon. On a cluster (`mercer.engines.cluster.on_cluster`) the workers do it.

    >>> list(in_order(lambda i, stop: i * i, range(4), threads=2))
    [0, 1, 4, 9]
    """
    chosen = engine_in_use()
    if isinstance(chosen, SharesOut):
        yield from chosen.in_order(work, items)
        return
    engine, stop, waiting = Threads(threads), Event(), iter(items)
    with engine.session():
        first = list(islice(waiting, AHEAD * engine.count))
        count = min(engine.count, len(first))
        if count <= 1:
            for item in (*first, *waiting):
                yield work(item, stop)
            return
        with ThreadPoolExecutor(count) as pool:

            def submit(item: Item) -> Future[T]:
                return pool.submit(copy_context().run, work, item, stop)

            queue = [submit(item) for item in first]
            try:
                while queue:
                    result = queue.pop(0).result()
                    queue.extend(submit(item) for item in islice(waiting, 1))
                    yield result
            finally:
                stop.set()
                for future in queue:
                    future.cancel()
