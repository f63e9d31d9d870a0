"""The boundary: what users bring is checked here once, so that no formula below has to ask."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sized
from math import isnan
from numbers import Integral, Number, Real
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array

Array: TypeAlias = npt.NDArray[Any]
"""A numpy array, or an array of any namespace that follows the array API standard."""


@runtime_checkable
class Points(Protocol):
    """A data set: anything with a length and slices whose members are points."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class Namespace(Protocol):
    """What the formulas use of the array API standard."""

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
    bool: Any
    complex64: Any
    complex128: Any
    float32: Any
    float64: Any


class MercerError(Exception):
    """Everything mercer raises on purpose."""


class InvalidInput(MercerError, ValueError):
    """Data that cannot be used as they are; the message names the place and the remedy."""


class InvalidParameter(MercerError, ValueError):
    """A parameter outside the domain for which the theory holds."""


class UnknownParameter(InvalidParameter, TypeError):
    """A keyword that no parameter has; the message names the nearest, or the equivalent."""


class NotAvailable(InvalidInput, AttributeError):
    """An attribute that does not exist for this model and these data; the message says why."""


class NotPositiveDefinite(MercerError, ValueError):
    """An operation or a matrix that leaves the cone of positive definite kernels."""


class NotDifferentiable(MercerError, TypeError):
    """A derivative was asked of a kernel that has none, or whose derivative is not known."""


class NoFeatureMap(MercerError, TypeError):
    """Explicit features were asked of a kernel that has no finite feature map."""


class WrittenFormError(InvalidInput):
    """A text that is not a kernel; the message points at the position."""


class UnreadableFile(InvalidInput):
    """A file that is not what it should be; the message names the file and the place."""


class TooLarge(UnreadableFile):
    """A file that would take more memory than allowed, found before the memory was taken."""


class CorruptFile(UnreadableFile):
    """A stored model that is damaged, cut short, or not one at all."""


class NotStorable(MercerError, TypeError):
    """A model that holds what cannot be written as plain data, such as a Python function."""


class NotSaved(MercerError, OSError):
    """A file that could not be written; what was there before is still there."""


class MissingExtra(MercerError, ImportError):
    """An optional library that is not installed; the message names the extra that brings it."""


class DataWarning(UserWarning):
    """Something in the data was guessed or changed that the user should know of."""


def namespace(*arrays: Any) -> Namespace:
    """Return the array API namespace of the arrays, numpy's for anything that has none."""
    known = [a for a in arrays if is_array_api_obj(a)] or [np.empty(0)]
    try:
        return cast(Namespace, array_namespace(*known))
    except TypeError:
        kinds = sorted({f"{type(a).__module__}.{type(a).__name__}" for a in known})
        raise InvalidInput(
            f"arrays of one library are needed, found {' and '.join(kinds)}"
        ) from None


def how_many(points: Points) -> int:
    """Return the number of points, which arrays that only follow the standard do not give `len`."""
    return int(cast(Array, points).shape[0]) if is_array_api_obj(points) else len(points)


def rows_of(points: Points) -> Points:
    """Return points that are indexed by their number: a data frame is indexed by its labels."""
    is_sparse = hasattr(points, "toarray")
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


def as_numpy(a: Any) -> Array:
    """Return an array of any namespace as a numpy array, without a copy where possible."""
    if is_numpy_array(a) or not is_array_api_obj(a):
        return np.asarray(a)
    detached = a.detach().cpu() if hasattr(a, "detach") else a
    return np.asarray(np.from_dlpack(detached))


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
    products with their matrices and models return.

    >>> in_dtype_of(np.zeros(2, np.float32), np.array([0.1])).dtype
    dtype('float32')
    """
    if not is_single(data):
        return values
    xp = namespace(values)
    is_complex = xp.isdtype(values.dtype, "complex floating")
    return xp.astype(values, xp.complex64 if is_complex else xp.float32)


def vectors(x: Points, name: str = "x") -> Array:
    """Return points of a vector space as the rows of a float64 (or complex128) array.

    A one-dimensional array is n points of R¹. What is not a finite number is refused with its
    row and column.

    >>> vectors([1, 2, 3]).shape
    (3, 1)
    >>> vectors([[1.0, float("nan")]])
    Traceback (most recent call last):
    ...
    mercer.check.InvalidInput: x has 1 value that is not finite, the first at row 0, column 1: nan. Remove or impute it before calling a kernel.
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
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
    _refuse_non_finite(a, xp, name)
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
        return np.asarray(x, dtype=object) if a.dtype.kind in "US" else a
    except ValueError as error:
        raise InvalidInput(_ragged(x, name)) from error


LAZY = {"dask": "compute", "polars": "collect", "narwhals": "collect"}
"""Libraries whose data may not have been computed yet, and the method that does it."""


def refuse_lazy(x: Any, name: str) -> None:
    """Refuse data that are still to be computed: pass after pass over them would do it again."""
    home, kind = type(x).__module__.partition(".")[0], type(x).__name__
    method = LAZY.get(home, "")
    if not method or (method == "collect" and kind != "LazyFrame"):
        return
    if hasattr(x, method):
        raise InvalidInput(
            f"{name} ({home} {kind}) has not been computed yet: pass {name}.{method}(), or, "
            "if that does not fit in memory, write it to a .npy file and pass "
            "numpy.load(file, mmap_mode='r'), which is read part by part"
        )


def refuse_sparse(x: Any, name: str) -> None:
    """Refuse a sparse matrix where every coordinate is looked at."""
    if hasattr(x, "toarray"):
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
        return finite(a.astype(np.float64), name)


def _refuse_non_finite(a: Array, xp: Namespace, name: str) -> None:
    finite = xp.isfinite(a)
    if bool(xp.all(finite)):
        return
    rows, columns = np.nonzero(~as_numpy(finite))
    count = len(rows)
    value = as_numpy(a)[rows[0], columns[0]].item()
    plural = "value that is" if count == 1 else "values that are"
    raise InvalidInput(
        f"{name} has {count} {plural} not finite, the first at row {rows[0]}, column "
        f"{columns[0]}: {value}. Remove or impute {'it' if count == 1 else 'them'} before "
        "calling a kernel."
    )


def finite(matrix: Array, what: object) -> Array:
    """Return the matrix if all its entries are finite, else name the first that is not."""
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


def number(value: Any, name: str, *, above: float = -np.inf, allowed: float | None = None) -> float:
    """Return a real parameter strictly greater than ``above``, or equal to ``allowed``.

    >>> number(2, "bandwidth", above=0.0)
    2.0
    >>> number(-1.0, "weight", above=0.0, allowed=0.0)
    Traceback (most recent call last):
    ...
    mercer.check.InvalidParameter: weight must be a number > 0 or equal to 0, found -1.0
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        result = _double(value)
        if result == allowed or (result > above and result != np.inf):
            return result
    limits = f" > {above:g}" if np.isfinite(above) else ""
    exception = "" if allowed is None else f" or equal to {allowed:g}"
    raise InvalidParameter(f"{name} must be a number{limits}{exception}, found {value!r}")


def _double(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def nonnegative(value: Any, name: str) -> float:
    """Return a real parameter that is at least zero."""
    return number(value, name, above=0.0, allowed=0.0)


def whole(value: Any, name: str, *, least: int = 0) -> int:
    """Return an integer parameter of at least ``least``."""
    is_whole = isinstance(value, Integral) or (
        isinstance(value, Real) and _double(value).is_integer()
    )
    if isinstance(value, bool) or not is_whole or int(value) < least:
        raise InvalidParameter(f"{name} must be a whole number >= {least}, found {value!r}")
    return int(value)


def is_yes(value: Any, name: str) -> bool:
    """Return a parameter that is True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidParameter(f"{name} must be True or False, found {value!r}")


def numbers(
    values: Any, name: str, each: Callable[[Any, str], float] = number
) -> tuple[float, ...]:
    """Return a non-empty sequence of real parameters as a tuple."""
    is_scalar = getattr(values, "ndim", 1) == 0
    if isinstance(values, str) or is_scalar or not isinstance(values, Iterable):
        raise InvalidParameter(f"{name} must be a sequence of numbers, found {values!r}")
    result = tuple(each(v, f"{name}[{i}]") for i, v in enumerate(values))
    if not result:
        raise InvalidParameter(f"{name} must hold at least one number")
    return result


UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def memory_bytes(memory: Any) -> int | None:
    """Return a memory budget in bytes; None stands for as little as possible.

    >>> memory_bytes("4GB"), memory_bytes("500 MB"), memory_bytes(10**9), memory_bytes(None)
    (4000000000, 500000000, 1000000000, None)
    """
    if memory is None:
        return None
    size = 0.0
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([kmgt]?)i?b?\s*", memory.lower())
        size = float(match[1]) * UNITS[match[2]] if match else 0.0
    elif isinstance(memory, Real) and not isinstance(memory, bool):
        size = _double(memory)
    if 1.0 <= size < np.inf:
        return int(size)
    raise InvalidParameter(
        f'memory must be a number of bytes or a text like "4GB", found {memory!r}'
    )


def square_matrix(values: Any, name: str) -> Array:
    """Return a square numeric matrix with finite entries as a numpy array."""
    a = as_numpy(vectors(values, name))
    if np.ndim(values) != 2 or a.shape[0] != a.shape[1]:
        raise InvalidInput(f"{name} must be a square matrix, found shape {np.shape(values)}")
    return a


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
