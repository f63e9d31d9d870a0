"""Very many points: their density, and a sample of them that keeps every group."""

from __future__ import annotations

import numpy as np

from mercer.check import Array
from mercer.pictures.colours import Coloured, Group, Scale
from mercer.pictures.scene import Field

CROWD = 50_000
"""Beyond so many points a picture shows their density and a sample."""

SAMPLE = 5_000
"""Points drawn of a crowd."""

CELLS = 120
"""Cells of the density on each side."""


def density(xy: Array, limits: tuple[tuple[float, float], tuple[float, float]]) -> Field:
    """Return how many points lie in each cell, as log₁₀(1 + count)."""
    counts, x, y = np.histogram2d(xy[:, 0], xy[:, 1], bins=CELLS, range=limits)
    scale = Scale(np.log10(1.0 + counts.T), "individuals per cell, log₁₀(1 + n)", "density")
    return Field((x[:-1] + x[1:]) / 2, (y[:-1] + y[1:]) / 2, scale, "density")


def sampled(groups: tuple[Array, ...], count: int = SAMPLE, seed: int = 0) -> Array:
    """Return rows drawn from each group in proportion to its size, at least one of each.

    >>> big, small = np.arange(990), np.arange(990, 1000)
    >>> rows = sampled((big, small), 100)
    >>> len(rows), int(np.sum(rows >= 990))
    (100, 1)
    """
    rng = np.random.default_rng(seed)
    total = sum(len(g) for g in groups)
    drawn = [
        rng.choice(g, min(len(g), max(1, round(count * len(g) / total))), replace=False)
        for g in groups
        if len(g)
    ]
    return np.sort(np.concatenate(drawn)) if drawn else np.zeros(0, int)


def spaced(count: int) -> str:
    r"""Return a large number with its thousands apart.

    >>> spaced(60000)
    '60\xa0000'
    """
    return f"{count:,}".replace(",", "\u00a0")


def thinned(colours: Coloured, count: int) -> tuple[Array, Coloured, str]:
    """Return the rows of a crowd to draw, their colours, and the sentence that says so."""
    groups = tuple(g.rows for g in colours.groups) or (np.arange(count),)
    rows = sampled(groups)
    kept = np.zeros(count, bool)
    kept[rows] = True
    fewer = tuple(Group(g.name, g.rows[kept[g.rows]], *g[2:]) for g in colours.groups)
    how = "in proportion within each group" if len(groups) > 1 else "at random"
    note = (
        f"{spaced(count)} individuals, shown by their density; as points {spaced(len(rows))} of "
        f"them, drawn {how}."
    )
    return rows, Coloured(colours.title, colours.numbers, fewer), note
