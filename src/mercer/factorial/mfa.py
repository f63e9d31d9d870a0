"""Multiple factor analysis: groups of columns, none of which decides the first axis alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array
from mercer.data.frames import as_frame, rows
from mercer.display import Shown, kept
from mercer.errors import InvalidInput, InvalidParameter
from mercer.factorial.column_kernels import features_of, is_categorical, kernels_of
from mercer.factorial.mca_famd import TablePCA, sum_of
from mercer.kernels.base import Kernel
from mercer.kernels.tables import Columns
from mercer.points import Rows, read_only
from mercer.reading.contributions_and_v_tests import tidy_columns


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Shown):
    r"""Groups of columns on the axes, and what any two of them have in common.

    .. math:: L_g(A, B) = \frac{\operatorname{tr}(K_A K_B)}{\lambda_1(A)\, \lambda_1(B)}, \quad
        \mathrm{RV}(A, B) = \frac{L_g(A, B)}{\sqrt{L_g(A, A)\, L_g(B, B)}}

    with the centred, weighted Gram matrices of groups and their largest eigenvalues.
    ``coordinates`` are L between a group and an axis, between 0 and 1; ``cos2`` their square over
    L(A, A). ``similarities`` holds L and ``rv`` RV between the groups, in the order of ``names``,
    and between them and the analysis as a whole, which is last. Supplementary groups contribute
    nothing.
    """

    facts: ClassVar[dict[str, str]] = {
        "names": "of the groups",
        "coordinates": "groups by axes, between 0 and 1",
        "first_inertias": "of the groups alone, by which they are divided",
    }

    coordinates: Array
    names: tuple[str, ...]
    is_active: Array
    first_inertias: Array
    similarities: Array
    inertias: Array
    library: str | None = None

    def __len__(self) -> int:
        return len(self.names)

    def _title(self) -> str:
        return f"Groups: {len(self)} on {self.coordinates.shape[1]} axes"

    @property
    def cos2(self) -> Array:
        """How well each axis shows each group."""
        return read_only(self.coordinates**2 / np.diag(self.similarities)[: len(self), None])

    @property
    def contributions(self) -> Array:
        """The share of each active group in the inertia of each axis."""
        return read_only(np.where(self.is_active[:, None], self.coordinates / self.inertias, 0.0))

    @property
    def rv(self) -> Array:
        """The RV coefficients of the groups and of the analysis, between 0 and 1."""
        sizes = np.sqrt(np.diag(self.similarities))
        return read_only(self.similarities / np.outer(sizes, sizes))

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each group and axis."""
        values = {
            "coordinate": self.coordinates,
            "cos2": self.cos2,
            "contribution": self.contributions,
        }
        labels = np.array(self.names, dtype=object)
        return as_frame(tidy_columns("group", labels, values), library or self.library)


class MFA(TablePCA):
    r"""Multiple factor analysis of a table whose columns form groups.

    .. math:: k(x, y) = \sum_g \frac{k_g(x, y)}{\lambda_1(g)}

    :math:`k_g` is the kernel of standardised PCA on a group of numbers and that of multiple
    correspondence analysis on a group of categories, each divided by the largest inertia that the
    group has alone. Of one group it is that analysis with inertias divided by the first.

    Parameters
    ----------
    n_components : int, float or None
        How many axes; None for all, a number below 1 for a share of the inertia.
    groups : mapping from names to lists of columns
        Each group holds numbers only or categories only.
    supplementary_groups : names of groups
        Groups that are placed among the others and do not help to find the axes.
    unscaled : names of groups
        Groups whose numbers keep their units; others are divided by their standard deviations.
    missing : {"error", "level"}
        What becomes of a missing category: an error, or a level of its own.

    Attributes
    ----------
    individuals_, variables_, categories_, links_ : as in `FAMD`
    partial_ : the individuals as each active group sees them, by its name: the mean of all is
        where they are
    groups_ : the groups: coordinates, contributions, cos2, RV
    kernel_ : the kernel, its parameters found

    Examples
    --------
    >>> import mercer as mc
    >>> table = {"a": [1.0, 2.0, 3.0, 5.0], "b": [2.0, 1.0, 4.0, 3.0], "c": [0.0, 1.0, 1.0, 0.0]}
    >>> model = mc.MFA(groups={"first": ["a", "b"], "second": ["c"]}).fit(table)
    >>> model.groups_.first_inertias.round(4)
    array([1.5292, 1.    ])
    >>> np.allclose(sum(model.partial_.values()) / 2, model.individuals_.coordinates)
    True

    Escofier & Pagès, Computational Statistics & Data Analysis 18 (1994) 121-140.
    """

    def __init__(
        self,
        n_components: float | None = None,
        *,
        groups: Mapping[str, Sequence[str]] | None = None,
        supplementary_groups: Collection[str] = (),
        unscaled: Collection[str] = (),
        missing: str = "error",
    ) -> None:
        self.n_components = n_components
        self.groups = groups
        self.supplementary_groups = supplementary_groups
        self.unscaled = unscaled
        self.missing = missing

    def _members(self, columns: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the columns of each group, once they are known to be in the table and apart."""
        if not isinstance(self.groups, Mapping) or not self.groups:
            raise InvalidParameter(
                "groups must map names to lists of columns, such as "
                f"groups={{'taste': ['sweet', 'sour'], ...}}, found {self.groups!r}"
            )
        seen: dict[str, str] = {}
        for group, names in self.groups.items():
            if isinstance(names, str) or len(names) == 0:
                raise InvalidParameter(
                    f"group {group!r} must be a list of columns, found {names!r}"
                )
            for name in names:
                if name not in columns:
                    raise InvalidInput(
                        f"group {group!r} names the column {name!r}, which X has not"
                    )
                if name in seen:
                    raise InvalidParameter(
                        f"column {name!r} is in the groups {seen[name]!r} and {group!r}; a column "
                        "belongs to one"
                    )
                seen[name] = group
        for asked in ("supplementary_groups", "unscaled"):
            if isinstance(getattr(self, asked), str):
                raise InvalidParameter(f"{asked} must be a list of names, found a single text")
            strange = set(getattr(self, asked)) - set(self.groups)
            if strange:
                raise InvalidParameter(f"{asked} names {min(strange)!r}, which is no group")
        if set(self.groups) <= set(self.supplementary_groups):
            raise InvalidParameter("at least one group must be active")
        return {group: tuple(names) for group, names in self.groups.items()}

    def _used(self, X: Any) -> Collection[str]:
        return [name for names in self._members(rows(X).columns).values() for name in names]

    def _stated_kernel(self, points: Rows, weights: Array) -> Kernel:
        self._of_groups = {}
        for group, names in self._members(points.columns).items():
            part = Rows({name: points.column(name) for name in names})
            if len({is_categorical(column) for column in part.columns.values()}) > 1:
                raise InvalidInput(
                    f"group {group!r} holds numbers and categories; make two groups of it"
                )
            kernel = sum_of(kernels_of(part, weights, is_standardised=group not in self.unscaled))
            first = _first_inertia(_centred(features_of(kernel, part), weights))
            if not (0.0 < first < np.inf):
                raise InvalidInput(
                    f"group {group!r} has the inertia {first:g}: its columns are constant, or too "
                    "large or small to square; leave it out, or rescale it"
                )
            self._of_groups[group] = (kernel, first)
        active = [g for g in self._of_groups if g not in set(self.supplementary_groups)]
        columns: dict[str, Kernel] = {}
        factors: list[float] = []
        for kernel, first in (self._of_groups[group] for group in active):
            columns |= kernel.children()
            factors += [weight / first for weight in kernel.numbers]
        return Columns(columns, weights=factors)

    @kept
    def partial_(self) -> dict[str, Array]:
        """The individuals as each active group alone would place them, times the groups."""
        check_is_fitted(self)
        features = features_of(self.kernel_, self.X_fit_)
        away = features - self.weights_ @ features
        parts = self._places
        active = [g for g in self._of_groups if g not in set(self.supplementary_groups)]
        found = {}
        for group in active:
            of_group = [parts[name] for name in self._of_groups[group][0].children()]
            places = np.r_[tuple(of_group)]
            found[group] = read_only(len(active) * away[:, places] @ self._loadings[places])
        return found

    @kept
    def groups_(self) -> Groups:
        """The groups: coordinates, contributions, cos2, similarities."""
        check_is_fitted(self)
        blocks = [
            _centred(features_of(kernel, self.X_fit_), self.weights_) / np.sqrt(first)
            for kernel, first in self._of_groups.values()
        ]
        whole = _centred(features_of(self.kernel_, self.X_fit_), self.weights_)
        axes = np.sqrt(self.weights_)[:, None] * self.individuals_.coordinates
        axes = axes / np.sqrt(self.inertias_)
        everything = [*blocks, whole / np.sqrt(self.inertias_[0])]
        similarities = [[float(np.sum((a.T @ b) ** 2)) for b in everything] for a in everything]
        return Groups(
            np.vstack([np.sum((block.T @ axes) ** 2, axis=0) for block in blocks]),
            tuple(self._of_groups),
            np.array([g not in set(self.supplementary_groups) for g in self._of_groups]),
            np.array([first for _, first in self._of_groups.values()]),
            np.array(similarities),
            self.inertias_,
            self._library,
        )


def _centred(features: Array, weights: Array) -> Array:
    """Return W^½(Φ - 1μᵀ), the inner products of whose columns are covariances."""
    away = features - weights @ features
    return np.asarray(np.sqrt(weights)[:, None] * away)


def _first_inertia(block: Array) -> float:
    """Return the largest inertia of a group alone.

    >>> _first_inertia(np.array([[1.0, 0.0], [0.0, 2.0]]))
    4.0
    """
    return float(np.linalg.norm(block, 2)) ** 2
