"""P-values of many tests together: what they must be for the rarest of them to mean something."""

from __future__ import annotations

import numpy as np

from mercer.check import Array

CORRECTIONS = ("holm", "benjamini-hochberg", None)

TIED = 1e-9
"""P-values that differ by less than this share are the same."""


def corrected(p_values: Array, how: str | None) -> Array:
    r"""Return p-values corrected for their number m.

    .. math:: \text{Holm:}\; \max_{l \le i} (m - l + 1)\, p_{(l)}, \quad
        \text{Benjamini–Hochberg:}\; \min_{l \ge i} \tfrac{m}{l}\, p_{(l)}

    >>> p = np.array([0.01, 0.04, 0.03])
    >>> corrected(p, "holm"), corrected(p, "benjamini-hochberg")
    (array([0.03, 0.06, 0.06]), array([0.03, 0.04, 0.04]))
    """
    m = len(p_values)
    if how is None or m == 0:
        return p_values
    order = np.argsort(p_values, kind="stable")
    rank = np.arange(1, m + 1)
    if how == "holm":
        sorted_ = np.maximum.accumulate((m - rank + 1) * p_values[order])
    else:
        sorted_ = np.minimum.accumulate((m / rank * p_values[order])[::-1])[::-1]
    result = np.empty(m)
    result[order] = np.minimum(sorted_, 1.0)
    return result


def by_permutation(p_values: Array, null: Array) -> tuple[Array, Array]:
    r"""Return p-values of tests by themselves, and together, from those of R permutations.

    .. math:: p_i = \frac{1 + \#\{r : p_i^{(r)} \le p_i\}}{R + 1}, \quad
        \tilde p_{(i)} = \max_{l \le i}
        \frac{1 + \#\{r : \min_{j \ge l} p_{(j)}^{(r)} \le p_{(l)}\}}{R + 1}

    ``null`` has one row for each permutation. What the given p-values rest on does not matter: any
    numbers that are small where a link is close lead to p-values that hold. The second keep the
    probability of any false link, and know of the dependence of the tests (Westfall and Young,
    1993, Algorithm 2.8).

    >>> null = np.array([[0.5, 0.2], [0.04, 0.9], [0.7, 0.6]])
    >>> by_permutation(np.array([0.03, 0.3]), null)
    (array([0.25, 0.5 ]), array([0.25, 0.5 ]))
    """
    limits = p_values * (1.0 + TIED)
    order = np.argsort(p_values, kind="stable")
    least = np.minimum.accumulate(null[:, order][:, ::-1], axis=1)[:, ::-1]
    alone, together = ((a <= b).sum(axis=0) for a, b in ((null, limits), (least, limits[order])))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(1.0 + together)
    return (1.0 + alone) / (len(null) + 1.0), adjusted / (len(null) + 1.0)
