"""The formula of a kernel as lines of arithmetic, found by evaluating it on symbols.

A kernel states its formula once, for arrays of any library. On `Symbol`s, which record what is
done to them, it becomes text that a compiler of another machine can read: `TracedFormula.lines` are
assignments in Python's arithmetic with the functions of `FUNCTIONS`, in single precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log, log2
from typing import Any, NoReturn

from mercer.kernels.base import Kernel
from mercer.kernels.pairs import INNER, AllPairs, Scale, Statistic

FUNCTIONS = ("abs", "exp2", "log", "maximum", "minimum", "sqrt", "where")
"""What lines may call, by name; the language they are compiled in defines them."""

MOST_FACTORS = 64
"""Whole powers up to this one are products, larger ones exponentials of logarithms."""


class Untraceable(AttributeError):
    """A formula asks for more than arithmetic of inner products and Euclidean distances."""


@dataclass(frozen=True)
class TracedFormula:
    """Lines that make ``result`` of the names in ``inputs``, one for each statistic."""

    inputs: tuple[tuple[str, Statistic], ...]
    lines: tuple[str, ...]
    result: str

    @property
    def scales(self) -> tuple[Scale, ...]:
        """The scales of the squared distances it asks for."""
        return tuple(s for _, s in self.inputs if not isinstance(s, str))


def traced_formula(kernel: Kernel) -> TracedFormula | None:
    """Return the formula of a kernel, None where it is more than such arithmetic.

    >>> from mercer import Gaussian, Linear
    >>> traced_formula(Gaussian(2.0) + 3.0).lines
    ('t0 = exp2(s0 * -0.7213475204444817)', 't1 = t0 + 3.0')
    >>> traced_formula(Gaussian(2.0) * Linear()).inputs
    (('s0', 2.0), ('s1', 'inner'))
    """
    traced = Traced()
    try:
        result: Any = kernel.evaluate(traced)
        name = result.name  # for which there may be one more line
    except (AttributeError, TypeError, ValueError):  # of whatever else it asks for
        return None
    return TracedFormula(tuple(traced.inputs.items()), tuple(traced.lines), name)


class Traced(AllPairs):
    """All pairs of points that are not there: what is asked of them is written down."""

    def __init__(self) -> None:
        self._known = {}
        self.same = False
        self.inputs: dict[str, Statistic] = {}
        self.lines: list[str] = []

    def symbol(self, text: str) -> Symbol:
        """Return the result of one more line."""
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return Symbol(name, self)

    def _input(self, statistic: Statistic) -> Symbol:
        for name, known in self.inputs.items():
            if known == statistic:
                return Symbol(name, self)
        name = f"s{len(self.inputs)}"
        self.inputs[name] = statistic
        return Symbol(name, self)

    def inner(self) -> Any:
        return self._input(INNER)

    def squared_distance(self, scale: Scale = 1.0) -> Any:
        return self._input(scale)

    def distance(self, norm: float, scale: Scale = 1.0) -> Any:
        if norm != 2.0:
            raise Untraceable("a norm that is not Euclid's")
        return SYMBOLS.sqrt(self._input(scale))

    @property
    def xp(self) -> Any:
        return SYMBOLS

    @property
    def place(self) -> dict[str, Any]:
        return {}

    @property
    def x(self) -> Any:  # type: ignore[override]
        return Unknown()

    y = shape = vectors = rows = x


class Unknown:
    """A value of which only the library is known that would compute with it."""

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return SYMBOLS


class Symbol:
    """A number for each pair of points, which is known by its name."""

    __array_ufunc__ = None
    """numpy leaves its operators to this class, and its functions are not for symbols."""

    def __init__(
        self, name: str, trace: Traced, origin: Symbol | None = None, factor: float = 1.0
    ) -> None:
        self._name, self.trace = name, trace
        self.origin, self.factor = self if origin is None else origin, factor

    @property
    def name(self) -> str:
        """The name, for which a multiple of another symbol gets a line when it is asked."""
        if not self._name:
            product = f"{self.origin.name} * {text_of(self.factor)}"
            self._name = self.trace.symbol(product)._name
        return self._name

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return SYMBOLS

    def _refuse(self, *_: Any) -> NoReturn:
        raise Untraceable("a value that is not known yet")

    __bool__ = __float__ = __int__ = __len__ = __iter__ = __getitem__ = __array__ = _refuse

    def _line(self, operator: str, left: Any, right: Any) -> Symbol:
        if operator == "+" and any(not isinstance(s, Symbol) and s == 0.0 for s in (left, right)):
            return self
        return self.trace.symbol(f"{text_of(left)} {operator} {text_of(right)}")

    def __add__(self, other: Any) -> Symbol:
        return self._line("+", self, other)

    def __radd__(self, other: Any) -> Symbol:
        return self._line("+", other, self)

    def __sub__(self, other: Any) -> Symbol:
        return self._line("-", self, other)

    def __rsub__(self, other: Any) -> Symbol:
        return self._line("-", other, self)

    def __mul__(self, other: Any) -> Symbol:
        if isinstance(other, Symbol):
            return self._line("*", self, other)
        factor = self.factor * float(other)
        return self.origin if factor == 1.0 else Symbol("", self.trace, self.origin, factor)

    def __rmul__(self, other: Any) -> Symbol:
        return self.__mul__(other)

    def __truediv__(self, other: Any) -> Symbol:
        return self._line("/", self, other) if isinstance(other, Symbol) else self * (1.0 / other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return self._line("/", other, self)

    def __neg__(self) -> Symbol:
        return self * -1.0

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return SYMBOLS.abs(self)

    def __pow__(self, exponent: Any) -> Any:
        power = float(exponent)  # of a symbol, not known
        if power < 0.0:
            return 1.0 / self**-power
        if power == 0.5:
            return SYMBOLS.sqrt(self)
        if power.is_integer() and power <= MOST_FACTORS:
            return _whole_power(self, int(power))
        return SYMBOLS.exp(SYMBOLS.log(self) * power)

    def _compare(self, operator: str, other: Any) -> Condition:
        limit = float(other)  # of a symbol, not known
        if abs(limit) > LARGEST_SINGLE:  # no number in single precision is beyond
            return Condition((operator in (">", ">=")) == (limit < 0))
        return Condition(self.trace.symbol(f"{self.name} {operator} {text_of(limit)}"))

    def __lt__(self, other: Any) -> Condition:
        return self._compare("<", other)

    def __le__(self, other: Any) -> Condition:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> Condition:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> Condition:
        return self._compare(">=", other)


LARGEST_SINGLE = 2.0**127
"""Values of prepared points stay below; their bounds see to that."""


@dataclass(frozen=True)
class Condition:
    """Whether something holds, for each pair or, where it is known, for all."""

    value: Symbol | bool

    def __bool__(self) -> bool:
        if isinstance(self.value, bool):
            return self.value
        raise Untraceable("a condition that is not known yet")

    def __invert__(self) -> Condition:
        return Condition(not self)

    def __or__(self, other: Condition) -> Condition:
        return Condition(bool(self) or bool(other))


def _whole_power(base: Symbol, power: int) -> Any:
    """Return a power by squaring."""
    if power < 2:
        return base if power else 1.0
    half = _whole_power(base, power // 2)
    return half * half * base if power % 2 else half * half


def text_of(value: Any) -> str:
    """Return a symbol's name, or a number as single precision reads it."""
    if isinstance(value, Symbol):
        return value.name
    number = float(value)
    if not isfinite(number) or (number != 0.0 and abs(log2(abs(number))) > 120.0):
        raise Untraceable("a number outside single precision")
    return repr(number)


class Symbols:
    """The functions of an array library that formulas of symbols may call."""

    __name__ = "symbols"
    float64 = float32 = None

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f"the function {name}")

    def _call(self, name: str, *values: Any) -> Symbol:
        first = next(v for v in values if isinstance(v, Symbol))
        return first.trace.symbol(f"{name}({', '.join(map(text_of, values))})")

    def exp(self, a: Any) -> Symbol:
        exponent = f"{a.origin.name} * {text_of(a.factor / log(2.0))}"
        traced: Traced = a.trace
        return traced.symbol(f"exp2({exponent})")

    def log(self, a: Any) -> Symbol:
        return self._call("log", a)

    def log1p(self, a: Any) -> Symbol:
        return self._call("log", a + 1.0)

    def sqrt(self, a: Any) -> Symbol:
        return self._call("sqrt", a)

    def abs(self, a: Any) -> Symbol:
        return self._call("abs", a)

    def maximum(self, a: Any, b: Any) -> Symbol:
        return self._call("maximum", a, b)

    def minimum(self, a: Any, b: Any) -> Symbol:
        return self._call("minimum", a, b)

    def clip(self, a: Any, low: Any = None, high: Any = None) -> Symbol:
        a = a if low is None else self.maximum(a, low)
        return a if high is None or high > LARGEST_SINGLE else self.minimum(a, high)

    def square(self, a: Any) -> Any:
        return a * a

    def tanh(self, a: Any) -> Symbol:
        return 2.0 / (self.exp(a * -2.0) + 1.0) - 1.0

    def full(self, shape: Any, value: float, *, dtype: Any = None) -> float:
        return float(value)

    def isfinite(self, a: Any) -> Condition:
        return Condition(True)

    def any(self, condition: Condition) -> Condition:
        return condition

    def where(self, condition: Condition, a: Any, b: Any) -> Any:
        if isinstance(condition.value, bool):
            return a if condition.value else b
        return self._call("where", condition.value, a, b)


SYMBOLS = Symbols()
