"""Claim: Horn's test of a tall table, faster than loops over scikit-learn's PCA and numpy."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import child, compare, run, timed

N, P = 2000, 100
CHECKED = 5
"""Permutations on which all compute the null, to compare it."""


def table(n: int = N) -> Any:
    """Three factors and noise."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, P)) + rng.standard_normal((n, P))


def by_pca(z: Any) -> Any:
    """scikit-learn's eigenvalues of a standardised table, in our convention.

    Its best solver for a tall table, which its default chooses too.
    """
    from sklearn.decomposition import PCA

    return PCA(svd_solver="covariance_eigh").fit(z).explained_variance_ * (N - 1) / N


def by_numpy(z: Any) -> Any:
    return np.linalg.eigvalsh(z.T @ z / N)[::-1]


def loop(eigenvalues: Callable[[Any], Any], count: int) -> dict[str, Any]:
    X = table()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    rng = np.random.default_rng(0)
    eigenvalues(rng.permuted(Z, axis=0))
    _, seconds = timed(lambda: [eigenvalues(rng.permuted(Z, axis=0)) for _ in range(count)])
    return {"seconds": seconds}


def peer(count: int) -> dict[str, Any]:
    return loop(by_pca, count)


def bare(count: int) -> dict[str, Any]:
    return loop(by_numpy, count)


def mercer(count: int) -> dict[str, Any]:
    """One call; its first permutations are given to the peers to compare."""
    import mercer as mc
    from mercer.dimension.column_permutations import Drawn

    X = table()
    mc.parallel_analysis(X, 2, random_state=1)
    horn, seconds = timed(lambda: mc.parallel_analysis(X, count, random_state=0))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    tables = [np.take_along_axis(Z, one, axis=0) for one in Drawn(CHECKED, seed=0).indices(N, P)]
    theirs = np.array([[eigenvalues(z) for z in tables] for eigenvalues in (by_pca, by_numpy)])
    difference = float(np.max(np.abs(theirs - horn.null[:CHECKED])) / theirs.max())
    return {"seconds": seconds, "difference": difference, "kept": horn.n_components}


def grown(n: int, count: int) -> dict[str, Any]:
    """The time alone, for tables of other lengths."""
    import mercer as mc

    X = table(n)
    mc.parallel_analysis(X, 2, random_state=1)
    return {"seconds": timed(lambda: mc.parallel_analysis(X, count, random_state=0))[1]}


def exponent(count: int) -> float:
    """Return by which power of the number of rows the time grows."""
    sizes = (N, 2 * N, 4 * N)
    times = [run(__file__, "grown", n=n, count=count)["seconds"] for n in sizes]
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def main(count: int, repetitions: int) -> None:
    medians = compare(__file__, ["peer", "mercer", "bare"], repetitions, count=count)
    ours = medians["mercer"]
    ratios = {name: medians[name]["seconds"] / ours["seconds"] for name in ("peer", "bare")}
    power = exponent(max(count // 5, 1))
    print(
        f"Horn {N} x {P}, {count} permutations: {ours['seconds']:.2f} s against "
        f"{medians['peer']['seconds']:.2f} s of a loop with scikit-learn's PCA and "
        f"{medians['bare']['seconds']:.2f} s of one with numpy alone: {ratios['peer']:.1f} and "
        f"{ratios['bare']:.1f} times faster; null eigenvalues agree to {ours['difference']:.1e}, "
        f"{ours['kept']:.0f} axes kept; the time grows as n^{power:.2f}."
    )
    seconds = {f"{name}_seconds": medians[name]["seconds"] for name in medians}
    figures = {"n": N, "p": P, "permutations": count, "difference": ours["difference"]}
    shares = {"ratio": ratios["peer"], "bare_ratio": ratios["bare"], "exponent": power}
    print(json.dumps({**figures, **shares, **seconds}))


CONTENDERS: dict[str, Callable[..., dict[str, Any]]] = {
    "peer": peer,
    "mercer": mercer,
    "bare": bare,
    "grown": grown,
}

if __name__ == "__main__" and not child(CONTENDERS):
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, 5)
