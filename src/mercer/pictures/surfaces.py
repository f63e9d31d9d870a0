"""Functions of two variables, eigenfunctions of a model, and three axes at once in space."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.check import Array, finite, real_array
from mercer.errors import InvalidInput, InvalidParameter
from mercer.pictures.colours import BLUE, GREEN, INK, RED, Scale, colouring_of
from mercer.pictures.limits import LIMITS
from mercer.pictures.models import as_shares, choose_axes, is_model, shares_of_model
from mercer.pictures.planes import as_individuals, clouds
from mercer.pictures.scene import (
    Axis,
    Drawing,
    Field,
    Lines,
    Mark,
    Markers,
    Panel,
    Sheet,
    Surface,
    logarithmic,
    span_of,
)
from mercer.reading import Variables
from mercer.settings import whole

MEASURED = 2_000
"""Rows of which medians are taken, and that tell which variables follow the axes."""


@Drawing
def contours(  # noqa: PLR0913  (what to show is an argument each, none of which implies another)
    x: Any,
    y: Any,
    values: Any,
    *,
    points: Any = None,
    names: Sequence[str] = ("x", "y"),
    is_log: bool = False,
    is_signed: bool = False,
    what: str = "value",
    title: str = "",
) -> Panel:
    """A function over a grid, row i at ``y[i]`` and column j at ``x[j]``, with points on top.

    ``is_signed`` colours by a scale that is white at zero; ``is_log`` makes both axes logarithmic.

    >>> panel = contours.describe([0.0, 1.0], [0.0, 1.0, 2.0], np.ones((3, 2)))
    >>> panel.marks[0].scale.values.shape
    (3, 2)
    """
    across, up, field = _grid(x, y, values)
    scale = Scale(field, what, "diverging" if is_signed else "sequential")
    marks: list[Mark] = [Field(across, up, scale, "contour")]
    if points is not None:
        p = real_array(points, "points")
        marks.append(Markers(p[:, 0], p[:, 1], colour=INK, size=4.0))
    limits = span_of(across, margin=0.0), span_of(up, margin=0.0)
    side = logarithmic if is_log else Axis
    sides = [side(name, span) for name, span in zip(names, limits, strict=True)]
    return Panel(tuple(marks), sides[0], sides[1], title=title)


@Drawing
def surface(
    x: Any,
    y: Any,
    values: Any,
    *,
    points: Any = None,
    is_signed: bool = False,
    what: str = "value",
    title: str = "",
) -> Panel:
    """A function over a grid as heights in space, with points (x, y, height) on it if there are.

    ``is_signed`` colours by a scale that is white at zero.

    >>> surface.describe([0.0, 1.0], [0.0, 1.0], np.eye(2)).z.limits
    (0.0, 1.0)
    """
    across, up, field = _grid(x, y, values)
    marks: list[Mark] = [
        Surface(across, up, Scale(field, what, "diverging" if is_signed else "sequential"))
    ]
    if points is not None:
        p = real_array(points, "points")
        if p.ndim != 2 or p.shape[1] != 3:
            raise InvalidInput(
                f"points of a surface need x, y and a height each, found shape {p.shape}"
            )
        marks.append(Markers(p[:, 0], p[:, 1], p[:, 2], colour=INK, size=4.0))
    sides = [Axis(n, span_of(v, margin=0.0)) for n, v in (("x", across), ("y", up), (what, field))]
    return Panel(tuple(marks), sides[0], sides[1], sides[2], title=title, size=(6.0, 5.0))


def _grid(x: Any, y: Any, values: Any) -> tuple[Array, Array, Array]:
    across, up, field = real_array(x, "x"), real_array(y, "y"), real_array(values, "values")
    if field.shape != (len(up), len(across)):
        raise InvalidInput(
            f"values must have a row for each of {len(up)} y and a column for each of "
            f"{len(across)} x, found shape {field.shape}"
        )
    return across, up, field


@Drawing
def eigenfunctions(  # noqa: PLR0913  (what to show is an argument each, none of which implies another)
    transform: Any,
    points: Any = None,
    *,
    axes: Any = None,
    on: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    spectrum: Any = None,
    colour: Any = None,
    labels: Any = None,
    rows: Any = None,
    grid: int = LIMITS.grid,
    columns: int = 3,
    title: str = "",
) -> Sheet:
    """The coordinate on each axis as a function of two variables, or of one, the data on top.

    Parameters
    ----------
    transform : model or function
        A fitted model, or a function from points to coordinates.
    points : array
        The data, which a model knows; variables other than those shown are held at their medians.
        The picture reaches a little beyond them, but not below where a kernel refuses it.
    axes : sequence of int, optional
        Which axes, counted from 1; by default all that ``transform`` returns, up to nine.
    on : pair of int, or one in a tuple
        The columns of the variables; by default those of a model that follow its first axes best,
        else the first two.
    labels, rows : sequence, optional
        Names of the individuals, and those that are drawn; all by default.

    Examples
    --------
    >>> page = eigenfunctions.describe(lambda x: x[:, :1] ** 2, np.eye(3), grid=4)
    >>> len(page.panels), page.panels[0].marks[0].scale.values.shape, page.notes
    (1, (4, 4), ('Other variables at their medians.',))
    """
    has_units = not is_model(transform)  # of plain points; the variables of a model have their own
    if not has_units:
        model, transform = transform, transform.transform
        points = model.X_fit_ if points is None else points
        known: Variables = model.variables_
        names = known.names if names is None else names
        labels = model.individuals_.labels if labels is None else labels
        spectrum = shares_of_model(model) if spectrum is None else spectrum
        on = variables_to_show(known, real_array(points[:MEASURED], "points")) if on is None else on
    data = real_array(points, "points")
    on = (0, 1) if on is None else tuple(int(j) for j in on)
    if data.ndim != 2 or max(on) >= data.shape[1] or len(set(on)) < len(on):
        raise InvalidParameter(f"on must name two columns of points of shape {data.shape}")
    size = whole(grid, "grid", least=2)
    ends = [span_of(data[:, j]) for j in on]
    try:
        sides, heights = _on_grid(transform, data, on, ends, size)
    except InvalidInput:  # there are no such values, as there are no counts below 0
        inner = [(float(data[:, j].min()), high) for j, (_, high) in zip(on, ends, strict=True)]
        sides, heights = _on_grid(transform, data, on, inner, size)
    called = [f"x{j + 1}" for j in on] if names is None else [str(names[j]) for j in on]
    edges = [Axis(name, span) for name, span in zip(called, ends, strict=True)]
    count = heights.shape[1]
    listed = choose_axes(
        range(1, min(count, 9) + 1) if axes is None else axes, count, how_many=None
    )
    shown = np.arange(len(data)) if rows is None else np.asarray(rows, int)
    colours, shares = colouring_of(colour, len(data)), as_shares(spectrum)
    of_points = np.asarray(transform(data)).real if len(on) == 1 else None
    panels = []
    for a in listed:
        at = data[:, list(on)]
        at = at if of_points is None else np.column_stack([at, of_points[:, a - 1]])
        marks = clouds(at, colours, labels, rows=shown, size=3.5, opacity=0.9)
        field = heights[:, a - 1].reshape((size,) * len(on))
        panels.append(_function(sides, field, marks, edges, shares.title(a)))
        panels[-1] = replace(panels[-1], is_equal=has_units and len(on) == 2)
    held = ("Other variables at their medians.",) if data.shape[1] > len(on) else ()
    width = min(columns, len(panels))
    return Sheet(tuple(panels), width, title, (*held, *shares.remarks(listed)), cell=(3.6, 3.3))


def _on_grid(
    transform: Any, data: Array, on: Sequence[int], ends: list[tuple[float, float]], size: int
) -> tuple[list[Array], Array]:
    """Return the places of a grid along each variable, and the coordinates of its points."""
    sides = [np.linspace(low, high, size) for low, high in ends]
    places = np.tile(np.median(data[:MEASURED], axis=0), (size ** len(on), 1))
    for j, values in zip(on, np.meshgrid(*sides), strict=True):
        places[:, j] = values.ravel()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*feature names")  # the grid has none
        return sides, finite(np.asarray(transform(places)).real, "transform")


def _function(
    sides: list[Array], heights: Array, marks: tuple[Mark, ...], edges: list[Axis], title: str
) -> Panel:
    """Return a coordinate over two variables as contours, over one as a curve."""
    if len(sides) == 1:
        curve = Lines(sides[0], heights, colour=INK)
        tall = span_of(heights, *(m.y for m in marks if isinstance(m, Markers)))
        return Panel((curve, *marks), edges[0], Axis(title, tall), title=title)
    field = Field(sides[0], sides[1], Scale(heights, "", "diverging"), "contour")
    return Panel((field, *marks), edges[0], edges[1], title=title)


def variables_to_show(variables: Variables, data: Array) -> tuple[int, ...]:
    """Return the variable that the first axes follow best, and the best beside it.

    The second is weighted by what the first leaves of its variance: two names of one size would
    show a line of points and an empty plane.
    """
    strength = np.nan_to_num(np.sum(np.square(variables.correlations[:, :2]), axis=1))
    first = int(np.argmax(strength))
    if len(strength) == 1:
        return (first,)
    centred = data - data.mean(axis=0)
    norms = np.sqrt(np.sum(centred**2, axis=0))
    safe = np.where(norms > 0, norms, 1.0)
    r = centred.T @ centred[:, first] / (safe * safe[first])
    left = strength * np.maximum(1.0 - r**2, 0.0)
    left[first] = -1.0
    return first, int(np.argmax(left))


COMPARED = (BLUE, RED, GREEN)


@Drawing
def space(
    values: Any, *, axes: Any = (1, 2, 3), spectrum: Any = None, colour: Any = None, title: str = ""
) -> Panel:
    """Individuals on three axes.

    >>> panel = space.describe([[1.0, 0.0, 2.0]], spectrum=[0.5, 0.3, 0.2])
    >>> panel.z.title
    'Dim 3 (20.0 %)'
    """
    read, shares = as_individuals(values), as_shares(spectrum)
    axes = choose_axes(axes, read.coordinates.shape[1], how_many=3)
    at = read.coordinates[:, [a - 1 for a in axes]].real
    marks = clouds(at, colouring_of(colour, len(at)), read.labels)
    sides = [Axis(shares.title(a), span_of(v)) for a, v in zip(axes, at.T, strict=True)]
    return Panel(
        marks,
        sides[0],
        sides[1],
        sides[2],
        title=title,
        notes=shares.remarks(axes),
        size=(6.0, 5.4),
    )


@Drawing
def four_panels(
    values: Any,
    *,
    axes: Any = (1, 2, 3),
    spectrum: Any = None,
    colour: Any = None,
    names: Any = None,
    title: str = "",
) -> Sheet:
    """Three axes in space and on their three planes.

    ``values`` are individuals or coordinates, or a mapping from names to several arrays of
    coordinates to compare, such as data and what some axes rebuild of them; ``names`` are those
    of the columns, where they are not axes.

    >>> page = four_panels.describe([[1.0, 0.0, 2.0]])
    >>> [(p.x.title, p.y.title) for p in page.panels[1:]]
    [('Dim 1', 'Dim 2'), ('Dim 1', 'Dim 3'), ('Dim 2', 'Dim 3')]
    """
    shares = as_shares(spectrum)
    several = values if isinstance(values, Mapping) else {"": values}
    tables = {name: _table(v) for name, v in several.items()}
    axes = choose_axes(axes, min(t.shape[1] for t in tables.values()), how_many=3)
    k = [a - 1 for a in axes]
    titles = [str(names[i]) for i in k] if names is not None else [shares.title(a) for a in axes]
    limits = [span_of(*(t[:, i] for t in tables.values())) for i in k]
    sides = [Axis(t, span) for t, span in zip(titles, limits, strict=True)]
    panels = [Panel(_compared(tables, k, colour), sides[0], sides[1], sides[2])]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        marks = _compared(tables, [k[i], k[j]], colour)
        panels.append(Panel(marks, sides[i], sides[j], is_equal=True, has_origin=True))
    return Sheet(tuple(panels), 2, title, shares.remarks(axes), cell=(4.8, 4.2))


def _table(values: Any) -> Array:
    table = as_individuals(values).coordinates.real
    if table.shape[1] < 3:
        raise InvalidInput(f"three axes are needed, found {table.shape[1]}")
    return real_array(table, "values")


def _compared(tables: Mapping[str, Array], k: list[int], colour: Any) -> tuple[Markers, ...]:
    """Return the points of each table on two or three of its columns."""
    if len(tables) == 1:
        (table,) = tables.values()
        return clouds(table[:, k], colouring_of(colour, len(table)))
    return tuple(
        Markers(
            table[:, k[0]],
            table[:, k[1]],
            table[:, k[2]] if len(k) == 3 else None,
            colour=COMPARED[i % 3],
            marker="circle" if i == 0 else "diamond",
            size=5.0 + 1.5 * i,
            is_hollow=i > 0,
            name=str(name),
        )
        for i, (name, table) in enumerate(tables.items())
    )
