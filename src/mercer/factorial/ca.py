"""Correspondence analysis: rows and columns of a table of counts on the same axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, refuse_non_finite
from mercer.data.frames import as_frame, columns_of, library_of
from mercer.data.table import entry_place
from mercer.display import kept
from mercer.errors import InvalidInput, NotAvailable
from mercer.estimator import numbers_of, register
from mercer.factorial.column_kernels import FeaturePCA
from mercer.kernels.abundances import ChiSquare
from mercer.kernels.base import Kernel
from mercer.points import matrix_of
from mercer.reading import Individuals, Variables
from mercer.reading.contributions_and_v_tests import tidy_columns


@dataclass(frozen=True, eq=False, repr=False)
class Profiles(Individuals):
    """Columns of a table of counts on the axes, read as its rows are: `Individuals`."""

    def _title(self) -> str:
        count, axes = self.coordinates.shape
        return f"Columns: {count} on {axes} axes"

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each column of counts and axis."""
        values = {"coordinate": self.coordinates, "cos2": self.cos2}
        values["contribution"] = self.contributions
        return as_frame(tidy_columns("column", self.labels, values), library or self.library)


class CA(FeaturePCA):
    r"""Correspondence analysis of a table of counts.

    .. math:: k(x, y) = \sum_j \frac{1}{c_j} \frac{x_j}{x_+} \frac{y_j}{y_+}, \quad
        w_i = \frac{x_{i+}}{x_{++}}, \quad c_j = \frac{x_{+j}}{x_{++}}

    It is the kernel PCA of the profiles of rows under `ChiSquare`, each row weighted by its total.
    The inertia is χ² divided by the number of counts. A column lies at the barycentre of the rows
    that hold its counts, drawn out by 1/√λ, and a row likewise at that of its columns.

    Parameters
    ----------
    n_components : int, float or None
        How many axes; None for all, a number below 1 for a share of the inertia.

    Attributes
    ----------
    individuals_, rows_ : the rows: coordinates, cos2, contributions, distances
    columns_ : the columns, in the same words
    inertias_, inertia_ : of each axis, and in total
    weights_ : the masses of the rows; those of the columns are ``columns_.weights``
    kernel_ : the kernel, its margins found

    Examples
    --------
    >>> import mercer as mc
    >>> model = mc.CA().fit([[20, 0, 5], [0, 15, 5], [5, 5, 20]])
    >>> model.inertias_.round(4)
    array([0.6035, 0.1934])
    >>> model.columns_.coordinates.shape
    (3, 2)

    References
    ----------
    Benzécri, L'analyse des données, 1973; Greenacre, Correspondence analysis in practice, 2017.
    """

    has_exchangeable_columns: ClassVar[bool] = False
    kernel_: ChiSquare

    def _points(self, X: Any, *, reset: bool) -> Array:
        table = numbers_of(matrix_of(X)).astype(np.float64)
        refuse_non_finite(table, "X")
        if np.any(table < 0):
            i, j = (int(v) for v in np.argwhere(table < 0)[0])
            raise InvalidInput(
                f"X, {entry_place(X, i, j)} holds {table[i, j]:g}: counts are not negative"
            )
        register(self, X, table, reset=reset)
        return table

    def _individual_weights(self, points: Array, given: Array) -> Array:
        return np.asarray(given * points.sum(axis=1))

    def sample_weights(self, weights: Array) -> Array:
        """Return how often rows are counted: their weights without their totals."""
        totals = self.X_fit_.sum(axis=1)
        return np.asarray(weights / (totals / totals.max()))

    def _keep(self, table: Any, count: int, total: float) -> None:
        super()._keep(table, count, 1.0)  # singular values are those of shares of all counts

    def _stated_kernel(self, points: Array, weights: Array) -> Kernel:
        totals = points.sum(axis=1, keepdims=True)
        margins = weights @ (points / np.where(totals > 0, totals, 1.0))
        empty = np.flatnonzero(margins <= 0)
        if empty.size:
            names = getattr(self, "feature_names_in_", None)
            name = empty[0] if names is None else repr(names[empty[0]])
            raise InvalidInput(
                f"column {name} holds no counts in rows with a weight, and has no margin; leave it "
                "out"
            )
        return ChiSquare(tuple(margins.tolist()))

    @kept
    def rows_(self) -> Individuals:
        """The rows, which are the individuals."""
        return self.individuals_

    @kept
    def columns_(self) -> Profiles:
        """The columns: coordinates, cos2, contributions, distances."""
        check_is_fitted(self)
        c = np.array(self.kernel_.margins)
        features = self.kernel_.features(self.X_fit_)
        away = features - self.weights_ @ features
        return Profiles(
            self._loadings * np.sqrt(self.inertias_) / np.sqrt(c)[:, None],
            self.weights_ @ away**2 / c,
            c,
            self.inertias_,
            self._columns,
            self._library,
        )

    def supplementary_columns(self, X: Any) -> Profiles:
        r"""Place columns of counts that did not help to find the axes.

        .. math:: G_{js} = \frac{1}{\sqrt{\lambda_s}} \sum_i \frac{x_{ij}}{x_{+j}} F_{is}

        ``X`` has one entry for each row of the fit: a data frame, a mapping from names, an array.
        """
        check_is_fitted(self)
        r = self.weights_
        given = columns_of(X, len(r), "columns")
        table = numbers_of(np.column_stack([np.asarray(v) for v in given.values()])).astype(float)
        refuse_non_finite(table, "X")
        counted = self.sample_weights(r)  # how often the rows are
        table = table * (counted / counted.max())[:, None]
        totals = table.sum(axis=0)
        if np.any(table < 0) or np.any(totals <= 0):
            j = int(np.argmax(np.any(table < 0, axis=0) | (totals <= 0)))
            raise InvalidInput(
                f"column {list(given)[j]!r} must hold counts, which are not negative, and not all "
                "0 in rows with a weight"
            )
        profiles = table / totals
        has = r > 0
        away = profiles[has] / r[has, None] - 1.0
        return Profiles(
            profiles.T @ self.individuals_.coordinates / np.sqrt(self.inertias_),
            r[has] @ away**2,
            np.zeros(len(given)),
            self.inertias_,
            tuple(given),
            library_of(X) or self._library,
        )

    @property
    def variables_(self) -> Variables:
        """Refuse: the columns of counts are `columns_`."""
        raise NotAvailable("a table of counts has rows and columns: see columns_")
