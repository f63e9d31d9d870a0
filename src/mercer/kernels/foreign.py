"""Graphs of other libraries and of files, known by what they offer: none of them is imported."""

from __future__ import annotations

from typing import Any, NamedTuple

from mercer.check import InvalidInput


class Names(NamedTuple):
    """What the attributes of nodes and edges that are read are called."""

    label: str = "label"
    weight: str = "weight"
    attributes: str = "attributes"


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
    return {
        "edges": edges,
        "labels": _attribute(nodes, names.label, "node"),
        "weights": _attribute(links, names.weight, "edge"),
        "n": len(nodes),
        "directed": directed,
        "edge_labels": _attribute(links, names.label, "edge"),
        "attributes": _attribute(nodes, names.attributes, "node"),
    }


def _attribute(parts: list[dict[str, Any]], name: str, what: str) -> list[Any] | None:
    """Return an attribute that all parts have, or none of them."""
    lacking = [i for i, data in enumerate(parts) if data.get(name) is None]
    if len(lacking) == len(parts):
        return None
    if lacking:
        raise InvalidInput(f"{what} {lacking[0]} has no {name!r}, which others have")
    return [data[name] for data in parts]
