from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.rkhs import Functional
from tests.strategies import wave

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(2, 6, 2))
K = mc.Gaussian(1.2)
F = mc.Function(K, X, RNG.normal(size=6))


def test_an_evaluation_is_the_value_and_has_the_norm_of_its_section() -> None:
    for y in Y:
        at = Functional.at(3.0 * K, y)
        f = mc.Function(3.0 * K, X, F.weights)
        assert at(f) == pytest.approx(f([y])[0], rel=1e-13)
        assert at.norm == pytest.approx(np.sqrt(3.0), rel=1e-14)
        assert abs(at(f)) <= at.norm * f.norm * (1.0 + 1e-12)


def test_the_norm_is_attained_at_the_representer_and_nowhere_exceeded() -> None:
    c = RNG.normal(size=6)
    L = Functional(K, Y, c)
    assert L(F) == pytest.approx(float(c @ F(Y)), rel=1e-12)
    assert L.norm == pytest.approx(np.sqrt(c @ K(Y) @ c), rel=1e-12)
    unit = L.representer / L.norm
    assert L(unit) == pytest.approx(L.norm, rel=1e-12)
    for _ in range(20):
        g = mc.Function(K, RNG.normal(size=(4, 2)), RNG.normal(size=4))
        assert abs(L(g)) <= L.norm * g.norm * (1.0 + 1e-12)


def test_functionals_are_a_space() -> None:
    a, b = Functional.at(K, X[0]), Functional(K, Y, np.ones(6))
    assert (2.0 * a - b)(F) == pytest.approx(2.0 * a(F) - b(F), rel=1e-12)
    assert (a - a).norm == 0.0
    assert Functional.of(a.representer)(F) == a(F)
    assert sum([a, b, a])(F) == pytest.approx(2.0 * a(F) + b(F), rel=1e-12)  # type: ignore[operator]
    assert (b / 4)(F) == pytest.approx(b(F) / 4.0, rel=1e-14)
    assert isinstance((2 * a)(F), float)
    with pytest.raises(mc.errors.InvalidParameter, match="cannot be divided by 0"):
        a / 0
    other: Any = "2"
    for combine in (operator.add, operator.mul, operator.truediv, operator.sub):
        with pytest.raises(TypeError, match="unsupported|can't multiply"):
            combine(a, other)
    with pytest.raises(TypeError, match="unsupported"):
        operator.add(1, a)


def test_a_complex_factor_multiplies_values_and_conjugates_the_representer() -> None:
    k = K.weighted(wave)
    f = mc.Function(k, X, RNG.normal(size=6) + 1j * RNG.normal(size=6))
    L = Functional(k, Y[:2], [1.0 + 2.0j, -0.5j])
    for c in (2.0j, 1.0 - 3.0j, np.complex128(0.5 + 0.1j)):
        assert (c * L)(f) == pytest.approx(c * L(f), rel=1e-12)
        assert (L / c)(f) == pytest.approx(L(f) / c, rel=1e-12)
        assert (c * L).norm == pytest.approx(abs(c) * L.norm, rel=1e-12)


def test_a_functional_of_a_complex_representer_is_the_inner_product_with_it() -> None:
    k = K.weighted(wave)
    f, g = (mc.Function(k, points, RNG.normal(size=6) + 1j * RNG.normal(size=6))
            for points in (X, Y))  # fmt: skip
    L = Functional.of(g)
    assert L(f) == pytest.approx(f.inner(g), rel=1e-13)
    assert abs(L(f) - g.inner(f)) > 1e-3  # which is its conjugate
    assert L(g) == pytest.approx(g.norm**2, rel=1e-12)


def test_the_error_of_a_quadrature_is_the_norm_of_a_difference() -> None:
    # The mean over a fine grid, and rules of few nodes in its place.
    grid = np.linspace(0.0, 1.0, 2001)[:, None]
    mean = Functional(mc.Matern(1.5, 0.3), grid, np.full(2001, 1 / 2001))
    errors = []
    for n in (2, 4, 8, 16):
        nodes, w = np.polynomial.legendre.leggauss(n)
        rule = Functional(mc.Matern(1.5, 0.3), 0.5 * (1.0 + nodes)[:, None], 0.5 * w)
        errors.append((rule - mean).norm)
    assert all(b < 0.5 * a for a, b in zip(errors[:-1], errors[1:], strict=True))


def test_complex_weights_are_conjugated_in_the_representer() -> None:
    k = K.weighted(wave)
    f = mc.Function(k, X, RNG.normal(size=6) + 1j * RNG.normal(size=6))
    c = np.array([1.0 + 2.0j, -0.5j])
    assert Functional(k, Y[:2], c)(f) == pytest.approx(complex(c @ f(Y[:2])), rel=1e-12)


def test_evaluations_of_square_integrable_functions_are_not_bounded() -> None:
    # With the first n orthonormal functions of L²(0, 1) the norm at 0 is √(2n - 1).
    for n in (1, 5, 50):

        def phi(x: np.ndarray, n: int = n) -> np.ndarray:
            j = np.arange(1, n)
            cosines = np.sqrt(2.0) * np.cos(np.pi * j * np.reshape(x, (-1, 1)))
            return np.column_stack([np.ones(len(x)), cosines])

        at = Functional.at(mc.kernels.FeatureMap(phi), 0.0)
        assert at.norm == pytest.approx(np.sqrt(2 * n - 1))


def test_other_spaces_and_things_are_refused() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="different spaces"):
        Functional.at(K, X[0])(mc.Function(mc.Linear(), X, F.weights))
    with pytest.raises(mc.errors.InvalidParameter, match="expected a Function"):
        Functional.of(K)  # type: ignore[arg-type]
    with pytest.raises(
        mc.errors.InvalidParameter, match="a functional is of a Function, found int"
    ):
        Functional.at(K, X[0])(3)  # type: ignore[arg-type]
    assert repr(Functional.at(K, X[0])).startswith("Functional: values at 1 point,")
