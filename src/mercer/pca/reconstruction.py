"""What the first axes bring back of each variable: individuals without what other axes hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown, clean, listing, percent
from mercer.pca.axis_points import TOLD, axes_of, led_back
from mercer.points import take
from mercer.progress import Progress
from mercer.reading.contributions_and_v_tests import correlations
from mercer.settings import RandomState, seed_of, spelled, whole

MOST_INDIVIDUALS = 300
"""Individuals that are rebuilt unless more are asked for: a search for each of them takes time."""


@dataclass(frozen=True, eq=False, repr=False)
class Rebuilt(Shown):
    r"""Individuals as the first axes alone show them: denoised, if the rest is noise.

    .. math:: r_j = 1 - \frac{\sum_i w_i (x_{ij} - \hat x_{ij})^2}{\sum_i w_i (x_{ij} - \bar x_j)^2}

    is the share of the variance of a variable that comes back, NaN for one that is constant. It is
    negative where the mean would do better. In PCA it is the sum of the cos2 of the variable, where
    all individuals were rebuilt.

    Attributes
    ----------
    rows : the numbers of the individuals that were rebuilt
    observed, points : these individuals, and what is rebuilt of them, in the units of the columns
    shares : r, one for each variable
    errors : distances of the features of the points to the places on the axes
    axes, method : how many axes, and the method of `mercer.preimage`

    >>> import mercer as mc
    >>> found = mc.rebuilt(mc.PCA(2, standardize=True).fit(mc.datasets.decathlon()), random_state=0)
    >>> found.points.shape, round(float(found.shares.max()), 2)
    ((41, 10), 0.79)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "rows": "of the individuals",
        "points": "what the axes bring back",
        "errors": "distances in the space of features",
        "shares": "of the variances of the variables",
    }

    names: tuple[str, ...]
    rows: Array
    observed: Array
    points: Array
    shares: Array
    errors: Array
    axes: int
    method: str
    library: str | None = field(default=None, repr=False)
    seed: int | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def _title(self) -> str:
        return f"Rebuilt: {len(self)} individuals from {self.axes} axes, {self.method}"

    @property
    def order(self) -> Array:
        """The numbers of the variables, that of which most comes back first."""
        order: Array = np.argsort(-np.nan_to_num(self.shares, nan=-np.inf), kind="stable")
        return order

    def columns(self) -> dict[str, Array]:
        """Return one row for each variable, by column, the best rebuilt first."""
        names = np.array(self.names, dtype=object)
        return {"variable": names[self.order], "share": self.shares[self.order]}

    def table(self, library: str | None = None) -> Any:
        """Return one row for each variable, the best rebuilt first."""
        return as_frame(self.columns(), library or self.library)

    def __str__(self) -> str:
        known = [j for j in self.order if np.isfinite(self.shares[j])]
        if not known:
            return "no variable varies: there is nothing to rebuild"

        units = {known[0]: " of its variance"}  # said once
        parts = [
            f"{clean(name)} ({percent(share)}{units.get(j, '')})"
            for j, (name, share) in enumerate(zip(self.names, self.shares, strict=True))
        ]
        best, rest = known[:TOLD], known[max(TOLD, len(known) - TOLD) :][::-1]
        those = "the first axis" if self.axes == 1 else f"the first {self.axes} axes"
        said = f"rebuilt from {those} alone, most comes back of {listing([parts[j] for j in best])}"
        return f"{said}, and least of {listing([parts[j] for j in rest])}" if rest else said


@spelled
def rebuilt(
    model: Any,
    *,
    axes: int | Sequence[int] | None = None,
    most: int = MOST_INDIVIDUALS,
    method: str = "auto",
    random_state: RandomState = None,
    progress: bool | Progress | None = None,
) -> Rebuilt:
    r"""Rebuild individuals from their coordinates on the first axes, the others set to 0.

    .. math:: \hat x_i = \arg\min_x \|\varphi(x) - \mu - \sum_{k \le q} F_{ik} v_k\|

    What comes back is what the axes know of an individual; what is lost is noise, or structure
    that they do not show.

    Parameters
    ----------
    model : PCA or KernelPCA
        A fitted model of individuals that are rows of numbers.
    axes : int or sequence, optional
        How many axes, by default the first two.
    most : int
        How many individuals at most; more are drawn at random.
    method, progress
        Those of `mercer.preimage`, for a kernel.
    random_state : int or generator, optional
        The seed that decides which individuals are drawn, if they are more than ``most``.

    Examples
    --------
    >>> import mercer as mc
    >>> model = mc.PCA(2).fit(mc.datasets.iris())
    >>> print(mc.rebuilt(model, axes=1))  # doctest: +ELLIPSIS
    rebuilt from the first axis alone, most comes back of Petal.Length (100 % of its variance)...

    Mika et al. (1998).
    """
    fit, count = axes_of(model, axes)
    rows = np.flatnonzero(fit.weights > 0)
    most = whole(most, "most", least=2)
    seed = seed_of(random_state) if len(rows) > most else None
    if seed is not None:
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.choice(rows, most, replace=False))
    scores = np.array(fit.coordinates[rows])
    scores[:, count:] = 0.0
    found = led_back(model, scores, method, progress)
    X = model.X_fit_
    observed = np.asarray(X[rows].toarray() if hasattr(X, "toarray") else take(X, rows), np.float64)
    w = fit.weights[rows] / fit.weights[rows].sum()
    _, deviations = correlations(observed, scores[:, :1], w)
    varies = deviations > 0.0
    lost = (observed - found.points) / np.where(varies, deviations, np.inf)
    shares = np.where(varies, 1.0 - w @ lost**2, np.nan)
    return Rebuilt(
        names=model.data_names.columns,
        rows=rows,
        observed=observed,
        points=found.points,
        shares=shares,
        errors=found.errors,
        axes=count,
        method=found.method,
        library=fit.library,
        seed=seed,
    )
