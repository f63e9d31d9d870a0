from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from math import factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer as mc
from mercer.check import as_numpy
from mercer.kernels.groups import FiniteGroup
from tests.oracles import LIBRARIES, assert_near, assert_positive, foreign, untouched


def fixed_points(permutation: Any) -> float:
    return float(sum(image == i for i, image in enumerate(permutation)))


def inversions(permutation: Any) -> int:
    n = len(permutation)
    return sum(permutation[i] > permutation[j] for i in range(n) for j in range(i + 1, n))


def mallows(permutation: Any) -> float:
    return float(np.exp(-0.7 * inversions(permutation)))


def compose(u: Any, s: Any) -> tuple[int, ...]:
    return tuple(u[i] for i in s)


CYCLIC = mc.kernels.Group([2.0, 1.0, 1.0])
TURNS = mc.kernels.Group([3.0, 1.0 + 1.0j, 1.0 - 1.0j])
SHUFFLES = mc.kernels.Group(fixed_points, mc.kernels.Permutations(3))
KERNELS: list[tuple[mc.kernels.Group, list[Any]]] = [
    (CYCLIC, [0, 1, 2]),
    (TURNS, [0, 1, 2]),
    (SHUFFLES, list(permutations(range(3)))),
    (mc.kernels.Group(mallows, mc.kernels.Permutations(4)), list(permutations(range(4)))),
]


def test_the_kernel_is_p_of_the_quotient() -> None:
    assert CYCLIC([0, 1, 2]).tolist() == [[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]
    k = mc.kernels.Group([3.0, 2.0, 1.0, 1.0, 2.0])
    p = [3.0, 2.0, 1.0, 1.0, 2.0]
    assert k(range(5)).tolist() == [[p[(s - t) % 5] for t in range(5)] for s in range(5)]


def test_complex_functions_are_read_the_right_way_round() -> None:
    K = TURNS([0, 1, 2])
    assert K[1, 0] == 1.0 + 1.0j
    assert K[0, 1] == 1.0 - 1.0j
    assert np.array_equal(K, K.conj().T)
    assert_positive(K)
    assert TURNS.diag([0, 1]).tolist() == [3.0, 3.0]


def test_quotients_of_permutations_undo_the_first() -> None:
    group = mc.kernels.Permutations(4)
    for t, s in product(group.elements()[::5], group.elements()[::7]):
        assert compose(t, group.quotient(t, s)) == s
    k = SHUFFLES([(1, 2, 0)], [(1, 0, 2)])
    assert k.tolist() == [[fixed_points((1, 2, 0)[i] == (1, 0, 2)[i] for i in range(3)) * 0 + 1]]


@pytest.mark.parametrize(
    "group",
    [
        mc.kernels.Cyclic(1),
        mc.kernels.Cyclic(7),
        mc.kernels.Permutations(1),
        mc.kernels.Permutations(4),
    ],
)
def test_the_table_of_quotients_is_that_of_the_group(group: Any) -> None:
    elements = group.elements()
    assert len(elements) == group.order() == len(set(elements))
    assert all(e in group for e in elements)
    table = group.quotients()
    assert table.tolist() == FiniteGroup.quotients(group).tolist()
    assert table.diagonal().tolist() == [0] * len(elements)


@pytest.mark.parametrize(("k", "elements"), KERNELS, ids=lambda v: "")
def test_the_kernel_is_invariant_under_the_group_and_positive(
    k: mc.kernels.Group, elements: Any
) -> None:
    K = k(elements)
    assert_positive(K)
    assert np.all(k.diag(elements) == K[0, 0].real)
    for u in elements[:: max(1, len(elements) // 4)]:
        if isinstance(u, tuple):
            moved: list[Any] = [compose(u, e) for e in elements]
        else:
            moved = [(u + e) % len(elements) for e in elements]
        assert np.array_equal(k(moved), K)


@pytest.mark.parametrize(("k", "elements"), KERNELS, ids=lambda v: "")
def test_features_are_a_vector_of_the_representation(k: mc.kernels.Group, elements: Any) -> None:
    phi = k.features(elements)
    assert phi.shape == (len(elements), len(elements))
    assert_near(phi @ phi.conj().T, k(elements), 1e-13)
    half = elements[::2]
    assert_near(k.features(half) @ phi.conj().T, k(half, elements), 1e-13)
    assert k.proof == "Group: p was tested on the whole group"


@given(st.lists(st.floats(0.0, 3.0), min_size=1, max_size=9))
def test_transforms_of_positive_measures_are_kernels(spectrum: list[float]) -> None:
    n = len(spectrum)
    p = np.fft.fft(spectrum)
    k = mc.kernels.Group(p.tolist())
    K = k(range(n))
    eigenvalues = np.sort(np.linalg.eigvalsh(K))
    size = max(1.0, max(spectrum)) * n
    np.testing.assert_allclose(eigenvalues, n * np.sort(spectrum), atol=1e-13 * n * size)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([1.0, -1.0, -1.0], "not positive definite on the group.*eigenvalue -1"),
        ([0.0, 1.0, 1.0], "not positive definite on the group.*eigenvalue -1"),
        ([-1.0], "not positive definite on the group.*eigenvalue -1"),
        ([2.0, 1.0, 0.5], r"p\(s⁻¹\) must be conj p\(s\)"),
        ([2.0, 1.0j, 1.0j], r"p\(s⁻¹\) must be conj p\(s\)"),
        ([2.0 + 1.0j], r"p\(s⁻¹\) must be conj p\(s\)"),
    ],
)
def test_functions_that_are_not_positive_definite_are_refused(p: Any, message: str) -> None:
    with pytest.raises(mc.errors.NotPositiveDefinite, match=message):
        mc.kernels.Group(p)


def test_functions_of_permutations_are_tested_too() -> None:
    with pytest.raises(mc.errors.NotPositiveDefinite, match="not positive definite on the group"):
        mc.kernels.Group(lambda s: -fixed_points(s), mc.kernels.Permutations(3))
    with pytest.raises(mc.errors.NotPositiveDefinite, match=r"p\(s⁻¹\) must be conj p\(s\)"):
        mc.kernels.Group(lambda s: float(s[0]), mc.kernels.Permutations(3))


def test_a_function_that_is_zero_is_a_kernel() -> None:
    assert mc.kernels.Group([0.0, 0.0])([0, 1]).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mc.kernels.Group([]), "p must hold at least one"),
        (lambda: mc.kernels.Group("abc"), "p must be a sequence of numbers, found 'abc'"),  # type: ignore[arg-type]
        (lambda: mc.kernels.Group(3), "p must be a sequence of numbers, found 3"),  # type: ignore[arg-type]
        (lambda: mc.kernels.Group([1.0, float("nan")]), r"p\[1\] must be a number, found nan"),
        (
            lambda: mc.kernels.Group([1.0, complex(0, np.inf)]),
            r"p\[1\] must be a number, found inf",
        ),
        (lambda: mc.kernels.Group([1.0, "a"]), r"p\[1\] must be a number, found 'a'"),  # type: ignore[list-item]
        (lambda: mc.kernels.Group(lambda s: float("nan"), 3), "p at 0 must be a number, found nan"),
        (
            lambda: mc.kernels.Group(lambda s: None, mc.kernels.Permutations(2)),  # type: ignore[arg-type, return-value]
            r"p at \(0, 1\) must be a number, found None",
        ),
        (lambda: mc.kernels.Group(fixed_points), r"needs its group: Group\(p, Permutations\(n\)\)"),
        (
            lambda: mc.kernels.Group([1.0, 0.5], mc.kernels.Permutations(2)),
            "2 values belong to the cyclic group",
        ),
        (
            lambda: mc.kernels.Group([1.0, 0.5], 3),
            "2 values belong to the cyclic group of 2 elements",
        ),
        (lambda: mc.kernels.Group(fixed_points, 2.5), "group must be a whole number >= 1"),  # type: ignore[arg-type]
        (lambda: mc.kernels.Cyclic(0), "n must be a whole number >= 1, found 0"),
        (lambda: mc.kernels.Permutations(-2), "n must be a whole number >= 1, found -2"),
        (lambda: mc.kernels.Cyclic(2.5), "n must be a whole number >= 1, found 2.5"),  # type: ignore[arg-type]
    ],
)
def test_parameters_outside_the_domain_are_refused(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        make()


def test_whole_numbers_written_as_floats_are_whole() -> None:
    assert mc.kernels.Cyclic(5.0).elements() == [0, 1, 2, 3, 4]  # type: ignore[arg-type]
    assert mc.kernels.Cyclic(5.0) == mc.kernels.Cyclic(5)  # type: ignore[arg-type]
    assert mc.kernels.Group([2.0, 1.0, 1.0], 3.0)([0, 1]).tolist() == CYCLIC([0, 1]).tolist()  # type: ignore[arg-type]
    assert CYCLIC(np.array([0.0, 1.0])).tolist() == CYCLIC([0, 1]).tolist()


@pytest.mark.parametrize("point", [3, -1, 1.7, float("nan"), float("inf"), "a", None, (0,)])
def test_points_that_are_not_numbers_of_the_cycle_are_refused(point: object) -> None:
    for k in (CYCLIC, mc.kernels.Group(lambda s: 2.0 - (s != 0), 3)):
        for call in (k, k.diag, k.features):
            with pytest.raises(
                mc.errors.InvalidInput, match="point 1 is .*, not one of the numbers 0 … 2"
            ):
                call([0, point])


@pytest.mark.parametrize(
    "point", [(0, 1), (0, 0, 1), (1, 2, 3), (0, 1, 2, 3), 1, "012", (0.5, 1, 2), None]
)
def test_points_that_are_not_permutations_are_refused(point: object) -> None:
    for call in (SHUFFLES, SHUFFLES.diag, SHUFFLES.features):
        with pytest.raises(
            mc.errors.InvalidInput, match="point 1 is .*, not one of the permutations of 0"
        ):
            call([(0, 1, 2), point])


def test_permutations_may_be_lists_or_rows() -> None:
    rows = np.array([[0, 1, 2], [1, 0, 2], [1, 2, 0]])
    expected = SHUFFLES([(0, 1, 2), (1, 0, 2), (1, 2, 0)]).tolist()
    with untouched(rows):
        assert SHUFFLES(rows).tolist() == expected
        assert SHUFFLES(rows.astype(float)).tolist() == expected
    assert SHUFFLES(rows.tolist()).tolist() == expected


@pytest.mark.parametrize("library", LIBRARIES)
def test_elements_of_other_array_libraries_are_read(library: str) -> None:
    elements = foreign(library, np.array([0, 1, 2]))
    K = CYCLIC(elements)
    assert type(K) is type(elements)
    assert as_numpy(K).tolist() == CYCLIC([0, 1, 2]).tolist()


def test_large_groups_are_used_untested_and_say_so() -> None:
    k = mc.kernels.Group(fixed_points, mc.kernels.Permutations(20))
    identity = tuple(range(20))
    swapped = (1, 0, *range(2, 20))
    assert k([identity, swapped]).tolist() == [[20.0, 18.0], [18.0, 20.0]]
    assert k.proof == ""
    with pytest.raises(
        mc.errors.NoFeatureMap, match=f"{factorial(20)} x {factorial(20)} Gram matrix"
    ):
        k.features([identity])


def test_groups_of_hundreds_of_elements_are_tested_without_delay() -> None:
    assert mc.kernels.Group([2.0] + [1.0] * 399)([0, 399]).tolist() == [[2.0, 1.0], [1.0, 2.0]]
    assert mc.kernels.Group(mallows, mc.kernels.Permutations(5)).proof != ""


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize(("k", "elements"), KERNELS[:3], ids=lambda v: "")
def test_no_element_one_element_and_two_elements(
    k: mc.kernels.Group, elements: Any, n: int
) -> None:
    assert k(elements[:n]).shape == (n, n)
    assert np.array_equal(k(elements[:n], elements), k(elements)[:n])
    assert k.diag(elements[:n]).shape == (n,)
    assert k.features(elements[:n]).shape == (n, len(elements))
    with pytest.raises(mc.errors.NotDifferentiable, match="has no slopes"):
        k.slopes(elements[:n])
    assert k.partials(elements[:n]) == {}


def test_equal_functions_make_equal_kernels() -> None:
    assert mc.kernels.Group([2, 1, 1]) == CYCLIC
    assert hash(mc.kernels.Group(np.array([2.0, 1.0, 1.0]))) == hash(CYCLIC)  # type: ignore[arg-type]
    assert mc.kernels.Group([2.0, 0.5, 0.5]) != CYCLIC
    assert "complex(1.0, -1.0)" in repr(TURNS)


def test_a_group_of_ones_own_is_made_from_the_public_class() -> None:
    assert issubclass(mc.kernels.Cyclic, mc.kernels.FiniteGroup)
    assert issubclass(mc.kernels.Permutations, mc.kernels.FiniteGroup)


def test_the_written_form_of_a_group_is_read_again() -> None:
    for k in (CYCLIC, TURNS):
        assert mc.kernel(str(k)) == k
