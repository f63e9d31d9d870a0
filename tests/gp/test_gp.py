from __future__ import annotations

import pickle
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.check import Array
from mercer.errors import Jittered, NegativeVariance, SingularSystem
from mercer.gp import log_likelihood_gradient_interval, log_likelihood_interval
from mercer.gp.limits import Limits
from mercer.gp.maximum_likelihood import Optimum
from mercer.gram import Gram
from mercer.solve import Limits as SolveLimits
from mercer.solve import Saddle
from mercer.store import save
from mercer.targets import null_columns
from tests.oracles import LINE
from tests.references import reference
from tests.strategies import distinct_points, smooth_kernels

RNG = np.random.default_rng(8)
X = RNG.uniform(-2.0, 2.0, (40, 2))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * RNG.standard_normal(40)
NEW = RNG.uniform(-2.0, 2.0, (9, 2))
FILE = reference("gp_sine")


def fixed(kernel: Any, noise: float | Array, **more: Any) -> mc.GaussianProcess:
    return mc.GaussianProcess(kernel, noise_variance=noise, optimise=False, random_state=0, **more)


def ended(model: mc.GaussianProcess) -> Optimum:
    assert model.optimum_ is not None
    return model.optimum_


def test_the_sine_of_the_text_has_all_its_numbers() -> None:
    """Kroese et al., Example 6.16 on fixed points, against R and its equations."""
    model = fixed(mc.Gaussian(0.2), 0.25).fit(FILE["X"], FILE["y"])
    mean, deviation = model.predict(FILE["X_test"], return_std=True)
    np.testing.assert_allclose(mean, FILE["mean_eq"], atol=1e-13)
    np.testing.assert_allclose(deviation**2, FILE["var_eq"], atol=1e-14)
    np.testing.assert_allclose(deviation, FILE["sd"], atol=1e-12)
    np.testing.assert_allclose(model.dual_coef_, FILE["alpha"], rtol=1e-11)
    assert model.log_likelihood() == pytest.approx(FILE["log_marginal_likelihood"], rel=1e-14)
    gradient = model.log_likelihood_gradient()
    assert gradient["noise_variance"] == pytest.approx(FILE["dlml_dvar"], rel=1e-12)
    # R's parameter is s = 1/(2 bandwidth²): ds/dbandwidth = -bandwidth⁻³.
    assert gradient["bandwidth"] == pytest.approx(-FILE["dlml_dsigma"] / 0.2**3, rel=1e-11)


def test_the_variance_of_an_observation_is_that_of_the_function_and_of_the_noise() -> None:
    """The text's (6.34) is the variance of g: a new y needs the noise on top."""
    model = fixed(mc.Gaussian(0.2), 0.25).fit(FILE["X"], FILE["y"])
    _, latent = model.predict(FILE["X_test"], return_std=True)
    _, observed = model.predict(FILE["X_test"], return_std=True, observation=True)
    np.testing.assert_allclose(observed**2, latent**2 + 0.25, rtol=1e-14)
    posterior = model.posterior(FILE["X_test"])
    np.testing.assert_allclose(posterior.latent_variance, FILE["var_eq"], atol=1e-14)
    np.testing.assert_allclose(posterior.observation_variance, observed**2, rtol=1e-14)
    low, high = posterior.band(0.95)
    np.testing.assert_allclose(high - low, 2 * 1.959963984540054 * latent, rtol=1e-12)
    assert np.max(np.abs(observed**2 - FILE["var_eq"])) > 0.2  # the planted mistake is seen


def test_the_bands_of_the_text_hold_the_sine() -> None:
    """Example 6.16: n = 30, σ = 0.5, bandwidths 0.2 and 0.02."""
    grid = np.linspace(0.0, 1.0, 101)[:, None]
    truth = 2.0 * np.sin(2.0 * np.pi * grid[:, 0])
    shares = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.uniform(size=(30, 1))
        y = 2.0 * np.sin(2.0 * np.pi * x[:, 0]) + 0.5 * rng.standard_normal(30)
        low, high = fixed(mc.Gaussian(0.2), 0.25).fit(x, y).posterior(grid).band(0.95)
        shares.append(np.mean((low <= truth) & (truth <= high)))
    assert 100.0 * np.mean(shares) == pytest.approx(94.1, abs=0.05)  # promised: 95 %
    wiggly = fixed(mc.Gaussian(0.02), 0.25).fit(x, y).posterior(grid)
    assert np.max(wiggly.latent_variance) > 0.9  # between points nothing is learned


def test_empirical_bayes_finds_the_texts_parameters_in_most_draws() -> None:
    """Example 6.17: (0.20, 0.44) in the text; medians and spread over 60 draws of the same law."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(100 + seed)
        x = rng.uniform(size=(30, 1))
        y = 2.0 * np.sin(2.0 * np.pi * x[:, 0]) + 0.5 * rng.standard_normal(30)
        model = mc.GaussianProcess(
            mc.Gaussian(0.2), noise_variance=0.25, n_starts=1, random_state=0
        ).fit(x, y)
        assert ended(model).is_converged
        bandwidth = mc.kernels.parameters(model.kernel_)["bandwidth"]
        found.append((bandwidth, np.sqrt(model.noise_variance_)))
    assert len(found) == 60
    low, middle, high = np.quantile(found, [0.1, 0.5, 0.9], axis=0)
    # What other draws of 60 move these quantiles by; those of the text lie between them.
    np.testing.assert_allclose(middle, [0.188, 0.471], atol=0.02)
    printed = [[0.154, 0.397], [0.183, 0.486], [0.204, 0.578]]  # in docs/canon/kroese.md
    np.testing.assert_allclose([low, middle, high], printed, atol=0.001)
    np.testing.assert_allclose([low[0], high[0]], [0.158, 0.206], atol=0.02)
    np.testing.assert_allclose([low[1], high[1]], [0.389, 0.613], atol=0.06)
    assert np.all((low < [0.20, 0.44]) & (high > [0.20, 0.44]))


def test_the_surface_has_its_top_where_the_search_ends() -> None:
    model = mc.GaussianProcess(mc.Gaussian(0.2), noise_variance=0.25, random_state=0).fit(
        FILE["X"], FILE["y"]
    )
    bandwidth = mc.kernels.parameters(model.kernel_)["bandwidth"]
    grid = {
        "bandwidth": bandwidth * np.array([0.8, 1.0, 1.25]),
        "noise_variance": model.noise_variance_ * np.array([0.7, 1.0, 1.4]),
    }
    surface = model.likelihood_surface(grid)
    assert surface.shape == (3, 3)
    assert np.argmax(surface) == 4  # the middle
    assert surface[1, 1] == pytest.approx(model.log_likelihood(), rel=1e-12)


def test_the_likelihood_has_fifty_digits() -> None:
    x, y = X[:7], Y[:7]
    with mpmath.workdps(50):
        K = mpmath.matrix(7, 7)
        for i in range(7):
            for j in range(7):
                gap = sum(
                    (mpmath.mpf(a) - mpmath.mpf(b)) ** 2 for a, b in zip(x[i], x[j], strict=True)
                )
                K[i, j] = mpmath.mpf(2) * mpmath.exp(-gap / 2) + (
                    mpmath.mpf("0.0625") if i == j else 0
                )
        vector = mpmath.matrix([mpmath.mpf(float(v)) for v in y])
        solved = mpmath.lu_solve(K, vector)
        value = -(vector.T * solved)[0] / 2 - mpmath.log(mpmath.det(K)) / 2
        expected = float(value - mpmath.mpf(7) / 2 * mpmath.log(2 * mpmath.pi))
        ones = mpmath.ones(7, 1)
        precision = (ones.T * mpmath.lu_solve(K, ones))[0]
        restricted = value + (ones.T * solved)[0] ** 2 / precision / 2 - mpmath.log(precision) / 2
        with_mean = float(restricted - 3 * mpmath.log(2 * mpmath.pi))
    kernel = 2.0 * mc.Gaussian(1.0)
    assert fixed(kernel, 0.0625).fit(x, y).log_likelihood() == pytest.approx(expected, rel=1e-13)
    found = fixed(kernel, 0.0625, mean="constant").fit(x, y).log_likelihood()
    assert found == pytest.approx(with_mean, rel=1e-13)


def test_the_mean_is_kernel_ridge_regression() -> None:
    kernel = mc.Matern(2.5, 1.2)
    model = fixed(kernel, 0.1).fit(X, Y)
    K = kernel(X)
    expected = kernel(NEW, X) @ np.linalg.solve(K + 0.1 * np.eye(40), Y)
    np.testing.assert_allclose(model.predict(NEW), expected, rtol=1e-11)
    ridge = mc.KernelRegression(kernel, 0.1 / 40).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), ridge.predict(NEW), rtol=1e-9)


@pytest.mark.parametrize("mean", ["constant", "linear"])
def test_an_improper_mean_is_the_limit_of_a_wide_prior(mean: str) -> None:
    columns = (
        mc.kernels.Constant(1.0) if mean == "constant" else mc.kernels.Constant(1.0) + mc.Linear()
    )
    Q = np.ones((40, 1)) if mean == "constant" else np.c_[np.ones(40), X]
    kernel, wide = mc.Gaussian(0.8), 1e6
    improper = fixed(kernel, 0.1, mean=mean).fit(X, Y)
    proper = fixed(kernel + wide * columns, 0.1).fit(X, Y)
    for one, other in zip(
        improper.predict(NEW, return_std=True), proper.predict(NEW, return_std=True), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4)
    m = Q.shape[1]
    offset = 0.5 * m * np.log(wide * 2 * np.pi)  # of the prior's density, which has no limit
    assert improper.log_likelihood() == pytest.approx(proper.log_likelihood() + offset, rel=1e-5)
    A = kernel(X) + 0.1 * np.eye(40)
    eta = np.linalg.solve(Q.T @ np.linalg.solve(A, Q), Q.T @ np.linalg.solve(A, Y))
    np.testing.assert_allclose(improper.null_weights_, eta, rtol=1e-9)
    np.testing.assert_allclose(Q.T @ improper.dual_coef_, 0.0, atol=1e-11)


def test_a_known_mean_is_subtracted_and_added() -> None:
    def known(points: Array) -> Array:
        return 5.0 + points[:, 0]

    model = fixed(mc.Gaussian(1.0), 0.1, mean=known).fit(X, Y)
    plain = fixed(mc.Gaussian(1.0), 0.1).fit(X, Y - known(X))
    np.testing.assert_allclose(model.predict(NEW), plain.predict(NEW) + known(NEW), rtol=1e-12)
    far = model.predict([[100.0, 0.0]])
    assert far[0] == pytest.approx(105.0)
    out = model.leave_one_out()
    np.testing.assert_allclose(out.mean, plain.leave_one_out().mean + known(X), rtol=1e-12)


def derivatives_are_differences(model: mc.GaussianProcess, gradient: dict[str, Any]) -> None:
    values = {**mc.kernels.parameters(model.kernel_), "noise_variance": model.noise_variance_}
    for name, derivative in gradient.items():
        value = values[name]
        members = value if isinstance(value, tuple) else (value,)
        for i, (here, slope) in enumerate(zip(members, np.atleast_1d(derivative), strict=True)):
            h = 1e-4 * max(here, 1e-2)
            if here < 4 * h:
                continue

            def at(v: float, i: int = i, name: str = name, members: Any = members) -> float:
                moved = (*members[:i], v, *members[i + 1 :])
                given = moved if isinstance(values[name], tuple) else moved[0]
                return model.log_likelihood({name: given})

            near, far = at(here + h) - at(here - h), at(here + 2 * h) - at(here - 2 * h)
            difference = (8 * near - far) / (12 * h)
            size = 1.0 + abs(model.log_likelihood()) + abs(here * slope)
            assert abs(difference - slope) * here <= 2e-6 * size, name


@settings(max_examples=20, deadline=None)
@given(smooth_kernels(), distinct_points(3, 6), st.sampled_from([None, "constant"]))
def test_gradients_are_differences_for_any_expression(
    kernel: mc.Kernel, points: Array, mean: Any
) -> None:
    if len(points) < 3 or np.max(np.abs(kernel(points))) > 1e6:
        return
    y = np.cos(3.0 * points[:, 0]) + points[:, 1]
    model = fixed(kernel, 0.3, mean=mean).fit(points, y)
    derivatives_are_differences(model, model.log_likelihood_gradient())


def test_a_gradient_of_the_wrong_sign_is_found_out() -> None:
    model = fixed(2.0 * mc.Gaussian((0.7, 1.5)), 0.1, mean="linear").fit(X, Y)
    gradient = model.log_likelihood_gradient()
    derivatives_are_differences(model, gradient)
    for name in gradient:
        with pytest.raises(AssertionError, match=name):
            derivatives_are_differences(model, {**gradient, name: -gradient[name]})


def test_a_gradient_leaves_the_model_as_it_was() -> None:
    model = fixed(2.0 * mc.Gaussian((0.7, 1.5)), 0.1, mean="linear").fit(X, Y)
    mean, spread = model.predict(X, return_std=True)
    first, second = model.log_likelihood_gradient(), model.log_likelihood_gradient()
    assert all(np.array_equal(first[name], second[name]) for name in first)
    again, spread_again = model.predict(X, return_std=True)
    assert np.array_equal(again, mean)
    assert np.array_equal(spread_again, spread)


def test_gradients_of_several_tiles_are_those_of_one() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((700, 2))
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(700)
    kernel = 2.0 * mc.Gaussian((0.7, 1.5))
    gradient = fixed(kernel, 0.1).fit(x, y).log_likelihood_gradient()
    A = np.linalg.inv(kernel(x) + 0.1 * np.eye(700))
    W = 0.5 * (np.outer(A @ y, A @ y) - A)
    for name, partial in kernel.partials(x).items():
        np.testing.assert_allclose(gradient[name], np.tensordot(W, partial, 2), rtol=1e-8)
    assert gradient["noise_variance"] == pytest.approx(np.trace(W), rel=1e-9)


def test_the_search_reaches_the_optimum_of_scikit_learn() -> None:
    model = mc.GaussianProcess(1.0 * mc.Gaussian(1.0), noise_variance=0.1, random_state=0).fit(X, Y)
    peer = GaussianProcessRegressor(
        ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1), alpha=0.0
    ).fit(X, Y)
    assert ended(model).is_converged
    assert ended(model).gradient_norm <= 1e-5
    assert model.log_likelihood() >= peer.log_marginal_likelihood_value_ - 1e-7
    weight, bandwidth, noise = np.exp(peer.kernel_.theta)
    assert mc.kernels.parameters(model.kernel_)["weight"] == pytest.approx(weight, rel=1e-2)
    assert mc.kernels.parameters(model.kernel_)["kernel__bandwidth"] == pytest.approx(
        bandwidth, rel=1e-2
    )
    assert model.noise_variance_ == pytest.approx(noise, rel=1e-2)
    mean, deviation = model.predict(NEW, return_std=True, observation=True)
    theirs = peer.predict(NEW, return_std=True)
    np.testing.assert_allclose(mean, theirs[0], atol=1e-3)
    np.testing.assert_allclose(deviation, theirs[1], rtol=1e-3)


def test_a_search_on_part_of_the_points_ends_at_the_optimum_of_all(monkeypatch: Any) -> None:
    """Of 100, 179 and 320 points."""
    monkeypatch.setattr(mc.GaussianProcess, "limits", Limits(part=100))
    rng = np.random.default_rng(5)
    x = rng.uniform(-3, 3, (320, 1))
    y = np.sin(2 * x[:, 0]) + 0.3 * rng.standard_normal(320)
    model = mc.GaussianProcess(
        1.0 * mc.Gaussian(1.0), noise_variance=0.1, n_starts=2, random_state=0
    ).fit(x, y)
    assert ended(model).is_converged
    assert ended(model).evaluations <= 15
    slope = float(model.log_likelihood_gradient()["noise_variance"])
    assert abs(slope * float(model.noise_variance_)) <= 1e-5 * 320
    assert len(ended(model).starts) == 2


def test_a_prior_moves_the_estimate_and_the_derivative_vanishes_with_it() -> None:
    law = stats.lognorm(0.1, scale=3.0)
    model = mc.GaussianProcess(
        mc.Gaussian(1.0), noise_variance=0.1, priors={"bandwidth": law}, n_starts=1, random_state=0
    ).fit(X, Y)
    plain = mc.GaussianProcess(
        mc.Gaussian(1.0), noise_variance=0.1, n_starts=1, random_state=0
    ).fit(X, Y)
    b, without = (mc.kernels.parameters(m.kernel_)["bandwidth"] for m in (model, plain))
    assert abs(np.log(b / 3.0)) < abs(np.log(without / 3.0))
    slope = model.log_likelihood_gradient()["bandwidth"]
    prior = -(np.log(b / 3.0) / 0.1**2 + 1.0) / b
    assert slope + prior == pytest.approx(0.0, abs=1e-3)
    assert plain.log_likelihood() > model.log_likelihood()


def test_variance_falls_with_more_data() -> None:
    kernel = mc.Matern(1.5, 0.7)
    before = fixed(kernel, 0.1).fit(X[:20], Y[:20]).posterior(NEW).latent_variance
    after = fixed(kernel, 0.1).fit(X, Y).posterior(NEW).latent_variance
    assert np.all(after <= before + 1e-14)
    assert np.all(before <= 1.0)


def test_the_covariance_has_the_variances_and_samples_have_both() -> None:
    model = fixed(mc.Gaussian(0.8), 0.1, mean="constant").fit(X, Y)
    mean, covariance = model.predict(NEW, return_cov=True)
    np.testing.assert_allclose(
        np.diag(covariance), model.posterior(NEW).latent_variance, rtol=1e-10
    )
    draws = model.sample(NEW, 20_000, random_state=0)
    assert draws.shape == (9, 20_000)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(draws), covariance, atol=0.03)
    noisy = model.sample(NEW, 20_000, observation=True, random_state=0)
    np.testing.assert_allclose(np.cov(noisy), covariance + 0.1 * np.eye(9), atol=0.03)
    with pytest.raises(mc.errors.InvalidParameter, match="not for both"):
        model.predict(NEW, return_std=True, return_cov=True)


def test_draws_of_the_prior_need_no_data() -> None:
    grid = np.linspace(0, 1, 40)[:, None]
    draws = fixed(mc.Gaussian(0.2), 0.25).sample(grid, 5_000, prior=True, random_state=0)
    np.testing.assert_allclose(np.cov(draws), mc.Gaussian(0.2)(grid), atol=0.08)
    rough = fixed(mc.Gaussian(0.02), 0.25).sample(grid, 50, prior=True, random_state=0)
    assert np.mean(np.diff(rough, axis=0) ** 2) > 5 * np.mean(np.diff(draws, axis=0) ** 2)


@pytest.mark.parametrize("mean", [None, "constant"])
def test_leaving_one_out_is_leaving_one_out(mean: Any) -> None:
    model = fixed(mc.Gaussian(0.8), 0.1, mean=mean).fit(X, Y)
    out = model.leave_one_out()
    for i in (0, 17):
        others = np.arange(40) != i
        again = fixed(mc.Gaussian(0.8), 0.1, mean=mean).fit(X[others], Y[others])
        m, s = again.predict(X[i : i + 1], return_std=True, observation=True)
        assert out.mean[i] == pytest.approx(m[0], rel=1e-9)
        assert out.variance[i] == pytest.approx(s[0] ** 2, rel=1e-9)
        assert out.log_density[i] == pytest.approx(stats.norm.logpdf(Y[i], m[0], s[0]), rel=1e-9)
        assert out.standardised[i] == pytest.approx((Y[i] - m[0]) / s[0], rel=1e-8)


def test_several_outputs_add_their_likelihoods_and_have_deviations_each() -> None:
    both = np.c_[Y, 2.0 * Y + 1.0]
    model = fixed(mc.Gaussian(1.0), 0.1).fit(X, both)
    single = [fixed(mc.Gaussian(1.0), 0.1).fit(X, y) for y in both.T]
    assert model.log_likelihood() == pytest.approx(sum(m.log_likelihood() for m in single))
    mean, deviation = model.predict(NEW, return_std=True)
    assert mean.shape == deviation.shape == (9, 2)
    np.testing.assert_allclose(mean[:, 1], single[1].predict(NEW), rtol=1e-10)
    derivatives_are_differences(model, model.log_likelihood_gradient())
    assert model.predict(NEW, return_cov=True)[1].shape == (9, 9, 2)
    assert model.sample(NEW, 3, random_state=0).shape == (9, 2, 3)


def test_the_order_of_the_points_does_not_matter() -> None:
    order = RNG.permutation(40)
    one, other = fixed(mc.Gaussian(1.0), 0.1), fixed(mc.Gaussian(1.0), 0.1)
    np.testing.assert_allclose(
        one.fit(X, Y).predict(NEW), other.fit(X[order], Y[order]).predict(NEW), rtol=1e-11
    )
    assert one.log_likelihood() == pytest.approx(other.log_likelihood(), rel=1e-12)


def test_graveyard_47_repeated_points_without_noise_report_their_jitter() -> None:
    x = np.repeat(np.linspace(0, 1, 5), 2)[:, None]
    y = np.repeat(np.arange(5.0), 2)
    with pytest.warns(Jittered, match="was added to its diagonal"):
        model = fixed(mc.Gaussian(0.2), 0.0).fit(x, y)
    assert 0.0 < model.jitter_ <= 1e-8
    np.testing.assert_allclose(model.predict(x), y, atol=1e-5)
    assert np.isfinite(model.log_likelihood())
    assert fixed(mc.Gaussian(0.2), 1e-6).fit(x, y).jitter_ == 0.0
    with pytest.raises(SingularSystem, match="not positive definite"):
        fixed(lambda a, b: float(np.cos(a[0]) * b[0] + a[0] * np.cos(b[0])), 0.0).fit(x, y)


def test_graveyard_48_variances_are_never_negative_beyond_rounding() -> None:
    x = np.linspace(0, 1, 60)[:, None]
    y = np.sin(6 * x[:, 0])
    grid = np.linspace(-0.2, 1.2, 200)[:, None]
    for noise in (1e-6, 1e-10, 1e-12):
        variance = fixed(mc.Gaussian(0.5), noise).fit(x, y).posterior(grid).latent_variance
        assert np.all(variance >= 0.0)

    def no_kernel(a: Array, b: Array) -> float:
        own = 0.1 if a[0] == b[0] == 0.5 else 1.0
        return own * float(np.exp(-0.5 * (a[0] - b[0]) ** 2))

    model = fixed(no_kernel, 0.01).fit([[0.0], [1.0], [2.0]], [1.0, 0.0, 1.0])
    with pytest.raises(NegativeVariance, match="point 1 is .* below zero by more than rounding"):
        model.posterior([[3.0], [0.5]])


def test_graveyard_49_constant_outputs_have_a_finite_answer() -> None:
    for level in (0.0, 5.0):
        y = np.full(40, level)
        model = mc.GaussianProcess(n_starts=1, random_state=0).fit(X, y)
        mean, deviation = model.predict(NEW, return_std=True)
        assert np.all(np.isfinite(deviation))
        np.testing.assert_allclose(mean, level, atol=0.05)
        several = mc.GaussianProcess(n_starts=1, random_state=0).fit(X, np.c_[y, y])
        assert several.predict(NEW, return_std=True)[1].shape == (9, 2)


def test_graveyard_50_a_search_says_how_it_ended(monkeypatch: Any) -> None:
    bounds = {"bandwidth": (0.01, 0.05)}
    model = mc.GaussianProcess(mc.Gaussian(0.03), bounds=bounds, n_starts=1, random_state=0).fit(
        X, Y
    )
    assert ended(model).at_bounds
    assert "bandwidth" in ended(model).at_bounds or ended(model).gradient_norm <= 1e-5
    monkeypatch.setattr(mc.GaussianProcess, "limits", Limits(steps=0))
    with pytest.warns(ConvergenceWarning, match="still rises"):
        stopped = mc.GaussianProcess(mc.Gaussian(0.3), n_starts=1, random_state=0).fit(X, Y)
    monkeypatch.undo()
    assert not ended(stopped).is_converged
    named = mc.GaussianProcess(
        mc.Gaussian(0.3), optimise=["noise_variance"], noise_variance=0.5, random_state=0
    ).fit(X, Y)
    assert mc.kernels.parameters(named.kernel_) == {"bandwidth": 0.3}
    assert named.noise_variance_ != 0.5
    assert fixed(mc.Gaussian(0.3), 0.5).fit(X, Y).optimum_ is None


def test_points_of_any_kind_have_a_process() -> None:
    words = ["gattaca", "gattata", "cccgg", "ccgcg", "gatcc"]
    model = mc.GaussianProcess(
        1.0 * mc.kernels.StringSpectrum(2).normalised(), n_starts=1, random_state=0
    )
    assert model.fit(words, [1.0, 1.1, 0.0, 0.1, 0.5]).predict(["gatta"])[0] > 0.5
    assert "weight" in model.log_likelihood_gradient()
    graphs = [mc.Graph([(i, (i + 1) % n) for i in range(n)], labels=["a"] * n) for n in range(3, 9)]
    process = mc.GaussianProcess(
        mc.kernels.WeisfeilerLehman(1).gaussian(5.0), n_starts=1, random_state=0
    )
    process.fit(graphs, np.arange(3.0, 9.0))
    assert np.all(process.posterior(graphs).latent_variance >= 0)
    sets = [{1}, {1, 2}, {2, 3}, {1, 2, 3}]
    process = fixed(mc.kernels.Intersection(), 0.1).fit(sets, [1.0, 2.0, 2.0, 3.0])
    assert process.predict([{1, 2}])[0] == pytest.approx(2.0, abs=0.2)


def test_an_interval_for_the_likelihood_of_many_points_holds_it() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((600, 2))
    y = np.sin(x[:, 0]) + 0.3 * rng.standard_normal(600)
    exact = fixed(mc.Gaussian(0.7), 0.1).fit(x, y).log_likelihood()
    found = log_likelihood_interval(mc.Gaussian(0.7), x, y, 0.1, method="iterative", random_state=0)
    assert found.lower <= exact <= found.upper
    assert found.upper - found.lower < 0.1 * abs(exact)
    assert found.confidence == 0.95
    assert "stochastic Lanczos" in found.method
    direct = log_likelihood_interval(mc.Gaussian(0.7), x, y, 0.1, random_state=0)
    assert direct.value == pytest.approx(exact, rel=1e-12)
    assert direct.confidence == 1.0


@pytest.mark.parametrize("sizes", [(20, 40), (20, 20)], ids=["single", "low-rank"])
@pytest.mark.parametrize("mean", [None, "linear"])
def test_more_points_than_are_stored_have_the_same_process(
    monkeypatch: Any, mean: Any, sizes: tuple[int, int]
) -> None:
    """Just above the limits of what is factored, lowered: means and variances by iteration."""
    y = np.column_stack([Y, Y**2])
    exact = fixed(mc.Gaussian(1.0), 0.1, mean=mean).fit(X, y)
    monkeypatch.setattr(mc.GaussianProcess, "limits", Limits(stored=len(X) - 1))
    batches = 5 * len(X)  # of 5 and 4
    monkeypatch.setattr(Saddle, "limits", SolveLimits(sizes[0], sizes[1], at_once=batches))
    many = fixed(mc.Gaussian(1.0), 0.1, mean=mean).fit(X, y)
    np.testing.assert_allclose(many.dual_coef_, exact.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(many.null_weights_, exact.null_weights_, atol=1e-8)
    for new in (NEW, NEW[:1]):
        for found, right in zip(many.predict(new, True), exact.predict(new, True), strict=True):
            np.testing.assert_allclose(found, right, atol=1e-9)
        np.testing.assert_allclose(
            many.predict(new, return_cov=True)[1], exact.predict(new, return_cov=True)[1], atol=1e-9
        )
    assert np.all(np.isfinite(many.sample(NEW, 2, random_state=0)))
    again = pickle.loads(pickle.dumps(many))
    np.testing.assert_array_equal(again.predict(NEW), many.predict(NEW))


def test_more_points_than_are_stored_say_what_works(monkeypatch: Any) -> None:
    monkeypatch.setattr(mc.GaussianProcess, "limits", Limits(stored=len(X) - 1))
    many = fixed(mc.Gaussian(1.0), 0.1).fit(X, Y)
    for ask in (
        many.log_likelihood,
        many.log_likelihood_gradient,
        many.leave_one_out,
        lambda: many.log_likelihood({"bandwidth": 2.0}),
        lambda: many.likelihood_surface({"bandwidth": [1.0]}),
    ):
        with pytest.raises(
            mc.errors.InvalidParameter, match="limited to 39 points, found 40.*interval"
        ):
            ask()
    monkeypatch.setattr(Saddle, "limits", SolveLimits(direct=20))
    with pytest.raises(SingularSystem, match="> 0"):
        fixed(mc.Gaussian(1.0), 0.0).fit(X, Y)


@pytest.mark.parametrize("mean", [None, "linear"])
@pytest.mark.parametrize(
    "kernel", [2.0 * mc.Gaussian((0.7, 1.5)), 1.5 * mc.Matern(1.5, 1.0) + mc.Linear()], ids=str
)
def test_intervals_of_many_points_hold_the_likelihood_and_its_gradient(
    kernel: mc.Kernel, mean: str | None
) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((160, 2))
    y = np.column_stack([np.sin(x[:, 0]) + 0.3 * rng.standard_normal(160), x[:, 1] ** 2])
    Q = null_columns(mean, x)
    process = fixed(kernel, 0.1, mean=mean).fit(x, y)
    likelihood, gradient = process.log_likelihood(), process.log_likelihood_gradient()
    hits = total = inside = 0
    for seed in range(5):
        given: dict[str, Any] = {"functions": Q, "random_state": seed}
        interval = log_likelihood_interval(kernel, x, y, 0.1, method="iterative", **given)
        inside += interval.lower <= likelihood <= interval.upper
        found = log_likelihood_gradient_interval(kernel, x, y, 0.1, **given)
        assert set(found) == set(gradient)
        for name, exact in gradient.items():
            of = found[name]
            total += np.size(exact)
            hits += int(np.sum((of.lower <= exact) & (exact <= of.upper)))
            assert np.shape(of.value) == np.shape(exact)
    assert interval.upper - interval.lower < 0.1 * abs(likelihood)
    # Of 95 % intervals; those of one seed share their probes and miss together.
    assert inside >= 3
    assert hits >= 0.75 * total


def test_a_gradient_without_the_trace_is_found_out() -> None:
    """Half the quadratic form alone lies outside of every interval."""
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((200, 1)), rng.standard_normal(200)
    found = log_likelihood_gradient_interval(mc.Gaussian(0.5), x, y, 0.5, random_state=0)
    gram = Gram(mc.Gaussian(0.5), x)
    alpha = np.linalg.solve(gram.dense() + 0.5 * np.eye(200), y)
    wrong = 0.5 * alpha @ alpha
    assert not found["noise_variance"].lower <= wrong <= found["noise_variance"].upper


def test_what_has_no_interval_is_refused() -> None:
    x, y = np.zeros((5, 1)), np.zeros(4)
    with pytest.raises(mc.errors.InvalidInput, match="y has 4 rows for 5 points"):
        log_likelihood_interval(mc.Gaussian(1.0), x, y, 0.1, random_state=0)
    with pytest.raises(mc.errors.InvalidInput, match="functions has 4 rows"):
        log_likelihood_gradient_interval(
            mc.Gaussian(1.0), x, np.zeros(5), 0.1, functions=np.ones((4, 1)), random_state=0
        )
    with pytest.raises(mc.errors.InvalidParameter, match="auto, direct, iterative"):
        log_likelihood_interval(
            mc.Gaussian(1.0), x, np.zeros(5), 0.1, method="lanczos", random_state=0
        )


def test_a_precomputed_matrix_gives_the_same_mean() -> None:
    kernel = mc.Gaussian(1.0)
    given = fixed("precomputed", 0.1, mean="constant").fit(kernel(X), Y)
    plain = fixed(kernel, 0.1, mean="constant").fit(X, Y)
    np.testing.assert_allclose(given.predict(kernel(NEW, X)), plain.predict(NEW), rtol=1e-9)
    assert given.log_likelihood() == pytest.approx(plain.log_likelihood(), rel=1e-12)
    fitted = mc.GaussianProcess("precomputed", n_starts=1, random_state=0).fit(kernel(X), Y)
    assert ended(fitted).is_converged
    with pytest.raises(mc.errors.InvalidParameter, match=r"k\(x, x\) of new points"):
        given.predict(kernel(NEW, X), return_std=True)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"noise_variance": -1.0}, mc.errors.InvalidParameter, "noise_variance"),
        ({"optimise": "all"}, mc.errors.InvalidParameter, "optimise must be"),
        ({"optimise": ["width"]}, mc.errors.InvalidParameter, "'width' cannot be fitted"),
        ({"bounds": {"bandwidth": (5.0, 9.0)}}, mc.errors.InvalidParameter, "outside its bounds"),
        ({"bounds": {"width": (5.0, 9.0)}}, mc.errors.InvalidParameter, "which is not fitted"),
        ({"priors": {"width": stats.norm()}}, mc.errors.InvalidParameter, "which is not fitted"),
        ({"mean": "quadratic"}, mc.errors.InvalidParameter, "mean must be None"),
        ({"n_starts": 0}, mc.errors.InvalidParameter, "n_starts"),
        ({"tol": 0.0}, mc.errors.InvalidParameter, "tol"),
        ({"kernel": mc.kernels.NegativeDistance(1.0)}, mc.errors.InvalidInput, "conditionally"),
        (
            {"kernel": mc.kernels.RandomWalk(0.1)},
            mc.errors.MercerError,
            "noise alone|sequence|Graph|graph",
        ),
    ],
)
def test_parameters_outside_their_domain_are_refused(change: Any, error: Any, message: str) -> None:
    model = mc.GaussianProcess(mc.Gaussian(1.0), n_starts=1, random_state=0).set_params(**change)
    with pytest.raises(error, match=message):
        model.fit(X, Y)


def test_it_goes_through_pipelines_grids_and_files(tmp_path: Any) -> None:
    pipeline = make_pipeline(StandardScaler(), fixed(mc.Gaussian(1.0), 0.1))
    grid = GridSearchCV(
        pipeline,
        {
            "gaussianprocess__kernel__bandwidth": [0.3, 1.0],
            "gaussianprocess__noise_variance": [0.1],
        },
        cv=3,
    ).fit(X, Y)
    assert grid.best_params_["gaussianprocess__kernel__bandwidth"] == 1.0
    model = fixed(mc.Gaussian(1.0), 0.1).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    save(model, tmp_path / "process.mercer")
    loaded = mc.load(tmp_path / "process.mercer")
    for one, other in zip(
        loaded.predict(NEW, return_std=True), model.predict(NEW, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert clone(model).get_params()["kernel__bandwidth"] == 1.0


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [mc.GaussianProcess(n_starts=1, random_state=0), fixed(mc.Gaussian(2.0), 0.1, mean="constant")],
    expected_failed_checks=lambda _: LINE,
    xfail_strict=True,
)
def test_the_protocol_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e4, 3e5, 1e100])
def test_the_unit_of_y_does_not_matter(unit: float) -> None:
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.0, 10.0, 40))[:, None]
    y = np.sin(x[:, 0]) + 0.3 * rng.standard_normal(40)
    usual, found = (mc.GaussianProcess(random_state=0).fit(x, u * y) for u in (1.0, unit))
    assert found.optimum_ is not None
    assert found.optimum_.at_bounds == ()
    np.testing.assert_allclose(found.predict(x) / unit, usual.predict(x), atol=1e-3)
    expected = usual.log_likelihood() - 40 * np.log(unit)
    assert found.log_likelihood() == pytest.approx(expected, abs=1e-4)


ROUND = [m * 10.0**e for m in (1.0, 2.0, 3.0, 5.0) for e in range(-4, 4)]
ROUNDED = [v for v in ROUND if np.exp(np.log(v)) != v]


@pytest.mark.parametrize("end", [0, 1])
def test_a_start_may_be_its_bound_and_no_fit_leaves_its_bounds(end: int) -> None:
    assert len(ROUNDED) >= 5  # of 32 round values, on any machine
    for value in [*ROUNDED, 1.0]:
        pair = (value, 10.0 * value) if end == 0 else (0.1 * value, value)
        model = mc.GaussianProcess(
            mc.Gaussian(value),
            noise_variance=0.1,
            bounds={"bandwidth": pair},
            n_starts=1,
            random_state=0,
        ).fit(X[:12], Y[:12])
        found = model.kernel_.parameters()["bandwidth"]
        assert pair[0] <= found <= pair[1]
        again = clone(model).set_params(kernel=model.kernel_)
        again.fit(X[:12], Y[:12])  # from where it ended, which may be a bound


def test_parameters_that_do_not_move_stay_what_they_are() -> None:
    for value in ROUNDED:
        pair = {"bandwidth": (value, value), "noise_variance": (0.3, 0.3)}
        model = mc.GaussianProcess(
            mc.Gaussian(value), noise_variance=0.3, bounds=pair, random_state=0
        )
        model.fit(X[:12], Y[:12])
        assert (model.kernel_, model.noise_variance_) == (mc.Gaussian(value), 0.3)


def exact_process(x: Array, y: Array, noise: Any, Q: Array, new: Array, digits: int = 60) -> Any:
    """The mean, variance and restricted likelihood under a linear kernel, of so many digits."""
    with mpmath.workdps(digits):
        table = mpmath.matrix(x.tolist())
        A = table * table.T + mpmath.diag([mpmath.mpf(float(v)) for v in np.full(len(x), noise)])
        columns, target = mpmath.matrix(Q.tolist()), mpmath.matrix(y.tolist())
        inverse = A**-1
        S = columns.T * inverse * columns
        eta = mpmath.lu_solve(S, columns.T * inverse * target)
        alpha = inverse * (target - columns * eta)
        n, m = Q.shape
        likelihood = -(target.T * alpha)[0] - mpmath.log(mpmath.det(A) * mpmath.det(S))
        likelihood = (likelihood - (n - m) * mpmath.log(2 * mpmath.pi)) / 2
        point, here = mpmath.matrix(new[:1].tolist()), mpmath.matrix(new[1:].tolist())
        k = table * point.T
        free = here.T - columns.T * inverse * k
        variance = (point * point.T)[0] - (k.T * inverse * k)[0] + (free.T * S**-1 * free)[0]
        return float((k.T * alpha)[0] + (here * eta)[0]), float(variance), float(likelihood)


@pytest.mark.parametrize("is_line", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1e5, 2.0**30])
def test_a_constant_mean_sees_a_linear_kernel_from_anywhere(offset: float, is_line: bool) -> None:
    """Data far from the origin, of which every digit of the inner products was lost.

    Where they lie on no line the likelihood is that of noise 200 times too small, about -6e5.
    """
    rng = np.random.default_rng(0)
    x = np.round(2.0**12 * rng.uniform(0.0, 5.0, (12, 1))) / 2.0**12 + offset
    y = 2.0 * (x[:, 0] - offset) + (0.005 if is_line else 1.7) * rng.standard_normal(12)
    new = np.array([[2.5 + offset]])
    model = fixed(mc.Linear(), 2.5e-5, mean="constant").fit(x, y)
    mean, deviation = model.predict(new, return_std=True)
    at = np.vstack([new, [[1.0]]])
    exact = exact_process(x, y, 2.5e-5, np.ones((12, 1)), at)
    np.testing.assert_allclose(mean, exact[0], rtol=1e-11)
    np.testing.assert_allclose(deviation**2, exact[1], rtol=1e-9)
    assert model.log_likelihood() == pytest.approx(exact[2], rel=1e-9)
    centred, u = x[:, 0] - x.mean(), np.finfo(float).eps
    slope = model.dual_coef_ @ centred  # for weights that sum to zero
    by_weights = float(slope * new[0, 0] + model.null_weights_[0])
    # Noise of 2.5e-5 makes weights of 1e5 out of residuals, and each is rounded.
    rounding = 4 * u * np.abs(model.dual_coef_) @ np.abs(centred) * abs(new[0, 0] - x.mean())
    assert by_weights == pytest.approx(exact[0], abs=1e-14 * (1e3 + offset) + rounding)
    regression = mc.KernelRegression(mc.Linear(), penalty=2.5e-5 / 12, null_space="constant")
    np.testing.assert_allclose(regression.fit(x, y).predict(new), exact[0], rtol=1e-11)
    assert regression.gap_ <= 1e-8 * regression.objective_


def test_a_kernel_with_a_linear_part_is_fitted_the_same_from_anywhere() -> None:
    kernel = 2.0 * mc.Linear() + mc.Gaussian(1.0)
    x = np.round(2.0**12 * X) / 2.0**12
    near = mc.GaussianProcess(kernel, mean="constant", n_starts=1, random_state=0).fit(x, Y)
    far = mc.GaussianProcess(kernel, mean="constant", n_starts=1, random_state=0).fit(x + 1e5, Y)
    assert ended(far).value == pytest.approx(ended(near).value, rel=1e-9)
    np.testing.assert_allclose(far.predict(x + 1e5), near.predict(x), atol=1e-6)
    weight = near.kernel_.parameters()["0__weight"]
    slope = weight * ((x - x.mean(axis=0)).T @ near.dual_coef_)
    np.testing.assert_allclose(far.null_weights_, near.null_weights_ - 1e5 * slope.sum(), rtol=1e-6)


def test_a_linear_mean_far_from_the_origin_is_that_of_sixty_digits() -> None:
    x = 2.0**30 + np.arange(0.0, 1001.0, 91.0)[:, None]
    y = np.sin(0.01 * np.arange(len(x))) + 0.5 * (x[:, 0] - 2.0**30)
    kernel = mc.Linear()  # within the span of the mean, so that the process is least squares
    model = fixed(kernel, 0.25, mean="linear").fit(x, y)
    Q = np.hstack([np.ones_like(x), x])
    at = np.array([[2.0**30 + 77.0, 0.0], [1.0, 2.0**30 + 77.0]])
    with mpmath.workdps(60):
        table, target = mpmath.matrix(Q.tolist()), mpmath.matrix(y.tolist())
        exact = mpmath.lu_solve(table, target)
        value = float((mpmath.matrix([at[1].tolist()]) * exact)[0])
    np.testing.assert_allclose(model.predict(at[:1, :1]), value, rtol=1e-11)
    np.testing.assert_allclose(model.null_weights_, [float(v) for v in exact], rtol=1e-9)
    bent = fixed(mc.Gaussian(100.0), 0.25, mean="linear").fit(x, y)
    near = fixed(mc.Gaussian(100.0), 0.25, mean="linear").fit(x - 2.0**30, y)
    np.testing.assert_allclose(bent.predict(x), near.predict(x - 2.0**30), rtol=1e-11)
    assert bent.log_likelihood() == pytest.approx(near.log_likelihood(), rel=1e-11)


EACH = np.geomspace(1e-3, 1.0, 40)[np.random.default_rng(1).permutation(40)]
"""A noise variance for each of the points."""


def test_noise_of_each_observation_has_the_numbers_of_fifty_digits() -> None:
    x, y, noise = X[:12, :1], Y[:12], EACH[:12]
    model = fixed(mc.Linear(), noise, mean="constant").fit(x, y)
    mean, deviation = model.predict(NEW[:1, :1], return_std=True)
    at = np.vstack([NEW[:1, :1], [[1.0]]])
    exact = exact_process(x, y, noise, np.ones((12, 1)), at, digits=50)
    np.testing.assert_allclose(mean, exact[0], rtol=1e-12)
    np.testing.assert_allclose(deviation**2, exact[1], rtol=1e-12)
    assert model.log_likelihood() == pytest.approx(exact[2], rel=1e-13)


def test_noise_of_each_observation_is_that_of_scikit_learn() -> None:
    peer = GaussianProcessRegressor(2.0 * RBF(0.7), alpha=EACH, optimizer=None).fit(X, Y)
    model = fixed(2.0 * mc.Gaussian(0.7), EACH).fit(X, Y)
    mean, deviation = model.predict(NEW, return_std=True)
    expected, expected_deviation = peer.predict(NEW, return_std=True)
    np.testing.assert_allclose(mean, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(deviation, expected_deviation, rtol=1e-8)
    assert model.log_likelihood() == pytest.approx(peer.log_marginal_likelihood_value_, rel=1e-10)
    _, covariance = model.predict(NEW, return_cov=True)
    np.testing.assert_allclose(covariance, peer.predict(NEW, return_cov=True)[1], atol=1e-9)
    searched = mc.GaussianProcess(2.0 * mc.Gaussian(0.7), noise_variance=EACH, random_state=0).fit(
        X, Y
    )
    peer = GaussianProcessRegressor(2.0 * RBF(0.7), alpha=EACH, n_restarts_optimizer=3).fit(X, Y)
    assert ended(searched).value == pytest.approx(peer.log_marginal_likelihood_value_, rel=1e-8)
    np.testing.assert_array_equal(searched.noise_variance_, EACH)


def test_equal_noises_are_one_and_their_derivatives_add_up() -> None:
    one = fixed(mc.Gaussian(0.7), 0.2, mean="linear").fit(X, Y)
    each = fixed(mc.Gaussian(0.7), np.full(40, 0.2), mean="linear").fit(X, Y)
    np.testing.assert_allclose(each.predict(NEW), one.predict(NEW), rtol=1e-12)
    assert each.log_likelihood() == pytest.approx(one.log_likelihood(), rel=1e-13)
    slopes = np.asarray(each.log_likelihood_gradient()["noise_variance"])
    assert slopes.sum() == pytest.approx(one.log_likelihood_gradient()["noise_variance"])
    step = np.zeros(40)
    step[7] = 1e-5
    values = [each.log_likelihood({"noise_variance": 0.2 + s * step}) for s in (1.0, -1.0)]
    assert slopes[7] == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-6)


@pytest.mark.parametrize("mean", [None, "constant", "linear"])
def test_noise_of_each_observation_of_more_points_than_are_stored(
    mean: Any, monkeypatch: Any
) -> None:
    stored = fixed(mc.Gaussian(0.7), EACH, mean=mean).fit(X, Y)
    expected = stored.predict(NEW, return_std=True)
    covariance = stored.predict(NEW, return_cov=True)[1]
    monkeypatch.setattr(mc.GaussianProcess, "limits", Limits(stored=30))
    monkeypatch.setattr(Saddle, "limits", SolveLimits(direct=30))
    many = fixed(mc.Gaussian(0.7), EACH, mean=mean).fit(X, Y)
    np.testing.assert_allclose(many.predict(NEW, return_std=True), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(many.predict(NEW, return_cov=True)[1], covariance, atol=1e-8)
    with pytest.raises(mc.errors.InvalidParameter, match="with one noise variance for all"):
        mc.GaussianProcess(mc.Gaussian(0.7), noise_variance=EACH, mean=mean, random_state=0).fit(
            X, Y
        )


def test_noise_of_each_observation_is_stored_sampled_and_refused_where_unknown(
    tmp_path: Any,
) -> None:
    model = fixed(mc.Gaussian(0.7), EACH).fit(X, Y)
    save(model, tmp_path / "model.mercer")
    again = mc.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    np.testing.assert_array_equal(again.noise_variance_, EACH)
    assert clone(model).fit(X, Y).log_likelihood() == model.log_likelihood()
    assert model.sample(NEW, 3, random_state=0).shape == (9, 3)
    left = model.leave_one_out()
    others = fixed(mc.Gaussian(0.7), EACH[1:]).fit(X[1:], Y[1:])
    mean, deviation = others.predict(X[:1], return_std=True)
    assert left.mean[0] == pytest.approx(mean[0], rel=1e-9)
    assert left.variance[0] == pytest.approx(deviation[0] ** 2 + EACH[0], rel=1e-9)
    for ask in (
        lambda: model.predict(NEW, return_std=True, observation=True),
        lambda: model.sample(NEW, observation=True, random_state=0),
        lambda: model.sample(NEW, prior=True, observation=True, random_state=0),
        lambda: model.posterior(NEW).observation_variance,
    ):
        with pytest.raises(mc.errors.InvalidParameter, match="none for new ones"):
            ask()
    assert np.all(model.posterior(NEW).latent_variance >= 0.0)
    for noise, message in (
        (EACH[:5], "one for each of 40 observations; found shape"),
        (-EACH, r"noise_variance\[\d+\] must be >= 0"),
        (np.full(40, np.nan), "noise_variance"),
    ):
        with pytest.raises((mc.errors.InvalidParameter, mc.errors.InvalidInput), match=message):
            fixed(mc.Gaussian(0.7), noise).fit(X, Y)
    with pytest.raises(mc.errors.InvalidParameter, match="cannot be fitted"):
        mc.GaussianProcess(
            mc.Gaussian(0.7), noise_variance=EACH, optimise=("noise_variance",), random_state=0
        ).fit(X, Y)


def test_variances_by_iteration_are_right_to_what_they_say(monkeypatch: Any) -> None:
    """And never too small: a residual changes them by its square, upwards."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-2.0, 2.0, (300, 2))
    y = np.sin(2.0 * x[:, 0]) + 0.1 * rng.standard_normal(300)
    exact = fixed(mc.Gaussian(0.5), 0.01).fit(x, y).posterior(NEW).latent_variance
    monkeypatch.setattr(mc.GaussianProcess, "limits", Limits(stored=100))
    for accuracy in (1e-9, 1e-4):
        limits = SolveLimits(direct=100, single=100, accuracy=accuracy)
        monkeypatch.setattr(Saddle, "limits", limits)
        found = fixed(mc.Gaussian(0.5), 0.01).fit(x, y).posterior(NEW).latent_variance
        assert np.all(exact - 1e-11 <= found)
        assert np.all(found <= exact + accuracy)


def test_the_seed_of_a_sample_repeats_it() -> None:
    model = fixed(mc.Gaussian(0.2), 0.25).fit(np.linspace(0.0, 1.0, 9)[:, None], np.arange(9.0))
    drawn = model.sample([[0.3], [0.7]], 3)
    again = model.sample([[0.3], [0.7]], 3, random_state=model.sample_seed_)
    np.testing.assert_array_equal(again, drawn)


def test_sums_beyond_doubles_are_refused_by_name() -> None:
    x = np.array([[1.3e154], [1.2e154], [-1.3e154], [-1.2e154]])
    with pytest.raises(SingularSystem, match="another unit"):
        mc.GaussianProcess(kernel=mc.Linear(), noise_variance=1.0).fit(x, np.arange(4.0))
