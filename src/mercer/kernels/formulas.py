"""Formulas of kernels as expressions, to be typeset and to be evaluated.

A kernel states its formula in Python's arithmetic: of the points x and y, of its parameters and of
the kernels it is made of, by their names, and of what its class gives a symbol.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from mercer.kernels.base import Kernel

LETTERS = "hgfuvw"
"""Names of kernels whose values at several pairs of points a formula needs."""


class Formula(NamedTuple):
    """An expression, and the expressions of the kernels that it calls by a letter."""

    expression: ast.expr
    where: dict[str, ast.expr]

    def __str__(self) -> str:
        parts = [self.expression, *self.where.values()]
        texts = [ast.unparse(ast.fix_missing_locations(part)) for part in parts]
        letters = ["", *(f"{letter} = " for letter in self.where)]
        return ", ".join(f"{left}{text}" for left, text in zip(letters, texts, strict=True))


def formula_of(kernel: Kernel) -> Formula | None:
    """Return the formula of an expression of kernels, None where a part of it states none.

    >>> from mercer import Gaussian, Linear
    >>> print(formula_of(0.1 * Gaussian(0.5) + Linear()))
    0.1 * exp(-(norm(x - y) ** 2 / (2 * 0.5 ** 2))) + inner(x, y)
    >>> print(formula_of(Linear().normalised()))
    h(x, y) / sqrt(h(x, x) * h(y, y)), h = inner(x, y)
    """
    where: dict[str, ast.expr] = {}
    found = _expression(kernel, where)
    return None if found is None or None in where.values() else Formula(found, where)


def _expression(kernel: Kernel, where: dict[str, Any]) -> ast.expr | None:
    if not kernel.formula:
        return None
    filled = _Substituted(kernel, where)
    expression = filled.visit(_parsed(kernel.formula))
    return None if filled.is_missing else _Simplified().visit(expression)


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class _Substituted(ast.NodeTransformer):
    """A formula with parameters, symbols and kernels in the place of their names."""

    def __init__(self, kernel: Kernel, where: dict[str, Any]) -> None:
        self.kernel, self.where, self.is_missing = kernel, where, False
        self.fields = kernel.fields()
        self.parts = {f"k{n}" if n.isdigit() else n: k for n, k in kernel.children().items()}
        self.letters: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.kernel.symbols:
            return self.visit(_parsed(self.kernel.symbols[node.id]))  # type: ignore[no-any-return]
        if node.id in self.parts:
            found = _expression(self.parts[node.id], self.where)
            self.is_missing |= found is None
            return node if found is None else found
        value = self.fields.get(node.id)
        is_row = isinstance(value, tuple) and not isinstance(value[0], tuple)
        is_known = is_row or isinstance(value, int | float | str)
        return ast.Constant(value) if is_known else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        arguments = [self.visit(argument) for argument in node.args]
        function = node.func
        if isinstance(function, ast.Subscript):
            function = ast.Subscript(function.value, self.visit(function.slice), ast.Load())
        elif isinstance(function, ast.Name) and function.id in self.parts:
            function = ast.Name(self._letter(function.id), ast.Load())
        return ast.Call(function, arguments, [])

    def _letter(self, part: str) -> str:
        if part not in self.letters:
            letter = next((name for name in LETTERS if name not in self.where), "")
            self.letters[part], self.where[letter] = letter, None
            self.where[letter] = _expression(self.parts[part], self.where)
        return self.letters[part]


def _is(node: ast.expr, number: float) -> bool:
    return isinstance(node, ast.Constant) and node.value == number


class _Simplified(ast.NodeTransformer):
    """An expression without factors 1, terms 0 and fractions of fractions."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        match node.op:
            case ast.Mult() | ast.Div() if isinstance(left, ast.UnaryOp):
                inside = self.visit_BinOp(ast.BinOp(left.operand, node.op, right))
                return ast.UnaryOp(left.op, inside)
            case ast.Mult() if _is(left, 1.0):
                return right  # type: ignore[no-any-return]
            case ast.Mult() | ast.Div() | ast.Pow() if _is(right, 1.0):
                return left  # type: ignore[no-any-return]
            case ast.Pow() if _is(left, 1.0):
                return left  # type: ignore[no-any-return]
            case ast.Add() if _is(right, 0.0):
                return left  # type: ignore[no-any-return]
            case ast.Div() if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div):
                below = self.visit_BinOp(ast.BinOp(right, ast.Mult(), left.right))
                return ast.BinOp(left.left, ast.Div(), below)
        return ast.BinOp(left, node.op, right)
