"""Kernels against kernels: how alike they are, a map of them, the law of chance, a consensus."""

from __future__ import annotations

import numpy as np

from mercer.check import Array
from mercer.compare.consensus import Consensus
from mercer.compare.measures import Dependence
from mercer.compare.several import Comparison
from mercer.errors import InvalidInput
from mercer.pictures.colours import BLUE, GREY, PALE, RED, Scale, hexes
from mercer.pictures.drawing import Drawing
from mercer.pictures.limits import LIMITS
from mercer.pictures.matrices import seriated
from mercer.pictures.scene import (
    Arrows,
    Axis,
    Bars,
    Field,
    Labels,
    Lines,
    Mark,
    Panel,
    Rule,
    Texts,
    spanned,
)
from mercer.pictures.shares import percent

LONGEST = 28
"""Letters of a kernel's name that a picture shows."""

ROOM = 0.8
"""Room right of the circle for the names of kernels, in its radius."""

LIGHT = 140.0
"""The brightness from which a colour wants dark letters on it."""


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _p(p: float) -> str:
    return f"p = {p:.3f}" if p < 0.0995 else f"p = {p:.2f}"


@Drawing
def agreement(found: Comparison, *, title: str = "Alignments of the kernels") -> Panel:
    """The alignment of every two kernels, alike ones side by side, with its p-value by Holm.

    >>> from mercer import compare_kernels, datasets
    >>> flowers = datasets.iris().numbers
    >>> kernels = ["linear()", "gaussian(bandwidth=1.0)"]
    >>> panel = agreement.describe(compare_kernels(kernels, flowers, permutations=19))
    >>> panel.marks[1].texts[1], panel.marks[2].texts[0]
    ('0.74', 'p = 0.050')
    """
    C, n = found.alignments, len(found.names)
    rows = seriated(C) if n > 2 else np.arange(n)
    shown = C[np.ix_(rows, rows)]
    at = np.arange(n).astype(float)
    scale = Scale(shown, "alignment", "diverging" if C.min() < 0.0 else "sequential")
    marks: list[Mark] = [Field(at, at, scale, "heat")]
    notes = ["Rows along the first axis of the alignments."] if n > 2 else []
    if n <= LIMITS.written:
        marks.extend(_written(found, rows, scale))
    if found.adjusted is not None:
        how = found.pairs[0].how
        notes.append(f"p-values by Holm, which hold for all pairs together; each by {how}.")
    numbers = tuple((float(i), str(i + 1)) for i in range(n))
    named = tuple((float(i), f"{_short(found.names[r])}  {i + 1}") for i, r in enumerate(rows))
    ends = (-0.5, n - 0.5)
    return Panel(
        tuple(marks),
        Axis("", ends, ticks=numbers),
        Axis("", ends[::-1], ticks=named),
        title=title,
        notes=tuple(notes),
        is_equal=True,
        size=(7.2, 5.0),
    )


def _written(found: Comparison, rows: Array, scale: Scale) -> list[Mark]:
    """Return the numbers in the cells: alignments, and p-values below them."""
    n = len(rows)
    place = {int(r): i for i, r in enumerate(rows)}
    inks = [_ink(colour) for colour in hexes(scale)]
    is_tested = found.adjusted is not None
    shift = 0.1 if is_tested else 0.0
    x, y = (axis.ravel().astype(float) for axis in np.meshgrid(np.arange(n), np.arange(n)))
    off = np.where(x == y, 0.0, shift)
    texts = tuple(f"{v:.2f}" for v in scale.values.ravel().tolist())
    marks: list[Mark] = [Texts(x, y - off, texts, tuple(inks), 9.0)]
    if found.adjusted is not None:
        cells = [
            (place[b], place[a], p)
            for (i, j), p in zip(found.places, found.adjusted.tolist(), strict=True)
            for a, b in ((i, j), (j, i))
        ]
        u, v, p_values = zip(*cells, strict=True)
        below = np.array(v, float) + 0.18
        said = tuple(_p(p) for p in p_values)
        colours = tuple(inks[b * n + a] for a, b in zip(u, v, strict=True))
        marks.append(Texts(np.array(u, float), below, said, colours, 7.0))
    return marks


def _ink(colour: str) -> str:
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#000000" if 0.299 * r + 0.587 * g + 0.114 * b > LIGHT else "#FFFFFF"


@Drawing
def kernel_map(found: Comparison, *, title: str = "Map of the kernels (interstructure)") -> Panel:
    """Kernels as arrows on the first two axes of their alignments: a small angle is agreement.

    An arrow that reaches the circle lies in the plane; a shorter one points elsewhere too.

    >>> from mercer import compare_kernels, datasets
    >>> flowers = datasets.iris().numbers
    >>> kernels = ["linear()", "gaussian(bandwidth=1.0)", "laplacian(bandwidth=1.0)"]
    >>> panel = kernel_map.describe(compare_kernels(kernels, flowers, permutations=0))
    >>> panel.x.title
    'Dim 1 (84.1 %)'
    """
    x, y = found.coordinates[:, :2].T
    names = tuple(_short(name) for name in found.names)
    left = min(float(x.min()), 0.0) - 0.15
    angles = np.linspace(-1.0, 1.0, 181) * (np.pi if left < -1.0 else np.arccos(left))
    titles = [f"Dim {k + 1} ({percent(share)})" for k, share in enumerate(found.shares[:2])]
    return Panel(
        (
            Lines(np.cos(angles), np.sin(angles), colour=GREY, width=1.0),
            Arrows(x, y, BLUE, names=names),
            Labels(x, y, names, (BLUE,) * len(names), is_outward=True),
        ),
        Axis(titles[0], (max(left, -1.12), 1.0 + ROOM)),
        Axis(titles[1], (-1.12, 1.12)),
        title=title,
        notes=("A small angle between arrows that reach the circle is a high alignment.",),
        is_equal=True,
        has_origin=True,
        size=(5.6, 5.6),
    )


@Drawing
def chance(found: Dependence, *, title: str = "") -> Panel:
    """What permutations, or random multipliers, gave, and what was observed.

    >>> from mercer import rv
    >>> x = np.arange(12.0)[:, None]
    >>> panel = chance.describe(rv(x, x**2, permutations=99, random_state=0))
    >>> panel.marks[1].name
    'observed 0.928'
    """
    if found.null.size == 0:
        raise InvalidInput("there is nothing to draw: no permutation was made")
    # Widths by Freedman and Diaconis, at least ten bins.
    edges = np.histogram_bin_edges(found.null, "fd")
    edges = edges if 10 <= len(edges) <= 200 else np.histogram_bin_edges(found.null, 30)
    counts = np.histogram(found.null, edges)[0].astype(float)
    x = np.concatenate([np.repeat(edges, 2), edges[:1]])
    y = np.concatenate([[0.0], np.repeat(counts, 2), [0.0], [0.0]])
    p = "" if found.p_value is None else f", p = {found.p_value:.3g}"
    draws = "permutations" if found.test == "permutation" else "draws of multipliers"
    return Panel(
        (
            Lines(x, y, colour=GREY, is_filled=True, name=f"{found.permutations} {draws}"),
            Rule(
                found.statistic,
                is_level=False,
                colour=RED,
                dash="solid",
                name=f"observed {found.statistic:.3g}",
            ),
        ),
        Axis(found.measure, spanned(found.null, np.array([found.statistic]))),
        Axis(draws, (0.0, 1.1 * float(counts.max()))),
        title=title or f"{found.measure} {found.statistic:.3g}{p}",
        notes=(f"{found.individuals} individuals; {found.how}.",),
    )


@Drawing
def weights(found: Consensus, *, title: str = "") -> Panel:
    """The weight of each kernel in a consensus, and its alignment with it.

    >>> from mercer import consensus, datasets
    >>> flowers = datasets.iris().numbers
    >>> panel = weights.describe(consensus(["linear()", "gaussian(bandwidth=1.0)"], flowers))
    >>> panel.marks[0].lengths
    array([0.5, 0.5])
    """
    n = len(found.names)
    places = np.arange(n, 0, -1).astype(float)
    colours = tuple(BLUE if w > 0.0 else PALE for w in found.weights.tolist())
    said = tuple(f"agreement {a:.2f}" for a in found.agreement.tolist())
    high = float(found.weights.max())
    ticks = tuple((float(p), _short(s)) for p, s in zip(places, found.names, strict=True))
    return Panel(
        (
            Bars(places, found.weights, colours, is_lying=True, names=said),
            Texts(found.weights + 0.17 * high, places, said, ("#333333",) * n, 8.0),
        ),
        Axis("weight of the normalised kernel", (0.0, 1.4 * high)),
        Axis("", (0.4, n + 0.6), ticks=ticks),
        title=title or f"Consensus by {found.method}",
        notes=("Agreement is the alignment of a kernel with the consensus.",),
        size=(6.4, max(2.2, 0.4 * n + 1.4)),
    )
