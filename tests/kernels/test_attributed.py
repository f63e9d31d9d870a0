from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer as mc
from tests.structures import graphs, obeys_the_laws, works_in_models


@st.composite
def attributed(draw: st.DrawFn) -> mc.Graph:
    plain = draw(graphs(weighted=True))
    numbers = st.integers(-4, 4).map(lambda i: i / 2.0)
    rows = draw(st.lists(st.tuples(numbers, numbers), min_size=plain.n, max_size=plain.n))
    values = np.array(rows).reshape(plain.n, 2)
    return mc.Graph(plain.edges, plain.labels, plain.weights, plain.n, attributes=values)


def by_definition(k: mc.kernels.ContinuousWeisfeilerLehman, g: mc.Graph, h: mc.Graph) -> float:
    """The sum of the docstring, node by node."""

    def levels(graph: mc.Graph) -> list[Any]:
        found = [np.array(graph.attributes)]
        A = graph.adjacency().toarray()
        for _ in range(k.depth):
            a = found[-1]
            new = [
                0.5 * (a[u] + (A[u] @ a / A[u].sum() if A[u].any() else a[u]))
                for u in range(graph.n)
            ]
            found.append(np.array(new))
        return found

    if 0 in (g.n, h.n):
        return 0.0
    names = [graph.labels or [None] * graph.n for graph in (g, h)]
    alike = np.array([[a == b for b in names[1]] for a in names[0]])
    return sum(
        float(k.kernel(a, b)[alike].sum()) for a, b in zip(levels(g), levels(h), strict=True)
    )


KERNELS = [
    mc.kernels.ContinuousWeisfeilerLehman(0, mc.Gaussian(1.0)),
    mc.kernels.ContinuousWeisfeilerLehman(2, mc.Gaussian((0.5, 2.0))),
    mc.kernels.ContinuousWeisfeilerLehman(1, mc.Linear() + 0.5),
]


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@settings(max_examples=15)
@given(x=st.lists(attributed(), min_size=1, max_size=3))
def test_it_is_the_sum_of_the_definition(
    k: mc.kernels.ContinuousWeisfeilerLehman, x: list[mc.Graph]
) -> None:
    expected = [[by_definition(k, g, h) for h in x] for g in x]
    np.testing.assert_allclose(k(x), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("k", KERNELS[:2], ids=repr)
@settings(max_examples=15)
@given(x=st.lists(attributed(), min_size=1, max_size=3))
def test_it_obeys_the_laws(k: mc.Kernel, x: list[mc.Graph]) -> None:
    obeys_the_laws(k, x)


@settings(max_examples=15)
@given(attributed(), st.data())
def test_names_of_nodes_do_not_matter(g: mc.Graph, data: st.DataObject) -> None:
    other = g.relabelled(data.draw(st.permutations(range(g.n))))
    K = KERNELS[1]([g, other])
    np.testing.assert_allclose(K, K[0, 0], rtol=1e-12, atol=1e-12)


def drawn(count: int) -> list[mc.Graph]:
    rng = np.random.default_rng(0)
    upper = np.column_stack(np.triu_indices(6, 1))
    return [
        mc.Graph(upper[rng.random(15) < 0.4], n=6, attributes=rng.normal(i % 2, 1.0, (6, 2)))
        for i in range(count)
    ]


def test_it_goes_through_operators_and_models() -> None:
    x = drawn(7)
    works_in_models(KERNELS[1], x[:5], x[5:])
    k = mc.kernels.ContinuousWeisfeilerLehman(1)
    model = mc.KernelPCA(2, kernel=k).fit(x)
    assert isinstance(model.kernel_.parameters()["kernel__bandwidth"], float)
    assert mc.check_kernel(k, x)
    assert np.array_equal(np.diag(KERNELS[1].normalised()(x)), np.ones(7))
    assert k.normalised().resolve(x)([mc.Graph([])]).tolist() == [[1.0]]


def test_mistakes_are_named() -> None:
    k = KERNELS[0]
    with pytest.raises(mc.errors.InvalidInput, match="point 1: its nodes have no attributes"):
        k([drawn(1)[0], mc.Graph([(0, 1)])])
    with pytest.raises(mc.errors.InvalidInput, match="point 1: its nodes have 1 of them"):
        k([drawn(1)[0], mc.Graph([(0, 1)], attributes=[1.0, 2.0])])
    with pytest.raises(mc.errors.InvalidInput, match="positive weights"):
        k([mc.Graph([(0, 1)], weights=[-1.0], attributes=[1.0, 2.0])])
    with pytest.raises(mc.errors.NotPositiveDefinite):
        mc.kernels.ContinuousWeisfeilerLehman(1, mc.kernels.NegativeDistance())
    with pytest.raises(mc.errors.InvalidParameter):
        mc.kernels.ContinuousWeisfeilerLehman(-1)
