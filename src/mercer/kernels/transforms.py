"""Operations on kernels that look at the points: a weight, a map, a mean to subtract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, ClassVar, TypeVar

import numpy as np
from array_api_compat import is_array_api_obj

from mercer.check import Array, Points, array_like, finite, how_many, members, namespace, vectors
from mercer.errors import InvalidInput, InvalidParameter, MercerError, NotDifferentiable
from mercer.kernels.algebra import positive_if_conditional, refuse_conditional
from mercer.kernels.base import ATOM, Domain, Kernel, Kind, Name, literal, value, wrap
from mercer.kernels.features import dense
from mercer.kernels.pairs import (
    AllPairs,
    Pairs,
    Scale,
    checked_scale,
    conj,
    is_complex,
    multiply_scales,
)
from mercer.points import FrozenArray, FrozenRow, SparseRows, as_points
from mercer.settings import numbers

T = TypeVar("T")

MOST_EXCESS = 1e-8
"""Weights whose sum is farther from 1 are a mistake; nearer ones were rounded when written down."""


@dataclass(frozen=True)
class OfPoints:
    """A user's function of points, whose type errors say what it was called with.

    >>> OfPoints(lambda x: 2.0 * x, "f")([1.0])
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: f cannot read points given as a list (can't multiply sequence by non-int of type 'float'); a function gets the points as they are passed: pass an array
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)

    function: Callable[[Any], Any]
    name: str

    def __call__(self, x: Points) -> Any:
        try:
            return self.function(x.matrix if isinstance(x, SparseRows) else x)
        except TypeError as error:
            if is_array_api_obj(x) or isinstance(error, MercerError):
                raise
            raise InvalidInput(
                f"{self.name} cannot read points given as a {type(x).__name__} ({error}); a "
                "function gets the points as they are passed: pass an array"
            ) from error


@value
class Weighted(Kernel):
    r"""A kernel whose features are multiplied by a function of the point.

    .. math:: k(x, y) = f(x)\, k_1(x, y)\, \overline{f(y)}

    Any real or complex f will do (the text asks for f ≥ 0, which is not needed). f takes points
    as you pass them (a list stays a list) and returns one number each; for `slopes` its gradient,
    shape (n, d), must be given too.

    >>> import numpy as np
    >>> from mercer import Linear
    >>> Linear().weighted(lambda x: -np.abs(x[:, 0]))(np.array([[2.0], [3.0]]))
    array([[16., 36.],
           [36., 81.]])

    Kroese et al., Theorem 6.5.2; Gallier and Quaintance, Proposition 53.6.
    """

    kernel: Kernel
    function: Callable[[Any], Any]
    slope: Callable[[Any], Any] | None = None
    theorem: ClassVar[str] = "features times a function of the point are features"
    formula: ClassVar[str] = "f(x) * kernel * f(y)"

    def __post_init__(self) -> None:
        refuse_conditional([self.kernel], "a weighted conditionally positive definite kernel")

    def _weights(self, pairs: Pairs) -> tuple[Array, Array]:
        left = one_each(self.function, pairs.x)
        return left, left if pairs.same else one_each(self.function, pairs.y)

    def evaluate(self, pairs: Pairs) -> Array:
        return pairs.outer(*self._weights(pairs)) * self.kernel.evaluate(pairs)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        weights = pairs.outer(*self._weights(pairs))
        inner = self.kernel.evaluate_partials(pairs)
        return {
            f"kernel__{n}": (weights if d.ndim == weights.ndim else weights[..., None]) * d
            for n, d in inner.items()
        }

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        if self.slope is None:
            raise NotDifferentiable(
                "the slopes of k.weighted(f) need the gradient of f: k.weighted(f, slope=...)"
            )
        f, g = self._weights(pairs)
        inner = self.kernel.evaluate_slopes(pairs)
        values = self.kernel.evaluate(pairs)
        right = pairs.of_y(conj(g))
        gradient = vectors(OfPoints(self.slope, "slope")(pairs.x), "slope(x)")
        _refuse_shape(gradient, (how_many(pairs.x), inner.shape[-1]), "slope(x)")
        grown = pairs.of_x(gradient) * (values * right)[..., None]
        slopes: Array = grown + pairs.outer(f, g)[..., None] * inner
        return slopes

    def features(self, x: Points) -> Array:
        weights = one_each(self.function, x)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            return finite(weights * dense(self.kernel.features(x)), f"a feature of {self}")

    def text(self, name: Name) -> tuple[str, int]:
        return f"{wrap(self.kernel, name, ATOM)}.weighted({literal(self.function, name)})", ATOM


def one_each(function: Callable[[Any], Any], x: Points) -> Array:
    """Return a function of points, checked to give one number for each."""
    weights = vectors(OfPoints(function, "f")(x), "f(x)")
    if tuple(weights.shape) != (how_many(x), 1):
        raise InvalidInput(
            f"the function of k.weighted must return one number for each of the {how_many(x)} "
            f"points, found shape {tuple(weights.shape)}"
        )
    return weights[:, 0]


@value
class PullBack(Kernel):
    r"""A kernel of mapped points.

    .. math:: k(x, y) = k_1(\psi(x), \psi(y))

    ψ takes points as you pass them (a list stays a list) and returns points, of whatever type the
    kernel reads; for `slopes` its Jacobian, shape (n, out, in), must be given too.

    >>> import numpy as np
    >>> from mercer import Linear
    >>> Linear().on(np.sqrt)(np.array([[4.0]]), np.array([[9.0]]))
    array([[6.]])

    Beeny, Theorem 3.22.4; Kroese et al., Theorem 6.5.1.
    """

    kernel: Kernel
    function: Callable[[Any], Any]
    jacobian: Callable[[Any], Any] | None = None
    theorem: ClassVar[str] = "a kernel of mapped points is of the same kind"
    formula: ClassVar[str] = "kernel(psi(x), psi(y))"

    @property
    def reads_vectors(self) -> bool:
        return False  # the map may take anything to vectors

    @property
    def reads_rows(self) -> bool:
        return False

    @property
    def _psi(self) -> OfPoints:
        return OfPoints(self.function, "psi")

    def seen_by(self, child: str, x: Points) -> Points:
        mapped: Points = self._psi(x)
        return mapped

    def evaluate(self, pairs: Pairs) -> Array:
        return self.kernel.evaluate(pairs.mapped(self._psi))

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return self.kernel.evaluate_squares(pairs.mapped(self._psi))

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        inner = self.kernel.evaluate_partials(pairs.mapped(self._psi))
        return {f"kernel__{n}": d for n, d in inner.items()}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        if self.jacobian is None:
            raise NotDifferentiable(
                "the slopes of k.on(psi) need the derivative of psi: k.on(psi, jacobian=...)"
            )
        inner = self.kernel.evaluate_slopes(pairs.mapped(self._psi))
        jacobian = OfPoints(self.jacobian, "jacobian")(pairs.x)
        columns = np.shape(jacobian)[-1] if np.ndim(jacobian) == 3 else "in"
        _refuse_shape(jacobian, (how_many(pairs.x), inner.shape[-1], columns), "jacobian(x)")
        return namespace(inner).sum(inner[..., :, None] * pairs.of_x(jacobian), axis=-2)

    def features(self, x: Points) -> Array:
        return self.kernel.features(self._psi(x))

    def text(self, name: Name) -> tuple[str, int]:
        return f"{wrap(self.kernel, name, ATOM)}.on({literal(self.function, name)})", ATOM


@dataclass(frozen=True)
class Divided:
    """The map of points to points in units of a scale."""

    scale: Scale

    def __call__(self, x: Points) -> Array:
        rows = vectors(x)
        lengths = array_like(self.scale, rows)
        if isinstance(self.scale, tuple) and len(self.scale) != rows.shape[1]:
            raise InvalidInput(
                f"the kernel is stretched by {len(self.scale)} lengths, and the points have "
                f"{rows.shape[1]} coordinates"
            )
        divided: Array = rows / lengths
        return divided


@value
class Stretched(Kernel):
    r"""A kernel of points in units of a scale, where no parameter of the kernel can take it.

    .. math:: k(x, y) = k_1(x / s, y / s), \quad s > 0

    The scale is a unit of the data and no parameter to tune.

    >>> from mercer import Polynomial
    >>> Polynomial(degree=2).stretched([2.0, 4.0])([[2.0, 4.0]], [[4.0, 8.0]])
    array([[25.]])
    """

    kernel: Kernel
    scale: float | tuple[float, ...]
    domain: ClassVar[Domain] = {"scale": lambda s, _: checked_scale(s)}
    theorem: ClassVar[str] = "a kernel of mapped points is of the same kind"
    formula: ClassVar[str] = "kernel(x / scale, y / scale)"

    @property
    def reads_sparse(self) -> bool:
        return False

    def own_parameters(self) -> dict[str, Any]:
        return {}

    def seen_by(self, child: str, x: Points) -> Points:
        return Divided(self.scale)(x)

    def with_children(self, children: Mapping[str, Kernel]) -> Kernel:
        return children["kernel"].stretch(self.scale)  # a parameter of another may take the scale

    def stretch(self, scale: Scale) -> Kernel:
        return Stretched(self.kernel, multiply_scales(self.scale, scale))

    def evaluate(self, pairs: Pairs) -> Array:
        return self.kernel.evaluate(pairs.mapped(Divided(self.scale)))

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return self.kernel.evaluate_squares(pairs.mapped(Divided(self.scale)))

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        inner = self.kernel.evaluate_partials(pairs.mapped(Divided(self.scale)))
        return {f"kernel__{n}": d for n, d in inner.items()}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        inner = self.kernel.evaluate_slopes(pairs.mapped(Divided(self.scale)))
        return inner / array_like(self.scale, inner)

    def features(self, x: Points) -> Array:
        return self.kernel.features(Divided(self.scale)(x))

    def text(self, name: Name) -> tuple[str, int]:
        inner = wrap(self.kernel, name, ATOM)
        return f"{inner}.stretched({literal(self.scale, name)})", ATOM


def _refuse_shape(values: Array, shape: tuple[int | str, ...], what: str) -> None:
    if np.shape(values) != shape:
        expected = ", ".join(str(length) for length in shape)
        raise InvalidInput(f"{what} must have shape ({expected}), found {np.shape(values)}")


def frozen_points(points: Any) -> FrozenArray | tuple[Any, ...]:
    """Return points as a value: numbers as an array that hashes, anything else as a tuple."""
    if isinstance(points, FrozenArray):
        return points
    given = as_points(points, "sample")
    if isinstance(given, SparseRows):
        return FrozenArray(given.toarray())
    try:
        rows = vectors(given, "sample")
    except InvalidInput:
        return tuple(frozen(point) for point in members(given))
    # Points of the line stay numbers, for kernels that read them one at a time.
    return FrozenArray(rows[:, 0] if np.ndim(points) == 1 else rows)


def frozen(point: Any) -> Any:
    """Return a point that can be hashed, where its type allows it."""
    if isinstance(point, list | tuple):
        return tuple(frozen(part) for part in point)
    if isinstance(point, np.ndarray) and point.ndim == 1:  # of two axes it may be a graph
        return frozen(point.tolist())
    if isinstance(point, Mapping):
        return FrozenRow({name: frozen(part) for name, part in point.items()})
    return frozenset(point) if isinstance(point, set) else point


def _on_each(evaluate: Callable[[Pairs], T], tables: Sequence[AllPairs]) -> list[T]:
    """Return a function of each table, computed once for tables that are one object."""
    known = {table: evaluate(table) for table in dict.fromkeys(tables)}
    return [known[table] for table in tables]


def _summing_to_one(weights: Sequence[float]) -> tuple[float, ...]:
    """Return weights divided by their sum, unless rounding alone keeps it from being 1."""
    total = fsum(weights)
    if abs(total - 1.0) > MOST_EXCESS:
        raise InvalidParameter(f"the weights must sum to 1, found {total!r}")
    # Weights that were divided once are left alone: to make a kernel again must not change it.
    is_rounding = abs(total - 1.0) <= np.finfo(np.float64).eps * fsum(abs(w) for w in weights)
    return tuple(weights) if is_rounding else tuple(w / total for w in weights)


@value
class CentredOn(Kernel):
    r"""The kernel of features centred at the mean of a sample s with weights w.

    .. math:: \tilde k(x, y) = k(x, y) - \sum_j w_j k(x, s_j) - \sum_i w_i k(s_i, y)
        + \sum_{ij} w_i w_j k(s_i, s_j)

    It is positive definite for positive definite k, and for conditionally positive definite k
    too; weights may be signed, they must sum to 1.

    >>> from mercer import Linear
    >>> Linear().centred([[1.0], [3.0]])([[2.0], [5.0]])
    array([[0., 0.],
           [0., 9.]])

    Martin, Proposition 8; Gallier and Quaintance, §53.4.
    """

    kernel: Kernel
    sample: FrozenArray | tuple[Any, ...] | Points
    weights: tuple[float, ...] | Sequence[float] | None = None
    domain: ClassVar[Domain] = {
        "sample": lambda s, _: frozen_points(s),
        "weights": lambda w, name: None if w is None else numbers(w, name),
    }
    theorem: ClassVar[str] = "centring makes (conditionally) positive definite kernels positive"

    def __post_init__(self) -> None:
        Kernel.__post_init__(self)
        if len(self._points()) == 0:
            raise InvalidInput("a kernel cannot be centred on an empty sample")
        if self.weights is not None and len(self.weights) != len(self._points()):
            raise InvalidParameter(
                f"there are {len(self.weights)} weights for {len(self._points())} points"
            )
        if self.weights is not None:
            object.__setattr__(self, "weights", _summing_to_one(self.weights))

    @property
    def kind(self) -> Kind:
        return positive_if_conditional(self.kernel)

    def _points(self) -> Points:
        return self.sample.array if isinstance(self.sample, FrozenArray) else self.sample

    def _sample(self, x: Points) -> Points:
        """Return the sample in the library of other points."""
        points = self._points()
        is_moved = is_array_api_obj(x) and isinstance(points, np.ndarray)
        return array_like(points, x) if is_moved else points

    def _mean(self, values: Array) -> Array:
        """Average over the sample, which is the second axis."""
        xp = namespace(values)
        size = values.shape[1]
        w = xp.astype(array_like(self.weights or [1.0 / size] * size, values), values.dtype)
        return xp.tensordot(values, w, axes=((1,), (0,)))

    def _tables(self, pairs: Pairs) -> tuple[AllPairs, AllPairs, AllPairs]:
        """Return the pairs of x, of y and of the sample with the sample."""
        sample = self._sample(pairs.x)
        left = AllPairs(pairs.x, sample)
        return left, left if pairs.same else AllPairs(pairs.y, sample), AllPairs(sample)

    def _centred(self, pairs: Pairs, xy: Array, tables: Sequence[Array]) -> Array:
        left, right, own = (self._mean(table) for table in tables)
        half = 0.5 * self._mean(own[None, ...])[0]
        # The means first: so the result is symmetric.
        centred: Array = xy - (pairs.of_x(left - half) + pairs.of_y(conj(right - half)))
        return centred

    def evaluate(self, pairs: Pairs) -> Array:
        k, tables = self.kernel, self._tables(pairs)
        if type(k).evaluate_squares is Kernel.evaluate_squares:  # a difference of values
            return self._centred(pairs, k.evaluate(pairs), _on_each(k.evaluate, tables))
        # The weights sum to 1, so -d²/2 may stand for k, and does not cancel far from the origin.
        squares = _on_each(k.evaluate_squares, tables)
        centred = self._centred(pairs, k.evaluate_squares(pairs), squares)
        centred *= -0.5
        values = [k.evaluate(pairs), *_on_each(k.evaluate, tables[:2])]
        return centred + self._twist(pairs, values) if any(map(is_complex, values)) else centred

    def _twist(self, pairs: Pairs, values: Sequence[Array]) -> Array:
        """Return the imaginary part, which distances do not see; its grand mean is zero."""
        xp = namespace(*values)
        xy, left, right = (xp.imag(xp.astype(v, xp.complex128)) for v in values)
        means = pairs.of_x(self._mean(left)) - pairs.of_y(self._mean(right))
        return 1j * xp.astype(xy - means, xp.complex128)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        tables = _on_each(self.kernel.evaluate_partials, self._tables(pairs))
        inner = self.kernel.evaluate_partials(pairs)
        return {
            f"kernel__{n}": self._centred(pairs, d, [table[n] for table in tables])
            for n, d in inner.items()
        }

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        to_sample = self.kernel.evaluate_slopes(self._tables(pairs)[0])
        return self.kernel.evaluate_slopes(pairs) - pairs.of_x(self._mean(to_sample))

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return self.kernel.evaluate_squares(pairs)  # distances do not see where the origin is

    def own_parameters(self) -> dict[str, Any]:
        return {}

    def features(self, x: Points) -> Array:
        own, phi = (dense(self.kernel.features(points)) for points in (self._sample(x), x))
        with np.errstate(over="ignore", invalid="ignore"):
            return finite(phi - self._mean(own[None, ...]), f"a feature of {self}")

    def text(self, name: Name) -> tuple[str, int]:
        sample = literal(self.sample, name)
        weights = "" if self.weights is None else f", {literal(self.weights, name)}"
        return f"{wrap(self.kernel, name, ATOM)}.centred({sample}{weights})", ATOM
