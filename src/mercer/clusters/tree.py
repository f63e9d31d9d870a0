"""Ward's tree: merges that lose the least inertia, its cut, and how many classes it suggests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import DisjointSet

from mercer.check import Array

LEAST, MOST = 3, 10
"""Classes among which a number is suggested: two are seldom news, more are hard to tell."""

ROUNDING = 64.0 * float(np.finfo(float).eps)
"""A share of the inertia, or of a column's largest entry, below which all is rounding."""


@dataclass(frozen=True)
class Tree:
    """Merges of cells, two at a time, by the inertia that is lost: the least first."""

    merges: Array
    losses: Array

    def cut(self, count: int) -> Array:
        """Return the class of each cell, from 0, once all but the last merges were made."""
        size = len(self.merges) + 1
        sets = DisjointSet(range(size))
        for a, b in self.merges[: size - count]:
            sets.merge(int(a), int(b))
        roots = [sets[i] for i in range(size)]
        return np.unique(roots, return_inverse=True)[1]

    @property
    def within(self) -> Array:
        """The inertia within 1, 2, … classes."""
        return np.cumsum(np.r_[0.0, self.losses])[::-1]


def ward(points: Array, weights: Array) -> Tree:
    r"""Return the tree of Ward, which loses the least inertia at each merge.

    .. math:: \Delta(a, b) = \frac{w_a w_b}{w_a + w_b} \|\mu_a - \mu_b\|^2

    Chains of nearest neighbours find it in time n² and memory n: two clusters that are nearest to
    each other are merged in any order, since no merge brings a cluster nearer to a third one.

    >>> tree = ward(np.array([[0.0], [1.0], [9.0]]), np.full(3, 1 / 3))
    >>> tree.losses.round(4), tree.cut(2)
    (array([ 0.1667, 16.0556]), array([0, 0, 1]))

    Murtagh, The Computer Journal 26 (1983) 354-359.
    """
    n = len(points)
    centres, masses = points.astype(np.float64).copy(), weights.astype(np.float64).copy()
    lives = np.ones(n, dtype=bool)
    chain: list[int] = []
    merges, losses = np.empty((n - 1, 2), dtype=int), np.empty(n - 1)
    for step in range(n - 1):
        if not chain:
            chain.append(int(np.argmax(lives)))
        while True:
            a = chain[-1]
            lost = masses[a] * masses / (masses[a] + masses)
            lost = np.where(lives, lost * np.sum((centres - centres[a]) ** 2, axis=1), np.inf)
            lost[a] = np.inf
            b = chain[-2] if len(chain) > 1 else -1
            nearest = int(np.argmin(lost))
            if b >= 0 and lost[b] <= lost[nearest]:
                break
            chain.append(nearest)
        del chain[-2:]
        merges[step], losses[step] = (a, b), lost[b]
        centres[b] = (masses[a] * centres[a] + masses[b] * centres[b]) / (masses[a] + masses[b])
        masses[b] += masses[a]
        lives[a] = False
    order = np.argsort(losses, kind="stable")
    return Tree(merges[order], losses[order])


def suggested_count(within: Array, individuals: int) -> int:
    """Return the number of classes that leaves the least share of what one class fewer left.

    It is from 3 to 10, at most half of the individuals, and not more than are needed to leave
    nothing within classes; of two or three individuals it is one class fewer.

    >>> suggested_count(np.array([10.0, 8.0, 7.0, 2.0, 1.8]), 50)
    4
    """
    least_left = ROUNDING * within[0]
    needed = int(np.sum(within > least_left)) + 1
    half = max(LEAST, round(individuals / 2))
    most = min(MOST, half, individuals - 1, needed, len(within))
    if most < LEAST:
        return max(1, most)
    left = np.maximum(within, least_left)
    shares = left[LEAST - 1 : most] / left[LEAST - 2 : most - 1]
    return LEAST + int(np.argmin(shares))
