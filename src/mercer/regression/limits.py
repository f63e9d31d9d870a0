"""How large matrices kernel regression stores, and how it looks for a penalty."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How large matrices are stored, and how a penalty is looked for.

    >>> Limits().folds
    5
    """

    stored: int = 8_000
    """Points up to which the matrix (0.5 GB) is stored, which losses with corners need."""

    folds: int = 5
    """Parts of the data, each of which is predicted from the others in cross-validation."""

    span: tuple[float, float] = (-8.0, 2.0)
    """Decimal logarithms of the penalties tried, times `natural` and the mean k(x, x)."""
