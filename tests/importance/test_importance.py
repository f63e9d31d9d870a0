"""Permutation importance: exact refits, calibrated p-values, the order of contributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import mercer as mc
from mercer.check import Array
from mercer.importance.moved_axes import Landmarks, Whole
from mercer.importance.permutation import TOGETHER, _landmarks
from mercer.importance.permuted import ColumnGroup, shares_squares
from mercer.spectrum.nearby import refine_axes


def linked(n: int, seed: int, noise: int = 3) -> Array:
    """Return three variables that follow one another, and some that follow nothing."""
    rng = np.random.default_rng(seed)
    t = rng.standard_normal(n)
    active = np.column_stack([t, t**2 - 1.0, np.sin(2.0 * t)]) + 0.3 * rng.standard_normal((n, 3))
    return np.hstack([active, rng.standard_normal((n, noise))])


def orders(seed: int, group: int, count: int, n: int) -> list[Array]:
    """Return the permutations that a group is given."""
    assert count <= TOGETHER
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(group, 0)))
    return [rng.permutation(n) for _ in range(count)]


def refitted(model: Any, X: Array, columns: list[int], order: Array, axes: int) -> Array:
    """Return distance and share by a fit of the permuted data from nothing."""
    Y = X.copy()
    Y[:, columns] = X[order][:, columns]
    again = model.__class__(**model.get_params(deep=False))
    if hasattr(model, "kernel_"):
        again.kernel = model.kernel_
    again.fit(Y)
    bases = [
        m.individuals_.coordinates[:, :axes] / np.sqrt(len(X) * m.inertias_[:axes])
        for m in (model, again)
    ]
    overlap = np.sum((bases[0].T @ bases[1]) ** 2)
    return np.array([np.sqrt(1 - overlap / axes), again.explained_variance_ratio_[:axes].sum()])


MODELS: dict[str, Any] = {
    "pca": mc.PCA(),
    "standardised": mc.PCA(standardize=True),
    "linear": mc.KernelPCA(4),
    "gaussian": mc.KernelPCA(4, kernel=mc.Gaussian("median")),
    "sum": mc.KernelPCA(4, kernel=mc.Gaussian(2.0) + 0.5 * mc.Laplacian(3.0, norm=2.0)),
    "polynomial": mc.KernelPCA(4, kernel=mc.Polynomial(2, 1.0, 0.2)),
    "conditional": mc.KernelPCA(4, kernel=mc.kernels.NegativeDistance(1.0)),
}


@pytest.mark.parametrize("name", MODELS)
def test_distances_and_shares_are_those_of_refits(name: str) -> None:
    X = linked(60, 1)
    model = MODELS[name].fit(X)
    found = mc.permutation_importance(model, {"b": [1], "de": [3, 4]}, 3, axes=3, random_state=5)
    for g, columns in enumerate([[1], [3, 4]]):
        for r, order in enumerate(orders(5, g, 3, 60)):
            expected = refitted(model, X, columns, order, 3)
            assert found.distances[g, r] == pytest.approx(expected[0], abs=2e-3)
            assert found.shares[g, r] == pytest.approx(expected[1], abs=1e-5)
    assert found.share == pytest.approx(model.explained_variance_ratio_[:3].sum(), abs=1e-9)
    assert found.landmarks is None


@pytest.mark.parametrize("name", ["gaussian", "sum", "polynomial", "conditional"])
def test_landmarks_come_near_the_whole_matrix(name: str) -> None:
    X = linked(400, 2)
    model = MODELS[name].fit(X)
    few = mc.permutation_importance(model, [0, 4], 4, axes=2, landmarks=200, random_state=0)
    all_ = mc.permutation_importance(model, [0, 4], 4, axes=2, landmarks=400, random_state=0)
    assert (few.landmarks, all_.landmarks) == (200, None)
    assert few.approximation < 0.1
    np.testing.assert_allclose(few.distances, all_.distances, atol=0.05)
    np.testing.assert_allclose(few.shares, all_.shares, rtol=0.05)


@pytest.mark.parametrize("name", ["gaussian", "sum", "polynomial", "conditional"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_all_individuals_as_landmarks_are_the_whole_matrix(name: str, is_weighted: bool) -> None:
    X = linked(50, 2) + 3.0  # far from 0, where a kernel must be centred
    w = np.random.default_rng(0).uniform(0.5, 2.0, 50) if is_weighted else np.ones(50)
    kernel = MODELS[name].fit(X).kernel_
    vectors = MODELS[name].fit(X, sample_weight=w).eigenvectors_[:, :2]
    whole = Whole(kernel, X, w / w.sum(), 2, vectors)
    few = Landmarks(kernel, X, w / w.sum(), 2, np.arange(50), vectors)
    order = orders(1, 0, 1, 50)[0]
    for a, b in (
        (whole.observed, few.observed),
        *((whole.permuted([j], order), few.permuted([j], order)) for j in (0, 4)),
    ):
        assert b.share == pytest.approx(a.share, rel=2e-3)
        assert b.distance == pytest.approx(a.distance, abs=1e-2)


def few_dimensions(n: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    t = rng.standard_normal((n, 1))
    return np.hstack([t + 0.3 * rng.standard_normal((n, 2)), rng.standard_normal((n, 1))])


@pytest.mark.parametrize("n", [40, 300], ids=["whole", "landmarks"])
@pytest.mark.parametrize(
    "kernel",
    [
        mc.kernels.Standardised(),  # three dimensions, and residuals that all point the same way
        mc.Polynomial(2),  # axes whose inertias differ by orders of magnitude
        mc.Gaussian(50.0),  # values that are all near 1
    ],
    ids=repr,
)
def test_spectra_that_fall_fast_are_followed(kernel: mc.Kernel, n: int) -> None:
    X = few_dimensions(n, 6)
    model = mc.KernelPCA(3, kernel=kernel).fit(X)
    found = mc.permutation_importance(model, [0, 2], 4, axes=2, random_state=5)
    assert found.landmarks == (None if n == 40 else 80)
    assert found.share == pytest.approx(model.explained_variance_ratio_[:2].sum(), abs=1e-6)
    for g, column in enumerate((0, 2)):
        for r, order in enumerate(orders(5, g, 4, n)):
            expected = refitted(model, X, [column], order, 2)
            # Three powers from the old axes leave what is counted as doubt.
            assert found.shares[g, r] == pytest.approx(expected[1], abs=1e-5 if n == 40 else 0.01)
            assert found.distances[g, r] == pytest.approx(expected[0], abs=0.03)


def test_landmarks_that_miss_a_category_still_follow_axes() -> None:
    labels = ["a"] * 290 + ["b", "c"] * 5
    rng = np.random.default_rng(0)
    table = {"kind": labels, "other": rng.choice(["u", "v"], 300).tolist()}
    kernel = mc.Columns({"kind": mc.kernels.Category(), "other": mc.kernels.Category()})
    model = mc.KernelPCA(3, kernel=kernel).fit(table)
    found = mc.permutation_importance(model, ["kind"], 3, axes=3, landmarks=6, random_state=0)
    assert np.all(np.isfinite(found.shares))
    assert np.all((found.distances >= 0.0) & (found.distances <= 1.0))


def test_landmarks_are_drawn_by_the_seed_from_all_individuals() -> None:
    drawn = np.array([_landmarks(30, 300, 2, seed) for seed in range(20)], dtype=int)
    assert all(len(set(rows)) == 30 for rows in drawn)
    assert len(np.unique(drawn)) > 200


def test_weights_of_zero_leave_individuals_out_and_weight_two_repeats_them() -> None:
    X = linked(50, 3)
    weights = np.r_[np.ones(40), np.zeros(10)]
    kernel = mc.Gaussian(2.0)
    some = mc.KernelPCA(2, kernel=kernel).fit(X, sample_weight=weights)
    few = mc.KernelPCA(2, kernel=kernel).fit(X[:40])
    a, b = (mc.permutation_importance(m, [0], 5, random_state=1) for m in (some, few))
    np.testing.assert_allclose(a.distances, b.distances, atol=1e-6)
    twice = mc.KernelPCA(2, kernel=kernel).fit(X, sample_weight=np.full(50, 2.0))
    once = mc.KernelPCA(2, kernel=kernel).fit(X)
    a, b = (mc.permutation_importance(m, [0], 5, random_state=1) for m in (twice, once))
    np.testing.assert_allclose(a.distances, b.distances, atol=1e-6)


@pytest.mark.parametrize("is_standardised", [True, False])
def test_linear_importance_has_the_order_of_contributions(is_standardised: bool) -> None:
    rng = np.random.default_rng(4)
    loadings = np.array([0.2, 0.9, 0.4, 0.7, 0.55, 1.1])
    t = rng.standard_normal((600, 1))
    X = t * loadings + 0.5 * rng.standard_normal((600, 6))
    model = mc.PCA(standardize=is_standardised).fit(X)
    linear = mc.KernelPCA(2, kernel=mc.Linear()).fit(X)
    for fitted in (model, *(() if is_standardised else (linear,))):
        found = mc.permutation_importance(fitted, None, 20, axes=1, random_state=0)
        contributions = model.variables_.contributions[:, 0]
        assert found.order.tolist() == np.argsort(-contributions).tolist()
        assert np.all(found.importances > 3.0 * found.errors)


def p_values_of_noise(kernel: mc.Kernel | None, count: int) -> Array:
    """Return the p-value of one variable that follows nothing, of many tables."""
    found = []
    for seed in range(count):
        X = linked(24, seed, noise=1)
        model = mc.PCA(2, standardize=True) if kernel is None else mc.KernelPCA(2, kernel=kernel)
        result = mc.permutation_importance(
            model.fit(X),
            [3],
            19,
            random_state=seed,
            threads=1,
            landmarks=None if kernel is None else 12,
        )
        found.append(result.p_values[0])
    return np.array(found)


@pytest.mark.parametrize(
    ("kernel", "count"),
    [
        (None, 400),
        (mc.Gaussian("median"), 120),
        pytest.param(None, 4000, marks=pytest.mark.slow),
        pytest.param(mc.Gaussian("median"), 2000, marks=pytest.mark.slow),
    ],
)
def test_p_values_of_noise_are_uniform(kernel: mc.Kernel | None, count: int) -> None:
    p = p_values_of_noise(kernel, count)
    # p is uniform on 1/20, …, 1: its empirical law is within ε of it unless an event of
    # probability 2 exp(-2·count·ε²) = 1e-4 happens (Dvoretzky, Kiefer, Wolfowitz, Massart).
    grid = np.arange(1, 21) / 20
    empirical = np.mean(p[:, None] <= grid + 1e-9, axis=0)
    assert np.max(np.abs(empirical - grid)) <= np.sqrt(np.log(2e4) / (2 * count))


def test_the_calibration_test_can_fail() -> None:
    """A statistic that looks at the data first, the distance itself, is not uniform."""
    p = []
    for seed in range(60):
        model = mc.PCA(2, standardize=True).fit(linked(30, seed, noise=1))
        found = mc.permutation_importance(model, [3], 19, random_state=seed, threads=1)
        p.append((1 + np.sum(found.distances[0] <= 0.0)) / 20)
    assert stats.kstest(p, "uniform").pvalue < 1e-6


@pytest.mark.parametrize("kernel", [None, mc.Gaussian("median")], ids=["linear", "gaussian"])
def test_active_variables_are_found(kernel: mc.Kernel | None) -> None:
    X = linked(100, 7, noise=4)
    X[:, 1] += X[:, 0]
    model = mc.PCA(2, standardize=True) if kernel is None else mc.KernelPCA(2, kernel=kernel)
    found = mc.permutation_importance(model.fit(X), None, 99, random_state=0)
    assert np.all(found.p_values[:3] == 0.01)
    assert np.all(found.p_values[3:] > 0.01)
    assert set(found.order[:3]) == {0, 1, 2}


def test_a_variable_that_makes_an_axis_alone_is_important_and_not_linked() -> None:
    rng = np.random.default_rng(8)
    X = np.column_stack([20.0 * rng.standard_normal(100), rng.standard_normal((100, 3))])
    found = mc.permutation_importance(mc.PCA().fit(X), None, 99, axes=1, random_state=0)
    assert found.movements[0] > 0.9
    assert found.importances[0] < 0.01
    assert found.p_values[0] > 0.05


def test_results_do_not_depend_on_threads_and_repeat_with_the_seed() -> None:
    model = mc.KernelPCA(2, kernel=mc.Gaussian(2.0)).fit(linked(300, 9))
    one, two, other = (
        mc.permutation_importance(model, None, 20, random_state=seed, threads=t)
        for seed, t in ((3, 1), (3, 2), (4, 1))
    )
    np.testing.assert_allclose(one.distances, two.distances, rtol=1e-5, atol=1e-6)
    assert np.array_equal(one.p_values, two.p_values)
    assert not np.allclose(one.distances, other.distances)
    again = mc.permutation_importance(model, None, 20, random_state=one.seed)
    assert np.array_equal(one.p_values, again.p_values)


def test_linear_importance_has_no_unit() -> None:
    X = linked(40, 16)
    small, large = (
        mc.permutation_importance(mc.PCA().fit(unit * X), [0, 5], 9, random_state=0)
        for unit in (1.0, 1e200)
    )
    np.testing.assert_allclose(small.shares, large.shares, rtol=1e-9)
    np.testing.assert_allclose(small.distances, large.distances, rtol=1e-6)


def test_a_column_that_cannot_change_changes_nothing() -> None:
    X = linked(50, 10)
    X[:, 4] = 1.0
    found = mc.permutation_importance(
        mc.KernelPCA(2, kernel=mc.Gaussian(2.0)).fit(X), [4], 9, random_state=0
    )
    assert found.p_values[0] == 1.0
    assert abs(found.importances[0]) < 1e-6
    assert found.movements[0] < 1e-3


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian((1.0, 2.0, 1.0, 3.0)), mc.Matern(0.5, 2.0) + mc.Gaussian(2.0) * 0.5]
)
def test_shared_squares_give_the_kernel_of_permuted_points(kernel: mc.Kernel) -> None:
    rng = np.random.default_rng(12)
    X, rows, order = rng.standard_normal((40, 4)), np.array([1, 7, 20]), rng.permutation(40)
    group = ColumnGroup(kernel, X, rows, [1, 3])
    Y = X.copy()
    Y[:, [1, 3]] = X[order][:, [1, 3]]
    assert shares_squares(kernel, 4)
    for part, values in group.tiles(order):
        np.testing.assert_allclose(values, kernel(Y[part], Y[rows]), atol=1e-3)
    np.testing.assert_allclose(group.diagonal(order), kernel.diag(Y))


def test_refined_bounds_what_it_misses() -> None:
    rng = np.random.default_rng(13)
    values = np.sort(rng.uniform(0.0, 1.0, 80))[::-1] ** 3
    Q = np.linalg.qr(rng.standard_normal((80, 80)))[0]
    A = (Q * values) @ Q.T
    axes = refine_axes(lambda V: A @ V, Q[:, :6] + 0.05 * rng.standard_normal((80, 6)), 2, 1e-2)
    missing = values[:2].sum() - axes.values[:2].sum()
    assert -1e-12 <= missing <= axes.doubt


def test_values_are_read_as_tables_and_sentences() -> None:
    model = mc.PCA(standardize=True).fit(linked(80, 14))
    found = mc.permutation_importance(model, {"pair": ["x0", "x1"], "x5": "x5"}, 19, random_state=0)
    table = found.table()
    assert table["variable"].tolist() == ["pair", "x5"]
    assert list(table)[1:] == ["importance", "error", "p_value", "movement", "movement_error"]
    deviation = found.shares[0].std(ddof=1) / np.sqrt(19)
    assert found.errors[0] == pytest.approx(deviation)
    assert "pair (" in str(found)
    assert "19 permutations" in found.sentences[1]


def test_wrong_questions_are_refused_by_name() -> None:
    model = mc.PCA().fit(linked(20, 15))
    with pytest.raises(mc.errors.InvalidParameter, match="no column 'y'"):
        mc.permutation_importance(model, ["y"])
    with pytest.raises(mc.errors.InvalidParameter, match="all columns"):
        mc.permutation_importance(model, {"all": range(6)})
    with pytest.raises(mc.errors.InvalidParameter, match="each once"):
        mc.permutation_importance(model, {"a": [1, 1]})
    with pytest.raises(mc.errors.InvalidParameter, match="give a PCA"):
        mc.permutation_importance("model")
    with pytest.raises(mc.errors.InvalidParameter, match="permutations"):
        mc.permutation_importance(model, permutations=0)
    with pytest.raises(mc.errors.InvalidParameter, match="rows of numbers"):
        mc.permutation_importance(
            mc.KernelPCA(1, kernel="precomputed").fit(np.diag([1.0, 2.0, 4.0, 8.0]))
        )


def test_sentences_do_not_call_few_permutations_evidence() -> None:
    x = np.random.default_rng(0).standard_normal((20, 3))
    x[:, 1] += 2.0 * x[:, 0]
    model = mc.PCA().fit(x)
    few, enough = (
        str(mc.permutation_importance(model, None, R, axes=1, random_state=0)) for R in (5, 19)
    )
    assert "5 permutations are too few to find links beyond chance at p ≤ 0.05" in few
    assert "Linked with the others beyond chance (p ≤ 0.05" in enough
    assert "costs it most for" in few
    two = mc.permutation_importance(mc.PCA().fit(x[:2]), None, 5, random_state=0)
    assert "no variable costs it anything" in str(two)


def mixed(n: int, seed: int) -> dict[str, Any]:
    """Return a table of a size, a kind that follows it, a word that does not, and a block."""
    rng = np.random.default_rng(seed)
    size = rng.standard_normal(n)
    genes = np.column_stack([size, -size]) + 0.4 * rng.standard_normal((n, 2))
    words = ["".join(rng.choice(list("ab"), 6)) for _ in range(n)]
    kind = np.where(size + 0.3 * rng.standard_normal(n) > 0, "large", "small")
    block = np.column_stack([genes, rng.standard_normal(n)])
    return {"size": size, "kind": kind.tolist(), "word": words, "genes": block}


MIXED = mc.Columns(
    {
        "size": mc.Linear(),
        "kind": mc.kernels.Category(),
        "word": mc.kernels.StringSpectrum(2).normalised(),
        "genes": mc.Gaussian(2.0),
    },
    weights="balanced",
)


@pytest.mark.parametrize("landmarks", [None, 40], ids=["whole", "landmarks"])
def test_variables_of_tables_and_blocks_are_permuted(landmarks: int | None) -> None:
    table = mixed(90, 20)
    model = mc.KernelPCA(2, kernel=MIXED).fit(table)
    found = mc.permutation_importance(model, None, 39, axes=1, random_state=0, landmarks=landmarks)
    assert found.names == ("size", "kind", "word", "genes")
    assert (found.landmarks is None) == (landmarks is None)
    p = dict(zip(found.names, found.p_values, strict=True))
    assert p["size"] == p["kind"] == p["genes"] == 1 / 40
    assert p["word"] > 0.05
    groups = {"both": ["genes[0]", "genes[1]"], "noise": "genes[2]", "words": 2}
    parts = mc.permutation_importance(
        model, groups, 39, axes=1, random_state=0, landmarks=landmarks
    )
    assert parts.p_values[0] == 1 / 40
    assert np.all(parts.p_values[1:] > 0.05)


def test_shares_of_permuted_tables_are_those_of_refits() -> None:
    table = mixed(40, 21)
    model = mc.KernelPCA(3, kernel=MIXED).fit(table)
    groups = {"kind": "kind", "some": ["word", "genes[1]"]}
    found = mc.permutation_importance(model, groups, 3, random_state=5)
    for g in range(2):
        for r, order in enumerate(orders(5, g, 3, 40)):
            moved = dict(table)
            if g == 0:
                moved["kind"] = [table["kind"][i] for i in order]
            else:
                moved["word"] = [table["word"][i] for i in order]
                moved["genes"] = table["genes"].copy()
                moved["genes"][:, 1] = table["genes"][order, 1]
            again = mc.KernelPCA(3, kernel=model.kernel_).fit(moved)
            expected = again.explained_variance_ratio_[:2].sum()
            assert found.shares[g, r] == pytest.approx(expected, abs=1e-5)


def test_blocks_of_a_consensus_have_an_importance() -> None:
    table = mixed(50, 22)
    parts = {
        "genes": (mc.Gaussian(2.0), table["genes"]),
        "kind": (mc.kernels.Category(), table["kind"]),
    }
    kernel = mc.consensus(parts).kernel
    model = mc.KernelPCA(2, kernel=kernel).fit({n: table[n] for n in parts})
    found = mc.permutation_importance(model, ["genes", "genes[2]"], 19, axes=1, random_state=0)
    assert found.p_values.tolist()[0] == 0.05
    assert found.importances[1] < found.importances[0]
    with pytest.raises(mc.errors.InvalidParameter, match=r"no column 'genes\[3\]'"):
        mc.permutation_importance(model, ["genes[3]"])
    with pytest.raises(mc.errors.InvalidParameter, match="all columns"):
        mc.permutation_importance(model, {"all": ["genes", "kind"]})
    with pytest.raises(mc.errors.InvalidParameter, match="no column True"):
        mc.permutation_importance(model, [True])
    with pytest.raises(mc.errors.InvalidParameter, match="each once"):
        mc.permutation_importance(model, {"twice": ["genes", "genes[0]"]})
