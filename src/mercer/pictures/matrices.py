"""Matrices and images: heat maps in an order that shows structure, and grids of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.check import Array, real_array, square_matrix
from mercer.errors import InvalidInput, InvalidParameter
from mercer.pictures.colours import Scale, coloured, hexes
from mercer.pictures.drawing import Drawing
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import Axis, Field, Ids, Mark, Panel, Rule, Sheet, Texts


def seriated(matrix: Array, groups: Sequence[Array] | None = None) -> Array:
    r"""Return an order of rows: group by group, within each along the first axis.

    The first axis is that of the centred similarities :math:`HKH`; groups stand in the order of
    their means on it.

    >>> K = np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.1], [0.9, 0.1, 1.0]])
    >>> seriated(K).tolist() in ([0, 2, 1], [1, 2, 0])
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
    factor = None if groups is None else coloured(groups, n)
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
    return seriated(K if order == "similarity" else -0.5 * K**2, groups)


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
