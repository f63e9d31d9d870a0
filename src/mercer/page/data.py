"""Everything a page says of a model, as one value: words, tables, and described pictures."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.check import Array, InvalidInput, MercerError, how_many
from mercer.data.table import Column, Role, Table
from mercer.dimension.choose import Rule, choose_dimension
from mercer.dimension.horn import ParallelAnalysis
from mercer.dimension.rules import Choice
from mercer.kernels.base import Kind
from mercer.kernels.definite import positive_definite
from mercer.page.formula import mathml
from mercer.page.panels import pictures_of, rows_to_show, supplementary_numbers
from mercer.page.reproduce import Reading, code, command_line, facts
from mercer.page.sections import FORMAT, cell
from mercer.page.sentences import analysis, axes_in_words, result
from mercer.page.subject import Passive, Subject, labels_of, noted, subject_of
from mercer.page.text import clean, count_of, percent, short
from mercer.pictures.colours import coloured
from mercer.pictures.ellipses import shape_of
from mercer.pictures.limits import LIMITS
from mercer.reading import Variables

HORN_ROWS = 300
"""Up to this many individuals, permutations take seconds, and are made when none are given."""

MOST_ROWS = 200
"""Rows of a table that stand in the page for readers without scripts."""

ASKED: tuple[Rule, ...] = ("inertia", "kaiser", "scree", "horn")
"""The rules for the number of axes; the last one takes time."""

RULES = {"inertia": "Inertia", "kaiser": "Kaiser", "scree": "Scree test", "horn": "Horn"}
"""Their names."""

MOST_PASSIVE = 2_000
"""Supplementary individuals that stand in a table."""

LINKED = 2_000
"""Variables that pictures of any two axes can show."""

NUMBERS = 8
"""Columns of numbers by which individuals can be coloured."""

VERIFIED = {
    "verified": "no eigenvalue is negative beyond rounding",
    "by construction": "positive semidefinite by construction",
}
"""What a spectrum knows of its signs, in the words of the page."""

Value = dict[str, Any]


def describe(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    model: Any,
    *,
    table: Any = None,
    title: str | None = None,
    choices: Mapping[str, Choice] | None = None,
    command: str | Sequence[str] | None = None,
    source: Path | None = None,
    name: str = "page.html",
    most_points: int = LIMITS.points,
    supplementary: Any = None,
    reading: Reading | Mapping[str, Any] | None = None,
    sections: Sequence[str] = (),
) -> Value:
    """Return what a page says of a fitted model; ``sections`` is the code of what is added to it.

    >>> from mercer import PCA
    >>> value = describe(PCA().fit([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), choices={})
    >>> value["sentences"][:2]
    ['4 individuals, principal component analysis.', '2 dimensions carry 100 % of the inertia.']
    """
    with noted() as remarks:
        subject = subject_of(model, table, supplementary)
        found = dict(choices) if choices is not None else _choices(subject)
        rows = rows_to_show(subject, most_points)
        value = {
            "format": FORMAT,
            "title": clean(title or _title(subject, source)),
            "sentences": result(subject, found),
            "axes": [subject.axis(k) for k in range(subject.axes)],
            "individuals": individuals(subject, rows),
            "passive": _passive(subject),
            "linked": _linked(subject),
            "panels": dict(pictures_of(subject, rows, found)),
            "sheets": {sheet["id"]: sheet for sheet in _sheets(subject, rows, found)},
            "data": _data(subject),
            "rules": [[RULES.get(name, name), str(choice)] for name, choice in found.items()],
            "description": axes_in_words(subject),
            "kernel": _kernel(subject),
            "reproduce": {
                "code": code(subject, source, name, reading, sections),
                "command": command_line(command),
                "facts": facts(subject, source),
            },
            "sections": [],
        }
    said = [*_remarks(subject), *map(clean_remark, dict.fromkeys(remarks))]
    return {**value, "remarks": said}


def clean_remark(text: str) -> str:
    """Return a warning as a sentence of the page."""
    return clean(text[:1].upper() + text[1:], 600).rstrip(".") + "."


def _title(subject: Subject, source: Path | None) -> str:
    name = analysis(subject) if source is None else source.name.lstrip(".").partition(".")[0]
    name = name.replace("_", " ")
    return name[:1].upper() + name[1:]


def _choices(subject: Subject) -> dict[str, Choice]:
    """Return what the rules say of the number of axes; permutations only where they are quick."""
    if subject.inertias is None or not hasattr(subject.model, "inertias_") or subject.axes == 0:
        return {}
    quick = ASKED if len(subject) <= HORN_ROWS else ASKED[:3]
    found: dict[str, Choice] = {}
    for rule in quick:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[rule] = choose_dimension(subject.model, rule=rule, random_state=0)
        except MercerError:  # the data do not allow this rule, and the page says nothing of it
            continue
    return found


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


def _passive(subject: Subject) -> Value | None:
    """Return individuals that took no part in the fit, where they lie on the axes."""
    found = subject.passive
    if found is None:
        return None
    return {
        "names": [clean(name) for name in found.names],
        "coordinates": [found.coordinates[:, k] for k in range(min(subject.axes, 10))],
    }


def _linked(subject: Subject) -> Value:
    """Return variables with their correlations, for the pictures of any two axes."""
    found: dict[str, Variables | None] = {"variables": subject.variables}
    columns = supplementary_numbers(subject)
    if columns:
        passive = subject.model.supplementary(variables=columns).variables
        found["supplementary variables"] = passive
    return {
        of: {
            "names": [clean(name) for name in one.names],
            "coordinates": [one.correlations[:, k].real for k in range(min(subject.axes, 10))],
        }
        for of, one in found.items()
        if one is not None and len(one) <= LINKED
    }


def _colours(subject: Subject, rows: Array) -> Any:
    if subject.table is None:
        return
    numbers = 0
    for column in subject.table.columns():
        if column.role is Role.FACTOR:
            yield _factor(subject, column, rows)
        elif column.role is Role.NUMBER and numbers < NUMBERS:
            numbers += 1
            yield {"name": clean(column.name), "values": np.asarray(column.values, float)[rows]}


def _factor(subject: Subject, column: Column, rows: Array) -> Value:
    """Return a factor by which individuals can be coloured, with the ellipses of its levels."""
    groups = coloured(labels_of(column.values), len(subject)).groups
    codes = np.empty(len(subject), int)
    shapes = []
    F = subject.coordinates[:, :10]
    for level, group in enumerate(groups):
        codes[group.rows] = level
        active = group.rows[subject.weights[group.rows] > 0]
        shapes.append(shape_of(F[active], subject.weights[active]))
    means, covariances, radii2 = (np.array(part) for part in zip(*shapes, strict=True))
    return {
        "name": clean(column.name),
        "levels": [clean(group.name) for group in groups],
        "codes": codes[rows],
        "ellipses": {
            "means": means,
            "covariances": covariances.reshape(len(groups), -1),
            "radii2": radii2,
        },
    }


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
        count = count_of(len(subject), "individual")
        is_map = hasattr(subject.model, "dissimilarity_matrix_")
        points = getattr(subject.model, "X_fit_", None)
        if is_map:
            sentence = f"Distances between {count}."
        elif subject.is_precomputed:
            sentence = f"A matrix of similarities between {count}."
        elif points is not None and how_many(points) and isinstance(points[0], str):
            sentence = f"{count_of(len(subject), 'text')}."
        else:
            sentence = f"{count}, no table of numbers."
        return {"sentence": sentence, "notes": []}
    missing = int(np.sum(~np.isfinite(table.numbers)))
    parts = [
        count_of(len(table), "individual"),
        _columns_in_words(table, subject.used),
        f"{missing} numbers missing" if missing else "no number missing",
    ]
    return {"sentence": f"{', '.join(parts)}.", "notes": [clean(note, 300) for note in table.notes]}


def _columns_in_words(table: Table, used: Sequence[str]) -> str:
    """Return how many columns were used, by their kinds."""
    kinds = {Role.NUMBER: "numbers", Role.FACTOR: "categories", Role.TEXT: "texts"}
    kinds |= {Role.DATE: "dates", Role.IDENTIFIER: "names"}
    roles = [role for name, role in zip(table.names, table.roles, strict=True) if name in used]
    if not roles:
        return f"{count_of(len(table.names), 'column')}, none of them active"
    active = count_of(len(roles), "active column")
    if len(set(roles)) == 1:
        return f"{active} of {kinds[roles[0]]}"
    shares = [f"{roles.count(role)} of {kinds[role]}" for role in dict.fromkeys(roles)]
    return f"{active} ({', '.join(shares)})"


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
        "formula": mathml(kernel),
        "verdict": f"{said[:1].upper()}{said[1:]}{by}. {checked}".strip(),
        "proof": [clean(rule, 300) for rule in kernel.proof.split("; ") if rule],
    }


def _sheets(subject: Subject, rows: Array, choices: dict[str, Choice]) -> Any:
    if subject.table is not None:
        yield _columns_sheet(subject.table, subject.used)
    if subject.axes:
        yield _axes_sheet(subject, choices.get("horn"))
        yield _individuals_sheet(subject, rows)
        if subject.passive is not None:
            yield _passive_sheet(subject.passive)
    if subject.variables is not None and subject.axes:
        yield _variables_sheet(subject)


def _sheet(name: str, title: str, columns: list[tuple[str, str]], rows: list[list[Any]]) -> Value:
    return {
        "id": name,
        "title": title,
        "columns": [{"name": clean(c), "kind": kind} for c, kind in columns],
        "rows": [[cell(entry) for entry in row] for row in rows],
    }


def _columns_sheet(table: Table, used: Sequence[str]) -> Value:
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
        [
            [clean(c.name) or "(no name)", c.role.value, _use(c, used), *_summary(c)]
            for c in table.columns()
        ][:2_000],
    )


def _use(column: Column, used: Sequence[str]) -> str:
    if column.name in used:
        return "active"
    passive = {Role.NUMBER: "supplementary", Role.FACTOR: "supplementary"}
    return {**passive, Role.IDENTIFIER: "names of rows"}.get(column.role, "not used")


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


def _passive_sheet(passive: Passive) -> Value:
    axes = range(min(passive.coordinates.shape[1], 3))
    columns = [("individual", "text"), *((f"Dim {k + 1}", "number") for k in axes)]
    numbers = passive.coordinates[:, axes]
    if passive.cos2 is not None:
        columns += [(f"cos2 {k + 1}", "share") for k in axes]
        numbers = np.column_stack([numbers, passive.cos2[:, axes]])
    cells = [[clean(name), *row] for name, row in zip(passive.names, numbers, strict=True)]
    return _sheet("passive", "Supplementary individuals", columns, cells[:MOST_PASSIVE])


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
