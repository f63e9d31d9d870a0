from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.kernels.monotone import completely_monotone

MONOTONE: dict[str, Callable[[Any], Any]] = {
    "exp(-t)": lambda t: np.exp(-t),
    "exp(-sqrt t)": lambda t: np.exp(-np.sqrt(t)),
    "1/(1+t)": lambda t: 1.0 / (1.0 + t),
    "(1+t)^-3": lambda t: (1.0 + t) ** -3.0,
    "log(1+1/t)": lambda t: np.log1p(1.0 / t),
    "constant": lambda t: 2.0 + 0.0 * t,
    # What cancels, and what overflows.
    "(1-exp(-t))/t": lambda t: (1.0 - np.exp(-t)) / t,
    "log(1+1/t) by log": lambda t: np.log(1.0 + 1.0 / t),
    "√(1+t)-√t": lambda t: np.sqrt(1.0 + t) - np.sqrt(t),
    "1e307/(1+t)": lambda t: 1e307 / (1.0 + t),
    "exp(1/t)": lambda t: np.exp(1.0 / t),
    "1e-307/(1+t)": lambda t: 1e-307 / (1.0 + t),
    "t^-40": lambda t: t**-40.0,
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "exp(-t²)": lambda t: np.exp(-t * t),
    "cos": np.cos,
    "triangle": lambda t: np.maximum(1.0 - t, 0.0),
    "(1-√t)³": lambda t: np.maximum(1.0 - np.sqrt(t), 0.0) ** 3,
    "t": lambda t: t,
    "-1": lambda t: -1.0 + 0.0 * t,
    "1 + cos/20": lambda t: np.exp(-t) * (1.0 + 0.2 * np.cos(8.0 * t)),
}
BERNSTEIN: dict[str, Callable[[Any], Any]] = {
    "t": lambda t: t,
    "sqrt": np.sqrt,
    "log(1+t)": np.log1p,
    "1-exp(-t)": lambda t: -np.expm1(-t),
    "t/(1+t)": lambda t: t / (1.0 + t),
    "log(1+t) by log": lambda t: np.log(1.0 + t),
    "1-exp(-t) by exp": lambda t: 1.0 - np.exp(-t),
    "√(1+t)-1": lambda t: np.sqrt(1.0 + t) - 1.0,
    "1e305 t": lambda t: 1e305 * t,
}
SINGLE: dict[str, Callable[[Any], Any]] = {
    "exp(-t)": lambda t: np.exp(-t.astype(np.float32)),
    "1/(1+t)": lambda t: 1.0 / (1.0 + t.astype(np.float32)),
    "(1-exp(-t))/t": lambda t: (1 - np.exp(-t.astype(np.float32))) / t.astype(np.float32),
}


@pytest.mark.parametrize("name", MONOTONE)
def test_completely_monotone_functions_are_found_to_be(name: str) -> None:
    assert completely_monotone(MONOTONE[name])


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_refuted_by_a_difference(name: str) -> None:
    verdict = completely_monotone(OTHERS[name])
    assert not verdict
    assert "< 0" in verdict.reason


@pytest.mark.parametrize("name", BERNSTEIN)
def test_bernstein_functions_are_not_completely_monotone_but_their_derivatives_are(
    name: str,
) -> None:
    assert completely_monotone(BERNSTEIN[name], bernstein=True)
    assert not completely_monotone(BERNSTEIN[name])
    assert not completely_monotone(lambda t: t * t, bernstein=True)


@pytest.mark.parametrize("name", SINGLE)
def test_functions_in_single_precision_are_not_refuted_by_its_rounding(name: str) -> None:
    assert completely_monotone(SINGLE[name])
    assert completely_monotone(lambda t: SINGLE[name](t).astype(np.float64))
    assert not completely_monotone(lambda t: SINGLE[name](t * t))


def test_a_bernstein_function_is_not_negative() -> None:
    for f in (lambda t: t - 1.0, np.log):
        verdict = completely_monotone(f, bernstein=True)
        assert not verdict
        assert "its value at" in verdict.reason
        assert verdict.smallest is not None
        assert verdict.smallest < 0.0


def test_signs_that_rounding_decides_are_told_as_undecided() -> None:
    verdict = completely_monotone(lambda t: 1.0 - np.exp(-t), bernstein=True)
    assert "are undecided: rounding of its values decides their signs" in verdict.reason
    assert "undecided" not in completely_monotone(lambda t: -np.expm1(-t), bernstein=True).reason
    # Rounding of 1e-9 of the values hides no difference that is larger.
    coarse = completely_monotone(lambda t: np.round(1e9 * np.exp(-t * t)) / 1e9)
    assert not coarse
    assert "< 0" in coarse.reason


def test_scatter_is_found_where_it_happens_to_be_small() -> None:
    # Steps of rounding that agree with those of t do not scatter.
    rng = np.random.default_rng(1)
    for p in (0.07038161817547348, *rng.uniform(0.05, 1.0, 20)):
        assert completely_monotone(lambda t, p=p: 1.0 - (1.0 + t) ** -p, bernstein=True)  # type: ignore[misc]
    for _ in range(20):
        rates, masses = 10.0 ** rng.uniform(-4.0, 4.0, 4), 10.0 ** rng.uniform(-6.0, 0.0, 4)
        mixture = lambda t, r=rates, m=masses: np.exp(-t[..., None] * r) @ m  # noqa: E731
        assert completely_monotone(mixture)
        assert completely_monotone(lambda t, f=mixture: 1e6 + f(t) - 1e6)  # type: ignore[misc]


def test_values_that_scatter_decide_nothing() -> None:
    rng = np.random.default_rng(0)

    def scattered(t: Any) -> Any:
        return np.exp(-t) * (1.0 + 0.01 * rng.normal(size=t.shape))

    verdict = completely_monotone(scattered)
    assert not verdict
    assert verdict.reason.startswith("undecided whether completely monotone")
    with pytest.raises(mc.errors.InvalidParameter, match="function is undecided whether"):
        mc.kernels.CompletelyMonotone(scattered)
    assert "no finite values" in completely_monotone(lambda t: np.inf + t).reason


def test_a_function_may_overflow_towards_zero_and_nowhere_else() -> None:
    verdict = completely_monotone(lambda t: np.where(t > 5.0, np.inf, np.exp(-t)))
    assert not verdict
    assert "is inf" in verdict.reason
    assert not completely_monotone(lambda t: np.where(t < 1e-3, np.nan, np.exp(-t)))
    assert not completely_monotone(lambda t: np.where(t < 1e-3, np.inf, t), bernstein=True)


def test_the_value_at_zero_is_finite_and_not_below_the_limit() -> None:
    kernel = mc.kernels.CompletelyMonotone
    for f, value in (("log(1+1/t)", "inf"), ("(1-exp(-t))/t", "nan")):
        with pytest.raises(mc.errors.InvalidParameter, match=f"function at 0 is {value}"):
            kernel(MONOTONE[f])
    with pytest.raises(mc.errors.NotPositiveDefinite, match="function at 0 is 0.5, less than 1"):
        kernel(lambda t: np.where(t > 0.0, np.exp(-t), 0.5))
    # With its limit it is a kernel, and so it is with more, the noise of each point for itself.
    rows = np.random.default_rng(0).normal(size=(12, 3))
    whole = kernel(lambda t: np.where(t > 0.0, -np.expm1(-t) / np.where(t > 0.0, t, 1.0), 1.0))
    assert mc.check_kernel(whole, rows)
    noisy = kernel(lambda t: np.where(t > 0.0, np.exp(-t), 1.5))
    assert np.linalg.eigvalsh(noisy(rows))[0] > 0.5
    assert mc.kernels.CompletelyMonotone(lambda t: 1.7e308 * np.exp(-t))


def test_a_completely_monotone_function_is_a_kernel_in_every_dimension() -> None:
    rng = np.random.default_rng(3)
    for p in (1, 2, 5, 60):
        x = rng.normal(size=(25, p))
        for f in (MONOTONE["exp(-sqrt t)"], MONOTONE["1/(1+t)"]):
            K = mc.kernels.CompletelyMonotone(f, 0.7)(x)
            assert np.linalg.eigvalsh(K)[0] > -1e-12
    # max(0, 1 - √t)³ is a kernel in few dimensions only.
    short = OTHERS["(1-√t)³"]
    with pytest.raises(mc.errors.NotPositiveDefinite, match="not completely monotone"):
        mc.kernels.CompletelyMonotone(short)


def test_known_kernels_are_completely_monotone_functions_of_squares() -> None:
    x = np.random.default_rng(1).normal(size=(8, 3))
    cases = [
        (lambda s: np.exp(-0.5 * s), mc.Gaussian(1.3)),
        (lambda s: np.exp(-np.sqrt(s)), mc.Laplacian(1.3, norm=2.0)),
        (lambda s: (1.0 + s / 4.0) ** -2.0, mc.kernels.RationalQuadratic(2.0, 1.3)),
    ]
    for f, k in cases:
        np.testing.assert_allclose(mc.kernels.CompletelyMonotone(f, 1.3)(x), k(x), rtol=1e-13)
    smooth = mc.kernels.CompletelyMonotone(
        lambda s: np.exp(-0.5 * s), 1.3, lambda s: -0.5 * np.exp(-0.5 * s)
    )
    np.testing.assert_allclose(smooth.slopes(x, x), mc.Gaussian(1.3).slopes(x, x), atol=1e-14)
    assert mc.check_kernel(smooth, x)
    silent = mc.kernels.CompletelyMonotone(lambda s: np.exp(-0.5 * s))
    with pytest.raises(mc.errors.NotDifferentiable, match="derivative"):
        silent.slopes(x, x)
    model = mc.KernelPCA(2, kernel=silent).fit(x)
    expected = mc.KernelPCA(2, kernel=mc.Gaussian(1.0)).fit(x)
    np.testing.assert_allclose(model.inertias_, expected.inertias_, rtol=1e-12)


def test_functions_of_a_wrong_shape_are_named() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="a value for each entry"):
        completely_monotone(lambda t: np.ones(3))
    with pytest.raises(mc.errors.InvalidParameter, match="function of squared distances"):
        mc.kernels.CompletelyMonotone("gaussian")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (math.exp, "function must be a function of an array of squared distances, and this one"),
        (5, "function must be a function of an array of squared distances, found 5"),
        (lambda t: np.exp(-t) + 1j * np.sin(t), "real values, and returned complex ones"),
        (lambda t: "exp", "must have numbers for values"),
    ],
)
def test_what_is_no_real_function_of_an_array_is_refused(function: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        completely_monotone(function)
    with pytest.raises(mc.errors.InvalidParameter):
        mc.kernels.CompletelyMonotone(function)
