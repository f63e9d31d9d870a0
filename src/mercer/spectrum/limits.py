"""What the ways to eigenpairs are chosen by: the sizes up to which each of them is taken."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Sizes of matrices and tables between which one way to their axes gives way to another.

    >>> Limits().dense, Limits().stored
    (1000, 3000)
    """

    dense: int = 1_000
    """Rows up to which the whole matrix is decomposed at once."""

    stored: int = 3_000
    """Rows up to which all axes may be asked for, which takes the whole matrix."""

    anywhere: int = 2**26
    """Bytes that every machine has: for less nobody looks up how much this one has."""

    axes_share: int = 10
    """Share of the axes, one in so many, above which an iteration's basis is almost all."""

    last_resort: int = 8_000
    """Rows up to which the whole matrix, in minutes, is the way out of an iteration that fails."""

    krylov_vectors: int = 600
    """Vectors of a Krylov basis: a matrix that needs more has no leading axes."""

    first_axes: int = 16
    """Axes that are sought first where a share of the inertia is asked for; then twice as many."""

    most_axes: int = 1_024
    """Axes of a large matrix that are sought for a share of the inertia, before that is refused."""

    table_entries: float = 1e6
    """Entries of a table up to which the table itself is decomposed."""

    table_work: float = 2e6
    """Operations up to which the same is done."""

    narrow: int = 50
    """Rows, of any length, that are decomposed as quickly as multiplied with each other."""

    side: int = 3_000
    """Rows, or columns, up to which the matrix of their inner products is decomposed."""

    all_share: int = 5
    """Share of a table's axes, one in so many, above which all of them are computed."""

    some_share: int = 3
    """Share of a table's axes, one in so many, up to which scipy computes them alone."""

    held: int = 1_500
    """Rows up to which scipy is asked: meanwhile no other thread runs, and Ctrl-C waits."""
