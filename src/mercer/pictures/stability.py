"""How far individuals would move on other samples: an ellipse of replicates around each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.check import Array, InvalidInput, real_array
from mercer.display import in_ranges
from mercer.pictures.colours import BLUE, PALE
from mercer.pictures.drawing import Drawing
from mercer.pictures.ellipses import Ellipse, ellipse, outline
from mercer.pictures.limits import LIMITS
from mercer.pictures.planes import Plane, as_individuals, individuals
from mercer.pictures.scene import Lines, Panel, spanned
from mercer.pictures.shares import chosen
from mercer.reading import Individuals
from mercer.settings import CONFIDENCE
from mercer.stability import Bootstrap

NAMED = 5

MOST = 24
"""Ellipses of a `Bootstrap` that are drawn, of individuals spread over the plane."""

FILLED = 12
"""More ellipses than this are drawn as lines only: their colours would pile up."""


@Drawing
def bootstrap(  # noqa: PLR0913  (what to show is an argument each, none of which implies another)
    values: Any,
    replicates: Any = None,
    *,
    axes: Any = (1, 2),
    spectrum: Any = None,
    colour: Any = None,
    confidence: float = CONFIDENCE,
    labels: int = LIMITS.labels,
    names: Any = None,
) -> Panel:
    """Individuals, each with the ellipse of its positions in replicates.

    ``values`` is what `mercer.bootstrap` returned, whose ellipses cover the coordinates on the
    population's axes with its confidence. Or it holds coordinates, and ``replicates`` is an array
    R x n x axes of others that are aligned with them.

    >>> import mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> panel = bootstrap.describe(np.zeros((2, 2)), rng.standard_normal((50, 2, 2)), labels=0)
    >>> len(panel.marks), panel.notes[0]
    (3, 'Ellipses hold 95 % of 50 replicates of each individual, were they normal.')
    >>> found = mc.bootstrap(mc.PCA(2), rng.standard_normal((30, 3)) * [3, 2, 1], random_state=0)
    >>> bootstrap.describe(found).notes[0]
    'Ellipses cover where an individual lies on the axes of the population, 95 % of the time.'
    """
    if isinstance(values, Bootstrap):
        read = as_individuals(values.coordinates, values.names)
        axes = chosen(axes, read.coordinates.shape[1])
        return _panel(read, axes, _covering(values, axes), _said(values), spectrum, colour, labels)
    read = as_individuals(values, names)
    cloud = real_array(() if replicates is None else replicates, "replicates")
    axes = chosen(axes, read.coordinates.shape[1])
    if cloud.ndim != 3 or cloud.shape[1] != len(read) or cloud.shape[2] < max(axes):
        raise InvalidInput(
            f"replicates must have the shape R x {len(read)} x axes, found {cloud.shape}"
        )
    at = [a - 1 for a in axes]
    found = {i: ellipse(cloud[:, i, at], confidence=confidence) for i in range(len(read))}
    note = (
        f"Ellipses hold {100 * confidence:g} % of {len(cloud)} replicates of each individual, were "
        "they normal.",
    )
    return _panel(read, axes, found, note, spectrum, colour, labels)


def _covering(values: Bootstrap, axes: Sequence[int]) -> dict[int, Ellipse]:
    """Return the ellipses of individuals spread over the plane."""
    at = [a - 1 for a in axes]
    xy: Array = values.coordinates[:, at]
    size = values.radius2(2)
    covariances = values.covariances[:, at][:, :, at]
    return {i: outline(xy[i], covariances[i], size) for i in spread(xy, MOST)}


def spread(xy: Array, count: int) -> list[int]:
    """Return the rows of some points far from each other: the next is the farthest from all before.

    >>> spread(np.array([[0.0, 0.0], [0.1, 0.0], [3.0, 0.0], [0.0, 1.0]]), 3)
    [1, 2, 3]
    """
    if len(xy) <= count:
        return list(range(len(xy)))
    squares = np.sum(xy**2, axis=1)
    rows = [int(np.argmax(squares))]
    nearest = np.sum((xy - xy[rows[0]]) ** 2, axis=1)
    while len(rows) < count:
        rows.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, np.sum((xy - xy[rows[-1]]) ** 2, axis=1))
    return sorted(rows)


def _said(values: Bootstrap) -> tuple[str, ...]:
    rate = f"{100 * values.confidence:g} % of the time"
    said = [f"Ellipses cover where an individual lies on the axes of the population, {rate}."]
    if len(values) > MOST:
        said.append(f"Those of {MOST} individuals spread over the plane are drawn.")
    for group in values.planes:
        listed = in_ranges(group)
        said.append(f"Axes {listed} may have equal inertias: read the space they span, not them.")
    return tuple(said)


def _panel(  # noqa: PLR0913, PLR0917  (what both ways to ask for the picture have found)
    read: Individuals,
    axes: tuple[int, ...],
    found: dict[int, Ellipse],
    notes: tuple[str, ...],
    spectrum: Any,
    colour: Any,
    labels: int,
) -> Panel:
    base = individuals.describe(read, axes=axes, spectrum=spectrum, colour=colour, labels=labels)
    groups = Plane.of(read, axes).colours(colour).groups
    tone = {int(i): g.colour for g in groups for i in g.rows}
    names, lines, without = tuple(map(str, read.labels)), [], []
    is_filled = len(found) <= FILLED
    for i, one in found.items():
        if one.line is None:
            without.append(f"{names[i]} ({one.why_not.replace('individual', 'replicate')})")
        else:
            ink = tone.get(i, PALE if groups else BLUE)
            lines.append(
                Lines(one.line[:, 0], one.line[:, 1], colour=ink, width=0.8, is_filled=is_filled)
            )
    if without:
        more = f" and {len(without) - NAMED} more" if len(without) > NAMED else ""
        notes += (f"No ellipse for {', '.join(without[:NAMED])}{more}.",)
    x = spanned(np.array(base.x.limits), *(line.x for line in lines), margin=0.01)
    y = spanned(np.array(base.y.limits), *(line.y for line in lines), margin=0.01)
    return Panel(
        (*lines, *base.marks),
        replace(base.x, limits=x, axis=None),
        replace(base.y, limits=y, axis=None),
        title="Individuals and their replicates",
        notes=(*notes, *base.notes),
        is_equal=True,
        has_origin=True,
    )
