r"""Products K V in one pass on a GPU: tiles of K live in registers and are never written.

Operands are split into two numbers of half precision, so that tensor cores multiply them:

.. math:: x \approx x_h + x_l, \quad x \cdot y \approx x_h \cdot y_l + x_l \cdot y_h + x_h \cdot y_h

and the same for values of the kernel and the vectors they multiply. Tensor cores add products in
single precision and round towards zero, which would pile up: they add a few hundred terms, and
such sums are added by Kahan's rule. `mercer.engines.fused` bounds what all of this rounds.

This module imports triton; `mercer.engines.gpu` imports it where there is a GPU.
"""

# mypy: ignore-errors
from __future__ import annotations

import ast
import linecache
import re
from functools import cache

import triton
import triton.language as tl

from mercer.engines.trace import FUNCTIONS


@triton.jit(do_not_specialize=["n", "begin", "count"])
def product(  # noqa: PLR0913, PLR0915, PLR0917
    X, Y, x_norms, y_norms, x_offsets, y_offsets, V, OUT, constants,
    n, span, columns, begin, count,
    formula: tl.constexpr,
    WIDTH: tl.constexpr, K: tl.constexpr, PARTS: tl.constexpr, B: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TERMS: tl.constexpr,
):  # fmt: skip
    """Write the products of a block of rows with one share of the columns.

    X and Y hold halves, WIDTH a point; the K first of them meet those of the other side. In one of
    the PARTS, ``count`` high halves, as many low ones and the high ones again meet low, high and
    high ones. With two PARTS, high and low halves lie K apart. V has B high halves a point, then B
    low ones.
    """
    block = tl.program_id(0)
    share = tl.program_id(1)
    rows = block * ROWS + tl.arange(0, ROWS)
    is_row = rows < n
    places = tl.arange(0, K)
    few = tl.arange(0, B)
    x_norm = tl.load(x_norms + rows, mask=is_row, other=0.0)
    x_offset = tl.load(x_offsets + rows, mask=is_row, other=0.0)
    of_x = places
    if PARTS == 1:
        of_x = tl.where(places < count, places + count, places)
        of_x = tl.where((places >= count) & (places < 2 * count), places - count, of_x)
    at = X + rows.to(tl.int64)[:, None] * WIDTH + of_x[None, :]
    if PARTS <= 2:
        x_high = tl.load(at, mask=is_row[:, None], other=0.0)
    if PARTS == 2:
        x_low = tl.load(at + K, mask=is_row[:, None], other=0.0)
    total = tl.zeros((ROWS, B), tl.float32)
    lost = tl.zeros((ROWS, B), tl.float32)
    first = share * span
    last = tl.minimum(first + span, columns)
    for start in range(first, last, TERMS):
        high = tl.zeros((ROWS, B), tl.float32)
        low = tl.zeros((ROWS, B), tl.float32)
        for here in range(start, start + TERMS, COLUMNS):
            others = here + tl.arange(0, COLUMNS)
            that = Y + others.to(tl.int64)[None, :] * WIDTH + places[:, None]
            if PARTS == 1:
                inner = tl.dot(x_high, tl.load(that))
            elif PARTS == 2:
                y_high = tl.load(that)
                inner = tl.dot(x_low, y_high)
                inner = tl.dot(x_high, tl.load(that + K), inner)
                inner = tl.dot(x_high, y_high, inner)
            else:  # too many coordinates to be held: K of them at a time
                inner = tl.zeros((ROWS, COLUMNS), tl.float32)
                for piece in range(0, WIDTH, 2 * K):
                    x_high = tl.load(at + piece, mask=is_row[:, None], other=0.0)
                    x_low = tl.load(at + piece + K, mask=is_row[:, None], other=0.0)
                    y_high = tl.load(that + piece)
                    inner = tl.dot(x_low, y_high, inner)
                    inner = tl.dot(x_high, tl.load(that + piece + K), inner)
                    inner = tl.dot(x_high, y_high, inner)
            y_norm = tl.load(y_norms + others)
            values = formula(
                inner, x_norm[:, None], y_norm[None, :],
                x_offset[:, None], tl.load(y_offsets + others)[None, :],
                (begin + rows)[:, None] == others[None, :], constants,
            )  # fmt: skip
            bits = values.to(tl.uint32, bitcast=True) & 0xFFFFE000  # those that a half has
            upper = bits.to(tl.float32, bitcast=True)
            halves = upper.to(tl.float16)
            rest = (values - upper).to(tl.float16)
            v = V + others.to(tl.int64)[:, None] * (2 * B) + few[None, :]
            v_high = tl.load(v)
            low = tl.dot(rest, v_high, low)
            low = tl.dot(halves, tl.load(v + B), low)
            high = tl.dot(halves, v_high, high)
        part = low + high - lost
        sum_ = total + part
        lost = (sum_ - total) - part
        total = sum_
    where = share.to(tl.int64) * n * B + rows.to(tl.int64)[:, None] * B + few[None, :]
    result = total.to(tl.float64) - lost.to(tl.float64)
    tl.store(OUT + where, result, mask=is_row[:, None])


def compiled(lines: list[str]):
    """Return a function of a tile's inner products, norms and offsets, and its constants.

    Numbers are read when it runs: kernels of one form and other parameters share one compilation.
    """
    tree = ast.parse("\n".join(["def formula():", *(f"    {line}" for line in lines)]))
    constants = Constants()
    body = ast.unparse(constants.visit(tree)).splitlines()[1:]
    loads = [f"    c{i} = tl.load(constants + {i})" for i in range(len(constants.values))]
    text = "\n".join([HEAD, *loads, *(CALLS.sub("tl.", line) for line in body)])
    return _function(f"{text}\n"), constants.values


HEAD = """@triton.jit
def formula(inner, x_norm, y_norm, x_offset, y_offset, is_same, constants):"""


class Constants(ast.NodeTransformer):
    """Puts names in the place of numbers, whose values it keeps."""

    def __init__(self):
        self.values = []

    def visit_Constant(self, node):  # noqa: N802  (the name that is called)
        self.values.append(float(node.value))
        return ast.Name(f"c{len(self.values) - 1}", ast.Load())


@cache
def _function(text):
    """Return the function that a text defines, one for each text."""
    name = f"<formula {hash(text):x}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)  # which triton reads
    names = {"triton": triton, "tl": tl, "__name__": __name__}
    exec(compile(text, name, "exec"), names)
    return names["formula"]


CALLS = re.compile(rf"\b(?=({'|'.join(FUNCTIONS)})\()")
"""Where a line calls a function, all of which triton has."""
