"""Functions of a kernel's Hilbert space H: their values, inner products, norms and main axes.

Everything is computed in double precision and returned as numpy arrays.

What functions H can come near to depends on the kernel. On a compact set the functions of the
Gaussian kernel are dense among the continuous ones: it is universal. Yet on a set with interior
no nonzero constant is one of them: the smoothest function that equals 1 at n points has a norm
that grows beyond all bounds with n (Kroese et al., chapter 6, without those two conditions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import wraps
from numbers import Complex
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np
from array_api_compat import is_array_api_obj
from scipy.sparse import issparse

from mercer.check import (
    UNIT,
    Array,
    Points,
    as_numpy,
    chunks,
    finite,
    how_many,
    members,
    namespace,
    part_of,
    rows_of,
    vectors,
)
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter, NotPositiveDefinite
from mercer.kernels.base import Kernel, Kind
from mercer.kernels.pairs import Aligned, AllPairs
from mercer.kernels.text import kernel as read
from mercer.points import (
    Paired,
    SparseRows,
    as_points,
)
from mercer.rkhs.feature_distances import KERNEL_ROUNDING, join_points, kernel_values
from mercer.rkhs.limits import Limits
from mercer.settings import whole

TIED = 1e-8
"""Moduli closer than this, relatively, are equal where a sign is chosen: rounding has no say."""

P = ParamSpec("P")
T = TypeVar("T")


def unwarned(compute: Callable[P, T]) -> Callable[P, T]:
    """Return the function without numpy's warnings of overflow, which `finite` refuses by name."""

    @wraps(compute)
    def quiet(*args: P.args, **named: P.kwargs) -> T:
        with np.errstate(over="ignore", invalid="ignore"):
            return compute(*args, **named)

    return quiet


def tables(kernel: Kernel, x: Points, y: Points) -> Iterator[tuple[slice, Array]]:
    """Yield the matrix of k(x[i], y[j]) some rows at a time."""
    x, y = as_points(x, "x"), as_points(y, "y")
    for rows in chunks(how_many(x), max(1, Limits.entries // how_many(y))):
        yield rows, kernel_values(kernel, AllPairs(part_of(x, rows), y))


@unwarned
def combination_of_sections(kernel: Kernel, x: Points, points: Points, weights: Array) -> Array:
    """Return Σⱼ k(x, pⱼ) wⱼ for one column of weights or several."""
    parts = [values @ weights for _, values in tables(kernel, x, points)]
    values = np.concatenate(parts) if parts else np.zeros((0, *weights.shape[1:]))
    return finite(values, f"a function of {kernel}")


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Function(Shown):
    r"""A function of the kernel's Hilbert space: a weighted sum of sections of the kernel.

    .. math:: f = \sum_i \alpha_i\, k(\cdot, x_i), \quad
        \langle f, g \rangle = \sum_{ij} \alpha_i \overline{\beta_j}\, k(y_j, x_i), \quad
        \langle f, k(\cdot, x) \rangle = f(x)

    Hence :math:`|f(x)| \le \|f\| \sqrt{k(x, x)}` (see `bound`) and
    :math:`|f(x) - f(y)| \le \|f\|\, d(x, y)` with d as in `mercer.distance`. Functions are values:
    add them, subtract them, multiply them by numbers. One function has many such sums, so that
    ``==`` means the same object and `distance` compares functions. With a conditionally positive
    definite kernel, inner products exist only for weights that sum to zero.

    >>> from mercer import Linear
    >>> f = Function(Linear(), [[1.0, 0.0], [0.0, 2.0]], [3.0, 1.0])
    >>> g = Function.at(Linear(), [1.0, 1.0])
    >>> f([[1.0, 1.0]]), f.inner(g)
    (array([5.]), 5.0)
    >>> f.norm**2, (2 * f - g).distance(f - g) == f.norm
    (13.0, True)

    Aronszajn (1950); Beeny, (40) and (42); Gallier and Quaintance, Theorem 53.8; Kroese et al.,
    Theorem 6.2.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "points": "where the kernel is taken",
        "weights": "of the sections",
    }

    kernel: Kernel
    points: Points
    weights: Array

    def __init__(
        self, kernel: Kernel | str, points: Points, weights: Sequence[complex] | Array
    ) -> None:
        object.__setattr__(self, "kernel", read(kernel))
        object.__setattr__(self, "points", unchangeable_points(points))
        object.__setattr__(self, "weights", _one_each(weights, how_many(self.points)))

    @classmethod
    def at(cls, kernel: Kernel | str, point: Any) -> Function:
        """Return k(·, x), the function with which an inner product is the value at x."""
        return cls(kernel, (point,), [1.0])

    def _title(self) -> str:
        count = how_many(self.points)
        return f"Function: {self.kernel!r} at {count} point{'' if count == 1 else 's'}"

    def __call__(self, x: Points) -> Array:
        """Return f(x[i]) for every point."""
        return combination_of_sections(self.kernel, x, self.points, self.weights)

    @unwarned
    def __add__(self, other: Function) -> Function:
        if not isinstance(other, Function):
            return NotImplemented
        self._refuse_other_space(other)
        if _same(self.points, other.points):
            # Sections at the same points: where f + g is small its weights are small too.
            return Function(self.kernel, self.points, self.weights + other.weights)
        weights = np.concatenate([self.weights, other.weights])
        return Function(self.kernel, join_points(self.points, other.points), weights)

    def __radd__(self, other: object) -> Function:
        """Return f for 0 + f, with which `sum` begins."""
        return self if isinstance(other, Complex) and other == 0 else NotImplemented

    @unwarned
    def __mul__(self, factor: complex) -> Function:
        if not isinstance(factor, Complex):
            return NotImplemented
        return Function(self.kernel, self.points, factor * self.weights)

    __rmul__ = __mul__

    @unwarned
    def __truediv__(self, divisor: complex) -> Function:
        if not isinstance(divisor, Complex):
            return NotImplemented
        if divisor == 0:
            raise InvalidParameter("a function cannot be divided by 0")
        return Function(self.kernel, self.points, self.weights / divisor)

    def __neg__(self) -> Function:
        return -1.0 * self

    def __sub__(self, other: Function) -> Function:
        return self + -other if isinstance(other, Function) else NotImplemented

    def inner(self, other: Function) -> Any:
        """Return ⟨f, g⟩, linear in f and conjugate linear in g: a float, or a complex number."""
        self._refuse_other_space(other)
        return self._form(other)[0]

    @property
    @unwarned
    def norm(self) -> float:
        """‖f‖; a squared norm that rounding made negative counts as zero."""
        squared, largest = self._form(self)
        # Each k is off by at most KERNEL_ROUNDING·max|k|, and (Σ|α|)² <= n Σ|α|².
        doubt = KERNEL_ROUNDING * len(self.weights) * np.sum(np.abs(self.weights) ** 2) * largest
        if squared.real < -doubt:
            raise NotPositiveDefinite(
                f"{self.kernel} gives a function the squared norm {squared.real:.6g} < 0, so it is "
                "not a positive definite kernel and has no Hilbert space"
            )
        return float(np.sqrt(max(squared.real, 0.0)))

    def distance(self, other: Function) -> float:
        """Return ‖f - g‖."""
        self._refuse_other_space(other)
        return (self - other).norm

    @unwarned
    def slopes(self, x: Points) -> Array:
        r"""Return the derivatives of f at points, with the coordinates on a last axis.

        .. math:: \frac{\partial f}{\partial x_j}(x) =
            \sum_i \alpha_i\, \frac{\partial k}{\partial x_j}(x, x_i)

        For a smooth kernel it is an inner product too, with the slope of the section at x, and as
        continuous as values are. Kinks of a kernel have slope 0, see `Kernel.slopes`.

        >>> from mercer import Gaussian
        >>> f = Function(Gaussian(1.0), [[0.0, 0.0]], [2.0])
        >>> f.slopes([[1.0, 0.0], [0.0, 0.0]])
        array([[-1.21306132,  0.        ],
               [ 0.        ,  0.        ]])
        """
        x = as_points(x, "x")
        size = Limits.entries // (16 * how_many(self.points))  # of some 16 coordinates
        rows = chunks(how_many(x), max(1, size))
        parts = [
            np.einsum("ij...,j->i...", self.kernel.slopes(part_of(x, r), self.points), self.weights)
            for r in rows
        ]
        return np.concatenate(parts) if parts else self.kernel.slopes(x, self.points).sum(axis=1)

    @unwarned
    def bound(self, x: Points) -> Array:
        """Return ‖f‖ √k(x, x), which |f(x)| does not exceed."""
        if self.kernel.kind is Kind.CONDITIONAL:
            raise NotPositiveDefinite(
                f"{self.kernel} is conditionally positive definite: f.norm times the distance of x "
                "and y bounds f(x) - f(y), and nothing bounds f(x)"
            )
        own = np.maximum(kernel_values(self.kernel, Aligned(x)).real, 0.0)
        bounds = np.asarray(self.norm * np.sqrt(own))
        return finite(bounds, f"a bound of a function of {self.kernel}")

    @unwarned
    def _form(self, other: Function) -> tuple[Any, float]:
        """Return ⟨f, g⟩ as a Python number and the largest |k| in it."""
        self._refuse_unbalanced()
        other._refuse_unbalanced()
        total, largest = 0.0, 0.0
        for rows, values in tables(self.kernel, other.points, self.points):
            total += other.weights[rows].conj() @ (values @ self.weights)
            largest = max(largest, float(np.max(np.abs(values))))
        product = finite(np.asarray(total), f"an inner product of functions of {self.kernel}")
        return product.item(), largest

    def _refuse_other_space(self, other: Function) -> None:
        if not isinstance(other, Function):
            raise InvalidParameter(f"expected a Function, found {type(other).__name__}")
        if self.kernel != other.kernel:
            raise InvalidParameter(
                f"a function of {self.kernel} and one of {other.kernel} lie in different spaces; "
                "build both with one kernel"
            )

    def _refuse_unbalanced(self) -> None:
        if self.kernel.kind is not Kind.CONDITIONAL:
            return
        rounding = 10 * len(self.weights) * UNIT * np.sum(np.abs(self.weights))
        if np.abs(np.sum(self.weights)) > rounding:
            raise NotPositiveDefinite(
                f"{self.kernel} is conditionally positive definite: it has inner products only "
                f"for weights that sum to zero, and these sum to {np.sum(self.weights):.6g}. "
                "Subtract their mean, or centre the kernel on a sample: k.centred(x)"
            )


def unchangeable_points(points: Points) -> Points:
    """Return points that the caller can no longer change, where their type allows it."""
    points = rows_of(points)
    if isinstance(points, np.ndarray):
        if points.base is None and not (points.flags.writeable or points.dtype.kind == "O"):
            return points
        copy = points.copy()
        if copy.dtype.kind == "O":
            for index, member in np.ndenumerate(points):
                copy[index] = _frozen(member)
        copy.flags.writeable = False
        return copy
    if isinstance(points, Paired):
        return Paired(*(unchangeable_points(part) for part in points.parts))
    if isinstance(points, SparseRows) or issparse(points):
        return as_points(deepcopy(points), "points")
    if is_array_api_obj(points):
        copied: Points = namespace(points).asarray(points, copy=True)
        return copied
    return tuple(_frozen(point) for point in members(as_points(points, "points")))


def _frozen(point: Any) -> Any:
    """Return a point that does not change with the caller's, where its type allows it."""
    if isinstance(point, np.ndarray):
        return unchangeable_points(point)
    if type(point) in (list, tuple):  # named tuples have names to keep
        return tuple(_frozen(part) for part in point)
    return frozenset(point) if isinstance(point, set) else point


def _one_each(weights: Any, count: int) -> Array:
    column = as_numpy(vectors(weights, "weights"))
    if count == 0 or column.shape != (count, 1):
        raise InvalidInput(
            "a function needs at least one point and one weight for each; found "
            f"{count} points and weights of shape {np.shape(weights)}"
        )
    result = column[:, 0].copy()
    result.flags.writeable = False
    return result


def _same(x: Points, y: Points) -> bool:
    arrays = is_array_api_obj(x) and is_array_api_obj(y)
    return x is y or (arrays and np.array_equal(as_numpy(x), as_numpy(y)))


def orientation_of_columns(columns: Array) -> Array:
    """Return for each column the unit number that makes its entry of largest modulus positive.

    Among moduli within `TIED` of the largest, the first decides.

    >>> orientation_of_columns(np.array([[-2.0, 1.0], [2.0, 3.0]]))
    array([-1.,  1.])
    """
    moduli = np.abs(columns)
    first = np.argmax(moduli >= (1.0 - TIED) * np.max(moduli, axis=0), axis=0)
    pivots = columns[first, np.arange(columns.shape[1])]
    return np.asarray(np.conj(pivots) / np.abs(pivots))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PrincipalFunctions(Shown):
    """The main axes of a sample in H: the variances along them, and the axes as functions.

    >>> import mercer as mc
    >>> found = mc.principal_functions(mc.Linear(), [[0.0], [2.0]], 1)
    >>> found.values, round(found.functions[0].norm, 12)
    (array([1.]), 1.0)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "values": "their inertias",
        "functions": "of H",
    }

    values: Array
    """Eigenvalues of the covariance operator, decreasing, and 0 beyond the numerical rank."""
    functions: tuple[Function, ...]
    """Eigenfunctions, orthonormal in H: one for each value that is not 0."""

    def _title(self) -> str:
        return f"PrincipalFunctions: {len(self.functions)}"


def principal_functions(kernel: Kernel | str, x: Points, count: int) -> PrincipalFunctions:
    r"""The leading eigenfunctions of the centred covariance operator of a sample.

    .. math:: \Gamma f = \frac1n \sum_i \langle f, \tilde\varphi_i \rangle\, \tilde\varphi_i,
        \quad \tilde\varphi_i = k(\cdot, x_i) - \frac1n \sum_j k(\cdot, x_j), \quad
        a_k = \frac{1}{\sqrt{\lambda_k}} \sum_i u_{ik}\, \tilde\varphi_i, \quad
        HKH u_k = \lambda_k u_k

    The values are λₖ/n, the inertias of kernel PCA; λₖ ≤ n·u·‖K‖ counts as 0. On each axis the
    coordinate of largest modulus is positive.

    >>> from mercer import Linear
    >>> axes = principal_functions(Linear(), [[1.0, 0.0], [3.0, 0.0]], 2)
    >>> axes.values, [a.norm for a in axes.functions]
    (array([1., 0.]), [1.0])

    Martin, §3 (Yao's operator is not centred).
    """
    kernel, n = read(kernel), how_many(as_points(x, "x"))
    if whole(count, "count", least=1) > n:
        raise InvalidParameter(f"{n} points have at most {n} axes, found count = {count!r}")
    kernel = kernel.resolve(x)
    K = kernel_values(kernel, AllPairs(x))
    centred = K - np.mean(K, axis=0) - np.mean(K, axis=1)[:, None] + np.mean(K)
    values, axes = np.linalg.eigh(0.5 * (centred + centred.conj().T))
    norm = float(np.max(np.abs(np.linalg.eigvalsh(K))))
    refuse_negative(kernel, values[0] / n, KERNEL_ROUNDING * norm)
    values, axes = values[::-1][: int(count)], axes[:, ::-1]
    rank = int(np.sum(values > n * UNIT * norm))
    weights = axes[:, :rank] * orientation_of_columns(axes[:, :rank]) / np.sqrt(values[:rank])
    weights = weights - np.mean(weights, axis=0)
    points = unchangeable_points(x)
    functions = tuple(Function(kernel, points, column) for column in weights.T)
    return PrincipalFunctions(np.where(np.arange(len(values)) < rank, values, 0.0) / n, functions)


def refuse_negative(kernel: Kernel, eigenvalue: float, doubt: float) -> None:
    """Refuse an operator of a kernel that has an eigenvalue below zero beyond doubt."""
    if eigenvalue < -doubt:
        raise NotPositiveDefinite(
            f"{kernel} is not positive definite: its operator has the eigenvalue {eigenvalue:.6g}"
        )
