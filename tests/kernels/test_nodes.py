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
from tests import laws
from tests.oracles import difference_in_parameter
from tests.structures import graphs, works_in_models

FUNCTIONS: dict[str, tuple[Callable[[Graph], mc.Kernel], Callable[[Array], Array]]] = {
    "diffusion": (lambda g: mc.kernels.Diffusion(g, time=0.7), lambda L: expm(-0.7 * L)),
    "regularised": (
        lambda g: mc.kernels.RegularisedLaplacian(g, scale=2.0),
        lambda L: np.linalg.inv(np.eye(len(L)) + 2.0 * L),
    ),
    "commute time": (
        mc.kernels.CommuteTime,
        lambda L: np.linalg.pinv(L, rcond=1e-10, hermitian=True),
    ),
}
LADDER = Graph([(0, 1), (2, 3), (0, 2), (1, 3)], weights=[1.0, 2.0, 0.5, 1.5], labels="abba")


@pytest.mark.parametrize("name", FUNCTIONS)
@given(g=graphs(weighted=True))
@settings(max_examples=25)
def test_kernels_are_functions_of_the_laplacian(name: str, g: Graph) -> None:
    make, function = FUNCTIONS[name]
    k, nodes = make(g), np.arange(g.n)
    expected = function(g.laplacian().reshape(g.n, g.n)) if g.n else np.zeros((0, 0))
    np.testing.assert_allclose(k(nodes), expected, atol=1e-12)
    np.testing.assert_allclose(k(nodes[::-1], nodes[:1]), expected[::-1, :1], atol=1e-12)
    np.testing.assert_allclose(k.diag(nodes), np.diag(expected), atol=1e-12)
    phi = k.features(nodes)
    np.testing.assert_allclose(phi @ phi.T, expected, atol=1e-12)
    if g.n:
        laws.matrix_is_positive(k, nodes)
        laws.written_form_returns(k)
        laws.parameters_return(k)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nodes_go_through_operators_and_models(name: str) -> None:
    works_in_models(FUNCTIONS[name][0](LADDER), [0, 1, 2, 3], [2, 0])


def test_the_written_form_holds_the_graph() -> None:
    k = mc.kernels.CommuteTime(Graph([(0, 1)], n=3))
    assert repr(k) == "CommuteTime(graph=Graph(edges=[[0, 1]], n=3))"
    assert mc.kernel("commute_time(graph([[1, 0]], n=3))") == k
    assert mc.kernel(
        repr(2.0 * k + mc.kernels.Diffusion(LADDER))
    ) == 2.0 * k + mc.kernels.Diffusion(LADDER)


def test_heat_is_neither_lost_nor_made() -> None:
    K = mc.kernels.Diffusion(LADDER, time=3.0)(range(4))
    np.testing.assert_allclose(K.sum(axis=1), np.ones(4), rtol=1e-14)
    assert np.array_equal(mc.kernels.Diffusion(LADDER, time=0.0)(range(4)).round(14), np.eye(4))


def test_the_distance_of_commute_time_is_the_mean_time_of_a_walk() -> None:
    """A walk from u to v takes h(u) = 1 + Σ p(u, w) h(w) steps, with h(v) = 0."""
    A = LADDER.adjacency().toarray()
    P = A / A.sum(axis=1, keepdims=True)

    def hitting(target: int) -> Array:
        others = [u for u in range(4) if u != target]
        h = np.zeros(4)
        h[others] = np.linalg.solve(np.eye(3) - P[np.ix_(others, others)], np.ones(3))
        return h

    there = np.array([hitting(v) for v in range(4)])
    K = mc.kernels.CommuteTime(LADDER)(range(4))
    squares = np.diag(K)[:, None] + np.diag(K)[None, :] - 2.0 * K
    np.testing.assert_allclose(A.sum() * squares, there + there.T, atol=1e-12)


def test_parts_without_a_way_between_them_are_orthogonal() -> None:
    g = Graph([(0, 1), (2, 3)])
    for make, _ in FUNCTIONS.values():
        assert np.all(np.abs(make(g)([0, 1], [2, 3])) < 1e-15)


@pytest.mark.parametrize("name", ["diffusion", "regularised"])
def test_parameters_have_the_derivatives_of_the_formula(name: str) -> None:
    k: Any = FUNCTIONS[name][0](LADDER)
    nodes = np.arange(4)
    for parameter, partial in k.partials(nodes).items():
        expected = difference_in_parameter(k, parameter, nodes, nodes)
        np.testing.assert_allclose(partial, expected, atol=1e-10)
    assert set(k.partials(nodes)) == set(mc.kernels.parameters(k))


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0, 4], "point 1 is 4, not a node: these are 0 to 3"),
        ([-1], "point 0 is -1, not a node"),
        ([0.5], "point 0 is 0.5, not a node"),
        (np.array([np.nan]), "point 0 is nan, not a node"),
        (["a"], "must be numbers of nodes from 0 to 3"),
        ([[0, 1]], "must be numbers of nodes from 0 to 3"),
    ],
)
def test_points_that_are_no_nodes_are_named(points: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        mc.kernels.Diffusion(LADDER)(points)


@pytest.mark.parametrize(
    "make",
    [
        lambda: mc.kernels.Diffusion(LADDER, time=-1.0),
        lambda: mc.kernels.RegularisedLaplacian(LADDER, scale=-1.0),
        lambda: mc.kernels.CommuteTime(Graph([(0, 1)], directed=True)),
        lambda: mc.kernels.CommuteTime(Graph([(0, 1)], weights=[-1.0])),
        lambda: mc.kernels.CommuteTime(3),  # type: ignore[arg-type]
    ],
)
def test_parameters_outside_their_domain_are_refused(make: Callable[[], mc.Kernel]) -> None:
    with pytest.raises(mc.errors.MercerError):
        make()


def test_the_graph_may_be_given_as_a_matrix() -> None:
    matrix: Any = LADDER.adjacency().toarray()
    assert mc.kernels.CommuteTime(matrix) == mc.kernels.CommuteTime(
        Graph(LADDER.edges, weights=LADDER.weights)
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_matrices_are_symmetric_to_the_last_digit(name: str) -> None:
    g = Graph([(0, 1), (0, 2), (2, 4), (3, 5), (4, 5)], weights=[0.1, 2.5, 0.3, 0.2, 0.1])
    K = FUNCTIONS[name][0](g)(range(6))
    assert np.array_equal(K, K.T)
