"""Parts of a page: its tables, and sections that any study can add.

`mercer.report(model, path, sections=[...])` puts sections behind what the model says of itself;
`mercer.page.document` makes a page of nothing else. Neither needs a line of template or script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data.missing import MISSING_LEVEL
from mercer.data.table import Column, Role, Table
from mercer.dimension.horn import ParallelAnalysis
from mercer.dimension.rules import Choice
from mercer.errors import InvalidInput
from mercer.page.safe_text import PAGE, clean, short
from mercer.page.subject import Passive, Subject
from mercer.pictures.models import Elements
from mercer.pictures.scene import Panel, Sheet

Value = dict[str, Any]


def sheet_of(name: str, caption: str, columns: Mapping[str, Any]) -> Value:
    """Return a table as a page holds it.

    >>> sheet_of("t", "Sizes", {"who": ["a", "b"], "size": [1.0, 2.5]})["rows"]
    [['a', 1.0], ['b', 2.5]]
    """
    arrays = {str(k): np.asarray(v) for k, v in columns.items()}
    lengths = {len(a) for a in arrays.values()}
    if len(lengths) > 1:
        raise InvalidInput(f"the columns of table {caption!r} must have equal lengths")
    kinds = {k: "number" if a.dtype.kind in "iuf" else "text" for k, a in arrays.items()}
    most = max(PAGE.cells // max(len(arrays), 1), 1)
    rows = zip(*(a[:most].tolist() for a in arrays.values()), strict=True)
    return {
        "id": name,
        "title": clean(caption, 300),
        "columns": [{"name": clean(k), "kind": kind} for k, kind in kinds.items()],
        "rows": [[cell(entry) for entry in row] for row in rows],
    }


def cell(entry: Any) -> Any:
    """Return a cell as JSON holds it: numbers to six digits, None for what is not finite."""
    if entry is None or isinstance(entry, bool | int):
        return entry
    if isinstance(entry, str):
        return clean(entry)
    number = float(entry)
    return float(f"{number:.6g}") if np.isfinite(number) else None


def tables_of(
    subject: Subject,
    rows: Array,
    choices: dict[str, Choice],
    reasons: Mapping[str, str] | None = None,
) -> Iterator[Value]:
    """Yield the tables of a model; ``reasons`` say why each column is used as it is."""
    if subject.table is not None:
        yield _columns_sheet(subject.table, subject.used, reasons or {})
    if subject.axes:
        yield _axes_sheet(subject, choices.get("horn"))
        yield _individuals_sheet(subject, rows)
        if subject.passive is not None:
            yield _passive_sheet(subject.passive, subject.one)
        for elements in subject.elements:
            yield _elements_sheet(elements)


def _sheet(name: str, title: str, columns: list[tuple[str, str]], rows: list[list[Any]]) -> Value:
    return {
        "id": name,
        "title": title,
        "columns": [{"name": clean(c), "kind": kind} for c, kind in columns],
        "rows": [[cell(entry) for entry in row] for row in rows],
    }


def _columns_sheet(table: Table, used: Sequence[str], reasons: Mapping[str, str]) -> Value:
    active, known = frozenset(used), frozenset(table.names)
    gone = [name for name in reasons if name not in known]
    return _sheet(
        "roles",
        "Columns and the roles guessed for them",
        [
            ("column", "text"),
            ("role", "text"),
            ("used as", "text"),
            ("missing", "number"),
            ("values", "text"),
            *([("why", "text")] if reasons else []),
        ],
        [
            *(
                [
                    *(clean(c.name) or "(no name)", c.role.value, _use(c, active)),
                    *_summary(c, table),
                    *([reasons.get(c.name, "")] if reasons else []),
                ]
                for c in table.columns()
            ),
            *([clean(name), "", "not used", None, "", reasons[name]] for name in gone),
        ][:2_000],
    )


def _use(column: Column, active: frozenset[str]) -> str:
    if column.name in active:
        return "active"
    passive = {Role.NUMBER: "supplementary", Role.FACTOR: "supplementary"}
    return {**passive, Role.IDENTIFIER: "names of rows"}.get(column.role, "not used")


def _summary(column: Column, table: Table) -> list[Any]:
    """Return how many values are missing, or were until they were imputed, and what was measured.

    An imputed number may lie outside of the measured ones, and narrows their deviation.
    """
    put = table.imputed.get(column.name, np.zeros(len(column.values), bool))
    missing, values = _values(replace(column, values=column.values[~put]))
    count = int(put.sum())
    is_level = column.role is Role.FACTOR and MISSING_LEVEL in column.levels
    how = f'as a level "{MISSING_LEVEL}"' if is_level else "imputed"
    return [missing + count, f"{values}; {count} {how}" if count else values]


def _values(column: Column) -> tuple[int, str]:
    if column.role is Role.NUMBER:
        known = column.values[np.isfinite(column.values)]
        missing = len(column.values) - len(known)
        if not len(known):
            return missing, ""
        ends = f"{short(known.min())} to {short(known.max())}"
        return missing, f"{ends}, mean {short(known.mean())}, deviation {short(known.std())}"
    if column.role is Role.DATE:
        return int(np.isnat(column.values).sum()), ""
    missing = int(sum(v is None for v in column.values))
    levels = column.levels
    names = ", ".join(clean(level, 30) for level in levels[:5])
    return missing, f"{len(levels)} levels: {names}{', …' if len(levels) > 5 else ''}"


def _axes_sheet(subject: Subject, horn: Choice | None) -> Value:
    columns = [("axis", "number")]
    count = min(subject.axes, 50)
    cells: list[list[Any]] = [[k + 1] for k in range(count)]

    def add(name: str, kind: str, values: Any) -> None:
        columns.append((name, kind))
        for k, row in enumerate(cells):
            row.append(values[k] if k < len(values) else None)

    if subject.inertias is not None:
        add("inertia", "number", subject.inertias)
    if subject.shares is not None:
        add("share", "share", subject.shares)
        add("cumulated", "share", np.cumsum(subject.shares))
    if subject.spectrum is not None and subject.spectrum.values[0] > 0:
        add("proved error", "error", subject.spectrum.errors / subject.spectrum.values[0])
    if isinstance(horn, ParallelAnalysis):
        add("Horn's p", "number", horn.p_values)
    return _sheet("axes", "Axes", columns, cells)


def _individuals_sheet(subject: Subject, rows: Array) -> Value:
    """Return the first rows for readers without scripts; scripts rebuild the table whole."""
    axes = range(min(subject.axes, 3))
    columns = [(subject.one, "text")]
    columns += [(f"Dim {k + 1}", "number") for k in axes]
    has_cos2 = subject.distances is not None
    if has_cos2:
        columns += [(f"cos2 {k + 1}", "share") for k in axes]
    columns += [(f"contrib {k + 1}", "share") for k in axes]
    head = rows[: PAGE.static_rows]
    parts = [subject.coordinates[head][:, axes]]
    if has_cos2:
        parts.append(np.column_stack([subject.cos2(k)[head] for k in axes]))
    parts.append(np.column_stack([subject.contributions(k)[head] for k in axes]))
    numbers = np.column_stack(parts)
    cells = [[clean(subject.names[i]), *numbers[at]] for at, i in enumerate(head)]
    return {
        **_sheet("individuals", f"{subject.one.capitalize()}s", columns, cells),
        "total": len(rows),
    }


def _passive_sheet(passive: Passive, one: str) -> Value:
    axes = range(min(passive.coordinates.shape[1], 3))
    columns = [(one, "text"), *((f"Dim {k + 1}", "number") for k in axes)]
    numbers = passive.coordinates[:, axes]
    if passive.cos2 is not None:
        columns += [(f"cos2 {k + 1}", "share") for k in axes]
        numbers = np.column_stack([numbers, passive.cos2[:, axes]])
    cells = [[clean(name), *row] for name, row in zip(passive.names, numbers, strict=True)]
    return _sheet("passive", f"Supplementary {one}s", columns, cells[: PAGE.supplementary])


def kind_of(measure: str) -> str:
    """Return how the numbers of a measure are written."""
    return "share" if measure in ("cos2", "contrib") else "number"


def _elements_sheet(elements: Elements) -> Value:
    """Return variables or categories on the first axes; scripts rebuild it for the chosen ones."""
    axes = range(min(elements.coordinates.shape[1], 3))
    order = elements.rank(tuple(axes)[:2], 1_000)
    columns = [(elements.one, "text")]
    columns += [(f"{name} {k + 1}", kind_of(name)) for name in elements.measures for k in axes]
    numbers = np.column_stack([m[:, axes] for m in elements.measures.values()])
    cells = [[clean(elements.names[j]), *numbers[j]] for j in order]
    return {**_sheet(elements.of, elements.title, columns, cells), "total": len(elements)}


Picture = Panel | Sheet

FORMAT = 3
"""The version of the value, for whoever reads it from a page."""


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page: a title, sentences, pictures as `describe` returns them, and tables.

    A table is a mapping from column names to columns of equal length, numbers or texts; its key is
    its caption. Notes of a picture become its caption. ``code`` is the Python expression that makes
    the section again from ``model``, ``data``, ``mc`` (mercer) and ``page`` (mercer.page); the code
    of the page then makes it too.

    >>> Section("Stability", ("Two axes are stable.",)).title
    'Stability'
    """

    title: str
    sentences: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    code: str = ""


def blank(title: str, sentences: Sequence[str], reproduce: Value) -> Value:
    """Return the value of a page that has no model."""
    people: Value = {
        "one": "individual",
        "count": 0,
        "rows": None,
        "names": [],
        "has_names": False,
        "coordinates": [],
    }
    people |= {"spreads": [], "weights": [], "distances": None, "imputed": None, "colours": []}
    return {
        "format": FORMAT,
        "title": clean(title),
        "sentences": [clean(text, 1_000) for text in sentences],
        "remarks": [],
        "axes": [],
        "individuals": people,
        "passive": None,
        "linked": {},
        "curved": None,
        "panels": {},
        "sheets": {},
        "data": None,
        "dimension": [],
        "rules": [],
        "description": [],
        "groups": None,
        "outliers": None,
        "kernel": None,
        "exactness": "",
        "reproduce": reproduce,
        "sections": [],
    }


def with_sections(value: Value, sections: Sequence[Section]) -> Value:
    """Return the value of a page with its sections, their pictures among those of the page."""
    panels, sheets = dict(value["panels"]), dict(value["sheets"])
    listed = []
    for number, section in enumerate(sections, 1):
        here, below = [], []
        for k, picture in enumerate(section.pictures, 1):
            here.append(f"section-{number}-picture-{k}")
            panels[here[-1]] = picture
        for k, (caption, columns) in enumerate(section.tables.items(), 1):
            below.append(f"section-{number}-table-{k}")
            sheets[below[-1]] = sheet_of(below[-1], caption, columns)
        listed.append(
            {
                "id": f"section-{number}",
                "title": clean(section.title),
                "sentences": [clean(text, 2_000) for text in section.sentences],
                "panels": here,
                "sheets": below,
            }
        )
    return {**value, "panels": panels, "sheets": sheets, "sections": listed}
