"""What is compared: Gram matrices of the same individuals, centred so that their sums are zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from mercer.check import Array, Points, as_numpy, vectors, weights_of
from mercer.engines.tiles import Block
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import as_kernel
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.given import Precomputed
from mercer.kernels.text import kernel as read
from mercer.operators import shares
from mercer.points import (
    SparseRows,
    as_points,
    lies_on_disk,
    take,
)

VALUE_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
"""Error of a kernel's values, as a share of the largest."""


SAFE = 1e60
"""Sizes of points, or their inverses, up to which fourth powers are doubles."""


@dataclass(frozen=True)
class Limits:
    """How much of matrices that are compared is held, and how much is done at a time.

    >>> Limits().stored
    3000
    """

    stored: int = 3_000
    """Individuals up to which centred matrices are kept in memory: 72 MB each."""

    room: int = 2**27
    """Numbers that the matrices kept in memory may have together: 1 GB."""

    rows: int = 64
    """Rows of a stored matrix that are permuted at a time, so that they stay in the cache."""

    strip: int = 256
    """Rows of matrices that are not stored held at a time, each of n numbers."""

    tiles: int = 4
    """Tiles of each matrix that are multiplied before Ctrl-C is heard."""

    batch: int = 16
    """Permutations that a thread takes at a time."""

    entries: int = 2**24
    """Entries to be permuted in all, below which threads take longer to start than to work."""


LIMITS = Limits()
"""What comparisons keep to; a centring takes them along to all that is compared."""


def side(kernel: Any, points: Points | None, name: str, sample_weight: Any = None) -> Gram:
    """Return the Gram matrix of a kernel on points, or a matrix as that of its row numbers.

    ``kernel`` is a kernel, its written form, a function of two points, a `Gram`, a matrix, or a
    pair of a kernel and its points. Individuals without weight are left out.

    >>> side("linear()", [[1.0], [2.0]], "k").dense().tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """
    if isinstance(kernel, tuple) and len(kernel) == 2 and _is_kernel(kernel[0]):
        kernel, points = kernel
    if isinstance(kernel, Gram):
        given = _symmetric(kernel, name)
        x = present(given.x, sample_weight)
        if x is given.x:
            return given
        return Gram(given.kernel, x, engine=given.engine, tile=given.tile)
    if not _is_kernel(kernel):
        matrix = Precomputed(_matrix(kernel, name))
        return Gram(matrix, present(np.arange(len(matrix.matrix)), sample_weight))
    if points is None:
        raise InvalidInput(f"{name} is a kernel and has no points: give them, or its Gram matrix")
    k = as_kernel(kernel)
    found = present(as_points(points, f"the points of {name}"), sample_weight)
    is_sparse = isinstance(found, SparseRows) and k.reads_sparse
    if k.reads_vectors and not lies_on_disk(found) and not is_sparse:
        found = as_numpy(vectors(found, f"the points of {name}"))
    gram = Gram(k, found)
    gram.refuse_no_kernel()
    return gram


def present(points: Points, sample_weight: Any) -> Points:
    """Return the individuals that have a weight: the others neither count nor are permuted.

    >>> present(["a", "b", "c"], [1.0, 0.0, 2.0])
    ['a', 'c']
    """
    if sample_weight is None:
        return points
    rows = np.flatnonzero(weights_of(sample_weight, len(points)))
    return points if len(rows) == len(points) else take(points, rows)


def scale_gram(gram: Gram) -> Gram:
    """Return a matrix that makes the same angles, of points neither too large nor small to square.

    >>> from mercer import Linear
    >>> float(scale_gram(Gram(Linear(), np.array([[1e200], [3e200]]))).dense().max())
    1.0
    """
    if not _is_of_vectors(gram):
        return gram
    x = cast(Array, gram.x)
    unit = float(np.max(np.abs(x), initial=0.0))
    if unit == 0.0 or 1.0 / SAFE < unit < SAFE:
        return gram
    return Gram(gram.kernel, x / unit, engine=gram.engine, tile=gram.tile)


def _is_of_vectors(gram: Gram) -> bool:
    """Whether a matrix is that of inner products of rows in memory, which can be moved."""
    is_table = isinstance(gram.x, np.ndarray) and not lies_on_disk(gram.x)
    return gram.kernel.is_linear and is_table


def _is_kernel(given: Any) -> bool:
    return isinstance(given, Kernel | str | Gram) or callable(given)


def _symmetric(gram: Gram, name: str) -> Gram:
    if not gram.is_symmetric:
        raise InvalidInput(f"{name} is a matrix between two data sets; one of one data set is due")
    return gram


def _matrix(given: Any, name: str) -> Any:
    shape = np.shape(given)
    if len(shape) == 2 and shape[0] == shape[1]:
        return given
    raise InvalidInput(
        f"{name} must be a kernel, its written form, a pair of a kernel and its points, or a Gram "
        f"matrix, found {type(given).__name__} of shape {shape}"
    )


def named_sides(kernels: Any, points: Any, sample_weight: Any = None) -> dict[str, Gram]:
    """Return Gram matrices by name, from a mapping or a sequence of kernels.

    ``points`` are shared by all, or a mapping with those of each name.

    >>> list(named_sides(["linear()", "gaussian(bandwidth=1.0)"], [[0.0], [1.0]]))
    ['linear()', 'gaussian(bandwidth=1.0)']
    """
    if isinstance(kernels, Mapping):
        given = {str(name): kernel for name, kernel in kernels.items()}
    elif isinstance(kernels, Sequence) and not isinstance(kernels, str):
        given = {_called(k, i): k for i, k in enumerate(kernels)}
        if len(given) < len(kernels):
            raise InvalidParameter("two of the kernels are the same: name them with a mapping")
    else:
        raise InvalidParameter(
            f"kernels must be a mapping from names to kernels or a sequence, found {kernels!r}"
        )
    if len(given) < 2:
        raise InvalidParameter(f"at least two kernels are needed, found {len(given)}")
    found = {
        name: side(k, _own(points, name, k), repr(name), sample_weight) for name, k in given.items()
    }
    same_individuals(found)
    return found


def _called(kernel: Any, index: int) -> str:
    if isinstance(kernel, tuple):
        kernel = kernel[0]
    return str(kernel) if isinstance(kernel, Kernel | str) else f"kernel {index + 1}"


def reads_rows(given: Any) -> bool:
    """Whether what is given is a kernel on the rows of a table.

    >>> reads_rows("columns({'age': linear()})"), reads_rows("linear()")
    (True, False)
    """
    kernel = given[0] if isinstance(given, tuple) else given
    return isinstance(kernel, Kernel | str) and read(kernel).reads_rows


def _own(points: Any, name: str, kernel: Any) -> Any:
    """Return the points of a kernel; a mapping is one of kernels unless the kernel reads tables."""
    if not isinstance(points, Mapping) or reads_rows(kernel):
        return points
    if name not in points:
        raise InvalidInput(f"points has no entry {name!r}; it has {', '.join(map(str, points))}")
    return points[name]


def same_individuals(sides: Mapping[str, Gram]) -> int:
    """Return how many individuals all matrices are of, or name two that differ."""
    (first, gram), *others = sides.items()
    n = gram.shape[0]
    for name, other in others:
        if other.shape[0] != n:
            raise InvalidInput(
                f"{first} has {n} individuals and {name} has {other.shape[0]}; row i must be the "
                "same individual in all"
            )
    if n < 2:
        raise InvalidInput(f"at least two individuals are needed, found {n}")
    return n


@dataclass(frozen=True, eq=False)
class Centring:
    r"""How a matrix is centred, and the weight of each entry in a sum of products.

    The features minus their weighted mean, for V-statistics:

    .. math:: \tilde k_{ij} = k_{ij} - (Kw)_i - (Kw)_j + w^\top K w, \quad
        \langle K, L \rangle = \sum_{ij} w_i w_j\, \tilde k_{ij}\, \tilde l_{ij}

    For U-statistics the diagonal is left out (Székely and Rizzo, 2014):

    .. math:: \tilde k_{ij} = k_{ij} - \tfrac{1}{n-2} \sum_{l \ne i} k_{il}
        - \tfrac{1}{n-2} \sum_{l \ne j} k_{lj} + \tfrac{1}{(n-1)(n-2)} \sum_{l \ne m} k_{lm},
        \quad i \ne j, \quad \tilde k_{ii} = 0,
        \quad \langle K, L \rangle = \tfrac{1}{n(n-3)} \sum_{ij} \tilde k_{ij}\, \tilde l_{ij}

    Either way rows sum to zero, weighted or not: entries are small before they are multiplied, so
    that large means cost no digits.
    """

    weights: Array
    is_unbiased: bool = False
    limits: Limits = field(default_factory=lambda: LIMITS)

    @property
    def is_equal(self) -> bool:
        """Whether all individuals weigh the same, to rounding."""
        return float(np.ptp(self.weights)) <= VALUE_ROUNDING * float(np.max(self.weights))

    def of(self, gram: Gram) -> CentredSide:
        """Return a Gram matrix with what its tiles are centred by, found in one pass."""
        gram = shift_gram(gram, self.weights)
        return self._side(gram, gram)

    def dense(self, gram: Gram) -> Array:
        """Return the whole centred matrix."""
        gram = shift_gram(gram, self.weights)
        K, every = gram.dense(), slice(0, gram.shape[0])
        return self._side(gram, K).centred(K, Block(every, every))

    def _side(self, gram: Gram, K: Gram | Array) -> CentredSide:
        n = len(self.weights)
        if not self.is_unbiased:
            means = K @ self.weights
            return CentredSide(gram, self, means, float(np.real(self.weights @ means)))
        sums = K @ np.ones(n) - gram.diag()
        total = float(np.real(sums.sum())) / ((n - 1) * (n - 2))
        return CentredSide(gram, self, sums / (n - 2), total)

    def scale(self, block: Block) -> Array:
        """Return the weight of each product in a block."""
        if self.is_unbiased:
            n = len(self.weights)
            return np.full((1, 1), 1.0 / (n * (n - 3)))
        scale: Array = self.weights[block.rows][:, None] * self.weights[block.columns]
        return scale


def centring(weights: Any, n: int, *, is_unbiased: bool = False) -> Centring:
    """Return the centring of the n individuals with a weight; weights have no U-statistic."""
    if is_unbiased:
        if weights is not None:
            raise InvalidParameter(
                "the unbiased statistic needs equal weights: leave sample_weight out, or use "
                "estimator='biased'"
            )
        if n < 4:
            raise InvalidInput(f"the unbiased statistic needs at least 4 individuals, found {n}")
    if weights is None:
        return Centring(np.full(n, 1.0 / n), is_unbiased)
    given = np.asarray(weights, dtype=np.float64)
    return Centring(shares(given[given != 0.0], n))


def shift_gram(gram: Gram, weights: Array) -> Gram:
    """Return the matrix of centred points where the kernel is linear: centring it is the same."""
    if not _is_of_vectors(gram):
        return gram
    x = cast(Array, gram.x)
    rows = x.reshape(len(x), -1)
    return Gram(gram.kernel, rows - weights @ rows, engine=gram.engine, tile=gram.tile)


@dataclass(frozen=True, eq=False)
class CentredSide:
    """A Gram matrix whose tiles are centred when they are asked for."""

    gram: Gram
    how: Centring
    means: Array
    total: float

    @property
    def n(self) -> int:
        return self.gram.shape[0]

    def tile(self, block: Block) -> Array:
        """Return the centred values of a block, in memory of its own."""
        return self.centred(self.gram.cut().tile(block), block)

    def centred(self, values: Array, block: Block) -> Array:
        """Return values of the matrix minus what they are centred by."""
        rows, columns = self.means[block.rows], self.means[block.columns].conj()
        result: Array = values - (rows - self.total)[:, None]
        result -= columns
        if self.how.is_unbiased and block.is_diagonal:
            np.fill_diagonal(result, 0.0)
        return result

    def taken(self, rows: Array) -> CentredSide:
        """Return the matrix of the same individuals in another order."""
        gram = self.gram
        moved = Gram(gram.kernel, take(gram.x, rows), engine=gram.engine, tile=gram.tile)
        return replace(self, gram=moved, means=self.means[rows])


def noise(gram: Gram) -> float:
    """Return the size of an entry of the centred matrix that rounding may have left of zero.

    Vectors of a linear kernel are centred before they are multiplied: their products are then off
    by a square of the rounding.
    """
    largest = float(np.max(np.abs(gram.diag()), initial=0.0))
    return (VALUE_ROUNDING**2 if _is_of_vectors(gram) else VALUE_ROUNDING) * largest
