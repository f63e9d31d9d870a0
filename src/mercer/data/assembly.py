"""Columns of any origin as a table: their roles, names of rows, and which way round it lies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mercer.check import Array
from mercer.data.dates import dates_of, parse_date
from mercer.data.dialect import is_number
from mercer.data.missing import NONE
from mercer.data.raw_files import in_one_line
from mercer.data.table import Role, Table, as_labels, no_column, quote_names
from mercer.display import warn
from mercer.errors import Advice, DataWarning, InvalidInput, InvalidParameter, UnreadableFile
from mercer.points import read_only

MOST_LEVELS = 50
"""Levels of a factor: more colours than a person tells apart, by far."""

LONGEST_NAME = 60
"""Letters up to which labels that all differ are better names of rows than their numbers."""

WORDS, LETTERS = 6, 35
"""The means from which on labels are sentences, which tell rows apart and name none."""

IDENTIFIERS = frozenset({"", "id", "index", "name", "names", "row", "rownames", "row.names"})
"""Names of a first column of whole numbers that counts rows rather than measures them."""


def may_be_identifier(name: str) -> bool:
    """Return whether a first column of this name holds the names of the rows."""
    return name.strip().lower() in IDENTIFIERS


def guess_role(labels: Array, *, may_name_rows: bool) -> Role:
    """Return the role of a column of labels.

    >>> guess_role(np.array(["a", "b", "a", "b"], object), may_name_rows=True)
    <Role.FACTOR: 'factor'>
    >>> guess_role(np.array(["Ada", "Alan", "Emmy"], object), may_name_rows=True)
    <Role.IDENTIFIER: 'identifier'>
    >>> guess_role(np.array(["31/01/2024", "14/02/2024"], object), may_name_rows=True)
    <Role.DATE: 'date'>
    >>> texts = [f"On day {i} the soup was cold and the bread was warm" for i in range(3)]
    >>> guess_role(np.array(texts, object), may_name_rows=True)
    <Role.TEXT: 'text'>
    """
    present = [label for label in labels if label is not None]
    distinct = set(present)
    if present and parse_date(present[0]) is not None and dates_of(present) is not None:
        return Role.DATE
    if may_name_rows and len(distinct) == len(labels) and not _are_sentences(present):
        return Role.IDENTIFIER
    if len(distinct) <= min(MOST_LEVELS, max(2, len(present) // 2)):
        return Role.FACTOR
    return Role.TEXT


def _are_sentences(labels: Sequence[str]) -> bool:
    """Whether labels are usually longer, and of more words, than names are."""
    words = sum(len(label.split()) for label in labels)
    letters = sum(map(len, labels))
    return words >= WORDS * len(labels) and letters >= LETTERS * len(labels) > 0


def assemble_table(
    names: Sequence[str],
    columns: Sequence[Array],
    *,
    roles: Mapping[str, Role],
    row_names: Sequence[str] | None = None,
    notes: Iterable[str] = (),
) -> Table:
    """Return a table of columns of numbers, dates or labels; roles that are not given are guessed.

    The first column of labels without repetition names the rows, unless names are given; numbers
    that count them do where no such labels stand beside them.
    """
    unknown = [name for name in roles if name not in names]
    if unknown:
        raise InvalidParameter(no_column(unknown, names))
    found: list[Role] = []
    labels: dict[str, Array] = {}
    numeric: list[Array] = []
    is_open = row_names is None and Role.IDENTIFIER not in roles.values()
    for place, (name, values) in enumerate(zip(names, columns, strict=True)):
        role, kept = _settled_role(values, roles.get(name), place, name, is_open)
        if place == 0 and role is Role.IDENTIFIER and name not in roles and are_numbers(kept):
            others = (v for n, v in zip(names, columns, strict=True) if n not in roles)
            role = Role.TEXT if any(map(_are_names, others)) else role
        found.append(role)
        is_open = is_open and role is not Role.IDENTIFIER
        if role is Role.NUMBER:
            numeric.append(kept)
        else:
            labels[name] = read_only(kept)
        if role is Role.IDENTIFIER and row_names is None:
            row_names = _row_names(name, kept)
    return Table(
        names=tuple(names),
        roles=tuple(found),
        numbers=read_only(_matrix(numeric, len(columns[0]) if columns else 0)),
        labels=labels,
        row_names=None if row_names is None else tuple(row_names),
        notes=tuple(notes),
    )


def _settled_role(
    values: Array, given: Role | None, place: int, name: str, may_name_rows: bool
) -> tuple[Role, Array]:
    """Return the role of a column, and its values in the form of that role."""
    if values.dtype.kind in "biuf":
        counts = given is None and place == 0 and may_name_rows and may_be_identifier(name)
        if counts and values.dtype.kind in "iu" and len(np.unique(values)) == len(values):
            return Role.IDENTIFIER, labels_from(values)
        if given in (None, Role.NUMBER):
            return Role.NUMBER, values.astype(np.float64, copy=False)
        values = labels_from(values)
    if values.dtype.kind == "M":
        if given in (None, Role.DATE):
            return Role.DATE, values
        values = labels_from(values)
    role = given or guess_role(values, may_name_rows=may_name_rows)
    if role is Role.DATE:
        return Role.DATE, _dates(values, name)
    if role is Role.NUMBER or (given is None and place == 0 and role is not Role.IDENTIFIER):
        numbers = _numbers(values, name, is_asked=role is Role.NUMBER)
        if numbers is not None and (role is Role.NUMBER or may_be_identifier(name)):
            return Role.NUMBER, numbers
    return role, values


def settle_none(labels: Array, decimal: str = ".") -> Array:
    """Return labels with "None" as a missing value, or as a level where others are words.

    >>> settle_none(np.array(["2024-01-31", "None"], object)).tolist()
    ['2024-01-31', None]
    >>> settle_none(np.array(["often", "None"], object)).tolist()
    ['often', 'None']
    """
    is_none = np.array([label is not None and label.strip() == NONE for label in labels], bool)
    others = [label for label in labels[~is_none] if label is not None]
    if not is_none.any():
        return labels
    if dates_of(others) is None and not all(is_number(label, decimal) for label in others):
        return labels
    settled = labels.copy()
    settled[is_none] = None
    return settled


def are_numbers(labels: Array) -> bool:
    """Return whether all labels are whole numbers, as those that count rows.

    >>> are_numbers(np.array(["1", "2"], object)), are_numbers(np.array(["1", "b"], object))
    (True, False)
    """
    return all(label is not None and label.strip().isdecimal() for label in labels.tolist())


def _are_names(values: Array) -> bool:
    """Return whether a column of labels tells rows apart by words, which are no sentences."""
    if values.dtype.kind != "O" or guess_role(values, may_name_rows=False) is not Role.TEXT:
        return False
    labels = values.tolist()
    is_told_apart = None not in labels and len(set(labels)) == len(labels)
    is_told_apart = is_told_apart and not _are_sentences(labels)
    return is_told_apart and max(map(len, labels)) <= LONGEST_NAME and not are_numbers(values)


def _dates(values: Array, name: str) -> Array:
    """Return a column as dates, and tell where only a habit says what is the day."""
    found = dates_of(values)
    if found is None:
        odd = next((v for v in values if v is not None and parse_date(v) is None), None)
        why = "they are no days of one calendar" if odd is None else f"{odd[:40]!r} is none"
        raise UnreadableFile(
            f'column "{name}" cannot be read as dates: {why}. Write dates as 2024-01-31'
        )
    if found.is_ambiguous:
        example = next(v for v in values if v is not None)
        day = found.values[[v is not None for v in values]][0].astype("datetime64[D]")
        warn(
            f'column "{name}" was read as dates with the day first, {example[:20]} as {day}: no '
            "number says whether the month is; write 2024-01-31 to be sure",
            DataWarning,
        )
    return found.values


def _numbers(values: Array, name: str, *, is_asked: bool) -> Array | None:
    try:
        return np.array([np.nan if v is None else float(v) for v in values], np.float64)
    except ValueError as error:
        if not is_asked:
            return None
        raise InvalidInput(
            f'column "{name}" cannot be read as numbers: {in_one_line(error)}'
        ) from error


def labels_from(values: Array) -> Array:
    """Return numbers or dates as labels; whole numbers without a fraction.

    >>> labels_from(np.array([3.0, 7.0])).tolist()
    ['3', '7']
    """
    is_whole = values.dtype.kind == "f" and bool(np.all(values[~np.isnan(values)] % 1 == 0))
    if values.dtype.kind == "M":
        return as_labels(None if np.isnat(v) else str(v) for v in values)
    return as_labels(values.tolist(), (lambda v: str(int(v))) if is_whole else str)


def _row_names(name: str, values: Array) -> tuple[str, ...]:
    if any(v is None for v in values):
        row = next(i for i, v in enumerate(values) if v is None)
        raise InvalidInput(f'column "{name}" names the rows, but row {row + 1} has no name')
    names = tuple(str(v) for v in values)
    trimmed = tuple(text.strip() for text in names)
    is_told_apart = all(trimmed) and len(set(trimmed)) == len(set(names))
    return trimmed if is_told_apart else names  # spaces at the ends of names are slips of typing


def _matrix(columns: Sequence[Array], count: int) -> Array:
    matrix = np.empty((count, len(columns)))
    for j, column in enumerate(columns):
        matrix[:, j] = column
    return matrix


def of_numbers(
    numbers: Array,
    names: Sequence[str] | None = None,
    *,
    notes: Iterable[str] = (),
) -> Table:
    """Return a table of nothing but numbers, which are not copied if they are doubles."""
    width = numbers.shape[1]
    return Table(
        names=tuple(names or (f"column {j + 1}" for j in range(width))),
        roles=(Role.NUMBER,) * width,
        numbers=read_only(np.asarray(numbers, np.float64)),
        labels={},
        notes=tuple(notes),
    )


def with_roles(table: Table, roles: Mapping[str, Role]) -> Table:
    """Return a table with other roles of some columns; an identifier names its rows.

    >>> table = Table.of({"who": ["Ada", "Alan"], "x": [1.0, 2.0]})
    >>> with_roles(table, {"who": Role.IDENTIFIER, "x": Role.FACTOR})
    Table(2 individuals; 1 factor ("x"); 1 identifier ("who"))
    """
    known = dict(zip(table.names, table.roles, strict=True))
    renames = Role.IDENTIFIER in roles.values()
    if renames:  # then no other column does
        known = {n: Role.TEXT if r is Role.IDENTIFIER else r for n, r in known.items()}
    found = assemble_table(
        table.names,
        [column.values for column in table.columns()],
        roles={**known, **roles},
        row_names=None if renames else table.row_names,
        notes=table.notes,
    )
    kept = ("supplementary", "imputed", "coloured")
    return replace(found, **{name: getattr(table, name) for name in kept})


MANY_ROWS, FEW_SAMPLES = 200, 4
"""Rows, and columns, from which a table may hold its individuals in columns."""

TIMES = 10
"""How many times more rows than columns there are then."""

ALIKE = 0.5
"""The correlation of neighbouring columns from which they measure the same things."""

TRANSPOSE = Advice("transpose", True)


def transpose_table(table: Table) -> Table:
    """Return a table whose rows are the columns of numbers of another.

    Its columns are the rows, by their names; labels that describe the rows are left out.

    >>> genes = Table.of({"s1": [1.0, 2.0], "s2": [3.0, 4.0]}, row_names=["TP53", "MYC"])
    >>> samples = transpose_table(genes)
    >>> samples.row_names, samples.names, samples.matrix().tolist()
    (('s1', 's2'), ('TP53', 'MYC'), [[1.0, 2.0], [3.0, 4.0]])
    """
    samples = [n for n, r in zip(table.names, table.roles, strict=True) if r is Role.NUMBER]
    if not samples or not len(table):
        raise InvalidInput(
            f"transpose needs columns of numbers, which become individuals; the columns are "
            f"{quote_names(table.names)}"
        )
    names, source = _names_of_rows(table)
    left = [name for name in table.names if name not in samples and name != source]
    notes = ["transposed: columns are individuals"]
    if left:
        notes.append(f"what describes the rows was left out: {quote_names(left)}")
        warn(
            f"transposed: columns {quote_names(left)} describe rows and were left out", DataWarning
        )
    return Table(
        names=tuple(number_names(names)[0]),
        roles=(Role.NUMBER,) * len(table),
        numbers=read_only(np.ascontiguousarray(table.numbers.T)),
        labels={},
        row_names=tuple(samples),
        notes=(*table.notes, *notes),
    )


def _names_of_rows(table: Table) -> tuple[list[str], str | None]:
    """Return the names of rows, and the column they are from: a first one of labels may repeat."""
    first = table.names[0]
    if first in table.labels:
        labels = table.labels[first]
        return [f"row {i + 1}" if v is None else str(v) for i, v in enumerate(labels)], first
    given = table.row_names or [f"row {i + 1}" for i in range(len(table))]
    ids = [n for n, r in zip(table.names, table.roles, strict=True) if r is Role.IDENTIFIER]
    return list(given), ids[0] if ids else None


FEW_NUMBERS, REPEATED, OFTEN = 10, 3, 4
"""Numbers so few, each so often, are labels; so are all where one cell in so many is a word."""


def with_words(
    numbers: Array, words: Mapping[int, str], place: str, name: str, *, is_number: bool
) -> tuple[Array, str]:
    """Return a column of numbers some cells of which hold words, as it is read, and tell.

    Few numbers that come again and again are labels, as the words are; among measurements words
    are taken for missing, and so they are where the column was said to hold numbers.

    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> doors = np.array([4.0, 2.0, np.nan, 4.0, 2.0, 4.0, 2.0])
    >>> with_words(doors, {2: "none"}, "cars.csv, line 4", "doors", is_number=False)[0].tolist()
    ['4', '2', 'none', '4', '2', '4', '2']
    >>> weights = np.array([1.5, 2.4, np.nan, 4.1])
    >>> with_words(weights, {2: "heavy"}, "cars.csv, line 4", "kg", is_number=False)[0].tolist()
    [1.5, 2.4, nan, 4.1]
    """
    known = numbers[~np.isnan(numbers)]
    present, distinct = len(known) + len(words), len(np.unique(known))
    are_levels = distinct <= FEW_NUMBERS and REPEATED * distinct <= len(known)
    shown = list(dict.fromkeys(words.values()))
    what = " and ".join(repr(word[:40]) for word in shown[:2]) + " and others" * (len(shown) > 2)
    missing = Advice("na", shown[:1])
    factor = Advice("roles", [name], f"roles={{{name!r}: 'factor'}}")
    if not is_number and (are_levels or len(words) > max(present // OFTEN, 1)):
        labels = labels_from(numbers)
        for row, word in words.items():
            labels[row] = word
        text = f"beside numbers stands {what}, and all was read as labels"
        warn(f"{place}: {text}; {missing} takes it for missing", DataWarning, missing)
        return labels, f'column "{name}": {text}'
    cells = "1 cell holds" if len(words) == 1 else f"{len(words)} cells hold"
    text = f"{cells} no number but {what}, taken for missing"
    warn(f"{place}: {text}; {factor} reads the column as labels", DataWarning, factor)
    return numbers, f'column "{name}": {text}'


def number_names(labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return labels made different by numbers, and those that occur more than once.

    >>> number_names(["a", "b", "a"])
    (['a', 'b', 'a (2)'], ['a'])
    """
    times = Counter(labels)
    taken, counts = set(times), dict.fromkeys(times, 0)
    names = []
    for label in labels:
        counts[label] += 1
        name = label
        while counts[label] > 1 and (name := f"{label} ({counts[label]})") in taken:
            counts[label] += 1
        taken.add(name)
        names.append(name)
    return names, [label for label, count in times.items() if count > 1]


def propose_transpose(table: Table, name: str) -> None:
    """Tell of columns that look like the individuals."""
    if not are_samples(table):
        return
    count, width = table.numbers.shape
    warn(
        f"{name}: {count} named rows and {width} columns of one kind, as of genes and samples. If "
        f"the columns are the individuals, {TRANSPOSE} makes rows of them",
        DataWarning,
        TRANSPOSE,
    )


def are_samples(table: Table) -> bool:
    """Whether columns look like the individuals: few, of one kind, above many named rows."""
    count, width = table.numbers.shape
    if table.row_names is None or count < max(MANY_ROWS, TIMES * width) or width < FEW_SAMPLES:
        return False
    return not {Role.FACTOR, Role.DATE} & set(table.roles) and _are_alike(table.numbers)


def _are_alike(numbers: Array) -> bool:
    """Return whether columns have the same range and rise and fall together over the rows."""
    known = numbers[np.isfinite(numbers).all(axis=1)]
    if len(known) < MANY_ROWS:
        return False
    low, middle, high = np.quantile(known, (0.25, 0.5, 0.75), axis=0)
    spread = float(np.median(high - low))
    if spread == 0.0 or np.ptp(middle) > spread or np.max(high - low) > 3.0 * spread:
        return False
    centred = known - known.mean(axis=0)
    lengths = np.sqrt(np.sum(centred**2, axis=0))
    if not np.all(lengths > 0.0):
        return False
    unit = centred / lengths
    return bool(np.median(np.sum(unit[:, 1:] * unit[:, :-1], axis=0)) > ALIKE)
