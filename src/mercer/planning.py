"""What a computation will cost, before it starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from tempfile import gettempdir
from time import perf_counter, process_time
from typing import Any, ClassVar, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from mercer.display import Shown
from mercer.engines.cluster_cost import ClusterCost, Workers, cluster_cost
from mercer.engines.cpu import Threads, engine_of
from mercer.engines.engine import Engine
from mercer.engines.limits import Limits as EngineLimits
from mercer.errors import Advice, InvalidParameter
from mercer.gram import KEPT_SHARE, Gram
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian
from mercer.settings import allowed_bytes, duration, is_yes, readable, spelled, whole
from mercer.spectrum.approximate import certified_bytes, landmarks_for
from mercer.spectrum.dense import dense_bytes
from mercer.spectrum.exact import begins_in_double
from mercer.spectrum.leading import chosen_method, smaller
from mercer.spectrum.limits import Limits
from mercer.spectrum.room import (
    Room,
    can_use_files,
    needed_bytes,
    read_columns,
    room_within,
    sizes,
    threads_of,
)

SIDE, MEASURED = 384, 0.01
"""The matrices whose product tells the speed of a core, and the seconds that each work is timed."""

WIDEST = 128
"""Variables of the points that are timed; more cost as their inner products do."""

SLOW_PAIRS = 2e6
"""Pairs of points that a kernel without a fast path takes in a second, at the least."""

CALLS = 3e5
"""Calls of a Python function of two points in a second."""

EXPONENTIAL = 20.0
"""Operations on matrices that one exponential takes as long as."""

SINGLE_PASSES, DOUBLE_PASSES = 4, 1
"""Passes of a usual iteration to a residual of 1e-8."""

WIDE_PASSES = 6
"""Passes of one on many vectors, in double precision."""

TOGETHER, STEP = 1.35, 0.005
"""How much longer tiles take that several threads compute, and the seconds of a pass beside them.

Threads share caches and memory, and sums are larger than those that are timed.
"""

BASIS_WORK = 45.0
"""Operations of a step on the basis, for each point and pair of vectors of a block.

They are products with the basis and its images, of two or three blocks, twice for orthogonality.
"""

SMALL_WORK, FACTOR_WORK = 10.0, 35.0
"""Operations in one thread for each cube of the side of a matrix: of Ritz values, of landmarks.

Of the second, two decompositions, an inverse and its check are made.
"""


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """What a model will do with n individuals: how, at what cost, and why.

    ``memory`` counts bytes beside the data, ``disk`` those of a temporary file that takes what
    memory has no room for, ``seconds`` is an order of magnitude for this machine, and ``passes``
    the times that all pairs of individuals are looked at.

    >>> import mercer as mc
    >>> found = mc.plan(mc.KernelPCA(2), 1000, 4)
    >>> found.method, found.passes
    ('dense', 1)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "reason": "for the method",
        "memory": "in bytes",
        "disk": "bytes of a temporary file",
        "passes": "over all pairs",
        "seconds": "that it takes, about",
        "fits": "into what may be used",
        "alternative": "that fits",
        "cluster": "what its workers do",
    }

    method: str
    reason: str
    memory: int
    passes: int
    seconds: float
    fits: bool
    alternative: str
    advice: tuple[Advice, ...] = ()
    """How to ask for the alternative."""
    cluster: ClusterCost | None = None
    """What passes take on the workers of a cluster."""
    disk: int = 0
    """Bytes of a temporary file, in the folder that TMPDIR names, with the landmarks' factor."""
    allowed: int = 0
    """Bytes of memory that may be used here."""

    def _title(self) -> str:
        return f"Plan: {self.method}"

    def __str__(self) -> str:
        whose = "memory" if self.cluster is None else "memory of the client"
        lines = [
            f"{self.method}: {self.reason}",
            f"{whose} {Room(self.memory, self.disk)}, {self.passes} "
            f"{'pass' if self.passes == 1 else 'passes'} over all pairs, {duration(self.seconds)}",
        ]
        if self.cluster is not None:
            lines.append(str(self.cluster))
        if not self.fits:
            here = readable(self.allowed)
            lines.append(f"that is more than the {here} that may be used here: {self.alternative}")
        return "\n".join(lines)


@spelled
def plan(
    model: Any,
    n: int,
    d: int,
    *,
    on_disk: bool = False,
    workers: int | None = None,
    cores: int = 1,
    gpus: int = 0,
) -> Plan:
    """Return what ``model`` will cost on n individuals of d variables.

    Points ``on_disk``, as `open_points` gives them, take no memory but that of the rows at work.
    On a cluster, that of the model's engine or one of so many ``workers`` with these ``cores`` or
    ``gpus`` each, ``cluster`` counts tasks, messages and bytes; ``memory`` is the client's.

    >>> from mercer import Gaussian, KernelPCA
    >>> cost = plan(KernelPCA(10, kernel=Gaussian(1.0)), 100_000, 20)
    >>> cost.method, cost.fits, cost.memory < 10**9
    ('exact', True, True)
    >>> there = plan(KernelPCA(10, kernel=Gaussian(1.0)), 10**7, 50, workers=64, cores=8)
    >>> there.cluster.blocks, there.cluster.tasks
    (505, 47039)
    """
    n, d = whole(n, "n", least=1), whole(d, "d", least=0)
    if not all(hasattr(model, name) for name in ("n_components", "kernel", "method")):
        raise InvalidParameter(
            f"a plan is made for models with a kernel and a number of axes, found {model!r}"
        )
    asked = model.n_components
    if asked is not None and not isinstance(asked, Integral):
        asked = Limits.most_axes if n > Limits.stored else None  # a share of the inertia
    count = n if asked is None else min(int(asked), n)
    engine = engine_of(model.engine, threads=model.threads, memory=model.memory)
    method = "dense" if asked is None else chosen_method(n, count, model.method)
    held = read_columns(n, d) if is_yes(on_disk, "on_disk") else d
    room, passes, reason = _cost(method, n, held, count, model, engine)
    seconds = _seconds(method, model, n, d, count, engine)
    machines = _machines(engine, workers, cores, gpus)
    cluster = None
    if machines is not None and method in ("exact", "nystrom"):
        beside = _beside(n, count, model, threads_of(engine)) if method == "exact" else 0.0
        cluster = _on_cluster(method, model, n, d, count, machines).with_client_work(beside)
        seconds = cluster.seconds
    allowed = allowed_bytes(engine.memory)
    fits, threads = room.memory <= allowed, threads_of(engine)
    text, advice = smaller(n, held, count, method, allowed, threads=threads)
    alternative: tuple[str, tuple[Advice, ...]] = ("", ()) if fits else (text, (advice,))
    return Plan(
        method,
        reason,
        room.memory,
        passes,
        seconds,
        fits,
        *alternative,
        cluster,
        disk=room.disk,
        allowed=allowed,
    )


class Timed(NamedTuple):
    """The seconds of a work on a core of its own, and here beside what else computes now."""

    alone: float
    here: float


def _lasting(work: Callable[[], Any]) -> Timed:
    """Return the seconds that a work takes, once it has been done before.

    Its shortest time on a core is stretched here by the share of the cores that others take: a
    work of a millisecond may escape them, one of minutes does not.
    """
    work()
    times: list[float] = []
    begun, used = perf_counter(), process_time()
    while perf_counter() - begun < MEASURED or len(times) < 2:
        before = process_time()
        work()
        times.append(process_time() - before)
    stretch = (perf_counter() - begun) / max(process_time() - used, 1e-9)
    return Timed(min(times), min(times) * max(stretch, 1.0))


@cache
def _product() -> Timed:
    """Return the seconds of a product of two matrices on one core, measured once."""
    a = np.random.default_rng(0).standard_normal((SIDE, SIDE))
    with threadpool_limits(1, user_api="blas"):
        return _lasting(lambda: a @ a)


def flops() -> float:
    """Return the operations that one core of this machine does in a second on matrices now.

    >>> 1e8 < flops() < 1e12
    True
    """
    return 2.0 * SIDE**3 / _product().here


@cache
def _pair(d: int, block: int, single: bool) -> Timed:
    """Return the seconds of a pair of points on one core, measured once on three tiles.

    The tiles are those of a Gaussian kernel of d variables, times a block of vectors.
    """
    rng = np.random.default_rng(0)
    columns = min(max(d, 1), WIDEST)
    points = rng.standard_normal((2 * EngineLimits.tile, columns))
    vectors = rng.standard_normal((2 * EngineLimits.tile, block))
    gram = Gram(Gaussian(float(np.sqrt(columns))), points, engine=Threads(1))
    tiles = _lasting(lambda: gram.product(vectors, single=single))
    wider = max(d - WIDEST, 0) / SIDE**3  # of the operations of a product
    return Timed(
        *(
            three / (3.0 * EngineLimits.tile**2) + wider * product
            for three, product in zip(tiles, _product(), strict=True)
        )
    )


def pair_seconds(d: int, block: int, single: bool) -> float:
    """Return the seconds that one core of this machine takes now for a pair of points."""
    return _pair(d, block, single).here


def pair_seconds_elsewhere(d: int, block: int, single: bool) -> float:
    """Return those of such a core on machines that have nothing else to do, whatever this one has.

    >>> 0.0 < pair_seconds_elsewhere(4, 2, False) <= pair_seconds(4, 2, False)
    True
    """
    return _pair(d, block, single).alone


def _cost(
    method: str, n: int, d: int, count: int, model: Any, engine: Engine
) -> tuple[Room, int, str]:
    """Return memory, passes and the reason for them; of points, d columns are in memory."""
    threads = threads_of(engine)
    if method == "dense":
        why = "few individuals or many axes: the whole matrix is decomposed"
        return Room(dense_bytes(n)), 1, why
    if method == "nystrom":
        rank = landmarks_for(n, count, getattr(model, "landmarks", None))
        why = f"an approximation on {rank} landmarks was asked for"
        return Room(certified_bytes(n, d, count, rank, engine.memory)), 0, why
    needed = Room(needed_bytes(n, d, count, threads))
    if d > 0 and can_use_files(engine):
        needed = room_within(n, d, count, threads, allowed_bytes(engine.memory))
    if _is_costly(model.kernel) and 4 * n * n * KEPT_SHARE <= allowed_bytes(engine.memory):
        why = "many individuals, few axes: what the function returns is kept, and called for once"
        return needed._replace(memory=needed.memory + 4 * n * n), 1, why
    passes = sum(_passes(n, count, model))
    why = "many individuals, few axes: the matrix is never stored"
    if needed.disk:
        why = f"{why}, and what memory has no room for lies in {gettempdir()}"
    return needed, passes, why


def _is_costly(kernel: Any) -> bool:
    """Whether the values of a kernel are kept rather than computed again."""
    return kernel.is_costly if isinstance(kernel, Kernel) else callable(kernel)


def _passes(n: int, count: int, model: Any) -> tuple[int, int]:
    """Return the passes of an iteration in single and double precision."""
    is_wide = begins_in_double(sizes(n, count)[0], getattr(model, "tol", 0.0))
    return (0, WIDE_PASSES) if is_wide else (SINGLE_PASSES, DOUBLE_PASSES)


def _seconds(method: str, model: Any, n: int, d: int, count: int, engine: Engine) -> float:
    """Estimate the time from what a pair of individuals, and an operation, take on this machine."""
    kernel, threads = model.kernel, threads_of(engine)
    block, rank = sizes(n, count)
    pairs = n * n / 2.0 / threads

    def over_pairs(vectors: int, *, single: bool = False) -> float:
        if _is_costly(kernel):
            return pairs * threads / CALLS  # one thread at a time runs Python
        if isinstance(kernel, Kernel) and not kernel.is_fast(d):
            return pairs / SLOW_PAIRS
        return pairs * pair_seconds(d, vectors, single)

    def operations(number: float) -> float:
        return number / (flops() * threads)

    if method == "dense":
        is_slow = _is_costly(kernel) or (isinstance(kernel, Kernel) and not kernel.is_fast(d))
        values = over_pairs(1) if is_slow else operations(n * n * (d + EXPONENTIAL))
        return values + operations(9.0 * float(n) ** 3)
    if method == "nystrom":
        return 2.0 * over_pairs(1) * rank / n + operations(3.0 * n * float(rank) ** 2)
    if _is_costly(kernel):
        return over_pairs(1) + operations(4.0 * n * float(rank) ** 2)
    singles, doubles = _passes(n, count, model)
    shared = TOGETHER if threads > 1 else 1.0
    passes = doubles * over_pairs(block) + singles * over_pairs(block, single=True)
    return shared * passes + _beside(n, count, model, threads)


def _beside(n: int, count: int, model: Any, threads: int) -> float:
    """Estimate the time beside the passes of an iteration.

    They are the factor, its square, and what axes leave of that; in each step products with the
    basis, and three with the factor in single precision.
    """
    (block, rank), steps = sizes(n, count), sum(_passes(n, count, model))
    tall = steps * (BASIS_WORK * n * float(block) ** 2 + 3.0 * n * block * rank)
    tall += 2.0 * n * float(rank) ** 2
    small = SMALL_WORK * steps * (2.5 * block) ** 3 + FACTOR_WORK * float(rank) ** 3
    return steps * STEP + tall / (flops() * threads) + small / flops()


def _machines(engine: Engine, workers: int | None, cores: int, gpus: int) -> Workers | None:
    if workers is not None:
        return Workers(
            whole(workers, "workers", least=1),
            whole(cores, "cores", least=1),
            whole(gpus, "gpus", least=0),
        )
    known = getattr(engine, "workers", None)
    return None if known is None else known()


def _on_cluster(
    method: str, model: Any, n: int, d: int, count: int, machines: Workers
) -> ClusterCost:
    """Return what the passes, or the features of landmarks, take on a cluster."""
    if method == "nystrom":
        rank = landmarks_for(n, count, getattr(model, "landmarks", None))
        seconds = 2.0 * pair_seconds_elsewhere(d, 1, False)
        return cluster_cost(n, d, 1, 0, machines, seconds, landmarks=rank)
    block, rank = sizes(n, count)
    singles, doubles = _passes(n, count, model)
    passes = singles + doubles
    pair = singles * pair_seconds_elsewhere(d, block, True)
    pair += doubles * pair_seconds_elsewhere(d, block, False)
    return cluster_cost(n, d, block, passes, machines, pair / passes, landmarks=rank)
