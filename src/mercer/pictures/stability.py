"""How far individuals and axes would move: ellipses of replicates, and who turns the axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.check import Array, real_array
from mercer.display import in_ranges
from mercer.errors import InvalidInput
from mercer.pictures.clouds import Ellipse, ellipse, outline
from mercer.pictures.colours import BLUE, INK, PALE, RED
from mercer.pictures.limits import LIMITS
from mercer.pictures.models import as_shares, choose_axes
from mercer.pictures.planes import Plane, as_individuals, individuals, spread
from mercer.pictures.scene import Axis, Drawing, Labels, Lines, Mark, Markers, Panel, span_of
from mercer.reading import Individuals
from mercer.settings import CONFIDENCE, whole

if TYPE_CHECKING:  # a page of a fit has no use for the package
    from mercer.stability import Bootstrap, Jackknife

LISTED = 5

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
    from mercer.stability import Bootstrap

    if isinstance(values, Bootstrap):
        read = as_individuals(values.coordinates, values.names)
        axes = choose_axes(axes, read.coordinates.shape[1])
        return _panel(read, axes, _covering(values, axes), _said(values), spectrum, colour, labels)
    read = as_individuals(values, names)
    cloud = real_array(() if replicates is None else replicates, "replicates")
    axes = choose_axes(axes, read.coordinates.shape[1])
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
    rows = range(len(xy)) if len(xy) <= MOST else sorted(spread(xy, MOST).tolist())
    return {i: outline(xy[i], covariances[i], size) for i in rows}


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
        more = f" and {len(without) - LISTED} more" if len(without) > LISTED else ""
        notes += (f"No ellipse for {', '.join(without[:LISTED])}{more}.",)
    x = span_of(np.array(base.x.limits), *(line.x for line in lines), margin=0.01)
    y = span_of(np.array(base.y.limits), *(line.y for line in lines), margin=0.01)
    return Panel(
        (*lines, *base.marks),
        replace(base.x, limits=x, axis=None),
        replace(base.y, limits=y, axis=None),
        title="Individuals and their replicates",
        notes=(*notes, *base.notes),
        is_equal=True,
        has_origin=True,
    )


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
            Markers(
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
        Markers(x, y, colour=RED, marker="diamond", size=6.0, names=names),
        Labels(x, y, tuple(map(_cut, names)), (INK,) * len(names)),
    ]


def _cut(name: str) -> str:
    """Return a long name without its middle: what tells names apart is at their ends.

    >>> _cut("Karpov"), _cut("an individual of a long name, 24")
    ('Karpov', 'an indiv…name, 24')
    """
    half = (LETTERS - 1) // 2
    return name if len(name) <= LETTERS else f"{name[:half]}…{name[-half:]}"
