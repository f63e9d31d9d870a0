"""Groups, spread, variables and other maps on distances and models: vegan's values and the laws."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import procrustes as scipy_procrustes
from scipy.spatial.distance import cdist
from scipy.stats import f_oneway, levene
from sklearn.exceptions import NotFittedError

import mercer as mc
from mercer.check import Array
from mercer.errors import (
    ConstantColumns,
    InvalidInput,
    InvalidParameter,
    NotAvailable,
    ReadingWarning,
)
from mercer.ordination.designs import exchange_rows
from mercer.ordination.dispersion import spatial_median
from tests.references import near, reference

SEEDS = st.integers(0, 10**6)
GAUSS = mc.Gaussian(bandwidth=2.0)
DUNE = reference("permanova_dune")
SITES = np.array(DUNE["D"])
MANAGEMENT = DUNE["group"]


def sample(seed: int, n: int = 24, p: int = 3) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) + 3.0, rng.permutation(np.arange(n) % 3), rng.integers(2, size=n)


def projection(*columns: Array) -> Array:
    """The orthogonal projection on columns and the constant, minus that on the constant."""
    n = len(columns[0])
    parts = [np.ones((n, 1))]
    for column in columns:
        is_number = column.dtype.kind == "f"
        parts.append(column[:, None] if is_number else (column[:, None] == np.unique(column)) * 1.0)
    X = np.hstack(parts)
    return np.asarray(X @ np.linalg.pinv(X) - 1.0 / n)


def squares(x: Array, P: Array) -> float:
    return float(np.sum(x * (P @ x)))


# -- permutational analysis of variance


def test_the_analysis_of_the_dune_meadows_is_that_of_vegan() -> None:
    found = mc.permanova(SITES, MANAGEMENT, random_state=0)
    expected = DUNE["result"]
    near([*found.sums_of_squares, found.total], expected["sum_of_squares"])
    near([*found.r2, found.residual_r2, 1.0], expected["R2"])
    near(found.f, [expected["F"]])
    assert found.degrees == (3, 16)
    assert found.p_values is not None
    assert found.p_values[0] == pytest.approx(expected["p"], abs=0.006)  # both are drawn


@settings(max_examples=25)
@given(SEEDS)
def test_one_column_is_the_analysis_of_variance(seed: int) -> None:
    x, groups, _ = sample(seed, p=1)
    found = mc.permanova(x, groups, permutations=0)
    expected = f_oneway(*(x[groups == g, 0] for g in range(3))).statistic
    assert found.f[0] == pytest.approx(expected, rel=1e-9)


@settings(max_examples=25)
@given(SEEDS)
def test_terms_add_up_and_the_last_of_them_is_marginal(seed: int) -> None:
    x, a, b = sample(seed)
    z = np.random.default_rng(seed).normal(size=len(x))
    if len(np.unique(b)) < 2:
        return
    given = {"a": a, "b": b}
    terms = mc.permanova(x, given, covariates={"z": z}, permutations=0)
    margin = mc.permanova(x, given, covariates={"z": z}, by="margin", permutations=0)
    assert terms.terms == margin.terms == ("z", "a", "b")
    sums = [squares(x, projection(*part)) for part in ((z,), (z, a), (z, a, b))]
    np.testing.assert_allclose(terms.sums_of_squares[:-1], np.diff([0.0, *sums]), atol=1e-10)
    assert terms.sums_of_squares.sum() == pytest.approx(terms.total, rel=1e-12)
    others = [squares(x, projection(*part)) for part in ((a, b), (z, b), (z, a))]
    np.testing.assert_allclose(margin.sums_of_squares[:-1], sums[2] - np.array(others), atol=1e-10)
    assert margin.f[-1] == pytest.approx(terms.f[-1], rel=1e-9)
    assert margin.sums_of_squares[-1] == pytest.approx(terms.sums_of_squares[-1], rel=1e-9)


def test_combined_labels_after_their_factors_are_the_interaction() -> None:
    x, _, _ = sample(3, 24)
    a, b = np.repeat(["u", "v"], 12), np.tile(["p", "q", "r"], 8)
    both = np.char.add(a, b)
    found = mc.permanova(x, {"a": a, "b": b, "a:b": both}, permutations=0)
    assert found.degrees == (1, 2, 2, 18)
    whole = squares(x, projection(both))
    main = squares(x, projection(a)) + squares(x, projection(b))  # balanced
    assert found.sums_of_squares[2] == pytest.approx(whole - main, rel=1e-9)


def _forms(x: Array) -> dict[str, Any]:
    return {
        "rows": x,
        "a data frame": pd.DataFrame(x),
        "distances": cdist(x, x),
        "a Gram matrix": x @ x.T,
        "a Gram": mc.Gram(mc.Linear(), x),
        "a kernel and points": (mc.Linear(), x),
        "PCA of one axis": mc.PCA(1).fit(x),
        "KernelPCA of one axis": mc.KernelPCA(1).fit(x),
        "ClassicalMDS of points": mc.ClassicalMDS(1, metric="euclidean").fit(x),
        "ClassicalMDS of distances": mc.ClassicalMDS(1).fit(cdist(x, x)),
        "all axes": (mc.PCA().fit(x), {"axes": 3}),
    }


@pytest.mark.parametrize("name", list(_forms(sample(0)[0])))
def test_all_forms_of_the_same_individuals_give_the_same_analysis(name: str) -> None:
    x, groups, _ = sample(0)
    given, more = _forms(x)[name], {}
    if name == "all axes":
        given, more = given
    said: dict[str, Any] = {"random_state": 1, "permutations": 99}
    expected, found = mc.permanova(x, groups, **said), mc.permanova(given, groups, **said, **more)
    np.testing.assert_allclose(found.sums_of_squares, expected.sums_of_squares, rtol=1e-9)
    np.testing.assert_allclose(found.null, expected.null, rtol=1e-7)
    np.testing.assert_array_equal(found.p_values, expected.p_values)
    spread = mc.dispersion(x, groups, **said)
    np.testing.assert_allclose(
        mc.dispersion(given, groups, **said, **more).distances, spread.distances, rtol=1e-7
    )


def test_the_space_of_a_kernel_is_that_of_its_distances() -> None:
    x, groups, _ = sample(1)
    model = mc.KernelPCA(2, kernel=GAUSS).fit(x)
    found = mc.permanova(model, groups, permutations=0)
    expected = mc.permanova(mc.distance(GAUSS, x), groups, permutations=0)
    np.testing.assert_allclose(found.sums_of_squares, expected.sums_of_squares, rtol=1e-9)
    on_axes = mc.permanova(model, groups, axes=2, permutations=0)
    assert on_axes.total == pytest.approx(len(x) * model.inertias_.sum(), rel=1e-9)
    rough = mc.KernelPCA(3, kernel=GAUSS, method="nystrom", landmarks=20, random_state=0).fit(x)
    on_its_axes = mc.permanova(rough, groups, permutations=0)
    assert on_its_axes.total == pytest.approx(len(x) * rough.inertias_.sum(), rel=1e-9)


@pytest.mark.parametrize("make", [mc.PCA, lambda k: mc.KernelPCA(k, kernel=GAUSS)])
def test_weights_count_individuals_and_zero_leaves_them_out(make: Any) -> None:
    x, groups, _ = sample(2)
    s = np.random.default_rng(0).integers(0, 4, size=len(x))
    once = np.repeat(np.arange(len(x)), s)
    expected = mc.permanova(make(2).fit(x[once]), groups[once], permutations=0)
    model = make(2).fit(x, sample_weight=s)
    found = mc.permanova(model, groups, random_state=0, permutations=99)
    np.testing.assert_allclose(found.r2, expected.r2, rtol=1e-9)
    assert found.individuals == int(np.sum(s > 0))
    spread = mc.dispersion(model, groups, permutations=0, adjusted=False)
    if make is mc.PCA:
        once_each = mc.dispersion(x[once], groups[once], permutations=0, adjusted=False)
        np.testing.assert_allclose(spread.means, once_each.means, rtol=1e-9)
    assert spread.rows.tolist() == np.flatnonzero(s).tolist()


@pytest.mark.parametrize(
    "model",
    [
        mc.CA(2).fit(np.random.default_rng(0).poisson(5.0, (24, 4)) + 1),
        mc.MCA(2).fit(pd.DataFrame(np.random.default_rng(0).choice(list("abc"), (24, 3)))),
        mc.ClassicalMDS(2, correction="lingoes").fit(cdist(sample(0)[0], sample(0)[0]) ** 1.5),
        mc.KernelPCA(2, kernel=GAUSS).fit(sample(0)[0]),
        mc.KernelPCA(2, kernel="precomputed").fit(GAUSS(sample(0)[0])),
    ],
)
def test_the_inner_products_of_a_model_are_about_its_barycentre(model: Any) -> None:
    B = model.inner_products(np.eye(24))
    w = model.weights_
    np.testing.assert_allclose(B, B.T, atol=1e-10 * np.abs(B).max())
    np.testing.assert_allclose(w @ B, 0.0, atol=1e-10 * np.abs(B).max())
    assert w @ np.diag(B) >= model.individuals_.inertias.sum() * (1 - 1e-6)
    np.testing.assert_allclose(np.diag(B), model.individuals_.squared_distances, rtol=1e-9)


def test_permutations_are_those_of_the_law() -> None:
    x, groups = np.array([[0.0], [1.0], [2.5], [7.0], [8.0]]), [0, 0, 0, 1, 1]
    exact = []
    for order in itertools.permutations(range(5)):
        exact.append(f_oneway(x[list(order[:3]), 0], x[list(order[3:]), 0]).statistic)
    share = np.mean(np.array(exact) >= exact[0] * (1 - 1e-9))
    found = mc.permanova(x, groups, permutations=4_000, random_state=0)
    assert found.p_values is not None
    assert found.p_values[0] == pytest.approx(share, abs=0.02)


def _rejected(draw: Any, count: int = 100) -> float:
    return float(np.mean([draw(seed) <= 0.05 for seed in range(count)]))


def test_chance_is_rejected_as_often_as_the_level_says_and_groups_are_found() -> None:
    def by_chance(seed: int) -> float:
        x, groups, _ = sample(seed)
        p = mc.permanova(x, groups, permutations=99, random_state=seed).p_values
        return float(p[0]) if p is not None else 1.0

    def of_groups(seed: int) -> float:
        x, groups, _ = sample(seed)
        p = mc.permanova(x + groups[:, None], groups, permutations=99, random_state=seed).p_values
        return float(p[0]) if p is not None else 1.0

    assert 0.005 <= _rejected(by_chance) <= 0.12
    assert _rejected(of_groups, 50) >= 0.9


def test_strata_hold_what_only_they_explain() -> None:
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(6), 6)
    groups = np.where(np.arange(36) % 6 < np.where(site < 3, 5, 1), "a", "b")

    def p_value(strata: Any, seed: int) -> float:
        x = 3.0 * (site[:, None] >= 3) + rng.normal(size=(36, 2))
        found = mc.permanova(x, groups, strata=strata, permutations=99, random_state=seed)
        assert found.p_values is not None
        return float(found.p_values[0])

    assert np.mean([p_value(None, s) for s in range(20)]) < 0.05
    assert np.mean([p_value(site, s) <= 0.05 for s in range(60)]) <= 0.15
    order = exchange_rows([np.flatnonzero(site == s) for s in range(6)], rng)
    assert (site[order] == site).all()
    assert not (order == np.arange(36)).all()


def test_threads_and_their_number_change_nothing_and_seeds_repeat() -> None:
    x, groups, _ = sample(5)
    said: dict[str, Any] = {"permutations": 50}
    one = mc.permanova(x, groups, random_state=7, threads=1, **said)
    two = mc.permanova(x, groups, random_state=7, threads=2, **said)
    np.testing.assert_array_equal(one.null, two.null)
    free = mc.permanova(x, groups, **said)
    again = mc.permanova(x, groups, random_state=free.seed, **said)
    np.testing.assert_array_equal(free.null, again.null)
    seen: list[tuple[int, int]] = []
    mc.permanova(x, groups, progress=lambda a, b: seen.append((a, b)), **said)
    assert seen[-1] == (50, 50)


def test_groups_without_spread_have_an_infinite_ratio() -> None:
    found = mc.permanova([[0.0], [0.0], [1.0], [1.0]], list("aabb"), permutations=99)
    assert found.f[0] == np.inf
    assert found.p_values is not None
    assert found.p_values[0] == pytest.approx(1 / 3, abs=0.15)


def test_memory_grows_with_individuals_and_not_with_their_square() -> None:
    n = 20_000
    rng = np.random.default_rng(0)
    x, groups = rng.normal(size=(n, 4)), rng.integers(5, size=n)
    model = mc.PCA(2).fit(x)
    tracemalloc.start()
    mc.permanova(model, groups, permutations=19, random_state=0)
    mc.dispersion(model, groups, permutations=19, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 8 / 20


def test_huge_and_tiny_data_have_shares_and_say_what_they_have_not() -> None:
    x, groups, _ = sample(4)
    expected = mc.permanova(x, groups, permutations=0)
    for unit in (2.0**660, 2.0**-660):
        found = mc.permanova(mc.PCA(2).fit(unit * x), groups, permutations=0)
        np.testing.assert_allclose(found.r2, expected.r2, rtol=1e-9)
        with pytest.raises(NotAvailable, match="rescale"):
            _ = found.sums_of_squares


@pytest.mark.parametrize(
    ("groups", "more", "words"),
    [
        (["a"] * 24, {}, "is 'a' for all individuals"),
        (["a", "b"], {}, "24 individuals"),
        ([None, *"abababababababababababa"], {}, "no label in row 0"),
        ([float("nan"), *range(23)], {}, "no label in row 0"),
        (list(range(24)), {}, "none is left for the residual"),
        ({"a": list("ab") * 12, "b": list("cd") * 12}, {}, "'b' adds nothing"),
        (list("ab") * 12, {"by": "row"}, "by must be"),
        (list("ab") * 12, {"covariates": {"t": list("xy") * 12}}, "'t' holds no numbers"),
        (list("ab") * 12, {"covariates": {"t": [np.inf] * 24}}, "'t'"),
        (list("ab") * 12, {"strata": [None] * 24}, "strata.*row 0"),
        (list("ab") * 12, {"axes": 2}, "for fitted models"),
        (list("ab") * 12, {"permutations": -1}, "permutations"),
    ],
)
def test_what_cannot_be_analysed_is_refused_by_name(
    groups: Any, more: dict[str, Any], words: str
) -> None:
    x, _, _ = sample(0)
    with pytest.raises((InvalidInput, InvalidParameter), match=words):
        mc.permanova(x, groups, **more)


def test_individuals_that_cannot_be_read_are_refused() -> None:
    x = sample(0)[0]
    x[5, 2] = np.nan
    with pytest.raises(InvalidInput, match="row 5, column 2"):
        mc.permanova(x, list("ab") * 12)
    with pytest.raises(NotFittedError, match="fit"):
        mc.permanova(mc.PCA(2), list("ab") * 12)
    with pytest.raises(InvalidParameter, match="2 axes, not 3"):
        mc.permanova(mc.PCA(2).fit(sample(0)[0]), list("ab") * 12, axes=3)


# -- dispersion


def test_the_spread_of_the_dune_meadows_is_that_of_vegan() -> None:
    found = mc.dispersion(SITES, MANAGEMENT, random_state=0, adjusted=False)
    expected = DUNE["result"]
    near(found.distances, expected["distances_to_centroid"])
    near(found.f, expected["dispersion_F"])
    assert found.degrees == (3, 16)
    assert found.levels == ("BF", "HF", "NM", "SF")


@settings(max_examples=25)
@given(SEEDS)
def test_distances_are_to_the_means_of_groups_and_the_test_is_levene_s(seed: int) -> None:
    x, groups, _ = sample(seed, p=1)
    found = mc.dispersion(x, groups, permutations=0, adjusted=False)
    parts = [x[groups == g, 0] for g in range(3)]
    expected = np.empty(len(x))
    for g, part in enumerate(parts):
        expected[groups == g] = np.abs(part - part.mean())
    np.testing.assert_allclose(found.distances, expected, atol=1e-7)
    assert found.f == pytest.approx(levene(*parts, center="mean").statistic, rel=1e-6)
    middle = mc.dispersion(x, groups, centre="median", permutations=0, adjusted=False)
    assert middle.distances.sum() <= found.distances.sum() * (1 + 1e-9)


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 4), st.integers(3, 12))
def test_the_pulls_on_a_spatial_median_balance(seed: int, p: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(n, p)), rng.random(n) + 0.1
    m = spatial_median(x, w)
    away = np.linalg.norm(x - m, axis=1)
    here = away < 1e-9
    pull = ((w / np.where(here, 1.0, away))[:, None] * (x - m))[~here].sum(axis=0)
    assert np.linalg.norm(pull) <= w[here].sum() + 1e-5 * w.sum()


def test_a_median_of_distances_is_that_of_coordinates() -> None:
    x, groups, _ = sample(8)
    found = mc.dispersion(cdist(x, x), groups, centre="median", permutations=0, adjusted=False)
    expected = np.empty(len(x))
    for g in range(3):
        mine = x[groups == g]
        expected[groups == g] = np.linalg.norm(mine - spatial_median(mine, np.ones(8)), axis=1)
    np.testing.assert_allclose(found.distances, expected, rtol=1e-6)


def test_unequal_spread_is_found_and_equal_spread_is_not() -> None:
    def p_value(seed: int, factor: float, shift: float) -> float:
        rng = np.random.default_rng(seed)
        groups = np.repeat([0, 1], 20)
        x = rng.normal(size=(40, 3)) * np.where(groups, factor, 1.0)[:, None]
        found = mc.dispersion(x + shift * groups[:, None], groups, permutations=99, random_state=0)
        assert found.p_value is not None
        return found.p_value

    assert _rejected(lambda seed: p_value(seed, 1.0, 5.0)) <= 0.12  # means do not matter
    assert _rejected(lambda seed: p_value(seed, 2.5, 0.0), 40) >= 0.9


def test_negative_squares_are_zero_with_a_warning() -> None:
    d = np.array([[0, 9, 1, 5], [9, 0, 1, 5], [1, 1, 0, 5], [5, 5, 5, 0.0]])
    with pytest.warns(ReadingWarning, match="not Euclidean"):
        found = mc.dispersion(d, list("aaab"), permutations=0)
    assert found.distances.min() == 0.0


def test_what_has_no_spread_is_refused() -> None:
    x, _, _ = sample(0)
    with pytest.raises(InvalidInput, match="group of its own"):
        mc.dispersion(x, range(24))
    with pytest.raises(InvalidInput, match="one factor"):
        mc.dispersion(x, {"a": list("ab") * 12, "b": list("ab") * 12})
    with pytest.raises(InvalidParameter, match="centre must be"):
        mc.dispersion(x, list("ab") * 12, centre="mode")


# -- variables on a map


def test_vectors_on_the_map_of_the_dune_meadows_are_those_of_vegan() -> None:
    expected = reference("envfit_dune")
    species = pd.DataFrame(expected["X"], columns=expected["names"])
    found = mc.fit_variables(np.array(expected["map"]), species, random_state=0)
    assert found.numbers == tuple(expected["names"])
    near(found.directions, expected["arrows"])
    near(found.r2, expected["r2"])
    model = mc.ClassicalMDS(2).fit(np.array(expected["D"]))
    again = mc.fit_variables(model, species, permutations=0)
    near(again.r2, expected["r2"])
    np.testing.assert_allclose(
        np.abs(again.directions), np.abs(np.array(expected["arrows"])), atol=1e-9
    )


@settings(max_examples=25)
@given(SEEDS)
def test_directions_are_those_of_the_regression_and_factors_have_their_share(seed: int) -> None:
    x, groups, _ = sample(seed)
    F, y = x[:, :2], x[:, 2]
    found = mc.fit_variables(F, {"g": groups.astype(str), "y": y}, permutations=0)
    centred = F - F.mean(axis=0)
    slopes, *_ = np.linalg.lstsq(centred, y - y.mean(), rcond=None)
    np.testing.assert_allclose(found.directions[0], slopes / np.linalg.norm(slopes), atol=1e-9)
    assert found.r2[0] == pytest.approx(np.var(centred @ slopes) / np.var(y), rel=1e-9)
    assert found.r2[1] == pytest.approx(mc.permanova(F, groups, permutations=0).r2[0], rel=1e-9)
    means = [F[groups == g].mean(axis=0) for g in range(3)]
    np.testing.assert_allclose(found.centroids, means, atol=1e-12)
    assert np.linalg.norm(found.arrows[0]) == pytest.approx(np.sqrt(found.r2[0]))


def test_variables_of_the_map_are_found_and_those_of_chance_are_not() -> None:
    def p_values(seed: int) -> Array:
        rng = np.random.default_rng(seed)
        F = rng.normal(size=(25, 2))
        given = {
            "linked": F[:, 0] + 0.3 * rng.normal(size=25),
            "chance": rng.normal(size=25),
            "side": np.where(F[:, 1] > 0, "n", "s"),
            "coin": rng.choice(["h", "t"], 25),
        }
        found = mc.fit_variables(F, given, permutations=99, random_state=seed)
        assert found.names == ("linked", "chance", "side", "coin")
        assert found.p_values is not None
        return np.asarray(found.p_values)

    rejected = np.mean([p_values(seed) <= 0.05 for seed in range(60)], axis=0)
    assert rejected[[0, 2]].min() >= 0.99
    assert rejected[[1, 3]].max() <= 0.15


def test_weights_of_a_model_are_those_of_its_variables() -> None:
    x, groups, _ = sample(6)
    s = np.random.default_rng(1).integers(0, 3, size=len(x))
    once = np.repeat(np.arange(len(x)), s)
    given = {"y": x[:, 0] ** 2, "g": groups.astype(str)}
    found = mc.fit_variables(mc.PCA(2).fit(x, sample_weight=s), given, permutations=9)
    repeated = {name: values[once] for name, values in given.items()}
    expected = mc.fit_variables(mc.PCA(2).fit(x[once]), repeated, permutations=0)
    np.testing.assert_allclose(found.r2, expected.r2, rtol=1e-9)
    np.testing.assert_allclose(found.directions, expected.directions, atol=1e-9)
    np.testing.assert_allclose(found.centroids, expected.centroids, atol=1e-9)


def test_constant_columns_grow_nowhere_and_missing_entries_are_named() -> None:
    F = sample(0)[0][:, :2]
    with pytest.warns(ConstantColumns, match="flat"):
        found = mc.fit_variables(F, {"flat": np.full(24, 0.1)}, permutations=9)
    assert found.r2[0] == 0.0
    assert found.p_values is not None
    assert found.p_values[0] == 1.0
    with pytest.raises(InvalidInput, match="'y'"):
        mc.fit_variables(F, {"y": [np.nan] * 24})
    with pytest.raises(InvalidInput, match="'g' has no label in row 3"):
        mc.fit_variables(F, {"g": ["a", "b", "a", None, *"ab" * 10]})
    with pytest.raises(InvalidInput, match="coincide"):
        mc.fit_variables(np.zeros((4, 2)), {"y": [1.0, 2.0, 3.0, 4.0]})


# -- one map upon another


@settings(max_examples=25)
@given(SEEDS, st.booleans())
def test_a_map_turned_stretched_and_moved_is_brought_back(seed: int, is_flipped: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 3))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn[:, 0] *= -1.0 if is_flipped else 1.0
    found = mc.procrustes(X, 4.0 * X @ turn + 7.0, permutations=0)
    assert found.m2 == pytest.approx(0.0, abs=1e-12)
    assert found.scale == pytest.approx(0.25, rel=1e-9)
    np.testing.assert_allclose(found.rotation, turn.T, atol=1e-9)
    np.testing.assert_allclose(found.moved, X, atol=1e-9)
    np.testing.assert_allclose(found.residuals, 0.0, atol=1e-7)


@settings(max_examples=25)
@given(SEEDS)
def test_what_is_left_is_scipy_s_disparity_and_that_of_each_individual(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 3)) + 2.0
    found = mc.procrustes(X, Y, permutations=0)
    _, _, expected = scipy_procrustes(np.hstack([X, np.zeros((12, 1))]), Y)
    assert found.m2 == pytest.approx(expected, rel=1e-9)
    assert mc.procrustes(Y, X, permutations=0).m2 == pytest.approx(found.m2, rel=1e-9)
    total = np.sum((X - X.mean(axis=0)) ** 2)
    assert np.sum(found.residuals**2) == pytest.approx(found.m2 * total, rel=1e-9)
    again = found.scale * Y @ found.rotation + found.translation
    np.testing.assert_allclose(again, found.moved, atol=1e-9)
    rigid = mc.procrustes(X, Y, scale=False, permutations=0)
    assert rigid.scale == 1.0
    assert rigid.m2 == pytest.approx(found.m2)
    assert np.sum(rigid.residuals**2) >= np.sum(found.residuals**2) * (1 - 1e-9)


def test_maps_of_the_same_data_agree_and_those_of_chance_do_not() -> None:
    irises = mc.datasets.iris()
    straight, curved = mc.PCA(2).fit(irises), mc.KernelPCA(2, kernel="gaussian").fit(irises.numbers)
    found = mc.procrustes(straight, curved, permutations=99, random_state=0)
    assert found.p_value == 0.01
    assert found.correlation > 0.8

    def by_chance(seed: int) -> float:
        rng = np.random.default_rng(seed)
        maps = rng.normal(size=(2, 15, 2))
        p = mc.procrustes(*maps, permutations=99, random_state=seed).p_value
        return 1.0 if p is None else p

    assert 0.005 <= _rejected(by_chance) <= 0.12


def test_maps_of_others_are_refused() -> None:
    x, _, _ = sample(0)
    with pytest.raises(InvalidInput, match="24 individuals and moved has 23"):
        mc.procrustes(x, x[:-1])
    first, second = (pd.DataFrame(x, index=[f"{k}{i}" for i in range(24)]) for k in "ab")
    with pytest.raises(InvalidInput, match="row 0 is 'a0' in target and 'b0' in moved"):
        mc.procrustes(first, second)
    with pytest.raises(InvalidInput, match="all individuals of moved coincide"):
        mc.procrustes(x, np.ones_like(x))
    weighted = mc.PCA(2).fit(x, sample_weight=np.arange(1.0, 25.0))
    with pytest.raises(InvalidInput, match="other weights"):
        mc.procrustes(mc.PCA(2).fit(x), weighted)


def test_results_have_tables() -> None:
    x, groups, _ = sample(0)
    found = mc.permanova(x, {"a": groups}, permutations=9)
    assert found.table()["term"].tolist() == ["a", "residual", "total"]
    assert found.table("pandas")["degrees"].tolist() == [2, 21, 23]
    assert "p_value" not in mc.permanova(x, groups, permutations=0).table()
    assert mc.dispersion(x, groups, permutations=0, adjusted=False).table()["group"][0] == str(
        groups[0]
    )
    fit = mc.fit_variables(x, {"y": x[:, 0], "g": groups.astype(str)}, permutations=9)
    assert list(fit.table()) == ["variable", "r2", "p_value", "adjusted", "dim1", "dim2"]
    assert fit.factor_table()["variable"].tolist() == ["g"]
    assert fit.centroid_table()["level"].tolist() == ["0", "1", "2"]
    worst = mc.procrustes(x, x**2, permutations=0).table()["residual"]
    assert (np.diff(worst) <= 0).all()


@pytest.mark.parametrize("centre", ["centroid", "median"])
def test_small_groups_do_not_look_tighter_in_many_dimensions(centre: str) -> None:
    """Half of all tests rejected: an individual draws the centre of a small group to itself."""
    rng, groups = np.random.default_rng(1), np.repeat(["a", "b"], (10, 30))
    p_values = [
        mc.dispersion(
            rng.normal(size=(40, 200)), groups, centre=centre, permutations=39, random_state=r
        ).p_value
        for r in range(20)
    ]
    assert np.sum(np.array(p_values, float) <= 0.05) <= 4


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_spread_is_compared_in_any_unit(scale: float) -> None:
    x, groups = np.random.default_rng(0).normal(size=(40, 3)), np.repeat(["a", "b"], 20)
    x[20:] *= 3
    plain, other = (mc.dispersion(x * s, groups, permutations=0) for s in (1.0, scale))
    assert other.f == pytest.approx(plain.f, rel=1e-9)


def test_what_cannot_be_grouped_is_refused() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="all individuals coincide"):
        mc.permanova(np.zeros((6, 2)), ["a"] * 3 + ["b"] * 3, permutations=9)
    x = np.random.default_rng(0).normal(size=(9, 2))
    with pytest.raises(mc.errors.InvalidInput, match="holds measured numbers such as"):
        mc.permanova(x, x[:, 0], permutations=9)
