"""How to get the same page again: code, command line, versions, seeds and sums of the data."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from mercer.kernels.base import Kernel
from mercer.page.subject import Subject
from mercer.page.text import clean

LIBRARIES = ("mercer", "numpy", "scipy", "scikit-learn", "plotly")

LONGEST_CODE = 2_000
"""Characters of a line of code or of a command that a page shows."""

BLOCK = 2**20


def code(subject: Subject, source: Path | None, name: str) -> str:
    """Return Python code that fits the same model on the same data."""
    lines = ["import mercer as mc", ""]
    data = "data"
    if source is not None:
        lines.append(f"data = mc.read({str(source)!r})")
    else:
        lines.append("# data: the individuals that the model was fitted on")
    lines.append(f"model = mc.{called(subject.model)}.fit({data})")
    table = f", table=data, source={str(source)!r}" if source is not None else ""
    lines.append(f"mc.report(model, {name!r}{table})")
    return "\n".join(clean(line, LONGEST_CODE) if line else "" for line in lines)


def called(model: Any) -> str:
    """Return a model as it was constructed, with the parameters that are not the usual ones.

    >>> from mercer import Gaussian, KernelPCA
    >>> print(called(KernelPCA(2, kernel=Gaussian("median"))))
    KernelPCA(2, kernel='Gaussian(bandwidth="median")')
    """
    usual = signature(type(model).__init__).parameters
    parts = []
    for name, found in model.get_params(deep=False).items():
        default = usual[name].default
        if found is default or (type(found) is type(default) and _same(found, default)):
            continue
        text = repr(repr(found)) if isinstance(found, Kernel) else repr(found)
        parts.append(text if name == "n_components" else f"{name}={text}")
    parts.sort(key=lambda part: "=" in part)
    return f"{type(model).__name__}({', '.join(parts)})"


def _same(a: Any, b: Any) -> bool:
    return bool(np.all(a == b))


def command_line(command: str | Sequence[str] | None) -> str | None:
    """Return a command as a shell takes it, None where the page was not made by one."""
    if command is None:
        return None
    text = command if isinstance(command, str) else shlex.join(map(str, command))
    return clean(text, LONGEST_CODE)


def versions() -> dict[str, str]:
    """Return the versions that computed the page."""
    found = {"Python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def file_sum(source: str | os.PathLike[str]) -> str:
    """Return the SHA-256 sum of a file."""
    total = hashlib.sha256()
    with open(source, "rb") as file:
        while block := file.read(BLOCK):
            total.update(block)
    return total.hexdigest()


def data_sum(subject: Subject) -> str | None:
    """Return the SHA-256 sum of the numbers that were analysed, row after row as doubles."""
    table = subject.table
    if table is None:
        return None
    numbers = np.ascontiguousarray(table.matrix(), dtype="<f8")
    return hashlib.sha256(numbers.data if numbers.size else b"").hexdigest()


def facts(subject: Subject, source: Path | None) -> list[tuple[str, str]]:
    """Return what else a repetition needs to know, as pairs of a name and a text."""
    found = [(name, text) for name, text in versions().items()]
    spectrum = subject.spectrum
    if spectrum is not None:
        how = spectrum.how
        passes = how.single_passes + how.double_passes
        taken = f", {passes} passes over the data" if passes else ""
        found.append(("eigenvalues", f"{how.method} method{taken}"))
        if how.random_state is not None:
            found.append(("seed", str(how.random_state)))
    seed = getattr(subject.model, "random_state", None)
    if seed is not None:
        found.append(("random_state", str(seed)))
    if source is not None:
        found.append(("file", clean(source.name)))
        found.append(("SHA-256 of the file", file_sum(source)))
    total = data_sum(subject)
    if total is not None:
        found.append(("SHA-256 of the active numbers", total))
    return found
