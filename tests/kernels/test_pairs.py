from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import array_api_strict as strict
import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from mercer import FromFunction, Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.check import Array, Points, as_numpy
from mercer.errors import InvalidInput, NotDifferentiable
from mercer.kernels import Constant, Delta, FeatureMap, RationalQuadratic, tensor_sum
from mercer.kernels import pairs as pairs_module
from mercer.kernels.given import codes
from mercer.kernels.pairs import (
    DIRECT_COLUMNS,
    LARGEST_SQUARE,
    Aligned,
    AllPairs,
    Pairs,
    Scale,
    conj,
    is_complex,
)
from mercer.kernels.point_pairs import squared_distances

COLUMNS = [1, DIRECT_COLUMNS, DIRECT_COLUMNS + 1, 20]
"""Both sides of the switch from differences to a matrix product."""

for_columns = pytest.mark.parametrize("p", COLUMNS)


def normal(n: int, p: int, seed: int = 0) -> Array:
    x = np.random.default_rng(seed).normal(size=(n, p))
    assert x.shape == (n, p)
    return x


def roots(x: Points) -> Array:
    result: Array = np.sqrt(np.abs(np.asarray(x)))
    return result


def exact_squares(x: Array, y: Array) -> Array:
    """Return squared distances from exact differences and an exactly rounded sum."""
    rows = [
        [[float(Fraction(s) - Fraction(t)) for s, t in zip(a, b, strict=True)] for b in y]
        for a in x
    ]
    return np.array([[math.fsum(d * d for d in gap) for gap in row] for row in rows])


@for_columns
def test_squared_distances_of_well_scaled_points_are_exact_to_1e_10(p: int) -> None:
    x, y = normal(15, p), normal(12, p, 1)
    assert AllPairs(x, y).squared_distance() == pytest.approx(exact_squares(x, y), rel=1e-10, abs=0)
    assert AllPairs(x).squared_distance() == pytest.approx(exact_squares(x, x), rel=1e-10, abs=0)


def test_squared_distances_agree_with_fifty_digits() -> None:
    x = normal(8, 7) + 1e3
    with mpmath.workdps(50):
        exact = [
            [
                float(
                    mpmath.fsum(
                        (mpmath.mpf(s) - mpmath.mpf(t)) ** 2 for s, t in zip(a, b, strict=True)
                    )
                )
                for b in x
            ]
            for a in x
        ]
    assert AllPairs(x).squared_distance() == pytest.approx(np.array(exact), rel=1e-10, abs=0)


@for_columns
@pytest.mark.parametrize("offset", [10.0**e for e in range(9)])
def test_an_offset_costs_no_accuracy(p: int, offset: float) -> None:
    x = normal(30, p) + offset
    squares = AllPairs(x).squared_distance()
    np.testing.assert_allclose(squares, exact_squares(x, x), rtol=1e-10, atol=0)
    np.testing.assert_array_equal(np.diag(squares), 0.0)
    np.testing.assert_array_equal(squares, squares.T)


@for_columns
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_lengths_of_the_columns_cost_no_accuracy_either(p: int, offset: float) -> None:
    x = 0.01 * normal(12, p) + offset
    lengths = tuple(0.3 + j for j in range(p))
    gaps = [[(a - b) / np.array(lengths) for b in x] for a in x]
    exact = np.array([[math.fsum(g * g) for g in row] for row in gaps])
    np.testing.assert_allclose(AllPairs(x).squared_distance(lengths), exact, rtol=1e-10, atol=0)
    absolute = np.array([[math.fsum(np.abs(g)) for g in row] for row in gaps])
    np.testing.assert_allclose(AllPairs(x).distance(1.0, lengths), absolute, rtol=1e-12, atol=0)


@for_columns
@pytest.mark.parametrize("far", [1e6, 1e12, 1e30])
def test_a_point_far_away_does_not_blur_the_near_ones(p: int, far: float) -> None:
    x = np.vstack([normal(20, p), np.full((1, p), far)])
    squares = AllPairs(x).squared_distance()
    np.testing.assert_allclose(squares, exact_squares(x, x), rtol=1e-10, atol=0)
    np.testing.assert_array_equal(squares, squares.T)


@for_columns
@given(data=st.data())
def test_squared_distances_are_never_negative(p: int, data: st.DataObject) -> None:
    numbers = st.floats(-1e12, 1e12) | st.sampled_from([0.0, 1.0, 1.0 + 2**-52, 1e8, 1e8 + 1e-8])
    rows = st.lists(st.lists(numbers, min_size=p, max_size=p), min_size=1, max_size=5)
    x = np.array(data.draw(rows))
    x = np.vstack([x, x[:1], x[-1:] * (1.0 + 2**-52)])
    squares = AllPairs(x).squared_distance()
    assert np.all(squares >= 0.0)
    np.testing.assert_array_equal(np.diag(squares), 0.0)
    np.testing.assert_array_equal(squares, squares.T)
    assert squares[0, len(x) - 2] == 0.0
    np.testing.assert_allclose(squares, exact_squares(x, x), rtol=1e-9, atol=0)


@for_columns
def test_copies_of_points_are_at_distance_zero_in_any_order(p: int) -> None:
    x = normal(40, p) + 1e6
    order = np.random.default_rng(3).permutation(40)
    squares = AllPairs(x, x[order].copy()).squared_distance()
    assert np.all(squares[order, np.arange(40)] == 0.0)
    assert np.count_nonzero(squares == 0.0) == 40


@pytest.mark.parametrize("n", [255, 256, 257, 513])
def test_no_block_of_rows_is_forgotten(n: int) -> None:
    x = normal(n, DIRECT_COLUMNS + 1) + 1e4
    direct = sum((x[:, j][:, None] - x[:, j][None, :]) ** 2 for j in range(x.shape[1]))
    np.testing.assert_allclose(AllPairs(x).squared_distance(), direct, rtol=1e-10, atol=0)


@pytest.mark.parametrize("layout", ["C", "F", "strided rows", "strided columns", "backwards"])
def test_matrices_are_symmetric_to_the_last_bit(layout: str) -> None:
    x = normal(60, 14) + 3.0
    forms = {"C": x, "F": np.asfortranarray(x), "strided rows": x[::2]}
    forms |= {"strided columns": x[:, ::2], "backwards": x[::-1, ::-1]}
    x = forms[layout]
    bandwidths = tuple(1.0 + j for j in range(x.shape[1]))
    for kernel in (
        Linear(),
        Gaussian(3.0),
        Gaussian(bandwidths),
        Laplacian(9.0),
        Matern(1.5, 3.0) * Linear() + 1.0,
        Linear().normalised(),
        Linear().gaussian(5.0),
        Gaussian(3.0).centred(x),
    ):
        K = kernel(x)
        np.testing.assert_array_equal(K, K.T)


@for_columns
@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e-100, 1e100, 1e200, 1e300])
def test_points_in_any_unit_have_the_same_kernel(p: int, unit: float) -> None:
    x = normal(10, p)
    for make in (Gaussian, Matern, Laplacian, RationalQuadratic):
        expected = make(bandwidth=0.7)(x)
        np.testing.assert_allclose(make(bandwidth=0.7 * unit)(x * unit), expected, rtol=1e-12)
        lengths = tuple(0.7 * unit for _ in range(p))
        np.testing.assert_allclose(make(bandwidth=lengths)(x * unit), expected, rtol=1e-12)


@for_columns
def test_points_of_very_different_sizes_keep_their_distances(p: int) -> None:
    x = np.zeros((5, p))
    x[:, 0] = [0.0, 1.0, 2.0, 1e200, 2e200]
    K = Gaussian()(x)
    np.testing.assert_allclose(K[:3, :3], Gaussian()(x[:3]), rtol=1e-15)
    np.testing.assert_array_equal(K[3:], np.eye(5)[3:])
    x[:, 0] = [0.0, 1e-200, 2e-200, 1.0, 2.0]
    K = Gaussian(1e-200)(x)
    np.testing.assert_allclose(K[:3, :3], Gaussian()(1e200 * x[:3]), rtol=1e-14)
    np.testing.assert_array_equal(K[3:], np.eye(5)[3:])


@for_columns
def test_distances_beyond_the_range_of_squares_are_distances(p: int) -> None:
    x = np.zeros((3, p))
    x[:, 0] = [0.0, 3e200, 4e200]
    np.testing.assert_allclose(
        AllPairs(x).distance(2.0),
        [[0, 3e200, 4e200], [3e200, 0, 1e200], [4e200, 1e200, 0]],
        rtol=1e-14,
    )
    assert np.max(AllPairs(x).squared_distance()) == LARGEST_SQUARE
    np.testing.assert_allclose(Aligned(x, x[::-1].copy()).distance(2.0), [4e200, 0.0, 4e200])


def test_distances_in_tiny_units_are_not_cut_off() -> None:
    pairs = AllPairs([[0.0], [3e100]])
    np.testing.assert_allclose(pairs.distance(2.0, 1e-100), [[0.0, 3e200], [3e200, 0.0]])
    np.testing.assert_allclose(pairs.squared_distance(1e-40), [[0.0, 9e280], [9e280, 0.0]])


def test_a_distance_is_the_root_of_the_square_whoever_computes_it() -> None:
    class Prepared(AllPairs):
        def squared_distance(self, scale: Scale = 1.0) -> Array:
            return np.full(self.shape, 49.0)

    np.testing.assert_array_equal(Prepared([0.0, 1.0]).distance(2.0), np.full((2, 2), 7.0))


@pytest.mark.parametrize("bandwidth", [5e-324, 1e-310, 1e-200, 1e-10, 1e10, 1e200, 1.7e308])
def test_no_bandwidth_makes_a_number_that_is_none(bandwidth: float) -> None:
    x = normal(6, 6)
    for make in (Gaussian, Laplacian, RationalQuadratic):
        K = make(bandwidth=bandwidth)(x)
        np.testing.assert_array_equal(np.diag(K), 1.0)
        limit = np.eye(6) if bandwidth < 1 else np.ones((6, 6))
        np.testing.assert_allclose(K, limit, atol=1e-8)


def test_a_squared_distance_stops_where_kernels_have_vanished() -> None:
    squares = AllPairs([[0.0], [1.0]]).squared_distance(1e-160)
    np.testing.assert_array_equal(squares, [[0.0, LARGEST_SQUARE], [LARGEST_SQUARE, 0.0]])


SCALES: list[Scale] = [1.0, 0.5, (0.5, 2.0, 1.0)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("norm", [1.0, 1.5, 2.0])
def test_distances_are_norms_of_scaled_differences(norm: float, scale: Scale) -> None:
    x, y = normal(5, 3), normal(4, 3, 1)
    gaps = (x[:, None, :] - y[None, :, :]) / np.asarray(scale)
    expected = np.linalg.norm(gaps, ord=norm, axis=-1)
    np.testing.assert_allclose(AllPairs(x, y).distance(norm, scale), expected, rtol=1e-13)
    if norm == 2.0:
        np.testing.assert_allclose(AllPairs(x, y).squared_distance(scale), expected**2, rtol=1e-13)
    np.testing.assert_array_equal(AllPairs(x, y).difference(scale), gaps)
    np.testing.assert_array_equal(np.stack([*AllPairs(x, y).differences(scale)], axis=-1), gaps)


@pytest.mark.parametrize("is_imaginary", [False, True])
@pytest.mark.parametrize("scale", [1.0, 0.5, (0.5, 2.0, 1.0, 3.0, 0.1, 1.0)], ids=str)
def test_a_table_and_matching_pairs_agree(scale: Scale, is_imaginary: bool) -> None:
    x, y = normal(7, 6), normal(7, 6, 1)
    if is_imaginary:
        x, y = x + 1j * y, y - 1j * x[::-1]
    table, aligned = AllPairs(x, y), Aligned(x, y)
    questions: list[Callable[[Pairs], Array]] = [
        lambda p: p.inner(),
        lambda p: p.squared_distance(scale),
        lambda p: p.distance(1.0, scale),
        lambda p: p.distance(1.5, scale),
        lambda p: p.distance(2.0, scale),
        lambda p: p.outer(p.vectors[0][:, 0], p.vectors[1][:, 1]),
        lambda p: p.each(lambda a, b: complex(a[0] * b[1])),
        lambda p: p.each(lambda a, b: float(abs(a[0]) - abs(b[1]))),
        lambda p: np.stack([*p.differences(scale)], axis=-1),
    ]
    for ask in questions:
        every, matching = ask(table), ask(aligned)
        assert matching.dtype == every.dtype
        np.testing.assert_allclose(
            matching, every[np.arange(7), np.arange(7)], rtol=1e-12, atol=1e-12
        )
    if not is_imaginary:
        gaps = table.difference(scale)
        np.testing.assert_array_equal(aligned.difference(scale), gaps[np.arange(7), np.arange(7)])


def test_matching_pairs_need_as_many_points_on_both_sides() -> None:
    with pytest.raises(InvalidInput, match="3 points cannot be matched with 2"):
        Aligned([1.0, 2.0, 3.0], [1.0, 2.0])


def test_left_and_right_are_the_points_with_themselves() -> None:
    x, y = normal(4, 3), normal(5, 3, 1)
    pairs = AllPairs(x, y)
    np.testing.assert_allclose(pairs.left().inner(), np.sum(x * x, axis=1), rtol=1e-14)
    np.testing.assert_allclose(pairs.right().inner(), np.sum(y * y, axis=1), rtol=1e-14)
    assert AllPairs(x).right() is not pairs.left()
    same = AllPairs(x)
    assert same.right() is same.left()


def test_the_inner_product_is_conjugate_linear_in_the_second_place() -> None:
    assert AllPairs([[1j]], [[1.0]]).inner().tolist() == [[1j]]
    assert AllPairs([[1.0]], [[1j]]).inner().tolist() == [[-1j]]
    assert Aligned([[1.0]], [[1j]]).inner().tolist() == [-1j]
    assert AllPairs([[1j]]).outer(np.array([1j]), np.array([2j])).tolist() == [[2.0]]


@for_columns
def test_complex_points_are_twice_as_many_real_ones(p: int) -> None:
    z, w = normal(6, p) + 1j * normal(6, p, 1), normal(5, p, 2) + 1j * normal(5, p, 3)
    real = [np.hstack([v.real, v.imag]) for v in (z, w)]
    for lengths in (0.7, tuple(0.5 + j for j in range(p))):
        twice = lengths + lengths if isinstance(lengths, tuple) else lengths
        expected = Gaussian(twice)(*real)
        np.testing.assert_allclose(Gaussian(lengths)(z, w), expected, rtol=1e-13)
    np.testing.assert_allclose(Gaussian()(z), Gaussian()(real[0]), rtol=1e-13)


@for_columns
def test_real_points_meet_complex_ones_with_imaginary_part_zero(p: int) -> None:
    x, z = normal(4, p), normal(5, p, 1) + 1j * normal(5, p, 2)
    for kernel in (Gaussian(), Laplacian(), Linear(), Polynomial(2)):
        np.testing.assert_allclose(kernel(x, z), kernel(x.astype(complex), z), rtol=1e-13)
        np.testing.assert_allclose(kernel(z, x), kernel(z, x.astype(complex)), rtol=1e-13)


@pytest.mark.parametrize("sides", [(1j, 1.0), (1.0, 1j), (1j, None)])
def test_slopes_at_complex_points_are_refused(sides: tuple[Any, Any]) -> None:
    x, y = ([[v]] if v is not None else None for v in sides)
    assert x is not None
    with pytest.raises(NotDifferentiable, match="real vectors only"):
        Gaussian().slopes(x, y)


def test_every_bandwidth_needs_its_coordinate() -> None:
    with pytest.raises(InvalidInput, match="2 bandwidths but the points have 3 coordinates"):
        Gaussian((1.0, 2.0))(normal(4, 3))


def test_distances_are_shared_by_all_bandwidths(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
        def wrapper(*args: Any) -> Array:
            calls.append(name)
            return function(*args)

        return wrapper

    monkeypatch.setattr(AllPairs, "dot", counted("dot", AllPairs.dot))
    monkeypatch.setattr(pairs_module, "squared_distances", counted("squares", squared_distances))
    x = normal(20, 8)
    rule = Gaussian(1.0) + Gaussian(2.0) * Matern(1.5, 3.0) + RationalQuadratic().exp()
    inner = Linear() + Polynomial(2) * Linear() ** 3 + 0.5 * Linear().exp() + Constant(2.0)
    (rule + 0.1 * inner)(x)
    assert sorted(calls) == ["dot", "squares"]
    calls.clear()
    (rule + inner).slopes(x[:5] / 9.0)
    assert sorted(calls) == ["dot", "squares"]
    calls.clear()
    (Linear().normalised() + Linear().gaussian() + Linear() + Gaussian())(x)
    assert sorted(calls) == ["dot", "squares"]
    calls.clear()
    (Gaussian().on(roots) + Linear().on(roots) * Gaussian(2.0).on(roots))(x)
    assert sorted(calls) == ["dot", "squares"]


def test_what_is_shared_is_not_written_to() -> None:
    x = normal(5, 6)
    pairs = AllPairs(x)
    expected_inner, expected_squares = pairs.inner().copy(), pairs.squared_distance().copy()
    for kernel in (
        *(Linear().exp(), Polynomial(3), 2 * Linear(), Linear() ** 2, Linear().normalised()),
        *(Gaussian(), Matern(2.2), RationalQuadratic(), Linear().gaussian(), Linear() + Linear()),
        *(Linear().polynomial([1.0, 2.0]), Linear() * Linear(), Gaussian(1.0).exp()),
    ):
        kernel.evaluate(pairs)
        kernel.evaluate_partials(pairs)
        kernel.evaluate_slopes(pairs)
    np.testing.assert_array_equal(pairs.inner(), expected_inner)
    np.testing.assert_array_equal(pairs.squared_distance(), expected_squares)


def test_sparse_features_give_dense_values() -> None:
    phi = scipy.sparse.csr_array(np.array([[1.0, 0.0, 2j], [0.0, 3.0, 0.0]]))
    kernel = FeatureMap(lambda x: phi[: len(x)])
    dense = phi.toarray()
    np.testing.assert_array_equal(kernel([0, 1]), dense @ dense.conj().T)
    np.testing.assert_array_equal(kernel.diag([0, 1]), [5.0, 9.0])


def test_maps_of_points_must_keep_their_number() -> None:
    with pytest.raises(InvalidInput, match="returned 2 points for 3"):
        Linear().on(lambda x: x[:2])([1.0, 2.0, 3.0])
    with pytest.raises(InvalidInput, match="image of the points must be a sequence"):
        Linear().on(lambda x: 3.0)([1.0, 2.0, 3.0])


@pytest.mark.parametrize("result", ["one", np.zeros(2), [1.0, 2.0], {}], ids=repr)
def test_a_function_of_two_points_must_return_a_number(result: Any) -> None:
    for call in (FromFunction(lambda a, b: result), FromFunction(lambda a, b: result).diag):
        with pytest.raises(InvalidInput, match="must return one number for each pair"):
            call([1.0, 2.0])


def test_a_function_of_two_points_may_be_complex_for_some_of_them() -> None:
    kernel = FromFunction(lambda a, b: 1j if a < b else -1j if b < a else 2)
    np.testing.assert_array_equal(kernel([0, 1]), [[2.0, 1j], [-1j, 2.0]])
    assert kernel.diag([0, 1]).dtype == np.float64


EQUAL: list[tuple[Any, Any, list[list[float]]]] = [
    ([1, 2], [2, 1.0], [[0, 1], [1, 0]]),
    ([1, 2], np.array([2.0, 1.0]), [[0, 1], [1, 0]]),
    ([1, 2], np.array([[2], [1]]), [[0, 1], [1, 0]]),
    ([[1.0], [2.0]], [2.0, 1.0], [[0, 1], [1, 0]]),
    ([[1, 2], [1, 3]], np.array([[1.0, 3.0]]), [[0], [1]]),
    ([(1, 2)], [[1, 2], [2, 1]], [[1, 0]]),
    (["a", "b"], np.array(["b"]), [[0], [1]]),
    (np.array(["1", "b"], object), ["1", 1], [[1, 0], [0, 0]]),
    (["1"], [1], [[0]]),
    ([{1, 2}, {2}], [frozenset({2, 1})], [[1], [0]]),
    ([("a", [1, 2])], [("a", (1, 2)), ("a", (2, 1))], [[1, 0]]),
    (
        np.array(["2024-01-01", "2024-01-02"], "M8[D]"),
        np.array(["2024-01-02"], "M8[D]"),
        [[0], [1]],
    ),
    ([0.0], [-0.0], [[1]]),
    (np.array([1j, 1.0]), np.array([[1j]]), [[1], [0]]),
    ([None, ()], [None, ()], [[1, 0], [0, 1]]),
    ([np.array([1.0, 2.0])], [[1, 2]], [[1]]),
]


@pytest.mark.parametrize(("x", "y", "expected"), EQUAL, ids=[str(i) for i in range(len(EQUAL))])
def test_equal_points_are_equal_whatever_holds_them(
    x: Any, y: Any, expected: list[list[float]]
) -> None:
    np.testing.assert_array_equal(Delta()(x, y), expected)
    np.testing.assert_array_equal(Delta()(y, x), np.transpose(expected))
    np.testing.assert_array_equal(Delta().diag(x), np.ones(len(x)))


def test_codes_number_points_in_the_order_in_which_they_appear() -> None:
    left, right = codes(AllPairs(["b", "a", "b"], ["c", "a"]))
    assert left.tolist() == [0, 1, 0]
    assert right.tolist() == [2, 1]
    same = codes(AllPairs([3, 3, 1]))
    assert same[0] is same[1]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([{"a": 1}], "type dict cannot be tested for equality"),
        ([float("nan")], "nan"),
        (np.array([1.0, np.nan]), "row 1"),
    ],
)
def test_points_that_equal_nothing_are_refused(x: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Delta()(x)


def test_a_standard_array_answers_like_numpys() -> None:
    questions: list[Callable[[Pairs], Array]] = [
        lambda p: p.inner(),
        lambda p: p.squared_distance((1.0, 2.0, 3.0, 4.0, 5.0)),
        lambda p: p.distance(1.5, 2.0),
        lambda p: p.distance(2.0, 1e-200),
    ]
    for imaginary in (0.0, 1j):
        x: Any = normal(4, 5) + imaginary * normal(4, 5, 1)
        y: Any = normal(4, 5, 2) + imaginary * normal(4, 5, 3)
        a: Any = strict.asarray(x)
        b: Any = strict.asarray(y)
        for ours, theirs in ((AllPairs(x, y), AllPairs(a, b)), (Aligned(x, y), Aligned(a, b))):
            for ask in questions:
                values = ask(theirs)
                assert isinstance(values, type(a))
                np.testing.assert_allclose(as_numpy(values), ask(ours), rtol=1e-13)


def test_conjugates_and_complex_types_of_every_kind_of_array() -> None:
    z = np.array([[1.0 + 2.0j]])
    arrays: list[Any] = [z, scipy.sparse.csr_array(z), strict.asarray(z)]
    for a in arrays:
        assert is_complex(a)
        assert complex(conj(a)[0, 0]) == 1.0 - 2.0j
    real = z.real
    assert conj(real) is real
    assert not is_complex(z.real)
    assert not is_complex(scipy.sparse.csr_array(z.real))


def test_tensor_kernels_share_what_their_parts_share(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    dot = AllPairs.dot

    def counted(*args: Any) -> Array:
        calls.append(1)
        return dot(*args)

    monkeypatch.setattr(AllPairs, "dot", counted)
    part = tensor_sum(Linear(), Delta())
    (part + part * part)([([1.0], "a"), ([2.0], "b")])
    assert len(calls) == 1
