"""Claim: no call is slower than in an earlier state of mercer, by the clock or by the processor.

The calls run on both source trees in turn, each in a fresh process that has called once before it
measures. Names that have moved between the trees are looked up in the namespaces of today.

    git worktree add ../earlier COMMIT
    python -m benchmarks.before_after ../earlier .             # three runs of every call
    python -m benchmarks.before_after ../earlier . 5 horn gp   # five, of two calls
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import gp, horn, horn_tall, kernel_ridge, pca, spline, spline_gcv
from benchmarks.measure import BANDWIDTH, latent
from benchmarks.replicates import CLEAR
from benchmarks.weisfeiler_lehman import DEPTH, NODES, drawn

SLOWER = 1.05
"""The ratio above which a call counts as slower, where the clock and the processor both say so."""

Call = Callable[[], Any]
"""One call on data that are there already; a few of its numbers tell whether both trees agree."""

CALLS: dict[str, tuple[int, Callable[[Any], Call]]] = {}
"""Of each name how often it is called in a process, and what prepares it for a tree's mercer."""


def measured(times: int = 1) -> Callable[[Callable[[Any], Call]], Callable[[Any], Call]]:
    """Enter what prepares a call, by its own name; short calls are made several times."""

    def enter(prepare: Callable[[Any], Call]) -> Callable[[Any], Call]:
        CALLS[prepare.__name__] = (times, prepare)
        return prepare

    return enter


def found(mc: Any, name: str) -> Any:
    """Return what is public at the top of mercer, or in one of its namespaces."""
    for place in (mc, *(getattr(mc, space, None) for space in ("kernels", "networks"))):
        try:
            return getattr(place, name)
        except AttributeError:
            continue
    raise AttributeError(f"{mc.__file__} has no {name}")


def axes(mc: Any, n: int, **settings: Any) -> Call:
    X, kernel = latent(n), mc.Gaussian(bandwidth=BANDWIDTH)
    return lambda: mc.KernelPCA(10, kernel=kernel, random_state=0, **settings).fit(X).eigenvalues_


@measured(5)
def kernel_pca_5000(mc: Any) -> Call:
    return axes(mc, 5_000, tol=1e-8)


@measured()
def kernel_pca_20000(mc: Any) -> Call:
    return axes(mc, 20_000, tol=1e-8)


@measured(300)
def kernel_pca_of_forty(mc: Any) -> Call:
    X, kernel = latent(40, 3), mc.Gaussian("median")
    return lambda: mc.KernelPCA(2, kernel=kernel).fit(X).eigenvalues_


@measured(1_000)
def pca_of_forty(mc: Any) -> Call:
    X = latent(40, 3)
    return lambda: mc.PCA().fit(X).inertias_


@measured(3)
def nystrom_20000(mc: Any) -> Call:
    return axes(mc, 20_000, method="nystrom")


@measured(5)
def transform(mc: Any) -> Call:
    X = latent(10_000)
    model = mc.KernelPCA(10, kernel=mc.Gaussian(bandwidth=BANDWIDTH), random_state=0)
    model.fit(X[:5_000])
    return lambda: np.abs(model.transform(X[5_000:])[:3])


@measured(10)
def pca_fit(mc: Any) -> Call:
    X = pca.table(100_000, 50)
    return lambda: mc.PCA().fit(X).inertias_


@measured(3)
def pca_readings(mc: Any) -> Call:
    X = pca.table(100_000, 50)

    def read() -> Any:
        model = mc.PCA().fit(X)
        people, variables = model.individuals_, model.variables_
        _ = people.contributions, variables.contributions, variables.correlations, variables.cos2
        return people.cos2[:3]

    return read


@measured(3)
def classical_mds(mc: Any) -> Call:
    D = distances(5_000)
    return lambda: mc.ClassicalMDS(10).fit(D).spectrum_.values


@measured(3)
def stress_mds(mc: Any) -> Call:
    D = distances(1_000)
    return lambda: mc.StressMDS(2, tol=3e-3).fit(D).stress_


@measured()
def ordinal_mds(mc: Any) -> Call:
    D = distances(1_000)
    return lambda: mc.StressMDS(2, loss="ordinal").fit(D).stress_


def distances(n: int) -> Any:
    from scipy.spatial.distance import cdist

    X = latent(n)
    return cdist(X, X)


@measured()
def gaussian_process(mc: Any) -> Call:
    X, y = gp.observations(2_000)
    kernel = 1.0 * mc.Gaussian(BANDWIDTH)
    process = mc.GaussianProcess(kernel, noise_variance=gp.NOISE, random_state=0)
    return lambda: process.fit(X, y).log_likelihood()


@measured()
def ridge(mc: Any) -> Call:
    X, y = kernel_ridge.observations(5_000)
    kernel = mc.Gaussian(BANDWIDTH)
    return lambda: mc.KernelRegression(kernel, kernel_ridge.SHIFT / 5_000).fit(X, y).predict(X[:5])


@measured(20)
def smoothing_spline(mc: Any) -> Call:
    x, y = spline.observations(100_000)
    return lambda: mc.SmoothingSpline(spline.PENALTY).fit(x, y).predict(x[:5])


@measured(2)
def spline_penalty(mc: Any) -> Call:
    x, _, y = spline_gcv.observations(100_000, True, 0)
    return lambda: mc.SmoothingSpline().fit(x, y).predict(x[:5])


@measured(3)
def horn_wide(mc: Any) -> Call:
    X = horn.table()
    mc.parallel_analysis(X, 1_000, random_state=0)  # later ones load the compiled shuffle
    return lambda: mc.parallel_analysis(X, 1_000, random_state=0).observed


@measured()
def horn_long(mc: Any) -> Call:
    X = horn_tall.table()
    return lambda: mc.parallel_analysis(X, 1_000, random_state=0).observed


@measured()
def importance(mc: Any) -> Call:
    X = latent(2_000)
    model = mc.KernelPCA(10, kernel=mc.Gaussian(BANDWIDTH), method="exact").fit(X)
    return lambda: mc.permutation_importance(model, None, 49, random_state=0).shares[:, 0]


@measured()
def replicate_study(mc: Any) -> Call:
    model = found(mc, "simulate_expression")(**CLEAR, random_state=0)
    table = model.table(16, np.random.default_rng(0))
    study = found(mc, "replicate_study")
    threads = "threads" if "threads" in signature(study).parameters else "jobs"
    given = {"sizes": range(2, 9), "draws": 60, "random_state": 0, threads: 1}
    return lambda: study(table, "condition", **given).answer.low or 0.0


@measured(3)
def weisfeiler_lehman(mc: Any) -> Call:
    Graph, kernel = found(mc, "Graph"), found(mc, "WeisfeilerLehman")(DEPTH)
    graphs = [Graph(edges, labels.tolist(), n=NODES) for edges, labels in drawn(500)]
    return lambda: kernel(graphs)[:3, :3]


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def child(name: str) -> None:
    """Call once, then as often as is asked for, and print what one call took."""
    import mercer as mc

    times, prepare = CALLS[name]
    call = prepare(mc)
    value = call()
    clock, processor = perf_counter(), processor_seconds()
    for _ in range(times):
        call()
    figures = {
        "seconds": (perf_counter() - clock) / times,
        "processor": (processor_seconds() - processor) / times,
        "value": np.ravel(np.asarray(value, float)).tolist(),
        "place": str(Path(mc.__file__).resolve()),
    }
    print(json.dumps(figures))


def run(tree: Path, name: str) -> dict[str, Any]:
    """Return the figures of one call on one tree, from a fresh process."""
    source = str(tree.resolve() / "src")
    command = [sys.executable, "-m", "benchmarks.before_after", "--run", name]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
        env=os.environ | {"PYTHONPATH": source, "PYTHONWARNINGS": "ignore"},
    )
    if done.returncode:
        raise RuntimeError(f"{name} in {tree} failed:\n{done.stderr[-2000:]}")
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    if not figures["place"].startswith(source):
        raise RuntimeError(f"not {source} was measured, but {figures['place']}")
    return figures


def runs_of(name: str, trees: list[Path], repetitions: int) -> list[list[dict[str, Any]]]:
    """Return the figures of each tree; the trees take turns, and turns at being the first."""
    runs: list[list[dict[str, Any]]] = [[], []]
    for r in range(repetitions):
        for k in (0, 1) if r % 2 == 0 else (1, 0):
            runs[k].append(run(trees[k], name))
    return runs


def row(name: str, runs: list[list[dict[str, Any]]]) -> str:
    """Return the medians and the least of both trees, their ratios, and whether results agree."""
    cells, ratios = [name], []
    for key in ("seconds", "processor"):
        before, after = ([r[key] for r in of] for of in runs)
        middle = [statistics.median(of) for of in (before, after)]
        cells += [f"{m:.3g} ({min(of):.3g})" for m, of in zip(middle, (before, after), strict=True)]
        ratios += [middle[1] / middle[0], min(after) / min(before)]
        cells.append(f"{ratios[-2]:.2f} ({ratios[-1]:.2f})")
    first, second = (np.asarray(of[0]["value"]) for of in runs)
    gap = float(np.max(np.abs(first - second)) / max(np.max(np.abs(first)), 1e-300))
    cells += [f"{gap:.0e}", "slower" if min(ratios) > SLOWER else ""]
    return " | ".join(["", *cells, ""]).strip()


def table(trees: list[Path], repetitions: int, names: list[str]) -> Iterator[str]:
    yield "| call | seconds before | after | ratio | CPU before | after | ratio | results apart | |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in names:
        try:
            yield row(name, runs_of(name, trees, repetitions))
        except RuntimeError as error:
            yield f"| {name} | {str(error).strip().splitlines()[-1]} |"


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        child(sys.argv[2])
    else:
        given = [Path(argument) for argument in sys.argv[1:3]]
        repetitions = int(sys.argv[3]) if len(sys.argv) > 3 else 3
        print("Medians, in brackets the least, of one call in seconds.\n")
        for line in table(given, repetitions, sys.argv[4:] or list(CALLS)):
            print(line, flush=True)
