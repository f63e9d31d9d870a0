"""Claim: bootstrap ellipses hold the true coordinates of an individual at the stated rate.

Individuals are drawn from a normal law with known axes, and one of each sample is looked at: does
its ellipse hold its coordinates on the population's axes, turned onto the sample's? So the answers
of different samples are independent, and their share has a binomial interval.
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
from mercer.stability.procrustes import rotation

LEVEL = 0.95
REGIMES = {
    "a plane, 100 individuals of 10 variables": (100, 10, (6.0, 3.0)),
    "equal inertias within the plane": (100, 10, (3.0, 3.0)),
    "50 individuals": (50, 10, (6.0, 3.0)),
    "20 individuals": (20, 10, (6.0, 3.0)),
    "more variables than individuals": (50, 200, (6.0, 3.0)),
    "a third axis as large as the second": (100, 10, (6.0, 3.0, 3.0)),
}


def covered(n: int, p: int, inertias: tuple[float, ...], seed: int) -> bool:
    """Whether the ellipse of the first individual of a sample holds its true coordinates."""
    rng = np.random.default_rng(seed)
    deviations = np.sqrt(np.r_[inertias, np.full(p - len(inertias), 0.5)])
    x = rng.standard_normal((n, p)) * deviations
    found = mc.bootstrap(mc.PCA(2), x, 200, level=LEVEL, random_state=seed)
    truth = x[:, :2]
    turned = truth @ rotation(truth, found.coordinates, np.full(n, 1.0 / n))
    return bool(found.covers(turned)[0])


def arc(n: int, seed: int) -> Any:
    """Points near three quarters of an ellipse."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, 1.5 * np.pi, n)
    return np.column_stack([1.5 * np.cos(t), np.sin(t)]) + 0.2 * rng.standard_normal((n, 2))


@cache
def arc_model() -> mc.KernelPCA:
    """The axes of so many points that they stand for those of the population."""
    return mc.KernelPCA(2, kernel=mc.Gaussian(1.0)).fit(arc(3_000, 10**6))


def arc_covered(seed: int) -> bool:
    """The same of a Gaussian kernel, with 100 replicates of 100 individuals."""
    x = arc(100, seed)
    model = mc.KernelPCA(2, kernel=mc.Gaussian(1.0))
    found = mc.bootstrap(model, x, 100, level=LEVEL, random_state=seed)
    truth = arc_model().transform(x)
    turned = truth @ rotation(truth, found.coordinates, np.full(100, 0.01))
    return bool(found.covers(turned)[0])


def main(samples: int = 1_000) -> None:
    asked: dict[str, Callable[[int], bool]] = {
        name: partial(covered, *regime) for name, regime in REGIMES.items()
    }
    asked["a Gaussian kernel, 100 individuals"] = arc_covered
    results = {}
    for name, is_covered in asked.items():
        hits = sum(is_covered(seed) for seed in range(samples))
        interval = binomtest(hits, samples).proportion_ci(method="wilson")
        results[name] = (hits / samples, float(interval.low), float(interval.high))
        low, high = results[name][1:]
        print(
            f"Ellipses of {100 * LEVEL:g} % hold the truth in {100 * hits / samples:.1f} % of "
            f"{samples} samples ({100 * low:.1f} to {100 * high:.1f} %): {name}.",
            flush=True,
        )
    print(json.dumps({"claim": "bootstrap_coverage", "samples": samples, "rates": results}))


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
