"""A replicate study in pictures: the curve and its answer, the map, the pairs, the networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer.check import Array
from mercer.pictures.colours import BLUE, GREY, INK, ORANGE, PALETTE, RED, Scale
from mercer.pictures.heat_maps import seriate
from mercer.pictures.models import percent
from mercer.pictures.scene import (
    Axis,
    Band,
    Drawing,
    Field,
    Labels,
    Lines,
    Mark,
    Markers,
    Panel,
    Rule,
    Sheet,
    Texts,
    logarithmic,
    span_of,
)

if TYPE_CHECKING:  # a page of a fit has no use for the package
    from mercer.networks.needed_replicates import Needed
    from mercer.networks.study import ReplicateStudy

FURTHEST = 3
"""Continued curves are drawn up to this multiple of the replicates at hand."""

GENES = 80
"""Genes in the picture of networks: those with the heaviest edges."""

NAMED = 30
"""Genes up to this many have their names at the side."""


@Drawing
def replicate_curve(
    study: ReplicateStudy, *, title: str = "Scatter of networks and separation of conditions"
) -> Panel:
    """How far networks lie from their own condition, and conditions from each other.

    Both are distances in the space of the features, as root mean squares. Where the scatter falls
    below the separation, replicates are enough.

    >>> import mercer as mc
    >>> genes = mc.networks.simulate_expression(20, 2, effect=0.8, strength=0.95, random_state=1)
    >>> table = genes.table(8, np.random.default_rng(1))
    >>> study = mc.replicate_study(table, "condition", draws=10, random_state=0)
    >>> replicate_curve.describe(study).x.title
    'replicates of each condition'
    """
    curve, most = study.curve, min(study.replicates)
    answer = study.answer.number
    last = int(min(max(most, (answer or 0) + 1, 2 * curve.sizes[-1]), FURTHEST * most))
    marks = [*_to_full(study), *_separation(study, last), *_scatter(study, last)]
    if answer is not None and answer <= last:
        name = f"enough: {answer}" if study.answer.is_shown else f"enough if they differ: {answer}"
        marks.append(Rule(float(answer), is_level=False, colour=INK, name=name))
    first = int(curve.every[0])
    step = max(1, (last - first) // 12)
    ticks = tuple((float(m), str(m)) for m in range(first, last + 1, step))
    high = 1.08 * max(
        float(np.sqrt(curve.scatter.max())),
        float(curve.to_full_band[1].max()),
        float(np.sqrt(max(curve.separation_band[1].max(), 0.0))),
    )
    return Panel(
        tuple(marks),
        Axis("replicates of each condition", (first - 0.4, last + 0.4), ticks=ticks),
        Axis("distance between networks", (0.0, high)),
        title=title,
        notes=_notes(study, last),
    )


def _to_full(study: ReplicateStudy) -> list[Mark]:
    curve = study.curve
    at, (low, high) = curve.every.astype(float), curve.to_full_band
    name = "to the network of all replicates, of which these are a part"
    return [
        Band(at, low, high, GREY),
        Lines(at, curve.to_full.mean(axis=1), colour=GREY, dash="dotted", name=name),
    ]


def _separation(study: ReplicateStudy, last: int) -> list[Mark]:
    curve = study.curve
    at = np.append(curve.sizes, last) if last > curve.sizes[-1] else curve.sizes
    low, middle, high = (
        np.sqrt(np.maximum(np.append(v, v[-1:])[: len(at)], 0.0))
        for v in (curve.separation_band[0], curve.separation, curve.separation_band[1])
    )
    return [
        Band(at.astype(float), low, high, ORANGE),
        Lines(at.astype(float), middle, colour=ORANGE, width=2.0, name="between conditions"),
    ]


def _scatter(study: ReplicateStudy, last: int) -> list[Mark]:
    curve = study.curve
    at, heights = curve.sizes.astype(float), np.sqrt(np.maximum(curve.scatter, 0.0))
    marks: list[Mark] = [
        Lines(at, heights, colour=BLUE, width=2.0, name="to the own condition"),
        Markers(at, heights, colour=BLUE, opacity=1.0),
    ]
    beyond = np.arange(int(at[-1]), last + 1).astype(float)
    if len(beyond) > 1 and curve.separation[-1] > 0 and curve.law[1] > 0:
        ratio, *ends = curve.at(beyond)
        drawn = np.sqrt(curve.separation[-1] / np.where(ratio > 0, ratio, np.nan))
        drawn[0] = heights[-1]
        name = "continued beyond half the replicates"
        marks.append(Lines(beyond, drawn, colour=BLUE, width=1.6, dash="dashed", name=name))
        # A ratio that may be 0 puts no end to the scatter: that side has no line.
        least = curve.separation[-1] / heights.max() ** 2
        for end in (np.where(e > least, e, np.nan) for e in ends):
            if np.isfinite(end).sum() > 1:
                edge = np.sqrt(curve.separation[-1] / end)
                marks.append(Lines(beyond, edge, colour=BLUE, width=1.0, dash="dotted"))
    return marks


def _notes(study: ReplicateStudy, last: int) -> tuple[str, ...]:
    known = int(study.curve.sizes[-1])
    notes = [
        f"Root mean squares over {study.draws} draws; up to {known} replicates two disjoint sets "
        "of replicates were compared. Bands: "
        f"{100 * study.curve.confidence:g} % of bootstrap samples of the replicates."
    ]
    if last > known and study.curve.law[1] > 0 and study.curve.separation[-1] > 0:
        notes.append(
            "Beyond, the ratio is continued by a line, an extrapolation; dotted: its interval."
        )
    return tuple(notes)


@Drawing
def replicate_map(
    study: ReplicateStudy, *, title: str = "Networks by number of replicates"
) -> Panel:
    """Networks on the axes of their kernel PCA, and the way of their means as replicates grow.

    >>> import mercer as mc
    >>> genes = mc.networks.simulate_expression(20, 2, effect=0.8, strength=0.95, random_state=1)
    >>> table = genes.table(8, np.random.default_rng(1))
    >>> study = mc.replicate_study(table, "condition", draws=10, random_state=0)
    >>> replicate_map.describe(study).is_equal
    True
    """
    found = study.map
    marks: list[Mark] = []
    ends, colours = [], []
    largest = max(int(found.sizes.max()), 2)
    for c, name in enumerate(study.conditions):
        colour = PALETTE[c % len(PALETTE)]
        mine = (found.conditions == c) & (found.sizes > 0)
        for m in np.unique(found.sizes[mine]):
            x, y = found.coordinates[mine & (found.sizes == m)].T
            names = (f"{name}, {m} replicates",) * len(x)
            size = 2.0 + 3.0 * float(m) / largest
            marks.append(Markers(x, y, colour=colour, size=size, opacity=0.3, names=names))
        sizes, places = found.trajectory(c)
        x, y = places.T
        steps = tuple(f"{name}, mean of {m} replicates" for m in sizes[:-1])
        marks += [
            Lines(x, y, colour=colour, width=2.2),
            Markers(x[:-1], y[:-1], colour=colour, size=4.5, opacity=1.0, names=steps),
            Markers(x[-1:], y[-1:], None, colour, "diamond", 9.0, opacity=1.0, name=name),
        ]
        ends.append(places[-1])
        colours.append(colour)
    x, y = np.array(ends).T
    marks.append(Labels(x, y, tuple(study.conditions), tuple(colours), size=9.0))
    x, y = found.coordinates.T
    titles = [f"Dim {k + 1} ({percent(float(s))})" for k, s in enumerate(found.shares)]
    first, last = int(study.curve.every[0]), int(study.curve.every[-1])
    notes = (
        f"Small points: networks of {first} to {last} replicates, the larger the more; lines: "
        "their means, from few replicates to many; diamonds: networks of all replicates.",
        "All are made of the same replicates: fresh ones would scatter more.",
    )
    return Panel(
        tuple(marks),
        Axis(titles[0], span_of(x)),
        Axis(titles[1], span_of(y)),
        title=title,
        notes=notes,
        is_equal=True,
        has_origin=True,
    )


@Drawing
def replicate_pairs(
    study: ReplicateStudy, *, title: str = "Replicates that each pair of conditions needs"
) -> Panel:
    """The number that each pair of conditions needs by itself, with its interval.

    >>> import mercer as mc
    >>> genes = mc.networks.simulate_expression(20, 2, effect=0.8, strength=0.95, random_state=1)
    >>> table = genes.table(8, np.random.default_rng(1))
    >>> study = mc.replicate_study(table, "condition", draws=10, random_state=0)
    >>> len(study.pairs), len(replicate_pairs.describe(study).y.ticks)
    (6, 7)
    """
    pairs = [("all conditions", study.answer), *((_named(p), n) for p, n in study.pairs.items())]
    top = _top(study, [answer for _, answer in pairs])
    marks: list[Mark] = []
    for k, (_, answer) in enumerate(pairs):
        y = float(len(pairs) - k)
        low, high = float(answer.low or top), float(min(answer.high or top, top))
        colour = INK if k == 0 else BLUE
        marks.append(Lines(np.array([low, high]), np.array([y, y]), colour=colour, width=2.2))
        if answer.number is not None and answer.number <= top:
            at = np.array([float(answer.number)])
            marks.append(Markers(at, np.array([y]), colour=colour, size=7.0, opacity=1.0))
            texts, where = (str(answer.number),), at
        else:
            texts, where = ("none named",), np.array([top / 1.4])
        marks.append(Texts(where, np.array([y + 0.27]), texts, (colour,), 8.0))
    most = min(study.replicates)
    marks.append(Rule(float(most), is_level=False, colour=RED, name=f"at hand: {most}"))
    ticks = tuple((float(len(pairs) - k), name) for k, (name, _) in enumerate(pairs))
    return Panel(
        tuple(marks),
        logarithmic("replicates of each condition", (1.8, 1.15 * top)),
        Axis("", (0.4, len(pairs) + 0.7), ticks=ticks),
        title=title,
        notes=(
            f"Lines: {100 * study.answer.confidence:g} % intervals; those that reach the edge are "
            "open.",
        ),
        size=(6.4, 1.6 + 0.42 * len(pairs)),
    )


def _named(pair: tuple[str, str]) -> str:
    return f"{pair[0]} – {pair[1]}"


def _top(study: ReplicateStudy, answers: list[Needed]) -> float:
    from mercer.networks.needed_replicates import MOST_REPLICATES

    numbers = [n for a in answers for n in (a.number, a.high, a.low) if n is not None]
    return float(
        min(max([2 * min(study.replicates), *numbers]), MOST_REPLICATES, 20 * min(study.replicates))
    )


@Drawing
def replicate_networks(
    study: ReplicateStudy, *, title: str = "Networks of all replicates"
) -> Sheet:
    """The weights of the networks of each condition, genes in one order for all.

    >>> import mercer as mc
    >>> genes = mc.networks.simulate_expression(20, 2, effect=0.8, strength=0.95, random_state=1)
    >>> table = genes.table(8, np.random.default_rng(1))
    >>> study = mc.replicate_study(table, "condition", draws=10, random_state=0)
    >>> len(replicate_networks.describe(study).panels)
    4
    """
    weights = [network.weights for network in study.networks.values()]
    genes = _heaviest(np.mean([np.abs(w) for w in weights], axis=0))
    order = genes[seriate(np.mean([np.abs(w[np.ix_(genes, genes)]) for w in weights], axis=0))]
    largest = max(float(np.abs(w).max()) for w in weights) or 1.0
    at, n = np.arange(len(order)).astype(float), len(order)
    ticks = tuple((float(i), study.genes[g]) for i, g in enumerate(order)) if n <= NAMED else ()
    panels = []
    for (name, network), w in zip(study.networks.items(), weights, strict=True):
        shown = w[np.ix_(order, order)].copy()
        np.fill_diagonal(shown, largest)  # one scale for all panels
        scale = Scale(shown, "weight", "diverging" if shown.min() < 0 else "sequential")
        panels.append(
            Panel(
                (Field(at, at, scale, "heat"),),
                Axis("", (-0.5, n - 0.5), ticks=()),
                Axis("", (n - 0.5, -0.5), ticks=ticks),
                title=f"{name} ({network.replicates} replicates)",
                is_equal=True,
            )
        )
    of = (
        f"The {n} of {len(study.genes)} genes with the heaviest edges"
        if n < len(study.genes)
        else ("Genes")
    )
    notes = (f"{of}, in one order for all networks: alike ones stand together.",)
    return Sheet(tuple(panels), min(2, len(panels)), title, notes, cell=(4.4, 3.9))


def _heaviest(moduli: Array) -> Array:
    """Return the genes with the heaviest edges, in their order."""
    return np.sort(np.argsort(-moduli.sum(axis=0), kind="stable")[:GENES])
