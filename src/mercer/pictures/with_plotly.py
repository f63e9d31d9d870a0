"""Panels and sheets as plotly figures: first as plain data, and with a fixed list of buttons.

Left alone, plotly.js chooses the buttons itself, and one of them sends the figure with its data to
a company. So every figure names all of its buttons; a new one of plotly's is not among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.errors import extra
from mercer.pictures.colours import GREY, PALE, QUIET, legible
from mercer.pictures.labels import SMALL, names_left_out, placements
from mercer.pictures.scene import INCH, PIXELS, Axis, Labels, Panel, Rule, Sheet, equal_axes
from mercer.pictures.traces import TRACES, Trace, line, safe

PICTURE = ["toImage"]
PLANE = [["zoom2d", "pan2d", "select2d", "lasso2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]]
SPACE = [["zoom3d", "pan3d", "orbitRotation", "tableRotation"], ["resetCameraDefault3d"]]

UPLOADS = ["sendChartToCloud", "sendDataToCloud", "editInChartStudio"]
"""What plotly.js has called such buttons so far: a figure's own data can only say what to leave
out, which counts where a figure is drawn by somebody who does not ask for its toolbar."""


def buttons(layout: Iterable[str]) -> list[list[str]]:
    """Return the buttons of a figure, group by group, from what its layout has.

    >>> buttons(["scene"])[0], len(buttons(["xaxis", "yaxis", "scene2"]))
    (['toImage'], 5)
    """
    names = list(layout)
    is_flat = any(name.startswith("xaxis") for name in names)
    is_deep = any(name.startswith("scene") for name in names)
    return [PICTURE, *(PLANE if is_flat or not is_deep else []), *(SPACE if is_deep else [])]


def config(layout: Iterable[str]) -> dict[str, Any]:
    """Return what plotly.js is told beside the data of a figure."""
    return {"modeBarButtons": buttons(layout), "displaylogo": False, "showSendToCloud": False}


MARGINS = {"l": 70, "r": 150, "t": 60, "b": 110}
GAPS = (0.12, 0.16)
"""Room between the panels of a sheet, as shares of its width and height, for two rows or more."""

BETWEEN = 80.0
"""Pixels that the words between two rows take; a tall sheet leaves no more."""


def figure_of(picture: Panel | Sheet) -> Any:
    """Return a plotly Figure."""
    extra("plotly.graph_objects", "plot", "drawing a picture for a page")
    from mercer.pictures.figures import Figure

    return Figure(as_data(picture))


def as_data(picture: Panel | Sheet) -> dict[str, Any]:
    """Return the traces and the layout of a figure as plain data; plotly is not needed for it."""
    sheet = picture if isinstance(picture, Sheet) else Sheet((picture,), 1, size=picture.size)
    width, height = (PIXELS * side for side in sheet.inches)
    layout: dict[str, Any] = {
        "width": width + MARGINS["r"],
        "height": height + MARGINS["b"],
        "margin": MARGINS,
        "template": "none",
        "font": {"size": 12, "color": "#333333"},
        "legend": {"x": 1.02, "y": 1.0},
        "title": {"text": safe(sheet.title)},
        "annotations": [],
        "shapes": [],
        "modebar": {"remove": UPLOADS},
    }
    data: list[Trace] = []
    told: set[str] = set()
    for i, panel in enumerate(sheet.panels):
        _Cell(sheet, i, layout).add(panel, data)
    for trace in data:  # one entry for each name, however many panels show it
        trace["showlegend"] = trace.get("showlegend", False) and trace["name"] not in told
        told.add(trace.get("name", ""))
    if sheet.notes:
        layout["annotations"].append(_note(sheet.notes, "paper", "paper", -50))
    return {"data": data, "layout": layout}


class _Cell:
    """The place of one panel on a sheet, and what it adds to the figure."""

    def __init__(self, sheet: Sheet, number: int, layout: dict[str, Any]) -> None:
        row, column = divmod(number, sheet.columns)
        self.x = _part(column, sheet.columns, GAPS[0])
        low, high = _part(row, sheet.rows, min(GAPS[1], BETWEEN / layout["height"]))
        self.y = (1.0 - high, 1.0 - low)
        self.suffix = "" if number == 0 else str(number + 1)
        self.layout, self.number = layout, number
        plot = (
            layout["width"] - MARGINS["l"] - MARGINS["r"],
            layout["height"] - MARGINS["t"] - MARGINS["b"],
        )
        self.box = (
            (self.x[1] - self.x[0]) * plot[0] * INCH / PIXELS,
            (self.y[1] - self.y[0]) * plot[1] * INCH / PIXELS,
        )

    def add(self, panel: Panel, data: list[Trace]) -> None:
        """Add the traces of a panel, its axes, and its words."""
        for mark in panel.marks:
            for trace in TRACES[type(mark)](mark):
                self._put_bar(trace)
                data.append({**trace, **self._anchors(panel)})
        data += [{**t, **self._anchors(panel)} for t in self._rules(panel)]
        if panel.z is not None:
            self._scene(panel)
        else:
            self._sides(panel)
        self._words(panel)

    def _put_bar(self, trace: Trace) -> None:
        """Put the colour bar of a trace beside its own panel, and the legend beyond it."""
        holder = trace if "colorbar" in trace else trace.get("marker", {})
        if "colorbar" in holder:
            holder["colorbar"] |= {
                "x": self.x[1] + 0.01,
                "y": (self.y[0] + self.y[1]) / 2,
                "len": 0.9 * (self.y[1] - self.y[0]),
                "thickness": 12,
            }
            self.layout["legend"]["x"] = 1.2

    def _anchors(self, panel: Panel) -> dict[str, Any]:
        if panel.z is not None:
            return {"scene": f"scene{self.suffix}"}
        return {"xaxis": f"x{self.suffix}", "yaxis": f"y{self.suffix}"}

    def _rules(self, panel: Panel) -> list[Trace]:
        """Return lines from side to side, which as shapes could not be in a legend."""
        found = []
        for mark in panel.marks:
            if isinstance(mark, Rule):
                ends, same = list((panel.x if mark.is_level else panel.y).limits), [mark.at] * 2
                x, y = (ends, same) if mark.is_level else (same, ends)
                found.append(line(np.array(x), np.array(y), mark.colour, 1.2, mark.dash, mark.name))
        return found

    def _limits(self, panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
        if not panel.is_equal or panel.keeps_limits:
            return panel.x.limits, panel.y.limits
        return equal_axes(panel.x.limits, panel.y.limits, self.box)

    def _sides(self, panel: Panel) -> None:
        x, y = self._limits(panel)
        across = _side(panel.x, x, self.x, f"y{self.suffix}", panel.has_origin)
        up = _side(panel.y, y, self.y, f"x{self.suffix}", panel.has_origin)
        if panel.is_equal:
            up |= {"scaleanchor": f"x{self.suffix}", "constrain": "domain"}
            across |= {"constrain": "domain"}
        self.layout[f"xaxis{self.suffix}"], self.layout[f"yaxis{self.suffix}"] = across, up

    def _scene(self, panel: Panel) -> None:
        sides = {"x": panel.x, "y": panel.y, "z": panel.z}
        self.layout[f"scene{self.suffix}"] = {
            "domain": {"x": list(self.x), "y": list(self.y)},
            **{
                f"{n}axis": {"title": {"text": safe(s.title)}, "range": list(s.limits)}
                for n, s in sides.items()
                if s is not None
            },
        }

    def _words(self, panel: Panel) -> None:
        """Add the title, the notes, and the labels that find room."""
        words = self.layout["annotations"]
        if panel.title:
            words.append(
                {
                    "text": f"<b>{safe(panel.title)}</b>",
                    "x": self.x[0],
                    "y": self.y[1],
                    "xref": "paper",
                    "yref": "paper",
                    "xanchor": "left",
                    "yanchor": "bottom",
                    "showarrow": False,
                }
            )
        if panel.notes:
            words.append(
                _note(panel.notes, "paper", "paper", -58) | {"x": self.x[0], "y": self.y[0]}
            )
        if panel.z is not None or not panel.of_kind(Labels):
            return
        x, y = self._limits(panel)
        pixel, found = PIXELS / INCH, placements(panel, x, y, self.box)
        said, corner = names_left_out(panel, found, x, y, self.box)
        if said:
            look = {"showarrow": False, "font": {"size": SMALL * pixel, "color": QUIET}}
            words.append({"text": said, **self._at(corner.x, corner.y, x, y), **look})
        for mark, place in found:
            ink = legible(mark.colours[place.number])
            led: dict[str, Any] = {"showarrow": False}
            at = (place.x, place.y)
            if place.line is not None:  # a line leads to it from its point
                at = place.line[:2]
                led = {"showarrow": True, "arrowhead": 0, "arrowwidth": 0.6, "arrowcolor": ink}
                led |= {"ax": pixel * (place.x - at[0]), "ay": -pixel * (place.y - at[1])}
            words.append(
                {
                    "text": safe(place.text),
                    **self._at(*at, x, y),
                    **led,
                    "font": {"size": mark.size * pixel, "color": ink},
                }
            )

    def _at(
        self, u: float, v: float, x: tuple[float, float], y: tuple[float, float]
    ) -> dict[str, Any]:
        """Return where words stand that are some points from the lower left corner of a panel."""
        return {
            "x": x[0] + (x[1] - x[0]) * u / self.box[0],
            "y": y[0] + (y[1] - y[0]) * v / self.box[1],
            "xref": f"x{self.suffix}",
            "yref": f"y{self.suffix}",
        }


def _part(number: int, count: int, gap: float) -> tuple[float, float]:
    """Return the share of a side that one of several cells takes."""
    gap = gap if count > 1 else 0.0
    width = (1.0 - gap * (count - 1)) / count if count <= 4 else 1.0 / count
    gap = gap if count <= 4 else 0.0
    inner = 1.0 if count <= 4 else 0.85
    low = number * (width + gap)
    return low, low + inner * width


def _note(notes: tuple[str, ...], xref: str, yref: str, below: int) -> dict[str, Any]:
    return {
        "text": "<br>".join(safe(note) for note in notes),
        "x": 0.0,
        "y": 0.0,
        "xref": xref,
        "yref": yref,
        "yshift": below,
        "xanchor": "left",
        "yanchor": "top",
        "align": "left",
        "showarrow": False,
        "font": {"size": 11, "color": "#666666"},
    }


def _side(
    side: Axis, limits: tuple[float, float], domain: tuple[float, float], anchor: str, zero: bool
) -> dict[str, Any]:
    ends = np.log10(limits).tolist() if side.is_log else list(limits)
    found: dict[str, Any] = {
        "title": {"text": safe(side.title), "standoff": 6},
        "automargin": True,
        "range": ends,
        "type": "log" if side.is_log else "linear",
        "exponentformat": "power",  # 10⁻⁹ rather than 1n
        "domain": list(domain),
        "anchor": anchor,
        "zeroline": zero,
        "zerolinecolor": PALE,
        "showgrid": False,
        "linecolor": GREY,
        "mirror": True,
        "visible": side.is_shown,
    }
    if side.ticks is not None:
        found["tickvals"] = [at for at, _ in side.ticks]
        found["ticktext"] = [safe(text).replace("\n", "<br>") for _, text in side.ticks]
    return found
