"""What is explored: a table, a matrix of pairs, sequences or networks, from files or dropped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mercer.data import read
from mercer.data.assembly import number_names, transpose_table, with_roles
from mercer.data.graphs import GRAPHS, Edges
from mercer.data.matrices import SquareMatrix
from mercer.data.sequences import Sequences
from mercer.data.table import Column, Role, Table
from mercer.datasets.examples import NETWORKS, example, is_example, networks_folder
from mercer.errors import InvalidInput, InvalidParameter, MercerError, TooLarge, UnreadableFile
from mercer.explorer.limits import Limits
from mercer.explorer.networks import Networks, networks_of
from mercer.explorer.sessions import quiet
from mercer.explorer.state import State, usual_uses
from mercer.page.safe_text import clean
from mercer.progress import Progress

Data = Table | SquareMatrix | Sequences | Networks

SUFFIXES = (
    *(".csv.gz", ".tsv.gz", ".txt.gz", ".csv", ".tsv", ".txt", ".npy", ".npz", ".parquet"),
    *(".feather", ".arrow", ".xlsx", ".xls", ".ods", ".h5ad", ".fasta", ".fa", ".fasta.gz"),
    *(".graphml", ".edges", ".edgelist", ".graphml.gz", ".edges.gz", ".edgelist.gz"),
)
"""How names of files may end; of others nothing is kept."""


@dataclass(frozen=True, eq=False)
class Source:
    """The data that a visitor explores, with the name of its file and the code that reads it.

    ``path`` is where a command finds it, where that is not the name.
    """

    data: Data
    name: str
    code: str
    path: str = ""

    @cached_property
    def usual(self) -> dict[str, str]:
        """What columns are used for where nothing is asked."""
        return usual_uses(self.data) if isinstance(self.data, Table) else {}

    @property
    def kind(self) -> str:
        """What the data are, in a word."""
        if isinstance(self.data, SquareMatrix):
            return "distances" if self.data.is_distance else "similarities"
        return type(self.data).__name__.lower()

    def read_as(self, state: State) -> Source:
        """Return the data as a state reads them: numbers as labels, or columns as individuals.

        >>> table = Table.of({"s1": [1.0, 2.0, 1.0], "s2": [3.0, 4.0, 3.0]})
        >>> Source(table, "x", "").read_as(State(factors=["s1"])).data.column("s1").levels
        ('1', '2')
        >>> Source(table, "x", "").read_as(State(transposed=True)).data.row_names
        ('s1', 's2')
        """
        is_transposed, factors = state.reading
        table = self.data
        if not isinstance(table, Table) or not (is_transposed or factors):
            return self
        if is_transposed:
            if len(table) > Limits.transposed_rows:
                raise TooLarge(
                    f"the columns of at most {Limits.transposed_rows:,} rows are mapped on a page, "
                    f"and there are {len(table):,}"
                )
            return replace(self, data=transpose_table(table))
        for name in factors:
            _refuse_measurements(table, name)
        return replace(self, data=with_roles(table, dict.fromkeys(factors, Role.FACTOR)))

    def straight(self, state: State) -> State:
        """Return what of a state decides the straight map, or the only one."""
        return state.straight if isinstance(self.data, Table | SquareMatrix) else state.whole

    @property
    def bytes(self) -> int:
        """About how much memory the data take."""
        if isinstance(self.data, SquareMatrix):
            return 8 * len(self.data) ** 2
        if isinstance(self.data, Sequences):
            return sum(map(len, self.data.letters))
        if isinstance(self.data, Networks):
            return self.data.bytes
        return int(self.data.numbers.nbytes) + 64 * len(self.data) * len(self.data.labels)


def _refuse_measurements(table: Table, name: str) -> None:
    """Refuse to read a column as labels that has as many values as measurements have."""
    if name not in table.names:
        raise InvalidParameter(f"the table has no column {name!r:.80}")
    count = len(np.unique(table.column(name).values)) if name not in table.labels else 0
    if count > Limits.labels:
        raise InvalidInput(
            f"“{clean(name)}” has {count:,} different values, too many to be labels of groups: at "
            f"most {Limits.labels} are read so"
        )


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


def source_of_files(files: Sequence[tuple[str, bytes]], tell: Progress) -> Source:
    """Return the networks of several files that a visitor has dropped, kept only while read."""
    with TemporaryDirectory(prefix="mercer-") as place, quiet():
        folder = Path(place)
        named: dict[Path, str] = {}
        for k, (name, body) in enumerate(files):
            tell(k, len(files))
            suffix = next((s for s in reversed(SUFFIXES) if name.lower().endswith(s)), "")
            stem = re.sub(r"[^\w.-]+", "-", name[: len(name) - len(suffix)]).strip(".-") or "graph"
            path = folder / f"{k:05d}{suffix}"  # the name that was given is no path
            path.write_bytes(body)
            named[path] = stem
        try:
            data = networks_of(folder)
        except MercerError as error:
            said = str(error)
            for path, stem in named.items():
                said = said.replace(path.name, stem)
            raise UnreadableFile(said.replace(str(folder), "what was dropped")) from error
    stems = [stem for path, stem in named.items() if path.name.removesuffix(".gz").endswith(GRAPHS)]
    names, _ = number_names(stems)
    return source(replace(data, row_names=tuple(names)), "networks", "", "folder")


def source(data: Any, name: str, code: str, path: str = "") -> Source:
    """Return data as what is explored, or refuse what is neither a table nor a matrix of pairs."""
    if isinstance(data, Edges):
        raise InvalidInput(
            f"{name} holds one network, and networks are compared: drop several files at once, or "
            "name a folder of them"
        )
    if not isinstance(data, Table | SquareMatrix | Sequences | Networks):
        raise InvalidInput(
            f"{name} holds {type(data).__name__.lower()}, and the explorer shows tables, matrices "
            "of pairs, sequences and networks"
        )
    if isinstance(data, Table) and len(data) * len(data.names) > Limits.cells:
        raise TooLarge(f"{name} has more than {Limits.cells:,} cells")
    found = Source(data, name, code, path)
    with quiet():
        _ = found.usual  # found here, where nobody else waits for it
    return found


def of_file(path: str) -> Source:
    """Return the data of a file of this machine, or of an example where there is no such file.

    Missing values are asked about on the page.
    """
    if is_example(path):
        return of_example(path)
    if path in NETWORKS and not Path(path).exists():
        return of_example(path)
    with quiet():
        if Path(path).is_dir():
            return source(networks_of(Path(path)), Path(path).resolve().name, "", path)
        data = read(path, missing="keep")
    return source(data, Path(path).name, f"mc.read({path!r})", path)


def of_example(name: str) -> Source:
    """Return an example of the library, which commands know by its name."""
    if name in NETWORKS:
        return source(networks_of(networks_folder(name)), name, f"mc.datasets.{name}()")
    return source(example(name), name, f"mc.datasets.{name}()")


def columns_of(found: Source) -> list[dict[str, Any]]:
    """Return the columns of a table as an analysis uses them where nothing else is asked."""
    data = found.data
    if not isinstance(data, Table):
        return []
    colour = None if data.colour is None else data.colour.name
    columns = []
    for column in data.columns():
        use = found.usual.get(column.name, "ignored")
        use = "colour" if column.name == colour and use == "supplementary" else use
        columns.append({"name": column.name, "use": use, "why": "", **holds(column)})
    return columns


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
