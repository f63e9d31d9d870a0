"""Expression drawn from known networks under two treatments, by which a study can be checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.check import Array, number, whole
from mercer.data.table import Table, as_labels
from mercer.display import Shown
from mercer.errors import InvalidParameter
from mercer.kernels.graph import Graph
from mercer.settings import RandomState, generator_of, seed_of

CONDITIONS = ("00", "01", "10", "11")
"""Whether each of the two treatments was given."""


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Shown):
    """Known networks of four conditions, from which any number of replicates can be drawn."""

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
