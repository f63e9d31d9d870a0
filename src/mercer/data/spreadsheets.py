"""Spreadsheets (.xlsx): the cells of one sheet as columns, each by the type of its cells.

A workbook is an archive of XML. Its parts are unfolded within the limits and the place of its last
cell is looked up before the library that reads it sees anything: one cell in the last row and the
last column would make it ask for a trillion bytes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data.arrays import IS_ENCRYPTED
from mercer.data.assembly import settle_none, with_words
from mercer.data.delimited import CODE, Cells, named_columns
from mercer.data.dialect import RECORDS, has_header, is_number, titles
from mercer.data.missing import MISSING_WORDS, NONE
from mercer.data.raw_files import Limits, in_one_line
from mercer.data.table import Role, as_labels, no_column
from mercer.display import warn
from mercer.errors import Advice, DataWarning, InvalidParameter, MercerError, UnreadableFile, extra

WORKBOOK = "xl/workbook.xml"
"""The part by which an archive is known to be a workbook."""

PART = re.compile(r"(?:\[Content_Types\]|_rels/|xl/).*\.(?:xml|rels)$", re.DOTALL | re.IGNORECASE)
"""Parts that say what cells hold; pictures, macros and comments are not even unfolded."""

ELEMENT = re.compile(
    rb"""<(?:\w+:)?(?:c|row)(\s[^<>"']*(?:(?:"[^"]*"|'[^']*')[^<>"']*)*)>"""
    rb"""(?:\s*<(?:\w+:)?v>([0-9]{1,9})</)?"""
)
"""A row or a cell that is not empty: what it says of itself, and the whole number it holds."""

PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]*)([0-9]+)["']""")
"""The place of a row or a cell, among what it says of itself."""

IS_SHARED = re.compile(rb"""\st\s*=\s*["']s["']""")
"""By which a cell says that its number is that of a shared text."""

SHARED = re.compile(rb"<(?:\w+:)?si\b")
"""Where a text begins that cells share: it is stored once, and read as often as a cell names it."""

CELL = 32
"""Bytes that a cell takes before it is part of a column."""

MOST_ROWS, MOST_COLUMNS = 2**20, 2**14
"""Rows and columns of a sheet, by the definition of the format."""

ERRORS = frozenset({"#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"})
"""What a formula leaves in a cell where it has no value."""

PANIC = "PanicException"
"""What the library raises where it gives up, which is no ordinary exception."""

SHEET, ALL = Advice("sheet"), Advice("skip", 0)

Row = list[Any]


def is_workbook(path: Path) -> bool:
    """Return whether a zip archive is a spreadsheet."""
    try:
        with zipfile.ZipFile(path) as archive:
            return WORKBOOK in archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def old_spreadsheet(path: Path) -> UnreadableFile:
    """Return the refusal of what Office wrote before 2007, and still writes with a password."""
    with path.open("rb") as file:
        is_locked = "EncryptedPackage".encode("utf-16-le") in file.read(2**20)
    if is_locked:
        return UnreadableFile(
            f"{path.name} is encrypted; open it with its password and save it without one"
        )
    return UnreadableFile(
        f"{path.name} is in the format of Office before 2007; save it as .xlsx or as CSV"
    )


def read_workbook(  # noqa: PLR0913  (what can be said of a sheet)
    path: Path,
    limits: Limits,
    *,
    sheet: str | int | None = None,
    header: bool | None = None,
    skip: int | None = None,
    na: Sequence[str] = (),
    roles: Mapping[str, Role] | None = None,
    takes_words: bool = False,
) -> Cells:
    """Return the columns of a sheet: the one that is named or counted from 1, or the only one."""
    library = extra("python_calamine", "io", "reading spreadsheets")
    unfolded = _unfolded(path, limits)
    try:
        with library.CalamineWorkbook.from_filelike(unfolded) as book:
            name = _sheet(book.sheet_names, sheet, path.name)
            page = book.get_sheet_by_name(name)
            rows = page.to_python(skip_empty_area=False)
            merged = page.merged_cell_ranges or []
    except MercerError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        raise UnreadableFile(
            f"{path.name} is a damaged or incomplete spreadsheet: {in_one_line(error)}"
        ) from error
    found = _Sheet(path.name, name, rows, merged)
    words = (MISSING_WORDS - {NONE}) | ERRORS | set(na)
    return _columns(found, header, skip, words, roles or {}, takes_words)


def _unfolded(path: Path, limits: Limits) -> io.BytesIO:
    """Return an archive of the parts of a workbook as they are, each as long as it says."""
    kept = io.BytesIO()
    try:
        with zipfile.ZipFile(path) as archive, zipfile.ZipFile(kept, "w") as copy:
            parts = [part for part in archive.infolist() if PART.match(part.filename)]
            packed = min(sum(part.compress_size for part in parts), path.stat().st_size)
            limits.check(sum(part.file_size for part in parts), packed, path.name)
            texts: list[Array] = []
            cells: list[Array] = []
            for part in parts:  # a sheet is what the workbook says is one, wherever it lies
                if part.flag_bits & IS_ENCRYPTED:
                    raise UnreadableFile(f"{path.name} is encrypted; save it without a password")
                content = archive.read(part)
                texts.append(_lengths(content))
                cells.append(_examined(content, limits, path.name))
                copy.writestr(part.filename, content)
            size = max((_said(of, by) for of in texts for by in cells), default=0)
            limits.check(size, None, f"the text of the cells in {path.name}")
    except MercerError:
        raise
    except Exception as error:  # each way of packing has its own errors
        raise UnreadableFile(
            f"{path.name} is a damaged or incomplete spreadsheet: {in_one_line(error)}"
        ) from error
    kept.seek(0)
    return kept


def _examined(content: bytes, limits: Limits, name: str) -> Array:
    """Refuse cells so far apart that the sheet between them does not fit.

    Returns which shared text each cell names, -1 where that is not plain to see.
    """
    last_row = last_column = 1
    shared: list[int] = []
    is_plain = b"<!" not in content
    for found in ELEMENT.finditer(content):
        about = found[1]
        if about.endswith(b"/"):
            continue  # an empty cell, which has a look and no value
        for letters, row in PLACE.findall(about):
            column = sum(26**k * (c - 64) for k, c in enumerate(reversed(letters.upper()[:4])))
            last_row, last_column = max(last_row, int(row[:8])), max(last_column, column)
        if IS_SHARED.search(about):
            shared.append(int(found[2]) if found[2] and is_plain else -1)
    if last_row > MOST_ROWS or last_column > MOST_COLUMNS:
        raise UnreadableFile(f"{name} has a cell outside of the {MOST_ROWS:,} rows a sheet has")
    limits.check(CELL * last_row * last_column, None, f"the sheet in {name}")
    return np.array(shared, np.int64)


def _lengths(content: bytes) -> Array:
    """Return the bytes of each shared text of a part with its markup, and behind them the most."""
    starts = [text.start() for text in SHARED.finditer(content)]
    found = np.diff([*starts, len(content)]) if starts else np.zeros(1, np.int64)
    if b"<!" in content:  # comments may hide some of them, and move the places of the others
        return np.array([len(content)])
    return np.append(found, found.max())


def _said(lengths: Array, places: Array) -> int:
    """Return the bytes of the texts that cells name, the longest where it is not known which."""
    known = np.where(places < len(lengths), places, -1)
    return int(lengths[known].sum())


def _sheet(names: Sequence[str], asked: str | int | None, file: str) -> str:
    if not names:
        raise UnreadableFile(f"{file} has no sheets")
    told = ", ".join(f'{i + 1} "{name:.80}"' for i, name in enumerate(names[:20]))
    if asked is None:
        if len(names) > 1:
            first = Advice("sheet", names[0])
            warn(
                f'{file} has {len(names)} sheets, of which "{names[0]:.80}" was read. {SHEET} '
                f"names another: {told}",
                DataWarning,
                *(first, SHEET),
            )
        return names[0]
    if isinstance(asked, str) and asked in names:
        return asked
    place = int(asked) if isinstance(asked, int) or asked.isdecimal() else 0
    if 1 <= place <= len(names):
        return names[place - 1]
    raise InvalidParameter(f"{file} has no sheet {asked!r:.80}; it has {told}")


class _Sheet:
    """The cells of a sheet as they are, with the rows and columns that hold any."""

    def __init__(self, file: str, name: str, rows: list[Row], merged: Sequence[Any]) -> None:
        self.file, self.name = file, name
        _spread(rows, merged)
        self.places = [i for i, row in enumerate(rows) if any(cell != "" for cell in row)]
        width = max((len(row) for row in rows), default=0)
        self.letters = [j for j in range(width) if any(rows[i][j] != "" for i in self.places)]
        self.rows = [[rows[i][j] for j in self.letters] for i in self.places]
        if not self.rows:
            raise UnreadableFile(f'{file}, sheet "{name}" is empty')

    def cell(self, i: int, j: int) -> str:
        """Return where a cell is, as spreadsheets say it."""
        left, letters = self.letters[j] + 1, ""
        while left:
            left, digit = divmod(left - 1, 26)
            letters = chr(65 + digit) + letters
        return f'{self.file}, sheet "{self.name}", cell {letters}{self.places[i] + 1}'


def _spread(rows: list[Row], merged: Sequence[Any]) -> None:
    """Put the value of merged cells, which the first of them holds, into all of them."""
    left = sum(len(row) for row in rows)
    for (top, start), (bottom, stop) in merged:
        if top >= len(rows) or start >= len(rows[top]):
            continue
        value = rows[top][start]
        for row in rows[top : bottom + 1]:
            last = min(stop + 1, len(row))
            left -= last - start
            if left < 0:
                return  # more than there are cells: ranges that overlap, as no program writes them
            row[start:last] = [value] * (last - start)


def _left_out(sheet: _Sheet, above: int, first: int) -> Iterator[str]:
    """Yield which rows of a sheet are none of the table: those above it, and empty ones in it."""
    if above:
        titles_of = [next(text for text in map(_text, row) if text) for row in sheet.rows[:above]]
        quoted = ", ".join(f'"{title:.60}"' for title in titles_of[:QUOTED])
        yield f"{above} row{'s' if above > 1 else ''} above the table left out: {quoted}"
    empty = sheet.places[-1] + 1 - sheet.places[first] - len(sheet.places[first:])
    if empty:
        yield f"{empty} empty row{'s' if empty > 1 else ''} left out"


QUOTED = 3
"""Rows above a table that a note quotes."""


def _columns(
    sheet: _Sheet,
    header: bool | None,
    skip: int | None,
    missing: frozenset[str],
    roles: Mapping[str, Role],
    takes_words: bool,
) -> Cells:
    """Return the columns of a sheet under the names of its header."""
    texts = [[_text(cell) for cell in row] for row in sheet.rows[:RECORDS]]
    above = titles(texts) if skip is None else sum(i < skip for i in sheet.places)
    if above and skip is None:
        many = f"{above} rows above the table were" if above > 1 else "the row above the table was"
        title = next(text for text in texts[0] if text)
        warn(f'{sheet.file}: {many} left out: "{title:.60}"; {ALL} keeps them', DataWarning, ALL)
    texts = texts[above:]
    if not texts:
        raise UnreadableFile(f'{sheet.file}, sheet "{sheet.name}" has no rows below those left out')
    is_named = has_header(texts, ".") if header is None else header
    depth = _header_rows(texts) if is_named else 0
    first = above + depth
    if first == len(sheet.rows):
        raise UnreadableFile(f'{sheet.file}, sheet "{sheet.name}" has a header but no rows')
    head = [_joined(column) for column in zip(*texts[:depth], strict=True)]
    names, notes = named_columns(head or None, len(sheet.letters), sheet.file)
    notes = (*_left_out(sheet, above, first), *notes)
    unknown = [name for name in roles if name not in names]
    if unknown:
        raise UnreadableFile(f"{sheet.file}: {no_column(unknown, names)}")
    body = sheet.rows[first:]
    columns = []
    for j, name in enumerate(names):
        held = [_present(row[j], missing | {NONE}) for row in body]
        found = _column(held, roles.get(name), is_first=j == 0)
        if not isinstance(found, tuple) and found.dtype == object:
            said = [_present(row[j], missing) for row in body]
            found = settle_none(as_labels(said, _text)) if NONE not in missing else found
        if isinstance(found, tuple):
            numbers, words = found
            row = next(iter(words))
            place = f'{sheet.cell(first + row, j)} (column "{name}")'
            if not takes_words:
                raise _no_number(place, words[row])
            found, note = with_words(numbers, words, place, name, is_number=name in roles)
            notes += (note,)
        columns.append(found)
    return Cells(names, tuple(columns), (f'sheet "{sheet.name}"', *notes))


def _header_rows(texts: Sequence[Sequence[str]]) -> int:
    """Return 2 where names of groups, in merged cells, stand above names of columns, else 1."""
    if len(texts) < 3:
        return 1
    top, second = texts[0], texts[1]
    repeats = len(set(top)) < len(top)
    has_names = all(second[1:]) and not any(is_number(cell) for cell in second)
    return 2 if repeats and has_names and has_header(texts[1:], ".") else 1


def _joined(cells: Sequence[str]) -> str:
    """Return the name of a column below the name of its group."""
    return " ".join(dict.fromkeys(cell for cell in cells if cell))


def _text(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    return str(cell).strip()


def _present(cell: Any, missing: frozenset[str]) -> Any:
    return None if isinstance(cell, str) and cell.strip() in missing else cell


def _column(
    cells: Row, given: Role | None, *, is_first: bool
) -> Array | tuple[Array, dict[int, str]]:
    """Return numbers where most cells are, dates where all are, and labels elsewhere.

    Where cells of a column of numbers are none, they come beside it, by their rows.
    """
    present = [cell for cell in cells if cell is not None]
    if present and given in (None, Role.DATE) and all(isinstance(c, date) for c in present):
        return np.array([c and c.isoformat() or "NaT" for c in cells], "datetime64[us]")
    numbers = [np.nan if cell is None else _number(cell) for cell in cells]
    known = len(present) - numbers.count(None)
    if given is not Role.NUMBER and (given is not None or 2 * known < len(present) or not present):
        return as_labels(cells, _text)
    found = np.array(numbers, np.float64)
    if None in numbers:
        return found, {i: _text(cells[i]) for i, number in enumerate(numbers) if number is None}
    counts = is_first and given is None and bool(np.all(found % 1 == 0))
    return found.astype(np.int64) if counts else found


def _number(cell: Any) -> float | None:
    """Return a number, also one that was typed as text, None for what is none; time in hours."""
    if isinstance(cell, timedelta):
        return cell.total_seconds() / 3600.0
    if isinstance(cell, str):
        return float(cell) if is_number(cell) and not CODE.fullmatch(cell) else None
    return None if isinstance(cell, bool | date | time) else float(cell)


def _no_number(place: str, text: str) -> UnreadableFile:
    missing, factor = Advice("na", [text[:40]]), Advice("roles")
    return UnreadableFile(
        f"{place}: {text[:40]!r} is not a number. Declare it missing with "
        f"{missing}, or the column a factor with {factor}",
        *(missing, factor),
    )
