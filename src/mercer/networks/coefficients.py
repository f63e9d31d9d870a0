"""How strongly genes go together in a few replicates: correlations, partial correlations, lasso."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidParameter

CONSTANT = 1e-12
"""The deviation of a gene, as a share of its values, below which it is constant."""

GAP = 1e-7
"""The duality gap of the lasso for each gene: partial correlations are then right to about 1e-6."""

INNER_GAP = 1e-8
"""The duality gap, as a share of the targets, of the regressions that the lasso is made of."""

LEAST_SHRINKAGE = 1e-3
"""Correlations are shrunk at least so far: the matrix can then be inverted."""


def standardise(x: Array) -> Array:
    """Return the columns centred and divided by their norm; those of constant genes are 0.

    >>> standardise(np.array([[0.0, 1.0], [2.0, 1.0]]))
    array([[-0.70710678,  0.        ],
           [ 0.70710678,  0.        ]])
    """
    size = np.abs(x).max(axis=0, initial=0.0)
    scaled = x / np.where(size > 0, size, 1.0)  # squares of very large or small values exist
    z = scaled - scaled.mean(axis=0)
    norm = np.sqrt(np.einsum("ij,ij->j", z, z))
    varies = norm > CONSTANT * np.sqrt(len(x))
    result: Array = np.where(varies, z, 0.0) / np.where(varies, norm, 1.0)
    return result


def correlations(x: Array) -> Array:
    r"""Return Pearson's correlations of the columns, 0 on the diagonal and for constant genes.

    .. math:: r_{jk} = \langle z_j, z_k \rangle, \quad z_j = (x_j - \bar x_j) / \|x_j - \bar x_j\|

    >>> correlations(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 7.0]]))[0].round(4)
    array([0.    , 0.9934])
    """
    z = standardise(x)
    r = np.clip(z.T @ z, -1.0, 1.0)
    np.fill_diagonal(r, 0.0)
    result: Array = (r + r.T) / 2.0
    return result


def rank_correlations(x: Array) -> Array:
    """Return Spearman's correlations: Pearson's of the ranks, ties at their mean rank.

    >>> rank_correlations(np.array([[1.0, 1.0], [2.0, 10.0], [3.0, 11.0]]))[0].round(4)
    array([0., 1.])
    """
    from scipy.stats import rankdata  # only now: laws load for half a second

    return correlations(rankdata(x, axis=0))


def shrinkage(x: Array) -> float:
    r"""Return how far correlations are shrunk towards 0, in closed form.

    .. math:: \lambda = \min\Big(1, \frac{\sum_{j \ne k} \widehat{\operatorname{Var}}(r_{jk})}
        {\sum_{j \ne k} r_{jk}^2}\Big), \quad \widehat{\operatorname{Var}}(r_{jk}) =
        \frac{n}{(n - 1)^3} \sum_i (w_{ijk} - \bar w_{jk})^2, \quad w_{ijk} = z_{ij} z_{ik}

    with z standardised by the deviation with divisor n - 1 (Schäfer and Strimmer, A shrinkage
    approach to large-scale covariance matrix estimation, 2005, with the identity as target).

    >>> x = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 5.0]])
    >>> round(shrinkage(x), 6)
    0.258953
    """
    n = len(x)
    z = standardise(x) * np.sqrt(n - 1.0)
    r = z.T @ z / (n - 1.0)
    squares = (z**2).T @ z**2  # Σᵢ wᵢ²
    spread = n / (n - 1.0) ** 3 * (squares - (n - 1.0) ** 2 / n * r**2)
    off = ~np.eye(x.shape[1], dtype=bool)
    signal = float(np.sum(r[off] ** 2))
    share = float(np.sum(spread[off])) / signal if signal > 0 else 1.0
    return min(1.0, max(LEAST_SHRINKAGE, share))


def partial_correlations(x: Array) -> Array:
    r"""Return partial correlations of shrunk correlations, 0 on the diagonal.

    .. math:: R^* = (1 - \lambda) R + \lambda I, \quad \Omega = (R^*)^{-1}, \quad
        \rho_{jk} = -\Omega_{jk} / \sqrt{\Omega_{jj} \Omega_{kk}}

    >>> x = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 5.0]])
    >>> r = correlations(x)[0, 1]
    >>> bool(np.isclose(partial_correlations(x)[0, 1], (1 - shrinkage(x)) * r))
    True
    """
    z, s = standardise(x), shrinkage(x)
    # Woodbury: a matrix as large as the number of replicates is inverted, not one of genes.
    inner = s * np.eye(len(x)) + (1.0 - s) * (z @ z.T)
    precision = np.eye(x.shape[1]) - (1.0 - s) * (z.T @ np.linalg.solve(inner, z))
    return _scaled(precision)


def lasso(x: Array, penalty: float) -> Array:
    r"""Return the partial correlations of a sparse precision matrix, 0 on the diagonal.

    .. math:: \max_{\Omega \succ 0}\; \log\det\Omega - \operatorname{tr}(R\,\Omega)
        - \alpha \sum_{j \ne k} |\Omega_{jk}|

    by scikit-learn's coordinate descent (Friedman, Hastie and Tibshirani, 2008), to a duality gap
    at which partial correlations are right to about 1e-6. Of two genes it is soft thresholding:

    >>> x = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 5.0]])
    >>> r = correlations(x)[0, 1]
    >>> bool(np.isclose(lasso(x, 0.25)[0, 1], r - 0.25, atol=1e-7))
    True
    """
    from sklearn.covariance import graphical_lasso  # which takes a second to import

    r, precision = correlations(x), np.eye(x.shape[1])
    # A gene whose correlations are all within the penalty has no edges (Witten, Friedman and Simon,
    # 2011), and a constant one gives the descent nothing to measure its gap by.
    linked = np.flatnonzero(np.any(np.abs(r) > penalty, axis=0))
    if not linked.size:
        return _scaled(precision)
    block = np.ix_(linked, linked)
    try:
        R = r[block] + np.eye(len(linked))
        _, precision[block] = graphical_lasso(R, penalty, tol=GAP * len(R), enet_tol=INNER_GAP)
    except FloatingPointError as error:
        raise InvalidParameter(
            f"the graphical lasso found no solution with penalty={penalty:g}: raise it"
        ) from error
    return _scaled(precision)


@contextmanager
def name_unconverged() -> Iterator[None]:
    """Let the lasso stop where it oscillates, without a warning for each of many networks.

    Of fewer replicates than genes the last digits may never settle; which edges there are does
    long before, and is asked of many halves of the replicates.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _scaled(precision: Array) -> Array:
    d = np.sqrt(np.diag(precision))
    partial: Array = -precision / np.outer(d, d)
    np.fill_diagonal(partial, 0.0)
    return (partial + partial.T) / 2.0
