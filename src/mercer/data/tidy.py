"""Tables that leave and enter a reading: tidy columns out, named columns in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from mercer.check import Array, is_annotated, refuse_lazy
from mercer.data.assembly import numbered
from mercer.data.frames import index_names
from mercer.data.table import Role, Table, as_column
from mercer.display import MOST_LINES
from mercer.errors import InvalidInput, InvalidParameter

SHOWN = MOST_LINES - 2
"""Rows of a long table that are shown, beside its head and how many more there are."""

LONGEST, EMPTY = 24, "(empty)"
"""Letters of a string that is its own name, and the name of one without letters."""

LIBRARIES = {
    "pandas": nw.dependencies.is_pandas_dataframe,
    "polars": nw.dependencies.is_polars_dataframe,
    "pyarrow": nw.dependencies.is_pyarrow_table,
}


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
        super().__init__({name: frozen(values) for name, values in columns.items()})

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


def frozen(values: Array) -> Array:
    """Return a read-only view of an array."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view


def library_of(X: Any) -> str | None:
    """Return the library a data frame comes from, None for what is no data frame."""
    return next((name for name, is_one in LIBRARIES.items() if is_one(X)), None)


def as_frame(columns: dict[str, Array], library: str | None) -> Any:
    """Return columns as a data frame of a library that is installed, or as a `Tidy` table."""
    if library is None:
        return Tidy(columns)
    if library not in LIBRARIES:
        raise InvalidParameter(f"library must be one of {', '.join(LIBRARIES)}, found {library!r}")
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
        return tuple(numbered([_short(text) for text in X])[0])
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
        try:
            frame = nw.from_native(given, eager_only=True)
            yield from ((c.name, c.to_numpy()) for c in frame.iter_columns())
        except DuplicateError as error:
            raise InvalidInput(f"{what}: two columns have the same name; rename one") from error
    else:
        name = getattr(given, "name", None)
        values = np.asarray(getattr(given, "values", given))
        if values.ndim == 1:
            yield ("x0" if name is None else name), values
        elif values.ndim == 2:
            yield from ((f"x{j}", values[:, j]) for j in range(values.shape[1]))
        else:
            raise InvalidInput(f"{what} must be columns, found an array of shape {values.shape}")
