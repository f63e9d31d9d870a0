"""The kernel of common subtrees: what two graphs look like from their nodes, walked as trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer.check import Array, Points
from mercer.errors import InvalidInput
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.counts import row_by_row
from mercer.kernels.graph import Graph
from mercer.kernels.pairs import Pairs
from mercer.kernels.walks import as_graphs
from mercer.settings import nonnegative, whole

MOST_NEIGHBOURS = 16
"""Sets of neighbours of the node that has fewer are counted one by one: 2^16 of them."""


class _Tree(NamedTuple):
    """A graph made ready: the label and the neighbours of each node, with the edges' labels."""

    labels: tuple[Any, ...]
    near: tuple[tuple[tuple[int, Any], ...], ...]


@value
class Subtrees(Kernel):
    r"""The trees that two graphs have in common, grown from each pair of nodes.

    .. math:: k(G, H) = \sum_{u \in G} \sum_{v \in H} k_d(u, v), \quad
        k_0(u, v) = 1_{\ell(u) = \ell(v)}, \quad
        k_{h+1}(u, v) = 1_{\ell(u) = \ell(v)} \sum_R \prod_{(a, b) \in R} \mu\, k_h(a, b)

    over the sets R that match some neighbours of u with as many neighbours of v, each at most once,
    with equal labels (of their edges too, where they have any); the empty one counts 1. So a
    branch is discounted by μ, and depth 1 counts stars. A walk may turn back: trees may hold a node
    more than once. Neighbours in a directed graph are those its edges lead to; weights are not
    looked at. The sum over matchings takes 2^d steps for d neighbours of the node that has fewer,
    and no node may have more than 16.

    Points are graphs, directed or not, whose nodes have at most 16 neighbours; ``depth`` d ≥ 0 is a
    whole number, ``decay`` μ ≥ 0.

    >>> from mercer import Graph
    >>> path, star = Graph([(0, 1), (1, 2)]), Graph([(0, 1), (0, 2), (0, 3)])
    >>> Subtrees(1)([path, star])
    array([[27., 42.],
           [42., 76.]])

    It is an inner product of counts of rooted trees: the sum over matchings of m pairs is 1/m!
    times that over ordered choices of m distinct neighbours on either side.

    Ramon and Gärtner, Expressivity versus efficiency of graph kernels, 2003.
    """

    depth: int
    decay: float = 1.0
    domain: ClassVar[Domain] = {
        "depth": whole,
        "decay": nonnegative,
    }
    theorem: ClassVar[str] = "the inner product of discounted counts of rooted trees"

    def evaluate(self, pairs: Pairs) -> Array:
        left = _trees(pairs.x)
        right = left if pairs.same else _trees(pairs.y)

        def row(a: _Tree, others: Sequence[_Tree]) -> Array:
            return np.array([self._of(a, b) for b in others], dtype=np.float64)

        return pairs.array(row_by_row(pairs, left, right, row))

    def _of(self, a: _Tree, b: _Tree) -> float:
        places = {label: i for i, label in enumerate(dict.fromkeys(a.labels))}
        left, right = (
            np.array([places.get(label, -1) for label in side.labels], np.int64) for side in (a, b)
        )
        meet = np.equal.outer(left, right)
        values = meet.astype(np.float64)
        for _ in range(self.depth):
            grown = np.zeros_like(values)
            for u, v in np.argwhere(meet):
                grown[u, v] = self._matched(values, a.near[u], b.near[v])
            values = grown
        total = float(values.sum())
        if not np.isfinite(total):
            raise InvalidInput(
                f"the trees of {self} are too many for a double: take a smaller depth or decay"
            )
        return total

    def _matched(
        self, values: Array, mine: Sequence[tuple[int, Any]], theirs: Sequence[tuple[int, Any]]
    ) -> float:
        """Return the sum over matchings, one neighbour of the larger side at a time."""
        of = np.array([[values[a, b] * (s == t) for b, t in theirs] for a, s in mine])
        if of.size == 0:
            return 1.0
        of = self.decay * (of if of.shape[0] >= of.shape[1] else of.T)
        # sums[S] is over matchings that use exactly the set S of the smaller side.
        sums = np.zeros(1 << of.shape[1])
        sums[0] = 1.0
        sets = np.arange(len(sums))
        with np.errstate(over="ignore"):
            for weights in of:
                added = sums.copy()
                for j in np.flatnonzero(weights):
                    free = sets[(sets >> j) & 1 == 0]
                    added[free | (1 << j)] += weights[j] * sums[free]
                sums = added
            return float(sums.sum())


def _trees(points: Points) -> list[_Tree]:
    graphs = as_graphs(points)
    return [_tree(g, i) for i, g in enumerate(graphs)]


def _tree(graph: Graph, place: int) -> _Tree:
    near: list[list[tuple[int, Any]]] = [[] for _ in range(graph.n)]
    kinds = graph.edge_labels or (None,) * len(graph.edges)
    for (u, v), kind in zip(graph.edges.tolist(), kinds, strict=True):
        near[u].append((v, kind))
        if not graph.directed:
            near[v].append((u, kind))
    most = max(range(graph.n), key=lambda u: len(near[u]), default=0)
    if graph.n and len(near[most]) > MOST_NEIGHBOURS:
        raise InvalidInput(
            f"point {place}: node {most} has {len(near[most])} neighbours, and Subtrees matches at "
            f"most {MOST_NEIGHBOURS}; WeisfeilerLehman counts neighbourhoods of any size"
        )
    labels = graph.labels or (None,) * graph.n
    return _Tree(tuple(labels), tuple(tuple(n) for n in near))
