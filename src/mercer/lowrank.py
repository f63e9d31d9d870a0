"""Low-rank approximations of Gram matrices whose trace error is known exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.linalg import cholesky  # scipy's does not let other threads run, not even for Ctrl-C
from scipy.linalg import solve_triangular

from mercer.check import Array, Points, as_numpy, chunks, power_of_two, vectors
from mercer.engines.held import Held, move_beside, to_host
from mercer.engines.lapack import norm_bound, run_interruptibly
from mercer.engines.tiles import rounding
from mercer.errors import InvalidInput, InvalidParameter
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.operators import Barycentre, centre, shares
from mercer.points import SparseRows, take
from mercer.progress import Progress
from mercer.settings import RandomState, seed_of, whole

SAMPLE_PER_CENTRE, LLOYD = 10, 5
"""k-means centres are found on so many points for each, in so many steps: more gain nothing."""

ROWS = 512
"""Rows of a matrix that are worked on at a time."""


NOISE = 8.0
"""Units of single precision, of the squared norm of a point: what is less is not left of it."""

LARGE = 1000
"""Singular values of more landmarks than this would take longer than all the rest."""

NEGATIVE = 1e-8
"""How far below zero, relative to the largest diagonal entry, rounding may take what is left."""


@dataclass(frozen=True)
class Features:
    r"""The features of a Nyström approximation, for any points.

    .. math:: \varphi(x) = R^* k(z, x), \quad R R^* = k(z, z)^{-1}, \quad
        \hat k(x, y) = \langle \varphi(x), \varphi(y) \rangle
    """

    kernel: Kernel
    landmarks: Points
    root: Array

    def __call__(self, x: Points) -> Array:
        """Return one row of features for each point."""
        gram = Gram(self.kernel, x, self.landmarks)
        if isinstance(gram.x, Held):
            return gram.product(move_beside(self.root, gram.x))
        return np.asarray(gram @ self.root)


@dataclass(frozen=True, kw_only=True)
class Factored:
    r"""An approximation F Fᴴ of a positive semidefinite matrix, and how far off it can be.

    .. math:: \hat\lambda_i - b \le \lambda_i \le \hat\lambda_i + a

    for ``below`` b and ``above`` a, except with ``failure_probability`` and under ``assumption``.
    Its trace is up to ``trace_gap`` too small. ``features`` extends the rows of F to other points;
    once they are centred, ``barycentre`` is where they were seen from.
    It multiplies like the operator it stands for.
    """

    offers: ClassVar[Literal["factor"]] = "factor"

    factor: Array
    how: str
    features: Callable[[Points], Array]
    below: float
    above: float
    failure_probability: float = 0.0
    trace_gap: float = 0.0
    assumption: str = "none"
    roots: Array
    barycentre: Barycentre | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.factor), len(self.factor)

    @property
    def rank(self) -> int:
        return int(self.factor.shape[1])

    def product(self, block: Array, *, single: bool = False) -> Array:
        """Return the approximation times a block of vectors."""
        image: Array = self.factor @ (self.factor.conj().T @ block)
        return image.astype(np.result_type(image, float))

    def __matmul__(self, block: Any) -> Array:
        return self.product(np.asarray(block))

    def diag(self) -> Array:
        return row_squares(self.factor)

    def dense(self) -> Array:
        return np.asarray(self.factor @ self.factor.conj().T)

    def centred(
        self, weights: Sequence[float] | Array | None = None, *, copy: bool = True
    ) -> Factored:
        """Return the approximation of the centred and weighted operator, `Centred`.

        Without ``copy`` it takes the memory of this one, which is of no use afterwards.
        """
        n = len(self.factor)
        w = np.full(n, 1.0 / n) if weights is None else shares(weights, n)
        below, above = self.bounds(w)
        factor = np.empty_like(self.factor) if copy else self.factor
        for rows in chunks(n, ROWS) if copy else ():
            factor[rows] = self.factor[rows]
        return Factored(
            barycentre=centre(factor, w),
            factor=factor,
            how=self.how,
            features=self.features,
            below=below,
            above=above,
            failure_probability=self.failure_probability,
            trace_gap=above if self.trace_gap > 0.0 else 0.0,
            assumption=self.assumption,
            roots=np.sqrt(w)[:, None],
        )

    def bounds(self, weights: Array) -> tuple[float, float]:
        """Return how far eigenvalues can be off once rows and columns carry weights."""
        largest = float(np.max(weights, initial=0.0))
        return largest * self.below, largest * self.above


@dataclass(frozen=True, kw_only=True)
class LowRank(Factored):
    r"""The approximation F Fᴴ of a Gram matrix, never larger than it.

    .. math:: \hat K = F F^*, \quad 0 \preceq K - \hat K, \quad
        \|K - \hat K\|_1 = \operatorname{tr} K - \|F\|_F^2

    ``missing`` is the diagonal of K - K̂ and ``trace_error`` its sum, that trace norm: exact up to
    rounding, because the diagonal of K is known.
    """

    features: Features
    trace: float
    missing: Array
    entry: float = 0.0  # the rounding of what is missing of a point

    @property
    def trace_error(self) -> float:
        return max(float(self.missing.sum()), 0.0)

    def bounds(self, weights: Array) -> tuple[float, float]:
        largest = float(np.max(weights, initial=0.0))
        missing = max(float(weights @ self.missing), 0.0) + float(weights.sum()) * self.entry
        return largest * self.below, missing + largest * self.below


def row_squares(factor: Array) -> Array:
    """Return the squared norm of each row, in double precision.

    >>> row_squares(np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([25.,  1.])
    """
    if isinstance(factor, Held):
        return to_host(factor.row_squares())
    wide = np.result_type(factor, float)
    result = np.zeros(len(factor))
    for rows in chunks(len(factor), ROWS):
        part = factor[rows].astype(wide, copy=False)
        result[rows] = np.einsum("ij,ij->i", part.conj(), part).real
    return result


def nystrom(
    gram: Gram,
    rank: int,
    *,
    landmarks: str | Points = "pivoted",
    random_state: RandomState = None,
    single: bool = False,
    is_held: bool = False,
    place: Callable[..., Array] = np.empty,
    progress: Progress | None = None,
) -> LowRank:
    """Return the Nyström approximation on given points, k-means centres, pivots or a sample.

    ``landmarks`` is ``"pivoted"``, ``"kmeans"`` (vectors only; of
    sparse rows pivots), ``"uniform"``, or the points
    themselves. Points that repeat cost nothing but their number. ``progress`` hears how many pivots
    were found of how many. The factor may be ``held`` by the
    engine of the matrix; an array that ``place`` makes of a shape and a type takes that of given
    points and of k-means.

    >>> from mercer import Gaussian
    >>> x = np.linspace(0.0, 1.0, 50)[:, None]
    >>> approximation = nystrom(Gram(Gaussian(bandwidth=0.5), x), 8)
    >>> approximation.trace_error < 1e-6
    True
    """
    n = gram.shape[0]
    rank = min(whole(rank, "rank", least=1), n)
    seed = seed_of(random_state)
    rng = np.random.default_rng(seed)
    if isinstance(landmarks, str):
        is_sparse = isinstance(gram.x, SparseRows)  # whose centres would be full
        if landmarks == "pivoted" or (landmarks == "kmeans" and is_sparse):
            return pivoted_cholesky(gram, rank, random_state=seed, single=single, progress=progress)
        if landmarks == "kmeans":
            centres = kmeans_centres(gram.placed, rank, rng)
            return _on_landmarks(gram, centres, "k-means", single, is_held, place)
        if landmarks != "uniform":
            raise InvalidParameter(
                f"landmarks must be pivoted, kmeans, uniform or points, found {landmarks!r}"
            )
        chosen = np.sort(rng.choice(n, rank, replace=False))
        return _on_landmarks(gram, take(gram.x, chosen), "uniform", single, is_held, place)
    return _on_landmarks(gram, landmarks, "given landmarks", single, is_held, place)


def kmeans_centres(x: Points, count: int, rng: np.random.Generator) -> Array:
    """Return centres of a sample of vectors by a few of Lloyd's steps.

    They go over a few rows at a time, for Ctrl-C is heard between calls only. An empty cluster
    keeps its old centre, which is as good a landmark as any. Squares of distances are taken in the
    unit of the points, in which they are numbers.

    >>> far = 1e200 * np.arange(6.0)[:, None]
    >>> kmeans_centres(far, 2, np.random.default_rng(0)).shape
    (2, 1)
    """
    from scipy.cluster.vq import vq  # only now: with it come the rotations of scipy.spatial

    n = len(x)
    size = min(n, SAMPLE_PER_CENTRE * count)
    some = take(x, np.sort(rng.choice(n, size, replace=False)))
    if isinstance(some, Held):
        return some.centres(rng.choice(size, count, replace=False), LLOYD)
    sample = as_numpy(vectors(some))
    unit = power_of_two(sample)
    sample = sample / unit
    centres = sample[rng.choice(size, count, replace=False)]
    for _ in range(LLOYD):
        nearest = np.concatenate([vq(sample[r], centres)[0] for r in chunks(size, ROWS)])
        members = np.bincount(nearest, minlength=count)
        sums = [np.bincount(nearest, column, minlength=count) for column in sample.T]
        found = np.column_stack(sums) / np.maximum(members, 1)[:, None]
        centres = np.where(members[:, None] > 0, found, centres)
    return unit * centres


def _on_landmarks(
    gram: Gram,
    landmarks: Points,
    how: str,
    single: bool,
    is_held: bool,
    place: Callable[..., Array],
) -> LowRank:
    landmarks = to_host(landmarks) if isinstance(landmarks, Held) else landmarks  # a few
    root, excess = inverse_root(gram.kernel, landmarks, single=single, beside=gram.placed)
    features = Features(gram.kernel, landmarks, root)
    tiles = Gram(gram.kernel, gram.x, landmarks, engine=gram.engine).cut(single=single)
    dtype = tiles.dtype if single else np.result_type(root.dtype, tiles.dtype)
    factor = gram.engine.factor(tiles, root.astype(dtype), is_held=is_held, place=place)
    entry = rounding(tiles, float(np.max(gram.diag(), initial=0.0))).entry
    how = f"Nyström on {tiles.shape[1]} landmarks ({how})"
    # Of a factor that stays on a device nothing but products is asked, for which a bound will do.
    norm = norm_bound(root) if isinstance(factor, Held) else _norm(root)
    return _finished(gram, factor, how, features, entry, excess=excess, norm=norm)


def inverse_root(
    kernel: Kernel, landmarks: Points, *, single: bool = False, beside: Points | None = None
) -> tuple[Array, float]:
    r"""Return R with R Rᴴ ≈ (K + εI)⁻¹ for the landmarks' Gram matrix, and how much larger it is.

    The shift ε is above what rounding does to Cholesky's factor L: it makes repeated landmarks
    harmless and the approximation smaller, never larger. Of the computed inverse of L follows

    .. math:: R R^* \preceq (1 + g)^2 (K + \varepsilon I)^{-1}, \quad g = \|R^* L - I\|_2

    of which :math:`(1 + g)^2 - 1` is returned. It is computed on the device of points ``beside``
    which it is wanted, if there are many landmarks.
    """
    K = as_numpy(kernel(landmarks))
    m = len(K)
    if np.min(np.diag(K).real, initial=0.0) < 0:
        raise InvalidInput("the kernel is negative for a point with itself: it has no Nyström form")
    unit = float(np.finfo(np.float32).eps) if single else 10 * m * float(np.finfo(float).eps)
    shift = unit * max(float(np.trace(K).real), float(np.finfo(float).tiny))
    there = beside.inverse_of_root(K, shift) if isinstance(beside, Held) else None
    if there is not None:
        inverse, gap = there
        return inverse.T, gap * (2.0 + gap)
    try:
        lower = run_interruptibly(lambda: cholesky(K + shift * np.eye(m)), m)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(K)[0])
        raise InvalidInput(
            f"the landmarks' Gram matrix has the negative eigenvalue {smallest:.6g}: the kernel is "
            "not positive definite, so it has no Nyström approximation"
        ) from None
    inverse = _inverse(lower)
    gap = _inverse_error(inverse, lower)
    return inverse.conj().T, gap * (2.0 + gap)


def _inverse(lower: Array) -> Array:
    """Return the inverse of a lower triangular matrix, some of its columns at a time."""
    inverse = np.zeros_like(lower)
    for columns in chunks(len(lower), ROWS):
        rest = slice(columns.start, len(lower))
        right = np.eye(len(lower) - columns.start, columns.stop - columns.start)
        inverse[rest, columns] = solve_triangular(lower[rest, rest], right, lower=True)
    return inverse


def _inverse_error(inverse: Array, lower: Array) -> float:
    """Bound ‖XL - I‖ for triangular matrices, the rounding of this very product included."""
    gaps, sizes = 0.0, 0.0
    for rows in chunks(len(lower), ROWS):
        left, right = inverse[rows, : rows.stop], lower[: rows.stop, : rows.stop]
        product = left @ right
        product[:, rows] -= np.eye(rows.stop - rows.start)
        gaps += float(np.linalg.norm(product)) ** 2
        sizes += float(np.linalg.norm(np.abs(left) @ np.abs(right))) ** 2
    unit = float(np.finfo(float).eps)
    return float(np.sqrt(gaps) + len(lower) * unit * np.sqrt(sizes))


def pivoted_cholesky(
    gram: Gram,
    rank: int,
    *,
    random_state: RandomState = None,
    single: bool = False,
    tol: float = 0.0,
    progress: Progress | None = None,
) -> LowRank:
    r"""Return the randomly pivoted partial Cholesky factor, in blocks with rejection.

    Pivots are drawn with probability proportional to the diagonal of what is not yet explained;
    a block is proposed at once and thinned so that the accepted pivots follow the law of one
    after the other (Epperly, Tropp and Webber, arXiv:2410.03969). It stops early when the trace
    error falls to ``tol`` of the trace.
    """
    n = gram.shape[0]
    rng = np.random.default_rng(seed_of(random_state))
    remaining = gram.diag()
    trace = float(remaining.sum())
    if np.min(remaining, initial=0.0) < 0:
        raise InvalidInput(
            "the kernel is negative for a point with itself: it has no Cholesky form"
        )
    wide = np.result_type(gram.cut().dtype, float)
    room = np.empty((n, min(rank, n)), _half(wide) if single else wide)
    noise = NOISE * float(np.finfo(room.dtype).eps) * remaining if single else 0.0
    pivots, done = np.zeros(0, int), 0
    floor = max(tol, n * np.finfo(float).eps) * trace
    block = max(1, min(rank, rank // 10 + 1))
    while done < rank and remaining.sum() > floor:
        size = min(block, rank - done)
        proposed = rng.choice(n, size, p=remaining / remaining.sum())
        # Rows of K rather than columns: K is Hermitian.
        columns = gram.rows(proposed).conj().T
        known = room[proposed, :done].astype(wide)
        left = columns[proposed] - known @ known.conj().T
        accepted, small = _thin(left, remaining[proposed], rng)
        if not accepted:
            continue
        explained = known[accepted].conj().T
        for rows in chunks(n, ROWS):
            left = columns[rows][:, accepted] - room[rows, :done] @ explained
            new = solve_triangular(small, left.conj().T, lower=True).conj().T
            room[rows, done : done + len(accepted)] = new
            remaining[rows] -= row_squares(new)
        remaining = np.where(remaining > noise, remaining, 0.0)
        remaining[proposed[accepted]] = 0.0
        pivots = np.append(pivots, proposed[accepted])
        done = len(pivots)
        if progress is not None:
            progress(done, room.shape[1])
    factor = _narrowed(room, done)
    # The rows of the pivots are the triangular factor of their own Gram matrix.
    root = _inverse(factor[pivots].astype(wide)).conj().T
    features = Features(gram.kernel, take(gram.x, pivots), root)
    how = f"randomly pivoted Cholesky of rank {done}"
    entry = gram.entry_rounding().entry
    # The pivots' Gram matrix is the product of their rows up to rounding.
    unit = float(np.finfo(factor.dtype).eps)
    misfit = done * (entry + done * unit * float(np.max(gram.diag(), initial=0.0)))
    norm = _norm(root)
    return _finished(gram, factor, how, features, entry, excess=misfit * norm**2, norm=norm)


def _half(kind: Any) -> Any:
    """Return the type of half the size."""
    return np.complex64 if np.issubdtype(kind, np.complexfloating) else np.float32


def _narrowed(room: Array, width: int) -> Array:
    """Return the first columns of a matrix one row after the other, in its own memory.

    >>> _narrowed(np.arange(6.0).reshape(2, 3), 2).tolist()
    [[0.0, 1.0], [3.0, 4.0]]
    """
    if width == room.shape[1]:
        return room
    line = room.reshape(-1)
    for rows in chunks(len(room), ROWS):  # no part overwrites one that is still to be moved
        line[rows.start * width : rows.stop * width] = room[rows, :width].ravel()
    return line[: len(room) * width].reshape(len(room), width)


def _thin(small: Array, upper: Array, rng: np.random.Generator) -> tuple[list[int], Array]:
    """Accept proposals in turn with the probability their remaining diagonal has left them."""
    H = np.array(small)
    accepted: list[int] = []
    lower = np.zeros((len(H), len(H)), H.dtype)
    for i in range(len(H)):
        left = float(H[i, i].real)
        if left > 0 and rng.random() * upper[i] < left and left > 1e-12 * upper[i]:
            column = H[:, i] / np.sqrt(left)
            lower[:, len(accepted)] = column
            H -= np.outer(column, column.conj())
            accepted.append(i)
    return accepted, lower[np.ix_(accepted, range(len(accepted)))]


def greedy_pivots(E: Array, least: float, most: int) -> Array:
    """Return the pivots of Cholesky's factor, the largest first, while they exceed ``least``.

    >>> greedy_pivots(np.diag([1.0, 3.0, 2.0]), 1.5, 9)
    array([1, 2])
    """
    left, chosen = np.diag(E).real.copy(), list[int]()
    factor = np.zeros((len(E), min(most, len(E))), E.dtype)
    for step in range(factor.shape[1]):
        i = int(np.argmax(left))
        if left[i] <= least:
            break
        column = (E[:, i] - factor[:, :step] @ factor[i, :step].conj()) / np.sqrt(left[i])
        factor[:, step] = column
        left = left - np.abs(column) ** 2
        left[i] = 0.0
        chosen.append(i)
    return np.array(chosen, int)


def _finished(
    gram: Gram,
    factor: Array,
    how: str,
    features: Features,
    entry: float,
    *,
    excess: float,
    norm: float,
) -> LowRank:
    """Return the approximation with its errors.

    ``excess`` is what the root is too large by, and ``norm`` bounds its norm.
    """
    diagonal, squares = gram.diag(), row_squares(factor)
    missing = diagonal - squares
    entry += len(features.root) * float(np.finfo(float).eps) * float(np.max(diagonal, initial=0.0))
    trace = float(squares.sum())
    size = len(features.root) * len(factor)
    error = _rounding(norm, size, entry, trace) + excess * trace
    if np.finfo(factor.dtype).eps > NEGATIVE:  # rounded at last, and so were sums of its terms
        error += 4.0 * float(np.finfo(factor.dtype).eps) * trace
    worst = int(np.argmin(missing)) if len(missing) else 0
    if np.finfo(factor.dtype).eps < NEGATIVE and np.min(missing, initial=0.0) < -max(
        error, NEGATIVE * float(np.max(diagonal, initial=0.0))
    ):
        raise InvalidInput(
            f"what the approximation leaves of point {worst}'s squared norm is negative, "
            f"{missing[worst]:.6g}: the kernel is not positive definite, so it has no Nyström "
            "approximation"
        )
    gap = max(float(missing.sum()), 0.0) + 2.0 * len(factor) * entry + error
    return LowRank(
        factor=factor,
        how=how,
        features=features,
        below=error,
        above=gap,
        trace_gap=gap,
        assumption=f"positive semidefinite {'by construction' if gram.kernel.proof else 'assumed'}",
        roots=np.ones((len(factor), 1)),
        trace=float(diagonal.sum()),
        missing=missing,
        entry=2.0 * entry,
    )


def _rounding(norm: float, size: int, entry: float, trace: float) -> float:
    r"""Bound what rounding does to F Fᴴ: an error of F is that of k(x, z) times the root's norm.

    .. math:: \|\hat F \hat F^* - F F^*\| \le 2 \|F\| \|E\|, \quad
        \|E\| \le \sqrt{nm}\, \eta\, \|R\|
    """
    return float(2.0 * np.sqrt(trace * size) * entry * norm)


def _norm(root: Array) -> float:
    """Return the spectral norm of a small matrix, and a bound for that of a large one."""
    if len(root) > LARGE:
        return norm_bound(root)
    return float(np.linalg.norm(root, 2)) if root.size else 0.0
