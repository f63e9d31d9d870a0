"""Words that come from data, made harmless: for the page, for its JSON and for numbers in prose."""

from __future__ import annotations

import base64
import json
import re
from html import escape
from typing import Any

import numpy as np

LONGEST = 120
"""Characters of a name that a page shows; the rest is cut, with a mark."""

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls, which no font shows, among them those that turn the direction of a whole line."""

SINGLE = (1e-30, 1e30)
"""Moduli that single precision holds with all its digits."""


def clean(label: object, longest: int = LONGEST) -> str:
    r"""Return a name on one line, without controls, cut where it is too long to be one.

    >>> clean("two\nlines")
    'two lines'
    """
    text = CONTROL.sub(" ", str(label)[: longest + 1])
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def escaped(label: object) -> str:
    """Return a name as text of a document, in which nothing is a mark.

    >>> escaped("<script>")
    '&lt;script&gt;'
    """
    return escape(clean(label), quote=True)


def embedded(value: Any) -> str:
    r"""Return a value as JSON that can stand in a script element and cannot end it.

    >>> embedded({"name": "</script>"})
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


def short(value: float) -> str:
    """Return a number as prose shows it.

    >>> short(3.14159), short(7313.4), short(1234567.0), short(0.00012), short(-2.0)
    ('3.14', '7313', '1.23e+06', '0.00012', '\N{MINUS SIGN}2')
    """
    text = f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"
    return text.replace("-", "\N{MINUS SIGN}", 1) if text.startswith("-") else text


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.71), percent(0.0523)
    ('71 %', '5.2 %')
    """
    value = 100.0 * share
    return f"{value:.0f} %" if value >= 10.0 or value == 0.0 else f"{value:.2g} %"


def count_of(number: int, noun: str) -> str:
    """Return so many of something.

    >>> count_of(1, "axis"), count_of(12_000, "individual")
    ('1 axis', '12\N{NO-BREAK SPACE}000 individuals')
    """
    many = {"axis": "axes"}.get(noun, f"{noun}s")
    digits = f"{number:,}".replace(",", "\N{NO-BREAK SPACE}")
    return f"{digits} {noun if number == 1 else many}"


def listing(words: list[str]) -> str:
    """Return words as a list in a sentence.

    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
