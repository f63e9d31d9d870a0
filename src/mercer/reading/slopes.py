"""What an axis is made of: slopes along the variables, and inertia divided among kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.tidy import Tidy, as_frame, frozen
from mercer.display import Shown
from mercer.errors import InvalidInput
from mercer.estimator import require_fit
from mercer.gram import Gram


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
        object.__setattr__(self, "arrows", frozen(self.arrows))

    def __len__(self) -> int:
        return len(self.names)

    def _title(self) -> str:
        points, variables, axes = self.arrows.shape
        return f"AxisSlopes: {variables} variables at {points} points on {axes} axes"

    @cached_property
    def means(self) -> Array:
        """The mean slope of each axis in each variable."""
        return frozen(np.tensordot(self.weights, self.arrows, axes=1))

    @cached_property
    def sizes(self) -> Array:
        """The root of the mean squared slope of each axis in each variable."""
        squares = np.stack([np.abs(self.arrows[:, j]) ** 2 for j in range(len(self))], axis=1)
        return frozen(np.sqrt(np.tensordot(self.weights, squares, axes=1)))

    @cached_property
    def influences(self) -> Array:
        """The mean length of the arrows of each variable."""
        lengths = [np.linalg.norm(self.arrows[:, j], axis=1) for j in range(len(self))]
        return frozen(np.array([self.weights @ length for length in lengths]))

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
