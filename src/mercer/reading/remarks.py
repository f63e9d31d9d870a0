"""What a reading warns of, each by its own name, so that it can be filtered by it."""

from __future__ import annotations

NAMED = 5
"""Individuals or columns that a warning names before it only counts."""


class ReadingWarning(UserWarning):
    """Something on the axes has no meaning, or not the one it seems to have."""


class AtBarycentre(ReadingWarning):
    """Individuals at the barycentre have no direction: their cos2 is 0/0."""


class DegenerateAxes(ReadingWarning):
    """Axes with one eigenvalue between them: only the space they span means something."""


class ConstantColumns(ReadingWarning):
    """Columns without variance: they have no correlations and cannot be standardised."""


class NoInertia(ReadingWarning):
    """All individuals coincide: there are no axes."""


def named(labels: list[str]) -> str:
    """Return a few labels and how many more there are.

    >>> named(["a", "b", "c", "d", "e", "f"])
    'a, b, c, d, e and 1 more'
    """
    more = len(labels) - NAMED
    return ", ".join(labels[:NAMED]) + (f" and {more} more" if more > 0 else "")
