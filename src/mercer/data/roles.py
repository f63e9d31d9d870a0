"""What columns are for, guessed from their values: names of rows, factors, dates or texts."""

from __future__ import annotations

import re

import numpy as np

from mercer.check import Array
from mercer.data.table import Role

MOST_LEVELS = 50
"""Levels of a factor: more colours than a person tells apart, by far."""

IDENTIFIERS = frozenset({"", "id", "index", "name", "names", "row", "rownames", "row.names"})
"""Names of a first column of whole numbers that counts rows rather than measures them."""

DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)?"
)


def may_be_identifier(name: str) -> bool:
    """Return whether a first column of this name holds the names of the rows."""
    return name.strip().lower() in IDENTIFIERS


def guessed(labels: Array, *, may_name_rows: bool) -> Role:
    """Return the role of a column of labels.

    >>> guessed(np.array(["a", "b", "a", "b"], object), may_name_rows=True)
    <Role.FACTOR: 'factor'>
    >>> guessed(np.array(["Ada", "Alan", "Emmy"], object), may_name_rows=True)
    <Role.IDENTIFIER: 'identifier'>
    """
    present = [label for label in labels if label is not None]
    distinct = set(present)
    if present and all(DATE.fullmatch(label.strip()) for label in distinct):
        return Role.DATE
    if may_name_rows and len(distinct) == len(labels):
        return Role.IDENTIFIER
    if len(distinct) <= min(MOST_LEVELS, max(2, len(present) // 2)):
        return Role.FACTOR
    return Role.TEXT


def as_dates(labels: Array) -> Array:
    """Return dates in the notation of ISO 8601 as dates, NaT where one is missing."""
    words = ["NaT" if label is None else label.strip().replace(" ", "T") for label in labels]
    return np.array(words, "datetime64[us]")
