"""Mercer's theorem on rectangles of R^p, by grids of nodes (Nyström)."""

from __future__ import annotations

from functools import partial, reduce
from itertools import pairwise
from math import ceil

import numpy as np

from mercer.check import UNIT, Array
from mercer.errors import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.pairs import Table
from mercer.rkhs.decompositions import How, Interval, MercerDecomposition
from mercer.rkhs.feature_distances import KERNEL_ROUNDING, kernel_values
from mercer.rkhs.functions import (
    combination_of_sections,
    orientation_of_columns,
    refuse_negative,
)
from mercer.rkhs.legendre import gauss

NEGLIGIBLE = 1e-12
"""The share of the first eigenvalue that a change may have at the end."""

RECTANGLE_NODES = 1600
"""Nodes of a grid in a rectangle: 40² of them take a second, 11³ are left in three dimensions."""

RATIO, FEWEST_SIZES = 1.4, 3
"""How much larger each grid is than the one before, and grids that are compared at least."""

NEARBY = 16
"""Values on either side whose changes count for one: where two cross, sorted ones hardly change."""

MARGIN = 2.0
"""What is left of a change is an estimate, which kernels with a kink meet to a thousandth."""

SLOWEST = 0.9
"""Share of a change that the next one has, where grids do not tell: nine times it is left then."""


def on_a_rectangle(kernel: Kernel, measure: Interval, count: int) -> MercerDecomposition:
    """Return the values of the finest grid, or of the first that changes them no more."""
    p = measure.dimension
    most = int(RECTANGLE_NODES ** (1.0 / p) + 1e-9)
    if most < 4 or count > most**p // 2:
        raise InvalidParameter(
            f"a rectangle of {p} coordinates takes at most {RECTANGLE_NODES} nodes, which is too "
            f"few for count = {count}; give a sample of points in place of the rectangle"
        )
    found: list[Array] = []
    errors, is_converged = np.full(count, np.inf), False
    for size in _sizes(most, max(4, 2 * ceil(count ** (1.0 / p)))):
        points, weights = _nodes(measure, size)
        roots = np.sqrt(weights)
        T = kernel_values(kernel, Table(points)) * roots[:, None] * roots
        T = 0.5 * (T + T.conj().T)
        values, axes = np.linalg.eigh(T)
        values, axes = values[::-1], axes[:, ::-1]
        largest = float(np.max(np.abs(values)))
        kept = np.zeros(count + NEARBY)
        kept[: len(values)] = values[: count + NEARBY]
        found.append(kept)
        shown = kept[:count]
        if len(found) > 1:
            changes = np.abs(kept - found[-2])
            is_converged = bool(np.all(changes[:count] <= NEGLIGIBLE * largest))
            nearby = changes if is_converged else _largest_nearby(changes)
            errors = MARGIN * _remaining(found, count) * nearby[:count]
        if is_converged:
            break
    rounding = len(points) * UNIT * largest
    refuse_negative(kernel, float(values[-1]), len(points) * KERNEL_ROUNDING * largest)
    positive = shown > rounding
    leading = axes[:, :count][:, positive[: len(values)]]
    signs = orientation_of_columns(leading / roots[:, None]) if leading.size else 1.0
    sections = leading * signs * roots[:, None] / shown[positive]
    return MercerDecomposition(
        values=np.where(positive, shown, 0.0),
        errors=np.where(positive, errors + rounding, errors + rounding + np.abs(shown)),
        trace=float(np.trace(T).real),
        how=How("Nyström on Gauss and Legendre's nodes", len(points), is_converged),
        family=partial(combination_of_sections, kernel, points=points, weights=sections),
    )


def _sizes(most: int, least: int) -> list[int]:
    """Return increasing sizes of grids, each so much larger that a change tells the error.

    >>> _sizes(40, 4), _sizes(11, 4), _sizes(40, 36)
    ([5, 7, 10, 14, 20, 28, 40], [5, 7, 11], [20, 28, 40])
    """
    sizes = [most]
    while (size := int(sizes[-1] / RATIO)) >= least or (len(sizes) < FEWEST_SIZES and size > 1):
        sizes.append(size)
    return sizes[::-1]


def _largest_nearby(changes: Array) -> Array:
    """Return the largest of each change and those of its neighbours.

    >>> _largest_nearby(np.array([1.0, 0.0, 3.0, *np.zeros(20)]))[[0, 18, 19]]
    array([3., 3., 0.])
    """
    return np.array(
        [np.max(changes[max(0, i - NEARBY) : i + NEARBY + 1]) for i in range(len(changes))]
    )


def _remaining(found: list[Array], count: int) -> float:
    """Return what changes add up to from here on, in units of the last one.

    They fall from grid to grid by the share θ that the last two show, so that θ/(1 - θ) is left;
    at least 1 is charged, and as much as θ = `SLOWEST` leaves where no more is known.
    """
    changes = [float(np.max(np.abs(b - a)[:count])) for a, b in pairwise(found[-3:])]
    if len(changes) < 2 or not changes[0] > 0.0:  # noqa: PLR2004
        share = SLOWEST
    else:
        share = min(changes[1] / changes[0], SLOWEST)
    return max(1.0, share / (1.0 - share))


def _nodes(measure: Interval, size: int) -> tuple[Array, Array]:
    """Return a grid of Gauss and Legendre's nodes in a rectangle, with their weights."""
    nodes, w = gauss(size)
    a, b = np.asarray(measure.a), np.asarray(measure.b)
    half = 0.5 * b - 0.5 * a
    with np.errstate(over="ignore"):
        volume = float(np.prod(2.0 * half))
    if not np.isfinite(volume):
        raise InvalidParameter(
            f"the rectangle from {measure.a} to {measure.b} is too large: its volume is no double"
        )
    grid = np.meshgrid(*(a[j] + half[j] * (1.0 + nodes) for j in range(len(a))), indexing="ij")
    weights = np.prod(half) * reduce(np.multiply.outer, [w] * len(a)).ravel()
    return np.column_stack([part.ravel() for part in grid]), np.asarray(weights)
