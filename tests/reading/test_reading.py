from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import mercer as mc
from mercer.check import Array
from mercer.data.frames import columns_of
from mercer.errors import AtBarycentre, ConstantColumns, ReadingWarning
from mercer.reading import Individuals, Tidy
from tests.references import aligned, near, reference

RNG = np.random.default_rng(6)
X = RNG.standard_normal((50, 4)) @ RNG.standard_normal((4, 4))
LABELS = np.where(X[:, 0] > 0.5, "high", np.where(X[:, 0] < -0.5, "low", "middle"))
MODELS: dict[str, Any] = {
    "pca": mc.PCA(2, standardize=True),
    "linear": mc.KernelPCA(2),
    "gaussian": mc.KernelPCA(2, kernel=mc.Gaussian(2.0)),
    "laplacian": mc.KernelPCA(2, kernel=mc.Laplacian(3.0)),
}


def fitted(name: str, x: Array = X, **kwargs: Any) -> Any:
    return clone(MODELS[name]).fit(x, **kwargs)


@pytest.mark.parametrize(
    ("name", "standardize"), [("pca_decathlon_scaled_sup", True), ("pca_iris_unscaled", False)]
)
def test_supplementary_categories_are_those_of_factominer(name: str, standardize: bool) -> None:
    content = reference(name)
    table, theirs = np.array(content["X"])[:, :10], content["result"]
    model = mc.PCA(standardize=standardize).fit(table)
    categories = model.supplementary(categories={"group": content["quali"]}).categories
    assert categories is not None
    expected = theirs["quali_sup"]
    assert list(categories.levels) == expected["levels"]
    assert categories.variables == ("group",)
    near(aligned(categories.coordinates, expected["coord"]), expected["coord"])
    near(categories.cos2, expected["cos2"])
    near(aligned(categories.v_test, expected["v_test"]), expected["v_test"])
    near(categories.eta2, expected["eta2"])


def test_supplementary_variables_are_those_of_factominer() -> None:
    content = reference("pca_decathlon_scaled_sup")
    table, expected = np.array(content["X"]), content["result"]["quanti_sup"]
    model = mc.PCA(standardize=True).fit(table[:, :10])
    given = {"Rank": table[:, 10], "Points": table[:, 11]}
    variables = model.supplementary(variables=given).variables
    assert variables is not None
    assert variables.names == ("Rank", "Points")
    near(aligned(variables.coordinates, expected["coord"]), expected["coord"])
    near(aligned(variables.correlations, expected["cor"]), expected["cor"])
    near(variables.cos2, expected["cos2"])
    with pytest.raises(mc.errors.NotAvailable, match="only active variables"):
        _ = variables.contributions


def test_supplementary_individuals_are_those_of_factominer() -> None:
    content = reference("pca_decathlon_unscaled_indsup")
    table, expected = np.array(content["X"]), content["result"]["ind_sup"]
    rows = np.array(content["ind_sup_rows_1based"]) - 1
    model = mc.PCA().fit(np.delete(table, rows, axis=0))
    people = model.supplementary(individuals=table[rows]).individuals
    assert people is not None
    removed = mc.PCA().fit(table).without(rows)
    for found in (people, removed.removed_):
        near(aligned(found.coordinates, expected["coord"]), expected["coord"])
        near(found.cos2, expected["cos2"])
        near(found.distances, expected["dist"])
        assert np.all(found.contributions == 0.0)


def samples() -> st.SearchStrategy[tuple[Array, Array]]:
    def drawn(n: int, p: int, seed: int) -> tuple[Array, Array]:
        rng = np.random.default_rng(seed)
        return rng.standard_normal((n, p)) + rng.uniform(-3, 3), rng.uniform(0.2, 2.0, n)

    return st.builds(drawn, st.integers(3, 12), st.integers(1, 4), st.integers(0, 10**6))


KERNELS = st.sampled_from([None, mc.Linear(), mc.Gaussian(2.0), mc.Polynomial(2), mc.Laplacian(3)])


@settings(max_examples=60)
@given(samples(), KERNELS)
def test_shares_add_up(sample: tuple[Array, Array], kernel: mc.Kernel | None) -> None:
    x, weights = sample
    model: Any = mc.PCA() if kernel is None else mc.KernelPCA(kernel=kernel)
    model.fit(x, sample_weight=weights)
    people = model.individuals_
    assert np.all((people.cos2 >= 0) & (people.cos2 <= 1))
    np.testing.assert_allclose(people.cos2.sum(axis=1), 1.0, atol=1e-6)
    kept = model.inertias_ > 1e-8 * model.inertias_[0]
    np.testing.assert_allclose(people.contributions.sum(axis=0)[kept], 1.0, atol=1e-6)
    w = weights / weights.sum()
    assert w @ people.distances**2 == pytest.approx(model.inertia_, rel=1e-9)
    assert model.inertias_.sum() == pytest.approx(model.inertia_, rel=1e-9)
    assert np.all(people.plane_distances <= 1e-5 * people.distances.max())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_category_is_the_barycentre_of_its_members_and_eta2_a_correlation_ratio(
    name: str, is_weighted: bool
) -> None:
    weights = RNG.uniform(0.5, 2.0, 50) if is_weighted else np.ones(50)
    model = fitted(name, sample_weight=weights)
    categories = model.supplementary(categories={"level": LABELS}).categories
    w, F = weights / weights.sum(), model.individuals_.coordinates
    between = np.zeros(2)
    for i, level in enumerate(("high", "low", "middle")):
        inside = level == LABELS
        mean = w[inside] @ F[inside] / w[inside].sum()
        near(categories.coordinates[i], mean, 1e-12)
        between += w[inside].sum() * mean**2
        n = int(np.sum(inside))
        if not is_weighted:
            spread = np.sqrt(model.inertias_ * (50 - n) / (49 * n))
            near(categories.v_test[i], mean / spread, 1e-12)
    near(categories.eta2[0], between / (w @ F**2), 1e-11)


@pytest.mark.parametrize("name", MODELS)
def test_a_group_and_its_complement_have_opposite_v_tests(name: str) -> None:
    rng = np.random.default_rng(3)
    weights = rng.gamma(0.5, size=50) + 1e-3
    weights[:3] = 0.0
    model = fitted(name, sample_weight=weights)
    for n in (1, 8, 25, 46):
        group = np.full(50, "b")
        group[3 + rng.permutation(47)[:n]] = "a"  # a group of the weightless alone has no mean
        v = model.supplementary(categories=group).categories.v_test
        near(v[0], -v[1], 1e-9)
        assert np.all(np.abs(v) > 0.0)


def test_a_v_test_under_unequal_weights_is_that_of_groups_drawn_at_random() -> None:
    rng = np.random.default_rng(7)
    x, weights = rng.standard_normal((60, 4)), rng.gamma(0.5, size=60) + 1e-3
    members = rng.permuted(np.tile(np.arange(60) < 15, (20_000, 1)), axis=1)
    model = mc.PCA(2).fit(x, sample_weight=weights)
    group = np.where(members[0], "a", "b")
    categories = model.supplementary(categories=group).categories
    assert categories is not None
    v = categories.v_test
    sums = members @ (model.weights_[:, None] * model.individuals_.coordinates)
    near(v[0], sums[0] / sums.std(axis=0), 0.02)  # 20 000 draws know a deviation to 0.5 %
    near(v[1], -v[0], 1e-12)
    for axis, description in enumerate(mc.describe_axes(model, {"group": group}).axes):
        links = [link for link in description.links if link.measure == "v_test"]
        near([link.value for link in links], v[:, axis], 1e-12)


def test_a_group_that_had_two_v_tests_has_one_and_sentences_say_it() -> None:
    """It had 3.95 and its complement -2.73: a weighted mean over a deviation made of counts."""
    rng = np.random.default_rng(7)
    x, weights = rng.normal(size=(60, 4)), rng.gamma(0.5, size=60) + 1e-3
    group = rng.permuted(np.repeat(["a", "b"], [15, 45]))
    model = mc.PCA(4).fit(x, sample_weight=weights)
    categories = model.supplementary(categories=group).categories
    assert categories is not None
    near(categories.v_test[:, 0], [1.370916, -1.370916], 1e-6)
    F, w, mine = model.individuals_.coordinates[:, 0], model.weights_, group == "a"
    for inside, before in ((mine, 3.95), (~mine, -2.73)):
        n = int(inside.sum())
        mean, spread = np.average(F[inside], weights=w[inside]), np.sqrt(w @ F**2)
        assert mean / (spread * np.sqrt((60 - n) / (59 * n))) == pytest.approx(before, abs=0.005)
    far = np.where(F > 1.0, "far", "near")
    axis = mc.describe_axes(model, {"group": group, "side": far}, level=0.5).axes[0]
    values = {link.category: link.value for link in axis.links if link.category}
    near([values["a"], values["b"]], [1.370916, -1.370916], 1e-6)
    sums = rng.permuted(np.tile(F > 1.0, (20_000, 1)), axis=1) @ (w * F)
    assert values["far"] == pytest.approx(w[F > 1.0] @ F[F > 1.0] / sums.std(), rel=0.02)
    linked, chance = axis.sentences
    assert "on the positive side lies far (v = 2.62)" in linked
    assert "on the negative side lies near (v = \N{MINUS SIGN}2.62)" in linked
    assert chance == "Not linked with it beyond chance: group (18 % of its variance)."


@pytest.mark.parametrize("shape", [0.4, 0.5, 2.0])
def test_a_group_at_random_seldom_has_a_v_test_beyond_two(shape: float) -> None:
    rng = np.random.default_rng(11)
    x, weights = rng.standard_normal((60, 3)), rng.gamma(shape, size=60) + 1e-3
    model = mc.PCA(1).fit(x, sample_weight=weights)
    labels = {f"g{i}": np.where(rng.permutation(60) < 15, "a", "b") for i in range(1_000)}
    categories = model.supplementary(categories=labels).categories
    assert categories is not None
    found = categories.v_test[::2, 0]
    assert found.std() == pytest.approx(1.0, abs=0.07)  # three deviations of it
    assert np.mean(np.abs(found) > 1.96) < 0.08


def test_a_category_shows_its_barycentre_in_the_space_of_features() -> None:
    kernel = mc.Gaussian(2.0)
    weights = RNG.uniform(0.5, 2.0, 50)
    model = mc.KernelPCA(2, kernel=kernel).fit(X, sample_weight=weights)
    categories = model.supplementary(categories=LABELS).categories
    assert categories is not None
    w = weights / weights.sum()
    inside = w * (LABELS == "high")
    gap = inside / inside.sum() - w
    distance = gap @ kernel(X) @ gap
    near(categories.cos2[0], categories.coordinates[0] ** 2 / distance, 1e-11)


def test_all_axes_show_a_category_completely() -> None:
    model = mc.KernelPCA(kernel=mc.Gaussian(2.0)).fit(X)
    categories = model.supplementary(categories=LABELS).categories
    assert categories is not None
    near(categories.cos2.sum(axis=1), np.ones(3), 1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_supplementary_individuals_that_are_active_ones_read_the_same(name: str) -> None:
    model = fitted(name)
    again = model.supplementary(individuals=X).individuals
    near(again.coordinates, model.individuals_.coordinates, 1e-11)
    near(again.cos2, model.individuals_.cos2, 1e-9)
    near(again.distances, model.individuals_.distances, 1e-11)


@pytest.mark.parametrize("name", MODELS)
def test_cos2_of_new_individuals_is_at_most_one(name: str) -> None:
    new = 3.0 * RNG.standard_normal((20, 4))
    cos2 = fitted(name).supplementary(individuals=new).individuals.cos2
    assert np.all((cos2 >= 0) & (cos2.sum(axis=1, keepdims=True) <= 1 + 1e-12))


@pytest.mark.parametrize("name", MODELS)
def test_a_supplementary_variable_that_is_an_axis_has_correlation_one(name: str) -> None:
    model = fitted(name, sample_weight=RNG.uniform(0.5, 2.0, 50))
    axis = 5.0 + 2.0 * model.individuals_.coordinates[:, 0]
    variables = model.supplementary(variables={"axis": axis}).variables
    near(variables.correlations, [[1.0, 0.0]], 1e-11)


def test_a_supplementary_copy_of_an_active_variable_reads_like_it() -> None:
    for standardize in (False, True):
        model = mc.PCA(2, standardize=standardize).fit(X)
        copy = model.supplementary(variables=X).variables
        assert copy is not None
        near(copy.coordinates, model.variables_.coordinates, 1e-12)
        near(copy.correlations, model.variables_.correlations, 1e-12)


def test_the_individual_at_the_barycentre_has_no_cos2_and_is_named() -> None:
    x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0], [0.0, 0.0]])
    for model in (mc.PCA().fit(x), mc.KernelPCA().fit(x)):
        with pytest.warns(AtBarycentre, match="individuals at the barycentre: 4"):
            cos2 = model.individuals_.cos2
        assert np.all(np.isnan(cos2[4]))
        near(cos2[:4].sum(axis=1), np.ones(4), 1e-12)


def test_a_negative_squared_distance_is_said_to_be_one() -> None:
    people = Individuals(np.ones((2, 1)), np.array([1.0, -0.5]), np.ones(2) / 2, np.ones(1))
    with pytest.raises(mc.errors.NotPositiveDefinite, match="individual 1"):
        _ = people.cos2


def test_an_outlier_is_found_and_projected_after_a_fit_without_it() -> None:
    x = X.copy()
    x[7] = 40.0
    pairs: list[tuple[Any, Any]] = [
        (mc.PCA(2).fit(x), mc.PCA(2)),
        (  # a kernel of bounded values gives a far point an axis of its own, not a large distance
            mc.KernelPCA(6, kernel=mc.Gaussian("median")).fit(x),
            mc.KernelPCA(6, kernel=mc.Gaussian("median")),
        ),
    ]
    for model, refit in pairs:
        outliers = model.outliers()
        assert 7 in outliers.rows
        cleaned = model.without([7])
        assert np.array_equal(model.without(7).weights_, cleaned.weights_)
        expected = refit.fit(np.delete(x, 7, axis=0))
        near(cleaned.inertias_, expected.inertias_, 1e-12)
        near(cleaned.explained_variance_, expected.explained_variance_, 1e-12)
        near(cleaned.removed_.coordinates, expected.transform(x[7:8]), 1e-11)
        people = expected.supplementary(individuals=x[7:8]).individuals
        assert people is not None
        near(cleaned.removed_.cos2, people.cos2, 1e-11)
        assert cleaned.removed_.contributions.sum() == 0.0
        assert cleaned.individuals_.contributions[7].sum() == 0.0


def test_outliers_have_three_measures() -> None:
    x = np.vstack([X, [[0.0, 0.0, 0.0, 0.0]]])
    x[-1] = X.mean(axis=0) + 30.0 * mc.PCA().fit(X).components_[-1]
    outliers = mc.PCA(1).fit(x).outliers()
    assert 50 in outliers.rows
    plane = mc.PCA(2).fit(X)
    F = mc.PCA().fit(X).individuals_.coordinates
    near(plane.outliers().plane_distances, np.linalg.norm(F[:, 2:], axis=1), 1e-11)
    near(plane.outliers().distances, np.linalg.norm(F, axis=1), 1e-12)
    table = plane.outliers().table()
    assert list(table) == [
        "individual",
        "contribution",
        "axis",
        "distance",
        "plane_distance",
        "p_value",
        "is_outlier",
    ]
    assert repr(mc.PCA(2).fit(X).outliers(level=1e-9)).startswith("Outliers: none\n")


def test_outliers_have_the_rate_that_is_stated() -> None:
    # Of 300 normal tables about 5 % show any; a fifth of all individuals were called outliers.
    rng = np.random.default_rng(0)
    tables = [rng.standard_normal((60, 6)) for _ in range(300)]
    shown = sum(len(mc.PCA(3).fit(x).outliers().rows) > 0 for x in tables)
    assert 4 <= shown <= 25  # the central 99 % of the binomial law of 15 in 300
    for model in (
        mc.KernelPCA(10, kernel=mc.Gaussian("median")).fit(mc.datasets.iris()),
        mc.PCA(standardize=True).fit(mc.datasets.swiss()),
    ):
        assert len(model.outliers().rows) <= 2


def test_outliers_are_named_with_the_reason() -> None:
    x = np.vstack([X, X.mean(axis=0) + 9.0 * X.std(axis=0)])
    found = mc.PCA(2, standardize=True).fit(x).outliers()
    assert found.rows.tolist() == [len(X)]
    share = found.contributions[-1].max()
    assert found.reasons == (f"{100 * share:.2g} % of axis 1",)
    assert found.p_values[-1] < 1e-3
    with pytest.raises(mc.errors.InvalidParameter, match="level is a significance level"):
        mc.PCA(2).fit(X).outliers(level=3.0)


@pytest.mark.parametrize("rows", [[50], [-1], [1.5]])
def test_rows_that_do_not_exist_are_not_removed(rows: list[Any]) -> None:
    with pytest.raises(mc.errors.MercerError, match="row"):
        mc.PCA(2).fit(X).without(rows)


def test_all_rows_cannot_be_removed() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="would remain"):
        mc.PCA(2).fit(X).without(range(50))


def test_values_cannot_be_written_to() -> None:
    model = mc.PCA(2).fit(X)
    people, variables = model.individuals_, model.variables_
    for array in (people.coordinates, people.cos2, people.contributions, variables.cos2):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0
    with pytest.raises(AttributeError):
        people.coordinates = 0  # type: ignore[misc, assignment]


def test_a_new_fit_forgets_what_was_read_of_the_last() -> None:
    model = mc.PCA(2).fit(X)
    first = model.individuals_.coordinates
    model.fit(X[:20])
    assert len(model.individuals_) == 20
    assert len(first) == 50


def test_a_tidy_table_has_a_row_for_each_individual_and_axis() -> None:
    model = mc.PCA(2).fit(X)
    table = model.individuals_.table()
    assert isinstance(table, Tidy)
    assert list(table) == ["individual", "axis", "coordinate", "cos2", "contribution"]
    assert table.rows == 100
    assert table["axis"][:4].tolist() == [1, 2, 1, 2]
    near(table["coordinate"].reshape(50, 2), model.individuals_.coordinates, 1e-15)
    assert list(model.variables_.table()) == [
        "variable",
        "axis",
        "coordinate",
        "correlation",
        "cos2",
        "contribution",
    ]
    categories = model.supplementary(categories=LABELS).categories
    assert categories is not None
    assert list(categories.table())[:3] == ["variable", "category", "axis"]
    assert "... 92 more rows" in repr(table)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_come_back_in_the_users_library(library: str) -> None:
    frames = pytest.importorskip(library)
    names = ["a", "b", "c", "d"]
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    if library == "pandas":
        frame.index = [f"row{i}" for i in range(50)]
    model = mc.PCA(2, standardize=True).fit(frame)
    assert model.feature_names_in_.tolist() == names
    near(model.inertias_, mc.PCA(2, standardize=True).fit(X).inertias_, 1e-15)
    table = model.individuals_.table()
    assert isinstance(table, frames.DataFrame)
    assert table["individual"][1] == ("row0" if library == "pandas" else 0)
    assert model.variables_.names == tuple(names)
    extra = frames.DataFrame({"group": LABELS.tolist()})
    categories = model.supplementary(categories=extra).categories
    assert categories is not None
    assert categories.variables == ("group",)
    assert isinstance(categories.table(), frames.DataFrame)
    out = mc.PCA(2).set_output(transform=library).fit_transform(frame)
    assert list(out.columns) == ["pca0", "pca1"]


def test_a_library_that_is_none_is_refused() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="pandas, polars, pyarrow"):
        mc.PCA(2).fit(X).individuals_.table("excel")


def test_columns_are_given_in_any_form() -> None:
    column = np.arange(3)
    for form in ({"x0": column}, column, column[:, None], [0, 1, 2]):
        assert list(columns_of(form, 3, "variables")) == ["x0"]
    with pytest.raises(mc.errors.InvalidInput, match=r"'b' has shape \(2,\) for 3 individuals"):
        columns_of({"a": column, "b": [1, 2]}, 3, "variables")
    with pytest.raises(mc.errors.InvalidInput, match="shape"):
        columns_of(np.zeros((3, 1, 1)), 3, "variables")


def test_a_missing_label_and_a_missing_number_are_named() -> None:
    model = mc.PCA(2).fit(X)
    labels: list[Any] = LABELS.tolist()
    labels[4] = None
    with pytest.raises(mc.errors.InvalidInput, match="'group' has no label in row 4"):
        model.supplementary(categories={"group": np.array(labels, object)})
    with pytest.raises(mc.errors.InvalidInput, match="variable 'height'"):
        model.supplementary(variables={"height": np.full(50, np.nan)})


def test_a_constant_supplementary_variable_is_named() -> None:
    with pytest.warns(ConstantColumns, match="constant columns have no correlations.*flat"):
        variables = mc.PCA(2).fit(X).supplementary(variables={"flat": np.ones(50)}).variables
    assert variables is not None
    assert np.all(variables.coordinates == 0.0)


def test_a_category_of_weightless_individuals_is_left_out() -> None:
    weights = np.where(LABELS == "low", 0.0, 1.0)
    model = mc.PCA(2).fit(X, sample_weight=weights)
    with pytest.warns(ReadingWarning, match="x0=low"):
        categories = model.supplementary(categories=LABELS).categories
    assert categories is not None
    assert categories.levels == ("high", "middle")


def test_a_category_of_everybody_is_at_the_origin() -> None:
    categories = mc.PCA(2).fit(X).supplementary(categories=["all"] * 50).categories
    assert categories is not None
    assert np.all(categories.v_test == 0.0)
    with pytest.warns(AtBarycentre, match="all"):
        assert np.all(np.isnan(categories.cos2))


def test_a_filter_by_correlation_is_not_one_by_contribution() -> None:
    """Martin's "contribution higher than 0.96" can only be a correlation or a cos2."""
    model = mc.PCA(2, standardize=True).fit(X)
    variables = model.variables_
    near(variables.contributions.sum(axis=0), np.ones(2), 1e-12)
    assert variables.contributions.max() < variables.cos2.max()
    near(variables.correlations**2, variables.cos2, 1e-15)


def test_correlations_are_those_of_centred_columns() -> None:
    """The negative control of the correlation written with columns that are not centred."""
    moved = X + 100.0
    model = mc.PCA(2, standardize=True).fit(moved)
    expected = np.corrcoef(np.column_stack([moved, model.transform(moved)]), rowvar=False)[:4, 4:]
    near(model.variables_.correlations, expected, 1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_without_a_fit_has_nothing_to_read(name: str) -> None:
    model = clone(MODELS[name])
    questions: list[Callable[[], Any]] = [
        lambda: model.individuals_,
        lambda: model.variables_,
        lambda: model.outliers(),
        lambda: model.without([0]),
        lambda: model.supplementary(variables=X),
        lambda: model.transform(X),
    ]
    for question in questions:
        with pytest.raises(NotFittedError):
            question()


def test_every_kind_of_missing_label_is_refused_by_its_row() -> None:
    pandas = pytest.importorskip("pandas")
    model = fitted("pca")
    gap = [*LABELS[:3], None, *LABELS[4:]]
    times = pandas.Series([pandas.NaT, *pandas.to_datetime(["2020-01-01"] * 49)])
    for labels, row in [
        (gap, 3),
        (pandas.Series(gap, dtype="string"), 3),
        (pandas.DataFrame({"level": pandas.Series(gap, dtype="string")}), 3),
        (pandas.Series(gap, dtype="category"), 3),
        (np.r_[np.nan, np.ones(49)], 0),
        (times, 0),
    ]:
        with pytest.raises(mc.errors.InvalidInput, match=f"has no label in row {row}"):
            model.supplementary(categories=labels)


@pytest.mark.parametrize("name", MODELS)
def test_weights_sum_to_one_and_are_read_only(name: str) -> None:
    given = np.arange(50.0)
    model = fitted(name, sample_weight=given)
    near(model.weights_, given / given.sum(), 1e-15)
    assert not model.weights_.flags.writeable
    with pytest.raises(NotFittedError):
        _ = clone(MODELS[name]).weights_


@pytest.mark.parametrize("name", MODELS)
def test_variances_count_individuals_with_a_weight_whatever_the_weights_are(name: str) -> None:
    """Weights have no unit: n - 1 counts individuals, and scaling the weights changes nothing."""
    weights = np.r_[0.0, RNG.uniform(0.5, 2.0, 49)]
    for scale in (1e-3, 1.0, 1e3):
        model = fitted(name, sample_weight=scale * weights)
        near(model.explained_variance_, model.inertias_ * 49 / 48, 1e-14)


def test_variables_are_represented_in_a_kernel_pca() -> None:
    """Martin says that they cannot be: correlations with the axes represent them."""
    model = fitted("gaussian")
    r = model.variables_.correlations
    near(r, np.corrcoef(np.c_[X, model.individuals_.coordinates], rowvar=False)[:4, 4:], 1e-12)
    assert np.max(np.abs(r)) > 0.5


@pytest.mark.parametrize("what", ["variables", "categories"])
@pytest.mark.parametrize("given", [{}, np.empty((50, 0))], ids=["mapping", "array"])
def test_a_table_without_columns_is_refused(what: str, given: Any) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=f"{what} hold no columns"):
        fitted("pca").supplementary(**{what: given})


@pytest.mark.parametrize("name", MODELS)
def test_weights_without_a_finite_sum_are_refused(name: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="a finite sum"):
        fitted(name, sample_weight=np.full(50, 1e308))


def test_one_sentence_says_who_makes_an_axis_and_who_is_farther_out_than_chance() -> None:
    """A doubt that one individual makes an axis stood beside "No individual stands apart"."""
    x = np.random.default_rng(6).normal(size=(20, 4))
    x[4, 0] += 2.0
    model = mc.PCA(3).fit(x)
    found = model.outliers()
    maker = [k for row, k in found.makers if row == 4]
    assert maker, "somebody makes an axis"
    assert not len(found.rows), "and is within what chance allows"
    said = found.told()
    assert said.startswith("No individual is farther out than chance allows (")
    assert f" of axis {maker[0] + 1} alone: among 20 individuals chance can do that" in said
    assert "stands apart" not in said
    x[4, 0] += 40.0
    far = mc.PCA(3).fit(x).outliers()
    assert far.makers
    assert far.told(one="row").startswith("Farther out than chance allows (")
    assert "Yet" not in far.told()  # who is named already is not named again
    calm = mc.PCA(3).fit(np.random.default_rng(0).normal(size=(60, 4))).outliers()
    assert calm.told(one="row").startswith("No row stands apart: none is farther out")
