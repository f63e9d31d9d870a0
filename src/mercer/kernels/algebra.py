"""The operations under which positive definite kernels are closed, each a kernel again.

An operation that leaves the cone of positive definite kernels is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import exp as exponential
from math import expm1, prod, sqrt
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array, Points, namespace
from mercer.errors import InvalidParameter, NotPositiveDefinite
from mercer.kernels.base import Domain, Kernel, Kind, value
from mercer.kernels.composite import (
    Entrywise,
    nonnegative_weight,
    positive_if_conditional,
    refuse_conditional,
    whole_power,
)
from mercer.kernels.features import how_wide, join, monomials, outer_rows
from mercer.kernels.pairs import Aligned, Pairs, Scale, Statistic, exp
from mercer.kernels.statements import FUNCTION, Arithmetic, Bound, Frequencies
from mercer.kernels.written import ATOM, LARGEST_POWER, POWER, PRODUCT, SUM, Name, literal, wrap
from mercer.points import Rows
from mercer.settings import number, numbers

LARGEST_EXPONENT = 700.0
"""Exponents beyond this make no doubles."""


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
        return Bound(value, error, sum(part.top for part in parts))

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
        return Bound(value, error, self.weight * part.top)

    def local_slopes(self, values: Sequence[Array]) -> Sequence[Array | float]:
        return [self.weight]

    def local_partials(self, values: Sequence[Array]) -> dict[str, Array]:
        return {"weight": values[0]}

    def features(self, x: Points) -> Array:
        return sqrt(self.weight) * self.kernel.features(x)

    def text(self, name: Name) -> tuple[str, int]:
        return f"{self.weight!r} * {wrap(self.kernel, name, POWER)}", PRODUCT


@value
class Power(Entrywise):
    r"""A whole power of a kernel, whose features are the monomials of the kernel's features.

    .. math:: k(x, y) = k_1(x, y)^m, \quad
        \varphi_i = \sqrt{\tfrac{m!}{i_1! \cdots i_d!}} \prod_j \varphi_{1j}^{i_j}

    >>> from mercer import Linear
    >>> (Linear() ** 3)([[2.0]], [[1.0]])
    array([[8.]])

    Gallier and Quaintance, Problem 53.2.
    """

    kernel: Kernel
    power: int
    domain: ClassVar[Domain] = {"power": lambda m, _: whole_power(m)}
    theorem: ClassVar[str] = "a whole power of a positive definite kernel is one (Schur)"
    formula: ClassVar[str] = "kernel**power"

    def __post_init__(self) -> None:
        Kernel.__post_init__(self)
        if self.power > 1:
            refuse_conditional([self.kernel], "a power of a conditionally positive definite kernel")

    def combine(self, values: Sequence[Array]) -> Array:
        return values[0] ** self.power

    def combine_bounds(self, parts: Sequence[Bound], arithmetic: Arithmetic) -> Bound:
        return arithmetic.power(parts[0], self.power)

    def local_slopes(self, values: Sequence[Array]) -> Sequence[Array | float]:
        return [0.0 if self.power == 0 else self.power * values[0] ** (self.power - 1)]

    def features(self, x: Points) -> Array:
        return monomials(self.kernel.features(x), self.power)

    def text(self, name: Name) -> tuple[str, int]:
        if self.power > LARGEST_POWER:
            return f"<a power of more than {LARGEST_POWER}: no written form>", ATOM
        return f"{wrap(self.kernel, name, ATOM)}**{self.power}", POWER


@value
class PolynomialOf(Entrywise):
    r"""A polynomial of a kernel with nonnegative coefficients, the constant first.

    .. math:: k(x, y) = \sum_i c_i\, k_1(x, y)^i, \quad c_i \ge 0

    >>> from mercer import Linear
    >>> Linear().polynomial([1.0, 0.0, 2.0])([[2.0]], [[3.0]])
    array([[73.]])

    Beeny, Theorem 3.22.3; Gallier and Quaintance, Proposition 53.7.
    """

    kernel: Kernel
    coefficients: tuple[float, ...] | Sequence[float]
    domain: ClassVar[Domain] = {
        "coefficients": lambda c, name: numbers(c, name, nonnegative_weight)
    }
    theorem: ClassVar[str] = (
        "a polynomial with nonnegative coefficients of a positive definite kernel is one"
    )

    def __post_init__(self) -> None:
        Kernel.__post_init__(self)
        if any(self.coefficients[2:]):
            refuse_conditional([self.kernel], "a power of a conditionally positive definite kernel")

    def combine(self, values: Sequence[Array]) -> Array:
        return _horner(self.coefficients, values[0])

    def combine_bounds(self, parts: Sequence[Bound], arithmetic: Arithmetic) -> Bound:
        terms = [(c, arithmetic.power(parts[0], i)) for i, c in enumerate(self.coefficients)]
        value = sum(c * power.value for c, power in terms)
        error = sum(c * power.error for c, power in terms)
        return Bound(value, error + 2 * len(terms) * arithmetic.unit * value)

    def local_slopes(self, values: Sequence[Array]) -> Sequence[Array | float]:
        slopes = [i * c for i, c in enumerate(self.coefficients)][1:]
        return [_horner(slopes or [0.0], values[0])]

    def local_partials(self, values: Sequence[Array]) -> dict[str, Array]:
        powers = [values[0] ** i for i in range(len(self.coefficients))]
        return {"coefficients": namespace(values[0]).stack(powers, axis=-1)}

    def features(self, x: Points) -> Array:
        phi = self.kernel.features(x)
        terms = [(i, c) for i, c in enumerate(self.coefficients) if c or i == 0]
        return join([sqrt(c) * monomials(phi, i) for i, c in terms])

    @property
    def formula(self) -> str:
        first, *others = self.coefficients
        terms = [f"{c!r} * kernel**{i}" for i, c in enumerate(others, 1) if c]
        return " + ".join([repr(first), *terms] if first or not terms else terms)

    def text(self, name: Name) -> tuple[str, int]:
        base = wrap(self.kernel, name, ATOM)
        return f"{base}.polynomial({literal(self.coefficients, name)})", ATOM


def _horner(coefficients: Sequence[float], values: Array) -> Array:
    total = 0.0 * values + coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * values + c
    return total


@value
class Exponential(Entrywise):
    r"""The entrywise exponential of a kernel, not the exponential of its matrix.

    .. math:: k(x, y) = e^{k_1(x, y)}

    The exponential of a conditionally positive definite kernel is positive definite
    (Schoenberg).

    >>> from mercer import Linear
    >>> Linear().exp()([[0.0]], [[3.0]])
    array([[1.]])

    Beeny, Theorem 3.22.6; Gallier and Quaintance, Proposition 53.7.
    """

    kernel: Kernel
    theorem: ClassVar[str] = "the entrywise exponential of a kernel is positive definite"
    formula: ClassVar[str] = "exp(kernel)"

    @property
    def kind(self) -> Kind:
        return positive_if_conditional(self.kernel)

    def combine(self, values: Sequence[Array]) -> Array:
        return exp(0.0 + values[0])

    def combine_bounds(self, parts: Sequence[Bound], arithmetic: Arithmetic) -> Bound:
        (part,) = parts
        if max(part.top, part.error) > LARGEST_EXPONENT:
            return Bound(np.inf, np.inf)
        value = exponential(part.top)
        relative = expm1(part.error) + FUNCTION * arithmetic.unit
        return Bound(value, value * relative + arithmetic.underflow)

    def local_slopes(self, values: Sequence[Array]) -> Sequence[Array | float]:
        return [self.combine(values)]

    def text(self, name: Name) -> tuple[str, int]:
        return f"{wrap(self.kernel, name, ATOM)}.exp()", ATOM


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
        return Bound(self.constant, arithmetic.unit * self.constant)

    def evaluate(self, pairs: Pairs) -> Array:
        xp = namespace(pairs.x, pairs.y)
        return xp.full(pairs.shape, self.constant, dtype=xp.float64)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        return {"constant": Constant(1.0).evaluate(pairs)}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        if isinstance(pairs.x, Rows):
            return np.zeros((*pairs.shape, how_wide(pairs.x)))
        return 0.0 * pairs.difference()

    def features(self, x: Points) -> Array:
        return Constant(sqrt(self.constant)).evaluate(Aligned(x))[:, None]
