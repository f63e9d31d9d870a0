"""Kernels that count what two graphs have in common: labels, edges, neighbourhoods, paths."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from scipy.special import ndtri

from mercer.check import Array, Points
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.counts import Counted, Counts, join_sparse, tally
from mercer.kernels.graph import Graph
from mercer.kernels.pairs import Pairs
from mercer.kernels.walks import Batch, as_graphs, refuse_negative
from mercer.settings import number, whole

DIGITS = 12
"""Decimal digits to which lengths of paths are compared: sums of thousands of edges keep them."""

LARGEST_POWER = 308
"""The largest power of ten that is a double."""


@value
class VertexHistogram(Counted):
    r"""The number of pairs of nodes of two graphs that have the same label.

    .. math:: k(G, H) = \sum_\ell \#\{u \in G : \ell(u) = \ell\}\, \#\{v \in H : \ell(v) = \ell\}

    Points are graphs of any kind; nodes without labels are alike.

    >>> from mercer import Graph
    >>> VertexHistogram()([Graph([], labels="aab")], [Graph([], labels="abc")])
    array([[3.]])

    Sugiyama and Borgwardt, Halting in random walk kernels, 2015.
    """

    theorem: ClassVar[str] = "the inner product of counts of labels"

    def counts(self, points: list[Any]) -> Counts:
        batch = Batch.of(as_graphs(points))
        return Counts.of(tally(batch.owners, batch.labels, (batch.n, len(batch.names))))


@value
class EdgeHistogram(Counted):
    r"""The inner product of the weights of edges by the labels of their ends.

    .. math:: k(G, H) = \sum_{\{a, b\}} w_G(a, b)\, w_H(a, b), \quad
        w_G(a, b) = \sum_{uv \in G,\, \{\ell(u), \ell(v)\} = \{a, b\}} w_{uv}

    Edges without weights count 1 each, so that k is the number of pairs of edges with the same
    labels at their ends, and the same label of their own where they have any. The ends of a
    directed graph's edges are in order, and its edges are no edges of an undirected graph.

    Points are graphs, directed or not, with weights of any sign.

    >>> from mercer import Graph
    >>> EdgeHistogram()([Graph([(0, 1), (1, 2)], labels="aba")], [Graph([(0, 1)], labels="ba")])
    array([[2.]])

    Sugiyama and Borgwardt, Halting in random walk kernels, 2015.
    """

    theorem: ClassVar[str] = "the inner product of counts of edges"

    def counts(self, points: list[Any]) -> Counts:
        graphs = as_graphs(points)
        batch = Batch.of(graphs)
        directed = np.array([g.directed for g in graphs], bool)[batch.owners[batch.sources]]
        size = len(batch.names)
        here, there = batch.labels[batch.sources], batch.labels[batch.targets]
        # An undirected edge has two arcs, of which one is counted, with its labels in order.
        once = directed | (batch.sources < batch.targets)
        a = np.where(directed, here, np.minimum(here, there))
        b = np.where(directed, there, np.maximum(here, there))
        kinds = (directed * size + a) * size + b
        owners = batch.owners[batch.sources]
        shape = batch.n, 2 * size * size
        if batch.kinds is not None:
            kinds = kinds + shape[1] * batch.kinds
            shape = batch.n, shape[1] * (int(batch.kinds.max(initial=0)) + 1)
        return Counts.of(
            join_sparse([tally(owners[once], kinds[once], shape, batch.weights[once])])
        )


class Colours(NamedTuple):
    """Nodes numbered so that equal numbers mean equal neighbourhoods, and how many there are."""

    of_nodes: Array
    n: int


@value
class WeisfeilerLehman(Counted):
    r"""The number of pairs of nodes of two graphs with equal neighbourhoods of each depth.

    .. math:: k(G, H) = \sum_{h=0}^{d} \#\{(u, v) \in G \times H : c_h(u) = c_h(v)\}, \quad
        c_{h+1}(u) = (c_h(u), \{\!\!\{c_h(v) : v \sim u\}\!\!\}), \quad c_0 = \ell

    Neighbours of a node of a directed graph are those its edges lead to; weights are not looked
    at. Where edges have labels, a neighbour is the pair of its colour and its edge's label.
    Neighbourhoods are grouped by 64-bit hashes and then compared in full, so that the counts are
    those of the definition whatever the hashes.

    Points are graphs of any kind; ``depth`` d ≥ 0 is a whole number.

    >>> from mercer import Graph
    >>> path, star = Graph([(0, 1), (1, 2), (2, 3)]), Graph([(0, 1), (0, 2), (0, 3)])
    >>> WeisfeilerLehman(1)([path, star])
    array([[24., 22.],
           [22., 26.]])

    Shervashidze, Schweitzer, van Leeuwen, Mehlhorn and Borgwardt, Weisfeiler–Lehman graph
    kernels, 2011.
    """

    depth: int
    domain: ClassVar[Domain] = {"depth": whole}
    theorem: ClassVar[str] = "the inner product of counts of neighbourhoods"

    def counts(self, points: list[Any]) -> Counts:
        batch = Batch.of(as_graphs(points))
        levels, repeats = [Colours(batch.labels, len(batch.names))], [1.0]
        for depth in range(self.depth):
            refined = refine(batch, levels[-1])
            if refined.n == levels[-1].n:  # no class was divided, nor ever will be
                repeats[-1] += self.depth - depth
                break
            levels.append(refined)
            repeats.append(1.0)
        offsets = np.cumsum([0, *(level.n for level in levels)])
        columns = [level.of_nodes + o for level, o in zip(levels, offsets[:-1], strict=True)]
        rows = np.tile(batch.owners, len(levels))
        table = tally(rows, np.concatenate(columns), (batch.n, int(offsets[-1])))
        return Counts.of(table, np.repeat(repeats, [level.n for level in levels]))


def salts(size: int, attempt: int) -> Array:
    """Return random 64-bit numbers, others at every attempt."""
    generator = np.random.default_rng(attempt)
    return generator.integers(0, 2**64, size, dtype=np.uint64)


def refine(batch: Batch, colours: Colours) -> Colours:
    """Number the pairs of a node's colour and the multiset of its neighbours' colours, exactly."""
    c, size = colours
    near, others = c[batch.targets], size
    if batch.kinds is not None:
        seen, near = np.unique(batch.kinds * size + near, return_inverse=True)
        others = len(seen)
    attempt = 0
    while True:
        own, theirs = np.split(salts(size + others, attempt), [size])
        sums = np.append(np.uint64(0), np.cumsum(theirs[near], dtype=np.uint64))
        hashes = own[c] + sums[batch.ends[1:]] - sums[batch.ends[:-1]]  # modulo 2⁶⁴
        _, first, refined = np.unique(hashes, return_index=True, return_inverse=True)
        if _are_equal(first[refined], c, near, batch):
            return Colours(refined, len(first))
        attempt += 1


def _are_equal(twins: Array, c: Array, near: Array, batch: Batch) -> bool:
    """Whether nodes have the colour and the neighbours' colours of those they are grouped with."""
    degrees = np.diff(batch.ends)
    if np.any(c != c[twins]) or np.any(degrees != degrees[twins]):
        return False
    grouped = twins != np.arange(len(c))
    grouped[twins[grouped]] = True  # a node that is alone in its class has nothing to agree with
    arcs = np.flatnonzero(grouped[batch.sources])
    # Arcs stand in the order of their origins: sorting by origin and colour moves them inside it.
    ordered = np.zeros_like(near)
    base = batch.sources[arcs] * (int(near.max(initial=0)) + 1)
    ordered[arcs] = np.sort(base + near[arcs]) - base
    shift = batch.ends[twins] - batch.ends[:-1]
    return bool(np.all(ordered[arcs] == ordered[arcs + shift[batch.sources[arcs]]]))


@value
class ShortestPath(Counted):
    r"""The number of pairs of shortest paths of two graphs with equal ends and equal length.

    .. math:: k(G, H) = \#\{(u, v, u', v') : \ell(u) = \ell(u'),\, \ell(v) = \ell(v'),\,
        d_G(u, v) = d_H(u', v') < \infty\}, \quad u \ne v,\; u' \ne v'

    Pairs (u, v) are ordered, and those without a path left out. Labels of edges are not looked at:
    a pair may have several shortest paths. Weights are lengths: they must be positive, and lengths
    of paths are equal when they agree to 12 digits, so that the order in which edges are added up,
    and with it the names of nodes, makes no difference.

    Points are graphs, directed or not, with positive weights.

    >>> from mercer import Graph
    >>> ShortestPath()([Graph([(0, 1), (1, 2)])], [Graph([(0, 1), (1, 2), (2, 0)])])
    array([[24.]])

    Borgwardt and Kriegel, Shortest-path kernels on graphs, 2005.
    """

    theorem: ClassVar[str] = "the inner product of counts of shortest paths"

    def counts(self, points: list[Any]) -> Counts:
        graphs = as_graphs(points)
        refuse_negative(graphs, "a shortest path")
        batch = Batch.of(graphs)
        sizes = np.cumsum([0, *(g.n for g in graphs)])
        found = [_distances(g) for g in graphs]
        lengths = np.unique(np.concatenate([np.zeros(0), *map(np.unique, found)]))
        size = len(batch.names)
        rows, columns, counts = [], [], []
        for i, (start, distances) in enumerate(zip(sizes, found, strict=False)):
            labels = batch.labels[start : start + len(distances)]
            u, v = np.nonzero(np.isfinite(distances) & (distances > 0))
            steps = np.searchsorted(lengths, distances[u, v])
            kinds, often = np.unique(
                (steps * size + labels[u]) * size + labels[v], return_counts=True
            )
            rows.append(np.full(len(kinds), i))
            columns.append(kinds)
            counts.append(often)
        return Counts.of(_gathered(rows, columns, counts, len(graphs)))


def _distances(graph: Graph) -> Array:
    if graph.n == 0:
        return np.zeros((0, 0))
    distances: Array = shortest_path(
        graph.adjacency(), directed=graph.directed, unweighted=bool(np.all(graph.weights == 1.0))
    )
    return round_lengths(distances)


def round_lengths(lengths: Array) -> Array:
    """Return lengths to as many digits as sums agree in, whatever their order.

    >>> round_lengths(np.array([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1, np.inf])).tolist()
    [0.6, 0.6, inf]
    """
    is_length = np.isfinite(lengths) & (lengths > 0)
    power = np.floor(np.log10(np.where(is_length, lengths, 1.0)))
    unit = 10.0 ** np.minimum(np.abs(power), LARGEST_POWER)
    with np.errstate(over="ignore"):
        large = np.round(lengths / unit, DIGITS - 1) * unit
        small = np.round(lengths * unit, DIGITS - 1) / unit
    result = np.where(power < 0, small, large)
    # Rounding may leave the range of doubles at its very ends.
    is_kept = is_length & np.isfinite(result) & (result > 0)
    return np.where(is_kept, result, lengths)


def _gathered(
    rows: list[Array], columns: list[Array], counts: list[Array], count: int
) -> csr_array:
    nothing = np.zeros(0, np.int64)
    r, c, k = (np.concatenate([nothing, *parts]) for parts in (rows, columns, counts))
    shape = count, int(c.max(initial=-1)) + 1
    return join_sparse([tally(r, c, shape, k.astype(np.float64))])


@value
class Graphlets(Kernel):
    r"""The inner product of how many triples of nodes have no, one, two or three edges.

    .. math:: k(G, H) = \sum_{e=0}^{3} \#_e(G)\, \#_e(H)

    Labels, weights and directions are not looked at.

    Points are graphs of any kind.

    >>> from mercer import Graph
    >>> triangle, path = Graph([(0, 1), (1, 2), (2, 0)]), Graph([(0, 1), (1, 2), (2, 3)])
    >>> Graphlets().features([triangle, path])
    array([[0., 0., 0., 1.],
           [0., 2., 2., 0.]])

    Shervashidze, Vishwanathan, Petri, Mehlhorn and Borgwardt, Efficient graphlet kernels, 2009.
    """

    theorem: ClassVar[str] = "the inner product of counts of graphlets"

    def evaluate(self, pairs: Pairs) -> Array:
        left = self.features(pairs.x)
        values = pairs.dot(left, left if pairs.same else self.features(pairs.y))
        return pairs.array(values)

    def features(self, x: Points) -> Array:
        batch = Batch.of(as_graphs(x))
        size = len(batch.owners)
        A = tally(batch.sources, batch.targets, (size, size))
        A = A + A.T
        A.data[:] = 1.0  # both directions of an edge are one edge
        degrees = np.diff(A.indptr)
        n = np.bincount(batch.owners, minlength=batch.n)

        def total(of_nodes: Array) -> Array:
            return np.bincount(batch.owners, of_nodes, minlength=batch.n)

        triangles = total((A @ A).multiply(A).sum(axis=1)) / 6.0
        paths = total(degrees * (degrees - 1.0)) / 2.0 - 3.0 * triangles
        single = total(degrees) / 2.0 * (n - 2.0) - 2.0 * paths - 3.0 * triangles
        nothing = n * (n - 1.0) * (n - 2.0) / 6.0 - single - paths - triangles
        return np.column_stack([nothing, single, paths, triangles])


@value
class Propagation(Counted):
    r"""The number of pairs of nodes of two graphs whose labels are spread alike around them.

    .. math:: k(G, H) = \sum_{t=0}^{d} \#\left\{(u, v) : \lfloor (p_t(u) + b) / w \rfloor =
        \lfloor (p_t(v) + b) / w \rfloor\right\}, \quad p_{t+1} = D^{-1} A\, p_t

    p₀ gives each label a normal random number, drawn from the label itself and the seed, and b is
    uniform on [0, w]: a random projection of the labels' distribution after t steps of a random
    walk, cut into bins of width w. A node without edges keeps its labels. Weights must be
    positive.

    Points are graphs, directed or not, with positive weights; ``depth`` d ≥ 0 and ``seed`` ≥ 0 are
    whole numbers, ``width`` w > 0.

    >>> from mercer import Graph
    >>> k = Propagation(2, width=0.1)
    >>> path, point = Graph([(0, 1), (1, 2)], labels="aba"), Graph([], labels="b")
    >>> k([path, point])
    array([[15.,  4.],
           [ 4.,  3.]])

    Neumann, Garnett, Bauckhage and Kersting, Propagation kernels, 2016.
    """

    depth: int
    width: float = 0.01
    seed: int = 0
    domain: ClassVar[Domain] = {
        "depth": whole,
        "width": lambda v, name: number(v, name, above=0.0),
        "seed": whole,
    }
    theorem: ClassVar[str] = "the inner product of counts of nodes in bins"

    def counts(self, points: list[Any]) -> Counts:
        graphs = as_graphs(points)
        refuse_negative(graphs, "a random walk")
        batch = Batch.of(graphs)
        drawn = np.array([_normal(name, self.seed) for name in batch.names])
        p = drawn[batch.labels] if len(drawn) else np.zeros(0)
        shift = self.width * _uniform("shift", self.seed)
        tables = []
        for _ in range(self.depth + 1):
            bins, columns = np.unique(np.floor((p + shift) / self.width), return_inverse=True)
            tables.append(tally(batch.owners, columns, (batch.n, len(bins))))
            p = _spread(batch, p)
        return Counts.of(join_sparse(tables))


def _spread(batch: Batch, p: Array) -> Array:
    """Return the mean over neighbours, summed in an order that does not depend on their names."""
    order = np.lexsort((batch.weights, p[batch.targets], batch.sources))
    weights, values = batch.weights[order], p[batch.targets[order]]
    nodes = np.flatnonzero(np.diff(batch.ends))
    spread = p.copy()
    if len(nodes):
        starts = batch.ends[nodes]
        spread[nodes] = np.add.reduceat(weights * values, starts)
        spread[nodes] /= np.add.reduceat(weights, starts)
    return spread


def _uniform(label: Any, seed: int) -> float:
    """Return a number in (0, 1) that depends on a label and a seed and on nothing else."""
    digest = blake2b(f"{seed} {_spelt(label)}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "little") + 0.5) / 2.0**64


def _spelt(label: Any) -> str:
    """Return a text that equal labels share, in every process."""
    if isinstance(label, int) or (isinstance(label, float) and label.is_integer()):
        return repr(int(label))
    if isinstance(label, tuple):
        return f"({', '.join(map(_spelt, label))})"
    if isinstance(label, frozenset):
        return f"{{{', '.join(sorted(map(_spelt, label)))}}}"
    return repr(label)


def _normal(label: Any, seed: int) -> float:
    return float(ndtri(_uniform(label, seed)))
