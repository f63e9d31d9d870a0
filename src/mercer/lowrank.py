"""Low-rank approximations of Gram matrices whose trace error is known exactly."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.linalg import cholesky, solve_triangular

from mercer.check import (
    Array,
    InvalidInput,
    InvalidParameter,
    Points,
    as_numpy,
    chunks,
    vectors,
    whole,
)
from mercer.engines.tiles import Block
from mercer.gram import Gram
from mercer.kernels.base import Kernel

SAMPLE_PER_CENTRE = 10
"""k-means centres are found on this many points for each centre: more does not improve them."""


@dataclass(frozen=True)
class LowRank:
    r"""The approximation F Fᴴ of a Gram matrix, never larger than it.

    .. math:: \hat K = F F^*, \quad 0 \preceq K - \hat K, \quad
        \|K - \hat K\|_1 = \operatorname{tr} K - \|F\|_F^2

    ``trace_error`` is that trace norm, exact up to rounding because the diagonal of K is known.
    """

    factor: Array
    trace: float
    trace_error: float
    how: str

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
        squares: Array = np.einsum("ij,ij->i", self.factor.conj(), self.factor).real
        return squares.astype(np.float64)

    def dense(self) -> Array:
        return np.asarray(self.factor @ self.factor.conj().T)


def nystrom(
    gram: Gram,
    rank: int,
    *,
    landmarks: str | Points = "pivoted",
    random_state: int | None = 0,
    single: bool = False,
) -> LowRank:
    """Return the Nyström approximation on given points, k-means centres, pivots or a sample.

    ``landmarks`` is ``"pivoted"``, ``"kmeans"`` (vectors only), ``"uniform"``, or the points
    themselves. Points that repeat cost nothing but their number.

    >>> from mercer import Gaussian
    >>> x = np.linspace(0.0, 1.0, 50)[:, None]
    >>> approximation = nystrom(Gram(Gaussian(bandwidth=0.5), x), 8)
    >>> approximation.trace_error < 1e-6
    True
    """
    n = gram.shape[0]
    rank = min(whole(rank, "rank", least=1), n)
    rng = np.random.default_rng(random_state)
    if isinstance(landmarks, str):
        if landmarks == "pivoted":
            return pivoted_cholesky(gram, rank, random_state=random_state, single=single)
        if landmarks == "kmeans":
            return _on_landmarks(gram, kmeans_centres(gram.x, rank, rng), "k-means", single)
        if landmarks != "uniform":
            raise InvalidParameter(
                f"landmarks must be pivoted, kmeans, uniform or points, found {landmarks!r}"
            )
        chosen = np.sort(rng.choice(n, rank, replace=False))
        return _on_landmarks(gram, take(gram.x, chosen), "uniform", single)
    return _on_landmarks(gram, landmarks, "given landmarks", single)


def take(points: Points, indices: Array) -> Points:
    """Return some of the points, whatever they are."""
    return points[indices] if hasattr(points, "shape") else [points[int(i)] for i in indices]


def kmeans_centres(x: Points, count: int, rng: np.random.Generator) -> Array:
    """Return centres of a sample of vectors by a few of Lloyd's steps."""
    n = len(x)
    size = min(n, SAMPLE_PER_CENTRE * count)
    sample = as_numpy(vectors(take(x, np.sort(rng.choice(n, size, replace=False)))))
    with warnings.catch_warnings():
        # An empty cluster keeps its old centre, which is as good a landmark as any.
        warnings.simplefilter("ignore", UserWarning)
        centres, _ = kmeans2(sample, count, iter=5, minit="points", rng=rng)
    return np.asarray(centres)


def _on_landmarks(gram: Gram, landmarks: Points, how: str, single: bool) -> LowRank:
    root = inverse_root(gram.kernel, landmarks, single=single)
    tiles = Gram(gram.kernel, gram.x, landmarks, engine=gram.engine).cut(single=single)
    n, m = tiles.shape
    dtype = np.result_type(root.dtype, tiles.dtype) if not single else tiles.dtype
    factor, root = np.empty((n, root.shape[1]), dtype), root.astype(dtype)

    def fill(rows: slice) -> None:
        for part in chunks(rows.stop - rows.start, tiles.size):
            here = slice(rows.start + part.start, rows.start + part.stop)
            np.matmul(tiles.tile(Block(here, slice(0, m))), root, out=factor[here])

    gram.engine.over_rows(fill, n)
    return _finished(gram, factor, f"Nyström on {root.shape[0]} landmarks ({how})")


def inverse_root(kernel: Kernel, landmarks: Points, *, single: bool = False) -> Array:
    """Return R with R Rᴴ = (K + εI)⁻¹ for the landmarks' Gram matrix and ε at rounding level.

    The small shift makes repeated landmarks harmless and the approximation smaller, never larger.
    """
    K = as_numpy(kernel(landmarks))
    m = len(K)
    if np.min(np.diag(K).real, initial=0.0) < 0:
        raise InvalidInput("the kernel is negative for a point with itself: it has no Nyström form")
    unit = float(np.finfo(np.float32).eps) if single else 10 * m * float(np.finfo(float).eps)
    shift = unit * max(float(np.trace(K).real), float(np.finfo(float).tiny))
    try:
        lower = cholesky(K + shift * np.eye(m), lower=True)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(K)[0])
        raise InvalidInput(
            f"the landmarks' Gram matrix has the negative eigenvalue {smallest:.6g}: the kernel is "
            "not positive definite, so it has no Nyström approximation"
        ) from None
    return np.asarray(solve_triangular(lower, np.eye(m), lower=True)).conj().T


def pivoted_cholesky(
    gram: Gram,
    rank: int,
    *,
    random_state: int | None = 0,
    single: bool = False,
    tol: float = 0.0,
) -> LowRank:
    r"""Return the randomly pivoted partial Cholesky factor, in blocks with rejection.

    Pivots are drawn with probability proportional to the diagonal of what is not yet explained;
    a block is proposed at once and thinned so that the accepted pivots follow the law of one
    after the other (Epperly, Tropp and Webber, arXiv:2410.03969). It stops early when the trace
    error falls to ``tol`` of the trace.
    """
    n = gram.shape[0]
    rng = np.random.default_rng(random_state)
    remaining = gram.diag()
    trace = float(remaining.sum())
    if np.min(remaining, initial=0.0) < 0:
        raise InvalidInput(
            "the kernel is negative for a point with itself: it has no Cholesky form"
        )
    factor = np.zeros((n, 0))
    floor = max(tol, n * np.finfo(float).eps) * trace
    block = max(1, min(rank, rank // 10 + 1))
    while factor.shape[1] < rank and remaining.sum() > floor:
        size = min(block, rank - factor.shape[1])
        proposed = rng.choice(n, size, p=remaining / remaining.sum())
        # Rows of K rather than columns: K is Hermitian.
        columns = gram.rows(proposed).conj().T - factor @ factor[proposed].conj().T
        accepted, small = _thin(columns[proposed], remaining[proposed], rng)
        if not accepted:
            continue
        new = solve_triangular(small, columns[:, accepted].conj().T, lower=True).conj().T
        factor = np.hstack([factor, new])
        remaining = np.maximum(remaining - np.einsum("ij,ij->i", new.conj(), new).real, 0.0)
        remaining[proposed[accepted]] = 0.0
    result = factor.astype(np.float32) if single else factor
    return _finished(gram, result, f"randomly pivoted Cholesky of rank {factor.shape[1]}")


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


def _finished(gram: Gram, factor: Array, how: str) -> LowRank:
    trace = float(gram.diag().sum())
    explained = float(np.einsum("ij,ij->", factor.conj(), factor, dtype=np.float64).real)
    return LowRank(factor, trace, max(trace - explained, 0.0), how)
