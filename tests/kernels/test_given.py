from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from math import exp
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.check import as_numpy
from mercer.engines.cpu import Threads
from tests.oracles import LIBRARIES, assert_near, foreign, smallest_eigenvalue, untouched

exact_module = importlib.import_module("mercer.spectrum.exact")
WORDS = ["gene", "protein", "cell", "gene"]
GRAM = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 4.0]])


@pytest.mark.parametrize(
    "points",
    [
        ["a", "b", "c"],
        [1, 2.5, "1"],
        [(1, 2), (2, 1), (1, 2, 3)],
        [[1, 2], [2, 1]],
        [frozenset({1}), frozenset({2})],
        [{1, 2}, {1}],
        [None, True, "None"],
        np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]),
        np.array([1, 2, 3]),
        np.array(["a", "b"]),
        np.array(["a", 1, None], dtype=object),
        [np.array([1.0, 2.0]), np.array([2.0, 1.0])],
    ],
    ids=lambda p: repr(p)[:30],
)
def test_distinct_points_of_any_kind_have_the_identity_as_gram_matrix(points: Any) -> None:
    n = len(points)
    assert mc.kernels.Delta()(points).tolist() == np.eye(n).tolist()
    assert mc.kernels.Delta().diag(points).tolist() == [1.0] * n
    assert mc.kernels.Delta()(points, points[1:]).tolist() == np.eye(n)[:, 1:].tolist()


def test_equal_points_are_one() -> None:
    assert mc.kernels.Delta()(WORDS)[0].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert mc.kernels.Delta()([[0.0, 1.0]], [[-0.0, 1.0], [0.0, 1.5]]).tolist() == [[1.0, 0.0]]
    assert mc.kernels.Delta()([{1, 2}], [{2, 1}, {1}]).tolist() == [[1.0, 0.0]]
    assert mc.kernels.Delta()([1], np.array([1, 2])).tolist() == [[1.0, 0.0]]


def test_the_space_of_the_delta_kernel_has_the_usual_inner_product() -> None:
    f, g = np.array([1.0, -2.0, 0.5]), np.array([0.0, 3.0, 4.0])
    K = mc.kernels.Delta()(["a", "b", "c"])
    np.testing.assert_array_equal(K, np.eye(3))
    assert f @ K @ g == f @ g


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_delta_kernel_answers_other_array_libraries_in_kind(library: str) -> None:
    x = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    points = foreign(library, x)
    K = (mc.kernels.Delta() + mc.Gaussian())(points)
    assert type(K) is type(points)
    assert_near(as_numpy(K), mc.kernels.Delta()(x) + mc.Gaussian()(x), 1e-15)


@pytest.mark.parametrize(
    "points", [[{"a": 1}], [(1, {"a": 1})], [[1, [{"b": 2}]]], [bytearray(b"x")]], ids=repr
)
def test_points_without_equality_are_refused(points: Any) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=r"cannot be tested for equality; use numbers"):
        mc.kernels.Delta()(points)


def test_not_a_number_equals_nothing_and_is_refused() -> None:
    for points in (np.array([[np.nan]]), [float("nan")]):
        with pytest.raises(mc.errors.InvalidInput, match=r"holds NaN|not a number \(nan\)"):
            mc.kernels.Delta()(points)


def shared_letters(a: str, b: str) -> float:
    return float(len(set(a) & set(b)))


def difference(a: float, b: float) -> float:
    return a - b


def test_a_function_is_evaluated_on_every_pair() -> None:
    k = mc.FromFunction(shared_letters)
    expected = [[shared_letters(a, b) for b in WORDS[:2]] for a in WORDS]
    assert k(WORDS, WORDS[:2]).tolist() == expected
    assert k.diag(WORDS).tolist() == [3.0, 7.0, 3.0, 3.0]
    assert k.proof == ""


def test_the_order_of_the_arguments_is_kept() -> None:
    assert mc.FromFunction(difference)([5.0], [2.0, 9.0]).tolist() == [[3.0, -4.0]]


def test_a_function_may_be_complex() -> None:
    K = mc.FromFunction(lambda a, b: a * np.conj(b))([1.0, 2.0j])
    assert K.tolist() == [[1.0, -2.0j], [2.0j, 4.0]]


def test_a_function_sees_rows_of_arrays() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    with untouched(x):
        K = mc.FromFunction(lambda a, b: float(a @ b))(x)
    assert_near(K, x @ x.T, 1e-15)


@pytest.mark.parametrize("function", [3, None, "sin"])
def test_what_cannot_be_called_is_refused(function: Any) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="must be a Python function of two points"):
        mc.FromFunction(function)


@pytest.mark.parametrize("value", [None, "x", np.array([1.0, 2.0]), float("nan"), float("inf")])
def test_a_function_that_returns_no_number_is_refused(value: Any) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=r"number"):
        mc.FromFunction(lambda a, b: value)([1, 2])


def test_an_error_inside_a_function_names_the_points_and_keeps_its_cause() -> None:
    kernel = mc.FromFunction(lambda a, b: 1.0 / (a + b - 3.0))
    with pytest.raises(mc.errors.InvalidInput, match="points 0 and 1.*ZeroDivisionError") as error:
        kernel([1.0, 2.0])
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_a_precomputed_kernel_looks_its_values_up() -> None:
    k = mc.Precomputed(GRAM)
    assert k([2, 0], [1]).tolist() == [[-1.0], [1.0]]
    assert k(range(3)).tolist() == GRAM.tolist()
    assert k(np.array([[1], [1]])).tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert k([0.0, 2.0]).tolist() == [[2.0, 0.5], [0.5, 4.0]]
    assert k.diag([2, 1]).tolist() == [4.0, 3.0]
    assert k.proof == ""


def test_a_precomputed_kernel_keeps_its_own_copy() -> None:
    gram = GRAM.copy()
    k = mc.Precomputed(gram)
    gram[0, 0] = 99.0
    assert k([0]).tolist() == [[2.0]]
    with pytest.raises(ValueError, match="read-only"):
        k.matrix[0, 0] = 1.0
    k([0, 1])[0, 0] = 7.0
    assert k == mc.Precomputed(GRAM)
    assert hash(k) == hash(mc.Precomputed(GRAM))
    assert k != mc.Precomputed(2.0 * GRAM)


def test_hermitian_matrices_are_gram_matrices() -> None:
    H = np.array([[2.0, 1.0j], [-1.0j, 2.0]])
    assert mc.Precomputed(H)([0, 1]).tolist() == H.tolist()
    assert mc.Precomputed(H).diag([0, 1]).tolist() == [2.0, 2.0]
    with pytest.raises(mc.errors.InvalidInput, match="is not symmetric"):
        mc.Precomputed(np.array([[2.0, 1.0j], [1.0j, 2.0]]))


def test_an_indefinite_matrix_is_taken_as_it_is() -> None:
    assert smallest_eigenvalue(mc.Precomputed([[0.0, 1.0], [1.0, 0.0]])([0, 1])) == -1.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            [[1.0, 2.0, 0.0], [2.0, 1.0, 3.0], [0.0, 3.5, 1.0]],
            r"gram is not symmetric: entry \(1, 2\) is 3 and entry \(2, 1\) is 3.5",
        ),
        ([[1.0, 1.0 + 2e-8], [1.0, 1.0]], r"entry \(0, 1\)"),
        ([[1.0, float("nan")], [0.0, 1.0]], "row 0, column 1 holds NaN"),
        ([[1.0, 2.0]], r"must be a square matrix, found shape \(1, 2\)"),
        ([[1.0, 2.0], [2.0]], "same number in every row"),
        ([["a"]], "'a' is not a number"),
        (np.zeros((2, 2, 2)), r"found shape \(2, 2, 2\)"),
    ],
)
def test_matrices_that_are_not_gram_matrices_are_refused(matrix: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        mc.Precomputed(matrix)


def test_rounding_is_not_asymmetry() -> None:
    k = mc.Precomputed(np.array([[1.0, 1.0 + 1e-9], [1.0, 1.0]]))
    assert k([0], [1])[0, 0] == k([1], [0])[0, 0] == pytest.approx(1.0 + 5e-10, abs=1e-15)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0, 3], "from 0 to 2; x has 3 at 1"),
        ([-1], "from 0 to 2; x has -1 at 0"),
        ([0, 1, 1.5], "x has 1.5 at 2"),
        ([float("nan")], "x has nan at 0"),
        ([float("inf")], "x has inf at 0"),
        (["a"], "row numbers from 0 to 2; x holds <U1"),
        ([True, False, True], "x holds bool"),
        ([[0, 1], [1, 0]], r"x holds int64 of shape \(2, 2\)"),
        ([[0], [1, 2]], "x holds object"),
        ([None], "x holds object"),
        ([1j], "x holds complex128"),
    ],
)
def test_points_that_are_not_row_numbers_are_refused(points: Any, message: str) -> None:
    k = mc.Precomputed(GRAM)
    for call in (k, k.diag):
        with pytest.raises(mc.errors.InvalidInput, match=message):
            call(points)
    with pytest.raises(mc.errors.InvalidInput, match=message.replace("x ", "y ")):
        k([0], points)


@pytest.mark.parametrize("library", LIBRARIES)
def test_row_numbers_of_other_array_libraries_are_answered_in_kind(library: str) -> None:
    rows = foreign(library, np.array([2, 0]))
    K = mc.Precomputed(GRAM)(rows)
    assert type(K) is type(rows)
    assert as_numpy(K).tolist() == [[4.0, 0.5], [0.5, 2.0]]


KERNELS: list[tuple[mc.Kernel, list[Any]]] = [
    (mc.kernels.Delta(), ["a", "b"]),
    (mc.FromFunction(shared_letters), WORDS[:2]),
    (mc.Precomputed(GRAM), [0, 2]),
]


@pytest.mark.parametrize(("k", "points"), KERNELS, ids=["Delta", "FromFunction", "Precomputed"])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_no_point_one_point_and_two_points(k: mc.Kernel, points: list[Any], n: int) -> None:
    assert k(points[:n]).shape == (n, n)
    assert k(points[:n], points).tolist() == k(points)[:n].tolist()
    assert k(points, points[:n]).shape == (2, n)
    assert k.diag(points[:n]).shape == (n,)


@pytest.mark.parametrize(("k", "points"), KERNELS, ids=["Delta", "FromFunction", "Precomputed"])
def test_given_kernels_have_neither_derivatives_nor_features(
    k: mc.Kernel, points: list[Any]
) -> None:
    assert k.partials(points) == {}
    refused: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
        (k.slopes, mc.errors.NotDifferentiable, "has no slopes"),
        (k.features, mc.errors.NoFeatureMap, "has no finite feature map"),
    ]
    for call, error, message in refused:
        with pytest.raises(error, match=message):
            call(points)


def test_an_empty_matrix_is_a_kernel_on_no_points() -> None:
    k = mc.Precomputed(np.empty((0, 0)))
    assert k([]).shape == (0, 0)
    with pytest.raises(mc.errors.InvalidInput, match="row numbers"):
        k([0])


def test_neighbouring_whole_numbers_beyond_doubles_differ() -> None:
    x = np.array([2**53, 2**53 + 1])
    assert (
        mc.kernels.Delta()(x).tolist()
        == mc.kernels.Delta()(x[:, None]).tolist()
        == np.eye(2).tolist()
    )
    assert mc.kernels.Delta()(x, [2**53 + 1]).tolist() == [[0.0], [1.0]]
    masked = np.ma.masked_equal([1, 2], 2)
    with pytest.raises(mc.errors.InvalidInput, match="masked"):
        mc.kernels.Delta()(masked)


def test_a_function_that_forgets_to_return_is_told_so() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="did it forget to"):
        mc.FromFunction(lambda a, b: None)(["cat", "dog"])


def counted(calls: list[int]) -> Callable[[float, float], float]:
    def gaussian(a: float, b: float) -> float:
        calls[0] += 1
        return exp(-0.5 * (a - b) ** 2)

    return gaussian


def test_a_function_is_called_once_for_a_pair() -> None:
    calls = [0]
    x = np.random.default_rng(0).normal(size=100).tolist()
    K = mc.FromFunction(counted(calls))(x)
    both_ways = 32 * 31 // 2
    assert calls[0] == 100 * 101 // 2 + both_ways
    assert_near(K, mc.Gaussian()(x), 1e-14)
    assert np.array_equal(K, K.T)


def test_the_mirror_image_of_a_complex_function_is_conjugate() -> None:
    points = np.exp(1j * np.linspace(0.0, 3.0, 50))
    K = mc.FromFunction(lambda a, b: complex(a * np.conj(b)))(points)
    assert_near(K, np.outer(points, points.conj()), 1e-15)


def test_a_model_calls_a_function_once_for_a_pair_and_says_that_it_kept_the_values() -> None:
    calls, n = [0], 1_050
    x = np.random.default_rng(0).normal(size=n)
    model = mc.KernelPCA(3, kernel=counted(calls), random_state=0).fit(x.tolist())
    reference = mc.KernelPCA(3, kernel=mc.Gaussian(), random_state=0).fit(x[:, None])
    assert calls[0] < 0.6 * n * n
    assert "kept tiles" in model.spectrum_.how.method
    assert model.spectrum_.how.single_passes == 0
    assert_near(model.inertias_, reference.inertias_, 1e-8)


def test_an_iteration_of_axes_without_gaps_does_not_call_again() -> None:
    calls, n = [0], 1_050
    x = 2.0 * np.arange(n) + np.random.default_rng(0).uniform(size=n)  # hardly any axis leads
    model = mc.KernelPCA(3, kernel=counted(calls), random_state=0).fit(x.tolist())
    assert "Lanczos on kept tiles" in model.spectrum_.how.method
    assert calls[0] < 0.6 * n * n


def test_an_iteration_that_ends_dense_does_not_call_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, n = [0], 1_050
    iteration = exact_module.davidson

    def stopped(*arguments: Any, **settings: Any) -> Any:
        return replace(iteration(*arguments, **settings), has_converged=False)

    monkeypatch.setattr(exact_module, "davidson", stopped)
    x = np.random.default_rng(0).normal(size=n)
    model = mc.KernelPCA(3, kernel=counted(calls), random_state=0).fit(x.tolist())
    assert model.spectrum_.how.method.startswith("dense, for the iteration stopped")
    assert calls[0] < 0.6 * n * n


def test_a_budget_limits_what_is_kept() -> None:
    calls, n = [0], 1_050
    x = np.random.default_rng(0).normal(size=n)
    kernel = mc.FromFunction(counted(calls))
    gram = mc.Gram(kernel, x.tolist(), engine=Threads(memory="8MB"))
    for _ in range(3):
        gram @ np.ones(n)
    assert gram.cut().kept_bytes <= 2e6
    assert calls[0] > 1.2 * n * n


def test_a_vectorised_function_is_asked_for_blocks() -> None:
    shapes: list[tuple[int, int]] = []

    def gaussian(x: Any, y: Any) -> Any:
        shapes.append((len(x), len(y)))
        return mc.Gaussian()(x, y)

    x = np.random.default_rng(0).normal(size=(40, 3))
    k = mc.FromFunction(gaussian, vectorised=True)
    assert_near(k(x), mc.Gaussian()(x), 1e-15)
    assert_near(k(x, x[:7]), mc.Gaussian()(x, x[:7]), 1e-15)
    assert_near(k.diag(x), np.ones(40), 1e-15)
    assert len(shapes) < 20
    assert k(x[:0]).shape == (0, 0)
    assert k.diag(x[:0]).shape == (0,)
    assert (2.0 * k + mc.Linear())(x).shape == (40, 40)
    model = mc.KernelPCA(2, kernel=k).fit(x)
    assert_near(model.inertias_, mc.KernelPCA(2, kernel=mc.Gaussian()).fit(x).inertias_, 1e-12)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, y: x @ y, "failed on 2 and 1 points|returned shape"),
        (lambda x, y: np.zeros(len(x)), r"returned shape \(2,\) for 2 and 1 points"),
        (lambda x, y: 1.0, r"returned shape \(\) .* without vectorised=True"),
        (lambda x, y: x @ y.T / np.max(np.abs(x @ y.T)), "beside point 1 of x: the value of a"),
        (lambda x, y: [["a"] * len(y)] * len(x), "not a number"),
        (lambda x, y: x.missing, "AttributeError"),
        (lambda x, y: (x @ y.T).T, r"returned shape \(1, 2\)"),
    ],
)
def test_a_vectorised_function_is_checked_on_two_points(function: Any, message: str) -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])  # as many points as coordinates
    with pytest.raises(mc.errors.InvalidInput, match=message):
        mc.FromFunction(function, vectorised=True)(x)


def test_vectorised_is_a_yes_or_a_no() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="vectorised must be True or False"):
        mc.FromFunction(shared_letters, vectorised="yes")  # type: ignore[arg-type]
