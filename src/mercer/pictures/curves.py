"""Lines against points: fitted curves with their bands, and Shepard's diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.check import Array, InvalidInput, real_array
from mercer.pictures.colours import BLUE, INK, ORANGE, PALETTE
from mercer.pictures.drawing import Drawing
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import Axis, Band, Dash, Lines, Mark, Panel, Points, spanned

DASHES: tuple[Dash, ...] = ("solid", "dashed", "dotted")


@Drawing
def curves(  # noqa: PLR0913  (what to show is an argument each, none of which implies another)
    at: Any,
    values: Mapping[str, Any],
    *,
    points: Any = None,
    bands: Mapping[str, tuple[Any, Any]] | None = None,
    names: tuple[str, str] = ("x", "y"),
    title: str = "",
    notes: tuple[str, ...] = (),
) -> Panel:
    """Curves by name over common places, with bands below them and data points on top.

    >>> panel = curves.describe([0.0, 1.0], {"g": [1.0, 2.0]}, points=[[0.5, 1.2]])
    >>> panel.marks[0].name, panel.marks[1].x
    ('g', array([0.5]))
    """
    x = real_array(at, "at")
    lines = {str(name): _one(v, x, name) for name, v in values.items()}
    limits = {str(n): (_one(a, x, n), _one(b, x, n)) for n, (a, b) in (bands or {}).items()}
    marks: list[Mark] = [
        Band(x, low, high, PALETTE[(i + 5) % len(PALETTE)], name)
        for i, (name, (low, high)) in enumerate(limits.items())
    ]
    marks += [
        Lines(
            x,
            y,
            colour=PALETTE[i % len(PALETTE)],
            name=name,
            width=1.7,
            dash=DASHES[(i // len(PALETTE)) % 3],
        )
        for i, (name, y) in enumerate(lines.items())
    ]
    heights = [*lines.values(), *(v for pair in limits.values() for v in pair)]
    places = [x]
    if points is not None:
        p = real_array(points, "points")
        marks.append(Points(p[:, 0], p[:, 1], colour=INK, size=5.0, opacity=1.0))
        heights.append(p[:, 1])
        places.append(p[:, 0])
    sides = Axis(names[0], spanned(*places, margin=0.02)), Axis(names[1], spanned(*heights))
    return Panel(tuple(marks), sides[0], sides[1], title=title, notes=notes)


def _one(values: Any, x: Array, name: object) -> Array:
    found = real_array(values, f"curve {name!r}")
    if found.shape != x.shape:
        raise InvalidInput(f"curve {name!r} has shape {found.shape}, and there are {len(x)} places")
    return found


@Drawing
def shepard(values: Any, *, title: str = "Shepard diagram") -> Panel:
    """Distances on the map against dissimilarities, and the disparities between them.

    ``values`` are ``model.shepard_``: dissimilarities, distances and disparities, pair by pair.

    >>> panel = shepard.describe(([2.0, 1.0], [1.0, 2.0], [1.5, 1.5]))
    >>> panel.marks[1].x, panel.marks[1].y
    (array([1., 2.]), array([1.5, 1.5]))
    """
    given, found, fitted = (real_array(v, "values") for v in values)
    if not given.shape == found.shape == fitted.shape or given.ndim != 1:
        raise InvalidInput(
            "dissimilarities, distances and disparities must have equal lengths, found shapes "
            f"{given.shape}, {found.shape} and {fitted.shape}"
        )
    order = np.lexsort((fitted, given))
    step = -(-len(order) // LIMITS.pairs) if len(order) else 1
    rows = order[::step]
    notes = (f"One pair of every {step} is drawn.",) if step > 1 else ()
    marks = (
        Points(given[rows], found[rows], colour=BLUE, size=4.0, opacity=0.6, name="distances"),
        Lines(given[order], fitted[order], colour=ORANGE, width=2.0, name="disparities"),
    )
    x = Axis("dissimilarity", spanned(given, np.zeros(1)))
    y = Axis("distance on the map", spanned(found, fitted, np.zeros(1)))
    return Panel(marks, x, y, title=title, notes=notes)
