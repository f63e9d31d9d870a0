"""Maps of the same individuals: what is read of a model or an array, and one laid on another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array, refuse_non_finite
from mercer.data.frames import as_frame, row_names
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import column_names, numbers_of, require_fit
from mercer.mds.distances import unit_of
from mercer.ordination.designs import BATCH
from mercer.points import matrix_of, read_only
from mercer.progress import Progress, follow_work
from mercer.reading.links import Scores
from mercer.reading.procrustes import superposition
from mercer.resampling import PERMUTATIONS, Resampling
from mercer.settings import RandomState, is_yes, spelled, whole

TIES = 1e-12
"""A share of the correlation within which a permutation ties with the observed one."""


@dataclass(frozen=True, eq=False)
class Map:
    """Coordinates of individuals that have a weight, about their barycentre, in ``unit``."""

    coordinates: Array
    centre: Array
    weights: Array
    rows: Array
    count: int
    unit: float
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, given: Any, axes: int | None, name: str = "the map") -> Map:
        """Read a fitted model with axes, or an array of coordinates.

        >>> Map.of([[0.0, 1.0], [2.0, 1.0]], None).coordinates
        array([[-1.,  0.],
               [ 1.,  0.]])
        """
        if hasattr(given, "fit"):
            require_fit(given)
            scores = Scores.of(given)
            F, weights = scores.coordinates, scores.weights
            names = getattr(getattr(given, "individuals_", None), "names", None)
        else:
            F = numbers_of(matrix_of(given), name)
            refuse_non_finite(F, name, columns=column_names(given))
            F = F.astype(np.float64)
            weights, names = np.full(len(F), 1.0 / len(F)), row_names(given)
        used = F.shape[1] if axes is None else whole(axes, "axes", least=1)
        if used > F.shape[1]:
            raise InvalidParameter(f"{name} has {F.shape[1]} axes, not {used}")
        rows = np.flatnonzero(weights > 0)
        if len(rows) < 2:
            raise InvalidInput(f"{name} needs at least two individuals with a weight")
        unit = unit_of(float(np.max(np.abs(F), initial=0.0)))
        F, w = F[rows, :used] / unit, weights[rows]
        centre = w @ F
        kept = None if names is None else tuple(names[i] for i in rows)
        return cls(F - centre, centre, w, rows, len(weights), unit, kept)

    def __len__(self) -> int:
        return len(self.coordinates)

    @property
    def inertia(self) -> float:
        return float(self.weights @ np.sum(self.coordinates**2, axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class Procrustes(Shown):
    r"""One map turned, stretched and moved onto another, and how well they then agree.

    ``moved`` is the second map in the coordinates of the first, ``scale``·Y ``rotation`` +
    ``translation``, and ``residuals`` the distance that is left for each individual. ``m2`` is the
    share of the first map that the second leaves, ``correlation`` is √(1 - m²); ``null`` has the
    correlation of each permutation. Without permutations ``p_value`` is None.

    >>> import mercer as mc
    >>> places = mc.PCA(2).fit(mc.datasets.iris()).individuals_.coordinates
    >>> found = mc.procrustes(places, 3.0 * places[:, ::-1] + 1.0, random_state=0)
    >>> round(found.m2, 6), round(found.scale, 6)
    (0.0, 0.333333)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "m2": "the share that is left",
        "correlation": "of the two maps once they are superposed",
        "p_value": "of no relation",
        "scale": "by which the second map is stretched",
        "residuals": "the distances that are left",
    }

    m2: float
    correlation: float
    p_value: float | None
    rotation: Array
    scale: float
    translation: Array
    moved: Array
    residuals: Array
    rows: Array
    names: tuple[str, ...] | None
    permutations: int
    seed: int | None
    null: Array

    def _title(self) -> str:
        return f"Procrustes: two maps of {len(self.residuals)} individuals"

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each individual, the worst placed first."""
        order = np.argsort(-self.residuals, kind="stable")
        labels = np.array(self.names or [str(row) for row in self.rows], dtype=object)
        columns = {"individual": labels[order], "residual": self.residuals[order]}
        columns |= {f"dim{k + 1}": self.moved[order, k] for k in range(self.moved.shape[1])}
        return as_frame(columns, library)


@spelled
def procrustes(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    target: Any,
    moved: Any,
    *,
    axes: int | None = None,
    scale: bool = True,
    permutations: int = PERMUTATIONS,
    stop_after: int | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Procrustes:
    r"""Lay one map of individuals upon another, and test whether they agree more than by chance.

    .. math:: \min_{R^\top R = I,\, c,\, b} \sum_i w_i \|X_i - c\, Y_i R - b\|^2 = m^2\,
        \textstyle\sum_i w_i \|X_i - \bar X\|^2, \quad
        m^2 = 1 - \frac{(\operatorname{tr} S)^2}{\|X\|^2 \|Y\|^2}

    with :math:`Y^\top W X = U S V^\top` of the centred maps and R = UVᵀ. m² is the same both ways
    round. Individuals of the second map are permuted; p is how often their correlation
    √(1 - m²) is as large. With ``scale=False`` the second map keeps its size, which changes its
    place and the residuals, not m².

    Parameters
    ----------
    target, moved : fitted models with axes, or arrays of coordinates
        Row i is the same individual in both. The map of fewer axes gets axes of zeros.
    axes : int or None
        How many first axes of each; None takes all.
    scale : bool
        Whether the second map may be stretched.
    permutations, stop_after, random_state, threads, progress
        See `hsic`.

    Examples
    --------
    >>> import mercer as mc
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    >>> turned = 2.0 * X @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 5.0
    >>> found = mc.procrustes(X, turned, permutations=0)
    >>> bool(np.allclose(found.moved, X)), round(found.scale, 12), abs(round(found.m2, 12))
    (True, 0.5, 0.0)

    Gower, in Barra et al., Recent developments in statistics (1977) 109-123; Peres-Neto & Jackson,
    Oecologia 129 (2001) 169-178.
    """
    is_yes(scale, "scale")
    first, second = Map.of(target, axes, "target"), Map.of(moved, axes, "moved")
    _refuse_others(first, second)
    width = max(first.coordinates.shape[1], second.coordinates.shape[1])
    X, Y = (_widened(each.coordinates, width) for each in (first, second))
    w = first.weights
    size_x, size_y = np.sqrt(first.inertia), np.sqrt(second.inertia)
    for size, name in ((size_x, "target"), (size_y, "moved")):
        if size == 0.0:
            raise InvalidInput(f"all individuals of {name} coincide: there is nothing to turn")
    X, Y = X / size_x, Y / size_y
    turn, agreement = superposition(Y, X, w)
    correlation = min(agreement, 1.0)
    with follow_work(progress, "permutations") as tell:
        draws = Resampling.of(
            permutations,
            random_state,
            least=0,
            stop_after=stop_after,
            threads=threads,
            progress=tell,
        )

        def statistic(r: int) -> float:
            order = draws.generator(r).permutation(len(w))
            return superposition(_centred(Y[order], w), X, w)[1]

        found = draws.null(draws.batches(statistic, BATCH), agreement * (1.0 - TIES))
    unit_ratio = (size_x / size_y) * (first.unit / second.unit)
    factor = correlation * unit_ratio if scale else 1.0
    centre_x = first.unit * _widened(first.centre[None], width)[0]
    centre_y = second.unit * _widened(second.centre[None], width)[0]
    placed = factor * (second.unit * size_y) * (Y @ turn)
    residuals = np.linalg.norm(first.unit * size_x * X - placed, axis=1)
    return Procrustes(
        m2=1.0 - correlation**2,
        correlation=correlation,
        p_value=float(found.p_values[0]) if draws.count else None,
        rotation=read_only(turn),
        scale=float(factor),
        translation=read_only(centre_x - factor * centre_y @ turn),
        moved=read_only(placed + centre_x),
        residuals=read_only(residuals),
        rows=read_only(first.rows),
        names=first.names or second.names,
        permutations=draws.count,
        seed=draws.seed if draws.count else None,
        null=read_only(found.values[:, 0]),
    )


def _refuse_others(first: Map, second: Map) -> None:
    """Refuse maps of other individuals, by number, name or weight."""
    if first.count != second.count:
        raise InvalidInput(
            f"target has {first.count} individuals and moved has {second.count}; row i must be "
            "the same individual in both"
        )
    if first.names is not None and second.names is not None and first.names != second.names:
        pairs = enumerate(zip(first.names, second.names, strict=False))
        row = next((i for i, (a, b) in pairs if a != b), 0)
        raise InvalidInput(
            f"row {row} is {first.names[row]!r} in target and {second.names[row]!r} in moved; "
            "row i must be the same individual in both"
        )
    is_same = np.array_equal(first.rows, second.rows)
    if not is_same or not np.allclose(first.weights, second.weights, rtol=1e-9, atol=0.0):
        raise InvalidInput(
            "the individuals have other weights in moved than in target; fit both with the same"
        )


def _widened(x: Array, width: int) -> Array:
    """Return coordinates with axes of zeros behind."""
    return np.hstack([x, np.zeros((len(x), width - x.shape[1]))])


def _centred(x: Array, w: Array) -> Array:
    """Return coordinates about their weighted mean, in the same size."""
    moved = x - w @ x
    size = float(np.sqrt(w @ np.sum(moved**2, axis=1)))
    return np.asarray(moved / size if size > 0 else moved)
