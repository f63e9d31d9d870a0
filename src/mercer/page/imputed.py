"""Where individuals with missing numbers could lie as well: the uncertainty of what was put in."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data.missing import plausible_values
from mercer.data.table import Role, Table
from mercer.errors import MercerError
from mercer.page.safe_text import PAGE, count_of
from mercer.pictures.colours import QUIET
from mercer.pictures.scene import Ids, Labels, Lines, Panel, span_of

MARKED = "imputed, and how far it may move"
"""What a legend calls the crosses."""


@dataclass(frozen=True)
class Doubtful:
    r"""The individuals whose numbers were put in, and how far each could move on every axis.

    ``moves`` are root mean squares over R plausible tables, about where the map shows them:
    :math:`\sqrt{\sum_r (F^r_{ik} - F_{ik})^2 / R}`. They hold what varies from table to table,
    and also that the number put in lies away from the middle of what is plausible, as a mean does.
    """

    rows: Array
    moves: Array


def doubtful_individuals(model: Any, table: Table | None, used: tuple[str, ...]) -> Doubtful | None:
    """Return who lies where numbers were put in, None where there is nobody or it is not known.

    The axes stay; the numbers that were put in are replaced by those of each plausible table.
    """
    if table is None or not hasattr(model, "transform"):
        return None
    kinds = dict(zip(table.names, table.roles, strict=True))
    gaps = [
        table.imputed[name]
        for name in used
        if name in table.imputed and kinds.get(name) is Role.NUMBER
    ]
    rows = np.flatnonzero(np.any(gaps, axis=0)) if gaps else np.zeros(0, int)
    if not 0 < len(rows) <= PAGE.doubtful:
        return None
    drawn = plausible_values(table)
    if drawn is None:
        return None
    part = table.picked(rows)
    numeric = [name for name, role in kinds.items() if role is Role.NUMBER]
    places = [numeric.index(name) for name in table.active]
    reads_rows = getattr(getattr(model, "kernel_", None), "reads_rows", False)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for values in drawn:
            numbers = np.array(part.numbers)
            numbers[:, places] = values[rows]
            other = replace(part, numbers=numbers)
            try:
                found.append(model.transform(other if reads_rows else other.matrix()))
            except MercerError:
                return None
    at = np.asarray(model.individuals_.coordinates)[rows]
    return Doubtful(rows, np.sqrt(np.mean((np.array(found) - at) ** 2, axis=0)))


def with_crosses(
    panel: Panel, doubtful: Doubtful, at: Array, axes: tuple[int, ...], names: tuple[str, ...]
) -> Panel:
    """Return a map with a cross on everybody whose numbers were put in: how far they may move."""
    k = [axis - 1 for axis in axes]
    centre, away = at[doubtful.rows][:, k], doubtful.moves[:, k]
    x, y = (
        np.column_stack([c - own, c + own, gap, c - other, c + other, gap]).ravel()
        for c, own, other, gap in (
            (centre[:, 0], away[:, 0], 0.0 * away[:, 0], np.full(len(centre), np.nan)),
            (centre[:, 1], 0.0 * away[:, 1], away[:, 1], np.full(len(centre), np.nan)),
        )
    )
    ids = Ids(doubtful.rows, tuple(names[i] for i in doubtful.rows), "imputed")
    crosses = Lines(x, y, colour=QUIET, width=1.0, name=MARKED, ids=ids)
    words = [mark for mark in panel.marks if isinstance(mark, Labels)]
    others = [mark for mark in panel.marks if not isinstance(mark, Labels)]
    note = (
        f"Crosses are on {count_of(len(doubtful.rows), 'individual')} with missing numbers: how "
        "far plausible numbers would move them (root mean square)."
    )
    return replace(
        panel,
        marks=(*others, crosses, *words),
        x=replace(panel.x, limits=span_of(np.array(panel.x.limits), x, margin=0.0)),
        y=replace(panel.y, limits=span_of(np.array(panel.y.limits), y, margin=0.0)),
        notes=(*panel.notes, note),
    )
