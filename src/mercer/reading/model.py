"""What every model with axes can be asked: its individuals, supplementary elements, outliers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from mercer.check import Array, real_array
from mercer.data.frames import columns_of, library_of, of_layer, row_names
from mercer.display import column_name, first_names, in_ranges, kept, percent, warn
from mercer.errors import (
    Advice,
    ConstantColumns,
    DegenerateAxes,
    FewerAxes,
    InvalidInput,
    Misleading,
    NoInertia,
    NotAvailable,
    ReadingWarning,
)
from mercer.estimator import column_names, require_fit
from mercer.kernels.base import Kernel
from mercer.points import read_only
from mercer.reading.contributions_and_v_tests import (
    Categories,
    Individuals,
    Supplementary,
    Variables,
    correlations,
    scatters,
)
from mercer.reading.outliers import Outliers
from mercer.settings import LEVEL, level_of, whole
from mercer.spectrum import Spectrum


class DataNames(NamedTuple):
    """The names in the data of a model, and the library of data frames that they came from."""

    rows: tuple[str, ...] | None
    columns: tuple[str, ...]
    library: str | None


class FittedAxes(Protocol):
    """The questions that readers may ask a model with axes, beside its fitted attributes.

    Importance, slopes, points along axes and pictures know no more of a model than this.
    """

    X_fit_: Any

    @property
    def data_names(self) -> DataNames: ...

    @property
    def weights_(self) -> Array: ...

    @property
    def inertias_(self) -> Array: ...

    @property
    def spread(self) -> float: ...

    @property
    def individuals_(self) -> Individuals: ...

    def slopes_at(self, points: Any, count: int) -> tuple[Any, Array]: ...


class Readable:
    """A model whose axes are read: it knows its scores and distances, this class the rest."""

    has_exchangeable_columns: ClassVar[bool] = True
    """Whether a column may be shuffled among the individuals, whose weights do not depend on it."""

    spectrum_: Spectrum
    _weights: Array
    _total: float
    _names: tuple[str, ...] | None
    _columns: tuple[str, ...]
    _library: str | None
    _unit: float = 1.0
    _n_features_out: int
    _forget: Callable[[], None]

    @property
    def _axis_inertias(self) -> Array:
        """The inertias in units squared, in which they neither overflow nor vanish."""
        raise NotImplementedError

    @property
    def _whole(self) -> float:
        """The total inertia, in units squared; 0 where it is rounding only."""
        raise NotImplementedError

    def _scores(self) -> tuple[Array, Array]:
        """Return the coordinates of individuals, and squared distances in units squared."""
        raise NotImplementedError

    def _passive(self, X: Any, squares: Any) -> tuple[Array, Array | None]:
        """Return the same of other individuals."""
        raise NotImplementedError

    def _squares_of(self, shares: Array) -> Array:
        """Return the squared norms of Σ sᵢ(φᵢ - μ), one for each column of shares."""
        raise NotImplementedError

    def inner_products(self, vectors: Array) -> Array:
        r"""Return the inner products of individuals about their barycentre, times vectors.

        .. math:: B V, \quad B_{ij} = \langle \varphi_i - \mu, \varphi_j - \mu \rangle

        They are those of the whole space, not only of the axes kept, in the square of
        ``individuals_.unit``; B itself is never formed.
        """
        raise NotImplementedError

    def _refit(self, weights: Array) -> Any:
        """Return the same model of the same data with other weights."""
        raise NotImplementedError

    def sample_weights(self, weights: Array) -> Array:
        """Return the ``sample_weight`` with which a fit gives individuals these weights."""
        return weights

    def _note(self, X: Any, weights: Array, count: int) -> None:
        """Remember what the data were called, and forget what was read of others."""
        self._forget()
        self._weights = weights
        self._names, self._library = row_names(X), library_of(X)
        self._columns = column_names(X) or tuple(f"x{j}" for j in range(count))

    @property
    def data_names(self) -> DataNames:
        """What the rows and columns of the data are called."""
        require_fit(self)
        return DataNames(self._names, self._columns, self._library)

    @property
    def spread(self) -> float:
        """The square root of the total inertia, a double where the inertia need not be one."""
        return float(self._unit * np.sqrt(self._whole))

    @property
    def inertias_(self) -> Array:
        """The inertia of each axis; weights sum to 1."""
        require_fit(self)
        values: Array = self._in_units(self._axis_inertias)
        return values

    @property
    def inertia_(self) -> float:
        """The total inertia."""
        require_fit(self)
        return float(self._in_units(self._whole))

    @property
    def explained_variance_(self) -> Array:
        """The variance of each axis, with scikit-learn's divisor n - 1.

        n counts the individuals that have a weight, whatever the weights are.
        """
        return self.inertias_ * self._unbiased

    @property
    def explained_variance_ratio_(self) -> Array:
        """The share of each axis in the total inertia."""
        require_fit(self)
        return self._axis_inertias / self._whole if self._whole > 0 else self._axis_inertias

    @property
    def weights_(self) -> Array:
        """The weights of the individuals, which sum to 1; 0 for supplementary ones."""
        require_fit(self)
        return read_only(self._weights)

    @property
    def _unbiased(self) -> float:
        n = self._active_count()
        return n / (n - 1) if n > 1 else 0.0

    def _active_count(self) -> int:
        """Return how many individuals have a weight."""
        return int(np.sum(self._weights > 0))

    def _in_units(self, values: Any) -> Any:
        """Return inertias in the units of the data, squared, or say that no double can."""
        return in_units_squared(values, self._unit)

    @kept
    def individuals_(self) -> Individuals:
        """The individuals: coordinates, cos2, contributions, distances."""
        scores, squares = self._scores()
        return self._located(scores, squares, self._weights, self._names, self._library)

    def _located(
        self,
        scores: Array,
        squares: Array | None,
        weights: Array,
        names: tuple[str, ...] | None,
        library: str | None,
    ) -> Individuals:
        return Individuals(
            scores, squares, weights, self._axis_inertias, names, library, self._unit
        )

    def supplementary(
        self,
        individuals: Any = None,
        variables: Any = None,
        categories: Any = None,
        *,
        squares: Any = None,
    ) -> Supplementary:
        """Project elements on axes they did not help to find.

        Parameters
        ----------
        individuals
            New individuals, in the form that `transform` takes.
        variables
            Numbers for the individuals of the fit: a data frame, a mapping from names, an array.
        categories
            Labels for the individuals of the fit, in the same forms.
        squares
            k(x, x) of new individuals; needed for their cos2 with a precomputed kernel only.
        """
        require_fit(self)
        return Supplementary(
            None if individuals is None else self._supplementary_individuals(individuals, squares),
            None if variables is None else self._supplementary_variables(variables),
            None if categories is None else self._supplementary_categories(categories),
        )

    @of_layer
    def _supplementary_individuals(self, X: Any, squares: Any) -> Individuals:
        scores, distances = self._passive(X, squares)
        library = library_of(X) or self._library
        return self._located(scores, distances, np.zeros(len(scores)), row_names(X), library)

    def _supplementary_variables(self, given: Any) -> Variables:
        columns = columns_of(given, len(self._weights), "variables")
        table = np.column_stack([real_array(v, f"variable {n!r}") for n, v in columns.items()])
        return self._correlated(table, tuple(columns), library_of(given) or self._library)

    def _correlated(self, table: Any, names: tuple[str, ...], library: str | None) -> Variables:
        r, deviations = correlations(table, self.individuals_.coordinates, self._weights)
        warn_constant([n for n, s in zip(names, deviations, strict=True) if s == 0])
        deviations = self._analysed(deviations)
        return Variables(
            r, names, self._axis_inertias, deviations, library=library, unit=self._unit
        )

    def _analysed(self, deviations: Array) -> Array:
        """Return the deviations of supplementary variables as they would be once active."""
        return deviations

    def _supplementary_categories(self, given: Any) -> Categories:
        columns = columns_of(given, len(self._weights), "categories")
        pairs = [(name, level) for name, labels in columns.items() for level in _levels(labels)]
        members = np.column_stack(
            [_texts(columns[name], name) == level for name, level in pairs]
        ).astype(np.float64)
        pairs, members = self._with_weight(pairs, members)
        weights = self._weights @ members
        shares = self._weights[:, None] * members / weights
        active = self._weights > 0
        return Categories(
            coordinates=shares.T @ self.individuals_.coordinates,
            squared_distances=self._squares_of(shares),
            levels=tuple(level for _, level in pairs),
            variables_of=tuple(name for name, _ in pairs),
            counts=members[active].sum(axis=0).astype(int),
            weights=weights,
            inertias=self._axis_inertias,
            unit=self._unit,
            total=int(active.sum()),
            library=library_of(given) or self._library,
            scatters=scatters(self.individuals_.coordinates, self._weights, self._unit),
        )

    def _with_weight(
        self, pairs: list[tuple[str, str]], members: Array
    ) -> tuple[list[tuple[str, str]], Array]:
        """Leave out categories of weightless individuals only, which have no barycentre."""
        has_weight = self._weights @ members > 0
        without = [f"{v}={g}" for (v, g), w in zip(pairs, has_weight, strict=True) if not w]
        if without:
            warn(
                f"no individual with a weight has these categories, which are left out: "
                f"{first_names(without)}",
                ReadingWarning,
            )
        return [p for p, w in zip(pairs, has_weight, strict=True) if w], members[:, has_weight]

    def outliers(self, *, level: float = LEVEL) -> Outliers:
        """Return the individuals that stand apart on the axes, or away from them.

        An outlier's contribution to an axis, distance to the barycentre or distance to the space
        of the axes is so large that, of normal clouds, a share of at most ``level`` would show any.
        """
        return Outliers(self.individuals_, level_of(level))

    def without(self, rows: Iterable[int] | int) -> Any:
        """Return the model fitted without some rows, which are projected as supplementary.

        The rows stay in their place with weight 0; the new model's ``removed_`` holds them.
        """
        require_fit(self)
        n = len(self._weights)
        given = rows if isinstance(rows, Iterable) else [rows]
        chosen = np.unique([whole(row, "a row to remove") for row in given]).astype(int)
        if chosen.size and chosen[-1] >= n:
            raise InvalidInput(f"there is no row {chosen[-1]}: rows are 0 to {n - 1}")
        weights = self._total * self._weights
        weights[chosen] = 0.0
        if not weights.any():
            raise InvalidInput("no individual with a weight would remain")
        model = self._refit(weights)
        model.removed_ = model.individuals_.take(chosen)
        return model

    def _name_alike(self, model: Any) -> None:
        """Give a model of the same data the same names."""
        model._names, model._columns, model._library = self._names, self._columns, self._library
        for name in {"feature_names_in_", "layer_"} & vars(self).keys():
            setattr(model, name, getattr(self, name))


def in_units_squared(values: Any, unit: float) -> Any:
    """Return inertias in the squared unit of the data, or say that no double can.

    >>> in_units_squared(np.array([0.5]), 2.0)
    array([2.])
    """
    if unit == 1.0:
        return values
    with np.errstate(over="ignore", under="ignore"):
        result = values * unit * unit
    is_lost = np.isinf(result) | (np.abs(result) < float(np.finfo(float).tiny))
    if np.any(is_lost & (values != 0.0)):
        raise NotAvailable(
            f"the inertia of data of size {unit:.0e} is outside the range of double precision; "
            "shares, coordinates and cos2 are right. Rescale the data to read inertias"
        )
    return result


def remark_axes(
    clusters: tuple[tuple[int, ...], ...],
    kept: int,
    asked: int | None,
    individuals: int,
    *,
    is_approximate: bool = False,
) -> None:
    """Warn of axes that do not exist or are arbitrary.

    ``clusters`` are those of `mercer.spectrum.Spectrum`; ``kept`` counts the axes above rounding.
    """
    if kept == 0:
        why = f"all {individuals} individuals coincide" if individuals > 1 else "one individual"
        warn(f"{why}: the inertia is 0 and there are no axes", NoInertia)
        return
    if asked is None:
        return
    if kept < asked:
        there = "there is 1 axis" if kept == 1 else f"there are {kept} axes"
        warn(
            f"{there}, fewer than the {asked} requested: further eigenvalues are rounding errors, "
            "or not positive",
            FewerAxes,
        )
    shared = [[k + 1 for k in cluster if k < kept] for cluster in clusters]
    if any(shared):
        axes = "; ".join(in_ranges(cluster) for cluster in shared if cluster)
        exact = Advice("method", "exact")
        way_out = f", or take more landmarks or {exact}" if is_approximate else ""
        doubt = "cannot be told apart" + (" by the approximation" if is_approximate else "")
        warn(
            f"degenerate axes: {axes}. Their eigenvalues {doubt}, so any rotation of these axes is "
            "equally valid (the partner of a single axis lies beyond the requested ones). Read "
            f"their plane, or sums over them, not single axes{way_out}",
            DegenerateAxes,
            exact,
        )


def warn_constant(names: list[str]) -> None:
    """Warn of columns that have no correlation with anything."""
    if names:
        warn(
            f"constant columns have no correlations (NaN): {first_names(names)}",
            ConstantColumns,
        )


def _texts(labels: Array, name: str) -> Array:
    """Return labels as text; a missing one is refused by its row."""
    for i, label in enumerate(labels.tolist()):
        if _is_missing(label):
            raise InvalidInput(
                f"categories: {name!r} has no label in row {i}; give the missing ones a level of "
                "their own"
            )
    return np.array([str(label) for label in labels.tolist()], dtype=object)


def _is_missing(label: Any) -> bool:
    """Whether a label is None, or not equal to itself: NaN, NaT and pandas' NA are not."""
    is_itself = label == label  # noqa: PLR0124  (which is not always so)
    return label is None or not (isinstance(is_itself, bool | np.bool_) and is_itself)


def _levels(labels: Array) -> list[str]:
    return sorted({str(label) for label in labels.tolist()})


NEARLY_ALL = 0.99
"""The share of one column in the squared distances from which on a kernel sees little else."""


CONSTANT = 1e-15
"""The share that rounding may leave to a column of one value."""


FEWEST = 10
"""Individuals from which on the spread of a column is more than chance."""


LOOKED_AT = 10_000
"""Individuals whose columns are looked at, evenly taken."""


def warn_of_units(kernel: Kernel, points: Any, weights: Array, names: Sequence[str]) -> None:
    """Warn where one column makes nearly all distances that a kernel with one bandwidth sees.

    A bandwidth for each column says that units were thought of, and so does another kernel.
    """
    is_table = isinstance(points, np.ndarray) and points.ndim == 2
    if not kernel.has_one_length or not is_table or np.count_nonzero(weights) < FEWEST:
        return
    shares = column_shares(points, weights)
    if np.count_nonzero(shares > CONSTANT) < 2 or shares.max() < NEARLY_ALL:
        return
    j = int(np.argmax(shares))
    name = column_name(names[j]) if j < len(names) else str(j)
    warn(
        f'the column "{name}" makes {percent(float(shares[j]))} of the squared distances between '
        f"individuals, so that {type(kernel).__name__} with one bandwidth sees little else: divide "
        "columns of different units by their standard deviations, or give a bandwidth for each",
        Misleading,
    )


def column_shares(points: Array, weights: Array) -> Array:
    """Return the share of each column in the mean squared distance between individuals.

    >>> column_shares(np.array([[0.0, 0.0], [1.0, 3.0]]), np.array([0.5, 0.5]))
    array([0.1, 0.9])
    """
    rows = np.unique(np.linspace(0, len(points) - 1, min(len(points), LOOKED_AT)).astype(int))
    x, w = np.asarray(points[rows], np.float64), weights[rows]
    size, total = float(np.max(np.abs(x), initial=0.0)), float(w.sum())
    if not size > 0 or not total > 0:
        return np.zeros(points.shape[1])
    x = x / size
    w = w / total
    variances: Array = w @ (x - w @ x) ** 2
    whole = float(variances.sum())
    return variances / whole if whole > 0 else variances
