"""Smoothing splines in decimal arithmetic of fifty digits, by which others are judged."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any, TypeAlias

import numpy as np

DIGITS = 50
ZERO = Decimal(0)

Row: TypeAlias = tuple[Decimal, Decimal, Decimal]


def smoothed(x: Any, y: Any, penalty: float) -> tuple[Any, float]:
    """Return the smoothing spline at rising x, and its degrees of freedom.

    The equations are Reinsch's, (R + λQᵀQ)γ = Qᵀy and g = y - λQγ, with a band of five; their
    condition number, which spoils them in double precision, costs some twenty of fifty digits.
    """
    with localcontext() as context:
        context.prec = DIGITS
        at, values, lam = [Decimal(v) for v in x], [Decimal(v) for v in y], Decimal(penalty)
        inverses = [1 / (b - a) for a, b in zip(at, at[1:], strict=False)]
        rows = [(a, -a - b, b) for a, b in zip(inverses, inverses[1:], strict=False)]
        band, right = _equations(at, values, rows, lam)
        pivots, first, second = _factored(band)
        gamma = _solved(pivots, first, second, right)
        fits = list(values)
        for i, (row, g) in enumerate(zip(rows, gamma, strict=True)):
            for k in range(3):
                fits[i + k] -= lam * row[k] * g
        left = lam * _trace(rows, _inverse_band(pivots, first, second))
        return np.array([float(f) for f in fits]), float(len(at) - left)


def _equations(
    at: list[Decimal], y: list[Decimal], rows: list[Row], lam: Decimal
) -> tuple[list[tuple[Decimal, ...]], list[Decimal]]:
    """Return the three diagonals of R + λQᵀQ and its right side."""
    band, right = [], []
    for i, (a, b, c) in enumerate(rows):
        here, there = at[i + 1] - at[i], at[i + 2] - at[i + 1]
        entries = [(here + there) / 3 + lam * (a * a + b * b + c * c)]
        if i + 1 < len(rows):
            entries.append(there / 6 + lam * (b * rows[i + 1][0] + c * rows[i + 1][1]))
        if i + 2 < len(rows):
            entries.append(lam * c * rows[i + 2][0])
        band.append((*entries, ZERO, ZERO)[:3])
        right.append(a * y[i] + b * y[i + 1] + c * y[i + 2])
    return band, right


def _factored(
    band: list[tuple[Decimal, ...]],
) -> tuple[list[Decimal], list[Decimal], list[Decimal]]:
    """Return D and the two lower diagonals of L with LDLᵀ the matrix of the band."""
    pivots: list[Decimal] = []
    first: list[Decimal] = []
    second: list[Decimal] = []
    for i, (diagonal, beside, far) in enumerate(band):
        before = pivots[i - 1] * first[i - 1] if i > 0 else ZERO
        pivot = diagonal - before * (first[i - 1] if i > 0 else ZERO)
        pivot -= pivots[i - 2] * second[i - 2] ** 2 if i > 1 else ZERO
        pivots.append(pivot)
        first.append((beside - before * (second[i - 1] if i > 0 else ZERO)) / pivot)
        second.append(far / pivot)
    return pivots, first, second


def _solved(
    pivots: list[Decimal], first: list[Decimal], second: list[Decimal], right: list[Decimal]
) -> list[Decimal]:
    z = list(right)
    for i in range(len(z)):
        z[i] -= first[i - 1] * z[i - 1] if i > 0 else ZERO
        z[i] -= second[i - 2] * z[i - 2] if i > 1 else ZERO
    z = [v / p for v, p in zip(z, pivots, strict=True)]
    for i in reversed(range(len(z))):
        z[i] -= first[i] * z[i + 1] if i + 1 < len(z) else ZERO
        z[i] -= second[i] * z[i + 2] if i + 2 < len(z) else ZERO
    return z


def _inverse_band(pivots: list[Decimal], first: list[Decimal], second: list[Decimal]) -> list[Row]:
    """Return three diagonals of the inverse, from its end (Hutchinson and de Hoog, 1985)."""
    found = [(ZERO, ZERO, ZERO)] * (len(pivots) + 2)
    for i in reversed(range(len(pivots))):
        l1, l2 = first[i], second[i]
        (next0, next1, _), (after0, _, _) = found[i + 1], found[i + 2]
        b1 = -l1 * next0 - l2 * next1
        b2 = -l1 * next1 - l2 * after0
        found[i] = (1 / pivots[i] - l1 * b1 - l2 * b2, b1, b2)
    return found


def _trace(rows: list[Row], inverse: list[Row]) -> Decimal:
    """Return the trace of Q B Qᵀ, that is of B QᵀQ, by their bands."""
    total = ZERO
    for i, (a, b, c) in enumerate(rows):
        total += inverse[i][0] * (a * a + b * b + c * c)
        if i + 1 < len(rows):
            total += 2 * inverse[i][1] * (b * rows[i + 1][0] + c * rows[i + 1][1])
        if i + 2 < len(rows):
            total += 2 * inverse[i][2] * c * rows[i + 2][0]
    return total
