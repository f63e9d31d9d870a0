"""How far a reader walks: source files that one call visits, and how often it changes between them.

Five paths on 40 rows in one thread, each run once before it is traced, so that nothing is imported
on the way. A visit is a call of a function or method; a switch is a call from one file into
another, through code of other libraries or not.

Claim: data are examined where they enter and nowhere else, so that no loop calls `mercer.check`.

    python -m benchmarks.walk            # the table
    python -m benchmarks.walk pairs      # and the pairs of files with the most switches
    python -m benchmarks.walk files      # and the files, with their calls
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import mercer as mc
from mercer.cli import main

ROOT = str(Path(mc.__file__).parent) + os.sep
"""Where the sources of mercer are."""

ROWS = 40
"""Individuals of each data set."""

MOST_PAIRS = 8
"""Pairs of files that are listed, those with the most switches first."""


@dataclass
class Walk:
    """The files that were visited, and the calls from one of them into another."""

    files: Counter[str] = field(default_factory=Counter)
    switches: Counter[tuple[str, str]] = field(default_factory=Counter)


def traced(call: Callable[[], Any]) -> Walk:
    """Return the walk of a call, over all threads that it starts.

    >>> walk = traced(lambda: mc.Gaussian(1.0)([[0.0], [1.0]]))
    >>> "kernels/radial" in walk.files, walk.switches.total() > 0
    (True, True)
    """
    walk, names = Walk(), dict[CodeType, str]()

    def file_of(frame: FrameType | None) -> str:
        """Return the nearest file of mercer at or above a frame."""
        while frame is not None:
            code = frame.f_code
            if code not in names:
                path = code.co_filename
                is_ours = path.startswith(ROOT)
                names[code] = path.removeprefix(ROOT).removesuffix(".py") if is_ours else ""
            if names[code]:
                return names[code]
            frame = frame.f_back
        return ""

    def note(frame: FrameType, event: str, _: object) -> None:
        here, above = file_of(frame), file_of(frame.f_back)
        if event == "call" and here and here == names[frame.f_code]:
            walk.files[here] += 1
            walk.switches[(above, here)] += bool(above) and above != here

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return walk


@contextmanager
def paths() -> Iterator[dict[str, Callable[[], Any]]]:
    """Yield the paths by their names, on data that last as long as the context."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 3))
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=ROWS)
    model = mc.networks.simulate_expression(24, 4, effect=0.8, strength=0.95, random_state=1)
    table = model.table(ROWS // 4, np.random.default_rng(1))  # of four conditions
    with tempfile.TemporaryDirectory() as folder:
        data, page = Path(folder, "data.csv"), Path(folder, "page.html")
        np.savetxt(data, x, delimiter=",", header="a,b,c", comments="")

        def command(*words: str) -> None:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                main([*words])

        yield {
            '`KernelPCA(2, Gaussian("median")).fit(40×3)`': lambda: mc.KernelPCA(
                2, kernel=mc.Gaussian("median")
            ).fit(x),
            "`GaussianProcess.fit(40×3)`": lambda: mc.GaussianProcess(random_state=0).fit(x, y),
            "`mercer fit data.csv`": lambda: command("fit", str(data)),
            "`mercer report data.csv`": lambda: command(
                "report", str(data), "--out", str(page), "--force"
            ),
            "`replicate_study`": lambda: mc.replicate_study(
                table, "condition", sizes=[2, 4], draws=20, threads=1
            ),
        }


def table(*, with_pairs: bool = False, with_files: bool = False) -> Iterator[str]:
    """Yield the lines of the table, and below each path its busiest pairs, or its files."""
    yield "| path | files visited | switches between files |"
    yield "|---|---|---|"
    with paths() as known:
        for name, call in known.items():
            call()
            walk = traced(call)
            count = f"{walk.switches.total():,}".replace(",", " ")
            yield f"| {name} | {len(walk.files)} | {count} |"
            for (one, other), times in walk.switches.most_common(MOST_PAIRS) if with_pairs else ():
                yield f"| {one} → {other} | | {times} |"
            for one, times in sorted(walk.files.items()) if with_files else ():
                yield f"| {one} | {times} calls | |"


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one thread, not one a core
    for line in table(with_pairs="pairs" in sys.argv, with_files="files" in sys.argv):
        print(line, flush=True)
