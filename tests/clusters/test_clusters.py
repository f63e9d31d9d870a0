"""Classes on the axes of models, against FactoMineR's and the laws of inertia."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.stats import hypergeom, norm

import mercer as mc
from mercer.check import Array
from mercer.clusters import finding
from mercer.clusters.classes import _hypergeometric_v
from mercer.clusters.finding import suggested_count, ward
from mercer.errors import InvalidInput, InvalidParameter, NotAvailable
from tests.references import FOLDER

REFERENCE = FOLDER / "hcpc_decathlon.json"
SEEDS = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def decathlon() -> tuple[mc.PCA, pd.DataFrame, dict[str, Any]]:
    found = json.loads(REFERENCE.read_text(encoding="utf-8"))
    table = pd.DataFrame(found["X"], index=found["rows"], columns=found["columns"])
    return mc.PCA(5, standardize=True).fit(table), table, found["result"]


def test_the_tree_and_its_cut_are_those_of_factominer(
    decathlon: tuple[mc.PCA, pd.DataFrame, dict[str, Any]],
) -> None:
    model, _, expected = decathlon
    found = mc.cluster(model, consolidate=False)
    count = len(expected["within_before"])
    np.testing.assert_allclose(found.within[:count], expected["within_before"], rtol=1e-12)
    gains = expected["inertia_gain"]
    np.testing.assert_allclose(found.gains[: len(gains)], gains, rtol=1e-10)
    assert found.suggested == found.count == expected["suggested"]
    assert found.labels.tolist() == expected["cut"]


def test_consolidated_classes_and_their_links_are_too(
    decathlon: tuple[mc.PCA, pd.DataFrame, dict[str, Any]],
) -> None:
    model, table, expected = decathlon
    found = mc.cluster(model, 4)
    assert found.labels.tolist() == expected["consolidated"]
    links = found.links(table)
    assert links["column"].tolist() == expected["quanti_var_names"]
    eta2, p_values = np.array(expected["quanti_var"]).T
    np.testing.assert_allclose(links["eta2"], eta2, rtol=1e-10)
    np.testing.assert_allclose(links["p_value"], p_values, rtol=1e-8)


@given(SEEDS, st.integers(4, 25), st.booleans())
def test_inertia_is_between_classes_or_within_them(seed: int, n: int, consolidate: bool) -> None:
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, 3)), rng.gamma(1.0, 1.0, n) + 0.01
    model = mc.PCA(2).fit(X, sample_weight=w)
    k = int(rng.integers(1, n + 1))
    found = mc.cluster(model, k, consolidate=consolidate)
    F, w = model.individuals_.coordinates, model.weights_
    masses = np.array([w[found.labels == c].sum() for c in range(1, k + 1)])
    between = float(masses @ np.sum(found.centres**2, axis=1))
    within = float(w @ found.distances**2)
    total = float(model.inertias_.sum())
    assert between + within == pytest.approx(total)
    assert found.share == pytest.approx(between / total, abs=1e-9)
    assert found.within[0] == pytest.approx(total)
    assert np.all(found.gains >= -1e-12 * total)
    if not consolidate:
        assert found.within[k - 1] == pytest.approx(within, abs=1e-9 * total)
    else:
        assert within <= found.within[k - 1] + 1e-9 * total
    assert np.all(np.diff(found.centres[:, 0]) >= 0)
    assert sorted(set(found.labels)) == list(range(1, k + 1))
    np.testing.assert_allclose(
        found.distances, np.linalg.norm(F - found.centres[found.labels - 1], axis=1)
    )


@given(SEEDS, st.integers(2, 40))
def test_the_tree_is_ward_s(seed: int, n: int) -> None:
    X = np.random.default_rng(seed).standard_normal((n, 2))
    tree = ward(X, np.full(n, 1.0 / n))
    expected = linkage(X, "ward")[:, 2] ** 2 / (2.0 * n)
    np.testing.assert_allclose(tree.losses, expected, rtol=1e-9)


@given(SEEDS)
def test_a_weight_is_a_number_of_equal_individuals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, times = rng.standard_normal((12, 2)), rng.integers(1, 4, 12)
    few = mc.cluster(mc.PCA().fit(X, sample_weight=times), 3)
    many = mc.cluster(mc.PCA().fit(np.repeat(X, times, axis=0)), 3)
    np.testing.assert_allclose(few.within[:3], many.within[:3], rtol=1e-9)
    assert few.share == pytest.approx(many.share)


def blobs(n: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 4, n)
    centres = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 9.0], [10.0, 10.0]])
    return centres[groups] + rng.standard_normal((n, 2)), groups


def test_many_individuals_are_gathered_in_cells_first() -> None:
    X, groups = blobs(5_000)
    found = mc.cluster(mc.PCA().fit(X), random_state=3)
    assert (found.suggested, found.seed) == (4, 3)
    pairs = set(zip(found.labels.tolist(), groups.tolist(), strict=True))
    agreement = sum(
        max(np.sum((found.labels == c) & (groups == g)) for g in range(4)) for c in range(1, 5)
    )
    assert agreement / 5_000 > 0.999, pairs
    again = mc.cluster(mc.PCA().fit(X), random_state=3)
    assert np.array_equal(again.labels, found.labels)


def test_any_model_with_individuals_has_classes() -> None:
    X, groups = blobs(80)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    for model in (
        mc.KernelPCA(3, kernel=mc.Gaussian(4.0)).fit(X),
        mc.ClassicalMDS(2).fit(D),
        mc.StressMDS(2, random_state=0).fit(D),
    ):
        found = mc.cluster(model, 4)
        assert all(len(set(groups[found.labels == c])) == 1 for c in range(1, 5))


def test_those_without_weight_go_to_the_nearest_centre() -> None:
    X, _ = blobs(60)
    w = np.ones(60)
    w[:5] = 0.0
    model = mc.PCA().fit(X, sample_weight=w)
    found = mc.cluster(model, 4)
    F = model.individuals_.coordinates
    nearest = np.argmin(((F[:5, None] - found.centres[None]) ** 2).sum(axis=2), axis=1) + 1
    assert np.array_equal(found.labels[:5], nearest)
    assert np.allclose(found.centres, mc.cluster(mc.PCA().fit(X[5:]), 4).centres)
    for label in range(1, 5):  # of which they are no members
        assert min(found.members(label)) >= 5
        assert min(found.remote(label)) >= 5
    assert found.sizes.sum() == 55


def test_weights_that_count_are_classes_of_those_who_were_counted() -> None:
    rng = np.random.default_rng(0)
    seen = np.array([3, 90, 2, 7, 50, 0, 1, 4])
    x = rng.normal(size=(8, 2))
    table = {"size": x[:, 0], "beside": rng.normal(size=8), "half": np.array(list("aabbabac"))}
    model = mc.PCA().fit(x, sample_weight=seen)
    rows = mc.cluster(model, 3, counted=int(seen.sum()))
    people = np.repeat(np.arange(8), seen)
    whole = mc.cluster(mc.PCA().fit(x[people]), 3)
    same = replace(whole, labels=rows.labels[people])  # classes given, whatever was found
    each = {name: column[people] for name, column in table.items()}
    assert np.array_equal(rows.sizes, same.sizes)
    assert rows.sizes.sum() == 157
    assert rows.rows.sum() == 7  # nobody is in the sixth
    assert str(rows).startswith("Clusters: 157 individuals in 7 rows in 3 classes")
    for told, one_by_one in (
        (rows.describe(table), same.describe(each)),
        (rows.links(table), same.links(each)),
    ):
        by = ("class", "column", "level") if "class" in told else ("column",)
        ours, theirs = ({key(r, by): r for r in records(t)} for t in (told, one_by_one))
        assert ours.keys() == theirs.keys()
        for which, row in ours.items():
            numbers = [v for name, v in row.items() if name not in by]
            others = [v for name, v in theirs[which].items() if name not in by]
            assert np.allclose(numbers, others, rtol=1e-8, atol=1e-12), which
    with pytest.raises(mc.errors.InvalidParameter, match="leaves nobody"):
        mc.cluster(model, 3, counted=3)


def key(row: dict[str, Any], by: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[name] for name in by)


def records(table: Any) -> list[dict[str, Any]]:
    columns = {name: np.asarray(table[name]).tolist() for name in table}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_counts_among_billions_have_v_tests() -> None:
    total, has, drawn = 3_000_000_000, 1_000_000_000, 900_000
    spread = np.sqrt(drawn * (has / total) * (1 - has / total) * (total - drawn) / (total - 1))
    for v in (-6.0, -1.0, 0.0, 3.0):
        both = round(drawn * has / total + v * spread)
        exact = (both - drawn * has / total) / spread  # of a normal law, which it is by now
        assert _hypergeometric_v(both, total, has, drawn) == pytest.approx(exact, abs=0.02)
    assert _hypergeometric_v(2 * drawn // 3, total, has, drawn) > 100.0


def test_classes_are_described_by_v_tests_of_their_columns() -> None:
    X, groups = blobs(80)
    found = mc.cluster(mc.PCA().fit(X), 4)
    words = np.array(["one", "two", "three", "four"])[groups]
    table = found.describe({"x": X[:, 0], "word": words})
    at = np.flatnonzero((table["class"] == 1) & (table["column"] == "x"))[0]
    mine = found.labels == 1
    n, N = int(mine.sum()), 80
    error = X[:, 0].std() * np.sqrt((N - n) / (N - 1) / n)
    assert table["v_test"][at] == pytest.approx((X[mine, 0].mean() - X[:, 0].mean()) / error)
    level = words[mine][0]
    at = np.flatnonzero((table["class"] == 1) & (table["level"] == level))[0]
    law = hypergeom(N, int(np.sum(words == level)), n)
    assert table["v_test"][at] == pytest.approx(norm.isf(law.sf(n) + law.pmf(n) / 2))
    assert table["in_class"][at] == 1.0
    sizes = np.abs(table["v_test"][table["class"] == 1])
    assert np.all(np.diff(sizes) <= 0)


def test_a_class_knows_who_is_typical_and_who_is_remote() -> None:
    X, _ = blobs(80)
    found = mc.cluster(mc.PCA().fit(X), 4)
    rows = found.members(2)
    assert np.all(np.diff(found.distances[rows]) >= 0)
    assert set(found.remote(2)) == set(rows) == set(np.flatnonzero(found.labels == 2))
    assert np.all(np.diff(found.remoteness[found.remote(2)]) <= 0)
    with pytest.raises(InvalidParameter, match="there are 4 classes"):
        found.members(5)


def test_what_cannot_be_clustered_is_refused_by_name() -> None:
    model = mc.PCA().fit(np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0], [3.0, 1.0]]))
    with pytest.raises(InvalidParameter, match="3 different individuals cannot form 4 classes"):
        mc.cluster(model, 4)
    with pytest.raises(InvalidParameter, match="2 axes, not 3"):
        mc.cluster(model, axes=3)
    with pytest.raises(InvalidInput, match="no individuals on axes"):
        mc.cluster(mc.KernelRegression().fit([[0.0], [1.0]], [0.0, 1.0]))
    found = mc.cluster(model, 2)
    with pytest.raises(InvalidInput, match="'x', row 1 holds NaN"):
        found.describe({"x": np.array([1.0, np.nan, 2.0, 3.0])})
    with pytest.raises(InvalidInput, match="'word' has no label in row 0"):
        found.describe({"word": [None, "a", "b", "c"]})
    with pytest.raises(InvalidInput, match="no column of numbers"):
        found.links({"word": ["a", "b", "c", "d"]})


def test_few_individuals_are_a_few_classes() -> None:
    assert mc.cluster(mc.PCA().fit([[0.0], [1.0]])).count == 1
    assert suggested_count(np.array([4.0, 1.0, 0.0]), 3) == 2
    assert suggested_count(np.array([4.0, 1.0, 0.5, 0.2, 0.0]), 5) == 3
    for n in (6, 8, 10):
        X = np.random.default_rng(n).standard_normal((n, 2))
        assert mc.cluster(mc.PCA().fit(X)).suggested <= n // 2


def test_classes_that_explain_everything_are_the_last_suggested() -> None:
    X = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 7.0], [9.0, 9.0]], 6, axis=0)
    found = mc.cluster(mc.PCA().fit(X))
    assert found.suggested == 4
    assert found.share == pytest.approx(1.0)


def test_constant_and_huge_columns_are_described_as_they_are() -> None:
    X, _ = blobs(40)
    found = mc.cluster(mc.PCA().fit(X), 3)
    table = found.describe({"v": np.full(40, 0.1)})
    assert set(table["v_test"]) == {0.0}
    assert found.links({"v": np.full(40, 0.1)})["eta2"][0] == 0.0
    for scale in (1e200, 1e-200):
        small, large = (found.describe({"x": X[:, 0] * s}) for s in (1.0, scale))
        np.testing.assert_allclose(large["v_test"], small["v_test"], rtol=1e-9)
        np.testing.assert_allclose(large["in_class"], small["in_class"] * scale, rtol=1e-12)
    one = mc.cluster(mc.PCA().fit(X), 1)
    assert one.links({"x": X[:, 0]})["p_value"].tolist() == [1.0]
    with pytest.warns(mc.errors.ReadingWarning), pytest.raises(InvalidInput, match="no axes"):
        mc.cluster(mc.PCA().fit(np.ones((5, 2))))


def test_a_table_describes_classes_by_its_own_names_and_factors() -> None:
    irises = mc.datasets.iris()
    found = mc.cluster(mc.PCA(2, standardize=True).fit(irises), 3)
    described = found.describe(irises)
    assert set(described["column"]) == set(irises.names)
    assert "setosa" in described["level"]
    assert set(found.links(irises)["column"]) == set(irises.names) - {"Species"}


@pytest.mark.parametrize("unit", [1e300, 1e-300, 1e-160])
def test_classes_do_not_depend_on_the_unit(unit: float) -> None:
    x = np.random.default_rng(0).standard_normal((40, 3))
    usual, found = (mc.cluster(mc.PCA(2).fit(x * u), 3) for u in (1.0, unit))
    assert found.labels.tolist() == usual.labels.tolist()
    assert found.share == pytest.approx(usual.share, rel=1e-9)
    np.testing.assert_allclose(found.centres / unit, usual.centres, rtol=1e-9)
    with pytest.raises(NotAvailable, match="outside the range of double precision"):
        _ = found.within
    assert len(repr(found).splitlines()) <= 10


def rings(n: int = 120) -> tuple[Array, Array]:
    """A disc within a ring: no straight cut tells them apart."""
    rng = np.random.default_rng(0)
    angle, outer = rng.uniform(0.0, 2.0 * np.pi, n), np.arange(n) % 2
    radius = np.where(outer, 4.0, 1.0) + 0.1 * rng.standard_normal(n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), outer


def alike(labels: Array, truth: Array) -> float:
    return max(float(np.mean((labels == 1) == truth)), float(np.mean((labels == 2) == truth)))


@pytest.mark.parametrize("count", [2, None])
def test_spectral_classes_follow_the_similarities(count: int | None) -> None:
    x, outer = rings()
    model = mc.KernelPCA(2, kernel=mc.Gaussian(0.6)).fit(x)
    found = mc.cluster(model, count, method="spectral", random_state=0)
    assert found.count == 2
    assert alike(found.labels, outer) == 1.0
    assert alike(mc.cluster(mc.PCA(2).fit(x), 2).labels, outer) < 0.8  # a negative control
    again = mc.cluster(model, count, method="spectral", random_state=found.seed)
    assert again.labels.tolist() == found.labels.tolist()


def test_spectral_classes_are_those_of_scikit_learn() -> None:
    from sklearn.cluster import SpectralClustering

    x, _ = rings()
    found = mc.cluster(mc.KernelPCA(2, kernel=mc.Gaussian(0.6)).fit(x), 2, method="spectral")
    theirs = SpectralClustering(2, gamma=1.0 / (2.0 * 0.6**2), random_state=0).fit(x).labels_
    assert alike(found.labels, theirs) == 1.0


@pytest.mark.parametrize("is_weighted", [False, True])
def test_kernel_k_means_ends_where_everyone_is_nearest_to_its_own_mean(is_weighted: bool) -> None:
    """In the whole space: the distances are computed from the matrix itself."""
    x, _ = rings(60)
    rng = np.random.default_rng(1)
    s = rng.integers(0, 4, 60).astype(float) if is_weighted else np.ones(60)
    kernel = mc.Gaussian(1.5)
    model = mc.KernelPCA(2, kernel=kernel).fit(x, sample_weight=s)
    found = mc.cluster(model, 3, method="kernel-kmeans")
    K, w = kernel(x), s / s.sum()

    def objective(labels: Array) -> tuple[float, Array]:
        Z = np.stack([np.where(labels == c, w, 0.0) for c in (1, 2, 3)], axis=1)
        Z /= Z.sum(axis=0)
        squares = np.diag(K)[:, None] - 2.0 * K @ Z + np.sum(Z * (K @ Z), axis=0)
        return float(w @ squares[np.arange(60), labels - 1]), squares

    reached, squares = objective(found.labels)
    active = w > 0
    assert np.all(np.argmin(squares[active], axis=1) + 1 == found.labels[active])
    assert reached <= objective(mc.cluster(model, 3).labels)[0] + 1e-12
    assert not found.is_consolidated


def test_kernel_k_means_of_a_straight_model_is_k_means() -> None:
    irises = mc.datasets.iris()
    model = mc.PCA(standardize=True).fit(irises)
    expected = mc.cluster(model, 3)
    found = mc.cluster(model, 3, method="kernel-kmeans")
    assert found.labels.tolist() == expected.labels.tolist()


def test_classes_in_the_space_of_a_kernel_store_no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    import tracemalloc

    monkeypatch.setattr(finding, "CELLS", 60)
    n = 4_000
    x = np.random.default_rng(0).standard_normal((n, 3)) + 8.0 * (np.arange(n) % 3)[:, None]
    model = mc.KernelPCA(3, kernel=mc.Gaussian(2.0), random_state=0).fit(x)
    told: list[tuple[int, int]] = []
    for method in ("kernel-kmeans", "spectral"):
        tracemalloc.start()
        found = mc.cluster(
            model,
            3,
            method=method,
            random_state=0,
            progress=lambda done, total: told.append((done, total)),
        )
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * n * n / 2
        truth = np.arange(n) % 3
        assert all(len(np.unique(found.labels[truth == c])) == 1 for c in range(3))
        assert told
        told.clear()


def test_methods_that_a_model_cannot_have_are_refused_by_name() -> None:
    x, _ = rings(30)
    with pytest.raises(InvalidParameter, match="spectral classes are those of a KernelPCA"):
        mc.cluster(mc.PCA(2).fit(x), 2, method="spectral")
    flat = mc.StressMDS(2, metric="euclidean", random_state=0).fit(x)
    with pytest.raises(InvalidParameter, match="no inner products beyond its map"):
        mc.cluster(flat, 2, method="kernel-kmeans")
    with pytest.raises(InvalidParameter, match="method must be one of"):
        mc.cluster(mc.PCA(2).fit(x), 2, method="dbscan")
    with pytest.raises(InvalidInput, match="similarities that sum to"):
        mc.cluster(mc.KernelPCA(1, kernel=mc.Linear()).fit(x), 2, method="spectral")


def test_a_category_that_is_a_class_has_a_finite_test() -> None:
    """The tail of the hypergeometric law underflows from about a thousand individuals on."""
    rng, h = np.random.default_rng(0), np.repeat(["a", "b"], 1200)
    x = np.r_[rng.normal(size=(1200, 2)), 20.0 + rng.normal(size=(1200, 2))]
    v = mc.cluster(mc.PCA(2).fit(x), 2, random_state=0).describe({"h": h})["v_test"]
    assert np.all(np.isfinite(v))
    assert np.min(np.abs(v)) > 50
