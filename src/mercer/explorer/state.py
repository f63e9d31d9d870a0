"""What a visitor asks for: columns and their uses, scaling, kernel, bandwidth, axes, method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from mercer.data.table import Role, Table, as_labels
from mercer.errors import Advice, InvalidInput, InvalidParameter, MercerError
from mercer.kernels.base import Kernel, parameters, with_parameters
from mercer.kernels.text import kernel as kernel_from
from mercer.settings import number

METHODS = ("pca", "mca", "famd", "ca", "kpca", "mds", "stress")
"""The analyses of `mercer.analyse`."""

USES = ("active", "supplementary", "colour", "name", "ignored")
"""What a column can be used for."""

WOULD_BE = {Role.NUMBER: "active", Role.FACTOR: "active", Role.IDENTIFIER: "name"}
"""What columns are used for where no analysis can be made of a table as it is."""

USUAL = 'gaussian(bandwidth="median")'
"""The kernel of the curved map where nothing else is asked for."""

WAYS = ("mean", "pca", "drop", "error")
"""What can be done where values are missing. Means and what other columns say are put for numbers,
and what is missing of categories is a level of its own; at first as the command line does."""

AXES = 10
"""Axes of a classical map where no number is asked for."""

LONGEST, MOST_COLUMNS, MOST_AXES, MOST_CLASSES = 10_000, 100_000, 100, 20
"""Characters of a kernel, columns with a use of their own, axes, and classes."""


@dataclass(frozen=True)
class State:
    """All that decides what the explorer shows of a table.

    ``uses`` has the columns whose use a visitor has chosen; ``bandwidth`` replaces every bandwidth
    of ``kernel``. Of what is None the analysis decides. ``against`` is a second kernel, whose map
    then stands in the place of the straight one. ``exact`` asks for a curved map of all individuals
    where it would be made on landmarks. ``classes`` is how many classes are made, where that is
    not what their tree suggests. ``factors`` are columns of numbers that are read as labels of
    groups; where the table is ``transposed``, its columns of numbers are the individuals.

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
    missing: str = WAYS[0]
    against: str | None = None
    exact: bool = False
    classes: int | None = None
    factors: Sequence[str] = ()
    transposed: bool = False

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
        found._check_reading()
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
        classes = self.classes
        if classes is not None and not (type(classes) is int and 2 <= classes <= MOST_CLASSES):
            raise InvalidParameter(
                f"classes must be a whole number from 2 to {MOST_CLASSES}, found {classes!r:.60}"
            )
        if self.missing not in WAYS:
            raise InvalidParameter(
                f"missing must be one of {', '.join(WAYS)}, found {self.missing!r:.60}"
            )

    def _check_reading(self) -> None:
        for part in ("exact", "transposed"):
            if not isinstance(getattr(self, part), bool):
                raise InvalidParameter(
                    f"{part} must be true or false, found {getattr(self, part)!r:.60}"
                )
        factors = self.factors
        is_list = isinstance(factors, list | tuple) and len(factors) <= MOST_COLUMNS
        if not is_list or not all(isinstance(name, str) for name in factors):
            raise InvalidParameter(f"factors must be a list of columns, found {factors!r:.60}")

    @property
    def straight(self) -> State:
        """What decides the straight map of a table: all but the kernel."""
        return replace(self.whole, kernel=USUAL, bandwidth=None)

    @property
    def whole(self) -> State:
        """What decides the map of sequences and networks, which a kernel makes."""
        return replace(self, against=None, exact=False, classes=None)

    @property
    def reading(self) -> tuple[bool, tuple[str, ...]]:
        """How the table is read, where that is not as it stands: what its own columns say."""
        return (True, ()) if self.transposed else (False, tuple(self.factors))

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


def usual_uses(table: Table) -> dict[str, str]:
    """Return what an analysis uses each column for where nothing is asked, or would if it could.

    >>> usual_uses(Table.of({"x": [1.0, 2.0], "y": [3.0, 5.0], "team": ["a", "b"]}))["team"]
    'supplementary'
    >>> usual_uses(Table.of({"x": [1.0], "y": [3.0]}))  # one row has no map
    {'x': 'active', 'y': 'active'}
    """
    from mercer.analysis import propose

    try:
        return {fate.name: fate.use for fate in propose(table).fates}
    except MercerError:
        roles = zip(table.names, table.roles, strict=True)
        return {name: WOULD_BE.get(role, "ignored") for name, role in roles}


def arrange_table(
    table: Table, state: State, usual: Mapping[str, str] | None = None
) -> tuple[Table, dict[str, Any]]:
    """Return a table with its columns in the uses asked for, and the arguments of an analysis.

    Columns of which a visitor said nothing keep their ``usual`` uses, whatever becomes of others.

    >>> table = Table.of({"x": [1.0, 2.0], "y": [3.0, 5.0], "team": ["a", "b"]})
    >>> found, asked = arrange_table(table, State(uses={"y": "ignored", "team": "active"}))
    >>> found.names, asked["method"]
    (('x', 'team'), 'famd')
    """
    unknown = [name for name in state.uses if name not in table.names]
    if unknown:
        raise InvalidParameter(f"the table has no column {unknown[0]!r:.80}")
    usual = usual_uses(table) if usual is None else usual
    if not state.chosen("active"):
        _refuse_texts(table)
    for name in state.chosen("name"):
        table = _with_row_names(table, name)
    gone = {*state.chosen("ignored"), *state.chosen("name")}
    active, beside = state.chosen("active"), state.chosen("supplementary") + state.chosen("colour")
    table = table.with_columns(n for n in table.names if n not in gone)
    table = _with_factors(table, as_factors(table, state))
    roles = dict(zip(table.names, table.roles, strict=True))
    for name in reversed(state.chosen("colour")):
        if roles[name] is Role.FACTOR:
            table = table.coloured_by(name)
    method = state.method
    if method is None and state.uses:
        method, others = _kept(table, active, beside, usual)
        beside = [*beside, *others]
    asked: dict[str, Any] = {"method": method, "supplementary": beside, "active": active}
    if state.scale is not None:
        asked["scale"] = state.scale
    if state.missing != "error" and lacks_values(table):
        is_put = state.missing != "drop"
        asked["missing"] = {"number": state.missing, "factor": "level"} if is_put else "drop"
    return table, asked


def _refuse_texts(table: Table) -> None:
    """Refuse a table of texts alone, with those that could be labels of groups: some repeat."""
    if not table.names or set(table.roles) - {Role.TEXT, Role.IDENTIFIER}:
        return
    levels = {c.name: len(set(c.values.tolist()) - {None}) for c in table.columns()}
    repeated = [n for n in sorted(levels, key=levels.__getitem__) if levels[n] < len(table)]
    if repeated:
        raise InvalidInput(
            "all columns are texts, and none makes axes until it is read as labels of groups: set "
            "one whose texts repeat to “Active”",
            Advice("active", repeated),
        )
    raise InvalidInput(
        "all columns are texts of which none stands in two rows, so that there are neither numbers "
        "nor groups to map: open a file with a column of numbers, or of labels that repeat"
    )


def lacks_values(table: Table) -> bool:
    """Whether a number or a category of a table is missing.

    >>> lacks_values(Table.of({"x": [1.0, 2.0], "team": ["a", None]}))
    True
    """
    columns = (c.values.tolist() for c in table.columns() if c.role is Role.FACTOR)
    return bool(np.isnan(table.numbers).any()) or any(None in values for values in columns)


def _kept(
    table: Table, active: list[str], beside: list[str], usual: Mapping[str, str]
) -> tuple[str | None, list[str]]:
    """Return the method that keeps the uses of columns, and the factors that stay beside it."""
    from mercer.analysis.choice import rule
    from mercer.analysis.columns import is_constant

    roles = dict(zip(table.names, table.roles, strict=True))
    active = [n for n in active if not is_constant(table.column(n))]
    free = {n: r for n, r in roles.items() if n not in beside}
    makes_axes = {n for n in free if n in active or usual.get(n) == "active"}
    numbers = [n for n, r in free.items() if r is Role.NUMBER and n in makes_axes]
    factors = [n for n, r in free.items() if r is Role.FACTOR]
    used = [n for n in factors if n in makes_axes]
    if not numbers and not used:
        left = [n for n, r in roles.items() if r in (Role.NUMBER, Role.FACTOR)]
        raise InvalidInput(
            "no column is active, so that nothing makes axes: set one of numbers or of labels to "
            "“Active”",
            *([Advice("active", left)] if left else []),
        )
    method = "pca" if not used else "famd" if numbers else "mca"
    is_natural = rule(_some(numbers), _some(factors)) == method
    others = [] if is_natural and method == "pca" else [n for n in factors if n not in used]
    is_asked = any(n in active for n in used) or rule(_some(numbers), _some(used)) != method
    return method if is_asked else None, others


def _some(names: list[str]) -> list[Any]:
    return list(names)  # the rule counts columns


def as_factors(table: Table, state: State) -> list[str]:
    """Return texts and names of rows that are to be read as labels of groups."""
    asked = {*state.chosen("active"), *state.chosen("colour")}
    labelled = (Role.TEXT, Role.IDENTIFIER)
    roles = zip(table.names, table.roles, strict=True)
    return [n for n, r in roles if n in asked and r in labelled]


def _with_row_names(table: Table, name: str) -> Table:
    column = table.column(name)
    if column.role is Role.NUMBER:
        labels = as_labels(column.values.tolist(), lambda v: str(int(v)) if v % 1 == 0 else str(v))
    else:
        labels = as_labels(column.values.tolist())
    names = tuple("" if v is None else str(v) for v in labels.tolist())
    return replace(table, row_names=names)


def _with_factors(table: Table, names: list[str]) -> Table:
    """Return a table in which some columns of labels are factors."""
    roles = zip(table.names, table.roles, strict=True)
    return replace(table, roles=tuple(Role.FACTOR if n in names else r for n, r in roles))


def bandwidth_in(kernel: Kernel) -> float | None:
    """Return the first bandwidth of a kernel, None where it has none or a rule finds it.

    >>> bandwidth_in(kernel_of("2 * gaussian(3.0)")), bandwidth_in(kernel_of("linear()"))
    (3.0, None)
    """
    found = parameters(kernel).items()
    widths = [value for name, value in found if name.split("__")[-1] == "bandwidth"]
    return float(np.max(widths[0])) if widths and not isinstance(widths[0], str) else None
