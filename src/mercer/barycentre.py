"""Rows of features seen from their weighted mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.check import Array, chunks
from mercer.display import Shown

ROWS = 512
"""Rows of a matrix that are worked on at a time."""


@dataclass(frozen=True, repr=False)
class Barycentre(Shown):
    r"""The weighted mean :math:`\bar\varphi` of features, and its inner products with each."""

    facts: ClassVar[Mapping[str, str]] = {
        "mean": "of the features",
        "products": "of the features with it",
    }

    mean: Array
    products: Array


def centre(factor: Array, weights: Array) -> Barycentre:
    """Turn F, in its own memory, into W^½(F - 1wᵀF), and return what was subtracted.

    >>> F = np.array([[0.0], [2.0]])
    >>> centre(F, np.array([0.25, 0.75]))
    Barycentre
      mean      1.5   of the features
      products  0, 3  of the features with it
    >>> F.tolist()
    [[-0.75], [0.4330127018922193]]
    """
    kind = factor.real.dtype
    mean, roots = weights.astype(kind) @ factor, np.sqrt(weights)[:, None].astype(kind)
    products = np.empty(len(factor))
    for rows in chunks(len(factor), ROWS):  # while they are in the cache
        part = factor[rows]
        products[rows] = np.real(part @ mean.conj())
        part -= mean
        part *= roots[rows]
    return Barycentre(mean.conj(), products)
