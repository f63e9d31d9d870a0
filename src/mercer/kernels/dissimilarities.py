"""Named distances between the rows of a table: what ecologists, chemists and surveys use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer.check import Array, chunks, is_missing, refuse_non_finite, vectors
from mercer.data.frames import row_names
from mercer.data.frames import rows as table_rows
from mercer.data.matrices import SquareMatrix
from mercer.data.table import Table, entry_place
from mercer.display import advice
from mercer.errors import InvalidInput, InvalidParameter, Row
from mercer.kernels.abundances import BrayCurtis, ChiSquare, centred_log_ratio
from mercer.kernels.pairs import AllPairs
from mercer.points import matrix_of

PANEL = 2**22
"""Distances of mixed rows that are added up at a time."""

NOT_COMPARED = ("ignored", "text")
"""Roles of columns that Gower's distance leaves out."""

Between = Callable[[Array, Array, Array], Array]
"""Distances of rows to others, given the rows of the fit, by which margins are found."""


def _similar(x: Array, y: Array) -> Array:
    return np.asarray(BrayCurtis().evaluate(AllPairs(x, y)))


def _bray_curtis(x: Array, y: Array, fitted: Array) -> Array:
    return 1.0 - _similar(x, y)


def _ruzicka(x: Array, y: Array, fitted: Array) -> Array:
    dissimilar = 1.0 - _similar(x, y)
    return np.asarray(2.0 * dissimilar / (1.0 + dissimilar))


def _jaccard(x: Array, y: Array, fitted: Array) -> Array:
    a, b = (x > 0).astype(np.float64), (y > 0).astype(np.float64)
    shared = a @ b.T
    union = a.sum(axis=1)[:, None] + b.sum(axis=1) - shared
    return np.asarray(np.where(union > 0, 1.0 - shared / np.where(union > 0, union, 1.0), 0.0))


def _chi_square(x: Array, y: Array, fitted: Array) -> Array:
    kernel = ChiSquare().resolve(fitted)
    return np.asarray(np.sqrt(np.maximum(kernel.evaluate_squares(AllPairs(x, y)), 0.0)))


def _hellinger(x: Array, y: Array, fitted: Array) -> Array:
    a, b = (np.sqrt(rows / rows.sum(axis=1, keepdims=True)) for rows in (x, y))
    return cdist(a, b)


def _chord(x: Array, y: Array, fitted: Array) -> Array:
    a, b = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (x, y))
    return cdist(a, b)


def _aitchison(x: Array, y: Array, fitted: Array) -> Array:
    return cdist(centred_log_ratio(x), centred_log_ratio(y))


def _gower(x: Array, y: Array, fitted: Array) -> Array:
    return _mean_of_columns(
        (_of_range(x[:, j], y[:, j], fitted[:, j]) for j in range(x.shape[1])), x.shape[1]
    )


def _mean_of_columns(parts: Iterator[Array], count: int) -> Array:
    total: Array | float = 0.0
    for part in parts:
        total = total + part
    return np.asarray(total / count)


def _of_range(a: Array, b: Array, fitted: Array) -> Array:
    """Return differences as shares of the range; a column that does not vary says nothing."""
    span = float(np.ptp(fitted))
    return np.asarray(np.abs(a[:, None] - b) / (span if span > 0 else 1.0))


@dataclass(frozen=True)
class Named:
    """A distance between rows of numbers, and which numbers it is defined for."""

    between: Between
    least: str = "any"
    needs_total: bool = False


METRICS: Mapping[str, Named] = {
    "euclidean": Named(lambda x, y, fitted: cdist(x, y)),
    "manhattan": Named(lambda x, y, fitted: cdist(x, y, "cityblock")),
    "bray-curtis": Named(_bray_curtis, "nonnegative"),
    "ruzicka": Named(_ruzicka, "nonnegative"),
    "jaccard": Named(_jaccard, "nonnegative"),
    "chi-square": Named(_chi_square, "nonnegative", needs_total=True),
    "hellinger": Named(_hellinger, "nonnegative", needs_total=True),
    "chord": Named(_chord, "any", needs_total=True),
    "aitchison": Named(_aitchison, "positive"),
    "gower": Named(_gower),
}


def checked_metric(metric: Any) -> str:
    """Return the name of a distance, or propose the nearest.

    >>> checked_metric("bray-curtis")
    'bray-curtis'
    """
    if isinstance(metric, str) and metric in METRICS:
        return metric
    hint = advice(metric, METRICS) if isinstance(metric, str) else ""
    found = f"{metric!r}; {hint}" if hint else repr(metric)
    raise InvalidParameter(f"metric must be one of {', '.join(METRICS)}, found {found}")


def distances(table: Any, metric: str = "euclidean") -> SquareMatrix:
    r"""Return the distances of all pairs of rows of a table, by the name of the distance.

    With totals :math:`x_+` of rows, shares :math:`c_j` of columns in all counts:

    =============  =====================================================================
    euclidean      :math:`\sqrt{\sum_j (x_j - y_j)^2}`
    manhattan      :math:`\sum_j |x_j - y_j|`
    bray-curtis    :math:`\sum_j |x_j - y_j| / (x_+ + y_+)`, of abundances
    ruzicka        2b/(1 + b) of the distance b of Bray and Curtis: Jaccard's of abundances
    jaccard        the share of what either has that only one has, of presences x > 0
    chi-square     :math:`\sqrt{\sum_j (x_j/x_+ - y_j/y_+)^2 / c_j}`, of counts
    hellinger      :math:`\sqrt{\sum_j (\sqrt{x_j/x_+} - \sqrt{y_j/y_+})^2}`, of counts
    chord          Euclidean, of rows divided by their length
    aitchison      Euclidean, of logarithms minus their mean over the row, of positive parts
    gower          the mean over columns of :math:`|x_j - y_j|` / range, of labels
                   :math:`1_{x_j \ne y_j}`: the one for tables of several types
    =============  =====================================================================

    Two rows without any abundance are at distance 0 from each other. Euclidean distances, and with
    them exact maps, are those of chi-square, hellinger, chord and aitchison, and the square roots
    of bray-curtis, ruzicka and jaccard. The matrix has the names of the rows; ``ClassicalMDS``,
    ``StressMDS`` (both also take ``metric="bray-curtis"``), `permanova` and others take it.

    >>> distances([[2.0, 0.0, 4.0], [1.0, 1.0, 0.0]], "bray-curtis").values
    array([[0.  , 0.75],
           [0.75, 0.  ]])
    >>> distances({"size": [1.0, 3.0], "colour": ["red", "blue"]}, "gower").values[0]
    array([0., 1.])

    Legendre & Legendre, Numerical ecology, 2012, chapter 7; Gower, Biometrics 27 (1971) 857-871.
    """
    metric = checked_metric(metric)
    is_mixed = metric == "gower" and _has_columns(table)
    d = _mixed(table) if is_mixed else distances_within(metric, read_rows(table, metric))
    d.flags.writeable = False
    return SquareMatrix(d, row_names(table) or tuple(str(i) for i in range(len(d))))


def distances_within(metric: str, x: Array) -> Array:
    """Return the distances of rows to each other: symmetric, and exactly 0 of a row to itself."""
    d = distances_between(metric, x, x, x)
    d = 0.5 * d + 0.5 * d.T
    np.fill_diagonal(d, 0.0)
    return d


def distances_between(metric: str, x: Array, y: Array, fitted: Array) -> Array:
    """Return the distances of rows to others; ``fitted`` are those that margins come from."""
    with np.errstate(over="ignore"):
        found = METRICS[metric].between(x, y, fitted)
    refuse_non_finite(found, f"the distances {metric!r}")
    return np.maximum(found, 0.0)


def read_rows(table: Any, metric: str) -> Array:
    """Return rows of numbers a distance is defined for, or say which entry is outside."""
    named, columns = METRICS[metric], getattr(table, "active", getattr(table, "columns", None))
    x = np.asarray(vectors(matrix_of(table), "the table"), dtype=np.float64)
    names = None if columns is None or callable(columns) else [str(name) for name in columns]
    wrong = x <= 0.0 if named.least == "positive" else x < 0.0
    if named.least != "any" and np.any(wrong):
        i, j = (int(k) for k in np.argwhere(wrong)[0])
        place = entry_place(table, i, j)
        if names is not None and not isinstance(table, Table):
            place = f"row {i}, column {names[j]!r}"
        advice = (
            "replace zeros by a small part first"
            if x[i, j] == 0.0
            else "take another distance, such as 'gower' or 'euclidean'"
        )
        raise InvalidInput(
            f"the table, {place}: {x[i, j]:g} is not {named.least}, and "
            f"{metric!r} is a distance of {named.least} numbers; {advice}"
        )
    if named.needs_total:
        empty = ~np.any(x, axis=1)
        if np.any(empty):
            row = Row(int(np.argmax(empty)))
            raise InvalidInput(
                f"the table, {row}: all entries are 0, and {metric!r} compares shares of a row; "
                "leave it out",
                row,
            )
    if metric == "chi-square" and np.any(~np.any(x, axis=0)):
        j = int(np.argmin(np.any(x, axis=0)))
        raise InvalidInput(
            f"the table, column {j if names is None else repr(names[j])}: all entries are 0, and "
            "'chi-square' divides by the share of the column; leave it out"
        )
    return x


def _has_columns(table: Any) -> bool:
    """Whether a table has columns of its own types, by name."""
    is_frame = hasattr(table, "columns") and not callable(table.columns)
    return isinstance(table, Mapping) or is_frame or hasattr(table, "roles")


def _mixed(table: Any) -> Array:
    """Return Gower's distances of a table with columns of numbers and of labels."""
    given = table_rows(table)
    used = {n: c for n, c in given.columns.items() if given.roles.get(n) not in NOT_COMPARED}
    if not used:
        raise InvalidInput("the table has no column of numbers or labels to compare rows by")
    n = len(given)
    found = np.zeros((n, n))
    for name, values in used.items():
        is_number, column = _column(name, np.asarray(values))
        for rows in chunks(n, max(1, PANEL // n)):
            part = column[rows]
            found[rows] += _of_range(part, column, column) if is_number else part[:, None] != column
    return found / len(used)


def _column(name: str, values: Array) -> tuple[bool, Array]:
    """Return whether a column holds numbers, and these, or labels as numbers from 0."""
    if values.dtype.kind in "iufb":
        numbers = values.astype(np.float64)
        refuse_non_finite(numbers, f"the table: {name!r}")
        return True, numbers
    for row, label in enumerate(values.tolist()):
        if is_missing(label):
            raise InvalidInput(
                f"the table: {name!r} has no label in {Row(row)}; give the missing ones a level",
                Row(row),
            )
    return False, np.unique([str(v) for v in values.tolist()], return_inverse=True)[1]
