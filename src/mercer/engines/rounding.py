r"""How far the entries of a tile can be from the kernel's values, proved from the formula.

Every node of an expression has a bound for its values and one for their error, from the bounds of
its parts: an inner product of d terms is off by at most :math:`\gamma_d \sum |a_i b_i|` with
:math:`\gamma_d = du/(1 - du)`, in whatever order a library adds them.
"""

from __future__ import annotations

from math import exp, expm1, sqrt
from typing import NamedTuple

import numpy as np

from mercer.check import Array
from mercer.engines.prepared import Prepared, is_steep, leaves
from mercer.engines.prepared import gamma as gamma
from mercer.engines.tiles import Tiles
from mercer.kernels.algebra import Constant, Exponential, PolynomialOf, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian, Laplacian, Matern, NegativeDistance, RationalQuadratic
from mercer.kernels.vectors import Linear, Polynomial, Sigmoid

BLOCK = 512
"""Rows that are added up at a time where columns are centred."""

FUNCTION = 8
"""Units of rounding allowed to an elementary function, its argument's scaling included."""

BESSEL = 1e-12
"""Relative error allowed to the Matérn profile beside its argument's; 3e-13 was the worst seen."""

UNPROVED = 64
"""Units of rounding assumed of a kernel without a bound of its own, relative to its largest."""


class Entry(NamedTuple):
    """Bounds for a value's modulus and for its error, and for the value itself if it is lower."""

    value: float
    error: float
    above: float = np.inf

    @property
    def top(self) -> float:
        """A bound for the value itself, which may be negative or at most zero."""
        return min(self.value, self.above)


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
        entry, is_proved = Entry(largest, 0.0), True
    elif tiles.prepared is None:
        entry, is_proved = Entry(largest, UNPROVED * unit * largest), False
    else:
        entry = bound(tiles.kernel, tiles.prepared)
        is_proved = not any(isinstance(leaf, Matern) for leaf in leaves(tiles.kernel))
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
        return Rounding(error, np.inf, is_proved, entry.value)
    return Rounding(entry.error, entry.error + sums * entry.value, is_proved, entry.value)


def bound(kernel: Kernel, prepared: Prepared) -> Entry:
    """Return bounds for the values of an expression on prepared points, and for their error.

    They are infinite where a part of it leaves the range of its precision, whatever weight follows.
    """
    entry, limits = _bound(kernel, prepared), np.finfo(prepared.dtype)
    is_small = prepared.dtype == np.float32 and 0.0 < entry.value <= 1e8 * float(limits.tiny)
    if is_small or entry.value >= float(limits.max) / 8:
        return Entry(np.inf, np.inf)
    return entry


def _bound(kernel: Kernel, prepared: Prepared) -> Entry:
    unit = float(np.finfo(prepared.dtype).eps) / 2
    if isinstance(kernel, Gaussian | RationalQuadratic | Matern | Laplacian | NegativeDistance):
        return _of_distance(kernel, prepared, unit)
    if isinstance(kernel, Linear | Polynomial | Sigmoid):
        size = prepared.largest_norm["inner"]
        inner = Entry(size, gamma(prepared.columns + 3, unit) * size)
        return _of_inner_product(kernel, inner, unit)
    if isinstance(kernel, Constant):
        return Entry(kernel.constant, unit * kernel.constant)
    parts = [bound(part, prepared) for part in kernel.children().values()]
    return _of_parts(kernel, parts, unit)


def _of_distance(kernel: Kernel, prepared: Prepared, unit: float) -> Entry:
    """Bound a function of the distance by its slope in d², or in d where it has a kink at 0."""
    largest = prepared.largest_norm[kernel.length]  # type: ignore[attr-defined]
    squares, accuracy = prepared.squares_error(kernel.length), prepared.accuracy  # type: ignore[attr-defined]
    # d² is right to `accuracy` or was recomputed, so d² >= squares/accuracy where it was not.
    roots = 0.5 * sqrt(squares * accuracy) + FUNCTION * unit * 2.0 * sqrt(largest)
    smooth = 0.5 * squares
    if prepared.has_kink:  # d² is right to `accuracy`, and s|k'(s)| <= 1/2
        smooth = min(smooth, accuracy)
    if isinstance(kernel, Gaussian | RationalQuadratic):
        return Entry(1.0, smooth + FUNCTION * unit)
    if isinstance(kernel, Laplacian):
        return Entry(1.0, roots + FUNCTION * unit)
    if isinstance(kernel, NegativeDistance):
        return _of_power(2.0 * sqrt(largest), kernel.exponent, roots, accuracy, unit)
    assert isinstance(kernel, Matern)
    slope = np.inf if is_steep(kernel) else 0.5
    if slope == 0.5 and kernel.nu < np.inf:
        slope = kernel.nu / (2.0 * (kernel.nu - 1.0))
    error = slope * squares if squares > 0 else 0.0  # points that are all the same
    if prepared.has_kink:  # |d k'(d)| <= 1 at every smoothness
        error = min(error, accuracy)
    return Entry(1.0, error + FUNCTION * unit + BESSEL)


def _of_power(
    distance: float, exponent: float, roots: float, accuracy: float, unit: float
) -> Entry:
    value = distance**exponent
    if exponent >= 1.0:
        error = exponent * distance ** (exponent - 1.0) * roots
    else:
        error = exponent * value * (accuracy / 2.0 + FUNCTION * unit)
    return Entry(value, error + FUNCTION * unit * value, 0.0)


def _of_inner_product(kernel: Kernel, inner: Entry, unit: float) -> Entry:
    if isinstance(kernel, Linear):
        return inner
    if isinstance(kernel, Polynomial):
        base = Entry(
            kernel.scale * inner.value + kernel.offset,
            kernel.scale * inner.error
            + 2 * unit * (kernel.scale * inner.value + abs(kernel.offset)),
        )
        return _power(base, kernel.degree, unit)
    assert isinstance(kernel, Sigmoid)
    argument = abs(kernel.scale) * inner.value + abs(kernel.offset)
    return Entry(1.0, abs(kernel.scale) * inner.error + (2 * argument + FUNCTION) * unit)


def _of_parts(kernel: Kernel, parts: list[Entry], unit: float) -> Entry:
    if isinstance(kernel, Sum):
        value = sum(part.value for part in parts)
        error = sum(part.error for part in parts) + len(parts) * unit * value
        return Entry(value, error, sum(part.top for part in parts))
    if isinstance(kernel, Product):
        total = parts[0]
        for part in parts[1:]:
            total = _times(total, part, unit)
        return total
    (part,) = parts
    if isinstance(kernel, Scaled):
        value = kernel.weight * part.value
        error = kernel.weight * part.error + unit * value + _underflow(unit)
        return Entry(value, error, kernel.weight * part.top)
    if isinstance(kernel, Power):
        return _power(part, kernel.power, unit)
    if isinstance(kernel, PolynomialOf):
        powers = [_power(part, i, unit) for i in range(len(kernel.coefficients))]
        value = sum(c * p.value for c, p in zip(kernel.coefficients, powers, strict=True))
        error = sum(c * p.error for c, p in zip(kernel.coefficients, powers, strict=True))
        return Entry(value, error + 2 * len(powers) * unit * value)
    assert isinstance(kernel, Exponential)
    if part.top > 700.0 or part.error > 700.0:
        return Entry(np.inf, np.inf)
    value = exp(part.top)
    return Entry(value, value * (expm1(part.error) + FUNCTION * unit) + _underflow(unit))


def _times(a: Entry, b: Entry, unit: float) -> Entry:
    value = a.value * b.value
    error = a.value * b.error + b.value * a.error + a.error * b.error
    return Entry(value, error + unit * value + _underflow(unit))


def _power(base: Entry, exponent: int, unit: float) -> Entry:
    if exponent == 0:
        return Entry(1.0, 0.0)
    value = base.value**exponent
    error = exponent * (base.value + base.error) ** (exponent - 1) * base.error
    return Entry(value, error + (exponent + FUNCTION) * unit * value + _underflow(unit))


def _underflow(unit: float) -> float:
    """Return what an operation loses at most where its value is too small to be a number."""
    return float(np.finfo(np.float64 if unit < 1e-12 else np.float32).tiny)


def norm_bound(A: Array) -> float:
    r"""Return an upper bound for the spectral norm: :math:`\sqrt{\|A\|_1 \|A\|_\infty}`.

    >>> norm_bound(np.array([[3.0, 0.0], [0.0, -4.0]]))
    4.0
    """
    return float(np.sqrt(np.linalg.norm(A, 1)) * np.sqrt(np.linalg.norm(A, np.inf)))
