"""Points that are not rows of numbers: one string, or one set of words, on each line."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

from mercer.data.dialect import ENCODING, SAMPLE, encoding_of, has_nul, refuse_unmarked
from mercer.data.source import BLOCK, LONGEST_LINE, Limits, opened, refuse_bomb
from mercer.data.table import LABEL
from mercer.errors import TooLarge, UnreadableFile

SET = 216
"""Bytes that a set takes in memory, beside its words."""


def lines_of(path: Path, limits: Limits, encoding: str | None = None) -> Iterator[list[str]]:
    """Yield the lines of a text file without their ends, some at a time, of any encoding."""
    with opened(path, limits) as file:
        sample = file.read(SAMPLE)
    guessed = encoding or encoding_of(sample, path.name)
    refuse_unmarked(sample, guessed, path.name)
    refuse_bomb(path, limits)
    with opened(path, limits) as file, io.TextIOWrapper(file, encoding=guessed) as text:
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
