"""Words that come from data, made harmless: for the page, for its JSON and for numbers in prose."""

from __future__ import annotations

import base64
import json
from html import escape
from typing import Any

import numpy as np

from mercer.reading.links import LONGEST as LONGEST
from mercer.reading.links import clean as clean
from mercer.reading.links import listing as listing
from mercer.reading.links import percent as percent
from mercer.reading.links import short as short

SINGLE = (1e-30, 1e30)
"""Moduli that single precision holds with all its digits."""


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


def count_of(number: int, noun: str) -> str:
    """Return so many of something.

    >>> count_of(1, "axis"), count_of(12_000, "individual")
    ('1 axis', '12\N{NO-BREAK SPACE}000 individuals')
    """
    many = {"axis": "axes", "class": "classes"}.get(noun, f"{noun}s")
    digits = f"{number:,}".replace(",", "\N{NO-BREAK SPACE}")
    return f"{digits} {noun if number == 1 else many}"
