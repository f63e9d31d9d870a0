"""Many graphs as arrays, so that one operation serves all their nodes and edges."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mercer.check import Array, Points, members
from mercer.errors import InvalidInput
from mercer.kernels.graph import Graph


def as_graphs(points: Points) -> list[Graph]:
    """Return points as graphs, or name the one that is none."""
    graphs = []
    for i, point in enumerate(members(points)):
        try:
            graphs.append(Graph.read(point))
        except InvalidInput as error:
            raise InvalidInput(f"point {i}: {error}") from error
    return graphs


class Batch(NamedTuple):
    """Many graphs as one: their nodes one after the other, and the arcs in the order of origins."""

    n: int
    owners: Array
    labels: Array
    names: list[Hashable]
    ends: Array
    sources: Array
    targets: Array
    weights: Array
    kinds: Array | None
    """The numbers of the arcs' labels, None where no edge has one."""

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> Batch:
        sizes = np.array([g.n for g in graphs], np.int64)
        given = list(chain.from_iterable(g.labels or repeat(None, g.n) for g in graphs))
        places = {label: i for i, label in enumerate(dict.fromkeys(given))}
        offsets = np.cumsum(sizes) - sizes
        arcs = _arcs(graphs, offsets, np.concatenate([np.zeros(0), *(g.weights for g in graphs)]))
        sources = np.repeat(np.arange(len(given)), np.diff(arcs.indptr))
        return cls(
            len(graphs),
            np.repeat(np.arange(len(graphs)), sizes),
            np.fromiter(map(places.__getitem__, given), np.int64, len(given)),
            list(places),
            arcs.indptr.astype(np.int64),
            sources,
            arcs.indices.astype(np.int64),
            arcs.data,
            _kinds(graphs, offsets),
        )


def _kinds(graphs: Sequence[Graph], offsets: Array) -> Array | None:
    """Return the numbers of the labels of all arcs, in the order of the arcs."""
    if all(g.edge_labels is None for g in graphs):
        return None
    given = list(chain.from_iterable(g.edge_labels or repeat(None, len(g.edges)) for g in graphs))
    places = {label: i for i, label in enumerate(dict.fromkeys(given))}
    codes = np.fromiter(map(places.__getitem__, given), np.int64, len(given))
    return np.asarray(_arcs(graphs, offsets, codes + 1).data) - 1  # a sparse matrix has no zeros


def _arcs(graphs: Sequence[Graph], offsets: Array, weights: Array) -> csr_array:
    """Return a matrix of all graphs beside each other, whose entries are those of their edges."""
    lengths = [len(g.edges) for g in graphs]
    pairs = np.concatenate([np.zeros((0, 2), np.int64), *(g.edges for g in graphs)])
    u, v = (pairs + np.repeat(offsets, lengths)[:, None]).T
    back = ~np.repeat(np.array([g.directed for g in graphs], bool), lengths)
    ends = np.concatenate([u, v[back]]), np.concatenate([v, u[back]])
    n = sum(g.n for g in graphs)
    return csr_array((np.concatenate([weights, weights[back]]), ends), shape=(n, n))


def refuse_negative(graphs: Sequence[Graph], what: str) -> None:
    """Refuse weights that a kernel has no meaning for."""
    for i, g in enumerate(graphs):
        if np.any(g.weights < 0):
            at = int(np.argmax(g.weights < 0))
            u, v = g.edges[at].tolist()
            raise InvalidInput(
                f"point {i}: the edge ({u}, {v}) has the weight {g.weights[at]:g}; {what} needs "
                "positive weights"
            )


def refuse_directed(graphs: Sequence[Graph], what: str) -> None:
    """Refuse directed graphs where a kernel has no meaning for them."""
    for i, g in enumerate(graphs):
        if g.directed:
            raise InvalidInput(f"point {i} is a directed graph; {what} needs undirected ones")
