"""Individuals as points about their barycentre: of a model, of distances, of a kernel, of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.check import Array, chunks, refuse_non_finite, worst_asymmetry
from mercer.compare.sides import shift_gram, side
from mercer.data.frames import row_names
from mercer.data.matrices import ASYMMETRY, SquareMatrix
from mercer.errors import InvalidParameter
from mercer.estimator import column_names, numbers_of, require_fit
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.dissimilarities import distances
from mercer.mds.distances import checked_distances, unit_of
from mercer.points import matrix_of
from mercer.reading.scores import Scores
from mercer.settings import whole

PANEL = 2**20
"""Squared distances that are in memory at a time."""


@dataclass(frozen=True, eq=False)
class Cloud:
    r"""Individuals with weights, known by their inner products about their barycentre.

    .. math:: B_{ij} = \langle \varphi_i - \mu, \varphi_j - \mu \rangle, \quad
        \mu = \sum_i w_i \varphi_i, \quad \textstyle\sum_i w_i = 1

    ``product`` multiplies B by a block of vectors and ``squares`` are its diagonal, both in the
    square of ``unit``. ``rows`` are the places of the individuals, which all have a weight, among
    the ``count`` that were given. Of distances that are not Euclidean B has negative eigenvalues.

    >>> line = Cloud.of_rows(np.array([[0.0], [3.0]]))
    >>> line.squares, line.product(np.array([[1.0], [-1.0]])).ravel()
    (array([2.25, 2.25]), array([ 4.5, -4.5]))
    """

    weights: Array
    squares: Array
    product: Callable[[Array], Array]
    rows: Array
    count: int
    unit: float = 1.0
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, given: Any, axes: int | None = None, metric: str | None = None) -> Cloud:
        """Read a fitted model, distances, a Gram matrix, or rows, whose distances have a name."""
        if hasattr(given, "fit"):
            if metric is not None:
                raise InvalidParameter("metric= is for rows; a fitted model has its own distances")
            return cls._of_model(given, axes)
        if axes is not None:
            raise InvalidParameter(
                "axes= is for fitted models: distances, Gram matrices and rows are taken whole"
            )
        if metric is not None:
            return cls.of(distances(given, metric))
        if isinstance(given, Gram) or (isinstance(given, tuple) and _has_kernel(given)):
            return cls.of_gram(side(given, None, "individuals"))
        if isinstance(given, SquareMatrix):
            names, matrix = given.names, np.asarray(given)
            found = cls.of_distances(matrix) if given.is_distance else cls._of_matrix(matrix)
            return found.named(names)
        x = numbers_of(matrix_of(given), "individuals")
        if _is_square(x):
            has_distances = not np.any(np.diag(x)) and float(x.min()) >= 0.0
            found = cls.of_distances(given) if has_distances else cls._of_matrix(x)
        else:
            refuse_non_finite(x, "individuals", columns=column_names(given))
            found = cls.of_rows(x.astype(np.float64, copy=False))
        return found.named(row_names(given))

    @classmethod
    def _of_model(cls, model: Any, axes: int | None) -> Cloud:
        """Read the whole space of a model, or its coordinates on the first axes.

        Of an approximation, made where a pass over all pairs costs too much, its axes are read.
        """
        require_fit(model)
        is_approximate = getattr(getattr(model, "spectrum_", None), "is_approximate", False)
        if axes is None and hasattr(model, "inner_products") and not is_approximate:
            found = model.individuals_
            rows = np.flatnonzero(found.weights > 0)
            weights = found.weights[rows]

            def product(V: Array) -> Array:
                whole_block = np.zeros((len(found.weights), V.shape[1]))
                whole_block[rows] = V
                return np.asarray(np.real(model.inner_products(whole_block))[rows])

            squares = np.asarray(found.squared_distances)[rows]
            count = len(found.weights)
            cloud = cls(weights, squares, product, rows, count, found.unit)
            return cloud.named(found.names)
        scores = Scores.of(model)
        kept = scores.coordinates.shape[1]
        used = kept if axes is None else whole(axes, "axes", least=1)
        if used > kept:
            raise InvalidParameter(f"the model has {kept} axes, not {used}")
        F = scores.coordinates[:, :used] / scores.unit
        cloud = cls.of_rows(F, scores.weights, scores.unit)
        return cloud.named(getattr(getattr(model, "individuals_", None), "names", None))

    @classmethod
    def of_rows(cls, x: Array, weights: Array | None = None, unit: float | None = None) -> Cloud:
        """Return rows of numbers, whose distances are Euclidean."""
        if unit is None:
            unit = unit_of(float(np.max(np.abs(x), initial=0.0)))
            x = x / unit
        w = np.full(len(x), 1.0 / len(x)) if weights is None else weights
        rows = np.flatnonzero(w > 0)
        w = w[rows]
        F = x[rows] - w @ x[rows]
        F = F - w @ F  # what rounding left of the mean
        squares = np.einsum("ij,ij->i", F, F)
        return cls(w, squares, lambda V: F @ (F.T @ V), rows, len(x), unit)

    @classmethod
    def of_distances(cls, given: Any) -> Cloud:
        r"""Return individuals with given distances: B = -½H(d²)Hᵀ."""
        d = checked_distances(given)
        n, unit = len(d), unit_of(float(np.max(d, initial=0.0)))

        def product(V: Array) -> Array:
            panels = chunks(n, max(1, PANEL // n))
            return np.vstack([-0.5 * ((d[rows] / unit) ** 2 @ V) for rows in panels])

        return cls._about_barycentre(product, np.zeros(n), unit)

    @classmethod
    def of_gram(cls, gram: Gram) -> Cloud:
        """Return the individuals of a Gram matrix, of which only tiles exist."""
        n = gram.shape[0]
        gram = shift_gram(gram, np.full(n, 1.0 / n))
        return cls._about_barycentre(lambda V: np.real(gram.product(V)), gram.diag(), 1.0)

    @classmethod
    def _of_matrix(cls, K: Array) -> Cloud:
        refuse_non_finite(K, "individuals")
        return cls.of_gram(side(K, None, "individuals"))

    @classmethod
    def _about_barycentre(
        cls, product: Callable[[Array], Array], diagonal: Array, unit: float
    ) -> Cloud:
        """Return B = HKHᵀ for a matrix K that is known by its products and its diagonal."""
        n = len(diagonal)
        w = np.full(n, 1.0 / n)
        means = product(w[:, None])[:, 0]
        squares = diagonal - 2.0 * means + float(w @ means)

        def centred(V: Array) -> Array:
            z = product(V - w[:, None] * V.sum(axis=0))
            return np.asarray(z - w @ z)

        return cls(w, squares, centred, np.arange(n), n, unit)

    def named(self, names: tuple[str, ...] | None) -> Cloud:
        """Return the same individuals with their names, those of all that were given."""
        kept = None if names is None else tuple(names[i] for i in self.rows)
        return Cloud(
            self.weights, self.squares, self.product, self.rows, self.count, self.unit, kept
        )

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def masses(self) -> Array:
        """The weights, as counts of individuals: 1 for each where they weigh alike."""
        return self.weights * len(self)

    @property
    def total(self) -> float:
        """The sum of squared distances to the barycentre, each counted by its mass."""
        return float(self.masses @ self.squares)


def _has_kernel(pair: tuple[Any, ...]) -> bool:
    return len(pair) == 2 and isinstance(pair[0], Kernel | str)


def _is_square(x: Array) -> bool:
    """Whether rows of numbers are a symmetric matrix, up to what printed digits leave of it."""
    is_square = x.ndim == 2 and x.shape[0] == x.shape[1] > 1 and bool(np.all(np.isfinite(x)))
    return is_square and worst_asymmetry(x.astype(np.float64))[0] <= ASYMMETRY
