"""How much the explorer takes, keeps and shows: sizes of uploads, visitors, and times to wait."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Sizes, counts and seconds that a server of the explorer keeps to.

    >>> Limits().upload_bytes == 512 * 2**20, Limits().visitors
    (True, 64)
    """

    upload_bytes: int = 512 * 2**20
    """Bytes that a file may have."""

    upload_seconds: float = 600.0
    """Seconds in which a file must have come."""

    question_bytes: int = 2**20
    """Bytes that a question may have."""

    question_seconds: float = 20.0
    """Seconds in which a question must have come."""

    cells: int = 200_000_000
    """Cells of a table that is explored."""

    all_bytes: int = 2 * 2**30
    """Bytes of all the data that visitors have brought."""

    visitors: int = 64
    """Visitors who are remembered; the one who has been idle longest is let go for another."""

    idle_seconds: float = 30 * 60.0
    """Seconds after which a visitor who asks for nothing is let go."""

    waiting: int = 128
    """Pieces of work that may wait; more are refused."""

    kept_maps: int = 3
    """Straight maps of a visitor that are kept, so that undoing is quick."""

    points: int = 1_000_000
    """Individuals drawn one by one; of more, the density and a sample are shown."""

    named_rows: int = 20_000
    """Individuals above which the numbers of rows without names are left for the page to make."""

    transposed_rows: int = 50_000
    """Rows of a table above which its columns are not made individuals."""

    labels: int = 60
    """Different numbers of a column above which they are not read as labels of groups."""

    sliding: int = 20_000
    """Individuals up to which a preview of the map follows the slider."""

    refined: int = 50_000
    """Individuals up to which a map on landmarks is made exact by itself, once it is shown."""
