"""Expression tables as studies read them, and tables simulated from known networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
