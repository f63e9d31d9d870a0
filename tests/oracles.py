"""Answers that do not come from the code under test: differences, exact sums, other libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import mercer as mc
from mercer.check import Array, as_numpy

STENCIL = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))
"""Weights of the central difference of sixth order."""

STEP = 1e-3
"""Relative step: the formula errs by its sixth power, rounding by 1e-16 over it."""

LIBRARIES = ("array_api_strict", "torch")
"""Array libraries other than numpy; the second is tested where it is installed."""


LINE = {"check_fit1d": "a one-dimensional array is n points of the line, for models as for kernels"}
"""What scikit-learn wants refused and mercer reads: for `parametrize_with_checks`."""


def derivative(f: Callable[[float], Array], at: float, step: float) -> Array:
    terms = [w * (f(at + i * step) - f(at - i * step)) for i, w in STENCIL]
    return sum(terms[1:], start=terms[0]) / step


def difference_in_parameter(k: mc.Kernel, name: str, x: Any, y: Any) -> Array:
    """Return the differences of k(x, y) in a parameter, those of a sequence on a last axis."""
    given = mc.kernels.parameters(k)[name]
    if not isinstance(given, tuple):
        return derivative(
            lambda v: mc.kernels.with_parameters(k, {name: v})(x, y),
            given,
            STEP * abs(given or 1.0),
        )

    def moved(i: int) -> Callable[[float], Array]:
        return lambda v: mc.kernels.with_parameters(k, {name: (*given[:i], v, *given[i + 1 :])})(
            x, y
        )

    parts = [derivative(moved(i), v, STEP * v) for i, v in enumerate(given)]
    return np.stack(parts, axis=-1)


def difference_in_points(k: mc.Kernel, x: Array, y: Array) -> Array:
    """Return the differences of k(x, y) in each coordinate of x, on a last axis."""

    def moved(j: int) -> Callable[[float], Array]:
        unit = np.eye(x.shape[1])[j]
        return lambda t: k(x + t * unit, y)

    parts = [derivative(moved(j), 0.0, STEP) for j in range(x.shape[1])]
    return np.stack(parts, axis=-1)


def assert_derivatives(k: mc.Kernel, x: Array, y: Array, tolerance: float = 1e-10) -> None:
    """Compare partials and slopes with differences, relative to the largest of each."""
    partials = k.partials(x, y)
    for name, partial in partials.items():
        assert_near(partial, difference_in_parameter(k, name, x, y), tolerance, name)
    assert_near(k.slopes(x, y), difference_in_points(k, x, y), tolerance, "slopes")


def assert_near(found: Array, expected: Array, tolerance: float, what: str = "") -> None:
    size = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * size, err_msg=what)


def worst_relative_error(found: Array, exact: Iterable[Iterable[Any]]) -> float:
    """Return the largest relative error of a matrix against numbers of any precision."""
    errors = [
        float(abs(mpmath.mpf(float(v)) - e) / abs(e))
        for row, row_exact in zip(found, exact, strict=True)
        for v, e in zip(row, row_exact, strict=True)
    ]
    return max(errors)


def exact_gaps(x: Array, y: Array) -> list[list[list[Any]]]:
    """Return all differences of coordinates of stored doubles, at 30 digits."""
    with mpmath.workdps(30):
        left = [[mpmath.mpf(v) for v in row] for row in x.tolist()]
        right = [[mpmath.mpf(v) for v in row] for row in y.tolist()]
        return [[[p - q for p, q in zip(a, b, strict=True)] for b in right] for a in left]


def smallest_eigenvalue(K: Array) -> float:
    return float(np.linalg.eigvalsh((K + K.conj().T) / 2)[0])


def assert_positive(K: Array) -> None:
    """Assert that no eigenvalue is more negative than rounding makes it."""
    bound = 10 * len(K) * np.finfo(float).eps * float(np.max(np.abs(K)))
    assert smallest_eigenvalue(K) >= -bound


def foreign(library: str, values: Array) -> Any:
    """Return numbers as an array of another library, or skip the test where it is missing."""
    return pytest.importorskip(library).asarray(values)


def assert_same_in(library: str, k: mc.Kernel, x: Array, y: Array) -> None:
    """Assert that a kernel answers arrays of a library in kind, with the numbers numpy gets."""
    fx, fy = foreign(library, x), foreign(library, y)
    answers: list[tuple[Any, Array]] = [
        (k(fx, fy), k(x, y)),
        (k(fx), k(x)),
        (k.diag(fx), k.diag(x)),
        (k.slopes(fx, fy), k.slopes(x, y)),
        *zip(k.partials(fx, fy).values(), k.partials(x, y).values(), strict=True),
    ]
    for given, expected in answers:
        assert type(given) is type(fx)
        assert given.dtype == fx.dtype
        assert_near(as_numpy(given), expected, 1e-14)


@contextmanager
def untouched(*arrays: Array) -> Iterator[None]:
    """Assert that arrays are neither written to nor changed."""
    before = [a.copy() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    yield
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b)
