from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.linalg import expm

import mercer as mc
from mercer import Graph
from mercer.check import Array
from tests.oracles import difference_in_parameter
from tests.structures import graphs, many, obeys_the_laws, works_in_models

NODES = 5
networks = many(graphs(nodes=NODES, weighted=True))
MATRICES: dict[mc.Kernel, Callable[[Graph], Array]] = {
    mc.kernels.AlignedEdges(): lambda g: np.triu(g.adjacency().toarray()),
    mc.kernels.AlignedLaplacian(): lambda g: g.laplacian(),
    mc.kernels.AlignedHeat(time=0.3): lambda g: expm(-0.3 * g.laplacian()),
    mc.kernels.AlignedHeat(time=0.0): lambda g: np.eye(g.n),
}


@pytest.mark.parametrize("k", MATRICES, ids=repr)
@given(x=networks, y=networks)
@settings(max_examples=15)
def test_kernels_are_inner_products_of_matrices(
    k: mc.Kernel, x: list[Graph], y: list[Graph]
) -> None:
    matrix = MATRICES[k]
    expected = [[float(np.sum(matrix(g) * matrix(h))) for h in y] for g in x]
    np.testing.assert_allclose(k(x, y), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("k", MATRICES, ids=repr)
@given(x=networks)
@settings(max_examples=8)
def test_kernels_between_networks_obey_the_laws(k: mc.Kernel, x: list[Graph]) -> None:
    obeys_the_laws(k, x)
    obeys_the_laws(k.gaussian(2.0), x)


def some(n: int, seed: int = 0) -> list[Graph]:
    rng = np.random.default_rng(seed)
    full = [(u, v) for v in range(NODES) for u in range(v)]
    chosen = [[e for e in full if rng.random() < 0.5] for _ in range(n)]
    return [Graph(e, weights=rng.uniform(0.5, 2.0, len(e)), n=NODES) for e in chosen]


@pytest.mark.parametrize("k", list(MATRICES)[:3], ids=repr)
def test_networks_go_through_operators_and_models(k: mc.Kernel) -> None:
    works_in_models(k, some(6), [*some(2, seed=1), Graph([], n=NODES)])


def test_networks_given_as_matrices() -> None:
    x = some(4)
    stacked = np.array([g.adjacency().toarray() for g in x])
    for k in MATRICES:
        assert np.array_equal(k(stacked), k(x))
    model = mc.KernelPCA(2, kernel=mc.kernels.AlignedEdges().gaussian("median")).fit(stacked)
    np.testing.assert_allclose(model.transform(stacked), model.fit_transform(stacked), atol=1e-12)


def test_networks_of_two_conditions_lie_apart() -> None:
    """Martin's question, on networks of twelve genes: one module is strong in each condition."""
    rng, networks = np.random.default_rng(0), np.empty((20, 12, 12))
    for i in range(20):
        noise = rng.normal(0.0, 0.1, (12, 12))
        networks[i] = (noise + noise.T) / 2
        module = slice(0, 6) if i < 10 else slice(6, 12)
        networks[i][module, module] += 0.6
        np.fill_diagonal(networks[i], 0.0)
    model = mc.KernelPCA(2, kernel=mc.kernels.AlignedEdges().gaussian("median")).fit(networks)
    first = model.individuals_.coordinates[:, 0]
    assert first[:10].max() < 0 < first[10:].min() or first[10:].max() < 0 < first[:10].min()
    assert model.explained_variance_ratio_[0] == pytest.approx(0.8757, abs=5e-5)


def test_correlations_may_be_negative_as_weights_of_edges_only() -> None:
    g = Graph([(0, 1), (1, 2)], weights=[-0.5, 2.0])
    assert mc.kernels.AlignedEdges()([g]).tolist() == [[4.25]]
    with pytest.raises(
        mc.errors.InvalidInput, match=r"point 0: the edge \(0, 1\) has the weight -0.5"
    ):
        mc.kernels.AlignedHeat()([g])


def test_networks_on_many_nodes_with_few_edges() -> None:
    x = [Graph([(0, 9000)], n=10_000), Graph([(0, 9000), (5, 6)], n=10_000), Graph([], n=10_000)]
    assert mc.kernels.AlignedEdges()(x).tolist() == [[1, 1, 0], [1, 2, 0], [0, 0, 0]]
    assert mc.kernels.AlignedLaplacian()(x).tolist() == [[4, 4, 0], [4, 8, 0], [0, 0, 0]]


def test_directed_networks_have_ordered_edges() -> None:
    there, back = Graph([(0, 1)], directed=True), Graph([(1, 0)], directed=True)
    assert mc.kernels.AlignedEdges()([there, back]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(mc.errors.InvalidInput, match="point 0 is a directed graph"):
        mc.kernels.AlignedLaplacian()([there])


@pytest.mark.parametrize("k", MATRICES, ids=repr)
def test_networks_on_other_nodes_are_refused(k: mc.Kernel) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="with 5 nodes is compared with one of 3"):
        k(some(2), [Graph([], n=3)])
    with pytest.raises(mc.errors.InvalidInput, match=r"directed graph is compared .* \(point 1\)"):
        k([Graph([], n=2), Graph([], n=2, directed=True)])


def test_heat_has_the_derivative_of_its_formula() -> None:
    x, y, k = some(4), some(3, seed=2), mc.kernels.AlignedHeat(time=0.4)
    points: tuple[Any, Any] = (x, y)
    expected = difference_in_parameter(k, "time", *points)
    np.testing.assert_allclose(k.partials(*points)["time"], expected, atol=1e-9)


def test_a_minus_in_time_is_refused() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="time must be"):
        mc.kernels.AlignedHeat(-1.0)


@pytest.mark.parametrize("k", MATRICES, ids=repr)
@pytest.mark.parametrize("n", [0, 1])
def test_no_network_and_one_network(k: mc.Kernel, n: int) -> None:
    x = some(3)
    assert k(x[:n]).shape == (n, n)
    assert k(x[:n], x).shape == (n, 3)
    assert k.diag(x[:n]).shape == (n,)
