"""Inertias of axes: the scree with Horn's band, all eigenvalues, and paths along parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.check import Array, real_array
from mercer.dimension.horn import ParallelAnalysis
from mercer.display import listing
from mercer.errors import InvalidInput
from mercer.pictures.circle import percents
from mercer.pictures.colours import BLUE, GREY, INK, ORANGE, PALE, PALETTE, RED
from mercer.pictures.curves import DASHES
from mercer.pictures.limits import LIMITS
from mercer.pictures.models import ROUNDING, inertias_of_model, is_model, percent, shares_of
from mercer.pictures.scene import (
    Axis,
    Band,
    Bars,
    Drawing,
    Lines,
    Mark,
    Markers,
    Panel,
    Rule,
    Texts,
    logarithmic,
    span_of,
)
from mercer.settings import number, whole

if TYPE_CHECKING:  # a page of a fit has no use for the package
    from mercer.stability import ParameterPath

ABOVE, HALF_LINE = 0.025, 0.02
"""How far the middle of a number stands above a bar, and half its height, of the picture's."""


LETTERS = 0.04
"""Half the width of such a number, of the picture's."""


def _values(given: Any, name: str) -> Array:
    values = real_array(given, name)
    if values.ndim != 1 or values.size == 0:
        raise InvalidInput(f"{name} must be a sequence of numbers, found shape {values.shape}")
    return values


@Drawing
def scree(  # noqa: PLR0913  (what to show is an argument each, none of which implies another)
    inertias: Any,
    *,
    total: float | None = None,
    horn: ParallelAnalysis | None = None,
    kaiser: float | None = None,
    most: int = LIMITS.bars,
    is_log: bool = False,
    clusters: tuple[tuple[int, ...], ...] = (),
    title: str = "Inertia of the axes",
) -> Panel:
    """The inertia of each axis, with its share of the total above it.

    Parameters
    ----------
    inertias : model or sequence of float
        A fitted model, ``model.inertias_``, or eigenvalues; negative ones are shown as they are.
    total : float, optional
        ``model.inertia_``; without it the axes given are all there are.
    horn : ParallelAnalysis, optional
        Its null is shown as a band up to the level's quantile, with p-values below the axes and
        the number of axes it keeps.
    kaiser : float, optional
        The inertia an axis must exceed by Kaiser's rule: ``choose_dimension(m, "kaiser").mean``.
    is_log : bool
        Whether both axes are logarithmic, as for the many axes of images.
    clusters : tuple of tuples of int
        ``model.spectrum_.clusters``: axes that share an eigenvalue are named in a note.

    Examples
    --------
    >>> panel = scree.describe([2.0, 1.0], total=4.0)
    >>> panel.marks[0].lengths, panel.marks[-1].texts
    (array([2., 1.]), ('50.0 %', '25.0 %'))
    """
    if is_model(inertias):
        model, (inertias, total) = inertias, inertias_of_model(inertias)
        clusters = clusters or model.spectrum_.clusters
    values = _values(inertias, "inertias")
    shares = shares_of(values, total)
    shown = values[: whole(most, "most", least=1)]
    k = np.arange(1, len(shown) + 1)
    null, p_values, notes = _null(horn, values, shares.shares)
    heights = [shown] if null is None else [shown, null[1][: len(shown)]]
    marks: list[Mark] = []
    if is_log:
        marks.append(Lines(k, shown, colour=BLUE, name="observed"))
        marks.append(Markers(k, shown, colour=BLUE, size=3.5))
    else:
        kept = len(shown) if horn is None else horn.n_components
        colours = tuple(
            RED if v < 0 else BLUE if i < kept else PALE for i, v in enumerate(shown.tolist())
        )
        names = tuple(f"Dim {i}: {v:.4g}" for i, v in zip(k.tolist(), shown.tolist(), strict=True))
        marks.append(Bars(k, shown, colours, names=names))
    if null is not None:
        low, high = (part[: len(shown)] for part in null)
        at = k[: len(high)]
        marks.append(Band(at, low, high, ORANGE, f"permuted data, {_range(horn)}"))
        marks.append(Lines(at, high, colour=ORANGE, dash="dashed"))
    if kaiser is not None:
        at_mean = number(kaiser, "kaiser", above=0.0)
        marks.append(Rule(at_mean, colour=GREY, name=f"Kaiser's mean {at_mean:.3g}"))
    limits = _heights(heights, is_log)
    if not is_log and len(shown) <= LIMITS.written:
        lines = [] if null is None else [null[1][: len(shown)]]
        lines += [] if kaiser is None else [np.full(len(shown), kaiser)]
        marks.append(_written(k, shown, shares.shares[: len(shown)], lines, limits))
    hidden = len(values) - len(shown)
    more = (f"The first {len(shown)} of {len(values)} axes.",) if hidden else ()
    return Panel(
        tuple(marks),
        _counted(k, p_values, is_log),
        Axis("inertia", limits, is_log=is_log),
        title=title,
        notes=(*notes, *shares.notes, *_degenerate(clusters, len(values)), *more),
    )


def _range(horn: ParallelAnalysis | None) -> str:
    level = 0.05 if horn is None else horn.level
    return f"{100 * level:g} to {100 * (1 - level):g} % of draws"


def _null(
    horn: ParallelAnalysis | None, values: Array, shares: Array
) -> tuple[tuple[Array, Array] | None, Array | None, tuple[str, ...]]:
    """Return the quantiles of the null in the unit of the inertias, p-values and what to say."""
    if horn is None:
        return None, None, ()
    unit = 1.0
    if horn.statistic == "share":  # the inertia that a share is of
        unit = float(values[0] / shares[0]) if shares[0] > 0 else 1.0
    else:
        unit = float(values[0] / horn.observed[0]) if horn.observed[0] > 0 else 1.0
    band = unit * horn.quantiles(horn.level), unit * horn.quantiles(1.0 - horn.level)
    count = horn.n_components
    axes = f"{count} {'axis' if count == 1 else 'axes'}"
    note = f"Horn keeps {axes} at level {horn.level:g} ({int(horn.draws.max())} permutations)."
    return band, horn.p_values, (note,)


def _heights(heights: list[Array], is_log: bool) -> tuple[float, float]:
    if is_log:
        return span_of(*heights, is_log=True)
    low, high = span_of(np.zeros(1), *heights, margin=0.1)
    return (low if min(h.min(initial=0.0) for h in heights) < 0 else 0.0), high


def clear_of(lines: list[Array], values: Array, span: float) -> Array:
    """Return where numbers stand above bars so that no line runs through them.

    Lines are straight between their heights at the bars; ``span`` is that of the picture.

    >>> clear_of([np.array([5.0, 5.1])], np.array([9.0, 5.0]), 10.0)
    array([9.25, 5.35])
    """
    gap, half = ABOVE * span, HALF_LINE * span
    at: Array = values + gap
    wide = min(0.4, LETTERS * len(values))
    around = np.arange(len(values))[:, None] + np.linspace(-wide, wide, 5)
    for line in lines * 2:  # a number that leaves one line may meet another
        nodes = np.arange(len(line))
        heights = np.interp(around, nodes, line, left=np.nan, right=np.nan)
        low, high = np.fmin.reduce(heights, axis=1), np.fmax.reduce(heights, axis=1)
        at = np.where((high > at - half) & (low < at + half), high + gap, at)
    return at


def _written(
    k: Array, values: Array, shares: Array, lines: list[Array], limits: tuple[float, float]
) -> Texts:
    span = limits[1] - limits[0]
    at = np.where(values >= 0, clear_of(lines, values, span), values - ABOVE * span)
    return Texts(k, at, tuple(percent(s) for s in shares.tolist()), ("#333333",) * len(k), 8.0)


def _counted(k: Array, p_values: Array | None, is_log: bool) -> Axis:
    """Return the axis that counts axes, with a p-value below each number."""
    if is_log:
        return Axis("axis", span_of(k.astype(float), is_log=True), is_log=True)
    step = -(-len(k) // LIMITS.ticks)
    has_p = p_values is not None
    ticks = tuple(
        (float(i), f"{i}\n{_p(p_values, i)}" if has_p and len(k) <= LIMITS.written else str(i))
        for i in k.tolist()[::step]
    )
    title = "axis, and Horn's p-value" if has_p and len(k) <= LIMITS.written else "axis"
    return Axis(title, (0.4, len(k) + 0.6), ticks=ticks)


def _p(p_values: Array | None, axis: int) -> str:
    if p_values is None or axis > len(p_values):
        return "–"
    p = float(p_values[axis - 1])
    return f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"


def _degenerate(clusters: tuple[tuple[int, ...], ...], axes: int) -> tuple[str, ...]:
    """Return which of the axes share an eigenvalue; of those beyond them nothing is said."""
    shared = [c for c in clusters if len(c) > 1 and min(c) < axes]
    named = [listing([str(i + 1) for i in c]) for c in shared]
    return (f"Axes equal in size: {'; '.join(named)}.",) if named else ()


@Drawing
def eigenvalues(values: Any, *, title: str = "Eigenvalues") -> Panel:
    """All eigenvalues as they are, the negative ones in another colour.

    >>> panel = eigenvalues.describe([2.0, 2.0, 0.0, -1.0, -1.0])
    >>> panel.notes
    ('2 eigenvalues are negative, with 33.3 % of Σ|λ|.',)
    """
    found = _values(values, "values")
    k = np.arange(1, len(found) + 1)
    is_low = found < -ROUNDING * np.abs(found).max(initial=0.0)
    marks: list[Mark] = [Rule(0.0, colour=GREY, dash="solid")]
    stems = np.column_stack([np.zeros(len(k)), found, np.full(len(k), np.nan)]).ravel()
    marks.append(Lines(np.repeat(k, 3).astype(float), stems, colour=PALE))
    for part, colour, name in ((~is_low, BLUE, "not negative"), (is_low, RED, "negative")):
        if part.any():
            names = tuple(f"λ{i} = {v:.6g}" for i, v in zip(k[part], found[part], strict=True))
            label = name if is_low.any() else None
            marks.append(Markers(k[part], found[part], colour=colour, name=label, names=names))
    step = -(-len(k) // LIMITS.ticks)
    ticks = tuple((float(i), str(i)) for i in k.tolist()[::step])
    x = Axis("axis", (0.4, len(k) + 0.6), ticks=ticks)
    y = Axis("eigenvalue", span_of(found, np.zeros(1)))
    mass = -found[is_low].sum() / np.abs(found).sum() if is_low.any() else 0.0
    said = f"{int(is_low.sum())} eigenvalues are negative, with {percent(mass)} of Σ|λ|."
    return Panel(tuple(marks), x, y, title=title, notes=(said,) if is_low.any() else ())


@Drawing
def bandwidth_path(
    bandwidths: Any,
    inertias: Any,
    totals: Any,
    *,
    chosen: float | None = None,
    title: str = "Shares of the axes along the bandwidth",
) -> Panel:
    """The share of each axis as the bandwidth grows.

    Parameters
    ----------
    bandwidths : sequence of float
        Positive, one for each row of ``inertias``.
    inertias : array
        ``model.inertias_`` of each bandwidth, axes in columns.
    totals : sequence of float
        ``model.inertia_`` of each bandwidth.
    chosen : float, optional
        A bandwidth to mark.

    Examples
    --------
    >>> panel = bandwidth_path.describe([0.1, 1.0], [[1.0, 1.0], [3.0, 0.5]], [4.0, 4.0])
    >>> panel.marks[0].y
    array([0.25, 0.75])
    """
    h, table = _values(bandwidths, "bandwidths"), real_array(inertias, "inertias")
    whole_inertia = _values(totals, "totals")
    if table.ndim != 2 or len(table) != len(h) or len(whole_inertia) != len(h):
        raise InvalidInput(
            f"one row of inertias and one total are needed for each of the {len(h)} bandwidths, "
            f"found inertias of shape {table.shape} and {len(whole_inertia)} totals"
        )
    if np.any(h <= 0):
        raise InvalidInput("bandwidths must be positive")
    rows = [shares_of(row, t).shares for row, t in zip(table, whole_inertia.tolist(), strict=True)]
    shares = np.array(rows)
    marks: list[Mark] = [
        Lines(
            h,
            shares[:, j],
            colour=PALETTE[j % len(PALETTE)],
            dash=DASHES[(j // len(PALETTE)) % 3],
            name=f"Dim {j + 1}",
        )
        for j in range(shares.shape[1])
    ]
    if chosen is not None:
        marks.append(Rule(float(chosen), is_level=False, name=f"bandwidth {chosen:.3g}"))
    x = logarithmic("bandwidth", span_of(h, margin=0.02, is_log=True))
    y = Axis("share of the inertia", (0.0, min(1.02, 1.1 * float(shares.max()) or 1.0)))
    return Panel(tuple(marks), x, y, title=title)


CROSS, OWN = "axes change places", "the model"

WIDE = 5.0
"""Positive values whose ratio is larger stand on a logarithmic scale."""


@Drawing
def parameter_path(path: ParameterPath, *, title: str = "") -> Panel:
    """The share of each axis along a parameter, followed from its first value, and crossings.

    >>> import mercer as mc
    >>> x = np.array([[0.0], [1.0], [3.0], [4.0], [8.0]])
    >>> path = mc.parameter_path(mc.KernelPCA(2, kernel=mc.Gaussian(1.0)), x, "kernel__bandwidth",
    ...                          [2.0, 4.0, 8.0])
    >>> panel = parameter_path.describe(path)
    >>> panel.x.title, [mark.name for mark in panel.marks]
    ('bandwidth', ['axis 1', None, 'axis 2', None])
    >>> [text for _, text in panel.y.ticks][:2]
    ['0 %', '20 %']
    """
    shares = path.shares
    marks: list[Mark] = []
    for k in range(shares.shape[1]):
        colour, dash = PALETTE[k % len(PALETTE)], DASHES[(k // len(PALETTE)) % 3]
        marks.append(
            Lines(path.values, shares[:, k], colour=colour, dash=dash, name=f"axis {k + 1}")
        )
        marks.append(Markers(path.values, shares[:, k], colour=colour, size=3.0))
    low, high = float(path.values.min()), float(path.values.max())
    if path.own is not None and low <= path.own <= high:
        marks.append(Rule(path.own, is_level=False, colour=GREY, dash="dotted", name=OWN))
    marks += _crossings(path, shares)
    is_log = low > 0.0 and high > WIDE * low
    name = parameter_words(path.parameter)
    title = title or f"Axes along {name}"
    name += ", times that of the model" if path.is_factor else ""
    ends = span_of(path.values, margin=0.02, is_log=is_log)
    x = logarithmic(name, ends) if is_log else Axis(name, ends)
    most = min(1.02, 1.1 * float(shares.max()) or 1.0)
    y = Axis("share of the inertia", (0.0, most), ticks=percents(most))
    doubts = tuple(
        f"Between {a:.3g} and {b:.3g} an axis could not be followed." for a, b in path.unclear[:3]
    )
    return Panel(
        tuple(marks),
        x,
        y,
        title=title,
        notes=("Axes are numbered as at the first value.", *doubts),
        size=(4.8, 3.6),
    )


def parameter_words(parameter: str) -> str:
    """Return the name of a parameter as a picture shows it.

    >>> parameter_words("kernel__0__bandwidth"), parameter_words("kernel__nu")
    ('bandwidth of part 0', 'nu')
    """
    *places, name = parameter.removeprefix("kernel__").split("__")
    numbers = [p for p in places if p.isdigit()]
    return f"{name} of part {'.'.join(numbers)}" if numbers else name


def _crossings(path: ParameterPath, shares: Array) -> list[Mark]:
    """Return a ring where two of the lines change their order."""
    shown = [c for c in path.crossings if max(c.axes) <= shares.shape[1]]
    if not shown:
        return []
    order = np.argsort(path.values)
    at = np.array([c.at for c in shown])
    heights = [np.interp(c.at, path.values[order], shares[order, c.axes[0] - 1]) for c in shown]
    names = tuple(str(c) for c in shown)
    ring = Markers(
        at, np.array(heights), colour=INK, size=9.0, is_hollow=True, name=CROSS, names=names
    )
    return [ring]
