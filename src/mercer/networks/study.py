"""How many replicates are enough for networks to tell conditions apart."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter, ReadingWarning
from mercer.kernels.base import Kernel
from mercer.networks.draws import (
    DrawnNetworks,
    PermutedReplicates,
    SubsetDraws,
    permutations_of,
    permutations_of_pairs,
    residuals,
)
from mercer.networks.expression import Expression, as_expression, name_unconverged
from mercer.networks.inference import DRAWS, Inference, Network, as_inference, infer_weights
from mercer.networks.moments import Influences, NetworkGrams, infer_examined
from mercer.networks.needed_replicates import Needed, ReplicateCurve, decide, estimate_curve
from mercer.pca.kernel_pca import KernelPCA
from mercer.progress import Progress, follow_work
from mercer.resampling import Resampling
from mercer.settings import CONFIDENCE, RandomState, confidence_of, spelled, whole

SHOWN = 10
"""Draws of each size that are placed on the map, where their networks fit into memory."""

REPEATED = 0.1
"""The share of genes with one value in most replicates from which a study says so."""

SHOWN_BYTES = 2**28
"""Bytes of the networks that are kept for the map."""

AXES = 2


@dataclass(frozen=True, eq=False, repr=False)
class ReplicateStudy(Shown):
    """The answer of a study of replicates: how many are enough.

    ``answer`` holds the number with its interval, ``pairs`` the same for each pair of conditions
    by itself, ``curve`` what it rests on, ``networks`` those of all replicates, ``map`` the
    networks of all sizes on the axes of a kernel PCA. ``repeated`` is the share of genes that have
    one value, such as 0, in most replicates of a condition.

    >>> import numpy as np
    >>> import mercer as mc
    >>> genes = mc.networks.simulate_expression(20, 2, effect=0.8, strength=0.95, random_state=1)
    >>> table = genes.table(8, np.random.default_rng(1))
    >>> found = mc.replicate_study(table, "condition", draws=10, random_state=0)
    >>> found.replicates, len(found.genes)
    ((8, 8, 8, 8), 20)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "conditions": "that were compared",
        "replicates": "of each",
        "genes": "how many",
        "kernel": "between networks",
        "curve": "scatter and separation by replicates",
        "networks": "of all replicates",
        "draws": "of replicates",
    }

    conditions: tuple[str, ...]
    replicates: tuple[int, ...]
    genes: tuple[str, ...]
    kernel: Kernel
    inference: Any
    draws: int
    seed: int
    curve: ReplicateCurve
    answer: Needed
    pairs: Mapping[tuple[str, str], Needed]
    networks: Mapping[str, Network]
    map: StudyMap
    repeated: float

    def __str__(self) -> str:
        return " ".join(self.sentences)

    def _title(self) -> str:
        return f"ReplicateStudy: {self.answer}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer in words, and how far to trust it."""
        answer, most = self.answer, min(self.replicates)
        if not answer.is_shown:
            first = (
                "The replicates show no difference between the conditions "
                f"(p = {answer.p_value:.2g} by permutation), so no number of them can be said to "
                "be enough"
            )
            first += (
                f": there may be no difference, or it takes more than the {most} at hand."
                if answer.number is None
                else f". If what was seen is a difference, {answer.number} would be "
                f"({100 * answer.confidence:g} % interval {answer.ends})."
            )
        elif answer.number is None:
            first = (
                "No number of replicates can be named: networks scatter more than the conditions "
                "differ, and nothing says that more replicates would change it "
                f"({100 * answer.confidence:g} % interval {answer.ends})."
            )
        else:
            first = (
                f"{answer.number} replicates for each condition are enough "
                f"({100 * answer.confidence:g} % interval {answer.ends}): from there on networks "
                "lie closer to their own condition than conditions lie to each other."
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
        if answer.high is None and answer.number is not None and answer.is_shown:
            said.append(
                "The interval is open: with these replicates it cannot be excluded that the "
                "conditions hardly differ."
            )
        if self.repeated > REPEATED:
            said.append(
                f"{100 * self.repeated:.0f} % of the genes repeat one value in most replicates of "
                "a condition: of such data p may be too small. Leave them out."
            )
        apart = [p for p, n in self.pairs.items() if n.number is None or not n.is_shown]
        if apart and len(self.pairs) > 1:
            named = "; ".join(" and ".join(pair) for pair in apart[:3])
            more = f" and {len(apart) - 3} more" if len(apart) > 3 else ""
            said.append(f"By themselves these conditions are not told apart: {named}{more}.")
        return tuple(said)


@spelled
def replicate_study(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    expression: Any,
    conditions: Any,
    *,
    sizes: Any = None,
    kernel: Any = None,
    infer: Any = "correlation",
    draws: int = 100,
    samples: int = 500,
    permutations: int | None = None,
    confidence: float = CONFIDENCE,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
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
    which the answer then says. The interval comes from bootstrap samples of the replicates. It is
    open where a permutation test shows no difference between the conditions: replicates are centred
    by condition and permuted among conditions.

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
    permutations : int, optional
        Permutations of the test, by default 199; more than six pairs of conditions have fewer
        each, at least as many as can show a difference: 39 at a confidence of 0.95.
    confidence : float
        Of the interval, and of the test: p-values are held against half of 1 - confidence.
    random_state : int or generator, optional
        The seed; with it, everything is the same whatever the number of threads.
    threads : int, optional
        How many threads to use, by default one for each core.
    progress : bool or function, optional
        True for a line on the standard error, or a function of the pieces of work done and all.

    Examples
    --------
    >>> from mercer.networks import simulate_expression
    >>> model = simulate_expression(24, 4, effect=0.8, strength=0.95, random_state=1)
    >>> table = model.table(12, np.random.default_rng(1))
    >>> how = Inference(power=2.0)
    >>> chosen = {"sizes": [2, 4, 6], "infer": how, "draws": 20}
    >>> study = replicate_study(table, "condition", **chosen, random_state=0)
    >>> print(study.answer)
    4 (95 % interval 3 to 5)
    """
    how = as_inference(infer)
    data = as_expression(expression, conditions)
    _refuse_shape(data, how)
    confidence = confidence_of(confidence)
    chosen = _sizes(sizes, data, how)
    count = whole(draws, "draws", least=2)
    resampled = whole(samples, "samples", least=20)
    tested = permutations_of(permutations, confidence)
    with follow_work(progress, "draws") as tell:
        resampling = Resampling.of(1, random_state, threads=threads, progress=tell)
        return _studied(
            data, how, kernel, StudyPlan(chosen, count, resampled, tested, confidence), resampling
        )


class StudyPlan(NamedTuple):
    """The sizes of a study, the draws of each, samples, permutations, and the confidence."""

    sizes: tuple[int, ...]
    draws: int
    samples: int
    permutations: int
    confidence: float


def _studied(
    data: Expression, how: Any, kernel: Any, plan: StudyPlan, resampling: Resampling
) -> ReplicateStudy:
    chosen, count, resampled, tested, confidence = plan
    seed = resampling.seed
    with name_unconverged():
        left_out = _left_out(data, how)
    compare = NetworkGrams.of(kernel, data.genes, left_out)
    starts = np.cumsum([0, *(n + 1 for n in data.replicates)])[:-1]
    drawing = SubsetDraws(data, how, compare, left_out[starts], seed)
    test = PermutedReplicates(residuals(data), how, compare, seed)
    draw_tasks = drawing.tasks(chosen, count)
    test_tasks = test.tasks(tested, permutations_of_pairs(tested, len(data.conditions), confidence))
    shared = replace(resampling, count=len(draw_tasks) + len(test_tasks))
    kept = shown_genes(len(data.genes), len(data.conditions) * len(chosen))
    with name_unconverged():
        drawn = drawing.run(draw_tasks, shared, kept=kept)
    influences = Influences.of(compare.gram(left_out), data.replicates)
    weights = influences.drawn(resampled, np.random.default_rng(seed))
    curve, moved = estimate_curve(drawn, influences, weights, confidence)
    with name_unconverged():
        p_values = test.run(test_tasks, shared, len(draw_tasks))
    every = tuple(range(len(data.conditions)))
    pairs = {}
    for c, d in combinations(every, 2):
        own = moved.pair(c, d)
        names = data.conditions[c], data.conditions[d]
        pairs[names] = decide(curve.sizes, own[0], own[1:], confidence, p_values[c, d])
    return ReplicateStudy(
        conditions=data.conditions,
        replicates=data.replicates,
        genes=data.genes,
        kernel=compare.kernel,
        inference=how,
        draws=count,
        seed=seed,
        curve=curve,
        answer=decide(curve.sizes, curve.ratio, curve.samples, confidence, p_values[every]),
        pairs=pairs,
        networks=_networks(data, how, left_out[starts], confidence, resampling),
        map=map_networks(drawn, drawing.full, compare, data.conditions),
        repeated=repeated_share(data),
    )


def repeated_share(data: Expression) -> float:
    """Return the share of genes, over conditions, that have one value in most replicates.

    >>> x = as_expression([[0.0, 1.0], [0.0, 2.0], [1.0, 3.0]])
    >>> repeated_share(x)
    0.5
    """
    shares = []
    for c in range(len(data.conditions)):
        x = data.of(c)
        # A value of most replicates is the median.
        shares.append(np.mean(np.sum(x == np.median(x, axis=0), axis=0) > len(x) / 2.0))
    return float(np.mean(shares))


def shown_genes(genes: int, groups: int) -> int:
    """Return how many draws of each size and condition are placed on the map.

    >>> shown_genes(100, 20), shown_genes(2_000, 20)
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
        if count < fewest:
            raise InvalidInput(
                f"condition {name!r}: comparing two disjoint sets of replicates needs at least "
                f"{fewest} replicates, found {count}; leave its rows out, or measure more"
            )


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
        parts = (x, *(np.delete(x, i, axis=0) for i in range(len(x))))
        networks += [infer_examined(how, part) for part in parts]
    return np.stack(networks)


def _networks(
    data: Expression, how: Any, full: Array, confidence: float, resampling: Resampling
) -> dict[str, Network]:
    if isinstance(how, Inference):
        draws = replace(DRAWS, seed=resampling.seed, threads=resampling.threads)
        return {
            name: replace(infer_weights(data.of(c), how, confidence, draws), names=data.genes)
            for c, name in enumerate(data.conditions)
        }
    return {
        name: Network(data.genes, w, w, None, None, None, how, count)
        for name, w, count in zip(data.conditions, full, data.replicates, strict=True)
    }


@dataclass(frozen=True, eq=False, repr=False)
class StudyMap(Shown):
    """Networks as points: where each lies, of which condition and size it is.

    ``sizes`` is 0 for the networks of all replicates. ``shares`` are those of the two axes in the
    inertia of the networks that are shown, each size with the same weight.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "coordinates": "of the networks",
        "sizes": "replicates of each network, 0 for all",
        "shares": "of the axes",
    }

    coordinates: Array
    conditions: Array
    sizes: Array
    shares: Array

    def _title(self) -> str:
        return f"StudyMap of {len(self.coordinates)} networks"

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each network."""
        columns = {"condition": self.conditions, "replicates": self.sizes}
        columns |= {f"axis_{k + 1}": column for k, column in enumerate(self.coordinates.T)}
        return as_frame(columns, library)

    def trajectory(self, condition: int) -> tuple[Array, Array]:
        """Return the sizes and the mean place of the networks of each, ending at the full one."""
        mine = self.conditions == condition
        sizes = np.unique(self.sizes[mine & (self.sizes > 0)])
        places = [self.coordinates[mine & (self.sizes == m)].mean(axis=0) for m in sizes]
        end = self.coordinates[mine & (self.sizes == 0)]
        return np.append(sizes, 0), np.vstack([*places, end])


def map_networks(
    drawn: Mapping[int, DrawnNetworks],
    full: Array,
    compare: NetworkGrams,
    conditions: tuple[str, ...],
) -> StudyMap:
    """Return the map of the first networks drawn of each size and those of all replicates.

    Networks of two replicates scatter far more than those of six, and would take the axes for
    themselves: a network of m replicates has the weight m - 1.
    """
    C = len(conditions)
    shown = [d.networks.reshape(-1, *full.shape[1:]) for d in drawn.values()]
    networks = np.concatenate([*shown, full])
    sizes = np.concatenate([np.full(len(s), m) for m, s in zip(drawn, shown, strict=True)])
    sizes = np.append(sizes, np.zeros(C, int))
    weights = np.where(sizes > 0, sizes - 1.0, float(max(drawn)))
    gram = compare.gram(networks)
    model = KernelPCA(AXES, kernel="precomputed", method="dense")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)  # one axis is drawn as a line
        scores = model.fit_transform(gram, sample_weight=weights)
    coordinates = np.zeros((len(networks), AXES))
    coordinates[:, : scores.shape[1]] = scores
    shares = np.zeros(AXES)
    shares[: scores.shape[1]] = model.inertias_ / model.inertia_
    owners = np.tile(np.arange(C), len(networks) // C)
    return StudyMap(coordinates, owners, sizes, shares)
