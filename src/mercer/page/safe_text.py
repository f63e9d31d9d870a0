"""Words, numbers and formulas made safe for a page, and how much of them it shows."""

from __future__ import annotations

import ast
import base64
import json
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from mercer.display import LONGEST as LONGEST
from mercer.display import clean as clean
from mercer.display import listing as listing
from mercer.display import percent as percent
from mercer.display import short as short
from mercer.display import spaced
from mercer.kernels.base import Kernel
from mercer.kernels.formulas import formula_of


@dataclass(frozen=True)
class PageLimits:
    """Counts up to which a page shows each thing, beside those of its pictures.

    >>> PageLimits().axes
    10
    """

    bytes: int = 10_000_000
    """Bytes of a page: mail takes it, and every browser opens it."""

    fewest_points: int = 1_000
    """Individuals shown one by one where a page with a larger sample would be too large."""

    coordinates: int = 200_000
    """Coordinates of all individuals up to which more axes than those are told."""

    many: int = 200_000
    """Individuals above which fewer axes are told."""

    axes_of_many: int = 4
    """Axes that are told of so many."""

    axes: int = 10
    """Axes that a reader can choose."""

    coloured_cells: int = 500_000
    """Entries of all columns of numbers by which individuals can be coloured: 3 MB of a page."""

    fewest_clustered: int = 6
    """Individuals from which on classes are sought."""

    clustered: int = 20_000
    """Individuals up to which classes are sought: a second or two."""

    live: int = 1_000
    """Individuals up to which a live page seeks classes and tests its axes."""

    levels: int = 60
    """Levels of a factor up to which its categories are placed on the axes."""

    doubtful: int = 200
    """Individuals with missing numbers up to which a map shows where they could lie as well."""

    linked: int = 2_000
    """Variables that pictures of any two axes can show."""

    cells: int = 20_000
    """Cells of a table."""

    static_rows: int = 200
    """Rows of a table that stand in the page for readers without scripts."""

    supplementary: int = 2_000
    """Supplementary individuals that stand in a table."""

    functions: int = 4
    """Axes that are drawn as functions of variables."""

    grid: int = 41
    """Places of the grids of such functions, on each side."""

    matrix: int = 160
    """Individuals of the picture of a Gram matrix, on each side."""

    distances: int = 60
    """Individuals up to which a matrix of distances is drawn."""

    shepard: int = 400
    """Individuals whose pairs Shepard's diagram shows."""

    slopes: int = 50_000_000
    """Slopes of the kernel that are computed for arrows: a second or two."""


PAGE = PageLimits()
"""The limits of every page."""


SINGLE = (1e-30, 1e30)
"""Moduli that single precision holds with all its digits."""


def escaped(label: object) -> str:
    """Return a name as text of a document, in which nothing is a mark.

    >>> escaped("<script>")
    '&lt;script&gt;'
    """
    return escape(clean(label), quote=True)


def embed_text(value: Any) -> str:
    r"""Return a value as JSON that can stand in a script element and cannot end it.

    >>> embed_text({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=packed)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def packed(values: Any) -> dict[str, Any]:
    """Return an array as the base64 text of its numbers, in single precision where that will do."""
    a = np.asarray(values)
    if a.dtype.kind == "f":
        sizes = np.abs(a[np.isfinite(a) & (a != 0)])
        fits = sizes.size == 0 or (SINGLE[0] < sizes.min() and sizes.max() < SINGLE[1])
        a = a.astype("<f4" if fits else "<f8")
    elif a.dtype != np.uint8:
        a = a.astype("<i4")
    form = {"f4": "Float32", "f8": "Float64", "u1": "Uint8", "i4": "Int32"}[a.dtype.str[1:]]
    data = base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()
    return {"type": form, "shape": list(a.shape), "data": data}


def count_of(number: int, noun: str) -> str:
    """Return so many of something.

    >>> count_of(1, "axis"), count_of(12_000, "individual")
    ('1 axis', '12\N{NO-BREAK SPACE}000 individuals')
    """
    many = {"axis": "axes", "class": "classes"}.get(noun, f"{noun}s")
    return f"{spaced(number)} {noun if number == 1 else many}"


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
