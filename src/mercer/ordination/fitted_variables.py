"""Variables fitted on a map: the direction in which a number grows, the centroids of a factor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.check import Array, power_of_two, refuse_non_finite
from mercer.data.frames import as_frame, columns_of
from mercer.display import Shown, first_names, warn
from mercer.errors import ConstantColumns, InvalidInput
from mercer.ordination.designs import BATCH, added_basis, labels_of
from mercer.ordination.maps import TIES, Map
from mercer.points import read_only
from mercer.progress import Progress, follow_work
from mercer.resampling import PERMUTATIONS, Resampling, adjusted_p_values
from mercer.settings import RandomState, spelled

ROUNDING = 64.0 * float(np.finfo(float).eps)
"""A deviation below this share of a column's largest entry is rounding: the column is constant."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedVariables(Shown):
    """Numbers and factors on a map, and how much of each the map shows.

    ``numbers`` have ``directions``, unit vectors on the axes; ``factors`` have the ``centroids`` of
    their ``levels``, pairs of a factor and a level. ``r2``, ``p_values`` and ``adjusted``, the
    p-values after Holm's correction, are those of the numbers and then of the factors; without
    permutations both kinds of p-values are None. ``null`` has the r² of each permutation in a row.

    >>> import mercer as mc
    >>> data = mc.datasets.decathlon()
    >>> model = mc.PCA(2, standardize=True).fit(data)
    >>> mc.fit_variables(model, {"Points": data.column("Points").values}, random_state=0)
    FittedVariables: 1 on a map of 41 individuals, 999 permutations
      Points  r² = 0.9145  p = 0.001
    """

    numbers: tuple[str, ...]
    factors: tuple[str, ...]
    directions: Array
    levels: tuple[tuple[str, str], ...]
    centroids: Array
    r2: Array
    p_values: Array | None
    adjusted: Array | None
    individuals: int
    permutations: int
    seed: int | None
    null: Array

    @property
    def names(self) -> tuple[str, ...]:
        """The numbers, and then the factors."""
        return self.numbers + self.factors

    @property
    def arrows(self) -> Array:
        """The directions, each of the length √r² by which arrows are drawn."""
        return np.asarray(self.directions * np.sqrt(self.r2[: len(self.numbers), None]))

    def _title(self) -> str:
        return (
            f"FittedVariables: {len(self.names)} on a map of {self.individuals} individuals, "
            f"{self.permutations} permutations"
        )

    def _shown(self) -> Iterator[tuple[str, str, str]]:
        for k in np.argsort(-self.r2, kind="stable"):
            p = "" if self.p_values is None else f"p = {self.p_values[k]:.3g}"
            yield self.names[k], f"r² = {self.r2[k]:.4g}", p

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each number, the direction in its last columns."""
        count = len(self.numbers)
        return as_frame(
            self._columns(self.numbers, slice(0, count))
            | {f"dim{k + 1}": self.directions[:, k] for k in range(self.directions.shape[1])},
            library,
        )

    def factor_table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each factor."""
        return as_frame(self._columns(self.factors, slice(len(self.numbers), None)), library)

    def _columns(self, names: tuple[str, ...], part: slice) -> dict[str, Array]:
        columns = {"variable": np.array(names, dtype=object), "r2": self.r2[part]}
        if self.p_values is not None and self.adjusted is not None:
            columns |= {"p_value": self.p_values[part], "adjusted": self.adjusted[part]}
        return columns

    def centroid_table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each level of a factor."""
        columns = {
            "factor": np.array([factor for factor, _ in self.levels], dtype=object),
            "level": np.array([level for _, level in self.levels], dtype=object),
        }
        columns |= {f"dim{k + 1}": self.centroids[:, k] for k in range(self.centroids.shape[1])}
        return as_frame(columns, library)


@spelled
def fit_variables(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    individuals: Any,
    variables: Any,
    *,
    axes: int | None = 2,
    permutations: int = PERMUTATIONS,
    stop_after: int | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> FittedVariables:
    r"""Find where numbers grow on a map and where the levels of factors lie, with tests.

    .. math:: \hat\beta = (F^\top W F)^{-1} F^\top W (x - \bar x), \quad
        \text{direction } \frac{\hat\beta}{\|\hat\beta\|}, \quad
        r^2 = \frac{\|F\hat\beta\|_W^2}{\|x - \bar x\|_W^2}, \qquad
        r^2_{\text{factor}} = \frac{\sum_l w_l \|\bar F_l\|^2}{\sum_i w_i \|F_i\|^2}

    for the centred coordinates F of the map, a number x and the means :math:`\bar F_l` of the
    levels of a factor. r² of a number is its squared multiple correlation with the axes. p is how
    often individuals, permuted, have an r² as large. Variables that made the map are linked with
    it by construction: their p-values say how close, not whether.

    Parameters
    ----------
    individuals : fitted model with axes, or an array of coordinates
    variables : mapping, data frame or array of columns
        Columns of numbers have directions, those of labels centroids.
    axes : int or None
        How many first axes the map has; None takes all.
    permutations, stop_after, random_state, threads, progress
        See `hsic`.

    Examples
    --------
    >>> import mercer as mc
    >>> corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> found = mc.fit_variables(
    ...     corners, {"x": [7.0, 6.0, 4.0, 3.0], "side": ["e", "e", "w", "w"]}, permutations=0
    ... )
    >>> found.directions.round(4), found.r2, found.levels
    (array([[0.9487, 0.3162]]), array([1. , 0.5]), (('side', 'e'), ('side', 'w')))
    >>> found.centroids
    array([[ 1.,  0.],
           [-1.,  0.]])

    Jongman, ter Braak & van Tongeren, Data analysis in community and landscape ecology, 1995.
    """
    place = Map.of(individuals, axes)
    if place.inertia == 0.0:
        raise InvalidInput("all individuals of the map coincide: nothing can grow on it")
    columns = columns_of(variables, place.count, "variables")
    numbers = {n: v for n, v in columns.items() if v.dtype.kind in "iufb"}
    factors = {n: v for n, v in columns.items() if n not in numbers}
    fit = ColumnsOnMap.of(place, numbers, factors)
    with follow_work(progress, "permutations") as tell:
        draws = Resampling.of(
            permutations,
            random_state,
            least=0,
            stop_after=stop_after,
            threads=threads,
            progress=tell,
        )
        r2 = fit.shares()

        def statistic(r: int) -> Array:
            return fit.permuted(draws.generator(r).permutation(len(place))).shares()

        found = draws.null(draws.batches(statistic, BATCH), r2 * (1.0 - TIES))
    p_values = read_only(found.p_values) if draws.count else None
    levels = tuple((n, level) for n, kind in fit.levels.items() for level in kind)
    return FittedVariables(
        tuple(numbers),
        tuple(factors),
        read_only(fit.directions()),
        levels,
        read_only(place.unit * (fit.centroids() + place.centre)),
        read_only(r2),
        p_values,
        None if p_values is None else read_only(adjusted_p_values(p_values, "holm")),
        len(place),
        draws.count,
        draws.seed if draws.count else None,
        read_only(found.values),
    )


@dataclass(frozen=True, eq=False)
class ColumnsOnMap:
    """Columns against a map: numbers of unit norm, the indicators of all levels, side by side."""

    place: Map
    basis: Array
    numbers: Array
    members: Array
    starts: Array
    levels: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, place: Map, numbers: dict[str, Array], factors: dict[str, Array]) -> ColumnsOnMap:
        """Read numbers, constant ones with a warning, and factors."""
        roots = np.sqrt(place.weights)[:, None]
        units = [_unit_column(n, v, place) for n, v in numbers.items()]
        constant = [n for n, u in zip(numbers, units, strict=True) if not np.any(u)]
        if constant:
            warn(
                f"these columns are constant and grow nowhere (r² = 0): {first_names(constant)}",
                ConstantColumns,
            )
        table = np.column_stack(units) if units else np.zeros((len(place), 0))
        members, levels = [], {}
        for name, values in factors.items():
            codes, found = labels_of(values, name, place.rows, "variables")
            members.append((codes[:, None] == np.arange(len(found))).astype(np.float64))
            levels[name] = found
        indicators = np.hstack(members) if members else np.zeros((len(place), 0))
        starts = np.cumsum([0, *(part.shape[1] for part in members)])[:-1]
        none = np.zeros((len(place), 0))
        basis = added_basis(roots * place.coordinates, none)
        return cls(place, basis, table, indicators, starts, levels)

    def permuted(self, order: Array) -> ColumnsOnMap:
        """Return the same map with the rows of the variables in another order."""
        numbers = self.numbers
        if numbers.shape[1]:
            roots = np.sqrt(self.place.weights)[:, None]
            numbers = _unit_norm((numbers / roots)[order], self.place.weights)
        return ColumnsOnMap(
            self.place, self.basis, numbers, self.members[order], self.starts, self.levels
        )

    def shares(self) -> Array:
        """Return r² of the numbers, and then of the factors."""
        first = np.sum((self.basis.T @ self.numbers) ** 2, axis=0)
        if not len(self.starts):
            return np.asarray(np.minimum(first, 1.0))
        masses = self.place.weights @ self.members
        between = masses * np.sum(self.centroids() ** 2, axis=1)
        second = np.add.reduceat(between, self.starts) / self.place.inertia
        return np.asarray(np.minimum(np.concatenate([first, second]), 1.0))

    def centroids(self) -> Array:
        """Return the means of levels, about the barycentre of the map."""
        sums = self.members.T @ (self.place.weights[:, None] * self.place.coordinates)
        return np.asarray(sums / (self.place.weights @ self.members)[:, None])

    def directions(self) -> Array:
        """Return the directions in which numbers grow, of unit length; zeros for constant ones."""
        roots = np.sqrt(self.place.weights)[:, None]
        slopes = np.linalg.lstsq(roots * self.place.coordinates, self.numbers, rcond=None)[0]
        sizes = np.linalg.norm(slopes, axis=0)
        return np.asarray((slopes / np.where(sizes > 0, sizes, 1.0)).T)


def _unit_column(name: str, values: Array, place: Map) -> Array:
    """Return a column of numbers about its mean, of unit norm; zeros if it is constant."""
    column = values[place.rows].astype(np.float64)
    refuse_non_finite(column, f"variables: {name!r}")
    column = column / power_of_two(column)
    if float(np.ptp(column)) <= ROUNDING * float(np.max(np.abs(column))):
        return np.zeros(len(column))
    return _unit_norm(column[:, None], place.weights)[:, 0]


def _unit_norm(columns: Array, weights: Array) -> Array:
    """Return columns about their weighted means, times the roots of weights, of unit norm."""
    away = np.sqrt(weights)[:, None] * (columns - weights @ columns)
    sizes = np.linalg.norm(away, axis=0)
    return np.asarray(away / np.where(sizes > 0, sizes, 1.0))
