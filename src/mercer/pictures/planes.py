"""Planes of axes: individuals, variables in their circle, both together, and their uncertainty."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.check import Array, InvalidInput, InvalidParameter, real_array
from mercer.pictures.colours import INK, RED, Coloured, Scale, coloured
from mercer.pictures.crowds import CROWD, density, thinned
from mercer.pictures.drawing import Drawing
from mercer.pictures.ellipses import Kind, ellipse
from mercer.pictures.models import is_model, shares_of_model
from mercer.pictures.scene import Labels, Lines, Mark, Panel, Points, spanned
from mercer.pictures.shares import as_shares, axis, chosen
from mercer.reading import Individuals, Supplementary
from mercer.settings import CONFIDENCE

LABELS = 20
"""Individuals named by default: those that the plane shows best."""

NAMED = 40
"""Ellipses that could not be drawn are named up to so many letters each."""


def as_individuals(values: Any, names: Any = None) -> Individuals:
    """Return individuals as they are read, also of an array of coordinates alone."""
    if isinstance(values, Individuals):
        return values
    coordinates = real_array(values, "individuals")
    if coordinates.ndim != 2 or coordinates.shape[1] == 0:
        raise InvalidInput(
            f"individuals must have coordinates in columns, found shape {coordinates.shape}"
        )
    n = len(coordinates)
    called = None if names is None else tuple(str(name) for name in names)
    if called is not None and len(called) != n:
        raise InvalidInput(f"{len(called)} names were given for {n} individuals")
    weights = np.full(n, 1.0 / max(n, 1))
    unit = float(np.abs(coordinates).max(initial=0.0)) or 1.0
    inertias = weights @ (coordinates / unit) ** 2
    return Individuals(coordinates, None, weights, inertias, called, unit=unit)


class Plane(NamedTuple):
    """Individuals on two axes, with what is said of them there."""

    xy: Array
    individuals: Individuals
    axes: tuple[int, ...]

    @classmethod
    def of(cls, individuals: Individuals, axes: tuple[int, ...]) -> Plane:
        return cls(individuals.coordinates[:, [a - 1 for a in axes]].real, individuals, axes)

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
        """Return the rows, best represented first; by distance where cos2 is not known."""
        worth = self.quality() if hasattr(self.individuals, "cos2") else np.hypot(*self.xy.T)
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
        return coloured(colour, len(self.xy))


@Drawing
def individuals(  # noqa: PLR0913  (what to show is an argument each, none of which implies another)
    values: Any,
    *,
    axes: Any = (1, 2),
    spectrum: Any = None,
    colour: Any = None,
    ellipses: Kind | None = None,
    confidence: float = CONFIDENCE,
    labels: int = LABELS,
    supplementary: Supplementary | Individuals | None = None,
    names: Any = None,
    title: str = "Individuals",
) -> Panel:
    """Individuals on a plane of two axes, in equal units.

    Parameters
    ----------
    values : model, Individuals or array
        A fitted model, ``model.individuals_``, or coordinates in columns with ``names`` for the
        rows.
    axes : pair of int
        Which axes, counted from 1.
    spectrum : Spectrum or array, optional
        ``model.spectrum_``, the shares of the axes, or names: what the titles of the axes say.
    colour : "cos2", "contribution" or column, optional
        Numbers are shown by a scale, labels by groups. A column with a ``name`` gives the title.
    ellipses : {"concentration", "confidence"}, optional
        Around each group: a share ``confidence`` of a normal law, or the mean so probably.
    labels : int
        How many individuals to name, the best represented first; those without room are left out.
    supplementary : Supplementary or Individuals, optional
        Drawn hollow; categories as squares at the barycentres of their members.

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
    axes = chosen(axes, read.coordinates.shape[1])
    shares, plane = as_shares(spectrum), Plane.of(read, axes)
    passive = _passive(supplementary, axes)
    limits = spanned(plane.xy[:, 0], passive[:, 0]), spanned(plane.xy[:, 1], passive[:, 1])
    marks, notes = _cloud(plane, plane.colours(colour), limits, _hover(read))
    if ellipses is not None:
        lines, remarks = _ellipses(plane, plane.colours(colour), ellipses, confidence)
        marks, notes = [*lines, *marks], [*notes, *remarks]
        limits = _holding(limits, lines)
    marks += _supplementary(supplementary, axes)
    if labels:
        marks.append(_named(plane, labels, marks))
    return Panel(
        tuple(marks),
        axis(shares, axes[0], limits[0]),
        axis(shares, axes[1], limits[1]),
        title=title,
        notes=(*notes, *shares.remarks(axes)),
        is_equal=True,
        has_origin=True,
    )


def _hover(individuals: Individuals) -> tuple[str, ...] | None:
    return tuple(str(label) for label in individuals.labels) if len(individuals) <= CROWD else None


def _cloud(
    plane: Plane,
    colours: Coloured,
    limits: tuple[tuple[float, float], tuple[float, float]],
    names: tuple[str, ...] | None,
) -> tuple[list[Mark], list[str]]:
    """Return the points of the individuals; a crowd also as its density."""
    x, y = plane.xy.T
    if len(x) <= CROWD:
        return list(clouds(x, y, None, colours, names)), []
    rows, fewer, note = thinned(colours, len(x))
    marks: list[Mark] = [density(plane.xy, limits)]
    if fewer.numbers is not None:
        scale = Scale(fewer.numbers[rows], fewer.title)
        marks.append(Points(x[rows], y[rows], colour=scale, size=2.5, opacity=0.6))
    marks += [
        Points(x[g.rows], y[g.rows], colour=g.colour, size=2.5, opacity=0.6, name=g.name or None)
        for g in fewer.groups
    ]
    return marks, [note]


def clouds(
    x: Array, y: Array, z: Array | None, colours: Coloured, names: tuple[str, ...] | None = None
) -> tuple[Points, ...]:
    """Return points coloured by a scale, or one set of points for each group."""
    if colours.numbers is not None:
        scale = Scale(colours.numbers, colours.title)
        return (Points(x, y, z, colour=scale, names=names),)
    return tuple(
        Points(
            x[g.rows],
            y[g.rows],
            None if z is None else z[g.rows],
            colour=g.colour,
            marker=g.marker,  # type: ignore[arg-type]  # one of MARKERS
            name=g.name or None,
            names=None if names is None else tuple(names[i] for i in g.rows),
        )
        for g in colours.groups
    )


def _ellipses(
    plane: Plane, colours: Coloured, kind: Kind, confidence: float
) -> tuple[list[Mark], list[str]]:
    if colours.numbers is not None:
        return [], ["No ellipses: the colour is a number and makes no groups."]
    weights, marks, without = plane.individuals.weights, [], []
    for group in colours.groups:
        active = group.rows[weights[group.rows] > 0]
        found = ellipse(plane.xy[active], weights[active], kind=kind, confidence=confidence)
        if found.line is None:
            without.append(f"{(group.name or 'all')[:NAMED]} ({found.why_not})")
        else:
            marks.append(
                Lines(
                    found.line[:, 0],
                    found.line[:, 1],
                    colour=group.colour,
                    width=1.2,
                    is_filled=True,
                )
            )
    what = "members" if kind == "concentration" else "means"
    notes = (
        [f"Ellipses of {kind}: {100 * confidence:g} % for {what} of normal groups."]
        if marks
        else []
    )
    if without:
        notes.append(f"No ellipse for {', '.join(without)}.")
    return marks, notes  # type: ignore[return-value]  # lists are invariant, lines are marks


def _holding(
    limits: tuple[tuple[float, float], tuple[float, float]], lines: list[Mark]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return limits that hold the lines too."""
    x = [np.array(limits[0])] + [line.x for line in lines if isinstance(line, Lines)]
    y = [np.array(limits[1])] + [line.y for line in lines if isinstance(line, Lines)]
    return spanned(*x, margin=0.01), spanned(*y, margin=0.01)


def _parts(given: Supplementary | Individuals | None) -> Supplementary:
    if given is None or isinstance(given, Supplementary):
        return given or Supplementary()
    return Supplementary(individuals=given)


def _passive(given: Supplementary | Individuals | None, axes: tuple[int, ...]) -> Array:
    parts, k = _parts(given), [a - 1 for a in axes]
    found = [p.coordinates[:, k].real for p in (parts.individuals, parts.categories) if p]
    return np.vstack([*found, np.zeros((0, 2))])


def _supplementary(given: Supplementary | Individuals | None, axes: tuple[int, ...]) -> list[Mark]:
    parts, k = _parts(given), [a - 1 for a in axes]
    marks: list[Mark] = []
    if parts.individuals is not None:
        x, y = parts.individuals.coordinates[:, k].real.T
        names = tuple(str(label) for label in parts.individuals.labels)
        marks.append(
            Points(
                x,
                y,
                colour=INK,
                marker="triangle",
                is_hollow=True,
                size=6.5,
                name="supplementary",
                names=names,
            )
        )
        marks.append(Labels(x, y, names, (INK,) * len(names)))
    if parts.categories is not None:
        x, y = parts.categories.coordinates[:, k].real.T
        names = parts.categories.levels
        marks.append(
            Points(x, y, colour=RED, marker="square", size=7.0, name="categories", names=names)
        )
        marks.append(Labels(x, y, names, (RED,) * len(names), size=9.0))
    return marks


def _named(plane: Plane, count: int, marks: list[Mark]) -> Labels:
    """Return labels of the best represented individuals, in the colours of their points."""
    rows = plane.rank()[: max(0, int(count))]
    colour = {}
    for mark in marks:
        if isinstance(mark, Points) and isinstance(mark.colour, str):
            colour.update(dict.fromkeys(mark.names or (), mark.colour))
    texts = tuple(str(label) for label in plane.individuals.labels[rows])
    x, y = plane.xy[rows].T
    return Labels(x, y, texts, tuple(colour.get(t, INK) for t in texts))
