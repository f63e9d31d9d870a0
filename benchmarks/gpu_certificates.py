"""Claim: certificates of fits on a GPU are true, and so are its products with every kernel.

Random data, kernels, weights and tolerances; the truth is LAPACK's in double precision, on the
processor. A case fails where an eigenvalue lies outside its interval, or an axis that is said to be
a leading one is not. Products of every kernel of numbers are compared with double precision, too,
and it is asserted that none of them is computed by the processor.

    python -m benchmarks.gpu_certificates [cases] [device] [processes] [seconds]

Without words these are 1 000, "cuda", 1 and no limit; cases that are not done by one are left out.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from typing import Any

import numpy as np

import mercer as mc
from mercer.engines.gpu import Gpu

SMALLEST, LARGEST = 300, 1_200
SEED = 70_000


def data(rng: np.random.Generator, n: int, d: int) -> Any:
    """Return points of one of five kinds: normal, clusters, a curve, heavy rows, tight groups."""
    kind = rng.integers(5)
    x = rng.standard_normal((n, d))
    if kind == 1:
        x = 3.0 * rng.standard_normal((rng.integers(2, 12), d))[rng.integers(0, 2, n)] + x
    if kind == 2:
        t = rng.uniform(0.0, 2.0 * np.pi, n)
        x = 0.1 * x
        x[:, 0] += 3.0 * np.cos(t)
        x[:, -1] += 3.0 * np.sin(t)
    if kind == 3:
        x[rng.integers(0, n, 3)] *= 10.0
    if kind == 4:
        x = rng.standard_normal((5, d))[rng.integers(0, 5, n)] + 1e-3 * x
    return x * 10.0 ** rng.uniform(-1.0, 1.0) + rng.choice([0.0, 1.0, 100.0])


def kernels(rng: np.random.Generator, size: float, d: int) -> dict[str, mc.Kernel]:
    """Return a kernel of each kind, with lengths like the size of the data."""
    length = size * 10.0 ** rng.uniform(-0.5, 0.7)
    return {
        "gaussian": mc.Gaussian(length),
        "gaussian, a bandwidth each": mc.Gaussian(tuple(length * rng.uniform(0.5, 2.0, d))),
        "matern 1/2": mc.Matern(0.5, length),
        "matern 3/2": mc.Matern(1.5, length),
        "matern 5/2": mc.Matern(2.5, length),
        "laplacian": mc.Laplacian(length, norm=2),
        "rational quadratic": mc.kernels.RationalQuadratic(rng.uniform(0.5, 3.0), length),
        "polynomial": mc.Polynomial(int(rng.integers(2, 4)), 1.0, float(size**-2)),
        "linear": mc.Linear(),
        "negative distance": mc.kernels.NegativeDistance(1.0, length),
        "exponential of a kernel": (float(size**-2 / 9.0) * mc.Linear()).exp(),
        "sum and product": mc.Gaussian(length) * mc.Linear() + 0.5 * mc.Matern(0.5, length),
    }


def others(rng: np.random.Generator, size: float, d: int) -> dict[str, mc.Kernel]:
    """Return every other kernel of rows of numbers: formulas of coordinates, and of values.

    Those of Bessel functions (Matérn of other orders than the usual, Bessel), of labels and of
    Python's functions are missing, which the processor computes, with a warning.
    """
    k, length = mc.kernels, size * 10.0 ** rng.uniform(-0.5, 0.7)
    form = rng.standard_normal((d, d))
    found = {
        "laplacian, city blocks": mc.Laplacian(length * d**0.5, norm=1),
        "laplacian, norm 1.5": mc.Laplacian(length * d**0.25, norm=1.5),
        "periodic": k.Periodic(4.0 * length, 1.0),
        "sinc": k.Sinc(length),
        "sobolev": k.Sobolev(d / 2.0 + 1.5, length),
        "waves": k.Waves((rng.standard_normal((4, d)) / length).tolist()),
        "characteristic": k.Characteristic("laplace", length),
        "bilinear": k.Bilinear((form @ form.T / size**2).tolist()),
        "standardised": k.Standardised(),
        "negative distance 1/2": k.NegativeDistance(0.5, length),
        "sigmoid": k.Sigmoid(),
        "constant": k.Constant(2.0),
        "tanimoto": k.Tanimoto(),
        "chi square": k.ChiSquare(),
        "bray curtis": k.BrayCurtis(),
        "aitchison": k.Aitchison(),
        "normalised": mc.Polynomial(2, 1.0, float(size**-2)).normalised(),
        "gaussian of a kernel": mc.Laplacian(length * d**0.5, norm=1).gaussian(1.0),
        "centred": mc.Gaussian(length).centred((length * form[:3]).tolist()),
        "weighted": mc.Gaussian(length).weighted(_first),
        "on a map": mc.Gaussian(length).on(_cubes),
        "a sum of columns": mc.Gaussian(length) + mc.kernels.Periodic(4.0 * length, 1.0),
    }
    return found | ({"brownian": k.Brownian(), "cubic spline": k.CubicSpline()} if d == 1 else {})


OF_COUNTS = ("tanimoto", "chi square", "bray curtis", "aitchison", "brownian", "cubic spline")
"""Kernels of numbers that are not negative."""


def _first(x: Any) -> Any:
    return x[:, 0]


def _cubes(x: Any) -> Any:
    return x * x * x


def truth_of(kernel: mc.Kernel, x: Any, weights: Any) -> Any:
    """Return the eigenvalues of the centred and weighted matrix in double precision."""
    K = mc.Gram(kernel, x).dense()
    K = K - (K @ weights)[:, None]
    K = K - (weights @ K)[None, :]
    roots = np.sqrt(weights)
    return np.linalg.eigvalsh(roots[:, None] * (K + K.T) / 2.0 * roots)[::-1]


def case(seed: int, device: str) -> dict[str, Any]:
    """Return what became of one random case."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(SMALLEST, LARGEST)), int(rng.choice([1, 2, 3, 5, 20, 50]))
    x = data(rng, n, d)
    size = float(x.std() * np.sqrt(d)) or 1.0
    of_kind = kernels(rng, size, d) | others(rng, size, d)
    name = str(rng.choice(list(of_kind)))
    x = np.abs(x) + 0.01 if name in OF_COUNTS else x
    kernel, tol = of_kind[name], float(rng.choice([1e-3, 1e-4, 1e-5, 1e-7, 1e-9]))
    weights = rng.dirichlet(np.ones(n)) if rng.random() < 0.3 else np.full(n, 1.0 / n)
    count = int(rng.integers(1, 8))
    found: dict[str, Any] = {"seed": seed, "kernel": name, "n": n, "d": d, "tol": tol}
    try:
        truth = truth_of(kernel, x, weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            operator = mc.Gram(kernel, x, engine=Gpu(device)).centred(weights)
            spectrum = mc.leading(operator, count, tol=tol, method="exact", random_state=seed)
    except mc.errors.MercerError as error:
        return {**found, "raised": type(error).__name__, "why": str(error)}
    proof, slack = spectrum.certificate, 10 * n * np.finfo(float).eps * float(np.abs(truth).max())
    lower, upper = np.asarray(proof.lower) - slack, np.asarray(proof.upper) + slack
    is_leading = np.asarray(proof.is_ordered)
    nearest = np.array([truth[np.argmin(np.abs(truth - value))] for value in spectrum.values])
    placed = np.where(is_leading, truth[: len(nearest)], nearest)
    return {
        **found,
        "promises": len(placed) + int(is_leading.sum()),
        "violated": int(np.sum((placed < lower) | (placed > upper))),
        "rounding": proof.rounding.split(":")[0].split(";")[0],
        "share": largest_share(np.abs(placed - spectrum.values), spectrum.errors + slack),
    }


def largest_share(gaps: Any, bounds: Any) -> float:
    """Return the largest share of a bound that was used: none of a bound of 0 that was kept.

    >>> largest_share(np.array([0.0, 1.0]), np.array([0.0, 4.0]))
    0.25
    >>> largest_share(np.array([1.0]), np.array([0.0]))
    inf
    """
    used, bounds = gaps > 0, np.broadcast_to(bounds, gaps.shape)
    with np.errstate(divide="ignore"):
        return float(np.max(gaps[used] / bounds[used], initial=0.0))


def products(name: str, device: str) -> list[tuple[str, str, float, float]]:
    """Return for each precision of a kernel the relative error and its share of the bound."""
    warnings.simplefilter("error", mc.errors.OnProcessor)
    rng, worst = np.random.default_rng(), {"double": (0.0, 0.0), "single": (0.0, 0.0)}
    for d in (1, 5, 20, 50, 200):
        x, v = 1.0 + rng.standard_normal((3_000, d)), rng.standard_normal((3_000, 9))
        x = np.abs(x) + 0.01 if name in OF_COUNTS else x
        of_kind = kernels(rng, float(np.sqrt(d)), d) | others(rng, float(np.sqrt(d)), d)
        if name not in of_kind:
            continue  # of points of the line
        kernel = of_kind[name]
        exact = mc.Gram(kernel, x).product(v)
        for precision, before in worst.items():
            single, gram = precision == "single", mc.Gram(kernel, x, engine=Gpu(device))
            gap = gram.product(v, single=single) - exact
            bound = gram.entry_rounding(single=single).product + gram.entry_rounding().product
            share = largest_share(np.abs(gap), bound * np.abs(v).sum(axis=0))
            error = float(np.linalg.norm(gap) / max(float(np.linalg.norm(exact)), 1e-300))
            worst[precision] = max(before[0], error), max(before[1], share)
    return [(name, precision, *found) for precision, found in worst.items()]


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    device = sys.argv[2] if len(sys.argv) > 2 else "cuda"
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    limit = float(sys.argv[4]) if len(sys.argv) > 4 else None
    begun = time.perf_counter()
    rng, seeds = np.random.default_rng(0), range(SEED, SEED + cases)
    names = list(kernels(rng, 1.0, 1) | others(rng, 1.0, 1))
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        rows = pool.map(products, names, [device] * len(names))
        table = [row for part in rows for row in part]
        print(f"{'kernel':28} {'precision':9} {'relative error':>14} {'share of bound':>14}")
        for name, precision, error, share in table:
            print(f"{name:28} {precision:9} {error:14.1e} {share:14.1e}")
        assert all(share <= 1.0 for *_, share in table), "a product is outside its bound"
        print(f"products: {time.perf_counter() - begun:.0f} s", flush=True)
        left = None if limit is None else max(limit - (time.perf_counter() - begun), 1.0)
        results = list[dict[str, Any]]()
        with suppress(TimeoutError):
            for found in pool.map(case, seeds, [device] * cases, chunksize=4, timeout=left):
                results.append(found)  # noqa: PERF402  (what came before the limit is kept)
        pool.shutdown(cancel_futures=True)
    raised = [r for r in results if "raised" in r]
    kept = [r for r in results if "raised" not in r]
    wrong = [r for r in kept if r["violated"]]
    promises = sum(r["promises"] for r in kept)
    by_rounding = {k: sum(r["rounding"] == k for r in kept) for k in {r["rounding"] for r in kept}}
    print(f"{len(kept)} cases, {promises} promises, {len(wrong)} cases violated; {by_rounding}")
    for r in sorted(kept, key=lambda r: -r["share"])[:3]:
        print(f"share of an error that was used: {r['share']:.3g}, {r['kernel']}, seed {r['seed']}")
    print(f"raised by name: {len(raised)}", dict(Counter(r["raised"] for r in raised)))
    for r in raised:
        print(f"seed {r['seed']}, {r['kernel']}, tol {r['tol']:g}: {r['raised']}, {r['why'][:90]}")
    for r in wrong[:10]:
        print("violated:", r)
    print(json.dumps({"cases": len(kept), "violated": len(wrong), "promises": promises}))
    print(f"{time.perf_counter() - begun:.0f} s")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
