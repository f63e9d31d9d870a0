"""Graphs of other libraries and of files, known by what they offer: none of them is imported."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from mercer.display import warn
from mercer.errors import DataWarning, InvalidInput

SHOWN = 10
"""Attributes that a message names."""


AUTO = "auto"
"""The usual name of an attribute, where there is one."""

IDENTITIES = {"name", "id", "_nx_name", "pos"}
"""Attributes that tell nodes apart or place them in pictures, and nobody expects to be read."""


class Names(NamedTuple):
    """The names of the attributes of nodes and edges that are read.

    ``"auto"`` reads ``label``, ``weight`` and ``attributes`` where all have them, None nothing,
    and any other name must be there. Several names of attributes are columns of numbers.
    """

    label: str | None = AUTO
    weight: str | None = AUTO
    attributes: str | Sequence[str] | None = AUTO
    edge_label: str | None = AUTO


def is_igraph(given: Any) -> bool:
    """Whether something is a graph of igraph."""
    return hasattr(given, "get_edgelist") and hasattr(given, "vs")


def is_networkx(given: Any) -> bool:
    """Whether something is a graph of networkx."""
    return all(hasattr(given, name) for name in ("nodes", "edges", "is_directed"))


def is_edges(given: Any) -> bool:
    """Whether something is what `mercer.read` makes of a file of edges."""
    return all(hasattr(given, name) for name in ("edges", "n", "names", "labels", "is_directed"))


def parts_of(given: Any, names: Names) -> dict[str, Any] | None:
    """Return what a graph is made of, by the names of `Graph`'s parameters; None of no graph."""
    if is_igraph(given):
        nodes, links = ([part.attributes() for part in parts] for parts in (given.vs, given.es))
        return _parts(given.get_edgelist(), nodes, links, names, bool(given.is_directed()))
    if is_networkx(given):
        places = {node: i for i, node in enumerate(given.nodes)}
        edges = [(places[u], places[v]) for u, v in given.edges()]
        nodes = [data for _, data in given.nodes(data=True)]
        links = [data for _, _, data in given.edges(data=True)]
        return _parts(edges, nodes, links, names, bool(given.is_directed()))
    if is_edges(given):
        return {
            "edges": list(given.edges),
            "labels": given.labels,
            "weights": given.weights,
            "n": given.n,
            "directed": bool(given.is_directed),
        }
    return None


def _parts(
    edges: list[tuple[int, int]],
    nodes: list[dict[str, Any]],
    links: list[dict[str, Any]],
    names: Names,
    directed: bool,
) -> dict[str, Any]:
    label = "label" if names.label in (AUTO, None) else names.label
    found = {
        "edges": edges,
        "labels": _attribute(nodes, names.label, "node", "label"),
        "weights": _attribute(links, names.weight, "edge", "weight"),
        "n": len(nodes),
        "directed": directed,
        "edge_labels": _attribute(links, names.edge_label, "edge", str(label)),
        "attributes": _rows(nodes, names.attributes),
    }
    if names.label == AUTO and found["labels"] is None and found["attributes"] is None:
        _say_unread(nodes, "node", "label")
    if names.edge_label == AUTO and found["edge_labels"] is None:
        _say_unread(links, "edge", "edge_label", {str(names.weight)})
    return found


def _rows(nodes: list[dict[str, Any]], names: str | Sequence[str] | None) -> list[Any] | None:
    """Return the numbers of nodes: one attribute that holds them, or several side by side."""
    if names is None or isinstance(names, str):
        found = _attribute(nodes, names, "node", "attributes")
        is_row = found is not None and all(hasattr(row, "__len__") for row in found)
        return found if found is None or is_row else [[value] for value in found]
    columns = [_attribute(nodes, name, "node", name) or [] for name in names]
    return [list(row) for row in zip(*columns, strict=True)]


def _attribute(
    parts: list[dict[str, Any]], name: str | None, what: str, usual: str
) -> list[Any] | None:
    """Return an attribute of all parts; of the usual name, None where none of them has it."""
    if name is None or not parts:
        return None
    key = usual if name == AUTO else name
    lacking = [i for i, data in enumerate(parts) if data.get(key) is None]
    if len(lacking) == len(parts) and name == AUTO:
        return None
    if len(lacking) == len(parts):
        raise InvalidInput(f"no {what} has the attribute {key!r}; there are {_listed(parts)}")
    if lacking:
        raise InvalidInput(f"{what} {lacking[0]} has no {key!r}, which others have")
    return [data[key] for data in parts]


def _say_unread(
    parts: list[dict[str, Any]], what: str, parameter: str, read: Collection[str] = ()
) -> None:
    """Say that there are attributes and none is read: labels make all the difference."""
    known = IDENTITIES | {"weight", "attributes"} | set(read)
    others = {name for data in parts for name in data} - known
    if others:
        first = min(others)
        warn(
            f"{what}s have the attributes {_listed(parts)}, and none is named 'label', so that "
            f"they are not read: mercer.Graph.read(graph, {parameter}={first!r}) reads one, "
            f"{parameter}=None says that it is meant so",
            DataWarning,
        )


def _listed(parts: list[dict[str, Any]]) -> str:
    names = sorted({str(name) for data in parts for name in data})
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(map(repr, names[:SHOWN])) or "none") + more
