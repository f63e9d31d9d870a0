"""Claim: certificates take at most a tenth of the run they are of.

The proof of a decomposition is one call, whose CPU time is a share of that of the run it is part
of: the difference of two runs would be that of two long decompositions. What an iteration carries
along for its proof is spread over it, so such a run is made with its certificate and with nothing
in the place of it, in turn, in one process; the difference of the shortest CPU times is what the
certificate costs: what else the machine does only adds to them. LAPACK has one thread, for a thread
that waits for another one spins, which counts as CPU time and varies more than a certificate takes.

    python -m benchmarks.certificate_cost                    # all
    python -m benchmarks.certificate_cost exact --repeat 9   # those whose name begins so
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
from mercer.spectrum.shortfall import Norm

SHARE = 0.1
"""Of the run, at most."""

Work = Callable[[], Any]

dense = importlib.import_module("mercer.spectrum.dense")
exact = importlib.import_module("mercer.spectrum.exact")
approximate = importlib.import_module("mercer.spectrum.approximate")


@contextmanager
def no_proof() -> Iterator[None]:
    """Iterate without proving anything."""

    def blind(probed: Any, state: Any, count: int, *_: Any, **__: Any) -> Certificate:
        zeros = np.zeros(count)
        return Certificate(zeros, zeros, zeros, zeros > 0, ("",) * count, ("",) * count)

    with (
        patch.object(exact, "_certified", blind),
        patch.object(exact, "PROBE_STEPS", 0),
        patch.object(approximate, "sampled_norm", lambda *_: Norm(np.inf, False, np.inf)),
        patch.object(approximate.Missing, "pairs", lambda *_: 0),
    ):
        yield


def fitted(count: int, n: int, *, is_precomputed: bool = False, **settings: Any) -> Work:
    """Return a fit to be timed."""
    X, kernel = latent(n), mc.Gaussian(BANDWIDTH)
    if is_precomputed:
        X, kernel = kernel(X), "precomputed"
    return lambda: mc.KernelPCA(count, kernel=kernel, random_state=0, **settings).fit(X)


RUNS: dict[str, tuple[int, int, dict[str, Any]]] = {
    "dense, 10 axes, 1 000 points": (10, 1_000, {"method": "dense"}),
    "dense, 10 axes of a stored matrix, 1 000 points": (
        10,
        1_000,
        {"method": "dense", "is_precomputed": True},
    ),
    "dense, all axes, 1 000 points": (1_000, 1_000, {"method": "dense"}),
    "dense, 10 axes, 2 000 points": (10, 2_000, {"method": "dense"}),
    "dense, all axes, 2 000 points": (2_000, 2_000, {"method": "dense"}),
    "exact, 10 axes, 10 000 points": (10, 10_000, {"method": "exact", "tol": 1e-8}),
    "exact, 100 axes, 10 000 points": (100, 10_000, {"method": "exact", "tol": 1e-8}),
    "exact, 400 axes, 5 000 points": (400, 5_000, {"method": "exact", "tol": 1e-8}),
    "nystrom, 10 axes, 50 000 points": (10, 50_000, {"method": "nystrom"}),
}


def share_of_proof(work: Work, repetitions: int) -> tuple[float, float]:
    """Return the seconds of a decomposition, and the share of the call that proves it."""
    proof, wholes, proofs = dense._proved, [], []

    def timed(*given: Any, **settings: Any) -> Any:
        begun = time.process_time()
        found = proof(*given, **settings)
        proofs.append(time.process_time() - begun)
        return found

    work()
    with patch.object(dense, "_proved", timed):
        for _ in range(repetitions):
            begun = time.process_time()
            work()
            wholes.append(time.process_time() - begun)
    return min(wholes), min(proofs) / min(wholes)


def share_of_certificate(work: Work, repetitions: int) -> tuple[float, float]:
    """Return the seconds of an iteration, and the share of what only its certificate needs."""
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
            is_dense = settings["method"] == "dense"
            measured = share_of_proof if is_dense else share_of_certificate
            seconds, share = measured(fitted(count, n, **settings), given.repeat)
        print(f"{name}: {seconds:.2f} s of CPU, {100 * share:.1f} % for the certificate")
        figures[name] = {"cpu": seconds, "share": share}
    print(json.dumps(figures))
    over = [name for name, found in figures.items() if found["share"] > SHARE]
    assert not over, f"more than a tenth: {', '.join(over)}"


if __name__ == "__main__":
    main()
