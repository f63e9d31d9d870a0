"""Formulas typeset as MathML, which browsers show without any library."""

from __future__ import annotations

import ast
from typing import Any

from mercer.kernels.base import Kernel
from mercer.kernels.formulas import formula_of
from mercer.page.text import escaped, short

SUM, SIGN, PRODUCT, FRACTION, POWER, ATOM = range(6)
"""How tightly a typeset piece binds."""

Piece = tuple[str, int]

SYMBOLS = {"pi": "π", "psi": "ψ", "phi": "φ", "delta": "δ", "Gamma": "Γ", "nu": "ν"}
DELIMITERS = {"norm": ("‖", "‖"), "inner": ("⟨", "⟩"), "size": ("|", "|"), "abs": ("|", "|")}
LARGE = {"sum": "∑", "prod": "∏"}
MARKS = {ast.BitAnd: "∩", ast.BitOr: "∪", ast.MatMult: ""}


def mathml(kernel: Any) -> str | None:
    """Return k(x, y) = … as MathML, None for what has no formula.

    >>> from mercer import Linear
    >>> "⟨" in mathml(2.0 * Linear()), mathml(object()) is None
    (True, True)
    """
    formula = formula_of(kernel) if isinstance(kernel, Kernel) else None
    if formula is None:
        return None
    parts = [_row(_i("k"), _brackets(_row(_i("x"), _o(","), _i("y"))), _o("="))]
    parts.append(_piece(formula.expression)[0])
    for letter, inside in formula.where.items():
        parts += [_o(","), _i(letter), _o("="), _piece(inside)[0]]
    return f'<math display="block">{_row(*parts)}</math>'


def _i(name: str) -> str:
    return f"<mi>{escaped(SYMBOLS.get(name, name))}</mi>"


def _o(mark: str) -> str:
    return f"<mo>{escaped(mark)}</mo>"


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _brackets(inside: str) -> str:
    return _row(_o("("), inside, _o(")"))


def _listed(nodes: list[ast.expr]) -> str:
    return _row(_o(",").join(_piece(node)[0] for node in nodes))


def _within(node: ast.expr, binds: int) -> str:
    """Return an expression, in brackets if it binds less tightly than asked."""
    text, own = _piece(node)
    return text if own >= binds else _brackets(text)


def _piece(node: ast.expr) -> Piece:
    match node:
        case ast.Constant(value):
            return _value(value)
        case ast.Name(name):
            return _i(name), ATOM
        case ast.UnaryOp(ast.USub(), inside):
            return _row(_o("−"), _within(inside, PRODUCT)), SUM
        case ast.Subscript(value, index):
            nodes = index.elts if isinstance(index, ast.Tuple) else [index]
            return f"<msub>{_piece(value)[0]}{_row(*(_piece(n)[0] for n in nodes))}</msub>", ATOM
        case ast.Call():
            return _call(node)
        case ast.BinOp():
            return _operation(node)
    raise NotImplementedError(ast.dump(node))  # no kernel states such a formula


def _value(value: Any) -> Piece:
    if isinstance(value, tuple):
        return _i("ℓ"), ATOM
    if isinstance(value, str):
        return f"<mtext>{escaped(value)}</mtext>", ATOM
    return f"<mn>{escaped(short(float(value)))}</mn>", ATOM if value >= 0 else SUM


def _operation(node: ast.BinOp) -> Piece:
    left, right = node.left, node.right
    match node.op:
        case ast.Add() | ast.Sub():
            mark = "+" if isinstance(node.op, ast.Add) else "−"
            return _row(_within(left, SUM), _o(mark), _within(right, SIGN)), SUM
        case ast.Mult():
            return _row(_within(left, PRODUCT), _o("·"), _within(right, PRODUCT)), PRODUCT
        case ast.Div():
            return f"<mfrac>{_piece(left)[0]}{_piece(right)[0]}</mfrac>", FRACTION
        case ast.Pow():
            exponent = _piece(right)[0]
            if isinstance(left, ast.Call) and getattr(left.func, "id", "") in ("sin", "cos"):
                power = f"<msup>{_piece(left.func)[0]}{exponent}</msup>"
                return _row(power, _brackets(_listed(left.args))), POWER
            return f"<msup>{_within(left, ATOM)}{exponent}</msup>", POWER
    mark = _o(MARKS[type(node.op)]) if MARKS[type(node.op)] else ""
    return _row(_within(left, PRODUCT), mark, _within(right, PRODUCT)), PRODUCT


def _call(node: ast.Call) -> Piece:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name == "sqrt":
        return f"<msqrt>{_piece(node.args[0])[0]}</msqrt>", ATOM
    if name in LARGE:
        index, body = node.args
        large = f"<munder>{_o(LARGE[name])}{_piece(index)[0]}</munder>"
        return _row(large, _within(body, PRODUCT)), SIGN
    if name == "norm" and len(node.args) == 2:
        length = _call(ast.Call(node.func, node.args[:1], []))[0]
        return f"<msub>{length}{_piece(node.args[1])[0]}</msub>", ATOM
    if name in DELIMITERS:
        before, after = DELIMITERS[name]
        return _row(_o(before), _listed(node.args), _o(after)), ATOM
    return _row(_piece(node.func)[0], _brackets(_listed(node.args))), POWER
