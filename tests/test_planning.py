from __future__ import annotations

import subprocess
import sys
import tracemalloc
from itertools import product
from tempfile import gettempdir
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer import planning
from mercer.check import chunks
from mercer.cli.plans import planned
from mercer.engines import cluster_cost
from mercer.engines.cluster_cost import MOST_PAIRS, OPERATIONS, groups, shares, traffic_of
from mercer.engines.cpu import Threads
from mercer.errors import InvalidParameter
from mercer.planning import plan


def test_the_method_is_the_one_that_fit_uses() -> None:
    assert plan(mc.KernelPCA(3, kernel=mc.Gaussian(1.0)), 500, 4).method == "dense"
    assert plan(mc.KernelPCA(3, kernel=mc.Gaussian(1.0)), 50_000, 4).method == "exact"
    assert plan(mc.KernelPCA(kernel=mc.Gaussian(1.0)), 2_000, 4).method == "dense"
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.0), method="nystrom", landmarks=77)
    assert "77 landmarks" in plan(model, 50_000, 4).reason


def test_costs_grow_as_the_sizes_say() -> None:
    model = mc.KernelPCA(10, kernel=mc.Gaussian(1.0))
    small, large = plan(model, 100_000, 20), plan(model, 200_000, 20)
    assert large.seconds == pytest.approx(4.0 * small.seconds, rel=0.1)
    assert large.memory == pytest.approx(2.0 * small.memory, rel=0.1)


def test_a_plan_that_does_not_fit_says_what_does() -> None:
    model = mc.KernelPCA(10, kernel=mc.Gaussian(1.0), memory="100MB")
    cost = plan(model, 200_000, 20)
    assert not cost.fits
    assert "method='nystrom'" in str(cost)
    assert plan(mc.KernelPCA(10, kernel=mc.Gaussian(1.0), memory="4GB"), 200_000, 20).fits


def test_a_plan_reads_as_sentences() -> None:
    text = str(plan(mc.KernelPCA(10, kernel=mc.Gaussian(1.0)), 100_000, 20))
    assert "the matrix is never stored" in text
    assert "5 passes over all pairs" in text


def test_slow_kernels_take_longer_and_other_models_are_refused() -> None:
    fast = plan(mc.KernelPCA(3, kernel=mc.Gaussian(1.0)), 20_000, 4)
    slow = plan(mc.KernelPCA(3, kernel=mc.kernels.Intersection()), 20_000, 0)
    assert slow.seconds > fast.seconds
    with pytest.raises(InvalidParameter, match="models with a kernel"):
        plan("model", 10, 2)


def test_a_plan_says_that_the_values_of_a_function_are_kept() -> None:
    cost = plan(mc.KernelPCA(3, kernel=lambda a, b: float(a * b)), 5_000, 0)
    assert "what the function returns is kept" in cost.reason
    assert cost.passes == 1
    assert cost.memory > 4 * 5_000**2
    assert cost.seconds > 10.0
    kernel = mc.FromFunction(lambda x, y: x @ y.T, vectorised=True)
    assert plan(mc.KernelPCA(3, kernel=kernel), 5_000, 0).passes > 1


def test_seconds_are_those_of_pairs_and_operations_on_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = mc.KernelPCA(10, kernel=mc.Gaussian(1.0), engine=Threads(2))
    monkeypatch.setattr(planning, "flops", lambda: 1e30)
    monkeypatch.setattr(planning, "pair_seconds", lambda d, b, single: 1e-9 if single else 4e-9)
    pairs_of_a_core = planning.TOGETHER * 20_000**2 / 2 / 2
    few = (4 * 1e-9 + 1 * 4e-9) * pairs_of_a_core + 5 * planning.STEP
    assert plan(model, 20_000, 5).seconds == pytest.approx(few)
    many = mc.KernelPCA(100, kernel=mc.Gaussian(1.0), engine=Threads(2))
    twice = 6 * 4e-9 * pairs_of_a_core + 6 * planning.STEP
    assert plan(many, 20_000, 5).seconds == pytest.approx(twice)
    monkeypatch.setattr(planning, "pair_seconds", lambda *_: 0.0)
    monkeypatch.setattr(planning, "flops", lambda: 1e9)
    dense = mc.KernelPCA(10, kernel=mc.Gaussian(1.0), method="dense", engine=Threads(2))
    assert plan(dense, 1_000, 5).seconds == pytest.approx(9 * 1_000**3 / 1e9 / 2, rel=0.01)


def test_a_machine_is_measured_once_and_more_work_takes_longer() -> None:
    assert planning.flops() == planning.flops() > 1e8
    some, more = planning.pair_seconds(4, 2, False), planning.pair_seconds(4_000, 2, False)
    assert 0.0 < some < more


def test_a_cluster_is_not_slower_because_this_machine_is_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cost(stretch: float) -> tuple[float, float]:
        monkeypatch.setattr(planning, "_product", lambda: planning.Timed(1e-3, stretch * 1e-3))
        timed = planning.Timed(1e-9, stretch * 1e-9)
        monkeypatch.setattr(planning, "_pair", lambda *_: timed)
        model = mc.KernelPCA(3, kernel=mc.Gaussian(1.0))
        found = plan(model, 10**6, 10, workers=4).cluster
        assert found is not None
        return found.takes[OPERATIONS], plan(model, 10**6, 10).seconds

    (there, here), (there_beside, here_beside) = cost(1.0), cost(3.0)
    assert there_beside == there
    assert here_beside > 2.5 * here


def latent(n: int, d: int) -> Any:
    """Return points near a surface of three dimensions, which a kernel finds in few passes."""
    rng = np.random.default_rng(0)
    x = np.tanh(rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)))
    return x + 0.1 * rng.standard_normal((n, d))


def distances(n: int, d: int) -> Any:
    x = latent(n, d)
    found = np.sqrt(np.sum((x[:, None] - x) ** 2, axis=2))
    return 0.5 * (found + found.T)


WIDE = mc.Gaussian(3.0)


@pytest.mark.parametrize(
    ("model", "points", "n", "d"),
    [
        (mc.KernelPCA(5, kernel=WIDE, method="nystrom", landmarks=200), latent, 12_000, 10),
        (mc.KernelPCA(10, kernel=WIDE, method="exact"), latent, 12_000, 10),
        (mc.KernelPCA(50, kernel=WIDE, method="exact"), latent, 4_000, 10),
        (mc.KernelPCA(100, kernel=WIDE, method="exact"), latent, 4_000, 10),
        (mc.PCA(5), latent, 60_000, 40),
        (mc.ClassicalMDS(2), distances, 700, 3),
        (mc.StressMDS(2, n_starts=1, random_state=0), distances, 400, 3),
    ],
    ids=["nystrom", "few axes", "some axes", "many axes", "table", "classical", "stress"],
)
def test_memory_is_estimated_within_a_quarter(model: Any, points: Any, n: int, d: int) -> None:
    x = points(n, d)
    # What is loaded and compiled once is not its cost.
    model.fit(x[:3_000] if points is latent else x[:50, :50])
    tracemalloc.start()
    try:
        model.fit(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.75 * peak < planned(model, n, d).memory < 1.25 * peak


DENSE = """
from pathlib import Path
import numpy as np
import mercer as mc

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

x = np.random.default_rng(0).standard_normal((1_500, 3))
model = mc.KernelPCA(5, kernel=mc.Gaussian(1.0), method="dense")
model.fit(x[:200])
before = peak()
model.fit(x)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is told by Linux alone")
def test_memory_of_a_matrix_counts_what_lapack_takes() -> None:
    """No tracer of Python's memory sees that: it is of the whole process."""
    done = subprocess.run([sys.executable, "-c", DENSE], capture_output=True, text=True, check=True)
    model = mc.KernelPCA(5, kernel=mc.Gaussian(1.0), method="dense")
    assert plan(model, 1_500, 3).memory == pytest.approx(int(done.stdout), rel=0.1)


def test_a_plan_for_a_cluster_counts_what_moves() -> None:
    model = mc.KernelPCA(10, kernel=mc.Gaussian(1.0))
    here = plan(model, 10**6, 20)
    one, four = (plan(model, 10**6, 20, workers=w, cores=2) for w in (1, 4))
    assert here.cluster is None
    assert one.cluster is not None
    assert four.cluster is not None
    assert one.cluster.between == 0  # there is nobody to send to
    assert four.cluster.between > 3 * 8 * 10**6 * 20  # points, to three others
    assert four.cluster.flops == one.cluster.flops
    assert 2.0 < one.cluster.seconds / four.cluster.seconds < 4.5
    assert one.memory == four.memory == here.memory
    assert "4 workers of 2 cores" in str(four)
    assert "1 worker of 2 cores" in str(one)
    assert "memory of the client" in str(four)
    assert "memory of the client" not in str(here)
    gpus = plan(model, 10**8, 20, workers=8, gpus=8)
    assert gpus.seconds < plan(model, 10**8, 20, workers=8, cores=8).seconds / 20
    few = mc.KernelPCA(10, kernel=mc.Gaussian(1.0), method="nystrom", landmarks=100)
    on_landmarks = plan(few, 10**7, 20, workers=4).cluster
    assert on_landmarks is not None
    assert on_landmarks.with_client == 8 * 10**7 * 120
    with pytest.raises(InvalidParameter, match="workers"):
        plan(model, 10**6, 20, workers=0)


def test_a_plan_for_a_cluster_says_what_takes_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "flops", lambda: 3e10)  # of a machine that nothing else slows
    monkeypatch.setattr(planning, "pair_seconds_elsewhere", lambda *_: 5e-9)
    model = mc.KernelPCA(10, kernel=mc.Gaussian(1.0), memory="1GB")
    by_cores, by_gpus = (plan(model, 10**9, 20, workers=64, gpus=gpus) for gpus in (0, 64))
    for cost, most in ((by_cores, "operations take"), (by_gpus, "what the client computes")):
        assert cost.cluster is not None
        takes = cost.cluster.takes
        assert max(takes, key=takes.__getitem__) == most
        assert f"\n{most} " in str(cost)  # first
        assert max(takes.values()) < cost.seconds <= sum(takes.values())
        assert "that is more than the 1 GB that may be used here" in str(cost)
    quick = plan(mc.KernelPCA(2, kernel=mc.Gaussian(1.0)), 5_000, 3, workers=500).cluster
    assert quick is not None
    assert str(quick).count("\n") == any(seconds >= 1.0 for seconds in quick.takes.values())


@pytest.mark.parametrize(("lengths", "cores"), [([640] * 11 + [100], 3), ([7], 4), ([5] * 40, 2)])
def test_the_tasks_of_a_pass_have_all_pairs_once_and_as_much_to_do(
    lengths: list[int], cores: int
) -> None:
    made = shares(lengths, cores)
    blocks = range(len(lengths))
    assert sorted(pair for share in made for pair in share) == [
        (i, j) for i in blocks for j in blocks if i <= j
    ]
    assert all(len(share) <= 2 * MOST_PAIRS for share in made)  # those on the diagonal are halves
    work = [sum(lengths[i] * lengths[j] * (1 + (i < j)) for i, j in share) for share in made]
    assert max(work) - min(work) <= 4 * max(lengths) ** 2  # a pair more at each end


@pytest.mark.parametrize("full", [56, 64, 800])
def test_vectors_are_counted_in_the_groups_that_are_sent(
    full: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_cost, "FULL_PIECE", full)
    for n, rows, block in product(range(1, 60), range(1, 25), (1, 2, 3)):
        lengths = [part.stop - part.start for part in chunks(n, rows)]
        counted = cluster_cost._tasks_of_vectors(n, rows, block)
        assert counted == len(groups(lengths, 8 * block)), (n, rows, block)


def test_what_moves_grows_with_the_root_of_the_workers() -> None:
    rows = (640,) * 128
    few, many = (traffic_of(rows, workers, 8 * workers, 2000) for workers in (4, 64))
    alone = traffic_of(rows, 1, 8, 2000)
    assert (alone.points, alone.vectors, alone.products) == (0, 0, 0)
    assert many.points < 6 * few.points  # of the root, 4; of the workers, 21
    assert many.vectors < 7 * few.vectors  # some go along that are not needed


def test_a_plan_of_points_on_disk_says_what_lies_in_a_file() -> None:
    """A million rows of fifty numbers in 2 GB: exact, with the landmarks' factor on disk."""
    model = mc.KernelPCA(10, kernel=mc.Gaussian(1.0), memory="2GB", threads=2)
    there = plan(model, 10**6, 50, on_disk=True)
    assert (there.method, there.fits, there.disk) == ("exact", True, 4 * 10**6 * 600)
    assert there.memory <= 2 * 10**9
    assert "and 2.4 GB in a temporary file" in str(there)
    assert gettempdir() in there.reason
    roomy = plan(model.set_params(memory="6GB"), 10**6, 50, on_disk=True)
    assert (roomy.fits, roomy.disk) == (True, 0)
    held = plan(model.set_params(memory="2GB"), 10**6, 50)
    assert not held.fits
    with pytest.raises(InvalidParameter, match="on_disk must be True or False"):
        plan(model, 10, 2, on_disk=2)  # type: ignore[arg-type]
