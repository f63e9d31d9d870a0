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
def product(  # noqa: PLR0913, PLR0917
    X, Y, x_norms, y_norms, x_offsets, y_offsets, V, OUT, constants,
    n, span, columns, begin, count,
    formula: tl.constexpr,
    WIDTH: tl.constexpr, K: tl.constexpr, PARTS: tl.constexpr, B: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TERMS: tl.constexpr,
):  # fmt: skip
    """Write the products of a block of rows with one share of the columns.

    X and Y hold halves, WIDTH a point; the K first of them meet those of the other side. In one of
    the PARTS, ``count`` high halves, as many low ones and the high ones again meet low, high and
    high ones. With two PARTS, high and low halves lie K apart. With no PARTS, K numbers of each
    coordinate make its difference from that of the other side. V has B high halves a point, then
    B low ones.
    """
    block = tl.program_id(0)
    share = tl.program_id(1)
    rows = block * ROWS + tl.arange(0, ROWS)
    is_row = rows < n
    places = tl.arange(0, K)
    few = tl.arange(0, B)
    x_norm = tl.load(x_norms + rows, mask=is_row, other=0.0)
    x_offset = tl.load(x_offsets + rows, mask=is_row, other=0.0)
    of_x = _partners(places, 2 if PARTS == 0 else count) if PARTS <= 1 else places
    at = X + rows.to(tl.int64)[:, None] * WIDTH + of_x[None, :]
    x_0, x_1, x_2 = _kept(at, is_row[:, None], places, WIDTH, K, PARTS)
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
            if PARTS == 0:
                sums = _squared_gaps(x_0, x_1, x_2, that, WIDTH, K)
            elif PARTS <= 2:
                sums = _inner_products(x_0, x_1, that, K, PARTS)
            else:
                sums = _long_inner_products(at, is_row[:, None], that, WIDTH, K)
            y_norm = tl.load(y_norms + others)
            values = formula(
                sums, x_norm[:, None], y_norm[None, :],
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


@triton.jit
def _partners(places, count):
    """Return where the left side reads what meets the right one: two runs change places."""
    found = tl.where(places < count, places + count, places)
    return tl.where((places >= count) & (places < 2 * count), places - count, found)


@triton.jit
def _kept(at, is_row, places, WIDTH: tl.constexpr, K: tl.constexpr, PARTS: tl.constexpr):
    """Return what stays of a block of rows: one part or two of halves, or up to three coordinates.

    Of more parts nothing stays.
    """
    x_0 = tl.load(at, mask=is_row, other=0.0)
    x_1 = x_0
    x_2 = x_0
    if PARTS == 2:
        x_1 = tl.load(at + K, mask=is_row, other=0.0)
    if PARTS == 0:
        sign = tl.where(places < 2, 1.0, -1.0).to(tl.float16)[None, :]
        x_0 *= sign
        if WIDTH > K:
            x_1 = tl.load(at + K, mask=is_row, other=0.0) * sign
        if WIDTH > 2 * K:
            x_2 = tl.load(at + 2 * K, mask=is_row, other=0.0) * sign
    return x_0, x_1, x_2


@triton.jit
def _squared_gaps(x_0, x_1, x_2, that, WIDTH: tl.constexpr, K: tl.constexpr):
    """Return the sums of squared differences of one, two or three coordinates."""
    gap = tl.dot(x_0, tl.load(that))
    sums = gap * gap
    if WIDTH > K:
        gap = tl.dot(x_1, tl.load(that + K))
        sums += gap * gap
    if WIDTH > 2 * K:
        gap = tl.dot(x_2, tl.load(that + 2 * K))
        sums += gap * gap
    return sums


@triton.jit
def _inner_products(x_high, x_low, that, K: tl.constexpr, PARTS: tl.constexpr):
    """Return the inner products of halves in one part, or in two."""
    y_high = tl.load(that)
    if PARTS == 1:
        return tl.dot(x_high, y_high)
    sums = tl.dot(x_low, y_high)
    sums = tl.dot(x_high, tl.load(that + K), sums)
    return tl.dot(x_high, y_high, sums)


@triton.jit
def _long_inner_products(at, is_row, that, WIDTH: tl.constexpr, K: tl.constexpr):
    """Return the inner products of more coordinates than can be kept: K of them at a time."""
    sums = tl.zeros((at.shape[0], that.shape[1]), tl.float32)
    for piece in range(0, WIDTH, 2 * K):
        x_high = tl.load(at + piece, mask=is_row, other=0.0)
        x_low = tl.load(at + piece + K, mask=is_row, other=0.0)
        y_high = tl.load(that + piece)
        sums = tl.dot(x_low, y_high, sums)
        sums = tl.dot(x_high, tl.load(that + piece + K), sums)
        sums = tl.dot(x_high, y_high, sums)
    return sums


def compile_formula(lines: list[str]):
    """Return a function of a tile's sums, norms and offsets, and its constants.

    Numbers are read when it runs: kernels of one form and other parameters share one compilation.
    """
    tree = ast.parse("\n".join(["def formula():", *(f"    {line}" for line in lines)]))
    constants = Constants()
    body = ast.unparse(constants.visit(tree)).splitlines()[1:]
    loads = [f"    c{i} = tl.load(constants + {i})" for i in range(len(constants.values))]
    text = "\n".join([HEAD, *loads, *(CALLS.sub("tl.", line) for line in body)])
    return _function(f"{text}\n"), constants.values


HEAD = """@triton.jit
def formula(sums, x_norm, y_norm, x_offset, y_offset, is_same, constants):"""


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
