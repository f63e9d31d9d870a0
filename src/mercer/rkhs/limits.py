"""How many numbers are held where functions of H are evaluated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How much is held at a time.

    >>> Limits().batch
    64
    """

    entries: int = 2**20
    """Entries of a matrix of kernel values: 8 MB, which most caches hold."""

    batch: int = 64
    """Permutations that a thread takes, in one product."""
