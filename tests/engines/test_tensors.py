"""Arrays of other libraries in, arrays of theirs out, and no copy that nobody asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import mercer as mc

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((700, 4)) * [4.0, 2.0, 1.0, 0.5] + 3.0
WEIGHTS = RNG.dirichlet(np.ones(len(X)))
LIBRARIES = {"torch": torch, "array-api-strict": strict}
KERNELS = [
    mc.Gaussian(5.0),
    mc.Gaussian("median"),
    mc.Gaussian("scale"),
    mc.Linear(),
    mc.Polynomial(2, 1.0, 0.1) + mc.Matern(1.5, 3.0),
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


@pytest.mark.parametrize("name", ["KernelRegression", "GaussianProcess", "SVC"])
def test_targets_and_weights_come_from_where_they_lie(name: str, library: Any) -> None:
    """numpy takes no array from a device: targets are copied as points are, not by `asarray`."""
    made: dict[str, Any] = {
        "KernelRegression": lambda: mc.KernelRegression(mc.Gaussian(3.0), penalty=1e-3),
        "GaussianProcess": lambda: mc.GaussianProcess(mc.Gaussian(3.0), noise_variance=0.1),
        "SVC": lambda: mc.SVC(kernel=mc.Gaussian(3.0)),
    }
    x = X[:120]
    y = np.sign(x[:, 0] - 3.0) if name == "SVC" else np.sin(x[:, 0])
    given = {"sample_weight": WEIGHTS[:120]} if name == "KernelRegression" else {}
    theirs = made[name]().fit(x, y, **given).predict(x[:9])
    there = {key: library.asarray(value) for key, value in given.items()}
    ours = made[name]().fit(library.asarray(x), library.asarray(y), **there)
    np.testing.assert_allclose(ours.predict(library.asarray(x[:9])), theirs, rtol=1e-10)
