"""The boundary: what users bring is checked here once, so that no formula below has to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from math import isnan
from numbers import Number, Real
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import numpy.typing as npt
from array_api_compat import (
    array_namespace,
    is_array_api_obj,
    is_cupy_array,
    is_jax_array,
    is_numpy_array,
)
from array_api_compat import device as array_device

from mercer.errors import Advice, InvalidInput, Row

Array: TypeAlias = npt.NDArray[Any]
"""A numpy array, or an array of any namespace that follows the array API standard."""


EPSILON = float(np.finfo(np.float64).eps)
"""The distance from 1 to the next double, 2⁻⁵²."""

UNIT = EPSILON / 2.0
"""The rounding of one operation in double precision, as a share of its result."""

TINY = float(np.finfo(np.float64).tiny)
"""The smallest double that has all its digits."""


@runtime_checkable
class Points(Protocol):
    """A data set: anything with a length and slices whose members are points."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class Namespace(Protocol):
    """The part of the array API standard that formulas use."""

    abs: Callable[..., Array]
    all: Callable[..., Array]
    any: Callable[..., Array]
    argmin: Callable[..., Array]
    asarray: Callable[..., Array]
    astype: Callable[..., Array]
    broadcast_to: Callable[..., Array]
    clip: Callable[..., Array]
    concat: Callable[..., Array]
    conj: Callable[..., Array]
    cos: Callable[..., Array]
    exp: Callable[..., Array]
    expm1: Callable[..., Array]
    eye: Callable[..., Array]
    full: Callable[..., Array]
    imag: Callable[..., Array]
    isdtype: Callable[..., bool]
    isfinite: Callable[..., Array]
    log: Callable[..., Array]
    log1p: Callable[..., Array]
    max: Callable[..., Array]
    maximum: Callable[..., Array]
    minimum: Callable[..., Array]
    real: Callable[..., Array]
    reshape: Callable[..., Array]
    sign: Callable[..., Array]
    sin: Callable[..., Array]
    sqrt: Callable[..., Array]
    stack: Callable[..., Array]
    sum: Callable[..., Array]
    take: Callable[..., Array]
    tanh: Callable[..., Array]
    tensordot: Callable[..., Array]
    where: Callable[..., Array]
    zeros: Callable[..., Array]
    zeros_like: Callable[..., Array]
    bool: Any
    complex64: Any
    complex128: Any
    float32: Any
    float64: Any


NUMPY = cast(Namespace, array_namespace(np.empty(0)))
"""numpy's namespace, in the spelling of the standard."""


def namespace(*arrays: Any) -> Namespace:
    """Return the array API namespace of the arrays, numpy's for anything that has none."""
    if all(isinstance(a, np.ndarray) for a in arrays):
        return NUMPY
    known = [a for a in arrays if is_array_api_obj(a)] or [np.empty(0)]
    try:
        return cast(Namespace, array_namespace(*known))
    except TypeError:
        kinds = sorted({f"{type(a).__module__}.{type(a).__name__}" for a in known})
        raise InvalidInput(
            f"arrays of one library are needed, found {' and '.join(kinds)}"
        ) from None


def place_of(array: Any) -> dict[str, Any]:
    """Return where arrays are made that meet another one: on the device of another library's."""
    return {"device": array_device(array)} if is_foreign(array) else {}


def array_like(values: Any, like: Any) -> Array:
    """Return numbers as an array of the library, and on the device, of another array.

    >>> array_like((1.0, 2.0), np.zeros(2))
    array([1., 2.])
    """
    if not is_foreign(like):
        return np.asarray(values)
    own = as_numpy(values)
    own = own if own.flags.writeable else own.copy()  # others' libraries share what may be written
    return namespace(like).asarray(own, **place_of(like))


def how_many(points: Points) -> int:
    """Return the number of points, which arrays that only follow the standard do not give `len`."""
    return int(cast(Array, points).shape[0]) if is_array_api_obj(points) else len(points)


def rows_of(points: Points) -> Points:
    """Return points that are indexed by their number: a data frame is indexed by its labels."""
    is_sparse = hasattr(points, "toarray") and not isinstance(points, np.ndarray)
    is_frame = hasattr(points, "__array__") and not is_array_api_obj(points) and not is_sparse
    return cast(Points, np.asarray(points)) if is_frame else points


def part_of(points: Points, rows: slice) -> Points:
    """Return consecutive points, those of a data frame as one, whose columns have their names."""
    if rows.indices(how_many(points)) == (0, how_many(points), 1):
        return points
    by_place = getattr(points, "iloc", None)
    if by_place is not None:
        return cast(Points, by_place[rows])
    given = rows_of(points)
    # Arrays that only follow the standard want all axes named.
    return cast(Points, given[(rows, ...) if is_array_api_obj(given) else rows])


def members(points: Points) -> Iterator[Any]:
    """Iterate over points, which need no more than a length and an index."""
    points = rows_of(points)
    if isinstance(points, Iterable) and (is_numpy_array(points) or not is_array_api_obj(points)):
        return iter(points)
    standard: Any = points  # such arrays have a length and an index but refuse to iterate
    return (standard[i] for i in range(how_many(standard)))


_copies: ContextVar[bool] = ContextVar("copies", default=True)


@contextmanager
def refused_copies() -> Iterator[None]:
    """Let `as_numpy` refuse arrays of other libraries, to learn whether a formula does without."""
    before = _copies.set(False)
    try:
        yield
    finally:
        _copies.reset(before)


def as_numpy(a: Any) -> Array:
    """Return an array of any namespace as a numpy array, without a copy where possible."""
    if is_numpy_array(a) or not is_array_api_obj(a):
        return np.asarray(a)
    if not _copies.get():
        raise TypeError("no array is copied to the host here")
    if is_jax_array(a):
        return np.asarray(a)
    if is_cupy_array(a):
        return np.asarray(a.get())  # numpy takes nothing from a device
    detached = a.detach().cpu() if hasattr(a, "detach") else a
    return np.asarray(np.from_dlpack(detached))


def is_foreign(array: Any) -> bool:
    """Whether an array belongs to another library than numpy.

    >>> is_foreign(np.zeros(2)), is_foreign([0.0])
    (False, False)
    """
    return is_array_api_obj(array) and not isinstance(array, np.ndarray | np.generic)


def is_single(*data: Any) -> bool:
    """Whether all data came in single precision: arrays, sparse matrices, columns of frames.

    >>> is_single(np.zeros(2, np.float32)), is_single(np.zeros(2, np.float32), [1.0])
    (True, False)
    """
    return all(_came_in_single(given) for given in data)


def is_annotated(values: Any) -> bool:
    """Return whether the values are an annotated matrix, as AnnData is; nothing is imported."""
    return all(hasattr(values, part) for part in ("X", "obs", "obsm", "uns", "obs_names"))


def _came_in_single(given: Any) -> bool:
    given = given.X if is_annotated(given) else given
    dtypes = getattr(given, "dtypes", None)
    own = getattr(given, "dtype", None)
    kinds = [own] if own is not None else list(dtypes) if dtypes is not None else []
    # The names are those of numpy, and of every library of arrays and data frames.
    names = {str(kind).rpartition(".")[2].lower() for kind in kinds}
    return bool(names) and names <= {"float32", "complex64"}


def in_dtype_of(data: Any, values: Array) -> Array:
    """Return values in single precision where the data came in it: float32 in, float32 out.

    Everything in between is computed in double precision. This is the rule for what kernels,
    products with their matrices and models return. What is too large for float32 is refused.

    >>> in_dtype_of(np.zeros(2, np.float32), np.array([0.1])).dtype
    dtype('float32')
    """
    if not is_single(data):
        return values
    xp, single = namespace(values), in_single(values)
    if bool(xp.any(xp.isfinite(values) & ~xp.isfinite(single))):
        raise InvalidInput(
            f"values of size {float(xp.max(xp.abs(values))):.3g} are too large for float32, in "
            "which the data came: give the data in double precision (float64), or rescale them"
        )
    return single


def in_single(values: Array) -> Array:
    """Return values in single precision, infinite where they are too large for it."""
    xp = namespace(values)
    is_complex = xp.isdtype(values.dtype, "complex floating")
    with np.errstate(over="ignore"):
        return xp.astype(values, xp.complex64 if is_complex else xp.float32)


class Checked(np.ndarray[Any, np.dtype[Any]]):
    """Rows of numbers that were examined: all finite, in double precision or in single.

    Whoever receives them does not look again, nor at any of their rows. What is computed from
    them is a plain array, of which nothing is known. The names of rows and columns, where there
    are any, and the power of two that is the unit of the numbers stay with the whole.

    >>> x = Checked.of([[3.0, 0.0], [0.0, 5.0]], "x")
    >>> x.unit, x[:1].is_known, type(2.0 * x).__name__
    (4.0, True, 'ndarray')
    """

    is_known = False
    """Whether it was examined: a copy or a cast, into which others may write, was not."""
    row_names: tuple[str, ...] | None = None
    column_names: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        x: Any,
        name: str,
        *,
        row_names: tuple[str, ...] | None = None,
        column_names: tuple[str, ...] | None = None,
    ) -> Checked:
        """Return rows of numpy's numbers as such, refused if one is missing or infinite."""
        if isinstance(x, Checked) and x.is_known:
            return x
        a = x if is_plain_table(x) else as_numpy(vectors(x, name))
        refuse_non_finite(a, name, columns=column_names)
        return _known(a, row_names, column_names)

    @classmethod
    def computed(cls, rows: Array) -> Checked:
        """Return rows of doubles without a look: how they were computed makes them finite."""
        return _known(rows, None, None)

    def copied(self) -> Checked:
        """Return the same in memory of its own, where those who brought it cannot change it."""
        return _known(np.array(self), self.row_names, self.column_names)

    @property
    def doubles(self) -> Checked:
        """The same numbers in double precision, which they stay if they are."""
        if self.dtype != np.float32:
            return self
        return _known(np.asarray(self, np.float64), self.row_names, self.column_names)

    @cached_property
    def unit(self) -> float:
        """The power of two in which the largest modulus is between 1 and 2."""
        return power_of_two(np.asarray(self))

    def __getitem__(self, index: Any, /) -> Any:
        if isinstance(index, slice) and index.indices(len(self)) == (0, len(self), 1):
            return self
        part = super().__getitem__(index)
        if not isinstance(part, Checked):
            return part
        part.is_known = self.is_known
        return part if part.ndim == 2 else np.asarray(part)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __repr__(self) -> str:
        return repr(np.asarray(self))


def _known(
    array: Array, row_names: tuple[str, ...] | None, column_names: tuple[str, ...] | None
) -> Checked:
    """Return an array as one that was examined."""
    made = array.view(Checked)
    made.is_known, made.row_names, made.column_names = True, row_names, column_names
    return made


def is_plain_table(x: Any) -> bool:
    """Whether points are rows of an array of numpy's that is kept as it comes."""
    is_table = type(x) is np.ndarray and x.ndim == 2 and x.shape[1] > 0
    return is_table and x.dtype in KEPT_TYPES


KEPT_TYPES = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.complex128))
"""Types of numbers that are kept as they come."""


def power_of_two(values: Array) -> float:
    """Return a unit in which the largest modulus is between 1 and 2; to divide by it is exact.

    >>> power_of_two(np.array([3.0, -5.0])), power_of_two(np.zeros(2))
    (4.0, 1.0)
    """
    largest = float(np.max(np.abs(values), initial=0.0))
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1)) if largest > 0 else 1.0


def vectors(x: Points, name: str = "x") -> Array:
    """Return points of a vector space as the rows of a float64 (or complex128) array.

    A one-dimensional array is n points of R¹. What is not a finite number is refused with its
    row and column.

    >>> vectors([1, 2, 3]).shape
    (3, 1)
    >>> vectors([[1.0, float("nan")]])
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: x, row 0, column 1 holds NaN. Remove or impute what is missing or infinite (NaN, inf) first; rows and columns are counted from 0
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    if isinstance(x, Checked) and x.is_known:
        return np.asarray(x.doubles)
    refuse_lazy(x, name)
    a = x if is_array_api_obj(x) and not isinstance(x, np.ndarray) else plain_array(x, name)
    xp = namespace(a)
    if a.ndim == 1:
        a = xp.reshape(a, (-1, 1))
    if a.ndim != 2 or (a.shape[1] == 0 and a.shape[0] > 0):
        raise InvalidInput(
            f"{name} must hold points as rows of at least one number, found shape {tuple(a.shape)}"
        )
    if isinstance(a, np.ndarray):
        a = _numbers(a, name)
    is_complex = xp.isdtype(a.dtype, "complex floating")
    with np.errstate(over="ignore"):  # what has no double becomes infinite, and is refused below
        a = xp.astype(a, xp.complex128 if is_complex else xp.float64, copy=False)
    refuse_non_finite(a, name)
    return a


def is_missing(v: Any) -> bool:
    """Whether a value stands for one that is not there: None, NaN, NaT.

    >>> is_missing(None), is_missing(float("nan")), is_missing(""), is_missing(0)
    (True, True, False, False)
    """
    if v is None or type(v).__name__ in ("NAType", "NaTType"):
        return True
    return bool(isinstance(v, float | np.floating) and isnan(v))


def plain_array(x: Any, name: str) -> Array:
    """Return an array of numpy's without mask, whose entries may still be anything."""
    refuse_lazy(x, name)
    refuse_sparse(x, name)
    if is_array_api_obj(x) and not isinstance(x, np.ndarray):
        return as_numpy(x)
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        place = _place(np.argwhere(np.ma.getmaskarray(x))[0].tolist())
        raise InvalidInput(f"{name} has masked entries, the first at {place}; fill them first")
    try:
        a = np.asarray(x)
        # numpy makes text of numbers that stand beside text; as objects they remain what they are.
        return _plain_objects(np.asarray(x, dtype=object)) if a.dtype.kind in "USO" else a
    except ValueError as error:
        raise InvalidInput(_ragged(x, name)) from error


def _plain_objects(a: Array) -> Array:
    """Return objects with None for what pandas holds where a whole number is missing."""
    is_gap = np.frompyfunc(lambda entry: type(entry).__name__ == "NAType", 1, 1)
    gaps = np.asarray(is_gap(a), bool)
    if not np.any(gaps):
        return a
    filled = a.copy()
    filled[gaps] = None
    return filled


LAZY = {"dask": "compute", "polars": "collect", "narwhals": "collect"}
"""Libraries whose data may not have been computed yet, and the method that does it."""


THERE = (
    "KernelPCA, KernelRegression, GaussianProcess and support vector machines take it as it is "
    "with engine='dask', and PCA as long as a cluster is active; else "
)
"""Who takes the tables of Dask."""


def is_lazy(x: Any) -> bool:
    """Whether data are still to be computed."""
    method = LAZY.get(_home(x), "")
    is_frame = type(x).__name__ == "LazyFrame"
    return bool(method) and (method != "collect" or is_frame) and hasattr(x, method)


def _home(x: Any) -> str:
    """Return the name of the library that a value is of."""
    return type(x).__module__.partition(".")[0]


def refuse_lazy(x: Any, name: str) -> None:
    """Refuse data that are still to be computed: pass after pass over them would do it again."""
    if not is_lazy(x):
        return
    home = _home(x)
    is_table = home == "dask" and hasattr(x, "ndim")
    raise InvalidInput(
        f"{name} ({home} {type(x).__name__}) has not been computed yet: {THERE * is_table}pass "
        f"{name}.{LAZY[home]}(), or, if that does not fit in memory, write it to a .npy file and "
        "pass numpy.load(file, mmap_mode='r'), which is read part by part"
    )


def compute_lazy(column: Any) -> Any:
    """Return a value for each individual, computed where that is still to be done.

    It takes no more memory than one vector of an iteration, whatever the points take.
    """
    return getattr(column, LAZY[_home(column)])() if is_lazy(column) else column


def refuse_sparse(x: Any, name: str) -> None:
    """Refuse a sparse matrix where every coordinate is looked at."""
    if hasattr(x, "toarray") and not isinstance(x, np.ndarray):
        raise InvalidInput(
            f"{name} is a sparse matrix, and every coordinate is looked at here: kernels that are "
            "functions of inner products and Euclidean distances read sparse rows as they are "
            "(Linear, Polynomial, Tanimoto, Gaussian, Laplacian(norm=2), Matern, "
            "RationalQuadratic, NegativeDistance, and what is made of them); for anything else "
            f"pass {name}.toarray() if it fits in memory"
        )


def _ragged(x: Points, name: str) -> str:
    lengths = [len(row) if isinstance(row, Sized) else 1 for row in members(x)]
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is None:
        return f"the rows of {name} cannot be read as vectors of numbers"
    return (
        f"row {odd} of {name} has {lengths[odd]} coordinates and row 0 has {lengths[0]}; "
        "vector kernels need the same number in every row"
    )


def _place(index: Iterable[int]) -> str:
    return ", ".join(f"{word} {i}" for word, i in zip(("row", "column"), index, strict=False))


def _at(name: str, index: Iterable[int]) -> str:
    """Return the name of data with the place of an entry, if it has one."""
    place = _place(index)
    return f"{name}, {place}" if place else name


def _numbers(a: Array, name: str) -> Array:
    """Return an array as one of numbers, or name the first entry that is not a number."""
    if a.dtype.kind in "biufc":
        return a
    if a.dtype.kind != "O":
        raise InvalidInput(f"{name} has dtype {a.dtype}, which is not numeric; convert it first")
    for index, entry in np.ndenumerate(a):
        if not (entry is None or isinstance(entry, Number)):
            raise InvalidInput(
                f"{name}, {_place(index)}: {entry!r} is not a number. This kernel compares "
                "vectors; choose a kernel for this kind of points or encode the column"
            )
    try:
        has_complex = any(isinstance(entry, complex | np.complexfloating) for entry in a.flat)
        return a.astype(np.complex128 if has_complex else np.float64)
    except (OverflowError, TypeError) as error:
        raise InvalidInput(f"{name} cannot be read as numbers: {error}") from error


def number_array(values: Any, name: str) -> Array:
    """Return an array of numbers, real or complex, of any shape."""
    return _numbers(plain_array(values, name), name)


def real_array(values: Any, name: str) -> Array:
    """Return an array of finite real numbers, of any shape, in double precision."""
    a = number_array(values, name)
    if a.dtype.kind == "c":
        raise InvalidInput(f"{name} must hold real numbers, found complex ones")
    with np.errstate(over="ignore"):  # what has no double becomes infinite, and is refused
        a = a.astype(np.float64)
    refuse_non_finite(a, name)
    return a


def refuse_non_finite(
    values: Array, name: str, *, first: int = 0, columns: tuple[str, ...] | None = None
) -> None:
    """Refuse numbers of which one is missing or infinite, by its place.

    ``first`` numbers the first row, and ``columns`` are their names where there are any.

    >>> refuse_non_finite(np.array([[1.0, np.nan], [np.inf, 2.0]]), "X", columns=("age", "height"))
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: X, row 0, column 1 ('height') holds NaN, and 1 more entry is missing or infinite. Remove or impute what is missing or infinite (NaN, inf) first; rows and columns are counted from 0
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    xp = namespace(values)
    if not xp.isdtype(values.dtype, ("real floating", "complex floating")):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum needs no memory, and is finite unless an entry is not or very large.
        if bool(xp.isfinite(xp.sum(values))) or bool(xp.all(xp.isfinite(values))):
            return
    given = as_numpy(values)
    places = np.argwhere(~np.isfinite(given))
    place = tuple(int(i) + (first if axis == 0 else 0) for axis, i in enumerate(places[0]))
    raise not_finite(given[tuple(places[0])], name, place, len(places), columns)


def not_finite(
    value: Any,
    name: str,
    place: tuple[int, ...],
    count: int = 1,
    columns: tuple[str, ...] | None = None,
) -> InvalidInput:
    """Return the refusal of a missing or infinite entry, the first of so many."""
    found = "NaN" if np.isnan(value) else f"{value}"
    column = f" ({columns[place[1]]!r})" if columns is not None and len(place) > 1 else ""
    verb = "entry is" if count == 2 else "entries are"
    more = f", and {count - 1} more {verb} missing or infinite" if count > 1 else ""
    base = "; rows and columns" if len(place) > 1 else "; rows"
    return InvalidInput(
        f"{_at(name, place)}{column} holds {found}{more}. Remove or impute what is missing or "
        f"infinite (NaN, inf) first{f'{base} are counted from 0' if place else ''}",
        Advice(name, text=name),
    )


def weights_of(
    weights: Any, n: int, name: str = "sample_weight", *, is_summed: bool = True
) -> Array:
    """Return the weights of n individuals, 1 each where none were given: >= 0, and not all 0.

    Those that are summed must have a sum that is a double.

    >>> weights_of(None, 2), weights_of([1, 3], 2), weights_of(2.0, 2)
    (array([1., 1.]), array([1., 3.]), array([2., 2.]))
    >>> weights_of(["heavy", "light"], 2)
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: sample_weight, row 0: 'heavy' is no weight, which is a finite real number
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    if weights is None:
        return np.ones(n)
    given = plain_array(compute_lazy(weights), name)
    if given.dtype.kind not in "biuf":
        for index, entry in np.ndenumerate(given):
            if not isinstance(entry, Real):
                raise InvalidInput(
                    f"{_at(name, index)}: {entry!r} is no weight, which is a finite real number",
                    Advice(name, text=name),
                )
    w = given.astype(np.float64)
    refuse_non_finite(w, name)
    w = np.full(n, float(w)) if w.ndim == 0 else w
    if w.shape != (n,):
        message = f"{name} has the shape {w.shape} for {n} individuals"
        raise InvalidInput(message, Advice(name, text=name))
    with np.errstate(over="ignore"):
        is_finite = w.sum() < np.inf or not is_summed
    if np.any(w < 0) or not np.any(w > 0) or not is_finite:
        raise InvalidInput(
            f"{name} must hold weights that are nonnegative, not all zero, and have a finite sum; "
            f"the smallest is {w.min():g} at {Row(int(w.argmin()))}, the largest {w.max():g}",
            *(Advice(name, text=name), Row(int(w.argmin()))),
        )
    return w


def shares_of(weights: Array) -> Array:
    """Return weights divided by their sum, also where the sum is no double.

    >>> shares_of(np.array([0.5e308, 1.5e308]))
    array([0.25, 0.75])
    """
    scaled = weights / np.max(weights)
    return np.asarray(scaled / scaled.sum())


def finite(matrix: Array, what: object) -> Array:
    """Return values that were computed if all are finite, else name the first that is not."""
    xp = namespace(matrix)
    if not bool(xp.all(xp.isfinite(matrix))):
        values = as_numpy(matrix)
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        where = f" at {index}" if index else ""
        raise InvalidInput(
            f"{what} is not a finite number{where} but {values[index].item()}. If its values "
            f"are too large for {values.dtype}, rescale the data or the kernel's parameters"
        )
    return matrix


def square_matrix(values: Any, name: str) -> Array:
    """Return a square numeric matrix with finite entries as a numpy array."""
    a = as_numpy(vectors(values, name))
    if np.ndim(values) != 2 or a.shape[0] != a.shape[1]:
        raise InvalidInput(f"{name} must be a square matrix, found shape {np.shape(values)}")
    return a


ASYMMETRY = 1e-8
"""Beyond this, relative to the largest entry, two entries that should be conjugate are not."""

ASYMMETRY_OF_FORMULAS = 1e-12
"""The same of values that one formula gave: they differ by rounding, thousands of times less."""


def worst_asymmetry(matrix: Array) -> tuple[float, tuple[int, int]]:
    """Return the largest |K_ij - conj K_ji| relative to the largest entry, and where it is."""
    largest = float(np.max(np.abs(matrix), initial=0.0))
    if largest == 0.0:
        return 0.0, (0, 0)
    unit = matrix / largest  # a difference of large entries may overflow
    gap = np.abs(unit - unit.conj().T)
    i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
    return float(gap[i, j]), (int(i), int(j))


def chunks(count: int, size: int) -> Iterator[slice]:
    """Cut ``range(count)`` into consecutive slices of at most ``size``.

    >>> [(s.start, s.stop) for s in chunks(5, 2)]
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
