"""How models and results show themselves at no cost, whom they warn, and words for numbers."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from difflib import SequenceMatcher, get_close_matches
from enum import Enum
from functools import cached_property
from html import escape
from numbers import Complex, Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.errors import Advice

MOST_LINES = 10
"""Lines of a result that is shown, the first being its title."""

WIDTH = 60
"""Letters of a value that is shown."""

FEW = 6
"""Numbers that are shown themselves; of more their shape is."""

MISSPELLED = 0.65
"""The likeness of two names, as `difflib` counts it, of which one is the other misspelled."""

BETWEEN = ("mercer", "sklearn", "joblib", "contextlib", "functools")
"""Packages that may stand between the user's line and what warns."""


class costly(property):  # noqa: N801  (a decorator, in small letters as `property` is)
    """A property that costs and is not kept; one that costs and is kept is `kept`.

    Plain properties are cheap: scikit-learn reads them all to show a model and to complete a name.
    """


if TYPE_CHECKING:
    kept = cached_property
else:

    class kept(property):  # noqa: N801  (as above)
        """A property of a model that costs, once: a `cached_property` that is not read unasked.

        Python's own completion asks for the value of every name but those of properties.

        >>> class Model:
        ...     @kept
        ...     def total(self):
        ...         return print("computed") or 3
        >>> model = Model()
        >>> model.total, model.total
        computed
        (3, 3)
        >>> model.total = 4
        >>> model.total
        4
        >>> del model.total
        >>> model.total
        computed
        3
        """

        def __set_name__(self, owner: type, name: str) -> None:
            self.place = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            if self.place not in vars(instance):
                vars(instance)[self.place] = super().__get__(instance, owner)
            return vars(instance)[self.place]

        def __set__(self, instance: Any, value: Any) -> None:
            vars(instance)[self.place] = value

        def __delete__(self, instance: Any) -> None:
            if self.place not in vars(instance):
                raise AttributeError(self.place)
            del vars(instance)[self.place]


COSTLY = (costly, kept, cached_property)


def costly_names(kind: type) -> frozenset[str]:
    """Return the properties of a class that are computed when they are asked for.

    >>> class Model:
    ...     cheap = property(lambda self: 1)
    ...     whole_matrix = costly(lambda self: 2)
    >>> sorted(costly_names(Model))
    ['whole_matrix']
    """
    own = {name: value for c in reversed(kind.__mro__) for name, value in vars(c).items()}
    return frozenset(n for n, value in own.items() if isinstance(value, COSTLY))


def advice(name: str, known: Iterable[str], equivalents: Mapping[str, str] | None = None) -> str:
    """Return what a name is called here, or the known name that is nearest; empty if none is.

    >>> advice("gausian", ["gaussian", "linear"])
    'did you mean gaussian?'
    >>> advice("gamma", ["bandwidth"], {"gamma": "1/(2·bandwidth²)"})
    'gamma is 1/(2·bandwidth²)'
    """
    equivalents = equivalents or {}
    if name in equivalents:
        return f"{name} is {equivalents[name]}"
    names = {candidate.lower(): candidate for candidate in (*equivalents, *known)}
    near = get_close_matches(name.lower(), names, 1)
    if not near or not _is_meant(name.lower(), near[0]):
        return ""
    meant = names[near[0]]
    told = f" {meant} is {equivalents[meant]}" if meant in equivalents else ""
    return f"did you mean {meant}?{told}"


def _is_meant(name: str, near: str) -> bool:
    """Whether a name is another one misspelled, or the most of it.

    >>> _is_meant("gausian", "gaussian"), _is_meant("weights", "sample_weight")
    (True, True)
    >>> _is_meant("predict", "spread")  # they only share letters
    False
    """
    likeness = SequenceMatcher(None, near, name)
    shared = likeness.find_longest_match().size
    return likeness.ratio() >= MISSPELLED or 2 * shared > min(len(name), len(near))


ASKED_AT_EACH_FIT = ("feature_names_in_", "n_features_in_")
"""What scikit-learn looks for on every model: to find what was meant takes longer than a fit."""


class Hinting:
    """A value that says which of its names was meant by one that it does not have.

    ``_called`` maps names of other libraries to what stands under them here.

    >>> class Result(Hinting):
    ...     _called = {"lambdas_": "eigenvalues_"}
    ...     eigenvalues_ = (2.0, 1.0)
    >>> Result().eigenvals_
    Traceback (most recent call last):
    ...
    AttributeError: 'Result' object has no attribute 'eigenvals_'; did you mean eigenvalues_?
    >>> Result().lambdas_
    Traceback (most recent call last):
    ...
    AttributeError: 'Result' object has no attribute 'lambdas_'; lambdas_ is eigenvalues_
    """

    __slots__ = ()
    _called: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # a checker of types would take every name to exist

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)  # which says why it has no value
            plain = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name in ASKED_AT_EACH_FIT:
                raise AttributeError(plain, name=name)
            known = [known for known in object.__dir__(self) if not known.startswith("_")]
            there = {
                other: meant for other, meant in self._called.items() if _first(meant) in known
            }
            hint = advice(name, known, there)
            raise AttributeError(f"{plain}{'; ' if hint else ''}{hint}", name=name)


def _first(path: str) -> str:
    return path.partition(".")[0]


class Shown(Hinting):
    """A result that shows itself by a title and by those of its values that matter.

    ``facts`` are their names and what they mean, at most nine; a value that is None, or that does
    not exist, is left out. In a notebook the same is a table.

    >>> class Test(Shown):
    ...     facts = {"p_value": "of no difference", "null": "the statistic by chance"}
    ...     p_value, null = 0.0213, np.zeros(999)
    >>> Test()
    Test
      p_value  0.0213       of no difference
      null     999 numbers  the statistic by chance
    """

    __slots__ = ()
    facts: ClassVar[Mapping[str, str]] = {}

    def _title(self) -> str:
        return type(self).__name__

    def _shown(self) -> Iterator[tuple[str, str, str]]:
        for name, meaning in self.facts.items():
            value = getattr(self, name, None)
            if value is not None and not (isinstance(value, str) and value == ""):
                yield name, in_brief(value), meaning

    def __repr__(self) -> str:
        rows = list(self._shown())
        if len(rows) >= MOST_LINES:
            rows = [*rows[: MOST_LINES - 2], ("…", f"{len(rows) - MOST_LINES + 2} more", "")]
        names, values = (max((len(row[i]) for row in rows), default=0) for i in (0, 1))
        lines = [f"  {n:{names}}  {v:{values}}  {_cut(m, 2 * WIDTH)}".rstrip() for n, v, m in rows]
        return "\n".join([_cut(self._title(), 4 * WIDTH), *lines])

    def in_brief(self) -> str:
        """Return the title, by which the value stands inside another."""
        return self._title()

    def _repr_html_(self) -> str:
        rows = [
            f"<tr><th style='text-align:left'>{escape(n)}</th><td>{escape(v)}</td>"
            f"<td style='text-align:left'>{escape(m)}</td></tr>"
            for n, v, m in self._shown()
        ]
        caption = f"<caption style='text-align:left'><b>{escape(self._title())}</b></caption>"
        return f"<table>{caption}{''.join(rows)}</table>"


def in_brief(value: Any) -> str:
    """Return a value in a few letters: a number by four digits, many by their shape.

    >>> in_brief(np.pi), in_brief((1.0, 2.5)), in_brief(np.ones((20, 3))), in_brief(range(50))
    ('3.142', '1, 2.5', '20 × 3 numbers', '50 values')
    >>> in_brief(np.eye(2)), in_brief(np.arange(8) > 2), in_brief([(0, 1), (1, 2)])
    ('1, 0; 0, 1', '5 of 8', '(0, 1), (1, 2)')
    >>> in_brief(("red", "green", "blue", "white", "black", "grey", "brown"))
    'red, green, blue, white, black, grey and 1 more'
    """
    if isinstance(value, Shown):
        return _cut(value.in_brief())
    if isinstance(value, str) or value is None or isinstance(value, bool | np.bool_ | Integral):
        return _cut(str(value))
    if isinstance(value, Complex):
        return f"{value:.4g}"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Mapping):
        return in_brief(tuple(str(key) for key in value))
    if isinstance(value, list | tuple):
        return _listed([f"({in_brief(v)})" if isinstance(v, tuple) else in_brief(v) for v in value])
    return f"{len(value)} values" if isinstance(value, Sized) else _cut(str(value))


def _array(values: Any) -> str:
    kind, shape = values.dtype.kind, " × ".join(map(str, values.shape))
    if values.ndim == 1 and (values.size <= FEW or kind in "OUS"):
        return _listed([in_brief(v) for v in values[: FEW + 1]], len(values))
    if values.ndim == 2 and 0 < values.size <= FEW:
        return "; ".join(in_brief(row) for row in values)
    if kind == "b":
        return f"{int(values.sum())} of {shape}"
    return f"{shape} {'numbers' if kind in 'iufc' else 'values'}"


def _listed(texts: list[str], count: int | None = None) -> str:
    more = (len(texts) if count is None else count) - FEW
    return _cut(", ".join(texts[:FEW]) or "none") + (f" and {more} more" if more > 0 else "")


def _cut(text: str, width: int = WIDTH) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 1]}…"


def warn(message: str, category: type[Warning], *advice: Advice) -> None:
    """Warn in the name of the user's line: the first that is neither of mercer nor scikit-learn."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_between(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(category(message, *advice), stacklevel=level + 1)


def _is_between(module: str) -> bool:
    return module.partition(".")[0] in BETWEEN


def in_ranges(numbers: Iterable[int]) -> str:
    """Return numbers with those that follow each other as ranges.

    >>> in_ranges([1, 2]), in_ranges([1, 2, 3, 4, 7]), in_ranges(range(1, 201))
    ('1 and 2', '1 to 4 and 7', '1 to 200')
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = [
        text
        for run in runs
        for text in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))
    ]
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1]))) if texts else ""


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


def column_name(name: object) -> str:
    """Return the name of a column as sentences show it.

    >>> column_name("age"), column_name(" ")
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


def spaced(count: int) -> str:
    """Return a large number with its thousands apart.

    >>> spaced(60_000)
    '60\N{NO-BREAK SPACE}000'
    """
    return f"{count:,}".replace(",", "\N{NO-BREAK SPACE}")


def listing(words: Sequence[str], most: int | None = None) -> str:
    """Return words as a list in a sentence, and how many more there are beyond ``most``.

    >>> listing(["a", "b", "c"]), listing(["a", "b", "c", "d"], most=2)
    ('a, b and c', 'a, b and 2 more')
    """
    if most is not None and len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def precise_percent(share: float) -> str:
    """Return a share in percent to three digits, as tables and rules give it.

    >>> precise_percent(0.327), precise_percent(1.0)
    ('32.7 %', '100 %')
    """
    return f"{100.0 * share:.3g} %"


NAMED = 5
"""Individuals or columns that a warning names before it only counts."""


def first_names(labels: list[str]) -> str:
    """Return a few labels and how many more there are; of numbers that follow each other the range.

    >>> first_names(["a", "b", "c", "d", "e", "f"])
    'a, b, c, d, e and 1 more'
    >>> first_names([str(i) for i in range(200)])
    '0 to 199'
    """
    more = len(labels) - NAMED
    if more > 0 and all(label.isascii() and label.isdecimal() for label in labels):
        ranges = in_ranges(map(int, labels))
        if ranges.count(", ") < NAMED:
            return ranges
    return ", ".join(labels[:NAMED]) + (f" and {more} more" if more > 0 else "")
