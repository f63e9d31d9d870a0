"""Everything a page says of a model, as one value: words, tables, and described pictures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer.analysis import Analysis, Doubt
from mercer.check import Array, how_many
from mercer.clusters import Clusters
from mercer.clusters.finding import deciding_axes
from mercer.data.table import Column, Role, Table
from mercer.dimension.choose import RISK, Rule, affordable_permutations, choose_dimension
from mercer.dimension.rules import Choice
from mercer.errors import MercerError
from mercer.kernels.base import Kind
from mercer.kernels.definite import positive_definite
from mercer.page.panels import (
    DECOMPOSED,
    kernel_pictures,
    map_of,
    outliers_of,
    pictures_of,
    rows_to_show,
)
from mercer.page.reproduce import Reading, code, command_line, facts
from mercer.page.safe_text import PAGE, clean, count_of, listing, mathml, percent
from mercer.page.sections import FORMAT, kind_of, tables_of
from mercer.page.sentences import (
    analysis,
    axes_in_words,
    classes_of,
    dimension,
    exactness,
    groups_value,
    method,
    name_of_classes,
    result,
    rule_told,
)
from mercer.page.subject import Subject, collect_remarks, face_axes, labels_of, subject_of
from mercer.pictures.clouds import SHADED
from mercer.pictures.colours import colouring_of
from mercer.pictures.limits import LIMITS
from mercer.progress import Progress

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
    clusters: int | None = None,
    tell: Progress | None = None,
    is_live: bool = False,
) -> Value:
    """Return what a page says of a fitted model; ``sections`` is the code of what is added to it.

    ``tell`` hears of the permutations of Horn's test. A live page has what answers at once: no
    functions of variables and no Gram matrix, classes and tests of axes of few individuals only.

    >>> from mercer import PCA
    >>> value = describe(PCA().fit([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), choices={})
    >>> value["sentences"][0]
    '4 individuals, principal component analysis.'
    """
    made = model if isinstance(model, Analysis) else None
    straight = model if made is None else made.model
    data = table if made is None or table is not None else made.table
    data = _coloured_as(data, made)
    with collect_remarks() as remarks:
        subject = subject_of(straight, data, supplementary)
        if made is not None and made.counted is not None:
            subject = replace(subject, counted=made.counted)
        beside = None if made is None or made.curved is None else face_axes(made.curved, straight)
        curved = None if beside is None else subject_of(beside, data, supplementary)
        found = dict(choices) if choices is not None else _choices(subject, tell)
        opens = _opens(made, curved)
        rows = rows_to_show(subject, most_points)
        is_long = is_live and len(subject) > PAGE.live
        classes = (
            None if is_long else classes_of(subject, deciding_axes(found, subject.axes), clusters)
        )
        value: Value = {
            "format": FORMAT,
            "title": clean(title or _title(subject, source)),
            "source": None if source is None else clean(source.name),
            "sentences": result(subject, found, made),
            "axes": [subject.axis(k) for k in range(subject.axes)],
            "individuals": individuals(subject, rows, classes),
            "passive": _passive(subject),
            "linked": _linked(subject),
            "curved": None if curved is None else space_value(curved, rows, opens),
            "panels": dict(_pictures(subject, curved, rows, found, opens, is_live=is_live)),
            "sheets": {s["id"]: s for s in tables_of(subject, rows, found, _reasons(made))},
            "data": _data(subject, made),
            "dimension": dimension(subject, found),
            "rules": [[RULES.get(name, name), rule_told(choice)] for name, choice in found.items()],
            "description": [] if is_long else axes_in_words(subject),
            "groups": None if classes is None else groups_value(subject, classes, clusters),
            "outliers": _outliers(subject),
            "kernel": _kernel(curved or subject),
            "exactness": exactness(subject),
            "reproduce": {
                "code": code(
                    subject,
                    source,
                    name,
                    reading,
                    sections=sections,
                    clusters=clusters,
                    made=made,
                ),
                "command": command_line(command),
                "facts": facts(subject, source),
            },
            "sections": [],
        }
    if value["groups"] is not None:
        value["sheets"]["classes"] = value["groups"].pop("sheet")
    doubts = _told_beside(value["panels"], () if made is None else made.doubts)
    said = [*(clean_remark(d.text) for d in doubts), *_remarks(subject)]
    said += map(clean_remark, dict.fromkeys(remarks))
    return {**value, "remarks": list(dict.fromkeys(said))}


def _told_beside(panels: dict[str, Any], doubts: Sequence[Doubt]) -> Sequence[Doubt]:
    """Put the doubts of the curved map beside it, where they are seen, and return the others."""
    if "curved" not in panels:
        return doubts
    there = tuple(clean_remark(d.text) for d in doubts if d.map == "curved")
    panel = panels["curved"]
    panels["curved"] = replace(panel, notes=(*panel.notes, *there))
    return [d for d in doubts if d.map != "curved"]


def _coloured_as(data: Any, made: Analysis | None) -> Any:
    """Return a table with the colour that an analysis chose for it, unless one was asked for."""
    chosen = made.table if made is not None and isinstance(made.table, Table) else None
    if chosen is None or not isinstance(data, Table) or data.coloured is not None:
        return data
    if chosen.coloured not in data.names:
        return data
    notes = tuple(dict.fromkeys((*data.notes, *chosen.notes)))
    return replace(data, coloured=chosen.coloured, notes=notes)


def _opens(made: Analysis | None, curved: Subject | None) -> tuple[int, ...]:
    """Return the axes of the curved map on which what the kernel adds is seen."""
    first = (1, 2) if curved is None else (1, 2)[: curved.axes]
    if made is None or made.evidence is None or curved is None:
        return first
    return made.evidence.plane if made.evidence.plane[1] <= axes_told(curved) else first


def _pictures(  # noqa: PLR0913  (what is drawn, and how)
    subject: Subject,
    curved: Subject | None,
    rows: Array,
    choices: dict[str, Choice],
    opens: tuple[int, ...],
    *,
    is_live: bool,
) -> Iterator[tuple[str, Any]]:
    """Yield the pictures of the straight model, the curved map behind the first, and its own."""
    drawn = dict(pictures_of(subject, rows, choices, is_live=is_live))
    if curved is None or not drawn:
        yield from drawn.items()
        return
    first, *others = drawn
    yield first, replace(drawn[first], title=f"Straight map: {method(subject)}")
    beside = map_of(curved, rows, opens, f"Curved map: {method(curved)}")
    marks = [_marks_among(one) for one in (subject, curved)]
    alike = f"; {' and '.join(marks[0])} as beside" if marks[0] and marks[0] == marks[1] else ""
    said = f"{analysis(curved)[:1].upper()}{analysis(curved)[1:]}{alike}."
    if opens != (1, 2)[: curved.axes]:
        said += f" Axes {opens[0]} and {opens[1]}, where it separates the groups best."
    told = {note for note in drawn[first].notes if not note.startswith(SHADED)}
    notes = (note for note in beside.notes if note not in told)
    yield "curved", replace(beside, notes=(said, *notes))
    yield from ((name, drawn[name]) for name in others if name != "gram")
    if not is_live:
        yield from kernel_pictures(curved, rows)


def _marks_among(subject: Subject) -> list[str]:
    """Return what is drawn among the individuals of a map, as a caption calls it."""
    kinds = {e.of.removeprefix("supplementary ") for e in subject.elements}
    kinds -= set() if any(e.of == "variables" for e in subject.elements) else {"variables"}
    words = {"variables": "arrows", "categories": "diamonds", "columns": "triangles"}
    return [word for kind, word in words.items() if kind in kinds]


def space_value(subject: Subject, rows: Array, opens: Sequence[int] = (1, 2)) -> Value:
    """Return a second map of the same individuals: its axes, and where everything lies on them.

    ``opens`` are the axes that are drawn first.
    """
    return {
        "opens": [k - 1 for k in opens],
        "axes": [subject.axis(k) for k in range(subject.axes)],
        **_places(subject, rows),
        "passive": _passive(subject),
        "linked": _linked(subject),
    }


def axes_told(subject: Subject) -> int:
    """Return of how many axes a page tells coordinates: all that were asked for, of few."""
    room = PAGE.coordinates // max(len(subject), 1)
    fewest = PAGE.axes if len(subject) <= PAGE.many else PAGE.axes_of_many
    return min(subject.axes, max(fewest, room))


def _places(subject: Subject, rows: Array) -> Value:
    """Return where individuals lie on the axes; cos2 and contributions follow from it."""
    found = subject.doubtful if len(rows) == len(subject) else None
    return {
        "coordinates": [subject.coordinates[rows, k] for k in range(axes_told(subject))],
        "spreads": [float(s) for s in subject.spreads[: axes_told(subject)]],
        "distances": None if subject.distances is None else subject.distances[rows],
        "imputed": None if found is None else list(found.moves.T[: axes_told(subject)]),
    }


def _outliers(subject: Subject) -> str | None:
    """Return who stands apart and why, in a sentence."""
    found = outliers_of(subject)
    return None if found is None else clean(found.told(one=subject.one), 1_000)


def clean_remark(text: str) -> str:
    """Return a warning as a sentence of the page."""
    return clean(text[:1].upper() + text[1:], 600).rstrip(".") + "."


def _title(subject: Subject, source: Path | None) -> str:
    """Return the name of the file and of the method."""
    if source is None:
        name = analysis(subject)
    else:
        file = source.name.lstrip(".").partition(".")[0].replace("_", " ")
        name = f"{file}: {method(subject)}"
    return name[:1].upper() + name[1:]


def _choices(subject: Subject, tell: Progress | None) -> dict[str, Choice]:
    """Return what the rules say of the number of axes; permutations only where they are quick."""
    if subject.inertias is None or not hasattr(subject.model, "inertias_") or subject.axes == 0:
        return {}
    permutations, _ = affordable_permutations(subject.model, subject.counted)
    found: dict[str, Choice] = {}
    for rule in ASKED if permutations else ASKED[:3]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[rule] = choose_dimension(
                    subject.model,
                    rule=rule,
                    permutations=permutations or 1,
                    risk=RISK,
                    counted=subject.counted,
                    random_state=0,
                    progress=tell,
                )
        except MercerError:  # the data do not allow this rule, and the page says nothing of it
            continue
    return found


def individuals(subject: Subject, rows: Array, classes: Clusters | None = None) -> Value:
    """Return the individuals that are shown one by one; indicators follow from these columns."""
    return {
        "one": subject.one,
        "count": len(subject),
        "rows": rows if len(rows) < len(subject) else None,
        "names": [clean(subject.names[i]) for i in rows],
        "has_names": subject.has_names,
        **_places(subject, rows),
        "weights": subject.weights[rows],
        "colours": list(_colours(subject, rows, classes)),
    }


def _passive(subject: Subject) -> Value | None:
    """Return individuals that took no part in the fit, where they lie on the axes."""
    found = subject.passive
    if found is None:
        return None
    return {
        "names": [clean(name) for name in found.names],
        "coordinates": [found.coordinates[:, k] for k in range(axes_told(subject))],
    }


def _linked(subject: Subject) -> Value:
    """Return variables, categories and the like with their measures on each axis."""
    axes = range(axes_told(subject))
    return {
        e.of: {
            "names": [clean(name) for name in e.names],
            "one": e.one,
            "coordinates": [e.coordinates[:, k] for k in axes],
            "measures": [
                {"name": name, "kind": kind_of(name), "values": [values[:, k] for k in axes]}
                for name, values in e.measures.items()
            ],
        }
        for e in subject.elements
    }


def _colours(subject: Subject, rows: Array, classes: Clusters | None) -> Iterator[Value]:
    """Yield every column of numbers or labels, and the classes; numbers as far as there is room."""
    room = PAGE.coloured_cells
    for column in _with_colour_first(subject.table):
        if column.role is Role.FACTOR:
            yield _factor(column.name, labels_of(column.values), rows)
        elif column.role is Role.NUMBER and room >= len(rows):
            room -= len(rows)
            yield {"name": clean(column.name), "values": np.asarray(column.values, float)[rows]}
    if classes is not None:
        name = name_of_classes(subject)
        levels = [f"{name} {k}" for k in range(1, classes.count + 1)]
        yield {"name": name, "levels": levels, "codes": classes.labels[rows] - 1}


def _with_colour_first(table: Table | None) -> list[Column]:
    """Return the columns of a table with the factor that colours before all other factors."""
    if table is None or table.colour is None:
        return [] if table is None else [*table.columns()]
    chosen = table.colour
    found = [column for column in table.columns() if column.name != chosen.name]
    at = next((i for i, c in enumerate(found) if c.role is Role.FACTOR), len(found))
    before = table.names.index(chosen.name)
    found.insert(min(at, before), chosen)
    return found


def _factor(name: str, labels: Array, rows: Array) -> Value:
    """Return a factor by which individuals can be coloured."""
    groups = colouring_of(labels, len(labels)).groups
    codes = np.empty(len(labels), int)
    for level, group in enumerate(groups):
        codes[group.rows] = level
    return {
        "name": clean(name),
        "levels": [clean(group.name) for group in groups],
        "codes": codes[rows],
    }


CENTRED = 5
"""Individuals at the centre that are named."""


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
    clusters = [c for c in spectrum.clusters if len(c) > 1 and c[0] < subject.axes]
    shared = [listing([str(k + 1) for k in c]) for c in clusters]
    if shared and min(c[0] for c in clusters) < 4:
        said.append(
            f"Axes {'; '.join(shared[:3])} are equal in size: any rotation of them is as good, so "
            "read them together."
        )
    is_known = len(subject) <= DECOMPOSED
    negative = getattr(subject.model, "negative_mass_", 0.0) if is_known else 0.0
    if negative > 0:
        said.append(
            f"No points of a flat space have exactly these distances: {percent(negative)} of what "
            "they hold is on no axis (they are not Euclidean)."
        )
    said += _centred(subject)
    return said


def _centred(subject: Subject) -> list[str]:
    """Return who lies at the centre, as individuals do of whom no number was measured."""
    if subject.distances is None:
        return []
    at = np.flatnonzero(np.asarray(subject.distances) == 0.0)
    unknown = _unmeasured(subject)
    told = [
        (at[unknown[at]], "as no value of what makes the axes was measured"),
        (at[~unknown[at]], "average in all that makes the axes"),
    ]
    return [
        f"{listing([clean(subject.names[i]) for i in rows], CENTRED)} "
        f"{'lie' if len(rows) > 1 else 'lies'} at the centre, {why}, so "
        f"{'their' if len(rows) > 1 else 'its'} cos2 does not exist."
        for rows, why in told
        if len(rows)
    ]


def _unmeasured(subject: Subject) -> Array:
    """Return which rows hold nothing that makes the axes but what was put in for missing values."""
    put = {} if subject.table is None else subject.table.imputed
    if not subject.used or any(name not in put for name in subject.used):
        return np.zeros(len(subject), bool)
    found: Array = np.all([put[name] for name in subject.used], axis=0)
    return found


def _reasons(made: Analysis | None) -> dict[str, str]:
    return {} if made is None else {fate.name: fate.reason for fate in made.fates}


def _data(subject: Subject, made: Analysis | None = None) -> Value:
    table = subject.table
    if table is None:
        count = count_of(len(subject), subject.one)
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
    put = sum(int(mask.sum()) for mask in table.imputed.values())
    is_noted = any("missing" in note for note in table.notes)  # with what stands for them
    parts = [
        count_of(len(table), "row" if subject.counted is not None else subject.one),
        _columns_in_words(table, subject.used),
        f"{missing} numbers missing" if missing else "" if put else "no number missing",
        f"{count_of(put, 'missing value')} imputed" if put and not is_noted else "",
    ]
    sentence = ", ".join(part for part in parts if part)
    return {"sentence": f"{sentence}.", "notes": [clean(note, 300) for note in table.notes]}


def _columns_in_words(table: Table, used: Sequence[str]) -> str:
    """Return how many columns were used, by their kinds."""
    kinds = {Role.NUMBER: "numbers", Role.FACTOR: "categories", Role.TEXT: "texts"}
    kinds |= {Role.DATE: "dates", Role.IDENTIFIER: "names"}
    active = frozenset(used)
    roles = [role for name, role in zip(table.names, table.roles, strict=True) if name in active]
    if not roles:
        return f"{count_of(len(table.names), 'column')}, none of them active"
    counted = count_of(len(roles), "active column")
    if len(set(roles)) == 1:
        return f"{counted} of {kinds[roles[0]]}"
    shares = [f"{roles.count(role)} of {kinds[role]}" for role in dict.fromkeys(roles)]
    return f"{counted} ({', '.join(shares)})"


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
