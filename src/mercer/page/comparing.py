"""The page of a comparison of kernels, and the section of it that any page can take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mercer.check import Array
from mercer.compare.consensus import Consensus
from mercer.compare.several import Comparison
from mercer.page.sections import Section
from mercer.page.write import document
from mercer.pictures.comparing import agreement, chance, kernel_map, weights
from mercer.pictures.scene import Sheet

LEVEL = 0.05
"""The level at which a sentence says that two kernels agree."""


def sections_of(found: Comparison, agreed: Consensus | None = None) -> list[Section]:
    """Return a comparison as sections of a page, with the consensus where there is one.

    >>> from mercer import compare_kernels, datasets
    >>> kernels = ["linear()", "gaussian(bandwidth=1.0)"]
    >>> found = compare_kernels(kernels, datasets.iris().numbers, permutations=19)
    >>> [section.title for section in sections_of(found)]
    ['Which kernels see alike', 'Pairs of kernels']
    """
    pictures = [agreement.describe(found), kernel_map.describe(found)]
    parts = [Section("Which kernels see alike", EXPLAINED, pictures)]
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

EXPLAINED = (
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
        sections_of(found, agreed),
        code=code,
        command=command,
        source=source,
    )
