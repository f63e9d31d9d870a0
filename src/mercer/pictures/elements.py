"""What stands on axes beside individuals: variables, categories and columns of counts, alike."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.errors import MercerError, NotAvailable, ReadingWarning
from mercer.pictures.scene import Linked
from mercer.reading import Categories, Individuals, Variables

KINDS: dict[Linked, tuple[str, str]] = {
    "variables": ("Variables", "variable"),
    "supplementary variables": ("Supplementary variables", "variable"),
    "categories": ("Categories", "category"),
    "supplementary categories": ("Supplementary categories", "category"),
    "columns": ("Columns", "column"),
}
"""The title of a table of each kind of elements, and what one of them is called."""


@dataclass(frozen=True, eq=False)
class Elements:
    """Elements of one kind: where they lie on each axis, and how they are measured there.

    ``coordinates`` are where they are drawn: the correlations of variables, which are arrows. Each
    of the ``measures`` has a column for each axis; "cos2" says how well an axis shows an element.
    ``read`` is the value that they come from.
    """

    of: Linked
    names: tuple[str, ...]
    coordinates: Array
    measures: Mapping[str, Array]
    read: Any = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def are_arrows(self) -> bool:
        return "variables" in self.of

    @property
    def title(self) -> str:
        return KINDS[self.of][0]

    @property
    def one(self) -> str:
        """What one of them is called."""
        return KINDS[self.of][1]

    def rank(self, axes: tuple[int, ...], most: int) -> Array:
        """Return the elements that two axes, counted from 0, show best: the best first."""
        known = np.asarray(np.isfinite(self.coordinates[:, axes]).all(axis=1))
        shown = np.nan_to_num(self.measures["cos2"][:, axes]).sum(axis=1)
        order = np.argsort(-np.where(known, shown, -1.0), kind="stable")
        return order[known[order]][:most]


def of_variables(found: Variables, of: Linked = "variables") -> Elements:
    """Return variables as elements."""
    measures = {"correlation": found.correlations.real, "cos2": found.cos2}
    if found.weights is not None:
        measures["contrib"] = found.contributions
    return Elements(of, found.names, found.correlations.real, measures, found)


def of_categories(found: Categories, of: Linked = "categories") -> Elements:
    """Return categories as elements; levels of two columns alike are called by both names.

    >>> two = np.zeros((2, 1))
    >>> ones = np.ones(2)
    >>> some = Categories(two, ones, ("yes", "yes"), ("a", "b"), ones, ones / 2, np.ones(1))
    >>> of_categories(some).names
    ('a=yes', 'b=yes')
    """
    levels = list(found.levels)
    pairs = zip(found.variables_of, found.levels, strict=True)
    names = tuple(g if levels.count(g) == 1 else f"{v}={g}" for v, g in pairs)
    measures = {"Dim": found.coordinates, "cos2": found.cos2, "v-test": found.v_test}
    if hasattr(found, "contributions"):
        measures["contrib"] = found.contributions
    return Elements(of, names, found.coordinates, measures)


def of_profiles(found: Individuals) -> Elements:
    """Return the columns of a table of counts as elements."""
    measures = {"Dim": found.coordinates, "cos2": found.cos2, "contrib": found.contributions}
    return Elements("columns", tuple(map(str, found.labels)), found.coordinates, measures)


def elements_of(
    model: Any, numbers: Mapping[str, Array] | None = None, labels: Mapping[str, Any] | None = None
) -> Iterator[Elements]:
    """Yield what a fitted model places on its axes, then supplementary numbers and labels.

    >>> from mercer import PCA, datasets
    >>> [found.of for found in elements_of(PCA().fit(datasets.decathlon()))]
    ['variables']
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)
        for name, read in (
            ("columns_", of_profiles),
            ("variables_", of_variables),
            ("categories_", of_categories),
        ):
            try:
                found = getattr(model, name, None)
                if found is not None:
                    yield read(found)
            except (NotAvailable, MercerError):
                continue
        if not hasattr(model, "supplementary"):
            return
        if numbers:
            passive = model.supplementary(variables=dict(numbers)).variables
            yield of_variables(passive, "supplementary variables")
        if labels:
            beside = model.supplementary(categories=dict(labels)).categories
            yield of_categories(beside, "supplementary categories")
