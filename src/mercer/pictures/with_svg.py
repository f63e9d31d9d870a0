"""Panels and sheets as SVG inside a page, for readers without scripts, drawn by nothing but text.

A page needs its pictures once as they are described, in the look that its scripts give them:
writing them takes a hundredth of the time in which a drawing library is loaded.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.pictures import svg_parts as shapes
from mercer.pictures.colours import (
    FONT,
    FRAME,
    GRID,
    QUIET,
    ZERO,
    Scale,
    hexes,
    legible,
)
from mercer.pictures.labels import SMALL, cut, names_left_out, placements, width_of
from mercer.pictures.scene import (
    INCH,
    PIXELS,
    Arrows,
    Axis,
    Band,
    Bars,
    Field,
    Labels,
    Lines,
    Mark,
    Markers,
    Panel,
    Rule,
    Sheet,
    Surface,
    Texts,
    equal_axes,
    scale_beside,
)
from mercer.pictures.svg_parts import (
    DASHES,
    FrameSide,
    is_steep,
    legend_entries,
    sample_of,
    wrap_entries,
)

XML = 'xmlns="http://www.w3.org/2000/svg"'
TURNED = (-0.9, 0.45)
"""From where a panel with three sides is seen: the angles around its upright and level axes."""


def svg_of(picture: Panel | Sheet, title: str, name: str) -> str:
    """Return a picture as SVG that can stand inside a page; its own parts are called by ``name``.

    >>> from mercer.pictures.scene import Axis, Rule
    >>> svg_of(Panel((Rule(0.5),), Axis("time"), Axis("height")), "A line", "line")[:36]
    '<svg role="img" aria-label="A line" '
    """
    sheet = picture if isinstance(picture, Sheet) else Sheet((picture,), 1, size=picture.size)
    width, height = (PIXELS * inches for inches in sheet.inches)
    wide, tall = width / sheet.columns, height / sheet.rows
    told: set[str] = set()
    parts = []
    for i, panel in enumerate(sheet.panels):
        row, column = divmod(i, sheet.columns)
        box = (column * wide, row * tall, wide, tall)
        drawn = _Space if panel.z is not None else _Frame
        parts.append(drawn(panel, box, f"{name}-{i}", told).svg())
    head = f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {width:g} {height:g}"'
    return f'{head} font-family="{escape(FONT)}" font-size="12" {XML}>{"".join(parts)}</svg>'


class _Frame:
    """One panel in its place on a sheet."""

    def __init__(
        self, panel: Panel, place: tuple[float, float, float, float], name: str, told: set[str]
    ) -> None:
        self.panel, self.place, self.name = panel, place, name
        self.entries = wrap_entries(list(legend_entries(panel, told)), place[2] - 16.0)
        self.scale = next(filter(None, map(scale_beside, panel.marks)), None)
        self._lay_out()

    def _lay_out(self) -> None:
        panel, (left, top, width, height) = self.panel, self.place
        texts = [text for _, text in panel.y.ticks or ()]
        wide = max((width_of(cut(t, 28), 11.0) for t in texts), default=34.0)
        at_left = min(wide + (28.0 if panel.y.title else 10.0), 0.42 * width)
        start = left + (at_left if panel.y.is_shown else 6.0)
        end = left + width - (78.0 if self.scale is not None else 12.0)
        self.is_steep = is_steep(panel.x, end - start)
        below = 6.0
        if panel.x.is_shown:
            rows = 1 + max((text.count("\n") for _, text in panel.x.ticks or ()), default=0)
            longest = max((width_of(cut(t, 28), 11.0) for _, t in panel.x.ticks or ()), default=0.0)
            below += min(longest, 130.0) if self.is_steep else 14.0 * rows
            below += 20.0 if panel.x.title else 0.0
        below += 19.0 * len(self.entries) + (6.0 if self.entries else 0.0)
        head = top + (24.0 if panel.title else 8.0)
        foot = max(top + height - below, head + 20.0)
        x, y = panel.x.limits, panel.y.limits
        if panel.is_equal and panel.keeps_limits:
            ratio = abs((x[1] - x[0]) / (y[1] - y[0]))
            w, h = end - start, foot - head
            w, h = (h * ratio, h) if h * ratio <= w else (w, w / ratio)
            start, head = start + (end - start - w) / 2, head + (foot - head - h) / 2
            end, foot = start + w, head + h
        elif panel.is_equal:
            x, y = equal_axes(x, y, (end - start, foot - head))
        self.box = (start, head, end - start, foot - head)
        self.x = FrameSide(panel.x, x, (start, end), 70.0)
        self.y = FrameSide(panel.y, y, (foot, head), 50.0)

    def svg(self) -> str:
        parts = [self._title(), self._ground()]
        parts.append(f'<clipPath id="{self.name}">{shapes.rectangle(*self.box)}</clipPath>')
        parts.append(f'<g clip-path="url(#{self.name})">')
        order = {Field: 0, Texts: 2}
        for mark in sorted(self.panel.marks, key=lambda m: order.get(type(m), 1)):
            parts += DRAW[type(mark)](self, mark)
        parts += [*self._labels(), "</g>", *self._ticks(), *self._bar(), *self._legend()]
        return "".join(parts)

    def _title(self) -> str:
        if not self.panel.title:
            return ""
        return shapes.text(self.panel.title, self.box[0], self.place[1] + 15.0, font_weight="600")

    def _ground(self) -> str:
        panel, (left, top, width, height) = self.panel, self.box
        is_framed = panel.x.is_shown or panel.y.is_shown
        parts = [shapes.rectangle(*self.box, fill="#fff", stroke=FRAME if is_framed else "none")]
        has_cells = any(isinstance(m, Field) and m.kind != "density" for m in panel.marks)
        if panel.x.is_shown and panel.x.ticks is None and not has_cells:
            xs = [float(self.x.at(v)) for v, _ in self.x.ticks]
            parts += [shapes.line((x, top, x, top + height), GRID) for x in xs]
        if panel.y.is_shown and panel.y.ticks is None and not has_cells:
            ys = [float(self.y.at(v)) for v, _ in self.y.ticks]
            parts += [shapes.line((left, y, left + width, y), GRID) for y in ys]
        if panel.has_origin:
            x, y = float(self.x.at(0.0)), float(self.y.at(0.0))
            if left < x < left + width:
                parts.append(shapes.line((x, top, x, top + height), ZERO))
            if top < y < top + height:
                parts.append(shapes.line((left, y, left + width, y), ZERO))
        return "".join(parts)

    def _ticks(self) -> Iterator[str]:
        panel, (left, top, width, height) = self.panel, self.box
        bottom = top + height
        if panel.x.is_shown:
            yield from self._ticks_below()
            if panel.x.title:
                at = self.place[1] + self.place[3] - 19.0 * len(self.entries) - 10.0
                at = min(at, bottom + 170.0) if self.is_steep else bottom + 34.0 + self._more_lines
                yield shapes.text(panel.x.title, left + width / 2, at, text_anchor="middle")
        if not panel.y.is_shown:
            return
        widest = 0.0
        for v, text in self.y.ticks:
            widest = max(widest, width_of(cut(text, 28), 11.0))
            y = float(self.y.at(v)) + 4.0
            yield shapes.text(
                cut(text, 28), left - 6.0, y, text_anchor="end", font_size=11, fill=QUIET
            )
        if panel.y.title:
            x, y = max(left - widest - 16.0, self.place[0] + 12.0), top + height / 2
            yield shapes.text(panel.y.title, x, y, text_anchor="middle", turn=-90)

    @property
    def _more_lines(self) -> float:
        return 14.0 * max((t.count("\n") for _, t in self.panel.x.ticks or ()), default=0)

    def _ticks_below(self) -> Iterator[str]:
        bottom = self.box[1] + self.box[3]
        last = -np.inf
        for v, text in self.x.ticks:
            at, lines = float(self.x.at(v)), text.split("\n")
            if self.is_steep:
                words = cut(" ".join(lines), 28)
                look: dict[str, Any] = {
                    "text_anchor": "end",
                    "font_size": 11,
                    "fill": QUIET,
                    "turn": -90,
                }
                yield shapes.text(words, at + 4.0, bottom + 8.0, **look)
                continue
            half = max(width_of(line, 11.0) for line in lines) / 2
            if at - half < last + 3.0:
                continue  # a number upon another is left out
            last = at + half
            for k, line in enumerate(lines):
                yield shapes.text(
                    line,
                    at,
                    bottom + 15.0 + 14.0 * k,
                    text_anchor="middle",
                    font_size=11,
                    fill=QUIET,
                )

    def _bar(self) -> Iterator[str]:
        if self.scale is None:
            return
        left, top, width, height = self.box
        x, y, long = left + width + 12.0, top + 0.1 * height, 0.8 * height
        values = np.linspace(*self.scale.limits, 33)
        for k, colour in enumerate(hexes(Scale(values[::-1], kind=self.scale.kind))):
            at = y + long * k / 33
            yield shapes.rectangle(x, at, 11.0, long / 33 + 0.6, fill=colour)
        side = FrameSide(Axis(), self.scale.limits, (y + long, y), 34.0)
        for v, text in side.ticks:
            yield shapes.text(text, x + 15.0, float(side.at(v)) + 3.5, font_size=10, fill=QUIET)
        if self.scale.title:
            words = cut(self.scale.title, round(long / 6))
            middle = y + long / 2
            yield shapes.text(
                words, x + 52.0, middle, text_anchor="middle", font_size=11, fill=QUIET, turn=-90
            )

    def _legend(self) -> Iterator[str]:
        top = self.place[1] + self.place[3] - 19.0 * len(self.entries) - 2.0
        for k, line in enumerate(self.entries):
            total = sum(entry.width for entry in line)
            room = self.place[0] + self.place[2] - 6.0 - total
            x, y = max(min(self.box[0], room), self.place[0] + 8.0), top + 19.0 * k + 10.0
            for entry in line:
                words = entry.words
                if entry.mark is None:
                    yield shapes.text(words, x, y + 4.0, font_weight="600")
                else:
                    yield sample_of(entry.mark, x, y)
                    yield shapes.text(words, x + 20.0, y + 4.0)
                x += entry.width

    def _labels(self) -> Iterator[str]:
        if not self.panel.of_kind(Labels):
            return
        left, top, width, height = self.box
        unit = INCH / PIXELS
        box = (width * unit, height * unit)
        frame = (self.x.limits, self.y.limits, box)
        found = placements(self.panel, *frame)
        words, corner = names_left_out(self.panel, found, *frame)
        if words:
            at = left + corner.x / unit, top + height - corner.y / unit + 4.0
            yield shapes.text(words, *at, text_anchor="middle", font_size=SMALL / unit, fill=QUIET)
        for mark, place in found:
            colour = legible(mark.colours[place.number])
            text, size = place.text, mark.size / unit
            x, y = left + place.x / unit, top + height - place.y / unit + 0.35 * size
            look: dict[str, Any] = {"font_size": size, "fill": colour}
            if mark.is_bold:
                look["font_weight"] = "600"
            if mark.covers:
                look |= {"stroke": "#fff", "stroke_width": "3", "paint_order": "stroke"}
            if place.line is not None:
                x1, y1, x2, y2 = (v / unit for v in place.line)
                ends: dict[str, Any] = {"x1": left + x1, "y1": top + height - y1}
                ends |= {"x2": left + x2, "y2": top + height - y2}
                yield shapes.shape("line", **ends, stroke=colour, stroke_width=0.8, opacity=0.6)
            yield shapes.text(text, x, y, text_anchor="middle", **look)

    def at(self, mark: Any) -> tuple[Array, Array]:
        """Return where the elements of a mark lie, in pixels."""
        return self.x.at(mark.x), self.y.at(mark.y)

    def points(self, mark: Markers) -> Iterator[str]:
        us, vs = self.at(mark)
        known = np.isfinite(us) & np.isfinite(vs)
        colours = hexes(mark.colour) if isinstance(mark.colour, Scale) else (mark.colour,)
        inks = np.array(colours * len(us) if len(colours) == 1 else colours, object)
        for colour in dict.fromkeys(inks[known].tolist()):
            rows = np.flatnonzero(known & (inks == colour))
            yield shapes.markers(mark, us[rows], vs[rows], colour)

    def lines(self, mark: Lines) -> Iterator[str]:
        yield shapes.shape(
            "path",
            d=shapes.path(*self.at(mark)),
            fill=mark.colour if mark.is_filled else "none",
            fill_opacity="0.1" if mark.is_filled else "",
            stroke=mark.colour,
            stroke_width=mark.width,
            stroke_dasharray=DASHES[mark.dash],
        )

    def arrows(self, mark: Arrows) -> Iterator[str]:
        us, vs = self.at(mark)
        x, y = float(self.x.at(0.0)), float(self.y.at(0.0))
        colours = hexes(mark.colour) if isinstance(mark.colour, Scale) else [mark.colour] * len(us)
        for u, v, colour in zip(us.tolist(), vs.tolist(), colours, strict=True):
            length = float(np.hypot(u - x, v - y))
            if not (np.isfinite(length) and length > 0):
                continue
            c, s, head = (u - x) / length, (v - y) / length, min(9.0, length)
            a, b = u - head * c, v - head * s
            yield shapes.line(
                (x, y, a, b),
                colour,
                stroke_width="1.5",
                stroke_dasharray="6 4" if mark.is_dashed else "",
            )
            tip = np.array([[u, v], [a - 3.4 * s, b + 3.4 * c], [a + 3.4 * s, b - 3.4 * c]])
            yield shapes.shape("path", d=f"{shapes.path(*tip.T)}Z", fill=colour)

    def bars(self, mark: Bars) -> Iterator[str]:
        along, across = (self.x, self.y) if mark.is_lying else (self.y, self.x)
        zero = float(along.at(0.0))
        for i, (at, length) in enumerate(zip(mark.at, mark.lengths, strict=True)):
            a, b = sorted((zero, float(along.at(length))))
            c, d = sorted(across.at([at - 0.4, at + 0.4]).tolist())
            box = (a, c, b - a, d - c) if mark.is_lying else (c, a, d - c, b - a)
            yield shapes.rectangle(*box, fill=mark.colours[i % len(mark.colours)])

    def band(self, mark: Band) -> Iterator[str]:
        us = self.x.at(np.r_[mark.x, mark.x[::-1]])
        vs = self.y.at(np.r_[mark.high, mark.low[::-1]])
        yield shapes.shape(
            "path", d=f"{shapes.path(us, vs)}Z", fill=mark.colour, fill_opacity="0.3"
        )

    def rule(self, mark: Rule) -> Iterator[str]:
        left, top, width, height = self.box
        at = float((self.y if mark.is_level else self.x).at(mark.at))
        ends = (left, at, left + width, at) if mark.is_level else (at, top, at, top + height)
        yield shapes.line(ends, mark.colour, stroke_width="1.3", stroke_dasharray=DASHES[mark.dash])

    def field(self, mark: Field) -> Iterator[str]:
        edges = [_edges(side, places) for side, places in ((self.x, mark.x), (self.y, mark.y))]
        (left, right), (top, bottom) = edges
        is_down = float(self.y.at(mark.y[0])) <= float(self.y.at(mark.y[-1]))
        values = mark.scale.values if is_down else mark.scale.values[::-1]
        image = shapes.png_of(values, mark.scale, is_density=mark.kind == "density")
        yield shapes.shape(
            "image",
            x=left,
            y=top,
            width=right - left,
            height=bottom - top,
            preserveAspectRatio="none",
            style=None if mark.kind == "contour" else "image-rendering: pixelated",
            href=f"data:image/png;base64,{b64encode(image).decode()}",
        )
        if mark.kind == "contour":
            d = "".join(shapes.level_lines(self.x.at(mark.x), self.y.at(mark.y), mark.scale))
            look = {"stroke": "#000", "stroke_opacity": "0.25", "stroke_width": "0.6"}
            yield shapes.shape("path", d=d, fill="none", **look)

    def texts(self, mark: Texts) -> Iterator[str]:
        us, vs = self.at(mark)
        size = mark.size * PIXELS / INCH
        for i, text in enumerate(mark.texts):
            colour = mark.colours[i % len(mark.colours)]
            yield shapes.text(
                text, us[i], vs[i] + 0.35 * size, text_anchor="middle", font_size=size, fill=colour
            )

    def nothing(self, mark: Mark) -> Iterator[str]:
        """Draw nothing: labels find their places when all else is there; surfaces are in space."""
        yield from ()


class _Space(_Frame):
    """A panel with three sides, seen along a slope."""

    def _lay_out(self) -> None:
        left, top, width, height = self.place
        head = 24.0 if self.panel.title else 8.0
        below = 19.0 * len(self.entries) + 14.0
        right = 78.0 if self.scale is not None else 8.0
        self.box = (left + 8.0, top + head, width - 8.0 - right, height - head - below)

    def seen(self, x: Any, y: Any, z: Any) -> tuple[Array, Array, Array]:
        """Return where points lie on the paper, and how near they are."""
        sides = (self.panel.x, self.panel.y, self.panel.z)
        a, b, c = (
            (np.asarray(v, float) - s.limits[0]) / (s.limits[1] - s.limits[0]) - 0.5
            for v, s in zip((x, y, z), sides, strict=True)
            if s is not None
        )
        yaw, pitch = TURNED
        across, away = a * np.cos(yaw) - b * np.sin(yaw), a * np.sin(yaw) + b * np.cos(yaw)
        left, top, width, height = self.box
        size = min(width / 1.55, height / 1.6)
        up = c * np.cos(pitch) + away * np.sin(pitch)
        near = c * np.sin(pitch) - away * np.cos(pitch)
        return left + width / 2 + size * across, top + height / 2 - size * up, near

    def at(self, mark: Any) -> tuple[Array, Array]:
        us, vs, _ = self.seen(mark.x, mark.y, mark.z)
        return us, vs

    def svg(self) -> str:
        parts = [self._title(), *self._cube()]
        for mark in self.panel.marks:
            if isinstance(mark, Surface):
                parts += self._surface(mark)
            elif getattr(mark, "z", None) is not None:
                parts += DRAW[type(mark)](self, mark)
        return "".join([*parts, *self._bar(), *self._legend()])

    def _cube(self) -> Iterator[str]:
        x, y, z = self.panel.x, self.panel.y, self.panel.z
        if z is None:
            return
        floor = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
        rings = [[(i, j, k) for i, j in floor] for k in (0, 1)]
        for path in [*rings, *([(i, j, 0), (i, j, 1)] for i, j in floor[:4])]:
            xs = ([side.limits[c[s]] for c in path] for s, side in enumerate((x, y, z)))
            us, vs, _ = self.seen(*xs)
            yield shapes.shape("path", d=shapes.path(us, vs), fill="none", stroke=ZERO)
        middle = [(s.limits[0] + s.limits[1]) / 2 for s in (x, y, z)]
        for k, (side, ends) in enumerate(((x, (0, 1, 0)), (y, (0, 0, 0)), (z, (0, 0, 0)))):
            place = [s.limits[e] for s, e in zip((x, y, z), ends, strict=True)]
            place[k] = middle[k]
            u, v, _ = self.seen(*place)
            look: dict[str, Any] = {"text_anchor": "middle", "font_size": 11, "fill": QUIET}
            yield shapes.text(side.title, float(u), float(v) + 18.0, **look)

    def _surface(self, mark: Surface) -> Iterator[str]:
        x, y = np.meshgrid(mark.x, mark.y)
        us, vs, near = self.seen(x, y, mark.scale.values)
        colours = np.array(hexes(mark.scale), object).reshape(us.shape)
        n, m = us.shape
        cells = [(i, j) for i in range(n - 1) for j in range(m - 1)]
        cells.sort(key=lambda c: near[c[0], c[1]] + near[c[0] + 1, c[1] + 1])
        for i, j in cells:
            at = ((i, i, i + 1, i + 1), (j, j + 1, j + 1, j))
            look = {"stroke": "#000", "stroke_opacity": "0.15", "stroke_width": "0.4"}
            d = f"{shapes.path(us[at], vs[at])}Z"
            yield shapes.shape("path", d=d, fill=colours[i, j], **look)


DRAW: dict[type, Callable[[Any, Any], Iterator[str]]] = {
    Markers: _Frame.points,
    Lines: _Frame.lines,
    Arrows: _Frame.arrows,
    Bars: _Frame.bars,
    Band: _Frame.band,
    Rule: _Frame.rule,
    Field: _Frame.field,
    Texts: _Frame.texts,
    Labels: _Frame.nothing,
    Surface: _Frame.nothing,
}


def _edges(side: FrameSide, places: Array) -> list[float]:
    """Return where the cells around some places end."""
    if len(places) < 2:
        half = np.array([0.5, 0.5])
    else:
        half = np.array([places[1] - places[0], places[-1] - places[-2]]) / 2
    return sorted(side.at([places[0] - half[0], places[-1] + half[1]]).tolist())
