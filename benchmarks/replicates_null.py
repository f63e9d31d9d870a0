"""Claim: where conditions do not differ, a replicate study's interval is open, or the docs say so.

An interval that ends tells that the conditions differ. Here they never do: what is counted is how
often the interval ends all the same, which should be 2.5 % at the level 0.95.

    python benchmarks/replicates_null.py [runs]
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import mercer as mc

GENES, CONDITIONS = 20, 4

CASES: dict[str, tuple[mc.Inference, int]] = {
    "correlation, 6 replicates": (mc.Inference(), 6),
    "correlation, soft power 6, 6 replicates": (mc.Inference(power=6.0), 6),
    "rank correlation, 6 replicates": (mc.Inference("spearman"), 6),
    "partial correlation, 6 replicates": (mc.Inference("partial"), 6),
    "partial correlation, 12 replicates": (mc.Inference("partial"), 12),
}


def expression(kind: str, rows: int, rng: np.random.Generator) -> Any:
    """Return independent genes: normal ones, or counts most of which are 0."""
    if kind == "normal":
        return rng.standard_normal((rows, GENES))
    return rng.poisson(0.5, (rows, GENES)).astype(float)


def ended(case: str, kind: str, runs: int) -> int:
    """Return in how many studies without any difference the interval ends."""
    how, replicates = CASES[case]
    rng = np.random.default_rng(5)
    labels = np.repeat([*"abcd"][:CONDITIONS], replicates)
    count = 0
    for seed in range(runs):
        x = expression(kind, CONDITIONS * replicates, rng)
        sizes = sorted({how.fewest, replicates // 2})
        study = mc.replicate_study(
            x, labels, sizes=sizes, infer=how, draws=20, samples=150, random_state=seed, jobs=1
        )
        count += study.answer.high is not None
    return count


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    rows = []
    for case in CASES:
        for kind in ("normal", "counts"):
            rows.append({"case": case, "genes": kind, "ended": ended(case, kind, runs)})
            print(json.dumps(rows[-1]), flush=True)
    normal = max(row["ended"] for row in rows if row["genes"] == "normal")
    counts = max(row["ended"] for row in rows if row["genes"] == "counts")
    print(
        f"Without any difference the interval ends in at most {normal} of {runs} studies of normal "
        f"genes, and in up to {counts} where most entries are 0, which a study remarks."
    )
    print(json.dumps({"benchmark": "replicates_null", "runs": runs, "rows": rows}))


if __name__ == "__main__":
    main()
