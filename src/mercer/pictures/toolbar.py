"""The toolbar of interactive figures: the buttons they have, on a page and in a notebook alike.

Left alone, plotly.js chooses the buttons itself, and one of them sends the figure with its data to
a company. So every figure names all of its buttons; a new one of plotly's is not among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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
