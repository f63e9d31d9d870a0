"""Claim: scale, bandwidth and noise fitted to the same optimum as scikit-learn's, and sooner."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from measure import BANDWIDTH, child, compare, latent, timed, touch

NOISE = 0.1


def observations(n: int) -> tuple[Any, Any]:
    X = latent(n)
    noise = 0.3 * np.random.default_rng(1).standard_normal(n)
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + noise


def peer(n: int) -> dict[str, Any]:
    """scikit-learn's GaussianProcessRegressor, from one start."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    X, y = observations(n)
    kernel = ConstantKernel(1.0) * RBF(BANDWIDTH) + WhiteKernel(NOISE)
    model = GaussianProcessRegressor(kernel, alpha=0.0)
    model.fit(X[:200], y[:200])
    touch(1.3 * 8 * 8e-6 * n * n)
    _, seconds = timed(lambda: model.fit(X, y))
    weight, bandwidth, noise = np.exp(model.kernel_.theta)
    likelihood = float(model.log_marginal_likelihood_value_)
    found = {"weight": weight, "bandwidth": bandwidth, "noise": noise}
    return {"seconds": seconds, "likelihood": likelihood, **found}


def mercer(n: int) -> dict[str, Any]:
    """Three starts on 400 points, then quasi-Newton descents on more and more of them."""
    import mercer as mc

    X, y = observations(n)
    model = mc.GaussianProcess(1.0 * mc.Gaussian(BANDWIDTH), noise_variance=NOISE, random_state=0)
    model.fit(X[:900], y[:900])
    touch(1.3 * 8 * 8e-6 * n * n)
    _, seconds = timed(lambda: model.fit(X, y))
    values = mc.kernels.parameters(model.kernel_)
    found = {"weight": values["weight"], "bandwidth": values["kernel__bandwidth"]}
    return {
        "seconds": seconds,
        "likelihood": model.log_likelihood(),
        "noise": model.noise_variance_,
        "gradient": model.optimum_.gradient_norm,
        "evaluations": model.optimum_.evaluations,
        **found,
    }


def main(n: int, repetitions: int) -> None:
    medians = compare(__file__, ["peer", "mercer"], repetitions, n=n)
    ours, theirs = medians["mercer"], medians["peer"]
    ratio = theirs["seconds"] / ours["seconds"]
    gain = ours["likelihood"] - theirs["likelihood"]
    if gain < -1e-6 * abs(theirs["likelihood"]):
        raise SystemExit(f"not the same optimum: the likelihood is lower by {-gain:.2g}")
    print(
        f"n = {n}: {ours['seconds']:.2f} s against {theirs['seconds']:.2f} s of scikit-learn: "
        f"{ratio:.1f} times faster, at a log likelihood of {ours['likelihood']:.6f} against "
        f"{theirs['likelihood']:.6f}, with {ours['evaluations']:.0f} evaluations on all points "
        f"(medians of {repetitions})."
    )
    print(json.dumps({"n": n, "ratio": ratio, "gain": gain, "medians": medians}))


if __name__ == "__main__" and not child({"peer": peer, "mercer": mercer}):
    for size in [int(n) for n in sys.argv[1:]] or [2_000, 4_000]:
        main(size, 5 if size < 3_000 else 3)  # a run of the peer on 4 000 points takes a minute
