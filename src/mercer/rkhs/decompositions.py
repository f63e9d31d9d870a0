"""Mercer's theorem as values, and computed on rectangles of R^p by grids of nodes (Nyström).

Values are measures, and eigenvalues with their functions and errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from itertools import pairwise
from math import ceil, pi, sqrt
from numbers import Real
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.special import roots_legendre

from mercer.check import UNIT, Array, Points
from mercer.display import Shown
from mercer.errors import InvalidParameter, NotAvailable
from mercer.kernels.base import Kernel
from mercer.kernels.pairs import AllPairs
from mercer.rkhs.feature_distances import KERNEL_ROUNDING, kernel_values
from mercer.rkhs.functions import (
    combination_of_sections,
    orientation_of_columns,
    refuse_negative,
)
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
class HowDecomposed(Shown):
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
    """Leading eigenvalues of a kernel's integral operator, with their functions and errors.

    >>> import mercer as mc
    >>> found = mc.mercer_decomposition(1.0 + mc.Linear(), mc.Interval(-1.0, 1.0), 2)
    >>> found.values, round(found.trace, 4)
    (array([2.        , 0.66666667]), 2.6667)
    """

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
    how: HowDecomposed
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


def legendre(t: Array, size: int) -> Iterator[Array]:
    """Yield the polynomials of degree < size at t that are orthonormal on [-1, 1]."""
    before, now = np.zeros_like(t), np.ones_like(t)
    for j in range(size):
        yield np.sqrt(j + 0.5) * now
        before, now = now, ((2 * j + 1) * t * now - j * before) / (j + 1)


@lru_cache(maxsize=8)
def gauss(size: int) -> tuple[Array, Array]:
    """Return the nodes and weights of Gauss and Legendre on [-1, 1].

    The usual formula for the weights loses digits near the ends, 1e-11 of a weight at 200 nodes;
    the sum of squares (Christoffel) has none to lose.
    """
    nodes = roots_legendre(size)[0]
    return nodes, 1.0 / np.sum([p * p for p in legendre(nodes, size)], axis=0)


NEGLIGIBLE = 1e-12
"""The share of the first eigenvalue that a change may have at the end."""

RECTANGLE_NODES = 1600
"""Nodes of a grid in a rectangle: 40² of them take a second, 11³ are left in three dimensions."""

RATIO, FEWEST_SIZES = 1.4, 3
"""How much larger each grid is than the one before, and grids that are compared at least."""

NEARBY = 16
"""Values on either side whose changes count for one: where two cross, sorted ones hardly change."""

MARGIN = 2.0
"""What is left of a change is an estimate, which kernels with a kink meet to a thousandth."""

SLOWEST = 0.9
"""Share of a change that the next one has, where grids do not tell: nine times it is left then."""


def on_a_rectangle(kernel: Kernel, measure: Interval, count: int) -> MercerDecomposition:
    """Return the values of the finest grid, or of the first that changes them no more."""
    p = measure.dimension
    most = int(RECTANGLE_NODES ** (1.0 / p) + 1e-9)
    if most < 4 or count > most**p // 2:
        raise InvalidParameter(
            f"a rectangle of {p} coordinates takes at most {RECTANGLE_NODES} nodes, which is too "
            f"few for count = {count}; give a sample of points in place of the rectangle"
        )
    found: list[Array] = []
    errors, is_converged = np.full(count, np.inf), False
    for size in _sizes(most, max(4, 2 * ceil(count ** (1.0 / p)))):
        points, weights = _nodes(measure, size)
        roots = np.sqrt(weights)
        T = kernel_values(kernel, AllPairs(points)) * roots[:, None] * roots
        T = 0.5 * (T + T.conj().T)
        values, axes = np.linalg.eigh(T)
        values, axes = values[::-1], axes[:, ::-1]
        largest = float(np.max(np.abs(values)))
        kept = np.zeros(count + NEARBY)
        kept[: len(values)] = values[: count + NEARBY]
        found.append(kept)
        shown = kept[:count]
        if len(found) > 1:
            changes = np.abs(kept - found[-2])
            is_converged = bool(np.all(changes[:count] <= NEGLIGIBLE * largest))
            nearby = changes if is_converged else _largest_nearby(changes)
            errors = MARGIN * _remaining(found, count) * nearby[:count]
        if is_converged:
            break
    rounding = len(points) * UNIT * largest
    refuse_negative(kernel, float(values[-1]), len(points) * KERNEL_ROUNDING * largest)
    positive = shown > rounding
    leading = axes[:, :count][:, positive[: len(values)]]
    signs = orientation_of_columns(leading / roots[:, None]) if leading.size else 1.0
    sections = leading * signs * roots[:, None] / shown[positive]
    return MercerDecomposition(
        values=np.where(positive, shown, 0.0),
        errors=np.where(positive, errors + rounding, errors + rounding + np.abs(shown)),
        trace=float(np.trace(T).real),
        how=HowDecomposed("Nyström on Gauss and Legendre's nodes", len(points), is_converged),
        family=partial(combination_of_sections, kernel, points=points, weights=sections),
    )


def _sizes(most: int, least: int) -> list[int]:
    """Return increasing sizes of grids, each so much larger that a change tells the error.

    >>> _sizes(40, 4), _sizes(11, 4), _sizes(40, 36)
    ([5, 7, 10, 14, 20, 28, 40], [5, 7, 11], [20, 28, 40])
    """
    sizes = [most]
    while (size := int(sizes[-1] / RATIO)) >= least or (len(sizes) < FEWEST_SIZES and size > 1):
        sizes.append(size)
    return sizes[::-1]


def _largest_nearby(changes: Array) -> Array:
    """Return the largest of each change and those of its neighbours.

    >>> _largest_nearby(np.array([1.0, 0.0, 3.0, *np.zeros(20)]))[[0, 18, 19]]
    array([3., 3., 0.])
    """
    return np.array(
        [np.max(changes[max(0, i - NEARBY) : i + NEARBY + 1]) for i in range(len(changes))]
    )


def _remaining(found: list[Array], count: int) -> float:
    """Return what changes add up to from here on, in units of the last one.

    They fall from grid to grid by the share θ that the last two show, so that θ/(1 - θ) is left;
    at least 1 is charged, and as much as θ = `SLOWEST` leaves where no more is known.
    """
    changes = [float(np.max(np.abs(b - a)[:count])) for a, b in pairwise(found[-3:])]
    if len(changes) < 2 or not changes[0] > 0.0:  # noqa: PLR2004
        share = SLOWEST
    else:
        share = min(changes[1] / changes[0], SLOWEST)
    return max(1.0, share / (1.0 - share))


def _nodes(measure: Interval, size: int) -> tuple[Array, Array]:
    """Return a grid of Gauss and Legendre's nodes in a rectangle, with their weights."""
    nodes, w = gauss(size)
    a, b = np.asarray(measure.a), np.asarray(measure.b)
    half = 0.5 * b - 0.5 * a
    with np.errstate(over="ignore"):
        volume = float(np.prod(2.0 * half))
    if not np.isfinite(volume):
        raise InvalidParameter(
            f"the rectangle from {measure.a} to {measure.b} is too large: its volume leaves "
            "the range of double precision"
        )
    grid = np.meshgrid(*(a[j] + half[j] * (1.0 + nodes) for j in range(len(a))), indexing="ij")
    weights = np.prod(half) * reduce(np.multiply.outer, [w] * len(a)).ravel()
    return np.column_stack([part.ravel() for part in grid]), np.asarray(weights)
