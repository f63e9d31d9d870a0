"""Mistakes of other libraries on graphs and strings, which this one must not repeat."""

from __future__ import annotations

import numpy as np
import pytest

import mercer as mc

KERNELS: list[mc.Kernel] = [
    mc.kernels.WeisfeilerLehman(3),
    mc.kernels.ShortestPath(),
    mc.kernels.EdgeHistogram(),
    mc.kernels.VertexHistogram(),
    mc.kernels.Graphlets(),
    mc.kernels.Propagation(2),
    mc.kernels.RandomWalk(0.5),
    mc.kernels.ExponentialWalk(0.5),
]
POINT, EDGELESS, NOTHING = mc.Graph([], n=1), mc.Graph([], n=3), mc.Graph([])
PATH, RING = mc.Graph([(0, 1), (1, 2)]), mc.Graph([(0, 1), (1, 2), (2, 0)])


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_normalised_graphs_without_edges_are_no_row_of_nan(k: mc.Kernel) -> None:
    """GraKeL's normalised shortest paths of a graph with one node are NaN (#6)."""
    x = [POINT, PATH, EDGELESS, NOTHING]
    K = k.normalised()(x)
    assert np.all(np.isfinite(K))
    assert np.linalg.eigvalsh(K)[0] > -1e-14
    is_zero = k.diag(x) == 0
    assert np.array_equal(K[np.ix_(is_zero, is_zero)], np.ones((is_zero.sum(),) * 2))
    assert np.all(K[np.ix_(is_zero, ~is_zero)] == 0.0)


def test_walks_that_do_not_converge_are_refused() -> None:
    """GraKeL's random walks diverge: k(G, G) = -1, or NaN (#8, #81)."""
    complete = mc.Graph([(u, v) for u in range(9) for v in range(u)])
    K = mc.kernels.RandomWalk(0.999)([complete, PATH])
    assert np.all(np.linalg.eigvalsh(K) > 0)
    for decay in (1.0, 1.5, -0.1):
        with pytest.raises(mc.errors.InvalidParameter):
            mc.kernels.RandomWalk(decay)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_normalised_diagonals_are_one(k: mc.Kernel) -> None:
    """GraKeL's normalised diagonals are less than 1 (#94)."""
    x = [PATH, RING, POINT, mc.Graph([(u, u + 1) for u in range(20)], labels="abc" * 7)]
    assert np.array_equal(np.diag(k.normalised()(x)), np.ones(4))
    assert np.array_equal(k.normalised().diag(x), np.ones(4))


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_what_can_be_fitted_can_be_transformed(k: mc.Kernel) -> None:
    """GraKeL's edge kernels raise a TypeError in transform (#95, #97)."""
    labelled = [mc.Graph(g.edges, "abc", n=3) for g in (PATH, RING, mc.Graph([(0, 2)], n=3))]
    larger = mc.Graph([(u, v) for u in range(6) for v in range(u)], labels="ababab")
    model = mc.KernelPCA(1, kernel=k).fit([*labelled, EDGELESS, larger])
    together = model.transform([*labelled, mc.Graph([(0, 1)], labels="zz")])
    for graph, row in zip(labelled, together, strict=False):
        np.testing.assert_allclose(model.transform([graph])[0], row, atol=1e-12)


def test_gram_matrices_of_strings_are_symmetric_and_count_no_end_of_line() -> None:
    """GaKCo's are not (#8), and kernlab appends a newline to each string, and counts it."""
    x = ["abcab", "bca", "aaaa", ""]
    for k in (
        mc.kernels.MismatchSpectrum(3, 1, "abc"),
        mc.kernels.GappySpectrum(2, 1),
        mc.kernels.StringSpectrum(1),
    ):
        K = k(x)
        assert np.array_equal(K, K.T)
    assert mc.kernels.StringSpectrum(1)(["a"], ["b"])[0, 0] == 0.0
    assert mc.kernels.StringSpectrum(1)([""])[0, 0] == 0.0
