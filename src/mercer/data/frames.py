"""Data frames of pandas, polars and pyarrow in and out, tidy tables, and layers of annotated ones.

Where no library of frames is there, a table is `Tidy`. A model reads the layer of an annotated
matrix that it was fitted to, from then on.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from html import escape
from typing import Any, TypeVar, cast

import numpy as np

from mercer.check import Array, Points, as_numpy, is_annotated, is_foreign, members, refuse_lazy
from mercer.data.assembly import number_names
from mercer.data.table import Role, Table, as_column, as_labels
from mercer.display import MOST_LINES
from mercer.errors import InvalidInput, InvalidParameter
from mercer.points import NamedRows, Rows, as_points, read_only

NATIVE = ("pandas", "polars", "pyarrow", "modin", "cudf")


def is_frame(values: Any) -> bool:
    """Return whether the values are a data frame, without importing a library that has them."""
    home = type(values).__module__.partition(".")[0]
    return home in (*NATIVE, "narwhals") and hasattr(values, "columns")


def is_series(values: Any) -> bool:
    """Return whether the values are one column of a data frame, with its name and its index."""
    home = type(values).__module__.partition(".")[0]
    return home in (*NATIVE, "narwhals") and hasattr(values, "to_frame")


def frame_of(series: Any) -> Any:
    """Return the data frame of one column, called by its name or ``"value"``."""
    import narwhals.stable.v2 as nw

    native = nw.to_native(series, pass_through=True)
    return native.to_frame("value" if native.name in (None, "") else str(native.name))


def frame_columns(frame: Any) -> tuple[list[str], list[Array], tuple[str, ...] | None]:
    """Return the names and columns of a data frame, and the names of its rows if it has any."""
    import narwhals.stable.v2 as nw

    names, columns = _series_of(frame)
    row_names = index_names(nw.to_native(frame, pass_through=True))
    return names, [_column(series, nw) for series in columns], row_names


def objects_of(frame: Any) -> Iterator[tuple[str, Any, tuple[str, ...] | str | None]]:
    """Yield names and columns, objects as they are, with the role of categories.

    That is ``"category"``, or their levels if these are in order.
    """
    import narwhals.stable.v2 as nw

    for name, series in zip(*_series_of(frame), strict=True):
        dtype: Any = series.dtype
        is_plain = dtype.is_numeric() or dtype in (nw.Date, nw.Datetime)
        role: tuple[str, ...] | str | None = None
        if dtype == nw.Enum:
            role = tuple(dtype.categories)
        elif dtype == nw.Categorical:
            role = "category"
        yield name, _column(series, nw) if is_plain else series.to_list(), role


def _series_of(frame: Any) -> tuple[list[str], list[Any]]:
    """Return the names and columns of a data frame that has rows, and no name twice."""
    import narwhals.stable.v2 as nw

    native = nw.to_native(frame, pass_through=True)
    names = [str(name) for name in _names(native)]
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise InvalidInput(f"the data frame has several columns named {twice[0]!r}; rename them")
    wrapped = nw.from_native(native, eager_only=True)
    if wrapped.shape[0] == 0:
        raise InvalidInput("the data frame has no rows")
    return names, list(wrapped.iter_columns())  # names need not be texts


def _names(native: Any) -> list[Any]:
    names = getattr(native, "column_names", None)  # pyarrow's columns are the values
    return list(native.columns if names is None else names)


def index_names(native: Any) -> tuple[str, ...] | None:
    """Return the index of a pandas frame or series, unless it only counts.

    >>> index_names([1.0, 2.0]) is None
    True
    """
    index = getattr(native, "index", None)
    if index is None or type(index).__name__ == "RangeIndex" or callable(index):
        return None
    return tuple(str(label) for label in index)


def only_counts(native: Any) -> bool:
    """Return whether an index is what a choice of rows leaves of their numbers: it names nobody.

    >>> only_counts([1.0, 2.0])
    False
    """
    index = getattr(native, "index", None)
    is_whole = getattr(getattr(index, "dtype", None), "kind", "") in "iu"
    is_unnamed = getattr(index, "name", "") is None
    return bool(is_unnamed and is_whole and index.is_monotonic_increasing and index.is_unique)  # type: ignore[union-attr]


def _column(series: Any, nw: Any) -> Array:
    dtype = series.dtype
    if dtype.is_numeric():
        if dtype.is_decimal():
            series = series.cast(nw.Float64)
        holes = series.is_null().to_numpy()
        if not holes.any():
            return np.asarray(series.to_numpy())
        return np.asarray(series.cast(nw.Float64).fill_null(float("nan")).to_numpy(), np.float64)
    if dtype in (nw.Date, nw.Datetime):
        return np.asarray(series.cast(nw.Datetime("us")).to_numpy(), "datetime64[us]")
    return as_labels(series.to_list())


ROLES = {Role.FACTOR: "category", Role.DATE: "time", Role.TEXT: "text", Role.NUMBER: "number"}


def rows(source: Any, *, roles: Mapping[str, Any] | None = None) -> Rows:
    """Return a data frame, a `Table`, a mapping or an array as rows with named columns.

    ``roles`` say what a column is for, where its values do not: number, time, category, ordinal
    (or its levels, lowest first), text, graph, set, composition, abundance, ignored. Ordered
    categories of a data frame are ordinals already.

    >>> rows({"age": [31.0, 46.0]}, roles={"age": "ordinal"}).roles
    {'age': 'ordinal'}
    """
    if isinstance(source, Rows):
        return Rows(source.columns, {**source.roles, **(roles or {})})
    if isinstance(source, Mapping):
        return Rows(source, roles)
    found = list(_columns(source))
    known = {name: role for name, _, role in found if role is not None}
    return Rows({name: values for name, values, _ in found}, {**known, **(roles or {})})


def _columns(source: Any) -> Iterator[tuple[str, Points, Any]]:
    """Yield names, values and what is known of roles."""
    refuse_lazy(source, "the table")
    if isinstance(source, Table):
        for column in source.columns():
            is_used = column.role in ROLES and column.name not in source.supplementary
            values = column.values if column.values.dtype.kind in "fM" else column.values.tolist()
            yield column.name, values, ROLES[column.role] if is_used else "ignored"
    elif is_frame(source):
        yield from objects_of(source)
    elif isinstance(source, np.ndarray) and source.ndim == 2:
        for j in range(source.shape[1]):
            yield f"x{j}", source[:, j], None
    else:
        if is_annotated(source) or isinstance(source, NamedRows):
            raise InvalidInput(
                "an annotated matrix (AnnData) holds numbers alone, and a table has columns of any "
                "type: analyse the matrix with PCA or KernelPCA, or give a data frame, data.obs "
                "or data.to_df(layer)"
            )
        points = as_points(source, "the table")
        if len(points) == 0 or not isinstance(points[0], Mapping):
            raise InvalidInput(
                "a table is a data frame, a mapping from names to columns, a list of mappings or "
                f"an array of two dimensions, found {type(source).__name__}"
            )
        for name in points[0]:
            yield name, _one_each(points, name), None


def _one_each(points: Points, name: str) -> list[Any]:
    found = []
    for i, point in enumerate(members(points)):
        if name not in point:
            raise InvalidInput(f"row {i} has no column {name!r}")
        found.append(point[name])
    return found


SHOWN = MOST_LINES - 2
"""Rows of a long table that are shown, beside its head and how many more there are."""

LONGEST, EMPTY = 24, "(empty)"
"""Letters of a string that is its own name, and the name of one without letters."""

LIBRARIES = ("pandas", "polars", "pyarrow")
"""Libraries whose data frames are made; others are read."""


class Tidy(dict[str, Array]):
    """Named columns of equal length, one row for each observation.

    It is a dictionary, so that ``pandas.DataFrame(table)`` and ``polars.DataFrame(table)`` take it.

    >>> table = Tidy({"axis": np.array([1, 2]), "cos2": np.array([0.25, 0.5])})
    >>> table
    axis  cos2
       1  0.25
       2   0.5
    >>> table["cos2"].tolist(), table.rows
    ([0.25, 0.5], 2)
    """

    def __init__(self, columns: Mapping[str, Array]) -> None:
        super().__init__({name: read_only(values) for name, values in columns.items()})

    @property
    def rows(self) -> int:
        return len(next(iter(self.values()), ()))

    def __repr__(self) -> str:
        texts = self._texts()
        widths = [max(map(len, column)) for column in texts]
        lines = ["  ".join(map(str.rjust, row, widths)) for row in zip(*texts, strict=True)]
        return "\n".join([*lines, *self._more()])

    def _texts(self) -> list[list[str]]:
        """Return the columns that are shown, each under its name."""
        rows = self.rows if self.rows < MOST_LINES else SHOWN
        return [[n, *(_text(v) for v in c[:rows])] for n, c in self.items()]

    def _more(self) -> list[str]:
        return [f"... {self.rows - SHOWN} more rows"] if self.rows >= MOST_LINES else []

    def _repr_html_(self) -> str:
        head, *rows = zip(*self._texts(), strict=True)
        cells = ["".join(f"<td>{escape(text)}</td>" for text in row) for row in rows]
        title = "".join(f"<th>{escape(text)}</th>" for text in head)
        more = "".join(f"<p>{text}</p>" for text in self._more())
        return f"<table><tr>{title}</tr><tr>{'</tr><tr>'.join(cells)}</tr></table>{more}"


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def library_of(X: Any) -> str | None:
    """Return the library a data frame comes from, None for what is no data frame."""
    from narwhals.stable.v2 import dependencies

    tests: tuple[Callable[[Any], bool], ...] = (
        dependencies.is_pandas_dataframe,
        dependencies.is_polars_dataframe,
        dependencies.is_pyarrow_table,
    )
    return next((name for name, is_one in zip(LIBRARIES, tests, strict=True) if is_one(X)), None)


def as_frame(columns: dict[str, Array], library: str | None) -> Any:
    """Return columns as a data frame of a library that is installed, or as a `Tidy` table."""
    if library is None:
        return Tidy(columns)
    if library not in LIBRARIES:
        raise InvalidParameter(f"library must be one of {', '.join(LIBRARIES)}, found {library!r}")
    import narwhals.stable.v2 as nw

    try:
        return nw.from_dict(dict(columns), backend=cast(Any, library)).to_native()
    except ImportError as error:
        raise InvalidParameter(f"{library} is not installed") from error


def _short(text: str) -> str:
    """Return a string as a name: in one line, and not long."""
    line = " ".join(text.split()) or EMPTY
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def row_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of rows: the index of a data frame or a series unless it only counts.

    Strings are named by themselves, shortened, and numbered where they would be alike.

    >>> row_names([[1.0], [2.0]]) is None
    True
    >>> row_names(["ant", "an answer of several words", "ant"])
    ('ant', 'an answer of several wo…', 'ant (2)')
    """
    if isinstance(X, list | tuple) and X and all(isinstance(text, str) for text in X):
        return tuple(number_names([_short(text) for text in X])[0])
    names = X.obs_names if is_annotated(X) else getattr(X, "row_names", None)
    if names is None:
        return index_names(X)
    return tuple(str(name) for name in names)


READ = {"variables": (Role.NUMBER,), "categories": (Role.FACTOR,)}
"""The columns of a table that are asked for by a word, all of numbers and labels by others."""


def columns_of(given: Any, count: int, what: str) -> dict[str, Array]:
    """Return columns by name from a mapping, a data frame, one column or an array of several.

    Of a `Table` they are its numbers, where ``what`` is "variables", its factors, where it is
    "categories", or both.

    >>> columns_of({"points": [3, 1]}, 2, "variables")
    {'points': array([3, 1])}
    >>> columns_of([[1, 2], [3, 4]], 2, "variables")
    {'x0': array([1, 3]), 'x1': array([2, 4])}
    """
    refuse_lazy(given, what)
    columns = {str(name): as_column(values) for name, values in _named(given, what)}
    if not columns:
        raise InvalidInput(f"{what} hold no columns; give at least one, or leave them out")
    for name, values in columns.items():
        if values.shape != (count,):
            raise InvalidInput(
                f"{what}: {name!r} has shape {values.shape} for {count} individuals; every column "
                "needs one entry for each individual of the fit"
            )
    return columns


def _named(given: Any, what: str) -> Iterator[tuple[Any, Any]]:
    if isinstance(given, Mapping):
        yield from given.items()
    elif isinstance(given, Table):
        roles = READ.get(what, (Role.NUMBER, Role.FACTOR))
        yield from ((c.name, c.values) for c in given.columns() if c.role in roles)
    elif library_of(given) is not None:
        import narwhals.stable.v2 as nw
        from narwhals.exceptions import DuplicateError

        try:
            frame = nw.from_native(given, eager_only=True)
            yield from ((c.name, c.to_numpy()) for c in frame.iter_columns())
        except DuplicateError as error:
            raise InvalidInput(f"{what}: two columns have the same name; rename one") from error
    else:
        name = getattr(given, "name", None)
        values = as_numpy(given if is_foreign(given) else getattr(given, "values", given))
        if values.ndim == 1:
            yield ("x0" if name is None else name), values
        elif values.ndim == 2:
            yield from ((f"x{j}", values[:, j]) for j in range(values.shape[1]))
        else:
            raise InvalidInput(f"{what} must be columns, found an array of shape {values.shape}")


F = TypeVar("F", bound=Callable[..., Any])

FROM_SCRATCH = ("fit", "fit_transform")
"""Methods after which a model reads the layer that they were given, and no other."""

READING = (
    *FROM_SCRATCH,
    "partial_fit",
    "transform",
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "posterior",
    "sample",
    "confidence_band",
    "probability",
)
"""Methods of models whose first argument may be an annotated matrix."""


def of_layer(method: F) -> F:
    """Return a method of a model that reads a layer of an annotated matrix.

    ``fit(data, layer="counts")`` takes the layer and notes its name in ``layer_``; ``transform``,
    ``predict`` and others read the same layer of the annotated matrix that they are given. A method
    that has ``layer`` among its keywords need not read it.
    """
    first = [*inspect.signature(method).parameters, ""][1]

    @wraps(method)
    def read(self: Any, *args: Any, **named: Any) -> Any:
        asked = named.pop("layer", None)
        is_fit = "fit" in method.__name__
        layer = asked
        if asked is None and method.__name__ not in FROM_SCRATCH:
            layer = getattr(self, "layer_", None)
        given = args[0] if args else named.get(first)
        if asked is not None and not is_annotated(given):
            raise InvalidParameter(
                f"layer={asked!r} is asked of an annotated matrix (AnnData), and {first} is "
                f"{type(given).__name__}: give the layer itself, without layer="
            )
        if layer is not None and is_annotated(given):
            from mercer.data.annotated import from_anndata  # only now: it reads frames itself

            taken = from_anndata(given, layer)
            args, named = ((taken, *args[1:]), named) if args else ((), {**named, first: taken})
        value = method(self, *args, **named)
        if is_fit:
            vars(self).pop("layer_", None)
            if layer is not None:
                self.layer_ = layer
        return value

    return read  # type: ignore[return-value]
