"""scikit-learn's covariance kernels as kernels of mercer, parameter by parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as theirs

from mercer.check import Array
from mercer.gp.parameters import NOISE
from mercer.kernels.algebra import Constant, Power, Product, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian, Matern, RationalQuadratic
from mercer.kernels.spectral import Periodic
from mercer.kernels.vectors import Linear


@dataclass(frozen=True)
class Entry:
    """A number of scikit-learn's θ: log of a parameter of mercer's is ``factor`` times it."""

    name: str
    index: int | None = None
    factor: float = 1.0

    def inside(self, child: str) -> Entry:
        """Return the entry of the same number once its kernel is part of another."""
        name = self.name if self.name == NOISE else f"{child}__{self.name}"
        return Entry(name, self.index, self.factor)


@dataclass(frozen=True)
class Translation:
    """A kernel, None where only noise is left, its noise variance, and an entry for each θ.

    >>> of = translate(2.0 * theirs.RBF(3.0) + theirs.WhiteKernel(0.1), 1)
    >>> of.kernel, of.noise
    (Constant(constant=2.0) * Gaussian(bandwidth=3.0), 0.1)
    >>> [entry.name for entry in of.entries]
    ['0__constant', '1__bandwidth', 'noise_variance']
    """

    kernel: Kernel | None
    entries: tuple[Entry, ...] = ()
    noise: float = 0.0

    def theta(self, values: dict[str, Any]) -> Array:
        """Return θ from the values of parameters by name."""
        found = [
            np.log(values[e.name] if e.index is None else values[e.name][e.index]) / e.factor
            for e in self.entries
        ]
        return np.array(found, dtype=float)

    def bounds(self, bounds: Array) -> dict[str, tuple[float, float]]:
        """Return the bounds of parameters by name; those of one sequence are taken together."""
        result: dict[str, tuple[float, float]] = {}
        for entry, pair in zip(self.entries, bounds, strict=True):
            low, high = np.exp(entry.factor * np.asarray(pair, float)).tolist()
            other = result.get(entry.name, (low, high))
            result[entry.name] = min(low, other[0]), max(high, other[1])
        return result


class NoTranslation(Exception):
    """A kernel of scikit-learn's that mercer does not have."""


def translate(kernel: Any, columns: int) -> Translation:
    """Return a kernel of scikit-learn's on points of so many coordinates as one of mercer's."""
    if isinstance(kernel, theirs.WhiteKernel):
        entries = () if _is_fixed(kernel) else (Entry(NOISE),)
        return Translation(None, entries, float(kernel.noise_level))
    if isinstance(kernel, theirs.Sum):
        return _sum(translate(kernel.k1, columns), translate(kernel.k2, columns))
    if isinstance(kernel, theirs.Product):
        return _product(translate(kernel.k1, columns), translate(kernel.k2, columns))
    if isinstance(kernel, theirs.Exponentiation):
        return _power(translate(kernel.kernel, columns), float(kernel.exponent))
    return _leaf(kernel, columns)


def _sum(a: Translation, b: Translation) -> Translation:
    if a.noise and b.noise:
        raise NoTranslation
    noise = a.noise + b.noise
    if a.kernel is None or b.kernel is None:
        entries = a.entries + b.entries
        return Translation(a.kernel or b.kernel, entries, noise)
    return Translation(Sum((a.kernel, b.kernel)), _joined(a.entries, b.entries), noise)


def _product(a: Translation, b: Translation) -> Translation:
    if a.kernel is None or b.kernel is None or a.noise or b.noise:
        raise NoTranslation
    return Translation(Product((a.kernel, b.kernel)), _joined(a.entries, b.entries))


def _power(base: Translation, exponent: float) -> Translation:
    if base.kernel is None or base.noise or not exponent.is_integer() or exponent < 0:
        raise NoTranslation
    entries = tuple(entry.inside("kernel") for entry in base.entries)
    return Translation(Power(base.kernel, int(exponent)), entries)


def _joined(a: Sequence[Entry], b: Sequence[Entry]) -> tuple[Entry, ...]:
    return (*(e.inside("0") for e in a), *(e.inside("1") for e in b))


def _leaf(kernel: Any, columns: int) -> Translation:
    """Return a kernel that is made of no others; θ has its parameters in alphabetic order."""
    kind = type(kernel)
    made: Kernel
    if kind is theirs.ConstantKernel:
        made, names = Constant(float(kernel.constant_value)), {"constant_value": "constant"}
    elif kind is theirs.RBF:
        made, names = Gaussian(_lengths(kernel, columns)), {"length_scale": "bandwidth"}
    elif kind is theirs.Matern:
        made = Matern(float(kernel.nu), _lengths(kernel, columns))
        names = {"length_scale": "bandwidth"}
    elif kind is theirs.RationalQuadratic:
        made = RationalQuadratic(float(kernel.alpha), float(kernel.length_scale))
        names = {"alpha": "shape", "length_scale": "bandwidth"}
    elif kind is theirs.ExpSineSquared and columns == 1:
        made = Periodic(float(kernel.periodicity), float(kernel.length_scale))
        names = {"length_scale": "bandwidth", "periodicity": "period"}
    elif kind is theirs.DotProduct:
        return _dot_product(kernel)
    else:
        raise NoTranslation
    return Translation(made, _entries(kernel, names))


def _dot_product(kernel: Any) -> Translation:
    entries = () if _is_fixed(kernel) else (Entry("1__constant", factor=2.0),)
    return Translation(Sum((Linear(), Constant(float(kernel.sigma_0) ** 2))), entries)


def _lengths(kernel: Any, columns: int) -> Any:
    lengths = np.atleast_1d(np.asarray(kernel.length_scale, float))
    if lengths.size not in (1, columns):
        raise NoTranslation
    return float(lengths[0]) if lengths.size == 1 else tuple(lengths.tolist())


def _entries(kernel: Any, names: dict[str, str]) -> tuple[Entry, ...]:
    found: list[Entry] = []
    for parameter in kernel.hyperparameters:
        if parameter.fixed:
            continue
        name = names[parameter.name]
        several = parameter.n_elements > 1
        found += [Entry(name, i if several else None) for i in range(parameter.n_elements)]
    return tuple(found)


def _is_fixed(kernel: Any) -> bool:
    return all(parameter.fixed for parameter in kernel.hyperparameters)
