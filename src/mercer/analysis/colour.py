"""By which factor individuals are coloured where nobody says: the one that the map parts best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from mercer.analysis.copies import classes_of_numbers
from mercer.analysis.separation import PLANE, correlation_ratios, plane_share
from mercer.data.table import MOST_COLOURS, Column, Role, Table
from mercer.reading.links import Scores

TIE = 0.05
"""Shares of the plane this near to the largest are as good, and the first column is taken."""


def coloured_best(table: Table, active: Iterable[str], scores: Scores) -> Table:
    """Return a table with the factor as its colour whose groups the map parts best.

    Factors of at most 12 levels are compared that did not make the axes, or all where all did;
    classes of an active number, which the map shows anyway, come after others. A colour that was
    asked for stays.
    """
    factors = [c for c in table.columns() if c.role is Role.FACTOR]
    few = [c for c in factors if 1 < len(c.levels) <= MOST_COLOURS]
    if table.coloured is not None or len(few) < 2 or scores.coordinates.shape[1] == 0:
        return table
    made = frozenset(active)
    cut = {name for name, number in classes_of_numbers(table).items() if number in made}
    beside = [c for c in few if c.name not in made]
    candidates = [c for c in beside if c.name not in cut] or [c for c in few if c.name not in cut]
    if not candidates:
        return table
    best = best_parted(candidates, scores)
    if len(candidates) < 2:
        return table.coloured_by(best)
    said = f'individuals are coloured by "{best}", the factor that the map parts best'
    return replace(table.coloured_by(best), notes=(*table.notes, said))


def best_parted(factors: Sequence[Column], scores: Scores) -> str:
    r"""Return the factor with most of the plane between its groups, the first of equal ones.

    .. math:: 1 - (1 - s) \frac{N - 1}{N - g}, \quad
        s = \frac{\sum_{k \le 2} \lambda_k \eta^2_k}{\lambda_1 + \lambda_2}

    for g groups of N individuals, so that many groups are no merit: chance alone has 0. Shares
    within 0.05 of the largest are equal.

    >>> F = np.random.default_rng(0).normal(size=(40, 2))
    >>> F[:20, 1] += 2.0
    >>> labels = {"first": np.tile(["a", "b"], 20), "second": np.repeat(["a", "b"], 20)}
    >>> factors = [Column(name, Role.FACTOR, v.astype(object)) for name, v in labels.items()]
    >>> best_parted(factors, Scores(F, np.full(40, 1 / 40), np.ones(2), 1.0, None, ()))
    'second'
    """
    F, w = scores.coordinates[:, :PLANE] / scores.unit, scores.weights
    N = scores.individuals(w > 0)
    shares: list[float] = []
    for factor in factors:
        levels, places = np.unique(factor.values.astype(str), return_inverse=True)
        share = plane_share(F, correlation_ratios(F, places, w), w)
        shares.append(1.0 - (1.0 - share) * (N - 1) / max(N - len(levels), 1))
    first = next(i for i, share in enumerate(shares) if share >= max(shares) - TIE)
    return factors[first].name
