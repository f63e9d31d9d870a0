"""Doubts about the data of a table, before any map is drawn: counts, codes, times, gaps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from mercer.analysis.columns import (
    FEWEST_COUNTED,
    GROUP,
    MOST_CODES,
    are_counts,
    is_time,
    is_whole,
    measured_values,
)
from mercer.analysis.doubts import Doubt
from mercer.check import Array
from mercer.data.assembly import TRANSPOSE, are_samples
from mercer.data.dialect import is_number
from mercer.data.missing import MISSING_LEVEL, imputed_spread
from mercer.data.table import MOST_COLOURS, Column, Role, Table
from mercer.display import listing, spaced
from mercer.errors import Advice

NAMED = 6
"""Columns that a doubt names."""

MOST_IN_FLAG = 12
"""Columns of codes that a flag lists, which can be copied whole."""

SHORTEST_SERIES = 8
"""Columns whose names differ by their numbers alone that make a series."""


def counts_doubt(table: Table, columns: Sequence[Column]) -> Iterator[Doubt]:
    """Yield that a table analysed as measurements may be one of counts."""
    if len(columns) >= FEWEST_COUNTED and are_counts(table, columns):
        other = Advice("method", "ca")
        that = " that were measured" if any(c.name in table.imputed for c in columns) else ""
        text = (
            f"all cells{that} are whole numbers and none is negative: if they are counts, {other} "
            "compares their profiles (correspondence analysis); here each column was read as a "
            "measurement"
        )
        yield Doubt("counts", text, "table", other)


def guess_doubt() -> Iterator[Doubt]:
    """Yield that a table analysed as counts, which nobody said, may be one of measurements."""
    other = Advice("method", "pca")
    text = f"the cells were taken for counts; {other} is for columns that measure something"
    yield Doubt("counts", text, "table", other)


def profiles_doubt(table: Table, columns: Sequence[Column]) -> Iterator[Doubt]:
    """Yield that a table analysed as counts holds numbers that count nothing.

    >>> table = Table.of({"size": [0.5, 1.5, 2.0]})
    >>> [doubt.where for doubt in profiles_doubt(table, [*table.columns()])]
    ['size']
    """
    numbers = [c for c in columns if c.role is Role.NUMBER]
    odd = [c.name for c in numbers if not is_whole(measured_values(table, c))]
    if odd:
        other = Advice("method", "pca")
        which = f'"{odd[0]}"' if len(odd) == 1 else f'"{odd[0]}" and {len(odd) - 1} more'
        text = (
            "correspondence analysis compares the profiles of counts, which add up along rows and "
            f"columns, and {which} holds other numbers: of measurements, sums across their units "
            f"mean nothing; {other} reads columns as measurements"
        )
        yield Doubt("counts", text, odd[0], other)


def samples_doubt(table: Table) -> Iterator[Doubt]:
    """Yield that the columns look like the individuals, as samples beside genes do."""
    if are_samples(table):
        text = (
            f"the {spaced(len(table))} rows are the individuals here, but the columns look like "
            "samples: numbers of one kind that rise and fall together; "
            f"{TRANSPOSE} maps the columns instead"
        )
        yield Doubt("samples", text, "table", TRANSPOSE)


def codes_doubt(columns: Sequence[Column]) -> Iterator[Doubt]:
    """Yield the columns of few whole numbers among measurements: they may code groups.

    Columns of one series, such as pixels, are measured alike even where some hold few numbers.

    >>> code = Column("target", Role.NUMBER, np.array([0.0, 1.0, 2.0] * 7))
    >>> size = Column("size", Role.NUMBER, np.linspace(0.0, 1.0, 21))
    >>> [doubt.where for doubt in codes_doubt([size, size, code])]
    ['target']
    """
    numbers = [c for c in columns if c.role is Role.NUMBER]
    found = [c for c in numbers if _is_code(c)]
    series = _series(numbers)
    if 2 * sum(c.name in series for c in found) < len(series):
        found = [c for c in found if c.name not in series]
    label = _label_beside(numbers, series)
    if label is not None:
        yield _doubt_of_label(label, series)
        found = [c for c in found if c is not label]
    found.sort(key=lambda c: GROUP.fullmatch(c.name.strip()) is None)  # what is called one first
    if not found:
        return
    name, first = found[0].name, [c.name for c in found[:MOST_IN_FLAG]]
    other = _as_factors(first)
    if len(found) == 1:
        text = (
            f'the column "{name}" holds only {_held(found[0])} and was read as a measurement; if '
            f"it codes groups, {other} makes it a factor"
        )
    else:
        shown = listing([f'"{c.name:.80}" only {_held(c)}' for c in found], FEWEST_COUNTED)
        them = "them" if len(found) == len(first) else f"the first {len(first)} of them"
        text = (
            f"{len(found)} of {len(columns)} columns hold few different numbers ({shown}) and were "
            f"read as measurements; if they code groups or answers, {other} makes factors of {them}"
        )
    yield Doubt("codes", text, name, other)


def _as_factors(names: list[str]) -> Advice:
    roles = ", ".join(f"{one!r}: 'factor'" for one in names)
    return Advice("roles", names, f"roles={{{roles}}}")


def _series(columns: Sequence[Column]) -> frozenset[str]:
    """Return the columns of a series, which differ by numbers in their names, if most are of one.

    >>> names = [*(f"pixel_{i}_{j}" for i in range(3) for j in range(3)), "digit"]
    >>> sorted(_series([Column(name, Role.NUMBER, np.ones(2)) for name in names]))[:2]
    ['pixel_0_0', 'pixel_0_1']
    """
    stems: dict[str, list[str]] = {}
    for column in columns:
        stem = re.sub(r"\d+([.,]\d+)?", "#", column.name)
        if stem != column.name:
            stems.setdefault(stem, []).append(column.name)
    longest = max(stems.values(), key=len, default=[])
    is_one = len(longest) >= SHORTEST_SERIES and 2 * len(longest) > len(columns)
    return frozenset(longest) if is_one else frozenset()


def _label_beside(columns: Sequence[Column], series: frozenset[str]) -> Column | None:
    """Return the one column outside a series that holds 0, 1, 2, … or 1, 2, 3, … like a label."""
    others = [c for c in columns if c.name not in series] if series else []
    if len(others) != 1 or not is_whole(others[0].values):
        return None
    codes, sizes = np.unique(others[0].values, return_counts=True)
    are_counted = codes[0] in (0.0, 1.0) and bool(np.all(np.diff(codes) == 1.0))
    is_label = are_counted and 1 < len(codes) <= MOST_COLOURS and sizes.min() >= FEWEST_COUNTED
    return others[0] if is_label else None


def _doubt_of_label(label: Column, series: frozenset[str]) -> Doubt:
    low, high = label.values.min(), label.values.max()
    other = _as_factors([label.name])
    text = (
        f'the column "{label.name:.80}" holds the whole numbers {low:g} to {high:g} beside '
        f"{len(series)} columns of one series, and was read as a measurement like these; if it "
        f"says what each row is, {other} keeps it out of the axes and colours the map by it"
    )
    return Doubt("codes", text, label.name, other)


def _held(column: Column) -> str:
    """Return the few numbers that a column holds.

    >>> _held(Column("grade", Role.NUMBER, np.array([1.0, 5.0, 3.0, 1.0])))
    '1, 3, 5'
    """
    return ", ".join(f"{v:g}" for v in np.unique(column.values))


def words_doubt(table: Table) -> Iterator[Doubt]:
    """Yield the factors most levels of which are numbers: a word may have made them factors.

    >>> table = Table.of({"doors": ["2", "4", "none", "2"]}, roles={"doors": "factor"})
    >>> [doubt.where for doubt in words_doubt(table)]
    ['doors']
    """
    for column in table.columns():
        levels = column.levels if column.role is Role.FACTOR else ()
        odd = [level for level in levels if not is_number(level) and level != MISSING_LEVEL]
        if odd and len(levels) > 2 * len(odd):
            name, missing = column.name, Advice("na", odd[:1])
            text = (
                f'"{name}" holds numbers and {listing([repr(word[:40]) for word in odd], 3)}, and '
                f"became a factor; {missing} takes that for missing and reads numbers"
            )
            yield Doubt("words", text, name, missing)


def _is_code(column: Column) -> bool:
    """Whether a column has two numbers, or few whole ones such as 1 to 5, and is no time."""
    values = column.values
    if is_time(column):
        return False
    most = MOST_CODES if is_whole(values) else 2
    return 1 < len(np.unique(values)) <= most and len(values) > 4 * MOST_CODES


def column_doubts(active: Sequence[Column]) -> Iterator[Doubt]:
    """Yield what active columns bring with them: times, missing labels."""
    times = [c.name for c in active if c.role is Role.NUMBER and is_time(c)]
    if times:
        aside = Advice("supplementary", times[:NAMED])
        one = len(times) == 1
        which = listing([f'"{name:.80}"' for name in times], NAMED)
        text = (
            f"the {'column' if one else 'columns'} {which} {'holds' if one else 'hold'} times, "
            f"which {'pulls' if one else 'pull'} the axes towards early against late; {aside} "
            f"keeps {'it' if one else 'them'} out of the axes"
        )
        yield Doubt("time", text, times[0] if one else "table", aside)
    lacks = {c.name: sum(v is None for v in c.values.tolist()) for c in active}
    lacking = sorted((name for name in lacks if lacks[name]), key=lambda name: -lacks[name])
    if lacking:
        total = sum(lacks.values())
        what = "1 category is" if total == 1 else f"{total} categories are"
        where = listing([f'"{name:.80}" ({lacks[name]})' for name in lacking], NAMED)
        text = f'{what} missing, in {where}: "{MISSING_LEVEL}" counts as one more category'
        yield Doubt("missing", text, lacking[0] if len(lacking) == 1 else "table")


def imputed_doubt(table: Table) -> Iterator[Doubt]:
    """Yield how many values were missing and are analysed as if they had been measured.

    >>> from mercer.data.missing import settled
    >>> table = settled(Table.of({"a": [1.0, np.nan, 3.0], "b": [1.0, 2.0, 4.0]}), "mean")
    >>> print(next(imputed_doubt(table)).text)
    1 missing value was imputed, in "a" (1), and is analysed as if measured; missing='drop' leaves
    out its row instead
    """
    numbers, categories = _put_in(table)
    if not numbers and not categories:
        return
    total, drop = sum(numbers.values()) + sum(categories.values()), Advice("missing", "drop")
    whole = int(np.any([*table.imputed.values(), *_lacking(table)], axis=0).sum())
    rows = "its row" if whole == 1 == total else "1 row" if whole == 1 else f"{whole} rows"
    told = []
    if numbers:
        its = sum(numbers.values()) == 1
        what = "1 missing value was" if its else f"{sum(numbers.values())} missing values were"
        measured = f"{'is' if its else 'are'} analysed as if measured{_trust(table)}"
        if table.supplementary.issuperset(numbers):
            measured = (
                f"{'makes' if its else 'make'} no axis, as the "
                f"{'column is' if len(numbers) == 1 else 'columns are'} supplementary"
            )
        told.append(f"{what} imputed, in {_where(numbers)}, and {measured}")
    if categories:
        its = sum(categories.values()) == 1
        what = "1 missing category" if its else f"{sum(categories.values())} missing categories"
        became = f'became {"a level" if len(categories) == 1 else "levels"} "{MISSING_LEVEL}"'
        told.append(f"{what}, in {_where(categories)}, {became}")
    yield Doubt("missing", f"{'; '.join(told)}; {drop} leaves out {rows} instead", "table", drop)


def _put_in(table: Table) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many values of each column were imputed, and how many became a level of it."""
    imputed: dict[str, int] = {}
    levels: dict[str, int] = {}
    for column in table.columns():
        mask = table.imputed.get(column.name)
        if mask is not None and mask.any():
            is_level = column.role is Role.FACTOR and MISSING_LEVEL in column.values[mask].tolist()
            (levels if is_level else imputed)[column.name] = int(mask.sum())
    return imputed, levels


def _where(counts: dict[str, int]) -> str:
    worst = sorted(counts, key=lambda name: -counts[name])
    return listing([f'"{name:.80}" ({counts[name]})' for name in worst], NAMED)


def _lacking(table: Table) -> Iterator[Array]:
    """Yield where categories are missing, for "drop" leaves out those rows too."""
    for column in table.columns():
        if column.role is Role.FACTOR:
            yield np.array([value is None for value in column.values.tolist()], bool)


def _trust(table: Table) -> str:
    """Return how far numbers that were put in could be others, where that is known."""
    spread = imputed_spread(table)
    if spread is None:
        return ""
    return f", although plausible values vary by {spread:.2f} standard deviations of a column"
