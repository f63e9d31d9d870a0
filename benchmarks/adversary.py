"""Random problems that try to break a proof, with what is true of them in extended precision.

Points repeat, lie in clusters, far from the origin and in units of any size. The kernel's values
are computed anew from its formula in numpy's long double, whose unit of rounding is 2000 times
smaller than that of a double.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np

import mercer as mc
from mercer.kernels.algebra import Constant, Product, Scaled, Sum
from mercer.kernels.powers import Exponential, Power

LONG = np.longdouble


@dataclass(frozen=True)
class Case:
    """A kernel on points, with its matrix in extended precision."""

    kernel: mc.Kernel
    points: Any
    K: Any

    @property
    def size(self) -> float:
        """The largest entry."""
        return float(np.max(np.abs(self.K))) or 1.0


def case(
    rng: np.random.Generator,
    *,
    least: int = 2,
    most: int = 40,
    extreme: bool = True,
    made: Callable[[np.random.Generator, float], mc.Kernel] | None = None,
) -> Case:
    """Return a random kernel on random points; ``extreme`` ones may be in units of 1e±150."""
    x, unit = points(rng, least, most, extreme)
    kernel = (made or kernels)(rng, unit)
    return Case(kernel, x, values(kernel, x))


def points(rng: np.random.Generator, least: int, most: int, extreme: bool) -> tuple[Any, float]:
    """Return points and their unit: clusters, repetitions, outliers, offsets, scales."""
    n, d = int(rng.integers(least, most)), int(rng.integers(1, 5))
    x = rng.standard_normal((n, d))
    kind = rng.integers(0, 10)
    if kind == 1:
        x = x[rng.integers(0, max(1, n // 2), n)]
    elif kind == 2:
        x = np.round(x)
    elif kind == 3:
        x = 1e-6 * x + rng.integers(0, 3, (n, 1))
    elif kind == 4:
        x = np.vstack([x[: n // 2], -x[: n - n // 2]])
    elif kind == 5:
        x = np.tile(x[:1], (n, 1))
    elif kind == 6:
        x[0] *= 10.0 ** rng.uniform(1.0, 6.0)
    elif kind == 7:
        x = x * 10.0 ** rng.uniform(-6.0, 6.0, d)
    elif kind == 8:
        x[1::2] = np.nextafter(x[: 2 * (n // 2) : 2], np.inf)
    x = x + (10.0 ** rng.uniform(0.0, 10.0) if rng.random() < 0.5 else 0.0)
    unit = 10.0 ** float(rng.choice([0, 0, 3, -3, 150, -150] if extreme else [0]))
    return x * unit, unit


def kernels(rng: np.random.Generator, unit: float) -> mc.Kernel:
    """Return a kernel for points in a unit."""
    width = unit * 10.0 ** float(rng.uniform(-1.0, 1.5))
    made: list[Callable[[], mc.Kernel]] = [
        lambda: mc.Gaussian(width),
        lambda: mc.Laplacian(width, norm=float(rng.choice([1.0, 2.0]))),
        lambda: mc.Matern(1.5, width),
        lambda: mc.kernels.RationalQuadratic(1.0, width),
        mc.Linear,
        lambda: mc.Polynomial(2, 1.0, unit**-2.0),
        lambda: mc.Linear() + mc.Gaussian(width),
        lambda: 10.0 ** float(rng.uniform(-3.0, 3.0)) * mc.Gaussian(width),
        lambda: Constant(10.0 ** float(rng.uniform(-3.0, 3.0))) + mc.Gaussian(width),
        lambda: Constant(1.0),
    ]
    return made[int(rng.integers(len(made)))]()


def expressions(rng: np.random.Generator, unit: float) -> mc.Kernel:
    """Return a kernel, a sum, product, power, multiple or exponential for points in a unit."""
    width = unit * 10.0 ** float(rng.uniform(-1.5, 1.5))
    leaves: list[mc.Kernel] = [
        mc.Gaussian(width),
        mc.Laplacian(width, norm=float(rng.choice([1.0, 2.0]))),
        mc.Matern(float(rng.choice([0.5, 1.5, 2.5, 3.5])), width),
        mc.kernels.RationalQuadratic(float(rng.choice([0.5, 1.0, 3.0])), width),
        mc.Linear(),
        mc.Polynomial(int(rng.integers(1, 4)), float(rng.choice([0.0, 1.0])), unit**-2.0),
        mc.kernels.NegativeDistance(float(rng.choice([0.5, 1.0, 1.5])), width),
    ]
    leaf, other = leaves[rng.integers(len(leaves))], leaves[rng.integers(len(leaves) - 1)]
    how = int(rng.integers(6))
    if how == 0:
        return leaf + other
    if isinstance(leaf, mc.kernels.NegativeDistance):
        return leaf.exp() if how == 1 else leaf
    if how == 1:
        return leaf * other
    if how == 2:
        return float(10.0 ** rng.uniform(-3.0, 3.0)) * leaf
    return leaf ** int(rng.integers(2, 4)) if how == 3 else leaf


def values(kernel: mc.Kernel, x: Any, y: Any = None) -> Any:
    """Return a kernel's matrix in extended precision, from its formula."""
    a = np.asarray(x, dtype=LONG)
    b = a if y is None else np.asarray(y, dtype=LONG)
    if isinstance(kernel, Sum):
        return sum(values(part, x, y) for part in kernel.children().values())
    if isinstance(kernel, Product):
        return np.prod([values(part, x, y) for part in kernel.children().values()], axis=0)
    if isinstance(kernel, Scaled):
        return LONG(kernel.weight) * values(kernel.kernel, x, y)
    if isinstance(kernel, Power):
        return values(kernel.kernel, x, y) ** kernel.power
    if isinstance(kernel, Exponential):
        return np.exp(values(kernel.kernel, x, y))
    if isinstance(kernel, Constant):
        return np.full((len(a), len(b)), LONG(kernel.constant))
    if isinstance(kernel, mc.Linear):
        return a @ b.T
    if isinstance(kernel, mc.Polynomial):
        return (LONG(kernel.scale) * (a @ b.T) + LONG(kernel.offset)) ** kernel.degree
    return _of_distance(kernel, a, b)


def _of_distance(kernel: Any, a: Any, b: Any) -> Any:
    differences = (a[:, None, :] - b[None, :, :]) / LONG(kernel.bandwidth)
    squares = np.sum(differences * differences, axis=-1)
    if isinstance(kernel, mc.Gaussian):
        return np.exp(-squares / 2)
    if isinstance(kernel, mc.Laplacian):
        lengths = np.sum(np.abs(differences), axis=-1) if kernel.norm == 1.0 else np.sqrt(squares)
        return np.exp(-lengths)
    if isinstance(kernel, mc.kernels.RationalQuadratic):
        shape = LONG(kernel.shape)
        return (1 + squares / (2 * shape)) ** -shape
    if isinstance(kernel, mc.kernels.NegativeDistance):
        return -(np.sqrt(squares) ** LONG(kernel.exponent))
    if isinstance(kernel, mc.Matern) and kernel.nu % 1.0 == 0.5:
        p = int(kernel.nu)
        root = np.sqrt((2 * p + 1) * squares)
        terms = [
            LONG(factorial(p + i)) / (factorial(i) * factorial(p - i)) * (2 * root) ** (p - i)
            for i in range(p + 1)
        ]
        return np.exp(-root) * LONG(factorial(p)) / LONG(factorial(2 * p)) * sum(terms)
    raise NotImplementedError(f"{kernel} has no formula here yet: add it")


def eigenpairs(K: Any) -> tuple[Any, Any]:
    """Return eigenvalues, largest first, and axes of a symmetric matrix in extended precision.

    LAPACK's axes make it almost diagonal; Jacobi's rotations do the rest, which they square.
    """
    size = np.max(np.abs(K))
    if size == 0 or len(K) == 0:
        return np.zeros(len(K), LONG), np.eye(len(K), dtype=LONG)
    A = (K + K.T) / 2 / size
    V = np.linalg.eigh(A.astype(float))[1].astype(LONG)
    for _ in range(3):
        V = V @ (3 * np.eye(len(A)) - V.T @ V) / 2
    A = V.T @ A @ V
    for _ in range(6):
        if np.max(np.abs(A - np.diag(np.diag(A)))) <= 1e-21:
            break
        _sweep(A, V)
    order = np.argsort(-np.diag(A), kind="stable")
    return size * np.diag(A)[order], V[:, order]


def _sweep(A: Any, V: Any) -> None:
    """Rotate away every entry above the diagonal once, in place."""
    for i in range(len(A)):
        for j in range(i + 1, len(A)):
            if abs(A[i, j]) <= LONG(1e-22):
                continue
            ratio = (A[j, j] - A[i, i]) / (2 * A[i, j])
            t = LONG(1) / (abs(ratio) + np.sqrt(1 + ratio * ratio))
            t = t if ratio >= 0 else -t
            c = 1 / np.sqrt(1 + t * t)
            turn = np.array([[c, t * c], [-t * c, c]])
            both = [i, j]
            A[:, both] = A[:, both] @ turn
            A[both] = turn.T @ A[both]
            V[:, both] = V[:, both] @ turn
