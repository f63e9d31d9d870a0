"""The random walk kernel on graphs: all common walks of two graphs, discounted by their length."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer.check import Array, Points, namespace, nonnegative
from mercer.errors import InvalidParameter
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.batch import as_graphs, refuse_directed, refuse_negative
from mercer.kernels.graph import Graph
from mercer.kernels.pairs import Pairs
from mercer.kernels.rowwise import row_by_row

SMALLEST_RESIDUAL = 1e-17
"""Conjugate gradients stop when what is missing of the sum of walks is below this share of it."""


def _decay(v: Any, name: str) -> float:
    decay = nonnegative(v, name)
    if decay >= 1.0:
        raise InvalidParameter(
            f"{name} must be below 1, found {v!r}: the sum over all walks of normalised graphs "
            "need not converge beyond"
        )
    return decay


class Walker(NamedTuple):
    """A graph made ready: its normalised adjacency, decomposed, and the labels of its nodes."""

    matrix: Array
    labels: tuple[Hashable, ...] | None
    values: Array
    shares: Array


def walker(graph: Graph) -> Walker:
    r"""Return :math:`D^{-1/2} A D^{-1/2}`, its eigenvalues, and (Uᵀ1/n)² for its eigenvectors U."""
    A = graph.adjacency().toarray()
    degrees = A.sum(axis=1)
    roots = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    matrix = A / roots[:, None] / roots[None, :]
    values, vectors = np.linalg.eigh(matrix)
    shares = (vectors.sum(axis=0) / max(graph.n, 1)) ** 2
    return Walker(matrix, graph.labels, np.clip(values, -1.0, 1.0), shares)


@value
class RandomWalk(Kernel):
    r"""The walks that two graphs have in common, discounted by their length.

    .. math:: k(G, H) = \sum_{t \ge 0} \mu^t\, q_\times^\top W_\times^t\, p_\times
        = q_\times^\top (I - \mu W_\times)^{-1} p_\times, \quad
        W = D^{-1/2} A D^{-1/2}, \quad 0 \le \mu < 1

    The product graph × has the pairs of nodes with equal labels, and
    :math:`W_\times = W_G \otimes W_H` between them; walks start and stop anywhere,
    :math:`p = q = 1/n`. As no eigenvalue of W exceeds 1, the series converges for all graphs, also
    those not seen yet. Graphs are undirected, and their weights positive.

    Without labels the eigenvalues λ of W give
    :math:`\sum_{ij} a_i b_j / (1 - \mu \lambda_i \lambda'_j)`; with labels the system is solved by
    conjugate gradients, whose matrix has eigenvalues between 1 - μ and 1 + μ.

    >>> from mercer import Graph
    >>> edge = Graph([(0, 1)])
    >>> RandomWalk(decay=0.5)([edge])
    array([[0.5]])

    Vishwanathan, Schraudolph, Kondor and Borgwardt, Graph kernels, 2010.
    """

    decay: float
    domain: ClassVar[Domain] = {"decay": _decay}
    theorem: ClassVar[str] = "the inner product of discounted counts of labelled walks"

    def evaluate(self, pairs: Pairs) -> Array:
        left = _walkers(pairs.x)
        right = left if pairs.same else _walkers(pairs.y)
        return namespace(pairs.x, pairs.y).asarray(row_by_row(pairs, left, right, self._row))

    def _row(self, a: Walker, others: Sequence[Walker]) -> Array:
        return np.array([self._of(a, b) for b in others], dtype=np.float64)

    def _of(self, a: Walker, b: Walker) -> float:
        if a.labels is None and b.labels is None:
            walks = 1.0 / (1.0 - self.decay * np.outer(a.values, b.values))
            return float(a.shares @ walks @ b.shares)
        return self._by_gradients(a, b)

    def _by_gradients(self, a: Walker, b: Walker) -> float:
        """Return p' X with X - μ W X W' = p on the pairs of nodes whose labels are equal."""
        meet = _equal_labels(a, b)
        residual = meet / max(meet.size, 1)
        squares = float(np.sum(residual * residual))
        # What is missing of the sum is r'(I - μW)⁻¹r, which is at most |r|²/(1 - μ).
        enough = SMALLEST_RESIDUAL * (1.0 - self.decay) * squares
        direction, total = residual, 0.0
        while squares > enough:
            image = direction - self.decay * meet * (a.matrix @ direction @ b.matrix)
            step = squares / float(np.sum(direction * image))
            total += step * squares
            residual = residual - step * image
            before, squares = squares, float(np.sum(residual * residual))
            direction = residual + (squares / before) * direction
        return total


def _walkers(points: Points) -> list[Walker]:
    graphs = as_graphs(points)
    refuse_directed(graphs, "the random walk kernel")
    refuse_negative(graphs, "a random walk")
    return [walker(g) for g in graphs]


def _equal_labels(a: Walker, b: Walker) -> Array:
    sides = [w.labels or (None,) * len(w.matrix) for w in (a, b)]
    places = {label: i for i, label in enumerate(dict.fromkeys(sides[0]))}
    left, right = (np.array([places.get(v, -1) for v in side], np.int64) for side in sides)
    return np.equal.outer(left, right).astype(np.float64)
