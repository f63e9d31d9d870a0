"""The axes of a table with their signs, which its scores decide."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidInput
from mercer.estimator import pieces
from mercer.pca.centred_tables import Table, noise_of
from mercer.spectrum import Spectrum, signs

CHANGED = 1e-6
"""Scores whose mean or variance is off by more, relatively, are not those of the data fitted."""


class Oriented:
    """The axes of a table with their signs, which take a pass over it, found when first asked for.

    The largest score of an axis decides its sign, so that all scores must be seen once.
    """

    def __init__(self, table: Table, spectrum: Spectrum, kept: int) -> None:
        self.table = table
        self.values, self.unsigned = spectrum.values[:kept], spectrum.vectors[:, :kept]

    @cached_property
    def vectors(self) -> Array:
        """The axes, as columns."""
        if "scores" in vars(self):
            return self.unsigned * self._signs
        axes = self.table.factors[:, None] * self.unsigned
        rows = pieces(self.table.shape)
        return self.unsigned * self._decided((self.table.centred(r) @ axes, r) for r in rows)

    @cached_property
    def scores(self) -> tuple[Array, Array]:
        """The coordinates of the individuals, and their squared distances to the barycentre."""
        scores, squares = self.table.product(self.unsigned)
        self._refuse_changed(scores)
        self._signs = self._decided((scores[r], r) for r in pieces(self.table.shape))
        scores *= self._signs
        return scores, np.where(squares <= noise_of(self.table), 0.0, squares)

    def _decided(self, parts: Iterable[tuple[Array, slice]]) -> Array:
        """Return the signs by the largest score in each part, then the largest of those."""
        largest = []
        for scores, rows in parts:
            active = scores[self.table.weights[rows] > 0]
            largest.append(signs(active) * np.abs(active).max(axis=0, initial=0.0))
        return signs(np.array(largest))

    def _refuse_changed(self, scores: Array) -> None:
        """Refuse data that were written to since the fit: their scores are no longer centred."""
        if not len(self.values):
            return
        size = np.sqrt(self.values[0])
        allowed = CHANGED + np.sqrt(noise_of(self.table)) / size
        mean = np.abs(self.table.weights @ scores).max() / size
        variance = self.table.weights @ (scores[:, 0] / size) ** 2
        if mean > allowed or abs(variance - 1.0) > allowed:
            raise InvalidInput(
                "the data given to fit have been changed since; fit a copy of them, or fit again"
            )
