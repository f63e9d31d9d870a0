"""Derivatives of kernels by differences of fourth order, to compare the stated ones with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer import Kernel
from mercer.check import Array
from mercer.kernels import parameters, with_parameters

STEP = 1e-3
"""Truncation is about its fourth power and rounding about u divided by it: 1e-12 and 1e-13."""

ACCURACY = 1e-9
"""Error allowed relative to the largest derivative or value."""


def slope_of(function: Callable[[float], Array], step: float = STEP) -> Array:
    """Return the derivative at zero."""
    near = function(step) - function(-step)
    far = function(2.0 * step) - function(-2.0 * step)
    slope: Array = (8.0 * near - far) / (12.0 * step)
    return slope


def differences_in(kernel: Kernel, name: str, x: Array, y: Array) -> Array:
    """Return ∂k/∂θ as `Kernel.partials` orders it, for one parameter."""
    value = parameters(kernel)[name]
    if not isinstance(value, tuple):
        return slope_of(lambda h: with_parameters(kernel, {name: value + h})(x, y))
    moved = [
        slope_of(lambda h, i=i: with_parameters(kernel, {name: _shifted(value, i, h)})(x, y))  # type: ignore[misc]
        for i in range(len(value))
    ]
    return np.stack(moved, axis=-1)


def _shifted(value: tuple[float, ...], index: int, step: float) -> tuple[float, ...]:
    return tuple(v + step if i == index else v for i, v in enumerate(value))


def differences_in_x(kernel: Kernel, x: Array, y: Array) -> Array:
    """Return ∂k(x[i], y[j])/∂x[i] as `Kernel.slopes` orders it."""
    columns = np.eye(x.shape[1])
    return np.stack([slope_of(lambda h, e=e: kernel(x + h * e, y)) for e in columns], axis=-1)  # type: ignore[misc]


def assert_close(given: Array, expected: Array) -> None:
    assert given.shape == expected.shape
    size = max(1.0, float(np.max(np.abs(expected))))
    np.testing.assert_allclose(given, expected, rtol=0.0, atol=ACCURACY * size)


def assert_partials(kernel: Kernel, x: Array, y: Array, names: set[str]) -> None:
    """Assert that exactly the named partial derivatives are given and that they are right."""
    partials = kernel.partials(x, y)
    assert set(partials) == names
    for name, partial in partials.items():
        assert_close(partial, differences_in(kernel, name, x, y))


def assert_slopes(kernel: Kernel, x: Array, y: Array) -> None:
    assert_close(kernel.slopes(x, y), differences_in_x(kernel, x, y))
