"""Arrays of other libraries in, arrays of theirs out, and no copy that nobody asked for."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import mercer as mc
import mercer.tensors
from mercer.estimator import Model
from mercer.solve import Saddle

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((700, 4)) * [4.0, 2.0, 1.0, 0.5] + 3.0
WEIGHTS = RNG.dirichlet(np.ones(len(X)))
GAUSSIAN = mc.Gaussian(3.0)
LIBRARIES = {"torch": torch, "array-api-strict": strict}
KERNELS = [
    mc.Gaussian(5.0),
    mc.Gaussian("median"),
    mc.Gaussian("scale"),
    mc.Linear(),
    mc.Polynomial(2, 1.0, 0.1) + mc.Matern(1.5, 3.0),
    mc.Laplacian(8.0, norm=1),
    mc.Polynomial(2, 1.0, 0.1).normalised().gaussian("median"),
]


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("an array was copied to the host")


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A library whose arrays refuse to become numpy's unless they are asked to."""
    if request.param == "array-api-strict" and not hasattr(np, "unstack"):
        pytest.skip("arrays of array-api-strict are not exchanged before numpy 2.1")
    monkeypatch.setattr(torch.Tensor, "__array__", refuse)
    monkeypatch.setattr(type(strict.zeros(1)), "__array__", refuse, raising=False)
    return LIBRARIES[request.param]


def on_host(a: Any) -> Any:
    return np.from_dlpack(a)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_results_are_arrays_like_the_individuals(kernel: mc.Kernel, library: Any) -> None:
    given = library.asarray(X)
    kind = type(given)
    settings: dict[str, Any] = {"kernel": kernel, "method": "exact", "random_state": 0}
    ours = mc.KernelPCA(3, **settings).fit(given, sample_weight=WEIGHTS)
    theirs = mc.KernelPCA(3, **settings).fit(X, sample_weight=WEIGHTS)
    one, other = ours.individuals_, theirs.individuals_
    size = np.abs(other.coordinates).max()
    new: Any = ours.supplementary(individuals=given[:9, :]).individuals
    for found, exact, unit in (
        (ours.transform(given[:20, :]), theirs.transform(X[:20]), size),
        (one.coordinates, other.coordinates, size),
        (one.cos2, other.cos2, 1.0),
        (one.contributions, other.contributions, 1.0),
        (one.plane_distances, other.plane_distances, size),
        (new.cos2, other.cos2[:9], 1.0),
    ):
        assert type(found) is kind
        np.testing.assert_allclose(on_host(found), exact, rtol=0, atol=2e-6 * unit)
    allowed = np.asarray(ours.spectrum_.errors) + np.asarray(theirs.spectrum_.errors)
    assert np.all(np.abs(ours.spectrum_.values - theirs.spectrum_.values) <= allowed)
    assert type(ours.eigenvectors_) is kind
    assert type(ours.transform(X[:5])) is np.ndarray  # as what was given there


@pytest.mark.parametrize("method", ["dense", "nystrom"])
def test_small_and_approximate_fits_return_them_too(method: str, library: Any) -> None:
    given = library.asarray(X[:300])
    ours = mc.KernelPCA(3, kernel=mc.Gaussian(5.0), method=method, random_state=0).fit(given)
    theirs = mc.KernelPCA(3, kernel=mc.Gaussian(5.0), method=method, random_state=0).fit(X[:300])
    assert type(ours.individuals_.cos2) is type(given)
    found = ours.fit_transform(given)
    np.testing.assert_allclose(on_host(found), theirs.fit_transform(X[:300]), rtol=0, atol=1e-8)


def test_single_precision_stays_single(library: Any) -> None:
    given = library.asarray(X, dtype=library.float32)
    model = mc.KernelPCA(2, kernel=mc.Gaussian(5.0), method="exact", random_state=0).fit(given)
    for found in (model.transform(given), model.individuals_.cos2, model.individuals_.coordinates):
        assert found.dtype == library.float32


def test_individuals_stay_where_they_are(library: Any) -> None:
    given = library.asarray(X)
    model = mc.KernelPCA(2, kernel=mc.Gaussian(5.0), method="exact", random_state=0).fit(given)
    assert on_host(model.X_fit_).ctypes.data == on_host(given).ctypes.data
    assert np.array_equal(on_host(given), X)


def test_a_model_on_the_host_is_asked_for(library: Any, tmp_path: Path) -> None:
    given = library.asarray(X)
    model = mc.KernelPCA(2, kernel=mc.Gaussian(5.0), method="exact", random_state=0).fit(given)
    there = model.on_host()
    assert type(there.individuals_.coordinates) is np.ndarray
    assert there.on_host() is there
    np.testing.assert_allclose(there.transform(X[:9]), model.transform(X[:9]), rtol=0, atol=1e-12)
    model.save(tmp_path / "model.mercer")
    again = mc.load(tmp_path / "model.mercer")
    np.testing.assert_allclose(again.transform(X[:9]), there.transform(X[:9]), rtol=0, atol=1e-12)
    assert len(model.individuals_.table()["individual"]) == 2 * len(X)


def test_other_kernels_are_computed_on_the_host(library: Any) -> None:
    given, kernel = library.asarray(X[:200]), mc.kernels.NegativeDistance(1.0)
    ours, theirs = (mc.KernelPCA(2, kernel=kernel).fit(x) for x in (given, X[:200]))
    found = ours.transform(given)
    assert type(found) is type(given)
    assert type(ours.X_fit_) is not type(given)
    np.testing.assert_allclose(on_host(found), theirs.transform(X[:200]), rtol=0, atol=1e-9)


def test_what_is_not_finite_is_named(library: Any) -> None:
    wrong = X.copy()
    wrong[17, 2] = np.nan
    with pytest.raises(mc.errors.InvalidInput, match="X, row 17, column 2 holds NaN"):
        mc.KernelPCA(2, kernel=mc.Gaussian(5.0)).fit(library.asarray(wrong))


@pytest.mark.parametrize("method", ["exact", "dense", "nystrom"])
def test_26_signs_do_not_depend_on_where_or_how_axes_are_asked_for(
    method: str, library: Any
) -> None:
    """cuML turned signs in fit_transform and not in fit (issues 2368 and 4560)."""
    settings: dict[str, Any] = {"kernel": mc.Gaussian(5.0), "method": method, "random_state": 0}
    given = library.asarray(X)
    exact = mc.KernelPCA(3, **settings).fit(X).transform(X)
    size = np.abs(exact).max()
    fitted = mc.KernelPCA(3, **settings).fit(given)
    for found in (
        fitted.transform(given),
        fitted.individuals_.coordinates,
        mc.KernelPCA(3, **settings).fit_transform(given),
        fitted.on_host().transform(X),
    ):
        np.testing.assert_allclose(on_host(found), exact, rtol=0, atol=2e-6 * size)


WAVE = np.sin(X[:120, 0])
CLASSES = np.digitize(X[:120, 0], [1.0, 5.0])
MODELS: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "ridge": (lambda: mc.KernelRegression(GAUSSIAN, penalty=1e-3), WAVE, ("predict",)),
    "several outputs": (
        lambda: mc.KernelRegression(GAUSSIAN, penalty=1e-3, null_space="constant"),
        np.column_stack([WAVE, 2.0 * WAVE]),
        ("predict",),
    ),
    "linear functions beside": (
        lambda: mc.KernelRegression(GAUSSIAN, penalty=1e-3, null_space="linear"),
        WAVE,
        ("predict",),
    ),
    "chosen penalty": (lambda: mc.KernelRegression(GAUSSIAN), WAVE, ("predict",)),
    "landmarks": (
        lambda: mc.KernelRegression(GAUSSIAN, penalty=1e-3, landmarks=20),
        WAVE,
        ("predict",),
    ),
    "process": (
        lambda: mc.GaussianProcess(GAUSSIAN, noise_variance=0.1, optimise=False),
        WAVE,
        ("predict",),
    ),
    "process about a mean": (
        lambda: mc.GaussianProcess(GAUSSIAN, noise_variance=0.1, optimise=False, mean="constant"),
        np.column_stack([WAVE, 2.0 * WAVE]),
        ("predict",),
    ),
    "two classes": (
        lambda: mc.SVC(GAUSSIAN, probability=True),
        (CLASSES > 0).astype(int),
        ("predict", "decision_function", "predict_proba"),
    ),
    "three classes": (lambda: mc.SVC(GAUSSIAN), CLASSES, ("predict", "decision_function")),
    "tube": (lambda: mc.SVR(GAUSSIAN), WAVE, ("predict",)),
    "one class": (
        lambda: mc.OneClassSVM(GAUSSIAN, nu=0.2),
        None,
        ("predict", "decision_function", "score_samples"),
    ),
    "landmark features": (
        lambda: mc.NystromFeatures(9, kernel=GAUSSIAN, random_state=0),
        None,
        ("transform",),
    ),
    "random features": (
        lambda: mc.RandomFourierFeatures(9, kernel=GAUSSIAN, random_state=0),
        None,
        ("transform",),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_other_models_return_arrays_like_the_points(
    name: str, library: Any, tmp_path: Path
) -> None:
    """Targets and weights, too, are taken from where they lie, and files are the host's."""
    make, y, methods = MODELS[name]
    x, new = X[:120], X[120:140]
    given = {"sample_weight": WEIGHTS[:120]} if name == "ridge" else {}
    theirs = make().fit(x, y, **given)
    there = {key: library.asarray(value) for key, value in given.items()}
    kind = library.asarray(x)
    ours = make().fit(kind, None if y is None else library.asarray(y), **there)
    for method in methods:
        found = getattr(ours, method)(library.asarray(new))
        assert type(found) is type(kind)
        np.testing.assert_allclose(
            on_host(found), getattr(theirs, method)(new), rtol=1e-6, atol=1e-8
        )
        single = library.asarray(new, dtype=library.float32)
        assert method == "predict" or getattr(ours, method)(single).dtype == library.float32
        assert type(getattr(ours, method)(new)) is np.ndarray
    if hasattr(theirs, "dual_coef_"):
        assert type(ours.dual_coef_) is type(kind)
        exact = theirs.dual_coef_
        np.testing.assert_allclose(
            on_host(ours.dual_coef_), exact, rtol=0, atol=1e-5 * np.abs(exact).max()
        )
    ours.save(tmp_path / "model.mercer")
    again = mc.load(tmp_path / "model.mercer")
    assert type(getattr(again, methods[0])(new)) is np.ndarray
    assert type(getattr(again, "dual_coef_", new)) is np.ndarray


@pytest.mark.parametrize("name", ["ridge", "several outputs", "linear functions beside", "process"])
def test_deviations_are_arrays_like_the_points(name: str, library: Any) -> None:
    make, y, _ = MODELS[name]
    x, new = X[:120], X[120:140]
    ours = make().fit(library.asarray(x), library.asarray(y))
    found = ours.predict(library.asarray(new), return_std=True)[1]
    assert type(found) is type(library.asarray(x))
    exact = make().fit(x, y).predict(new, return_std=True)[1]
    np.testing.assert_allclose(on_host(found), exact, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["ridge", "several outputs", "process"])
def test_points_that_are_written_to_after_the_fit_change_no_prediction(name: str) -> None:
    make, y, _ = MODELS[name]
    x, new = torch.asarray(X[:120].copy()), X[120:140]
    model = make().fit(x, y)
    before = model.predict(new)
    x[:] = 0.0
    assert np.array_equal(model.predict(new), before)
    assert on_host(model.X_fit_).any()


@pytest.mark.parametrize("limits", [(50, 200), (50, 60)], ids=["single", "low-rank"])
def test_iterations_of_a_ridge_run_where_the_points_lie(
    limits: tuple[int, int], library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(Saddle.limits, direct=limits[0], single=limits[1])
    monkeypatch.setattr(Saddle, "limits", small)
    x, y = X[:120], np.column_stack([WAVE, -WAVE])
    theirs = mc.KernelRegression(GAUSSIAN, penalty=1e-3).fit(x, y)
    ours = mc.KernelRegression(GAUSSIAN, penalty=1e-3).fit(library.asarray(x), library.asarray(y))
    assert on_host(ours.X_fit_).shape == x.shape
    assert ours.gap_ <= 1e-7 * ours.objective_
    found = on_host(ours.predict(library.asarray(x[:9])))
    np.testing.assert_allclose(found, theirs.predict(x[:9]), rtol=0, atol=1e-6)


FEW = X[:40]
COUNTS = np.rint(np.abs(FEW) * 5.0) + 1.0
DISTANCES = np.linalg.norm(FEW[:, None] - FEW, axis=2)
GROUPS = {"first": ["x0", "x1"], "last": ["x2", "x3"]}
HOSTED: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "PCA": (lambda: mc.PCA(4), FEW, ("transform", "fit_transform", "inverse_transform")),
    "CA": (lambda: mc.CA(2), COUNTS, ("transform", "fit_transform")),
    "FAMD": (lambda: mc.FAMD(2), FEW, ("transform", "fit_transform")),
    "MCA": (lambda: mc.MCA(2), np.digitize(FEW, [1.0, 3.0]) * 1.0, ("transform", "fit_transform")),
    "MFA": (lambda: mc.MFA(2, groups=GROUPS), FEW, ("transform", "fit_transform")),
    "distances": (lambda: mc.ClassicalMDS(2), DISTANCES, ("transform", "fit_transform")),
    "scaling of points": (
        lambda: mc.ClassicalMDS(2, metric="euclidean"),
        FEW,
        ("transform", "fit_transform"),
    ),
    "stress": (
        lambda: mc.StressMDS(2, metric="euclidean", n_starts=1, random_state=0),
        FEW,
        ("transform", "fit_transform"),
    ),
    "ordinal": (
        lambda: mc.StressMDS(2, loss="ordinal", n_starts=1, random_state=0),
        DISTANCES,
        ("transform",),
    ),
    "spline": (lambda: mc.SmoothingSpline(), FEW[:, 0], ("predict", "confidence_band")),
    "column of a spline": (lambda: mc.SmoothingSpline(penalty=1.0), FEW[:, :1], ("predict",)),
}
"""Models that the processor computes, their data, and methods that read such data."""


def fitted(model: Any, x: Any, y: Any) -> Any:
    return model.fit(x, y) if isinstance(model, mc.SmoothingSpline) else model.fit(x)


@pytest.mark.parametrize("name", HOSTED)
def test_models_of_the_processor_return_arrays_like_the_data(name: str, library: Any) -> None:
    make, x, methods = HOSTED[name]
    y = np.sin(FEW[:, 0])
    theirs = fitted(make(), x, y)
    ours = fitted(make(), library.asarray(x), library.asarray(y))
    for dtype in (library.float64, library.float32):
        new = library.asarray(x, dtype=dtype)
        for method in methods:
            found = getattr(ours, method)(new)
            exact = getattr(theirs, method)(on_host(new))
            for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, exact)),
                                  strict=True):  # fmt: skip
                assert type(one) is type(new)
                assert one.dtype == dtype
                assert np.array_equal(on_host(one), other)
            if method != "fit_transform":
                assert type(getattr(ours, method)(x)) is type(exact)


def test_every_model_is_asked_for_arrays_like_its_data() -> None:
    every = {
        name
        for name in dir(mc)
        if isinstance(kind := getattr(mc, name), type) and issubclass(kind, Model)
    }
    asked = {type(make()).__name__ for make, *_ in (*MODELS.values(), *HOSTED.values())}
    assert every == asked | {"KernelPCA", "KernelCCA"}  # which have tests of their own


@pytest.mark.parametrize(
    ("model", "x"),
    [
        (mc.PCA(2), FEW),
        (mc.ClassicalMDS(2), DISTANCES),
        (mc.GaussianProcess(GAUSSIAN, noise_variance=0.1, optimise=False), FEW),
        (mc.KernelPCA(2, kernel="precomputed"), FEW @ FEW.T),
        (mc.KernelPCA(2, kernel=mc.FromFunction(np.dot)), FEW),
    ],
    ids=["PCA", "scaling", "process", "matrix", "function"],
)
def test_a_copy_of_an_array_on_a_gpu_is_said(
    model: Any, x: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a GPU, an array there is one whose device is said to be one."""
    y = np.sin(FEW[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", mc.errors.OnProcessor)
        model.fit(torch.from_numpy(x), y)
    monkeypatch.setattr(mercer.tensors, "array_device", lambda _: "cuda:1")
    with pytest.warns(mc.errors.OnProcessor, match=r"a copy of [XD] from cuda:1"):
        model.fit(torch.from_numpy(x), y)


def test_variables_and_columns_are_read_from_other_libraries(library: Any) -> None:
    ours, wave = mc.PCA(2).fit(library.asarray(FEW)), np.sin(FEW[:, :2])
    found: Any = ours.supplementary(variables=library.asarray(wave)).variables
    exact: Any = mc.PCA(2).fit(FEW).supplementary(variables=wave).variables
    assert np.array_equal(found.coordinates, exact.coordinates)
    table = mc.CA(2).fit(library.asarray(COUNTS)).supplementary_columns(library.asarray(COUNTS))
    expected = mc.CA(2).fit(COUNTS).columns_
    np.testing.assert_allclose(table.coordinates, expected.coordinates, rtol=0, atol=1e-12)


def test_views_of_two_libraries_are_correlated_alike(library: Any) -> None:
    x, y = X[:80, :2], X[:80, 2:]
    theirs = mc.KernelCCA(2, kernels=(GAUSSIAN, GAUSSIAN), penalty=0.1).fit(x, y)
    ours = mc.KernelCCA(2, kernels=(GAUSSIAN, GAUSSIAN), penalty=0.1)
    ours.fit(library.asarray(x), library.asarray(y))
    np.testing.assert_allclose(ours.correlations_, theirs.correlations_, rtol=1e-8)
    found = ours.transform(library.asarray(x[:5]), library.asarray(y[:5]))
    for one, other in zip(found, theirs.transform(x[:5], y[:5]), strict=True):
        assert type(one) is type(library.asarray(x))
        np.testing.assert_allclose(on_host(one), other, rtol=1e-5, atol=1e-8)
    assert type(ours.x_scores_) is type(library.asarray(x))


@pytest.mark.parametrize("kernel", [GAUSSIAN, mc.kernels.NegativeDistance(1.0)], ids=str)
def test_samples_are_compared_where_they_lie(kernel: mc.Kernel, library: Any) -> None:
    x, y = X[:60], X[60:130] + 0.4
    theirs = mc.mean_discrepancy(kernel, x, y, permutations=199, random_state=0)
    ours = mc.mean_discrepancy(
        kernel, library.asarray(x), library.asarray(y), permutations=199, random_state=0
    )
    np.testing.assert_allclose(ours.null, theirs.null, rtol=1e-9, atol=1e-12)
    assert ours.squared == pytest.approx(theirs.squared, rel=1e-9)
    assert ours.unbiased == pytest.approx(theirs.unbiased, rel=1e-9)
    assert ours.p_value == theirs.p_value


def test_tables_are_permuted_for_the_device_of_a_model(library: Any) -> None:
    x = X[:600]
    settings: dict[str, Any] = {"kernel": GAUSSIAN, "method": "exact", "random_state": 0}
    theirs = mc.KernelPCA(2, **settings).fit(x)
    ours = mc.KernelPCA(2, **settings).fit(library.asarray(x))
    exact, found = (
        mc.parallel_analysis(model, 19, landmarks=40, random_state=0) for model in (theirs, ours)
    )
    assert found.n_components == exact.n_components
    np.testing.assert_array_equal(found.p_values, exact.p_values)
    np.testing.assert_allclose(found.null, exact.null, rtol=1e-7)


@pytest.mark.parametrize("method", ["exact", "nystrom"])
def test_pre_images_are_arrays_of_the_library_of_the_coordinates(method: str) -> None:
    few = X[:60]
    model = mc.KernelPCA(3, kernel=GAUSSIAN, method=method, random_state=0)
    expected = model.fit(few)
    wanted = expected.inverse_transform(expected.transform(few[:5]))
    tensors = torch.from_numpy(few)
    found = model.fit(tensors).inverse_transform(model.transform(tensors[:5]))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6, atol=1e-6)


def test_a_function_of_two_points_reads_the_rows_of_tensors() -> None:
    few, y = X[:40], X[:40, 0]
    inner = mc.FromFunction(lambda a, b: float(np.dot(a, b)))
    tensors = torch.from_numpy(few)
    for model, method in ((mc.KernelPCA(2, kernel=inner), "transform"), (mc.SVR(inner), "predict")):
        expected = getattr(model.fit(few, y), method)(few[:5])
        found = getattr(model.fit(tensors, y), method)(tensors[:5])
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-9)
