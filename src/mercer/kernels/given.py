"""Kernels given as they are: a Python function, equality, or a matrix of numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar, cast

import numpy as np

from mercer.check import (
    ASYMMETRY,
    Array,
    Points,
    as_numpy,
    how_many,
    members,
    refuse_sparse,
    square_matrix,
    worst_asymmetry,
)
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.pairs import Pairs, Scale
from mercer.kernels.point_pairs import DISTANCE_ACCURACY as DISTANCE_ACCURACY
from mercer.kernels.point_pairs import (
    as_lists,
    hashable,
)
from mercer.points import FrozenArray
from mercer.settings import is_yes


@value
class Delta(Kernel):
    r"""One for equal points and zero for others, on points of any kind.

    .. math:: k(x, y) = 1_{x = y}

    On a finite set its space is :math:`\mathbb{R}^n` with the usual inner product.

    Points are of any kind.

    >>> Delta()(["a", "b"], ["b"])
    array([[0.],
           [1.]])

    Beeny, Example 3.18.
    """

    theorem: ClassVar[str] = "distinct points have orthonormal features"
    formula: ClassVar[str] = "delta[x, y]"

    def stretch(self, scale: Scale) -> Kernel:
        return self  # equal points stay equal

    def evaluate(self, pairs: Pairs) -> Array:
        left, right = codes(pairs)
        equal: Array = pairs.of_x(left) == pairs.of_y(right)
        return pairs.array(equal.astype(np.float64))


def _function(f: Any, name: str) -> Callable[[Any, Any], Any]:
    if not callable(f):
        raise InvalidParameter(f"{name} must be a Python function of two points, found {f!r}")
    return cast(Callable[[Any, Any], Any], f)


@value
class FromFunction(Kernel):
    r"""A Python function of two points, taken at its word to be a kernel.

    .. math:: k(x, y) = f(x, y)

    Nothing but a test can tell whether it is one: see `positive_definite` and `check_kernel`.

    Points are of any kind that the ``function`` takes.

    >>> shared = FromFunction(lambda a, b: float(len(set(a) & set(b))))
    >>> shared(["gene", "protein"])
    array([[3., 2.],
           [2., 7.]])

    It is called once for two points, as f(x, y) = conj f(y, x), and a model keeps what it returned
    in memory: 4n² bytes for n points, of up to a quarter of what may be used.

    With ``vectorised=True`` the function takes two blocks of points and returns the matrix of
    their values, and nothing needs to be kept.

    >>> import numpy as np
    >>> inner = FromFunction(lambda x, y: x @ y.T, vectorised=True)
    >>> inner(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 5., 11.],
           [11., 25.]])

    Aronszajn, Theory of reproducing kernels, 1950.
    """

    function: Callable[[Any, Any], Any]
    vectorised: bool = False
    domain: ClassVar[Domain] = {"function": _function, "vectorised": is_yes}

    @property
    def is_costly(self) -> bool:
        return not self.vectorised

    def own_parameters(self) -> dict[str, Any]:
        return {}

    def evaluate(self, pairs: Pairs) -> Array:
        values = pairs.blocks if self.vectorised else pairs.each
        return pairs.array(values(self.function))


def _gram(v: Any, name: str) -> FrozenArray:
    if isinstance(v, FrozenArray):
        return v
    matrix = square_matrix(v, name)
    asymmetry, (i, j) = worst_asymmetry(matrix)
    if asymmetry > ASYMMETRY:
        raise InvalidInput(
            f"{name} is not symmetric: entry ({i}, {j}) is {matrix[i, j]:.6g} and entry ({j}, {i}) "
            f"is {matrix[j, i]:.6g}, a relative difference of {asymmetry:.2g}. A kernel has "
            "k(x, y) = conj k(y, x)"
        )
    return FrozenArray(matrix if asymmetry == 0.0 else matrix / 2 + matrix.conj().T / 2)


@value
class Precomputed(Kernel):
    r"""A Gram matrix as a kernel on its row numbers.

    .. math:: k(i, j) = K_{ij}

    Points are numbers of rows of ``gram``, from 0; it is symmetric, or Hermitian.

    >>> Precomputed([[2.0, 1.0], [1.0, 2.0]])([0, 1], [1])
    array([[1.],
           [2.]])

    That it is symmetric is checked; whether it is positive definite is a question for
    `positive_definite`.

    Aronszajn, Theory of reproducing kernels, 1950.
    """

    gram: FrozenArray | Array
    domain: ClassVar[Domain] = {"gram": _gram}
    has_exact_values: ClassVar[bool] = True
    reads_places: ClassVar[bool] = True
    formula: ClassVar[str] = "K[x, y]"

    @property
    def matrix(self) -> Array:
        """The Gram matrix as a read-only array."""
        return self.gram.array if isinstance(self.gram, FrozenArray) else self.gram

    def own_parameters(self) -> dict[str, Any]:
        return {}

    def _rows(self, points: Points, name: str) -> Array:
        n = len(self.matrix)
        try:
            rows = as_numpy(points)
        except ValueError:  # points of different lengths
            rows = np.empty(how_many(points), dtype=object)
        if rows.dtype.kind not in "iuf" or rows.size != rows.shape[0]:
            raise InvalidInput(
                f"the points of a precomputed kernel are row numbers from 0 to {n - 1}; {name} "
                f"holds {rows.dtype} of shape {rows.shape}"
            )
        rows = rows.reshape(-1)
        wrong = (rows < 0) | (rows >= n) | (rows != np.floor(rows))
        if np.any(wrong):
            i = int(np.argmax(wrong))
            raise InvalidInput(
                f"the points of a precomputed kernel are row numbers from 0 to {n - 1}; {name} "
                f"has {rows[i]} at {i}"
            )
        return rows.astype(np.intp)

    def evaluate(self, pairs: Pairs) -> Array:
        left = self._rows(pairs.x, "x")
        right = left if pairs.same else self._rows(pairs.y, "y")
        rows, columns = np.broadcast_arrays(pairs.of_x(left), pairs.of_y(right))
        return pairs.array(self.matrix[rows, columns])


def codes(pairs: Pairs) -> tuple[Array, Array]:
    """Number the points so that equal points, and only those, have equal numbers."""
    for points, name in ((pairs.x, "x"), (pairs.y, "y")):
        refuse_sparse(points, name)
    seen: dict[Hashable, int] = {}

    def number(points: Points) -> Array:
        keys = (hashable(p) for p in members(as_lists(points)))
        return np.fromiter((seen.setdefault(k, len(seen)) for k in keys), np.intp)

    left = number(pairs.x)
    return left, left if pairs.same else number(pairs.y)
