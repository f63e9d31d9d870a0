"""Panels and sheets drawn with matplotlib, on figures that pyplot does not know of."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from mercer.errors import InvalidParameter, extra
from mercer.pictures.colours import FRAME, GREY, GRID, QUIET, ZERO, Scale, hexes, legible
from mercer.pictures.labels import SMALL, cut, names_left_out, placements, width_of
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import (
    INCH,
    Arrows,
    Axis,
    Band,
    Bars,
    Field,
    Labels,
    Lines,
    Markers,
    Panel,
    Rule,
    Sheet,
    Surface,
    Texts,
    name_of,
    scale_beside,
)

MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle": "^", "cross": "X"}
DASHES = {"solid": "-", "dashed": (0, (5, 3)), "dotted": (0, (1, 2))}
FORMATS = (".png", ".svg", ".pdf")
PLAIN = (-4, 8)
"""Powers of ten between which ticks are written out."""

BESIDE = (1.03, 0.0, 0.035, 0.72)
"""Where the bar of colours stands, in sides of its panel; above it there is room for a legend."""

LETTERS_BELOW = 90
"""Letters of the ticks below a panel; more stand upright."""

LETTERS_PER_INCH = 15.0
"""Letters of a note that fit into an inch."""


def draw_picture(picture: Panel | Sheet, *, ax: Any = None, figure: Any = None) -> Any:
    """Draw a panel and return its Axes, or a sheet and return an array of them."""
    extra("matplotlib", "plot", "drawing a picture")
    if isinstance(picture, Panel):
        return _panel(picture, ax, figure)
    if ax is not None:
        raise InvalidParameter("a sheet has several panels: give it figure=, not ax=")
    figure = figure or _figure(picture.inches)
    found = np.empty(len(picture.panels), object)
    told: set[str | None] = {None}
    for i, panel in enumerate(picture.panels):
        found[i] = _added(figure, panel, (picture.rows, picture.columns, i + 1))
        names = {name_of(mark) for mark in panel.marks}
        draw_marks(panel, found[i], has_legend=not names <= told)
        told |= names
    if picture.title:
        figure.suptitle(picture.title, parse_math=False)
    if picture.notes:
        figure.supxlabel(_wrapped(picture.notes, picture.inches[0]), fontsize=8, color=GREY)
    draw_labels(picture.panels, found.tolist(), figure)
    return found


def png_of(figure: Any) -> bytes:
    """Return a figure as the bytes of an image."""
    file = BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return file.getvalue()


def save_figure(figure: Any, file: Any, dpi: float) -> None:
    """Write a figure on a white ground, in the format of the file's ending."""
    path = Path(file)
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise InvalidParameter(
            f"file={path.name!r} does not end as a picture does: choose one of {', '.join(FORMATS)}"
        )
    stated = {"Software": None} if ending == ".png" else None  # the same bytes everywhere
    figure.savefig(path, dpi=dpi, facecolor="white", metadata=stated)


def _panel(panel: Panel, ax: Any, figure: Any) -> Any:
    ax = ax or _added(figure or _figure(panel.size), panel, (1, 1, 1))
    draw_marks(panel, ax, has_legend=True)
    draw_labels((panel,), [ax], ax.figure)
    return ax


def _figure(inches: tuple[float, float]) -> Any:
    """Return a figure that saves itself; without pyplot nothing is shown and nothing is kept."""
    figures = extra("matplotlib.figure", "plot", "drawing a picture")
    return figures.Figure(figsize=inches, layout="constrained")


def _added(figure: Any, panel: Panel, place: tuple[int, int, int]) -> Any:
    return figure.add_subplot(*place, projection=None if panel.z is None else "3d")


def _wrapped(notes: tuple[str, ...], inches: float) -> str:
    width = max(30, int(LETTERS_PER_INCH * inches))
    return "\n".join(line for note in notes for line in textwrap.wrap(note, width))


def draw_marks(panel: Panel, ax: Any, *, has_legend: bool) -> None:
    """Draw all but the labels, whose places depend on the size of the panel."""
    if panel.z is None:
        _frame_as_on_pages(panel, ax)
    if panel.has_origin and panel.z is None:
        ax.axhline(0.0, color=ZERO, lw=0.8, zorder=0)
        ax.axvline(0.0, color=ZERO, lw=0.8, zorder=0)
    for order, mark in enumerate(panel.marks):
        DRAW[type(mark)](mark, ax, 2 + 0.01 * order)
    for side, name in ((panel.x, "x"), (panel.y, "y"), (panel.z, "z")):
        if side is not None:
            _side(side, name, ax)
    if panel.z is not None:
        ax.set_box_aspect(None, zoom=0.88)  # so that the title of the upright axis is not cut
        ax.locator_params(nbins=4)
        ax.tick_params(labelsize=8, pad=0.0)
        for side in (ax.xaxis, ax.yaxis, ax.zaxis):
            side.label.set_fontsize(9)
    if panel.is_equal:
        _equal(panel, ax)
    ax.set_title(panel.title, parse_math=False, fontsize=10, loc="left")
    if panel.notes:
        inches = ax.get_position().width * ax.figure.get_size_inches()[0]
        ax.annotate(
            _wrapped(panel.notes, float(inches)),
            (0.0, 0.0),
            (0.0, -34.0 - 11.0 * extra_lines(panel.x)),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            fontsize=8,
            color="#666666",
            parse_math=False,
        )
    if has_legend:
        _legend(panel, ax)


def _frame_as_on_pages(panel: Panel, ax: Any) -> None:
    """Give a panel the quiet frame and the lines at ticks that it has on a page."""
    for spine in ax.spines.values():
        spine.set_color(FRAME)
    ax.tick_params(color=FRAME, labelcolor=QUIET, labelsize=9)
    has_cells = any(isinstance(m, Field) and m.kind != "density" for m in panel.marks)
    for name, side in (("x", panel.x), ("y", panel.y)):
        if side.is_shown and side.ticks is None and not has_cells:
            ax.grid(axis=name, color=GRID, lw=0.8)
    ax.set_axisbelow(True)


def extra_lines(side: Axis) -> int:
    """Return how many lines the ticks of a side take beside the first."""
    return max((text.count("\n") for _, text in side.ticks or ()), default=0)


def steepness(side: Axis) -> float:
    """Return how much more room the ticks below a panel need because they stand upright."""
    lines = [line for _, text in side.ticks or () for line in text.split("\n")]
    long = max(map(len, lines), default=0)
    is_steep = long * len(side.ticks or ()) > LETTERS_BELOW
    return max(width_of(cut(line, 40), 8.0) for line in lines) - 8.0 if is_steep else 0.0


def _side(side: Axis, name: str, ax: Any) -> None:
    getattr(ax, f"set_{name}label")(side.title, parse_math=False)
    if side.is_log:
        getattr(ax, f"set_{name}scale")("log")
    getattr(ax, f"set_{name}lim")(*side.limits, auto=True)  # an equal unit may widen them
    axis = getattr(ax, f"{name}axis")
    usual = extra("matplotlib.ticker", "plot", "drawing a picture").ScalarFormatter
    if isinstance(axis.get_major_formatter(), usual):  # no factor beside the title unless it must
        axis.get_major_formatter().set_powerlimits(PLAIN)
    if side.ticks is not None:
        axis.set_ticks([at for at, _ in side.ticks], labels=[cut(t, 40) for _, t in side.ticks])
        axis.set_ticks([], minor=True)
        for text in axis.get_ticklabels():
            text.set_parse_math(False)
            text.set_fontsize(8)
        if name == "x" and steepness(side):
            axis.set_tick_params(rotation=90)
    axis.set_visible(side.is_shown)


def _equal(panel: Panel, ax: Any) -> None:
    """Give both axes one unit."""
    ax.set_aspect("equal", adjustable="box" if panel.keeps_limits else "datalim")


def _legend(panel: Panel, ax: Any) -> None:
    # Pictures drawn earlier on the same Axes are not this one's.
    artists = ax.mercer_artists[-len(panel.marks) :]
    pairs = [(name_of(mark), artist) for mark, artist in zip(panel.marks, artists, strict=True)]
    named = {name: artist for name, artist in pairs if name is not None}
    if not named:
        return
    # Points may lie anywhere on a plane; beside it there is room unless a colour bar has it.
    is_outside = is_legend_outside(panel)
    legend = ax.legend(
        list(named.values()),
        # A leading underscore hides an entry from matplotlib's legends.
        [f"\u200a{name}" if name.startswith("_") else name for name in named],
        fontsize=8,
        frameon=False,
        markerscale=2.0
        if any(isinstance(m, Markers) and m.name and m.size < 4.0 for m in panel.marks)
        else 1.0,
        **({"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if is_outside else {"loc": "best"}),
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    by = next((m.by for m in panel.marks if isinstance(m, Markers) and m.name and m.by), "")
    if by:
        legend.set_title(by, prop={"size": 8, "weight": "bold"})
        legend.get_title().set_parse_math(False)


def is_legend_outside(panel: Panel) -> bool:
    """Whether the legend stands beside a panel rather than in it."""
    return (panel.has_origin or panel.z is not None) and not any(map(scale_beside, panel.marks))


def _kept(draw: Callable[..., Any]) -> Callable[[Any, Any, float], None]:
    """Remember on the Axes which artist stands for each mark, for the legend."""

    def keep(mark: Any, ax: Any, order: float) -> None:
        if not hasattr(ax, "mercer_artists"):
            ax.mercer_artists = []
        ax.mercer_artists.append(draw(mark, ax, order))

    return keep


def _colourmap(scale: Scale) -> Any:
    colours = extra("matplotlib.colors", "plot", "drawing a picture")
    return colours.LinearSegmentedColormap.from_list("mercer", scale.stops)


def _bar(scale: Scale, artist: Any, ax: Any) -> None:
    few = extra("matplotlib.ticker", "plot", "drawing a picture").MaxNLocator(6)
    has_layout = ax.figure.get_figure(root=True).get_layout_engine() is not None
    if has_layout and ax.name != "3d":  # as high as the panel is, whatever an equal unit leaves it
        bar = ax.figure.colorbar(artist, cax=ax.inset_axes(BESIDE), ticks=few)
    else:
        bar = ax.figure.colorbar(artist, ax=ax, shrink=0.8, pad=0.02, ticks=few)
    bar.set_label(scale.title, parse_math=False, fontsize=8)
    bar.ax.tick_params(labelsize=8)


def _points(mark: Markers, ax: Any, order: float) -> Any:
    at = [mark.x, mark.y] if mark.z is None else [mark.x, mark.y, mark.z]
    look: dict[str, Any] = {
        "s": mark.size**2,
        "marker": MARKERS[mark.marker],
        "alpha": mark.opacity,
        "zorder": order,
        "rasterized": len(mark.x) > LIMITS.shapes,
    }
    if isinstance(mark.colour, Scale):
        low, high = mark.colour.limits
        artist = ax.scatter(
            *at, c=mark.colour.values, cmap=_colourmap(mark.colour), vmin=low, vmax=high, **look
        )
        _bar(mark.colour, artist, ax)
        return artist
    faces = "none" if mark.is_hollow else mark.colour
    edges = mark.colour if mark.is_hollow else "white"
    return ax.scatter(
        *at,
        facecolors=faces,
        edgecolors=edges,
        linewidths=1.2 if mark.is_hollow else 0.4 * (mark.size > 4.0),
        **look,
    )


def _lines(mark: Lines, ax: Any, order: float) -> Any:
    at = [mark.x, mark.y] if mark.z is None else [mark.x, mark.y, mark.z]
    if mark.is_filled:
        ax.fill(mark.x, mark.y, color=mark.colour, alpha=0.1, lw=0, zorder=order)
    (line,) = ax.plot(*at, color=mark.colour, lw=mark.width, ls=DASHES[mark.dash], zorder=order)
    return line


def _arrows(mark: Arrows, ax: Any, order: float) -> Any:
    is_scale = isinstance(mark.colour, Scale)
    colours = hexes(mark.colour) if isinstance(mark.colour, Scale) else (mark.colour,) * len(mark.x)
    for x, y, colour in zip(mark.x, mark.y, colours, strict=True):
        ax.annotate(
            "",
            (x, y),
            (0.0, 0.0),
            zorder=order,
            arrowprops={
                "arrowstyle": "-|>",
                "color": colour,
                "lw": 1.3,
                "shrinkA": 0,
                "shrinkB": 0,
                "ls": "--" if mark.is_dashed else "-",
            },
        )
    if is_scale:
        _bar(mark.colour, _unseen(mark.colour, ax), ax)  # type: ignore[arg-type]
        return None
    (line,) = ax.plot([], [], color=mark.colour, ls="--" if mark.is_dashed else "-")
    return line


def _unseen(scale: Any, ax: Any) -> Any:
    """Return something that carries a colour scale and draws nothing."""
    low, high = scale.limits
    return ax.scatter([], [], c=[], cmap=_colourmap(scale), vmin=low, vmax=high)


def _bars(mark: Bars, ax: Any, order: float) -> Any:
    draw = ax.barh if mark.is_lying else ax.bar
    return draw(mark.at, mark.lengths, 0.8, color=mark.colours, zorder=order)


def _band(mark: Band, ax: Any, order: float) -> Any:
    return ax.fill_between(
        mark.x, mark.low, mark.high, color=mark.colour, alpha=0.3, lw=0, zorder=order
    )


def _rule(mark: Rule, ax: Any, order: float) -> Any:
    draw = ax.axhline if mark.is_level else ax.axvline
    return draw(mark.at, color=mark.colour, lw=1.2, ls=DASHES[mark.dash], zorder=order)


def _field(mark: Field, ax: Any, order: float) -> Any:
    low, high = mark.scale.limits
    look = {"cmap": _colourmap(mark.scale), "zorder": order - 1.0}
    if mark.kind == "contour":
        levels = np.linspace(low, high, LIMITS.levels + 1)
        artist = ax.contourf(mark.x, mark.y, mark.scale.values, levels, **look)
        lines = ax.contour(mark.x, mark.y, mark.scale.values, levels, colors="#00000040")
        lines.set(linewidths=0.5, zorder=order - 0.9)
    else:
        artist = ax.pcolormesh(
            mark.x,
            mark.y,
            mark.scale.values,
            vmin=low,
            vmax=high,
            shading="nearest",
            rasterized=True,
            **look,
        )
    if mark.has_bar:
        _bar(mark.scale, artist, ax)
    return artist


def _surface(mark: Surface, ax: Any, order: float) -> Any:
    x, y = np.meshgrid(mark.x, mark.y)
    ax.computed_zorder = False  # points on a surface are seen before it
    return ax.plot_surface(
        x,
        y,
        mark.scale.values,
        cmap=_colourmap(mark.scale),
        rcount=60,
        ccount=60,
        lw=0.1,
        edgecolor="#00000030",
        zorder=order,
    )


def _texts(mark: Texts, ax: Any, order: float) -> Any:
    for x, y, text, colour in zip(mark.x, mark.y, mark.texts, mark.colours, strict=True):
        ax.text(
            x,
            y,
            text,
            color=colour,
            fontsize=mark.size,
            ha="center",
            va="center",
            zorder=order,
            parse_math=False,
        )


def _nothing(mark: Labels, ax: Any, order: float) -> Any:
    return None


DRAW: dict[type, Callable[[Any, Any, float], None]] = {
    Markers: _kept(_points),
    Lines: _kept(_lines),
    Arrows: _kept(_arrows),
    Bars: _kept(_bars),
    Band: _kept(_band),
    Rule: _kept(_rule),
    Field: _kept(_field),
    Surface: _kept(_surface),
    Texts: _kept(_texts),
    Labels: _kept(_nothing),
}


def draw_labels(panels: tuple[Panel, ...], axes: list[Any], figure: Any) -> None:
    """Put labels where there is room, once it is known how large the panels are."""
    if not any(panel.of_kind(Labels) for panel in panels):
        return
    if figure.get_figure(root=True).get_layout_engine() is None:
        for ax in axes:
            ax.apply_aspect()
    else:
        figure.get_figure(root=True).draw_without_rendering()
    halo = extra("matplotlib.patheffects", "plot", "drawing a picture")  # legible over arrows
    for panel, ax in zip(panels, axes, strict=True):
        frame = _frame(panel, ax)
        found = placements(panel, *frame)
        words, corner = names_left_out(panel, found, *frame)
        if words:
            at = _frame_to_data(corner.x, corner.y, ax)
            told = ax.text(*at, words, color=QUIET, fontsize=SMALL, ha="center", va="center")
            told.set_in_layout(False)
        for mark, place in found:
            x, y = _frame_to_data(place.x, place.y, ax)
            colour, text = legible(mark.colours[place.number]), place.text
            ax.text(
                x,
                y,
                text,
                color=colour,
                fontsize=mark.size,
                fontweight="bold" if mark.is_bold else "normal",
                ha="center",
                va="center",
                zorder=5.0,
                parse_math=False,
                clip_on=True,
                path_effects=[halo.withStroke(linewidth=2.0, foreground=ax.get_facecolor())],
            ).set_in_layout(False)
            if place.line is not None:
                begin = _frame_to_data(*place.line[:2], ax)
                end = _frame_to_data(*place.line[2:], ax)
                ends = zip(begin, end, strict=True)
                look = {"color": colour, "linewidth": 0.6, "alpha": 0.6, "zorder": 4.0}
                ax.plot(*ends, scalex=False, scaley=False, **look)


def _frame(panel: Panel, ax: Any) -> tuple[Any, Any, tuple[float, float]]:
    box = ax.get_window_extent()
    unit = INCH / ax.figure.dpi
    return ax.get_xlim(), ax.get_ylim(), (float(box.width) * unit, float(box.height) * unit)


def _frame_to_data(x: float, y: float, ax: Any) -> tuple[float, float]:
    box = ax.get_window_extent()
    unit = INCH / ax.figure.dpi
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    return (
        x0 + (x1 - x0) * x / (box.width * unit),
        y0 + (y1 - y0) * y / (box.height * unit),
    )
