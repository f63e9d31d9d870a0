"""How to get the same page again: code, command line, versions, seeds and sums of the data."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from mercer.analysis import Analysis
from mercer.data.raw_files import kind_of
from mercer.kernels.base import Kernel
from mercer.page.safe_text import clean
from mercer.page.subject import Subject

LIBRARIES = ("mercer", "numpy", "scipy", "scikit-learn")

LONGEST_COMMAND = 2_000
"""Characters of a command that a page shows."""

LONGEST_CODE = 20_000
"""Characters of a line of code: a bandwidth for each of a thousand columns."""

BLOCK = 2**20


@dataclass(frozen=True)
class Reading:
    """How the data of a fit came from a file.

    ``options`` are the arguments of `mercer.read`; ``passive`` are the numbers of rows that took
    no part in the fit, and ``weights`` is the column of the weights.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    passive: Sequence[int] = ()
    weights: str | None = None


def code(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    subject: Subject,
    source: Path | None,
    name: str,
    reading: Reading | Mapping[str, Any] | None = None,
    *,
    sections: Sequence[str] = (),
    clusters: int | None = None,
    made: Analysis | None = None,
) -> str:
    """Return Python code that fits the same model on the same data, as it stands.

    ``reading`` says how the file was read; the arguments of `mercer.read` alone are a mapping.
    ``sections`` are the expressions that make further sections of the page, and ``clusters`` is
    the number of classes that was asked for. ``made`` is the analysis of which the model is one
    map, which is then made again.
    """
    asked = "" if clusters is None else f", clusters={clusters}"
    parts = [part for part in sections if part]
    lines = ["import mercer as mc", *(["from mercer import page"] if parts else []), ""]
    if source is not None and kind_of(source) == "model":
        lines += [f"model = mc.load({str(source)!r})", *_report_lines(name, asked, parts)]
    else:
        read = reading if isinstance(reading, Reading) else Reading(reading or {})
        lines += _data_lines(source, read)
        if made is None or made.curved is None:
            lines += _model_lines(subject, read)
            options, shown = _report_options(subject, source, read), "model"
        else:
            lines += _analysis_lines(subject, read, made)
            options, shown = _passive_option(source, read), "analysis"
        lines += _report_lines(name, options + asked, parts, shown)
    kernel = getattr(subject.model, "kernel", None)
    is_unwritten = isinstance(kernel, Kernel) and repr(kernel).startswith("<")
    if is_unwritten or max(map(len, lines)) > LONGEST_CODE:
        return "# The kernel is too long to be written here: mc.load reads it from a stored model."
    return "\n".join(clean(line, LONGEST_CODE) if line else "" for line in lines)


def _data_lines(source: Path | None, reading: Reading) -> list[str]:
    """Return the lines that make ``data``, and ``passive`` where some rows took no part."""
    if source is None:
        return ["# data: the individuals that the model was fitted on"]
    given = "".join(f", {key}={value!r}" for key, value in reading.options.items())
    read = f"mc.read({str(source)!r}{given})"
    if not len(reading.passive):
        return [f"data = {read}"]
    return [
        f"everyone = {read}",
        f"passive = {ranges(reading.passive)}",
        "data = everyone.picked(sorted({*range(len(everyone))} - {*passive}))",
    ]


def _model_lines(subject: Subject, reading: Reading) -> list[str]:
    """Return the lines that fit the model to ``data``."""
    lines, weights = _weights_of(subject, reading)
    return [*lines, f"model = mc.{called(subject.model)}.fit(data{weights})"]


def _analysis_lines(subject: Subject, reading: Reading, made: Analysis) -> list[str]:
    """Return the lines that analyse ``data`` with both maps."""
    # Margins and a column of frequencies weight the rows without being asked.
    is_weighted = made.analysis == "ca" or (made.weighted_by and reading.weights is None)
    lines, weights = ([], "") if is_weighted else _weights_of(subject, reading)
    given = "".join(
        f", {name}={str(value)!r}" if isinstance(value, Kernel) else f", {name}={value!r}"
        for name, value in made.asked.items()
    )
    return [*lines, f"analysis = mc.analyse(data{given}{weights})", "model = analysis.model"]


def _weights_of(subject: Subject, reading: Reading) -> tuple[list[str], str]:
    """Return a remark on the weights of the individuals, and the argument that gives them."""
    if reading.weights is not None:
        return [], f", sample_weight=data.column({reading.weights!r}).values"
    if np.ptp(subject.weights) > 1e-12 * np.max(subject.weights):
        return ["# weights: those of the individuals in the fit"], ", sample_weight=weights"
    return [], ""


def _report_options(subject: Subject, source: Path | None, reading: Reading) -> str:
    """Return what else `mercer.report` is given of data from a file."""
    if source is None:
        return ""
    is_table = subject.table is not None or hasattr(subject.model, "dissimilarity_matrix_")
    return f"{', table=data' if is_table else ''}{_passive_option(source, reading)}"


def _passive_option(source: Path | None, reading: Reading) -> str:
    """Return the file and the rows that took no part, as `mercer.report` takes them."""
    if source is None:
        return ""
    more = f", source={str(source)!r}"
    return more + (", supplementary=everyone.picked(passive)" if len(reading.passive) else "")


def _report_lines(name: str, more: str, parts: Sequence[str], shown: str = "model") -> list[str]:
    """Return the lines that write the page of what is ``shown``, with its sections."""
    if not parts:
        return [f"mc.report({shown}, {name!r}{more})"]
    made = ["sections = [", *(f"    {part}," for part in parts), "]"]
    return [*made, f"mc.report({shown}, {name!r}{more}, sections=sections)"]


def ranges(rows: Sequence[int]) -> str:
    """Return increasing numbers as Python writes them in short.

    >>> ranges([0, 3, 4, 5, 9])
    '[0, *range(3, 6), 9]'
    """
    numbers = np.asarray(rows, int)
    parts: list[str] = []
    for run in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1):
        few = len(run) < 3
        parts += map(str, run) if few else [f"*range({run[0]}, {run[-1] + 1})"]
    return f"[{', '.join(parts)}]"


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
    return clean(text, LONGEST_COMMAND)


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
    """Return the SHA-256 sum of the columns that were analysed, None where there are none.

    Numbers alone are summed row after row as doubles; columns of several types one after another,
    each as the JSON text of its name and values.
    """
    table, used = subject.table, subject.used
    if table is None or not used:
        return None
    if used == table.active:
        return hashlib.sha256(np.ascontiguousarray(table.matrix(), dtype="<f8").data).hexdigest()
    total = hashlib.sha256()
    for name in used:
        values = table.column(name).values
        cells = values if values.dtype.kind != "M" else np.datetime_as_string(values)
        total.update(json.dumps([name, cells.tolist()], default=str).encode())
    return total.hexdigest()


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
    if getattr(subject.model, "random_state", None) is not None:
        found.append(("random_state", str(subject.model.seed_)))
    found += of_file(source)
    total = data_sum(subject)
    if total is not None:
        found.append(("SHA-256 of the active columns", total))
    return found


def of_file(source: Path | None) -> list[tuple[str, str]]:
    """Return the name of a file and the sum of what it holds."""
    if source is None:
        return []
    return [("file", clean(source.name)), ("SHA-256 of the file", file_sum(source))]
