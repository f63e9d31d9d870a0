"""What permutations say of the importance of variables, as a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data.tidy import as_frame, frozen
from mercer.display import Shown
from mercer.reading.links import called, listing, percent, short

NAMED = 5
"""Variables that a sentence names before it only counts."""

LEVEL = 0.05
"""The p-value up to which a sentence names a variable."""

ROUNDING = 1e-9
"""A loss below this is none."""


@dataclass(frozen=True, eq=False, repr=False)
class Importance(Shown):
    """What the leading axes owe to each variable, or group of variables.

    ``shares[g, r]`` is the share of the inertia that the axes explain after the r-th permutation
    of the group g, ``share`` the one observed, and ``distances[g, r]`` how far the space of the
    axes moved, from 0 to 1. ``p_values`` are those of `permutation_importance`. ``landmarks``
    counts the individuals that kernel matrices were reduced to, None where they were not, and
    ``approximation`` is the distance of the observed axes thus found from the model's.

    >>> shares, distances = np.array([[0.5, 0.6]]), np.array([[0.2, 0.4]])
    >>> found = Importance(("x",), 2, 0.7, shares, distances, np.array([1 / 3]), 0)
    >>> found.importances.round(9), found.errors.round(9), found.movements.round(9)
    (array([0.15]), array([0.05]), array([0.3]))
    """

    names: tuple[str, ...]
    axes: int
    share: float
    shares: Array
    distances: Array
    p_values: Array
    seed: int
    landmarks: int | None = None
    approximation: float = 0.0
    library: str | None = None

    def __len__(self) -> int:
        return len(self.names)

    def _title(self) -> str:
        groups, permutations = self.shares.shape
        return f"Importance: {groups} variables or groups, {permutations} permutations of each"

    def _shown(self) -> Iterator[tuple[str, str, str]]:
        for g in self.order:
            value, error, p = self.importances[g], self.errors[g], self.p_values[g]
            yield self.names[g], f"{value:.3g} ± {error:.1g}", f"p = {p:.3g}"

    @cached_property
    def importances(self) -> Array:
        """The mean share of the inertia that the axes lose; negative if they gain."""
        return frozen(self.share - self.shares.mean(axis=1))

    @cached_property
    def errors(self) -> Array:
        """The standard errors of the importances, over permutations."""
        return frozen(_error(self.shares))

    @cached_property
    def movements(self) -> Array:
        """The mean distance that the axes move, from 0 (not at all) to 1 (at right angles)."""
        return frozen(self.distances.mean(axis=1))

    @cached_property
    def movement_errors(self) -> Array:
        """The standard errors of the movements."""
        return frozen(_error(self.distances))

    @cached_property
    def order(self) -> Array:
        """The rows from the most to the least important."""
        return frozen(np.argsort(-self.importances, kind="stable"))

    def columns(self) -> dict[str, Array]:
        """Return the columns of `table`."""
        rows = self.order
        return {
            "variable": np.array(self.names, dtype=object)[rows],
            "importance": self.importances[rows],
            "error": self.errors[rows],
            "p_value": self.p_values[rows],
            "movement": self.movements[rows],
            "movement_error": self.movement_errors[rows],
        }

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each variable or group, the most important first."""
        return as_frame(self.columns(), library or self.library)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What a person reads of it."""
        first, it = ("The first axis explains", "it")
        if self.axes > 1:
            first, it = f"The first {self.axes} axes explain", "them"
        explained = f"{first} {percent(self.share)} of the inertia."
        found = [f"{explained} {self._on_losses(it)}", self._on_tests()]
        if self.landmarks is not None:
            found.append(
                f"Computed on {self.landmarks} individuals as landmarks, which moves the axes by "
                f"{short(self.approximation)}."
            )
        return tuple(found)

    def _on_losses(self, it: str) -> str:
        losing = [g for g in self.order if self.importances[g] > ROUNDING]
        if not losing:
            return f"Shuffling the values of no variable costs {it} anything."
        words = [f"{called(self.names[g])} ({percent(self.importances[g])})" for g in losing]
        words[0] = f"{words[0][:-1]} of the inertia)"
        return f"Shuffling the values of one variable costs {it} most for {listing(words, NAMED)}."

    def _on_tests(self) -> str:
        permutations = self.shares.shape[1]
        if permutations + 1 < 1.0 / LEVEL:
            return (
                f"{permutations} permutations are too few to find links beyond chance at "
                f"p ≤ {LEVEL:g}: at least {round(1.0 / LEVEL) - 1} are needed."
            )
        linked = [called(self.names[g]) for g in self.order if self.p_values[g] <= LEVEL]
        return (
            f"Linked with the others beyond chance (p ≤ {LEVEL:g}, each test by itself, "
            f"{permutations} permutations): {listing(linked, NAMED) if linked else 'none'}."
        )

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def _error(values: Array) -> Array:
    count = values.shape[1]
    if count == 1:
        return np.zeros(len(values))
    errors: Array = values.std(axis=1, ddof=1) / np.sqrt(count)
    return errors
