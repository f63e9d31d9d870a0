"""``mercer doctor``: what this machine has, how fast it is, and what would fit."""

from __future__ import annotations

import os
import platform
from argparse import Namespace
from importlib import metadata
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from mercer import __version__
from mercer.cli.errors import OK, in_flags
from mercer.cli.output import Talk
from mercer.cli.progress import carry_out
from mercer.gram import Gram
from mercer.kernels.radial import Gaussian
from mercer.pca import KernelPCA
from mercer.planning import plan
from mercer.progress import Line
from mercer.settings import machine_bytes, readable

NEEDED = ("numpy", "scipy", "scikit-learn", "narwhals", "array-api-compat", "threadpoolctl")
EXTRAS = {
    "plot": ("matplotlib", "plotly"),
    "report": ("jinja2",),
    "io": ("h5py", "pyarrow", "python_calamine"),
    "fast": ("numba",),
    "gpu": ("torch",),
    "dask": ("distributed",),
    "serve": ("jinja2", "starlette", "uvicorn"),
}
POINTS, VARIABLES, VECTORS = 4096, 20, 8
"""The product by which speed is measured: a second or less on a slow machine."""


def run(args: Namespace, talk: Talk) -> int:
    """Look around, measure, and answer."""
    value: dict[str, Any] = {
        "command": "doctor",
        "mercer": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {platform.system()}",
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": machine_bytes(),
        "versions": {name: _version(name) for name in NEEDED},
        "blas": blas(),
        "extras": {name: all(map(has, modules)) for name, modules in EXTRAS.items()},
    }
    if not args.dry_run:
        value["pairs_per_second"] = carry_out(pairs_per_second, talk, Line("measuring"))
    if args.individuals is not None:
        cost = plan(KernelPCA(args.rank, kernel=Gaussian(1.0)), args.individuals, args.variables)
        value["plan"] = {
            "individuals": args.individuals,
            "method": cost.method,
            "memory_bytes": cost.memory,
            "seconds": cost.seconds,
            "is_possible": cost.fits,
            "text": in_flags(cost, cost.advice),
        }
    talk.answer(value, text_of(value))
    return OK


def has(module: str) -> bool:
    """Whether a library is installed, without importing it."""
    return find_spec(module) is not None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def blas() -> list[dict[str, Any]]:
    """Return the linear algebra libraries that are loaded, with their threads."""
    return [
        {
            "library": info["internal_api"],
            "version": info["version"],
            "threads": info["num_threads"],
        }
        for info in threadpool_info()
        if info["user_api"] == "blas"
    ]


def pairs_per_second() -> float:
    """Return how many values of a Gaussian kernel are computed, and used, in a second."""
    rng = np.random.default_rng(0)
    gram = Gram(Gaussian(1.0), rng.standard_normal((POINTS, VARIABLES)))
    vectors = rng.standard_normal((POINTS, VECTORS))
    gram.product(vectors[:, :1])  # what is compiled, or found out, once
    begun = perf_counter()
    gram.product(vectors)
    return POINTS**2 / (perf_counter() - begun)


def text_of(value: dict[str, Any]) -> str:
    """Return the findings, one to a line."""
    rows = {
        "mercer": value["mercer"],
        "python": f"{value['python']} on {value['machine']}",
        "cores": str(value["cores"]),
        "memory": readable(value["memory_bytes"]),
    }
    rows |= {name: version or "missing" for name, version in value["versions"].items()}
    for found in value["blas"]:
        rows[found["library"]] = f"{found['version']}, {found['threads']} threads"
    for name, is_there in value["extras"].items():
        rows[f"mercer[{name}]"] = "installed" if is_there else "not installed"
    if "pairs_per_second" in value:
        rows["speed"] = f"{value['pairs_per_second']:.2g} pairs of points a second"
    width = max(map(len, rows))
    lines = [f"{name.ljust(width)}  {text}" for name, text in rows.items()]
    if "plan" in value:
        lines.append(f"{value['plan']['individuals']} individuals: {value['plan']['text']}")
    return "\n".join(lines)
