"""The slopes of axes in the variables: what represents variables where axes are not linear."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from mercer.check import Array, Points, chunks, how_many, members
from mercer.data.frames import Tidy, as_frame
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter, NotDifferentiable
from mercer.estimator import is_yes, require_fit
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.features import coordinates, how_wide
from mercer.points import Rows, read_only, readings
from mercer.reading.contributions_and_v_tests import correlations
from mercer.settings import first_axes, spelled


@dataclass(frozen=True, eq=False, repr=False)
class AxisSlopes(Shown):
    r"""The slopes of the functions whose values are the coordinates on the axes.

    .. math:: a_{ijk} = \frac{\partial F_k}{\partial x_j}(x_i), \quad
        m_{jk} = \sum_i w_i\, a_{ijk}, \quad t_j = \sum_i w_i \Big( \sum_k |a_{ijk}|^2 \Big)^{1/2}

    ``arrows[i, j]`` is where the point i moves on the axes when its variable j rises (Reverter et
    al. 2014); ``means`` are m, the common direction of a variable's arrows, and ``influences`` are
    t, their mean length (KPCA-IG: Briscik et al. 2023). If ``is_standardised``, a variable rises
    by its standard deviation, else by 1. Weights w sum to 1. ``circle`` holds the correlations
    that the mean slopes imply, those of the correlation circle if the axes are linear.

    >>> arrows = np.array([[[3.0, 4.0]], [[3.0, -4.0]]])
    >>> made = AxisSlopes(arrows, np.full(2, 0.5), np.ones(1), ("x",), np.ones((1, 2)))
    >>> made.means, made.influences
    (array([[3., 0.]]), array([5.]))
    """

    facts: ClassVar[Mapping[str, str]] = {
        "names": "the variables",
        "means": "the mean slope, variables by axes",
        "influences": "the mean length of a variable's arrows",
        "circle": "correlations that the mean slopes imply",
    }

    arrows: Array
    weights: Array
    deviations: Array
    names: tuple[str, ...]
    circle: Array
    is_standardised: bool = False
    library: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrows", read_only(self.arrows))

    def __len__(self) -> int:
        return len(self.names)

    def _title(self) -> str:
        points, variables, axes = self.arrows.shape
        return f"AxisSlopes: {variables} variables at {points} points on {axes} axes"

    @cached_property
    def means(self) -> Array:
        """The mean slope of each axis in each variable."""
        return read_only(np.tensordot(self.weights, self.arrows, axes=1))

    @cached_property
    def sizes(self) -> Array:
        """The root of the mean squared slope of each axis in each variable."""
        squares = np.stack([np.abs(self.arrows[:, j]) ** 2 for j in range(len(self))], axis=1)
        return read_only(np.sqrt(np.tensordot(self.weights, squares, axes=1)))

    @cached_property
    def influences(self) -> Array:
        """The mean length of the arrows of each variable."""
        lengths = [np.linalg.norm(self.arrows[:, j], axis=1) for j in range(len(self))]
        return read_only(np.array([self.weights @ length for length in lengths]))

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each variable and axis."""
        axes = self.arrows.shape[2]
        columns = {
            "variable": np.repeat(np.array(self.names, dtype=object), axes),
            "axis": np.tile(np.arange(1, axes + 1), len(self)),
            "mean_slope": self.means.ravel(),
            "slope_size": self.sizes.ravel(),
            "influence": np.repeat(self.influences, axes),
        }
        return as_frame(columns, library or self.library)


def column_contributions(model: Any) -> Tidy:
    r"""Return the share of each axis that each column, or group of columns, of a table makes.

    .. math:: \frac{w_b\, u^\top W^{1/2} H K_b H^\top W^{1/2} u}{\lambda}

    The kernel of a table is a sum, so that shares of an axis sum to 1. The model is a `KernelPCA`
    with the kernel `Columns`.

    >>> import mercer as mc
    >>> table = {"x": [0.0, 1.0, 0.0, 1.0], "y": [0.0, 0.0, 2.0, 2.0]}
    >>> model = mc.KernelPCA(2, kernel=mc.Columns({"x": mc.Linear(), "y": mc.Linear()})).fit(table)
    >>> shares = column_contributions(model)
    >>> shares["column"].tolist(), shares["dim1"].round(12).tolist()
    (['x', 'y'], [0.0, 1.0])
    """
    require_fit(model)
    kernel = getattr(model, "kernel_", None)
    if kernel is None or not kernel.is_sum_of_columns:
        raise InvalidInput(
            "columns contribute to the axes of a KernelPCA whose kernel is a sum, Columns({...}); "
            f"this one has {kernel}"
        )
    vectors = np.asarray(model.eigenvectors_)
    shares = [
        weight * _on_axes(Gram(k, kernel.seen_by(name, model.X_fit_)), model, vectors)
        for (name, k), weight in zip(kernel.children().items(), kernel.numbers, strict=True)
    ]
    table = np.vstack(shares) / model.inertias_
    columns: dict[str, Array] = {"column": np.array(list(kernel.children()), dtype=object)}
    columns |= {f"dim{axis + 1}": table[:, axis] for axis in range(table.shape[1])}
    return Tidy(columns)


def _on_axes(gram: Gram, model: Any, vectors: Array) -> Array:
    """Return the inertia that one kernel has along each axis."""
    images = gram.centred(model.weights_) @ vectors
    along: Array = np.real(np.sum(vectors.conj() * images, axis=0))
    return np.maximum(along, 0.0)


BLOCK = 2**20
"""Slopes of the kernel that are in memory at a time, 8 MB of them."""

MOST_SLOPES = 2**28
"""Slopes of axes that are returned at most, 2 GB of them."""


@spelled
def axis_slopes(
    model: Any,
    points: Any = None,
    *,
    axes: int | Sequence[int] | None = None,
    standardize: bool = False,
) -> AxisSlopes:
    r"""Return how the coordinates on the axes change with each variable, at each point.

    .. math:: \frac{\partial F_k}{\partial x_j}(x) =
        \sum_i \alpha_{ik} \frac{\partial k(x, x_i)}{\partial x_j}, \quad
        \alpha = (I - w 1^\top)\, W^{1/2} U \Lambda^{-1/2}

    They exist for every kernel with ``slopes``, and in PCA, whose slopes are the same everywhere:
    the coefficients of the axes. There, and with the linear kernel, ``circle`` is the correlation
    circle; elsewhere it holds the correlations with the axes that the mean slopes imply,

    .. math:: c_{jk} = \frac{\mathrm{cov}(x_j, \sum_l m_{lk} x_l)}{s_j \sqrt{\lambda_k}}

    which for normal variables are those of the axes themselves (Stein's identity).

    Parameters
    ----------
    model : PCA or KernelPCA
        A fitted model of individuals that are rows of numbers, or of a table: slopes are then
        those in its numbers.
    points : table, optional
        Where to take slopes, by default at the individuals of the fit, with their weights.
    axes : int or sequence, optional
        How many axes, by default all.
    standardize : bool
        Whether a variable rises by its standard deviation rather than by 1, which makes arrows of
        variables with different units comparable.

    Examples
    --------
    >>> import mercer as mc
    >>> x = np.array([[0.0, 0.0], [2.0, 1.0], [4.0, 2.0], [6.0, 3.0]])
    >>> slopes = axis_slopes(mc.KernelPCA(1, kernel=mc.Linear()).fit(x), axes=1)
    >>> slopes.means.ravel() * np.sqrt(5.0), slopes.circle.ravel()
    (array([-2., -1.]), array([-1., -1.]))

    Reverter, Vegas and Oller (2014), BMC Systems Biology 8:S6; Briscik, Dillies and Déjean (2023),
    BMC Bioinformatics 24:282.
    """
    if hasattr(model, "fit"):
        require_fit(model)
    is_table = isinstance(getattr(model, "X_fit_", None), Rows)
    if not (has_variables(model) or is_table):
        raise InvalidParameter(
            "slopes are taken in variables: give a PCA or a KernelPCA whose individuals are rows "
            "of numbers, or of a table"
        )
    is_yes(standardize, "standardize")
    kept = len(model.individuals_.inertias)
    count = kept if axes is None else min(first_axes(axes), kept)
    X, names = _numbers(model)
    at = model.X_fit_ if points is None else points
    _refuse_large((len(at), len(names)), count)
    x, arrows = model.slopes_at(points, count)
    n = len(x)
    weights = model.individuals_.weights if points is None else np.full(n, 1.0 / n)
    means = np.tensordot(weights, arrows, axes=1)
    circle, deviations = _implied(model, X, means)
    if standardize:
        arrows = arrows * deviations[:, None]
    return AxisSlopes(
        arrows, weights, deviations, names, circle, standardize, model.data_names.library
    )


def has_variables(model: Any) -> bool:
    """Whether the individuals of a model with axes are rows of numbers, not of a Gram matrix."""
    points: Any = getattr(model, "X_fit_", None)
    is_table = len(getattr(points, "shape", ())) == 2 and points.dtype.kind in "biuf"
    kernel = getattr(model, "kernel", None)
    is_matrix = isinstance(kernel, str) and kernel == "precomputed"
    return is_table and hasattr(model, "individuals_") and not is_matrix


def _numbers(model: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the variables of the individuals in which axes have slopes, and their names."""
    if not isinstance(model.X_fit_, Rows):
        return model.X_fit_, model.data_names.columns
    X, names = coordinates(vectors_read(model.kernel_, model.X_fit_))
    if not names:
        raise NotDifferentiable("the kernel reads no column of the table as numbers: no slopes")
    return X, names


def vectors_read(kernel: Kernel, rows: Rows) -> Rows:
    """Return a table whose columns are numbers only where a kernel reads them as vectors.

    >>> from mercer.kernels import Category
    >>> from mercer import Columns, Linear
    >>> table = Rows({"age": np.ones(2), "code": np.ones(2)})
    >>> read = vectors_read(Columns({"age": Linear(), "code": Category()}), table)
    >>> [column.dtype.kind for column in read.columns.values()]
    ['f', 'O']
    """
    as_vectors = set(_as_vectors(kernel))
    kept = {
        name: column if name in as_vectors else _as_objects(column)
        for name, column in rows.columns.items()
    }
    return Rows(kept, rows.roles)


def _as_vectors(kernel: Kernel) -> Iterator[str]:
    """Yield the columns that are read as vectors by some kernel on them."""
    blocks = kernel.blocks
    for key, own in blocks:
        if own.reads_vectors:
            yield from [key] if isinstance(key, str) else key
    for child in () if blocks else kernel.children().values():
        yield from _as_vectors(child)


def _as_objects(column: Points) -> Points:
    found = np.empty(how_many(column), dtype=object)
    found[:] = list(members(column))
    return found


def _refuse_large(shape: tuple[int, ...], count: int) -> None:
    if shape[0] * shape[1] * count > MOST_SLOPES:
        raise InvalidInput(
            f"the slopes of {count} axes in {shape[1]} variables at {shape[0]} points would take "
            f"{8e-9 * shape[0] * shape[1] * count:.0f} GB; give fewer points, or fewer axes"
        )


def combined_slopes(kernel: Kernel, x: Points, y: Points, weights: Array) -> Array:
    r"""Return the slopes of Σⱼ wⱼₖ k(x, yⱼ) at each x, coordinates on the second axis.

    The slopes of the kernel are taken for a block of pairs at a time.

    >>> from mercer import Linear
    >>> combined_slopes(Linear(), np.ones((1, 2)), np.eye(2), np.array([[3.0], [4.0]]))
    array([[[3.],
            [4.]]])
    """
    if isinstance(x, Rows):
        x, y = (vectors_read(kernel, cast(Rows, side)) for side in (x, y))
    n, m = len(x), len(y)
    d = how_wide(x) if isinstance(x, Rows) else cast(Any, y).shape[1]
    pairs = max(1, BLOCK // d)
    across = min(m, pairs)
    total: Array | None = None
    for rows in chunks(n, max(1, pairs // across)):
        for others in chunks(m, across):
            tile = np.asarray(kernel.slopes(_part(x, rows), _part(y, others)))
            part = tile.transpose(0, 2, 1) @ weights[others]
            if total is None:
                total = np.zeros((n, d, weights.shape[1]), np.result_type(part, np.float64))
            total[rows] += part
    return np.zeros((n, d, weights.shape[1])) if total is None else total


def _part(points: Any, rows: slice) -> Any:
    return points[rows] if isinstance(points, Rows) else np.asarray(points[rows])


def _implied(model: Any, X: Any, means: Array) -> tuple[Array, Array]:
    """Return the correlations that mean slopes imply, and the deviations of the variables."""
    weights = model.individuals_.weights
    inertias, unit = model.individuals_.inertias[: means.shape[1]], model.individuals_.unit
    X = X.toarray() if hasattr(X, "toarray") else X
    linear = np.vstack([np.asarray(X[rows]) @ means for rows in readings(X)])
    linear = linear - weights @ linear
    r, deviations = correlations(X, linear, weights)
    spreads = np.sqrt(weights @ np.abs(linear / unit) ** 2 / inertias)
    return np.where(deviations[:, None] > 0, r, 0.0) * spreads, deviations
