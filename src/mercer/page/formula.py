"""Kernels typeset: their formulas as MathML, which browsers show without any library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.kernels.algebra import (
    Constant,
    Exponential,
    Power,
    Product,
    Scaled,
    Sum,
)
from mercer.kernels.functions import Delta, Precomputed
from mercer.kernels.metric import GaussianOf, Normalised
from mercer.kernels.radial import Gaussian, Laplacian, Matern, NegativeDistance, RationalQuadratic
from mercer.kernels.sets import AllSubsets, Intersection
from mercer.kernels.spectral import Periodic
from mercer.kernels.vectors import Linear, Polynomial, Sigmoid
from mercer.page.text import escaped, short

SUM, PRODUCT, ATOM = range(3)
"""How tightly a typeset piece binds."""

HALVES = {0.5: "", 1.5: "3", 2.5: "5"}
"""Orders of Matérn's kernel that have a closed form, and the number under their root."""

Piece = tuple[str, int]


def _i(name: str) -> str:
    return f"<mi>{escaped(name)}</mi>"


def _o(mark: str) -> str:
    return f"<mo>{escaped(mark)}</mo>"


def _n(value: Any) -> str:
    if isinstance(value, tuple | list | np.ndarray):
        return _i("ℓ")
    return f"<mn>{escaped(short(float(value)))}</mn>"


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _over(above: str, below: str) -> str:
    return f"<mfrac>{above}{below}</mfrac>"


def _power(base: str, exponent: str) -> str:
    return f"<msup>{base}{exponent}</msup>"


def _brackets(inside: str) -> str:
    return _row(_o("("), inside, _o(")"))


X, Y = _i("x"), _i("y")
INNER = _row(_o("⟨"), X, _o(","), Y, _o("⟩"))
GAP = _row(_o("‖"), X, _o("−"), Y, _o("‖"))
GAP2 = _power(GAP, "<mn>2</mn>")


def _exp(inside: str) -> str:
    return _row(_i("exp"), _brackets(inside))


def _scaled_gap2(length: Any) -> str:
    below = _row("<mn>2</mn>", _o("·"), _power(_n(length), "<mn>2</mn>"))
    if isinstance(length, tuple):
        j = _i("j")
        gap = _brackets(_row(f"<msub>{X}{j}</msub>", _o("−"), f"<msub>{Y}{j}</msub>"))
        below = _row("<mn>2</mn>", f"<msubsup>{_i('ℓ')}{j}<mn>2</mn></msubsup>")
        return _row(f"<munder>{_o('∑')}{j}</munder>", _over(_power(gap, "<mn>2</mn>"), below))
    return _over(GAP2, below)


def _gaussian(k: Gaussian) -> Piece:
    return _exp(_row(_o("−"), _scaled_gap2(k.bandwidth))), ATOM


def _laplacian(k: Laplacian) -> Piece:
    norm = _n(k.norm) if np.isfinite(k.norm) else _i("∞")
    return _exp(_row(_o("−"), _over(f"<msub>{GAP}{norm}</msub>", _n(k.bandwidth)))), ATOM


def _matern(k: Matern) -> Piece | None:
    if float(k.nu) not in HALVES:
        return None
    root = HALVES[float(k.nu)]
    r = _over(GAP, _n(k.bandwidth))
    scaled = _row(f"<msqrt><mn>{root}</mn></msqrt>", r) if root else r
    decay = _exp(_row(_o("−"), scaled))
    if not root:
        return decay, ATOM
    square = _row(_o("+"), _over("<mn>5</mn>", "<mn>3</mn>"), _power(_brackets(r), "<mn>2</mn>"))
    ahead = _row("<mn>1</mn>", _o("+"), scaled, square if root == "5" else "")
    return _row(_brackets(ahead), decay), PRODUCT


def _rational(k: RationalQuadratic) -> Piece:
    twice = _row("<mn>2</mn>", _o("·"), _n(k.shape), _o("·"), _power(_n(k.bandwidth), "<mn>2</mn>"))
    base = _brackets(_row("<mn>1</mn>", _o("+"), _over(GAP2, twice)))
    return _power(base, _row(_o("−"), _n(k.shape))), ATOM


def _polynomial(k: Polynomial) -> Piece:
    scale = "" if k.scale == 1 else _row(_n(k.scale), _o("·"))
    offset = "" if k.offset == 0 else _row(_o("+"), _n(k.offset))
    return _power(_brackets(_row(scale, INNER, offset)), _n(k.degree)), ATOM


def _sigmoid(k: Sigmoid) -> Piece:
    return _row(
        _i("tanh"), _brackets(_row(_n(k.scale), _o("·"), INNER, _o("+"), _n(k.offset)))
    ), ATOM


def _periodic(k: Periodic) -> Piece:
    j = _i("j")
    gap = _row(f"<msub>{X}{j}</msub>", _o("−"), f"<msub>{Y}{j}</msub>")
    turn = _over(_row(_i("π"), _brackets(gap)), _n(k.period))
    sine = _row(f"<msup>{_i('sin')}<mn>2</mn></msup>", _brackets(turn))
    below = _power(_n(k.bandwidth), "<mn>2</mn>")
    inside = _row(_o("−"), _over(_row("<mn>2</mn>", sine), below))
    return _row(f"<munder>{_o('∏')}{j}</munder>", _exp(inside)), PRODUCT


def _negative_distance(k: NegativeDistance) -> Piece:
    return _row(_o("−"), _power(_brackets(_over(GAP, _n(k.bandwidth))), _n(k.exponent))), SUM


def _joined(parts: tuple[Any, ...], mark: str, binds: int) -> Piece | None:
    pieces = [_within(part, binds) for part in parts]
    if None in pieces:
        return None
    text = _o(mark).join(str(piece) for piece in pieces)
    return _row(text), binds


def _scaled(k: Scaled) -> Piece | None:
    inside = _within(k.kernel, PRODUCT)
    return None if inside is None else (_row(_n(k.weight), _o("·"), inside), PRODUCT)


def _raised(k: Power) -> Piece | None:
    inside = _within(k.kernel, ATOM)
    return None if inside is None else (_power(_brackets(inside), _n(k.power)), ATOM)


def _exponential(k: Exponential) -> Piece | None:
    inside = _within(k.kernel, SUM)
    return None if inside is None else (_exp(inside), ATOM)


def _normalised(k: Normalised) -> Piece | None:
    inside = _within(k.kernel, SUM)
    if inside is None:
        return None
    h = _i("h")
    own = [_row(h, _brackets(_row(z, _o(","), z))) for z in (X, Y)]
    quotient = _over(_row(h, _brackets(_row(X, _o(","), Y))), f"<msqrt>{_row(*own)}</msqrt>")
    return _row(quotient, _o(","), _i("h"), _o("="), inside), SUM


def _gaussian_of(k: GaussianOf) -> Piece | None:
    inside = _within(k.kernel, SUM)
    if inside is None or isinstance(k.bandwidth, str):
        return None
    square = _row(
        f"<msubsup>{_i('d')}{_i('h')}<mn>2</mn></msubsup>", _brackets(_row(X, _o(","), Y))
    )
    below = _row("<mn>2</mn>", _o("·"), _power(_n(k.bandwidth), "<mn>2</mn>"))
    decay = _exp(_row(_o("−"), _over(square, below)))
    return _row(decay, _o(","), _i("h"), _o("="), inside), SUM


def _of_sets(k: Intersection | AllSubsets) -> Piece:
    size = _row(_o("|"), X, _o("∩"), Y, _o("|"))
    return (_power("<mn>2</mn>", size) if isinstance(k, AllSubsets) else size), ATOM


TYPESET: dict[type, Callable[[Any], Piece | None]] = {
    Gaussian: _gaussian,
    Laplacian: _laplacian,
    Matern: _matern,
    RationalQuadratic: _rational,
    Polynomial: _polynomial,
    Sigmoid: _sigmoid,
    Periodic: _periodic,
    NegativeDistance: _negative_distance,
    Linear: lambda k: (INNER, ATOM),
    Constant: lambda k: (_n(k.constant), ATOM),
    Delta: lambda k: (f"<msub>{_i('δ')}{_row(X, Y)}</msub>", ATOM),
    Precomputed: lambda k: (f"<msub>{_i('K')}{_row(X, Y)}</msub>", ATOM),
    Intersection: _of_sets,
    AllSubsets: _of_sets,
    Sum: lambda k: _joined(k.terms, "+", SUM),
    Product: lambda k: _joined(k.factors, "·", PRODUCT),
    Scaled: _scaled,
    Power: _raised,
    Exponential: _exponential,
    Normalised: _normalised,
    GaussianOf: _gaussian_of,
}


def _within(kernel: Any, binds: int) -> str | None:
    """Return a kernel's typeset form, in brackets if it binds less tightly than asked."""
    typeset = TYPESET.get(type(kernel))
    found = None if typeset is None else typeset(kernel)
    if found is None:
        return None
    return found[0] if found[1] >= binds else _brackets(found[0])


def formula(kernel: Any) -> str | None:
    """Return k(x, y) = … as MathML, None for a kernel that has no formula here.

    >>> from mercer import Linear
    >>> "⟨" in formula(2.0 * Linear()), formula(object()) is None
    (True, True)
    """
    inside = _within(kernel, SUM)
    if inside is None:
        return None
    left = _row(_i("k"), _brackets(_row(X, _o(","), Y)), _o("="))
    return f'<math display="block">{_row(left, inside)}</math>'
