"""From replicates to a network: how it is inferred, as a value, and what is known of its edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import is_yes, one_of
from mercer.kernels.graph import Graph
from mercer.networks.expression import (
    as_expression,
    correlations,
    lasso,
    name_unconverged,
    partial_correlations,
    rank_correlations,
)
from mercer.points import read_only
from mercer.progress import Progress, follow_work
from mercer.resampling import Resampling
from mercer.settings import CONFIDENCE, RandomState, confidence_of, number, spelled, whole

METHODS = ("correlation", "spearman", "partial", "glasso")

FEWEST = {"correlation": 2, "spearman": 2, "partial": 3, "glasso": 6}
"""Replicates without which a method says nothing; half of them must do for stability selection."""

VARIANCES = {"correlation": 1.0, "spearman": 1.06}
"""The variance of transformed correlations, times n - 3; of ranks by Fieller, Hartley and Pearson
(1957)."""

STABLE = 0.8
"""The share of subsamples that must select an edge of the lasso, unless another is given."""

DRAWS = Resampling(200, seed=0)
"""Bootstrap samples of the replicates, unless others are asked for."""

LARGEST_PENALTY = 0.95
"""With a penalty of 1 no correlation is left."""


@dataclass(frozen=True)
class Inference:
    """How a network is inferred from the replicates of one condition.

    Parameters
    ----------
    method : {"correlation", "spearman", "partial", "glasso"}
        Pearson's or Spearman's correlations, partial correlations with shrinkage, or the
        graphical lasso with stability selection.
    threshold : float
        Edges with a smaller modulus are left out. Of the lasso: the share of subsamples that
        must select an edge.
    power : float
        Soft thresholding: weights are sign(r)·abs(r)**power.
    is_signed : bool
        Whether weights keep their sign; without it they are moduli, as heat and walks need them.
    penalty : float, optional
        Of the lasso, between 0 and 1. By default √(log p / n), at most 0.95.
    subsamples : int
        How many halves of the replicates the lasso is repeated on.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 7.0, 0.0]])
    >>> Inference(threshold=0.5)(x).round(3)
    array([[0.   , 0.993, 0.   ],
           [0.993, 0.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """

    method: str = "correlation"
    threshold: float | None = None
    power: float = 1.0
    is_signed: bool = True
    penalty: float | None = None
    subsamples: int = 20

    def __post_init__(self) -> None:
        one_of(self.method, "method", METHODS)
        number(self.power, "power", above=0.0)
        is_yes(self.is_signed, "is_signed")
        whole(self.subsamples, "subsamples", least=2)
        if self.threshold is not None:
            _share(self.threshold, "threshold")
        if self.penalty is not None:
            _share(self.penalty, "penalty")
            if self.method != "glasso":
                raise InvalidParameter(f"penalty is of the lasso, and method is {self.method!r}")

    @property
    def fewest(self) -> int:
        """The smallest number of replicates whose networks differ: the correlation of two is ±1."""
        return FEWEST[self.method] if self.is_signed else max(3, FEWEST[self.method])

    def __call__(self, x: Array, seed: int = 0) -> Array:
        """Return the symmetric matrix of weights, 0 on the diagonal."""
        if self.method == "glasso":
            return self.stable(*self.selected(x, seed))
        return self.weights(self.estimates(x))

    def estimates(self, x: Array) -> Array:
        """Return the coefficients from which weights are made."""
        if self.method == "partial":
            return partial_correlations(x)
        if self.method == "glasso":
            return lasso(x, self.penalty_of(x))
        is_ranked = self.method == "spearman"
        return rank_correlations(x) if is_ranked else correlations(x)

    def weights(self, estimates: Array) -> Array:
        """Return coefficients thresholded, raised to the power, and with or without sign."""
        if self.threshold:
            estimates = np.where(np.abs(estimates) >= self.threshold, estimates, 0.0)
        return self._weighted(estimates)

    def stable(self, estimates: Array, frequencies: Array) -> Array:
        """Return the weights of the edges that enough subsamples select."""
        kept = frequencies >= (STABLE if self.threshold is None else self.threshold)
        return self._weighted(np.where(kept, estimates, 0.0))

    def _weighted(self, estimates: Array) -> Array:
        moduli = np.abs(estimates)
        if self.power != 1.0:
            moduli = moduli**self.power
        return np.copysign(moduli, estimates) if self.is_signed else moduli

    def penalty_of(self, x: Array) -> float:
        """Return the penalty of the lasso for these data."""
        if self.penalty is not None:
            return self.penalty
        return float(min(LARGEST_PENALTY, np.sqrt(np.log(x.shape[1]) / len(x))))

    def selected(self, x: Array, seed: int = 0) -> tuple[Array, Array]:
        """Return the lasso's coefficients, and the share of halves in which each is not 0.

        Meinshausen and Bühlmann, Stability selection, 2010.
        """
        rng = np.random.default_rng(seed)
        penalty, half = self.penalty_of(x), max(3, len(x) // 2)
        found = np.zeros((x.shape[1], x.shape[1]))
        for _ in range(self.subsamples):
            part = x[rng.permutation(len(x))[:half]]
            found += lasso(part, penalty) != 0.0
        return lasso(x, penalty), found / self.subsamples

    def __str__(self) -> str:
        names = {
            "correlation": "correlation",
            "spearman": "rank correlation",
            "partial": "partial correlation with shrinkage",
            "glasso": "graphical lasso with stability selection",
        }
        more = [f"threshold {self.threshold:g}"] if self.threshold else []
        more += [f"power {self.power:g}"] if self.power != 1.0 else []
        more += [] if self.is_signed else ["without sign"]
        return ", ".join([names[self.method], *more])


def _share(value: Any, name: str) -> float:
    result = number(value, name, above=0.0, allowed=0.0)
    if result > 1.0:
        raise InvalidParameter(f"{name} must be a number between 0 and 1, found {value!r}")
    return result


def as_inference(infer: Any) -> Callable[[Array], Array]:
    """Return how networks are inferred: a value, the name of a method, or a function."""
    if isinstance(infer, str):
        return Inference(infer)
    if not callable(infer):
        raise InvalidParameter(
            f"infer must be an Inference, the name of a method ({', '.join(METHODS)}) or a "
            f"function from replicates to a matrix of weights, found {infer!r}"
        )
    function: Callable[[Array], Array] = infer
    return function


@dataclass(frozen=True, eq=False, repr=False)
class Network(Shown):
    """A network of genes: weights of edges, and how far the replicates let us know them.

    ``estimates`` are the coefficients the weights are made of, ``low`` and ``high`` the ends of
    their intervals, of that ``confidence``, and ``frequencies`` the share of subsamples that
    select an edge; None where a method has none. ``seed`` repeats what was drawn, None where
    nothing was. ``graph`` is what graph kernels compare.

    >>> x = np.random.default_rng(0).normal(size=(8, 3))
    >>> print(str(infer_network(x, "correlation")).splitlines()[0])
    Network: 3 genes, 3 edges, by correlation of 8 replicates
    """

    facts: ClassVar[Mapping[str, str]] = {
        "names": "the genes",
        "weights": "of the edges",
        "low": "ends of intervals",
        "high": "ends of intervals",
        "confidence": "of the intervals",
    }

    names: tuple[str, ...]
    weights: Array
    estimates: Array
    low: Array | None
    high: Array | None
    frequencies: Array | None
    inference: Any
    replicates: int
    confidence: float = CONFIDENCE
    seed: int | None = None

    @cached_property
    def graph(self) -> Graph:
        """The network as a graph whose labels are the names of the genes."""
        return as_graph(self.weights, self.names)

    @property
    def edges(self) -> int:
        """How many pairs of genes have a weight."""
        return int(np.count_nonzero(np.triu(self.weights, 1)))

    def _title(self) -> str:
        return (
            f"Network: {len(self.names)} genes, {self.edges} edges, by {self.inference} of "
            f"{self.replicates} replicates"
        )

    def table(self, library: str | None = None) -> Any:
        """Return the edges, heaviest first: one row for each, with what is known of it."""
        i, j = np.nonzero(np.triu(self.weights, 1))
        order = np.argsort(-np.abs(self.weights[i, j]), kind="stable")
        i, j = i[order], j[order]
        names = np.array(self.names, object)
        columns = {"gene": names[i], "with": names[j], "weight": self.weights[i, j]}
        known = {"estimate": self.estimates, "low": self.low, "high": self.high}
        known["frequency"] = self.frequencies
        columns |= {name: a[i, j] for name, a in known.items() if a is not None}
        return as_frame(columns, library)


def as_graph(weights: Array, names: tuple[str, ...] | None = None) -> Graph:
    """Return the graph of a symmetric matrix of weights.

    >>> as_graph(np.array([[0.0, 0.5], [0.5, 0.0]]))
    Graph(edges=[[0, 1]], weights=[0.5])
    """
    i, j = np.nonzero(np.triu(weights, 1))
    return Graph(np.column_stack([i, j]), names, weights[i, j], len(weights))


@spelled
def infer_network(  # noqa: PLR0913  (each is a property of the inference, none implies another)
    table: Any,
    method: str = "correlation",
    *,
    threshold: float | None = None,
    power: float = 1.0,
    is_signed: bool = True,
    penalty: float | None = None,
    subsamples: int = 20,
    confidence: float = CONFIDENCE,
    draws: int = 200,
    random_state: RandomState = None,
    progress: bool | Progress | None = None,
) -> Network:
    r"""Infer the network of genes from the replicates of one condition.

    Correlations have the intervals of Fisher's transformation,

    .. math:: \tanh\big(\operatorname{artanh} r \pm z_{1-\alpha/2} / \sqrt{n - 3}\big)

    (with 1.06 for 1 under the root for ranks), which are [-1, 1] up to three replicates. Partial
    correlations have percentile intervals of ``draws`` bootstrap samples of the replicates. Edges
    of the graphical lasso have the share of halves that select them.

    Parameters
    ----------
    table : Table, data frame or array
        Replicates in rows, genes in columns.
    method, threshold, power, is_signed, penalty, subsamples
        As in `Inference`.
    confidence : float
        Of the intervals.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((12, 3))
    >>> x[:, 1] += 2.0 * x[:, 0]
    >>> network = infer_network(x, threshold=0.6)
    >>> network
    Network: 3 genes, 1 edges, by correlation, threshold 0.6 of 12 replicates
      names    gene 1, gene 2, gene 3  the genes
      weights  3 × 3 numbers           of the edges
      low      3 × 3 numbers           ends of intervals
      high     3 × 3 numbers           ends of intervals
      confidence    0.95                    of the intervals
    >>> network.graph.edges.tolist(), bool(network.low[0, 1] > 0.5)
    ([[0, 1]], True)
    """
    how = Inference(method, threshold, power, is_signed, penalty, subsamples)
    confidence = confidence_of(confidence)
    expression = as_expression(table)
    with follow_work(progress, "draws") as tell:
        chance = Resampling.of(draws, random_state, name="draws", least=10, progress=tell)
        network = infer_weights(expression.values, how, confidence, chance)
    return replace(network, names=expression.genes)


def infer_networks(
    table: Any, conditions: Any, method: str = "correlation", **more: Any
) -> dict[str, Network]:
    """Infer the network of each condition; see `infer_network` and `replicate_study`.

    >>> x = np.random.default_rng(0).standard_normal((8, 3))
    >>> networks = infer_networks(x, ["cold"] * 4 + ["hot"] * 4)
    >>> list(networks), networks["hot"].replicates
    (['cold', 'hot'], 4)
    """
    expression = as_expression(table, conditions)
    return {
        name: replace(infer_network(expression.of(c), method, **more), names=expression.genes)
        for c, name in enumerate(expression.conditions)
    }


def infer_weights(
    x: Array, how: Inference, confidence: float = CONFIDENCE, draws: Resampling = DRAWS
) -> Network:
    """Return the network of an array of replicates, whose genes are only numbered."""
    refuse_few(len(x), how.fewest, f"the method {how.method!r}")
    low = high = frequencies = None
    if how.method == "glasso":
        with name_unconverged():
            estimates, frequencies = how.selected(x, draws.seed)
        weights = how.stable(estimates, frequencies)
    else:
        estimates = how.estimates(x)
        weights = how.weights(estimates)
        if how.method == "partial":
            low, high = bootstrap_edges(x, how, confidence, draws)
        else:
            low, high = fisher(estimates, len(x), confidence, VARIANCES[how.method])
    names = tuple(f"gene {j + 1}" for j in range(x.shape[1]))
    low, high, frequencies = (a if a is None else read_only(a) for a in (low, high, frequencies))
    weights, estimates = read_only(weights), read_only(estimates)
    used = draws.seed if how.method in ("partial", "glasso") else None
    return Network(names, weights, estimates, low, high, frequencies, how, len(x), confidence, used)


def refuse_few(n: int, fewest: int, what: str) -> None:
    """Refuse fewer replicates than a method needs."""
    if n < fewest:
        raise InvalidInput(f"{what} needs at least {fewest} replicates, found {n}")


def fisher(r: Array, n: int, confidence: float, variance: float = 1.0) -> tuple[Array, Array]:
    """Return the ends of the intervals of correlations by Fisher's transformation.

    >>> low, high = fisher(np.array([0.5]), 28, 0.95)
    >>> low.round(4), high.round(4)
    (array([0.156]), array([0.7358]))
    """
    if n <= 3:
        return np.full_like(r, -1.0), np.full_like(r, 1.0)
    reach = ndtri((1.0 + confidence) / 2.0) * np.sqrt(variance / (n - 3.0))
    with np.errstate(divide="ignore"):
        z = np.arctanh(r)
    return np.tanh(z - reach), np.tanh(z + reach)


def bootstrap_edges(
    x: Array, how: Inference, confidence: float, draws: Resampling
) -> tuple[Array, Array]:
    """Return percentile intervals of coefficients over samples of the replicates."""
    rng, estimates = np.random.default_rng(draws.seed), list[Array]()
    samples = (rng.integers(0, len(x), len(x)) for _ in range(draws.count))

    def work(sample: Array, stop: Event) -> Array:
        return how.estimates(x[sample])

    with closing(draws.in_order(work, samples)) as results:
        for done, result in enumerate(results, 1):
            estimates.append(result)
            if draws.progress is not None:
                draws.progress(done, draws.count)
    found = np.stack(estimates)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(found, [tail, 1.0 - tail], axis=0)
    return low, high
