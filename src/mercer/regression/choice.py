"""The choice of a penalty: the least value of a criterion over many powers of ten."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

PRECISION = 1e-4
"""Decimal logarithms of penalties are found to within this; criteria are flat there."""


def chosen(
    score: Callable[[float], float], low: float, high: float, *, refine: bool = True
) -> tuple[float, float]:
    """Return the penalty between 10^low and 10^high, or infinity, of the least score, and that.

    One value is tried for each power of ten, since criteria may have several minima; with
    ``refine`` the neighbourhood of the best is searched by Brent's method. Of equal scores the
    largest penalty wins.

    >>> penalty, least = chosen(lambda p: (np.log10(p) - 2.5) ** 2 if p < np.inf else 1.0, -5, 5)
    >>> round(float(np.log10(penalty)), 4), round(least, 6)
    (2.5, 0.0)
    >>> chosen(lambda p: 1.0 / (1.0 + p), -5, 5)
    (inf, 0.0)
    """
    grid = np.linspace(high, low, max(2, int(np.ceil(high - low)) + 1))
    scores = [score(float(10.0**t)) for t in grid]
    best = int(np.argmin(scores))
    candidates = [
        (float(score(np.inf)), np.inf),
        (float(scores[best]), float(10.0 ** grid[best])),
    ]
    if refine:
        ends = grid[min(best + 1, len(grid) - 1)], grid[max(best - 1, 0)]
        found = minimize_scalar(
            lambda t: score(float(10.0**t)),
            bounds=ends,
            method="bounded",
            options={"xatol": PRECISION},
        )
        candidates.append((float(found.fun), float(10.0**found.x)))
    least, penalty = min(candidates, key=lambda pair: pair[0])
    return penalty, least
