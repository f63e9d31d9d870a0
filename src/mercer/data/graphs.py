"""Graphs as plain edges: files with one edge per line, and tables of edges."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

from mercer.check import is_missing
from mercer.data.dialect import is_number
from mercer.data.lines import lines_of
from mercer.data.source import Limits
from mercer.data.table import Column, Role, Table
from mercer.display import Shown
from mercer.errors import InvalidInput, UnreadableFile

EDGE, NODE = 160, 200
"""Bytes that an edge and its weight, and the name of a node, take in memory."""

SEPARATORS = re.compile(r"[\t,; ]+")


@dataclass(frozen=True, slots=True, repr=False)
class Edges(Shown):
    """A graph as data: pairs of nodes counted from 0, their labels, weights and names."""

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


ENDS = ({"source", "target"}, {"from", "to"})
"""Names of the two columns of a table of edges."""


def looks_like_edges(table: Table) -> bool:
    """Return whether a table is one of edges: two ends that say so, and perhaps a weight."""
    names = [name.strip().lower() for name in table.names]
    return len(names) in (2, 3) and set(names[:2]) in ENDS and names[2:] in ([], ["weight"])


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
