"""Described pictures (`mercer.pictures`) drawn as SVG: the third hand beside the two libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.page.canvas import Canvas, cut, shades, tick
from mercer.page.flat import Flat
from mercer.page.marks import DASHES, PIXELS, Box, Place, marker, stops
from mercer.page.space import Space
from mercer.pictures.colours import INK, Scale
from mercer.pictures.scene import Band, Bars, Field, Panel, Points, Sheet

LEFT, RIGHT, TOP, BOTTOM, ENTRY = 62.0, 16.0, 28.0, 46.0, 18.0
"""Room around the frame, and the height of a line of the legend."""

BAR = 64.0
"""Room at the right for the colours of a scale."""


def scene(picture: Panel | Sheet) -> str:
    """Return a described picture as SVG, a sheet as one for each panel.

    >>> from mercer.pictures.scene import Axis, Panel, Rule
    >>> scene(Panel((Rule(0.5),), Axis("time"), Axis("height")))[:4]
    '<svg'
    """
    if isinstance(picture, Panel):
        return str(_panel(picture, picture.size))
    width, height = picture.inches
    size = (width / picture.columns, height / picture.rows)
    told: set[str] = set()
    cells = "".join(f"<div>{_panel(panel, size, told)}</div>" for panel in picture.panels)
    columns = f"grid-template-columns: repeat({picture.columns}, minmax(0, 1fr))"
    return f'<div class="cells" style="{columns}">{cells}</div>'


def _panel(panel: Panel, inches: tuple[float, float], told: set[str] | None = None) -> Canvas:
    """Draw a panel, and below it what its marks stand for, unless a panel before has told it."""
    width, height = (PIXELS * side for side in inches)
    told = set() if told is None else told
    entries = _entries(panel, told)
    more = 12.0 * max((text.count("\n") for _, text in panel.x.ticks or ()), default=0)
    canvas = Canvas(panel.title or panel.y.title, width, height + ENTRY * len(entries))
    scale = next((s for s in map(_scale, panel.marks) if s is not None), None)
    top = TOP if panel.title else RIGHT
    if panel.x.is_shown or panel.y.is_shown or panel.z is not None:
        names = max((len(cut(text)) for _, text in panel.y.ticks or ()), default=0)
        left = min(max(LEFT, 24.0 + 6.2 * names), 0.4 * width)
        right = RIGHT if scale is None else BAR
        box = (left, top, width - left - right, height - top - BOTTOM - more)
    else:
        box = (4.0, top, width - (8.0 if scale is None else BAR), height - top - 4.0)
    canvas.text(box[0], 18, panel.title, class_="head")
    place: Place = Flat(canvas, panel, box) if panel.z is None else Space(canvas, panel, box)
    place.draw()
    if scale is not None:
        _bar(canvas, scale, (box[0] + box[2] + 10, box[1] + 0.1 * box[3], 10.0, 0.8 * box[3]))
    for k, mark in enumerate(entries):
        _entry(canvas, mark, box[0], height + ENTRY * k + 4)
    return canvas


def _entries(panel: Panel, told: set[str]) -> list[Any]:
    found = []
    for mark in panel.marks:
        name = getattr(mark, "name", None)
        if name and name not in told:
            told.add(name)
            found.append(mark)
    return found


def _scale(mark: Any) -> Scale | None:
    """Return the scale whose colours a panel explains at its side."""
    if isinstance(mark, Field):
        return mark.scale if mark.has_bar and mark.kind != "density" else None
    found = getattr(mark, "colour", None)
    return found if isinstance(found, Scale) else None


def _bar(canvas: Canvas, scale: Scale, box: Box) -> None:
    low, high = scale.limits
    x, y, width, height = box
    canvas.image(box, shades(np.linspace(1.0, 0.0, 64)[:, None], stops(scale)))
    canvas.text(x + width + 4, y + 8, tick(high), class_="tick")
    canvas.text(x + width + 4, y + height, tick(low), class_="tick")
    middle, at = y + height / 2, x + width + 16
    turn = f"rotate(-90 {at:g} {middle:g})"
    canvas.text(at, middle, scale.title, class_="tick", text_anchor="middle", transform=turn)


def _entry(canvas: Canvas, mark: Any, x: float, y: float) -> None:
    """Write what a mark stands for, beside a piece of it."""
    colour = mark.colours[0] if isinstance(mark, Bars) else mark.colour
    colour = INK if isinstance(colour, Scale) else colour
    if isinstance(mark, Points):
        marker(canvas, mark.marker, x + 9, y, 4.0, colour, is_hollow=mark.is_hollow)
    elif isinstance(mark, Bars | Band):
        opacity = 0.3 if isinstance(mark, Band) else 1.0
        canvas.add("rect", x=x, y=y - 5, width=18, height=10, fill=colour, fill_opacity=opacity)
    else:
        dash = DASHES[mark.dash] if hasattr(mark, "dash") else "none"
        dash = "6 4" if getattr(mark, "is_dashed", False) else dash
        look = {"stroke": colour, "stroke_width": 1.6, "stroke_dasharray": dash}
        canvas.add("line", None, x1=x, x2=x + 18, y1=y, y2=y, **look)
    canvas.text(x + 25, y + 4, cut(mark.name, 90), class_="tick")
