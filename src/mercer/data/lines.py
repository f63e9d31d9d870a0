"""Points that are not rows of numbers: one string, or one set of words, on each line."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

from mercer.check import TooLarge, UnreadableFile
from mercer.data.dialect import SAMPLE, encoding_of, nul_message
from mercer.data.source import LONGEST_LINE, Limits, opened


def lines_of(path: Path, limits: Limits, encoding: str | None = None) -> Iterator[str]:
    """Yield the lines of a text file without their ends, of any encoding."""
    with opened(path, limits) as file:
        guessed = encoding or encoding_of(file.read(SAMPLE), path.name)
    with opened(path, limits) as file, io.TextIOWrapper(file, encoding=guessed) as text:
        number = 0
        try:
            while line := text.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE:
                    raise TooLarge(f"{path.name}, line {number} is longer than {LONGEST_LINE:,}")
                if "\0" in line:
                    raise UnreadableFile(nul_message(path.name, f"line {number}"))
                yield line.rstrip("\n")
        except UnicodeDecodeError as error:
            raise UnreadableFile(
                f"{path.name}, after line {number}: {error}; name the encoding with encoding="
            ) from error


def read_strings(path: Path, limits: Limits, encoding: str | None = None) -> tuple[str, ...]:
    """Return one string for each line; an empty line is the empty string."""
    lines = tuple(lines_of(path, limits, encoding))
    if not lines:
        raise UnreadableFile(f"{path.name} has no lines")
    return lines


def read_sets(
    path: Path, limits: Limits, encoding: str | None = None, delimiter: str | None = None
) -> tuple[frozenset[str], ...]:
    """Return one set of words for each line; an empty line is the empty set."""
    cut = re.compile(r"[\s,;]+" if delimiter is None else re.escape(delimiter))
    return tuple(
        frozenset(word.strip() for word in cut.split(line) if word.strip())
        for line in read_strings(path, limits, encoding)
    )
