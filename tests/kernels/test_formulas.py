"""What a page shows as the formula of a kernel is its value: it is evaluated."""

from __future__ import annotations

import ast
import math
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from scipy.special import gamma, jv, kv

import mercer as mc
from mercer.check import Array
from mercer.kernels.base import Kernel
from mercer.kernels.formulas import Formula, formula_of
from mercer.kernels.spectral import LAWS

RNG = np.random.default_rng(4)
X, Y = RNG.uniform(0.1, 2.0, (2, 12, 3))

ON_VECTORS = [
    mc.Linear(),
    mc.Polynomial(3, 1.0, 0.5),
    mc.Polynomial(1, 0.0, 1.0),
    mc.kernels.Sigmoid(0.3, -0.5),
    mc.kernels.Tanimoto(),
    mc.kernels.Bilinear([[2.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 1.0]]),
    mc.kernels.Constant(0.7),
    mc.Gaussian(0.5),
    mc.Gaussian((1.0, 2.0, 0.5)),
    mc.Laplacian(2.0),
    mc.Laplacian((1.0, 2.0, 0.5), norm=1.5),
    *(mc.Matern(nu, 0.8) for nu in (0.5, 0.7, 1.5, 2.5, 3.1, np.inf)),
    mc.Matern(1.5, (1.0, 2.0, 0.5)),
    mc.kernels.RationalQuadratic(0.7, 2.0),
    mc.kernels.NegativeDistance(1.5, 2.0),
    mc.kernels.Periodic(1.3, 2.0),
    mc.kernels.Periodic((1.3, 2.0, 1.0), 2.0),
    mc.kernels.Sinc(0.7),
    mc.kernels.Sobolev(2.5, 0.9),
    mc.kernels.Bessel(0.5, 0.8),
    mc.kernels.Bessel(3.2, (1.0, 2.0, 0.5)),
    *(mc.kernels.Characteristic(law, 0.8) for law in LAWS),
    mc.kernels.BrayCurtis(),
    mc.Gaussian(0.5) + 0.1 * mc.Linear() + 2.0,
    (mc.Gaussian(0.5) + 1.0) * mc.Linear() ** 2,
    (0.1 * mc.Linear()).exp(),
    mc.Linear().polynomial([1.0, 0.0, 2.0]),
    (mc.Linear() + 1.0).normalised(),
    mc.Polynomial(2).gaussian(2.0).normalised() + mc.Linear().normalised(),
    mc.Polynomial(2).stretched((1.0, 2.0, 4.0)),
]


class _Loops(ast.NodeTransformer):
    """Sums and products over an index as Python's own."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if getattr(node.func, "id", "") not in ("sum", "prod"):
            return node
        index, body = node.args
        assert isinstance(index, ast.Name)
        coordinates = ast.Name("coordinates", ast.Load())
        loop = ast.comprehension(ast.Name(index.id, ast.Store()), coordinates, [], 0)
        return ast.Call(node.func, [ast.GeneratorExp(body, [loop])], [])


class _Bessel:
    def __init__(self, function: Any) -> None:
        self.function = function

    def __getitem__(self, nu: float) -> Any:
        return lambda z: self.function(nu, z)


KNOWN = {
    **{name: getattr(np, name) for name in ("exp", "tanh", "sin", "cos", "sqrt", "abs", "pi")},
    "inner": lambda a, b: np.dot(a, b),
    "norm": lambda a, p=2.0: np.sum(np.abs(a) ** p) ** (1.0 / p),
    "size": len,
    "sum": sum,
    "prod": math.prod,
    "min": min,
    "max": max,
    "Gamma": gamma,
    "J": _Bessel(jv),
    "K": _Bessel(kv),
}


def value(formula: Formula, kernel: Kernel, x: Any, y: Any) -> float:
    """Evaluate a formula, with Python for a grammar of its own."""
    known = {**KNOWN, "B": getattr(kernel, "B", None)}

    def at(expression: ast.expr, a: Any, b: Any) -> Any:
        tree = ast.fix_missing_locations(ast.Expression(_Loops().visit(deepcopy(expression))))
        names = {**known, "x": a, "y": b, "p": np.size(a), "coordinates": range(np.size(a))}
        return eval(compile(tree, "formula", "eval"), names)  # noqa: S307  (our own text)

    for letter, inside in formula.where.items():
        known[letter] = lambda a, b, inside=inside: at(inside, a, b)
    return float(at(formula.expression, x, y))


@pytest.mark.parametrize("kernel", ON_VECTORS, ids=repr)
def test_formulas_are_the_values_of_kernels(kernel: Kernel) -> None:
    formula = formula_of(kernel)
    assert formula is not None
    expected: Array = kernel(X, Y)
    for i, j in ((0, 1), (3, 3), (7, 2)):
        assert value(formula, kernel, X[i], Y[j]) == pytest.approx(expected[i, j], rel=1e-9)


@pytest.mark.parametrize("kernel", [mc.kernels.Brownian(), mc.kernels.CubicSpline()], ids=repr)
def test_formulas_of_splines_are_their_values(kernel: Kernel) -> None:
    formula = formula_of(kernel)
    assert formula is not None
    for x, y in ((0.5, 1.0), (2.0, 0.3)):
        assert value(formula, kernel, x, y) == pytest.approx(kernel([x], [y])[0, 0])


@pytest.mark.parametrize(
    "kernel", [mc.kernels.Intersection(), mc.kernels.Jaccard(), mc.kernels.AllSubsets()], ids=repr
)
def test_formulas_on_sets_are_their_values(kernel: Kernel) -> None:
    formula, x, y = formula_of(kernel), frozenset("abcd"), frozenset("cde")
    assert formula is not None
    assert value(formula, kernel, x, y) == pytest.approx(kernel([x], [y])[0, 0])


def test_a_formula_that_is_another_kernel_is_noticed() -> None:
    """The negative control: a factor 2 too few."""
    wrong = Formula(ast.parse("exp(-norm(x - y)**2)", mode="eval").body, {})
    right = mc.Gaussian(1.0)(X[:1], Y[:1])[0, 0]
    assert value(wrong, mc.Gaussian(1.0), X[0], Y[0]) != pytest.approx(right, rel=1e-9)


def test_kernels_without_a_formula_leave_expressions_without_one() -> None:
    silent = mc.FromFunction(lambda a, b: 1.0)
    for kernel in (silent, silent + mc.Linear(), silent.normalised(), 2.0 * silent.exp()):
        assert formula_of(kernel) is None


def test_simplification_leaves_no_ones_and_no_fractions_of_fractions() -> None:
    assert str(formula_of(mc.Gaussian(1.0))) == "exp(-(norm(x - y) ** 2 / 2))"
    assert str(formula_of(mc.Polynomial(1, 0.0, 1.0))) == "inner(x, y)"
    assert str(formula_of(mc.kernels.RationalQuadratic(1.0, 0.5))) == (
        "(1 + norm(x - y) ** 2 / (2 * 0.5 ** 2)) ** (-1.0)"
    )
