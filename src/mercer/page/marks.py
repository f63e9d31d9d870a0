"""What every described picture is drawn with: markers, lines, points, and the box they stand in."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array
from mercer.page.canvas import Canvas
from mercer.pictures.colours import Scale, hexes
from mercer.pictures.scene import INCH, Lines, Panel, Points

PIXELS = 100.0
"""Pixels of a picture in an inch of its description."""

DASHES = {"solid": "none", "dashed": "6 4", "dotted": "2 3"}

Box = tuple[float, float, float, float]
"""Left, top, width, height."""


def stops(scale: Scale) -> tuple[tuple[int, int, int], ...]:
    """Return the colours of a scale as numbers of red, green and blue."""
    return tuple((int(s[1:3], 16), int(s[3:5], 16), int(s[5:7], 16)) for s in scale.stops)


def marker(  # noqa: PLR0913  (the look of one marker)
    canvas: Canvas,
    kind: str,
    x: float,
    y: float,
    r: float,
    colour: str,
    *,
    is_hollow: bool,
    opacity: float = 1.0,
) -> None:
    """Draw one marker around its middle."""
    look: dict[str, Any] = {"fill": colour, "fill_opacity": opacity}
    if is_hollow:
        look = {"fill": "none", "stroke": colour, "stroke_width": 1.3}
    if kind == "circle":
        canvas.add("circle", cx=x, cy=y, r=r, **look)
    elif kind == "square":
        canvas.add("rect", x=x - r, y=y - r, width=2 * r, height=2 * r, **look)
    else:
        corners = {
            "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
            "triangle": ((0, -1.2), (1.2, 1), (-1.2, 1)),
            "cross": ((-1, -1), (0, -0.4), (1, -1), (0.4, 0), (1, 1), (0, 0.4), (-1, 1), (-0.4, 0)),
        }[kind]
        points = " ".join(f"{x + r * a:.1f},{y + r * b:.1f}" for a, b in corners)
        canvas.add("polygon", points=points, **look)


def path(u: Array, v: Array) -> str:
    """Return a line through points as a path, broken where one is not finite."""
    parts, is_on = [], False
    for a, b in zip(u, v, strict=True):
        if np.isfinite(a) and np.isfinite(b):
            parts.append(f"{'L' if is_on else 'M'}{a:.1f} {b:.1f}")
            is_on = True
        else:
            is_on = False
    return "".join(parts)


class Place:
    """A panel in a box of a canvas."""

    def __init__(self, canvas: Canvas, panel: Panel, box: Box) -> None:
        self.canvas, self.panel, self.box = canvas, panel, box

    def draw(self) -> None:
        raise NotImplementedError

    def points(self, mark: Points, u: Array, v: Array) -> None:
        colours = hexes(mark.colour) if isinstance(mark.colour, Scale) else (mark.colour,) * len(u)
        radius = 0.5 * mark.size * PIXELS / INCH
        for a, b, colour in zip(u, v, colours, strict=True):
            if np.isfinite(a) and np.isfinite(b):
                marker(
                    self.canvas,
                    mark.marker,
                    a,
                    b,
                    radius,
                    colour,
                    is_hollow=mark.is_hollow,
                    opacity=mark.opacity,
                )

    def lines(self, mark: Lines, u: Array, v: Array) -> None:
        filled = {"fill": mark.colour, "fill_opacity": 0.1} if mark.is_filled else {"fill": "none"}
        self.canvas.add(
            "path",
            d=path(u, v),
            stroke=mark.colour,
            stroke_width=mark.width,
            stroke_dasharray=DASHES[mark.dash],
            **filled,
        )
