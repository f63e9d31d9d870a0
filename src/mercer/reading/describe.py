"""What each axis means: the variables and categories linked with it, tested and put into words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betainc, chdtrc

from mercer.check import Array, InvalidInput, InvalidParameter, number, whole
from mercer.data.reading import read
from mercer.data.table import Role, Table, as_labels
from mercer.estimator import one_of, require_fit
from mercer.kernels.tables import columns_read
from mercer.reading.links import AxesDescription, AxisDescription, Link, notes_on
from mercer.reading.tidy import library_of
from mercer.reading.values import Categories, correlations
from mercer.reading.wording import clean, listing

DESCRIBED = 5
"""Axes that are described unless a number is asked for."""

MISSING = "(missing)"
"""The category of individuals without a label."""

NAMED = 5
"""Columns that a note names before it only counts."""

CORRECTIONS = ("holm", "benjamini-hochberg", None)


def describe_axes(
    model: Any,
    table: Any = None,
    *,
    axes: int | None = None,
    level: float = 0.05,
    correction: str | None = "holm",
) -> AxesDescription:
    r"""Say which variables and categories characterise each axis.

    A number is tested by its correlation r with the axis, a factor by the share η² of the axis
    that its categories account for, a category by its v-test. With N individuals and Q categories

    .. math:: t = r \sqrt{\frac{N - 2}{1 - r^2}} \sim t_{N-2}, \quad
        F = \frac{\eta^2 / (Q - 1)}{(1 - \eta^2) / (N - Q)} \sim F_{Q-1,\,N-Q}, \quad
        v \sim \mathcal N(0, 1)

    where the variable has nothing to do with the axis: the laws of t and F are exact for normal
    scores, that of v is the limit of drawing members at random. Correlations and means are
    weighted, and N counts the individuals with a weight. Axes that share one inertia are arbitrary
    within their space, which is described as a whole: by multiple correlations, Pillai's trace
    :math:`\sum_k \eta^2_k` and the squared length :math:`\sum_k v_k^2 \sim \chi^2`.

    Parameters
    ----------
    model
        A fitted model with axes.
    table : data frame, mapping, Table or array, optional
        Columns for the individuals of the fit, numbers or labels. By default the variables that
        the axes were made of.
    axes : int, optional
        How many axes to describe, by default up to 5.
    level : float
        Sentences name the links whose corrected p-value is at most this.
    correction : {"holm", "benjamini-hochberg", None}
        Of the p-values of all tests together, those of active variables apart from others. Holm's
        keeps the probability of any false link within ``level``, whatever their dependence; that
        of Benjamini and Hochberg the expected share of false ones, where dependence is positive.

    Notes
    -----
    An axis is made of the active variables, so that even noise is correlated with it: their
    p-values rank links and do not test them. `permutation_importance` does.

    Examples
    --------
    >>> import mercer as mc
    >>> x = np.column_stack([np.arange(8.0), [1.0, -1.0, -1.0, 1.0] * 2])
    >>> found = describe_axes(mc.PCA().fit(x), {"size": x[:, 0], "half": list("aaaabbbb")})
    >>> found.axes[0].title, found.axes[0].sentences[0]
    ('Axis 1 (84 % of the inertia)', 'It falls with size (r = −1).')
    >>> found.table()["measure"][:4].tolist()
    ['correlation', 'eta2', 'v_test', 'v_test']
    """
    level = number(level, "level", above=0.0)
    one_of(correction, "correction", CORRECTIONS)
    count = DESCRIBED if axes is None else whole(axes, "axes", least=1)
    scores = Scores.of(model)
    columns, left_out = _columns(model, table, len(scores.weights))
    found, more = _tested(scores, columns, scores.spaces(count))
    p_values = iter(_corrected_by_kind([a for links in found for a in links], correction))
    described = tuple(
        AxisDescription(
            tuple(k + 1 for k in space.axes),
            space.share,
            space.is_whole,
            tuple(replace(link, corrected=next(p_values)) for link in links),
            level,
        )
        for space, links in zip(scores.spaces(count), found, strict=True)
    )
    notes = (*notes_on(described, correction, level), *left_out, *more)
    library = library_of(table) or getattr(model, "_library", None)
    return AxesDescription(described, correction, level, notes, library)


def _corrected_by_kind(links: list[Link], how: str | None) -> list[float]:
    """Return corrected p-values; those of variables that made the axes are no tests of others."""
    p, is_active = np.array([(a.p_value, a.is_active) for a in links]).reshape(-1, 2).T
    result = np.empty(len(links))
    for kind in (is_active == 1.0, is_active == 0.0):
        result[kind] = corrected(p[kind], how)
    return [float(value) for value in result]


def corrected(p_values: Array, how: str | None) -> Array:
    r"""Return p-values corrected for their number m.

    .. math:: \text{Holm:}\; \max_{l \le i} (m - l + 1)\, p_{(l)}, \quad
        \text{Benjamini–Hochberg:}\; \min_{l \ge i} \tfrac{m}{l}\, p_{(l)}

    >>> p = np.array([0.01, 0.04, 0.03])
    >>> corrected(p, "holm"), corrected(p, "benjamini-hochberg")
    (array([0.03, 0.06, 0.06]), array([0.03, 0.04, 0.04]))
    """
    m = len(p_values)
    if how is None or m == 0:
        return p_values
    order = np.argsort(p_values, kind="stable")
    rank = np.arange(1, m + 1)
    if how == "holm":
        sorted_ = np.maximum.accumulate((m - rank + 1) * p_values[order])
    else:
        sorted_ = np.minimum.accumulate((m / rank * p_values[order])[::-1])[::-1]
    result = np.empty(m)
    result[order] = np.minimum(sorted_, 1.0)
    return result


def trace_p_value(trace: float, responses: int, terms: int, rest: int) -> float:
    r"""Return the p-value of Pillai's trace V, by its law of F.

    .. math:: F = \frac{V / a}{(s - V) / b}, \quad s = \min(p, q),\; a = s \max(p, q),\;
        b = s (\nu - p + s)

    with p responses, q terms and ν degrees of freedom for the error. One response, or one term,
    makes it exact: the tests of η² and of r² (with one term, ν = N - 2). It is 1 where too few
    individuals are left to test anything.

    >>> from scipy.stats import pearsonr
    >>> x, y = [1.0, 2.0, 3.0, 5.0], [1.0, 3.0, 2.0, 6.0]
    >>> r, p = map(float, pearsonr(x, y))
    >>> abs(trace_p_value(r**2, 1, 1, 2) - p) < 1e-12
    True
    """
    s = min(responses, terms)
    a, b = s * max(responses, terms), s * (rest - responses + s)
    if s < 1 or b <= 0:
        return 1.0
    return float(betainc(0.5 * b, 0.5 * a, min(max(1.0 - trace / s, 0.0), 1.0)))


@dataclass(frozen=True)
class Space:
    """Axes that are read together, counted from 0; not whole where one of them is not known."""

    axes: tuple[int, ...]
    share: float | None
    is_whole: bool = True


@dataclass(frozen=True, eq=False)
class Scores:
    """The coordinates of individuals on axes, with what is needed to test links with them."""

    coordinates: Array
    weights: Array
    inertias: Array
    unit: float
    shares: Array | None
    clusters: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, model: Any) -> Scores:
        """Read a fitted model with axes, or the map of one without inertias."""
        clusters = getattr(getattr(model, "spectrum_", None), "clusters", ())
        if hasattr(model, "individuals_"):
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

    def correlations(self, values: Array, known: Array) -> Array:
        """Return the correlations of columns, over the individuals whose values are known."""
        weights = self.weights[known]
        r, _ = correlations(values[known], self.coordinates[known], weights / weights.sum())
        return r

    def categories(self, name: str, labels: Array) -> Categories:
        """Return the categories of a factor that individuals with a weight have."""
        levels = sorted({str(v) for v in labels[self.weights > 0]})
        members = np.column_stack([labels == level for level in levels]).astype(np.float64)
        weights = self.weights @ members
        return Categories(
            coordinates=(self.weights[:, None] * members / weights).T @ self.coordinates,
            squared_distances=np.zeros(len(levels)),
            levels=tuple(levels),
            variables_of=(name,) * len(levels),
            counts=members[self.weights > 0].sum(axis=0).astype(int),
            weights=weights,
            inertias=self.inertias,
            total=int(np.sum(self.weights > 0)),
            unit=self.unit,
        )


@dataclass(frozen=True, eq=False)
class Column:
    """A column to be tested: its correlations where they are known, numbers, or labels."""

    name: str
    is_active: bool
    numbers: Array | None = None
    labels: Array | None = None
    correlations: Array | None = None


def _columns(model: Any, table: Any, count: int) -> tuple[list[Column], list[str]]:
    """Return the columns that can be tested, and sentences on those that cannot."""
    if table is None:
        try:
            variables = model.variables_
        except (AttributeError, InvalidParameter):
            raise InvalidInput(
                "these individuals are not rows of variables; give describe_axes a table with "
                "columns for them"
            ) from None
        pairs = zip(variables.names, variables.correlations, strict=True)
        return [Column(str(name), True, correlations=r) for name, r in pairs], []
    data = _as_table(table)
    if len(data) != count:
        raise InvalidInput(
            f"the table has {len(data)} rows and the model {count} individuals: give the table "
            "that the model was fitted on"
        )
    active = _active(model)
    columns, skipped = [], []
    for column in data.columns():
        if column.role is Role.NUMBER:
            columns.append(Column(column.name, column.name in active, numbers=column.values))
        elif column.role is Role.FACTOR and len(column.levels) < count:
            words = [MISSING if v is None else v for v in as_labels(column.values.tolist())]
            labels = np.array(words, dtype=object)
            columns.append(Column(column.name, column.name in active, labels=labels))
        elif column.role is not Role.IDENTIFIER:
            skipped.append(clean(column.name) or "a column without a name")
    names = listing(skipped, NAMED) if skipped else ""
    return columns, [f"Neither numbers nor categories, and left out: {names}."] if skipped else []


def _active(model: Any) -> set[str]:
    """Return the columns that the axes were made of."""
    kernel = getattr(model, "kernel_", None)
    if kernel is not None and kernel.reads_rows:
        return set(columns_read(kernel))
    return {str(name) for name in getattr(model, "_columns", ())}


def _as_table(table: Any) -> Table:
    if isinstance(table, Mapping):
        return Table.of(table)
    return read(table, "table", missing="keep")


def _tested(
    scores: Scores, columns: list[Column], spaces: list[Space]
) -> tuple[list[list[Link]], list[str]]:
    """Return the links of each space, and sentences on columns without variance or with holes."""
    found: list[list[Link]] = [[] for _ in spaces]
    constant, holed = [], []
    for column, r, individuals, between in _numbers(scores, columns):
        if not np.all(np.isfinite(r)):
            constant.append(clean(column.name))
            continue
        if individuals < int(np.sum(scores.weights > 0)):
            holed.append(clean(column.name))
        for links, space in zip(found, spaces, strict=True):
            at = list(space.axes)
            links.append(_of_number(column, r[at], individuals, between[np.ix_(at, at)]))
    for column in columns:
        if column.labels is not None:
            categories = scores.categories(column.name, column.labels)
            if len(categories) < 2:
                constant.append(clean(column.name))
                continue
            for links, space in zip(found, spaces, strict=True):
                links.extend(_of_factor(categories, list(space.axes), column.is_active))
    sentences = []
    if constant:
        names = listing(constant, NAMED)
        sentences.append(f"The same for everyone, and left out: {names}.")
    if holed:
        names = listing(holed, NAMED)
        sentences.append(f"Over the individuals whose value is known only: {names}.")
    return found, sentences


def _numbers(scores: Scores, columns: list[Column]) -> Iterator[tuple[Column, Array, int, Array]]:
    """Yield the correlations of each column of numbers, and how many individuals they rest on.

    Last come the correlations between the axes among these: they are 0 over all individuals only.
    """
    active, apart = scores.weights > 0, np.eye(scores.coordinates.shape[1])
    numeric = [c for c in columns if c.numbers is not None]
    complete = [c for c in numeric if np.all(np.isfinite(np.asarray(c.numbers, float)))]
    every = np.ones(len(active), dtype=bool)
    r = dict(zip(complete, _stacked(scores, complete, every), strict=True))
    for column in columns:
        if column.correlations is not None:
            yield column, column.correlations, int(active.sum()), apart
        elif column in r:
            yield column, r[column], int(active.sum()), apart
        elif column.numbers is not None:
            known = np.isfinite(np.asarray(column.numbers, float))
            individuals = int(np.sum(known & active))
            if individuals < 2:
                yield column, np.full(len(apart), np.nan), individuals, apart
            else:
                between = np.nan_to_num(scores.correlations(scores.coordinates, known))
                yield column, _stacked(scores, [column], known)[0], individuals, between


def _stacked(scores: Scores, columns: list[Column], known: Array) -> Array:
    if not columns:
        return np.zeros((0, scores.coordinates.shape[1]))
    numbers = [np.asarray(c.numbers, dtype=np.float64) for c in columns]
    return scores.correlations(np.column_stack(numbers), known)


def _of_number(column: Column, r: Array, individuals: int, between: Array) -> Link:
    trace = float(r @ np.linalg.pinv(between, hermitian=True) @ r) if len(r) > 1 else float(r @ r)
    value = float(r[0]) if len(r) == 1 else float(np.sqrt(min(trace, 1.0)))
    p = trace_p_value(trace, len(r), 1, individuals - 2)
    return Link(column.name, None, "correlation", value, p, column.is_active)


def _of_factor(categories: Categories, axes: list[int], is_active: bool) -> Iterator[Link]:
    name, Q, N = categories.variables[0], len(categories), categories.total
    trace = float(categories.eta2[0, axes].sum())
    p = trace_p_value(trace, len(axes), Q - 1, N - Q)
    yield Link(name, None, "eta2", trace / len(axes), p, is_active)
    for level, v in zip(categories.levels, categories.v_test[:, axes], strict=True):
        length = float(v[0]) if len(axes) == 1 else float(np.sqrt(v @ v))
        p = float(chdtrc(len(axes), length**2))
        yield Link(name, level, "v_test", length, p, is_active)
