"""Missing values: the words for them, and what the user decides to do about them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mercer.check import Array
from mercer.data.imputation import AXES, impute
from mercer.data.table import Role, Table, as_labels, quote_names, row_place
from mercer.errors import Advice, InvalidInput, InvalidParameter
from mercer.points import read_only

Missing: TypeAlias = str | Mapping[str, str]
"""One word for numbers and factors, or a word for each of them."""

MISSING_WORDS = frozenset({"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None"})
"""Cells that say that there is no value."""

NONE = "None"
"""What programs write for a missing number or date, and people as an answer beside other words."""

MISSING_LEVEL = "(missing)"
"""The level that stands for all categories that are missing."""

NUMBERS = ("error", "drop", "mean", "pca", "keep")
FACTORS = ("error", "drop", "mode", "level", "keep")


class Policies(NamedTuple):
    """The treatment of missing numbers, and of missing categories."""

    number: str
    factor: str


POINTS_ONLY = Policies("error", "keep")
WORDS = {
    "error": POINTS_ONLY,
    "drop": Policies("drop", "drop"),
    "mean": Policies("mean", "keep"),
    "pca": Policies("pca", "keep"),
    "mode": Policies("error", "mode"),
    "level": Policies("error", "level"),
    "keep": Policies("keep", "keep"),
}


def policies(missing: Any) -> Policies:
    """Return what one word, or a word for numbers and one for factors, asks for.

    >>> policies("drop"), policies({"number": "mean", "factor": "level"})
    (Policies(number='drop', factor='drop'), Policies(number='mean', factor='level'))
    """
    if isinstance(missing, Policies):
        return missing
    if isinstance(missing, str) and missing in WORDS:
        return WORDS[missing]
    if not isinstance(missing, Mapping):
        raise InvalidParameter(
            f"missing must be one of {', '.join(WORDS)}, or a mapping of 'number' and 'factor' to "
            f"such words, found {missing!r:.60}"
        )
    known = {"number": NUMBERS, "factor": FACTORS}
    for role, word in missing.items():
        if role not in known:
            raise InvalidParameter(
                f"missing: {role!r:.40} is not a kind of column: a mapping says what happens to "
                "every 'number' and every 'factor', as {'number': 'mean', 'factor': 'level'}"
            )
        if word not in known[role]:
            raise InvalidParameter(
                f"missing: {role!r:.40} cannot be {word!r:.40}; a number is one of "
                f"{', '.join(NUMBERS)}, a factor one of {', '.join(FACTORS)}"
            )
    return POINTS_ONLY._replace(**missing)


def settled(table: Table, missing: Missing | Policies = "error") -> Table:
    """Return a table whose missing numbers and categories were treated as asked.

    ``"error"`` counts missing numbers and names their columns; ``"drop"`` leaves out the rows that
    lack a number or a category; ``"mean"`` puts the mean of the column for a number, ``"pca"``
    what two principal axes of the active columns say of it (`mercer.data.impute`); ``"mode"``
    puts the most frequent category of the column (of several the first in the alphabet);
    ``"level"`` makes a level of their own of missing categories; ``"keep"`` leaves NaN and None,
    which kernels refuse. A word that speaks of numbers alone leaves categories as they are, for
    factors are beside the points, and one that speaks of categories alone refuses missing numbers;
    a mapping says both. A factor of which nothing is known costs no row. Where values were put,
    ``imputed`` of the table says.

    >>> table = Table.of({"x": [1.0, np.nan, 3.0], "team": ["a", "b", None]})
    >>> settled(table, "mean").matrix().ravel()
    array([1., 2., 3.])
    >>> len(settled(table, "drop"))
    1
    >>> both = settled(table, {"number": "mean", "factor": "level"})
    >>> both.column("team").values.tolist()
    ['a', 'b', '(missing)']
    >>> settled(table)
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: 1 number is missing, in column "x" (1), the first in row 2. Say what to do: missing='drop' leaves out 2 of 3 rows, missing='mean' puts the mean of the column
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    asked = policies(missing)
    _refuse_infinite(table)
    holes = np.isnan(table.numbers)
    gaps = {} if asked.factor == "keep" else _gaps(table)
    if asked.number == "error" and holes.any():
        raise _missing(_numeric_names(table), holes, table, OF_NUMBERS)
    if asked.factor == "error" and gaps:
        lost = np.column_stack(list(gaps.values()))
        raise _missing(list(gaps), lost, table, OF_CATEGORIES)
    table = _dropped(table, holes, gaps, asked)
    if asked.number in ("mean", "pca") and holes.any():
        table = _with_numbers(table, asked.number)
    if asked.factor in ("mode", "level") and gaps:
        table = _with_labels(table, list(gaps), asked.factor)
    return table


def _gaps(table: Table) -> dict[str, Array]:
    """Return where categories are missing, of the factors that have any and lack some."""
    found = {}
    for column in table.columns():
        if column.role is Role.FACTOR:
            is_lost = np.array([value is None for value in as_labels(column.values)], bool)
            if is_lost.any() and not is_lost.all():
                found[column.name] = is_lost
    return found


def _numeric_names(table: Table) -> list[str]:
    pairs = zip(table.names, table.roles, strict=True)
    return [name for name, role in pairs if role is Role.NUMBER]


def _refuse_infinite(table: Table) -> None:
    infinite = np.isinf(table.numbers)
    if not infinite.any():
        return
    i, j = (int(k) for k in np.argwhere(infinite)[0])
    raise InvalidInput(
        f'{row_place(table, i)}, column "{_numeric_names(table)[j]}" is {table.numbers[i, j]}, '
        f"which no kernel can use; correct it, or declare it missing with {NA}",
        NA,
    )


NA = Advice("na")
WAYS = {way: Advice("missing", way) for way in ("drop", "mean", "level", "mode")}
OF_NUMBERS = (("number is", "numbers are"), f"{WAYS['mean']} puts the mean of the column")
OF_CATEGORIES = (
    ("category is", "categories are"),
    f"{WAYS['level']} makes a level of them, {WAYS['mode']} puts the most frequent one",
)
"""What is missing, one or many, and what else can be done."""


def _missing(
    names: list[str], holes: Array, table: Table, told: tuple[tuple[str, str], str]
) -> InvalidInput:
    """Return the refusal of a table in which something is missing."""
    counts = holes.sum(axis=0)
    where = [f'"{names[j]}" ({counts[j]})' for j in np.argsort(-counts, kind="stable")[:6]]
    where = [text for text in where if not text.endswith("(0)")]
    total, columns = int(counts.sum()), int(np.sum(counts > 0))
    more = f" and {columns - len(where)} more" if columns > len(where) else ""
    first = row_place(table, int(np.argmax(holes.any(axis=1))))
    lost = [holes.any(axis=1), np.isnan(table.numbers).any(axis=1), *_gaps(table).values()]
    rows = int(np.any(lost, axis=0).sum())  # all that "drop" leaves out
    (one, many), advice = told
    return InvalidInput(
        f"{total} {one if total == 1 else many} missing, in column{'s' * (columns > 1)} "
        f"{', '.join(where)}{more}, the first in {first}. Say what to do: {WAYS['drop']} leaves "
        f"out {rows} of {len(table)} rows, {advice}",
        *WAYS.values(),
    )


def _dropped(table: Table, holes: Array, gaps: Mapping[str, Array], asked: Policies) -> Table:
    nobody = np.zeros(len(table), bool)
    no_number = holes.any(axis=1) if asked.number == "drop" else nobody
    no_category = np.any([*gaps.values()], axis=0) if asked.factor == "drop" and gaps else nobody
    kept = np.flatnonzero(~(no_number | no_category))
    if len(kept) == len(table):
        return table
    if len(kept) == 0:
        raise InvalidInput(
            "every row lacks a number or a category, so that none is left; impute or choose"
        )
    parts = [
        f"{np.sum(lost)} without a {what}"
        for lost, what in ((no_number, "number"), (no_category, "category"))
        if lost.any()
    ]
    note = f"{len(table) - len(kept)} of {len(table)} rows left out: {', '.join(parts)}"
    return replace(table.picked(kept), notes=(*table.notes, note))


def _with_numbers(table: Table, policy: str) -> Table:
    """Put the mean of the column, or what principal axes say, where a number is missing.

    Axes are those of active columns; supplementary ones take their means.
    """
    holes, names = np.isnan(table.numbers), _numeric_names(table)
    empty = [name for name, h in zip(names, holes.T, strict=True) if h.all()]
    if empty:
        raise InvalidInput(
            f"column {quote_names(empty)} has no number at all, hence no mean; "
            "make it supplementary by its role, or leave it out of the file"
        )
    numbers = np.where(holes, np.nanmean(table.numbers, axis=0), table.numbers)
    how = "the mean of the column"
    if policy == "pca":
        active = np.array([j for j, name in enumerate(names) if name in table.active], dtype=int)
        known = ~holes[:, active].all(axis=1)  # of a row without any number axes say nothing
        cells = np.ix_(np.flatnonzero(known), active)
        part = table.numbers[cells]
        count = min(AXES, max(min(len(part) - 2, len(active) - 1), 0))
        numbers[cells] = impute(part, count).values
        how = f"what {count} principal axes say of them"
    lost = int(holes.sum())
    note = f"{lost} missing number{'s' if lost > 1 else ''} replaced by {how}"
    masks = {n: read_only(m.copy()) for n, m in zip(names, holes.T, strict=True) if m.any()}
    imputed = {**table.imputed, **masks}
    return replace(table, numbers=read_only(numbers), notes=(*table.notes, note), imputed=imputed)


PLAUSIBLE, FEWEST_ROWS, MOST_CELLS = 20, 10, 100_000
"""Tables that are drawn to see how far to trust numbers that were put in; their rows and cells."""


def plausible_values(table: Table) -> Array | None:
    """Return the active columns of tables that what is known leaves open, None if unknown.

    The first index counts the tables; cells that were measured are the same in all. A row of which
    nothing is known is each time another one of those that are.
    """
    names = [name for name in table.active if name in table.imputed]
    active = list(table.active)
    if not names or not 0 < len(table) * len(active) <= MOST_CELLS:
        return None
    values = table.matrix().copy()
    for name in names:
        values[table.imputed[name], active.index(name)] = np.nan
    is_lost = np.isnan(values).all(axis=1)
    known = values[~is_lost]
    count = min(AXES, len(active) - 1)
    if count < 1 or len(known) < FEWEST_ROWS or np.isnan(values).all(axis=0).any():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the iteration need not end where only spread is asked for
        found = impute(known, count, tables=PLAUSIBLE, random_state=0)
    if found.tables is None or not np.all(np.nanstd(known, axis=0) > 0.0):
        return None
    drawn = np.empty((PLAUSIBLE, *values.shape))
    drawn[:, ~is_lost] = found.tables
    rng = np.random.default_rng(0)
    for one in drawn:
        one[is_lost] = one[~is_lost][rng.integers(len(known), size=int(is_lost.sum()))]
    return drawn


def imputed_spread(table: Table) -> float | None:
    """Return by how much plausible values differ where numbers were missing, None if unknown.

    It is the mean over the numbers that were put in, in standard deviations of what is known of
    their columns, of their deviations over tables drawn from what the known numbers leave open
    (`mercer.data.impute`): 0 where the other columns say all of it, 1 where they say nothing.

    >>> x = np.linspace(-1.0, 1.0, 21)
    >>> table = Table.of({"a": x, "b": np.where(x == 0.0, np.nan, 2 * x), "c": x**3})
    >>> round(imputed_spread(settled(table, "pca")), 1)
    0.0
    """
    drawn = plausible_values(table)
    if drawn is None:
        return None
    gaps = np.zeros(drawn.shape[1:], bool)
    for j, name in enumerate(table.active):
        if name in table.imputed:
            gaps[:, j] = table.imputed[name]
    deviations = np.nanstd(np.where(gaps, np.nan, table.matrix()), axis=0)
    spread = drawn.std(axis=0) / deviations
    spread[gaps.all(axis=1)] = 1.0  # nothing is known of such a row
    return float(np.mean(spread[gaps]))


def _with_labels(table: Table, names: list[str], policy: str) -> Table:
    labels, count = dict(table.labels), 0
    imputed = dict(table.imputed)
    for name in names:
        given = as_labels(labels[name])
        imputed[name] = read_only(np.array([label is None for label in given], bool))
        often = Counter(label for label in given if label is not None)
        most = (
            MISSING_LEVEL
            if policy == "level"
            else min(often, key=lambda label: (-often[label], label))
        )
        count += len(given) - often.total()
        labels[name] = read_only(as_labels(most if label is None else label for label in given))
    how = (
        f'made a level "{MISSING_LEVEL}"' if policy == "level" else "replaced by the most frequent"
    )
    whose = "categories {how} of their" if count > 1 else "category {how} of its"
    note = f"{count} missing {whose.format(how=how)} column"
    return replace(table, labels=labels, notes=(*table.notes, note), imputed=imputed)
