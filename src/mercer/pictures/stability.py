"""How far individuals would move on other samples: an ellipse of replicates around each."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import InvalidInput, real_array
from mercer.pictures.colours import BLUE, PALE
from mercer.pictures.drawing import Drawing
from mercer.pictures.ellipses import ellipse
from mercer.pictures.planes import LABELS, Plane, as_individuals, individuals
from mercer.pictures.scene import Axis, Lines, Panel, spanned
from mercer.pictures.shares import chosen

NAMED = 5


@Drawing
def bootstrap(  # noqa: PLR0913  (what to show is an argument each, none of which implies another)
    values: Any,
    replicates: Any,
    *,
    axes: Any = (1, 2),
    spectrum: Any = None,
    colour: Any = None,
    level: float = 0.95,
    labels: int = LABELS,
    names: Any = None,
) -> Panel:
    """Individuals, each with the ellipse of its positions in replicates.

    ``replicates`` is an array R x n x axes of coordinates, aligned with those of ``values``.

    >>> rng = np.random.default_rng(0)
    >>> panel = bootstrap.describe(np.zeros((2, 2)), rng.standard_normal((50, 2, 2)), labels=0)
    >>> len(panel.marks), panel.notes[0]
    (3, 'Ellipses hold 95 % of 50 replicates of each individual, were they normal.')
    """
    read = as_individuals(values, names)
    cloud = real_array(replicates, "replicates")
    axes = chosen(axes, read.coordinates.shape[1])
    if cloud.ndim != 3 or cloud.shape[1] != len(read) or cloud.shape[2] < max(axes):
        raise InvalidInput(
            f"replicates must have the shape R x {len(read)} x axes, found {cloud.shape}"
        )
    base = individuals.describe(read, axes=axes, spectrum=spectrum, colour=colour, labels=labels)
    groups = Plane.of(read, axes).colours(colour).groups
    tone = {int(i): g.colour for g in groups for i in g.rows}
    lines, without = [], []
    for i, name in enumerate(read.labels):
        found = ellipse(cloud[:, i, [a - 1 for a in axes]], level=level)
        if found.line is None:
            without.append(f"{name} ({found.why_not.replace('individual', 'replicate')})")
        else:
            ink = tone.get(i, PALE if groups else BLUE)
            lines.append(
                Lines(found.line[:, 0], found.line[:, 1], colour=ink, width=0.8, is_filled=True)
            )
    notes: tuple[str, ...] = (
        f"Ellipses hold {100 * level:g} % of {len(cloud)} replicates of each individual, were "
        "they normal.",
    )
    if without:
        more = f" and {len(without) - NAMED} more" if len(without) > NAMED else ""
        notes += (f"No ellipse for {', '.join(without[:NAMED])}{more}.",)
    x = spanned(np.array(base.x.limits), *(line.x for line in lines), margin=0.01)
    y = spanned(np.array(base.y.limits), *(line.y for line in lines), margin=0.01)
    return Panel(
        (*lines, *base.marks),
        Axis(base.x.title, x),
        Axis(base.y.title, y),
        title="Individuals and their replicates",
        notes=(*notes, *base.notes),
        is_equal=True,
        has_origin=True,
    )
