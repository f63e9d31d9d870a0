r"""What an approximation is missing, as a whole and along its axes, from a sample of points.

E = K - FF* is positive semidefinite, a Gram matrix of features :math:`\varphi_i` of which the
norms are known, for the diagonal of K is. What it adds to an eigenvalue is, to first order, the
square of a mean of such features: a mean that a sample of points has as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import NamedTuple

import numpy as np
from scipy import optimize
from scipy.sparse import linalg as sparse

from mercer.certificate import FAILURE
from mercer.check import Array, as_numpy
from mercer.engines.held import Held, move_beside, to_host
from mercer.engines.lapack import factor_in_place, norm_bound
from mercer.gram import Gram
from mercer.lowrank import Factored, LowRank
from mercer.points import take

FEWEST_STORED, MOST_STORED, SHARE = 1_000, 2_000, 25
"""Points whose matrix is factored (30 to 200 ms): one entry for 25 of the factor's own."""

BUDGETED = 240
"""Bytes of a budget for each entry of that matrix, of which there are three at a time."""

TILED = 64_000_000
"""Bytes that tiles of a product take: under a smaller budget no points are drawn."""

FEW, DIGITS, MARGIN, LEAST = 100, 1e-2, 1.05, 1e-3
"""Points whose matrix is decomposed; of more the largest eigenvalue is found to two digits, or is a
thousandth of a norm that is easily known, and proved in steps upwards, of which this is the first.
"""

NORM, POINTS = 3, 4
"""Numbers that keep these draws apart from each other and from others with the same seed."""

COSTLY = 10
"""Of a kernel that is costly to compute, a tenth of the landmarks' own entries may be added."""

SHORT = 3_500
"""Points whose own matrix takes no time, some 20 ms of one core."""

FEWEST_POINTS = 300
"""Points of a sample from which on it says more than the norm of the difference."""

ELSEWHERE = 0.1
"""The share of the sample that goes where much is missing rather than where the axes are."""

GUARDS = 10
"""Axes after the last that are looked at too, at least; else as many as are asked for."""

SMALL = 1e-6
"""Axes below this share of the first are not known well enough to be looked at."""

STEPS = 60
"""Halvings of an interval, after which it is as narrow as doubles are."""


class Energies(NamedTuple):
    """The shortfall along axes: bounds, and a sample's estimate, which is too much on average."""

    bounds: Array
    likely: Array


@dataclass(frozen=True)
class Missing:
    r"""The difference E = K - FF* on unit vectors, the axes of FF*, by a sample of points.

    With weights and centring an axis q stands for the vector :math:`g = H^\top W^{1/2} q`, and the
    energy that is missing along it is :math:`g^* E g = \|\mu\|^2` for
    :math:`\mu = \sum_i g_i \varphi_i` and features with
    :math:`\langle \varphi_i, \varphi_j \rangle = E_{ij}`. Draw s points with probabilities p: the
    mean m of the :math:`Z = g_i \varphi_i / p_i` has the mean μ. Of its component along μ alone,
    :math:`X = \langle \mu, Z \rangle / \|\mu\| \ge -c` with a mean of ‖μ‖ and a second moment of at
    most v, Bernstein's inequality says that :math:`\|\mu\| \le \bar X + d` but with probability δ,
    and no component is larger than the whole:

    .. math:: \|\mu\| \le \|m\| + d, \quad
        d = \frac{c\ell}{3s} + \sqrt{\Bigl(\frac{c\ell}{3s}\Bigr)^2 + \frac{2v\ell}{s}}, \quad
        \ell = \log\frac1\delta, \quad
        c = \max_i \frac{|g_i| \sqrt{E_{ii}}}{p_i}, \quad
        v = \max_i \frac{|g_i|^2}{w_i p_i} \, \|W^{1/2} E W^{1/2}\|

    ‖m‖² is the value of E on the s points alone, which takes no more than their own Gram matrix.
    If these are all points it is ‖μ‖² itself, and there is no d and no chance. Rounding: E plus the
    ``slack`` of its diagonal is positive semidefinite in the place of E. ``norm`` bounds
    :math:`\|W^{1/2} E W^{1/2}\|`.

    >>> from mercer import Gaussian
    >>> from mercer.lowrank import nystrom
    >>> x = np.linspace(0.0, 1.0, 400)[:, None]
    >>> gram = Gram(Gaussian(bandwidth=0.3), x)
    >>> found = nystrom(gram, 3, landmarks=[[0.2], [0.5], [0.8]])
    >>> q = np.linalg.svd(found.factor)[0][:, :1]
    >>> E = gram.dense() - found.factor @ found.factor.T
    >>> missing = Missing(gram, found.missing, found.below, np.ones(400), np.linalg.norm(E, 2), 0)
    >>> true = (q.T @ E @ q).item()
    >>> all_points, some = (missing.along(q, found, s).bounds.item() for s in (400, 350))
    >>> true <= all_points < 1.000001 * true, true <= some
    (True, True)
    """

    gram: Gram
    diagonal: Array
    below: float
    weights: Array
    norm: float
    random_state: int | None

    def pairs(self, values: Array, count: int) -> int:
        """Return how many axes are looked at: those asked for, and some after the last of them.

        The norm of all that is missing may be where no axis is looked at: that should be far below.
        """
        known = int(np.sum(values > SMALL * values[0])) if len(values) else 0
        near = int(np.sum(values[count:] > values[count - 1] - 3.0 * self.norm)) if known else 0
        return min(known, count + min(near, max(GUARDS, count)))

    def size(self, rank: int) -> int:
        """Return how many points are drawn, so that their work is a small part: all of few."""
        n, budget = self.gram.shape[0], self.gram.engine.memory
        if budget is not None and budget < TILED:
            return 0
        if self.gram.kernel.is_costly:
            return min(n, isqrt(n * rank // COSTLY))
        return min(n, max(SHORT, isqrt(n * rank // 2)))

    def is_sampled(self, rank: int) -> bool:
        """Whether points are drawn: neither all of them, nor too few to say anything."""
        return FEWEST_POINTS <= self.size(rank) < self.gram.shape[0]

    def along(self, axes: Array, found: Factored, size: int | None = None) -> Energies:
        """Return what is missing along each axis of the approximation ``found``, at most."""
        n, b = axes.shape
        size = self.size(found.rank) if size is None else size
        entry, largest = self.gram.entry_rounding().entry, float(np.max(self.weights, initial=0.0))
        slack = entry + self.below
        most = np.full(b, self.norm + 2.0 * slack * largest)
        if not b or size < min(n, FEWEST_POINTS) or not np.all(np.isfinite(most)):
            return Energies(most, most)
        g = np.sqrt(self.weights)[:, None] * axes
        if found.barycentre is not None:
            g -= self.weights[:, None] * g.sum(axis=0)
        e = np.maximum(self.diagonal, 0.0) + 2.0 * slack
        if size == n:
            rows, shares, chance = np.arange(n), np.ones(n), np.zeros(b)
        else:
            rows, shares, chance = self._drawn(g, e, most, size)
        v = shares[:, None] * g[rows]
        squares, rounding = self._on(rows, v, found, slack)
        lengths = np.sqrt(np.maximum(squares, 0.0) + rounding)
        return Energies(np.fmin((lengths + chance) ** 2, most), np.fmin(lengths**2, most))

    def _drawn(self, g: Array, e: Array, v: Array, size: int) -> tuple[Array, Array, Array]:
        """Return points, what each counts for, and how much longer than their mean μ can be."""
        w = self.weights
        squares = (g * g.conj()).real / np.where(w > 0.0, w, 1.0)[:, None]
        where, left = np.max(squares, axis=1), w * e
        p = (1.0 - ELSEWHERE) * where / where.sum() + ELSEWHERE * left / left.sum()
        rows, times = drawn_rows(p, size, self.random_state, POINTS)
        inverse = 1.0 / np.where(p > 0.0, p, np.inf)
        squares *= inverse[:, None]
        moment = v * np.max(squares, axis=0)
        squares *= (left * inverse)[:, None]
        longest = np.sqrt(np.max(squares, axis=0))
        rate = np.log(2.0 * g.shape[1] / FAILURE) / size
        chance = largest_shortfall(longest, moment, rate)
        return rows, times * inverse[rows] / size, chance

    def _on(self, rows: Array, v: Array, found: Factored, slack: float) -> tuple[Array, Array]:
        """Return the value of E on vectors of some points, and a bound for its rounding."""
        gram = self.gram
        is_all = len(rows) == gram.shape[0]
        some = gram if is_all else Gram(gram.kernel, take(gram.x, rows), engine=gram.engine)
        there = move_beside(v, some.x) if isinstance(some.x, Held) else v
        images = as_numpy(to_host(some.product(there)))
        factor = found.factor[rows]
        if found.barycentre is not None:
            factor /= np.where(found.roots[rows] > 0.0, found.roots[rows], 1.0)
            factor += found.barycentre.mean.conj()
        inside = factor.conj().T @ v
        squares = np.einsum("ik,ik->k", v.conj(), images).real
        squares -= np.einsum("ik,ik->k", inside.conj(), inside).real
        known, unit = some.entry_rounding(), float(np.finfo(float).eps)
        sizes = np.sum(np.abs(v), axis=0) ** 2
        most = max(known.value, float(np.max(gram.diag(), initial=0.0)))
        # The mean and a row of F are at most √most long, and what F was is known to a few units.
        per_unit = known.product + 32.0 * (len(rows) + found.rank) * unit * most
        return squares + slack * np.sum(np.abs(v) ** 2, axis=0), per_unit * sizes


def largest_shortfall(longest: Array, moment: Array, rate: float) -> Array:
    """Return by how much the mean of X ≥ -c is above that of a sample, but with probability δ.

    ``moment`` bounds the mean of X² and ``rate`` is log(1/δ) / s (Bernstein).

    >>> largest_shortfall(np.array([3.0]), np.array([0.5]), 1.0)
    array([2.41421356])
    """
    step = longest * rate / 3.0
    return np.asarray(step + np.sqrt(step**2 + 2.0 * moment * rate))


def upper_values(values: Array, energies: Array, beyond: float, norm: float) -> Array:
    r"""Return bounds for the leading eigenvalues of FF* + E from energies of E along axes.

    For β ≥ q*Eq along each of the first b axes of FF*, τ its next eigenvalue and ε ≥ ‖E‖,
    :math:`\lambda_i` is at most the largest root of

    .. math:: \sum_{k=i}^b \frac{\beta_k}{\lambda - \theta_k} + \frac{\varepsilon}{\lambda - \tau}
        = 1

    and at most :math:`\theta_i + \varepsilon`. For it is at most the largest value on unit vectors
    :math:`y + \sum_{k \ge i} x_k q_k` that are orthogonal to the first i - 1 axes (Courant and
    Fischer), where :math:`\sqrt{u^* E u}` is a seminorm, so that the value is at most
    :math:`\sum \theta_k |x_k|^2 + \tau \|y\|^2 + (\sum \sqrt{\beta_k} |x_k| + \sqrt\varepsilon
    \|y\|)^2`: a diagonal matrix and one of rank one, whose largest eigenvalue is that root.

    >>> theta, beta, epsilon = np.array([5.0, 3.0]), np.array([1e-3, 2e-3]), 0.5
    >>> v = np.sqrt([*beta, epsilon])
    >>> truth = np.linalg.eigvalsh(np.diag([*theta, 1.0]) + np.outer(v, v))[-1]
    >>> found = upper_values(theta, beta, 1.0, epsilon)
    >>> found.round(5), bool(0.0 <= found[0] - truth < 1e-12)
    (array([5.00115, 3.00267]), True)
    """
    b = len(values)
    tops, weights = np.append(values, beyond), np.append(energies, norm)
    later = np.arange(b + 1) >= np.arange(b)[:, None]
    low, high = (
        values.copy(),
        values + np.minimum(np.sum(np.where(later, weights, 0.0), axis=1), norm),
    )
    last = values + norm
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        gaps = np.where(later, middle[:, None] - tops, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(later & (weights > 0.0), weights / gaps, 0.0)
        is_above = (middle > values) & np.all(gaps > 0.0, axis=1) & (terms.sum(axis=1) <= 1.0)
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return np.asarray(np.minimum(high, last))


class Norm(NamedTuple):
    """A bound for a norm, whether it rests on a sample, and what that says: too much on average."""

    value: float
    is_sampled: bool
    likely: float


def norm_points(n: int, rank: int, budget: int | None, *, is_costly: bool = False) -> int:
    """Return how many points are drawn for the norm, whose matrix is stored and factored."""
    size = min(max(isqrt(n * rank // SHARE), FEWEST_STORED), MOST_STORED)
    if is_costly:
        size = isqrt(n * rank // COSTLY)
    return min(n, size if budget is None else min(size, isqrt(budget // BUDGETED)))


def sampled_norm(
    gram: Gram, found: LowRank, weights: Array, random_state: int | None, size: int | None = None
) -> Norm:
    r"""Return a bound for the norm of what an approximation is missing, from a sample of points.

    The difference E, with the weights, has the eigenvalues of :math:`C = \sum_i w_i \varphi_i
    \varphi_i^*`. Draw s points with probabilities p, and let Ĉ be the mean of the
    :math:`w_i \varphi_i \varphi_i^* / p_i`. Along the first eigenvector u of C it is the mean of
    numbers :math:`w_i |\langle u, \varphi_i \rangle|^2 / p_i` between 0 and B, whose mean is ‖C‖:

    .. math:: \frac{\|C\|}{B} \le \max \Bigl\{ q : s \operatorname{KL}\Bigl(
        \frac{u^* \hat C u}{B}, q\Bigr) \le \log\frac2\delta \Bigr\}, \quad
        u^* \hat C u \le \|\hat C\|, \quad B = \max_i \frac{w_i E_{ii}}{p_i}

    but with probability δ/2 (Hoeffding). With p as w E that B is the trace. ‖Ĉ‖ is that of a
    matrix of the s points alone, bounded by Cholesky's factor of cI - Ĉ. If these are all points
    it is ‖C‖ itself. Rounding: E plus ``below`` on its diagonal is positive semidefinite.

    >>> from mercer import Gaussian
    >>> from mercer.lowrank import nystrom
    >>> x = np.linspace(0.0, 1.0, 400)[:, None]
    >>> gram = Gram(Gaussian(bandwidth=0.05), x)
    >>> found = nystrom(gram, 9, landmarks=x[20::45])
    >>> true = np.linalg.norm(gram.dense() - found.factor @ found.factor.T, 2)
    >>> bounds = [sampled_norm(gram, found, np.ones(400), 0, size) for size in (400, 300)]
    >>> [bool(true <= bound.value < 3.0 * true) for bound in bounds], bounds[0].is_sampled
    ([True, True], False)
    """
    n, rank = found.factor.shape
    entry = gram.entry_rounding().entry
    e = np.maximum(found.missing, 0.0) + 2.0 * (entry + found.below)
    g = weights * e
    t = float(g.sum())
    if size is None:
        size = norm_points(n, rank, gram.engine.memory, is_costly=gram.kernel.is_costly)
    if size < min(n, FEWEST_POINTS) or not 0.0 < t < np.inf:
        return Norm(t, is_sampled=False, likely=t)
    if size == n:
        rows, d = np.arange(n), weights
    else:
        rows, times = drawn_rows(g, size, random_state, NORM)
        d = times * (t / size) / e[rows]
    some = gram if size == n else Gram(gram.kernel, take(gram.x, rows), engine=gram.engine)
    factor = found.factor[rows]
    A = as_numpy(to_host(some.dense())).astype(np.result_type(factor, float), copy=False)
    largest = max(some.entry_rounding().value, float(np.max(np.abs(np.diag(A)), initial=0.0)))
    A -= factor @ factor.conj().T
    A[np.diag_indices_from(A)] += found.below
    roots = np.sqrt(d)
    A *= roots[:, None] * roots
    unit = float(np.finfo(float).eps)
    rounding = (entry + 4.0 * (rank + 4) * unit * largest) * float(d.sum())
    norm = largest_eigenvalue(A) + rounding
    if size == n:
        return Norm(min(norm, t), is_sampled=False, likely=min(norm, t))
    bound = t * largest_mean(min(norm / t, 1.0), size)
    return Norm(bound, is_sampled=True, likely=min(norm, bound))


def largest_eigenvalue(A: Array) -> float:
    """Return a bound for the largest eigenvalue of a Hermitian matrix, a few per cent above it.

    Cholesky's factor proves it, whose rounding is part of the bound (Higham).

    >>> A = np.diag([3.0, 2.0, -5.0])
    >>> bool(3.0 <= largest_eigenvalue(A) < 3.2), largest_eigenvalue(np.zeros((2, 2)))
    (True, 0.0)
    """
    n, most = len(A), norm_bound(A)
    if not 0.0 < most < np.inf:
        return most
    floor = max(_nearly_largest(A), LEAST * most)
    bound, step, unit = MARGIN * floor, MARGIN, float(np.finfo(float).eps)
    while bound < most:
        rest = np.negative(A, order="F")
        rest[np.diag_indices(n)] += bound
        slack = 2.0 * (n + 2) * unit * float(np.sum(np.abs(np.diag(rest))))
        if factor_in_place(rest):
            return min(bound + slack, most)
        bound, step = bound * step, step * step
    return most


def _nearly_largest(A: Array) -> float:
    """Return the largest eigenvalue to a few digits, from below."""
    n = len(A)
    if n <= FEW:
        return float(np.linalg.eigvalsh(A)[-1])
    start = np.random.default_rng(0).standard_normal(n).astype(A.dtype)
    try:
        found = sparse.eigsh(A, 1, which="LA", tol=DIGITS, v0=start, return_eigenvectors=False)
        return float(found[0])
    except sparse.ArpackNoConvergence:
        return float(np.max(np.diag(A).real))


def drawn_rows(p: Array, size: int, random_state: int | None, apart: int) -> tuple[Array, Array]:
    """Draw rows with probabilities as p, and say how often each was drawn."""
    rng = np.random.default_rng(None if random_state is None else [random_state, apart])
    sums = np.cumsum(p)
    drawn = np.searchsorted(sums, rng.random(size) * sums[-1], side="right")
    rows, times = np.unique(np.minimum(drawn, len(p) - 1), return_counts=True)
    return rows, times


def largest_mean(mean: float, size: int) -> float:
    """Return the largest mean of a law on [0, 1] that a sample's mean does not exclude.

    It is wrong with half of the probability that a certificate may be wrong with.

    >>> bool(2.14e-5 < largest_mean(0.0, 10**6) < 2.15e-5), largest_mean(1.0, 10)
    (True, 1.0)
    >>> bool(0.0118 < largest_mean(0.01, 10**5) < 0.0123)
    True
    """
    rate = np.log(2.0 / FAILURE) / size
    if mean == 0.0:
        return float(-np.expm1(-rate))

    def excess(p: float) -> float:
        kept = (1.0 - mean) * np.log((1.0 - mean) / (1.0 - p)) if mean < 1.0 else 0.0
        return float(mean * np.log(mean / p) + kept - rate)

    last = 1.0 - 1e-15
    return float(optimize.brentq(excess, mean, last)) if mean < last and excess(last) > 0 else 1.0
