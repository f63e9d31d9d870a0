from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import mercer as mc
from mercer.check import Array, as_numpy
from tests.oracles import (
    LIBRARIES,
    assert_near,
    assert_positive,
    foreign,
    untouched,
)

X = np.array([[0.0, 1.0], [0.4, -0.6], [1.1, 0.3], [-0.9, 0.8], [-1.6, -1.3]])
Y = np.array([[0.2, 0.1], [-0.5, 1.5], [1.7, -0.9], [-1.2, 0.5]])


def once(x: Any) -> Array:
    return np.asarray(x)


def twice(x: Any) -> Array:
    return np.asarray(np.hstack([x, x]) / np.sqrt(2))


def halves(x: Any) -> Any:
    return np.maximum(x, 0.0)


def sparse_halves(x: Any) -> Any:
    return csr_array(np.maximum(x, 0.0))


def letters(words: Any) -> Any:
    return np.array([[w.count("a"), len(w)] for w in words])


def powers(x: Any) -> Any:
    return np.stack([x, x**2], axis=1)


def inverse(x: Any) -> Any:
    return 1.0 / np.where(x == 0, np.nan, x)


def doubled(x: Any) -> Any:
    return 2.0 * x


def sign_changed(x: Any) -> Any:
    return -x


def test_two_feature_maps_give_one_kernel() -> None:
    line = X[:, :1]
    first, second = mc.kernels.FeatureMap(once), mc.kernels.FeatureMap(twice)
    np.testing.assert_allclose(first(line), line @ line.T, rtol=1e-15)
    np.testing.assert_allclose(second(line), first(line), rtol=1e-15)
    assert first.features(line).shape != second.features(line).shape
    assert first != second


def test_features_may_be_complex_and_sparse() -> None:
    def waves(x: Any) -> Array:
        return np.asarray(np.exp(1j * np.asarray(x) @ np.array([[1.0, 2.0], [0.5, -1.0]])))

    K = mc.kernels.FeatureMap(waves)(X)
    assert_near(K, waves(X) @ waves(X).conj().T, 1e-15)
    assert_positive(K)
    np.testing.assert_allclose(mc.kernels.FeatureMap(waves).diag(X), np.full(5, 2.0), rtol=1e-15)
    sparse, dense = mc.kernels.FeatureMap(sparse_halves), mc.kernels.FeatureMap(halves)
    np.testing.assert_allclose(sparse(X, Y), dense(X, Y), rtol=1e-15)
    np.testing.assert_allclose(sparse.diag(X), dense.diag(X), rtol=1e-15)


def test_features_may_come_from_points_of_any_kind() -> None:
    k = mc.kernels.FeatureMap(letters)
    assert k(["banana", "cherry"]).tolist() == [[45.0, 36.0], [36.0, 36.0]]


@pytest.mark.parametrize(
    ("phi", "message"),
    [
        (lambda x: np.ones((2, 3)), "returned 2 rows for 5 points; it must return one row"),
        (lambda x: np.full((5, 1), np.nan), r"phi\(x\), row 0, column 0 holds NaN, and 4 more"),
        (lambda x: [["a"]] * 5, r"phi\(x\), row 0, column 0: 'a' is not a number"),
    ],
)
def test_feature_maps_that_return_something_else_are_refused(
    phi: Callable[[Any], Any], message: str
) -> None:
    for call in (mc.kernels.FeatureMap(phi), mc.kernels.FeatureMap(phi).features):
        with pytest.raises(mc.errors.InvalidInput, match=message):
            call(X)


@pytest.mark.parametrize("x", [X, X.tolist(), X[:2]])
def test_a_map_of_one_point_is_refused_where_features_are_as_many_as_points(x: Any) -> None:
    def of_one(point: Any) -> Any:  # x₀, x₁, x₀x₁ and so on of one point
        return np.array([np.asarray(point[i % 2]) * (1.0 + i) for i in range(len(x))])

    assert of_one(x).shape[0] == len(x)  # so that the number of rows says nothing
    for call in (mc.kernels.FeatureMap(of_one), mc.kernels.FeatureMap(of_one).features):
        with pytest.raises(
            mc.errors.InvalidInput, match="one row for each.* the first point alone"
        ):
            call(x)
    with pytest.raises(
        mc.errors.InvalidInput, match=r"functions\[0\].*one number for each.* alone"
    ):
        mc.kernels.Series([lambda p: of_one(p)[:, 0]], [1.0])(x)


def test_a_map_that_returns_a_row_for_the_first_point_is_called_with_it() -> None:
    k = mc.kernels.FeatureMap(lambda x: [[float(len(word)), 1.0] for word in x])
    assert k(["a", "bcd"]).tolist() == [[2.0, 4.0], [4.0, 10.0]]


def test_maps_that_cannot_be_called_are_refused() -> None:
    with pytest.raises(
        mc.errors.InvalidParameter, match="phi must be a function of points, found 3"
    ):
        mc.kernels.FeatureMap(3)  # type: ignore[arg-type]
    with pytest.raises(
        mc.errors.InvalidParameter, match=r"functions\[1\] must be a function of points"
    ):
        mc.kernels.Series([once, "sin"], [1.0, 1.0])  # type: ignore[list-item]
    with pytest.raises(
        mc.errors.InvalidParameter, match="functions must be a sequence of functions"
    ):
        mc.kernels.Series(once, [1.0])  # type: ignore[arg-type]


FREQUENCIES = range(1, 5)
WEIGHTS = (1.0, 0.5, 0.25, 0.125)


def sine(i: int) -> Callable[[Any], Array]:
    return lambda x: np.asarray(np.sin(i * np.asarray(x)))


SINES = mc.kernels.Series([sine(i) for i in FREQUENCIES], WEIGHTS)
LINE = np.array([0.3, 1.1, 2.0, -0.7])


def test_a_series_sums_products_of_its_functions() -> None:
    expected = sum(
        w * np.outer(np.sin(i * LINE), np.sin(i * LINE))
        for i, w in zip(FREQUENCIES, WEIGHTS, strict=True)
    )
    assert_near(SINES(LINE), np.asarray(expected), 1e-15)
    phi = SINES.features(LINE)
    assert_near(phi @ phi.T, SINES(LINE), 1e-15)
    assert_positive(SINES(LINE))


def test_the_norm_of_a_series_divides_by_its_weights() -> None:
    a = [3.0, -1.0, 0.5, 2.0]
    expected = np.sqrt(sum(v * v / w for v, w in zip(a, WEIGHTS, strict=True)))
    assert SINES.norm(a) == pytest.approx(expected, rel=1e-15)
    assert SINES.norm([3.0, -1.0j, 0.5, 2.0]) == pytest.approx(expected, rel=1e-15)  # type: ignore[list-item]


def test_the_kernel_of_a_series_reproduces_and_has_its_norm() -> None:
    a = np.array([3.0, -1.0, 0.5, 2.0])
    for x in LINE:
        values = np.array([np.sin(i * x) for i in FREQUENCIES])
        kernel_at_x = np.array(WEIGHTS) * values
        inner = (SINES.norm(a + kernel_at_x) ** 2 - SINES.norm(a - kernel_at_x) ** 2) / 4
        assert inner == pytest.approx(a @ values, rel=1e-13)
        assert SINES.norm(kernel_at_x) ** 2 == pytest.approx(SINES.diag([x])[0], rel=1e-13)


def test_a_function_of_weight_zero_is_not_in_the_space() -> None:
    k = mc.kernels.Series([sine(1), sine(2)], [1.0, 0.0])
    assert k.norm([2.0, 0.0]) == 2.0
    with pytest.raises(mc.errors.InvalidInput, match="weight 0 is not in the space"):
        k.norm([2.0, 1e-300])
    with pytest.raises(mc.errors.InvalidInput, match=r"expected 2 coefficients, found \(3,\)"):
        k.norm([1.0, 2.0, 3.0])


def test_complex_series_are_hermitian() -> None:
    def wave(x: Any) -> Array:
        return np.asarray(np.exp(1j * np.asarray(x)))

    k = mc.kernels.Series([wave, sine(1)], [2.0, 1.0])
    K = k(LINE)
    assert_near(K, 2 * np.exp(1j * (LINE[:, None] - LINE)) + np.outer(*[np.sin(LINE)] * 2), 1e-15)
    assert_positive(K)
    assert_near(k.partials(LINE)["weights"][..., 0], np.exp(1j * (LINE[:, None] - LINE)), 1e-15)


def test_partials_in_the_weights_are_the_products() -> None:
    partial = SINES.partials(LINE, LINE[:2])["weights"]
    assert partial.shape == (4, 2, 4)
    for i in FREQUENCIES:
        expected = np.outer(np.sin(i * LINE), np.sin(i * LINE[:2]))
        assert_near(partial[..., i - 1], expected, 1e-15)


@pytest.mark.parametrize(
    ("functions", "weights", "message"),
    [
        ([sine(1)], [-1.0], r"weights\[0\] must be a number > 0 or equal to 0"),
        ([sine(1)], [1.0, 2.0], "there are 1 functions and 2 weights"),
        ([], [], "weights must hold at least one number"),
        ([sine(1)], [float("inf")], r"weights\[0\] must be a number"),
    ],
)
def test_series_outside_the_domain_are_refused(
    functions: Sequence[Callable[[Any], Array]], weights: Sequence[float], message: str
) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        mc.kernels.Series(functions, weights)


def test_summable_weights_are_not_enough_for_a_series() -> None:
    k = mc.kernels.Series([inverse], [1e-9])
    assert np.isfinite(k(np.array([1.0]))).all()
    with pytest.raises(
        mc.errors.InvalidInput, match=r"a function of the series is not a finite number"
    ):
        k(np.array([1.0, 0.0]))
    with pytest.raises(mc.errors.InvalidInput, match="one number for each point"):
        mc.kernels.Series([lambda x: np.ones(7)], [1.0])(LINE)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("k", [SINES, mc.kernels.FeatureMap(powers)], ids=repr)
def test_explicit_maps_of_no_point_one_point_and_two_points(k: mc.Kernel, n: int) -> None:
    line = LINE.copy()
    with untouched(line):
        assert k(line[:n]).shape == (n, n)
        assert_near(k(line[:n], line), k(line)[:n], 1e-15)
        assert k.diag(line[:n]).shape == (n,)
        assert len(k.features(line[:n])) == n


@pytest.mark.parametrize("library", LIBRARIES)
def test_series_answer_other_array_libraries_in_kind(library: str) -> None:
    k = mc.kernels.Series([doubled, sign_changed], [0.5, 2.0])
    x = foreign(library, LINE)
    for given, expected in (
        (k(x), k(LINE)),
        (k.diag(x), k.diag(LINE)),
        (k.partials(x)["weights"], k.partials(LINE)["weights"]),
    ):
        assert type(given) is type(x)
        assert_near(as_numpy(given), expected, 1e-15)


@pytest.mark.parametrize("library", LIBRARIES)
def test_features_of_other_array_libraries_stay_there(library: str) -> None:
    x = foreign(library, X)
    k = mc.kernels.FeatureMap(doubled)
    assert type(k(x)) is type(x)
    assert type(k.features(x)) is type(x)


@pytest.mark.parametrize(
    ("k", "name"),
    [(mc.kernels.FeatureMap(doubled), "phi"), (mc.kernels.Series([doubled], [1.0]), "functions")],
)
def test_a_map_that_cannot_read_a_list_says_that_it_got_one(k: mc.Kernel, name: str) -> None:
    with pytest.raises(
        mc.errors.InvalidInput, match=f"{name}.* points given as a list .*an array"
    ) as e:
        k([1.0, 2.0])
    assert isinstance(e.value.__cause__, TypeError)
    assert k(np.array([1.0])).tolist() == [[4.0]]
    with pytest.raises(TypeError, match="bad operand"):  # on an array it is the function's fault
        mc.kernels.FeatureMap(lambda x: -object())(X)  # type: ignore[operator]


def test_features_of_a_series_that_overflow_are_refused_by_name() -> None:
    with pytest.raises(
        mc.errors.InvalidInput, match="a feature of series.* is not a finite number"
    ):
        mc.kernels.Series([once], [1e300]).features([1e200])
