"""Claim: one GPU finds the leading axes of Gram matrices that a processor needs minutes for.

Every kind of kernel is compared with the processor in double precision on fresh data first; then
products and whole fits are timed, the processor's with two threads in the same run. Without words
all parts but the last two are run; with some, these: agree, fits, processor, ridge, products,
few, keops (which is to be on the path), others, nystrom, settings, large, phases, ten_million.

    python -m benchmarks.gpu [fits] [large]    # needs a GPU that torch can use
"""

from __future__ import annotations

import cProfile
import gc
import pstats
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import mercer as mc
from mercer.engines.cpu import Threads
from mercer.engines.device import torch_library
from mercer.engines.gpu import Gpu
from mercer.engines.held import Held

torch = torch_library()
KERNELS = {
    "gaussian": mc.Gaussian(1.5),
    "gaussian, a bandwidth each": mc.Gaussian(tuple(np.linspace(1.0, 3.0, 20))),
    "matern 1/2": mc.Matern(0.5, 2.0),
    "matern 3/2": mc.Matern(1.5, 2.0),
    "matern 5/2": mc.Matern(2.5, 2.0),
    "laplacian": mc.Laplacian(2.0, norm=2),
    "rational quadratic": mc.kernels.RationalQuadratic(1.0, 1.0),
    "polynomial": mc.Polynomial(3, 1.0, 0.2),
    "linear": mc.Linear(),
    "negative distance": mc.kernels.NegativeDistance(1.0),
    "sum and product": mc.Gaussian(1.0) * mc.Linear() + 0.5 * mc.Matern(0.5, 2.0),
}
EXPONENTIALS = {"linear": 0, "polynomial": 0, "negative distance": 0, "sum and product": 2}
"""How many exponentials an entry asks for, of kernels that do not ask for one."""


def agree() -> None:
    """Print how far products are from the processor's, in units of their bound; at most 1."""
    rng = np.random.default_rng()
    x, v = 1.0 + rng.standard_normal((3_000, 20)), rng.standard_normal((3_000, 5))
    for name, kernel in KERNELS.items():
        exact = mc.Gram(kernel, x).product(v)
        for single in (False, True):
            gram = mc.Gram(kernel, x, engine=Gpu())
            gap = np.abs(gram.product(v, single=single) - exact).max(axis=0)
            bound = gram.entry_rounding(single=single).product * np.abs(v).sum(axis=0)
            twice = bound + gram.entry_rounding().product * np.abs(v).sum(axis=0)
            share = float(np.max(gap / twice))
            print(f"{name}, {'single' if single else 'double'}: {share:.1e} of its bound")
            assert share <= 1.0, name


def exponentials() -> float:
    """Return the exponentials a second of a kernel that does nothing else."""
    import triton
    import triton.language as tl

    @triton.jit
    def repeated(OUT, REPEATS: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
        x = tl.program_id(0) * 1e-6 + tl.arange(0, 1024) * 1e-6
        for _ in range(REPEATS):
            x = tl.exp2(-x)
        tl.store(OUT + tl.program_id(0) * 1024 + tl.arange(0, 1024), x)

    globals().update(tl=tl)
    out = torch.empty(2**15 * 1024, device="cuda")
    return 2**15 * 1024 * 256 / seconds(lambda: repeated[(2**15,)](out, 256))


def ceilings() -> dict[str, float]:
    """Return what the device does at the most: products, copies and exponentials."""
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    big = torch.empty(2**28, device="cuda")
    double = torch.randn(4096, 4096, device="cuda", dtype=torch.float64)
    return {
        "half precision, flop/s": 2 * 8192**3 / seconds(lambda: a @ a),
        "double precision, flop/s": 2 * 4096**3 / seconds(lambda: double @ double),
        "copies, bytes/s": 2 * big.nbytes / seconds(big.clone),
        "exponentials/s": exponentials(),
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
    kernel: Any, columns: int, count: int, n: int = 200_000, *, is_fused: bool = True
) -> tuple[float, float]:
    """Return the entries a second of a product that stays on the device, and its error."""
    x = torch.randn(n, columns, device="cuda", dtype=torch.float64) * (10.0 / columns) ** 0.5
    gram = mc.Gram(kernel, Held(x))
    engine: Any = gram.engine
    engine.is_fused = is_fused
    v = torch.randn(n, count, device="cuda", dtype=torch.float64)
    tiles = gram.cut(single=True)
    spent = seconds(lambda: engine.product(tiles, Held(v)))
    images = engine.product(tiles, Held(v)).tensor
    rows = torch.arange(0, n, n // 512, device="cuda")
    exact = engine.product(gram.cut().rows(Held(x[rows])), Held(v)).tensor
    error = torch.linalg.norm(images[rows] - exact) / torch.linalg.norm(exact)
    return n * n / spent, float(error)


def keops() -> None:
    """Print the entries a second of KeOps and of mercer for one Gaussian product, in turn."""
    try:
        from pykeops.torch import LazyTensor
    except ImportError:
        print("KeOps is not installed")
        return
    for columns, count in ((20, 16), (50, 16), (5, 16)):
        n, scale = 200_000, (10.0 / columns) ** 0.5
        x = (torch.randn(n, columns, device="cuda", dtype=torch.float64) * scale).float()
        v = torch.randn(n, count, device="cuda")
        squares = ((LazyTensor(x[:, None, :]) - LazyTensor(x[None, :, :])) ** 2).sum(-1)
        matrix = (squares * -0.05).exp()  # of bandwidth √10, as below
        peer = n * n / seconds(lambda matrix=matrix, v=v: matrix @ v)
        rows, wide = torch.arange(0, n, n // 512, device="cuda"), x.double()
        exact = torch.exp(-0.05 * torch.cdist(wide[rows], wide) ** 2) @ v.double()
        error = float(torch.linalg.norm((matrix @ v)[rows] - exact) / torch.linalg.norm(exact))
        ours, gap = rate(mc.Gaussian(np.sqrt(10.0)), columns, count)
        print(
            f"gaussian, {columns} variables, {count} vectors: mercer {ours:.2e} entries/s, error "
            f"{gap:.0e}; KeOps {peer:.2e}, error {error:.0e}; {ours / peer:.1f} times",
            flush=True,
        )


def others() -> None:
    """Print what a fit of kernels takes whose tiles are made in torch, and what threads take."""
    x = clusters(20_000)
    for kernel in (mc.Laplacian(40.0, norm=1), mc.kernels.Periodic(30.0, 1.0)):
        times = {}
        for engine in ("gpu", Threads(2)):
            for _ in range(2):
                begun = time.perf_counter()
                model = mc.KernelPCA(5, kernel=kernel, method="exact", tol=1e-4, random_state=0,
                                     engine=engine).fit(x)  # fmt: skip
                spent = time.perf_counter() - begun
            times[str(engine)[:3]] = spent, model.eigenvalues_
        (fast, one), (slow, other) = times.values()
        gap = np.abs(one - other).max() / other[0]
        print(f"{kernel}, n = {len(x)}: {fast:.2f} s, two threads {slow:.1f} s; gap {gap:.0e}")


def nystrom(n: int = 100_000) -> None:
    """Print what approximate axes take there and on two threads, and whether their proofs meet."""
    x = clusters(n)
    for engine in ("gpu", Threads(2)):
        times = []
        for _ in range(3):
            begun = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = mc.KernelPCA(10, kernel=mc.Gaussian(6.0), method="nystrom", random_state=0,
                                     engine=engine).fit(x)  # fmt: skip
            times.append(time.perf_counter() - begun)
        proof = model.spectrum_.certificate
        lower, upper = np.asarray(proof.lower), np.asarray(proof.upper)
        width = float(np.max(upper - lower) / upper[0])
        name = "gpu" if engine == "gpu" else "two threads"
        print(f"Nyström, n = {n}, {name}: {min(times):.2f} s, widest interval {width:.1e} of λ₁")
        print(f"  from {lower[:3]} to {upper[:3]}", flush=True)
    x, kernel = clusters(5_000), mc.Gaussian(6.0)
    K = kernel(x)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1)[:, None]
    truth = np.linalg.eigvalsh(K / len(x))[::-1]
    worst = 0.0
    for seed in range(20):
        model = mc.KernelPCA(10, kernel=kernel, method="nystrom", random_state=seed, engine="gpu")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            proof = model.fit(x).spectrum_.certificate
        lower, upper = np.asarray(proof.lower), np.asarray(proof.upper)
        assert np.all((lower <= truth[:10]) & (truth[:10] <= upper)), (seed, lower, upper, truth)
        worst = max(worst, float(np.max(np.abs(model.spectrum_.values - truth[:10]) / truth[0])))
    print(
        f"  n = 5000, twenty seeds: every interval holds its eigenvalue; worst gap {worst:.1e} λ₁"
    )


def flops(columns: int, count: int, *, has_distances: bool) -> int:
    """Return what an entry asks of tensor cores, operands padded as they are."""
    from mercer.engines.fused import Layout

    layout, width = Layout.of(columns, has_distances=has_distances), 16 if count <= 16 else 32
    first = layout.width if layout.parts <= 1 else 3 * layout.width // 2
    return 2 * first + 2 * 3 * width


def few() -> None:
    """Print the speed and error of points of few coordinates, by differences and by products."""
    from mercer.engines import fused

    before = fused.FEW
    kernels = {
        "gaussian": lambda d: mc.Gaussian(0.3 * d**0.5),
        "laplacian": lambda d: mc.Laplacian(0.3 * d**0.5, norm=2),
        "sum and product": lambda d: KERNELS["sum and product"],
    }
    for columns in (1, 2, 3, 4):
        for name, kernel in kernels.items():
            for count in (16, 32):
                found = []
                for fused.FEW in (0, before):  # which is read with each product
                    speed, error = rate(kernel(columns), columns, count)
                    found.append(f"{speed:.2e} entries/s, error {error:.0e}")
                told = "; by differences ".join(found if columns <= before else found[:1])
                print(f"{name}, {columns} variables, {count} vectors: {told}", flush=True)


def products() -> None:
    """Print entries a second, and the share of each ceiling that a product uses."""
    most = ceilings()
    for name, speed in most.items():
        print(f"{name}: {speed:.2e}")
    wide = mc.Gaussian(np.sqrt(10.0))
    speed, error = rate(wide, 20, 16, 50_000, is_fused=False)
    print(f"tile by tile in torch, single: {speed:.2e} entries/s, error {error:.0e}")
    cases = [(f"gaussian, {d} variables", wide, d, b) for d, b in ((20, 16), (20, 32), (50, 16))]
    cases += [(f"gaussian, {d} variables", wide, d, 16) for d in (5, 10, 100)]
    cases += [(name, kernel, 20, 16) for name, kernel in KERNELS.items()]
    for name, kernel, columns, count in cases:
        speed, error = rate(kernel, columns, count)
        asked = flops(columns, count, has_distances=name not in ("linear", "polynomial"))
        cores = speed * asked / most["half precision, flop/s"]
        functions = EXPONENTIALS.get(name, 1) * speed / most["exponentials/s"]
        print(
            f"{name}, {count} vectors: {speed:.2e} entries/s, error {error:.0e}, tensor cores "
            f"{100 * cores:.0f} %, exponentials {100 * functions:.0f} %",
            flush=True,
        )


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


def fits(largest: int = 1_000_000) -> None:
    """Print what fits take, from an array of the host and from one on the device."""
    for label, data, bandwidth in (("clusters", clusters, 6.0), ("rings", rings, 1.0)):
        print(f"first fit, which compiles: {fit(data(5_000), bandwidth, 1e-5, 'gpu')[0]:.1f} s")
        for n in (40_000, 100_000, 1_000_000):
            if n > largest:
                continue
            x = data(n)
            for engine in ("auto", "gpu"):
                times, given = [], torch.as_tensor(x, device="cuda") if engine == "auto" else x
                for _ in range(4 if n > 100_000 else 8):
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


def processor(n: int = 40_000) -> None:
    """Print what two threads take, and how far their eigenvalues are from those of the GPU."""
    for label, data, bandwidth in (("clusters", clusters, 6.0), ("rings", rings, 1.0)):
        x = data(n)
        slow, other = fit(x, bandwidth, 1e-5, Threads(2))
        fit(x, bandwidth, 1e-5, "gpu")
        found = [fit(x, bandwidth, 1e-5, "gpu") for _ in range(5)]
        spent, values = float(np.median([s for s, _ in found])), found[0][1].eigenvalues_
        gap = np.abs(other.eigenvalues_ - values).max() / other.eigenvalues_[0]
        times = f"{slow:.1f} s, {slow / spent:.0f} times {spent:.3f} s"
        print(f"{label}, n = {n}, two threads: {times}; gap {gap:.0e}", flush=True)


def settings() -> None:
    """Print how time depends on the number of landmarks, and on where they are decomposed."""
    from mercer.engines import held

    usual, limit = Gpu.landmarks, held.DECOMPOSED
    for n, counts in ((100_000, (300, 400, 500, 600)), (1_000_000, (512, 640))):
        for label, data, bandwidth in (("clusters", clusters, 6.0), ("rings", rings, 1.0)):
            x = torch.as_tensor(data(n), device="cuda")
            for count in counts:
                for rows in (limit, 10**9):
                    held.DECOMPOSED = rows
                    Gpu.landmarks = lambda self, n, count=count: count  # type: ignore[method-assign,misc]
                    times = [fit(x, bandwidth, 1e-5, "auto") for _ in range(3)]
                    spent, how = min(t for t, _ in times), times[0][1].spectrum_.how
                    where = "there" if rows == limit else "by the host"
                    print(
                        f"{label}, n = {n}: {count} landmarks, decomposed {where}: {spent:.3f} s, "
                        f"{how.single_passes} passes",
                        flush=True,
                    )
                    del times
    Gpu.landmarks, held.DECOMPOSED = usual, limit  # type: ignore[method-assign]


def phases(n: int = 100_000) -> None:
    """Print where the time of a fit goes: functions of the host, kernels of the device, waits.

    With ``CUDA_LAUNCH_BLOCKING=1`` the host waits for every kernel, and its functions show what
    they cost on the device too.
    """
    from torch.profiler import ProfilerActivity, profile

    for label, data, bandwidth in (("clusters", clusters, 6.0), ("rings", rings, 1.0)):
        x = torch.as_tensor(data(n), device="cuda")
        times = [fit(x, bandwidth, 1e-5, "auto")[0] for _ in range(6)]
        print(f"{label}, n = {n}: {np.round(times, 3).tolist()} s", flush=True)
        host = cProfile.Profile()
        host.runcall(fit, x, bandwidth, 1e-5, "auto")
        for order, lines in (("cumulative", 70), ("tottime", 25)):
            pstats.Stats(host).sort_stats(order).print_stats(lines)
        torch.cuda.set_sync_debug_mode("warn")
        with warnings.catch_warnings(record=True) as waits:
            warnings.simplefilter("always")
            model = mc.KernelPCA(
                10, kernel=mc.Gaussian(bandwidth), method="exact", tol=1e-5, random_state=0
            ).fit(x)
        torch.cuda.set_sync_debug_mode("default")
        places = Counter(f"{w.filename.rpartition('/')[2]}:{w.lineno}" for w in waits)
        print(f"{sum(places.values())} waits of the host:", places.most_common(40))
        print("residuals:", model.spectrum_.how.history)
        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as device:
            fit(x, bandwidth, 1e-5, "auto")
            torch.cuda.synchronize()
        table = device.key_averages()
        print(table.table(sort_by="self_cuda_time_total", row_limit=25, max_name_column_width=70))


def ten_million() -> None:
    """Print what ten million points take to 1e-4."""
    large((10_000_000,))


def large(counts: tuple[int, ...] = (2_000_000, 4_000_000)) -> None:
    """Print what two and four million points take to 1e-4, and how that grows."""
    times = {}
    for n in counts:
        x = torch.as_tensor(clusters(n), device="cuda")
        gc.collect()
        torch.cuda.reset_peak_memory_stats()
        spent, model = fit(x, 6.0, 1e-4, "auto")
        how, memory = model.spectrum_.how, torch.cuda.max_memory_allocated() / 2**30
        reached = f"{how.single_passes} passes to {how.history[-1]:.1e}"
        print(f"n = {n}: {spent:.1f} s, {memory:.1f} GiB, {reached}", flush=True)
        times[n] = spent / how.single_passes
        model = None
    if len(counts) > 1:
        growth = np.log(times[counts[-1]] / times[counts[0]]) / np.log(counts[-1] / counts[0])
        print(f"with its share of the rest a pass grows as n^{growth:.2f}")


def ridge(n: int = 1_000_000) -> None:
    """Print how long kernel ridge regression to a residual of 1e-6 takes."""
    given = clusters(n)
    y = np.sin(given[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(n)
    x = torch.as_tensor(given, device="cuda")
    model = mc.KernelRegression(mc.Gaussian(6.0), penalty=1e-3, tol=1e-5)
    torch.cuda.reset_peak_memory_stats()
    begun = time.perf_counter()
    model.fit(x, torch.as_tensor(y, device="cuda"))
    spent, memory = time.perf_counter() - begun, torch.cuda.max_memory_allocated() / 2**30
    gap = model.gap_ / model.objective_
    steps = f"{model.n_iter_} steps, duality gap {gap:.1e} of the objective"
    print(f"kernel ridge, n = {n}: {spent:.1f} s, {memory:.1f} GiB, {steps}", flush=True)


PARTS: dict[str, Callable[[], None]] = {
    "agree": agree,
    "fits": fits,
    "processor": processor,
    "ridge": ridge,
    "products": products,
    "few": few,
    "keops": keops,
    "others": others,
    "nystrom": nystrom,
    "settings": settings,
    "large": large,
    "phases": phases,
    "ten_million": ten_million,
}


def main() -> None:
    print(torch.cuda.get_device_name(), torch.__version__)
    for name in sys.argv[1:] or list(PARTS)[:-2]:
        PARTS[name]()


if __name__ == "__main__":
    main()
