"""Numbers at the ends of their range, 24 cases: the numerical contract holds there too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import mercer as mc
from mercer import Gram
from mercer.check import Array
from mercer.engines import cpu
from mercer.engines.limits import Limits as EngineLimits
from mercer.errors import DegenerateAxes, NoInertia
from mercer.mds import limits
from mercer.spectrum import Limits, leading
from tests.references import near

EPSILON = float(np.finfo(float).eps)
RNG = np.random.default_rng(31)
X = RNG.standard_normal((40, 3)) * [3.0, 2.0, 1.0]


def assert_refit(model: Any, x: Array) -> None:
    """Assert the contract between the scores of a fit and those of the same rows, transformed."""
    scores = model.fit_transform(x)
    values = model.inertias_
    allowed = np.maximum(1e-8, 10 * len(x) * EPSILON * np.sqrt(values[0] / values))
    gaps = np.abs(model.transform(x) - scores).max(axis=0)
    assert np.all(gaps <= allowed * np.abs(scores).max())


@pytest.mark.parametrize("offset", [1e0, 1e2, 1e4, 1e6, 1e8, 1e10, 1e12])
def test_an_offset_is_taken_out_without_loss(offset: float) -> None:
    """What storing the offset has left of the data is a difference that is exact, or almost."""
    moved = X + offset
    left = moved - offset
    near(mc.PCA().fit_transform(moved), mc.PCA().fit_transform(left), 1e-12)
    near(mc.PCA().fit(moved).inertias_, mc.PCA().fit(left).inertias_, 1e-12)
    for kernel in (mc.Linear(), mc.Gaussian(2.0), mc.Matern(1.5, 2.0)):
        model = mc.KernelPCA(3, kernel=kernel)
        near(model.fit_transform(moved), model.fit_transform(left), 1e-10)
        assert_refit(model, moved)
    near(
        mc.StressMDS(2, metric="euclidean", n_starts=1).fit(moved).stress_,
        mc.StressMDS(2, metric="euclidean", n_starts=1).fit(left).stress_,
        1e-9,
    )
    found, expected = (mc.parallel_analysis(x, 9, random_state=0) for x in (moved, left))
    near(found.observed, expected.observed, 1e-12)
    scaling = mc.ClassicalMDS(3, metric="euclidean")
    near(scaling.fit_transform(moved), scaling.fit_transform(left), 1e-11)


@pytest.mark.parametrize("unit", [1e100, 1e-100])
def test_inertias_are_squares_of_units(unit: float) -> None:
    models: list[Any] = [mc.PCA(), mc.KernelPCA(3), mc.KernelPCA(3, method="exact", random_state=0)]
    for model in models:
        scores, values = model.fit_transform(X), model.inertias_
        near(model.fit_transform(unit * X) / unit, scores, 1e-9)
        near(model.inertias_ / unit / unit, values, 1e-12)
    for D in (unit * X, unit * squareform(pdist(X))):
        metric = "euclidean" if D.shape[1] == 3 else "precomputed"
        scaling = mc.ClassicalMDS(3, metric=metric).fit(D)
        near(scaling.embedding_ / unit, models[0].fit_transform(X), 1e-12)
        near(scaling.eigenvalues_[:3] / unit / unit, 40 * models[0].inertias_, 1e-12)
    near(
        mc.parallel_analysis(unit * X, 9, random_state=0).observed,
        mc.parallel_analysis(X, 9, random_state=0).observed,
        1e-12,
    )


@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_shares_and_coordinates_outlast_the_range_of_inertias(unit: float) -> None:
    model, plain = mc.PCA().fit(unit * X), mc.PCA().fit(X)
    near(model.individuals_.coordinates / unit, plain.individuals_.coordinates, 1e-12)
    near(model.individuals_.cos2, plain.individuals_.cos2, 1e-12)
    near(model.explained_variance_ratio_, plain.explained_variance_ratio_, 1e-12)
    for name in ("inertias_", "inertia_", "explained_variance_"):
        with pytest.raises(mc.errors.InvalidInput, match="range of double precision.*[Rr]escale"):
            getattr(model, name)
    for kernel in (mc.Gaussian, mc.Laplacian):
        near(
            mc.KernelPCA(3, kernel=kernel(2.0 * unit)).fit(unit * X).inertias_,
            mc.KernelPCA(3, kernel=kernel(2.0)).fit(X).inertias_,
            1e-12,
        )
    near(
        mc.parallel_analysis(unit * X, 9, random_state=0).observed,
        mc.parallel_analysis(X, 9, random_state=0).observed,
        1e-12,
    )
    with pytest.raises(mc.errors.InvalidInput, match="not a double precision number; rescale"):
        mc.parallel_analysis(unit * X, 9, standardize=False)


@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_stress_has_no_unit(unit: float) -> None:
    plain = mc.StressMDS(2, metric="euclidean", n_starts=1).fit(X)
    found = mc.StressMDS(2, metric="euclidean", n_starts=1).fit(unit * X)
    assert found.stress_ == pytest.approx(plain.stress_, rel=1e-9)
    near(found.embedding_ / unit, plain.embedding_, 1e-9)


def test_shares_of_distances_have_no_unit() -> None:
    D = np.sqrt(squareform(pdist(X, "cityblock"))) + 1.0 - np.eye(40)
    plain = mc.ClassicalMDS(2).fit(D)
    for unit in (1e200, 1e-200):
        found = mc.ClassicalMDS(2).fit(unit * D)
        near(found.embedding_ / unit, plain.embedding_, 1e-11)
        with pytest.raises(mc.errors.InvalidInput, match="double precision"):
            _ = found.eigenvalues_
        np.testing.assert_allclose(found.goodness_, plain.goodness_, rtol=1e-10)
        assert found.negative_mass_ == pytest.approx(plain.negative_mass_, rel=1e-8)


def test_a_matrix_near_the_ends_of_the_range_of_doubles_has_its_axes() -> None:
    K = mc.Gaussian(2.0)(X)
    plain = mc.KernelPCA(2, kernel="precomputed").fit(K)
    for unit in (1e300, 1e307, 1e-300):
        found = mc.KernelPCA(2, kernel="precomputed").fit(unit * K)
        near(found.inertias_ / unit, plain.inertias_, 1e-12)
        near(found.explained_variance_ratio_, plain.explained_variance_ratio_, 1e-12)


def test_subnormal_data_keep_the_digits_they_have() -> None:
    x = np.round(X * 1e4) * 5e-324  # whole multiples of the smallest double
    whole = np.round(X * 1e4)
    near(
        mc.PCA().fit(x).explained_variance_ratio_,
        mc.PCA().fit(whole).explained_variance_ratio_,
        1e-12,
    )
    near(
        mc.PCA(standardize=True).fit_transform(x),
        mc.PCA(standardize=True).fit_transform(whole),
        1e-9,
    )
    near(
        mc.parallel_analysis(x, 9, random_state=0).observed,
        mc.parallel_analysis(whole, 9, random_state=0).observed,
        1e-12,
    )
    found, plain = mc.ClassicalMDS(3, metric="euclidean"), mc.ClassicalMDS(3, metric="euclidean")
    near(found.fit_transform(x) / 5e-324, plain.fit_transform(whole), 1e-3)  # rounded to doubles


def test_repeated_eigenvalues_are_one_space() -> None:
    """The vertices of a cross-polytope: all axes are equal, and which ones come out is chance."""
    x = np.vstack([np.eye(6), -np.eye(6)])
    model = mc.PCA().fit(x)
    np.testing.assert_allclose(model.inertias_, 1 / 6)
    assert model.spectrum_.clusters == ((0, 1, 2, 3, 4, 5),)
    for method in ("dense", "exact"):
        with pytest.warns(DegenerateAxes, match="1 to 6"):
            model = mc.KernelPCA(6, kernel=mc.Gaussian(1.0), method=method, random_state=0).fit(x)
        np.testing.assert_allclose(model.inertias_, model.inertias_[0], rtol=1e-9)
        scores = np.asarray(model.individuals_.coordinates)
        opposite = scores @ scores.T - np.diag(np.sum(scores**2, axis=1))
        near(opposite[:6, :6] - np.diag(np.diag(opposite[:6, :6])), np.zeros((6, 6)), 1e-9)


def test_clustered_eigenvalues_are_counted_and_found() -> None:
    n, values = 60, np.array([1.0, 1 - 1e-10, 1 - 2e-10, 0.5, 0.25])
    H = np.eye(n) - 1 / n
    Q = np.linalg.qr(H @ RNG.standard_normal((n, 5)))[0]
    K = (Q * values) @ Q.T
    for method in ("dense", "exact"):
        model = mc.KernelPCA(5, kernel="precomputed", method=method, random_state=0)
        with pytest.warns(DegenerateAxes, match="1 to 3"):
            model.fit((K + K.T) / 2)
        assert model.spectrum_.clusters == ((0, 1, 2),)
        assert np.all(np.abs(model.eigenvalues_ - values) <= n * model.spectrum_.errors)
        near(model.eigenvalues_, values, 1e-12)
        U = np.asarray(model.eigenvectors_)[:, :3]
        near(U @ U.T, Q[:, :3] @ Q[:, :3].T, 1e-8)


def test_a_small_bandwidth_leaves_every_point_alone() -> None:
    for kernel in (
        mc.Gaussian(1e-10),
        mc.Laplacian(1e-10),
        mc.Gaussian(1e-5),
        mc.Matern(1.5, 1e-10),
    ):
        with pytest.warns(DegenerateAxes):
            model = mc.KernelPCA(3, kernel=kernel).fit(X)
        np.testing.assert_allclose(model.eigenvalues_, 1.0)
        near(model.transform(X), model.individuals_.coordinates, 1e-8)


def test_a_large_bandwidth_is_not_called_indefinite() -> None:
    linear = mc.PCA().fit(X)
    for bandwidth in (1e3, 1e5):
        model = mc.KernelPCA(3, kernel=mc.Gaussian(bandwidth)).fit(X)
        near(model.explained_variance_ratio_[:2], linear.explained_variance_ratio_[:2], 1e-4)
    for kernel in (mc.Laplacian(1e10), mc.Matern(1.5, 1e5)):
        assert mc.KernelPCA(3, kernel=kernel).fit(X).spectrum_.negative_mass == 0.0
    for method in ("dense", "exact"):
        with pytest.warns(NoInertia):
            mc.KernelPCA(3, kernel=mc.Gaussian(1e10), method=method, random_state=0).fit(X)


def test_matern_kernels_of_every_order() -> None:
    gaussian = mc.Gaussian(2.0)(X)
    far = np.inf
    for nu in (0.01, 0.1, 0.5, 1.5, 2.5, 5.0, 30.0, 60.0, 100.0, 200.0):
        kernel = mc.Matern(nu, 2.0)
        K = kernel(X)
        assert np.array_equal(np.diag(K), np.ones(40))
        assert np.linalg.eigvalsh(K)[0] > 0
        assert_refit(mc.KernelPCA(3, kernel=kernel), X)
        nearer = float(np.abs(K - gaussian).max())
        assert nearer < far
        far = nearer
    assert far < 2e-3
    assert np.array_equal(mc.Matern(np.inf, 2.0)(X), gaussian)


def sample(n: int) -> Array:
    return np.asarray(np.random.default_rng(n).standard_normal((n, 3))) * [3.0, 2.0, 1.0]


def assert_certified(spectrum: mc.results.Spectrum, operator: Any, tol: float) -> None:
    """Assert that residuals are within tol, and Rayleigh quotients within the certificate."""
    images = operator.product(spectrum.vectors)
    residuals = np.linalg.norm(images - spectrum.vectors * spectrum.values, axis=0)
    assert np.all(residuals <= 2 * tol * spectrum.values[0])
    quotients = np.sum(spectrum.vectors * images, axis=0)
    assert np.all(np.abs(quotients - spectrum.values) <= spectrum.errors + EPSILON)


def test_both_sides_of_the_size_from_which_no_matrix_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = sample(Limits.dense + 1)
    shares = []
    for n in (Limits.dense - 1, Limits.dense, Limits.dense + 1):
        model = mc.KernelPCA(2, kernel=mc.Gaussian(2.0), random_state=0).fit(x[:n])
        assert model.spectrum_.how.method.startswith("dense") == (n <= Limits.dense)
        assert_certified(model.spectrum_, Gram(mc.Gaussian(2.0), x[:n]).centred(), 1e-9)
        shares.append(model.explained_variance_ratio_)
    near(shares[0], shares[1], 1e-2)
    near(shares[2], shares[1], 1e-2)
    monkeypatch.setattr(limits.Limits, "whole", 50)
    for n in (49, 50, 51):
        D = squareform(pdist(x[:n]))
        near(mc.ClassicalMDS(3, tol=1e-12).fit_transform(D), mc.PCA().fit_transform(x[:n]), 1e-8)


def test_both_sides_of_the_sizes_of_tiles_and_parts() -> None:
    tile = EngineLimits.tile
    x = sample(2 * tile + 1)
    kernel = mc.Gaussian(2.0)
    for n in (tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1):
        V = np.random.default_rng(n).standard_normal((n, 2))
        near(Gram(kernel, x[:n]) @ V, kernel(x[:n]) @ V, 1e-12)
        near(Gram(kernel, x[:n], x[:100]) @ V[:100], kernel(x[:n], x[:100]) @ V[:100], 1e-12)
        model = mc.KernelPCA(2, kernel=kernel, method="exact", random_state=0).fit(x[:n])
        assert_certified(model.spectrum_, Gram(kernel, x[:n]).centred(), 1e-9)
        near(model.transform(x[:n]), model.individuals_.coordinates, 1e-8)


def test_both_sides_of_the_numbers_of_axes_columns_and_landmarks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where a share of all axes is asked for the method changes; neither side may fail."""
    monkeypatch.setattr(mc.KernelPCA, "limits", Limits(dense=100))
    x = sample(150)
    expected = mc.KernelPCA(kernel=mc.Gaussian(2.0)).fit(x).inertias_
    switch = 150 // Limits.axes_share
    for count in (switch, switch + 1, 30):
        model = mc.KernelPCA(count, kernel=mc.Gaussian(2.0), random_state=0).fit(x)
        near(model.inertias_, expected[:count], 1e-9)
    for most in (7, 8, 9, 40):
        monkeypatch.setattr(cpu, "MOST_LANDMARKS", most)
        operator = Gram(mc.Gaussian(2.0), x).centred()
        near(leading(operator, 4, method="exact", random_state=0).values, expected[:4], 1e-9)
    wide = np.random.default_rng(0).standard_normal((40, 40))
    for side in (39, 40, 41):
        monkeypatch.setattr(mc.PCA, "limits", Limits(table_entries=0, side=side))
        for table in (wide, wide[:, :39], wide[:39]):
            found = mc.PCA(4).fit(table)
            near(
                found.inertias_,
                np.linalg.svd(table - table.mean(axis=0))[1][:4] ** 2 / len(table),
                1e-12,
            )
