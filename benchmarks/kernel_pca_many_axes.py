"""Claim: many exact axes, faster than ARPACK on the stored matrix, at the cost that plan tells."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from measure import DATA, bandwidth, child, peak_megabytes, run


def peer(n: int, count: int) -> dict[str, Any]:
    """ARPACK on the centred matrix, in double precision; the matrix is counted."""
    from scipy.sparse.linalg import eigsh
    from scipy.spatial.distance import cdist

    X = DATA["latent"](n)
    base = peak_megabytes()
    begun, used = time.perf_counter(), time.process_time()
    K = np.empty((n, n))
    for first in range(0, n, 1000):
        K[first : first + 1000] = cdist(X[first : first + 1000], X, "sqeuclidean")
    np.multiply(K, -1.0 / X.shape[1], out=K)
    np.exp(K, out=K)
    means = K.mean(axis=0)
    K -= means
    K -= means[:, None]
    K += means.mean()
    start = np.random.default_rng(0).uniform(-1.0, 1.0, n)
    values = eigsh(K, k=count, tol=1e-8, v0=start, return_eigenvectors=True)[0][::-1] / n
    return {
        "seconds": time.perf_counter() - begun,
        "cpu": time.process_time() - used,
        "memory": peak_megabytes() - base,
        "values": values.tolist(),
    }


def mercer(n: int, count: int) -> dict[str, Any]:
    """The exact method without the matrix, and what was planned for it."""
    import mercer as mc

    X = DATA["latent"](n)
    kernel = mc.Gaussian(bandwidth=bandwidth(X))
    model = mc.KernelPCA(count, kernel=kernel, tol=1e-8, method="exact", random_state=0)
    planned = mc.plan(model, *X.shape)
    mc.KernelPCA(2, kernel=kernel, method="exact", tol=1e-6).fit(X[:1500])
    base = peak_megabytes()
    begun, used = time.perf_counter(), time.process_time()
    model.fit(X)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - used
    proof = model.spectrum_.certificate
    return {
        "seconds": seconds,
        "cpu": cpu,
        "memory": peak_megabytes() - base,
        "planned_seconds": planned.seconds,
        "planned_memory": planned.memory / 1e6,
        "values": model.spectrum_.values.tolist(),
        "ordered": int(proof.is_ordered.sum()),
        "passes": model.spectrum_.how.single_passes + model.spectrum_.how.double_passes,
    }


def main(sizes: list[tuple[int, int]]) -> None:
    print("n, axes: seconds (of CPU), planned; megabytes, planned; ARPACK; times faster; proved")
    for n, count in sizes:
        ours = run(__file__, "mercer", n=n, count=count)
        theirs = run(__file__, "peer", n=n, count=count)
        gap = float(np.max(np.abs(np.array(ours["values"]) - theirs["values"])))
        difference = gap / theirs["values"][0]
        print(
            f"{n}, {count}: {ours['seconds']:.1f} s ({ours['cpu']:.1f}), "
            f"{ours['planned_seconds']:.1f} s; {ours['memory']:.0f} MB, "
            f"{ours['planned_memory']:.0f} MB; {theirs['seconds']:.1f} s ({theirs['cpu']:.1f}), "
            f"{theirs['memory']:.0f} MB; {theirs['seconds'] / ours['seconds']:.1f} "
            f"({theirs['cpu'] / ours['cpu']:.1f} of CPU); {ours['ordered']} of {count}, "
            f"values agree to {difference:.1e}",
            flush=True,
        )
        kept = {k: v for k, v in ours.items() if k != "values"}
        print(json.dumps({"n": n, "count": count, **kept, "peer_seconds": theirs["seconds"]}))


if __name__ == "__main__" and not child({"peer": peer, "mercer": mercer}):
    pairs = sys.argv[1:] or ["20000:10", "20000:50", "20000:100", "20000:200", "20000:500"]
    main([(int(n), int(count)) for n, count in (pair.split(":") for pair in pairs)])
