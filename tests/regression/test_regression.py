from __future__ import annotations

import json
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint
from scipy.optimize import minimize as scipy_minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.check import Array
from mercer.errors import SingularSystem
from mercer.gram import Gram
from mercer.regression import convex_loss, penalty_path
from mercer.regression.convex import Problem, minimise
from mercer.regression.limits import Limits
from mercer.regression.loss_functions import loss_named
from mercer.regression.observations import WeightedTargets
from mercer.solve import Limits as SolveLimits
from mercer.solve import Saddle
from mercer.targets import null_columns
from tests.oracles import LINE
from tests.references import FOLDER

RNG = np.random.default_rng(4)
X = RNG.standard_normal((60, 2))
SIGNAL = np.sin(2.0 * X[:, 0]) + X[:, 1]
Y = SIGNAL + 0.3 * RNG.standard_t(3, 60)
LABELS = np.where(SIGNAL + 0.7 * RNG.standard_normal(60) > 0, 1.0, -1.0)
WEIGHTS = RNG.uniform(0.2, 2.0, 60)
NEW = RNG.standard_normal((11, 2))
LOSSES = ["squared", "absolute", "huber", "quantile", "logistic", "hinge"]
NULL_SPACES = [None, "constant", "linear"]


def targets(loss: Any) -> Array:
    return LABELS if loss in ("logistic", "hinge") else Y


@pytest.mark.parametrize("name", ["two_base_vdc_i_1_to_20", "hammersley_i_over_n_base2"])
def test_the_peaks_function_from_twenty_points(name: str) -> None:
    """Kroese et al., Example 6.13."""
    path = FOLDER / "kroese_ex6_13_peaks.json"
    file = json.loads(path.read_text())[name]
    points, z = np.array(file["points"]), np.array(file["z"])
    model = mc.KernelRegression(mc.Gaussian(np.sqrt(0.3)), penalty=0.0).fit(points, z)
    np.testing.assert_allclose(model.dual_coef_, file["alpha"], rtol=1e-11, atol=1e-13)
    assert np.max(np.abs(model.predict(points) - z)) < 3e-14
    assert model.function_.norm**2 == pytest.approx(file["norm_H_squared"], rel=1e-12)
    side = np.linspace(-3.0, 3.0, 7)
    grid = np.array([(a, b) for a in side for b in side])
    np.testing.assert_allclose(model.predict(grid), file["grid_rowmajor_7x7"], atol=1e-13)


def test_twenty_points_explain_two_thirds_of_the_peaks() -> None:
    def peaks(p: Array) -> Array:
        a, b = p.T
        return np.asarray(
            3 * (1 - a) ** 2 * np.exp(-(a**2) - (b + 1) ** 2)
            - 10 * (a / 5 - a**3 - b**5) * np.exp(-(a**2) - b**2)
            - np.exp(-((a + 1) ** 2) - b**2) / 3
        )

    path = FOLDER / "kroese_ex6_13_peaks.json"
    points = np.array(json.loads(path.read_text())["two_base_vdc_i_1_to_20"]["points"])
    side = np.linspace(-3.0, 3.0, 150)
    grid = np.array([(a, b) for a in side for b in side])
    for variance, expected in ((0.3, 0.64), (0.5, 0.68)):
        model = mc.KernelRegression(mc.Gaussian(np.sqrt(variance)), penalty=0.0)
        score = model.fit(points, peaks(points)).score(grid, peaks(grid))
        assert score == pytest.approx(expected, abs=0.01)


def test_ridge_with_a_free_intercept_is_the_same_in_both_forms() -> None:
    """Kroese et al., Examples 6.11 and 6.12: primal and dual."""
    model = mc.KernelRegression(mc.Linear(), 0.02, "constant").fit(X, Y)
    ridge = Ridge(alpha=60 * 0.02).fit(X, Y)
    np.testing.assert_allclose(X.T @ model.dual_coef_, ridge.coef_, rtol=1e-11)
    assert model.null_weights_[0] == pytest.approx(ridge.intercept_, rel=1e-11)
    np.testing.assert_allclose(model.predict(NEW), ridge.predict(NEW), rtol=1e-11)


def test_without_null_space_it_is_kernel_ridge_regression() -> None:
    model = mc.KernelRegression(mc.Gaussian(1.5), 1e-3).fit(X, Y, sample_weight=WEIGHTS)
    scaled = 1e-3 * WEIGHTS.sum()
    peer = KernelRidge(alpha=scaled, kernel="rbf", gamma=0.5 / 1.5**2)
    peer.fit(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(model.predict(NEW), peer.predict(NEW), rtol=1e-9)
    np.testing.assert_allclose(model.dual_coef_, peer.dual_coef_, rtol=1e-7)


@pytest.mark.parametrize("null_space", NULL_SPACES)
def test_small_penalties_interpolate_and_large_ones_leave_the_null_space(null_space: Any) -> None:
    kernel = mc.Laplacian(1.0)
    exact = mc.KernelRegression(kernel, 0.0, null_space).fit(X, Y)
    np.testing.assert_allclose(exact.predict(X), Y, atol=1e-12)
    near = mc.KernelRegression(kernel, 1e-12, null_space).fit(X, Y)
    np.testing.assert_allclose(near.predict(NEW), exact.predict(NEW), atol=1e-7)
    alone = mc.KernelRegression(kernel, np.inf, null_space).fit(X, Y, WEIGHTS)
    assert np.all(alone.dual_coef_ == 0)
    columns = {None: X[:, :0], "constant": np.ones((60, 1)), "linear": np.c_[np.ones(60), X]}
    Q, s = columns[null_space], np.sqrt(WEIGHTS)
    expected = np.linalg.lstsq(s[:, None] * Q, s * Y, rcond=None)[0]
    np.testing.assert_allclose(alone.null_weights_, expected, rtol=1e-10)
    far = mc.KernelRegression(kernel, 1e9, null_space).fit(X, Y, WEIGHTS)
    np.testing.assert_allclose(far.predict(NEW), alone.predict(NEW), atol=1e-7)


def objective(
    model: mc.KernelRegression, points: Array, alpha: Array, eta: Array, Q: Array
) -> float:
    """The objective of any function Σ αk(pᵢ, ·) + Qη, computed from its definition."""
    loss = loss_named(model.loss, quantile=model.quantile, threshold=model.threshold)
    K = mc.Gaussian(1.0)(points)
    values = (K @ alpha)[:60] + Q @ eta
    p = WEIGHTS / WEIGHTS.sum()
    return float(p @ loss.value(targets(model.loss), values) + model.penalty_ * alpha @ K @ alpha)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("null_space", NULL_SPACES)
def test_no_function_of_the_space_is_better_than_the_minimiser(loss: str, null_space: Any) -> None:
    """The representer theorem: also off the span of the data's sections."""
    model = mc.KernelRegression(
        mc.Gaussian(1.0), 1e-3, null_space, loss, quantile=0.7, threshold=0.4
    ).fit(X, targets(loss), sample_weight=WEIGHTS)
    assert 0 <= model.gap_ - model.rounding_ <= 1e-8 * model.objective_
    assert model.gap_ <= 1e-7 * model.objective_  # with all that rounding can have done
    columns = {None: X[:, :0], "constant": np.ones((60, 1)), "linear": np.c_[np.ones(60), X]}
    Q = columns[null_space]
    everywhere = np.vstack([X, NEW])
    alpha = np.append(model.dual_coef_, np.zeros(11))
    least = objective(model, everywhere, alpha, model.null_weights_, Q)
    assert least == pytest.approx(model.objective_, rel=1e-10)
    rng = np.random.default_rng(1)
    for size in (1e-6, 1e-3, 0.1):
        for _ in range(5):
            moved = alpha + size * np.abs(alpha).max() * rng.standard_normal(71)
            eta = model.null_weights_ + size * rng.standard_normal(Q.shape[1])
            assert objective(model, everywhere, moved, eta, Q) >= least - model.gap_ - 1e-15
            off = alpha + np.append(np.zeros(60), size * rng.standard_normal(11))
            assert objective(model, everywhere, off, eta, Q) >= least - model.gap_ - 1e-15


@pytest.mark.parametrize("loss", LOSSES[1:])
def test_the_gap_bounds_what_any_weights_lose(loss: str) -> None:
    """The certificate of weights that are not optimal is honest."""
    named = loss_named(loss)
    saddle = Saddle(Gram(mc.Gaussian(1.0), X), np.zeros((60, 0)))
    p = WEIGHTS / WEIGHTS.sum()
    problem = Problem(saddle, targets(loss), p, 1e-2, named, 1e-10)
    best = minimise(problem)
    assert best.gap <= 1e-9 * best.objective
    rng = np.random.default_rng(2)
    low, high = named.box(problem.y)
    for _ in range(20):
        s = low + (high - low) * rng.uniform(size=60)
        found = problem.optimum(-p * s / (2.0 * 1e-2), np.zeros(0), 0)
        assert found.gap >= found.objective - best.objective
        assert found.gap > 1e-6


def test_the_optimum_of_other_libraries_is_found() -> None:
    logistic = mc.KernelRegression(mc.Linear(), 1e-3, "constant", "logistic", tol=1e-13)
    logistic.fit(X, LABELS)
    peer = LogisticRegression(C=1.0 / (2 * 60 * 1e-3), tol=1e-12, max_iter=1000).fit(X, LABELS)
    np.testing.assert_allclose(logistic.predict(NEW), peer.decision_function(NEW), atol=1e-6)
    np.testing.assert_allclose(logistic.probability(NEW), peer.predict_proba(NEW)[:, 1], atol=1e-6)
    hinge = mc.KernelRegression(mc.Gaussian(1.0), 1e-3, "constant", "hinge", tol=1e-10)
    machine = SVC(C=1.0 / (2 * 60 * 1e-3), gamma=0.5, tol=1e-10).fit(X, LABELS)
    np.testing.assert_allclose(
        hinge.fit(X, LABELS).predict(NEW), machine.decision_function(NEW), atol=1e-4
    )


def least_objective(loss: str, K: Array, Q: Array, y: Array, p: Array, penalty: float) -> float:
    """Another way to the optimum: the primal problem in scipy, its corners as constraints."""
    n, m = Q.shape
    pieces = {  # losses with corners are the largest of some lines a + bf
        "absolute": [(y, -1.0 + 0.0 * y), (-y, 1.0 + 0.0 * y)],
        "quantile": [(0.7 * y, -0.7 + 0.0 * y), (-0.3 * y, 0.3 + 0.0 * y)],
        "hinge": [(0.0 * y + 1.0, -y), (0.0 * y, 0.0 * y)],
    }.get(loss, [])
    smooth = {
        "squared": lambda f: (y - f) ** 2,
        "huber": lambda f: np.where(
            np.abs(y - f) <= 0.4, (y - f) ** 2, 0.4 * (2.0 * np.abs(y - f) - 0.4)
        ),
        "logistic": lambda f: np.log1p(np.exp(-y * f)),
    }

    def values(v: Array) -> Array:
        return np.asarray(K @ v[:n] + Q @ v[n : n + m])

    def goal(v: Array) -> float:
        losses = v[n + m :] if pieces else smooth[loss](values(v))
        return float(p @ losses + penalty * v[:n] @ K @ v[:n])

    above = [
        LinearConstraint(np.hstack([-b[:, None] * K, -b[:, None] * Q, np.eye(n)]), a, np.inf)
        for a, b in pieces
    ]
    start = np.append(np.zeros(n + m), np.full(n if pieces else 0, 10.0))
    found = scipy_minimize(
        goal, start, method="SLSQP", constraints=above, options={"ftol": 1e-14, "maxiter": 2000}
    )
    return float(found.fun)


@pytest.mark.parametrize("loss", LOSSES)
def test_another_solver_finds_the_same_optimum(loss: str) -> None:
    x, y, w = X[:14], targets(loss)[:14], WEIGHTS[:14]
    kernel, Q = mc.Laplacian(1.0), np.c_[np.ones(14), X[:14, 0]]
    model = mc.KernelRegression(kernel, 0.05, lambda z: np.c_[np.ones(len(z)), z[:, 0]], loss)
    model.set_params(quantile=0.7, threshold=0.4).fit(x, y, w)
    expected = least_objective(loss, kernel(x), Q, y, w / w.sum(), 0.05)
    assert model.objective_ == pytest.approx(expected, rel=1e-7)
    assert model.objective_ - model.gap_ <= expected * (1.0 + 1e-10)


def test_losses_have_the_limits_they_should() -> None:
    squared = mc.KernelRegression(mc.Gaussian(1.0), 1e-2).fit(X, Y).predict(NEW)
    huber = mc.KernelRegression(mc.Gaussian(1.0), 1e-2, loss="huber", threshold=100.0)
    np.testing.assert_allclose(huber.fit(X, Y).predict(NEW), squared, atol=1e-4)
    absolute = mc.KernelRegression(mc.Gaussian(1.0), 1e-2, loss="absolute").fit(X, Y)
    median = mc.KernelRegression(mc.Gaussian(1.0), 2e-2 / 4, loss="quantile").fit(X, Y)
    np.testing.assert_allclose(absolute.predict(NEW), median.predict(NEW), atol=1e-3)
    for level in (0.1, 0.9):
        model = mc.KernelRegression(
            mc.Gaussian(1.0), 1e-3, "constant", "quantile", quantile=level
        ).fit(X, Y)
        below = np.mean(model.predict(X) - 1e-6 > Y)
        reached = np.mean(model.predict(X) + 1e-6 >= Y)
        assert below <= level <= reached  # exactly, by the optimality of the constant


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repetitions_and_zero_is_absence(loss: str) -> None:
    counts = np.random.default_rng(3).integers(0, 3, 60)
    y = targets(loss)
    kernel = mc.Gaussian(1.0)
    weighted = mc.KernelRegression(kernel, 1e-2, "constant", loss, tol=1e-10)
    weighted.fit(X, y, sample_weight=counts)
    repeated = mc.KernelRegression(kernel, 1e-2, "constant", loss, tol=1e-10)
    repeated.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    np.testing.assert_allclose(weighted.predict(NEW), repeated.predict(NEW), atol=2e-4)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_several_outputs_are_fitted_as_one_by_one(loss: str) -> None:
    both = np.column_stack([Y, SIGNAL])
    model = mc.KernelRegression(mc.Gaussian(1.0), 1e-2, "constant", loss).fit(X, both)
    assert model.predict(NEW).shape == (11, 2)
    for j in (0, 1):
        alone = mc.KernelRegression(mc.Gaussian(1.0), 1e-2, "constant", loss).fit(X, both[:, j])
        np.testing.assert_allclose(model.predict(NEW)[:, j], alone.predict(NEW), rtol=1e-9)
        if loss == "squared":
            for observation in (False, True):
                bands = (m.confidence_band(NEW, observation=observation) for m in (model, alone))
                ours, theirs = (np.array(pair) for pair in bands)
                np.testing.assert_allclose(ours[:, :, j], theirs, rtol=1e-9)


@pytest.mark.parametrize("null_space", [None, "constant", "linear", lambda x: x[:, :1] ** 2])
def test_weights_outputs_and_null_space_are_those_of_one_dense_system(null_space: Any) -> None:
    both = np.column_stack([Y, SIGNAL])
    model = mc.KernelRegression(mc.Gaussian(1.0), 1e-2, null_space).fit(X, both, WEIGHTS)
    Q = null_columns(null_space, X)
    m = Q.shape[1]
    K, p = mc.Gaussian(1.0)(X), WEIGHTS / WEIGHTS.sum()
    system = np.block([[K + 1e-2 * np.diag(1.0 / p), Q], [Q.T, np.zeros((m, m))]])
    expected = np.linalg.solve(system, np.vstack([both, np.zeros((m, 2))]))
    np.testing.assert_allclose(model.dual_coef_, expected[:60], atol=1e-10)
    np.testing.assert_allclose(model.null_weights_, expected[60:], atol=1e-10)
    # The residuals of each output, with the trace of the matrix that maps y to the fit.
    smoother = mc.KernelRegression(mc.Gaussian(1.0), 1e-2, null_space).fit(X, np.eye(60), WEIGHTS)
    freedom = float(np.trace(smoother.predict(X)))
    assert model.degrees_of_freedom_ == pytest.approx(freedom, rel=1e-9)
    noise = 60 * (p @ (both - model.predict(X)) ** 2) / (60 - freedom)
    np.testing.assert_allclose(model.noise_variance_, noise, rtol=1e-9)


def direct_criterion(name: str, K: Array, Q: Array, penalty: float) -> float:
    """A criterion from dense matrices; minus twice the restricted likelihood but for a constant."""
    p = WEIGHTS / WEIGHTS.sum()
    V = np.linalg.inv(K + penalty * np.diag(1.0 / p))
    R = V - V @ Q @ np.linalg.solve(Q.T @ V @ Q, Q.T @ V)
    left = penalty * (R / p[:, None])  # maps y to the residuals
    residuals = left @ Y
    if name == "gcv":
        return float(p @ residuals**2 / np.mean(np.diag(left)) ** 2)
    if name == "loo":
        return float(p @ (residuals / np.diag(left)) ** 2)
    logs = -np.linalg.slogdet(V)[1] + np.linalg.slogdet(Q.T @ V @ Q)[1]
    return float((60 - Q.shape[1]) * np.log(Y @ R @ Y) + logs)


@pytest.mark.parametrize("criterion", ["gcv", "loo", "reml"])
def test_a_path_of_penalties_has_the_values_of_dense_formulas(criterion: str) -> None:
    model = mc.KernelRegression(mc.Gaussian(1.0), null_space="linear", criterion=criterion)
    model.fit(X, Y, WEIGHTS)
    path = penalty_path(model, count=200)
    inner = np.flatnonzero((path.penalties > 1e-5) & (path.penalties < 1e2))[::8]
    K, Q = mc.Gaussian(1.0)(X), null_columns("linear", X)
    expected = np.array([direct_criterion(criterion, K, Q, path.penalties[i]) for i in inner])
    found = path.scores[inner]
    assert len(inner) >= 10
    if criterion == "reml":
        np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-6)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-7)
    assert model.criterion_ is not None
    least = direct_criterion(criterion, K, Q, model.penalty_)
    assert np.all(expected >= least - 1e-6 * abs(least))


@pytest.fixture
def few_penalties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mc.KernelRegression, "limits", Limits(span=(-5.0, -1.0)))


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_cross_validation_is_the_mean_loss_on_parts_held_out(loss: str) -> None:
    x, y, w = X[:25], targets(loss)[:25], WEIGHTS[:25]
    model = mc.KernelRegression(mc.Gaussian(1.0), None, "constant", loss, criterion="cv")
    model.set_params(tol=1e-10).fit(x, y, w)
    data = WeightedTargets(x, y[:, None], w)
    part = data.folds(5, is_of_labels=loss == "logistic")
    assert np.bincount(part).tolist() == [5] * 5
    total = 0.0
    for k in range(5):
        fit = mc.KernelRegression(mc.Gaussian(1.0), model.penalty_, "constant", loss, tol=1e-10)
        fit.fit(x[part != k], y[part != k], w[part != k])
        losses = loss_named(loss).value(y[part == k], fit.predict(x[part == k]))
        total += float(w[part == k] @ losses)
    assert model.criterion_ == pytest.approx(total / w.sum(), rel=1e-6)


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize("loss", ["absolute", "huber"])
def test_cross_validation_does_not_depend_on_the_unit_of_the_targets(loss: str) -> None:
    """A loss of degree 1 has penalties in the inverse of that unit."""
    found = []
    for unit in (1.0, 2.0**20):
        model = mc.KernelRegression(mc.Gaussian(1.0), None, "constant", loss, criterion="cv")
        model.set_params(threshold=0.5 * unit).fit(X[:14], unit * Y[:14])
        degree = 1 if loss == "absolute" else 2
        found.append((model.penalty_ * unit ** (2 - degree), *(model.predict(NEW) / unit)))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4)


@pytest.mark.usefixtures("few_penalties")
def test_every_part_of_cross_validation_holds_both_labels() -> None:
    rare = np.where(np.arange(60) < 2, 1.0, -1.0)
    model = mc.KernelRegression(mc.Gaussian(1.0), None, "constant", "logistic").fit(X, rare)
    assert 0 < model.penalty_ < np.inf
    rare[0] = -1.0
    with pytest.raises(
        mc.errors.InvalidInput, match="fits 48 of 60 points at a time, where .*separates"
    ):
        mc.KernelRegression(mc.Gaussian(1.0), None, "constant", "logistic").fit(X, rare)
    with pytest.raises(mc.errors.InvalidInput, match="fits 1 of 2 points at a time"):
        mc.KernelRegression(mc.Gaussian(1.0), None, "constant", "absolute").fit(X[:2], Y[:2])


@pytest.mark.parametrize("null_space", NULL_SPACES)
@pytest.mark.parametrize("loss", LOSSES[:4])
def test_zeros_are_fitted_by_zero(loss: str, null_space: Any) -> None:
    model = mc.KernelRegression(mc.Gaussian(1.0), 1e-2, null_space, loss).fit(X, 0.0 * Y)
    np.testing.assert_array_equal(model.predict(NEW), 0.0)
    assert model.gap_ == model.objective_ == 0.0


@pytest.mark.parametrize("loss", LOSSES)
def test_the_size_of_the_kernel_does_not_matter(loss: str) -> None:
    one = mc.KernelRegression(mc.Gaussian(1.0), 1e-3, "constant", loss).fit(X, targets(loss))
    for size in (1e-200, 1e200):
        other = mc.KernelRegression(size * mc.Gaussian(1.0), 1e-3 * size, "constant", loss)
        other.fit(X, targets(loss))
        assert other.objective_ == pytest.approx(one.objective_, rel=1e-8)
        np.testing.assert_allclose(other.predict(NEW), one.predict(NEW), atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_penalties_of_any_size_have_a_gap_or_a_reason(loss: str) -> None:
    for null_space in ("constant", None):
        model = mc.KernelRegression(mc.Gaussian(1.0), 1e30, null_space, loss)
        model.fit(X, targets(loss))
        assert model.gap_ - model.rounding_ <= 1e-8 * model.objective_
    alone = mc.KernelRegression(mc.Gaussian(1.0), 1e30, None, loss).fit(X, targets(loss))
    np.testing.assert_allclose(alone.predict(NEW), 0.0, atol=1e-28)
    with warnings.catch_warnings():  # of a gap above tol, where rounding leaves no less
        warnings.simplefilter("ignore", ConvergenceWarning)
        for penalty in (1e-300, 1e-12):
            near = mc.KernelRegression(mc.Gaussian(0.3), penalty, "constant", loss)
            near.fit(X, targets(loss))
            of_zero = float(np.mean(loss_named(loss).value(targets(loss), np.zeros(60))))
            assert near.objective_ <= 1e-6 * of_zero
            assert near.gap_ - near.rounding_ <= 1e-8 * of_zero
    if loss not in ("squared", "logistic"):
        with pytest.raises(mc.errors.InvalidParameter, match="give a smaller one"):
            mc.KernelRegression(mc.Gaussian(1.0), 1e300, None, loss).fit(X, targets(loss))


@pytest.mark.filterwarnings("ignore:the objective:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", ["absolute", "quantile", "hinge"])
def test_a_matrix_that_is_nearly_singular_is_no_obstacle(loss: str) -> None:
    """Small penalties leave the steps nothing but K, whose condition is 1e12 and more."""
    for bandwidth in (1.0, 3.0):
        for penalty in np.logspace(-13.0, -9.0, 5):
            model = mc.KernelRegression(mc.Gaussian(bandwidth), penalty, "constant", loss)
            model.fit(X, targets(loss))
            own = model.gap_ - model.rounding_
            assert own <= max(1e-8 * model.objective_, 1e-15 / penalty * model.objective_)


def test_logistic_loss_of_separated_labels_is_minimised_far_out() -> None:
    """Where the loss is nearly flat a gap of 1e-7 is far from the optimum."""
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    model = mc.KernelRegression(mc.Gaussian(0.3), 1e-13, None, "logistic").fit(X, y)
    assert model.objective_ < 1e-7
    assert model.gap_ - model.rounding_ <= 1e-5 * model.objective_


def test_weights_of_any_size_are_shares() -> None:
    one = mc.KernelRegression(mc.Gaussian(1.0), 1e-2).fit(X, Y, WEIGHTS).predict(NEW)
    for unit in (1e-310, 1e308 / 2.0):
        other = mc.KernelRegression(mc.Gaussian(1.0), 1e-2).fit(X, Y, unit * WEIGHTS)
        np.testing.assert_allclose(other.predict(NEW), one, rtol=1e-9)
    light = np.where(np.arange(60) == 7, 1e-30, 1.0)
    assert mc.KernelRegression(mc.Gaussian(1.0), 1e-2).fit(X, Y, light).gap_ < 1e-12
    with pytest.raises(mc.errors.InvalidInput, match="weight 1e-30 at row 7"):
        mc.KernelRegression(mc.Gaussian(1.0), 1e-2, loss="absolute").fit(X, Y, light)
    for wrong, message in (("heavy", "sample_weight: 'heavy'"), ([np.inf] * 60, "row 0 holds inf")):
        with pytest.raises(mc.errors.InvalidInput, match=message):
            mc.KernelRegression(mc.Gaussian(1.0), 1e-2).fit(X, Y, wrong)


def test_the_criteria_are_what_they_say() -> None:
    kernel = mc.Gaussian(1.0)
    for criterion in ("gcv", "loo", "reml"):
        model = mc.KernelRegression(kernel, null_space="linear", criterion=criterion)
        model.fit(X, Y, sample_weight=WEIGHTS)
        assert 0 < model.penalty_ < np.inf
    p = WEIGHTS / WEIGHTS.sum()
    loo = mc.KernelRegression(kernel, null_space="linear", criterion="loo")
    loo.fit(X, Y, sample_weight=WEIGHTS)
    errors = []
    for i in range(60):
        others = np.arange(60) != i
        # The sum of the weights is smaller without i, and the penalty is that of the mean loss.
        penalty = loo.penalty_ / (1.0 - p[i])
        fit = mc.KernelRegression(kernel, penalty, "linear")
        fit.fit(X[others], Y[others], sample_weight=WEIGHTS[others])
        errors.append(Y[i] - fit.predict(X[[i]])[0])
    assert loo.criterion_ == pytest.approx(p @ np.square(errors), rel=1e-8)
    gcv = mc.KernelRegression(kernel, null_space="linear").fit(X, Y, sample_weight=WEIGHTS)
    mean_square = p @ (Y - gcv.predict(X)) ** 2
    share = 1.0 - gcv.degrees_of_freedom_ / 60
    assert gcv.criterion_ == pytest.approx(mean_square / share**2, rel=1e-9)


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_cross_validation_avoids_both_ends(loss: str) -> None:
    model = mc.KernelRegression(mc.Gaussian(1.0), None, "constant", loss, criterion="cv")
    model.fit(X[:20], targets(loss)[:20])
    data = WeightedTargets(X[:20], targets(loss)[:20, None], np.ones(20))
    for factor in (1e-4, 1e4):
        other = model._cross_validated(data, model.penalty_ * factor, loss_named(loss))
        assert model.criterion_ is not None
        assert other > model.criterion_


@pytest.mark.parametrize("method", ["single", "low-rank"])
def test_logistic_loss_needs_no_stored_matrix(method: str) -> None:
    p = WEIGHTS / WEIGHTS.sum()
    gram, Q = Gram(mc.Gaussian(1.0), X), np.ones((60, 1))
    found = []
    for chosen in ("direct", method):
        saddle = Saddle(gram, Q, method=chosen, tol=1e-12)
        problem = Problem(saddle, LABELS, p, 1e-2, loss_named("logistic"), 1e-10)
        found.append(minimise(problem))
    assert found[1].is_proved
    np.testing.assert_allclose(found[1].weights, found[0].weights, atol=1e-7)


def test_targets_in_the_null_space_leave_nothing_to_penalise() -> None:
    model = mc.KernelRegression(mc.Gaussian(1.0), None, "linear").fit(X, 1.0 + X[:, 0])
    assert model.penalty_ == np.inf
    np.testing.assert_allclose(model.predict(NEW), 1.0 + NEW[:, 0], rtol=1e-12)


def test_losses_with_corners_say_how_many_points_they_take() -> None:
    many = np.zeros((8_001, 1))
    with pytest.raises(mc.errors.InvalidParameter, match="up to 8000 points"):
        mc.KernelRegression(mc.Gaussian(1.0), 1e-2, loss="absolute").fit(many, many[:, 0])


@pytest.mark.parametrize("method", ["single", "low-rank"])
@pytest.mark.parametrize("null_space", [np.zeros((400, 0)), np.ones((400, 1))], ids=["0", "1"])
def test_large_systems_are_solved_as_small_ones(method: str, null_space: Array) -> None:
    rng = np.random.default_rng(5)
    x, b = rng.standard_normal((400, 3)), rng.standard_normal((400, 2))
    s = rng.uniform(0.5, 1.0, 400)
    gram = Gram(mc.Gaussian(1.5), x)
    direct = Saddle(gram, null_space, method="direct").solve(s, 0.01, b)
    large = Saddle(gram, null_space, method=method, tol=1e-12).solve(s, 0.01, b)
    np.testing.assert_allclose(large.weights, direct.weights, atol=1e-8)
    np.testing.assert_allclose(large.null_weights, direct.null_weights, atol=1e-8)
    left = gram.dense() @ direct.weights + 0.01 * direct.weights / s[:, None] ** 2
    np.testing.assert_allclose(left + null_space @ direct.null_weights, b, atol=1e-10)
    assert np.abs(null_space.T @ large.weights).max(initial=0.0) <= 1e-10
    assert direct.residual <= 1e-12
    assert large.residual <= 2e-12


def test_more_points_than_are_factored_are_fitted_to_the_same_precision() -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((3_050, 3))
    y = np.column_stack([np.sin(x[:, 0]), x[:, 1] * x[:, 2]]) + 0.1 * rng.standard_normal(
        (3_050, 2)
    )
    model = mc.KernelRegression(mc.Gaussian(1.5), 1e-5, "constant").fit(x, y)
    assert model.gap_ - model.rounding_ <= 1e-8 * model.objective_
    assert model.gap_ <= 1e-6 * model.objective_
    # y - g = γnα, an equation of the system which the predictions know nothing of.
    np.testing.assert_allclose(y - model.predict(x), 3_050 * 1e-5 * model.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-8)


def test_a_single_precision_factor_that_fails_is_made_to_work() -> None:
    x = np.random.default_rng(6).standard_normal((300, 1))
    gram = Gram(mc.Gaussian(3.0), x)
    b = np.sin(x)
    answer = Saddle(gram, np.zeros((300, 0)), method="single", tol=1e-8).solve(
        np.ones(300), 1e-7, b
    )
    assert answer.residual <= 1e-7
    assert answer.iterations > 1


@pytest.mark.parametrize("null_space", [None, "linear"])
def test_landmarks_are_an_approximation_whose_gap_is_told(null_space: Any) -> None:
    rng = np.random.default_rng(15)
    x = rng.standard_normal((200, 2))
    y = np.column_stack([np.sin(2.0 * x[:, 0]) + x[:, 1], x[:, 0] * x[:, 1]])
    y += 0.2 * rng.standard_normal(y.shape)
    weights = rng.uniform(0.5, 2.0, 200)
    exact = mc.KernelRegression(mc.Gaussian(1.0), 1e-3, null_space).fit(x, y, weights)
    gaps = []
    for count in (5, 40, 200):
        model = mc.KernelRegression(mc.Gaussian(1.0), 1e-3, null_space, landmarks=count)
        model.fit(x, y, weights)
        assert model.is_approximate_
        assert len(model.X_fit_) == count
        # The objective is above the least one, by at most the gap.
        excess = model.objective_ - exact.objective_
        assert -1e-12 <= excess <= model.gap_ + 1e-12
        gaps.append(model.gap_)
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] <= 1e-8 * exact.objective_
    np.testing.assert_allclose(model.predict(NEW), exact.predict(NEW), atol=1e-5)
    assert model.degrees_of_freedom_ == pytest.approx(exact.degrees_of_freedom_, rel=1e-5)
    assert not exact.is_approximate_


def test_landmarks_choose_their_penalty_and_say_what_they_cannot() -> None:
    exact = mc.KernelRegression(mc.Gaussian(1.0), None, "constant").fit(X, Y)
    model = mc.KernelRegression(mc.Gaussian(1.0), None, "constant", landmarks=60).fit(X, Y)
    assert model.penalty_ == pytest.approx(exact.penalty_, rel=1e-2)
    assert model.noise_variance_ == pytest.approx(exact.noise_variance_, rel=1e-3)
    few = mc.KernelRegression(mc.Gaussian(1.0), None, "constant", landmarks=8)
    few.fit(X, Y, WEIGHTS)
    smoother = clone(few).set_params(penalty=few.penalty_).fit(X, np.eye(60), WEIGHTS)
    freedom = float(np.trace(smoother.predict(X)))
    assert few.degrees_of_freedom_ == pytest.approx(freedom, rel=1e-9)
    mean_square = WEIGHTS @ (Y - few.predict(X)) ** 2 / WEIGHTS.sum()
    assert few.criterion_ == pytest.approx(mean_square / (1.0 - freedom / 60) ** 2, rel=1e-9)
    words = mc.KernelRegression(mc.kernels.StringSpectrum(2), 1e-2, landmarks=2)
    assert len(words.fit(["ab", "abab", "ba"], [1.0, 2.0, 0.0]).X_fit_) <= 2
    with pytest.raises(mc.errors.InvalidParameter, match="standard deviation"):
        model.predict(NEW, return_std=True)
    for change in ({"loss": "absolute"}, {"criterion": "reml"}):
        with pytest.raises(mc.errors.InvalidParameter, match="landmarks are for squared loss"):
            mc.KernelRegression(mc.Gaussian(1.0), 1e-2, landmarks=5, **change).fit(X, Y)  # type: ignore[arg-type]


def test_deviations_are_those_of_a_gaussian_process() -> None:
    model = mc.KernelRegression(mc.Gaussian(1.0), 1e-2).fit(X, Y)
    values, deviations = model.predict(NEW, return_std=True)
    process = GaussianProcessRegressor(RBF(1.0), alpha=60 * 1e-2, optimizer=None).fit(X, Y)
    expected, prior = process.predict(NEW, return_std=True)
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    scale = np.sqrt(model.noise_variance_ / (60 * 1e-2))
    np.testing.assert_allclose(deviations, scale * prior, rtol=1e-8)
    lower, upper = model.confidence_band(NEW, 0.9)
    np.testing.assert_allclose(upper - values, 1.6448536 * deviations, rtol=1e-6)
    np.testing.assert_allclose(values - lower, upper - values, rtol=1e-9)
    _, wide = model.confidence_band(NEW, 0.9, observation=True)
    total = np.sqrt(deviations**2 + model.noise_variance_)
    np.testing.assert_allclose(wide - values, 1.6448536 * total, rtol=1e-6)
    with pytest.raises(mc.errors.InvalidParameter, match="confidence"):
        model.confidence_band(NEW, 95.0)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.0, 3.0, 1.0, 1.0, 2.0, 0.5]])
def test_an_infinite_penalty_has_the_deviations_of_least_squares(weights: Any) -> None:
    x, y = np.linspace(-1.0, 1.0, 8)[:, None], np.array([0.0, 1.0, -1.0, 2.0, 0.0, 1.0, 0.5, 3.0])
    model = mc.KernelRegression(mc.Gaussian(1.0), np.inf, "linear").fit(x, y, weights)
    w = np.ones(8) if weights is None else np.array(weights)
    n, Q = np.count_nonzero(w), np.hstack([np.ones((8, 1)), x])
    w = w * n / w.sum()
    eta = np.linalg.solve(Q.T @ (w[:, None] * Q), Q.T @ (w * y))
    noise = float(w @ (y - Q @ eta) ** 2) / (n - 2)
    variance = noise * np.einsum("ij,jk,ik->i", Q, np.linalg.inv(Q.T @ (w[:, None] * Q)), Q)
    values, deviations = model.predict(x, return_std=True)
    np.testing.assert_allclose(values, Q @ eta, atol=1e-13)
    assert model.noise_variance_ == pytest.approx(noise, rel=1e-12)
    np.testing.assert_allclose(deviations, np.sqrt(variance), rtol=1e-12)
    twice = mc.KernelRegression(mc.Gaussian(1.0), np.inf, "linear").fit(x, np.c_[y, 2 * y], weights)
    double = twice.predict(x, return_std=True)[1]
    np.testing.assert_allclose(double, np.sqrt(variance)[:, None] * [1.0, 2.0], rtol=1e-12)
    alone = mc.KernelRegression(mc.Gaussian(1.0), np.inf).fit(x, y)
    np.testing.assert_array_equal(alone.predict(x, return_std=True)[1], 0.0)


def test_more_points_than_are_factored_have_no_estimate_of_the_noise(monkeypatch: Any) -> None:
    model = mc.KernelRegression(mc.Gaussian(1.0), 1e-2).fit(X, Y)
    monkeypatch.setattr(Saddle, "limits", SolveLimits(direct=50))
    with pytest.raises(mc.errors.InvalidParameter, match="up to 50 points, found 60"):
        model.predict(NEW, return_std=True)
    with pytest.raises(AttributeError, match="up to 50 points"):
        _ = model.degrees_of_freedom_


def test_an_interpolant_has_no_noise() -> None:
    x = np.linspace(-1.0, 1.0, 8)[:, None]
    assert mc.KernelRegression(mc.Matern(0.5, 1.0), 0.0).fit(x, x[:, 0]).noise_variance_ == 0.0


def test_intervals_of_observations_hold_as_many_as_they_say() -> None:
    rng = np.random.default_rng(17)
    x = rng.uniform(0.0, 6.0, (700, 1))
    y = np.sin(x[:, 0]) + 0.3 * rng.standard_normal(700)
    model = mc.KernelRegression(mc.Gaussian(1.0)).fit(x[:150], y[:150])
    spline = mc.SmoothingSpline().fit(x[:150], y[:150])
    for fitted in (model, spline):
        lower, upper = fitted.confidence_band(x[150:], 0.8, observation=True)
        share = np.mean((lower < y[150:]) & (y[150:] < upper))
        assert 0.72 < share < 0.88  # of 550 observations: the noise is estimated from 150


def test_points_of_any_kind_are_regressed() -> None:
    words = ["abab", "abba", "bbbb", "aaaa", "baba", "aabb"]
    counts = np.array([w.count("a") - 2.0 for w in words])
    shared = mc.FromFunction(lambda a, b: float(a.count("a") * b.count("a")))
    model = mc.KernelRegression(shared, 1e-6, "constant").fit(words, counts)
    np.testing.assert_allclose(model.predict(["aaab", "b"]), [1.0, -2.0], atol=1e-3)
    sets = [{1, 2}, {2}, {1, 3}, {3, 4}, set()]
    sizes = np.array([len(s) for s in sets], float)
    fitted = mc.KernelRegression(mc.kernels.Intersection(), 1e-8).fit(sets, sizes)
    np.testing.assert_allclose(fitted.predict([{1, 4}, {2, 3}]), [2.0, 2.0], atol=1e-4)


def test_a_precomputed_matrix_is_the_kernel() -> None:
    kernel = mc.Gaussian(1.0)
    weights = WEIGHTS.copy()
    weights[[3, 10]] = 0.0
    given_points = mc.KernelRegression(kernel, 1e-2, "constant").fit(X, Y, weights)
    given_matrix = mc.KernelRegression("precomputed", 1e-2, "constant").fit(kernel(X), Y, weights)
    np.testing.assert_allclose(
        given_matrix.predict(kernel(NEW, X)), given_points.predict(NEW), rtol=1e-10
    )
    chosen = [
        mc.KernelRegression("precomputed", criterion="cv").fit(kernel(X), Y),
        mc.KernelRegression(kernel, criterion="cv").fit(X, Y),
    ]
    assert chosen[0].penalty_ == chosen[1].penalty_
    with pytest.raises(mc.errors.InvalidParameter, match="precomputed"):
        mc.KernelRegression("precomputed", 1e-2, "linear").fit(kernel(X), Y)


@given(st.integers(0, 10**6), st.floats(-6.0, 1.0))
@settings(max_examples=25, deadline=None)
def test_the_null_space_is_reproduced_exactly(seed: int, power: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((15, 2))
    line = 3.0 - 2.0 * x[:, 0] + 0.5 * x[:, 1]
    model = mc.KernelRegression(mc.Gaussian(1.0), 10.0**power, "linear").fit(x, line)
    np.testing.assert_allclose(model.predict(NEW), 3.0 - 2.0 * NEW[:, 0] + 0.5 * NEW[:, 1])
    np.testing.assert_allclose(model.null_weights_, [3.0, -2.0, 0.5], rtol=1e-9)


def test_functions_of_the_null_space_may_be_any() -> None:
    def waves(points: Any) -> Array:
        column = np.asarray(points)[:, 0]
        return np.column_stack([np.sin(column), np.cos(column)])

    y = 2.0 * np.sin(X[:, 0]) - np.cos(X[:, 0]) + X[:, 1]
    spaces: list[Any] = [waves, [waves, lambda points: points[:, 1]]]
    for space, count in zip(spaces, (2, 3), strict=True):
        model = mc.KernelRegression(mc.Gaussian(1.0), 1e-3, space).fit(X, y)
        assert model.null_weights_.shape == (count,)
    np.testing.assert_allclose(model.null_weights_, [2.0, -1.0, 1.0], atol=1e-10)


def test_labels_that_the_null_space_separates_have_no_logistic_fit() -> None:
    separated = np.where(X[:, 0] > 0.3, 1.0, -1.0)
    with pytest.raises(mc.errors.InvalidInput, match="separates"):
        mc.KernelRegression(mc.Gaussian(1.0), 1e-2, "linear", "logistic").fit(X, separated)
    with pytest.raises(mc.errors.InvalidInput, match="separates"):
        mc.KernelRegression(mc.Gaussian(1.0), 1e-2, "constant", "logistic").fit(X, np.ones(60))
    model = mc.KernelRegression(mc.Gaussian(1.0), 1e-2, "constant", "logistic").fit(X, separated)
    assert model.gap_ - model.rounding_ <= 1e-8 * model.objective_
    assert model.gap_ <= 1e-6 * model.objective_
    hinge = mc.KernelRegression(mc.Gaussian(1.0), 1e-2, "linear", "hinge").fit(X, separated)
    np.testing.assert_array_equal(np.sign(hinge.predict(X)), separated)


def test_what_cannot_be_is_refused() -> None:
    kernel = mc.Gaussian(1.0)
    with pytest.raises(mc.errors.InvalidInput, match="labels -1 and 1, and y has"):
        mc.KernelRegression(kernel, 1e-2, loss="hinge").fit(X, Y)
    some, most = np.where(np.arange(60) % 9 == 0, 0.0, LABELS), np.arange(60) > 0
    with pytest.raises(mc.errors.InvalidInput, match="at row 9; "):
        mc.KernelRegression(kernel, 1e-2, loss="hinge").fit(X, some, most)
    with pytest.raises(mc.errors.InvalidParameter, match="loss must be one of"):
        mc.KernelRegression(kernel, 1e-2, loss="cubic").fit(X, Y)
    for penalty in (-1.0, np.nan, "much"):
        with pytest.raises(mc.errors.InvalidParameter, match="penalty"):
            mc.KernelRegression(kernel, penalty).fit(X, Y)  # type: ignore[arg-type]
    for penalty in (0.0, np.inf):
        with pytest.raises(mc.errors.InvalidParameter, match="penalty"):
            mc.KernelRegression(kernel, penalty, loss="absolute").fit(X, Y)
    for space in ("quadratic", 3, np.ones((60, 1)), ["constant"]):
        with pytest.raises(mc.errors.InvalidParameter, match="null_space must be None"):
            mc.KernelRegression(kernel, 1e-2, space).fit(X, Y)  # type: ignore[arg-type]
    for loss in LOSSES:
        nothing = mc.KernelRegression(kernel, 1e-2, lambda x: 0.0 * x[:, 0], loss)
        with pytest.raises(SingularSystem, match="dependent"):
            nothing.fit(X, targets(loss))
    with pytest.raises(mc.errors.InvalidParameter, match="each of 60 points"):
        mc.KernelRegression(kernel, 1e-2, lambda x: np.ones(3)).fit(X, Y)
    with pytest.raises(mc.errors.InvalidParameter, match="criterion must be"):
        mc.KernelRegression(kernel, criterion="aic").fit(X, Y)
    with pytest.raises(mc.errors.InvalidParameter, match="squared loss"):
        mc.KernelRegression(kernel, loss="hinge", criterion="gcv").fit(X, LABELS)
    with pytest.raises(SingularSystem, match="dependent"):
        mc.KernelRegression(kernel, 1e-2, "linear").fit(np.c_[X, X[:, 0]], Y)
    with pytest.raises(SingularSystem, match="null space"):
        mc.KernelRegression(mc.kernels.NegativeDistance(1.0), 1e-2).fit(X, Y)
    with pytest.raises(SingularSystem, match="larger penalty"):
        mc.KernelRegression(kernel, 0.0).fit(np.vstack([X, X]), np.append(Y, Y))
    with pytest.raises(mc.errors.InvalidInput, match="complex"):
        mc.KernelRegression(mc.kernels.FeatureMap(lambda x: x * 1j), 1e-2).fit(X, Y)
    with pytest.raises(mc.errors.InvalidParameter, match="quantile"):
        mc.KernelRegression(kernel, 1e-2, loss="quantile", quantile=1.0).fit(X, Y)
    model = mc.KernelRegression(kernel, 1e-2, loss="huber").fit(X, Y)
    with pytest.raises(mc.errors.InvalidParameter, match="Gaussian process"):
        model.predict(NEW, return_std=True)
    with pytest.raises(mc.errors.InvalidParameter, match="probability"):
        model.probability(NEW)
    with pytest.raises(AttributeError, match="squared"):
        _ = model.degrees_of_freedom_


def test_a_gap_that_stays_open_is_told() -> None:
    model = mc.KernelRegression(mc.Gaussian(1.0), 1e-3, loss="absolute", tol=1e-30)
    with pytest.warns(ConvergenceWarning, match="proved only to within"):
        model.fit(X, Y)


def test_conditionally_positive_kernels_are_thin_plates_of_their_kind() -> None:
    model = mc.KernelRegression(mc.kernels.NegativeDistance(1.0), 0.0, "constant").fit(X, Y)
    np.testing.assert_allclose(model.predict(X), Y, atol=1e-11)
    assert abs(model.dual_coef_.sum()) < 1e-11


def test_models_are_searched_cloned_and_pickled() -> None:
    model = mc.KernelRegression(mc.Gaussian(1.0), 1e-2, "constant")
    grid = {"kernel__bandwidth": [0.3, 1.0, 30.0], "penalty": [1e-3, 1e-1]}
    search = GridSearchCV(model, grid, cv=3).fit(X, Y)
    assert search.best_params_["kernel__bandwidth"] == 1.0
    fitted = clone(model).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(NEW), fitted.predict(NEW))
    before = X.copy(), Y.copy(), WEIGHTS.copy()
    mc.KernelRegression(loss="absolute", penalty=1.0).fit(X, Y, WEIGHTS)
    assert all(np.array_equal(a, b) for a, b in zip(before, (X, Y, WEIGHTS), strict=True))


@pytest.mark.parametrize("y", [Y, np.column_stack([Y, -Y])], ids=["one output", "two outputs"])
def test_a_model_that_was_stored_without_weights_for_the_host_predicts(y: Array) -> None:
    model = mc.KernelRegression(mc.Gaussian(1.0), 1e-2, "constant").fit(X, y)
    expected, score = model.predict(NEW, return_std=True), model.decomposition().gcv(1e-2)
    del model._alpha  # which models had not until they could be fitted on a device
    for found, value in zip(model.predict(NEW, return_std=True), expected, strict=True):
        assert np.array_equal(found, value)
    assert model.decomposition().gcv(1e-2) == score


UNEQUAL = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "weights are precisions for the rule of the bandwidth and for the criterion, which count "
    "observations",
)


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        mc.KernelRegression(),
        mc.KernelRegression(mc.Gaussian(2.0), 1e-2, "constant"),
        mc.KernelRegression(mc.Gaussian(2.0), 1e-2, loss="absolute"),
    ],
    expected_failed_checks=lambda model: {**LINE, **(UNEQUAL if model.penalty is None else {})},
)
def test_the_protocol_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


COUNTS = convex_loss(
    lambda y, f: np.exp(f) - y * f, lambda y, f: (np.exp(f) - y, np.exp(f)), name="counts"
)


def test_a_loss_of_ones_own_is_minimised_with_its_gap() -> None:
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 1.0, 40)[:, None]
    y = rng.poisson(np.exp(1.0 + np.sin(6.0 * x[:, 0]))).astype(float)
    for null_space in (None, "constant"):
        model = mc.KernelRegression(mc.Gaussian(0.3), 1e-3, null_space, loss=COUNTS).fit(x, y)
        assert model.gap_ <= 1e-8 * abs(model.objective_)
        f = model.predict(x)
        # The gradient in every section vanishes: p (e^f - y) + 2γα = 0.
        np.testing.assert_allclose((np.exp(f) - y) / 40 + 2e-3 * model.dual_coef_, 0.0, atol=3e-5)

        def objective(h: mc.Function, model: Any = model) -> float:
            free = model.null_weights_[0] if model.null_weights_.size else 0.0
            value = h(x) + free
            return float(np.mean(np.exp(value) - y * value) + 1e-3 * h.norm**2)

        best = objective(model.function_)
        assert best == pytest.approx(model.objective_, rel=1e-10)
        for _ in range(10):  # the representer theorem: nothing off the span is better
            other = model.function_ + mc.Function.at(mc.Gaussian(0.3), rng.uniform(0, 1, 1)) * 0.1
            assert objective(other) >= best - model.gap_


def test_losses_by_name_and_by_formula_have_the_same_minimum() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    squared = convex_loss(lambda y, f: (y - f) ** 2, lambda y, f: (2.0 * (f - y), 2.0 + 0.0 * f))
    a = mc.KernelRegression(mc.Gaussian(1.0), 0.1, "constant").fit(x, y)
    b = mc.KernelRegression(mc.Gaussian(1.0), 0.1, "constant", loss=squared).fit(x, y)
    np.testing.assert_allclose(a.predict(x), b.predict(x), atol=1e-10)
    logistic = convex_loss(
        lambda y, f: np.logaddexp(0.0, -y * f),
        lambda y, f: (-y * expit(-y * f), y * y * expit(-y * f) * expit(y * f)),
    )
    labels = np.sign(y)
    c = mc.KernelRegression(mc.Gaussian(1.0), 0.01, loss="logistic").fit(x, labels)
    d = mc.KernelRegression(mc.Gaussian(1.0), 0.01, loss=logistic).fit(x, labels)
    assert abs(c.objective_ - d.objective_) <= c.gap_ + d.gap_


@pytest.mark.parametrize(
    ("value", "slopes", "conjugate", "inside"),
    [
        (lambda y, f: (f - y) ** 2, lambda y, f: (2 * (f - y), 2 + 0 * f),
         lambda y, s: s * y + s * s / 4, (-3.0, 3.0)),
        (lambda y, f: np.exp(f) - y * f, lambda y, f: (np.exp(f) - y, np.exp(f)),
         lambda y, s: (s + y) * np.log(s + y) - (s + y), (0.1, 3.0)),
        (lambda y, f: np.sqrt(1 + (f - y) ** 2),
         lambda y, f: ((f - y) / np.sqrt(1 + (f - y) ** 2), (1 + (f - y) ** 2) ** -1.5),
         lambda y, s: s * y - np.sqrt(1 - s * s), (-0.95, 0.95)),
    ],
)  # fmt: skip
def test_a_conjugate_that_is_not_given_is_found(
    value: Any, slopes: Any, conjugate: Any, inside: tuple[float, float]
) -> None:
    loss = convex_loss(value, slopes)
    s, y = np.linspace(*inside, 30), np.linspace(0.2, 2.0, 30)
    np.testing.assert_allclose(loss.conjugate(y, s), conjugate(y, s), rtol=1e-9, atol=1e-9)
    f = np.linspace(-2.0, 2.0, 30)  # Young and Fenchel
    assert np.all(loss.value(y, f) + loss.conjugate(y, s) >= s * f - 1e-9)
    given = convex_loss(value, slopes, conjugate)
    np.testing.assert_array_equal(given.conjugate(y, s), conjugate(y, s))


def test_a_derivative_that_is_never_reached_has_an_infinite_conjugate() -> None:
    assert np.isinf(COUNTS.conjugate(np.array([1.0]), np.array([-2.0])))[0]


def test_losses_that_are_not_convex_or_have_wrong_derivatives_are_refused() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="not convex"):
        convex_loss(lambda y, f: -(f**2), lambda y, f: (-2 * f, -2 + 0 * f))
    with pytest.raises(mc.errors.InvalidParameter, match="differences of the loss"):
        convex_loss(lambda y, f: (f - y) ** 2, lambda y, f: (f - y, 1 + 0 * f))
    with pytest.raises(mc.errors.InvalidParameter, match="one number for each"):
        convex_loss(lambda y, f: np.zeros(1), lambda y, f: (np.zeros(1), np.zeros(1)))
    with pytest.raises(mc.errors.InvalidParameter, match="or a convex_loss"):
        mc.KernelRegression(mc.Gaussian(1.0), 0.1, loss="poisson").fit([[0.0], [1.0]], [0.0, 1.0])
