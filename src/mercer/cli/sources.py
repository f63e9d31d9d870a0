"""Data as a command gets them: a file or the standard input, with the columns and rows chosen."""

from __future__ import annotations

import re
import sys
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np

from mercer.check import Array
from mercer.cli.parser import Misused
from mercer.cli.talk import Talk
from mercer.data.graphs import Edges
from mercer.data.matrices import SquareMatrix
from mercer.data.missing import Policies, settled
from mercer.data.mixed import rows as as_rows
from mercer.data.reading import read
from mercer.data.source import MEMORY
from mercer.data.table import Role, Table, frozen, listed
from mercer.engines.engine import memory_bytes
from mercer.errors import InvalidInput, TooLarge
from mercer.estimator import as_kernel
from mercer.kernels.base import Kernel
from mercer.kernels.tables import columns_read

STDIN = "-"
COPIED = 2**20
"""Bytes of the standard input taken at a time."""


@dataclass(frozen=True, eq=False)
class Data:
    """What was read: the points of the fit, their weights, and rows only to be projected.

    ``used`` are the columns of all types that a kernel on tables looks at, None for other kernels.
    """

    name: str
    points: Any
    weights: Array | None = None
    passive: Table | None = None
    passive_rows: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    used: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.points)

    @property
    def table(self) -> Table | None:
        return self.points if isinstance(self.points, Table) else None

    @property
    def variables(self) -> int:
        """How many columns make a point; 0 where it has none."""
        if self.used is not None:
            return len(self.used)
        return 0 if self.table is None else len(self.table.active)

    def seen_by(self, kernel: Kernel) -> Any:
        """Return the individuals as a kernel reads them: columns, numbers, or as they are."""
        if self.table is None:
            return self.points
        return as_rows(self.table) if kernel.reads_rows else self.table.matrix()

    @property
    def labels(self) -> list[str]:
        """The names of the individuals, or their row numbers."""
        is_square = isinstance(self.points, SquareMatrix)
        names = self.points.names if is_square else getattr(self.points, "row_names", None)
        return [str(i) for i in range(len(self))] if names is None else list(names)

    def __str__(self) -> str:
        if isinstance(self.points, SquareMatrix):
            kind = "distances" if self.points.is_distance else "similarities"
            return f"{kind} of {_counted(len(self), 'individual')}"
        if self.table is None:
            return _counted(len(self), "string" if isinstance(self.points[0], str) else "set")
        parts = _counted(len(self), "individual"), _counted(self.variables, "variable")
        return ", ".join(parts)

    def told(self) -> str:
        """Return what was read, and what each column that is no variable is used for."""
        table = self.table
        if table is None:
            return str(self)
        used = self.used or ()
        roles = {n: r for n, r in zip(table.names, table.roles, strict=True) if n not in used}
        ids = [name for name, role in roles.items() if role is Role.IDENTIFIER]
        factors = [name for name, role in roles.items() if role is Role.FACTOR]
        unused = [n for n, role in roles.items() if role in (Role.DATE, Role.TEXT)]
        parts = [
            f"{self}: {listed(used)}" if used else str(self),
            f"rows named by {listed(ids)}" if ids and ids != [""] else "",
            f"{'factors' if len(factors) > 1 else 'factor'} {listed(factors)}" if factors else "",
            f"supplementary {listed(sorted(table.supplementary))}" if table.supplementary else "",
            f"dates and texts not used: {listed(unused)}" if unused else "",
        ]
        return "; ".join(part for part in parts if part)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@contextmanager
def local(name: str, talk: Talk, limit: int = MEMORY) -> Iterator[Path]:
    """Yield the path of a file; what comes on the standard input is a file for that long."""
    if name != STDIN:
        yield Path(name)
        return
    if sys.stdin is None:
        raise InvalidInput("the standard input is closed")
    if sys.stdin.isatty():
        talk.say("reading from the terminal; end with Ctrl-D")
    with TemporaryDirectory(prefix="mercer-") as folder:
        place = Path(folder, "stdin")
        with place.open("wb") as file:
            taken = 0
            while block := sys.stdin.buffer.read(COPIED):
                taken += file.write(block)
                if taken > limit:
                    raise TooLarge(
                        f"the standard input goes on after {limit:,} bytes, which are allowed; "
                        "raise the limit with --memory"
                    )
        yield place


def data_of(args: Namespace, talk: Talk) -> Data:
    """Read what the arguments name, and choose its columns and rows as they say."""
    limit = memory_bytes(args.memory) or MEMORY
    with local(args.data, talk, limit) as path:
        found: Any = read(path, cast(Any, args.form), memory=limit, **as_written(args))
        if args.form == "auto" and _is_one_text(found):
            args.form = "strings"
            found = read(path, "strings", memory=limit, encoding=args.encoding)
            talk.detail(f"{args.data}: one text on each line")
    if isinstance(found, Edges):
        raise InvalidInput(
            f"{args.data} holds one graph; a table, a matrix of pairs, strings or sets are needed. "
            "A kernel between its nodes is computed in Python, for example mercer.kernels.Diffusion"
        )
    data = Data(args.data, found, notes=tuple(getattr(found, "notes", ())))
    if data.table is not None:
        data = _chosen(data, data.table, args)
    else:
        _refuse_columns(args)
    if len(data) == 0:
        raise InvalidInput(f"{args.data} holds no individuals")
    for note in data.notes:
        talk.detail(f"{args.data}: {note}")
    return data


def _is_one_text(found: Any) -> bool:
    """Whether a table is one column of texts, which is no table."""
    return isinstance(found, Table) and len(found.names) == 1 and not found.active


def as_written(args: Namespace) -> dict[str, Any]:
    """Return what is said of the file, in the words of `read`."""
    given = {k: getattr(args, k) for k in ("delimiter", "decimal", "encoding") if getattr(args, k)}
    if args.no_header:
        given["header"] = False
    roles = dict.fromkeys(args.drop, Role.TEXT) | dict.fromkeys(args.factor, Role.FACTOR)
    if args.id:
        roles[args.id] = Role.IDENTIFIER
    if args.weights:
        roles[args.weights] = Role.NUMBER
    return given | {"na": args.na, "roles": roles, "missing": missing_of(args)}


def missing_of(args: Namespace) -> str | dict[str, str]:
    """Return what is done where a number or a category is missing, in the words of `read`.

    >>> missing_of(Namespace(drop_na=False, impute=["mean", "level"]))
    {'number': 'mean', 'factor': 'level'}
    """
    if getattr(args, "missing", None) is not None or args.drop_na:
        return "drop" if args.drop_na else str(args.missing)
    words = sorted(set(args.impute))
    if words == ["level", "mode"] or len(words) == 3:
        raise Misused("--impute: a missing category is a level or the most frequent one, not both")
    if len(words) == 2:
        return {"number": "mean", "factor": next(word for word in words if word != "mean")}
    return words[0] if words else "error"


def _refuse_columns(args: Namespace) -> None:
    flags = ("id", "factor", "drop", "sup_cols", "sup_rows", "weights")
    given = next((flag for flag in flags if getattr(args, flag)), None)
    if given:
        raise Misused(f"--{given.replace('_', '-')} is for tables, and {args.data} is none")


def _chosen(data: Data, table: Table, args: Namespace) -> Data:
    _refuse_other_roles(table, args)
    table = without(table, args.drop)
    table = table.with_supplementary(*_columns(args.sup_cols, table))
    if args.weights:
        table = table.with_supplementary(args.weights)
    weights = table.column(args.weights).values if args.weights else None
    kernels = _row_kernels(args)
    reads_all = bool(kernels) or getattr(args, "reads_rows", False)
    if not table.active and not reads_all:
        raise InvalidInput(
            f"{args.data} has no column of numbers that is active; its columns are "
            f"{listed(table.names)}"
        )
    used = _used(kernels[0], table) if kernels and isinstance(args.kernel, str) else None
    rows = _rows(args.sup_rows, table)
    if not len(rows):
        return replace(data, points=table, weights=weights, used=used)
    kept = np.setdiff1d(np.arange(len(table)), rows)
    if not len(kept):
        raise Misused("--sup-rows leaves no row for the fit")
    return replace(
        data,
        points=table.picked(kept),
        weights=None if weights is None else weights[kept],
        passive=table.picked(rows),
        passive_rows=tuple(rows.tolist()),
        used=used,
    )


def _row_kernels(args: Namespace) -> list[Kernel]:
    """Return those kernels of the arguments that look at columns of any type."""
    given = getattr(args, "kernel", None) or []
    kernels = [as_kernel(text) for text in ([given] if isinstance(given, str) else given)]
    return [kernel for kernel in kernels if kernel.reads_rows]


def _used(kernel: Kernel, table: Table) -> tuple[str, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit will tell of columns that do not vary
        return columns_read(kernel, as_rows(table))


def _refuse_other_roles(table: Table, args: Namespace) -> None:
    """Files of nothing but numbers have no other roles."""
    asked = dict.fromkeys(args.factor, Role.FACTOR)
    if args.id:
        asked[args.id] = Role.IDENTIFIER
    for name, role in asked.items():
        if table.column(name).role is not role:
            raise Misused(f"column {name!r} of {args.data} cannot be a {role.value}")


def _columns(given: Sequence[str], table: Table) -> list[str]:
    """Return names of columns, given one by one or with commas between them."""
    return [name for text in given for name in ([text] if text in table.names else text.split(","))]


def _rows(given: Sequence[str], table: Table) -> Array:
    """Return row numbers, given by name, number or range, with commas between them."""
    places = {name: i for i, name in enumerate(table.row_names or ())}
    found: list[int] = []
    for text in given:
        for part in [text] if text in places else text.split(","):
            numbers = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
            if part.strip() in places:
                found.append(places[part.strip()])
            elif numbers:
                first = int(numbers[1])
                last = int(numbers[2] or first)
                if last >= len(table):
                    raise Misused(
                        f"--sup-rows: there is no row {last}; rows are 0 to {len(table) - 1}"
                    )
                found.extend(range(first, last + 1))
            else:
                raise Misused(f"--sup-rows: there is no row {part!r}, by name or by number from 0")
    return np.unique(np.array(found, int))


def without(table: Table, dropped: Sequence[str]) -> Table:
    """Return a table without some columns."""
    if not dropped:
        return table
    for name in dropped:
        table.column(name)  # which says where there is none
    return _with_columns(table, [name for name in table.names if name not in dropped])


def _with_columns(table: Table, names: Sequence[str]) -> Table:
    """Return a table of some columns, in the order given."""
    known = {column.name: column for column in table.columns()}
    columns = [known[name] for name in names]
    numbers = [c.values for c in columns if c.role is Role.NUMBER]
    return replace(
        table,
        names=tuple(names),
        roles=tuple(c.role for c in columns),
        numbers=frozen(np.column_stack(numbers) if numbers else np.empty((len(table), 0))),
        labels={c.name: table.labels[c.name] for c in columns if c.role is not Role.NUMBER},
        supplementary=table.supplementary & set(names),
    )


def matched(table: Table, names: Sequence[str], policy: str | Policies, file: str) -> Table:
    """Return the columns of new data that a model was fitted with, in its order."""
    absent = [name for name in names if name not in table.names]
    if absent:
        raise InvalidInput(
            f"{file} has no column {listed(absent)}, with which the model was fitted; its columns "
            f"are {listed(table.names)}"
        )
    roles = dict(zip(table.names, table.roles, strict=True))
    for name in names:
        if roles[name] is not Role.NUMBER:
            raise InvalidInput(
                f'{file}, column "{name}" does not hold numbers but is a {roles[name].value}; the '
                "model was fitted with numbers"
            )
    return settled(replace(_with_columns(table, names), supplementary=frozenset()), policy)
