"""Kernels that count the parts two points share, by sparse products that are found once.

What a part is called (a column) is agreed upon by the points that are compared, and forgotten
afterwards: no kernel keeps a vocabulary.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack

from mercer.check import Array, NoFeatureMap, Points, chunks, finite, how_many, members, namespace
from mercer.kernels.base import Kernel
from mercer.kernels.composite import Composite
from mercer.kernels.metric import FromDistances
from mercer.kernels.pairs import Aligned, Pairs

COMMON = 1 / 8
"""What more than this share of the points hold is multiplied densely: a sparse product takes ten
nanoseconds for a pair of points that hold it, a dense one a tenth of one for every pair."""

ROWS = 512
"""Rows of a product at a time: what they share with all others, sparse, stays small."""


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
        is_common = holders > COMMON * table.shape[0]
        columns = table.tocsc()
        common, rare = columns[:, is_common], columns[:, ~is_common].tocsr()
        return cls(common.toarray(), given[is_common], rare, given[~is_common])

    def rows(self, chosen: slice | Array) -> Counts:
        """Return the counts of some of the points."""
        return self._replace(common=self.common[chosen], rare=self.rare[chosen])

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
        turned = other.rare.T.tocsr()
        for rows in chunks(n, ROWS):
            columns = slice(rows.start if pairs.same else 0, m)
            block = values[rows, columns]
            np.matmul(weighted.common[rows], other.common[columns].T, out=block)
            block += (weighted.rare[rows] @ turned[:, columns]).toarray()
            if pairs.same:
                _mirror(values, rows)
        return values


def _mirror(values: Array, rows: slice) -> None:
    """Copy what stands right of a block on the diagonal to below it, in pieces a cache holds."""
    for part in chunks(len(values) - rows.stop, ROWS):
        below = slice(rows.stop + part.start, rows.stop + part.stop)
        values[below, rows] = values[rows, below].T
    square = values[rows, rows]
    square[:] = np.triu(square) + np.triu(square, 1).T


def occupied(table: csr_array) -> tuple[csr_array, Array]:
    """Return a table without its empty columns, and which columns are left."""
    left, columns = np.unique(table.indices, return_inverse=True)
    shape = table.shape[0], len(left)
    return csr_array((table.data, columns.astype(np.int64), table.indptr), shape=shape), left


def compact(table: csr_array) -> csr_array:
    """Leave out empty columns where there are so many that a product would suffer from them."""
    return table if table.shape[1] <= 4 * table.nnz + 1024 else occupied(table)[0]


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


def beside(tables: Sequence[csr_array]) -> csr_array:
    """Return sparse tables side by side, without columns that nothing has if these are many."""
    return csr_array(hstack([compact(t) for t in tables], format="csr"))


class Counted(Kernel):
    """The inner product of how often each part occurs in two points."""

    __slots__ = ()

    @abstractmethod
    def counts(self, points: list[Any]) -> Counts:
        """Return the counts of all points, whose columns are agreed upon by these points."""

    def evaluate(self, pairs: Pairs) -> Array:
        left, right = self._sides(pairs)
        return namespace(pairs.x, pairs.y).asarray(left.dot(right, pairs))

    def evaluate_own(self, pairs: Aligned) -> Array:
        return finite(self.evaluate(pairs), self)  # what is remembered of the pairs is the counts

    def _sides(self, pairs: Pairs) -> tuple[Counts, Counts]:
        """Return the counts of both sides, in columns they agree upon."""
        x, y = pairs.x, pairs.y
        if isinstance(x, Remembered) and isinstance(y, Remembered) and x.memory is y.memory:
            return x.counts(self), y.counts(self)
        if pairs.same:
            both = pairs.left().value_of(self, lambda: self.counts(list(members(x))))
            return both, both
        both = self.counts([*members(x), *members(y)])
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

    >>> words = remembered(["a", "b", "c"])[0]
    >>> len(words), words[1], list(words[1:])
    (3, 'b', ['b', 'c'])
    """

    def __init__(self, memory: Memory, places: range) -> None:
        self.memory, self.places = memory, places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any, /) -> Any:
        if isinstance(index, slice):
            return Remembered(self.memory, self.places[index])
        return self.memory.points[self.places[index]]

    def __iter__(self) -> Iterator[Any]:
        return (self.memory.points[i] for i in self.places)

    def counts(self, kernel: Counted) -> Counts:
        """Return what a kernel counts in these points."""
        first, last, step = self.places.start, self.places.stop, self.places.step
        is_ahead = step > 0  # a slice cannot go back to the very first
        chosen = slice(first, last, step) if is_ahead else np.array(self.places, np.intp)
        return self.memory.counts(kernel).rows(chosen)


def remembered(x: Points, y: Points | None = None) -> tuple[Remembered, Remembered]:
    """Return points (and those they are compared with) whose counts are found once.

    Tiles of a Gram matrix of a `Counted` kernel then cost a sparse product each.
    """
    left = list(members(x))
    right = [] if y is None else list(members(y))
    memory = Memory(left + right)
    first = Remembered(memory, range(len(left)))
    both = range(len(left), len(left) + len(right))
    return first, first if y is None else Remembered(memory, both)


def is_counted(kernel: Kernel) -> bool:
    """Whether all an expression asks of its points is what they count, so that it may be kept."""
    if isinstance(kernel, Composite | FromDistances):
        return all(is_counted(k) for k in kernel.children().values())
    return isinstance(kernel, Counted)
