"""Contributions, cos², v-tests and correlations with axes: each formula stands here once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import device

from mercer.check import Array, as_numpy, namespace
from mercer.data.frames import as_frame
from mercer.display import Shown, first_names, warn
from mercer.errors import AtBarycentre, NoDistances, NotAvailable
from mercer.points import read_only, readings

CONSTANT = 4.0 * float(np.finfo(float).eps)
"""Standard deviation, as a share of the largest entry, that is the rounding of a constant."""

CANCELLED = 1e-12
"""Rest of a squared distance, as a share of it, that is rounding."""


def _labels(names: tuple[str, ...] | None, count: int) -> Array:
    return np.arange(count) if names is None else np.array(names, dtype=object)


def tidy_columns(what: str, labels: Array, columns: dict[str, Array]) -> dict[str, Array]:
    """Return one row for each element and axis; axes are counted from 1, as on a graph."""
    count = next(iter(columns.values())).shape[1]
    long = {name: values.ravel() for name, values in columns.items()}
    axes = np.tile(np.arange(1, count + 1), len(labels))
    return {what: np.repeat(labels, count), "axis": axes, **long}


@dataclass(frozen=True, eq=False, repr=False)
class Individuals(Shown):
    r"""Individuals on the axes.

    .. math:: \cos^2_{ik} = \frac{|F_{ik}|^2}{\|\varphi_i - \mu\|^2}, \quad
        \gamma_{ik} = \frac{w_i |F_{ik}|^2}{\lambda_k}

    ``coordinates`` are F, one row for each individual. The squared cosines add up to 1 over all
    axes, the contributions over all active individuals; supplementary ones weigh and contribute
    nothing. cos2 is NaN, with a warning, for an individual at the barycentre. Squared distances and
    inertias are in the square of ``unit``, which is 1 unless data are too large or small to square.

    >>> one = Individuals(np.array([[3.0, 0.0]]), np.array([25.0]), np.array([1.0]), np.ones(2))
    >>> one.cos2, one.distances
    (array([[0.36, 0.  ]]), array([5.]))
    """

    facts: ClassVar[Mapping[str, str]] = {
        "labels": "of the individuals",
        "coordinates": "individuals by axes",
        "inertias": "of the axes",
    }

    coordinates: Array
    squared_distances: Array | None
    weights: Array
    inertias: Array
    names: tuple[str, ...] | None = None
    library: str | None = None
    unit: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "coordinates", read_only(self.coordinates))

    def __len__(self) -> int:
        return int(self.coordinates.shape[0])

    def _title(self) -> str:
        count, axes = self.coordinates.shape
        return f"Individuals: {count} on {axes} axes"

    @property
    def labels(self) -> Array:
        """The names of the individuals, or their row numbers."""
        return _labels(self.names, len(self))

    def _squares(self) -> Array:
        if self.squared_distances is None:
            raise NotAvailable(
                "the distance of these individuals to the barycentre is not known: with a "
                "precomputed kernel give k(x, x) as supplementary(individuals=K, squares=...)"
            )
        if np.any(self.squared_distances < 0):
            row = int(np.argmin(self.squared_distances))
            raise NoDistances(
                f"the squared distance of individual {self.labels[row]} to the barycentre is "
                f"{self.squared_distances[row]:.3g}: the kernel is not positive definite, and "
                "cos2 and distances do not exist"
            )
        return self.squared_distances

    @cached_property
    def distances(self) -> Array:
        """The distance of each individual to the barycentre, in the space of the features."""
        return read_only(self._beside(self.unit * np.sqrt(self._squares())))

    @cached_property
    def cos2(self) -> Array:
        """How well each axis shows each individual, between 0 and 1."""
        squares = self._squares()
        away = squares > 0
        if not np.all(away):
            at = [str(label) for label in self.labels[~away]]
            warn(
                f"cos2 is undefined (NaN) for individuals at the barycentre: {first_names(at)}",
                AtBarycentre,
            )
        known = self._beside(np.where(away, squares, np.nan))
        cos2 = _squared(self.coordinates, self.unit) / known[:, None]
        return read_only(namespace(cos2).clip(cos2, max=1.0))

    @cached_property
    def contributions(self) -> Array:
        """The share of each individual in the inertia of each axis."""
        shares = _squared(self.coordinates, self.unit)
        shares *= self._beside(self.weights)[:, None]
        shares /= self._beside(self.inertias)
        return read_only(shares)

    @cached_property
    def plane_distances(self) -> Array:
        """The distance of each individual to the space of the axes: what they do not show."""
        squares, xp = self._beside(self._squares()), namespace(self.coordinates)
        rest = squares - xp.sum(_squared(self.coordinates, self.unit), axis=1)
        left = xp.where(rest <= CANCELLED * squares, xp.zeros_like(rest), rest)
        return read_only(self.unit * xp.sqrt(left))

    def _beside(self, values: Array) -> Array:
        """Return numbers of the host as an array of the coordinates' library, where they lie."""
        given = self.coordinates
        if isinstance(given, np.ndarray):
            return values
        plain = np.array(values, order="C")  # which other libraries may write to
        return namespace(given).asarray(plain, dtype=given.dtype, device=device(given))

    def take(self, rows: Array) -> Individuals:
        """Return some of the individuals."""
        squares, names = self.squared_distances, self.names
        return Individuals(
            self._some(rows),
            None if squares is None else squares[rows],
            self.weights[rows],
            self.inertias,
            tuple(names[i] for i in rows) if names else tuple(str(i) for i in rows),
            self.library,
            self.unit,
        )

    def _some(self, rows: Array) -> Array:
        given = self.coordinates
        if isinstance(given, np.ndarray):
            return given[rows]
        xp = namespace(given)
        return xp.take(given, xp.asarray(rows, device=device(given)), axis=0)

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each individual and axis.

        It is a data frame of the library given, else of the one the data came in, else a `Tidy`
        table.
        """
        columns = {"coordinate": as_numpy(self.coordinates)}
        if self.squared_distances is not None:
            columns["cos2"] = as_numpy(self.cos2)
        columns["contribution"] = as_numpy(self.contributions)
        return as_frame(tidy_columns("individual", self.labels, columns), library or self.library)


def _squared(values: Array, unit: float = 1.0) -> Array:
    if unit != 1.0:
        values = values / unit
    xp = namespace(values)
    is_complex = xp.isdtype(values.dtype, "complex floating")
    return xp.abs(values) ** 2 if is_complex else values * values


@dataclass(frozen=True, eq=False, repr=False)
class Variables(Shown):
    r"""Variables on the axes.

    .. math:: r_{jk} = \mathrm{corr}(x^j, F_k), \quad G_{jk} = s_j r_{jk}, \quad
        \cos^2_{jk} = r_{jk}^2, \quad \gamma_{jk} = \frac{m_j G_{jk}^2}{\lambda_k}

    with s the standard deviation of the variable as it was analysed (1 once standardised) and m
    its weight. Coordinates and contributions exist where axes are combinations of variables: in
    PCA, and with the linear kernel.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "names": "of the variables",
        "correlations": "variables by axes",
        "inertias": "of the axes",
    }

    correlations: Array
    names: tuple[str, ...]
    inertias: Array
    deviations: Array | None = None
    weights: Array | None = None
    library: str | None = None
    unit: float = 1.0

    def __len__(self) -> int:
        return len(self.correlations)

    def _title(self) -> str:
        count, axes = self.correlations.shape
        return f"Variables: {count} on {axes} axes"

    @cached_property
    def coordinates(self) -> Array:
        if self.deviations is None:
            raise NotAvailable(
                "variables have coordinates only where axes are combinations of them: in PCA and "
                "with the linear kernel. Their .correlations exist for every kernel"
            )
        r = np.where(self.deviations[:, None] > 0, self.correlations, 0.0)
        return read_only(self.deviations[:, None] * r)

    @cached_property
    def cos2(self) -> Array:
        return read_only(np.abs(self.correlations) ** 2)

    @cached_property
    def contributions(self) -> Array:
        """The share of each variable in the inertia of each axis; they add up to 1."""
        if self.weights is None:
            raise NotAvailable(
                "only active variables in PCA, or with the linear kernel, contribute to the axes"
            )
        squares = _squared(self.coordinates, self.unit)
        return read_only(self.weights[:, None] * squares / self.inertias)

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each variable and axis."""
        columns = {"correlation": self.correlations, "cos2": self.cos2}
        if self.deviations is not None:
            columns = {"coordinate": self.coordinates, **columns}
        if self.weights is not None:
            columns["contribution"] = self.contributions
        labels = _labels(self.names, len(self))
        return as_frame(tidy_columns("variable", labels, columns), library or self.library)


@dataclass(frozen=True, eq=False, repr=False)
class Categories(Shown):
    r"""The categories of categorical variables on the axes: each at the barycentre of its members.

    .. math:: v_{gk} = \frac{w_g \bar F_{gk}}{\sqrt{\frac{n_g (N - n_g)}{N (N - 1)}\, S_k}}, \quad
        S_k = \sum_i w_i^2 F_{ik}^2, \quad
        \eta^2_k = \sum_g \frac{w_g \bar F_{gk}^2}{\lambda_k}

    The denominator is the standard deviation of :math:`w_g \bar F_{gk}`, a sum of :math:`n_g`
    terms :math:`w_i F_{ik}`, over all groups of as many members: a v-test beyond ±1.96 says that
    members drawn at random would seldom lie so far from the origin. A group and its complement
    have opposite v-tests. Of equal weights, which are meant where ``scatters``, the S of the
    axes, are not given, :math:`S_k = \lambda_k / N`, and v is FactoMineR's,
    :math:`\bar F_{gk} / \sqrt{\lambda_k (N - n_g) / ((N - 1)\, n_g)}`. η² has one row for each
    categorical variable, in the order of ``variables``; counts are of individuals with a weight.

    >>> table = Categories(
    ...     np.array([[1.0], [-1.0]]), np.array([1.0, 1.0]), ("a", "b"), ("q", "q"),
    ...     np.array([2, 2]), np.array([0.5, 0.5]), np.array([1.0]))
    >>> table.v_test.ravel(), table.eta2
    (array([ 1.73205081, -1.73205081]), array([[1.]]))

    References
    ----------
    Lebart, Morineau & Piron, Statistique exploratoire multidimensionnelle (1995), section 2.2.
    The variance is that of sampling without replacement: Cochran, Sampling Techniques (1977),
    theorem 2.2.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "levels": "of the variables",
        "coordinates": "of the barycentres",
        "v_test": "beyond ±1.96 chance is seldom the reason",
        "eta2": "share of each axis that a variable accounts for",
    }

    coordinates: Array
    squared_distances: Array
    levels: tuple[str, ...]
    variables_of: tuple[str, ...]
    counts: Array
    weights: Array
    inertias: Array
    total: int = 0
    library: str | None = None
    unit: float = 1.0
    scatters: Array | None = None

    def __len__(self) -> int:
        return len(self.levels)

    def _title(self) -> str:
        return f"Categories: {first_names([f'{v}={g}' for v, g in self._pairs()])}"

    def _pairs(self) -> list[tuple[str, str]]:
        return list(zip(self.variables_of, self.levels, strict=True))

    @property
    def variables(self) -> tuple[str, ...]:
        """The categorical variables, in the order of the rows of `eta2`."""
        return tuple(dict.fromkeys(self.variables_of))

    def of_counted(self, total: int) -> Self:
        """Return the same categories where weights say how often each row was seen, of a total.

        Counts are then of all who were seen, each of whom has the same weight.
        """
        counts = np.rint(total * self.weights).astype(int)
        return replace(self, counts=counts, total=total, scatters=None)

    @cached_property
    def v_test(self) -> Array:
        N = self.total or int(self.counts.sum())
        n = self.counts[:, None].astype(np.float64)
        scatters = self.inertias / N if self.scatters is None else self.scatters
        spread = np.sqrt(n * (N - n) / (N * max(N - 1, 1)) * scatters)
        sums = self.weights[:, None] * (self.coordinates / self.unit)
        # A category of all individuals has its barycentre at the origin.
        lies = spread > 0
        return read_only(np.where(lies, sums / np.where(lies, spread, 1.0), 0.0))

    @cached_property
    def cos2(self) -> Array:
        away = self.squared_distances > 0
        squares = np.where(away, self.squared_distances, 1.0)[:, None]
        cos2 = np.minimum(_squared(self.coordinates, self.unit) / squares, 1.0)
        if not np.all(away):
            at = [g for g, is_away in zip(self.levels, away, strict=True) if not is_away]
            warn(
                f"cos2 is undefined (NaN) for categories at the barycentre: {first_names(at)}",
                AtBarycentre,
            )
            cos2[~away] = np.nan
        return read_only(cos2)

    @cached_property
    def eta2(self) -> Array:
        shares = self.weights[:, None] * _squared(self.coordinates, self.unit) / self.inertias
        members = np.array([[v == w for w in self.variables_of] for v in self.variables], float)
        return read_only(members.reshape(len(self.variables), len(self)) @ shares)

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each category and axis."""
        columns = {"coordinate": self.coordinates, "cos2": self.cos2, "v_test": self.v_test}
        tidy = tidy_columns("category", _labels(self.levels, len(self)), columns)
        variables = np.repeat(np.array(self.variables_of, object), len(self.inertias))
        return as_frame({"variable": variables, **tidy}, library or self.library)


def scatters(coordinates: Array, weights: Array, unit: float) -> Array:
    r"""Return :math:`\sum_i w_i^2 |F_{ik}|^2` of each axis, by which `Categories` are tested.

    >>> scatters(np.array([[1.0], [-1.0]]), np.array([0.5, 0.5]), 1.0)
    array([0.5])
    """
    return np.asarray(np.square(weights) @ _squared(coordinates, unit))


@dataclass(frozen=True, eq=False, repr=False)
class Supplementary(Shown):
    """Supplementary elements, projected on axes that others made; None where nothing was given."""

    facts: ClassVar[Mapping[str, str]] = {
        "individuals": "new rows",
        "variables": "numbers of the rows",
        "categories": "labels of the rows",
    }

    individuals: Individuals | None = None
    variables: Variables | None = None
    categories: Categories | None = None


def correlations(columns: Any, scores: Array, weights: Array) -> tuple[Array, Array]:
    r"""Return the weighted correlations of columns with scores, and the columns' deviations.

    .. math:: r_{jk} = \frac{\sum_i w_i (x_{ij} - \bar x_j)(F_{ik} - \bar F_k)}{s_j\, s(F_k)}

    A constant column has deviation 0 and correlation NaN. The table may lie on disk: it is read
    part by part. Rows without weight are left out, however large they are.

    >>> x = np.array([[1.0], [2.0], [3.0]])
    >>> correlations(x, np.array([[-1.0], [0.0], [1.0]]), np.full(3, 1 / 3))[0]
    array([[1.]])
    """
    active = np.flatnonzero(weights)
    weights, scores = weights[active], scores[active]
    largest = np.max([np.abs(part).max(axis=0) for part, _ in _parts(columns, active)], axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # squares of very large or small columns exist
    mean = np.zeros(len(unit))
    for _ in range(2):  # the second time removes what rounding left of the mean
        mean = mean + sum(weights[at] @ (x / unit - mean) for x, at in _parts(columns, active))
    size = np.abs(scores).max(initial=0.0)
    scores = scores / size if size > 0 else scores
    scores = scores - weights @ scores
    spreads = np.sqrt(weights @ _squared(scores))
    squares, products = np.zeros(len(unit)), np.zeros((len(unit), scores.shape[1]), scores.dtype)
    for x, at in _parts(columns, active):
        centred = x / unit - mean
        squares += weights[at] @ centred**2
        products += centred.T @ (weights[at, None] * scores[at])
    deviations = np.sqrt(squares)
    deviations = np.where(deviations <= CONSTANT, 0.0, deviations)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = products / deviations[:, None] / spreads
    r[deviations == 0] = np.nan
    if not np.iscomplexobj(r):
        np.clip(r, -1.0, 1.0, out=r)
    return r, deviations * unit


def _parts(columns: Any, active: Array) -> Iterator[tuple[Array, slice]]:
    """Yield some rows of a table, as many as are read at once, and which of them they are."""
    begun = 0
    for rows in readings(columns):
        ended = int(np.searchsorted(active, rows.stop))
        if ended > begun:
            part = columns[rows]
            part = part.toarray() if hasattr(part, "toarray") else np.asarray(part, np.float64)
            yield part[active[begun:ended] - rows.start], slice(begun, ended)
        begun = ended
