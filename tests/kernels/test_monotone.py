from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import gamma

import mercer as mc
from mercer.kernels.monotone import completely_monotone, transform_of

SQUARES = np.array([0.0, 1e-6, 0.1, 1.0, 3.7, 50.0, 1e4])

MONOTONE: dict[str, Callable[[Any], Any]] = {
    "exp(-t)": lambda t: np.exp(-t),
    "exp(-sqrt t)": lambda t: np.exp(-np.sqrt(t)),
    "1/(1+t)": lambda t: 1.0 / (1.0 + t),
    "(1+t)^-3": lambda t: (1.0 + t) ** -3.0,
    "log(1+1/t)": lambda t: np.log1p(1.0 / t),
    "constant": lambda t: 2.0 + 0.0 * t,
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


@pytest.mark.parametrize(
    ("density", "name", "parameter"),
    [
        (lambda a: np.exp(-2.0 * a), "logarithm", 2.0),
        (lambda a: a * np.exp(-2.0 * a), "rational", 2.0),
        (lambda a: 0.5 / gamma(0.5) * a**-0.5, "power", 0.5),
        (lambda a: 0.1 / gamma(0.9) * a**-0.1, "power", 0.1),
    ],
)
def test_transforms_are_those_of_their_measures(density: Any, name: str, parameter: float) -> None:
    found = mc.kernels.schoenberg(SQUARES, density)
    np.testing.assert_allclose(
        found, mc.kernels.schoenberg(SQUARES, name, parameter), rtol=1e-8, atol=1e-14
    )


def test_masses_are_sums_of_transforms() -> None:
    found = mc.kernels.schoenberg(SQUARES, {0.0: 2.0, 3.0: 0.5})
    one = mc.kernels.schoenberg(SQUARES, "exponential", 3.0)
    np.testing.assert_allclose(found, 2.0 * SQUARES + 0.5 * one, rtol=1e-14)
    assert completely_monotone(lambda t: transform_of({1.0: 1.0}, t), bernstein=True)


def test_the_transform_of_a_measure_keeps_squared_distances() -> None:
    x = np.random.default_rng(0).normal(size=(10, 4))
    squares = ((x[:, None] - x[None]) ** 2).sum(2)
    kept = mc.kernels.schoenberg(squares, lambda a: ((a > 0.5) & (a < 2.0)) * 1.0)
    assert mc.negative_definite(kept)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda a: 1.0 / a, "does not settle"),
        (lambda a: 1.0 + 0.0 * a, "does not settle"),
        (lambda a: -np.exp(-a), "a density is not negative"),
        ({-1.0: 1.0}, "a place of the measure"),
        ({1.0: -1.0}, "the mass at 1"),
        (3.0, "a measure is a density"),
    ],
)
def test_measures_that_have_no_transform_are_refused(measure: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        mc.kernels.schoenberg(SQUARES, measure)


def test_functions_of_a_wrong_shape_are_named() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="a value for each entry"):
        completely_monotone(lambda t: np.ones(3))
    with pytest.raises(mc.errors.InvalidParameter, match="function of squared distances"):
        mc.kernels.CompletelyMonotone("gaussian")  # type: ignore[arg-type]
