"""Text files of odd encodings, cells and ends, and bombs of text."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

from tests.files.whole import EDGES, LINES, TEXT, Case, whole_files

ENCODINGS = (
    *("utf-7", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "cp037", "cp500", "hz"),
    *("shift_jis", "gb18030", "iso2022_jp", "koi8-r", "mac-roman", "punycode", "idna", "rot13"),
    *("base64", "hex", "zip", "bz2", "uu", "quopri", "unicode_escape", "raw_unicode_escape"),
    *("undefined", "unicode_internal", "mbcs", "oem", "klingon", "utf-8-sig", "ascii", "utf8"),
    *("UTF_8", "string_escape", "charmap", "", " ", "\0", "utf-8\0", "é", "a" * 10_000),
    *("../../etc/passwd", "latin-1 "),
)
CELLS = (
    *("1e400", "-1e400", "1e-400", "0x10", "1_000", "١", "½", "inf", "nan", "-nan", "1e", "--1"),
    *("9" * 5000, "1." + "3" * 5000, "1e" + "9" * 400, "9999-99-99", "0000-00-00"),
    *("99999-01-01", "2024-02-30", "2024-01-01T25:00", "2024-01-01 00:00:61", "1677-09-21"),
    *("-0001-01-01", "=1+1", "\ud7ff", "\ufeff", "\u202e", "\x1a", "\x0b", "\x85", "\u2028"),
    *('"', '""', "'", "\\", "\t", ";", "|", "a" * 200_000, "%s%n", "${x}", "<b>"),
)
MANY = 3 * 2**24
BOMBS = {
    "newlines": (b"", b"\n", MANY),
    "numbers and newlines": (b"x,y\n1,2\n", b"\n", MANY),
    "words and newlines": (b"x,y\na,b\n", b"\n", MANY),
    "one column and newlines": (b"x\n1\n", b"\n", MANY),
    "one column of words and newlines": (b"x\na\nb\n", b"\n", MANY),
    "commas": (b"", b",", MANY),
    "zeros": (b"", b"0", MANY),
    "one line": (b"", b"1,", MANY),
    "spaces": (b"", b" ", MANY),
    "quotes": (b"", b'"', MANY),
    "carriage returns": (b"x,y\r1,2\r", b"\r", MANY),
    "NUL": (b"", b"\0", MANY),
    "empty cells": (b"x,y\n", b",\n", MANY // 2),
    "words": (b"x,y\n", b"a,b\n", MANY // 4),
    "edges": (b"", b"a b\n", MANY // 4),
}
"""What a file begins with, what it repeats, and how often."""


def texts() -> Iterator[Case]:
    """Yield all of them."""
    yield from _encoded()
    yield from _packed()
    yield from _cells()
    yield from _declared()


def _encoded() -> Iterator[Case]:
    forms = {
        "a table": (TEXT.encode(), "auto"),
        "UTF-16": (TEXT.encode("utf-16-le"), "auto"),
        "lines": (LINES.encode(), "strings"),
        "sets": (LINES.encode(), "sets"),
        "edges": (EDGES.encode(), "graph"),
    }
    for encoding in ENCODINGS:
        for kind, (data, what) in forms.items():
            given = {"encoding": encoding}
            yield Case(f"{kind} with encoding={encoding[:20]!r}", ".csv", data, given, what)
    texts = {"a table": TEXT, "é": "é,ü\n1,2\n", "x": "x", "edges": EDGES}
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-7", "cp037"):
        for kind, text in texts.items():
            yield Case(f"{kind} in {encoding} without a mark", ".csv", text.encode(encoding))
            yield Case(f"{kind} in {encoding} as edges", ".edges", text.encode(encoding))


def _packed() -> Iterator[Case]:
    for kind, (start, piece, times) in BOMBS.items():
        packed = gzip.compress(start + times * piece)
        for what in ("auto", "graph", "strings", "sets"):
            yield Case(f"a gzip bomb of {kind}, {what}", ".csv.gz", packed, {}, what)
    yield Case("a gzip bomb of parts", ".csv.gz", gzip.compress(b"1,2\n" * 10) * 20_000)
    yield Case("a gzip name", ".csv.gz", b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * 10**6)
    deep = gzip.compress(TEXT.encode())
    for _ in range(10):
        deep = gzip.compress(deep)
    yield Case("gzip in gzip in gzip", ".csv.gz", deep)


def _cells() -> Iterator[Case]:
    for cell in CELLS:
        forms = {
            "among numbers": f"x,y\n1,2\n3,{cell}\n5,6\n",
            "alone": f"x\n{cell}\n{cell}\n",
            "as a name": f"{cell},y\n1,2\n3,4\n",
            "as a label": f"name,x\na,1\n{cell},2\nb,3\n",
            "as a date": f"when,x\n2024-01-01,1\n{cell},2\n",
        }
        for kind, text in forms.items():
            data, name = text.encode("utf-8", "replace"), f"the cell {cell[:20]!r} {kind}"
            yield Case(name, ".csv", data)
            first = text.partition("\n")[0].split(",")[0]
            for role in ("date", "number"):
                yield Case(f"{name}, declared a {role}", ".csv", data, {"roles": {first: role}})


def _declared() -> Iterator[Case]:
    sound = whole_files()
    for role in ("number", "factor", "identifier", "date", "text"):
        for kind in ("csv", "npy", "npz", "parquet with holes", "arrow with holes", "h5ad"):
            suffix, whole = sound[kind]
            for name in ("name", "x", "y", "when", "flag", "kind", "column 1", "depth", "money"):
                given: dict[str, Any] = {"roles": {name: role}}
                yield Case(f"{kind}, {name} as {role}", suffix, whole, given)
