"""Which individuals a page shows one by one, and how it shows the others: as a density."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array
from mercer.page.subject import Subject, labels_of
from mercer.pictures.crowds import SAMPLE, sampled

MOST_POINTS = 10_000
"""Individuals drawn one by one; of more, a sample is, above a density of all.

They are shapes of a document: plotly's faster drawing runs code that it writes itself, which the
policy of the page refuses."""

CELLS = (120, 80)
"""Cells of a density, across and down: a cell is a few pixels of a page."""


def shown(subject: Subject, most: int) -> Array:
    """Return the rows a page shows one by one: all, or a sample stratified by the first factor."""
    n = len(subject)
    if n <= most:
        return np.arange(n)
    colour = None if subject.table is None else subject.table.colour
    if colour is None:
        return sampled((np.arange(n),), min(SAMPLE, most))
    levels = np.unique(labels_of(colour.values).astype(str), return_inverse=True)[1]
    order = np.argsort(levels, kind="stable")
    strata = np.split(order, np.flatnonzero(np.diff(levels[order])) + 1)
    return sampled(tuple(strata), min(SAMPLE, most))


def density(x: Array, y: Array) -> dict[str, Any]:
    """Return how many points lie in each cell of a grid, as levels 0 to 255 of the root.

    >>> cells = density(np.array([0.0, 1.0, 1.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
    >>> cells["levels"][[0, -1], [0, -1]].tolist(), cells["largest"]
    ([128, 255], 4)
    """
    counts, xs, ys = np.histogram2d(x, y, bins=CELLS)
    largest = int(counts.max(initial=1))
    levels = np.round(255.0 * np.sqrt(counts / largest)).astype(np.uint8)
    return {
        "x": [float(xs[0]), float(xs[-1])],
        "y": [float(ys[0]), float(ys[-1])],
        "levels": levels.T,
        "largest": largest,
    }
