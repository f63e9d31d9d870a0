"""Kernels whose pairs are computed one after the other, each symmetric pair once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from mercer.check import Array
from mercer.kernels.pairs import Pairs

T = TypeVar("T")


def row_by_row(
    pairs: Pairs, left: Sequence[T], right: Sequence[T], row: Callable[[T, Sequence[T]], Array]
) -> Array:
    """Return on each pair a symmetric function of one thing and many, given for each point."""
    if len(pairs.shape) == 1:
        matching = [row(a, [b])[0] for a, b in zip(left, right, strict=True)]
        return np.array(matching, dtype=np.float64)
    values = np.empty(pairs.shape)
    for i, a in enumerate(left):
        start = i if pairs.same else 0
        values[i, start:] = row(a, right[start:])
        if pairs.same:
            values[start:, i] = values[i, start:]
    return values
