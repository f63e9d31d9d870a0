from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import exp1, gamma
from scipy.stats import gamma as gamma_law
from scipy.stats import norm, uniform

import mercer as mc
from mercer.kernels import schoenberg
from mercer.kernels.measures import transform_of
from mercer.kernels.monotone import completely_monotone

SQUARES = np.array([0.0, 1e-6, 0.1, 1.0, 3.7, 50.0, 1e4])


def integral(g: Any, t: float, ends: tuple[float, float], at: Any = None) -> float:
    """Integrate by another rule, between ends that hold the density."""
    found = quad(
        lambda a: -np.expm1(-a * t) / a * g(a), *ends, points=at, epsabs=0, epsrel=1e-13, limit=400
    )
    return float(found[0])


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
    found = schoenberg(SQUARES, density)
    np.testing.assert_allclose(found, schoenberg(SQUARES, name, parameter), rtol=1e-13, atol=0)


def test_masses_are_sums_of_transforms() -> None:
    found = schoenberg(SQUARES, {0.0: 2.0, 3.0: 0.5})
    one = schoenberg(SQUARES, "exponential", 3.0)
    np.testing.assert_allclose(found, 2.0 * SQUARES + 0.5 * one, rtol=1e-14)
    assert completely_monotone(lambda t: transform_of({1.0: 1.0}, t), bernstein=True)


def test_the_transform_of_a_measure_keeps_squared_distances() -> None:
    x = np.random.default_rng(0).normal(size=(10, 4))
    squares = ((x[:, None] - x[None]) ** 2).sum(2)
    kept = schoenberg(squares, lambda a: ((a > 0.5) & (a < 2.0)) * 1.0)
    assert mc.negative_definite(kept)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda a: 1.0 / a, "does not settle"),
        (lambda a: 1.0 + 0.0 * a, "does not settle"),
        (lambda a: -np.exp(-a), "a density is not negative"),
        (lambda a: 0.0 * a, "the density is 0 at all 280001 places"),
        (lambda a: norm.pdf(a, 1e6, 1e-3), "give points="),
        (lambda a: np.where(np.abs(a - 2.0) < 1.0, np.nan, np.exp(-a)), "the density is nan at 1"),
        (lambda a: a**-0.001, "its error is 1 of it"),
        (lambda a: np.where(a > 1.0, np.exp(-a) / np.sqrt(np.abs(a - 1.0)), 0.0), "not settle"),
        (lambda a: np.ones(3), "a value for each entry"),
        (lambda a: 1.0 if 1.0 < a < 2.0 else 0.0, "numpy.vectorize"),
        ({-1.0: 1.0}, "a place of the measure"),
        ({1.0: -1.0}, "the mass at 1"),
        (3.0, "a measure is a density"),
    ],
)
def test_measures_that_have_no_transform_are_refused(measure: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        schoenberg(SQUARES, measure)


@pytest.mark.parametrize(
    ("density", "ends", "at"),
    [
        (lambda a: norm.pdf(a, 3.0, 0.02), (2.5, 3.5), [3.0]),
        (lambda a: norm.pdf(a, 3e5, 2e3), (2.8e5, 3.2e5), [3e5]),
        (lambda a: uniform.pdf(a, 7.0, 0.5), (7.0, 7.5), None),
        (lambda a: uniform.pdf(a, 2.0, 1.0), (2.0, 3.0), None),
        (lambda a: uniform.pdf(a, 2e-9, 1e-9), (2e-9, 3e-9), None),
    ],
)
def test_narrow_densities_and_jumps_are_seen(density: Any, ends: Any, at: Any) -> None:
    expected = [integral(density, t, ends, at) for t in SQUARES]
    np.testing.assert_allclose(schoenberg(SQUARES, density), expected, rtol=1e-10, atol=0)


def test_jumps_near_the_ends_of_intervals_are_seen() -> None:
    # A rule without nodes at the ends of an interval overlooks a jump beside them, by up to 2e-5.
    def ein(z: Any) -> Any:  # ∫ (1 - e^-s)/s ds from 0 to z
        return exp1(z) + np.log(z) + np.euler_gamma

    rng, t = np.random.default_rng(1), np.array([1.0, 30.0])
    for _ in range(30):
        low = 10.0 ** rng.uniform(0.0, 6.0)
        high = low * (1.0 + 10.0 ** rng.uniform(-2.5, 1.0))
        found = schoenberg(t, lambda a, low=low, high=high: ((a > low) & (a < high)) * 1.0)
        np.testing.assert_allclose(found, ein(high * t) - ein(low * t), rtol=1e-10)


def test_a_kink_of_a_density_is_seen() -> None:
    def triangle(a: Any) -> Any:
        return np.maximum(0.0, 1.0 - np.abs(a - 3.3) / 0.7)

    expected = [integral(triangle, t, (2.6, 4.0), [3.3]) for t in SQUARES]
    np.testing.assert_allclose(schoenberg(SQUARES, triangle), expected, rtol=1e-11)


def test_a_small_peak_beside_a_large_density_is_seen() -> None:
    found = schoenberg(SQUARES, lambda a: np.exp(-2.0 * a) + 1e-6 * norm.pdf(a, 3.0, 1e-3))
    peak = [1e-6 * integral(lambda a: norm.pdf(a, 3.0, 1e-3), t, (2.98, 3.02), [3.0])
            for t in SQUARES]  # fmt: skip
    np.testing.assert_allclose(found, np.log1p(SQUARES / 2.0) + peak, rtol=1e-11, atol=0)


def test_points_and_support_say_where_a_peak_is() -> None:
    def peak(a: Any) -> Any:
        return norm.pdf(a, 1e6, 1.0)

    t = np.array([1e-7, 1e-6, 1.0])
    expected = [integral(peak, s, (1e6 - 12.0, 1e6 + 12.0), [1e6]) for s in t]
    for where in ({"points": [1e6]}, {"points": 1e6}, {"support": (9.9e5, 1.1e6)}):
        np.testing.assert_allclose(schoenberg(t, peak, **where), expected, rtol=1e-9)
    half = schoenberg(SQUARES, lambda a: np.exp(-a), support=(0.0, 1.0))
    expected = [integral(lambda a: np.exp(-a), s, (0.0, 1.0)) for s in SQUARES]
    np.testing.assert_allclose(half, expected, rtol=1e-12)
    whole = schoenberg(SQUARES, lambda a: np.exp(-a), support=(0.0, np.inf))
    np.testing.assert_allclose(whole, np.log1p(SQUARES), rtol=1e-13)


@pytest.mark.parametrize("shape", [0.5, 1.0, 3.0])
def test_densities_that_are_no_numbers_far_off_are_integrated_before(shape: float) -> None:
    # λ^(k-1) e^(-λ) is ∞·0 for large λ.
    at = [1e-9, 1e-4, 1e-2, 1.0, 40.0]

    def law(a: Any) -> Any:
        return gamma_law.pdf(a, shape)

    def written(a: Any) -> Any:
        return a ** (shape - 1.0) * np.exp(-a) / gamma(shape)

    expected = np.array([integral(law, t, (0.0, 800.0), at) for t in SQUARES[1:]])
    for g in (law, written):
        np.testing.assert_allclose(schoenberg(SQUARES, g)[1:], expected, rtol=1e-8)


def test_many_distances_share_their_integrals() -> None:
    x = np.random.default_rng(0).normal(size=(300, 4))
    squares = ((x[:, None] - x[None]) ** 2).sum(2)
    asked = []

    def density(a: Any) -> Any:
        asked.append(a.size)
        return 0.5 / gamma(0.5) * a**-0.5

    found = schoenberg(squares, density)
    assert sum(asked) < 400_000  # for 45 000 distances, most of it to see where the density is
    np.testing.assert_allclose(found, np.sqrt(squares), rtol=1e-13)
    wide = np.geomspace(1e-200, 1e200, 9001)
    found = schoenberg(wide, lambda a: 0.5 / gamma(0.5) * a**-0.5)
    np.testing.assert_allclose(found, np.sqrt(wide), rtol=1e-12)


def test_no_distances_and_distances_of_zero_have_their_transform() -> None:
    for shape in ((0,), (0, 3), (2, 2)):
        found = schoenberg(np.zeros(shape), lambda a: np.exp(-a))
        assert found.shape == shape
        assert not np.any(found)


def test_points_and_support_are_for_densities() -> None:
    for transform in ("power", {1.0: 1.0}):
        with pytest.raises(mc.errors.InvalidParameter, match="points and support are for a dens"):
            schoenberg(SQUARES, transform, points=[1.0])
    for wrong, message in (
        ({"points": [-1.0]}, r"points\[0\] must be a number > 0"),
        ({"support": (3.0, 2.0)}, "the upper end of the support"),
        ({"support": 3.0}, "support must be two numbers"),
        ({"support": (1e290, 1e300)}, "support must reach into"),
    ):
        with pytest.raises(mc.errors.InvalidParameter, match=message):
            schoenberg(SQUARES, lambda a: np.exp(-a), **wrong)
