"""Lines against points: fitted curves with their bands, residuals, penalties, Shepard's diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.check import Array, real_array
from mercer.errors import InvalidInput
from mercer.pictures.colours import BLUE, GREY, INK, ORANGE, PALETTE
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import (
    Axis,
    Band,
    Dash,
    Drawing,
    Lines,
    Mark,
    Markers,
    Panel,
    Rule,
    Sheet,
    span_of,
)

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
        marks.append(Markers(p[:, 0], p[:, 1], colour=INK, size=5.0, opacity=1.0))
        heights.append(p[:, 1])
        places.append(p[:, 0])
    sides = Axis(names[0], span_of(*places, margin=0.02)), Axis(names[1], span_of(*heights))
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
        Markers(given[rows], found[rows], colour=BLUE, size=4.0, opacity=0.6, name="distances"),
        Lines(given[order], fitted[order], colour=ORANGE, width=2.0, name="disparities"),
    )
    x = Axis("dissimilarity", span_of(given, np.zeros(1)))
    y = Axis("distance on the map", span_of(found, fitted, np.zeros(1)))
    return Panel(marks, x, y, title=title, notes=notes)


MOST = 5_000
"""Points beyond which they are thinned evenly in their order."""

CRITERIA = {
    "gcv": "generalised cross-validation",
    "loo": "leave-one-out",
    "reml": "restricted likelihood",
}


def thin_points(count: int) -> tuple[slice, tuple[str, ...]]:
    """Return which of so many points are drawn, and what to say of it.

    >>> thin_points(12_000)
    (slice(None, None, 3), ('One point of every 3 is drawn.',))
    """
    step = -(-count // MOST) if count else 1
    return slice(None, None, step), (f"One point of every {step} is drawn.",) if step > 1 else ()


@Drawing
def residuals(
    at: Any,
    values: Any,
    *,
    deviation: float | None = None,
    name: str = "fitted value",
    names: tuple[str, ...] | None = None,
    title: str = "Residuals",
) -> Panel:
    """Residuals against fitted values or a variable, with lines at two deviations.

    >>> panel = residuals.describe([0.0, 1.0], [0.5, -0.5], deviation=0.4)
    >>> [mark.at for mark in panel.marks[1:]]
    [0.0, -0.8, 0.8]
    """
    x, y = real_array(at, "at"), real_array(values, "values")
    if x.shape != y.shape or x.ndim != 1:
        raise InvalidInput(f"there are residuals of shape {y.shape} at places of shape {x.shape}")
    rows, notes = thin_points(len(x))
    shown = None if names is None else tuple(names)[rows]
    marks: list[Mark] = [
        Markers(x[rows], y[rows], colour=BLUE, size=4.5, opacity=0.7, names=shown),
        Rule(0.0, colour=INK, dash="solid"),
    ]
    ends = [y, np.zeros(1)]
    if deviation is not None:
        two = 2.0 * float(deviation)
        marks += [
            Rule(-two, colour=ORANGE),
            Rule(two, colour=ORANGE, name="two standard deviations of the noise"),
        ]
        ends.append(np.array([-two, two]))
    sides = Axis(name, span_of(x, margin=0.02)), Axis("residual", span_of(*ends))
    return Panel(tuple(marks), sides[0], sides[1], title=title, notes=notes)


@Drawing
def penalty_path(
    path: Any, *, chosen: float | None = None, title: str = "Choice of the penalty"
) -> Sheet:
    """A criterion and the degrees of freedom over all penalties, the chosen one marked.

    ``path`` is what `mercer.regression.penalty_path` returns.

    >>> from mercer.regression.criterion_path import PenaltyPath
    >>> at = np.array([0.1, 1.0, 10.0])
    >>> path = PenaltyPath("gcv", at, np.array([2.0, 1.0, 3.0]), np.array([5.0, 3.0, 2.0]))
    >>> [panel.y.title for panel in penalty_path.describe(path, chosen=1.0).panels]
    ['generalised cross-validation', 'degrees of freedom']
    """
    penalties = real_array(path.penalties, "penalties")
    side = Axis("penalty", (float(penalties[0]), float(penalties[-1])), is_log=True)
    mark: tuple[Mark, ...] = ()
    if chosen is not None and penalties[0] <= chosen <= penalties[-1]:
        mark = (Rule(float(chosen), is_level=False, colour=ORANGE, name=f"chosen: {chosen:.3g}"),)
    panels = []
    for name, values in (
        (CRITERIA.get(path.criterion, path.criterion), path.scores),
        ("degrees of freedom", path.degrees_of_freedom),
    ):
        heights = real_array(values, name)
        is_log = bool(np.all(heights > 0)) and float(heights.max()) > 30.0 * float(heights.min())
        line = Lines(penalties, heights, colour=BLUE, width=1.8)
        up = Axis(name, span_of(heights, is_log=is_log), is_log=is_log)
        panels.append(Panel((line, *mark), side, up))
    notes = () if mark or chosen is None else ("The chosen penalty is infinite: a line.",)
    return Sheet(tuple(panels), 2, title, notes, cell=(4.8, 3.6))


@Drawing
def against_observed(
    fitted: Any, observed: Any, *, names: tuple[str, ...] | None = None, title: str = ""
) -> Panel:
    """Observed against fitted values, with the line on which both are equal.

    >>> against_observed.describe([1.0, 2.0], [1.5, 1.5]).marks[0].x
    array([1., 2.])
    """
    x, y = real_array(fitted, "fitted"), real_array(observed, "observed")
    rows, notes = thin_points(len(x))
    ends = span_of(x, y)
    shown = None if names is None else tuple(names)[rows]
    line = Lines(np.array(ends), np.array(ends), colour=GREY, dash="dashed", name="equal")
    points = Markers(x[rows], y[rows], colour=BLUE, size=4.5, opacity=0.7, names=shown)
    return Panel(
        (points, line), Axis("fitted", ends), Axis("observed", ends), title=title, notes=notes
    )
