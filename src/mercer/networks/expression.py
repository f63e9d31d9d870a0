"""Expression tables as studies read them, simulated ones, and how strongly genes go together."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array, refuse_non_finite
from mercer.data.files import read
from mercer.data.frames import is_frame
from mercer.data.table import Role, Table, as_labels
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import numbers_of
from mercer.kernels.graph import Graph
from mercer.settings import RandomState, generator_of, number, seed_of, spelled, whole

CONDITIONS = ("00", "01", "10", "11")
"""Whether each of the two treatments was given."""


@dataclass(frozen=True, eq=False)
class Expression:
    """The expression of genes in replicates, and the rows that belong to each condition."""

    values: Array
    genes: tuple[str, ...]
    conditions: tuple[str, ...]
    rows: tuple[Array, ...]

    @property
    def replicates(self) -> tuple[int, ...]:
        """How many replicates each condition has."""
        return tuple(len(rows) for rows in self.rows)

    def of(self, condition: int) -> Array:
        """Return the replicates of a condition."""
        part: Array = self.values[self.rows[condition]]
        return part


def as_expression(table: Any, conditions: Any = None) -> Expression:
    """Return a table as genes by name and conditions by row.

    ``conditions`` is one label for each row, or the name of a column of the table, or several
    names, whose labels are then taken together. Without conditions all rows are of one.

    >>> x = as_expression([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]], ["hot", "cold", "hot"])
    >>> x.conditions, x.replicates, x.of(1).tolist()
    (('cold', 'hot'), (1, 2), [[1.0, 2.0], [2.0, 2.0]])
    """
    whole = read(table, "table") if is_frame(table) else table
    labels, used = _labels(whole, conditions)
    if isinstance(whole, Table):
        names = [n for n in used if whole.column(n).role is Role.NUMBER]
        whole = whole.with_supplementary(*names)
        values, genes = whole.matrix(), whole.active
    else:
        values = numbers_of(whole, "expression")
        genes = tuple(f"gene {j + 1}" for j in range(values.shape[1]))
    values = np.asarray(values, np.float64)
    refuse_non_finite(values, "expression", columns=genes)
    if len(genes) < 2:
        raise InvalidInput(f"a network needs at least 2 genes, and the table has {len(genes)}")
    if labels is None:
        return Expression(values, genes, ("all",), (np.arange(len(values)),))
    if len(labels) != len(values):
        raise InvalidInput(f"{len(labels)} conditions were given for {len(values)} replicates")
    missing = [i for i, label in enumerate(labels) if label is None]
    if missing:
        where = f" in column {' or '.join(map(repr, used))}" if used else ""
        raise InvalidInput(
            f"row {missing[0]} has no condition{where}; every replicate needs one: fill it in, or "
            "leave the row out"
        )
    names = sorted(set(labels))
    rows = tuple(np.flatnonzero(labels == name) for name in names)
    return Expression(values, tuple(genes), tuple(names), rows)


def _labels(table: Any, conditions: Any) -> tuple[Array | None, tuple[str, ...]]:
    """Return one label for each row, and the columns they come from."""
    if conditions is None:
        return None, ()
    named = (conditions,) if isinstance(conditions, str) else conditions
    if not isinstance(named, Iterable):
        raise InvalidParameter(
            f"conditions must be labels or names of columns, found {conditions!r}"
        )
    given = list(named)
    are_names = len(given) != len(table) and all(isinstance(name, str) for name in given)
    if isinstance(conditions, str) or (given and isinstance(table, Table) and are_names):
        if not isinstance(table, Table):
            raise InvalidParameter(
                f"conditions={conditions!r} names a column, but the expression is an array: give "
                "one label for each row"
            )
        columns = [_texts(table.column(name).values) for name in given]
        joined = [None if None in row else " × ".join(row) for row in zip(*columns, strict=True)]
        return as_labels(joined), tuple(given)
    return as_labels(given), ()


def _texts(values: Array) -> list[Any]:
    """Return a column as texts; whole numbers without a fraction, all with every digit.

    >>> _texts(np.array([20261115.0, 0.5, np.nan]))
    ['20261115', '0.5', None]
    """
    if values.dtype.kind == "f":
        return [None if np.isnan(v) else repr(float(v)).removesuffix(".0") for v in values]
    return [None if v is None else str(v) for v in values]


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Shown):
    """Known networks of four conditions, from which any number of replicates can be drawn.

    >>> simulate_expression(6, 2, random_state=0).table(3, np.random.default_rng(0)).matrix().shape
    (12, 6)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "genes": "how many",
        "hubs": "genes that regulate",
        "strength": "of the edges",
        "noise": "of the genes",
        "conditions": "of the study",
    }

    regulators: Array
    signs: Array
    hubs: int
    strength: float
    noise: float
    conditions: tuple[str, ...] = CONDITIONS
    seed: int | None = None

    @property
    def genes(self) -> int:
        return len(self.signs)

    def precision(self, condition: int) -> Array:
        """Return the precision matrix of a condition without measurement noise: sparse, known."""
        s2 = self.strength**2
        precision = np.eye(self.genes) / (1.0 - s2)
        followers = np.arange(self.hubs, self.genes)
        leads = self.regulators[condition, followers]
        precision[followers, leads] = -self.strength * self.signs[followers] / (1.0 - s2)
        precision[leads, followers] = precision[followers, leads]
        counts = np.bincount(leads, minlength=self.hubs)
        hubs = np.arange(self.hubs)
        precision[hubs, hubs] = 1.0 + counts * s2 / (1.0 - s2)
        return precision

    def network(self, condition: int) -> Graph:
        """Return the graph of conditional dependence of a condition: each gene and its hub."""
        followers = np.arange(self.hubs, self.genes)
        leads = self.regulators[condition, followers]
        weights = self.strength * self.signs[followers]
        return Graph(np.column_stack([leads, followers]), weights=weights, n=self.genes)

    def draw(self, condition: int, replicates: int, random_state: RandomState = None) -> Array:
        """Return fresh replicates of a condition, one in each row."""
        rng = generator_of(random_state)
        hubs = rng.standard_normal((replicates, self.hubs))
        own = rng.standard_normal((replicates, self.genes))
        follow = hubs[:, self.regulators[condition]] * self.signs * self.strength
        x: Array = follow + np.sqrt(1.0 - self.strength**2) * own
        x[:, : self.hubs] = hubs
        x += self.noise * rng.standard_normal(x.shape)
        return x

    def table(self, replicates: int, random_state: RandomState = None) -> Table:
        """Return a study with so many replicates of each condition."""
        rng = generator_of(random_state)
        x = np.concatenate([self.draw(c, replicates, rng) for c in range(4)])
        labels = [name for name in self.conditions for _ in range(replicates)]
        genes = {f"gene {g + 1}": x[:, g] for g in range(self.genes)}
        return Table.of({"condition": as_labels(labels), **genes})


@spelled
def simulate_expression(
    genes: int = 40,
    hubs: int = 4,
    *,
    effect: float = 0.5,
    strength: float = 0.9,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> Simulation:
    r"""Return known networks of 2 x 2 conditions whose expression can be drawn.

    Genes follow one of several independent hubs h, with the sign s, and are measured with noise:

    .. math:: x_g = s_g\, \rho\, x_{h(g)} + \sqrt{1 - \rho^2}\, e_g + \sigma\, \varepsilon_g

    so that the precision matrix is sparse: a gene depends on its hub and, given it, on nothing
    else. Each of two treatments gives a share of the genes another hub.

    Parameters
    ----------
    genes, hubs : int
        How many genes, the hubs among them.
    effect : float
        The share of genes that each treatment rewires, between 0 and 1.
    strength : float
        The correlation ρ of a gene with its hub, between 0 and 1.
    noise : float
        The deviation σ of the measurement noise; that of the genes is 1.
    random_state : int or generator, optional
        The seed of the networks; replicates are drawn by a generator of their own.

    Examples
    --------
    >>> model = simulate_expression(10, 2, effect=0.5, random_state=0)
    >>> table = model.table(6, np.random.default_rng(0))
    >>> len(table), len(table.active), len(model.network(0).edges)
    (24, 10, 8)
    """
    count, leads = whole(genes, "genes", least=4), whole(hubs, "hubs", least=2)
    if leads > count // 2:
        raise InvalidParameter(f"hubs must be at most half the genes, found {leads} of {count}")
    share = number(effect, "effect", above=0.0, allowed=0.0)
    rho = number(strength, "strength", above=0.0)
    if share > 1.0 or rho >= 1.0:
        raise InvalidParameter(
            f"effect and strength must lie between 0 and 1, found {effect!r} and {strength!r}"
        )
    seed = seed_of(random_state)
    rng = np.random.default_rng(seed)
    base = rng.integers(0, leads, count)
    base[:leads] = np.arange(leads)
    first, second = (_rewired(base, leads, share, rng) for _ in range(2))
    both = np.where(second != base, second, first)
    regulators = np.stack([base, second, first, both])
    signs = rng.choice((-1.0, 1.0), count)
    spread = number(noise, "noise", above=0.0, allowed=0.0)
    return Simulation(regulators, signs, leads, rho, spread, seed=seed)


def _rewired(base: Array, hubs: int, share: float, rng: np.random.Generator) -> Array:
    """Return hubs of genes, a share of which have another one."""
    moved = base.copy()
    followers = rng.permutation(np.arange(hubs, len(base)))
    chosen = followers[: round(share * len(followers))]
    moved[chosen] = (base[chosen] + rng.integers(1, hubs, len(chosen))) % hubs
    return moved


CONSTANT = 1e-12
"""The deviation of a gene, as a share of its values, below which it is constant."""

GAP = 1e-7
"""The duality gap of the lasso for each gene: partial correlations are then right to about 1e-6."""

INNER_GAP = 1e-8
"""The duality gap, as a share of the targets, of the regressions that the lasso is made of."""

LEAST_SHRINKAGE = 1e-3
"""Correlations are shrunk at least so far: the matrix can then be inverted."""


def standardise(x: Array) -> Array:
    """Return the columns centred and divided by their norm; those of constant genes are 0.

    >>> standardise(np.array([[0.0, 1.0], [2.0, 1.0]]))
    array([[-0.70710678,  0.        ],
           [ 0.70710678,  0.        ]])
    """
    size = np.abs(x).max(axis=0, initial=0.0)
    scaled = x / np.where(size > 0, size, 1.0)  # squares of very large or small values exist
    z = scaled - scaled.mean(axis=0)
    norm = np.sqrt(np.einsum("ij,ij->j", z, z))
    varies = norm > CONSTANT * np.sqrt(len(x))
    result: Array = np.where(varies, z, 0.0) / np.where(varies, norm, 1.0)
    return result


def correlations(x: Array) -> Array:
    r"""Return Pearson's correlations of the columns, 0 on the diagonal and for constant genes.

    .. math:: r_{jk} = \langle z_j, z_k \rangle, \quad z_j = (x_j - \bar x_j) / \|x_j - \bar x_j\|

    >>> correlations(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 7.0]]))[0].round(4)
    array([0.    , 0.9934])
    """
    z = standardise(x)
    r = np.clip(z.T @ z, -1.0, 1.0)
    np.fill_diagonal(r, 0.0)
    result: Array = (r + r.T) / 2.0
    return result


def rank_correlations(x: Array) -> Array:
    """Return Spearman's correlations: Pearson's of the ranks, ties at their mean rank.

    >>> rank_correlations(np.array([[1.0, 1.0], [2.0, 10.0], [3.0, 11.0]]))[0].round(4)
    array([0., 1.])
    """
    from scipy.stats import rankdata  # only now: laws load for half a second

    return correlations(rankdata(x, axis=0))


def shrinkage(x: Array) -> float:
    r"""Return how far correlations are shrunk towards 0, in closed form.

    .. math:: \lambda = \min\Big(1, \frac{\sum_{j \ne k} \widehat{\operatorname{Var}}(r_{jk})}
        {\sum_{j \ne k} r_{jk}^2}\Big), \quad \widehat{\operatorname{Var}}(r_{jk}) =
        \frac{n}{(n - 1)^3} \sum_i (w_{ijk} - \bar w_{jk})^2, \quad w_{ijk} = z_{ij} z_{ik}

    with z standardised by the deviation with divisor n - 1 (Schäfer and Strimmer, A shrinkage
    approach to large-scale covariance matrix estimation, 2005, with the identity as target).

    >>> x = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 5.0]])
    >>> round(shrinkage(x), 6)
    0.258953
    """
    n = len(x)
    z = standardise(x) * np.sqrt(n - 1.0)
    r = z.T @ z / (n - 1.0)
    squares = (z**2).T @ z**2  # Σᵢ wᵢ²
    spread = n / (n - 1.0) ** 3 * (squares - (n - 1.0) ** 2 / n * r**2)
    off = ~np.eye(x.shape[1], dtype=bool)
    signal = float(np.sum(r[off] ** 2))
    share = float(np.sum(spread[off])) / signal if signal > 0 else 1.0
    return min(1.0, max(LEAST_SHRINKAGE, share))


def partial_correlations(x: Array) -> Array:
    r"""Return partial correlations of shrunk correlations, 0 on the diagonal.

    .. math:: R^* = (1 - \lambda) R + \lambda I, \quad \Omega = (R^*)^{-1}, \quad
        \rho_{jk} = -\Omega_{jk} / \sqrt{\Omega_{jj} \Omega_{kk}}

    >>> x = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 5.0]])
    >>> r = correlations(x)[0, 1]
    >>> bool(np.isclose(partial_correlations(x)[0, 1], (1 - shrinkage(x)) * r))
    True
    """
    z, s = standardise(x), shrinkage(x)
    # Woodbury: a matrix as large as the number of replicates is inverted, not one of genes.
    inner = s * np.eye(len(x)) + (1.0 - s) * (z @ z.T)
    precision = np.eye(x.shape[1]) - (1.0 - s) * (z.T @ np.linalg.solve(inner, z))
    return _scaled(precision)


def lasso(x: Array, penalty: float) -> Array:
    r"""Return the partial correlations of a sparse precision matrix, 0 on the diagonal.

    .. math:: \max_{\Omega \succ 0}\; \log\det\Omega - \operatorname{tr}(R\,\Omega)
        - \alpha \sum_{j \ne k} |\Omega_{jk}|

    by scikit-learn's coordinate descent (Friedman, Hastie and Tibshirani, 2008), to a duality gap
    at which partial correlations are right to about 1e-6. Of two genes it is soft thresholding:

    >>> x = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 5.0]])
    >>> r = correlations(x)[0, 1]
    >>> bool(np.isclose(lasso(x, 0.25)[0, 1], r - 0.25, atol=1e-7))
    True
    """
    from sklearn.covariance import graphical_lasso  # which takes a second to import

    r, precision = correlations(x), np.eye(x.shape[1])
    # A gene whose correlations are all within the penalty has no edges (Witten, Friedman and Simon,
    # 2011), and a constant one gives the descent nothing to measure its gap by.
    linked = np.flatnonzero(np.any(np.abs(r) > penalty, axis=0))
    if not linked.size:
        return _scaled(precision)
    block = np.ix_(linked, linked)
    try:
        R = r[block] + np.eye(len(linked))
        _, precision[block] = graphical_lasso(R, penalty, tol=GAP * len(R), enet_tol=INNER_GAP)
    except FloatingPointError as error:
        raise InvalidParameter(
            f"the graphical lasso found no solution with penalty={penalty:g}: raise it"
        ) from error
    return _scaled(precision)


@contextmanager
def name_unconverged() -> Iterator[None]:
    """Let the lasso stop where it oscillates, without a warning for each of many networks.

    Of fewer replicates than genes the last digits may never settle; which edges there are does
    long before, and is asked of many halves of the replicates.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _scaled(precision: Array) -> Array:
    d = np.sqrt(np.diag(precision))
    partial: Array = -precision / np.outer(d, d)
    np.fill_diagonal(partial, 0.0)
    return (partial + partial.T) / 2.0
