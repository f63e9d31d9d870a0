"""Kernels on product spaces: one kernel for each part of a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from mercer.check import Array, Points, members
from mercer.errors import InvalidInput, InvalidParameter, NotDifferentiable
from mercer.kernels.algebra import Composite, Product, Sum, refuse_conditional
from mercer.kernels.base import ATOM, Kernel, Name, snake, value
from mercer.kernels.features import join, outer_rows
from mercer.kernels.pairs import Pairs
from mercer.points import Paired


@dataclass(frozen=True)
class Projection:
    """The map that takes points of a product space to their i-th parts."""

    index: int

    def __call__(self, points: Points) -> Points:
        try:
            if isinstance(points, Paired):
                return points.parts[self.index]
            return [point[self.index] for point in members(points)]
        except (IndexError, KeyError, TypeError):
            raise InvalidInput(
                f"a tensor kernel reads points that are tuples, and part {self.index} is missing; "
                "build them with mercer.data.Paired(x, y) or as a list of tuples"
            ) from None


class Tensor(Composite):
    """A kernel on a product space, made of one kernel for each part of a point."""

    __slots__ = ()
    has_parts: ClassVar[bool] = True
    parts: tuple[Kernel, ...]

    @property
    def reads_vectors(self) -> bool:
        return False  # points are tuples

    @property
    def reads_rows(self) -> bool:
        return False

    def pairs_of(self, child: str, pairs: Pairs) -> Pairs:
        return pairs.mapped(Projection(int(child)))

    def seen_by(self, child: str, x: Points) -> Points:
        return Projection(int(child))(x)

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        raise NotDifferentiable("points of a product space are not vectors: no slopes")

    def part_features(self, x: Points) -> list[Array]:
        return [k.features(Projection(i)(x)) for i, k in enumerate(self.parts)]

    def text(self, name: Name) -> tuple[str, int]:
        inner = ", ".join(k.text(name)[0] for k in self.parts)
        return f"{snake(type(self).__name__)}({inner})", ATOM


@value
class TensorSum(Tensor):
    r"""The sum of kernels of the parts of a point.

    .. math:: k((x, y), (x', y')) = k_1(x, x') + k_2(y, y')

    >>> from mercer import Linear
    >>> tensor_sum(Linear(), Linear())([(2.0, 3.0)], [(5.0, 7.0)])
    array([[31.]])

    Kroese et al., Theorem 6.5.5.
    """

    parts: tuple[Kernel, ...]
    theorem: ClassVar[str] = "a tensor sum of (conditionally) positive definite kernels is one"

    def combine(self, values: Sequence[Array]) -> Array:
        return sum(values[1:], start=values[0])

    def evaluate_squares(self, pairs: Pairs) -> Array:
        parts = [k.evaluate_squares(self.pairs_of(n, pairs)) for n, k in self.children().items()]
        return self.combine(parts)

    def local_slopes(self, values: Sequence[Array]) -> Sequence[Array | float]:
        return Sum(self.parts).local_slopes(values)

    @property
    def has_factors(self) -> bool:
        return all(part.has_factors for part in self.parts)

    def sparse_factors(self, pairs: Any) -> list[tuple[Any, Any]]:
        return self.factors_of_parts(pairs)

    def features(self, x: Points) -> Array:
        return join(self.part_features(x))


@value
class TensorProduct(Tensor):
    r"""The product of kernels of the parts of a point.

    .. math:: k((x, y), (x', y')) = k_1(x, x')\, k_2(y, y')

    >>> from mercer import Linear
    >>> tensor_product(Linear(), Linear())([(2.0, 3.0)], [(5.0, 7.0)])
    array([[210.]])

    Kroese et al., Theorem 6.5.5.
    """

    parts: tuple[Kernel, ...]
    theorem: ClassVar[str] = "a tensor product of positive definite kernels is one"

    def __post_init__(self) -> None:
        refuse_conditional(
            self.parts, "a tensor product with a conditionally positive definite kernel"
        )

    def combine(self, values: Sequence[Array]) -> Array:
        return prod(values[1:], start=values[0])

    def local_slopes(self, values: Sequence[Array]) -> Sequence[Array | float]:
        return Product(self.parts).local_slopes(values)

    def features(self, x: Points) -> Array:
        first, *others = self.part_features(x)
        for phi in others:
            first = outer_rows(first, phi)
        return first


def tensor_sum(*kernels: Kernel) -> Kernel:
    r"""Return the kernel on tuples that adds one kernel for each part.

    .. math:: k(x, y) = \sum_i k_i(x_i, y_i)

    >>> from mercer.kernels import Delta, Linear
    >>> tensor_sum(Linear(), Delta())([([1.0], "a"), ([2.0], "b")])
    array([[2., 2.],
           [2., 5.]])

    Kroese et al., Theorem 6.5.
    """
    return TensorSum(_at_least_one(kernels))


def tensor_product(*kernels: Kernel) -> Kernel:
    r"""Return the kernel on tuples that multiplies one kernel for each part.

    .. math:: k(x, y) = \prod_i k_i(x_i, y_i)

    >>> from mercer.kernels import Delta, Linear
    >>> tensor_product(Linear(), Delta())([([1.0], "a"), ([2.0], "b"), ([3.0], "a")])
    array([[1., 0., 3.],
           [0., 4., 0.],
           [3., 0., 9.]])

    Kroese et al., Theorem 6.5.
    """
    return TensorProduct(_at_least_one(kernels))


def _at_least_one(kernels: tuple[Kernel, ...]) -> tuple[Kernel, ...]:
    if not kernels or not all(isinstance(k, Kernel) for k in kernels):
        raise InvalidParameter("a tensor kernel needs at least one kernel, and kernels only")
    return kernels
