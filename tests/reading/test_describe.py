"""The description of axes: its tests against scipy's, its sentences, its planes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import mercer as mc
from mercer.check import Array
from mercer.datasets import decathlon, iris
from mercer.reading.describe import trace_p_value
from mercer.reading.links import Scores
from mercer.resampling import adjusted_p_values, by_permutation


@pytest.fixture(scope="module")
def athletes() -> Any:
    table = decathlon()
    return mc.PCA(standardize=True).fit(table), table


def row(description: Any, **where: str) -> dict[str, Any]:
    """Return the one row of a description's table with these entries."""
    table = description.table()
    found = np.flatnonzero(np.all([table[name] == entry for name, entry in where.items()], axis=0))
    assert len(found) == 1
    return {name: table[name][found[0]] for name in table}


def test_correlations_and_their_p_values_are_those_of_pearson(athletes: Any) -> None:
    model, table = athletes
    description = mc.describe_axes(model, table)
    for name in ("100m", "Points", "Rank"):
        for axis in (1, 5):
            F = model.individuals_.coordinates[:, axis - 1]
            r, p = stats.pearsonr(table.column(name).values, F)
            found = row(description, axis=str(axis), variable=name)
            assert found["value"] == pytest.approx(r, abs=1e-12)
            assert found["p_value"] == pytest.approx(p, rel=1e-8)


def test_factors_are_tested_as_by_analysis_of_variance() -> None:
    table = iris()
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.5)).fit(table)
    description = mc.describe_axes(model, table)
    species = table.column("Species").values
    F = model.individuals_.coordinates
    for axis in range(3):
        groups = [F[species == level, axis] for level in np.unique(species)]
        expected = stats.f_oneway(*groups)
        found = row(description, axis=str(axis + 1), variable="Species", category="")
        assert found["p_value"] == pytest.approx(expected.pvalue, rel=1e-6)
        within = sum(np.sum((g - g.mean()) ** 2) for g in groups)
        assert found["value"] == pytest.approx(1 - within / np.sum(F[:, axis] ** 2), abs=1e-12)


def test_categories_have_the_v_tests_of_supplementary_ones(athletes: Any) -> None:
    model, table = athletes
    labels = table.column("Competition").values
    expected = model.supplementary(categories={"Competition": labels}).categories
    description = mc.describe_axes(model, table)
    for level, v in zip(expected.levels, expected.v_test, strict=True):
        found = row(description, axis="2", variable="Competition", category=level)
        assert found["value"] == pytest.approx(v[1], abs=1e-12)
        assert found["p_value"] == pytest.approx(2 * stats.norm.sf(abs(v[1])), rel=1e-10)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12))
def test_corrections_are_ordered_and_keep_the_order(given_values: list[float]) -> None:
    p = np.array(given_values)
    holm, hochberg = adjusted_p_values(p, "holm"), adjusted_p_values(p, "benjamini-hochberg")
    assert np.all(p <= hochberg + 1e-15)
    assert np.all(hochberg <= holm + 1e-15)
    assert np.all(holm <= np.minimum(1.0, len(p) * p) + 1e-15)
    np.testing.assert_allclose(hochberg, stats.false_discovery_control(p), atol=1e-15)
    order = np.argsort(p)
    assert np.all(np.diff(holm[order]) >= 0)
    assert adjusted_p_values(p, None) is p


def test_many_active_variables_do_not_hide_a_factor_that_did_not_make_the_axes() -> None:
    rng = np.random.default_rng(0)
    side = np.repeat(["low", "high"], 12)
    X = rng.standard_normal((24, 300)) + 0.35 * (side == "low")[:, None]
    model = mc.PCA(1).fit(X)
    names = dict(zip(model.data_names.columns, X.T, strict=True))
    alone, among = (
        mc.describe_axes(model, table) for table in ({"side": side}, {"side": side} | names)
    )
    found = [row(d, axis="1", variable="side", category="") for d in (alone, among)]
    assert found[0]["corrected_p_value"] == found[1]["corrected_p_value"] < 0.05


def test_holm_by_hand() -> None:
    p = np.array([0.04, 0.01, 0.03, 0.005])
    np.testing.assert_allclose(adjusted_p_values(p, "holm"), [0.06, 0.03, 0.06, 0.02])


def _uniform(p: Array, failure: float) -> None:
    """Assert that p-values are uniform; if they are, this fails with the probability given."""
    bound = np.sqrt(np.log(2.0 / failure) / (2.0 * len(p)))  # Dvoretzky, Kiefer, Wolfowitz, Massart
    assert stats.kstest(p, "uniform").statistic <= bound


def test_p_values_of_noise_are_uniform_also_on_planes() -> None:
    rng = np.random.default_rng(1)
    square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]] * 10)
    model = mc.PCA().fit(square)
    noise = {f"x{j}": rng.standard_normal(40) for j in range(400)}
    labels = {f"g{j}": rng.choice(list("abc"), 40) for j in range(400)}
    description = mc.describe_axes(model, noise | labels)
    table = description.table()
    assert set(table["axis"]) == {"1-2"}
    _uniform(table["p_value"][table["measure"] == "correlation"].astype(float), 1e-6)
    _uniform(table["p_value"][table["measure"] == "eta2"].astype(float), 1e-6)


def test_a_degenerate_pair_is_described_as_a_plane() -> None:
    rng = np.random.default_rng(0)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]] * 6)
    other = {"u": square @ [0.3, 0.7] + 0.1 * rng.standard_normal(24), "g": list("abcd") * 6}
    plain, turned = (mc.describe_axes(mc.PCA().fit(square @ by), other) for by in (np.eye(2), turn))
    assert [axis.axes for axis in plain.axes] == [(1, 2)]
    assert "plane" in plain.axes[0].sentences[0]
    assert "R = " in plain.axes[0].sentences[1]
    np.testing.assert_allclose(
        plain.table()["value"].astype(float), turned.table()["value"].astype(float), rtol=1e-9
    )
    np.testing.assert_allclose(
        plain.table()["p_value"].astype(float),
        turned.table()["p_value"].astype(float),
        1e-6,
        1e-300,
    )


def test_a_plane_and_a_column_with_holes_have_a_multiple_correlation() -> None:
    rng = np.random.default_rng(6)
    square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]] * 6)
    z = square @ [1.0, 0.5] + rng.standard_normal(24)
    z[[0, 1, 4, 5, 8, 12, 13]] = np.nan  # among the others the two axes are correlated
    model = mc.PCA().fit(square)
    found = row(mc.describe_axes(model, {"z": z}), variable="z")
    known = np.isfinite(z)
    design = np.column_stack([np.ones(known.sum()), model.individuals_.coordinates[known]])
    residual = z[known] - design @ np.linalg.lstsq(design, z[known])[0]
    R2 = 1.0 - np.sum(residual**2) / np.sum((z[known] - z[known].mean()) ** 2)
    assert found["value"] == pytest.approx(np.sqrt(R2), abs=1e-12)
    F = R2 / 2 / ((1 - R2) / (known.sum() - 3))
    assert found["p_value"] == pytest.approx(stats.f.sf(F, 2, known.sum() - 3), rel=1e-9)


def test_pillai_is_that_of_a_multivariate_analysis() -> None:
    # R: summary(manova(cbind(y1, y2) ~ g), test = "Pillai") has F = V/(s - V) * (2n+s+1)/(2m+s+1).
    p, q, v, V = 2, 3, 36, 0.4
    s, m, n = 2, 0.0, (v - p - 1) / 2
    F = V / (s - V) * (2 * n + s + 1) / (2 * m + s + 1)
    expected = stats.f.sf(F, s * (2 * m + s + 1), s * (2 * n + s + 1))
    assert trace_p_value(V, p, q, v) == pytest.approx(expected, rel=1e-12)


def test_weight_two_is_a_row_repeated_but_proves_less_than_two_individuals() -> None:
    rng = np.random.default_rng(2)
    X, z = rng.standard_normal((12, 3)), rng.standard_normal(12)
    weights = np.array([2.0] * 3 + [1.0] * 9)
    twice = np.r_[0:3, 0:12]
    weighted = mc.describe_axes(mc.PCA().fit(X, sample_weight=weights), {"z": z})
    repeated = mc.describe_axes(mc.PCA().fit(X[twice]), {"z": z[twice]})
    r = float(weighted.table()["value"][0])
    assert r == pytest.approx(float(repeated.table()["value"][0]), abs=1e-12)
    F, w = repeated_scores(X, twice), weights / weights.sum()
    rest = np.sum(w * F**2) / np.sum(w**2 * F**2) - 2.0
    t = r * np.sqrt(rest / (1 - r**2))
    assert weighted.table()["p_value"][0] == pytest.approx(2 * stats.t.sf(abs(t), rest), rel=1e-9)


def repeated_scores(X: Array, rows: Array) -> Array:
    """Return the first axis of repeated rows, at the rows themselves."""
    scores: Array = mc.PCA().fit(X[rows]).transform(X)[:, 0]
    return scores


def test_p_values_are_uniform_where_weights_are_unequal() -> None:
    rng = np.random.default_rng(8)
    n = 60
    weights = np.r_[np.full(20, 8.0), np.ones(40)]
    model = mc.PCA(2).fit(rng.standard_normal((n, 4)), sample_weight=rng.permutation(weights))
    noise = {f"x{j}": rng.standard_normal(n) for j in range(300)}
    labels = {f"g{j}": rng.permutation(list("abc") * 20) for j in range(300)}
    table = mc.describe_axes(model, noise | labels).table()
    for axis in ("1", "2"):
        for measure in ("correlation", "eta2"):
            here = (table["axis"] == axis) & (table["measure"] == measure)
            _uniform(table["p_value"][here].astype(float), 1e-6)
        first = (table["axis"] == axis) & (table["category"] == "a")
        _uniform(table["p_value"][first].astype(float), 1e-6)


def test_few_members_prove_little() -> None:
    outlier = np.r_[100.0, np.linspace(-1.0, 1.0, 19)]
    model = mc.PCA(1).fit(np.column_stack([outlier, np.cos(outlier)]))
    found = mc.describe_axes(model, {"g": ["far"] + ["near"] * 19})
    assert row(found, category="far")["p_value"] == pytest.approx(1 / 20)
    assert abs(row(found, category="far")["value"]) > 4.0


def test_individuals_without_weight_are_not_tested() -> None:
    rng = np.random.default_rng(3)
    X, z = rng.standard_normal((20, 3)), rng.standard_normal(20)
    g = np.array(["a", "b"] * 9 + ["c", "c"])
    model = mc.PCA().fit(X, sample_weight=[1.0] * 18 + [0.0] * 2)
    some = mc.describe_axes(model, {"z": z, "g": g}).table()
    few = mc.describe_axes(mc.PCA().fit(X[:18]), {"z": z[:18], "g": g[:18]}).table()
    for name in ("value", "p_value"):
        np.testing.assert_allclose(some[name].astype(float), few[name].astype(float), rtol=1e-9)


def test_sentences_of_the_athletes(athletes: Any) -> None:
    model, table = athletes
    description = mc.describe_axes(model, table)
    assert description.axes[0].title == "Axis 1 (33 % of the inertia)"
    assert description.axes[2].sentences == (
        "It rises with 1500m (r = 0.782) and Pole.vault (r = 0.692).",
        "Not linked with it beyond chance: Competition (2.8 % of its variance).",
    )
    text = str(description)
    assert "Points (supplementary, r = 0.956)" in text
    assert "r: correlation with the axis, from −1 to 1." in text
    assert (
        "(50 of variables that made the axes, and apart 25 of others) by the rule of Holm" in text
    )
    assert "left out" not in text  # names of rows are no variable


def test_permutations_hold_where_one_individual_makes_an_axis() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.r_[50.0, rng.standard_normal(79)], rng.standard_normal(80)])
    model = mc.PCA(1).fit(X)
    groups = np.array(["few"] * 4 + ["many"] * 76)  # the outlier and three others
    table = {"g": groups, "size": X[:, 0] + rng.standard_normal(80)}
    law = mc.describe_axes(model, table)
    drawn = mc.describe_axes(model, table, permutations=399, random_state=0)
    assert row(law, category="few")["p_value"] < 1e-4
    assert 0.01 < row(drawn, category="few")["p_value"] < 0.08  # four of eighty draw the outlier
    assert row(drawn, category="few")["value"] == row(law, category="few")["value"]
    assert row(drawn, variable="size")["corrected_p_value"] == 1 / 400
    assert "399 permutations of the individuals" in str(drawn)
    again = mc.describe_axes(model, table, permutations=399, random_state=0)
    assert str(again.table()) == str(drawn.table())


def test_permuted_p_values_are_shares_of_permutations() -> None:
    rng = np.random.default_rng(1)
    p, null = rng.random(6), rng.random((50, 6))
    alone, together = by_permutation(p, null)
    np.testing.assert_allclose(alone, (1 + (null <= p).sum(axis=0)) / 51)
    order, expected, worst = np.argsort(p), np.empty(6), 0.0
    for i, test in enumerate(order):
        least = null[:, order[i:]].min(axis=1)
        worst = max(worst, (1 + np.sum(least <= p[test])) / 51)
        expected[test] = worst
    np.testing.assert_allclose(together, expected)
    assert np.all(alone <= together)


def test_permutations_of_noise_seldom_find_a_link() -> None:
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model = mc.PCA(2).fit(rng.standard_t(2, (20, 3)), sample_weight=rng.exponential(size=20))
        z = rng.exponential(size=20)
        z[:5] = np.nan
        table = {"z": z, "g": rng.choice(list("abcd"), 20, p=[0.7, 0.1, 0.1, 0.1])}
        drawn = mc.describe_axes(model, table, permutations=19, random_state=seed).table()
        found += bool(np.any(drawn["corrected_p_value"].astype(float) <= 0.05))
    assert found <= 8  # of a binomial law with 40 and 0.05: beyond with probability 1e-4


def test_shuffled_individuals_keep_their_weights_and_passive_ones_their_places() -> None:
    X = np.arange(12.0).reshape(6, 2) ** 2
    scores = Scores.of(mc.PCA(1).fit(X, sample_weight=[1.0, 2.0, 3.0, 0.0, 5.0, 6.0]))
    moved = scores.shuffled(np.random.default_rng(0))
    before, after = (
        [(float(w), float(f)) for w, f in zip(s.weights, s.coordinates[:, 0], strict=True)]
        for s in (scores, moved)
    )
    assert sorted(before) == sorted(after) != before
    assert before[3] == after[3]
    assert before != after


def test_scores_that_are_alike_among_the_known_are_no_link() -> None:
    X = np.repeat([[0.0], [1.0]], [17, 3], axis=0)
    model = mc.PCA(1).fit(X)
    z = np.full(20, np.nan)
    z[[0, 1, 2, 19]] = [1.0, 2.0, 4.0, 3.0]
    found = mc.describe_axes(model, {"z": z}, permutations=19, random_state=0)
    assert 0.0 < row(found, variable="z")["p_value"] <= 1.0


def test_weak_links_are_named_where_they_did_not_make_the_axes() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 3)) * [3.0, 2.0, 1.0]
    model = mc.PCA(1).fit(X)
    F = model.individuals_.coordinates[:, 0]
    age = F / F.std() + 3.0 * rng.standard_normal(400)
    found = mc.describe_axes(model, {"x0": X[:, 0], "x2": X[:, 2], "age": age})
    r = row(found, variable="age")["value"]
    assert 0.2 < r < 0.5
    said = f"Linked with it beyond chance, yet weakly: age (supplementary, r = {r:.3g})."
    assert said in found.axes[0].sentences
    noise = mc.describe_axes(model, {"age": rng.standard_normal(400)})
    assert "weakly" not in str(noise)


def test_a_column_without_a_name_is_called_so() -> None:
    x = np.arange(12.0)
    model = mc.PCA(1).fit(np.column_stack([x, x**2]))
    text = str(mc.describe_axes(model, {"": [f"p{i}" for i in range(12)], "x": x}))
    assert "left out: a column without a name." in text
    assert "with a column without a name (r = " in str(mc.describe_axes(model, {"": x}))


def test_factors_that_made_the_axes_are_active() -> None:
    rng = np.random.default_rng(0)
    columns = {"x": rng.standard_normal(12), "kind": list("aabb") * 3, "beside": list("uvw") * 4}
    kernel = mc.Columns({"x": mc.Linear(), "kind": mc.kernels.Category()})
    model = mc.KernelPCA(2, kernel=kernel).fit(columns)
    description = mc.describe_axes(model, columns)
    is_active = {link.variable: link.is_active for link in description.axes[0].links}
    assert is_active == {"x": True, "kind": True, "beside": False}


def test_blocks_of_numbers_are_described_by_their_columns() -> None:
    rng = np.random.default_rng(3)
    genes, age = rng.standard_normal((30, 2)), rng.standard_normal(30)
    kernel = mc.Columns({"genes": mc.Linear()})
    model = mc.KernelPCA(2, kernel=kernel).fit({"genes": genes})
    found = mc.describe_axes(model, {"genes": genes, "age": age})
    links = {link.variable: link for link in found.axes[0].links}
    assert list(links) == ["genes[0]", "genes[1]", "age"]
    F = model.individuals_.coordinates[:, 0]
    for name, column in (("genes[1]", genes[:, 1]), ("age", age)):
        assert links[name].value == pytest.approx(stats.pearsonr(column, F)[0], abs=1e-12)
    assert [links[name].is_active for name in links] == [True, True, False]


def test_what_cannot_be_tested_is_said() -> None:
    x = np.arange(12.0)
    model = mc.PCA(1).fit(np.column_stack([x, x**2]))
    holes = x.copy()
    holes[[1, 5]] = np.nan
    description = mc.describe_axes(
        model,
        {
            "same": np.ones(12),
            "some": holes,
            "none": np.full(12, np.nan),
            "two": np.r_[1.0, 2.0, np.full(10, np.nan)],
            "who": [f"p{i}" for i in range(12)],
            "kind": ["a", None] * 6,
            "blank": [None] * 12,
        },
    )
    text = str(description)
    assert "The same for everyone, and left out: same." in text
    assert "Known for too few individuals, and left out: none, two and blank." in text
    assert "known only: some" in text
    assert "Different for everyone, and left out: who." in text
    known = np.isfinite(holes)
    expected = stats.pearsonr(holes[known], model.individuals_.coordinates[known, 0])
    found = row(description, variable="some")
    assert found["p_value"] == pytest.approx(expected.pvalue, rel=1e-6)
    assert "(missing)" in description.table()["category"]


def test_an_axis_whose_twin_was_not_computed_is_named() -> None:
    square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    with pytest.warns(mc.errors.DegenerateAxes):
        model = mc.PCA(1).fit(square)
    assert "ask for one more" in mc.describe_axes(model, {"u": square[:, 0]}).axes[0].sentences[0]


def test_data_frames_mappings_tables_and_arrays_are_read_alike() -> None:
    table = iris()
    model = mc.PCA(2).fit(table)
    expected = mc.describe_axes(model, table).table()
    for given_table in (table.frame("pandas"), table.frame("polars")):
        found = mc.describe_axes(model, given_table)
        assert type(found.table()).__module__.startswith(("pandas", "polars"))
        np.testing.assert_allclose(
            np.asarray(found.table()["value"], float), expected["value"].astype(float)
        )
    columns = {c.name: c.values for c in table.columns()}
    assert str(mc.describe_axes(model, columns)) == str(mc.describe_axes(model, table))
    own = mc.describe_axes(model).table()
    np.testing.assert_allclose(
        own["value"].astype(float), mc.describe_axes(model, table.matrix()).table()["value"]
    )


def test_maps_of_distances_are_described_too() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((15, 2)) * [3.0, 1.0]
    model = mc.ClassicalMDS(2, metric="euclidean").fit(X)
    description = mc.describe_axes(model, {"u": X[:, 0]})
    assert description.axes[0].title == "Axis 1"
    assert abs(float(description.table()["value"][0])) > 0.95


def test_models_without_variables_ask_for_a_table() -> None:
    model = mc.KernelPCA(1, kernel=mc.kernels.Intersection(frozenset("abc"))).fit(
        [{"a"}, {"a", "b"}, {"c"}]
    )
    with pytest.raises(mc.errors.InvalidInput, match="give describe_axes a table"):
        mc.describe_axes(model)
    with pytest.raises(mc.errors.InvalidInput, match="2 rows and the model 3"):
        mc.describe_axes(model, {"u": [1.0, 2.0]})
    with pytest.raises(mc.errors.InvalidParameter, match="correction"):
        mc.describe_axes(model, {"u": [1.0, 2.0, 4.0]}, correction="bonferroni")
    with pytest.raises(mc.errors.InvalidParameter, match="did you mean level=0.05"):
        mc.describe_axes(model, {"u": [1.0, 2.0, 4.0]}, level=5)
    with pytest.raises(mc.errors.InvalidInput, match="str has no individuals"):
        mc.describe_axes("model")
    assert len(mc.describe_axes(model, {"u": [1.0, 2.0, 4.0]}).axes) == 1


def test_of_many_factors_the_strongest_are_told_and_the_others_counted() -> None:
    rng = np.random.default_rng(8)
    hidden = rng.normal(size=200)
    noise = np.linspace(0.2, 2.0, 12)
    table = {
        f"f{k}": np.where(hidden + s * rng.normal(size=200) > 0, "h", "l")
        for k, s in enumerate(noise)
    }
    axis = mc.describe_axes(mc.MCA(2).fit(table), table).axes[0]
    factors = [s for s in axis.sentences if "accounts for" in s]
    assert len(factors) == 3
    assert factors[0].startswith("f0 accounts for")
    further = next(s for s in axis.sentences if s.startswith("Less, yet beyond chance: "))
    assert "more" in further


def test_weights_that_count_are_tests_of_those_who_were_counted() -> None:
    rng = np.random.default_rng(0)
    seen = np.array([3, 9, 2, 7, 5, 0, 1, 4])
    table = {
        "size": rng.normal(size=8),
        "age": rng.normal(size=8),
        "half": np.array(list("aabbabab"), dtype=object),
        "beside": rng.normal(size=8),
    }
    each = {name: np.repeat(column, seen) for name, column in table.items()}
    x, people = (np.column_stack([t["size"], t["age"]]) for t in (table, each))
    rows = mc.describe_axes(
        mc.PCA().fit(x, sample_weight=seen), table, counted=int(seen.sum()), correction=None
    ).table()
    persons = mc.describe_axes(mc.PCA().fit(people), each, correction=None).table()
    assert np.allclose(rows["value"], persons["value"], atol=1e-10)
    assert np.allclose(rows["p_value"], persons["p_value"], rtol=1e-8)
    drawn = mc.describe_axes(
        mc.PCA().fit(x, sample_weight=seen),
        table,
        counted=int(seen.sum()),
        correction=None,
        permutations=199,
        random_state=0,
    ).table()
    again = mc.describe_axes(
        mc.PCA().fit(people), each, correction=None, permutations=199, random_state=0
    ).table()
    assert np.allclose(drawn["p_value"], again["p_value"], atol=1e-12)
    with pytest.raises(mc.errors.InvalidParameter, match="counted"):
        mc.describe_axes(mc.PCA().fit(x), table, counted=0)
