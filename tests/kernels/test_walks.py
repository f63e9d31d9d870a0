from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

import mercer as mc
from mercer import Graph
from mercer.check import Array
from tests.structures import graphs, many, obeys_the_laws, works_in_models

mixed = st.one_of(graphs(weighted=True), graphs(weighted=True, labels=""), graphs(labels="a"))


def product(g: Graph, h: Graph) -> Array:
    """Return the normalised adjacency of the product graph, written out."""
    sides = []
    for graph in (g, h):
        A = graph.adjacency().toarray().reshape(graph.n, graph.n)
        d = A.sum(axis=1)
        scale = np.divide(1.0, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
        sides.append(scale[:, None] * A * scale[None, :])
    names = [graph.labels or (None,) * graph.n for graph in (g, h)]
    pairs = [u * h.n + v for u in range(g.n) for v in range(h.n) if names[0][u] == names[1][v]]
    return np.asarray(np.kron(*sides)[np.ix_(pairs, pairs)])


def by_definition(decay: float, g: Graph, h: Graph) -> float:
    """Solve the system of the product graph."""
    W = product(g, h)
    p = np.full(len(W), 1.0 / max(g.n * h.n, 1))
    return float(p @ np.linalg.solve(np.eye(len(W)) - decay * W, p))


@pytest.mark.parametrize("rate", [0.0, 1.0, 6.0])
@given(x=many(mixed), y=many(mixed))
@settings(max_examples=10)
def test_exponential_walks_are_summed_as_defined(
    rate: float, x: list[Graph], y: list[Graph]
) -> None:
    def expected(g: Graph, h: Graph) -> float:
        W = product(g, h)
        return float(expm(rate * W).sum()) / max(g.n * h.n, 1) ** 2 if len(W) else 0.0

    k = mc.kernels.ExponentialWalk(rate)
    np.testing.assert_allclose(k(x, y), [[expected(g, h) for h in y] for g in x], rtol=1e-11)
    np.testing.assert_allclose(k.diag(x), [expected(g, g) for g in x], rtol=1e-11)
    obeys_the_laws(k, x)


def test_a_rate_is_a_number_that_is_not_negative() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="rate"):
        mc.kernels.ExponentialWalk(-1.0)
    many_walks = mc.kernels.ExponentialWalk(50.0)([Graph([(0, 1), (1, 2)], labels="aba")])
    assert np.isfinite(many_walks).all()


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.99])
@given(x=many(mixed), y=many(mixed))
@settings(max_examples=15)
def test_walks_are_summed_as_defined(decay: float, x: list[Graph], y: list[Graph]) -> None:
    k = mc.kernels.RandomWalk(decay)
    expected = [[by_definition(decay, g, h) for h in y] for g in x]
    np.testing.assert_allclose(k(x, y), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(k.diag(x), [by_definition(decay, g, g) for g in x], rtol=1e-12)


@given(graphs(weighted=True, labels=""), graphs(weighted=True, labels=""))
@settings(max_examples=20)
def test_one_label_for_all_is_no_label(g: Graph, h: Graph) -> None:
    labelled = [Graph(f.edges, ["a"] * f.n, f.weights, f.n) for f in (g, h)]
    k = mc.kernels.RandomWalk(0.9)
    np.testing.assert_allclose(k(labelled), k([g, h]), rtol=1e-13)


@given(x=many(mixed))
@settings(max_examples=8)
def test_random_walks_obey_the_laws(x: list[Graph]) -> None:
    obeys_the_laws(mc.kernels.RandomWalk(0.8), x)


@given(data=st.data())
@settings(max_examples=10)
def test_names_of_nodes_do_not_matter(data: st.DataObject) -> None:
    x = data.draw(many(mixed))
    renamed = [g.relabelled(data.draw(st.permutations(range(g.n)))) for g in x]
    k = mc.kernels.RandomWalk(0.7)
    np.testing.assert_allclose(k(renamed), k(x), rtol=1e-12, atol=1e-15)


def test_graphs_go_through_operators_and_models() -> None:
    x = [Graph([(0, 1), (1, 2)]), Graph([(0, 1)]), Graph([(0, 1)], labels="ab"), Graph([], n=2)]
    works_in_models(mc.kernels.RandomWalk(0.5), x, [Graph([], n=0), Graph([(0, 1), (0, 2)])])
    works_in_models(mc.kernels.RandomWalk(0.5).normalised(), x, [Graph([], n=0)])


@pytest.mark.parametrize("decay", [1.0, 2.0, -0.1, float("nan"), float("inf")])
def test_decays_for_which_the_sum_need_not_converge_are_refused(decay: float) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="decay must be"):
        mc.kernels.RandomWalk(decay)


def test_the_sum_converges_for_dense_graphs_and_large_decays() -> None:
    complete = [Graph([(u, v) for v in range(n) for u in range(v)]) for n in (2, 10, 60)]
    K = mc.kernels.RandomWalk(0.9999)(complete)
    assert np.all(np.isfinite(K))
    assert np.all(K > 0)
    # On a regular graph 1 is an eigenvector for the eigenvalue 1: the sum is geometric.
    np.testing.assert_allclose(K[2, 2], 1e4 / 60**2, rtol=1e-10)


def test_directed_graphs_and_negative_weights_are_named() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="point 1 is a directed graph"):
        mc.kernels.RandomWalk(0.5)([Graph([]), Graph([(0, 1)], directed=True)])
    with pytest.raises(
        mc.errors.InvalidInput, match=r"point 0: the edge \(0, 1\) has the weight -1"
    ):
        mc.kernels.RandomWalk(0.5)([Graph([(0, 1)], weights=[-1.0])])
