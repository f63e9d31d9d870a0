"""Very many points: their density, and a sample of them that keeps every group."""

from __future__ import annotations

import numpy as np

from mercer.check import Array
from mercer.pictures.colours import Coloured, Scale
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import Field


def density(xy: Array, limits: tuple[tuple[float, float], tuple[float, float]]) -> Field:
    """Return how many points lie in each cell, as log₁₀(1 + count)."""
    counts, x, y = np.histogram2d(xy[:, 0], xy[:, 1], bins=LIMITS.cells, range=limits)
    scale = Scale(np.log10(1.0 + counts.T), "individuals per cell, log₁₀(1 + n)", "density")
    return Field((x[:-1] + x[1:]) / 2, (y[:-1] + y[1:]) / 2, scale, "density")


def sampled(groups: tuple[Array, ...], count: int = LIMITS.sample, seed: int = 0) -> Array:
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


def thinned(colours: Coloured, count: int, rows: Array | None = None) -> tuple[Array, str]:
    """Return the rows of a crowd to draw, unless they are given, and the sentence that says so."""
    groups = tuple(g.rows for g in colours.groups) or (np.arange(count),)
    rows = sampled(groups) if rows is None else rows
    how = f"within each {colours.title or 'group'}" if len(groups) > 1 else "at random"
    return rows, (
        f"The shading is the density of all {spaced(count)} individuals; the points are a sample "
        f"of {spaced(len(rows))}, drawn {how}."
    )
