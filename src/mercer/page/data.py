"""Everything a page says of a model, as one value: words, tables, and described pictures."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.check import Array, how_many
from mercer.data.table import Column, Role, Table
from mercer.dimension.choose import Rule, affordable_permutations, choose_dimension
from mercer.dimension.rules import Choice
from mercer.errors import MercerError
from mercer.kernels.base import Kind
from mercer.kernels.definite import positive_definite
from mercer.page.formula import mathml
from mercer.page.limits import PAGE
from mercer.page.panels import pictures_of, rows_to_show, supplementary_numbers
from mercer.page.reproduce import Reading, code, command_line, facts
from mercer.page.sections import FORMAT
from mercer.page.sentences import analysis, axes_in_words, result
from mercer.page.subject import Subject, labels_of, noted, subject_of
from mercer.page.tables import tables_of
from mercer.page.text import clean, count_of, percent
from mercer.pictures.colours import coloured
from mercer.pictures.ellipses import shape_of
from mercer.pictures.limits import LIMITS
from mercer.progress import Progress
from mercer.reading import Variables

ASKED: tuple[Rule, ...] = ("inertia", "kaiser", "scree", "horn")
"""The rules for the number of axes; the last one takes time."""

RULES = {"inertia": "Inertia", "kaiser": "Kaiser", "scree": "Scree test", "horn": "Horn"}
"""Their names."""

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
    tell: Progress | None = None,
) -> Value:
    """Return what a page says of a fitted model; ``sections`` is the code of what is added to it.

    ``tell`` hears of the permutations of Horn's test.

    >>> from mercer import PCA
    >>> value = describe(PCA().fit([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), choices={})
    >>> value["sentences"][:2]
    ['4 individuals, principal component analysis.', '2 dimensions carry 100 % of the inertia.']
    """
    with noted() as remarks:
        subject = subject_of(model, table, supplementary)
        found = dict(choices) if choices is not None else _choices(subject, tell)
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
            "sheets": {sheet["id"]: sheet for sheet in tables_of(subject, rows, found)},
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


def _choices(subject: Subject, tell: Progress | None) -> dict[str, Choice]:
    """Return what the rules say of the number of axes; permutations only where they are quick."""
    if subject.inertias is None or not hasattr(subject.model, "inertias_") or subject.axes == 0:
        return {}
    permutations, _ = affordable_permutations(subject.model)
    found: dict[str, Choice] = {}
    for rule in ASKED if permutations else ASKED[:3]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[rule] = choose_dimension(
                    subject.model,
                    rule=rule,
                    permutations=permutations or 1,
                    random_state=0,
                    progress=tell,
                )
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
        "coordinates": [subject.coordinates[rows, k] for k in range(min(subject.axes, PAGE.axes))],
        "spreads": [float(s) for s in subject.spreads[: PAGE.axes]],
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
        "coordinates": [found.coordinates[:, k] for k in range(min(subject.axes, PAGE.axes))],
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
            "coordinates": [
                one.correlations[:, k].real for k in range(min(subject.axes, PAGE.axes))
            ],
        }
        for of, one in found.items()
        if one is not None and len(one) <= PAGE.linked
    }


def _colours(subject: Subject, rows: Array) -> Any:
    if subject.table is None:
        return
    numbers = 0
    for column in subject.table.columns():
        if column.role is Role.FACTOR:
            yield _factor(subject, column, rows)
        elif column.role is Role.NUMBER and numbers < PAGE.colours:
            numbers += 1
            yield {"name": clean(column.name), "values": np.asarray(column.values, float)[rows]}


def _factor(subject: Subject, column: Column, rows: Array) -> Value:
    """Return a factor by which individuals can be coloured, with the ellipses of its levels."""
    groups = coloured(labels_of(column.values), len(subject)).groups
    codes = np.empty(len(subject), int)
    shapes = []
    F = subject.coordinates[:, : PAGE.axes]
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
