from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import mercer as mc
from mercer.check import Array
from mercer.kernels.radial import Bandwidth
from tests.oracles import (
    LIBRARIES,
    assert_derivatives,
    assert_near,
    assert_positive,
    assert_same_in,
    exact_gaps,
    foreign,
    smallest_eigenvalue,
    untouched,
    worst_relative_error,
)
from tests.references import FOLDER

REFERENCE = json.loads((FOLDER / "matern_basic.json").read_text())

RNG = np.random.default_rng(14)
X = np.array([[0.0, 1.0], [0.4, -0.6], [1.1, 0.3], [-0.9, 0.8], [-1.6, -1.3]])
Y = np.array([[0.2, 0.1], [-0.5, 1.5], [1.7, -0.9], [-1.2, 0.5]])
PER_COLUMN = (0.7, 1.6)
ORDERS = [0.3, 0.5, 0.7, 1.0, 1.5, 2.2, 30.0, 100.0]

BOUNDED: list[mc.Kernel] = [
    mc.Gaussian(0.8),
    mc.Gaussian(PER_COLUMN),
    mc.Laplacian(0.8),
    mc.Laplacian(PER_COLUMN, 1.0),
    mc.Laplacian(1.1, 1.5),
    mc.Laplacian(PER_COLUMN, 1.5),
    mc.Laplacian(PER_COLUMN, 2.0),
    mc.Matern(0.5, 0.8),
    mc.Matern(1.5, PER_COLUMN),
    mc.Matern(2.5, 0.8),
    mc.Matern(0.7, PER_COLUMN),
    mc.Matern(np.inf, 0.8),
    mc.Matern(np.inf, PER_COLUMN),
    mc.kernels.RationalQuadratic(0.6, 0.8),
    mc.kernels.RationalQuadratic(2.5, PER_COLUMN),
]
CONDITIONAL: list[mc.Kernel] = [
    mc.kernels.NegativeDistance(0.5, 0.8),
    mc.kernels.NegativeDistance(1.0, PER_COLUMN),
    mc.kernels.NegativeDistance(1.7, 0.8),
    mc.kernels.NegativeDistance(1.9, PER_COLUMN),
]
ALL = [*BOUNDED, *CONDITIONAL]
SMOOTH = [k for k in BOUNDED if isinstance(k, mc.Gaussian | mc.kernels.RationalQuadratic)]


def distances(x: Array, y: Array, norm: float = 2.0) -> Array:
    gaps = np.abs(x[:, None, :] - y[None, :, :])
    return np.asarray(np.sum(gaps**norm, axis=-1) ** (1.0 / norm))


@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_the_parametrisations_of_the_gaussian_agree(sigma: float) -> None:
    d = distances(X, Y)
    gamma = 1.0 / (2.0 * sigma**2)
    np.testing.assert_allclose(
        mc.Gaussian(sigma)(X, Y), np.exp(-(d**2) / (2 * sigma**2)), rtol=1e-13
    )
    np.testing.assert_allclose(mc.Gaussian(sigma)(X, Y), np.exp(-gamma * d**2), rtol=1e-13)


def test_the_bare_exponential_of_the_square_has_half_the_variance() -> None:
    np.testing.assert_allclose(
        mc.Gaussian(np.sqrt(0.5))(X, Y), np.exp(-(distances(X, Y) ** 2)), rtol=1e-13
    )


def test_a_bandwidth_for_each_coordinate_divides_that_coordinate() -> None:
    scaled = mc.Gaussian()(X / PER_COLUMN, Y / PER_COLUMN)
    np.testing.assert_allclose(mc.Gaussian(PER_COLUMN)(X, Y), scaled, rtol=1e-13)
    swapped = mc.Gaussian(PER_COLUMN[::-1])(X, Y)
    assert np.max(np.abs(swapped - scaled)) > 0.1


@pytest.mark.parametrize("norm", [1.0, 1.3, 2.0])
def test_the_laplacian_is_the_exponential_of_its_norm(norm: float) -> None:
    expected = np.exp(-distances(X, Y, norm) / 0.8)
    np.testing.assert_allclose(mc.Laplacian(0.8, norm)(X, Y), expected, rtol=1e-13)


def test_the_laplacian_sums_coordinates_and_not_squares() -> None:
    assert mc.Laplacian()([[0.0, 0.0]], [[1.0, 1.0]])[0, 0] == pytest.approx(np.exp(-2.0), 1e-15)
    apart = np.abs(mc.Laplacian(norm=1.0)(X, Y) - mc.Laplacian(norm=2.0)(X, Y))
    assert np.min(apart) > 1e-3
    line = X[:, :1]
    np.testing.assert_allclose(mc.Laplacian(norm=1.0)(line), mc.Laplacian(norm=2.0)(line), 1e-14)


@pytest.mark.parametrize("shape", [0.3, 1.0, 2.5])
def test_the_rational_quadratic_mixes_gaussians_with_a_gamma_law(shape: float) -> None:
    law = stats.gamma(shape, scale=1.0 / shape)
    for r in (0.3, 2.0):
        mixed, _ = integrate.quad(
            lambda u, r=r: np.exp(-r * r * np.exp(u) / 2) * law.pdf(np.exp(u)) * np.exp(u),
            -120,
            6,
            limit=400,
            epsabs=1e-13,
        )
        found = mc.kernels.RationalQuadratic(shape)([[0.0]], [[r]])[0, 0]
        assert found == pytest.approx(mixed, rel=1e-9)


def test_the_rational_quadratic_tends_to_the_gaussian() -> None:
    gap = np.abs(mc.kernels.RationalQuadratic(1e9, 0.8)(X, Y) - mc.Gaussian(0.8)(X, Y))
    assert np.max(gap) < 1e-8


@mc.kernels.value
class InverseQuadric(mc.kernels.Radial):
    """A radial function of the user's own, (1 + r²/2σ²)⁻²."""

    bandwidth: Bandwidth = 1.0

    def profile(self, s: Array) -> Array:
        return 1.0 / (1.0 + s / 2.0) ** 2

    def profile_slope(self, s: Array) -> Array:
        return -1.0 / (1.0 + s / 2.0) ** 3


def test_a_radial_function_needs_no_more_than_its_profile() -> None:
    k = InverseQuadric(0.8)
    expected = 1.0 / (1.0 + distances(X, Y) ** 2 / (2 * 0.8**2)) ** 2
    np.testing.assert_allclose(k(X, Y), expected, rtol=1e-13)
    assert_derivatives(k, X, Y)
    assert_derivatives(replace(k, bandwidth=PER_COLUMN), X, Y)


@pytest.mark.parametrize("exponent", [0.4, 1.0, 2.0])
def test_the_negative_distance_is_a_power_of_the_distance(exponent: float) -> None:
    k = mc.kernels.NegativeDistance(exponent, 0.8)
    np.testing.assert_allclose(k(X, Y), -((distances(X, Y) / 0.8) ** exponent), rtol=1e-13)
    assert np.array_equal(k.diag(X), np.zeros(5))
    assert k.kind is mc.kernels.Kind.CONDITIONAL


@pytest.mark.parametrize("table", REFERENCE["tables"], ids=lambda t: f"nu={t['nu']}")
def test_matern_agrees_with_the_reference_file(table: dict[str, Any]) -> None:
    k = mc.Matern(table["nu"], table["length_scale"])
    np.testing.assert_allclose(k([0.0], table["r"])[0], table["k"], rtol=1e-12)


@pytest.mark.parametrize(
    ("nu", "closed"),
    [
        (0.5, lambda z: np.exp(-z)),
        (1.5, lambda z: (1 + z) * np.exp(-z)),
        (2.5, lambda z: (1 + z + z**2 / 3) * np.exp(-z)),
    ],
)
def test_matern_has_its_closed_forms(nu: float, closed: Callable[[Array], Array]) -> None:
    z = np.sqrt(2 * nu) * distances(X, Y) / 0.9
    np.testing.assert_allclose(mc.Matern(nu, 0.9)(X, Y), closed(z), rtol=1e-13)


def test_matern_at_one_half_is_the_exponential_of_the_distance() -> None:
    np.testing.assert_allclose(mc.Matern(0.5, 0.9)(X, Y), mc.Laplacian(0.9, 2.0)(X, Y), rtol=1e-13)


def test_matern_nears_the_gaussian_as_the_text_tabulates() -> None:
    assert f"{mc.Matern(50.0)([0.0], [0.7])[0, 0]:.5f}" == "0.77930"
    assert f"{mc.Gaussian()([0.0], [0.7])[0, 0]:.5f}" == "0.78270"


def exact_matern(r: float, nu: float, sigma: float) -> tuple[Any, Any]:
    """Return the kernel and its derivative in the distance, at 40 digits."""
    with mpmath.workdps(40):
        order = mpmath.mpf(nu)
        rate = mpmath.sqrt(2 * order) / sigma
        z = rate * mpmath.mpf(r)
        front = 2 ** (1 - order) / mpmath.gamma(order) * z**order
        return front * mpmath.besselk(order, z), -rate * front * mpmath.besselk(order - 1, z)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.5, 1.0, 2.2, 7.0, 19.9, 30.0, 60.0, 100.0])
def test_matern_is_exact_at_no_tiny_and_large_distance(nu: float) -> None:
    k = mc.Matern(nu)([0.0], [0.0, 1e-300, 1e-10, 200.0])[0]
    assert k[0] == 1.0
    assert k[1] == 1.0
    assert k[2] == pytest.approx(float(exact_matern(1e-10, nu, 1.0)[0]), rel=1e-14)
    far = exact_matern(200.0, nu, 1.0)[0]
    assert k[3] == pytest.approx(float(far), rel=1e-12, abs=1e-307)


@pytest.mark.parametrize("nu", [30.0, 60.0])
def test_smooth_matern_kernels_are_one_where_bessel_functions_overflow(nu: float) -> None:
    assert np.array_equal(mc.Matern(nu)([0.0, 1e-10]), np.ones((2, 2)))
    assert np.array_equal(mc.Matern(nu).slopes([0.0], [0.0]), np.zeros((1, 1, 1)))


@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5])
def test_rough_matern_kernels_leave_one_at_distances_without_a_square(nu: float) -> None:
    for r in (1e-160, 1e-200, 1e-300):
        value = mc.Matern(nu)([0.0], [r])[0, 0]
        assert value == pytest.approx(float(exact_matern(r, nu, 1.0)[0]), rel=1e-14)
    assert mc.Matern(0.01)([0.0], [1e-200])[0, 0] < 0.99995
    np.testing.assert_allclose(mc.Matern(0.5).slopes([0.0], [1e-200]), [[[1.0]]], rtol=1e-14)


@pytest.mark.parametrize("nu", ORDERS)
@pytest.mark.parametrize("bandwidth", [0.8, (0.8, 1.7)])
def test_derivatives_of_matern_agree_with_extended_precision(
    nu: float, bandwidth: float | tuple[float, float]
) -> None:
    k = mc.Matern(nu, bandwidth)
    lengths = np.broadcast_to(np.asarray(bandwidth), (2,))
    slopes, partial = k.slopes(X, Y), k.partials(X, Y)["bandwidth"]
    for i, j in product(range(3), range(2)):
        gap = (X[i] - Y[j]) / lengths
        r = float(np.sqrt(gap @ gap))
        rate = float(exact_matern(r, nu, 1.0)[1])
        assert_near(slopes[i, j], rate * gap / r / lengths, 1e-12)
        by_length = -rate * gap**2 / r / lengths
        expected = by_length if isinstance(bandwidth, tuple) else np.sum(by_length)
        assert_near(partial[i, j], expected, 1e-12)


def test_infinite_order_is_the_gaussian_with_its_derivatives() -> None:
    limit, gaussian = mc.Matern(np.inf, PER_COLUMN), mc.Gaussian(PER_COLUMN)
    np.testing.assert_array_equal(limit(X, Y), gaussian(X, Y))
    np.testing.assert_allclose(limit.slopes(X, Y), gaussian.slopes(X, Y), rtol=1e-14)
    np.testing.assert_allclose(limit.slopes(X), gaussian.slopes(X), rtol=1e-14)
    np.testing.assert_allclose(
        limit.partials(X, Y)["bandwidth"], gaussian.partials(X, Y)["bandwidth"], rtol=1e-14
    )
    huge = mc.Matern(1.7e308)(X, Y)
    np.testing.assert_allclose(huge, mc.Gaussian()(X, Y), rtol=1e-12)


@pytest.mark.parametrize("nu", [0.0, -1.0, float("nan"), -float("inf"), "1", None])
def test_the_order_of_matern_is_positive(nu: object) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="nu must be a number > 0 or equal to inf"):
        mc.Matern(nu)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", ALL, ids=repr)
def test_partials_and_slopes_agree_with_differences(k: mc.Kernel) -> None:
    assert_derivatives(k, X, Y)


@pytest.mark.parametrize("columns", [1, 3, 6])
@pytest.mark.parametrize(
    "k",
    [
        mc.Gaussian(1.4),
        mc.Matern(2.2, 1.4),
        mc.kernels.RationalQuadratic(0.7),
        mc.Laplacian(2.0, 2.0),
    ],
)
def test_derivatives_are_right_in_any_number_of_coordinates(k: mc.Kernel, columns: int) -> None:
    rng = np.random.default_rng(columns)
    x, y = rng.normal(size=(3, columns)), rng.normal(size=(2, columns))
    assert_derivatives(k, x, y)
    lengths = tuple(mc.kernels.parameters(k)["bandwidth"] * (1.0 + 0.1 * j) for j in range(columns))
    assert_derivatives(mc.kernels.with_parameters(k, {"bandwidth": lengths}), x, y)


@pytest.mark.parametrize("k", SMOOTH, ids=repr)
def test_profiles_agree_with_complex_steps(k: mc.kernels.Radial) -> None:
    s, h = np.array([0.0, 1e-9, 0.3, 1.0, 7.0, 60.0]), 1e-150
    steps = k.profile(s + 1j * h).imag / h
    np.testing.assert_allclose(k.profile_slope(s + 0.0), steps, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("shape", [0.05, 1.0, 40.0])
def test_the_partial_in_the_shape_agrees_with_complex_steps(shape: float) -> None:
    s, h = np.array([0.0, 1e-9, 0.3, 1.0, 7.0, 1e6]), 1e-150
    k = mc.kernels.RationalQuadratic(shape)
    moved = replace(k)
    object.__setattr__(moved, "shape", shape + 1j * h)
    found = k.profile_partials(s)["shape"]
    np.testing.assert_allclose(found, moved.profile(s).imag / h, rtol=0, atol=1e-12)


@pytest.mark.parametrize("k", ALL, ids=repr)
def test_slopes_and_partials_vanish_where_points_coincide(k: mc.Kernel) -> None:
    twice = np.concatenate([X, X])
    for i in range(10):
        for j in (i, (i + 5) % 10):
            assert np.all(k.slopes(twice)[i, j] == 0.0)
            assert np.all(k.partials(twice)["bandwidth"][i, j] == 0.0)


@pytest.mark.parametrize("k", ALL, ids=repr)
def test_slopes_are_refused_for_complex_points(k: mc.Kernel) -> None:
    with pytest.raises(mc.errors.NotDifferentiable, match="real vectors only"):
        k.slopes(X + 1j)


@pytest.mark.parametrize("k", [k for k in ALL if not isinstance(k, mc.Laplacian)], ids=repr)
def test_complex_points_are_points_of_twice_as_many_real_coordinates(k: mc.Kernel) -> None:
    z = X + 1j * X[::-1]
    bandwidth = mc.kernels.parameters(k)["bandwidth"]
    doubled = bandwidth * 2 if isinstance(bandwidth, tuple) else bandwidth
    real = mc.kernels.with_parameters(k, {"bandwidth": doubled})
    np.testing.assert_allclose(k(z), real(np.hstack([X, X[::-1]])), rtol=1e-13)


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Gaussian,
        mc.Laplacian,
        mc.Matern,
        mc.kernels.RationalQuadratic,
        mc.kernels.NegativeDistance,
    ],
    ids=lambda c: str(c.__name__),
)
@pytest.mark.parametrize(
    ("bandwidth", "message"),
    [
        (-1.0, "bandwidth must be a number > 0, found -1.0"),
        (0, "bandwidth must be a number > 0, found 0"),
        (float("nan"), "bandwidth must be a number > 0, found nan"),
        (float("inf"), "bandwidth must be a number > 0, found inf"),
        (True, "bandwidth must be a number > 0, found True"),
        ((1.0, -1.0), r"bandwidth\[1\] must be a number > 0, found -1.0"),
        ((0.0, 1.0), r"bandwidth\[0\] must be a number > 0, found 0.0"),
        ((), "bandwidth must hold at least one number"),
        ("mean", "bandwidth knows the rules median, neighbours, quantiles, scale, found 'mean'"),
        (None, "bandwidth must be"),
        (1j, "bandwidth must be"),
        (np.array(-0.5), "bandwidth must be a number > 0, found -0.5"),
        (np.array(1j), "bandwidth must be"),
        ([[1.0]], r"bandwidth\[0\] must be a number"),
    ],
)
def test_bandwidths_outside_the_domain_are_refused(
    kernel: Callable[..., mc.Kernel], bandwidth: object, message: str
) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        kernel(bandwidth=bandwidth)


@pytest.mark.parametrize("k", [k for k in ALL if "[" in repr(k)], ids=repr)
def test_a_wrong_number_of_bandwidths_is_named(k: mc.Kernel) -> None:
    message = "2 bandwidths but the points have 3 coordinates; give one bandwidth, or one per"
    for call in (k, k.diag, k.slopes, k.partials):
        with pytest.raises(mc.errors.InvalidInput, match=message):
            call(np.ones((2, 3)))


def test_sequences_and_numpy_numbers_are_bandwidths() -> None:
    assert mc.Gaussian([0.7, 1.6]) == mc.Gaussian(PER_COLUMN)  # type: ignore[arg-type]
    assert mc.Gaussian(np.array([0.7, 1.6])) == mc.Gaussian(PER_COLUMN)  # type: ignore[arg-type]
    assert mc.Gaussian(np.float64(2.0)) == mc.Gaussian(2)
    assert mc.Gaussian(np.float32(0.5)) == mc.Gaussian(0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [0.0, -1.0, float("nan"), float("inf"), None])
def test_the_shape_of_a_rational_quadratic_is_positive(shape: object) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="shape must be a number > 0, found"):
        mc.kernels.RationalQuadratic(shape)  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", [3.0, 2.0 + 1e-9, 0.5, -1.0])
def test_norms_without_a_proof_are_refused(norm: float) -> None:
    with pytest.raises(mc.errors.NotPositiveDefinite, match="1 <= p <= 2 only, found norm"):
        mc.Laplacian(norm=norm)
    with pytest.raises(mc.errors.InvalidParameter, match="norm must be a number, found nan"):
        mc.Laplacian(norm=float("nan"))


def test_the_exponential_of_the_cubic_norm_is_not_positive_definite() -> None:
    grid = np.array(list(product([-1.0, 0.0, 1.0], repeat=4)))
    assert smallest_eigenvalue(np.exp(-0.2 * distances(grid, grid, 3.0))) < -0.07
    for norm in (1.0, 1.5, 2.0):
        assert_positive(mc.Laplacian(5.0, norm)(grid))


@pytest.mark.parametrize("exponent", [2.5, 2.0 + 1e-9, 4.0])
def test_powers_of_the_distance_above_two_are_refused(exponent: float) -> None:
    with pytest.raises(mc.errors.NotPositiveDefinite, match="0 < β <= 2 only, found exponent"):
        mc.kernels.NegativeDistance(exponent)


@pytest.mark.parametrize("exponent", [0.0, -1.0, float("nan"), None])
def test_powers_of_the_distance_are_positive(exponent: object) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="exponent must be a number > 0"):
        mc.kernels.NegativeDistance(exponent)  # type: ignore[arg-type]


def test_powers_above_two_are_not_conditionally_definite_and_those_below_are() -> None:
    line = np.arange(4.0)[:, None]
    weights = np.array([-1.0, 3.0, -3.0, 1.0])
    assert weights @ -(distances(line, line) ** 2.5) @ weights < -0.5
    x = RNG.normal(size=(30, 3))
    centring = np.eye(30) - 1.0 / 30
    for exponent in (0.3, 1.0, 1.9, 2.0):
        assert_positive(centring @ mc.kernels.NegativeDistance(exponent)(x) @ centring)
    assert smallest_eigenvalue(mc.kernels.NegativeDistance()(x)) < -1.0


@pytest.mark.parametrize("k", BOUNDED, ids=repr)
def test_bounded_kernels_are_positive_definite_with_unit_diagonal(k: mc.Kernel) -> None:
    K = k(RNG.normal(size=(40, 2)))
    assert_positive(K)
    assert np.array_equal(np.diag(K), np.ones(40))
    assert np.all((K > 0.0) & (K <= 1.0))
    assert k.kind is mc.kernels.Kind.POSITIVE
    assert k.proof.startswith(f"{type(k).__name__}: ")


@pytest.mark.parametrize(
    ("k", "norm"),
    [
        (mc.Gaussian("median"), 2.0),
        (mc.Matern(2.5, "median"), 2.0),
        (mc.kernels.RationalQuadratic(1.0, "median"), 2.0),
        (mc.kernels.NegativeDistance(1.0, "median"), 2.0),
        (mc.Laplacian("median"), 1.0),
        (mc.Laplacian("median", 1.5), 1.5),
    ],
    ids=repr,
)
def test_the_median_rule_is_the_median_distance_in_the_kernels_norm(
    k: mc.Kernel, norm: float
) -> None:
    pairs = distances(X, X, norm)[np.triu_indices(5, 1)]
    expected = np.sqrt(np.median(pairs**2))
    assert mc.kernels.parameters(k.resolve(X))["bandwidth"] == pytest.approx(expected, rel=1e-13)


def test_the_median_rule_ignores_copies_of_points() -> None:
    copies = np.repeat(X, 7, axis=0)
    expected = np.median(distances(X, X)[np.triu_indices(5, 1)] ** 2)
    found = mc.kernels.parameters(mc.Gaussian("median").resolve(copies))["bandwidth"]
    assert found == pytest.approx(np.sqrt(expected), rel=1e-13)


def test_the_median_rule_samples_large_data_and_is_repeatable() -> None:
    x = RNG.normal(size=(2500, 3))
    first = mc.kernels.parameters(mc.Gaussian("median").resolve(x))["bandwidth"]
    assert first == mc.kernels.parameters(mc.Gaussian("median").resolve(x.copy()))["bandwidth"]
    whole = np.median(distances(x[:1200], x[1200:]))
    assert first == pytest.approx(whole, rel=0.02)


def test_the_scale_rule_is_that_of_scikit_learn() -> None:
    x = 3.0 + RNG.normal(size=(50, 4)) * np.array([1.0, 5.0, 0.1, 2.0])
    gamma = 1.0 / (x.shape[1] * x.var())
    expected = np.exp(-gamma * distances(x, x) ** 2)
    np.testing.assert_allclose(mc.Gaussian("scale").resolve(x)(x), expected, rtol=1e-11)


@pytest.mark.parametrize("rule", ["median", "scale"])
@pytest.mark.parametrize("unit", [2.0**-660, 2.0**-100, 2.0**100, 2.0**660])
@pytest.mark.parametrize("k", [mc.Gaussian(), mc.Laplacian(norm=1.5)], ids=repr)
def test_rules_are_equivariant_under_units(k: mc.Kernel, rule: str, unit: float) -> None:
    k = mc.kernels.with_parameters(k, {"bandwidth": rule})
    here, there = (mc.kernels.parameters(k.resolve(u * X))["bandwidth"] for u in (1.0, unit))
    assert there == pytest.approx(unit * here, rel=1e-13)
    np.testing.assert_allclose(
        k.resolve(unit * X)(unit * X), k.resolve(X)(X), rtol=1e-12
    )  # the kernel does not see units


def test_a_resolved_kernel_stays_as_it_is() -> None:
    k = mc.Gaussian("median").resolve(X)
    assert k.resolve(Y) == k
    assert mc.Gaussian(0.3).resolve(X) == mc.Gaussian(0.3)


@pytest.mark.parametrize("rule", ["median", "scale"])
def test_a_rule_must_be_resolved_before_use(rule: str) -> None:
    k = mc.Gaussian(rule)
    for call in (k, k.diag, k.slopes, k.partials):
        with pytest.raises(mc.errors.InvalidParameter, match=r"call k.resolve\(x\) first"):
            call(X)


@pytest.mark.parametrize("rule", ["median", "scale"])
@pytest.mark.parametrize("x", [[], [[1.0]], [[0.1], [0.1], [0.1]], np.full((9, 3), 1e200 / 3)])
def test_rules_are_undefined_for_data_that_do_not_vary(rule: str, x: Any) -> None:
    with pytest.raises(
        (mc.errors.InvalidInput, mc.errors.InvalidParameter), match=f"'{rule}' is undefined"
    ):
        mc.Gaussian(rule).resolve(x)


def squares(gaps: list[Any]) -> Any:
    return sum(g * g for g in gaps)


def power_sum(gaps: list[Any], norm: float) -> Any:
    return sum(abs(g) ** mpmath.mpf(norm) for g in gaps) ** (1 / mpmath.mpf(norm))


SIGMA = 1.7
FAR: list[tuple[mc.Kernel, Callable[[list[Any]], Any]]] = [
    (mc.Gaussian(SIGMA), lambda g: mpmath.exp(-squares(g) / (2 * mpmath.mpf(SIGMA) ** 2))),
    (
        mc.Matern(1.5, SIGMA),
        lambda g: (
            (1 + mpmath.sqrt(3 * squares(g)) / mpmath.mpf(SIGMA))
            * mpmath.exp(-mpmath.sqrt(3 * squares(g)) / mpmath.mpf(SIGMA))
        ),
    ),
    (
        mc.kernels.RationalQuadratic(0.5, SIGMA),
        lambda g: 1 / mpmath.sqrt(1 + squares(g) / mpmath.mpf(SIGMA) ** 2),
    ),
    (mc.Laplacian(SIGMA), lambda g: mpmath.exp(-sum(map(abs, g)) / mpmath.mpf(SIGMA))),
    (mc.Laplacian(SIGMA, 1.5), lambda g: mpmath.exp(-power_sum(g, 1.5) / mpmath.mpf(SIGMA))),
    (mc.Laplacian(SIGMA, 2.0), lambda g: mpmath.exp(-mpmath.sqrt(squares(g)) / mpmath.mpf(SIGMA))),
]


@pytest.mark.parametrize("columns", [1, 3, 4, 5, 6, 20])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_kernels_keep_their_accuracy_far_from_the_origin(columns: int, offset: float) -> None:
    rng = np.random.default_rng(columns)
    x = offset + rng.normal(size=(24, columns))
    x[1] = x[0]
    x[2] = np.nextafter(x[0], np.inf)
    gaps = exact_gaps(x, x[::3])
    for k, exact in FAR:
        lengths = (SIGMA,) * columns
        per_column = mc.kernels.with_parameters(k, {"bandwidth": lengths})
        with mpmath.workdps(30):
            values = [[exact(pair) for pair in row] for row in gaps]
        for kernel in (k, per_column):
            assert worst_relative_error(kernel(x, x[::3]), values) < 1e-9, kernel
            K = kernel(x)
            assert np.array_equal(np.diag(K), np.ones(24))
            assert np.array_equal(K, K.T)
            assert K[0, 1] == 1.0
            assert_positive(K)


@pytest.mark.parametrize("columns", [1, 4, 5, 9])
@pytest.mark.parametrize("bandwidth", [0.3, "each"])
def test_neighbouring_doubles_far_from_the_origin_keep_their_distance(
    columns: int, bandwidth: float | str
) -> None:
    ulp = np.spacing(1e8)
    x = 1e8 + ulp * np.arange(12.0)[:, None] * np.ones(columns)
    lengths = (0.3,) * columns if bandwidth == "each" else 0.3
    exact = -ulp * np.abs(np.arange(12.0)[:, None] - np.arange(12.0)) * np.sqrt(columns) / 0.3
    found = mc.kernels.NegativeDistance(1.0, lengths)(x)
    np.testing.assert_allclose(found, exact, rtol=1e-14)


@pytest.mark.parametrize("n", [255, 256, 257, 512, 513])
@pytest.mark.parametrize("columns", [1, 6])
def test_no_size_changes_the_answer(n: int, columns: int) -> None:
    x = 500.0 + np.random.default_rng(n).uniform(size=(n, columns))
    K = mc.Gaussian()(x)
    assert_positive(K)
    assert np.array_equal(np.diag(K), np.ones(n))
    np.testing.assert_allclose(K, np.exp(-(distances(x, x) ** 2) / 2), rtol=1e-10)
    np.testing.assert_allclose(mc.Gaussian()(x[:7], x), K[:7], rtol=1e-10)


def test_the_accuracy_test_fails_for_the_expanded_square() -> None:
    x = 1e8 + np.random.default_rng(6).normal(size=(24, 6))
    norms = np.sum(x**2, axis=1)
    naive = np.exp(-np.maximum(norms[:, None] + norms - 2 * x @ x.T, 0) / (2 * SIGMA**2))
    with mpmath.workdps(30):
        exact = [[FAR[0][1](pair) for pair in row] for row in exact_gaps(x, x)]
    assert worst_relative_error(naive, exact) > 0.5


DECAYING: list[mc.Kernel] = [
    *(mc.Gaussian(), mc.Gaussian((1.0, 2.0)), mc.Laplacian(), mc.Laplacian((1.0, 2.0))),
    *(mc.Laplacian(norm=1.5), mc.Laplacian(norm=2.0), mc.Matern(0.3), mc.Matern(0.5)),
    *(mc.Matern(1.5, (1.0, 2.0)), mc.Matern(30.0), mc.Matern(np.inf)),
]


@pytest.mark.parametrize("k", DECAYING, ids=repr)
@pytest.mark.parametrize("unit", [1e200, 1e307])
def test_huge_data_are_infinitely_far_apart(k: mc.Kernel, unit: float) -> None:
    x = unit * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0], [0.5, 1.0]])
    expected = np.eye(4)
    expected[2, 3] = expected[3, 2] = 1.0
    assert np.array_equal(k(x), expected)
    assert np.all(k.slopes(x) == 0.0)
    assert np.all(k.partials(x)["bandwidth"] == 0.0)


@pytest.mark.parametrize("k", [*DECAYING, mc.kernels.RationalQuadratic(2.0)], ids=repr)
@pytest.mark.parametrize("unit", [5e-324, 1e-307, 1e-200])
def test_tiny_data_are_one_point(k: mc.Kernel, unit: float) -> None:
    x = unit * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]])
    assert np.array_equal(k(x), np.ones((3, 3)))
    assert np.all(np.isfinite(k.slopes(x)))
    assert np.all(np.abs(k.partials(x)["bandwidth"]) < 1e-100)


def test_a_rational_quadratic_of_huge_data_vanishes() -> None:
    x = 1e200 * np.array([[0.0], [1.0]])
    K = mc.kernels.RationalQuadratic(1.0)(x)
    assert np.array_equal(np.diag(K), np.ones(2))
    assert 0.0 <= K[0, 1] < 1e-290


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("bandwidth", [0.5, (0.5, 0.5)])
def test_distances_keep_the_whole_range_of_doubles(
    unit: float, bandwidth: float | tuple[float, ...]
) -> None:
    x = unit * np.array([[0.0, 0.0], [3.0, 4.0]])
    k = mc.kernels.NegativeDistance(1.0, bandwidth)
    assert k(x)[0, 1] == pytest.approx(-10.0 * unit, rel=1e-14)
    assert k.slopes(x)[0, 1] == pytest.approx(np.array([1.2, 1.6]), rel=1e-14)
    root = mc.kernels.NegativeDistance(0.5, bandwidth)(x)[0, 1]
    assert root == pytest.approx(-np.sqrt(10.0) * np.sqrt(unit), rel=1e-14)


def test_powers_that_overflow_are_refused_by_name() -> None:
    with pytest.raises(mc.errors.InvalidInput, match=r"not a finite number at \(0, 1\)"):
        mc.kernels.NegativeDistance(2.0)(np.array([[0.0], [1e200]]))


@pytest.mark.parametrize("bandwidth", [1e-310, 1e-200, 1e-10, 1e10, 1e200, 1e300])
@pytest.mark.parametrize("kernel", [mc.Gaussian, mc.Laplacian, mc.Matern], ids=lambda c: c.__name__)
def test_extreme_bandwidths_give_zero_or_one(
    kernel: Callable[..., mc.Kernel], bandwidth: float
) -> None:
    apart = 1.0 if bandwidth > 1.0 else 0.0
    K = kernel(bandwidth=bandwidth)([[0.0], [3.0]])
    np.testing.assert_allclose(K, [[1.0, apart], [apart, 1.0]], rtol=0, atol=1e-9)


def test_bandwidth_and_data_in_one_unit_cancel() -> None:
    for unit in (1e-300, 1e-160, 1e160, 1e300):
        for k in (
            mc.Gaussian(unit),
            mc.Matern(1.5, unit),
            mc.Laplacian(unit),
            mc.Gaussian((unit,)),
        ):
            near = mc.kernels.with_parameters(k, {"bandwidth": 1.0})([[0.0]], [[1.5]])
            np.testing.assert_allclose(k([[0.0]], [[1.5 * unit]]), near, rtol=1e-13)


@pytest.mark.parametrize("k", ALL, ids=repr)
def test_single_precision_is_computed_in_double_and_returned_single(k: mc.Kernel) -> None:
    x, y = (1000.0 + X).astype(np.float32), (1000.0 + Y).astype(np.float32)
    exact = k(x.astype(np.float64), y.astype(np.float64))
    found = k(x, y)
    assert found.dtype == np.float32
    assert k.slopes(x, y).dtype == np.float32
    np.testing.assert_allclose(found, exact, rtol=1e-6)
    assert k(x, Y).dtype == np.float64


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.sampled_from(BOUNDED))
def test_a_function_of_the_difference_does_not_see_a_shift(
    a: float, b: float, k: mc.Kernel
) -> None:
    shift = np.array([a, b])
    assert_near(k(X + shift, Y + shift), k(X, Y), 1e-11)


@pytest.mark.parametrize("k", ALL, ids=repr)
def test_arguments_are_left_alone(k: mc.Kernel) -> None:
    x, y = X.copy(), Y.copy()
    with untouched(x, y):
        k(x), k(x, y), k.diag(x), k.slopes(x, y), k.partials(x, y), k.resolve(x)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("k", ALL, ids=repr)
def test_no_point_one_point_and_two_points(k: mc.Kernel, n: int) -> None:
    assert k(X[:n]).shape == (n, n)
    assert k(Y, X[:n]).shape == (4, n)
    assert k.diag(X[:n]).shape == (n,)
    assert k.slopes(X[:n], Y).shape == (n, 4, 2)
    np.testing.assert_allclose(k(X[:n], Y), k(X, Y)[:n], rtol=1e-14)
    for whole, part in zip(k.partials(X, Y).values(), k.partials(X[:n], Y).values(), strict=True):
        np.testing.assert_allclose(part, whole[:n], rtol=1e-14)


def test_a_one_dimensional_array_holds_points_of_the_line() -> None:
    line = X[:, 0]
    np.testing.assert_array_equal(mc.Gaussian()(line), mc.Gaussian()(line[:, None]))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("k", [*ALL, mc.Matern(30.0), mc.Gaussian(0.1)], ids=repr)
def test_other_array_libraries_get_the_same_numbers_in_kind(k: mc.Kernel, library: str) -> None:
    assert_same_in(library, k, X, Y)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("columns", [3, 7])
def test_other_array_libraries_are_as_accurate_far_from_the_origin(
    library: str, columns: int
) -> None:
    x = 1e8 + np.random.default_rng(columns).normal(size=(9, columns))
    assert_same_in(library, mc.Matern(1.5, (SIGMA,) * columns), x, x[:3])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("rule", ["median", "scale"])
def test_rules_read_other_array_libraries(library: str, rule: str) -> None:
    assert mc.Gaussian(rule).resolve(foreign(library, X)) == mc.Gaussian(rule).resolve(X)


@pytest.mark.parametrize("bandwidth", [1.0, 1e-200, (1.0,), 1e100])
@pytest.mark.parametrize(("shape", "r"), [(0.01, 1e200), (0.001, 1e155), (0.3, 1e10)])
def test_rational_quadratics_outlast_the_squares_of_distances(
    shape: float, r: float, bandwidth: Bandwidth
) -> None:
    k = mc.kernels.RationalQuadratic(shape, bandwidth)
    length = bandwidth[0] if isinstance(bandwidth, tuple) else bandwidth
    a = mpmath.mpf(shape)
    ratio = (mpmath.mpf(r) / mpmath.mpf(length)) ** 2 / (2 * a)
    exact, share = (1 + ratio) ** -a, ratio / (1 + ratio)
    assert k([[0.0]], [[r]])[0, 0] == pytest.approx(float(exact), rel=1e-12)
    partials = k.partials([[0.0]], [[r]])
    in_shape = float(exact * (share - mpmath.log(1 + ratio)))
    assert partials["shape"].item() == pytest.approx(in_shape, rel=1e-12, abs=1e-150)
    if r / float(length) < float("inf"):
        in_length = float(exact * share * 2 * a / mpmath.mpf(length))
        assert partials["bandwidth"].item() == pytest.approx(in_length, rel=1e-10)
        slope = float(exact * share * 2 * a / mpmath.mpf(r))
        assert k.slopes([[0.0]], [[r]]).item() == pytest.approx(slope, rel=1e-10)
    assert mc.kernels.RationalQuadratic(1e-320)([[0.0]], [[r]]) == 1.0  # where s/2a is no double


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.5, 0.7, 0.95, 1.0])
@pytest.mark.parametrize("r", [1e-300, 1e-200, 1e-20, 0.3, 40.0])
def test_slopes_of_rough_kernels_are_right_wherever_they_are_doubles(nu: float, r: float) -> None:
    order, z = mpmath.mpf(nu), mpmath.sqrt(2 * mpmath.mpf(nu)) * mpmath.mpf(r)
    scale = mpmath.sqrt(2 * order) * 2 ** (1 - order) / mpmath.gamma(order)
    descent = float(scale * z**order * mpmath.besselk(1 - order, z))
    k = mc.Matern(nu)
    assert k.slopes([[r]], [[0.0]]).item() == pytest.approx(-descent, rel=1e-12)
    assert k.partials([[r]], [[0.0]])["bandwidth"].item() == pytest.approx(descent * r, rel=1e-12)
    assert mc.kernels.Sobolev(nu + 0.5, np.sqrt(1.0 / (2.0 * nu))).slopes(
        [[r]], [[0.0]]
    ).item() == pytest.approx(-descent, rel=1e-12)


@pytest.mark.parametrize("kernel", [mc.Gaussian, mc.Laplacian, mc.Matern])
def test_medians_of_data_near_the_largest_double(kernel: Callable[..., mc.Kernel]) -> None:
    resolved = kernel(bandwidth="median").resolve([[1.7e308], [-1.7e308], [0.0]])
    assert mc.kernels.parameters(resolved)["bandwidth"] == 1.7e308
    with pytest.raises(mc.errors.InvalidParameter, match="'median' of these data is too large"):
        kernel(bandwidth="median").resolve([[1.7e308], [-1.7e308]])
    with pytest.raises(mc.errors.InvalidParameter, match="'median' of these data is too large"):
        mc.Laplacian("median", norm=1.5).resolve([[1e300], [0.0], [1.0]])


def test_a_bandwidth_may_be_an_array_without_axes() -> None:
    assert mc.Gaussian(np.array(2.0)) == mc.Gaussian(2.0)  # type: ignore[arg-type]
    assert mc.Gaussian(foreign("array_api_strict", np.array(2.0))) == mc.Gaussian(2.0)


def test_real_and_imaginary_parts_count_as_coordinates() -> None:
    assert mc.Laplacian()([[0j]], [[3.0 + 4.0j]])[0, 0] == pytest.approx(np.exp(-7.0), rel=1e-14)
    round_one = mc.Laplacian(norm=2.0)
    assert round_one([[0j]], [[3.0 + 4.0j]])[0, 0] == pytest.approx(np.exp(-5.0), rel=1e-14)
