from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer as mc
from mercer import Graph
from mercer.check import Array
from mercer.kernels import graph_kernels as module
from tests.references import FOLDER
from tests.structures import graphs, many, obeys_the_laws, works_in_models

REFERENCE = json.loads((FOLDER / "graphs_small_wl_sp.json").read_text())
GRAPHS = [
    Graph(g["edges"], labels={int(v): label for v, label in g["labels"].items()})
    for g in REFERENCE["graphs"]
]
KERNELS: list[mc.Kernel] = [
    mc.kernels.VertexHistogram(),
    mc.kernels.EdgeHistogram(),
    mc.kernels.WeisfeilerLehman(0),
    mc.kernels.WeisfeilerLehman(3),
    mc.kernels.ShortestPath(),
    mc.kernels.Graphlets(),
    mc.kernels.Propagation(2, width=0.05, seed=3),
]
EDGELESS = [Graph([], n=0), Graph([], n=1), Graph([], labels="ab")]


def labels_of(g: Graph) -> tuple[Hashable, ...]:
    return g.labels or (None,) * g.n


def neighbours(g: Graph) -> list[list[int]]:
    near: list[list[int]] = [[] for _ in range(g.n)]
    for u, v in g.edges.tolist():
        near[u].append(v)
        if not g.directed:
            near[v].append(u)
    return near


def vertices(k: Any, g: Graph) -> Counter[Any]:
    return Counter(labels_of(g))


def edges(k: Any, g: Graph) -> Counter[Any]:
    found: Counter[Any] = Counter()
    names = labels_of(g)
    for (u, v), w in zip(g.edges.tolist(), g.weights.tolist(), strict=True):
        ends = [str(names[u]), str(names[v])]
        found[(g.directed, *(ends if g.directed else sorted(ends)))] += w
    return found


def neighbourhoods(k: Any, g: Graph) -> Counter[Any]:
    """Count the neighbourhoods of each depth, written out in full."""
    colours = [repr(label) for label in labels_of(g)]
    found: Counter[Any] = Counter((0, c) for c in colours)
    for depth in range(k.depth):
        near = neighbours(g)
        colours = [f"({c}{sorted(colours[v] for v in near[u])})" for u, c in enumerate(colours)]
        found.update((depth + 1, c) for c in colours)
    return found


def shortest_paths(k: Any, g: Graph) -> Counter[Any]:
    """Count lengths by Floyd's recursion."""
    d = np.full((g.n, g.n), np.inf)
    for u, v, w in zip(*g.arcs, strict=True):
        d[u, v] = w
    for m in range(g.n):
        d = np.minimum(d, d[:, m : m + 1] + d[m : m + 1, :])
    names = labels_of(g)
    pairs = [(u, v) for u in range(g.n) for v in range(g.n) if u != v and np.isfinite(d[u, v])]
    return Counter((names[u], names[v], float(d[u, v])) for u, v in pairs)


def triples(k: Any, g: Graph) -> Counter[Any]:
    linked = {frozenset(e) for e in g.edges.tolist()}
    return Counter(
        sum(frozenset(p) in linked for p in combinations(three, 2))
        for three in combinations(range(g.n), 3)
    )


def bins(k: Any, g: Graph) -> Counter[Any]:
    p = np.array([module._normal(label, k.seed) for label in labels_of(g)])
    shift = k.width * module._uniform("shift", k.seed)
    A = g.adjacency().toarray().reshape(g.n, g.n)
    found: Counter[Any] = Counter()
    for t in range(k.depth + 1):
        found.update((t, b) for b in np.floor((p + shift) / k.width).tolist())
        degrees = A.sum(axis=1)
        p = np.where(degrees > 0, A @ p / np.where(degrees > 0, degrees, 1.0), p)
    return found


RECOUNTS: dict[type[mc.Kernel], Callable[[Any, Graph], Counter[Any]]] = {
    mc.kernels.VertexHistogram: vertices,
    mc.kernels.EdgeHistogram: edges,
    mc.kernels.WeisfeilerLehman: neighbourhoods,
    mc.kernels.ShortestPath: shortest_paths,
    mc.kernels.Graphlets: triples,
    mc.kernels.Propagation: bins,
}


def recounted(k: mc.Kernel, x: list[Graph], y: list[Graph]) -> list[list[float]]:
    count = RECOUNTS[type(k)]
    left, right = [count(k, g) for g in x], [count(k, g) for g in y]
    return [[float(sum(p[part] * q[part] for part in p)) for q in right] for p in left]


@pytest.mark.parametrize("entry", REFERENCE["wl"])
def test_neighbourhoods_are_those_of_the_reference(entry: dict[str, Any]) -> None:
    K = mc.kernels.WeisfeilerLehman(entry["h"])(GRAPHS)
    assert K.tolist() == entry["grakel"] == entry["recount"]


def test_shortest_paths_are_those_of_the_reference() -> None:
    entry = REFERENCE["shortest_path"]
    assert mc.kernels.ShortestPath()(GRAPHS).tolist() == entry["grakel"] == entry["recount"]


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@given(data=st.data())
@settings(max_examples=10)
def test_kernels_count_what_they_say(k: mc.Kernel, data: st.DataObject) -> None:
    graph = st.one_of(graphs(weighted=True), graphs(labels=""), graphs(directed=True))
    x, y = data.draw(many(graph)), data.draw(many(graph))
    assert k(x, y).tolist() == recounted(k, x, y)
    assert k(x).tolist() == recounted(k, x, x)
    assert k.diag(x).tolist() == np.diag(recounted(k, x, x)).tolist()


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@given(x=many(graphs(weighted=True)))
@settings(max_examples=8)
def test_kernels_on_graphs_obey_the_laws(k: mc.Kernel, x: list[Graph]) -> None:
    obeys_the_laws(k, x)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@given(data=st.data())
@settings(max_examples=10)
def test_names_of_nodes_do_not_matter(k: mc.Kernel, data: st.DataObject) -> None:
    x = data.draw(many(graphs(weighted=True, directed=data.draw(st.booleans()))))
    renamed = [g.relabelled(data.draw(st.permutations(range(g.n)))) for g in x]
    assert k(renamed).tolist() == k(x).tolist()
    assert k(x, renamed).tolist() == k(x).tolist()


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_graphs_go_through_operators_and_models(k: mc.Kernel) -> None:
    works_in_models(k, [*GRAPHS, Graph([], labels="a")], [GRAPHS[1], *EDGELESS])
    works_in_models(k.normalised(), GRAPHS, EDGELESS)


def test_kernel_principal_components_of_networks_separate_what_differs() -> None:
    rings = [Graph([(i, (i + 1) % n) for i in range(n)]) for n in range(5, 11)]
    stars = [Graph([(0, i) for i in range(1, n)]) for n in range(5, 11)]
    k = mc.kernels.WeisfeilerLehman(3).normalised()
    model = mc.KernelPCA(2, kernel=k).fit([*rings[:-1], *stars[:-1]])
    first = model.transform([*rings, *stars])[:, 0]
    assert first[:6].max() < first[6:].min() or first[6:].max() < first[:6].min()
    gaussian = mc.KernelPCA(2, kernel=k.gaussian("median")).fit([*rings, *stars])
    assert gaussian.inertias_[0] > 0.3 * gaussian.inertia_


@pytest.mark.parametrize(
    "k", [mc.kernels.EdgeHistogram(), mc.kernels.ShortestPath(), mc.kernels.Graphlets()], ids=repr
)
def test_graphs_without_any_part_share_one_unit_vector(k: mc.Kernel) -> None:
    triangle = Graph([(0, 1), (1, 2), (2, 0)])
    K = k.normalised()([*EDGELESS, triangle])
    assert K.tolist() == [[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1]]
    assert k.normalised()([triangle], EDGELESS).tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_normalised_kernels_have_ones_on_the_diagonal_and_no_nan(k: mc.Kernel) -> None:
    x = [*EDGELESS, *GRAPHS]
    for K in (k.normalised()(x), k.normalised()(x, list(x))):
        assert np.all(np.isfinite(K))
    assert np.array_equal(np.diag(k.normalised()(x)), np.ones(len(x)))
    assert np.array_equal(k.normalised().diag(x), np.ones(len(x)))


def test_depth_zero_is_the_histogram_of_labels() -> None:
    assert np.array_equal(
        mc.kernels.WeisfeilerLehman(0)(GRAPHS), mc.kernels.VertexHistogram()(GRAPHS)
    )


def test_colours_that_are_stable_count_for_every_further_depth() -> None:
    deep, shallow = mc.kernels.WeisfeilerLehman(1000), mc.kernels.WeisfeilerLehman(10)
    step = shallow(GRAPHS) - mc.kernels.WeisfeilerLehman(9)(GRAPHS)
    assert np.array_equal(deep(GRAPHS), shallow(GRAPHS) + 990 * step)


def test_regular_graphs_cannot_be_told_apart() -> None:
    hexagon = Graph([(i, (i + 1) % 6) for i in range(6)])
    triangles = Graph([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    K = mc.kernels.WeisfeilerLehman(4)([hexagon, triangles])
    assert np.all(K == 5 * 36)
    assert (
        mc.kernels.ShortestPath()([hexagon, triangles])[0, 1]
        < mc.kernels.ShortestPath()([hexagon])[0, 0]
    )


@pytest.mark.parametrize("bad_attempts", [1, 3])
def test_hashes_that_collide_are_found_out(
    bad_attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, tried = module.salts, []

    def salts(size: int, attempt: int) -> Array:
        tried.append(attempt)
        # Equal numbers for all colours: hashes that see no more than how many neighbours there are.
        constant = np.full(size, 3, np.uint64)
        return constant if attempt < bad_attempts else good(size, attempt)

    expected = mc.kernels.WeisfeilerLehman(3)(GRAPHS).tolist()
    monkeypatch.setattr(module, "salts", salts)
    assert mc.kernels.WeisfeilerLehman(3)(GRAPHS).tolist() == expected
    assert max(tried) == bad_attempts


def test_neighbours_with_equal_sums_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # The letters are numbered in order: a + d and b + c have the same sum, and nothing else has.
    ends = [Graph([(0, 1), (0, 2)], labels=labels) for labels in ("aad", "abc", "ada")]
    x = [Graph([], labels="abcd"), *ends]
    expected = mc.kernels.WeisfeilerLehman(1)(x).tolist()
    assert expected[1][2] < expected[1][3] == expected[1][1]
    good, tried = module.salts, []

    def salts(size: int, attempt: int) -> Array:
        tried.append(attempt)
        numbers = np.arange(size // 2, dtype=np.uint64)
        sums = np.concatenate([np.uint64(1000) * numbers, numbers + np.uint64(5)])
        return sums if attempt == 0 else good(size, attempt)

    monkeypatch.setattr(module, "salts", salts)
    assert mc.kernels.WeisfeilerLehman(1)(x).tolist() == expected
    assert tried == [0, 1]


def test_neighbours_of_a_directed_graph_are_those_it_leads_to() -> None:
    there, back = (Graph([e], labels="ab", directed=True) for e in ((0, 1), (1, 0)))
    assert mc.kernels.WeisfeilerLehman(1)([there], [back]).tolist() == [[2.0]]
    assert mc.kernels.ShortestPath()([there], [back]).tolist() == [[0.0]]
    assert mc.kernels.EdgeHistogram()([there], [back, Graph([(0, 1)], labels="ab")]).tolist() == [
        [0, 0]
    ]


def test_weights_are_lengths_of_paths() -> None:
    short, long = (Graph([(0, 1), (1, 2), (0, 2)], weights=[1.0, 1.0, w]) for w in (1.5, 5.0))
    K = mc.kernels.ShortestPath()([short, long])
    assert K.tolist() == [[20.0, 16.0], [16.0, 20.0]]
    with pytest.raises(
        mc.errors.InvalidInput, match=r"point 1: the edge \(0, 1\) has the weight -2"
    ):
        mc.kernels.ShortestPath()([short, Graph([(0, 1)], weights=[-2.0])])


@given(many(graphs(labels="")))
@settings(max_examples=20)
def test_graphlets_have_features(x: list[Graph]) -> None:
    phi = mc.kernels.Graphlets().features(x)
    assert phi.shape == (len(x), 4)
    assert phi.tolist() == [[float(triples(None, g)[e]) for e in range(4)] for g in x]


def test_propagation_depends_on_labels_and_seed_alone() -> None:
    first: list[Any] = [(1, "a"), frozenset("bac"), 2**60, "1"]
    again: list[Any] = [(1.0, "a"), frozenset("cab"), 2.0**60, "1"]
    other: list[Any] = [(1, "b"), frozenset("ba"), 2**60 + 1, 1]
    edges = [(0, 1), (1, 2), (2, 3)]
    x = [Graph(edges, labels) for labels in (first, again, other)]
    k = mc.kernels.Propagation(2, width=1e-6)
    assert k(x)[0, 2] == 0.0
    assert k(x)[0, 1] == k(x)[0, 0]
    assert k.normalised()(x)[0, 1] == 1.0
    assert (
        len({mc.kernels.Propagation(2, width=0.5, seed=s)(GRAPHS).tobytes() for s in range(5)}) > 1
    )
    with pytest.raises(mc.errors.NotDifferentiable, match="partial derivatives"):
        k.partials(x)


def test_the_widest_bins_hold_all_pairs() -> None:
    k = mc.kernels.Propagation(2, width=1e9, seed=1)
    sizes = np.array([g.n for g in GRAPHS])
    assert np.array_equal(k(GRAPHS), 3.0 * np.outer(sizes, sizes))


@pytest.mark.parametrize(
    "make",
    [
        lambda: mc.kernels.WeisfeilerLehman(-1),
        lambda: mc.kernels.WeisfeilerLehman(1.5),  # type: ignore[arg-type]
        lambda: mc.kernels.Propagation(-1),
        lambda: mc.kernels.Propagation(1, width=0.0),
    ],
)
def test_parameters_outside_their_domain_are_refused(make: Callable[[], mc.Kernel]) -> None:
    with pytest.raises(mc.errors.InvalidParameter):
        make()


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_no_graph_one_graph_and_two_graphs(k: mc.Kernel, n: int) -> None:
    assert k(GRAPHS[:n]).shape == (n, n)
    assert k(GRAPHS[:n], GRAPHS).tolist() == k(GRAPHS)[:n].tolist()
    assert k(GRAPHS, GRAPHS[:n]).shape == (5, n)
    assert k.diag(GRAPHS[:n]).shape == (n,)


def test_matrices_are_graphs_too() -> None:
    stacked = np.array([g.adjacency().toarray() for g in GRAPHS if g.n == 5])
    plain = [Graph(g.edges, n=5) for g in GRAPHS if g.n == 5]
    assert np.array_equal(
        mc.kernels.WeisfeilerLehman(2)(stacked), mc.kernels.WeisfeilerLehman(2)(plain)
    )


def test_grakel_agrees_on_random_graphs() -> None:
    grakel = pytest.importorskip("grakel")
    rng = np.random.default_rng(0)
    ours, theirs = [], []
    for n in rng.integers(3, 12, 20):
        pairs = [(u, v) for u in range(n) for v in range(u) if rng.random() < 0.4] or [(1, 0)]
        labels = dict(enumerate(rng.choice(list("abc"), n).tolist()))
        ours.append(Graph(pairs, labels, n=int(n)))
        both = dict.fromkeys([*pairs, *((v, u) for u, v in pairs)], 1)
        theirs.append(grakel.Graph(both, node_labels=labels))
    for mine, other in (
        (mc.kernels.WeisfeilerLehman(3), grakel.WeisfeilerLehman(n_iter=3)),
        (mc.kernels.VertexHistogram(), grakel.VertexHistogram()),
        (mc.kernels.ShortestPath(), grakel.ShortestPath()),
    ):
        assert np.array_equal(mine(ours), other.fit_transform(theirs))


def by_pairs(graph: Graph, depth: int) -> list[Any]:
    """The colours of the definition as nested tuples, edges' labels included."""
    kinds = {}
    for (u, v), kind in zip(graph.edges.tolist(), graph.edge_labels or (), strict=False):
        kinds[u, v] = kind
        if not graph.directed:
            kinds[v, u] = kind
    colours: list[Any] = list(graph.labels or [None] * graph.n)
    found = list(colours)
    for _ in range(depth):
        near: list[list[Any]] = [[] for _ in range(graph.n)]
        for u, v, _ in zip(*(part.tolist() for part in graph.arcs), strict=True):
            near[u].append((kinds.get((u, v)), colours[v]))
        colours = [(c, tuple(sorted(n, key=repr))) for c, n in zip(colours, near, strict=True)]
        found += colours
    return found


@settings(max_examples=25)
@given(st.data())
def test_labels_of_edges_are_part_of_neighbourhoods(data: st.DataObject) -> None:
    x = []
    for plain in data.draw(many(graphs(directed=data.draw(st.booleans())))):
        labels = data.draw(
            st.lists(st.sampled_from("xy"), min_size=len(plain.edges), max_size=len(plain.edges))
        )
        x.append(Graph(plain.edges, plain.labels, None, plain.n, plain.directed, labels))
    colours = [by_pairs(g, 2) for g in x]
    expected = [[sum(a.count(c) for c in b) for b in colours] for a in colours]
    assert mc.kernels.WeisfeilerLehman(2)(x).tolist() == expected


def test_labels_of_edges_divide_histograms() -> None:
    x = [Graph([(0, 1), (1, 2)], edge_labels="xy"), Graph([(0, 1)], edge_labels="x")]
    assert mc.kernels.EdgeHistogram()(x).tolist() == [[2.0, 1.0], [1.0, 1.0]]
    assert mc.kernels.EdgeHistogram()([*x, Graph([(0, 1)])])[2].tolist() == [0.0, 0.0, 1.0]
    assert (
        mc.kernels.ShortestPath()(x).tolist()
        == mc.kernels.ShortestPath()([Graph([(0, 1), (1, 2)]), Graph([(0, 1)])]).tolist()
    )


@settings(max_examples=40)
@given(graphs(), st.data())
def test_lengths_do_not_depend_on_the_order_of_their_sums(
    plain: Graph, data: st.DataObject
) -> None:
    lengths = st.sampled_from([0.1, 0.2, 0.3, 0.7])
    count = len(plain.edges)
    weights = data.draw(st.lists(lengths, min_size=count, max_size=count))
    g = Graph(plain.edges, plain.labels, weights, plain.n)
    other = g.relabelled(data.draw(st.permutations(range(g.n))))
    K = mc.kernels.ShortestPath()([g, other])
    assert len(set(K.ravel().tolist())) == 1


def test_lengths_of_any_size_are_compared() -> None:
    tiny, huge = (Graph([(0, 1), (1, 2)], weights=[w, 2 * w]) for w in (1e-307, 1e307))
    assert mc.kernels.ShortestPath()([tiny, huge]).tolist() == [[12.0, 0.0], [0.0, 12.0]]
