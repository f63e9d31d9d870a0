"""Kernels between networks on the same nodes, whose i-th nodes are one individual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from mercer.check import Array, Points, members, namespace, nonnegative
from mercer.errors import InvalidInput
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.batch import as_graphs, refuse_directed, refuse_negative
from mercer.kernels.counts import Counted, Counts, beside, compact, tally
from mercer.kernels.graph import Graph
from mercer.kernels.pairs import Pairs


def as_networks(points: Points) -> list[Graph]:
    """Return points as graphs with the same number of nodes, all directed or none."""
    graphs = as_graphs(points)
    for i, g in enumerate(graphs):
        if g.n != graphs[0].n:
            raise InvalidInput(
                f"a graph with {graphs[0].n} nodes is compared with one of {g.n} (point {i}); a "
                "kernel between aligned networks needs the same nodes in each"
            )
        if g.directed != graphs[0].directed:
            raise InvalidInput(
                f"a directed graph is compared with an undirected one (point {i}); a kernel "
                "between aligned networks needs graphs of one kind"
            )
    return graphs


def edge_table(graphs: Sequence[Graph]) -> csr_array:
    """Return the weight of each pair of nodes in each graph."""
    n = graphs[0].n if graphs else 0
    owners = np.repeat(np.arange(len(graphs)), [len(g.edges) for g in graphs])
    edges = np.concatenate([np.zeros((0, 2), np.int64), *(g.edges for g in graphs)])
    weights = np.concatenate([np.zeros(0), *(g.weights for g in graphs)])
    table: csr_array = tally(owners, edges[:, 0] * n + edges[:, 1], (len(graphs), n * n), weights)
    return table


@value
class AlignedEdges(Counted):
    r"""The inner product of the weights of the edges of two networks on the same nodes.

    .. math:: k(G, H) = \sum_{u < v} w^G_{uv} w^H_{uv}

    Without weights it is the number of edges that both have. The sum runs over ordered pairs when
    the networks are directed. Weights may be negative, as correlations are.

    >>> from mercer import Graph
    >>> AlignedEdges()([Graph([(0, 1), (1, 2)])], [Graph([(1, 2)]), Graph([(0, 2)])])
    array([[1., 0.]])
    """

    reads_aligned: ClassVar[bool] = True
    theorem: ClassVar[str] = "the inner product of weights of edges"

    def counts(self, points: list[Any]) -> Counts:
        return Counts.of(beside([edge_table(as_networks(points))]))


@value
class AlignedLaplacian(Counted):
    r"""The inner product of the Laplacians of two networks on the same nodes.

    .. math:: k(G, H) = \operatorname{tr}(L_G L_H)
        = \sum_u d^G_u d^H_u + 2 \sum_{u < v} w^G_{uv} w^H_{uv}

    >>> from mercer import Graph
    >>> AlignedLaplacian()([Graph([(0, 1), (1, 2)])], [Graph([(1, 2)], n=3)])
    array([[5.]])
    """

    reads_aligned: ClassVar[bool] = True
    theorem: ClassVar[str] = "the inner product of matrices"

    def counts(self, points: list[Any]) -> Counts:
        graphs = as_networks(points)
        refuse_directed(graphs, "the Laplacian")
        edges = edge_table(graphs)
        nodes = graphs[0].n if graphs else 0
        degrees = np.zeros((len(graphs), nodes))
        for row, g in zip(degrees, graphs, strict=True):
            row[:] = g.adjacency().sum(axis=1)
        own, shared = compact(csr_array(degrees)), compact(edges)
        weights = np.repeat([1.0, 2.0], [own.shape[1], shared.shape[1]])
        return Counts.of(beside([own, shared]), weights)


@value
class AlignedHeat(Kernel):
    r"""The inner product of how heat spreads in two networks on the same nodes.

    .. math:: k(G, H) = \operatorname{tr}(e^{-t L_G} e^{-t L_H}), \quad t \ge 0

    Weights must be positive.

    >>> from mercer import Graph
    >>> edge, none = Graph([(0, 1)]), Graph([], n=2)
    >>> np.round(AlignedHeat(time=1.0)([edge], [edge, none]), 6)
    array([[1.018316, 1.135335]])
    """

    time: float = 1.0
    domain: ClassVar[Domain] = {"time": nonnegative}
    reads_aligned: ClassVar[bool] = True
    theorem: ClassVar[str] = "the inner product of matrices"

    def evaluate(self, pairs: Pairs) -> Array:
        (left, _), (right, _) = self._sides(pairs)
        return namespace(pairs.x, pairs.y).asarray(pairs.dot(left, right))

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        (left, left_flow), (right, right_flow) = self._sides(pairs)
        flow = pairs.dot(left_flow, right) + pairs.dot(left, right_flow)
        return {"time": namespace(pairs.x, pairs.y).asarray(-flow)}

    def features(self, x: Points) -> Array:
        return self._heat(as_networks(x))[0]

    def _sides(self, pairs: Pairs) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        right = [] if pairs.same else list(members(pairs.y))
        heat, flow = self._heat(as_networks([*members(pairs.x), *right]))
        n = len(heat) - len(right)
        left = heat[:n], flow[:n]
        return left, left if pairs.same else (heat[n:], flow[n:])

    def _heat(self, graphs: Sequence[Graph]) -> tuple[Array, Array]:
        """Return exp(-tL) and L exp(-tL), each matrix as a row."""
        refuse_directed(graphs, "the spreading of heat")
        refuse_negative(graphs, "the spreading of heat")
        n = graphs[0].n if graphs else 0
        heat, flow = np.empty((2, len(graphs), n * n))
        for i, g in enumerate(graphs):
            values, vectors = np.linalg.eigh(g.laplacian())
            spread = (vectors * np.exp(-self.time * values)) @ vectors.T
            heat[i], flow[i] = spread.reshape(-1), (g.laplacian() @ spread).reshape(-1)
        return heat, flow
