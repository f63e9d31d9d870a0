"""Pages of their own: a comparison of kernels, and a replicate study."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.compare.consensus import Consensus
from mercer.compare.several import Comparison
from mercer.networks.study import ReplicateStudy
from mercer.page.sections import Section
from mercer.page.write import document
from mercer.pictures.heat_maps import agreement, chance, kernel_map, weights
from mercer.pictures.replicates import (
    replicate_curve,
    replicate_map,
    replicate_networks,
    replicate_pairs,
)
from mercer.pictures.scene import Sheet
from mercer.settings import LEVEL


def sections_of_comparison(found: Comparison, agreed: Consensus | None = None) -> list[Section]:
    """Return a comparison as sections of a page, with the consensus where there is one.

    >>> from mercer import compare_kernels, datasets
    >>> kernels = ["linear()", "gaussian(bandwidth=1.0)"]
    >>> found = compare_kernels(kernels, datasets.iris().numbers, permutations=19)
    >>> [section.title for section in sections_of_comparison(found)]
    ['Which kernels see alike', 'Pairs of kernels']
    """
    pictures = [agreement.describe(found), kernel_map.describe(found)]
    parts = [Section("Which kernels see alike", ABOUT_COMPARISONS, pictures)]
    if agreed is not None:
        parts.append(
            Section(
                "What all see",
                (_consensus(agreed),),
                [weights.describe(agreed)],
                {"Weights in the consensus": agreed.table()},
            )
        )
    tables = {"Every two kernels": found.table()}
    parts.append(Section("Pairs of kernels", (), _laws(found), tables))
    return parts


def _laws(found: Comparison) -> list[Sheet]:
    """Return what permutations gave for the first pairs, side by side."""
    panels = tuple(
        replace(chance.describe(pair, title=f"{i + 1}: p = {pair.p_value:.3g}"), notes=())
        for i, pair in enumerate(found.pairs[:MOST_LAWS])
        if pair.null.size
    )
    if not panels:
        return []
    pairs = "; ".join(
        f"{k + 1} {found.names[i]} – {found.names[j]}"
        for k, (i, j) in enumerate(found.places[:MOST_LAWS])
    )
    notes = (f"{pairs}.", f"{found.pairs[0].how}; p-values of each pair by itself.")
    columns = min(3, len(panels))
    return [Sheet(panels, columns, "What was observed and what chance gives", notes, cell=CELL)]


MOST_LAWS = 6
"""Pairs whose permutations a page shows."""

CELL = (3.6, 3.2)
"""Inches of a small picture."""

ABOUT_COMPARISONS = (
    "The alignment of two kernels is 1 where they give the individuals the same relations up to a "
    "scale, and the nearer to 0 the less one says of the other. It is never quite 0: a p-value "
    "says how often chance alone aligns as well.",
)


def sentences(found: Comparison) -> list[str]:
    """Return what a comparison found, in words.

    >>> from mercer import compare_kernels, datasets
    >>> kernels = {"a": "linear()", "b": "gaussian(bandwidth=1.0)"}
    >>> sentences(compare_kernels(kernels, datasets.iris().numbers, permutations=0))[1]
    'The most alike are a and b, with an alignment of 0.74.'
    """
    table = found.table()
    values = table["alignment"]
    best, least = int(np.argmax(values)), int(np.argmin(values))
    said = [f"{len(found.names)} kernels were compared on {found.individuals} individuals."]
    said.append(f"The most alike are {_pair(table, best)}.")
    if len(values) > 1:
        said.append(f"The least alike are {_pair(table, least)}.")
    if found.adjusted is not None:
        count = int(np.sum(found.adjusted <= LEVEL))
        agree = "agrees" if count == 1 else "agree"
        said.append(
            f"{count} of {len(values)} pairs {agree} more than chance explains, at the level "
            f"{LEVEL:g} for all together."
        )
    return said


def _pair(table: dict[str, Array], k: int) -> str:
    names = f"{table['first'][k]} and {table['second'][k]}"
    return f"{names}, with an alignment of {table['alignment'][k]:.2f}"


def _consensus(agreed: Consensus) -> str:
    kept = int(np.sum(agreed.weights > 0))
    nearest = agreed.names[int(np.argmax(agreed.agreement))]
    return (
        f"The consensus by {agreed.method} is a kernel made of {kept} of {len(agreed.names)}; "
        f"{nearest} is nearest to it. It is {agreed.kernel}."
    )


def comparison_page(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    path: str | os.PathLike[str],
    found: Comparison,
    agreed: Consensus | None = None,
    *,
    title: str = "Kernels compared",
    code: str | None = None,
    command: str | Sequence[str] | None = None,
    source: str | os.PathLike[str] | None = None,
) -> Path:
    """Write a comparison as one HTML file, and return its path."""
    return document(
        path,
        title,
        sentences(found),
        sections_of_comparison(found, agreed),
        code=code,
        command=command,
        source=source,
    )


EDGES = 10
"""The heaviest edges of each condition that the page lists."""

COLUMNS = {
    "replicates": "replicates",
    "within": "to the own condition",
    "between": "between conditions",
    "ratio": "between / own, squared",
    "recognised": "nearest to its own",
    "to_full": "to the network of all replicates",
    "to_full_low": "from",
    "to_full_high": "to",
}
"""The columns of the curve in the words of the page."""

ABOUT_STUDIES = (
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


def sections_of_study(study: ReplicateStudy) -> list[Section]:
    """Return a study as sections of a page."""
    return [
        Section(
            "How many replicates",
            ABOUT_STUDIES,
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
        [about, *study.sentences],
        sections_of_study(study),
        code=code,
        command=command,
        source=source,
    )
