"""Random strings and graphs, and the laws that kernels on them obey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import mercer as mc
from tests import laws


def words(letters: str = "abc", most: int = 8) -> st.SearchStrategy[list[str]]:
    return st.lists(st.text(alphabet=letters, max_size=most), min_size=1, max_size=5)


@st.composite
def graphs(
    draw: st.DrawFn,
    nodes: int | None = None,
    labels: str = "ab",
    weighted: bool = False,
    directed: bool = False,
) -> mc.Graph:
    n = draw(st.integers(0, 6)) if nodes is None else nodes
    all_pairs = [(u, v) for u in range(n) for v in range(n) if u < v or (directed and u != v)]
    edges = draw(st.lists(st.sampled_from(all_pairs), unique=True)) if all_pairs else []
    names = draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n)) if labels else None
    # Multiples of 1/4 add up without rounding, so that lengths of paths can be compared.
    eighths = st.integers(1, 8).map(lambda i: i / 4.0)
    weights = draw(st.lists(eighths, min_size=len(edges), max_size=len(edges)))
    return mc.Graph(edges, names, weights if weighted else None, n, directed)


def many(graph: st.SearchStrategy[mc.Graph]) -> st.SearchStrategy[list[mc.Graph]]:
    return st.lists(graph, min_size=1, max_size=5)


def obeys_the_laws(k: mc.Kernel, x: Sequence[Any]) -> None:
    """Assert what every kernel on points that are not vectors has to satisfy."""
    laws.matrix_is_hermitian(k, x, x[::-1])
    laws.matrix_is_positive(k, x)
    laws.diagonal_is_the_matrix_diagonal(k, x)
    laws.slices_are_blocks(k, x)
    laws.normalisation_has_unit_diagonal(k, x)
    laws.written_form_returns(k)
    laws.parameters_return(k)
    K = k(x)
    assert np.array_equal(K, K.T)
    for i, point in enumerate(x):  # alone as in a batch, and as a point that is new
        laws.agree(k([point], x), K[i : i + 1], scale=K)


def works_in_models(k: mc.Kernel, x: Sequence[Any], new: Sequence[Any]) -> None:
    """Assert that the operator and kernel principal components take the points as they are."""
    laws.agree(mc.Gram(k, x, tile=2).dense(), k(x))
    model = mc.KernelPCA(2, kernel=k).fit(x)
    laws.agree(model.transform(x), model.fit_transform(x))
    together = model.transform(new)
    assert np.all(np.isfinite(together))
    for point, coordinates in zip(new, together, strict=True):
        laws.agree(model.transform([point])[0], coordinates)
    assert mc.check_kernel(k, x)
