"""How large systems are solved, and how exactly."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How large systems are solved, and how exactly.

    ``direct``: rows up to which the matrix is stored and factored. ``single``: rows up to which a
    factor in single precision (1 GB) is the preconditioner. ``iterations``: steps after which
    conjugate gradients give up. ``at_once``: numbers of a matrix between new points and old ones
    at a time, of which an iteration holds eight. ``accuracy``: the share of k(x, x) by which
    variances may be too large where they are found by iteration.

    >>> Limits().direct, Limits().single
    (3000, 16000)
    """

    direct: int = 3_000
    single: int = 16_000
    iterations: int = 1_000
    at_once: int = 2**22
    accuracy: float = 1e-9
