"""Sums, products and multiples of kernels, and what all operations share: the chain rule.

An operation that leaves the cone of positive definite kernels is refused by name.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod, sqrt
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array, Points
from mercer.errors import InvalidParameter, NotPositiveDefinite
from mercer.kernels.base import Domain, Kernel, Kind, value
from mercer.kernels.features import how_wide, join, outer_rows
from mercer.kernels.pairs import Aligned, Pairs, Scale, Statistic
from mercer.kernels.statements import Arithmetic, Bound, Frequencies, gamma
from mercer.kernels.written import POWER, PRODUCT, SUM, Name, wrap
from mercer.points import Rows
from mercer.settings import nonnegative, number, whole


class Composite(Kernel):
    """A kernel F(k₁, k₂, …) of kernels on the same points, with the chain rule in one place."""

    __slots__ = ()
    has_parts: ClassVar[bool] = False
    """Whether each kernel reads a part of a point of its own."""

    @abstractmethod
    def combine(self, values: Sequence[Array]) -> Array:
        """Return F of the children's values; it may use their memory."""

    @abstractmethod
    def local_slopes(self, values: Sequence[Array]) -> Sequence[Array | float]:
        """Return ∂F/∂kᵢ at the children's values, one for each child."""

    def local_partials(self, values: Sequence[Array]) -> dict[str, Array]:
        """Return ∂F/∂θ for this operation's own parameters."""
        return {}

    def pairs_of(self, child: str, pairs: Pairs) -> Pairs:
        """Return the pairs on which a child is evaluated."""
        return pairs

    @property
    def is_counted(self) -> bool:
        needed = any if self.has_parts else all
        return needed(k.is_counted for k in self.children().values())

    def factors_of_parts(self, pairs: Any) -> list[tuple[Any, Any]]:
        """Return the factors of a sum of the children."""
        parts = self.children().items()
        return [factor for n, k in parts for factor in k.sparse_factors(self.pairs_of(n, pairs))]

    def values(self, pairs: Pairs) -> list[Array]:
        return [k.evaluate(self.pairs_of(n, pairs)) for n, k in self.children().items()]

    def evaluate(self, pairs: Pairs) -> Array:
        return self.combine(self.values(pairs))

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        values = self.values(pairs)
        partials = self.local_partials(values)
        slopes = self.local_slopes(values)
        for (name, child), slope in zip(self.children().items(), slopes, strict=True):
            inner = child.evaluate_partials(self.pairs_of(name, pairs))
            partials.update({f"{name}__{n}": times(slope, d) for n, d in inner.items()})
        return partials

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        slopes = self.local_slopes(self.values(pairs))
        terms = [
            times(s, k.evaluate_slopes(pairs))
            for k, s in zip(self.children().values(), slopes, strict=True)
        ]
        return sum(terms[1:], start=terms[0])


class Entrywise(Composite):
    """An operation on the values of kernels on the same points."""

    __slots__ = ()

    @abstractmethod
    def combine_bounds(self, parts: Sequence[Bound], arithmetic: Arithmetic) -> Bound:
        """Return the bounds of F from those of the children's values."""

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        found: list[Statistic] = []
        for child in self.children().values():
            asked = child.asks(columns)
            if asked is None:
                return None
            found.extend(asked)
        return tuple(found)

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        parts: list[Bound] = []
        for child in self.children().values():
            bound = child.bounds(arithmetic)
            if bound is None:
                return None
            parts.append(bound)
        found = self.combine_bounds(parts, arithmetic)
        return found._replace(is_proved=all(part.is_proved for part in parts))

    def stretch(self, scale: Scale) -> Kernel:
        try:
            return self.with_children({n: k.stretch(scale) for n, k in self.children().items()})
        except InvalidParameter:  # of a part that reads no vectors: the points are divided for all
            return Kernel.stretch(self, scale)

    @property
    def inner_weight(self) -> float | None:
        is_unmoved = all(k.inner_weight == 0.0 for k in self.children().values())
        return 0.0 if is_unmoved else None


def times(slope: Array | float, derivative: Array) -> Array:
    """Multiply by a local slope, whose shape lacks the last axis of a vector of derivatives."""
    if isinstance(slope, float | int) or slope.ndim == derivative.ndim:
        return slope * derivative
    return slope[..., None] * derivative


def positive_if_conditional(kernel: Kernel) -> Kind:
    """Return the kind of a function of the distances that a kernel defines."""
    return Kind.SIMILARITY if kernel.kind is Kind.SIMILARITY else Kind.POSITIVE


def refuse_conditional(kernels: Sequence[Kernel], what: str) -> None:
    """Refuse an operation that is valid for positive definite kernels only."""
    if any(k.kind is Kind.CONDITIONAL for k in kernels):
        raise NotPositiveDefinite(
            f"{what} need not be positive definite. Centre the kernel on a sample first "
            "(k.centred(x)) or take its exponential (k.exp()), both of which are"
        )


def nonnegative_weight(weight: Any, name: str = "weight") -> float:
    """Return the weight of a kernel, or name the rule that a negative one breaks."""
    if isinstance(weight, Real) and weight < 0:
        raise NotPositiveDefinite(
            f"{name} = {weight} is negative: sums and multiples of kernels stay positive "
            "definite with nonnegative weights only"
        )
    return nonnegative(weight, name)


def whole_power(power: Any) -> int:
    """Return the exponent of a kernel, or name the rule that a fractional one breaks."""
    try:
        return whole(power, "power")
    except InvalidParameter:
        raise NotPositiveDefinite(
            f"the power {power!r} is not a whole number >= 0: products keep kernels positive "
            "definite, fractional and negative powers need not"
        ) from None


@value
class Sum(Entrywise):
    r"""The sum of kernels, whose features are those of the terms side by side.

    .. math:: k(x, y) = k_1(x, y) + \dots + k_m(x, y)

    >>> from mercer import Linear
    >>> (Linear() + 1.0)([[2.0]], [[3.0]])
    array([[7.]])

    Beeny, Theorem 3.22.1; Kroese et al., Theorem 6.5.3.
    """

    terms: tuple[Kernel, ...]
    theorem: ClassVar[str] = "a sum of {kind} kernels is one"

    @property
    def inner_weight(self) -> float | None:
        weights = [term.inner_weight for term in self.terms]
        return None if None in weights else sum(w or 0.0 for w in weights)

    @property
    def is_affine(self) -> bool:
        return all(term.is_affine for term in self.terms)

    @property
    def has_factors(self) -> bool:
        return all(term.has_factors for term in self.terms)

    def sparse_factors(self, pairs: Any) -> list[tuple[Any, Any]]:
        return self.factors_of_parts(pairs)

    def frequencies(self, dimension: int, count: int, rng: np.random.Generator) -> Frequencies:
        parts = [term.frequencies(dimension, count, rng) for term in self.terms]
        waves = np.vstack([part.waves for part in parts])
        return Frequencies(waves, np.concatenate([part.amplitudes for part in parts]))

    def evaluate(self, pairs: Pairs) -> Array:
        total = self.terms[0].evaluate(pairs)
        for term in self.terms[1:]:
            total = total + term.evaluate(pairs)
        return total

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return self.combine([term.evaluate_squares(pairs) for term in self.terms])

    def combine(self, values: Sequence[Array]) -> Array:
        return sum(values[1:], start=values[0])

    def combine_bounds(self, parts: Sequence[Bound], arithmetic: Arithmetic) -> Bound:
        value = sum(part.value for part in parts)
        error = sum(part.error for part in parts) + len(parts) * arithmetic.unit * value
        more = 1.0 + gamma(len(parts), arithmetic.unit)
        relative = (1.0 + max(part.relative for part in parts)) * more - 1.0
        lost = sum(part.lost + arithmetic.underflow for part in parts) * more
        return Bound(value, error, sum(part.top for part in parts), relative=relative, lost=lost)

    def local_slopes(self, values: Sequence[Array]) -> Sequence[Array | float]:
        return [1.0] * len(values)

    def features(self, x: Points) -> Array:
        return join([term.features(x) for term in self.terms])

    @property
    def formula(self) -> str:
        return " + ".join(f"k{i}" for i in range(len(self.terms)))

    def text(self, name: Name) -> tuple[str, int]:
        return " + ".join(wrap(t, name, PRODUCT) for t in self.terms), SUM


@value
class Product(Entrywise):
    r"""The product of kernels (Schur), whose features are the products of the factors' features.

    .. math:: k(x, y) = k_1(x, y) \cdots k_m(x, y)

    >>> from mercer import Linear
    >>> (Linear() * Linear())([[2.0]], [[3.0]])
    array([[36.]])

    Gallier and Quaintance, Proposition 53.5; Kroese et al., Theorem 6.5.4.
    """

    factors: tuple[Kernel, ...]
    theorem: ClassVar[str] = "a product of positive definite kernels is one (Schur)"

    def __post_init__(self) -> None:
        refuse_conditional(self.factors, "a product with a conditionally positive definite kernel")

    def combine(self, values: Sequence[Array]) -> Array:
        return prod(values[1:], start=values[0])

    def combine_bounds(self, parts: Sequence[Bound], arithmetic: Arithmetic) -> Bound:
        return reduce(arithmetic.times, parts)

    def local_slopes(self, values: Sequence[Array]) -> Sequence[Array | float]:
        indices = range(len(values))
        return [prod((values[j] for j in indices if j != i), start=1.0) for i in indices]

    def features(self, x: Points) -> Array:
        result = self.factors[0].features(x)
        for factor in self.factors[1:]:
            result = outer_rows(result, factor.features(x))
        return result

    @property
    def formula(self) -> str:
        return " * ".join(f"k{i}" for i in range(len(self.factors)))

    def text(self, name: Name) -> tuple[str, int]:
        first, *others = self.factors
        texts = [wrap(first, name, PRODUCT), *(wrap(f, name, POWER) for f in others)]
        return " * ".join(texts), PRODUCT


@value
class Scaled(Entrywise):
    r"""A kernel times a nonnegative weight.

    .. math:: k(x, y) = c\, k_1(x, y), \quad c \ge 0

    >>> from mercer import Linear
    >>> (0.5 * Linear())([[2.0]], [[3.0]])
    array([[3.]])

    Beeny, Theorem 3.22.1.
    """

    weight: float
    kernel: Kernel
    theorem: ClassVar[str] = "a nonnegative multiple of a {kind} kernel is one"
    formula: ClassVar[str] = "weight * kernel"

    @property
    def inner_weight(self) -> float | None:
        inside = self.kernel.inner_weight
        return None if inside is None else self.weight * inside

    @property
    def is_affine(self) -> bool:
        return self.kernel.is_affine

    @property
    def refutation(self) -> str:
        return self.kernel.refutation if self.weight > 0.0 else ""

    @property
    def has_factors(self) -> bool:
        return self.kernel.has_factors

    def sparse_factors(self, pairs: Any) -> list[tuple[Any, Any]]:
        return [(self.weight * a, b) for a, b in self.kernel.sparse_factors(pairs)]

    def frequencies(self, dimension: int, count: int, rng: np.random.Generator) -> Frequencies:
        waves, amplitudes = self.kernel.frequencies(dimension, count, rng)
        return Frequencies(waves, sqrt(self.weight) * amplitudes)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return self.weight * self.kernel.evaluate_squares(pairs)

    def combine(self, values: Sequence[Array]) -> Array:
        return self.weight * values[0]

    def combine_bounds(self, parts: Sequence[Bound], arithmetic: Arithmetic) -> Bound:
        (part,) = parts
        value = self.weight * part.value
        error = self.weight * part.error + arithmetic.unit * value + arithmetic.underflow
        more = 1.0 + arithmetic.unit
        relative = (1.0 + part.relative) * more - 1.0
        lost = self.weight * part.lost * more + arithmetic.underflow
        return Bound(value, error, self.weight * part.top, relative=relative, lost=lost)

    def local_slopes(self, values: Sequence[Array]) -> Sequence[Array | float]:
        return [self.weight]

    def local_partials(self, values: Sequence[Array]) -> dict[str, Array]:
        return {"weight": values[0]}

    def features(self, x: Points) -> Array:
        return sqrt(self.weight) * self.kernel.features(x)

    def text(self, name: Name) -> tuple[str, int]:
        return f"{self.weight!r} * {wrap(self.kernel, name, POWER)}", PRODUCT


def is_number(operand: object) -> bool:
    """Whether an operand is a real number, which a truth value is not."""
    return isinstance(operand, Real) and not isinstance(operand, bool)


def plain(operand: Any) -> Any:
    """Return the number in an array without axes, anything else as it is."""
    return operand.item() if isinstance(operand, np.ndarray) and operand.ndim == 0 else operand


def as_kernel(other: object) -> Kernel:
    """Return an operand as a kernel: a nonnegative number is a constant kernel."""
    if isinstance(other, Kernel):
        return other
    if is_number(other):
        return Constant(nonnegative_weight(other))
    raise InvalidParameter(f"a kernel cannot be combined with {other!r}; give a kernel or a number")


def add(left: Kernel, right: Kernel | float) -> Kernel:
    """Return left + right, nested sums flattened; adding 0 changes nothing."""
    right = plain(right)
    if is_number(right) and right == 0:
        return left
    terms: list[Kernel] = []
    for k in (left, as_kernel(right)):
        terms.extend(k.terms if isinstance(k, Sum) else [k])
    return Sum(tuple(terms))


def multiply(left: Kernel, right: Kernel | float) -> Kernel:
    """Return left * right, nested products flattened; a number is a weight."""
    right = plain(right)
    if is_number(right):
        weight = nonnegative_weight(right)
        if isinstance(left, Scaled):
            return Scaled(weight * left.weight, left.kernel)
        return Scaled(weight, left)
    factors: list[Kernel] = []
    for k in (left, as_kernel(right)):
        factors.extend(k.factors if isinstance(k, Product) else [k])
    return Product(tuple(factors))


def divide(left: object, right: object) -> Kernel:
    """Return a kernel divided by a positive number; any other quotient is refused."""
    if isinstance(left, Kernel) and is_number(right) and right > 0:  # type: ignore[operator]
        return multiply(left, 1.0 / number(right, "the divisor"))
    raise NotPositiveDefinite(
        "a kernel can be divided by a positive number only: quotients of kernels need not be "
        "positive definite"
    )


def subtract(left: object, right: object) -> Kernel:
    """Refuse a difference, which need not be a kernel."""
    raise NotPositiveDefinite(
        f"kernels cannot be subtracted, found {left} - {right}: positive definite kernels are "
        "closed under sums with nonnegative weights, not under differences"
    )


@value
class Constant(Kernel):
    r"""The same nonnegative number everywhere: one constant feature.

    .. math:: k(x, y) = c, \quad c \ge 0

    Points are of any kind; ``constant`` c ≥ 0.

    >>> Constant(2.0)([0.0], [1.0])
    array([[2.]])

    Kroese et al., Theorem 6.5.2 with a constant function.
    """

    constant: float = 1.0
    domain: ClassVar[Domain] = {"constant": nonnegative_weight}
    theorem: ClassVar[str] = "it has one constant feature"
    formula: ClassVar[str] = "constant"
    is_of_products: ClassVar[bool] = True
    equivalents: ClassVar[Mapping[str, str]] = {"constant_value": "constant", "value": "constant"}

    @property
    def inner_weight(self) -> float | None:
        return 0.0

    @property
    def is_affine(self) -> bool:
        return True

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        return ()

    def stretch(self, scale: Scale) -> Kernel:
        return self

    def frequencies(self, dimension: int, count: int, rng: np.random.Generator) -> Frequencies:
        return Frequencies(np.zeros((1, dimension)), np.array([sqrt(self.constant)]))

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        unit = arithmetic.unit
        error, lost = unit * self.constant, arithmetic.underflow
        return Bound(self.constant, error, relative=unit, lost=lost)

    def evaluate(self, pairs: Pairs) -> Array:
        return pairs.full(self.constant)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        return {"constant": Constant(1.0).evaluate(pairs)}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        if isinstance(pairs.x, Rows):
            return np.zeros((*pairs.shape, how_wide(pairs.x)))
        return 0.0 * pairs.difference()

    def features(self, x: Points) -> Array:
        return Constant(sqrt(self.constant)).evaluate(Aligned(x))[:, None]
