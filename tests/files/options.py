"""Sound files read with options of wrong types and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.files.whole import TEXT, Case, whole_files


def options() -> Iterator[Case]:
    """Yield sound files with options of wrong types and values."""
    wrong: tuple[Any, ...] = (
        *(5, 5.5, -1, 0, True, "", "ab", b",", "\n", "\r", '"', "é", "\0", "\U0001f600", [], {}),
        *(
            ["a"],
            [5],
            {"x": 5},
            {5: "number"},
            object(),
            float("nan"),
            float("inf"),
            10**400,
            "1GB",
        ),
        *(
            (),
            ("",),
            [None],
            [["a"]],
            {"x": None},
            {"x": []},
            {"x": "gone"},
            lambda: 1,
            "x",
            "drop",
        ),
    )
    keys = (
        *("delimiter", "decimal", "encoding", "header", "na", "layer", "roles", "supplementary"),
        *("missing", "memory", "ratio"),
    )
    sound = whole_files()
    for kind in ("csv", "npy", "parquet", "h5ad", "edges", "lines"):
        suffix, whole = sound[kind]
        forms = ("strings", "sets") if kind == "lines" else ("auto", "table")
        for key in keys:
            for place, value in enumerate(wrong):
                what = forms[place % 2]
                yield Case(f"{kind}: {key}={str(value)[:30]!r}", suffix, whole, {key: value}, what)
    kinds: tuple[Any, ...] = (5, None, "", "graphs", [], b"table", "TABLE")
    for what_else in kinds:
        yield Case(f"what={what_else!r}", ".csv", TEXT.encode(), {}, what_else)
    yield Case("an unknown option", ".csv", TEXT.encode(), {"sep": ","})
