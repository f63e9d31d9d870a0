"""Functions of one kernel: its powers, its polynomials and its exponential."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp as exponential
from math import expm1, sqrt
from typing import ClassVar

import numpy as np

from mercer.check import Array, Points, namespace
from mercer.kernels.algebra import (
    Entrywise,
    nonnegative_weight,
    positive_if_conditional,
    refuse_conditional,
    whole_power,
)
from mercer.kernels.base import Domain, Kernel, Kind, value
from mercer.kernels.features import join, monomials
from mercer.kernels.pairs import exp
from mercer.kernels.statements import FUNCTION, Arithmetic, Bound
from mercer.kernels.written import ATOM, LARGEST_POWER, POWER, Name, literal, wrap
from mercer.settings import numbers

LARGEST_EXPONENT = 700.0
"""Exponents beyond this make no doubles."""


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
