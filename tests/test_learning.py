"""What regression, Gaussian processes and margins have in common: laws, and data of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as mc
from mercer.check import Array
from mercer.targets import null_columns
from tests.strategies import distinct_points, kernels, smooth_kernels

SEEDS = st.integers(0, 10**6)
NULL_SPACES = st.sampled_from([None, "constant"])


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def size_of(kernel: mc.Kernel, points: Array) -> float:
    return float(np.max(np.abs(kernel(points)))) or 1.0


@settings(max_examples=25, deadline=None)
@given(smooth_kernels(), distinct_points(3, 7), NULL_SPACES, SEEDS, st.floats(-3.0, 1.0))
def test_the_mean_of_a_process_is_kernel_regression(
    kernel: mc.Kernel, points: Array, free: Any, seed: int, power: float
) -> None:
    """σ² = nγ: Kroese (6.33) is (6.23) with an unpenalised null space."""
    y, new = normal(seed, len(points)), normal(seed + 1, 4, 2)
    noise = 10.0**power * size_of(kernel, points)
    process = mc.GaussianProcess(
        kernel, noise_variance=noise, mean=free, optimise=False, random_state=0
    )
    ridge = mc.KernelRegression(kernel, noise / len(points), free).fit(points, y)
    scale = 1.0 + float(np.max(np.abs(kernel(new, points)))) * float(
        np.sum(np.abs(ridge.dual_coef_))
    )
    means = process.fit(points, y).predict(new)
    np.testing.assert_allclose(means, ridge.predict(new), atol=1e-9 * scale)


@settings(max_examples=25, deadline=None)
@given(smooth_kernels(), distinct_points(3, 7), NULL_SPACES, SEEDS, st.floats(-4.0, 0.0))
def test_no_function_has_a_lower_objective(
    kernel: mc.Kernel, points: Array, free: Any, seed: int, power: float
) -> None:
    """The representer theorem: perturbations off the span of the sections never help."""
    n = len(points)
    y, other = normal(seed, n), np.vstack([points, normal(seed + 1, 3, 2)])
    penalty = 10.0**power * size_of(kernel, points)
    model = mc.KernelRegression(kernel, penalty, free).fit(points, y)
    K, Q = kernel(other), null_columns(free, points)

    def objective(alpha: Array, eta: Array) -> float:
        errors = y - (K @ alpha)[:n] - Q @ eta
        return float(np.mean(errors**2) + penalty * alpha @ K @ alpha)

    best = np.append(model.dual_coef_, np.zeros(3))
    least = objective(best, model.null_weights_)
    assert least == pytest.approx(model.objective_, rel=1e-8, abs=1e-12)
    rng = np.random.default_rng(seed)
    rounding = 1e-9 * (1.0 + least)
    for step in (1e-4, 1e-2, 1.0):
        moved = best + step * rng.standard_normal(n + 3)
        eta = model.null_weights_ + step * rng.standard_normal(Q.shape[1])
        assert objective(moved, eta) >= least - rounding


@settings(max_examples=20, deadline=None)
@given(distinct_points(3, 8), NULL_SPACES, SEEDS, st.floats(0.1, 3.0))
def test_the_fit_loosens_from_interpolation_to_the_null_space(
    points: Array, free: Any, seed: int, bandwidth: float
) -> None:
    """The sum of squares rises and the norm falls with the penalty, from one end to the other."""
    y, kernel = normal(seed, len(points)), mc.Laplacian(bandwidth)
    fits = [mc.KernelRegression(kernel, p, free).fit(points, y) for p in np.logspace(-13, 13, 9)]
    errors = [float(np.mean((y - fit.predict(points)) ** 2)) for fit in fits]
    norms = [fit.function_.norm for fit in fits]
    assert np.all(np.diff(errors) >= -1e-12)
    assert np.all(np.diff(norms) <= 1e-9 * (1.0 + norms[0]))
    np.testing.assert_allclose(fits[0].predict(points), y, atol=1e-6)
    Q = null_columns(free, points)
    line = Q @ np.linalg.lstsq(Q, y, rcond=None)[0] if Q.shape[1] else np.zeros(len(y))
    np.testing.assert_allclose(fits[-1].predict(points), line, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(kernels(), distinct_points(4, 8), NULL_SPACES, SEEDS)
def test_the_variance_of_a_process_falls_with_every_observation(
    kernel: mc.Kernel, points: Array, free: Any, seed: int
) -> None:
    y, new = normal(seed, len(points)), normal(seed + 1, 5, 2)
    noise = 0.1 * size_of(kernel, points)
    process = mc.GaussianProcess(
        kernel, noise_variance=noise, mean=free, optimise=False, random_state=0
    )
    before = process.fit(points[:-1], y[:-1]).posterior(new)
    after = process.fit(points, y).posterior(new)
    own = np.asarray(kernel.diag(new), float)
    slack = 1e-9 * (1.0 + np.max(np.abs(own)) + np.max(before.latent_variance))
    assert np.all(after.latent_variance <= before.latent_variance + slack)
    np.testing.assert_allclose(
        after.observation_variance, after.latent_variance + noise, rtol=1e-15
    )


RNG = np.random.default_rng(31)
SIZES = RNG.uniform(0.0, 3.0, 60)
TEAMS = RNG.choice(["red", "blue"], 60)
HEIGHTS = np.sin(2.0 * SIZES) + np.where(TEAMS == "red", 1.0, -1.0) + 0.1 * normal(5, 60)
MODELS = [
    mc.KernelRegression(penalty=1e-3),
    mc.GaussianProcess(optimise=False, noise_variance=0.05, random_state=0),
    mc.SVC(C=10.0),
]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def model(request: pytest.FixtureRequest) -> Any:
    return clone(request.param)


def outcome(model: Any) -> Array:
    return np.where(HEIGHTS > 0, "tall", "small") if isinstance(model, mc.SVC) else HEIGHTS


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_of_numbers_are_read_with_their_names(model: Any, frame: Any) -> None:
    table = frame({"size": SIZES, "red": (TEAMS == "red").astype(float)})
    plain = np.column_stack([SIZES, TEAMS == "red"]).astype(float)
    fitted = model.set_params(kernel=mc.Gaussian(0.7)).fit(table, outcome(model))
    assert fitted.feature_names_in_.tolist() == ["size", "red"]
    found = fitted.predict(table)
    expected = model.fit(plain, outcome(model)).predict(plain)
    assert np.array_equal(found, expected) or np.allclose(found, expected, rtol=1e-12)
    with pytest.raises(mc.errors.InvalidInput, match="feature names"):
        model.fit(table, outcome(model)).predict(table[["red", "size"]])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_tables_of_numbers_and_categories_are_read(model: Any, frame: Any) -> None:
    table = frame({"size": SIZES, "team": TEAMS})
    kernel = mc.Columns({"size": mc.Gaussian(0.5), "team": mc.kernels.Category()}, product=True)
    fitted = model.set_params(kernel=kernel).fit(table, outcome(model))
    assert fitted.score(table, outcome(model)) > 0.9
    swapped = table[["team", "size"]]
    assert np.array_equal(fitted.predict(swapped), fitted.predict(table))
    rest = np.arange(60) % 4 > 0
    part, left = frame({"size": SIZES[rest], "team": TEAMS[rest]}), ~rest
    fitted = model.fit(part, outcome(model)[rest])
    new = frame({"size": SIZES[left], "team": TEAMS[left]})
    assert fitted.score(new, outcome(model)[left]) > 0.8


WORDS = ["".join(RNG.choice(list("ab"), 8)) for _ in range(40)]
RINGS = [mc.Graph([(i, (i + 1) % n) for i in range(n)], labels=["c"] * n) for n in range(3, 10)]
PATHS = [mc.Graph([(i, i + 1) for i in range(n)], labels=["c"] * (n + 1)) for n in range(3, 10)]


def test_strings_and_graphs_are_learnt_from(model: Any) -> None:
    counts = np.array([float(word.count("ab")) for word in WORDS])
    y = counts > 1.0 if isinstance(model, mc.SVC) else counts
    model.set_params(kernel=mc.kernels.StringSpectrum(2).normalised())
    assert model.fit(WORDS[:30], y[:30]).score(WORDS[30:], y[30:]) > 0.7
    graphs = RINGS + PATHS
    kinds = np.repeat([1, -1], 7) if isinstance(model, mc.SVC) else np.repeat([1.0, -1.0], 7)
    model.set_params(kernel=mc.kernels.WeisfeilerLehman(2).normalised())
    fitted = model.fit(graphs[::2], kinds[::2])
    assert np.all(np.sign(fitted.predict(graphs[1::2])) == kinds[1::2])


def test_kernels_are_values_of_a_grid_and_their_parameters_are_too(model: Any) -> None:
    x = np.column_stack([SIZES, TEAMS == "red"]).astype(float)
    y = outcome(model)
    wrong, right = mc.kernels.Constant(1.0), mc.Gaussian(0.7)
    grid = {"kernel": [wrong, right]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(x, y)
    assert search.best_params_["kernel"] == right
    piped = make_pipeline(StandardScaler(), model.set_params(kernel=2.0 * mc.Gaussian(1.0)))
    name = type(model).__name__.lower()
    nested = {f"{name}__kernel__kernel__bandwidth": [1e-4, 1.0], f"{name}__kernel__weight": [2.0]}
    found = GridSearchCV(piped, nested, cv=3, error_score="raise").fit(x, y)
    assert found.best_params_[f"{name}__kernel__kernel__bandwidth"] == 1.0
    best = found.best_estimator_[-1]
    assert best.kernel == 2.0 * mc.Gaussian(1.0)
    assert float(np.mean(cross_val_score(piped, x, y, cv=3))) > 0.5
    matrix = right(x)
    scores = cross_val_score(model.set_params(kernel="precomputed"), matrix, y, cv=3)
    direct = cross_val_score(model.set_params(kernel=right), x, y, cv=3)
    np.testing.assert_allclose(scores, direct, rtol=1e-6)


def squared_norm(nu: float, n: int, values: Any) -> float:
    """The squared norm of the interpolant on n places of [-1, 1], none of them 0."""
    x = np.linspace(-1.0, 1.0, n)[:, None]
    model = mc.KernelRegression(mc.Matern(nu, 1.0), penalty=0.0).fit(x, values(x[:, 0]))
    return model.function_.norm**2


def test_the_space_of_a_matern_kernel_is_a_sobolev_space_of_order_nu_and_a_half() -> None:
    """In one dimension: not of order ⌊ν⌋, as a text says. A kink has one weak derivative.

    Norms of interpolants converge for functions of the space, and grow without end for others:
    with s weak derivatives and a jump in the last of them like n^{2(ν + 1/2 - s) - 1}.
    """

    def growth(nu: float, values: Any) -> float:
        """How many times larger what is gained is when the places double once more."""
        return float(np.divide(*np.diff([squared_norm(nu, n, values) for n in (20, 40, 80)])[::-1]))

    kink, jump, bend = np.abs, np.sign, lambda x: x * np.abs(x)
    assert growth(0.5, jump) > 1.7  # ν = 1/2: H¹ holds kinks and no jumps
    assert growth(0.5, kink) < 0.7
    assert growth(1.5, kink) > 1.7  # ν = 3/2: H² holds bends, and no kinks though ⌊3/2⌋ = 1
    assert growth(1.5, bend) < 0.7
    assert growth(1.0, kink) > 0.8  # ν = 1: order 3/2, which a kink misses by a logarithm
    assert growth(1.0, bend) < 0.7


@pytest.mark.parametrize("nu", [0.5, 0.75, 1.0, 1.25, 1.5])
def test_paths_of_a_matern_process_have_fewer_derivatives_than_functions_of_its_space(
    nu: float,
) -> None:
    """⌈ν⌉ - 1 in mean square: difference quotients have a bounded variance for ν > 1 alone."""
    kernel = mc.Matern(nu, 1.0)

    def variance(h: float) -> float:
        k = kernel(np.array([[0.0], [h]]))
        return float(2.0 * (k[0, 0] - k[0, 1])) / h**2

    grows = variance(1e-5) / variance(1e-3)
    assert (grows < 1.5) == (np.ceil(nu) - 1 >= 1)


def regressions() -> list[Any]:
    return [
        mc.KernelRegression(mc.Gaussian(1.0), 1e-2),
        mc.GaussianProcess(mc.Gaussian(1.0), noise_variance=0.1, optimise=False, random_state=0),
        mc.SmoothingSpline(1e-2),
    ]


@pytest.mark.parametrize("model", regressions(), ids=lambda m: type(m).__name__)
def test_words_are_no_targets(model: Any) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="y, row 1: 'high' is not a number.*SVC"):
        model.fit(np.arange(3.0)[:, None], ["0.5", "high", "low"])
    with pytest.raises(mc.errors.InvalidInput, match="y, row 2: None is not a number"):
        model.fit(np.arange(3.0)[:, None], np.array([1.0, 2.0, None]))
    read = model.fit(np.arange(3.0)[:, None], ["0.5", "1.0", "0.25"])
    assert np.all(np.isfinite(read.predict(np.arange(3.0)[:, None])))


@pytest.mark.parametrize("model", regressions(), ids=lambda m: type(m).__name__)
def test_targets_that_are_no_finite_real_numbers_are_named(model: Any) -> None:
    x, y = np.arange(4.0)[:, None], np.array([0.0, 1.0, 0.5, 2.0])
    for value, word in ((np.nan, "NaN"), (-np.inf, "-inf")):
        wrong = np.where(np.arange(4) == 2, value, y)
        with pytest.raises(mc.errors.InvalidInput, match=f"y, row 2 holds {word}. Remove"):
            model.fit(x, wrong)
        with pytest.raises(mc.errors.InvalidInput, match=f"y, row 2 holds {word}. Remove"):
            model.fit(x, pd.Series(wrong))
    with pytest.raises(mc.errors.InvalidInput, match="y holds complex numbers"):
        model.fit(x, y + 1j)
    with pytest.raises(mc.errors.InvalidInput, match="y holds dates or times"):
        model.fit(x, pd.Series(pd.date_range("2020-01-01", periods=4)))
    with pytest.raises(ValueError, match=r"4.*3|3.*4"):
        model.fit(x, y[:3])


def test_several_targets_are_named_with_their_column() -> None:
    both = np.ones((4, 2))
    both[1, 1] = np.nan
    model = mc.KernelRegression(mc.Gaussian(1.0), 1e-2)
    with pytest.raises(mc.errors.InvalidInput, match="y, row 1, column 1 holds NaN"):
        model.fit(np.arange(4.0)[:, None], both)
    with pytest.raises(mc.errors.InvalidInput, match="y has 3 values for 4 points"):
        model.fit(np.arange(4.0)[:, None], both[:3, 0])
    for wrong in (3.0, np.ones((4, 0)), np.ones((4, 2, 1))):
        with pytest.raises(mc.errors.InvalidInput, match="for each point; found shape"):
            model.fit(np.arange(4.0)[:, None], wrong)


@pytest.mark.parametrize(
    "model", [*regressions(), mc.SVC(mc.Gaussian(1.0))], ids=lambda m: type(m).__name__
)
def test_a_fitted_model_does_not_change_with_the_callers_arrays(model: Any) -> None:
    x = np.linspace(0.0, 3.0, 12)[:, None]
    new, y = x.copy(), np.where(x[:, 0] > 1.0, 1.0, -1.0)
    before = model.fit(x, y).predict(new)
    x[:], y[:] = 7.0, 0.0
    np.testing.assert_array_equal(model.predict(new), before)
