"""Operations on kernels that look at the points: a weight, a map, a mean to subtract."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from array_api_compat import is_array_api_obj

from mercer.check import (
    Array,
    InvalidInput,
    InvalidParameter,
    NotDifferentiable,
    Points,
    as_points,
    how_many,
    members,
    namespace,
    numbers,
    vectors,
)
from mercer.kernels.base import ATOM, Domain, Kernel, Kind, Name, literal, value, wrap
from mercer.kernels.composite import positive_if_conditional, refuse_conditional
from mercer.kernels.frozen import FrozenArray
from mercer.kernels.pairs import Pairs, Table, conj


@value
class Weighted(Kernel):
    r"""A kernel whose features are multiplied by a function of the point.

    .. math:: k(x, y) = f(x)\, k_1(x, y)\, \overline{f(y)}

    Any real or complex f will do (the text asks for f ≥ 0, which is not needed). f takes points
    and returns one number each; for `slopes` its gradient, shape (n, d), must be given too.

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
        gradient = vectors(self.slope(pairs.x), "slope(x)")
        _refuse_shape(gradient, (how_many(pairs.x), inner.shape[-1]), "slope(x)")
        grown = pairs.of_x(gradient) * (values * right)[..., None]
        slopes: Array = grown + pairs.outer(f, g)[..., None] * inner
        return slopes

    def features(self, x: Points) -> Array:
        return one_each(self.function, x)[:, None] * self.kernel.features(x)

    def formula(self, name: Name) -> tuple[str, int]:
        return f"{wrap(self.kernel, name, ATOM)}.weighted({literal(self.function, name)})", ATOM


def one_each(function: Callable[[Any], Any], x: Points) -> Array:
    """Return a function of points, checked to give one number for each."""
    weights = vectors(function(x), "f(x)")
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

    ψ takes points and returns points, of whatever type the kernel reads; for `slopes` its
    Jacobian, shape (n, out, in), must be given too.

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

    @property
    def reads_vectors(self) -> bool:
        return False  # the map may take anything to vectors

    def seen_by(self, child: str, x: Points) -> Points:
        mapped: Points = self.function(x)
        return mapped

    def evaluate(self, pairs: Pairs) -> Array:
        return self.kernel.evaluate(pairs.mapped(self.function))

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return self.kernel.evaluate_squares(pairs.mapped(self.function))

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        inner = self.kernel.evaluate_partials(pairs.mapped(self.function))
        return {f"kernel__{n}": d for n, d in inner.items()}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        if self.jacobian is None:
            raise NotDifferentiable(
                "the slopes of k.on(psi) need the derivative of psi: k.on(psi, jacobian=...)"
            )
        inner = self.kernel.evaluate_slopes(pairs.mapped(self.function))
        jacobian = self.jacobian(pairs.x)
        columns = np.shape(jacobian)[-1] if np.ndim(jacobian) == 3 else "in"
        _refuse_shape(jacobian, (how_many(pairs.x), inner.shape[-1], columns), "jacobian(x)")
        return namespace(inner).sum(inner[..., :, None] * pairs.of_x(jacobian), axis=-2)

    def features(self, x: Points) -> Array:
        return self.kernel.features(self.function(x))

    def formula(self, name: Name) -> tuple[str, int]:
        return f"{wrap(self.kernel, name, ATOM)}.on({literal(self.function, name)})", ATOM


def _refuse_shape(values: Array, shape: tuple[int | str, ...], what: str) -> None:
    if np.shape(values) != shape:
        expected = ", ".join(str(length) for length in shape)
        raise InvalidInput(f"{what} must have shape ({expected}), found {np.shape(values)}")


def frozen_points(points: Any) -> FrozenArray | tuple[Any, ...]:
    """Return points as a value: numbers as an array that hashes, anything else as a tuple."""
    if isinstance(points, FrozenArray):
        return points
    given = as_points(points, "sample")
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
    return frozenset(point) if isinstance(point, set) else point


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
        if self.weights is not None and abs(sum(self.weights) - 1.0) > 1e-8:
            raise InvalidParameter(f"the weights must sum to 1, found {sum(self.weights)!r}")

    @property
    def kind(self) -> Kind:
        return positive_if_conditional(self.kernel)

    def _points(self) -> Points:
        return self.sample.array if isinstance(self.sample, FrozenArray) else self.sample

    def _sample(self, x: Points) -> Points:
        """Return the sample in the library of other points."""
        points = self._points()
        is_foreign = is_array_api_obj(x) and isinstance(points, np.ndarray)
        return namespace(x).asarray(points) if is_foreign else points

    def _mean(self, values: Array) -> Array:
        """Average over the sample, which is the second axis."""
        xp = namespace(values)
        size = values.shape[1]
        w = xp.asarray(self.weights or [1.0 / size] * size, dtype=values.dtype)
        return xp.tensordot(values, w, axes=((1,), (0,)))

    def _tables(self, pairs: Pairs) -> list[Table]:
        """Return the pairs of x, of y and of the sample with the sample."""
        sample = self._sample(pairs.x)
        left = Table(pairs.x, sample)
        return [left, left if pairs.same else Table(pairs.y, sample), Table(sample)]

    def _centred(self, pairs: Pairs, xy: Array, tables: Sequence[Array]) -> Array:
        left, right, own = (self._mean(table) for table in tables)
        grand = self._mean(own[None, ...])[0]
        means = pairs.of_x(left) + pairs.of_y(conj(right))  # first: so the result is symmetric
        centred: Array = xy - means + grand
        return centred

    def evaluate(self, pairs: Pairs) -> Array:
        tables = [self.kernel.evaluate(table) for table in self._tables(pairs)]
        return self._centred(pairs, self.kernel.evaluate(pairs), tables)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        tables = [self.kernel.evaluate_partials(table) for table in self._tables(pairs)]
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
        mean = self._mean(self.kernel.features(self._sample(x))[None, ...])
        return self.kernel.features(x) - mean

    def formula(self, name: Name) -> tuple[str, int]:
        sample = literal(self.sample, name)
        weights = "" if self.weights is None else f", {literal(self.weights, name)}"
        return f"{wrap(self.kernel, name, ATOM)}.centred({sample}{weights})", ATOM
