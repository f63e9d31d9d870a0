"""Rows of the tables for those who come from elsewhere: what is called there is called here."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import pairwise
from sklearn.svm import SVR

import mercer as mc

RNG = np.random.default_rng(6)
X = RNG.normal(size=(30, 3))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=30)


def test_gamma_of_scikit_learns_kernels_is_a_bandwidth() -> None:
    for b in (0.5, 2.0):
        np.testing.assert_allclose(mc.Gaussian(b)(X), pairwise.rbf_kernel(X, gamma=0.5 / b**2))
        np.testing.assert_allclose(mc.Laplacian(b)(X), pairwise.laplacian_kernel(X, gamma=1.0 / b))


def test_coefficients_of_scikit_learns_polynomial_are_offset_and_scale() -> None:
    expected = pairwise.polynomial_kernel(X, degree=3, gamma=0.7, coef0=1.5)
    np.testing.assert_allclose(mc.Polynomial(3, offset=1.5, scale=0.7)(X), expected)


def test_alpha_of_ridge_is_the_penalty_times_the_number_of_points() -> None:
    there = KernelRidge(alpha=0.6, kernel="rbf", gamma=0.5).fit(X, Y)
    here = mc.KernelRegression(mc.Gaussian(1.0), penalty=0.6 / 30).fit(X, Y)
    np.testing.assert_allclose(here.predict(X), there.predict(X), rtol=1e-9)


def test_alpha_of_a_process_is_the_variance_of_the_noise() -> None:
    there = GaussianProcessRegressor(RBF(1.3), alpha=0.2, optimizer=None).fit(X, Y)
    here = mc.GaussianProcess(mc.Gaussian(1.3), noise_variance=0.2, optimise=False).fit(X, Y)
    np.testing.assert_allclose(here.predict(X), there.predict(X), rtol=1e-9)
    assert here.log_likelihood() == pytest.approx(there.log_marginal_likelihood_value_, rel=1e-10)


def test_support_vector_regression_without_a_tube_is_the_absolute_loss() -> None:
    C = 3.0
    there = SVR(kernel="rbf", gamma=0.5, epsilon=0.0, C=C, tol=1e-10).fit(X, Y)
    here = mc.KernelRegression(
        mc.Gaussian(1.0), 1.0 / (2 * 30 * C), "constant", loss="absolute"
    ).fit(X, Y)
    np.testing.assert_allclose(here.predict(X), there.predict(X), atol=1e-5)


def test_approximations_have_the_columns_that_are_said() -> None:
    assert mc.NystromFeatures(12, kernel=mc.Gaussian(1.0)).fit_transform(X).shape == (30, 12)
    assert Nystroem(n_components=12).fit_transform(X).shape == (30, 12)
    assert mc.RandomFourierFeatures(6, random_state=0).fit_transform(X).shape == (30, 12)
    assert RBFSampler(n_components=12).fit_transform(X).shape == (30, 12)


D2 = ((X[:, None] - X[None]) ** 2).sum(2)


def test_gpytorchs_scaled_gaussian_is_a_weight_times_a_gaussian() -> None:
    outputscale, lengthscale = 1.7, 0.6
    expected = outputscale * np.exp(-0.5 * D2 / lengthscale**2)
    np.testing.assert_allclose((outputscale * mc.Gaussian(lengthscale))(X), expected)


def test_gpytorchs_lengthscales_of_columns_are_bandwidths() -> None:
    lengths = (0.5, 1.0, 2.0)
    expected = np.exp(-0.5 * (((X[:, None] - X[None]) / np.array(lengths)) ** 2).sum(2))
    np.testing.assert_allclose(mc.Gaussian(lengths)(X), expected)


def test_gpytorchs_matern_is_that_of_the_same_order() -> None:
    r = np.sqrt(5.0 * D2) / 0.8
    expected = (1.0 + r + r**2 / 3.0) * np.exp(-r)
    np.testing.assert_allclose(mc.Matern(nu=2.5, bandwidth=0.8)(X), expected)


def test_gpytorchs_linear_and_periodic_kernels() -> None:
    np.testing.assert_allclose((0.4 * mc.Linear())(X), 0.4 * X @ X.T)
    period, lengthscale = 1.3, 0.7  # theirs divides by the length scale, not by its square
    sines = np.sin(np.pi * (X[:, None] - X[None]) / period) ** 2
    expected = np.exp(-2.0 * sines.sum(2) / lengthscale)
    np.testing.assert_allclose(mc.kernels.Periodic(period, lengthscale**0.5)(X), expected)


def test_gpytorchs_noise_and_posterior_have_their_names() -> None:
    model = mc.GaussianProcess(mc.Gaussian(1.0), noise_variance=0.3, optimise=False).fit(X, Y)
    new = X[:4] + 0.1
    K = mc.Gaussian(1.0)(X) + 0.3 * np.eye(30)
    k = mc.Gaussian(1.0)(new, X)
    given = model.posterior(new)
    np.testing.assert_allclose(given.mean, k @ np.linalg.solve(K, Y), rtol=1e-9)
    latent = 1.0 - np.sum(k * np.linalg.solve(K, k.T).T, axis=1)
    np.testing.assert_allclose(given.latent_variance, latent, rtol=1e-7)
    np.testing.assert_allclose(given.observation_variance, latent + 0.3, rtol=1e-7)


def test_the_marginal_likelihood_is_maximised_by_default() -> None:
    start = mc.GaussianProcess(mc.Gaussian(1.0), noise_variance=0.3, optimise=False).fit(X, Y)
    found = mc.GaussianProcess(mc.Gaussian(1.0), noise_variance=0.3, random_state=0).fit(X, Y)
    assert found.log_likelihood() > start.log_likelihood() + 1.0
    assert found.optimum_ is not None
    assert found.optimum_.is_converged
    for slope in found.log_likelihood_gradient().values():
        assert np.max(np.abs(slope)) < 1e-2
