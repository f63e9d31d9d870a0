from __future__ import annotations

from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import (
    FromFunction,
    Gaussian,
    Graph,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    positive_definite,
)
from mercer import kernel as read
from mercer.check import Array, Points, as_numpy
from mercer.data import Paired
from mercer.errors import InvalidInput, InvalidParameter, NoFeatureMap, NotDifferentiable
from mercer.kernels import (
    AllSubsets,
    Constant,
    Delta,
    Intersection,
    Kind,
    NegativeDistance,
    ShortestPath,
    Sigmoid,
    WeisfeilerLehman,
    parameters,
    tensor_sum,
)
from mercer.kernels.pairs import AllPairs
from mercer.kernels.radial import MEDIAN_SAMPLE, sample_points, typical_distance
from tests.derivatives import assert_close, assert_partials, assert_slopes, differences_in

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(6, 3)), RNG.normal(size=(4, 3))
Z = X + 1j * RNG.normal(size=(6, 3))
GRAPHS = [
    Graph([(0, 1), (1, 2), (2, 3)]),
    Graph([(0, 1), (0, 2), (0, 3)]),
    Graph([(0, 1), (1, 2), (2, 0)], labels="aab"),
    Graph([], n=3),
]
SETS = [{1, 2}, {2, 3}, {1, 2, 3}, {4}, set(), {1}]
WIDE = Gaussian((0.8, 1.1, 1.9))
UNIT_ROUNDOFF = 2.0**-53


def is_positive(K: Array) -> bool:
    return bool(np.linalg.eigvalsh(K)[0] > -1e-13 * np.max(np.abs(K)))


NORMALISED: list[tuple[Kernel, Any]] = [
    (Linear(), X),
    (Linear(), Z),
    (Linear(), 1e-100 * X),
    (Linear(), 1e100 * X),
    (Linear() * Gaussian(), X),
    (Linear() + 1e9, X),
    (Polynomial(3), X),
    (0.1 * Linear(), RNG.normal(size=(60, 2))),
    (Intersection(), SETS),
    (AllSubsets(), SETS),
    (Gaussian().centred(X), X),
    (NegativeDistance().centred(X), X),
    (Sigmoid(1.0, 2.0), np.abs(X)),
]


@pytest.mark.parametrize(("kernel", "x"), NORMALISED, ids=[str(c[0])[:40] for c in NORMALISED])
def test_the_cosine_has_ones_on_its_diagonal_and_nothing_larger(kernel: Kernel, x: Any) -> None:
    K = kernel.normalised()(x)
    np.testing.assert_array_equal(np.diag(K), np.ones(len(x)))
    np.testing.assert_array_equal(kernel.normalised().diag(x), np.ones(len(x)))
    norms = np.sqrt(np.diag(kernel(x)).real)
    safe = np.where(norms > 0, norms, 1.0)
    expected = kernel(x) / safe[:, None] / safe[None, :]
    apart = (norms[:, None] > 0) & (norms[None, :] > 0)
    np.testing.assert_allclose(np.where(apart, K, 0.0), np.where(apart, expected, 0.0), atol=1e-14)
    if kernel.kind is Kind.POSITIVE:
        assert np.max(np.abs(K)) <= 1.0 + 4.0 * UNIT_ROUNDOFF
        assert is_positive(K)


def test_a_point_and_its_multiple_have_cosine_one_and_never_more() -> None:
    x = RNG.normal(size=(200, 5))
    for factor in (3.0, 1.0 / 3.0, 1e-8):
        K = Linear().normalised()(x, factor * x)
        assert np.max(K) <= 1.0
        np.testing.assert_allclose(np.diag(K), 1.0, rtol=1e-15)


@pytest.mark.parametrize(
    "x", [np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]]), SETS[3:]], ids=["0", "∅"]
)
def test_points_of_norm_zero_share_one_direction_of_their_own(x: Any) -> None:
    kernel = (
        Linear() if isinstance(x, np.ndarray) else Intersection(frozenset({1, 4}))
    ).normalised()
    K = kernel(x)
    zero = [not np.any(p) if isinstance(x, np.ndarray) else not p for p in x]
    expected = np.where(
        np.outer(zero, zero), 1.0, np.where(np.logical_or.outer(zero, zero), 0.0, K)
    )
    np.testing.assert_array_equal(K, expected)
    np.testing.assert_array_equal(kernel(x, list(x)), K)
    np.testing.assert_array_equal(kernel(list(x), x), K)
    phi = kernel.features(x)
    np.testing.assert_allclose(phi @ phi.T, K, atol=1e-15)


@pytest.mark.parametrize(
    "x", [X, Z, np.vstack([X, np.zeros((2, 3))])], ids=["R", "C", "with zeros"]
)
@pytest.mark.parametrize("kernel", [Linear(), Linear() + 0.5, Linear() ** 2], ids=str)
def test_normalised_features_have_length_one(kernel: Kernel, x: Array) -> None:
    phi = kernel.normalised().features(x)
    np.testing.assert_allclose(np.sum(np.abs(phi) ** 2, axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(phi @ phi.conj().T, kernel.normalised()(x), atol=1e-14)


def test_normalising_twice_is_normalising_once() -> None:
    once = (Linear() + Gaussian()).normalised()
    np.testing.assert_allclose(once.normalised()(X), once(X), rtol=1e-15)
    np.testing.assert_allclose((3.0 * once).normalised()(X), once(X), rtol=1e-15)


def test_a_negative_diagonal_cannot_be_normalised() -> None:
    for kernel in (Sigmoid(1.0, -9.0), FromFunction(lambda a, b: -1.0)):
        with pytest.raises(InvalidInput, match="negative for a point with itself"):
            kernel.normalised()([1.0, 2.0])
        with pytest.raises(InvalidInput, match="negative for a point with itself"):
            kernel.normalised().diag([1.0, 2.0])


@pytest.mark.parametrize("x", [[[1e200], [1.0]], [[1.0], [1e200]], [[1e200], [2e200]]], ids=str)
def test_an_overflow_of_the_norm_is_not_hidden_by_the_quotient(x: Points) -> None:
    kernel = Linear().normalised()
    with pytest.raises(InvalidInput, match=r"linear\(\) is not a finite number"):
        kernel(x)
    with pytest.raises(InvalidInput, match=r"linear\(\) is not a finite number"):
        kernel([[1.0]], x)
    with pytest.raises(InvalidInput, match="is not a finite number"):
        Polynomial(degree=1, offset=0.0).gaussian()(x)
    assert np.array_equal(Linear().gaussian()(x), np.eye(2))


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize(
    "kernel",
    [Linear(), Linear().centred([[0.0, 0.0]]), 2.0 * Linear(), Linear().on(np.negative)],
    ids=["plain", "centred", "scaled", "mapped"],
)
def test_distances_with_a_formula_of_their_own_survive_an_offset(
    kernel: Kernel, offset: float
) -> None:
    x = np.random.default_rng(0).normal(size=(20, 2)) + offset
    factor = (kernel(x[:1] - x[1:2])[0, 0] / Linear()(x[:1] - x[1:2])[0, 0]) ** 0.5
    expected = Gaussian(3.0 / factor)(x)
    np.testing.assert_allclose(kernel.gaussian(3.0)(x), expected, rtol=1e-9)


SMOOTH: list[Kernel] = [
    Linear() + 0.5,
    WIDE * Polynomial(2, offset=0.7),
    (2.0 * Gaussian(1.3) + Linear()).polynomial([0.5, 1.0, 0.3]),
    Matern(2.5, 1.3) * Linear(),
    (0.3 * Linear()).exp(),
    (Linear() + 0.5).gaussian(1.7) + Linear(),
    (Linear() + 1.0).normalised() * Linear(),
    Gaussian().centred(Y) + 0.5,
]


@pytest.mark.parametrize("kernel", SMOOTH, ids=[str(k)[:60] for k in SMOOTH])
def test_derivatives_of_the_cosine_and_of_the_gaussian(kernel: Kernel) -> None:
    names = {f"kernel__{n}" for n in kernel.partials(X)}
    assert_partials(kernel.normalised(), X, Y, names)
    assert_slopes(kernel.normalised(), X, Y)
    assert_partials(kernel.gaussian(1.7), X, Y, names | {"bandwidth"})
    assert_slopes(kernel.gaussian(1.7), X, Y)
    assert_slopes(kernel.gaussian(1.7) * WIDE + kernel.normalised().exp(), X, Y)


def test_derivatives_on_the_diagonal_are_zero() -> None:
    kernel = (Linear() + 0.5) * WIDE
    for made in (kernel.normalised(), kernel.gaussian(0.7)):
        for partial in made.partials(X).values():
            np.testing.assert_allclose(partial[np.arange(6), np.arange(6)], 0.0, atol=1e-15)
        np.testing.assert_allclose(made.slopes(X)[np.arange(6), np.arange(6)], 0.0, atol=1e-15)


def test_partials_of_complex_kernels_are_differences_too() -> None:
    inner = 2.0 * Linear() + Gaussian(1.3)
    for kernel in (inner.normalised(), inner.gaussian(4.0)):
        for name, partial in kernel.partials(Z, Z[:3]).items():
            expected = differences_in(kernel, name, Z, Z[:3])
            assert partial.dtype == expected.dtype
            assert_close(partial, expected)


def test_where_the_cosine_jumps_its_derivatives_are_zero() -> None:
    x = np.array([[0.0, 0.0], [1.0, 2.0]])
    cosine = (2.0 * Linear()).normalised()
    for derivative in (*cosine.partials(x, Y[:, :2]).values(), cosine.slopes(x, Y[:, :2])):
        np.testing.assert_array_equal(derivative[0], np.zeros_like(derivative[0]))
    np.testing.assert_array_equal(cosine.slopes(Y[:, :2], x)[:, 0], np.zeros((4, 2)))
    assert np.max(np.abs(cosine.slopes(x, Y[:, :2])[1])) > 0.01
    gaussian = (2.0 * Linear()).gaussian()
    assert_slopes(gaussian, x, Y[:, :2])
    assert_partials(gaussian, x, Y[:, :2], {"bandwidth", "kernel__weight"})


@pytest.mark.parametrize("operation", ["normalised", "gaussian"])
def test_what_the_inner_kernel_cannot_do_is_refused(operation: str) -> None:
    kernel = getattr(Delta() + Linear(), operation)()
    with pytest.raises(NotDifferentiable, match="Delta has no slopes"):
        kernel.slopes(X)
    with pytest.raises(NoFeatureMap):
        kernel.features(X)


@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("p", [1, 4, 5, 20])
def test_the_gaussian_of_the_linear_kernel_is_the_gaussian_kernel(p: int, bandwidth: float) -> None:
    x = RNG.normal(size=(20, p))
    K = Linear().gaussian(bandwidth)(x)
    np.testing.assert_allclose(K, Gaussian(bandwidth)(x), rtol=1e-11, atol=1e-15)
    np.testing.assert_array_equal(np.diag(K), np.ones(20))
    np.testing.assert_array_equal(K, K.T)
    z = x + 1j * RNG.normal(size=(20, p))
    np.testing.assert_allclose(
        Linear().gaussian(bandwidth)(z), Gaussian(bandwidth)(z), rtol=1e-11, atol=1e-15
    )


@pytest.mark.parametrize("offset", [0.0, 1e1, 1e2, 1e3, 1e4, 1e5])
@pytest.mark.parametrize("p", [2, 10])
def test_an_offset_costs_the_gaussian_of_a_kernel_what_it_says(p: int, offset: float) -> None:
    x = RNG.normal(size=(30, p)) + offset
    largest = float(np.max(Linear().diag(x)))
    promised = 8.0 * UNIT_ROUNDOFF * 2.0 * largest
    error = np.max(np.abs(Linear().gaussian(1.0)(x) - Gaussian(1.0)(x)))
    assert error <= promised
    assert promised < 1e-2 or offset > 1e4


def test_copies_of_a_point_are_at_distance_zero_in_feature_space() -> None:
    x = RNG.normal(size=(10, 6)) + 100.0
    K = (Linear() ** 2).gaussian(1e-3)(x, x.copy())
    np.testing.assert_array_equal(np.diag(K), np.ones(10))
    np.testing.assert_array_equal(K, np.eye(10))


def test_the_gaussian_of_two_sets_of_the_text() -> None:
    """|A| + |B| - 2 |A ∩ B| is 2 for {1, 2} and {2, 3}, so that the Gaussian of width 1 is 1/e."""
    gaussian = Intersection().gaussian(1.0)
    assert gaussian([{1, 2}], [{2, 3}]).item() == pytest.approx(0.367879, abs=5e-7)
    np.testing.assert_array_equal(gaussian.diag([{1, 2}, {2, 3}]), [1.0, 1.0])


@pytest.mark.parametrize(
    ("kernel", "x"),
    [
        (Intersection(), SETS),
        (AllSubsets(), SETS),
        (WeisfeilerLehman(2), GRAPHS),
        (ShortestPath(), GRAPHS),
        (Delta(), ["a", "b", "a"]),
        (NegativeDistance(0.7), X),
        (NegativeDistance(2.0), X),
        (NegativeDistance() + Linear(), X),
        (tensor_sum(Linear(), Intersection()), list(zip(X, SETS, strict=True))),
        (Linear() ** 3, X),
        (Laplacian().centred(X), X),
        (Linear(), Z),
    ],
    ids=lambda v: str(v)[:40] if isinstance(v, Kernel) else "",
)
@pytest.mark.parametrize("bandwidth", [0.1, 1.0, 10.0])
def test_the_gaussian_of_any_kernel_is_positive_definite(
    kernel: Kernel, x: Any, bandwidth: float
) -> None:
    made = kernel.gaussian(bandwidth)
    assert made.kind is Kind.POSITIVE
    K, inner = made(x), kernel(x)
    own = np.diag(inner).real
    squares = own[:, None] + own[None, :] - 2.0 * inner.real
    np.testing.assert_allclose(K, np.exp(-squares / (2.0 * bandwidth**2)), rtol=1e-11, atol=1e-11)
    assert is_positive(K)
    np.testing.assert_array_equal(made.diag(x), np.ones(len(x)))


@pytest.mark.parametrize("bandwidth", [5e-324, 1e-200, 1e-160, 1e160, 1e200, 1.7e308])
def test_no_bandwidth_makes_a_number_that_is_none(bandwidth: float) -> None:
    kernel = Linear().gaussian(bandwidth)
    limit = np.eye(6) if bandwidth < 1.0 else np.ones((6, 6))
    np.testing.assert_array_equal(kernel(X), limit)
    np.testing.assert_array_equal(kernel.partials(X)["bandwidth"], np.zeros((6, 6)))
    if bandwidth > 1e-150:
        np.testing.assert_allclose(kernel.slopes(X), np.zeros((6, 6, 3)), atol=1e-300)


def test_large_and_small_units_have_the_same_gaussian() -> None:
    expected = Linear().gaussian(0.7)(X)
    for unit in (1e-140, 1e140):
        np.testing.assert_allclose(Linear().gaussian(0.7 * unit)(unit * X), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "bandwidth", [0.0, -1.0, np.nan, np.inf, "mean", None, True, [1.0], np.ones(2)]
)
def test_a_bandwidth_is_a_positive_number_or_the_median(bandwidth: Any) -> None:
    with pytest.raises(InvalidParameter, match="bandwidth must be a number > 0"):
        Linear().gaussian(bandwidth)


def test_the_median_rule_takes_the_median_of_the_positive_distances() -> None:
    x = np.array([[0.0], [0.0], [1.0], [3.0]])  # distances 0, 1, 3, 1, 3, 2
    for kernel in (Linear().gaussian("median"), Gaussian("median"), Laplacian("median")):
        (bandwidth,) = (v for n, v in parameters(kernel.resolve(x)).items() if n == "bandwidth")
        assert bandwidth == pytest.approx(2.0, rel=1e-14)


@given(unit=st.sampled_from([1e-100, 1e-3, 1.0, 1e100]), seed=st.integers(0, 100))
def test_the_median_scales_with_the_data(unit: float, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(7, 2))
    here = parameters(Linear().gaussian("median").resolve(x))["bandwidth"]
    there = parameters(Linear().gaussian("median").resolve(unit * x))["bandwidth"]
    assert there == pytest.approx(unit * here, rel=1e-10)


def test_the_median_rule_reads_points_of_any_kind() -> None:
    resolved = Intersection().gaussian("median").resolve(SETS)
    gram = Intersection()(SETS)
    squares = np.add.outer(np.diag(gram), np.diag(gram)) - 2.0 * gram
    upper = np.sqrt(squares[np.triu_indices(6, 1)])
    assert parameters(resolved)["bandwidth"] == pytest.approx(np.median(upper[upper > 0]))
    paired = tensor_sum(Linear(), Delta()).gaussian("median").resolve(Paired(X, list("abcabc")))
    assert np.isfinite(parameters(paired)["bandwidth"])
    theirs: Any = strict.asarray(X)
    assert Linear().gaussian("median").resolve(theirs) == Linear().gaussian("median").resolve(X)


def test_the_median_of_complex_points_uses_the_real_part() -> None:
    bandwidth = parameters(Linear().gaussian("median").resolve(Z))["bandwidth"]
    upper = [np.linalg.norm(Z[i] - Z[j]) for i in range(6) for j in range(i)]
    assert bandwidth == pytest.approx(np.median(upper), rel=1e-12)


@pytest.mark.parametrize("x", [X[:0], X[:1], np.ones((5, 2))], ids=["none", "one", "equal"])
def test_the_median_of_no_distances_is_refused(x: Array) -> None:
    for kernel in (Linear().gaussian("median"), Gaussian("median")):
        with pytest.raises(InvalidInput, match="'median' is undefined"):
            kernel.resolve(x)


def test_many_points_are_sampled_always_alike() -> None:
    t = np.arange(float(3 * MEDIAN_SAMPLE))
    few, again = sample_points(t), sample_points(t)
    assert len(few) == MEDIAN_SAMPLE
    assert len(set(np.asarray(few).tolist())) == MEDIAN_SAMPLE
    np.testing.assert_array_equal(few, again)
    assert np.all(np.diff(np.asarray(few)) > 0)
    assert sample_points(t.tolist()) == np.asarray(few).tolist()
    theirs: Any = sample_points(strict.asarray(t))  # type: ignore[arg-type]
    np.testing.assert_array_equal(as_numpy(theirs), few)
    paired = sample_points(Paired(t, t.tolist()))
    assert [p[1] for p in paired[:3]] == np.asarray(few)[:3].tolist()
    np.testing.assert_array_equal(sample_points(t[:MEDIAN_SAMPLE]), t[:MEDIAN_SAMPLE])


def test_the_sampled_median_is_near_the_median() -> None:
    t = np.random.default_rng(0).normal(size=(2 * MEDIAN_SAMPLE, 2))
    bandwidth = parameters(Gaussian("median").resolve(t))["bandwidth"]
    # Of two normal points ‖x - y‖²/4 is exponential, whose median is log 2.
    assert bandwidth == pytest.approx(2.0 * np.sqrt(np.log(2.0)), rel=0.05)


def test_the_median_of_a_matrix_looks_at_each_pair_once() -> None:
    squares = np.array([[9.0, 1.0, 4.0], [100.0, 9.0, 16.0], [100.0, 100.0, 9.0]])
    assert typical_distance(squares, "median", "k") == 2.0


@pytest.mark.parametrize("imaginary", [0.0, 1j], ids=["real", "complex"])
@pytest.mark.parametrize(
    "kernel",
    [
        (Linear() + 1.0).normalised(),
        Linear().gaussian(2.0),
        (Gaussian() * Constant(2.0)).gaussian(),
    ],
    ids=str,
)
def test_standard_arrays_stay_in_their_library(kernel: Kernel, imaginary: complex) -> None:
    x = np.vstack([X, np.zeros((2, 3))]) + imaginary * np.vstack([X[::-1], np.zeros((2, 3))])
    theirs: Any = strict.asarray(x)
    results = [
        (kernel(theirs), kernel(x)),
        (kernel(theirs, theirs[:2, :]), kernel(x, x[:2])),
        (kernel.diag(theirs), kernel.diag(x)),
        *((kernel.partials(theirs)[n], d) for n, d in kernel.partials(x).items()),
    ]
    if not imaginary:
        results.append((kernel.slopes(theirs), kernel.slopes(x)))
    for values, expected in results:
        assert isinstance(values, type(theirs))
        np.testing.assert_allclose(as_numpy(values), expected, rtol=1e-12, atol=1e-13)


def double_unless_equal(a: float, b: float) -> float:
    return 1.0 if a == b else 2.0


def test_an_indefinite_similarity_is_not_clipped_into_a_kernel() -> None:
    for kernel in (
        Precomputed(np.array([[1.0, 2.0], [2.0, 1.0]])),
        FromFunction(double_unless_equal),
    ):
        np.testing.assert_allclose(kernel.normalised()([0, 1]), [[1.0, 2.0], [2.0, 1.0]])
        assert not positive_definite(kernel.normalised(), [0, 1])
        np.testing.assert_allclose(kernel.gaussian()([0, 1])[0, 1], np.exp(1.0))
        assert not positive_definite(kernel.gaussian(), [0, 1])


@pytest.mark.parametrize("step", [".gaussian()", ".normalised()", ".gaussian().normalised()"])
def test_deep_expressions_take_time_in_proportion_to_their_depth(step: str) -> None:
    count = 40 // step.count(".")
    deep = read("linear()" + step * count)
    calls: list[int] = []

    class Counted(AllPairs):
        def dot(self, a: Any, b: Any) -> Array:
            calls.append(1)
            return AllPairs.dot(self, a, b)

    values = deep.evaluate(Counted(X))
    assert np.all(np.isfinite(values))
    assert len(calls) <= 1
    assert deep.diag(X).shape == (len(X),)


@pytest.mark.parametrize("step", [".gaussian(3.0)", ".normalised()"])
def test_derivatives_of_deep_expressions_take_a_moderate_time_too(step: str) -> None:
    deep = read("linear()" + step * 30)
    evaluations: list[int] = []

    class Counted(AllPairs):
        def of_x(self, f: Array) -> Array:
            evaluations.append(1)
            return AllPairs.of_x(self, f)

    assert np.all(np.isfinite(deep.evaluate_slopes(Counted(X))))
    deep.evaluate_partials(Counted(X))
    # A handful for each pair of levels; twice as many at each level would be a thousand million.
    assert len(evaluations) <= 20 * 30**2


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_gaussian_of_the_linear_kernel_keeps_the_range_of_doubles(unit: float) -> None:
    x = np.array([[0.0], [unit]])
    np.testing.assert_allclose(Linear().gaussian(unit)(x)[0, 1], np.exp(-0.5), rtol=1e-14)
