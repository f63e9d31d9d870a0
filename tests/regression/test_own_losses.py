from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.gram import Gram
from mercer.regression import convex_loss
from mercer.regression.convex import Problem
from mercer.regression.loss_functions import infeasibility, objective_rounding, of_loss
from mercer.regression.own_losses import supremum
from mercer.solve import Saddle

RNG = np.random.default_rng(0)
X = np.linspace(0.0, 1.0, 40)[:, None]
Y = np.sin(6.0 * X[:, 0]) + 0.3 * RNG.standard_t(1.5, 40)
K = mc.Gaussian(0.3)


def square(y: Any, f: Any) -> Any:
    return (y - f) ** 2


def square_slopes(y: Any, f: Any) -> Any:
    return 2.0 * (f - y), 2.0 + 0.0 * f


def own_huber(d: float) -> Any:
    return convex_loss(
        lambda y, f: np.where(np.abs(y - f) <= d, (y - f) ** 2, d * (2.0 * np.abs(y - f) - d)),
        lambda y, f: (np.clip(2.0 * (f - y), -2.0 * d, 2.0 * d), 2.0 * (np.abs(y - f) <= d)),
        name="own huber",
    )


@pytest.mark.parametrize("size", [1.0, 1e12, 1e13, 1e15, 1e100, 1e150])
def test_the_conjugate_is_found_however_large_the_target(size: float) -> None:
    y, s = np.array([size, -size, 0.0]), np.array([2.0, -3.0, 1e-3 * size])
    expected = s * y + s * s / 4.0
    found = supremum(square, square_slopes, y, s)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_conjugates_at_corners_and_far_off_are_found() -> None:
    kink = supremum(
        lambda y, f: np.abs(y - f), lambda y, f: (np.sign(f - y), 0.0 * f),
        np.array([3.0, 3.0, 3.0]), np.array([0.5, -0.25, 1.5]),
    )  # fmt: skip
    np.testing.assert_allclose(kink, [1.5, -0.75, np.inf])

    def naive(y: Any, f: Any) -> Any:  # ∞/∞ for large f
        return np.exp(f) / (1.0 + np.exp(f)), np.exp(f) / (1.0 + np.exp(f)) ** 2

    s = np.array([0.2, 0.9, 1.1, -0.1])
    found = supremum(lambda y, f: np.logaddexp(0.0, f), naive, 0.0 * s, s)
    with np.errstate(invalid="ignore"):
        entropy = s * np.log(s) + (1.0 - s) * np.log(1.0 - s)
    np.testing.assert_allclose(found, np.where((s > 0.0) & (s < 1.0), entropy, np.inf), rtol=1e-13)
    # ℓ' = log(1 + |f|) sign f reaches 100 at 3e43.
    slow = supremum(
        lambda y, f: (1.0 + np.abs(f)) * np.log1p(np.abs(f)) - np.abs(f),
        lambda y, f: (np.sign(f) * np.log1p(np.abs(f)), 1.0 / (1.0 + np.abs(f))),
        np.zeros(1), np.array([100.0]),
    )  # fmt: skip
    np.testing.assert_allclose(slow, np.expm1(100.0) - 100.0, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-12, 1e-8, 1.0, 1e8, 1e13])
def test_the_units_of_targets_do_not_matter(size: float) -> None:
    loss = convex_loss(square, square_slopes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mc.KernelRegression(K, 1e-3, loss=loss).fit(X, size * Y)
    expected = mc.KernelRegression(K, 1e-3).fit(X, size * Y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-10)
    assert model.gap_ <= 1e-8 * model.objective_
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-8 * size)


@pytest.mark.parametrize("threshold", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("penalty", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("null_space", [None, "constant"])
def test_a_loss_with_straight_parts_is_minimised(
    threshold: float, penalty: float, null_space: Any
) -> None:
    for shift in (0.0, 100.0) if null_space else (0.0,):
        own, named = (
            mc.KernelRegression(K, penalty, null_space, loss=loss, threshold=threshold).fit(
                X, Y + shift
            )
            for loss in (own_huber(threshold), "huber")
        )
        assert abs(own.objective_ - named.objective_) <= own.gap_ + named.gap_
        assert own.gap_ <= 2e-8 * own.objective_


def test_a_linear_loss_has_its_minimum_in_one_step() -> None:
    loss = convex_loss(lambda y, f: -y * f, lambda y, f: (-y + 0.0 * f, 0.0 * f), name="linear")
    model = mc.KernelRegression(K, 0.5, loss=loss).fit(X, Y)
    np.testing.assert_allclose(model.dual_coef_, Y / 40.0, rtol=1e-7)
    assert model.gap_ <= 1e-8 * abs(model.objective_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3.0, square_slopes), "value must be a function of y and f, found 3.0"),
        ((square, None), "derivatives must be a function of y and f"),
        ((square, square_slopes, 4.0), "conjugate must be a function of y and s, found 4.0"),
        ((square, lambda y, f: 2.0 * (f - y)), "must return two arrays"),
        ((square, lambda y, f: (2.0 * (f - y),)), "must return two arrays"),
        ((lambda y, f: np.log(f), lambda y, f: (1 / f, -1 / f**2)), "the loss at y = -1, f = -3"),
        ((square, lambda y, f: (2.0 * (f - y), 1.0 + 0.0 * f)),
         "second derivative at y = -1, f = -3 is 1, and differences of the first give 2"),
        ((square, lambda y, f: (f - y, 1.0 + 0.0 * f)), "first derivative at y = -1, f = -3 is -2"),
        ((lambda y, f: 1e-8 * square(y, f), lambda y, f: (1e-8 * (f - y), 1e-8 + 0.0 * f)),
         "differences of the loss give"),
        ((lambda y, f: np.abs(y - f), lambda y, f: (np.sign(f - y), 0.0 * f)),
         "a corner at y = -1, f = -1, where its derivative jumps from -1 to"),
        ((lambda y, f: np.maximum(0.0, 1.3 - y * f), lambda y, f: (-y * (y * f < 1.3), 0.0 * f)),
         "a corner"),
        ((square, square_slopes, lambda y, s: s * y + s * s / 8.0), "the conjugate at y = -1, s"),
        ((square, square_slopes, lambda y, s: s * y + s * s / 2.0), "and must be 8 = sf - loss"),
        ((square, square_slopes, lambda y, s: s * np.nan), "the conjugate at y = -1"),
        ((square, square_slopes, lambda y, s: np.zeros(3)), "one number for each of 64"),
    ],
)  # fmt: skip
def test_what_is_no_convex_loss_is_refused_with_the_place(arguments: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        convex_loss(*arguments)


@pytest.mark.parametrize(
    ("value", "slopes"),
    [
        (lambda y, f: (f - y) ** 4, lambda y, f: (4.0 * (f - y) ** 3, 12.0 * (f - y) ** 2)),
        (lambda y, f: np.maximum(np.abs(f - y) - 0.3, 0.0) ** 2,
         lambda y, f: (2.0 * np.sign(f - y) * np.maximum(np.abs(f - y) - 0.3, 0.0),
                       2.0 * (np.abs(f - y) > 0.3))),
        (lambda y, f: 1e3 * np.cosh(f - y) - 1e3,
         lambda y, f: (1e3 * np.sinh(f - y), 1e3 * np.cosh(f - y))),
    ],
)  # fmt: skip
def test_second_derivatives_may_vanish(value: Any, slopes: Any) -> None:
    model = mc.KernelRegression(K, 1e-3, "constant", loss=convex_loss(value, slopes)).fit(X, Y)
    assert model.gap_ <= 2e-8 * model.objective_


def test_a_second_derivative_that_is_steep_is_tried_by_shorter_steps() -> None:
    def root(y: Any, f: Any) -> Any:
        return np.sqrt(1e-12 + (f - y) ** 2)

    assert convex_loss(root, lambda y, f: ((f - y) / root(y, f), 1e-12 / root(y, f) ** 3))
    with pytest.raises(mc.errors.InvalidParameter, match="the second derivative"):
        convex_loss(root, lambda y, f: ((f - y) / root(y, f), 2e-12 / root(y, f) ** 3))


def test_names_of_known_losses_and_targets_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="name='squared' is that of a loss"):
        convex_loss(lambda y, f: np.exp(f), lambda y, f: (np.exp(f),) * 2, name="squared")
    with pytest.raises(mc.errors.InvalidParameter, match=r"targets\[1\]"):
        convex_loss(square, square_slopes, targets=[1.0, "two"])  # type: ignore[list-item]


def test_a_loss_of_positive_targets_is_tried_at_those_and_refuses_others() -> None:
    def value(y: Any, f: Any) -> Any:
        return y * np.exp(-f) + f

    def slopes(y: Any, f: Any) -> Any:
        return 1.0 - y * np.exp(-f), y * np.exp(-f)

    with pytest.raises(mc.errors.InvalidParameter, match="not convex"):
        convex_loss(value, slopes)
    loss = convex_loss(value, slopes, name="gamma", targets=[0.5, 1.0, 4.0])
    model = mc.KernelRegression(K, 1e-3, loss=loss).fit(X, np.exp(Y))
    assert model.gap_ <= 1e-8 * abs(model.objective_)
    with pytest.raises(mc.errors.InvalidInput, match="gamma loss is not convex with finite"):
        mc.KernelRegression(K, 1e-3, loss=loss).fit(X, Y)


def test_a_dual_above_the_objective_is_told() -> None:
    # Right at all that is tried, and too small beyond.
    loss = convex_loss(
        square, square_slopes, lambda y, s: np.where(np.abs(s) < 30.0, s * y + s * s / 4.0, s * y)
    )
    with pytest.raises(mc.errors.InvalidParameter, match="conjugate of the own loss is too small"):
        mc.KernelRegression(K, 1e-3, loss=loss).fit(X, Y + 1000.0)


def problem(null_space: bool, penalty: float = 0.1) -> Problem:
    Q = np.ones((40, 1)) if null_space else np.zeros((40, 0))
    loss = convex_loss(square, square_slopes)
    return Problem(Saddle(Gram(K, X), Q), Y, np.full(40, 1 / 40), penalty, loss, 1e-8)


def test_weights_that_leave_the_null_space_are_charged_with_what_they_gain() -> None:
    of = problem(null_space=True)
    exact = mc.KernelRegression(K, 0.1, "constant").fit(X, Y)
    alpha, eta = exact.dual_coef_, exact.null_weights_
    best = of.optimum(alpha, eta, 1)
    assert best.gap <= 1e-12
    for e in (1e-9, 1e-6, 1e-3):
        moved = alpha + e / 40.0
        charged = infeasibility(of, moved, eta, best.objective)
        assert charged == pytest.approx(4.0 * 0.1 * e * abs(eta[0]), rel=1e-4)
        found = of.optimum(moved, eta, 1)
        assert found.objective - found.gap - found.rounding <= best.objective
    assert infeasibility(problem(null_space=False), alpha, np.zeros(0), best.objective) == 0.0


def test_rounding_covers_what_other_values_of_the_kernel_would_change() -> None:
    of = problem(null_space=False, penalty=1e-6)
    alpha = mc.KernelRegression(K, 1e-6).fit(X, Y).dual_coef_
    image = of.saddle.product(alpha[:, None])[:, 0]
    s = -2.0 * of.penalty * alpha / of.p
    bound = objective_rounding(of, alpha, np.zeros(0), image, 1.0, of.loss.conjugate(Y, s))
    exact = np.array([[np.longdouble(v) for v in row] for row in K(X)]) @ alpha.astype(
        np.longdouble
    )
    terms = (np.longdouble(Y) - exact) ** 2 / 40 + of.penalty * alpha * exact
    ours = float(of.p @ square(Y, image)) + of.penalty * float(alpha @ image)
    assert 0.0 < abs(ours - float(np.sum(terms))) <= bound
    assert bound <= 1e-6
    # The slope of a convex loss is largest at an end.
    error = of_loss(of.loss, Y, image, np.full(40, 1e-3))
    for sign in (-1e-3, 1e-3):
        assert np.all(np.abs(square(Y, image + sign) - square(Y, image)) <= error)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"value": lambda y, f: math.exp(f) - y * f}, "value must be a function of arrays y and f"),
        ({"value": lambda f: f * f}, "value must be a function of arrays y and f, and this one"),
        ({"value": lambda y, f: square(y, f) + 0j}, "value must have real values"),
        ({"derivatives": lambda f: (f, f)}, "derivatives must be a function of arrays y and f"),
        ({"derivatives": lambda y, f: (2 * (f - y), 2 + 0j * f)}, "derivatives must have real"),
        ({"conjugate": lambda s: s}, "conjugate must be a function of arrays y and s"),
        ({"conjugate": lambda y, s: s * y + s * s / 4 + 0j}, "conjugate must have real values"),
        ({"name": 5}, "name must be a text, found 5"),
    ],
)
def test_what_is_no_real_function_of_arrays_is_refused(given: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        convex_loss(**{"value": square, "derivatives": square_slopes, **given})
