"""The written form of a kernel, read by a grammar of our own: no text is ever run as code."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import partial
from inspect import signature
from math import inf, isfinite
from operator import add, mul, neg, sub, truediv
from typing import Any, NamedTuple, NoReturn

from mercer.display import advice
from mercer.errors import InvalidParameter, WrittenFormError
from mercer.kernels.base import Kernel, all_kernels, class_of
from mercer.kernels.graph import Graph
from mercer.kernels.radial import Gaussian
from mercer.kernels.scikit_learn import ABSENT
from mercer.kernels.scikit_learn import NAMES as SCIKIT_LEARN
from mercer.kernels.tables import Columns
from mercer.kernels.tensor import tensor_product, tensor_sum
from mercer.kernels.walks import ContinuousWeisfeilerLehman
from mercer.kernels.written import DEEPEST, LARGEST_POWER, LONGEST_NUMBER, LONGEST_TEXT, snake
from mercer.settings import keyword_advice, number

WINDOW = 60  # characters of the text that an error shows, so that they fit on a line
TOKEN = re.compile(
    r"""(?sx)(?P<space>[ \t\r\n]+)
    |(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<string>"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')
    |(?P<mark>\*\*|[-+*/.,:=()\[\]{}])
    |(?P<stray>["'].*|.)
    |(?P<end>\Z)"""
)
SIGN = 3  # a sign binds more tightly than a product and less than a power, as in Python
BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4, ".": 5}
OPERATORS: dict[str, Any] = {"+": add, "-": sub, "*": mul, "/": truediv, "**": pow}
WORDS = {"inf": inf, "None": None, "none": None, "True": True, "False": False}
OF_KERNELS = (
    Kernel.exp,
    Kernel.polynomial,
    Kernel.normalised,
    Kernel.gaussian,
    Kernel.centred,
    Kernel.stretched,
)
METHODS: dict[str, Callable[..., Kernel]] = {m.__name__: m for m in OF_KERNELS}
UNAVAILABLE = {
    name: f"a kernel mercer does not have: give scikit-learn's {name}_kernel as precomputed"
    for name in ABSENT
}
FAMILIAR = dict.fromkeys(
    ("spectrum", "string", "spectrum_kernel"),
    "string_spectrum(length=3), of strings",
)
"""Words by which people ask for the usual kernel of strings."""
NO_FUNCTION = "a Python function, which has no written form"


class Token(NamedTuple):
    """A word or a mark of the text, and where it begins."""

    kind: str
    text: str
    at: int

    def __str__(self) -> str:
        return _short(self.text) if self.text else "the end of the text"


def kernel(text: str | Kernel) -> Kernel:
    """Return the kernel that a text describes; a kernel is returned as it is.

    Kernels are written as in Python, by the names of their classes or in lower case, with ``+``,
    ``*``, ``/``, ``**``, brackets and methods. scikit-learn's names (``rbf``, ``poly``,
    ``laplacian``, ``sigmoid``, ``cosine``) and parameters are understood; without brackets they
    have the values usual there, γ = 1/p for p columns.

    >>> kernel("gaussian(bandwidth=0.35) + 0.1 * linear()**2")
    Gaussian(bandwidth=0.35) + 0.1 * Linear()**2
    >>> kernel("linear() + gaussain()")
    Traceback (most recent call last):
    ...
    mercer.errors.WrittenFormError: expected a kernel, found 'gaussain' (did you mean gaussian?), at character 12
        linear() + gaussain()
                   ^
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    if isinstance(text, Kernel):
        return text
    if not isinstance(text, str):
        raise InvalidParameter(f"expected a kernel or its text, found {type(text).__name__}")
    reader = _Reader(text)
    value = reader.expression()
    reader.expect("", "an operator or the end of the text")
    if not isinstance(value, Kernel):
        reader.fail(f"expected a kernel, found {_short(value)}", 0)
    return value


class _Reader:
    """One reading of one text, by precedence climbing; the first error ends it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.nesting = 0
        if (length := len(text)) > LONGEST_TEXT:
            self.fail(f"expected at most {LONGEST_TEXT} characters, found {length}", LONGEST_TEXT)
        found = [Token(m.lastgroup or "", m[0], m.start()) for m in TOKEN.finditer(text)]
        for kind, mark, at in found:
            if kind == "stray":
                self.fail(f"expected a name, number, string or mark, found {_stray(mark)}", at)
        self.tokens = [token for token in reversed(found) if token.kind != "space"]

    def fail(self, what: str, at: int, cause: Exception | None = None) -> NoReturn:
        raise WrittenFormError(f"{what}, at character {at + 1}\n{_shown(self.text, at)}") from cause

    def made(self, at: int, make: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
        try:
            return make(*args, **named)
        except Exception as error:  # the class may be a user's own, and raise anything
            self.fail(str(error) or type(error).__name__, at, error)

    def shallow(self, value: Any, at: int) -> Any:
        if isinstance(value, Kernel) and value.nesting() > DEEPEST:
            self.fail(f"expected at most {DEEPEST} operations inside each other, found more", at)
        return value

    def accept(self, mark: str) -> bool:
        return self.tokens[-1].text == mark and bool(self.tokens.pop())

    def expect(self, mark: str, expected: str) -> None:
        if not self.accept(mark):
            token = self.tokens[-1]
            self.fail(f"expected {expected}, found {token}", token.at)

    def expression(self, looser: int = 0) -> Any:
        """Read operands joined by marks that bind more tightly than ``looser``."""
        left = self.operand()
        while (binds := BINDS.get(self.tokens[-1].text, 0)) > looser:
            _, mark, at = self.tokens.pop()
            if mark == ".":
                left = self.method(left, self.tokens[-1])
            else:
                right = self.inner(SIGN) if mark == "**" else self.expression(binds)
                value = self.made(at, _calculated, mark, left, right)
                # One more term makes a sum no deeper; measuring all terms again would take long.
                left = value if type(value) is type(left) else self.shallow(value, at)
        return left

    def inner(self, looser: int = 0) -> Any:
        """Read an expression inside something else, not too deep."""
        self.nesting += 1
        if self.nesting > DEEPEST:
            self.fail(f"expected nesting of at most {DEEPEST}, found more", self.tokens[-1].at)
        value = self.expression(looser)
        self.nesting -= 1
        return value

    def operand(self) -> Any:
        kind, text, at = self.tokens[-1]
        if kind == "name":
            return self.named(self.tokens.pop())
        if kind in ("number", "string"):
            self.tokens.pop()
            return self.made(at, _number if kind == "number" else _string, text)
        if self.accept("-"):
            return self.made(at, neg, self.inner(SIGN))
        if self.accept("["):
            return tuple(self.items("]")[0])
        if self.accept("{"):
            return self.braces(at)
        self.expect("(", "a kernel or a value")
        value = self.inner()
        if self.accept(","):
            return (value, *self.items(")")[0])
        self.expect(")", "')'")
        return value

    def braces(self, at: int) -> Any:
        """Read a set, or a mapping where a colon stands after the first value."""
        values: list[Any] = []
        pairs: list[tuple[Any, Any]] = []
        while not self.accept("}"):
            values.append(self.inner())
            if len(values) == 1 and self.accept(":"):
                pairs.append((values.pop(), self.inner()))
            if self.tokens[-1].text != "}":
                self.expect(",", "',' or '}'")
            if values and pairs:
                self.fail("expected ':' after every value of a mapping, or after none", at)
        mapping = self.made(at, dict, pairs)
        if len(mapping) < len(pairs):
            self.fail("expected every name once in a mapping", at)
        return mapping if pairs else self.made(at, frozenset, values)

    def items(self, close: str) -> tuple[list[Any], dict[str, Any]]:
        """Read values up to a closing bracket: those without a name, and those with one."""
        values: list[Any] = []
        named: dict[str, Any] = {}
        while not self.accept(close):
            kind, key, at = self.tokens[-1]
            is_named = close == ")" and kind == "name" and self.tokens[-2].text == "="
            if named and (key in named or not is_named):
                self.fail(f"expected a new name and '=', found {self.tokens[-1]}", at)
            if is_named:
                self.tokens[-2:] = []
                named[key] = self.inner()
            else:
                values.append(self.inner())
            if self.tokens[-1].text != close:
                self.expect(",", f"',' or '{close}'")
        return values, named

    def method(self, receiver: Any, name: Token) -> Any:
        if not isinstance(receiver, Kernel):
            self.fail(f"expected a kernel before the dot, found {_short(receiver)}", name.at)
        if name.text not in METHODS:
            note = f", which takes {NO_FUNCTION}" if name.text in ("on", "weighted") else ""
            self.fail(f"expected a method ({', '.join(METHODS)}), found {name}{note}", name.at)
        return self.call(self.tokens.pop(), partial(METHODS[name.text], receiver))

    def named(self, name: Token) -> Any:
        if name.text in WORDS:
            return WORDS[name.text]
        cls = class_of(name.text)
        makers = [FUNCTIONS.get(name.text) or cls, SCIKIT_LEARN.get(name.text)]
        if cls is not None and makers[0] is cls and (refusal := _refusal(cls)):
            self.fail(f"expected a kernel, found {name.text}, which {refusal}", name.at)
        if not any(makers):
            names = [n for n, c in all_kernels().items() if not _refusal(c)]
            there = {**UNAVAILABLE, **FAMILIAR}
            hint = advice(snake(name.text), [*names, *FUNCTIONS, *SCIKIT_LEARN], there)
            bracket = f" ({hint})" if hint else ""
            self.fail(f"expected a kernel, found {_short(name.text)}{bracket}", name.at)
        return self.call(name, *[make for make in makers if make])

    def call(self, name: Token, *makers: Callable[..., Any]) -> Any:
        """Read arguments, and give them to the first maker that has parameters of their names.

        A name alone is the kernel with its usual parameters, those of scikit-learn where the name
        is scikit-learn's; a method needs its brackets.
        """
        if isinstance(makers[0], partial):
            self.expect("(", f"'(' after {name.text}")
            values, named = self.items(")")
        elif self.accept("("):
            values, named = self.items(")")
        else:
            values, named = [], {}
            makers = (SCIKIT_LEARN.get(name.text, makers[0]),)
        make = next((m for m in makers if {*named} <= {*signature(m).parameters}), makers[0])
        try:
            bound = signature(make).bind(*values, **named)
        except TypeError as error:
            takes = ", ".join(signature(make).parameters) or "nothing"
            hint = keyword_advice(make, named)
            bracket = f" ({hint})" if hint else ""
            self.fail(f"{name.text} takes {takes}: {error}{bracket}", name.at, error)
        value = self.made(name.at, make, *bound.args, **bound.kwargs)
        if isinstance(make, type) and value.children():
            self.fail(f"{name.text} takes no kernel, found one", name.at)
        return self.shallow(value, name.at)


def _number(text: str) -> float:
    if len(text) > LONGEST_NUMBER or (value := float(text)) == inf:
        raise InvalidParameter(f"{text:.30} is infinite or longer than {LONGEST_NUMBER} characters")
    return int(text) if text.isdigit() else value


def _string(text: str) -> str:
    if text[0] == "'":
        swapped = {"\\'": "'", '"': '\\"'}
        text = '"' + re.sub(r'(?s)\\.|"', lambda m: swapped.get(m[0], m[0]), text[1:-1]) + '"'
    return str(json.loads(text))


def _calculated(mark: str, left: Any, right: Any) -> Any:
    """Return what a mark makes of kernels and numbers, of which numbers stay finite."""
    for value in (left, right):
        if isinstance(value, bool) or not isinstance(value, Kernel | int | float):
            raise InvalidParameter(f"{mark} joins kernels and numbers, found {_short(value)}")
    if mark == "**" and not isinstance(left, Kernel):
        raise InvalidParameter(f"only a kernel can be raised to a power, found {left}")
    if mark == "**" and (isinstance(right, Kernel) or right > LARGEST_POWER):
        raise InvalidParameter(f"a power is a number up to {LARGEST_POWER}, found {_short(right)}")
    value = OPERATORS[mark](left, right)
    if not isinstance(value, Kernel) and not isfinite(value):
        raise InvalidParameter(f"{left} {mark} {right} is not a finite number")
    return value


def _refusal(cls: type[Kernel]) -> str:
    """Return why a kernel cannot be made by the name of its class, empty if it can."""
    if not is_dataclass(cls):
        return "is a family of kernels"
    for f in fields(cls):
        if re.search(r"\bKernel\b", str(f.type)):
            return "is an operation: write it with an operator or a method"
        if f.default is MISSING and "Callable" in str(f.type).split("|")[0]:
            return f"holds {NO_FUNCTION}"
    return ""


def _stray(mark: str) -> str:
    is_quote = mark[0] in "\"'"
    name = "a string without end" if is_quote else unicodedata.name(mark, "unnamed")
    return f"{_short(mark)} ({NO_FUNCTION if mark == '<' else name})"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= WINDOW else f"{text[: WINDOW // 2]}…"


def _shown(text: str, at: int) -> str:
    """Return the text around a place, and on the next line a caret under it."""
    start = max(0, min(at - WINDOW // 2, len(text) - WINDOW))
    before, after = "…" * (start > 0), "…" * (start + WINDOW < len(text))
    line = "".join(c if c.isprintable() else " " for c in text[start : start + WINDOW])
    return f"    {before}{line}{after}\n    {' ' * (len(before) + at - start)}^"


def columns(
    columns: Any = None, weights: Any = None, product: Any = False, missing: Any = "error"
) -> Columns:
    """Return a kernel on the rows of a table."""
    return Columns(columns, weights, product, missing)


def continuous_weisfeiler_lehman(depth: Any, kernel: Any = Gaussian("median")) -> Kernel:  # noqa: B008  (a value)
    """Return a kernel on graphs, made of one on the attributes of nodes."""
    return ContinuousWeisfeilerLehman(depth, kernel)


def graph(  # noqa: PLR0913, PLR0917  (the parts of a graph)
    edges: Any,
    labels: Any = None,
    weights: Any = None,
    n: Any = None,
    directed: Any = False,
    edge_labels: Any = None,
    attributes: Any = None,
) -> Graph:
    """Return a graph that is the parameter of a kernel between its nodes."""
    return Graph(edges, labels, weights, n, directed, edge_labels, attributes)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "graph": graph,
    "Graph": graph,
    "frozenset": lambda: frozenset(),
    "continuous_weisfeiler_lehman": continuous_weisfeiler_lehman,
    "ContinuousWeisfeilerLehman": continuous_weisfeiler_lehman,
    "columns": columns,
    "Columns": columns,
    "tensor_sum": tensor_sum,
    "tensor_product": tensor_product,
    "complex": lambda real, imag=0.0: complex(number(real, "real"), number(imag, "imag")),
}
