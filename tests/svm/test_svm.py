from __future__ import annotations

import pickle
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, minimize
from sklearn import svm as libsvm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer import datasets
from mercer.check import Array
from mercer.store import save
from mercer.svm.classifier import couple_probabilities, fit_sigmoid
from mercer.svm.margins import separate_by_cost, separate_by_share
from mercer.svm.quadratic import Point, Program, polish
from tests.oracles import LINE
from tests.references import reference

RNG = np.random.default_rng(6)
X = RNG.standard_normal((80, 2))
Y = np.where(np.sin(3.0 * X[:, 0]) + X[:, 1] + 0.4 * RNG.standard_normal(80) > 0, 1, -1)
NEW = RNG.standard_normal((15, 2))
FILE = reference("svm_iris_rbf")
IRIS, SPECIES = np.array(FILE["X"], dtype=float), np.array(FILE["y"])


def test_the_petals_of_iris_have_the_exact_decisions() -> None:
    exact = FILE["exact"]
    model = mc.SVC(mc.Gaussian(1.0), C=1.0).fit(IRIS, SPECIES)
    np.testing.assert_allclose(model.decision_function(IRIS), exact["decision"], atol=1e-13)
    assert model.support_.tolist() == exact["support_0based"]
    np.testing.assert_allclose(
        model.dual_coef_[0, model.support_], exact["y_alpha"], rtol=0, atol=1e-13
    )
    assert model.intercept_[0] == pytest.approx(exact["intercept"], abs=1e-13)
    assert model.objective_ == pytest.approx(exact["primal_objective"], rel=1e-14)
    assert model.gap_ - model.rounding_ <= 1e-14 * model.objective_
    assert model.gap_ <= 1e-12 * model.objective_  # with all that rounding can have done


def test_graveyard_51_a_matrix_in_single_precision_is_found_out() -> None:
    """libsvm keeps the Gram matrix in single precision: its decisions are off by 9e-8 here."""
    exact = np.array(FILE["exact"]["decision"])
    K = mc.Gaussian(1.0)(IRIS)
    peer = libsvm.SVC(kernel="precomputed", tol=1e-12).fit(K, SPECIES)
    rounded = mc.SVC("precomputed").fit(K.astype(np.float32).astype(float), SPECIES)
    wrong = rounded.decision_function(K)
    assert np.max(np.abs(peer.decision_function(K) - exact)) > 5e-8
    assert np.max(np.abs(wrong - exact)) > 5e-8
    np.testing.assert_allclose(peer.decision_function(K), wrong, atol=2e-8)
    right = mc.SVC("precomputed").fit(K, SPECIES).decision_function(K)
    np.testing.assert_allclose(right, exact, atol=1e-13)


def satisfies_the_conditions(model: mc.SVC, K: Array, y: Array, costs: Array) -> None:
    """Karush, Kuhn and Tucker: margins at 1 between the bounds, beyond at 0, inside at C."""
    beta = np.zeros(len(y))
    beta[:] = model.dual_coef_[0]
    margins = y * (K @ beta + model.intercept_[0])
    alpha = y * beta
    size = 1e-11 * (1.0 + float(np.sum(np.abs(beta))) * float(np.max(np.abs(K))))
    assert np.all((alpha >= 0) & (alpha <= costs))
    assert abs(float(beta.sum())) <= size
    assert np.all(margins[alpha == 0] >= 1 - size)
    assert np.all(margins[alpha == costs] <= 1 + size)
    inside = (alpha > 0) & (alpha < costs)
    assert np.all(np.abs(margins[inside] - 1) <= size)


KERNELS = [
    mc.Gaussian(0.5),
    mc.Gaussian(5.0),
    mc.Linear(),
    mc.Polynomial(degree=2),
    mc.Laplacian(1.0) + mc.Linear(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
def test_the_conditions_of_optimality_hold(kernel: mc.Kernel, C: float) -> None:
    model = mc.SVC(kernel, C=C).fit(X, Y)
    satisfies_the_conditions(model, kernel(X), Y, np.full(80, C))
    assert model.gap_ - model.rounding_ <= 1e-10 * model.objective_
    assert 0.0 < model.rounding_ <= model.gap_ <= 1e-7 * model.objective_
    if C <= 1.0:  # with a large cost libsvm takes very long, or stops early
        peer = libsvm.SVC(kernel="precomputed", C=C, tol=1e-7).fit(kernel(X), Y)
        np.testing.assert_allclose(
            model.decision_function(NEW), peer.decision_function(kernel(NEW, X)), atol=1e-4
        )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.booleans()), min_size=2, max_size=25
    ),
    st.sampled_from(KERNELS),
    st.sampled_from([0.05, 1.0, 40.0]),
)
def test_repeated_and_contradicting_points_have_an_optimum_too(
    rows: list[tuple[int, int, bool]], kernel: mc.Kernel, C: float
) -> None:
    points = np.array([row[:2] for row in rows], dtype=float)
    y = np.where([row[2] for row in rows], 1, -1)
    if len(set(y.tolist())) < 2:
        return
    model = mc.SVC(kernel, C=C).fit(points, y)
    satisfies_the_conditions(model, kernel(points), y, np.full(len(y), C))
    assert model.gap_ <= 1e-9 * max(model.objective_, 1e-6)


def test_the_conditions_fail_for_a_planted_mistake() -> None:
    model = mc.SVC(mc.Gaussian(0.5)).fit(X, Y)
    K = mc.Gaussian(0.5)(X)
    satisfies_the_conditions(model, K, Y, np.ones(80))
    model.intercept_ = model.intercept_ + 1e-6
    with pytest.raises(AssertionError):
        satisfies_the_conditions(model, K, Y, np.ones(80))
    model.intercept_ = model.intercept_ - 1e-6
    with pytest.raises(AssertionError):
        satisfies_the_conditions(model, K.astype(np.float32).astype(float), Y, np.ones(80))


def test_the_order_of_the_points_does_not_matter() -> None:
    order = RNG.permutation(80)
    one = mc.SVC(mc.Gaussian(0.7), C=3.0).fit(X, Y)
    other = mc.SVC(mc.Gaussian(0.7), C=3.0).fit(X[order], Y[order])
    np.testing.assert_allclose(one.decision_function(NEW), other.decision_function(NEW), atol=1e-11)


def test_labels_exchanged_change_the_sign() -> None:
    one = mc.SVC(mc.Gaussian(0.7)).fit(X, Y).decision_function(NEW)
    np.testing.assert_allclose(mc.SVC(mc.Gaussian(0.7)).fit(X, -Y).decision_function(NEW), -one)


def test_without_a_free_support_vector_the_intercept_is_the_middle_of_its_interval() -> None:
    points, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([-1, -1, 1, 1])
    model = mc.SVC(mc.Linear(), C=0.05).fit(points, y)
    np.testing.assert_allclose(np.abs(model.dual_coef_[0]), 0.05)
    low, high = model.intercept_intervals_[0]
    h = 0.05 * 6.0
    np.testing.assert_allclose([low, high], [-(1 - 2 * h), 1 - 2 * h], atol=1e-14)
    assert model.intercept_[0] == pytest.approx(0.0, abs=1e-15)

    def objective(b: float) -> float:
        return 0.5 * h * h + 0.05 * float(np.sum(np.maximum(0, 1 - y * (h * points[:, 0] + b))))

    values = [objective(b) for b in (low, 0.0, high)]
    np.testing.assert_allclose(values, model.objective_, rtol=1e-14)
    assert objective(high + 1e-3) > model.objective_


def test_a_hard_margin_is_the_largest_distance() -> None:
    """Gallier and Quaintance, chapter 54: max δ under wᵀw <= 1 is min ½wᵀw with δ = 1/‖w‖."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [4.0, 4.0]])
    y = np.array([-1, -1, 1, 1])
    model = mc.SVC(mc.Linear(), C=1e6).fit(points, y)

    def worst(parameters: Array) -> float:
        w = np.array([np.cos(parameters[0]), np.sin(parameters[0])])
        heights = points @ w
        return -0.5 * float(heights[y > 0].min() - heights[y < 0].max())

    angles = np.linspace(0, 2 * np.pi, 2001)
    best = angles[int(np.argmin([worst(np.array([a])) for a in angles]))]
    widest = -minimize(worst, [best], method="Nelder-Mead", options={"xatol": 1e-12}).fun
    assert model.separators_[0].margin == pytest.approx(widest, rel=1e-8)
    w = model.dual_coef_[0] @ points
    assert model.separators_[0].margin == pytest.approx(1.0 / np.linalg.norm(w), rel=1e-12)


@pytest.mark.parametrize("nu", [0.2, 0.4, 0.6])
def test_the_form_with_a_share_agrees_with_libsvm_and_keeps_its_promise(nu: float) -> None:
    kernel = mc.Gaussian(0.7)
    model = mc.SVC(kernel, nu=nu).fit(X, Y)
    peer = libsvm.NuSVC(nu=nu, kernel="precomputed", tol=1e-7).fit(kernel(X), Y)
    np.testing.assert_allclose(
        model.decision_function(NEW), peer.decision_function(kernel(NEW, X)), atol=1e-4
    )
    assert model.gap_ - model.rounding_ <= 1e-12 * abs(model.objective_)
    assert model.gap_ <= 1e-9 * abs(model.objective_)
    margins = Y * model.decision_function(X)
    assert np.mean(margins < 1 - 1e-9) <= nu <= len(model.support_) / 80 + 1e-12


def test_the_margin_form_of_the_text_is_the_one_with_a_share() -> None:
    """Minimising -δ + K Σξ under ‖w‖ <= 1 has K = 1/(νn); no direction on a circle does better."""
    nu = 0.5
    model = mc.SVC(mc.Linear(), nu=nu).fit(X, Y)
    separator = model.separators_[0]
    w = separator.weights @ X

    def objective(w: Array, b: float, delta: float) -> float:
        slack = np.maximum(0.0, delta - Y * (X @ w + b))
        return -delta + float(slack.sum()) / (nu * 80)

    unit = w / np.linalg.norm(w)
    best = objective(unit, separator.intercept / float(np.linalg.norm(w)), separator.margin)
    for angle in np.linspace(-0.5, 0.5, 21):
        turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ unit

        def at(p: Array, direction: Array = turned) -> float:
            return objective(direction, p[0], p[1])

        start = [separator.intercept, separator.margin]
        assert minimize(at, start, method="Nelder-Mead").fun >= best - 1e-9


def test_both_forms_are_one_problem() -> None:
    """Decisions of the form with ν are those with C = 1/ρ (Schölkopf et al. 2000, Prop. 13)."""
    kernel = mc.Gaussian(0.7)
    K, y = kernel(X), Y.astype(float)
    share = separate_by_share(K, y, np.ones(80), 0.4)
    C = float(np.max(np.abs(share.weights)))
    cost = separate_by_cost(K, y, np.full(80, C))
    np.testing.assert_allclose(K @ cost.weights, K @ share.weights, atol=1e-9)


def test_an_impossible_share_is_refused() -> None:
    y = np.where(np.arange(80) < 8, 1, -1)
    with pytest.raises(
        mc.errors.InvalidParameter, match=r"nu = 0.5 is infeasible: .* 0.2 at the most"
    ):
        mc.SVC(mc.Gaussian(1.0), nu=0.5).fit(X, y)
    with pytest.raises(mc.errors.InvalidParameter, match="at most 1"):
        mc.SVC(mc.Gaussian(1.0), nu=1.5).fit(X, Y)


def test_a_share_below_the_overlap_of_the_classes_is_refused() -> None:
    points = np.tile(X, (2, 1))
    y = np.repeat([1, -1], 80)
    y[:10], y[80:90] = -1, 1
    with pytest.raises(mc.errors.InvalidParameter, match=r"leaves no margin: .* Take a larger nu"):
        mc.SVC(mc.Linear(), nu=0.3).fit(points, y)


def test_several_classes_are_compared_pair_by_pair() -> None:
    names = np.array(["b", "a", "c"])[np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])]
    model = mc.SVC(mc.Gaussian(1.0), C=2.0, decision_function_shape="ovo").fit(X, names)
    peer = libsvm.SVC(C=2.0, gamma=0.5, tol=1e-8, decision_function_shape="ovo").fit(X, names)
    ours, theirs = model.decision_function(NEW), peer.decision_function(NEW)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    kernel = mc.Gaussian(1.0)(NEW, X)
    np.testing.assert_allclose(kernel @ model.dual_coef_.T + model.intercept_, ours, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-5)
    assert model.n_support_.tolist() == peer.n_support_.tolist()
    assert set(model.support_) == set(peer.support_)
    wide = clone(model).set_params(decision_function_shape="ovr").fit(X, names)
    peer.set_params(decision_function_shape="ovr")
    np.testing.assert_allclose(wide.decision_function(NEW), peer.decision_function(NEW), atol=1e-5)
    assert np.array_equal(wide.predict(NEW), peer.predict(NEW))
    assert np.array_equal(
        wide.predict(NEW), wide.classes_[np.argmax(wide.decision_function(NEW), axis=1)]
    )


def test_weights_are_repetitions() -> None:
    counts = RNG.integers(0, 3, 80)
    weighted = mc.SVC(mc.Gaussian(0.7)).fit(X, Y, sample_weight=counts)
    repeated = mc.SVC(mc.Gaussian(0.7)).fit(np.repeat(X, counts, 0), np.repeat(Y, counts))
    np.testing.assert_allclose(
        weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e-10
    )


def test_points_of_any_kind_are_separated() -> None:
    words = ["gattaca", "gattata", "cccgg", "ccgcg"]
    model = mc.SVC(mc.kernels.StringSpectrum(2).normalised(), C=10.0).fit(words, [0, 0, 1, 1])
    assert model.predict(["gattagatta", "cccc"]).tolist() == [0, 1]
    graphs = [mc.Graph([(i, i + 1) for i in range(n)], labels=["a"] * (n + 1)) for n in (2, 3)]
    rings = [mc.Graph([(i, (i + 1) % n) for i in range(n)], labels=["a"] * n) for n in (4, 5)]
    model = mc.SVC(mc.kernels.WeisfeilerLehman(2), C=10.0).fit(graphs + rings, [0, 0, 1, 1])
    assert model.predict(graphs + rings).tolist() == [0, 0, 1, 1]
    function = mc.SVC(lambda a, b: float(np.exp(-((a - b) @ (a - b)) / 2)), C=1.0)
    values = function.fit(IRIS, SPECIES).decision_function(IRIS)
    np.testing.assert_allclose(values, FILE["exact"]["decision"], atol=1e-12)


def test_a_conditionally_positive_definite_kernel_is_enough() -> None:
    """Weights sum to zero: k and its centred form decide alike."""
    kernel = mc.kernels.NegativeDistance(1.0)
    one = mc.SVC(kernel, C=2.0).fit(X, Y).decision_function(NEW)
    other = mc.SVC(kernel.centred(X), C=2.0).fit(X, Y).decision_function(NEW)
    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_units_do_not_matter(scale: float) -> None:
    one = mc.SVC(mc.Linear(), C=1.0).fit(X, Y).decision_function(NEW)
    other = mc.SVC(mc.Linear(), C=1.0 / scale**2).fit(scale * X, Y).decision_function(scale * NEW)
    np.testing.assert_allclose(other, one, atol=1e-9)


def test_a_program_is_solved_from_any_feasible_start() -> None:
    factor = RNG.standard_normal((12, 5))
    K, b = factor @ factor.T, RNG.standard_normal(12)
    groups = np.arange(12) % 2
    program = Program(K, b, np.full(12, -1.0), np.full(12, 2.0), groups)

    def objective(beta: Array) -> float:
        return 0.5 * float(beta @ K @ beta) - float(b @ beta)

    ends = []
    for seed in range(5):
        start = np.random.default_rng(seed).uniform(-1, 1, 12)
        for g in (0, 1):
            start[groups == g] -= start[groups == g].mean()
        start *= 0.5
        point = polish(program, start)
        ends.append(objective(point.beta))
        assert point.violation <= 1e-12
        assert np.all((point.beta >= -1) & (point.beta <= 2))
    sums = np.array([groups == 0, groups == 1], dtype=float)
    peer = minimize(
        objective,
        np.zeros(12),
        jac=program.gradient,
        method="trust-constr",
        bounds=Bounds(np.full(12, -1.0), np.full(12, 2.0)),
        constraints=LinearConstraint(sums, 0.0, 0.0),
        options={"gtol": 1e-10, "xtol": 1e-12, "maxiter": 3000},
    )
    np.testing.assert_allclose(ends, peer.fun, rtol=1e-6)
    assert max(ends) <= peer.fun + 1e-12
    assert max(ends) - min(ends) <= 1e-12 * abs(ends[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0.0}, "C must be a number > 0"),
        ({"C": np.nan}, "C must be a number"),
        ({"class_weight": "even"}, "class_weight must be one of 'balanced', None"),
        ({"class_weight": {-1: 0.0}}, "class_weight must be a number > 0"),
        ({"class_weight": {2: 1.0}}, "class_weight names 2, which is none of the classes: -1, 1"),
        ({"nu": -0.1}, "nu must be a number"),
        ({"decision_function_shape": "both"}, "decision_function_shape"),
    ],
)
def test_parameters_outside_their_domain_are_refused(change: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        mc.SVC(mc.Gaussian(1.0)).set_params(**change).fit(X, Y).decision_function(X)


def test_labels_and_weights_that_cannot_be_used_are_refused() -> None:
    model = mc.SVC(mc.Gaussian(1.0))
    with pytest.raises(mc.errors.InvalidInput, match="one class"):
        model.fit(X, np.ones(80))
    with pytest.raises(mc.errors.InvalidInput, match="79 labels for 80 points"):
        model.fit(X, Y[1:])
    with pytest.raises(mc.errors.InvalidInput, match="smallest is -1 at row 3"):
        model.fit(X, Y, sample_weight=np.where(np.arange(80) == 3, -1.0, 1.0))
    with pytest.raises(mc.errors.InvalidInput, match="no point of positive weight"):
        model.fit(X, Y, sample_weight=(Y > 0).astype(float))
    with pytest.raises(mc.errors.InvalidInput, match=r"modulus of sample_weight is 1e\+200"):
        model.fit(X, Y, sample_weight=np.full(80, 1e200))
    one, other = (
        mc.SVC(mc.Gaussian(1.0), nu=0.3).fit(X, Y, np.full(80, unit)).decision_function(NEW)
        for unit in (1.0, 1e100)
    )
    np.testing.assert_allclose(other, one, atol=1e-10)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "b", None, "a"], "y, row 2 holds None"),
        (np.array([0.0, 1.0, 0.0, np.nan]), "y, row 3 holds NaN"),
        (np.array([0.0, np.inf, 0.0, 1.0]), "y, row 1 holds inf"),
        (np.array(["a", np.nan, "a", "b"], dtype=object), "y, row 1 holds NaN"),
        (np.array(["a", 1, "a", 1], dtype=object), "mixes labels of the types int, str"),
        ([0.5, 1.5, 0.5, 0.7], "Unknown label type: continuous"),
        ("ab", "a label for each point"),
    ],
)
def test_labels_that_are_none_are_named(labels: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        mc.SVC(mc.Gaussian(1.0)).fit(X[:4], labels)


def test_an_indefinite_matrix_proves_nothing() -> None:
    """The conditions of an optimum hold at many points of a program that is not convex."""
    indefinite = np.diag(np.where(np.arange(80) % 2, 1.0, -1.0)) + mc.Gaussian(1.0)(X)
    with pytest.warns(ConvergenceWarning, match="not positive definite on these points"):
        model = mc.SVC("precomputed").fit(indefinite, Y)
    assert model.gap_ == np.inf
    function = mc.FromFunction(lambda a, b: -float(a @ b))
    with pytest.warns(ConvergenceWarning, match="not positive definite on these points"):
        assert mc.SVC(function).fit(X, Y).gap_ == np.inf
    rounded = mc.Gaussian(1.0)(X).astype(np.float32)
    assert mc.SVC("precomputed").fit(rounded, Y).gap_ < 1e-10


@pytest.mark.parametrize("parameters", [{"C": 1.0}, {"nu": 0.4}])
def test_the_gap_of_what_is_no_optimum_is_honest(parameters: Any, monkeypatch: Any) -> None:
    """Every feasible point, with any intercept, has a gap that its excess does not exceed."""
    best = mc.SVC(mc.Gaussian(0.7), **parameters).fit(X, Y)
    assert best.gap_ - best.rounding_ <= 1e-12 * abs(best.objective_)

    def early(program: Program, beta: Array) -> Point:
        """The optimum moved to the middle of the bounds, the sums of the groups kept."""
        point = polish(program, beta)
        sums = program.groups[None, :] == np.unique(program.groups)[:, None]
        middle = sums.T @ (sums @ point.beta / sums.sum(axis=1))
        moved = 0.9 * point.beta + 0.1 * middle
        moved = np.clip(moved, program.lower, program.upper)
        return Point(moved, point.intervals, 0.0, 1)

    monkeypatch.setattr("mercer.svm.margins.polish", early)
    with pytest.warns(ConvergenceWarning, match="proved only to within"):
        model = mc.SVC(mc.Gaussian(0.7), **parameters).fit(X, Y)
    excess = model.objective_ - best.objective_
    assert 1e-6 < excess <= model.gap_ * (1.0 + 1e-9)


def exact_decisions(model: mc.SVC, K: Array, y: Array, new: Array) -> Array:
    """Decisions in 40 digits: the bounds as found, the equations of the others solved."""
    separator = model.separators_[0]
    beta, margins = separator.weights, y * (K @ separator.weights + separator.intercept)
    most = float(np.max(np.abs(beta)))
    is_bound = np.isclose(np.abs(beta), most, rtol=1e-12)
    free = np.flatnonzero((beta != 0) & ~is_bound)
    with mpmath.workdps(40):
        # Margins of the free ones are 1 and weights sum to zero; those at the cost keep it.
        left = mpmath.matrix(len(free) + 1)
        right = mpmath.matrix(len(free) + 1, 1)
        for i, row in enumerate(free):
            for j, column in enumerate(free):
                left[i, j] = mpmath.mpf(float(K[row, column]))
            left[i, len(free)] = left[len(free), i] = 1
            known = mpmath.fdot(
                (float(K[row, c]), float(beta[c])) for c in np.flatnonzero(is_bound)
            )
            right[i] = int(y[row]) - known
        right[len(free)] = -mpmath.fsum(map(float, beta[is_bound]))
        solution = mpmath.lu_solve(left, right)
        weights = [mpmath.mpf(float(b)) for b in beta]
        for i, row in enumerate(free):
            weights[row] = solution[i]
        # The solution is an optimum, and so the only one: all conditions hold strictly.
        assert all(0 < weights[row] * int(y[row]) < most for row in free)
        assert np.all(margins[beta == 0] > 1)
        assert np.all(margins[is_bound] < 1)
        values = [mpmath.fdot(zip(map(float, k), weights, strict=True)) for k in new]
        return np.array([float(value + solution[len(free)]) for value in values])


@pytest.mark.parametrize("parameters", [{"C": 1.0}, {"C": 100.0}])
def test_decisions_are_those_of_forty_digits(parameters: Any) -> None:
    kernel = mc.Gaussian(0.7)
    model = mc.SVC(kernel, **parameters).fit(X, Y)
    exact = exact_decisions(model, kernel(X), Y, kernel(NEW, X))
    np.testing.assert_allclose(model.decision_function(NEW), exact, atol=1e-10)


def test_probabilities_are_those_of_a_calibrated_sigmoid() -> None:
    """On points held out the mean of p is the share of the class, and p orders as f does."""
    rng = np.random.default_rng(11)
    x = rng.standard_normal((160, 1))
    truth = 1.0 / (1.0 + np.exp(-2.0 * x[:, 0]))
    y = np.where(rng.uniform(size=160) < truth, "yes", "no")
    model = mc.SVC(mc.Linear(), probability=True).fit(x, y)
    p = model.predict_proba(x)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(np.argsort(p[:, 1]) == np.argsort(model.decision_function(x)))
    assert np.mean(np.abs(p[:, 1] - truth)) < 0.06
    peer = CalibratedClassifierCV(mc.SVC(mc.Linear()), method="sigmoid", ensemble=False, cv=5)
    np.testing.assert_allclose(p, peer.fit(x, y).predict_proba(x), atol=0.05)


def test_probabilities_come_from_points_held_out() -> None:
    """Labels by chance are separated by a narrow kernel, and nothing is known of a new one."""
    labels = np.random.default_rng(14).choice([-1, 1], 80)
    model = mc.SVC(mc.Gaussian(0.3), C=1e4, probability=True).fit(X, labels)
    assert np.all(model.predict(X) == labels)
    assert np.max(np.abs(model.predict_proba(X) - 0.5)) < 0.2


def test_platts_sigmoid_is_the_minimum_of_its_likelihood() -> None:
    rng = np.random.default_rng(12)
    f, y, w = rng.standard_normal(50), rng.choice([-1.0, 1.0], 50), rng.uniform(0.5, 2.0, 50)
    of = fit_sigmoid(f, y, w)
    above, below = w[y > 0].sum(), w[y < 0].sum()
    t = np.where(y > 0, (above + 1) / (above + 2), 1 / (below + 2))
    slope = np.array([w @ ((of(f) - t) * f), w @ (of(f) - t)])
    np.testing.assert_allclose(slope, 0.0, atol=1e-7)
    whole = np.array([1.0, 3.0] * 25)
    twice = np.repeat(np.arange(50), whole.astype(int))
    repeated = fit_sigmoid(f[twice], y[twice], np.ones(len(twice)))
    assert fit_sigmoid(f, y, whole).slope == pytest.approx(repeated.slope, rel=1e-6)
    apart = fit_sigmoid(1e3 * y, y, np.ones(50))
    assert 0.0 < apart.slope < np.inf


def test_coupled_probabilities_return_those_that_made_the_pairs() -> None:
    p = np.random.default_rng(13).dirichlet(np.ones(4), 20)
    r = p[:, :, None] / (p[:, :, None] + p[:, None, :])
    np.testing.assert_allclose(couple_probabilities(r), p, atol=1e-12)


def test_probabilities_of_several_classes_and_who_has_none() -> None:
    iris: Any = datasets.iris()
    x, y = iris.matrix()[::3], iris.colour.values[::3]
    model = mc.SVC(mc.Gaussian(1.0), probability=True).fit(x, y)
    p = model.predict_proba(x)
    assert p.shape == (50, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert np.mean(model.classes_[p.argmax(axis=1)] == y) > 0.9
    again = mc.SVC("precomputed", probability=True).fit(mc.Gaussian(1.0)(x), y)
    np.testing.assert_allclose(again.predict_proba(mc.Gaussian(1.0)(x)), p, atol=1e-9)
    share = mc.SVC(mc.Gaussian(1.0), nu=0.2, probability=True).fit(x, y)
    assert np.mean(share.classes_[share.predict_proba(x).argmax(axis=1)] == y) > 0.9
    assert not hasattr(mc.SVC(), "predict_proba")
    with pytest.raises(mc.errors.InvalidInput, match="one point alone"):
        mc.SVC(probability=True).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.raises(mc.errors.InvalidParameter, match="probability must be True or False"):
        mc.SVC().set_params(probability="yes").fit(x, y)


def test_it_goes_through_pipelines_grids_and_files(tmp_path: Any) -> None:
    pipeline = make_pipeline(StandardScaler(), mc.SVC(mc.Gaussian(1.0)))
    grid = GridSearchCV(
        pipeline, {"svc__kernel__bandwidth": [0.3, 1.0], "svc__C": [1.0, 10.0]}, cv=3
    ).fit(X, Y)
    assert set(grid.best_params_) == {"svc__kernel__bandwidth", "svc__C"}
    model = mc.SVC(mc.Gaussian(0.7)).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(NEW), model.decision_function(NEW))
    save(model, tmp_path / "margin.mercer")
    loaded = mc.load(tmp_path / "margin.mercer")
    np.testing.assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))
    given = clone(model).fit(X, Y)
    np.testing.assert_array_equal(given.decision_function(NEW), model.decision_function(NEW))


MARGINS = "predictions are those of the margins, which near to 1/2 are not those of probabilities"
UNEQUAL = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "the median of the distances counts repeated rows and does not know of weights",
)
OVERLAP = dict.fromkeys(
    ("check_estimator_sparse_tag", "check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "the classes of these data overlap in more than nu = 0.1 of the points, which is refused",
)


INFEASIBLE = {
    "check_class_weight_classifiers": (
        "classes of the weights 1000 and 0.0001 have no part of which the share nu is both"
    )
}


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [mc.SVC(), mc.SVC(mc.Gaussian(1.0), nu=0.1), mc.SVC(probability=True)],
    expected_failed_checks=lambda model: {
        **LINE,
        **(UNEQUAL if model.nu is None else {**OVERLAP, **INFEASIBLE}),
        **({"check_classifiers_train": MARGINS} if model.probability else {}),
    },
)
def test_the_protocol_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


def test_linear_margins_are_the_same_from_anywhere() -> None:
    rng = np.random.default_rng(0)
    x = np.round(2.0**16 * rng.standard_normal((60, 2))) / 2.0**16
    y = x[:, 0] + 0.5 * rng.standard_normal(60) > 0.0
    near = mc.SVC(mc.Linear(), C=10.0).fit(x, y)
    far = mc.SVC(mc.Linear(), C=10.0).fit(x + 1e7, y)
    np.testing.assert_allclose(
        far.decision_function(x + 1e7), near.decision_function(x), rtol=1e-10, atol=1e-12
    )
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-12)
    slope = x.T @ far.dual_coef_[0]
    by_weights = (x + 1e7) @ slope + far.intercept_[0]
    np.testing.assert_allclose(by_weights, near.decision_function(x), atol=1e-6)


def test_a_hard_margin_has_no_point_inside() -> None:
    """With C = inf the objective is ½‖h‖² and every margin 1 at least; a large C comes near."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [4.0, 4.0]])
    y = np.array([-1, -1, 1, 1])
    model = mc.SVC(mc.Linear(), C=np.inf).fit(points, y)
    assert np.all(y * model.decision_function(points) >= 1.0 - 1e-14)
    assert np.all(model.slacks_ <= 1e-14)
    assert model.gap_ <= 1e-13
    w = model.dual_coef_[0] @ points
    assert model.objective_ == pytest.approx(0.5 * float(w @ w), rel=1e-13)
    soft = mc.SVC(mc.Linear(), C=1e6).fit(points, y)
    np.testing.assert_allclose(
        model.decision_function(NEW), soft.decision_function(NEW), rtol=1e-12, atol=1e-12
    )
    by_chance = np.random.default_rng(1).choice([-1, 1], 80)
    wild = mc.SVC(mc.Gaussian(0.3), C=np.inf).fit(X, by_chance)
    assert np.min(by_chance * wild.decision_function(X)) >= 1.0 - 1e-10
    assert wild.gap_ - wild.rounding_ <= 1e-10 * wild.objective_
    assert wild.rounding_ <= 1e-7 * wild.objective_


def test_a_hard_margin_of_what_cannot_be_separated_is_refused() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="give a finite C"):
        mc.SVC(mc.Linear(), C=np.inf).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    with pytest.raises(mc.errors.InvalidParameter, match="give a finite C"):
        mc.SVC(mc.Gaussian(1.0), C=np.inf).fit([[0.0], [0.0], [1.0]], [0, 1, 1])


@pytest.mark.parametrize("weights", [{1: 3.0}, {1: 0.5, -1: 2.0}, "balanced"])
@pytest.mark.parametrize("parameters", [{"C": 1.0}, {"nu": 0.05}])
def test_class_weights_multiply_the_costs(weights: Any, parameters: Any) -> None:
    y = np.where(np.arange(80) % 4 == 0, Y, np.abs(Y))  # classes of unequal size
    model = mc.SVC(mc.Gaussian(0.7), class_weight=weights, **parameters).fit(X, y)
    if weights == "balanced":
        np.testing.assert_allclose(model.class_weight_, 40.0 / np.unique(y, return_counts=True)[1])
        counts = RNG.integers(1, 3, 80)
        given = clone(model).fit(X, y, sample_weight=counts)
        repeated = clone(model).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
        np.testing.assert_allclose(
            given.decision_function(NEW), repeated.decision_function(NEW), atol=1e-9
        )
    by_point = model.class_weight_[(y > 0).astype(int)]
    same = mc.SVC(mc.Gaussian(0.7), **parameters).fit(X, y, sample_weight=by_point)
    np.testing.assert_allclose(model.decision_function(NEW), same.decision_function(NEW))
    if "C" in parameters:
        peer = libsvm.SVC(gamma=0.5 / 0.49, class_weight=weights, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(NEW), peer.decision_function(NEW), atol=1e-5
        )


def test_slacks_and_support_vectors_are_those_of_the_margins() -> None:
    counts = np.where(np.arange(80) % 5 == 0, 0.0, 1.0)
    model = mc.SVC(mc.Gaussian(0.7)).fit(X, Y, sample_weight=counts)
    slacks = np.maximum(0.0, 1.0 - Y * model.decision_function(X))
    np.testing.assert_allclose(model.slacks_[0, counts > 0], slacks[counts > 0], atol=1e-12)
    assert np.all(np.isnan(model.slacks_[0, counts == 0]))
    assert model.dual_coef_.shape == (1, 80)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    words = ["gattaca", "gattata", "cccgg", "ccgcg"]
    strings = mc.SVC(mc.kernels.StringSpectrum(2).normalised()).fit(words, [0, 0, 1, 1])
    assert strings.support_vectors_ == [words[i] for i in strings.support_]
    assert not hasattr(mc.SVC("precomputed").fit(mc.Gaussian(1.0)(X), Y), "support_vectors_")
    assert not hasattr(mc.SVC(), "support_vectors_")
    share = mc.SVC(mc.Gaussian(0.7), nu=0.4).fit(X, Y)
    np.testing.assert_allclose(
        share.slacks_[0], np.maximum(0.0, 1.0 - Y * share.decision_function(X)), atol=1e-12
    )


Z = np.sin(2.0 * X[:, 0]) + 0.3 * RNG.standard_normal(80) + 5.0


def fits_the_tube(model: mc.SVR, K: Array, y: Array, costs: Array) -> None:
    """Karush, Kuhn and Tucker: on the rim between the bounds, inside at 0, outside at C."""
    beta = model.dual_coef_[0]
    error = y - (K @ beta + model.intercept_[0])
    size = 1e-11 * (1.0 + float(np.sum(np.abs(beta))) * float(np.max(np.abs(K))) + np.max(abs(y)))
    assert np.all(np.abs(beta) <= costs)
    assert abs(float(beta.sum())) <= size
    assert np.all(np.abs(error[beta == 0]) <= model.epsilon + size)
    at_cost = np.abs(beta) == costs
    assert np.all(error[at_cost] * np.sign(beta[at_cost]) >= model.epsilon - size)
    inside = (beta != 0) & ~at_cost
    np.testing.assert_allclose(
        error[inside], model.epsilon * np.sign(beta[inside]), rtol=0, atol=size
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.6])
def test_a_tube_satisfies_the_conditions_of_optimality(
    kernel: mc.Kernel, C: float, epsilon: float
) -> None:
    model = mc.SVR(kernel, C=C, epsilon=epsilon).fit(X, Z)
    K = kernel(X)
    fits_the_tube(model, K, Z, np.full(80, C))
    assert model.gap_ - model.rounding_ <= 1e-10 * max(model.objective_, 1e-2)
    assert model.rounding_ <= 1e-7 * max(model.objective_, 1e-2)
    np.testing.assert_allclose(
        model.slacks_, np.maximum(0.0, np.abs(Z - model.predict(X)) - epsilon), atol=1e-9
    )
    if C <= 1.0:  # with a large cost libsvm takes very long, or stops early
        peer = libsvm.SVR(kernel="precomputed", C=C, epsilon=epsilon, tol=1e-7).fit(K, Z)
        np.testing.assert_allclose(model.predict(NEW), peer.predict(kernel(NEW, X)), atol=1e-4)


def test_the_conditions_of_a_tube_fail_for_a_planted_mistake() -> None:
    model = mc.SVR(mc.Gaussian(0.5)).fit(X, Z)
    K = mc.Gaussian(0.5)(X)
    fits_the_tube(model, K, Z, np.ones(80))
    with pytest.raises(AssertionError):
        fits_the_tube(model, K.astype(np.float32).astype(float), Z, np.ones(80))
    model.intercept_ = model.intercept_ + 1e-6
    with pytest.raises(AssertionError):
        fits_the_tube(model, K, Z, np.ones(80))


def test_small_tubes_and_single_classes_are_those_of_another_solver() -> None:
    """Sequential least squares on the primal dual variables, which knows nothing of active sets."""
    rng = np.random.default_rng(21)
    for _ in range(6):
        n = int(rng.integers(3, 9))
        x, y, w = rng.standard_normal((n, 2)), rng.standard_normal(n), rng.uniform(0.3, 2.0, n)
        K, C, epsilon, nu = mc.Gaussian(1.0)(x), rng.uniform(0.1, 3.0), 0.2, rng.uniform(0.2, 0.9)
        tube = mc.SVR(mc.Gaussian(1.0), C=C, epsilon=epsilon).fit(x, y, sample_weight=w)

        def dual(v: Array, K: Array = K, y: Array = y, n: int = n) -> float:
            beta = v[:n] - v[n:]
            return float(0.5 * beta @ K @ beta - y @ beta + 0.2 * v.sum())

        solve: Any = minimize  # whose types know no constraints with values
        peer = solve(
            dual,
            np.zeros(2 * n),
            method="SLSQP",
            bounds=[(0.0, C * weight) for weight in (*w, *w)],
            constraints={"type": "eq", "fun": lambda v, n=n: v[:n].sum() - v[n:].sum()},
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        assert tube.objective_ == pytest.approx(-peer.fun, rel=1e-6)
        one = mc.OneClassSVM(mc.Gaussian(1.0), nu=nu).fit(x, sample_weight=w)
        total = nu * w.sum()
        other = solve(
            lambda a, K=K: 0.5 * a @ K @ a,
            nu * w,
            method="SLSQP",
            bounds=[(0.0, weight) for weight in w],
            constraints={"type": "eq", "fun": lambda a, total=total: a.sum() - total},
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        assert one.objective_ == pytest.approx(-other.fun, rel=1e-6)
        assert max(tube.gap_, one.gap_) <= 1e-12


def test_a_tube_without_width_is_the_regression_of_the_median() -> None:
    tube = mc.SVR(mc.Gaussian(0.7), C=2.0, epsilon=0.0).fit(X, Z)
    median = mc.KernelRegression(
        mc.Gaussian(0.7), 1.0 / (2.0 * 80 * 2.0), "constant", loss="absolute"
    ).fit(X, Z)
    np.testing.assert_allclose(tube.predict(NEW), median.predict(NEW), atol=1e-4)


@pytest.mark.parametrize(("unit", "shift"), [(1e-80, 0.0), (1e60, 0.0), (1.0, 1e6)])
def test_units_of_the_targets_do_not_matter(unit: float, shift: float) -> None:
    one = mc.SVR(mc.Gaussian(0.7), C=2.0, epsilon=0.1).fit(X, Z).predict(NEW)
    other = mc.SVR(mc.Gaussian(0.7), C=2.0 * unit, epsilon=0.1 * unit).fit(X, unit * (Z + shift))
    np.testing.assert_allclose(other.predict(NEW) / unit - shift, one, atol=1e-8)


def test_a_tube_is_the_same_for_repetitions_orders_and_points_far_away() -> None:
    counts, order = RNG.integers(0, 3, 80), RNG.permutation(80)
    model = mc.SVR(mc.Gaussian(0.7), C=3.0)
    weighted = clone(model).fit(X, Z, sample_weight=counts).predict(NEW)
    repeated = clone(model).fit(np.repeat(X, counts, 0), np.repeat(Z, counts)).predict(NEW)
    np.testing.assert_allclose(weighted, repeated, atol=1e-9)
    np.testing.assert_allclose(
        clone(model).fit(X[order], Z[order]).predict(NEW), clone(model).fit(X, Z).predict(NEW)
    )
    x = np.round(2.0**16 * X) / 2.0**16
    near = mc.SVR(mc.Linear(), C=10.0).fit(x, Z)
    far = mc.SVR(mc.Linear(), C=10.0).fit(x + 1e7, Z)
    np.testing.assert_allclose(far.predict(x + 1e7), near.predict(x), atol=1e-9)


def test_values_inside_one_tube_need_no_support() -> None:
    model = mc.SVR(mc.Gaussian(1.0), epsilon=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 0.5, 1.0])
    assert model.support_.size == 0
    np.testing.assert_allclose(model.intercept_intervals_, [[0.0, 1.0]], atol=1e-15)
    np.testing.assert_allclose(model.predict([[7.0]]), 0.5)
    assert mc.SVR(mc.Gaussian(1.0)).fit([[0.0]], [3.0]).predict([[5.0]]) == pytest.approx(3.0)


@pytest.mark.parametrize("nu", [0.06, 0.31, 0.71, 1.0])
@pytest.mark.parametrize("kernel", [mc.Gaussian(0.7), mc.Matern(2.5, 3.0), mc.Laplacian(1.0)])
def test_one_class_keeps_its_promise_and_agrees_with_libsvm(nu: float, kernel: mc.Kernel) -> None:
    model = mc.OneClassSVM(kernel, nu=nu).fit(X)
    K = kernel(X)
    alpha, f = model.dual_coef_[0], model.decision_function(X)
    size = 1e-11 * (1.0 + 80.0 * float(np.max(np.abs(K))))
    assert np.all((alpha >= 0.0) & (alpha <= 1.0))
    assert alpha.sum() == pytest.approx(nu * 80)
    assert np.all(f[alpha == 0.0] >= -size)
    assert np.all(f[alpha == 1.0] <= size)
    assert np.all(np.abs(f[(alpha > 0.0) & (alpha < 1.0)]) <= size)
    assert model.gap_ <= 1e-11 * abs(model.objective_)
    assert np.mean(f < -size) <= nu + 1e-12
    assert len(model.support_) >= nu * 80 - 1e-9
    np.testing.assert_allclose(model.score_samples(NEW), kernel(NEW, X) @ alpha, atol=1e-10)
    np.testing.assert_allclose(model.slacks_, np.maximum(0.0, -f), atol=size)
    scale = float(np.max(np.abs(f)))
    if nu < 1.0:  # libsvm finds no offset where every point is at its cost
        peer = libsvm.OneClassSVM(kernel="precomputed", nu=nu, tol=1e-8).fit(K)
        theirs = peer.score_samples(kernel(NEW, X))
        np.testing.assert_allclose(model.score_samples(NEW) / scale, theirs / scale, atol=1e-5)
        low, high = model.intercept_intervals_[0]
        assert low - 1e-5 * scale <= peer.intercept_[0] <= high + 1e-5 * scale


def test_one_class_weighs_repetitions_and_reads_any_points() -> None:
    counts = RNG.integers(0, 3, 80)
    model = mc.OneClassSVM(mc.Gaussian(0.7), nu=0.3)
    weighted = clone(model).fit(X, sample_weight=counts).decision_function(NEW)
    repeated = clone(model).fit(np.repeat(X, counts, 0)).decision_function(NEW)
    np.testing.assert_allclose(weighted, repeated, atol=1e-10)
    words = ["gattaca", "gattata", "gattaga", "cccgcc", "gataca", "gattac", "attaca"]
    odd = mc.OneClassSVM(mc.kernels.StringSpectrum(2).normalised(), nu=0.4).fit(words)
    assert np.argmin(odd.decision_function(words)) == 3
    given = mc.OneClassSVM("precomputed", nu=0.3).fit(mc.Gaussian(0.7)(X))
    np.testing.assert_allclose(
        given.decision_function(mc.Gaussian(0.7)(NEW, X)),
        clone(model).fit(X).decision_function(NEW),
        atol=1e-12,
    )


def test_one_class_needs_more_than_a_conditional_kernel() -> None:
    """Its weights do not sum to zero: -‖x-y‖ proves nothing, though it does for the others."""
    with pytest.warns(ConvergenceWarning, match="not positive definite"):
        assert mc.OneClassSVM(mc.kernels.NegativeDistance(1.0)).fit(X).gap_ == np.inf
    assert mc.SVR(mc.kernels.NegativeDistance(1.0)).fit(X, Z).gap_ < 1e-7


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (mc.SVR(epsilon=-0.1), "epsilon must be a number"),
        (mc.SVR(C=np.inf), "C must be a number"),
        (mc.OneClassSVM(nu=0.0), "nu must be a number"),
        (mc.OneClassSVM(nu=1.2), "nu is a share of the points"),
    ],
)
def test_what_tubes_and_single_classes_refuse(model: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        model.fit(X, Z)
    with pytest.raises(mc.errors.InvalidInput, match="not all zero"):
        clone(model).fit(X, Z, sample_weight=np.zeros(80))


def test_tubes_and_single_classes_are_stored(tmp_path: Any) -> None:
    for model in (mc.SVR(mc.Linear()).fit(X, Z), mc.OneClassSVM(nu=0.2).fit(X)):
        model.save(tmp_path / "m.mercer")
        again = mc.load(tmp_path / "m.mercer")
        np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        mc.SVR(mc.Gaussian(1.0)),
        mc.OneClassSVM(mc.Gaussian(1.0)),
        mc.SVC(mc.Gaussian(1.0), class_weight="balanced"),
    ],
    expected_failed_checks=lambda _: LINE,
)
def test_tubes_and_single_classes_keep_the_protocol(estimator: Any, check: Any) -> None:
    check(estimator)


def test_a_column_of_targets_is_a_line_with_a_warning_and_several_are_refused() -> None:
    x, y = np.linspace(0.0, 1.0, 9)[:, None], np.arange(9.0)
    with pytest.warns(DataConversionWarning, match="pass y.ravel") as told:
        found = mc.SVR().fit(x, y[:, None])
    assert told[0].filename == __file__  # and not where scikit-learn found it
    np.testing.assert_array_equal(found.predict(x), mc.SVR().fit(x, y).predict(x))
    with pytest.raises(mc.errors.InvalidInput, match=r"SVR takes one value .* shape \(9, 2\)"):
        mc.SVR().fit(x, np.column_stack([y, y]))
    with pytest.raises(mc.errors.InvalidInput, match=r"SVC takes one value .* shape \(9, 2\)"):
        mc.SVC().fit(x, np.column_stack([y > 4, y > 4]))
