"""Whether networks of conditions differ at all, by permuting the replicates among conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from threading import Event

import numpy as np

from mercer.check import Array, chunks, whole
from mercer.errors import InvalidParameter
from mercer.networks.coefficients import CONSTANT
from mercer.networks.comparing import Comparison, checked
from mercer.networks.drawing import TOGETHER, shared_out
from mercer.networks.expression import Expression
from mercer.resampling import Resampling, p_value

PERMUTATIONS = 199
"""Permutations of the replicates among all conditions, unless another number is given."""

PAIRS = 6
"""Pairs of conditions up to which each has all permutations; more pairs share as many."""

MOST = 10_000
"""Permutations beyond which a confidence is refused."""

ALIKE = 1e-9
"""Spreads that differ by less, as a share, are equal: a permutation may leave all as it is."""

Task = tuple[tuple[int, ...], slice]


def least(confidence: float) -> int:
    """Return how many permutations can reject at all: p is then at most half of 1 - confidence.

    >>> least(0.95), least(0.9)
    (39, 19)
    """
    return int(np.ceil(2.0 / (1.0 - confidence) - ALIKE)) - 1


def permutations_of(permutations: int | None, confidence: float) -> int:
    """Return the number of permutations, refusing one that can never show a difference."""
    fewest = least(confidence)
    if fewest > MOST:
        raise InvalidParameter(
            f"confidence={confidence!r} takes {fewest} permutations to show a difference; lower it"
        )
    if permutations is None:
        return max(PERMUTATIONS, fewest)
    return whole(permutations, "permutations", least=fewest)


def of_pairs(permutations: int, conditions: int, confidence: float) -> int:
    """Return the permutations of each pair of conditions: fewer where there are many pairs.

    Two conditions have none, since all of them are that pair.

    >>> of_pairs(199, 2, 0.95), of_pairs(199, 4, 0.95), of_pairs(199, 10, 0.95)
    (0, 199, 39)
    """
    pairs = conditions * (conditions - 1) // 2
    if pairs == 1:
        return 0
    return max(least(confidence), min(permutations, PAIRS * permutations // pairs))


def spread(gram: Array) -> float:
    """Return the mean squared distance of networks to each other, from their inner products.

    >>> spread(np.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))  # 1, 9 and 4
    4.666666666666667
    """
    C = len(gram)
    return float(2.0 * (C * np.trace(gram) - np.sum(gram)) / (C * (C - 1)))


def residuals(expression: Expression) -> tuple[Array, ...]:
    """Return the replicates of each condition less their mean, exactly 0 where a gene is constant.

    >>> x = Expression(np.array([[0.1, 1.0], [0.1, 3.0]]), ("a", "b"), ("c",), (np.arange(2),))
    >>> residuals(x)[0].tolist()
    [[0.0, -1.0], [0.0, 1.0]]
    """
    found = []
    for c in range(len(expression.conditions)):
        x = expression.of(c)
        rest = x - x.mean(axis=0)
        rounding = CONSTANT * np.abs(x).max(axis=0)
        found.append(np.where(np.abs(rest).max(axis=0) > rounding, rest, 0.0))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Permuted:
    r"""A test of "the networks of these conditions are the same".

    Replicates are centred by condition, since other means are no other network, and permuted among
    the conditions; :math:`T` is the mean squared distance of the conditions' networks. Of P
    permutations, with T' as in the data or larger in k,

    .. math:: p = (1 + k) / (1 + P)

    Were the residuals exchangeable, p would be at most α with a probability of at most α, whatever
    the inference and the kernel. Centring makes them nearly so.
    """

    residuals: tuple[Array, ...]
    infer: Callable[[Array], Array]
    compare: Comparison
    seed: int

    def tasks(self, permutations: int, of_each_pair: int) -> list[Task]:
        """Return the pieces of work: permutations among all conditions, then of each pair."""
        every = tuple(range(len(self.residuals)))
        counts = {every: permutations}
        if of_each_pair:
            counts |= dict.fromkeys(combinations(every, 2), of_each_pair)
        return [(group, part) for group, n in counts.items() for part in chunks(n, TOGETHER)]

    def run(
        self,
        tasks: Sequence[Task],
        draws: Resampling,
        before: int = 0,
    ) -> dict[tuple[int, ...], float]:
        """Return the p-value of all conditions and of each pair of them."""
        seen = {group: self.observed(group) for group, _ in tasks}

        def work(task: Task, stop: Event) -> tuple[int, int]:
            group, part = task
            numbers = range(part.start, part.stop)
            found = [self.permuted(group, k) for k in numbers if not stop.is_set()]
            as_large = (1.0 - ALIKE) * seen[group]
            return sum(value >= as_large for value in found), len(found)

        counts = {group: np.zeros(2, int) for group in seen}
        for (group, _), (larger, drawn) in shared_out(work, tasks, draws, before):
            counts[group] += larger, drawn
        return {group: float(p_value(k, n)) for group, (k, n) in counts.items()}

    def observed(self, group: tuple[int, ...]) -> float:
        """Return the mean squared distance of the networks of some conditions."""
        return self._spread([self.residuals[c] for c in group])

    def permuted(self, group: tuple[int, ...], number: int) -> float:
        """Return the same after a permutation, which its number and the seed alone decide."""
        rng = np.random.default_rng([self.seed, 1, number, *group])
        parts = [self.residuals[c] for c in group]
        ends = np.cumsum([len(x) for x in parts])[:-1]
        return self._spread(np.split(rng.permutation(np.concatenate(parts)), ends))

    def _spread(self, parts: Sequence[Array]) -> float:
        weights = [checked(self.infer(x), x.shape[1], self.infer) for x in parts]
        return spread(self.compare.gram(np.stack(weights)))
