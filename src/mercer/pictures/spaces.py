"""Three axes at once: in space, and in space with the three planes beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mercer.check import Array, real_array
from mercer.errors import InvalidInput
from mercer.pictures.colours import BLUE, GREEN, RED, coloured
from mercer.pictures.drawing import Drawing
from mercer.pictures.planes import as_individuals, clouds
from mercer.pictures.scene import Axis, Panel, Points, Sheet, spanned
from mercer.pictures.shares import as_shares, chosen

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
    axes = chosen(axes, read.coordinates.shape[1], how_many=3)
    at = read.coordinates[:, [a - 1 for a in axes]].real
    marks = clouds(at, coloured(colour, len(at)), read.labels)
    sides = [Axis(shares.title(a), spanned(v)) for a, v in zip(axes, at.T, strict=True)]
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
    axes = chosen(axes, min(t.shape[1] for t in tables.values()), how_many=3)
    k = [a - 1 for a in axes]
    titles = [str(names[i]) for i in k] if names is not None else [shares.title(a) for a in axes]
    limits = [spanned(*(t[:, i] for t in tables.values())) for i in k]
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


def _compared(tables: Mapping[str, Array], k: list[int], colour: Any) -> tuple[Points, ...]:
    """Return the points of each table on two or three of its columns."""
    if len(tables) == 1:
        (table,) = tables.values()
        return clouds(table[:, k], coloured(colour, len(table)))
    return tuple(
        Points(
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
