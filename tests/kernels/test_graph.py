from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, csr_matrix

import mercer as mc
from mercer import Graph
from mercer.kernels.walks import Batch, as_graphs
from tests.structures import graphs, many

LIST: Any = ["a"]


def test_a_graph_is_its_nodes_edges_labels_and_weights() -> None:
    g = Graph([(2, 1), (0, 1)], labels="aba", weights=[2.0, 3.0])
    assert g.n == 3
    assert g.edges.tolist() == [[0, 1], [1, 2]]
    assert g.weights.tolist() == [3.0, 2.0]
    assert g.labels == ("a", "b", "a")
    assert g.adjacency().toarray().tolist() == [[0, 3, 0], [3, 0, 2], [0, 2, 0]]
    assert g.laplacian().tolist() == [[3, -3, 0], [-3, 5, -2], [0, -2, 2]]


def test_how_many_nodes_there_are() -> None:
    assert Graph([]).n == 0
    assert Graph([(0, 3)]).n == 4
    assert Graph([], n=3).n == 3
    assert Graph([(0, 1)], labels=["a", "b", "c"]).n == 3
    assert Graph(np.zeros((0, 2), int), labels=[]).n == 0
    assert Graph(np.array([[0, 1]], dtype=np.uint8)).n == 2


@pytest.mark.parametrize(
    ("left", "right", "is_equal"),
    [
        (Graph([(0, 1), (1, 2)]), Graph([(2, 1), (1, 0)]), True),
        (Graph([(0, 1)], labels={1: "b", 0: "a"}), Graph([(0, 1)], labels=["a", "b"]), True),
        (Graph([(0, 1)], weights=[1.0]), Graph([(0, 1)]), True),
        (Graph([(0, 1)], labels=[None, None]), Graph([(0, 1)]), True),
        (Graph([(0, 1)], labels=np.array([1, 2])), Graph([(0, 1)], labels=[1, 2]), True),
        (Graph([(0, 1)]), Graph([(0, 1)], n=3), False),
        (Graph([(0, 1)]), Graph([(0, 1)], labels="aa"), False),
        (Graph([(0, 1)]), Graph([(0, 1)], weights=[2.0]), False),
        (Graph([(0, 1)]), Graph([(0, 1)], directed=True), False),
        (Graph([(0, 1)], directed=True), Graph([(1, 0)], directed=True), False),
    ],
)
def test_equal_graphs_hash_alike(left: Graph, right: Graph, is_equal: bool) -> None:
    assert (left == right) is is_equal
    assert (len({left, right}) == 1) is is_equal
    assert left != "a graph"


@given(graphs(weighted=True), graphs(directed=True))
@settings(max_examples=50)
def test_a_graph_survives_copies_and_its_written_form(g: Graph, d: Graph) -> None:
    for graph in (g, d):
        assert copy.deepcopy(graph) == graph
        assert pickle.loads(pickle.dumps(graph)) == graph
        assert eval(repr(graph), {"Graph": Graph}) == graph


def test_a_large_graph_says_that_it_is() -> None:
    g = Graph([(i, i + 1) for i in range(5000)])
    assert repr(g) == "<Graph of 5001 nodes, 5000 edges: too long to write>"
    assert "too long to write" in repr(mc.kernels.CommuteTime(g))


def test_a_graph_cannot_be_changed() -> None:
    edges, weights = np.array([[0, 1]]), np.array([2.0])
    g = Graph(edges, weights=weights)
    edges[0, 1], weights[0] = 5, 7.0
    assert g == Graph([(0, 1)], weights=[2.0])
    with pytest.raises(AttributeError, match="a graph is a value"):
        g.n = 3
    with pytest.raises(AttributeError, match="a graph is a value"):
        del g.n
    for array in (g.edges, g.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Graph([(0, 3)], n=3), r"edge \(0, 3\) leads outside .* 0 to 2"),
        (lambda: Graph([(-1, 0)]), r"edge \(-1, 0\) leads outside"),
        (lambda: Graph([(0, 1)], n=0), r"edge \(0, 1\) leads outside a graph without nodes"),
        (lambda: Graph([], n=-1), "n must be a whole number >= 0, found -1"),
        (lambda: Graph([(0, 1), (2, 2)]), "node 2 has an edge to itself"),
        (lambda: Graph([(0, 1), (1, 2), (1, 0)]), r"edge \(0, 1\) is given twice; an undirected"),
        (lambda: Graph([(1, 0), (1, 0)], directed=True), r"edge \(1, 0\) is given twice$"),
        (lambda: Graph([(0, 1)], weights=[np.nan]), r"edge \(0, 1\) has the weight nan"),
        (lambda: Graph([(0, 1)], weights=[np.inf]), r"edge \(0, 1\) has the weight inf"),
        (lambda: Graph([(0, 1)], weights=[0.0]), "weight 0 is left out"),
        (lambda: Graph([(0, 1)], weights=[1.0, 2.0]), r"weights of shape \(2,\) for 1 edges"),
        (lambda: Graph([(0, 1)], weights=["a"]), "weights must be real numbers"),
        (lambda: Graph([(0, 1)], weights=[1j]), "weights must be real"),
        (lambda: Graph([(0, 1)], labels="abc", n=2), "3 labels for 2 nodes"),
        (lambda: Graph([(0, 1)], labels={0: "a"}), "node 1 has none"),
        (lambda: Graph([(0, 1)], labels={0: "a", 1: "b", "2": "c"}), "'2' is not a node"),
        (lambda: Graph([(0, 1)], labels=[LIST, "b"]), r"label \['a'\] of node 0 cannot be"),
        (lambda: Graph([(0, 1)], labels=["a", np.nan]), "label of node 1 is not a number"),
        (lambda: Graph([(0, 1, 2)]), "edges must be pairs of node numbers"),
        (lambda: Graph([(0, 1), (2,)]), "edges must be pairs of node numbers"),
        (lambda: Graph([("a", "b")]), "edges must be pairs of node numbers"),
        (lambda: Graph([(0.5, 1.0)]), "edges must be pairs of node numbers"),
        (lambda: Graph([(np.inf, 1.0)]), "edges must be pairs of node numbers"),
        (lambda: Graph([(0, 1)], labels=5), "labels must be one for each node, found 5"),  # type: ignore[arg-type]
        (lambda: Graph(3), "edges must be pairs of node numbers"),
        (lambda: Graph([(0, 1)], directed=True).laplacian(), "found a directed one"),
        (lambda: Graph([(0, 1)]).relabelled([0, 0]), "each of the 2 nodes once"),
    ],
)
def test_graphs_that_are_none_are_refused_by_name(make: Callable[[], Graph], message: str) -> None:
    with pytest.raises((mc.errors.InvalidInput, mc.errors.InvalidParameter), match=message):
        make()


MATRIX = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, -1.0], [0.0, -1.0, 0.0]])


@pytest.mark.parametrize("form", [np.asarray, csr_array, coo_array, csr_matrix, np.ndarray.tolist])
def test_a_graph_is_read_from_its_adjacency(form: Callable[[Any], Any]) -> None:
    g = Graph.from_adjacency(form(MATRIX), labels="abc")
    assert g == Graph([(0, 1), (1, 2)], labels="abc", weights=[2.0, -1.0])
    assert g.adjacency().toarray().tolist() == MATRIX.tolist()


@given(graphs(weighted=True, labels=""), graphs(directed=True, labels=""))
@settings(max_examples=50)
def test_adjacency_there_and_back(g: Graph, d: Graph) -> None:
    assert Graph.from_adjacency(g.adjacency()) == g
    assert Graph.from_adjacency(g.adjacency().toarray().reshape(g.n, g.n)) == g
    assert Graph.from_adjacency(d.adjacency(), directed=True) == d


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.0, 1.0], [0.0, 0.0]], r"not symmetric at row 0, column 1; .* directed=True"),
        ([[0.0, 1.0], [2.0, 0.0]], "not symmetric at row 0, column 1"),
        ([[1.0, 0.0], [0.0, 0.0]], "node 0 has an edge to itself"),
        ([[0.0, np.nan], [np.nan, 0.0]], "row 0, column 1 holds NaN, and 1 more"),
        ([[0.0, 1.0]], "must be square, found 1 x 2"),
        ([0.0, 1.0], "has two axes"),
    ],
)
def test_matrices_that_are_no_graph_are_refused(matrix: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        Graph.from_adjacency(matrix)
    if np.ndim(matrix) == 2:
        with pytest.raises(mc.errors.InvalidInput, match=f"(?s)point 1: .*{message}"):
            mc.kernels.VertexHistogram()([Graph([]), np.array(matrix)])


class Networkx:
    """What mercer reads of networkx: nodes with data, edges with data, and a direction."""

    def __init__(self, nodes: dict[Any, dict[str, Any]], edges: list[Any], directed: bool) -> None:
        self._nodes, self._edges, self._directed = nodes, edges, directed

    class _View:
        def __init__(self, rows: list[tuple[Any, ...]]) -> None:
            self.rows = rows

        def __iter__(self) -> Any:
            return iter(row[0] if len(row) == 2 else row[:2] for row in self.rows)

        def __call__(self, data: bool = False) -> list[tuple[Any, ...]]:
            return self.rows if data else list(self)

    @property
    def nodes(self) -> Networkx._View:
        return self._View(list(self._nodes.items()))

    @property
    def edges(self) -> Networkx._View:
        return self._View(self._edges)

    def is_directed(self) -> bool:
        return self._directed


def test_graphs_of_networkx_are_read_by_what_they_offer() -> None:
    nodes = {"x": {"label": "a"}, "y": {"label": "b"}, "z": {"label": "a"}}
    edges = [("x", "y", {"weight": 2.0}), ("z", "x", {"weight": 0.5})]
    expected = Graph([(0, 1), (0, 2)], labels="aba", weights=[2.0, 0.5])
    assert Graph.read(Networkx(nodes, edges, False)) == expected
    directed = Graph.read(Networkx(nodes, edges, True))
    assert directed == Graph([(0, 1), (2, 0)], labels="aba", weights=[2.0, 0.5], directed=True)
    plain = Networkx({"x": {}, "y": {}}, [("x", "y", {})], False)
    assert Graph.read(plain) == Graph([(0, 1)])
    silent = Graph.read(Networkx(nodes, edges, False), label=None, weight=None)
    assert silent == Graph([(0, 1), (0, 2)])


def molecule() -> Networkx:
    nodes = {
        "x": {"element": "C", "charge": 0.0, "radius": 0.7, "name": "x"},
        "y": {"element": "O", "charge": -1.0, "radius": 0.6, "name": "y"},
    }
    return Networkx(nodes, [("x", "y", {"bond": "double", "length": 1.2})], False)


def test_attributes_are_read_by_the_name_asked_for() -> None:
    found = Graph.read(molecule(), label="element", edge_label="bond", weight="length")
    assert found == Graph([(0, 1)], "CO", [1.2], edge_labels=["double"])
    found = Graph.read(molecule(), "element", None, ["charge", "radius"], None)
    assert found == Graph([(0, 1)], "CO", attributes=[[0.0, 0.7], [-1.0, 0.6]])
    found = Graph.read(molecule(), None, None, "charge", None)
    assert found == Graph([(0, 1)], attributes=[[0.0], [-1.0]], n=2)
    same = Networkx({0: {"kind": "a"}, 1: {"kind": "b"}}, [(0, 1, {"kind": "c"})], False)
    assert Graph.read(same, label="kind") == Graph([(0, 1)], "ab", edge_labels=["c"])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"label": "atom"}, "no node has the attribute 'atom'; there are 'charge', 'element'"),
        ({"label": "element", "edge_label": "kind"}, "no edge has the attribute 'kind'; there are"),
        ({"label": "element", "weight": "w"}, "no edge has the attribute 'w'; there are 'bond'"),
        ({"label": "element", "attributes": ["mass"]}, "no node has the attribute 'mass'"),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_those_that_are(
    asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        Graph.read(molecule(), **asked)


def test_attributes_that_nobody_reads_are_told() -> None:
    with pytest.warns(
        mc.errors.DataWarning, match=r"nodes have .*'charge'.*label='charge'\) reads one"
    ):
        found = Graph.read(molecule(), edge_label=None)
    assert found == Graph([(0, 1)])
    with pytest.warns(mc.errors.DataWarning, match=r"edges have .*'bond'.*edge_label='bond'\)"):
        Graph.read(molecule(), label=None)
    with pytest.warns(mc.errors.DataWarning, match="none is named 'label'"):
        mc.kernels.WeisfeilerLehman(1)([molecule()])
    quiet = Networkx({"x": {"name": "a"}, "y": {"name": "b"}}, [("x", "y", {"weight": 2.0})], False)
    assert Graph.read(quiet) == Graph([(0, 1)], weights=[2.0])
    lengths = Networkx({"x": {}, "y": {}}, [("x", "y", {"length": 2.0})], False)
    assert Graph.read(lengths, weight="length") == Graph([(0, 1)], weights=[2.0])  # which is read


def test_attributes_that_only_some_have_are_refused() -> None:
    given = Networkx({"x": {"label": "a"}, "y": {}}, [("x", "y", {})], False)
    with pytest.raises(mc.errors.InvalidInput, match="node 1 has no 'label', which others have"):
        Graph.read(given)
    loop = Networkx({"x": {}}, [("x", "x", {})], False)
    with pytest.raises(mc.errors.InvalidInput, match="point 1: node 0 has an edge to itself"):
        mc.kernels.ShortestPath()([Graph([]), loop])


def test_graphs_of_igraph_are_read_by_what_they_offer() -> None:
    def part(**attributes: Any) -> Any:
        return SimpleNamespace(attributes=lambda: attributes)

    given = SimpleNamespace(
        vs=[part(label="a"), part(label="b")],
        es=[part(weight=3.0)],
        get_edgelist=lambda: [(1, 0)],
        is_directed=lambda: False,
    )
    assert Graph.read(given) == Graph([(0, 1)], labels="ab", weights=[3.0])


def test_networkx_itself() -> None:
    networkx = pytest.importorskip("networkx")
    given = networkx.path_graph(4)
    assert Graph.read(given) == Graph([(0, 1), (1, 2), (2, 3)])
    assert mc.kernels.ShortestPath()([given]).shape == (1, 1)
    given = networkx.DiGraph()
    given.add_node("a", label="x", attributes=[1.0, 2.0])
    given.add_node("b", label="y", attributes=[3.0, 4.0])
    given.add_edge("b", "a", label="binds", weight=2.0)
    assert Graph.read(given) == Graph(
        [(1, 0)], "xy", [2.0], 2, True, ["binds"], [[1.0, 2.0], [3.0, 4.0]]
    )
    atoms = networkx.Graph()
    atoms.add_node(0, element="C")
    atoms.add_node(1, element="O")
    atoms.add_edge(0, 1, bond=2)
    assert Graph.read(atoms, label="element", edge_label="bond") == Graph(
        [(0, 1)], "CO", edge_labels=[2]
    )
    table = {"net": [given, given.reverse()], "x": [0.0, 1.0]}
    model = mc.KernelPCA(1, kernel=mc.Columns()).fit(table)
    assert model.inertia_ == pytest.approx(2.0)


def test_igraph_itself() -> None:
    igraph = pytest.importorskip("igraph")
    assert Graph.read(igraph.Graph.Ring(4)) == Graph([(0, 1), (1, 2), (2, 3), (3, 0)])
    atoms = igraph.Graph(edges=[(0, 1)], vertex_attrs={"element": ["C", "O"]})
    assert Graph.read(atoms, label="element") == Graph([(0, 1)], "CO")
    with pytest.raises(
        mc.errors.InvalidInput, match="no node has the attribute 'atom'; there are 'elem"
    ):
        Graph.read(atoms, label="atom")
    given = igraph.Graph(edges=[(0, 1)], edge_attrs={"label": ["binds"]})
    given.vs["attributes"] = [[1.0], [2.0]]
    assert Graph.read(given) == Graph([(0, 1)], edge_labels=["binds"], attributes=[[1.0], [2.0]])


@pytest.mark.parametrize("point", [3, "abc", [(0, 1), (1, 2)], None, np.zeros(3)])
def test_points_that_are_not_graphs_are_named(point: Any) -> None:
    with pytest.raises(
        mc.errors.InvalidInput, match=r"point 1: .* is not a graph; give a mercer.Graph"
    ):
        as_graphs([Graph([]), point])


@given(many(graphs(weighted=True)))
@settings(max_examples=50)
def test_a_batch_holds_every_graph(x: list[Graph]) -> None:
    batch = Batch.of(x)
    starts = np.cumsum([0, *(g.n for g in x)])
    for i, g in enumerate(x):
        inside = (batch.sources >= starts[i]) & (batch.sources < starts[i + 1])
        matrix = np.zeros((g.n, g.n))
        u, v = batch.sources[inside] - starts[i], batch.targets[inside] - starts[i]
        matrix[u, v] = batch.weights[inside]
        assert np.array_equal(matrix, g.adjacency().toarray().reshape(g.n, g.n))
        names = [batch.names[j] for j in batch.labels[batch.owners == i]]
        assert names == list(g.labels or [])
    assert np.array_equal(np.diff(batch.ends), np.bincount(batch.sources, minlength=starts[-1]))


@given(st.data())
@settings(max_examples=50)
def test_renamed_nodes_keep_labels_and_edges(data: st.DataObject) -> None:
    g = data.draw(graphs(weighted=True))
    order = data.draw(st.permutations(range(g.n)))
    renamed = g.relabelled(order)
    A, B = g.adjacency().toarray(), renamed.adjacency().toarray()
    if g.labels is not None:
        assert [renamed.labels[i] for i in order] == list(g.labels)  # type: ignore[index]
    for u in range(g.n):
        for v in range(g.n):
            assert A[u, v] == B[order[u], order[v]]


def test_a_graph_may_have_labels_of_edges_and_attributes_of_nodes() -> None:
    g = Graph(
        [(2, 1), (0, 1)], edge_labels=["x", "y"], attributes=[[1.0, 2.0], [0.0, 1.0], [5.0, -0.0]]
    )
    assert g.edge_labels == ("y", "x")  # in the order of the edges
    assert mc.kernel(repr(mc.kernels.Diffusion(g))) == mc.kernels.Diffusion(g)
    assert pickle.loads(pickle.dumps(g)) == g
    assert g != Graph([(2, 1), (0, 1)], edge_labels=["y", "x"], attributes=g.attributes)
    assert g != Graph([(2, 1), (0, 1)], edge_labels=["x", "y"])
    turned = g.relabelled([1, 0, 2])
    assert turned.attributes is not None
    assert turned.attributes.tolist() == [[0.0, 1.0], [1.0, 2.0], [5.0, 0.0]]
    assert turned.relabelled([1, 0, 2]) == g
    with pytest.raises(ValueError, match="read-only"):
        turned.attributes[0] = 1.0
    for wrong, message in (
        ({"edge_labels": ["x"]}, "1 edge labels for 2 edges"),
        ({"edge_labels": [["x"], "y"]}, "of edge 0 cannot be compared"),
        ({"attributes": [[1.0]]}, r"shape \(1, 1\) for 3 nodes"),
        ({"attributes": [1.0, float("nan"), 2.0]}, "the attributes, row 1 holds NaN"),
    ):
        with pytest.raises(mc.errors.InvalidInput, match=message):
            Graph([(2, 1), (0, 1)], **wrong)


def test_files_of_edges_are_graphs(tmp_path: Any) -> None:
    (tmp_path / "net.edges").write_text("a b 2.0\nb c 1.0\n")
    assert Graph.read(mc.read(tmp_path / "net.edges")) == Graph(
        [(0, 1), (1, 2)], weights=[2.0, 1.0]
    )
