"""Classes of individuals, and what sets each apart: its members, columns and categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import fdtrc, gammaln, logsumexp, ndtr, ndtri_exp

from mercer.check import Array, is_missing, power_of_two, refuse_non_finite
from mercer.data.frames import Tidy, columns_of
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter
from mercer.reading.links import seen_in
from mercer.reading.model import in_units_squared
from mercer.settings import whole

ROUNDING = 64.0 * float(np.finfo(float).eps)
"""A share of the inertia, or of a column's largest entry, below which all is rounding."""

REACH = 40.0
"""Standard deviations past a count, beyond which its law has nothing more that can be seen."""


@dataclass(frozen=True, eq=False, repr=False)
class Clusters(Shown):
    r"""Individuals in classes, numbered from 1 along the first axis.

    .. math:: \sum_i w_i \|x_i - \mu\|^2 = \sum_c w_c \|\mu_c - \mu\|^2
        + \sum_c \sum_{i \in c} w_i \|x_i - \mu_c\|^2

    ``within`` is the last term, the inertia within classes, for 1, 2, … classes of the tree
    (``within_units`` in squares of ``unit``), and
    ``gains`` what each further class takes from it; ``suggested`` is the number of classes after
    which the least share is left. ``labels`` are the classes, ``is_consolidated`` whether
    individuals went to the nearest centre after the cut. ``distances`` are those of individuals
    to the centre of their class, on the axes, and ``remoteness`` to the nearest other centre.
    ``counted`` is how many individuals stand in the rows, where their weights say how often each
    was seen: sizes and tests are then of individuals.

    >>> import mercer as mc
    >>> found = mc.cluster(mc.PCA(2, standardize=True).fit(mc.datasets.decathlon()), 3)
    >>> found.sizes, round(found.share, 4)
    (array([14, 23,  4]), 0.5921)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "count": "of classes",
        "sizes": "of the classes, from 1",
        "share": "of the inertia that lies between classes",
        "suggested": "number of classes, by the tree",
    }

    labels: Array
    centres: Array
    within_units: Array
    suggested: int
    share: float
    distances: Array
    remoteness: Array
    weights: Array
    is_consolidated: bool
    names: tuple[str, ...] | None = None
    seed: int | None = None
    unit: float = 1.0
    counted: int | None = None

    @property
    def within(self) -> Array:
        """The inertia within 1, 2, … classes of the tree."""
        found: Array = in_units_squared(self.within_units, self.unit)
        return found

    @property
    def count(self) -> int:
        """How many classes there are."""
        return len(self.centres)

    @property
    def sizes(self) -> Array:
        """How many individuals each class has."""
        if self.counted is None:
            return self.rows
        return _sizes(self.labels, self.count, seen_in(self.weights, self.counted))

    @property
    def rows(self) -> Array:
        """How many rows with a weight each class has: its size, unless rows were counted."""
        return _sizes(self.labels, self.count, seen_in(self.weights, None))

    @property
    def gains(self) -> Array:
        """The inertia that 2, 3, … classes take from within to between."""
        return -np.diff(self.within)

    def _title(self) -> str:
        of = "" if self.counted is None else f"in {int(self.rows.sum())} rows "
        return f"Clusters: {int(self.sizes.sum())} individuals {of}in {self.count} classes"

    def members(self, label: int) -> Array:
        """Return the rows of a class, the nearest to its centre first: the most typical.

        Rows without a weight, which made no class, are placed in one and typical of none.
        """
        rows = self._of(label)
        return rows[np.argsort(self.distances[rows], kind="stable")]

    def remote(self, label: int) -> Array:
        """Return the rows of a class, the farthest from all other centres first."""
        rows = self._of(label)
        return rows[np.argsort(-self.remoteness[rows], kind="stable")]

    def _of(self, label: int) -> Array:
        """Return the rows with a weight of a class."""
        return np.flatnonzero((self.labels == self._known(label)) & (self.weights > 0))

    def _seen(self) -> tuple[Array, Array, Array]:
        """Return the rows that somebody is in, their classes, and how many are in each."""
        seen = seen_in(self.weights, self.counted)
        active = np.flatnonzero(seen)
        return active, self.labels[active], seen[active]

    def _known(self, label: int) -> int:
        if whole(label, "label", least=1) > self.count:
            raise InvalidParameter(f"there are {self.count} classes, numbered from 1; not {label}")
        return int(label)

    def describe(self, data: Any) -> Tidy:
        r"""Return how each column of a table sets each class apart, the strongest first.

        .. math:: v = \frac{\bar x_c - \bar x}{\sqrt{\frac{N - n}{N - 1} \frac{s^2}{n}}}

        is the v-test of the mean of a column of numbers in a class of n among N individuals, s² its
        variance. Of a category v is the normal deviate of the hypergeometric law of its count in
        the class. Beyond ±1.96 chance alone would seldom do so. Individuals without weight are
        left out; others count alike, or as often as they were seen where they were ``counted``.
        """
        active, labels, seen = self._seen()
        rows: list[dict[str, Any]] = []
        for name, column in columns_of(data, len(self.labels), "data").items():
            values = column[active]
            links = _of_numbers if values.dtype.kind in "iufb" else _of_labels
            rows += list(links(name, values, labels, self.count, seen))
        rows.sort(key=lambda row: (row["class"], -abs(row["v_test"])))
        texts = {"column": object, "level": object}
        return Tidy({key: np.array([row[key] for row in rows], texts.get(key)) for key in rows[0]})

    def links(self, data: Any) -> Tidy:
        r"""Return how much of each column of numbers the classes account for, the most first.

        .. math:: \eta^2 = \frac{\sum_c n_c (\bar x_c - \bar x)^2}{\sum_i (x_i - \bar x)^2}, \quad
            F = \frac{\eta^2 / (k - 1)}{(1 - \eta^2) / (N - k)}

        with the p-value of F under its law. Classes were made from such columns: their p-values say
        how close a link is, not whether there is one.
        """
        active, labels, seen = self._seen()
        k = self.count
        found = []
        for name, column in columns_of(data, len(self.labels), "data").items():
            if column.dtype.kind not in "iufb":
                continue
            values, _ = _finite(name, column[active])
            away = values - np.average(values, weights=seen)
            means = np.array([_mean(away, seen * (labels == c)) for c in range(1, k + 1)])
            total = float(seen @ away**2) if np.ptp(values) > 0 else 0.0
            eta2 = float(_sizes(labels, k, seen) @ means**2) / total if total > 0 else 0.0
            free = int(seen.sum()) - k
            p_value = 1.0  # one class, or none with two members, can prove nothing
            if k > 1 and free > 0:
                F = free / (k - 1) * eta2 / (1.0 - eta2) if eta2 < 1.0 else np.inf
                p_value = float(fdtrc(k - 1, free, F)) if np.inf > F else 0.0
            found.append((name, eta2, p_value))
        if not found:
            raise InvalidInput("data hold no column of numbers; describe(data) reads categories")
        found.sort(key=lambda row: -row[1])
        names, eta2s, p_values = zip(*found, strict=True)
        return Tidy(
            {
                "column": np.array(names, dtype=object),
                "eta2": np.array(eta2s),
                "p_value": np.array(p_values),
            }
        )


def _sizes(labels: Array, count: int, seen: Array | None = None) -> Array:
    """Return how often each class occurs among labels, each of which was ``seen`` so often."""
    return np.bincount(labels, seen, minlength=count + 1)[1:].astype(int)


def _finite(name: str, values: Array) -> tuple[Array, float]:
    """Return a column of numbers in a unit of their size, a constant one without rounding."""
    values = values.astype(np.float64)
    refuse_non_finite(values, f"data: {name!r}")
    unit = power_of_two(values)
    values = values / unit
    is_constant = float(np.ptp(values)) <= ROUNDING
    return (np.full(len(values), values[0]) if is_constant else values), unit


def _of_numbers(
    name: str, values: Array, labels: Array, count: int, seen: Array
) -> Iterator[dict[str, Any]]:
    values, unit = _finite(name, values)
    N, mean = int(seen.sum()), float(np.average(values, weights=seen))
    spread = np.sqrt(_mean((values - mean) ** 2, seen)) if np.ptp(values) > 0 else 0.0
    for label in range(1, count + 1):
        mine = seen * (labels == label)
        n, inside = int(mine.sum()), _mean(values, mine)
        error = spread * np.sqrt((N - n) / max(N - 1, 1) / max(n, 1))
        v = float((inside - mean) / error) if n and error > 0 else 0.0
        yield _row(label, name, "", v, unit * inside, unit * mean)


def _mean(values: Array, seen: Array) -> float:
    """Return the mean of values that were seen so often."""
    some = seen > 0
    return float(np.average(values[some], weights=seen[some])) if some.any() else np.nan


def _of_labels(
    name: str, values: Array, labels: Array, count: int, seen: Array
) -> Iterator[dict[str, Any]]:
    for row, value in enumerate(values.tolist()):
        if is_missing(value):
            raise InvalidInput(
                f"data: {name!r} has no label in row {row}; give the missing ones a level"
            )
    texts = np.array([str(value) for value in values.tolist()], dtype=object)
    N = int(seen.sum())
    for label in range(1, count + 1):
        mine = seen * (labels == label)
        for level in sorted(set(texts.tolist())):
            has = texts == level
            both, n, everywhere = int(mine[has].sum()), int(mine.sum()), int(seen[has].sum())
            v = _hypergeometric_v(both, N, everywhere, n)
            yield _row(label, name, level, v, both / n if n else np.nan, everywhere / N)


def _row(
    label: int, column: str, level: str, v: float, inside: float, overall: float
) -> dict[str, Any]:
    return {
        "class": label,
        "column": column,
        "level": level,
        "v_test": v,
        "p_value": float(2.0 * ndtr(-abs(v))),
        "in_class": inside,
        "overall": overall,
    }


def _hypergeometric_v(both: int, total: int, has: int, drawn: int) -> float:
    """Return the normal deviate of a count among individuals drawn without replacement.

    Half of the probability of the count itself is taken, as in the mid-p-value.

    >>> round(_hypergeometric_v(8, 20, 8, 8), 2), _hypergeometric_v(2, 4, 2, 4)
    (4.47, 0.0)
    """
    is_above = both * total >= has * drawn
    share = has / total
    spread = np.sqrt(drawn * share * (1.0 - share))
    reach = int(REACH * (1.0 + spread))
    if is_above:
        tail = np.arange(both, min(has, drawn, both + reach) + 1)
    else:
        tail = np.arange(both, max(0, drawn + has - total, both - reach) - 1, -1)
    law = _log_choose(has, tail) + _log_choose(total - has, drawn - tail)
    law -= _log_choose(total, np.array(drawn))  # logarithms: tails underflow
    law[0] -= np.log(2.0)
    v = float(ndtri_exp(min(float(logsumexp(law)), 0.0)))
    return (-v if is_above else v) + 0.0


def _log_choose(n: int, k: Array) -> Array:
    """Return the logarithms of how many ways there are to choose k of n."""
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
