"""How a claim is measured: peer and mercer in turn, each in a fresh process, medians of several."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

BANDWIDTH = float(np.sqrt(10.0))
"""Of the Gaussian kernel in all claims on `latent`: gamma = 1/20."""


def latent(n: int, d: int = 20, q: int = 5, noise: float = 0.1, seed: int = 0) -> Any:
    """Standardised points near a curved surface of q dimensions in d."""
    rng = np.random.default_rng(seed)
    W, b = rng.standard_normal((q, d)), rng.uniform(-1.0, 1.0, d)
    Z, noises = rng.standard_normal((n, q)), rng.standard_normal((n, d))
    X = np.tanh(Z @ W / np.sqrt(q) + b) + noise * noises
    return (X - X.mean(axis=0)) / X.std(axis=0)


def iso(n: int, d: int = 20) -> Any:
    """Standard normal points, which have no structure at all."""
    return np.random.default_rng(0).standard_normal((n, d))


def blobs(n: int, d: int = 20) -> Any:
    """Ten clusters, standardised."""
    rng = np.random.default_rng(0)
    centres = 3.0 * rng.standard_normal((10, d))
    X = centres[rng.integers(0, 10, n)] + rng.standard_normal((n, d))
    return (X - X.mean(axis=0)) / X.std(axis=0)


def wide(n: int) -> Any:
    """The curved surface in a hundred dimensions."""
    return latent(n, d=100)


DATA: dict[str, Callable[[int], Any]] = {
    "latent": latent,
    "iso": iso,
    "blobs": blobs,
    "wide": wide,
}


def bandwidth(points: Any) -> float:
    """Return the bandwidth of gamma = 1/d."""
    return float(np.sqrt(points.shape[1] / 2.0))


def touch(megabytes: float) -> None:
    """Touch memory once, so that neither contender pays for the first use of fresh pages."""
    block = np.ones(int(megabytes * 1e6 / 8))
    del block


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000.0


def child(contenders: dict[str, Callable[..., dict[str, Any]]]) -> bool:
    """In a child process, run the contender that was asked for and print its figures."""
    if len(sys.argv) < 3 or sys.argv[1] != "--run":
        return False
    name, arguments = sys.argv[2], json.loads(sys.argv[3])
    print(json.dumps(contenders[name](**arguments)))
    return True


CRASHED: set[str] = set()
"""Contenders that a signal ended, and that run with OpenBLAS's AVX2 kernels since."""


def run(script: str, name: str, **arguments: Any) -> dict[str, Any]:
    """Run one contender in a fresh process.

    A process that a signal ended (OpenBLAS's AVX-512 kernels do that to scikit-learn with 40 000
    points) is run again with the AVX2 kernels, and from then on always.
    """
    command = [sys.executable, script, "--run", name, json.dumps(arguments)]
    kernels = {"OPENBLAS_CORETYPE": "Haswell"} if name in CRASHED else {}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | kernels
    )
    if done.returncode < 0 and name not in CRASHED:
        CRASHED.add(name)
        print(f"{name} ended by signal {-done.returncode}; again with AVX2 kernels.")
        return run(script, name, **arguments)
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def compare(
    script: str, names: list[str], repetitions: int = 5, **arguments: Any
) -> dict[str, dict[str, Any]]:
    """Run contenders in turn, and return for each the median of every figure."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for _ in range(repetitions):
        for name in names:
            runs[name].append(run(script, name, **arguments))
    return {
        name: {
            key: statistics.median(r[key] for r in results)
            for key in results[0]
            if isinstance(results[0][key], int | float)
        }
        for name, results in runs.items()
    }


def exponent(sizes: list[int], figures: list[float]) -> float:
    """Return the power of the size with which a figure grows, by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(figures), 1)[0])


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """Return a function's result and how many seconds it took."""
    begun = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begun
