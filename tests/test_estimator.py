from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import mercer as mc
from mercer import check, estimator, kernels, targets
from mercer import sklearn as sklearn_doors
from mercer.data import open_points
from mercer.engines.cpu import Threads
from mercer.errors import InvalidInput, NotANumber
from mercer.estimator import as_kernel, numbers_of
from mercer.gp.limits import Limits as GPLimits
from tests.fitted import MODELS as EVERY_MODEL

RNG = np.random.default_rng(2)
X = RNG.standard_normal((12, 3))
MODELS: list[Callable[[], Any]] = [
    lambda: mc.PCA(2),
    lambda: mc.KernelPCA(2, kernel=mc.Gaussian(1.0)),
]


def spoiled(value: Any, dtype: Any = float) -> Any:
    table = X.astype(dtype)
    table[3, 1] = value
    return table


BAD: dict[str, tuple[Any, str]] = {
    "missing": (spoiled(np.nan), "row 3, column 1 holds NaN"),
    "infinite": (spoiled(np.inf), "row 3, column 1 holds inf"),
    "none": (spoiled(None, object), "row 3, column 1 holds NaN"),
    "text": (spoiled("tall", object), "row 3, column 1: 'tall' is not a number"),
    "numbers as text": ([["1", "2"], ["3", "4"]], "row 0, column 0: '1' is not a number"),
    "object": (spoiled({}, object), r"row 3, column 1: \{\} is not a number"),
    "complex": (X + 1j, "Complex data not supported"),
    "ragged": ([[1.0, 2.0], [3.0]], "row 1 of X has 1 coordinates and row 0 has 2"),
    "dates": (np.zeros((3, 2), "datetime64[D]"), "datetime64"),
    "a number": (3.0, "Reshape your data"),
    "three dimensions": (X[None], "two dimensions"),
    "no rows": (X[:0], r"0 sample\(s\)"),
    "no columns": (X[:, :0], r"0 feature\(s\) \(shape=\(12, 0\)\)"),
    "masked": (np.ma.masked_array(X, X > 1.0), "masked entries, the first at row"),
}


@pytest.mark.parametrize("model", MODELS, ids=["pca", "kernel pca"])
@pytest.mark.parametrize("case", BAD)
def test_bad_data_are_refused_by_their_place(model: Callable[[], Any], case: str) -> None:
    table, message = BAD[case]
    with pytest.raises(mc.errors.InvalidInput, match=message):
        model().fit(table)


@pytest.mark.parametrize("model", MODELS, ids=["pca", "kernel pca"])
@pytest.mark.parametrize("case", ["missing", "text", "complex", "a number"])
def test_bad_data_are_refused_at_transform_too(model: Callable[[], Any], case: str) -> None:
    fitted = model().fit(X)
    table, message = BAD[case]
    with pytest.raises(mc.errors.InvalidInput, match=message):
        fitted.transform(table)


@pytest.mark.parametrize("model", MODELS, ids=["pca", "kernel pca"])
def test_another_number_of_columns_is_refused(model: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match="expecting 3 features"):
        model().fit(X).transform(X[:, :2])


LINES: dict[str, Callable[[], Any]] = {
    "pca": lambda: mc.PCA(1),
    "kernel pca": lambda: mc.KernelPCA(2, kernel=mc.Gaussian()),
    "regression": lambda: mc.KernelRegression(mc.Gaussian(), 1e-2),
    "process": lambda: mc.GaussianProcess(
        mc.Gaussian(), noise_variance=0.1, bounds={"noise_variance": (1e-3, 1.0)}, random_state=0
    ),
    "classifier": lambda: mc.SVC(mc.Gaussian()),
    "scaling": lambda: mc.ClassicalMDS(1, metric="euclidean"),
    "stress": lambda: mc.StressMDS(1, metric="euclidean", random_state=0),
}


@pytest.mark.parametrize("name", LINES)
def test_a_one_dimensional_array_holds_points_of_the_line(name: str) -> None:
    line = np.random.default_rng(1).normal(size=12)
    y = (line > 0).astype(float)
    models = [LINES[name]().fit(points, y) for points in (line, line[:, None])]
    assert models[0].n_features_in_ == 1
    for method in ("transform", "predict"):
        if hasattr(models[0], method):
            found = [np.asarray(getattr(m, method)(line[:5])) for m in models]
            assert np.array_equal(found[0], np.asarray(getattr(models[1], method)(line[:5, None])))
            assert np.array_equal(found[0], found[1])


def test_an_individual_without_its_brackets_is_told_how_to_be_one() -> None:
    model = mc.PCA().fit(X)
    with pytest.raises(mc.errors.InvalidInput, match=r"has 1 features.*X\.reshape\(1, -1\)"):
        model.transform(X[0])


@pytest.mark.parametrize("model", [mc.KernelPCA(kernel="precomputed"), mc.ClassicalMDS()])
def test_a_matrix_has_two_dimensions(model: Any) -> None:
    with pytest.raises(
        mc.errors.InvalidInput, match="must be a matrix with a row for each individual"
    ):
        model.fit(X[:, 0])


def test_a_line_on_disk_is_read_part_by_part(tmp_path: Path) -> None:
    line = np.random.default_rng(1).normal(size=50)
    np.save(tmp_path / "line.npy", line)
    on_disk = np.load(tmp_path / "line.npy", mmap_mode="r")
    expected = mc.KernelPCA(1, kernel=mc.Gaussian()).fit(line).inertias_
    found = mc.KernelPCA(1, kernel=mc.Gaussian()).fit(on_disk).inertias_
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def unfinished(home: str, kind: str, method: str) -> Any:
    """Return an object as a library would that plans before it computes."""

    def computes(self: Any) -> Any:
        raise AssertionError("nobody asked for it to be computed")

    members = {method: computes, "shape": (4, 2), "columns": ["a", "b"], "__module__": home}
    return type(kind, (), {**members, "__len__": computes, "__array__": computes})()


LAZY: dict[str, Callable[[], Any]] = {
    "dask array": lambda: unfinished("dask.array.core", "Array", "compute"),
    "dask frame": lambda: unfinished("dask.dataframe.dask_expr", "DataFrame", "compute"),
    "polars": lambda: pytest.importorskip("polars").LazyFrame({"a": [1.0, 2.0]}),
}


@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize(
    "use",
    [
        lambda x: mc.PCA().fit(x),
        lambda x: mc.KernelPCA(kernel=mc.Gaussian()).fit(x),
        lambda x: mc.KernelPCA(kernel=mc.Columns()).fit(x),
        lambda x: mc.KernelPCA(kernel=mc.kernels.Delta()).fit(x),
        lambda x: mc.ClassicalMDS().fit(x),
        lambda x: mc.SmoothingSpline().fit(x, [1.0, 2.0]),
        lambda x: mc.Gaussian()(x),
        lambda x: mc.Gaussian().diag(x),
        lambda x: mc.Gram(mc.Linear(), x),
        lambda x: mc.read(x),
    ],
    ids=[
        "pca",
        "kernel pca",
        "columns",
        "objects",
        "mds",
        "spline",
        "kernel",
        "diag",
        "gram",
        "read",
    ],
)
def test_data_that_are_not_computed_yet_are_refused_at_once(use: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of polars, where the names of columns are asked for
        with pytest.raises(
            mc.errors.InvalidInput, match=r"pass .*\.(compute|collect)\(\).*mmap_mode"
        ):
            use(LAZY[name]())


def test_the_column_of_a_frame_is_named() -> None:
    class Frame:
        columns = ("height", "sex")
        shape = (2, 2)

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([[1.0, "f"], [2.0, "m"]], dtype=object)

    with pytest.raises(NotANumber, match=r"column 1 \('sex'\): 'f' is not a number"):
        numbers_of(Frame())


def test_a_missing_entry_of_a_sparse_table_is_named() -> None:
    table = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    table.data[4] = np.nan
    row, column = (int(i[4]) for i in table.nonzero())
    with pytest.raises(mc.errors.InvalidInput, match=f"row {row}, column {column} holds NaN"):
        mc.PCA(2).fit(table)


@pytest.mark.parametrize(
    "table", [sparse.csr_array((0, 3)), sparse.csr_array((3, 0)), sparse.csr_array(X + 1j)]
)
def test_a_sparse_table_is_held_to_the_same_rules(table: Any) -> None:
    with pytest.raises(mc.errors.InvalidInput):
        mc.PCA(2).fit(table)


def test_a_kernel_says_that_it_cannot_read_sparse_rows() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="sparse"):
        mc.KernelPCA(2, kernel=mc.Laplacian(1.0)).fit(sparse.csr_array(X))


@pytest.mark.parametrize("weights", [[1.0] * 11, [-1.0] + [1.0] * 11, [0.0] * 12, [np.nan] * 12])
@pytest.mark.parametrize("model", MODELS, ids=["pca", "kernel pca"])
def test_weights_are_one_for_each_and_not_negative(
    model: Callable[[], Any], weights: list[float]
) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="weight"):
        model().fit(X, sample_weight=weights)


def test_duplicate_column_names_get_one_clear_message() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "a"])
    with pytest.raises(mc.errors.InvalidInput, match="two columns of X are named 'a'"):
        mc.PCA(2).fit(frame)
    with pytest.raises(mc.errors.InvalidInput, match="same name"):
        mc.PCA(2).fit(X).supplementary(variables=frame)


def test_a_missing_value_of_a_frame_is_named() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, None], "b": [1, 2, 3]})
    for given in (frame, frame.astype({"a": "Int64"})):  # whose <NA> was told to be no number
        for fit in (mc.PCA(1).fit, mc.PCA(1).partial_fit, mc.KernelPCA(1).fit):
            with pytest.raises(mc.errors.InvalidInput, match=r"X, row 2, column 0 \('a'\) holds"):
                fit(given)


def test_a_function_of_two_points_is_a_kernel() -> None:
    kernel = as_kernel(lambda a, b: float(a @ b))
    np.testing.assert_allclose(kernel(X), X @ X.T, rtol=1e-14)


def test_an_error_of_the_users_function_is_told_with_its_points() -> None:
    def broken(a: Any, b: Any) -> float:
        raise ZeroDivisionError("my own mistake")

    with pytest.raises(mc.errors.InvalidInput, match="points 0 and 0.*my own mistake"):
        mc.KernelPCA(2, kernel=broken).fit(X)


@pytest.mark.parametrize("weights", [["a"] * 12, [1j] * 12, [None] * 12, [np.inf] + [1.0] * 11])
@pytest.mark.parametrize(
    "model", [*MODELS, lambda: mc.ClassicalMDS(2, metric="euclidean")], ids=["pca", "kernel", "mds"]
)
def test_weights_that_are_no_numbers_are_refused_by_their_row(
    model: Callable[[], Any], weights: list[Any]
) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="sample_weight, row 0"):
        model().fit(X, sample_weight=weights)


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (mc.KernelPCA, "tol", -1.0),
        (mc.KernelPCA, "tol", np.nan),
        (mc.KernelPCA, "tol", "small"),
        (mc.KernelPCA, "landmarks", 2.5),
        (mc.KernelPCA, "engine", 3),
        (mc.KernelPCA, "random_state", "x"),
        (mc.KernelPCA, "random_state", -1),
        (mc.KernelPCA, "method", "fast"),
        (mc.KernelPCA, "deterministic", "yes"),
        (mc.KernelPCA, "n_components", 0),
        (mc.PCA, "standardize", "yes"),
        (mc.PCA, "constant_columns", "drop"),
        (mc.ClassicalMDS, "tol", 0.0),
        (mc.ClassicalMDS, "random_state", 1.5),
        (mc.ClassicalMDS, "method", ["dense"]),
        (mc.StressMDS, "random_state", "x"),
        (mc.StressMDS, "progress", 3),
    ],
)
def test_a_wrong_parameter_is_named_before_anything_is_computed(
    model: Any, name: str, value: Any
) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=name):
        model(**{name: value}).fit(X)


@pytest.mark.parametrize("model", MODELS, ids=["pca", "kernel pca"])
def test_another_number_of_columns_is_an_error_of_ours(model: Callable[[], Any]) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="expecting 3 features"):
        model().fit(X).transform(X[:, :2])


@pytest.mark.parametrize("model", MODELS, ids=["pca", "kernel pca"])
def test_minus_infinity_is_called_so(model: Callable[[], Any]) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="row 3, column 1 holds -inf"):
        model().fit(spoiled(-np.inf))


@pytest.mark.parametrize("model", [mc.PCA, mc.KernelPCA])
def test_more_axes_than_there_are_is_told(model: Any) -> None:
    with pytest.warns(mc.errors.FewerAxes, match="there are 3 axes, fewer than the 7 requested"):
        model(7).fit(X)


class Parts:
    """Rows that are only given out part by part, and remember the longest."""

    lies_on_disk = True

    def __init__(self, rows: Any) -> None:
        self.rows, self.shape, self.dtype, self.longest = rows, rows.shape, rows.dtype, 0

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any, /) -> Any:
        part = self.rows[index]
        self.longest = max(self.longest, len(part))
        return part.copy()


LONG = RNG.standard_normal((700, 4)) + 5.0


@pytest.mark.parametrize("kind", ["memmap", "npy", "parts"])
@pytest.mark.parametrize(
    "model",
    [
        lambda: mc.PCA(2),
        lambda: mc.KernelPCA(2, kernel=mc.Linear()),
        lambda: mc.KernelPCA(2, kernel=mc.Gaussian(2.0)),
        lambda: mc.KernelPCA(2, kernel=mc.Gaussian("median"), method="exact", random_state=0),
    ],
    ids=["pca", "linear", "gaussian", "median"],
)
def test_data_on_disk_have_the_axes_of_data_in_memory(
    model: Callable[[], Any], kind: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", LONG)
    points: Any = Parts(LONG)
    if kind == "memmap":
        points = np.load(tmp_path / "x.npy", mmap_mode="r")
    elif kind == "npy":
        points = open_points(tmp_path / "x.npy")
    expected, found = model().fit(LONG), model().fit(points)
    assert found.X_fit_ is points
    np.testing.assert_allclose(found.inertias_, expected.inertias_, rtol=1e-12)
    scores = expected.individuals_.coordinates
    np.testing.assert_allclose(found.individuals_.coordinates, scores, atol=1e-9)
    np.testing.assert_allclose(found.transform(points), expected.transform(LONG), atol=1e-9)
    r = expected.variables_.correlations
    np.testing.assert_allclose(found.variables_.correlations, r, atol=1e-9)
    np.testing.assert_allclose(
        found.without([3]).inertias_, expected.without([3]).inertias_, rtol=1e-9
    )


@pytest.mark.parametrize("model", MODELS, ids=["pca", "kernel pca"])
def test_a_bad_number_on_disk_is_named_by_its_row(
    model: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mercer.points.READ_AT_ONCE", 400)
    bad = LONG.copy()
    bad[650, 2] = np.nan
    with pytest.raises(mc.errors.InvalidInput, match="row 650, column 2 holds NaN"):
        model().fit(Parts(bad[:, :3]))


def test_a_file_larger_than_the_memory_allowed_has_its_axes(tmp_path: Path) -> None:
    script = f"""
        import resource
        import numpy as np
        import mercer as mc
        from mercer.data import OnDisk
        path = {str(tmp_path / "big.npy")!r}
        n, p = 220_000, 125  # 220 MB
        class Rows(OnDisk):
            shape, dtype, names = (n, p), np.dtype(float), ()
            def rows(self, start, stop):
                part = np.fromfile(path, float, p * (stop - start), offset=8 * p * start)
                return part.reshape(-1, p)
        with open(path, "wb") as file:
            for i in range(100):
                np.random.default_rng(i).standard_normal((n // 100, p)).tofile(file)
        model = mc.PCA(1)
        Rows()[:10] @ np.ones(p)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        most = used + 8 * n * p
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        model.fit(Rows())
        print(len(model.inertias_))
    """
    run = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1"]


SINGLE = np.random.default_rng(2).normal(size=(30, 3)).astype(np.float32)
TARGETS = (SINGLE[:, 0] + 0.3 * SINGLE[:, 1] ** 2).astype(np.float32)
DISTANCES = np.sqrt(((SINGLE[:, None] - SINGLE) ** 2).sum(axis=2), dtype=np.float32)
AXES_OF: dict[str, tuple[Callable[[], Any], Any]] = {
    "pca": (lambda: mc.PCA(2), SINGLE),
    "standardised": (lambda: mc.PCA(2, standardize=True), SINGLE),
    "kernel pca": (lambda: mc.KernelPCA(2, kernel=mc.Gaussian()), SINGLE),
    "linear": (lambda: mc.KernelPCA(2, kernel=mc.Linear()), SINGLE),
    "nystrom": (lambda: mc.KernelPCA(2, kernel=mc.Gaussian(), method="nystrom"), SINGLE),
    "precomputed": (lambda: mc.KernelPCA(2, kernel="precomputed"), mc.Gaussian()(SINGLE)),
    "sparse": (lambda: mc.KernelPCA(2, kernel=mc.Gaussian()), sparse.csr_array(SINGLE)),
    "scaling": (lambda: mc.ClassicalMDS(2), DISTANCES),
    "scaling of points": (lambda: mc.ClassicalMDS(2, metric="euclidean"), SINGLE),
    "stress": (lambda: mc.StressMDS(2, random_state=0), DISTANCES),
    "scikit-learn": (lambda: sklearn_doors.KernelPCA(2, kernel="rbf"), SINGLE),
}


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
@pytest.mark.parametrize("name", AXES_OF)
def test_coordinates_of_float32_are_float32(name: str) -> None:
    model, data = AXES_OF[name][0](), AXES_OF[name][1]
    assert model.fit_transform(data).dtype == np.float32
    if hasattr(model, "transform"):
        assert model.transform(data[:4]).dtype == np.float32
        assert model.transform(data[:4].astype(np.float64)).dtype == np.float64
    wide = AXES_OF[name][0]().fit_transform(data.astype(np.float64))
    assert wide.dtype == np.float64


PREDICT: dict[str, tuple[Callable[[], Any], str]] = {
    "regression": (lambda: mc.KernelRegression(mc.Gaussian(), 1e-2), "predict"),
    "absolute": (lambda: mc.KernelRegression(mc.Gaussian(), 1e-2, loss="absolute"), "predict"),
    "landmarks": (lambda: mc.KernelRegression(mc.Gaussian(), 1e-2, landmarks=9), "predict"),
    "process": (
        lambda: mc.GaussianProcess(mc.Gaussian(), noise_variance=0.1, random_state=0),
        "predict",
    ),
    "classifier": (lambda: mc.SVC(mc.Gaussian()), "decision_function"),
    "probabilities": (lambda: mc.SVC(mc.Gaussian(), probability=True), "predict_proba"),
    "spline": (lambda: mc.SmoothingSpline(1.0), "predict"),
}


@pytest.mark.parametrize("name", PREDICT)
def test_predictions_at_float32_are_float32(name: str) -> None:
    make, method = PREDICT[name]
    y = TARGETS > 0 if "decision" in method or "proba" in method else TARGETS
    data = SINGLE[:, 0] if name == "spline" else SINGLE
    predict = getattr(make().fit(data, y), method)
    assert predict(data[:4]).dtype == np.float32
    assert predict(data[:4].astype(np.float64)).dtype == np.float64
    np.testing.assert_allclose(predict(data[:4]), predict(data[:4].astype(float)), rtol=2e-7)
    if name in ("regression", "process", "spline"):
        assert predict(data[:4], return_std=True)[1].dtype == np.float32
    if name == "process":
        assert predict(data[:4], return_cov=True)[1].dtype == np.float32


@pytest.mark.parametrize("stored", [0, 100])
def test_deviations_at_float32_are_those_of_double_precision(
    stored: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """k(x, x) was rounded to single precision: of small ones nothing was left."""
    monkeypatch.setattr(mc.GaussianProcess, "limits", GPLimits(stored=stored))
    process = mc.GaussianProcess(1.44 * mc.Gaussian(3.0), noise_variance=1e-9, optimise=False)
    fitted = process.fit(SINGLE, np.sin(SINGLE[:, 0]))
    _, expected = fitted.predict(SINGLE.astype(float), return_std=True)
    _, found = fitted.predict(SINGLE, return_std=True)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=2e-7)


VALUES = [
    k() if isinstance(k, type) else k
    for k in (
        mc.Linear, mc.Polynomial, mc.Gaussian, mc.Laplacian, mc.Matern,
        kernels.Sigmoid, kernels.Tanimoto, kernels.RationalQuadratic, kernels.NegativeDistance,
        kernels.Periodic, kernels.Sinc, kernels.Sobolev(3.0), kernels.Delta, kernels.Constant,
        kernels.BrayCurtis, kernels.Characteristic, mc.Gaussian().normalised(),
        mc.Gaussian() ** 2,
        mc.Linear().gaussian(), mc.Gaussian().exp(), mc.Gaussian() * mc.Linear() + 1.0,
        mc.FromFunction(lambda a, b: float(a @ b)), mc.kernels.FeatureMap(lambda x: x),
        mc.Linear().weighted(lambda x: x[:, 0]), mc.Linear().on(lambda x: 2.0 * x),
        mc.Gaussian().centred(SINGLE[:3]),
        mc.FromFunction(lambda x, y: x @ y.T, vectorised=True),
    )
]  # fmt: skip


@pytest.mark.parametrize("k", VALUES, ids=lambda k: str(k)[:30])
def test_kernels_of_float32_are_float32(k: mc.Kernel) -> None:
    x = np.abs(SINGLE[:6])
    assert k(x).dtype == np.float32
    assert k(x, x[:2]).dtype == np.float32
    assert k.diag(x).dtype == np.float32
    assert k(x, x.astype(np.float64)).dtype == np.float64
    gram = mc.Gram(k, x)
    ones = np.ones(6, np.float32)
    assert (gram @ ones).dtype == np.float32
    assert (gram.centred() @ ones).dtype == np.float32
    assert (gram @ np.ones(6)).dtype == np.float64


DOORS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "KernelRidge": (sklearn_doors.KernelRidge(kernel="rbf"), ("predict",)),
    "GaussianProcessRegressor": (
        sklearn_doors.GaussianProcessRegressor(alpha=0.1),
        ("predict", "sample_y"),
    ),
    "SVC": (sklearn_doors.SVC(), ("decision_function",)),
    "SVR": (sklearn_doors.SVR(), ("predict",)),
    "OneClassSVM": (sklearn_doors.OneClassSVM(), ("decision_function", "score_samples")),
    "PCA": (sklearn_doors.PCA(2), ("transform", "fit_transform", "score_samples")),
    "KernelPCA": (sklearn_doors.KernelPCA(2, kernel="rbf"), ("transform", "fit_transform")),
    "MDS": (sklearn_doors.MDS(2, init="random", n_init=1, random_state=0), ("fit_transform",)),
    "Nystroem": (sklearn_doors.Nystroem(n_components=5, random_state=0), ("transform",)),
    "RBFSampler": (sklearn_doors.RBFSampler(n_components=5, random_state=0), ("transform",)),
}


@pytest.mark.parametrize("name", DOORS)
def test_doors_keep_the_precision_of_their_points(name: str) -> None:
    model, methods = DOORS[name]
    y = TARGETS > 0 if name == "SVC" else TARGETS
    for kind in (np.float32, np.float64):
        data = SINGLE.astype(kind)
        fitted = clone(model).fit(data, y)
        for method in methods:
            assert getattr(fitted, method)(data).dtype == kind, method


def test_samples_of_a_process_have_the_precision_of_their_places() -> None:
    process = mc.GaussianProcess(mc.Gaussian(), noise_variance=0.1, optimise=False)
    fitted = process.fit(SINGLE, TARGETS)
    for kind in (np.float32, np.float64):
        places = SINGLE[:4].astype(kind)
        for prior in (True, False):
            drawn = fitted.sample(places, 2, prior=prior, random_state=0)
            assert drawn.shape == (4, 2)
            assert drawn.dtype == kind


def test_functions_of_points_are_computed_in_double_precision() -> None:
    seen = set()

    def inner(a: Any, b: Any) -> float:
        seen.add(np.asarray(a).dtype)
        return float(a @ b)

    pandas = pytest.importorskip("pandas")
    blocks = mc.FromFunction(lambda a, b: np.asarray(a) @ np.asarray(b).T, vectorised=True)
    exact = SINGLE.astype(float) @ SINGLE.T.astype(float)
    for data in (SINGLE, pandas.DataFrame(SINGLE, columns=list("abc"))):
        for kernel in (mc.FromFunction(inner), blocks):
            values = kernel(data)
            assert values.dtype == np.float32
            np.testing.assert_array_equal(values, exact.astype(np.float32))
    assert seen == {np.dtype(np.float64)}


def test_what_is_too_large_for_float32_is_refused() -> None:
    model = mc.KernelRegression(mc.Gaussian(), 1e-2).fit(SINGLE, 1e60 * TARGETS.astype(float))
    assert model.predict(SINGLE[:4].astype(float)).dtype == np.float64
    with pytest.raises(InvalidInput, match="too large for float32"):
        model.predict(SINGLE[:4])


def test_float32_of_frames_is_seen() -> None:
    for library in ("pandas", "polars"):
        frame = pytest.importorskip(library).DataFrame({"a": SINGLE[:, 0], "b": SINGLE[:, 1]})
        assert mc.PCA(1).fit_transform(frame).dtype == np.float32
        mixed = pytest.importorskip(library).DataFrame(
            {"a": SINGLE[:, 0], "b": SINGLE[:, 1].astype(np.float64)}
        )
        assert mc.PCA(1).fit_transform(mixed).dtype == np.float64


@pytest.mark.parametrize(
    "fit",
    [
        lambda x, y: mc.KernelPCA(2, kernel=mc.Gaussian("median")).fit(x),
        lambda x, y: mc.GaussianProcess(random_state=0).fit(x, y),
        lambda x, y: mc.KernelRegression(mc.Matern(1.5) + mc.Linear(), 0.1).fit(x, y),
        lambda x, y: mc.SVR(mc.Gaussian(1.0).normalised()).fit(x, y),
    ],
    ids=["KernelPCA", "GaussianProcess", "KernelRegression", "SVR"],
)
def test_data_are_examined_once_however_often_they_are_used(
    fit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    seen = []
    original = check.refuse_non_finite

    def examine(values: Any, *named: Any, **options: Any) -> None:
        seen.append(np.shape(values))
        original(values, *named, **options)

    for module in (check, estimator, targets):
        monkeypatch.setattr(module, "refuse_non_finite", examine)
    fit(x, y)
    assert [shape for shape in seen if len(shape) == 2] == [(20, 3)]
    assert seen.count((20,)) <= 1


LINE = np.linspace(0.0, 1.0, 40)[:, None]
CURVE = np.sin(6.0 * LINE[:, 0]) + 0.3 * np.random.default_rng(0).standard_normal(40)
GAUSS = mc.Gaussian(0.3)


def _computing() -> dict[str, Any]:
    """Return a fit of every model that computes Gram matrices, as a function of its settings."""
    labels = np.repeat(["a", "b"], 20)
    return {
        "KernelPCA": lambda more, told: mc.KernelPCA(2, kernel=GAUSS, **more).fit(LINE, **told),
        "KernelRegression": lambda more, told: mc.KernelRegression(GAUSS, penalty=0.1, **more).fit(
            LINE, CURVE, **told
        ),
        "GaussianProcess": lambda more, told: mc.GaussianProcess(
            1.0 * GAUSS, optimise=["noise_variance"], n_starts=1, random_state=0, **more
        ).fit(LINE, CURVE, **told),
        "SVC": lambda more, told: mc.SVC(GAUSS, **more).fit(LINE, labels, **told),
        "SVR": lambda more, told: mc.SVR(GAUSS, **more).fit(LINE, CURVE, **told),
        "OneClassSVM": lambda more, told: mc.OneClassSVM(GAUSS, **more).fit(LINE, **told),
        "KernelCCA": lambda more, told: mc.KernelCCA(1, kernels=(GAUSS, GAUSS), **more).fit(
            LINE, LINE[::-1], **told
        ),
        "NystromFeatures": lambda more, told: (
            mc.NystromFeatures(5, kernel=GAUSS, random_state=0, **more)
            .fit(LINE, **told)
            .transform(LINE)
        ),
    }


class Counting(Threads):
    """Threads that count how often they are asked for something."""

    def __init__(self, count: int = 1) -> None:
        super().__init__(count)
        self.calls = 0

    def each(self, tiles: Any) -> Any:
        self.calls += 1
        return super().each(tiles)

    def share(self, *args: Any) -> Any:
        self.calls += 1
        return super().share(*args)

    def over(self, *args: Any) -> Any:
        self.calls += 1
        return super().over(*args)


@pytest.mark.parametrize("name", sorted(_computing()))
def test_a_model_computes_on_the_engine_it_is_given(name: str) -> None:
    engine = Counting()
    _computing()[name]({"engine": engine}, {})
    if name not in ("GaussianProcess", "KernelRegression"):  # which store what threads fill
        assert engine.calls > 0
    for wrong in ({"threads": 2}, {"memory": "1GB"}):
        with pytest.raises(mc.errors.InvalidParameter, match="to the engine"):
            _computing()[name]({"engine": engine, **wrong}, {})
    with pytest.raises(mc.errors.InvalidParameter, match="engine must be"):
        _computing()[name]({"engine": "tpu"}, {})


@pytest.mark.parametrize("name", sorted(_computing()))
def test_threads_of_a_model_are_those_of_all_that_it_computes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: set[int] = set()
    made = Threads.__init__

    def noted(self: Threads, count: int | None = None, **more: Any) -> None:
        made(self, count, **more)
        if count is None:
            counts.add(self.count)

    monkeypatch.setattr(Threads, "__init__", noted)
    _computing()[name]({"threads": 3}, {})
    assert counts <= {3}
    with pytest.raises(mc.errors.InvalidParameter, match="threads"):
        _computing()[name]({"threads": 0}, {})


@pytest.mark.parametrize("name", sorted(set(_computing()) - {"NystromFeatures"}))
def test_no_matrix_is_stored_beyond_the_memory_of_a_model(name: str) -> None:
    with pytest.raises(MemoryError, match="kB|bytes|MB"):
        _computing()[name]({"memory": 2000}, {})
    _computing()[name]({"memory": "1GB"}, {})


@pytest.mark.parametrize("name", sorted(set(_computing()) - {"NystromFeatures"}))
def test_a_fit_tells_how_far_it_is(name: str) -> None:
    told: list[tuple[int, int]] = []
    _computing()[name]({}, {"progress": lambda done, total: told.append((done, total))})
    assert told
    assert all(0 < done <= total for done, total in told)
    with pytest.raises(mc.errors.InvalidParameter, match="progress must be True"):
        _computing()[name]({}, {"progress": 3})


@pytest.mark.parametrize(
    "name", [name for name, (model, *_) in EVERY_MODEL.items() if hasattr(model, "set_output")]
)
def test_every_transformer_gives_data_frames_where_asked(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    model, points, *targets = EVERY_MODEL[name]
    asked = clone(model).set_output(transform="pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert isinstance(asked.fit_transform(points, *targets), pandas.DataFrame)
        assert isinstance(asked.transform(points), pandas.DataFrame)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "found None"),
        ("data.csv", "found 'data.csv'; if that is a file, mercer.read(X) reads it"),
        (Path("data.csv"), "found 'data.csv'; if that is a file, mercer.read(X) reads it"),
        ({"a": [1.0, 2.0]}, "found dict; mercer.Table.of(X) makes a table of columns by name"),
        (iter([[1.0], [2.0]]), "found list_iterator, which is read once; pass list(X)"),
        (3.0, "found shape (). Reshape your data"),
    ],
)
def test_what_is_no_table_is_named_as_what_it_is(given: Any, said: str) -> None:
    """All of them were told that their shape is ()."""
    with pytest.raises(mc.errors.InvalidInput, match=re.escape(f"a table of individuals, {said}")):
        mc.PCA(2).fit(given)


def test_a_label_that_pandas_lacks_is_missing() -> None:
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series(["a", pandas.NA, "b"], dtype="string")
    with pytest.raises(mc.errors.InvalidInput, match="y, row 1 holds <NA>"):
        mc.SVC().fit([[1.0], [2.0], [3.0]], labels)


def test_strings_are_told_their_kernel_wherever_they_arrive() -> None:
    words, kernel = ["petal", "metal", "kettle", "kernel"], "string_spectrum(length=3)"
    for fit in (mc.KernelPCA(2).fit, mc.PCA(2).fit, mc.analyse):
        with pytest.raises(InvalidInput, match=r"strings? .*kernel='string_spectrum\(length=3\)'"):
            fit(words)
    assert mc.KernelPCA(2, kernel=kernel).fit(words).n_components_ == 2
    for name in ("spectrum", "spectrum_kernel"):
        with pytest.raises(InvalidInput, match=r"is string_spectrum\(length=3\)"):
            mc.kernel(name)
    for module, name in ((mc, "StringKernel"), (mc.kernels, "Spectrum")):
        with pytest.raises(AttributeError, match=r"is StringSpectrum\(length\)"):
            getattr(module, name)
