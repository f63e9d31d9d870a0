"""Sizes of tiles and of parts: how much of a matrix is computed, kept or summed at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Rows, columns and numbers of one piece of work, on processors and on a GPU.

    >>> Limits.tile, Limits.gpu_tile
    (640, 8192)
    """

    tile: int = 640
    """Rows of a tile, which stays in the cache; no power of two: its rows would compete for places.

    Passes in single precision took a fifth longer with 512 rows, and with 1024.
    """

    gpu_tile: int = 8192
    """Rows of a tile on a GPU: launching work on fewer costs more than the work."""

    smallest_tile: int = 512
    """Rows that tiles are cut to at the least where memory is short."""

    kept_share: float = 0.005
    """Share of a matrix, of which one half is computed, whose tiles are worth their memory."""

    prepared: int = 2**15
    """Numbers of points that are prepared at a time, so that what is between stays in the cache."""

    summed_rows: int = 512
    """Rows that are added up at a time where columns are centred."""

    part_rows: int = 2048
    """Rows of a tall matrix that a thread takes at a time, at the least."""

    parts: int = 16
    """Parts that a tall matrix is cut into, unless a limit of their rows asks for more."""

    triangle_columns: int = 128
    """Columns of a triangular matrix that are multiplied at a time, without the zeros below."""

    small_array: int = 2**17
    """Numbers below which a compiled loop gains less than it takes to load."""

    compared_rows: int = 64
    """Rows on which entries in single precision are compared with double precision."""
