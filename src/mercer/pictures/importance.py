"""What variables do to axes: slopes, importance, and what points along an axis look like."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.check import Array
from mercer.display import percent, short
from mercer.errors import InvalidInput
from mercer.pca.axis_points import PLACES, AxisPoints
from mercer.pca.reconstruction import Rebuilt
from mercer.pca.slopes import AxisSlopes
from mercer.pictures.circle import percents
from mercer.pictures.colours import BLUE, GREY, INK, PALE, PALETTE, RED
from mercer.pictures.limits import LIMITS
from mercer.pictures.models import as_shares, choose_axes
from mercer.pictures.planes import Plane, as_individuals, individuals, spread
from mercer.pictures.scene import (
    Axis,
    Bars,
    Drawing,
    Labels,
    Lines,
    Mark,
    Marker,
    Markers,
    Panel,
    Sheet,
    Texts,
    span_of,
)
from mercer.settings import LEVEL, whole

if TYPE_CHECKING:  # a page of a fit has no use for the package
    from mercer.importance import Importance

VARIABLES, STANDS = 4, 16
"""Variables whose arrows are drawn, and individuals at which they are."""

REACH = 0.2
"""The longest arrow, as a share of the width of the cloud."""

HEAD, SPREAD = 0.3, 0.45
"""The length of an arrow's head, as a share of its own, and half its angle."""

NORMAL = 1.96
"""Standard errors on each side of a bar's end, for 95 %."""


@Drawing
def slopes(  # noqa: PLR0913  (what to show is an argument each, none of which implies another)
    values: Any,
    of: AxisSlopes,
    *,
    axes: Any = (1, 2),
    spectrum: Any = None,
    most: int = VARIABLES,
    places: int = STANDS,
    title: str = "Where individuals move when a variable rises",
) -> Panel:
    """Arrows at individuals: where each would move on the plane if one of its variables rose.

    Parameters
    ----------
    values : Individuals
        ``model.individuals_``.
    of : AxisSlopes
        ``mercer.axis_slopes(model, standardize=True)``, at the same individuals.
    most : int
        How many variables, those with the longest arrows on the plane on average.
    places : int
        At how many individuals, spread over the plane.

    Examples
    --------
    >>> from mercer import Gaussian, KernelPCA, axis_slopes, datasets
    >>> model = KernelPCA(2, kernel=Gaussian("median")).fit(datasets.iris())
    >>> panel = slopes.describe(model.individuals_, axis_slopes(model, standardize=True))
    >>> [mark.name for mark in panel.marks if isinstance(mark, Lines)][0]
    'Petal.Length'
    """
    read = as_individuals(values)
    axes = choose_axes(axes, read.coordinates.shape[1])
    k = [a - 1 for a in axes]
    if len(of.arrows) != len(read) or of.arrows.shape[2] < max(axes):
        raise InvalidInput(
            f"slopes at {len(of.arrows)} points on {of.arrows.shape[2]} axes do not belong to "
            f"{len(read)} individuals on axes {axes[0]} and {axes[1]}"
        )
    xy = Plane.of(read, axes).xy
    arrows = of.arrows[:, :, k].real
    strength = of.weights @ np.hypot(arrows[:, :, 0], arrows[:, :, 1])
    shown = np.argsort(-strength, kind="stable")[: whole(most, "most", least=1)]
    rows = spread(xy, whole(places, "places", least=1))
    longest = float(np.hypot(*arrows[np.ix_(rows, shown)].reshape(-1, 2).T).max(initial=0.0))
    factor = REACH * float(np.ptp(xy, axis=0).max(initial=0.0)) / longest if longest > 0 else 1.0
    base = individuals.describe(read, axes=axes, spectrum=spectrum, labels=0)
    marks: list[Mark] = [
        replace(m, colour=GREY, opacity=0.35, is_painted=False) if isinstance(m, Markers) else m
        for m in base.marks
    ]
    tips, names, colours = [], [], []
    for j, colour in zip(shown, PALETTE[1:] + PALETTE[:1], strict=False):
        steps = factor * arrows[rows, j]
        marks.append(_drawn(xy[rows], steps, colour, of.names[j]))
        far = int(np.argmax(np.hypot(*steps.T)))
        tips.append(xy[rows[far]] + steps[far])
        names.append(of.names[j])
        colours.append(colour)
    ends = np.array(tips)
    marks.append(Labels(ends[:, 0], ends[:, 1], tuple(names), tuple(colours), is_outward=True))
    by = "its standard deviation" if of.is_standardised else "1"
    fewer = "" if len(shown) == len(of) else f" The {len(shown)} longest of {len(of)} variables."
    note = f"Arrows: the move when a variable rises by {by}, times {factor:.3g}.{fewer}"
    lines = [mark for mark in marks if isinstance(mark, Lines)]
    return Panel(
        tuple(marks),
        Axis(base.x.title, span_of(np.array(base.x.limits), *(m.x for m in lines), margin=0.02)),
        Axis(base.y.title, span_of(np.array(base.y.limits), *(m.y for m in lines), margin=0.02)),
        title=title,
        notes=(note, *base.notes),
        is_equal=True,
        has_origin=True,
        size=(6.4, 5.6),
    )


def _drawn(at: Array, steps: Array, colour: str, name: str) -> Lines:
    """Return arrows as one broken line: each a shaft and the two strokes of its head."""
    tips, gap = at + steps, np.full(len(at), np.nan)
    strokes = []
    for angle in (np.pi - SPREAD, np.pi + SPREAD):
        turn = HEAD * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        strokes.append(tips + steps @ turn)
    path = [at, tips, strokes[0], tips, strokes[1]]
    x, y = (np.column_stack([*(p[:, i] for p in path), gap]).ravel() for i in (0, 1))
    return Lines(x, y, colour=colour, width=1.4, name=name)


@Drawing
def importance(values: Importance, *, most: int = LIMITS.bars) -> Panel:
    """The importance of variables with its error, and the p-value beside each name.

    >>> from mercer.importance import Importance
    >>> found = Importance(
    ...     ("a", "b"), 2, 0.5, np.array([[0.2, 0.3], [0.4, 0.5]]), np.zeros((2, 2)),
    ...     np.array([0.01, 0.6]), 0)
    >>> panel = importance.describe(found)
    >>> [text for _, text in panel.y.ticks]
    ['a  (p = 0.01)', 'b  (p = 0.6)']
    """
    order = values.order[: whole(most, "most", least=1)]
    sizes, errors, p = values.importances[order], NORMAL * values.errors[order], values.p_values
    places = np.arange(len(order), 0, -1).astype(float)
    texts = tuple(f"{values.names[g]}  (p = {p[g]:.2g})" for g in order)
    colours = tuple(BLUE if p[g] <= LEVEL else PALE for g in order)
    gap = np.full(len(order), np.nan)
    whiskers = Lines(
        np.column_stack([sizes - errors, sizes + errors, gap]).ravel(),
        np.column_stack([places, places, gap]).ravel(),
        colour=INK,
        width=1.2,
    )
    low, high = float((sizes - errors).min(initial=0.0)), float((sizes + errors).max(initial=0.0))
    room = 0.06 * ((high - low) or 1.0)
    axes = "the first axis" if values.axes == 1 else f"the first {values.axes} axes"
    count = values.shares.shape[1]
    notes = [
        f"Share of the inertia that {axes} lose when a variable is shuffled: mean of {count} "
        f"permutations, lines: 95 %. Blue: p ≤ {LEVEL:g}, each test by itself."
    ]
    if len(order) < len(values):
        notes.append(f"The first {len(order)} of {len(values)}.")
    return Panel(
        (Bars(places, sizes, colours, is_lying=True, names=texts), whiskers),
        Axis("importance", (low - room if low < 0 else 0.0, high + room), ticks=percents(high)),
        Axis("", (0.4, len(order) + 0.6), ticks=tuple(zip(places.tolist(), texts, strict=True))),
        title=f"Importance of variables to {axes}",
        notes=tuple(notes),
        size=(6.4, max(2.6, 0.24 * len(order) + 1.4)),
    )


MOST = 12
"""Variables of each axis that are drawn, those that change most."""

MARK, LETTER = 0.036, 0.022
"""The room of half a mark, and of a letter of the number beside it, as shares of a narrow panel."""

LOW, MIDDLE, HIGH = 0, len(PLACES) // 2, len(PLACES) - 1

DRAWN: dict[int, tuple[str, Marker]] = {
    LOW: (RED, "square"),
    MIDDLE: (INK, "circle"),
    HIGH: (BLUE, "diamond"),
}
"""The places that are marked, each by a colour and a shape."""


@Drawing
def axis_points(
    values: AxisPoints,
    *,
    spectrum: Any = None,
    most: int = MOST,
    title: str = "What points along the axes look like",
) -> Sheet:
    """A panel for each axis: where each variable stands at its low end, middle and high end.

    Parameters
    ----------
    values : AxisPoints
        What `mercer.axis_points` returned.
    spectrum : Spectrum or array, optional
        ``model.spectrum_``, or the shares of the axes, for their titles.
    most : int
        How many variables, those that change most along the axis.

    Examples
    --------
    >>> import mercer as mc
    >>> model = mc.PCA(2).fit(mc.datasets.iris())
    >>> sheet = axis_points.describe(mc.axis_points(model), spectrum=model.spectrum_)
    >>> [panel.title for panel in sheet.panels]
    ['Dim 1 (92.5 %)', 'Dim 2 (5.3 %)']
    >>> [text for _, text in sheet.panels[0].y.ticks][:2]
    ['Petal.Length', 'Petal.Width']
    """
    shares = as_shares(spectrum)
    count = min(whole(most, "most", least=1), len(values.names))
    limits = _limits(values)
    panels = tuple(
        _panel(values, k, count, limits, shares.title(k + 1)) for k in range(len(values))
    )
    height = 0.26 * count + 1.1
    return Sheet(panels, 1, title, (_said(values, count),), cell=(4.8, height))


def _panel(
    values: AxisPoints, k: int, count: int, limits: tuple[float, float], title: str
) -> Panel:
    order = values.order(k + 1)[:count]
    at = np.arange(count, 0, -1).astype(float)
    where, units = values.standardised[k][:, order], values.points[k][:, order]
    names = [values.names[j] for j in order]
    gap = np.full(count, np.nan)
    path = Lines(
        np.column_stack([*where, gap]).ravel(),
        np.column_stack([*[at] * len(PLACES), gap]).ravel(),
        colour=PALE,
        width=3.0,
    )
    marks: list[Mark] = [path]
    for place, (colour, marker) in DRAWN.items():
        marks.append(
            Markers(
                where[place],
                at,
                colour=colour,
                marker=marker,
                size=7.0 if place != MIDDLE else 5.0,
                is_hollow=place == MIDDLE,
                name=PLACES[place],
                names=_told(names, PLACES[place], units[place]),
            )
        )
    marks.append(_numbers(where, units, at, limits[1] - limits[0]))
    return Panel(
        tuple(marks),
        Axis("standard deviations from the mean", limits),
        Axis("", (0.4, count + 0.6), ticks=tuple(zip(at.tolist(), names, strict=True))),
        title=title,
    )


def _told(names: list[str], place: str, units: Array) -> tuple[str, ...]:
    return tuple(f"{n}, {place}: {short(v)}" for n, v in zip(names, units.tolist(), strict=True))


def _limits(values: AxisPoints) -> tuple[float, float]:
    """Return limits that leave room for the longest number on both sides."""
    ends = values.points[:, [LOW, HIGH]].ravel().tolist()
    room = MARK + LETTER * max(len(short(v)) for v in ends)
    return span_of(values.standardised, margin=room / (1.0 - 2.0 * room))


def _numbers(where: Array, units: Array, at: Array, width: float) -> Texts:
    """Return the values at both ends in the units of the columns, away from the line between."""
    texts = tuple(short(v) for v in np.r_[units[LOW], units[HIGH]].tolist())
    away = width * np.array([MARK + 0.5 * LETTER * len(text) for text in texts])
    side = np.where(where[HIGH] >= where[LOW], 1.0, -1.0)
    x = np.r_[where[LOW], where[HIGH]] + away * np.r_[-side, side]
    return Texts(x, np.r_[at, at], texts, (RED,) * len(at) + (BLUE,) * len(at))


def _said(values: AxisPoints, count: int) -> str:
    total = len(values.names)
    fewer = "" if count == total else f" The {count} of {total} variables that change most."
    numbers = "Numbers beside the marks are in the units of the columns."
    if values.method == "exact":
        return f"{numbers}{fewer} The points lie on the axes exactly."
    ends = "; ".join(
        f"axis {k + 1}: {', '.join(percent(s) for s in shares)}"
        for k, shares in enumerate(values.shares[:, [LOW, MIDDLE, HIGH]].tolist())
    )
    return (
        f"{numbers}{fewer} How far the points miss the low end, the middle and the high end, as a "
        f"share of the distance of an individual from the middle – {ends}."
    )


@Drawing
def rebuilt(values: Rebuilt, *, most: int = 2 * MOST) -> Panel:
    """The share of the variance of each variable that comes back from the first axes alone.

    >>> import mercer as mc
    >>> panel = rebuilt.describe(mc.rebuilt(mc.PCA(2).fit(mc.datasets.iris())))
    >>> panel.y.ticks[0][1], panel.of_kind(Bars)[0].lengths.round(2)
    ('Petal.Length', array([1.  , 0.96, 0.94, 0.84]))
    """
    known = [j for j in values.order if np.isfinite(values.shares[j])]
    shown = known[: whole(most, "most", least=1)]
    at, shares = np.arange(len(shown), 0, -1).astype(float), values.shares[shown]
    names = [values.names[j] for j in shown]
    texts = tuple(f"{n}: {percent(s)}" for n, s in zip(names, shares.tolist(), strict=True))
    low = min(0.0, float(shares.min(initial=0.0)))
    axes = "the first axis" if values.axes == 1 else f"the first {values.axes} axes"
    notes = [f"Share of the variance that comes back when {len(values)} individuals are rebuilt."]
    if low < 0.0:
        notes.append("Below 0: the mean of the variable is nearer than what is rebuilt.")
    if len(shown) < len(values.names):
        notes.append(f"{len(shown)} of {len(values.names)} variables.")
    return Panel(
        (Bars(at, shares, (BLUE,) * len(shown), is_lying=True, names=texts),),
        Axis("share of the variance", (1.05 * low, 1.05), ticks=percents(1.0)),
        Axis("", (0.4, len(shown) + 0.6), ticks=tuple(zip(at.tolist(), names, strict=True))),
        title=f"What comes back of each variable from {axes}",
        notes=tuple(notes),
        size=(4.8, 0.26 * len(shown) + 1.1),
    )
