"""Kernels that are one function of a squared distance: which they are, and that function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from mercer.check import Array
from mercer.kernels.algebra import (
    Constant,
    Exponential,
    PolynomialOf,
    Power,
    Product,
    Scaled,
    Sum,
)
from mercer.kernels.bandwidth import Metric
from mercer.kernels.base import Kernel
from mercer.kernels.metric import GaussianOf, Normalised
from mercer.kernels.pairs import Aligned, Table
from mercer.kernels.radial import Descending, Laplacian, NegativeDistance, Radial
from mercer.kernels.spectral import Sobolev
from mercer.kernels.vectors import Bilinear, Linear, Polynomial

OPERATIONS = (Sum, Product, Scaled, Power, PolynomialOf, Exponential, Normalised, GaussianOf)
"""Operations that make a function of a distance of functions of it."""

DOUBLINGS, HALVINGS = 80, 60
"""How often an interval grows until it holds a root, and shrinks around it: to a double's end."""


@dataclass(frozen=True)
class Profile:
    r"""A kernel as a function of the squared distance of points in units of lengths.

    .. math:: k(x, y) = h(s), \quad s = \textstyle\sum_j ((x_j - y_j)/\ell_j)^2

    >>> from mercer import Gaussian, Matern
    >>> found = profile_of(0.5 * Gaussian(2.0) + Matern(1.5, 1.0) * Gaussian(3.0), 2)
    >>> s, step = np.array([0.0, 1.0, 4.0]), 1e-6
    >>> np.allclose(found.slope(s[1:], 1e-9),
    ...             (found.value(s[1:] + step) - found.value(s[1:] - step)) / (2 * step))
    True
    >>> np.allclose(found.inverse(found.value(s)), s)
    True
    """

    kernel: Kernel
    lengths: Array

    def _at(self, distances: Array, evaluate: Callable[[Aligned], Array]) -> Array:
        """Return a function of pairs of points of the line that are so far apart."""
        r = distances.reshape(-1, 1)
        return np.asarray(evaluate(Aligned(r, np.zeros_like(r)))).reshape(distances.shape)

    def value(self, s: Array) -> Array:
        """Return h(s)."""
        if isinstance(self.kernel, Radial) and isinstance(self.kernel.length, float):
            return np.asarray(self.kernel.profile(s / self.kernel.length**2))
        return self._at(np.sqrt(s), self.kernel.evaluate)

    def slope(self, s: Array, smallest: float) -> Array:
        """Return h'(s), at distances below the smallest what it is there."""
        if isinstance(self.kernel, Radial) and isinstance(self.kernel.length, float):
            square = self.kernel.length**2
            slope = self.kernel.profile_slope(np.maximum(s, smallest**2) / square)
            return np.asarray(slope) / square
        r = np.maximum(np.sqrt(s), smallest)
        slopes: Array = self._at(r, self.kernel.evaluate_slopes) / (2.0 * r)
        return slopes

    def inverse(self, values: Array, unit: float = 1.0) -> Array:
        """Return s with h(s) as given: 0 for values too large, infinity for values too small.

        ``unit`` is a usual distance, at which the search begins.
        """
        low, high = np.zeros(values.shape), np.full(values.shape, unit)  # distances, not squares
        for _ in range(DOUBLINGS):
            is_short = self.value(high**2) > values
            if not is_short.any():
                break
            low, high = np.where(is_short, high, low), np.where(is_short, 2.0 * high, high)
        is_out = self.value(high**2) > values
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            is_beyond = self.value(middle**2) > values
            low, high = np.where(is_beyond, middle, low), np.where(is_beyond, high, middle)
        return np.where(is_out, np.inf, np.where(low > 0.0, (0.5 * (low + high)) ** 2, 0.0))


def profile_of(kernel: Kernel, columns: int) -> Profile | None:
    """Return a kernel on points of so many coordinates as a function of a distance, if it is one.

    >>> from mercer import Gaussian, Laplacian, Linear
    >>> profile_of(Linear().gaussian(2.0) + Gaussian((1.0, 3.0)), 2) is None
    True
    >>> profile_of(Gaussian((2.0, 6.0)) * Gaussian((1.0, 3.0)), 2).lengths
    array([1., 3.])
    >>> profile_of(Laplacian(norm=1.0), 2) is None, profile_of(Laplacian(norm=2.0), 2) is None
    (True, False)
    """
    lengths = list(_lengths(kernel, columns))
    if any(length is None for length in lengths):
        return None
    shapes = [np.broadcast_to(np.divide(x, np.ravel(x)[0]), columns) for x in lengths]  # type: ignore[arg-type]
    if not shapes or any(not np.allclose(shape, shapes[0], rtol=1e-12) for shape in shapes):
        return None
    return Profile(_isotropic(kernel, columns), np.array(shapes[0]))


def _lengths(kernel: Kernel, columns: int) -> Iterator[float | tuple[float, ...] | None]:
    """Yield the lengths of all the distances in an expression, None for what is no distance."""
    is_radial = isinstance(kernel, Radial | Descending | Sobolev) or (
        isinstance(kernel, Laplacian) and (kernel.norm == 2.0 or columns == 1)
    )
    if is_radial and isinstance(kernel, Metric):
        yield kernel.length
    elif isinstance(kernel, GaussianOf) and isinstance(kernel.kernel, Linear):
        yield 1.0
    elif isinstance(kernel, OPERATIONS):
        for child in kernel.children().values():
            yield from _lengths(child, columns)
    elif not isinstance(kernel, Constant):
        yield None


def _isotropic(kernel: Kernel, columns: int) -> Kernel:
    """Return the same function of distances, with one length in place of one for each column."""
    if isinstance(kernel, Sobolev):  # whose smoothness depends on the number of coordinates
        matern, _ = kernel.matern(Table(np.zeros((1, columns))))
        return _isotropic(matern, columns)
    if isinstance(kernel, Metric):
        length = kernel.length
        return replace(kernel, bandwidth=length[0]) if isinstance(length, tuple) else kernel  # type: ignore[type-var]
    children = {n: _isotropic(k, columns) for n, k in kernel.children().items()}
    return kernel.with_children(children) if children else kernel


def is_affine(kernel: Kernel) -> bool:
    """Whether the features of points are an affine function of their coordinates.

    A sum of features with weights that sum to 1 is then the feature of the sum of the points.

    >>> from mercer import Gaussian, Linear, Polynomial
    >>> is_affine(0.5 * Linear() + 1.0), is_affine(Polynomial(degree=1)), is_affine(Gaussian(1.0))
    (True, True, False)
    """
    if isinstance(kernel, Polynomial):
        return kernel.degree <= 1
    if isinstance(kernel, NegativeDistance):
        return kernel.exponent == 2.0
    if isinstance(kernel, Sum | Scaled):
        return all(is_affine(child) for child in kernel.children().values())
    return isinstance(kernel, Linear | Bilinear | Constant)
