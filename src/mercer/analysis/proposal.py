"""Which analysis fits a table: the rule, what it makes of each column, and the model."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.analysis.columns import (
    ALIKE,
    Fate,
    are_counts,
    is_constant,
    is_identifier,
    is_time,
    restarts,
    share_a_unit,
    spread_ratio,
    with_names,
)
from mercer.analysis.doubts import Doubt
from mercer.check import Array, worst_asymmetry
from mercer.data.files import read
from mercer.data.frames import rows as as_rows
from mercer.data.imputation import Imputation
from mercer.data.matrices import ASYMMETRY, SquareMatrix, as_square
from mercer.data.missing import settled
from mercer.data.table import Column, Role, Table, listed
from mercer.errors import Advice, InvalidInput, InvalidParameter
from mercer.estimator import PRECOMPUTED, as_kernel
from mercer.factorial import CA, FAMD, MCA
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian
from mercer.kernels.tables import columns_read
from mercer.mds import ClassicalMDS, StressMDS
from mercer.pca import PCA, KernelPCA
from mercer.reading.links import listing

NAMES = {
    "pca": "principal component analysis",
    "mca": "multiple correspondence analysis",
    "famd": "factor analysis of mixed data",
    "ca": "correspondence analysis",
    "kpca": "kernel principal component analysis",
    "mds": "classical scaling",
    "stress": "stress scaling",
}
"""The analyses there are, and what they are called."""

FEW_FACTORS = 3
"""So many factors beside more numbers are few, as is a third of the numbers."""

FEW_NAMED = 6
"""Columns that a sentence names."""

AXES, MAP = 10, 2
"""Axes that are computed, and the dimension of a map, where nothing is asked for."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """An analysis of data before it is made: which, of which columns, and why.

    ``points`` is what its model is fitted on: a table with the columns in their roles, or a matrix
    of pairs. ``advice`` are the parameters of which the ``sentence`` speaks, ``identifiers`` the
    columns of numbers that became names.
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

    def used_as(self, use: str) -> list[str]:
        """Return the columns of a use: active, supplementary, name or ignored."""
        return [fate.name for fate in self.fates if fate.use == use]

    @property
    def named_by(self) -> str | None:
        """The column that names the rows."""
        return next(iter(self.used_as("name")), None)

    @property
    def reads_rows(self) -> bool:
        """Whether the model reads columns of several types."""
        is_kernel = isinstance(self.kernel, Kernel) and self.kernel.reads_rows
        return self.analysis in ("mca", "famd") or is_kernel

    def placed(self, table: Table) -> Table:
        """Return other rows of the same columns as the model reads them."""
        for name in self.identifiers:
            table = with_names(table, name)
        table = without(table, set(table.names) - set(self.points.names))
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

    def model(self, n_components: int | None = None, **options: Any) -> Any:
        """Return the model that is read, not yet fitted; ``options`` are those of its class."""
        is_map = self.analysis in ("mds", "stress")
        usual = MAP if is_map else min(AXES, self.most_axes)
        count = usual if n_components is None else n_components
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
        if self.analysis not in ("pca", "mca", "famd", "ca"):
            return None
        given = Gaussian("median") if kernel is None else kernel
        if self.analysis == "pca":
            return standardised(given, self.points.matrix(), weights, self.scaled)
        if not isinstance(given, Gaussian):
            raise InvalidParameter(
                f"the curved map of {NAMES[self.analysis]} is that of the Gaussian of its "
                f"distance, and {given} is no Gaussian: give gaussian(bandwidth=...)"
            )
        found: Kernel = model.kernel_.gaussian(given.bandwidth)
        return found


def _features(column: Column) -> int:
    return 1 if column.role is Role.NUMBER else max(len(column.levels) - 1, 1)


def standardised(
    kernel: Kernel, x: Array, weights: Array | None = None, scaled: bool = True
) -> Kernel:
    """Return a kernel on vectors in units of the standard deviations of their columns.

    >>> standardised(Gaussian(1.0), np.array([[0.0, 0.0], [2.0, 20.0]]))
    Gaussian(bandwidth=[1.0, 10.0])
    """
    if not scaled:
        return kernel
    w = np.ones(len(x)) if weights is None else weights
    mean = np.average(x, axis=0, weights=w)
    deviations = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=w))
    deviations = np.where(deviations > 0, deviations, 1.0)  # a constant column makes no distance
    return kernel.resolve(x / deviations).stretched(deviations)


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
    if isinstance(points, SquareMatrix):
        return _of_pairs(points, method, kernel)
    table = points.with_supplementary(*supplementary)
    return _of_table(table, method, kernel, scale, weights, frozenset(active))


def _known(method: str | None) -> str | None:
    if method is None:
        return None
    found = str(method).lower()
    if found not in NAMES:
        raise InvalidParameter(f"method must be one of {', '.join(NAMES)}, found {method!r}")
    return found


def _read(data: Any, missing: Any) -> Table | SquareMatrix:
    if isinstance(data, Table):
        return data if missing == "error" else settled(data, missing)
    if isinstance(data, SquareMatrix):
        return data
    if isinstance(data, Imputation):
        data = data.values
    if isinstance(data, np.ndarray) and _is_of_pairs(data):
        names = tuple(map(str, range(len(data))))
        columns = {name: data[:, j] for j, name in enumerate(names)}
        return as_square(Table.of(columns, row_names=names))
    found = read(data, missing=missing)
    if not isinstance(found, Table | SquareMatrix):
        raise InvalidInput(
            f"an analysis is chosen for a table or a matrix of pairs, found {type(found).__name__}"
        )
    return found


def _is_of_pairs(values: Array) -> bool:
    """Whether an array is symmetric, as tables by chance are not."""
    is_square = values.ndim == 2 and values.shape[0] == values.shape[1] > 2
    return is_square and values.dtype.kind in "iuf" and worst_asymmetry(values)[0] <= ASYMMETRY


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
            f"The table holds distances of {len(points)} individuals: {NAMES[chosen]} maps them"
            + (f"; {other} keeps near ones near instead." if chosen == "mds" else ".")
        )
    else:
        sentence = (
            f"The table holds similarities of {len(points)} individuals: {NAMES[chosen]} of them "
            "as they are."
        )
    precomputed = None if are_distances else PRECOMPUTED
    return Proposal(
        chosen, points, False, (), (), sentence, (other,), precomputed, method is not None
    )


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
    named = tuple(
        column.name
        for i, column in enumerate(table.columns())
        if column.is_active
        and column.name not in variables
        and is_identifier(column, is_first=i == 0)
    )
    fates_of_names = list(_names(table, named))
    for name in named:
        table = with_names(table, name)
    table, beside = _sorted_out(table, variables)
    numbers = [c for c in table.columns() if c.role is Role.NUMBER and c.is_active]
    factors = [
        c for c in table.columns() if c.role is Role.FACTOR and c.name not in table.supplementary
    ]
    if not numbers and not factors:
        raise InvalidInput(
            "the table has no column of numbers or factors that is active; its columns are "
            f"{listed(table.names)}"
        )
    chosen = "kpca" if given is not None else method or _rule(numbers, factors)
    made = _Made(chosen, numbers, factors, given, _is_scaled(chosen, given, scale))
    passive = made.passive
    table = table.with_supplementary(*(c.name for c in passive if c.role is Role.NUMBER))
    if made.reads_rows:  # whose model takes what is not supplementary
        kept = {*made.active, *(c.name for c in numbers)}
        table = table.with_supplementary(*(n for n in table.names if n not in kept))
    fates = (
        *fates_of_names,
        *(Fate(c.name, "active", made.why) for c in made.active_columns),
        *(Fate(c.name, "supplementary", made.why_beside) for c in passive),
        *beside,
    )
    sentence, advice = _sentence(table, made, method)
    return Proposal(
        chosen,
        table,
        made.is_scaled,
        _in_order(fates, table),
        tuple(_doubts(made.active_columns)),
        sentence,
        advice,
        made.kernel_for(table, weights),
        method is not None or kernel is not None,
        named,
    )


def _of_rows(table: Table, kernel: Kernel, scale: bool | None) -> Proposal:
    """Return the kernel PCA of a kernel that says itself which columns it reads."""
    _is_scaled("kpca", kernel, scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit will tell of columns that do not vary
        active = columns_read(kernel, as_rows(table))
    fates = [
        *_names(table, ()),
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
    order = _in_order(fates, table)
    return Proposal("kpca", table, False, order, (), sentence, (), kernel, True)


def _in_order(fates: Iterable[Fate], table: Table) -> tuple[Fate, ...]:
    """Return fates in the order of the columns, those that are gone at the end."""
    order = {name: i for i, name in enumerate(table.names)}
    return tuple(sorted(fates, key=lambda fate: order.get(fate.name, len(order))))


def _doubts(active: Sequence[Column]) -> Iterator[Doubt]:
    """Yield what active columns bring with them: times, missing labels."""
    for column in active:
        name = column.name
        if column.role is Role.NUMBER and is_time(column):
            aside = Advice("supplementary", [name])
            text = (
                f'the column "{name}" holds times: as a variable it draws the axes towards early '
                f"and late; {aside} sets it beside them"
            )
            yield Doubt("time", text, name, aside)
        missing = sum(v is None for v in column.values.tolist())
        if missing:
            who = "1 individual has" if missing == 1 else f"{missing} individuals have"
            text = f'{who} no "{name}": "missing" is taken for one more category'
            yield Doubt("missing", text, name)


def _names(table: Table, identifiers: Sequence[str]) -> Iterator[Fate]:
    """Yield what becomes of the columns that name rows; the first does, others tell nothing."""
    is_named = False
    for column in table.columns():
        if column.role is Role.IDENTIFIER:
            yield Fate(column.name, "name", "it names the rows")
            is_named = True
    for name in identifiers:
        use = "ignored" if is_named or table.row_names is not None else "name"
        yield Fate(name, use, "different whole numbers that count the rows and measure nothing")
        is_named = True


def _sorted_out(table: Table, asked: frozenset[str]) -> tuple[Table, list[Fate]]:
    """Return the table without columns that say nothing, and what becomes of those beside."""
    found: list[Fate] = []
    dropped: list[str] = []
    for column in table.columns():
        name, role = column.name, column.role
        if role is Role.IDENTIFIER:
            continue
        if name in table.supplementary:
            found.append(Fate(name, "supplementary", "it was asked for"))
        elif role in (Role.DATE, Role.TEXT):
            what = "dates" if role is Role.DATE else "texts"
            found.append(Fate(name, "ignored", f"it holds {what}, which no analysis here reads"))
        elif role is Role.NUMBER and name not in asked and restarts(column):
            times = restarts(column)
            why = f"an index that counts from {column.values[0]:g} anew {times} times"
            found.append(Fate(name, "supplementary", why))
            table = table.with_supplementary(name)
        elif is_constant(column):
            dropped.append(name)
    variables = [n for n, r in zip(table.names, table.roles, strict=True) if r in _VARIABLES]
    if set(variables) - set(dropped) - table.supplementary:
        found += [Fate(name, "ignored", "all individuals have the same") for name in dropped]
        table = without(table, dropped)
    return table, found


_VARIABLES = (Role.NUMBER, Role.FACTOR)


def without(table: Table, dropped: Iterable[str]) -> Table:
    """Return a table without some columns."""
    left_out = set(dropped)
    return table.with_columns(n for n in table.names if n not in left_out) if left_out else table


def _rule(numbers: Sequence[Column], factors: Sequence[Column]) -> str:
    """Return the analysis of columns: of numbers, of factors, or of both.

    >>> number, factor = Column("x", Role.NUMBER, np.ones(2)), Column("f", Role.FACTOR, np.ones(2))
    >>> _rule([number] * 4, [factor]), _rule([], [factor]), _rule([number], [factor] * 35)
    ('pca', 'mca', 'famd')
    """
    if not factors:
        return "pca"
    if not numbers:
        return "mca"
    is_few = len(factors) <= max(FEW_FACTORS, len(numbers) / 3)
    return "pca" if is_few and len(factors) < len(numbers) else "famd"


def _is_scaled(chosen: str, kernel: Kernel | None, scale: bool | None) -> bool:
    if chosen not in ("pca", "kpca", "famd"):
        if scale:
            wanted, given = Advice("scale", True), Advice("method", chosen)
            raise InvalidParameter(f"{wanted} has no meaning with {given}", wanted, given)
        return False
    if chosen == "famd":
        if scale is False:
            wanted, other = Advice("scale", False), Advice("method", "pca")
            raise InvalidParameter(
                f"{wanted} would let units decide between numbers and factors: {NAMES[chosen]} "
                f"standardises; {other} keeps units",
                wanted,
                other,
            )
        return True
    if kernel is not None and not kernel.reads_vectors:
        if scale:
            wanted = Advice("scale", True)
            raise InvalidParameter(
                f"{wanted} divides columns of numbers, and {kernel} does not look at them as "
                f"vectors: leave {wanted} out",
                wanted,
            )
        return False
    return scale is not False


@dataclass(frozen=True, eq=False)
class _Made:
    """A choice with the columns it divides in two."""

    analysis: str
    numbers: Sequence[Column]
    factors: Sequence[Column]
    kernel: Kernel | None
    is_scaled: bool

    @property
    def reads_rows(self) -> bool:
        return self.analysis in ("mca", "famd") or self.is_mixed

    @property
    def is_mixed(self) -> bool:
        """Whether a kernel must be found for columns of several types."""
        is_free = self.analysis == "kpca" and self.kernel is None
        return is_free and _rule(self.numbers, self.factors) != "pca"

    @property
    def active_columns(self) -> tuple[Column, ...]:
        if self.analysis == "famd" or self.is_mixed:
            return (*self.numbers, *self.factors)
        if self.analysis == "mca" and self.factors:
            return tuple(self.factors)
        if not self.numbers:
            given, other = Advice("method", self.analysis), Advice("method", "mca")
            raise InvalidInput(
                f"{given} reads numbers, and the table has none that is active; {other} reads "
                "factors",
                given,
                other,
            )
        return tuple(self.numbers)

    @property
    def active(self) -> frozenset[str]:
        return frozenset(c.name for c in self.active_columns)

    @property
    def passive(self) -> tuple[Column, ...]:
        return tuple(c for c in (*self.numbers, *self.factors) if c.name not in self.active)

    @property
    def why(self) -> str:
        return f"{NAMES[self.analysis]} reads it"

    @property
    def why_beside(self) -> str:
        if self.analysis == "pca" and self.factors:
            return f"{NAMES[self.analysis]} reads numbers; factors are placed on its axes"
        return f"{NAMES[self.analysis]} does not read it; it is placed on its axes"

    def kernel_for(self, table: Table, weights: Array | None) -> Kernel | None:
        """Return the kernel of a kernel PCA, columns in their units."""
        if self.analysis != "kpca":
            return None
        if self.is_mixed:
            kind = MCA if not self.numbers else FAMD
            straight = kind(missing="level").fit(table, sample_weight=weights)
            mixed: Kernel = straight.kernel_.gaussian("median")
            return mixed
        kernel = self.kernel or Gaussian("median")
        return standardised(kernel, table.matrix(), weights, self.is_scaled)


def _sentence(table: Table, made: _Made, method: str | None) -> tuple[str, tuple[Advice, ...]]:
    """Return the rule, the choice and what changes it, in one sentence, with its parameters."""
    numbers, factors = len(made.numbers), len(made.factors)
    unscaled, mixed = Advice("scale", False), Advice("method", "famd")
    linear, counts = Advice("method", "pca"), Advice("method", "ca")
    held = " and ".join(
        filter(None, (_count(numbers, "number"), _count(factors, "factor") if factors else ""))
    )
    active = made.active_columns
    what = _count(len(active), "column") if made.analysis != "ca" else _count(numbers, "column")
    ways: list[str] = []
    if made.analysis == "pca":
        how = "standardised numbers" if made.is_scaled else "numbers in their units"
        beside = "" if not factors else f" with the {_words(factors)} beside them as colour"
        said = f"{NAMES['pca']} of the {how}{beside}"
        if factors:
            ways.append(f"{mixed} makes the {_words(factors)} active")
        if made.is_scaled:
            x = np.column_stack([c.values for c in made.numbers])
            is_one = spread_ratio(x) <= ALIKE and share_a_unit(c.name for c in made.numbers)
            unit = ", as these columns seem to share one" if is_one else ""
            ways.append(f"{unscaled} keeps units{unit}")
        if are_counts(made.numbers, table.row_names is not None) and not factors:
            ways.append(f"{counts} reads the columns as counts")
    elif made.analysis == "mca":
        said = f"{NAMES['mca']} of {what}"
        if numbers and factors:
            ways.append(f"{mixed} makes the numbers active")
    elif made.analysis == "famd":
        said = f"{NAMES['famd']} of all {len(active)} columns"
        if numbers:
            ways.append(f"{linear} reads the numbers alone")
    elif made.analysis == "kpca":
        kernel = "the Gaussian kernel" if made.kernel is None else "the kernel given"
        scaled = " of standardised columns" if made.is_scaled else ""
        said = f"{NAMES['kpca']} with {kernel}{scaled}"
        if made.is_scaled:
            ways.append(f"{unscaled} keeps units")
    else:
        said = f"{NAMES[made.analysis]} of {what}"
    is_asked = method is not None or made.kernel is not None
    start = f"The table holds {held}: " + ("as asked, " if is_asked else "")
    text = start + said + (f"; {', '.join(ways)}" if ways else "") + "."
    given = (unscaled, mixed, linear, counts)
    return text, tuple(advice for advice in given if str(advice) in text)


def _count(number: int, noun: str) -> str:
    if noun == "number" and number == 0:
        return ""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _words(factors: int) -> str:
    return "factor" if factors == 1 else "factors"
