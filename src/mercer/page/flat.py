"""Described pictures with two sides: their axes, and every mark between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.page.canvas import LABEL, Canvas, cut, png, shades, tick, ticks
from mercer.page.marks import DASHES, PIXELS, Box, Place, path, stops
from mercer.pictures.colours import PALE, Scale, hexes
from mercer.pictures.labels import placements
from mercer.pictures.scene import (
    INCH,
    Arrows,
    Axis,
    Band,
    Bars,
    Field,
    Lines,
    Panel,
    Points,
    Rule,
    Texts,
    equalised,
)


class Flat(Place):
    """A panel with two sides."""

    def __init__(self, canvas: Canvas, panel: Panel, box: Box) -> None:
        x, y = panel.x.limits, panel.y.limits
        if panel.is_equal and panel.keeps_limits:
            box = _narrowed(box, abs((x[1] - x[0]) / (y[1] - y[0])))
        elif panel.is_equal:
            x, y = equalised(x, y, box[2:])
        super().__init__(canvas, panel, box)
        self.x, self.y = x, y

    def across(self, values: Any) -> Any:
        return self.box[0] + self.box[2] * _share(values, self.x, self.panel.x)

    def down(self, values: Any) -> Any:
        return self.box[1] + self.box[3] * (1.0 - _share(values, self.y, self.panel.y))

    def draw(self) -> None:
        for field in self.panel.marks:
            if isinstance(field, Field):
                self._field(field)
        self._sides()
        with_draw: dict[type, Callable[[Any], None]] = {
            Points: lambda m: self.points(m, self.across(m.x), self.down(m.y)),
            Lines: lambda m: self.lines(m, self.across(m.x), self.down(m.y)),
            Arrows: self._arrows,
            Bars: self._bars,
            Band: self._band,
            Rule: self._rule,
            Texts: self._texts,
        }
        for mark in self.panel.marks:
            if type(mark) in with_draw:
                with_draw[type(mark)](mark)
        self._labels()

    def _sides(self) -> None:
        c, (left, top, width, height), panel = self.canvas, self.box, self.panel
        bottom = top + height
        c.add("rect", x=left, y=top, width=width, height=height, fill="none", stroke=PALE)
        if panel.has_origin:
            for u0, v0, u1, v1 in (
                (self.across(0.0), top, self.across(0.0), bottom),
                (left, self.down(0.0), left + width, self.down(0.0)),
            ):
                if left <= u0 <= left + width and top <= v0 <= bottom:
                    c.add("line", x1=u0, y1=v0, x2=u1, y2=v1, class_="zero")
        if panel.x.is_shown:
            side = Axis(limits=self.x, is_log=panel.x.is_log, ticks=panel.x.ticks)
            for at, text in _ticks(side):
                for k, line in enumerate(text.split("\n")):
                    where = {"class_": "tick", "text_anchor": "middle"}
                    c.text(self.across(at), bottom + 15 + 12 * k, line, **where)
            more = 12 * max((text.count("\n") for _, text in side.ticks or ()), default=0)
            where = {"class_": "title", "text_anchor": "middle"}
            c.text(left + width / 2, bottom + 36 + more, panel.x.title, **where)
        if panel.y.is_shown:
            side = Axis(limits=self.y, is_log=panel.y.is_log, ticks=panel.y.ticks)
            for at, text in _ticks(side):
                c.text(left - 6, self.down(at) + 4, cut(text), class_="tick", text_anchor="end")
            middle = top + height / 2
            turn = f"rotate(-90 14 {middle:g})"
            where = {"class_": "title", "text_anchor": "middle", "transform": turn}
            c.text(14, middle, panel.y.title, **where)

    def _field(self, mark: Field) -> None:
        low, high = mark.scale.limits
        z = np.asarray(mark.scale.values, float)
        levels = np.where(np.isfinite(z), (z - low) / (high - low), 0.0)
        alpha = np.where(np.isfinite(z), 255, 0)
        outer = _ends if mark.kind == "contour" else _edges
        edges = [outer(np.asarray(v, float)) for v in (mark.x, mark.y)]
        u, v = self.across(edges[0]), self.down(edges[1])
        if v[0] > v[-1]:
            levels, alpha = levels[::-1], alpha[::-1]
        box = (min(u[0], u[-1]), min(v[0], v[-1]), abs(u[-1] - u[0]), abs(v[-1] - v[0]))
        pixels = shades(levels, stops(mark.scale), alpha)
        kind = "smooth" if mark.kind == "contour" else "pixels"
        self.canvas.add(
            "image",
            **dict(zip(("x", "y", "width", "height"), box, strict=True)),
            preserveAspectRatio="none",
            class_=kind,
            href=png(pixels),
        )

    def _arrows(self, mark: Arrows) -> None:
        colours = hexes(mark.colour) if isinstance(mark.colour, Scale) else None
        u0, v0 = self.across(0.0), self.down(0.0)
        for i, (a, b) in enumerate(zip(self.across(mark.x), self.down(mark.y), strict=True)):
            colour = mark.colour if colours is None else colours[i]
            dash = "6 4" if mark.is_dashed else "none"
            ends = {"x1": u0, "y1": v0, "x2": a, "y2": b}
            self.canvas.add("line", **ends, stroke=colour, stroke_width=1.5, stroke_dasharray=dash)
            self.canvas.add("circle", cx=a, cy=b, r=2.4, fill=colour)

    def _bars(self, mark: Bars) -> None:
        ends = zip(mark.at, mark.lengths, mark.colours, strict=True)
        for at, length, colour in ends:
            if mark.is_lying:
                corners = (self.across(0.0), self.down(at + 0.4), self.across(length))
                other = self.down(at - 0.4)
            else:
                corners = (self.across(at - 0.4), self.down(length), self.across(at + 0.4))
                other = self.down(0.0)
            (x0, y0, x1), y1 = corners, other
            size = {"width": max(abs(x1 - x0), 0.5), "height": max(abs(y1 - y0), 0.5)}
            self.canvas.add("rect", x=min(x0, x1), y=min(y0, y1), **size, fill=colour)

    def _band(self, mark: Band) -> None:
        u = self.across(np.concatenate([mark.x, mark.x[::-1]]))
        v = self.down(np.concatenate([mark.high, mark.low[::-1]]))
        self.canvas.add("path", d=path(u, v) + "Z", fill=mark.colour, fill_opacity=0.3)

    def _rule(self, mark: Rule) -> None:
        left, top, width, height = self.box
        if mark.is_level:
            at = self.down(mark.at)
            ends = {"x1": left, "x2": left + width, "y1": at, "y2": at}
        else:
            at = self.across(mark.at)
            ends = {"x1": at, "x2": at, "y1": top, "y2": top + height}
        dash = DASHES[mark.dash]
        self.canvas.add("line", **ends, stroke=mark.colour, stroke_width=1.3, stroke_dasharray=dash)

    def _texts(self, mark: Texts) -> None:
        for u, v, text, colour in zip(
            self.across(mark.x), self.down(mark.y), mark.texts, mark.colours, strict=True
        ):
            size = f"font-size:{mark.size * PIXELS / INCH:.3g}px"
            look = {"style": f"{size};fill:{colour}", "text_anchor": "middle"}
            self.canvas.text(u, v + 4, text, **look)

    def _labels(self) -> None:
        left, top, width, height = self.box
        unit = INCH / PIXELS
        box = (unit * width, unit * height)
        for mark, place in placements(self.panel, self.x, self.y, box):
            u, v = left + place.x / unit, top + height - place.y / unit + 0.35 * LABEL
            look = {"class_": "label", "text_anchor": "middle"}
            colour = f"fill:{mark.colours[place.number]}"
            self.canvas.text(u, v, mark.texts[place.number], **look, style=colour)


def _ticks(side: Axis) -> list[tuple[float, str]]:
    if side.ticks is not None:
        return list(side.ticks)
    low, high = side.limits
    if side.is_log:
        decades = range(int(np.ceil(np.log10(low))), int(np.floor(np.log10(high))) + 1)
        every = max(1, len(decades) // 6)
        return [(10.0**k, tick(10.0**k)) for k in list(decades)[::every]]
    return [(float(v), tick(v)) for v in ticks(low, high)]


def _share(values: Any, limits: tuple[float, float], side: Axis) -> Any:
    """Return how far along a side values lie, 0 at its beginning and 1 at its end."""
    if not side.is_log:
        return (np.asarray(values, float) - limits[0]) / (limits[1] - limits[0])
    known = np.where(np.asarray(values, float) > 0, values, np.nan)
    low, high = np.log10(limits)
    return (np.log10(known) - low) / (high - low)


def _ends(places: Array) -> Array:
    return places[[0, -1]]


def _edges(centres: Array) -> Array:
    """Return the two outer edges of cells, given their centres."""
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    first, last = 0.5 * (centres[1] - centres[0]), 0.5 * (centres[-1] - centres[-2])
    return np.array([centres[0] - first, centres[-1] + last])


def _narrowed(box: Box, ratio: float) -> Box:
    """Return the largest box of a given ratio of sides inside another, at its middle."""
    left, top, width, height = box
    w, h = (height * ratio, height) if height * ratio <= width else (width, width / ratio)
    return left + (width - w) / 2, top + (height - h) / 2, w, h
