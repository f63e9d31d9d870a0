"""Claim: kernel ridge regression to a residual of 1e-8, faster than scikit-learn in less memory."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from measure import child, compare, latent, peak_megabytes, run, timed, touch

BANDWIDTH = float(np.sqrt(10.0))
SHIFT = 1e-2


def observations(n: int) -> tuple[Any, Any]:
    X = latent(n)
    noise = 0.1 * np.random.default_rng(1).standard_normal(n)
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + noise


def residual(x: Any, y: Any, weights: Any) -> float:
    """The relative residual of (K + αI)w = y, in double precision and in pieces."""
    norms = np.sum(x**2, axis=1)
    image = SHIFT * weights
    for start in range(0, len(x), 1000):
        rows = slice(start, start + 1000)
        squares = norms[rows, None] + norms - 2.0 * x[rows] @ x.T
        image[rows] += np.exp(-np.maximum(squares, 0.0) / (2.0 * BANDWIDTH**2)) @ weights
    return float(np.linalg.norm(y - image) / np.linalg.norm(y))


def peer(n: int, touched: bool = True) -> dict[str, Any]:
    """scikit-learn's KernelRidge."""
    from sklearn.kernel_ridge import KernelRidge

    X, y = observations(n)
    model = KernelRidge(alpha=SHIFT, kernel="rbf", gamma=0.5 / BANDWIDTH**2)
    model.fit(X[:300], y[:300])
    base = peak_megabytes()
    if touched:
        touch(1.3 * 3 * 8e-6 * n * n)
    _, seconds = timed(lambda: model.fit(X, y))
    memory = peak_megabytes() - base
    return {"seconds": seconds, "memory": memory, "residual": residual(X, y, model.dual_coef_)}


def mercer(n: int, touched: bool = True) -> dict[str, Any]:
    """Conjugate gradients behind a Cholesky factor in single precision."""
    import mercer as mc

    X, y = observations(n)
    kernel = mc.Gaussian(BANDWIDTH)
    mc.KernelRegression(kernel, SHIFT / 3100).fit(X[:3100], y[:3100])
    base = peak_megabytes()
    if touched:
        touch(1.3 * 3 * 8e-6 * n * n)
    model = mc.KernelRegression(kernel, SHIFT / n)
    _, seconds = timed(lambda: model.fit(X, y))
    memory = peak_megabytes() - base
    return {"seconds": seconds, "memory": memory, "residual": residual(X, y, model.dual_coef_)}


def main(n: int, repetitions: int) -> None:
    medians = compare(__file__, ["peer", "mercer"], repetitions, n=n)
    once = {name: run(__file__, name, n=n, touched=False) for name in medians}
    ratio = medians["peer"]["seconds"] / medians["mercer"]["seconds"]
    memory = once["peer"]["memory"] / max(once["mercer"]["memory"], 1.0)
    print(
        f"n = {n}: {medians['mercer']['seconds']:.2f} s and {once['mercer']['memory']:.0f} MB "
        f"against {medians['peer']['seconds']:.2f} s and {once['peer']['memory']:.0f} MB of "
        f"scikit-learn: {ratio:.1f} times faster, 1/{memory:.1f} of the memory; residuals "
        f"{medians['mercer']['residual']:.1e} and {medians['peer']['residual']:.1e}."
    )
    figures = {"n": n, "ratio": ratio, "memory_ratio": memory}
    print(json.dumps({**figures, "residual": medians["mercer"]["residual"], "medians": medians}))


if __name__ == "__main__" and not child({"peer": peer, "mercer": mercer}):
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, 5)
