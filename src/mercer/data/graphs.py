"""Graphs as plain edges: lines or tables of edges, and GraphML, read while it is parsed."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar
from xml.parsers import expat

from mercer.check import is_missing
from mercer.data.dialect import MARKS, checked_encoding, is_number
from mercer.data.raw_files import BLOCK, Limits, in_one_line, open_bytes
from mercer.data.sequences import lines_of
from mercer.data.table import Column, Role, Table, quote_names
from mercer.display import Shown, warn
from mercer.errors import DataWarning, InvalidInput, UnreadableFile

EDGE, NODE = 160, 200
"""Bytes that an edge and its weight, and the name of a node, take in memory."""

SEPARATORS = re.compile(r"[\t,; ]+")


@dataclass(frozen=True, slots=True, repr=False)
class Edges(Shown):
    """A graph as data: pairs of nodes counted from 0, their labels, weights and names.

    >>> Edges(((0, 1), (1, 2)), 3, labels=("C", "O", "C")).edges
    ((0, 1), (1, 2))
    """

    facts: ClassVar[Mapping[str, str]] = {
        "n": "nodes",
        "edges": "pairs of nodes",
        "weights": "of the edges",
        "labels": "of the nodes",
        "names": "of the nodes",
        "is_directed": "",
    }

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
    number = 0
    for lines in lines_of(path, limits, encoding):
        for number, line in enumerate(lines, number + 1):  # noqa: B020  (counts on)
            if not line:
                continue
            words = SEPARATORS.split(line.strip())
            if words == [""] or words[0].startswith(("#", "%")):
                continue
            _refuse_words(words, line, f"{path.name}, line {number}")
            nodes = [names.setdefault(word, len(names)) for word in words[:2]]
            if len(nodes) == 2:
                edges.append((nodes[0], nodes[1]))
                weights.append(float(words[2]) if len(words) == 3 else 1.0)
        limits.check(EDGE * len(edges) + NODE * len(names), None, f"the graph in {path.name}")
    if not names:
        raise UnreadableFile(f"{path.name} has no edges")
    has_weights = any(weight != 1.0 for weight in weights)
    return Edges(
        tuple(edges), len(names), tuple(weights) if has_weights else None, None, tuple(names)
    )


def _refuse_words(words: Sequence[str], line: str, place: str) -> None:
    has_weight = len(words) == 3 and is_number(words[2]) and isfinite(float(words[2]))
    if len(words) > 3 or (len(words) == 3 and not has_weight) or "" in words:
        raise UnreadableFile(
            f"{place}: an edge is two names and perhaps a weight, found {line.strip()[:60]!r}"
        )


def as_edges(table: Table) -> Edges:
    """Return the graph of a table of edges."""
    columns = list(table.columns())
    for column in columns[:2]:
        lost = next((i for i, v in enumerate(column.values) if is_missing(v)), None)
        if lost is not None:
            raise InvalidInput(f'row {lost + 1} has no "{column.name}": an edge has two ends')
    if len(columns) == 3:
        _refuse_weights(columns[2])
    ends = [[_word(v) for v in column.values] for column in columns[:2]]
    names = {word: i for i, word in enumerate(dict.fromkeys([*ends[0], *ends[1]]))}
    weights = tuple(map(float, columns[2].values)) if len(columns) == 3 else None
    pairs = tuple((names[a], names[b]) for a, b in zip(*ends, strict=True))
    return Edges(pairs, len(names), weights, None, tuple(names))


def _refuse_weights(column: Column) -> None:
    if column.role is not Role.NUMBER:
        raise InvalidInput(f'column "{column.name}" holds labels, and weights are numbers')
    lost = next((i for i, v in enumerate(column.values) if not isfinite(v)), None)
    if lost is not None:
        raise InvalidInput(f"row {lost + 1} has no weight: give it one, or leave the edge out")


def _word(value: Any) -> str:
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


GRAPHS = (".graphml", ".edges", ".edgelist")
"""How names of files of graphs end."""


def is_graph_file(path: Path) -> bool:
    """Whether the name of a file says that it holds a graph.

    >>> is_graph_file(Path("a.edges.gz")), is_graph_file(Path("a.csv"))
    (True, False)
    """
    return path.name.lower().removesuffix(".gz").endswith(GRAPHS)


def graph_files(folder: Path, pattern: str | None = None) -> tuple[list[Path], list[Path]]:
    """Return the files of graphs in a folder and below, and the others, in order of their names."""
    if not folder.is_dir():
        raise UnreadableFile(f"{folder} is not a folder; name one that holds a file for each graph")
    every = sorted(path for path in folder.rglob("*") if path.is_file())
    if pattern is None:
        found = [path for path in every if is_graph_file(path)]
    else:
        found = sorted(path for path in folder.rglob(pattern) if path.is_file())
    kept = set(found)
    skipped = [path for path in every if path not in kept]
    if len(found) < 2:
        what = f"that match {pattern}" if pattern else f"named *{', *'.join(GRAPHS)}"
        others = f"; it also holds {quote_names(p.name for p in skipped)}" if skipped else ""
        raise InvalidInput(
            f"{folder} has {'1 file' if found else 'no files'} {what}; at least two graphs are "
            f"compared{others}. --pattern names others"
        )
    return found, skipped


def named_files(folder: Path, paths: Sequence[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of graphs by their files, and the folders they are in, which are groups."""
    parents = [path.relative_to(folder).parent.as_posix() for path in paths]
    stems = [path.name.removesuffix(".gz").rpartition(".")[0] or path.name for path in paths]
    has_groups = len(set(parents)) > 1
    names = [
        f"{g}/{s}" if has_groups and g != "." else s for g, s in zip(parents, stems, strict=True)
    ]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"two files of {folder} would both be named {twice!r}; rename one")
    groups = tuple("(none)" if p == "." else p for p in parents) if has_groups else ()
    return tuple(names), groups


def simplify_graph(edges: Edges) -> Edges:
    """Return a graph without loops, and with the mean weight of edges given more than once.

    >>> simplify_graph(Edges(((0, 1), (1, 0), (1, 1)), 2, (1.0, 3.0, 5.0))).weights
    (2.0,)
    """
    sums: dict[tuple[int, int], list[float]] = {}
    weights = edges.weights or (1.0,) * len(edges.edges)
    for (u, v), weight in zip(edges.edges, weights, strict=True):
        if u != v:
            pair = (u, v) if edges.is_directed else (min(u, v), max(u, v))
            sums.setdefault(pair, []).append(weight)
    means = tuple(sum(w) / len(w) for w in sums.values())
    has_weights = edges.weights is not None
    labels, names = edges.labels, edges.names
    kept = tuple(sums)
    return Edges(kept, edges.n, means if has_weights else None, labels, names, edges.is_directed)


DEEPEST = 100
"""Elements that lie within one another: a graph needs five, a graph of graphs a few more."""

DECLARED = re.compile(rb"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']*)[\"']")

SHOWN = 10
"""Attributes that a message names."""

NATIVE = frozenset({"utf-8", "utf-16", "iso8859-1", "ascii"})
"""Encodings that the parser reads by itself."""


@dataclass
class Document:
    """The part of a document that was read so far."""

    name: str
    label: str | None = None
    keys: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    owners: list[dict[str, str]] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    graphs: int = 0
    is_directed: bool = False
    text: list[str] | None = None

    def begin(self, tag: str, given: dict[str, str]) -> None:
        """Take the beginning of an element."""
        kind = tag.rpartition("}")[2]
        self.path.append(kind)
        if len(self.path) > DEEPEST:
            raise UnreadableFile(f"{self.name} has more than {DEEPEST} elements in one another")
        if kind == "graph" and self.path.count("graph") == 1:
            self.graphs += 1
            self.is_directed |= self.graphs == 1 and given.get("edgedefault") == "directed"
        if kind == "key":
            self.keys[given.get("id", "")] = given.get("attr.name", "")
        elif self.graphs == 1 and "graph" in self.path:
            self._begin_part(kind, given)

    def _begin_part(self, kind: str, given: dict[str, str]) -> None:
        if kind == "node":
            name = given.get("id")
            if name is None or name in self.nodes:
                what = "a node without an id" if name is None else f"two nodes {name[:80]!r}"
                raise UnreadableFile(f"{self.name} has {what}")
            self.nodes[name] = {}
            self.owners.append(self.nodes[name])
        elif kind == "edge":
            about: dict[str, str] = {}
            self.edges.append((given.get("source", ""), given.get("target", ""), about))
            self.owners.append(about)
        elif kind == "data" and self.owners:
            self.text = []
            self.owners[-1][given.get("key", "")] = ""

    def end(self, _: str) -> None:
        """Take the end of an element."""
        kind = self.path.pop()
        if kind == "data" and self.text is not None:
            last = next(reversed(self.owners[-1]))
            self.owners[-1][last] = "".join(self.text)
            self.text = None
        elif kind in ("node", "edge") and self.owners:
            self.owners.pop()

    def add(self, text: str) -> None:
        """Take a part of a text."""
        if self.text is not None:
            self.text.append(text)

    def refuse_entities(self, *_: object) -> None:
        """Refuse declarations, in which a few lines stand for gigabytes."""
        raise UnreadableFile(
            f"{self.name} declares entities, by which XML files exhaust memory; remove them"
        )

    def graph(self) -> Edges:
        """Return the graph, with the labels asked for and the attribute named weight."""
        if not self.graphs:
            raise UnreadableFile(f"{self.name} has no <graph>: it is not GraphML")
        place = {name: i for i, name in enumerate(self.nodes)}
        for *ends, _ in self.edges:
            lost = next((end for end in ends if end not in place), None)
            if lost is not None:
                raise UnreadableFile(
                    f"{self.name} has an edge to node {lost[:80]!r}, which it lacks"
                )
        weights = [self._weight(self._named(about, "weight")) for *_, about in self.edges]
        has_weights = any(weight is not None for weight in weights)
        return Edges(
            edges=tuple((place[a], place[b]) for a, b, _ in self.edges),
            n=len(self.nodes),
            weights=tuple(1.0 if w is None else w for w in weights) if has_weights else None,
            labels=self._labels(),
            names=tuple(self.nodes),
            is_directed=self.is_directed,
        )

    def _labels(self) -> tuple[str, ...] | None:
        """Return the labels of nodes, None where not all have one and none was asked for."""
        found = [self._named(about, self.label or "label") for about in self.nodes.values()]
        there = {self.keys.get(key, key) for about in self.nodes.values() for key in about}
        names = ", ".join(repr(name[:40]) for name in sorted(there)[:SHOWN]) or "none"
        lacking = [i for i, value in enumerate(found) if value is None]
        if self.label is not None and lacking:
            what = f"node {lacking[0]} has no {self.label!r}, which others have"
            if len(lacking) == len(found):
                what = f"no node has the attribute {self.label!r}; there are {names}"
            raise UnreadableFile(f"{self.name}: {what}")
        if there and len(lacking) == len(found):
            warn(
                f"{self.name}: nodes have the attributes {names}, and none is named label, so that "
                "they are not read: name one, as in mercer.read(path, label='...') or "
                "mercer graphs --label",
                DataWarning,
            )
        return tuple(map(str, found)) if found and not lacking else None

    def _named(self, about: dict[str, str], name: str) -> str | None:
        return next((text for key, text in about.items() if self.keys.get(key) == name), None)

    def _weight(self, text: str | None) -> float | None:
        if text is None:
            return None
        if not is_number(text.strip()) or not isfinite(float(text)):
            raise UnreadableFile(
                f"{self.name} has an edge of weight {text[:40]!r}, which is not a number"
            )
        return float(text)


def read_graphml(
    path: Path, limits: Limits, encoding: str | None = None, label: str | None = None
) -> Edges:
    """Return the graph of a GraphML file, with its weights and the labels of its nodes.

    ``label`` names the attribute that is the label; None takes the one named label, if any.
    """
    document = Document(path.name, label)
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.StartElementHandler = document.begin
    parser.EndElementHandler = document.end
    parser.CharacterDataHandler = document.add
    parser.StartDoctypeDeclHandler = document.refuse_entities
    parser.EntityDeclHandler = document.refuse_entities
    used = 0
    try:
        for part in _parts(path, limits, encoding):
            parser.Parse(part, False)
            used += len(part)
            held = EDGE * len(document.edges) + NODE * len(document.nodes)
            limits.check(held + used, None, f"the graph in {path.name}")
        parser.Parse(b"", True)
    except UnreadableFile:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise UnreadableFile(f"{path.name} is not XML: {in_one_line(error)}") from error
    return document.graph()


def _parts(path: Path, limits: Limits, encoding: str | None) -> Iterator[bytes | str]:
    """Yield a document in parts, decoded where the parser does not know its encoding."""
    with open_bytes(path, limits) as file:
        block = file.read(BLOCK)
        told = DECLARED.match(block[:1000])
        is_marked = block.startswith(tuple(mark for mark, _ in MARKS))
        if encoding is None and told is not None and not is_marked:
            encoding = checked_encoding(told[1].decode("latin-1"))
        if encoding is None or codecs.lookup(encoding).name in NATIVE:
            yield block
            while block := file.read(BLOCK):
                yield block
            return
        decoder = codecs.getincrementaldecoder(encoding)()
        yield decoder.decode(block)
        while block := file.read(BLOCK):
            yield decoder.decode(block)
        yield decoder.decode(b"", final=True)
