"""What a data set can be: a sequence of points, in memory or on disk, paired, or in columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from array_api_compat import is_array_api_obj
from scipy import sparse

from mercer.check import (
    Array,
    Checked,
    Points,
    as_numpy,
    chunks,
    how_many,
    is_annotated,
    is_foreign,
    is_plain_table,
    members,
    not_finite,
    part_of,
    refuse_lazy,
    refuse_sparse,
    rows_of,
)
from mercer.errors import InvalidInput

T = TypeVar("T")

MICROSECONDS_A_DAY = 86_400_000_000

READ_AT_ONCE = 2**21
"""Numbers that are read from disk at a time, 16 MB of them."""


def read_only(values: Array) -> Array:
    """Return a read-only view of an array of numpy's; those of others are their owners' affair.

    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    if is_foreign(values):
        return values
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view


class Paired:
    """Points of a product space: the i-th point is ``(x[i], y[i], ...)``.

    >>> points = Paired([[0.0], [1.0]], ["a", "b"])
    >>> len(points), points[1]
    (2, ([1.0], 'b'))
    """

    def __init__(self, *parts: Points) -> None:
        lengths = {how_many(as_points(part, "a part of paired points")) for part in parts}
        if len(lengths) != 1:
            raise InvalidInput(
                f"the parts of paired points must have equal lengths, found {sorted(lengths)}"
            )
        self.parts = parts

    def __len__(self) -> int:
        return how_many(self.parts[0])

    def __getitem__(self, index: Any, /) -> Any:
        if isinstance(index, slice):
            return Paired(*(part_of(part, index) for part in self.parts))
        return tuple(rows_of(part)[index] for part in self.parts)


class Rows:
    """Points with named parts of any kind: the i-th point is ``{name: column[i], ...}``.

    Time stamps become days since 1970, in universal time if they have a zone. ``roles`` say what
    columns are for, where their values do not: see `mercer.Columns`.

    >>> points = Rows({"age": [31.0, 46.0], "name": ["Ada", "Emmy"]})
    >>> len(points), points[1]
    (2, {'age': 46.0, 'name': 'Emmy'})
    """

    def __init__(
        self, columns: Mapping[str, Points], roles: Mapping[str, Any] | None = None
    ) -> None:
        given = {str(n): rows_of(as_points(c, f"column {n!r}")) for n, c in columns.items()}
        lengths = {name: how_many(column) for name, column in given.items()}
        if len(given) < len(columns):
            raise InvalidInput(f"two columns have one name as text: {list(columns)}; rename one")
        if not given or len(set(lengths.values())) > 1:
            raise InvalidInput(f"columns must be at least one, of equal lengths, found {lengths}")
        self.columns = {name: _without_dates(column, name) for name, column in given.items()}
        times = {n: "time" for n, c in self.columns.items() if c is not given[n]}
        self.roles = {**times, **(roles or {})}
        self._refuse_strangers(self.roles)

    def __len__(self) -> int:
        return how_many(next(iter(self.columns.values())))

    def __getitem__(self, index: Any, /) -> Any:
        if isinstance(index, slice):
            return Rows({n: part_of(c, index) for n, c in self.columns.items()}, self.roles)
        return {name: column[index] for name, column in self.columns.items()}

    def picked(self, indices: Array) -> Rows:
        """Return some of the points by their numbers."""
        return Rows({name: take(c, indices) for name, c in self.columns.items()}, self.roles)

    def __reduce__(self) -> tuple[type[Rows], tuple[Any, ...]]:
        return Rows, (self.columns, self.roles)

    def column(self, name: str) -> Points:
        """Return one column by its name."""
        self._refuse_strangers([name])
        return self.columns[name]

    def _refuse_strangers(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.columns:
                listed = ", ".join(map(repr, list(self.columns)[:10]))
                raise InvalidInput(f"there is no column {name!r}; the columns are {listed}")


class SparseRows:
    """Points that are the rows of a sparse matrix, of which only what is not zero is stored.

    Kernels that are functions of inner products and Euclidean distances read them as they are.

    >>> points = SparseRows(sparse.csr_array([[0.0, 2.0], [1.0, 0.0]]))
    >>> len(points), points.shape, points[1:].toarray()
    (2, (2, 2), array([[1., 0.]]))
    """

    def __init__(self, matrix: Any, dtype: Any = None) -> None:
        is_complex = np.dtype(matrix.dtype).kind == "c"
        self.matrix = sparse.csr_array(matrix, dtype=np.complex128 if is_complex else np.float64)
        self.matrix.sum_duplicates()
        self.dtype = np.dtype(matrix.dtype if dtype is None else dtype)

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.matrix.shape
        return int(rows), int(columns)

    @property
    def held_columns(self) -> int:
        """How many numbers a point takes on average: a value, and where it stands."""
        return 1 + 2 * int(self.matrix.nnz) // max(len(self), 1)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any, /) -> SparseRows:
        is_one = not isinstance(index, slice) and np.ndim(index) == 0
        rows = [int(index)] if is_one else index
        return SparseRows(self.matrix[rows], self.dtype)

    def picked(self, indices: Array) -> SparseRows:
        """Return some of the points by their numbers."""
        return self[np.asarray(indices)]

    def toarray(self) -> Array:
        """Return the points as the rows of an array."""
        return np.asarray(self.matrix.toarray())

    def __array__(self, *_: Any, **__: Any) -> Array:
        """Refuse to be filled by somebody who takes it for an array."""
        refuse_sparse(self, "the data")
        raise AssertionError("a sparse matrix was not refused")

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<SparseRows: {rows} points of {columns} coordinates, {self.matrix.nnz} stored>"

    def __reduce__(self) -> tuple[type[SparseRows], tuple[Any, ...]]:
        return SparseRows, (self.matrix, self.dtype.name)


class NamedRows:
    """The rows of a matrix, dense or sparse, with names of rows and columns where there are any.

    >>> named = NamedRows(np.eye(2), ("cell 1", "cell 2"), ("gene a", "gene b"))
    >>> len(named), named.shape, named[1]
    (2, (2, 2), array([0., 1.]))
    """

    def __init__(
        self,
        matrix: Any,
        row_names: tuple[str, ...] | Callable[[], tuple[str, ...] | None] | None,
        columns: tuple[str, ...] | None,
    ) -> None:
        self.matrix, self.columns, self._named = matrix, columns, row_names

    @cached_property
    def row_names(self) -> tuple[str, ...] | None:
        """The names of the rows, which may be fetched from elsewhere when they are asked for."""
        return self._named() if callable(self._named) else self._named

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.matrix.shape
        return int(rows), int(columns)

    @property
    def dtype(self) -> Any:
        return self.matrix.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any, /) -> Any:
        return self.matrix[index]

    def __repr__(self) -> str:
        return f"<NamedRows: {self.shape[0]} rows, {self.shape[1]} columns>"


def matrix_of(data: Any) -> Any:
    """Return the matrix that annotations are about, anything else as it is."""
    if is_annotated(data):
        data = data.X
        if data is None:
            raise InvalidInput(
                "the annotated matrix has no X: ask for a layer, of a model by "
                "fit(data, layer='counts'), elsewhere by mercer.data.from_anndata(data, 'counts')"
            )
    elif isinstance(data, NamedRows):
        data = data.matrix
    data = data.to_memory() if hasattr(data, "to_memory") else data  # of a file that is open
    # Arrays that are views of annotated matrices say `toarray`, as sparse ones do.
    is_view = isinstance(data, np.ndarray) and hasattr(data, "toarray")
    return np.asarray(data) if is_view else data


def as_table(points: Points) -> Array:
    """Return points as rows of doubles, sparse ones filled: for what is as wide as a dense table.

    >>> as_table(SparseRows(sparse.csr_array([[0.0, 2.0]])))
    array([[0., 2.]])
    """
    if isinstance(points, SparseRows):
        return points.toarray()
    return np.asarray(points, dtype=np.float64)


def sparse_points(matrix: Any, name: str) -> SparseRows:
    """Return a sparse matrix of any format as points, what is not finite refused by its place.

    >>> sparse_points(sparse.coo_array([[0.0, float("inf")]]), "x")
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: x, row 0, column 1 holds inf. Remove or impute what is missing or infinite (NaN, inf) first; rows and columns are counted from 0
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    if len(matrix.shape) != 2 or np.dtype(matrix.dtype).kind not in "biufc":
        raise InvalidInput(
            f"{name} must hold points as rows of numbers, found a sparse array of shape "
            f"{matrix.shape} and type {matrix.dtype}"
        )
    points = SparseRows(matrix)
    refuse_sparse_non_finite(points.matrix, name)
    return points


def refuse_sparse_non_finite(rows: Any, name: str) -> None:
    """Refuse a sparse matrix by rows of which an entry is missing or infinite, by its place."""
    wrong = ~np.isfinite(rows.data)
    if wrong.any():
        entry = int(np.argmax(wrong))
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        place = row, int(rows.indices[entry])
        raise not_finite(rows.data[entry], name, place, int(wrong.sum()))


def _without_dates(column: Points, name: str) -> Points:
    """Return time stamps as days since 1970, anything else as it is."""
    is_list = isinstance(column, list | tuple)
    if not is_list and getattr(getattr(column, "dtype", None), "kind", "") not in "MO":
        return column
    first = next((v for v in members(column) if v is not None), None)
    if not isinstance(first, date | np.datetime64):
        return column
    try:
        is_plain = getattr(getattr(column, "dtype", None), "kind", "") == "M"
        given = column if is_plain else [_universal(v) for v in members(column)]
        stamps = np.asarray(given, "datetime64[us]")
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"column {name!r} has time stamps, and something else: {error}"
        ) from error
    days = stamps.astype(np.int64) / MICROSECONDS_A_DAY
    days[np.isnat(stamps)] = np.nan
    return cast(Points, days)


def _universal(stamp: Any) -> Any:
    """Return a time stamp without its zone, in universal time."""
    has_zone = getattr(stamp, "tzinfo", None) is not None
    return stamp.astimezone(UTC).replace(tzinfo=None) if has_zone else stamp


def lies_on_disk(points: Any) -> bool:
    """Whether points are read from a file part by part: a memory map, or what says so itself."""
    while isinstance(points, np.ndarray):
        if isinstance(points, np.memmap):
            return True
        points = points.base
    return getattr(points, "lies_on_disk", False) is True


def readings(points: Points) -> Iterator[slice]:
    """Cut points on disk into parts small enough to be read at once."""
    shape: tuple[int, ...] = tuple(getattr(points, "shape", (len(points),)))
    return chunks(len(points), max(1, READ_AT_ONCE // max(1, int(np.prod(shape[1:])))))


def over_parts(points: Points, work: Callable[[Points, slice], T]) -> Iterator[tuple[slice, T]]:
    """Yield consecutive rows and what ``work`` makes of them, which is done where they lie.

    >>> [total for _, total in over_parts(np.ones((3, 2)), lambda part, rows: np.sum(part))]
    [np.float64(6.0)]
    """
    elsewhere = getattr(points, "over_parts", None)
    if elsewhere is not None:
        yield from elsewhere(work)
        return
    for rows in readings(points):
        yield rows, work(points[rows], rows)


def take(points: Points, indices: Any) -> Points:
    """Return some of the points by their numbers; those on disk are read in one walk over them.

    >>> take(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    chosen = np.atleast_1d(np.asarray(indices))
    if hasattr(points, "picked"):
        return cast(Points, points.picked(chosen))
    if (by_place := getattr(points, "iloc", None)) is not None:  # a data frame has labels
        return cast(Points, by_place[chosen])
    if isinstance(points, np.ndarray) or not lies_on_disk(points):
        return points[chosen] if hasattr(points, "shape") else [points[int(i)] for i in chosen]
    found: Array | None = None
    for rows in readings(points):
        here = np.flatnonzero((chosen >= rows.start) & (chosen < rows.stop))
        if here.size:
            part = np.asarray(points[rows])[chosen[here] - rows.start]
            found = np.empty((len(chosen), *part.shape[1:]), part.dtype) if found is None else found
            found[here] = part
    return [] if found is None else found


def join_points(points: Points, others: Points) -> Points:
    """Return points followed by others of the same kind.

    >>> join_points(["a", "b"], ["c"]), join_points(np.zeros((1, 2)), np.ones((1, 2))).tolist()
    (['a', 'b', 'c'], [[0.0, 0.0], [1.0, 1.0]])
    """
    if isinstance(points, Rows) and isinstance(others, Rows):
        columns = {n: join_points(c, others.column(n)) for n, c in points.columns.items()}
        return Rows(columns, points.roles)
    if isinstance(points, SparseRows) or isinstance(others, SparseRows):
        sides = [p.matrix if isinstance(p, SparseRows) else np.asarray(p) for p in (points, others)]
        return SparseRows(sparse.vstack([sparse.csr_array(side) for side in sides]))
    if hasattr(points, "shape"):
        # Those on a device are few of many, and come to the host.
        both = [p.on_host() if hasattr(p, "on_host") else np.asarray(p) for p in (points, others)]
        return np.concatenate(both)
    return [side[i] for side in (points, others) for i in range(len(side))]


def as_points(values: Any, name: str, *, are_vectors: bool = False) -> Points:
    """Return what can be a data set: anything with a length and slices, but no lone text.

    A mapping is a table, whose rows are the points. Rows of an array that ``are_vectors`` are
    examined here, and not again by those who receive them. The values of a pandas Series are points
    by their place, whatever its index.
    """
    if isinstance(values, Checked) and values.is_known:
        return values
    if are_vectors and is_plain_table(values):
        return Checked.of(values, name)
    if isinstance(values, Mapping):
        return Rows(values)
    values = matrix_of(values)
    refuse_lazy(values, name)
    if isinstance(values, SparseRows):
        return values
    if hasattr(values, "iloc") and values.ndim == 1:  # a Series is indexed by its labels
        return np.asarray(values)
    if sparse.issparse(values):
        return sparse_points(values, name)
    if is_array_api_obj(values):
        has_rows = values.ndim > 0
    else:  # a list is told by its class, which is much faster than by what it can do
        has_rows = isinstance(values, list | tuple | Points)
    if has_rows and not isinstance(values, str | bytes):
        return cast(Points, values)
    raise InvalidInput(f"{name} must be a sequence of points, found {type(values).__name__}")


class FrozenArray:
    """A read-only array that compares and hashes by its contents, so that values can hold it.

    >>> FrozenArray([[1, 0]]) == FrozenArray([[1.0, -0.0]])
    True
    """

    __slots__ = ("array",)
    array: Array

    def __init__(self, values: Any) -> None:
        array = np.array(as_numpy(values.array if isinstance(values, FrozenArray) else values))
        array.flags.writeable = False
        object.__setattr__(self, "array", array)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a FrozenArray cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a FrozenArray cannot be changed")

    def __reduce__(self) -> tuple[type[FrozenArray], tuple[Array]]:
        return FrozenArray, (self.array,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenArray) and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        # Adding a complex zero makes one of all number types, and of 0.0 and -0.0.
        return hash((self.array.shape, (self.array + 0j).tobytes()))

    def __repr__(self) -> str:
        return f"FrozenArray({self.array.tolist()!r})"


class FrozenRow(dict[str, Any]):
    """A row of a table that hashes by what it holds, so that kernels with a sample can.

    >>> hash(FrozenRow(a=1.0, b="x")) == hash(FrozenRow(b="x", a=1))
    True
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))
