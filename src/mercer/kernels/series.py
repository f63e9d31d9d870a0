"""Kernels from explicit features: feature maps and orthonormal series."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from array_api_compat import is_array_api_obj

from mercer.check import Array, Points, as_numpy, finite, how_many, vectors
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.pairs import Pairs
from mercer.kernels.transforms import OfPoints
from mercer.settings import nonnegative, numbers


def _map(f: Any, name: str) -> Callable[[Any], Any]:
    if not callable(f):
        raise InvalidParameter(f"{name} must be a function of points, found {f!r}")
    return cast(Callable[[Any], Any], f)


def _maps(functions: Any, name: str) -> tuple[Callable[[Any], Any], ...]:
    if not isinstance(functions, Iterable):
        raise InvalidParameter(f"{name} must be a sequence of functions, found {functions!r}")
    return tuple(_map(f, f"{name}[{i}]") for i, f in enumerate(functions))


def feature_rows(phi: Callable[[Any], Any], x: Points) -> Array:
    """Return φ(x) with one row for each point, checked."""
    rows: Array = OfPoints(phi, "phi")(x)
    if not hasattr(rows, "toarray"):
        rows = vectors(rows, "phi(x)")
    if rows.shape[0] != how_many(x):
        raise InvalidInput(
            f"the feature map returned {rows.shape[0]} rows for {how_many(x)} points; it must "
            "return one row for each"
        )
    refuse_single(phi, "the feature map", "row", x)
    return rows


def refuse_single(f: Callable[[Any], Any], name: str, what: str, x: Points) -> None:
    """Refuse a function of one point, whose numbers may be as many as the points by chance.

    Of the first point alone, one of several points returns one row, or one number.
    """
    if how_many(x) < 2:
        return
    why = f"must take points together and return one {what} for each, not read a single point"
    points: Any = x
    try:
        found = f(points[:1, ...] if is_array_api_obj(x) else points[:1])
        count = found.shape[0] if hasattr(found, "shape") else len(found)
    except Exception as error:
        raise InvalidInput(
            f"{name} {why}: of the first point alone it gives {type(error).__name__}: {error}"
        ) from error
    if count != 1:
        raise InvalidInput(f"{name} {why}: of the first point alone it returned {count} {what}s")


@value
class FeatureMap(Kernel):
    r"""The inner product of explicit features, real or complex, dense or sparse.

    .. math:: k(x, y) = \langle \varphi(x), \varphi(y) \rangle

    φ takes points as you pass them (a list stays a list) and returns one row of features for
    each; two maps may give one kernel.

    Points are of any kind that ``phi`` takes.

    >>> once = FeatureMap(lambda x: np.asarray(x))
    >>> twice = FeatureMap(lambda x: np.hstack([x, x]) / np.sqrt(2))
    >>> once([[2.0]], [[3.0]]), twice([[2.0]], [[3.0]])
    (array([[6.]]), array([[6.]]))

    Kroese et al., §6.4.1 and Example 6.5.
    """

    phi: Callable[[Any], Any]
    domain: ClassVar[Domain] = {"phi": _map}
    theorem: ClassVar[str] = "an inner product of features is positive definite"
    formula: ClassVar[str] = "inner(phi(x), phi(y))"

    def evaluate(self, pairs: Pairs) -> Array:
        left = feature_rows(self.phi, pairs.x)
        return pairs.dot(left, left if pairs.same else feature_rows(self.phi, pairs.y))

    def features(self, x: Points) -> Array:
        return feature_rows(self.phi, x)


@value
class Series(Kernel):
    r"""A series of functions, orthonormal in the space where its norm is computed.

    .. math:: k(x, y) = \sum_i \lambda_i\, \xi_i(x)\, \overline{\xi_i(y)}, \quad \lambda_i \ge 0,
        \quad \|\textstyle\sum_i a_i \xi_i\|^2 = \sum_i \frac{|a_i|^2}{\lambda_i}

    The condition is Σ λᵢ|ξᵢ(x)|² < ∞ at every x (Σ λᵢ < ∞ is not enough), which for finitely
    many functions says that they are finite. Each ξᵢ takes points as you pass them (a list stays
    a list) and returns one number each.

    Points are of any kind that the ``functions`` take; ``weights`` λ ≥ 0, one for each.

    >>> k = Series([lambda x: 1.0 + 0.0 * x, lambda x: x], [1.0, 2.0])
    >>> k(np.array([3.0]), np.array([4.0]))
    array([[25.]])
    >>> bool(k.norm([3.0, 4.0]) == np.sqrt(9 / 1 + 16 / 2))
    True

    Kroese et al., §6.4.3.
    """

    functions: tuple[Callable[[Any], Any], ...] | Sequence[Callable[[Any], Any]]
    weights: tuple[float, ...] | Sequence[float]
    domain: ClassVar[Domain] = {
        "functions": _maps,
        "weights": lambda w, name: numbers(w, name, nonnegative),
    }
    theorem: ClassVar[str] = "a sum of products f(x) f(y) with nonnegative weights"

    def __post_init__(self) -> None:
        Kernel.__post_init__(self)
        if len(self.functions) != len(self.weights):
            raise InvalidParameter(
                f"there are {len(self.functions)} functions and {len(self.weights)} weights"
            )

    def own_parameters(self) -> dict[str, Any]:
        return {"weights": self.weights}

    def _values(self, x: Points) -> Array:
        columns = [
            as_numpy(OfPoints(f, f"functions[{i}]")(x)).reshape(-1)
            for i, f in enumerate(self.functions)
        ]
        if any(len(c) != how_many(x) for c in columns):
            raise InvalidInput("each function of a series must return one number for each point")
        for i, f in enumerate(self.functions):
            refuse_single(f, f"functions[{i}]", "number", x)
        return finite(np.stack(columns, axis=1), "a function of the series")

    def evaluate(self, pairs: Pairs) -> Array:
        left = self.features(pairs.x)
        values = pairs.dot(left, left if pairs.same else self.features(pairs.y))
        return pairs.array(values)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        left, right = self._values(pairs.x), self._values(pairs.y)
        columns = range(len(self.weights))
        products = [pairs.outer(left[:, i], right[:, i]) for i in columns]
        return {"weights": pairs.array(np.stack(products, axis=-1))}

    def features(self, x: Points) -> Array:
        with np.errstate(over="ignore"):
            return finite(self._values(x) * np.sqrt(self.weights), f"a feature of {self}")

    def norm(self, coefficients: Sequence[float]) -> float:
        """Return the norm in H of Σ aᵢξᵢ; a coefficient on a zero weight leaves the space."""
        a, w = np.abs(np.asarray(coefficients)), np.asarray(self.weights)
        if a.shape != w.shape:
            raise InvalidInput(f"expected {len(w)} coefficients, found {a.shape}")
        if np.any(a[w == 0] > 0):
            raise InvalidInput("a function with weight 0 is not in the space: its norm is infinite")
        return float(np.sqrt(np.sum(a[w > 0] ** 2 / w[w > 0])))
