"""Claim: K V in single precision, much faster than KeOps on the same processor."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import numpy as np
from measure import BANDWIDTH, child, compare, latent, run, timed

N, COLUMNS = 10_000, 12


def problem(n: int) -> tuple[Any, Any]:
    X = latent(n).astype(np.float32)
    return X, np.random.default_rng(1).standard_normal((n, COLUMNS)).astype(np.float32)


def peer(n: int) -> dict[str, Any]:
    """KeOps' lazy tensors on numpy arrays."""
    from pykeops.numpy import LazyTensor

    X, V = problem(n)
    a, b = LazyTensor(X[:, None, :]), LazyTensor(X[None, :, :])
    K = (-0.05 * ((a - b) ** 2).sum(-1)).exp()
    K @ V
    image, seconds = timed(lambda: K @ V)
    return {"seconds": seconds, "image": image[:5].ravel().tolist()}


def mercer(n: int) -> dict[str, Any]:
    """The operator, by symmetric tiles in single precision."""
    import mercer as mc

    X, V = problem(n)
    gram = mc.Gram(mc.Gaussian(bandwidth=BANDWIDTH), X)
    gram.product(V, single=True)
    image, seconds = timed(lambda: gram.product(V, single=True))
    return {"seconds": seconds, "image": image[:5].ravel().tolist()}


def main() -> None:
    names = ["peer", "mercer"] if find_spec("pykeops") else ["mercer"]
    medians = compare(__file__, names, 5, n=N)
    ours = medians["mercer"]["seconds"]
    if "peer" not in medians:
        print(f"n = {N}, {COLUMNS} columns: {ours:.3f} s; pykeops is not installed.")
        print(json.dumps({"n": N, "seconds": ours}))
        return
    images = [np.array(run(__file__, name, n=N)["image"]) for name in names]
    difference = float(np.max(np.abs(images[0] - images[1])) / np.max(np.abs(images[0])))
    ratio = medians["peer"]["seconds"] / ours
    print(
        f"n = {N}, {COLUMNS} columns: {ours:.3f} s against {medians['peer']['seconds']:.2f} s of "
        f"KeOps: {ratio:.1f} times faster; images agree to {difference:.1e}."
    )
    print(json.dumps({"n": N, "ratio": ratio, "seconds": ours, "difference": difference}))


if __name__ == "__main__" and not child({"peer": peer, "mercer": mercer}):
    main()
