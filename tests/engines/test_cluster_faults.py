"""What a cluster survives: workers that die in every phase, and what is said when too much is lost.

Area K of the fault matrix, a test each, or a case of one.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.engines import blocks, cluster_tasks
from mercer.engines.blocks import Partitioned
from mercer.engines.cluster import Cluster
from mercer.engines.cpu import Threads
from mercer.engines.tiles import Block, Tiles
from mercer.errors import ClusterFailed, InvalidInput

distributed: Any = pytest.importorskip("distributed")
dask: Any = pytest.importorskip("dask")
dask_array: Any = pytest.importorskip("dask.array")

from tests.machines import Machines, kill_all, kill_one, no_longer_than, started  # noqa: E402

N = 1200
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 4)) * [3.0, 2.0, 1.0, 0.3]
V = RNG.standard_normal((N, 3))
KERNEL = mc.Gaussian(2.0)


class Losing(Cluster):
    """A cluster to which something happens once, in one phase of a fit."""

    def __init__(self, client: Any, phase: str, lose: Callable[[Any], None]) -> None:
        super().__init__(client, rows=400)
        self.phase, self.lose, self.passes = phase, lose, 0

    def _cut(self, points: Any) -> Any:
        blocks = super()._cut(points)
        self._reach("scatter")
        return blocks

    def _leaves(self, tiles: Any, vectors: Any, weights: Any) -> list[Any]:
        self.passes += 1
        leaves = super()._leaves(tiles, vectors, weights)
        self._reach("first pass" if self.passes == 1 else f"pass {self.passes}")
        if not tiles.single and self.passes > 1:
            self._reach("double pass")
        return leaves

    def _tree(self, parts: list[Any]) -> Any:
        root = super()._tree(parts)
        if self.passes == 2:
            self._reach("reduction")
        return root

    def _reach(self, phase: str) -> None:
        if phase == self.phase:
            self.phase = "done"
            self.lose(self.client)


def exact(engine: Any = "auto", **given: Any) -> Any:
    model = mc.KernelPCA(3, kernel=KERNEL, method="exact", random_state=0, engine=engine)
    return model.fit(X, **given)


@pytest.fixture(scope="module")
def three_machines() -> Iterator[Machines]:
    made = Machines(3, is_default=False)
    yield made
    made.close()


@pytest.fixture
def three(three_machines: Machines) -> Iterator[Any]:
    """Yield the client of a cluster of three workers, all there."""
    with no_longer_than():
        yield three_machines.client()


@pytest.mark.parametrize("phase", ["scatter", "first pass", "pass 3", "double pass", "reduction"])
def test_a_worker_of_three_that_dies_changes_nothing(three: Any, phase: str) -> None:
    assert len(three.nthreads()) == 3
    engine = Losing(three, phase, kill_one)
    there, here = exact(engine), exact()
    assert engine.phase == "done"
    np.testing.assert_allclose(there.inertias_, here.inertias_, rtol=1e-10)
    np.testing.assert_allclose(
        there.individuals_.coordinates, here.individuals_.coordinates, rtol=0, atol=1e-7
    )


class Counting(distributed.WorkerPlugin):  # type: ignore[misc]
    """Writes down each tile that a worker computes, also one that comes later."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def setup(self, worker: Any) -> None:
        known, path = Tiles.tile, self.path

        def noted(self: Tiles, block: Block) -> Any:
            with path.open("a") as file:
                print(worker.address, file=file)
            return known(self, block)

        Tiles.tile = noted  # type: ignore[method-assign]


def test_one_dead_worker_of_three_costs_less_than_another_pass(tmp_path: Path) -> None:
    """Counted in tiles, which are the time of a pass, for clocks of busy machines say little."""
    place = tmp_path / "tiles"
    with (
        no_longer_than(),
        started(3) as machines,
        distributed.Client(machines, set_as_default=False) as client,
    ):
        client.register_plugin(Counting(place))
        engine = Losing(client, "pass 2", kill_one)
        engine.rows = 150
        gram = mc.Gram(KERNEL, X, engine=engine)
        once = gram.product(V)
        noted = place.read_text().split()
        pairs = 8 * 9 // 2
        assert len(noted) == pairs
        assert len(set(noted)) == 3
        assert np.array_equal(gram.product(V), once)
        assert engine.phase == "done"
        assert len(place.read_text().split()) - pairs <= 2 * pairs
        there = exact(Losing(client, "pass 3", kill_one))
    np.testing.assert_allclose(there.inertias_, exact().inertias_, rtol=1e-10)


def test_what_a_dead_worker_held_is_made_again(client: Any) -> None:
    """Points of a fit, partitions of a collection, and draws that wait for their turn."""
    model, here = exact(client), exact().transform(X[:300])
    held = Partitioned.of(client, dask_array.from_array(X, chunks=200))
    model.transform(X[:300])
    draws = Cluster(client).in_order(lambda item, _: item * item, range(20))
    assert next(draws) == 0
    kill_one(client)
    np.testing.assert_allclose(model.transform(X[:300]), here, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(held[350:450], X[350:450])
    np.testing.assert_array_equal(held.picked(np.array([1100, 3, 3])), X[[1100, 3, 3]])
    assert list(draws) == [item * item for item in range(1, 20)]


@pytest.mark.parametrize("error", [ClusterFailed, KeyboardInterrupt])
def test_points_that_reached_some_homes_only_are_placed_again(
    client: Any, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """A pass after it would add up a part of the matrix."""
    real, calls = blocks.tasks, [0]

    def failing(client: Any, function: Any, *columns: Any, **options: Any) -> list[Any]:
        calls[0] += function is blocks._by_number
        if function is blocks._by_number and calls[0] == 2:
            raise error
        return real(client, function, *columns, **options)

    gram = mc.Gram(KERNEL, X.copy(), engine=Cluster(client, rows=300))
    monkeypatch.setattr(blocks, "tasks", failing)
    with pytest.raises(error):
        gram.product(V)
    np.testing.assert_allclose(gram.product(V), mc.Gram(KERNEL, X).product(V), rtol=0, atol=1e-9)


def test_threads_that_share_points_place_them_once(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shares that both have placed would count twice."""
    real, calls, products = blocks.tasks, list[Any](), list[Any]()

    def slow(client: Any, function: Any, *columns: Any, **options: Any) -> list[Any]:
        if function is blocks._by_number:
            calls.append(options["home"])
            sleep(0.3)
        return real(client, function, *columns, **options)

    engine = Cluster(client, rows=300)
    gram = mc.Gram(KERNEL, X.copy(), engine=engine)
    engine.placed(gram.x)
    monkeypatch.setattr(blocks, "tasks", slow)
    threads = [Thread(target=lambda: products.append(gram.product(V))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == len(set(calls)) == len(engine.placed(gram.x).at_homes(client))
    here = mc.Gram(KERNEL, X).product(V)
    np.testing.assert_allclose(products, [here, here], rtol=0, atol=1e-9)


def test_threads_that_bring_the_same_points_send_them_once(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut, calls, placed, points = Cluster._cut, list[int](), list[Any](), X.copy()

    def slow(self: Cluster, points: Any) -> Any:
        calls.append(len(points))
        sleep(0.3)
        return cut(self, points)

    monkeypatch.setattr(Cluster, "_cut", slow)
    engine = Cluster(client, rows=300)
    threads = [Thread(target=lambda: placed.append(engine.placed(points))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [N]
    assert len(placed) == 3
    assert len(set(map(id, placed))) == 1


def _drag(seconds: float) -> None:
    """Let all tasks of this worker begin late, or no longer."""
    known = getattr(cluster_tasks, "_engine_there", cluster_tasks.engine_there)

    def late(terms: int) -> Threads:
        sleep(seconds)
        return known(terms)

    cluster_tasks._engine_there = known  # type: ignore[attr-defined]
    cluster_tasks.engine_there = late if seconds else known


def test_a_slow_worker_is_waited_for(client: Any) -> None:
    gram = mc.Gram(KERNEL, X, engine=Cluster(client, rows=300))
    once = gram.product(V)
    slow = [next(iter(client.nthreads()))]
    client.run(_drag, 0.2, workers=slow)
    try:
        assert np.array_equal(gram.product(V), once)
    finally:
        client.run(_drag, 0.0, workers=slow)


def test_a_task_that_always_fails_is_tried_three_times(client: Any, tmp_path: Path) -> None:
    place = tmp_path / "tries"

    def poison(*_: Any) -> float:
        with place.open("a") as file:
            print("x", file=file)
        raise ZeroDivisionError("poison")

    with pytest.raises(ClusterFailed, match="failed 3 times.*poison"):
        list(Cluster(client).in_order(poison, [0]))
    assert place.read_text().count("x") == blocks.TRIES
    place.unlink()
    with pytest.raises(InvalidInput, match="poison"):
        mc.KernelPCA(2, kernel=poison, engine=client).fit(["a", "b", "c"])
    assert place.read_text().count("x") == 1  # here, before anything is sent


def _room_on_disk(size: int) -> None:
    """Let this process write files of so many bytes, as a disk that is nearly full does."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def _greedy(*_: Any) -> float:
    """Take more memory than a worker has, and keep it."""
    much = np.ones(2 * 10**8)
    sleep(60)
    return float(much[0])


def test_a_worker_without_room(tmp_path: Path) -> None:
    """On disk: the error is told. In memory: it is killed, and told to want more."""
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.memory.target": 1e-6,  # so that every value is written to disk
    }
    with (
        no_longer_than(),
        dask.config.set(settings),
        started(1, memory_limit="1GB", local_directory=str(tmp_path)) as machines,
        distributed.Client(machines, set_as_default=False) as client,
    ):
        gram = mc.Gram(KERNEL, X, engine=Cluster(client, rows=400))
        once = gram.product(V)
        client.run(_room_on_disk, 0)
        with pytest.raises(ClusterFailed, match="failed 3 times.*OSError.*File too large"):
            gram.product(V)
        client.run(_room_on_disk, resource.RLIM_INFINITY)
        assert np.array_equal(gram.product(V), once)
        with pytest.raises(ClusterFailed, match="probably for lack of memory: give them more"):
            list(Cluster(client).in_order(_greedy, [0]))


def test_a_cluster_that_answers_late_has_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that is busy, the question whether there are any may take longer than that."""
    for name, seconds in (("PATIENCE", 0.2), ("LOOK", 0.0), ("BEAT", 0.01)):
        monkeypatch.setattr(blocks, name, seconds)
    ends: list[Callable[[Any], None]] = []

    def answer(n_workers: int) -> dict[str, Any]:
        sleep(0.3)
        if len(asked) == 2:
            ends[0](None)
        asked.append(n_workers)
        return {"workers": {"one": 1}}

    asked: list[int] = []
    client = SimpleNamespace(status="running", scheduler_info=answer)
    future = SimpleNamespace(add_done_callback=ends.append, done=lambda: False)
    blocks._await(client, [future], [], None)
    assert len(asked) == 3


@contextmanager
def _processes(folder: Path) -> Iterator[tuple[Any, Any]]:
    """Yield a client and the process of its scheduler, which has one worker."""
    file = folder / "scheduler.json"
    place = ["--scheduler-file", str(file)]
    words = [
        ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *place],
        ["worker", "--no-nanny", "--nthreads", "1", "--no-dashboard", *place],
    ]
    run = [sys.executable, "-m", "dask"]
    hidden: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    made = [subprocess.Popen([*run, *w], cwd=folder, **hidden) for w in words]
    try:
        while not file.exists():
            sleep(0.05)
        with distributed.Client(
            scheduler_file=str(file), set_as_default=False, timeout=120
        ) as client:
            client.wait_for_workers(1, timeout=120)
            yield client, made[0]
    finally:
        for process in made:
            process.kill()
            process.wait()


def test_a_scheduler_that_dies_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "PATIENCE", 2.0)
    file = tmp_path / "run"
    with no_longer_than(), _processes(tmp_path) as (client, scheduler):
        engine = Losing(client, "pass 3", lambda _: scheduler.send_signal(signal.SIGKILL))
        with pytest.raises(ClusterFailed, match="lost its scheduler.*checkpoint"):
            exact(engine, checkpoint=file)
        assert engine.phase == "done"
    np.testing.assert_allclose(exact(checkpoint=file).inertias_, exact().inertias_, rtol=1e-10)


def test_a_cluster_that_dies_leaves_its_checkpoint(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert blocks.PATIENCE <= 50.0  # so that this is told within a minute
    monkeypatch.setattr(blocks, "PATIENCE", 1.0)
    file, gram = tmp_path / "run", mc.Gram(KERNEL, X, engine=Cluster(client, rows=400))
    gram.product(V)
    held = Partitioned.of(client, dask_array.from_array(X, chunks=200))
    with pytest.raises(ClusterFailed, match="no workers.*checkpoint"):
        exact(Losing(client, "pass 3", kill_all), checkpoint=file)
    assert file.exists()
    np.testing.assert_allclose(exact(checkpoint=file).inertias_, exact().inertias_, rtol=1e-10)
    begun = monotonic()
    asked: list[Callable[[], Any]] = [
        lambda: gram.product(V),
        lambda: held.picked(np.array([3])),
        lambda: list(Cluster(client).in_order(lambda item, _: item, [Event])),
    ]
    for ask in asked:
        with pytest.raises(ClusterFailed, match="no workers"):
            ask()
    assert monotonic() - begun < 60.0
