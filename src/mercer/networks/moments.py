r"""What networks of few replicates say of the mean network of a condition, without bias.

Let φ be the features of a network under a kernel, and :math:`N_m^c` a network inferred from m fresh
replicates of condition c. Everything here estimates two numbers of the population,

.. math:: V_c(m) = E \|\varphi(N_m^c) - \mu_m^c\|^2, \quad
    D_{cd}(m) = \|\mu_m^c - \mu_m^d\|^2, \quad \mu_m^c = E\,\varphi(N_m^c)

the scatter of networks around the mean network of their condition, and the separation of two mean
networks. Disjoint sets of replicates are independent, so products of their features estimate
:math:`\langle \mu_m^c, \mu_m^d \rangle` without bias. Sets that share replicates do not: networks
of m out of M replicates are closer to the network of all M than to that of the population.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.check import Array, Checked, finite
from mercer.errors import InvalidInput
from mercer.estimator import as_kernel
from mercer.kernels.base import Kernel
from mercer.kernels.nodes import AlignedEdges
from mercer.kernels.pairs import AllPairs
from mercer.kernels.vectors import Linear
from mercer.networks.inference import Inference, as_graph

CANCELLED = 64.0 * float(np.finfo(float).eps)
"""Rounding of a difference, as a share of its terms."""


def on_vectors(kernel: Kernel) -> Kernel | None:
    """Return the same kernel on vectors of weights, where all it asks of networks are edges.

    >>> on_vectors(AlignedEdges().gaussian(2.0))
    Linear().gaussian(bandwidth=2.0)
    """
    if kernel == AlignedEdges():
        return Linear()
    children = {name: on_vectors(child) for name, child in kernel.children().items()}
    known = {name: child for name, child in children.items() if child is not None}
    return kernel.with_children(known) if children and len(known) == len(children) else None


@dataclass(frozen=True, eq=False)
class NetworkGrams:
    """A kernel between networks on named genes, given as matrices of weights."""

    kernel: Kernel
    genes: tuple[str, ...]

    @classmethod
    def of(cls, kernel: Any, genes: tuple[str, ...], networks: Array) -> NetworkGrams:
        """Resolve what the kernel takes from these networks; the usual one takes nothing."""
        if kernel is None:
            return cls(AlignedEdges(), genes)
        return cls(as_kernel(kernel).resolve([as_graph(w, genes) for w in networks]), genes)

    @cached_property
    def _of_edges(self) -> Kernel | None:
        """The same kernel on vectors of weights, where there is one."""
        return on_vectors(self.kernel)

    @cached_property
    def _edges(self) -> tuple[Array, Array]:
        return np.triu_indices(len(self.genes), 1)

    def gram(self, networks: Array) -> Array:
        """Return the inner products of the features of networks, which were examined before."""
        kernel = self._of_edges
        if kernel is None:
            return self.kernel([as_graph(w, self.genes) for w in networks])
        return finite(
            kernel.evaluate(AllPairs(Checked.computed(networks[:, *self._edges]))), kernel
        )


def infer_examined(infer: Callable[[Array], Array], x: Array) -> Array:
    """Return the weights that replicates lead to, examined where a user's function infers them."""
    weights = infer(x)
    return weights if isinstance(infer, Inference) else check_weights(weights, x.shape[1], infer)


def check_weights(weights: Any, genes: int, infer: object) -> Array:
    """Return what a function inferred as a symmetric matrix of weights, or say why it is none."""
    w = np.asarray(weights, np.float64)
    if w.shape != (genes, genes):
        raise InvalidInput(f"{infer!r} returned shape {w.shape} for {genes} genes")
    if not np.all(np.isfinite(w)) or not np.array_equal(w, w.T):
        raise InvalidInput(f"{infer!r} must return a symmetric matrix of finite weights")
    return w


@dataclass(frozen=True, eq=False)
class NetworkMoments:
    """The scatter of each condition and the inner products of their mean networks, at one size."""

    scatter: Array
    means: Array

    @classmethod
    def of(cls, grams: Array, conditions: int) -> NetworkMoments:
        r"""Estimate them from Gram matrices of 2C networks, one matrix for each draw.

        The first C networks rest on one set of replicates of each condition, the next C on
        another, disjoint one.

        .. math:: \hat V_c = \tfrac12 E\|\varphi - \varphi'\|^2, \quad
            \widehat{\langle \mu^c, \mu^c \rangle} = E \langle \varphi, \varphi' \rangle

        >>> one = np.array([[1.0, 0.0], [3.0, 1.0]])  # two networks of a single condition
        >>> found = NetworkMoments.of((one @ one.T)[None], 1)
        >>> found.scatter, found.means
        (array([2.5]), array([[3.]]))
        """
        C = conditions
        mean = grams.mean(axis=0)[: 2 * C, : 2 * C]
        squares = np.diag(mean)
        halves = mean.reshape(2, C, 2, C)
        products: Array = halves.mean(axis=(0, 2))  # of different conditions: all are independent
        own = np.diag(halves[0, :, 1, :])
        products[np.arange(C), np.arange(C)] = own
        return cls((squares[:C] + squares[C:]) / 2.0 - own, products)

    @property
    def separations(self) -> Array:
        """The squared distances of mean networks, which may be negative by chance."""
        own = np.diag(self.means)
        result: Array = own[:, None] + own[None, :] - 2.0 * self.means
        return result


def pool(scatter: Array, separations: Array) -> tuple[Array, Array]:
    """Return the mean scatter of conditions and the mean separation of pairs, over leading axes.

    >>> pool(np.array([1.0, 3.0]), np.array([[0.0, 5.0], [5.0, 0.0]]))
    (np.float64(2.0), np.float64(5.0))
    """
    C = scatter.shape[-1]
    between: Array = separations.sum(axis=(-1, -2)) / (C * (C - 1))
    within: Array = scatter.mean(axis=-1)
    return within, between


def ratios(separation: Array, scatter: Array) -> Array:
    """Return separation by scatter, 0 where networks of a size are all alike.

    So are those of two replicates without their signs: every correlation is 1.

    >>> ratios(np.array([0.0, 3.0]), np.array([0.0, 2.0]))
    array([0. , 1.5])
    """
    varies = scatter > CANCELLED * np.max(scatter, initial=0.0)
    return np.where(varies, separation, 0.0) / np.where(varies, scatter, 1.0)


def recognition_rates(grams: Array, conditions: int) -> Array:
    """Return how often a network lies nearest to that of its own condition in the other half.

    >>> x = np.array([0.0, 5.0, 1.0, 4.0])  # two conditions, twice
    >>> recognition_rates(np.outer(x, x)[None], 2)
    array([1., 1.])
    """
    C = conditions
    squares = np.einsum("bii->bi", grams)
    d2 = squares[:, :C, None] + squares[:, None, C : 2 * C] - 2.0 * grams[:, :C, C : 2 * C]
    there, back = d2.argmin(axis=2) == np.arange(C), d2.argmin(axis=1) == np.arange(C)
    result: Array = (there.mean(axis=0) + back.mean(axis=0)) / 2.0
    return result


def distances(grams: Array, rows: slice, references: slice) -> Array:
    """Return the distances of networks to the matching references in each draw."""
    squares = np.einsum("bii->bi", grams)
    matching = np.einsum("bii->bi", grams[:, rows, references])
    terms = squares[:, rows] + squares[:, references]
    d2 = terms - 2.0 * matching
    return np.sqrt(np.where(d2 > CANCELLED * terms, d2, 0.0))


@dataclass(frozen=True, eq=False)
class Influences:
    r"""How much each replicate weighs in the network of its condition, as products of features.

    The jackknife's pseudo-values :math:`\psi_i = M \varphi(N) - (M - 1) \varphi(N_{-i})` stand for
    replicates in a bootstrap. Products of a replicate with itself are left out of all means, so
    that drawing it twice does not bring the two halves closer.
    """

    products: Array
    counts: tuple[int, ...]

    @classmethod
    def of(cls, gram: Array, counts: tuple[int, ...]) -> Influences:
        """Make them of the Gram matrix of each condition's network and those without a replicate.

        ``gram`` has for each condition its network, then those with one replicate left out.
        """
        rows = []
        for c, count in enumerate(counts):
            start = sum(counts[:c]) + c
            part = np.zeros((count, len(gram)))
            part[:, start] = count
            part[np.arange(count), start + 1 + np.arange(count)] = -(count - 1.0)
            rows.append(part)
        A = np.concatenate(rows)
        return cls(A @ gram @ A.T, counts)

    def _members(self) -> Array:
        """Return which replicates are of which condition, as zeros and ones."""
        return np.repeat(np.eye(len(self.counts)), self.counts, axis=0)

    def means(self, weights: Array) -> Array:
        """Return inner products of mean networks, once for each row of weights of replicates."""
        P, of = self.products, self._members()
        w = weights[:, :, None] * of  # one column for each condition
        totals = weights @ of
        sums = np.einsum("bic,ij,bjd->bcd", w, P, w, optimize=True)
        means: Array = sums / (totals[:, :, None] * totals[:, None, :])
        with_itself = np.einsum("bic,i->bc", w**2, np.diag(P))
        C = np.arange(len(self.counts))
        means[:, C, C] = (sums[:, C, C] - with_itself) / (totals**2 - np.sum(w**2, axis=1))
        return means

    def variances(self, weights: Array) -> Array:
        r"""Return the variance of the pseudo-values of each condition, for each row of weights.

        .. math:: S_c(w) = \frac{\sum_{i \ne j} w_i w_j \tfrac12 \|\psi_i - \psi_j\|^2}
            {\sum_{i \ne j} w_i w_j}

        Of networks that are means of their replicates, the scatter of m replicates is S/m and the
        mean squared distance to the network of all M is S(1/m - 1/M).

        >>> x = np.array([[0.0], [1.0], [5.0]])
        >>> Influences(x @ x.T, (3,)).variances(np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 0.0]]))
        array([[7. ],
               [0.5]])
        """
        P, of = self.products, self._members()
        w = weights[:, :, None] * of
        totals = weights @ of
        sums = np.einsum("bic,ij,bjc->bc", w, P, w, optimize=True)
        squares = totals * np.einsum("bic,i->bc", w, np.diag(P))
        result: Array = np.maximum(squares - sums, 0.0) / (totals**2 - np.sum(w**2, axis=1))
        return result

    def tempering(self) -> float:
        r"""Return how far weights may leave 1 for the separation to vary as it should.

        The pooled separation is a form
        :math:`\sum_{i \ne j} K_{ij} \langle \psi_i, \psi_j \rangle`. Its error has a linear part,
        of variance L, and one of products of errors, of variance D, which dominates where
        conditions are hardly told apart. Weights w of mean 1 and variance 1 give it the variance
        L + 3D; weights 1 + s(w - 1) give s²J + s⁴D, where J = L + 2D is the jackknife's. So s² is
        the root of s²J + s⁴D = L + D. An L that is not positive counts as 0, which keeps intervals
        rather too wide.
        """
        P, of = self.products, self._members()
        C, n = of.shape[1], of @ of.sum(axis=0)  # of each replicate: how many its condition has
        is_own = of @ of.T > 0
        pairs = np.where(is_own, n * (n - 1.0), np.outer(n, n))
        K = np.where(is_own, 2.0 / C, -2.0 / (C * (C - 1))) / pairs
        np.fill_diagonal(K, 0.0)
        mean = of / of.sum(axis=0)
        rows = P - of @ (mean.T @ P)
        J = float(np.sum((2.0 * np.sum(K * rows, axis=1)) ** 2 * n / (n - 1.0)))
        errors = (rows - (rows @ mean) @ of.T) ** 2 * np.outer(n / (n - 1.0), n / (n - 1.0))
        D = 2.0 * float(np.mean(errors[~is_own])) * float(np.sum(K**2))
        if D <= 0.0:
            return 1.0
        wanted = max(J - 2.0 * D, 0.0) + D
        return float(np.sqrt((np.sqrt(J**2 + 4.0 * D * wanted) - J) / (2.0 * D)))

    def drawn(self, samples: int, rng: np.random.Generator) -> Array:
        """Return how often each replicate is drawn, from each condition at least two."""
        parts = []
        for count in self.counts:
            drawn = rng.multinomial(count, np.full(count, 1.0 / count), samples)
            alone = np.flatnonzero((drawn > 0).sum(axis=1) < 2)
            while len(alone):
                drawn[alone] = rng.multinomial(count, np.full(count, 1.0 / count), len(alone))
                alone = alone[(drawn[alone] > 0).sum(axis=1) < 2]
            parts.append(drawn)
        return np.concatenate(parts, axis=1).astype(float)
