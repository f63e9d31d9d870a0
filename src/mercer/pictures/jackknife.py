"""Who turns the axes: by how much each does when one individual is left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import whole
from mercer.pictures.colours import BLUE, INK, RED
from mercer.pictures.drawing import Drawing
from mercer.pictures.scene import Axis, Labels, Lines, Mark, Panel, Points
from mercer.pictures.shares import as_shares
from mercer.stability import Jackknife

NAMED = 3
"""Individuals that are named on each axis."""

LETTERS = 17
"""Letters of a name beside a dot."""

HALF = 0.34
"""Half the width of the strip of an axis, whose unit is the distance to the next."""

GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
"""Multiples of it modulo 1 are spread evenly, however many there are."""


@Drawing
def jackknife(
    values: Jackknife,
    *,
    spectrum: Any = None,
    named: int = NAMED,
    title: str = "How far an axis turns without an individual",
) -> Panel:
    """A strip for each axis: an individual stands where the axis turns to without it.

    Parameters
    ----------
    values : Jackknife
        What `mercer.jackknife` returned.
    spectrum : Spectrum or array, optional
        ``model.spectrum_``, or the shares of the axes, for their names.
    named : int
        How many individuals are named on each axis, those that turn it most.

    Examples
    --------
    >>> import mercer as mc
    >>> model = mc.PCA(2, standardize=True).fit(mc.datasets.decathlon())
    >>> panel = jackknife.describe(mc.jackknife(model), spectrum=model.spectrum_)
    >>> panel.y.ticks[1][1], panel.of_kind(Labels)[0].texts[0]
    ('Dim 2 (17.4 %)', 'Casarsa')
    """
    named = whole(named, "named", least=0)
    shares, axes = as_shares(spectrum), values.angles.shape[1]
    rest: list[Mark] = []
    top: list[tuple[float, float, str]] = []
    for k in range(axes):
        angles, level = values.angles[:, k], float(axes - k)
        rows = np.flatnonzero(np.isfinite(angles))
        rows = rows[np.argsort(-angles[rows], kind="stable")]
        most, others = rows[:named], rows[named:]
        # Neighbours in size stand at different heights, so that neither dots nor names hide others.
        heights = level + HALF * (2.0 * (np.arange(len(others)) * GOLDEN % 1.0) - 1.0)
        steps = level + HALF * (1.0 - 2.0 * (np.arange(len(most)) + 0.5) / max(1, len(most)))
        rest.append(
            Points(
                angles[others],
                heights,
                colour=BLUE,
                size=4.0,
                opacity=0.6,
                names=tuple(values.labels[i] for i in others),
            )
        )
        median = float(np.median(angles[rows])) if rows.size else np.nan
        rest.append(
            Lines(
                np.full(2, median),
                level + np.array([-1.2, 1.2]) * HALF,
                colour=INK,
                width=1.6,
                name="median" if k == 0 else None,
            )
        )
        top += [(angles[i], h, values.labels[i]) for i, h in zip(most, steps, strict=True)]
    top.sort(key=lambda one: -one[0])  # the largest of all finds its place first
    marks = rest + _named(top)
    reach = float(np.nanmax(values.angles, initial=0.0)) or 1.0
    left_out = int(np.sum(np.isfinite(values.influences)))
    return Panel(
        tuple(marks),
        Axis("degrees", (-0.03 * reach, 1.25 * reach)),
        Axis(
            "",
            (0.4, axes + 0.6),
            ticks=tuple((float(axes - k), shares.title(k + 1)) for k in range(axes)),
        ),
        title=title,
        notes=(
            f"Each dot is one of {left_out} individuals: the axis turns by so much when it is left "
            "out. The same individual stands once on each axis.",
        ),
        size=(4.8, 1.2 + 0.85 * axes),
    )


def _named(top: list[tuple[float, float, str]]) -> list[Mark]:
    """Return the individuals that are named, with their names."""
    if not top:
        return []
    x, y = np.array([[angle, height] for angle, height, _ in top]).T
    names = tuple(name for *_, name in top)
    return [
        Points(x, y, colour=RED, marker="diamond", size=6.0, names=names),
        Labels(x, y, tuple(map(_cut, names)), (INK,) * len(names)),
    ]


def _cut(name: str) -> str:
    """Return a long name without its middle: what tells names apart is at their ends.

    >>> _cut("Karpov"), _cut("an individual of a long name, 24")
    ('Karpov', 'an indiv…name, 24')
    """
    half = (LETTERS - 1) // 2
    return name if len(name) <= LETTERS else f"{name[:half]}…{name[-half:]}"
