from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import (
    FromFunction,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    positive_definite,
)
from mercer import kernel as read
from mercer.check import Array, Points, as_numpy, members, namespace
from mercer.data import Paired
from mercer.errors import InvalidInput, InvalidParameter, NoFeatureMap, NotDifferentiable
from mercer.kernels import (
    AllSubsets,
    Constant,
    Delta,
    Group,
    Kind,
    NegativeDistance,
    tensor_product,
)
from tests.derivatives import assert_close, assert_partials, assert_slopes, differences_in_x

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(6, 3)), RNG.normal(size=(4, 3))
SAMPLE = RNG.normal(size=(5, 3))
Z = X + 1j * RNG.normal(size=(6, 3))
SIGNED = [0.7, -0.4, 0.3, 0.9, -0.5]


def f(x: Points) -> Array:
    """A function of both signs."""
    rows = np.asarray(x)
    values: Array = rows[:, 0] - 2.0 * rows[:, 1] * rows[:, 2]
    return values


def slope_of_f(x: Points) -> Array:
    rows = np.asarray(x)
    return np.stack([np.ones(len(rows)), -2.0 * rows[:, 2], -2.0 * rows[:, 1]], axis=1)


def turning(x: Points) -> Array:
    return np.exp(1j * f(x)) * (1.0 + f(x) ** 2)


def psi(x: Points) -> Array:
    """A map from three coordinates to two."""
    a, b, c = np.asarray(x).T
    return np.stack([a * b, np.sin(c) + a], axis=1)


def jacobian_of_psi(x: Points) -> Array:
    a, b, c = np.asarray(x).T
    zero, one = np.zeros_like(a), np.ones_like(a)
    return np.stack([np.stack([b, a, zero], 1), np.stack([one, zero, np.cos(c)], 1)], axis=1)


WIDE = Gaussian((0.8, 1.1, 1.9))
INNER: list[Kernel] = [
    Gaussian(1.3),
    WIDE,
    Linear() + 0.5,
    WIDE * Polynomial(2, offset=0.7),
    Gaussian().polynomial([0.5, 1.0, 0.3]),
]
for_inner = pytest.mark.parametrize("kernel", INNER, ids=str)


def is_positive(K: Array) -> bool:
    return bool(np.linalg.eigvalsh(K)[0] > -1e-13 * np.max(np.abs(K)))


@for_inner
def test_weights_of_both_signs_multiply_on_both_sides(kernel: Kernel) -> None:
    assert np.min(f(X)) < 0 < np.max(f(X))
    K = kernel.weighted(f)(X)
    np.testing.assert_allclose(K, f(X)[:, None] * kernel(X) * f(X)[None, :], rtol=1e-14)
    np.testing.assert_allclose(
        kernel.weighted(f)(X, Y), f(X)[:, None] * kernel(X, Y) * f(Y)[None, :], rtol=1e-14
    )
    np.testing.assert_allclose(kernel.weighted(f).diag(X), np.diag(K), rtol=1e-13)
    assert is_positive(K)
    assert kernel.weighted(f).kind is Kind.POSITIVE


@pytest.mark.parametrize("x", [X, Z], ids=["real points", "complex points"])
def test_complex_weights_are_conjugated_on_the_right(x: Array) -> None:
    def weight(points: Points) -> Array:
        return turning(np.real(np.asarray(points)))

    for kernel in (Linear(), Gaussian(), Constant(2.0)):
        K = kernel.weighted(weight)(x)
        expected = weight(x)[:, None] * kernel(x) * weight(x).conj()[None, :]
        np.testing.assert_allclose(K, expected, rtol=1e-13)
        np.testing.assert_allclose(K, K.conj().T, rtol=1e-13, atol=1e-13)
        assert is_positive(K)
        assert kernel.weighted(weight).diag(x).dtype == np.float64
    product = Constant().weighted(weight)
    np.testing.assert_allclose(product(x), np.outer(weight(x), weight(x).conj()), rtol=1e-14)


@pytest.mark.parametrize(
    "weights",
    [[200, 100], np.array([200, 100], np.uint8), [200.0, 100.0], np.array([[200.0], [100.0]])],
    ids=["list", "bytes", "floats", "column"],
)
def test_weights_of_any_type_are_numbers(weights: Any) -> None:
    kernel = Constant().weighted(lambda x: weights)
    np.testing.assert_array_equal(kernel([0.0, 1.0]), [[4e4, 2e4], [2e4, 1e4]])


def test_weights_of_truth_values_select_points() -> None:
    kernel = Constant().weighted(lambda x: np.asarray(x)[:, 0] > 0)
    inside = (X[:, 0] > 0).astype(float)
    np.testing.assert_array_equal(kernel(X), np.outer(inside, inside))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.ones(3), r"one number for each of the 6 points, found shape \(3, 1\)"),
        (lambda x: np.ones((6, 2)), r"found shape \(6, 2\)"),
        (lambda x: np.full(6, np.nan), r"f\(x\), row 0, column 0 holds NaN, and 5 more"),
        (lambda x: ["a"] * 6, r"f\(x\), row 0, column 0: 'a' is not a number"),
        (lambda x: np.ones((6, 1, 1)), r"f\(x\) must hold points"),
    ],
)
def test_a_weight_must_be_one_finite_number_for_each_point(
    function: Callable[[Points], Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        Gaussian().weighted(function)(X)


@for_inner
def test_derivatives_of_weighted_kernels(kernel: Kernel) -> None:
    weighted = kernel.weighted(f, slope_of_f)
    names = {f"kernel__{n}" for n in kernel.partials(X)}
    assert_partials(weighted, X, Y, names)
    assert_slopes(weighted, X, Y)
    assert_slopes((weighted + kernel) * Gaussian(), X, Y)


def test_slopes_with_a_complex_weight_conjugate_only_the_right() -> None:
    weighted = Gaussian().weighted(turning, lambda x: turning_slope(x))
    assert_close(weighted.slopes(X, Y), differences_in_x(weighted, X, Y))


def turning_slope(x: Points) -> Array:
    derivative = np.exp(1j * f(x)) * (2.0 * f(x) + 1j * (1.0 + f(x) ** 2))
    slopes: Array = derivative[:, None] * slope_of_f(x)
    return slopes


@pytest.mark.parametrize(
    ("kernel", "needed"),
    [
        (Gaussian().weighted(f), r"k\.weighted\(f, slope=\.\.\.\)"),
        (Gaussian().on(psi), r"k\.on\(psi, jacobian=\.\.\.\)"),
        ((Gaussian().on(psi) + 1.0).exp(), r"k\.on\(psi, jacobian=\.\.\.\)"),
        (Delta().weighted(f, slope_of_f), "Delta has no slopes"),
        (Delta().centred(X), "Delta has no slopes"),
    ],
)
def test_a_missing_derivative_says_what_to_give(kernel: Kernel, needed: str) -> None:
    with pytest.raises(NotDifferentiable, match=needed):
        kernel.slopes(X)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Gaussian().weighted(f, psi), r"slope\(x\) must have shape \(6, 3\), found \(6, 2\)"),
        (Gaussian().weighted(f, f), r"slope\(x\) must have shape \(6, 3\), found \(6, 1\)"),
        (Gaussian().on(psi, lambda x: np.ones((6, 3, 3))), r"\(6, 2, 3\), found \(6, 3, 3\)"),
        (Gaussian().on(f, lambda x: np.ones((6, 3, 3))), r"\(6, 1, 3\), found \(6, 3, 3\)"),
        (
            Gaussian().on(f, slope_of_f),
            r"jacobian\(x\) must have shape \(6, 1, in\), found \(6, 3\)",
        ),
        (Gaussian().on(psi, lambda x: np.ones((1, 2, 3))), r"\(6, 2, 3\), found \(1, 2, 3\)"),
    ],
    ids=str,
)
def test_derivatives_of_a_wrong_shape_are_refused(kernel: Kernel, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        kernel.slopes(X)


@for_inner
def test_a_kernel_of_mapped_points_is_the_kernel_at_them(kernel: Kernel) -> None:
    def doubled(x: Points) -> Array:
        return 2.0 * np.asarray(x)

    mapped = kernel.on(doubled)
    np.testing.assert_array_equal(mapped(X), kernel(2.0 * X))
    np.testing.assert_array_equal(mapped(X, Y), kernel(2.0 * X, 2.0 * Y))
    np.testing.assert_array_equal(mapped.diag(X), kernel.diag(2.0 * X))
    assert mapped.kind is kernel.kind


def test_maps_may_change_the_kind_of_points() -> None:
    letters = Delta().on(lambda words: [word[0] for word in members(words)])
    np.testing.assert_array_equal(letters(["ab", "ac", "b"]), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    lengths = Linear().on(lambda words: np.array([float(len(w)) for w in members(words)]))
    np.testing.assert_array_equal(lengths(["ab", "c"]), [[4.0, 2.0], [2.0, 1.0]])


def test_a_map_is_applied_once_for_a_whole_expression() -> None:
    seen: list[int] = []

    def counted(x: Points) -> Points:
        seen.append(len(x))
        return x

    kernel = Gaussian().on(counted) + Linear().on(counted) * Gaussian(2.0).on(counted)
    kernel(X, Y)
    assert seen == [6, 4]
    kernel(X)
    assert seen == [6, 4, 6]


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.3),
        Gaussian((0.8, 1.1)),
        Linear() ** 2 + Matern(2.5),
        Gaussian((2.0, 1.0)) * Linear(),
    ],
    ids=str,
)
def test_derivatives_of_kernels_of_mapped_points(kernel: Kernel) -> None:
    mapped = kernel.on(psi, jacobian_of_psi)
    assert_partials(mapped, X, Y, {f"kernel__{n}" for n in kernel.partials(psi(X))})
    assert_slopes(mapped, X, Y)
    assert_slopes(mapped * Gaussian() + mapped.weighted(f, slope_of_f), X, Y)


def centring(n: int, weights: Any = None) -> Array:
    w = np.full(n, 1.0 / n) if weights is None else np.asarray(weights)
    return np.eye(n) - np.outer(np.ones(n), w)


@pytest.mark.parametrize("weights", [None, [0.2] * 5, SIGNED, [0.0, 0.0, 1.0, 0.0, 0.0]])
@pytest.mark.parametrize(
    "kernel", [*INNER, NegativeDistance(1.3), Laplacian(), Linear() * Delta()], ids=str
)
def test_a_centred_kernel_is_HKH_on_its_sample(kernel: Kernel, weights: list[float] | None) -> None:
    centred = kernel.centred(SAMPLE, weights)
    H = centring(5, weights)
    np.testing.assert_allclose(centred(SAMPLE), H @ kernel(SAMPLE) @ H.T, atol=1e-13)
    w = np.full(5, 0.2) if weights is None else np.array(weights)
    assert w.sum() == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(centred(SAMPLE, X).T @ w, np.zeros(6), atol=1e-13)
    assert centred.kind is Kind.POSITIVE
    assert is_positive(centred(X))
    assert is_positive(centred(SAMPLE) + 1e-14 * np.eye(5))


@pytest.mark.parametrize("weights", [None, SIGNED])
@pytest.mark.parametrize("kernel", [Linear(), Gaussian() + Linear() ** 2], ids=str)
def test_centring_of_complex_kernels_is_hermitian(
    kernel: Kernel, weights: list[float] | None
) -> None:
    centred = kernel.centred(Z[:5], weights)
    H = centring(5, weights)
    np.testing.assert_allclose(centred(Z[:5]), H @ kernel(Z[:5]) @ H.T, atol=1e-12)
    K = centred(Z)
    np.testing.assert_allclose(K, K.conj().T, atol=1e-12)
    np.testing.assert_allclose(centred(Z[:2], Z), centred(Z, Z[:2]).conj().T, atol=1e-12)
    assert is_positive(K)
    assert centred.diag(Z).dtype == np.float64


def test_a_point_alone_is_the_point_in_a_batch() -> None:
    centred = Gaussian().centred(SAMPLE, SIGNED)
    K = centred(X)
    alone = np.array(
        [[centred(X[i : i + 1], X[j : j + 1])[0, 0] for j in range(6)] for i in range(6)]
    )
    np.testing.assert_allclose(alone, K, atol=1e-15)
    np.testing.assert_allclose(centred.diag(X), np.diag(K), atol=1e-15)


def test_the_linear_kernel_is_centred_by_moving_the_points() -> None:
    moved = X - np.array(SIGNED) @ SAMPLE
    np.testing.assert_allclose(Linear().centred(SAMPLE, SIGNED)(X), moved @ moved.T, rtol=1e-12)
    np.testing.assert_allclose(Linear().centred(SAMPLE, SIGNED).features(X), moved, rtol=1e-12)


def test_centring_twice_is_centring_once() -> None:
    once = Gaussian().centred(SAMPLE)
    np.testing.assert_allclose(once.centred(SAMPLE)(X), once(X), atol=1e-15)


@given(seed=st.integers(0, 10_000), exponent=st.floats(0.1, 2.0))
def test_conditional_kernels_are_positive_definite_when_centred(seed: int, exponent: float) -> None:
    rng = np.random.default_rng(seed)
    sample, x = rng.normal(size=(4, 2)), rng.normal(size=(6, 2))
    w = rng.normal(size=4)
    K = NegativeDistance(exponent).centred(sample, (w / np.sum(w)).tolist())(x)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.max(np.abs(K))


@pytest.mark.parametrize("weights", [None, SIGNED])
@pytest.mark.parametrize("kernel", [*INNER, NegativeDistance(1.3), 2.0 * WIDE], ids=str)
def test_derivatives_of_centred_kernels(kernel: Kernel, weights: list[float] | None) -> None:
    centred = kernel.centred(SAMPLE, weights)
    assert_partials(centred, X, Y, {f"kernel__{n}" for n in kernel.partials(X)})
    assert_slopes(centred, X, Y)


def test_partials_of_a_centred_kernel_are_centred_on_their_own_sample() -> None:
    centred = Gaussian(1.3).centred(SAMPLE)
    partial = centred.partials(SAMPLE)["kernel__bandwidth"]
    np.testing.assert_allclose(np.sum(partial, axis=0), np.zeros(5), atol=1e-14)
    np.testing.assert_array_equal(partial, partial.T)


@pytest.mark.parametrize(
    ("kernel", "sample"),
    [
        (Delta(), ["1", "2", "b"]),
        (Delta(), [1, 2, 3]),
        (Delta(), [(1, "a"), (1, "b"), (2, "a")]),
        (AllSubsets(), [{1, 2}, {3}, set()]),
        (AllSubsets(), [[1, 2], [3, 4]]),
        (Group([2.0, 1.0, 1.0]), [0, 1, 2]),
        (Precomputed(np.array([[2.0, 1.0], [1.0, 3.0]])), [0, 1]),
        (FromFunction(lambda a, b: float(a * b)), [1.0, 2.0, 4.0]),
        (FromFunction(lambda a, b: float(len(a & b))), [{1, 2}, {2}]),
        (tensor_product(Linear() + 1.0, Delta()), [(1.0, "a"), (2.0, "b"), (2.0, "a")]),
        (tensor_product(Linear(), Linear() + 1.0), [(1.0, 2.0), (3.0, 5.0)]),
        (Linear(), [1.0, 2.0, 4.0]),
        (Linear(), range(3)),
    ],
    ids=lambda v: str(v)[:40],
)
def test_samples_of_any_kind_are_centred_on(kernel: Kernel, sample: Any) -> None:
    n = len(sample)
    H = centring(n)
    centred = kernel.centred(sample)
    np.testing.assert_allclose(centred(sample), H @ kernel(sample) @ H, atol=1e-12)
    assert hash(centred) == hash(kernel.centred(sample))


def test_a_paired_sample_is_a_sample() -> None:
    points = Paired(X[:, :1], ["a", "b", "a", "b", "c", "c"])
    kernel = tensor_product(Linear() + 1.0, Delta())
    np.testing.assert_allclose(
        kernel.centred(points)(points), centring(6) @ kernel(points) @ centring(6), atol=1e-12
    )


@pytest.mark.parametrize(
    ("sample", "weights", "error", "message"),
    [
        ([], None, InvalidInput, "empty sample"),
        (X[:0], None, InvalidInput, "empty sample"),
        (5, None, InvalidInput, "sample must be a sequence of points"),
        ("abc", None, InvalidInput, "sample must be a sequence of points"),
        ([0.0, 1.0], [1.0], InvalidParameter, "1 weights for 2 points"),
        ([0.0, 1.0], [0.5, 0.6], InvalidParameter, "must sum to 1, found 1.1"),
        ([0.0, 1.0], [0.5, np.nan], InvalidParameter, r"weights\[1\] must be a number"),
        ([0.0, 1.0], "ab", InvalidParameter, "weights must be a sequence of numbers"),
    ],
)
def test_a_sample_has_points_and_weights_that_sum_to_one(
    sample: Any, weights: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Linear().centred(sample, weights)


def test_a_sample_of_another_space_is_refused() -> None:
    with pytest.raises(InvalidInput, match="3 coordinates and y of 1"):
        Linear().centred([0.0, 1.0])(X)


def test_features_of_looked_at_points_give_the_kernel() -> None:
    base = Linear() + 1.0
    for kernel in (
        base.weighted(f),
        base.weighted(turning),
        base.on(psi),
        base.centred(SAMPLE),
        base.centred(SAMPLE, SIGNED),
        (base**2).centred(SAMPLE).weighted(turning) + base.on(psi),
    ):
        phi = kernel.features(X)
        np.testing.assert_allclose(phi @ phi.conj().T, kernel(X), rtol=1e-12, atol=1e-12)
    phi = base.centred(Z, None).features(Z)
    np.testing.assert_allclose(phi @ phi.conj().T, base.centred(Z)(Z), atol=1e-12)
    np.testing.assert_allclose(np.mean(phi, axis=0), np.zeros(4), atol=1e-15)
    for kernel in (Gaussian().weighted(f), Gaussian().on(psi), Gaussian().centred(X)):
        with pytest.raises(NoFeatureMap):
            kernel.features(X)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian().weighted(lambda x: namespace(x).sum(namespace(x).asarray(x), axis=1)),
        (Linear() + 1.0).on(lambda x: namespace(x).asarray(x) ** 2),
        Gaussian().centred(SAMPLE, SIGNED),
    ],
    ids=["weighted", "on", "centred"],
)
def test_standard_arrays_stay_in_their_library(kernel: Kernel) -> None:
    theirs: Any = strict.asarray(X)
    for values, expected in (
        (kernel(theirs), kernel(X)),
        (kernel(theirs, theirs[:2, :]), kernel(X, X[:2])),
        (kernel.diag(theirs), kernel.diag(X)),
        *((kernel.partials(theirs)[n], d) for n, d in kernel.partials(X).items()),
    ):
        assert isinstance(values, type(theirs))
        np.testing.assert_allclose(as_numpy(values), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("mean", [0.0, 1e6, 1e8])
@pytest.mark.parametrize("weights", [None, SIGNED])
@pytest.mark.parametrize("columns", [3, 7])
def test_centring_does_not_cancel_far_from_the_origin(
    columns: int, weights: list[float] | None, mean: float
) -> None:
    rng = np.random.default_rng(1)
    sample, x = (mean + rng.normal(size=(n, columns)) for n in (5, 8))
    w = np.full(5, 0.2) if weights is None else np.array(weights)
    # In units where the differences of these doubles are exact.
    moved = (x - sample[0]) - w @ (sample - sample[0])
    for kernel in (Linear(), 2.0 * Linear() + 0.5, Linear().on(np.asarray)):
        scale = 2.0 if isinstance(kernel, type(2.0 * Linear() + 0.5)) else 1.0
        centred = kernel.centred(sample, weights)
        K = centred(x)
        np.testing.assert_allclose(K, scale * moved @ moved.T, atol=1e-12)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_allclose(centred.diag(x), np.diag(K), atol=1e-12)
        assert positive_definite(centred, x)


def test_centring_of_complex_kernels_does_not_cancel_in_the_real_part() -> None:
    z = 2.0**20 + Z  # whose differences from the first are nearly exact
    K = (Linear() + Gaussian()).centred(z)(z)
    moved = (z - z[0]) - np.mean(z - z[0], axis=0)
    expected = moved @ moved.conj().T + Gaussian().centred(z)(z)
    np.testing.assert_allclose(K.real, expected.real, atol=1e-9)
    np.testing.assert_allclose(K, expected, atol=1e-2)  # the imaginary part comes from values
    np.testing.assert_array_equal(K.real, K.real.T)


def test_a_sum_with_a_complex_function_keeps_its_imaginary_part() -> None:
    turned = FromFunction(lambda a, b: complex(0.0, a - b) if a != b else 0.0) + Linear()
    points = [1.0, 2.0, 4.0]
    H = centring(3)
    np.testing.assert_allclose(turned.centred(points)(points), H @ turned(points) @ H, atol=1e-13)


def test_centring_evaluates_no_table_twice() -> None:
    seen: list[tuple[int, ...]] = []

    class Counted(Gaussian):
        __slots__ = ()

        def evaluate_squares(self, pairs: Any) -> Array:
            seen.append(pairs.shape)
            return Gaussian.evaluate_squares(self, pairs)

    Counted().centred(SAMPLE)(X)
    assert sorted(seen) == [(5, 5), (6, 5), (6, 6)]


def test_weights_are_divided_by_their_sum() -> None:
    rounded = [0.333333333, 0.333333333, 0.333333333]
    centred = Linear().centred([0.0, 1.0, 2.0], rounded)
    assert abs(sum(centred.weights) - 1.0) <= 2e-16  # type: ignore[attr-defined]
    np.testing.assert_allclose(
        centred([[1e6]]), Linear().centred([0.0, 1.0, 2.0])([[1e6]]), rtol=1e-14
    )
    assert read(str(centred)) == centred
    for w in (rounded, [0.1] * 10, [7.0 / 3.0, -5.0 / 3.0, 1.0 / 3.0]):
        once = Linear().centred(np.arange(float(len(w))), w)
        assert Linear().centred(np.arange(float(len(w))), once.weights) == once  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("k", "name"),
    [
        (Gaussian().weighted(lambda x: x[:, 0]), "f"),
        (Gaussian().on(lambda x: 2.0 * x), "psi"),
        (Gaussian("median").on(lambda x: 2.0 * x), "psi"),
    ],
)
def test_a_function_that_cannot_read_a_list_says_that_it_got_one(k: Kernel, name: str) -> None:
    message = f"^{name} cannot read points given as a list .* pass an array"
    for call in (k, k.resolve) if name == "psi" else (k, k.diag):
        with pytest.raises(InvalidInput, match=message) as e:
            call([[1.0], [2.0]])
        assert isinstance(e.value.__cause__, TypeError)


def test_errors_of_mercer_inside_a_function_are_not_renamed() -> None:
    with pytest.raises(NoFeatureMap):
        Linear().on(lambda x: Gaussian().features(x))([[1.0]])


@pytest.mark.parametrize(
    "k",
    [
        Linear().weighted(lambda x: np.full(len(x), 1e200)),
        Linear().centred([[-1.7e308]]),
    ],
    ids=["weighted", "centred"],
)
def test_features_that_overflow_are_refused_by_name(k: Kernel) -> None:
    with pytest.raises(InvalidInput, match="a feature of linear.* is not a finite number"):
        k.features([[1.7e308]])


def test_a_scale_is_positive_and_has_a_length_for_each_coordinate() -> None:
    for scale in (0.0, -1.0, np.nan, [1.0, 0.0], "median"):
        with pytest.raises(InvalidParameter):
            Gaussian(1.0).stretched(scale)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="2 lengths, and the points have 3"):
        Polynomial(2).stretched([1.0, 2.0])(X)
    with pytest.raises(InvalidInput, match="2 lengths cannot be multiplied by 3"):
        Gaussian((1.0, 2.0)).stretched([1.0, 2.0, 3.0])
    with pytest.raises(InvalidParameter, match="does not read points as vectors"):
        AllSubsets().stretched(2.0)
    with pytest.raises(InvalidParameter, match="resolve"):
        Gaussian("median").stretched(2.0)


def test_scales_multiply_and_the_written_form_returns() -> None:
    twice = Polynomial(2).stretched([2.0, 3.0, 4.0]).stretched(2.0)
    assert twice == Polynomial(2).stretched([4.0, 6.0, 8.0]) == read(str(twice))
    np.testing.assert_allclose(twice(X), Polynomial(2)(X / [4.0, 6.0, 8.0]))
    assert Delta().stretched(3.0) == Delta()


def test_a_kernel_that_becomes_one_with_a_bandwidth_takes_the_scale_into_it() -> None:
    resolved = read("rbf").stretched([1.0, 2.0, 4.0]).resolve(X)
    assert isinstance(resolved, Gaussian)
    assert read(str(resolved)) == resolved
    np.testing.assert_allclose(resolved(X), read("rbf")(X / [1.0, 2.0, 4.0]))
