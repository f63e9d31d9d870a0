"""Columns of numbers that measure nothing: parts of dates, codes of groups, counts of rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mercer.analysis.columns import EARLIEST, LATEST, WEIGHT, Fate, is_whole, unless_active
from mercer.analysis.doubts import Doubt
from mercer.data.assembly import with_roles
from mercer.data.table import MOST_COLOURS, Column, Role, Table
from mercer.display import listing
from mercer.errors import Advice

CALENDAR: Mapping[str, tuple[int, int]] = {
    r"year|yr|ann[eé]e|jahr": (EARLIEST, LATEST),
    r"quarter|trimestre": (1, 4),
    r"month|mois|monat": (1, 12),
    r"week|semaine|woche": (1, 53),
    r"day|jour|tag": (1, 31),
}
"""Names of the parts of a date, and the whole numbers that they can be."""

GROUPS = re.compile(
    r"(?i)target|class|label|group|cluster|species|diagnosis|treatment|status|outcome|type"
)
"""Names of columns whose numbers tell groups apart; others are doubted, as many are answers."""

MOST_COLUMNS, ROUNDING = 300, 1e-12
"""Columns among which a total is sought, and the share of a variance that rounding can be."""

MADE, ALIKE = 0.99, 0.9
"""R² on the others from which on a column is made of them, and with one, of which it is a copy."""

FEWEST_LEFT = 2
"""Variables that make a map without the parts of a date."""


def is_calendar(column: Column) -> bool:
    """Whether a column says in which year, month or on which day a row was observed.

    >>> is_calendar(Column("year", Role.NUMBER, np.array([2007.0, 2007.0, 2009.0])))
    True
    >>> is_calendar(Column("years", Role.NUMBER, np.array([3.0, 12.0, 7.0])))  # of schooling
    False
    """
    if column.role is not Role.NUMBER or not is_whole(column.values):
        return False
    last = _last_word(column.name)
    least, most = float(column.values.min()), float(column.values.max())
    return any(
        re.fullmatch(f"(?i){words}", last) is not None and first <= least and most <= end
        for words, (first, end) in CALENDAR.items()
    )


def dates_in_parts(table: Table, asked: Collection[str]) -> tuple[str, ...]:
    """Return the active columns that are parts of a date, where others make a map without them."""
    free = [c for c in table.columns() if c.name not in table.supplementary]
    variables = [c for c in free if c.role in (Role.NUMBER, Role.FACTOR)]
    found = [c.name for c in variables if c.name not in asked and is_calendar(c)]
    return tuple(found) if len(variables) - len(found) >= FEWEST_LEFT else ()


def named_by_years(table: Table, parts: Iterable[str]) -> Table:
    """Return a table whose rows are named by their years, if they have no names and years differ.

    >>> series = Table.of({"year": [1947.0, 1948.0], "gnp": [234.3, 259.4]})
    >>> named_by_years(series, ["year"]).row_names
    ('1947', '1948')
    """
    for name in parts if table.row_names is None else ():
        values = table.column(name).values
        if values.min() >= EARLIEST and len(np.unique(values)) == len(values):
            years = tuple(str(int(value)) for value in values)
            return replace(
                table, row_names=years, notes=(*table.notes, f'rows are named by "{name}"')
            )
    return table


def codes_of_groups(table: Table, asked: Collection[str]) -> tuple[str, ...]:
    """Return the columns whose names and numbers say that they code groups.

    >>> table = Table.of({"size": np.linspace(0.0, 1.0, 12), "target": [0, 1, 2] * 4})
    >>> codes_of_groups(table, ()), codes_of_groups(table, ["target"])
    (('target',), ())
    """
    numbers = [c for c in table.columns() if c.role is Role.NUMBER and c.name not in asked]
    found = [c.name for c in numbers if _codes_groups(c)]
    return tuple(found) if len(found) < len(numbers) else ()  # or nothing would be left


def _codes_groups(column: Column) -> bool:
    """Whether numbers are 0, 1, 2, … or 1, 2, 3, …, each of several rows, under such a name."""
    if GROUPS.fullmatch(_last_word(column.name)) is None or not is_whole(column.values):
        return False
    codes, sizes = np.unique(column.values, return_counts=True)
    is_counted = codes[0] in (0.0, 1.0) and bool(np.all(np.diff(codes) == 1.0))
    return is_counted and 1 < len(codes) <= MOST_COLOURS and bool(sizes.min() > 1)


def with_codes(table: Table, codes: Iterable[str]) -> Table:
    """Return a table whose codes of groups are factors."""
    known = dict.fromkeys((name for name in codes if name in table.names), Role.FACTOR)
    return with_roles(table, known) if known else table


def counted_by(table: Table, asked: Collection[str]) -> str | None:
    """Return the column that says how often each combination of categories was seen.

    >>> seen = Table.of({"sex": list("mmff"), "ill": list("ynyn"), "Freq": [3.0, 9.0, 2.0, 8.0]})
    >>> counted_by(seen, ())
    'Freq'
    """
    columns = [c for c in table.columns() if c.role in (Role.NUMBER, Role.FACTOR)]
    numbers = [c for c in columns if c.role is Role.NUMBER]
    factors = [c.values.tolist() for c in columns if c.role is Role.FACTOR]
    if len(numbers) != 1 or len(factors) < 2 or not WEIGHT.fullmatch(numbers[0].name.strip()):
        return None
    name, values = numbers[0].name, numbers[0].values
    is_new = len(set(zip(*factors, strict=True))) == len(table)
    can_weigh = is_whole(values) and values.min() >= 0 and np.count_nonzero(values) > 1
    return name if name not in asked and can_weigh and is_new else None


LONGEST_NAME = 24
"""Characters of a name that is made of categories, which a map shows whole."""


def named_by_categories(table: Table) -> Table:
    """Return a table whose rows are named by their categories, if they have no names.

    The longest categories are cut until names are short, or would be the same; where they are the
    same at once, rows keep their numbers.

    >>> named_by_categories(Table.of({"sex": list("mmff"), "ill": list("ynyn")})).row_names
    ('m·y', 'm·n', 'f·y', 'f·n')
    """
    factors = [c.values.tolist() for c in table.columns() if c.role is Role.FACTOR]
    names = None
    for room in range(LONGEST_NAME, 1, -1) if table.row_names is None and factors else ():
        cut = [[_cut("?" if v is None else str(v), room) for v in column] for column in factors]
        shorter = tuple("·".join(row) for row in zip(*cut, strict=True))
        if len(set(shorter)) < len(shorter):
            break
        names = shorter
        if max(map(len, names)) <= LONGEST_NAME:
            break
    if names is None:
        return table
    return replace(
        table, row_names=names, notes=(*table.notes, "rows are named by their categories")
    )


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"


class Guesses(NamedTuple):
    """Columns of numbers that measure nothing: parts of dates, codes of groups, counts of rows.

    ``unseen`` is how many rows were ``counted`` 0 times.
    """

    dates: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    counted: str | None = None
    unseen: int = 0

    def explained(self, fates: Iterable[Fate]) -> Iterator[Fate]:
        """Yield the fates of columns with the reasons why they were guessed."""
        reasons = dict.fromkeys(self.dates, "it says when a row was observed")
        reasons |= dict.fromkeys(self.codes, "its numbers are codes of groups")
        for fate in fates:
            reason = reasons.get(fate.name)
            yield fate if reason is None else unless_active(fate._replace(reason=reason))
        if self.counted is not None:
            reason = "it says how often each row was seen, and weights the rows"
            yield unless_active(Fate(self.counted, "ignored", reason))

    def doubts(self) -> Iterator[Doubt]:
        """Yield what was guessed, and what makes variables of the columns."""
        if self.dates:
            yield _doubt_of_dates(self.dates)
        if self.codes:
            yield _doubt_of_codes(self.codes)
        if self.counted is not None:
            yield _doubt_of_counted(self.counted, self.unseen)


def guesses_of(table: Table, asked: Collection[str], *, weighs: bool) -> Guesses:
    """Return what is guessed of columns that were not ``asked`` for as variables.

    ``weighs`` is whether a column may weight the rows.
    """
    codes = codes_of_groups(table, asked)
    table = with_codes(table, codes)
    counted = counted_by(table, asked) if weighs else None
    unseen = 0 if counted is None else int(np.sum(table.column(counted).values == 0.0))
    return Guesses(dates_in_parts(table, asked), codes, counted, unseen)


def _doubt_of_dates(parts: tuple[str, ...]) -> Doubt:
    one = len(parts) == 1
    other = Advice("active", list(parts))
    text = (
        f"the {_columns(parts)} {'says' if one else 'say'} when a row was observed, and "
        f"{'was' if one else 'were'} set aside, as time would make an axis of early against "
        f"late; {other} makes {'it a variable' if one else 'them variables'}"
    )
    return Doubt("time", text, parts[0] if one else "table", other)


def _doubt_of_codes(codes: tuple[str, ...]) -> Doubt:
    one = len(codes) == 1
    other = Advice("active", list(codes))
    text = (
        f"the {_columns(codes)} {'holds' if one else 'hold'} few whole numbers under the name of "
        f"a group, and {'was' if one else 'were'} read as groups; {other} reads "
        f"{'it as a measurement' if one else 'them as measurements'}"
    )
    return Doubt("codes", text, codes[0] if one else "table", other)


def _doubt_of_counted(name: str, unseen: int = 0) -> Doubt:
    other = Advice("active", [name])
    left = ""
    if unseen:
        left = f", and {unseen} {'row that was' if unseen == 1 else 'rows that were'} never seen "
        left += f"{'is' if unseen == 1 else 'are'} left out"
    text = (
        f'each row is a different combination of categories, and "{name}" says how often it was '
        f"seen, so the rows are weighted by it{left}; {other} makes it a variable"
    )
    return Doubt("weights", text, name, other)


def total_doubt(columns: Sequence[Column]) -> Iterator[Doubt]:
    """Yield the column that is a linear function of several others, as a total is.

    >>> parts = np.random.default_rng(0).normal(size=(3, 40))
    >>> columns = [Column(name, Role.NUMBER, x) for name, x in zip("abc", parts, strict=True)]
    >>> [d.where for d in total_doubt([*columns, Column("sum", Role.NUMBER, parts.sum(axis=0))])]
    ['sum']
    >>> [*total_doubt(columns)]
    []
    """
    numbers = [c for c in columns if c.role is Role.NUMBER]
    n, p = len(numbers[0].values) if numbers else 0, len(numbers)
    if p <= FEWEST_LEFT or n < 2 * p or p > MOST_COLUMNS:
        return
    matrix = np.column_stack([c.values for c in numbers])
    if not np.all(np.isfinite(matrix)) or np.any(np.ptp(matrix, axis=0) == 0.0):
        return
    related = np.corrcoef(matrix.T)
    unexplained = 1.0 / np.diag(np.linalg.inv(related + ROUNDING * np.eye(p)))
    explained = 1.0 - unexplained * (n - 1) / (n - p)  # adjusted for the number of the others
    closest = np.max(related**2 - np.eye(p), axis=0)
    made = np.where(closest < ALIKE, explained, 0.0)
    best = np.flatnonzero(made >= np.maximum(MADE, made.max() - ROUNDING**0.5))
    if len(best):
        # Of a sum each part is a function of the others; the total is closest to most of them.
        i = int(best[np.argmax(np.sum(related[best] ** 2, axis=1))])
        name, other = numbers[i].name, Advice("supplementary", [numbers[i].name])
        text = (
            f'the column "{name:.80}" follows from the others (R² = {made[i]:.3f}), as a total or '
            f"the last part of a whole does, so it counts twice; {other} keeps it out of the axes"
        )
        yield Doubt("total", text, name, other)


def _columns(names: tuple[str, ...]) -> str:
    noun = "column" if len(names) == 1 else "columns"
    quoted = [f'"{name:.80}"' for name in names]
    return f"{noun} {listing(quoted)}"


def _last_word(name: str) -> str:
    """Return the last word of a name.

    >>> _last_word("survey_year"), _last_word("Month")
    ('year', 'Month')
    """
    words = re.findall(r"[^\W_]+", name)
    return words[-1] if words else ""
