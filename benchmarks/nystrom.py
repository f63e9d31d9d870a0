"""Claim: an approximation with known error, faster and smaller than Nystroem followed by PCA."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from measure import BANDWIDTH, child, compare, latent, peak_megabytes, run, timed, touch

GOAL = 2e-3


def peer(n: int, touched: bool = True) -> dict[str, Any]:
    """scikit-learn's Nystroem on 1000 points in single precision, and PCA of its features."""
    from sklearn.decomposition import PCA
    from sklearn.kernel_approximation import Nystroem

    X = latent(n).astype(np.float32)
    PCA(2).fit(Nystroem(gamma=0.05, n_components=50).fit_transform(X[:500]))
    base = peak_megabytes()
    if touched:
        touch(1.3 * 8e-3 * n)

    def fit() -> Any:
        features = Nystroem(gamma=0.05, n_components=1000, random_state=0).fit_transform(X)
        return PCA(10).fit(features).explained_variance_ * (n - 1)

    values, seconds = timed(fit)
    return {"seconds": seconds, "memory": peak_megabytes() - base, "values": values.tolist()}


def mercer(n: int, touched: bool = True, method: str = "nystrom") -> dict[str, Any]:
    """Landmarks that are k-means centres, 50 for each axis."""
    import mercer as mc

    X = latent(n)
    kernel = mc.Gaussian(bandwidth=BANDWIDTH)
    mc.KernelPCA(2, kernel=kernel, method=method).fit(X[:1500])
    base = peak_megabytes()
    if touched:
        touch(1.3 * 8e-3 * n)
    model = mc.KernelPCA(10, kernel=kernel, method=method, random_state=0)
    _, seconds = timed(lambda: model.fit(X))
    return {
        "seconds": seconds,
        "memory": peak_megabytes() - base,
        "values": model.eigenvalues_.tolist(),
        "trace_error": float(model.spectrum_.trace_error / model.inertia_),
    }


def main(n: int) -> None:
    medians = compare(__file__, ["peer", "mercer"], 5, n=n)
    once = {name: run(__file__, name, n=n, touched=False) for name in medians}
    exact = np.array(run(__file__, "mercer", n=n, method="exact")["values"])
    errors = {
        name: float(np.max(np.abs(np.array(once[name]["values"]) - exact) / exact))
        for name in medians
    }
    assert errors["mercer"] <= GOAL, errors
    ratio = medians["peer"]["seconds"] / medians["mercer"]["seconds"]
    memory = once["mercer"]["memory"] / once["peer"]["memory"]
    print(
        f"n = {n}: ten eigenvalues to {errors['mercer']:.1e} in {medians['mercer']['seconds']:.2f} "
        f"s and {once['mercer']['memory']:.0f} MB, what is missing certified to "
        f"{once['mercer']['trace_error']:.1e} of the inertia, against {errors['peer']:.1e} in "
        f"{medians['peer']['seconds']:.2f} s and {once['peer']['memory']:.0f} MB of Nystroem and "
        f"PCA: {ratio:.1f} times faster, {memory:.2f} of the memory."
    )
    print(json.dumps({"n": n, "ratio": ratio, "memory_ratio": memory, "errors": errors}))


if __name__ == "__main__" and not child({"peer": peer, "mercer": mercer}):
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
