"""Claim: workers that have a GPU compute their tiles there, and find the axes of the processor.

``python -m benchmarks.cluster_gpu [n]``, on a machine with a GPU: ten axes of ``latent`` points by
two workers that share it, and by two threads, of which each is fitted once before.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter
from typing import Any

import distributed
import numpy as np

from benchmarks.cluster import fit, started
from benchmarks.measure import latent
from mercer.engines.cluster import Cluster
from mercer.engines.cluster_tasks import device_there
from mercer.engines.cpu import Threads


def held_there() -> int:
    """Return the largest memory that a worker has allocated on its GPU."""
    torch = sys.modules.get("torch")
    return 0 if torch is None else int(torch.cuda.max_memory_allocated())


def timed(X: Any, engine: Any) -> tuple[Any, float]:
    fit(X[:2_000], engine)
    begun = perf_counter()
    return fit(X, engine), perf_counter() - begun


def main() -> None:
    X = latent(int(sys.argv[1]) if len(sys.argv) > 1 else 40_000)
    with started(2) as machines, distributed.Client(machines) as client:
        devices = sorted(client.run(device_there).values())
        there, waited = timed(X, Cluster(client))
        memory = sorted(client.run(held_there).values())
    here, lasted = timed(X, Threads(2))
    gap = float(np.abs(there.inertias_ / here.inertias_ - 1.0).max())
    claim = {"claim": "workers with a GPU", "n": len(X), "devices": devices, "bytes": memory}
    how = there.spectrum_.certificate.statement
    print(json.dumps({**claim, "seconds": waited, "threads": lasted, "gap": gap, "proof": how}))
    assert devices == ["cuda", "cuda"]
    assert min(memory) > 0
    assert gap < 1e-6


if __name__ == "__main__":
    main()
