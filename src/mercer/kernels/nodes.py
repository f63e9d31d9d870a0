"""Kernels between the nodes of one graph, and between networks on the same nodes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mercer.check import Array, Points, as_numpy, how_many, members
from mercer.errors import InvalidInput
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.counts import Counted, Counts, compact, join_sparse, tally
from mercer.kernels.graph import Graph
from mercer.kernels.pairs import Pairs
from mercer.kernels.walks import as_graphs, refuse_directed, refuse_negative
from mercer.settings import nonnegative


def _undirected(v: Any, name: str) -> Graph:
    graph = Graph.read(v)
    refuse_directed([graph], f"a kernel between the nodes of {name}")
    refuse_negative([graph], "a Laplacian")
    return graph


@lru_cache(maxsize=2)
def laplacian_spectrum(graph: Graph) -> tuple[Array, Array]:
    """Return the eigenvalues of the Laplacian, exactly 0 once for each component, and vectors."""
    if graph.n == 0:
        return np.zeros(0), np.zeros((0, 0))
    values, vectors = np.linalg.eigh(graph.laplacian())
    components, _ = connected_components(graph.adjacency(), directed=False)
    values[:components] = 0.0
    return values, vectors


class NodeKernel(Kernel):
    r"""A kernel :math:`k(u, v) = \sum_i f(\lambda_i)\, x_i(u)\, x_i(v)` of numbers of nodes.

    λ and x are the eigenvalues and eigenvectors of the graph's Laplacian L = D - A, and f ≥ 0.
    """

    __slots__ = ()
    graph: Graph

    @abstractmethod
    def profile(self, values: Array) -> Array:
        """Return f at the eigenvalues."""

    def profile_partials(self, values: Array) -> dict[str, Array]:
        """Return the derivatives of f in the kernel's parameters."""
        return {}

    def own_parameters(self) -> dict[str, Any]:
        return {n: v for n, v in self.fields().items() if n != "graph"}

    def evaluate(self, pairs: Pairs) -> Array:
        left = self.features(pairs.x)
        right = left if pairs.same else self.features(pairs.y)
        return pairs.array(pairs.dot(left, right))

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        partials = self.profile_partials(laplacian_spectrum(self.graph)[0])
        return {name: self._with(pairs, f) for name, f in partials.items()}

    def features(self, x: Points) -> Array:
        values, vectors = laplacian_spectrum(self.graph)
        return vectors[self._nodes(x)] * np.sqrt(self.profile(values))

    def _with(self, pairs: Pairs, profile: Array) -> Array:
        vectors = laplacian_spectrum(self.graph)[1]
        left = self._nodes(pairs.x)
        right = left if pairs.same else self._nodes(pairs.y)
        return pairs.array(pairs.dot(vectors[left] * profile, vectors[right]))

    def _nodes(self, points: Points) -> Array:
        n = self.graph.n
        nodes = as_numpy(points) if how_many(points) else np.zeros(0)
        if nodes.dtype.kind not in "iuf" or nodes.size != nodes.shape[0]:
            raise InvalidInput(
                f"points must be numbers of nodes from 0 to {n - 1}, found {nodes.dtype} of shape "
                f"{nodes.shape}"
            )
        nodes = nodes.reshape(-1)
        wrong = ~((nodes >= 0) & (nodes < n) & (nodes == np.floor(nodes)))
        if np.any(wrong):
            at = int(np.argmax(wrong))
            raise InvalidInput(f"point {at} is {nodes[at]}, not a node: these are 0 to {n - 1}")
        return nodes.astype(np.intp)


@value
class Diffusion(NodeKernel):
    r"""How much heat that starts at one node is at another after a time.

    .. math:: k(u, v) = (e^{-t L})_{uv}, \quad t \ge 0

    Points are nodes of the ``graph`` by their numbers from 0; it is undirected, with positive
    weights; ``time`` t ≥ 0.

    >>> from mercer import Graph
    >>> Diffusion(Graph([(0, 1)]), time=0.5)([0, 1])
    array([[0.68393972, 0.31606028],
           [0.31606028, 0.68393972]])

    Kondor and Lafferty, Diffusion kernels on graphs, 2002.
    """

    graph: Graph
    time: float = 1.0
    domain: ClassVar[Domain] = {"graph": _undirected, "time": nonnegative}
    theorem: ClassVar[str] = "a nonnegative function of a symmetric matrix"

    def profile(self, values: Array) -> Array:
        return np.exp(-self.time * values)

    def profile_partials(self, values: Array) -> dict[str, Array]:
        return {"time": -values * self.profile(values)}


@value
class RegularisedLaplacian(NodeKernel):
    r"""The inverse of the Laplacian, made regular.

    .. math:: k(u, v) = ((I + c L)^{-1})_{uv}, \quad c \ge 0

    Points are nodes of the ``graph`` by their numbers from 0; it is undirected, with positive
    weights; ``scale`` c ≥ 0.

    >>> from mercer import Graph
    >>> RegularisedLaplacian(Graph([(0, 1)]), scale=1.0)([0, 1])
    array([[0.66666667, 0.33333333],
           [0.33333333, 0.66666667]])

    Smola and Kondor, Kernels and regularization on graphs, 2003.
    """

    graph: Graph
    scale: float = 1.0
    domain: ClassVar[Domain] = {"graph": _undirected, "scale": nonnegative}
    theorem: ClassVar[str] = "a nonnegative function of a symmetric matrix"

    def profile(self, values: Array) -> Array:
        inverse: Array = 1.0 / (1.0 + self.scale * values)
        return inverse

    def profile_partials(self, values: Array) -> dict[str, Array]:
        return {"scale": -values * self.profile(values) ** 2}


@value
class CommuteTime(NodeKernel):
    r"""The pseudo-inverse of the Laplacian.

    .. math:: k(u, v) = (L^+)_{uv}

    Its squared distance, times the sum of the degrees, is the mean time of a random walk from one
    node to the other and back, where there is a way.

    Points are nodes of the ``graph`` by their numbers from 0; it is undirected, with positive
    weights.

    >>> from mercer import Graph
    >>> CommuteTime(Graph([(0, 1)]))([0, 1])
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])

    Fouss, Pirotte, Renders and Saerens, Random-walk computation of similarities between nodes of
    a graph, 2007.
    """

    graph: Graph
    domain: ClassVar[Domain] = {"graph": _undirected}
    theorem: ClassVar[str] = "a nonnegative function of a symmetric matrix"

    def profile(self, values: Array) -> Array:
        return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


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

    Points are graphs on the same nodes, all of them directed or none.

    >>> from mercer import Graph
    >>> AlignedEdges()([Graph([(0, 1), (1, 2)])], [Graph([(1, 2)]), Graph([(0, 2)])])
    array([[1., 0.]])

    Kroese et al., Example 6.4, of the vectors of weights.
    """

    reads_aligned: ClassVar[bool] = True
    theorem: ClassVar[str] = "the inner product of weights of edges"

    def counts(self, points: list[Any]) -> Counts:
        return Counts.of(join_sparse([edge_table(as_networks(points))]))


@value
class AlignedLaplacian(Counted):
    r"""The inner product of the Laplacians of two networks on the same nodes.

    .. math:: k(G, H) = \operatorname{tr}(L_G L_H)
        = \sum_u d^G_u d^H_u + 2 \sum_{u < v} w^G_{uv} w^H_{uv}

    Points are undirected graphs on the same nodes, with weights of any sign.

    >>> from mercer import Graph
    >>> AlignedLaplacian()([Graph([(0, 1), (1, 2)])], [Graph([(1, 2)], n=3)])
    array([[5.]])

    Kroese et al., Example 6.4, of the entries of Laplacians.
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
        return Counts.of(join_sparse([own, shared]), weights)


@value
class AlignedHeat(Kernel):
    r"""The inner product of how heat spreads in two networks on the same nodes.

    .. math:: k(G, H) = \operatorname{tr}(e^{-t L_G} e^{-t L_H}), \quad t \ge 0

    Points are undirected graphs on the same nodes, with positive weights; ``time`` t ≥ 0.

    >>> from mercer import Graph
    >>> edge, none = Graph([(0, 1)]), Graph([], n=2)
    >>> np.round(AlignedHeat(time=1.0)([edge], [edge, none]), 6)
    array([[1.018316, 1.135335]])

    Kondor and Lafferty, Diffusion kernels on graphs, 2002, whose matrices are the features.
    """

    time: float = 1.0
    domain: ClassVar[Domain] = {"time": nonnegative}
    reads_aligned: ClassVar[bool] = True
    theorem: ClassVar[str] = "the inner product of matrices"

    def evaluate(self, pairs: Pairs) -> Array:
        (left, _), (right, _) = self._sides(pairs)
        return pairs.array(pairs.dot(left, right))

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        (left, left_flow), (right, right_flow) = self._sides(pairs)
        flow = pairs.dot(left_flow, right) + pairs.dot(left, right_flow)
        return {"time": pairs.array(-flow)}

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
