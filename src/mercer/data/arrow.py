"""Parquet and Arrow files as columns, each by its type; nothing is unfolded before it is counted.

Texts arrive as a dictionary and places in it, so that a word that occurs a million times is one
object. Lists, structures and bytes are no column of a table and are not even read.
"""

from __future__ import annotations

import json
import mmap
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import unpack_from
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data.raw_files import Limits, in_one_line
from mercer.data.table import LABEL, as_labels, quote_names
from mercer.display import warn
from mercer.errors import DataWarning, InvalidInput, MercerError, UnreadableFile, extra

DAMAGE = (OSError, LookupError, TypeError, ValueError, OverflowError, SystemError, MemoryError)
"""What the library raises of damaged files, beside errors of its own."""

Outside = struct.error
"""A place that is not in the file."""

Named = tuple[list[str], list[Array], list[str]]
"""Names of columns, their values, and which of them were an index."""

UNNAMED = re.compile("__index_level_[0-9]+__|__null_dask_index__")
"""What pandas and Dask call an index without a name where they write it as a column."""


@contextmanager
def damage_named(path: Path, kind: str) -> Iterator[Any]:
    """Yield the library, and say that a file is damaged in whatever way it notices."""
    arrow = extra("pyarrow", "io", f"reading {kind} files")
    try:
        yield arrow
    except MercerError:
        raise
    except (arrow.ArrowException, *DAMAGE) as error:
        raise UnreadableFile(
            f"{path.name} is a damaged or incomplete {kind} file: {in_one_line(error)}"
        ) from error


def read_parquet(path: Path, limits: Limits) -> Named:
    """Return the columns of a Parquet file, after asking it how large it is."""
    parquet = extra("pyarrow.parquet", "io", "reading Parquet files")
    with damage_named(path, "Parquet") as arrow, parquet.ParquetFile(path) as file:
        kept = _kept(arrow, file.schema_arrow, path.name)
        words = [name for name, type_ in kept.items() if _is_text(arrow, type_)]
        about = file.metadata
        _refuse_size(about.num_rows, len(kept), path, limits)
        places = [j for j in range(about.num_columns) if about.schema.column(j).path in kept]
        sizes = (
            about.row_group(i).column(j).total_uncompressed_size
            for i in range(about.num_row_groups)
            for j in places
        )
        limits.check(sum(sizes), None, f"the table in {path.name}")
    with (
        damage_named(path, "Parquet") as arrow,
        parquet.ParquetFile(path, read_dictionary=words) as file,
    ):
        index = index_columns(file.schema_arrow)
        return *_columns(arrow, file.read(list(kept)), path, limits), index


def read_arrow(path: Path, limits: Limits) -> Named:
    """Return the columns of an Arrow (Feather) file, after reading how large it is."""
    limits.check(path.stat().st_size, None, path.name)
    with damage_named(path, "Arrow") as arrow:
        rows, size = declared_size(path)
        limits.check(size, None, f"the table in {path.name}")
        with arrow.memory_map(str(path)) as file:
            reader = arrow.ipc.open_file(file)
            kept = _kept(arrow, reader.schema, path.name)
            _refuse_size(rows, len(kept), path, limits)
            table = reader.read_all().select(list(kept))
            table.validate(full=True)  # places and sizes that lie are read as they are
            return *_columns(arrow, table, path, limits), index_columns(reader.schema)


def index_columns(schema: Any) -> list[str]:
    """Return the columns that pandas or Dask made of an index: they name rows, and measure nothing.

    >>> import pyarrow as pa
    >>> about = {"pandas": '{"index_columns": ["year", {"kind": "range"}]}'}
    >>> index_columns(pa.schema([("x", pa.float64()), ("year", pa.int64())], about))
    ['year']
    """
    try:
        said = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
    except (LookupError, TypeError, ValueError, RecursionError):  # others write what they like
        said = []
    listed = [name for name in said if isinstance(name, str)] if isinstance(said, list) else []
    return [name for name in schema.names if name in listed or UNNAMED.fullmatch(name)]


def _refuse_size(rows: int, columns: int, path: Path, limits: Limits) -> None:
    limits.check(8 * rows * columns, None, f"the table in {path.name}")
    if rows <= 0:
        raise UnreadableFile(f"{path.name} has columns but no rows")


def _kept(arrow: Any, schema: Any, file: str) -> dict[str, Any]:
    """Return the types of columns that are numbers, dates or labels; warn of others."""
    refuse_twice(schema.names, file)
    types = {field.name: field.type for field in schema}
    kept = {name: type_ for name, type_ in types.items() if _converter(arrow, type_) is not None}
    if not kept:
        raise UnreadableFile(f"{file} has no column of numbers, dates or labels")
    other = [name for name in types if name not in kept]
    if other:
        warn(
            f"{file}: column {quote_names(other)} holds neither numbers, dates nor labels, and is "
            "left out",
            DataWarning,
        )
    return kept


def refuse_twice(names: Sequence[str], file: str) -> None:
    """Refuse columns of equal name, which the library does not find by it."""
    counts = Counter(names)
    if len(counts) < len(names):
        twice = counts.most_common(1)[0][0]
        raise InvalidInput(f"{file} has several columns named {twice!r}; rename them")


def _columns(arrow: Any, table: Any, path: Path, limits: Limits) -> tuple[list[str], list[Array]]:
    columns = []
    for name in table.column_names:
        column = table.column(name)
        try:
            columns.append(_converter(arrow, column.type)(arrow, column, limits))
        except (arrow.ArrowException, OverflowError) as error:
            raise UnreadableFile(
                f'{path.name}, column "{name}" cannot be read: {in_one_line(error)}'
            ) from error
    return table.column_names, columns


def _converter(arrow: Any, type_: Any) -> Any:
    """Return what makes an array of a column of some type, None if nothing does."""
    kinds = arrow.types
    if kinds.is_dictionary(type_):
        inner = type_.value_type
        is_plain = _converter(arrow, inner) in (_numbers, _dates)
        return _decoded if is_plain else _labels if _is_text(arrow, inner) else None
    if kinds.is_integer(type_) or kinds.is_floating(type_) or kinds.is_decimal(type_):
        return _numbers
    if kinds.is_date(type_) or kinds.is_timestamp(type_):
        return _dates
    if _is_text(arrow, type_):
        return _labels
    if kinds.is_boolean(type_) or kinds.is_null(type_) or kinds.is_time(type_):
        return _few
    return None


def _is_text(arrow: Any, type_: Any) -> bool:
    kinds = arrow.types
    inner = type_.value_type if kinds.is_dictionary(type_) else type_
    texts = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    return any(is_one(inner) for is_one in texts)


def _numbers(arrow: Any, column: Any, _: Limits) -> Array:
    if arrow.types.is_decimal(column.type) or column.null_count:
        column = column.cast(arrow.float64(), safe=False)
    return np.asarray(column.to_numpy())


def _dates(arrow: Any, column: Any, _: Limits) -> Array:
    stamps = column.cast(arrow.timestamp("us"), safe=False) if _fits(column) else None
    if stamps is None:
        raise OverflowError("a time stamp is beyond the years that microseconds count")
    return np.asarray(stamps.to_numpy(), "datetime64[us]")


def _fits(column: Any) -> bool:
    """Whether the extremes of time stamps are within the years of microseconds since 1970."""
    unit = getattr(column.type, "unit", "day" if column.type.bit_width == 32 else "ms")
    each = MICROSECONDS[unit]
    compute = extra("pyarrow.compute", "io", "reading dates")
    whole = "int32" if column.type.bit_width == 32 else "int64"
    ends = compute.min_max(column.cast(whole)).as_py()
    return all(abs(end) <= MOST // each for end in ends.values() if end is not None)


MICROSECONDS = {"day": 86_400_000_000, "s": 10**6, "ms": 1000, "us": 1, "ns": 1}
MOST = 2**63 - 1


def _decoded(arrow: Any, column: Any, limits: Limits) -> Array:
    inner = column.type.value_type
    made: Array = _converter(arrow, inner)(arrow, column.cast(inner), limits)
    return made


def _few(arrow: Any, column: Any, limits: Limits) -> Array:
    """Return flags, times of day and what is all missing as labels."""
    return _labels(arrow, column.cast(arrow.string()), limits, _capital)


def _capital(word: str) -> str:
    return {"true": "True", "false": "False"}.get(word, word)


def _labels(arrow: Any, column: Any, limits: Limits, text: Callable[[Any], str] = str) -> Array:
    """Return labels of which equal ones are one object, None where one is missing."""
    labels = np.empty(len(column), object)
    place = 0
    for chunk in column.chunks:
        coded = chunk if arrow.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        words = coded.dictionary
        limits.check(
            words.get_total_buffer_size() + LABEL * len(words), None, "the labels of a column"
        )
        known = np.append(as_labels(words.to_pylist(), text), [None])
        codes = coded.indices.cast(arrow.int64()).fill_null(len(words)).to_numpy()
        labels[place : place + len(codes)] = known[codes]
        place += len(codes)
    return labels


@dataclass(frozen=True, slots=True)
class Flat:
    """A table of the format FlatBuffers, in which Arrow files describe themselves."""

    data: Any
    start: int

    @classmethod
    def root(cls, data: Any, start: int) -> Flat:
        """Return the table that a description begins with."""
        return cls(data, start + _whole(data, "<I", start))

    def place(self, field: int) -> int:
        """Return where a field stands, 0 if it is left out."""
        fields = self.start - _whole(self.data, "<i", self.start)
        if 4 + 2 * field >= _whole(self.data, "<H", fields):
            return 0
        offset = _whole(self.data, "<H", fields + 4 + 2 * field)
        return self.start + offset if offset else 0

    def number(self, field: int, form: str) -> int:
        """Return a field that is a number, 0 if it is left out."""
        place = self.place(field)
        return _whole(self.data, form, place) if place else 0

    def table(self, field: int) -> Flat | None:
        """Return a field that is a table."""
        place = self.place(field)
        return Flat(self.data, place + _whole(self.data, "<I", place)) if place else None

    def structures(self, field: int, form: str, size: int) -> Iterator[tuple[int, ...]]:
        """Yield the members of a field that is a list of structures."""
        place = self.place(field)
        if not place:
            return
        place += _whole(self.data, "<I", place)
        count = _whole(self.data, "<I", place)
        if count * size > len(self.data):
            raise Outside("a list is longer than the file")
        for i in range(count):
            yield unpack_from(form, self.data, place + 4 + i * size)


def _whole(data: Any, form: str, place: int) -> int:
    if place < 0:
        raise Outside("a place before the file begins")
    found: int = unpack_from(form, data, place)[0]
    return found


DICTIONARIES, BATCHES = 2, 3
HEADER, DATA = 2, 1
LENGTH, BUFFERS, COMPRESSION = 0, 2, 3
"""Numbers of the fields of an Arrow file's footer, of its messages and of their batches."""


def declared_size(path: Path) -> tuple[int, int]:
    """Return the rows that an Arrow file declares, and the bytes its packed parts unfold to.

    A packed part begins with its size in full, which is what memory is taken for.
    """
    batches, dictionaries = _sizes(path)
    return sum(rows for rows, _ in batches), sum(size for _, size in batches + dictionaries)


def declared_lengths(path: Path) -> list[int]:
    """Return how many rows each batch of an Arrow file declares."""
    return [rows for rows, _ in _sizes(path)[0]]


def _sizes(path: Path) -> list[list[tuple[int, int]]]:
    """Return rows and bytes of the batches of an Arrow file, and of its dictionaries."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            footer = Flat.root(data, len(data) - 10 - _whole(data, "<i", len(data) - 10))
            return [
                [
                    _batch_size(data, offset, length, is_dictionary=field == DICTIONARIES)
                    for offset, length, _ in footer.structures(field, "<qi4xq", 24)
                ]
                for field in (BATCHES, DICTIONARIES)
            ]
        except (Outside, ValueError, OverflowError) as error:
            raise UnreadableFile(
                f"{path.name} is a damaged or incomplete Arrow file: {in_one_line(error)}"
            ) from error


def _batch_size(data: Any, offset: int, length: int, *, is_dictionary: bool) -> tuple[int, int]:
    is_marked = _whole(data, "<I", offset) == 2**32 - 1
    batch = Flat.root(data, offset + (8 if is_marked else 4)).table(HEADER)
    if batch is not None and is_dictionary:
        batch = batch.table(DATA)
    if batch is None:
        raise Outside("a message without contents")
    rows = batch.number(LENGTH, "<q")
    if rows < 0:
        raise Outside(f"a batch of {rows} rows")
    if batch.table(COMPRESSION) is None:
        return rows, 0
    sizes = [
        _whole(data, "<q", offset + length + start)
        for start, size in batch.structures(BUFFERS, "<qq", 16)
        if size > 8
    ]
    return rows, sum(size for size in sizes if size > 0)
