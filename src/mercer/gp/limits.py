"""Up to how many points Gaussian processes are stored, and how their parameters are searched."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How many points a fit stores and searches, how many steps it may take, and how it adds.

    ``stored``: points up to which the matrix (1.2 GB) is stored and factored. ``part``: points on
    which the starts of a search are tried, if there are at least twice as many. ``subset``: points
    to which parameters are fitted first where the matrix is not stored. ``steps``: quasi-Newton
    steps, more than any fit took; from a start on part of the points it is some ten.
    ``sampled_steps``: the same by sampling, where a fit to the subset leaves three to six.

    >>> Limits().stored
    12000
    """

    stored: int = 12_000
    part: int = 400
    subset: int = 2_000
    steps: int = 100
    sampled_steps: int = 40

    stripe: int = 512
    """Rows of the derivatives of a matrix that are in memory at a time, and columns."""

    workers: int = 8
    """Threads that sum products of derivatives, for each has a sum of its own."""

    rank: int = 500
    """Rank of the approximation that preconditions, if there are four times as many points."""

    rough: float = 0.1
    """Residuals, as shares of their right sides, that are enough for a first curvature."""
