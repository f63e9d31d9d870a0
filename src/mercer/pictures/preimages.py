"""What points along the axes look like: each variable from one end of an axis to the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array, whole
from mercer.pca.along import PLACES, AxisPoints
from mercer.pca.rebuilt import Rebuilt
from mercer.pictures.circle import percents
from mercer.pictures.colours import BLUE, INK, PALE, RED
from mercer.pictures.drawing import Drawing
from mercer.pictures.scene import (
    Axis,
    Bars,
    Lines,
    Mark,
    Marker,
    Panel,
    Points,
    Sheet,
    Texts,
    spanned,
)
from mercer.pictures.shares import as_shares
from mercer.reading.links import percent, short

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
            Points(
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
    return spanned(values.standardised, margin=room / (1.0 - 2.0 * room))


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
