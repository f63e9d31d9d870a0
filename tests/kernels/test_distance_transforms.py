from __future__ import annotations

from collections.abc import Callable
from math import gamma
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from mercer.check import Array
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.definite import positive_definite
from mercer.kernels.geometry import (
    TRANSFORMS,
    euclidean,
    largest_euclidean_power,
    negative_definite,
    schoenberg,
)
from tests.kernels.test_geometry import SQUARE, between, cities, grids

CITIES_POWER = 0.80197


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        ("identity", 3.0),
        ("exponential", (1 - np.exp(-6.0)) / 2),
        ("logarithm", np.log(2.5)),
        ("rational", 3.0 / (2.0 * 5.0)),
    ],
)
def test_the_transforms_at_a_point(transform: str, expected: float) -> None:
    assert schoenberg([[3.0]], transform, 2.0)[0, 0] == pytest.approx(expected, rel=1e-15)
    assert schoenberg([[0.0]], transform, 2.0)[0, 0] == 0.0


def test_the_default_is_the_square_root() -> None:
    np.testing.assert_allclose(schoenberg([[0.0, 2.0, 9.0]]), [[0.0, 2**0.5, 3.0]], rtol=1e-15)
    assert schoenberg([[7.0]], "power", 1.0) == [[7.0]]


DENSITIES: dict[str, Callable[[float, float], float]] = {
    "logarithm": lambda u, a: np.exp(-a * u),
    "rational": lambda u, a: u * np.exp(-a * u),
    "power": lambda u, p: p / gamma(1.0 - p) * u**-p,
}


@pytest.mark.parametrize("transform", DENSITIES)
@pytest.mark.parametrize("t", [0.2, 3.0])
def test_the_integral_representation(transform: str, t: float) -> None:
    parameter = 0.6
    g = DENSITIES[transform]

    def integrand(u: float) -> float:
        return float(-np.expm1(-u * t) / u * g(u, parameter))

    # u = 1/v turns the tail into an integral over (0, 1].
    value = quad(integrand, 0.0, 1.0)[0] + quad(lambda v: integrand(1 / v) / v**2, 0.0, 1.0)[0]
    assert schoenberg([[t]], transform, parameter)[0, 0] == pytest.approx(value, rel=1e-6)
    near = quad(lambda u: g(u, parameter), 0.0, 1.0)[0]
    far = quad(lambda v: g(1 / v, parameter) / v, 0.0, 1.0)[0]
    assert np.isfinite(near)
    assert np.isfinite(far)


@given(grids, st.sampled_from(sorted(TRANSFORMS)), st.floats(0.05, 1.0), st.floats(0.1, 10.0))
def test_transforms_keep_squared_distances(
    x: Array, transform: str, p: float, scale: float
) -> None:
    D = schoenberg(scale * between(x), transform, p)
    assert negative_definite(D)
    assert euclidean(np.sqrt(D))


def test_the_square_does_not_keep_squared_distances() -> None:
    D = between(np.array([[0.0], [1.0], [2.0]]))
    verdict = negative_definite(D**2)
    assert not verdict
    assert verdict.witness is not None
    c = np.array([1.0, -2.0, 1.0])
    assert c @ D**2 @ c == 24.0
    assert verdict.witness.value == pytest.approx(24.0 / 6.0)
    with pytest.raises(InvalidParameter, match=r"in \(0, 1\], found 2"):
        schoenberg(D, "power", 2.0)


def test_one_matrix_may_be_kept_by_other_functions_too() -> None:
    simplex = between(np.eye(4))
    assert negative_definite(simplex**2)


@given(grids, st.floats(0.01, 4.0))
def test_exponentials_of_squared_distances_are_positive_definite(x: Array, rate: float) -> None:
    assert positive_definite(np.exp(-rate * between(x)))


@pytest.mark.parametrize(("s", "expected"), [(2000.0, -0.0126), (1000.0, 0.0015)])
def test_the_cities_are_betrayed_by_a_wide_gaussian(s: float, expected: float) -> None:
    verdict = positive_definite(np.exp(-(cities() ** 2) / (2 * s**2)))
    assert verdict.smallest == pytest.approx(expected, abs=5e-5)
    assert verdict.holds is (expected > 0)


def test_the_distances_of_the_cities_have_positive_definite_exponentials() -> None:
    for rate in (1e-6, 1e-4, 1e-2, 1.0):
        assert positive_definite(np.exp(-rate * cities()))


def test_the_largest_euclidean_power_of_the_cities() -> None:
    D = cities()
    p = largest_euclidean_power(D)
    assert p == pytest.approx(CITIES_POWER, abs=5e-6)
    assert euclidean(D**p)
    assert not euclidean(D ** (p + 1e-8))
    assert negative_definite(schoenberg(D**2, "power", p))
    assert largest_euclidean_power(7e50 * D) == pytest.approx(p, abs=1e-9)


def test_the_largest_power_of_a_square_path() -> None:
    assert largest_euclidean_power(SQUARE) == pytest.approx(0.5, abs=1e-10)
    assert largest_euclidean_power(SQUARE) <= 0.5


@given(grids)
def test_euclidean_distances_need_no_power(x: Array) -> None:
    assert largest_euclidean_power(np.sqrt(between(x))) == 1.0


@given(st.lists(st.floats(1.0, 9.0), min_size=10, max_size=10))
def test_all_smaller_powers_are_euclidean_and_larger_ones_are_not(sides: list[float]) -> None:
    d = np.zeros((5, 5))
    d[np.triu_indices(5, 1)] = sides
    d += d.T
    p = largest_euclidean_power(d)
    assert 0.0 < p <= 1.0
    assert all(euclidean(d ** (f * p)) for f in (0.1, 0.5, 0.9, 1.0))
    assert p == 1.0 or not euclidean(d ** min(1.0, p + 1e-5))


def test_copies_of_points_are_one_point() -> None:
    twice = np.kron(SQUARE, np.ones((2, 2)))
    assert largest_euclidean_power(twice) == pytest.approx(0.5, abs=1e-10)
    assert largest_euclidean_power(np.zeros((3, 3))) == 1.0
    assert largest_euclidean_power(np.zeros((0, 0))) == 1.0


def test_distance_zero_between_different_points_is_refused() -> None:
    d = SQUARE.copy()
    d[0, 1] = d[1, 0] = 0.0
    with pytest.raises(InvalidInput, match="points 0 and 1 are at distance 0"):
        largest_euclidean_power(d)


@pytest.mark.parametrize("d", [-SQUARE, SQUARE + np.eye(4), np.triu(SQUARE)])
def test_what_are_no_distances_has_no_power(d: Array) -> None:
    with pytest.raises(InvalidInput, match="these are not distances"):
        largest_euclidean_power(d)


@pytest.mark.parametrize(
    ("transform", "parameter", "expected"),
    [
        ("square", 1.0, "one of identity, exponential, logarithm, rational, power"),
        ("power", 0.0, "parameter p of power must be a number > 0"),
        ("power", 1.5, "in (0, 1]"),
        ("logarithm", -1.0, "parameter a of logarithm must be a number > 0"),
        ("rational", np.nan, "parameter a of rational must be a number > 0"),
        ("exponential", np.inf, "parameter a of exponential"),
    ],
)
def test_domains_of_transforms(transform: str, parameter: float, expected: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        schoenberg(SQUARE, transform, parameter)
    assert expected in str(refusal.value)


def test_squared_distances_are_checked() -> None:
    with pytest.raises(InvalidInput, match=r"cannot be negative, found -1 at \(0, 1\)"):
        schoenberg([[0.0, -1.0]])
    with pytest.raises(InvalidInput, match="row 0, column 0 holds inf"):
        schoenberg([[np.inf]])
    with pytest.raises(InvalidInput, match="transform logarithm"):
        schoenberg([[1e300]], "logarithm", 1e-300)


@pytest.mark.parametrize(
    ("squares", "message"),
    [
        ([["a"]], "'a' is not a number"),
        ([[1.0], [1.0, 2.0]], "row 1 of the array of squared distances has 2 coordinates"),
        ([[1.0 + 2.0j]], "must hold real numbers, found complex"),
        ([[None]], "row 0, column 0 holds NaN"),
    ],
)
def test_what_is_not_an_array_of_real_numbers_is_refused(squares: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        schoenberg(squares)


@pytest.mark.parametrize("tol", [1e-13, 1e-17, 5e-324])
def test_a_tolerance_below_rounding_ends(tol: float) -> None:
    assert largest_euclidean_power(SQUARE, tol=tol) == pytest.approx(0.5, abs=1e-12)
    assert largest_euclidean_power(cities(), tol=tol) == pytest.approx(CITIES_POWER, abs=5e-6)
