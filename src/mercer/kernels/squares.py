"""Squared distances between many points: as fast as a matrix product, and still accurate."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array, chunks

GAPS = 2**22
"""Differences of coordinates held at a time, 32 MB of them."""

DISTANCE_ACCURACY = 1e-10
"""Relative error allowed to a squared distance from a matrix product before it is recomputed."""


def sparse_squared_distances(a: Any, b: Any, lengths: Array) -> Array:
    r"""Squared Euclidean distances between sparse rows, by one sparse matrix product.

    The data are not centred, which would fill them; entries whose error could exceed
    `DISTANCE_ACCURACY` are recomputed from differences, which are as sparse as the rows.

    >>> from scipy.sparse import csr_array
    >>> x = csr_array([[1e8, 0.0, 1.0], [1e8, 2.0, 0.0]])
    >>> sparse_squared_distances(x, x, np.ones(3))
    array([[0., 5.],
           [5., 0.]])
    """
    left = in_lengths(a, lengths)
    right = left if b is a else in_lengths(b, lengths)
    left_norms = sums_of_squares(left)
    right_norms = left_norms if right is left else sums_of_squares(right)
    d: Array = (left @ right.T).toarray()
    d *= -2.0
    terms = max(int(np.max(np.diff(side.indptr), initial=0)) for side in (a, b))
    # A product of as many terms as a row has nonzeros, and two additions.
    doubt = (terms + 2) * np.finfo(np.float64).eps / 2 / DISTANCE_ACCURACY
    for rows in chunks(d.shape[0], 256):
        block = d[rows]
        norms = left_norms[rows, None] + right_norms[None, :]
        block += norms
        i, j = np.nonzero(block < doubt * norms)
        for part in chunks(len(i), max(1, GAPS // max(terms, 1))):
            gaps = in_lengths(a[rows.start + i[part]] - b[j[part]], lengths)
            block[i[part], j[part]] = sums_of_squares(gaps)
    return d


def in_lengths(rows: Any, lengths: Array) -> Any:
    """Return sparse rows with each column in units of its length."""
    if np.all(lengths == 1.0):
        return rows
    scaled = rows.copy()
    scaled.data = rows.data / lengths[rows.indices]
    return scaled


def sums_of_squares(rows: Any) -> Array:
    """Return the squared norms of sparse rows."""
    return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).reshape(-1)


def squared_distances(a: Array, b: Array, lengths: Array | float = 1.0) -> Array:
    r"""Squared Euclidean distances between rows, by one matrix product.

    .. math:: d^2(x, y) = \|x\|^2 + \|y\|^2 - 2\langle x, y\rangle

    loses all digits of distances that are small against the norms, so the data are centred
    first, and entries whose error could exceed `DISTANCE_ACCURACY` are recomputed from
    differences; among them the zeros of the diagonal. Columns are in units of the lengths.

    >>> x = 1e8 + np.eye(5)
    >>> squared_distances(x, x)[0, :2]
    array([0., 2.])
    """
    centre = a.mean(axis=0) if len(a) else 0.0
    left = (a - centre) / lengths
    right = left if b is a else (b - centre) / lengths
    left_norms = np.einsum("ij,ij->i", left, left)
    right_norms = left_norms if right is left else np.einsum("ij,ij->i", right, right)
    d: Array = left @ right.T
    d *= -2.0
    # A product of p terms and two additions are off by at most (p+2)u(‖x‖²+‖y‖²).
    doubt = (a.shape[1] + 2) * np.finfo(np.float64).eps / 2 / DISTANCE_ACCURACY
    for rows in chunks(len(left), 256):
        block = d[rows]
        norms = left_norms[rows, None] + right_norms[None, :]  # first: so d stays symmetric
        block += norms
        i, j = np.nonzero(block < doubt * norms)
        for part in chunks(len(i), max(1, GAPS // a.shape[1])):
            gap = (a[rows][i[part]] - b[j[part]]) / lengths
            block[i[part], j[part]] = np.einsum("ij,ij->i", gap, gap)
    return d
