"""A fit that is killed (signal 9) at ten random moments goes on to the same digits.

``python -m benchmarks.resume [n]``: a process fits with a checkpoint and is killed after a random
share of the processor time that such a fit takes; the next one goes on to the end, and its axes are
compared with those of a fit without a break. So ten times, each with a file of its own. A run that
is killed in its start or its first pass has kept nothing: it begins anew with the same landmarks,
by its seed, and to keep these would save what finding them takes, a small share of a pass.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from time import sleep

import numpy as np

from mercer.store.checkpoint import read_run

KILLS, LOOK = 10, 0.01
SCRIPT = """
    import sys, numpy as np, mercer as mc
    from benchmarks.measure import latent
    X = latent({n})
    print("ready", flush=True)
    sys.stdin.readline()
    model = mc.KernelPCA(10, kernel=mc.Gaussian(10**0.5), method="exact", random_state=0,
                         deterministic=True).fit(X, checkpoint={file!r})
    np.savez({out!r}, values=model.inertias_, scores=model.individuals_.coordinates)
"""


def started(n: int, file: str | None, out: Path) -> subprocess.Popen[str]:
    """Return a process that has its data, and fits as soon as it is told to."""
    script = textwrap.dedent(SCRIPT).format(n=n, file=file, out=str(out))
    made = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert made.stdout is not None
    made.stdout.readline()
    assert made.stdin is not None
    made.stdin.write("\n")
    made.stdin.flush()
    return made


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        assert started(n, None, place / "whole.npz").wait() == 0
        process = started(n, str(place / "run whole"), place / "resumed.npz")
        begun, lasted = computed(process.pid), 0.0
        while process.poll() is None:
            lasted = max(lasted, computed(process.pid) - begun)
            sleep(LOOK)
        assert process.returncode == 0
        passes, gaps = list[int](), list[float]()
        while len(passes) < KILLS:
            file = place / f"run {len(passes)}"
            process = started(n, str(file), place / "resumed.npz")
            moment = computed(process.pid) + float(rng.uniform()) * lasted
            while process.poll() is None and computed(process.pid) < moment:
                sleep(LOOK)
            if process.poll() is None:  # others have ended before their moment
                process.kill()
                passes.append(passes_kept(file))
            process.wait()
            if process.returncode != 0:
                assert started(n, str(file), place / "resumed.npz").wait() == 0
            gaps += check(place)
            for left in place.glob(f"{file.name}*"):
                left.unlink()
        print(
            f"n = {n}: killed at {KILLS} moments with {passes} passes kept; eigenvalues and "
            f"coordinates differ by {max(gaps):.1e} of the largest at the most"
        )
        print(json.dumps({"claim": "resume", "n": n, "passes": passes, "differ": max(gaps)}))


def computed(pid: int) -> float:
    """Return the seconds that a process has computed, 0 where it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def passes_kept(file: Path) -> int:
    """Return how many passes a run goes on from, 0 where it begins anew."""
    found = read_run(file)
    return 0 if found is None else sum(found[1]["course"]["passes"].values())


def check(place: Path) -> tuple[float, float]:
    """Return how far a fit with breaks is from one without, relatively."""
    one, other = np.load(place / "whole.npz"), np.load(place / "resumed.npz")
    gaps = [
        float(np.abs(one[name] - other[name]).max() / np.abs(one[name]).max())
        for name in ("values", "scores")
    ]
    assert max(gaps) <= 1e-12, gaps
    return gaps[0], gaps[1]


if __name__ == "__main__":
    main()
