"""The laws every kernel obeys, as functions that assert them.

They stand apart from the tests so that the negative controls can show that they fail on a
planted mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mercer as mc
from mercer.check import Array, Points
from mercer.errors import NotDifferentiable
from tests.derivatives import slope_of

ROUNDING = 1e-11
"""Relative error of an expression of a few operations in double precision."""

STEP = 1e-4
"""Differences of fourth order with this step are right to about 1e-11 where k is smooth."""


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


def stretching_divides_the_points(k: mc.Kernel, scale: Any, x: Array, y: Array) -> None:
    s = np.asarray(scale)
    agree(k.stretched(scale)(x, y), k(x / s, y / s), scale=k(np.concatenate([x / s, y / s])))


def written_form_returns(k: mc.Kernel) -> None:
    assert mc.kernel(repr(k)) == k
    assert mc.kernel(str(k)) == k
    assert hash(mc.kernel(repr(k))) == hash(k)


def parameters_return(k: mc.Kernel) -> None:
    assert mc.kernels.with_parameters(k, mc.kernels.parameters(k)) == k


def features_give_the_kernel(k: mc.Kernel, x: Points) -> None:
    try:
        phi = k.features(x)
    except mc.errors.NoFeatureMap:
        return
    agree(phi @ phi.conj().T, k(x))


def partials_are_differences(k: mc.Kernel, x: Array, y: Array) -> None:
    for name, partial in k.partials(x, y).items():
        value = mc.kernels.parameters(k)[name]
        if not isinstance(value, tuple):
            _compare(lambda h, v=value, n=name: _moved(k, n, v + h, x, y), partial, name, value)  # type: ignore[misc]
            continue
        for i, here in enumerate(value):

            def moved(h: float, i: int = i, v: tuple[float, ...] = value, n: str = name) -> Array:
                return _moved(k, n, (*v[:i], v[i] + h, *v[i + 1 :]), x, y)

            _compare(moved, partial[..., i], f"{name}[{i}]", here)


def _moved(k: mc.Kernel, name: str, value: object, x: Array, y: Array) -> Array:
    return mc.kernels.with_parameters(k, {name: value})(x, y)


def slopes_are_differences(k: mc.Kernel, x: Array, y: Array) -> None:
    try:
        slopes = k.slopes(x, y)
    except NotDifferentiable:
        return
    for j, direction in enumerate(np.eye(x.shape[1])):
        _compare(lambda h, e=direction: k(x + h * e, y), slopes[..., j], f"x_{j}")  # type: ignore[misc]


def _compare(
    function: Callable[[float], Array], derivative: Array, what: str, here: float = 1.0
) -> None:
    """Compare with differences, allowing as much as two step lengths disagree by."""
    if here < 4.0 * STEP:  # one-sided at the edge of a parameter's domain
        fine, coarse = (_one_sided(function, h) for h in (STEP, 2.0 * STEP))
    else:
        fine, coarse = (slope_of(function, h) for h in (STEP, 2.0 * STEP))
    size = np.max(np.abs(derivative)) + np.max(np.abs(function(0.0))) + 1.0
    allowed = 1e-7 * size + np.abs(fine - coarse)
    assert np.all(np.abs(fine - derivative) <= allowed), f"{what}: {fine} against {derivative}"


def _one_sided(function: Callable[[float], Array], h: float) -> Array:
    slope: Array = (-3.0 * function(0.0) + 4.0 * function(h) - function(2.0 * h)) / (2.0 * h)
    return slope
