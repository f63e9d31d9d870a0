"""The page of a replicate study: the answer first, then the curve, the map and the networks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mercer.networks.study import ReplicateStudy
from mercer.page.sections import Section
from mercer.page.write import document
from mercer.pictures.replicates import (
    replicate_curve,
    replicate_map,
    replicate_networks,
    replicate_pairs,
)

EDGES = 10
"""The heaviest edges of each condition that the page lists."""

COLUMNS = {
    "replicates": "replicates",
    "scatter": "to the own condition",
    "separation": "between conditions",
    "ratio": "ratio of squares",
    "recognised": "nearest to its own",
    "to_full": "to the network of all replicates",
    "to_full_low": "from",
    "to_full_high": "to",
}
"""The columns of the curve in the words of the page."""

EXPLAINED = (
    "Networks inferred from a few replicates scatter around the mean network of their condition. "
    "Replicates are enough from the number on at which this scatter, the root mean square distance "
    "of a network to the mean network of its condition, is no larger than the distance between the "
    "mean networks of two conditions. Both are averages, over conditions and over pairs of them.",
    "They are estimated from two disjoint sets of replicates, which share nothing. A network of "
    "most replicates lies close to that of all of them for no other reason than that it is made of "
    "them: the dotted line shows it, with its band, and the answer does not use it.",
    "Whether the conditions differ at all is asked by a test: replicates, less the mean of their "
    "condition, are permuted among the conditions. Where the networks of the conditions lie no "
    "further apart than such networks do, no difference is shown and the interval is open.",
)


def sections_of(study: ReplicateStudy) -> list[Section]:
    """Return a study as sections of a page."""
    return [
        Section(
            "How many replicates",
            EXPLAINED,
            [replicate_curve.describe(study)],
            {"By number of replicates": curve_table(study)},
        ),
        Section(
            "Pairs of conditions",
            ("Two conditions by themselves may need more replicates than all on average.",),
            [replicate_pairs.describe(study)],
            {"Pairs of conditions": pairs_table(study)},
        ),
        Section("Map of networks", (), [replicate_map.describe(study)]),
        Section(
            "Networks",
            (f"Inferred by {study.inference}, compared by {study.kernel}.",),
            [replicate_networks.describe(study)],
            {"Heaviest edges of each condition": _edges(study)},
        ),
    ]


def curve_table(study: ReplicateStudy) -> Mapping[str, Any]:
    """Return the curve in columns, under the words of the page."""
    return {COLUMNS[name]: values for name, values in study.curve.table().items()}


def pairs_table(study: ReplicateStudy) -> Mapping[str, Any]:
    """Return what each pair of conditions needs, in columns."""
    pairs = list(study.pairs.items())
    return {
        "first": [pair[0] for pair, _ in pairs],
        "second": [pair[1] for pair, _ in pairs],
        "replicates": [_or_none(n.number) for _, n in pairs],
        "from": [_or_none(n.low) for _, n in pairs],
        "to": [_or_none(n.high, "open") for _, n in pairs],
        "p by permutation": [n.p_value for _, n in pairs],
    }


def _or_none(number: int | None, otherwise: str = "none named") -> str:
    return otherwise if number is None else str(number)


def _edges(study: ReplicateStudy) -> Mapping[str, Any]:
    columns: dict[str, list[Any]] = {}
    for name, network in study.networks.items():
        table = network.table()
        head = {"condition": [name] * min(table.rows, EDGES)}
        head |= {key: values[:EDGES].tolist() for key, values in table.items()}
        for key, values in head.items():
            columns.setdefault(key, []).extend(values)
    return columns


def replicates_page(
    path: str | os.PathLike[str],
    study: ReplicateStudy,
    *,
    title: str = "How many replicates are enough",
    code: str | None = None,
    command: str | Sequence[str] | None = None,
    source: str | os.PathLike[str] | None = None,
) -> Path:
    """Write a study as one HTML file, and return its path."""
    counts = sorted(set(study.replicates))
    each = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    about = (
        f"The study has {len(study.conditions)} conditions with {each} replicates each and "
        f"{len(study.genes)} genes; networks are inferred by {study.inference}."
    )
    return document(
        path,
        title,
        [*study.sentences, about],
        sections_of(study),
        code=code,
        command=command,
        source=source,
    )
