"""What a computation on a cluster costs, counted before it starts: tasks, messages, bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from mercer.check import chunks
from mercer.display import Shown
from mercer.engines.limits import Limits
from mercer.settings import duration, readable

FAN = 16
"""Partial products that one task adds up."""

ADDED_HERE = 2
"""Partial products that the client adds up itself: to fetch them takes no longer than to fetch one
from a worker that has fetched the other."""

SMALL_TASK = 2**26
"""Pairs of points of a task, unless a core has them all: a tenth of a second, or more."""

MOST_TASKS = 16
"""Tasks of a pass for each core where these last, so that no core waits long for the last ones."""

PAIRS_OF_A_TASK, MOST_PAIRS = 16, 32
"""Pairs of blocks of a task: all tasks then take nearly as long, and need a dozen blocks or so."""

FINEST = 256
"""Blocks that are told apart where what moves between workers is counted."""

MOST_BYTES = 2**26
"""The size of a block of points: what a worker holds of two of them, prepared, is small."""

PIECE = 2**22
"""Bytes that one message of Dask's takes without a remark on its size."""

FULL_PIECE = PIECE - 2**16
"""Bytes of vectors that are sent as one value, with what says how they lie."""

TASK = 6e-4
"""Seconds that the scheduler and the client take for a task, one after the other."""

BANDWIDTH = 1.25e9
"""Bytes that a machine sends in a second, 10 Gbit/s."""

GPU_ENTRY, GPU_COLUMN, GPU_BLOCK = 0.65e-12, 9.3e-15, 16
"""Seconds for an entry of the matrix on one GPU, for each variable, up to so many vectors.

They are those of an H200 and products of split halves, measured with 20 and 50 variables.
"""


def tasks_of_pass(n: int, cores: int) -> int:
    """Return by how many tasks a pass over all pairs of points is made, at the least.

    >>> tasks_of_pass(20_000, 2), tasks_of_pass(10**6, 8)
    (2, 128)
    """
    return cores * min(max(n * n // (2 * cores * SMALL_TASK), 1), MOST_TASKS)


def block_rows(n: int, width: int, cores: int) -> int:
    """Return how many points a block has: each task gets several pairs of blocks.

    >>> block_rows(20_000, 20, 2), block_rows(10**9, 50, 512)
    (2560, 167772)
    """
    pairs = PAIRS_OF_A_TASK * tasks_of_pass(n, cores)
    usual = -(-n // max(1, int(np.ceil(np.sqrt(2 * pairs)))))
    most = max(Limits.tile, MOST_BYTES // (8 * max(width, 1)))
    return max(1, min(most, Limits.tile * -(-usual // Limits.tile)))


OPERATIONS, BETWEEN, TASKS = "operations take", "sending between workers", "scheduling tasks"
TO_CLIENT, BY_CLIENT = "sending to and from the client", "what the client computes"
"""What takes time, as it is told."""

TOLD = 1.0
"""Seconds that are told, and not less."""

Pairs = list[tuple[int, int]]


def shares(lengths: Sequence[int], cores: int) -> list[Pairs]:
    """Return the pairs of blocks of such lengths that each task of a pass computes.

    Each pair is there once, on or above the diagonal, and all tasks take nearly as long. Pairs
    follow a curve that fills the plane, so that those of a task, and of the tasks next to it, lie
    in a square and need few blocks.

    >>> shares([10, 10, 10], 2)
    [[(0, 0), (0, 1), (1, 1)], [(0, 2), (1, 2), (2, 2)]]
    """
    number = len(lengths)
    pairs = sorted(((i, j) for i in range(number) for j in range(i, number)), key=_place)
    work = [lengths[i] * lengths[j] * (1 if i == j else 2) for i, j in pairs]
    count = max(tasks_of_pass(sum(lengths), cores), -(-len(pairs) // MOST_PAIRS))
    made: list[Pairs] = [[] for _ in range(count)]
    done, total = 0, sum(work)
    for pair, takes in zip(pairs, work, strict=True):
        made[min(count - 1, count * (2 * done + takes) // (2 * total))].append(pair)
        done += takes
    return [share for share in made if share]


def groups(lengths: Sequence[int], row_bytes: int) -> list[range]:
    """Return which blocks of such lengths have their vectors sent as one value.

    A task for each costs more than to send a worker some that it does not need.

    >>> groups([40_000] * 3, 96), groups([20_000] * 5, 96)
    ([range(0, 1), range(1, 2), range(2, 3)], [range(0, 2), range(2, 4), range(4, 5)])
    """
    ends, size = [0], 0
    for number, length in enumerate(lengths):
        size += length * row_bytes
        if size > FULL_PIECE and number > ends[-1]:
            ends.append(number)
            size = length * row_bytes
    return [range(*pair) for pair in pairwise([*ends, len(lengths)])]


def _place(pair: tuple[int, int]) -> int:
    """Return the place of a pair on Morton's curve, which takes the bits of both in turn."""
    i, j = (f"{number:032b}" for number in pair)
    return int("".join(map("".join, zip(i, j, strict=True))), 2)


def home_of(task: int, tasks: int, workers: int) -> int:
    """Return the worker that a task of a pass is meant for: its neighbours are there too."""
    return task * workers // tasks


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

    With B blocks of points the :math:`B(B+1)/2` pairs of them are shared among tasks, each a square
    of pairs, as a rule; a tree adds up what they return. ``between`` workers move, in each pass,
    the b vectors of a block to all that need it, and partial products to where others of the same
    sum lie; points, of d numbers each, move once, as the vectors do. Vectors and products also go
    from and to the client, ``with_client``.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "blocks": "of points",
        "tasks": "in all",
        "messages": "in all",
        "flops": "operations in all",
        "between": "bytes that workers send each other",
        "with_client": "bytes that the client sends and receives",
        "seconds": "that it takes, about",
        "takes": "what takes how many of them",
    }

    blocks: int
    tasks: int
    messages: int
    flops: float
    between: int
    with_client: int
    takes: Mapping[str, float]
    workers: Workers

    @property
    def seconds(self) -> float:
        """What all of it takes: the scheduler is at work while workers are, the client after."""
        workers = self.takes[OPERATIONS] + self.takes[BETWEEN]
        return max(workers, self.takes[TASKS]) + self.takes[TO_CLIENT] + self.takes[BY_CLIENT]

    def __str__(self) -> str:
        has_gpus = self.workers.gpus > 0
        each = self.workers.gpus if has_gpus else self.workers.cores
        name = ("GPU" if has_gpus else "core") + "s" * (each > 1)
        machines = "worker" + "s" * (self.workers.count > 1)
        shares = self._shares()
        return (
            f"{self.workers.count} {machines} of {each} {name}: {self.tasks} tasks "
            f"on {self.blocks} blocks of points, {self.flops:.2g} operations, "
            f"{self.messages} messages; "
            f"{readable(self.between)} between workers, {readable(self.with_client)} to and from "
            "the client" + (f"\n{shares}" if shares else "")
        )

    def _shares(self) -> str:
        """Return what takes how long, the longest first."""
        longest = sorted(self.takes.items(), key=lambda item: item[1], reverse=True)
        return ", ".join(
            f"{what} {duration(seconds).removeprefix('about ')}"
            for what, seconds in longest
            if seconds >= TOLD
        )

    def with_client_work(self, seconds: float) -> ClusterCost:
        """Return the cost with what the client computes itself."""
        return replace(self, takes={**self.takes, BY_CLIENT: seconds})


class Moved(NamedTuple):
    """What a pass moves, in rows of points, of vectors and of products, and in how many values.

    Points move before the first; what is ``returned`` goes to the client.
    """

    points: int
    vectors: int
    products: int
    returned: int
    sums: int
    fetched: int


@cache
def traffic_of(lengths: tuple[int, ...], workers: int, cores: int, row_bytes: int) -> Moved:
    """Return what a pass moves: vectors to who needs them, and sums to where others of them are.

    Dask takes in vectors anywhere, and makes a sum where most of what it adds lies.

    >>> traffic_of((10, 10, 10), 2, 2, 8)
    Moved(points=25, vectors=30, products=0, returned=50, sums=0, fetched=1)
    """
    needed = [{i for pair in share for i in pair} for share in shares(lengths, cores)]
    parts = [(home_of(t, len(needed), workers), blocks) for t, blocks in enumerate(needed)]

    def users(several: Iterable[int]) -> int:
        return len({home for home, blocks in parts if not blocks.isdisjoint(several)})

    def rows(several: Iterable[int]) -> int:
        return sum(lengths[i] for i in several)

    together = groups(lengths, row_bytes)
    blocks_sent = sum(length * users([i]) for i, length in enumerate(lengths))
    groups_sent = sum(rows(few) * users(few) for few in together)
    fetched = sum(users(few) for few in together) - len(together)
    products = sums = 0
    while len(parts) > ADDED_HERE:
        level = []
        for few in chunks(len(parts), FAN):
            held: dict[int, int] = {}
            for home, blocks in parts[few]:
                held[home] = held.get(home, 0) + rows(blocks)
            there = max(held, key=held.__getitem__)
            products += sum(held.values()) - held[there]
            fetched += sum(home != there for home, _ in parts[few])
            level.append((there, set[int]().union(*(blocks for _, blocks in parts[few]))))
        parts, sums = level, sums + len(level)
    return Moved(
        points=blocks_sent * (workers - 1) // workers,  # one that needs it may have it already
        vectors=groups_sent * (workers - 1) // workers,
        products=products,
        returned=sum(rows(blocks) for _, blocks in parts),
        sums=sums,
        fetched=fetched,
    )


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
    (11, 53)
    """
    cores, others = workers.count * workers.cores, workers.count - 1
    rows = rows or block_rows(n, d, cores)
    number = -(-n // rows)
    told = min(number, FINEST)
    lengths = tuple(part.stop - part.start for part in chunks(n, -(-n // told)))
    if number == told:
        lengths = tuple(part.stop - part.start for part in chunks(n, rows))
    move = traffic_of(lengths, workers.count, cores, 8 * block)
    pairs = number * (number + 1) // 2
    parts = min(pairs, max(tasks_of_pass(n, cores), -(-pairs // MOST_PAIRS)))
    one_pass = parts + _sums(parts) + _tasks_of_vectors(n, rows, block)
    once = number * (_tasks_to_send(8 * rows * d) + bool(landmarks)) + 3 * bool(landmarks)
    once += workers.count + 2  # each holds what its tasks need; a formula in both precisions
    a_pass = 8 * block * (move.vectors + move.products)
    points = 8 * d * move.points
    with_client = passes * 8 * block * (n + move.returned) + 8 * n * d + 8 * n * landmarks
    tasks = passes * one_pass + once
    entries = passes * float(n) ** 2 / 2.0 + float(n) * landmarks
    flops = entries * (2.0 * (d + 2) + 20.0) + passes * 2.0 * float(n) ** 2 * block
    if workers.gpus:  # which do not use the symmetry
        entry = (GPU_ENTRY + GPU_COLUMN * d) * max(1.0, block / GPU_BLOCK)
        computing = 2.0 * entries * entry / (workers.count * workers.gpus)
    else:
        computing = entries * pair_seconds / cores
    between = passes * a_pass + points
    return ClusterCost(
        blocks=number,
        tasks=tasks,
        messages=2 * tasks + 2 * (passes * move.fetched + number * others),
        flops=flops,
        between=between,
        with_client=with_client,
        takes={
            OPERATIONS: computing,
            BETWEEN: between / (workers.count * workers.bandwidth),
            TASKS: tasks * TASK,
            TO_CLIENT: with_client / workers.bandwidth,
            BY_CLIENT: 0.0,
        },
        workers=workers,
    )


def _sums(parts: int) -> int:
    """Return the tasks that add up so many partial products."""
    total = 0
    while parts > ADDED_HERE:
        parts = -(-parts // FAN)
        total += parts
    return total


def _tasks_of_vectors(n: int, rows: int, block: int) -> int:
    """Return the tasks by which the vectors of all blocks come to workers: see `groups`."""
    together = rows * max(1, FULL_PIECE // (8 * rows * block))
    number, left = divmod(n, together)
    has_room = number > 0 and 8 * block * (together + left) <= FULL_PIECE
    return (number + (left > 0 and not has_room)) * _tasks_to_send(8 * rows * block)


def _tasks_to_send(size: int) -> int:
    """Return the tasks by which a value of so many bytes comes to a worker."""
    pieces = -(-size // PIECE)
    return 1 if pieces <= 1 else pieces + 1
