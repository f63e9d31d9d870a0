"""What a cluster of processes on one machine costs beside threads, and what its model says.

``python -m benchmarks.cluster [n]``: ten axes of ``latent`` points. Fits by two threads and by two
workers alternate, three times; processor time of all processes counts, for others use the machine
too. Before, tasks, bytes and seconds of passes on 1, 2 and 4 workers stand beside `cluster_cost`,
and those of another table on 3, and then the memory of the client.
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from time import perf_counter, process_time
from typing import Any

import distributed
import numpy as np

import mercer as mc
from benchmarks.measure import latent
from mercer.engines import blocks, cluster
from mercer.engines.cluster import Cluster
from mercer.engines.cluster_cost import Workers, cluster_cost
from mercer.engines.cpu import Threads
from mercer.planning import pair_seconds_elsewhere

KERNEL, REPEATS, BLOCK, PASSES = mc.Gaussian(10**0.5), 3, 12, 3


def fit(X: Any, engine: Any) -> Any:
    return mc.KernelPCA(10, kernel=KERNEL, method="exact", engine=engine, random_state=0).fit(X)


def started(count: int) -> Any:
    return distributed.LocalCluster(
        n_workers=count, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    )


def processors(client: Any) -> float:
    """Return the processor time of the client, which has the scheduler, and of all workers."""
    return process_time() + sum(client.run(process_time).values())


def outgoing(client: Any) -> int:
    """Return the bytes that workers have sent, to each other and to the client."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def overhead(X: Any) -> None:
    """Print how much longer two workers take than two threads."""
    ratios: dict[str, list[float]] = {"processor": [], "wall": []}
    with started(2) as machines, distributed.Client(machines) as client:
        for engine in (Threads(2), Cluster(client)):
            fit(X, engine)
        for _ in range(REPEATS):
            used, begun = process_time(), perf_counter()
            here = fit(X, Threads(2))
            threads, lasted = process_time() - used, perf_counter() - begun
            used, begun = processors(client), perf_counter()
            there = fit(X, Cluster(client))
            found, waited = processors(client) - used, perf_counter() - begun
            ratios["processor"].append(found / threads)
            ratios["wall"].append(waited / lasted)
            gap = np.abs(there.inertias_ / here.inertias_ - 1.0).max()
            print(f"threads {threads:.2f} s, workers {found:.2f} s; {lasted:.2f}, {waited:.2f}")
            assert gap < 1e-9
    found_ratios = {name: median(values) for name, values in ratios.items()}
    print(json.dumps({"claim": "overhead", "n": len(X), **found_ratios}), flush=True)


@contextmanager
def counted() -> Iterator[list[int]]:
    """Yield how many tasks are asked for, in a list of one number."""
    asked, one, many = [0], blocks.task, blocks.tasks

    def count_one(*given: Any) -> Any:
        asked[0] += 1
        return one(*given)

    def count_many(*given: Any, **named: Any) -> Any:
        found = many(*given, **named)
        asked[0] += len(found)
        return found

    patched: Any = (blocks, cluster)
    for module in patched:
        module.task, module.tasks = count_one, count_many
    try:
        yield asked
    finally:
        for module in patched:
            module.task, module.tasks = one, many


def beside_the_model(X: Any, count: int, block: int = BLOCK) -> None:
    """Print tasks, bytes and seconds of some passes beside what the model says."""
    n, d = X.shape
    vectors = np.random.default_rng(0).standard_normal((n, block))
    with started(count) as machines, distributed.Client(machines) as client, counted() as asked:
        gram = mc.Gram(KERNEL, X, engine=Cluster(client))
        gram.product(vectors, single=True)  # which sends the points
        asked[0], before, begun = 0, outgoing(client), perf_counter()
        used = processors(client)
        for _ in range(PASSES):
            gram.product(vectors, single=True)
        seconds, sent = perf_counter() - begun, outgoing(client) - before
        used = processors(client) - used
    pair = pair_seconds_elsewhere(d, block, True)
    model = cluster_cost(n, d, block, PASSES, Workers(count), pair)
    points = cluster_cost(n, d, block, 0, Workers(count), pair)
    returned = model.with_client - points.with_client - 8 * n * block * PASSES
    claim = {
        "claim": "model",
        "n": n,
        "d": d,
        "vectors": block,
        "workers": count,
        "tasks": [asked[0], model.tasks - points.tasks],
        "bytes": [sent, model.between - points.between + returned],
        "wall_seconds": seconds,
        "processor_seconds": [used, PASSES * n * n / 2 * pair],
    }
    print(json.dumps(claim), flush=True)


def client_memory(X: Any) -> None:
    """Print the peak of memory that the client allocates, and what is planned."""
    with started(2) as machines, distributed.Client(machines) as client:
        fit(X[:2000], Cluster(client))
        tracemalloc.start()
        model = fit(X, Cluster(client))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    planned = model.spectrum_.how.memory
    print(json.dumps({"claim": "client", "n": len(X), "bytes": peak, "planned": planned}))


def main() -> None:
    X = latent(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
    for count in (1, 2, 4):
        beside_the_model(X, count)
    wide = np.random.default_rng(1).standard_normal((15_000, 50))
    beside_the_model(wide, 3, block=20)  # which nothing in the model was fitted to
    client_memory(X)
    overhead(X)


if __name__ == "__main__":
    main()
