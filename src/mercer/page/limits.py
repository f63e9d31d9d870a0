"""How much a page shows, computes and weighs, in one value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PageLimits:
    """Counts up to which a page shows each thing, beside those of its pictures.

    >>> PageLimits().axes
    10
    """

    bytes: int = 10_000_000
    """Bytes of a page: mail takes it, and every browser opens it."""

    fewest_points: int = 1_000
    """Individuals shown one by one where a page with a larger sample would be too large."""

    axes: int = 10
    """Axes that a reader can choose."""

    coloured_cells: int = 500_000
    """Entries of all columns of numbers by which individuals can be coloured: 3 MB of a page."""

    fewest_clustered: int = 6
    """Individuals from which on classes are sought."""

    clustered: int = 20_000
    """Individuals up to which classes are sought: a second or two."""

    levels: int = 60
    """Levels of a factor up to which its categories are placed on the axes."""

    linked: int = 2_000
    """Variables that pictures of any two axes can show."""

    cells: int = 20_000
    """Cells of a table."""

    static_rows: int = 200
    """Rows of a table that stand in the page for readers without scripts."""

    supplementary: int = 2_000
    """Supplementary individuals that stand in a table."""

    functions: int = 4
    """Axes that are drawn as functions of variables."""

    grid: int = 41
    """Places of the grids of such functions, on each side."""

    matrix: int = 160
    """Individuals of the picture of a Gram matrix, on each side."""

    distances: int = 60
    """Individuals up to which a matrix of distances is drawn."""

    shepard: int = 400
    """Individuals whose pairs Shepard's diagram shows."""

    slopes: int = 50_000_000
    """Slopes of the kernel that are computed for arrows: a second or two."""


PAGE = PageLimits()
"""The limits of every page."""
