"""Each kind of mark as traces of plotly, in plain data; every text is made safe for a browser."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.pictures.colours import Scale, hexes
from mercer.pictures.scene import (
    INCH,
    PIXELS,
    Arrows,
    Band,
    Bars,
    Field,
    Labels,
    Lines,
    Markers,
    Rule,
    Surface,
    Texts,
)

DASHES = {"solid": "solid", "dashed": "dash", "dotted": "dot"}
MARKERS = {
    "circle": "circle",
    "square": "square",
    "diamond": "diamond",
    "triangle": "triangle-up",
    "cross": "x",
}

Trace = dict[str, Any]


def safe(text: str) -> str:
    """Return a text in which a browser finds no tag, and plotly no formula.

    >>> safe("<script>$x$")
    '&lt;script&gt;&#36;x&#36;'
    """
    return html.escape(text).replace("$", "&#36;")


def _list(values: Array) -> list[Any]:
    """Return numbers as JSON has them: None where there is none."""
    return [None if not np.isfinite(v) else v for v in np.ravel(values).astype(float).tolist()]


def _named(name: str | None) -> dict[str, Any]:
    return {"name": safe(name) if name else "", "showlegend": bool(name)}


def _told(names: tuple[str, ...] | None) -> dict[str, Any]:
    if names is None:
        return {"hoverinfo": "skip"}
    return {"hoverinfo": "text", "hovertext": [safe(name) for name in names]}


def _stops(scale: Scale) -> list[list[Any]]:
    places = np.linspace(0.0, 1.0, len(scale.stops)).tolist()
    return [[at, colour] for at, colour in zip(places, scale.stops, strict=True)]


def _faded(colour: str, opacity: float) -> str:
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({r},{g},{b},{opacity})"


def _points(mark: Markers) -> list[Trace]:
    marker: dict[str, Any] = {"size": mark.size * 1.4, "opacity": mark.opacity}
    marker["symbol"] = MARKERS[mark.marker] + ("-open" if mark.is_hollow else "")
    if mark.z is not None and mark.marker == "triangle":
        marker["symbol"] = "diamond"  # there are no triangles in space
    if isinstance(mark.colour, Scale):
        low, high = mark.colour.limits
        marker |= {
            "color": _list(mark.colour.values),
            "cmin": low,
            "cmax": high,
            "colorscale": _stops(mark.colour),
            "colorbar": {"title": {"text": safe(mark.colour.title), "side": "right"}},
        }
    else:
        marker["color"] = mark.colour
    at = {"x": _list(mark.x), "y": _list(mark.y)}
    if mark.z is not None:
        at["z"] = _list(mark.z)
    kind = "scatter" if mark.z is None else "scatter3d"
    return [
        {
            "type": kind,
            "mode": "markers",
            "marker": marker,
            **at,
            **_named(mark.name),
            **_told(mark.names),
        }
    ]


def line(x: Array, y: Array, colour: str, width: float, dash: str, name: str | None) -> Trace:
    """Return a line through points, broken where one is missing."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": _list(x),
        "y": _list(y),
        "line": {"color": colour, "width": width, "dash": DASHES[dash]},
        "hoverinfo": "skip",
        **_named(name),
    }


def _lines(mark: Lines) -> list[Trace]:
    trace = line(mark.x, mark.y, mark.colour, mark.width, mark.dash, mark.name)
    if mark.z is not None:
        trace |= {"type": "scatter3d", "z": _list(mark.z)}
    if mark.is_filled:
        trace |= {"fill": "toself", "fillcolor": _faded(mark.colour, 0.1)}
    return [trace]


def _arrows(mark: Arrows) -> list[Trace]:
    colours = hexes(mark.colour) if isinstance(mark.colour, Scale) else (mark.colour,) * len(mark.x)
    found = []
    for i, (x, y, colour) in enumerate(zip(mark.x, mark.y, colours, strict=True)):
        trace = line(
            np.array([0.0, x]),
            np.array([0.0, y]),
            colour,
            1.5,
            "dashed" if mark.is_dashed else "solid",
            mark.name if i == 0 else None,
        )
        name = None if mark.names is None else ("", mark.names[i])
        trace |= {"mode": "lines+markers", **_told(name)}
        trace["marker"] = {
            "symbol": "arrow",
            "angleref": "previous",
            "size": [0, 11],
            "color": colour,
        }
        found.append(trace)
    if isinstance(mark.colour, Scale):
        empty = Markers(np.array([np.nan]), np.array([np.nan]), colour=mark.colour)
        found += _points(empty)
    return found


def _bars(mark: Bars) -> list[Trace]:
    at, lengths = _list(mark.at), _list(mark.lengths)
    x, y = (lengths, at) if mark.is_lying else (at, lengths)
    return [
        {
            "type": "bar",
            "x": x,
            "y": y,
            "orientation": "h" if mark.is_lying else "v",
            "marker": {"color": list(mark.colours)},
            **_named(mark.name),
            **_told(mark.names),
        }
    ]


def _band(mark: Band) -> list[Trace]:
    x = np.concatenate([mark.x, mark.x[::-1]])
    y = np.concatenate([mark.high, mark.low[::-1]])
    trace = line(x, y, mark.colour, 0.0, "solid", mark.name)
    return [trace | {"fill": "toself", "fillcolor": _faded(mark.colour, 0.3)}]


def _field(mark: Field) -> list[Trace]:
    low, high = mark.scale.limits
    trace: Trace = {
        "type": "contour" if mark.kind == "contour" else "heatmap",
        "x": _list(mark.x),
        "y": _list(mark.y),
        "z": [_list(row) for row in mark.scale.values],
        "colorscale": _stops(mark.scale),
        "zmin": low,
        "zmax": high,
        "showscale": mark.has_bar,
        "colorbar": {
            "title": {"text": safe(mark.scale.title), "side": "right"},
            "y": 0.4,
            "len": 0.7,
        },
        "hoverinfo": "x+y+z",
    }
    if mark.kind == "contour":
        trace["ncontours"] = 14
        trace["line"] = {"width": 0.5}
    return [trace]


def _surface(mark: Surface) -> list[Trace]:
    return [
        {
            "type": "surface",
            "x": _list(mark.x),
            "y": _list(mark.y),
            "z": [_list(row) for row in mark.scale.values],
            "colorscale": _stops(mark.scale),
            "showscale": False,
        }
    ]


def _texts(mark: Texts) -> list[Trace]:
    return [
        {
            "type": "scatter",
            "mode": "text",
            "x": _list(mark.x),
            "y": _list(mark.y),
            "text": [safe(text) for text in mark.texts],
            "textfont": {"color": list(mark.colours), "size": mark.size * PIXELS / INCH},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]


def _elsewhere(mark: Rule | Labels) -> list[Trace]:
    """Rules need the limits of their panel, labels its size."""
    return []


TRACES: dict[type, Callable[[Any], list[Trace]]] = {
    Markers: _points,
    Lines: _lines,
    Arrows: _arrows,
    Bars: _bars,
    Band: _band,
    Rule: _elsewhere,
    Field: _field,
    Surface: _surface,
    Texts: _texts,
    Labels: _elsewhere,
}
