from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer as mc
from mercer import Graph
from mercer.kernels import Subtrees
from tests.structures import graphs, many, obeys_the_laws, works_in_models

mixed = st.one_of(graphs(), graphs(labels=""), graphs(directed=True))


def by_definition(g: Graph, h: Graph, depth: int, decay: float) -> float:
    """Sum over all pairs of nodes, matchings written out as choices and orders."""

    def near(graph: Graph, u: int) -> list[int]:
        out = [int(v) for a, v in graph.edges if a == u]
        return out + ([] if graph.directed else [int(a) for a, v in graph.edges if v == u])

    def label(graph: Graph, u: int) -> object:
        return None if graph.labels is None else graph.labels[u]

    def common(u: int, v: int, left: int) -> float:
        if label(g, u) != label(h, v):
            return 0.0
        if left == 0:
            return 1.0
        mine, theirs, total = near(g, u), near(h, v), 0.0
        for m in range(min(len(mine), len(theirs)) + 1):
            for chosen in combinations(mine, m):
                for order in permutations(theirs, m):
                    parts = [
                        decay * common(a, b, left - 1) for a, b in zip(chosen, order, strict=True)
                    ]
                    total += float(np.prod(parts))
        return total

    return sum(common(u, v, depth) for u in range(g.n) for v in range(h.n))


@given(x=many(mixed), depth=st.integers(0, 2), decay=st.sampled_from([1.0, 0.25]))
@settings(max_examples=12, deadline=None)
def test_trees_are_counted_as_defined(x: list[Graph], depth: int, decay: float) -> None:
    small = [Graph([e for e in g.edges if max(e) < 4], g.labels and g.labels[:4], n=min(g.n, 4),
                   directed=g.directed) for g in x]  # fmt: skip
    expected = [[by_definition(g, h, depth, decay) for h in small] for g in small]
    np.testing.assert_allclose(Subtrees(depth, decay)(small), expected, rtol=1e-12)


@given(x=many(graphs()))
@settings(max_examples=8, deadline=None)
def test_subtrees_obey_the_laws(x: list[Graph]) -> None:
    obeys_the_laws(Subtrees(2, 0.3), x)


def test_depth_nought_counts_labels_and_names_of_nodes_do_not_matter() -> None:
    g = Graph([(0, 1), (1, 2), (2, 3), (1, 3)], labels="abab")
    h = g.relabelled([2, 0, 3, 1])
    np.testing.assert_allclose(Subtrees(0)([g, h]), mc.kernels.VertexHistogram()([g, h]))
    K = Subtrees(3, 0.5)([g, h])
    np.testing.assert_allclose(K, K[0, 0])


def test_trees_tell_apart_what_walks_of_the_same_length_do_not() -> None:
    # Two triangles and a hexagon: all nodes alike to depth 2, as any count of neighbourhoods says.
    two = Graph([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    six = Graph([(i, (i + 1) % 6) for i in range(6)])
    np.testing.assert_allclose(Subtrees(2)([two, six]), Subtrees(2)([two])[0, 0])
    star = Graph([(0, 1), (0, 2), (0, 3)])
    path = Graph([(0, 1), (1, 2), (2, 3)])
    N = Subtrees(2).normalised()([star, path])
    assert N[0, 1] < 0.95


def test_labels_of_edges_must_agree() -> None:
    a = Graph([(0, 1)], edge_labels=["x"])
    b = Graph([(0, 1)], edge_labels=["y"])
    assert Subtrees(1)([a], [a])[0, 0] == 8.0  # four pairs of nodes, with no branch or one
    assert Subtrees(1)([a], [b])[0, 0] == 4.0


def test_graphs_go_through_models() -> None:
    x = [Graph([(0, 1), (1, 2)]), Graph([(0, 1)]), Graph([(0, 1)], labels="ab"), Graph([], n=2)]
    works_in_models(Subtrees(2, 0.5).normalised(), x, [Graph([(0, 1), (0, 2)])])


def test_too_many_neighbours_and_trees_are_named() -> None:
    hub = Graph([(0, i) for i in range(1, 19)])
    with pytest.raises(mc.errors.InvalidInput, match="point 1: node 0 has 18 neighbours"):
        Subtrees(1)([Graph([(0, 1)]), hub])
    complete = Graph([(u, v) for v in range(9) for u in range(v)])
    with pytest.raises(mc.errors.InvalidInput, match="too many for a double"):
        Subtrees(6)([complete])
    with pytest.raises(mc.errors.InvalidParameter, match="decay"):
        Subtrees(1, -1.0)
