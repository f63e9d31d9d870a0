"""Multiple correspondence analysis, and its mixture with standardised numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown, first_names, kept, warn
from mercer.errors import InvalidInput, NotAvailable, ReadingWarning
from mercer.factorial.column_kernels import (
    FeaturePCA,
    features_of,
    is_categorical,
    kernels_of,
    places_of,
    read,
    unknown_levels,
)
from mercer.kernels.base import Kernel
from mercer.kernels.tables import Columns
from mercer.points import Rows, read_only
from mercer.reading import Categories, Variables
from mercer.reading.contributions_and_v_tests import correlations, tidy_columns


@dataclass(frozen=True, eq=False, repr=False)
class ActiveCategories(Categories):
    """Categories that made the axes: they contribute the squares of their loadings."""

    loadings: Array | None = None

    @property
    def contributions(self) -> Array:
        """The share of each category in the inertia of each axis."""
        if self.loadings is None:
            raise NotAvailable("only active categories contribute to the axes")
        return read_only(self.loadings**2)

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each category and axis."""
        values = {"coordinate": self.coordinates, "cos2": self.cos2, "v_test": self.v_test}
        values["contribution"] = self.contributions
        tidy = tidy_columns("category", np.array(self.levels, dtype=object), values)
        variables = np.repeat(np.array(self.variables_of, dtype=object), self.coordinates.shape[1])
        return as_frame({"variable": variables, **tidy}, library or self.library)

    @classmethod
    def of(cls, found: Categories, loadings: Array) -> ActiveCategories:
        known = {field.name: getattr(found, field.name) for field in fields(Categories)}
        return cls(**known, loadings=loadings)


@dataclass(frozen=True, eq=False, repr=False)
class Links(Shown):
    r"""Columns of a mixed table on the axes: how closely each is linked with each.

    ``coordinates`` are the squared correlation r² of a number and the correlation ratio η² of a
    category with an axis, ``contributions`` the share of the column in its inertia, which is the
    link times the weight of the column. A column of m features
    (1 for a number, levels - 1 for a category) is seen from the origin by
    :math:`\cos^2 = L^2 / m`, L being its link.
    """

    facts: ClassVar[dict[str, str]] = {
        "names": "of the columns",
        "coordinates": "r² of numbers, η² of categories",
    }

    coordinates: Array
    names: tuple[str, ...]
    degrees: Array
    weights: Array
    inertias: Array
    library: str | None = None

    def __len__(self) -> int:
        return len(self.names)

    def _title(self) -> str:
        return f"Links: {len(self)} columns with {self.coordinates.shape[1]} axes"

    @property
    def contributions(self) -> Array:
        """The share of each column in the inertia of each axis; they add up to 1."""
        return read_only(self.weights[:, None] * self.coordinates / self.inertias)

    @property
    def cos2(self) -> Array:
        """How well each axis shows each column."""
        return read_only(self.coordinates**2 / np.maximum(self.degrees, 1)[:, None])

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each column and axis."""
        values = {
            "coordinate": self.coordinates,
            "cos2": self.cos2,
            "contribution": self.contributions,
        }
        labels = np.array(self.names, dtype=object)
        return as_frame(tidy_columns("column", labels, values), library or self.library)


def sum_of(kernels: Mapping[str, tuple[Kernel, float]]) -> Columns:
    """Return the kernel of a table from those of its columns and their weights."""
    columns = {name: kernel for name, (kernel, _) in kernels.items()}
    return Columns(columns, weights=[weight for _, weight in kernels.values()])


class TablePCA(FeaturePCA):
    """The kernel PCA of the rows of a table, whose kernel is a sum over the columns."""

    kernel_: Columns
    _given: Rows
    missing: str = "error"
    are_categories: ClassVar[bool] = False

    def __init__(self, n_components: float | None = None, *, missing: str = "error") -> None:
        self.n_components = n_components
        self.missing = missing

    def _points(self, X: Any, *, reset: bool) -> Rows:
        how: dict[str, Any] = {"are_categories": self.are_categories, "missing": self.missing}
        if reset:
            table = read(X, **how, only=self._used(X))
            self.feature_names_in_ = np.array(list(table.columns), dtype=object)
            self.n_features_in_ = len(table.columns)
            return table
        labelled = [name for name, column in self._given.columns.items() if is_categorical(column)]
        return read(X, **how, only=self.kernel_.children(), labelled=labelled)

    def _used(self, X: Any) -> Collection[str] | None:  # noqa: ARG002  (groups are asked)
        """Return the columns of a table that are analysed, None for all."""
        return None

    def _fitted_features(self) -> Array:
        strange = unknown_levels(self.kernel_, self._given)
        if strange:
            warn(
                "levels that occur only in individuals without weight take no part in the "
                "analysis; these individuals lie at the barycentre in column "
                f"{first_names(list(strange))}",
                ReadingWarning,
            )
        return features_of(self.kernel_, self._given)

    def _stated_kernel(self, points: Rows, weights: Array) -> Kernel:
        return sum_of(kernels_of(points, weights))

    def feature_parts(self) -> tuple[slice, ...]:
        """Return the features of each column of the analysis, in their order."""
        return tuple(self._places.values())

    def fitted_features(self) -> Array:
        """Return the features of the individuals of the fit, one row for each."""
        return self._fitted_features()

    @property
    def _places(self) -> dict[str, slice]:
        """The features of each column of the analysis, by its name."""
        return places_of(self.kernel_)

    def _places_of(self, *, are_labels: bool) -> dict[str, slice]:
        """Return the features of the columns of categories, or of those of numbers."""
        columns = self.X_fit_.columns
        return {n: s for n, s in self._places.items() if is_categorical(columns[n]) == are_labels}

    def _loadings_of(self, parts: dict[str, slice]) -> Array:
        rows = [self._loadings[part] for part in parts.values()]
        return np.vstack(rows) if rows else np.empty((0, len(self.inertias_)))

    @kept
    def categories_(self) -> ActiveCategories:
        """The categories: coordinates, cos2, contributions, v-tests; η² of their columns."""
        check_is_fitted(self)
        parts = self._places_of(are_labels=True)
        if not parts:
            raise NotAvailable("the table has no categories: see variables_")
        columns = {name: np.array(self.X_fit_.columns[name], dtype=object) for name in parts}
        found = self._supplementary_categories(columns)
        return ActiveCategories.of(found, self._loadings_of(parts))

    @kept
    def variables_(self) -> Variables:
        """The columns of numbers: correlations, which are their coordinates, and contributions."""
        check_is_fitted(self)
        parts = self._places_of(are_labels=False)
        if not parts:
            raise NotAvailable("the table has no numbers: see categories_")
        of_columns = dict(zip(self.kernel_.children(), self.kernel_.numbers, strict=True))
        weights = np.array([of_columns[name] for name in parts])
        G = self._loadings_of(parts) * np.sqrt(self.inertias_ / weights[:, None])
        table = np.column_stack([self.X_fit_.columns[name] for name in parts])
        deviations = self._deviations_of(table, parts)
        return Variables(
            np.clip(G / deviations[:, None], -1.0, 1.0),
            tuple(parts),
            self.inertias_,
            deviations,
            weights,
            self._library,
        )

    def _deviations_of(self, table: Array, names: Collection[str]) -> Array:
        """Return the standard deviations of columns of numbers, in the units they are scaled by."""
        scales = [self.kernel_.children()[name].scale[0] for name in names]  # type: ignore[attr-defined]
        _, deviations = correlations(table, self.individuals_.coordinates, self.weights_)
        return np.asarray(deviations / np.array(scales))

    @kept
    def links_(self) -> Links:
        """The columns: squared correlations and correlation ratios with the axes."""
        check_is_fitted(self)
        parts, labelled = self._places, self._places_of(are_labels=True)
        sums = np.vstack([np.sum(self._loadings[part] ** 2, axis=0) for part in parts.values()])
        weights = np.array(self.kernel_.numbers)
        scaled = self._places_of(are_labels=False)
        if scaled:  # a number that keeps its unit weighs by its variance
            table = np.column_stack([self.X_fit_.columns[name] for name in scaled])
            squares = dict(zip(scaled, self._deviations_of(table, scaled) ** 2, strict=True))
            weights = weights * np.array([squares.get(name, 1.0) for name in parts])
        degrees = [part.stop - part.start - (name in labelled) for name, part in parts.items()]
        return Links(
            sums * self.inertias_ / weights[:, None],
            tuple(parts),
            np.array(degrees),
            weights,
            self.inertias_,
            self._library,
        )


class FAMD(TablePCA):
    r"""Factor analysis of mixed data: numbers and categories together, each column alike.

    .. math:: k(x, y) = \sum_j \frac{(x_j - m_j)(y_j - m_j)}{s_j^2}
        + \sum_q \frac{1_{x_q = y_q}}{p_{x_q}}

    with the means m and standard deviations s of numbers and the shares p of categories. Of
    numbers alone it is standardised PCA, of Q columns of categories alone Q times multiple
    correspondence analysis. An axis maximises the sum of squared correlations with the numbers and
    of correlation ratios with the categories.

    Parameters
    ----------
    n_components : int, float or None
        How many axes; None for all, a number below 1 for a share of the inertia.
    missing : {"error", "level"}
        What becomes of a missing category: an error, or a level of its own.

    Attributes
    ----------
    individuals_ : coordinates, cos2, contributions
    variables_ : the numbers: correlations, contributions
    categories_ : barycentres of their members: coordinates, cos2, contributions, v-tests, η²
    links_ : all columns: r² and η² with the axes, and their contributions
    kernel_ : the kernel, its means, deviations and shares found

    Examples
    --------
    >>> import mercer as mc
    >>> table = {"size": [1.0, 2.0, 3.0, 4.0], "kind": ["a", "a", "b", "b"]}
    >>> model = mc.FAMD(1).fit(table)
    >>> model.inertia_, model.inertias_.round(3)
    (2.0, array([1.894]))
    >>> model.links_.coordinates.round(3)
    array([[0.947],
           [0.947]])

    Pagès, Multiple factor analysis by example using R, 2014, chapter 3.
    """

    def _stated_kernel(self, points: Rows, weights: Array) -> Kernel:
        return sum_of({name: (k, 1.0) for name, (k, _) in kernels_of(points, weights).items()})


class MCA(TablePCA):
    r"""Multiple correspondence analysis: individuals and the categories they have.

    .. math:: k(x, y) = \frac{1}{Q} \sum_{q=1}^{Q} \frac{1_{x_q = y_q}}{p_{x_q}}

    with the shares p of categories. It is correspondence analysis of the table of indicators. A
    category lies at the barycentre of its members, drawn out by 1/√λ, at the squared distance
    1/p - 1 from the origin.

    Parameters
    ----------
    n_components : int, float or None
        How many axes; None for all, a number below 1 for a share of the inertia.
    missing : {"error", "level"}
        What becomes of a missing category: an error, or a level of its own.

    Attributes
    ----------
    individuals_ : coordinates, cos2, contributions
    categories_ : coordinates, cos2, contributions, v-tests; η² of the columns
    adjusted_inertias_ : the inertias above 1/Q, corrected for what categories share with themselves
    kernel_ : the kernel, its shares found

    Examples
    --------
    >>> import mercer as mc
    >>> model = mc.MCA().fit({"a": ["x", "x", "y", "y"], "b": ["u", "u", "u", "v"]})
    >>> model.inertias_.round(4), round(model.inertia_, 4)
    (array([0.7887, 0.2113]), 1.0)

    Benzécri, L'analyse des données, 1973; Pagès, Multiple factor analysis by example using R, 2014.
    """

    are_categories: ClassVar[bool] = True

    def _supplementary_categories(self, given: Any) -> Categories:
        """Return categories drawn out by 1/√λ, so that they lie among those of the analysis."""
        found = super()._supplementary_categories(given)
        roots = np.sqrt(self.inertias_)
        return replace(
            found,
            coordinates=found.coordinates / roots,
            squared_distances=np.where(found.weights > 1.0 - 1e-12, 0.0, 1.0 / found.weights - 1.0),
            inertias=np.ones(len(roots)),
            scatters=None if found.scatters is None else found.scatters / self.inertias_,
        )

    @kept
    def adjusted_inertias_(self) -> Array:
        r"""The inertias corrected by Benzécri's rule, of the axes above 1/Q.

        .. math:: \left(\frac{Q}{Q - 1}\right)^2 \left(\lambda - \frac{1}{Q}\right)^2
        """
        check_is_fitted(self)
        Q = int(np.sum(self.links_.degrees > 0))
        if Q < 2:
            raise InvalidInput("one column of categories has no inertia to adjust")
        above = self.inertias_[self.inertias_ > (1.0 + 1e-10) / Q]
        return np.asarray((Q / (Q - 1.0)) ** 2 * (above - 1.0 / Q) ** 2)
