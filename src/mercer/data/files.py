"""One door for files and data frames of every kind, by contents first, by name second."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, cast, overload

import numpy as np

from mercer.check import Array, is_annotated, refuse_lazy
from mercer.data.annotated import columns_of_annotated, read_h5ad
from mercer.data.arrays import as_matrix, read_npy, read_npz
from mercer.data.arrow import UNNAMED, read_arrow, read_parquet
from mercer.data.assembly import (
    assemble_table,
    labels_from,
    of_numbers,
    propose_transpose,
    transpose_table,
    with_roles,
)
from mercer.data.delimited import read_delimited
from mercer.data.dialect import checked_encoding
from mercer.data.frames import frame_columns, frame_of, is_frame, is_series, only_counts
from mercer.data.graphs import (
    GRAPHS,
    Edges,
    as_edges,
    read_edges,
    read_graphml,
)
from mercer.data.matrices import SquareMatrix, as_square, looks_square
from mercer.data.missing import POINTS_ONLY, Missing, Policies, policies, settled
from mercer.data.raw_files import (
    MEMORY,
    RATIO,
    Limits,
    kind_of,
    looks_like_fasta,
    regular,
)
from mercer.data.sequences import Sequences, read_fasta, read_sets, read_strings
from mercer.data.spreadsheets import is_workbook, old_spreadsheet, read_workbook
from mercer.data.table import Role, Table
from mercer.errors import Advice, InvalidInput, InvalidParameter, UnreadableFile
from mercer.progress import Progress, follow_work
from mercer.settings import memory_bytes, number, whole

KINDS = ("auto", "table", "matrix", "graph", "fasta", "strings", "sets")

Read = Table | SquareMatrix | Edges | Sequences | tuple[str, ...] | tuple[frozenset[str], ...]


class Shape(NamedTuple):
    """Changes to a table once it is read, whatever it comes from."""

    what: str
    supplementary: Sequence[str]
    missing: Policies
    is_transposed: bool
    colour: str | None

    @property
    def changes(self) -> bool:
        """Whether anything is done to a table that is there already."""
        asked = self.supplementary or self.missing != POINTS_ONLY or self.colour is not None
        return bool(self.is_transposed or asked)


@overload
def read(source: Any, what: Literal["table"], **more: Any) -> Table: ...
@overload
def read(source: Any, what: Literal["matrix"], **more: Any) -> SquareMatrix: ...
@overload
def read(source: Any, what: Literal["graph"], **more: Any) -> Edges: ...
@overload
def read(source: Any, what: Literal["fasta"], **more: Any) -> Sequences: ...
@overload
def read(source: Any, what: Literal["strings"], **more: Any) -> tuple[str, ...]: ...
@overload
def read(source: Any, what: Literal["sets"], **more: Any) -> tuple[frozenset[str], ...]: ...
@overload
def read(source: Any, what: Literal["auto"] = "auto", **more: Any) -> Any: ...
def read(
    source: Any,
    what: str = "auto",
    *,
    roles: Mapping[str, Role | str] | None = None,
    supplementary: Iterable[str] | str = (),
    missing: Missing = "error",
    memory: int | str = MEMORY,
    ratio: float = RATIO,
    progress: bool | Progress | None = None,
    **written: Any,
) -> Read:
    r"""Read a file, a data frame or an annotated matrix.

    Parameters
    ----------
    source : path, data frame, AnnData, array or Table
        CSV or TSV, a spreadsheet (.xlsx), Parquet, Arrow, .npy, .npz, .h5ad, FASTA, GraphML or an
        edge list, plain or gzip; a frame or a series of pandas, polars or pyarrow, whose index
        names the rows. A file is known by its first bytes, not by its name.
    what : {"auto", "table", "matrix", "graph", "fasta", "strings", "sets"}
        ``"auto"`` makes a graph of a graph file and of columns named source and target, sequences
        of FASTA, a symmetric matrix of a square table whose rows and columns have equal names (one
        triangle is enough) and of distances without names, and a table of anything else.
    roles : mapping
        The roles of columns by name: number, factor, identifier, date, text. Others are guessed.
    supplementary : names
        Columns of numbers that are not part of the points.
    missing : {"error", "drop", "mean", "pca", "mode", "level", "keep"}, or a mapping
        What to do where a number or a category is missing: see `mercer.data.settled`. Of numbers
        and factors each its own: ``{"number": "mean", "factor": "level"}``.
    memory, ratio : numbers
        How many bytes a file may unfold to, such as ``"4GB"``, and how many for each byte on disk.
    progress : bool or function, optional
        True for a line on the standard error, or a function of the bytes read and the bytes there
        are, in each pass over a file of text. Binary files have no passes and take little time.
    **written
        How the file is written, where a guess would be wrong: ``delimiter``, ``decimal``,
        ``encoding``, ``header``, ``skip`` (lines above the header; titles are noticed), ``na``
        (more words for missing), ``sheet`` (of a spreadsheet, by name or counted from 1),
        ``transpose`` (individuals stand in columns), ``colour`` (the factor by which individuals
        are coloured, the first one otherwise), ``layer`` (of an .h5ad file), ``label`` (the
        attribute of the nodes of a GraphML file that is their label).

    Returns
    -------
    Table, SquareMatrix, Edges, Sequences, or a tuple of strings or sets
        Its ``notes`` tell what was guessed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     written = path.write_text("name;height\nAda;1,65\nAlan;1,80\n")
    ...     table = read(path)
    >>> table
    Table(2 individuals; 1 number ("height"); 1 identifier ("name"))
    >>> table.matrix().tolist(), table.notes[1:3]
    ([[1.65], [1.8]], ("delimiter ';'", 'decimal comma'))
    """
    if not isinstance(what, str) or what not in KINDS:
        raise InvalidParameter(f"what must be one of {', '.join(KINDS)}, found {what!r}")
    options = checked_options(written, are_sets=what == "sets")
    shape = Shape(
        what,
        words(supplementary, "supplementary"),
        policies(missing),
        bool(options.get("transpose")),
        options.get("colour"),
    )
    given = checked_roles(roles)
    with follow_work(progress, "bytes") as tell:
        limits = Limits(memory_bytes(memory) or MEMORY, number(ratio, "ratio", above=0.0), tell)
        return _read(source, given, shape, options, limits)


def _read(
    source: Any, given: Mapping[str, Role], shape: Shape, options: Options, limits: Limits
) -> Read:
    what = shape.what
    if isinstance(source, SquareMatrix | Sequences):
        return source
    if isinstance(source, Table) and not (given or shape.changes):
        return _table_or_matrix(source, what)
    if not isinstance(source, str | os.PathLike):
        return _shaped(_of_object(source, given, options, limits), shape)
    path = regular(source)
    encoding = options.get("encoding")
    if what == "strings":
        return read_strings(path, limits, encoding)
    if what == "sets":
        return read_sets(path, limits, encoding, options.get("delimiter"))
    stem = path.name.lower().removesuffix(".gz")
    if what == "graph" or (what == "auto" and stem.endswith(GRAPHS)):
        label = options.get("label")
        if stem.endswith(".graphml"):
            return read_graphml(path, limits, encoding, label)
        if label is not None:
            raise InvalidParameter(
                f"label names an attribute of nodes in GraphML, and {path.name} is a list of edges"
            )
        return read_edges(path, limits, encoding)
    is_text = what == "auto" and kind_of(path) in ("text", "gzip")
    if what == "fasta" or (is_text and looks_like_fasta(path, limits)):
        return read_fasta(path, limits, encoding)
    table = _of_file(path, given, options, limits, takes_words=shape.missing.number != "error")
    if options.get("transpose") is None:
        propose_transpose(table, path.name)
    return _shaped(table, shape)


def _shaped(table: Table, shape: Shape) -> Table | SquareMatrix | Edges:
    """Return what a table is, with its columns out of the points and its gaps treated as asked."""
    if shape.is_transposed:
        table = transpose_table(table)
    found = _table_or_matrix(table.with_supplementary(*shape.supplementary), shape.what)
    if not isinstance(found, Table):
        return found
    coloured = found if shape.colour is None else found.coloured_by(shape.colour)
    return settled(coloured, shape.missing)


def _table_or_matrix(table: Table, what: str) -> Table | SquareMatrix | Edges:
    if what == "auto" and looks_like_edges(table):
        return as_edges(table)
    if what == "matrix" or (what == "auto" and looks_square(table)):
        return as_square(table)
    return table


def _of_file(
    path: Path,
    roles: Mapping[str, Role],
    options: Options,
    limits: Limits,
    *,
    takes_words: bool,
) -> Table:
    kind = kind_of(path)
    if kind == "model":
        read_it = Advice("load", text="read it with mercer.load")
        raise UnreadableFile(f"{path.name} is a stored model: {read_it}", read_it)
    if kind == "npy":
        return of_numbers(as_matrix(read_npy(path, limits), path.name))
    if kind == "ole":
        raise old_spreadsheet(path)
    if kind == "zip" and is_workbook(path):
        asked: dict[str, Any] = {"roles": roles, "takes_words": takes_words}
        asked |= {k: v for k, v in options.items() if k in ("sheet", "header", "skip", "na")}
        cells = read_workbook(path, limits, **asked)
        return assemble_table(cells.names, list(cells.columns), roles=roles, notes=cells.notes)
    if options.get("sheet") is not None:
        raise InvalidParameter(f"sheet is for spreadsheets, and {path.name} is none")
    if kind == "zip":
        return _of_arrays(read_npz(path, limits), path.name)
    if kind == "hdf5":
        names, columns, rows = read_h5ad(path, options.get("layer", "X"), limits)
        return assemble_table(names, columns, roles=roles, row_names=rows)
    if kind in ("parquet", "arrow"):
        names, columns, index = (read_parquet if kind == "parquet" else read_arrow)(path, limits)
        return _of_frame_in_file(names, columns, index, roles)
    given: dict[str, Any] = {k: v for k, v in options.items() if k in DELIMITED}
    cells = read_delimited(path, limits, roles=roles, takes_words=takes_words, **given)
    if isinstance(cells.columns, np.ndarray):
        return of_numbers(cells.columns, cells.names, notes=cells.notes)
    return assemble_table(cells.names, cells.columns, roles=roles, notes=cells.notes)


def _of_frame_in_file(
    names: list[str], columns: list[Array], index: list[str], roles: Mapping[str, Role]
) -> Table:
    """Return the table of a data frame that was written with its index, as of one in memory.

    Numbers of an index name the rows: those without a name of their own, where no column does.
    """
    numbers = {
        name: values
        for name, values in zip(names, columns, strict=True)
        if name in index and name not in roles and values.dtype.kind in "iuf"
    }
    counts = [name for name in numbers if UNNAMED.fullmatch(name) and len(numbers) < len(names)]
    kept = {n: v for n, v in zip(names, columns, strict=True) if n not in counts}
    identifiers = dict.fromkeys((n for n in numbers if n in kept), Role.IDENTIFIER)
    table = assemble_table(list(kept), list(kept.values()), roles={**identifiers, **roles})
    if not counts:
        return table
    return replace(table, row_names=table.row_names or tuple(labels_from(numbers[counts[0]])))


def _of_arrays(arrays: Mapping[str, Array], name: str) -> Table:
    """Return the table of a .npz file: its one array, or columns of equal length by name."""
    if len(arrays) == 1:
        return of_numbers(as_matrix(next(iter(arrays.values())), name))
    if any(a.ndim != 1 for a in arrays.values()) or len({len(a) for a in arrays.values()}) > 1:
        shapes = {key: a.shape for key, a in arrays.items()}
        raise InvalidInput(f"{name} must hold one array, or columns of equal length; has {shapes}")
    return of_numbers(np.column_stack(list(arrays.values())), tuple(arrays))


def _of_object(source: Any, roles: Mapping[str, Role], options: Options, limits: Limits) -> Table:
    refuse_lazy(source, "the source")
    if isinstance(source, Table):
        return with_roles(source, roles) if roles else source
    if is_annotated(source):
        names, columns, rows = columns_of_annotated(source, options.get("layer", "X"), limits)
        return assemble_table(names, columns, roles=roles, row_names=rows)
    if is_series(source):
        source = frame_of(source)
    if is_frame(source):
        labels, values, index = frame_columns(source)
        if only_counts(source):  # numbers that rows were left with name them if no column does
            table = assemble_table(labels, values, roles=roles)
            return replace(table, row_names=table.row_names or index)
        return assemble_table(labels, values, roles=roles, row_names=index)
    if isinstance(source, np.ndarray) and source.dtype.kind in "biuf":
        return of_numbers(as_matrix(source, "the array").copy())
    if isinstance(source, list | tuple) and source and all(isinstance(s, str) for s in source):
        raise InvalidInput(
            "a table is a path, a data frame, an annotated matrix or an array of numbers, found "
            f"a {type(source).__name__} of {len(source)} strings. A kernel PCA of strings is "
            "KernelPCA(kernel='string_spectrum(length=3)').fit(...)"
        )
    by_name = "; mercer.Table.of makes a table of columns by name"
    raise InvalidInput(
        f"read takes a path, a data frame, an annotated matrix or an array of numbers, found "
        f"{type(source).__name__}{by_name if isinstance(source, Mapping) else ''}"
    )


NO_DELIMITERS = frozenset('"\r\n\0')
"""Characters that mean something else in a table, or nothing."""


DELIMITED = ("delimiter", "decimal", "encoding", "header", "skip", "na")
"""What is said of a table that is written as text."""


class Options(TypedDict, total=False):
    """How a file is written, where the user knows."""

    delimiter: str | None
    decimal: str | None
    encoding: str | None
    header: bool | None
    skip: int | None
    na: tuple[str, ...]
    sheet: str | int | None
    transpose: bool | None
    colour: str | None
    layer: str
    label: str


def checked_options(given: Mapping[str, Any], *, are_sets: bool) -> Options:
    """Return the options of a file, each of its type, or say which one is wrong and why.

    >>> checked_options({"delimiter": ";", "na": "?"}, are_sets=False)
    {'delimiter': ';', 'na': ('?',)}
    >>> checked_options({"delimiter": "ab"}, are_sets=False)
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: delimiter must be one character between cells, such as ',' or a tab, found 'ab'
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    unknown = sorted(given.keys() - Options.__annotations__.keys())
    if unknown:
        raise InvalidParameter(
            f"read has no option {unknown[0]!r}; it has {', '.join(Options.__annotations__)}"
        )
    found = dict(given)
    if given.get("delimiter") is not None:
        _refuse_delimiter(given["delimiter"], are_sets=are_sets)
    if given.get("decimal") not in (None, ".", ","):
        raise InvalidParameter(f"decimal must be '.' or ',', found {given['decimal']!r}")
    if given.get("decimal") is not None and given.get("decimal") == given.get("delimiter"):
        raise InvalidParameter(f"delimiter and decimal cannot both be {given['decimal']!r}")
    if given.get("encoding") is not None:
        checked_encoding(_text(given["encoding"], "encoding"))
    for name in ("header", "transpose"):
        if not isinstance(given.get(name), bool | None):
            raise InvalidParameter(f"{name} must be True, False or None, found {given[name]!r:.60}")
    if given.get("skip") is not None:
        whole(given["skip"], "skip", least=0)
    if not isinstance(given.get("sheet"), str | int | None) or given.get("sheet") is True:
        raise InvalidParameter(
            f"sheet must be a name, or a number counted from 1, found {given['sheet']!r:.60}"
        )
    if "na" in given:
        found["na"] = words(given["na"], "na")
    for name in ("colour", "layer", "label"):
        if given.get(name) is not None:
            _text(given[name], name)
    return cast(Options, found)


def _refuse_delimiter(value: Any, *, are_sets: bool) -> None:
    if are_sets and isinstance(value, str) and value:
        return
    if not isinstance(value, str) or len(value) != 1 or value in NO_DELIMITERS:
        raise InvalidParameter(
            "delimiter must be one character between cells, such as ',' or a tab, found "
            f"{value!r:.60}"
        )


def _text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    raise InvalidParameter(f"{name} must be a text, found {value!r:.60}")


def words(value: Any, name: str) -> tuple[str, ...]:
    """Return one or several words as a tuple.

    >>> words("NA", "na"), words(["?", "-"], "na")
    (('NA',), ('?', '-'))
    """
    if isinstance(value, str):
        return (value,)
    found = tuple(value) if isinstance(value, Iterable) else (None,)
    if all(isinstance(word, str) for word in found):
        return found
    raise InvalidParameter(f"{name} must be a word or a sequence of words, found {value!r:.60}")


def checked_roles(roles: Any) -> dict[str, Role]:
    """Return the roles a user gave, by name or by word.

    >>> checked_roles({"x": "factor"})
    {'x': <Role.FACTOR: 'factor'>}
    """
    if roles is None:
        return {}
    if not isinstance(roles, Mapping) or not all(isinstance(name, str) for name in roles):
        raise InvalidParameter(f"roles must map names of columns to roles, found {roles!r:.60}")
    known = ", ".join(role.value for role in Role)
    found = {}
    for name, role in roles.items():
        try:
            found[name] = Role(role)
        except (TypeError, ValueError):
            raise InvalidParameter(
                f"roles: column {name!r:.60} cannot be {role!r:.60}; a role is one of {known}"
            ) from None
    return found


ENDS = ({"source", "target"}, {"from", "to"})
"""Names of the two columns of a table of edges."""


def looks_like_edges(table: Table) -> bool:
    """Return whether a table is one of edges: two ends that say so, and perhaps a weight."""
    names = [name.strip().lower() for name in table.names]
    return len(names) in (2, 3) and set(names[:2]) in ENDS and names[2:] in ([], ["weight"])
