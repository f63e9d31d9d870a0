"""The pictures of the page drawn once and for all, for paper and for readers without scripts."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.page.text import escaped
from mercer.pictures.colours import PALETTE
from mercer.pictures.ellipses import ellipse
from mercer.pictures.labels import placed

WIDTH, HEIGHT = 640, 430
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 12, 44

MOST_DRAWN = 2_000
"""Points drawn as shapes; more become one image, which is smaller."""

LABEL = 11.0
"""The size of the font of labels, in pixels."""

BLUES = ((247, 250, 253), (8, 48, 107))
DIVERGING = ((178, 66, 22), (248, 248, 248), (0, 90, 160))


class Canvas:
    """A picture in the making: numbers in, marks out; every text is escaped here."""

    def __init__(self, title: str, width: float = WIDTH, height: float = HEIGHT) -> None:
        self.size, self.title, self.parts = (width, height), title, list[str]()

    def add(self, tag: str, text: str | None = None, **attributes: Any) -> None:
        named = "".join(
            f' {name.rstrip("_").replace("_", "-")}="{_attribute(v)}"'
            for name, v in attributes.items()
        )
        inside = "/>" if text is None else f">{escaped(text)}</{tag}>"
        self.parts.append(f"<{tag}{named}{inside}")

    def text(self, x: float, y: float, text: str, **attributes: Any) -> None:
        self.add("text", text, x=x, y=y, **attributes)

    def image(self, box: tuple[float, float, float, float], pixels: Array) -> None:
        x, y, width, height = box
        self.add(
            "image",
            x=x,
            y=y,
            width=width,
            height=height,
            preserveAspectRatio="none",
            class_="pixels",
            href=png(pixels),
        )

    def __str__(self) -> str:
        width, height = self.size
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'role="img" aria-label="{escaped(self.title)}">{"".join(self.parts)}</svg>'
        )


def _attribute(value: Any) -> str:
    """Return a number, or a path or an address of ours, which is longer than any name."""
    return f"{value:.6g}" if isinstance(value, int | float | np.number) else escape(str(value))


def png(pixels: Array) -> str:
    """Return an image of n x m x 4 bytes as the address of a PNG that holds it.

    >>> png(np.zeros((1, 1, 4), np.uint8))[:30]
    'data:image/png;base64,iVBORw0K'
    """
    height, width = pixels.shape[:2]
    lines = np.insert(pixels.reshape(height, -1), 0, 0, axis=1)  # each line begins with its filter

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    data = zlib.compress(lines.tobytes(), 9)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()


def ticks(low: float, high: float, count: int = 6) -> Array:
    """Return round numbers between two others.

    >>> ticks(-0.3, 1.9)
    array([0. , 0.5, 1. , 1.5])
    """
    span = high - low
    if not span > 0 or not np.isfinite(span):
        return np.array([low])
    step = 10.0 ** np.floor(np.log10(span / count))
    step *= next(f for f in (1.0, 2.0, 5.0, 10.0) if span / (f * step) <= count)
    found: Array = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    return found


class Frame:
    """Two scales on a canvas, and the lines and numbers along them."""

    def __init__(self, canvas: Canvas, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.canvas, self.x, self.y = canvas, _wide(x), _wide(y)
        width, height = canvas.size
        self.box = (LEFT, TOP, width - LEFT - RIGHT, height - TOP - BOTTOM)

    def equal(self) -> Frame:
        """Give both scales the same unit."""
        _, _, width, height = self.box
        unit = max((self.x[1] - self.x[0]) / width, (self.y[1] - self.y[0]) / height)
        middle = [0.5 * (a + b) for a, b in (self.x, self.y)]
        self.x = (middle[0] - 0.5 * unit * width, middle[0] + 0.5 * unit * width)
        self.y = (middle[1] - 0.5 * unit * height, middle[1] + 0.5 * unit * height)
        return self

    def across(self, values: Any) -> Any:
        return self.box[0] + (values - self.x[0]) / (self.x[1] - self.x[0]) * self.box[2]

    def down(self, values: Any) -> Any:
        return self.box[1] + (self.y[1] - values) / (self.y[1] - self.y[0]) * self.box[3]

    def axes(self, x_title: str, y_title: str, *, origin: bool = False) -> Frame:
        """Draw the frame, its numbers and its titles."""
        c, (left, top, width, height) = self.canvas, self.box
        bottom = top + height
        for v in ticks(*self.x):
            u = self.across(v)
            c.add(
                "line",
                x1=u,
                x2=u,
                y1=top,
                y2=bottom,
                class_="zero" if origin and v == 0 else "grid",
            )
            c.text(u, bottom + 16, _tick(v), class_="tick", text_anchor="middle")
        for v in ticks(*self.y):
            w = self.down(v)
            c.add(
                "line",
                x1=left,
                x2=left + width,
                y1=w,
                y2=w,
                class_="zero" if origin and v == 0 else "grid",
            )
            c.text(left - 6, w + 4, _tick(v), class_="tick", text_anchor="end")
        c.text(left + width / 2, bottom + 36, x_title, class_="title", text_anchor="middle")
        middle = top + height / 2
        turn = f"rotate(-90 14 {middle:g})"
        c.text(14, middle, y_title, class_="title", text_anchor="middle", transform=turn)
        return self


def _wide(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = ends
    margin = 0.06 * (high - low) or 0.5 * abs(high) or 0.5
    return low - margin, high + margin


def _tick(value: float) -> str:
    text = f"{value:.4g}" if value else "0"
    return text.replace("-", "−")


def _ends(*values: Array) -> tuple[float, float]:
    every = np.concatenate([np.ravel(v) for v in values])
    every = every[np.isfinite(every)]
    return (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)


def shades(
    levels: Array, stops: tuple[tuple[int, int, int], ...], alpha: Array | int = 255
) -> Array:
    """Return the colours of levels in [0, 1], between the stops."""
    at = np.linspace(0.0, 1.0, len(stops))
    channels = [np.interp(levels, at, [stop[c] for stop in stops]) for c in range(3)]
    full = np.broadcast_to(np.asarray(alpha, float), levels.shape)
    return np.stack([*channels, full], axis=-1).round().astype(np.uint8)


def colours_of(value: dict[str, Any]) -> Array:
    """Return the colour of each individual: by the first factor, all alike without one."""
    people = value["individuals"]
    factor = next((c for c in people["colours"] if "levels" in c), None)
    codes = np.zeros(len(people["names"]), int) if factor is None else factor["codes"]
    found: Array = np.array(PALETTE, dtype=object)[codes % len(PALETTE)]
    return found


def drawn(panel: dict[str, Any], value: dict[str, Any]) -> str:
    """Return a panel as SVG."""
    return str(DRAWN[panel["kind"]](panel, value))


def _plane(panel: dict[str, Any], value: dict[str, Any]) -> Canvas:
    i, j = panel["axes"]
    people = value["individuals"]
    x = people["coordinates"][i]
    y = np.zeros(len(x)) if j is None else people["coordinates"][j]
    canvas = Canvas(panel["title"])
    cells = panel["density"]
    lines = [] if j is None else list(_ellipses(x, y, value))
    around = [line for _, line in lines]
    ends = (_ends(x, *(line[:, 0] for line in around)), _ends(y, *(line[:, 1] for line in around)))
    if cells is not None:
        ends = (_ends(*cells["x"]), _ends(*cells["y"]))
    frame = Frame(canvas, *ends)
    if panel["equal"]:
        frame.equal()
    if cells is not None:
        _cells(frame, cells)
    frame.axes(value["axes"][i], "" if j is None else value["axes"][j], origin=True)
    u, v = frame.across(x), frame.down(y)
    colours = colours_of(value)
    _points(canvas, u, v, colours)
    for colour, line in lines:
        _outline(frame, colour, line)
    _labels(canvas, panel["labels"], u, v, people["names"])
    return canvas


def _cells(frame: Frame, cells: dict[str, Any]) -> None:
    levels = cells["levels"][::-1] / 255.0
    (x0, x1), (y0, y1) = cells["x"], cells["y"]
    box = (frame.across(x0), frame.down(y1))
    size = (frame.across(x1) - box[0], frame.down(y0) - box[1])
    pixels = shades(levels, BLUES, np.where(levels > 0, 200, 0))
    frame.canvas.image((*box, *size), pixels)


def _points(canvas: Canvas, u: Array, v: Array, colours: Array) -> None:
    if len(u) > MOST_DRAWN:
        width, height = (int(2 * s) for s in canvas.size)
        pixels = np.zeros((height, width, 4), np.uint8)
        shade = {c: [int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in PALETTE}
        rgb = np.array([[*shade[c], 190] for c in colours], np.uint8)
        for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1), (-1, 0), (0, -1)):
            at = np.clip((2 * v).astype(int) + dy, 0, height - 1)
            pixels[at, np.clip((2 * u).astype(int) + dx, 0, width - 1)] = rgb
        canvas.image((0, 0, *canvas.size), pixels)
        return
    radius = 3.4 if len(u) <= 500 else 2.2
    for a, b, colour in zip(u, v, colours, strict=True):
        canvas.add("circle", cx=a, cy=b, r=radius, fill=colour, class_="point")


def _ellipses(x: Array, y: Array, value: dict[str, Any]) -> Iterator[tuple[str, Array]]:
    """Yield the colour and the line of the ellipse of each level of the first factor."""
    factor = next((c for c in value["individuals"]["colours"] if "levels" in c), None)
    if factor is None or len(factor["levels"]) > len(PALETTE):
        return
    for level, colour in zip(range(len(factor["levels"])), PALETTE, strict=False):
        mine = factor["codes"] == level
        line = ellipse(np.column_stack([x[mine], y[mine]])).line
        if line is not None:
            yield colour, line


def _outline(frame: Frame, colour: str, line: Array) -> None:
    u, v = frame.across(line[:, 0]), frame.down(line[:, 1])
    d = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(u, v, strict=True)) + "Z"
    frame.canvas.add("path", d=d, fill="none", stroke=colour, class_="ellipse")


def _labels(canvas: Canvas, chosen: Array, u: Array, v: Array, names: list[str]) -> None:
    """Write the names of some points where there is room, the first of them first."""
    width, height = canvas.size
    words = tuple(_cut(names[i]) for i in chosen)
    # Places are counted from the lower left of the frame.
    points = np.column_stack([u - LEFT, height - BOTTOM - v])
    box = (width - LEFT, height - TOP - BOTTOM)
    for place in placed(points[chosen], words, points, box, size=LABEL):
        x, y = place.x + LEFT, height - BOTTOM - place.y + 0.35 * LABEL
        canvas.text(x, y, words[place.number], class_="label", text_anchor="middle")


def _cut(name: str, longest: int = 24) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def _scree(panel: dict[str, Any], value: dict[str, Any]) -> Canvas:
    shares = 100.0 * np.asarray(panel["shares"])
    canvas = Canvas(panel["title"])
    count = len(shares)
    lines = [shares] if panel["null"] is None else [shares, 100.0 * panel["null"]]
    frame = Frame(canvas, (0.5, count + 0.5), (0.0, _ends(*lines)[1]))
    frame.x, frame.y = (0.4, count + 0.6), (0.0, frame.y[1])
    frame.axes("axis", "% of the inertia")
    half = 0.36 * frame.box[2] / (count + 0.2)
    for k, share in enumerate(shares):
        top, at = frame.down(share), frame.across(k + 1.0)
        canvas.add(
            "rect",
            x=at - half,
            y=top,
            width=2 * half,
            height=max(frame.down(0.0) - top, 0.5),
            fill=PALETTE[0],
        )
        if count <= 12:
            canvas.text(at, top - 4, f"{share:.1f}", class_="tick", text_anchor="middle")
    if panel["null"] is not None:
        u, v = frame.across(np.arange(1.0, len(panel["null"]) + 1)), frame.down(100 * panel["null"])
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(u, v, strict=True))
        canvas.add("polyline", points=points, class_="null")
    if panel["mean"] is not None:
        w = frame.down(100.0 * panel["mean"])
        canvas.add(
            "line", x1=frame.box[0], x2=frame.box[0] + frame.box[2], y1=w, y2=w, class_="mean"
        )
    return canvas


def _circle(panel: dict[str, Any], value: dict[str, Any]) -> Canvas:
    canvas = Canvas(panel["title"], 480, 450)
    frame = Frame(canvas, (-1.0, 1.0), (-1.0, 1.0)).equal()
    i, j = panel["axes"]
    frame.axes(value["axes"][i], "" if j is None else value["axes"][j], origin=True)
    u0, v0 = frame.across(0.0), frame.down(0.0)
    canvas.add("circle", cx=u0, cy=v0, r=frame.across(1.0) - u0, class_="circle")
    u, v = frame.across(panel["x"]), frame.down(panel["y"])
    for k, (a, b) in enumerate(zip(u, v, strict=True)):
        kind = "arrow" if k < panel["active"] else "arrow passive"
        canvas.add("line", x1=u0, y1=v0, x2=a, y2=b, class_=kind)
        canvas.add("circle", cx=a, cy=b, r=2.6, class_="tip")
    longest = np.argsort(-(panel["x"] ** 2 + panel["y"] ** 2), kind="stable")[:30]
    _labels(canvas, longest, u, v, panel["names"])
    return canvas


def _bars(panel: dict[str, Any], value: dict[str, Any]) -> Canvas:
    names, shares = panel["names"], 100.0 * np.asarray(panel["values"])
    height = 60 + 22 * len(names)
    canvas = Canvas(panel["title"], WIDTH, height)
    left, most = 190.0, max(float(shares.max(initial=0.0)), 100.0 * panel["uniform"], 1e-9)
    unit = (WIDTH - left - 60.0) / most
    for k, (name, share) in enumerate(zip(names, shares, strict=True)):
        top = 10 + 22 * k
        canvas.text(left - 8, top + 13, _cut(name, 28), class_="label", text_anchor="end")
        canvas.add("rect", x=left, y=top, width=max(unit * share, 0.5), height=17, fill=PALETTE[0])
        canvas.text(left + unit * share + 5, top + 13, f"{share:.1f} %", class_="tick")
    at = left + unit * 100.0 * panel["uniform"]
    canvas.add("line", x1=at, x2=at, y1=4, y2=height - 46, class_="null")
    canvas.text(at, height - 30, "all alike", class_="tick", text_anchor="middle")
    return canvas


def _surface(panel: dict[str, Any], value: dict[str, Any]) -> Canvas:
    canvas = Canvas(panel["title"])
    (x, y), z = panel["sides"], np.asarray(panel["heights"])
    frame = Frame(canvas, _ends(x), _ends(y))
    frame.x, frame.y = _ends(x), _ends(y)
    largest = float(np.max(np.abs(z))) or 1.0
    canvas.image(frame.box, shades(0.5 + 0.5 * z[::-1] / largest, DIVERGING))
    frame.axes(*panel["names"])
    u, v = frame.across(panel["points"][0]), frame.down(panel["points"][1])
    _points(canvas, u, v, colours_of(value))
    return canvas


def _curve(panel: dict[str, Any], value: dict[str, Any]) -> Canvas:
    canvas = Canvas(panel["title"])
    x, z = panel["sides"][0], np.asarray(panel["heights"])
    at = value["individuals"]["coordinates"][panel["axis"]]
    frame = Frame(canvas, _ends(x), _ends(z, at)).axes(
        panel["names"][0], f"axis {panel['axis'] + 1}"
    )
    u, v = frame.across(x), frame.down(z)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(u, v, strict=True))
    canvas.add("polyline", points=points, class_="curve")
    _points(canvas, frame.across(panel["points"][0]), frame.down(at), colours_of(value))
    return canvas


def _apart(panel: dict[str, Any], value: dict[str, Any]) -> Canvas:
    people = value["individuals"]
    x, y = people["distances"], panel["heights"]
    canvas = Canvas(panel["title"])
    frame = Frame(canvas, (0.0, _ends(x)[1]), (0.0, _ends(y)[1]))
    frame.axes("distance to the barycentre", panel["up"])
    u, v = frame.across(x), frame.down(y)
    _points(canvas, u, v, colours_of(value))
    rows = people["rows"]
    ringed = panel["outliers"] if rows is None else np.flatnonzero(np.isin(rows, panel["outliers"]))
    for i in ringed[:200]:
        canvas.add("circle", cx=u[i], cy=v[i], r=6.5, class_="ring")
    _labels(canvas, ringed[:30], u, v, people["names"])
    return canvas


def _heat(panel: dict[str, Any], value: dict[str, Any]) -> Canvas:
    canvas = Canvas(panel["title"], 480, 440)
    z = np.asarray(panel["heights"])
    low, high = _ends(z)
    canvas.image((20, 10, 400, 400), shades((z - low) / ((high - low) or 1.0), BLUES))
    scale = shades(np.linspace(1.0, 0.0, 64)[:, None], BLUES)
    canvas.image((432, 10, 12, 400), scale)
    canvas.text(448, 20, _tick(high), class_="tick")
    canvas.text(448, 410, _tick(low), class_="tick")
    return canvas


DRAWN = {
    "plane": _plane,
    "scree": _scree,
    "circle": _circle,
    "bars": _bars,
    "surface": _surface,
    "curve": _curve,
    "apart": _apart,
    "heat": _heat,
}
