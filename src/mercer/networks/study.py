"""How many replicates are enough for networks to tell conditions apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from mercer.check import Array, InvalidInput, InvalidParameter, number, whole
from mercer.engines.base import Progress
from mercer.estimator import seed_of
from mercer.kernels.base import Kernel
from mercer.networks.coefficients import unconverged
from mercer.networks.comparing import Comparison, checked
from mercer.networks.drawing import Drawing, Drawn
from mercer.networks.expression import Expression, as_expression
from mercer.networks.inference import Inference, Network, as_inference, inferred, refuse_few
from mercer.networks.mapping import StudyMap, mapped
from mercer.networks.moments import Influences, Moments, distances, pooled, ratios, recognised
from mercer.networks.needed import Needed, continued, decided, line
from mercer.reading.tidy import Tidy

SHOWN = 10
"""Draws of each size that are placed on the map, where their networks fit into memory."""

REPEATED = 0.1
"""The share of genes with one value in most replicates from which a study says so."""

SHOWN_BYTES = 2**28
"""Bytes of the networks that are kept for the map."""


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """Scatter of networks and separation of conditions, by the number of replicates.

    ``sizes`` are those of which every condition has two disjoint sets. ``scatter`` is the mean
    squared distance of networks to the mean network of their condition, ``separation`` the mean
    squared distance of these mean networks and ``ratio`` their quotient, with the ends of its band
    (``samples``: its values) over bootstrap samples of the replicates. ``recognised`` is how often
    a network lies nearest to that of its own condition among those of disjoint replicates.

    ``every`` are all sizes that were asked for, and ``to_full`` the distances of their networks to
    the network of all replicates of their condition: a row for each size and a column for each
    condition, with the ends of 95 % of the draws in ``to_full_low`` and ``to_full_high``. These
    fall to 0 by themselves, since the sets then are the whole.
    """

    sizes: Array
    scatter: Array
    separation: Array
    separation_band: Array
    ratio: Array
    samples: Array
    recognised: Array
    every: Array
    to_full: Array
    to_full_low: Array
    to_full_high: Array
    level: float

    def at(self, numbers: Any) -> tuple[Array, Array, Array]:
        """Return the ratio at numbers of replicates, and its band: extrapolated beyond sizes."""
        m = np.asarray(numbers, float)
        samples = np.stack([continued(self.sizes, s, m) for s in self.samples])
        tail = (1.0 - self.level) / 2.0
        low, high = np.quantile(samples, [tail, 1.0 - tail], axis=0)
        return continued(self.sizes, self.ratio, m), low, high

    def table(self) -> Tidy:
        """Return one row for each size; NaN where there are no two disjoint sets of it."""
        place = {int(m): i for i, m in enumerate(self.sizes)}
        rows = [place.get(int(m), -1) for m in self.every]

        def column(values: Array) -> Array:
            return np.append(values, np.nan)[rows]

        return Tidy(
            {
                "replicates": self.every,
                "scatter": column(np.sqrt(np.maximum(self.scatter, 0.0))),
                "separation": column(np.sqrt(np.maximum(self.separation, 0.0))),
                "ratio": column(self.ratio),
                "recognised": column(self.recognised),
                "to_full": self.to_full.mean(axis=1),
            }
        )

    @property
    def law(self) -> tuple[float, float]:
        """α and β of the line α + βm by which the ratio is continued beyond ``sizes``."""
        return line(self.sizes, self.ratio)


@dataclass(frozen=True, eq=False, repr=False)
class ReplicateStudy:
    """What replicates of a study say of how many are enough.

    ``answer`` holds the number with its interval, ``pairs`` the same for each pair of conditions
    by itself, ``curve`` what it rests on, ``networks`` those of all replicates, ``map`` the
    networks of all sizes on the axes of a kernel PCA. ``repeated`` is the share of genes that have
    one value, such as 0, in most replicates of a condition.
    """

    conditions: tuple[str, ...]
    replicates: tuple[int, ...]
    genes: tuple[str, ...]
    kernel: Kernel
    inference: Any
    draws: int
    seed: int
    curve: Curve
    answer: Needed
    pairs: Mapping[tuple[str, str], Needed]
    networks: Mapping[str, Network]
    map: StudyMap
    repeated: float

    def __str__(self) -> str:
        return " ".join(self.sentences)

    def __repr__(self) -> str:
        return f"<ReplicateStudy: {self.answer}>"

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer in words, and how far to trust it."""
        answer, most = self.answer, min(self.replicates)
        if answer.number is None:
            first = (
                "No number of replicates can be named: networks scatter more than the conditions "
                "differ, and nothing says that more replicates would change it "
                f"({100 * answer.level:g} % interval {answer.ends})."
            )
        else:
            first = (
                f"{answer.number} replicates for each condition are enough "
                f"({100 * answer.level:g} % interval {answer.ends}): from there on networks lie "
                "closer to their own condition than conditions lie to each other."
            )
        return first, *self._remarks(most)

    def _remarks(self, most: int) -> tuple[str, ...]:
        said = []
        answer = self.answer
        if answer.number is not None and answer.number > most:
            said.append(
                f"That is more than the {most} at hand: the number continues a line through what "
                f"{int(self.curve.sizes[-1])} and fewer replicates show."
            )
        elif answer.is_extrapolated and answer.number is not None:
            said.append(
                f"Two disjoint sets of {answer.number} would take {2 * answer.number} replicates: "
                f"the number continues a line through what up to {int(self.curve.sizes[-1])} show."
            )
        if answer.high is None and answer.number is not None:
            said.append(
                "The interval is open: with these replicates it cannot be excluded that the "
                "conditions hardly differ."
            )
        if self.repeated > REPEATED:
            said.append(
                f"{100 * self.repeated:.0f} % of the genes repeat one value in most replicates of "
                "a condition: of such data the interval is too narrow. Leave them out."
            )
        apart = [pair for pair, n in self.pairs.items() if n.number is None]
        if apart and len(self.pairs) > 1:
            named = "; ".join(" and ".join(pair) for pair in apart[:3])
            more = f" and {len(apart) - 3} more" if len(apart) > 3 else ""
            said.append(f"By themselves these conditions are not told apart: {named}{more}.")
        return tuple(said)


def replicate_study(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    expression: Any,
    conditions: Any,
    *,
    sizes: Any = None,
    kernel: Any = None,
    infer: Any = "correlation",
    draws: int = 100,
    samples: int = 500,
    level: float = 0.95,
    random_state: int | None = 0,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> ReplicateStudy:
    r"""Find the smallest number of replicates whose networks tell conditions apart.

    Networks inferred from m fresh replicates of a condition scatter around their mean; the means
    of two conditions lie apart. Under the kernel, with the features φ and averages over conditions
    and over pairs of them, the answer is

    .. math:: m^* = \min\Big\{ m : \frac{1}{|C|} \sum_c E\|\varphi(N_{m'}^c) - \mu_{m'}^c\|^2 \le
        \binom{|C|}{2}^{-1} \sum_{c < d} \|\mu_{m'}^c - \mu_{m'}^d\|^2
        \text{ for all } m' \ge m \Big\}, \quad \mu_m^c = E\,\varphi(N_m^c)

    Both sides are estimated without bias from pairs of disjoint sets of m replicates, up to half
    the replicates of the smallest condition; beyond, their ratio is continued by a line in m,
    which the answer then says. The interval comes from bootstrap samples of the replicates.

    Parameters
    ----------
    expression : Table, data frame or array
        Replicates in rows, genes in columns.
    conditions : labels, or names of columns
        One label for each row, or the columns of the table that hold them.
    sizes : sequence of int, optional
        Numbers of replicates to draw; by default all from the smallest that the inference allows
        to the number of the smallest condition.
    kernel : Kernel or str, optional
        A kernel between graphs on the same nodes; by default `AlignedEdges`.
    infer : Inference, str or function
        How networks are inferred: a method of `Inference`, or a function from an array of
        replicates to a symmetric matrix of weights.
    draws : int
        Subsets of each size.
    samples : int
        Bootstrap samples of the replicates.
    random_state : int, optional
        The seed; with it, everything is the same whatever the number of threads.
    jobs : int, optional
        Threads, by default one for each core.
    progress : function, optional
        Called with how many pieces of work are done and how many there are.

    Examples
    --------
    >>> from mercer import simulate_expression
    >>> model = simulate_expression(24, 4, effect=0.8, strength=0.95, random_state=1)
    >>> table = model.table(12, np.random.default_rng(1))
    >>> how = Inference(power=2.0)
    >>> study = replicate_study(table, "condition", sizes=[2, 4, 6], infer=how, draws=20)
    >>> print(study.answer)
    4 (95 % interval 3 to 5)
    """
    how = as_inference(infer)
    data = as_expression(expression, conditions)
    _refuse_shape(data, how)
    level = number(level, "level", above=0.0)
    if level >= 1.0:
        raise InvalidParameter(f"level must be a number between 0 and 1, found {level!r}")
    seed = seed_of(random_state)
    seed = int(np.random.default_rng().integers(2**32)) if seed is None else seed
    chosen = _sizes(sizes, data, how)
    count = whole(draws, "draws", least=2)
    with unconverged():
        left_out = _left_out(data, how)
    compare = Comparison.of(kernel, data.genes, left_out)
    starts = np.cumsum([0, *(n + 1 for n in data.replicates)])[:-1]
    drawing = Drawing(data, how, compare, left_out[starts], seed)
    kept = shown(len(data.genes), len(data.conditions) * len(chosen))
    with unconverged():
        drawn = drawing.run(chosen, count, kept=kept, jobs=jobs, progress=progress)
    influences = Influences.of(compare.gram(left_out), data.replicates)
    weights = influences.drawn(whole(samples, "samples", least=20), np.random.default_rng(seed))
    curve, pairs = _estimated(drawn, influences, weights, data, level)
    return ReplicateStudy(
        conditions=data.conditions,
        replicates=data.replicates,
        genes=data.genes,
        kernel=compare.kernel,
        inference=how,
        draws=count,
        seed=seed,
        curve=curve,
        answer=decided(curve.sizes, curve.ratio, curve.samples, level),
        pairs=pairs,
        networks=_networks(data, how, left_out[starts]),
        map=mapped(drawn, drawing.full, compare, data.conditions),
        repeated=repeated(data),
    )


def repeated(data: Expression) -> float:
    """Return the share of genes, over conditions, that have one value in most replicates.

    >>> x = as_expression([[0.0, 1.0], [0.0, 2.0], [1.0, 3.0]])
    >>> repeated(x)
    0.5
    """
    shares = []
    for c in range(len(data.conditions)):
        x = data.of(c)
        # A value of most replicates is the median.
        shares.append(np.mean(np.sum(x == np.median(x, axis=0), axis=0) > len(x) / 2.0))
    return float(np.mean(shares))


def shown(genes: int, groups: int) -> int:
    """Return how many draws of each size and condition are placed on the map.

    >>> shown(100, 20), shown(2_000, 20)
    (10, 1)
    """
    return max(1, min(SHOWN, SHOWN_BYTES // (8 * genes**2 * groups)))


def _refuse_shape(data: Expression, how: Any) -> None:
    if len(data.conditions) < 2:
        raise InvalidInput(
            "a study compares at least 2 conditions, and all replicates are of one: "
            f"{data.conditions[0]!r}"
        )
    fewest = 2 * max(2, getattr(how, "fewest", 2))
    for name, count in zip(data.conditions, data.replicates, strict=True):
        refuse_few(count, fewest, f"condition {name!r}: comparing two disjoint sets of replicates")


def _sizes(sizes: Any, data: Expression, how: Any) -> tuple[int, ...]:
    fewest, most = max(2, getattr(how, "fewest", 2)), min(data.replicates)
    if sizes is None:
        return tuple(range(fewest, most + 1))
    found = sorted({whole(m, "sizes", least=fewest) for m in np.atleast_1d(np.asarray(sizes))})
    if not found or found[-1] > most:
        raise InvalidParameter(
            f"sizes must lie between {fewest} and {most}, the number of replicates of the smallest "
            f"condition; found {sizes!r}"
        )
    if 2 * found[0] > most:
        raise InvalidParameter(
            f"at least one size must be at most {most // 2}: two disjoint sets of replicates are "
            f"compared, and the smallest condition has {most}"
        )
    return tuple(found)


def _left_out(data: Expression, how: Any) -> Array:
    """Return the network of each condition, then those with one of its replicates left out."""
    networks = []
    for c in range(len(data.conditions)):
        x = data.of(c)
        networks += [how(x), *(how(np.delete(x, i, axis=0)) for i in range(len(x)))]
    return np.stack([checked(w, len(data.genes), how) for w in networks])


def _estimated(
    drawn: dict[int, Drawn],
    influences: Influences,
    weights: Array,
    data: Expression,
    level: float,
) -> tuple[Curve, dict[tuple[str, str], Needed]]:
    """Return the curve, and the number that each pair of conditions needs by itself."""
    C = len(data.conditions)
    split = {size: d for size, d in drawn.items() if d.is_split}
    sizes = np.array(list(split))
    found = [Moments.of(d.grams, C) for d in split.values()]
    scatter = np.stack([m.scatter for m in found])
    if not np.any(scatter > 0.0):
        raise InvalidInput(
            "networks of whatever replicates are all alike: the genes are constant, or no edge "
            "passes the threshold; lower it"
        )
    separations = _resampled(found, influences, weights)  # the data come first
    within, between = pooled(scatter, separations)
    tail = (1.0 - level) / 2.0
    ends = [tail, 1.0 - tail]
    ratio = ratios(between, within)
    full = slice(-C, None)
    to_full = [distances(d.grams, slice(0, C), full) for d in drawn.values()]
    outer = [np.quantile(d, (0.025, 0.975), axis=0) for d in to_full]
    curve = Curve(
        sizes=sizes,
        scatter=within,
        separation=between[0],
        separation_band=np.quantile(between[1:], ends, axis=0),
        ratio=ratio[0],
        samples=ratio[1:],
        recognised=np.array([recognised(d.grams, C).mean() for d in split.values()]),
        every=np.array(list(drawn)),
        to_full=np.array([d.mean(axis=0) for d in to_full]),
        to_full_low=np.array([low for low, _ in outer]),
        to_full_high=np.array([high for _, high in outer]),
        level=level,
    )
    pairs = {}
    for c, d in combinations(range(C), 2):
        own = ratios(separations[:, :, c, d], (scatter[:, c] + scatter[:, d]) / 2.0)
        names = data.conditions[c], data.conditions[d]
        pairs[names] = decided(sizes, own[0], own[1:], level)
    return curve, pairs


def _resampled(found: list[Moments], influences: Influences, weights: Array) -> Array:
    """Return the separations of the data (first) and of the bootstrap samples, size by size.

    A sample moves the inner products of means as it moves those of the pseudo-values, in the unit
    of the products at each size. The scatter is a mean over all pairs of genes, and taken as known:
    its relative error is a fraction of that of the separation, a difference of such means.
    """
    every = np.vstack([np.ones(weights.shape[1]), weights])
    means = influences.means(1.0 + influences.tempering() * (every - 1.0))
    products = np.stack([m.means for m in found])
    own = np.trace(means[0])
    units = np.trace(products, axis1=1, axis2=2) / own if own > 0 else np.ones(len(found))
    moved = products + units[:, None, None] * (means - means[0])[:, None]
    diagonal = np.einsum("bmcc->bmc", moved)
    separations: Array = diagonal[..., :, None] + diagonal[..., None, :] - 2.0 * moved
    return separations


def _networks(data: Expression, how: Any, full: Array) -> dict[str, Network]:
    if isinstance(how, Inference):
        return {
            name: replace(inferred(data.of(c), how), names=data.genes)
            for c, name in enumerate(data.conditions)
        }
    return {
        name: Network(data.genes, w, w, None, None, None, how, count)
        for name, w, count in zip(data.conditions, full, data.replicates, strict=True)
    }
