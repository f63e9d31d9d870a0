"""What all operations on kernels share: the chain rule, and the rules that guard the cone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

from mercer.check import Array
from mercer.errors import InvalidParameter, NotPositiveDefinite
from mercer.kernels.base import Kernel, Kind
from mercer.kernels.pairs import Pairs, Scale, Statistic
from mercer.kernels.statements import Arithmetic, Bound
from mercer.settings import nonnegative, whole


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
