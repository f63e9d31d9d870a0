"""Dates as people write them: 2024-01-31, 31/01/2024, 1/31/2024, 31.1.2024, 31 Jan 2024."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mercer.check import Array

TIME = r"(?:(?:T| +)(\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)Z?)?"
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WORD = r"([a-z]{3,9})\.?"
CENTURY = 69
"""Years of two digits from which on they are of the twentieth century, as POSIX has it."""

ISO = re.compile(rf"(\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}}){TIME}", re.IGNORECASE)
NUMBERS = re.compile(
    rf"(\d{{1,2}})(?:([-.])(\d{{1,2}})\2(\d{{4}})|/(\d{{1,2}})/(\d{{4}}|\d{{2}})){TIME}",
    re.IGNORECASE,
)
DAY_WORD = re.compile(rf"(\d{{1,2}})[ -]{WORD}[ -](\d{{4}}){TIME}", re.IGNORECASE)
WORD_DAY = re.compile(rf"{WORD} (\d{{1,2}}),? (\d{{4}}){TIME}", re.IGNORECASE)


class WrittenDate(NamedTuple):
    """A date as it is written: two numbers of which one may be the month, the year, the time."""

    first: int
    second: int
    year: int
    time: str
    has_order: bool


class Dates(NamedTuple):
    """Dates, and whether only a habit says which number is the day and which the month."""

    values: Array
    is_ambiguous: bool


def parse_date(text: str) -> WrittenDate | None:
    """Return the parts of a date, the day before the month where both are known; None for no date.

    >>> parse_date("31 Jan 2024"), parse_date("1/2/24 9:30"), parse_date("v1.2")
    (WrittenDate(first=31, second=1, year=2024, time='', has_order=True), WrittenDate(first=1, second=2, year=2024, time='9:30', has_order=False), None)
    """  # noqa: E501  (a doctest shows the value as the user sees it, on one line)
    word = text.strip()
    if found := ISO.fullmatch(word):
        return WrittenDate(int(found[3]), int(found[2]), int(found[1]), found[4] or "", True)
    if found := NUMBERS.fullmatch(word):
        year = int(found[4] or found[6])
        if len(found[4] or found[6]) == 2:
            year += 1900 if year >= CENTURY else 2000
        second = int(found[3] or found[5])
        return WrittenDate(int(found[1]), second, year, found[7] or "", found[2] == ".")
    day_first, month_first = DAY_WORD.fullmatch(word), WORD_DAY.fullmatch(word)
    found = day_first or month_first
    if found is None:
        return None
    day, month = (found[1], found[2]) if day_first else (found[2], found[1])
    if month[:3].lower() not in MONTHS:
        return None
    place = MONTHS.index(month[:3].lower()) + 1
    return WrittenDate(int(day), place, int(found[3]), found[4] or "", True)


def dates_of(labels: Iterable[str | None]) -> Dates | None:
    """Return dates, NaT where one is missing; None where a label is no date, or no day of a year.

    Of 3/4/2024 the column decides: a number above 12 is a day. If there is none, the day is first.

    >>> dates_of(["31/1/2024", None, "3/4/2024"]).values.astype("datetime64[D]").tolist()
    [datetime.date(2024, 1, 31), None, datetime.date(2024, 4, 3)]
    >>> dates_of(["1/31/2024", "3/4/2024"]).values.astype("datetime64[D]").tolist()
    [datetime.date(2024, 1, 31), datetime.date(2024, 3, 4)]
    >>> dates_of(["3/4/2024"]).is_ambiguous, dates_of(["30/2/2024"]), dates_of(["north"])
    (True, None, None)
    """
    given = list(labels)
    known = {label: parse_date(label) for label in {*given} - {None} if label is not None}
    parts = {label: part for label, part in known.items() if part is not None}
    if not parts or len(parts) < len(known):
        return None
    orderless = [part for part in parts.values() if not part.has_order]
    day_first = any(part.first > 12 for part in orderless)
    month_first = any(part.second > 12 for part in orderless)
    if day_first and month_first:
        return None
    stamps = {label: _stamp(part, month_first) for label, part in parts.items()}
    try:
        values = np.array([stamps.get(label or "", "NaT") for label in given], "datetime64[us]")
    except ValueError:  # there is no 30th of February
        return None
    return Dates(values, bool(orderless) and not day_first and not month_first)


def _stamp(part: WrittenDate, month_first: bool) -> str:
    """Return a date in the notation of ISO 8601."""
    is_turned = month_first and not part.has_order
    day, month = (part.second, part.first) if is_turned else (part.first, part.second)
    hour, colon, rest = part.time.partition(":")
    time = f"T{hour.zfill(2)}{colon}{rest}" if part.time else ""
    return f"{part.year:04d}-{month:02d}-{day:02d}{time}"
