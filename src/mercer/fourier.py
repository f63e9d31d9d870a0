"""Random Fourier features: a kernel of differences by waves of random frequencies.

They need no data, so that streams can use them, and are much less accurate than landmarks at
equal size. Their error is indefinite and their diagonal exact, so that nothing follows from the
trace: what is known of the error is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.check import Array, Points, as_numpy, chunks, vectors
from mercer.gram import Gram, columns
from mercer.kernels.base import Kernel
from mercer.kernels.pairs import Aligned
from mercer.lowrank import Factored
from mercer.points import SparseRows, take
from mercer.progress import Progress
from mercer.settings import RandomState, seed_of, whole

FAILURE = 1e-6
"""The probability with which the bound of a sampled error may be wrong."""

ROWS = 4096
"""Points whose waves are computed at a time."""

PAIRS = 50_000
"""Pairs of points on which the error is sampled."""

COPIED = 2**17
"""Numbers of each side that are copied at one time: one megabyte."""


@dataclass(frozen=True)
class FourierFeatures:
    r"""The features of random frequencies ω, for any points.

    .. math:: \varphi(x) = \sqrt{\tfrac{k(0)}{D}}\,
        \bigl(\cos\omega_j^\top x, \sin\omega_j^\top x\bigr)_{j \le D}, \quad
        E\,\langle \varphi(x), \varphi(y) \rangle = k(x, y)

    Frequencies are orthogonal to each other in blocks of as many as there are coordinates, which
    lowers the variance (Yu et al., 2016).
    """

    frequencies: Array
    amplitudes: Array

    def __call__(self, x: Points) -> Array:
        """Return one row of features for each point."""
        points, count = _rows(x), len(self.amplitudes)
        waves = np.empty((points.shape[0], 2 * count))
        for rows in chunks(len(waves), ROWS):
            angles = points[rows] @ self.frequencies.T
            np.multiply(np.cos(angles), self.amplitudes, out=waves[rows, :count])
            np.multiply(np.sin(angles), self.amplitudes, out=waves[rows, count:])
        return waves


def _rows(x: Points) -> Any:
    """Return points as a matrix of their coordinates, sparse where they came so."""
    return x.matrix if isinstance(x, SparseRows) else as_numpy(vectors(x, "x"))


@dataclass(frozen=True, kw_only=True)
class RandomFourier(Factored):
    """The approximation of a Gram matrix by random features.

    ``sampled_error`` is the root mean square of K - K̂ on random pairs of points.
    """

    sampled_error: float


def random_fourier(
    gram: Gram, count: int, *, random_state: RandomState = None, progress: Progress | None = None
) -> RandomFourier:
    r"""Return the approximation by ``count`` random frequencies, and how far off it seems.

    The mean squared error over all pairs is at most that of R random ones plus
    :math:`b^2\sqrt{\ln(1/\delta)/2R}` except with probability δ, where b bounds an error
    (Hoeffding); its root times n bounds the norm of K - K̂, and so how far eigenvalues are off.
    ``progress`` hears how many of the pairs were drawn.

    >>> from mercer import Gaussian
    >>> x = np.linspace(0.0, 1.0, 50)[:, None]
    >>> approximation = random_fourier(Gram(Gaussian(bandwidth=0.5), x), 500)
    >>> approximation.sampled_error < 0.05, approximation.failure_probability
    (True, 1e-06)
    """
    rng = np.random.default_rng(seed_of(random_state))
    x = gram.x if isinstance(gram.x, SparseRows) else _rows(gram.x)
    features = fourier_features(gram.kernel, columns(x), count, rng)
    n, factor = len(x), features(x)
    mean = _mean_square(gram.kernel, x, factor, rng, progress)
    largest = 2.0 * float(np.sum(features.amplitudes**2))
    spread = largest**2 * np.sqrt(np.log(1.0 / FAILURE) / (2.0 * PAIRS))
    bound = float(n * np.sqrt(mean + spread))
    return RandomFourier(
        factor=factor,
        how=f"{count} random frequencies",
        features=features,
        below=bound,
        above=bound,
        failure_probability=FAILURE,
        roots=np.ones((n, 1)),
        sampled_error=float(np.sqrt(mean)),
    )


def _mean_square(
    kernel: Kernel, x: Points, factor: Array, rng: np.random.Generator, progress: Progress | None
) -> float:
    """Return the mean squared error on random pairs, a few at a time."""
    total, part = 0.0, 1000
    products = factor @ factor.T if len(x) ** 2 <= PAIRS else None
    for number in range(PAIRS // part):
        i, j = rng.integers(0, len(x), (2, part))
        values = as_numpy(kernel.evaluate(Aligned(take(x, i), take(x, j))))
        near = products[i, j] if products is not None else _inner_products(factor, i, j)
        total += float(np.sum((values - near) ** 2))
        if progress is not None:
            progress((number + 1) * part, PAIRS)
    return total / PAIRS


def _inner_products(rows: Array, i: Array, j: Array) -> Array:
    """Return the inner products of pairs of rows, copied in parts that a cache holds."""
    parts = max(1, rows[0].size * len(i) // COPIED)
    pairs = zip(np.array_split(i, parts), np.array_split(j, parts), strict=True)
    return np.concatenate([np.einsum("ij,ij->i", rows[a], rows[b]) for a, b in pairs])


def fourier_features(
    kernel: Kernel, dimension: int, count: int, rng: np.random.Generator
) -> FourierFeatures:
    """Return random features of a kernel of Euclidean differences on R^dimension.

    >>> from mercer import Gaussian
    >>> features = fourier_features(Gaussian(bandwidth=1.0), 3, 10, np.random.default_rng(0))
    >>> features(np.zeros((1, 3))).shape
    (1, 20)
    """
    whole(count, "count", least=1)
    return FourierFeatures(*kernel.frequencies(dimension, count, rng))
