"""The code and the command that make the analysis of a state again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mercer.analysis.copies import classes_of_numbers
from mercer.data.graphs import GRAPHS
from mercer.data.matrices import SquareMatrix
from mercer.data.sequences import Sequences
from mercer.data.table import Role, Table
from mercer.explorer.networks import KERNEL, Networks
from mercer.explorer.source import Source
from mercer.explorer.state import (
    AXES,
    USUAL,
    State,
    arrange_table,
    as_factors,
    kernel_of,
    lacks_values,
)


@dataclass(frozen=True)
class Written:
    """A state as code and commands write it, what is usual left out."""

    roles: Mapping[str, str]
    lacks: bool
    colour: str | None
    given: Mapping[str, Any]
    curved: str | None
    exact: bool

    @classmethod
    def of(cls, source: Source, state: State) -> Written:
        """Return how to write a state of data."""
        data, roles, lacks, colour = source.data, {}, False, None
        given: dict[str, Any] = {"method": state.method}
        if isinstance(data, Table):
            table, given = arrange_table(data, state, source.usual)
            factors = [*state.reading[1], *as_factors(data, state)]
            roles = dict.fromkeys(factors, Role.FACTOR.value)
            roles |= dict.fromkeys(state.chosen("name"), Role.IDENTIFIER.value)
            lacks = lacks_values(data)
            known = dict(zip(table.names, table.roles, strict=True))
            colour = next((n for n in state.chosen("colour") if known[n] is Role.FACTOR), None)
        elif not isinstance(data, SquareMatrix):
            given = {"kernel": own_kernel(state)}
        axes = state.axes
        if axes is None and maps_distances(data, given.get("method")):
            axes = min(AXES, len(data) - 1)
        method = given.get("method")
        has_two = isinstance(data, Table) and method not in ("kpca", "mds", "stress")
        is_usual = state.kernel == USUAL and state.bandwidth is None and method is None
        curved = str(kernel_of(state.kernel, state.bandwidth)) if has_two else None
        given = {k: v for k, v in given.items() if v not in (None, [])}
        given |= {} if axes is None else {"n_components": axes}
        is_exact = state.exact and has_two
        return cls(roles, lacks, colour, given, None if is_usual else curved, is_exact)


def maps_distances(data: Any, method: str | None) -> bool:
    """Whether data get a classical map, whose further axes are shown too."""
    are_distances = isinstance(data, SquareMatrix) and data.is_distance
    return method == "mds" or (method is None and are_distances)


def command_of(source: Source, state: State) -> str:
    """Return the command that writes the report of a state, and that of a map to compare.

    >>> table = Table.of({"x": [1.0, 2.0, 4.0], "y": [3.0, 5.0, 4.0]})
    >>> command_of(Source(table, "my data.csv", ""), State(scale=False, axes=2))
    "mercer report 'my data.csv' --no-scale --rank 2"
    """
    found = Written.of(source, state)
    what = "graphs" if isinstance(source.data, Networks) else "report"
    given, words = found.given, ["mercer", what, source.path or source.name]

    def add(flag: str, *values: object) -> None:
        for value in map(str, values):
            words.extend([f"{flag}={value}"] if value.startswith("-") else [flag, value])

    is_joined = isinstance(source.data, Networks) and bool(source.data.notes)  # else refused
    words += ["--transpose"] * state.transposed + ["--simplify"] * is_joined
    if "method" in given:
        add("--method", given["method"])
    if "scale" in given:
        words.append("--scale" if given["scale"] else "--no-scale")
    if "n_components" in given:
        add("--rank", given["n_components"])
    add("--factor", *(n for n, r in found.roles.items() if r == Role.FACTOR.value))
    if found.colour is not None:
        add("--colour", found.colour)
    cut = classes_of_numbers(source.data) if isinstance(source.data, Table) else {}
    active = given.get("active", ())
    add("--active", *(n for n in active if is_number(source.data, n) or n in cut))
    add("--sup-cols", *given.get("supplementary", ()))
    add("--drop", *state.chosen("ignored"))
    add("--id", *state.chosen("name")[:1])
    missing = given.get("missing")
    if missing == "drop":
        words.append("--drop-na")
    elif missing is not None:
        add("--impute", *missing.values())
    if "kernel" in given:
        add("--kernel", given["kernel"])
    if found.curved is not None:
        add("--curved", found.curved)
    words += ["--curved-exact"] * found.exact
    if state.classes is not None:
        add("--clusters", state.classes)
    if state.against is None:
        return shlex.join(words)
    other = replace(state, kernel=state.against, bandwidth=None, against=None)
    page = "--page" if what == "graphs" else "--out"
    return f"{shlex.join(words)} && {command_of(source, other)} {page} other.html"


def is_number(data: Any, name: str) -> bool:
    """Whether a column holds numbers."""
    return isinstance(data, Table) and data.column(name).role is Role.NUMBER


def code_of(source: Source, state: State) -> str:
    """Return Python code that makes the analysis of a state, of data read anew.

    >>> table = Table.of({"x": [1.0, 2.0, float("nan")], "y": [3.0, 5.0, 4.0]})
    >>> made = code_of(Source(table, "x.csv", "mc.read('x.csv')"), State(missing="mean"))
    >>> print(made.splitlines()[2])
    data = mc.read('x.csv', missing='keep')
    """
    found = Written.of(source, state)
    if isinstance(source.data, Networks):
        return _networks_code(source, state)
    data = source.code
    options = {
        **({"transpose": True} if state.transposed else {}),
        **({"roles": dict(found.roles)} if found.roles else {}),
        **({"missing": "keep"} if found.lacks else {}),
    }
    if options:
        inner = data.removeprefix("mc.read(").removesuffix(")") if "mc.read(" in data else data
        said = ", ".join(f"{name}={value!r}" for name, value in options.items())
        data = f"mc.read({inner}, {said})"
    lines = ["import mercer as mc", "", f"data = {data}"]
    gone = [*state.chosen("ignored"), *state.chosen("name")]
    if gone:
        lines.append(f"data = data.with_columns(n for n in data.names if n not in {gone!r})")
    if found.colour is not None:
        lines.append(f"data = data.coloured_by({found.colour!r})")
    parts = ["data", *(f"{name}={value!r}" for name, value in found.given.items())]
    last = ["exact=True"] if state.exact else []

    is_whole = isinstance(source.data, Sequences)  # whose kernel makes the one map
    clusters = "" if state.classes is None else f", clusters={state.classes}"

    def made(kernel: str | None) -> str:
        word = "kernel" if is_whole else "curved"
        rest = [part for part in parts if not (kernel and part.startswith(f"{word}="))]
        curved = [] if kernel is None else [f"{word}={kernel!r}"]
        return f"mc.analyse({', '.join([*rest, *curved, *last, 'random_state=0'])})"

    lines += [f"found = {made(found.curved)}", f'mc.report(found, "report.html"{clusters})']
    if state.against is not None:
        lines += [f"other = {made(str(kernel_of(state.against)))}"]
        lines += [f'mc.report(other, "other.html"{clusters})']
    return "\n".join(lines)


def own_kernel(state: State) -> str | None:
    """Return the kernel that was chosen for sequences or networks, None for the usual one."""
    return None if state.kernel == USUAL else str(kernel_of(state.kernel))


def _networks_code(source: Source, state: State) -> str:
    axes = state.axes if state.axes is not None else min(AXES, len(source.data) - 1)
    clusters = "" if state.classes is None else f", clusters={state.classes}"
    is_example, is_joined = bool(source.code), bool(source.data.notes)
    read = "simplify_graph(mc.read(file, 'graph'))" if is_joined else "mc.read(file, 'graph')"
    folder = source.code if is_example else f"Path({source.path or source.name!r})"
    lines = [
        *([] if is_example else ["from pathlib import Path", ""]),
        "import mercer as mc",
        *(["from mercer.data.graphs import simplify_graph"] if is_joined else []),
        "",
        f"files = sorted(p for p in {folder}.rglob('*') "
        f"if p.name.removesuffix('.gz').endswith({GRAPHS!r}))",
        f"graphs = [mc.Graph.read({read}) for file in files]",
    ]
    for name, kernel in (("found", own_kernel(state) or KERNEL), ("other", state.against)):
        if kernel is not None:
            lines += [
                f"{name} = mc.KernelPCA({axes}, kernel={kernel!r}, random_state=0).fit(graphs)",
                f'mc.report({name}, "{"report" if name == "found" else name}.html"{clusters})',
            ]
    return "\n".join(lines)
