"""Kernels that count the parts two points share, by sparse products that are found once.

What a part is called (a column) is agreed upon by the points that are compared, and forgotten
afterwards: no kernel keeps a vocabulary.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Number
from threading import Lock
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np
from array_api_compat import is_array_api_obj
from scipy.sparse import csr_array, diags_array, hstack

from mercer.check import Array, Points, as_numpy, chunks, finite, how_many, members
from mercer.errors import NoFeatureMap
from mercer.kernels.base import Kernel
from mercer.kernels.limits import Limits
from mercer.kernels.pairs import Aligned, AllPairs, Pairs
from mercer.points import Paired, Rows

Factor: TypeAlias = tuple[Any, Any]
"""A matrix for x and one for y, dense or sparse, with as many columns: K = A B'."""

T = TypeVar("T")


class Counts(NamedTuple):
    """How often each part occurs in each point, and how much a pair that shares it counts."""

    common: Array
    common_weights: Array
    rare: csr_array
    rare_weights: Array

    @classmethod
    def of(cls, table: csr_array, weights: Array | None = None) -> Counts:
        """Divide the columns of a table into those most points have and those few have."""
        given = np.ones(table.shape[1]) if weights is None else weights
        holders = np.bincount(table.indices, minlength=table.shape[1])
        is_common = holders > Limits.common_share * table.shape[0]
        if is_common.all():
            none = csr_array((table.shape[0], 0))
            return cls(table.toarray(order="F"), given, none, given[:0])
        columns = table.tocsc()
        common, rare = columns[:, is_common], columns[:, ~is_common].tocsr()
        return cls(common.toarray(), given[is_common], rare, given[~is_common])

    def rows(self, chosen: slice | Array) -> Counts:
        """Return the counts of some of the points."""
        return self._replace(common=self.common[chosen], rare=self.rare[chosen])

    def totals(self) -> Array:
        """Return how many parts each point has."""
        totals: Array = self.common.sum(axis=1) + np.asarray(self.rare.sum(axis=1)).reshape(-1)
        return totals

    def scaled(self) -> Counts:
        """Return the counts multiplied by their weights."""
        data = self.rare.data * self.rare_weights[self.rare.indices]
        rare = csr_array((data, self.rare.indices, self.rare.indptr), shape=self.rare.shape)
        return self._replace(common=self.common * self.common_weights, rare=rare)

    def dot(self, other: Counts, pairs: Pairs) -> Array:
        """Return the weighted inner products of the counts on each pair."""
        weighted = self.scaled()
        if len(pairs.shape) == 1:
            matching: Array = pairs.dot(weighted.common, other.common)
            return matching + pairs.dot(weighted.rare, other.rare)
        n, m = pairs.shape
        values = np.empty((n, m))
        turned = other.rare.T.tocsr() if other.rare.nnz else None
        for rows in chunks(n, Limits.count_rows):
            columns = slice(rows.start if pairs.same else 0, m)
            block = values[rows, columns]
            np.matmul(weighted.common[rows], other.common[columns].T, out=block)
            if turned is not None:
                block += (weighted.rare[rows] @ turned[:, columns]).toarray()
            if pairs.same:
                _mirror(values, rows)
        return values


def _mirror(values: Array, rows: slice) -> None:
    """Copy what stands right of a block on the diagonal to below it, in pieces a cache holds."""
    for part in chunks(len(values) - rows.stop, Limits.count_rows):
        below = slice(rows.stop + part.start, rows.stop + part.stop)
        values[below, rows] = values[rows, below].T
    square = values[rows, rows]
    square[:] = np.triu(square) + np.triu(square, 1).T


def without_empty_columns(table: csr_array) -> tuple[csr_array, Array]:
    """Return a table without its empty columns, and which columns are left."""
    left, columns = np.unique(table.indices, return_inverse=True)
    shape = table.shape[0], len(left)
    return csr_array((table.data, columns.astype(np.int64), table.indptr), shape=shape), left


def compact(table: csr_array) -> csr_array:
    """Leave out empty columns where there are so many that a product would suffer from them."""
    return table if table.shape[1] <= 4 * table.nnz + 1024 else without_empty_columns(table)[0]


def tally(rows: Array, columns: Array, shape: tuple[int, int], data: Array | None = None) -> Any:
    """Return the sparse table of how often (or with which weight) each column occurs in a row.

    >>> tally(np.array([0, 0, 1]), np.array([2, 2, 0]), (2, 3)).toarray()
    array([[0., 0., 2.],
           [1., 0., 0.]])
    """
    values = np.ones(len(rows)) if data is None else data
    table = csr_array((values, (rows, columns)), shape=shape)
    table.sum_duplicates()
    return table


def join_sparse(tables: Sequence[csr_array]) -> csr_array:
    """Return sparse tables side by side, without columns that nothing has if these are many."""
    return csr_array(hstack([compact(t) for t in tables], format="csr"))


class Counted(Kernel):
    """The inner product of how often each part occurs in two points."""

    __slots__ = ()
    is_counted: ClassVar[bool] = True
    is_inner_product: ClassVar[bool] = True
    """Whether the kernel is that inner product, and not a function of it."""

    @property
    def has_factors(self) -> bool:
        return self.is_inner_product

    def sparse_factors(self, pairs: Any) -> list[tuple[Any, Any]]:
        counts, right = self.sides(pairs)
        weighted = counts.scaled()
        return [(weighted.common, right.common), (weighted.rare, right.rare)]

    @abstractmethod
    def counts(self, points: list[Any]) -> Counts:
        """Return the counts of all points, whose columns are agreed upon by these points."""

    def evaluate(self, pairs: Pairs) -> Array:
        left, right = self.sides(pairs)
        return pairs.array(left.dot(right, pairs))

    def evaluate_own(self, pairs: Aligned) -> Array:
        return finite(self.evaluate(pairs), self)  # what is remembered of the pairs is the counts

    def sides(self, pairs: Pairs) -> tuple[Counts, Counts]:
        """Return the counts of both sides, in columns they agree upon."""
        x, y = pairs.x, pairs.y
        if isinstance(x, Remembered) and isinstance(y, Remembered) and x.memory is y.memory:
            return x.counts(self), y.counts(self)
        if pairs.same:
            both = pairs.left().value_of(self, lambda: self.counts(_listed(x)))
            return both, both
        both = self.counts([*_listed(x), *_listed(y)])
        n = how_many(x)
        return both.rows(slice(0, n)), both.rows(slice(n, None))

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        # Whole numbers and texts choose what is counted: no derivative is taken in them.
        is_tuned = any(isinstance(v, float) for v in self.parameters().values())
        return Kernel.evaluate_partials(self, pairs) if is_tuned else {}

    def features(self, x: Points) -> Array:
        raise NoFeatureMap(
            f"the features of {type(self).__name__} have no fixed columns: which there are depends "
            "on the points that are compared; use the kernel itself"
        )


def _listed(points: Points) -> list[Any]:
    """Return points as a list; not every library's arrays can be indexed by one number."""
    return list(members(as_numpy(points) if is_array_api_obj(points) else points))


class Memory:
    """Points that are compared many times, and what kernels found out about them."""

    def __init__(self, points: list[Any]) -> None:
        self.points = points
        self._lock = Lock()
        self._found: dict[Counted, Counts] = {}

    def counts(self, kernel: Counted) -> Counts:
        with self._lock:
            if kernel not in self._found:
                self._found[kernel] = kernel.counts(self.points)
            return self._found[kernel]


class Remembered:
    """Some points of a memory, in order: a sequence of points like any other.

    >>> words = remember_counts(["a", "b", "c"])[0]
    >>> len(words), words[1], list(words[1:])
    (3, 'b', ['b', 'c'])
    """

    def __init__(self, memory: Memory, places: range | Array) -> None:
        self.memory, self.places = memory, places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any, /) -> Any:
        if isinstance(index, slice):
            return Remembered(self.memory, self.places[index])
        return self.memory.points[self.places[index]]

    def picked(self, indices: Array) -> Remembered:
        """Return some of the points by their numbers."""
        return Remembered(self.memory, np.asarray(self.places)[indices])

    def __iter__(self) -> Iterator[Any]:
        return (self.memory.points[i] for i in self.places)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)  # another process counts what it needs itself

    def counts(self, kernel: Counted) -> Counts:
        """Return what a kernel counts in these points."""
        chosen: slice | Array = np.asarray(self.places, np.intp)
        if isinstance(self.places, range) and self.places.step > 0:
            # A slice takes no copy; one that goes back cannot reach the very first.
            chosen = slice(self.places.start, self.places.stop, self.places.step)
        return self.memory.counts(kernel).rows(chosen)


def remember_counts(x: Points, y: Points | None = None) -> tuple[Points, Points]:
    """Return points (and those they are compared with) whose counts are found once.

    Tiles of a Gram matrix of a `Counted` kernel then cost a sparse product each. Points of several
    parts, in columns, are remembered part by part.
    """
    if isinstance(x, Rows) and (y is None or isinstance(y, Rows)):
        others = x if y is None else y
        known = {
            name: _remembered_part(column, None if y is None else others.columns[name])
            for name, column in x.columns.items()
            if name in others.columns
        }
        left, right = (Rows({n: both[i] for n, both in known.items()}) for i in (0, 1))
        return left, left if y is None else right
    if isinstance(x, Paired) and (y is None or isinstance(y, Paired)):
        theirs = [None] * len(x.parts) if y is None else y.parts
        parts = [_remembered_part(a, b) for a, b in zip(x.parts, theirs, strict=True)]
        first = Paired(*(a for a, _ in parts))
        return first, first if y is None else Paired(*(b for _, b in parts))
    if isinstance(next(members(x), None), Mapping | tuple):
        return x, x if y is None else y
    return _remembered(x, y)


def _remembered(x: Points, y: Points | None) -> tuple[Remembered, Remembered]:
    left = _listed(x)
    right = [] if y is None else _listed(y)
    memory = Memory(left + right)
    first = Remembered(memory, range(len(left)))
    both = range(len(left), len(left) + len(right))
    return first, first if y is None else Remembered(memory, both)


def _remembered_part(x: Points, y: Points | None) -> tuple[Points, Points]:
    """Remember a column, unless it holds numbers, which are no parts to count."""
    if isinstance(next(members(x), 0.0), Number) or hasattr(x, "ndim"):
        return x, x if y is None else y
    return _remembered(x, y)


class Factors(NamedTuple):
    """A Gram matrix as a sum of products of thin matrices."""

    parts: tuple[Factor, ...]

    @property
    def size(self) -> int:
        """How many numbers a product with a vector multiplies."""
        return sum(_held(side) for part in self.parts for side in part)

    @property
    def width(self) -> int:
        """How many products an entry of K is a sum of, at the most."""
        return sum(_widest(left) for left, _ in self.parts)

    def product(self, vectors: Array) -> Array:
        """Return K V.

        >>> from mercer.kernels import StringSpectrum
        >>> of_strings = factors(StringSpectrum(1), ["ab", "a"], None)
        >>> of_strings.product(np.array([[1.0], [10.0]])).tolist()
        [[12.0], [11.0]]
        """
        first, *others = (left @ (right.T @ vectors) for left, right in self.parts)
        total: Array = first
        for other in others:
            total += other
        return total

    def scaled(self, left: Array, right: Array) -> Factors:
        """Return the factors with the points of both sides multiplied by numbers."""
        return Factors(tuple((_times(left, a), _times(right, b)) for a, b in self.parts))


def _held(side: Any) -> int:
    return int(side.nnz) if hasattr(side, "nnz") else int(side.size)


def _widest(side: Any) -> int:
    if hasattr(side, "indptr"):
        return int(np.max(np.diff(side.indptr), initial=0))
    return int(side.shape[1])


def _times(weights: Array, side: Any) -> Any:
    return diags_array(weights) @ side if hasattr(side, "nnz") else weights[:, None] * side


def _squares(parts: Sequence[Factor]) -> Array:
    """Return k(x, x) of points whose factors are given for both sides."""
    return sum(
        np.asarray((a.multiply(b) if hasattr(a, "nnz") else a * b).sum(axis=1)).reshape(-1)
        for a, b in parts
    )  # type: ignore[return-value]


def factors(kernel: Kernel, x: Points, y: Points | None) -> Factors | None:
    """Return the factors of a Gram matrix, or None where features are many or not sparse.

    They are known for counts, for real numbers beside them, and for sums, multiples and cosines of
    such kernels. ``y`` is ``x`` when it is None.
    """
    if not kernel.has_factors:
        return None
    found = Factors(tuple(kernel.sparse_factors(AllPairs(x, y))))
    is_real = not any(np.iscomplexobj(side) for part in found.parts for side in part)
    return found if is_real else None


def factors_of_features(kernel: Kernel, pairs: Any) -> list[Factor]:
    """Return the one factor that features of both sides are."""
    left = as_numpy(kernel.features(pairs.x))
    return [(left, left if pairs.same else as_numpy(kernel.features(pairs.y)))]


def factors_of_cosines(kernel: Kernel, pairs: Any) -> list[Factor]:
    """Return the factors of cosines; points without features share one unit vector."""
    left = _squares(kernel.sparse_factors(AllPairs(pairs.x)))
    right = left if pairs.same else _squares(kernel.sparse_factors(AllPairs(pairs.y)))
    sides = [np.where(s > 0, 1.0 / np.sqrt(np.where(s > 0, s, 1.0)), 0.0) for s in (left, right)]
    scaled = Factors(tuple(kernel.sparse_factors(pairs))).scaled(*sides)
    alone = [csr_array((s == 0).astype(np.float64)[:, None]) for s in (left, right)]
    return [*scaled.parts, (alone[0], alone[1])]


def is_worthwhile(found: Factors, shape: tuple[int, int]) -> bool:
    """Whether a product by factors multiplies fewer numbers than one by entries."""
    return 2 * found.size < shape[0] * shape[1]


def row_by_row(
    pairs: Pairs, left: Sequence[T], right: Sequence[T], row: Callable[[T, Sequence[T]], Array]
) -> Array:
    """Return on each pair a symmetric function of one thing and many, given for each point."""
    if len(pairs.shape) == 1:
        matching = [row(a, [b])[0] for a, b in zip(left, right, strict=True)]
        return np.array(matching, dtype=np.float64)
    values = np.empty(pairs.shape)
    for i, a in enumerate(left):
        start = i if pairs.same else 0
        values[i, start:] = row(a, right[start:])
        if pairs.same:
            values[start:, i] = values[i, start:]
    return values
