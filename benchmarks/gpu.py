"""Claim: one GPU finds the leading axes of Gram matrices that a processor needs minutes for.

Every kind of kernel is compared with the processor in double precision on fresh data first; then
products and whole fits are timed, the processor's with two threads in the same run.

    python -m benchmarks.gpu [largest n]      # needs a GPU that torch can use
"""

from __future__ import annotations

import gc
import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import mercer as mc
from mercer.engines.cpu import Threads
from mercer.engines.gpu import Gpu, torch_library
from mercer.engines.held import Held, to_host

torch = torch_library()
KERNELS = {
    "gaussian": mc.Gaussian(1.5),
    "gaussian, a bandwidth each": mc.Gaussian(tuple(np.linspace(1.0, 3.0, 6))),
    "matern 1/2": mc.Matern(0.5, 2.0),
    "matern 3/2": mc.Matern(1.5, 2.0),
    "laplacian": mc.Laplacian(2.0, norm=2),
    "rational quadratic": mc.kernels.RationalQuadratic(1.0, 1.0),
    "polynomial": mc.Polynomial(3, 1.0, 0.2),
    "negative distance": mc.kernels.NegativeDistance(1.0),
    "sum and product": mc.Gaussian(1.0) * mc.Linear() + 0.5 * mc.Matern(0.5, 2.0),
}


def agree() -> dict[str, float]:
    """Return how far products are from the processor's, in units of their bound; at most 1."""
    rng = np.random.default_rng()
    x, v = 1.0 + rng.standard_normal((3_000, 6)), rng.standard_normal((3_000, 5))
    found = {}
    for name, kernel in KERNELS.items():
        exact = mc.Gram(kernel, x).product(v)
        for single in (False, True):
            gram = mc.Gram(kernel, x, engine=Gpu())
            gap = np.abs(gram.product(v, single=single) - exact).max(axis=0)
            bound = gram.entry_rounding(single=single).product * np.abs(v).sum(axis=0)
            twice = bound + gram.entry_rounding().product * np.abs(v).sum(axis=0)
            found[f"{name}, {'single' if single else 'double'}"] = float(np.max(gap / twice))
    assert max(found.values()) <= 1.0, found
    return found


def ceilings() -> dict[str, float]:
    """Return what the device does at the most: products in two precisions, and copies."""
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    big = torch.empty(2**28, device="cuda")
    double = torch.randn(4096, 4096, device="cuda", dtype=torch.float64)
    return {
        "half precision, flop/s": 2 * 8192**3 / seconds(lambda: a @ a),
        "double precision, flop/s": 2 * 4096**3 / seconds(lambda: double @ double),
        "copies, bytes/s": 2 * big.nbytes / seconds(big.clone),
    }


def seconds(work: Callable[[], Any]) -> float:
    """Return the median time of some work on the device, after a first."""
    times = []
    for _ in range(6):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return float(np.median(times[1:]))


def rate(
    columns: int, count: int, n: int = 200_000, *, is_fused: bool = True
) -> tuple[float, float]:
    """Return the entries a second of a product that stays on the device, and its error."""
    rng = np.random.default_rng()
    x = rng.standard_normal((n, columns)) * np.sqrt(10.0 / columns)
    gram = mc.Gram(mc.Gaussian(np.sqrt(10.0)), x, engine=Gpu())
    gram.engine.is_fused = is_fused
    v = torch.as_tensor(rng.standard_normal((n, count)), device="cuda")
    tiles, times = gram.cut(single=True), []
    for _ in range(4):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        images = gram.engine.product(tiles, Held(v))
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    rows = rng.choice(n, 512, replace=False)
    exact = mc.Gram(gram.kernel, x[rows], x, engine=Gpu()).product(v.cpu().numpy())
    error = np.linalg.norm(to_host(images)[rows] - exact) / np.linalg.norm(exact)
    return n * n / float(np.median(times[1:])), float(error)


def clusters(n: int) -> Any:
    rng = np.random.default_rng(0)
    return rng.standard_normal((10, 20))[rng.integers(0, 10, n)] * 3 + rng.standard_normal((n, 20))


def rings(n: int) -> Any:
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, n), rng.integers(1, 4, n)
    x = 0.1 * rng.standard_normal((n, 20))
    x[:, 0] += radius * np.cos(angle)
    x[:, 1] += radius * np.sin(angle)
    return x


def fit(x: Any, bandwidth: float, tol: float, engine: Any) -> tuple[float, Any]:
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mc.KernelPCA(
            10, kernel=mc.Gaussian(bandwidth), method="exact", tol=tol, random_state=0,
            engine=engine,
        ).fit(x)  # fmt: skip
    return time.perf_counter() - begun, model


def ridge(n: int) -> str:
    """Return how long kernel ridge regression of so many points takes, and its residual."""
    x = clusters(n)
    y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(n)
    model = mc.KernelRegression(mc.Gaussian(6.0), penalty=1e-3, tol=1e-6, engine=Gpu())
    begun = time.perf_counter()
    model.fit(x, y)
    spent = time.perf_counter() - begun
    return f"kernel ridge, n = {n}: {spent:.1f} s, score {model.score(x[:1000], y[:1000]):.4f}"


def large() -> None:
    """Print what two and four million points take to 1e-4, from which ten are projected."""
    times = {}
    for n in (2_000_000, 4_000_000):
        x = clusters(n)
        gc.collect()
        torch.cuda.reset_peak_memory_stats()
        spent, model = fit(x, 6.0, 1e-4, Gpu())
        how, memory = model.spectrum_.how, torch.cuda.max_memory_allocated() / 2**30
        reached = f"{how.single_passes} passes to {how.history[-1]:.1e}"
        print(f"n = {n}: {spent:.1f} s, {memory:.1f} GiB, {reached}", flush=True)
        times[n] = spent / how.single_passes
        model = None
    growth = np.log2(times[4_000_000] / times[2_000_000])
    a_pass = times[4_000_000] * 2.5**growth
    print(f"a pass grows as n^{growth:.2f}: of ten million {a_pass:.0f} s")


def main() -> None:
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(torch.cuda.get_device_name(), torch.__version__)
    for name, ratio in agree().items():
        print(f"{name}: {ratio:.1e} of its bound")
    figures: dict[str, Any] = {}
    for name, speed in ceilings().items():
        print(f"{name}: {speed:.2e}")
    speed, error = rate(20, 16, 50_000, is_fused=False)
    print(f"tile by tile in torch, single: {speed:.2e} entries/s, error {error:.0e}")
    for columns, count in ((20, 16), (20, 32), (50, 16)):
        speed, error = rate(columns, count)
        figures[f"product {columns} {count}"] = speed
        print(f"{columns} variables, {count} vectors: {speed:.2e} entries/s, error {error:.0e}")
    for label, data, bandwidth in (("clusters", clusters, 6.0), ("rings", rings, 1.0)):
        fit(data(5_000), bandwidth, 1e-5, Gpu())  # which compiles
        for n in (40_000, 100_000, 1_000_000):
            if n > largest:
                continue
            x = data(n)
            for given, engine in ((torch.as_tensor(x, device="cuda"), "auto"), (x, "gpu")):
                times = []
                for _ in range(6):
                    model = None  # which holds what is on the device
                    gc.collect()
                    torch.cuda.reset_peak_memory_stats()
                    spent, model = fit(given, bandwidth, 1e-5, engine)
                    times.append(spent)
                spent, how = float(np.median(times[1:])), model.spectrum_.how
                memory = torch.cuda.max_memory_allocated() / 2**30
                passes = f"{how.single_passes} + {how.double_passes} passes"
                what = "a tensor there" if engine == "auto" else "numpy's"
                print(
                    f"{label}, n = {n}, {what}: {spent:.3f} s, {memory:.2f} GiB, {passes} to "
                    f"{how.history[-1]:.1e}",
                    flush=True,
                )
                figures[f"{label} {n} {what}"] = spent
            if n == 40_000:
                slow, other = fit(x, bandwidth, 1e-5, Threads(2))
                gap = np.abs(other.eigenvalues_ - model.eigenvalues_).max() / other.eigenvalues_[0]
                print(f"  processor: {slow:.1f} s, {slow / spent:.0f} times; gap {gap:.0e}")
    if largest >= 1_000_000:
        large()
    print(ridge(100_000), flush=True)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
