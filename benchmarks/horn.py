"""Claim: Horn's test of a wide table, many times faster than a loop over scikit-learn's PCA."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import child, compare, timed
from threadpoolctl import threadpool_limits

N, P = 24, 1000
CHECKED = 20
"""Permutations on which both compute the null, to compare it."""


def table() -> Any:
    """Two factors and noise."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, 2)) @ rng.standard_normal((2, P)) + rng.standard_normal((N, P))


def eigenvalues(z: Any) -> Any:
    """scikit-learn's eigenvalues of a standardised table, in our convention.

    Its default chooses the full solver, its best for a wide table.
    """
    from sklearn.decomposition import PCA

    return PCA().fit(z).explained_variance_[: N - 1] * (N - 1) / N


def loop(permuted: Callable[[Any, Any], Any], count: int) -> dict[str, Any]:
    X = table()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    rng = np.random.default_rng(0)
    eigenvalues(permuted(rng, Z))
    _, seconds = timed(lambda: [eigenvalues(permuted(rng, Z)) for _ in range(count)])
    return {"seconds": seconds}


def peer(count: int) -> dict[str, Any]:
    """The loop as it is written: each column permuted by itself, then PCA."""
    return loop(lambda rng, z: np.column_stack([rng.permutation(c) for c in z.T]), count)


def tuned(count: int) -> dict[str, Any]:
    """The loop as fast as it can be: all columns by one call, BLAS kept to one thread."""
    with threadpool_limits(1):
        return loop(lambda rng, z: rng.permuted(z, axis=0), count)


def mercer(count: int) -> dict[str, Any]:
    """One call; its first permutations are given to the peer to compare."""
    import mercer as mc
    from mercer.dimension.column_permutations import Drawn

    X = table()
    for _ in range(2):  # the second one loads the compiled shuffle, as all that follow use it
        mc.parallel_analysis(X, count, random_state=1)
    horn, seconds = timed(lambda: mc.parallel_analysis(X, count, random_state=0))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = Drawn(CHECKED, seed=0).indices(N, P)
    theirs = np.stack([eigenvalues(np.take_along_axis(Z, one, axis=0)) for one in rows])
    difference = float(np.max(np.abs(theirs - horn.null[:CHECKED])) / theirs.max())
    return {"seconds": seconds, "difference": difference, "kept": horn.n_components}


def main(count: int, repetitions: int) -> None:
    medians = compare(__file__, ["peer", "mercer", "tuned"], repetitions, count=count)
    ours = medians["mercer"]
    ratios = {name: medians[name]["seconds"] / ours["seconds"] for name in ("peer", "tuned")}
    print(
        f"Horn {N} x {P}, {count} permutations: {ours['seconds']:.2f} s against "
        f"{medians['peer']['seconds']:.2f} s of a loop with scikit-learn's PCA: "
        f"{ratios['peer']:.0f} times faster ({ratios['tuned']:.0f} times, with "
        f"{medians['tuned']['seconds']:.2f} s, when all columns are permuted by one call and BLAS "
        f"has one thread); null eigenvalues agree to {ours['difference']:.1e}, "
        f"{ours['kept']:.0f} axes kept."
    )
    seconds = {f"{name}_seconds": medians[name]["seconds"] for name in medians}
    figures = {"n": N, "p": P, "permutations": count, "difference": ours["difference"]}
    shares = {"ratio": ratios["peer"], "tuned_ratio": ratios["tuned"]}
    print(json.dumps({**figures, **shares, **seconds}))


if __name__ == "__main__" and not child({"peer": peer, "mercer": mercer, "tuned": tuned}):
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, 5)
