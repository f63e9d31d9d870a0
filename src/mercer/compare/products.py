"""Sums of products of centred matrices, and the same of permuted or multiplied individuals.

Three ways give the same numbers: matrices held in memory, tiles computed anew for each pass, and
features, by which products of n x n matrices become products of n x r ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import gammainc, gammaincc, ndtr

from mercer.check import TINY, Array, chunks
from mercer.compare.sides import CentredSide, Centring, shift_gram
from mercer.engines.tiles import Block
from mercer.errors import InvalidInput
from mercer.gram import Gram
from mercer.kernels.base import Kind
from mercer.lowrank import pivoted_cholesky
from mercer.progress import Progress
from mercer.settings import FIXED

Statistic = Callable[[Array], float]
"""The sum of products as a function of a permutation, or of factors of the individuals."""

SYMMETRIC = 1e-6
"""Skewness below which a Pearson type III law is normal to all digits that matter."""


class Products(Protocol):
    """The products that a comparison asks of several centred matrices of the same individuals."""

    def matrix(self, tell: Progress | None = None) -> Array:
        """Return the sums of products of every two matrices; ``tell`` hears of their tiles."""

    def permuted(self, a: int, b: int) -> Statistic:
        r"""Return the function from a permutation π to :math:`\sum w_i w_j a_{ij} b_{π_i π_j}`.

        Rows of the first sum to zero, so the second need not be centred again for every π, also
        where individuals have weights, which stay in their places.
        """

    def multiplied(self, a: int, b: int) -> Statistic:
        r"""Return the function from ε to :math:`\sum ε_i ε_j\, w_i w_j a_{ij} b_{ij}`."""


def products_of(grams: Sequence[Gram], how: Centring, rank: int | None = None) -> Products:
    """Return the cheapest exact way to compare, or by features of so many dimensions."""
    if rank is not None:
        return FeatureProducts.approximating(grams, how, rank)
    n = len(how.weights)
    is_linear = not how.is_unbiased and all(is_short(gram) for gram in grams)
    if is_linear:
        return FeatureProducts([np.asarray(shift_gram(gram, how.weights).x) for gram in grams], how)
    if n <= how.limits.stored and len(grams) * n * n <= how.limits.room:
        return Stored([how.dense(gram) for gram in grams], how)
    return Tiled([how.of(gram) for gram in grams])


def is_short(gram: Gram) -> bool:
    """Whether a matrix is that of inner products of vectors shorter than their number."""
    shape = np.shape(gram.x) if isinstance(gram.x, np.ndarray) else ()
    is_real = getattr(gram.x, "dtype", None) == np.float64
    return (
        gram.kernel.is_linear
        and is_real
        and len(shape) in (1, 2)
        and 4 * (shape[1] if len(shape) == 2 else 1) <= shape[0]
    )


def gathered(parts: Sequence[Array], scale: Array) -> Array:
    """Return the weighted sums of products of every two blocks of values."""
    flat = np.stack([part.reshape(-1) for part in parts])
    weight = np.broadcast_to(scale, parts[0].shape).reshape(-1)
    return np.asarray(((flat * weight) @ flat.conj().T).real)


@dataclass(frozen=True, eq=False)
class Stored:
    """Centred matrices in memory."""

    matrices: Sequence[Array]
    how: Centring

    def matrix(self, tell: Progress | None = None) -> Array:
        n, many = len(self.how.weights), len(self.matrices)
        total = np.zeros((many, many))
        for rows in chunks(n, self.how.limits.rows):
            block = Block(rows, slice(0, n))
            total += gathered([matrix[rows] for matrix in self.matrices], self.how.scale(block))
            if tell is not None:
                tell(rows.stop, n)
        return total

    def permuted(self, a: int, b: int) -> Statistic:
        parts, right = self._upper(a), self.matrices[b]

        def statistic(order: Array) -> float:
            total = 0.0
            for rows, part in parts:
                moved = np.take(right[order[rows]], order[rows.start :], axis=1, mode="clip")
                total += float(np.vdot(moved, part).real)
            return total

        return statistic

    def multiplied(self, a: int, b: int) -> Statistic:
        right = self.matrices[b]
        parts = [
            (rows, (right[rows, rows.start :].conj() * part).real) for rows, part in self._upper(a)
        ]
        return lambda e: float(sum(e[rows] @ part @ e[rows.start :] for rows, part in parts))

    def _upper(self, index: int) -> list[tuple[slice, Array]]:
        """Return the weighted matrix right of its diagonal blocks, where it counts twice."""
        n, found = len(self.how.weights), []
        for rows in chunks(n, self.how.limits.rows):
            block = Block(rows, slice(rows.start, n))
            part = self.matrices[index][rows, rows.start :] * self.how.scale(block)
            part[:, rows.stop - rows.start :] *= 2.0
            found.append((rows, part))
        return found


@dataclass(frozen=True, eq=False)
class Tiled:
    """Centred tiles, computed anew in every pass: memory grows with n, not with n²."""

    sides: Sequence[CentredSide]

    def matrix(self, tell: Progress | None = None) -> Array:
        return summed(self.sides, tell=tell)

    def permuted(self, a: int, b: int) -> Statistic:
        left, right = self.sides[a], self.sides[b]
        return lambda order: float(summed([left, right.taken(order)])[0, 1])

    def multiplied(self, a: int, b: int) -> Statistic:
        return lambda e: float(summed([self.sides[a], self.sides[b]], e)[0, 1])


def summed(
    sides: Sequence[CentredSide],
    multipliers: Array | None = None,
    tell: Progress | None = None,
) -> Array:
    """Return the sums of products of every two matrices in one pass over their tiles.

    Multipliers of the individuals, where given, multiply each product.
    """
    how, n, size = sides[0].how, sides[0].n, sides[0].gram.tile
    for side in sides:
        side.gram.cut()  # once, before threads ask
    parts = list(chunks(n, size))
    blocks = [Block(rows, columns) for i, rows in enumerate(parts) for columns in parts[i:]]
    done, lock = count(1), Lock()

    def work(here: slice) -> Array:
        total = np.zeros((len(sides), len(sides)))
        for block in blocks[here]:
            twice = 1.0 if block.is_diagonal else 2.0
            tiles = [side.tile(block) for side in sides]
            scale = twice * how.scale(block)
            if multipliers is not None:
                scale = scale * np.outer(multipliers[block.rows], multipliers[block.columns])
            total += gathered(tiles, scale)
            if tell is not None:
                with lock:
                    tell(next(done), len(blocks))
        return total

    return sides[0].gram.engine.sum_over_rows(work, len(blocks), how.limits.tiles)


@dataclass(frozen=True, eq=False)
class FeatureProducts:
    r"""Matrices F Fᵀ of centred features, exact for short vectors and else approximations.

    .. math:: \langle F F^\top, G G^\top \rangle = \| F^\top W G \|_F^2
    """

    factors: Sequence[Array]
    how: Centring
    held: float = 1.0
    """The least share of a trace that the features hold."""
    rank: int | None = None
    """How many an approximation was asked for, None where the features are exact."""

    @classmethod
    def approximating(cls, grams: Sequence[Gram], how: Centring, rank: int) -> FeatureProducts:
        """Return features by randomly pivoted Cholesky of each matrix."""
        for gram in grams:
            if gram.kernel.kind is Kind.CONDITIONAL:
                raise InvalidInput(
                    f"{gram.kernel} is positive definite only once it is centred and has no "
                    "features to permute: leave rank= out"
                )
        found = [pivoted_cholesky(gram, rank, random_state=FIXED) for gram in grams]
        factors = [each.factor - how.weights @ each.factor for each in found]
        held = min(1.0 - each.trace_error / (each.trace or 1.0) for each in found)
        return cls(factors, how, held, rank)

    def matrix(self, tell: Progress | None = None) -> Array:  # noqa: ARG002  (as of matrices)
        w = self.how.weights[:, None]
        return np.array([[_squares((w * f).T @ g) for g in self.factors] for f in self.factors])

    def permuted(self, a: int, b: int) -> Statistic:
        left = np.ascontiguousarray((self.how.weights[:, None] * self.factors[a]).T)
        right = self.factors[b]
        return lambda order: _squares(left @ right[order])

    def multiplied(self, a: int, b: int) -> Statistic:
        left = np.ascontiguousarray((self.how.weights[:, None] * self.factors[a]).T)
        right = self.factors[b]
        return lambda e: _squares((left * e) @ right)


def _squares(values: Array) -> float:
    return float(np.vdot(values, values).real)


@dataclass(frozen=True)
class LawMoments:
    """The mean, standard deviation and skewness of a statistic over all that chance may draw."""

    mean: float
    deviation: float
    skewness: float

    def p_value(self, observed: float) -> float:
        r"""Return the upper tail of the Pearson type III law with these moments.

        .. math:: \frac{T - \mu}{\sigma} + \frac{2}{\gamma} = \frac{\gamma}{2}\, X, \quad
            X \sim \mathrm{Gamma}(4 / \gamma^2)

        >>> LawMoments(1.0, 1.0, 2.0).p_value(3.0)  # the exponential law
        0.049787068
        """
        if self.deviation == 0.0:
            return 1.0
        z, skew = (observed - self.mean) / self.deviation, self.skewness
        if abs(skew) < SYMMETRIC:
            return float(ndtr(-z))
        shape = 4.0 / skew**2
        at = max(2.0 / skew * (z + 2.0 / skew), 0.0)
        tail = float(gammaincc(shape, at) if skew > 0 else gammainc(shape, at))
        return max(tail, TINY)  # a law without an end has no p-value of zero


def moments(A: Array, B: Array) -> LawMoments:
    r"""Return the moments of Σ Aᵢⱼ B_{πᵢπⱼ} over all permutations π, for rows that sum to zero.

    .. math:: \mu = \frac{T T'}{n - 1}, \quad \sigma^2 =
        \frac{2 ((n-1) T_2 - T^2) ((n-1) T_2' - T'^2)}{(n-1)^2 (n+1) (n-2)} +
        \frac{(n(n+1) S_2 - (n-1)(T^2 + 2 T_2)) (n(n+1) S_2' - (n-1)(T'^2 + 2 T_2'))}
        {(n+1) n (n-1) (n-2) (n-3)}

    with the trace T, T₂ = tr A² and S₂ = Σ aᵢᵢ² of A, and T', T₂', S₂' of B. The third moment is a
    sum over products of invariants of the third degree, see `third_moment`.

    Kazi-Aoual, Hitier, Sabatier and Lebreton (1995), Computational Statistics & Data Analysis 20.
    """
    n = len(A)
    if n < 6:
        raise InvalidInput(f"three moments of permutations need at least 6 individuals, found {n}")
    a, b = Invariants.of(A), Invariants.of(B)
    mean = a.T * b.T / (n - 1)
    spread = [(n - 1) * v.T2 - v.T**2 for v in (a, b)]
    excess = [n * (n + 1) * v.S2 - (n - 1) * (v.T**2 + 2.0 * v.T2) for v in (a, b)]
    variance = 2.0 * spread[0] * spread[1] / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance += excess[0] * excess[1] / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    if variance <= 0.0:
        return LawMoments(mean, 0.0, 0.0)
    third = third_moment(n, a.cubic(), b.cubic()) - 3.0 * mean * variance - mean**3
    return LawMoments(mean, float(np.sqrt(variance)), float(third / variance**1.5))


def multiplied_moments(A: Array) -> LawMoments:
    r"""Return the moments of Σ εᵢ εⱼ aᵢⱼ over independent standard normal ε.

    .. math:: \mu = \operatorname{tr} A, \quad \sigma^2 = 2 \operatorname{tr} A^2, \quad
        \mathrm{E}(T - \mu)^3 = 8 \operatorname{tr} A^3

    >>> found = multiplied_moments(np.eye(2))  # the χ² law of 2 degrees of freedom
    >>> found.mean, found.deviation, found.skewness
    (2.0, 2.0, 2.0)
    """
    square = A @ A
    variance = 2.0 * float(np.trace(square))
    if variance <= 0.0:
        return LawMoments(float(np.trace(A)), 0.0, 0.0)
    third = 8.0 * float(np.vdot(A, square))
    return LawMoments(float(np.trace(A)), float(np.sqrt(variance)), third / variance**1.5)


class Invariants(NamedTuple):
    """Sums over a symmetric matrix that do not change when its individuals are permuted."""

    T: float
    T2: float
    T3: float
    S2: float
    S3: float
    U: float
    R: float
    B: float

    @classmethod
    def of(cls, A: Array) -> Invariants:
        d = np.diag(A).real
        square = (A @ A).real
        return cls(
            T=float(d.sum()),
            T2=float(np.trace(square)),
            T3=float(np.vdot(A, square).real),
            S2=float(d @ d),
            S3=float(np.sum(d**3)),
            U=float(np.sum(A**3).real),
            R=float(d @ np.diag(square)),
            B=float(d @ A.real @ d),
        )

    def cubic(self) -> Array:
        """Return the invariants of the third degree, in the order of the table below."""
        T, T2 = self.T, self.T2
        return np.array([self.S3, self.U, self.B, self.R, T * self.S2, T**3, T * T2, self.T3])


def third_moment(n: int, a: Array, b: Array) -> float:
    r"""Return E T³ = Σ c_{ij}(n) a_i b_j / (n(n-1)⋯(n-5)), with the table of Kazi-Aoual et al.

    The invariants are, in this order, :math:`\sum a_{ii}^3`, :math:`\sum a_{ij}^3`,
    :math:`\sum a_{ii} a_{ij} a_{jj}`, :math:`\sum a_{ii} (A^2)_{ii}`, :math:`T S_2`, :math:`T^3`,
    :math:`T T_2` and :math:`\mathrm{tr} A^3`.
    """
    s, m = n * (n - 1), n - 2
    upper = {
        (0, 0): n**2 * (n + 1) * (n**2 + 15 * n - 4),
        (0, 1): -4 * s * (n**2 - n + 4),
        (0, 2): -6 * s * (n**2 - n + 4),
        (0, 3): -12 * s * (n - 1) * (n + 4),
        (0, 4): -3 * s * (n - 1) * (n + 4),
        (0, 5): 2 * s * m,
        (0, 6): 12 * s * m,
        (0, 7): 16 * s * m,
        (1, 1): 4 * (n**4 - 8 * n**3 + 19 * n**2 - 4 * n - 16),
        (1, 2): 24 * (n**2 - n - 4),
        (1, 3): 24 * (n**3 - 3 * n**2 - 2 * n + 8),
        (1, 4): 12 * (n**2 - n + 4),
        (1, 5): -16,
        (1, 6): -12 * (n**2 - 5 * n + 8),
        (1, 7): -8 * (3 * n**2 - 15 * n + 16),
        (2, 2): 6 * (n**4 - 8 * n**3 + 21 * n**2 - 6 * n - 24),
        (2, 3): 24 * (n**3 - 2 * n**2 - 3 * n + 12),
        (2, 4): 6 * (2 * n**3 - 7 * n**2 - 3 * n + 12),
        (2, 5): -6 * (n**2 - 5 * n + 4),
        (2, 6): -24 * (n**2 - 5 * n + 6),
        (2, 7): -24 * (n**2 - 5 * n + 8),
        (3, 3): 12 * (n**4 - n**3 - 8 * n**2 + 36 * n - 48),
        (3, 4): 12 * (n**3 - 2 * n**2 + 9 * n - 12),
        (3, 5): -24 * m,
        (3, 6): -12 * m * (n**2 - 5 * n + 12),
        (3, 7): -24 * m * (n**2 - 5 * n + 8),
        (4, 4): 3 * (n**4 - 4 * n**3 - 2 * n**2 + 9 * n - 12),
        (4, 5): -3 * m * (n**2 - 5 * n + 2),
        (4, 6): -6 * m * (n**2 - 5 * n + 6),
        (4, 7): -48 * m,
        (5, 5): n**3 - 9 * n**2 + 23 * n - 14,
        (5, 6): 6 * (n - 4),
        (5, 7): 8,
        (6, 6): 6 * (n**3 - 9 * n**2 + 24 * n - 14),
        (6, 7): 24 * (n - 3),
        (7, 7): 8 * (n**3 - 9 * n**2 + 26 * n - 22),
    }
    total = sum(
        float(c) * (a[i] * b[j] + (a[j] * b[i] if i != j else 0.0)) for (i, j), c in upper.items()
    )
    return float(total) / (float(s) * m * (n - 3) * (n - 4) * (n - 5))
