"""Models on a cluster: the numbers of threads, a client that stays small, and ends by name."""

from __future__ import annotations

import os
import signal
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.engines import blocks
from mercer.engines.cluster import Cluster
from mercer.errors import ClusterFailed, InvalidInput

distributed: Any = pytest.importorskip("distributed")
dask_array: Any = pytest.importorskip("dask.array")
dask_frame: Any = pytest.importorskip("dask.dataframe")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 4)) * [3.0, 2.0, 1.0, 0.3]
Y = np.sin(X[:, 0]) + 0.1 * RNG.standard_normal(400)
LABELS = np.where(X[:, 0] + X[:, 1] > 0, "a", "b")
NEW = RNG.standard_normal((30, 4))
KERNEL = mc.Gaussian(2.0)
WORDS = ["".join(RNG.choice(list("abc"), 12)) for _ in range(90)]
GRAPHS = [mc.Graph([(0, 1), (1, 2)], labels=list(word[:3])) for word in WORDS]

Model = Callable[..., Any]

MODELS: dict[str, Model] = {
    "regression": lambda **k: mc.KernelRegression(KERNEL, 1e-3, **k).fit(X, Y).predict(NEW),
    "regression on landmarks": lambda **k: (
        mc.KernelRegression(KERNEL, 1e-3, landmarks=50, **k).fit(X, Y).predict(NEW)
    ),
    "logistic regression": lambda **k: (
        mc.KernelRegression(KERNEL, 1e-2, loss="logistic", **k)
        .fit(X, np.where(LABELS == "a", 1.0, -1.0))
        .predict(NEW)
    ),
    "Gaussian process": lambda **k: (
        mc.GaussianProcess(KERNEL, noise_variance=0.01, optimise=False, **k).fit(X, Y).predict(NEW)
    ),
    "support vectors": lambda **k: mc.SVC(KERNEL, **k).fit(X, LABELS).decision_function(NEW),
    "support vector regression": lambda **k: mc.SVR(KERNEL, **k).fit(X, Y).predict(NEW),
    "one class": lambda **k: mc.OneClassSVM(KERNEL, **k).fit(X).decision_function(NEW),
    "canonical correlations": lambda **k: (
        mc.KernelCCA(1, kernels=(KERNEL, KERNEL), **k).fit(X, X[:, :2]).correlations_
    ),
    "scaling": lambda **k: mc.ClassicalMDS(2, metric="euclidean", **k).fit(X).eigenvalues_[:2],
    "features on landmarks": lambda **k: np.abs(
        mc.NystromFeatures(20, kernel=KERNEL, random_state=0, **k).fit(X).transform(NEW)
    ),
    "Nyström": lambda **k: (
        mc.KernelPCA(2, kernel=KERNEL, method="nystrom", landmarks=60, random_state=0, **k)
        .fit(X)
        .transform(NEW)
    ),
    "axes of texts": lambda **k: (
        mc.KernelPCA(2, kernel=mc.kernels.StringSpectrum(2), random_state=0, **k)
        .fit(WORDS)
        .transform(WORDS[:9])
    ),
    "axes of texts by a slow kernel": lambda **k: (
        mc.KernelPCA(2, kernel=mc.kernels.LocalAlignment(), random_state=0, **k)
        .fit(WORDS[:40])
        .inertias_
    ),
    "axes of graphs": lambda **k: (
        mc.KernelPCA(2, kernel=mc.kernels.WeisfeilerLehman(1), random_state=0, **k)
        .fit(GRAPHS)
        .transform(GRAPHS[:9])
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_with_an_engine_gives_the_numbers_of_threads(client: Any, name: str) -> None:
    here, there = MODELS[name](threads=1), MODELS[name](engine=Cluster(client, rows=150))
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-5 * np.abs(here).max())


def test_progress_of_a_fit_is_told(client: Any) -> None:
    told: list[tuple[int, int]] = []
    model = mc.KernelPCA(2, kernel=KERNEL, method="exact", engine=client, random_state=0)
    model.fit(X, progress=lambda done, total: told.append((done, total)))
    assert told
    assert all(0 < done <= total for done, total in told)


def made_there(n: int) -> Any:
    """Return rows that the workers make, and nobody else."""
    rows = dask_array.random.default_rng(0).standard_normal((n, 50), chunks=(5_000, 50))
    return rows * np.linspace(3.0, 0.3, 50)


COLLECTIONS: dict[str, Callable[[int], Any]] = {
    "an array": made_there,
    "a data frame": lambda n: dask_frame.from_dask_array(
        made_there(n), columns=[f"v{j}" for j in range(50)]
    ),
}


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.usefixtures("client")
def test_a_collection_is_never_in_the_memory_of_the_client(name: str) -> None:
    """Of 32 MB the coordinates that are asked for are 1.3, and a data frame's names of rows 6."""
    mc.PCA(2).fit(COLLECTIONS[name](5_000))  # what is loaded once is not its cost
    data = COLLECTIONS[name](80_000)
    tracemalloc.start()
    try:
        model = mc.PCA(2).fit(data)
        scores = model.individuals_.coordinates
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert scores.shape == (80_000, 2)
    assert peak < 16e6


def test_a_tile_that_always_fails_is_tried_three_times(client: Any, tmp_path: Path) -> None:
    """Here it does not, and so it is found out by the workers, in the middle of a fit."""
    here, place = os.getpid(), tmp_path / "tries"

    def poison(a: str, b: str) -> float:
        if os.getpid() != here:
            with place.open("a") as file:
                print("x", file=file)
            raise ZeroDivisionError("poison")
        return float(sum(c == d for c, d in zip(a, b, strict=True)))

    model = mc.KernelPCA(2, kernel=poison, engine=Cluster(client, rows=90))
    with pytest.raises(InvalidInput, match="failed on the points 0 and 0.*poison"):
        model.fit(WORDS)
    assert place.read_text().count("x") == blocks.TRIES


def test_ctrl_c_leaves_the_cluster_at_work_for_others(client: Any) -> None:
    rows = RNG.standard_normal((12_000, 20))
    model = mc.KernelPCA(30, kernel=mc.Gaussian(4.0), method="exact", engine=client)
    model.fit(X)
    begun = list[float]()
    # Of tests that a shell began in the background, Ctrl-C would go unheard.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def stop(done: int, total: int) -> None:
        if 0 < done < total and not begun:  # in the middle of a pass, which is at work elsewhere
            begun.append(monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(rows, progress=stop)
    finally:
        signal.signal(signal.SIGINT, before)
    assert monotonic() - begun[0] < 20.0  # on a machine that is busy; 2 s on one that is not
    vectors = np.ones((400, 2))
    there = mc.Gram(KERNEL, X, engine=Cluster(client)).product(vectors)
    np.testing.assert_allclose(there, mc.Gram(KERNEL, X).product(vectors), rtol=0, atol=1e-9)


def test_a_client_that_was_active_and_is_closed_is_none(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = distributed.Client(client.scheduler.address, set_as_default=False)
    closed.close()
    monkeypatch.setattr(distributed, "get_client", lambda: closed)
    with pytest.raises(ClusterFailed, match="is closed"):
        mc.KernelPCA(2, kernel=KERNEL, engine="dask").fit(X)
