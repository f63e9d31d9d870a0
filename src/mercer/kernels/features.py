"""Rows of explicit features: joined, multiplied, and raised to monomials."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np

from mercer.check import Array, NoFeatureMap, namespace

MOST_FEATURES = 100_000
"""More columns than this are never what an explicit feature map is wanted for."""

MOST_FACTORS = 1_000_000
"""More multiplications than this, for each point, are not either: they come of huge degrees."""


def refuse_too_many(columns: int) -> None:
    """Refuse a feature map that would not fit in memory, before building it."""
    if columns > MOST_FEATURES:
        raise NoFeatureMap(
            f"the explicit feature map has {columns} columns, more than {MOST_FEATURES}; "
            "use the kernel itself"
        )


def join(parts: Sequence[Array]) -> Array:
    """Return the features of a sum: those of its terms side by side."""
    refuse_too_many(sum(part.shape[1] for part in parts))
    return namespace(*parts).concat(list(parts), axis=1)


def outer_rows(left: Array, right: Array) -> Array:
    """Return the features of a product: all products of a left and a right feature."""
    columns = left.shape[1] * right.shape[1]
    refuse_too_many(columns)
    xp = namespace(left, right)
    return xp.reshape(left[:, :, None] * right[:, None, :], (left.shape[0], columns))


def monomials(features: Array, degree: int) -> Array:
    r"""Return the features of the m-th power of a kernel with given features.

    .. math:: \sqrt{\tfrac{m!}{i_1! \cdots i_d!}}\; \varphi_1^{i_1} \cdots \varphi_d^{i_d},
        \quad i_1 + \dots + i_d = m

    There are :math:`\binom{d+m-1}{m}` of them (Gallier and Quaintance, Problem 53.2).

    >>> monomials(np.array([[1.0, 2.0]]), 2)
    array([[1.        , 2.82842712, 4.        ]])
    """
    xp = namespace(features)
    n, d = features.shape
    count = comb(d + degree - 1, degree) if d else int(degree == 0)
    refuse_too_many(count)
    if count * degree > MOST_FACTORS:
        raise NoFeatureMap(
            f"the explicit feature map of degree {degree} needs {count * degree} multiplications "
            f"for each point, more than {MOST_FACTORS}; use the kernel itself"
        )
    if count == 0:
        return xp.zeros((n, 0), dtype=features.dtype)
    columns = []
    for indices in combinations_with_replacement(range(d), degree):
        repeats = np.bincount(indices, minlength=d) if indices else np.zeros(d, int)
        weight = (factorial(degree) / prod(factorial(int(i)) for i in repeats)) ** 0.5
        column = xp.full((n,), weight, dtype=features.dtype)
        for j in indices:
            column = column * features[:, j]
        columns.append(column)
    return xp.stack(columns, axis=1)
