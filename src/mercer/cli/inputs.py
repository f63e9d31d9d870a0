"""Data as a command gets them: a file or the standard input, with the columns and rows chosen."""

from __future__ import annotations

import re
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np

from mercer.check import Array
from mercer.cli.errors import Misused, quote
from mercer.cli.output import Talk
from mercer.cli.progress import carry_out
from mercer.data.dialect import is_number
from mercer.data.files import read
from mercer.data.frames import row_names
from mercer.data.frames import rows as as_rows
from mercer.data.graphs import Edges, is_graph_file
from mercer.data.matrices import SquareMatrix
from mercer.data.missing import MISSING_LEVEL, settled
from mercer.data.raw_files import MEMORY
from mercer.data.sequences import Sequences
from mercer.data.table import Column, Role, Table, quote_names, row_place
from mercer.datasets.examples import example, is_example
from mercer.display import advice
from mercer.errors import InvalidInput, TooLarge, UnevenRows, UnreadableFile
from mercer.estimator import as_kernel
from mercer.kernels.base import Kernel
from mercer.kernels.strings import WORD
from mercer.kernels.tables import columns_read
from mercer.progress import Line
from mercer.settings import memory_bytes

STDIN = "-"
OF_NUMBERS, OF_FACTORS = ("mean", "pca"), ("mode", "level")
"""What is put for a missing number, and for a missing category."""
COPIED = 2**20
"""Bytes of the standard input taken at a time."""

MOST_LINES = 100
"""Lines that are looked at to see whether each is a text."""

SHOWN_ROWS = 6
"""Rows that an error names."""

MOST_LOOKED_AT = 10_000
"""Entries of a folder that are looked at to see whether it holds graphs."""

LEFT_OUT, REPLACED = re.compile(r"\d+ of \d+ rows left out"), re.compile(r"\d+ missing ")
UNUSED = "is not used"
"""Notes of a table that everybody reads, and those of values that were put in."""


@dataclass(frozen=True, eq=False)
class Data:
    """Data as they were read: the points of the fit, their weights, and rows only to be projected.

    ``used`` are the columns of all types that a kernel on tables looks at, None for other kernels;
    ``weighted_by`` is the column of the weights, ``one`` what a row is called, ``settled`` what was
    done where values were missing in the columns that a command uses.
    """

    name: str
    points: Any
    weights: Array | None = None
    passive: Table | None = None
    passive_rows: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    used: tuple[str, ...] | None = None
    weighted_by: str | None = None
    one: str = "individual"
    settled: tuple[str, ...] = ()

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
        """The names of the individuals, or their rows counted from 1."""
        is_square = isinstance(self.points, SquareMatrix)
        names = self.points.names if is_square else row_names(self.points)
        return [str(i + 1) for i in range(len(self))] if names is None else list(names)

    @property
    def places(self) -> dict[str, list[str]]:
        """Rows as messages name them, by their numbers in the file and their names."""
        labels = self.labels
        count = len(labels) + len(self.passive_rows)
        numbers = np.setdiff1d(np.arange(count), self.passive_rows) + 1
        pairs = zip(map(str, numbers), labels, strict=True)
        rows = [n if n == label else f"{n} ({quote_names([label])})" for n, label in pairs]
        return {"row": rows} | ({"column": rows} if isinstance(self.points, SquareMatrix) else {})

    def __str__(self) -> str:
        if isinstance(self.points, SquareMatrix):
            kind = "distances" if self.points.is_distance else "similarities"
            return f"{kind} between {_counted(len(self), 'point')}"
        if self.table is None:
            nouns = {Sequences: "sequence", frozenset: "set"}
            kinds = type(self.points), type(self.points[0])
            return _counted(len(self), next((nouns[k] for k in kinds if k in nouns), "string"))
        parts = _counted(len(self), self.one), _counted(self.variables, "variable")
        return ", ".join(parts)

    def told(self) -> str:
        """Return what was read, and what each column that is no variable is used for."""
        table = self.table
        if table is None:
            about = getattr(self.points, "about", None)
            return (
                f"{self}; supplementary {quote_names(about.names)}"
                if about is not None
                else str(self)
            )
        used = self.used or ()
        others = set(table.names).difference(used)
        roles = {n: r for n, r in zip(table.names, table.roles, strict=True) if n in others}
        ids = [name for name, role in roles.items() if role is Role.IDENTIFIER]
        factors = [name for name, role in roles.items() if role is Role.FACTOR]
        unused = [n for n, role in roles.items() if role in (Role.DATE, Role.TEXT)]
        aside = table.supplementary - {*unused, self.weighted_by}
        beside = [n for n in table.names if n in aside and n not in factors]
        parts = [
            f"{self}: {quote_names(n for n in table.names if n in used)}" if used else str(self),
            f"rows named by {quote_names(ids)}" if ids and ids != [""] else "",
            f"{'factors' if len(factors) > 1 else 'factor'} {quote_names(factors)}"
            if factors
            else "",
            f"supplementary {quote_names(beside)}" if beside else "",
            f"rows weighted by {quote_names([self.weighted_by])}" if self.weighted_by else "",
            f"dates and texts not used: {quote_names(unused)}" if unused else "",
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


@contextmanager
def file_or_example(name: str, talk: Talk, limit: int) -> Iterator[Any]:
    """Yield the path of a file, or an example as it is where no file has its name."""
    if is_example(name):
        yield example(name)
        return
    with local(name, talk, limit) as path:
        yield path


def data_of(args: Namespace, talk: Talk) -> Data:
    """Read what the arguments name, and choose its columns and rows as they say."""
    refuse_folder(args.data)
    limit = memory_bytes(args.memory) or MEMORY
    with file_or_example(args.data, talk, limit) as path:
        try:
            found: Any = _followed(
                talk, path, cast(Any, args.form), memory=limit, **as_written(args)
            )
        except UnevenRows:
            if args.form != "auto" or not _are_lines(path):
                raise
            found = None
        if args.form == "auto" and (found is None or _is_one_text(found)):
            args.form = "strings"
            found = read(path, "strings", memory=limit, encoding=args.encoding)
            talk.detail(f"{args.data}: one text on each line")
    if isinstance(found, Edges):
        raise InvalidInput(
            f"{args.data} holds one graph: `mercer graphs FOLDER` compares several, a file each. "
            "A kernel between its nodes is computed in Python, for example mercer.kernels.Diffusion"
        )
    if isinstance(found, Sequences):
        _propose_kernel(args, "sequences", found.lengths[0], talk)
    elif isinstance(found, tuple) and found and isinstance(found[0], str):
        _propose_kernel(args, "strings", min(map(len, found)), talk)
    data = Data(args.data, found, notes=tuple(getattr(found, "notes", ())))
    if data.table is not None:
        table = data.table
        data = _chosen(data, table, args)
        _tell_imputed(args, table, talk)
    else:
        _refuse_columns(args)
    if len(data) == 0:
        raise InvalidInput(f"{args.data} holds no individuals")
    args.read = data  # by which errors name rows
    for note in data.notes:
        is_said = LEFT_OUT.match(note) is not None or UNUSED in note
        is_known = REPLACED.match(note) is not None and missing_of(args) == USUAL  # it was told
        if not is_known:
            (talk.say if is_said else talk.detail)(f"{args.data}: {note}")
    return data


def _followed(talk: Talk, *given: Any, **named: Any) -> Any:
    """Return what `read` returns; a large file is followed, and can be left."""
    progress = Line("reading")
    return carry_out(lambda: read(*given, progress=progress, **named), talk, progress)


def data_of_columns(
    args: Namespace,
    talk: Talk,
    used: Callable[[Table], Collection[str | None]],
    chosen: Callable[[Table, Namespace], Table] | None = None,
) -> Data:
    """Read a table, in which what is missing matters in the columns that are used of it alone.

    ``chosen`` takes rows of these columns before any value is put.
    """
    policy, is_dropped = missing_of(args), args.drop_na
    args.missing, args.drop_na = "keep", False
    data = data_of(args, talk)
    args.missing, args.drop_na = None, is_dropped
    if data.table is None:
        return data
    table, names = data.table, used(data.table)
    pairs = zip(table.names, table.roles, strict=True)
    kept = table.with_columns([n for n, r in pairs if n in names or r is Role.IDENTIFIER])
    known = settled(kept if chosen is None else chosen(kept, args), policy)
    notes = known.notes[len(table.notes) :]
    for note in notes:
        if is_dropped or args.impute:
            talk.say(f"{args.data}: {note}")
        else:
            talk.warn(f"{args.data}: {note}. --strict refuses such files, --impute fills in")
    return replace(data, points=known, settled=notes)


def refuse_folder(name: str) -> None:
    """Refuse a folder, and say which commands take one where it holds graphs."""
    folder = Path(name)
    if name == STDIN or not folder.is_dir():
        return
    entries = islice(folder.rglob("*"), MOST_LOOKED_AT)
    if any(is_graph_file(path) for path in entries):
        word = quote(name)
        raise UnreadableFile(
            f"{name} is a folder of graphs: `mercer graphs {word}` places them on axes, "
            f"`mercer serve {word}` explores them"
        )
    raise UnreadableFile(f"{name} is a folder; name one of the files in it")


def _propose_kernel(args: Namespace, what: str, shortest: int, talk: Talk) -> None:
    """Compare strings by their parts of three letters where no kernel was asked for."""
    if hasattr(args, "kernel") and not args.kernel and shortest:
        kernel = f"string_spectrum(length={min(WORD, shortest)}).normalised()"
        args.kernel = [kernel] if isinstance(args.kernel, list) else kernel
        talk.say(f"{args.data}: {what} are compared by {kernel}; --kernel names another")


def _tell_imputed(args: Namespace, table: Table, talk: Talk) -> None:
    """Tell what was put for missing values unasked; where nothing was, nothing need be asked."""
    if missing_of(args) != USUAL:
        return
    if not table.imputed:
        args.missing = "error"
        return
    roles = dict(zip(table.names, table.roles, strict=True))
    numbers = {n: m for n, m in table.imputed.items() if roles[n] is Role.NUMBER}
    others = {n: m for n, m in table.imputed.items() if n not in numbers}
    parts = [
        _holes(numbers, "number", "by the mean of its column", "by the means of their columns"),
        _holes(
            others, "category", f'by the level "{MISSING_LEVEL}"', f'by a level "{MISSING_LEVEL}"'
        ),
    ]
    talk.warn(
        f"{args.data}: {'; '.join(part for part in parts if part)}. --strict refuses such files, "
        "--drop-na leaves out such rows"
    )


def _holes(masks: Mapping[str, Array], noun: str, one: str, many: str) -> str:
    """Return how many values are missing, where, and what was put there."""
    counts = {name: int(mask.sum()) for name, mask in masks.items()}
    total = sum(counts.values())
    where = sorted(counts, key=lambda name: -counts[name])
    shown = ", ".join(f'"{name:.80}" ({counts[name]})' for name in where[:6])
    more = f" and {len(where) - 6} more" if len(where) > 6 else ""
    nouns = {"number": "numbers", "category": "categories"}[noun]
    what = f"1 missing {noun} was" if total == 1 else f"{total} missing {nouns} were"
    return f"{what} replaced {one if total == 1 else many}: {shown}{more}" if total else ""


def _are_lines(path: Any) -> bool:
    """Whether a file holds lines of words, with no number and no mark between cells."""
    if not isinstance(path, Path):
        return False
    try:
        with path.open(encoding="utf-8") as file:
            lines = [line for line in islice(file, MOST_LINES) if line.strip()]
    except (OSError, UnicodeError):
        return False
    has_marks = any(re.search(r"[,;|](?!\s)|\t", line) for line in lines)
    words = (word for line in lines for word in line.split())
    return len(lines) > 1 and not has_marks and not any(is_number(word) for word in words)


def _is_one_text(found: Any) -> bool:
    """Whether a table is one column of texts, or words of lines, which is no table."""
    if not isinstance(found, Table) or found.active:
        return False
    are_words = set(found.roles) <= {Role.TEXT, Role.IDENTIFIER}
    is_headless = all(re.fullmatch(r"column \d+", name) for name in found.names)
    return len(found.names) == 1 or (are_words and is_headless)


WRITTEN = ("delimiter", "decimal", "encoding", "header", "skip", "sheet", "transpose", "colour")
"""What flags say of a file in the very words of `read`."""

USUAL = {"number": "mean", "factor": "level"}
"""What is done where values are missing and nothing was asked: it is told, and marked."""


def as_written(args: Namespace) -> dict[str, Any]:
    """Return what is said of the file, in the words of `read`."""
    found = {name: getattr(args, name, None) for name in WRITTEN}
    given = {name: value for name, value in found.items() if value is not None}
    roles = dict.fromkeys(args.drop, Role.TEXT) | dict.fromkeys(args.factor, Role.FACTOR)
    if given.get("colour"):
        roles[args.colour] = Role.FACTOR
    if args.id:
        roles[args.id] = Role.IDENTIFIER
    if args.weights:
        roles[args.weights] = Role.NUMBER
    return given | {"na": args.na, "roles": roles, "missing": missing_of(args)}


def missing_of(args: Namespace) -> str | dict[str, str]:
    """Return what is done where a number or a category is missing, in the words of `read`.

    >>> missing_of(Namespace(strict=False, drop_na=False, impute=["mean", "level"]))
    {'number': 'mean', 'factor': 'level'}
    >>> missing_of(Namespace(strict=True, drop_na=False, impute=[]))
    'error'
    """
    if getattr(args, "missing", None) is not None or args.drop_na:
        return "drop" if args.drop_na else str(args.missing)
    words = sorted(set(args.impute))
    numbers, factors = ([w for w in words if w in known] for known in (OF_NUMBERS, OF_FACTORS))
    if len(factors) == 2:
        raise Misused("--impute: a missing category is a level or the most frequent one, not both")
    if len(numbers) == 2:
        raise Misused("--impute: a missing number is a mean or by principal axes, not both")
    if numbers and factors:
        return {"number": numbers[0], "factor": factors[0]}
    if words:
        return str(words[0])
    if args.strict:
        return "error"
    return getattr(args, "unasked", None) or dict(USUAL)


def _refuse_columns(args: Namespace) -> None:
    flags = ("id", "factor", "colour", "drop", "active", "cols", "sup_cols", "sup_rows", "weights")
    given = next((flag for flag in flags if getattr(args, flag, None)), None)
    if given:
        raise Misused(f"--{given.replace('_', '-')} is for tables, and {args.data} is none")


def _chosen(data: Data, table: Table, args: Namespace) -> Data:
    _refuse_other_roles(table, args)
    table = table.without(args.drop)
    chosen = _columns(args.cols, table, "--cols")
    if chosen:
        args.wanted = _numbers_among(chosen, table)
        pairs = zip(table.names, table.roles, strict=True)
        others = (n for n, role in pairs if n not in chosen and role is not Role.IDENTIFIER)
        table = table.with_supplementary(*others)
    table = table.with_supplementary(*_columns(args.sup_cols, table, "--sup-cols"))
    if args.weights:
        table = table.with_supplementary(args.weights)
    kernels = _row_kernels(args)
    reads_all = bool(kernels) or getattr(args, "reads_rows", False)
    if not table.active and not reads_all:
        raise InvalidInput(
            f"{args.data} has no column of numbers that is active; its columns are "
            f"{quote_names(table.names)}"
        )
    used = _used(kernels[0], table) if kernels and isinstance(args.kernel, str) else None
    rows = _rows(args.sup_rows, table)
    data = replace(data, used=used, weighted_by=args.weights)
    if not len(rows):
        return replace(data, points=table, weights=weights_in(table, args))
    if table.row_names is None:  # numbers in the file, which those who are left do not have
        table = replace(table, row_names=tuple(str(i + 1) for i in range(len(table))))
    kept = np.setdiff1d(np.arange(len(table)), rows)
    if not len(kept):
        raise Misused("--sup-rows leaves no row for the fit")
    return replace(
        data,
        points=table.picked(kept),
        weights=weights_in(table.picked(kept), args, kept),
        passive=table.picked(rows),
        passive_rows=tuple(rows.tolist()),
    )


def weights_in(
    table: Table, args: Namespace, rows: Sequence[int] | Array | None = None
) -> Array | None:
    """Return the column of weights, None without one; no mean of others is put for a weight.

    ``rows`` are the numbers of the rows in the file, from 0, where they are some of it.
    """
    if args.weights is None:
        return None
    values = np.asarray(table.column(args.weights).values, float)
    put = table.imputed.get(args.weights, np.zeros(len(values), bool))
    wrong = {"missing": put | np.isnan(values), "infinite": np.isinf(values)}
    wrong["negative"] = values < 0.0
    for what, mask in wrong.items():
        places = np.flatnonzero(mask)
        if len(places):
            numbers = range(len(values)) if rows is None else rows
            shown = [row_place(table, int(i), int(numbers[i])) for i in places[:SHOWN_ROWS]]
            more = f" and {len(places) - SHOWN_ROWS} more" if len(places) > SHOWN_ROWS else ""
            raise InvalidInput(
                f"{args.data}, column {quote_names([args.weights])}: the weight is {what} in "
                f"{', '.join(shown)}{more}. Every row of the fit needs a weight that is a number "
                ">= 0: fill it in, make such rows supplementary with --sup-rows"
                + (", or leave them out with --drop-na" if what == "missing" else "")
            )
    return values


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


def _numbers_among(names: Sequence[str], table: Table) -> list[str]:
    """Return which columns hold numbers: who names them wants them, whatever they look like."""
    roles = dict(zip(table.names, table.roles, strict=True))
    return [name for name in names if roles.get(name) is Role.NUMBER]


def _columns(given: Sequence[str], table: Table, flag: str) -> list[str]:
    """Return columns given by name, number or range, one by one or with commas between them.

    Numbers count from 1, and the column that names the rows is not counted, as in R.
    """
    pairs = zip(table.names, table.roles, strict=True)
    counted = [name for name, role in pairs if role is not Role.IDENTIFIER]
    found: list[str] = []
    for text in given:
        for part in [text] if text in table.names else text.split(","):
            places = None if part in table.names else _numbers(part, len(counted), flag)
            found += [part.strip()] if places is None else [counted[i] for i in places]
    return found


def _rows(given: Sequence[str], table: Table) -> Array:
    """Return places of rows, given by name, number from 1 or range, with commas between them."""
    known = {name: i for i, name in enumerate(table.row_names or ())}
    found: list[int] = []
    for text in given:
        for part in [text] if text in known else text.split(","):
            if part.strip() in known:
                found.append(known[part.strip()])
                continue
            places = _numbers(part, len(table), "--sup-rows")
            if places is None:
                meant = advice(part.strip(), known)
                raise Misused(
                    f"--sup-rows: there is no row {part!r}, by name or by number from 1"
                    f"{'; ' if meant else ''}{meant}"
                )
            found.extend(places)
    return np.unique(np.array(found, int))


def _numbers(text: str, count: int, flag: str) -> range | None:
    """Return the places, from 0, that a number or a range counted from 1 names; None for a name.

    >>> list(_numbers("11-12", 13, "--sup-cols") or ())
    [10, 11]
    """
    numbers = re.fullmatch(r"\s*(\d+)(?:[-:](\d+))?\s*", text)
    if numbers is None:
        return None
    first, last = int(numbers[1]), int(numbers[2] or numbers[1])
    if not 1 <= first <= last <= count:
        noun = "row" if flag == "--sup-rows" else "column"
        raise Misused(f"{flag}: there is no {noun} {text.strip()}; {noun}s are 1 to {count}")
    return range(first - 1, last)


def refuse_other_levels(
    table: Table,
    fitted: Mapping[str, Column],
    file: str,
    otherwise: str,
    rows: Sequence[int] | None = None,
) -> None:
    """Refuse categories that the fit did not have, of which its axes say nothing.

    ``rows`` are the numbers of the rows in the file, where they are some of it.
    """
    for column in table.columns():
        known = fitted.get(column.name)
        if known is None or not column.role is known.role is Role.FACTOR:
            continue
        for i, label in enumerate(column.values.tolist()):
            if label in known.levels:
                continue
            row = row_place(table, i, i if rows is None else rows[i])
            place = f"{file}, {row}, column {quote_names([column.name])}"
            if label in (None, MISSING_LEVEL):
                raise InvalidInput(
                    f"{place}: the category is missing, and the fit had none that was. Fill it in, "
                    "or leave out such rows with --drop-na"
                )
            meant = advice(label, known.levels)
            raise InvalidInput(
                f"{place}: {quote_names([label])} is none of the levels of the fit"
                f"{f'; {meant} They' if meant else ', which'} are {quote_names(known.levels)}. "
                f"Correct it, or {otherwise}"
            )
