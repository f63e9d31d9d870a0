"""How chance is asked: permutations, drawn and counted once, and the p-values of many tests."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from threading import Event
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.special import gammaln

from mercer.check import Array, chunks
from mercer.engines.parallel import in_order
from mercer.progress import Progress
from mercer.settings import RandomState, seed_of, whole

CORRECTIONS = ("holm", "benjamini-hochberg", None)

PERMUTATIONS = 999
"""Permutations of a test, unless another number is given: no p-value is below 0.001."""

PERMUTATIONS_UNASKED = 199
"""Permutations of a test made beside what was asked for: no p-value is below 0.005."""

TIED = 1e-9
"""P-values that differ by less than this share are the same."""


def adjusted_p_values(p_values: Array, how: str | None) -> Array:
    r"""Return p-values corrected for their number m.

    .. math:: \text{Holm:}\; \max_{l \le i} (m - l + 1)\, p_{(l)}, \quad
        \text{Benjamini–Hochberg:}\; \min_{l \ge i} \tfrac{m}{l}\, p_{(l)}

    >>> p = np.array([0.01, 0.04, 0.03])
    >>> adjusted_p_values(p, "holm"), adjusted_p_values(p, "benjamini-hochberg")
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


T = TypeVar("T")
Item = TypeVar("Item")


def p_value(reached: Any, drawn: int) -> Any:
    """Return the share of draws that reach what was observed, which is one of them.

    >>> p_value(0, 99)
    0.01
    """
    return (1.0 + reached) / (drawn + 1.0)


def is_decided(reached: Any, drawn: int, level: float, risk: float) -> Any:
    r"""Return whether draws tell on which side of a level a p-value lies.

    .. math:: (R + 1) \binom{R}{S} \alpha^S (1 - \alpha)^{R - S} \le \varepsilon

    holds for S of R draws with probability at most ε at any R whatever, if the p-value is α
    (Robbins, Annals of Mathematical Statistics 41 (1970) 1397-1409): one may look after every draw,
    and the side S/R is on is wrong with probability at most ε.

    >>> is_decided(0, 180, 0.05, 0.01), is_decided(0, 200, 0.05, 0.01), is_decided(6, 10, 0.05, 0.01)
    (False, True, True)
    """  # noqa: E501  (a doctest in one line)
    S = np.asarray(reached, dtype=np.float64)
    chosen = gammaln(drawn + 1.0) - gammaln(S + 1.0) - gammaln(drawn - S + 1.0)
    law = np.log(drawn + 1.0) + chosen + S * np.log(level) + (drawn - S) * np.log1p(-level)
    found = law <= np.log(risk)
    return bool(found) if np.ndim(found) == 0 else found


class Null(NamedTuple):
    """Statistics of what was drawn, a row each, and how rarely they reach those observed.

    ``draws`` counts the rows behind each p-value.
    """

    values: Array
    p_values: Array
    draws: Array


@dataclass(frozen=True)
class Resampling:
    """How chance is asked: how often, from which seed, until when, in which threads, who is told.

    The r-th draw depends on the seed and r alone, so that neither their number nor the threads
    change it. With ``stop_after`` a test ends when each of its statistics was reached so often.
    """

    count: int
    seed: int
    stop_after: int | None = None
    threads: int | None = None
    progress: Progress | None = None

    @classmethod
    def of(  # noqa: PLR0913  (what a public function was given)
        cls,
        count: Any,
        random_state: RandomState = None,
        *,
        name: str = "permutations",
        least: int = 1,
        stop_after: Any = None,
        threads: Any = None,
        progress: Progress | None = None,
    ) -> Resampling:
        """Return the resampling that the arguments of a function ask for, checked.

        >>> Resampling.of(99, 7, threads=2)
        Resampling(count=99, seed=7, stop_after=None, threads=2, progress=None)
        """
        return cls(
            whole(count, name, least=least),
            seed_of(random_state),
            None if stop_after is None else whole(stop_after, "stop_after", least=1),
            None if threads is None else whole(threads, "threads", least=1),
            progress,
        )

    def bits(self, *number: int) -> np.random.PCG64:
        """Return the random bits of a draw, by its number, or that of its group and itself."""
        return np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=number))

    def generator(self, *number: int) -> np.random.Generator:
        """Return the generator of a draw.

        >>> resampling = Resampling(99, seed=0)
        >>> sorted(resampling.generator(5).permutation(4).tolist())
        [0, 1, 2, 3]
        """
        return np.random.Generator(self.bits(*number))

    def in_order(
        self, work: Callable[[Item, Event], T], items: Iterable[Item]
    ) -> Generator[T, None, None]:
        """Yield the results of work on items in their order, computed in the threads."""
        return in_order(work, items, self.threads)

    def batches(self, statistic: Callable[[int], Any], size: int) -> Generator[Array, None, None]:
        """Yield the statistics of the draws by their numbers, so many at a time."""

        def work(part: slice, stop: Event) -> Array:
            numbers = (r for r in range(part.start, part.stop) if not stop.is_set())
            return np.array([statistic(r) for r in numbers], dtype=np.float64)

        return self.in_order(work, chunks(self.count, size))

    def null(
        self,
        batches: Generator[Array, None, None],
        reached: Any,
        settles: Callable[[Array, int], bool] | None = None,
    ) -> Null:
        """Return what was drawn, up to the draw that settles every statistic, with p-values.

        ``batches`` are rows of statistics, or single ones; ``reached`` is from where on one of them
        counts as at least as large as that observed. ``settles`` may end it earlier: a function of
        how often each statistic was reached, in how many draws.

        >>> resampling = Resampling(99, seed=0)
        >>> found = resampling.null(
        ...     resampling.batches(lambda r: resampling.generator(r).integers(3), 10), 2.0
        ... )
        >>> found.values.shape, found.p_values
        ((99, 1), array([0.31]))
        """
        threshold = np.atleast_1d(np.asarray(reached, dtype=np.float64))
        rows: list[Array] = []
        counts, done = np.zeros(len(threshold), int), 0
        with closing(batches):  # also when interrupted: it ends its threads
            for batch in batches:
                rows.append(batch.reshape(len(batch), -1))
                counts += np.sum(rows[-1] >= threshold, axis=0)
                done += len(batch)
                if self.progress is not None:
                    self.progress(done, self.count)
                if self.stop_after is not None and np.all(counts >= self.stop_after):
                    break
                if settles is not None and done < self.count and settles(counts, done):
                    everything = np.vstack(rows)
                    return Null(everything, p_value(counts, done), np.full(len(counts), done))
        values = np.vstack([np.zeros((0, len(threshold))), *rows])
        p_values, draws = self.p_values(values >= threshold)
        return Null(values[: draws.max()], p_values, draws)

    def p_values(self, reaches: Array) -> tuple[Array, Array]:
        r"""Return the p-value of each statistic, and how many draws it is made of.

        .. math:: p = \frac{1 + \#\{r : T_r \ge T\}}{R + 1}

        or, with ``stop_after`` exceedances h that were reached at the draw ℓ, p = h/ℓ (Besag and
        Clifford, 1991). ``reaches`` has a row for each draw.

        >>> reaches = np.array([[True, False], [True, False], [False, False]])
        >>> Resampling(3, seed=0).p_values(reaches)
        (array([0.75, 0.25]), array([3, 3]))
        >>> Resampling(9, seed=0, stop_after=2).p_values(reaches[:, :1])
        (array([1.]), array([2]))
        """
        p_values = p_value(np.sum(reaches, axis=0), self.count)
        draws = np.full(len(p_values), self.count)
        if self.stop_after is None:
            return p_values, draws
        counts = np.cumsum(reaches, axis=0)
        is_settled = counts[-1] >= self.stop_after
        stopped = np.argmax(counts >= self.stop_after, axis=0) + 1
        settled = self.stop_after / stopped
        return np.where(is_settled, settled, p_values), np.where(is_settled, stopped, draws)
