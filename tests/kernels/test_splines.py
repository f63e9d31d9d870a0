from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

import mercer as mc
from mercer.check import as_numpy
from mercer.kernels.splines import SplineKernel
from tests.oracles import (
    LIBRARIES,
    assert_derivatives,
    assert_near,
    assert_positive,
    assert_same_in,
    foreign,
    untouched,
)
from tests.references import FOLDER

KERNELS: list[SplineKernel] = [mc.kernels.Brownian(), mc.kernels.CubicSpline()]
X = np.array([0.0, 0.2, 0.7, 1.0, 3.5])
Y = np.array([0.1, 0.9, 2.0])
REFERENCE = FOLDER / "mercer_min_kernel.json"


@given(st.floats(0.0, 5.0), st.floats(0.0, 5.0))
def test_the_cubic_kernel_is_the_inner_product_of_truncated_lines(x: float, y: float) -> None:
    whole, _ = integrate.quad(lambda t: (x - t) * (y - t), 0.0, min(x, y), epsabs=1e-14)
    assert mc.kernels.CubicSpline()([x], [y])[0, 0] == pytest.approx(whole, rel=1e-12, abs=1e-15)


@given(st.floats(0.0, 5.0), st.floats(0.0, 5.0))
def test_the_kernel_of_brownian_motion_is_the_smaller_of_the_two(x: float, y: float) -> None:
    assert mc.kernels.Brownian()([x], [y])[0, 0] == min(x, y)


def test_the_cubic_kernel_is_the_formula_of_the_text() -> None:
    least, most = np.minimum(X[:, None], Y), np.maximum(X[:, None], Y)
    expected = most * least**2 / 2 - least**3 / 6
    assert_near(mc.kernels.CubicSpline()(X, Y), expected, 1e-15)
    assert mc.kernels.CubicSpline()([0.5], [1.0])[0, 0] == pytest.approx(5 / 48, rel=1e-15)


def test_brownian_motion_has_the_eigenvalues_of_mercers_theorem() -> None:
    values = json.loads(REFERENCE.read_text())["min_eigenvalues"][:5]
    n = 200
    grid = (np.arange(n) + 0.5) / n
    found = np.linalg.eigvalsh(mc.kernels.Brownian()(grid) / n)[::-1][:5]
    np.testing.assert_allclose(found, values, rtol=1e-3)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_spline_kernels_are_positive_definite(k: mc.Kernel) -> None:
    K = k(np.random.default_rng(22).uniform(0, 4, size=40))
    assert_positive(K)
    assert np.array_equal(K, K.T)
    assert k.proof.startswith(f"{type(k).__name__}: ")


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_slopes_agree_with_differences(k: mc.Kernel) -> None:
    assert_derivatives(k, X[1:, None], Y[:, None])


def test_slopes_where_points_coincide() -> None:
    assert mc.kernels.Brownian().slopes([1.5], [1.5]).tolist() == [[[0.5]]]
    x = np.array([0.0, 1.5])
    np.testing.assert_allclose(mc.kernels.CubicSpline().slopes(x)[[0, 1], [0, 1], 0], x**2 / 2)


def test_the_slope_of_the_cubic_kernel_is_continuous() -> None:
    below, above = mc.kernels.CubicSpline().slopes([1.0 - 1e-9, 1.0 + 1e-9], [1.0])[:, 0, 0]
    assert below == pytest.approx(above, abs=3e-9)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_functions_of_the_space_are_straight_beyond_their_points(k: mc.Kernel) -> None:
    beyond = k(np.array([4.0, 5.0, 6.0]), X)
    np.testing.assert_allclose(np.diff(beyond, n=2, axis=0), 0.0, atol=1e-13)


@pytest.mark.parametrize(
    ("k", "functions"),
    [
        (mc.kernels.Brownian(), [lambda x: 1.0]),
        (mc.kernels.CubicSpline(), [lambda x: 1.0, lambda x: x]),
    ],
    ids=["Brownian", "CubicSpline"],
)
def test_the_null_space_is_what_the_penalty_does_not_see(
    k: Any, functions: list[Callable[[float], float]]
) -> None:
    expected = [[f(x) for f in functions] for x in X]
    assert k.null_space(X).tolist() == expected
    assert k.null_space([]).shape == (0, len(functions))


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0.5, -1.0, 2.0], "inputs >= 0, and x has -1.0 at row 1; shift the data so that they"),
        ([-1e-300], "x has -1e-300 at row 0"),
        ([[0.0, 1.0]], "x has 2 coordinates; take one kernel for each coordinate"),
        ([1.0 + 1j], "reads real numbers, and x holds complex ones"),
        ([0.0, float("nan")], "row 1, column 0 holds NaN"),
        ([0.0, float("inf")], "row 1, column 0 holds inf"),
        ([[0.0], ["a"]], "row 1, column 0: 'a' is not a number"),
    ],
)
def test_points_off_the_half_line_are_refused(k: Any, points: Any, message: str) -> None:
    for call in (k, k.diag, k.slopes, k.null_space):
        with pytest.raises(mc.errors.InvalidInput, match=message):
            call(points)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_the_second_argument_is_checked_and_named(k: mc.Kernel) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="y has -2.0 at row 1"):
        k(X, [0.0, -2.0])


def test_negative_zero_is_zero() -> None:
    assert (
        mc.kernels.CubicSpline()([-0.0, 1.0]).tolist()
        == mc.kernels.CubicSpline()([0.0, 1.0]).tolist()
    )


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_extreme_units_are_exact_or_refused_by_name(k: mc.Kernel) -> None:
    assert k(1e-200 * X)[0, 0] == 0.0
    assert np.all(np.isfinite(k(1e-200 * X)))
    if isinstance(k, mc.kernels.CubicSpline):
        with pytest.raises(mc.errors.InvalidInput, match=r"not a finite number at \(1, 1\)"):
            k(1e200 * X)
    else:
        assert k(1e200 * X)[1, 2] == 1e200 * X[1]


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_the_cubic_kernel_keeps_its_relative_accuracy(k: mc.Kernel) -> None:
    x = 1e8 + np.array([0.0, 1.0, 3.0])
    exact = x * x * x / 3 if isinstance(k, mc.kernels.CubicSpline) else x
    np.testing.assert_allclose(k.diag(x), exact, rtol=1e-15)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_single_precision_is_computed_in_double_and_returned_single(k: mc.Kernel) -> None:
    x, y = X.astype(np.float32), Y.astype(np.float32)
    exact = k(x.astype(np.float64), y.astype(np.float64))
    assert k(x, y).dtype == np.float32
    np.testing.assert_allclose(k(x, y), exact, rtol=1e-6)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_no_point_one_point_and_two_points(k: mc.Kernel, n: int) -> None:
    x, y = X.copy(), Y.copy()
    with untouched(x, y):
        assert k(x[:n]).shape == (n, n)
        assert k(y, x[:n]).shape == (3, n)
        assert k.diag(x[:n]).shape == (n,)
        np.testing.assert_array_equal(k(x[:n], y), k(x, y)[:n])
        np.testing.assert_array_equal(k.slopes(x[:n], y), k.slopes(x, y)[:n])
        assert k.partials(x) == {}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_other_array_libraries_get_the_same_numbers_in_kind(k: Any, library: str) -> None:
    assert_same_in(library, k, X, Y)
    column = foreign(library, X)
    basis = k.null_space(column)
    assert type(basis) is type(column)
    np.testing.assert_array_equal(as_numpy(basis), k.null_space(X))
