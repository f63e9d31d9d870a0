"""Subsets of replicates, their networks, and the products of these networks, draw by draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from threading import Event
from typing import TypeVar

import numpy as np

from mercer.check import Array, chunks
from mercer.networks.comparing import Comparison, checked
from mercer.networks.expression import Expression
from mercer.resampling import Resampling

T = TypeVar("T")
R = TypeVar("R")

TOGETHER = 5
"""Draws computed by one call: enough that progress is seen, and few enough to share out."""


def shared_out(
    work: Callable[[T, Event], R], tasks: Sequence[T], draws: Resampling, before: int = 0
) -> Iterator[tuple[T, R]]:
    """Yield tasks and their results in order; say how many are done, those before included."""
    with closing(draws.in_order(work, tasks)) as results:
        for done, (task, result) in enumerate(zip(tasks, results, strict=True), before + 1):
            yield task, result
            if draws.progress is not None:
                draws.progress(done, draws.count)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The networks of one size: their Gram matrices, and the first ones themselves."""

    grams: Array
    networks: Array
    is_split: bool


@dataclass(frozen=True, eq=False)
class Drawing:
    """How subsets are drawn: every draw depends on the seed, its size and its number alone."""

    expression: Expression
    infer: Callable[[Array], Array]
    compare: Comparison
    full: Array
    seed: int

    def is_split(self, size: int) -> bool:
        """Whether every condition has two disjoint sets of so many replicates."""
        return 2 * size <= min(self.expression.replicates)

    def networks(self, size: int, draw: int) -> Array:
        """Return the networks of one draw: one set of each condition, and a disjoint second."""
        rng = np.random.default_rng([self.seed, size, draw])
        sets = 2 if self.is_split(size) else 1
        orders = [rng.permutation(rows)[: sets * size] for rows in self.expression.rows]
        return np.stack(
            [
                self.inferred(self.expression.values[order[k * size : (k + 1) * size]])
                for k in range(sets)
                for order in orders
            ]
        )

    def inferred(self, x: Array) -> Array:
        return checked(self.infer(x), x.shape[1], self.infer)

    def tasks(self, sizes: tuple[int, ...], draws: int) -> list[tuple[int, slice]]:
        """Return the pieces of work: a size, and some of its draws."""
        return [(size, part) for size in sizes for part in chunks(draws, TOGETHER)]

    def run(
        self,
        tasks: Sequence[tuple[int, slice]],
        draws: Resampling,
        *,
        kept: int,
    ) -> dict[int, Drawn]:
        """Return what was drawn of each size; the first ``kept`` networks are kept."""

        def work(task: tuple[int, slice], stop: Event) -> tuple[Array, Array]:
            size, part = task
            grams, first = [], []
            for draw in range(part.start, part.stop):
                if stop.is_set():
                    break
                networks = self.networks(size, draw)
                grams.append(self.compare.gram(np.concatenate([networks, self.full])))
                if draw < kept:
                    first.append(networks[: len(self.full)])
            none = np.zeros((0, *self.full.shape))
            return np.array(grams), np.array(first) if first else none

        found: dict[int, list[tuple[Array, Array]]] = {size: [] for size, _ in tasks}
        for (size, _), result in shared_out(work, tasks, draws):
            found[size].append(result)
        return {size: self._joined(size, pieces) for size, pieces in found.items()}

    def _joined(self, size: int, pieces: list[tuple[Array, Array]]) -> Drawn:
        grams, networks = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        return Drawn(grams, networks, self.is_split(size))
