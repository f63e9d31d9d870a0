"""Mercer's theorem as values: measures, and eigenvalues with their functions and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import pi, sqrt
from numbers import Real
from typing import ClassVar, TypeAlias

import numpy as np

from mercer.check import Array, Points
from mercer.display import Shown
from mercer.errors import InvalidParameter, NotAvailable
from mercer.settings import number, numbers

TAIL = 13.0
"""Standard deviations kept of a normal law: its density there is 2e-37 of that at the mean."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Lebesgue measure on the interval from a to b, or on the rectangle between two corners.

    >>> Interval([0.0, 0.0], [1.0, 2.0]).dimension
    2
    """

    a: float | Sequence[float]
    b: float | Sequence[float]

    def __post_init__(self) -> None:
        if isinstance(self.a, Real) and isinstance(self.b, Real):
            object.__setattr__(self, "a", number(self.a, "a"))
            object.__setattr__(self, "b", number(self.b, "b", above=float(self.a)))
            return
        a, b = numbers(self.a, "a"), numbers(self.b, "b")
        if len(a) != len(b) or not a:
            raise InvalidParameter(
                f"the corners a and b have {len(a)} and {len(b)} coordinates: give as many, at "
                "least one"
            )
        for j, (low, high) in enumerate(zip(a, b, strict=True)):
            number(high, f"b[{j}]", above=low)
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)

    @property
    def dimension(self) -> int:
        """The number of coordinates of a rectangle, 0 for an interval of the line."""
        return len(self.a) if isinstance(self.a, tuple) else 0

    @property
    def ends(self) -> tuple[float, float]:
        """The interval outside of which nothing is integrated."""
        if not (isinstance(self.a, Real) and isinstance(self.b, Real)):
            raise NotAvailable("a rectangle has the corners a and b, and no two ends")
        return float(self.a), float(self.b)

    def root_density(self, y: Array) -> Array:
        """Return the square root of the density."""
        return np.ones(y.shape)


@dataclass(frozen=True, slots=True)
class Normal:
    """The normal law on the line, by its mean and its standard deviation, which is positive.

    >>> from mercer import Gaussian, mercer_decomposition
    >>> mercer_decomposition(Gaussian(1.0), Normal(), 3).values.round(4)
    array([0.618 , 0.2361, 0.0902])
    """

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", number(self.mean, "mean"))
        object.__setattr__(self, "sd", number(self.sd, "sd", above=0.0))

    @property
    def ends(self) -> tuple[float, float]:
        """The interval outside of which nothing is integrated."""
        return self.mean - TAIL * self.sd, self.mean + TAIL * self.sd

    def root_density(self, y: Array) -> Array:
        """Return the square root of the density."""
        z = (y - self.mean) / self.sd
        return np.exp(-0.25 * z * z) / sqrt(sqrt(2.0 * pi) * self.sd)


Measure: TypeAlias = Interval | Normal


@dataclass(frozen=True, slots=True, repr=False)
class How(Shown):
    """How a decomposition was computed: the method, the points used, whether it settled."""

    facts: ClassVar[Mapping[str, str]] = {
        "nodes": "points that were used",
        "is_converged": "whether it settled",
    }

    method: str
    nodes: int
    is_converged: bool

    def _title(self) -> str:
        return f"{self.method}, {self.nodes} nodes"


@dataclass(frozen=True, slots=True)
class Eigenfunction:
    """One of a family of functions that are computed together."""

    family: Callable[[Points], Array]
    index: int

    def __call__(self, x: Points) -> Array:
        """Return ξ(x[i]) for every point."""
        return self.family(x)[:, self.index]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MercerDecomposition(Shown):
    """Leading eigenvalues of a kernel's integral operator, with their functions and errors."""

    facts: ClassVar[Mapping[str, str]] = {
        "values": "eigenvalues",
        "errors": "of the eigenvalues",
        "trace": "of the kernel",
        "how": "it was computed",
    }

    values: Array
    """Eigenvalues, decreasing; those that rounding cannot tell from 0 are 0."""
    errors: Array
    """How far each value may be from an eigenvalue; see `mercer_decomposition`."""
    trace: float
    """∫ k(x, x) dρ(x), the sum of all eigenvalues."""
    how: How
    family: Callable[[Points], Array]
    """All eigenfunctions at once, as columns."""

    @property
    def functions(self) -> tuple[Eigenfunction, ...]:
        """Eigenfunctions, orthonormal in L²(ρ): one for each value that is not 0."""
        return tuple(Eigenfunction(self.family, i) for i in range(np.count_nonzero(self.values)))

    def features(self, x: Points) -> Array:
        """Return the columns √λᵢ ξᵢ(x), whose inner products approach k."""
        columns = self.family(x)
        return np.asarray(columns * np.sqrt(self.values[: columns.shape[1]]))
