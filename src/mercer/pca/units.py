"""Columns of different units under a kernel of distances: one may be nearly all that it sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.display import warn
from mercer.errors import Misleading
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Radial
from mercer.reading.links import column_name, percent

NEARLY_ALL = 0.99
"""The share of one column in the squared distances from which on a kernel sees little else."""

CONSTANT = 1e-15
"""The share that rounding may leave to a column of one value."""

FEWEST = 10
"""Individuals from which on the spread of a column is more than chance."""

LOOKED_AT = 10_000
"""Individuals whose columns are looked at, evenly taken."""


def warn_of_units(kernel: Kernel, points: Any, weights: Array, names: Sequence[str]) -> None:
    """Warn where one column makes nearly all distances that a kernel with one bandwidth sees.

    A bandwidth for each column says that units were thought of, and so does another kernel.
    """
    is_one = isinstance(kernel, Radial) and isinstance(getattr(kernel, "bandwidth", None), float)
    is_table = isinstance(points, np.ndarray) and points.ndim == 2
    if not is_one or not is_table or np.count_nonzero(weights) < FEWEST:
        return
    shares = column_shares(points, weights)
    if np.count_nonzero(shares > CONSTANT) < 2 or shares.max() < NEARLY_ALL:
        return
    j = int(np.argmax(shares))
    name = column_name(names[j]) if j < len(names) else str(j)
    warn(
        f'the column "{name}" makes {percent(float(shares[j]))} of the squared distances between '
        f"individuals, so that {type(kernel).__name__} with one bandwidth sees little else: divide "
        "columns of different units by their standard deviations, or give a bandwidth for each",
        Misleading,
    )


def column_shares(points: Array, weights: Array) -> Array:
    """Return the share of each column in the mean squared distance between individuals.

    >>> column_shares(np.array([[0.0, 0.0], [1.0, 3.0]]), np.array([0.5, 0.5]))
    array([0.1, 0.9])
    """
    rows = np.unique(np.linspace(0, len(points) - 1, min(len(points), LOOKED_AT)).astype(int))
    x, w = np.asarray(points[rows], np.float64), weights[rows]
    size, total = float(np.max(np.abs(x), initial=0.0)), float(w.sum())
    if not size > 0 or not total > 0:
        return np.zeros(points.shape[1])
    x = x / size
    w = w / total
    variances: Array = w @ (x - w @ x) ** 2
    whole = float(variances.sum())
    return variances / whole if whole > 0 else variances
