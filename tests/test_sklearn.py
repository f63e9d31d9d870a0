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
from sklearn import decomposition
from sklearn.base import clone
from sklearn.datasets import load_iris, make_circles
from sklearn.decomposition import KernelPCA as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer import sklearn as replacement
from mercer.check import Array
from mercer.sklearn import KernelPCA
from mercer.spectrum import NotConverged, leading

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


def test_the_signatures_are_those_of_scikit_learn() -> None:
    assert inspect.signature(KernelPCA) == inspect.signature(Peer)
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
    np.testing.assert_allclose(back, expected, rtol=0, atol=1e-7 * np.abs(x).max())
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
