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

from typing import Any, NamedTuple

import numpy as np

from mercer.check import Array
from mercer.engines.held import to_host
from mercer.gram import Centred, Gram
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


def measured_errors(operator: KernelOperator, vectors: Any, images: Any, sample: Sample) -> Array:
    """Return about how far images of vectors are from the truth, relative to these, with a margin.

    >>> from mercer import Gaussian
    >>> x, v = np.arange(6.0)[:, None], np.eye(6)[:, :2]
    >>> operator = Centred(Gram(Gaussian(2.0), x))
    >>> wrong = operator.product(v) + [[1e-3, 0.0]] * np.array([[1, -1, 1, -1, 1, -1]]).T
    >>> errors = measured_errors(operator, v, wrong, Sample.of(operator, v, 6))
    >>> (errors / MARGIN).round(9)
    array([0.00244949, 0.        ])
    """
    base, (rows, counts), roots = operator.base, sample, operator.roots
    u = roots * vectors
    if isinstance(operator, Centred):
        u -= operator.weights[:, None] * column_sums(u)
    exact = _rows_of_product(base, rows, u)
    gaps = to_host(images[rows]) - roots[rows] * exact
    if isinstance(operator, Centred):  # known up to the mean of the images, which rounding changes
        shares = counts[:, None] * roots[rows]
        gaps -= roots[rows] * ((shares * gaps).sum(axis=0) / (shares * roots[rows]).sum())
    found: Array = _norms(gaps, sample) / np.maximum(np.linalg.norm(vectors, axis=0), 1e-300)
    return found


def mean_error(operator: KernelOperator, sample: Sample) -> float:
    """Return about how far the means of rows are from the truth, 0 where they are not used."""
    if not isinstance(operator, Centred) or not operator.means_are_single:
        return 0.0
    exact = _rows_of_product(operator.base, sample.rows, operator.weights[:, None])
    gaps = operator.roots[sample.rows] * (operator.mean_rows[sample.rows, None] - exact)
    return float(_norms(gaps, sample)[0])


def _rows_of_product(base: Gram, rows: Array, vectors: Any) -> Array:
    some = Gram(base.kernel, take(base.x, rows), base.x, engine=base.engine, tile=base.tile)
    return to_host(some.product(vectors))


def _norms(gaps: Array, sample: Sample) -> Array:
    norms: Array = MARGIN * np.sqrt((sample.counts[:, None] * np.abs(gaps) ** 2).sum(axis=0))
    return norms
