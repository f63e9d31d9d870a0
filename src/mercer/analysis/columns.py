"""What becomes of each column of a table: a variable, a name, beside the analysis, or left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mercer.check import Array
from mercer.data.assembly import are_numbers
from mercer.data.dialect import is_number
from mercer.data.table import Column, Role, Table, as_labels
from mercer.errors import Advice
from mercer.points import read_only

FEWEST_ROWS = 10
"""Rows from which on a column that counts 1, 2, 3, … is taken for the numbers of the rows."""

SHORTEST_RUN = 5
"""Rows of a group within which a running index starts again."""

EARLIEST, LATEST = 1800, 2100
"""Whole numbers that can be years."""

IDENTIFIER = re.compile(
    r"(?i)|(.*[\W_])?(id|idx|index|no|nr|num|number|code|key|obs|observation|case|sample|subject|"
    r"patient|row|rownames|row\.names|unnamed.*)"
)
"""Names of columns whose different whole numbers tell rows apart rather than measure them."""

GAPS = "some of its counts are missing, and profiles need all"
"""Why a column is beside a correspondence analysis."""

CUT = "its classes are intervals of a number, which says the same more finely"
"""Why a factor is beside an analysis that reads the number."""

COUNTED = "it numbers the rows and measures nothing"
"""What such a column does."""

TIME = re.compile(
    r"(?i)(.*[\W_])?(years?|yr|annees?|années?|jahre?|dates?|days?|jours?|months?|mois|weeks?|"
    r"hours?|heures?|time|seconds?|quarter)([\W_].*)?"
)
"""Names of columns that hold times."""

SPAN = re.compile(
    r"(?i)(.*[\W_])?(years|annees|années|jahre|days|jours|months|mois|weeks|hours|heures|seconds)"
    r"([\W_].*)?"
)
"""Names of columns that say how long something lasted, unless their values rise row by row."""

YEAR = re.compile(r"(?i).*(year|ann[eé]e|jahr).*|yr.*")

UNITS = re.compile(
    r"(?i)mm|cm|dm|m|km|µm|um|nm|mg|kg|g|µg|ml|cl|l|ms|s|min|h|%|percent|pct|share|ratio|usd|eur|"
    r"mv|v|hz|ppm|°c|k"
)
"""Units as names of columns end with them."""

WEIGHT = re.compile(r"(?i)(.*[\W_])?(freq|frequency|counts?|n|weights?|effectif)")
"""Names of columns that count how often a row was seen."""

GROUP = re.compile(
    r"(?i)(.*[\W_])?(target|class|label|group|cluster|type|kind|species|outcome|status|diagnosis|"
    r"treatment|y)"
)
"""Names of columns that say to which group a row belongs."""

FEWEST_COUNTED, MOST_CODES = 3, 5
"""Columns from which on counts have profiles worth a map, and values of a code of groups."""

MOST_CATEGORIES = 100
"""Rows or columns of a table of counts up to which a map can name them."""

FEW_TO_MANY, UNLIKE = 5.0, 20.0
"""The largest count of a usual column in terms of its smallest, and of totals in one unit."""

COMMON, LEAST_SIZE = 0.2, 10
"""The share of the rarer of two answers, and the smallest size of a thing, which is also how many
times larger the largest may be."""

MANY = 20
"""The largest count of a usual table at least: scales of answers end before."""

MEASURED = re.compile(
    r"(?i)(.*[\W_])?(per|rate|index|income|wage|salary|price|cost|debt|savings|gdp|age|score|marks?|"
    r"weight|height|length|width|area|speed|temperature|usd|eur|gbp|dollars?|euros?)([\W_].*)?"
)
"""Names of columns that measure and do not count."""

ALIKE = 3.0
"""Spreads within this factor may well be in one unit."""


class Fate(NamedTuple):
    """What becomes of a column, and why.

    ``use`` is active, supplementary, name or ignored; ``advice`` is the parameter of which the
    reason speaks.
    """

    name: str
    use: str
    reason: str
    advice: Advice | None = None


def is_identifier(column: Column, *, is_first: bool) -> bool:
    """Whether a column of numbers names the rows: different whole numbers that measure nothing.

    A running index does, whatever it is called unless it is a time, and so do different whole
    numbers in a column with the name of an identifier.

    >>> numbers = Column("plot", Role.NUMBER, np.arange(1.0, 21.0))
    >>> is_identifier(numbers, is_first=True)
    True
    >>> is_identifier(Column("day", Role.NUMBER, numbers.values), is_first=True)
    False
    """
    values = column.values
    if not is_whole(values) or len(values) < 2 or TIME.fullmatch(column.name.strip()):
        return False
    if len(np.unique(values)) < len(values):
        return False
    is_called_so = IDENTIFIER.fullmatch(column.name.strip()) is not None
    is_long = len(values) >= FEWEST_ROWS
    return (is_called_so and (is_first or is_long)) or (is_long and bool(np.all(_steps(values))))


def restarts(column: Column) -> int:
    """Return how often a column counts 1, 2, 3, … anew, 0 where it does anything else.

    >>> restarts(Column("index", Role.NUMBER, np.tile(np.arange(1.0, 51.0), 4)))
    4
    """
    values = column.values
    if not is_whole(values) or TIME.fullmatch(column.name.strip()):
        return 0
    starts = np.flatnonzero(np.r_[True, ~_steps(values)])
    lengths = np.diff(np.r_[starts, len(values)])
    is_so = len(starts) > 1 and len(set(values[starts])) == 1 and lengths.min() >= SHORTEST_RUN
    return len(starts) if is_so else 0


def names_with_repeats(column: Column) -> bool:
    """Whether a column is called an identifier, and most of its whole numbers occur once.

    So are the numbers of patients of whom some came twice.

    >>> numbers = np.r_[np.arange(101.0, 119.0), 104.0, 117.0]
    >>> names_with_repeats(Column("ID", Role.NUMBER, numbers))
    True
    >>> names_with_repeats(Column("size", Role.NUMBER, numbers))
    False
    """
    values = column.values
    if len(values) < FEWEST_ROWS or not is_whole(values):
        return False
    is_called_so = IDENTIFIER.fullmatch(column.name.strip()) is not None
    counts = np.unique(values, return_counts=True)[1]
    return is_called_so and 2 * int(np.sum(counts == 1)) > len(values)


def is_time(column: Column) -> bool:
    """Whether a column of numbers holds years, days or other times.

    >>> is_time(Column("YearBuilt", Role.NUMBER, np.array([1961.0, 1958.0, 2003.0])))
    True
    >>> is_time(Column("height", Role.NUMBER, np.array([1961.0, 1958.0, 2003.0])))
    False
    >>> is_time(Column("hours", Role.NUMBER, np.array([38.5, 40.0, 36.0])))  # of work: a length
    False
    """
    values, name = column.values, column.name.strip()
    if TIME.fullmatch(name):
        is_length = SPAN.fullmatch(name) is not None and bool(np.any(np.diff(values) < 0))
        if not is_length:
            return True
    are_years = is_whole(values) and values.min() >= EARLIEST and values.max() <= LATEST
    is_ordered = len(values) >= SHORTEST_RUN and bool(np.all(np.diff(values) == 1.0))
    return are_years and (YEAR.fullmatch(name) is not None or is_ordered)


def is_constant(column: Column) -> bool:
    """Whether all individuals have the same in a column."""
    if column.role is Role.NUMBER:
        return bool(np.all(column.values == column.values[:1]))
    return len(column.levels) < 2 and not any(v is None for v in column.values.tolist())


def are_counts(table: Table, columns: Sequence[Column]) -> bool:
    """Whether columns may be counts: named rows and columns, nonnegative whole numbers.

    Cells that are missing, or were, say nothing. Answers beside sizes are a table of people.

    >>> cells = {"wife": [156, 124, 0], "both": [14.0, np.nan, 153.0]}
    >>> table = Table.of(cells, row_names=["laundry", "meal", "holidays"])
    >>> are_counts(table, [*table.columns()])
    True
    >>> people = {"smokes": [0, 1, 1, 0, 0], "age": [19, 33, 20, 21, 18]}
    >>> table = Table.of(people, row_names=["Ann", "Bob", "Cid", "Dan", "Eve"])
    >>> are_counts(table, [*table.columns()])
    False
    """
    if table.row_names is None or len(columns) < 2:
        return False
    known = [measured_values(table, column) for column in columns]
    if not all(is_whole(values) and values.min() >= 0 for values in known):
        return False
    are_named = all(not re.fullmatch(r"x?\d+", c.name) for c in columns)
    return are_named and not (any(map(_is_answer, known)) and any(map(_is_size, known)))


def _is_answer(values: Array) -> bool:
    """Whether there are two numbers, both of them common, as in answers of yes or no."""
    return len(sizes := np.unique(values, return_counts=True)[1]) == 2 and bool(
        sizes.min() >= COMMON * len(values)
    )


def _is_size(values: Array) -> bool:
    """Whether all numbers are of one size and far from 0, as ages and weights are."""
    return bool(values.min() >= LEAST_SIZE and values.max() < LEAST_SIZE * values.min())


def measured_values(table: Table, column: Column) -> Array:
    """Return the numbers of a column that were measured: neither missing nor put in."""
    known = np.isfinite(column.values)
    put = table.imputed.get(column.name)
    values: Array = column.values[known if put is None else known & ~put]
    return values


def is_contingency(table: Table, columns: Sequence[Column]) -> bool:
    """Whether a table of counts crosses categories, so that its profiles are what it shows.

    Rows have words for names, no cell is missing, and there are no more rows or columns than a map
    can name. Counts range from few to many, where marks, ages and percentages do not; scales of
    answers end early, columns in different units would differ more in their totals, and no name
    speaks of a unit or of money.

    >>> tasks = {"wife": [156, 82, 12, 0], "both": [14, 15, 46, 153], "husband": [2, 75, 23, 6]}
    >>> table = Table.of(tasks, row_names=["laundry", "driving", "official", "holidays"])
    >>> is_contingency(table, [*table.columns()])
    True
    >>> marks = {"algebra": [12, 15, 9, 11], "botany": [14, 15, 16, 13], "music": [12, 7, 13, 16]}
    >>> table = Table.of(marks, row_names=["Ann", "Bob", "Cid", "Dan"])
    >>> is_contingency(table, [*table.columns()])
    False
    """
    if len(columns) < FEWEST_COUNTED or not FEWEST_COUNTED <= len(table) <= MOST_CATEGORIES:
        return False
    if len(columns) > MOST_CATEGORIES or not are_counts(table, columns):
        return False
    if any(_ends_with_unit(c.name) or MEASURED.fullmatch(c.name) for c in columns):
        return False
    cells = np.column_stack([column.values for column in columns])
    has_gaps = not np.all(np.isfinite(cells)) or any(c.name in table.imputed for c in columns)
    if has_gaps or 2 * sum(map(is_number, table.row_names or ())) >= len(table):
        return False
    totals = cells.sum(axis=0)
    ranges = cells.max(axis=0) / np.maximum(cells.min(axis=0), 1.0)
    is_wide = np.median(ranges) >= FEW_TO_MANY and ranges.min() >= ALIKE
    is_in_one_unit = totals.max() <= UNLIKE * totals.min()
    are_many = np.median(cells.max(axis=0)) >= MANY
    return bool(is_wide and are_many and is_in_one_unit and np.all(cells.sum(axis=1) > 0))


def counted_columns(
    table: Table, columns: Sequence[Column], asked: frozenset[str]
) -> tuple[Column, ...]:
    """Return the columns of counts that cross categories, none if they do not.

    Columns with gaps are not among them, as profiles need all counts, if most columns have none.

    >>> tasks = {"wife": [156, 82, 12, 0], "both": [14, 15, 46, 153], "husband": [2, 75, 23, 6]}
    >>> rows = ["laundry", "driving", "official", "holidays"]
    >>> table = Table.of(tasks, row_names=rows)
    >>> [c.name for c in counted_columns(table, [*table.columns()], frozenset())]
    ['wife', 'both', 'husband']
    """
    whole = tuple(c for c in columns if not np.any(table.imputed.get(c.name, False)))
    gaps = [c.name for c in columns if c not in whole]
    if 2 * len(gaps) >= len(columns) or asked.intersection(gaps) or not are_counts(table, columns):
        return ()
    return whole if is_contingency(table, whole) else ()


def _ends_with_unit(name: str) -> bool:
    """Whether the name of a column ends with a unit after another word.

    >>> _ends_with_unit("debt_eur"), _ends_with_unit("length (mm)"), _ends_with_unit("H")
    (True, True, False)
    """
    words = re.split(r"[\s_.(\[/]+", name.strip().rstrip(")]"))
    return len(words) > 1 and UNITS.fullmatch(words[-1]) is not None


def share_a_unit(names: Iterable[str]) -> bool:
    """Whether the names of columns end with one unit, or are the numbers of one series.

    >>> share_a_unit(["length_mm", "width_mm"]), share_a_unit(["V1", "V2", "V3"])
    (True, True)
    >>> share_a_unit(["height", "weight"]), share_a_unit(["length_mm", "mass_g"])
    (False, False)
    """
    names = list(names)
    if len(names) < 2:
        return False
    stems = {re.sub(r"\d+([.,]\d+)?", "#", name) for name in names}
    if len(stems) == 1 and any(re.search(r"\d", name) for name in names):
        return True
    units = {re.split(r"[\s_.(\[/]+", name.strip().rstrip(")]"))[-1].lower() for name in names}
    return len(units) == 1 and UNITS.fullmatch(units.pop()) is not None


def spread_ratio(matrix: Array) -> float:
    """Return the largest standard deviation of a column by the smallest that is not 0.

    >>> spread_ratio(np.array([[0.0, 0.0, 5.0], [2.0, 6.0, 5.0]]))
    3.0
    """
    spreads = np.std(matrix, axis=0)
    spreads = spreads[spreads > 0]
    return float(spreads.max() / spreads.min()) if len(spreads) else 1.0


def with_names(table: Table, name: str) -> Table:
    """Return a table whose rows are named by a column of whole numbers, unless they have names."""
    values = table.column(name).values
    labels = as_labels([str(int(v)) for v in values])
    numeric = [n for n, role in zip(table.names, table.roles, strict=True) if role is Role.NUMBER]
    roles = zip(table.names, table.roles, strict=True)
    return replace(
        table,
        roles=tuple(Role.IDENTIFIER if n == name else role for n, role in roles),
        numbers=read_only(np.delete(table.numbers, numeric.index(name), axis=1)),
        labels={**table.labels, name: read_only(labels)},
        row_names=table.row_names or tuple(labels.tolist()),
        notes=(*table.notes, f'rows are named by "{name}"'),
    )


def is_whole(values: Array) -> bool:
    """Whether all values are whole numbers, and there is one."""
    if values.dtype.kind not in "iuf" or len(values) == 0:
        return False
    return bool(np.all(np.isfinite(values)) and np.all(values == np.floor(values)))


def _steps(values: Array) -> Array:
    steps: Array = np.diff(values) == 1.0
    return steps


VARIABLES = (Role.NUMBER, Role.FACTOR)
"""What columns hold that can make axes."""


def in_order(fates: Iterable[Fate], table: Table) -> tuple[Fate, ...]:
    """Return fates in the order of the columns, those that are gone at the end."""
    order = {name: i for i, name in enumerate(table.names)}
    return tuple(sorted(fates, key=lambda fate: order.get(fate.name, len(order))))


def name_fates(table: Table, identifiers: Sequence[str]) -> Iterator[Fate]:
    """Yield what becomes of the columns that name rows; the first does, others tell nothing."""
    is_named = False
    for column in table.columns():
        if column.role is Role.IDENTIFIER:
            yield Fate(column.name, "name", "it names the rows")
            is_named = True
    for name in identifiers:
        use = "ignored" if is_named or table.row_names is not None else "name"
        yield unless_active(Fate(name, use, COUNTED))
        is_named = True


def unless_active(fate: Fate) -> Fate:
    """Return the fate of a column that looks like no measurement, and what makes it one."""
    other = Advice("active", [fate.name])
    return fate._replace(reason=f"{fate.reason}; {other} makes it a variable", advice=other)


def sorted_out(table: Table, asked: frozenset[str]) -> tuple[Table, list[Fate]]:
    """Return the table without columns that say nothing, and what becomes of those beside."""
    found: list[Fate] = []
    dropped: list[str] = []
    for column in table.columns():
        name, role = column.name, column.role
        if role is Role.IDENTIFIER:
            continue
        if name in table.supplementary:
            found.append(Fate(name, "supplementary", "it was asked for"))
        elif role is Role.TEXT and are_numbers(column.values) and _all_differ(column.values):
            found.append(Fate(name, "ignored", COUNTED))
        elif role in (Role.DATE, Role.TEXT):
            what = "dates" if role is Role.DATE else "texts"
            found.append(Fate(name, "ignored", f"it holds {what}, which no analysis here reads"))
        elif role is Role.NUMBER and name not in asked and restarts(column):
            times = restarts(column)
            why = f"it numbers the rows of each of {times} groups from {column.values[0]:g} on"
            found.append(unless_active(Fate(name, "supplementary", why)))
            table = table.with_supplementary(name)
        elif role is Role.NUMBER and name not in asked and names_with_repeats(column):
            why = "it numbers individuals, some of whom have several rows"
            found.append(unless_active(Fate(name, "supplementary", why)))
            table = table.with_supplementary(name)
        elif is_constant(column):
            dropped.append(name)
    variables = [n for n, r in zip(table.names, table.roles, strict=True) if r in VARIABLES]
    if set(variables) - set(dropped) - table.supplementary:
        found += [Fate(name, "ignored", "all individuals have the same value") for name in dropped]
        table = table.without(dropped)
    return table, found


def _all_differ(labels: Array) -> bool:
    return len(set(labels.tolist())) == len(labels)
