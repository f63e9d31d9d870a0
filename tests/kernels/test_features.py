from __future__ import annotations

import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from itertools import combinations_with_replacement
from math import comb, factorial, prod, sqrt
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mercer import Kernel, Linear, Polynomial
from mercer.check import Array, as_numpy
from mercer.errors import InvalidInput, NoFeatureMap
from mercer.kernels import Bilinear, FeatureMap
from mercer.kernels.features import (
    MOST_FACTORS,
    MOST_FEATURES,
    MOST_NUMBERS,
    dense,
    join,
    monomials,
    outer_rows,
    refuse_too_many,
)

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2))
C = A + 1j * RNG.normal(size=(5, 3))


@given(d=st.integers(1, 5), degree=st.integers(0, 5), seed=st.integers(0, 100))
def test_monomials_are_features_of_the_power(d: int, degree: int, seed: int) -> None:
    phi = np.random.default_rng(seed).normal(size=(4, d))
    made = monomials(phi, degree)
    assert made.shape == (4, comb(d + degree - 1, degree))
    np.testing.assert_allclose(made @ made.T, (phi @ phi.T) ** degree, rtol=1e-11, atol=1e-11)


def test_monomials_have_multinomial_weights() -> None:
    degree = 4
    made = monomials(np.array([[2.0, 3.0, 5.0]]), degree)[0]
    expected = []
    for indices in combinations_with_replacement([2.0, 3.0, 5.0], degree):
        repeats = Counter(indices).values()
        weight = sqrt(factorial(degree) / prod(factorial(r) for r in repeats))
        expected.append(weight * prod(indices))
    np.testing.assert_allclose(made, expected, rtol=1e-14)


def test_monomials_of_complex_features_keep_the_conjugate() -> None:
    made = monomials(C, 3)
    np.testing.assert_allclose(made @ made.conj().T, (C @ C.conj().T) ** 3, rtol=1e-12)


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_monomials_of_no_features_and_of_no_points(degree: int) -> None:
    assert monomials(np.empty((4, 0)), degree).shape == (4, 1 if degree == 0 else 0)
    assert monomials(np.empty((0, 2)), degree).shape == (0, comb(degree + 1, degree))
    np.testing.assert_array_equal(monomials(A, 0), np.ones((5, 1)))
    np.testing.assert_array_equal(monomials(A, 1), A)


def test_features_side_by_side_belong_to_the_sum() -> None:
    joined = join([A, B, A[:, :1]])
    assert joined.shape == (5, 6)
    np.testing.assert_allclose(
        joined @ joined.T, A @ A.T + B @ B.T + np.outer(A[:, 0], A[:, 0]), rtol=1e-13
    )
    assert join([A, C]).dtype == np.complex128


def test_products_of_features_belong_to_the_product() -> None:
    made = outer_rows(A, B)
    assert made.shape == (5, 6)
    np.testing.assert_array_equal(made[:, 2 * 1 + 1], A[:, 1] * B[:, 1])
    np.testing.assert_allclose(made @ made.T, (A @ A.T) * (B @ B.T), rtol=1e-13)
    mixed = outer_rows(C, B)
    np.testing.assert_allclose(mixed @ mixed.conj().T, (C @ C.conj().T) * (B @ B.T), rtol=1e-13)
    assert outer_rows(A[:0], B[:0]).shape == (0, 6)
    assert outer_rows(A[:, :0], B).shape == (5, 0)


def test_the_limit_itself_is_allowed() -> None:
    refuse_too_many(MOST_FEATURES)
    with pytest.raises(
        NoFeatureMap, match=f"{MOST_FEATURES + 1} columns, more than {MOST_FEATURES}"
    ):
        refuse_too_many(MOST_FEATURES + 1)


def wide(columns: int) -> FeatureMap:
    return FeatureMap(lambda x: np.ones((len(x), columns)))


TOO_MANY: list[tuple[str, Callable[[], Array], str]] = [
    ("outer", lambda: outer_rows(np.ones((1, 400)), np.ones((1, 400))), "160000 columns"),
    ("product", lambda: (wide(400) * wide(400)).features([0.0]), "160000 columns"),
    ("sum", lambda: (wide(60_000) + wide(60_000)).features([0.0]), "120000 columns"),
    ("monomials", lambda: monomials(np.ones((1, 1000)), 3), f"{comb(1002, 3)} columns"),
    ("power", lambda: (wide(1000) ** 3).features([0.0]), f"{comb(1002, 3)} columns"),
    ("polynomial", lambda: wide(1000).polynomial([1, 0, 0, 1]).features([0.0]), "columns"),
    ("Polynomial", lambda: Polynomial(9).features(np.ones((1, 100))), "columns"),
    ("astronomic", lambda: monomials(np.ones((1, 1000)), 10**6), "columns"),
    ("degree", lambda: monomials(np.ones((1, 1)), 10**9), f"more than {MOST_FACTORS}"),
    ("degree of two", lambda: (Linear() ** 2000).features(np.ones((1, 2))), "of degree 2000"),
]


@pytest.mark.parametrize(
    ("make", "message"), [t[1:] for t in TOO_MANY], ids=[t[0] for t in TOO_MANY]
)
def test_too_many_features_are_refused_before_they_are_made(
    make: Callable[[], Array], message: str
) -> None:
    tracemalloc.start()
    start = time.process_time()
    try:
        with pytest.raises(NoFeatureMap, match=message):
            make()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8e6
    assert time.process_time() - start < 2.0


def test_a_large_degree_below_the_limit_does_not_overflow() -> None:
    x = np.array([[0.6, 0.8], [0.8, 0.6]])
    phi = (Linear() ** 900).features(x)
    assert phi.shape == (2, 901)
    np.testing.assert_allclose(np.sum(phi * phi, axis=1), [1.0, 1.0], rtol=1e-11)


def test_standard_arrays_stay_in_their_library() -> None:
    a: Any = strict.asarray(A)
    b: Any = strict.asarray(B)
    for made, expected in (
        (join([a, b]), join([A, B])),
        (outer_rows(a, b), outer_rows(A, B)),
        (monomials(a, 3), monomials(A, 3)),
        (monomials(a, 0), monomials(A, 0)),
        (monomials(a[:, :0], 2), monomials(A[:, :0], 2)),
        ((Linear() ** 2 + 1.0).features(a), (Linear() ** 2 + 1.0).features(A)),
    ):
        assert isinstance(made, type(a))
        np.testing.assert_allclose(as_numpy(made), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear() ** 3,
        Linear() * Linear(),
        Polynomial(2),
        Polynomial(1, scale=1e300),
        Bilinear([[1e300, 0.0], [0.0, 0.0]]),
    ],
    ids=str,
)
def test_features_that_overflow_are_refused_by_name(kernel: Kernel) -> None:
    with pytest.raises(InvalidInput, match=r"feature.* is not a finite number at \(0, "):
        kernel.features([[1e200, 1.0]])


def halves(x: Any) -> Array:
    positive: Array = np.maximum(np.asarray(x), 0.0)
    return positive


SPARSE, DENSE = FeatureMap(lambda x: csr_array(halves(x))), FeatureMap(halves)


@pytest.mark.parametrize(
    "operation",
    [
        lambda k: k + 1.0,
        lambda k: k * k,
        lambda k: k**2,
        lambda k: k.polynomial([1.0, 0.0, 2.0]),
        lambda k: k.normalised(),
        lambda k: k.centred(A),
        lambda k: k.weighted(lambda x: x[:, 0]),
    ],
    ids=["sum", "product", "power", "polynomial", "normalised", "centred", "weighted"],
)
def test_sparse_features_are_made_dense_where_an_operation_needs_it(
    operation: Callable[[Kernel], Kernel],
) -> None:
    np.testing.assert_allclose(
        operation(SPARSE).features(A), operation(DENSE).features(A), rtol=1e-15
    )


def test_sparse_features_that_would_not_fit_are_refused() -> None:
    large = csr_array((MOST_NUMBERS // 1000 + 1, 1000))
    for make in (dense, lambda phi: join([phi]), lambda phi: monomials(phi, 1)):
        with pytest.raises(NoFeatureMap, match="sparse features of shape .* would be dense here"):
            make(large)
