"""Matrices of distances: how they are read, refused, squared, and multiplied without a copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from mercer.check import (
    ASYMMETRY,
    EPSILON,
    Array,
    Points,
    chunks,
    finite,
    power_of_two,
    refuse_non_finite,
)
from mercer.data.frames import row_names
from mercer.data.matrices import SquareMatrix
from mercer.engines.cpu import engine_in_use
from mercer.engines.limits import Limits as EngineLimits
from mercer.engines.tiles import Rounding
from mercer.errors import InvalidInput, Row
from mercer.estimator import column_names, numbers_of, register
from mercer.kernels.definite import SINGLE_ASYMMETRY
from mercer.kernels.dissimilarities import METRICS as NAMED
from mercer.kernels.dissimilarities import read_rows
from mercer.kernels.statements import gamma
from mercer.mds.limits import Limits
from mercer.points import matrix_of

METRICS = ("precomputed", *NAMED)
"""Data of a model: distances, or rows whose distances have a name."""


SAFE_FOURTH = 1e70
"""Fourth powers of distances below this, and of distances above its inverse, are doubles."""

NEGATIVE = "is {value}. Negative values in data are no distances"

LISTED = 5
"""Members of a separate group that a message names."""


def read_square(model: Any, D: Any, *, missing: bool = False) -> Array:
    """Return the distances between the points of a model, which takes note of them.

    Where ``missing`` is allowed, NaN stands for a distance that nobody measured.
    """
    d = checked_distances(D, missing=missing)
    register(model, D, d, reset=True)
    return d


def checked_distances(D: Any, *, missing: bool = False) -> Array:
    """Return a matrix of distances between the same points, or say which entry is wrong.

    >>> checked_distances([[0, 1], [1, 0]])
    array([[0., 1.],
           [1., 0.]])
    """
    d = numbers_of(matrix_of(D), "D", is_matrix=True)
    if d.shape[0] != d.shape[1]:
        refuse_non_finite(d, "D")
        raise InvalidInput(
            f"D must be a square matrix of distances, found shape {d.shape}; give points with "
            "metric='euclidean'"
        )
    is_asymmetric = _refuse(d if d.dtype.kind == "f" else d.astype(np.float64), missing)
    d = d.astype(np.float64, copy=False)
    return 0.5 * d + 0.5 * d.T if is_asymmetric else d


def names_of(D: Any) -> tuple[str, ...] | None:
    """Return the names of individuals: of a labelled matrix, or the rows of a data frame.

    >>> names_of([[0.0, 1.0], [1.0, 0.0]]) is None
    True
    """
    return D.names if isinstance(D, SquareMatrix) else row_names(D)


def read_cross(model: Any, D: Any, *, missing: bool = False) -> Array:
    """Return the distances of new points, one row each, to all the fitted ones.

    Where ``missing`` is allowed, NaN stands for a distance that nobody measured.
    """
    d = numbers_of(D, "D", is_matrix=True)
    refuse_non_finite(np.where(np.isnan(d), 0.0, d) if missing and d.dtype.kind == "f" else d, "D")
    register(model, D, d, reset=False)
    if np.any(d < 0):
        _refuse_entry(d, d < 0, NEGATIVE)
    return d.astype(np.float64, copy=False)


def read_named(model: Any, X: Any, metric: str, *, reset: bool) -> Array:
    """Return rows of numbers that a named distance is defined for."""
    x = read_rows(X, metric)
    register(model, X, x, reset=reset)
    return x


def read_points(model: Any, X: Any, *, reset: bool) -> Array:
    """Return points as the rows of an array, what is not finite refused by its place."""
    given = matrix_of(X)
    if issparse(given):
        raise InvalidInput(
            "X is a sparse matrix, and a map of distances reads a table: PCA(n_components) of "
            "sparse rows has the axes of ClassicalMDS, and precomputed distances are read from any "
            "points"
        )
    x = numbers_of(given)
    refuse_non_finite(x, "X", columns=column_names(X))
    register(model, X, x, reset=reset)
    return x.astype(np.float64, copy=False)


def _refuse_entry(d: Array, wrong: Array, why: str, first: tuple[int, int] = (0, 0)) -> None:
    """Refuse the first wrong entry of a tile whose own first entry has the given place."""
    i, j = (int(k) for k in np.argwhere(wrong)[0])
    value = "NaN" if np.isnan(d[i, j]) else f"{d[i, j]:.6g}"
    raise InvalidInput(
        f"D, row {first[0] + i}, column {first[1] + j}: the entry {why.format(value=value)}"
    )


def _refuse(d: Array, missing: bool) -> bool:
    """Refuse entries that are no distances, in one pass over tiles and their mirror images.

    Tell whether some differ from their mirror image by what is taken for rounding.
    """
    largest, worst, place, has_missing = 0.0, 0.0, (0, 0), False
    for rows in chunks(len(d), Limits.tile):
        for columns in chunks(len(d), Limits.tile):
            if columns.start < rows.start:
                continue
            upper, lower = d[rows, columns], d[columns, rows].T
            size = float(upper.max())
            low = min(float(upper.min()), float(lower.min()))
            if not np.isfinite(size + low) or low < 0:
                has_missing = _judge(d, rows, columns, missing) or has_missing
                size = float(np.nanmax(upper, initial=0.0))
            gaps = np.abs(upper - lower)
            gap = float(np.nanmax(gaps, initial=0.0))
            largest = max(largest, size)
            if gap > worst:
                worst = gap
                row, column = np.unravel_index(int(np.nanargmax(gaps)), gaps.shape)
                place = (rows.start + int(row), columns.start + int(column))
    if has_missing and not np.array_equal(np.isnan(d), np.isnan(d.T)):
        i, j = np.argwhere(np.isnan(d) & ~np.isnan(d.T))[0].tolist()
        at = Row(i), Row(j, "column")
        raise InvalidInput(
            f"D, {at[0]}, {at[1]}: missing, but entry ({j}, {i}) is {d[j, i]:g}", *at
        )
    allowed = max(ASYMMETRY, SINGLE_ASYMMETRY * float(np.finfo(d.dtype).eps))
    diagonal = np.abs(np.nan_to_num(np.diag(d)))
    if np.any(diagonal > allowed * largest):
        i = int(np.argmax(diagonal))
        raise InvalidInput(
            f"D, {Row(i)}, {Row(i, 'column')}: the entry is {d[i, i]:.6g}, and the distance of a "
            "point to itself is 0. Similarities must be turned into distances first",
            *(Row(i), Row(i, "column")),
        )
    if worst > allowed * largest:
        i, j = place
        raise InvalidInput(
            f"D is not symmetric: entry ({i}, {j}) is {d[i, j]:.6g} and entry ({j}, {i}) is "
            f"{d[j, i]:.6g}, which differ by {worst:.3g}. Average them, (D + D.T) / 2, if either "
            "is as good as the other"
        )
    return worst > 0.0


def _judge(d: Array, rows: slice, columns: slice, missing: bool) -> bool:
    """Refuse a tile with entries that are no distances; tell whether some are missing."""
    advice = "" if missing else "; StressMDS takes NaN for a missing one"
    for a, b in ((rows, columns), (columns, rows)):
        tile, first = d[a, b], (a.start, b.start)
        wrong = np.isinf(tile) if missing else ~np.isfinite(tile)
        if wrong.any():
            _refuse_entry(tile, wrong, "is {value}; a distance is a finite number" + advice, first)
        if np.any(tile < 0):
            _refuse_entry(tile, tile < 0, NEGATIVE, first)
    return bool(np.isnan(d[rows, columns]).any())


def refuse_groups(known: Array) -> None:
    """Refuse points between which no chain of known distances leads."""
    count, group = connected_components(known, directed=False)
    if count > 1:
        sizes = np.bincount(group)
        names = [_members(np.flatnonzero(group == g)) for g in range(min(count, LISTED))]
        raise InvalidInput(
            f"the missing distances leave {count} separate groups of points, of sizes "
            f"{', '.join(map(str, sizes[:LISTED]))}{', …' if count > LISTED else ''}: points "
            f"{' | '.join(names)}. How far they are from each other cannot be told; fit them apart"
        )


def _members(indices: Array) -> str:
    more = ", …" if len(indices) > LISTED else ""
    return ", ".join(map(str, indices[:LISTED])) + more


def unit_of(largest: float) -> float:
    """Return the unit in which sums of fourth powers of distances can be represented."""
    if largest == 0.0 or 1.0 / SAFE_FOURTH <= largest <= SAFE_FOURTH:
        return 1.0
    return power_of_two(np.array([largest]))


def distances_of(x: Array) -> Array:
    """Return the Euclidean distances between points, whose squares need not be doubles.

    >>> distances_of(np.array([[3e-200], [1e-200]]))[0]
    array([0.e+000, 2.e-200])
    """
    unit = unit_of(float(np.max(np.abs(x), initial=0.0)))
    y = x / unit
    with np.errstate(over="ignore"):
        return finite(unit * cdist(y, y), "a distance between two points")


class Distances:
    r"""Stored distances as a source of inner products, which centring makes of them.

    .. math:: K_{ij} = -\tfrac{1}{2} d_{ij}^2

    The distances, which are symmetric, are read where they are, a few rows at a time, and divided
    by ``unit`` first.

    >>> d = np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> from mercer.operators import CentredSource
    >>> CentredSource(Distances(d)).product(np.array([[1.0], [-1.0]]))
    array([[ 1.],
           [-1.]])
    """

    is_symmetric, has_single_tiles, is_positive = True, False, False

    def __init__(self, distances: Array, unit: float | None = None) -> None:
        self.distances, self.engine = distances, engine_in_use()
        largest = float(np.max(distances, initial=0.0))
        self.unit = unit_of(largest) if unit is None else unit
        self.largest = largest / self.unit

    @property
    def x(self) -> Points:
        """The numbers of the points, which nobody knows more of."""
        return np.arange(len(self.distances))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.distances), len(self.distances)

    def restricted(self, chosen: Array) -> Distances:
        return Distances(self.distances[np.ix_(chosen, chosen)], self.unit)

    def _panels(self, part: slice) -> Iterator[tuple[slice, Array]]:
        """Yield consecutive rows of d², in memory that is used again."""
        n = len(self.distances)
        size = max(1, Limits.panel // n)
        memory = np.empty((min(size, n), n))
        for rows in chunks(part.stop - part.start, size):
            rows = slice(part.start + rows.start, part.start + rows.stop)
            d = self.distances[rows]
            panel = memory[: len(d)]
            d = d if self.unit == 1.0 else d / self.unit
            np.multiply(d, d, out=panel)
            panel[np.arange(len(d)), np.arange(rows.start, rows.stop)] = 0.0
            yield rows, panel

    def product(self, vectors: Array, *, single: bool = False) -> Array:  # noqa: ARG002
        return self._product(vectors, None)[0]

    def product_and_squares(self, vectors: Array, weights: Array) -> tuple[Array, float]:
        return self._product(vectors, weights)

    def _product(self, vectors: Array, weights: Array | None) -> tuple[Array, float]:
        n = len(self.distances)
        images = np.empty((n, vectors.shape[1]))

        def work(part: slice) -> Array:
            squares = 0.0
            for rows, panel in self._panels(part):
                np.matmul(panel, vectors, out=images[rows])
                if weights is not None:
                    np.multiply(panel, panel, out=panel)
                    squares += 0.25 * float(weights[rows] @ (panel @ weights))
            return np.array(squares)

        total = self.engine.sum_over_rows(work, n, Limits.whole)
        images *= -0.5
        return images, float(total)

    def partial_product(self, rows: Array, columns: Array, vectors: Array) -> Array:
        d = self.distances[np.ix_(rows, columns)] / self.unit
        images: Array = -0.5 * (d * d) @ vectors
        return images

    def diag(self) -> Array:
        return np.zeros(len(self.distances))

    def dense(self) -> Array:
        K = np.empty(self.shape)
        for rows, panel in self._panels(slice(0, len(K))):
            np.multiply(panel, -0.5, out=K[rows])
        return K

    def entry_rounding(self, *, single: bool = False) -> Rounding:  # noqa: ARG002
        """Bound what a square rounds, sums of n of them, and centring: no |K| exceeds ½L²."""
        n, unit, value = len(self.distances), 0.5 * EPSILON, 0.5 * self.largest**2
        centring = EngineLimits.summed_rows + -(-n // EngineLimits.summed_rows) + 16
        sums = gamma(n + 2, unit) + 2.0 * gamma(centring, unit)
        return Rounding(unit * value, (unit + sums) * value, True, value)

    def square_sum_rounding(self, raw: float) -> float:
        entry = self.entry_rounding().entry
        terms = 2 * len(self.distances) + 8
        return float(gamma(terms, 0.5 * EPSILON) * raw + 2.0 * entry * np.sqrt(raw) + entry**2)

    def spread(self, weights: Array) -> float:  # noqa: ARG002
        """Return a bound for the norm of W^½KW^½, whatever the weights: no |K| exceeds ½L²."""
        return 0.5 * self.largest**2
