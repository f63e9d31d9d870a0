from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from scipy import integrate, optimize

import mercer as mc
from mercer.kernels.spectral import LAWS, Coordinatewise
from tests.oracles import (
    LIBRARIES,
    assert_derivatives,
    assert_near,
    assert_positive,
    assert_same_in,
    exact_gaps,
    smallest_eigenvalue,
    untouched,
)

X = np.array([[0.0, 1.0], [0.4, -0.6], [1.1, 0.3], [-0.9, 0.8], [-1.6, -1.3]])
Y = np.array([[0.2, 0.1], [-0.5, 1.5], [1.7, -0.9], [-1.2, 0.5]])
PER_COLUMN = (0.7, 1.6)

PRODUCTS: list[Coordinatewise] = [
    mc.kernels.Periodic(2.3, 0.8),
    mc.kernels.Periodic(PER_COLUMN, 1.4),
    mc.kernels.Sinc(0.4),
    mc.kernels.Sinc(PER_COLUMN),
    *(mc.kernels.Characteristic(law, 0.6) for law in LAWS),
    mc.kernels.Characteristic("triangular", PER_COLUMN),
]
SOBOLEV = [
    mc.kernels.Sobolev(1.5, 0.8),
    mc.kernels.Sobolev(2.0, PER_COLUMN),
    mc.kernels.Sobolev(3.7, 0.8),
]
BOUNDED: list[mc.Kernel] = [*PRODUCTS, *SOBOLEV]


def test_sinc_is_not_that_of_numpy() -> None:
    found = mc.kernels.Sinc()([0.0], [0.0, 1.0, np.pi, -2.0])[0]
    assert found[0] == 1.0
    assert f"{found[1]:.6f}" == "0.841471"
    np.testing.assert_allclose(found[1:], [np.sin(1.0), 0.0, np.sin(2.0) / 2], atol=1e-16)
    assert abs(float(np.sinc(1.0))) < 1e-15


def test_products_run_over_coordinates() -> None:
    gaps = X[:, None, :] - Y[None, :, :]
    sinc = np.prod(np.sinc(gaps / 0.4 / np.pi), axis=-1)
    assert_near(mc.kernels.Sinc(0.4)(X, Y), sinc, 1e-14)
    periodic = np.exp(-2.0 * np.sum(np.sin(np.pi * gaps / PER_COLUMN) ** 2, axis=-1) / 1.4**2)
    assert_near(mc.kernels.Periodic(PER_COLUMN, 1.4)(X, Y), periodic, 1e-14)


def test_radial_sinc_is_not_positive_definite_and_the_product_is() -> None:
    least = float(optimize.minimize_scalar(lambda t: np.sin(t) / t, bounds=(4.0, 5.0)).x)
    simplex = np.eye(6) * least / np.sqrt(2.0)  # six points at this distance from one another
    radial = np.sinc(np.linalg.norm(simplex[:, None] - simplex[None], axis=-1) / np.pi)
    assert smallest_eigenvalue(radial) < -0.08
    assert_positive(mc.kernels.Sinc()(simplex))


def test_a_radial_periodic_function_is_not_positive_definite_and_the_product_is() -> None:
    period, bandwidth = 1.7, 0.9
    witness = period * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.5]])
    r = np.linalg.norm(witness[:, None] - witness[None], axis=-1)
    radial = np.exp(-2.0 * np.sin(np.pi * r / period) ** 2 / bandwidth**2)
    assert smallest_eigenvalue(radial) < -0.1
    assert_positive(mc.kernels.Periodic(period, bandwidth)(witness))


@pytest.mark.parametrize("k", BOUNDED, ids=repr)
def test_characteristic_functions_are_positive_definite_and_one_at_zero(k: mc.Kernel) -> None:
    x = np.random.default_rng(17).normal(size=(40, 2))
    K = k(x)
    assert_positive(K)
    assert np.array_equal(np.diag(K), np.ones(40))
    assert np.all(np.abs(K) <= 1.0)
    assert k.kind is mc.kernels.Kind.POSITIVE
    assert k.proof.startswith(f"{type(k).__name__}: ")


DENSITIES: dict[str, tuple[Callable[[float], float], float]] = {
    "normal": (lambda x: float(np.exp(-x * x / 2) / np.sqrt(2 * np.pi)), 40.0),
    "uniform": (lambda x: 0.5, 1.0),
    "laplace": (lambda x: float(np.exp(-abs(x)) / 2), 40.0),
    "triangular": (lambda x: 1.0 - abs(x), 1.0),
}


@pytest.mark.parametrize("law", DENSITIES)
def test_laws_have_their_characteristic_functions(law: str) -> None:
    density, end = DENSITIES[law]
    for t in (0.3, 1.0, 4.7):
        psi, _ = integrate.quad(
            lambda x, t=t: 2 * np.cos(t * x) * density(x), 0.0, end, epsabs=1e-13
        )
        assert mc.kernels.Characteristic(law)([0.0], [t])[0, 0] == pytest.approx(psi, rel=1e-9)


def test_laws_without_moments_or_density_have_theirs_too() -> None:
    t = np.array([0.3, 1.0, 4.7])
    np.testing.assert_allclose(
        mc.kernels.Characteristic("cauchy")([0.0], t)[0], np.exp(-t), rtol=1e-15
    )
    np.testing.assert_allclose(
        mc.kernels.Characteristic("signs")([0.0], t)[0], np.cos(t), rtol=1e-15
    )
    np.testing.assert_array_equal(
        mc.kernels.Characteristic("uniform")(X, Y), mc.kernels.Sinc()(X, Y)
    )
    np.testing.assert_allclose(
        mc.kernels.Characteristic("normal")(X, Y), mc.Gaussian()(X, Y), rtol=1e-14
    )


def test_a_given_characteristic_function_is_taken_at_its_word() -> None:
    k = mc.kernels.Characteristic(lambda t: np.exp(-np.abs(t)), 0.6)
    np.testing.assert_array_equal(k(X, Y), mc.kernels.Characteristic("cauchy", 0.6)(X, Y))
    assert k.proof == ""
    for call in (k.slopes, k.partials):
        with pytest.raises(mc.errors.NotDifferentiable, match="derivative was not given"):
            call(X)


@pytest.mark.parametrize(
    "psi",
    [
        lambda t: np.exp(-np.sum(np.abs(t), axis=-1)),  # which multiplies the coordinates itself
        lambda t: np.exp(-np.abs(t) @ np.abs(t).T),
        lambda t: 1.0,
    ],
)
@pytest.mark.parametrize("n", [2, 5])
def test_a_function_that_does_not_keep_the_shape_is_refused(psi: Any, n: int) -> None:
    k = mc.kernels.Characteristic(psi)
    for call in (k, k.diag):
        with pytest.raises(
            mc.errors.InvalidParameter, match="a value for each entry of its array, of"
        ):
            call(X[:n])


def test_a_function_of_a_number_is_refused() -> None:
    for joint in (False, True):
        with pytest.raises(mc.errors.InvalidParameter, match="function of an array, and this one"):
            mc.kernels.Characteristic(math.cos, joint=joint)(X)  # type: ignore[arg-type]


@pytest.mark.parametrize("law", ["student", None, 3, ("normal",)])
def test_unknown_laws_are_refused_and_the_known_listed(law: object) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="one of normal, uniform, cauchy, laplace"):
        mc.kernels.Characteristic(law)  # type: ignore[arg-type]


def text_sobolev(r: float, s: float, p: int) -> Any:
    """Return the text's ψ, which is not 1 at 0."""
    s, r = mpmath.mpf(s), mpmath.mpf(r)
    order = s - mpmath.mpf(p) / 2
    return 2 ** (1 - s) / mpmath.gamma(s) * r**order * mpmath.besselk(order, r)


def text_sobolev_at_zero(s: float, p: int) -> Any:
    s, half = mpmath.mpf(s), mpmath.mpf(p) / 2
    return 2**-half * mpmath.gamma(s - half) / mpmath.gamma(s)


@pytest.mark.parametrize(("s", "p"), [(0.7, 1), (1.0, 1), (1.3, 2), (2.5, 2), (2.5, 4), (8.0, 5)])
def test_sobolev_is_the_formula_of_the_text_divided_by_its_value_at_zero(s: float, p: int) -> None:
    k = mc.kernels.Sobolev(s)
    origin = np.zeros((1, p))
    assert k(origin)[0, 0] == 1.0
    with mpmath.workdps(30):
        assert float(text_sobolev_at_zero(s, p)) != pytest.approx(1.0, abs=0.05)
        for r in (1e-3, 0.4, 1.0, 6.0):
            exact = text_sobolev(r, s, p) / text_sobolev_at_zero(s, p)
            point = np.full((1, p), r / np.sqrt(p))
            assert k(origin, point)[0, 0] == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("s", [1.0, 1.8, 3.0])
def test_sobolev_is_the_transform_of_its_spectral_density(s: float) -> None:
    whole, _ = integrate.quad(lambda w: (1 + w * w) ** -s, 0, np.inf)
    for r in (0.5, 2.0):
        part, _ = integrate.quad(lambda w: (1 + w * w) ** -s, 0, np.inf, weight="cos", wvar=r)
        assert mc.kernels.Sobolev(s)([0.0], [r])[0, 0] == pytest.approx(part / whole, rel=1e-7)


@pytest.mark.parametrize(("s", "p"), [(0.5, 1), (1.0, 2), (1.0, 3), (2.5, 5)])
def test_sobolev_needs_more_smoothness_than_half_the_dimension(s: float, p: int) -> None:
    k = mc.kernels.Sobolev(s)
    message = rf"needs s > p/2 and the points have p = {p} real coordinates; take s > {p / 2}"
    for call in (k, k.diag, k.slopes, k.partials):
        with pytest.raises(mc.errors.InvalidParameter, match=message):
            call(np.zeros((2, p)))
    assert mc.kernels.Sobolev(p / 2 + 0.01)(np.zeros((1, p))).tolist() == [[1.0]]


def test_complex_coordinates_count_twice_for_sobolev() -> None:
    z = X[:, :1] + 1j * X[:, 1:]
    np.testing.assert_allclose(mc.kernels.Sobolev(1.7)(z), mc.kernels.Sobolev(1.7)(X), rtol=1e-13)
    with pytest.raises(mc.errors.InvalidParameter, match="p = 2 real coordinates"):
        mc.kernels.Sobolev(1.0)(z)


@pytest.mark.parametrize("s", [0.0, -1.0, float("nan"), float("inf"), None])
def test_the_smoothness_of_sobolev_is_positive(s: object) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="s must be a number > 0, found"):
        mc.kernels.Sobolev(s)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", BOUNDED, ids=repr)
def test_partials_and_slopes_agree_with_differences(k: mc.Kernel) -> None:
    assert_derivatives(k, X, Y)


@pytest.mark.parametrize("columns", [1, 3, 6])
@pytest.mark.parametrize(
    "k", [mc.kernels.Sinc(0.9), mc.kernels.Periodic(4.1, 1.3), mc.kernels.Sobolev(4.5)], ids=repr
)
def test_derivatives_are_right_in_any_number_of_coordinates(k: mc.Kernel, columns: int) -> None:
    rng = np.random.default_rng(columns)
    x, y = rng.normal(size=(3, columns)), rng.normal(size=(2, columns))
    assert_derivatives(k, x, y)
    name = "period" if isinstance(k, mc.kernels.Periodic) else "bandwidth"
    lengths = tuple(mc.kernels.parameters(k)[name] * (1.0 + 0.1 * j) for j in range(columns))
    assert_derivatives(mc.kernels.with_parameters(k, {name: lengths}), x, y)


ANALYTIC = [k for k in PRODUCTS if "cauchy" not in repr(k)]


@pytest.mark.parametrize("k", ANALYTIC, ids=repr)
def test_factors_agree_with_complex_steps(k: Coordinatewise) -> None:
    # No smaller t: the step itself divides nearly equal numbers there.
    t = np.array([0.0, 0.02, 0.05, 0.19, 0.21, 0.4, 1.0, 2.6, 31.0])
    t, h = np.concatenate([-t, t]), 1e-150
    steps = k.factor(t + 1j * h).imag / h
    np.testing.assert_allclose(k.factor_slope(t), steps, rtol=0, atol=1e-12)


def test_the_slope_of_sinc_keeps_its_digits_on_both_sides_of_the_switch() -> None:
    t = np.concatenate([np.geomspace(1e-9, 0.199999, 40), np.geomspace(0.2, 3.0, 20)])
    with mpmath.workdps(40):
        exact = [float(mpmath.cos(v) / v - mpmath.sin(v) / mpmath.mpf(v) ** 2) for v in t]
    np.testing.assert_allclose(mc.kernels.Sinc().factor_slope(t), exact, rtol=3e-14)


@pytest.mark.parametrize("bandwidth", [0.05, 0.8, 20.0])
def test_the_partial_in_the_bandwidth_of_periodic_agrees_with_complex_steps(
    bandwidth: float,
) -> None:
    t, h = np.array([0.0, 0.01, 0.3, 0.5, 7.7]), 1e-150
    k = mc.kernels.Periodic(1.0, bandwidth)
    moved = replace(k)
    object.__setattr__(moved, "bandwidth", bandwidth + 1j * h)
    found = k.factor_partials(t)["bandwidth"]
    np.testing.assert_allclose(found, moved.factor(t).imag / h, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", BOUNDED, ids=repr)
def test_slopes_vanish_where_points_coincide(k: mc.Kernel) -> None:
    twice = np.concatenate([X, X])
    for i in range(10):
        for j in (i, (i + 5) % 10):
            assert np.all(k.slopes(twice)[i, j] == 0.0)
            assert all(np.all(d[i, j] == 0.0) for d in k.partials(twice).values())


COMPLEX = [*PRODUCTS, mc.kernels.Sobolev(3.7, 0.8), mc.kernels.Sobolev(3.7, PER_COLUMN)]


@pytest.mark.parametrize("k", COMPLEX, ids=repr)
def test_derivatives_at_complex_points_are_those_of_their_parts_or_refused(k: mc.Kernel) -> None:
    z, parts = X + 1j * X[::-1], np.hstack([X, X[::-1]])
    with pytest.raises(mc.errors.NotDifferentiable, match="real vectors only"):
        k.slopes(z)
    if "[" in repr(k):
        with pytest.raises(mc.errors.NotDifferentiable, match="real vectors only"):
            k.partials(z)
        return
    for name, partial in k.partials(parts).items():
        assert_near(k.partials(z)[name], partial, 1e-13, name)


@pytest.mark.parametrize(
    ("period", "message"),
    [
        (0.0, "period must be a number > 0"),
        (-1.0, "period must be a number > 0"),
        (float("nan"), "period must be a number > 0"),
        ((1.0, 0.0), r"period\[1\] must be a number > 0"),
        ("median", "period must be a number > 0, or one for each coordinate, found 'median'"),
        (None, "period must be"),
    ],
)
def test_periods_outside_the_domain_are_refused(period: object, message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        mc.kernels.Periodic(period)  # type: ignore[arg-type]


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("inf"), (1.0, 2.0), "median"])
def test_periodic_has_one_bandwidth(bandwidth: object) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="bandwidth must be a number > 0, found"):
        mc.kernels.Periodic(1.0, bandwidth)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [k for k in BOUNDED if "[" in repr(k)], ids=repr)
def test_a_wrong_number_of_lengths_is_named(k: mc.Kernel) -> None:
    for call in (k, k.diag, k.slopes, k.partials):
        with pytest.raises(
            mc.errors.InvalidInput, match="2 bandwidths but the points have 3 coordinates"
        ):
            call(np.ones((2, 3)))


@pytest.mark.parametrize(
    "k", [mc.kernels.Sinc("median"), mc.kernels.Sobolev(2.0, "median")], ids=repr
)
def test_rules_find_the_bandwidth(k: mc.Kernel) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=r"call k.resolve\(x\) first"):
        k(X)
    d = np.linalg.norm(X[:, None] - X[None], axis=-1)[np.triu_indices(5, 1)]
    expected = np.sqrt(np.median(d**2))
    assert mc.kernels.parameters(k.resolve(X))["bandwidth"] == pytest.approx(expected, rel=1e-13)
    assert mc.kernels.Periodic(2.0, 0.5).resolve(X) == mc.kernels.Periodic(2.0, 0.5)


def test_whole_periods_do_not_show() -> None:
    k = mc.kernels.Periodic(0.25, 0.8)
    turns = np.array([0.0, 1.0, -3.0, 1e3, 1e8, 2.0**50])
    np.testing.assert_array_equal(k([0.0], 0.25 * turns), np.ones((1, 6)))
    np.testing.assert_array_equal(k.slopes([0.0], 0.25 * turns), np.zeros((1, 6, 1)))
    np.testing.assert_allclose(k([0.0], 0.25 * 2.0**20 + X[:, 0]), k([0.0], X[:, 0]), rtol=1e-9)


@pytest.mark.parametrize("bandwidth", [1e-200, 1e200])
def test_extreme_bandwidths_of_periodic_give_zero_or_one(bandwidth: float) -> None:
    k = mc.kernels.Periodic(1.0, bandwidth)
    apart = 1.0 if bandwidth > 1.0 else 0.0
    assert k([0.0, 0.3]).tolist() == [[1.0, apart], [apart, 1.0]]
    assert np.all(k.slopes([0.0, 0.3]) == 0.0)
    assert np.all(k.partials([0.0, 0.3])["bandwidth"] == 0.0)


EXACT: list[tuple[mc.Kernel, Callable[[Any], Any]]] = [
    (mc.kernels.Sinc(0.7), lambda g: mpmath.sinc(g / mpmath.mpf(0.7))),
    (
        mc.kernels.Periodic(1.3, 0.9),
        lambda g: mpmath.exp(
            -2 * mpmath.sin(mpmath.pi * g / mpmath.mpf(1.3)) ** 2 / mpmath.mpf(0.9) ** 2
        ),
    ),
    (mc.kernels.Characteristic("laplace", 0.7), lambda g: 1 / (1 + (g / mpmath.mpf(0.7)) ** 2)),
    (mc.kernels.Characteristic("cauchy", 0.7), lambda g: mpmath.exp(-abs(g) / mpmath.mpf(0.7))),
    (mc.kernels.Characteristic("triangular", 0.7), lambda g: mpmath.sinc(g / mpmath.mpf(1.4)) ** 2),
]


@pytest.mark.parametrize("columns", [1, 3, 6])
@pytest.mark.parametrize(("k", "exact"), EXACT, ids=[repr(k) for k, _ in EXACT])
def test_kernels_keep_their_accuracy_far_from_the_origin(
    k: mc.Kernel, exact: Callable[[Any], Any], columns: int
) -> None:
    x = 1e8 + np.random.default_rng(columns).normal(size=(20, columns))
    K = k(x)
    with mpmath.workdps(30):
        values = [[float(mpmath.fprod(map(exact, p))) for p in row] for row in exact_gaps(x, x)]
    np.testing.assert_allclose(K, values, rtol=1e-12, atol=1e-15)
    assert np.array_equal(np.diag(K), np.ones(20))
    assert np.array_equal(K, K.T)
    assert_positive(K)


@pytest.mark.parametrize("k", BOUNDED, ids=repr)
@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_extreme_units_give_finite_values_without_warnings(k: mc.Kernel, unit: float) -> None:
    x = unit * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]])
    K = k(x)
    assert np.array_equal(np.diag(K), np.ones(3))
    assert np.all(np.abs(K) <= 1.0)
    assert np.all(np.isfinite(k.slopes(x)))
    if unit < 1.0:
        assert np.array_equal(K, np.ones((3, 3)))
    elif "signs" not in repr(k) and not isinstance(k, mc.kernels.Periodic):
        assert np.max(np.abs(K - np.eye(3))) < 1e-190


@pytest.mark.parametrize("k", BOUNDED, ids=repr)
def test_single_precision_is_computed_in_double_and_returned_single(k: mc.Kernel) -> None:
    x, y = (100.0 + X).astype(np.float32), (100.0 + Y).astype(np.float32)
    exact = k(x.astype(np.float64), y.astype(np.float64))
    assert k(x, y).dtype == np.float32
    np.testing.assert_allclose(k(x, y), exact, rtol=1e-6)


@pytest.mark.parametrize("k", BOUNDED, ids=repr)
def test_arguments_are_left_alone(k: mc.Kernel) -> None:
    x, y = X.copy(), Y.copy()
    with untouched(x, y):
        k(x), k(x, y), k.diag(x), k.slopes(x, y), k.partials(x, y), k.resolve(x)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("k", BOUNDED, ids=repr)
def test_no_point_one_point_and_two_points(k: mc.Kernel, n: int) -> None:
    assert k(X[:n]).shape == (n, n)
    assert k(Y, X[:n]).shape == (4, n)
    assert k.diag(X[:n]).shape == (n,)
    np.testing.assert_allclose(k(X[:n], Y), k(X, Y)[:n], rtol=1e-14)
    np.testing.assert_allclose(k.slopes(X[:n], Y), k.slopes(X, Y)[:n], rtol=1e-13)
    for whole, part in zip(k.partials(X, Y).values(), k.partials(X[:n], Y).values(), strict=True):
        np.testing.assert_allclose(part, whole[:n], rtol=1e-13)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("k", BOUNDED, ids=repr)
def test_other_array_libraries_get_the_same_numbers_in_kind(k: mc.Kernel, library: str) -> None:
    assert_same_in(library, k, X, Y)


@pytest.mark.parametrize(
    ("k", "factor"),
    [
        (mc.kernels.Sinc(), lambda t: np.sin(t) / t),
        (mc.kernels.Periodic(10.0), lambda t: np.exp(-2.0 * np.sin(np.pi * t / 10.0) ** 2)),
        (mc.kernels.Characteristic("cauchy"), lambda t: np.exp(-t)),
    ],
    ids=["sinc", "periodic", "characteristic"],
)
def test_real_and_imaginary_parts_count_as_coordinates(
    k: mc.Kernel, factor: Callable[[float], float]
) -> None:
    assert k([[0j]], [[3.0 + 4.0j]])[0, 0] == pytest.approx(factor(3.0) * factor(4.0), rel=1e-14)
