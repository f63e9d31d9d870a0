"""Which way round a table lies: individuals in rows, or in columns as genes are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from mercer.check import Array
from mercer.data.table import Role, Table, frozen, listed
from mercer.display import warn
from mercer.errors import Advice, DataWarning, InvalidInput

MANY_ROWS, FEW_SAMPLES = 200, 4
"""Rows, and columns, from which a table may hold its individuals in columns."""

TIMES = 10
"""How many times more rows than columns there are then."""

ALIKE = 0.5
"""The correlation of neighbouring columns from which they measure the same things."""

TRANSPOSE = Advice("transpose", True)


def transposed(table: Table) -> Table:
    """Return a table whose rows are the columns of numbers of another.

    Its columns are the rows, by their names; labels that describe the rows are left out.

    >>> genes = Table.of({"s1": [1.0, 2.0], "s2": [3.0, 4.0]}, row_names=["TP53", "MYC"])
    >>> samples = transposed(genes)
    >>> samples.row_names, samples.names, samples.matrix().tolist()
    (('s1', 's2'), ('TP53', 'MYC'), [[1.0, 2.0], [3.0, 4.0]])
    """
    samples = [n for n, r in zip(table.names, table.roles, strict=True) if r is Role.NUMBER]
    if not samples or not len(table):
        raise InvalidInput(
            f"transpose needs columns of numbers, which become individuals; the columns are "
            f"{listed(table.names)}"
        )
    names, source = _names_of_rows(table)
    left = [name for name in table.names if name not in samples and name != source]
    notes = ["transposed: columns are individuals"]
    if left:
        notes.append(f"what describes the rows was left out: {listed(left)}")
        warn(f"transposed: columns {listed(left)} describe rows and were left out", DataWarning)
    return Table(
        names=tuple(numbered(names)[0]),
        roles=(Role.NUMBER,) * len(table),
        numbers=frozen(np.ascontiguousarray(table.numbers.T)),
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


def numbered(labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return labels made different by numbers, and those that occur more than once.

    >>> numbered(["a", "b", "a"])
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
    """Tell of columns that look like the individuals: few, of one kind, above many named rows."""
    count, width = table.numbers.shape
    if table.row_names is None or count < max(MANY_ROWS, TIMES * width) or width < FEW_SAMPLES:
        return
    if Role.FACTOR in table.roles or Role.DATE in table.roles or not _are_alike(table.numbers):
        return
    warn(
        f"{name}: {count} named rows and {width} columns of one kind, as of genes and samples. If "
        f"the columns are the individuals, {TRANSPOSE} makes rows of them",
        DataWarning,
        TRANSPOSE,
    )


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
