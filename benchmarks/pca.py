"""Claim: PCA with everything that is read of it, as fast as a bare fit of the fastest peer."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
from measure import child, compare, timed, touch


def table(n: int, p: int) -> Any:
    """Correlated columns of different means."""
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((p, p)) * np.linspace(1.0, 0.1, p)
    return rng.standard_normal((n, p)) @ mixing + rng.standard_normal(p)


def sklearn(n: int, p: int) -> dict[str, Any]:
    """scikit-learn's fit, by the covariances of columns: its best solver for such a table."""
    from sklearn.decomposition import PCA

    X = table(n, p)
    PCA(svd_solver="covariance_eigh").fit(X[:2000])
    touch(8e-6 * n * p)
    model = PCA(svd_solver="covariance_eigh")
    _, seconds = timed(lambda: model.fit(X))
    return {"seconds": seconds, "total": float(model.explained_variance_.sum() * (n - 1) / n)}


def mercer(n: int, p: int) -> dict[str, Any]:
    """The fit alone."""
    import mercer as mc

    X = table(n, p)
    mc.PCA().fit(X[:2000])
    touch(8e-6 * n * p)
    model = mc.PCA()
    _, seconds = timed(lambda: model.fit(X))
    return {"seconds": seconds, "total": float(model.inertias_.sum())}


def mercer_reading(n: int, p: int) -> dict[str, Any]:
    """The fit and all of individuals_ and variables_."""
    import mercer as mc

    def read(rows: Any) -> Any:
        model = mc.PCA().fit(rows)
        people, variables = model.individuals_, model.variables_
        return (
            people.contributions,
            people.cos2,
            variables.correlations,
            variables.cos2,
            variables.contributions,
        )

    X = table(n, p)
    read(X[:2000])
    touch(4 * 8e-6 * n * p)
    (contributions, cos2, *_), seconds = timed(lambda: read(X))
    error = max(np.abs(contributions.sum(axis=0) - 1).max(), np.abs(cos2.sum(axis=1) - 1).max())
    return {"seconds": seconds, "error": float(error)}


def prince_reading(n: int, p: int) -> dict[str, Any]:
    """The same of prince."""
    import pandas
    import prince

    def read(frame: Any) -> Any:
        model = prince.PCA(n_components=p, rescale_with_std=False).fit(frame)
        return (
            model.row_coordinates(frame),
            model.row_cosine_similarities(frame),
            model.row_contributions_,
            model.column_correlations,
            model.column_cosine_similarities_,
            model.column_contributions_,
        )

    frame = pandas.DataFrame(table(n, p), columns=[f"x{j}" for j in range(p)])
    read(frame[:2000])
    touch(4 * 8e-6 * n * p)
    _, seconds = timed(lambda: read(frame))
    return {"seconds": seconds, "error": 0.0}


def main(n: int, p: int, repetitions: int) -> None:
    names = ["sklearn", "mercer", "mercer_reading"]
    if find_spec("prince") is None:
        print("prince is not installed: its comparison is left out (pip install prince).")
    else:
        names.append("prince_reading")
    medians = compare(__file__, names, repetitions, n=n, p=p)
    seconds = {name: medians[name]["seconds"] for name in names}
    ratio = seconds["sklearn"] / seconds["mercer"]
    difference = abs(medians["sklearn"]["total"] / medians["mercer"]["total"] - 1.0)
    print(
        f"{n} x {p}: fit {seconds['mercer']:.3f} s against {seconds['sklearn']:.3f} s of "
        f"scikit-learn ({ratio:.2f} times its speed, total inertia agrees to {difference:.0e}); "
        f"fit and all of individuals_ and variables_ {seconds['mercer_reading']:.3f} s"
        + (
            f", {seconds['prince_reading'] / seconds['mercer_reading']:.1f} times faster than "
            f"prince ({seconds['prince_reading']:.3f} s)"
            if "prince_reading" in seconds
            else ""
        )
        + f"; shares add up to 1 within {medians['mercer_reading']['error']:.0e}."
    )
    print(json.dumps({"n": n, "p": p, "ratio": ratio, "difference": difference, **seconds}))


CONTENDERS = {
    "sklearn": sklearn,
    "mercer": mercer,
    "mercer_reading": mercer_reading,
    "prince_reading": prince_reading,
}

if __name__ == "__main__" and not child(CONTENDERS):
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 20_000,
        int(sys.argv[2]) if len(sys.argv) > 2 else 500,
        5,
    )
