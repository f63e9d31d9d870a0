"""How large matrices parallel analysis decomposes, and how many of them at a time."""

from __future__ import annotations

from dataclasses import dataclass

from mercer import spectrum


@dataclass(frozen=True)
class Limits:
    """How large matrices are decomposed, and how many of them at a time.

    >>> Limits().dense, Limits().landmarks
    (1000, 256)
    """

    dense: int = spectrum.Limits.dense
    """Rows up to which a matrix is decomposed whole, which gives all its axes."""

    first_axes: int = 10
    """Axes of a larger one that are tested, unless a number is given."""

    batch: int = 32
    """Permutations decomposed by one call: enough to make the call's own time negligible."""

    batch_entries: int = 2**21
    """Numbers in the matrices of one batch: 16 MB for each thread."""

    whole: int = 512
    """Individuals up to which the matrix of a kernel is decomposed whole."""

    landmarks: int = 256
    """Landmarks through which the kernel of more individuals is seen."""

    counted: int = 200_000
    """Individuals in rows that say how often they were seen, who are shuffled one by one."""

    rows: int = 4_096
    """Individuals whose values at the landmarks are held at a time."""
