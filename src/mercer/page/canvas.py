"""A picture drawn as SVG by hand: a canvas, two scales along its sides, images, labels."""

from __future__ import annotations

import base64
import struct
import zlib
from html import escape
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.page.text import escaped
from mercer.pictures.labels import placed

WIDTH, HEIGHT = 640, 430
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 12, 44

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
            c.text(u, bottom + 16, tick(v), class_="tick", text_anchor="middle")
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
            c.text(left - 6, w + 4, tick(v), class_="tick", text_anchor="end")
        c.text(left + width / 2, bottom + 36, x_title, class_="title", text_anchor="middle")
        middle = top + height / 2
        turn = f"rotate(-90 14 {middle:g})"
        c.text(14, middle, y_title, class_="title", text_anchor="middle", transform=turn)
        return self


def _wide(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = ends
    margin = 0.06 * (high - low) or 0.5 * abs(high) or 0.5
    return low - margin, high + margin


def tick(value: float) -> str:
    """Return the number at a tick."""
    text = f"{value:.4g}" if value else "0"
    return text.replace("-", "−")


def ends_of(*values: Array | float) -> tuple[float, float]:
    """Return the least and the largest of all finite values."""
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


def labelled(canvas: Canvas, chosen: Array, u: Array, v: Array, names: list[str]) -> None:
    """Write the names of some points where there is room, the first of them first."""
    width, height = canvas.size
    words = tuple(cut(names[i]) for i in chosen)
    # Places are counted from the lower left of the frame.
    points = np.column_stack([u - LEFT, height - BOTTOM - v])
    box = (width - LEFT, height - TOP - BOTTOM)
    for place in placed(points[chosen], words, points, box, size=LABEL):
        x, y = place.x + LEFT, height - BOTTOM - place.y + 0.35 * LABEL
        canvas.text(x, y, words[place.number], class_="label", text_anchor="middle")


def cut(name: str, longest: int = 24) -> str:
    """Return a name that fits beside a point."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"
