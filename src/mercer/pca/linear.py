"""Principal component analysis of a table of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, real_array, refuse_non_finite, shares_of
from mercer.display import first_names, kept, warn
from mercer.engines.cpu import held_elsewhere
from mercer.errors import Advice, ConstantColumns, InvalidInput, InvalidParameter, NotAvailable
from mercer.estimator import (
    Model,
    all_or_nothing,
    axes_asked,
    axes_reaching,
    column_names,
    in_dtype_of,
    is_yes,
    numbers_of,
    one_of,
    register,
    rows_on_disk,
    sparse_rows,
    stay_there,
    weights_of,
)
from mercer.operators import ENTRY_ROUNDING
from mercer.pca.centred_tables import (
    ByLoadings,
    CentredTable,
    DenseTable,
    Oriented,
    noise_of,
    read_table,
)
from mercer.pca.streams import Drift, Forgotten, Moments, drift_of, drift_told
from mercer.points import lies_on_disk, matrix_of
from mercer.progress import Progress, follow_work
from mercer.reading import Readable, Variables
from mercer.reading.model import remark_axes, warn_constant
from mercer.settings import whole
from mercer.spectrum import Limits, decomposes_columns, from_covariances, leading

CONSTANT_COLUMNS = ("exclude", "error")


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Readable, Model):
    r"""Principal component analysis, read as statisticians read it.

    .. math:: Z = (X - 1\mu^\top)\,\mathrm{diag}(m_j^{1/2} / s_j), \quad
        Z^\top W Z = V \Lambda V^\top, \quad F = Z V

    with row weights w that sum to 1, W = diag(w), μ the weighted mean, s the weighted standard
    deviations (divisor n) or 1, and m the weights of columns. The axes are exact: singular values
    of a small table, else eigenvalues of the inner products of its columns or of its rows,
    whichever are fewer. Data may be an array, a data frame, a `numpy.memmap` or points that
    `open_points` leaves on disk (read piece by piece, never whole), a sparse matrix (never made
    dense), or a Dask collection, whose rows stay on the cluster that is active. Axes below the
    numerical rank are left out.

    Parameters
    ----------
    n_components : int, float or None
        How many axes; None keeps all above the numerical rank, and more than these warns
        (`FewerAxes`). A number between 0 and 1 keeps the fewest axes that hold such a share of the
        inertia.
    standardize : bool
        Whether to divide each column by its weighted standard deviation.
    column_weight : sequence of float or None
        Positive weights of the columns, used as given.
    constant_columns : {"exclude", "error"}
        What to do with a constant column, which cannot be standardised.

    Attributes
    ----------
    inertias_, inertia_ : the inertia of each axis and in total; weights of rows sum to 1
    individuals_, variables_ : coordinates, cos2, contributions, correlations
    components_ : the axes as rows, orthonormal; `transform` is Z times them
    explained_variance_, explained_variance_ratio_, singular_values_ : as in scikit-learn
    mean_, scale_ : what is subtracted from the columns, and what they are divided by
    spectrum_ : eigenvalues of the covariances, their proved errors, degenerate axes
    weights_ : the weights of the individuals, which sum to 1
    X_fit_ : the data of the fit, not copied
    drift_ : of a stream (`partial_fit`), how far each batch turned the axes

    Notes
    -----
    `individuals_`, and the signs of axes, are found from the data of the fit when they are first
    asked for: do not write to those data in between.

    Examples
    --------
    >>> import mercer as mc
    >>> x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> model = mc.PCA().fit(x)
    >>> model.inertias_, model.inertia_
    (array([1.  , 0.25]), 1.25)
    >>> model.individuals_.contributions.sum(axis=0)
    array([1., 1.])

    Martin, chapter 1; Beeny, §2; Yao, lecture 1.
    """

    equivalents: ClassVar[Mapping[str, str]] = {
        "svd_solver": "left to mercer, which is exact",
        "whiten": "a division of the coordinates by the roots of the inertia",
        "scale": "standardize",
        "scale_unit": "standardize",
    }

    limits: ClassVar[Limits] = Limits()

    _stream: Moments | None = None
    _drift: tuple[Drift, ...] = ()

    def __init__(
        self,
        n_components: float | None = None,
        *,
        standardize: bool = False,
        column_weight: Any = None,
        constant_columns: str = "exclude",
    ) -> None:
        self.n_components = n_components
        self.standardize = standardize
        self.column_weight = column_weight
        self.constant_columns = constant_columns

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        progress: bool | Progress | None = None,
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> PCA:
        """Find the axes of the individuals X.

        ``progress`` counts the rows of each pass over a dense table, or the columns where inner
        products of rows are summed over them; the decomposition that follows has no parts.
        """
        with follow_work(progress, "rows") as tell:
            return self._fit(X, sample_weight, tell)

    def _fit(self, X: Any, sample_weight: Any, tell: Progress | None) -> PCA:
        is_yes(self.standardize, "standardize")
        one_of(self.constant_columns, "constant_columns", CONSTANT_COLUMNS)
        X = stay_there(X, held_elsewhere)
        data = self._read(X, reset=True)
        self._stream, self._drift = None, ()
        n, p = data.shape
        count = self._count(min(n, p))
        given = weights_of(sample_weight, n)
        weights = shares_of(given)
        self._note(X, weights, p)
        if hasattr(data, "over_parts"):
            found = Moments.elsewhere(data, given, by_column=self.standardize)
            table: CentredTable = found.table(data, weights)
        else:
            table = read_table(
                data,
                weights,
                by_column=self.standardize,
                has_scatter=decomposes_columns(n, p, count, self.limits),
                tell=tell,
                columns=column_names(X),
            )
        table = self._standardised(table)
        self._keep(table, count, float(given.sum()))
        asked = axes_asked(self.n_components)
        asked = self.n_components_ if isinstance(asked, float) else asked
        remark_axes(self.spectrum_.clusters, self.n_components_, asked, n)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        progress: bool | Progress | None = None,
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> PCA:
        """Take in a batch of rows, of which only their mean and covariances are kept.

        The axes are those of all rows so far, as `fit` would find them: whatever the batches,
        inertias agree to 1e-10 of the largest. Signs may differ, for they are decided by the
        largest loading of each axis, and what is told of each row (`individuals_`) is not there:
        use `transform`. ``drift_`` says how far each batch turned the axes. A batch costs p³
        operations for p columns, beside those of its rows. A model that was fitted goes on from
        the data of its fit; `fit` begins anew.

        >>> import mercer as mc
        >>> x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
        >>> model = mc.PCA().partial_fit(x[:3]).partial_fit(x[3:])
        >>> model.inertias_.round(12)
        array([1.  , 0.25])
        """
        with follow_work(progress, "rows") as tell, all_or_nothing(self):
            return self._take_in(X, sample_weight, tell)

    def _take_in(self, X: Any, sample_weight: Any, tell: Progress | None) -> PCA:
        is_yes(self.standardize, "standardize")
        one_of(self.constant_columns, "constant_columns", CONSTANT_COLUMNS)
        X = stay_there(X, held_elsewhere)
        is_first = not hasattr(self, "_axes")
        earlier, before, names = self._stream, None, None if is_first else self._columns
        if not is_first:
            before = self._axes.unsigned
            if earlier is None:  # what was fitted by `fit` is the first batch
                rows, weights = self._axes.table.values, self._total * self._weights
                earlier = Moments.of(rows, weights, by_column=self.standardize)
        data = self._read(X, reset=is_first)
        n, p = data.shape
        batch = Moments.of(
            data,
            weights_of(sample_weight, n),
            by_column=self.standardize,
            tell=tell,
            columns=column_names(X),
        )
        every = batch if earlier is None else earlier.joined(batch, by_column=self.standardize)
        gone: Any = Forgotten((every.rows,))
        self._stream, known = every, self._drift
        self._note(X, gone, p)
        self._names, self._columns = None, names or self._columns
        table = self._standardised(every.table(Forgotten((every.rows, p)), gone))
        self._keep(table, self._count(min(every.rows, p)), every.total)
        if before is not None:
            turned = drift_of(before, self._axes.unsigned, batch.scaled(table), n)
            known = (*known, turned)
        self._drift = known
        return self

    @property
    def drift_(self) -> tuple[Drift, ...]:
        """How far each batch of a stream turned the axes, from the second one on."""
        check_is_fitted(self)
        return drift_told(self._stream, self._drift)

    def _active_count(self) -> int:
        return super()._active_count() if self._stream is None else self._stream.active

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Return a table of any numeric type, in memory or on disk, or a sparse matrix by rows."""
        given = stay_there(X, held_elsewhere)
        X = matrix_of(given)
        if sparse.issparse(X):
            data = sparse_rows(X)
        elif lies_on_disk(X):
            is_near = not hasattr(X, "over_parts")
            data = rows_on_disk(X, is_checked=reset and is_near)  # by the first pass over it
        else:
            data = numbers_of(X)
        register(self, given, data, reset=reset)
        return data

    def _count(self, side: int) -> int:
        asked = axes_asked(self.n_components)
        return min(asked, side) if isinstance(asked, int) else side

    def _standardised(self, table: CentredTable) -> CentredTable:
        """Return the table with the factors of its columns, and note them."""
        m = self._column_weights(len(table.centre))
        deviations = np.sqrt(table.variances)
        is_constant = deviations <= ENTRY_ROUNDING * table.largest
        divisors = np.where(is_constant | (not self.standardize), 1.0, deviations)
        factors = np.sqrt(m) / divisors
        if self.standardize and np.any(is_constant):
            self._exclude([self._columns[j] for j in np.flatnonzero(is_constant)])
            factors[is_constant] = 0.0
        self.mean_ = table.centre * table.units
        self.scale_ = divisors * table.units if self.standardize else divisors
        self._metric = m
        self._deviations = np.where(is_constant, 0.0, deviations / divisors)
        return table.scaled(factors)

    def _exclude(self, names: list[str]) -> None:
        message = f"these columns are constant and cannot be standardised: {first_names(names)}"
        if self.constant_columns == "error":
            raise InvalidInput(f"{message}. Remove them, or exclude them by constant_columns")
        warn(f"{message}; they are left out", ConstantColumns)

    def _column_weights(self, p: int) -> Array:
        if self.column_weight is None:
            return np.ones(p)
        m = real_array(self.column_weight, "column_weight")
        if m.shape != (p,) or np.any(m <= 0):
            raise InvalidParameter(
                f"column_weight must hold {p} positive numbers, found {self.column_weight!r}; "
                "variables without weight are for supplementary(variables=...)"
            )
        return m

    def _keep(self, table: CentredTable, count: int, total: float) -> None:
        has_rows = self._stream is None and not getattr(table, "is_elsewhere", False)
        if has_rows:
            spectrum = leading(table, count, limits=self.limits)
        else:
            spectrum = from_covariances(table, count, self.limits)
        kept = int(np.sum(spectrum.values > spectrum.threshold))
        asked = axes_asked(self.n_components)
        if isinstance(asked, float) and kept:
            kept = axes_reaching(spectrum.values[:kept], spectrum.trace, asked)
        self.spectrum_, self._total = spectrum, total
        # Standardised columns have no unit; else all columns have one, which inertias carry.
        self._unit = 1.0 if self.standardize else float(table.units[0])
        made = Oriented if self._stream is None else ByLoadings
        self._axes = made(replace(table, tell=None), spectrum, kept)
        self._n_features_out = self.n_components_ = kept

    @property
    def X_fit_(self) -> Any:  # noqa: N802  (scikit-learn's name)
        check_is_fitted(self)
        return self._axes.table.values

    @property
    def _axis_inertias(self) -> Array:
        return self._axes.values

    @property
    def _whole(self) -> float:
        spectrum = self.spectrum_
        return spectrum.trace if spectrum.values[0] > spectrum.threshold else 0.0

    @property
    def singular_values_(self) -> Array:
        """The norms of the scores, each row counted by its weight as given."""
        check_is_fitted(self)
        return self._unit * np.sqrt(self._total * self._axis_inertias)

    @property
    def noise_variance_(self) -> float:
        """The mean variance of the axes that were left out, as in scikit-learn."""
        check_is_fitted(self)
        kept = len(self._axis_inertias)
        rest = min(self._axes.table.shape) - kept
        return self._unbiased * float(self._in_units(self._left_out(kept))) / rest if rest else 0.0

    @property
    def generalised_variance_(self) -> float:
        """The determinant of the covariances: the product of the inertias of all axes."""
        check_is_fitted(self)
        p = self._axes.table.shape[1]
        if self.spectrum_.rank is None or len(self._axis_inertias) < self.spectrum_.rank:
            every = Advice("n_components", None)
            raise NotAvailable(f"the generalised variance needs all axes: {every}", every)
        return float(np.prod(self.inertias_)) if len(self._axis_inertias) == p else 0.0

    def _left_out(self, count: int) -> float:
        """Return the inertia beyond some axes in units squared, from the axes if all are known."""
        if self.spectrum_.rank is not None and self.spectrum_.rank == len(self._axis_inertias):
            return float(self._axis_inertias[count:].sum())
        return max(self._whole - float(self._axis_inertias[:count].sum()), 0.0)

    def reconstruction_error(self, n_components: int | None = None) -> float:
        r"""Return the distance of the data from what some axes rebuild of them.

        .. math:: \|X - \hat X\|_F = \sqrt{\textstyle\sum_{j > p} \sigma_j^2}

        with the singular values of the centred table; rows count by their weights as given.

        >>> import mercer as mc
        >>> x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
        >>> mc.PCA().fit(x).reconstruction_error(1)
        1.0

        Beeny, (26) and (27).
        """
        check_is_fitted(self)
        kept = len(self._axis_inertias)
        count = kept if n_components is None else whole(n_components, "n_components")
        if count > kept:
            raise InvalidParameter(f"there are {kept} axes, not {count}")
        return self._unit * float(np.sqrt(self._total * self._left_out(count)))

    @kept
    def components_(self) -> Array:
        """The axes as rows; their signs are found from the data."""
        check_is_fitted(self)
        return self._axes.vectors.T

    def _scores(self) -> tuple[Array, Array]:
        check_is_fitted(self)
        scores, squares = self._axes.scores
        return (scores if self._unit == 1.0 else scores * self._unit), squares

    def slopes_at(self, points: Any, count: int) -> tuple[Any, Array]:
        """Return points as they are read, or those of the fit, and the slopes of axes there.

        Those of linear axes are the same everywhere.
        """
        x = self.X_fit_ if points is None else self._read(points, reset=False)
        table = self._axes.table
        slopes: Array = self._unit * (table.factors / table.units)[:, None] * self._axes.vectors
        return x, np.broadcast_to(slopes[:, :count], (*x.shape, count))

    def _project(self, X: Any) -> tuple[Array, Array]:
        data = self._read(X, reset=False)
        if not sparse.issparse(data) and not lies_on_disk(data):
            refuse_non_finite(data, "X", columns=column_names(X))
        table = self._axes.table
        if sparse.issparse(data) == isinstance(table, DenseTable):
            data = data.toarray() if hasattr(data, "toarray") else sparse_rows(np.asarray(data[:]))
        with np.errstate(over="ignore", invalid="ignore"):  # `_passive` refuses what overflows
            scores, squares = table.like(data).product(self._axes.vectors)
        return self._unit * scores, squares

    def transform(self, X: Any) -> Array:
        """Return the coordinates of individuals."""
        check_is_fitted(self)
        return in_dtype_of(X, self._project(X)[0])

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        progress: bool | Progress | None = None,
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> Array:
        """Fit, and return the coordinates of the same individuals."""
        self.fit(X, y, sample_weight=sample_weight, progress=progress)
        return in_dtype_of(X, self._scores()[0].copy())

    def inverse_transform(self, X: Any) -> Array:
        """Return the rows that the coordinates X stand for, on the axes kept.

        >>> import mercer as mc
        >>> x = np.array([[0.0, 0.0], [2.0, 1.0], [4.0, 2.0]])
        >>> model = mc.PCA(1).fit(x)
        >>> np.allclose(model.inverse_transform(model.transform(x)), x)
        True
        """
        check_is_fitted(self)
        scores = numbers_of(X, "the coordinates") if self._n_features_out else np.asarray(X)
        if scores.ndim != 2 or scores.shape[1] != self._n_features_out:
            raise InvalidInput(
                f"coordinates on {self._n_features_out} axes are needed, found shape {scores.shape}"
            )
        table = self._axes.table
        used = table.factors > 0
        back = np.where(used, table.units / np.where(used, table.factors, 1.0), 0.0)
        rows: Array = (scores / self._unit) @ (self._axes.vectors.T * back) + self.mean_
        return in_dtype_of(X, rows)

    @kept
    def variables_(self) -> Variables:
        """The variables: coordinates, correlations, cos2, contributions."""
        check_is_fitted(self)
        used = self._axes.table.factors > 0
        warn_constant([c for c, s in zip(self._columns, self._deviations, strict=True) if s == 0])
        roots = np.sqrt(self._metric)[:, None]
        coordinates = np.where(used[:, None], self._axes.vectors / roots, 0.0)
        coordinates = coordinates * np.sqrt(self._axis_inertias)
        s = np.where(self._deviations > 0, self._deviations, np.nan)[:, None]
        return Variables(
            np.clip(coordinates / s, -1.0, 1.0),
            self._columns,
            self._axis_inertias,
            self._unit * self._deviations,
            self._metric,
            self._library,
            self._unit,
        )

    def _analysed(self, deviations: Array) -> Array:
        return np.where(deviations > 0, 1.0, 0.0) if self.standardize else deviations

    def _passive(self, X: Any, squares: Any) -> tuple[Array, Array | None]:
        scores, distances = self._project(X)
        if not np.all(np.isfinite(distances)):
            i = int(np.argmin(np.isfinite(distances)))
            raise InvalidInput(
                f"individual {i} is so far from the others that its squared distance to them is no "
                "double precision number; `transform` has its coordinates"
            )
        return scores, distances

    def _squares_of(self, shares_of: Array) -> Array:
        squares: Array = np.sum(self._axes.table.adjoint(shares_of) ** 2, axis=0)
        return np.where(squares <= noise_of(self._axes.table), 0.0, squares)

    def inner_products(self, vectors: Array) -> Array:
        """Return B V for the inner products B = ZZᵀ of the rows of the centred table."""
        check_is_fitted(self)
        table = self._axes.table
        return table.product(table.adjoint(vectors))[0]

    def _refit(self, weights: Array) -> PCA:
        model: PCA = clone(self)
        model.fit(self._axes.table.values, sample_weight=weights)
        self._name_alike(model)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = True
        return tags
