from __future__ import annotations

import json
import pickle
from functools import reduce
from typing import Any

import numpy as np
import pytest
from scipy.special import eval_hermite, factorial

import mercer as mc
from mercer.check import Array
from mercer.rkhs.decompositions import Interval, Normal
from mercer.rkhs.expansion import mercer_decomposition
from tests.references import FOLDER
from tests.test_check import FRAME, ROWS

REFERENCE = FOLDER
BRIDGE = mc.FromFunction(lambda x, y: min(x, y) - x * y)


def reference(name: str) -> Any:
    return json.loads((REFERENCE / f"{name}.json").read_text())


def matches_up_to_sign(found: Array, expected: Array, atol: float) -> None:
    signs = np.sign(np.real(np.sum(found * np.conj(expected), axis=0)))
    sizes = np.maximum(1.0, np.max(np.abs(expected), axis=0))  # rounding is of that of a column
    np.testing.assert_allclose(found * signs / sizes, expected / sizes, rtol=0, atol=atol)


def grid(a: float, b: float, count: int) -> tuple[Array, Array]:
    """Nodes and weights independent of the computation's own."""
    t, w = np.polynomial.legendre.leggauss(count)
    return a + 0.5 * (b - a) * (1 + t), 0.5 * (b - a) * w


def test_one_plus_the_product_has_rank_two() -> None:
    expected = reference("kroese_ex6_9")
    d = mercer_decomposition(1.0 + mc.Linear(), Interval(-1.0, 1.0), 3)
    np.testing.assert_allclose(d.values[:2], expected["eigenvalues"], rtol=1e-14)
    np.testing.assert_allclose(d.values, [2.0, 0.666667, 0.0], atol=5e-7)
    assert d.values[2] == 0.0
    assert np.all(d.errors <= 1e-13)
    assert d.how.is_converged
    assert len(d.functions) == 2
    x = np.linspace(-1.0, 1.0, 9)
    xi = np.stack([np.full(9, expected["xi1"]), expected["xi2_slope"] * x], axis=1)
    matches_up_to_sign(np.stack([f(x) for f in d.functions], axis=1), xi, 1e-13)
    assert d.functions[1]([-1.0]) > 0  # both ends have the largest modulus, and the first decides
    np.testing.assert_allclose(d.features(x) @ d.features(x).T, 1 + np.outer(x, x), atol=1e-13)


def test_one_plus_the_product_with_a_probability_measure() -> None:
    half = mercer_decomposition(0.5 * (1.0 + mc.Linear()), Interval(-1.0, 1.0), 2)
    np.testing.assert_allclose(half.values, [1.0, 1 / 3], rtol=1e-14)
    np.testing.assert_allclose(half.values, [1.0, 0.333333], atol=5e-7)
    sample = np.linspace(-1.0, 1.0, 301)
    np.testing.assert_allclose(
        mercer_decomposition(1.0 + mc.Linear(), sample[:, None], 3).values,
        np.array([1.0, np.mean(sample**2), 0.0]),
        rtol=1e-13,
        atol=0,
    )


def test_brownian_motion_on_the_unit_interval() -> None:
    expected = reference("mercer_min_kernel")
    d = mercer_decomposition(mc.kernels.Brownian(), Interval(0.0, 1.0), 20)
    gaps = np.abs(d.values - expected["min_eigenvalues"])
    assert np.all(gaps <= 1e-15)
    assert np.all(gaps <= d.errors)
    assert np.all(d.errors <= 1e-12 * d.values[0])
    assert d.trace == pytest.approx(0.5, rel=1e-14)
    found = d.functions[2](expected["x_eval"])
    np.testing.assert_allclose(found, expected["xi3_min"], rtol=0, atol=1e-13)
    x = np.linspace(0.0, 1.0, 51)
    j = np.arange(1, 21)
    matches_up_to_sign(d.family(x), np.sqrt(2) * np.sin((j - 0.5) * np.pi * x[:, None]), 1e-11)


def test_the_brownian_bridge() -> None:
    expected = reference("mercer_min_kernel")
    d = mercer_decomposition(BRIDGE, Interval(0.0, 1.0), 20)
    np.testing.assert_allclose(d.values, expected["bridge_eigenvalues"], rtol=0, atol=1e-15)
    x = np.linspace(0.0, 1.0, 21)
    j = np.arange(1, 21)
    matches_up_to_sign(d.family(x), np.sqrt(2) * np.sin(j * np.pi * x[:, None]), 1e-11)


@pytest.mark.parametrize(("mean", "sd", "bandwidth"), [(0.0, 1.0, 1.0), (2.0, 0.5, 1.0)])
def test_the_gaussian_kernel_with_a_normal_law(mean: float, sd: float, bandwidth: float) -> None:
    # Rasmussen and Williams, (4.40) and (4.41), with orthonormal functions.
    a, b = 1 / (4 * sd**2), 1 / (2 * bandwidth**2)
    c = np.sqrt(a * a + 2 * a * b)
    j = np.arange(8)
    expected = np.sqrt(2 * a / (a + b + c)) * (b / (a + b + c)) ** j
    d = mercer_decomposition(mc.Gaussian(bandwidth), Normal(mean, sd), 8)
    np.testing.assert_allclose(d.values, expected, rtol=0, atol=1e-14)
    assert np.all(np.abs(d.values - expected) <= d.errors)
    assert np.all(d.errors <= 1e-12)
    assert d.trace == pytest.approx(1.0, rel=1e-14)
    z = np.linspace(-6.0, 6.0, 61)[:, None] * sd
    hermite = eval_hermite(j, np.sqrt(2 * c) * z) / np.sqrt(2.0**j * factorial(j))
    xi = (c / a) ** 0.25 * np.exp(-(c - a) * z * z) * hermite
    matches_up_to_sign(d.family(mean + z), xi, 1e-10)
    assert np.all(np.isfinite(d.family([mean + 40.0 * sd, mean - 1e3 * sd])))


@pytest.mark.parametrize(
    ("kernel", "a", "b"),
    [
        (mc.Laplacian(0.2), 0.0, 1.0),
        (mc.Matern(1.5, 0.7), -3.0, 2.0),
        (mc.Gaussian(0.5), 10.0, 11.0),
        (mc.kernels.CubicSpline(), 0.0, 2.0),
        (mc.kernels.Periodic(1.0, 0.8), 0.0, 1.0),
    ],
)
def test_functions_are_orthonormal_eigenfunctions(kernel: mc.Kernel, a: float, b: float) -> None:
    d = mercer_decomposition(kernel, Interval(a, b), 6)
    assert d.how.is_converged
    x, w = grid(a, b, 90)
    xi = d.family(x)
    np.testing.assert_allclose((xi * w[:, None]).T @ xi, np.eye(6), atol=1e-9)
    # Tξ at a point by another rule, split at the point's own kink.
    point = a + 0.3 * (b - a)
    sides = [grid(a, point, 90), grid(point, b, 90)]
    image = sum((kernel([point], y) * v) @ d.family(y) for y, v in sides)
    np.testing.assert_allclose(image, d.values * d.family([point]), atol=1e-10 * d.values[0])


def test_features_converge_to_the_kernel() -> None:
    kernel, x = mc.Gaussian(0.6), np.linspace(-1.0, 1.0, 7)
    d = mercer_decomposition(kernel, Interval(-1.0, 1.0), 16)
    np.testing.assert_allclose(d.features(x) @ d.features(x).T, kernel(x), atol=1e-11)
    assert np.sum(d.values) == pytest.approx(d.trace, rel=1e-11)


def test_exponential_kernel_solves_its_transcendental_equation() -> None:
    # e^{-|x-y|} on [-1, 1]: λ = 2/(1 + ω²) with 1 = ω tan ω or ω + tan ω = 0.
    d = mercer_decomposition(mc.Laplacian(1.0), Interval(-1.0, 1.0), 12)
    omega = np.sqrt(2.0 / d.values - 1.0)
    np.testing.assert_allclose(omega[::2] * np.sin(omega[::2]), np.cos(omega[::2]), atol=1e-11)
    np.testing.assert_allclose(omega[1::2] * np.cos(omega[1::2]), -np.sin(omega[1::2]), atol=1e-11)


def test_a_singular_diagonal_is_reported_not_hidden() -> None:
    d = mercer_decomposition(mc.kernels.NegativeDistance(0.3).exp(), Interval(0.0, 1.0), 2)
    assert not d.how.is_converged
    assert np.all(d.errors > 1e-12 * d.values[0])
    assert np.all(d.errors < 1e-7 * d.values[0])


def test_complex_kernels() -> None:
    frequencies = np.array([1.0, -2.0, 0.5])
    kernel = mc.kernels.FeatureMap(
        lambda x: np.exp(1j * np.asarray(x).reshape(-1, 1) * frequencies)
    )
    d = mercer_decomposition(kernel, Interval(0.0, 1.0), 4)
    x, w = grid(0.0, 1.0, 60)
    xi = d.family(x)
    assert xi.shape == (60, 3)
    np.testing.assert_allclose((xi * w[:, None]).T.conj() @ xi, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(d.features(x) @ d.features(x).conj().T, kernel(x), atol=1e-12)
    assert d.trace == pytest.approx(3.0, rel=1e-14)


def test_a_sample_is_its_own_measure() -> None:
    x = np.random.default_rng(0).normal(size=(40, 2))
    kernel = mc.Gaussian(1.5)
    d = mercer_decomposition(kernel, x, 5)
    np.testing.assert_allclose(d.values, np.linalg.eigvalsh(kernel(x))[::-1][:5] / 40, rtol=1e-12)
    xi = d.family(x)
    np.testing.assert_allclose(xi.T @ xi / 40, np.eye(5), atol=1e-12)
    assert np.all(xi[np.argmax(np.abs(xi), axis=0), range(5)] > 0)
    new = np.array([[0.3, -0.2]])
    np.testing.assert_allclose(kernel(new, x) @ xi / 40, d.values * d.family(new), atol=1e-14)
    full = mercer_decomposition(kernel, x, 40)
    np.testing.assert_allclose(full.features(x) @ full.features(x).T, kernel(x), atol=1e-12)
    assert full.trace == pytest.approx(1.0)
    assert np.all(full.errors < 1e-13)


def test_a_sample_approaches_its_law() -> None:
    quantiles = (np.arange(300) + 0.5) / 300
    d = mercer_decomposition(mc.kernels.Brownian(), quantiles, 3)
    exact = mercer_decomposition(mc.kernels.Brownian(), Interval(0.0, 1.0), 3)
    np.testing.assert_allclose(d.values, exact.values, rtol=1e-4)
    x = [0.1, 0.3, 0.9]
    matches_up_to_sign(d.family(x), exact.family(x), 1e-3)


def test_samples_of_sets_and_rules() -> None:
    sample = [{"a"}, {"a", "b"}, {"b", "c"}]
    d = mercer_decomposition(mc.kernels.Intersection(), sample, 3)
    sample.clear()
    assert np.sum(d.values) == pytest.approx(5 / 3)
    assert d.functions[0]([{"a", "c"}]).shape == (1,)
    rule = mercer_decomposition(mc.Gaussian("median"), np.arange(5.0), 2)
    assert len(rule.functions) == 2


def test_the_zero_kernel_has_no_functions() -> None:
    for measure in (Interval(0.0, 1.0), np.arange(3.0)):
        d = mercer_decomposition(mc.kernels.Constant(0.0), measure, 2)
        assert d.values.tolist() == [0.0, 0.0]
        assert d.functions == ()
        assert d.features([0.5]).shape == (1, 0)


def test_signs_do_not_depend_on_how_many_functions_are_asked() -> None:
    few = mercer_decomposition(mc.Laplacian(), Interval(0.0, 1.0), 3)
    many = mercer_decomposition(mc.Laplacian(), Interval(0.0, 1.0), 30)
    np.testing.assert_allclose(few.family([0.1, 0.7]), many.family([0.1, 0.7])[:, :3], atol=1e-11)


def test_decompositions_survive_pickling() -> None:
    for measure in (Interval(0.0, 1.0), np.linspace(0.0, 1.0, 5)):
        d = mercer_decomposition(mc.kernels.Brownian(), measure, 2)
        again = pickle.loads(pickle.dumps(d))
        np.testing.assert_array_equal(again.functions[1]([0.4]), d.functions[1]([0.4]))


@pytest.mark.parametrize(
    ("kernel", "measure", "message"),
    [
        (mc.kernels.NegativeDistance(), Interval(0.0, 1.0), "conditionally positive definite"),
        (mc.FromFunction(lambda x, y: -x * y), Interval(0.0, 1.0), "eigenvalue -0.333"),
        (mc.FromFunction(lambda x, y: -x * y), [0.0, 1.0], "eigenvalue -0.5"),
    ],
)
def test_what_is_not_positive_definite_is_refused(
    kernel: mc.Kernel, measure: Any, message: str
) -> None:
    with pytest.raises(mc.errors.NotPositiveDefinite, match=message):
        mercer_decomposition(kernel, measure, 1)


def test_measures_and_counts_are_checked() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="b must be a number > 1"):
        Interval(1.0, 1.0)
    with pytest.raises(mc.errors.InvalidParameter, match="sd must be a number > 0"):
        Normal(0.0, 0.0)
    for measure, count in ((Interval(0, 1), 257), (Interval(0, 1), 0), ([0.0, 1.0], 3)):
        with pytest.raises(mc.errors.InvalidParameter, match="count"):
            mercer_decomposition(mc.Gaussian(), measure, count)
    with pytest.raises(mc.errors.InvalidInput, match="sequence of points"):
        mercer_decomposition(mc.Gaussian(), 3.0, 1)  # type: ignore[arg-type]
    with pytest.raises(mc.errors.InvalidInput, match="grows too fast"):
        mercer_decomposition(mc.Linear().exp(), Normal(), 1)
    line = mercer_decomposition(mc.Gaussian(), Interval(0, 1), 1)
    with pytest.raises(mc.errors.InvalidInput, match="functions on the line"):
        line.family([[0.0, 1.0]])


def test_data_frames_and_texts_are_decomposed() -> None:
    found, expected = (mercer_decomposition(mc.Gaussian(2.0), x, 2) for x in (FRAME, ROWS))
    written = mercer_decomposition("gaussian(bandwidth=2)", ROWS, 2)
    for other in (found, written):
        np.testing.assert_array_equal(other.values, expected.values)
        np.testing.assert_array_equal(other.features(FRAME), expected.features(ROWS))
    with pytest.raises(mc.errors.InvalidParameter, match="expected a kernel or its text"):
        mercer_decomposition(3, ROWS, 2)  # type: ignore[arg-type]


def test_a_product_kernel_on_a_rectangle_has_the_products_of_its_eigenvalues() -> None:
    d = mercer_decomposition(mc.Gaussian(0.5), Interval([0.0, -1.0], [1.0, 1.0]), 8)
    one = mercer_decomposition(mc.Gaussian(0.5), Interval(0.0, 1.0), 8).values
    two = mercer_decomposition(mc.Gaussian(0.5), Interval(-1.0, 1.0), 8).values
    expected = np.sort(np.outer(one, two).ravel())[::-1][:8]
    assert d.how.is_converged
    assert np.all(np.abs(d.values - expected) <= d.errors)
    assert np.all(d.errors <= 2e-12 * d.values[0])
    assert d.trace == pytest.approx(2.0, rel=1e-13)


def test_functions_on_a_rectangle_are_orthonormal_eigenfunctions() -> None:
    k, box = mc.Matern(3.5, 0.8), Interval([0.0, 0.0], [1.0, 2.0])
    d = mercer_decomposition(k, box, 5)
    (x, u), (y, w) = grid(0.0, 1.0, 30), grid(0.0, 2.0, 30)
    points = np.column_stack([part.ravel() for part in np.meshgrid(x, y, indexing="ij")])
    weights = np.multiply.outer(u, w).ravel()
    xi = d.family(points)
    np.testing.assert_allclose((xi * weights[:, None]).T @ xi, np.eye(5), atol=1e-5)
    np.testing.assert_allclose(k(points) @ (weights[:, None] * xi), xi * d.values, atol=1e-6)


def test_one_plus_the_product_on_a_cube_and_kernels_with_a_kink() -> None:
    d = mercer_decomposition(1.0 + mc.Linear(), Interval([-1.0] * 3, [1.0] * 3), 5)
    np.testing.assert_allclose(d.values, [8.0, *[8 / 3] * 3, 0.0], rtol=1e-13)
    assert len(d.functions) == 4
    rough = mercer_decomposition(mc.Laplacian(0.5), Interval([0.0, 0.0], [1.0, 1.0]), 3)
    line = mercer_decomposition(mc.Laplacian(0.5), Interval(0.0, 1.0), 3).values
    assert not rough.how.is_converged
    gap = np.abs(rough.values - np.sort(np.outer(line, line).ravel())[::-1][:3])
    assert np.all(gap < 1e-3)
    assert np.all(gap <= rough.errors)
    assert np.all(rough.errors < 1e-2)


@pytest.mark.parametrize(
    ("kernel", "sides", "count"),
    [
        (mc.Laplacian(0.2), ((0.0, 1.0), (0.0, 2.0)), 6),
        (mc.Laplacian(2.0), ((0.0, 1.0), (-1.0, 1.0)), 6),
        (mc.Laplacian(0.5), ((0.0, 1.0),) * 3, 6),
        (mc.Laplacian(0.2), ((0.0, 1.0),), 4),
        (mc.Laplacian(3.0), ((0.0, 1.0),), 4),
        (mc.Laplacian(1.0), ((0.0, 1.0),) * 2, 30),  # values cross from grid to grid
        (mc.Laplacian(1.0), ((0.0, 1.0),) * 2, 60),
        (mc.kernels.Sinc(0.1), ((0.0, 1.0), (0.0, 1.0)), 6),
        (mc.Gaussian(0.15), ((0.0, 1.0),) * 3, 6),
    ],
)
def test_errors_on_a_rectangle_hold_what_grids_leave_out(
    kernel: mc.Kernel, sides: tuple[tuple[float, float], ...], count: int
) -> None:
    # Products over coordinates have the products of the values on the line.
    d = mercer_decomposition(kernel, Interval(*zip(*sides, strict=True)), count)
    lines = [
        mercer_decomposition(kernel, Interval(*side), 12 if count < 12 else 40).values
        for side in sides
    ]
    products = reduce(np.multiply.outer, lines).ravel()
    expected = np.sort(products)[::-1][:count]
    assert np.all(np.abs(d.values - expected) <= d.errors)


def test_errors_of_a_wave_that_grids_do_not_resolve_hold_its_values() -> None:
    wave = mc.kernels.Waves([[120.0 * np.pi, 0.0]])  # cosine and sine, of one half each
    d = mercer_decomposition(wave, Interval([0.0, 0.0], [1.0, 1.0]), 2)
    assert not d.how.is_converged
    assert np.all(np.abs(d.values - 0.5) <= d.errors)


def test_a_rectangle_has_no_ends_and_a_volume() -> None:
    with pytest.raises(mc.errors.NotAvailable, match="the corners a and b"):
        _ = Interval([0.0, 0.0], [1.0, 1.0]).ends
    with pytest.raises(mc.errors.InvalidParameter, match="its volume leaves the range"):
        mercer_decomposition(mc.Gaussian(1.0), Interval([-1e200] * 2, [1e200] * 2), 1)
    with pytest.raises(mc.errors.InvalidParameter, match="its volume leaves the range"):
        mercer_decomposition(mc.Gaussian(1.0), Interval([-1e308] * 2, [1e308] * 2), 1)


def test_a_sample_of_space_has_the_values_of_its_matrix() -> None:
    x = np.random.default_rng(2).normal(size=(30, 3))
    d = mercer_decomposition(mc.Gaussian(1.0), x, 4)
    np.testing.assert_allclose(d.values, np.linalg.eigvalsh(mc.Gaussian(1.0)(x) / 30)[::-1][:4])
    np.testing.assert_allclose(d.family(x).T @ d.family(x) / 30, np.eye(4), atol=1e-10)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0.0, 0.0], [1.0], "corners a and b have 2 and 1"),
        ([0.0, 1.0], [1.0, 1.0], r"b\[1\]"),
        ([], [], "at least one"),
    ],
)
def test_corners_that_make_no_rectangle_are_named(a: Any, b: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        Interval(a, b)


def test_too_many_functions_or_coordinates_for_a_grid_are_refused() -> None:
    for box, count in (
        (Interval([0.0] * 7, [1.0] * 7), 1),
        (Interval([0.0, 0.0], [1.0, 1.0]), 900),
    ):
        with pytest.raises(mc.errors.InvalidParameter, match="give a sample"):
            mercer_decomposition(mc.Gaussian(1.0), box, count)
