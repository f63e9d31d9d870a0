"""Tables written as text, read in blocks: numbers as numbers, all else as labels.

A file of nothing but numbers takes a vectorised path; the first block that is not clean sends the
whole file through the csv module, which is slower and says what is wrong, line by line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mercer.check import Array
from mercer.data.assembly import (
    may_be_identifier,
    number_names,
    settle_none,
    with_words,
)
from mercer.data.dialect import (
    DELIMITERS,
    ENCODING,
    SAMPLE,
    Dialect,
    below,
    encoding_of,
    has_nul,
    has_row_names,
    is_number,
    records,
    refuse_unmarked,
    sniff_dialect,
)
from mercer.data.missing import MISSING_WORDS, NONE
from mercer.data.numeric import numbers_only
from mercer.data.raw_files import LONGEST_LINE, Limits, open_bytes, refuse_bomb, refuse_foreign
from mercer.data.table import LABEL, Role, no_column, quote_names
from mercer.display import warn
from mercer.errors import Advice, DataWarning, TooLarge, UnevenRows, UnreadableFile

MOST_COLUMNS = 2**21
"""Columns of a table, whose names alone take a quarter of a gigabyte."""

CELLS = 2**18
"""Cells that exist as text at one time."""


JSON = re.compile(r"""\s*(?:\{\s*"|\[\s*\{\s*")""")
"""How a text begins that lists objects by their names."""

MARKUP = re.compile(r"\s*<(?:!doctype|html|\?xml|svg|head|body)\b", re.IGNORECASE)
"""How documents with tags begin, which servers send where a table was asked for."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The columns of a text file: numbers with NaN, or labels with None, where one is missing.

    A file of nothing but numbers is one matrix.
    """

    names: tuple[str, ...]
    columns: tuple[Array, ...] | Array
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """The plan for reading a file, made from its beginning."""

    dialect: Dialect
    names: tuple[str, ...]
    numeric: tuple[bool, ...]
    empty: frozenset[int]
    missing: frozenset[str]
    notes: tuple[str, ...]
    is_plain: bool
    is_triangle: bool = False
    asked: frozenset[str] = frozenset()
    levels: frozenset[str] = frozenset()
    takes_words: bool = False


def read_delimited(  # noqa: PLR0913  (all that can be said of a text)
    path: Path,
    limits: Limits,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    skip: int | None = None,
    na: Sequence[str] = (),
    roles: Mapping[str, Role] | None = None,
    takes_words: bool = False,
) -> Cells:
    """Return the columns of a text file; what is not given is guessed.

    A word among numbers is refused, unless ``takes_words``: then it is missing, or a label.
    """
    sample, is_whole = _sample(path, limits)
    refuse_foreign(sample, path.name)  # what gzip hid: R packs its objects by it
    guessed = encoding or encoding_of(sample, path.name)
    refuse_unmarked(sample, guessed, path.name)
    try:
        text = _decoded(sample, guessed, is_whole)
    except UnicodeError as error:
        raise UnreadableFile(f"{path.name} is not {guessed}: {error}; name another") from error
    if not text.strip():
        raise UnreadableFile(f"{path.name} is empty: it holds nothing but white space")
    if MARKUP.match(text):
        raise UnreadableFile(
            f"{path.name} is a web page or another document with tags, and no table; download the "
            "data themselves, or copy the table into a spreadsheet"
        )
    if JSON.match(text):
        raise UnreadableFile(
            f"{path.name} is JSON and no table; give the data frame of pandas.read_json"
        )
    _refuse_wide(text, delimiter, path.name)
    dialect = sniff_dialect(
        text, delimiter=delimiter, decimal=decimal, header=header, skip=skip, encoding=guessed
    )
    if dialect.skip and skip is None:
        _warn_titles(path.name, text, dialect.skip)
    plan = _plan(text, dialect, path.name, MISSING_WORDS | set(na), roles or {})
    plan = replace(plan, takes_words=takes_words, asked=frozenset(roles or {}))
    plan = replace(plan, levels=frozenset({NONE}) - set(na))
    if guessed == "latin-1" and encoding is None:
        _warn_latin(path.name)
    try:
        return _read(path, limits, plan)
    except UnicodeError as error:
        if encoding is not None or guessed != "utf-8":
            raise UnreadableFile(f"{path.name} is not {guessed}: {error}") from error
    _warn_latin(path.name)
    latin = replace(dialect, encoding="latin-1")
    return _read(path, limits, replace(plan, dialect=latin, is_plain=False))


def _read(path: Path, limits: Limits, plan: ReadingPlan) -> Cells:
    is_plain = plan.is_plain
    matrix = numbers_only(path, limits, plan.dialect, len(plan.names)) if is_plain else None
    if matrix is None:
        refuse_bomb(path, limits)
    columns, notes = _gathered(path, limits, plan) if matrix is None else (matrix, ())
    return Cells(plan.names, columns, plan.dialect.notes() + plan.notes + notes)


def _warn_latin(name: str) -> None:
    warn(
        f"{name} is not UTF-8 and was read as latin-1; if letters look wrong, name its encoding "
        f"with {ENCODING}",
        DataWarning,
        ENCODING,
    )


WHOLE = Advice("skip", 0)


def _warn_titles(name: str, text: str, skip: int) -> None:
    title = next((line.strip(' \t\r\n,;"') for line in text.splitlines() if line.strip()), "")
    many = f"{skip} lines above the table were" if skip > 1 else "the line above the table was"
    warn(f'{name}: {many} left out: "{title[:60]}"; {WHOLE} keeps them', DataWarning, WHOLE)


def _sample(path: Path, limits: Limits) -> tuple[bytes, bool]:
    """Return the beginning of a file, at least three lines of it, and whether it is all."""
    with open_bytes(path, limits) as file:
        start = file.read(SAMPLE)
        while start.count(b"\n") < 3 and len(start) <= LONGEST_LINE:
            more = file.readline(LONGEST_LINE)
            if not more:
                break
            start += more
        is_whole = not file.read(1)
    if len(start) > LONGEST_LINE and b"\n" not in start:
        raise TooLarge(_long_line(path.name, 1))
    if not is_whole and b"\n" in start:
        start = start[: start.rindex(b"\n") + 1]
    return start, is_whole


def _long_line(name: str, number: int) -> str:
    return (
        f"{name}, line {number} has more than {LONGEST_LINE:,} characters; a table has one "
        "individual on each line"
    )


def _refuse_wide(text: str, delimiter: str | None, name: str) -> None:
    """Refuse more columns than there may be before the cells are cut."""
    first_line = text.partition("\n")[0]
    marks = DELIMITERS if delimiter is None else (delimiter,)
    if any(first_line.count(mark) >= MOST_COLUMNS for mark in marks):
        raise TooLarge(
            f"{name} has more than {MOST_COLUMNS:,} columns; write it with one individual per "
            "row, or as .npy and walk over it with mercer.open_points"
        )


def _decoded(sample: bytes, encoding: str, is_whole: bool) -> str:
    if not is_whole and encoding.startswith(("utf-16", "utf-32")):
        sample = sample[: len(sample) // 4 * 4]
        return sample.decode(encoding, errors="replace").rpartition("\n")[0] + "\n"
    return sample.decode(encoding)


def _plan(
    text: str,
    dialect: Dialect,
    name: str,
    missing: frozenset[str],
    roles: Mapping[str, Role],
) -> ReadingPlan:
    rows = records(below(text, dialect.skip), dialect.delimiter)
    if not rows:
        raise UnreadableFile(f"{name} cannot be cut into cells: {_first_error(text, dialect)}")
    names, notes = _names(rows, dialect, name)
    unknown = [column for column in roles if column not in names]
    if unknown:
        raise UnreadableFile(f"{name}: {no_column(unknown, names)}")
    body = rows[1:] if dialect.has_header else rows
    columns = [[row[j] for row in body if j < len(row)] for j in range(len(names))]
    numeric, empty = [], set()
    for place, (column, cells) in enumerate(zip(names, columns, strict=True)):
        if column in roles:
            numeric.append(roles[column] is Role.NUMBER)
        else:
            is_id = place == 0 and may_be_identifier(column)
            numeric.append(not is_id and _mostly_numbers(cells, dialect.decimal, missing))
            if all(cell.strip() in missing for cell in cells):
                empty.add(place)
            elif not numeric[-1] and (example := _dressed(cells, dialect.decimal, missing)):
                notes += (_tell_dressed(name, column, example),)
    is_plain = all(numeric) and '"' not in text and dialect.encoding in ("utf-8", "utf-8-sig")
    is_triangle = dialect.has_header and _is_triangle([len(row) for row in body], len(names))
    return ReadingPlan(
        dialect, names, tuple(numeric), frozenset(empty), missing, notes, is_plain, is_triangle
    )


def _is_triangle(widths: Sequence[int], most: int) -> bool:
    """Return whether each row is one cell longer than that before, as triangles are written."""
    first = next(iter(widths), 0)
    is_longer = list(widths) == list(range(first, first + len(widths)))
    return len(widths) > 1 and first in (1, 2) and is_longer and widths[-1] <= most


DRESSED = re.compile(
    r"[+-]?[$€£¥]? ?(?:\d{1,3}(?:[ ,.'\u00a0\u202f]\d{3})+|\d+)(?:[.,]\d+)?"
    r"(?: ?[%€$£¥]| [a-zµ°/²³]{1,6})?",
    re.IGNORECASE,
)
"""Numbers with marks between thousands, a sign of per cent or money, or a unit."""


def _dressed(cells: Sequence[str], decimal: str, missing: frozenset[str]) -> str:
    """Return an example of cells that are numbers to a person and none to a program."""
    present = [cell.strip() for cell in cells if cell.strip() not in missing]
    found = [c for c in present if DRESSED.fullmatch(c) and not is_number(c, decimal)]
    return found[0] if present and 2 * len(found) >= len(present) else ""


def _tell_dressed(name: str, column: str, example: str) -> str:
    message = f'column "{column}" holds values such as "{example}", which were read as labels'
    warn(f"{name}: {message}; write them as plain numbers to have them as numbers", DataWarning)
    return message


def _first_error(text: str, dialect: Dialect) -> str:
    try:
        list(csv.reader(io.StringIO(text), delimiter=dialect.delimiter, strict=True))
    except csv.Error as error:
        return str(error)
    return "it holds no row"


def _names(
    rows: Sequence[Sequence[str]], dialect: Dialect, name: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the columns, made different, and what was done to them."""
    if not dialect.has_header:
        return named_columns(None, len(rows[0]), name)
    if not has_row_names(rows):
        return named_columns(rows[0], len(rows[0]), name)
    names, notes = named_columns(["", *rows[0]], len(rows[0]) + 1, name)
    return names, ("the first column has no name: row names", *notes)


def named_columns(
    header: Sequence[str] | None, width: int, file: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names for columns, made different, and what was done to those of the header."""
    if header is None:
        return tuple(f"column {j + 1}" for j in range(width)), ()
    given = [cell.strip() for cell in header]
    labels = [cell or (f"column {j + 1}" if j else "") for j, cell in enumerate(given)]
    names, twice = number_names(labels)
    if not twice:
        return tuple(names), ()
    message = f"columns of equal name were numbered: {quote_names(twice)}"
    warn(f"{file}: {message}", DataWarning)
    return tuple(names), (message,)


CODE = re.compile(r"\s*0\d+\s*")
"""Digits that begin with a zero, such as 007: a code, which as a number would be another."""


def _mostly_numbers(cells: Sequence[str], decimal: str, missing: frozenset[str]) -> bool:
    present = [cell for cell in cells if cell.strip() not in missing]
    if any(CODE.fullmatch(cell) for cell in present):
        return False
    return 2 * sum(is_number(cell, decimal) for cell in present) >= max(len(present), 1)


def _gathered(
    path: Path, limits: Limits, plan: ReadingPlan
) -> tuple[tuple[Array, ...], tuple[str, ...]]:
    """Return the columns of any file, cell by cell, and what was done to them."""
    width = len(plan.names)
    parts: list[list[Array]] = [[] for _ in plan.names]
    known: list[dict[str, str]] = [{} for _ in plan.names]
    odd: list[dict[int, Odd]] = [{} for _ in plan.names]
    used = count = 0
    for start, rows in _chunks(path, limits, plan):
        for j, cells in enumerate(zip(*rows, strict=True)):
            if plan.numeric[j]:
                place = _place(path.name, start, plan.names[j])
                before = len(odd[j])
                part = _as_numbers(cells, plan, place, odd[j], count)
                used += 4 * LABEL * (len(odd[j]) - before)
            else:
                before = len(known[j])
                part = _as_labels(cells, plan.missing - plan.levels, known[j])
                used += sum(LABEL + len(label) for label in islice(known[j], before, None))
            parts[j].append(part)
        count += len(rows)
        used += 8 * width * len(rows)
        # The parts are joined at the end, which takes their memory once more.
        limits.check(2 * used, None, f"the table in {path.name}")
    if not parts[0]:
        raise UnreadableFile(f"{path.name} has a header but no rows")
    joined = []
    while parts:
        joined.append(np.concatenate(parts.pop(0)))
    for j, is_numeric in enumerate(plan.numeric):
        if plan.levels and not is_numeric:
            joined[j] = settle_none(joined[j], plan.dialect.decimal)
    for j in plan.empty:
        joined[j] = _decided(joined[j], plan.dialect.decimal)
    notes = []
    for j, found in enumerate(odd):
        if found:
            name, words = plan.names[j], {row: it.word for row, it in found.items()}
            at, is_number = next(iter(found.values())).place, name in plan.asked
            joined[j], note = with_words(joined[j], words, at, name, is_number=is_number)
            notes.append(note)
    return tuple(joined), tuple(notes)


def _decided(labels: Array, decimal: str) -> Array:
    """Return numbers for labels that all are, of a column that begins with missing ones."""
    present = [label for label in labels if label is not None]
    if not present or not all(is_number(label, decimal) for label in present):
        return labels
    numbers = [np.nan if x is None else float(x.replace(decimal, ".")) for x in labels]
    return np.array(numbers, np.float64)


def _place(name: str, lines: Sequence[int], column: str) -> Callable[[int], str]:
    return lambda row: f'{name}, line {lines[row]}, column "{column}"'


def _chunks(
    path: Path, limits: Limits, plan: ReadingPlan
) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Yield records of equal width in chunks, with the line each of them begins on."""
    dialect, width = plan.dialect, len(plan.names)
    size = max(1, CELLS // width)
    with (
        open_bytes(path, limits) as file,
        io.TextIOWrapper(file, encoding=dialect.encoding, newline="") as text,
    ):
        rows: list[list[str]] = []
        lines: list[int] = []
        for line, row in _records(text, dialect, path.name):
            if len(row) != width:
                if not row and width > 1:
                    continue
                if plan.is_triangle and len(row) < width:
                    row = row + [""] * (width - len(row))  # noqa: PLW2901
                else:
                    row = _single(row, width, line, path.name)  # noqa: PLW2901
            rows.append(row)
            lines.append(line)
            if len(rows) == size:
                yield lines, rows
                rows, lines = [], []
        while rows and rows[-1] == [""]:
            rows.pop()  # empty lines at the end of a file of one column
        if rows:
            yield lines, rows


def _single(row: list[str], width: int, line: int, name: str) -> list[str]:
    if not row:
        return [""]
    found = f"{len(row)} cell{'s' * (len(row) != 1)}"
    is_short = len(row) < width
    more = "fewer" if is_short else "more"
    advice = "Complete the row; a delimiter" if is_short else "A delimiter"
    raise UnevenRows(
        f"{name}, line {line} has {found}, {more} than the {width} columns. {advice} inside a cell "
        "must stand in quotes"
    )


def _records(
    text: io.TextIOWrapper, dialect: Dialect, name: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield records with the line they begin on, titles and the header left out."""
    reader = csv.reader(
        islice(_lines(text, name), dialect.skip, None),
        delimiter=dialect.delimiter,
        skipinitialspace=dialect.delimiter == " ",
        strict=True,
    )
    first = begun = dialect.skip + 1
    try:
        for row in reader:
            if dialect.delimiter == " " and row and row[-1] == "":
                row.pop()  # a space at the end of a line
            if begun > first or not dialect.has_header:
                yield begun, row
            begun = dialect.skip + reader.line_num + 1
    except csv.Error as error:
        raise UnreadableFile(
            f"{name}, the record that begins on line {begun} cannot be read: {error}. "
            "A quote may have been opened and not closed"
        ) from error


def _lines(text: io.TextIOWrapper, name: str) -> Iterator[str]:
    number = 0
    while line := text.readline(LONGEST_LINE):
        number += 1
        if "\0" in line:
            raise has_nul(name, f"line {number}")
        if len(line) == LONGEST_LINE:
            raise TooLarge(_long_line(name, number))
        yield line


class Odd(NamedTuple):
    """A word among numbers, and where it stands."""

    word: str
    place: str


def _as_numbers(
    cells: Sequence[str],
    plan: ReadingPlan,
    place: Callable[[int], str],
    odd: dict[int, Odd],
    above: int,
) -> Array:
    """Return numbers; words among them, where they are taken, go into ``odd`` by their rows."""
    decimal = plan.dialect.decimal
    joined = "".join(cells)
    # Python's float also takes underscores and other scripts' digits.
    if joined.isascii() and "_" not in joined and not (decimal == "," and "." in joined):
        plain = [cell.replace(",", ".") for cell in cells] if decimal == "," else cells
        try:
            return np.fromiter(map(float, plain), np.float64, len(cells))
        except ValueError:
            pass
    found = np.empty(len(cells))
    for i, cell in enumerate(cells):
        if plan.takes_words and not _is_known(cell, plan):
            odd[above + i] = Odd(cell.strip(), place(i))
            found[i] = np.nan
        else:
            found[i] = _number(cell, i, plan, place)
    return found


def _is_known(cell: str, plan: ReadingPlan) -> bool:
    return cell.strip() in plan.missing or is_number(cell, plan.dialect.decimal)


def _number(cell: str, row: int, plan: ReadingPlan, place: Callable[[int], str]) -> float:
    if cell.strip() in plan.missing:
        return np.nan
    if is_number(cell, plan.dialect.decimal):
        return float(cell.replace(plan.dialect.decimal, "."))
    missing, factor = Advice("na", [cell[:40]]), Advice("roles")
    raise UnreadableFile(
        f"{place(row)}: {cell[:40]!r} is not a number. Declare it missing with {missing}, or the "
        f"column a factor with {factor}",
        *(missing, factor),
    )


def _as_labels(cells: Sequence[str], missing: frozenset[str], known: dict[str, str]) -> Array:
    labels = np.empty(len(cells), object)
    labels[:] = [None if c.strip() in missing else known.setdefault(c, c) for c in cells]
    return labels
