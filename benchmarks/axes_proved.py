"""Claim: of ten axes those before a gap are proved to be the leading ones, for every size.

``python -m benchmarks.axes_proved [N …]``: for each data of `measure`, how many of ten axes are
proved, and in brackets how many of them without an assumption; with ``complete`` in the place of
a number those of ``proof="complete"``, up to 5 000 points.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np

import mercer as mc
from benchmarks.measure import DATA, bandwidth

LARGEST_COMPLETE = 5_000
"""Points up to which a complete proof is measured."""


def proved(data: str, n: int, proof: str) -> dict[str, Any]:
    """Return how many of ten axes are proved to be the leading ones, and the processor time."""
    X = DATA[data](n)
    gram = mc.Gram(mc.Gaussian(bandwidth(X)), X).centred()
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of axes that cannot be told apart: they are counted
        found = mc.leading(gram, 10, method="exact", tol=1e-8, proof=proof, random_state=0)
    seconds = time.process_time() - begun
    certificate = found.certificate
    free = np.array([assumed == "none" for assumed in certificate.assumptions])
    return {
        "data": data,
        "n": n,
        "proof": proof,
        "proved": int(certificate.is_ordered.sum()),
        "without_assumption": int((certificate.is_ordered & free).sum()),
        "passes": [found.how.single_passes, found.how.double_passes],
        "cpu": seconds,
    }


def main(asked: list[str]) -> None:
    proof = "complete" if "complete" in asked else "usual"
    sizes = [int(n) for n in asked if n != "complete"] or [2_000, 5_000, 10_000, 20_000, 40_000]
    if proof == "complete":
        sizes = [n for n in sizes if n <= LARGEST_COMPLETE]
    for data in DATA:
        rows = [proved(data, n, proof) for n in sizes]
        for row in rows:
            print(
                f"{data}, n = {row['n']}: {row['proved']} ({row['without_assumption']}) of ten, "
                f"passes {row['passes']}, {row['cpu']:.2f} s of CPU",
                flush=True,
            )
        print(json.dumps(rows), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
