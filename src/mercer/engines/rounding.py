"""How far the entries of tiles, and products with them, can be from the kernel's matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.check import Array
from mercer.engines.tiles import Tiles
from mercer.kernels.bounds import Bound
from mercer.kernels.bounds import gamma as gamma

BLOCK = 512
"""Rows that are added up at a time where columns are centred."""

UNPROVED = 64
"""Units of rounding assumed of a kernel without a bound of its own, relative to its largest."""


class Rounding(NamedTuple):
    """Bounds for the error of an entry of K, of K V per unit of weight, and for an entry itself.

    The matrix of errors has a norm of at most n times ``product``, and at most ``product`` where
    rows and columns carry weights that sum to 1.
    """

    entry: float
    product: float
    is_proved: bool
    value: float


def rounding(tiles: Tiles, largest: float) -> Rounding:
    """Return what rounding can do to the entries of tiles and to products with them.

    ``largest`` bounds the kernel's values; it is used where no bound follows from the formula.
    """
    unit = float(np.finfo(tiles.dtype).eps) / 2
    if tiles.kernel.has_exact_values:
        entry: Bound | None = Bound(largest, 0.0)
    elif tiles.prepared is None:
        entry = None
    else:
        entry = tiles.kernel.bounds(tiles.prepared.arithmetic)
    if entry is None:
        entry = Bound(largest, UNPROVED * unit * largest, is_proved=False)
    inside = min(tiles.size, tiles.shape[1]) + 1
    double = float(np.finfo(float).eps) / 2
    across = -(-tiles.shape[1] // tiles.size)
    if tiles.factors is not None:
        # Φ(Φ'V) adds up at most n numbers and then as many as a point has features, and
        # |Φ||Φ|' is at most the largest entry by Cauchy and Schwarz.
        across += tiles.shape[1] + tiles.factors.width
    centring = BLOCK + -(-tiles.shape[1] // BLOCK) + 16  # on both sides
    sums = gamma(inside, unit) + gamma(across, double) + 2.0 * gamma(centring, double)
    limits = np.finfo(tiles.dtype)
    is_small = tiles.single and entry.value <= 1e8 * float(limits.tiny)
    if is_small or entry.value >= float(limits.max) / tiles.shape[1]:
        # Products underflow or overflow; values in double precision may stand for themselves.
        error = np.inf if tiles.single else entry.error
        return Rounding(error, np.inf, entry.is_proved, entry.value)
    return Rounding(entry.error, entry.error + sums * entry.value, entry.is_proved, entry.value)


def norm_bound(A: Array) -> float:
    r"""Return an upper bound for the spectral norm: :math:`\sqrt{\|A\|_1 \|A\|_\infty}`.

    >>> norm_bound(np.array([[3.0, 0.0], [0.0, -4.0]]))
    4.0
    """
    return float(np.sqrt(np.linalg.norm(A, 1)) * np.sqrt(np.linalg.norm(A, np.inf)))
