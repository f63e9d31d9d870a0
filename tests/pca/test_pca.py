from __future__ import annotations

import pickle
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context, decomposition
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.check import Array
from mercer.errors import ConstantColumns, DegenerateAxes, NotConverged, ReadingWarning
from mercer.pca import centred_tables
from mercer.spectrum import Limits, signs, two_sides
from tests.oracles import LINE, untouched
from tests.references import aligned, near, reference

EPSILON = float(np.finfo(float).eps)
RNG = np.random.default_rng(3)
X = RNG.standard_normal((60, 5)) @ RNG.standard_normal((5, 5)) + 2.0
NEW = RNG.standard_normal((7, 5))
WEIGHTS = RNG.uniform(0.5, 2.0, 60)


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [mc.PCA(), mc.PCA(2, standardize=True)],
    expected_failed_checks=lambda _: LINE,
    xfail_strict=True,
)
def test_the_protocol_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


FACTOMINER = {
    "pca_decathlon_scaled_sup": True,
    "pca_decathlon_unscaled_indsup": False,
    "pca_iris_scaled": True,
    "pca_iris_unscaled": False,
}


@pytest.mark.parametrize("name", FACTOMINER)
def test_individuals_and_variables_are_those_of_factominer(name: str) -> None:
    content = reference(name)
    table, expected = np.array(content["X"])[:, :10], content["result"]
    weights = np.ones(len(table))
    weights[np.array(content.get("ind_sup_rows_1based", []), int) - 1] = 0.0
    model = mc.PCA(standardize=FACTOMINER[name]).fit(table, sample_weight=weights)
    active = weights > 0
    near(model.inertias_, expected["eigenvalues"])
    near(100 * model.explained_variance_ratio_, expected["percent"])
    near(model.mean_, expected["centre"])
    near(model.scale_, expected["ecart_type"])
    people, theirs = model.individuals_, expected["ind"]
    near(aligned(people.coordinates[active], theirs["coord"]), theirs["coord"])
    near(people.cos2[active], theirs["cos2"])
    near(100 * people.contributions[active], theirs["contrib_percent"])
    near(people.distances[active], theirs["dist"])
    variables, theirs = model.variables_, expected["var"]
    near(aligned(variables.coordinates, theirs["coord"]), theirs["coord"])
    near(aligned(variables.correlations, theirs["cor"]), theirs["cor"])
    near(variables.cos2, theirs["cos2"])
    near(100 * variables.contributions, theirs["contrib_percent"])


def test_standardising_with_divisor_n_minus_one_is_another_analysis() -> None:
    """R's prcomp divides by the deviation with n - 1: the negative control of the divisor."""
    theirs = reference("pca_iris_prcomp_nminus1")
    table = np.array(reference("pca_iris_scaled")["X"])
    model = mc.PCA(standardize=True).fit(table)
    near(model.explained_variance_ * 149 / 150, np.array(theirs["sdev"]) ** 2)
    scores = model.individuals_.coordinates * np.sqrt(149 / 150)
    near(aligned(scores, theirs["x"]), theirs["x"])
    assert model.inertia_ == pytest.approx(4.0, rel=1e-13)


def test_beenys_matrix_has_its_printed_figures() -> None:
    content = reference("beeny_ex2_4")
    A = np.array(content["A"], dtype=int)  # whole numbers, on which the printed listing fails
    model = mc.PCA().fit(A)
    near(5 * model.inertias_, content["eigenvalues"][:4])
    near(model.singular_values_**2, content["eigenvalues"][:4])
    near(model.explained_variance_, [66.2114448, 6.9941481, 2.3299422, 0.3644649], 1e-9)
    printed = [264.8458, 27.9766, 9.3198, 1.4579]
    np.testing.assert_allclose(model.singular_values_**2, printed, atol=5e-5)
    printed = [66.2114, 6.9941, 2.3299, 0.3645]
    np.testing.assert_allclose(model.explained_variance_, printed, atol=6e-5)
    near(model.mean_, content["mean"])
    V, scatter = model.components_.T, np.array(content["scatter"])
    near(aligned(V, np.array(content["V"])[:, :4]), np.array(content["V"])[:, :4])
    near((V * model.singular_values_**2) @ V.T, scatter)
    errors = [model.reconstruction_error(k) for k in range(1, 5)]
    np.testing.assert_allclose(errors, [6.2253, 3.2829, 1.2074, 0.0], atol=5e-5)
    assert errors[2] == pytest.approx(content["E3"], rel=1e-12)
    assert errors[3] == 0.0
    np.testing.assert_allclose(
        np.abs(model.individuals_.coordinates[0]), [1.9469, 4.3453, 0.8756, 0.2039], atol=5e-5
    )
    for k, error in enumerate(errors, start=1):
        few = mc.PCA(k).fit(A)
        rebuilt = few.inverse_transform(few.transform(A))
        assert np.linalg.norm(A - rebuilt) == pytest.approx(error, abs=1e-10)


def test_beenys_experiment_has_its_errors_and_none_where_columns_depend_exactly() -> None:
    content = reference("beeny_ex2_5")
    A = np.random.default_rng(12).standard_normal((30, 3))
    B = A.copy()
    B[:, 0] += 4 * B[:, 1] + 2 * B[:, 2]
    exact = A.copy()
    exact[:, 0] = 4 * A[:, 1] + 2 * A[:, 2]
    assert mc.PCA(2).fit(A).reconstruction_error() == pytest.approx(content["err_uncorrelated"])
    assert mc.PCA(2).fit(B).reconstruction_error() == pytest.approx(content["err_correlated"])
    assert mc.PCA(2).fit(A).reconstruction_error() == pytest.approx(3.9193, abs=5e-5)
    assert mc.PCA(2).fit(B).reconstruction_error() == pytest.approx(0.97278, abs=5e-6)
    near(mc.PCA().fit(B).explained_variance_, content["eig_correlated"])
    assert mc.PCA(2).fit(exact).reconstruction_error() == 0.0


def test_components_and_variances_are_those_of_scikit_learn() -> None:
    ours, theirs = mc.PCA(3).fit(X), decomposition.PCA(3).fit(X)
    near(aligned(ours.components_.T, theirs.components_.T), theirs.components_.T, 1e-12)
    for name in (
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "mean_",
        "noise_variance_",
    ):
        near(getattr(ours, name), getattr(theirs, name), 1e-12)
    near(np.abs(ours.transform(NEW)), np.abs(theirs.transform(NEW)), 1e-12)
    near(
        ours.inverse_transform(ours.transform(NEW)), theirs.inverse_transform(theirs.transform(NEW))
    )


def test_standardising_is_scikit_learns_scaler_before() -> None:
    ours = mc.PCA(3, standardize=True).fit(X)
    theirs = make_pipeline(StandardScaler(), decomposition.PCA(3)).fit(X)
    near(np.abs(ours.transform(NEW)), np.abs(theirs.transform(NEW)), 1e-12)
    near(
        ours.inverse_transform(ours.transform(NEW)),
        theirs.inverse_transform(theirs.transform(NEW)),
        1e-12,
    )


def test_weighted_axes_diagonalise_the_weighted_covariance() -> None:
    m = np.array([1.0, 2.0, 0.5, 3.0, 1.5])
    model = mc.PCA(standardize=True, column_weight=m).fit(X, sample_weight=WEIGHTS)
    w = WEIGHTS / WEIGHTS.sum()
    centred = X - w @ X
    Z = centred / np.sqrt(w @ centred**2) * np.sqrt(m)
    V = model.components_.T
    near(Z.T @ (w[:, None] * Z) @ V, V * model.inertias_, 1e-12)
    near(V.T @ V, np.eye(5), 1e-12)
    near(model.transform(X), Z @ V, 1e-12)
    assert model.inertia_ == pytest.approx(m.sum(), rel=1e-12)  # each column has inertia m
    near(model.inverse_transform(model.transform(NEW)), NEW, 1e-12)
    near(model.variables_.contributions.sum(axis=0), np.ones(5), 1e-12)
    near(model.individuals_.distances**2, (Z**2).sum(axis=1), 1e-12)
    r = model.variables_.correlations
    near(r, Z.T @ (w[:, None] * Z @ V) / np.sqrt(m)[:, None] / np.sqrt(model.inertias_), 1e-11)


def test_principal_components_have_their_norms() -> None:
    """Martin: Var c_k = λ_k, the component has norm √(nλ_k) and the factor √n."""
    model = mc.PCA().fit(X)
    F = model.individuals_.coordinates
    near(model.components_ @ model.components_.T, np.eye(5), 1e-12)
    near(np.var(F, axis=0), model.inertias_, 1e-12)
    near(F.T @ F, np.diag(60 * model.inertias_), 1e-12)
    near(np.linalg.norm(F / np.sqrt(model.inertias_), axis=0), np.full(5, np.sqrt(60)), 1e-12)


def test_the_generalised_variance_is_a_determinant() -> None:
    expected = np.linalg.det(np.cov(X, rowvar=False, bias=True))
    assert mc.PCA().fit(X).generalised_variance_ == pytest.approx(expected, rel=1e-11)
    flat = np.column_stack([X, X[:, 0] + X[:, 1]])
    assert mc.PCA().fit(flat).generalised_variance_ == 0.0
    wide = RNG.standard_normal((2000, 450))
    with pytest.raises(mc.errors.NotAvailable, match="n_components=None"):
        _ = mc.PCA(2).fit(wide).generalised_variance_


LARGE = Limits(table_entries=0)
"""As if every table were too large to be decomposed itself."""


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make every route reachable by small tables, read in many pieces."""
    monkeypatch.setattr(mc.PCA, "limits", LARGE)
    monkeypatch.setattr("mercer.estimator.CHUNK", 64)
    monkeypatch.setattr(centred_tables, "CHUNK", 64)
    return monkeypatch


ROUTES = {
    "covariances": (60, 5, 5, 3000),
    "inner products": (12, 40, 11, 3000),
    "Lanczos": (60, 40, 3, 10),
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_every_route_finds_the_singular_values(
    route: str, offset: float, is_sparse: bool, small_limits: pytest.MonkeyPatch
) -> None:
    if is_sparse and offset:
        pytest.skip("a sparse table is never centred: it has no offset")
    n, p, count, side = ROUTES[route]
    small_limits.setattr(mc.PCA, "limits", replace(LARGE, side=side))
    table = RNG.standard_normal((n, p)) * (RNG.uniform(size=(n, p)) < 0.4) + offset
    weights = RNG.uniform(0.5, 2.0, n)
    model = mc.PCA(count).fit(
        sparse.csr_array(table) if is_sparse else table, sample_weight=weights
    )
    assert route in model.spectrum_.how.method
    w = weights / weights.sum()
    Z = np.sqrt(w)[:, None] * ((table - offset) - w @ (table - offset))
    _, sizes, rows = np.linalg.svd(Z, full_matrices=False)
    near(model.inertias_, sizes[:count] ** 2, 1e-13)
    near(np.abs(model.components_), np.abs(rows[:count]), 1e-10)
    assert np.all(model.spectrum_.errors >= np.abs(model.inertias_ - sizes[:count] ** 2))
    assert model.inertia_ == pytest.approx((Z**2).sum(), rel=1e-12)
    near(model.components_ @ model.components_.T, np.eye(count), 1e-12)
    scores = model.individuals_.coordinates
    assert np.array_equal(signs(scores), np.ones(count))
    near(model.transform(table), scores, 1e-10)


def test_lapacks_ratios_are_kept() -> None:
    for n, p in [(2, 1), (3, 2), (5, 5), (20, 3), (3, 20), (101, 20)]:
        table = RNG.standard_normal((n, p))
        model = mc.PCA().fit(table)
        centred = table - table.mean(axis=0)
        C, V = centred.T @ centred / n, model.components_.T
        norm = np.linalg.norm(C, 1)
        residual = np.linalg.norm(C @ V - V * model.inertias_, 1) / (norm * p * EPSILON)
        orthogonality = np.linalg.norm(V.T @ V - np.eye(V.shape[1]), 1) / (p * EPSILON)
        assert max(residual, orthogonality) < 60.0


@pytest.mark.parametrize("offset", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("is_small", [True, False])
def test_an_offset_costs_no_digit(
    offset: float, is_small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_small:
        monkeypatch.setattr(mc.PCA, "limits", LARGE)
    moved = X + offset
    model, expected = mc.PCA().fit(moved), mc.PCA().fit(moved - offset)
    near(model.inertias_, expected.inertias_, 1e-13)
    near(model.individuals_.coordinates, expected.individuals_.coordinates, 1e-12)
    near(model.individuals_.cos2, expected.individuals_.cos2, 1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-100, 1e100, 1e200, 1e305])
@pytest.mark.parametrize("standardize", [False, True])
def test_units_change_nothing_but_units(scale: float, standardize: bool) -> None:
    model = mc.PCA(standardize=standardize).fit(X * scale)
    expected = mc.PCA(standardize=standardize).fit(X)
    unit = 1.0 if standardize else scale
    near(model.explained_variance_ratio_, expected.explained_variance_ratio_, 1e-13)
    near(model.individuals_.coordinates / unit, expected.individuals_.coordinates, 1e-12)
    near(model.individuals_.cos2, expected.individuals_.cos2, 1e-12)
    near(model.individuals_.contributions, expected.individuals_.contributions, 1e-12)
    near(model.variables_.correlations, expected.variables_.correlations, 1e-12)
    near(model.inverse_transform(model.transform(X * scale)) / scale, X, 1e-12)
    near(model.reconstruction_error(2) / unit, expected.reconstruction_error(2), 1e-12)
    assert np.array_equal(model.outliers(level=0.5).rows, expected.outliers(level=0.5).rows)
    if standardize or 1e-150 < scale < 1e150:
        near(model.inertias_ / unit / unit, expected.inertias_, 1e-12)
    else:
        with pytest.raises(mc.errors.InvalidInput, match="outside the range of double precision"):
            _ = model.inertias_


def test_columns_of_very_different_units_are_standardised() -> None:
    scales = np.array([1e-200, 1e-50, 1.0, 1e50, 1e200])
    model, expected = mc.PCA(standardize=True).fit(X * scales), mc.PCA(standardize=True).fit(X)
    near(model.inertias_, expected.inertias_, 1e-12)
    near(model.scale_ / scales, expected.scale_, 1e-12)


def test_a_table_on_disk_is_read_in_pieces_and_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_disk = np.memmap(tmp_path / "table", dtype=np.float64, mode="w+", shape=(20_000, 20))
    on_disk[:] = RNG.standard_normal((20_000, 20))
    expected = mc.PCA(3).fit_transform(np.array(on_disk))
    monkeypatch.setattr("mercer.estimator.CHUNK", 2**14)
    monkeypatch.setattr(mc.PCA, "limits", LARGE)
    tracemalloc.start()
    model = mc.PCA(3).fit(on_disk)
    scores = model.individuals_.coordinates
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < on_disk.nbytes / 2  # of which the scores are a third
    near(scores, expected, 1e-12)


def test_a_sparse_table_is_never_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sparse.random_array((300, 2000), density=0.01, rng=np.random.default_rng(0))
    table = sparse.csr_array(found)  # whose rows can be taken

    dense = mc.PCA(3).fit(table.toarray())
    original = sparse.csr_array.toarray

    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        assert self.shape != table.shape, "the table was made dense"
        return original(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", watched)
    model = mc.PCA(3).fit(table)
    near(model.inertias_, dense.inertias_, 1e-12)
    near(model.individuals_.coordinates, dense.individuals_.coordinates, 1e-10)
    near(model.individuals_.cos2, dense.individuals_.cos2, 1e-10)
    near(model.transform(table[:5]), model.individuals_.coordinates[:5], 1e-12)


def test_a_sparse_table_is_standardised_like_a_dense_one() -> None:
    table = sparse.random_array((80, 9), density=0.4, rng=np.random.default_rng(1))
    found, expected = (mc.PCA(standardize=True).fit(t) for t in (table, table.toarray()))
    near(found.inertias_, expected.inertias_, 1e-12)
    near(found.variables_.correlations, expected.variables_.correlations, 1e-11)
    near(found.transform(table.toarray()), expected.transform(table), 1e-11)


def test_few_individuals_of_many_variables() -> None:
    table = RNG.standard_normal((24, 20_000))
    model = mc.PCA().fit(table)
    assert model.components_.shape == (23, 20_000)
    assert model.inertias_.sum() == pytest.approx(model.inertia_, rel=1e-12)
    near(model.individuals_.cos2.sum(axis=1), np.ones(24), 1e-11)


def test_rank_deficient_data_keep_the_axes_they_have() -> None:
    flat = np.column_stack([X[:, :2], X[:, 0] + X[:, 1]])
    model = mc.PCA().fit(flat)
    assert len(model.inertias_) == model.spectrum_.rank == 2
    near(model.inverse_transform(model.transform(flat)), flat, 1e-13)


@pytest.mark.parametrize("table", [np.ones((1, 3)), np.full((5, 2), 0.1), np.zeros((4, 1))])
@pytest.mark.parametrize("standardize", [False, True])
def test_data_in_one_point_have_no_inertia_and_no_axes(table: Array, standardize: bool) -> None:
    with pytest.warns(ReadingWarning):
        model = mc.PCA(standardize=standardize).fit(table)
    assert model.inertia_ == 0.0
    assert model.explained_variance_ratio_.shape == (0,)
    assert model.transform(table).shape == (len(table), 0)
    near(model.inverse_transform(model.transform(table)), table, 1e-15)
    assert model.reconstruction_error() == 0.0


def test_a_constant_column_is_named_and_left_out_or_refused() -> None:
    table = np.column_stack([X, np.full(60, 0.1)])
    with pytest.warns(ConstantColumns, match="cannot be standardised: x5"):
        model = mc.PCA(standardize=True).fit(table)
    near(model.inertias_, mc.PCA(standardize=True).fit(X).inertias_, 1e-13)
    moved = table.copy()
    moved[:, 5] = 9.0
    near(model.transform(moved), model.transform(table), 1e-15)
    near(model.inverse_transform(model.transform(moved)), table, 1e-12)
    with pytest.warns(ConstantColumns, match="x5"):
        variables = model.variables_
    assert np.all(np.isnan(variables.correlations[5]))
    assert np.all(variables.coordinates[5] == 0.0)
    with pytest.raises(mc.errors.InvalidInput, match="x5"):
        mc.PCA(standardize=True, constant_columns="error").fit(table)
    with pytest.raises(
        mc.errors.InvalidParameter, match="one of 'exclude', 'error', found 'nonsense'"
    ):
        mc.PCA(standardize=True, constant_columns="nonsense").fit(table)
    assert len(mc.PCA().fit(table).inertias_) == 5  # harmless where it is not divided by 0


def test_degenerate_axes_are_flagged() -> None:
    corners = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 0.5], [0, 0, -0.5]])
    with pytest.warns(DegenerateAxes, match="1 and 2"):
        model = mc.PCA(2).fit(corners)
    assert model.spectrum_.clusters == ((0, 1),)
    assert mc.PCA().fit(corners).spectrum_.clusters == ((0, 1),)  # all axes: nothing was chosen


def test_the_sign_rule_never_deletes_an_axis_whose_extremes_are_opposite() -> None:
    """Beeny's rule sign(min + max) is 0 for the axes of [[2, 1], [1, 2]]."""
    table = np.array([[2.0, 1.0], [1.0, 2.0], [-2.0, -1.0], [-1.0, -2.0]])
    model = mc.PCA().fit(table)
    assert np.all(np.linalg.norm(model.components_, axis=1) > 0.999)
    assert np.array_equal(signs(model.individuals_.coordinates), np.ones(2))


def test_signs_are_the_same_whether_axes_or_scores_are_asked_for_first() -> None:
    first, second = mc.PCA().fit(X), mc.PCA().fit(X)
    components = first.components_
    scores = second.individuals_.coordinates
    near(second.components_, components, 1e-15)
    near(first.individuals_.coordinates, scores, 1e-15)
    assert np.array_equal(signs(scores), np.ones(5))


def test_weightless_rows_do_not_decide_signs() -> None:
    weights = np.ones(60)
    largest = int(np.argmax(mc.PCA(1).fit_transform(X)))
    weights[largest] = 0.0
    scores = mc.PCA(1).fit_transform(X, sample_weight=weights)
    active = scores[weights > 0]
    assert active[np.argmax(np.abs(active))] > 0


def test_data_changed_after_the_fit_are_noticed() -> None:
    table = X.copy()
    model = mc.PCA().fit(table)
    table[0] += 100.0
    with pytest.raises(mc.errors.InvalidInput, match="changed since"):
        _ = model.individuals_


def test_the_caller_keeps_his_data() -> None:
    table, weights = X.copy(), WEIGHTS.copy()
    fortran = np.asfortranarray(X)
    with untouched(table, weights, fortran):
        model = mc.PCA(standardize=True).fit(table, sample_weight=weights)
        model.transform(table)
        _ = model.individuals_.cos2, model.variables_
        near(mc.PCA().fit(fortran).inertias_, mc.PCA().fit(table[:, :]).inertias_, 1e-14)
        mc.PCA().fit(table[::2])


def test_the_raw_route_leaves_data_alone_too(small_limits: pytest.MonkeyPatch) -> None:
    table = X - X.mean(axis=0)
    with untouched(table):
        model = mc.PCA().fit(table)
        _ = model.individuals_.cos2
    assert "covariances" in model.spectrum_.how.method


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int64, np.float16, object])
def test_numbers_of_any_type_are_read(dtype: Any) -> None:
    table = RNG.integers(0, 2, (30, 4)).astype(dtype)
    near(mc.PCA().fit(table).inertias_, mc.PCA().fit(table.astype(float)).inertias_, 1e-14)


def test_single_precision_in_gives_single_precision_out() -> None:
    x = X.astype(np.float32)
    model = mc.PCA(2)
    assert model.fit_transform(x).dtype == np.float32
    assert model.transform(x).dtype == np.float32
    assert model.inverse_transform(model.transform(x)).dtype == np.float32
    near(model.inertias_, mc.PCA(2).fit(x.astype(float)).inertias_, 1e-14)


def test_a_point_alone_is_the_point_in_any_batch() -> None:
    model = mc.PCA(3).fit(X)
    alone = np.vstack([model.transform(NEW[i : i + 1]) for i in range(len(NEW))])
    near(alone, model.transform(NEW), 1e-14)
    near(model.transform(X), model.individuals_.coordinates, 1e-14)


def test_weights_are_routed_through_a_pipeline() -> None:
    direct = mc.PCA(2).fit_transform(X, sample_weight=WEIGHTS)
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(mc.PCA(2).set_fit_request(sample_weight=True)).fit_transform(
            X, sample_weight=WEIGHTS
        )
    near(routed, direct, 1e-14)
    assert mc.PCA(2).fit(X).get_feature_names_out().tolist() == ["pca0", "pca1"]


def test_a_fitted_model_survives_pickling() -> None:
    model = mc.PCA(3).fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.transform(NEW), model.transform(NEW))
    near(again.individuals_.cos2, model.individuals_.cos2, 1e-15)


@pytest.mark.parametrize("count", [0, -1, 2.5, "all"])
def test_what_is_no_number_of_axes_is_refused(count: Any) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="n_components"):
        mc.PCA(count).fit(X)


@pytest.mark.parametrize("weight", [[1.0], [1.0, 2.0, 3.0, 4.0, 0.0], [1, 1, 1, 1, -1]])
def test_column_weights_are_positive_and_one_for_each(weight: Any) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="column_weight must hold 5 positive"):
        mc.PCA(column_weight=weight).fit(X)


def test_more_axes_than_there_are_cannot_be_rebuilt_from() -> None:
    model = mc.PCA(2).fit(X)
    with pytest.raises(mc.errors.InvalidParameter, match="there are 2 axes, not 3"):
        model.reconstruction_error(3)
    with pytest.raises(mc.errors.InvalidInput, match="coordinates on 2 axes"):
        model.inverse_transform(np.ones((3, 4)))


def matrices(least: int = 3, most: int = 12) -> st.SearchStrategy[Array]:
    """Tables of different shapes and correlations, without repeated eigenvalues."""

    def table(n: int, p: int, seed: int) -> Array:
        rng = np.random.default_rng(seed)
        return np.asarray(rng.standard_normal((n, p)) * np.linspace(1, 3, p) + rng.uniform(-9, 9))

    return st.builds(table, st.integers(least, most), st.integers(1, 6), st.integers(0, 10**6))


@settings(max_examples=40)
@given(matrices(), st.integers(0, 10**6))
def test_permuting_moving_and_turning_change_nothing(x: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(x))
    turn = np.linalg.qr(rng.standard_normal((x.shape[1], x.shape[1])))[0]
    base = mc.PCA().fit(x)
    near(
        mc.PCA().fit(x[order]).individuals_.coordinates, base.individuals_.coordinates[order], 1e-9
    )
    near(mc.PCA().fit(x + 17.0).individuals_.coordinates, base.individuals_.coordinates, 1e-9)
    near(mc.PCA().fit(x @ turn).individuals_.coordinates, base.individuals_.coordinates, 1e-9)


@settings(max_examples=40)
@given(matrices(), st.integers(0, 10**6))
def test_inertia_adds_up_over_orthogonal_subspaces(x: Array, seed: int) -> None:
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((x.shape[1],) * 2))[0]
    cut = x.shape[1] // 2
    parts = [b for b in (basis[:, :cut], basis[:, cut:]) if b.shape[1]]
    total = sum(mc.PCA().fit(x @ b @ b.T).inertia_ for b in parts)
    whole = mc.PCA().fit(x)
    assert total == pytest.approx(whole.inertia_, rel=1e-10)
    assert whole.inertias_.sum() == pytest.approx(whole.inertia_, rel=1e-10)


@settings(max_examples=40)
@given(matrices(), st.integers(0, 10**6))
def test_a_row_of_weight_two_is_a_row_repeated(x: Array, seed: int) -> None:
    weights = np.random.default_rng(seed).integers(0, 3, len(x))
    weights[:2] = 1, 2
    weighted = mc.PCA().fit(x, sample_weight=weights)
    repeated = mc.PCA().fit(np.repeat(x, weights, axis=0))
    near(weighted.inertias_, repeated.inertias_, 1e-10)
    near(weighted.singular_values_, repeated.singular_values_, 1e-10)
    near(weighted.transform(x), repeated.transform(x), 1e-8)


@settings(max_examples=40)
@given(matrices())
def test_rows_and_columns_give_the_same_axes(x: Array) -> None:
    """The dual route: eigenvalues of XXᵀ, the linear kernel, are those of XᵀX."""
    pca, kernel = mc.PCA().fit(x), mc.KernelPCA().fit(x)
    near(kernel.inertias_, pca.inertias_, 1e-11)
    near(kernel.individuals_.coordinates, pca.individuals_.coordinates, 1e-8)


@pytest.mark.parametrize("shape", [(30, 4), (1200, 90), (60, 3000)])
def test_a_solver_that_returns_zeros_is_caught(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def zeros(solve: Any) -> Any:
        return lambda *args, **options: [0.0 * part for part in solve(*args, **options)]

    for name in ("eigh", "some_eigenvectors", "svd"):
        monkeypatch.setattr(two_sides, name, zeros(getattr(two_sides, name)))
    with pytest.raises(NotConverged, match="more than rounding explains"):
        mc.PCA(2).fit(np.random.default_rng(0).standard_normal(shape))


@pytest.mark.parametrize("shape", [(1200, 90), (90, 12_000)])
def test_a_solver_that_misses_the_first_axis_is_caught(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs of others solve their equation as well as the leading ones do."""
    x = np.random.default_rng(0).standard_normal(shape) * np.linspace(1.0, 3.0, shape[1])
    right = mc.PCA(2).fit(x)
    solve = vars(two_sides)["some_eigenvectors"]
    asked = []

    def next_ones(A: Array, subset_by_index: tuple[int, int], driver: str) -> Any:
        asked.append(subset_by_index)
        first, last = subset_by_index
        return solve(A, subset_by_index=(first - 1, last - 1), driver=driver)

    monkeypatch.setattr(two_sides, "some_eigenvectors", next_ones)
    near(mc.PCA(2).fit(x).inertias_, right.inertias_, 1e-12)
    assert asked


def test_scores_are_of_individuals_and_those_of_scaling_their_distances() -> None:
    x = np.random.default_rng(0).standard_normal((20, 3))
    model = mc.PCA(2).fit(x)
    assert model.components_.shape == (2, 3)
    near(model.components_ @ model.components_.T, np.eye(2), 1e-12)
    scores = model.individuals_.coordinates
    near(scores, mc.ClassicalMDS(2, metric="euclidean").fit_transform(x), 1e-12)
    near(scores, mc.KernelPCA(2, kernel=mc.Linear()).fit_transform(x), 1e-12)


def test_the_squared_norm_of_the_scores_is_the_sum_of_squared_singular_values() -> None:
    """Beeny writes ‖AV_p‖ for its square, and means that sum to n for those of d columns."""
    model = mc.PCA(2).fit(X)
    scores = model.individuals_.coordinates
    assert np.sum(scores**2) == pytest.approx(np.sum(model.singular_values_**2), rel=1e-12)
    assert np.linalg.norm(scores) != pytest.approx(np.sum(model.singular_values_**2), rel=0.1)
    assert model.mean_.shape == (5,)
    near(model.mean_, X.mean(axis=0), 1e-14)


def test_large_matrices_are_decomposed_where_other_threads_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """scipy's solver keeps the interpreter's lock, so that Ctrl-C would wait for it."""
    monkeypatch.setattr(mc.PCA, "limits", LARGE)
    few = mc.PCA(2).fit(X)
    monkeypatch.setattr(mc.PCA, "limits", replace(LARGE, held=0))
    monkeypatch.setattr(two_sides, "some_eigenvectors", None)
    near(mc.PCA(2).fit(X).inertias_, few.inertias_, 1e-13)


def test_no_affine_space_of_its_dimension_comes_nearer_to_the_data() -> None:
    """Yao's (1) and (2): the mean, the axes and the scores minimise the distance together."""
    model, rng = mc.PCA(2).fit(X), np.random.default_rng(0)
    best = model.reconstruction_error()
    rebuilt = model.inverse_transform(model.transform(X))
    assert np.linalg.norm(X - rebuilt) == pytest.approx(best, rel=1e-12)
    for size in 10.0 ** rng.uniform(-3, 0, 100):
        origin = model.mean_ + size * rng.standard_normal(5)
        basis = np.linalg.qr(model.components_.T + size * rng.standard_normal((5, 2)))[0]
        centred = X - origin
        assert np.linalg.norm(centred - centred @ basis @ basis.T) >= best * (1 - 1e-12)


def test_a_metric_of_individuals_is_a_bilinear_kernel() -> None:
    """Martin's M: diagonal as weights of columns, any other as the kernel xᵀMy."""
    m = np.array([1.0, 2.0, 0.5, 3.0, 1.5])
    weighted = mc.PCA(column_weight=m).fit(X, sample_weight=WEIGHTS)
    kernel = mc.KernelPCA(kernel=mc.kernels.Bilinear(np.diag(m))).fit(X, sample_weight=WEIGHTS)
    near(kernel.inertias_, weighted.inertias_, 1e-11)
    near(kernel.transform(NEW), weighted.transform(NEW), 1e-9)


FAR: dict[str, Any] = {
    "pca": mc.PCA(),
    "standardised": mc.PCA(standardize=True),
    "sparse": mc.PCA(),
    "linear": mc.KernelPCA(),
    "gaussian": mc.KernelPCA(3, kernel=mc.Gaussian(3.0)),
    "polynomial": mc.KernelPCA(3, kernel=mc.Polynomial(2)),
}


@pytest.mark.parametrize("name", FAR)
@pytest.mark.parametrize("far", [1e6, 1e20, 1e70])
def test_a_row_without_weight_changes_nothing_however_far_it_is(name: str, far: float) -> None:
    """What rounding does to it does not count as the rounding of the others."""
    table, weights = X.copy(), np.ones(60)
    table[0, 1], weights[0] = far, 0.0
    labels = np.where(X[:, 0] > 2.0, "right", "left")
    data = sparse.csr_array(table) if name == "sparse" else table
    model = clone(FAR[name]).fit(data, sample_weight=weights)
    expected = clone(FAR[name]).fit(data[1:])
    near(model.inertias_, expected.inertias_, 1e-10)
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-10)
    near(model.individuals_.coordinates[1:], expected.individuals_.coordinates, 1e-8)
    near(model.individuals_.cos2[1:], expected.individuals_.cos2, 1e-8)
    assert np.all(np.isfinite(model.individuals_.cos2[0]))
    near(model.variables_.correlations, expected.variables_.correlations, 1e-8)
    found = model.supplementary(categories=labels).categories
    right = expected.supplementary(categories=labels[1:]).categories
    near(found.cos2, right.cos2, 1e-8)


def test_what_cannot_be_squared_beside_the_others_is_refused_by_name() -> None:
    table = X.copy()
    table[0, 1] = 1e200
    weights = np.r_[0.0, np.ones(59)]
    for data in (table, sparse.csr_array(table)):
        with pytest.raises(mc.errors.InvalidInput, match=r"without weight reaches 1e\+200"):
            mc.PCA(standardize=True).fit(data, sample_weight=weights)
    model = mc.PCA().fit(X)
    assert np.all(np.isfinite(model.transform(table)))
    with pytest.raises(mc.errors.InvalidInput, match="individual 0 is so far"):
        model.supplementary(individuals=table)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95, 0.999])
def test_a_share_of_the_inertia_keeps_the_fewest_axes_that_hold_it(share: float) -> None:
    x = np.random.default_rng(0).standard_normal((60, 8)) * np.arange(1.0, 9.0)
    model, theirs = mc.PCA(share).fit(x), decomposition.PCA(share, svd_solver="full").fit(x)
    assert model.n_components_ == theirs.n_components_
    np.testing.assert_allclose(
        model.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9
    )
    held = model.explained_variance_ratio_
    assert held.sum() >= share > held[:-1].sum()
    same = mc.PCA(model.n_components_).fit(x)
    np.testing.assert_allclose(model.transform(x[:5]), same.transform(x[:5]), atol=1e-12)
    assert model.noise_variance_ == pytest.approx(same.noise_variance_, rel=1e-9)
    linear = mc.KernelPCA(share).fit(x)
    assert linear.individuals_.coordinates.shape == model.individuals_.coordinates.shape
    np.testing.assert_allclose(linear.transform(x[:5]), model.transform(x[:5]), atol=1e-8)
    assert model.get_feature_names_out().shape == (model.n_components_,)


def test_a_share_of_equal_inertias_is_reached_but_for_rounding() -> None:
    x = np.vstack([np.eye(4), -np.eye(4)])  # four axes of a quarter each
    with pytest.warns(DegenerateAxes):
        assert mc.PCA(0.5).fit(x).n_components_ == 2


@pytest.mark.parametrize("share", [0.0, 1.5, -0.5, "most", True, np.nan])
def test_what_is_neither_a_number_of_axes_nor_a_share_is_refused(share: Any) -> None:
    x = np.random.default_rng(0).standard_normal((10, 3))
    for model in (mc.PCA(share), mc.KernelPCA(share)):
        with pytest.raises(
            mc.errors.InvalidParameter, match="a share of the inertia between 0 and 1"
        ):
            model.fit(x)


def test_a_share_of_many_individuals_is_sought_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3_200, 40)) * np.r_[5.0, 4.0, 3.0, np.full(37, 1.0)]
    model = mc.KernelPCA(0.8, tol=1e-6).fit(x)
    exact = mc.PCA().fit(x).explained_variance_ratio_
    assert len(model.inertias_) == int(np.argmax(np.cumsum(exact) >= 0.8)) + 1 > 16
    np.testing.assert_allclose(
        model.explained_variance_ratio_, exact[: len(model.inertias_)], rtol=1e-5
    )
    monkeypatch.setattr(mc.KernelPCA, "limits", Limits(most_axes=16))
    with pytest.raises(
        mc.errors.InvalidParameter, match=r"16 axes hold 0\.7.* give the number of axes"
    ):
        mc.KernelPCA(0.8, tol=1e-6).fit(x)
