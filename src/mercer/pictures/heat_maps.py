"""Matrices and images: heat maps in an order that shows structure, kernels against kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.check import Array, real_array, square_matrix
from mercer.compare.consensus import Consensus
from mercer.compare.dependence import Dependence
from mercer.compare.several import Comparison
from mercer.errors import InvalidInput, InvalidParameter
from mercer.pictures.colours import BLUE, GREY, PALE, RED, Scale, colouring_of, hexes
from mercer.pictures.limits import LIMITS
from mercer.pictures.models import percent
from mercer.pictures.scene import (
    Arrows,
    Axis,
    Bars,
    Drawing,
    Field,
    Ids,
    Labels,
    Lines,
    Mark,
    Panel,
    Rule,
    Sheet,
    Texts,
    span_of,
)


def seriate(matrix: Array, groups: Sequence[Array] | None = None) -> Array:
    r"""Return an order of rows: group by group, within each along the first axis.

    The first axis is that of the centred similarities :math:`HKH`; groups stand in the order of
    their means on it.

    >>> K = np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.1], [0.9, 0.1, 1.0]])
    >>> seriate(K).tolist() in ([0, 2, 1], [1, 2, 0])
    True
    """
    centred = matrix - matrix.mean(axis=0) - matrix.mean(axis=1)[:, None] + matrix.mean()
    scores = np.linalg.eigh(0.5 * (centred + centred.T))[1][:, -1]
    if groups is None:
        return np.argsort(scores, kind="stable")
    by_mean = sorted((g for g in groups if len(g)), key=lambda g: float(scores[g].mean()))
    return np.concatenate([g[np.argsort(scores[g], kind="stable")] for g in by_mean])


@Drawing
def heat_map(  # noqa: PLR0913  (what to show is an argument each, none of which implies another)
    matrix: Any,
    *,
    names: Any = None,
    groups: Any = None,
    order: str = "similarity",
    rows: Any = None,
    what: str = "k(x, y)",
    title: str = "Gram matrix",
) -> Panel:
    """A symmetric matrix, its rows in an order that brings alike ones together.

    Parameters
    ----------
    matrix : array
        A Gram matrix, or distances.
    groups : column, optional
        Rows of a group stand together, with lines between groups.
    order : {"similarity", "distance", "given"}
        Whether large entries mean alike, or different, or the order is to be kept.
    rows : array of int, optional
        Which individuals of a model these are, all by default.

    Examples
    --------
    >>> panel = heat_map.describe([[0.0, 5.0], [5.0, 0.0]], names=["a", "b"], order="given")
    >>> panel.y.ticks, panel.marks[-1].texts
    (((0.0, 'a'), (1.0, 'b')), ('0', '5', '5', '0'))
    """
    K = square_matrix(matrix, "matrix").real
    n = len(K)
    factor = None if groups is None else colouring_of(groups, n)
    parts = None if factor is None else [g.rows for g in factor.groups]
    at = _order(K, parts, order)
    shown = K[np.ix_(at, at)]
    called = tuple(str(i) for i in range(n)) if names is None else tuple(map(str, names))
    ticks = tuple((float(i), called[r]) for i, r in enumerate(at)) if n <= LIMITS.names else ()
    notes = [_ordered(order, factor is not None)]
    cells, width = _averaged(shown)
    if width > 1:
        notes.append(f"Each cell is the mean of {width} x {width} entries.")
    places = (np.arange(len(cells)) + 0.5) * width - 0.5
    scale = Scale(cells, what, "diverging" if cells.min() < 0 < cells.max() else "sequential")
    whom = np.arange(n) if rows is None else np.asarray(rows)
    ids = Ids(whom[at], tuple(called[i] for i in at), "individuals") if width == 1 else None
    marks: list[Mark] = [Field(places, places, scale, "heat", ids=ids)]
    if factor is not None:
        marks += _borders(factor.groups, at)
        if n > LIMITS.names:
            ticks = tuple(
                (float(np.isin(at, g.rows).nonzero()[0].mean()), g.name) for g in factor.groups
            )
    if n <= LIMITS.written:
        marks.append(_numbers(shown, scale))
    ends = (-0.5, n - 0.5)
    across, up = Axis("", ends, ticks=ticks), Axis("", ends[::-1], ticks=ticks)
    said = tuple(note for note in notes if note)
    return Panel(tuple(marks), across, up, title=title, notes=said, is_equal=True, size=(6.4, 5.6))


_ORDERS = {
    "similarity": "Rows along the first axis of the centred matrix",
    "distance": "Rows along the first axis of the scaled distances",
    "given": "",
}


def _ordered(order: str, has_groups: bool) -> str:
    said = _ORDERS.get(order, "")
    return f"{said}{', group by group' if has_groups else ''}." if said else ""


def _order(K: Array, groups: Sequence[Array] | None, order: str) -> Array:
    if order not in _ORDERS:
        raise InvalidParameter(f"order must be one of {', '.join(_ORDERS)}, found {order!r}")
    if order == "given":
        return np.arange(len(K)) if groups is None else np.concatenate(list(groups))
    return seriate(K if order == "similarity" else -0.5 * K**2, groups)


def _averaged(K: Array) -> tuple[Array, int]:
    """Return at most `LIMITS.rows` cells on a side, and how many rows each stands for."""
    width = -(-len(K) // LIMITS.rows)
    if width == 1:
        return K, 1
    starts = np.arange(0, len(K), width)
    sums = np.add.reduceat(np.add.reduceat(K, starts, axis=0), starts, axis=1)
    sizes = np.diff(np.append(starts, len(K)))
    return sums / np.outer(sizes, sizes), width


def _borders(groups: Sequence[Any], rows: Array) -> list[Mark]:
    of = np.empty(len(rows), int)
    for i, group in enumerate(groups):
        of[group.rows] = i
    edges = np.flatnonzero(np.diff(of[rows])) + 0.5
    return [
        Rule(float(e), is_level=level, colour="#FFFFFF", dash="solid")
        for e in edges
        for level in (True, False)
    ]


def _numbers(shown: Array, scale: Scale) -> Texts:
    n = len(shown)
    j, i = np.meshgrid(np.arange(n), np.arange(n))
    inks = tuple("#000000" if _is_light(c) else "#FFFFFF" for c in hexes(scale))
    texts = tuple(f"{v:.4g}" for v in shown.ravel().tolist())
    return Texts(j.ravel().astype(float), i.ravel().astype(float), texts, inks, 7.5)


def _is_light(colour: str) -> bool:
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return 0.299 * r + 0.587 * g + 0.114 * b > 140.0


@Drawing
def images(
    rows: Any,
    shape: tuple[int, int],
    *,
    columns: int = 8,
    titles: Sequence[str] | None = None,
    is_signed: bool = False,
    title: str = "",
) -> Sheet:
    """Rows of a table as grey images, each on its own scale.

    ``is_signed`` colours by a scale that is white at zero, as for axes.

    >>> page = images.describe(np.eye(4), (2, 2), columns=2)
    >>> len(page.panels), page.panels[1].marks[0].scale.values
    (4, array([[0., 1.], [0., 0.]]))
    """
    table = real_array(rows, "rows")
    height, width = shape
    if table.ndim != 2 or table.shape[1] != height * width:
        raise InvalidInput(
            f"rows of {height * width} numbers make images of {height} x {width}, found shape "
            f"{table.shape}"
        )
    x, y = np.arange(width, dtype=float), np.arange(height, dtype=float)
    across = Axis("", (-0.5, width - 0.5), ticks=(), is_shown=False)
    up = Axis("", (height - 0.5, -0.5), ticks=(), is_shown=False)
    kind = "diverging" if is_signed else "greys"
    panels = tuple(
        Panel(
            (Field(x, y, Scale(row.reshape(height, width), "", kind), "image", has_bar=False),),  # type: ignore[arg-type]  # one of STOPS
            across,
            up,
            title="" if titles is None else str(titles[i]),
            is_equal=True,
        )
        for i, row in enumerate(table)
    )
    return Sheet(panels, min(columns, max(1, len(panels))), title, cell=(1.15, 1.3))


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
    rows = seriate(C) if n > 2 else np.arange(n)
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
    """The values of permutations, or of random multipliers, and the observed one.

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
        Axis(found.measure, span_of(found.null, np.array([found.statistic]))),
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
