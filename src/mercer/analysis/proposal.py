"""Which analysis fits a table: the rule, what it makes of each column, and the model."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.analysis.choice import NAMES, Made, is_scaled, rule, sentence_of, standardise_kernel
from mercer.analysis.columns import (
    CUT,
    GAPS,
    Fate,
    counted_columns,
    in_order,
    is_identifier,
    name_fates,
    sorted_out,
    unless_active,
    with_names,
)
from mercer.analysis.copies import classes_of_numbers, copies_doubt, doubt_of_classes
from mercer.analysis.data_doubts import (
    codes_doubt,
    column_doubts,
    counts_doubt,
    guess_doubt,
    imputed_doubt,
    profiles_doubt,
    samples_doubt,
    words_doubt,
)
from mercer.analysis.doubts import Doubt
from mercer.analysis.guesses import (
    guesses_of,
    named_by_categories,
    named_by_years,
    total_doubt,
    with_codes,
)
from mercer.check import Array, worst_asymmetry
from mercer.data.files import read
from mercer.data.frames import rows as as_rows
from mercer.data.imputation import Imputation
from mercer.data.matrices import WRITTEN_ASYMMETRY, SquareMatrix, as_square
from mercer.data.missing import settled
from mercer.data.sequences import Sequences
from mercer.data.table import Column, Role, Table, quote_names
from mercer.display import listing
from mercer.errors import Advice, InvalidInput, InvalidParameter
from mercer.estimator import PRECOMPUTED, as_kernel
from mercer.factorial import CA, FAMD, MCA
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian
from mercer.kernels.strings import WORD, StringSpectrum
from mercer.kernels.tables import columns_read
from mercer.mds import ClassicalMDS, StressMDS
from mercer.pca import PCA, KernelPCA

FEW_NAMED = 6
"""Columns that a sentence names."""

STRAIGHT = ("pca", "mca", "famd", "ca")
"""Analyses beside whose map a curved one stands."""

AXES, MAP = 10, 2
"""Axes that are computed, and the dimension of a map, where nothing is asked for."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """An analysis of data before it is made: which, of which columns, and why.

    ``points`` is what its model is fitted on: a table with the columns in their roles, or a matrix
    of pairs. ``advice`` are the parameters of which the ``sentence`` speaks. ``identifiers``
    are the columns of numbers that became names, ``codes`` those that became factors, and
    ``weighted_by`` is the one that says how often each row was seen, which are the ``weights``.
    """

    analysis: str
    points: Any
    scaled: bool
    fates: tuple[Fate, ...]
    doubts: tuple[Doubt, ...]
    sentence: str
    advice: tuple[Advice, ...]
    kernel: Kernel | str | None = None
    is_alone: bool = False
    identifiers: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    weighted_by: str | None = None
    weights: Array | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)

    def used_as(self, use: str) -> list[str]:
        """Return the columns of a use: active, supplementary, name or ignored."""
        return [fate.name for fate in self.fates if fate.use == use]

    @property
    def named_by(self) -> str | None:
        """The column that names the rows."""
        return next(iter(self.used_as("name")), None)

    @property
    def counted(self) -> int | None:
        """How many individuals were counted, where a column says how often each row was seen."""
        if self.weighted_by is None or self.weights is None:
            return None
        return round(float(self.weights.sum()))

    @property
    def reads_rows(self) -> bool:
        """Whether the model reads columns of several types."""
        is_kernel = isinstance(self.kernel, Kernel) and self.kernel.reads_rows
        return self.analysis in ("mca", "famd") or is_kernel

    def placed(self, table: Table) -> Table:
        """Return other rows of the same columns as the model reads them."""
        for name in self.identifiers:
            table = with_names(table, name)
        table = with_codes(table, self.codes)
        table = table.without(set(table.names) - set(self.points.names))
        return table.with_supplementary(*self.points.supplementary)

    @property
    def active(self) -> tuple[str, ...]:
        """The columns that make the axes."""
        return tuple(self.used_as("active"))

    @property
    def most_axes(self) -> int:
        """How many axes there can be."""
        n = len(self.points)
        if self.analysis in ("mds", "stress", "kpca"):
            return max(n - 1, 1)
        table: Table = self.points
        if self.analysis == "pca":
            return max(min(n - 1, len(self.active)), 1)
        if self.analysis == "ca":
            return max(min(n, len(self.active)) - 1, 1)
        columns = {c.name: c for c in table.columns()}
        sizes = [_features(columns[name]) for name in self.active]
        return max(min(n - 1, sum(sizes)), 1)

    @property
    def usual_axes(self) -> int:
        """How many axes are found where no number is asked for."""
        return MAP if self.analysis in ("mds", "stress") else min(AXES, self.most_axes)

    def model(self, n_components: int | None = None, **options: Any) -> Any:
        """Return the model that is read, not yet fitted; ``options`` are those of its class."""
        count = self.usual_axes if n_components is None else n_components
        if self.analysis == "pca":
            return PCA(count, standardize=self.scaled)
        if self.analysis == "ca":
            return CA(count)
        if self.analysis in ("mca", "famd"):
            return (MCA if self.analysis == "mca" else FAMD)(count, missing="level")
        if self.analysis == "kpca":
            return KernelPCA(count, kernel=self.kernel or Gaussian("median"), **options)
        metric = "precomputed" if isinstance(self.points, SquareMatrix) else "euclidean"
        kind = ClassicalMDS if self.analysis == "mds" else StressMDS
        return kind(count, **{"metric": metric, **options})

    def curved_kernel(
        self, model: Any, weights: Array | None = None, kernel: Kernel | None = None
    ) -> Kernel | None:
        """Return the Gaussian of the distance that the straight model measures, None without one.

        Of standardised numbers it is the Gaussian of standardised columns, of factors and counts
        that of the kernel of their analysis. Its bandwidth is the median distance. ``kernel`` is
        one that was asked for in its place.
        """
        if kernel is None and self.is_alone:
            return None
        if self.analysis not in STRAIGHT:
            return None
        given = Gaussian("median") if kernel is None else kernel
        if self.analysis == "pca":
            return standardise_kernel(given, self.points.matrix(), weights, self.scaled)
        found = given.of_features(model.kernel_)
        if found is None:
            raise InvalidParameter(
                f"the curved map of {NAMES[self.analysis]} is that of the Gaussian of its "
                f"distance, and {given} is no Gaussian: give gaussian(bandwidth=...)"
            )
        return found


def _features(column: Column) -> int:
    return 1 if column.role is Role.NUMBER else max(len(column.levels) - 1, 1)


def propose(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    data: Any,
    *,
    method: str | None = None,
    kernel: Kernel | str | None = None,
    scale: bool | None = None,
    active: Iterable[str] = (),
    supplementary: Iterable[str] = (),
    missing: Any = "error",
    weights: Array | None = None,
) -> Proposal:
    """Return the analysis that fits data, or the one that was asked for, not yet made."""
    method = _known(method)
    points = _read(data, missing)
    if len(points) == 1:
        raise InvalidInput("a map needs at least 2 rows, and there is only 1 individual")
    named, beside = tuple(active), tuple(supplementary)
    asked: dict[str, Any] = {"method": method, "kernel": kernel, "scale": scale}
    asked |= {"active": named or None, "supplementary": beside or None}
    if isinstance(points, SquareMatrix):
        found = _of_pairs(points, method, kernel)
    elif isinstance(points, Sequences):
        found = _of_sequences(points, method, kernel)
    else:
        aside = points.supplementary - set(named)
        table = replace(points, supplementary=aside).with_supplementary(*beside)
        found = _of_table(table, method, kernel, scale, weights, frozenset(named))
    return replace(found, asked={k: v for k, v in asked.items() if v is not None})


def _known(method: str | None) -> str | None:
    if method is None:
        return None
    found = str(method).lower()
    if found not in NAMES:
        raise InvalidParameter(f"method must be one of {', '.join(NAMES)}, found {method!r}")
    return found


def _read(data: Any, missing: Any) -> Table | SquareMatrix | Sequences:
    if isinstance(data, Table):
        return data if missing == "error" else settled(data, missing)
    if isinstance(data, SquareMatrix | Sequences):
        return data
    if isinstance(data, Imputation):
        data = data.values
    if isinstance(data, np.ndarray) and _is_of_pairs(data):
        names = tuple(map(str, range(len(data))))
        columns = {name: data[:, j] for j, name in enumerate(names)}
        return as_square(Table.of(columns, row_names=names))
    found = read(data, missing=missing)
    if not isinstance(found, Table | SquareMatrix | Sequences):
        raise InvalidInput(
            "an analysis is chosen for a table, a matrix of pairs or sequences, found "
            f"{type(found).__name__}"
        )
    return found


def _is_of_pairs(values: Array) -> bool:
    """Whether an array is symmetric, as tables by chance are not."""
    is_square = values.ndim == 2 and values.shape[0] == values.shape[1] > 2
    return (
        is_square and values.dtype.kind in "iuf" and worst_asymmetry(values)[0] <= WRITTEN_ASYMMETRY
    )


def _of_pairs(points: SquareMatrix, method: str | None, kernel: Any) -> Proposal:
    if kernel is not None:
        raise InvalidParameter("kernel is for data, and these are pairs of individuals already")
    are_distances = points.is_distance
    allowed = ("mds", "stress") if are_distances else ("kpca",)
    chosen = method or allowed[0]
    what = "distances" if are_distances else "similarities"
    if chosen not in allowed:
        ways = " or ".join(repr(way) for way in allowed)
        raise InvalidParameter(f"these are {what} of individuals: method is {ways}, not {method!r}")
    other = Advice("method", "stress")
    if are_distances:
        sentence = (
            f"The table holds distances between {len(points)} points: {NAMES[chosen]} maps them"
            + (f"; {other} cares more that close ones stay close." if chosen == "mds" else ".")
        )
    else:
        sentence = (
            f"The table holds similarities between {len(points)} points: {NAMES[chosen]} of them "
            "as they are."
        )
    precomputed = None if are_distances else PRECOMPUTED
    return Proposal(
        chosen, points, False, (), (), sentence, (other,), precomputed, method is not None
    )


def _of_sequences(points: Sequences, method: str | None, kernel: Kernel | str | None) -> Proposal:
    if method not in (None, "kpca"):
        raise InvalidParameter(f"these are sequences: method is 'kpca', not {method!r}")
    given = StringSpectrum(min(WORD, points.lengths[0])).normalised()
    used = given if kernel is None else as_kernel(kernel)
    other = Advice("kernel", "…")
    said = f"{NAMES['kpca']} with {used}"
    sentence = f"The file holds {len(points)} sequences: {said}; {other} compares them otherwise."
    return Proposal("kpca", points, False, (), (), sentence, (other,), used, kernel is not None)


def _of_table(  # noqa: PLR0913  (what was asked for)
    table: Table,
    method: str | None,
    kernel: Kernel | str | None,
    scale: bool | None,
    weights: Array | None,
    variables: frozenset[str] = frozenset(),
) -> Proposal:
    given = None if kernel is None else as_kernel(kernel)
    if given is not None and method not in (None, "kpca"):
        right, wrong = Advice("method", "kpca"), Advice("method", method)
        raise InvalidParameter(f"a kernel is for {right}, not for {wrong}", right, wrong)
    if given is not None and given.reads_rows:
        return _of_rows(table, given, scale)
    named = _naming_columns(table, variables)
    fates_of_names = list(name_fates(table, named))
    for name in named:
        table = with_names(table, name)
    for name in sorted(variables):
        table.column(name)  # which says where there is none
    weighs = method in (None, "mca") and given is None and weights is None
    guesses = guesses_of(table, variables, weighs=weighs)
    table = named_by_years(with_codes(table, guesses.codes), guesses.dates)
    counts = None if guesses.counted is None else table.column(guesses.counted).values
    if counts is not None and not counts.all():  # nobody is there to be drawn, or to be typical
        seen = np.flatnonzero(counts)
        table, counts = table.picked(seen), counts[seen]
    weights = counts if weights is None else weights
    held = sum(role is Role.NUMBER for role in table.roles)
    table = table.with_supplementary(*guesses.dates)
    if guesses.counted is not None:
        table = named_by_categories(table.without((guesses.counted,)))
    table, beside = sorted_out(table, variables)
    numbers = [c for c in table.columns() if c.role is Role.NUMBER and c.is_active]
    factors = [
        c for c in table.columns() if c.role is Role.FACTOR and c.name not in table.supplementary
    ]
    if not numbers and not factors:
        raise InvalidInput(
            "the table has no column of numbers or factors that is active; its columns are "
            f"{quote_names(table.names)}"
        )
    # Weights are of individuals, and units of measurements: who gives them has no counts.
    is_free = method is None and given is None and scale is None and weights is None
    counted = counted_columns(table, numbers, variables) if is_free and not factors else ()
    if counted:
        chosen = "ca"
        gaps = [c.name for c in numbers if c not in counted]
        table, numbers = table.with_supplementary(*gaps), [*counted]
        beside += [unless_active(Fate(name, "supplementary", GAPS)) for name in gaps]
    else:
        chosen = "kpca" if given is not None else method or rule(numbers, factors)
    cut: dict[str, str] = {}
    if chosen == "famd":
        cut = _classes_set_aside(table, numbers, factors, variables)
        table = table.with_supplementary(*cut)
        factors = [c for c in factors if c.name not in cut]
        beside += [unless_active(Fate(name, "supplementary", CUT)) for name in cut]
        chosen = method or rule(numbers, factors)
    made = Made(chosen, numbers, factors, given, is_scaled(chosen, given, scale))
    table = _with_passive(table, made)
    fates = (
        *fates_of_names,
        *(Fate(c.name, "active", made.why) for c in made.active_columns),
        *(Fate(c.name, "supplementary", made.why_beside) for c in made.passive),
        *beside,
    )
    is_counted = guesses.counted is not None
    aside = held - len(numbers) - is_counted
    sentence, advice = sentence_of(table, made, method, aside, len(cut), is_counted=is_counted)
    if weights is not None:
        sentence += f" {_weights_in_words(weights)}"
    return Proposal(
        chosen,
        table,
        made.is_scaled,
        in_order(guesses.explained(fates), table),
        (
            *guesses.doubts(),
            *([doubt_of_classes(cut)] if cut else []),
            *_doubts_of_data(table, made, method is not None),
        ),
        sentence,
        advice,
        made.kernel_for(table, weights),
        method is not None or kernel is not None,
        named,
        guesses.codes,
        guesses.counted,
        counts,
    )


def _classes_set_aside(
    table: Table, numbers: Sequence[Column], factors: Sequence[Column], asked: frozenset[str]
) -> dict[str, str]:
    """Return the factors that are classes of an active number, and of which.

    Both would count one thing twice, and the number says it more finely.
    """
    free = [c.name for c in factors if c.name not in asked]
    return classes_of_numbers(table.with_columns([*(c.name for c in numbers), *free]))


def _weights_in_words(weights: Array) -> str:
    """Return between which weights rows count, and how many have none.

    >>> _weights_in_words(np.array([2.0, 5.0, 3.0])), _weights_in_words(np.array([0.0, 1.0, 2.5]))
    ('The rows have weights from 2 to 5.', 'The rows have weights from 1 to 2.5; 1 row of weight 0 is placed on the axes and does not count.')
    """  # noqa: E501  (a doctest in one line)
    active = weights[weights > 0]
    if not len(active):
        return "No row has a weight."
    without = len(weights) - len(active)
    each = "is placed on the axes and does" if without == 1 else "are placed on the axes and do"
    aside = f"; {_rows(without)} of weight 0 {each} not count" if without else ""
    return f"The rows have weights from {active.min():.3g} to {active.max():.3g}{aside}."


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"


def _naming_columns(table: Table, variables: frozenset[str]) -> tuple[str, ...]:
    """Return the columns that name the rows, but for those that were asked for as variables."""
    return tuple(
        column.name
        for i, column in enumerate(table.columns())
        if column.is_active
        and column.name not in variables
        and is_identifier(column, is_first=i == 0)
    )


def _with_passive(table: Table, made: Made) -> Table:
    """Return a table whose columns that the analysis does not use are supplementary."""
    table = table.with_supplementary(*(c.name for c in made.passive if c.role is Role.NUMBER))
    if not made.reads_rows:
        return table
    kept = {*made.active, *(c.name for c in made.numbers)}  # the model takes all the others
    roles = zip(table.names, table.roles, strict=True)
    beside = (n for n, r in roles if n not in kept and r is not Role.IDENTIFIER)
    return table.with_supplementary(*beside)


def _doubts_of_data(table: Table, made: Made, is_asked: bool) -> Iterator[Doubt]:
    """Yield what the columns themselves give reason to doubt, whatever the axes are."""
    yield from imputed_doubt(table)
    if made.is_pca:
        yield from samples_doubt(table)
        yield from counts_doubt(table, made.numbers)
        yield from codes_doubt(made.numbers)
        yield from total_doubt(made.numbers)
    if made.analysis == "ca":
        yield from profiles_doubt(table, made.numbers)
        yield from () if is_asked else guess_doubt()
    if made.analysis != "ca":  # profiles of columns may well be alike, and nothing counts twice
        yield from copies_doubt(made.active_columns)
    yield from words_doubt(table)
    yield from column_doubts(made.active_columns)


def _of_rows(table: Table, kernel: Kernel, scale: bool | None) -> Proposal:
    """Return the kernel PCA of a kernel that says itself which columns it reads."""
    is_scaled("kpca", kernel, scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit will tell of columns that do not vary
        active = columns_read(kernel, as_rows(table))
    fates = [
        *name_fates(table, ()),
        *(Fate(name, "active", "the kernel reads it") for name in active),
        *(
            Fate(c.name, "supplementary", "the kernel does not read it")
            for c in table.columns()
            if c.name not in active and c.role is not Role.IDENTIFIER
        ),
    ]
    columns = "1 column" if len(active) == 1 else f"{len(active)} columns"
    named = listing(active, FEW_NAMED)
    sentence = f"As asked, {NAMES['kpca']} with the kernel given, which reads {columns} ({named})."
    order = in_order(fates, table)
    doubts = tuple(imputed_doubt(table))
    return Proposal("kpca", table, False, order, doubts, sentence, (), kernel, True)
