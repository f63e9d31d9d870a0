"""Kernels on many graphs at once: common random walks, and neighbourhoods of nodes with numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import chain, repeat
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mercer.check import Array, Points, members
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.algebra import refuse_conditional
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.counts import row_by_row
from mercer.kernels.graph import Graph
from mercer.kernels.pairs import AllPairs, Pairs
from mercer.kernels.radial import Gaussian
from mercer.settings import nonnegative, whole

SMALLEST_RESIDUAL = 1e-17
"""Conjugate gradients stop when what is missing of the sum of walks is below this share of it."""

Values = dict[str, Array]


def as_graphs(points: Points) -> list[Graph]:
    """Return points as graphs, or name the one that is none."""
    graphs = []
    for i, point in enumerate(members(points)):
        try:
            graphs.append(Graph.read(point))
        except InvalidInput as error:
            raise InvalidInput(f"point {i}: {error}") from error
    return graphs


class Batch(NamedTuple):
    """Many graphs as one: their nodes one after the other, and the arcs in the order of origins."""

    n: int
    owners: Array
    labels: Array
    names: list[Hashable]
    ends: Array
    sources: Array
    targets: Array
    weights: Array
    kinds: Array | None
    """The numbers of the arcs' labels, None where no edge has one."""

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> Batch:
        sizes = np.array([g.n for g in graphs], np.int64)
        given = list(chain.from_iterable(g.labels or repeat(None, g.n) for g in graphs))
        places = {label: i for i, label in enumerate(dict.fromkeys(given))}
        offsets = np.cumsum(sizes) - sizes
        arcs = _arcs(graphs, offsets, np.concatenate([np.zeros(0), *(g.weights for g in graphs)]))
        sources = np.repeat(np.arange(len(given)), np.diff(arcs.indptr))
        return cls(
            len(graphs),
            np.repeat(np.arange(len(graphs)), sizes),
            np.fromiter(map(places.__getitem__, given), np.int64, len(given)),
            list(places),
            arcs.indptr.astype(np.int64),
            sources,
            arcs.indices.astype(np.int64),
            arcs.data,
            _kinds(graphs, offsets),
        )


def _kinds(graphs: Sequence[Graph], offsets: Array) -> Array | None:
    """Return the numbers of the labels of all arcs, in the order of the arcs."""
    if all(g.edge_labels is None for g in graphs):
        return None
    given = list(chain.from_iterable(g.edge_labels or repeat(None, len(g.edges)) for g in graphs))
    places = {label: i for i, label in enumerate(dict.fromkeys(given))}
    codes = np.fromiter(map(places.__getitem__, given), np.int64, len(given))
    return np.asarray(_arcs(graphs, offsets, codes + 1).data) - 1  # a sparse matrix has no zeros


def _arcs(graphs: Sequence[Graph], offsets: Array, weights: Array) -> csr_array:
    """Return a matrix of all graphs beside each other, whose entries are those of their edges."""
    lengths = [len(g.edges) for g in graphs]
    pairs = np.concatenate([np.zeros((0, 2), np.int64), *(g.edges for g in graphs)])
    u, v = (pairs + np.repeat(offsets, lengths)[:, None]).T
    back = ~np.repeat(np.array([g.directed for g in graphs], bool), lengths)
    ends = np.concatenate([u, v[back]]), np.concatenate([v, u[back]])
    n = sum(g.n for g in graphs)
    return csr_array((np.concatenate([weights, weights[back]]), ends), shape=(n, n))


def refuse_negative(graphs: Sequence[Graph], what: str) -> None:
    """Refuse weights that a kernel has no meaning for."""
    for i, g in enumerate(graphs):
        if np.any(g.weights < 0):
            at = int(np.argmax(g.weights < 0))
            u, v = g.edges[at].tolist()
            raise InvalidInput(
                f"point {i}: the edge ({u}, {v}) has the weight {g.weights[at]:g}; {what} needs "
                "positive weights"
            )


def refuse_directed(graphs: Sequence[Graph], what: str) -> None:
    """Refuse directed graphs where a kernel has no meaning for them."""
    for i, g in enumerate(graphs):
        if g.directed:
            raise InvalidInput(f"point {i} is a directed graph; {what} needs undirected ones")


def _decay(v: Any, name: str) -> float:
    decay = nonnegative(v, name)
    if decay >= 1.0:
        raise InvalidParameter(
            f"{name} must be below 1, found {v!r}: the sum over all walks of normalised graphs "
            "need not converge beyond"
        )
    return decay


class Walker(NamedTuple):
    """A graph made ready: its normalised adjacency, decomposed, and the labels of its nodes."""

    matrix: Array
    labels: tuple[Hashable, ...] | None
    values: Array
    shares: Array


def walker(graph: Graph) -> Walker:
    r"""Return :math:`D^{-1/2} A D^{-1/2}`, its eigenvalues, and (Uᵀ1/n)² for its eigenvectors U."""
    A = graph.adjacency().toarray()
    degrees = A.sum(axis=1)
    roots = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    matrix = A / roots[:, None] / roots[None, :]
    values, vectors = np.linalg.eigh(matrix)
    shares = (vectors.sum(axis=0) / max(graph.n, 1)) ** 2
    return Walker(matrix, graph.labels, np.clip(values, -1.0, 1.0), shares)


@value
class RandomWalk(Kernel):
    r"""The walks that two graphs have in common, discounted by their length.

    .. math:: k(G, H) = \sum_{t \ge 0} \mu^t\, q_\times^\top W_\times^t\, p_\times
        = q_\times^\top (I - \mu W_\times)^{-1} p_\times, \quad
        W = D^{-1/2} A D^{-1/2}, \quad 0 \le \mu < 1

    The product graph × has the pairs of nodes with equal labels, and
    :math:`W_\times = W_G \otimes W_H` between them; walks start and stop anywhere,
    :math:`p = q = 1/n`. As no eigenvalue of W exceeds 1, the series converges for all graphs, also
    those not seen yet.

    Without labels the eigenvalues λ of W give
    :math:`\sum_{ij} a_i b_j / (1 - \mu \lambda_i \lambda'_j)`; with labels the system is solved by
    conjugate gradients, whose matrix has eigenvalues between 1 - μ and 1 + μ.

    Points are undirected graphs with positive weights; ``decay`` μ is in [0, 1).

    >>> from mercer import Graph
    >>> edge = Graph([(0, 1)])
    >>> RandomWalk(decay=0.5)([edge])
    array([[0.5]])

    Vishwanathan, Schraudolph, Kondor and Borgwardt, Graph kernels, 2010.
    """

    decay: float
    domain: ClassVar[Domain] = {"decay": _decay}
    theorem: ClassVar[str] = "the inner product of discounted counts of labelled walks"

    def evaluate(self, pairs: Pairs) -> Array:
        return _compared(pairs, self._of)

    def _of(self, a: Walker, b: Walker) -> float:
        if a.labels is None and b.labels is None:
            walks = 1.0 / (1.0 - self.decay * np.outer(a.values, b.values))
            return float(a.shares @ walks @ b.shares)
        return self._by_gradients(a, b)

    def _by_gradients(self, a: Walker, b: Walker) -> float:
        """Return p' X with X - μ W X W' = p on the pairs of nodes whose labels are equal."""
        meet = _equal_labels(a, b)
        residual = meet / max(meet.size, 1)
        squares = float(np.sum(residual * residual))
        # What is missing of the sum is r'(I - μW)⁻¹r, which is at most |r|²/(1 - μ).
        enough = SMALLEST_RESIDUAL * (1.0 - self.decay) * squares
        direction, total = residual, 0.0
        while squares > enough:
            image = direction - self.decay * meet * (a.matrix @ direction @ b.matrix)
            step = squares / float(np.sum(direction * image))
            total += step * squares
            residual = residual - step * image
            before, squares = squares, float(np.sum(residual * residual))
            direction = residual + (squares / before) * direction
        return total


@value
class ExponentialWalk(Kernel):
    r"""The walks that two graphs have in common, discounted by the factorial of their length.

    .. math:: k(G, H) = \sum_{t \ge 0} \frac{\beta^t}{t!}\, q_\times^\top W_\times^t\, p_\times
        = q_\times^\top e^{\beta W_\times} p_\times, \quad \beta \ge 0

    with the product graph and the normalised adjacency of `RandomWalk`. The series converges for
    every β; without labels it is :math:`\sum_{ij} a_i b_j e^{\beta \lambda_i \lambda'_j}`, with
    labels its terms are summed until what follows is below rounding.

    Points are undirected graphs with positive weights; ``rate`` β ≥ 0.

    >>> from mercer import Graph
    >>> edge = Graph([(0, 1)])
    >>> ExponentialWalk(rate=1.0)([edge])
    array([[0.67957046]])

    Gärtner, Flach and Wrobel, On graph kernels, 2003.
    """

    rate: float
    domain: ClassVar[Domain] = {"rate": nonnegative}
    theorem: ClassVar[str] = "the inner product of discounted counts of labelled walks"

    def evaluate(self, pairs: Pairs) -> Array:
        return _compared(pairs, self._of)

    def _of(self, a: Walker, b: Walker) -> float:
        if a.labels is None and b.labels is None:
            walks = np.exp(self.rate * np.outer(a.values, b.values))
            return float(a.shares @ walks @ b.shares)
        meet = _equal_labels(a, b)
        start = term = meet / max(meet.size, 1)
        total, length = float(np.sum(start * start)), 0
        # The sum is at least e^-β |p|²; after t > 2β steps all that follows is below the last term.
        enough = SMALLEST_RESIDUAL * np.exp(-self.rate) * total
        while length <= 2.0 * self.rate or abs(float(np.sum(start * term))) > enough:
            length += 1
            term = (self.rate / length) * meet * (a.matrix @ term @ b.matrix)
            total += float(np.sum(start * term))
            if not np.any(term):
                break
        return total


def _compared(pairs: Pairs, of: Callable[[Walker, Walker], float]) -> Array:
    """Return a function of two graphs for all pairs."""
    left = _walkers(pairs.x)
    right = left if pairs.same else _walkers(pairs.y)

    def row(a: Walker, others: Sequence[Walker]) -> Array:
        return np.array([of(a, b) for b in others], dtype=np.float64)

    return pairs.array(row_by_row(pairs, left, right, row))


def _walkers(points: Points) -> list[Walker]:
    graphs = as_graphs(points)
    refuse_directed(graphs, "the random walk kernel")
    refuse_negative(graphs, "a random walk")
    return [walker(g) for g in graphs]


def _equal_labels(a: Walker, b: Walker) -> Array:
    sides = [w.labels or (None,) * len(w.matrix) for w in (a, b)]
    places = {label: i for i, label in enumerate(dict.fromkeys(sides[0]))}
    left, right = (np.array([places.get(v, -1) for v in side], np.int64) for side in sides)
    return np.equal.outer(left, right).astype(np.float64)


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

    Points are graphs with positive weights and as many attributes at every node; ``depth`` d is a
    whole number ≥ 0.

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

    def resolve(self, x: Points, weights: Array | None = None) -> Kernel:  # noqa: ARG002
        return Kernel.resolve(self, x)  # weights are of graphs, and nodes have none

    def evaluate(self, pairs: Pairs) -> Array:
        values = self._pooled(pairs, lambda nodes: {"": self.kernel.evaluate(nodes)})
        none = np.zeros(pairs.shape)  # of graphs without nodes
        return pairs.array(values.get("", none))

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

    def _pooled(self, pairs: Pairs, evaluate: Callable[[AllPairs], Values]) -> Values:
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


def _row(left: Clouds, i: int, right: Clouds, evaluate: Callable[[AllPairs], Values]) -> Values:
    """Return the sums over nodes of one graph with many, at all depths."""
    mine = left.nodes(i)
    size = len(right.ends) - 1
    if mine.start == mine.stop or not len(right.labels):
        return {}
    alike = left.labels[mine][:, None] == right.labels[None, :]
    nodes = np.flatnonzero(np.diff(right.ends))
    total: Values = {}
    for a, b in zip(left.levels, right.levels, strict=True):
        for name, v in evaluate(AllPairs(a[mine], b)).items():
            mask = alike.reshape(alike.shape + (1,) * (v.ndim - 2))
            sums = np.zeros((size, *v.shape[2:]), v.dtype)
            sums[nodes] = np.add.reduceat(np.sum(v * mask, axis=0), right.ends[nodes], axis=0)
            total[name] = total.get(name, 0.0) + sums
    return total
