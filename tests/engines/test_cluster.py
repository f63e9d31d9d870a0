"""The engine of clusters, on two processes of this machine."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import mercer as mc
from mercer.engines import blocks, cluster_tasks
from mercer.engines import cluster as module
from mercer.engines.blocks import Partitioned
from mercer.engines.cluster import Cluster
from mercer.engines.cluster_cost import Workers, cluster_cost
from mercer.engines.cpu import Core, Threads
from mercer.engines.tiles import Side
from mercer.errors import ClusterFailed, InvalidInput, InvalidParameter, NotStorable
from mercer.spectrum import exact
from mercer.spectrum.room import in_file, needed_bytes

dask: Any = pytest.importorskip("dask")
distributed: Any = pytest.importorskip("distributed")
dask_array: Any = pytest.importorskip("dask.array")
dask_frame: Any = pytest.importorskip("dask.dataframe")

from tests.machines import LONGEST, no_longer_than, started  # noqa: E402

N = 1200
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 4)) * [3.0, 2.0, 1.0, 0.3]
V = RNG.standard_normal((N, 3))
KERNEL = mc.Gaussian(2.0)
WORDS = ["".join(RNG.choice(list("abc"), 12)) for _ in range(90)]


@pytest.mark.parametrize(("rows", "single"), [(None, False), (400, True), (701, False)])
def test_products_are_those_of_threads_for_every_chunking(
    client: Any, rows: int | None, single: bool
) -> None:
    engine = Cluster(client, rows=rows)
    for y in (None, X[:600]):
        vectors = V if y is None else V[:600]
        exact = mc.Gram(KERNEL, X, y, engine=Threads(1)).product(vectors)
        gram = mc.Gram(KERNEL, X, y, engine=engine)
        found = gram.product(vectors, single=single)
        bound = gram.entry_rounding(single=single).product + gram.entry_rounding().product
        assert np.all(np.abs(found - exact) <= bound * np.abs(vectors).sum(axis=0))


FEW = X[:24]


def chunked(kind: str, cuts: list[int], across: list[int]) -> Any:
    """Return the few rows in chunks between cuts, of columns too; where two are alike, of none."""
    rows, columns = (
        tuple(int(size) for size in np.diff([0, *sorted(at), whole]))
        for at, whole in zip((cuts, across), FEW.shape, strict=True)
    )
    if kind == "array":
        return dask_array.from_array(FEW, chunks=(rows, columns))
    import pandas

    table = pandas.DataFrame(FEW, columns=list("abcd"))
    ends = np.cumsum(rows)
    parts = [table.iloc[stop - size : stop] for size, stop in zip(rows, ends, strict=True)]
    return dask_frame.from_delayed([dask.delayed(part) for part in parts], meta=table[:0])


CHUNKS = {
    "kind": st.sampled_from(["array", "frame"]),
    "cuts": st.lists(st.integers(0, len(FEW)), max_size=8),
    "across": st.lists(st.integers(1, 3), max_size=3),
    "rows": st.integers(1, len(FEW)),
}
ONE_EACH = list(range(1, len(FEW)))
few_examples = settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@few_examples
@given(**CHUNKS)
@example(kind="array", cuts=ONE_EACH, across=[], rows=7)
@example(kind="array", cuts=[0, 0, 10, 10, 24], across=[1, 3], rows=24)
@example(kind="frame", cuts=[0, 7, 7, 24], across=[], rows=5)
@example(kind="frame", cuts=ONE_EACH, across=[], rows=1)
def test_any_chunks_give_the_product_and_the_axes_of_threads(
    client: Any, kind: str, cuts: list[int], across: list[int], rows: int
) -> None:
    """Cut by rows, by columns or both, in chunks of any sizes, also of no row; and any blocks."""
    check_chunks(client, chunked(kind, cuts, across), rows)


@pytest.mark.slow
@settings(few_examples, max_examples=200)
@given(**CHUNKS)
def test_very_many_chunks_give_the_product_and_the_axes_of_threads(
    client: Any, kind: str, cuts: list[int], across: list[int], rows: int
) -> None:
    with no_longer_than(6 * LONGEST):
        check_chunks(client, chunked(kind, cuts, across), rows)


def check_chunks(client: Any, data: Any, rows: int) -> None:
    vectors = V[: len(FEW)]
    here = mc.Gram(KERNEL, FEW, engine=Threads(1)).product(vectors)
    for points in (data, FEW):
        gram = mc.Gram(KERNEL, points, engine=Cluster(client, rows=rows))
        bound = 2.0 * gram.entry_rounding().product * np.abs(vectors).sum(axis=0)
        assert np.all(np.abs(gram.product(vectors) - here) <= bound)
    there, known = mc.PCA(3).fit(data), mc.PCA(3).fit(FEW)
    np.testing.assert_allclose(there.inertias_, known.inertias_, rtol=1e-12)
    np.testing.assert_allclose(
        there.individuals_.coordinates, known.individuals_.coordinates, rtol=0, atol=1e-11
    )


def test_sums_of_squares_and_weights_are_those_of_threads(client: Any) -> None:
    weights = RNG.random(N)
    here = mc.Gram(KERNEL, X, engine=Threads(1)).product_and_squares(V, weights)
    there = mc.Gram(KERNEL, X, engine=Cluster(client, rows=400)).product_and_squares(V, weights)
    np.testing.assert_allclose(there[0], here[0], rtol=0, atol=1e-11)
    assert there[1] == pytest.approx(here[1], rel=1e-12)


def test_points_that_are_too_many_to_be_held_are_fetched_block_by_block(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = mc.Gram(KERNEL, X.copy(), engine=Cluster(client, rows=300)).product(V)
    monkeypatch.setattr(blocks, "MOST_HELD", 0)
    engine = Cluster(client, rows=300)
    gram = mc.Gram(KERNEL, X, engine=engine)
    assert np.array_equal(gram.product(V), held)
    assert {value for _, _, value in engine.placed(gram.x).at_homes(client)} == {None}


def test_the_same_chunks_give_the_same_digits(client: Any) -> None:
    once, again = (
        mc.Gram(KERNEL, X, engine=Cluster(client, rows=300)).product(V) for _ in range(2)
    )
    assert np.array_equal(once, again)


POINTS: dict[str, tuple[Any, Any]] = {
    "not of products": (mc.kernels.Periodic(3.0, 1.0), X[:500]),
    "recomputed distances": (mc.Gaussian(1e-3), X[:500]),
    "words by a slow kernel": (mc.kernels.LocalAlignment(), WORDS[:40]),
    "words by their counts": (mc.kernels.StringSpectrum(2), WORDS),
    "a matrix": (mc.kernels.Precomputed(KERNEL(X[:300])), np.arange(300)),
    "graphs": (
        mc.kernels.WeisfeilerLehman(1),
        [mc.Graph([(0, 1), (1, 2)], labels=list(word[:3])) for word in WORDS],
    ),
    "sets": (mc.kernels.Intersection(), [set(word) for word in WORDS]),
}


@pytest.mark.parametrize("name", POINTS)
def test_points_of_every_kind_are_multiplied(client: Any, name: str) -> None:
    kernel, points = POINTS[name]
    vectors = V[: len(points)]
    here = mc.Gram(kernel, points, engine=Threads(1)).product(vectors)
    there = mc.Gram(kernel, points, engine=Cluster(client, rows=33)).product(vectors)
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-11 * np.abs(here).max())


def test_a_function_of_two_points_is_called_by_the_workers(client: Any, tmp_path: Path) -> None:
    place = tmp_path / "who"

    def alike(a: str, b: str) -> float:
        with place.open("a") as file:
            print(os.getpid(), file=file)
        return float(sum(c == d for c, d in zip(a, b, strict=True)))

    model = mc.KernelPCA(2, kernel=alike, engine=Cluster(client, rows=20)).fit(WORDS[:40])
    here = mc.KernelPCA(2, kernel=alike).fit(WORDS[:40])
    np.testing.assert_allclose(model.inertias_, here.inertias_, rtol=1e-10)
    called = set(place.read_text().split())
    assert {str(pid) for pid in client.run(os.getpid).values()} & called


def arrays(**options: Any) -> Any:
    return dask_array.from_array(X, **options)


def frame() -> Any:
    import pandas

    return dask_frame.from_pandas(pandas.DataFrame(X, columns=list("abcd")), npartitions=7)


DATA: dict[str, Callable[[], Any]] = {
    "rows of an array": lambda: X,
    "chunks by rows and columns": lambda: arrays(chunks=(370, 3)),
    "chunks of one row each and the rest": lambda: arrays(chunks=((1, N - 2, 1), 2)),
    "unknown lengths": lambda: (a := arrays(chunks=(500, 4)))[a[:, 0] < np.inf],
    "a data frame": frame,
}


@pytest.mark.parametrize(
    ("name", "method"), [*((name, "exact") for name in DATA), ("a data frame", "nystrom")]
)
def test_axes_are_those_of_threads(
    client: Any, name: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = []
    get = Partitioned.__getitem__

    def seen(self: Partitioned, index: Any) -> Any:
        part = get(self, index)
        fetched.append(part.size)
        return part

    monkeypatch.setattr(Partitioned, "__getitem__", seen)
    options: dict[str, Any] = {"method": method, "landmarks": 200, "random_state": 0}
    kernel = mc.Gaussian("median")
    here = mc.KernelPCA(3, kernel=kernel, **options).fit(X)
    there = mc.KernelPCA(3, kernel=kernel, engine=client, **options).fit(DATA[name]())
    np.testing.assert_allclose(there.inertias_, here.inertias_, rtol=1e-9)
    scores = there.individuals_.coordinates
    np.testing.assert_allclose(scores, here.individuals_.coordinates, rtol=0, atol=1e-7)
    new = frame().partitions[0] if "frame" in name else X[:200]
    known = here.transform(X[: len(new)])
    projected = there.transform(new if "frame" in name else dask_array.from_array(new, chunks=90))
    assert type(projected) is np.ndarray  # it is computed, and no collection
    np.testing.assert_allclose(projected, known, rtol=0, atol=1e-7)
    assert sum(fetched) < X.size / 4


def test_names_of_a_data_frame_stay_with_the_model(client: Any) -> None:
    model = mc.KernelPCA(2, kernel=mc.Linear(), engine="dask").fit(frame())
    assert model.get_feature_names_out().tolist() == ["kernelpca0", "kernelpca1"]
    assert model.variables_.names == ("a", "b", "c", "d")
    here = mc.PCA(2).fit(X)
    np.testing.assert_allclose(model.inertias_, here.inertias_, rtol=1e-10)
    with pytest.raises(NotStorable, match="cluster"):
        model.save("never.mercer")
    assert not Path("never.mercer").exists()


def test_names_of_rows_are_those_of_one_machine(client: Any) -> None:
    """They come from the partitions as these were computed, and only where they name somebody."""
    import pandas

    table = pandas.DataFrame(X, columns=list("abcd"))
    for known in (table, table[table.a > 0.0], table.set_index("w" + table.index.astype(str))):
        data = dask_frame.from_pandas(known, npartitions=5, sort=False)
        for model in (mc.PCA(2), mc.KernelPCA(2, kernel=KERNEL, engine=client)):
            here = mc.PCA(2).fit(known).individuals_.names
            assert model.fit(data).individuals_.names == here


def test_a_collection_is_computed_once(client: Any, tmp_path: Path) -> None:
    place = tmp_path / "who"

    def noted(part: Any) -> Any:
        with place.open("a") as file:
            print(len(part), file=file)
        return part

    data = frame().map_partitions(noted, meta=frame()._meta)
    named = data[data.a > -1e9]
    for model in (mc.PCA(2), mc.KernelPCA(2, kernel=KERNEL, engine=client)):
        place.write_text("")
        model.fit(named)
        assert len(place.read_text().split()) == 7


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pandas, which Dask calls
def test_a_parquet_dataset_of_dask_is_taken_as_it_is(client: Any, tmp_path: Path) -> None:
    """Dask makes other partitions of it than it says that there are."""
    pytest.importorskip("pyarrow")
    frame().to_parquet(tmp_path / "points")
    data = dask_frame.read_parquet(tmp_path / "points")
    for model in (mc.PCA(2), mc.KernelPCA(2, kernel=KERNEL, engine=client)):
        here = model.__class__(**model.get_params(deep=False) | {"n_components": 2})
        if hasattr(here, "engine"):
            here.engine = "auto"
        found, known = model.fit(data), here.fit(X)
        np.testing.assert_allclose(found.inertias_, known.inertias_, rtol=1e-9)


def test_targets_and_weights_of_a_collection_are_computed(client: Any) -> None:
    y, weights = np.sin(X[:, 0]), np.arange(1.0, N + 1.0)
    there = {"X": arrays(chunks=370), "sample_weight": dask_array.from_array(weights, chunks=500)}
    here = {"X": X, "sample_weight": weights}
    models: list[tuple[Any, Any]] = [
        (mc.KernelRegression(KERNEL, penalty=1e-3), y),
        (mc.KernelPCA(2, kernel=KERNEL, random_state=0), None),
    ]
    for model, target in models:
        lazy = None if target is None else dask_array.from_array(target, chunks=700)
        known = clone(model).fit(y=target, **here)
        found = clone(model).set_params(engine=client).fit(y=lazy, **there)
        ask = "transform" if target is None else "predict"
        np.testing.assert_allclose(
            getattr(found, ask)(X[:9]), getattr(known, ask)(X[:9]), rtol=0, atol=1e-6
        )
    labels = np.where(y > 0.0, "a", "b")
    machine = mc.SVC(KERNEL, engine=client)
    machine.fit(there["X"], dask_array.from_array(labels, chunks=700))
    np.testing.assert_allclose(
        machine.decision_function(X[:9]),
        mc.SVC(KERNEL).fit(X, labels).decision_function(X[:9]),
        rtol=0,
        atol=1e-6,
    )


def test_files_that_workers_see_are_read_by_them(client: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    here = mc.Gram(KERNEL, X, engine=Threads(1)).product(V)
    for points in (mc.open_points(tmp_path / "x.npy"), np.load(tmp_path / "x.npy", mmap_mode="r")):
        engine = Cluster(client, rows=400)
        gram = mc.Gram(KERNEL, points, engine=engine)
        np.testing.assert_allclose(gram.product(V), here, rtol=0, atol=1e-11)
        assert all("_mapped_rows" in f.key for f in engine.placed(gram.x).futures)
    part = np.load(tmp_path / "x.npy", mmap_mode="r")[100:]
    np.testing.assert_allclose(
        mc.Gram(KERNEL, part, engine=Cluster(client, rows=400)).product(V[100:]),
        mc.Gram(KERNEL, X[100:], engine=Threads(1)).product(V[100:]),
        rtol=0,
        atol=1e-11,
    )


def test_files_that_come_into_a_folder_later_move_no_rows(client: Any, tmp_path: Path) -> None:
    for i, part in enumerate(np.array_split(X, 3)):
        np.save(tmp_path / f"part {i}.npy", part)
    points = mc.open_points(tmp_path)
    np.save(tmp_path / "first.npy", np.zeros((50, X.shape[1])))
    engine = Cluster(client, rows=400)
    gram = mc.Gram(KERNEL, points, engine=engine)
    here = mc.Gram(KERNEL, X, engine=Threads(1)).product(V)
    np.testing.assert_allclose(gram.product(V), here, rtol=0, atol=1e-11)
    assert all("_rows_on_disk" in f.key for f in engine.placed(gram.x).futures)


def test_a_parquet_dataset_is_read_by_workers(client: Any, tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for i, part in enumerate(np.array_split(X, 3)):
        table = arrow.table({f"v{j}": column for j, column in enumerate(part.T)})
        parquet.write_table(table, tmp_path / f"part.{i}.parquet", row_group_size=130)
    engine = Cluster(client, rows=400)
    gram = mc.Gram(KERNEL, mc.open_points(tmp_path), engine=engine)
    here = mc.Gram(KERNEL, X, engine=Threads(1))
    np.testing.assert_allclose(gram.product(V), here.product(V), rtol=0, atol=1e-11)
    assert all("_rows_on_disk" in f.key for f in engine.placed(gram.x).futures)
    model = mc.KernelPCA(2, kernel=KERNEL, method="exact", engine=client, random_state=0)
    there = model.fit(mc.open_points(tmp_path)).inertias_
    np.testing.assert_allclose(
        there, model.set_params(engine=Threads(1)).fit(X).inertias_, rtol=1e-8
    )


def test_a_client_that_is_short_of_memory_writes_the_factor_to_a_file(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Block by block, as workers return it."""
    made: list[tuple[int, ...]] = []

    def noting(shape: tuple[int, ...], dtype: Any) -> Any:
        made.append(shape)
        return in_file(shape, dtype)

    monkeypatch.setattr(exact, "in_file", noting)
    monkeypatch.setattr(module, "LIGHT_FACTOR", 0)
    monkeypatch.setattr(module, "FETCHED", 2)
    settings: dict[str, Any] = {"kernel": KERNEL, "method": "exact", "random_state": 0}
    engine = Cluster(client, rows=300)
    short = needed_bytes(N, X.shape[1], 3, engine.count) - 1
    there = mc.KernelPCA(3, engine=Cluster(client, rows=300, memory=short), **settings).fit(X)
    here = mc.KernelPCA(3, engine=Threads(1), **settings).fit(X)
    assert [shape[0] for shape in made] == [N]
    np.testing.assert_allclose(there.inertias_, here.inertias_, rtol=1e-10)


def test_regression_solves_there(client: Any) -> None:
    y = np.sin(X[:, 0])
    model = mc.KernelRegression(KERNEL, penalty=1e-3)
    here = model.fit(X, y).predict(X[:20])
    there = model.set_params(engine=client).fit(X, y).predict(X[:20])
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-6)


def bytes_of_a_pass(client: Any, n: int, block: int) -> tuple[int, int]:
    """Return the bytes that workers send in a pass, as Dask and as the model count them."""
    points, vectors = RNG.standard_normal((n, 40)), RNG.standard_normal((n, block))
    gram = mc.Gram(KERNEL, points, engine=Cluster(client))
    gram.product(vectors)  # which brings the points
    client.amm.run_once()  # as Dask does every other second: copies that nobody waits for go
    sleep(0.5)
    before = sent(client)
    gram.product(vectors)
    machines = Workers(len(client.nthreads()))
    one, none = (cluster_cost(n, 40, block, passes, machines, 1e-9) for passes in (1, 0))
    returned = one.with_client - none.with_client - 8 * n * block
    return sent(client) - before, one.between - none.between + returned


def sent(client: Any) -> int:
    counts = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
    return int(sum(counts.values()))


def test_a_pass_is_as_many_tasks_as_the_model_counts(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What tasks need to know is sent once; vectors of small blocks are sent together."""
    made, many = [0], blocks.tasks

    def counting(*given: Any, **named: Any) -> Any:
        found = many(*given, **named)
        made[0] += len(found)
        return found

    gram = mc.Gram(KERNEL, X.copy(), engine=Cluster(client))
    gram.product(V)
    for place in (blocks, module):
        monkeypatch.setattr(place, "tasks", counting)
    gram.product(V)
    one, none = (cluster_cost(N, 4, 3, passes, Workers(2), 1e-9).tasks for passes in (1, 0))
    assert made[0] == one - none == 3


@pytest.mark.parametrize(("n", "block"), [(4000, 30), (7000, 24)])
def test_workers_send_what_the_model_says(client: Any, n: int, block: int) -> None:
    found, counted = bytes_of_a_pass(client, n, block)
    assert found == pytest.approx(counted, rel=0.05)


def test_progress_counts_the_tasks_of_a_pass(client: Any) -> None:
    told: list[tuple[int, int]] = []
    engine = Cluster(client, rows=400, progress=lambda done, total: told.append((done, total)))
    mc.Gram(KERNEL, X, engine=engine).product(V)
    assert told[-1] == (2, 2)  # a task for each core
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_copies_of_a_model_share_its_cluster(client: Any) -> None:
    model = mc.KernelPCA(2, kernel=KERNEL, engine=client)
    assert clone(model).engine is client


def test_points_of_the_fit_are_sent_once(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []
    cut = Cluster._cut

    def counting(self: Cluster, points: Any) -> Any:
        sent.append(len(points))
        return cut(self, points)

    monkeypatch.setattr(Cluster, "_cut", counting)
    model = mc.KernelPCA(2, kernel=KERNEL, method="exact", engine=client).fit(X)
    for _ in range(2):
        model.transform(X[:100])
    assert sent.count(N) == 1


def test_a_fit_by_workers_that_have_a_device_is_that_of_threads() -> None:
    """The device is torch's own processor: no machine of the tests has a GPU."""
    pytest.importorskip("torch")
    with (
        no_longer_than(),
        started(1, env={cluster_tasks.DEVICE: "cpu"}) as machines,
        distributed.Client(machines, set_as_default=False) as client,
    ):
        assert set(client.run(cluster_tasks.device_there).values()) == {"cpu"}
        models = [
            mc.KernelPCA(3, kernel=KERNEL, method="exact", random_state=0, engine=engine).fit(X)
            for engine in (Cluster(client, rows=500), Threads(1))
        ]
        there, here = (model.transform(X[:50]) for model in models)
    np.testing.assert_allclose(models[0].inertias_, models[1].inertias_, rtol=1e-10)
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-7)


def test_workers_with_a_device_of_torch_compute_on_it(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    weights = RNG.random(N)
    here = mc.Gram(KERNEL, X, engine=Threads(1)).product_and_squares(V, weights)
    assert type(cluster_tasks.engine_there(640)) is Core
    monkeypatch.setenv(cluster_tasks.DEVICE, "cpu")
    cluster_tasks.device_there.cache_clear()
    try:
        engine = cluster_tasks.engine_there(640)
        assert (getattr(engine, "device", ""), getattr(engine, "terms", 0)) == ("cpu", 640)
        tiles = mc.Gram(KERNEL, X, engine=Threads(1)).cut()
        assert tiles.prepared is not None
        like = cluster_tasks.Like(
            tiles.kernel, tiles.prepared.recipe, False, tiles.size, tiles.dtype
        )
        h = 500
        parts = [
            cluster_tasks.product_of_block(like, 0, X[:h], V[:h], weights[:h]),
            cluster_tasks.product_of_pair(
                like, (0, 1), X[:h], X[h:], V[:h], weights[:h], V[h:], weights[h:]
            ),
            cluster_tasks.product_of_block(like, 1, X[h:], V[h:], weights[h:]),
        ]
        products, squares = cluster_tasks.sum_of_parts(parts)
        np.testing.assert_allclose(
            np.vstack([products[0], products[1]]), here[0], rtol=0, atol=1e-11
        )
        assert squares == pytest.approx(here[1], rel=1e-12)
        sides = cluster_tasks.product_of_sides(like, (0, 1), X[:h], X[h:], {1: V[h:]})[0][0]
        np.testing.assert_allclose(sides, KERNEL(X[:h], X[h:]) @ V[h:], rtol=0, atol=1e-11)
    finally:
        cluster_tasks.device_there.cache_clear()


def test_both_sides_of_a_block_are_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pairs it is in; what was made of it is also there for the next pass."""
    tiles = mc.Gram(KERNEL, X, engine=Threads(1)).cut()
    assert tiles.prepared is not None
    like = cluster_tasks.Like(tiles.kernel, tiles.prepared.recipe, False, tiles.size, tiles.dtype)
    made, make = list[int](), Side._made

    def counting(self: Side, points: Any, statistic: Any) -> Any:
        made.append(self.first)
        return make(self, points, statistic)

    monkeypatch.setattr(Side, "_made", counting)
    weights = RNG.random(N)
    points: dict[int, Any] = {0: X[:500].copy(), 1: X[500:].copy()}
    v = {0: V[:500], 1: V[500:]}
    w: dict[int, Any] = {0: weights[:500], 1: weights[500:]}
    for _ in range(2):
        products, squares = cluster_tasks.product_of_share(
            like, [(0, 0), (0, 1), (1, 1)], points, [v], w
        )
    assert sorted(made) == [0, 0, 500, 500]
    here = mc.Gram(KERNEL, X, engine=Threads(1)).product_and_squares(V, weights)
    np.testing.assert_allclose(np.vstack([products[0], products[1]]), here[0], rtol=0, atol=1e-11)
    assert squares == pytest.approx(here[1], rel=1e-12)


@pytest.mark.parametrize("name", ["chunks by rows and columns", "unknown lengths", "a data frame"])
@pytest.mark.parametrize("standardize", [False, True])
def test_pca_of_a_collection_is_computed_where_it_lies(
    client: Any, name: str, standardize: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Partitioned, index: Any) -> Any:
        part = self.future(slice(*index.indices(len(self))[:2]))
        assert len(range(*index.indices(len(self)))) <= 1, "rows were fetched"
        return part.result()

    monkeypatch.setattr(Partitioned, "__getitem__", refuse)
    weights = np.arange(1.0, N + 1.0)
    here = mc.PCA(3, standardize=standardize).fit(X, sample_weight=weights)
    there = mc.PCA(3, standardize=standardize).fit(DATA[name](), sample_weight=weights)
    np.testing.assert_allclose(there.inertias_, here.inertias_, rtol=1e-10)
    np.testing.assert_allclose(there.components_, here.components_, rtol=0, atol=1e-9)
    for found, known in (
        (there.individuals_.coordinates, here.individuals_.coordinates),
        (there.individuals_.cos2, here.individuals_.cos2),
        (there.variables_.correlations, here.variables_.correlations),
        (there.transform(DATA[name]()), here.transform(X)),
        (there.transform(DATA[name]())[:9], here.transform(X[:9])),
    ):
        np.testing.assert_allclose(found, known, rtol=0, atol=1e-8)
    bad = X.copy()
    bad[700, 2] = np.nan
    with pytest.raises(InvalidInput, match="row 700, column 2"):
        mc.PCA(2).fit(dask_array.from_array(bad, chunks=400))


def test_input_is_refused_in_the_words_of_one_machine(client: Any) -> None:
    bad = X.copy()
    bad[700, 2] = np.nan
    with pytest.raises(InvalidInput, match="row 700, column 2"):
        mc.KernelPCA(2, kernel=KERNEL, engine=client).fit(dask_array.from_array(bad, chunks=400))
    with pytest.raises(InvalidInput, match="engine='dask'"):
        mc.KernelPCA(2, kernel=KERNEL).fit(arrays(chunks=400))
    with pytest.raises(InvalidInput, match="KernelPCA, .* take it as it is.*individuals.compute"):
        mc.permanova(arrays(chunks=400), np.repeat(["a", "b"], N // 2))
    bag = pytest.importorskip("dask.bag").from_sequence(["ab", "ba", "aab"])
    with pytest.raises(InvalidInput, match=r"\(dask Bag\) has not been computed yet: pass X.comp"):
        mc.KernelPCA(1, kernel=mc.kernels.StringSpectrum(2), engine=client).fit(bag)
    with pytest.raises(InvalidParameter, match="give threads"):
        mc.KernelPCA(2, kernel=KERNEL, engine=client, threads=2).fit(X)


def test_dask_without_a_client_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(InvalidParameter, match="distributed.Client"):
        mc.KernelPCA(2, kernel=KERNEL, engine="dask").fit(X)


def test_a_cluster_is_known_by_its_client(client: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"cluster\.get_client\(\); found Lock"):
        mc.KernelPCA(2, engine=distributed.Lock("a")).fit(np.eye(5))
    closed = distributed.Client(client.scheduler.address, set_as_default=False)
    engine = Cluster(closed)
    closed.close()
    with pytest.raises(ClusterFailed, match="is closed"):
        mc.KernelPCA(2, engine=closed).fit(np.eye(5))
    with pytest.raises(ClusterFailed, match="is closed"):
        list(engine.in_order(lambda item, _: item, [1, 2]))


def test_a_copy_of_an_engine_stays_on_its_cluster(client: Any) -> None:
    engine = Cluster(client)
    assert copy.deepcopy(engine) is engine
    assert type(pickle.loads(pickle.dumps(engine))) is Threads
