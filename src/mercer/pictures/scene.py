"""What a picture holds, as plain data, and how a function that describes one is drawn."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, update_wrapper
from os import PathLike
from typing import Any, Generic, Literal, ParamSpec, TypeAlias, TypeVar

import numpy as np

from mercer.check import Array
from mercer.errors import MissingExtra
from mercer.pictures.colours import INK, Scale
from mercer.settings import spelled

Dash = Literal["solid", "dashed", "dotted"]
Marker = Literal["circle", "square", "diamond", "triangle", "cross"]
FieldKind = Literal["heat", "contour", "density", "image"]
Linked = Literal[
    "individuals",
    "supplementary",
    "variables",
    "supplementary variables",
    "categories",
    "supplementary categories",
    "columns",
    "imputed",
]

INCH = 72.0
"""Points in an inch, the unit in which text and markers are measured."""

PIXELS = 96.0
"""Pixels in an inch, as browsers count them."""


@dataclass(frozen=True, eq=False)
class Ids:
    """Whom the elements of a mark stand for, so that a page can link them in all its pictures.

    ``rows`` are their numbers among the individuals or variables ``of`` the model, counted from 0,
    and ``names`` what they are called: a page links a mark whose names are those of its own.
    """

    rows: Array
    names: tuple[str, ...]
    of: Linked = "individuals"


@dataclass(frozen=True, eq=False)
class Markers:
    """Markers, in one colour or coloured by numbers; ``names`` are shown by a pointing device.

    ``is_painted`` where the colour is that of a column of the data, called ``by``, for which a
    reader of a page may choose another.
    """

    x: Array
    y: Array
    z: Array | None = None
    colour: str | Scale = INK
    marker: Marker = "circle"
    size: float = 5.5
    is_hollow: bool = False
    opacity: float = 0.85
    name: str | None = None
    names: tuple[str, ...] | None = None
    ids: Ids | None = None
    is_painted: bool = False
    by: str = ""


@dataclass(frozen=True, eq=False)
class Lines:
    """A line through points, broken where one is NaN; closed lines may be filled.

    ``ids`` are the individuals that a closed line is drawn around.
    """

    x: Array
    y: Array
    z: Array | None = None
    colour: str = INK
    width: float = 1.4
    dash: Dash = "solid"
    is_filled: bool = False
    name: str | None = None
    ids: Ids | None = None


@dataclass(frozen=True, eq=False)
class Arrows:
    """Arrows from the origin to their tips, in one colour or coloured by numbers.

    On other axes a page shows at most ``most`` of all elements of their kind, drawn out to fit the
    points where ``is_fitted``.
    """

    x: Array
    y: Array
    colour: str | Scale = INK
    is_dashed: bool = False
    name: str | None = None
    names: tuple[str, ...] | None = None
    ids: Ids | None = None
    most: int = 1_000
    is_fitted: bool = False


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars from zero to their lengths, upright or lying."""

    at: Array
    lengths: Array
    colours: tuple[str, ...]
    is_lying: bool = False
    name: str | None = None
    names: tuple[str, ...] | None = None
    ids: Ids | None = None


@dataclass(frozen=True, eq=False)
class Band:
    """The region between two lines."""

    x: Array
    low: Array
    high: Array
    colour: str
    name: str | None = None


@dataclass(frozen=True)
class Rule:
    """A straight line across the panel, level or upright."""

    at: float
    is_level: bool = True
    colour: str = INK
    dash: Dash = "dashed"
    name: str | None = None


@dataclass(frozen=True, eq=False)
class Field:
    """Values over a grid: cells, or contours; row i belongs to ``y[i]``, column j to ``x[j]``.

    ``ids`` are the individuals of the rows.
    """

    x: Array
    y: Array
    scale: Scale
    kind: FieldKind = "heat"
    has_bar: bool = True
    ids: Ids | None = None


@dataclass(frozen=True, eq=False)
class Surface:
    """Values over a grid as heights in space."""

    x: Array
    y: Array
    scale: Scale


@dataclass(frozen=True, eq=False)
class Texts:
    """Words that stand where they are put, such as the numbers in the cells of a table."""

    x: Array
    y: Array
    texts: tuple[str, ...]
    colours: tuple[str, ...]
    size: float = 8.0


@dataclass(frozen=True, eq=False)
class Labels:
    """Words beside points, the most important first: those that find no free place are left out.

    At most ``most`` of those inside the frame are tried. Where there is no free place, those with
    ``covers`` stand further away, at the end of a line, and the first few of them upon points, on a
    halo; how many have no room is said.
    """

    x: Array
    y: Array
    texts: tuple[str, ...]
    colours: tuple[str, ...]
    size: float = 8.0
    is_outward: bool = False
    most: int = 1_000
    ids: Ids | None = None
    is_bold: bool = False
    covers: bool = False


Mark: TypeAlias = Markers | Lines | Arrows | Bars | Band | Rule | Field | Surface | Texts | Labels


@dataclass(frozen=True, eq=False)
class Axis:
    """One side of a panel: its title, its limits and, where they are not numbers, its ticks.

    ``axis`` is the axis of a model that it shows, counted from 1.
    """

    title: str = ""
    limits: tuple[float, float] = (0.0, 1.0)
    is_log: bool = False
    ticks: tuple[tuple[float, str], ...] | None = None
    is_shown: bool = True
    axis: int | None = None


class Seen:
    """A described picture, which a notebook shows as an image."""

    title: str

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title or 'a picture'}>"

    def _repr_png_(self) -> bytes | None:
        from mercer.pictures.with_matplotlib import draw_picture, png_of

        try:
            found = draw_picture(self)  # type: ignore[arg-type]  # a panel or a sheet
        except MissingExtra:
            return None
        return png_of(np.atleast_1d(found)[0].figure)

    def save(self, file: str | PathLike[str], *, dpi: float = 150.0) -> None:
        """Write the picture to a file, in the format of its ending: png, svg or pdf.

        >>> from mercer.pictures import scree
        >>> scree.describe([2.0, 1.0], total=3.5).save("scree.png")  # doctest: +SKIP
        """
        from mercer.pictures.with_matplotlib import draw_picture, save_figure

        found = draw_picture(self)  # type: ignore[arg-type]  # a panel or a sheet
        save_figure(np.atleast_1d(found)[0].figure, file, dpi)


@dataclass(frozen=True, eq=False, repr=False)
class Panel(Seen):
    """One picture: marks between axes, with notes that say what a reader must know.

    >>> from mercer.pictures import scree
    >>> panel = scree.describe([2.0, 1.0, 0.5], total=3.5)
    >>> panel.title, panel.x.title, len(panel.marks)
    ('Inertia of the axes', 'axis', 2)
    """

    marks: tuple[Mark, ...]
    x: Axis
    y: Axis
    z: Axis | None = None
    title: str = ""
    notes: tuple[str, ...] = ()
    is_equal: bool = False
    has_origin: bool = False
    size: tuple[float, float] = (6.4, 4.8)

    @property
    def keeps_limits(self) -> bool:
        """Whether an equal unit narrows the frame: cells and the circle; a plane is widened."""
        has_cells = any(isinstance(m, Field) and m.kind != "density" for m in self.marks)
        return has_cells or self.x.limits == self.y.limits

    def of_kind(self, kind: type[Mark]) -> tuple[Mark, ...]:
        """Return the marks of one kind, in the order in which they are drawn."""
        return tuple(mark for mark in self.marks if isinstance(mark, kind))


@dataclass(frozen=True, eq=False, repr=False)
class Sheet(Seen):
    """Several panels in rows, read from left to right.

    >>> from mercer.pictures import scree, sheet
    >>> panel = scree.describe([2.0, 1.0], total=3.5)
    >>> both = sheet(panel, panel)
    >>> both.columns, both.rows
    (2, 1)
    """

    panels: tuple[Panel, ...]
    columns: int
    title: str = ""
    notes: tuple[str, ...] = ()
    size: tuple[float, float] | None = None
    cell: tuple[float, float] = field(default=(4.2, 3.6))

    @property
    def rows(self) -> int:
        return -(-len(self.panels) // self.columns)

    @property
    def inches(self) -> tuple[float, float]:
        return self.size or (self.cell[0] * self.columns, self.cell[1] * self.rows)


def sheet(
    *panels: Panel, columns: int = 2, title: str = "", cell: tuple[float, float] = (4.6, 4.0)
) -> Sheet:
    """Return panels side by side.

    >>> sheet(Panel((), Axis(), Axis()), Panel((), Axis(), Axis()), columns=1).rows
    2
    """
    return Sheet(panels, min(columns, max(1, len(panels))), title, cell=cell)


def span_of(*values: Array, margin: float = 0.06, is_log: bool = False) -> tuple[float, float]:
    """Return limits that hold all finite values, with a margin on both sides.

    >>> span_of(np.array([0.0, 10.0]), margin=0.1)
    (-1.0, 11.0)
    """
    every = np.concatenate([np.ravel(v) for v in values]) if values else np.zeros(0)
    every = every[np.isfinite(every) & ((every > 0) | (not is_log))]
    if every.size == 0:
        return (0.1, 1.0) if is_log else (-1.0, 1.0)
    every = np.log10(every) if is_log else every
    low, high = float(every.min()), float(every.max())
    room = margin * (high - low) if high > low else (0.5 if is_log else 0.5 * abs(high) or 1.0)
    low, high = low - room, high + room
    return (10.0**low, 10.0**high) if is_log else (low, high)


def logarithmic(title: str, limits: tuple[float, float]) -> Axis:
    """Return a logarithmic axis, with ticks at 1, 2 and 5 where it spans less than two decades.

    >>> [text for _, text in logarithmic("", (0.15, 1.5)).ticks]
    ['0.2', '0.5', '1']
    """
    low, high = limits
    if high > 100.0 * low:
        return Axis(title, limits, is_log=True)
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [digit * 10.0**k for k in decades for digit in (1, 2, 5)]
    shown = tuple((t, f"{t:g}") for t in ticks if low <= t <= high)
    return Axis(title, limits, is_log=True, ticks=shown)


def equal_axes(
    x: tuple[float, float], y: tuple[float, float], shape: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return limits widened until a unit is as long on both sides of a box of a given shape.

    >>> equal_axes((0.0, 1.0), (0.0, 1.0), (200.0, 100.0))
    ((-0.5, 1.5), (0.0, 1.0))
    """
    width, height = x[1] - x[0], y[1] - y[0]
    unit = max(width / shape[0], height / shape[1])
    return _widened(x, unit * shape[0] - width), _widened(y, unit * shape[1] - height)


def _widened(limits: tuple[float, float], by: float) -> tuple[float, float]:
    return limits[0] - 0.5 * by, limits[1] + 0.5 * by


def name_of(mark: Mark) -> str | None:
    """Return what the legend calls a mark, None for one that is not named."""
    name: str | None = getattr(mark, "name", None)
    return name


def scale_beside(mark: Mark) -> Scale | None:
    """Return the scale that stands as a bar beside a mark, None where it has no bar."""
    if isinstance(mark, Field):
        return mark.scale if mark.has_bar and mark.kind != "density" else None
    colour = getattr(mark, "colour", None)
    return colour if isinstance(colour, Scale) else None


P = ParamSpec("P")
R = TypeVar("R", Panel, Sheet)


class Drawing(Generic[P, R]):
    """A function from values to a picture.

    Called, it draws with matplotlib and returns the Axes: on ``ax`` if one is given (for a picture
    of several panels ``figure``), else on a figure of its own, which is not shown. ``plotly`` takes
    the same arguments and returns a plotly Figure with the same content; ``describe`` returns that
    content as plain data, a `Panel` or a `Sheet`, and needs neither library.
    """

    def __init__(self, describe: Callable[P, R]) -> None:
        self.describe: Callable[P, R] = spelled(describe)
        update_wrapper(self, describe)
        given: inspect.Signature = inspect.signature(describe)
        where = inspect.Parameter("ax", inspect.Parameter.KEYWORD_ONLY, default=None)
        self.__signature__ = given.replace(
            parameters=[*given.parameters.values(), where], return_annotation="Axes"
        )

    def __call__(self, *args: Any, ax: Any = None, figure: Any = None, **options: Any) -> Any:
        return draw(self.describe(*args, **options), ax=ax, figure=figure)

    def plotly(self, *args: P.args, **options: P.kwargs) -> Any:
        """Return the picture as a plotly Figure."""
        return plotly(self.describe(*args, **options))

    def __repr__(self) -> str:
        return f"<picture {self.describe.__name__}>"


def draw(picture: Panel | Sheet, *, ax: Any = None, figure: Any = None) -> Any:
    """Draw a picture with matplotlib: Axes for a panel, an array of them for a sheet.

    >>> from mercer.pictures import scree
    >>> draw(scree.describe([2.0, 1.0], total=3.5)).get_xlabel()
    'axis'
    """
    from mercer.pictures.with_matplotlib import draw_picture, png_of

    found = draw_picture(picture, ax=ax, figure=figure)
    if isinstance(picture, Panel) and ax is None and figure is None:
        found._repr_png_ = partial(png_of, found.figure)  # the last expression of a cell is seen
    return found


def plotly(picture: Panel | Sheet) -> Any:
    """Draw a picture with plotly.

    >>> from mercer.pictures import scree
    >>> plotly(scree.describe([2.0, 1.0], total=3.5)).layout.xaxis.title.text
    'axis'
    """
    from mercer.pictures.with_plotly import figure_of

    return figure_of(picture)
