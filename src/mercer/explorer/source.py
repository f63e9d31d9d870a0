"""What is explored: a table or a matrix of pairs, from a file of this machine or of a visitor."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mercer.data import read
from mercer.data.matrices import SquareMatrix
from mercer.data.table import Column, Role, Table
from mercer.errors import InvalidInput, MercerError, TooLarge, UnreadableFile
from mercer.progress import Progress

MOST_CELLS = 200_000_000
"""Cells of a table that is explored."""

SUFFIXES = (
    *(".csv.gz", ".tsv.gz", ".txt.gz", ".csv", ".tsv", ".txt", ".npy", ".npz", ".parquet"),
    *(".feather", ".arrow", ".xlsx", ".xls", ".ods", ".h5ad"),
)
"""How names of files may end; of others nothing is kept."""


@dataclass(frozen=True, eq=False)
class Source:
    """What a visitor explores: its data, the name of its file, and the code that reads it."""

    data: Table | SquareMatrix
    name: str
    code: str

    @property
    def bytes(self) -> int:
        """About how much memory the data take."""
        if isinstance(self.data, SquareMatrix):
            return 8 * len(self.data) ** 2
        return int(self.data.numbers.nbytes) + 64 * len(self.data) * len(self.data.labels)


class quiet(warnings.catch_warnings):  # noqa: N801  (reads as a word)
    """No warnings on the console of the server: what misleads is said on the page."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")


def source_of(body: bytes, name: str, tell: Progress) -> Source:
    """Return what a file holds that a visitor has brought, kept on disk only while it is read."""
    low = name.lower()
    suffix = next((s for s in SUFFIXES if low.endswith(s)), "")
    with TemporaryDirectory(prefix="mercer-") as folder, quiet():
        path = Path(folder, f"{token_hex(8)}{suffix}")
        path.write_bytes(body)
        try:
            data = read(path, missing="keep", progress=tell)
        except MercerError as error:
            said = str(error).replace(str(path), name).replace(path.name, name)
            kind = TooLarge if isinstance(error, TooLarge) else UnreadableFile
            raise kind(said) from error
    return source(data, name, f"mc.read({name!r})")


def source(data: Any, name: str, code: str) -> Source:
    """Return data as what is explored, or refuse what is neither a table nor a matrix of pairs."""
    if not isinstance(data, Table | SquareMatrix):
        raise InvalidInput(
            f"{name} holds {type(data).__name__.lower()}, and the explorer shows tables and "
            "matrices of pairs: `mercer report` makes the page of this file"
        )
    if isinstance(data, Table) and len(data) * len(data.names) > MOST_CELLS:
        raise TooLarge(f"{name} has more than {MOST_CELLS:,} cells")
    return Source(data, name, code)


def of_file(path: str) -> Source:
    """Return the data of a file of this machine; missing values are asked about on the page."""
    with quiet():
        data = read(path, missing="keep")
    return source(data, Path(path).name, f"mc.read({path!r})")


def columns_of(data: Table | SquareMatrix) -> list[dict[str, Any]]:
    """Return the columns of a table as a page lists them before any analysis is made."""
    if isinstance(data, SquareMatrix):
        return []
    return [{"name": c.name, "use": "ignored", "why": "", **holds(c)} for c in data.columns()]


def holds(column: Column) -> dict[str, Any]:
    """Return the kind of a column, and how many of its values are missing."""
    values = column.values
    if column.role is Role.NUMBER:
        missing = int(np.sum(~np.isfinite(values)))
    elif column.role is Role.DATE:
        missing = int(np.isnat(values).sum())
    else:
        missing = sum(v is None for v in values.tolist())
    return {"kind": column.role.value, "missing": missing}
