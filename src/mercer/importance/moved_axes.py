"""The leading axes of data of which some columns are permuted, found from those of the data."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dsyevd

from mercer.check import Array
from mercer.errors import InvalidInput, NotPositiveDefinite
from mercer.importance.permuted import (
    ColumnGroup,
    shares_squares,
    shuffle_columns,
    split_kernel,
    width,
)
from mercer.kernels.base import Kernel
from mercer.spectrum.nearby import ACCURATE, TOLERANCE, Axes, doubt_of, largest, refine_axes

EXTRA = 4
"""Axes kept beyond those asked for: a start for axes that change places."""

SMALL = 64
"""Matrices up to this side are decomposed whole."""

POWERS = 3
"""Powers that lead from axes to those of permuted data; the rest is counted as doubt."""

FROM_NOWHERE = 15
"""Rounds of as many powers that find axes from a random start."""

SHARE_ROUNDING = 1e-12
"""Difference of two shares that is rounding."""

SINGLE = 1e-6
"""The same in single precision."""

RIDGE = {np.float32: 1e-3, np.float64: 1e-8}
"""Added to the kernel between landmarks, as a share of its mean diagonal: more than rounding takes
from it, and little beside the leading eigenvalues, which grow with the number of landmarks."""

RECENT = 4
"""Groups whose preparation is kept: threads come to groups one after another."""

T = TypeVar("T")


class Recent(Generic[T]):
    """The values of a function at its last few keys; a copy in another process makes them anew.

    >>> import pickle
    >>> made = Recent(tuple)
    >>> made("ab") is made("ab"), pickle.loads(pickle.dumps(made))("ab")
    (True, ('a', 'b'))
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make, self._known = make, lru_cache(maxsize=RECENT)(make)

    def __call__(self, key: Any) -> T:
        return self._known(key)

    def __reduce__(self) -> tuple[Any, ...]:
        return Recent, (self.make,)


class MovedAxes(NamedTuple):
    """How far axes moved, the share of the inertia they explain, and the doubt of that share."""

    distance: float
    share: float
    doubt: float


class System(Protocol):
    """Data whose columns can be permuted."""

    observed: MovedAxes

    def permuted(self, columns: list[Any], order: Array) -> MovedAxes:
        """Return what becomes of the axes when these columns take the rows of an order."""


def distance_of(overlap: Array) -> float:
    r"""Return the distance between two spaces of q axes, from the products of their bases.

    .. math:: D = \sqrt{1 - \|U^\top U'\|_F^2 / q} = \|P - P'\|_F / \sqrt{2 q}

    that of Crone and Crosby (1995) divided by √q, so that it lies between 0 and 1.

    >>> round(distance_of(np.array([[1.0, 0.0], [0.0, 0.0]])) ** 2, 12)
    0.5
    """
    return float(np.sqrt(max(0.0, 1.0 - float(np.sum(overlap**2)) / len(overlap))))


class Covariances:
    """Linear axes of a centred table, from the covariances of its columns.

    Permuting a column changes one row and one column of them, and nothing else.
    """

    def __init__(self, Z: Array, weights: Array, count: int, *, is_standardised: bool) -> None:
        self.Z, self.weights, self.count = Z, weights, count
        self.is_standardised = is_standardised
        self.covariance = Z.T @ (weights[:, None] * Z)
        self.start = largest(self.covariance, count + EXTRA)[1]
        axes = self._leading(self.covariance)
        self.axes = axes.vectors[:, :count] / np.sqrt(axes.values[:count])
        share = float(np.sum(axes.values[:count]) / np.trace(self.covariance))
        self.observed = MovedAxes(0.0, share, SHARE_ROUNDING)

    def permuted(self, columns: list[Any], order: Array) -> MovedAxes:
        moved = self._as_analysed(self.Z[:, columns][order], columns)
        cross = self.Z.T @ (self.weights[:, None] * moved)
        joint = self.covariance.copy()
        joint[:, columns] = cross
        C = joint.copy()
        C[columns] = cross.T
        C[np.ix_(columns, columns)] = moved.T @ (self.weights[:, None] * moved)
        axes = self._leading(C)
        values, vectors = axes.values[: self.count], axes.vectors[:, : self.count]
        total = float(np.trace(C))
        overlap = self.axes.T @ joint @ (vectors / np.sqrt(np.maximum(values, 1e-300)))
        return MovedAxes(distance_of(overlap), float(values.sum()) / total, axes.doubt / total)

    def _as_analysed(self, moved: Array, columns: list[int]) -> Array:
        """Centre, and standardise if the table was: unequal weights change both."""
        moved = moved - self.weights @ moved
        if self.is_standardised:
            variances = self.weights @ moved**2
            before = np.diag(self.covariance)[columns]
            moved = moved * np.sqrt(before / np.where(variances > 0, variances, 1.0))
        return moved

    def _leading(self, C: Array) -> Axes:
        if len(C) <= SMALL:
            return Axes(*largest(C, len(C)), 0.0)
        return refine_axes(lambda V: C @ V, self.start, self.count, ACCURATE)


class Whole:
    """Axes of a kernel whose matrix is stored: that of few individuals."""

    def __init__(self, kernel: Kernel, X: Any, weights: Array, count: int, vectors: Array) -> None:
        self.kernel, self.X, self.count = kernel, X, count
        self.weights, self.roots = weights, np.sqrt(weights)[:, None]
        self.parts = Recent(self._parts)
        axes, total = self._axes(np.asarray(kernel(X)), vectors, ACCURATE)
        self.start = axes.vectors[:, : count + EXTRA]
        self.observed = MovedAxes(0.0, float(axes.values[:count].sum()) / total, SHARE_ROUNDING)

    def permuted(self, columns: list[Any], order: Array) -> MovedAxes:
        kernel, still = self.parts(tuple(columns))
        K = kernel(shuffle_columns(self.X, columns, order)) + still
        axes, total = self._axes(K, self.start, TOLERANCE)
        overlap = self.start[:, : self.count].T @ axes.vectors[:, : self.count]
        share = float(axes.values[: self.count].sum()) / total
        return MovedAxes(distance_of(overlap), share, axes.doubt / total)

    def _parts(self, columns: tuple[Any, ...]) -> tuple[Kernel, Array | float]:
        """Return the kernel that permutations change, and the values of what is added to it."""
        kernel, still = split_kernel(self.kernel, columns)
        return kernel, 0.0 if still is None else np.asarray(still(self.X))

    def _axes(self, K: Array, start: Array, tolerance: float) -> tuple[Axes, float]:
        """Return the leading axes of W^½HKHᵀW^½ and its trace."""
        means = K @ self.weights
        K = K - means - means[:, None] + self.weights @ means
        K *= self.roots
        K *= self.roots.T
        return refine_axes(lambda V: K @ V, start, self.count, tolerance), float(np.trace(K))


class Landmarks:
    r"""Axes of a kernel whose features are projected on those of some individuals (Nyström).

    With C the kernel between individuals and landmarks, M that between landmarks, both centred,

    .. math:: \hat K = C M^{-1} C^\top, \quad G = C^\top W C, \quad G z = \theta\, M z

    the eigenvectors are W^½ C z: everything happens in as many dimensions as there are landmarks.
    Which individuals these are does not depend on the data, so that permuted data are treated as
    the data are.
    """

    def __init__(  # noqa: PLR0913  (what a kernel PCA is made of)
        self,
        kernel: Kernel,
        X: Any,
        weights: Array,
        count: int,
        rows: Array,
        vectors: Array,
    ) -> None:
        self.kernel, self.X, self.weights, self.count, self.rows = kernel, X, weights, count, rows
        self.group = Recent(self._group)
        self.own = float(weights @ kernel.diag(X)) if shares_squares(kernel, width(X)) else None
        self.roots = np.sqrt(weights)[:, None]
        self.is_uniform = bool(np.ptp(weights) == 0.0)
        block = min(count + EXTRA, len(rows) - 1)
        self.start = np.random.default_rng(0).standard_normal((len(rows), block))
        self._measure_from(vectors[:, :count])
        everyone, group = np.arange(len(X)), self.group((0,) if isinstance(X, np.ndarray) else ())
        self.means = np.zeros(len(rows))
        self.means = self._moments(group, everyone)[0][0]
        for _ in range(FROM_NOWHERE):
            observed, self.start = self._moved(group, everyone)
        z = np.zeros((len(rows), count))  # landmarks may span fewer dimensions than individuals
        z[:, : self.start.shape[1]] = self.start[:, :count]
        image = np.vstack([C @ (z - z.mean(axis=0)) for _, C in group.tiles(everyone)])
        self._measure_from(np.linalg.qr(self.roots * (image - weights @ image))[0])
        self.observed = observed._replace(doubt=SINGLE * observed.share)

    def _measure_from(self, vectors: Array) -> None:
        """Let distances be those from a space of axes; one product gives them and the means."""
        left = np.column_stack([self.weights, self.roots * vectors]).T
        self.left = {dtype: left.astype(dtype) for dtype in RIDGE}

    def _group(self, columns: tuple[Any, ...]) -> ColumnGroup:
        return ColumnGroup(self.kernel, self.X, self.rows, list(columns))

    def permuted(self, columns: list[Any], order: Array) -> MovedAxes:
        return self._moved(self.group(tuple(columns)), order)[0]

    def _moved(self, group: ColumnGroup, order: Array) -> tuple[MovedAxes, Array]:
        """Return how far the axes are from those measured from, and their coefficients."""
        left, G, M = self._moments(group, order)
        own = self.own
        if own is None:
            own = float(self.weights @ group.diagonal(order))
        # Seen from the mean of the landmarks kernels far from 0, or conditional ones, are positive.
        m = len(M)
        gap = left[0] - M.sum(axis=0) / m
        total = own - float(left[0].sum() + gap.sum()) / m
        gap -= gap.sum() / m
        for A in (G, M):
            _centre(A)
        M.flat[:: m + 1] += RIDGE[group.precision] * float(np.trace(M)) / m
        factor, failed = dpotrf(M.T, lower=1)
        if failed:
            raise NotPositiveDefinite(f"{self.kernel} is not positive definite at the landmarks")
        total -= float(gap @ dpotrs(factor, gap, lower=1)[0])
        if not total > 0.0:
            raise InvalidInput("the individuals coincide for the kernel: there is no inertia")
        axes = _iterated(G, factor, self.start, self.count)
        z = axes.vectors[:, : self.count]
        share = float(axes.values[: self.count].sum()) / total
        distance = distance_of(left[1:] @ (z - z.sum(axis=0) / m))
        return MovedAxes(distance, share, axes.doubt / total), axes.vectors

    def _moments(self, group: ColumnGroup, order: Array) -> tuple[Array, Array, Array]:
        """Return [w, W^½U]ᵀC, CᵀWC with C centred, and the kernel between landmarks.

        The means of the data are taken from C first: values that differ little keep their digits.
        """
        m = len(self.rows)
        left, G, M = np.zeros((self.count + 1, m)), np.zeros((m, m)), np.empty((m, m))
        first = 0
        for part, C in group.tiles(order):
            last = int(np.searchsorted(self.rows, part.stop))
            M[first:last] = C[self.rows[first:last] - part.start]
            first = last
            C -= self.means.astype(C.dtype)
            left += self.left[group.precision][:, part] @ C
            if not self.is_uniform:
                C *= self.roots[part]
            G += C.T @ C
        if self.is_uniform:
            G *= self.weights[0]
        G -= np.multiply.outer(left[0], left[0])
        left[0] += self.means
        return left, G, M


def _centre(A: Array) -> None:
    """Take the means of rows and columns from a symmetric matrix."""
    means = A.sum(axis=0) / len(A)
    means -= 0.5 * float(means.sum()) / len(A)
    A -= means
    A -= means[:, None]


def _iterated(G: Array, factor: Array, start: Array, count: int) -> Axes:
    r"""Return leading solutions of G z = θ M z with zᵀGz = 1, from powers of M⁻¹G on a start.

    ``factor`` is that of M by Cholesky.

    >>> G, M = np.diag([3.0, 2.0, 0.1]), np.diag([1.0, 2.0, 1.0])
    >>> _iterated(G, np.sqrt(M), np.eye(3)[:, :2] + 0.1, 1).values.round(6)
    array([3., 1.])
    """
    V, image = _apart(G, start)
    for _ in range(POWERS):
        V, image = _apart(G, dpotrs(factor, image, lower=1)[0])
    onward = dpotrs(factor, image, lower=1)[0]
    values, turn, _ = dsyevd(image.T @ onward)
    values, turn = values[::-1], turn[:, ::-1]
    V = V @ turn
    rest = onward @ turn[:, :count] - V[:, :count] * values[:count]
    squares = np.maximum(np.einsum("ij,ij->j", rest, G @ rest), 0.0)
    return Axes(values, V, doubt_of(values, squares))


def _apart(G: Array, V: Array) -> tuple[Array, Array]:
    """Return a basis with VᵀGV = I of the same space, and GV; powers alone would all turn to one.

    >>> G = np.diag([4.0, 1.0])
    >>> V, image = _apart(G, np.array([[1.0, 1.0], [0.0, 2.0]]))
    >>> np.allclose(V.T @ image, np.eye(2)), np.allclose(image, G @ V)
    (True, True)
    """
    image = G @ V
    inner, turn, _ = dsyevd(V.T @ image)  # numpy's takes three times as long for so few rows
    kept = inner > SHARE_ROUNDING * inner[-1]
    turn = turn[:, kept] / np.sqrt(inner[kept])
    return V @ turn, image @ turn
