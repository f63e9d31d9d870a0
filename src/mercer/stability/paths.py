"""Axes along a range of a parameter: spectra, aligned coordinates, and axes that change places."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter, ReadingWarning
from mercer.estimator import PRECOMPUTED, KernelModel, as_kernel, axes_asked, require_fit
from mercer.progress import Progress, follow_work
from mercer.reading.procrustes import match_axes, rotation
from mercer.settings import first_axes, numbers, spelled

BEYOND = 2
"""Axes found beyond those asked for: one of them may become one of the first."""

CLEAR = 0.5
"""A squared overlap of an axis with its match below this says that axes mix, or that a step is
too long to follow them."""


@dataclass(frozen=True, repr=False)
class Crossing(Shown):
    """Two axes that exchange their order between two values of a parameter.

    ``axes`` are their numbers at the first value of the path, ``at`` is where their inertias are
    equal if their logarithms are linear in between, ``is_clear`` whether both were recognised.

    >>> import numpy as np
    >>> import mercer as mc
    >>> x, y = np.meshgrid(np.linspace(-1.0, 1.0, 12), np.linspace(-0.42, 0.42, 8))
    >>> grid = np.column_stack([x.ravel(), y.ravel()])
    >>> model = mc.KernelPCA(3, kernel=mc.Gaussian(1.0))
    >>> path = mc.parameter_path(model, grid, "kernel__bandwidth", np.geomspace(0.25, 1.5, 9))
    >>> path.crossings[0].axes
    (2, 3)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "axes": "at the first value of the path",
        "at": "where inertias are equal",
        "between": "values of the path",
        "is_clear": "whether both axes were recognised",
    }

    axes: tuple[int, int]
    between: tuple[float, float]
    at: float
    is_clear: bool

    def _title(self) -> str:
        return f"Crossing: {self}"

    def __str__(self) -> str:
        doubt = "" if self.is_clear else ", if they were followed rightly: they mix there"
        return f"axes {self.axes[0]} and {self.axes[1]} change places near {self.at:.4g}{doubt}"


@dataclass(frozen=True, eq=False, repr=False)
class ParameterPath(Shown):
    """The first axes of a model along the values of a parameter.

    Axes are numbered as at the first value and followed by the overlaps of their coordinates.

    Attributes
    ----------
    parameter, values : its name and what it was set to, or multiplied by
    inertias, totals : of the axes, values x axes, and of the whole
    ranks : the place of each axis at each value, from 1
    overlaps : squared overlap of each axis with itself at the value before; 1 at the first
    coordinates : values x individuals x axes, with signs that follow
    crossings : where two axes exchange their order, `Crossing`
    own : the value that the model itself has, None where it is not known
    is_factor : whether values multiply a parameter that has a number for each column

    >>> import mercer as mc
    >>> x, model = mc.datasets.iris().matrix(), mc.KernelPCA(2, kernel=mc.Gaussian(1.0))
    >>> found = mc.parameter_path(model, x, "kernel__bandwidth", [0.5, 1.0, 2.0])
    >>> found.shares.round(2)[:, 0], found.crossings
    (array([0.18, 0.39, 0.65]), ())
    """

    facts: ClassVar[Mapping[str, str]] = {
        "values": "of the parameter",
        "inertias": "of the axes along the path",
        "shares": "in the inertia",
        "overlaps": "of the spaces with the model's",
        "crossings": "of axes",
    }

    parameter: str
    values: Array
    inertias: Array
    totals: Array
    ranks: Array
    overlaps: Array
    coordinates: Array
    weights: Array
    crossings: tuple[Crossing, ...]
    own: float | None = None
    is_factor: bool = False
    library: str | None = field(default=None, repr=False)

    def _title(self) -> str:
        return f"ParameterPath of {self.parameter}: {len(self.values)} values"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shares(self) -> Array:
        """The inertias of the axes as shares of the whole, values x axes."""
        shares: Array = self.inertias / np.where(self.totals > 0.0, self.totals, 1.0)[:, None]
        return shares

    @property
    def unclear(self) -> tuple[tuple[float, float], ...]:
        """Between which values some axis could not be followed."""
        steps = np.flatnonzero(np.any(self.overlaps < CLEAR, axis=1))
        return tuple((float(self.values[i - 1]), float(self.values[i])) for i in steps)

    def aligned(self) -> Array:
        """Return the coordinates, those of each value turned as a whole onto those before."""
        found = [self.coordinates[0]]
        for scores in self.coordinates[1:]:
            found.append(scores @ rotation(scores, found[-1], self.weights))
        return np.array(found)

    def columns(self) -> dict[str, Array]:
        """Return one row for each value and axis, by column."""
        count, axes = self.inertias.shape
        return {
            self.parameter: np.repeat(self.values, axes),
            "axis": np.tile(np.arange(1, axes + 1), count),
            "rank": self.ranks.ravel(),
            "inertia": self.inertias.ravel(),
            "share": self.shares.ravel(),
            "overlap": self.overlaps.ravel(),
        }

    def table(self, library: str | None = None) -> Any:
        """Return one row for each value and axis."""
        return as_frame(self.columns(), library or self.library)

    def __str__(self) -> str:
        ends = f"{self.values[0]:.4g} to {self.values[-1]:.4g}"
        times = " times that of the model" if self.is_factor else ""
        name = self.parameter.removeprefix("kernel__")
        lines = [f"{name} from {ends}{times} in {len(self)} values"]
        lines += [str(crossing) for crossing in self.crossings]
        lines += [
            f"between {a:.4g} and {b:.4g} an axis could not be followed: take smaller steps there"
            for a, b in self.unclear
        ]
        return "\n".join(lines if len(lines) > 1 else [*lines, "no axes change places"])


@spelled
def parameter_path(
    model: Any,
    X: Any,
    parameter: str,
    values: Sequence[float] | Array,
    *,
    axes: int | Sequence[int] | None = None,
    sample_weight: Any = None,
    progress: bool | Progress | None = None,
) -> ParameterPath:
    r"""Fit a model at each value of a parameter, and follow its axes from each to the next.

    .. math:: o_{kl} = \sum_i w_i \frac{F_{ik} F'_{il}}{\sqrt{\lambda_k \lambda'_l}}

    is the overlap of an axis with one at the next value, a cosine between their coordinates. Axes
    are matched so that the squared overlaps sum to the most. Two that exchange their order cross;
    where eigenvalues only come near each other without meeting, axes exchange what they show, and
    it is the same to a reader.

    Parameters
    ----------
    model : PCA or KernelPCA
        Not changed; it need not be fitted.
    X : data, optional
        The individuals; None for those of a fitted model, with their weights.
    parameter : str
        Its name as in ``model.get_params()``: ``"kernel__bandwidth"``, ``"kernel__0__weight"``.
    values : sequence of float
        In the order of the path, at least two. A parameter that has a number for each column is
        multiplied by them.
    axes : int or sequence, optional
        How many axes to follow; by default those of the model, at most 5.
    sample_weight : optional
        Weights of the individuals.
    progress : bool or function, optional
        True for a line on the standard error, or a function of the values done and all.

    Examples
    --------
    >>> import mercer as mc
    >>> x = np.array([[0.0], [1.0], [3.0], [4.0], [8.0]])
    >>> path = mc.parameter_path(mc.KernelPCA(2, kernel=mc.Gaussian(1.0)), x, "kernel__bandwidth",
    ...                          [2.0, 4.0, 8.0])
    >>> path.inertias.shape, path.crossings
    ((3, 2), ())

    Hungarian matching: Kuhn (1955).
    """
    steps = np.array(numbers(values, "values"))
    if len(steps) < 2:
        raise InvalidParameter("a path needs at least 2 values")
    now = _known(model, parameter)
    if X is None:
        require_fit(model)
        X, own = model.X_fit_, model.sample_weights(model.individuals_.weights)
        sample_weight = own if sample_weight is None else sample_weight
    is_factor = isinstance(now, tuple)
    fits = []
    with follow_work(progress, "values") as tell:
        for done, step in enumerate(steps.tolist(), 1):
            value = tuple((step * np.array(now)).tolist()) if is_factor else step
            fits.append(_fitted(model, X, parameter, value, axes, sample_weight))
            if tell is not None:
                tell(done, len(steps))
    kept = min(len(fit.inertias_) for fit in fits)
    asked = _count(model, axes)
    if min(asked, kept) == 0:
        raise InvalidInput("there are no axes at some value of the path")
    path = _followed(parameter, steps, fits, min(asked, kept))
    return replace(path, own=1.0 if is_factor else _number(now), is_factor=is_factor)


def _count(model: Any, axes: int | Sequence[int] | None) -> int:
    if axes is not None:
        return first_axes(axes)
    asked = axes_asked(model.n_components)
    return min(5, asked) if isinstance(asked, int) else 5


def _known(model: Any, parameter: str) -> Any:
    """Return what a parameter is set to; of a rule such as "median", what it was at the fit."""
    known = model.get_params() if hasattr(model, "get_params") else {}
    if isinstance(model, KernelModel) and model.kernel != PRECOMPUTED:
        now = as_kernel(model.kernel).parameters()
        at_fit = model.kernel_.parameters() if hasattr(model, "kernel_") else {}
        found = {n: at_fit.get(n, v) if isinstance(v, str) else v for n, v in now.items()}
        known = {**known, **{f"kernel__{n}": value for n, value in found.items()}}
    if parameter == "n_components":
        raise InvalidParameter(
            "n_components says how many axes are kept and does not change them: there is no path"
        )
    if parameter not in known:
        listed = ", ".join(n for n in sorted(known) if n.startswith("kernel__")) or "none"
        raise InvalidParameter(
            f"{type(model).__name__} has no parameter {parameter!r}; those of its kernel are "
            f"{listed}"
        )
    return known[parameter]


def _number(value: Any) -> float | None:
    is_one = isinstance(value, Real) and not isinstance(value, bool)
    return float(value) if is_one else None


def _fitted(
    model: Any, X: Any, parameter: str, value: Any, axes: int | Sequence[int] | None, w: Any
) -> Any:
    one = clone(model).set_params(**{parameter: value})
    one.set_params(n_components=_count(model, axes) + BEYOND)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)  # the axes beyond are not asked for
        return one.fit(X, sample_weight=w)


def _followed(parameter: str, values: Array, fits: list[Any], count: int) -> ParameterPath:
    first = fits[0].individuals_
    w = first.weights
    order, signs = np.arange(len(first.inertias)), np.ones(len(first.inertias))
    ranks, overlaps, scores, inertias = [], [], [], []
    for i, fit in enumerate(fits):
        here = fit.individuals_.coordinates
        kept = np.ones(len(order))
        if i:
            o = _overlaps(fits[i - 1], fit, w)[order]
            order, turned, kept = _next(o)
            signs = signs[: len(order)] * turned
        ranks.append(order[:count] + 1)
        overlaps.append(kept[:count])
        scores.append(here[:, order[:count]] * signs[:count])
        inertias.append(fit.inertias_[order])
    shared = min(map(len, inertias))
    table = np.array([row[:shared] for row in inertias])
    return ParameterPath(
        parameter=parameter,
        values=values,
        inertias=table[:, :count],
        totals=np.array([fit.inertia_ for fit in fits]),
        ranks=np.array(ranks),
        overlaps=np.array(overlaps),
        coordinates=np.array(scores),
        weights=w,
        crossings=tuple(_crossings(values, table, np.array(overlaps))),
        library=first.library,
    )


def _overlaps(before: Any, after: Any, w: Array) -> Array:
    a, b = (fit.individuals_.coordinates / np.sqrt(fit.inertias_) for fit in (before, after))
    overlaps: Array = a.T @ (w[:, None] * b)
    return overlaps


def _next(overlaps: Array) -> tuple[Array, Array, Array]:
    """Return where axes go, by which sign, and their squared overlaps."""
    if overlaps.shape[0] > overlaps.shape[1]:
        # Fewer axes than before: those followed first are matched first.
        overlaps = overlaps[: overlaps.shape[1]]
    columns, signs = match_axes(overlaps)
    kept = overlaps[np.arange(len(columns)), columns] ** 2
    return columns, signs, kept


def _crossings(values: Array, inertias: Array, overlaps: Array) -> list[Crossing]:
    """Return the pairs of axes whose inertias change their order, in the order of the path."""
    found = []
    count = overlaps.shape[1]
    logs = np.log(inertias)
    for i in range(1, len(values)):
        for a in range(count):
            for b in range(a + 1, inertias.shape[1]):
                before, after = logs[i - 1, a] - logs[i - 1, b], logs[i, a] - logs[i, b]
                if before * after < 0.0 or (after == 0.0 and before != 0.0):
                    share = before / (before - after)
                    low, high = float(values[i - 1]), float(values[i])
                    kept = overlaps[i, [k for k in (a, b) if k < count]]
                    at = low + float(share) * (high - low)
                    clear = bool(np.all(kept >= CLEAR))
                    found.append(Crossing((a + 1, b + 1), (low, high), at, clear))
    return found
