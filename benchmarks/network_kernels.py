"""Claim: which kernel between gene networks needs the fewest replicates, on known networks.

For every kernel the number is the true one of `mercer.replicate_study`, computed by Monte Carlo
with fresh replicates of known networks (`mercer.networks.simulate_expression`); so is how often a
network of six replicates lies nearest to another one of its own condition.

    python benchmarks/network_kernels.py [models]
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import mercer as mc
from mercer.networks.moments import NetworkGrams, NetworkMoments, pool, ratios, recognition_rates
from mercer.networks.needed_replicates import crossing

FRESH = 40
"""Pairs of fresh studies behind each point of a curve."""

SIZES = (3, 4, 5, 6, 8, 11, 15)

MODELS: dict[str, dict[str, Any]] = {
    "modules (correlation 0.9 inside)": {"genes": 40, "hubs": 4, "effect": 0.5, "strength": 0.95},
    "loose (correlation 0.5 inside)": {"genes": 40, "hubs": 4, "effect": 0.5, "strength": 0.7},
}

EDGES = mc.kernels.AlignedEdges()
UNSIGNED = mc.networks.Inference(is_signed=False)
CASES: dict[str, tuple[mc.networks.Inference, mc.Kernel]] = {
    "edges, correlation": (mc.networks.Inference(), EDGES),
    "edges, rank correlation": (mc.networks.Inference("spearman"), EDGES),
    "edges, correlation without sign": (UNSIGNED, EDGES),
    "edges, soft power 2": (mc.networks.Inference(power=2.0), EDGES),
    "edges, soft power 6": (mc.networks.Inference(power=6.0), EDGES),
    "edges, threshold 0.7": (mc.networks.Inference(threshold=0.7), EDGES),
    "edges, normalised, correlation": (mc.networks.Inference(), EDGES.normalised()),
    "Gaussian of edges (bandwidth 15)": (mc.networks.Inference(), EDGES.gaussian(15.0)),
    "edges, partial correlation": (mc.networks.Inference("partial"), EDGES),
    "Laplacian, without sign": (UNSIGNED, mc.kernels.AlignedLaplacian()),
    "heat (time 0.1), soft power 2": (
        mc.networks.Inference(power=2.0, is_signed=False),
        mc.kernels.AlignedHeat(0.1),
    ),
}


def measured(seed: int, model: dict[str, Any], case: str) -> tuple[float, float]:
    """Return the number of replicates needed, and the share recognised at six."""
    how, kernel = CASES[case]
    known = mc.networks.simulate_expression(**model, random_state=seed)
    compare = NetworkGrams(kernel, tuple(str(g) for g in range(known.genes)))
    rng = np.random.default_rng([11, seed])
    found, six = [], 0.0
    for m in SIZES:
        grams = []
        for _ in range(FRESH):
            networks = [how(known.draw(c, m, rng)) for _ in range(2) for c in range(4)]
            grams.append(compare.gram(np.stack(networks)))
        moments = NetworkMoments.of(np.array(grams), 4)
        within, between = pool(moments.scatter, moments.separations)
        found.append(float(ratios(np.array([between]), np.array([within]))[0]))
        if m == 6:
            six = float(recognition_rates(np.array(grams), 4).mean())
    return crossing(np.array(SIZES), np.array(found)), six


def main() -> None:
    models = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    table = []
    for name, model in MODELS.items():
        for case in CASES:
            pairs = np.array([measured(seed, model, case) for seed in range(models)])
            row = {
                "networks": name,
                "case": case,
                "needed": float(np.median(pairs[:, 0])),
                "recognised_at_6": float(pairs[:, 1].mean()),
            }
            table.append(row)
            print(json.dumps(row), flush=True)
    best = {
        name: min((r for r in table if r["networks"] == name), key=lambda r: r["needed"])
        for name in MODELS
    }
    said = "; ".join(f"{n}: {r['case']} with {r['needed']:g}" for n, r in best.items())
    print(f"Fewest replicates are needed by: {said}.")
    print(json.dumps({"benchmark": "network_kernels", "models": models, "rows": table}))


if __name__ == "__main__":
    main()
