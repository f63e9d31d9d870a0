"""A table of individuals: named columns with roles, named rows, and what was guessed of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array, how_many, is_missing
from mercer.display import Shown, advice
from mercer.errors import InvalidInput, InvalidParameter
from mercer.points import read_only

SHOWN = 6
"""Names that a message or a summary lists before it only counts."""

LONGEST_NAME = 80
"""Letters of a name that a message or a summary shows."""

LABEL = 64
"""Bytes that a label takes in memory, beside its characters."""


class Role(Enum):
    """The use of a column.

    >>> [role.value for role in Role]
    ['number', 'factor', 'identifier', 'date', 'text']
    """

    NUMBER = "number"
    FACTOR = "factor"
    IDENTIFIER = "identifier"
    DATE = "date"
    TEXT = "text"


def as_labels(values: Iterable[Any], text: Callable[[Any], str] = str) -> Array:
    """Return values as labels, None where one is missing."""
    found = [None if is_missing(v) else text(v) for v in values]
    labels = np.empty(len(found), object)
    labels[:] = found
    return labels


def as_column(values: Any) -> Array:
    r"""Return values as an array; texts as they are, which numpy's own would end at a NUL.

    >>> as_column(["a\0", "a"]).tolist()
    ['a\x00', 'a']
    """
    if isinstance(values, list | tuple) and any(isinstance(v, str) for v in values):
        column = np.empty(len(values), object)
        column[:] = values
        return column
    return np.asarray(values)


def quote_names(names: Iterable[object]) -> str:
    r"""Return a few names in quotes, each in one line, and how many more there are.

    >>> quote_names(["a", "two\nlines"])
    '"a", "two lines"'
    """
    every = list(names)
    more = f" and {len(every) - SHOWN} more" if len(every) > SHOWN else ""
    shown = (" ".join(str(name).split()) if "\n" in str(name) else name for name in every[:SHOWN])
    return ", ".join(f'"{name!s:.{LONGEST_NAME}}"' for name in shown) + more


def row_place(table: Any, i: int, number: int | None = None) -> str:
    """Return a row as a message names it: of a table counted from 1, with its name.

    ``number`` is where it stands in the file, from 0, if the table is a part of it.

    >>> people = Table.of({"x": [1.0, 2.0]}, row_names=["Ada", "Alan"])
    >>> row_place(people, 1), row_place([1.0, 2.0], 1)
    ('row 2 ("Alan")', 'row 1')
    """
    if not isinstance(table, Table):
        return f"row {i}"
    row = f"row {(i if number is None else number) + 1}"
    return row if table.row_names is None else f"{row} ({quote_names([table.row_names[i]])})"


def entry_place(table: Any, i: int, j: int) -> str:
    """Return an entry of active columns as a message names it: of a table by the column's name.

    >>> entry_place(Table.of({"x": [1.0, 2.0]}), 1, 0), entry_place([[1.0], [2.0]], 1, 0)
    ('row 2, column "x"', 'row 1, column 0')
    """
    column = quote_names([table.active[j]]) if isinstance(table, Table) else str(j)
    return f"{row_place(table, i)}, column {column}"


def no_column(unknown: Sequence[str], names: Iterable[str]) -> str:
    """Return that there is no such column, what may have been meant, and which there are.

    >>> no_column(["hght"], ["name", "height"])
    'there is no column "hght"; did you mean height? The columns are "name", "height"'
    """
    known = list(names)
    meant = advice(unknown[0], known)
    return (
        f"there is no column {quote_names(unknown)}{f'; {meant} The' if meant else '; the'} "
        f"columns are {quote_names(known)}"
    )


MOST_COLOURS = 12
"""Levels of a factor that the colours of a picture tell apart."""


@dataclass(frozen=True, slots=True, repr=False)
class Column(Shown):
    """One column of a table: numbers, dates, or labels with None where one is missing.

    >>> from mercer.datasets import iris
    >>> species = iris().column("Species")
    >>> species.role.value, species.is_active, species.levels
    ('factor', False, ('setosa', 'versicolor', 'virginica'))
    """

    facts: ClassVar[Mapping[str, str]] = {
        "role": "number, factor, …",
        "values": "one for each individual",
        "is_active": "whether it makes the axes",
    }

    def _title(self) -> str:
        return f"Column {self.name}"

    name: str
    role: Role
    values: Array
    is_active: bool = False

    @property
    def levels(self) -> tuple[str, ...]:
        """The labels that occur, in alphabetical order."""
        return tuple(sorted({str(v) for v in self.values if v is not None}))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Table(Shown):
    """Individuals in rows, columns with names and roles.

    The columns of numbers that are not ``supplementary`` are active: they are the points. Factors,
    dates and texts are supplementary; one factor is the ``colour``. ``notes`` tells what was
    guessed while reading, ``coloured`` which factor was asked for as colour, and ``imputed`` where
    a value was put for a missing one: for each column that lacked any, True in those rows. A table
    is a sequence of points: it has a length, and its slices are tables; as an array it is the
    matrix of its active columns.

    >>> table = Table.of({"x": [1.0, 2.0], "kind": ["a", "b"]}, row_names=["first", "second"])
    >>> table.matrix()
    array([[1.],
           [2.]])
    >>> table[1:].row_names, table.column("kind").values.tolist()
    (('second',), ['a', 'b'])
    """

    names: tuple[str, ...]
    roles: tuple[Role, ...]
    numbers: Array
    labels: Mapping[str, Array]
    row_names: tuple[str, ...] | None = None
    supplementary: frozenset[str] = frozenset()
    notes: tuple[str, ...] = field(default=())
    imputed: Mapping[str, Array] = field(default_factory=dict)
    coloured: str | None = None

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            twice = sorted(n for n, count in Counter(self.names).items() if count > 1)
            raise InvalidInput(
                f"column names must differ; {quote_names(twice)} occur more than once"
            )
        if self.row_names is not None and len(self.row_names) != len(self.numbers):
            raise InvalidInput(
                f"{len(self.row_names)} row names were given for {len(self.numbers)} rows"
            )
        self._known(self.supplementary)

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Any],
        *,
        roles: Mapping[str, Role | str] | None = None,
        row_names: Iterable[object] | None = None,
        supplementary: Iterable[str] = (),
        notes: Iterable[str] = (),
    ) -> Table:
        """Make a table of columns, numbers where their array is numeric and factors elsewhere."""
        arrays = {str(name): as_column(values) for name, values in columns.items()}
        lengths = {name: how_many(a) if a.ndim else 0 for name, a in arrays.items()}
        if len(set(lengths.values())) > 1:
            raise InvalidInput(f"columns must have equal lengths, found {lengths}")
        for name, a in arrays.items():
            if a.ndim > 1:
                raise InvalidInput(
                    f"column {name!r} is an array of shape {a.shape}: name each of its columns"
                )
        given = {name: Role(role) for name, role in (roles or {}).items()}
        found = {name: given.get(name, _role_of(a)) for name, a in arrays.items()}
        count = next(iter(lengths.values()), 0)
        numeric = [a for name, a in arrays.items() if found[name] is Role.NUMBER]
        numbers = np.column_stack(numeric) if numeric else np.empty((count, 0))
        return cls(
            names=tuple(arrays),
            roles=tuple(found.values()),
            numbers=read_only(numbers.astype(np.float64, copy=False)),
            labels={
                n: read_only(a.copy()) for n, a in arrays.items() if found[n] is not Role.NUMBER
            },
            row_names=None if row_names is None else tuple(str(name) for name in row_names),
            supplementary=frozenset(supplementary),
            notes=tuple(notes),
        )

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any, /) -> Any:
        if not isinstance(index, slice):
            return self.matrix()[index]
        kept = None if self.row_names is None else self.row_names[index]
        labels = {name: values[index] for name, values in self.labels.items()}
        imputed = {name: mask[index] for name, mask in self.imputed.items()}
        numbers = self.numbers[index]
        return replace(self, numbers=numbers, labels=labels, row_names=kept, imputed=imputed)

    def picked(self, rows: Any) -> Table:
        """Return some rows by their numbers, in the order given.

        >>> Table.of({"x": [1.0, 2.0, 3.0]}).picked([2, 0]).matrix().ravel()
        array([3., 1.])
        """
        kept = np.asarray(rows, int)
        names = self.row_names
        return replace(
            self,
            numbers=read_only(self.numbers[kept]),
            labels={name: read_only(values[kept]) for name, values in self.labels.items()},
            row_names=None if names is None else tuple(names[i] for i in kept),
            imputed={name: read_only(mask[kept]) for name, mask in self.imputed.items()},
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        matrix = self.matrix()
        return matrix.astype(dtype or np.float64, copy=bool(copy))

    @property
    def active(self) -> tuple[str, ...]:
        """The names of the columns that make the points."""
        return tuple(n for n in self._numeric() if n not in self.supplementary)

    @property
    def colour(self) -> Column | None:
        """The factor by which individuals are coloured: asked for, or the first of few levels.

        Where all have more levels than colours can tell apart, it is the one that has fewest.

        >>> labels = {"site": [f"s{i}" for i in range(20)], "sex": ["f", "m"] * 10}
        >>> table = Table.of(labels)
        >>> table.colour.name, table.coloured_by("site").colour.name
        ('sex', 'site')
        """
        factors = [column for column in self.columns() if column.role is Role.FACTOR]
        chosen = (c for c in factors if c.name == self.coloured)
        few = (c for c in factors if 1 < len(c.levels) <= MOST_COLOURS)
        telling = (c for c in factors if len(c.levels) > 1)
        fewest = sorted(telling, key=lambda c: len(c.levels))
        return next(chain(chosen, few, fewest, factors), None)

    def matrix(self) -> Array:
        """Return the active columns as a read-only n x p array; without a copy if all are."""
        numeric = self._numeric()
        if not self.supplementary.intersection(numeric):
            return self.numbers
        kept = [i for i, name in enumerate(numeric) if name not in self.supplementary]
        return read_only(np.ascontiguousarray(self.numbers[:, kept]))

    def column(self, name: str) -> Column:
        """Return one column by its name."""
        self._known([name])
        return next(column for column in self.columns() if column.name == name)

    def columns(self) -> Iterator[Column]:
        """Yield all columns in the order of the file."""
        numeric = iter(self.numbers.T)
        for name, role in zip(self.names, self.roles, strict=True):
            if role is Role.NUMBER:
                yield Column(name, role, next(numeric), name not in self.supplementary)
            else:
                yield Column(name, role, self.labels[name])

    def with_supplementary(self, *names: str) -> Table:
        """Return the table with these columns of numbers taken out of the points."""
        return replace(self, supplementary=self.supplementary | set(names))

    def without(self, names: Iterable[str]) -> Table:
        """Return a table without some columns.

        >>> Table.of({"x": [1.0], "y": [2.0]}).without(["x"]).names
        ('y',)
        """
        dropped = tuple(names)
        self._known(dropped)
        return self.with_columns(n for n in self.names if n not in dropped) if dropped else self

    def with_columns(self, names: Iterable[str]) -> Table:
        """Return a table of some columns, in the order given.

        >>> Table.of({"x": [1.0], "y": [2.0]}).with_columns(["y", "x"]).matrix()
        array([[2., 1.]])
        """
        order = tuple(names)
        self._known(order)
        known = {column.name: column for column in self.columns()}
        columns = [known[name] for name in order]
        numbers = [c.values for c in columns if c.role is Role.NUMBER]
        return replace(
            self,
            names=order,
            roles=tuple(c.role for c in columns),
            numbers=read_only(np.column_stack(numbers) if numbers else np.empty((len(self), 0))),
            labels={name: self.labels[name] for name in order if name in self.labels},
            supplementary=self.supplementary & set(order),
            imputed={name: mask for name, mask in self.imputed.items() if name in order},
        )

    def coloured_by(self, name: str) -> Table:
        """Return the table with a factor as its colour; columns keep their places and numbers."""
        role = self.column(name).role
        if role is not Role.FACTOR:
            raise InvalidParameter(
                f"individuals are coloured by labels that repeat, and column {name!r} is a "
                f"{role.value}; make it a factor by its role"
            )
        return replace(self, coloured=name)

    def frame(self, backend: str = "pandas") -> Any:
        """Return the table as a data frame of pandas, polars or pyarrow."""
        import narwhals.stable.v2 as nw

        # narwhals takes a name where its stub lists an enumeration.
        columns = {column.name: column.values for column in self.columns()}
        lists = {n: v if v.dtype.kind in "fM" else v.tolist() for n, v in columns.items()}
        frame: Any = nw.from_dict(lists, backend=backend).to_native()  # type: ignore[arg-type]
        if self.row_names is not None and hasattr(frame, "set_axis"):
            return frame.set_axis(list(self.row_names), axis=0)
        return frame

    def _title(self) -> str:
        parts = [f"{len(self)} individuals"]
        for role in Role:
            mine = [n for n, r in zip(self.names, self.roles, strict=True) if r is role]
            for kind, some in (
                (role.value, [n for n in mine if n not in self.supplementary]),
                (f"supplementary {role.value}", [n for n in mine if n in self.supplementary]),
            ):
                if some:
                    plural = "s" * (len(some) > 1)
                    parts.append(f"{len(some)} {kind}{plural} ({quote_names(some)})")
        return f"Table({'; '.join(parts)})"

    def _numeric(self) -> tuple[str, ...]:
        pairs = zip(self.names, self.roles, strict=True)
        return tuple(name for name, role in pairs if role is Role.NUMBER)

    def _known(self, names: Iterable[str]) -> None:
        known = frozenset(self.names)
        unknown = [name for name in names if name not in known]
        if unknown:
            raise InvalidParameter(no_column(unknown, self.names))


def _role_of(values: Array) -> Role:
    if values.dtype.kind in "biuf":
        return Role.NUMBER
    return Role.DATE if values.dtype.kind == "M" else Role.FACTOR
