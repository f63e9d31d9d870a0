from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mercer as mc
from mercer.check import Array
from tests import laws
from tests.oracles import LIBRARIES, assert_derivatives, assert_near, assert_same_in, foreign

counts = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.just(3)),
    elements=st.integers(0, 12).map(lambda i: i / 4.0),
)
parts = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.just(3)),
    elements=st.integers(1, 16).map(lambda i: i / 4.0),
)


@given(counts, counts)
@settings(max_examples=50)
def test_bray_curtis_is_its_formula(x: Array, y: Array) -> None:
    def similarity(a: Array, b: Array) -> float:
        total = float(a.sum() + b.sum())
        return 2.0 * float(np.minimum(a, b).sum()) / total if total else 1.0

    expected = [[similarity(a, b) for b in y] for a in x]
    np.testing.assert_allclose(mc.kernels.BrayCurtis()(x, y), expected, rtol=1e-14)


@given(counts)
@settings(max_examples=50)
def test_bray_curtis_is_a_kernel_with_unit_diagonal(x: Array) -> None:
    k = mc.kernels.BrayCurtis()
    laws.matrix_is_positive(k, x)
    laws.matrix_is_hermitian(k, x, x[::-1])
    laws.slices_are_blocks(k, x)
    assert np.array_equal(k.diag(x), np.ones(len(x)))
    assert np.array_equal(np.diag(k(x)), np.ones(len(x)))
    assert k.kind is mc.kernels.Kind.POSITIVE
    laws.written_form_returns(k)


def test_the_diagonal_is_one_whatever_the_rounding() -> None:
    x = np.random.default_rng(0).random((50, 40)) ** 9
    assert np.array_equal(np.diag(mc.kernels.BrayCurtis()(x, x.copy())), np.ones(50))


def test_samples_without_abundance_share_one_unit_vector() -> None:
    x = np.array([[0.0, 0.0], [1.0, 3.0], [0.0, 0.0]])
    assert mc.kernels.BrayCurtis()(x).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert mc.kernels.BrayCurtis()(x[:1], x).tolist() == [[1, 0, 1]]


def test_the_dissimilarity_of_ecologists_is_one_minus_the_kernel() -> None:
    from scipy.spatial.distance import cdist

    x = np.random.default_rng(1).poisson(3.0, (20, 8)).astype(float)
    assert_near(1.0 - mc.kernels.BrayCurtis()(x), cdist(x, x, "braycurtis"), 1e-14)


@pytest.mark.parametrize(
    "kernel", [mc.kernels.BrayCurtis(), mc.kernels.Aitchison(), mc.kernels.ChiSquare((0.5, 0.5))]
)
def test_numbers_outside_the_domain_are_named(kernel: mc.Kernel) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=r"at row 1, column 0: -2"):
        kernel([[1.0, 2.0], [-2.0, 1.0]])
    with pytest.raises(mc.errors.InvalidInput, match=r"at row 0, column 1: -3"):
        kernel([[1.0, 2.0]], [[1.0, -3.0]])
    with pytest.raises(mc.errors.InvalidInput, match="complex"):
        kernel(np.array([[1.0 + 1j, 2.0]]))
    with pytest.raises(mc.errors.InvalidInput, match="row 0, column 0 holds NaN"):
        kernel([[np.nan, 1.0]])


def test_zeros_have_no_logarithm_and_huge_totals_no_double() -> None:
    with pytest.raises(
        mc.errors.InvalidInput, match=r"not positive \(replace zeros .* column 1: 0"
    ):
        mc.kernels.Aitchison()([[1.0, 0.0]])
    with pytest.raises(
        mc.errors.InvalidInput, match="the total of two samples is not a finite number"
    ):
        mc.kernels.BrayCurtis()([[1e308, 1e308]])


@given(parts, parts, st.floats(0.1, 10.0))
@settings(max_examples=40)
def test_aitchison_is_the_linear_kernel_of_log_ratios(x: Array, y: Array, scale: float) -> None:
    k = mc.kernels.Aitchison()
    pulled = mc.Linear().on(mc.kernels.centred_log_ratio)
    assert_near(k(x, y), pulled(x, y), 1e-13)
    assert_near(k(scale * x, y), k(x, y), 1e-12)
    assert_near(k.features(x) @ k.features(y).T, k(x, y), 1e-13)
    assert_near(
        k.gaussian(2.0)(x, y), mc.Gaussian(2.0).on(mc.kernels.centred_log_ratio)(x, y), 1e-12
    )
    assert_near(mc.kernels.centred_log_ratio(x).sum(axis=1), np.zeros(len(x)), 1e-13)
    laws.matrix_is_positive(k, x)
    laws.written_form_returns(k)


def test_aitchison_has_the_slopes_of_its_formula() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.uniform(0.5, 2.0, (4, 3)), rng.uniform(0.5, 2.0, (5, 3))
    assert_derivatives(mc.kernels.Aitchison(), x, y)


@given(parts, parts, st.floats(0.1, 10.0))
@settings(max_examples=40)
def test_chi_square_is_the_weighted_inner_product_of_profiles(
    x: Array, y: Array, scale: float
) -> None:
    k = mc.kernels.ChiSquare().resolve(x)
    assert isinstance(k, mc.kernels.ChiSquare)
    c = x.sum(axis=0) / x.sum()
    a, b = (rows / rows.sum(axis=1, keepdims=True) for rows in (x, y))
    assert_near(k(x, y), (a / c) @ b.T, 1e-12)
    assert_near(k(scale * x, y), k(x, y), 1e-12)
    assert_near(k.features(x) @ k.features(y).T, k(x, y), 1e-12)
    squares = np.sum((a[:, None] - b[None]) ** 2 / c, axis=2)
    assert_near(k.gaussian(1.0)(x, y), np.exp(-squares / 2.0), 1e-12)
    laws.matrix_is_positive(k, x)
    laws.written_form_returns(k)


def test_chi_square_has_the_derivatives_of_its_formula() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.uniform(0.5, 2.0, (4, 3)), rng.uniform(0.5, 2.0, (5, 3))
    assert_derivatives(mc.kernels.ChiSquare((0.2, 0.3, 0.5)), x, y)


def test_margins_and_profiles_that_do_not_exist_are_named() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="row 1 holds no counts"):
        mc.kernels.ChiSquare((0.5, 0.5))([[1.0, 2.0], [0.0, 0.0]])
    with pytest.raises(mc.errors.InvalidInput, match="column 1 holds no counts"):
        mc.kernels.ChiSquare().resolve([[1.0, 0.0], [2.0, 0.0]])
    with pytest.raises(mc.errors.InvalidInput, match="2 margins but the counts 3 columns"):
        mc.kernels.ChiSquare((0.5, 0.5))([[1.0, 2.0, 3.0]])
    with pytest.raises(mc.errors.InvalidParameter, match="resolve"):
        mc.kernels.ChiSquare()([[1.0, 2.0]])
    with pytest.raises(mc.errors.InvalidParameter, match="margins"):
        mc.kernels.ChiSquare((0.5, 0.0))


@pytest.mark.parametrize("library", LIBRARIES)
def test_other_array_libraries_are_answered_in_kind(library: str) -> None:
    x = np.random.default_rng(3).uniform(0.5, 2.0, (4, 3))
    assert_same_in(library, mc.kernels.Aitchison(), x, x[:2])
    assert_same_in(library, mc.kernels.ChiSquare((0.2, 0.3, 0.5)), x, x[:2])
    given: Any = foreign(library, x)
    K = mc.kernels.BrayCurtis()(given)
    assert type(K) is type(given)


def test_abundances_go_through_models() -> None:
    x = np.random.default_rng(4).poisson(2.0, (12, 5)).astype(float)
    model = mc.KernelPCA(2, kernel="bray_curtis()").fit(x)
    assert_near(model.transform(x), model.fit_transform(x), 1e-12)
    assert mc.check_kernel(mc.kernels.BrayCurtis(), x)
    assert mc.check_kernel(mc.kernels.Aitchison(), x + 1.0)
    assert mc.check_kernel(mc.kernels.ChiSquare(), x + 1.0)
