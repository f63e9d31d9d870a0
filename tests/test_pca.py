from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Peer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.check import Array
from mercer.spectrum import signs

RNG = np.random.default_rng(8)
X = RNG.standard_normal((80, 4))
NEW = RNG.standard_normal((13, 4))
EPSILON = float(np.finfo(float).eps)


def latent(n: int) -> Array:
    rng = np.random.default_rng(0)
    surface = np.tanh(rng.standard_normal((n, 3)) @ rng.standard_normal((3, 6)))
    return np.asarray(surface + 0.1 * rng.standard_normal((n, 6)))


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [mc.KernelPCA(2, kernel=mc.Gaussian(1.0)), mc.KernelPCA(2), mc.KernelPCA(kernel="laplacian()")]
)
def test_the_protocol_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("gamma", [0.05, 0.5, 2.0])
def test_eigenvalues_and_scores_are_those_of_scikit_learn(gamma: float) -> None:
    ours = mc.KernelPCA(5, kernel=f"rbf(gamma={gamma})").fit(X)
    theirs = Peer(5, kernel="rbf", gamma=gamma, eigen_solver="dense").fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-11)
    expected = theirs.transform(NEW)
    found = ours.transform(NEW)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-10)


def test_the_linear_kernel_gives_pca() -> None:
    ours, pca = mc.KernelPCA(kernel=mc.Linear()).fit(X), PCA().fit(X)
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
    with pytest.raises(mc.InvalidInput, match=r"\(2, 7\)"):
        mc.KernelPCA(2, kernel="precomputed").fit(K)


@pytest.mark.parametrize(
    "model",
    [
        mc.KernelPCA(2, kernel=mc.Sigmoid(1.0, -2.0)),
        mc.KernelPCA(2, kernel=mc.FromFunction(lambda a, b: 0.5 * (abs(a[0] - b[0]) <= 1.0))),
    ],
    ids=["sigmoid", "uniform density"],
)
def test_an_indefinite_kernel_is_refused_with_its_negative_mass(model: mc.KernelPCA) -> None:
    with pytest.raises(mc.NotPositiveDefinite, match="% of its eigenvalues"):
        model.fit(X)


def test_rank_deficient_data_keep_the_axes_they_have() -> None:
    flat = np.column_stack([X[:, :2], X[:, 0] + X[:, 1]])
    model = mc.KernelPCA(kernel=mc.Linear())
    scores = model.fit_transform(flat)
    assert scores.shape == (80, 2)
    assert model.spectrum_.rank == 2
    np.testing.assert_allclose(scores, model.transform(flat), atol=1e-12)


def test_constant_data_have_no_inertia_and_no_axes() -> None:
    model = mc.KernelPCA(kernel=mc.Gaussian(1.0)).fit(np.ones((5, 2)))
    assert model.inertia_ == 0.0
    assert model.transform(np.ones((3, 2))).shape == (3, 0)


def test_signs_follow_the_rule_for_every_solver() -> None:
    x = latent(1100)
    for method in ("dense", "exact"):
        scores = mc.KernelPCA(3, kernel=mc.Gaussian(2.0), method=method).fit_transform(x)
        assert np.array_equal(signs(scores), np.ones(3))


def test_conditionally_positive_kernels_are_valid_here() -> None:
    model = mc.KernelPCA(3, kernel=mc.NegativeDistance(1.0)).fit(X)
    centred = mc.KernelPCA(3, kernel=mc.NegativeDistance(1.0).centred(X[:1])).fit(X)
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
    model = mc.KernelPCA(2, kernel=mc.Intersection()).fit(baskets)
    scores = model.transform(baskets)
    np.testing.assert_allclose(scores, model.fit_transform(baskets), atol=1e-12)
    assert model.transform([set()]).shape == (1, 2)


def test_parameters_of_the_kernel_are_searched_in_a_grid() -> None:
    labels = (X[:, 0] ** 2 + X[:, 1] ** 2 > 1.5).astype(int)
    pipeline = make_pipeline(mc.KernelPCA(3, kernel=mc.Gaussian(1.0)), KNeighborsClassifier(3))
    grid = {"kernelpca__kernel__bandwidth": [0.1, 1.0, 3.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, labels)
    assert search.best_params_["kernelpca__kernel__bandwidth"] in (0.1, 1.0, 3.0)
    model = clone(mc.KernelPCA(kernel=mc.Gaussian(1.0))).set_params(kernel__bandwidth=2.5)
    assert model.kernel == mc.Gaussian(2.5)


def test_a_fitted_model_survives_pickling() -> None:
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.5)).fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.transform(NEW), model.transform(NEW))


def test_the_rule_of_a_bandwidth_is_frozen_at_fit() -> None:
    model = mc.KernelPCA(2, kernel=mc.Gaussian("median")).fit(X)
    assert model.kernel == mc.Gaussian("median")
    assert isinstance(mc.parameters(model.kernel_)["bandwidth"], float)
    np.testing.assert_allclose(
        model.transform(NEW), mc.KernelPCA(2, kernel=model.kernel_).fit(X).transform(NEW)
    )


def test_large_data_ask_for_a_number_of_axes() -> None:
    with pytest.raises(mc.InvalidParameter, match="n_components=10"):
        mc.KernelPCA(kernel=mc.Gaussian(1.0)).fit(np.zeros((3001, 1)))


@pytest.mark.parametrize("bad", ["nonsense(", 3, None])
def test_what_is_no_kernel_is_refused(bad: object) -> None:
    with pytest.raises(mc.MercerError):
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
