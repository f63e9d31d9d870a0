"""Claim: models of a kernel say the same on a GPU, to arrays of torch, CuPy and JAX alike.

Every model is fitted to arrays on the device and compared with one on the processor; then the mean
discrepancy of two samples and Horn's permutations are timed on both.

    python -m benchmarks.gpu_models    # needs a GPU that torch can use
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import mercer as mc
from mercer.engines.device import torch_library

torch = torch_library()
GAUSSIAN = mc.Gaussian(3.0)
N, NEW = 2_000, 500


def clusters(n: int) -> Any:
    rng = np.random.default_rng(0)
    return rng.standard_normal((10, 5))[rng.integers(0, 10, n)] * 3 + rng.standard_normal((n, 5))


MODELS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "KernelPCA": (lambda: mc.KernelPCA(3, kernel=GAUSSIAN, random_state=0), "", "transform"),
    "KernelRegression": (lambda: mc.KernelRegression(GAUSSIAN, penalty=1e-3), "wave", "predict"),
    "GaussianProcess": (
        lambda: mc.GaussianProcess(GAUSSIAN, noise_variance=0.1, optimise=False),
        "wave",
        "predict",
    ),
    "SVC": (lambda: mc.SVC(GAUSSIAN), "classes", "decision_function"),
    "SVR": (lambda: mc.SVR(GAUSSIAN), "wave", "predict"),
    "NystromFeatures": (
        lambda: mc.NystromFeatures(50, kernel=GAUSSIAN, random_state=0),
        "",
        "transform",
    ),
}


def libraries() -> dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]:
    """Return how to put an array on the device and how to bring it back, of each library here."""
    found: dict[str, Any] = {
        "torch": (lambda a: torch.as_tensor(a, device="cuda"), lambda a: a.cpu().numpy())
    }
    if find_spec("cupy") is not None:
        import cupy

        found["cupy"] = cupy.asarray, cupy.asnumpy
    if find_spec("jax") is not None:
        import jax

        jax.config.update("jax_enable_x64", True)
        place = jax.devices()[0]
        print("jax computes on", place)
        found["jax"] = lambda a: jax.device_put(a, place), np.asarray
    return found


def models() -> None:
    """Print for each model and library how far results on the device are from the processor's."""
    x, new = clusters(N), clusters(N + NEW)[N:]
    targets = {"": None, "wave": np.sin(x[:, 0]), "classes": np.digitize(x[:, 0], [-1.0, 2.0])}
    for library, (there, back) in libraries().items():
        for name, (make, target, method) in MODELS.items():
            y = targets[target]
            exact = getattr(make().fit(x, y), method)(new)
            given = there(x)
            try:
                fitted = make().fit(given, None if y is None else there(y))
                result = getattr(fitted, method)(there(new))
            except Exception as error:
                print(f"{library}, {name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
                continue
            gap = np.abs(back(result) - exact).max() / np.abs(exact).max()
            kind = f"{type(result).__module__}.{type(result).__name__}, {result.dtype}"
            print(f"{library}, {name}.{method}: {gap:.1e} of the largest; {kind}", flush=True)
            assert type(result) is type(given)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the time of some work on the device, after a first, and what it made."""
    work()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    made = work()
    torch.cuda.synchronize()
    return time.perf_counter() - begun, made


def discrepancy(n: int = 4_000) -> None:
    """Print what the mean discrepancy of two samples with 999 permutations takes on both."""
    x, y = clusters(n), clusters(2 * n)[n:] + 0.05
    told = {"permutations": 999, "random_state": 0}
    slow, exact = timed(lambda: mc.mean_discrepancy(GAUSSIAN, x, y, **told))
    a, b = (torch.as_tensor(side, device="cuda") for side in (x, y))
    fast, found = timed(lambda: mc.mean_discrepancy(GAUSSIAN, a, b, **told))
    gap = np.abs(found.null - exact.null).max() / np.abs(exact.null).max()
    p = f"p = {found.p_value:g} and {exact.p_value:g}"
    print(f"MMD of {n} and {n} points: {fast:.2f} s and {slow:.2f} s, null {gap:.0e} apart, {p}")


def horn(n: int = 20_000) -> None:
    """Print what Horn's test with 99 permutations on 256 landmarks takes on both."""
    x = clusters(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        host = mc.KernelPCA(5, kernel=GAUSSIAN, method="nystrom", random_state=0).fit(x)
        there = mc.KernelPCA(5, kernel=GAUSSIAN, method="nystrom", random_state=0)
        there.fit(torch.as_tensor(x, device="cuda"))
        slow, exact = timed(lambda: mc.parallel_analysis(host, 99, random_state=0))
        fast, found = timed(lambda: mc.parallel_analysis(there, 99, random_state=0))
    gap = np.abs(found.null - exact.null).max() / np.abs(exact.null).max()
    kept = f"{found.n_components} and {exact.n_components} axes kept"
    print(f"Horn of {n} points: {fast:.2f} s and {slow:.2f} s, null {gap:.0e} apart, {kept}")


def main() -> None:
    print(torch.cuda.get_device_name(), torch.__version__)
    for part in (models, discrepancy, horn):
        part()


if __name__ == "__main__":
    main()
