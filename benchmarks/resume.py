"""A fit that is killed (signal 9) at ten random moments goes on to the same digits.

``python -m benchmarks.resume [n]``: a process fits with a checkpoint and is killed after a random
share of the time that a whole fit takes, ten times; each time the next process goes on. The axes of
the last are compared with those of a fit without a break.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from time import perf_counter, sleep

import numpy as np

KILLS = 10
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
        process = started(n, None, place / "whole.npz")
        begun = perf_counter()
        assert process.wait() == 0
        lasted = perf_counter() - begun
        kept = []
        killed = 0
        while killed < KILLS:
            process = started(n, str(place / "run"), place / "resumed.npz")
            sleep(float(rng.uniform(0.2, 1.0)) * lasted)
            if process.poll() is not None:  # it has ended: begin another run
                check(place)
                for file in place.glob("run*"):
                    file.unlink()
                continue
            process.kill()
            process.wait()
            killed += 1
            kept.append((place / "run").exists())
        assert started(n, str(place / "run"), place / "resumed.npz").wait() == 0
        values, scores = check(place)
        print(
            f"n = {n}: killed {KILLS} times, {sum(kept)} times with a state kept; eigenvalues "
            f"differ by {values:.1e}, coordinates by {scores:.1e} of the largest"
        )
        print(json.dumps({"claim": "resume", "n": n, "values": values, "scores": scores}))


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
