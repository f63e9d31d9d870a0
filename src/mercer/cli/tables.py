"""Results as text: aligned columns for people, CSV and JSON for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, isnan
from pathlib import Path
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.cli.parser import Misused
from mercer.cli.talk import printable
from mercer.store import write_whole

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula, which it would run."""


def aligned(columns: Mapping[str, Sequence[str]]) -> str:
    """Return columns of text under their names, to the right; the last to the left if it is prose.

    >>> print(aligned({"axis": ["1", "2"], "share": ["81 %", "7 %"]}))
    axis  share
       1   81 %
       2    7 %
    """
    texts = [[printable(cell) for cell in (name, *cells)] for name, cells in columns.items()]
    widths = [max(map(len, column)) for column in texts]
    is_prose = [any(len(cell) > 24 for cell in column) for column in texts]
    rows = zip(*texts, strict=True)
    return "\n".join(
        "  ".join(
            cell.ljust(width) if prose else cell.rjust(width)
            for cell, width, prose in zip(row, widths, is_prose, strict=True)
        ).rstrip()
        for row in rows
    )


def csv_bytes(columns: Mapping[str, Sequence[Any] | Array], *, is_raw: bool = False) -> bytes:
    """Return columns as CSV; numbers keep all digits, names that look like formulas get a quote.

    >>> csv_bytes({"name": ["=1+1", "Ada"], "x": [0.1, -2.0]}).decode().splitlines()
    ['name,x', "'=1+1,0.1", 'Ada,-2.0']
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_cell(name, is_raw) for name in columns])
    lists = [
        values.tolist() if isinstance(values, np.ndarray) else values for values in columns.values()
    ]
    writer.writerows([_cell(v, is_raw) for v in row] for row in zip(*lists, strict=True))
    return file.getvalue().encode()


def _cell(value: Any, is_raw: bool) -> Any:
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, str) and not is_raw and value.startswith(FORMULA):
        return f"'{value}"
    return repr(value) if isinstance(value, float) else value


def as_json(value: Any) -> str:
    """Return one JSON object; a number that JSON has not is null.

    >>> as_json({"a": np.array([1.0, np.nan]), "b": np.int64(2)})
    '{"a": [1.0, null], "b": 2}'
    """
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """Return a value as JSON knows values."""
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, Mapping):
        return {str(key): plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value if isinstance(value, str | int | None) else str(value)


def refuse_existing(paths: Iterable[str | None], *, is_forced: bool) -> None:
    """Refuse to overwrite, before anything was computed."""
    for path in paths:
        if path and path != "-" and not is_forced and Path(path).exists():
            raise Misused(f"{path} exists; give another name, or --force to overwrite it")


def write(path: str, content: bytes) -> None:
    """Write a file, whole or not at all."""
    write_whole(path, [content])


def percent(share: float) -> str:
    """Return a share with three digits.

    >>> percent(0.327), percent(1.0)
    ('32.7 %', '100 %')
    """
    return f"{100 * share:.3g} %"
