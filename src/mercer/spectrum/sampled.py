r"""What rounding has done to images, measured on rows that are computed again in double precision.

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
from typing import Any, NamedTuple

import numpy as np

from mercer.check import Array
from mercer.engines.held import to_host
from mercer.gram import Centred
from mercer.operators import column_sums
from mercer.points import take
from mercer.spectrum.values import KernelOperator

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
        totals = [np.abs(size) / max(float(np.abs(size).sum()), 1e-300) for size in sizes]
        p = sum(totals) / sum(float(total.sum()) for total in totals)
        rows = np.random.default_rng(0).choice(n, size, p=p)
        return Sample(rows, 1.0 / (size * p[rows]))


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
        gaps = to_host(images[self.sample.rows]) - self.roots * exact
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
        return [to_host(rows) for rows in base.engine.products(some, [*self._blocks, *weights])]

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
