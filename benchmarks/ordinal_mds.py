"""Claim: ordinal scaling of 1 000 points to a stress no higher, 12 times faster than the peer."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from measure import child, compare, latent, timed


def distances(n: int) -> Any:
    from scipy.spatial.distance import cdist

    X = latent(n)
    return cdist(X, X)


def stress(coordinates: Any, distances: Any) -> float:
    """Kruskal's stress-1 of any map for the best disparities in the order of the distances."""
    from scipy.optimize import isotonic_regression
    from scipy.spatial.distance import pdist

    d = pdist(coordinates)[np.argsort(distances[np.triu_indices(len(distances), 1)])]
    return float(np.linalg.norm(d - isotonic_regression(d).x) / np.linalg.norm(d))


def peer(n: int, init: str) -> dict[str, Any]:
    """scikit-learn's nonmetric SMACOF from one start."""
    from sklearn.manifold import MDS

    D = distances(n)
    settings: dict[str, Any] = {"n_init": 1, "init": init, "random_state": 0, "metric_mds": False}
    MDS(2, metric="precomputed", max_iter=2, **settings).fit(D[:100, :100])
    model = MDS(2, metric="precomputed", **settings)
    Y, seconds = timed(lambda: model.fit_transform(D))
    return {"seconds": seconds, "stress": stress(Y, D)}


def random(n: int) -> dict[str, Any]:
    return peer(n, "random")


def classical(n: int) -> dict[str, Any]:
    return peer(n, "classical_mds")


def mercer(n: int) -> dict[str, Any]:
    """L-BFGS on the stress after monotone regression, from the classical solution."""
    import mercer as mc

    D = distances(n)
    mc.StressMDS(2, loss="ordinal", n_starts=1).fit(D[:100, :100])
    model = mc.StressMDS(2, loss="ordinal")
    _, seconds = timed(lambda: model.fit(D))
    return {"seconds": seconds, "stress": stress(model.embedding_, D), "steps": model.n_iter_}


def main(n: int, repetitions: int) -> None:
    medians = compare(__file__, ["random", "classical", "mercer"], repetitions, n=n)
    ours, peers = medians["mercer"], {k: v for k, v in medians.items() if k != "mercer"}
    lowest = min(p["stress"] for p in peers.values())
    assert ours["stress"] <= lowest * (1.0 + 1e-6), f"{ours['stress']} against {lowest}"
    fastest = min(p["seconds"] for p in peers.values())
    ratio = fastest / ours["seconds"]
    print(
        f"n = {n}: ordinal stress {ours['stress']:.5f} in {ours['seconds']:.2f} s "
        f"({ours['steps']:.0f} steps) against {lowest:.5f} at best and {fastest:.2f} s at best of "
        f"scikit-learn's nonmetric MDS: {ratio:.1f} times faster."
    )
    print(json.dumps({"n": n, "ratio": ratio, **medians}))


if __name__ == "__main__" and not child(
    {"random": random, "classical": classical, "mercer": mercer}
):
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000, 3)
