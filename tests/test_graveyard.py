"""Bugs that other libraries had, one test each: what happened there must not happen here.

The number in a test's name is its row in the list of such bugs. Six rows are tests of the kernels
themselves and stand beside those; `ELSEWHERE` says where.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.kernel_ridge import KernelRidge

import mercer as mc
from mercer import Gram
from mercer.check import Array
from mercer.errors import ConstantColumns, DegenerateAxes, FewerAxes, NoInertia, NotConverged
from mercer.kernels.definite import LARGEST_MATRIX
from mercer.lowrank import nystrom
from mercer.sklearn import KernelPCA
from mercer.spectrum import Limits, leading, two_sides
from mercer.spectrum.leading import chosen_method
from tests.oracles import untouched
from tests.references import aligned, near, reference

EPSILON = float(np.finfo(float).eps)
RNG = np.random.default_rng(17)
X = RNG.standard_normal((30, 3)) * [3.0, 2.0, 1.0]
NEW = RNG.standard_normal((7, 3))
GAUSSIAN = mc.Gaussian(2.0)

ELSEWHERE = {
    34: ("test_radial.py", "test_kernels_keep_their_accuracy_far_from_the_origin"),
    35: ("test_radial.py", "test_single_precision_is_computed_in_double_and_returned_single"),
    36: ("test_radial.py", "test_no_size_changes_the_answer"),
    37: ("test_radial.py", "test_smooth_matern_kernels_are_one_where_bessel_functions_overflow"),
    38: ("test_radial.py", "test_matern_agrees_with_the_reference_file"),
    39: ("test_radial.py", "test_infinite_order_is_the_gaussian_with_its_derivatives"),
}


@pytest.mark.parametrize("row", ELSEWHERE)
def test_rows_tested_elsewhere_are_still_tested(row: int) -> None:
    file, name = ELSEWHERE[row]
    assert f"def {name}(" in next(Path(__file__).parent.rglob(file)).read_text()


def indefinite(n: int, *, shift: float = 10.0) -> Array:
    """Return XXᵀ - 3I, with a shift that centring removes and that hides it on the diagonal."""
    x = np.random.default_rng(n).standard_normal((n, 3))
    return np.asarray(x @ x.T - 3.0 * np.eye(n) + shift)


def given(n_components: int | None = 2, **settings: Any) -> mc.KernelPCA:
    return mc.KernelPCA(n_components, kernel="precomputed", **settings)


@pytest.mark.parametrize("kernel", [mc.Linear(), mc.Polynomial(2, 1.0, 1.0)], ids=str)
def test_01_axes_without_inertia_are_not_divided_by(kernel: mc.Kernel) -> None:
    """scikit-learn kept zero eigenvalues and divided by them when transforming (#12141)."""
    flat = np.column_stack([X[:, 0], X[:, 1], X[:, 0] - X[:, 1]])
    model = mc.KernelPCA(kernel=kernel)
    scores = model.fit_transform(flat)
    assert scores.shape[1] == model.spectrum_.rank
    assert scores.shape[1] < 29
    assert np.all(model.inertias_ > model.spectrum_.threshold)
    np.testing.assert_allclose(model.transform(flat), scores, atol=1e-8 * np.abs(scores).max())


def test_02_a_sigmoid_that_is_no_kernel_is_refused_with_its_negative_mass() -> None:
    """scikit-learn took the root of a negative eigenvalue and returned NaN (#8368, its data)."""
    data = np.array(
        [
            [0.766655, 0.682869, 0.390646, 0.760579, 0.420476],
            [0.228259, 0.215964, 0.850258, 0.586082, 0.772744],
            [0.844907, 0.622898, 0.590107, 0.0109604, 0.368699],
            [0.107109, 0.237776, 0.319929, 0.870119, 0.972007],
            [0.494486, 0.373545, 0.887394, 0.185106, 0.189797],
            [0.391528, 0.80944, 0.100942, 0.981701, 0.169761],
        ]
    )
    K = np.tanh(4.0 * data @ data.T)
    H = np.eye(6) - 1 / 6
    values = np.linalg.eigvalsh(H @ K @ H)
    mass = 100 * np.abs(values[values < 0]).sum() / np.abs(values).sum()
    with pytest.raises(
        mc.errors.NotPositiveDefinite, match=rf"{mass:.3g} % .*Choose a positive definite"
    ):
        mc.KernelPCA(5, kernel=mc.kernels.Sigmoid(4.0, 0.0)).fit(data)


def test_03_an_ill_conditioned_matrix_shows_its_rank() -> None:
    """scikit-learn gave no sign that eigenvalues were below rounding (#12140)."""
    n = 12
    hilbert = 1.0 / (np.arange(n)[:, None] + np.arange(n) + 1.0)
    spectrum = given(None).fit(hilbert).spectrum_
    assert spectrum.rank is not None
    assert 8 <= spectrum.rank < n - 1
    assert spectrum.threshold == pytest.approx(n * EPSILON * np.trace(hilbert) / n, rel=1e-12)
    assert spectrum.values[0] / spectrum.values[spectrum.rank - 1] < 1 / EPSILON


def test_04_an_indefinite_matrix_is_refused_or_said_to_be_unverified() -> None:
    """scikit-learn checked only the two eigenvalues it had computed and accepted XXᵀ - 3I."""
    with pytest.raises(mc.errors.NotPositiveDefinite, match="squared norm"):
        given().fit(indefinite(40, shift=0.0))
    with pytest.raises(mc.errors.NotPositiveDefinite, match="% of its eigenvalues"):
        given().fit(indefinite(40))
    with pytest.raises(mc.errors.NotPositiveDefinite, match="the axes show"):
        given(method="exact", random_state=0).fit(indefinite(40))
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 40)))[0]
    K = (Q * np.r_[5.0, 4.0, np.ones(37), -1.0]) @ Q.T  # which two axes do not betray
    spectrum = given(method="exact", random_state=0).fit((K + K.T) / 2).spectrum_
    assert (spectrum.psd, spectrum.negative_mass) == ("not verified", None)


def test_05_an_asymmetric_matrix_is_refused_by_its_worst_entry() -> None:
    """scikit-learn accepted a Gram matrix with one entry wrong, and a random matrix."""
    assert_names_the_asymmetric_entry()
    with pytest.raises(mc.errors.InvalidInput, match="not symmetric"):
        given().fit(RNG.standard_normal((30, 30)))


def test_06_parameters_are_frozen_at_the_fit() -> None:
    """scikit-learn took gamma anew from the number of components (issues 26280 and 13099)."""
    drop_in = KernelPCA(2, kernel="rbf", fit_inverse_transform=True, alpha=0.1)
    scores = drop_in.fit_transform(X)
    assert drop_in.gamma_ == 1 / 3
    ridge = KernelRidge(alpha=0.1, kernel="rbf", gamma=1 / 3).fit(scores, X)
    near(drop_in.inverse_transform(scores[:5]), ridge.predict(scores[:5]), 1e-10)
    model = mc.KernelPCA(2, kernel=mc.Gaussian("scale")).fit(X)
    frozen = mc.KernelPCA(2, kernel=mc.Gaussian("scale").resolve(X)).fit(X)
    new = model.transform(NEW)
    near(model.inverse_transform(new), frozen.inverse_transform(new), 1e-12)
    assert model.kernel_ == frozen.kernel_


def test_07_the_way_back_through_the_linear_kernel_is_that_of_pca() -> None:
    """scikit-learn lost the mean, and a ridge at reconstruction shrank the rest (issue 18902)."""
    moved = X + [10.0, -20.0, 30.0]
    for count in (1, 2, 3):
        kernel, pca = mc.KernelPCA(count).fit(moved), mc.PCA(count).fit(moved)
        expected = pca.inverse_transform(pca.transform(moved))
        near(kernel.inverse_transform(kernel.transform(moved)), expected, 1e-10)
    near(kernel.inverse_transform(kernel.transform(moved)), moved, 1e-10)


@pytest.mark.parametrize("method", ["dense", "exact", "nystrom"])
@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateAxes")
def test_08_repeated_fits_have_the_same_signs(method: str) -> None:
    """ARPACK's random start gave scikit-learn other signs at every run (#8798)."""
    fits = [
        mc.KernelPCA(3, kernel=GAUSSIAN, method=method, random_state=seed).fit_transform(X)
        for seed in (0, 1, None)
    ]
    for scores in fits:
        assert_signs_follow_the_rule(scores)
        assert np.all(np.sum(scores * fits[0], axis=0) > 0)


def test_09_few_axes_are_the_first_of_many_above_the_rank() -> None:
    """In scikit-learn 53 axes and all axes disagreed: they compared null spaces (#5970)."""
    x = np.random.default_rng(3).standard_normal((80, 2))
    # Eigenvalues come near rounding, then reach it.
    with pytest.warns(DegenerateAxes, match="28 to"), pytest.warns(FewerAxes, match="53"):
        few = mc.KernelPCA(53, kernel=mc.Gaussian(3.0)).fit(x)
    every = mc.KernelPCA(kernel=mc.Gaussian(3.0)).fit(x)
    assert len(few.inertias_) == every.spectrum_.rank
    near(few.inertias_, every.inertias_, 1e-13)
    apart = few.spectrum_.clusters[0][0]
    scores = few.individuals_.coordinates[:, :apart]
    near(scores, every.individuals_.coordinates[:, :apart], 1e-8)


def test_10_many_points_are_refused_before_memory_is_taken_or_need_no_matrix() -> None:
    """scikit-learn allocated 80 000 × 80 000 numbers and died (#19479, #9690)."""
    many = np.zeros((80_000, 2))
    tracemalloc.start()
    with pytest.raises(mc.errors.InvalidParameter, match=r"51 GB; use method='exact'"):
        mc.KernelPCA(2, kernel=GAUSSIAN, method="dense").fit(many)
    with pytest.raises(mc.errors.InvalidParameter, match="give a number"):
        mc.KernelPCA(kernel=GAUSSIAN).fit(many)
    with pytest.raises(MemoryError, match=r"nystrom.*landmarks=\d+"):
        mc.KernelPCA(2, kernel=GAUSSIAN, memory="50MB").fit(many)
    assert tracemalloc.get_traced_memory()[1] < 2**26
    cost = mc.plan(mc.KernelPCA(2, kernel=GAUSSIAN), 80_000, 2)
    assert (cost.method, cost.fits) == ("exact", True)
    n = 5_000
    tracemalloc.reset_peak()
    model = mc.KernelPCA(2, kernel=GAUSSIAN, random_state=0, tol=1e-6)
    model.fit(np.random.default_rng(0).standard_normal((n, 2)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * n / 3


def test_11_the_callers_matrix_is_left_alone() -> None:
    """MultivariateStats.jl centred the caller's Gram matrix in place (pull 208)."""
    K, cross, D = GAUSSIAN(X), GAUSSIAN(NEW, X), squareform(pdist(X))
    with untouched(X, K, cross, D):
        given().fit(K).transform(cross)
        given(method="exact", random_state=0).fit(K)
        mc.PCA(standardize=True).fit(X).transform(X)
        mc.ClassicalMDS(2, correction="cailliez").fit(D)
        mc.StressMDS(2, random_state=0).fit(D)


@pytest.mark.parametrize("count", [1, 7, 30, 200])
def test_12_there_may_be_more_new_points_than_old_ones(count: int) -> None:
    """MultivariateStats.jl read uninitialised memory where new points were more (#143, #44)."""
    new = np.random.default_rng(count).standard_normal((count, 3))
    for kernel in (GAUSSIAN, mc.Laplacian(2.0), mc.Linear()):
        K, cross, H = kernel(X), kernel(new, X), np.eye(30) - 1 / 30
        values, vectors = np.linalg.eigh(H @ K @ H)
        expected = (cross - K.mean(axis=0)) @ H @ vectors[:, ::-1][:, :2] / np.sqrt(values[:-3:-1])
        found = mc.KernelPCA(2, kernel=kernel).fit(X).transform(new)
        near(aligned(found, expected), expected, 1e-11)


def test_13_rows_of_a_centred_matrix_sum_to_zero() -> None:
    """mlpack subtracted means of rows that had been centred already (#337, #343, #270)."""
    for kernel in (GAUSSIAN, mc.Linear(), mc.Polynomial(3, 1.0, 1.0)):
        K = kernel(X)
        rows = Gram(kernel, X).centred().dense().sum(axis=1)
        assert np.max(np.abs(rows)) <= 30 * EPSILON * np.linalg.norm(K, 2)


def test_14_new_points_are_centred_with_the_training_means() -> None:
    """Beeny's listing 4 subtracts the means of the test points."""
    for kernel in (GAUSSIAN, mc.Linear()):
        assert_no_batch_matters(mc.KernelPCA(2, kernel=kernel).fit(X))


def test_15_texts_graphs_and_sets_are_data_like_any_other() -> None:
    """With a callable, scikit-learn's kernel PCA still tried to make numbers of strings."""
    words = ["gene", "genes", "genome", "protein", "proteome"]
    shared = mc.FromFunction(lambda a, b: float(len(set(a) & set(b))))
    path = mc.Graph([(0, 1), (1, 2)])
    graphs = [path, mc.Graph([(0, 1), (1, 2), (2, 0)]), mc.Graph([(0, 1)])]
    baskets = [{1, 2}, {2, 3}, {1, 2, 3}, set()]
    data: list[tuple[Any, Any]] = [
        (shared, words),
        (mc.kernels.StringSpectrum(2), words),
        (mc.kernels.WeisfeilerLehman(2), graphs),
        (mc.kernels.Intersection(), baskets),
    ]
    for kernel, points in data:
        model = mc.KernelPCA(2, kernel=kernel)
        scores = model.fit_transform(points)
        np.testing.assert_allclose(model.transform(points), scores, atol=1e-10)
        np.testing.assert_allclose(
            given().fit(kernel(points)).inertias_, model.inertias_, rtol=1e-10
        )


@pytest.mark.parametrize("unit", [1e200, 1e-200], ids=["16", "17"])
@pytest.mark.parametrize(
    ("model", "has_unit"),
    [
        pytest.param(mc.PCA(), True, id="PCA"),
        pytest.param(mc.PCA(standardize=True), False, id="standardised"),
        pytest.param(mc.KernelPCA(3), True, id="linear"),
        pytest.param(mc.KernelPCA(3, kernel=mc.Gaussian("median")), False, id="gaussian"),
    ],
)
def test_16_17_huge_and_tiny_data_have_the_same_shares_and_coordinates(
    model: Any, has_unit: bool, unit: float
) -> None:
    """scikit-learn: NaN from an inner class, infinite variances; or ratios NaN, eigenvalues 0."""
    scores, shares = model.fit_transform(X), model.explained_variance_ratio_
    found = model.fit_transform(unit * X)
    near(found / (unit if has_unit else 1.0), scores, 1e-12)
    near(model.explained_variance_ratio_, shares, 1e-12)


@pytest.mark.parametrize("unit", [1e200, 1e-200], ids=["16", "17"])
@pytest.mark.parametrize("model", [mc.PCA(), mc.KernelPCA()], ids=["PCA", "linear"])
def test_16_17_inertias_that_are_no_doubles_are_refused_by_name(model: Any, unit: float) -> None:
    model.fit(unit * X)
    for name in ("inertias_", "inertia_", "explained_variance_"):
        with pytest.raises(mc.errors.InvalidInput, match="outside the range of double precision"):
            getattr(model, name)


def test_18_a_large_negative_eigenvalue_keeps_its_sign_and_is_not_leading() -> None:
    """Singular values turned into eigenvalues lose their sign (scikit-learn, pull 12069)."""
    n = 60
    Q = np.linalg.qr(np.random.default_rng(5).standard_normal((n, n)))[0]
    values = np.r_[5.0, 3.0, np.full(n - 3, 0.1), -10.0]
    K = (Q * values) @ Q.T
    operator = Gram(mc.Precomputed((K + K.T) / 2), np.arange(n))
    for method in ("dense", "exact"):
        np.testing.assert_allclose(
            leading(operator, 2, method=method, random_state=0).values, [5, 3], rtol=1e-8
        )
    assert leading(operator, n, method="dense", random_state=0).values[-1] == pytest.approx(-10.0)


@pytest.mark.parametrize("x", [X[:1], np.full((6, 3), 0.1)], ids=["one row", "constant"])
@pytest.mark.parametrize("model", [mc.PCA(), mc.KernelPCA(), mc.KernelPCA(kernel=GAUSSIAN)])
def test_19_data_without_inertia_have_empty_shares_and_a_warning(model: Any, x: Array) -> None:
    """scikit-learn's explained_variance_ratio_ was NaN."""
    why = "one individual" if len(x) == 1 else "all 6 individuals coincide"
    with pytest.warns(NoInertia, match=f"^{why}: the inertia is 0"):
        model.fit(x)
    assert model.inertia_ == 0.0
    assert model.explained_variance_ratio_.shape == (0,)
    assert model.transform(NEW).shape == (7, 0)


def test_20_a_constant_column_is_named_and_left_out_or_refused() -> None:
    """prince put NaN into correlations and cos2 without a word."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "same": 7.3, "b": X[:, 1]})
    with pytest.warns(ConstantColumns, match="cannot be standardised: same; they are left out"):
        model = mc.PCA(standardize=True).fit(frame)
    near(model.inertias_, mc.PCA(standardize=True).fit(X[:, :2]).inertias_, 1e-13)
    assert np.all(np.isfinite(model.individuals_.cos2))
    with pytest.raises(mc.errors.InvalidInput, match="same"):
        mc.PCA(standardize=True, constant_columns="error").fit(frame)


@pytest.mark.parametrize("standardize", [True, False])
def test_21_supplementary_columns_are_those_of_factominer_weighted_and_not(
    standardize: bool,
) -> None:
    """prince was off by √n, and its tests dropped exactly those rows (pull 229)."""
    content = reference("pca_decathlon_scaled_sup")
    table, extra = np.array(content["X"])[:, :10], np.array(content["X"])[:, 10:12]
    model = mc.PCA(standardize=standardize)

    def placed(rows: Array, weights: Array | None = None) -> Any:
        fitted = model.fit(table[rows], sample_weight=weights)
        return fitted.supplementary(variables=extra[rows]).variables

    if standardize:
        expected = np.array(content["result"]["quanti_sup"]["coord"])
        near(aligned(placed(np.arange(41)).coordinates, expected), expected)
    counts = np.arange(1, 42) % 4
    weighted, repeated = placed(np.arange(41), counts), placed(np.repeat(np.arange(41), counts))
    near(weighted.coordinates, repeated.coordinates)
    near(weighted.correlations, repeated.correlations)


@pytest.mark.parametrize("model", [mc.PCA(), mc.KernelPCA(2), mc.ClassicalMDS(metric="euclidean")])
def test_22_columns_of_equal_name_are_refused_in_one_sentence(model: Any) -> None:
    """prince let an error of another library through."""
    pandas = pytest.importorskip("pandas")
    with pytest.raises(mc.errors.InvalidInput, match="two columns of X are named 'a'; rename one"):
        model.fit(pandas.DataFrame(X[:, :2], columns=["a", "a"]))


def test_23_a_group_of_one_row_has_its_place_and_its_test() -> None:
    """prince divided by the group's n - 1 and crashed in the plot (#131)."""
    groups = ["alone", *["many"] * 29]
    for model in (mc.PCA().fit(X), mc.KernelPCA(2, kernel=GAUSSIAN).fit(X)):
        found = model.supplementary(categories={"group": groups}).categories
        assert found is not None
        for values in (found.coordinates, found.cos2, found.v_test, found.eta2):
            assert np.all(np.isfinite(values))
        np.testing.assert_allclose(found.coordinates[0], model.individuals_.coordinates[0])


def test_24_missing_values_are_refused_by_their_place_or_treated_as_asked_never_as_zero() -> None:
    """statsmodels computed something else (pull 3351), artMS put 0 (#171)."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    frame.loc[4, "b"] = np.nan
    for model in (mc.PCA(), mc.KernelPCA(2), mc.KernelPCA(2, kernel=GAUSSIAN)):
        with pytest.raises(mc.errors.InvalidInput, match=r"row 4, column 1.*NaN.*impute"):
            model.fit(frame)
    with pytest.raises(mc.errors.InvalidInput, match='1 number is missing, in column "b"'):
        mc.read(frame)
    dropped = mc.read(frame, "table", missing="drop").matrix()
    assert np.array_equal(dropped, np.delete(X[:, :2], 4, axis=0))
    filled = mc.read(frame, "table", missing="mean").matrix()
    assert filled[4, 1] == pytest.approx(dropped[:, 1].mean())


def test_25_columns_without_variance_change_nothing_in_any_back_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """adegenet's C and R code disagreed on them, and loadings were NaN (pull 380)."""
    x = np.column_stack([X[:, 0], np.full(30, 4.0), X[:, 1:], np.zeros(30)])
    expected = mc.PCA().fit(x)
    assert expected.n_components_ == 3

    def agree(model: Any, scores: Array) -> None:
        near(model.inertias_, expected.inertias_, 1e-12)
        near(scores, expected.individuals_.coordinates, 1e-10)

    kernel = mc.KernelPCA()
    agree(kernel, kernel.fit_transform(x))
    scattered = mc.PCA()
    agree(scattered, scattered.fit_transform(sparse.csr_array(x)))
    assert np.all(np.isfinite(scattered.components_))
    monkeypatch.setattr(mc.PCA, "limits", Limits(table_entries=0))
    for rows in (x, np.vstack([x] * 2)):
        by_columns = mc.PCA().fit(rows)
        assert "covariances" in by_columns.spectrum_.how.method
        agree(by_columns, by_columns.individuals_.coordinates[:30])
    wide = mc.PCA().fit(np.hstack([x, np.ones((30, 40))]))
    assert "inner products" in wide.spectrum_.how.method
    agree(wide, wide.individuals_.coordinates)


EURODIST = reference("mds_eurodist")
EUROPE = np.array(EURODIST["D"], dtype=float)


def test_29_axes_exist_for_positive_eigenvalues_only() -> None:
    """scikit-learn's ClassicalMDS gave 4 columns of NaN for 15 axes of eurodist."""
    values = np.array(EURODIST["eig"])
    with pytest.warns(mc.errors.FewerAxes, match="there are 11 axes, fewer than the 15"):
        model = mc.ClassicalMDS(15).fit(EUROPE)
    positive = int(np.sum(values > 1e-9 * values[0]))
    assert model.embedding_.shape == (21, min(15, positive))
    assert np.all(np.isfinite(model.embedding_))
    expected = np.abs(values[values < -1e-9 * values[0]]).sum() / np.abs(values).sum()
    assert model.negative_mass_ == pytest.approx(expected, rel=1e-9)
    repaired = mc.ClassicalMDS(15, correction="cailliez").fit(EUROPE)
    assert repaired.correction_constant_ == pytest.approx(EURODIST["add_constant"], rel=1e-9)
    assert np.all(repaired.corrected_eigenvalues_ >= -1e-9 * values[0])


def test_30_both_proportions_of_cmdscale_are_there_and_named() -> None:
    """In scikit-bio it was unclear which eigenvalues count (#1480)."""
    goodness = mc.ClassicalMDS(2).fit(EUROPE).goodness_
    np.testing.assert_allclose([goodness.absolute, goodness.positive], EURODIST["GOF"], rtol=1e-10)


def test_31_a_negative_eigenvalue_larger_than_all_gives_no_absurd_share() -> None:
    """PCAngsd printed shares of 230 % and -290 % (#55)."""
    D = np.zeros((20, 20))
    D[10:, 10:] = 1.0 - np.eye(10)  # ten points apart from each other and at 0 from ten others
    with pytest.warns(mc.errors.DegenerateAxes, match="1 and 2"):
        model = mc.ClassicalMDS(2).fit(D)
    assert -model.eigenvalues_[-1] > 2 * model.eigenvalues_[0]
    for share in (*model.goodness_, model.negative_mass_):
        assert 0.0 <= share <= 1.0
    assert model.negative_mass_ > 0.3


def test_32_ordinal_scaling_is_at_least_as_good_as_that_of_r() -> None:
    """scikit-learn's nonmetric MDS could not reproduce MASS for years (#18933, pull 30514)."""
    content = reference("stressmds_swiss")
    D = squareform(pdist(np.array(content["X"])))
    model = mc.StressMDS(2, loss="ordinal", random_state=0).fit(D)
    assert model.stress_ <= content["iso_stress_percent"] / 100 * (1 + 1e-6)


def test_33_the_stress_is_that_of_the_returned_coordinates() -> None:
    """scikit-learn returned the stress of the step before (#16846)."""
    model = mc.StressMDS(2, random_state=0).fit(EUROPE)
    d, delta = pdist(model.embedding_), squareform(EUROPE)
    stress = np.sqrt(1 - (d @ delta) ** 2 / ((d @ d) * (delta @ delta)))
    assert model.stress_ == pytest.approx(stress, abs=1e-12)


def test_40_repeated_landmarks_are_harmless() -> None:
    """scikit-learn's Nyström divided by zero where landmarks repeat (#1860)."""
    landmarks = np.repeat(X[:5], 3, axis=0)
    found = nystrom(Gram(GAUSSIAN, X), 15, landmarks=landmarks, random_state=0)
    plain = nystrom(Gram(GAUSSIAN, X), 5, landmarks=X[:5], random_state=0)
    np.testing.assert_allclose(found.dense(), plain.dense(), atol=1e-10)
    copies = np.repeat(X[:6], 20, axis=0)
    model = mc.KernelPCA(3, kernel=GAUSSIAN, method="nystrom", random_state=0).fit(copies)
    exact = mc.KernelPCA(3, kernel=GAUSSIAN).fit(copies)
    np.testing.assert_allclose(model.inertias_, exact.inertias_, rtol=1e-8)


@pytest.mark.parametrize("landmarks", [4, 40])
def test_41_an_indefinite_matrix_has_no_approximation(landmarks: int) -> None:
    """scikit-learn's Nyström was silent, and its product was off by 5.9."""
    with pytest.raises(mc.errors.MercerError, match="positive|negative"):
        given(method="nystrom", landmarks=landmarks, random_state=0).fit(indefinite(40))


def test_52_sizes_that_overflow_lapack_are_never_passed_to_it() -> None:
    """From 32 767 rows on numpy and scipy returned zeros, or crashed (numpy #25564, #13956)."""
    assert LARGEST_MATRIX < 32_767
    assert chosen_method(32_767, 10) == "exact"
    with pytest.raises(mc.errors.InvalidParameter, match="32766.*use method='exact'"):
        leading(Gram(mc.Linear(), np.zeros((32_767, 1))), 2, method="dense", random_state=0)
    with pytest.raises(mc.errors.InvalidParameter, match="beyond what LAPACK addresses"):
        two_sides._refuse_huge(32_767, Limits())


@pytest.mark.parametrize("model", [mc.KernelPCA(2, kernel=GAUSSIAN), mc.PCA()])
def test_52_a_solver_that_returns_zeros_is_noticed(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such sizes left zeros in place of eigenvectors (numpy #25564, scipy #11080)."""

    def zeros(A: Array, **_: Any) -> tuple[Array, Array]:
        return np.zeros(len(A)), np.zeros(A.shape)

    monkeypatch.setattr("mercer.spectrum.dense.eigh", zeros)
    monkeypatch.setattr("mercer.spectrum.two_sides.eigh", zeros)
    monkeypatch.setattr(mc.PCA, "limits", Limits(table_entries=0))
    with pytest.raises(NotConverged, match="more than rounding explains"):
        model.fit(X)


def assert_no_batch_matters(model: Any) -> None:
    """Assert that a point has one place, alone or among others, and training points theirs."""
    together = model.transform(NEW)
    alone = np.vstack([model.transform(NEW[i : i + 1]) for i in range(len(NEW))])
    np.testing.assert_allclose(alone, together, atol=1e-10)
    np.testing.assert_allclose(model.transform(X[:9]), model.individuals_.coordinates[:9], 1e-8)


def assert_inertia_is_the_variance(model: Any) -> None:
    """Assert that weights sum to one: the inertia is the variance with divisor n."""
    assert model.fit(X).inertia_ == pytest.approx(X.var(axis=0).sum(), rel=1e-12)


def assert_signs_follow_the_rule(scores: Array) -> None:
    """Assert that the score of largest modulus on each axis is positive."""
    assert np.all(scores[np.argmax(np.abs(scores), axis=0), np.arange(scores.shape[1])] > 0)


def assert_names_the_asymmetric_entry() -> None:
    """Assert that a matrix with one wrong entry is refused, and the entry named."""
    K = GAUSSIAN(X)
    K[2, 7] += 5.0
    said = "accepted"
    try:
        given().fit(K)
    except mc.errors.MercerError as error:
        said = f"{type(error).__name__}: {error}"
    assert said.startswith("InvalidInput")
    assert "(2, 7)" in said


def centred_with_test_means(self: mc.KernelPCA, new: Array) -> Array:
    """Transform as Beeny's listing 4 does."""
    cross = np.asarray(self.kernel_(new, self.X_fit_))
    scores: Array = (cross - cross.mean(axis=0)) @ self.eigenvectors_ / np.sqrt(self.eigenvalues_)
    return scores


def divided_by_one_less(weights: Array) -> Array:
    return np.asarray(weights, float) / (len(weights) - 1)


def all_signs_of(check: Callable[[Array], None]) -> None:
    for seed in range(4):
        x = np.random.default_rng(seed).standard_normal((20, 5))
        check(mc.KernelPCA(4, kernel=GAUSSIAN).fit_transform(x))
        check(mc.PCA().fit_transform(x))


def test_the_checks_fail_where_new_points_are_centred_with_their_own_means(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mc.KernelPCA, "transform", centred_with_test_means)
    with pytest.raises(AssertionError):
        assert_no_batch_matters(mc.KernelPCA(2, kernel=GAUSSIAN).fit(X))


@pytest.mark.parametrize("model", [mc.PCA(), mc.KernelPCA()])
def test_the_checks_fail_where_sums_are_divided_by_one_less(
    monkeypatch: pytest.MonkeyPatch, model: Any
) -> None:
    assert_inertia_is_the_variance(model)
    for place in ("mercer.pca.linear", "mercer.pca.kernel_pca", "mercer.operators"):
        monkeypatch.setattr(f"{place}.shares_of", divided_by_one_less)
    with pytest.raises(AssertionError):
        assert_inertia_is_the_variance(model)


def test_the_checks_fail_without_the_rule_of_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    all_signs_of(assert_signs_follow_the_rule)
    for place in ("mercer.spectrum.axes_and_signs.signs", "mercer.pca.centred_tables.signs"):
        with monkeypatch.context() as planted:
            planted.setattr(place, lambda scores: np.ones(scores.shape[1]))
            with pytest.raises(AssertionError):
                all_signs_of(assert_signs_follow_the_rule)


def test_the_checks_fail_where_asymmetry_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.kernels.given.worst_asymmetry", lambda matrix: (0.0, (0, 0)))
    with pytest.raises(AssertionError):
        assert_names_the_asymmetric_entry()
