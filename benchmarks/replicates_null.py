"""Claim: where conditions do not differ, a replicate study's interval is open but for 2.5 %.

An interval that ends tells that the conditions differ. Here they never do: what is counted is how
often the interval ends all the same, which should be 2.5 % at the level 0.95, and how often the
bootstrap alone would have ended it, without the permutation test.

    python benchmarks/replicates_null.py [runs]
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import mercer as mc
from mercer.networks.needed_replicates import decide

GENES, CONDITIONS = 20, 4

CASES: tuple[tuple[str, mc.networks.Inference, int, str], ...] = (
    ("correlation", mc.networks.Inference(), 6, "normal"),
    ("correlation", mc.networks.Inference(), 6, "counts"),
    ("correlation", mc.networks.Inference(), 6, "other means"),
    ("correlation, soft power 6", mc.networks.Inference(power=6.0), 6, "normal"),
    ("correlation, soft power 6", mc.networks.Inference(power=6.0), 6, "counts"),
    ("rank correlation", mc.networks.Inference("spearman"), 6, "normal"),
    ("rank correlation", mc.networks.Inference("spearman"), 6, "counts"),
    ("partial correlation", mc.networks.Inference("partial"), 6, "normal"),
    ("partial correlation", mc.networks.Inference("partial"), 6, "counts"),
    ("partial correlation", mc.networks.Inference("partial"), 12, "normal"),
    ("partial correlation", mc.networks.Inference("partial"), 12, "counts"),
)


def expression(kind: str, replicates: int, rng: np.random.Generator) -> Any:
    """Return independent genes: normal ones, or counts most of which are 0."""
    rows = CONDITIONS * replicates
    if kind == "counts":
        return rng.poisson(0.5, (rows, GENES)).astype(float)
    x = rng.standard_normal((rows, GENES))
    if kind == "other means":
        x += np.repeat(3.0 * rng.standard_normal((CONDITIONS, GENES)), replicates, axis=0)
    return x


def ended(
    how: mc.networks.Inference, replicates: int, kind: str, runs: int
) -> tuple[int, int, int]:
    """Return how many intervals end, how many by the bootstrap alone, and how many tests reject."""
    rng = np.random.default_rng(5)
    labels = np.repeat([*"abcd"][:CONDITIONS], replicates)
    count = np.zeros(3, int)
    for seed in range(runs):
        study = mc.replicate_study(
            expression(kind, replicates, rng),
            labels,
            sizes=sorted({how.fewest, replicates // 2}),
            infer=how,
            draws=20,
            samples=150,
            random_state=seed,
            threads=1,
        )
        curve, answer = study.curve, study.answer
        alone = decide(curve.sizes, curve.ratio, curve.samples, answer.confidence)
        count += answer.high is not None, alone.high is not None, answer.is_shown
    return int(count[0]), int(count[1]), int(count[2])


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    rows: list[dict[str, Any]] = []
    for case, how, replicates, kind in CASES:
        both, alone, shown = ended(how, replicates, kind, runs)
        row = {"case": case, "replicates": replicates, "genes": kind}
        rows.append({**row, "ended": both, "by_bootstrap_alone": alone, "test_rejects": shown})
        print(json.dumps(rows[-1]), flush=True)
    every, most = sum(row["ended"] for row in rows), max(row["ended"] for row in rows)
    alone = max(row["by_bootstrap_alone"] for row in rows)
    print(
        f"Without any difference the interval ends in {every} of {runs * len(rows)} studies, and "
        f"in at most {most} of {runs} of a kind; by the bootstrap alone it would in up to {alone}."
    )
    print(json.dumps({"benchmark": "replicates_null", "runs": runs, "rows": rows}))


if __name__ == "__main__":
    main()
