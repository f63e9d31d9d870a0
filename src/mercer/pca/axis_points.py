"""What points along the axes look like, in the units of the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown, clean, listing, percent, short
from mercer.errors import InvalidInput
from mercer.estimator import require_fit
from mercer.pca.slopes import has_variables
from mercer.points import readings
from mercer.preimages import PreImages, preimage
from mercer.progress import Progress
from mercer.reading import Individuals
from mercer.reading.contributions_and_v_tests import correlations
from mercer.settings import first_axes, spelled

PLACES = ("low end", "halfway down", "middle", "halfway up", "high end")
"""Places along an axis: the middle is the barycentre, individuals reach as far as the ends."""

SHARES = np.array([1.0, 0.5, 0.0, 0.5, 1.0])
"""Distance of each place from the middle, as a share of the reach of the individuals."""

TOLD = 2
"""Variables of each axis that a sentence names."""


@dataclass(frozen=True, eq=False, repr=False)
class AxisPoints(Shown):
    r"""Points for places along each axis, all other coordinates 0, and how near they come.

    .. math:: P = \mu + f v_k, \quad \hat x = \arg\min_x \|\varphi(x) - P\|

    Attributes
    ----------
    names : of the variables
    coordinates : f, axes x places
    points : pre-images in the units of the columns, axes x places x variables
    errors : distances of the features of these points to P, axes x places
    spread : the root mean squared distance of the individuals to their barycentre
    means, deviations : of the variables among the individuals
    converged : whether each search came to its end
    method : that of `mercer.preimage`
    ends : the individuals that lie farthest at the low and the high end of each axis

    >>> import mercer as mc
    >>> found = mc.axis_points(mc.KernelPCA(1).fit(mc.datasets.iris()))
    >>> found.points.shape, bool(found.converged.all())
    ((1, 5, 4), True)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "coordinates": "of the places, by axis",
        "points": "pre-images, axes by places by variables",
        "errors": "distances to the places in the space of features",
        "spread": "of the individuals, for comparison",
        "converged": "whether each search ended",
    }

    names: tuple[str, ...]
    coordinates: Array
    points: Array
    errors: Array
    spread: float
    means: Array
    deviations: Array
    converged: Array
    method: str
    ends: tuple[tuple[str, str], ...]
    library: str | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.points)

    def _title(self) -> str:
        return f"AxisPoints: {len(self)} axes, {len(self.names)} variables, {self.method}"

    @property
    def shares(self) -> Array:
        """The errors as shares of the spread: at 1 a point is as far off as individuals are."""
        shares: Array = self.errors / self.spread if self.spread > 0.0 else self.errors
        return shares

    @property
    def standardised(self) -> Array:
        """The points in standard deviations from the mean; 0 for a column that is constant."""
        lies = self.deviations > 0.0
        found = (self.points - self.means) / np.where(lies, self.deviations, 1.0)
        return np.where(lies, found, 0.0)

    def order(self, axis: int) -> Array:
        """Return the variables that change along an axis, counted from 1, the most first."""
        order: Array = np.argsort(-np.ptp(self.standardised[axis - 1], axis=0), kind="stable")
        return order

    def columns(self) -> dict[str, Array]:
        """Return one row for each axis, place and variable, by column."""
        axes, places, variables = self.points.shape
        each = variables * places

        def by_place(values: Array) -> Array:
            return np.repeat(values.ravel(), variables)

        return {
            "axis": np.repeat(np.arange(1, axes + 1), each),
            "place": np.tile(np.repeat(np.array(PLACES, dtype=object), variables), axes),
            "coordinate": by_place(self.coordinates),
            "error": by_place(self.errors),
            "share": by_place(self.shares),
            "variable": np.tile(np.array(self.names, dtype=object), axes * places),
            "value": self.points.ravel(),
            "deviations": self.standardised.ravel(),
        }

    def table(self, library: str | None = None) -> Any:
        """Return one row for each axis, place and variable."""
        return as_frame(self.columns(), library or self.library)

    def __str__(self) -> str:
        lines = []
        for k, (low, high) in enumerate(self.ends):
            points, most = self.points[k], self.order(k + 1)[:TOLD]
            changes = [
                f"{clean(self.names[j])} from {short(points[0, j])} over {short(points[2, j])} to "
                f"{short(points[-1, j])}"
                for j in most
            ]
            lines.append(
                f"axis {k + 1} leads from {clean(low)} at its low end over the middle to "
                f"{clean(high)} at its high end: {', '.join(changes)}"
            )
        return "\n".join([*lines, self._nearness()])

    def _nearness(self) -> str:
        if self.method == "exact":
            return "these points lie on the axes exactly"
        least, most = float(self.shares.min()), float(self.shares.max())
        late = [f"{k + 1}" for k in np.flatnonzero(~self.converged.all(axis=1))]
        doubt = f"; the search has not come to its end on axis {listing(late)}" if late else ""
        return (
            "a place on an axis need not belong to any point: these come as near as they can and "
            f"miss it by {percent(least)} to {percent(most)} of the distance that individuals have "
            f"from the middle{doubt}"
        )


@spelled
def axis_points(
    model: Any,
    *,
    axes: int | Sequence[int] | None = None,
    method: str = "auto",
    progress: bool | Progress | None = None,
) -> AxisPoints:
    r"""Return what points at the ends, in the middle and halfway of each axis look like.

    The ends are as far out as individuals lie, the middle is the barycentre, and all coordinates on
    other axes are 0. The linear kernel and PCA have such points exactly; elsewhere a search finds
    those whose features come nearest, and tells by how much they miss (`mercer.preimage`).

    Parameters
    ----------
    model : PCA or KernelPCA
        A fitted model of individuals that are rows of numbers.
    axes : int or sequence, optional
        How many axes, by default the first two.
    method, progress
        Those of `mercer.preimage`, for a kernel.

    Examples
    --------
    >>> import mercer as mc
    >>> x = np.array([[0.0, 5.0], [2.0, 6.0], [7.0, 8.5]])
    >>> found = mc.axis_points(mc.PCA(1).fit(x))
    >>> found.points[0].round(6).tolist()
    [[0.0, 5.0], [1.5, 5.75], [3.0, 6.5], [5.0, 7.5], [7.0, 8.5]]

    Mika et al. (1998).
    """
    fit, count = axes_of(model, axes)
    active = np.flatnonzero(fit.weights > 0)
    scores = fit.coordinates[active, :count]
    outer = active[np.array([scores.argmin(axis=0), scores.argmax(axis=0)])]  # low and high
    reach = fit.coordinates[outer, np.arange(count)]
    places = np.where(np.arange(len(PLACES)) < 2, reach[0, :, None], reach[1, :, None]) * SHARES
    targets = np.zeros((count, len(PLACES), len(fit.inertias)))
    targets[np.arange(count), :, np.arange(count)] = places
    found = led_back(model, targets.reshape(-1, len(fit.inertias)), method, progress)
    means, deviations = _moments(model)
    shape = (count, len(PLACES))
    labels = [str(label) if fit.names else f"individual {label}" for label in fit.labels]
    return AxisPoints(
        names=model.data_names.columns,
        coordinates=places,
        points=found.points.reshape(*shape, -1),
        errors=found.errors.reshape(shape),
        spread=model.spread,
        means=means,
        deviations=deviations,
        converged=found.converged.reshape(shape),
        method=found.method,
        ends=tuple((labels[a], labels[b]) for a, b in outer.T),
        library=fit.library,
    )


def axes_of(model: Any, axes: int | Sequence[int] | None) -> tuple[Individuals, int]:
    """Return the individuals of a model that are rows of numbers, and how many axes are asked."""
    require_fit(model)
    if not has_variables(model):
        raise InvalidInput(
            "points are shown as rows of numbers: give a PCA or a KernelPCA whose individuals are "
            "such rows"
        )
    fit: Individuals = model.individuals_
    kept = len(fit.inertias)
    if kept == 0:
        raise InvalidInput("the model has no axes: all individuals coincide")
    return fit, min(2 if axes is None else first_axes(axes), kept)


def led_back(
    model: Any, scores: Array, method: str, progress: bool | Progress | None = None
) -> PreImages:
    """Return points for coordinates on the axes: exact ones of PCA, pre-images of a kernel."""
    if hasattr(model, "kernel_"):
        return preimage(model, scores, method, progress=progress)
    none = np.zeros(len(scores))
    points = np.asarray(model.inverse_transform(scores), dtype=np.float64)
    return PreImages(points, none, np.ones(len(scores), dtype=bool), "exact", none)


def _moments(model: Any) -> tuple[Array, Array]:
    """Return the means and standard deviations of the columns among the individuals."""
    X, weights = model.X_fit_, model.individuals_.weights
    table = X.toarray() if hasattr(X, "toarray") else X
    _, deviations = correlations(table, np.zeros((len(weights), 1)), weights)
    means: Array = sum(
        (weights[rows] @ np.asarray(table[rows], dtype=np.float64) for rows in readings(table)),
        np.zeros(len(deviations)),
    )
    return means, deviations
