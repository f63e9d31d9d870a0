"""Horn's parallel analysis: the axes of the data beside those of the same columns permuted."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array, chunks
from mercer.data.frames import as_frame
from mercer.dimension.column_permutations import Drawn, Rearrangements, as_permutations, is_given
from mercer.dimension.limits import Limits
from mercer.dimension.permuted_data import (
    WEIGHTED,
    FlippedSubject,
    LandmarkSubject,
    PermutedColumns,
    PermutedSource,
    source_of,
)
from mercer.dimension.rules import ROUNDING, Choice
from mercer.dimension.rules import axes as in_words
from mercer.errors import InvalidInput, InvalidParameter
from mercer.progress import Progress, follow_work
from mercer.resampling import PERMUTATIONS, Null, Resampling, is_decided
from mercer.settings import LEVEL, RandomState, first_axes, level_of, number, spelled, whole
from mercer.spectrum import leading

STATISTICS = ("eigenvalue", "share")

SAME_AXES = 1e-4
"""How far, relative to the first, a model's inertias may be from those of its data computed here:
single precision leaves less, and weights that matter leave more."""


@dataclass(frozen=True, eq=False, repr=False)
class ParallelAnalysis(Choice):
    """The axes of the data beside those of permuted data.

    ``observed`` holds the statistic of each axis and ``null`` that of each permutation, one row
    for each. ``p_values`` decide; ``raw_p_values``, #{null > observed}/R, can be 0 and promise too
    much. ``draws`` counts the permutations behind each p-value, of the ``asked`` ones. ``seed``
    repeats the draws, and is None for permutations that were given.

    >>> import mercer as mc
    >>> model = mc.PCA(standardize=True).fit(mc.datasets.decathlon())
    >>> found = mc.parallel_analysis(model, 99, random_state=0)
    >>> found.n_components, found.p_values[:2]
    (1, array([0.01, 0.07]))
    """

    facts: ClassVar[Mapping[str, str]] = {
        "n_components": "axes to keep",
        "is_decided": "whether the axes computed suffice",
        "observed": "the statistic of each axis",
        "p_values": "of each axis, never decreasing",
        "null": "the statistics of permuted data",
        "level": "at which axes are kept",
        "draws": "permutations that were drawn",
    }

    statistic: str
    level: float
    observed: Array
    null: Array
    p_values: Array
    raw_p_values: Array
    draws: Array
    asked: int
    seed: int | None

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each axis, with its p-value."""
        columns = {
            "axis": np.arange(1, len(self.observed) + 1),
            "observed": self.observed,
            "null_95": self.quantiles(),
            "p_value": self.p_values,
            "is_kept": np.arange(len(self.observed)) < self.n_components,
        }
        return as_frame(columns, library)

    @property
    def reached(self) -> Array:
        """How many permutations, of the ``draws`` of each axis, had one at least as large."""
        rows = np.arange(len(self.null))[:, None] < self.draws
        found: Array = np.sum(rows & (self.null >= _reached(self.observed)), axis=0)
        return found

    def quantiles(self, q: float = 0.95) -> Array:
        """Return the q-quantile of the null on each axis: the line beside a scree plot."""
        result: Array = np.quantile(self.null, q, axis=0)
        return result


@spelled
def parallel_analysis(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    data_or_model: Any,
    permutations: Any = PERMUTATIONS,
    *,
    kernel: Any = None,
    standardize: bool | None = None,
    statistic: str | None = None,
    level: float = LEVEL,
    axes: int | Sequence[int] | None = None,
    landmarks: int | None = None,
    counted: int | None = None,
    stop_after: int | None = None,
    risk: float | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> ParallelAnalysis:
    r"""Keep the axes that are larger than those of the same columns made independent.

    Each column is permuted by itself, R times, and the axes are computed anew:

    .. math:: p_k = \frac{1 + \#\{r : \lambda_k^{(r)} \ge \lambda_k\}}{R + 1}

    Axes are kept while p ≤ ``level``, up to the first that fails. The first p-value is exact under
    the independence of all columns, unless ``risk`` ends the sampling. From the second axis on the
    test still speaks only of this global independence, not of what is left beside the first axes;
    near a curved surface of few dimensions it is conservative.

    Parameters
    ----------
    data_or_model : table, table of several types, list of sets, or fitted model
        Of a model ``inertias_``, ``inertia_``, ``X_fit_``, ``weights_``, and ``kernel`` and
        ``kernel_`` or ``standardize`` are read; individuals of weight 0 are left out.
    permutations : int or array
        How many to draw, or an array R x n x p whose entry r, i, j is the row, counted from 0,
        from which entry i, j of the r-th table comes.
    kernel : Kernel, str or function, optional
        Test the axes of a kernel PCA. A rule for its bandwidth is applied to every table anew.
        Sets are permuted element by element: each stays in as many sets.
    standardize : bool, optional
        By default a table is standardised, but not under a kernel; a model knows its own.
    statistic : {"eigenvalue", "share"}, optional
        The inertia of an axis, or its share of the total, which varies under permutation when
        there is a kernel. By default shares for kernels and eigenvalues for tables.
    axes : int or sequence, optional
        How many axes to test. By default all, those of the model, or 10 for matrices of more than
        a thousand rows, which are never stored.
    landmarks : int, optional
        Of a kernel on more than 512 individuals the axes of Nyström's approximation on 256
        landmarks are tested, the same rows of every table, which takes a time linear in n. The
        p-values are exact for these; ``evidence`` says how far they are from the model's own.
        Give the number of landmarks, or that of the individuals for the whole matrix.
    counted : int, optional
        How many individuals stand in the rows of a model whose weights say how often each row was
        seen: they are shuffled one by one. Other unequal weights belong to values and are left
        where they are: signs are drawn in place of permutations (see `FlippedSubject`), and
        p-values hold in the limit of many rows.
    stop_after : int, optional
        Stop an axis after so many exceedances h, at the draw ℓ, with p = h/ℓ (Besag and Clifford,
        1991), and all sampling when every axis has stopped.
    risk : float, optional
        Stop all sampling once it is decided which axes are kept: more permutations, however many,
        would decide otherwise about an axis with at most this probability (Robbins, 1970). The
        p-values of the permutations made are then estimates, since when to stop depended on
        them; the decision is what is kept. By default all are made.
    random_state : int or generator, optional
        The seed; the r-th permutation depends on nothing else but r.
    threads : int, optional
        How many threads to use, by default one for each core. The result is the same.
    progress : bool or function, optional
        True for a line on the standard error, or a function that is called with how many
        permutations are done and how many there are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 1)) + 0.5 * rng.standard_normal((50, 4))
    >>> horn = parallel_analysis(X, 99, random_state=0)
    >>> horn.n_components, float(horn.p_values[0]), float(horn.raw_p_values[0])
    (1, 0.01, 0.0)

    Horn (1965); Yao, lecture 1.
    """
    level = level_of(level)
    if risk is not None and not 0.0 < number(risk, "risk") < 1.0:
        raise InvalidParameter(f"risk must be a number in (0, 1), found {risk!r}")
    fewest = None if landmarks is None else whole(landmarks, "landmarks", least=1)
    with follow_work(progress, "permutations") as tell:
        count = max(1, len(permutations)) if is_given(permutations) else permutations
        draws = Resampling.of(
            count, random_state, stop_after=stop_after, threads=threads, progress=tell
        )
        people = None if counted is None else whole(counted, "counted", least=1)
        source = source_of(data_or_model, kernel, standardize, people)
        source = source.approximated(fewest, draws.seed)
        p, n = source.subject.columns.shape
        sample = as_permutations(permutations, n, p, draws)
        measure = Measure(source.subject, _tested(axes, source), _named(statistic, source))
        observed = measure.observed()
        _refuse_weighted(source, measure, observed)
        settles = None if risk is None else Decided(level, risk)
        null = draws.null(measure.null(sample, draws), _reached(observed), settles)
    return _judged(
        measure, observed, null, sample, level, _approximation(source, measure, observed)
    )


@dataclass(frozen=True)
class Decided:
    """Whether it is known which axes are kept: all before the first that fails.

    >>> Decided(0.05, 0.01)(np.array([0, 30, 1]), 200), Decided(0.05, 0.01)(np.array([0, 3]), 40)
    (True, False)
    """

    level: float
    risk: float

    def __call__(self, counts: Array, drawn: int) -> bool:
        known = is_decided(counts, drawn, self.level, self.risk)
        fails = np.flatnonzero(known & (counts > self.level * drawn))
        return bool(np.all(known[: fails[0] if len(fails) else len(counts)]))


OF_SIGNS = "of signs, not places, for the rows have unequal weights"
"""How the evidence says that signs were drawn, which a page says in its own words."""


def _approximation(source: PermutedSource, measure: Measure, observed: Array) -> str:
    """Return in words what the axes that are tested approximate, and how well; empty if exact."""
    if isinstance(measure.subject, FlippedSubject):
        return OF_SIGNS
    if not isinstance(measure.subject, LandmarkSubject):
        return ""
    found = f"axes of {measure.subject.side} landmarks"
    if source.inertias is None or not len(source.inertias):
        return found
    known = source.inertias / (source.inertia if measure.statistic == "share" else 1.0)
    count = min(len(known), len(observed))
    away = float(np.max(np.abs(observed[:count] - known[:count])) / known[0])
    return f"{found}, within {100 * away:.2g} % of the first of those of the model"


def _judged(  # noqa: PLR0913  (what was found, and how)
    measure: Measure,
    observed: Array,
    found: Null,
    sample: Rearrangements,
    level: float,
    approximation: str,
) -> ParallelAnalysis:
    """Return the axes that are kept, and all that says so."""
    null, p_values, draws = found
    kept = first_failure(p_values, level)
    can_decide = 1.0 / (sample.count + 1) <= level
    return ParallelAnalysis(
        rule="horn",
        n_components=kept,
        evidence=_evidence(kept, found, level, sample, measure, approximation),
        is_decided=can_decide and (kept < len(observed) or kept == measure.subject.rank),
        statistic=measure.statistic,
        level=level,
        observed=observed,
        null=null,
        p_values=p_values,
        raw_p_values=np.mean(null > observed + _slack(observed), axis=0),
        draws=draws,
        asked=sample.count,
        seed=sample.seed if isinstance(sample, Drawn) else None,
    )


def _slack(observed: Array) -> float:
    """Return what rounding may do to a statistic that a permutation leaves as it is."""
    return ROUNDING * abs(float(observed[0]))


def _reached(observed: Array) -> Array:
    """Return the statistics from which on a permutation counts as at least as large."""
    return observed - _slack(observed)


@dataclass(frozen=True, eq=False)
class Measure:
    """The statistic of the first axes of a table and of its permutations."""

    limits: ClassVar[Limits] = Limits()

    subject: PermutedColumns
    axes: int
    statistic: str

    def observed(self) -> Array:
        """Return the statistic of the data as they are, by the arithmetic of the permuted ones."""
        columns = self.subject.columns
        if self.is_large:
            values, total = self._of_operator(columns)
        else:
            many, totals = self._of([columns])
            values, total = many[0], float(totals[0, 0])
        if total <= self.subject.noise:
            raise InvalidInput("the kernel sees no difference between the individuals: no inertia")
        return self._scaled(values, total)

    def null(self, sample: Rearrangements, draws: Resampling) -> Generator[Array, None, None]:
        """Yield the statistics of all permutations, a batch at a time."""
        if self.is_large:  # whose products have threads of their own
            buffer = np.empty_like(self.subject.columns)
            for r in range(sample.count):
                permuted = sample.apply(r, self.subject.columns, buffer)
                yield self._scaled(*self._of_operator(permuted))[None]
            return

        def work(piece: slice, stop: Event) -> Array:
            buffer = np.empty_like(self.subject.columns)
            numbers = (r for r in range(piece.start, piece.stop) if not stop.is_set())
            tables = (sample.apply(r, self.subject.columns, buffer) for r in numbers)
            return self._scaled(*self._of(tables))

        size = max(1, min(self.limits.batch, self.limits.batch_entries // self.subject.side**2))
        yield from draws.in_order(work, chunks(sample.count, size))

    @property
    def is_large(self) -> bool:
        """Whether the matrix is never stored."""
        return self.subject.side > self.limits.dense and 5 * self.axes <= self.subject.side

    def _of(self, tables: Iterable[Array]) -> tuple[Array, Array]:
        """Return the first inertias of each table, and their totals."""
        found = [self.subject.matrix(columns) for columns in tables]
        if not found:  # interrupted
            return np.zeros((0, self.axes)), np.ones((0, 1))
        stack = np.stack([matrix for matrix, _ in found])
        values = np.linalg.eigvalsh(stack)[:, ::-1][:, : self.axes]
        return values, np.array([[total] for _, total in found])

    def _of_operator(self, columns: Array) -> tuple[Array, float]:
        spectrum = leading(self.subject.operator(columns), self.axes, random_state=0)
        return spectrum.values, spectrum.trace

    def _scaled(self, values: Array, total: Any) -> Array:
        result: Array = values / total if self.statistic == "share" else values
        return result


def first_failure(p_values: Array, level: float) -> int:
    """Return how many axes come before the first whose p-value exceeds the level.

    >>> first_failure(np.array([0.01, 0.2, 0.01]), 0.05)
    1
    """
    fails = np.flatnonzero(p_values > level)
    return int(fails[0]) if len(fails) else len(p_values)


def _refuse_weighted(source: PermutedSource, measure: Measure, observed: Array) -> None:
    """Refuse a model whose axes are not those of its data with equal weights."""
    if source.inertias is None or isinstance(measure.subject, LandmarkSubject):
        return
    known = source.inertias / (source.inertia if measure.statistic == "share" else 1.0)
    count = min(len(known), len(observed))
    if np.any(np.abs(known[:count] - observed[:count]) > SAME_AXES * abs(observed[0])):
        raise InvalidInput(WEIGHTED)


def _tested(axes: int | Sequence[int] | None, source: PermutedSource) -> int:
    rank, side = source.subject.rank, source.subject.side
    if axes is not None:
        return min(first_axes(axes), rank, side)
    if source.inertias is not None:
        return min(max(len(source.inertias), 1), rank, side)
    is_whole = side <= Measure.limits.dense and not isinstance(source.subject, LandmarkSubject)
    return rank if is_whole else min(Measure.limits.first_axes, rank, side)


def _named(statistic: str | None, source: PermutedSource) -> str:
    if statistic is None:
        return "share" if source.is_kernel else "eigenvalue"
    if statistic not in STATISTICS:
        raise InvalidParameter(f"statistic must be 'eigenvalue' or 'share', found {statistic!r}")
    return statistic


def _evidence(  # noqa: PLR0913  (what was found, and how)
    kept: int,
    found: Null,
    level: float,
    sample: Rearrangements,
    measure: Measure,
    approximation: str,
) -> str:
    _, p_values, draws = found
    tested, asked = len(p_values), sample.count
    if 1.0 / (asked + 1) > level:
        needed = int(np.ceil(1.0 / level - ROUNDING)) - 1
        return (
            f"{asked} permutations cannot tell: no p-value can be as small as {level:g}; at least "
            f"{needed} are needed"
        )
    parts = [f"the largest p is {p_values[:kept].max():.3g}"] if kept else []
    if kept < tested:
        parts.append(f"axis {kept + 1} has p = {p_values[kept]:.3g}")
    unknown = kept == tested < measure.subject.rank
    count = f"at least {in_words(kept)}, all that were tested" if unknown else in_words(kept)
    made = int(draws.max())
    is_counted = getattr(sample, "stop_after", None) is not None
    early = "stopped early by Besag and Clifford" if is_counted else "which decided"
    how = f"{made} permutations" + (f" of {asked}, {early}" if made < asked else "")
    conditions = f"{how}, by {measure.statistic}, level {level:g}"
    conditions += f"; {approximation}" if approximation else ""
    scope = "; from the second axis on the test speaks only of the independence of all columns"
    return f"{count}: {', '.join(parts)} ({conditions})" + (scope if tested > 1 else "")
