"""Numbers, names and lists as sentences show them."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 120
"""Characters of a name that a sentence shows; the rest is cut, with a mark."""

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls, which no font shows, among them those that turn the direction of a whole line."""


def clean(label: object, longest: int = LONGEST) -> str:
    r"""Return a name on one line, without controls, cut where it is too long to be one.

    >>> clean("two\nlines")
    'two lines'
    """
    text = CONTROL.sub(" ", str(label)[: longest + 1])
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def called(name: object) -> str:
    """Return the name of a column as sentences show it.

    >>> called("age"), called(" ")
    ('age', 'a column without a name')
    """
    return clean(name).strip() or "a column without a name"


def short(value: float) -> str:
    """Return a number as prose shows it.

    >>> short(3.14159), short(7313.4), short(999.7), short(1234567.0), short(0.00012), short(-2.0)
    ('3.14', '7313', '1000', '1.23e+06', '0.00012', '\N{MINUS SIGN}2')
    """
    text = f"{value:.0f}" if 999.5 <= abs(value) < 1e6 else f"{value:.3g}"
    return text.replace("-", "\N{MINUS SIGN}", 1) if text.startswith("-") else text


def percent(share: float) -> str:
    """Return a share in percent; what is too small to be read is 0.

    >>> percent(0.71), percent(0.0523), percent(0.00038), percent(-0.002), percent(1e-16)
    ('71 %', '5.2 %', '0.04 %', '\N{MINUS SIGN}0.2 %', '0 %')
    """
    value = 100.0 * share
    if abs(value) < 0.005:
        return "0 %"
    if abs(value) < 0.1:
        return f"{short(float(f'{value:.2f}'))} %"
    return f"{value:.0f} %" if abs(value) >= 10.0 else f"{short(float(f'{value:.2g}'))} %"


def listing(words: Sequence[str], most: int | None = None) -> str:
    """Return words as a list in a sentence, and how many more there are beyond ``most``.

    >>> listing(["a", "b", "c"]), listing(["a", "b", "c", "d"], most=2)
    ('a, b and c', 'a, b and 2 more')
    """
    if most is not None and len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
