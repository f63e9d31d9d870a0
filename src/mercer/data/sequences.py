"""Points that are lines of text: strings, sets of words, and sequences in FASTA."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from mercer.data.assembly import number_names
from mercer.data.dialect import (
    ENCODING,
    SAMPLE,
    encoding_of,
    has_nul,
    is_number,
    refuse_unmarked,
)
from mercer.data.raw_files import BLOCK, LONGEST_LINE, Limits, open_bytes, refuse_bomb
from mercer.data.table import LABEL, Role, Table, quote_names
from mercer.display import Shown, warn
from mercer.errors import DataWarning, TooLarge, UnreadableFile

SET = 216
"""Bytes that a set takes in memory, beside its words."""


def lines_of(path: Path, limits: Limits, encoding: str | None = None) -> Iterator[list[str]]:
    """Yield the lines of a text file without their ends, some at a time, of any encoding."""
    with open_bytes(path, limits) as file:
        sample = file.read(SAMPLE)
    guessed = encoding or encoding_of(sample, path.name)
    refuse_unmarked(sample, guessed, path.name)
    refuse_bomb(path, limits)
    with open_bytes(path, limits) as file, io.TextIOWrapper(file, encoding=guessed) as text:
        number, left = 0, ""
        try:
            while block := text.read(BLOCK):
                *lines, left = (left + block).split("\n")
                if max(map(len, lines), default=0) >= LONGEST_LINE or len(left) >= LONGEST_LINE:
                    raise TooLarge(f"{path.name}, line {number + 1} or later is too long")
                if "\0" in block:
                    every = [*lines, left]
                    place = number + 1 + next(i for i, line in enumerate(every) if "\0" in line)
                    raise has_nul(path.name, f"line {place}")
                number += len(lines)
                yield lines
        except UnicodeError as error:
            raise UnreadableFile(
                f"{path.name}, after line {number}: {error}; name the encoding with {ENCODING}",
                ENCODING,
            ) from error
    if left:
        yield [left]


def read_strings(path: Path, limits: Limits, encoding: str | None = None) -> tuple[str, ...]:
    """Return one string for each line; an empty line is the empty string."""
    found: list[str] = []
    used = 0
    for lines in lines_of(path, limits, encoding):
        used += LABEL * len(lines) + sum(map(len, lines))
        limits.check(used, None, f"the lines of {path.name}")
        found += lines
    if not found:
        raise UnreadableFile(f"{path.name} has no lines")
    return tuple(found)


def read_sets(
    path: Path, limits: Limits, encoding: str | None = None, delimiter: str | None = None
) -> tuple[frozenset[str], ...]:
    """Return one set of words for each line; an empty line is the empty set."""
    cut = re.compile(r"[\s,;]+" if delimiter is None else re.escape(delimiter))
    found: list[frozenset[str]] = []
    used = 0
    for lines in lines_of(path, limits, encoding):
        used += SET * len(lines)
        limits.check(used, None, f"the sets of {path.name}")
        for line in lines:
            words = frozenset(word.strip() for word in cut.split(line) if word.strip())
            used += 2 * LABEL * len(words) + len(line)
            found.append(words)
        limits.check(used, None, f"the sets of {path.name}")
    if not found:
        raise UnreadableFile(f"{path.name} has no lines")
    return tuple(found)


@dataclass(frozen=True, slots=True, repr=False)
class Sequences(Shown):
    """Named sequences of letters, such as DNA or proteins: points for kernels on strings.

    ``about`` is a table of what their titles say of them beside their names, such as
    ``organism=fly``, nothing of which makes points; None where they say nothing of the kind.

    >>> pair = Sequences(("ACGT", "AC"), ("one", "two"))
    >>> pair, pair[1], pair[:1].row_names
    (Sequences(2 sequences of 2 to 4 letters), 'AC', ('one',))
    """

    facts: ClassVar[Mapping[str, str]] = {}

    letters: tuple[str, ...]
    row_names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    about: Table | None = None

    def __len__(self) -> int:
        return len(self.letters)

    def __getitem__(self, index: Any, /) -> Any:
        if isinstance(index, slice):
            about = None if self.about is None else self.about[index]
            return Sequences(self.letters[index], self.row_names[index], self.notes, about)
        return self.letters[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self.letters)

    @property
    def lengths(self) -> tuple[int, int]:
        """The lengths of the shortest and the longest sequence."""
        found = [len(sequence) for sequence in self.letters]
        return min(found), max(found)

    def _title(self) -> str:
        low, high = self.lengths
        length = f"{low} to {high}" if low < high else f"{low}"
        return f"Sequences({len(self)} sequences of {length} letters)"


def read_fasta(path: Path, limits: Limits, encoding: str | None = None) -> Sequences:
    """Return the sequences of a file in capitals, without white space and the stop at their end.

    A record is named by its first word, by its whole line where first words repeat; what its line
    says as ``key=value`` or ``[key=value]`` are columns about it. Records without letters are left
    out, and a warning names them.
    """
    titles: list[str] = []
    parts: list[list[str]] = []
    used = number = 0
    for lines in lines_of(path, limits, encoding):
        for number, line in enumerate(lines, number + 1):  # noqa: B020  (counts on)
            text = line.strip()
            if text.startswith(">"):
                titles.append(text[1:].strip())
                parts.append([])
            elif text and not text.startswith(";"):
                if not parts:
                    raise UnreadableFile(
                        f"{path.name}, line {number}: {text[:40]!r} stands before the first "
                        "record, which begins with > and its name"
                    )
                parts[-1].append("".join(text.split()).upper())
            used += LABEL + len(line)
        limits.check(used, None, f"the sequences of {path.name}")
    letters = ["".join(part).removesuffix("*") for part in parts]
    return _named(titles, letters, path.name)


def _named(titles: Sequence[str], letters: Sequence[str], file: str) -> Sequences:
    if not any(letters):
        raise UnreadableFile(f"{file} has no record with letters below its name")
    notes = []
    empty = [title or "(no name)" for title, text in zip(titles, letters, strict=True) if not text]
    if empty:
        notes.append(f"{len(empty)} records without letters left out")
        warn(f"{file}: {notes[0]}: {quote_names(empty)}", DataWarning)
    kept = [(title, text) for title, text in zip(titles, letters, strict=True) if text]
    words = [(title.split() or [""])[0] for title, _ in kept]
    are_unique = len(set(words)) == len(words)
    given = words if are_unique else [title for title, _ in kept]
    filled = [name or f"record {i + 1}" for i, name in enumerate(given)]
    names, twice = number_names(filled)
    if twice:
        notes.append(f"records of equal name were numbered: {quote_names(twice)}")
        warn(f"{file}: {notes[-1]}", DataWarning)
    about = attributes([title for title, _ in kept], names)
    if about is not None:
        notes.append(f"what titles say of records: {quote_names(about.names)}")
    elif any(" " in title for title, _ in kept) and are_unique:
        notes.append("what follows the names of records is not used: it holds no key=value")
    return Sequences(tuple(text for _, text in kept), tuple(names), tuple(notes), about)


BRACKETED = re.compile(r"\[\s*([\w.-]+)\s*=([^][]*)\]")
"""An attribute as databases of nucleotides write it: [organism=Homo sapiens]."""

BARE = re.compile(r"(?:^|\s)([A-Za-z][\w.-]*)=(.*?)(?=\s+[A-Za-z][\w.-]*=|\s*[;|]|$)")
"""An attribute up to the next one, as those of proteins: OS=Homo sapiens OX=9606."""

LONGEST_TITLE = 2**16
"""Characters of a title in which attributes are looked for."""

MOST_ATTRIBUTES = 100
"""Attributes that become columns, the first ones."""


def attributes(titles: Sequence[str], names: Sequence[str]) -> Table | None:
    """Return what the titles of records say of them as a table: numbers and factors.

    Text that is different for each record, or the same for all, groups none, and stays text.

    >>> titles = ["a organism=fly len=8", "b organism=fly len=9", "c organism=yeast len=9"]
    >>> attributes(titles, ["a", "b", "c"])
    Table(3 individuals; 1 supplementary number ("len"); 1 factor ("organism"))
    >>> attributes(["a a protein", "b another"], ["a", "b"])
    """
    rows = [_attributes(title) for title in titles]
    keys = list(dict.fromkeys(key for row in rows for key in row))[:MOST_ATTRIBUTES]
    columns: dict[str, Any] = {}
    roles: dict[str, Role] = {}
    for key in keys:
        values = [row.get(key) for row in rows]
        known = [value for value in values if value is not None]
        if all(is_number(value) and isfinite(float(value)) for value in known):
            columns[key] = np.array([np.nan if v is None else float(v) for v in values])
            continue
        columns[key] = values
        groups = len(set(values)) > 1 and len(set(known)) < len(known)
        roles[key] = Role.FACTOR if groups else Role.TEXT
    if not columns:
        return None
    numbers = [key for key in columns if key not in roles]
    return Table.of(columns, roles=roles, row_names=names, supplementary=numbers)


def _attributes(title: str) -> dict[str, str]:
    """Return the attributes in a title; of a very long one the last that is seen may be cut.

    >>> _attributes("P1 tumour antigen OS=Homo sapiens OX=9606")
    {'OS': 'Homo sapiens', 'OX': '9606'}
    >>> _attributes("x [organism=Mus musculus] [strain=B6]")
    {'organism': 'Mus musculus', 'strain': 'B6'}
    """
    seen = " ".join(title[:LONGEST_TITLE].split())  # a run of spaces would be tried from each
    pairs = BRACKETED.findall(seen) or BARE.findall(seen)
    if len(title) > LONGEST_TITLE:
        pairs = pairs[:-1]
    return {key: value.strip() for key, value in pairs if value.strip()}
