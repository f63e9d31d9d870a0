"""The Weisfeiler–Lehman kernel of graphs whose nodes have numbers, positive definite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from mercer.check import Array, Points, members, namespace, whole
from mercer.errors import InvalidInput
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.batch import Batch, as_graphs, refuse_negative
from mercer.kernels.composite import refuse_conditional
from mercer.kernels.graph import Graph
from mercer.kernels.pairs import Pairs, Table
from mercer.kernels.radial import Gaussian

Values = dict[str, Array]


class Clouds(NamedTuple):
    """The attributes of all nodes of many graphs at each depth, one graph after the other."""

    levels: list[Array]
    labels: Array
    ends: Array

    def nodes(self, graph: int) -> slice:
        """Return where the nodes of a graph are."""
        return slice(int(self.ends[graph]), int(self.ends[graph + 1]))

    def part(self, graphs: slice) -> Clouds:
        """Return the nodes of consecutive graphs."""
        first, last = self.ends[graphs.start], self.ends[graphs.stop]
        levels = [level[first:last] for level in self.levels]
        ends = self.ends[graphs.start : graphs.stop + 1] - first
        return Clouds(levels, self.labels[first:last], ends)


def attributes_of(graphs: Sequence[Graph]) -> Array:
    """Return the attributes of all nodes, one graph after the other."""
    width = next((g.attributes.shape[1] for g in graphs if g.attributes is not None), 1)
    for i, g in enumerate(graphs):
        if g.n and (g.attributes is None or g.attributes.shape[1] != width):
            found = "no attributes" if g.attributes is None else f"{g.attributes.shape[1]} of them"
            raise InvalidInput(
                f"point {i}: its nodes have {found}, and those of others {width}; give numbers for "
                "each node: Graph(..., attributes=...)"
            )
    return np.concatenate([np.zeros((0, width)), *(g.attributes for g in graphs if g.n)])


def spread(batch: Batch, rows: Array) -> Array:
    """Return the mean of a node's attributes and the weighted mean of its neighbours'."""
    weights = np.bincount(batch.sources, batch.weights, minlength=len(rows))[:, None]
    sums = np.zeros_like(rows)
    np.add.at(sums, batch.sources, batch.weights[:, None] * rows[batch.targets])
    near = np.where(weights > 0, sums / np.where(weights > 0, weights, 1.0), rows)
    mean: Array = 0.5 * (rows + near)
    return mean


@value
class ContinuousWeisfeilerLehman(Kernel):
    r"""The sum of a kernel over all pairs of nodes, of what lies around them to each depth.

    .. math:: k(G, H) = \sum_{h=0}^{d} \sum_{u \in G} \sum_{v \in H} 1_{\ell(u) = \ell(v)}\,
        \kappa(a_h(u), a_h(v)), \quad a_{h+1}(u) = \tfrac{1}{2} \Bigl(a_h(u) +
        \frac{\sum_{v \sim u} w_{uv} a_h(v)}{\sum_{v \sim u} w_{uv}}\Bigr)

    :math:`a_0` are the attributes of nodes. A node without neighbours keeps its own. κ may be any
    kernel on vectors; sums of kernels over pairs are inner products of sums of features. Weights
    must be positive.

    >>> from mercer import Gaussian, Graph
    >>> k = ContinuousWeisfeilerLehman(0, Gaussian(1.0))
    >>> one, two = Graph([], attributes=[0.0], n=1), Graph([(0, 1)], attributes=[0.0, 1.0])
    >>> k([one], [one, two])
    array([[1.        , 1.60653066]])

    The attributes are those of Togninalli, Ghisu, Llinares-López, Rieck and Borgwardt, Wasserstein
    Weisfeiler–Lehman graph kernels, 2019, whose own kernel need not be positive definite.
    """

    depth: int
    kernel: Kernel = Gaussian("median")  # noqa: RUF009  (a value)
    domain: ClassVar[Domain] = {"depth": whole}
    theorem: ClassVar[str] = "a sum of kernels over pairs of nodes is an inner product of sums"

    def __post_init__(self) -> None:
        Kernel.__post_init__(self)
        refuse_conditional([self.kernel], "a sum of conditionally positive definite kernels")

    @property
    def reads_vectors(self) -> bool:
        return False  # nodes have vectors, graphs have not

    def seen_by(self, child: str, x: Points) -> Points:
        return attributes_of(as_graphs(x))

    def evaluate(self, pairs: Pairs) -> Array:
        values = self._pooled(pairs, lambda nodes: {"": self.kernel.evaluate(nodes)})
        none = np.zeros(pairs.shape)  # of graphs without nodes
        return namespace(pairs.x, pairs.y).asarray(values.get("", none))

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        found = self._pooled(pairs, self.kernel.evaluate_partials)
        return {f"kernel__{name}": derivative for name, derivative in found.items()}

    def _clouds(self, pairs: Pairs) -> tuple[Clouds, Clouds]:
        """Return the nodes of both sides, whose labels are numbered together."""
        left = as_graphs(pairs.x)
        graphs = left if pairs.same else [*left, *as_graphs(list(members(pairs.y)))]
        refuse_negative(graphs, "the mean over neighbours")
        batch, levels = Batch.of(graphs), [attributes_of(graphs)]
        for _ in range(self.depth):
            levels.append(spread(batch, levels[-1]))
        both = Clouds(levels, batch.labels, np.cumsum([0, *(g.n for g in graphs)]))
        if pairs.same:
            return both, both
        return both.part(slice(0, len(left))), both.part(slice(len(left), len(graphs)))

    def _pooled(self, pairs: Pairs, evaluate: Callable[[Table], Values]) -> Values:
        """Add up values on pairs of nodes over the nodes of each pair of graphs."""
        left, right = self._clouds(pairs)
        is_matching = len(pairs.shape) == 1
        total: Values = {}
        for i in range(pairs.shape[0]):
            start = i if pairs.same or is_matching else 0
            stop = i + 1 if is_matching else pairs.shape[1]
            for name, sums in _row(left, i, right.part(slice(start, stop)), evaluate).items():
                shape = (*pairs.shape, *sums.shape[1:])
                whole_of = total.setdefault(name, np.zeros(shape, sums.dtype))
                if is_matching:
                    whole_of[i] = sums[0]
                    continue
                whole_of[i, start:] = sums
                if pairs.same:
                    whole_of[start:, i] = sums.conj()
        return total


def _row(left: Clouds, i: int, right: Clouds, evaluate: Callable[[Table], Values]) -> Values:
    """Return the sums over nodes of one graph with many, at all depths."""
    mine = left.nodes(i)
    size = len(right.ends) - 1
    if mine.start == mine.stop or not len(right.labels):
        return {}
    alike = left.labels[mine][:, None] == right.labels[None, :]
    nodes = np.flatnonzero(np.diff(right.ends))
    total: Values = {}
    for a, b in zip(left.levels, right.levels, strict=True):
        for name, v in evaluate(Table(a[mine], b)).items():
            mask = alike.reshape(alike.shape + (1,) * (v.ndim - 2))
            sums = np.zeros((size, *v.shape[2:]), v.dtype)
            sums[nodes] = np.add.reduceat(np.sum(v * mask, axis=0), right.ends[nodes], axis=0)
            total[name] = total.get(name, 0.0) + sums
    return total
