"""Sizes that choose how maps of distances are found, and how much is looked at at a time."""

from __future__ import annotations

from dataclasses import dataclass

from mercer import spectrum


@dataclass(frozen=True)
class Limits(spectrum.Limits):
    """The same limits as of all axes, and how much of the distances is looked at at a time.

    >>> Limits().whole, Limits().dense
    (1000, 1000)
    """

    whole: int = 1_000
    """Points, or columns, up to which one matrix is decomposed; of more a thread takes as many."""

    tile: int = 512
    """Rows and columns examined at a time, together with their mirror image."""

    panel: int = 80_000
    """Numbers of a panel of rows that is squared and multiplied while it is in a core's cache."""
