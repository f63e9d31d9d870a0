"""Subsets of replicates and their networks, drawn, and the conditions permuted among replicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from threading import Event
from typing import TypeVar

import numpy as np

from mercer.check import Array, chunks
from mercer.errors import InvalidParameter
from mercer.networks.expression import CONSTANT, Expression
from mercer.networks.moments import NetworkGrams, infer_examined
from mercer.resampling import PERMUTATIONS_UNASKED, Resampling, p_value
from mercer.settings import whole

T = TypeVar("T")
R = TypeVar("R")

TOGETHER = 5
"""Draws computed by one call: enough that progress is seen, and few enough to share out."""

PAIRS = 6
"""Pairs of conditions up to which each has all permutations; more pairs share as many."""

MOST_PERMUTATIONS = 10_000
"""Permutations beyond which a confidence is refused."""

ALIKE = 1e-9
"""Spreads that differ by less, as a share, are equal: a permutation may leave all as it is."""

Task = tuple[tuple[int, ...], slice]


def share_out(
    work: Callable[[T, Event], R], tasks: Sequence[T], draws: Resampling, before: int = 0
) -> Iterator[tuple[T, R]]:
    """Yield tasks and their results in order; say how many are done, those before included."""
    with closing(draws.in_order(work, tasks)) as results:
        for done, (task, result) in enumerate(zip(tasks, results, strict=True), before + 1):
            yield task, result
            if draws.progress is not None:
                draws.progress(done, draws.count)


@dataclass(frozen=True, eq=False)
class DrawnNetworks:
    """The networks of one size: their Gram matrices, and the first ones themselves."""

    grams: Array
    networks: Array
    is_split: bool


@dataclass(frozen=True, eq=False)
class SubsetDraws:
    """How subsets are drawn: every draw depends on the seed, its size and its number alone."""

    expression: Expression
    infer: Callable[[Array], Array]
    compare: NetworkGrams
    full: Array
    seed: int

    def is_split(self, size: int) -> bool:
        """Whether every condition has two disjoint sets of so many replicates."""
        return 2 * size <= min(self.expression.replicates)

    def networks(self, size: int, draw: int) -> Array:
        """Return the networks of one draw: one set of each condition, and a disjoint second."""
        rng = np.random.default_rng([self.seed, size, draw])
        sets = 2 if self.is_split(size) else 1
        orders = [rng.permutation(rows)[: sets * size] for rows in self.expression.rows]
        return np.stack(
            [
                infer_examined(self.infer, self.expression.values[order[k * size : (k + 1) * size]])
                for k in range(sets)
                for order in orders
            ]
        )

    def tasks(self, sizes: tuple[int, ...], draws: int) -> list[tuple[int, slice]]:
        """Return the pieces of work: a size, and some of its draws."""
        return [(size, part) for size in sizes for part in chunks(draws, TOGETHER)]

    def run(
        self,
        tasks: Sequence[tuple[int, slice]],
        draws: Resampling,
        *,
        kept: int,
    ) -> dict[int, DrawnNetworks]:
        """Return what was drawn of each size; the first ``kept`` networks are kept."""

        def work(task: tuple[int, slice], stop: Event) -> tuple[Array, Array]:
            size, part = task
            grams, first = [], []
            for draw in range(part.start, part.stop):
                if stop.is_set():
                    break
                networks = self.networks(size, draw)
                grams.append(self.compare.gram(np.concatenate([networks, self.full])))
                if draw < kept:
                    first.append(networks[: len(self.full)])
            none = np.zeros((0, *self.full.shape))
            return np.array(grams), np.array(first) if first else none

        found: dict[int, list[tuple[Array, Array]]] = {size: [] for size, _ in tasks}
        for (size, _), result in share_out(work, tasks, draws):
            found[size].append(result)
        return {size: self._joined(size, pieces) for size, pieces in found.items()}

    def _joined(self, size: int, pieces: list[tuple[Array, Array]]) -> DrawnNetworks:
        grams, networks = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        return DrawnNetworks(grams, networks, self.is_split(size))


def least_permutations(confidence: float) -> int:
    """Return how many permutations can reject at all: p is then at most half of 1 - confidence.

    >>> least_permutations(0.95), least_permutations(0.9)
    (39, 19)
    """
    return int(np.ceil(2.0 / (1.0 - confidence) - ALIKE)) - 1


def permutations_of(permutations: int | None, confidence: float) -> int:
    """Return the number of permutations, refusing one that can never show a difference."""
    fewest = least_permutations(confidence)
    if fewest > MOST_PERMUTATIONS:
        raise InvalidParameter(
            f"confidence={confidence!r} takes {fewest} permutations to show a difference; lower it"
        )
    if permutations is None:
        return max(PERMUTATIONS_UNASKED, fewest)
    return whole(permutations, "permutations", least=fewest)


def permutations_of_pairs(permutations: int, conditions: int, confidence: float) -> int:
    """Return the permutations of each pair of conditions: fewer where there are many pairs.

    Two conditions have none, since all of them are that pair.

    >>> [permutations_of_pairs(199, conditions, 0.95) for conditions in (2, 4, 10)]
    [0, 199, 39]
    """
    pairs = conditions * (conditions - 1) // 2
    if pairs == 1:
        return 0
    return max(least_permutations(confidence), min(permutations, PAIRS * permutations // pairs))


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
class PermutedReplicates:
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
    compare: NetworkGrams
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
        for (group, _), (larger, drawn) in share_out(work, tasks, draws, before):
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
        weights = [infer_examined(self.infer, x) for x in parts]
        return spread(self.compare.gram(np.stack(weights)))
