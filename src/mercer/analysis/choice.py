"""The choice among analyses: the rule, the columns it divides, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.analysis.columns import ALIKE, are_counts, share_a_unit, spread_ratio
from mercer.check import Array
from mercer.data.table import Column, Table
from mercer.errors import Advice, InvalidInput, InvalidParameter
from mercer.factorial import FAMD, MCA
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian

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


def rule(numbers: Sequence[Column], factors: Sequence[Column]) -> str:
    """Return the analysis of columns: of measurements, of factors, or of both.

    >>> from mercer.data.table import Role
    >>> number, factor = Column("x", Role.NUMBER, np.ones(2)), Column("f", Role.FACTOR, np.ones(2))
    >>> rule([number] * 4, [factor]), rule([], [factor]), rule([number], [factor] * 35)
    ('pca', 'mca', 'famd')
    """
    if not factors:
        return "pca"
    if not numbers:
        return "mca"
    is_few = len(factors) <= max(FEW_FACTORS, len(numbers) / 3)
    return "pca" if is_few and len(factors) < len(numbers) else "famd"


def is_scaled(chosen: str, kernel: Kernel | None, scale: bool | None) -> bool:
    """Return whether an analysis standardises columns, or say why it cannot do as asked."""
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
class Made:
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
    def is_pca(self) -> bool:
        """Whether numbers are read as measurements that nobody spoke of."""
        return self.analysis == "pca"

    @property
    def is_mixed(self) -> bool:
        """Whether a kernel must be found for columns of several types."""
        is_free = self.analysis == "kpca" and self.kernel is None
        return is_free and rule(self.numbers, self.factors) != "pca"

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
        active = self.active  # which is found anew each time
        return tuple(c for c in (*self.numbers, *self.factors) if c.name not in active)

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
        return standardise_kernel(kernel, table.matrix(), weights, self.is_scaled)


def sentence_of(
    table: Table,
    made: Made,
    method: str | None,
    aside: int = 0,
    cut: int = 0,
    *,
    is_counted: bool = False,
) -> tuple[str, tuple[Advice, ...]]:
    """Return the rule, the choice and what changes it, in one sentence, with its parameters.

    ``aside`` is how many columns of numbers were set aside before the choice, and ``cut`` how many
    factors were, as classes of a number. Where it ``is_counted``, a column more says how often each
    row was seen.
    """
    numbers, factors = len(made.numbers), len(made.factors)
    unscaled, mixed = Advice("scale", False), Advice("method", "famd")
    linear, counts = Advice("method", "pca"), Advice("method", "ca")
    held = " and ".join(filter(None, (_numbers(numbers, aside), _count_of_factors(factors, cut))))
    held += " and a column of frequencies" if is_counted else ""
    active = made.active_columns
    what = _count(len(active), "column") if made.analysis != "ca" else _count(numbers, "column")
    ways: list[str] = []
    if made.analysis == "pca":
        how = "standardised columns" if made.is_scaled else "columns in their own units"
        how = how if numbers > 1 else how.replace("columns", "column")
        beside = "" if not factors else f", with the {_words(factors)} as colour"
        said = f"{NAMES['pca']} of the {how}{beside}"
        if factors:
            ways.append(f"{mixed} lets the {_words(factors)} shape the axes too")
        if made.is_scaled:
            x = np.column_stack([c.values for c in made.numbers])
            is_one = spread_ratio(x) <= ALIKE and share_a_unit(c.name for c in made.numbers)
            units = "unit, which these columns seem to share" if is_one else "units"
            ways.append(f"{unscaled} keeps the original {units}")
        if are_counts(table, made.numbers) and not factors:
            ways.append(f"{counts} reads the columns as counts")
    elif made.analysis == "mca":
        said = f"{NAMES['mca']} of {what}"
        if numbers and factors:
            ways.append(f"{mixed} lets the numbers shape the axes too")
    elif made.analysis == "famd":
        which = "" if len(active) < 2 else "the other " if aside or cut else "all "
        said = f"{NAMES['famd']} of {which}{what}"
        if numbers:
            ways.append(f"{linear} analyses the numbers alone")
    elif made.analysis == "kpca":
        kernel = "the Gaussian kernel" if made.kernel is None else "the kernel given"
        scaled = " of standardised columns" if made.is_scaled else ""
        said = f"{NAMES['kpca']} with {kernel}{scaled}"
        if made.is_scaled:
            ways.append(f"{unscaled} keeps the original units")
    elif made.analysis == "ca" and method is None:
        held = f"{what} of counts (whole numbers from few to many, in named rows)"
        said = f"{NAMES['ca']} compares their profiles"
        ways.append(f"{linear} reads them as measurements")
    else:
        said = f"{NAMES[made.analysis]} of {what}"
    is_asked = method is not None or made.kernel is not None
    start = f"The table holds {held.removesuffix(',')}: " + ("as asked, " if is_asked else "")
    text = start + said + (f"; {', '.join(ways)}" if ways else "") + "."
    given = (unscaled, mixed, linear, counts)
    return text, tuple(advice for advice in given if str(advice) in text)


def _numbers(active: int, aside: int) -> str:
    """Return how many numbers a table holds, and how many of them were set aside.

    >>> _numbers(10, 2), _numbers(4, 0), _numbers(0, 0)
    ('12 columns of numbers, 2 of them set aside,', '4 columns of numbers', '')
    """
    if not active + aside:
        return ""
    found = f"{_count(active + aside, 'column')} of numbers"
    if not aside:
        return found
    return f"{found}, {f'{aside} of them ' if active else ''}set aside,"


def _count_of_factors(active: int, cut: int) -> str:
    if not active + cut:
        return ""
    found = _count(active + cut, "factor")
    return f"{found}, {f'{cut} of them ' if active else ''}set aside" if cut else found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _words(factors: int) -> str:
    return "factor" if factors == 1 else "factors"


def standardise_kernel(
    kernel: Kernel, x: Array, weights: Array | None = None, scaled: bool = True
) -> Kernel:
    """Return a kernel on vectors in units of the standard deviations of their columns.

    >>> standardise_kernel(Gaussian(1.0), np.array([[0.0, 0.0], [2.0, 20.0]]))
    Gaussian(bandwidth=[1.0, 10.0])
    """
    if not scaled:
        return kernel
    w = np.ones(len(x)) if weights is None else weights
    mean = np.average(x, axis=0, weights=w)
    deviations = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=w))
    deviations = np.where(deviations > 0, deviations, 1.0)  # a constant column makes no distance
    return kernel.resolve(x / deviations).stretched(deviations)
