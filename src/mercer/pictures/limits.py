"""Up to how many of each thing pictures show it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Counts up to which pictures show each thing, in files, notebooks and on pages alike.

    >>> Limits().labels
    20
    """

    labels: int = 20
    """Individuals named on a plane: those that it shows best."""

    all_named: int = 30
    """Individuals of a page up to which all are named, where there is room."""

    few: int = 100
    """Individuals of a page up to which those are named that contribute most; of more, two of each
    group, which tell the groups apart."""

    points: int = 10_000
    """Individuals drawn one by one; of more, the density and a sample are shown."""

    sample: int = 5_000
    """Individuals drawn of a crowd."""

    cells: int = 120
    """Cells of a density on each side."""

    levels: int = 14
    """Steps of a scale between which contours have lines."""

    shapes: int = 2_000
    """Points drawn as shapes of an SVG; more become one image in it, which is smaller."""

    arrows: int = 60
    """Arrows that a circle can hold and still be read."""

    map_arrows: int = 10
    """Variables drawn among individuals: those that the plane shows best."""

    map_categories: int = 25
    """Categories, or columns of counts, drawn among individuals."""

    crowded_categories: int = 12
    """Categories that stand among the individuals of a page; of more, these, and all beside."""

    outlined: int = 12
    """Groups up to which each has an outline."""

    bars: int = 20
    """Bars of contributions or importance, and axes of a scree."""

    written: int = 12
    """Bars, or rows of a heat map, that have their numbers written beside or in them."""

    ticks: int = 16
    """Numbers on an axis that counts axes."""

    names: int = 40
    """Rows of a heat map that have their names at its side."""

    rows: int = 400
    """Cells of a heat map on each side; of more rows, neighbouring cells are averaged."""

    pairs: int = 20_000
    """Pairs of a Shepard diagram; more are thinned evenly in their order."""

    grid: int = 60
    """Places on each side of the grid on which a function of two variables is evaluated."""

    stretch: float = 8.0
    """The ratio of ranges beyond which axes of one unit would flatten a plane to a line."""

    letters: int = 24
    """Letters of a name beside a point; longer ones are cut where there is no room for more."""

    long_letters: int = 48
    """Letters of a name beside a point where there is."""

    legend: int = 24
    """Groups that the legend of a page lists."""


LIMITS = Limits()
"""The limits of every picture, unless a function is given another number."""
