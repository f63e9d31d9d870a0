"""Files of nothing but numbers, read by whole blocks: the fast half of reading text."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mercer.check import Array
from mercer.data.dialect import DELIMITERS, Dialect
from mercer.data.raw_files import BLOCK, LONGEST_LINE, Limits, open_bytes

ARROW_PAYS = 2**24
"""Bytes of numbers that take longer to read than Arrow takes to load."""

OTHERS = {mark: bytes({*range(256)} - {*mark, *b"\n"}) for mark in (d.encode() for d in DELIMITERS)}
"""What is left out of a block to see how its cells and lines end."""


def numbers_only(path: Path, limits: Limits, dialect: Dialect, width: int) -> Array | None:
    """Return a matrix of a file that holds nothing but numbers, or None if it does not."""
    rows = 1
    with open_bytes(path, limits) as file:
        for block in _blocks(file):
            if b"\0" in block:
                return None
            rows += block.count(b"\n")
    above = dialect.skip + dialect.has_header
    limits.check(8 * rows * width, None, f"the table in {path.name}")
    is_large = 8 * rows * width > ARROW_PAYS
    matrix = np.empty((rows, width))
    filled = 0
    with open_bytes(path, limits) as file:
        if above:
            for _ in range(above):
                file.readline()
        elif dialect.encoding == "utf-8-sig":
            file.read(3)
        for lines in _whole_lines(file):
            numbers = None if lines is None else _numbers(lines, width, dialect, is_large)
            if numbers is None:
                return None
            matrix[filled : filled + len(numbers)] = numbers
            filled += len(numbers)
    return matrix[:filled] if filled else None


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(BLOCK), b"")


def _whole_lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield blocks that end with a line end, and None for a line that has no end in sight."""
    left = b""
    for block in _blocks(file):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield left + block[:cut]
            left = block[cut:]
        else:
            left += block
            if len(left) > LONGEST_LINE:
                yield None
                return
    if left.strip():
        yield left + b"\n"


def _numbers(block: bytes, width: int, dialect: Dialect, is_large: bool) -> Array | None:
    """Return the rows of a clean block of numbers: as many in each row, and nothing else."""
    if b'"' in block or (dialect.decimal == "," and b"." in block):
        return None
    arrow = _arrow() if is_large else None
    if arrow is not None:
        return _by_arrow(arrow, block, width, dialect)
    mark = dialect.delimiter.encode()
    ends = block.translate(None, OTHERS[mark])
    rows = len(ends) // width
    if ends != (mark * (width - 1) + b"\n") * rows:
        return None
    before, after = (mark + b"\n,", b",,.") if dialect.decimal == "," else (mark + b"\n", b",,")
    plain = block.translate(bytes.maketrans(before, after), b"\r")
    cells = rows * width
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how numpy says that it stopped early
        try:
            # One number more, which is only reached if the last cell was read to its end.
            values = np.fromstring(plain + b"0", sep=",", count=cells + 1)
        except (DeprecationWarning, ValueError):
            return None
    return values[:cells].reshape(rows, width) if len(values) == cells + 1 else None


@cache
def _arrow() -> Any:
    """Return Arrow's reader of text if it is installed: several times faster than numpy's."""
    try:
        import_module("pyarrow.csv")
    except ImportError:
        return None
    return import_module("pyarrow")


def _by_arrow(arrow: Any, block: bytes, width: int, dialect: Dialect) -> Array | None:
    """Return what `_numbers` returns: both round each number correctly."""
    names = [str(j) for j in range(width)]
    try:
        table = arrow.csv.read_csv(
            arrow.BufferReader(block),
            arrow.csv.ReadOptions(column_names=names, block_size=len(block) + 1),
            arrow.csv.ParseOptions(
                delimiter=dialect.delimiter, quote_char=False, ignore_empty_lines=False
            ),
            arrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, arrow.float64()),
                null_values=[],
                decimal_point=dialect.decimal,
            ),
        )
    except arrow.ArrowException:
        return None
    return np.column_stack([column.to_numpy() for column in table.columns])
