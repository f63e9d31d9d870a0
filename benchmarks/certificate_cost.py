"""Claim: certificates take at most a tenth of the run they are of.

Each run is made with its certificate and with nothing in the place of it, in turn, in one process;
the difference of the shortest CPU times is what the certificate costs: what else the machine does
only adds to them. LAPACK has one thread, for a thread that waits for another one spins, which
counts as CPU time and varies more than a certificate takes.

    python benchmarks/certificate_cost.py                    # all
    python benchmarks/certificate_cost.py exact --repeat 9   # those whose name begins so
"""

from __future__ import annotations

import importlib
import json
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from measure import BANDWIDTH, latent
from threadpoolctl import threadpool_limits

import mercer as mc
from mercer.certificate import Certificate

SHARE = 0.1
"""Of the run, at most."""

dense = importlib.import_module("mercer.spectrum.dense")
exact = importlib.import_module("mercer.spectrum.exact")
approximate = importlib.import_module("mercer.spectrum.approximate")


@contextmanager
def no_proof() -> Iterator[None]:
    """Decompose and iterate without proving anything."""

    def bare(K: Any, count: int, zero: float) -> Any:
        values, vectors = np.linalg.eigh(K)
        values, vectors = values[::-1], np.ascontiguousarray(vectors[:, ::-1])
        return dense.Decomposed(values, vectors, len(K), -np.inf, 0.0)

    def blind(probed: Any, state: Any, count: int, *_: Any, **__: Any) -> Certificate:
        zeros = np.zeros(count)
        return Certificate(zeros, zeros, zeros, zeros > 0, ("",) * count, ("",) * count)

    with (
        patch.object(dense, "_decomposed", bare),
        patch.object(exact, "_certified", blind),
        patch.object(exact, "PROBE_STEPS", 0),
        patch.object(approximate, "sampled_norm", lambda *_: np.inf),
    ):
        yield


def fitted(count: int, n: int, **settings: Any) -> Callable[[], Any]:
    """Return a fit to be timed."""
    X, kernel = latent(n), mc.Gaussian(BANDWIDTH)
    return lambda: mc.KernelPCA(count, kernel=kernel, random_state=0, **settings).fit(X)


RUNS: dict[str, tuple[int, int, dict[str, Any]]] = {
    "dense, 10 axes, 1 000 points": (10, 1_000, {"method": "dense"}),
    "dense, all axes, 1 000 points": (1_000, 1_000, {"method": "dense"}),
    "dense, 10 axes, 2 000 points": (10, 2_000, {"method": "dense"}),
    "dense, all axes, 2 000 points": (2_000, 2_000, {"method": "dense"}),
    "exact, 10 axes, 10 000 points": (10, 10_000, {"method": "exact", "tol": 1e-8}),
    "exact, 100 axes, 10 000 points": (100, 10_000, {"method": "exact", "tol": 1e-8}),
    "exact, 400 axes, 5 000 points": (400, 5_000, {"method": "exact", "tol": 1e-8}),
    "nystrom, 10 axes, 50 000 points": (10, 50_000, {"method": "nystrom"}),
}


def cost(work: Callable[[], Any], repetitions: int) -> tuple[float, float]:
    """Return the seconds of a run, and the share of its certificate."""
    times: dict[bool, list[float]] = {True: [], False: []}
    work()
    for _ in range(repetitions):
        for is_proved in (True, False):
            begun = time.process_time()
            if is_proved:
                work()
            else:
                with no_proof():
                    work()
            times[is_proved].append(time.process_time() - begun)
    whole, bare = (min(times[is_proved]) for is_proved in (True, False))
    return whole, (whole - bare) / whole


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("runs", nargs="*", help="beginnings of names; all without any")
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    figures = {}
    for name, (count, n, settings) in RUNS.items():
        if given.runs and not name.startswith(tuple(given.runs)):
            continue
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            seconds, share = cost(fitted(count, n, **settings), given.repeat)
        print(f"{name}: {seconds:.2f} s of CPU, {100 * share:.1f} % for the certificate")
        figures[name] = {"cpu": seconds, "share": share}
    print(json.dumps(figures))
    over = [name for name, found in figures.items() if found["share"] > SHARE]
    assert not over, f"more than a tenth: {', '.join(over)}"


if __name__ == "__main__":
    main()
