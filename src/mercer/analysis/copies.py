"""Columns that say the same twice: classes cut from a number, and copies under another name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from mercer.analysis.columns import FEWEST_ROWS
from mercer.analysis.doubts import Doubt
from mercer.check import Array
from mercer.data.missing import MISSING_LEVEL
from mercer.data.table import Column, Role, Table
from mercer.display import listing
from mercer.errors import Advice

FEWEST_CLASSES, FEWEST_MEMBERS = 3, 2
"""Classes that are taken for intervals of a number, as two often lie apart by nature, and members
of each."""

SAME = 0.9999
"""The correlation from which on two columns are one measurement in two units."""

FEWEST_APART = 5
"""Rows that differ from the commonest value of a column whose copies are told."""

MOST_COLUMNS, NAMED = 300, 3
"""Columns among which copies are sought, and how many pairs are named."""


def classes_of_numbers(table: Table) -> dict[str, str]:
    """Return the factors whose classes are intervals of a number that was measured, and of which.

    >>> age = np.array([21.0, 23.0, 30.0, 34.0, 41.0, 44.0, 22.0, 35.0, 47.0, 39.0])
    >>> cut = ["young", "young", "mid", "mid", "old", "old", "young", "mid", "old", "mid"]
    >>> table = Table.of({"age": age, "age_group": cut, "team": list("abcabcabca")})
    >>> classes_of_numbers(table)
    {'age_group': 'age'}
    """
    numbers = [c for c in table.columns() if c.role is Role.NUMBER]
    factors = [c for c in table.columns() if c.role is Role.FACTOR]
    if not numbers or not factors or len(table) < FEWEST_ROWS:
        return {}
    measured = np.column_stack([_measured(table, column) for column in numbers])
    found: dict[str, str] = {}
    for factor in factors:
        places = _of_intervals(factor.values, measured)
        if len(places):
            found[factor.name] = numbers[int(places[0])].name
    return found


def _measured(table: Table, column: Column) -> Array:
    """Return the numbers of a column, without those that were put in for missing ones."""
    put = table.imputed.get(column.name)
    return column.values if put is None else np.where(put, np.nan, column.values)


def _of_intervals(labels: Array, numbers: Array) -> Array:
    """Return the columns of numbers whose ranges in the classes of a factor do not meet."""
    known = np.array([v is not None and v != MISSING_LEVEL for v in labels.tolist()])
    levels, codes, sizes = np.unique(
        labels[known].astype(str), return_inverse=True, return_counts=True
    )
    if len(levels) < FEWEST_CLASSES or sizes.min() < FEWEST_MEMBERS:
        return np.zeros(0, int)
    sorted_by_class = numbers[known][np.argsort(codes, kind="stable")]
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    low = np.fmin.reduceat(sorted_by_class, starts, axis=0)
    high = np.fmax.reduceat(sorted_by_class, starts, axis=0)
    order = np.argsort(low, axis=0)
    low, high = (np.take_along_axis(ends, order, axis=0) for ends in (low, high))
    # A class of which no number is known compares as False.
    return np.flatnonzero(np.all(high[:-1] < low[1:], axis=0))


def doubt_of_classes(cut: Mapping[str, str]) -> Doubt:
    """Return that classes of numbers were set aside, since the numbers say more."""
    names = list(cut)
    one, other = len(names) == 1, Advice("active", names)
    pairs = listing([f'"{name:.80}" of "{cut[name]:.80}"' for name in names], NAMED)
    text = (
        f"the classes {pairs} are intervals of that number, which says the same more finely, so "
        f"{'they were' if one else 'all these were'} set aside and nothing counts twice; {other} "
        f"lets {'them' if one else 'all'} shape the axes too"
    )
    return Doubt("copies", text, names[0] if one else "table", other)


def copies_doubt(columns: Sequence[Column]) -> Iterator[Doubt]:
    """Yield the columns that are others in another unit, or under other names of categories.

    >>> celsius = np.array([20.0, 21.5, 18.0, 25.0, 30.0, 11.0, 14.0, 22.0, 19.0, 27.0])
    >>> columns = [Column("c", Role.NUMBER, celsius), Column("f", Role.NUMBER, 32 + 1.8 * celsius)]
    >>> next(copies_doubt(columns)).text.partition(",")[0]
    '"f" says the same as "c"'
    """
    found = dict([*_copied_numbers(columns), *_copied_factors(columns)])
    if not found:
        return
    names = list(found)
    one, other = len(names) == 1, Advice("supplementary", names)
    pairs = [f'"{name:.80}" says the same as "{found[name]:.80}"' for name in names]
    text = (
        f"{listing(pairs, NAMED)}, in another unit or under other names, so it counts twice; "
        f"{other} keeps {'it' if one else 'the copies'} out of the axes"
    )
    yield Doubt("copies", text, names[0] if one else "table", other)


def _copied_numbers(columns: Iterable[Column]) -> Iterator[tuple[str, str]]:
    """Yield the numbers that are a linear function of an earlier column."""
    numbers = [c for c in columns if c.role is Role.NUMBER]
    if not 1 < len(numbers) <= MOST_COLUMNS or len(numbers[0].values) < FEWEST_ROWS:
        return
    matrix = np.column_stack([c.values for c in numbers])
    if not np.all(np.isfinite(matrix)):
        return
    # Of columns that are 0 but for a row or two, any pair may be alike by that row alone.
    apart = [len(x) - np.unique(x, return_counts=True)[1].max() for x in matrix.T]
    varying = np.flatnonzero(np.array(apart) >= FEWEST_APART)
    if len(varying) < 2:
        return
    related = np.triu(np.abs(np.corrcoef(matrix[:, varying].T)), 1) >= SAME
    for j in np.flatnonzero(related.any(axis=0)):
        first = int(np.argmax(related[:, j]))
        yield numbers[varying[j]].name, numbers[varying[first]].name


def _copied_factors(columns: Iterable[Column]) -> Iterator[tuple[str, str]]:
    """Yield the factors that divide the individuals as an earlier one does."""
    known: dict[bytes, str] = {}
    for column in columns:
        if column.role is not Role.FACTOR or len(column.values) < FEWEST_ROWS:
            continue
        labels = column.values.astype(str)
        _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        if len(first) < 2:
            continue
        # Classes numbered in the order in which they first occur, whatever they are called.
        key = np.argsort(np.argsort(first))[codes].astype(np.int64).tobytes()
        if key in known:
            yield column.name, known[key]
        known.setdefault(key, column.name)
