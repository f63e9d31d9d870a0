"""Links of variables and categories with axes, as values that put themselves into words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown, clean, column_name, listing, percent, short
from mercer.errors import InvalidInput
from mercer.estimator import require_fit
from mercer.reading.contributions_and_v_tests import Categories, correlations, scatters

CLOSE = 0.5
"""Variables whose correlation with an axis is at least this describe it."""

NAMED = 5
"""Variables named on each side of an axis, and categories of a factor away from the centre."""

SAID, ON_A_SIDE = 3, 3
"""Factors beyond chance of which a sentence says where categories lie, and how many on a side."""


@dataclass(frozen=True, slots=True)
class Link:
    """A variable or a category, and how it is linked with an axis.

    ``measure`` says what ``value`` is: the "correlation" of a number, the share "eta2" of the axis
    that the categories of a factor account for, or the "v_test" of a category. ``corrected`` is
    the p-value after correction for the number of tests.
    """

    variable: str
    category: str | None
    measure: str
    value: float
    p_value: float
    is_active: bool
    corrected: float = 1.0


@dataclass(frozen=True, repr=False)
class AxisDescription(Shown):
    """One axis, or the space of several with one inertia, and all that was tested with it.

    ``axes`` are counted from 1, ``share`` is that of the inertia. Not ``is_whole`` is an axis whose
    inertia is also that of one beyond those computed.
    """

    axes: tuple[int, ...]
    share: float | None
    is_whole: bool
    links: tuple[Link, ...]
    level: float

    def _title(self) -> str:
        return self.title

    def _shown(self) -> Iterator[tuple[str, str, str]]:
        return ((str(k), text, "") for k, text in enumerate(self.sentences, start=1))

    @property
    def is_plane(self) -> bool:
        """Whether several axes are read together."""
        return len(self.axes) > 1

    @property
    def title(self) -> str:
        """The axes and their share of the inertia."""
        words = listing([str(k) for k in self.axes])
        share = "" if self.share is None else f" ({percent(self.share)} of the inertia)"
        return f"Ax{'e' if self.is_plane else 'i'}s {words}{share}"

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What a person reads: the links that chance would seldom make, closest first."""
        first = [link for link in self.links if link.measure == "correlation"]
        factors = [link for link in self.links if link.measure == "eta2"]
        factors.sort(key=lambda link: -link.value)
        beyond = [a for a in factors if a.corrected <= self.level]
        others = [a for a in factors if a.corrected > self.level]
        found = [self._on_space(), *self._on_numbers(first), self._on_weak(first)]
        found += [*map(self._on_factor, beyond[:SAID]), self._on_further(beyond[SAID:])]
        found += [self._on_others(others)]
        return tuple(text for text in found if text)

    def _on_space(self) -> str:
        if self.is_plane:
            kind = "plane" if len(self.axes) == 2 else "space"
            return f"They are equal in size: only the {kind} they span together has a meaning."
        if not self.is_whole:
            return "An axis beyond those computed is equal to it in size: ask for one more."
        return ""

    def _on_numbers(self, links: list[Link]) -> list[str]:
        links = sorted(links, key=lambda link: -abs(link.value))
        if not links:
            return []
        close = [a for a in links if a.corrected <= self.level and abs(a.value) >= CLOSE]
        if not close:
            few = f"No variable has a correlation beyond ±{CLOSE}"
            few = few if abs(links[0].value) < CLOSE else "No variable goes beyond chance"
            return [f"{few}; the closest is {self._named(links[0])}."]
        if self.is_plane:
            verb = "varies" if len(close) == 1 else "vary"
            return [f"Along it {verb} {listing([self._named(a) for a in close], NAMED)}."]
        sides = [[self._named(a) for a in close if a.value * sign > 0] for sign in (1, -1)]
        verbs = zip(("rises", "falls"), sides, strict=True)
        return [f"It {verb} with {listing(side, NAMED)}." for verb, side in verbs if side]

    def _on_weak(self, links: list[Link]) -> str:
        """Name what did not make the axes and is linked with them all the same, if not closely."""
        weak = [a for a in links if a.corrected <= self.level and abs(a.value) < CLOSE]
        weak = sorted((a for a in weak if not a.is_active), key=lambda link: -abs(link.value))
        if not weak:
            return ""
        whose = "them" if self.is_plane else "it"
        words = [self._named(a) for a in weak]
        return f"Linked with {whose} beyond chance, yet weakly: {listing(words, NAMED)}."

    def _named(self, link: Link) -> str:
        has_active = any(other.is_active for other in self.links)
        mark = "" if link.is_active or not has_active else "supplementary, "
        letter = "R" if self.is_plane else "r"
        return f"{column_name(link.variable)} ({mark}{letter} = {short(link.value)})"

    def _on_factor(self, factor: Link) -> str:
        said = f"{column_name(factor.variable)} accounts for {percent(factor.value)} of "
        said += "their variance" if self.is_plane else "its variance"
        mine = [a for a in self.links if a.category is not None and a.variable == factor.variable]
        far = sorted(
            (a for a in mine if a.corrected <= self.level), key=lambda link: -abs(link.value)
        )
        if not far:
            return f"{said}."
        if self.is_plane:
            words = [f"{clean(a.category)} (v = {short(a.value)})" for a in far]
            return f"{said}: away from the centre {_lie(far)} {listing(words, NAMED)}."
        sides = [[a for a in far if a.value * sign > 0] for sign in (1, -1)]
        texts = [
            f"on the {name} side {_lie(side)} "
            + listing([f"{clean(a.category)} (v = {short(a.value)})" for a in side], ON_A_SIDE)
            for side, name in zip(sides, ("positive", "negative"), strict=True)
            if side
        ]
        return f"{said}: {', '.join(texts)}."

    def _on_further(self, factors: list[Link]) -> str:
        return f"Less, yet beyond chance: {self._shares_of(factors)}." if factors else ""

    def _on_others(self, factors: list[Link]) -> str:
        whose = "them" if self.is_plane else "it"
        said = f"Not linked with {whose} beyond chance"
        return f"{said}: {self._shares_of(factors)}." if factors else ""

    def _shares_of(self, factors: list[Link]) -> str:
        words = [
            f"{column_name(a.variable)} ({percent(a.value)} of its variance)" for a in factors[:1]
        ]
        words += [f"{column_name(a.variable)} ({percent(a.value)})" for a in factors[1:]]
        return listing(words, NAMED)


def _lie(links: list[Link]) -> str:
    return "lies" if len(links) == 1 else "lie"


@dataclass(frozen=True, eq=False, repr=False)
class AxesDescription(Shown):
    """The columns that characterise each axis.

    ``axes`` holds one `AxisDescription` for each, ``notes`` says how to read them, and ``seed``
    repeats the permutations if there were any. ``str()`` gives all sentences, `table` all tests.

    >>> import mercer as mc
    >>> found = mc.describe_axes(mc.PCA(1, standardize=True).fit(mc.datasets.decathlon()))
    >>> str(found).splitlines()[2]
    '  It falls with 100m (r = −0.775), 110m.hurdle (r = −0.746) and 400m (r = −0.68).'
    """

    axes: tuple[AxisDescription, ...]
    correction: str | None
    level: float
    notes: tuple[str, ...]
    library: str | None = None
    seed: int | None = None

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """All sentences, those of an axis after its title."""
        return tuple(text for axis in self.axes for text in (f"{axis.title}.", *axis.sentences))

    def __str__(self) -> str:
        blocks = ["\n  ".join([axis.title, *axis.sentences]) for axis in self.axes]
        return "\n".join([*(blocks or ["There are no axes to describe."]), *self.notes])

    def _title(self) -> str:
        tests = sum(len(axis.links) for axis in self.axes)
        return f"AxesDescription: {len(self.axes)} axes or planes, {tests} tests"

    def _shown(self) -> Iterator[tuple[str, str, str]]:
        for axis in self.axes:
            yield axis.title, f"{len(axis.links)} tests", next(iter(axis.sentences), "")

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each axis and variable or category.

        A space of several axes is named by all of them, as in "2-3"; its correlation is the
        multiple one.
        """
        rows = [("-".join(map(str, a.axes)), link) for a in self.axes for link in a.links]
        texts = {
            "axis": [axis for axis, _ in rows],
            "variable": [link.variable for _, link in rows],
            "category": [link.category or "" for _, link in rows],
            "measure": [link.measure for _, link in rows],
        }
        numbers = {
            "value": [link.value for _, link in rows],
            "p_value": [link.p_value for _, link in rows],
            "corrected_p_value": [link.corrected for _, link in rows],
        }
        columns = {name: np.array(column, dtype=object) for name, column in texts.items()}
        columns |= {name: np.array(column, dtype=np.float64) for name, column in numbers.items()}
        return as_frame(columns, library or self.library)


def notes_on(
    axes: tuple[AxisDescription, ...],
    correction: str | None,
    level: float,
    permutations: int | None = None,
) -> tuple[str, ...]:
    """Return what a reader must know: the words and letters used, the correction, its limits."""
    links = [link for axis in axes for link in axis.links]
    said = " ".join(text for axis in axes for text in axis.sentences)
    notes = []
    if any(axis.share is not None for axis in axes):
        notes.append("Inertia: the mean squared distance of the individuals from their centre.")
    if "(r = " in said or ", r = " in said:
        notes.append("r: correlation with the axis, from −1 to 1.")
    if "(R = " in said or ", R = " in said:
        notes.append("R: correlation with the closest direction of the plane, from 0 to 1.")
    if "(v = " in said:
        notes.append(
            "v: distance of the group's mean from the centre, in standard deviations of the means "
            "of groups of its size drawn at random."
        )
    if "supplementary, " in said:
        notes.append("Supplementary: not used to make the axes.")
    if links:
        tests = [sum(link.is_active is kind for link in links) for kind in (False, True)]
        notes.append(
            f"Beyond chance: chance alone makes a link as close with probability p ≤ {level:g}"
            f"{_by(correction, *tests)}."
        )
        if permutations is not None and tests[0]:
            joint = " together, which replace that rule" if correction == "holm" else ""
            notes.append(
                f"The p-values of what did not make the axes come from {permutations} permutations "
                f"of the individuals{joint}."
            )
    if any(link.is_active for link in links):
        notes.append(
            "The p-values of variables that made the axes say how close a link is, not whether "
            "there is one: even noise is linked with axes made of it."
        )
    return tuple(notes)


def _by(correction: str | None, others: int, active: int) -> str:
    rule = {"holm": "Holm", "benjamini-hochberg": "Benjamini and Hochberg"}.get(correction or "")
    if rule is None:
        return ""
    if not others or not active:
        count = others + active
        return f", corrected for {count} test{'' if count == 1 else 's'} by the rule of {rule}"
    counts = f"{active} of variables that made the axes, and apart {others} of others"
    return f", corrected for the number of tests ({counts}) by the rule of {rule}"


@dataclass(frozen=True)
class Space:
    """Axes that are read together, counted from 0; not whole where one of them is not known."""

    axes: tuple[int, ...]
    share: float | None
    is_whole: bool = True


def seen_in(weights: Array, counted: int | None) -> Array:
    """Return how many individuals stand in each row: one where it has a weight, or its share.

    >>> seen_in(np.array([0.7, 0.3, 0.0]), 10), seen_in(np.array([0.7, 0.3, 0.0]), None)
    (array([7, 3, 0]), array([1, 1, 0]))
    """
    counts = weights > 0 if counted is None else np.rint(counted * weights)
    return np.asarray(counts, dtype=int)


@dataclass(frozen=True, eq=False)
class Scores:
    """The coordinates of individuals on axes, with what is needed to test links with them.

    ``counted`` is given where a row stands for many individuals: how many were counted in all, of
    whom each row's weight is its share.
    """

    coordinates: Array
    weights: Array
    inertias: Array
    unit: float
    shares: Array | None
    clusters: tuple[tuple[int, ...], ...]
    counted: int | None = None

    @classmethod
    def of(cls, model: Any) -> Scores:
        """Read a fitted model with axes, or the map of one without inertias."""
        clusters = getattr(getattr(model, "spectrum_", None), "clusters", ())
        if not hasattr(model, "embedding_") and hasattr(model, "individuals_"):
            found = model.individuals_
            shares = np.asarray(model.explained_variance_ratio_)
            scores = cls(
                found.coordinates, found.weights, found.inertias, found.unit, shares, clusters
            )
        elif hasattr(model, "embedding_"):
            F = np.asarray(model.embedding_, dtype=np.float64)
            weights = np.asarray(getattr(model, "_weights", np.full(len(F), 1.0 / len(F))))
            unit = float(np.abs(F).max(initial=0.0)) or 1.0
            F = F - weights @ F
            scores = cls(F, weights, weights @ (F / unit) ** 2, unit, None, clusters)
        else:
            if hasattr(model, "fit"):
                require_fit(model)
            raise InvalidInput(f"{type(model).__name__} has no individuals on axes to describe")
        if np.iscomplexobj(scores.coordinates):
            raise InvalidInput(
                "the coordinates are complex and have no order; the real part of the kernel is a "
                "kernel too, with real ones"
            )
        return scores

    def spaces(self, count: int) -> list[Space]:
        """Return the first axes, those of one inertia together."""
        kept = self.coordinates.shape[1]
        together = {k: tuple(i for i in c if i < kept) for c in self.clusters for k in c}
        found: list[Space] = []
        for k in range(min(count, kept)):
            axes = together.get(k, (k,))
            if not any(k in space.axes for space in found):
                share = None if self.shares is None else float(np.sum(self.shares[list(axes)]))
                found.append(Space(axes, share, is_whole=k not in together or len(axes) > 1))
        return found

    @property
    def count(self) -> int:
        """How many individuals have a weight, or were counted."""
        return self.individuals(slice(None))

    def individuals(self, rows: Any) -> int:
        """Return how many individuals stand in some rows."""
        some = self.weights[rows]
        if self.counted is None:
            return int(np.sum(some > 0))
        return round(self.counted * float(np.sum(some)))

    def one_by_one(self) -> tuple[Scores, Array]:
        """Return scores with a row for each individual that was counted, and its row here."""
        if self.counted is None:
            return self, np.arange(len(self.weights))
        seen = seen_in(self.weights, self.counted)
        rows = np.repeat(np.arange(len(seen)), seen)
        weights = np.full(len(rows), 1.0 / len(rows))
        return replace(
            self, coordinates=self.coordinates[rows], weights=weights, counted=None
        ), rows

    def shuffled(self, rng: np.random.Generator) -> Scores:
        """Return the same individuals in another order, those without weight in their places."""
        active = np.flatnonzero(self.weights > 0)
        order = np.arange(len(self.weights))
        order[active] = rng.permutation(active)
        return replace(self, coordinates=self.coordinates[order], weights=self.weights[order])

    def effective(self, axes: list[int], known: Array | None = None) -> float:
        r"""Return how many individuals of equal weight say as much of q axes as these do.

        .. math:: M = q \Big/ \sum_k \frac{\sum_i w_i^2 F_{ik}^2}{\sum_i w_i F_{ik}^2}

        1/M is the variance of the correlation of an axis with what is drawn independently of it:
        of equal weights 1/N, and so of those that say how often each row was seen.

        >>> F = np.array([[1.0], [-1.0], [1.0], [-1.0]])
        >>> few = Scores(F, np.array([0.4, 0.4, 0.1, 0.1]), np.ones(1), 1.0, None, ())
        >>> round(few.effective([0]), 3)
        2.941
        """
        some = slice(None) if known is None else known
        if self.counted is not None:
            return float(self.individuals(some))
        w, F = self.weights[some], self.coordinates[some][:, axes] / self.unit
        F = F - w @ F / w.sum()
        squares = w @ F**2
        ratios = (w**2 @ F**2) / np.where(squares > 0, squares, 1.0)
        total = float(np.sum(ratios)) / float(w.sum())
        return len(axes) / total if total > 0 else 0.0

    def correlations(self, values: Array, known: Array | slice) -> Array:
        """Return the correlations of columns, over the individuals whose values are known."""
        weights = self.weights[known]
        r, _ = correlations(values[known], self.coordinates[known], weights / weights.sum())
        return r

    def categories(self, name: str, labels: Array) -> Categories:
        """Return the categories of a factor that individuals with a weight have."""
        levels = sorted({str(v) for v in labels[self.weights > 0]})
        members = np.column_stack([labels == level for level in levels]).astype(np.float64)
        weights = self.weights @ members
        counts = members[self.weights > 0].sum(axis=0)
        if self.counted is not None:
            counts = np.rint(self.counted * weights)
        return Categories(
            coordinates=(self.weights[:, None] * members / weights).T @ self.coordinates,
            squared_distances=np.zeros(len(levels)),
            levels=tuple(levels),
            variables_of=(name,) * len(levels),
            counts=counts.astype(int),
            weights=weights,
            inertias=self.inertias,
            total=self.count,
            unit=self.unit,
            scatters=None
            if self.counted is not None
            else scatters(self.coordinates, self.weights, self.unit),
        )
