"""Parameters of more points than a matrix is stored for, against those of the stored matrix."""

from __future__ import annotations

import pickle
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.exceptions import ConvergenceWarning

import mercer as mc
from mercer.check import Array
from mercer.errors import SingularSystem
from mercer.gp import Optimum, SampledOptimum, log_likelihood_interval
from mercer.gp.estimate import (
    likelihood_of,
    regress_on_controls,
    sampled_slopes,
    signs,
    solve_systems,
)
from mercer.gp.likelihood import NoisyObservations, condition, gradient, partial_products
from mercer.gp.limits import Limits
from mercer.gp.maximum_likelihood import make_definite
from mercer.gp.parameters import Tuned
from mercer.gp.preconditioner import Preconditioner, landmarks_of
from mercer.gp.sampled_maximum import Search, settle
from mercer.gram import Gram
from mercer.solve import Limits as SolveLimits
from mercer.solve import Saddle
from mercer.store import save
from mercer.targets import null_columns

RNG = np.random.default_rng(11)
N = 400
X = RNG.uniform(-3.0, 3.0, (N, 2))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] * np.cos(X[:, 1]) + 0.3 * RNG.standard_normal(N)
NEW = RNG.uniform(-3.0, 3.0, (7, 2))
SMOOTH = 1.0 * mc.Gaussian((1.0, 1.0))
MANY = Limits(stored=150, subset=150)


@pytest.fixture
def many(monkeypatch: Any) -> None:
    """Let 400 points be more than are stored, and 150 of them the subset."""
    monkeypatch.setattr(mc.GaussianProcess, "limits", MANY)


@pytest.fixture(scope="module")
def smooth() -> mc.GaussianProcess:
    """Return a process fitted by sampling that tests only read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mc.GaussianProcess, "limits", MANY)
        return mc.GaussianProcess(SMOOTH, mean="constant", n_starts=1, random_state=0).fit(X, Y)


def stored(kernel: Any, y: Array = Y, **more: Any) -> mc.GaussianProcess:
    return mc.GaussianProcess(kernel, n_starts=1, tol=1e-7, random_state=0, **more).fit(X, y)


def values(model: mc.GaussianProcess) -> dict[str, Any]:
    return {**mc.kernels.parameters(model.kernel_), "noise_variance": model.noise_variance_}


def logs(model: mc.GaussianProcess, names: Any) -> Array:
    """Return the logarithms of parameters by their names, such as bandwidth[1]."""
    known = values(model)
    found = []
    for name in names:
        base, _, member = name.partition("[")
        found.append(known[base][int(member[:-1])] if member else known[base])
    return np.asarray(np.log(found))


def sampled(model: mc.GaussianProcess) -> SampledOptimum:
    assert isinstance(model.optimum_, SampledOptimum)
    return model.optimum_


CASES = [
    (SMOOTH, None),
    (SMOOTH, "linear"),
    (1.0 * mc.Matern(1.5, 2.0), None),
    (1.0 * mc.Matern(2.5, 2.0) + 0.1 * mc.Linear(), "constant"),
]


@pytest.mark.parametrize(("kernel", "mean"), CASES, ids=str)
def test_the_optimum_is_that_of_the_stored_matrix_up_to_its_intervals(
    kernel: mc.Kernel, mean: str | None, request: Any
) -> None:
    exact = stored(kernel, mean=mean)
    request.getfixturevalue("many")
    model = mc.GaussianProcess(kernel, mean=mean, n_starts=1, random_state=0).fit(X, Y)
    found, best = sampled(model), exact.log_likelihood()
    assert found.is_converged
    assert found.at_bounds == ()
    assert (found.subset, found.probes) == (150, 24)
    away = np.abs(logs(model, found.errors) - logs(exact, found.errors))
    assert np.all(away <= np.array(list(found.errors.values())))
    interval = found.likelihood
    request.getfixturevalue("monkeypatch").undo()
    there = exact.log_likelihood(values(model))
    assert interval.lower <= there <= interval.upper
    assert there <= best <= there + 1e-3
    assert interval.lower <= found.value <= interval.upper
    assert interval.confidence == 0.95
    slopes = exact.log_likelihood_gradient(values(model))
    for name, (low, high) in found.gradient.items():
        base, _, member = name.partition("[")
        slope = np.atleast_1d(slopes[base])[int(member[:-1]) if member else 0]
        scaled = float(slope * np.exp(logs(model, [name])[0])) / N
        assert low <= scaled <= high


def test_smooth_kernels_leave_next_to_nothing_to_chance(smooth: mc.GaussianProcess) -> None:
    found = sampled(smooth)
    assert max(found.errors.values()) <= 1e-2
    assert found.likelihood.upper - found.likelihood.lower <= 0.1


def test_a_trace_half_as_large_is_found_out(
    many: None, smooth: mc.GaussianProcess, monkeypatch: Any
) -> None:
    """A trace of half its size about doubles the variances, far outside of their errors."""

    def wrong(sample: Array, controls: Array, known: Array) -> tuple[Array, Array, Array]:
        value, *rest = regress_on_controls(sample, controls, known)
        return 0.5 * value, rest[0], rest[1]

    monkeypatch.setattr("mercer.gp.estimate.regress_on_controls", wrong)
    model = mc.GaussianProcess(SMOOTH, mean="constant", n_starts=1, random_state=0).fit(X, Y)
    for name in ("weight", "noise_variance"):
        away = float(logs(model, [name])[0] - logs(smooth, [name])[0])
        assert away == pytest.approx(np.log(2.0), abs=0.2)
        assert away > 10.0 * sampled(smooth).errors[name]


def test_predictions_are_those_of_the_process_with_the_parameters_found(
    smooth: mc.GaussianProcess,
) -> None:
    exact = mc.GaussianProcess(
        smooth.kernel_,
        noise_variance=smooth.noise_variance_,
        mean="constant",
        optimise=False,
        random_state=0,
    ).fit(X, Y)
    for one, other in zip(smooth.predict(NEW, True), exact.predict(NEW, True), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
    truth = np.sin(2.0 * NEW[:, 0]) + NEW[:, 1] * np.cos(NEW[:, 1])
    assert np.max(np.abs(smooth.predict(NEW) - truth)) < 0.5


def test_the_same_seed_finds_the_same_and_others_agree_within_their_errors(many: None) -> None:
    one, same, other = (
        mc.GaussianProcess(1.0 * mc.Matern(1.5, 2.0), n_starts=1, random_state=seed).fit(X, Y)
        for seed in (3, 3, 4)
    )
    errors = sampled(one).errors
    # Threads sum tiles in any order, so that the last digits may differ.
    np.testing.assert_allclose(logs(one, errors), logs(same, errors), atol=1e-8)
    assert sampled(one).evaluations == sampled(same).evaluations
    away = np.abs(logs(one, errors) - logs(other, errors))
    assert np.all(away > 0.0)
    both = np.array(list(errors.values())) + np.array(list(sampled(other).errors.values()))
    assert np.all(away <= both)


def test_bounds_that_hold_are_named(many: None) -> None:
    bounds = {"kernel__bandwidth": (0.2, 0.5)}
    model = mc.GaussianProcess(
        1.0 * mc.Gaussian(0.4), bounds=bounds, n_starts=1, random_state=0
    ).fit(X, Y)
    found = sampled(model)
    assert found.is_converged
    assert found.at_bounds == ("kernel__bandwidth",)
    assert mc.kernels.parameters(model.kernel_)["kernel__bandwidth"] == pytest.approx(
        0.5, rel=1e-12
    )
    assert found.errors["kernel__bandwidth"] == 0.0
    assert found.gradient["kernel__bandwidth"][0] > 0.0  # the likelihood rises beyond the bound


def test_priors_and_chosen_parameters_are_those_of_the_stored_matrix(request: Any) -> None:
    law = {"kernel__bandwidth": stats.lognorm(0.05, scale=0.8)}
    chosen: dict[str, Any] = {"priors": law, "optimise": ["kernel__bandwidth", "noise_variance"]}
    y = np.column_stack([Y, Y[::-1]])
    exact = stored(4.0 * mc.Gaussian(1.0), y, **chosen)
    request.getfixturevalue("many")
    model = mc.GaussianProcess(4.0 * mc.Gaussian(1.0), n_starts=1, random_state=0, **chosen).fit(
        X, y
    )
    found = sampled(model)
    assert mc.kernels.parameters(model.kernel_)["weight"] == 4.0
    away = np.abs(logs(model, found.errors) - logs(exact, found.errors))
    assert np.all(away <= np.array(list(found.errors.values())) + 1e-4)
    assert exact.optimum_ is not None
    half = 0.5 * (found.likelihood.upper - found.likelihood.lower)
    assert found.value == pytest.approx(exact.optimum_.value, abs=half)
    assert model.predict(NEW).shape == (7, 2)


def search_of(kernel: mc.Kernel, noise: float, data: NoisyObservations, **more: Any) -> Search:
    tuned, gram = Tuned.of(kernel, noise, data.points, True), data.gram(kernel)
    given = {"priors": {}, "progress": None, **more}
    return Search(tuned, data, landmarks=landmarks_of(gram, 0), Z=signs(len(data), 3, 0), **given)


def test_curvature_begins_as_the_average_information(monkeypatch: Any) -> None:
    monkeypatch.setattr(Limits, "rough", 1e-12)
    kernel, x, y = 2.0 * mc.Gaussian((0.7, 1.5)), X[:60], np.column_stack([Y[:60], Y[60:120]])
    data = NoisyObservations(x, y, null_columns("linear", x))
    search = search_of(kernel, 0.3, data, tol=1e-12)
    logs = search.tuned.start
    inverse = np.linalg.inv(kernel(x) + 0.3 * np.eye(60))
    U = inverse @ data.Q
    P = inverse - U @ np.linalg.solve(data.Q.T @ U, U.T)
    partials = {**kernel.partials(x), "noise_variance": np.eye(60)}
    changes = search.tuned.each(
        {name: np.moveaxis(d, (0, 1), (-2, -1)) for name, d in partials.items()}
    )
    images = [np.exp(log) * change @ P @ y for log, change in zip(logs, changes, strict=True)]
    right = [[0.5 * np.sum(one * (P @ other)) for other in images] for one in images]
    np.testing.assert_allclose(search.curvature(logs), make_definite(np.array(right)), rtol=1e-7)


def test_priors_are_left_neither_by_starts_nor_by_steps(many: None) -> None:
    kernel, law = 1.0 * mc.Gaussian(0.3), {"kernel__bandwidth": stats.uniform(0.1, 0.4)}
    with pytest.raises(
        mc.errors.InvalidParameter, match="prior of kernel__bandwidth .* about 9: start"
    ):
        mc.GaussianProcess(1.0 * mc.Gaussian(9.0), priors=law, random_state=0).fit(X, Y)
    data = NoisyObservations(X, Y[:, None], np.zeros((N, 0)))
    search = search_of(kernel, 0.1, data, priors=law)
    with pytest.raises(mc.errors.InvalidParameter, match="about 0.6"):
        search.at(np.log([1.0, 0.6, 0.1]))
    assert search.evaluations == 0
    # The likelihood rises up to the end of the law, where no derivative vanishes.
    with pytest.warns(ConvergenceWarning, match="still rises"):
        model = mc.GaussianProcess(kernel, priors=law, n_starts=1, random_state=0).fit(X, Y)
    assert 0.49 < mc.kernels.parameters(model.kernel_)["kernel__bandwidth"] <= 0.5
    assert np.all(np.isfinite(model.predict(NEW)))


def test_the_order_in_which_parameters_are_named_does_not_matter() -> None:
    names = ["noise_variance", "kernel__bandwidth", "noise_variance"]
    for which in (names, set(names)):
        assert Tuned.of(SMOOTH, 0.1, X, which).names == (
            "kernel__bandwidth[0]",
            "kernel__bandwidth[1]",
            "noise_variance",
        )


def test_a_mean_however_large_does_not_widen_the_interval() -> None:
    given: dict[str, Any] = {"functions": np.ones(100), "method": "iterative"}
    near, far = (
        log_likelihood_interval(
            mc.Gaussian(1.0), X[:100], Y[:100] + shift, 0.1, **given, random_state=0
        )
        for shift in (0.0, 1e9)
    )
    assert far.value == pytest.approx(near.value, abs=1e-3)
    assert far.upper - far.lower == pytest.approx(near.upper - near.lower, rel=1e-3)


def test_residuals_of_all_outputs_widen_the_interval() -> None:
    y = np.column_stack([Y[:50], 2.0 * Y[50:100]])
    data, nothing = NoisyObservations(X[:50], y, np.zeros((50, 0))), np.zeros((50, 0))
    saddle = Saddle(data.gram(mc.Gaussian(1.0)), nothing)
    found = solve_systems(saddle, 0.1, data, nothing)
    exact, off = (
        likelihood_of(
            saddle, 0.1, data, replace(found, errors=(error, 0.0, 0.0)), probes=3, random_state=0
        )
        for error in (0.0, 1.0)
    )
    wider = 0.5 * np.linalg.norm(y, axis=0).sum()
    assert exact.lower - off.lower == pytest.approx(wider, rel=1e-9)
    assert off.upper - exact.upper == pytest.approx(wider, rel=1e-9)


@pytest.mark.parametrize(
    ("y", "functions", "message"),
    [
        (np.full(5, np.nan), None, "y, row 0 holds NaN"),
        (np.zeros((5, 1, 1)), None, r"y must have a row for each point, found shape \(5, 1, 1\)"),
        (np.full(5, 1e200), None, "multiply y by a power of ten"),
        (np.zeros(5), np.zeros((1, 5)), "functions has 1 rows for 5 points"),
    ],
)
def test_what_has_no_likelihood_is_refused(y: Array, functions: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        log_likelihood_interval(
            mc.Gaussian(1.0), X[:5], y, 0.1, functions=functions, random_state=0
        )


@pytest.mark.parametrize("ends", [3.0, (1.0, 2.0, 3.0), (1.0,), (0.5, np.inf)])
def test_bounds_are_pairs_of_numbers(ends: Any) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="bounds of weight"):
        Tuned.of(SMOOTH, 0.1, X, True).bounds({"weight": ends}, 1.0)


def test_points_of_any_kind_are_fitted(monkeypatch: Any) -> None:
    monkeypatch.setattr(mc.GaussianProcess, "limits", Limits(stored=40, subset=40))
    rng = np.random.default_rng(5)
    words = ["".join(rng.choice(list("acgt"), 12)) for _ in range(60)]
    y = np.array([word.count("a") for word in words]) + 0.1 * rng.standard_normal(60)
    model = mc.GaussianProcess(
        1.0 * mc.kernels.StringSpectrum(1).normalised(), n_starts=1, random_state=0
    ).fit(words, y)
    assert sampled(model).is_converged
    assert np.corrcoef(model.predict(words), y)[0, 1] > 0.9
    K = mc.Gaussian(1.0)(X[:60])
    given = mc.GaussianProcess("precomputed", n_starts=1, random_state=0).fit(K, Y[:60])
    assert sampled(given).is_converged
    assert set(sampled(given).errors) == {"noise_variance"}


def test_progress_is_told_and_an_interrupt_leaves_the_model_as_it_was(many: None) -> None:
    told: list[tuple[int, int]] = []

    def stop(evaluations: int, most: int) -> None:
        told.append((evaluations, most))
        if evaluations == 2:
            raise KeyboardInterrupt

    model = mc.GaussianProcess(SMOOTH, n_starts=1, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, progress=stop)
    assert [number for number, _ in told] == [1, 2]
    assert not hasattr(model, "optimum_")
    told.clear()
    model.fit(X, Y, progress=lambda *step: told.append(step))
    assert [number for number, _ in told] == list(range(1, sampled(model).evaluations + 1))
    assert all(number <= most for number, most in told)


def test_progress_is_told_of_stored_matrices_too() -> None:
    told: list[int] = []
    model = mc.GaussianProcess(mc.Gaussian(1.0), n_starts=1, random_state=0)
    model.fit(X[:50], Y[:50], progress=lambda number, most: told.append(number))
    assert isinstance(model.optimum_, Optimum)
    assert told == list(range(1, model.optimum_.evaluations + 1))


def test_a_search_that_stops_early_says_so(many: None, monkeypatch: Any) -> None:
    monkeypatch.setattr(mc.GaussianProcess, "limits", replace(MANY, sampled_steps=0))
    with pytest.warns(ConvergenceWarning, match="more than tol=1e-05 and its interval"):
        model = mc.GaussianProcess(SMOOTH, n_starts=1, random_state=0).fit(X, Y)
    assert not sampled(model).is_converged
    assert sampled(model).evaluations == 2


def test_what_iteration_cannot_do_is_refused(many: None, smooth: mc.GaussianProcess) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="noise_variance = 0 .* 400 points.*> 0"):
        mc.GaussianProcess(SMOOTH, noise_variance=0.0, random_state=0).fit(X, Y)
    with pytest.raises(mc.errors.InvalidParameter, match="which is not fitted"):
        mc.GaussianProcess(SMOOTH, priors={"width": stats.norm()}, random_state=0).fit(X, Y)
    with pytest.raises(mc.errors.InvalidInput, match="conditionally"):
        mc.GaussianProcess(mc.kernels.NegativeDistance(1.0), mean="constant", random_state=0).fit(
            X, Y
        )
    with pytest.raises(mc.errors.InvalidParameter, match=r"found 400. optimum_.likelihood"):
        smooth.log_likelihood()


def test_systems_that_iteration_cannot_solve_say_what_to_do(many: None, monkeypatch: Any) -> None:
    monkeypatch.setattr(Saddle, "limits", SolveLimits(iterations=20))
    model = mc.GaussianProcess(
        1.0 * mc.Matern(0.5, 1.0),
        noise_variance=1e-8,
        optimise=["weight"],
        n_starts=1,
        random_state=0,
    )
    with pytest.raises(SingularSystem, match=r"noise_variance = 1e-08 .* \(20 iter.*bounds=.*low"):
        model.fit(X, Y)


def test_files_keep_the_record(smooth: mc.GaussianProcess, tmp_path: Any) -> None:
    save(smooth, tmp_path / "process.mercer")
    for again in (mc.load(tmp_path / "process.mercer"), pickle.loads(pickle.dumps(smooth))):
        assert again.optimum_ == smooth.optimum_
        np.testing.assert_array_equal(again.predict(NEW), smooth.predict(NEW))


@pytest.mark.parametrize("noise", [0.5, 1e-3])
@pytest.mark.parametrize(
    "kernel", [2.0 * mc.Gaussian((0.7, 1.5)), 1.5 * mc.Matern(1.5, 1.0) + mc.Linear()], ids=str
)
def test_controls_are_the_derivatives_of_the_preconditioner(
    kernel: mc.Kernel, noise: float, monkeypatch: Any
) -> None:
    monkeypatch.setattr(Limits, "stripe", 16)
    x, z, Z = X[:40], X[40:48], signs(40, 3, 0)

    def matrix(of: mc.Kernel) -> Array:
        F = Preconditioner.of(Gram(of, x), noise, z).F
        return np.asarray(F @ F.T + noise * np.eye(40))

    M = Preconditioner.of(Gram(kernel, x), noise, z)
    for name, (trace, forms) in M.logarithmic(Z).items():
        here = mc.kernels.parameters(kernel)[name]
        for i, value in enumerate(here if isinstance(here, tuple) else (here,)):
            low, high = (
                mc.kernels.with_parameters(
                    kernel, {name: (*here[:i], v, *here[i + 1 :]) if isinstance(here, tuple) else v}
                )
                for v in (value - 1e-5, value + 1e-5)
            )
            change = (matrix(high) - matrix(low)) / 2e-5
            right = np.trace(np.linalg.solve(matrix(kernel), change))
            at = i if isinstance(here, tuple) else ()
            np.testing.assert_allclose(trace[at], right, rtol=1e-5)
            expected = np.einsum("ij,ij->j", Z, change @ Z)
            np.testing.assert_allclose(forms[at], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("noise", [10.0, 1e-6])
def test_the_preconditioner_has_a_root_of_its_inverse(noise: float) -> None:
    M = Preconditioner.of(Gram(2.0 * mc.Gaussian(1.0), X[:40]), noise, X[40:60])
    root = M.inverse_root(np.eye(40))
    np.testing.assert_allclose(root, root.T, atol=1e-9 / noise)
    np.testing.assert_allclose(M.product(root @ root), np.eye(40), atol=1e-8)
    assert M.trace == pytest.approx(np.sum(root * root), rel=1e-9)


@pytest.mark.parametrize("workers", [1, 3])
def test_products_with_derivatives_are_those_of_the_whole_matrix(
    workers: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(Limits, "stripe", 30)
    monkeypatch.setattr(Limits, "workers", workers)
    kernel, x, Z = 2.0 * mc.Gaussian((0.7, 1.5)), X[:100], signs(100, 3, 0)
    found = partial_products(Gram(kernel, x), Z)
    for name, partial in kernel.partials(x).items():
        right = np.moveaxis(np.tensordot(Z, partial, axes=(0, 1)), 0, -1)
        np.testing.assert_allclose(found[name], right, atol=1e-12)


@pytest.mark.parametrize(("bandwidth", "mean"), [(0.1, None), (1.0, "linear"), (5.0, None)])
def test_derivatives_are_enclosed_as_often_as_stated(bandwidth: float, mean: str | None) -> None:
    kernel, x, y = 1.0 * mc.Gaussian(bandwidth), X[:100], Y[:100]
    data = NoisyObservations(x, y[:, None], null_columns(mean, x))
    gram = data.gram(kernel)
    exact = gradient(gram, condition(gram, 0.1, data))
    landmarks, hits = landmarks_of(gram, 0), dict.fromkeys(exact, 0)
    for seed in range(40):
        found = sampled_slopes(gram, 0.1, data, signs(100, 12, seed), landmarks, tol=1e-10)
        for name, slope in found.slopes.items():
            away = np.abs(slope.value - exact[name])
            hits[name] += int(np.all(away <= slope.sampling + slope.solving))
    # 95 % intervals: fewer than 32 of 40 would happen once in ten thousand times.
    assert min(hits.values()) >= 32


def test_a_regression_on_a_control_has_the_interval_of_its_textbook() -> None:
    rng = np.random.default_rng(2)
    c = rng.standard_normal(30)
    f = 3.0 + 2.0 * c + 0.1 * rng.standard_normal(30)
    value, half, left = regress_on_controls(f, c, np.array(0.3))
    line = stats.linregress(c, f)
    assert value == pytest.approx(line.intercept + 0.3 * line.slope, rel=1e-12)
    assert abs(value - 3.6) <= half <= 0.1
    np.testing.assert_allclose(left, f - line.intercept - line.slope * c, atol=1e-13)
    spread = np.sqrt(np.sum(left**2) / 28)
    share = 1.0 / 30 + (0.3 - c.mean()) ** 2 / np.sum((c - c.mean()) ** 2)
    assert half == pytest.approx(stats.t.ppf(0.975, 28) * spread * np.sqrt(share), rel=1e-12)
    alone, _, _ = regress_on_controls(f, np.ones(30), np.array(1.0))
    assert alone == pytest.approx(f.mean(), rel=1e-15)


def test_a_search_without_values_finds_the_zero_of_a_curved_gradient() -> None:
    """Rosenbrock's function, whose valley bends, from a poor guess of the curvature."""

    def slope(x: Array) -> tuple[Array, Array]:
        a, b = x
        found = [2.0 * (a - 1.0) - 40.0 * a * (b - a * a), 20.0 * (b - a * a)]
        return np.array(found), 1e-12 * np.eye(2)

    box = np.array([[-3.0, 3.0], [-3.0, 3.0]])
    end = settle(slope, np.array([-1.0, 1.0]), np.eye(2), box, 0.0)
    assert end.is_converged
    np.testing.assert_allclose(end.x, 1.0, atol=1e-5)
    short = settle(slope, np.array([-1.0, 1.0]), np.eye(2), np.array([[-3.0, 0.5]] * 2), 0.0)
    assert short.is_converged
    assert short.is_held.tolist() == [True, False]
    np.testing.assert_allclose(short.x, [0.5, 0.25], atol=1e-5)


def test_a_search_does_not_follow_noise_along_a_valley() -> None:
    """Of the two directions one is known, and the other all noise, which calls for a long step."""
    steep, flat = np.array([1.0, 1.0]) / np.sqrt(2.0), np.array([1.0, -1.0]) / np.sqrt(2.0)
    H = 1e-8 * np.outer(steep, steep) + 1.0 * np.outer(flat, flat)
    B = 9.0 * np.outer(steep, steep) + 0.01 * np.outer(flat, flat)

    def slope(x: Array) -> tuple[Array, Array]:
        return B @ (x - 1.0) + 0.5 * flat, H

    end = settle(slope, np.zeros(2), B, np.array([[-99.0, 99.0]] * 2), 0.0)
    assert end.is_converged
    np.testing.assert_allclose(end.x, 1.0, atol=1e-3)
    assert np.all(end.errors >= 50.0 / np.sqrt(2.0))  # where the gradient is zero


def test_a_step_out_of_the_domain_is_shortened_and_says_nothing_of_curvature() -> None:
    def slope(x: Array) -> tuple[Array, Array]:
        if x[0] > 1.2:
            raise mc.errors.InvalidInput("no likelihood here")
        return 2.0 * (x - 1.0), 1e-18 * np.eye(2)

    end = settle(slope, np.array([0.0, 1.0]), np.diag([0.5, 2.0]), np.array([[-9.0, 9.0]] * 2), 0.0)
    assert end.is_converged
    np.testing.assert_allclose(end.x, 1.0)
    np.testing.assert_allclose(end.curvature, 2.0 * np.eye(2))


def test_a_step_ends_at_the_first_bound_that_it_meets() -> None:
    """Cut in one coordinate alone, the step along this narrow valley would lead uphill."""
    B = np.array([[1.0, 0.99], [0.99, 1.0]])
    box = np.array([[-9.0, -0.5], [-9.0, 9.0]])
    end = settle(lambda x: (B @ x, 1e-18 * np.eye(2)), np.array([-1.0, 0.9]), B, box, 0.0)
    assert end.is_converged
    assert end.is_held.tolist() == [True, False]
    np.testing.assert_allclose(end.x, [-0.5, 0.495], atol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_any_kind_are_settled_at(seed: int) -> None:
    """Quadratic functions with badly conditioned curvatures, against an exact solver."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((4, 4)) * np.array([3.0, 1.0, 0.3, 0.1])
    C, top, low = F @ F.T, rng.uniform(-3.0, 3.0, 4), rng.uniform(-2.0, 0.0, 4)
    box = np.column_stack([low, low + rng.uniform(0.1, 3.0, 4)])
    start = rng.uniform(low, box[:, 1])
    end = settle(lambda x: (C @ (x - top), 1e-20 * np.eye(4)), start, C, box, 0.0)
    right = optimize.lsq_linear(F.T, F.T @ top, tuple(box.T), method="bvls")
    assert end.is_converged
    np.testing.assert_allclose(end.x, right.x, atol=1e-5)


def test_curvatures_are_made_definite() -> None:
    assert np.all(np.linalg.eigvalsh(make_definite(np.array([[1.0, 4.0], [2.0, 1.0]]))) > 0.0)
    assert make_definite(np.zeros((0, 0))).shape == (0, 0)


def test_memory_is_that_of_vectors(monkeypatch: Any) -> None:
    """The matrix of 3 000 points has 72 MB."""
    monkeypatch.setattr(Limits, "rank", 40)
    rng = np.random.default_rng(6)
    x, n = rng.standard_normal((3_000, 2)), 3_000
    data = NoisyObservations(x, np.sin(x[:, :1]), np.zeros((n, 0)))
    gram = data.gram(mc.Gaussian(1.0))
    landmarks, Z = landmarks_of(gram, 0), signs(n, 4, 0)
    tracemalloc.start()
    sampled_slopes(gram, 0.1, data, Z, landmarks, tol=1e-2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6
