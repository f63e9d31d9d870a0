"""Kernels between the nodes of one graph: functions of its Laplacian."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.sparse.csgraph import connected_components

from mercer.check import Array, Points, as_numpy, how_many, namespace, nonnegative
from mercer.errors import InvalidInput
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.batch import refuse_directed, refuse_negative
from mercer.kernels.graph import Graph
from mercer.kernels.pairs import Pairs


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
        return namespace(pairs.x, pairs.y).asarray(pairs.dot(left, right))

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
        return namespace(pairs.x, pairs.y).asarray(
            pairs.dot(vectors[left] * profile, vectors[right])
        )

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
