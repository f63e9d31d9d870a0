"""The laws every kernel obeys, as functions that assert them.

They stand apart from the tests so that the negative controls can show that they fail on a
planted mistake.
"""

from __future__ import annotations

import numpy as np

import mercer as mc
from mercer.check import Array, NotDifferentiable, Points

ROUNDING = 1e-11
"""Relative error of an expression of a few operations in double precision."""

STEP = 1e-5
"""Central differences with this step are right to about its square."""


def agree(left: Array, right: Array, scale: Array | None = None) -> None:
    size = np.max(np.abs(right if scale is None else scale), initial=1e-30)
    np.testing.assert_allclose(left, right, rtol=0, atol=ROUNDING * size)


def sum_commutes(a: mc.Kernel, b: mc.Kernel, x: Points) -> None:
    agree((a + b)(x), (b + a)(x))
    agree((a + b)(x), a(x) + b(x))


def product_commutes(a: mc.Kernel, b: mc.Kernel, x: Points) -> None:
    agree((a * b)(x), (b * a)(x))
    agree((a * b)(x), a(x) * b(x))


def operations_associate(a: mc.Kernel, b: mc.Kernel, c: mc.Kernel, x: Points) -> None:
    agree(((a + b) + c)(x), (a + (b + c))(x))
    agree(((a * b) * c)(x), (a * (b * c))(x))


def product_distributes(a: mc.Kernel, b: mc.Kernel, c: mc.Kernel, x: Points) -> None:
    agree(((a + b) * c)(x), (a * c + b * c)(x))


def weight_scales(weight: float, k: mc.Kernel, x: Points) -> None:
    agree((weight * k)(x), weight * k(x))
    agree((k * weight)(x), (weight * k)(x))


def power_repeats(k: mc.Kernel, x: Points) -> None:
    agree((k**0)(x), np.ones((len(x), len(x))))
    agree((k**3)(x), (k * k * k)(x))


def polynomial_sums_powers(k: mc.Kernel, x: Points) -> None:
    agree(k.polynomial([0.5, 2.0, 3.0])(x), (0.5 + 2.0 * k + 3.0 * k**2)(x))


def exponential_turns_sums_to_products(a: mc.Kernel, b: mc.Kernel, x: Points) -> None:
    a, b = a.normalised(), b.normalised()
    agree((a + b).exp()(x), (a.exp() * b.exp())(x))


def matrix_is_hermitian(k: mc.Kernel, x: Points, y: Points) -> None:
    agree(k(x, y), k(y, x).conj().T)


def matrix_is_positive(k: mc.Kernel, x: Points) -> None:
    K = k(x)
    smallest = np.linalg.eigvalsh((K + K.conj().T) / 2)[0]
    assert smallest >= -ROUNDING * len(K) * np.max(np.abs(K), initial=1.0)


def diagonal_is_the_matrix_diagonal(k: mc.Kernel, x: Points) -> None:
    agree(k.diag(x), np.diag(k(x)).real, scale=k(x))


def slices_are_blocks(k: mc.Kernel, x: Points) -> None:
    cut = len(x) // 2
    if cut:
        agree(k(x[:cut], x[cut:]), k(x)[:cut, cut:], scale=k(x))


def normalisation_has_unit_diagonal(k: mc.Kernel, x: Points) -> None:
    K = k.normalised()(x)
    assert np.array_equal(np.diag(K), np.ones(len(x)))
    assert np.all(np.abs(K) <= 1.0 + ROUNDING)


def written_form_returns(k: mc.Kernel) -> None:
    assert mc.kernel(repr(k)) == k
    assert mc.kernel(str(k)) == k
    assert hash(mc.kernel(repr(k))) == hash(k)


def parameters_return(k: mc.Kernel) -> None:
    assert mc.with_parameters(k, mc.parameters(k)) == k


def features_give_the_kernel(k: mc.Kernel, x: Points) -> None:
    try:
        phi = k.features(x)
    except mc.NoFeatureMap:
        return
    agree(phi @ phi.conj().T, k(x))


def partials_are_differences(k: mc.Kernel, x: Array, y: Array) -> None:
    for name, partial in k.partials(x, y).items():
        value = mc.parameters(k)[name]
        if isinstance(value, tuple):
            for i in range(len(value)):
                _compare(_difference_in(k, name, x, y, i), partial[..., i], k(x, y), name)
        else:
            _compare(_difference_in(k, name, x, y, None), partial, k(x, y), name)


def _difference_in(k: mc.Kernel, name: str, x: Array, y: Array, index: int | None) -> Array:
    value = mc.parameters(k)[name]

    def moved(step: float) -> Array:
        if index is None:
            return mc.with_parameters(k, {name: value + step})(x, y)
        changed = tuple(v + step if i == index else v for i, v in enumerate(value))
        return mc.with_parameters(k, {name: changed})(x, y)

    here = value if index is None else value[index]
    if here < STEP:  # one-sided at the edge of the parameter's domain, to second order
        return (-3.0 * moved(0.0) + 4.0 * moved(STEP) - moved(2.0 * STEP)) / (2.0 * STEP)
    return (moved(STEP) - moved(-STEP)) / (2.0 * STEP)


def slopes_are_differences(k: mc.Kernel, x: Array, y: Array) -> None:
    try:
        slopes = k.slopes(x, y)
    except NotDifferentiable:
        return
    for j in range(x.shape[1]):
        step = np.zeros(x.shape[1])
        step[j] = STEP
        difference = (k(x + step, y) - k(x - step, y)) / (2.0 * STEP)
        _compare(difference, slopes[..., j], k(x, y), f"x_{j}")


def _compare(difference: Array, derivative: Array, values: Array, what: str) -> None:
    size = np.max(np.abs(derivative)) + np.max(np.abs(values)) + 1.0
    np.testing.assert_allclose(difference, derivative, rtol=1e-4, atol=1e-6 * size, err_msg=what)
