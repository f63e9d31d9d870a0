from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn import config_context, decomposition
from sklearn.base import clone
from sklearn.decomposition import KernelPCA as Peer
from sklearn.exceptions import SkipTestWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import mercer as mc
from mercer.check import Array
from mercer.errors import DegenerateAxes, NoInertia
from mercer.spectrum import signs
from tests.oracles import LINE
from tests.references import aligned, near, reference

RNG = np.random.default_rng(8)
X = RNG.standard_normal((80, 4))
NEW = RNG.standard_normal((13, 4))
EPSILON = float(np.finfo(float).eps)


def latent(n: int) -> Array:
    rng = np.random.default_rng(0)
    surface = np.tanh(rng.standard_normal((n, 3)) @ rng.standard_normal((3, 6)))
    return np.asarray(surface + 0.1 * rng.standard_normal((n, 6)))


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [mc.KernelPCA(2, kernel=mc.Gaussian(1.0)), mc.KernelPCA(2), mc.KernelPCA(kernel="laplacian()")],
    expected_failed_checks=lambda _: LINE,
    xfail_strict=True,
)
def test_the_protocol_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


NO_GRAM = "random numbers are no Gram matrix: some k(x, x) is negative"
ROUNDED = "a Gram matrix cut to single precision, or to whole numbers, is none in double precision"
HERMITIAN = "a Hermitian Gram matrix is one of complex numbers"


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [mc.KernelPCA(2, kernel="precomputed")],
    expected_failed_checks=lambda _: {
        "check_positive_only_tag_during_fit": NO_GRAM,
        "check_complex_data": HERMITIAN,
        "check_estimators_dtypes": ROUNDED,
    },
    xfail_strict=True,
)
def test_the_protocol_is_kept_with_a_gram_matrix(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_protocol_leaves_objects_alone() -> None:
    """scikit-learn has no checks for points that are not rows; what it can check is kept."""
    model = mc.KernelPCA(2, kernel=mc.kernels.StringSpectrum(2))
    assert not model.__sklearn_tags__().input_tags.two_d_array
    with pytest.warns(SkipTestWarning, match="requires input"):
        found = check_estimator(model)
    assert all(one["status"] == "passed" for one in found)


@pytest.mark.parametrize("gamma", [0.05, 0.5, 2.0])
def test_eigenvalues_and_scores_are_those_of_scikit_learn(gamma: float) -> None:
    ours = mc.KernelPCA(5, kernel=f"rbf(gamma={gamma})").fit(X)
    theirs = Peer(5, kernel="rbf", gamma=gamma, eigen_solver="dense").fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-11)
    expected = theirs.transform(NEW)
    found = ours.transform(NEW)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-10)


def test_the_linear_kernel_gives_pca() -> None:
    ours, pca = mc.KernelPCA(kernel=mc.Linear()).fit(X), decomposition.PCA().fit(X)
    np.testing.assert_allclose(ours.explained_variance_, pca.explained_variance_, rtol=1e-11)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-11
    )
    np.testing.assert_allclose(np.abs(ours.transform(NEW)), np.abs(pca.transform(NEW)), atol=1e-11)
    assert ours.inertias_.shape == (4,)  # the numerical rank, not the number of individuals
    assert ours.inertia_ == pytest.approx(X.var(axis=0).sum(), rel=1e-12)


@pytest.mark.parametrize("kernel", [mc.Gaussian(2.0), mc.Linear(), mc.Laplacian(3.0)], ids=str)
@pytest.mark.parametrize("method", ["dense", "exact"])
def test_training_points_transform_to_their_scores(kernel: mc.Kernel, method: str) -> None:
    x = latent(1100)
    model = mc.KernelPCA(4, kernel=kernel, method=method, tol=1e-11, random_state=0)
    scores = model.fit_transform(x)
    again = model.transform(x)
    ratio = np.sqrt(model.inertias_[0] / model.inertias_)
    allowed = np.maximum(1e-8, 10 * 1100 * EPSILON * ratio) * np.max(np.abs(scores))
    assert np.all(np.max(np.abs(scores - again), axis=0) <= allowed)


@pytest.mark.parametrize("count", [1, 13, 300])
def test_a_point_alone_is_the_point_in_any_batch(count: int) -> None:
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.5)).fit(X)
    new = np.random.default_rng(1).standard_normal((count, 4))
    together = model.transform(new)
    alone = np.vstack([model.transform(new[i : i + 1]) for i in range(count)])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-13)


def test_new_points_are_not_centred_with_their_own_mean() -> None:
    """The negative control of Beeny's listing 4, by which one point alone is always at 0."""
    model = mc.KernelPCA(2, kernel=mc.Gaussian(1.5)).fit(X)
    assert np.abs(model.transform(NEW[:1])).max() > 1e-3
    cross = mc.Gaussian(1.5)(NEW, X)
    wrong = (cross - cross.mean(axis=0)) @ model.eigenvectors_ / np.sqrt(model.eigenvalues_)
    assert np.abs(wrong - model.transform(NEW)).max() > 1e-3


def test_a_precomputed_gram_matrix_is_the_kernel() -> None:
    kernel = mc.Gaussian(1.5)
    given = mc.KernelPCA(3, kernel="precomputed").fit(kernel(X))
    model = mc.KernelPCA(3, kernel=kernel).fit(X)
    np.testing.assert_allclose(given.inertias_, model.inertias_, rtol=1e-12)
    np.testing.assert_allclose(given.transform(kernel(NEW, X)), model.transform(NEW), atol=1e-12)
    with pytest.raises(ValueError, match="expecting 80 features"):
        given.transform(kernel(NEW, X)[:, :-1])


def test_a_precomputed_matrix_is_left_alone() -> None:
    K = mc.Gaussian(1.5)(X)
    before = K.copy()
    mc.KernelPCA(3, kernel="precomputed").fit_transform(K)
    assert np.array_equal(K, before)


def test_an_asymmetric_matrix_is_refused_by_its_entry() -> None:
    K = mc.Gaussian(1.5)(X)
    K[2, 7] += 5.0
    with pytest.raises(mc.errors.InvalidInput, match=r"\(2, 7\)"):
        mc.KernelPCA(2, kernel="precomputed").fit(K)


@pytest.mark.parametrize(
    "model",
    [
        mc.KernelPCA(2, kernel=mc.kernels.Sigmoid(1.0, -2.0)),
        mc.KernelPCA(2, kernel=mc.FromFunction(lambda a, b: 0.5 * (abs(a[0] - b[0]) <= 1.0))),
    ],
    ids=["sigmoid", "uniform density"],
)
def test_an_indefinite_kernel_is_refused_with_its_negative_mass(model: mc.KernelPCA) -> None:
    with pytest.raises(mc.errors.NotPositiveDefinite, match="% of its eigenvalues"):
        model.fit(X)


def test_rank_deficient_data_keep_the_axes_they_have() -> None:
    flat = np.column_stack([X[:, :2], X[:, 0] + X[:, 1]])
    model = mc.KernelPCA(kernel=mc.Linear())
    scores = model.fit_transform(flat)
    assert scores.shape == (80, 2)
    assert model.spectrum_.rank == 2
    np.testing.assert_allclose(scores, model.transform(flat), atol=1e-12)


def test_constant_data_have_no_inertia_and_no_axes() -> None:
    for kernel in (mc.Gaussian(1.0), mc.Linear()):
        with pytest.warns(NoInertia, match="all 5 individuals coincide"):
            model = mc.KernelPCA(kernel=kernel).fit(np.full((5, 2), 0.1))
        assert model.inertia_ == 0.0
        assert model.explained_variance_ratio_.shape == (0,)
        assert model.transform(np.ones((3, 2))).shape == (3, 0)


def test_signs_follow_the_rule_for_every_solver() -> None:
    x = latent(1100)
    for method in ("dense", "exact"):
        scores = mc.KernelPCA(3, kernel=mc.Gaussian(2.0), method=method).fit_transform(x)
        assert np.array_equal(signs(scores), np.ones(3))


def test_conditionally_positive_kernels_are_valid_here() -> None:
    model = mc.KernelPCA(3, kernel=mc.kernels.NegativeDistance(1.0)).fit(X)
    centred = mc.KernelPCA(3, kernel=mc.kernels.NegativeDistance(1.0).centred(X[:1])).fit(X)
    np.testing.assert_allclose(model.inertias_, centred.inertias_, rtol=1e-10)
    np.testing.assert_allclose(model.transform(NEW), centred.transform(NEW), atol=1e-10)


def test_a_row_of_weight_two_is_a_row_repeated_and_of_weight_zero_supplementary() -> None:
    weights = np.ones(80)
    weights[3], weights[5] = 2.0, 0.0
    kernel = mc.Gaussian(1.5)
    weighted = mc.KernelPCA(3, kernel=kernel).fit(X, sample_weight=weights)
    rows = np.repeat(np.arange(80), weights.astype(int))
    repeated = mc.KernelPCA(3, kernel=kernel).fit(X[rows])
    np.testing.assert_allclose(weighted.inertias_, repeated.inertias_, rtol=1e-11)
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-11)
    np.testing.assert_allclose(weighted.transform(NEW), repeated.transform(NEW), atol=1e-10)
    scores = mc.KernelPCA(3, kernel=kernel).fit_transform(X, sample_weight=weights)
    np.testing.assert_allclose(scores[5], repeated.transform(X[5:6])[0], atol=1e-10)


def test_objects_are_analysed_like_vectors() -> None:
    baskets = [{"a", "b"}, {"b"}, {"a", "c"}, {"d"}, {"a", "b", "d"}]
    model = mc.KernelPCA(2, kernel=mc.kernels.Intersection()).fit(baskets)
    scores = model.transform(baskets)
    np.testing.assert_allclose(scores, model.fit_transform(baskets), atol=1e-12)
    assert model.transform([set()]).shape == (1, 2)


def test_parameters_of_the_kernel_are_searched_in_a_grid() -> None:
    labels = (X[:, 0] ** 2 + X[:, 1] ** 2 > 1.5).astype(int)
    pipeline = make_pipeline(mc.KernelPCA(3, kernel=mc.Gaussian(1.0)), KNeighborsClassifier(3))
    grid = {"kernelpca__kernel__bandwidth": [0.5, 1.0, 3.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, labels)
    assert search.best_params_["kernelpca__kernel__bandwidth"] in (0.5, 1.0, 3.0)
    model = clone(mc.KernelPCA(kernel=mc.Gaussian(1.0))).set_params(kernel__bandwidth=2.5)
    assert model.kernel == mc.Gaussian(2.5)


def test_a_fitted_model_survives_pickling() -> None:
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.5)).fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.transform(NEW), model.transform(NEW))


def test_the_rule_of_a_bandwidth_is_frozen_at_fit() -> None:
    model = mc.KernelPCA(2, kernel=mc.Gaussian("median")).fit(X)
    assert model.kernel == mc.Gaussian("median")
    assert isinstance(mc.kernels.parameters(model.kernel_)["bandwidth"], float)
    np.testing.assert_allclose(
        model.transform(NEW), mc.KernelPCA(2, kernel=model.kernel_).fit(X).transform(NEW)
    )


def test_large_data_ask_for_a_number_of_axes() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="n_components=10"):
        mc.KernelPCA(kernel=mc.Gaussian(1.0)).fit(np.zeros((3001, 1)))


@pytest.mark.parametrize("bad", ["nonsense(", 3, None])
def test_what_is_no_kernel_is_refused(bad: object) -> None:
    with pytest.raises(mc.errors.MercerError):
        mc.KernelPCA(2, kernel=bad).fit(X)  # type: ignore[arg-type]


def test_deterministic_fits_repeat_every_bit() -> None:
    x = latent(1500)
    fits = [
        mc.KernelPCA(
            3, kernel=mc.Gaussian(2.0), method="exact", deterministic=True, random_state=4
        ).fit_transform(x)
        for _ in range(2)
    ]
    assert np.array_equal(fits[0], fits[1])


KERNLAB: dict[str, tuple[Callable[[dict[str, Any]], mc.Kernel], float]] = {
    "kpca_iris_rbf": (lambda p: mc.Gaussian(1 / np.sqrt(2 * p["sigma"])), 1e-10),
    "kpca_iris_laplace": (lambda p: mc.Laplacian(1 / p["sigma"], norm=2), 1e-8),
    "kpca_iris_poly": (lambda p: mc.Polynomial(p["degree"], p["offset"], p["scale"]), 1e-10),
    "kpca_swiss_vanilla": (lambda _: mc.Linear(), 1e-10),
}


@pytest.mark.parametrize("name", KERNLAB)
def test_eigenvalues_and_scores_are_those_of_kernlab(name: str) -> None:
    content = reference(name)
    kernel, tolerance = KERNLAB[name]
    train, test = np.array(content["X_train"]), np.array(content["X_test"])
    values = np.array(content["eig"])
    model = mc.KernelPCA(len(values), kernel=kernel(content["kpar"])).fit(train)
    near(model.inertias_, values, tolerance)
    rotated = np.array(content["rotated"]) / np.sqrt(len(train))
    near(aligned(model.individuals_.coordinates, rotated), rotated, tolerance)
    expected = np.array(content["predict_test_scaled_usual"])
    near(aligned(model.transform(test), expected), expected, tolerance)


def circles(radii: Sequence[float], density: int) -> Array:
    angles = [np.arange(density * r) * 2 * np.pi / (density * r) for r in radii]
    return np.vstack(
        [r * np.column_stack([np.cos(a), np.sin(a)]) for r, a in zip(radii, angles, strict=True)]
    )


def test_beenys_circles_have_their_printed_figures_and_their_degenerate_axes_flagged() -> None:
    x = circles([1, 2, 3], 15)
    with pytest.warns(DegenerateAxes, match=r"2 and 3"):
        model = mc.KernelPCA(3, kernel=mc.Gaussian(1 / np.sqrt(8))).fit(x)
    np.testing.assert_allclose(model.eigenvalues_, [2.14368, 2.14166, 2.14166], atol=5e-6)
    assert 90 * model.inertia_ == pytest.approx(87.8235, abs=5e-5)
    assert model.explained_variance_ratio_.sum() == pytest.approx(0.073, abs=5e-4)
    assert model.spectrum_.clusters == ((1, 2),)
    first = model.individuals_.coordinates[:, 0]
    for rows, value in [
        (slice(0, 15), 0.32096),
        (slice(15, 45), 0.01189),
        (slice(45, 90), -0.11491),
    ]:
        np.testing.assert_allclose(first[rows], value, atol=2e-5)


def test_the_plane_of_a_cluster_is_that_of_scikit_learn_though_its_axes_are_not() -> None:
    x = circles([1, 2, 3], 15)
    with pytest.warns(DegenerateAxes):
        ours = mc.KernelPCA(3, kernel=mc.Gaussian(1 / np.sqrt(8))).fit_transform(x)
    theirs = Peer(3, kernel="rbf", gamma=4.0, eigen_solver="dense").fit_transform(x)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-12)


def test_a_fixed_draw_of_a_ball_in_a_ring_is_separated_on_ten_axes() -> None:
    """Kroese's Example 6.18 holds in the first plane for some draws only; on ten axes for this."""
    rng = np.random.default_rng(0)
    radii = np.where(np.arange(200) < 100, rng.uniform(0, 1, 200), rng.uniform(3, 4, 200))
    angles = rng.uniform(0, 2 * np.pi, 200)
    x = radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    scores = mc.KernelPCA(10, kernel="rbf(gamma=1.0)").fit_transform(x)
    side = np.where(radii > 2, 1.0, -1.0)
    fit = np.linalg.lstsq(np.column_stack([scores, np.ones(200)]), side, rcond=None)[0]
    assert np.all(side * (np.column_stack([scores, np.ones(200)]) @ fit) > 0)


def test_axes_are_orthonormal_functions_whose_dual_weights_are_the_vectors() -> None:
    """Martin's α = u/√λ: ⟨a_k, a_l⟩ = αᵀ K̃ α = δ, and the squared norm of K̃u is λ²."""
    kernel = mc.Gaussian(1.5)
    model = mc.KernelPCA(5, kernel=kernel).fit(X)
    H = np.eye(80) - 1 / 80
    K = H @ kernel(X) @ H
    alpha = model.eigenvectors_ / np.sqrt(model.eigenvalues_)
    np.testing.assert_allclose(alpha.T @ K @ alpha, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(K @ alpha, model.individuals_.coordinates, atol=1e-12)


def test_uncentred_projections_are_shifted_and_ours_are_not() -> None:
    """The negative control of the projection as printed in Kroese and Beeny."""
    kernel = mc.Gaussian(1.5)
    model = mc.KernelPCA(2, kernel=kernel).fit(X)
    printed = kernel(X, X) @ model.eigenvectors_ / np.sqrt(model.eigenvalues_)
    shift = printed - model.transform(X)
    assert np.abs(shift).max() > 1e-3
    np.testing.assert_allclose(shift, np.broadcast_to(shift[0], shift.shape), atol=1e-11)


def test_the_linear_kernel_is_pca_in_every_number_that_is_read() -> None:
    weights = RNG.uniform(0.5, 2.0, 80)
    ours = mc.KernelPCA(kernel=mc.Linear()).fit(X, sample_weight=weights)
    pca = mc.PCA().fit(X, sample_weight=weights)
    labels = np.where(X[:, 0] > 0, "right", "left")
    near(ours.inertias_, pca.inertias_, 1e-12)
    for what in ("coordinates", "cos2", "contributions", "distances"):
        near(getattr(ours.individuals_, what), getattr(pca.individuals_, what), 1e-11)
    for what in ("coordinates", "cos2", "contributions", "correlations"):
        near(getattr(ours.variables_, what), getattr(pca.variables_, what), 1e-11)
    left, right = (
        m.supplementary(individuals=NEW, variables=X[:, :1] ** 2, categories=labels)
        for m in (ours, pca)
    )
    for element, names in {
        "individuals": ("coordinates", "cos2"),
        "variables": ("coordinates", "cos2", "correlations"),
        "categories": ("coordinates", "cos2", "v_test", "eta2"),
    }.items():
        for name in names:
            found, expected = getattr(left, element), getattr(right, element)
            near(getattr(found, name), getattr(expected, name), 1e-10)


@pytest.mark.parametrize("offset", [1e4, 1e8, 1e12])
def test_the_linear_kernel_loses_no_digits_far_from_the_origin(offset: float) -> None:
    moved = X + offset
    near(mc.KernelPCA().fit(moved).inertias_, mc.KernelPCA().fit(moved - offset).inertias_, 1e-13)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_linear_kernel_is_equivariant_in_its_units(scale: float) -> None:
    near(mc.KernelPCA().fit(X * scale).inertias_ / scale**2, mc.KernelPCA().fit(X).inertias_, 1e-12)


def test_kernel_pca_is_classical_scaling_of_the_distances_in_feature_space() -> None:
    kernel = mc.Gaussian(1.5)
    model = mc.KernelPCA(kernel=kernel).fit(X)
    F = model.individuals_.coordinates
    squares = ((F[:, None] - F) ** 2).sum(axis=-1)
    near(squares, mc.distance(kernel, X, X) ** 2, 1e-12)


def test_inertia_is_the_true_total_though_few_axes_were_computed() -> None:
    x = latent(1200)
    kernel = mc.Gaussian(2.0)
    model = mc.KernelPCA(2, kernel=kernel, method="exact", random_state=0).fit(x)
    K = kernel(x)
    H = np.eye(len(x)) - 1 / len(x)
    assert model.inertia_ == pytest.approx(np.trace(H @ K @ H) / len(x), rel=1e-12)
    assert model.explained_variance_ratio_.sum() < 1.0


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((3, 2)), r"square matrix, found shape \(3, 2\)"),
        (np.diag([1.0, -2.0, 1.0]), r"entry \(1, 1\) of the Gram matrix is -2"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "row 0, column 1 holds NaN"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), r"entry \(0, 1\) is 0.5"),
    ],
    ids=["shape", "diagonal", "missing", "asymmetric"],
)
def test_what_is_no_gram_matrix_is_refused_by_its_entry(K: Array, message: str) -> None:
    with pytest.raises(mc.errors.MercerError, match=message):
        mc.KernelPCA(1, kernel="precomputed").fit(K)


def test_asymmetry_by_rounding_is_allowed() -> None:
    K = mc.Gaussian(1.5)(X)
    symmetric = mc.KernelPCA(2, kernel="precomputed").fit(K.copy())
    K[2, 7] *= 1 + 1e-12
    model = mc.KernelPCA(2, kernel="precomputed").fit(K)
    np.testing.assert_allclose(model.inertias_, symmetric.inertias_, rtol=1e-11)


def test_a_zero_matrix_is_the_gram_matrix_of_one_point() -> None:
    with pytest.warns(NoInertia):
        model = mc.KernelPCA(kernel="precomputed").fit(np.zeros((4, 4)))
    assert model.inertia_ == 0.0


def test_an_indefinite_matrix_is_refused_with_its_negative_mass() -> None:
    K = X @ X.T - 3 * np.eye(80)
    K += 10 * np.eye(80) * (np.arange(80) < 0)
    with pytest.raises(mc.errors.NotPositiveDefinite):
        mc.KernelPCA(2, kernel="precomputed").fit(K)


def test_a_hermitian_gram_matrix_has_real_inertias_and_complex_scores() -> None:
    Z = RNG.standard_normal((12, 3)) + 1j * RNG.standard_normal((12, 3))
    K = Z @ Z.conj().T
    model = mc.KernelPCA(kernel="precomputed").fit(K)
    centred = Z - Z.mean(axis=0)
    expected = np.linalg.svd(centred, compute_uv=False) ** 2 / 12
    near(model.inertias_, expected, 1e-12)
    near(model.individuals_.cos2.sum(axis=1), np.ones(12), 1e-10)
    near(model.individuals_.contributions.sum(axis=0), np.ones(3), 1e-10)
    near(model.transform(K), model.individuals_.coordinates, 1e-10)


def test_a_gram_matrix_is_read_like_its_kernel() -> None:
    kernel = mc.Gaussian(1.5)
    given = mc.KernelPCA(3, kernel="precomputed").fit(kernel(X))
    model = mc.KernelPCA(3, kernel=kernel).fit(X)
    near(given.individuals_.cos2, model.individuals_.cos2, 1e-11)
    found = given.supplementary(individuals=kernel(NEW, X), squares=kernel.diag(NEW)).individuals
    expected = model.supplementary(individuals=NEW).individuals
    assert found is not None
    assert expected is not None
    near(found.cos2, expected.cos2, 1e-11)
    unknown = given.supplementary(individuals=kernel(NEW, X)).individuals
    assert unknown is not None
    with pytest.raises(mc.errors.NotAvailable, match="squares="):
        _ = unknown.cos2
    with pytest.raises(mc.errors.NotAvailable, match="supplementary"):
        _ = given.variables_


def test_weights_are_routed_through_a_pipeline() -> None:
    weights = RNG.uniform(0.5, 2.0, 80)
    direct = mc.KernelPCA(2, kernel=mc.Gaussian(1.5)).fit_transform(X, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        model = mc.KernelPCA(2, kernel=mc.Gaussian(1.5)).set_fit_request(sample_weight=True)
        routed = make_pipeline(model).fit_transform(X, sample_weight=weights)
    near(routed, direct, 1e-14)


def test_output_names_follow_the_class() -> None:
    model = mc.KernelPCA(2).fit(X)
    assert model.get_feature_names_out().tolist() == ["kernelpca0", "kernelpca1"]


def test_single_precision_in_gives_single_precision_out() -> None:
    x = X.astype(np.float32)
    model = mc.KernelPCA(2, kernel=mc.Gaussian(1.5))
    assert model.fit_transform(x).dtype == np.float32
    assert model.transform(x).dtype == np.float32
    near(model.transform(x), mc.KernelPCA(2, kernel=mc.Gaussian(1.5)).fit_transform(X), 1e-4)


def test_variables_of_a_curved_kernel_have_correlations_only() -> None:
    model = mc.KernelPCA(2, kernel=mc.Gaussian(1.5)).fit(X)
    F = model.individuals_.coordinates
    expected = np.corrcoef(np.column_stack([X, F]), rowvar=False)[:4, 4:]
    near(model.variables_.correlations, expected, 1e-12)
    near(model.variables_.cos2, expected**2, 1e-12)
    with pytest.raises(mc.errors.NotAvailable, match="linear kernel"):
        _ = model.variables_.coordinates
    with pytest.raises(mc.errors.NotAvailable, match="contribute"):
        _ = model.variables_.contributions


@pytest.mark.parametrize("is_precomputed", [False, True])
def test_an_approximate_analysis_is_read_like_the_exact_one(is_precomputed: bool) -> None:
    kernel, x = mc.Gaussian(3.0), latent(300)
    labels = np.where(x[:, 0] > 0, "right", "left")
    exact = mc.KernelPCA(2, kernel=kernel).fit(x)
    model = mc.KernelPCA(
        2,
        kernel="precomputed" if is_precomputed else kernel,
        method="nystrom",
        landmarks=150,
        random_state=0,
    ).fit(kernel(x) if is_precomputed else x)
    near(model.individuals_.cos2, exact.individuals_.cos2, 1e-3)
    found, expected = (m.supplementary(categories=labels).categories for m in (model, exact))
    assert found is not None
    assert expected is not None
    near(found.cos2, expected.cos2, 1e-3)
    near(found.v_test, expected.v_test, 1e-3)


@pytest.mark.filterwarnings("ignore::mercer.errors.Misleading")
def test_small_axes_survive_the_centring_of_new_individuals() -> None:
    """The short form, which leaves the mean of a new row in place, loses them to rounding."""
    x = np.random.default_rng(0).standard_normal((60, 2)) * [1.0, 1e-4]
    kernel = mc.Gaussian(30.0)
    model = mc.KernelPCA(kernel=kernel)
    scores = model.fit_transform(x)
    size, values = np.max(np.abs(scores)), model.inertias_
    allowed = np.maximum(1e-8, 600 * EPSILON * np.sqrt(values[0] / values)) * size
    assert values[-1] < 1e-9 * values[0]
    assert np.all(np.max(np.abs(model.transform(x) - scores), axis=0) <= allowed)
    K = kernel(x)
    short = (K - K.mean(axis=0)) @ (model.eigenvectors_ / np.sqrt(model.eigenvalues_))
    assert np.max(np.abs(short - scores)) > 100 * allowed[-1]  # the planted mistake


def test_beenys_circles_are_those_of_the_reference_and_new_ones_keep_their_distance() -> None:
    content = reference("beeny_circles_kpca")
    x = circles(content["radii_train"], content["density_train"])
    new = circles(content["radii_test"], content["density_test"])
    assert len(new) == 18 + 30
    kernel = mc.Gaussian(content["sigma"])
    model = mc.KernelPCA(12, kernel=kernel)
    with pytest.warns(DegenerateAxes):
        scores = model.fit_transform(x)
    near(model.eigenvalues_, content["eigenvalues_top12"], 1e-12)
    np.testing.assert_allclose(model.eigenvalues_[3:5], 2.07794, atol=5e-6)
    assert len(x) * model.inertia_ == pytest.approx(content["trace_centred"], rel=1e-12)
    near((scores[:, :3] @ scores[:, :3].T)[:5, :5], content["gram_of_scores_train_top3_first5"])
    found = model.transform(new)[:, :3]
    alone = np.vstack([model.transform(one[None]) for one in new])[:, :3]
    np.testing.assert_allclose(alone, found, rtol=0, atol=1e-14)
    # Listing 4 centres with the means of the new points: a shift, which is the same for all.
    cross = kernel(new, x)
    axes = model.eigenvectors_[:, :3] / np.sqrt(model.eigenvalues_[:3])
    H, own = np.eye(len(x)) - 1 / len(x), np.eye(len(new)) - 1 / len(new)
    shift = found - own @ cross @ H @ axes
    np.testing.assert_allclose(shift, np.broadcast_to(shift[0], shift.shape), atol=1e-12)
    largest = content["max_abs_difference_correct_vs_listing4"]
    assert np.max(np.abs(shift[:, 0])) == pytest.approx(largest, rel=1e-9)
    assert largest == pytest.approx(0.0103, abs=5e-5)


def ball_and_ring(seed: int) -> tuple[Array, Array]:
    """Kroese's Example 6.18: points drawn uniformly on a disc and on a ring around it."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-4, 4, (2000, 2))
    radii = np.linalg.norm(x, axis=1)
    kept = np.flatnonzero((radii < 1) | ((radii > 3) & (radii < 4)))[:200]
    return x[kept], np.where(radii[kept] > 2, 1.0, -1.0)


def is_separable(scores: Array, side: Array) -> bool:
    """Whether a line separates two sides: a linear programme has a solution."""
    plane = side[:, None] * np.column_stack(
        [scores / np.abs(scores).max(axis=0), np.ones(len(side))]
    )
    found = linprog(
        np.zeros(plane.shape[1]), A_ub=-plane, b_ub=-np.ones(len(side)), bounds=(None, None)
    )
    return bool(found.status == 0)


def test_a_line_separates_ball_and_ring_in_some_draws_only() -> None:
    """The text says that it does: it does in 18 of 40 draws."""
    model = mc.KernelPCA(2, kernel="rbf(gamma=1.0)")
    draws = [ball_and_ring(seed) for seed in range(40)]
    separated = [is_separable(model.fit_transform(x), side) for x, side in draws]
    assert (sum(separated), len(separated)) == (18, 40)


def test_the_uncentred_projection_of_ball_and_ring_is_shifted_by_what_was_counted() -> None:
    x, _ = ball_and_ring(0)
    model = mc.KernelPCA(2, kernel="rbf(gamma=1.0)").fit(x)
    printed = model.kernel_(x) @ (model.eigenvectors_ / np.sqrt(model.eigenvalues_))
    shift = printed - model.transform(x)
    np.testing.assert_allclose(shift, np.broadcast_to([0.0029, -0.0129], shift.shape), atol=5e-5)


def test_the_gram_matrix_is_dual_to_the_covariances_and_no_replacement() -> None:
    """Beeny puts the kernel matrix in the place of the covariance matrix: n x n is not p x p."""
    model = mc.KernelPCA(kernel=mc.Linear()).fit(X)
    assert model.eigenvectors_.shape == (80, 4)  # weights of individuals, not of variables
    near(
        model.eigenvalues_, 80 * np.linalg.eigvalsh(np.cov(X, rowvar=False, bias=True))[::-1], 1e-12
    )
    replaced = np.linalg.eigvalsh(np.cov(X @ X.T, bias=True))[::-1][:4]
    assert np.max(np.abs(replaced / model.eigenvalues_ - 1.0)) > 0.1


def test_the_norm_of_the_image_of_an_axis_is_its_eigenvalue() -> None:
    """Martin gives λ² as the norm: it is the squared one."""
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.5)).fit(X)
    H = np.eye(80) - 1 / 80
    images = H @ mc.Gaussian(1.5)(X) @ H @ model.eigenvectors_
    near(np.linalg.norm(images, axis=0), model.eigenvalues_, 1e-12)


def test_a_plane_leaves_what_the_sum_of_its_axes_does_not_show() -> None:
    """Martin adds the errors of projections on one axis at a time, which counts what is shown."""
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.5)).fit(X)
    people = model.individuals_
    F, squares = people.coordinates, people.distances**2
    near(people.plane_distances**2, squares - (F**2).sum(axis=1), 1e-12)
    rest = model.inertia_ - model.inertias_.sum()
    assert np.mean(people.plane_distances**2) == pytest.approx(rest, rel=1e-12)
    one_by_one = (squares[:, None] - F**2).sum(axis=1)
    assert np.mean(one_by_one) > 2 * rest


def test_weightless_individuals_do_not_decide_a_bandwidth() -> None:
    weights = np.ones(80)
    weights[::3] = 0.0
    active = weights > 0
    for kernel in (mc.Gaussian("median"), mc.Laplacian("scale") + mc.Linear()):
        model = mc.KernelPCA(3, kernel=kernel).fit(X, sample_weight=weights)
        expected = mc.KernelPCA(3, kernel=kernel).fit(X[active])
        assert model.kernel_ == expected.kernel_
        near(model.inertias_, expected.inertias_, 1e-12)
        near(model.transform(NEW), expected.transform(NEW), 1e-10)
        without = mc.KernelPCA(3, kernel=kernel).fit(X).without(np.flatnonzero(~active))
        assert without.kernel_ == expected.kernel_


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_the_linear_kernel_has_the_same_axes_in_every_unit(scale: float) -> None:
    weights = np.r_[0.0, np.ones(79)]
    labels = np.where(X[:, 0] > 0, "right", "left")
    model = mc.KernelPCA(3).fit(X * scale, sample_weight=weights)
    expected = mc.KernelPCA(3).fit(X, sample_weight=weights)
    near(model.explained_variance_ratio_, expected.explained_variance_ratio_, 1e-12)
    near(model.transform(NEW * scale) / scale, expected.transform(NEW), 1e-12)
    near(model.individuals_.coordinates / scale, expected.individuals_.coordinates, 1e-12)
    near(model.individuals_.distances / scale, expected.individuals_.distances, 1e-12)
    near(model.individuals_.cos2, expected.individuals_.cos2, 1e-11)
    near(model.variables_.contributions, expected.variables_.contributions, 1e-11)
    found, right = (
        m.supplementary(individuals=NEW * c, categories=labels)
        for m, c in ((model, scale), (expected, 1.0))
    )
    assert found.individuals is not None
    assert right.individuals is not None
    assert found.categories is not None
    assert right.categories is not None
    near(found.individuals.cos2, right.individuals.cos2, 1e-11)
    near(found.categories.v_test, right.categories.v_test, 1e-11)
    near(found.categories.cos2, right.categories.cos2, 1e-11)
    with pytest.raises(mc.errors.InvalidInput, match="outside the range of double precision"):
        _ = model.eigenvalues_


def test_no_function_of_the_space_carries_more_inertia_than_the_first_axis() -> None:
    """Martin's Theorem 4: the inertia projected on an axis is λ, and λ₁ is the largest."""
    kernel = mc.Gaussian(1.5)
    model = mc.KernelPCA(2, kernel=kernel).fit(X)
    H, rng = np.eye(80) - 1 / 80, np.random.default_rng(0)
    K = H @ kernel(X) @ H
    alpha = model.eigenvectors_ / np.sqrt(model.eigenvalues_)

    def projected(a: Array) -> Array:
        return np.asarray(np.mean((K @ a) ** 2, axis=0) / np.einsum("ij,ij->j", a, K @ a))

    near(projected(alpha), model.inertias_, 1e-12)
    others = alpha[:, :1] + 10.0 ** rng.uniform(-3, 0, 100) * rng.standard_normal((80, 100))
    assert np.all(projected(others) <= model.inertias_[0] * (1 + 1e-12))


@pytest.mark.parametrize(
    "kernel",
    [
        mc.kernels.Sigmoid(1.0, -2.0),
        mc.FromFunction(lambda a, b: 0.5 * (abs(a[0] - b[0]) <= 1.0)),
    ],
    ids=["sigmoid", "uniform density"],
)
def test_few_axes_betray_an_indefinite_kernel_that_was_not_decomposed(kernel: mc.Kernel) -> None:
    """They show more of some individuals than there is: their shares would add up to 112 %."""
    with pytest.raises(mc.errors.NotPositiveDefinite, match="the axes show"):
        mc.KernelPCA(2, kernel=kernel, method="exact", random_state=0).fit(latent(300))


@pytest.mark.parametrize("tol", [1e-9, 1e-3])
@pytest.mark.parametrize(
    "kernel",
    [
        mc.Gaussian(2.0),
        mc.kernels.NegativeDistance(1.0),
        mc.FromFunction(lambda a, b: float(np.exp(-0.5 * np.sum((a - b) ** 2)))),
    ],
    ids=["gaussian", "conditional", "function"],
)
def test_few_axes_do_not_slander_a_kernel(kernel: mc.Kernel, tol: float) -> None:
    model = mc.KernelPCA(3, kernel=kernel, method="exact", tol=tol, random_state=0)
    assert model.fit(latent(150)).explained_variance_ratio_.sum() < 1.0


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_an_approximation_of_a_conditional_kernel_is_seen_from_the_barycentre(first: float) -> None:
    """Its features are seen from one of the points, which must not show."""
    x = np.random.default_rng(3).standard_normal((300, 3))
    w = np.r_[np.full(5, first), np.ones(295)]
    kernel = mc.kernels.NegativeDistance(1.0)
    model = mc.KernelPCA(2, kernel=kernel, method="nystrom", landmarks=280, random_state=0)
    scores = model.fit_transform(x, sample_weight=w)  # without a warning: they are apart
    few = mc.KernelPCA(2, kernel=kernel, method="nystrom", landmarks=6, random_state=0)
    with pytest.warns(DegenerateAxes, match="told apart by the approximation.* more landmarks"):
        few.fit(x, sample_weight=w)
    exact = mc.KernelPCA(2, kernel=kernel, method="dense").fit(x, sample_weight=w)
    np.testing.assert_allclose(model.transform(x), scores, atol=1e-10)
    new = x[:7] + 0.1
    np.testing.assert_allclose(model.transform(new), exact.transform(new), atol=0.02)
    np.testing.assert_allclose(model.individuals_.cos2, exact.individuals_.cos2, atol=0.02)
    groups = ["even", "odd"] * 150
    ours, theirs = (m.supplementary(new, categories={"row": groups}) for m in (model, exact))
    for part in ("individuals", "categories"):
        found, expected = getattr(ours, part), getattr(theirs, part)
        np.testing.assert_allclose(found.cos2, expected.cos2, atol=0.02)


def test_a_column_that_is_all_a_kernel_sees_is_warned_of_by_its_name() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"metres": rng.normal(size=40), "grams": 1000 * rng.normal(size=40)})
    with pytest.warns(mc.errors.Misleading, match='the column "grams" makes 100 % of the squared'):
        mc.KernelPCA(2, kernel=mc.Gaussian("median")).fit(table)
    by_column = mc.Gaussian((1.0, 1000.0))
    for kernel, data in (
        (by_column, table),
        (mc.Linear(), table),
        (mc.Gaussian("median"), table / table.std()),
        (mc.Gaussian("median"), table[["grams"]]),
        (mc.Gaussian("median"), table.assign(metres=1.0)),
        (mc.Gaussian("median"), table.assign(metres=500 * table["metres"])),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mc.KernelPCA(2, kernel=kernel).fit(data)


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
def test_a_weight_below_all_normal_numbers_has_axes() -> None:
    x = np.random.default_rng(0).normal(size=(30, 3))
    of = [
        mc.KernelPCA(2, kernel=weight * mc.Gaussian(2.0), method="exact", random_state=0).fit(x)
        for weight in (1.0, 2.0**-1030)
    ]
    np.testing.assert_allclose(2.0**1000 * of[1].inertias_ * 2.0**30, of[0].inertias_, rtol=1e-9)
