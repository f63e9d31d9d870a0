"""Variables: the correlation circle with its filters, the biplot, and contributions to axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidParameter
from mercer.pictures.clouds import Kind
from mercer.pictures.colours import BLUE, GREY, INK, PALE, RED, VIOLET, Scale
from mercer.pictures.limits import LIMITS
from mercer.pictures.models import (
    Elements,
    Shares,
    as_shares,
    choose_axes,
    elements_of,
    is_model,
    of_variables,
    shares_of_model,
    variables_of_model,
)
from mercer.pictures.planes import Plane, as_individuals, ids_of, individuals
from mercer.pictures.scene import (
    Arrows,
    Axis,
    Bars,
    Drawing,
    Ids,
    Labels,
    Lines,
    Linked,
    Mark,
    Markers,
    Panel,
    Rule,
    span_of,
)
from mercer.reading import Individuals, Supplementary, Variables
from mercer.settings import number, whole

MEASURES = {
    "cos2": "cos2 on the plane",
    "correlation": "|correlation| with one of the axes",
    "contribution": "contribution to the plane",
}
"""What variables can be chosen by, and how a note calls it."""

ROOM = 0.75
"""The share of the cloud's radius that the longest arrow of a biplot takes."""

NO_SHARE = 1e-12
"""A contribution that is rounding: numbers may make nothing of an axis of factors."""


def measure_of(variables: Variables, axes: tuple[int, ...], by: str) -> Array:
    """Return one number for each variable: its cos2, correlation or contribution on a plane."""
    k = [a - 1 for a in axes]
    if by == "cos2":
        result: Array = variables.cos2[:, k].sum(axis=1)
    elif by == "correlation":
        result = np.abs(variables.correlations[:, k]).max(axis=1)
    elif by == "contribution":
        inertias = variables.inertias[k]
        result = variables.contributions[:, k] @ inertias / inertias.sum()
    else:
        raise InvalidParameter(
            f"variables are chosen and coloured by {', '.join(MEASURES)}, found {by!r}"
        )
    return result


def filter_variables(
    variables: Variables, axes: tuple[int, ...], least: Mapping[str, float] | None, most: int
) -> tuple[Array, tuple[str, ...]]:
    """Return the variables that pass every filter, best first, and the sentences that say so."""
    rows = np.arange(len(variables))
    known = np.isfinite(variables.correlations[:, [a - 1 for a in axes]].real).all(axis=1)
    notes = []
    if not known.all():
        notes.append(f"{int((~known).sum())} constant variables have no correlations.")
    passes = known.copy()
    for by, threshold in (least or {}).items():
        passes &= measure_of(variables, axes, by) >= number(threshold, f"least[{by!r}]")
    cos2 = np.where(known, measure_of(variables, axes, "cos2"), -1.0)
    rows = rows[passes][np.argsort(-cos2[passes], kind="stable")]
    if least:
        said = " and ".join(f"{MEASURES[by]} at least {t:g}" for by, t in least.items())
        notes.append(f"{len(rows)} of {len(variables)} variables: {said}.")
    if len(rows) > most:
        notes.append(f"The {most} of highest cos2 on the plane, of {len(rows)}.")
        rows = rows[:most]
    return rows, tuple(notes)


TICKS = tuple((t, f"{t:g}".replace("-", "\N{MINUS SIGN}")) for t in (-1.0, -0.5, 0.0, 0.5, 1.0))


@Drawing
def variables(  # noqa: PLR0913  (what to show is an argument each, none of which implies another)
    values: Any,
    *,
    axes: Any = (1, 2),
    spectrum: Any = None,
    colour: str | None = None,
    least: Mapping[str, float] | None = None,
    most: int = LIMITS.arrows,
    supplementary: Variables | None = None,
    title: str = "Variables: correlations with the axes",
) -> Panel:
    """The correlation circle: each variable at its correlations with two axes.

    Parameters
    ----------
    values : model or Variables
        A fitted model, or ``model.variables_``. With a kernel that is not linear, too, arrows are
        correlations.
    colour : {"cos2", "correlation", "contribution"}, optional
        What the colour of an arrow stands for.
    least : mapping, optional
        Filters by name: ``{"correlation": 0.96}`` keeps variables whose correlation with one of
        the axes is at least 0.96 in absolute value; so do "cos2" and "contribution" on the plane.
    most : int
        At most so many arrows, those of highest cos2.
    supplementary : Variables, optional
        Drawn dashed.

    Examples
    --------
    >>> from mercer import PCA, datasets
    >>> model = PCA(standardize=True).fit(datasets.decathlon())
    >>> panel = variables.describe(model.variables_, least={"cos2": 0.6})
    >>> panel.notes
    ('6 of 10 variables: cos2 on the plane at least 0.6.',)
    """
    if is_model(values):
        spectrum = shares_of_model(values) if spectrum is None else spectrum
        values = variables_of_model(values)
    count = values.correlations.shape[1]
    axes = choose_axes(axes, count, how_many=1 if np.size(axes) == 1 else 2)
    shares = as_shares(spectrum)
    rows, notes = filter_variables(values, axes, least, most)
    x, y = _correlations(values, axes)[rows].T
    ids = ids_of(np.array(values.names, object), rows, "variables")
    marks: list[Mark] = [_circle(1.0)]
    by: str | Scale = BLUE
    if colour is not None:
        by = Scale(measure_of(values, axes, colour)[rows], MEASURES.get(colour, colour))
    marks.append(Arrows(x, y, by, names=ids.names, ids=ids, most=most))
    ink = BLUE if colour is None else INK
    marks.append(_at_tips(x, y, ids, ink))
    if supplementary is not None:
        beside, _ = filter_variables(supplementary, axes, None, most)
        u, v = _correlations(supplementary, axes)[beside].T
        ids = ids_of(np.array(supplementary.names, object), beside, "supplementary variables")
        look = {"is_dashed": True, "name": "supplementary", "names": ids.names, "most": most}
        marks.append(Arrows(u, v, RED, ids=ids, **look))  # type: ignore[arg-type]
        marks.append(_at_tips(u, v, ids, RED))
    limits = (-1.12, 1.12)
    up = Axis("", limits, ticks=TICKS, is_shown=False)
    if len(axes) == 2:
        up = Axis(shares.title(axes[1]), limits, ticks=TICKS, axis=axes[1])
    return Panel(
        tuple(marks),
        Axis(shares.title(axes[0]), limits, ticks=TICKS, axis=axes[0]),
        up,
        title=title,
        notes=(*notes, *shares.remarks(axes)),
        is_equal=True,
        has_origin=True,
        size=(5.6, 5.6) if colour is None and supplementary is None else (6.6, 5.6),
    )


def _correlations(values: Variables, axes: tuple[int, ...]) -> Array:
    """Return the correlations of variables with two axes; with one axis, the others are 0."""
    r: Array = values.correlations[:, [a - 1 for a in axes]].real
    return np.column_stack([r, np.zeros(len(r))]) if len(axes) == 1 else r


def _circle(radius: float) -> Lines:
    angles = np.linspace(0.0, 2.0 * np.pi, 181)
    return Lines(radius * np.cos(angles), radius * np.sin(angles), colour=GREY, width=1.0)


def _at_tips(x: Array, y: Array, ids: Ids, colour: str) -> Labels:
    return Labels(x, y, ids.names, (colour,) * len(x), is_outward=True, ids=ids, covers=True)


@Drawing
def biplot(  # noqa: PLR0913  (what to show is an argument each, none of which implies another)
    values: Any,
    of: Variables | Sequence[Elements] | None = None,
    *,
    axes: Any = (1, 2),
    spectrum: Any = None,
    colour: Any = None,
    ellipses: Kind | None = None,
    labels: int = LIMITS.labels,
    supplementary: Supplementary | Individuals | None = None,
    rows: Any = None,
    least: Mapping[str, float] | None = None,
    most: int = LIMITS.map_arrows,
    most_points: int = LIMITS.map_categories,
    title: str = "Biplot",
) -> Panel:
    """Individuals and what places them on one plane: variables, categories, columns of counts.

    Points are read by their coordinates: individuals, categories at the barycentres of their
    members, and rows and columns of counts in the same unit (the symmetric map). Arrows are the
    correlations of variables, read by their directions and relative lengths, all multiplied by one
    number that a note states. ``values`` are a fitted model, or its individuals with its variables
    as ``of``. At most ``most`` arrows and ``most_points`` categories or columns are drawn, those
    that the plane shows best.

    >>> from mercer import MCA, PCA, datasets
    >>> model = PCA(standardize=True).fit(datasets.decathlon())
    >>> biplot.describe(model).notes[0][:35]
    'Arrows are correlations multiplied '
    >>> answers = MCA().fit({"a": ["x", "x", "y", "y"], "b": ["u", "u", "u", "v"]})
    >>> [mark.name for mark in biplot.describe(answers).of_kind(Markers)]
    [None, 'categories']
    """
    if is_model(values):
        spectrum = shares_of_model(values) if spectrum is None else spectrum
        of = list(elements_of(values)) if of is None else of
        values = values.individuals_
    if of is None:
        raise InvalidParameter("a biplot needs variables: give a model, or model.variables_ as of=")
    read: Individuals = as_individuals(values)
    base = individuals.describe(
        read,
        axes=axes,
        spectrum=spectrum,
        colour=colour,
        ellipses=ellipses,
        labels=labels,
        supplementary=supplementary,
        rows=rows,
        title=title,
    )
    axes = choose_axes(axes, read.coordinates.shape[1])
    notes: list[str] = []
    marks: list[Mark] = []
    if isinstance(of, Variables):
        kept_rows, filtered = filter_variables(of, axes, least, most)
        notes += filtered
        of = [_some(of_variables(of), kept_rows)]
    reach = float(np.hypot(*Plane.of(read, axes).xy.T).max(initial=0.0))
    factor = _factor(of, axes, most, reach)
    for elements in of:
        marks += _placed(elements, axes, factor, most if elements.are_arrows else most_points)
    if any(isinstance(mark, Arrows) for mark in marks):
        notes.insert(0, f"Arrows are correlations multiplied by {factor:.3g}.")
    points, words = base.marks[:-1] if labels else base.marks, base.marks[-1:] if labels else ()
    tips = [mark for mark in marks if isinstance(mark, Arrows | Markers)]
    x, y = (
        span_of(np.array(side.limits), *(getattr(tip, name) for tip in tips), margin=0.02)
        for name, side in (("x", base.x), ("y", base.y))
    )
    return replace(
        base,
        marks=(*points, *marks, *words),
        x=replace(base.x, limits=x),
        y=replace(base.y, limits=y),
        notes=(*notes, *base.notes),
        size=(6.4, 5.6),
    )


def _some(elements: Elements, rows: Array) -> Elements:
    measures = {name: values[rows] for name, values in elements.measures.items()}
    names = tuple(elements.names[i] for i in rows)
    return Elements(elements.of, names, elements.coordinates[rows], measures)


def _factor(of: Sequence[Elements], axes: tuple[int, ...], most: int, reach: float) -> float:
    """Return the number by which correlations are multiplied to fill a cloud of some radius."""
    k = tuple(a - 1 for a in axes)
    lengths = [
        np.hypot(*one.coordinates[one.rank(k, most)][:, k].T).max(initial=0.0)
        for one in of
        if one.are_arrows
    ]
    longest = max(lengths, default=0.0)
    return ROOM * reach / float(longest) if longest > 0 else 1.0


def _placed(elements: Elements, axes: tuple[int, ...], factor: float, most: int) -> Iterator[Mark]:
    """Yield the marks of elements on a plane: arrows of variables, points of others, labels."""
    k = tuple(a - 1 for a in axes)
    names = np.array(elements.names, object)
    if elements.are_arrows:
        is_dashed = elements.of == "supplementary variables"
        rows = elements.rank(k, most)
        x, y = factor * elements.coordinates[rows][:, k].T
        ids = ids_of(names, rows, elements.of)
        shown = len(ids.names)
        yield Arrows(
            x,
            y,
            VIOLET,
            is_dashed=is_dashed,
            name="supplementary variables" if is_dashed and shown else None,
            names=ids.names,
            ids=ids,
            most=most,
            is_fitted=True,
        )
        yield replace(_at_tips(x, y, ids, VIOLET), most=most)
        return
    rows = elements.rank(k, most)
    x, y = elements.coordinates[rows][:, k].T
    ids = ids_of(names, rows, elements.of)
    marker: Any = "triangle" if elements.of == "columns" else "diamond"
    look = {"colour": VIOLET if elements.of == "columns" else INK, "marker": marker, "size": 7.0}
    name = elements.of if len(rows) else None
    yield Markers(x, y, name=name, names=ids.names, ids=ids, opacity=1.0, **look)
    inks = (str(look["colour"]),) * len(rows)
    named = Labels(x, y, ids.names, inks, size=8.5, most=most, ids=ids)
    yield replace(named, is_bold=True, covers=True)


@Drawing
def contributions(
    values: Individuals | Variables | Elements,
    *,
    axes: Any = (1,),
    spectrum: Any = None,
    most: int = LIMITS.bars,
) -> Panel:
    """The largest contributions to an axis, or to the plane of two, and the uniform line.

    ``values`` are individuals or variables, or other elements, whose ``axes`` are then one axis.

    >>> from mercer import PCA, datasets
    >>> model = PCA(standardize=True).fit(datasets.decathlon())
    >>> panel = contributions.describe(model.variables_, axes=1)
    >>> panel.marks[1].at, panel.y.ticks[0][1]
    (0.1, '100m')
    """
    is_one = isinstance(values, Elements)
    total = values.coordinates.shape[1] if is_one else len(values.inertias)  # type: ignore[union-attr]
    listed = choose_axes([axes] if is_one else axes, total, how_many=1 if is_one else None)
    shares, names, count = _contributed(values, listed)
    order = np.argsort(-shares, kind="stable")[: whole(most, "most", least=1)]
    # Elements of one kind, such as the numbers of a mixed analysis, may make a part of an axis.
    whole_axis = float(np.nansum(shares)) if is_one else 1.0
    uniform = whole_axis / max(count, 1) if whole_axis > NO_SHARE else 0.0
    places = np.arange(len(order), 0, -1).astype(float)
    colours = tuple(BLUE if shares[i] >= uniform else PALE for i in order)
    texts = tuple(f"{names[i]}: {100 * shares[i]:.1f} %" for i in order)
    what: Linked = values.of if isinstance(values, Elements) else "variables"
    what = "individuals" if isinstance(values, Individuals) else what
    ids = ids_of(np.array(names, object), order, what)
    bars = Bars(places, shares[order], colours, is_lying=True, names=texts, ids=ids)
    rule = Rule(uniform, is_level=False, colour=RED, name=f"all equal: {100 * uniform:.3g} %")
    high = max(float(shares[order].max(initial=0.0)), uniform)
    high = high if high > NO_SHARE else 1.0
    ticks = tuple((float(p), names[i]) for p, i in zip(places, order, strict=True))
    notes = [f"The first {len(order)} of {len(shares)}."] if len(shares) > len(order) else []
    if is_one and whole_axis < 0.995:
        all_of_them = "It makes" if len(shares) == 1 else f"All {len(shares)} together make"
        notes.append(f"{all_of_them} {100 * whole_axis:.2g} % of this axis.")
    return Panel(
        (bars, rule),
        Axis("contribution", (0.0, 1.06 * high), ticks=percents(1.06 * high)),
        Axis("", (0.4, len(order) + 0.6), ticks=ticks),
        title=f"Contributions of {what} to {_axes(as_shares(spectrum), listed)}",
        notes=tuple(notes),
        size=(6.4, max(2.6, 0.24 * len(order) + 1.4)),
    )


def _contributed(
    values: Individuals | Variables | Elements, axes: tuple[int, ...]
) -> tuple[Array, tuple[str, ...], int]:
    if isinstance(values, Elements):
        return values.measures["contrib"][:, axes[0] - 1], values.names, len(values)
    if isinstance(values, Variables):
        return measure_of(values, axes, "contribution"), values.names, len(values)
    shares = Plane(values.coordinates, values, axes).contribution()
    return shares, tuple(map(str, values.labels)), int(np.sum(values.weights > 0))


def _axes(shares: Shares, axes: tuple[int, ...]) -> str:
    return " and ".join(shares.title(a) for a in axes)


def percents(high: float) -> tuple[tuple[float, str], ...]:
    """Return round ticks from 0 to a share.

    >>> [text for _, text in percents(0.21)]
    ['0 %', '5 %', '10 %', '15 %', '20 %']
    """
    steps = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]) / 10_000
    step = float(steps[np.argmax(high / steps <= 6.0)])
    return tuple((i * step, f"{100 * i * step:g} %") for i in range(int(high / step + 1e-9) + 1))
