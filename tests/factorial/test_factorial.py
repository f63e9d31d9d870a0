"""Correspondence analysis and its kin, against FactoMineR and against the laws that bind them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone

import mercer as mc
from mercer.check import Array
from mercer.errors import InvalidInput, InvalidParameter, NotAvailable, ReadingWarning
from tests.references import FOLDER
from tests.strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateAxes")

REFERENCE = FOLDER
CLOSE = 1e-10


def reference(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    found = json.loads((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))
    return found, found["result"]


def wine(name: str) -> tuple[pd.DataFrame, dict[str, Any], dict[str, Any]]:
    found, result = reference(name)
    table = pd.DataFrame(found["table"], index=found.get("rows"))[found["columns"]]
    return table, found, result


def assert_same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=0, atol=CLOSE)


def assert_same_axes(found: Any, expected: Any) -> None:
    """Compare columns up to one sign each."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert_same(found * np.sign(np.sum(found * expected, axis=0)), expected)


def are_apart(model: Any) -> bool:
    """Whether each axis that was kept can be told from the others."""
    return all(min(cluster) >= len(model.inertias_) for cluster in model.spectrum_.clusters)


def matching(categories: mc.reading.Categories, names: list[str]) -> list[int]:
    return [categories.levels.index(name) for name in names]


@pytest.fixture(scope="module")
def children() -> tuple[mc.CA, pd.DataFrame, dict[str, Any]]:
    found, result = reference("ca_children")
    counts = pd.DataFrame(found["N"], index=found["rows"], columns=found["columns"])
    return mc.CA().fit(counts.iloc[:14, :5]), counts, result


def test_correspondence_analysis_is_that_of_factominer(
    children: tuple[mc.CA, pd.DataFrame, dict[str, Any]],
) -> None:
    model, _, expected = children
    assert_same(model.inertias_, expected["eigenvalues"])
    for found, of in ((model.rows_, expected["row"]), (model.columns_, expected["col"])):
        assert list(found.labels) == of["names"]
        assert_same_axes(found.coordinates, of["coord"])
        assert_same(found.cos2, of["cos2"])
        assert_same(100 * found.contributions, of["contrib_percent"])


def test_supplementary_rows_and_columns_are_those_of_factominer(
    children: tuple[mc.CA, pd.DataFrame, dict[str, Any]],
) -> None:
    model, counts, expected = children
    rows = model.supplementary(individuals=counts.iloc[14:, :5]).individuals
    assert rows is not None
    columns = model.supplementary_columns(counts.iloc[:14, 5:])
    for found, of in ((rows, expected["row_sup"]), (columns, expected["col_sup"])):
        assert list(found.labels) == of["names"]
        assert_same_axes(found.coordinates, of["coord"])
        assert_same(found.cos2, of["cos2"])
    assert np.all(columns.contributions == 0)


def test_the_inertia_of_a_table_of_counts_is_chi_square_over_their_number(
    children: tuple[mc.CA, pd.DataFrame, dict[str, Any]],
) -> None:
    from scipy.stats import chi2_contingency

    model, counts, _ = children
    active = counts.iloc[:14, :5].to_numpy()
    assert model.inertia_ == pytest.approx(chi2_contingency(active).statistic / active.sum())


def test_multiple_correspondence_analysis_is_that_of_factominer() -> None:
    table, _, expected = wine("mca_poison")
    assert_same(mc.MCA().fit(table.iloc[:, 4:]).inertias_, expected["eigenvalues"])
    model = mc.MCA(5).fit(table.iloc[:, 4:])
    assert_same_axes(model.individuals_.coordinates, expected["ind"]["coord"])
    assert_same(model.individuals_.cos2, expected["ind"]["cos2"])
    assert_same(100 * model.individuals_.contributions, expected["ind"]["contrib_percent"])
    found, of = model.categories_, expected["var"]
    order = matching(found, of["names"])
    assert_same_axes(found.coordinates[order], of["coord"])
    assert_same(found.cos2[order], of["cos2"])
    assert_same_axes(found.v_test[order], of["v_test"])
    assert_same(100 * found.contributions[order], of["contrib_percent"])
    assert list(found.variables) == expected["eta2_names"]
    assert_same(found.eta2, of["eta2"])
    assert_same(model.links_.coordinates, of["eta2"])


def test_what_is_supplementary_to_it_is_too() -> None:
    table, _, expected = wine("mca_poison")
    model = mc.MCA(5).fit(table.iloc[:, 4:])
    placed = model.supplementary(variables=table.iloc[:, :2], categories=table.iloc[:, 2:4])
    found, of = placed.categories, expected["quali_sup"]
    assert found is not None
    assert placed.variables is not None
    order = matching(found, of["names"])
    assert_same_axes(found.coordinates[order], of["coord"])
    assert_same(found.cos2[order], of["cos2"])
    assert_same_axes(found.v_test[order], of["v_test"])
    assert_same(found.eta2, of["eta2"])
    assert_same_axes(placed.variables.correlations, expected["quanti_sup"]["coord"])


def test_factor_analysis_of_mixed_data_is_that_of_factominer() -> None:
    table, _, expected = wine("famd_wine")
    model = mc.FAMD(5).fit(table)
    assert_same(model.inertias_, expected["eigenvalues"])
    assert_same_axes(model.individuals_.coordinates, expected["ind"]["coord"])
    assert_same(model.individuals_.cos2, expected["ind"]["cos2"])
    links, of = model.links_, expected["var"]
    order = [links.names.index(name) for name in of["names"]]
    assert_same(links.coordinates[order], of["coord"])
    assert_same(links.cos2[order], of["cos2"])
    assert_same(100 * links.contributions[order], of["contrib_percent"])
    numbers, of = model.variables_, expected["quanti"]
    assert list(numbers.names) == of["names"]
    assert_same_axes(numbers.coordinates, of["coord"])
    assert_same(numbers.cos2, of["cos2"])
    assert_same(100 * numbers.contributions, of["contrib_percent"])
    found, of = model.categories_, expected["quali"]
    order = matching(found, of["names"])
    assert_same_axes(found.coordinates[order], of["coord"])
    assert_same(found.cos2[order], of["cos2"])
    assert_same_axes(found.v_test[order], of["v_test"])
    assert_same(100 * found.contributions[order], of["contrib_percent"])


NAMES = ("orig", "olf", "vis", "olfag", "gust", "ens")


def test_multiple_factor_analysis_is_that_of_factominer() -> None:
    table, given, expected = wine("mfa_wine")
    cuts = np.cumsum([0, *given["groups"]])
    spans = zip(NAMES, cuts[:-1], cuts[1:], strict=True)
    groups = {name: given["columns"][a:b] for name, a, b in spans}
    settings: dict[str, Any] = {"groups": groups, "supplementary_groups": ("orig", "ens")}
    assert_same(mc.MFA(**settings).fit(table).inertias_, expected["eigenvalues"])
    model = mc.MFA(5, **settings).fit(table)
    assert_same_axes(model.individuals_.coordinates, expected["ind"]["coord"])
    assert_same(model.individuals_.cos2, expected["ind"]["cos2"])
    partial = np.stack([model.partial_[name] for name in NAMES[1:5]], axis=1).reshape(-1, 5)
    assert_same_axes(partial, expected["partial"]["coord"])
    found, of = model.groups_, expected["group"]
    active = [found.names.index(name) for name in of["names"]]
    assert_same(found.coordinates[active], of["coord"])
    assert_same(100 * found.contributions[active], of["contrib_percent"])
    assert_same(found.cos2[active], of["cos2"])
    assert_same(found.similarities, of["Lg"])
    assert_same(found.rv, of["RV"])
    alone = expected["separate_eigenvalues"]
    assert_same(found.first_inertias, [alone[name][0] for name in NAMES])
    numbers, of = model.variables_, expected["quanti"]
    assert list(numbers.names) == of["names"]
    assert_same_axes(numbers.coordinates, of["coord"])
    assert_same(100 * numbers.contributions, of["contrib_percent"])


def some_table(seed: int, n: int = 14) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    labels = {q: [str(v) for v in rng.choice(list(q), n)] for q in ("ab", "cde", "fg")}
    labels = {q: [*q, *v[len(q) :]] for q, v in labels.items()}  # each level occurs
    return {"size": rng.normal(5.0, 2.0, n), "age": rng.gamma(2.0, 3.0, n), **labels}


SEEDS = st.integers(0, 10**6)
GROUPS = {"numbers": ["size", "age"], "labels": ["ab", "cde", "fg"]}


@examples(50)
@given(SEEDS, st.sampled_from(["CA", "MCA", "FAMD", "MFA"]), st.booleans())
def test_each_is_the_kernel_pca_of_its_kernel(seed: int, which: str, is_weighted: bool) -> None:
    table = some_table(seed)
    weights = np.random.default_rng(seed).gamma(2.0, 1.0, 14) if is_weighted else np.ones(14)
    data: Any = table
    if which == "CA":
        data = np.random.default_rng(seed).poisson(4.0, (14, 4)) + 1.0
        model: Any = mc.CA()
    elif which == "MCA":
        data = {q: v for q, v in table.items() if q in GROUPS["labels"]}
        model = mc.MCA()
    else:
        model = mc.FAMD() if which == "FAMD" else mc.MFA(groups=GROUPS)
    model.fit(data, sample_weight=weights)
    other = mc.KernelPCA(len(model.inertias_), kernel=model.kernel_, method="dense")
    other.fit(data, sample_weight=model.weights_)
    np.testing.assert_allclose(other.inertias_, model.inertias_, rtol=1e-8, atol=1e-12)
    assert other.inertia_ == pytest.approx(model.inertia_)
    mine, its = model.individuals_.coordinates, other.individuals_.coordinates
    np.testing.assert_allclose(mine @ mine.T, its @ its.T, atol=1e-8 * np.abs(its).max() ** 2)
    np.testing.assert_allclose(model.transform(data), mine, atol=1e-9 * np.abs(mine).max())


def levels(seed: int, count: int, n: int) -> list[str]:
    rng = np.random.default_rng(seed + count)
    return [f"l{i}" for i in rng.permutation([*range(count), *rng.integers(0, count, n - count)])]


@examples(50)
@given(SEEDS, st.sampled_from(["no", "some", "all"]), st.booleans())
def test_the_kernel_of_a_table_is_factor_analysis_of_mixed_data(
    seed: int, which: str, is_weighted: bool
) -> None:
    """`Columns()` of factors of 2, 3, 5 and 12 levels and of numbers, one without the other too."""
    rng, n = np.random.default_rng(seed), 60
    table: dict[str, Any] = {"size": rng.normal(5.0, 2.0, n), "age": rng.gamma(2.0, 3.0, n)}
    factors = {f"of {m}": levels(seed, m, n) for m in (2, 3, 5, 12)}
    table = factors if which == "all" else table if which == "no" else {**table, **factors}
    weights = rng.gamma(2.0, 1.0, n) * (np.arange(n) >= 5 * (which == "no"))
    weights = weights if is_weighted else np.ones(n)
    expected = mc.FAMD(2).fit(table, sample_weight=weights)
    model = mc.KernelPCA(2, kernel=mc.Columns(), method="dense").fit(table, sample_weight=weights)
    assume(are_apart(expected))
    assert_same(model.inertias_, expected.inertias_)
    assert model.inertia_ == pytest.approx(expected.inertia_, abs=CLOSE)
    assert_same_axes(model.individuals_.coordinates, expected.individuals_.coordinates)
    supplementary = {name: column[::-1][:9] for name, column in table.items()}
    assert_same_axes(model.transform(supplementary), expected.transform(supplementary))
    if which == "all":
        coded = mc.MCA(2).fit(table, sample_weight=weights)
        assert_same(model.inertias_, len(factors) * coded.inertias_)
    if which == "no":
        plain = mc.PCA(2, standardize=True)
        plain.fit(np.column_stack(list(table.values())), sample_weight=weights)
        assert_same(model.inertias_, plain.inertias_)


def test_the_kernel_of_a_table_is_that_of_factominer() -> None:
    table, _, expected = wine("famd_wine")
    model = mc.KernelPCA(5, kernel="columns()").fit(table)
    assert_same(model.inertias_, np.asarray(expected["eigenvalues"])[:5])
    assert_same_axes(model.individuals_.coordinates, expected["ind"]["coord"])


@examples(50)
@given(SEEDS)
def test_rows_and_columns_of_a_transposed_table_change_places(seed: int) -> None:
    counts = np.random.default_rng(seed).poisson(5.0, (7, 5)) + 1.0
    model, other = mc.CA().fit(counts), mc.CA().fit(counts.T)
    assume(are_apart(model))
    assert_same(model.inertias_, other.inertias_)
    assert_same(np.abs(model.rows_.coordinates), np.abs(other.columns_.coordinates))
    assert_same(model.columns_.cos2, other.rows_.cos2)
    assert_same(model.columns_.contributions, other.rows_.contributions)
    assert_same(model.columns_.distances, other.rows_.distances)


@examples(50)
@given(SEEDS)
def test_multiple_correspondence_is_correspondence_of_the_indicators(seed: int) -> None:
    table = {q: v for q, v in some_table(seed).items() if q in GROUPS["labels"]}
    model = mc.MCA().fit(table)
    assume(are_apart(model))
    indicators = pd.get_dummies(pd.DataFrame(table)).astype(float)
    other = mc.CA(len(model.inertias_)).fit(indicators)
    assert_same(model.inertias_, other.inertias_)
    assert_same(np.abs(model.individuals_.coordinates), np.abs(other.rows_.coordinates))
    assert_same(np.abs(model.categories_.coordinates), np.abs(other.columns_.coordinates))
    assert_same(model.categories_.contributions, other.columns_.contributions)
    assert model.inertia_ == pytest.approx(indicators.shape[1] / 3 - 1)


@examples(50)
@given(SEEDS)
def test_the_members_of_the_family_meet(seed: int) -> None:
    table = some_table(seed)
    numbers = {n: table[n] for n in GROUPS["numbers"]}
    labels = {n: table[n] for n in GROUPS["labels"]}
    plain = mc.PCA(standardize=True).fit(np.column_stack(list(numbers.values())))
    mixed = mc.FAMD().fit(numbers)
    assert_same(mixed.inertias_, plain.inertias_)
    assert_same(np.abs(mixed.variables_.coordinates), np.abs(plain.variables_.coordinates))
    coded = mc.MCA().fit(labels)
    assume(are_apart(coded))
    assert_same(mc.FAMD().fit(labels).inertias_, 3 * coded.inertias_)
    for part, alone in ((numbers, plain), (labels, coded)):
        grouped = mc.MFA(groups={"all": list(part)}).fit(part)
        assert_same(grouped.inertias_, alone.inertias_ / alone.inertias_[0])
        assert_same(grouped.groups_.coordinates[:, 0], [1.0])
    assert mc.FAMD().fit(table).inertia_ == pytest.approx(2 + 7 - 3)


@examples(50)
@given(SEEDS)
def test_a_weight_is_a_number_of_equal_individuals(seed: int) -> None:
    table = pd.DataFrame(some_table(seed))
    counts = np.random.default_rng(seed).integers(1, 4, len(table))
    repeated = table.loc[np.repeat(table.index, counts)].reset_index(drop=True)
    for model in (mc.FAMD(2), mc.MFA(2, groups=GROUPS)):
        weighted, plain = clone(model).fit(table, sample_weight=counts), clone(model).fit(repeated)
        assume(are_apart(weighted))
        assert_same(weighted.inertias_, plain.inertias_)
        assert_same(np.abs(weighted.links_.coordinates), np.abs(plain.links_.coordinates))
        assert_same(np.abs(weighted.transform(table)), np.abs(plain.transform(table)))


HAIR = np.array([[68, 119, 26, 7], [20, 84, 17, 94], [15, 54, 14, 10], [5, 29, 14, 16]], float)


def test_rows_of_counts_weigh_by_their_totals_once() -> None:
    model = mc.CA().fit(HAIR)
    assert_same(model.without([3]).inertias_, mc.CA().fit(HAIR[:3]).inertias_)
    assert_same(model.singular_values_, np.sqrt(model.inertias_))
    found = mc.bootstrap(model, replicates=20, random_state=0)
    assert_same(found.inertias, model.inertias_[: len(found.inertias)])


def test_columns_that_decide_weights_are_not_permuted() -> None:
    with pytest.raises(InvalidParameter, match="cannot be permuted alone"):
        mc.permutation_importance(mc.CA().fit(HAIR), permutations=9)


def test_columns_are_placed_by_rows_as_often_as_these_are_counted() -> None:
    model = mc.CA().fit(HAIR, sample_weight=[2, 1, 1, 1])
    again = model.supplementary_columns(HAIR)
    assert_same(again.coordinates, model.columns_.coordinates)
    assert_same(again.distances, model.columns_.distances)
    model = mc.CA().fit(np.vstack([HAIR, [1, 2, 3, 4]]), sample_weight=[1, 1, 1, 1, 0])
    assert_same(model.columns_.coordinates, mc.CA().fit(HAIR).columns_.coordinates)
    with pytest.raises(InvalidInput, match="'a' must hold counts"):
        model.supplementary_columns({"a": [0, 0, 0, 0, 5.0]})


def test_large_codes_are_different_categories() -> None:
    table = pd.DataFrame({"a": [1000001, 1000002, 1000003, 1000001], "b": list("xyxy")})
    assert mc.MCA().fit(table).inertia_ == pytest.approx(1.5)
    holes = {"a": np.array([1.0, np.nan, 2.0, 1.0]), "b": list("xyxy")}
    with pytest.raises(InvalidInput, match="'a' has no label in row 1"):
        mc.MCA().fit(holes)
    assert mc.MCA(missing="level").fit(holes).categories_.levels[:3] == ("(missing)", "1", "2")
    with pytest.raises(InvalidInput, match="not whole"):
        mc.MCA().fit({"a": np.array([1.0, np.inf, 2.0, 1.0]), "b": list("xyxy")})


def test_links_of_numbers_in_their_units_are_squared_correlations() -> None:
    table = some_table(4)
    model = mc.MFA(3, groups=GROUPS, unscaled=["numbers"]).fit(table | {"age": 7 * table["age"]})
    links = model.links_
    places = [links.names.index(name) for name in GROUPS["numbers"]]
    assert_same(links.coordinates[places], model.variables_.correlations**2)
    assert_same(links.contributions.sum(axis=0), np.ones(3))


def test_axes_of_the_family_can_be_counted_and_reported(tmp_path: Path) -> None:
    table = pd.DataFrame(some_table(6, 30))
    for model in (
        mc.MCA(3).fit(table[GROUPS["labels"]]),
        mc.FAMD(3).fit(table),
        mc.MFA(3, groups=GROUPS).fit(table),
    ):
        kept = mc.parallel_analysis(model, 19, random_state=0)
        assert np.all(kept.p_values > 0)
        assert mc.report(model, tmp_path / "page.html").stat().st_size > 10_000
        with pytest.raises((NotAvailable, mc.errors.NotDifferentiable)):
            mc.axis_slopes(model)
    counts = mc.CA().fit(HAIR)
    with pytest.raises(NotAvailable, match="straight in the features"):
        mc.axis_slopes(counts)
    with pytest.raises(InvalidInput, match="CA weighs rows by their totals"):
        mc.parallel_analysis(counts, 19)
    assert mc.report(counts, tmp_path / "page.html").stat().st_size > 10_000


def test_categories_of_numbers_are_categories() -> None:
    table = pd.DataFrame({"c": pd.Categorical([1, 2, 3, 1, 2, 3]), "n": [1.0, 2, 3, 4, 5, 9]})
    for frame in (table, table.assign(c=table["c"].cat.as_ordered())):
        assert mc.FAMD().fit(frame).inertia_ == pytest.approx(3.0)


def test_axes_of_a_mixed_table_are_described_by_all_its_columns() -> None:
    table = some_table(8, 40)
    model = mc.FAMD(1).fit(table)
    words = str(mc.describe_axes(model, permutations=None))
    name = max(
        GROUPS["labels"], key=lambda q: model.links_.coordinates[model.links_.names.index(q)]
    )
    assert f"{name} accounts for" in words


def test_constant_groups_are_refused_by_name() -> None:
    table = {"a": list("xxx"), "size": [1.0, 2.0, 4.0]}
    with pytest.raises(InvalidInput, match="group 'q' has the inertia 0"):
        mc.MFA(groups={"q": ["a"], "s": ["size"]}).fit(table)
    with pytest.raises(InvalidParameter, match="list of names"):
        mc.MFA(groups={"s": ["size"]}, supplementary_groups="s").fit(table)


def test_columns_add_up_to_axes() -> None:
    table = some_table(3)
    for model in (mc.FAMD(3).fit(table), mc.MFA(3, groups=GROUPS).fit(table)):
        assert_same(model.links_.contributions.sum(axis=0), np.ones(3))
        both = model.variables_.contributions.sum(axis=0)
        assert_same(both + model.categories_.contributions.sum(axis=0), np.ones(3))
    assert_same(model.groups_.contributions.sum(axis=0), np.ones(3))
    assert_same(sum(model.partial_.values()) / 2, model.individuals_.coordinates)


def test_groups_of_numbers_in_one_unit_keep_it() -> None:
    table = {n: v for n, v in some_table(3).items() if n in GROUPS["numbers"]}
    model = mc.MFA(groups={"all": list(table)}, unscaled=["all"]).fit(table)
    plain = mc.PCA().fit(np.column_stack(list(table.values())))
    assert_same(model.inertias_, plain.inertias_ / plain.inertias_[0])
    assert_same(np.abs(model.variables_.correlations), np.abs(plain.variables_.correlations))
    assert_same(model.variables_.contributions, plain.variables_.contributions)


def test_benzecri_adjusts_the_inertias_above_one_over_the_questions() -> None:
    table = {q: v for q, v in some_table(5).items() if q in GROUPS["labels"]}
    model = mc.MCA().fit(table)
    burt = pd.get_dummies(pd.DataFrame(table)).astype(float)
    burt = burt.T @ burt
    values = np.sqrt(mc.CA().fit(burt).inertias_)  # those of the indicators
    above = values[values > 1 / 3]
    assert_same(model.adjusted_inertias_, (1.5 * (above - 1 / 3)) ** 2)
    with pytest.raises(InvalidInput, match="one column"):
        _ = mc.MCA().fit({"q": ["a", "b"]}).adjusted_inertias_


def test_what_is_missing_is_refused_or_a_level() -> None:
    table = {"q": ["a", None, "b", "a"], "r": ["x", "y", "x", "y"]}
    with pytest.raises(InvalidInput, match="'q' has no label in row 1"):
        mc.MCA().fit(table)
    model = mc.MCA(missing="level").fit(table)
    assert model.categories_.levels == ("(missing)", "a", "b", "x", "y")
    with pytest.raises(InvalidInput, match="'size', row 1"):
        mc.FAMD().fit({"size": np.array([1.0, np.nan, 2.0]), "q": ["a", "b", "a"]})
    with pytest.raises(InvalidParameter, match="missing"):
        mc.MCA(missing="drop").fit(table)


def test_numbers_are_no_categories_unless_they_are_codes() -> None:
    rng = np.random.default_rng(0)
    codes = mc.MCA().fit({"q": np.array([1, 2, 1, 2]), "r": ["x", "y", "y", "x"]})
    assert codes.categories_.levels[:2] == ("1", "2")
    for values in (rng.normal(size=60), np.arange(60)):
        with pytest.raises(InvalidInput, match="FAMD"):
            mc.MCA().fit({"q": values, "r": ["x", "y"] * 30})


def test_a_table_that_is_no_table_of_counts_is_refused_by_its_place() -> None:
    with pytest.raises(InvalidInput, match="row 1, column 0 holds -1"):
        mc.CA().fit([[1.0, 2.0], [-1.0, 3.0]])
    with pytest.raises(InvalidInput, match="row 1 holds no counts"):
        mc.CA().fit([[1.0, 2.0], [0.0, 0.0]])
    with pytest.raises(InvalidInput, match="column 'b' holds no counts"):
        mc.CA().fit(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 0.0]}))
    model = mc.CA().fit([[1.0, 2.0], [3.0, 1.0]])
    with pytest.raises(InvalidInput, match="'x' must hold counts"):
        model.supplementary_columns({"x": [0.0, 0.0]})
    with pytest.raises(NotAvailable, match="columns_"):
        _ = model.variables_
    assert not hasattr(model, "variables_")


def test_groups_that_cannot_be_are_refused_by_name() -> None:
    table = some_table(1)
    for groups, message in (
        (None, "groups must map"),
        ({"a": ["size", "colour"]}, "'colour'"),
        ({"a": ["size"], "b": ["size"]}, "belongs to one"),
        ({"a": "size"}, "list of columns"),
        ({"a": ["size", "ab"]}, "make two groups"),
    ):
        with pytest.raises((InvalidInput, InvalidParameter), match=message):
            mc.MFA(groups=groups).fit(table)
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"supplementary_groups": ["c"]}, "'c', which is no group"),
        ({"supplementary_groups": list(GROUPS)}, "active"),
    )
    for settings, message in cases:
        with pytest.raises(InvalidParameter, match=message):
            mc.MFA(groups=GROUPS, **settings).fit(table)


def test_constants_and_unknown_levels_are_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="'size' is constant"):
        mc.FAMD().fit({"size": np.ones(3), "q": ["a", "b", "a"]})
    model = mc.MCA().fit({"q": ["a", "b", "a"], "r": ["x", "x", "y"]})
    with pytest.raises(InvalidInput, match="row 0 is 'c'"):
        model.transform({"q": ["c"], "r": ["x"]})
    with pytest.raises(InvalidInput, match="no inverse"):
        model.inverse_transform([[0.0]])
    with pytest.raises(NotAvailable, match="categories_"):
        _ = model.variables_


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    model = mc.MCA(1).fit({"q": ["a", "b", "a"], "r": ["x", "x", "y"]})
    before: Array = model.inertias_.copy()
    with pytest.raises(InvalidInput):
        model.fit({"q": [None, "b", "a"]})
    assert_same(model.inertias_, before)


def test_they_are_stored_and_refitted(tmp_path: Path) -> None:
    table = pd.DataFrame(some_table(2))
    for model in (mc.FAMD(2).fit(table), mc.MFA(2, groups=GROUPS).fit(table)):
        for name in ("categories_", "variables_", "links_", "partial_", "groups_"):
            getattr(model, name, None)  # what was read before does not hinder
        model.save(tmp_path / "model.mercer")
        again = mc.load(tmp_path / "model.mercer")
        assert_same(again.transform(table), model.transform(table))
        assert_same(again.links_.coordinates, model.links_.coordinates)
        fewer = model.without([0])
        assert fewer.weights_[0] == 0
        assert_same(
            np.abs(fewer.transform(table)),
            np.abs(clone(model).fit(table.iloc[1:]).transform(table)),
        )


QUESTIONS = pd.DataFrame({"a": list("xxyyz"), "b": list("uvuvu"), "n": [1.0, 2.0, 4.0, 3.0, 9.0]})
LAST_OUT = [1.0, 1.0, 1.0, 1.0, 0.0]
"""The last individual has a level, and a number, of its own, and no weight."""

WEIGHTLESS = {
    "MCA": (mc.MCA(), ["a", "b"]),
    "FAMD": (mc.FAMD(), ["a", "b", "n"]),
    "MFA": (mc.MFA(groups={"words": ["a", "b"], "numbers": ["n"]}), ["a", "b", "n"]),
}


@pytest.mark.parametrize("name", WEIGHTLESS)
def test_those_without_weight_take_no_part_whatever_level_they_have(name: str) -> None:
    """The axes are those of the others, and their own level leaves them where it says nothing."""
    model, columns = WEIGHTLESS[name]
    table = QUESTIONS[columns]
    with pytest.warns(ReadingWarning, match="column a"):
        fitted = clone(model).fit(table, sample_weight=LAST_OUT)
    others = clone(model).fit(table[:4])
    np.testing.assert_allclose(fitted.inertias_, others.inertias_, rtol=1e-12)
    F = fitted.individuals_.coordinates
    np.testing.assert_allclose(F[:4], others.individuals_.coordinates, atol=1e-12)
    # Of two halves the levels x and y say the opposite: what says nothing lies between them.
    between = [others.transform(table.assign(a=level))[4] for level in ("x", "y")]
    np.testing.assert_allclose(F[4], np.mean(between, axis=0), atol=1e-12)
    with pytest.warns(ReadingWarning, match="column a"):
        removed = clone(model).fit(table).without([4])
    np.testing.assert_allclose(removed.removed_.coordinates, F[4:], atol=1e-12)
    if name == "MFA":
        mean = sum(fitted.partial_.values()) / 2
        np.testing.assert_allclose(mean, F, atol=1e-12)
        np.testing.assert_allclose(
            fitted.groups_.coordinates, others.groups_.coordinates, atol=1e-12
        )


def test_a_level_is_the_same_whatever_holds_it() -> None:
    codes = pd.DataFrame({"a": pd.Categorical([1, 2, 1, 2, 1]), "n": [1.0, 2.0, 3.0, 4.0, 5.5]})
    model = mc.FAMD().fit(codes)
    assert model.categories_.levels == ("1", "2")
    expected = model.transform(codes[:2])
    held: list[Any] = [[1, 2], [1.0, 2.0], ["1", "2"], pd.Categorical([1.0, 2.0]), np.array([1, 2])]
    for labels in held:
        found = model.transform(pd.DataFrame({"a": labels, "n": [1.0, 2.0]}))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    as_texts = mc.FAMD().fit(codes.assign(a=codes["a"].astype(str)))
    np.testing.assert_allclose(as_texts.inertias_, model.inertias_, rtol=1e-12)


def test_an_unknown_level_is_refused_with_its_column() -> None:
    model = mc.MCA().fit(QUESTIONS[["a", "b"]])
    with pytest.raises(InvalidInput, match=r"column 'b': row 1 is 'q', which is none"):
        model.transform(pd.DataFrame({"a": ["x", "y"], "b": ["u", "q"]}))


def test_columns_that_are_not_analysed_may_hold_anything() -> None:
    table = QUESTIONS.assign(junk=[1.0, np.nan, 2.0, np.inf, 0.0])
    groups = {"words": ["a", "b"], "numbers": ["n"]}
    model = mc.MFA(groups=groups).fit(table)
    np.testing.assert_allclose(model.inertias_, mc.MFA(groups=groups).fit(QUESTIONS).inertias_)
    np.testing.assert_allclose(model.transform(table), model.individuals_.coordinates, atol=1e-12)
    mixed = mc.FAMD().fit(QUESTIONS)
    np.testing.assert_allclose(mixed.transform(table), mixed.individuals_.coordinates, atol=1e-12)


def test_dates_are_no_categories_and_are_numbers_of_a_mixed_table() -> None:
    days = pd.date_range("2020-01-01", periods=5)
    with pytest.raises(InvalidInput, match="column 'when' holds dates"):
        mc.MCA().fit(QUESTIONS[["a", "b"]].assign(when=days))
    found = mc.FAMD().fit(QUESTIONS.assign(when=days))
    same = mc.FAMD().fit(QUESTIONS.assign(when=np.arange(5.0)))
    np.testing.assert_allclose(found.inertias_, same.inertias_, rtol=1e-10)
    assert "when" in found.variables_.names


def test_a_table_is_supplementary_by_its_numbers_and_its_factors() -> None:
    irises = mc.datasets.iris()
    model = mc.PCA(2).fit(irises)
    passive = model.supplementary(variables=irises, categories=irises)
    assert passive.variables is not None
    assert passive.categories is not None
    assert passive.variables.names == tuple(n for n in irises.names if n != "Species")
    assert passive.categories.levels == ("setosa", "versicolor", "virginica")
    assert set(passive.categories.variables_of) == {"Species"}


def _kaisers_mean(model: Any) -> float:
    choice: Any = mc.choose_dimension(model, "kaiser")
    return float(choice.mean)


def test_kaisers_mean_is_over_the_axes_that_can_be() -> None:
    """It was over the individuals less one, which kept nearly all."""
    rng = np.random.default_rng(0)
    answers = {f"q{j}": rng.choice(list("abc"), 50).tolist() for j in range(3)}
    model = mc.MCA().fit(answers)
    assert model.feature_rank == 6
    assert _kaisers_mean(model) == pytest.approx(1 / 3)
    mixed = mc.FAMD().fit({**answers, "z": rng.normal(size=50)})
    assert _kaisers_mean(mixed) == pytest.approx(1.0)
    counts = mc.CA().fit(rng.integers(1, 30, (5, 4)))
    assert _kaisers_mean(counts) == pytest.approx(counts.inertia_ / 3)
