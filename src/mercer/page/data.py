"""Everything a page says of a model, as one value that JSON can hold (arrays packed by `text`)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mercer.check import Array, InvalidInput, MercerError
from mercer.data.table import Column, Role, Table
from mercer.dimension.choose import choose_dimension
from mercer.dimension.horn import ParallelAnalysis
from mercer.dimension.rules import Choice
from mercer.kernels.base import Kind
from mercer.kernels.definite import positive_definite
from mercer.page import panels as pictures
from mercer.page.formula import formula
from mercer.page.reproduce import code, command_line, facts
from mercer.page.sample import MOST_POINTS, shown
from mercer.page.sentences import analysis, axes_in_words, result
from mercer.page.subject import Subject, labels_of, noted, subject_of
from mercer.page.text import clean, count_of, percent, short

FORMAT = 1
"""The version of the value, for whoever reads it from a page."""

HORN_ROWS = 300
"""Up to this many individuals, permutations take seconds, and are made when none are given."""

MOST_ROWS = 200
"""Rows of a table that stand in the page for readers without scripts."""

RULES: tuple[Literal["inertia", "kaiser", "scree", "horn"], ...] = (
    "inertia",
    "kaiser",
    "scree",
    "horn",
)
"""The rules for the number of axes; the last one takes time."""

NUMBERS = 8
"""Columns of numbers by which individuals can be coloured."""

VERIFIED = {
    "verified": "no eigenvalue is negative beyond rounding",
    "by construction": "positive semidefinite by construction",
}
"""What a spectrum knows of its signs, in the words of the page."""

Value = dict[str, Any]


def describe(
    model: Any,
    *,
    table: Any = None,
    title: str | None = None,
    choices: Mapping[str, Choice] | None = None,
    command: str | Sequence[str] | None = None,
    source: Path | None = None,
    name: str = "page.html",
    most_points: int = MOST_POINTS,
) -> Value:
    """Return what a page says of a fitted model.

    >>> from mercer import PCA
    >>> value = describe(PCA().fit([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), choices={})
    >>> value["sentences"][:2]
    ['4 individuals, principal component analysis.', '2 dimensions carry 100 % of the inertia.']
    """
    with noted() as remarks:
        subject = subject_of(model, table)
        found = dict(choices) if choices is not None else _choices(subject)
        rows = shown(subject, most_points)
        value = {
            "format": FORMAT,
            "title": clean(title or _title(subject, source)),
            "sentences": result(subject, found),
            "axes": [subject.axis(k) for k in range(subject.axes)],
            "individuals": individuals(subject, rows),
            "panels": {panel["id"]: panel for panel in _panels(subject, rows, found)},
            "sheets": {sheet["id"]: sheet for sheet in _sheets(subject, rows, found)},
            "data": _data(subject),
            "rules": [str(choice) for choice in found.values()],
            "description": axes_in_words(subject),
            "kernel": _kernel(subject),
            "reproduce": {
                "code": code(subject, source, name),
                "command": command_line(command),
                "facts": facts(subject, source),
            },
        }
    said = [*_remarks(subject), *map(clean_remark, dict.fromkeys(remarks))]
    return {**value, "remarks": said}


def clean_remark(text: str) -> str:
    """Return a warning as a sentence of the page."""
    return clean(text[:1].upper() + text[1:], 600).rstrip(".") + "."


def _title(subject: Subject, source: Path | None) -> str:
    name = source.stem if source is not None else analysis(subject)
    return name[:1].upper() + name[1:]


def _choices(subject: Subject) -> dict[str, Choice]:
    """Return what the rules say of the number of axes; permutations only where they are quick."""
    if subject.inertias is None or not hasattr(subject.model, "inertias_") or subject.axes == 0:
        return {}
    quick = RULES if len(subject) <= HORN_ROWS else RULES[:3]
    found: dict[str, Choice] = {}
    for rule in quick:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[rule] = choose_dimension(subject.model, rule=rule, random_state=0)
        except MercerError:  # the data do not allow this rule, and the page says nothing of it
            continue
    return found


def _panels(subject: Subject, rows: Array, choices: dict[str, Choice]) -> Any:
    yield from pictures.planes(subject, rows)
    singles = (pictures.scree(subject, choices), pictures.circle(subject))
    yield from (panel for panel in singles if panel is not None)
    yield from pictures.bars(subject)
    yield from pictures.surfaces(subject, rows)
    lasts = (pictures.apart(subject, rows), pictures.heat(subject))
    yield from (panel for panel in lasts if panel is not None)


def individuals(subject: Subject, rows: Array) -> Value:
    """Return the individuals that are shown one by one; indicators follow from these columns."""
    return {
        "count": len(subject),
        "rows": rows if len(rows) < len(subject) else None,
        "names": [clean(subject.names[i]) for i in rows],
        "has_names": subject.has_names,
        "coordinates": [subject.coordinates[rows, k] for k in range(min(subject.axes, 10))],
        "spreads": [float(s) for s in subject.spreads[:10]],
        "weights": subject.weights[rows],
        "distances": None if subject.distances is None else subject.distances[rows],
        "colours": list(_colours(subject, rows)),
    }


def _colours(subject: Subject, rows: Array) -> Any:
    if subject.table is None:
        return
    numbers = 0
    for column in subject.table.columns():
        if column.role is Role.FACTOR:
            labels = labels_of(column.values)
            levels, codes = np.unique(labels.astype(str), return_inverse=True)
            names = [clean(level) for level in levels]
            yield {"name": clean(column.name), "levels": names, "codes": codes[rows]}
        elif column.role is Role.NUMBER and numbers < NUMBERS:
            numbers += 1
            yield {"name": clean(column.name), "values": np.asarray(column.values, float)[rows]}


def _remarks(subject: Subject) -> list[str]:
    """Return what a reader must know before trusting the picture."""
    spectrum = subject.spectrum
    said: list[str] = []
    if spectrum is None:
        return said
    if spectrum.is_approximate:
        said.append(
            "An approximation of the kernel was decomposed in its place: small axes may be missing."
        )
    if spectrum.psd not in VERIFIED and subject.kernel is not None:
        said.append(f"Whether the matrix is positive semidefinite: {spectrum.psd}.")
    shared = [" and ".join(str(k + 1) for k in c) for c in spectrum.clusters if len(c) > 1]
    if shared and min(c[0] for c in spectrum.clusters) < 4:
        said.append(
            f"Axes with one eigenvalue between them, arbitrary within the space they span: "
            f"{'; '.join(shared[:3])}."
        )
    negative = getattr(subject.model, "negative_mass_", 0.0) if len(subject) <= 3000 else 0.0
    if negative > 0:
        said.append(
            f"The distances are not Euclidean: {percent(negative)} of the eigenvalues, by "
            "modulus, are negative and not shown."
        )
    return said


def _data(subject: Subject) -> Value:
    table = subject.table
    if table is None:
        return {
            "sentence": f"{count_of(len(subject), 'individual')}; no table was given.",
            "notes": [],
        }
    missing = int(np.sum(~np.isfinite(table.numbers)))
    parts = [
        count_of(len(table), "individual"),
        f"{count_of(len(table.active), 'active column')} of numbers",
        f"{missing} numbers missing" if missing else "no number missing",
    ]
    return {"sentence": f"{', '.join(parts)}.", "notes": [clean(note, 300) for note in table.notes]}


def _kernel(subject: Subject) -> Value | None:
    kernel = subject.kernel
    if kernel is None:
        return None
    spectrum = subject.spectrum
    found = "" if spectrum is None else VERIFIED.get(spectrum.psd, spectrum.psd)
    checked = f"On these individuals: {found}." if found else ""
    if subject.is_precomputed:
        return {"written": "precomputed", "formula": None, "verdict": checked, "proof": []}
    verdict = positive_definite(kernel)
    is_proved = bool(kernel.proof)
    said = kernel.kind.value if is_proved or kernel.kind is not Kind.POSITIVE else str(verdict)
    by = ", by rule" if is_proved else ""
    return {
        "written": clean(repr(kernel), 2_000),
        "formula": formula(kernel),
        "verdict": f"{said[:1].upper()}{said[1:]}{by}. {checked}".strip(),
        "proof": [clean(rule, 300) for rule in kernel.proof.split("; ") if rule],
    }


def _sheets(subject: Subject, rows: Array, choices: dict[str, Choice]) -> Any:
    if subject.table is not None:
        yield _columns_sheet(subject.table)
    if subject.axes:
        yield _axes_sheet(subject, choices.get("horn"))
        yield _individuals_sheet(subject, rows)
    if subject.variables is not None and subject.axes:
        yield _variables_sheet(subject)


def _sheet(name: str, title: str, columns: list[tuple[str, str]], rows: list[list[Any]]) -> Value:
    return {
        "id": name,
        "title": title,
        "columns": [{"name": clean(c), "kind": kind} for c, kind in columns],
        "rows": [[_cell(cell) for cell in row] for row in rows],
    }


def _cell(cell: Any) -> Any:
    """Return a cell as JSON holds it: numbers to six digits, None for what is not finite."""
    if isinstance(cell, bool | int | str) or cell is None:
        return cell
    value = float(cell)
    return float(f"{value:.6g}") if np.isfinite(value) else None


def _columns_sheet(table: Table) -> Value:
    return _sheet(
        "columns",
        "Columns and the roles guessed for them",
        [
            ("column", "text"),
            ("role", "text"),
            ("used as", "text"),
            ("missing", "number"),
            ("values", "text"),
        ],
        [[clean(c.name), c.role.value, _use(c), *_summary(c)] for c in table.columns()][:2_000],
    )


def _use(column: Column) -> str:
    if column.role is Role.NUMBER:
        return "active" if column.is_active else "supplementary"
    return {Role.FACTOR: "supplementary", Role.IDENTIFIER: "names of rows"}.get(
        column.role, "not used"
    )


def _summary(column: Column) -> list[Any]:
    if column.role is Role.NUMBER:
        known = column.values[np.isfinite(column.values)]
        missing = len(column.values) - len(known)
        if not len(known):
            return [missing, ""]
        ends = f"{short(known.min())} to {short(known.max())}"
        return [missing, f"{ends}, mean {short(known.mean())}, deviation {short(known.std())}"]
    if column.role is Role.DATE:
        return [int(np.isnat(column.values).sum()), ""]
    missing = int(sum(v is None for v in column.values))
    levels = column.levels
    names = ", ".join(clean(level, 30) for level in levels[:5])
    return [missing, f"{len(levels)} levels: {names}{', …' if len(levels) > 5 else ''}"]


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
    columns = [("individual", "text")]
    columns += [(f"Dim {k + 1}", "number") for k in axes]
    has_cos2 = subject.distances is not None
    if has_cos2:
        columns += [(f"cos2 {k + 1}", "share") for k in axes]
    columns += [(f"contrib {k + 1}", "share") for k in axes]
    head = rows[:MOST_ROWS]
    parts = [subject.coordinates[head][:, axes]]
    if has_cos2:
        parts.append(np.column_stack([subject.cos2(k)[head] for k in axes]))
    parts.append(np.column_stack([subject.contributions(k)[head] for k in axes]))
    numbers = np.column_stack(parts)
    cells = [[clean(subject.names[i]), *numbers[at]] for at, i in enumerate(head)]
    return {**_sheet("individuals", "Individuals", columns, cells), "total": len(rows)}


def _variables_sheet(subject: Subject) -> Value:
    variables = subject.variables
    if variables is None:
        raise InvalidInput("there are no variables")
    axes = range(min(subject.axes, 3))
    r = np.asarray(variables.correlations, float)
    order = np.argsort(-np.nan_to_num(np.sum(r[:, :2] ** 2, axis=1)), kind="stable")[:1_000]
    columns = [("variable", "text"), *((f"correlation {k + 1}", "number") for k in axes)]
    parts = [r[:, axes]]
    if variables.weights is not None:
        columns += [(f"contrib {k + 1}", "share") for k in axes]
        parts.append(variables.contributions[:, axes])
    numbers = np.column_stack(parts)
    cells = [[clean(variables.names[j]), *numbers[j]] for j in order]
    return {**_sheet("variables", "Variables", columns, cells), "total": len(r)}
