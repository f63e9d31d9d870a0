"""Permutation tests, the bootstrap and studies of replicates, each draw a task of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.engines import blocks
from mercer.engines import cluster as module
from mercer.engines.cluster import Cluster, on_cluster
from mercer.errors import ClusterFailed
from mercer.networks import infer_network

pytest.importorskip("distributed")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 4)) * [3.0, 2.0, 1.0, 0.3]
Y = X[:, :2] + RNG.standard_normal((120, 2))
MANY = np.vstack([X, X + 0.1, X[::-1]]) + 1e-3 * RNG.standard_normal((360, 4))
LABELS = np.repeat(["a", "b"], 60)
KERNEL = mc.Gaussian(2.0)
COLUMNS = {"number": Y[:, 0], "label": LABELS}
FLAT, CURVED = mc.PCA(2).fit(X), mc.KernelPCA(2, kernel=KERNEL).fit(X)
LANDMARKED = mc.KernelPCA(2, kernel=KERNEL).fit(MANY)
CORRELATED = mc.KernelCCA(1, kernels=(KERNEL, KERNEL)).fit(X, Y)

Study = Callable[..., Any]

STUDIES: dict[str, Study] = {
    "PERMANOVA of rows": lambda **k: mc.permanova(X, LABELS, permutations=49, **k).null,
    "PERMANOVA of a kernel": lambda **k: mc.permanova(CURVED, LABELS, permutations=49, **k).null,
    "PERMANOVA of tiles": lambda **k: mc.permanova((KERNEL, X), LABELS, permutations=49, **k).null,
    "dispersion": lambda **k: mc.dispersion(X, LABELS, permutations=49, **k).null,
    "importance by covariances": lambda **k: (
        mc.permutation_importance(FLAT, permutations=20, **k).shares
    ),
    "importance by a matrix": lambda **k: (
        mc.permutation_importance(CURVED, permutations=20, **k).shares
    ),
    "importance by landmarks": lambda **k: (
        mc.permutation_importance(LANDMARKED, permutations=20, **k).shares
    ),
    "fitted variables": lambda **k: mc.fit_variables(FLAT, Y, permutations=49, **k).p_values,
    "Procrustes": lambda **k: mc.procrustes(FLAT, CURVED, permutations=49, **k).null,
    "HSIC": lambda **k: mc.hsic(KERNEL, KERNEL, X, Y, permutations=49, **k).null,
    "RV": lambda **k: mc.rv(X, Y, permutations=49, **k).null,
    "alignment": lambda **k: mc.alignment(KERNEL, KERNEL, X, Y, permutations=49, **k).null,
    "mean discrepancy": lambda **k: (
        mc.mean_discrepancy(KERNEL, X[:60], X[60:], permutations=49, **k).null
    ),
    "kernels compared": lambda **k: np.stack(
        [
            pair.null
            for pair in mc.compare_kernels(
                {"a": KERNEL, "b": mc.Linear()}, X, permutations=49, **k
            ).pairs
        ]
    ),
    "canonical correlations": lambda **k: CORRELATED.p_value(49, **k),
    "axes described": lambda **k: [
        link.p_value
        for axis in mc.describe_axes(CURVED, COLUMNS, permutations=49, **k).axes
        for link in axis.links
    ],
    "parallel analysis": lambda **k: mc.parallel_analysis(X, 99, **k).null,
    "parallel analysis of a kernel": lambda **k: mc.parallel_analysis(CURVED, 19, **k).null,
    "number of axes": lambda **k: vars(mc.choose_dimension(FLAT, "horn", permutations=49, **k))[
        "null"
    ],
    "bootstrap": lambda **k: mc.bootstrap(mc.PCA(2), X, replicates=40, **k).cos2,
    "bootstrap of a kernel": lambda **k: (
        mc.bootstrap(mc.KernelPCA(2, kernel=KERNEL), X[:60], replicates=20, **k).cos2
    ),
    "replicates": lambda **k: mc.replicate_study(X, LABELS, draws=6, samples=60, **k).curve.scatter,
    "edges of a network": lambda **k: infer_network(X, "partial", draws=20, **k).low,
}


@pytest.mark.parametrize("name", STUDIES)
def test_draws_are_tasks_and_their_numbers_those_of_threads(
    client: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, told = list[Any](), list[tuple[int, int]]()

    def task(client: Any, function: Any, *args: Any) -> Any:
        asked.append(function)
        return blocks.task(client, function, *args)

    def tell(done: int, total: int) -> None:
        told.append((done, total))

    monkeypatch.setattr(module, "task", task)
    here = STUDIES[name](random_state=0)
    assert not asked
    with on_cluster(client):
        there = STUDIES[name](random_state=0, progress=tell)
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-12)
    assert module._done in asked
    assert told[-1][0] == told[-1][1]


def test_a_model_that_was_fitted_there_is_tested_there(client: Any) -> None:
    """Its client stays in this process: a task multiplies with a core of its own."""
    model = mc.KernelPCA(2, kernel=KERNEL, method="exact", engine=client).fit(X)
    with on_cluster(client):
        there = mc.permanova(model, LABELS, permutations=19, random_state=0).f
    here = mc.permanova(CURVED, LABELS, permutations=19, random_state=0).f
    np.testing.assert_allclose(there, here, rtol=1e-8)


def test_what_cannot_leave_this_process_is_named(client: Any) -> None:
    lock = Lock()
    with pytest.raises(ClusterFailed, match=r"cannot be sent to the workers: TypeError.*lock"):
        list(Cluster(client).in_order(lambda item, _: lock.locked(), [0]))
