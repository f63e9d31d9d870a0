"""What a kernel may ask about pairs of points, computed once and shared by a whole expression.

A kernel states its formula on `Pairs` and never learns whether the pairs are all of X x Y (a
`Table`, for Gram matrices) or only the matching ones (`Aligned`, for diagonals).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from array_api_compat import is_numpy_array

from mercer.check import (
    Array,
    InvalidInput,
    Namespace,
    NotDifferentiable,
    Points,
    as_numpy,
    as_points,
    chunks,
    members,
    namespace,
    vectors,
)

T = TypeVar("T")
Scale: TypeAlias = float | tuple[float, ...]

DIRECT_COLUMNS = 4
"""Up to this many coordinates, differences cost no more than a matrix product and never cancel."""

DISTANCE_ACCURACY = 1e-10
"""Relative error allowed to a squared distance from a matrix product before it is recomputed."""

SAFE_SQUARE = 1e150
"""Beyond this (or below its inverse) a square leaves the range of double precision."""

LARGEST_SQUARE = 1e300
"""Scaled squared distances stop here: every decreasing profile has long been zero."""


def exp(a: Array) -> Array:
    """Return the entrywise exponential, in the memory of ``a`` where its library allows."""
    return np.exp(a, out=a) if is_numpy_array(a) else namespace(a).exp(a)


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
        return self.of_x(f) * self.of_y(namespace(g).conj(g) if is_complex(g) else g)

    @abstractmethod
    def dot(self, a: Any, b: Any) -> Array:
        """Return the inner products of the rows of a (one per x) with those of b (one per y)."""

    def difference(self, scale: Scale = 1.0) -> Array:
        """Return (x - y)/scale with the coordinates on a last axis, for gradients in x."""
        if is_complex(self.vectors[0]) or is_complex(self.vectors[1]):
            raise NotDifferentiable("slopes are defined for real vectors only")
        a, b = self.scaled(scale)
        return self.of_x(a) - self.of_y(b)

    @abstractmethod
    def each(self, function: Callable[[Any, Any], Any]) -> Array:
        """Return a Python function evaluated on every pair."""

    @property
    def vectors(self) -> tuple[Array, Array]:
        """Both sides as rows of numbers, with the same number of columns."""
        return self._once("vectors", self._vectors)

    def _vectors(self) -> tuple[Array, Array]:
        a = vectors(self.x, "x")
        b = a if self.same else vectors(self.y, "y")
        if a.shape[1] != b.shape[1]:
            raise InvalidInput(
                f"x has points of {a.shape[1]} coordinates and y of {b.shape[1]}; a kernel "
                "compares points of one space"
            )
        return a, b

    @property
    def xp(self) -> Namespace:
        """The array namespace of the vectors."""
        return namespace(self.vectors[0])

    @property
    def columns(self) -> int:
        """How many coordinates a point has."""
        return int(self.vectors[0].shape[1])

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
        return self._once("inner", lambda: self.dot(*self.vectors))

    def scaled(self, scale: Scale) -> tuple[Array, Array]:
        """Return both sides divided by the scale, complex coordinates as pairs of real ones."""
        a, b = self.vectors
        xp = self.xp
        divisor = xp.asarray(self.column_scale(scale), dtype=xp.float64)
        left = _as_real(a / divisor, xp)
        return left, left if self.same else _as_real(b / divisor, xp)

    def squared_distance(self, scale: Scale = 1.0) -> Array:
        """Return Σ |(x_j - y_j)/scale_j|², never negative and exactly 0 for equal points."""
        # A scale for all coordinates is applied afterwards, so that bandwidths share distances.
        before, after = (scale, 1.0) if isinstance(scale, tuple) else (1.0, scale)
        unit, squares = self._once(("squares", before), lambda: self._squares(*self.scaled(before)))
        # Two multiplications: the square of unit/scale may overflow where 0 times it must stay 0.
        factor = unit / after
        with np.errstate(over="ignore"):
            s = squares * factor
            s *= factor
        return self.xp.minimum(s, LARGEST_SQUARE) if factor > 1.0 else s

    def _squares(self, a: Array, b: Array) -> tuple[float, Array]:
        xp = namespace(a)
        largest = max((float(xp.max(xp.abs(v))) for v in (a, b) if 0 not in v.shape), default=0.0)
        unit = 1.0
        if largest > SAFE_SQUARE or 0.0 < largest < 1.0 / SAFE_SQUARE:
            unit = 2.0 ** np.floor(np.log2(largest))
            a, b = (a / unit, a / unit if b is a else b / unit)
        return unit, self._squared(a, b)

    @abstractmethod
    def _squared(self, a: Array, b: Array) -> Array:
        """Return Σ (a_j - b_j)² for pairs of rows whose squares are representable."""

    @abstractmethod
    def differences(self, scale: Scale = 1.0) -> Iterator[Array]:
        """Yield (x_j - y_j)/scale_j one coordinate at a time."""

    def distance(self, norm: float, scale: Scale = 1.0) -> Array:
        """Return (Σ |(x_j - y_j)/scale_j|^norm)^(1/norm)."""
        xp = self.xp
        if norm == 2.0:
            return xp.sqrt(self.squared_distance(scale))
        total = xp.zeros(self.shape, dtype=xp.float64)
        for gap in self.differences(scale):
            total += xp.abs(gap) if norm == 1.0 else xp.abs(gap) ** norm
        return total if norm == 1.0 else total ** (1.0 / norm)

    def mapped(self, psi: Callable[[Points], Points]) -> Pairs:
        """Return the pairs (ψ(x), ψ(y))."""
        return self._once(
            ("mapped", psi), lambda: type(self)(psi(self.x), None if self.same else psi(self.y))
        )

    def left(self) -> Aligned:
        """Return the pairs (x, x)."""
        return self._once("left", lambda: Aligned(self.x))

    def right(self) -> Aligned:
        """Return the pairs (y, y)."""
        if self.same:
            return self.left()
        return self._once("right", lambda: Aligned(self.y))


class Table(Pairs):
    """All pairs of X x Y: entry (i, j) belongs to x[i] and y[j]."""

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.x), len(self.y)

    def of_x(self, f: Array) -> Array:
        column: Array = f[:, None, ...]
        return column

    def of_y(self, g: Array) -> Array:
        return g[None, ...]

    def dot(self, a: Any, b: Any) -> Array:
        product = a @ (b.conj().T if is_complex(b) else b.T)
        dense: Array = product.toarray() if hasattr(product, "toarray") else product
        return dense

    def differences(self, scale: Scale = 1.0) -> Iterator[Array]:
        a, b = self.scaled(scale)
        for j in range(a.shape[1]):
            yield a[:, j][:, None] - b[:, j][None, :]

    def each(self, function: Callable[[Any, Any], Any]) -> Array:
        values = [[function(x, y) for y in members(self.y)] for x in members(self.x)]
        return np.asarray(values, dtype=_dtype_of(values)).reshape(self.shape)

    def _squared(self, a: Array, b: Array) -> Array:
        if is_numpy_array(a) and a.shape[1] > DIRECT_COLUMNS:
            return squared_distances(a, b)
        xp = namespace(a)
        total = xp.zeros(self.shape, dtype=a.dtype)
        for j in range(a.shape[1]):
            gap = a[:, j][:, None] - b[:, j][None, :]
            gap *= gap
            total += gap
        return total


class Aligned(Pairs):
    """Only the matching pairs: entry i belongs to x[i] and y[i]."""

    @property
    def shape(self) -> tuple[int]:
        return (len(self.x),)

    def of_x(self, f: Array) -> Array:
        return f

    def of_y(self, g: Array) -> Array:
        return g

    def dot(self, a: Any, b: Any) -> Array:
        if hasattr(a, "multiply"):
            return np.asarray(a.multiply(b.conj()).sum(axis=1)).reshape(-1)
        xp = namespace(a)
        return xp.sum(a * (xp.conj(b) if is_complex(b) else b), axis=1)

    def differences(self, scale: Scale = 1.0) -> Iterator[Array]:
        a, b = self.scaled(scale)
        gaps = a - b
        for j in range(gaps.shape[1]):
            yield gaps[:, j]

    def each(self, function: Callable[[Any, Any], Any]) -> Array:
        values = [function(x, y) for x, y in zip(members(self.x), members(self.y), strict=True)]
        return np.asarray(values, dtype=_dtype_of([values]))

    def _squared(self, a: Array, b: Array) -> Array:
        gap = a - b
        return namespace(a).sum(gap * gap, axis=1)


def squared_distances(a: Array, b: Array) -> Array:
    r"""Squared Euclidean distances between rows, by one matrix product.

    .. math:: d^2(x, y) = \|x\|^2 + \|y\|^2 - 2\langle x, y\rangle

    loses all digits of distances that are small against the norms, so the data are centred
    first, and entries whose error could exceed `DISTANCE_ACCURACY` are recomputed from
    differences; among them the zeros of the diagonal.

    >>> x = 1e8 + np.eye(5)
    >>> squared_distances(x, x)[0, :2]
    array([0., 2.])
    """
    centre = a.mean(axis=0) if len(a) else 0.0
    left = a - centre
    right = left if b is a else b - centre
    left_norms = np.einsum("ij,ij->i", left, left)
    right_norms = left_norms if right is left else np.einsum("ij,ij->i", right, right)
    d: Array = left @ right.T
    d *= -2.0
    d += left_norms[:, None]
    d += right_norms[None, :]
    # A product of p terms and two additions are off by at most (p+2)u(‖x‖²+‖y‖²).
    doubt = (a.shape[1] + 2) * np.finfo(np.float64).eps / 2 / DISTANCE_ACCURACY
    for rows in chunks(len(left), 256):
        block = d[rows]
        i, j = np.nonzero(block < doubt * (left_norms[rows, None] + right_norms[None, :]))
        for part in chunks(len(i), 65536):
            gap = a[rows][i[part]] - b[j[part]]
            block[i[part], j[part]] = np.einsum("ij,ij->i", gap, gap)
    return d


def codes(pairs: Pairs) -> tuple[Array, Array]:
    """Number the points so that equal points, and only those, have equal numbers."""
    seen: dict[Hashable, int] = {}

    def number(points: Points) -> Array:
        rows = as_numpy(vectors(points)) if hasattr(points, "ndim") else points
        keys = (tuple(p.tolist()) if hasattr(p, "tolist") else p for p in members(rows))
        return np.fromiter((seen.setdefault(_hashable(k), len(seen)) for k in keys), np.intp)

    left = number(pairs.x)
    return left, left if pairs.same else number(pairs.y)


def _hashable(point: Any) -> Hashable:
    if isinstance(point, list | tuple):
        return tuple(_hashable(p) for p in point)
    if isinstance(point, set):
        return frozenset(point)
    try:
        hash(point)
    except TypeError:
        raise InvalidInput(
            f"a point of type {type(point).__name__} cannot be tested for equality; "
            "use numbers, strings, tuples or frozensets"
        ) from None
    return cast(Hashable, point)


def _as_real(a: Array, xp: Namespace) -> Array:
    return xp.concat([xp.real(a), xp.imag(a)], axis=1) if is_complex(a) else a


def is_complex(a: Any) -> bool:
    """Whether an array, dense or sparse, holds complex numbers."""
    if hasattr(a, "toarray"):
        return bool(a.dtype.kind == "c")
    return bool(namespace(a).isdtype(a.dtype, "complex floating"))


def _dtype_of(rows: list[list[Any]]) -> type:
    has_complex = any(isinstance(v, complex | np.complexfloating) for row in rows for v in row)
    return np.complex128 if has_complex else np.float64
