"""What can mislead on a map, measured: each doubt with its place and its remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.missing import MISSING_LEVEL
from mercer.data.table import Column, Role, quote_names
from mercer.display import Shown, listing, percent, spaced
from mercer.errors import Advice
from mercer.kernels.base import Kernel
from mercer.reading.links import Scores
from mercer.reading.outliers import FEWEST_ROWS, makers_of

MOST = 0.5
"""The share of one column in all squared distances from which on it is most of them."""

OF_LEVELS, NEARLY = 2 / 3, 0.8
"""The share of a factor that is most of them, as each of its levels has one, and nearly all."""

FOLLOWED = 0.3
"""The correlation with the first axis from which on a column grows with it."""

BENT = 2 / 3
"""The share of an axis that a parabola in the first one explains, from which on it is an arch."""

RARE, OF_RARE = 0.05, 1 / 8
"""Rare levels: their share of individuals, and what they make of an axis that is told."""

NAMED = 3
"""Levels that a text names before it only counts."""

FAR, NEAR = 0.1, 0.95
"""Normalised kernel values: nine pairs of ten below the first are far, above the second near."""

SAMPLE = 300
"""Individuals whose pairs are looked at, evenly taken."""

ELLIPSE = 3
"""Members that an ellipse needs."""


@dataclass(frozen=True, repr=False)
class Doubt(Shown):
    """Something that misleads where it is seen.

    ``kind`` is a word to look for: column, arch, bandwidth, individual, axes, ellipses, time,
    missing, counts, codes, words, weights, samples, size, total, copies, rare. ``where`` names
    the axis, column or individual, ``advice`` what helps, ``map`` the straight or the curved map
    where it is seen on one, and ``brief`` what is seen there in few words. ``listed`` holds every
    name of a list of which the text gives the first three and counts the others.
    """

    facts: ClassVar[Mapping[str, str]] = {"text": "what is seen, and what to do", "where": "it is"}

    kind: str
    text: str
    where: str
    advice: Advice | None = None
    map: str = ""
    brief: str = ""
    listed: tuple[str, ...] = ()

    def _title(self) -> str:
        return f"Doubt ({self.kind}): {self.text}"

    @property
    def is_misleading(self) -> bool:
        """Whether the picture itself, rather than a reading of it, would mislead."""
        return self.kind in ("column", "arch", "bandwidth", "individual", "ellipses")


def curved_briefs(doubts: Iterable[Doubt]) -> str:
    """Return in few words what misleads on the curved map that stands beside a straight one.

    >>> bent = Doubt("arch", "...", "axis 2", map="curved", brief="axis 2 is an arch over axis 1")
    >>> curved_briefs([bent])
    'on the curved map axis 2 is an arch over axis 1'
    """
    found = "; ".join(doubt.brief for doubt in doubts if doubt.map == "curved")
    return f"on the curved map {found}" if found else ""


def doubts_of(
    model: Any, names: tuple[str, ...] | None, *, which: str, counted: float | None = None
) -> Iterator[Doubt]:
    """Yield what misleads on the axes of a fitted model.

    ``which`` says straight or curved where there are two maps, and nothing where there is one.

    ``counted`` is the total of a table of counts, whose sample are not its rows.
    """
    scores = Scores.of(model)
    yield from of_arch(scores, which)
    yield from of_individuals(scores, names, which)
    if scores.shares is not None:
        yield from of_axes(scores, which, counted)


def _map(which: str) -> str:
    return f"the {which} map" if which else "the map"


def of_columns(columns: Sequence[Column], remedy: Advice, *, scaled: bool) -> Iterator[Doubt]:
    """Yield the column whose squared deviations are most of the squared distances.

    ``remedy`` is what standardises numbers.
    """
    shares = inertia_shares(columns, scaled=scaled)
    name = max(shares, key=lambda key: shares[key], default="")
    if len(shares) < 2 or shares[name] < MOST or shares[name] * len(shares) < 1.5:
        return
    is_number = next(c for c in columns if c.name == name).role is Role.NUMBER
    if not is_number and shares[name] < OF_LEVELS:
        return
    other = remedy if is_number else Advice("supplementary", [name])
    does = "gives all columns the same weight" if is_number else "keeps it out of the axes"
    text = (
        f'the column "{name}" makes {percent(shares[name])} of the squared distances between '
        f"individuals, so the map shows {'little' if shares[name] >= NEARLY else 'not much'} else; "
        f"{other} {does}"
    )
    yield Doubt("column", text, name, other)


def inertia_shares(columns: Sequence[Column], *, scaled: bool) -> dict[str, float]:
    """Return the share of each column in the inertia: the squared distances it makes.

    Numbers have their variance, standardised ones 1; a category of m levels has m - 1.

    >>> small, large = np.array([0.0, 1.0]), np.array([0.0, 3.0])
    >>> numbers = [Column("a", Role.NUMBER, small), Column("b", Role.NUMBER, large)]
    >>> inertia_shares(numbers, scaled=False), inertia_shares(numbers, scaled=True)
    ({'a': 0.1, 'b': 0.9}, {'a': 0.5, 'b': 0.5})
    """
    sizes = {
        c.name: max(len(c.levels) - 1.0, 1.0)
        if c.role is not Role.NUMBER
        else 1.0
        if scaled
        else float(np.var(c.values))
        for c in columns
    }
    total = sum(sizes.values())
    return {name: size / total for name, size in sizes.items()} if total > 0 else {}


def of_size(scores: Scores, columns: Sequence[Column]) -> Iterator[Doubt]:
    """Yield that the first axis is the size of the individuals, with which all columns grow."""
    numbers = [c.values for c in columns if c.role is Role.NUMBER]
    if scores.shares is None or len(numbers) < ELLIPSE or scores.coordinates.shape[1] < ELLIPSE:
        return
    share = float(scores.shares[0])
    if share < MOST:
        return
    followed = scores.correlations(np.column_stack(numbers), slice(None))[:, 0]
    if abs(np.sign(followed).sum()) == len(numbers) and np.abs(followed).min() >= FOLLOWED:
        text = (
            f"all columns increase together along axis 1 ({percent(share)}), so it shows overall "
            "size or level; how individuals of the same size differ is on axes 2 and 3"
        )
        yield Doubt("size", text, "axis 1", map="straight")


def of_rare_levels(found: Any, counted: int | None = None) -> Iterator[Doubt]:
    """Yield the levels of few individuals that make much of an axis of the map together.

    Where a row stands for many, ``counted`` individuals are in all rows.

    >>> from mercer import MCA
    >>> table = {"a": [*"xyxyxyxyxyxyxyxyxyxyxyxyx"], "b": [*"uvuvuvuvuvuvuvuvuvuvuvuvw"]}
    >>> (doubt,) = of_rare_levels(MCA().fit(table).categories_)
    >>> doubt.text.partition(";")[0]
    'level "w" of "b" (1 individual) makes 92 % of axis 2, as what is rare lies far out'
    """
    total = int(found.total) if counted is None else counted
    holders = found.counts if counted is None else np.rint(counted * found.weights)
    few = np.flatnonzero(holders < min(FEWEST_ROWS, RARE * total))
    shares = found.contributions[few, :2]
    if not len(few) or shares.sum(axis=0).max() < OF_RARE:
        return
    k = int(np.argmax(shares.sum(axis=0)))
    order = few[np.argsort(-shares[:, k], kind="stable")]
    named = [
        f'"{found.levels[i]}" of "{found.variables_of[i]:.80}" '
        f"({int(holders[i])} individual{'' if holders[i] == 1 else 's'})"
        for i in order
    ]
    first, column = found.levels[order[0]], found.variables_of[order[0]]
    is_gap = first == MISSING_LEVEL
    other = Advice("missing", "drop") if is_gap else Advice("supplementary", [column])
    verb = "makes" if len(few) == 1 else "together make"
    text = (
        f"level{'' if len(few) == 1 else 's'} {listing(named, NAMED)} {verb} "
        f"{percent(float(shares[:, k].sum()))} of axis {k + 1}, as what is rare lies far out; "
        f"{other} {'leaves out such rows' if is_gap else 'keeps this column out of the axes'}"
    )
    yield Doubt("rare", text, column, other, "straight", listed=tuple(named))


def of_arch(scores: Scores, which: str) -> Iterator[Doubt]:
    """Yield the arch: a second axis that is a parabola of the first."""
    bend = arch(scores)
    if bend >= BENT:
        yield Doubt(
            "arch",
            f"on {_map(which)} axis 2 is an arch over axis 1 (a parabola explains "
            f"{percent(bend)} of it): the individuals follow one gradient, and axis 2 adds no "
            "second one",
            f"{which} axis 2".strip(),
            map=which,
            brief="axis 2 is an arch over axis 1",
        )


def arch(scores: Scores) -> float:
    """Return the share of axis 2 that a quadratic function of axis 1 explains.

    >>> t = np.linspace(-1.0, 1.0, 21)
    >>> bent = np.column_stack([t, t**2 - np.mean(t**2)])
    >>> round(arch(Scores(bent, np.full(21, 1 / 21), np.ones(2), 1.0, None, ())), 6)
    1.0
    """
    F, w = scores.coordinates, scores.weights
    if F.shape[1] < 2 or scores.count < FEWEST_ROWS:
        return 0.0
    first, second = F[:, 0] / scores.unit, F[:, 1] / scores.unit
    basis = np.column_stack([np.ones(len(first)), first, first**2])
    roots = np.sqrt(w)
    away = second - w @ second
    total = float(w @ away**2)
    if not total > 0:
        return 0.0
    fitted = basis @ np.linalg.lstsq(basis * roots[:, None], roots * away, rcond=None)[0]
    return max(1.0 - float(w @ (away - fitted) ** 2) / total, 0.0)


def of_individuals(scores: Scores, names: tuple[str, ...] | None, which: str) -> Iterator[Doubt]:
    """Yield individuals that make an axis of the first two alone."""
    F, w = scores.coordinates[:, :2] / scores.unit, scores.weights
    squares = w[:, None] * F**2
    total = squares.sum(axis=0)
    shares = squares / np.where(total > 0, total, 1.0)
    for i, k in makers_of(shares, scores.count):
        share = percent(float(shares[i, k]))
        name = str(i + 1) if names is None else names[i]
        # Labels of an array are indices, which begin at 0: who drops "row 6" must not drop 5.
        who = f"row {name} (counted from 1)" if names is None else f'"{name}"'
        apart = Advice("supplementary_rows", [name], text="setting it aside")
        does = "mainly shows how it differs from the rest"
        if shares[i, k] < MOST:
            does = "shows in large part how it differs from the rest"
        yield Doubt(
            "individual",
            f"{who} alone makes {share} of axis {k + 1} of {_map(which)}, so this axis {does}; "
            f"{apart} draws the map of the others",
            name,
            apart,
            which,
            f"{who} alone makes {share} of axis {k + 1}",
        )


def of_axes(scores: Scores, which: str, counted: float | None = None) -> Iterator[Doubt]:
    r"""Yield neighbouring axes that another sample could exchange.

    Two inertias are as good as equal where :math:`\lambda_k - \lambda_{k+1} < \lambda_k
    \sqrt{2/n}`, the standard error of the first (North et al., Monthly Weather Review 110, 1982).
    The sample of a table of counts is what was ``counted``.
    """
    values, n = scores.inertias, max(scores.count if counted is None else round(counted), 1)
    sample = f"{spaced(n)} individuals" if counted is None else f"a total of {spaced(n)}"
    near = [
        k
        for k in range(min(2, len(values) - 1))
        if values[k] - values[k + 1] < values[k] * np.sqrt(2.0 / n)
    ]
    if not near:
        return
    axes = listing([str(k + 1) for k in (*near, near[-1] + 1)])
    together = "two" if len(near) == 1 else "three"
    yield Doubt(
        "axes",
        f"axes {axes} of {_map(which)} are nearly equal in size: with {sample}, another sample "
        f"could swap or rotate them, so read the {together} together",
        f"{which} axes {axes}".strip(),
        map=which,
        brief=f"another sample could swap or rotate axes {axes}",
    )


def of_bandwidth(kernel: Kernel, points: Any, which: str = "curved") -> Iterator[Doubt]:
    """Yield a bandwidth under which all points are equally far, or the kernel is linear."""
    if len(points) < FEWEST_ROWS:
        return
    values = np.asarray(kernel(points))
    own = np.sqrt(np.maximum(np.diag(values), 0.0))
    if not np.all(own > 0) or np.ptp(own) > 1e-9 * own.max():
        return  # not a function of distances alone
    pairs = np.abs(values / np.outer(own, own))[np.triu_indices(len(values), 1)]
    rule = Advice("kernel", "gaussian(bandwidth='median')")
    if np.quantile(pairs, 0.9) < FAR:
        text = (
            "the bandwidth is so small that nearly all individuals are equally far apart, and the "
            f"axes pick out single ones; {rule} takes the median distance"
        )
    elif np.quantile(pairs, 0.1) > NEAR:
        text = (
            "the bandwidth is so large that the kernel is linear on these individuals, and its map "
            f"is the straight one; {rule} takes the median distance"
        )
    else:
        return
    yield Doubt("bandwidth", text, f"{which} kernel", rule, which, text.partition(",")[0])


def of_ellipses(column: Column | None) -> Iterator[Doubt]:
    """Yield the levels of the factor that colours which are too few for an ellipse."""
    if column is None:
        return
    counts = Counter(str(v) for v in column.values.tolist() if v is not None and v != MISSING_LEVEL)
    few = sorted(level for level, count in counts.items() if count < ELLIPSE)
    if few:
        have, named = "has" if len(few) == 1 else "have", [quote_names([name]) for name in few]
        yield Doubt(
            "ellipses",
            f'{listing(named, NAMED)} of "{column.name}" {have} fewer than {ELLIPSE} individuals, '
            "too few for an ellipse",
            column.name,
            listed=tuple(named),
        )


def even_rows(n: int) -> Array:
    """Return some rows of n, evenly taken."""
    return np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(int))
