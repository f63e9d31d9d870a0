from __future__ import annotations

from functools import cache

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mercer.kernels.bessel import (
    DEBYE_FROM,
    GAP,
    GAP_ORDER,
    NEAR,
    SMOOTH_FROM,
    VANISHED,
    matern,
    matern_descent,
    matern_slope,
)

ORDERS = [
    *(0.01, 0.1, 0.3, 0.5, 0.7, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 3.7, 5.5, 7.3, 10.0, 10.5, 12.2),
    *(20.0, 30.0, 49.9, 50.0, 50.1, 75.0, 100.0, 200.0, 1000.0),
]
DISTANCES = np.array(
    [0, 1e-300, 1e-150, 1e-30, 1e-12, 1e-6, 1e-3, 0.01, 0.1, 0.5, 1, 2, 5, 10, 50, 200]
)
EDGES = np.array(
    [x for switch in (NEAR, *GAP) for x in (np.nextafter(switch, 0.0), switch, 1.000001 * switch)]
)
LARGEST = np.finfo(np.float64).max
SMALLEST_NORMAL = np.finfo(np.float64).tiny


def tolerance(nu: float) -> float:
    """Relative error allowed: rounding, multiplied by the exponent in the tail of Debye's form."""
    return 1e-13 if nu < DEBYE_FROM else 1e-12


@cache
def bessel_pair(nu: float, z: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """K of orders nu - 1 and nu at 50 digits, by upward recurrence (stable for K).

    mpmath's own besselk is used below order 2 only: at order 1233.8 and z = 1185.7 it is wrong
    without a warning, and at order 1000 it may not converge.
    """
    with mpmath.workdps(50):
        whole = int(nu)
        start = mpmath.mpf(nu) - whole
        if whole == 0:
            return mpmath.besselk(1 - start, z), mpmath.besselk(start, z)
        below, here = mpmath.besselk(start, z), mpmath.besselk(start + 1, z)
        for k in range(1, whole):
            below, here = here, below + 2 * (start + k) / mpmath.mpf(z) * here
        return below, here


def exact_profile(z: float, nu: float) -> mpmath.mpf:
    with mpmath.workdps(50):
        if z == 0:
            return mpmath.mpf(1)
        order = mpmath.mpf(nu)
        return 2 * (mpmath.mpf(z) / 2) ** order * bessel_pair(nu, z)[1] / mpmath.gamma(order)


def exact_slope(z: float, nu: float) -> mpmath.mpf:
    with mpmath.workdps(50):
        order = mpmath.mpf(nu)
        if z == 0:
            return -1 / (4 * (order - 1)) if nu > 1 else mpmath.mpf(0)
        power = (mpmath.mpf(z) / 2) ** (order - 1)
        return -power * bessel_pair(nu, z)[0] / (2 * mpmath.gamma(order))


def relative_error(value: float, exact: mpmath.mpf) -> float:
    """Relative error, absolute among subnormal numbers and against the clip on overflow."""
    if abs(exact) > LARGEST:
        return 0.0 if value == -LARGEST else np.inf
    unit = max(abs(exact), SMALLEST_NORMAL)
    return float(abs(mpmath.mpf(value) - exact) / unit)


def assert_accurate(z: NDArray[np.float64], nu: float) -> None:
    for value, slope, x in zip(matern(z, nu), matern_slope(z, nu), z.tolist(), strict=True):
        assert relative_error(float(value), exact_profile(x, nu)) < tolerance(nu), (x, nu)
        assert relative_error(float(slope), exact_slope(x, nu)) < tolerance(nu - 1), (x, nu)


@pytest.mark.parametrize("nu", ORDERS)
def test_profile_and_slope_agree_with_mpmath(nu: float) -> None:
    assert_accurate(np.sqrt(2 * nu) * DISTANCES, nu)


@pytest.mark.parametrize("nu", [0.01, 0.12, 0.3, 0.5, 0.88, 1.0, 1.12, 1.9, 2.5, 6.2, 19.9, 20.0])
def test_accuracy_holds_on_both_sides_of_every_switch_in_distance(nu: float) -> None:
    assert_accurate(EDGES, nu)


@pytest.mark.parametrize("switch", [0.5, SMOOTH_FROM, 1.0, GAP_ORDER, DEBYE_FROM, DEBYE_FROM + 1])
@pytest.mark.parametrize("offset", [-1e-9, -1e-15, 1e-15, 1e-9])
def test_accuracy_holds_on_both_sides_of_every_switch_in_order(
    switch: float, offset: float
) -> None:
    z = np.array([1e-320, 1e-200, 1e-11, 1e-4, 0.3, 1.7, 1.99, 9.0, 120.0, 690.0])
    assert_accurate(z, switch * (1 + offset))


@pytest.mark.parametrize("nu", [0.4, 1.0, 1 + 1e-12, 4.5, 13.3, 19.5, 60.0])
def test_accuracy_holds_until_the_profile_underflows(nu: float) -> None:
    assert_accurate(np.array([650.0, 700.0, 720.0, 745.0, 760.0, 900.0, 1500.0]), nu)


@pytest.mark.parametrize("nu", [1e-6, 1e-3])
def test_orders_below_the_promised_range_lose_no_accuracy(nu: float) -> None:
    assert_accurate(np.array([5e-324, 1e-300, 1e-20, 1e-5, 0.8, 2.5, 80.0]), nu)


def test_slope_formula_is_the_derivative_in_the_squared_distance() -> None:
    for nu, z in [(0.3, 0.4), (0.5, 2.0), (1.0, 0.7), (1.7, 1.1), (6.2, 3.0)]:
        with mpmath.workdps(30):
            quotient = mpmath.diff(
                lambda u, nu=nu: exact_profile(mpmath.sqrt(u), nu), mpmath.mpf(z) ** 2
            )
        assert float(matern_slope(np.array(z), nu)) == pytest.approx(float(quotient), rel=1e-12)


def test_half_integer_orders_are_the_known_closed_forms() -> None:
    z = np.linspace(0.0, 30.0, 200)
    np.testing.assert_allclose(matern(z, 0.5), np.exp(-z), rtol=1e-15)
    np.testing.assert_allclose(matern(z, 1.5), (1 + z) * np.exp(-z), rtol=2e-15)
    np.testing.assert_allclose(matern(z, 2.5), (1 + z + z * z / 3) * np.exp(-z), rtol=2e-15)


@pytest.mark.parametrize("nu", [1e6, 1e8, 1e12, 1e100])
def test_profile_of_large_order_tends_to_the_gaussian(nu: float) -> None:
    r = np.linspace(0.0, 5.0, 51)
    excess = np.abs(np.log(matern(np.sqrt(2 * nu) * r, nu)) + r**2 / 2)
    assert np.all(excess <= (r**2 + r**4) / nu + 1e-14)


@pytest.mark.parametrize("nu", [*ORDERS, 1e6, 1e100])
def test_limits_at_zero_and_at_infinity(nu: float) -> None:
    z = np.array([0.0, VANISHED * (1 + nu), 1e300 * max(1.0, nu), np.inf])
    assert matern(z, nu).tolist() == [1.0, 0.0, 0.0, 0.0]
    at_zero = -1 / (4 * (nu - 1)) if nu > 1 else 0.0
    np.testing.assert_allclose(matern_slope(z, nu), [at_zero, 0.0, 0.0, 0.0], rtol=1e-15)


@pytest.mark.parametrize("nu", [0.01, 0.3, 0.5, 0.99])
def test_slope_is_clipped_to_the_largest_double(nu: float) -> None:
    slope = matern_slope(np.array([5e-324, 1e-310, 1e-290]), nu)
    assert np.all(np.isfinite(slope))
    assert np.all(np.diff(slope) >= 0.0)
    assert (slope[0] == -LARGEST) == (nu < 0.6)


@pytest.mark.parametrize("nu", ORDERS)
def test_profile_decreases(nu: float) -> None:
    value = matern(np.concatenate([[0.0], np.geomspace(1e-14, 800.0, 3000), EDGES]), nu)
    assert np.all((value >= 0.0) & (value <= 1.0))
    value = value[: -EDGES.size]
    assert np.all(np.diff(value) <= 2 * tolerance(nu) * value[1:])


@pytest.mark.parametrize("nu", [0.3, 0.5, 1.0, 1.2, 2.5, 4.0, 33.0])
def test_shape_is_kept_and_the_argument_left_alone(nu: float) -> None:
    for shape in [(), (0,), (4,), (2, 3), (2, 0, 3)]:
        z = np.full(shape, 1.25)
        for result in (matern(z, nu), matern_slope(z, nu)):
            assert isinstance(result, np.ndarray)
            assert result.shape == shape
            assert result.dtype == np.float64
        assert np.all(z == 1.25)


@given(
    z=st.floats(min_value=0.0, allow_nan=False),
    nu=st.one_of(st.floats(0.01, 25.0), st.floats(0.01, 1e6)),
)
def test_values_are_finite_and_in_range(z: float, nu: float) -> None:
    value, slope = float(matern(np.array([z]), nu)[0]), float(matern_slope(np.array([z]), nu)[0])
    assert 0.0 <= value <= 1.0
    assert -LARGEST <= slope <= 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_accuracy_at_random_orders_and_distances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for nu in [*rng.uniform(0.01, 2.0, 30), *rng.uniform(2.0, 25.0, 30), *rng.uniform(25, 2000, 8)]:
        z = np.concatenate(
            [10 ** rng.uniform(-323, 0, 10), np.sqrt(1 + nu) * rng.uniform(0, 40, 20)]
        )
        assert_accurate(z, float(nu))


@pytest.mark.slow
def test_accuracy_at_order_ten_thousand() -> None:
    assert_accurate(np.sqrt(2e4) * np.array([1e-200, 1e-3, 0.4, 3.0, 12.0, 30.0]), 1e4 + 0.25)


@pytest.mark.parametrize("nu", [nu for nu in ORDERS if nu <= 1.0])
def test_descents_are_slopes_in_the_distance(nu: float) -> None:
    z = np.array([1e-3, 0.1, *EDGES[EDGES > NEAR], 1.0, 5.0, 50.0])
    np.testing.assert_allclose(matern_descent(z, nu), -2.0 * z * matern_slope(z, nu), rtol=1e-14)
    assert matern_descent(np.zeros(2), nu).tolist() == [0.0, 0.0]
    assert matern_descent(np.array([5e-324]), 0.001)[0] == LARGEST
