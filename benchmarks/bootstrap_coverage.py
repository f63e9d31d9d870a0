"""Claim: bootstrap ellipses, intervals and tests of equal inertias have the stated rates.

Individuals are drawn from a normal law with known axes, and one of each sample is looked at: does
its ellipse hold its coordinates on the population's axes, turned onto the sample's? So the answers
of different samples are independent, and their share has a binomial interval. The same samples say
how often the intervals of the first two inertias hold the truth, and how often these are found to
differ, at the level 5 %.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.stats import binomtest

import mercer as mc
from mercer.reading.procrustes import rotation

CONFIDENCE = 0.95
REGIMES = {
    "a plane, 100 individuals of 10 variables": (100, 10, (6.0, 3.0)),
    "equal inertias within the plane": (100, 10, (3.0, 3.0)),
    "50 individuals": (50, 10, (6.0, 3.0)),
    "20 individuals": (20, 10, (6.0, 3.0)),
    "more variables than individuals": (50, 200, (6.0, 3.0)),
    "a third axis as large as the second": (100, 10, (6.0, 3.0, 3.0)),
}


Answers = tuple[bool, bool, bool, bool]
"""Whether an ellipse and two intervals hold the truth, and whether two inertias differ."""

ASKED = (
    "ellipses hold the truth",
    "intervals of the first inertia hold it",
    "intervals of the second inertia hold it",
    "the first two inertias are told apart",
)


def answered(n: int, p: int, inertias: tuple[float, ...], seed: int) -> Answers:
    """Answer for one sample, the ellipse for its first individual."""
    rng = np.random.default_rng(seed)
    deviations = np.sqrt(np.r_[inertias, np.full(p - len(inertias), 0.5)])
    x = rng.standard_normal((n, p)) * deviations
    found = mc.bootstrap(mc.PCA(2), x, 200, confidence=CONFIDENCE, random_state=seed)
    truth = x[:, :2]
    turned = truth @ rotation(truth, found.coordinates, np.full(n, 1.0 / n))
    (a, b), (c, d) = found.intervals
    holds = a <= inertias[0] <= b, c <= inertias[1] <= d
    differ = bool(found.ties[0] <= 1.0 - CONFIDENCE)
    return bool(found.covers(turned)[0]), bool(holds[0]), bool(holds[1]), differ


def arc(n: int, seed: int) -> Any:
    """Points near three quarters of an ellipse."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, 1.5 * np.pi, n)
    return np.column_stack([1.5 * np.cos(t), np.sin(t)]) + 0.2 * rng.standard_normal((n, 2))


@cache
def arc_model() -> mc.KernelPCA:
    """The axes of so many points that they stand for those of the population."""
    return mc.KernelPCA(2, kernel=mc.Gaussian(1.0)).fit(arc(3_000, 10**6))


def arc_answered(seed: int) -> Answers:
    """The same of a Gaussian kernel, with 100 replicates of 100 individuals."""
    x = arc(100, seed)
    model = mc.KernelPCA(2, kernel=mc.Gaussian(1.0))
    found = mc.bootstrap(model, x, 100, confidence=CONFIDENCE, random_state=seed)
    truth = arc_model().transform(x)
    turned = truth @ rotation(truth, found.coordinates, np.full(100, 0.01))
    low, high = found.intervals.T
    holds = (low <= arc_model().inertias_) & (arc_model().inertias_ <= high)
    differ = bool(found.ties[0] <= 1.0 - CONFIDENCE)
    return bool(found.covers(turned)[0]), bool(holds[0]), bool(holds[1]), differ


def main(samples: int = 1_000) -> None:
    asked: dict[str, Callable[[int], Answers]] = {
        name: partial(answered, *regime) for name, regime in REGIMES.items()
    }
    asked["a Gaussian kernel, 100 individuals"] = arc_answered
    results: dict[str, dict[str, tuple[float, float, float]]] = {}
    for name, answer in asked.items():
        counts = np.sum([answer(seed) for seed in range(samples)], axis=0)
        results[name] = {}
        for what, hits in zip(ASKED, counts.tolist(), strict=True):
            interval = binomtest(hits, samples).proportion_ci(method="wilson")
            rates = (hits / samples, float(interval.low), float(interval.high))
            results[name][what] = rates
            rate, low, high = (f"{100 * part:.1f}" for part in rates)
            print(
                f"{name}: {what} in {rate} % of {samples} samples ({low} to {high} %).", flush=True
            )
    print(json.dumps({"claim": "bootstrap_coverage", "samples": samples, "rates": results}))


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
