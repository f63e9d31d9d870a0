"""What a kernel may ask about pairs of points, computed once and shared by a whole expression.

A kernel states its formula on `Pairs` and never learns whether the pairs are all of X x Y (a
`AllPairs`, for Gram matrices) or only the matching ones (`Aligned`, for diagonals).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from array_api_compat import is_numpy_array
from scipy.sparse import csr_array, hstack

from mercer.check import (
    NUMPY,
    Array,
    Namespace,
    Points,
    array_like,
    as_numpy,
    how_many,
    is_foreign,
    namespace,
    place_of,
    vectors,
)
from mercer.errors import InvalidInput, NotDifferentiable
from mercer.kernels import point_pairs
from mercer.kernels.point_pairs import DISTANCE_ACCURACY as DISTANCE_ACCURACY
from mercer.kernels.point_pairs import (
    in_lengths,
    sparse_squared_distances,
    squared_distances,
    sums_of_squares,
)
from mercer.points import SparseRows, as_points
from mercer.settings import number, numbers

T = TypeVar("T")
Scale: TypeAlias = float | tuple[float, ...]

INNER = "inner"
Statistic: TypeAlias = Scale | str
"""What engines make by one matrix product: `INNER`, or squared distances in units of a scale."""

DIRECT_COLUMNS = 4
"""Up to this many coordinates, differences cost no more than a matrix product and never cancel."""

SAFE_SQUARE = 1e150
"""Beyond this (or below its inverse) a square leaves the range of double precision."""

LARGEST_SQUARE = 1e300
"""Scaled squared distances stop here: every decreasing profile has long been zero."""


def checked_scale(scale: Any) -> Scale:
    """Return a scale: a positive number, or one for each coordinate."""
    if np.ndim(scale) == 0:
        return number(scale, "scale", above=0.0)
    return numbers(np.asarray(scale).tolist(), "scale", lambda s, name: number(s, name, above=0.0))


def multiply_scales(a: Scale, b: Scale) -> Scale:
    """Return the products of lengths, coordinate by coordinate.

    >>> multiply_scales(2.0, (1.0, 3.0))
    (2.0, 6.0)
    """
    if not isinstance(a, tuple) and not isinstance(b, tuple):
        return a * b
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) != len(b):
        raise InvalidInput(f"{len(a)} lengths cannot be multiplied by {len(b)}, one for each")
    return tuple(np.multiply(a, b).tolist())


def numpy_exponential(a: Array, factor: float) -> Array:
    """Replace an array by exp(factor·a)."""
    if factor != 1.0:
        np.multiply(a, factor, out=a)
    return np.exp(a, out=a)


exponential: ContextVar[Callable[[Array, float], Array]] = ContextVar(
    "exponential", default=numpy_exponential
)
"""How numpy arrays are exponentiated in place; an engine's threads may know a faster way."""


def exp(a: Array, factor: float = 1.0) -> Array:
    """Return exp(factor·a) entrywise, in the memory of ``a`` where its library allows."""
    if is_numpy_array(a):
        return exponential.get()(a, factor)
    if hasattr(a, "exp_") and not a.requires_grad:  # one of torch's, which is changed in place
        found: Array = (a if factor == 1.0 else a.mul_(factor)).exp_()
        return found
    return namespace(a).exp(factor * a)


class Pairs(ABC):
    """Pairs (x, y) of points, and the quantities from which kernels are made.

    Arrays returned by `inner` are shared and must not be written to; those returned by
    `squared_distance`, `distance` and `differences` belong to the caller.
    """

    def __init__(self, x: Points, y: Points | None = None) -> None:
        self.x = as_points(x, "x")
        self.same = y is None or y is x
        self.y = self.x if self.same else as_points(y, "y")
        self._known: dict[Hashable, Any] = {}

    def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._known:
            self._known[key] = make()
        return cast(T, self._known[key])

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """(n, m) for all pairs, (n,) for matching ones."""

    @abstractmethod
    def of_x(self, f: Array) -> Array:
        """Return values f, one per x, in a shape that broadcasts over the pairs."""

    @abstractmethod
    def of_y(self, g: Array) -> Array:
        """Return values g, one per y, in a shape that broadcasts over the pairs."""

    def outer(self, f: Array, g: Array) -> Array:
        """Return f(x) times the conjugate of g(y)."""
        return self.of_x(f) * self.of_y(conj(g))

    @abstractmethod
    def dot(self, a: Any, b: Any) -> Array:
        """Return the inner products of the rows of a (one per x) with those of b (one per y)."""

    def difference(self, scale: Scale = 1.0) -> Array:
        """Return (x - y)/scale with the coordinates on a last axis, for gradients in x."""
        if is_complex(self.vectors[0]):
            raise NotDifferentiable("slopes are defined for real vectors only")
        a, b, lengths = self.sides(scale)
        gaps: Array = (self.of_x(a) - self.of_y(b)) / lengths
        return gaps

    @abstractmethod
    def each(self, function: Callable[[Any, Any], Any]) -> Array:
        """Return a Python function evaluated on every pair; of (x, y) and (y, x), on one of them.

        Among the first few points it is called on both: who doubts it can compare.
        """

    @abstractmethod
    def blocks(self, function: Callable[[Any, Any], Any]) -> Array:
        """Return a function of two blocks of points, which gives a matrix, on every pair."""

    @property
    def vectors(self) -> tuple[Array, Array]:
        """Both sides as rows of numbers, with the same number of columns."""
        return self._once("vectors", self._vectors)

    def _vectors(self) -> tuple[Array, Array]:
        a = vectors(self.x, "x")
        b = a if self.same else vectors(self.y, "y")
        self._refuse_other_columns(a, b)
        xp = namespace(a, b)
        if is_complex(a) != is_complex(b):
            a, b = xp.astype(a, xp.complex128), xp.astype(b, xp.complex128)
        return a, b

    def _refuse_other_columns(self, a: Any, b: Any) -> None:
        if a.shape[1] != b.shape[1] or a.shape[1] == 0:
            raise InvalidInput(
                f"x has points of {a.shape[1]} coordinates and y of {b.shape[1]}; a kernel "
                "compares points of one space with at least one coordinate"
            )

    @property
    def is_sparse(self) -> bool:
        """Whether a side holds sparse rows; inner products and distances then take them as such."""
        return isinstance(self.x, SparseRows) or isinstance(self.y, SparseRows)

    @property
    def rows(self) -> tuple[Any, Any]:
        """Both sides as rows of numbers, as sparse matrices if one of them is."""
        return self._once("rows", self._sparse_rows) if self.is_sparse else self.vectors

    def _sparse_rows(self) -> tuple[Any, Any]:
        a = _sparse(self.x, "x")
        b = a if self.same else _sparse(self.y, "y")
        self._refuse_other_columns(a, b)
        return a, b

    @property
    def like(self) -> Any:
        """Points in whose library, and on whose device, values are made."""
        return self.x if is_foreign(self.x) else self.y

    @property
    def place(self) -> dict[str, Any]:
        """Where arrays are made that meet the vectors: on the device of another library's."""
        return place_of(self.like)

    def array(self, values: Any) -> Array:
        """Return numbers as an array of the library of the points, where these lie."""
        return array_like(values, self.like)

    def full(self, value: float) -> Array:
        """Return the same value for every pair."""
        xp = namespace(self.like)
        return xp.full(self.shape, value, dtype=xp.float64, **self.place)

    @property
    def xp(self) -> Namespace:
        """The array namespace of the vectors; that of sparse rows is numpy."""
        return self._once("xp", lambda: NUMPY if self.is_sparse else namespace(self.vectors[0]))

    @property
    def columns(self) -> int:
        """How many coordinates a point has."""
        return int(self.rows[0].shape[1])

    def column_scale(self, scale: Scale) -> Scale:
        """Check that a scale per coordinate has one entry per coordinate."""
        if isinstance(scale, tuple) and len(scale) != self.columns:
            raise InvalidInput(
                f"the kernel has {len(scale)} bandwidths but the points have {self.columns} "
                "coordinates; give one bandwidth, or one per coordinate"
            )
        return scale

    def inner(self) -> Array:
        """Return the inner products Σ x_j conj(y_j); shared, not to be written to."""
        return self._once("inner", lambda: self.dot(*self.rows))

    def sides(self, scale: Scale = 1.0) -> tuple[Any, Any, Array]:
        """Return both sides, complex coordinates as pairs of real ones, and the columns' lengths.

        Differences are divided by the lengths, not the points: far from the origin the division
        would round away what distinguishes them.
        """
        a, b = self.rows
        xp = self.xp
        lengths = xp.broadcast_to(self.array(self.column_scale(scale)), (self.columns,))
        if not is_complex(a):
            return a, b, lengths
        left = _as_real(a, xp)
        return left, left if b is a else _as_real(b, xp), xp.concat([lengths, lengths])

    def squared_distance(self, scale: Scale = 1.0) -> Array:
        """Return Σ |(x_j - y_j)/scale_j|², never negative and exactly 0 for equal points."""
        before, after = _split(scale)
        if self._squares_are_doubles(scale):
            # Two divisions: the square of the scale may underflow or overflow where they do not.
            s = self._once(("squares", before), lambda: self._squares(before)) / after
            s /= after
            return s
        if self.is_sparse:
            raise InvalidInput(
                "squared distances of these sparse rows leave the range of double precision; "
                "rescale them, or the bandwidth"
            )
        with np.errstate(over="ignore"):
            return self.xp.clip(self.distance(2.0, scale) ** 2, None, LARGEST_SQUARE)

    def _squares_are_doubles(self, scale: Scale) -> bool:
        """Whether squared distances stay in the range of doubles, before and after scaling."""
        before, after = _split(scale)
        with np.errstate(over="ignore"):
            largest = self._once(("largest", before), lambda: self._largest(before))
        is_small = min(after, largest or 1.0) < 1.0 / SAFE_SQUARE
        return not is_small and largest <= SAFE_SQUARE * min(after, 1.0)

    def _largest(self, scale: Scale) -> float:
        """Return the largest coordinate in units of the scale."""
        a, b, lengths = self.sides(scale)
        if self.is_sparse:
            return float(
                max(np.max(np.abs(in_lengths(s, lengths).data), initial=0.0) for s in (a, b))
            )
        xp = namespace(a)
        columns = [xp.max(xp.abs(v), axis=0) / lengths for v in (a, b) if v.shape[0]]
        return max((float(xp.max(v)) for v in columns), default=0.0)

    @abstractmethod
    def _squares(self, scale: Scale) -> Array:
        """Return Σ ((x_j - y_j)/scale_j)² for points whose squares are representable."""

    def _roots(self, scale: Scale) -> Array:
        """Return √Σ ((x_j - y_j)/scale_j)² in units of each pair's largest difference."""
        xp = self.xp
        largest = xp.zeros(self.shape, dtype=xp.float64, **self.place)
        for gap in self.differences(scale):
            largest = xp.maximum(largest, xp.abs(gap))
        unit = xp.where(largest > 0, largest, 1.0)
        total = xp.zeros(self.shape, dtype=xp.float64, **self.place)
        for gap in self.differences(scale):
            total += (gap / unit) ** 2
        return largest * xp.sqrt(total)

    @abstractmethod
    def differences(self, scale: Scale = 1.0) -> Iterator[Array]:
        """Yield (x_j - y_j)/scale_j one coordinate at a time."""

    def distance(self, norm: float, scale: Scale = 1.0) -> Array:
        """Return (Σ |(x_j - y_j)/scale_j|^norm)^(1/norm)."""
        xp = self.xp
        if norm == 2.0 and self._squares_are_doubles(scale):
            return xp.sqrt(self.squared_distance(scale))
        if self.is_sparse and norm == 2.0:
            return xp.sqrt(self.squared_distance(scale))  # which says what is wrong
        if norm == 2.0:
            before, after = _split(scale)
            with np.errstate(over="ignore"):
                return self._once(("roots", before), lambda: self._roots(before)) / after
        total = xp.zeros(self.shape, dtype=xp.float64, **self.place)
        for gap in self.differences(scale):
            total += xp.abs(gap) if norm == 1.0 else xp.abs(gap) ** norm
        return total if norm == 1.0 else total ** (1.0 / norm)

    def mapped(self, psi: Callable[[Any], Any]) -> Pairs:
        """Return the pairs (ψ(x), ψ(y))."""
        return self._once(
            ("mapped", psi),
            lambda: type(self)(_image(psi, self.x), None if self.same else _image(psi, self.y)),
        )

    def value_of(self, kernel: object, make: Callable[[], T]) -> T:
        """Return what is remembered of a kernel on these pairs, by the kernel's identity."""
        # The kernel is kept too: its number in memory could otherwise pass to another one.
        return self._once(("kernel", id(kernel)), lambda: (kernel, make()))[1]

    def left(self) -> Aligned:
        """Return the pairs (x, x)."""
        return self._once("left", lambda: Aligned(self.x))

    def right(self) -> Aligned:
        """Return the pairs (y, y)."""
        if self.same:
            return self.left()
        return self._once("right", lambda: Aligned(self.y))


class AllPairs(Pairs):
    """All pairs of X x Y: entry (i, j) belongs to x[i] and y[j]."""

    @property
    def shape(self) -> tuple[int, int]:
        return how_many(self.x), how_many(self.y)

    def of_x(self, f: Array) -> Array:
        column: Array = f[:, None, ...]
        return column

    def of_y(self, g: Array) -> Array:
        return g[None, ...]

    def dot(self, a: Any, b: Any) -> Array:
        product = a @ conj(b).T
        dense: Array = product.toarray() if hasattr(product, "toarray") else product
        return dense

    def differences(self, scale: Scale = 1.0) -> Iterator[Array]:
        self.vectors  # noqa: B018  (refuses sparse rows)
        a, b, lengths = self.sides(scale)
        for j in range(a.shape[1]):
            yield (a[:, j][:, None] - b[:, j][None, :]) / lengths[j]

    def each(self, function: Callable[[Any, Any], Any]) -> Array:
        return point_pairs.on_all(function, self.x, self.y, self.same)

    def blocks(self, function: Callable[[Any, Any], Any]) -> Array:
        return point_pairs.on_blocks(function, self.x, self.y)

    def _squares(self, scale: Scale) -> Array:
        a, b, lengths = self.sides(scale)
        if self.is_sparse:
            return sparse_squared_distances(a, b, lengths)
        if is_numpy_array(a) and a.shape[1] > DIRECT_COLUMNS:
            return squared_distances(a, b, lengths)
        xp = namespace(a)
        total = xp.zeros(self.shape, dtype=a.dtype, **self.place)
        for gap in self.differences(scale):
            gap *= gap
            total += gap
        return total


class Aligned(Pairs):
    """Only the matching pairs: entry i belongs to x[i] and y[i]."""

    def __init__(self, x: Points, y: Points | None = None) -> None:
        super().__init__(x, y)
        if how_many(self.x) != how_many(self.y):
            raise InvalidInput(
                f"{how_many(self.x)} points cannot be matched with {how_many(self.y)}"
            )

    def left(self) -> Aligned:
        return self if self.same else Pairs.left(self)

    def right(self) -> Aligned:
        return self if self.same else Pairs.right(self)

    @property
    def shape(self) -> tuple[int]:
        return (how_many(self.x),)

    def of_x(self, f: Array) -> Array:
        return f

    def of_y(self, g: Array) -> Array:
        return g

    def dot(self, a: Any, b: Any) -> Array:
        if hasattr(a, "toarray"):
            return np.asarray(a.multiply(b.conj()).sum(axis=1)).reshape(-1)
        return namespace(a).sum(a * conj(b), axis=1)

    def squared_distance(self, scale: Scale = 1.0) -> Array:
        if not self.same:
            return super().squared_distance(scale)
        self.column_scale(scale)
        # Of each point to itself.
        return self.xp.zeros(self.shape, dtype=self.xp.float64, **self.place)

    def differences(self, scale: Scale = 1.0) -> Iterator[Array]:
        self.vectors  # noqa: B018  (refuses sparse rows)
        a, b, lengths = self.sides(scale)
        for j in range(a.shape[1]):
            yield (a[:, j] - b[:, j]) / lengths[j]

    def largest_coordinates(self) -> Array:
        """Return the largest modulus of a coordinate of each x."""
        if self.is_sparse:
            return np.asarray(abs(self.rows[0]).max(axis=1).toarray()).reshape(-1)
        return self.xp.max(self.xp.abs(self.vectors[0]), axis=1)

    def each(self, function: Callable[[Any, Any], Any]) -> Array:
        return point_pairs.on_matching(function, self.x, self.y)

    def blocks(self, function: Callable[[Any, Any], Any]) -> Array:
        return point_pairs.on_matching_blocks(function, self.x, self.y)

    def _squares(self, scale: Scale) -> Array:
        a, b, lengths = self.sides(scale)
        if self.is_sparse:
            return sums_of_squares(in_lengths(a - b, lengths))
        gap = (a - b) / lengths
        return namespace(a).sum(gap * gap, axis=1)


def _sparse(points: Points, name: str) -> Any:
    """Return points as a sparse matrix, dense ones made so."""
    if isinstance(points, SparseRows):
        return points.matrix
    return csr_array(as_numpy(vectors(points, name)))


def _as_real(a: Any, xp: Namespace) -> Any:
    if hasattr(a, "toarray"):
        return hstack([a.real, a.imag], format="csr")
    return xp.concat([xp.real(a), xp.imag(a)], axis=1) if is_complex(a) else a


def real(a: Array) -> Array:
    """Return the real part, of real arrays the array itself."""
    return namespace(a).real(a) if is_complex(a) else a


def is_complex(a: Any) -> bool:
    """Whether an array, dense or sparse, holds complex numbers."""
    if isinstance(a, np.ndarray) or hasattr(a, "toarray"):
        return bool(a.dtype.kind == "c")
    return bool(namespace(a).isdtype(a.dtype, "complex floating"))


def _split(scale: Scale) -> tuple[Scale, float]:
    """Return the lengths to divide by before squaring and after it.

    One length for all coordinates comes after, so that bandwidths share distances.
    """
    return (scale, 1.0) if isinstance(scale, tuple) else (1.0, scale)


def conj(a: Any) -> Any:
    """Return the complex conjugate of an array, dense or sparse; real ones as they are."""
    if not is_complex(a):
        return a
    return a.conj() if hasattr(a, "conj") else namespace(a).conj(a)


def _image(psi: Callable[[Any], Any], points: Points) -> Points:
    image = as_points(psi(points), "the image of the points")
    if how_many(image) != how_many(points):
        raise InvalidInput(
            f"the map of points returned {how_many(image)} points for {how_many(points)}; it must "
            "return one for each"
        )
    return image
