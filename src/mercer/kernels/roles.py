"""Which kernel a column gets when none is named: by its declared role, or by what it holds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from numbers import Number
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from mercer.check import Points, as_numpy, how_many, is_missing, members
from mercer.display import first_names, warn
from mercer.errors import DataWarning, InvalidInput
from mercer.kernels.abundances import Aitchison, BrayCurtis
from mercer.kernels.base import Kernel
from mercer.kernels.graph import Graph, is_graph
from mercer.kernels.graph_kernels import WeisfeilerLehman
from mercer.kernels.point_pairs import hashable
from mercer.kernels.sets import Intersection
from mercer.kernels.strings import WORD, StringSpectrum
from mercer.kernels.variables import OBSERVED, Category, Ordinal, Standardised
from mercer.points import Rows

MOST_LEVELS = 50
"""Levels of a category: with more, strings are texts."""

DEPTH = 3
"""Depth of the neighbourhoods that graphs are compared by."""

KERNELS: dict[str, Callable[[], Kernel]] = {
    "number": Standardised,
    "time": Standardised,
    "category": lambda: Category(shares=OBSERVED),
    "ordinal": Ordinal,
    "text": lambda: StringSpectrum(WORD).normalised(),
    "graph": lambda: WeisfeilerLehman(DEPTH).normalised(),
    "set": lambda: Intersection().normalised(),
    "composition": Aitchison,
    "abundance": BrayCurtis,
}
"""The kernel of each role. The levels of an ordinal may stand for the word."""


def guessed_kernels(rows: Rows) -> dict[str, Kernel]:
    """Return a kernel for each column that varies, by its role or by its values.

    >>> guessed_kernels(Rows({"age": [31.0, 46.0], "sex": ["f", "m"]}))
    {'age': Standardised(), 'sex': Category(shares="observed", missing="error")}
    """  # noqa: E501  (a doctest shows kernels on one line)
    found, constant = {}, []
    for name, column in rows.columns.items():
        role = rows.roles.get(name)
        if role == "ignored":
            continue
        if _is_constant(column):
            constant.append(name)
        else:
            found[name] = kernel_of(role or role_of(column, name), name)
    if constant:
        warn(
            f"column {first_names(list(map(repr, constant)))} holds the same in all rows, and is "
            "left out",
            DataWarning,
        )
    if not found:
        raise InvalidInput("no column varies, so that there is nothing to compare rows by")
    return found


def kernel_of(role: str | Sequence[Hashable], name: str) -> Kernel:
    """Return the kernel of a role, or that of an ordinal whose levels are given."""
    if not isinstance(role, str):
        return Ordinal(tuple(role))
    if role not in KERNELS:
        raise InvalidInput(
            f"column {name!r} has the role {role!r}, which is none of {', '.join(KERNELS)}"
        )
    return KERNELS[role]()


def role_of(column: Points, name: str) -> str:
    """Return the role of a column by what it holds.

    >>> role_of([{1}, {1, 2}], "tags"), role_of(["a", "b", "a"], "kind")
    ('set', 'category')
    """
    if is_array_api_obj(column) and as_numpy(column).dtype.kind in "iufc":
        return "number"
    present = [v for v in members(column) if not is_missing(v)]
    first = present[0] if present else None
    if isinstance(first, bool | np.bool_):
        return "category"
    if isinstance(first, Number) or _is_vector(first):
        return "number"
    if isinstance(first, str):
        return _of_strings(present)
    if isinstance(first, Set):
        return "set"
    if is_graph(first):
        return "graph"
    raise InvalidInput(
        f"column {name!r} holds {type(first).__name__}, for which no kernel is known; name one: "
        f"Columns({{{name!r}: ...}})"
    )


def _of_strings(present: list[Any]) -> str:
    levels = len(set(present))
    return "category" if levels <= min(MOST_LEVELS, max(2, len(present) // 2)) else "text"


def _is_vector(v: Any) -> bool:
    is_row = isinstance(v, list | tuple) or getattr(v, "ndim", 0) == 1
    return is_row and len(v) > 0 and all(isinstance(part, Number) for part in v)


def _is_constant(column: Points) -> bool:
    """Whether all values are there and equal; what cannot be compared is taken to differ."""
    if how_many(column) < 2:
        return False
    if is_array_api_obj(column):
        values = as_numpy(column)
        return bool(np.all(values == values[:1]))
    try:
        return len({Graph.read(v) if is_graph(v) else hashable(v) for v in members(column)}) == 1
    except InvalidInput:
        return False
