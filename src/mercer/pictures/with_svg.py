"""Panels and sheets as SVG inside a page: drawn by matplotlib, without the time of its layout."""

from __future__ import annotations

import re
import warnings
from html import escape
from io import StringIO

from mercer.data.extras import extra
from mercer.pictures.labels import cut, width_of
from mercer.pictures.scene import INCH, Panel, Sheet
from mercer.pictures.with_matplotlib import (
    draw_labels,
    draw_marks,
    extra_lines,
    is_legend_outside,
    name_of,
    steepness,
)

FONTS = ["DejaVu Sans", "Verdana", "Segoe UI", "Arial", "sans-serif"]
"""Fonts of pictures in a page; the first is that by which matplotlib finds places for words."""

NO_DATE = {"Date": None, "Creator": None, "Format": None, "Type": None}
"""What a file says of itself: nothing, so that the same picture makes the same bytes."""


def svg_of(picture: Panel | Sheet, title: str, name: str) -> str:
    """Return a picture as SVG that can stand inside a page; its own parts are called by ``name``.

    >>> from mercer.pictures.scene import Axis, Rule
    >>> svg_of(Panel((Rule(0.5),), Axis("time"), Axis("height")), "A line", "line")[:36]
    '<svg role="img" aria-label="A line" '
    """
    matplotlib = extra("matplotlib", "report", "a page")
    look = {"svg.fonttype": "none", "svg.hashsalt": name, "font.sans-serif": FONTS}
    file = StringIO()
    sheet = picture if isinstance(picture, Sheet) else Sheet((picture,), 1, size=picture.size)
    with warnings.catch_warnings(), matplotlib.rc_context(look):
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has them
        figures = extra("matplotlib.figure", "report", "a page")
        figure = figures.Figure(figsize=sheet.inches)
        told: set[str | None] = {None}
        axes = []
        for i, panel in enumerate(sheet.panels):
            place = _place(panel, sheet, i, is_new=bool(_names(panel) - told))
            axes.append(figure.add_axes(place, projection=None if panel.z is None else "3d"))
            draw_marks(panel, axes[-1], has_legend=bool(_names(panel) - told))
            told |= _names(panel)
        draw_labels(sheet.panels, axes, figure)
        figure.savefig(file, format="svg", metadata=NO_DATE)
    # What stands before the element is for files, and its style would hold for the whole page.
    text = re.sub(
        r"<metadata>.*?</metadata>|<defs>\s*<style.*?</defs>", "", file.getvalue(), flags=re.S
    )
    text = re.sub(r'<(g|svg) id="[^"]*"', r"<\1", text)
    text = re.sub(r" *\n *", "\n", text)
    box = re.search(r'viewBox="[^"]*"', text)
    head = f'<svg role="img" aria-label="{escape(title)}" {box[0] if box else ""} {XML}>'
    return re.sub(r"^.*?<svg[^>]*>", lambda _: head, text, count=1, flags=re.S)


def _names(panel: Panel) -> set[str | None]:
    return {name_of(mark) for mark in panel.marks}


def _place(panel: Panel, sheet: Sheet, number: int, *, is_new: bool) -> list[float]:
    """Return the share of a sheet that the frame of a panel takes, room for its words left free.

    The room is reckoned by the letters of the words, a tenth of the time of matplotlib's layout.
    """
    row, column = divmod(number, sheet.columns)
    (width, height), (wide, tall) = (
        sheet.inches,
        tuple(
            INCH * side for side in (sheet.inches[0] / sheet.columns, sheet.inches[1] / sheet.rows)
        ),
    )
    left = bottom = top = right = 4.0
    if panel.y.is_shown or panel.z is not None:
        texts = [cut(text) for _, text in panel.y.ticks or ()]
        left = max((width_of(t, 8.0) for t in texts), default=32.0) + (
            22.0 if panel.y.title else 8.0
        )
    if panel.x.is_shown or panel.z is not None:
        bottom = 24.0 + 11.0 * extra_lines(panel.x) + (16.0 if panel.x.title else 0.0)
        bottom += steepness(panel.x)
    top = 20.0 if panel.title else 8.0
    right = 12.0
    names = [name for name in _names(panel) if name]
    if is_new and names and is_legend_outside(panel):
        right = min(max(width_of(name, 8.0) for name in names) + 34.0, 0.4 * wide)
    x, y = column * wide + left, (sheet.rows - row - 1) * tall + bottom
    w, h = max(wide - left - right, 20.0), max(tall - bottom - top, 20.0)
    return [x / (INCH * width), y / (INCH * height), w / (INCH * width), h / (INCH * height)]


XML = (
    'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'stroke-linejoin="round" stroke-linecap="butt"'
)
