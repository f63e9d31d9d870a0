"""Claim: metric scaling of 1 000 points to a stress no higher, 5 times faster than the peer."""

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
    """Kruskal's stress-1, scale-free, of any map."""
    from scipy.spatial.distance import pdist

    d, delta = pdist(coordinates), distances[np.triu_indices(len(distances), 1)]
    return float(np.sqrt(1.0 - (d @ delta) ** 2 / ((d @ d) * (delta @ delta))))


def peer(n: int, init: str) -> dict[str, Any]:
    """scikit-learn's SMACOF from one start."""
    from sklearn.manifold import MDS

    D = distances(n)
    settings: dict[str, Any] = {"n_init": 1, "init": init, "random_state": 0}
    MDS(2, metric="precomputed", max_iter=2, **settings).fit(D[:100, :100])
    model = MDS(2, metric="precomputed", **settings)
    Y, seconds = timed(lambda: model.fit_transform(D))
    return {"seconds": seconds, "stress": stress(Y, D)}


def random(n: int) -> dict[str, Any]:
    return peer(n, "random")


def classical(n: int) -> dict[str, Any]:
    return peer(n, "classical_mds")


def mercer(n: int, tol: float = 3e-3) -> dict[str, Any]:
    """L-BFGS from the classical solution, until it is below the peer's final stress."""
    import mercer as mc

    D = distances(n)
    mc.StressMDS(2, n_starts=1).fit(D[:100, :100])
    model = mc.StressMDS(2, tol=tol)
    _, seconds = timed(lambda: model.fit(D))
    return {"seconds": seconds, "stress": stress(model.embedding_, D), "steps": model.n_iter_}


def converged(n: int) -> dict[str, Any]:
    """The same until nothing more is gained."""
    return mercer(n, 1e-6)


def main(n: int, repetitions: int) -> None:
    medians = compare(__file__, [*CONTENDERS], repetitions, n=n)
    ours, best = medians["mercer"], medians["converged"]
    peers = [medians["random"], medians["classical"]]
    lowest = min(p["stress"] for p in peers)
    assert ours["stress"] <= lowest * (1.0 + 1e-6), f"{ours['stress']} against {lowest}"
    fastest = min(p["seconds"] for p in peers)
    ratio = fastest / ours["seconds"]
    print(
        f"n = {n}: stress {ours['stress']:.5f} in {ours['seconds']:.2f} s "
        f"({ours['steps']:.0f} steps), {best['stress']:.5f} and no lower in {best['seconds']:.2f} "
        f"s, against {lowest:.5f} at best and {fastest:.2f} s at best of scikit-learn's MDS: "
        f"{ratio:.1f} times faster."
    )
    print(json.dumps({"n": n, "ratio": ratio, **medians}))


CONTENDERS = {"random": random, "classical": classical, "mercer": mercer, "converged": converged}

if __name__ == "__main__" and not child(CONTENDERS):
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000, 5)
