"""What each axis means: the variables and categories linked with it, tested and put into words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np
from scipy.special import betainc, binom, chdtrc

from mercer.check import Array
from mercer.data.files import read
from mercer.data.frames import library_of
from mercer.data.missing import MISSING_LEVEL
from mercer.data.table import Role, Table, as_labels
from mercer.display import column_name, listing
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import one_of
from mercer.kernels.tables import columns_read
from mercer.points import Rows
from mercer.progress import Progress, follow_work
from mercer.reading.contributions_and_v_tests import Categories
from mercer.reading.links import AxesDescription, AxisDescription, Link, Scores, Space, notes_on
from mercer.resampling import CORRECTIONS, Resampling, adjusted_p_values, by_permutation
from mercer.settings import LEVEL, RandomState, first_axes, level_of, spelled, whole

DESCRIBED = 5
"""Axes that are described unless a number is asked for."""

NAMED = 5
"""Columns that a note names before it only counts."""

FEWEST = 3
"""Individuals without whom a correlation is ±1, or nothing."""


@spelled
def describe_axes(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    model: Any,
    table: Any = None,
    *,
    axes: int | Sequence[int] | None = None,
    level: float = LEVEL,
    correction: str | None = "holm",
    permutations: int | None = None,
    counted: int | None = None,
    random_state: RandomState = None,
    progress: bool | Progress | None = None,
) -> AxesDescription:
    r"""Say which variables and categories characterise each axis.

    A number is tested by its correlation r with the axis, a factor by the share η² of the axis
    that its categories account for, a category by its v-test. With N individuals and Q categories

    .. math:: t = r \sqrt{\frac{N - 2}{1 - r^2}} \sim t_{N-2}, \quad
        F = \frac{\eta^2 / (Q - 1)}{(1 - \eta^2) / (N - Q)} \sim F_{Q-1,\,N-Q}, \quad
        v \sim \mathcal N(0, 1)

    where the variable has nothing to do with the axis: the laws of t and F are exact for normal
    scores, that of v is the limit of drawing members at random. Its p-value is no smaller than
    that of one draw among all, so that few members prove little. Axes that share one inertia are
    arbitrary within their space, which is described as a whole: by multiple correlations, Pillai's
    trace :math:`\sum_k \eta^2_k` and the squared length :math:`\sum_k v_k^2 \sim \chi^2`.

    Correlations and means are weighted. Unequal weights say less than as many equal ones: p-values
    are then those of fewer individuals, see `Scores.effective`.

    Parameters
    ----------
    model
        A fitted model with axes.
    table : data frame, mapping, Table or array, optional
        Columns for the individuals of the fit, numbers or labels. By default the variables that
        the axes were made of.
    axes : int or sequence, optional
        How many axes to describe, by default up to 5.
    level : float
        Sentences name the links whose corrected p-value is at most this.
    correction : {"holm", "benjamini-hochberg", None}
        Of the p-values of all tests together, those of active variables apart from others. Holm's
        keeps the probability of any false link within ``level``, whatever their dependence; that
        of Benjamini and Hochberg the expected share of false ones, where dependence is positive.
    permutations : int, optional
        Where laws are in doubt, as for axes that few individuals make, find the p-values of what
        did not make the axes by so many permutations of the individuals instead. Holm's rule then
        becomes that of Westfall and Young, for which 999 are enough for any number of tests.
    counted : int, optional
        Where the weights of the fit say how often each row was seen, the total that was counted:
        tests are then of so many individuals, and not of rows.
    random_state : int or generator, optional
        The seed of the permutations.
    progress : bool or function, optional
        True for a line on the standard error, or a function of the permutations done and all.

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

    Lê, Josse and Husson (2008), whose ``dimdesc`` it is.
    """
    level = level_of(level)
    one_of(correction, "correction", CORRECTIONS)
    count = DESCRIBED if axes is None else first_axes(axes)
    R = None if permutations is None else whole(permutations, "permutations", least=1)
    seed = None
    N = None if counted is None else whole(counted, "counted", least=1)
    scores = replace(Scores.of(model), counted=N)
    columns, left_out = _columns(model, table, len(scores.weights))
    spaces = scores.spaces(count)
    found, more = _tested(scores, columns, spaces)
    links = _corrected_by_kind([link for part in found for link in part], correction)
    if R is not None:
        with follow_work(progress, "permutations") as tell:
            draws = Resampling.of(R, random_state, threads=1, progress=tell)
            links = _by_permutation(scores, columns, spaces, links, correction, draws)
        seed = draws.seed
    following = iter(links)
    described = tuple(
        AxisDescription(
            tuple(k + 1 for k in space.axes),
            space.share,
            space.is_whole,
            tuple(next(following) for _ in part),
            level,
        )
        for space, part in zip(spaces, found, strict=True)
    )
    notes = (*notes_on(described, correction, level, R), *left_out, *more)
    library = library_of(table) or getattr(model, "_library", None)
    return AxesDescription(described, correction, level, notes, library, seed)


def _corrected_by_kind(links: list[Link], how: str | None) -> list[Link]:
    """Correct p-values; those of variables that made the axes are no tests of others."""
    p, is_active = np.array([(a.p_value, a.is_active) for a in links]).reshape(-1, 2).T
    result = np.empty(len(links))
    for kind in (is_active == 1.0, is_active == 0.0):
        result[kind] = adjusted_p_values(p[kind], how)
    return [replace(a, corrected=float(value)) for a, value in zip(links, result, strict=True)]


def _by_permutation(  # noqa: PLR0913  (what is tested, and how)
    scores: Scores,
    columns: list[TestedColumn],
    spaces: list[Space],
    links: list[Link],
    how: str | None,
    draws: Resampling,
) -> list[Link]:
    """Find the p-values of what did not make the axes by permutations of the individuals."""
    scores, rows = scores.one_by_one()
    others = [c.of(rows) for c in columns if not c.is_active]
    at = [i for i, link in enumerate(links) if not link.is_active]
    law = _p_values(_tested(scores, others, spaces)[0])
    rng = np.random.default_rng(draws.seed)
    null = np.ones((draws.count, len(law)))
    shuffled = (scores.shuffled(rng) for _ in null)

    def work(moved: Scores, stop: Event) -> list[float]:
        # Scores may be alike among the few for whom a column is known: no link, and p = 1.
        found = _p_values(_tested(moved, others, spaces)[0])
        return [found.get(test, 1.0) for test in law]

    with closing(draws.in_order(work, shuffled)) as results:
        for done, row in enumerate(results):
            null[done] = row
            if draws.progress is not None:
                draws.progress(done + 1, draws.count)
    alone, together = by_permutation(np.array(list(law.values())), null)
    adjusted = together if how == "holm" else adjusted_p_values(alone, how)
    changed = dict(zip(at, zip(alone, adjusted, strict=True), strict=True))
    return [
        replace(link, p_value=float(changed[i][0]), corrected=float(changed[i][1]))
        if i in changed
        else link
        for i, link in enumerate(links)
    ]


def _p_values(found: list[list[Link]]) -> dict[tuple[int, str, str | None], float]:
    """Return the p-value of each test by its space, variable and category."""
    return {(i, a.variable, a.category): a.p_value for i, part in enumerate(found) for a in part}


def trace_p_value(trace: float, responses: int, terms: int, rest: float) -> float:
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


@dataclass(frozen=True, eq=False)
class TestedColumn:
    """A column to be tested: its correlations where they are known, numbers, or labels."""

    name: str
    is_active: bool
    numbers: Array | None = None
    labels: Array | None = None
    correlations: Array | None = None

    def of(self, rows: Array) -> TestedColumn:
        """Return the values of some rows, or of the same several times."""
        numbers, labels = (v if v is None else v[rows] for v in (self.numbers, self.labels))
        return replace(self, numbers=numbers, labels=labels)


def _columns(model: Any, table: Any, count: int) -> tuple[list[TestedColumn], list[str]]:
    """Return the columns that can be tested, and sentences on those that cannot."""
    if table is None and isinstance(getattr(model, "X_fit_", None), Rows):
        table = model.X_fit_.columns
    if table is None:
        try:
            variables = model.variables_
        except (AttributeError, InvalidParameter):
            raise InvalidInput(
                "these individuals are not rows of variables; give describe_axes a table with "
                "columns for them"
            ) from None
        pairs = zip(variables.names, variables.correlations, strict=True)
        return [TestedColumn(str(name), True, correlations=r) for name, r in pairs], []
    active, data = _active(model), _as_table(table)
    if isinstance(table, Mapping):
        active |= {
            part for name, block in _blocks(table).items() if name in active for part in block
        }
    if len(data) != count:
        raise InvalidInput(
            f"the table has {len(data)} rows and the model {count} individuals: give the table "
            "that the model was fitted on"
        )
    columns, skipped, names_of_rows = [], [], []
    for column in data.columns():
        if column.role is Role.NUMBER:
            columns.append(TestedColumn(column.name, column.name in active, numbers=column.values))
        elif column.role is Role.FACTOR and len(column.levels) < count:
            words = [MISSING_LEVEL if v is None else v for v in as_labels(column.values.tolist())]
            labels = np.array(words, dtype=object)
            columns.append(TestedColumn(column.name, column.name in active, labels=labels))
        elif column.role is Role.FACTOR:
            names_of_rows.append(column.name)
        elif column.role is not Role.IDENTIFIER:
            skipped.append(column.name)
    return columns, [
        *_left_out("Different for everyone", names_of_rows),
        *_left_out("Neither numbers nor categories", skipped),
    ]


def _left_out(why: str, names: list[str]) -> list[str]:
    listed = listing([column_name(name) for name in names], NAMED) if names else ""
    return [f"{why}, and left out: {listed}."] if names else []


def _active(model: Any) -> set[str]:
    """Return the columns that the axes were made of."""
    kernel = getattr(model, "kernel_", None)
    if kernel is not None and kernel.reads_rows:
        return set(columns_read(kernel))
    return {str(name) for name in getattr(model, "_columns", ())}


def _as_table(table: Any) -> Table:
    if not isinstance(table, Mapping):
        return read(table, "table", missing="keep")
    blocks = _blocks(table)
    columns: dict[str, Any] = {}
    for name, column in table.items():
        columns |= blocks.get(str(name), {str(name): column})
    return Table.of(columns)


def _blocks(table: Mapping[Any, Any]) -> dict[str, dict[str, Array]]:
    """Return the columns of each block of numbers, named by their place in it.

    >>> list(_blocks({"age": np.ones(4), "genes": np.ones((4, 2))})["genes"])
    ['genes[0]', 'genes[1]']
    """
    given = {str(name): c for name, c in table.items() if len(np.shape(c)) == 2}
    found = {name: np.asarray(column) for name, column in given.items()}
    return {
        name: {f"{name}[{j}]": block[:, j] for j in range(block.shape[1])}
        for name, block in found.items()
        if block.dtype.kind in "biuf"
    }


def _tested(
    scores: Scores, columns: list[TestedColumn], spaces: list[Space]
) -> tuple[list[list[Link]], list[str]]:
    """Return the links of each space, and sentences on columns that say nothing or have holes."""
    found: list[list[Link]] = [[] for _ in spaces]
    constant: list[str] = []
    unknown: list[str] = []
    holed: list[str] = []
    for column, r, known, between in _numbers(scores, columns):
        individuals = scores.count if known is None else scores.individuals(known)
        if individuals < min(FEWEST, scores.count):
            unknown.append(column.name)
            continue
        if not np.all(np.isfinite(r)):
            constant.append(column.name)
            continue
        if individuals < scores.count:
            holed.append(column.name)
        for links, space in zip(found, spaces, strict=True):
            at = list(space.axes)
            M = scores.effective(at, known)
            links.append(_of_number(column, r[at], M, between[np.ix_(at, at)]))
    for column in columns:
        if column.labels is not None:
            categories = scores.categories(column.name, column.labels)
            if len(categories) < 2:
                is_unknown = categories.levels == (MISSING_LEVEL,)
                (unknown if is_unknown else constant).append(column.name)
                continue
            for links, space in zip(found, spaces, strict=True):
                links.extend(_of_factor(scores, categories, list(space.axes), column.is_active))
    sentences = [
        *_left_out("The same for everyone", constant),
        *_left_out("Known for too few individuals", unknown),
    ]
    if holed:
        names = listing([column_name(name) for name in holed], NAMED)
        sentences.append(f"Over the individuals whose value is known only: {names}.")
    return found, sentences


def _numbers(
    scores: Scores, columns: list[TestedColumn]
) -> Iterator[tuple[TestedColumn, Array, Array | None, Array]]:
    """Yield the correlations of each column of numbers, and for whom they are known, if not all.

    Last come the correlations between the axes among these: they are 0 over all individuals only.
    """
    active, apart = scores.weights > 0, np.eye(scores.coordinates.shape[1])
    numeric = [c for c in columns if c.numbers is not None]
    complete = [c for c in numeric if np.all(np.isfinite(np.asarray(c.numbers, float)))]
    every = np.ones(len(active), dtype=bool)
    r = dict(zip(complete, _stacked(scores, complete, every), strict=True))
    for column in columns:
        if column.correlations is not None:
            yield column, column.correlations, None, apart
        elif column in r:
            yield column, r[column], None, apart
        elif column.numbers is not None:
            known = np.isfinite(np.asarray(column.numbers, float))
            if not np.any(known & active):
                yield column, np.full(len(apart), np.nan), known, apart
            else:
                between = np.nan_to_num(scores.correlations(scores.coordinates, known))
                yield column, _stacked(scores, [column], known)[0], known, between


def _stacked(scores: Scores, columns: list[TestedColumn], known: Array) -> Array:
    if not columns:
        return np.zeros((0, scores.coordinates.shape[1]))
    numbers = [np.asarray(c.numbers, dtype=np.float64) for c in columns]
    return scores.correlations(np.column_stack(numbers), known)


def _of_number(column: TestedColumn, r: Array, individuals: float, between: Array) -> Link:
    trace = float(r @ np.linalg.pinv(between, hermitian=True) @ r) if len(r) > 1 else float(r @ r)
    value = float(r[0]) if len(r) == 1 else float(np.sqrt(min(trace, 1.0)))
    p = trace_p_value(trace, len(r), 1, individuals - 2)
    return Link(column.name, None, "correlation", value, p, column.is_active)


def _of_factor(
    scores: Scores, categories: Categories, axes: list[int], is_active: bool
) -> Iterator[Link]:
    name, Q = categories.variables[0], len(categories)
    trace = float(categories.eta2[0, axes].sum())
    p = trace_p_value(trace, len(axes), Q - 1, scores.effective(axes) - Q)
    yield Link(name, None, "eta2", trace / len(axes), p, is_active)
    one_draw = 1.0 / binom(categories.total, categories.counts)
    v_tests = categories.v_test[:, axes]
    p_values = np.maximum(chdtrc(len(axes), np.sum(v_tests**2, axis=1)), one_draw)
    parts = zip(categories.levels, v_tests, p_values, strict=True)
    for level, v, p in parts:
        length = float(v[0]) if len(axes) == 1 else float(np.sqrt(v @ v))
        yield Link(name, level, "v_test", length, float(p), is_active)
