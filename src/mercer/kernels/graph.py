"""Graphs as values, read from whatever holds one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import isnan
from typing import Any, cast

import numpy as np
from scipy.sparse import coo_array, csr_array

from mercer.check import Array, as_numpy, real_array
from mercer.errors import InvalidInput
from mercer.kernels.foreign import Names, is_edges, is_igraph, is_networkx, parts_of
from mercer.kernels.written import ATOM, LONGEST_TEXT, Name, literal
from mercer.settings import whole

MOST_NODES = 2**31 - 1
"""Numbers of pairs of nodes then fit in 64 bits."""

SHORTEST_EDGE = 8
"""Characters an edge takes in the written form, such as ``[0, 1], ``."""


class Graph:
    r"""A graph on the nodes 0 to n - 1: its edges, and labels, weights, attributes if it has any.

    A graph is a value: it cannot be changed, and graphs made of the same parts are equal. Each edge
    is given once, whatever its direction unless ``directed``; there are no loops. Nodes without
    labels have the label None, edges without weights the weight 1.

    Parameters
    ----------
    edges : pairs of node numbers
    labels : one hashable label for each node, as a sequence or a mapping from node numbers
    weights : one finite number other than 0 for each edge
    n : how many nodes; by default as many as there are labels or as the edges need
    directed : whether (u, v) leads from u to v only
    edge_labels : one hashable label for each edge
    attributes : a row of numbers for each node

    Examples
    --------
    >>> Graph([(1, 0), (1, 2)], labels="aba")
    Graph(edges=[[0, 1], [1, 2]], labels=["a", "b", "a"])
    >>> Graph([(0, 1), (1, 2)]) == Graph([(2, 1), (1, 0)])
    True
    >>> Graph([(0, 1), (1, 0)])
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: the edge (0, 1) is given twice; an undirected graph has each edge once, in either direction
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)

    __slots__ = (
        "_hash",
        "attributes",
        "directed",
        "edge_labels",
        "edges",
        "labels",
        "n",
        "weights",
    )
    edges: Array
    weights: Array
    attributes: Array | None
    labels: tuple[Hashable, ...] | None
    edge_labels: tuple[Hashable, ...] | None
    n: int
    directed: bool
    _hash: int

    def __init__(  # noqa: PLR0913, PLR0917  (all that a graph may be made of)
        self,
        edges: Any,
        labels: Mapping[int, Hashable] | Iterable[Hashable] | None = None,
        weights: Any = None,
        n: int | None = None,
        directed: bool = False,
        edge_labels: Iterable[Hashable] | None = None,
        attributes: Any = None,
    ) -> None:
        pairs = _pairs(edges)
        names = None if isinstance(labels, Mapping) or labels is None else _listed(labels)
        count = _how_many_nodes(n, pairs, names)
        if isinstance(labels, Mapping):
            names = _from_mapping(labels, count)
        given = _weights(weights, pairs)
        kinds = None if edge_labels is None else _labels(_listed(edge_labels), "edge")
        if kinds is not None and len(kinds) != len(pairs):
            raise InvalidInput(f"there are {len(kinds)} edge labels for {len(pairs)} edges")
        pairs, order = _in_order(pairs, bool(directed))
        rows = _attributes(attributes, count)
        parts = {
            "edges": _read_only(pairs),
            "weights": _read_only(given[order]),
            "labels": _labels(names, "node"),
            "n": count,
            "directed": bool(directed),
            "edge_labels": kinds and tuple(kinds[i] for i in order),
            "attributes": None if rows is None else _read_only(rows),
        }
        for name, part in parts.items():
            object.__setattr__(self, name, part)
        object.__setattr__(self, "_hash", hash(self._key()))

    @classmethod
    def from_adjacency(cls, matrix: Any, labels: Any = None, directed: bool = False) -> Graph:
        """Return the graph of a square matrix, dense or sparse, whose entries are weights.

        >>> Graph.from_adjacency([[0.0, 2.0], [2.0, 0.0]])
        Graph(edges=[[0, 1]], weights=[2.0])
        """
        sparse = coo_array(matrix, copy=True) if hasattr(matrix, "tocoo") else _dense(matrix)
        sparse.sum_duplicates()
        rows, columns = sparse.shape
        if rows != columns:
            raise InvalidInput(f"an adjacency matrix must be square, found {rows} x {columns}")
        data = real_array(sparse.data, "the adjacency matrix")
        u, v = (np.asarray(c, np.int64)[data != 0] for c in sparse.coords)
        if not directed:
            _refuse_asymmetry(u, v, data[data != 0])
        kept = np.ones(len(u), bool) if directed else u <= v
        edges = np.column_stack([u, v])[kept]
        return cls(edges, labels, data[data != 0][kept], rows, directed)

    @classmethod
    def read(
        cls,
        given: Any,
        label: str | None = "auto",
        weight: str | None = "auto",
        attributes: str | Sequence[str] | None = "auto",
        edge_label: str | None = "auto",
    ) -> Graph:
        """Return the graph held by a Graph, a networkx or igraph object, a file, a square matrix.

        ``label`` and ``attributes`` name what is read of nodes, ``weight`` and ``edge_label`` what
        is read of edges; several names of attributes are columns of numbers. ``"auto"`` reads what
        is named label, weight and attributes where it is there, and says so if there are others;
        None reads nothing. A file of edges is what `mercer.read` makes of it.
        """
        if isinstance(given, Graph):
            return given
        parts = parts_of(given, Names(label, weight, attributes, edge_label))
        if parts is not None:
            return cls(**parts)
        if hasattr(given, "tocoo") or len(getattr(given, "shape", ())) == 2:
            return cls.from_adjacency(given)
        raise InvalidInput(
            f"{given!r:.60} is not a graph; give a mercer.Graph (of edges: mercer.Graph(edges)), a "
            "networkx or igraph object, or an array that is a square adjacency matrix"
        )

    @property
    def arcs(self) -> tuple[Array, Array, Array]:
        """From where, to where and with which weight each edge leads, in all its directions."""
        u, v = self.edges.T
        if self.directed:
            return u, v, self.weights
        return np.append(u, v), np.append(v, u), np.append(self.weights, self.weights)

    def adjacency(self) -> csr_array:
        """Return the sparse matrix of weights."""
        u, v, w = self.arcs
        short = np.int32 if self.n <= np.iinfo(np.int32).max else np.int64  # scipy < 1.15 needs it
        return csr_array((w, (u.astype(short), v.astype(short))), shape=(self.n, self.n))

    def laplacian(self) -> Array:
        """Return the matrix of degrees minus that of weights, dense; of undirected graphs only."""
        if self.directed:
            raise InvalidInput("the Laplacian is that of an undirected graph, found a directed one")
        A = self.adjacency().toarray()
        return cast(Array, np.diag(A.sum(axis=1)) - A)

    def relabelled(self, order: Sequence[int]) -> Graph:
        """Return the same graph with node i called order[i].

        >>> Graph([(0, 1)], labels="abc").relabelled([2, 0, 1])
        Graph(edges=[[0, 2]], labels=["b", "c", "a"])
        """
        places = np.asarray(order, np.int64)
        if sorted(places.tolist()) != list(range(self.n)):
            raise InvalidInput(f"order must hold each of the {self.n} nodes once")
        back = np.argsort(places)
        labels = self.labels and tuple(self.labels[i] for i in back)
        rows = None if self.attributes is None else self.attributes[back]
        edges = places[self.edges]
        return Graph(edges, labels, self.weights, self.n, self.directed, self.edge_labels, rows)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} cannot be changed: a graph is a value")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} cannot be deleted: a graph is a value")

    def __reduce__(self) -> tuple[type[Graph], tuple[Any, ...]]:
        more = self.directed, self.edge_labels, self.attributes
        return Graph, (self.edges, self.labels, self.weights, self.n, *more)

    def _key(self) -> tuple[Any, ...]:
        """Return what graphs must share to be equal."""
        arrays = (self.edges, self.weights, self.attributes)
        data = tuple(None if a is None else (a.shape, a.tobytes()) for a in arrays)
        return self.n, self.directed, self.labels, self.edge_labels, data

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph) or self._hash != other._hash:
            return False
        return self is other or self._key() == other._key()

    def __hash__(self) -> int:
        return self._hash

    def text(self, name: Name) -> tuple[str, int]:
        """Return the graph as code and as text of the written form."""
        if SHORTEST_EDGE * len(self.edges) + len(self.labels or ()) > LONGEST_TEXT:
            return f"<Graph of {self.n} nodes, {len(self.edges)} edges: too long to write>", ATOM
        needed = int(self.edges.max(initial=-1)) + 1
        parts = {
            "edges": self.edges.tolist(),
            "labels": self.labels,
            "weights": None if np.all(self.weights == 1.0) else self.weights.tolist(),
            "n": self.n if self.labels is None and self.n != needed else None,
            "directed": self.directed or None,
            "edge_labels": self.edge_labels,
            "attributes": None if self.attributes is None else self.attributes.tolist(),
        }
        given = [f"{k}={literal(v, name)}" for k, v in parts.items() if v is not None]
        return f"{name('Graph')}({', '.join(given)})", ATOM

    def __repr__(self) -> str:
        return self.text(lambda name: name)[0]


def is_graph(given: Any) -> bool:
    """Whether something is a graph of this or another library; a matrix may be anything."""
    return any(is_one(given) for is_one in (_is_own, is_igraph, is_networkx, is_edges))


def _is_own(given: Any) -> bool:
    return isinstance(given, Graph)


def _pairs(edges: Any) -> Array:
    if not hasattr(edges, "shape") and not isinstance(edges, Iterable):
        raise InvalidInput(f"edges must be pairs of node numbers, found {edges!r}")
    given = as_numpy(edges) if hasattr(edges, "shape") else list(edges)
    try:
        pairs = np.asarray(given)
    except ValueError:
        pairs = np.empty(0, object)
    if pairs.size == 0 and len(given) == 0:
        return np.empty((0, 2), np.int64)
    is_whole = pairs.dtype.kind in "iu" or (
        pairs.dtype.kind == "f"
        and bool(np.all(np.isfinite(pairs)))
        and bool(np.all(pairs == np.floor(pairs)))
    )
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not is_whole:
        raise InvalidInput(f"edges must be pairs of node numbers, found {given!r:.80}")
    return pairs.astype(np.int64)


def _how_many_nodes(n: Any, pairs: Array, labels: tuple[Hashable, ...] | None) -> int:
    needed = int(pairs.max(initial=-1)) + 1
    count = max(needed, 0) if n is None and labels is None else None
    if count is None:
        count = len(labels or ()) if n is None else whole(n, "n")
    if count > MOST_NODES:
        raise InvalidInput(f"a graph has at most {MOST_NODES} nodes, found {count}")
    if labels is not None and len(labels) != count:
        raise InvalidInput(f"there are {len(labels)} labels for {count} nodes")
    wrong = np.any((pairs < 0) | (pairs >= count), axis=1)
    if np.any(wrong):
        u, v = pairs[int(np.argmax(wrong))].tolist()
        raise InvalidInput(
            f"the edge ({u}, {v}) leads outside the nodes, which are numbered 0 to {count - 1}"
            if count
            else f"the edge ({u}, {v}) leads outside a graph without nodes"
        )
    return count


def _from_mapping(labels: Mapping[int, Hashable], count: int) -> tuple[Hashable, ...]:
    strangers = [node for node in labels if node not in range(count)]
    missing = [node for node in range(count) if node not in labels]
    if strangers or missing:
        what = f"{strangers[0]!r} is not a node" if strangers else f"node {missing[0]} has none"
        raise InvalidInput(f"labels must name each of the {count} nodes: {what}")
    return tuple(labels[node] for node in range(count))


def _listed(labels: Any) -> tuple[Hashable, ...]:
    if not isinstance(labels, Iterable):
        raise InvalidInput(f"labels must be one for each node, found {labels!r}")
    return tuple(labels)


def _labels(names: tuple[Hashable, ...] | None, what: str) -> tuple[Hashable, ...] | None:
    if names is None or all(name is None for name in names):
        return None
    plain = tuple(v.item() if isinstance(v, np.generic) else v for v in names)
    for i, label in enumerate(plain):
        try:
            hash(label)
        except TypeError:
            raise InvalidInput(
                f"the label {label!r} of {what} {i} cannot be compared; use numbers, strings or "
                "tuples"
            ) from None
        if isinstance(label, float) and isnan(label):
            raise InvalidInput(f"the label of {what} {i} is not a number (nan)")
    return plain


def _attributes(given: Any, count: int) -> Array | None:
    if given is None or (count == 0 and len(given) == 0):
        return None
    rows = real_array(given, "the attributes") + 0.0  # -0.0 and 0.0 are one number
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or len(rows) != count:
        raise InvalidInput(f"there are attributes of shape {rows.shape} for {count} nodes")
    return rows


def _weights(weights: Any, pairs: Array) -> Array:
    if weights is None:
        return np.ones(len(pairs))
    read = np.asarray(as_numpy(weights))
    if read.dtype.kind not in "biuf":
        raise InvalidInput(f"weights must be real numbers, found {weights!r:.80}")
    given = read.astype(np.float64)
    if given.shape != (len(pairs),):
        raise InvalidInput(f"there are weights of shape {given.shape} for {len(pairs)} edges")
    wrong = ~np.isfinite(given) | (given == 0)
    if np.any(wrong):
        at = int(np.argmax(wrong))
        u, v = pairs[at].tolist()
        raise InvalidInput(
            f"the edge ({u}, {v}) has the weight {given[at]:g}; weights are finite, and an edge of "
            "weight 0 is left out"
        )
    return given


def _in_order(pairs: Array, directed: bool) -> tuple[Array, Array]:
    """Return edges in order, without loops and repetitions, and the order."""
    loops = pairs[:, 0] == pairs[:, 1]
    if np.any(loops):
        node = int(pairs[int(np.argmax(loops)), 0])
        raise InvalidInput(f"node {node} has an edge to itself; leave loops out")
    ends = pairs if directed else np.sort(pairs, axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    ends = ends[order]
    twice = np.all(ends[1:] == ends[:-1], axis=1)
    if np.any(twice):
        u, v = ends[int(np.argmax(twice))].tolist()
        note = "" if directed else "; an undirected graph has each edge once, in either direction"
        raise InvalidInput(f"the edge ({u}, {v}) is given twice{note}")
    return np.ascontiguousarray(ends), order


def _read_only(a: Array) -> Array:
    a = a.copy()
    a.flags.writeable = False
    return a


def _dense(matrix: Any) -> coo_array:
    a = real_array(matrix, "the adjacency matrix")
    if a.ndim != 2:
        raise InvalidInput(f"an adjacency matrix has two axes, found shape {a.shape}")
    return coo_array(a)


def _refuse_asymmetry(u: Array, v: Array, w: Array) -> None:
    there, back = np.lexsort((v, u)), np.lexsort((u, v))
    for left, right in ((u, v), (v, u), (w, w)):
        differs = left[there] != right[back]
        if np.any(differs):
            at = there[int(np.argmax(differs))]
            raise InvalidInput(
                f"the adjacency matrix is not symmetric at row {u[at]}, column {v[at]}; for a "
                "directed graph use Graph.from_adjacency(matrix, directed=True)"
            )
