"""What individuals are explained by: factors and numbers as orthonormal columns, term by term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.check import Array, is_missing, refuse_non_finite
from mercer.data.frames import columns_of
from mercer.errors import InvalidInput, InvalidParameter
from mercer.ordination.individuals import Cloud

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


def exchanged(blocks: list[Array], rng: np.random.Generator) -> Array:
    """Return a permutation of individuals that stays within each block.

    >>> moved = exchanged([np.array([0, 2]), np.array([1])], np.random.default_rng(0))
    >>> int(moved[1]), sorted(moved.tolist())
    (1, [0, 1, 2])
    """
    order = np.empty(sum(len(block) for block in blocks), dtype=np.intp)
    for block in blocks:
        order[block] = rng.permutation(block)
    return order
