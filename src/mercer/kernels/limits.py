"""Up to how much work kernels and verdicts do what takes the most of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Numbers of points, of numbers at a time, and of what is listed of strings.

    >>> Limits().direct_points
    1000
    """

    direct_points: int = 1_000
    """Points up to which the whole Gram matrix is decomposed: a fraction of a second."""

    fewest_probed: int = 200
    """Points of a random subset, from so many to `direct_points`."""

    repeated_points: int = 50
    """Points on which a kernel is evaluated twice, to see whether chance has a part in it."""

    triangle_points: int = 1_500
    """Points up to which all triangles are examined; n³ comparisons take seconds here."""

    common_share: float = 1 / 8
    """Share of the points above which what they hold is multiplied densely.

    A sparse product takes ten nanoseconds for a pair of points that hold it, a dense one a tenth of
    one for every pair.
    """

    count_rows: int = 512
    """Rows of a product of counts at a time: what they share with others, sparse, stays small."""

    alignment_cells: int = 2**18
    """Cells of tables of alignments filled at a time: 2 MB, which a core's cache holds."""

    word_code: int = 2**62
    """Words are numbered below this; longer ones are numbered among those that occur."""

    neighbours: int = 10**8
    """Words near the words of the data that are listed at most, 1 GB of them."""
