"""Networks that are explored: a file each, compared by a kernel, one drawn where one points."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data import read
from mercer.data.graphs import Edges, graph_files, named_files, simplify_graph
from mercer.data.table import Table
from mercer.errors import InvalidInput, MercerError
from mercer.kernels.graph import Graph

KERNEL = "weisfeiler_lehman(3).normalised()"
"""What networks are compared by where nothing else is asked for."""

MOST_NODES = 120
"""Nodes of a network that is drawn; of larger ones the card gives figures alone."""

NAMED_NODES = 14
"""Nodes up to which a drawing names them."""


@dataclass(frozen=True, eq=False)
class Networks:
    """Networks with their names, the folders they lie in, and the names of their nodes."""

    graphs: tuple[Graph, ...]
    row_names: tuple[str, ...]
    groups: tuple[str, ...] = ()
    nodes: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, index: Any, /) -> Any:
        return self.graphs[index]

    def __iter__(self) -> Iterator[Graph]:
        return iter(self.graphs)

    def about(self) -> Table:
        """Return what is known of each network besides its edges, nothing of which makes points."""
        columns: dict[str, Any] = {"folder": list(self.groups)} if self.groups else {}
        columns["nodes"] = np.array([float(g.n) for g in self.graphs])
        columns["edges"] = np.array([float(len(g.edges)) for g in self.graphs])
        return Table.of(columns, row_names=self.row_names, supplementary=("nodes", "edges"))

    @property
    def bytes(self) -> int:
        return sum(64 * (len(g.edges) + g.n) for g in self.graphs)


def networks_of(folder: Path) -> Networks:
    """Return the networks of a folder and of the folders in it, which are groups.

    Loops are left out and repeated edges joined; the notes say so.
    """
    paths, _ = graph_files(folder)
    names, groups = named_files(folder, paths)
    graphs, nodes, changed = [], [], []
    for path, name in zip(paths, names, strict=True):
        edges = read(path, "graph")
        graph, is_changed = _graph(edges, path.relative_to(folder).as_posix())
        graphs.append(graph)
        nodes.append(edges.names)
        changed += [name] if is_changed else []
    notes: tuple[str, ...] = ()
    if changed:
        several = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        notes = (f"loops were left out and repeated edges joined in {changed[0]}{several}",)
    return Networks(tuple(graphs), names, groups, tuple(nodes), notes)


def _graph(edges: Edges, name: str) -> tuple[Graph, bool]:
    try:
        return Graph.read(edges), False
    except MercerError:
        try:
            return Graph.read(simplify_graph(edges)), True
        except MercerError as error:
            raise InvalidInput(f"{name}: {error}") from error


def drawing(graph: Graph, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return where to draw the nodes of a network: the map of the numbers of steps between them.

    Distances are numbers of edges on the shortest ways, of which the map keeps what a plane can
    (least stress); parts without a way between them stand one step beyond the longest.

    >>> found = drawing(Graph([(0, 1), (1, 2)]))
    >>> [len(found["x"]), found["edges"]]
    [3, [[0, 1], [1, 2]]]
    """
    about = {"nodes": graph.n, "edges": graph.edges.tolist(), "count": len(graph.edges)}
    if not 0 < graph.n <= MOST_NODES:
        return {**about, "x": [], "y": [], "names": [], "edges": []}
    at = _places(graph)
    shown = [str(n)[:24] for n in names] if 0 < len(names) <= NAMED_NODES else []
    return {**about, "x": at[:, 0].tolist(), "y": at[:, 1].tolist(), "names": shown}


def _places(graph: Graph) -> Array:
    from scipy.sparse.csgraph import shortest_path

    from mercer.mds import StressMDS

    if graph.n < 3:
        return np.column_stack([np.linspace(-0.8, 0.8, graph.n), np.zeros(graph.n)])
    near = np.zeros((graph.n, graph.n))
    u, v = graph.edges.T.reshape(2, -1)
    near[u, v] = near[v, u] = 1.0
    steps = shortest_path(near, directed=False, unweighted=True)
    finite = np.isfinite(steps)
    steps = np.where(finite, steps, steps[finite].max() + 1.0)
    model = StressMDS(2, metric="precomputed", random_state=0, tol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        at: Array = np.asarray(model.fit_transform(steps), float)
    at = at - at.mean(axis=0)
    size = float(np.abs(at).max()) or 1.0
    return at / size
