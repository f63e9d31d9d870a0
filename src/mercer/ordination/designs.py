"""What a permutation test compares: individuals, and what they are explained by.

Individuals are points about their barycentre: of a model, of distances, of a kernel or of rows.
Terms are factors and numbers as orthonormal columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.check import Array, chunks, is_missing, refuse_non_finite, worst_asymmetry
from mercer.compare.sides import shift_gram, side
from mercer.data.frames import columns_of, row_names
from mercer.data.matrices import WRITTEN_ASYMMETRY, SquareMatrix
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import column_names, numbers_of, require_fit
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.dissimilarities import distances
from mercer.mds.distances import checked_distances, unit_of
from mercer.points import matrix_of
from mercer.reading.links import Scores
from mercer.settings import whole

BATCH = 64
"""Permutations that a thread takes at a time."""

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
    return is_square and worst_asymmetry(x.astype(np.float64))[0] <= WRITTEN_ASYMMETRY


ORDERS = ("terms", "margin")
"""How terms are tested: each after those before it, or each after all others."""

DEPENDENT = 1e-9
"""What is left of a column of unit length, below which earlier ones hold it: rounding in n sums."""


def labels_of(values: Array, name: str, rows: Array, what: str = "groups") -> tuple[Array, Any]:
    """Return the groups of individuals as numbers from 0, and their names in this order.

    A missing label is refused by its row.

    >>> labels_of(np.array(["b", "a", "b"], dtype=object), "side", np.arange(3))
    (array([1, 0, 1]), ('a', 'b'))
    """
    for row in rows.tolist():
        if is_missing(values[row]):
            raise InvalidInput(
                f"{what}: {name!r} has no label in row {row}; give the missing ones a level, or "
                "leave the row out"
            )
    measured = [v for v in values[rows].tolist() if isinstance(v, float) and v != round(v)]
    if measured:
        raise InvalidInput(
            f"{what}: {name!r} holds measured numbers such as {measured[0]:g}, and each would be a "
            "group of its own; covariates= of permanova takes numbers"
        )
    levels, codes = np.unique([str(values[row]) for row in rows.tolist()], return_inverse=True)
    return codes, tuple(levels.tolist())


def groups_of(values: Array, name: str, rows: Array) -> tuple[Array, Any]:
    """Return the same of groups that are compared, of which there are at least two."""
    codes, levels = labels_of(values, name, rows)
    if len(levels) < 2:
        raise InvalidInput(
            f"groups: {name!r} is {levels[0]!r} for all individuals; nothing can be compared"
        )
    return codes, levels


def factor_columns(given: Any, count: int) -> dict[str, Array]:
    """Return factors by name; one column alone is called groups."""
    if np.ndim(getattr(given, "values", given)) == 1 and getattr(given, "name", None) is None:
        given = {"groups": getattr(given, "values", given)}
    return columns_of(given, count, "groups")


@dataclass(frozen=True, eq=False)
class Terms:
    """The columns of each term of a design, as they were given: indicators, or numbers."""

    names: tuple[str, ...]
    columns: tuple[Array, ...]

    @classmethod
    def of(cls, cloud: Cloud, groups: Any, covariates: Any) -> Terms:
        """Read covariates, which come first, and factors."""
        found: dict[str, Array] = {}
        if covariates is not None:
            for name, values in columns_of(covariates, cloud.count, "covariates").items():
                if values.dtype.kind not in "iufb":
                    raise InvalidInput(
                        f"covariates: {name!r} holds no numbers; a factor is for groups"
                    )
                numbers = values[cloud.rows].astype(np.float64)
                refuse_non_finite(numbers, f"covariates: {name!r}")
                found[name] = numbers[:, None]
        for name, values in factor_columns(groups, cloud.count).items():
            if name in found:
                raise InvalidInput(f"{name!r} is both a covariate and a factor; rename one")
            codes, levels = groups_of(values, name, cloud.rows)
            found[name] = (codes[:, None] == np.arange(len(levels))).astype(np.float64)
        return cls(tuple(found), tuple(found.values()))

    def basis(self, masses: Array, order: str) -> Basis:
        r"""Return orthonormal columns for each term, orthogonal to those it comes after.

        Columns are multiplied by the roots of the masses, and are orthogonal to these roots: the
        mean of all individuals is no term.
        """
        roots = np.sqrt(masses)[:, None]
        columns = [roots * part for part in self.columns]
        blocks, before = [], roots / np.linalg.norm(roots)
        for part in columns:
            blocks.append(added_basis(part, before))
            before = np.hstack([before, blocks[-1]])
        full = before[:, 1:]
        if order == "margin":
            ones = before[:, :1]
            others = [
                added_basis(np.hstack([c for j, c in enumerate(columns) if j != i]), ones)
                if len(columns) > 1
                else ones[:, :0]
                for i in range(len(columns))
            ]
            blocks = [
                added_basis(part, np.hstack([ones, rest]))
                for part, rest in zip(columns, others, strict=True)
            ]
        return Basis(full, tuple(blocks))


@dataclass(frozen=True, eq=False)
class Basis:
    """Orthonormal columns of all terms together, and of each."""

    full: Array
    blocks: tuple[Array, ...]

    @property
    def columns(self) -> Array:
        """All columns side by side, those of all terms together first."""
        return np.hstack([self.full, *self.blocks])

    @property
    def sizes(self) -> Array:
        """How many columns all terms have together, and each has."""
        return np.array([part.shape[1] for part in (self.full, *self.blocks)])


def added_basis(columns: Array, before: Array) -> Array:
    """Return an orthonormal basis of what columns add to orthonormal ones before them.

    >>> ones = np.full((4, 1), 0.5)
    >>> added_basis(np.array([[1.0], [1.0], [3.0], [3.0]]), ones).ravel()
    array([-0.5, -0.5,  0.5,  0.5])
    """
    sizes = np.linalg.norm(columns, axis=0)
    rest = columns / np.where(sizes > 0, sizes, 1.0)
    for _ in range(2):  # the second time removes what rounding left
        rest = rest - before @ (before.T @ rest)
    left, values, _ = np.linalg.svd(rest, full_matrices=False)
    found = left[:, values > DEPENDENT]
    signs = np.sign(found[np.argmax(np.abs(found) > DEPENDENT, axis=0), np.arange(found.shape[1])])
    return np.asarray(-found * signs)


def strata_of(given: Any, cloud: Cloud) -> list[Array]:
    """Return the places within which individuals are exchanged: one block, or those of strata."""
    if given is None:
        return [np.arange(len(cloud))]
    columns = columns_of(given, cloud.count, "strata")
    if len(columns) > 1:
        raise InvalidParameter("strata must be one column of labels")
    (name, values), *_ = columns.items()
    codes, levels = labels_of(values, name, cloud.rows, "strata")
    return [np.flatnonzero(codes == code) for code in range(len(levels))]


def exchange_rows(blocks: list[Array], rng: np.random.Generator) -> Array:
    """Return a permutation of individuals that stays within each block.

    >>> moved = exchange_rows([np.array([0, 2]), np.array([1])], np.random.default_rng(0))
    >>> int(moved[1]), sorted(moved.tolist())
    (1, [0, 1, 2])
    """
    order = np.empty(sum(len(block) for block in blocks), dtype=np.intp)
    for block in blocks:
        order[block] = rng.permutation(block)
    return order
