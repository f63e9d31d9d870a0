"""Parts of SVG as text: shapes, images of cells, level lines, sides of frames and legends."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from mercer.check import Array
from mercer.pictures.colours import INK, Scale, rgb_of
from mercer.pictures.labels import cut, width_of
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import (
    Axis,
    Band,
    Bars,
    Markers,
    Panel,
    name_of,
)

DASHES = {"solid": "", "dashed": "6 4", "dotted": "2 3"}
"""Pixels of dashes and gaps."""

CORNERS = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
    "triangle": ((0, -1.25), (1.2, 1), (-1.2, 1)),
    "cross": ((-1, -0.5), (-0.5, -1), (0, -0.5), (0.5, -1), (1, -0.5), (0.5, 0))
    + ((1, 0.5), (0.5, 1), (0, 0.5), (-0.5, 1), (-1, 0.5), (-0.5, 0)),
}
"""The outlines of markers, half their width being 1."""


def digits(value: float) -> str:
    """Return a place in pixels, to a tenth.

    >>> digits(1.25), digits(3.0)
    ('1.2', '3')
    """
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def shape(tag: str, words: str = "", **look: Any) -> str:
    """Return an element; numbers are places, what is None or empty is left out.

    >>> shape("rect", x=0.0, width=2.25, stroke_width="0.5", fill=None)
    '<rect x="0" width="2.2" stroke-width="0.5"/>'
    """
    parts = [tag]
    for name, value in look.items():
        if value is not None and value != "":
            text = digits(value) if isinstance(value, float) else str(value)
            parts.append(f'{name.replace("_", "-")}="{text}"')
    head = " ".join(parts)
    return f"<{head}>{escape(words)}</{tag}>" if words else f"<{head}/>"


def rectangle(x: float, y: float, width: float, height: float, **look: Any) -> str:
    """Return a rectangle from its left upper corner."""
    return shape("rect", x=x, y=y, width=width, height=height, **look)


def line(ends: tuple[float, float, float, float], colour: str, **look: Any) -> str:
    """Return a straight line from (x, y) to (x, y)."""
    x1, y1, x2, y2 = ends
    return shape("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, **look)


def text(words: str, x: float, y: float, *, turn: int = 0, **look: Any) -> str:
    """Return words on a baseline that begins at a place, or is anchored there otherwise."""
    turned = f"rotate({turn} {digits(x)} {digits(y)})" if turn else None
    return shape("text", words or " ", **{"x": x, "y": y, "fill": INK, "transform": turned} | look)


def path(us: Array, vs: Array) -> str:
    """Return a line through points, broken where one is not finite.

    >>> path(np.array([0.0, 1.0, np.nan, 2.0]), np.zeros(4))
    'M0 0L1 0M2 0'
    """
    found, is_on = [], False
    for u, v in zip(np.ravel(us).tolist(), np.ravel(vs).tolist(), strict=True):
        is_here = bool(np.isfinite(u) and np.isfinite(v))
        if is_here:
            found.append(f"{'L' if is_on else 'M'}{digits(u)} {digits(v)}")
        is_on = is_here
    return "".join(found)


def markers(mark: Markers, us: Array, vs: Array, colour: str) -> str:
    """Return points of one colour as one shape; circles are the ends of lines of no length."""
    r = 0.68 * mark.size
    places = list(zip(us.tolist(), vs.tolist(), strict=True))
    look: dict[str, Any] = {"fill": colour, "stroke": "#fff", "stroke_width": "0.5"}
    if mark.is_hollow:
        look = {"fill": "none", "stroke": colour, "stroke_width": "1.5"}
    corners = CORNERS.get(mark.marker)
    if corners is not None:
        rings = (
            "L".join(f"{digits(u + r * a)} {digits(v + r * b)}" for a, b in corners)
            for u, v in places
        )
        d = "".join(f"M{ring}Z" for ring in rings)
    elif mark.is_hollow:
        half = f"a{digits(r)} {digits(r)} 0 1 0 "
        turn = f"{half}{digits(2 * r)} 0{half}{digits(-2 * r)} 0"
        d = "".join(f"M{digits(u - r)} {digits(v)}{turn}" for u, v in places)
    else:
        d = "".join(f"M{digits(u)} {digits(v)}h0" for u, v in places)
        look = {"fill": "none", "stroke": colour, "stroke_width": 2 * r, "stroke_linecap": "round"}
    return shape("path", d=d, opacity=f"{mark.opacity:g}", **look)


def png_of(values: Array, scale: Scale, *, is_density: bool = False) -> bytes:
    r"""Return cells as an image of a pixel each; nothing where there is no number, or no density.

    >>> png_of(np.eye(2), Scale(np.eye(2)))[:4]
    b'\x89PNG'
    """
    n, m = values.shape
    pixels = np.empty((n, m, 4), np.uint8)
    pixels[..., :3] = rgb_of(Scale(scale.values, kind=scale.kind), values)
    low = scale.limits[0]
    pixels[..., 3] = 255 * (np.isfinite(values) & ~(is_density & (values <= low)))
    rows = np.concatenate([np.zeros((n, 1), np.uint8), pixels.reshape(n, -1)], axis=1)

    def part(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", m, n, 8, 6, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 9)
    marks = part(b"IHDR", head) + part(b"IDAT", body) + part(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + marks


def level_lines(us: Array, vs: Array, scale: Scale) -> Iterator[str]:
    """Yield the pieces of level lines, where a level passes between the corners of a cell."""
    z = scale.values
    low, high = scale.limits
    around = ((0, 0), (0, 1), (1, 1), (1, 0))
    n, m = z.shape
    at = [z[a : n - 1 + a, b : m - 1 + b] for a, b in around]
    for level in np.linspace(low, high, LIMITS.levels + 1)[1:-1]:
        above = [corner >= level for corner in at]
        mixed = ~(above[0] & above[1] & above[2] & above[3]) & (
            above[0] | above[1] | above[2] | above[3]
        )
        for i, j in np.argwhere(mixed & np.isfinite(sum(at))).tolist():
            ends = []
            for k, (a, b) in enumerate(around):
                c, d = around[(k + 1) % 4]
                p, q = z[i + a, j + b] - level, z[i + c, j + d] - level
                if (p < 0) != (q < 0):
                    t = p / (p - q)
                    u = us[j + b] + t * (us[j + d] - us[j + b])
                    ends.append(f"{digits(u)} {digits(vs[i + a] + t * (vs[i + c] - vs[i + a]))}")
            yield from (f"M{a}L{b}" for a, b in zip(ends[::2], ends[1::2], strict=True))


def ticks_of(limits: tuple[float, float], count: float) -> list[tuple[float, str]]:
    """Return round numbers between two ends, about so many.

    >>> [text for _, text in ticks_of((-1.0, 1.0), 4)]
    ['−1', '−0.5', '0', '0.5', '1']
    """
    low, high = sorted(limits)
    rough = (high - low) / max(count, 1.0)
    if not (np.isfinite(rough) and rough > 0):
        return []
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(s for s in (1, 2, 5, 10) if s * power >= 0.999 * rough) * power
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [(k * step, f"{k * step:.4g}".replace("-", "−")) for k in range(first, last + 1)]


class FrameSide:
    """One side of a frame: from values to pixels."""

    def __init__(
        self, axis: Axis, limits: tuple[float, float], ends: tuple[float, float], apart: float
    ) -> None:
        self.axis, self.limits, self.ends, self.apart = axis, limits, ends, apart
        self.low, self.high = (float(self.raw(np.array(v))) for v in limits)

    def raw(self, values: Array) -> Array:
        if not self.axis.is_log:
            return values
        return np.log10(np.where(values > 0, values, np.nan))

    def at(self, values: Any) -> Array:
        start, end = self.ends
        share = (self.raw(np.asarray(values, float)) - self.low) / (self.high - self.low)
        return np.asarray(start + share * (end - start))

    @property
    def ticks(self) -> list[tuple[float, str]]:
        low, high = sorted(self.limits)
        if self.axis.ticks is not None:
            return [(t, text) for t, text in self.axis.ticks if low - 1e-9 <= t <= high + 1e-9]
        if self.axis.is_log:
            decades = range(int(np.ceil(np.log10(low))), int(np.log10(high)) + 1)
            step = max(1, len(decades) // 6)
            return [(10.0**k, f"{10.0**k:g}") for k in decades[::step]]
        return ticks_of(self.limits, abs(self.ends[1] - self.ends[0]) / self.apart)


class LegendEntry(NamedTuple):
    """A line of the legend: a sample of a mark and its name, or a heading."""

    name: str
    mark: Any = None

    @property
    def words(self) -> str:
        return cut(self.name, 60 if self.mark is not None else 32)

    @property
    def width(self) -> float:
        is_heading = self.mark is None
        return width_of(self.words, 12.0, is_bold=is_heading) + (14.0 if is_heading else 30.0)


def is_steep(side: Axis, width: float) -> bool:
    """Whether the names below a panel need more room than it has, and stand upright."""
    lines = [line for _, text in side.ticks or () for line in text.split("\n")]
    longest = max((width_of(cut(line, 28), 11.0) for line in lines), default=0.0)
    return len(side.ticks or ()) > 1 and longest * len(side.ticks or ()) > 0.95 * width


def legend_entries(panel: Panel, told: set[str]) -> Iterator[LegendEntry]:
    """Yield the entries of a legend that no panel before has told, after their heading."""
    names = ((name_of(mark) or "", mark) for mark in panel.marks)
    named = [(name, mark) for name, mark in names if name and name not in told]
    by = next((m.by for _, m in named if isinstance(m, Markers) and m.by), "")
    if by:
        yield LegendEntry(by)
    for name, mark in named:
        if name not in told:
            yield LegendEntry(name, mark)
        told.add(name)


def wrap_entries(entries: Sequence[LegendEntry], width: float) -> list[list[LegendEntry]]:
    """Return the lines of a legend, each as long as there is room."""
    lines: list[list[LegendEntry]] = []
    room = 0.0
    for entry in entries:
        if entry.width > room:
            lines.append([])
            room = width
        lines[-1].append(entry)
        room -= entry.width
    return lines


def sample_of(mark: Any, x: float, y: float) -> str:
    """Return what a mark looks like beside its name."""
    colour = mark.colours[0] if isinstance(mark, Bars) else getattr(mark, "colour", INK)
    colour = colour if isinstance(colour, str) else INK
    if isinstance(mark, Markers):
        return markers(mark, np.array([x + 8.0]), np.array([y]), colour)
    if isinstance(mark, Bars | Band):
        opacity = "0.3" if isinstance(mark, Band) else ""
        return rectangle(x, y - 5.0, 16.0, 10.0, fill=colour, fill_opacity=opacity)
    dash = "6 4" if getattr(mark, "is_dashed", False) else DASHES.get(getattr(mark, "dash", ""), "")
    return line((x, y, x + 16.0, y), colour, stroke_width="1.8", stroke_dasharray=dash)
