r"""Random probes: the norm of what axes leave out, and what rounding has done to images.

Rounding is measured on rows that are computed again in double precision.
Rows are drawn with probabilities :math:`p_i`, and the squared error of a column of images is
:math:`\frac1s \sum \varepsilon_i^2 / p_i` over s of them, whose mean is the squared norm. Errors
are large where values of the kernel are, where its centred values are, or where the axis itself
is: :math:`p_i` is the mean of the shares that a row has of each of these, and of the weights. If no
row has more than C times its :math:`p_i` of the squared error, the measured norm is below a third
of the true one with a probability of at most :math:`e^{-0.39 s / C}` (the lower tail of a sum of
nonnegative terms: Maurer, J. Inequalities in Pure and Applied Mathematics 4, 15, 2003): for 8192
rows and C = 200, :math:`10^{-7}`. That C is small is assumed, and the certificate says "estimated".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from mercer.certificate import FAILURE, NOT_HIDDEN, WIDENED, Complement, probe_quantile
from mercer.check import Array
from mercer.engines.engine import Seed
from mercer.engines.held import to_host
from mercer.gram import Centred
from mercer.iteration import Noise
from mercer.operators import column_sums
from mercer.points import take
from mercer.spectrum.axes_and_signs import (
    KernelOperator,
)

MARGIN = 3.0
"""By how much the error of images may exceed what was measured on some of their rows."""


class Sample(NamedTuple):
    """Numbers of rows, and of how many rows each stands for."""

    rows: Array
    counts: Array

    @staticmethod
    def of(operator: KernelOperator, vectors: Any, size: int) -> Sample:
        """Draw rows where images of these vectors can be off by most; all, if there are no more."""
        n = operator.shape[0]
        if n <= size:
            return Sample(np.arange(n), np.ones(n))
        weights = operator.roots[:, 0] ** 2
        of_axes = to_host(np.einsum("ij,ij->i", vectors.conj(), vectors)).real
        sizes = (weights, weights * operator.base.diag(), operator.diag(), of_axes)
        share = np.zeros(n)
        for each in sizes:
            large = np.abs(each)
            large *= 1.0 / max(float(large.sum()), 1e-300)
            share += large
        sums = np.cumsum(share)
        drawn = np.sort(np.random.default_rng(0).random(size)) * sums[-1]
        rows = np.minimum(np.searchsorted(sums, drawn, side="right"), n - 1)
        return Sample(rows, sums[-1] / (size * share[rows]))


class Measured:
    """Images of blocks of vectors beside what they are on a sample of rows, in double precision.

    Rows of the matrix are computed once, for all blocks and for the means.

    >>> from mercer import Gaussian, Gram
    >>> x, v = np.arange(6.0)[:, None], np.eye(6)[:, :2]
    >>> operator = Centred(Gram(Gaussian(2.0), x))
    >>> wrong = operator.product(v) + [[1e-3, 0.0]] * np.array([[1, -1, 1, -1, 1, -1]]).T
    >>> measured = Measured(operator, Sample.of(operator, v, 6), [(v, wrong)])
    >>> (measured.errors[0] / MARGIN).round(9)
    array([0.00244949, 0.        ])
    """

    def __init__(
        self, operator: KernelOperator, sample: Sample, pairs: Sequence[tuple[Any, Any]]
    ) -> None:
        self.operator, self.sample, self.pairs = operator, sample, pairs
        self.roots = operator.roots[sample.rows]

    @cached_property
    def errors(self) -> list[Array]:
        """About how far images are from the truth, relative to vectors, with a margin."""
        found = zip(self.pairs, self._exact, strict=True)
        return [self._errors(vectors, images, exact) for (vectors, images), exact in found]

    def _errors(self, vectors: Any, images: Any, exact: Array) -> Array:
        gaps = images[self.sample.rows] - self.roots * exact  # where images are
        if isinstance(self.operator, Centred):  # known up to a mean, which rounding changes
            shares = self.sample.counts[:, None] * self.roots
            gaps -= self.roots * ((shares * gaps).sum(axis=0) / (shares * self.roots).sum())
        lengths = np.maximum(np.linalg.norm(vectors, axis=0), 1e-300)
        found: Array = self._norms(gaps) / lengths
        return found

    @property
    def mean_error(self) -> float:
        """About how far the means of rows are from the truth, 0 where they are not used."""
        operator, rows = self.operator, self.sample.rows
        if not isinstance(operator, Centred) or not operator.means_are_single:
            return 0.0
        means = self._products[-1]
        return float(self._norms(self.roots * (operator.mean_rows[rows, None] - means))[0])

    @cached_property
    def _exact(self) -> list[Array]:
        r"""The rows of K(W^½ - w1^\top W^½)V, for each block."""
        if not isinstance(self.operator, Centred):
            return self._products
        *products, means = self._products
        together = zip(self._blocks, products, strict=True)
        return [self._unit * (rows - means * column_sums(u)) for u, rows in together]

    @cached_property
    def _products(self) -> list[Array]:
        """The rows of K W^½V, and of a matrix to be centred those of Kw, its means."""
        operator, base = self.operator, self.operator.base
        some = base.cut().rows(take(base.placed, self.sample.rows))
        weights = [operator.roots**2] if isinstance(operator, Centred) else []
        return base.engine.products(some, [*self._blocks, *weights])

    @cached_property
    def _blocks(self) -> list[Any]:
        """W^½V for each block; equal weights are put outside, and vectors stay as they lie."""
        blocks = [vectors for vectors, _ in self.pairs]
        if not isinstance(self.operator, Centred) or self._unit != 1.0:
            return blocks
        return [self.operator.weights_beside(vectors)[0] * vectors for vectors in blocks]

    @cached_property
    def _unit(self) -> float:
        """The root of all weights, where they are equal; 1 where they are not."""
        weights = self.operator.roots[:, 0]
        return float(weights[0]) if float(np.ptp(weights)) == 0.0 else 1.0

    def _norms(self, gaps: Array) -> Array:
        squares = self.sample.counts[:, None] * np.abs(gaps) ** 2
        norms: Array = MARGIN * np.sqrt(squares.sum(axis=0))
        return norms


SPENT = 1e-150
"""Lengths whose squares are no numbers."""


PROBES = 4
"""Random vectors that accompany the passes to measure an eigenvalue.

Beside ten axes and two guards they cost next to nothing, for products take columns by fours. With
seven the bound after three passes is a fifth smaller; that of powers alone took seven for the same.
"""


POLYNOMIALS = 8
"""Polynomials that are tried, each chosen by the bound of the one before."""


class Approximation(Protocol):
    """A low-rank matrix FF*: its trace, products with it, and what vectors leave of it."""

    factor: Array

    @property
    def trace(self) -> float: ...

    def product(self, vectors: Array) -> Array: ...

    def outside(self, vectors: Array) -> float: ...

    def random_vectors(self, count: int, random_state: Seed) -> Array: ...


class NormProbe:
    r"""The largest eigenvalue of A = K - K̂ from random vectors that ride along with passes over K.

    Let u be its unit eigenvector, x the eigenvalue, p > 0 the number of independent standard normal
    vectors that are the columns of Ω, and :math:`Y_{j+1} = A Y_j + E_j,\; Y_0 = Ω` their images as
    they were computed. A product with a unit vector is wrong by ε at most, so that
    :math:`\|E_j\|_F \le \varepsilon N_j` with :math:`N_j = \|Y_j\|_F`, and
    :math:`u^* Y_{j+1} = x\, u^* Y_j + u^* E_j`. Hence for every polynomial with coefficients c

    .. math:: |c(x)|\, \|u^* \Omega\| \le \Bigl\| \sum_j c_j Y_j \Bigr\|_F
        + \varepsilon \sum_j |c_j| \sum_{i<j} x^{j-1-i} N_i, \quad
        \|u^* \Omega\|^2 \sim \chi^2_p

    where that one number is above its quantile q but with a small probability (half of it for a
    complex A, whose u has a real or an imaginary part of at least half its square). Where the first
    coefficient is positive, x is at most the largest root of the difference of both sides with √q
    in the place of the norm: a bound for every c at once, of which the least is taken. Powers are
    one choice of c; the polynomial that is smallest on the probes for its value at x, which
    Christoffel's function gives, is a better one.
    """

    def __init__(
        self, approximation: Approximation, n: int, random_state: int | list[int] | None
    ) -> None:
        self.approximation, self.n = approximation, n
        block = approximation.random_vectors(PROBES, random_state)
        lengths = np.linalg.norm(block, axis=0)
        self.powers = [block / lengths]
        self.norms = [lengths]

    @property
    def steps(self) -> int:
        return len(self.norms) - 1

    @property
    def is_spent(self) -> bool:
        """Whether the approximation misses nothing, of which no power says more."""
        return float(np.max(self.norms[-1])) < SPENT

    @property
    def vectors(self) -> Array:
        """The last powers times the probes, as unit vectors."""
        last: Array = self.powers[-1]
        return last

    def advance(self, images: Array) -> None:
        """Take K times the probes, from which the next power follows."""
        images = images - self.approximation.product(self.vectors)
        norms = np.maximum(np.linalg.norm(images, axis=0), np.finfo(float).tiny)
        self.powers.append(images / norms)
        self.norms.append(norms)

    def largest(self, noise: float = 0.0) -> float:
        """Return a bound for the largest eigenvalue, wrong with probability at most `FAILURE`.

        ``noise`` bounds the error of K times a unit vector as it was given to `advance`.
        """
        if not self.steps:
            return np.inf
        unit = float(np.max(self.norms[1:])) + noise  # in which no coefficient overflows
        scales = np.cumprod([self.norms[0], *(norms / unit for norms in self.norms[1:])], axis=0)
        sizes = np.linalg.norm(scales, axis=1)
        quantile = probe_quantile(PROBES, FAILURE, is_complex=np.iscomplexobj(self.vectors))
        seen, error = float(np.sqrt(quantile)), (noise + self._rounding()) / unit
        powers = np.hstack(self.powers)  # as few operations as can be, where each is a message

        def bound(c: Array) -> float:
            """Return the largest root for one polynomial."""
            total = powers @ np.vstack([np.diag(row) for row in c[:, None] * scales])
            rounded = 4.0 * len(c) * float(np.finfo(float).eps) * float(np.abs(c) @ sizes)
            left = WIDENED * float(np.linalg.norm(total)) + rounded
            return _largest_root(seen * c, error * _piled(np.abs(c), sizes), left)

        moments = _moments(powers.conj().T @ powers, scales)
        best = bound(np.eye(len(scales))[-1])
        for _ in range(POLYNOMIALS):
            found = bound(_least_polynomial(moments, sizes, error, best))
            if not found < best:
                break
            best = found
        return unit * best

    def complements(self, ritz: Array, noise: float) -> list[Complement]:
        """Return the bound: what the approximation has outside, and the largest of the rest.

        The first holds whatever rounding did; the second, which is much smaller after passes in
        single precision, assumes that errors of the products did not happen to cancel the probes'
        share of the largest axis of the rest.
        """
        outside, pairs = self.approximation.outside(ritz) + self._rounding(), ritz.shape[1]
        name = "low-rank approximation and random probes"
        return [
            Complement(outside + self.largest(noise), name, "none", FAILURE, pairs),
            Complement(outside + self.largest() + noise, name, NOT_HIDDEN, FAILURE, pairs),
        ]

    def _rounding(self) -> float:
        """Bound the rounding of products with the approximation, and of what it has outside."""
        terms = 2 * sum(self.approximation.factor.shape) + 8
        return terms * float(np.finfo(float).eps) * self.approximation.trace


def _moments(products: Array, scales: Array) -> Array:
    """Return the inner products of blocks of vectors, from those of all columns and their scales.

    >>> _moments(np.arange(16.0).reshape(4, 4), np.ones((2, 2)))
    array([[ 5.,  9.],
           [21., 25.]])
    """
    pairs = products.real.reshape(*scales.shape, *scales.shape)
    moments: Array = np.einsum("ikjk,ik,jk->ij", pairs, scales, scales)
    return moments


def _least_polynomial(moments: Array, sizes: Array, noise: float, x: float) -> Array:
    """Return the coefficients whose square on the moments is least for the value 1 at x.

    Those of noisy powers count with their noise, too. Any coefficients may be returned, for each
    proves a bound; the last is made positive.

    >>> c = _least_polynomial(np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2), 0.0, 1.0)
    >>> c.round(6)
    array([0.5, 0.5])
    """
    sizes = np.maximum(sizes, np.finfo(float).tiny ** 0.5 * max(float(sizes[0]), 1.0))
    powers = x ** np.arange(len(sizes))
    piled = np.array([_piled(row, sizes) @ powers[:-1] for row in np.eye(len(sizes))])
    metric = moments / np.outer(sizes, sizes) + np.diag((noise * piled / sizes) ** 2)
    values, axes = np.linalg.eigh(metric)
    values = np.maximum(values, 1e-13 * values[-1])
    c = (axes / values) @ (axes.T @ (powers / sizes)) / sizes
    scale = float(c @ powers)
    return np.asarray(c / scale) if c[-1] * scale > 0 else np.eye(len(sizes))[-1]


def _piled(c: Array, sizes: Array) -> Array:
    """Return the coefficients of Σⱼ cⱼ Σ xʲ⁻¹⁻ⁱ Nᵢ over i < j, lowest first.

    >>> _piled(np.array([0.0, 0.0, 1.0]), np.array([5.0, 7.0, 1.0]))
    array([7., 5.])
    """
    degree = len(c) - 1
    piled = np.zeros(degree)
    for j in range(1, degree + 1):
        piled[:j] += c[j] * sizes[:j][::-1]
    return piled


def _largest_root(c: Array, noise: Array, left: float) -> float:
    """Return the largest x ≥ 0 with c(x) ≤ noise(x) + left, coefficients lowest first.

    >>> round(_largest_root(np.array([0.0, 1.0]), np.zeros(1), 2.0), 6)
    2.0
    >>> round(_largest_root(np.array([0.0, 0.0, 1.0]), np.array([0.5, 0.0]), 3.5), 6)
    2.0
    """
    polynomial = c.copy()
    polynomial[:-1] -= noise
    polynomial[0] -= left
    root, widening = max(float(np.roots(polynomial[::-1]).real.max()), 0.0), WIDENED - 1.0
    while not _is_increasing_from(polynomial, root * (1.0 + widening)):
        root, widening = max(root, float(np.finfo(float).eps)), 2.0 * widening
    return root * (1.0 + widening)


def _is_increasing_from(polynomial: Array, x: float) -> bool:
    """Whether no root lies above x, proved by Taylor's coefficients at x, none of them negative.

    They are positive wherever x is above the real parts of all roots; what `numpy.roots` says of
    roots that lie close together is not sure.

    >>> _is_increasing_from(np.array([-1.0, 0.0, 1.0]), 1.1)
    True
    >>> _is_increasing_from(np.array([-1.0, 0.0, 1.0]), 0.9)
    False
    """
    taylor, sizes = polynomial.copy(), np.abs(polynomial)
    for first in range(len(taylor) - 1):
        for j in range(len(taylor) - 2, first - 1, -1):
            taylor[j] += x * taylor[j + 1]
            sizes[j] += x * sizes[j + 1]
    rounding = 4.0 * len(taylor) * float(np.finfo(float).eps) * sizes
    return bool(np.all(taylor >= rounding))


PROBE_STEPS, DOUBLE_STEPS = 4, 2
"""Passes that carry the probes along: later ones would sharpen the bound by little. One in double
precision does so only where it comes early, so that few in single precision will follow."""


class Probed:
    """An operator whose first passes carry the probes of the certificate along.

    They are those in single precision, unless the iteration makes none or few.
    """

    def __init__(self, operator: KernelOperator, probe: NormProbe, noise: Noise) -> None:
        self.operator, self.probe = operator, probe
        self.is_single = bool(np.isfinite(noise.single))
        self.noise, self._double = noise.of(self.is_single), noise.double
        self.is_last_single = self.is_single
        self.shape = operator.shape
        self.last: tuple[Array, Array] | None = None
        self.seen: tuple[Array, Array] | None = None
        self.is_bounded = False

    def product(self, vectors: Array, *, single: bool = False) -> Array:
        self.last, self.is_last_single = None, single
        most = PROBE_STEPS if single == self.is_single else DOUBLE_STEPS
        if self.probe.steps >= most or self.probe.is_spent:
            return self.operator.product(vectors, single=single)
        before = self.probe.vectors
        both = self.operator.product(np.hstack([vectors, before]), single=single)
        images = both[:, vectors.shape[1] :].copy()  # lest it hold the others, too
        self.last = self.seen = before, images
        self.probe.advance(images)
        return both[:, : vectors.shape[1]]

    def witnesses(self, value: float) -> tuple[Array, Array, float] | None:
        """Return the probes for which the approximation misses more than a value."""
        if self.last is None:
            return None
        vectors, images = self.last
        slack = 0.0 if self.is_last_single else self._double  # its rounding is no axis
        is_large = self.probe.norms[-1] > value + slack
        if not np.any(is_large):
            return None
        error = self.noise if self.is_last_single else min(self.noise, self._double)
        return vectors[:, is_large], images[:, is_large], error
