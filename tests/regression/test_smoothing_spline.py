from __future__ import annotations

import json
import pickle
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.integrate import quad
from scipy.interpolate import make_smoothing_spline
from scipy.linalg import solveh_banded
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

import mercer as mc
from mercer.check import Array
from mercer.errors import InvalidInput
from mercer.regression import penalty_path, spline_filter
from mercer.regression.penalty_choice import choose_penalty
from mercer.regression.spline_curve import Curve, Places, curve, pool_places
from mercer.regression.spline_filter import carry, joint_determinant, left_out, observe
from tests.references import FOLDER

REFERENCE = FOLDER
X = np.array([0.05, 0.2, 0.5, 0.75, 1.0])
Y = np.array([0.4, 0.2, 0.6, 0.7, 1.0])


def reference(name: str) -> Any:
    return json.loads((REFERENCE / f"{name}.json").read_text())


def noisy(n: int, seed: int = 0, *, is_even: bool = False) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 1.0, n) if is_even else rng.uniform(size=n)
    truth = np.sin(12.0 * x) + np.exp(-50.0 * (x - 0.5) ** 2)
    return x, truth, truth + 0.3 * rng.standard_normal(n)


@pytest.fixture(params=["compiled", "plain"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Sweeps by loops that numba compiles, and by the same loops as they are written."""
    if request.param == "compiled" and find_spec("numba") is None:
        pytest.skip("numba is not installed")
    monkeypatch.setattr(spline_filter, "is_compiled", lambda: request.param == "compiled")
    return str(request.param)


def saddle_inverse(x: Array, w: Array, penalty: float) -> Any:
    """The inverse of the saddle matrix of the kernel, in the digits that are at work."""
    n = len(x)
    at = [mpmath.mpf(float(v)) - mpmath.mpf(float(min(x))) for v in x]
    M = mpmath.zeros(n + 2)
    for i in range(n):
        for j in range(n):
            a, b = min(at[i], at[j]), max(at[i], at[j])
            M[i, j] = a * a * (b / 2 - a / 6)
        M[i, i] += mpmath.mpf(penalty) / mpmath.mpf(float(w[i]))
        M[i, n] = M[n, i] = 1
        M[i, n + 1] = M[n + 1, i] = at[i]
    return mpmath.inverse(M)


def exact(x: Array, y: Array, w: Array, penalty: float) -> tuple[Array, Array]:
    """Fitted values and leverages from the saddle system of the kernel, in 60 digits."""
    with mpmath.workdps(60):
        n = len(x)
        shifts = [mpmath.mpf(penalty) / mpmath.mpf(float(v)) for v in w]
        inverse = saddle_inverse(x, w, penalty)
        values = [mpmath.mpf(float(v)) for v in y]
        weights = [sum(inverse[i, j] * values[j] for j in range(n)) for i in range(n)]
        fitted = [float(values[i] - shifts[i] * weights[i]) for i in range(n)]
        leverages = [float(1 - shifts[i] * inverse[i, i]) for i in range(n)]
    return np.array(fitted), np.array(leverages)


@pytest.mark.parametrize("penalty", [1e-12, 1e-18, 1e-25])
@pytest.mark.usefixtures("way")
def test_the_noise_of_a_curve_near_its_data_keeps_its_digits(penalty: float) -> None:
    """Where 1 minus a leverage is rounding, the trace of the smoother says nothing of the rest."""
    with mpmath.workdps(60):
        square_sum, left = mpmath.mpf(0), mpmath.mpf(0)
        inverse = saddle_inverse(X, np.ones(5), penalty)
        for i in range(5):
            weight = sum(inverse[i, j] * mpmath.mpf(float(Y[j])) for j in range(5))
            square_sum += (penalty * weight) ** 2
            left += penalty * inverse[i, i]
        expected = float(square_sum / left)
    spline = mc.SmoothingSpline(penalty).fit(X, Y)
    assert spline.noise_variance_ == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["spline_cars", "spline_cars_weighted"])
def test_fits_agree_with_fifty_digits_and_nearly_with_r(name: str) -> None:
    """The constant 0.3330 for 1/3 in R costs it four digits."""
    file = reference(name)
    x, y, w = (np.array(file[key], float) for key in "xyw")
    unit = (x.max() - x.min()) ** 3 * w.mean()
    for fit in file["fixed"]:
        spline = mc.SmoothingSpline(fit["lambda"] * unit).fit(x, y, sample_weight=w)
        found = spline.predict(fit["x_unique"])
        np.testing.assert_allclose(found, fit["exact_fitted_unique"], rtol=1e-12)
        np.testing.assert_allclose(spline.predict(file["x_eval"]), fit["exact_predict"], rtol=1e-11)
        assert spline.degrees_of_freedom_ == pytest.approx(fit["df"], abs=3e-3)
        pooled_leverages = [spline.leverages_[x == place].sum() for place in fit["x_unique"]]
        np.testing.assert_allclose(pooled_leverages, fit["leverage_unique"], atol=1e-3)
        slopes = spline.predict(file["x_eval"], 1)
        np.testing.assert_allclose(slopes, fit["deriv1"], atol=1e-2, rtol=3e-3)


@pytest.mark.parametrize("name", ["spline_cars", "spline_cars_weighted"])
def test_generalised_cross_validation_finds_what_r_finds(name: str) -> None:
    file = reference(name)
    x, y, w = (np.array(file[key], float) for key in "xyw")
    spline = mc.SmoothingSpline().fit(x, y, sample_weight=w)
    assert spline.degrees_of_freedom_ == pytest.approx(file["gcv"]["df"], abs=5e-3)
    assert spline.criterion_ == pytest.approx(file["gcv"]["gcv_crit"], rel=1e-4)
    assert spline.criterion_ <= file["gcv"]["gcv_crit"] * (1 + 1e-6)
    np.testing.assert_allclose(spline.predict(file["x_eval"]), file["gcv"]["predict"], atol=2e-2)


@pytest.mark.parametrize("name", ["spline_natural_five", "spline_natural_six"])
def test_penalty_zero_is_the_natural_spline(name: str) -> None:
    file = reference(name)
    spline = mc.SmoothingSpline(penalty=0.0).fit(file["x"], file["y"])
    for order, key in enumerate(["value", "deriv1", "deriv2"]):
        np.testing.assert_allclose(spline.predict(file["x_eval"], order), file[key], atol=1e-12)
    assert np.array_equal(spline.fitted_values_, np.asarray(file["y"], float))
    assert spline.degrees_of_freedom_ == len(file["x"])
    assert spline.roughness_ > 0


def test_kroeses_curves_have_all_their_numbers() -> None:
    file = reference("kroese_ex6_15_spline")
    for fit in file["curves"]:
        r = fit["r"]
        spline = mc.SmoothingSpline((1.0 - r) / r).fit(X, Y)
        np.testing.assert_allclose(spline.predict(file["x_eval"]), fit["g"], atol=1e-13)
        # The kernel and its slope vanish at 0, which leaves the null space there.
        np.testing.assert_allclose(spline.predict([0.0]), fit["eta"][0], rtol=1e-11)
        np.testing.assert_allclose(spline.predict([0.0], 1), fit["eta"][1], rtol=1e-11)
        peer = make_smoothing_spline(X, Y, lam=(1.0 - r) / r)
        np.testing.assert_allclose(spline.fitted_values_, peer(X), atol=1e-13)
    printed = {
        0.8: (0.224848, 0.691888),
        0.99: (0.275688, 0.344195),
        0.999: (0.369416, -0.528063),
        0.999999: (0.493949, -1.881928),
    }
    for r, eta in printed.items():
        spline = mc.SmoothingSpline((1.0 - r) / r).fit(X, Y)
        found = [spline.predict([0.0])[0], spline.predict([0.0], 1)[0]]
        np.testing.assert_allclose(found, eta, atol=6e-7)


def test_both_ends_of_kroeses_r_are_exact() -> None:
    """r = 0 divides by zero in the text's code; here it is the least squares line."""
    line = mc.SmoothingSpline(np.inf).fit(X, Y)
    found = [line.predict([0.0])[0], line.predict([0.0], 1)[0]]
    np.testing.assert_allclose(found, [0.220496, 0.719008], atol=5e-7)
    np.testing.assert_allclose(line.fitted_values_, np.polyval(np.polyfit(X, Y, 1), X), atol=1e-15)
    assert line.degrees_of_freedom_ == pytest.approx(2.0, abs=1e-15)
    assert line.roughness_ == 0.0
    through = mc.SmoothingSpline(0.0).fit(X, Y)
    np.testing.assert_allclose(through.predict([0.35, 0.9]), [0.348533, 0.851876], atol=5e-7)


@pytest.mark.parametrize("omega", [1.0, 5.0])
def test_the_roughness_of_a_sine(omega: float) -> None:
    """Kroese et al., Example 6.14; a natural spline through a curve is never rougher than it."""
    formula = omega**4 / 2.0 * (1.0 - np.sin(2.0 * omega) / (2.0 * omega))
    assert formula == pytest.approx({1.0: 0.272676, 5.0: 329.5007}[omega], rel=2e-6)
    integral = quad(lambda t: (omega**2 * np.sin(omega * t)) ** 2, 0.0, 1.0)[0]
    assert integral == pytest.approx(formula, rel=1e-12)
    x = np.linspace(0.0, 1.0, 2000)
    roughness = mc.SmoothingSpline(0.0).fit(x, np.sin(omega * x)).roughness_
    assert 0.99 * formula < roughness <= formula


@pytest.mark.parametrize("kind", ["even", "random", "near ties"])
@pytest.mark.parametrize("penalty", [1e-14, 1e-6, 1.0, 1e8])
@pytest.mark.usefixtures("way")
def test_fits_and_leverages_keep_all_their_digits(kind: str, penalty: float) -> None:
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(size=24)) if kind != "even" else np.linspace(0.0, 1.0, 24)
    if kind == "near ties":
        x[1], x[6], x[7] = x[0] + 1e-15, x[5] + 1e-13, x[5] + 3e-13
        assert np.all(np.diff(x) > 0)
    y, w = np.sin(6.0 * x) + 0.1 * rng.standard_normal(24), rng.uniform(0.5, 2.0, 24)
    fitted, leverages = exact(x, y, w, penalty)
    spline = mc.SmoothingSpline(penalty).fit(x, y, sample_weight=w)
    np.testing.assert_allclose(spline.fitted_values_, fitted, rtol=0, atol=1e-14)
    np.testing.assert_allclose(spline.leverages_, leverages, rtol=1e-13)
    assert spline.degrees_of_freedom_ == pytest.approx(leverages.sum(), rel=1e-14)


def test_the_banded_normal_equations_lose_what_the_filter_keeps() -> None:
    """The negative control: Reinsch's form on the near ties of the test above."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(size=24))
    x[1], x[6], x[7] = x[0] + 1e-9, x[5] + 1e-9, x[5] + 3e-9
    y, penalty = np.sin(6.0 * x), 1e-6
    h = np.diff(x)
    Q = np.zeros((24, 22))
    for j in range(22):
        Q[j : j + 3, j] = 1.0 / h[j], -1.0 / h[j] - 1.0 / h[j + 1], 1.0 / h[j + 1]
    R = np.diag((h[:-1] + h[1:]) / 3.0) + np.diag(h[1:-1] / 6.0, 1) + np.diag(h[1:-1] / 6.0, -1)
    A = R + penalty * Q.T @ Q
    bands = np.array([np.append(np.zeros(2 - k), np.diag(A, 2 - k)) for k in range(3)])
    reinsch = y - penalty * Q @ solveh_banded(bands, Q.T @ y)
    truth = exact(x, y, np.ones(24), penalty)[0]
    ours = mc.SmoothingSpline(penalty).fit(x, y).fitted_values_
    assert np.abs(reinsch - truth).max() > 1e-6
    assert np.abs(ours - truth).max() < 1e-14


def in_long_doubles(x: Array, y: Array, penalty: float) -> tuple[Array, Array]:
    """The same recursion in extended precision."""

    def swept(h: Array, values: Array) -> list[Any]:
        at: Any = (np.longdouble(0),) * 6
        found = []
        for i, value in enumerate(values):
            if i:
                at, _ = carry(at, h[i - 1], 1 / np.longdouble(penalty))
            found.append(at)
            at = observe(at, np.longdouble(1), value)
        return found

    x, y = x.astype(np.longdouble), y.astype(np.longdouble)
    lefts, rights = swept(np.diff(x), y), swept(np.diff(x)[::-1], y[::-1])[::-1]
    residuals, leverages = [], []
    for i, (left, right) in enumerate(zip(lefts, rights, strict=True)):
        without = joint_determinant(left, right)
        determinant, residual = left_out(left, right, without, np.longdouble(1), y[i])
        residuals.append(residual)
        leverages.append((left[2] + right[2]) / determinant)
    return np.array(y - np.array(residuals), float), np.array(leverages, float)


@pytest.mark.parametrize("penalty", [1e-9, 1e-3, 1e3])
@pytest.mark.usefixtures("way")
def test_many_random_places_agree_with_extended_precision(penalty: float) -> None:
    x, _, y = noisy(2000, 1)
    order = np.argsort(x)
    fitted, leverages = in_long_doubles(x[order], y[order], penalty)
    spline = mc.SmoothingSpline(penalty).fit(x, y)
    np.testing.assert_allclose(spline.fitted_values_[order], fitted, atol=1e-12)
    np.testing.assert_allclose(spline.leverages_[order], leverages, rtol=1e-11)


def scattered(n: int, kind: str) -> Places:
    rng = np.random.default_rng(n)
    x = rng.uniform(size=n)
    if kind == "clusters":
        x = np.arange(n) % 3 + 1e-7 * x
    if kind == "far apart":
        x = 10.0 ** (-20.0 * x)
    return pool_places(x, rng.standard_normal(n), rng.uniform(0.5, 2.0, n))


@pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")
@pytest.mark.parametrize("n", [2, 3, 17, 500, 3001])
@pytest.mark.parametrize("kind", ["random", "clusters", "far apart"])
def test_the_loop_gives_what_the_compiled_loop_gives(
    n: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = scattered(n, kind)
    penalties = (1e-90, 1e-12, 1e-4, 1.0, 1e6, np.inf)
    compiled = [Curve(places, penalty) for penalty in penalties]
    expected = [(of.leverages, of.remainders, of.residuals, of.restricted) for of in compiled]
    sides = [(*of.left, *of.right) for of in compiled]
    monkeypatch.setattr(spline_filter, "is_compiled", lambda: False)
    plain = [Curve(places, penalty) for penalty in penalties]
    for of, known, (leverages, remainders, residuals, restricted) in zip(
        plain, sides, expected, strict=True
    ):
        for found, number in zip((*of.left, *of.right), known, strict=True):
            np.testing.assert_allclose(found, number, rtol=1e-9, atol=1e-11 * np.abs(number).max())
        np.testing.assert_allclose(of.leverages, leverages, rtol=1e-10)
        np.testing.assert_allclose(of.remainders, remainders, rtol=1e-9)
        np.testing.assert_allclose(of.residuals, residuals, rtol=1e-9, atol=1e-11)
        if n > 2:
            assert of.restricted == pytest.approx(restricted, rel=1e-11, abs=1e-9)


@pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")
@pytest.mark.parametrize("n", [3, 17, 60])
@pytest.mark.parametrize("size", [1e-139, 1.0, 1e139])
@pytest.mark.parametrize("lightest", [1.0, 1e-35], ids=["even weights", "light ones"])
def test_places_that_crowd_about_the_first_keep_their_digits(
    n: int, size: float, lightest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gaps from 1e-150 to 1, with penalties that tell some of them from none."""
    rng = np.random.default_rng(n)
    x = np.append(0.0, 10.0 ** np.linspace(-150.0, 0.0, n - 1))
    y, weights = size * rng.standard_normal(n), lightest ** rng.uniform(size=n)
    places, penalties = pool_places(x, y, weights), (1e-99, 1e-80, 1e-30, 1.0, np.inf)
    compiled = [Curve(places, penalty) for penalty in penalties]
    expected = [(of.leverages, of.residuals / size) for of in compiled]
    monkeypatch.setattr(spline_filter, "is_compiled", lambda: False)
    plain = [Curve(places, penalty) for penalty in penalties]
    for of, (leverages, residuals) in zip(plain, expected, strict=True):
        np.testing.assert_allclose(of.leverages, leverages, rtol=1e-9)
        if lightest == 1.0:  # where an error of the line through some places is not multiplied
            np.testing.assert_allclose(of.residuals / size, residuals, atol=1e-9)


@pytest.mark.usefixtures("way")
def test_the_line_through_very_many_places_has_the_leverages_of_a_line() -> None:
    """So many that the product of ratios, which grows, must be replaced by its logarithm."""
    x = np.linspace(-1.0, 1.0, 250_000)
    line = mc.SmoothingSpline(np.inf).fit(x, np.sin(9.0 * x))
    np.testing.assert_allclose(line.leverages_, 1.0 / x.size + x**2 / (x @ x), rtol=1e-10)


@pytest.mark.usefixtures("way")
def test_two_places_however_near_are_nearly_one() -> None:
    rng = np.random.default_rng(0)
    y = rng.standard_normal(40)
    pooled_pair = mc.SmoothingSpline(1e-3).fit(np.append(0.0, np.linspace(0.0, 1.0, 39)), y)
    for gap in (1e-14, 1e-30, 1e-60, 1e-200, 5e-324):
        x = np.append(0.0, np.linspace(0.0, 1.0, 39))
        x[1] = gap
        spline = mc.SmoothingSpline(1e-3).fit(x, y)
        np.testing.assert_allclose(spline.fitted_values_, pooled_pair.fitted_values_, atol=1e-12)
        assert spline.degrees_of_freedom_ == pytest.approx(
            pooled_pair.degrees_of_freedom_, rel=1e-12
        )


@pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")
@pytest.mark.parametrize("criterion", ["gcv", "loo", "reml"])
@pytest.mark.parametrize("n", [12, 300])
def test_both_ways_choose_the_same_penalty(
    criterion: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, _, y = noisy(n, 5)
    spline = mc.SmoothingSpline(criterion=criterion).fit(x, y)
    monkeypatch.setattr(spline_filter, "is_compiled", lambda: False)
    plain = mc.SmoothingSpline(criterion=criterion).fit(x, y)
    assert plain.penalty_ == pytest.approx(spline.penalty_, rel=1e-6)
    assert plain.criterion_ == pytest.approx(spline.criterion_, rel=1e-9)
    at = np.linspace(-0.2, 1.2, 50)
    for order in range(4):
        expected = spline.predict(at, order)
        np.testing.assert_allclose(plain.predict(at, order), expected, rtol=1e-5, atol=1e-6)
    band = spline.confidence_band(at)
    np.testing.assert_allclose(plain.confidence_band(at), band, rtol=1e-5, atol=1e-6)


def test_the_lowest_of_several_minima_is_chosen() -> None:
    """One that is narrower than a power of ten, beside a wide one that is not as low."""

    def score(penalty: float) -> float:
        t = np.log10(penalty) if penalty < np.inf else 50.0
        return float(2.0 - np.exp(-((t + 3.2) ** 2)) - 0.8 * np.exp(-((t - 2.0) ** 2) / 8.0))

    penalty, least = choose_penalty(score, -8.0, 8.0)
    assert np.log10(penalty) == pytest.approx(-3.2, abs=0.02)
    at = np.log10(penalty) + np.linspace(-0.1, 0.1, 201)
    assert least <= min(score(10.0**t) for t in at) * (1.0 + 1e-8)


def test_a_minimum_is_found_where_polynomials_do_not_follow() -> None:
    trials = []

    def score(penalty: float) -> float:
        trials.append(penalty)
        t = np.log10(penalty) if penalty < np.inf else 50.0
        return (np.inf if t < -6.0 else np.nan) if t < -4.0 else float(np.sqrt(abs(t - 0.3)))

    penalty, _ = choose_penalty(score, -8.0, 8.0)
    assert np.log10(penalty) == pytest.approx(0.3, abs=1e-3)
    assert len(trials) < 70


@pytest.mark.parametrize("criterion", ["gcv", "loo", "reml"])
def test_the_spline_is_the_solution_in_the_space_of_its_kernel(criterion: str) -> None:
    x, _, y = noisy(40, 2)
    x[3] = x[4]
    w = np.random.default_rng(5).uniform(0.5, 2.0, 40)
    kernel = mc.kernels.CubicSpline()
    spline = mc.SmoothingSpline(criterion=criterion).fit(x, y, sample_weight=w)
    model = mc.KernelRegression(
        kernel, spline.penalty_ / w.sum(), null_space=kernel.null_space
    ).fit(x[:, None], y, sample_weight=w)
    new = np.linspace(0.0, 1.5, 31)
    np.testing.assert_allclose(spline.predict(new), model.predict(new[:, None]), atol=1e-10)
    assert spline.degrees_of_freedom_ == pytest.approx(model.degrees_of_freedom_, abs=1e-9)
    assert spline.roughness_ == pytest.approx(model.function_.norm**2, rel=1e-9)
    assert spline.noise_variance_ == pytest.approx(model.noise_variance_ * w.mean(), rel=1e-9)
    _, ours = spline.predict(new, return_std=True)
    np.testing.assert_allclose(ours, model.predict(new[:, None], return_std=True)[1], rtol=1e-6)
    free = mc.KernelRegression(kernel, null_space=kernel.null_space, criterion=criterion)
    free.fit(x[:, None], y, sample_weight=w)
    assert free.penalty_ * w.sum() == pytest.approx(spline.penalty_, rel=1e-2)
    if criterion != "reml":  # which is known up to a constant
        assert free.criterion_ == pytest.approx(spline.criterion_, rel=1e-6)


def test_leaving_one_out_is_fitting_without_it() -> None:
    x, _, y = noisy(20, 4)
    x[5] = x[6] = x[7]
    w = np.random.default_rng(6).uniform(0.5, 2.0, 20)
    spline = mc.SmoothingSpline(criterion="loo").fit(x, y, sample_weight=w)
    errors = []
    for i in range(20):
        others = np.arange(20) != i
        fit = mc.SmoothingSpline(spline.penalty_).fit(x[others], y[others], w[others])
        errors.append(y[i] - fit.predict(x[[i]])[0])
    np.testing.assert_allclose(
        (y - spline.fitted_values_) / (1.0 - spline.leverages_), errors, rtol=1e-9
    )
    assert spline.criterion_ == pytest.approx(np.mean(w / w.mean() * np.square(errors)), rel=1e-9)


def test_restricted_likelihood_is_that_of_a_gaussian_vector() -> None:
    x, _, y = noisy(15, 7)
    places = pool_places(x, y, np.ones(15))
    K, Q = mc.kernels.CubicSpline()(places.at), mc.kernels.CubicSpline().null_space(places.at)

    def dense(penalty: float) -> float:
        V = K + penalty * np.eye(15)
        inverse = np.linalg.inv(V)
        middle = Q.T @ inverse @ Q
        P = inverse - inverse @ Q @ np.linalg.solve(middle, Q.T @ inverse)
        logs = np.linalg.slogdet(V)[1] + np.linalg.slogdet(middle)[1]
        return float(logs + 13 * np.log(places.values @ P @ places.values))

    differences = [curve(places, g).restricted - dense(g) for g in (1e-5, 1e-3, 0.1)]
    np.testing.assert_allclose(differences, differences[0], atol=1e-9)


@pytest.mark.usefixtures("way")
def test_weighted_restricted_likelihood_agrees_with_fifty_digits() -> None:
    rng = np.random.default_rng(2)
    x, _, y = noisy(12, 7)
    places = pool_places(x, y, rng.gamma(0.5, size=12) + 1e-3)
    n = places.at.size

    def precise(penalty: float) -> float:
        with mpmath.workdps(50):
            at = [mpmath.mpf(float(v)) for v in places.at]
            V, Q = mpmath.zeros(n), mpmath.zeros(n, 2)
            for i in range(n):
                Q[i, 0], Q[i, 1] = 1, at[i]
                for j in range(n):
                    a, b = min(at[i], at[j]), max(at[i], at[j])
                    V[i, j] = a * a * (b / 2 - a / 6)
                V[i, i] += mpmath.mpf(penalty) / mpmath.mpf(float(places.weights[i]))
            inverse, values = mpmath.inverse(V), mpmath.matrix(places.values.tolist())
            middle, cross = Q.T * inverse * Q, Q.T * inverse * values
            square = (values.T * inverse * values - cross.T * mpmath.inverse(middle) * cross)[0]
            logs = mpmath.log(mpmath.det(V)) + mpmath.log(mpmath.det(middle))
            return float(logs + (n - 2) * mpmath.log(square))

    powers = 10.0 ** np.arange(-9.0, 3.0, 2.0)
    differences = [curve(places, p).restricted - precise(p) for p in powers]
    np.testing.assert_allclose(differences, differences[0], atol=1e-10)


def test_restricted_likelihood_takes_any_number_of_weighted_observations(way: str) -> None:
    n = 100_000 if way == "compiled" else 10_000
    x, truth, y = noisy(n, 3)
    w = np.random.default_rng(4).gamma(0.5, size=n) + 1e-3
    spline = mc.SmoothingSpline(criterion="reml").fit(x, y, w)
    assert 10 < spline.degrees_of_freedom_ < 100
    error = np.sqrt(np.mean((spline.predict(x[::100]) - truth[::100]) ** 2))
    assert error < 0.02 * (100_000 / n) ** 0.4  # the rate of cubic splines


def wild_weights(seed: int, n: int = 60) -> tuple[Array, Array, Array]:
    """Observations of equal noise with weights that differ by powers of ten."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=n))
    w = rng.gamma(0.5, size=n) + 1e-3
    return x, np.sin(6.0 * x) + 0.3 * rng.standard_normal(n), w


def test_cross_validation_that_nearly_interpolates_says_so() -> None:
    told, found = 0, []
    for seed in range(20):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            spline = mc.SmoothingSpline().fit(*wild_weights(seed))
        other = mc.SmoothingSpline(criterion="reml").fit(*wild_weights(seed))
        rough = spline.degrees_of_freedom_ > max(30.0, 2.0 * other.degrees_of_freedom_)
        assert [w.category for w in caught] == [mc.errors.NearlyInterpolating] * rough
        assert all("for 60 different x" in str(w.message) for w in caught)
        found.append(other.degrees_of_freedom_)
        told += rough
    assert told > 5  # of 20: weights that are no inverse variances mislead cross-validation often
    assert np.median(found) < 15


def test_a_curve_without_noise_may_go_through_its_points_unremarked() -> None:
    x = np.linspace(0.0, 1.0, 40)
    spline = mc.SmoothingSpline().fit(x, np.sin(30.0 * x))
    assert spline.degrees_of_freedom_ > 30


@given(st.integers(3, 60), st.floats(0.001, 0.999), st.integers(0, 10**6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_degrees_of_freedom_are_those_asked_for(
    n: int, share: float, seed: int, is_weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(size=n), rng.standard_normal(n)
    w = rng.gamma(0.5, size=n) + 1e-3 if is_weighted else None
    df = 2.0 + share * (n - 2)
    spline = mc.SmoothingSpline(df=df).fit(x, y, w)
    assert spline.degrees_of_freedom_ == pytest.approx(df, abs=1e-6)
    again = mc.SmoothingSpline(spline.penalty_).fit(x, y, w)
    assert again.degrees_of_freedom_ == pytest.approx(df, abs=1e-6)
    np.testing.assert_allclose(again.fitted_values_, spline.fitted_values_, atol=1e-6)


@pytest.mark.usefixtures("way")
def test_penalties_fall_as_degrees_of_freedom_rise_to_both_ends() -> None:
    x, _, y = noisy(40, 9)
    asked = [2.0, 2.001, 3.0, 8.0, 20.0, 39.0, 39.999, 40.0]
    found = [mc.SmoothingSpline(df=df).fit(x, y) for df in asked]
    penalties = [spline.penalty_ for spline in found]
    assert (penalties[0], penalties[-1]) == (np.inf, 0.0)
    assert np.all(np.diff(penalties) < 0)
    for df, spline in zip(asked, found, strict=True):
        assert spline.degrees_of_freedom_ == pytest.approx(df, abs=1e-6)
        assert spline.criterion_ is None


def test_a_hundred_thousand_observations_have_the_degrees_of_freedom_asked_for() -> None:
    x, _, y = noisy(100_000, 3)
    assert mc.SmoothingSpline(df=12.0).fit(x, y).degrees_of_freedom_ == pytest.approx(12, abs=1e-6)


@given(
    st.lists(st.integers(-40, 40), min_size=3, max_size=12),
    st.floats(-12.0, 8.0),
    st.integers(0, 10**6),
)
@settings(max_examples=40, deadline=None)
def test_no_other_curve_has_a_lower_objective(places: list[int], power: float, seed: int) -> None:
    """Among natural splines through perturbed values, which hold the minimiser."""
    x = np.array(places, float) / 8.0
    if len(np.unique(x)) < 2:
        return
    rng = np.random.default_rng(seed)
    y, w, penalty = rng.standard_normal(len(x)), rng.uniform(0.5, 2.0, len(x)), 10.0**power

    def objective(knots: Array, values: Array) -> float:
        through = mc.SmoothingSpline(0.0).fit(knots, values)
        return float(w @ (y - through.predict(x)) ** 2 + penalty * through.roughness_)

    spline = mc.SmoothingSpline(penalty).fit(x, y, sample_weight=w)
    knots = np.unique(x)
    values = spline.predict(knots)
    least = objective(knots, values)
    for size in (1e-3, 0.1):
        moved = values + size * rng.standard_normal(len(knots))
        assert objective(knots, moved) >= least * (1.0 - 1e-9) - 1e-12


@given(st.floats(-5.0, 3.0), st.floats(0.1, 20.0), st.floats(-100.0, 100.0), st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_units_lines_and_order_do_not_matter(
    power: float, unit: float, shift: float, seed: int
) -> None:
    x, _, y = noisy(30, seed)
    penalty = 10.0**power
    spline = mc.SmoothingSpline(penalty).fit(x, y)
    order = np.random.default_rng(seed).permutation(30)
    moved = mc.SmoothingSpline(penalty * unit**3).fit((unit * x + shift)[order], y[order])
    np.testing.assert_allclose(moved.fitted_values_, spline.fitted_values_[order], atol=1e-8)
    assert moved.degrees_of_freedom_ == pytest.approx(spline.degrees_of_freedom_, rel=1e-8)
    sloped = mc.SmoothingSpline(penalty).fit(x, 3.0 * y + 5.0 * x - shift)
    expected = 3.0 * spline.fitted_values_ + 5.0 * x - shift
    np.testing.assert_allclose(sloped.fitted_values_, expected, atol=1e-11)


def test_weights_are_repetitions_and_zero_is_absence() -> None:
    x, _, y = noisy(40, 8)
    w = np.random.default_rng(0).integers(0, 3, 40)
    weighted = mc.SmoothingSpline(1e-3).fit(x, y, sample_weight=w)
    repeated = mc.SmoothingSpline(1e-3).fit(np.repeat(x, w), np.repeat(y, w))
    new = np.linspace(-0.5, 1.5, 21)
    np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), atol=1e-13)
    assert weighted.degrees_of_freedom_ == pytest.approx(repeated.degrees_of_freedom_, rel=1e-13)
    assert np.all(weighted.leverages_[w == 0] == 0)
    np.testing.assert_allclose(weighted.fitted_values_, weighted.predict(x), atol=1e-13)


def test_degrees_of_freedom_fall_from_all_places_to_two() -> None:
    x, _, y = noisy(60, 9)
    found = [mc.SmoothingSpline(p).fit(x, y).degrees_of_freedom_ for p in np.logspace(-14, 6, 21)]
    assert np.all(np.diff(found) < 0)
    assert found[0] > 58
    assert 2.0 < found[-1] < 2.001


def test_derivatives_are_those_of_the_curve() -> None:
    x, _, y = noisy(50, 10)
    spline = mc.SmoothingSpline(1e-4).fit(x, y)
    at, h = np.linspace(-0.3, 1.3, 40), 1e-6
    for order in (0, 1):
        ahead, behind = (spline.predict(at + t, order) for t in (h, -h))
        slopes = spline.predict(at, order + 1)
        np.testing.assert_allclose((ahead - behind) / (2 * h), slopes, atol=1e-3, rtol=1e-4)
    inside = np.array([0.4, 0.400001])
    second = spline.predict(inside, 2)
    assert (second[1] - second[0]) / 1e-6 == pytest.approx(spline.predict([0.4], 3)[0], rel=1e-3)
    assert np.all(spline.predict([-1.0, 2.0], 2) == 0)
    assert np.all(spline.predict([-1.0, 0.5, 2.0], 4) == 0)
    grid = np.linspace(x.min(), x.max(), 200_001)
    integral = np.mean(spline.predict(grid, 2) ** 2) * (x.max() - x.min())
    assert spline.roughness_ == pytest.approx(integral, rel=1e-4)


@pytest.mark.parametrize("n", [1000, 20_000])
@pytest.mark.parametrize("is_even", [True, False], ids=["even", "random"])
def test_cross_validation_is_nearly_as_good_as_knowing_the_truth(n: int, is_even: bool) -> None:
    ratios = []
    for seed in range(5):
        x, truth, y = noisy(n, seed, is_even=is_even)
        spline = mc.SmoothingSpline().fit(x, y)
        errors = [
            np.linalg.norm(mc.SmoothingSpline(spline.penalty_ * f).fit(x, y).fitted_values_ - truth)
            for f in np.logspace(-1.5, 1.5, 13)
        ]
        ratios.append(np.linalg.norm(spline.fitted_values_ - truth) / min(errors))
    assert np.median(ratios) <= 1.05


def test_observations_on_a_line_are_fitted_by_it() -> None:
    x = np.random.default_rng(0).uniform(size=30)
    spline = mc.SmoothingSpline().fit(x, 1e6 + 2.0 * x)
    assert spline.penalty_ == np.inf
    np.testing.assert_allclose(spline.predict([5.0]), 1e6 + 10.0, rtol=1e-12)
    assert mc.SmoothingSpline().fit([0.0, 1.0], [1.0, 5.0]).predict([2.0]) == pytest.approx(9.0)


def test_bands_cover_the_curve_on_average() -> None:
    covered = []
    for seed in range(20):
        x, truth, y = noisy(150, seed)
        lower, upper = mc.SmoothingSpline().fit(x, y).confidence_band(x)
        covered.append(np.mean((lower <= truth) & (truth <= upper)))
    assert 0.90 <= np.mean(covered) <= 0.99


def test_the_standard_deviation_of_the_slope_is_that_of_differences() -> None:
    """Far outside, the curve is a line, and its deviation grows like that of its slope."""
    x, _, y = noisy(50, 11)
    spline = mc.SmoothingSpline(np.inf).fit(x, y)
    far = np.array([1e6, 2e6])
    deviation = spline.predict(far, return_std=True)[1]
    slope = spline.predict([0.5], 1, return_std=True)[1]
    np.testing.assert_allclose(deviation[1] - deviation[0], 1e6 * slope, rtol=1e-6)


def test_places_that_round_to_one_are_pooled() -> None:
    x, y = np.array([-1e16, 0.1, 0.2, 1e16]), np.array([0.0, 1.0, 3.0, 0.0])
    spline = mc.SmoothingSpline(0.0).fit(x, y)
    np.testing.assert_allclose(spline.predict([0.0]), 2.0, rtol=1e-12)
    assert spline.degrees_of_freedom_ == 3.0


def test_what_has_no_spline_is_refused() -> None:
    x, _, y = noisy(20)
    with pytest.raises(mc.errors.InvalidInput, match="two different places"):
        mc.SmoothingSpline().fit([1.0, 1.0, 1.0], [1.0, 2.0, 3.0])
    with pytest.raises(mc.errors.InvalidInput, match="KernelRegression"):
        mc.SmoothingSpline().fit(np.ones((5, 2)), np.ones(5))
    with pytest.raises(mc.errors.InvalidInput, match="range"):
        mc.SmoothingSpline().fit([-1e308, 0.0, 1e308], [1.0, 2.0, 3.0])
    with pytest.raises(mc.errors.InvalidInput, match="power of ten"):
        mc.SmoothingSpline().fit(x, 1e-200 * y)
    with pytest.raises(ValueError, match="NaN"):
        mc.SmoothingSpline().fit([0.0, np.nan, 1.0], [1.0, 2.0, 3.0])
    with pytest.raises(mc.errors.InvalidInput, match="row 2"):
        mc.SmoothingSpline().fit([0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [1.0, 1.0, -1.0])
    for weight in (1e306, 1e-301):
        with pytest.raises(
            mc.errors.InvalidInput, match=f"mean weight .* {1.0:g} of x leaves the range"
        ):
            mc.SmoothingSpline().fit(np.linspace(0.0, 1.0, 200), np.ones(200), np.full(200, weight))
    with pytest.raises(
        mc.errors.InvalidInput, match="weight 1e-41 at row 1 is below 1e-40 .* give 0"
    ):
        mc.SmoothingSpline().fit([0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [0.0, 1e-41, 1.0])
    with pytest.raises(mc.errors.InvalidInput, match="not all zero"):
        mc.SmoothingSpline().fit([0.0, 1.0, 2.0], [1.0, 2.0, 3.0], np.zeros(3))
    for penalty in (-1.0, np.nan, "much"):
        with pytest.raises(mc.errors.InvalidParameter, match="penalty"):
            mc.SmoothingSpline(penalty).fit(x, y)  # type: ignore[arg-type]
    with pytest.raises(mc.errors.InvalidParameter, match="gcv, loo, reml"):
        mc.SmoothingSpline(criterion="aic").fit(x, y)
    for df in (1.9, 20.5, np.nan, "many"):
        with pytest.raises(mc.errors.InvalidParameter, match="df"):
            mc.SmoothingSpline(df=df).fit(x, y)  # type: ignore[arg-type]
    with pytest.raises(mc.errors.InvalidParameter, match="penalty or df, not both"):
        mc.SmoothingSpline(1.0, df=4.0).fit(x, y)
    with pytest.raises(mc.errors.InvalidParameter, match="number of different x, 3"):
        mc.SmoothingSpline(df=4.0).fit([0.0, 0.0, 1.0, 2.0], np.ones(4))
    spline = mc.SmoothingSpline(0.0).fit(x, y)
    with pytest.raises(mc.errors.InvalidParameter, match="penalty 0"):
        spline.predict(x, return_std=True)
    with pytest.raises(mc.errors.InvalidParameter, match="derivative"):
        spline.predict(x, -1)
    with pytest.raises(mc.errors.InvalidParameter, match="white noise"):
        mc.SmoothingSpline(1.0).fit(x, y).predict(x, 2, return_std=True)
    with pytest.raises(mc.errors.InvalidParameter, match="did you mean confidence=0.95"):
        mc.SmoothingSpline(1.0).fit(x, y).confidence_band(x, confidence=95)


@pytest.mark.parametrize("n", [30, 1000])
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.3, 10.0])
def test_no_penalty_of_a_fine_grid_is_better_than_the_chosen_one(n: int, noise: float) -> None:
    rng = np.random.default_rng(n)
    x = rng.uniform(size=n)
    y = np.sin(12.0 * x) + noise * rng.standard_normal(n)
    spline = mc.SmoothingSpline().fit(x, y)
    path = penalty_path(spline, count=120)
    assert spline.criterion_ is not None
    assert spline.criterion_ <= path.scores.min() * (1.0 + 1e-9)


@pytest.mark.parametrize("penalty", [None, 0.0, 1e-3, np.inf])
def test_a_stored_spline_says_what_it_said(penalty: float | None, tmp_path: Path) -> None:
    x, _, y = noisy(60, 3)
    spline = mc.SmoothingSpline(penalty).fit(x, y)
    spline.save(tmp_path / "curve.mercer")
    loaded = mc.load(tmp_path / "curve.mercer")
    at = np.linspace(-0.5, 2.0, 40)
    for order in range(4):
        np.testing.assert_array_equal(loaded.predict(at, order), spline.predict(at, order))
    assert loaded.degrees_of_freedom_ == spline.degrees_of_freedom_
    if penalty != 0.0:
        np.testing.assert_array_equal(loaded.confidence_band(at), spline.confidence_band(at))


def test_the_data_of_the_caller_are_left_alone() -> None:
    x, _, y = noisy(30)
    before = x.copy(), y.copy()
    spline = mc.SmoothingSpline().fit(x, y)
    spline.predict(x, return_std=True)
    assert np.array_equal(x, before[0])
    assert np.array_equal(y, before[1])
    again = pickle.loads(pickle.dumps(spline))
    assert np.array_equal(again.predict(x), spline.predict(x))


def test_splines_go_through_data_frames_pipelines_and_grids() -> None:
    x, _, y = noisy(120, 12)
    frame = pd.DataFrame({"time": x})
    spline = mc.SmoothingSpline().fit(frame, y)
    assert spline.feature_names_in_.tolist() == ["time"]
    assert np.array_equal(spline.predict(frame), mc.SmoothingSpline().fit(x, y).predict(x))
    scaled = make_pipeline(StandardScaler(), mc.SmoothingSpline()).fit(frame, y)
    np.testing.assert_allclose(scaled.predict(frame), spline.fitted_values_, atol=1e-6)
    grid = {"penalty": [1e-12, spline.penalty_, 1e6], "criterion": ["gcv", "reml"]}
    found = GridSearchCV(mc.SmoothingSpline(), grid, cv=3).fit(frame, y)
    assert found.best_params_ == {"penalty": spline.penalty_, "criterion": "gcv"}


class FirstColumn(mc.SmoothingSpline):
    """A spline of the first column of any table, to which scikit-learn's checks apply."""

    def fit(self, x: Any, y: Any, sample_weight: Any = None) -> FirstColumn:
        rows, values = validate_data(self, x, y, y_numeric=True, dtype=np.float64)
        self.spline_ = mc.SmoothingSpline(self.penalty).fit(rows[:, 0], values, sample_weight)
        return self

    def predict(self, x: Any, derivative: int = 0, *, return_std: bool = False) -> Any:
        check_is_fitted(self)
        rows = validate_data(self, x, reset=False, dtype=np.float64)
        return self.spline_.predict(rows[:, 0], derivative, return_std=return_std)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
        tags.regressor_tags.poor_score = True  # one column of ten explains little
        return tags


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [FirstColumn(1.0)]
)
def test_the_protocol_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


def test_a_curve_refuses_by_row_what_is_no_number() -> None:
    with pytest.raises(InvalidInput, match="x, row 2, column 0 holds NaN"):
        mc.SmoothingSpline().fit([0.0, 1.0, np.nan], [1.0, 2.0, 3.0])
    with pytest.raises(InvalidInput, match="two observations or more, found n_samples = 1"):
        mc.SmoothingSpline().fit([0.0], [1.0])
    with pytest.raises(InvalidInput, match="a KernelRegression, found PCA"):
        penalty_path(mc.PCA().fit(np.eye(3)))
    with pytest.raises(InvalidInput, match="whatever its penalty"):
        penalty_path(mc.SmoothingSpline().fit([0.0, 1.0], [1.0, 2.0]))


def test_sparse_columns_are_refused_by_name() -> None:
    """It was a TypeError about an ambiguous length."""
    with pytest.raises(mc.errors.InvalidInput, match="x is a sparse matrix"):
        mc.SmoothingSpline().fit(sparse.csr_array(np.eye(4)), [1.0, 2.0, 3.0, 4.0])
