"""Parquet and Arrow files whose columns unfold, or are of types that are no table's."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from tests.files.whole import Case, arrow, parquet


def columns() -> Iterator[Case]:
    """Yield Parquet and Arrow files whose columns unfold, or are of types that are no table's."""
    pa = import_module("pyarrow")

    many = 2**22
    one = pa.array(["a" * 10_000]).dictionary_encode().dictionary
    zero = pa.array(np.zeros(many, np.int32))
    long = pa.DictionaryArray.from_arrays(zero, one)
    words = pa.DictionaryArray.from_arrays(zero, pa.array(["word"]))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2**26], pa.int32()), pa.array([1.0]))
    wordy = pa.RunEndEncodedArray.from_arrays(pa.array([2**26], pa.int32()), pa.array(["a"]))
    lists = pa.ListArray.from_arrays(
        pa.array(np.arange(0, 1001, dtype=np.int32) * 20_000),
        pa.array(np.zeros(20_000_000, np.int8)),
    )
    views = pa.array(["a" * 10_000] * 10, pa.string_view())
    bombs = {
        "a dictionary of one long word": long,
        "a dictionary of one word": words,
        "runs of one number": runs,
        "runs of one word": wordy,
        "long lists": lists,
        "nothing at all": pa.nulls(2**26),
        "equal words": pa.array(["a"] * many),
        "equal numbers": pa.array(np.zeros(2**24)),
        "equal flags": pa.array(np.zeros(2**27, bool)),
    }
    odd: dict[str, Any] = {
        "lists": pa.array([[1], [1, 2], None]),
        "lists of lists": pa.array([[[1]], [[]], None]),
        "structs": pa.array([{"a": 1}, {"a": None}, None]),
        "maps": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int32())),
        "bytes": pa.array([b"\xff", b"", None]),
        "bytes of one length": pa.array([b"ab", b"cd", None], pa.binary(2)),
        "nothing": pa.nulls(3),
        "times of day": pa.array([1, 2, None], pa.time64("us")),
        "short times of day": pa.array([1, 2, None], pa.time32("s")),
        "durations": pa.array([1, 2, None], pa.duration("us")),
        "months": pa.array([(1, 2, 3), None, None], pa.month_day_nano_interval()),
        "half precision": pa.array(np.array([1, 2, 3], np.float16)),
        "decimals": pa.array([1, 2, None]).cast(pa.decimal128(38, 10)),
        "wide decimals": pa.array([1, 2, None]).cast(pa.decimal256(60, 10)),
        "large texts": pa.array(["a", "b", None], pa.large_string()),
        "views of texts": views[:3],
        "numbers by dictionary": pa.array([1.5, 2.5, None]).dictionary_encode(),
        "lists by dictionary": None,
        "unions": pa.UnionArray.from_sparse(
            pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]
        ),
        "runs": pa.RunEndEncodedArray.from_arrays(
            pa.array([1, 3], pa.int32()), pa.array([1.0, 2.0])
        ),
        "fixed lists": pa.array([[1.0, 2.0], [3.0, 4.0], None], pa.list_(pa.float64(), 2)),
        "large whole numbers": pa.array([2**63 - 1, -(2**63), None]),
        "unsigned": pa.array([2**64 - 1, 0, None], pa.uint64()),
        "flags": pa.array([True, None, False]),
        "a date": pa.array([0, 1, None], pa.date32()),
        "a date far away": pa.array([2**31 - 1, -(2**31), None], pa.date32()),
        "a date in milliseconds": pa.array([0, 86_400_000, None], pa.date64()),
    }
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "Europe/Zurich", "+23:59", "Nowhere/Land"):
            for places in ([0, 1, None], [2**62, -(2**62), 0], [2**63 - 1, -(2**63) + 1, None]):
                kind = pa.timestamp(unit, zone)
                odd[f"time stamps {places} in {unit}, {zone}"] = pa.array(places, kind)
    for kind, values in bombs.items():
        table = pa.table({"x": values})
        yield from _stored(f"a bomb of {kind}", table)
        both = pa.table({"y": pa.array(np.zeros(len(values), np.int8)), "x": values})
        yield from _stored(f"a bomb of {kind} beside numbers", both)
    for kind, values in odd.items():
        if values is not None:
            beside = pa.table({"n": pa.array([1.0, 2.0, 3.0]), "x": values})
            yield from _stored(f"a column of {kind}", beside)
            yield from _stored(f"a column of {kind} alone", pa.table({"x": values}))
    yield from _stored("no rows", pa.table({"x": pa.array([], pa.float64())}))
    yield from _stored("no columns", pa.table({}))
    yield from _stored("a name twice", pa.Table.from_arrays([pa.array([1.0])] * 2, ["x", "x"]))
    yield from _stored("no names", pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2, ["", " "]))
    yield from _stored("a NUL name", pa.table({"a\0b": [1.0, 2.0], "\ud7ff": [1.0, 2.0]}))
    yield from _stored("5 000 columns", pa.table({f"x{j}": [1.0, 2.0] for j in range(5000)}))
    for compression in ("lz4", "zstd"):
        packed = arrow(pa.table({"x": np.zeros(2**25)}), compression)
        yield Case(f"zeros packed by {compression}", ".arrow", packed)
        packed = arrow(pa.table({"x": pa.array(["a" * 100] * 2**20)}), compression)
        yield Case(f"words packed by {compression}", ".arrow", packed)
    about = pa.table({"x": [1.0, 2.0]}).replace_schema_metadata({"pandas": "{" * 100_000})
    yield from _stored("pandas' metadata that are none", about)
    index = {"pandas": json.dumps({"index_columns": ["gone"], "columns": [], "column_indexes": []})}
    table = pa.table({"x": [1.0, 2.0]}).replace_schema_metadata(index)
    yield from _stored("pandas' metadata of another table", table)
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    yield Case("an Arrow stream", ".arrow", stream.getvalue())
    yield Case("an old Feather file", ".feather", b"FEA1" + bytes(100) + b"FEA1")


def _stored(name: str, table: Any) -> Iterator[Case]:
    pa = import_module("pyarrow")

    for kind, write in (("Parquet", parquet), ("Arrow", arrow)):
        try:
            yield Case(f"{name} in {kind}", f".{kind.lower()}", write(table))
        except (pa.ArrowException, ValueError, TypeError):
            continue  # a format that has no place for the type
