"""The pictures that a page has of a model, all described by `mercer.pictures`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.check import Array, how_many
from mercer.data.table import Role
from mercer.dimension.horn import ParallelAnalysis
from mercer.dimension.rules import Choice, KaiserChoice
from mercer.errors import MercerError
from mercer.factorial import MCA
from mercer.kernels.vectors import Linear
from mercer.mds import ClassicalMDS
from mercer.page.imputed import with_crosses
from mercer.page.safe_text import PAGE, clean, count_of, percent
from mercer.page.sections import Section
from mercer.page.subject import Subject, labels_of
from mercer.pictures.categories import categories
from mercer.pictures.circle import biplot, contributions, variables
from mercer.pictures.clouds import sample_rows
from mercer.pictures.colours import colouring_of
from mercer.pictures.curves import shepard
from mercer.pictures.heat_maps import heat_map
from mercer.pictures.limits import LIMITS
from mercer.pictures.models import Elements, Shares
from mercer.pictures.planes import individuals, outliers
from mercer.pictures.scene import Labels, Mark, Panel, Sheet
from mercer.pictures.spectra import eigenvalues, scree
from mercer.pictures.surfaces import eigenfunctions
from mercer.points import take
from mercer.reading import Individuals, Outliers, Supplementary
from mercer.reading.outliers import FEWEST_ROWS

Picture = Panel | Sheet
Choices = dict[str, Choice]

NO_COMBINATIONS = (
    "Axes of this kernel are no combinations of variables: the arrows show how far each variable "
    "alone follows an axis."
)

MADE = {
    "variables": "Arrows point to larger values: correlations with the axes, lengthened to fit.",
    "categories": "Diamonds are categories, each at the mean of the individuals that have it.",
    "columns": (
        "Triangles are columns: rows that hold more of one than usual lie in its direction from "
        "the centre. How near a row is to a triangle says nothing."
    ),
}
"""How a map with elements is read."""

STRETCHED = (
    "Diamonds are categories, each in the direction of the mean of the individuals that have it, "
    "drawn out by 1/√inertia on each axis."
)
"""How that of a multiple correspondence analysis is, whose categories are principal coordinates."""

MOST_NAMED = f"Names are those of the {LIMITS.labels} that contribute most, where there is room."


BY_GROUP = 2
"""Individuals of each group that a map of many names."""

EACH_NAMED = f"Names are those of the {BY_GROUP} of each group that contribute most, if they fit."


def pictures_of(
    subject: Subject, rows: Array, choices: Choices, *, is_live: bool = False
) -> Iterator[tuple[str, Picture]]:
    """Yield every picture that a model has, by its name; the first is its map."""
    if subject.axes == 0:
        return
    yield from _planes(subject, rows)
    has_all = _has_signs(subject) or (  # in its own section
        subject.axes <= 2 and hasattr(subject.model, "eigenvalues_")
    )
    if is_live and _has_signs(subject):
        yield "scree", _eigenvalues(subject)
    elif subject.shares is not None and subject.inertias is not None and not has_all:
        yield "scree", _scree(subject, choices)
    made = makers(subject)
    of_numbers = [len(e) for e in subject.elements if e.of == "variables"]
    if of_numbers and (of_numbers[0] > 1 or not made or made[0].of == "variables"):
        yield "circle", _circle(subject)
    if are_crowded(subject):
        yield "categories", _categories(subject)
    for name, elements in zip(CONTRIBUTIONS, made, strict=False):
        for k in range(1, min(subject.axes, 2) + 1):
            yield (
                f"{name}-{k}",
                contributions.describe(elements, axes=k, spectrum=_shares(subject), most=MOST_BARS),
            )
    if is_live:
        return
    found = outliers_of(subject)
    if found is not None:
        panel = outliers.describe(found, colour=_colour(subject), rows=rows)
        # That nobody stands apart is said above, and no ring needs a word then.
        yield "apart", panel if len(found.rows) else replace(panel, notes=())
    yield from kernel_pictures(subject, rows)


def kernel_pictures(subject: Subject, rows: Array) -> Iterator[tuple[str, Panel]]:
    """Yield what a kernel adds: its axes as functions of variables, and its values."""
    if subject.axes == 0:
        return
    yield from _functions(subject, rows)
    if subject.kernel is not None and getattr(subject.model, "X_fit_", None) is not None:
        yield "gram", _gram(subject)


CONTRIBUTIONS = ("contributions", "others")
"""The pictures of what makes the axes: the elements that make most of them, and others."""

MOST_BARS, MOST_EIGENVALUES = 12, 60
"""Bars of contributions on a page, and eigenvalues of distances that are shown beside a map."""

DECOMPOSED = 3000
"""Individuals up to which all eigenvalues of their distances are found for a page."""


def makers(subject: Subject) -> list[Elements]:
    """Return the elements that make the axes, those that make most of the first one first."""
    made = [e for e in subject.elements if "contrib" in e.measures]
    return sorted(made, key=lambda e: -float(np.nansum(e.measures["contrib"][:, 0])))


def are_crowded(subject: Subject) -> bool:
    """Whether the categories that make the axes are too many to stand among the individuals."""
    return subject.axes > 1 and any(
        e.of == "categories" and len(e) > LIMITS.crowded_categories for e in subject.elements
    )


def rows_to_show(subject: Subject, most: int) -> Array:
    """Return the rows a page shows one by one: all, or a sample stratified by the colour."""
    n = len(subject)
    if n <= most:
        return np.arange(n)
    groups = colouring_of(_colour(subject), n).groups
    return sample_rows(tuple(g.rows for g in groups), min(LIMITS.sample, most))


def _colour(subject: Subject) -> Any:
    """Return the factor by which individuals are coloured; missing labels are a level."""
    colour = None if subject.table is None else subject.table.colour
    return None if colour is None else replace(colour, values=labels_of(colour.values))


def _shares(subject: Subject) -> Shares:
    clusters = () if subject.spectrum is None else subject.spectrum.clusters
    return Shares(np.zeros(0) if subject.shares is None else subject.shares, clusters)


def outliers_of(subject: Subject) -> Outliers | None:
    """Return who stands apart, None where no rule can tell.

    A few rows cannot, nor rows that stand for many individuals: those who are many make much of an
    axis, and are no exception.
    """
    has_none = subject.axes == 0 or subject.distances is None or subject.rests is None
    if has_none or subject.counted is not None or len(subject) < FEWEST_ROWS:
        return None
    found: Outliers = replace(subject.model.outliers(), individuals=named_individuals(subject))
    return found


def named_individuals(subject: Subject) -> Individuals:
    """Return the individuals as the model reads them, under the names that the page gives them."""
    found: Individuals = subject.model.individuals_
    return replace(found, names=tuple(map(str, subject.names)))


def _planes(subject: Subject, rows: Array) -> Iterator[tuple[str, Panel]]:
    """Yield the map of the first two axes, with what places the individuals there."""
    axes = (1, 2)[: subject.axes]
    yield f"plane-{'-'.join(map(str, axes))}", map_of(subject, rows, axes)


def map_of(
    subject: Subject, rows: Array, axes: tuple[int, ...] = (1, 2), title: str = "Individuals"
) -> Panel:
    """Return the individuals on a plane, with variables, categories or columns among them."""
    read = named_individuals(subject)
    passive = None
    if subject.passive is not None:
        at, names = subject.passive.coordinates, subject.passive.names
        nothing = np.zeros(len(at))
        passive = Supplementary(individuals=Individuals(at, None, nothing, read.inertias, names))
    is_named = subject.has_names or len(rows) <= LIMITS.labels
    labels = len(rows) if len(rows) <= LIMITS.all_named else LIMITS.labels
    look: dict[str, Any] = {
        "axes": axes,
        "spectrum": _shares(subject),
        "colour": _colour(subject),
        "ellipses": None if _colour(subject) is None else "concentration",
        "labels": labels if is_named else 0,
        "supplementary": passive,
        "rows": rows,
        "title": title,
    }
    most = LIMITS.crowded_categories if are_crowded(subject) else LIMITS.map_categories
    shown = [e for e in subject.elements if e.of != "supplementary variables"]
    if len(axes) < 2 or not shown:
        panel = individuals.describe(read, **look)
    else:
        panel = biplot.describe(read, shown, most_points=most, **look)
    groups = colouring_of(_colour(subject), len(subject)).groups
    is_of_groups = is_named and len(groups) > 1 and len(rows) > LIMITS.few
    if is_of_groups:
        panel = _named_by_group(panel, [group.rows for group in groups])
    kinds = dict.fromkeys(e.of.removeprefix("supplementary ") for e in shown)
    words = MADE | ({"categories": STRETCHED} if isinstance(subject.model, MCA) else {})
    made = [words[kind] for kind in kinds if len(axes) == 2]
    total = sum(len(e) for e in shown if e.of == "categories")
    if len(axes) == 2 and total > most:
        made.append(f"Here are the {most} of {total} that the plane shows best, more are below.")
    notes = [note for note in panel.notes if not note.startswith("Arrows are correlations")]
    panel = replace(panel, notes=(*_said(subject, rows, is_of_groups=is_of_groups), *made, *notes))
    if subject.doubtful is None or len(axes) < 2 or len(rows) < len(subject):
        return panel
    return with_crosses(panel, subject.doubtful, subject.coordinates, axes, subject.names)


def _named_by_group(panel: Panel, groups: list[Array]) -> Panel:
    """Return a map that names the two of each group that contribute most, in turn."""
    kept: list[Mark] = []
    for mark in panel.marks:
        if isinstance(mark, Labels) and mark.ids is not None and mark.ids.of == "individuals":
            held = [np.flatnonzero(np.isin(mark.ids.rows, group))[:BY_GROUP] for group in groups]
            turns = [i for k in range(BY_GROUP) for one in held for i in one[k : k + 1].tolist()]
            mark = _of_rows(mark, turns[: mark.most])
        kept.append(mark)
    return replace(panel, marks=tuple(kept))


def _of_rows(mark: Labels, places: list[int]) -> Labels:
    texts, colours = (tuple(many[i] for i in places) for many in (mark.texts, mark.colours))
    x, y, ids = mark.x[places], mark.y[places], mark.ids
    ids = None if ids is None else replace(ids, rows=ids.rows[places], names=texts)
    return replace(mark, x=x, y=y, texts=texts, colours=colours, most=len(places), ids=ids)


def _said(subject: Subject, rows: Array, *, is_of_groups: bool = False) -> Iterator[str]:
    if subject.passive is not None:
        yield f"Hollow: {count_of(len(subject.passive.names), 'supplementary individual')}."
    if subject.has_names and len(rows) > LIMITS.all_named:
        yield EACH_NAMED if is_of_groups else MOST_NAMED
    yield from _colour_said(subject)


def _colour_said(subject: Subject) -> Iterator[str]:
    """Yield why another factor than the first colours, where nobody asked for it."""
    table, colour = subject.table, _colour(subject)
    if table is None or colour is None or colour.name == table.coloured:
        return
    first = next(column for column in table.columns() if column.role is Role.FACTOR)
    if first.name != colour.name:
        own, other = (f'"{clean(c.name, 40)}"' for c in (colour, first))
        counts = f"{count_of(len(colour.levels), 'level')}; {other} has {len(first.levels)}"
        yield f"Coloured by {own}, which has {counts}."


def _scree(subject: Subject, choices: Choices) -> Panel:
    horn, kaiser = choices.get("horn"), choices.get("kaiser")
    total = None
    if subject.shares is not None and subject.inertias is not None and subject.shares[0] > 0:
        total = float(subject.inertias[0] / subject.shares[0])
    return scree.describe(
        subject.inertias,
        total=total,
        horn=horn if isinstance(horn, ParallelAnalysis) and horn.null.size else None,
        kaiser=kaiser.mean if isinstance(kaiser, KaiserChoice) else None,
        clusters=() if subject.spectrum is None else subject.spectrum.clusters,
    )


def _has_signs(subject: Subject) -> bool:
    """Whether all eigenvalues of distances are known, negative ones too."""
    return isinstance(subject.model, ClassicalMDS) and len(subject) <= DECOMPOSED


def _eigenvalues(subject: Subject) -> Panel:
    """Return all eigenvalues of distances as bars, those that are negative and make no axis too."""
    values = np.asarray(subject.model.eigenvalues_, float)
    panel = scree.describe(values, most=MOST_EIGENVALUES, title="Eigenvalues")
    return replace(panel, y=replace(panel.y, title="eigenvalue"))


def _circle(subject: Subject) -> Panel:
    by_kind = {e.of: e for e in subject.elements}
    active, passive = by_kind["variables"], by_kind.get("supplementary variables")
    axes = (1, 2)[: subject.axes]
    panel = variables.describe(
        active.read,
        axes=axes,
        spectrum=_shares(subject),
        supplementary=None if passive is None else passive.read,
        title="Variables",
    )
    is_linear = subject.variables is None or subject.variables.deviations is not None
    said = "Correlations with the axes: the longer an arrow, the better the plane shows it."
    more = () if is_linear else (NO_COMBINATIONS,)
    return replace(panel, notes=(said, *more, *panel.notes))


def _categories(subject: Subject) -> Panel:
    """Return the categories without the individuals."""
    (active,) = (e for e in subject.elements if e.of == "categories")
    panel = categories.describe(active, spectrum=_shares(subject))
    placed = STRETCHED if isinstance(subject.model, MCA) else MADE["categories"]
    return replace(panel, notes=(placed, *panel.notes))


def _functions(subject: Subject, rows: Array) -> Iterator[tuple[str, Panel]]:
    """Yield the first axes as functions of the two variables that follow them best."""
    points = getattr(subject.model, "X_fit_", None)
    if subject.kernel is None or subject.variables is None or points is None:
        return
    if subject.kernel == Linear():
        return
    axes = tuple(range(1, min(subject.axes, PAGE.functions) + 1))
    try:
        found = eigenfunctions.describe(
            subject.model,
            axes=axes,
            colour=_colour(subject),
            labels=subject.names,
            rows=rows,
            grid=PAGE.grid,
        )
    except MercerError:  # the kernel does not exist between the individuals
        return
    for k, panel in zip(axes, found.panels, strict=True):
        names = " and ".join(n for n in (panel.x.title, panel.y.title) if n != panel.title)
        said = f"Coordinate on axis {k} of an individual with these values."
        held = ("The other variables are at their medians.",) if found.notes[:1] else ()
        title = f"Axis {k} as a function of {names}"
        yield f"function-{k}", replace(panel, title=title, notes=(said, *held), size=found.cell)


def _gram(subject: Subject) -> Panel:
    """Return the Gram matrix of some individuals, ordered by factor and first axis."""
    points, kernel = subject.model.X_fit_, subject.kernel
    n = how_many(points)
    order = np.argsort(subject.coordinates[:, 0], kind="stable")
    colour = _colour(subject)
    if colour is not None:
        levels = np.unique(colour.values.astype(str), return_inverse=True)[1]
        order = order[np.argsort(levels[order], kind="stable")]
    rows = order[np.unique(np.linspace(0, n - 1, min(n, PAGE.matrix)).round().astype(int))]
    if subject.is_precomputed:
        K = np.asarray(points)[np.ix_(rows, rows)]
    else:
        K = np.asarray(kernel(take(points, np.sort(rows))))
        back = np.argsort(np.argsort(rows))
        K = K[np.ix_(back, back)]
    by = "their first coordinate"
    by = by if colour is None else f"{colour.name}, then by {by}"
    some = "Individuals" if len(rows) == n else f"{len(rows)} of {n} individuals"
    names = [str(subject.names[i]) for i in rows]
    panel = heat_map.describe(
        np.real(K),
        names=names,
        rows=rows,
        groups=None if colour is None else colour.values[rows],
        order="given",
    )
    return replace(panel, notes=(f"k(x, y) of pairs. {some}, in the order of {by}.",))


def map_sections(model: Any, value: dict[str, Any]) -> list[Section]:
    """Return the section of distances that a map has, and none for other models."""
    distances = getattr(model, "dissimilarity_matrix_", None)
    if distances is None or len(distances) < 2:
        return []
    D = np.asarray(distances, float)
    pictures: list[Panel] = []
    said = []
    if hasattr(model, "goodness_"):
        pictures.append(eigenvalues.describe(model.eigenvalues_, title="Eigenvalues"))
        kept, negative = percent(model.goodness_.absolute), percent(model.negative_mass_)
        said.append(
            f"The map shows {kept} of what the distances hold, which is the sum of all eigenvalues "
            f"without their signs, Σ|λ|; before any correction {negative} of it is negative, and "
            "negative eigenvalues make no axis."
        )
    pictures.append(shepard.describe(_pairs(model, D)))
    if len(D) <= PAGE.distances and np.all(np.isfinite(D)):
        names = value["individuals"]["names"]
        pictures.append(
            heat_map.describe(D, names=names, order="distance", what="distance", title="Distances")
        )
    return [Section("Distances", said, pictures)]


def _pairs(model: Any, D: Array) -> tuple[Array, Array, Array]:
    """Return the values of Shepard's diagram, those of a stress map as the model keeps them."""
    kept = getattr(model, "shepard_", None)
    if kept is not None:
        return kept  # type: ignore[no-any-return]
    rows = np.unique(np.linspace(0, len(D) - 1, min(len(D), PAGE.shepard)).round().astype(int))
    F = model.embedding_[rows]
    i, j = np.triu_indices(len(rows), 1)
    given = D[np.ix_(rows, rows)][i, j]
    drawn: Array = np.linalg.norm(F[i] - F[j], axis=1)
    return given, drawn, given
