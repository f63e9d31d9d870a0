"""Spreadsheets whose XML lies, sequences that are none, and HDF5 files that are no .h5ad."""

from __future__ import annotations

import gzip
import io
import random
import zipfile
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from tests.files.whole import Case, flipped, h5, zipped

SHEET, STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
OPEN = '<?xml version="1.0"?>'
SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def workbook(rows: list[list[Any]] | None = None) -> bytes:
    """Return a sound spreadsheet."""
    book = import_module("openpyxl").Workbook()
    for row in rows or [["name", "x", "y"], ["a", 1.5, 2], ["b", 2.5, 3], ["c", 0.5, 9]]:
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def with_part(name: str, content: bytes | None) -> bytes:
    """Return the spreadsheet with another part under a name, or without it."""
    with zipfile.ZipFile(io.BytesIO(workbook())) as archive:
        parts = {part: archive.read(part) for part in archive.namelist() if part != name}
    return zipped(parts if content is None else parts | {name: content})


def sheet(cells: str, dimension: str = "A1:C3") -> bytes:
    """Return a spreadsheet whose only sheet has these rows."""
    about = f'<dimension ref="{dimension}"/><sheetData>{cells}</sheetData>'
    return with_part(SHEET, f"{OPEN}<worksheet {SPACE}>{about}</worksheet>".encode())


def documents() -> Iterator[Case]:
    """Yield spreadsheets, sequences and HDF5 files that are not what they seem."""
    yield from _spreadsheets()
    yield from _sequences()
    yield from _arrays()


def _spreadsheets() -> Iterator[Case]:
    one = '<row r="1"><c r="A1"{}><v>{}</v></c></row>'
    entities = "".join(f'<!ENTITY {b} "{f"&{a};" * 20}">' for a, b in zip("abcd", "bcde"))  # noqa: B905
    bomb = f'{OPEN}<!DOCTYPE l [<!ENTITY a "{"x" * 99}">{entities}]><worksheet {SPACE}><sheetData>'
    books = {
        "a cell in the last place": sheet(one.format("", 1) + one[:-6].replace("A1", "XFD1048576")),
        "a cell beyond every place": sheet(one.format("", 1).replace("A1", "ZZZZZ99999999999")),
        "a place that is none": sheet(one.format("", 1).replace("A1", "1A")),
        "an extent of all cells": sheet(one.format("", 1), "A1:XFD1048576"),
        "an extent that is none": sheet(one.format("", 1), "::"),
        "a shared text that is not there": sheet(one.format(' t="s"', 99_999)),
        "a shared text before the first": sheet(one.format(' t="s"', -1)),
        "a day that is none": sheet(one.format(' t="d"', "9999-99-99")),
        "a flag that is none": sheet(one.format(' t="b"', 7)),
        "a number beyond all": sheet(one.format("", "1e999")),
        "no sheet": with_part(SHEET, None),
        "no workbook": with_part("xl/workbook.xml", None),
        "entities in entities": with_part(
            SHEET, f"{bomb}{one.format('', '&e;')}</sheetData></worksheet>".encode()
        ),
        "many equal cells": sheet(one.format("", 1) * 2_000_000),
        "many shared texts": with_part(
            STRINGS, f"{OPEN}<sst {SPACE}>{'<si><t>a</t></si>' * 2_000_000}</sst>".encode()
        ),
    }
    for name, data in books.items():
        yield Case(f"a spreadsheet with {name}", ".xlsx", data)
    whole, draw = workbook(), random.Random(5)
    for place in sorted({draw.randrange(len(whole)) for _ in range(12)}):
        yield Case(f"a spreadsheet flipped at {place}", ".xlsx", flipped(whole, place, 16))
        yield Case(f"a spreadsheet cut at {place}", ".xlsx", whole[:place])
    yield Case("an OpenDocument sheet", ".ods", zipped({"content.xml": b"<x/>"}))


def _sequences() -> Iterator[Case]:
    texts = {
        "records without letters": b">a\n>b\n",
        "marks alone": b">\n" * 5,
        "a NUL byte": b">a\nAC\0T\n>b\nA\n",
        "bytes of no encoding": b">a\n\xff\xfe\x80ACG\n>b\nACG\n",
        "noise": b">" + random.Random(2).randbytes(5000),
        "returns for line ends": b">a\rACG\r>b\rACG\r",
        "equal names": b">a\nACG\n>a\nACT\n",
        "one long line": b">a\n" + b"A" * 2_000_000 + b"\n>b\nA\n",
        "many records": b"".join(b">%d\nA\n" % i for i in range(20_000)),
        "a long title": b">" + b"x|y=" * 1_000_000 + b"\nACG\n>b\nACG\n",
    }
    for name, data in texts.items():
        yield Case(f"sequences: {name}", ".fasta", data)
    yield Case("sequences: a bomb", ".fa.gz", gzip.compress(b">a\n" + b"A" * 2**29, 1))


def _arrays() -> Iterator[Case]:
    h5py = import_module("h5py")
    held: dict[str, dict[str, Any]] = {
        "one number": {"data": 1.0},
        "more than any disk": {"shape": (2**40, 50), "dtype": "f8", "chunks": (1024, 50)},
        "words": {"data": [b"a", b"b"]},
        "records": {"data": np.zeros(4, [("a", "f8"), ("b", "S3")])},
        "a cube": {"data": np.zeros((2, 3, 4))},
        "zeros packed": {"data": np.zeros((10**5, 40)), "compression": "gzip"},
        "lists": {"shape": (5,), "dtype": h5py.vlen_dtype("f8")},
        "named numbers": {"data": np.zeros((3, 2), "i1"), "dtype": h5py.enum_dtype({"a": 0})},
    }
    for name, given in held.items():
        made = h5(lambda file, given=given: file.create_dataset("x", **given))
        yield Case(f"HDF5: {name}", ".h5", made)
    for name, link in {
        "a link to itself": h5py.SoftLink("/x"),
        "a link to another file": h5py.ExternalLink("/etc/passwd", "/x"),
    }.items():
        yield Case(f"HDF5: {name}", ".h5", h5(lambda file, link=link: file.update({"x": link})))
