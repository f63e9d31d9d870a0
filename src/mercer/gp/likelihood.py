r"""A Gaussian process given observations: its factor, its weights and its likelihood.

With :math:`A = K + \sigma^2 I`, unknown functions Q of the mean and y minus the known mean,

.. math:: \log p(y) = -\tfrac{1}{2} y^\top P y - \tfrac{1}{2} \log\det A
    - \tfrac{1}{2} \log\det Q^\top A^{-1} Q - \tfrac{n - m}{2} \log 2\pi,
    \qquad P = A^{-1} - A^{-1} Q (Q^\top A^{-1} Q)^{-1} Q^\top A^{-1}

which is the restricted likelihood; without Q it is the marginal one. Several outputs are
independent given the kernel: their likelihoods add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular

from mercer.check import EPSILON, TINY, Array, Points, as_numpy, chunks
from mercer.engines.cpu import Threads
from mercer.engines.lapack import factor_in_place, invert_in_place, whiten
from mercer.engines.tiles import Block
from mercer.errors import InvalidInput, NotPositiveDefinite, SingularSystem
from mercer.gp.limits import Limits
from mercer.gram import Gram, lower_triangle
from mercer.kernels.base import Kernel, Kind
from mercer.kernels.pairs import AllPairs
from mercer.points import take

MOST_JITTER = 1e-8
"""Largest addition to the diagonal, as a share of its mean, before a matrix is refused."""


@dataclass(frozen=True)
class NoisyObservations:
    """Points with their outputs minus the known mean (n x q) and unknown functions Q (n x m).

    ``noise`` is the variance that each has beside the one they share, if it is known.

    >>> data = NoisyObservations([0, 1], np.zeros((2, 1)), np.zeros((2, 0)), np.array([1.0, 4.0]))
    >>> data.variances(0.5), data.part(np.array([1])).noise
    (array([1.5, 4.5]), array([4.]))
    >>> roots, shift = data.precisions(0.0)
    >>> shift / roots**2
    array([1., 4.])
    """

    points: Points
    y: Array
    Q: Array
    noise: Array | None = None

    def __len__(self) -> int:
        return len(self.y)

    def part(self, rows: Array) -> NoisyObservations:
        """Return some of the observations, by their numbers."""
        noise = None if self.noise is None else self.noise[rows]
        return NoisyObservations(take(self.points, rows), self.y[rows], self.Q[rows], noise)

    def variances(self, shared: float) -> Array:
        """Return the variance of the noise of each, given what all have."""
        own = np.zeros(len(self)) if self.noise is None else self.noise
        return np.asarray(own + shared)

    def precisions(self, shared: float) -> tuple[Array, float]:
        """Return s and γ with γ/s² the variances of the noise."""
        if self.noise is None:
            return np.ones(len(self)), shared
        variances = self.variances(shared)
        shift = float(np.exp(np.mean(np.log(np.maximum(variances, TINY)))))
        return np.sqrt(shift / np.maximum(variances, TINY)), shift

    def gram(self, kernel: Kernel) -> Gram:
        """Return the covariance matrix of the points as an operator."""
        if kernel.kind is Kind.CONDITIONAL:
            raise InvalidInput(
                f"{kernel} is conditionally positive definite and no covariance: take "
                "kernel.centred(X) with mean='constant', which has the same posterior"
            )
        gram = Gram(kernel, self.points)
        if np.issubdtype(gram.cut().dtype, np.complexfloating):
            raise InvalidInput(f"a Gaussian process needs a real kernel, and {kernel} is complex")
        return gram


@dataclass(frozen=True)
class Conditioned:
    """The process given its observations.

    ``factor`` is L with LLᵀ = A, ``basis`` O and ``triangle`` R the parts of L⁻¹Q = OR,
    ``weights`` Py and ``null_weights`` the estimates of the functions Q. ``jitter`` was added to
    the diagonal on top of the noise; it is 0 unless the matrix was singular to working precision.
    """

    factor: Array
    basis: Array
    triangle: Array
    weights: Array
    null_weights: Array
    log_likelihood: float
    jitter: float

    def whitened(self, columns: Array) -> Array:
        """Return L⁻¹ times columns."""
        return whiten(self.factor, columns)

    def unwhitened(self, columns: Array) -> Array:
        """Return L⁻ᵀ times columns."""
        return whiten(self.factor, columns, is_transposed=True)


def condition(gram: Gram, noise_variance: float, data: NoisyObservations) -> Conditioned:
    """Return the process given observations with noise.

    >>> from mercer.kernels import Delta
    >>> data = NoisyObservations([0, 1], np.array([[2.0], [0.0]]), np.zeros((2, 0)))
    >>> given = condition(Gram(Delta(), data.points), 1.0, data)
    >>> bool(np.isclose(given.log_likelihood, -1.0 - np.log(2.0) - np.log(2.0 * np.pi)))
    True
    """
    factor, jitter = _factored(gram, data.variances(noise_variance))
    state = Conditioned(factor, *_empty(data), jitter)
    white_y, white_Q = state.whitened(data.y), state.whitened(data.Q)
    basis, triangle = basis_and_triangle(white_Q)
    inside = basis.T @ white_y
    left = white_y - basis @ inside
    n, q = data.y.shape
    log_determinant = 2.0 * float(np.sum(np.log(np.diag(factor))))
    log_determinant += 2.0 * float(np.sum(np.log(np.abs(np.diag(triangle)))))
    value = -0.5 * float(np.sum(left * left))
    value -= 0.5 * q * (log_determinant + (n - data.Q.shape[1]) * float(np.log(2.0 * np.pi)))
    eta = solve_triangular(triangle, inside, check_finite=False)
    return Conditioned(
        factor, basis, triangle, state.unwhitened(left), np.asarray(eta), value, jitter
    )


def _empty(data: NoisyObservations) -> tuple[Array, Array, Array, Array, float]:
    nothing = np.zeros((len(data), 0))
    return nothing, nothing[:0], nothing, nothing[:0], 0.0


def basis_and_triangle(columns: Array) -> tuple[Array, Array]:
    """Return an orthonormal basis of columns, and the triangle that leads back to them.

    >>> [part.shape for part in basis_and_triangle(np.ones((3, 1)))]
    [(3, 1), (1, 1)]
    """
    n, m = columns.shape
    if m >= n:
        raise SingularSystem(f"a mean of {m} unknown functions needs more than n_samples = {n}")
    norms = np.linalg.norm(columns, axis=0)  # the unit of a function does not matter
    scaled = columns / np.where(norms > 0, norms, 1.0)
    _, pivoted, _ = qr(scaled, mode="economic", pivoting=True, check_finite=False)
    if m and np.abs(pivoted[-1, -1]) <= n * EPSILON:
        raise SingularSystem(
            "the unknown functions of the mean are linearly dependent on these points: leave one "
            "out"
        )
    basis, triangle = qr(columns, mode="economic", check_finite=False)
    return np.asarray(basis), np.asarray(triangle)


def mean_value(values: Array) -> float:
    """Return the mean of values k(x, x), refused where their sum is no double.

    >>> mean_value(np.array([1.0, 3.0]))
    2.0
    """
    with np.errstate(over="ignore"):
        mean = float(np.mean(values))
    if not np.isfinite(mean * len(values)):
        raise SingularSystem(
            f"values k(x, x) up to {float(np.max(values)):.3g} have sums beyond the largest "
            "double: give the points, or the kernel, in another unit"
        )
    return mean


def _factored(gram: Gram, noise: Array) -> tuple[Array, float]:
    """Return the lower factor of K and noise on its diagonal, and what had to be added to that."""
    n = gram.shape[0]
    mean = mean_value(gram.diag())
    if mean < 0.0:
        raise NotPositiveDefinite(f"the mean of k(x, x) is {mean:.3g} < 0 under {gram.kernel}")
    jitter, size = 0.0, mean + float(np.mean(noise))
    while True:
        A = lower_triangle(gram)
        A[np.diag_indices_from(A)] += noise + jitter
        if factor_in_place(A):
            return A, jitter
        jitter = max(10.0 * jitter, 10.0 * n * EPSILON * size)
        if not 0.0 < jitter <= max(MOST_JITTER, 10.0 * n * EPSILON) * size:
            raise SingularSystem(
                f"K + {float(np.min(noise)):.3g} I is not positive definite under {gram.kernel} "
                f"even with {MOST_JITTER:g} of its diagonal added: the kernel is not positive "
                "definite. mercer.positive_definite(kernel, X) gives a witness"
            )


def gradient(
    gram: Gram, state: Conditioned, *, overwrite: bool = False, each: bool = False
) -> dict[str, float | Array]:
    r"""Return the derivatives of the likelihood in all parameters and in the noise variance.

    .. math:: \frac{\partial}{\partial\theta} \log p(y) = \tfrac{1}{2} \sum_{ij}
        \left(\alpha \alpha^\top - P\right)_{ij} \frac{\partial A_{ij}}{\partial\theta},
        \quad \alpha = P y

    The inverse is computed once for all parameters; with ``overwrite`` in the factor's memory. With
    ``each`` there is a derivative in the noise variance of each observation.

    >>> from mercer.kernels import Delta
    >>> data = NoisyObservations([0, 1], np.array([[2.0], [0.0]]), np.zeros((2, 0)))
    >>> gram = Gram(3.0 * Delta(), data.points)
    >>> found = gradient(gram, condition(gram, 1.0, data))
    >>> bool(np.isclose(found["weight"], 0.5 * (4.0 / 16.0 - 2.0 / 4.0)))
    True
    """
    alpha, q = state.weights, state.weights.shape[1]
    U = state.unwhitened(state.basis)
    inverse = state.factor if overwrite else state.factor.copy(order="F")
    if not invert_in_place(inverse):
        raise SingularSystem("the covariance matrix has no inverse in double precision")
    upper = inverse.T

    def weight(block: Block) -> Array:
        P = upper[block]
        if block.is_diagonal:
            above = np.triu(P, 1)
            P = above + above.T + np.diag(np.diag(P))
        if U.shape[1]:
            P = P - U[block.rows] @ U[block.columns].T
        W: Array = alpha[block.rows] @ alpha[block.columns].T - q * P
        return W

    found: dict[str, float | Array] = {
        name: 0.5 * (total if np.ndim(total) else float(total))
        for name, total in contract_partials(gram, weight).items()
    }
    own = np.sum(alpha * alpha, axis=1) - q * (np.diag(inverse) - np.sum(U * U, axis=1))
    found["noise_variance"] = 0.5 * own if each else 0.5 * float(np.sum(own))
    return found


def diagonal_of_P(state: Conditioned) -> Array:  # noqa: N802  (the texts' name of the matrix)
    """Return the diagonal of P, by which an observation is left out."""
    inverse = state.factor.copy(order="F")
    invert_in_place(inverse)
    U = state.unwhitened(state.basis)
    return np.asarray(np.diag(inverse) - np.sum(U * U, axis=1))


def contract_partials(gram: Gram, weight: Callable[[Block], Array]) -> dict[str, float | Array]:
    r"""Return the sum of a symmetric matrix W times each partial derivative of the kernel.

    .. math:: \sum_{ij} W_{ij} \frac{\partial k(x_i, x_j)}{\partial \theta}

    ``weight`` gives a block of W. Blocks above the diagonal are used twice.

    >>> from mercer import Gaussian
    >>> gram = Gram(Gaussian(1.0), [[0.0], [2.0]])
    >>> sums = contract_partials(gram, lambda block: np.ones((2, 2)))
    >>> bool(np.isclose(sums["bandwidth"], 2 * 4.0 * np.exp(-2.0)))
    True
    """
    tiles = gram.cut()
    blocks = tiles.blocks()
    sums: dict[tuple[int, int], dict[str, float | Array]] = {}

    def add(block: Block) -> None:
        x, y = tiles.x[block.rows], tiles.y[block.columns]
        partials = _partials(gram, AllPairs(x, None if block.is_diagonal else y))
        W = weight(block) * (1.0 if block.is_diagonal else 2.0)
        sums[_place(block)] = {n: np.tensordot(W, as_numpy(d), 2) for n, d in partials.items()}

    Threads().over(add, blocks)
    names = sums[_place(blocks[0])]
    # In the order of the blocks, whichever thread was first: sums are the same every time.
    totals = {name: sum(sums[_place(block)][name] for block in blocks) for name in names}
    return _finite(gram, totals)


def partial_products(gram: Gram, block: Array) -> dict[str, Array]:
    r"""Return the products of each partial derivative of the matrix with a block of vectors.

    .. math:: \left(\sum_j \frac{\partial k(x_i, x_j)}{\partial \theta}\, v_j\right)_i

    Nothing larger than a tile is stored, and tiles above the diagonal are used twice. Parameters
    with several members have an axis for them between the rows and the columns.

    >>> from mercer import Gaussian
    >>> gram = Gram(Gaussian(1.0), [[0.0], [2.0]])
    >>> found = partial_products(gram, np.array([[0.0], [1.0]]))["bandwidth"]
    >>> bool(np.allclose(found, [[4.0 * np.exp(-2.0)], [0.0]]))
    True
    """
    x, stripes = gram.x, list(chunks(gram.shape[0], Limits.stripe))

    def add(mine: Iterator[int]) -> dict[str, Array]:
        total: dict[str, Array] = {}
        for i in mine:
            for columns in stripes[i:]:
                rows, is_diagonal = stripes[i], columns is stripes[i]
                partials = _partials(gram, AllPairs(x[rows], None if is_diagonal else x[columns]))
                for name, derivative in partials.items():
                    tile = as_numpy(derivative)
                    if name not in total:
                        total[name] = np.zeros((len(block), *tile.shape[2:], block.shape[1]))
                    total[name][rows] += np.tensordot(tile, block[columns], axes=(1, 0))
                    if not is_diagonal:
                        total[name][columns] += np.tensordot(tile, block[rows], axes=(0, 0))
        return total

    engine = Threads(min(Limits.workers, Threads().count), is_deterministic=True)
    totals = engine.share(add, range(len(stripes)))
    found = {name: np.asarray(sum(total[name] for total in totals)) for name in totals[0]}
    return _finite(gram, found)


def _partials(gram: Gram, pairs: AllPairs) -> dict[str, Array]:
    """Return the derivatives of the kernel; `_finite` looks at their sums."""
    with np.errstate(over="ignore", invalid="ignore"):
        return gram.kernel.evaluate_partials(pairs)


def _finite(gram: Gram, sums: dict[str, Any]) -> dict[str, Any]:
    """Refuse sums that overflowed: the kernel names what did, if it is a derivative."""
    for name, total in sums.items():
        if not np.all(np.isfinite(total)):
            for rows in chunks(gram.shape[0], Limits.stripe):
                gram.kernel.partials(gram.x[rows], gram.x)
            raise InvalidInput(f"sums of derivatives of {gram.kernel} in {name} overflow")
    return sums


def _place(block: Block) -> tuple[int, int]:
    return block.rows.start, block.columns.start
