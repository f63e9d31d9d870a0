"""Graph files as plain edges: one edge per line, or GraphML."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from mercer.check import UnreadableFile
from mercer.data.dialect import is_number
from mercer.data.lines import lines_of
from mercer.data.source import Limits, contents
from mercer.data.table import Table

SEPARATORS = re.compile(r"[\t,; ]+")


@dataclass(frozen=True, slots=True)
class Edges:
    """A graph as data: pairs of nodes counted from 0, their labels, weights and names."""

    edges: tuple[tuple[int, int], ...]
    n: int
    weights: tuple[float, ...] | None = None
    labels: tuple[str, ...] | None = None
    names: tuple[str, ...] = ()
    is_directed: bool = False


def read_edges(path: Path, limits: Limits, encoding: str | None = None) -> Edges:
    """Return the graph of an edge list: two names on a line, and perhaps a weight.

    Lines that begin with # or % are comments; a line with one name is a node without edges.
    """
    names: dict[str, int] = {}
    edges: list[tuple[int, int]] = []
    weights: list[float] = []
    for number, line in enumerate(lines_of(path, limits, encoding), 1):
        words = SEPARATORS.split(line.strip())
        if words == [""] or words[0][0] in "#%":
            continue
        if len(words) > 3 or (len(words) == 3 and not is_number(words[2])):
            raise UnreadableFile(
                f"{path.name}, line {number}: an edge is two names and perhaps a weight, "
                f"found {line.strip()[:60]!r}"
            )
        nodes = [names.setdefault(word, len(names)) for word in words[:2]]
        if len(nodes) == 2:
            edges.append((nodes[0], nodes[1]))
            weights.append(float(words[2]) if len(words) == 3 else 1.0)
    if not names:
        raise UnreadableFile(f"{path.name} has no edges")
    has_weights = any(weight != 1.0 for weight in weights)
    return Edges(
        tuple(edges), len(names), tuple(weights) if has_weights else None, None, tuple(names)
    )


ENDS = ({"source", "target"}, {"from", "to"})
"""Names of the two columns of a table of edges."""


def looks_like_edges(table: Table) -> bool:
    """Return whether a table is one of edges: two ends that say so, and perhaps a weight."""
    names = [name.strip().lower() for name in table.names]
    return len(names) in (2, 3) and set(names[:2]) in ENDS and names[2:] in ([], ["weight"])


def as_edges(table: Table) -> Edges:
    """Return the graph of a table of edges."""
    columns = list(table.columns())
    ends = [[_word(v) for v in column.values] for column in columns[:2]]
    names = {word: i for i, word in enumerate(dict.fromkeys([*ends[0], *ends[1]]))}
    weights = tuple(map(float, columns[2].values)) if len(columns) == 3 else None
    pairs = tuple((names[a], names[b]) for a, b in zip(*ends, strict=True))
    return Edges(pairs, len(names), weights, None, tuple(names))


def _word(value: Any) -> str:
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def read_graphml(path: Path, limits: Limits) -> Edges:
    """Return the graph of a GraphML file, with the attributes named label and weight."""
    data = contents(path, limits)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise UnreadableFile(
            f"{path.name} declares entities, by which XML files exhaust memory; remove them"
        )
    try:
        root = ElementTree.parse(io.BytesIO(data)).getroot()
    except ElementTree.ParseError as error:
        raise UnreadableFile(f"{path.name} is not XML: {error}") from error
    keys = {e.get("id"): str(e.get("attr.name")) for e in _all(root, "key")}
    graph = next(_all(root, "graph"), None)
    if graph is None:
        raise UnreadableFile(f"{path.name} has no <graph>: it is not GraphML")
    nodes = {str(e.get("id")): _attributes(e, keys) for e in _all(graph, "node")}
    place = {name: i for i, name in enumerate(nodes)}
    edges, weights = [], []
    for e in _all(graph, "edge"):
        ends = (e.get("source"), e.get("target"))
        lost = next((end for end in ends if end not in place), None)
        if lost is not None:
            raise UnreadableFile(f"{path.name} has an edge to node {lost!r}, which it lacks")
        edges.append((place[str(ends[0])], place[str(ends[1])]))
        weights.append(_weight(_attributes(e, keys).get("weight"), path))
    labels = [about.get("label") for about in nodes.values()]
    return Edges(
        edges=tuple(edges),
        n=len(nodes),
        weights=_weights(weights),
        labels=tuple(str(x) for x in labels) if labels and None not in labels else None,
        names=tuple(nodes),
        is_directed=graph.get("edgedefault") == "directed",
    )


def _weights(given: list[float | None]) -> tuple[float, ...] | None:
    if all(weight is None for weight in given):
        return None
    return tuple(1.0 if weight is None else weight for weight in given)


def _all(root: Any, tag: str) -> Iterator[Any]:
    return (e for e in root.iter() if e.tag.rpartition("}")[2] == tag)


def _attributes(element: Any, keys: dict[str | None, str]) -> dict[str, str]:
    return {keys.get(d.get("key"), ""): d.text or "" for d in _all(element, "data")}


def _weight(text: str | None, path: Path) -> float | None:
    if text is None:
        return None
    if not is_number(text.strip()):
        raise UnreadableFile(f"{path.name} has an edge of weight {text!r}, which is not a number")
    return float(text)
