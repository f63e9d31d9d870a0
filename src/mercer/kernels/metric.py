"""Kernels made of the geometry another kernel defines: its angles and its distances."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from mercer.check import Array, Points, how_many, namespace
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.algebra import positive_if_conditional, refuse_conditional
from mercer.kernels.base import ATOM, Domain, Kernel, Kind, Name, literal, value, wrap
from mercer.kernels.counts import factors_of_cosines
from mercer.kernels.features import join
from mercer.kernels.pairs import (
    INNER,
    LARGEST_SQUARE,
    AllPairs,
    Pairs,
    Scale,
    Statistic,
    conj,
    exp,
    is_complex,
    real,
)
from mercer.kernels.radial import DISTANCE_RULES, sample_points, typical_distance
from mercer.settings import number


class FromDistances(Kernel):
    """A function F of k(x, y), k(x, x) and k(y, y), with its chain rule."""

    __slots__ = ()
    kernel: Kernel

    @abstractmethod
    def local_slopes(self, pairs: Pairs) -> tuple[Array, Array, Array]:
        """Return the derivatives of F in k(x, y), k(x, x) and k(y, y)."""

    def local_partials(self, pairs: Pairs) -> dict[str, Array]:
        """Return the derivatives of F in this kernel's own parameters."""
        return {}

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        return self.kernel.asks(columns)

    @property
    def is_counted(self) -> bool:
        return self.kernel.is_counted

    def stretch(self, scale: Scale) -> Kernel:
        return self.with_children({"kernel": self.kernel.stretch(scale)})

    def three(self, pairs: Pairs) -> tuple[Array, Array, Array]:
        """Return k(x, y), k(x, x) and k(y, y) in shapes that broadcast together."""
        xx = self.kernel.evaluate_own(pairs.left())
        yy = self.kernel.evaluate_own(pairs.right())
        return self.kernel.evaluate(pairs), pairs.of_x(xx), pairs.of_y(yy)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        by_xy, by_xx, by_yy = self.local_slopes(pairs)
        partials = self.local_partials(pairs)
        left, right = pairs.left(), pairs.right()
        xy = self.kernel.evaluate_partials(pairs)
        xx = xy if left is pairs else self.kernel.evaluate_partials(left)
        yy = xx if right is left else self.kernel.evaluate_partials(right)
        for name, d in xy.items():
            last = (...,) if d.ndim == by_xy.ndim else (..., None)
            partials[f"kernel__{name}"] = (
                by_xy[last] * d
                + by_xx[last] * pairs.of_x(real(xx[name]))
                + by_yy[last] * pairs.of_y(real(yy[name]))
            )
        return partials

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        by_xy, by_xx, _ = self.local_slopes(pairs)
        # Both arguments of k(x, x) move with x, and k is Hermitian: twice the real part.
        inner = self.kernel.evaluate_slopes(pairs)
        left = pairs.left()
        own = 2.0 * real(inner if left is pairs else self.kernel.evaluate_slopes(left))
        slopes: Array = by_xy[..., None] * inner + by_xx[..., None] * pairs.of_x(own)
        return slopes


MOST_EXCESS = 1e-8
"""A cosine above 1 by no more than this is rounding; above, the kernel breaks Cauchy–Schwarz."""


@value
class Normalised(FromDistances):
    r"""The cosine of two points' features; the diagonal is exactly 1.

    .. math:: k(x, y) = \frac{k_1(x, y)}{\sqrt{k_1(x, x)\, k_1(y, y)}}

    Points whose features are zero share one unit vector of their own: 1 among themselves, 0 with
    all others, so that a copy of a point behaves like the point. The cosine jumps there, and its
    derivatives are 0 by convention.

    >>> from mercer import Linear
    >>> Linear().normalised()([[3.0, 4.0], [0.0, 0.0]], [[6.0, 8.0], [0.0, 0.0]])
    array([[1., 0.],
           [0., 1.]])
    """

    kernel: Kernel
    theorem: ClassVar[str] = "features divided by their norm are features"
    formula: ClassVar[str] = "kernel(x, y) / sqrt(kernel(x, x) * kernel(y, y))"
    phrase: ClassVar[str] = "normalised {kernel}"

    def __post_init__(self) -> None:
        refuse_conditional([self.kernel], "a normalised conditionally positive definite kernel")

    def _roots(self, xx: Array, yy: Array) -> tuple[Array, Array]:
        """Return √k(x, x)·√k(y, y) and whether both are zero; 1 stands for zero roots."""
        xp = namespace(xx, yy)
        if bool(xp.any(xx < 0)) or bool(xp.any(yy < 0)):
            raise InvalidInput(
                f"{self.kernel} is negative for a point with itself, so it cannot be normalised"
            )
        roots = xp.sqrt(xx) * xp.sqrt(yy)
        return xp.where(roots > 0, roots, 1.0), (xx == 0) & (yy == 0)

    def combine(self, xy: Array, xx: Array, yy: Array) -> Array:
        xp = namespace(xy)
        roots, both_zero = self._roots(xx, yy)
        cosine = xy / roots
        if not is_complex(cosine) and bool(xp.all(xp.abs(cosine) <= 1.0 + MOST_EXCESS)):
            cosine = xp.clip(cosine, -1.0, 1.0)
        return xp.where(both_zero, 1.0, cosine)

    def evaluate(self, pairs: Pairs) -> Array:
        values = self.combine(*self.three(pairs))
        if pairs.same:
            xp = namespace(values)
            n = how_many(pairs.x)
            if values.ndim == 1:
                return pairs.full(1.0)
            values = xp.where(xp.eye(n, dtype=xp.bool, **pairs.place), 1.0, values)
        return values

    def local_slopes(self, pairs: Pairs) -> tuple[Array, Array, Array]:
        xy, xx, yy = self.three(pairs)
        xp = namespace(xy)
        roots, _ = self._roots(xx, yy)
        inverse = xp.where((xx > 0) & (yy > 0), 1.0 / roots, 0.0)
        halves = [-0.5 * xy * inverse / xp.where(d > 0, d, 1.0) for d in (xx, yy)]
        return inverse, halves[0], halves[1]

    @property
    def has_factors(self) -> bool:
        return self.kernel.has_factors

    def sparse_factors(self, pairs: Any) -> list[tuple[Any, Any]]:
        return factors_of_cosines(self.kernel, pairs)

    def features(self, x: Points) -> Array:
        phi = self.kernel.features(x)
        xp = namespace(phi)
        norms = xp.sqrt(real(xp.sum(phi * conj(phi), axis=1)))
        zero = xp.astype(norms == 0, phi.dtype)
        return join([phi / xp.where(norms > 0, norms, 1.0)[:, None], zero[:, None]])

    def text(self, name: Name) -> tuple[str, int]:
        return f"{wrap(self.kernel, name, ATOM)}.normalised()", ATOM


@value
class GaussianOf(FromDistances):
    r"""The Gaussian of the distance between the features of another kernel.

    .. math:: k(x, y) = \exp\left(-\frac{k_1(x, x) + k_1(y, y) - 2\,\Re k_1(x, y)}
        {2\sigma^2}\right)

    With the linear kernel it is the Gaussian kernel; with a kernel on sets, strings or graphs it
    is a Gaussian kernel on those. Where the kernel's distance has no formula of its own it is a
    difference of values, whose rounding may change the exponent by 8u(k₁(x, x) + k₁(y, y))/σ².

    >>> from mercer import Linear
    >>> Linear().gaussian(bandwidth=2.0)([[0.0]], [[2.0]])
    array([[0.60653066]])

    Gallier and Quaintance, §53.2 and Problem 53.5.
    """

    kernel: Kernel
    bandwidth: float | str = 1.0
    domain: ClassVar[Domain] = {
        "bandwidth": lambda b, name: (
            b if isinstance(b, str) and b in DISTANCE_RULES else number(b, name, above=0.0)
        )
    }
    theorem: ClassVar[str] = "exp(-d²/2σ²) of a Hilbert space distance is positive definite"
    formula: ClassVar[str] = (
        "exp(-(kernel(x, x) + kernel(y, y) - 2 * kernel(x, y)) / (2 * bandwidth**2))"
    )
    title: ClassVar[str] = "Gaussian"
    phrase: ClassVar[str] = "Gaussian kernel of {distance} (bandwidth {bandwidth})"

    @property
    def kind(self) -> Kind:
        return positive_if_conditional(self.kernel)

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        asked = self.kernel.asks(columns)
        if asked is None or self.kernel.inner_weight is None:
            return asked
        # Of inner products, whatever the origin, only distances are left.
        length = 1.0 if isinstance(self.bandwidth, str) else self.bandwidth
        return tuple(length if statistic == INNER else statistic for statistic in asked)

    def _scale(self) -> float:
        if isinstance(self.bandwidth, str):
            raise InvalidParameter(
                f"the bandwidth {self.bandwidth!r} depends on data: call k.resolve(x) first"
            )
        return self.bandwidth

    def _scaled(self, pairs: Pairs) -> Array:
        """Return d²/σ², which stops where the Gaussian has long been zero."""
        squares = self.kernel.scaled_squares(pairs, self._scale())
        return namespace(squares).clip(squares, None, LARGEST_SQUARE)

    def evaluate(self, pairs: Pairs) -> Array:
        return exp(-0.5 * self._scaled(pairs))

    def local_slopes(self, pairs: Pairs) -> tuple[Array, Array, Array]:
        by_square = -0.5 * self.evaluate(pairs) / self._scale() / self._scale()
        return -2.0 * by_square, by_square, by_square

    def local_partials(self, pairs: Pairs) -> dict[str, Array]:
        return {"bandwidth": self.evaluate(pairs) * self._scaled(pairs) / self._scale()}

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        # A function of the real part of k(x, y): its derivatives are real too.
        return {n: real(d) for n, d in FromDistances.evaluate_partials(self, pairs).items()}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        return real(FromDistances.evaluate_slopes(self, pairs))

    def resolve_own(self, x: Points) -> Kernel:
        if not isinstance(self.bandwidth, str):
            return self
        squares = self.kernel.evaluate_squares(AllPairs(sample_points(x)))
        return GaussianOf(self.kernel, typical_distance(squares, self.bandwidth, repr(self.kernel)))

    def text(self, name: Name) -> tuple[str, int]:
        inner = wrap(self.kernel, name, ATOM)
        return f"{inner}.gaussian(bandwidth={literal(self.bandwidth, name)})", ATOM
