"""The neighbours that several kernels see, and how far a combination of them tears these apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from mercer.check import Array, chunks
from mercer.compare.sides import ROUNDING, CentredSide
from mercer.engines.tiles import Block
from mercer.progress import Progress

STRIP = 256
"""Rows of the matrices held at a time, each of n numbers."""


def neighbours(side: CentredSide, count: int) -> sparse.csr_array:
    r"""Return the graph that joins each individual with its nearest in the space of a kernel.

    .. math:: d^2(i, j) = k_{ii} + k_{jj} - 2\, \Re k_{ij}

    Two are joined if either is among the ``count`` nearest of the other; of those that are equally
    near some are taken.
    """
    n = side.n
    diagonal = side.gram.diag()
    found: list[Array] = []
    for rows in chunks(n, STRIP):
        here = np.arange(rows.start, rows.stop)
        squares = diagonal - 2.0 * side.gram.rows(here).real
        squares[np.arange(len(here)), here] = np.inf
        found.append(np.argpartition(squares, count - 1, axis=1)[:, :count])
    columns = np.vstack(found).ravel()
    of = np.repeat(np.arange(n), count)
    directed = sparse.csr_array((np.ones(len(of)), (of, columns)), shape=(n, n))
    return directed.maximum(directed.T)


def torn(sides: Sequence[CentredSide], count: int, tell: Progress | None = None) -> Array:
    r"""Return how far combinations of kernels take apart the neighbours of all of them.

    .. math:: S_{ml} = \sum_{ij} W_{ij}\, \langle \Delta^m_i - \Delta^m_j,
        \Delta^l_i - \Delta^l_j \rangle = 2 \operatorname{tr}(K_m L K_l)

    where :math:`\Delta^m_i` is the i-th row of the centred matrix of kernel m, :math:`W_{ij}`
    counts the kernels under which i and j are neighbours, and L is the Laplacian of W. What cannot
    be told from rounding, as where all neighbours are copies, is zero. ``tell`` hears of the rows.
    """
    graph = sum((neighbours(side, count) for side in sides[1:]), neighbours(sides[0], count))
    degrees = graph.sum(axis=1)
    laplacian = sparse.diags_array(degrees) - graph
    n = sides[0].n
    total, sizes = np.zeros((len(sides), len(sides))), np.zeros(len(sides))
    for rows in chunks(n, STRIP):
        block = Block(rows, slice(0, n))
        here = np.arange(rows.start, rows.stop)
        strips = [side.centred(side.gram.rows(here), block) for side in sides]
        flat = np.stack([strip.ravel() for strip in strips])
        images = np.stack([(laplacian @ strip.T).T.ravel() for strip in strips])
        total += (flat @ images.conj().T).real
        sizes += [float(np.sum(np.abs(strip) ** 2 @ degrees)) for strip in strips]
        if tell is not None:
            tell(rows.stop, n)
    largest = np.array([np.max(np.abs(side.gram.diag())) for side in sides])
    rounding = ROUNDING * sizes + degrees.sum() * n * (ROUNDING * largest) ** 2
    is_torn = np.diag(total) > rounding
    return (total + total.T) * np.outer(is_torn, is_torn)
