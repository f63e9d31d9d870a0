from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer as mc
from mercer.check import as_numpy
from tests.oracles import LIBRARIES, assert_positive, foreign, untouched

D = frozenset({1, 2, 3, 4, 5})
SETS = [{1, 2}, {2, 3}, {1, 2, 3}, {4}, set()]
KERNELS: dict[str, mc.Kernel] = {
    "intersection": mc.kernels.Intersection(D),
    "union complement": mc.kernels.UnionComplement(D),
    "agreement": mc.kernels.Agreement(D),
    "all subsets": mc.kernels.AllSubsets(D),
}
COUNTS: dict[str, Callable[[Any, Any], float]] = {
    "intersection": lambda a, b: len(a & b),
    "union complement": lambda a, b: len(D - (a | b)),
    "agreement": lambda a, b: sum((e in a) == (e in b) for e in D),
    "all subsets": lambda a, b: 2 ** len(a & b),
}
FIRST_ROWS = {
    "intersection": [2, 1, 2, 0, 0],
    "union complement": [3, 2, 2, 2, 3],
    "agreement": [5, 3, 4, 2, 3],
    "all subsets": [4, 2, 4, 1, 1],
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_sets_of_the_text_have_their_rows(name: str) -> None:
    K = KERNELS[name](SETS)
    assert K[0].tolist() == FIRST_ROWS[name]
    assert K.tolist() == [[COUNTS[name](a, b) for b in SETS] for a in SETS]
    assert_positive(K)


def jaccard(a: Any, b: Any) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


@given(
    st.lists(st.frozensets(st.sampled_from(sorted(D))), max_size=7),
    st.lists(st.frozensets(st.sampled_from(sorted(D))), min_size=1, max_size=5),
)
def test_the_jaccard_index_is_the_share_of_common_elements(x: Any, y: Any) -> None:
    k = mc.kernels.Jaccard()
    assert k(x, y).tolist() == [[jaccard(a, b) for b in y] for a in x]
    assert k.diag(y).tolist() == [1.0] * len(y)
    assert_positive(k(y))
    assert k(y).tolist() == mc.kernels.Jaccard(D)(y).tolist()


def test_the_jaccard_index_of_a_stranger_is_refused() -> None:
    with pytest.raises(
        mc.errors.InvalidInput, match="point 1 holds 9, which is not in the universe"
    ):
        mc.kernels.Jaccard(D)([{1}, {9}])


@given(
    st.lists(st.frozensets(st.sampled_from(sorted(D))), max_size=5),
    st.lists(st.frozensets(st.sampled_from(sorted(D))), min_size=1, max_size=5),
    st.sampled_from(sorted(KERNELS)),
)
def test_kernels_count_what_they_say(x: Any, y: Any, name: str) -> None:
    k = KERNELS[name]
    assert k(x, y).tolist() == [[COUNTS[name](a, b) for b in y] for a in x]
    assert k.diag(y).tolist() == [COUNTS[name](a, a) for a in y]
    phi, psi = k.features(x), k.features(y)
    assert (phi @ psi.T).tolist() == k(x, y).tolist()


@pytest.mark.parametrize(
    ("name", "columns"),
    [("intersection", 5), ("union complement", 5), ("agreement", 10), ("all subsets", 32)],
)
def test_features_have_one_column_for_each_element_or_subset(name: str, columns: int) -> None:
    phi = KERNELS[name].features(SETS)
    assert phi.shape == (5, columns)
    assert set(np.unique(phi)) <= {0.0, 1.0}


def test_agreement_is_the_sum_of_the_other_two() -> None:
    both = KERNELS["intersection"](SETS) + KERNELS["union complement"](SETS)
    assert KERNELS["agreement"](SETS).tolist() == both.tolist()


@pytest.mark.parametrize("kernel", [mc.kernels.Intersection, mc.kernels.AllSubsets])
def test_some_kernels_need_no_universe_but_their_features_do(
    kernel: type[mc.kernels.Intersection] | type[mc.kernels.AllSubsets],
) -> None:
    assert kernel()(SETS).tolist() == kernel(D)(SETS).tolist()
    with pytest.raises(
        mc.errors.NoFeatureMap, match=rf"need a universe: {kernel.__name__}\(universe="
    ):
        kernel().features(SETS)


def test_a_set_may_be_given_in_any_form() -> None:
    k = mc.kernels.Intersection()
    expected = k([{1, 2}, {2, 3}]).tolist()
    for points in (
        [frozenset({1, 2}), frozenset({2, 3})],
        [[1, 2, 2], [3, 2]],
        [(1, 2), (2, 3)],
        [{1: "a", 2: "b"}, {2: "a", 3: "b"}],
        [range(1, 3), range(2, 4)],
        np.array([[1, 2], [2, 3]]),
        [np.array([1, 2]), np.array([2, 3])],
        (iter_of_sets := ({1, 2}, {2, 3})),
    ):
        assert k(points).tolist() == expected
    assert len(iter_of_sets) == 2


@pytest.mark.parametrize("library", LIBRARIES)
def test_elements_of_other_array_libraries_are_numbers(library: str) -> None:
    points = foreign(library, np.array([[1, 2], [2, 3]]))
    K = mc.kernels.Intersection()(points)
    assert type(K) is type(points)
    assert as_numpy(K).tolist() == [[2.0, 1.0], [1.0, 2.0]]


def test_elements_of_different_kinds_live_together() -> None:
    k = mc.kernels.Agreement({1, "a", ("a", 1), frozenset({2})})
    x = [{1, "a"}, {("a", 1)}, {frozenset({2}), "a"}]
    assert k(x).tolist() == [[4.0, 1.0, 2.0], [1.0, 4.0, 1.0], [2.0, 1.0, 4.0]]
    phi = k.features(x)
    assert (phi @ phi.T).tolist() == k(x).tolist()


def test_equal_universes_make_equal_kernels() -> None:
    assert mc.kernels.Agreement([1, 2, 2]) == mc.kernels.Agreement({2, 1})
    assert hash(mc.kernels.Agreement([1, 2])) == hash(mc.kernels.Agreement((2, 1)))
    assert mc.kernels.Agreement({1, 2}) != mc.kernels.Agreement({1, 3})


@pytest.mark.parametrize("name", KERNELS)
def test_elements_outside_the_universe_are_named(name: str) -> None:
    k = KERNELS[name]
    for call in (k, k.diag, k.features):
        with pytest.raises(
            mc.errors.InvalidInput, match="point 1 holds 6, which is not in the universe"
        ):
            call([{1}, {7, 2, 6}])
    with pytest.raises(mc.errors.InvalidInput, match="point 0 holds 'z'"):
        k([{1}], [{"z"}])


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (["ab"], "point 0 is 'ab', not a set; give sets"),
        ([{1}, 2], "point 1 is 2, not a set; give sets"),
        ([{1}, None], "point 1 is None, not a set"),
        (np.array([1, 2]), "point 0 is 1, not a set"),
        ([[{1}, {2}]], r"point 0 holds an element that cannot be in a set \(unhashable.*use num"),
        ([[1], [[2]]], "point 1 holds an element that cannot be in a set"),
    ],
)
def test_points_that_are_not_sets_are_refused(points: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        mc.kernels.Intersection()(points)


@pytest.mark.parametrize("universe", ["abc", 3, 2.5])
def test_universes_that_are_not_collections_are_refused(universe: Any) -> None:
    for kernel in (
        mc.kernels.Agreement,
        mc.kernels.UnionComplement,
        mc.kernels.Intersection,
        mc.kernels.AllSubsets,
    ):
        with pytest.raises(
            mc.errors.InvalidParameter, match="universe must be a collection of elements"
        ):
            kernel(universe)
    with pytest.raises(
        mc.errors.MercerError, match="universe holds an element that cannot be in a set"
    ):
        mc.kernels.Agreement([[1], [2]])  # type: ignore[list-item]


def test_too_many_common_elements_are_refused_before_they_overflow() -> None:
    assert mc.kernels.AllSubsets()([set(range(1023))])[0, 0] == 2.0**1023
    with pytest.raises(mc.errors.InvalidInput, match="share 1024 elements and 2 to that power"):
        mc.kernels.AllSubsets()([set(range(1024))])
    with pytest.raises(mc.errors.NoFeatureMap, match="columns, more than 100000"):
        mc.kernels.AllSubsets(range(60)).features([{1}])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_no_set_one_set_and_two_sets(name: str, n: int) -> None:
    k = KERNELS[name]
    assert k(SETS[:n]).shape == (n, n)
    assert k(SETS[:n], SETS).tolist() == k(SETS)[:n].tolist()
    assert k(SETS, SETS[:n]).shape == (5, n)
    assert k.diag(SETS[:n]).shape == (n,)
    assert k.features(SETS[:n]).shape == (n, k.features(SETS).shape[1])


def test_an_empty_universe_has_one_subset() -> None:
    nothing: frozenset[int] = frozenset()
    assert mc.kernels.Agreement(nothing)([set(), set()]).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert mc.kernels.AllSubsets(nothing).features([set()]).tolist() == [[1.0]]
    assert mc.kernels.Intersection()([set(), set()]).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("name", KERNELS)
def test_sets_have_no_slopes_and_kernels_of_sets_no_partials(name: str) -> None:
    with pytest.raises(mc.errors.NotDifferentiable, match="has no slopes"):
        KERNELS[name].slopes(SETS)
    assert KERNELS[name].partials(SETS) == {}


def test_points_are_left_alone() -> None:
    points, array = [{1, 2}, {2}], np.array([[1, 2], [2, 3]])
    with untouched(array):
        for k in KERNELS.values():
            k(points), k.features(points), k.diag(points), k(array)
    assert points == [{1, 2}, {2}]


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_sets_state_why_they_are_positive(name: str) -> None:
    k = KERNELS[name]
    assert k.kind is mc.kernels.Kind.POSITIVE
    assert k.proof.startswith(f"{type(k).__name__}: ")
