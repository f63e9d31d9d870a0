"""Claim: the recommended number of replicates is right within one, where the regime allows it.

Studies are simulated from known networks (`mercer.networks.simulate_expression`). The truth is
computed from the same networks by Monte Carlo with fresh replicates. Regimes where the answer
cannot be known are run too.

    python benchmarks/replicates.py [runs [number of a regime ...]]
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import mercer as mc

FRESH = 100
"""Pairs of fresh studies behind each point of the true curve."""

LARGEST = 30
"""Replicates up to which the truth is computed; a number beyond counts as none."""

BEYOND = 1.4
"""The ratio grows with the replicates: from here on it does not fall below 1 again."""


@dataclass(frozen=True)
class Regime:
    """A kind of study: what the networks are like, and how many replicates there are."""

    name: str
    replicates: int
    model: dict[str, Any]
    power: float = 1.0
    expected: float = field(default=0.0)  # the share of runs that is promised


STRONG = {"genes": 40, "hubs": 4, "effect": 0.8, "strength": 0.95}
CLEAR = {"genes": 40, "hubs": 4, "effect": 0.5, "strength": 0.9}
MANY = {"genes": 60, "hubs": 6, "effect": 0.8, "strength": 0.95}

REGIMES = (
    Regime("12 replicates, strong effect", 12, STRONG, expected=0.9),
    Regime("16 replicates, clear effect", 16, CLEAR, expected=0.9),
    Regime("16 replicates, 60 genes in 6 modules", 16, MANY, expected=0.9),
    Regime("20 replicates, noise 0.3", 20, {**STRONG, "noise": 0.3}, expected=0.9),
    Regime("12 replicates, soft power 2", 12, STRONG, 2.0, expected=0.9),
    Regime("12 replicates, clear effect", 12, CLEAR, expected=0.9),
    Regime("16 replicates, noise 0.3", 16, {**STRONG, "noise": 0.3}, expected=0.9),
    Regime("6 replicates, strong effect", 6, STRONG),
    Regime("6 replicates, strong effect, soft power 2", 6, STRONG, 2.0),
    Regime("6 replicates, strong effect, soft power 6", 6, STRONG, 6.0, expected=0.9),
    Regime("6 replicates, clear effect", 6, CLEAR),
    Regime("12 replicates, weak effect", 12, {**CLEAR, "effect": 0.1}),
)


def truth(model: mc.networks.Simulation, power: float, rng: np.random.Generator) -> float:
    """Return the number that the known networks need, from fresh replicates and numpy alone."""
    last = 1  # the largest number that is not enough
    for m in range(2, LARGEST + 1):
        first, second = (
            np.stack([features(model, c, m, power, rng) for c in range(4)]) for _ in range(2)
        )
        scatter = 0.5 * np.mean(np.sum((first - second) ** 2, axis=2))
        pairs = [(c, d) for c in range(4) for d in range(c)]
        gaps = [np.sum((first[c] - first[d]) * (second[c] - second[d]), axis=1) for c, d in pairs]
        ratio = np.mean(gaps) / scatter
        if ratio < 1.0:
            last = m
        elif ratio > BEYOND:
            break
    return last + 1.0 if last < LARGEST else np.inf


def features(
    model: mc.networks.Simulation, condition: int, m: int, power: float, rng: np.random.Generator
) -> Any:
    """Return the edges of many networks, each of m fresh replicates."""
    x = model.draw(condition, m * FRESH, rng).reshape(FRESH, m, model.genes)
    z = x - x.mean(axis=1, keepdims=True)
    z /= np.sqrt(np.sum(z**2, axis=1, keepdims=True))
    i, j = np.triu_indices(model.genes, 1)
    r = (np.swapaxes(z, 1, 2) @ z)[:, i, j]
    return np.sign(r) * np.abs(r) ** power


def run(regime: Regime, seed: int) -> tuple[float, mc.networks.ReplicateStudy]:
    """Return the truth of one simulated study, and what the study says."""
    rng = np.random.default_rng([7, seed])
    model = mc.networks.simulate_expression(**regime.model, random_state=seed)
    table = model.table(regime.replicates, rng)
    study = mc.replicate_study(
        table,
        "condition",
        infer=mc.networks.Inference(power=regime.power),
        sizes=range(2, regime.replicates // 2 + 1),
        draws=60,
        random_state=seed,
        threads=1,
    )
    return truth(model, regime.power, rng), study


def summary(regime: Regime, runs: int) -> dict[str, Any]:
    """Return how often the number was right within one, and how often the interval held it."""
    pairs = [run(regime, seed) for seed in range(runs)]
    true = np.array([t for t, _ in pairs])
    said = np.array([np.inf if s.answer.number is None else s.answer.number for _, s in pairs])
    low = np.array([np.inf if s.answer.low is None else s.answer.low for _, s in pairs])
    high = np.array([np.inf if s.answer.high is None else s.answer.high for _, s in pairs])
    with np.errstate(invalid="ignore"):
        right = (np.abs(said - true) <= 1.0) | (np.isinf(said) & np.isinf(true))
    return {
        "regime": regime.name,
        "runs": runs,
        "truth": [_number(np.median(true)), _number(true.min()), _number(true.max())],
        "said": _number(np.median(said)),
        "within_one": float(np.mean(right)),
        "covered": float(np.mean((low <= true) & (true <= high))),
        "median_interval": [_number(np.median(low)), _number(np.sort(high)[runs // 2])],
        "promised": regime.expected,
    }


def _number(value: Any) -> float | None:
    """Return a number as JSON has it: None stands for none."""
    return float(value) if np.isfinite(value) else None


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    chosen = [int(k) for k in sys.argv[2:]] or range(len(REGIMES))
    found = []
    for k in chosen:
        found.append(summary(REGIMES[k], runs))
        print(json.dumps(found[-1]), flush=True)
    kept = [f for f in found if f["promised"] > 0]
    least = min((f["within_one"] for f in kept), default=0.0)
    print(
        f"The recommended number is right within one replicate in at least {100 * least:.0f} % of "
        f"{runs} runs in each of {len(kept)} regimes; the others show where it is not."
    )
    print(json.dumps({"benchmark": "replicates", "least": least, "regimes": found}))


if __name__ == "__main__":
    main()
