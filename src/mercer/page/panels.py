"""The pictures of the page as plain data, which `svg` draws on paper and `assets` on the screen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from mercer.check import (
    Array,
    MercerError,
    how_many,
)
from mercer.dimension.horn import ParallelAnalysis
from mercer.dimension.rules import Choice, KaiserChoice
from mercer.kernels.vectors import Linear
from mercer.page.sample import density
from mercer.page.subject import Subject, labels_of
from mercer.page.text import clean, count_of, percent, short
from mercer.pictures.spectra import WRITTEN, clear_of
from mercer.points import take
from mercer.reading import Variables

Panel = dict[str, Any]

LABELS = 20
"""Individuals or variables named on a picture: those that the axes show best."""

EQUAL = 8.0
"""Beyond this ratio of their ranges, axes of one unit would flatten a plane to a line."""

SCREE, HEADROOM = 20, 1.08
"""Axes of a scree plot, and how much higher than its bars and lines it is."""

CIRCLE, BARS = 60, 15
"""Arrows of a correlation circle, and bars of contributions."""

SURFACES, GRID = 4, 41
"""Eigenfunctions drawn, and points of their grids on each side."""

PIXELS = 160
"""Individuals of the picture of a Gram matrix, on each side."""

NOWHERE = 1e-9
"""A distance to the axes below this share of the largest to the barycentre is none."""

MEASURED = 2_000
"""Rows from which medians and ranges for the pictures of eigenfunctions are taken."""


def planes(subject: Subject, rows: Array) -> Iterator[Panel]:
    """Yield the planes of axes 1 and 2, and of the next two."""
    k = subject.axes
    pairs = [(0, 1)] if k == 2 else [(0, 1), (0, 2)] if k == 3 else [(0, 1), (2, 3)]
    if k == 0:
        return
    for pair in [(0, None)] if k == 1 else pairs:
        yield plane(subject, rows, pair)


def plane(subject: Subject, rows: Array, pair: tuple[int, int | None]) -> Panel:
    """Return the individuals on two axes, the best shown of them labelled."""
    i, j = pair
    x = subject.coordinates[:, i]
    y = np.zeros(len(x)) if j is None else subject.coordinates[:, j]
    used = [i] if j is None else [i, j]
    best = np.argsort(-subject.cos2(*used)[rows], kind="stable")[:LABELS]
    ranges = [float(np.ptp(v)) or 1.0 for v in (x, y)]
    is_equal = j is not None and max(ranges) <= EQUAL * min(ranges)
    title = (
        f"Individuals on axis {i + 1}" if j is None else f"Individuals, axes {i + 1} and {j + 1}"
    )
    return {
        "id": f"plane-{'-'.join(str(a + 1) for a in used)}",
        "kind": "plane",
        "title": title,
        "axes": list(pair),
        "labels": np.sort(best) if subject.has_names or len(rows) <= LABELS else best[:0],
        "equal": is_equal,
        "density": density(x, y) if len(rows) < len(x) else None,
        "caption": _plane_caption(subject, rows, used, is_equal),
    }


def _plane_caption(subject: Subject, rows: Array, used: list[int], is_equal: bool) -> str:
    parts = []
    if subject.shares is not None:
        share = float(np.sum(subject.shares[used]))
        them = "This axis carries" if len(used) == 1 else "These axes carry"
        parts.append(f"{them} {percent(share)} of the inertia.")
    if len(rows) < len(subject):
        colour = None if subject.table is None else subject.table.colour
        by = "" if colour is None else f" stratified by {clean(colour.name)}"
        parts.append(
            f"The shading is the density of all {count_of(len(subject), 'individual')}; the points "
            f"are a sample of {len(rows)}{by}."
        )
    if subject.passive is not None:
        count = count_of(len(subject.passive.names), "supplementary individual")
        parts.append(f"Hollow: {count}.")
    if subject.has_names and len(rows) > LABELS:
        parts.append(f"Labels: the {LABELS} best shown (largest cos2), where there is room.")
    if len(used) == 2 and not is_equal:
        parts.append("The two axes have different units of length.")
    return " ".join(parts)


def scree(subject: Subject, choices: dict[str, Choice]) -> Panel | None:
    """Return the shares of the axes beside those of permuted data and Kaiser's mean."""
    if subject.shares is None or subject.inertias is None or subject.axes == 0:
        return None
    shares = subject.shares[:SCREE]
    total = float(subject.inertias[0] / shares[0]) if shares[0] > 0 else 1.0
    horn, kaiser = choices.get("horn"), choices.get("kaiser")
    null: Array | None = None
    if isinstance(horn, ParallelAnalysis) and horn.null.size:
        null = horn.quantiles(1.0 - horn.level)[: len(shares)]
        null = null if horn.statistic == "share" else null * shares[0] / horn.observed[0]
    caption = ["Share of the inertia of each axis."]
    if null is not None and isinstance(horn, ParallelAnalysis):
        caption.append(
            f"Dashed: what {percent(1.0 - horn.level)} of permuted tables stay below on each axis."
        )
    mean = kaiser.mean / total if isinstance(kaiser, KaiserChoice) else None
    if mean is not None:
        caption.append("Dotted: the mean over all axes (Kaiser).")
    return {
        "id": "scree",
        "kind": "scree",
        "title": "Scree",
        "shares": shares,
        "null": null,
        "mean": mean,
        "written": _written(shares, null, mean),
        "caption": " ".join(caption),
    }


def _written(shares: Array, null: Array | None, mean: float | None) -> Array | None:
    """Return where the numbers of a scree stand, clear of its lines; None where bars are many."""
    if len(shares) > WRITTEN:
        return None
    lines = [] if null is None else [null]
    top = max(float(np.max(line)) for line in [shares, *lines])
    lines += [] if mean is None else [np.full(len(shares), mean)]
    return clear_of(lines, shares, HEADROOM * top)


def circle(subject: Subject) -> Panel | None:
    """Return the correlations of variables with the first two axes, within the unit circle."""
    variables = subject.variables
    if variables is None or subject.axes == 0:
        return None
    r = np.asarray(variables.correlations[:, :2], float)
    r = np.column_stack([r, np.zeros(len(r))]) if r.shape[1] == 1 else r
    known = np.flatnonzero(np.all(np.isfinite(r), axis=1))
    lengths = np.sum(r**2, axis=1)
    rows = known[np.argsort(-lengths[known], kind="stable")][:CIRCLE]
    is_linear = variables.deviations is not None
    caption = "Correlations of the variables with the axes."
    if not is_linear:
        caption += " Axes of this kernel are no combinations of variables: the arrows show how far"
        caption += " each variable alone follows an axis."
    if len(rows) < len(r):
        caption += f" The {len(rows)} longest of {len(r)} arrows."
    extra, dashed = _supplementary(subject)
    return {
        "id": "circle",
        "kind": "circle",
        "title": "Variables",
        "axes": [0, 1 if subject.axes > 1 else None],
        "names": [clean(variables.names[j]) for j in rows] + [clean(name) for name in dashed],
        "x": np.concatenate([r[rows, 0], extra[:, 0]]),
        "y": np.concatenate([r[rows, 1], extra[:, 1]]),
        "active": len(rows),
        "caption": caption + (" Dashed: supplementary variables." if dashed else ""),
    }


def supplementary_numbers(subject: Subject) -> dict[str, Array]:
    """Return the columns of numbers that the axes were not made of, where none is missing."""
    table = subject.table
    if table is None or not hasattr(subject.model, "supplementary"):
        return {}
    known = set() if subject.variables is None else set(subject.variables.names)
    passive = (c for c in table.columns() if c.role.value == "number" and c.name not in known)
    return {c.name: c.values for c in passive if np.all(np.isfinite(c.values)) and np.ptp(c.values)}


def _supplementary(subject: Subject) -> tuple[Array, list[str]]:
    columns = supplementary_numbers(subject)
    if not columns:
        return np.zeros((0, 2)), []
    found = subject.model.supplementary(variables=columns).variables
    r = np.asarray(found.correlations[:, :2], float)
    return (np.column_stack([r, 0.0 * r]) if r.shape[1] == 1 else r), list(found.names)


def bars(subject: Subject) -> Iterator[Panel]:
    """Yield the contributions of variables to the first axes, where variables contribute."""
    variables = subject.variables
    if variables is None or variables.weights is None:
        return
    for k in range(min(subject.axes, 2)):
        shares = np.nan_to_num(variables.contributions[:, k])
        rows = np.argsort(-shares, kind="stable")[:BARS]
        few = f" The {len(rows)} largest of {len(shares)}." if len(rows) < len(shares) else ""
        yield {
            "id": f"contributions-{k + 1}",
            "kind": "bars",
            "title": f"Contributions of variables to axis {k + 1}",
            "names": [clean(variables.names[j]) for j in rows],
            "values": shares[rows],
            "uniform": 1.0 / len(shares),
            "caption": f"Dashed: the share each would have if all contributed alike.{few}",
        }


def surfaces(subject: Subject, rows: Array) -> Iterator[Panel]:
    """Yield the first axes as functions of the two variables that follow them best."""
    points = getattr(subject.model, "X_fit_", None)
    variables = subject.variables
    if subject.kernel is None or variables is None or subject.kernel == Linear() or points is None:
        return
    data = np.asarray(points[: min(len(points), MEASURED)], float)
    chosen = _two_of(variables, data)
    ends = [(float(data[:, j].min()), float(data[:, j].max())) for j in chosen]
    margins = [0.05 * ((b - a) or 1.0) for a, b in ends]
    sides = [np.linspace(a - m, b + m, GRID) for (a, b), m in zip(ends, margins, strict=True)]
    grid = np.tile(np.median(data, axis=0), (GRID ** len(chosen), 1))
    for j, values in zip(chosen, np.meshgrid(*sides, indexing="xy"), strict=True):
        grid[:, j] = values.ravel()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the grid has no names, and needs none
            heights = np.asarray(subject.model.transform(grid), float)
    except MercerError:  # the kernel does not exist between the individuals
        return
    names = [clean(variables.names[j]) for j in chosen]
    others = "" if len(variables) <= 2 else " The other variables are at their medians."
    here = take(points, rows)
    for k in range(min(subject.axes, SURFACES)):
        yield {
            "id": f"function-{k + 1}",
            "kind": "curve" if len(chosen) == 1 else "surface",
            "title": f"Axis {k + 1} as a function of {' and '.join(names)}",
            "names": names,
            "axis": k,
            "sides": sides,
            "heights": heights[:, k].reshape((GRID,) * len(chosen)),
            "points": [np.asarray(here, float)[:, j] for j in chosen],
            "caption": f"Coordinate on axis {k + 1} of an individual with these values.{others}",
        }


def _two_of(variables: Variables, data: Array) -> Array:
    """Return the variable that the first axes follow best, and the best beside it.

    The second is weighted by what the first leaves of its variance: two names of one size would
    show a line of points and an empty plane.
    """
    strength = np.nan_to_num(np.sum(np.square(variables.correlations[:, :2]), axis=1))
    first = int(np.argmax(strength))
    if len(strength) == 1:
        return np.array([first])
    centred = data - data.mean(axis=0)
    norms = np.sqrt(np.sum(centred**2, axis=0))
    safe = np.where(norms > 0, norms, 1.0)
    r = centred.T @ centred[:, first] / (safe * safe[first])
    left = strength * np.maximum(1.0 - r**2, 0.0)
    left[first] = -1.0
    return np.array([first, int(np.argmax(left))])


def apart(subject: Subject, rows: Array) -> Panel | None:
    """Return the distances of individuals to the barycentre and to the space of the axes.

    Where the axes show everything, the distance is that to the plane of the first two.
    """
    rests, distances = subject.rests, subject.distances
    if distances is None or rests is None or subject.axes == 0:
        return None
    is_away = bool(np.max(rests) > NOWHERE * np.max(distances)) or subject.axes < 3
    if not is_away:
        rests = distances * np.sqrt(np.maximum(1.0 - subject.cos2(0, 1), 0.0))
    found = subject.model.outliers()
    count, much = len(found.rows), f"by more than {short(found.deviations)} standard deviations"
    which = f"the {count_of(count, 'individual')} whose distance or contribution exceeds"
    said = f"Ringed: {which} the mean {much}." if count else f"None exceeds the mean {much}."
    space = "where kernel values are inner products" if subject.kernel else "as analysed"
    return {
        "id": "apart",
        "kind": "apart",
        "title": "Individuals that stand apart",
        "outliers": found.rows,
        "heights": rests[rows],
        "up": "distance to the axes" if is_away else "distance to the first plane",
        "caption": f"Distances to the barycentre, and to what the axes show, {space}. {said}",
    }


def heat(subject: Subject) -> Panel | None:
    """Return the Gram matrix of some individuals, ordered by factor and first axis."""
    points, kernel = getattr(subject.model, "X_fit_", None), subject.kernel
    if kernel is None or points is None or subject.axes == 0:
        return None
    n = how_many(points)
    order = np.argsort(subject.coordinates[:, 0], kind="stable")
    colour = None if subject.table is None else subject.table.colour
    if colour is not None:
        levels = np.unique(labels_of(colour.values).astype(str), return_inverse=True)[1]
        order = order[np.argsort(levels[order], kind="stable")]
    rows = order[np.unique(np.linspace(0, n - 1, min(n, PIXELS)).round().astype(int))]
    if subject.is_precomputed:
        K = np.asarray(points)[np.ix_(rows, rows)]
    else:
        K = np.asarray(kernel(take(points, np.sort(rows))))
        back = np.argsort(np.argsort(rows))
        K = K[np.ix_(back, back)]
    by = "their first coordinate"
    by = by if colour is None else f"{clean(colour.name)}, then by {by}"
    some = "Individuals" if len(rows) == n else f"{len(rows)} of {n} individuals"
    return {
        "id": "gram",
        "kind": "heat",
        "title": "Gram matrix",
        "rows": rows,
        "heights": np.real(K),
        "caption": f"k(x, y) of pairs. {some}, in the order of {by}.",
    }


PANELS: tuple[Callable[[Subject, Array, dict[str, Choice]], Iterable[Panel | None]], ...] = (
    lambda subject, rows, choices: planes(subject, rows),
    lambda subject, rows, choices: [scree(subject, choices)],
    lambda subject, rows, choices: [circle(subject)],
    lambda subject, rows, choices: bars(subject),
    lambda subject, rows, choices: surfaces(subject, rows),
    lambda subject, rows, choices: [apart(subject, rows)],
    lambda subject, rows, choices: [heat(subject)],
)
"""What makes the panels of a page, in their order; the first of all stands in its summary."""


def all_panels(subject: Subject, rows: Array, choices: dict[str, Choice]) -> Iterator[Panel]:
    """Yield every panel that a model has."""
    for make in PANELS:
        yield from (panel for panel in make(subject, rows, choices) if panel is not None)
