"""Claim: the Weisfeiler-Lehman kernel six times faster than GraKeL, with the same entries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from typing import Any

import numpy as np
from measure import child, peak_megabytes, timed

NODES, SHARE, LABELS, DEPTH = 50, 0.1, 5, 5
PEER = os.environ.get("GRAKEL_PYTHON", sys.executable)
"""The Python that has GraKeL 0.1.11, where it is not this one."""


def drawn(n: int) -> list[tuple[Any, Any]]:
    """Random graphs, each as its edges and labels."""
    rng = np.random.default_rng(0)
    upper = np.column_stack(np.triu_indices(NODES, 1))
    return [
        (upper[rng.random(len(upper)) < SHARE], rng.integers(0, LABELS, NODES)) for _ in range(n)
    ]


def figures(gram: Any, seconds: float, base: float) -> dict[str, Any]:
    """What both sides report: entries are compared by sums with random whole numbers."""
    rng = np.random.default_rng(1)
    left, right = (rng.integers(1, 1000, len(gram)).astype(float) for _ in range(2))
    sums = [float(gram.sum()), float(np.trace(gram)), float(left @ gram @ right)]
    return {
        "seconds": seconds,
        "memory": peak_megabytes() - base,
        "sums": sums,
        "corner": gram[:50, :50].tolist(),
    }


def peer(n: int) -> dict[str, Any]:
    """GraKeL's kernel on its own graphs."""
    grakel = import_module("grakel")
    graphs = []
    for edges, labels in drawn(n):
        both = np.vstack([edges, edges[:, ::-1]]).tolist()
        names = dict(enumerate(labels.tolist()))
        graphs.append(grakel.Graph({(u, v): 1 for u, v in both}, node_labels=names))
    make = grakel.WeisfeilerLehman
    make(n_iter=DEPTH).fit_transform(graphs[:20])
    base = peak_megabytes()
    K, seconds = timed(lambda: make(n_iter=DEPTH).fit_transform(graphs))
    return figures(np.asarray(K, float), seconds, base)


def mercer(n: int) -> dict[str, Any]:
    """The kernel on graphs that are values."""
    import mercer as mc

    graphs = [mc.Graph(edges, labels.tolist(), n=NODES) for edges, labels in drawn(n)]
    kernel = mc.kernels.WeisfeilerLehman(DEPTH)
    kernel(graphs[:20])
    base = peak_megabytes()
    K, seconds = timed(lambda: kernel(graphs))
    return figures(K, seconds, base)


def once(python: str, name: str, n: int) -> dict[str, Any]:
    command = [python, __file__, "--run", name, json.dumps({"n": n})]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return result


def main(n: int, repetitions: int) -> None:
    found = subprocess.run([PEER, "-c", "import grakel"], capture_output=True, check=False)
    pythons = {"mercer": sys.executable, **({} if found.returncode else {"peer": PEER})}
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in pythons}
    for _ in range(repetitions):
        for name, python in pythons.items():
            runs[name].append(once(python, name, n))
    seconds = {name: float(np.median([r["seconds"] for r in all_])) for name, all_ in runs.items()}
    what = f"{n} graphs of {NODES} nodes, depth {DEPTH}: {seconds['mercer']:.3f} s"
    if "peer" not in runs:
        print(f"{what}; GraKeL is missing: set GRAKEL_PYTHON to a Python that has it.")
        print(json.dumps({"n": n, "mercer_seconds": seconds["mercer"]}))
        return
    ours, theirs = runs["mercer"][0], runs["peer"][0]
    is_equal = ours["sums"] == theirs["sums"] and ours["corner"] == theirs["corner"]
    ratio = seconds["peer"] / seconds["mercer"]
    print(
        f"{what} against {seconds['peer']:.3f} s of GraKeL: {ratio:.1f} times faster; entries are "
        f"{'equal' if is_equal else 'NOT EQUAL'}."
    )
    timings = {f"{name}_seconds": s for name, s in seconds.items()}
    print(json.dumps({"n": n, "ratio": ratio, "is_equal": is_equal, **timings}))


if __name__ == "__main__" and not child({"peer": peer, "mercer": mercer}):
    given = [int(argument) for argument in sys.argv[1:]]
    main(*given, *[500, 5][len(given) :])
