"""What a computation on a cluster costs, counted before it starts: tasks, messages, bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.display import Shown
from mercer.engines.tiles import TILE
from mercer.settings import readable

FAN = 8
"""Partial products that one task adds up."""

TASKS_PER_CORE = 8
"""Pairs of blocks for each core of the cluster, so that none waits long for the last ones."""

MOST_BYTES = 2**26
"""The size of a block of points: what a worker holds of two of them, prepared, is small."""

PIECE = 2**22
"""Bytes that one message of Dask's takes without a remark on its size."""

TASK = 6e-4
"""Seconds that the scheduler and the client take for a task, one after the other."""

BANDWIDTH = 1.25e9
"""Bytes that a machine sends in a second, 10 Gbit/s."""

GPU_ENTRY, GPU_COLUMN, GPU_BLOCK = 0.65e-12, 9.3e-15, 16
"""Seconds for an entry of the matrix on one GPU, for each variable, up to so many vectors.

They are those of an H200 and products of split halves, measured with 20 and 50 variables.
"""


def block_rows(n: int, width: int, cores: int) -> int:
    """Return how many points a block has: each core gets several pairs of blocks.

    >>> block_rows(20_000, 20, 2), block_rows(10**9, 50, 512)
    (3840, 167772)
    """
    usual = -(-n // max(1, int(np.ceil(np.sqrt(2 * TASKS_PER_CORE * cores)))))
    most = max(TILE, MOST_BYTES // (8 * max(width, 1)))
    return max(1, min(most, TILE * -(-usual // TILE)))


@dataclass(frozen=True, repr=False)
class Workers(Shown):
    """The machines of a cluster: how many, the cores or GPUs of each, and their network."""

    facts: ClassVar[Mapping[str, str]] = {
        "count": "workers",
        "cores": "of each",
        "gpus": "of each",
        "bandwidth": "bytes a second, of each",
    }

    count: int
    cores: int = 1
    gpus: int = 0
    bandwidth: float = BANDWIDTH


@dataclass(frozen=True, repr=False)
class ClusterCost(Shown):
    r"""What passes over all pairs of n points take on a cluster.

    With B blocks of points, W workers and b vectors a pass is :math:`B(B+1)/2` tasks and a tree of
    sums, ``between`` workers move the vectors to all of them, :math:`8nb(W-1)`, and of the partial
    products, :math:`8nbB` at first, the part that does not lie where it is added. Points, of d
    numbers each, move to all workers once, :math:`8nd(W-1)`. Vectors and products also go from and
    to the client, ``with_client``.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "blocks": "of points",
        "tasks": "in all",
        "messages": "in all",
        "flops": "operations in all",
        "between": "bytes that workers send each other",
        "with_client": "bytes that the client sends and receives",
        "seconds": "that it takes, about",
    }

    blocks: int
    tasks: int
    messages: int
    flops: float
    between: int
    with_client: int
    seconds: float
    workers: Workers

    def __str__(self) -> str:
        has_gpus = self.workers.gpus > 0
        each = self.workers.gpus if has_gpus else self.workers.cores
        name = ("GPU" if has_gpus else "core") + "s" * (each > 1)
        return (
            f"{self.workers.count} workers of {each} {name}: {self.tasks} tasks on {self.blocks} "
            f"blocks of points, {self.flops:.2g} operations, {self.messages} messages; "
            f"{readable(self.between)} between workers, {readable(self.with_client)} to and from "
            "the client"
        )


def tree_blocks(blocks: int) -> list[tuple[int, int]]:
    """Return of each level of the sums how many partial products it has, and blocks in all of them.

    The pairs of blocks are in the order of a triangle's rows, of which a sum has some in a row.

    >>> tree_blocks(3)
    [(6, 9), (1, 3)]
    """
    pairs = blocks * (blocks + 1) // 2
    levels, covered = [(pairs, blocks * blocks)], 1
    while levels[-1][0] > 1:
        covered *= FAN
        nodes = -(-levels[-1][0] // FAN)
        levels.append((nodes, nodes * min(covered + 1, blocks)))
    return levels


def cluster_cost(
    n: int,
    d: int,
    block: int,
    passes: int,
    workers: Workers,
    pair_seconds: float,
    *,
    rows: int | None = None,
    landmarks: int = 0,
) -> ClusterCost:
    """Return what some passes with a block of vectors cost, each pair of points such seconds.

    ``landmarks`` are those of a factor that is made before, or alone where there are no passes.

    >>> cost = cluster_cost(20_000, 20, 12, 6, Workers(4), 5e-9)
    >>> cost.blocks, cost.tasks
    (8, 314)
    """
    cores, others = workers.count * workers.cores, workers.count - 1
    rows = rows or block_rows(n, d, cores)
    number = -(-n // rows)
    levels = tree_blocks(number)
    sums = sum(nodes for nodes, _ in levels[1:])
    pieces = _tasks_to_send(8 * rows * block)
    one_pass = levels[0][0] + sums + number * pieces + 1
    once = number * (_tasks_to_send(8 * rows * d) + bool(landmarks)) + 3 * bool(landmarks)
    share, unit = others / workers.count, 8 * rows * block  # what lies elsewhere, as a rule
    partial_blocks = sum(held for _, held in levels[:-1])
    a_pass = 8 * n * block * others + int(share * unit * partial_blocks)
    fetched = number * others + share * sum(nodes for nodes, _ in levels[:-1])
    with_client = passes * 16 * n * block + 8 * n * d + 8 * n * landmarks
    tasks = passes * one_pass + once
    entries = passes * float(n) ** 2 / 2.0 + float(n) * landmarks
    flops = entries * (2.0 * (d + 2) + 20.0) + passes * 2.0 * float(n) ** 2 * block
    if workers.gpus:  # which do not use the symmetry
        entry = (GPU_ENTRY + GPU_COLUMN * d) * max(1.0, block / GPU_BLOCK)
        computing = 2.0 * entries * entry / (workers.count * workers.gpus)
    else:
        computing = entries * pair_seconds / cores
    between = passes * a_pass + 8 * n * d * others
    network = between / (workers.count * workers.bandwidth)
    seconds = max(computing + network, tasks * TASK) + with_client / workers.bandwidth
    return ClusterCost(
        blocks=number,
        tasks=tasks,
        messages=2 * tasks + 2 * int(passes * fetched + number * others),
        flops=flops,
        between=between,
        with_client=with_client,
        seconds=seconds,
        workers=workers,
    )


def _tasks_to_send(size: int) -> int:
    """Return the tasks by which a value of so many bytes comes to a worker."""
    pieces = -(-size // PIECE)
    return 1 if pieces <= 1 else pieces + 1
