"""Tiles over the threads of this machine, one BLAS thread for each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from threading import Event, Lock
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from mercer.check import Array
from mercer.engines.base import Progress
from mercer.engines.compiled import fastest_exponential
from mercer.engines.tiles import Block, Tiles
from mercer.kernels.pairs import exponential

T = TypeVar("T")


@cache
def _blas() -> ThreadpoolController:
    """Return the handle of the linear algebra libraries, found once."""
    return ThreadpoolController()


class Threads:
    """An engine that shares tiles among threads.

    With ``is_deterministic`` each thread has its own fixed tiles, so that sums are formed in the
    same order every time; without it threads take the next tile when they are free.
    """

    def __init__(self, count: int | None = None, *, is_deterministic: bool = False) -> None:
        self.count = count or len(os.sched_getaffinity(0))
        self.is_deterministic = is_deterministic

    def product(self, tiles: Tiles, vectors: Array, progress: Progress | None = None) -> Array:
        return self.product_and_squares(tiles, vectors, None, progress)[0]

    def product_and_squares(
        self, tiles: Tiles, vectors: Array, weights: Array | None, progress: Progress | None = None
    ) -> tuple[Array, float]:
        n, _ = tiles.shape
        operand = np.ascontiguousarray(vectors, np.float32 if tiles.single else None)
        blocks = tiles.blocks()
        dtype = np.result_type(vectors.dtype, np.float64, tiles.dtype)

        def work(mine: Iterator[Block]) -> tuple[Array, float]:
            total, squares = np.zeros((n, vectors.shape[1]), dtype), 0.0
            for block in mine:
                tile = tiles.tile(block)
                is_used_twice = tiles.is_symmetric and not block.is_diagonal
                total[block.rows] += tile @ operand[block.columns]
                if is_used_twice:
                    total[block.columns] += tile.conj().T @ operand[block.rows]
                if weights is not None:
                    part = weights[block.rows] @ (np.abs(tile) ** 2) @ weights[block.columns]
                    squares += float(part) * (2.0 if is_used_twice else 1.0)
            return total, squares

        parts = self._share(work, blocks, progress)
        products = [part[0] for part in parts]
        return sum(products[1:], start=products[0]), sum(part[1] for part in parts)

    def each(self, tiles: Tiles) -> Iterator[tuple[Block, Array]]:
        for block in tiles.blocks():
            yield block, tiles.tile(block)

    def _share(
        self, work: Callable[[Iterator[Block]], T], blocks: list[Block], progress: Progress | None
    ) -> list[T]:
        """Run one worker in each thread over its share of the blocks; results in thread order."""
        count = max(1, min(self.count, len(blocks)))
        stop, lock = Event(), Lock()
        queue, done = iter(blocks), [0]

        def watched(mine: Iterator[Block]) -> Iterator[Block]:
            for block in mine:
                if stop.is_set():
                    return
                yield block
                if progress is not None:
                    with lock:
                        done[0] += 1
                        progress(done[0], len(blocks))

        def next_free() -> Iterator[Block]:
            while True:
                with lock:
                    block = next(queue, None)
                if block is None:
                    return
                yield block

        def run(index: int) -> T:
            exponential.set(fastest_exponential())
            mine = iter(blocks[index::count]) if self.is_deterministic else next_free()
            return work(watched(mine))

        with _blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(count) as pool:
            try:
                futures = [pool.submit(copy_context().run, run, i) for i in range(count)]
                return [future.result() for future in futures]
            except BaseException:
                stop.set()  # also on Ctrl-C: every thread returns after the tile it is at
                raise
