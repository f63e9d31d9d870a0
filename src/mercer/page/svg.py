"""The pictures of the page drawn once and for all, for paper and for readers without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.page.canvas import (
    BLUES,
    DIVERGING,
    WIDTH,
    Canvas,
    Frame,
    cut,
    ends_of,
    labelled,
    shades,
    tick,
)
from mercer.pictures.colours import PALETTE
from mercer.pictures.ellipses import ellipse

LABELS = 20
"""Supplementary individuals whose names are written."""

MOST_DRAWN = 2_000
"""Points drawn as shapes; more become one image, which is smaller."""


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
    ends = (
        ends_of(x, *(line[:, 0] for line in around)),
        ends_of(y, *(line[:, 1] for line in around)),
    )
    passive = value["passive"]
    if passive is not None:
        px = passive["coordinates"][i]
        py = np.zeros(len(px)) if j is None else passive["coordinates"][j]
        ends = (ends_of(np.array(ends[0]), px), ends_of(np.array(ends[1]), py))
    if cells is not None:
        ends = (ends_of(*ends[0], *cells["x"]), ends_of(*ends[1], *cells["y"]))
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
    named, names = np.asarray(panel["labels"], int), people["names"]
    if passive is not None:
        few = np.arange(min(len(px), LABELS)) + len(u)
        named, names = np.concatenate([few, named]), [*names, *passive["names"]]
        u, v = np.append(u, frame.across(px)), np.append(v, frame.down(py))
        _passive(canvas, u[len(x) :], v[len(x) :])
    labelled(canvas, named, u, v, names)
    return canvas


def _passive(canvas: Canvas, u: Array, v: Array) -> None:
    """Draw supplementary individuals as hollow diamonds."""
    for a, b in zip(u[:MOST_DRAWN], v[:MOST_DRAWN], strict=True):
        d = f"M{a - 5:.1f} {b:.1f}L{a:.1f} {b - 5:.1f}L{a + 5:.1f} {b:.1f}L{a:.1f} {b + 5:.1f}Z"
        canvas.add("path", d=d, class_="passive-point")


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


def _scree(panel: dict[str, Any], value: dict[str, Any]) -> Canvas:
    shares = 100.0 * np.asarray(panel["shares"])
    canvas = Canvas(panel["title"])
    count = len(shares)
    lines = [shares] if panel["null"] is None else [shares, 100.0 * panel["null"]]
    frame = Frame(canvas, (0.5, count + 0.5), (0.0, ends_of(*lines)[1]))
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
        if panel["written"] is not None:
            middle = frame.down(100.0 * panel["written"][k])
            canvas.text(at, middle + 4, f"{share:.1f}", class_="tick", text_anchor="middle")
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
    labelled(canvas, longest, u, v, panel["names"])
    return canvas


def _bars(panel: dict[str, Any], value: dict[str, Any]) -> Canvas:
    names, shares = panel["names"], 100.0 * np.asarray(panel["values"])
    height = 60 + 22 * len(names)
    canvas = Canvas(panel["title"], WIDTH, height)
    left, most = 190.0, max(float(shares.max(initial=0.0)), 100.0 * panel["uniform"], 1e-9)
    unit = (WIDTH - left - 60.0) / most
    for k, (name, share) in enumerate(zip(names, shares, strict=True)):
        top = 10 + 22 * k
        canvas.text(left - 8, top + 13, cut(name, 28), class_="label", text_anchor="end")
        canvas.add("rect", x=left, y=top, width=max(unit * share, 0.5), height=17, fill=PALETTE[0])
        canvas.text(left + unit * share + 5, top + 13, f"{share:.1f} %", class_="tick")
    at = left + unit * 100.0 * panel["uniform"]
    canvas.add("line", x1=at, x2=at, y1=4, y2=height - 46, class_="null")
    canvas.text(at, height - 30, "all alike", class_="tick", text_anchor="middle")
    return canvas


def _surface(panel: dict[str, Any], value: dict[str, Any]) -> Canvas:
    canvas = Canvas(panel["title"])
    (x, y), z = panel["sides"], np.asarray(panel["heights"])
    frame = Frame(canvas, ends_of(x), ends_of(y))
    frame.x, frame.y = ends_of(x), ends_of(y)
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
    frame = Frame(canvas, ends_of(x), ends_of(z, at)).axes(
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
    frame = Frame(canvas, (0.0, ends_of(x)[1]), (0.0, ends_of(y)[1]))
    frame.axes("distance to the barycentre", panel["up"])
    u, v = frame.across(x), frame.down(y)
    _points(canvas, u, v, colours_of(value))
    rows = people["rows"]
    ringed = panel["outliers"] if rows is None else np.flatnonzero(np.isin(rows, panel["outliers"]))
    for i in ringed[:200]:
        canvas.add("circle", cx=u[i], cy=v[i], r=6.5, class_="ring")
    labelled(canvas, ringed[:30], u, v, people["names"])
    return canvas


def _heat(panel: dict[str, Any], value: dict[str, Any]) -> Canvas:
    canvas = Canvas(panel["title"], 480, 440)
    z = np.asarray(panel["heights"])
    low, high = ends_of(z)
    canvas.image((20, 10, 400, 400), shades((z - low) / ((high - low) or 1.0), BLUES))
    scale = shades(np.linspace(1.0, 0.0, 64)[:, None], BLUES)
    canvas.image((432, 10, 12, 400), scale)
    canvas.text(448, 20, tick(high), class_="tick")
    canvas.text(448, 410, tick(low), class_="tick")
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
