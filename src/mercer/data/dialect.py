"""How a text file is written: its encoding, delimiter, decimal mark and header, guessed and told.

Only the first part of a file is looked at. Every guess can be overruled.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from mercer.data.missing import MISSING_WORDS
from mercer.errors import Advice, UnreadableFile

SAMPLE = 2**16
"""Bytes from which the dialect is guessed."""

RECORDS = 100
"""Records from which the delimiter, the decimal mark and the header are guessed."""

DELIMITERS = ("\t", ";", "|", ",", " ")
"""In order of preference: what stands later also occurs inside cells."""

NAMES = {"\t": "tab", " ": "space"}

NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)[ \t]*",
    re.IGNORECASE,
)
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a table is written as text; ``skip`` lines stand above it."""

    encoding: str = "utf-8"
    delimiter: str = ","
    decimal: str = "."
    has_header: bool = True
    skip: int = 0

    def notes(self) -> tuple[str, ...]:
        """Return what was guessed, in words."""
        delimiter = NAMES.get(self.delimiter, f"'{self.delimiter}'")
        lines = "line" if self.skip == 1 else "lines"
        above = (f"{self.skip} {lines} above the table left out",) if self.skip else ()
        return (
            f"encoding {self.encoding}",
            f"delimiter {delimiter}",
            f"decimal {'comma' if self.decimal == ',' else 'point'}",
            "header in the first row" if self.has_header else "no header",
            *above,
        )


def encoding_of(sample: bytes, name: str) -> str:
    """Return the encoding of a text: by its mark, else UTF-8 if it is that, else latin-1."""
    marked = next((encoding for mark, encoding in MARKS if sample.startswith(mark)), None)
    if marked is not None:
        return marked
    if b"\0" in sample:
        return _wide_encoding(sample, name)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


NO_CHARACTERS = frozenset({"idna", "punycode", "undefined"})
"""Encodings of names rather than of texts, and the one that refuses everything."""


def checked_encoding(name: str) -> str:
    """Return the name of an encoding of texts, or refuse it.

    >>> checked_encoding("latin-1")
    'latin-1'
    >>> checked_encoding("rot13")
    Traceback (most recent call last):
    ...
    mercer.errors.UnreadableFile: encoding='rot13' is no encoding of texts: name one such as utf-8, latin-1 or utf-16-le
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    try:
        found = codecs.lookup(name)
        is_text = found._is_text_encoding and found.name not in NO_CHARACTERS
    except (LookupError, ValueError):  # ValueError for a NUL
        is_text = False
    if not is_text:
        given = Advice("encoding", name[:40])
        raise UnreadableFile(
            f"{given} is no encoding of texts: name one such as utf-8, latin-1 or utf-16-le",
            given,
        )
    return name


def refuse_unmarked(sample: bytes, encoding: str, name: str) -> None:
    """Refuse wide encodings whose order of bytes is told neither by name nor by a mark."""
    wide = codecs.lookup(encoding).name
    if wide in ("utf-16", "utf-32") and not sample.startswith(tuple(mark for mark, _ in MARKS[1:])):
        ways = Advice("encoding", f"{wide}-le"), Advice("encoding", f"{wide}-be")
        raise UnreadableFile(
            f"{name} does not begin with the mark of {wide}; name the order of its bytes: "
            f"{ways[0]} or {ways[1]}",
            *ways,
        )


def _wide_encoding(sample: bytes, name: str) -> str:
    """Return UTF-16 without a mark, whose every second byte is mostly zero, or refuse."""
    half = max(len(sample) // 2, 1)
    if sample[1::2].count(0) > 0.7 * half and sample[::2].count(0) < 0.1 * half:
        return "utf-16-le"
    if sample[::2].count(0) > 0.7 * half and sample[1::2].count(0) < 0.1 * half:
        return "utf-16-be"
    raise has_nul(name, f"byte {sample.index(bytes(1))}")


ENCODING = Advice("encoding")


def has_nul(name: str, place: str) -> UnreadableFile:
    """Return the refusal of a file with NUL bytes."""
    return UnreadableFile(
        f"{name} has a NUL byte at {place}: it is damaged or not a text. If it is, name its "
        f"encoding with {ENCODING}",
        ENCODING,
    )


def sniff_dialect(
    text: str,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    skip: int | None = None,
    encoding: str = "utf-8",
) -> Dialect:
    r"""Return the dialect of the beginning of a text; what is given is not guessed.

    >>> dialect = sniff_dialect("name;height\nAda;1,65\nAlan;1,80\n")
    >>> dialect.delimiter, dialect.decimal, dialect.has_header
    (';', ',', True)
    >>> sniff_dialect("Heights of 1952\n\nname;height\nAda;1,65\nAlan;1,80\n").skip
    2
    """
    delimiter = delimiter or _delimiter(below(text, skip or 0))
    skip = lines_above(text, delimiter) if skip is None else skip
    rows = records(below(text, skip), delimiter)
    if decimal is None:
        decimal = _decimal(rows) if delimiter != "," else "."
    if header is None:
        header = has_header(rows, decimal)
    return Dialect(encoding, delimiter, decimal, header, skip)


def below(text: str, skip: int) -> str:
    """Return a text without its first lines, cut where the csv module cuts them."""
    return "".join(islice(io.StringIO(text, newline=""), skip, None)) if skip else text


def records(text: str, delimiter: str) -> list[list[str]]:
    """Return the first records of a text that ends with a whole line."""
    return list(islice((row for _, row in _placed(text, delimiter) if row), RECORDS))


def _placed(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first records, each with the number of lines above it."""
    lines = islice(io.StringIO(text, newline=""), 4 * RECORDS)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ")
    begun = 0
    with suppress(csv.Error):  # reading the whole file will say what is wrong
        for row in reader:
            yield begun, row
            begun = reader.line_num


def lines_above(text: str, delimiter: str) -> int:
    r"""Return how many lines stand above a table: a title, comments, empty lines.

    >>> lines_above("Heights\nof 1952,,\n\nname,sex,height\nAda,f,1.65\nAlan,m,1.8\n", ",")
    3
    """
    placed = list(islice(_placed(text, delimiter), RECORDS))
    count = titles([row for _, row in placed])
    return placed[count][0] if count else 0


def titles(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first rows are no part of the table that most rows are."""
    widths = Counter(len(row) for row in rows if row)
    width = max(widths, key=lambda w: (widths[w], w), default=0)
    if width < 2:
        return 0
    count = 0
    while count < len(rows) and _is_title(rows[count:], width):
        count += 1
    left = [row for row in rows[count:] if row]
    return count if 2 * sum(len(row) == width for row in left) >= max(len(left), 1) else 0


def _is_title(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether the first row is above the table: too short, or with a single text in it."""
    row, rest = rows[0], [row for row in rows[1:] if len(row) == width]
    words = {cell.strip() for cell in row} - {""}
    if not words:
        return True
    if len(row) < width - 1 or (len(row) != width and row[0].startswith("#")):
        return True
    if len(row) == width - 1:  # as R writes a header above row names, or a title above a header
        return bool(rest) and _names_numbers(rest[0], rest[1:])
    if len(words) > 1 or any(is_number(word) for word in words):
        return False
    return width > 2 or (bool(rest) and _names_numbers(rest[0], rest[1:]))


def _names_numbers(row: Sequence[str], rest: Sequence[Sequence[str]], decimals: str = ".,") -> bool:
    """Return whether a row has a name above a column of numbers, in one of the notations."""
    columns = [[other[j] for other in rest if j < len(other)] for j in range(len(row))]
    return any(
        not is_number(cell, mark) and cell.strip() not in MISSING_WORDS and _is_numeric(cells, mark)
        for mark in decimals
        for cell, cells in zip(row, columns, strict=True)
    )


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return whether a cell is a number in the notation of the file."""
    if decimal == ",":
        cell = "x" if "." in cell else cell.replace(",", ".")
    return NUMBER.fullmatch(cell) is not None


def _delimiter(text: str) -> str:
    """Return the first delimiter that cuts all records alike, else the one that cuts most so."""
    best, best_score = ",", 0.0
    for candidate in DELIMITERS:
        widths = Counter(len(row) for row in records(text, candidate))
        if not widths:
            continue
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
        share = count / widths.total()
        if width > 1 and share > best_score + 1e-9:
            best, best_score = candidate, share
    return best


def _decimal(rows: Sequence[Sequence[str]]) -> str:
    cells = [cell.strip() for row in rows for cell in row]
    with_comma = sum(DECIMAL_COMMA.fullmatch(cell) is not None for cell in cells)
    with_point = sum("." in cell and is_number(cell) for cell in cells)
    return "," if with_comma > with_point else "."


def has_header(rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """Return whether the first row names the columns: it is no row like the others."""
    if not rows:
        return False
    first, rest = rows[0], rows[1:]
    numeric = [is_number(cell, decimal) for cell in first]
    if not rest:
        return not any(numeric)
    if has_row_names(rows) or _names_numbers(first, rest, decimal):
        return True
    columns = [[row[j] for row in rest if j < len(row)] for j in range(len(first))]
    is_corner_empty = not first[0].strip()
    if is_corner_empty and not _is_numeric(columns[0], decimal):
        return True  # the empty corner above row names
    if is_corner_empty and _are_equal(columns[0], first[1:]):
        return True  # the same labels on both sides, which may be numbers
    if any(numeric):  # a run such as the years, which may stand behind words
        counted = [j for j, is_one in enumerate(numeric) if is_one]
        below = [[row[j] for j in counted if j < len(row)] for row in rest]
        if not _counts_columns([first[j] for j in counted], below, decimal):
            return False
    return len(set(first)) == len(first) and not any(
        cell in cells
        for cell, cells, is_one in zip(first, columns, numeric, strict=True)
        if not is_one
    )


def _counts_columns(first: Sequence[str], rest: Sequence[Sequence[str]], decimal: str) -> bool:
    """Return whether a row counts columns, by years or from 1, above numbers that are not whole.

    >>> below = [["1.5", "2.25", "0.5"], ["3.0", "1.75", "8.1"]]
    >>> _counts_columns(["2001", "2002", "2003"], below, ".")
    True
    >>> _counts_columns(["1", "5", "2"], below, ".")
    False
    """
    if len(first) < 3 or not all(cell.strip().isdecimal() for cell in first):
        return False
    numbers = [int(cell) for cell in first]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return False
    cells = [cell for row in rest for cell in row if cell.strip() not in MISSING_WORDS]
    return bool(cells) and 2 * sum(decimal in cell for cell in cells) > len(cells)


def _are_equal(labels: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether labels, of which only the first may be known, are equal to names."""
    known = [label.strip() for label in labels]
    return len(known) > 1 and known == [name.strip() for name in names[: len(known)]]


def has_row_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether every row has one cell more than the first, as R writes row names."""
    return len(rows) > 1 and all(len(row) == len(rows[0]) + 1 for row in rows[1:])


def _is_numeric(cells: Sequence[str], decimal: str) -> bool:
    present = [cell for cell in cells if cell.strip() not in MISSING_WORDS]
    return bool(present) and all(is_number(cell, decimal) for cell in present)
