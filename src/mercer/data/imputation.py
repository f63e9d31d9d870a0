"""Missing numbers put in by the principal axes of the others, and how far to trust them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array, power_of_two
from mercer.display import Shown, warn
from mercer.errors import DataWarning, InvalidInput, InvalidParameter
from mercer.points import read_only
from mercer.progress import Progress, follow_work
from mercer.settings import RandomState, is_yes, number, seed_of, whole

AXES = 2
"""Axes by which numbers are put in where nothing is asked for."""

STEPS = 1_000
"""Steps of the iteration at most."""

SPREAD_STEPS = 100
"""Steps of it for each table that is drawn: its error is far below the spread that is shown."""

ROUNDING = 64.0 * float(np.finfo(float).eps)
"""A deviation below this share of a column's largest entry is rounding: the column is constant."""


@dataclass(frozen=True, eq=False, repr=False)
class Imputation(Shown):
    """A table whose missing numbers were put in, and how much they vary over plausible tables.

    ``values`` is the whole table, ``is_missing`` says which cells were put in, and ``spread`` is
    the standard deviation of each of them over ``tables``, which were drawn from what the known
    numbers leave open; it is 0 where a number was known, and None where no table was drawn.
    ``noise`` is the standard deviation of what the axes leave, in units of those of columns where
    these were standardised.

    >>> import numpy as np
    >>> import mercer as mc
    >>> x = mc.datasets.iris().matrix().copy()
    >>> x[::10, 2] = np.nan
    >>> found = mc.data.impute(x, 2, tables=5, random_state=0)
    >>> found.count, found.has_converged
    (15, True)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "count": "of numbers put in",
        "axes": "by which they were found",
        "noise": "of a number about the axes, in standard deviations of standardised columns",
        "steps": "of the iteration",
        "has_converged": "whether a further step would change next to nothing",
    }

    values: Array
    is_missing: Array
    axes: int
    is_regularised: bool
    noise: float
    steps: int
    has_converged: bool
    spread: Array | None
    tables: Array | None
    seed: int | None

    @property
    def count(self) -> int:
        """How many numbers were missing."""
        return int(self.is_missing.sum())

    def _title(self) -> str:
        n, p = self.values.shape
        return f"Imputation of {self.count} of {n * p} numbers"

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype=dtype or np.float64, copy=bool(copy))


def impute(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    table: Any,
    axes: int = AXES,
    *,
    standardize: bool = True,
    regularised: bool = True,
    tables: int = 0,
    tol: float = 1e-9,
    random_state: RandomState = None,
    progress: bool | Progress | None = None,
) -> Imputation:
    r"""Put numbers where some are missing, by the principal axes of the table itself.

    .. math:: \min_{F, V} \sum_{ij\ \text{known}} \Big(z_{ij} - \sum_{s \le S} F_{is} V_{js}\Big)^2,
        \quad \hat z_{ij} = \sum_{s \le S} \frac{\lambda_s - \hat\sigma^2}{\lambda_s} F_{is} V_{js}

    on columns that are centred and, with ``standardize``, divided by their standard deviations.
    Missing cells are given the mean of their column, then those of S axes of the filled table,
    until they stay. Regularised, each axis is shrunk by the share of noise in its inertia
    :math:`\lambda_s`, which keeps the iteration from fitting noise where much is missing:

    .. math:: \hat\sigma^2 = \min\Big(\lambda_{S+1},\; \frac{np}{\min(p, n - 1)}
        \frac{\sum_{s > S} \lambda_s}{(n - 1 - S)(p - S)}\Big)

    Without, factors are 1. With 0 axes the numbers are the means of columns.

    Parameters
    ----------
    table : array or data frame of numbers, NaN where one is missing
    axes : int
        S, at most one less than there are columns and rows less one; `choose_dimension` with
        ``rule="cross-validation"`` proposes a number.
    tables : int
        How many plausible tables are drawn to show the ``spread``: in each the residuals of known
        cells are drawn again, the axes are found anew, and noise is added to what is put in.
    tol : float
        Change of a step, as a share of the standard deviation of columns, at which it ends.
    random_state : int, generator or None
        The seed of the tables.
    progress : bool, function or None
        Whether to tell how many tables are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.outer([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, -1.0, 2.0])
    >>> x[3, 2] = np.nan
    >>> found = impute(x, 1, regularised=False)
    >>> [round(float(each.values[3, 2]), 4) for each in (found, impute(x, 0))]
    [8.0, 5.5]

    Josse & Husson, Journal de la Société Française de Statistique 153 (2012) 79-99; Josse, Pagès &
    Husson, Advances in Data Analysis and Classification 5 (2011) 231-246.
    """
    x, holes = _read(table)
    is_yes(standardize, "standardize")
    is_yes(regularised, "regularised")
    count = whole(axes, "axes")
    most = min(len(x) - 2, x.shape[1] - 1)
    if count > max(most, 0):
        raise InvalidParameter(
            f"axes must be at most {max(most, 0)} for {len(x)} rows and {x.shape[1]} columns, "
            f"found {axes!r}"
        )
    drawn = whole(tables, "tables")
    limit = number(tol, "tol", above=0.0)
    unit = power_of_two(x[~holes])
    engine = _Iteration(holes, count, standardize, regularised, limit)
    filled = engine.run(x / unit, STEPS)
    if not filled.has_converged:
        warn(
            f"after {STEPS} steps the missing numbers still move by more than tol={limit:g}; take "
            "fewer axes, or regularised=True",
            DataWarning,
        )
    seed = seed_of(random_state) if drawn else None
    with follow_work(progress, "tables") as tell:
        found = None if seed is None else engine.draws(filled, drawn, seed, tell)
    spread = None if found is None else unit * np.where(holes, found.std(axis=0), 0.0)
    return Imputation(
        values=read_only(np.where(holes, unit * filled.values, x)),
        is_missing=read_only(holes),
        axes=count,
        is_regularised=regularised,
        noise=filled.noise * (1.0 if standardize else unit),
        steps=filled.steps,
        has_converged=filled.has_converged,
        spread=None if spread is None else read_only(spread),
        tables=None if found is None else read_only(unit * found),
        seed=seed,
    )


def _read(table: Any) -> tuple[Array, Array]:
    """Return a table of numbers and where it has none, or say which column or row is empty."""
    given = table.numbers if hasattr(table, "numbers") else table
    try:
        x = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"the table must hold numbers, NaN where one is missing: {error}"
        ) from None
    if x.ndim != 2 or 0 in x.shape:
        raise InvalidInput(f"the table must have rows and columns, found shape {x.shape}")
    infinite = np.isinf(x)
    if infinite.any():
        i, j = (int(k) for k in np.argwhere(infinite)[0])
        raise InvalidInput(f"the table, row {i}, column {j} is infinite, which is no number")
    holes = np.isnan(x)
    for axis, what in ((0, "column"), (1, "row")):
        empty = holes.all(axis=axis)
        if empty.any():
            raise InvalidInput(
                f"{what} {int(np.argmax(empty))} of the table has no number at all; leave it out"
            )
    return x, holes


@dataclass(frozen=True)
class _Filled:
    values: Array
    fitted: Array
    scale: Array
    noise: float
    steps: int
    has_converged: bool


@dataclass(frozen=True)
class _Iteration:
    """The steps that put in missing numbers by so many axes."""

    holes: Array
    axes: int
    standardize: bool
    regularised: bool
    tol: float

    def run(self, x: Array, most: int) -> _Filled:
        """Return the table filled, begun with the means of columns."""
        known = ~self.holes
        means = np.sum(np.where(known, x, 0.0), axis=0) / known.sum(axis=0)
        filled = np.where(known, x, means)
        steps, is_still = 0, not self.holes.any() or self.axes == 0
        fitted, scale, noise = self._fit(filled)
        while not is_still and steps < most:
            moved = np.where(known, x, fitted)
            change = np.sqrt(np.mean(((moved - filled)[self.holes] / self._scales(scale)) ** 2))
            filled, steps, is_still = moved, steps + 1, bool(change <= self.tol)
            fitted, scale, noise = self._fit(filled)
        return _Filled(filled, fitted, scale, noise, steps, is_still)

    def _scales(self, scale: Array) -> Array:
        return np.asarray(np.broadcast_to(scale, self.holes.shape)[self.holes])

    def _fit(self, filled: Array) -> tuple[Array, Array, float]:
        """Return what the axes show of a whole table, the scales of columns, and the noise."""
        n, p = filled.shape
        means = filled.mean(axis=0)
        away = filled - means
        deviations = np.sqrt(np.mean(away**2, axis=0))
        is_flat = deviations <= ROUNDING * np.max(np.abs(filled), axis=0)
        scale = np.where(is_flat, 1.0, deviations) if self.standardize else np.ones(p)
        left, sizes, right = np.linalg.svd(away / scale, full_matrices=False)
        inertias, S = sizes**2 / n, self.axes
        # The noise of a cell: what is left, by the cells that neither axes nor means account for.
        free, left_over = (n - 1 - S) * (p - S), n * float(np.sum(inertias[S:]))
        noise = np.sqrt(left_over / free) if free > 0 else 0.0
        factors = np.ones(S)
        if self.regularised and S:
            following = float(inertias[S]) if len(inertias) > S else 0.0
            share = min(noise**2 * p / min(p, n - 1), following)
            positive = np.where(inertias[:S] > 0, inertias[:S], 1.0)
            factors = np.maximum(inertias[:S] - share, 0.0) / positive
        fitted = (left[:, :S] * (sizes[:S] * factors)) @ right[:S] * scale + means
        # What was put in lies on the axes and leaves nothing: only known cells tell of the noise.
        known = max(free - int(np.sum(self.holes)), 1)
        return np.asarray(fitted), scale, float(np.sqrt(left_over / known)) if free > 0 else 0.0

    def draws(self, filled: _Filled, count: int, seed: int, tell: Progress | None) -> Array:
        """Return plausible tables: residuals drawn again, axes found anew, noise put in."""
        known = ~self.holes
        residuals = ((filled.values - filled.fitted) / filled.scale)[known]
        size = np.sqrt(np.mean(residuals**2)) if residuals.size else 0.0
        residuals = residuals * (filled.noise / size if size > 0 else 1.0)
        found = np.empty((count, *self.holes.shape))
        for r in range(count):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(r,)))
            again = filled.fitted + filled.scale * rng.choice(residuals, self.holes.shape)
            anew = self.run(np.where(known, again, np.nan), SPREAD_STEPS)
            noise = filled.scale * rng.normal(scale=filled.noise, size=self.holes.shape)
            found[r] = np.where(known, filled.values, anew.fitted + noise)
            if tell is not None:
                tell(r + 1, count)
        return found
