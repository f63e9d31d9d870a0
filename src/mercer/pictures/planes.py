"""Planes of axes: individuals, variables in their circle, both together, and their uncertainty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mercer.check import Array, real_array
from mercer.errors import InvalidInput, InvalidParameter
from mercer.pictures.clouds import Kind, density, ellipse, hull, is_elliptic, thin_crowd
from mercer.pictures.colours import INK, RED, Coloured, Scale, colouring_of
from mercer.pictures.limits import LIMITS
from mercer.pictures.models import as_shares, axis, choose_axes, is_model, shares_of_model
from mercer.pictures.scene import (
    Axis,
    Drawing,
    Ids,
    Labels,
    Lines,
    Linked,
    Mark,
    Markers,
    Panel,
    span_of,
)
from mercer.reading import Individuals, Outliers, Supplementary
from mercer.settings import CONFIDENCE

NOWHERE = 1e-9
"""A distance to the axes below this share of the largest to the barycentre is none."""

NAMED = 40
"""Ellipses that could not be drawn are named up to so many letters each."""


def as_individuals(values: Any, names: Any = None) -> Individuals:
    """Return individuals as they are read, also of an array of coordinates alone."""
    called = None if names is None else tuple(str(name) for name in names)
    if isinstance(values, Individuals):
        _match_names(called, len(values))
        return values if called is None else replace(values, names=called)
    coordinates = real_array(values, "individuals")
    if coordinates.ndim != 2 or coordinates.shape[1] == 0:
        raise InvalidInput(
            f"individuals must have coordinates in columns, found shape {coordinates.shape}"
        )
    n = len(coordinates)
    _match_names(called, n)
    weights = np.full(n, 1.0 / max(n, 1))
    unit = float(np.abs(coordinates).max(initial=0.0)) or 1.0
    inertias = weights @ (coordinates / unit) ** 2
    return Individuals(coordinates, None, weights, inertias, called, unit=unit)


def _match_names(names: tuple[str, ...] | None, n: int) -> None:
    if names is not None and len(names) != n:
        raise InvalidInput(f"{len(names)} names were given for {n} individuals")


class Plane(NamedTuple):
    """Individuals on two axes, with what is said of them there."""

    xy: Array
    individuals: Individuals
    axes: tuple[int, ...]

    @classmethod
    def of(cls, individuals: Individuals, axes: tuple[int, ...]) -> Plane:
        return cls(_flat(individuals.coordinates[:, [a - 1 for a in axes]]), individuals, axes)

    def quality(self) -> Array:
        """How well the plane shows each individual: the sum of its cos2."""
        cos2: Array = self.individuals.cos2[:, [a - 1 for a in self.axes]].sum(axis=1)
        return cos2

    def contribution(self) -> Array:
        r"""The share of each individual in the inertia of the plane.

        .. math:: \sum_k \lambda_k \gamma_{ik} / \sum_k \lambda_k
        """
        k = [a - 1 for a in self.axes]
        inertias = self.individuals.inertias[k]
        shares: Array = self.individuals.contributions[:, k] @ inertias / inertias.sum()
        return shares

    def rank(self) -> Array:
        """Return the rows, those first that make most of the plane: the heaviest, farthest out."""
        weights = getattr(self.individuals, "weights", None)
        worth = np.hypot(*self.xy.T) * (1.0 if weights is None else np.sqrt(weights))
        order: Array = np.argsort(-np.where(np.isnan(worth), -1.0, worth), kind="stable")
        return order

    def colours(self, colour: Any) -> Coloured:
        if isinstance(colour, str):
            if colour not in ("cos2", "contribution"):
                raise InvalidParameter(
                    'colour must be "cos2", "contribution" or a column with one entry for each '
                    f"individual, found {colour!r}"
                )
            values = self.quality() if colour == "cos2" else self.contribution()
            return Coloured(f"{colour} on the plane", values, ())
        return colouring_of(colour, len(self.xy))


@Drawing
def individuals(  # noqa: PLR0913  (what to show is an argument each, none of which implies another)
    values: Any,
    *,
    axes: Any = (1, 2),
    spectrum: Any = None,
    colour: Any = None,
    ellipses: Kind | None = None,
    confidence: float = CONFIDENCE,
    labels: int = LIMITS.labels,
    supplementary: Supplementary | Individuals | None = None,
    names: Any = None,
    rows: Any = None,
    title: str = "Individuals",
) -> Panel:
    """Individuals on a plane of two axes, in equal units, or along one axis.

    Parameters
    ----------
    values : model, Individuals or array
        A fitted model, ``model.individuals_``, or coordinates in columns; ``names`` for the rows,
        in the place of those that a model knows.
    axes : pair of int, or int
        Which axes, counted from 1.
    spectrum : Spectrum or array, optional
        ``model.spectrum_``, the shares of the axes, or names: what the titles of the axes say.
    colour : "cos2", "contribution" or column, optional
        Numbers are shown by a scale, labels by groups. A column with a ``name`` gives the title.
    ellipses : {"concentration", "confidence"}, optional
        Around each group: a share ``confidence`` of a normal law, or the mean so probably.
    labels : int
        How many individuals to name: those that make most of the plane, where there is room.
    supplementary : Supplementary or Individuals, optional
        Drawn hollow; categories as squares at the barycentres of their members.
    rows : array of int, optional
        The individuals drawn one by one; by default all, or a sample of more than 10 000, above
        the density of all.

    Examples
    --------
    >>> from mercer import PCA, datasets
    >>> data = datasets.decathlon()
    >>> model = PCA(standardize=True).fit(data)
    >>> panel = individuals.describe(model)
    >>> panel.x.title, panel.y.title, panel.is_equal
    ('Dim 1 (32.7 %)', 'Dim 2 (17.4 %)', True)
    """
    if is_model(values):
        spectrum = shares_of_model(values) if spectrum is None else spectrum
        values = values.individuals_
    read = as_individuals(values, names)
    axes = choose_axes(axes, read.coordinates.shape[1], how_many=1 if np.size(axes) == 1 else 2)
    shares, plane = as_shares(spectrum), Plane.of(read, axes)
    passive = _passive(supplementary, axes)
    limits = span_of(plane.xy[:, 0], passive[:, 0]), span_of(plane.xy[:, 1], passive[:, 1])
    shown = None if rows is None else np.asarray(rows, int)
    marks, notes = _cloud(plane, plane.colours(colour), limits, shown)
    if isinstance(colour, str):  # what the colour means belongs to this plane
        marks = [replace(m, is_painted=False) if isinstance(m, Markers) else m for m in marks]
    if ellipses is not None and len(axes) == 2:
        lines, remarks = _ellipses(plane, plane.colours(colour), ellipses, confidence)
        marks, notes = [*lines, *marks], [*notes, *remarks]
        limits = _holding(limits, lines)
    marks += _supplementary(supplementary, axes)
    if labels:
        marks.append(_named(plane, labels, marks))
    is_equal = _has_one_unit(plane.xy)
    notes += [] if is_equal else ["The two axes have different units of length."]
    return Panel(
        tuple(marks),
        axis(shares, axes[0], limits[0]),
        axis(shares, axes[1], limits[1]) if len(axes) == 2 else Axis("", limits[1], is_shown=False),
        title=title,
        notes=(*notes, *shares.remarks(axes)),
        is_equal=is_equal and len(axes) == 2,
        has_origin=True,
    )


def _has_one_unit(xy: Array) -> bool:
    """Whether both axes are drawn in one unit; a plane that is all but a line would be flat."""
    ranges = np.ptp(xy, axis=0) if len(xy) else np.zeros(2)
    return bool(ranges.min() == 0.0 or ranges.max() <= LIMITS.stretch * ranges.min())


def ids_of(labels: Array, rows: Array, of: Linked = "individuals") -> Ids:
    """Return some elements of a model as marks carry them."""
    return Ids(np.asarray(rows), tuple(str(labels[i]) for i in rows), of)


def _cloud(
    plane: Plane,
    colours: Coloured,
    limits: tuple[tuple[float, float], tuple[float, float]],
    rows: Array | None,
) -> tuple[list[Mark], list[str]]:
    """Return the points of the individuals; a crowd also as its density."""
    labels, count = plane.individuals.labels, len(plane.xy)
    is_crowd = count > LIMITS.points if rows is None else len(rows) < count
    if not is_crowd:
        return list(clouds(plane.xy, colours, labels)), []
    drawn, note = thin_crowd(colours, count, rows)
    marks: list[Mark] = [density(plane.xy, limits)]
    marks += clouds(plane.xy, colours, labels, rows=drawn, size=2.5, opacity=0.6)
    return marks, [note]


def clouds(  # noqa: PLR0913  (the look of the points)
    at: Array,
    colours: Coloured,
    labels: Array | None = None,
    *,
    rows: Array | None = None,
    size: float = 5.5,
    opacity: float = 0.85,
) -> tuple[Markers, ...]:
    """Return points in two or three columns: coloured by a scale, or one set for each group.

    ``labels`` are those of the individuals that the rows are; ``rows`` those to draw.
    """

    def points(some: Array, colour: str | Scale, marker: Any, name: str | None) -> Markers:
        ids = None if labels is None else ids_of(labels, some)
        x, y, *z = at[some].T
        return Markers(
            x,
            y,
            z[0] if z else None,
            colour=colour,
            marker=marker,
            size=size,
            opacity=opacity,
            name=name,
            names=None if ids is None else ids.names,
            ids=ids,
            is_painted=True,
            by=colours.title,
        )

    shown = np.arange(len(at)) if rows is None else rows
    if colours.numbers is not None:
        return (points(shown, Scale(colours.numbers[shown], colours.title), "circle", None),)
    kept = np.zeros(len(at), bool)
    kept[shown] = True
    return tuple(
        points(g.rows[kept[g.rows]], g.colour, g.marker, g.name or None) for g in colours.groups
    )


def _ellipses(
    plane: Plane, colours: Coloured, kind: Kind, confidence: float
) -> tuple[list[Mark], list[str]]:
    if colours.numbers is not None:
        return [], ["No ellipses: the colour is a number and makes no groups."]
    if len(colours.groups) > LIMITS.outlined:
        return [], [f"No outlines of {len(colours.groups)} groups: they would hide each other."]
    weights, without, bent = plane.individuals.weights, [], []
    marks: list[Mark] = []
    for group in colours.groups:
        active = group.rows[weights[group.rows] > 0]
        points = plane.xy[active]
        found = ellipse(points, weights[active], kind=kind, confidence=confidence)
        name, line = (group.name or "all")[:NAMED], found.line
        if line is None:
            without.append(f"{name} ({found.why_not})")
            continue
        # The mean of many has an ellipse whatever the law; members only where they are elliptic.
        is_bent = kind == "concentration" and not is_elliptic(points, weights[active])
        if is_bent:
            bent.append(name)
            line = hull(points)
        marks.append(
            Lines(
                line[:, 0],
                line[:, 1],
                colour=group.colour,
                width=1.2,
                dash="dashed" if is_bent else "solid",
                is_filled=True,
                ids=ids_of(plane.individuals.labels, active),
            )
        )
    rate = f"{100 * confidence:g} %"
    are_members = kind == "concentration"
    holds = (
        f"about {rate} of a group" if are_members else f"the mean of a group, {rate} of the time"
    )
    notes = []
    if len(marks) > len(bent):
        notes.append(f"Ellipses hold {holds}, if it is normally distributed.")
    if bent:
        notes.append(f"Dashed outlines hold all of {', '.join(bent)}: too few, or not elliptic.")
    if without:
        notes.append(f"No ellipse for {', '.join(without)}.")
    return marks, notes


def _holding(
    limits: tuple[tuple[float, float], tuple[float, float]], lines: list[Mark]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return limits that hold the lines too."""
    x = [np.array(limits[0])] + [line.x for line in lines if isinstance(line, Lines)]
    y = [np.array(limits[1])] + [line.y for line in lines if isinstance(line, Lines)]
    return span_of(*x, margin=0.01), span_of(*y, margin=0.01)


def _parts(given: Supplementary | Individuals | None) -> Supplementary:
    if given is None or isinstance(given, Supplementary):
        return given or Supplementary()
    return Supplementary(individuals=given)


def _passive(given: Supplementary | Individuals | None, axes: tuple[int, ...]) -> Array:
    parts, k = _parts(given), [a - 1 for a in axes]
    found = [_flat(p.coordinates[:, k]) for p in (parts.individuals, parts.categories) if p]
    return np.vstack([*found, np.zeros((0, 2))])


def _flat(coordinates: Array) -> Array:
    """Return coordinates on two axes; on one axis, the second is 0."""
    one: Array = coordinates.real
    return np.column_stack([one, np.zeros(len(one))]) if one.shape[1] == 1 else one


def _supplementary(given: Supplementary | Individuals | None, axes: tuple[int, ...]) -> list[Mark]:
    parts, k = _parts(given), [a - 1 for a in axes]
    marks: list[Mark] = []
    if parts.individuals is not None:
        x, y = _flat(parts.individuals.coordinates[:, k]).T
        labels = parts.individuals.labels
        ids = ids_of(labels, np.arange(len(labels)), "supplementary")
        names = ids.names
        marks.append(
            Markers(
                x,
                y,
                colour=INK,
                marker="triangle",
                is_hollow=True,
                size=6.5,
                name="supplementary",
                names=names,
                ids=ids,
            )
        )
        most = LIMITS.labels
        marks.append(Labels(x, y, names, (INK,) * len(names), most=most, ids=ids))
    if parts.categories is not None:
        x, y = _flat(parts.categories.coordinates[:, k]).T
        names = parts.categories.levels
        marks.append(
            Markers(x, y, colour=RED, marker="square", size=7.0, name="categories", names=names)
        )
        marks.append(Labels(x, y, names, (RED,) * len(names), size=9.0))
    return marks


def _named(plane: Plane, count: int, marks: list[Mark]) -> Labels:
    """Return labels of the individuals drawn, in the order of `rank`, coloured as their points."""
    colour: dict[int, str] = {}
    for mark in marks:
        if isinstance(mark, Markers) and mark.ids is not None and mark.ids.of == "individuals":
            ink = mark.colour if isinstance(mark.colour, str) else INK
            colour.update(dict.fromkeys(mark.ids.rows.tolist(), ink))
    rows = np.array([i for i in plane.rank().tolist() if i in colour], int)
    ids = ids_of(plane.individuals.labels, rows)
    x, y = plane.xy[rows].T
    inks = tuple(colour[i] for i in rows.tolist())
    return Labels(x, y, ids.names, inks, most=max(0, int(count)), ids=ids)


def spread(xy: Array, count: int) -> Array:
    """Return rows far from one another: each the farthest from all that were taken before.

    >>> spread(np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 0.0], [2.0, 0.0]]), 3).tolist()
    [2, 0, 3]
    """
    first = int(np.argmax(np.hypot(*xy.T)))
    rows, nearest = [first], np.hypot(*(xy - xy[first]).T)
    while len(rows) < min(count, len(xy)) and nearest.max() > 0:
        rows.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, np.hypot(*(xy - xy[rows[-1]]).T))
    return np.array(rows)


@Drawing
def outliers(
    values: Any,
    *,
    colour: Any = None,
    rows: Any = None,
    labels: int = LIMITS.labels,
    title: str = "Individuals that stand apart",
) -> Panel:
    """Distances to the barycentre and to what the axes show; ringed, those that stand apart.

    Where the axes show everything, the second distance is that to the plane of the first two.

    Parameters
    ----------
    values : model or Outliers
        A fitted model, or what its ``outliers`` returned.
    rows : array of int, optional
        The individuals that are drawn, all by default.

    Examples
    --------
    >>> from mercer import PCA, datasets
    >>> panel = outliers.describe(PCA(5, standardize=True).fit(datasets.decathlon()))
    >>> panel.y.title, panel.notes[0][:22]
    ('distance to the axes', 'No individual stands a')
    """
    found: Outliers = values.outliers() if is_model(values) else values
    read = found.individuals
    plane = Plane.of(read, (1, 2)[: read.coordinates.shape[1]])
    away = read.plane_distances
    is_away = bool(away.max() > NOWHERE * read.distances.max()) or read.coordinates.shape[1] < 3
    if not is_away:
        away = read.distances * np.sqrt(np.maximum(1.0 - np.nan_to_num(plane.quality()), 0.0))
    at = np.column_stack([read.distances, away])
    shown = np.arange(len(at)) if rows is None else np.asarray(rows, int)
    apart = found.rows[np.isin(found.rows, shown)]
    ids = ids_of(read.labels, apart)
    marks: list[Mark] = [*clouds(at, colouring_of(colour, len(at)), read.labels, rows=shown)]
    x, y = at[apart].T
    marks.append(Markers(x, y, colour=RED, is_hollow=True, size=10.0, names=ids.names, ids=ids))
    inks = (INK,) * len(apart)
    marks.append(Labels(x, y, ids.names, inks, most=labels, ids=ids))
    said = found.told(are_ringed=True)
    return Panel(
        tuple(marks),
        Axis("distance to the barycentre", span_of(at[:, 0], np.zeros(1))),
        Axis(f"distance to the {'axes' if is_away else 'first plane'}", span_of(away, np.zeros(1))),
        title=title,
        notes=(said,),
    )
