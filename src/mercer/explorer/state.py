"""What a visitor asks for: columns and their uses, scaling, kernel, bandwidth, axes, method."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mercer.check import number
from mercer.data.table import Role, Table, as_labels
from mercer.errors import InvalidParameter
from mercer.kernels.base import Kernel, with_parameters
from mercer.kernels.text import kernel as kernel_from

METHODS = ("pca", "mca", "famd", "ca", "kpca", "mds", "stress")
"""The analyses of `mercer.analyse`."""

USES = ("active", "supplementary", "colour", "name", "ignored")
"""What a column can be used for."""

USUAL = 'gaussian(bandwidth="median")'
"""The kernel of the curved map where nothing else is asked for."""

WAYS = ("error", "drop", "mean", "pca")
"""What can be done where numbers are missing."""

LONGEST, MOST_COLUMNS, MOST_AXES = 10_000, 100_000, 100
"""Characters of a kernel, columns with a use of their own, and axes."""


@dataclass(frozen=True)
class State:
    """All that decides what the explorer shows of a table.

    ``uses`` has the columns whose use a visitor has chosen; ``bandwidth`` replaces every bandwidth
    of ``kernel``. Of what is None the analysis decides. ``against`` is a second kernel, whose map
    then stands in the place of the straight one. ``exact`` asks for a curved map of all individuals
    where it would be made on landmarks.

    >>> State.of({"kernel": "linear()", "axes": 3}).axes
    3
    >>> State.of({"axes": "many"})
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: axes must be a whole number from 1 to 100, found 'many'
    """

    uses: Mapping[str, str] = field(default_factory=dict)
    method: str | None = None
    scale: bool | None = None
    kernel: str = USUAL
    bandwidth: float | None = None
    axes: int | None = None
    missing: str = "error"
    against: str | None = None
    exact: bool = False

    @classmethod
    def of(cls, value: Any) -> State:
        """Return the state that a page has sent, or refuse it with the part that is wrong."""
        if not isinstance(value, Mapping):
            raise InvalidParameter(f"a state must be an object, found {value!r:.60}")
        unknown = set(value) - set(cls.__dataclass_fields__)
        if unknown:
            raise InvalidParameter(f"a state has no part {min(map(str, unknown))!r:.60}")
        found = cls(**value)
        found._check()
        return found

    def _check(self) -> None:
        uses = self.uses
        if not isinstance(uses, Mapping) or len(uses) > MOST_COLUMNS:
            raise InvalidParameter("uses must map columns to what they are used for")
        for name, use in uses.items():
            if not isinstance(name, str) or use not in USES:
                raise InvalidParameter(
                    f"column {name!r:.60} must be used as {', '.join(USES)}, found {use!r:.60}"
                )
        if self.method is not None and self.method not in METHODS:
            raise InvalidParameter(
                f"method must be one of {', '.join(METHODS)}, found {self.method!r:.60}"
            )
        if self.scale is not None and not isinstance(self.scale, bool):
            raise InvalidParameter(f"scale must be true, false or null, found {self.scale!r:.60}")
        if not isinstance(self.exact, bool):
            raise InvalidParameter(f"exact must be true or false, found {self.exact!r:.60}")
        for text in (self.kernel, self.against or ""):
            if not isinstance(text, str) or len(text) > LONGEST:
                raise InvalidParameter(f"a kernel is written in at most {LONGEST:,} characters")
        if self.bandwidth is not None:
            number(self.bandwidth, "bandwidth", above=0.0)
        axes = self.axes
        if axes is not None and not (type(axes) is int and 1 <= axes <= MOST_AXES):
            raise InvalidParameter(
                f"axes must be a whole number from 1 to {MOST_AXES}, found {axes!r:.60}"
            )
        if self.missing not in WAYS:
            raise InvalidParameter(
                f"missing must be one of {', '.join(WAYS)}, found {self.missing!r:.60}"
            )

    @property
    def straight(self) -> State:
        """What decides the straight map: all but the kernel."""
        return replace(self, kernel=USUAL, bandwidth=None, against=None, exact=False)

    @property
    def key(self) -> str:
        """A text that two equal states have in common."""
        return repr(sorted(asdict(self).items()))

    def chosen(self, use: str) -> list[str]:
        """Return the columns that a visitor has put to a use."""
        return [name for name, found in self.uses.items() if found == use]


def kernel_of(text: str, bandwidth: float | None = None) -> Kernel:
    """Return a written kernel, with another bandwidth in all its places if one is given.

    >>> print(kernel_of("gaussian(1.0) + 0.5 * linear()", 2.0))
    gaussian(bandwidth=2.0) + 0.5 * linear()
    """
    kernel = kernel_from(text)
    if bandwidth is None:
        return kernel
    places = [name for name in kernel.parameters() if name.split("__")[-1] == "bandwidth"]
    return with_parameters(kernel, dict.fromkeys(places, float(bandwidth)))


def arranged(table: Table, state: State) -> tuple[Table, dict[str, Any]]:
    """Return a table with its columns in the uses asked for, and the arguments of an analysis.

    >>> table = Table.of({"x": [1.0, 2.0], "y": [3.0, 5.0], "team": ["a", "b"]})
    >>> found, asked = arranged(table, State(uses={"y": "ignored", "team": "active"}))
    >>> found.names, asked["method"]
    (('x', 'team'), 'famd')
    """
    unknown = [name for name in state.uses if name not in table.names]
    if unknown:
        raise InvalidParameter(f"the table has no column {unknown[0]!r:.80}")
    for name in state.chosen("name"):
        table = _with_row_names(table, name)
    gone = {*state.chosen("ignored"), *state.chosen("name")}
    active, beside = state.chosen("active"), state.chosen("supplementary") + state.chosen("colour")
    table = table.with_columns(n for n in table.names if n not in gone)
    table = _with_factors(table, [*active, *state.chosen("colour")])
    roles = dict(zip(table.names, table.roles, strict=True))
    for name in reversed(state.chosen("colour")):
        if roles[name] is Role.FACTOR:
            table = table.coloured_by(name)
    factors = [n for n in active if roles[n] is Role.FACTOR]
    method = state.method
    if method is None and factors:
        others = [n for n, r in roles.items() if r is Role.FACTOR and n not in factors]
        beside = [*beside, *(n for n in others if n not in beside)]
        numbers = [n for n, r in roles.items() if r is Role.NUMBER and n not in beside]
        method = "famd" if numbers else "mca"
    asked: dict[str, Any] = {"method": method, "supplementary": beside, "active": active}
    if state.scale is not None:
        asked["scale"] = state.scale
    if state.missing != "error":
        asked["missing"] = state.missing
    return table, asked


def _with_row_names(table: Table, name: str) -> Table:
    column = table.column(name)
    if column.role is Role.NUMBER:
        labels = as_labels(column.values.tolist(), lambda v: f"{v:g}")
    else:
        labels = as_labels(column.values.tolist())
    names = tuple("" if v is None else str(v) for v in labels.tolist())
    return replace(table, row_names=names)


def _with_factors(table: Table, names: list[str]) -> Table:
    """Return a table in which texts and names that are to be read are factors."""
    labelled = (Role.TEXT, Role.IDENTIFIER)
    roles = zip(table.names, table.roles, strict=True)
    changed = [Role.FACTOR if n in names and r in labelled else r for n, r in roles]
    return replace(table, roles=tuple(changed))


def command_of(name: str, state: State) -> str:
    """Return the command that writes the report of a state.

    >>> command_of("my data.csv", State(scale=False, axes=3))
    "mercer report 'my data.csv' --no-scale --rank 3"
    """
    words = ["mercer", "report", name]
    if state.method is not None:
        words += ["--method", state.method]
    if state.scale is not None:
        words.append("--scale" if state.scale else "--no-scale")
    if state.axes is not None:
        words += ["--rank", str(state.axes)]
    for column in [*state.chosen("supplementary"), *state.chosen("colour")]:
        words += ["--sup-cols", column]
    for column in state.chosen("ignored"):
        words += ["--drop", column]
    for column in state.chosen("name"):
        words += ["--id", column]
    if state.missing == "drop":
        words.append("--drop-na")
    elif state.missing != "error":
        words += ["--impute", state.missing]
    if state.method is None and (state.kernel != USUAL or state.bandwidth is not None):
        words += ["--kernel", str(kernel_of(state.kernel, state.bandwidth))]
    return shlex.join(words)


def code_of(source: str, state: State) -> str:
    """Return Python code that makes the analysis of a state; ``source`` is an expression."""
    lines = ["import mercer as mc", "", f"data = {source}"]
    if state.chosen("ignored") or state.chosen("name"):
        gone = [*state.chosen("ignored"), *state.chosen("name")]
        lines.append(f"data = data.with_columns(n for n in data.names if n not in {gone!r})")
    colour = state.chosen("colour")
    if colour:
        lines.append(f"data = data.coloured_by({colour[0]!r})")
    parts: list[str] = []
    for name in ("method", "scale"):
        if getattr(state, name) is not None:
            parts.append(f"{name}={getattr(state, name)!r}")
    if state.axes is not None:
        parts.append(f"n_components={state.axes}")
    for use, names in (
        ("active", state.chosen("active")),
        ("supplementary", [*state.chosen("supplementary"), *colour]),
    ):
        if names:
            parts.append(f"{use}={names!r}")
    if state.missing != "error":
        parts.append(f"missing={state.missing!r}")
    if state.kernel != USUAL or state.bandwidth is not None:
        parts.append(f"curved={str(kernel_of(state.kernel, state.bandwidth))!r}")
    if state.exact:
        parts.append("exact=True")
    lines += [f"found = mc.analyse({', '.join(['data', *parts, 'random_state=0'])})"]
    return "\n".join([*lines, 'mc.report(found, "report.html")'])
