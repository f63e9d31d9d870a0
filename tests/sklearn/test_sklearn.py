from __future__ import annotations

import inspect
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn import (
    decomposition,
    gaussian_process,
    kernel_approximation,
    kernel_ridge,
    manifold,
    svm,
)
from sklearn.base import clone
from sklearn.datasets import load_iris, make_circles
from sklearn.decomposition import KernelPCA as Peer
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.metrics import euclidean_distances
from sklearn.utils._test_common.instance_generator import _get_expected_failed_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer import sklearn as doors
from mercer.check import Array
from mercer.errors import NotConverged, SingularSystem
from mercer.sklearn import KernelPCA
from mercer.sklearn import embeddings as replacement
from mercer.sklearn.regressors import NoTranslation, translate
from mercer.spectrum import leading

IRIS = load_iris().data
CIRCLES = make_circles(250, factor=0.3, noise=0.05, random_state=0)[0]
DATA = {"iris": (IRIS[::2], IRIS[1::2]), "circles": (CIRCLES[:220], CIRCLES[220:])}
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf", "gamma": 0.7},
    "rbf of the number of columns": {"kernel": "rbf"},
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.1, "coef0": 2.0},
    "cosine": {"kernel": "cosine"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.0},
    "function": {
        "kernel": lambda a, b, power: float(a @ b) ** power,
        "kernel_params": {"power": 2},
    },
}
STORED: dict[str, dict[str, Any]] = {
    "no gamma": {"kernel": "rbf", "gamma": 0.0},
    "fractional degree": {"kernel": "poly", "degree": 1.5},
    "negative coef0": {"kernel": "poly", "degree": 2, "coef0": -0.1},
}
RNG = np.random.default_rng(5)
SURFACE = np.tanh(RNG.standard_normal((3000, 3)) @ RNG.standard_normal((3, 6)))
LARGE = SURFACE + 0.1 * RNG.standard_normal((3000, 6))
MEGABYTE = 2**20


def near(found: Array, expected: Array, tol: float = 1e-9) -> None:
    """Compare scores up to the sign of each axis, relative to the largest."""
    signs = np.sign(np.sum(found * expected, axis=0))
    np.testing.assert_allclose(found * signs, expected, rtol=0, atol=tol * np.abs(expected).max())


@contextmanager
def peak() -> Iterator[Callable[[], float]]:
    """Give the largest number of megabytes that were held since."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1] / MEGABYTE
    finally:
        tracemalloc.stop()


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        KernelPCA(),
        KernelPCA(2, kernel="rbf", fit_inverse_transform=True),
        KernelPCA(2, kernel="cosine", eigen_solver="arpack"),
        KernelPCA(2, kernel="precomputed"),
    ]
)
def test_the_protocol_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


PEERS = {
    doors.PCA: decomposition.PCA,
    doors.KernelPCA: decomposition.KernelPCA,
    doors.KernelRidge: kernel_ridge.KernelRidge,
    doors.GaussianProcessRegressor: gaussian_process.GaussianProcessRegressor,
    doors.SVC: svm.SVC,
    doors.SVR: svm.SVR,
    doors.OneClassSVM: svm.OneClassSVM,
    doors.MDS: manifold.MDS,
    doors.Nystroem: kernel_approximation.Nystroem,
    doors.RBFSampler: kernel_approximation.RBFSampler,
}


@pytest.mark.parametrize("ours", PEERS)
def test_every_door_has_the_signature_of_what_it_replaces(ours: Any) -> None:
    theirs = PEERS[ours]
    assert inspect.signature(ours) == inspect.signature(theirs)
    assert ours.__name__ == theirs.__name__
    assert issubclass(ours, theirs)
    assert repr(clone(ours())) == repr(theirs())
    assert "What differs" in ours.__doc__ or "scikit-learn's" in ours.__doc__


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        doors.PCA(),
        doors.KernelRidge(kernel="rbf"),
        doors.GaussianProcessRegressor(),
        doors.SVC(),
        doors.SVR(),
        doors.OneClassSVM(),
        doors.Nystroem(n_components=20),
        doors.RBFSampler(),
    ],
    expected_failed_checks=lambda model: {
        name: reason
        for name, reason in _get_expected_failed_checks(PEERS[type(model)]()).items()
        if (type(model), name) != (doors.Nystroem, "check_transformer_preserve_dtypes")
    },
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # of bounds and of few rows, as there
def test_doors_keep_the_protocol_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_components_are_those_of_scikit_learn_and_lose_no_digits_far_away() -> None:
    x = np.random.default_rng(3).standard_normal((60, 5)) * [5.0, 3.0, 2.0, 1.0, 0.5]
    for options in (
        {},
        {"n_components": 3, "whiten": True},
        {"n_components": 0.9},
        {"n_components": "mle", "svd_solver": "full"},
        {"n_components": 2, "svd_solver": "arpack"},
        {"n_components": 0},
    ):
        ours, theirs = doors.PCA(**options).fit(x), decomposition.PCA(**options).fit(x)
        for name in (
            "components_",
            "mean_",
            "explained_variance_",
            "explained_variance_ratio_",
            "singular_values_",
            "noise_variance_",
        ):
            found, expected = getattr(ours, name), getattr(theirs, name)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=name)
        scores = theirs.transform(x)
        np.testing.assert_allclose(ours.fit_transform(x), scores, atol=1e-9)
        if scores.size:
            again = theirs.inverse_transform(scores)
            np.testing.assert_allclose(ours.inverse_transform(scores), again, atol=1e-9)
    far = np.round(x * 2**10) / 2**10 + 2.0**30  # no digit is lost by adding
    near_by = decomposition.PCA(2).fit(far - 2.0**30)
    ours, theirs = doors.PCA(2).fit(far), decomposition.PCA(2).fit(far)
    error = np.abs(near_by.transform(far - 2.0**30) - ours.transform(far)).max()
    assert error < 1e-6 < np.abs(near_by.transform(far - 2.0**30) - theirs.transform(far)).max()
    with pytest.raises(ValueError, match="must be strictly less than"):
        doors.PCA(5, svd_solver="arpack").fit(x)


def test_axes_of_no_variance_complete_the_others() -> None:
    x = np.zeros((6, 4))
    x[:, 1] = np.arange(6)
    model = doors.PCA().fit(x)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(model.explained_variance_, [3.5, 0.0, 0.0, 0.0], rtol=1e-12)
    flat = doors.PCA(2).fit(np.ones((3, 2)))
    assert np.all(flat.explained_variance_ratio_ == 0.0)  # scikit-learn's are NaN
    named = doors.PCA(2).set_output(transform="pandas").fit_transform(x)
    assert named.columns.tolist() == ["pca0", "pca1"]


def test_axes_of_wide_tables_are_completed_without_a_square_matrix() -> None:
    x = np.random.default_rng(1).standard_normal((20, 1500))
    with peak() as megabytes:
        model = doors.PCA().fit(x)
        assert megabytes() < 10.0  # a matrix of all columns has 18
    assert model.explained_variance_[-1] == 0.0
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(20), atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_whitened_axes_of_no_variance_have_coordinates_of_zero(form: Any) -> None:
    x = np.random.default_rng(2).standard_normal((4, 6))
    x[3] = x[0] + x[1] - x[2]  # four corners of a plane
    model = doors.PCA(3, whiten=True).fit(form(x))
    scores = model.transform(form(x))
    assert np.all(scores[:, 2] == 0.0)
    np.testing.assert_allclose(scores[:, :2].std(axis=0, ddof=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(scores), x, atol=1e-12)
    tiny = doors.PCA(3, whiten=True).fit_transform(form(1e-30 * x))
    np.testing.assert_allclose(np.abs(tiny), np.abs(scores), atol=1e-12)


def test_rows_in_fewer_directions_than_columns_have_no_likelihood() -> None:
    x = np.random.default_rng(0).standard_normal((30, 6))
    twice = np.column_stack([x[:, :3], x[:, :3]])
    for model, data in (
        (doors.PCA(), x[:4]),
        (doors.PCA(3), x[:4]),
        (doors.PCA(whiten=True), x[:4]),
        (doors.PCA(), twice),
        (doors.PCA(4), twice),
    ):
        with pytest.raises(SingularSystem, match="6 columns vary in 3 directions.*< 3 leaves"):
            model.fit(data).score(data)
    with pytest.raises(SingularSystem, match="the 2 columns vary in 1 direction, so"):
        doors.PCA().fit(x[:, [0, 0]]).get_precision()
    theirs = decomposition.PCA(2).fit(x[:4]).score(x[:4])
    assert doors.PCA(2).fit(x[:4]).score(x[:4]) == pytest.approx(theirs)
    assert doors.PCA().fit(x).score(x) == pytest.approx(decomposition.PCA().fit(x).score(x))


def test_ridge_is_that_of_scikit_learn_and_of_mercer() -> None:
    x, new = DATA["iris"]
    y = x @ np.array([[1.0, 0.5], [-1.0, 0.2], [0.3, 0.0], [0.0, 2.0]]) + np.sin(x[:, :2])
    for options in KERNELS.values():
        for alpha in (0.5, np.array([0.5, 2.0])):
            kept = {k: v for k, v in options.items() if k != "alpha"}
            ours = doors.KernelRidge(alpha=alpha, **kept).fit(x, y)
            theirs = kernel_ridge.KernelRidge(alpha=alpha, **kept).fit(x, y)
            np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=0, atol=1e-6)
    weights = RNG.uniform(0.0, 2.0, len(x))
    ours = doors.KernelRidge(alpha=0.5, kernel="rbf").fit(x, y[:, 0], sample_weight=weights)
    theirs = kernel_ridge.KernelRidge(alpha=0.5, kernel="rbf").fit(
        x, y[:, 0], sample_weight=weights
    )
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-9)
    by_penalty = mc.KernelRegression(mc.Gaussian(2.0**0.5), 0.5 / len(x)).fit(x, y)
    plain = doors.KernelRidge(alpha=0.5, kernel="rbf").fit(x, y)
    np.testing.assert_allclose(plain.predict(new), by_penalty.predict(new), atol=1e-9)


def test_ridge_of_many_rows_stores_no_matrix() -> None:
    y = np.sin(LARGE[:, 0])
    x, y = np.vstack([LARGE, LARGE[:500] + 0.01]), np.append(y, y[:500])
    first = doors.KernelRidge(alpha=1.0, kernel="rbf").fit(x, y)  # which reads modules
    with peak() as held:
        model = doors.KernelRidge(alpha=1.0, kernel="rbf").fit(x, y)
        values = model.predict(x)
        assert held() < 0.8 * 8 * len(x) ** 2 / MEGABYTE
    residual = first.dual_coef_ + values - y
    np.testing.assert_allclose(residual, 0.0, atol=1e-8)  # αc = y - f


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_margins_are_exact_where_scikit_learns_stop(kernel: str) -> None:
    iris = load_iris()
    x, y = iris.data, iris.target
    tight = svm.SVC(kernel=kernel, tol=1e-9).fit(x, y)
    ours = doors.SVC(kernel=kernel).fit(x, y)
    np.testing.assert_allclose(
        ours.decision_function(x), tight.decision_function(x), rtol=0, atol=2e-5
    )
    assert ours.gap_ < 1e-9
    usual = svm.SVC(kernel=kernel).fit(x, y)
    error = np.max(np.abs(usual.decision_function(x) - tight.decision_function(x)))
    assert np.max(np.abs(ours.decision_function(x) - tight.decision_function(x))) < error
    assert ours.dual_coef_.shape == (2, len(ours.support_))
    assert ours.n_support_.sum() == len(ours.support_)
    rows = svm.SVC(kernel=kernel).fit(sparse.csr_array(x), y)
    given = doors.SVC(kernel=kernel).fit(sparse.csr_array(x), y)
    assert type(given.dual_coef_) is type(rows.dual_coef_)
    np.testing.assert_allclose(
        given.decision_function(sparse.csr_array(x)), ours.decision_function(x), atol=1e-7
    )


def test_tubes_and_regions_are_exact_too() -> None:
    x, y = IRIS[:, :3], IRIS[:, 3]
    tube, loose = (c(C=2.0, epsilon=0.05).fit(x, y) for c in (doors.SVR, svm.SVR))
    tight = svm.SVR(C=2.0, epsilon=0.05, tol=1e-9).fit(x, y)
    error = np.max(np.abs(loose.predict(x) - tight.predict(x)))
    assert np.max(np.abs(tube.predict(x) - tight.predict(x))) < 0.05 * error
    region = doors.OneClassSVM(nu=0.213).fit(x)
    limit = svm.OneClassSVM(nu=0.213, tol=1e-9).fit(x)
    np.testing.assert_allclose(region.decision_function(x), limit.decision_function(x), atol=1e-5)
    assert max(tube.gap_, region.gap_) < 1e-8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_cannot_be_proved_is_left_to_libsvm() -> None:
    y = load_iris().target
    for options in ({"kernel": "sigmoid"}, {"max_iter": 5}):
        ours, theirs = (c(**options).fit(IRIS, y) for c in (doors.SVC, svm.SVC))
        assert ours.gap_ == np.inf
        np.testing.assert_array_equal(ours.dual_coef_, theirs.dual_coef_)


def test_maps_have_less_stress_than_scikit_learns() -> None:
    options: dict[str, Any] = {"n_init": 1, "init": "random", "random_state": 3}
    for more in ({}, {"normalized_stress": True}):
        ours, theirs = (c(**options, **more).fit(IRIS[::3]) for c in (doors.MDS, manifold.MDS))
        assert ours.stress_ < theirs.stress_
        d = euclidean_distances(ours.embedding_)
        raw = 0.5 * np.sum((d - ours.dissimilarity_matrix_) ** 2)
        norm = 0.5 * np.sum(ours.dissimilarity_matrix_**2)
        assert ours.stress_ == pytest.approx(np.sqrt(raw / norm) if more else raw, rel=1e-6)
    unchanged = {"metric_mds": False, **options}
    ours, theirs = (c(**unchanged).fit(IRIS[::10]) for c in (doors.MDS, manifold.MDS))
    np.testing.assert_array_equal(ours.embedding_, theirs.embedding_)


def test_landmarks_leave_less_than_uniform_ones() -> None:
    x = np.vstack([0.01 * RNG.standard_normal((300, 2)), RNG.uniform(-3.0, 3.0, (60, 2))])
    K = mc.kernel("rbf(gamma=1.0)")(x)
    lost = {}
    for c in (doors.Nystroem, kernel_approximation.Nystroem):
        left = []
        for seed in range(5):
            features = c(gamma=1.0, n_components=20, random_state=seed).fit(x)
            F = features.transform(x)
            left.append(float(np.trace(K - F @ F.T)))
            np.testing.assert_array_equal(features.components_, x[features.component_indices_])
        lost[c] = np.mean(left)
        if c is doors.Nystroem:
            assert features.trace_error_ == pytest.approx(left[-1], rel=1e-5)
    assert lost[doors.Nystroem] < 0.5 * lost[kernel_approximation.Nystroem]
    assert np.isnan(doors.Nystroem(kernel="sigmoid", n_components=5).fit(x).trace_error_)


def test_orthogonal_frequencies_vary_less() -> None:
    x = RNG.standard_normal((40, 8))
    K = mc.kernel("rbf(gamma=0.05)")(x)
    errors = []
    for c in (doors.RBFSampler, kernel_approximation.RBFSampler):
        parts = [c(gamma=0.05, n_components=64, random_state=s).fit_transform(x) for s in range(20)]
        errors.append(np.mean([np.mean((F @ F.T - K) ** 2) for F in parts]))
    assert errors[0] < errors[1]


COVARIANCES = [
    1.5 * RBF(0.7) + WhiteKernel(0.1),
    RBF([0.7, 1.0]) + WhiteKernel(0.1, "fixed"),
    ConstantKernel(2.0) * Matern(0.8, nu=2.5) + WhiteKernel(0.05),
    RationalQuadratic(0.8, 1.3) * 2.0 + DotProduct(0.7) + WhiteKernel(0.1),
    (RBF(0.7) + 0.5) ** 2 + WhiteKernel(0.1),
    RBF(0.7, "fixed") * ConstantKernel(1.0) + WhiteKernel(0.1),
]


@pytest.mark.parametrize("covariance", COVARIANCES, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of bounds
def test_covariances_are_translated_and_their_optimum_is_no_lower(covariance: Any) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((40, 2))
    y = np.sin(2.0 * x[:, 0]) + 0.3 * x[:, 1] + 0.2 * rng.standard_normal(40)
    of = translate(covariance, 2)
    assert of.kernel is not None
    white = np.eye(40) * of.noise
    np.testing.assert_allclose(of.kernel(x) + white, covariance(x), rtol=1e-12, atol=1e-12)
    values = {**mc.kernels.parameters(of.kernel), "noise_variance": of.noise}
    np.testing.assert_allclose(of.theta(values), covariance.theta, rtol=1e-12, atol=1e-14)
    ours = doors.GaussianProcessRegressor(covariance, normalize_y=True).fit(x, y)
    theirs = gaussian_process.GaussianProcessRegressor(covariance, normalize_y=True).fit(x, y)
    assert ours.optimum_ is not None
    gain = ours.log_marginal_likelihood_value_ - theirs.log_marginal_likelihood_value_
    assert gain > -1e-6
    if gain < 1e-4:  # the same optimum, and the same predictions
        for one, other in zip(
            ours.predict(x[:5] + 0.1, return_std=True),
            theirs.predict(x[:5] + 0.1, return_std=True),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_has_no_translation_is_left_to_scikit_learn() -> None:
    x = np.linspace(0.0, 4.0, 25)[:, None]
    y = np.sin(3.0 * x[:, 0])
    period = ExpSineSquared(1.0, 2.0) + WhiteKernel(0.01)
    of = translate(period, 1)
    assert of.kernel is not None
    np.testing.assert_allclose(of.kernel(x) + 0.01 * np.eye(25), period(x), atol=1e-12)
    for strange in (ExpSineSquared(), RBF() * WhiteKernel(), WhiteKernel() + WhiteKernel()):
        with pytest.raises(NoTranslation):
            translate(strange, 2)
    for options in ({"alpha": np.full(25, 0.01)}, {"kernel": PairwiseKernel(metric="rbf")}):
        ours = doors.GaussianProcessRegressor(**options).fit(x, y)
        theirs = gaussian_process.GaussianProcessRegressor(**options).fit(x, y)
        assert ours.optimum_ is None
        np.testing.assert_array_equal(ours.predict(x), theirs.predict(x))


def test_the_signatures_are_those_of_scikit_learn() -> None:
    for method in ("fit", "transform", "fit_transform", "inverse_transform"):
        ours, theirs = (inspect.signature(getattr(c, method)) for c in (KernelPCA, Peer))
        assert [(p.name, p.kind, p.default) for p in ours.parameters.values()] == [
            (p.name, p.kind, p.default) for p in theirs.parameters.values()
        ]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("eigen_solver", ["auto", "dense"])
def test_eigenvalues_and_scores_are_those_of_scikit_learn(
    name: str, data: str, eigen_solver: str
) -> None:
    x, new = DATA[data]
    ours = KernelPCA(2, eigen_solver=eigen_solver, **KERNELS[name]).fit(x)
    theirs = Peer(2, eigen_solver="dense", **KERNELS[name]).fit(x)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-10)
    near(ours.eigenvectors_, theirs.eigenvectors_)
    near(ours.transform(new), theirs.transform(new))
    near(ours.fit_transform(x), theirs.fit_transform(x))
    assert ours.gamma_ == theirs.gamma_
    assert list(ours.get_feature_names_out()) == ["kernelpca0", "kernelpca1"]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("data", DATA)
def test_the_inverse_is_that_of_scikit_learn(name: str, data: str) -> None:
    x, new = DATA[data]
    options = {**KERNELS[name], "alpha": 0.1, "fit_inverse_transform": True}
    ours, theirs = KernelPCA(2, **options).fit(x), Peer(2, **options).fit(x)
    back, expected = (m.inverse_transform(m.transform(new)) for m in (ours, theirs))
    np.testing.assert_allclose(back, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    near(ours.X_transformed_fit_, theirs.X_transformed_fit_)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_signs_are_those_of_scikit_learn(kernel: str) -> None:
    ours, theirs = (c(4, kernel=kernel).fit_transform(IRIS) for c in (KernelPCA, Peer))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * np.abs(theirs).max())


@settings(max_examples=50)
@given(
    x=arrays(
        np.float64,
        st.tuples(st.integers(1, 9), st.integers(1, 4)),
        elements=st.floats(-2, 2, width=16),
    ),
    name=st.sampled_from(["linear", "rbf", "poly", "cosine"]),
)
def test_all_axes_together_give_the_matrix_that_scikit_learn_decomposes(
    x: Array, name: str
) -> None:
    """The products of scores do not depend on signs, nor on axes of equal eigenvalues."""
    model = KernelPCA(kernel=name)
    ours, theirs = model.fit_transform(x), Peer(kernel=name).fit_transform(x)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, rtol=0, atol=1e-7)
    again = model.transform(x)
    np.testing.assert_allclose(again @ ours.T, ours @ ours.T, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", STORED)
def test_parameters_that_make_no_kernel_are_left_to_scikit_learn(name: str) -> None:
    x, new = (part / 10.0 for part in DATA["iris"])
    ours, theirs = KernelPCA(2, **STORED[name]).fit(x), Peer(2, **STORED[name]).fit(x)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9, atol=1e-12)
    near(ours.transform(new), theirs.transform(new), tol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "cosine", lambda a, b: (a @ b.T).sum()])
def test_sparse_rows_are_the_rows(kernel: Any) -> None:
    n = 30 if callable(kernel) else 220
    x = np.where(LARGE[: n + 20] > 0.3, LARGE[: n + 20], 0.0)
    given = KernelPCA(3, kernel=kernel).fit(sparse.csr_array(x[:n]))
    dense = KernelPCA(3, kernel=kernel).fit(x[:n])
    assert sparse.issparse(given.X_fit_)
    near(given.transform(sparse.csr_array(x[n:])), dense.transform(x[n:]))


def test_the_inverse_is_learnt_from_sparse_rows_too() -> None:
    x = np.where(LARGE[:60] > 0.3, LARGE[:60], 0.0)
    models = [KernelPCA(3, kernel="rbf", alpha=0.1, fit_inverse_transform=True) for _ in range(2)]
    given, dense = models[0].fit(sparse.csr_array(x)), models[1].fit(x)
    found, expected = (m.inverse_transform(m.X_transformed_fit_) for m in (given, dense))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_rows_of_zeros_have_no_direction() -> None:
    """scikit-learn's cosine of a row of zeros is 0 with all rows, itself included."""
    x = np.vstack([IRIS[:20], np.zeros((2, 4))])
    ours, theirs = (c(2, kernel="cosine").fit(x) for c in (KernelPCA, Peer))
    near(ours.transform(x), theirs.transform(x))


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "cosine", "linear"])
def test_the_iteration_finds_what_the_whole_matrix_has(kernel: str) -> None:
    x, new = LARGE[:1200], LARGE[1200:1300]
    ours = KernelPCA(4, kernel=kernel).fit(x)
    assert "Davidson" in ours.spectrum_.how.method
    theirs = Peer(4, kernel=kernel, random_state=0).fit(x)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    near(ours.transform(new), theirs.transform(new), tol=1e-8)
    assert np.all(ours.spectrum_.errors <= 1e-3 * ours.spectrum_.values[0])


def test_three_thousand_rows_are_never_a_matrix() -> None:
    whole = 8 * 3000**2 / MEGABYTE
    with peak() as held:
        model = KernelPCA(5, kernel="rbf").fit(LARGE)
        assert held() < 0.6 * whole
    with peak() as held:
        scores = model.transform(LARGE)
        assert held() < 0.3 * whole
    near(scores, model.eigenvectors_ * np.sqrt(model.eigenvalues_), tol=1e-8)


def test_a_stored_matrix_is_computed_part_by_part_for_new_rows() -> None:
    rows = sparse.csr_array(np.where(LARGE > 0.5, LARGE, 0.0))
    model = KernelPCA(2, kernel="rbf").fit(rows[:300])
    with peak() as held:
        model.transform(sparse.vstack([rows] * 5, format="csr"))
        assert held() < 0.8 * 8 * 300 * 15_000 / MEGABYTE


def test_an_iteration_that_does_not_settle_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    methods = []

    def stubborn(operator: Any, count: int, **options: Any) -> Any:
        methods.append(options["method"])
        if options["method"] != "dense":
            raise NotConverged("planted")
        return leading(operator, count, **options)

    monkeypatch.setattr(replacement, "leading", stubborn)
    ours = KernelPCA(3, kernel="rbf").fit_transform(LARGE[:300])
    assert methods == ["exact", "dense"]
    near(ours, Peer(3, kernel="rbf").fit_transform(LARGE[:300]))


def test_more_axes_than_the_rank_are_zero_axes() -> None:
    model = KernelPCA(9, kernel="linear").fit(LARGE[:1500])
    assert np.all(model.eigenvalues_[6:] == 0.0)
    assert np.all(model.transform(LARGE[:5])[:, 6:] == 0.0)
    assert (
        KernelPCA(9, kernel="linear", remove_zero_eig=True).fit(LARGE[:1500])._n_features_out == 6
    )


@pytest.mark.parametrize("scale", [0.0, 1e-80, 1e-25, 1e25, 1e80])
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_no_scale_is_too_small_or_too_large(scale: float, kernel: str) -> None:
    options = {"kernel": kernel, "gamma": 1.0, "degree": 1, "coef0": 0}
    x = scale * LARGE[:300]
    ours, theirs = (
        c(2, **options).fit(x) for c in (KernelPCA, partial(Peer, eigen_solver="dense"))
    )
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)


def test_data_far_from_the_origin_lose_no_digits() -> None:
    near(
        KernelPCA(3, kernel="linear").fit_transform(IRIS + 1e7),
        decomposition.PCA(3).fit_transform(IRIS),
        tol=1e-7,
    )


def test_the_symmetric_part_of_a_matrix_counts_for_every_solver() -> None:
    K = IRIS @ IRIS.T
    skewed = K + np.triu(np.full_like(K, 0.5), 1)
    expected = KernelPCA(2, kernel="precomputed").fit((skewed + skewed.T) / 2.0)
    for eigen_solver in ("dense", "arpack", "randomized"):
        model = KernelPCA(2, kernel="precomputed", eigen_solver=eigen_solver).fit(skewed)
        np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-12)


@pytest.mark.parametrize("copy_X", [True, False])
def test_the_callers_matrix_is_never_written_to(copy_X: bool) -> None:
    K = IRIS @ IRIS.T
    before = K.copy()
    KernelPCA(2, kernel="precomputed", copy_X=copy_X).fit_transform(K)
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("n", [60, 1100])
def test_an_indefinite_matrix_is_refused_only_where_it_is_negative(n: int) -> None:
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(np.column_stack([np.ones(n), rng.standard_normal((n, 4))]))[0][:, 1:]
    K = (basis * [9.0, 5.0, 3.0, -7.0]) @ basis.T
    model = KernelPCA(3, kernel="precomputed").fit(K)
    np.testing.assert_allclose(model.eigenvalues_, [9.0, 5.0, 3.0], rtol=1e-9)
    with pytest.raises(ValueError, match="significant negative eigenvalues"):
        KernelPCA(kernel="precomputed").fit(K)


def test_a_kernel_of_mercer_is_a_kernel() -> None:
    x, new = DATA["iris"]
    ours = KernelPCA(2, kernel=mc.Gaussian(bandwidth=1.0)).fit(x)
    near(ours.transform(new), Peer(2, kernel="rbf", gamma=0.5).fit(x).transform(new))
    by_rule = KernelPCA(2, kernel=mc.Gaussian(bandwidth="median")).fit(x)
    near(by_rule.transform(new[:3]), by_rule.transform(new)[:3])


def test_single_precision_stays_so_and_loses_nothing_more() -> None:
    x = LARGE[:300].astype(np.float32)
    ours, exact = KernelPCA(3, kernel="rbf").fit(x), Peer(3, kernel="rbf").fit(x.astype(float))
    scores = ours.transform(x)
    assert {scores.dtype, ours.eigenvalues_.dtype, ours.eigenvectors_.dtype} == {np.dtype("f4")}
    near(scores, exact.transform(x.astype(float)), tol=3e-7)


@pytest.mark.parametrize("random_state", [None, 3, "generator"])
def test_the_same_seed_gives_the_same_axes(random_state: Any) -> None:
    def fitted() -> Array:
        state = np.random.RandomState(3) if random_state == "generator" else random_state
        model = KernelPCA(3, kernel="rbf", random_state=state, n_jobs=1)
        return np.asarray(model.fit_transform(LARGE[:400]))

    np.testing.assert_array_equal(fitted(), fitted())


def test_a_fitted_model_is_cloned_pickled_and_writes_frames() -> None:
    pandas = pytest.importorskip("pandas")
    x, new = DATA["iris"]
    model = KernelPCA(2, kernel="rbf", gamma=0.3).set_output(transform="pandas").fit(x)
    assert clone(model).get_params() == model.get_params()
    frame = pickle.loads(pickle.dumps(model)).transform(new)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["kernelpca0", "kernelpca1"]
    assert isinstance(model, Peer)


def test_parameters_are_refused_in_the_words_of_scikit_learn() -> None:
    with pytest.raises(ValueError, match="The 'n_components' parameter of KernelPCA must be"):
        KernelPCA(0).fit(IRIS)
    with pytest.raises(ValueError, match="The 'kernel' parameter of KernelPCA must be"):
        KernelPCA(kernel="gaussian").fit(IRIS)
