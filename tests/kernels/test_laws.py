from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import mercer as mc
from mercer.check import Array, Points
from mercer.kernels import algebra, metric, powers
from mercer.kernels.pairs import Pairs
from tests import laws
from tests.strategies import (
    bandwidths,
    complex_kernels,
    conditional_kernels,
    distinct_points,
    functional_kernels,
    kernels,
    points,
    set_kernels,
    sets_of_letters,
    smooth_kernels,
    undifferentiable_kernels,
    weights,
)

LARGEST = 1e6
"""Expressions whose values exceed this compare rounding errors, not laws."""


def moderate(k: mc.Kernel, *samples: Points) -> None:
    try:
        assume(all(np.max(np.abs(k(x)), initial=0.0) < LARGEST for x in samples))
    except mc.errors.InvalidInput:
        assume(False)


def has_no_zero_norms(k: mc.Kernel, x: Array) -> bool:
    """Whether no normalisation divides by (nearly) zero, where the cosine jumps."""
    children = list(k.children().values())
    if isinstance(k, metric.Normalised) and np.min(children[0].diag(x)) < 1e-3:
        return False
    return all(has_no_zero_norms(child, x) for child in children)


@given(kernels(), kernels(), kernels(), points())
def test_sums_and_products_form_a_commutative_semiring(
    a: mc.Kernel, b: mc.Kernel, c: mc.Kernel, x: Array
) -> None:
    for k in (a, b, c):
        moderate(k, x)
    laws.sum_commutes(a, b, x)
    laws.product_commutes(a, b, x)
    laws.operations_associate(a, b, c, x)
    laws.product_distributes(a, b, c, x)


@given(kernels(), weights, points())
def test_weights_powers_and_polynomials_are_what_they_say(
    k: mc.Kernel, weight: float, x: Array
) -> None:
    moderate(k, x)
    laws.weight_scales(weight, k, x)
    laws.power_repeats(k, x)
    laws.polynomial_sums_powers(k, x)


@given(kernels(), bandwidths, points(), points())
def test_a_stretched_kernel_is_that_of_divided_points(
    k: mc.Kernel, scale: float | tuple[float, float], x: Array, y: Array
) -> None:
    assume(k.reads_vectors)
    divided = x / np.asarray(scale), y / np.asarray(scale)
    moderate(k, *divided)
    assume(all(has_no_zero_norms(k, z) for z in divided))
    laws.stretching_divides_the_points(k, scale, x, y)


@given(kernels(), kernels(), points())
def test_the_exponential_turns_sums_into_products(a: mc.Kernel, b: mc.Kernel, x: Array) -> None:
    moderate(a, x)
    moderate(b, x)
    laws.exponential_turns_sums_to_products(a, b, x)


@given(kernels(), points(), points())
def test_every_expression_is_hermitian_and_positive(k: mc.Kernel, x: Array, y: Array) -> None:
    moderate(k, x, y)
    laws.matrix_is_hermitian(k, x, y)
    laws.matrix_is_positive(k, x)
    laws.diagonal_is_the_matrix_diagonal(k, x)
    laws.slices_are_blocks(k, x)
    laws.normalisation_has_unit_diagonal(k, x)
    laws.features_give_the_kernel(k, x)


@given(st.one_of(functional_kernels(), undifferentiable_kernels(), complex_kernels()), points())
def test_kernels_of_functions_obey_the_same_laws(k: mc.Kernel, x: Array) -> None:
    moderate(k, x)
    laws.matrix_is_hermitian(k, x, x[::-1])
    laws.matrix_is_positive(k, x)
    laws.diagonal_is_the_matrix_diagonal(k, x)
    laws.slices_are_blocks(k, x)
    laws.features_give_the_kernel(k, x)


@given(kernels(), set_kernels(), points(2, 5), sets_of_letters())
def test_tensor_kernels_obey_the_same_laws(
    a: mc.Kernel, b: mc.Kernel, x: Array, sets: list[frozenset[str]]
) -> None:
    count = min(len(x), len(sets))
    both = mc.data.Paired(x[:count], sets[:count])
    for k in (mc.kernels.tensor_sum(a, b), mc.kernels.tensor_product(a, b)):
        moderate(k, both)
        laws.matrix_is_hermitian(k, both, both)
        laws.matrix_is_positive(k, both)
        laws.diagonal_is_the_matrix_diagonal(k, both)
        laws.slices_are_blocks(k, both)
        laws.written_form_returns(k)


@given(conditional_kernels(), points(), st.integers(1, 3))
def test_sums_with_conditional_kernels_are_conditional(k: mc.Kernel, x: Array, count: int) -> None:
    moderate(k, x)
    assert k.kind is mc.kernels.Kind.CONDITIONAL
    laws.matrix_is_hermitian(k, x, x[::-1])
    laws.matrix_is_positive(k.centred(x[:count]), x)
    laws.written_form_returns(k)


@given(set_kernels(), sets_of_letters())
def test_expressions_on_sets_obey_the_same_laws(k: mc.Kernel, x: list[frozenset[str]]) -> None:
    moderate(k, x)
    laws.matrix_is_hermitian(k, x, x[::-1])
    laws.matrix_is_positive(k, x)
    laws.diagonal_is_the_matrix_diagonal(k, x)
    laws.slices_are_blocks(k, x)
    laws.features_give_the_kernel(k, x)
    laws.written_form_returns(k)


@given(kernels())
def test_the_written_form_and_the_parameters_return_the_kernel(k: mc.Kernel) -> None:
    laws.written_form_returns(k)
    laws.parameters_return(k)


@given(
    st.one_of(smooth_kernels(), functional_kernels(), complex_kernels()),
    distinct_points(),
    distinct_points(),
)
def test_partials_and_slopes_are_limits_of_differences(k: mc.Kernel, x: Array, y: Array) -> None:
    # Off the grid and off zero: no coordinates coincide, and angles have moderate curvature.
    x, y = x + 0.75 / 16.0, y + 1.25 / 16.0
    moderate(k, x, y)
    assume(has_no_zero_norms(k, np.vstack([x, y])))
    laws.partials_are_differences(k, x, y)
    laws.slopes_are_differences(k, x, y)


@given(st.floats(0.3, 3.0), points(), st.integers(1, 3))
def test_conditional_kernels_become_positive_by_centring_and_by_exp(
    exponent: float, x: Array, count: int
) -> None:
    k = mc.kernels.NegativeDistance(min(exponent, 2.0))
    laws.matrix_is_positive(k.centred(x[:count]), x)
    laws.matrix_is_positive(k.exp(), x)


X = np.array([[0.0, 1.0], [0.5, -1.0], [2.0, 0.25], [-1.5, 0.75]])
A, B, C = mc.Gaussian(0.7), mc.Laplacian(1.3), 2.0 * mc.Linear() + 1.0


def planted_sum(self: algebra.Sum, pairs: Pairs) -> Array:
    return algebra.Product(self.terms).evaluate(pairs)


def test_a_sum_that_multiplies_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    laws.product_distributes(A, B, C, X)
    laws.sum_commutes(A, B, X)
    monkeypatch.setattr(algebra.Sum, "evaluate", planted_sum)
    with pytest.raises(AssertionError):
        laws.product_distributes(A, B, C, X)
    with pytest.raises(AssertionError):
        laws.sum_commutes(A, B, X)


def test_a_sign_in_a_local_slope_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    k = (A * B).exp()
    laws.partials_are_differences(k, X, X + 0.1)
    laws.slopes_are_differences(k, X, X + 0.1)
    right = algebra.Product.local_slopes
    monkeypatch.setattr(
        algebra.Product, "local_slopes", lambda self, v: [-s for s in right(self, v)]
    )
    with pytest.raises(AssertionError):
        laws.partials_are_differences(k, X, X + 0.1)
    with pytest.raises(AssertionError):
        laws.slopes_are_differences(k, X, X + 0.1)


def test_a_normalisation_without_the_root_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    laws.matrix_is_positive(C.normalised(), X)
    monkeypatch.setattr(metric.Normalised, "combine", lambda self, xy, xx, yy: xy / xx)
    with pytest.raises(AssertionError):
        laws.matrix_is_hermitian(C.normalised(), X, X + 0.5)


def test_a_kernel_that_forgets_its_scale_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    laws.stretching_divides_the_points(mc.Gaussian(0.7), 2.0, X, X + 0.5)
    monkeypatch.setattr(mc.Gaussian, "stretch", lambda self, scale: self)
    with pytest.raises(AssertionError):
        laws.stretching_divides_the_points(mc.Gaussian(0.7), 2.0, X, X + 0.5)


def test_a_matrix_exponential_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    import scipy.linalg

    monkeypatch.setattr(powers.Exponential, "combine", lambda self, v: scipy.linalg.expm(v[0]))
    with pytest.raises(AssertionError):
        laws.exponential_turns_sums_to_products(A, B, X)


def test_a_subtraction_inside_an_expression_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    laws.matrix_is_positive(B + 3.0 * A, X)
    monkeypatch.setattr(
        algebra.Sum,
        "evaluate",
        lambda self, pairs: self.terms[0].evaluate(pairs) - self.terms[1].evaluate(pairs),
    )
    with pytest.raises(AssertionError):
        laws.matrix_is_positive(B + 3.0 * A, X)
