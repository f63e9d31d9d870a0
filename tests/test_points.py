"""Sparse rows are points: the same numbers as their dense twins, without ever being filled."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy import sparse

import mercer as mc
from mercer.points import SparseRows, as_points, join_points, take
from mercer.sklearn import KernelPCA as Door
from tests.oracles import assert_near

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 30)) * (RNG.uniform(size=(40, 30)) < 0.15)
X[3] = 0.0
X[5] = X[4]
S = sparse.csr_matrix(X)
Y = X[:, 0] + X[:, 1] + 0.1 * RNG.normal(size=40)
LENGTHS = tuple(np.linspace(0.5, 2.0, 30).tolist())

KERNELS = [
    mc.Linear(),
    mc.Polynomial(2),
    mc.kernels.Sigmoid(0.1, 0.2),
    mc.kernels.Tanimoto(),
    mc.Gaussian(1.3),
    mc.Gaussian(LENGTHS),
    mc.Gaussian("median"),
    mc.Gaussian("scale"),
    mc.Laplacian(1.0, norm=2.0),
    mc.Matern(1.5, 2.0),
    mc.kernels.RationalQuadratic(),
    mc.kernels.NegativeDistance(),
    mc.kernels.Sobolev(20.0),
    mc.Linear() + 0.5 * mc.Gaussian() * mc.Linear() ** 2,
    mc.Linear().normalised(),
    mc.Linear().gaussian(2.0),
    mc.Gaussian().exp(),
    mc.Gaussian().centred(X[:3]),
    mc.Linear().on(lambda x: 2.0 * x),
    mc.kernel("rbf"),
]


@pytest.mark.parametrize("k", KERNELS, ids=lambda k: str(k)[:40])
def test_sparse_rows_have_the_values_of_dense_ones(k: mc.Kernel) -> None:
    dense, found = k.resolve(X), k.resolve(S)
    expected = dense(X)
    size = float(np.abs(expected).max())
    assert_near(found(S) / size, expected / size, 1e-14)
    assert_near(found(S[:7], X) / size, expected[:7] / size, 1e-14)
    assert_near(found(X, S[:7]) / size, expected[:, :7] / size, 1e-14)
    assert_near(found.diag(S) / size, dense.diag(X) / size, 1e-14)
    V = RNG.normal(size=(40, 2))
    assert_near(mc.Gram(k, S, tile=16) @ V / size, expected @ V / size, 1e-12)
    assert k.reads_sparse


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "csc_array", "coo_array", "lil_array"])
def test_every_format_is_read(form: str) -> None:
    found = mc.Gaussian()(getattr(sparse, form)(X))
    assert np.array_equal(found, mc.Gaussian()(S))


def test_entries_that_are_given_twice_are_added() -> None:
    twice = sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert mc.Linear()(twice).tolist() == [[9.0, 0.0], [0.0, 16.0]]


def test_complex_sparse_rows_are_read() -> None:
    z = X + 1j * np.roll(X, 1, axis=0)
    for k in (mc.Linear(), mc.Gaussian(2.0)):
        assert_near(k(sparse.csr_array(z)), k(z), 1e-13)


def test_near_rows_far_from_the_origin_keep_their_digits() -> None:
    x = np.zeros((2, 6))
    x[:, 0] = 1e7
    x[1, 1] = 1e-3
    rows = sparse.csr_array(x)
    exact = 1e-6
    assert abs(rows @ rows.T).max() * np.finfo(float).eps > exact  # what cancellation would leave
    assert_near(mc.Linear().gaussian(1e-3)(rows)[0, 1], np.exp(-0.5), 1e-14)
    assert mc.Gaussian(1e-3)(rows).diagonal().tolist() == [1.0, 1.0]


NEEDS_ALL = [
    mc.Laplacian(),
    mc.kernels.Periodic(),
    mc.kernels.BrayCurtis(),
    mc.kernels.Delta(),
    mc.kernels.Bilinear(np.eye(30)),
]


@pytest.mark.parametrize("k", NEEDS_ALL, ids=lambda k: type(k).__name__)
def test_kernels_of_single_coordinates_say_what_to_do(k: mc.Kernel) -> None:
    message = r"sparse matrix.*inner products and Euclidean distances.*toarray\(\)"
    with pytest.raises(mc.errors.InvalidInput, match=message):
        k(S)
    with pytest.raises(mc.errors.InvalidInput, match=message):
        mc.KernelPCA(2, kernel=k).fit(S)
    assert not k.reads_sparse


def test_slopes_and_pre_images_of_sparse_rows_are_refused_by_name() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="is a sparse matrix"):
        mc.Gaussian().slopes(S)
    model = mc.KernelPCA(2, kernel=mc.Gaussian(2.0)).fit(S)
    with pytest.raises(mc.errors.InvalidInput, match="is a sparse matrix"):
        model.inverse_transform(model.transform(S[:2]))


def test_what_is_not_finite_is_named_by_its_place() -> None:
    bad = S.copy()
    row, column = (int(i[7]) for i in bad.nonzero())
    bad.data[7] = np.nan
    with pytest.raises(mc.errors.InvalidInput, match=f"x, row {row}, column {column} holds NaN"):
        mc.Gaussian()(bad)
    with pytest.raises(mc.errors.InvalidInput, match=f"row {row}, column {column} holds NaN"):
        mc.KernelPCA(kernel=mc.Gaussian()).fit(bad)


def test_other_numbers_of_columns_and_odd_arrays_are_refused() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="x has points of 30 coordinates and y of 7"):
        mc.Gaussian()(S, S[:, :7])
    with pytest.raises(mc.errors.InvalidInput, match="expecting 30 features"):
        mc.KernelPCA(kernel=mc.Gaussian()).fit(S).transform(S[:, :7])
    with pytest.raises(mc.errors.InvalidInput, match="0 sample"):
        mc.KernelPCA(kernel=mc.Gaussian()).fit(S[:0])
    with pytest.raises(mc.errors.InvalidInput, match="leave the range of double precision"):
        mc.Gaussian()(1e200 * S)
    with pytest.raises(mc.errors.InvalidInput, match="sparse array of shape"):
        mc.Gaussian()(sparse.coo_array(np.ones(3)))


@pytest.mark.parametrize("method", ["dense", "exact", "nystrom"])
@pytest.mark.parametrize(
    "k", [mc.Linear(), mc.Gaussian(1.5), mc.kernels.NegativeDistance()], ids=repr
)
def test_axes_of_sparse_rows_are_those_of_dense_ones(k: mc.Kernel, method: str) -> None:
    settings: dict[str, Any] = {"kernel": k, "method": method, "landmarks": 40, "random_state": 0}
    found, expected = (mc.KernelPCA(2, **settings).fit(data) for data in (S, X))
    assert_near(found.inertias_, expected.inertias_, 1e-9)
    new = S[:5], X[:5]
    assert_near(np.abs(found.transform(new[0])), np.abs(expected.transform(new[1])), 1e-7)
    assert_near(found.transform(new[0]), found.transform(new[1]), 1e-12)
    assert_near(expected.transform(new[0]), expected.transform(new[1]), 1e-12)
    assert_near(found.transform(S), found.individuals_.coordinates, 1e-7)
    correlations = [np.abs(m.variables_.correlations) for m in (found, expected)]
    assert_near(correlations[0], correlations[1], 1e-6)


def test_the_certificate_of_sparse_rows_does_not_claim_a_bound() -> None:
    model = mc.KernelPCA(2, kernel=mc.Gaussian(1.5), method="exact").fit(S)
    assert "estimated" in model.spectrum_.certificate.rounding
    dense = mc.KernelPCA(2, kernel=mc.Gaussian(1.5), method="exact").fit(X)
    assert "estimated" not in dense.spectrum_.certificate.rounding


MODELS: dict[str, Callable[[], Any]] = {
    "regression": lambda: mc.KernelRegression(mc.Gaussian(2.0), 1e-2),
    "linear": lambda: mc.KernelRegression(mc.Linear(), 1e-2, "constant"),
    "absolute": lambda: mc.KernelRegression(mc.Gaussian(2.0), 1e-2, loss="absolute"),
    "process": lambda: mc.GaussianProcess(mc.Gaussian(2.0), noise_variance=0.1, random_state=0),
    "classifier": lambda: mc.SVC(mc.Gaussian(2.0)),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_predict_from_sparse_rows(name: str) -> None:
    y = (Y > 0).astype(float) if name == "classifier" else Y
    found, expected = (MODELS[name]().fit(data, y) for data in (S, X))
    method = "decision_function" if name == "classifier" else "predict"
    values = getattr(expected, method)(X)
    assert_near(getattr(found, method)(S), values, 1e-9)
    assert_near(getattr(found, method)(X), values, 1e-9)
    assert_near(getattr(expected, method)(S), values, 1e-9)


def test_a_model_of_sparse_rows_is_stored(tmp_path: Path) -> None:
    model = mc.KernelPCA(2, kernel=mc.Gaussian(2.0)).fit(S.astype(np.float32))
    model.save(tmp_path / "model")
    again = mc.load(tmp_path / "model")
    assert isinstance(again.X_fit_, SparseRows)
    assert again.X_fit_.dtype == np.float32
    assert np.array_equal(again.transform(S), model.transform(S))
    assert repr(again.X_fit_).startswith("<SparseRows: 40 points of 30 coordinates")


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", "sigmoid"])
def test_the_door_of_scikit_learn_takes_sparse_rows_as_they_are(kernel: str) -> None:
    found, expected = (Door(3, kernel=kernel).fit(data) for data in (S, X))
    assert_near(found.eigenvalues_, expected.eigenvalues_, 1e-12)
    here, there = np.abs(found.transform(X)), np.abs(expected.transform(S))
    assert_near(here, there, 1e-10)


G = mc.Gaussian(2.0)
LINEAR = mc.Linear()
LABELS = np.where(Y > 0.0, "a", "b")
SHORT: dict[str, Any] = {"permutations": 19, "random_state": 0}

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "hsic": lambda x: mc.hsic(G, LINEAR, x, x, **SHORT).statistic,
    "unbiased hsic": lambda x: mc.hsic(G, G, x, x, estimator="unbiased", **SHORT).statistic,
    "alignment": lambda x: mc.alignment(G, LINEAR, x, x, **SHORT).p_value,
    "rv": lambda x: mc.rv(x, X[:, :3], **SHORT).statistic,
    "compare_kernels": lambda x: mc.compare_kernels({"G": (G, x), "L": (LINEAR, x)}).alignments,
    "consensus": lambda x: mc.consensus([G, LINEAR], x).weights,
    "mean_discrepancy": lambda x: mc.mean_discrepancy(G, x[:20], x[20:], **SHORT).squared,
    "distance": lambda x: mc.distance(G, x[:3], x),
    "distance_to_set": lambda x: mc.distance_to_set(G, x[:3], x),
    "values of a function": lambda x: mc.Function(G, x, Y)(x[:5]),
    "norm of a sum": lambda x: (mc.Function(G, x, Y) + mc.Function(G, x[:2], [1.0, 2.0])).norm,
    "mercer_decomposition": lambda x: mc.mercer_decomposition(G, x, 3).values,
    "bootstrap": lambda x: mc.bootstrap(mc.KernelPCA(2, kernel=G), x, 20, random_state=0).intervals,
    "bootstrap of a fit": lambda x: (
        mc.bootstrap(mc.KernelPCA(2, kernel=G).fit(x), replicates=20, random_state=0).inertias
    ),
    "jackknife": lambda x: mc.jackknife(mc.KernelPCA(2, kernel=G).fit(x)).errors,
    "parameter_path": lambda x: (
        mc.parameter_path(mc.KernelPCA(2, kernel=G), x, "kernel__bandwidth", [1.9, 2.0]).shares
    ),
    "permanova": lambda x: mc.permanova(mc.KernelPCA(2, kernel=G).fit(x), LABELS, **SHORT).r2,
    "supplementary": lambda x: (
        cast(Any, mc.KernelPCA(2, kernel=G).fit(X).supplementary(individuals=x)).individuals.cos2
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_functions_of_points_take_sparse_rows(name: str) -> None:
    found, expected = (FUNCTIONS[name](data) for data in (S, X))
    assert_near(np.asarray(found), np.asarray(expected), 1e-9)


def test_a_kernel_is_checked_on_sparse_rows_as_far_as_they_can_be_read() -> None:
    found = mc.check_kernel(G, S)
    assert found, str(found)
    said = {check.name: check.outcome for check in found.checks}
    assert said["points untouched"] == "passed"
    assert said["slopes"] == "skipped"


@pytest.mark.parametrize("model", [mc.ClassicalMDS, mc.StressMDS])
def test_a_map_of_distances_says_which_model_reads_sparse_rows(model: Any) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=r"PCA\(n_components\) of sparse rows"):
        model(2, metric="euclidean").fit(S)


def test_rows_are_taken_and_joined() -> None:
    points = as_points(S, "x")
    chosen = take(points, [4, 0])
    assert isinstance(chosen, SparseRows)
    assert np.array_equal(chosen.toarray(), X[[4, 0]])
    both = join_points(chosen, take(X, [1]))
    assert isinstance(both, SparseRows)
    assert np.array_equal(both.toarray(), X[[4, 0, 1]])
    with pytest.raises(mc.errors.InvalidInput, match=r"pass the data\.toarray\(\)"):
        np.asarray(points)


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
def test_a_wide_table_is_never_filled() -> None:
    n, p, each = 20_000, 50_000, 50
    rng = np.random.default_rng(1)
    rows, columns = np.repeat(np.arange(n), each), rng.integers(0, p, n * each)
    wide = sparse.csr_array((rng.uniform(1.0, 2.0, n * each), (rows, columns)), shape=(n, p))
    tracemalloc.start()
    try:
        for k in (mc.Linear(), mc.Gaussian(10.0)):
            model = mc.KernelPCA(2, kernel=k, method="nystrom", landmarks=40, random_state=0)
            model.fit(wide).transform(wide[:100])
        mc.Gram(mc.Linear(), wide) @ np.ones(n)
        mc.Gram(mc.Gaussian(10.0), wide[:2_000], wide) @ np.ones(n)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3e8 < 8 * n * p / 20


WIDE: dict[str, Callable[[Any, Any], Any]] = {
    "SVC": lambda x, y: mc.SVC(G).fit(x, y > 0.0).predict(x),
    "SVR": lambda x, y: mc.SVR(G).fit(x, y).predict(x),
    "OneClassSVM": lambda x, _: mc.OneClassSVM(G).fit(x).predict(x),
    "KernelRegression": lambda x, y: mc.KernelRegression(G, 0.1).fit(x, y).predict(x),
    "KernelRegression with landmarks": lambda x, y: (
        mc.KernelRegression(G, 0.1, landmarks=9).fit(x, y).predict(x)
    ),
    "GaussianProcess": lambda x, y: (
        mc.GaussianProcess(G, noise_variance=0.1, optimise=False)
        .fit(x, y)
        .predict(x, return_std=True)
    ),
    "NystromFeatures": lambda x, _: mc.NystromFeatures(9, kernel=G).fit_transform(x),
    "KernelPCA": lambda x, _: mc.KernelPCA(2, kernel=G).fit(x).transform(x),
    "KernelCCA": lambda x, _: (
        mc.KernelCCA(1, kernels=(G, "linear"), penalty=0.1).fit(x, x).transform(x)
    ),
    "hsic": lambda x, _: mc.hsic(G, LINEAR, x, x, **SHORT),
    "mean_discrepancy": lambda x, _: mc.mean_discrepancy(G, x[:99], x[99:], **SHORT),
}


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_model_and_no_function_fills_a_wide_table(name: str) -> None:
    n, p, each = 200, 400_000, 20
    rng = np.random.default_rng(1)
    rows, columns = np.repeat(np.arange(n), each), rng.integers(0, p, n * each)
    wide = sparse.csr_array((rng.uniform(1.0, 2.0, n * each), (rows, columns)), shape=(n, p))
    tracemalloc.start()
    try:
        WIDE[name](wide, rng.standard_normal(n))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5e8 < 8 * n * p / 4  # most of it of the first that imports a module


STRINGS = ["".join(RNG.choice(list("acgt"), 12)) for _ in range(30)]
COMMON = mc.kernels.StringSpectrum(2)
SHARED = mc.FromFunction(lambda a, b: float(np.dot(a, b)))
CHOOSING: dict[str, tuple[Callable[[Any], Any], str]] = {
    "SVC": (mc.SVC, "decision_function"),
    "SVR": (mc.SVR, "predict"),
    "OneClassSVM": (mc.OneClassSVM, "score_samples"),
    "NystromFeatures": (lambda k: mc.NystromFeatures(4, kernel=k, random_state=0), "transform"),
    "KernelPCA": (lambda k: mc.KernelPCA(2, kernel=k), "transform"),
    "KernelPCA with landmarks": (
        lambda k: mc.KernelPCA(2, kernel=k, method="nystrom", landmarks=8, random_state=0),
        "transform",
    ),
    "KernelRegression": (lambda k: mc.KernelRegression(k, 0.1, landmarks=8), "predict"),
    "GaussianProcess": (
        lambda k: mc.GaussianProcess(k, noise_variance=0.1, optimise=False),
        "predict",
    ),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CHOOSING)
def test_points_of_pandas_are_taken_by_their_place(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    make, method = CHOOSING[name]
    y = np.array([s.count("a") > 2 for s in STRINGS]).astype(int)
    labels = np.random.default_rng(1).permutation(len(STRINGS))
    table = np.random.default_rng(2).normal(size=(len(STRINGS), 3))
    for kernel, points, given in (
        (COMMON, STRINGS, pandas.Series(STRINGS, index=labels)),
        (SHARED, table, pandas.DataFrame(table, index=labels, columns=list("abc"))),
    ):
        expected = getattr(make(kernel).fit(points, y), method)(points)
        np.testing.assert_array_equal(getattr(make(kernel).fit(given, y), method)(given), expected)
