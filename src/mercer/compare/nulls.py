"""The law of a statistic over all permutations or multipliers of individuals, by its moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc, gammaincc, ndtr

from mercer.check import Array
from mercer.errors import InvalidInput

LEAST = float(np.finfo(np.float64).tiny)
"""The least p-value that can be told from zero."""

SYMMETRIC = 1e-6
"""A skewness below which a Pearson type III law is a normal one to all digits that matter."""


@dataclass(frozen=True)
class Moments:
    """The mean, standard deviation and skewness of a statistic over all that chance may draw."""

    mean: float
    deviation: float
    skewness: float

    def p_value(self, observed: float) -> float:
        r"""Return the upper tail of the Pearson type III law with these moments.

        .. math:: \frac{T - \mu}{\sigma} + \frac{2}{\gamma} = \frac{\gamma}{2}\, X, \quad
            X \sim \mathrm{Gamma}(4 / \gamma^2)

        >>> Moments(1.0, 1.0, 2.0).p_value(3.0)  # the exponential law
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
        return max(tail, LEAST)  # a law without an end has no p-value of zero


def moments(A: Array, B: Array) -> Moments:
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
        return Moments(mean, 0.0, 0.0)
    third = third_moment(n, a.cubic(), b.cubic()) - 3.0 * mean * variance - mean**3
    return Moments(mean, float(np.sqrt(variance)), float(third / variance**1.5))


def multiplied_moments(A: Array) -> Moments:
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
        return Moments(float(np.trace(A)), 0.0, 0.0)
    third = 8.0 * float(np.vdot(A, square))
    return Moments(float(np.trace(A)), float(np.sqrt(variance)), third / variance**1.5)


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
