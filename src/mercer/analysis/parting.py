"""Where the known groups part on the straight map, if that is not the plane that is drawn first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.analysis.evidence import FACTORS, PLANE, READ, correlation_ratios
from mercer.data.table import Column
from mercer.display import percent
from mercer.reading.describe import trace_p_value
from mercer.reading.links import Scores
from mercer.settings import LEVEL

CLEAR, BETTER = 0.5, 0.25
"""The share of an axis that lies between groups which it parts, and by how much it is larger."""


def parted_elsewhere(scores: Scores, factors: Sequence[Column]) -> str:
    r"""Return the groups that an axis beyond the first plane parts far better, and which to choose.

    Axis k parts groups by :math:`\eta^2_k`, the share of it that lies between them. It is told for
    the factor that gains most; with its best axis goes the one that parts all factors best.

    >>> from mercer.data.table import Role
    >>> F = np.random.default_rng(0).normal(size=(40, 3))
    >>> F[:, 2] += np.repeat([2.0, -2.0], 20)
    >>> kind = Column("kind", Role.FACTOR, np.repeat(["a", "b"], 20).astype(object))
    >>> scores = Scores(F, np.full(40, 1 / 40), np.ones(3), 1.0, None, ())
    >>> print(parted_elsewhere(scores, [kind]).partition(":")[0])
    Axis 3, which the first map does not show, separates the groups of "kind" best
    """
    F = scores.coordinates[:, :READ] / scores.unit
    found: list[tuple[str, np.ndarray]] = []
    for factor in factors[:FACTORS]:
        known = np.array([v is not None for v in factor.values.tolist()]) & (scores.weights > 0)
        levels, places = np.unique(factor.values[known].astype(str), return_inverse=True)
        if F.shape[1] > PLANE and 1 < len(levels) < known.sum():
            found.append((factor.name, correlation_ratios(F[known], places, scores.weights[known])))
            k = int(np.argmax(found[-1][1]))
            rest = scores.effective([k], known) - len(levels)
            if trace_p_value(float(found[-1][1][k]), 1, len(levels) - 1, rest) > LEVEL / READ:
                found.pop()
    if not found:
        return ""
    name, shares = max(found, key=lambda one: one[1].max() - one[1][:PLANE].max())
    best, seen = int(np.argmax(shares)), float(shares[:PLANE].max())
    if shares[best] < CLEAR or shares[best] - seen < BETTER:
        return ""
    together = np.sum([one for _, one in found], axis=0)
    together[best] = -1.0
    first, second = sorted((best + 1, int(np.argmax(together)) + 1))
    return (
        f'Axis {best + 1}, which the first map does not show, separates the groups of "{name}" '
        f"best: {percent(float(shares[best]))} of it lies between them, of axes 1 and 2 at most "
        f"{percent(seen)}. Choose axes {first} and {second} to see them."
    )
