"""Functions of two variables: contours, surfaces, and the eigenfunctions of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.check import Array, InvalidInput, InvalidParameter, finite, real_array, whole
from mercer.pictures.colours import INK, Scale, coloured
from mercer.pictures.drawing import Drawing
from mercer.pictures.planes import clouds
from mercer.pictures.scene import (
    Axis,
    Field,
    Mark,
    Panel,
    Points,
    Sheet,
    Surface,
    logarithmic,
    spanned,
)
from mercer.pictures.shares import as_shares, chosen

GRID = 60
"""Points on each side of the grid on which a function is evaluated."""


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
        marks.append(Points(p[:, 0], p[:, 1], colour=INK, size=4.0))
    limits = spanned(across, margin=0.0), spanned(up, margin=0.0)
    side = logarithmic if is_log else Axis
    sides = [side(name, span) for name, span in zip(names, limits, strict=True)]
    return Panel(tuple(marks), sides[0], sides[1], title=title)


@Drawing
def surface(x: Any, y: Any, values: Any, *, what: str = "value", title: str = "") -> Panel:
    """A function over a grid as heights in space.

    >>> surface.describe([0.0, 1.0], [0.0, 1.0], np.eye(2)).z.limits
    (0.0, 1.0)
    """
    across, up, field = _grid(x, y, values)
    mark = Surface(across, up, Scale(field, what))
    sides = [Axis(n, spanned(v, margin=0.0)) for n, v in (("x", across), ("y", up), (what, field))]
    return Panel((mark,), sides[0], sides[1], sides[2], title=title, size=(6.0, 5.0))


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
    transform: Callable[[Array], Array],
    points: Any,
    *,
    axes: Any = None,
    on: tuple[int, int] = (0, 1),
    names: Sequence[str] | None = None,
    spectrum: Any = None,
    colour: Any = None,
    grid: int = GRID,
    columns: int = 3,
    title: str = "",
) -> Sheet:
    """The coordinate on each axis as a function of two variables, the data on top.

    Parameters
    ----------
    transform : function
        From points to coordinates: ``model.transform``.
    points : array
        The data; variables other than the two shown are held at their medians.
    axes : sequence of int, optional
        Which axes, counted from 1; by default all that ``transform`` returns, up to nine.
    on : pair of int
        The columns of the two variables.

    Examples
    --------
    >>> page = eigenfunctions.describe(lambda x: x[:, :1] ** 2, np.eye(3), grid=4)
    >>> len(page.panels), page.panels[0].marks[0].scale.values.shape, page.notes
    (1, (4, 4), ('Other variables at their medians.',))
    """
    data = real_array(points, "points")
    if data.ndim != 2 or max(on) >= data.shape[1] or on[0] == on[1]:
        raise InvalidParameter(f"on must name two columns of points of shape {data.shape}")
    size = whole(grid, "grid", least=2)
    x, y = (np.linspace(*spanned(data[:, j]), size) for j in on)
    places = np.tile(np.median(data, axis=0), (size * size, 1))
    places[:, on[0]], places[:, on[1]] = (v.ravel() for v in np.meshgrid(x, y))
    values = finite(np.asarray(transform(places)).real, "transform")
    listed = chosen(
        range(1, min(values.shape[1], 9) + 1) if axes is None else axes,
        values.shape[1],
        how_many=None,
    )
    called = [f"x{j + 1}" for j in on] if names is None else [str(names[j]) for j in on]
    sides = [Axis(n, (float(v[0]), float(v[-1]))) for n, v in zip(called, (x, y), strict=True)]
    shares = as_shares(spectrum)
    marks = _on_top(data[:, list(on)], colour)
    panels = []
    for a in listed:
        scale = Scale(values[:, a - 1].reshape(size, size), "", "diverging")
        fields: tuple[Mark, ...] = (Field(x, y, scale, "contour"), *marks)
        panels.append(Panel(fields, sides[0], sides[1], title=shares.title(a), is_equal=True))
    held = ("Other variables at their medians.",) if data.shape[1] > 2 else ()
    count = min(columns, len(panels))
    return Sheet(tuple(panels), count, title, (*held, *shares.remarks(listed)), cell=(3.6, 3.3))


def _on_top(xy: Array, colour: Any) -> tuple[Mark, ...]:
    found = clouds(xy[:, 0], xy[:, 1], None, coloured(colour, len(xy)))
    return tuple(
        Points(
            p.x,
            p.y,
            colour=INK if p.name is None else p.colour,
            marker=p.marker,
            size=2.5,
            name=p.name,
        )
        for p in found
    )
