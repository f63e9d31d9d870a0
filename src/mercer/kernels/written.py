"""How kernels and the values of their parameters are spelt."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from mercer.points import FrozenArray
from mercer.points import FrozenRow as FrozenRow  # where older pickles look for it

Name: TypeAlias = Callable[[str], str]

LONGEST_TEXT = 10_000
"""The longest written form, in characters, that is read or printed."""

DEEPEST = 50
"""Brackets or operations inside each other: more than people write, too few to exhaust a stack."""

LONGEST_NUMBER = 40
"""Characters of a number; a double needs at most 24."""

LARGEST_POWER = 1000
"""Beyond this power only values near 1 stay in the range of doubles."""

# How tightly a piece of the written form binds, as in Python.
SUM, PRODUCT, POWER, ATOM = range(4)


@runtime_checkable
class HasText(Protocol):
    """A value with a written form, which binds more or less tightly."""

    def text(self, name: Name) -> tuple[str, int]: ...


def literal(v: Any, name: Name) -> str:
    """Return a parameter's value as the written form spells it, or say that it cannot."""
    if isinstance(v, np.generic):
        v = v.item()
    if isinstance(v, HasText):
        return v.text(name)[0]
    if isinstance(v, str):
        return json.dumps(v, ensure_ascii=False)
    if isinstance(v, complex):
        return f"complex({v.real!r}, {v.imag!r})"
    if isinstance(v, FrozenArray):
        if v.array.size > LONGEST_TEXT:  # each number takes at least one character
            return f"<array of shape {v.array.shape}: too long to write>"
        return literal(v.array.tolist(), name)
    if isinstance(v, tuple | list):
        return f"[{', '.join(literal(part, name) for part in v)}]"
    if isinstance(v, frozenset):
        inside = ", ".join(sorted(literal(part, name) for part in v))
        return f"{{{inside}}}" if v else "frozenset()"
    if v is None or isinstance(v, bool | float):
        return repr(v)
    if isinstance(v, int) and len(str(v)) <= LONGEST_NUMBER:
        return repr(v)
    what = f"function {getattr(v, '__name__', '')}" if callable(v) else type(v).__name__
    return f"<{what.strip()}: no written form>"


def wrap(kernel: HasText, name: Name, tightness: int) -> str:
    """Return a kernel's written form, in brackets if it binds less tightly than asked."""
    text, binds = kernel.text(name)
    return text if binds >= tightness else f"({text})"


def snake(name: str) -> str:
    """Return a class name in lower case with underscores.

    >>> snake("RationalQuadratic")
    'rational_quadratic'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
