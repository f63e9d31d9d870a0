"""What a criterion says of many penalties, and how many degrees of freedom each leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import require_fit
from mercer.regression.kernel_regression import KernelRegression
from mercer.regression.spline import CRITERIA, SmoothingSpline, limits_of
from mercer.regression.spline_curve import Curve
from mercer.settings import whole


@dataclass(frozen=True, repr=False)
class PenaltyPath(Shown):
    """The values of a criterion and the degrees of freedom at rising penalties."""

    facts: ClassVar[Mapping[str, str]] = {
        "criterion": "by which penalties are compared",
        "penalties": "rising",
        "scores": "of the criterion",
        "degrees_of_freedom": "falling",
    }

    criterion: str
    penalties: Array
    scores: Array
    degrees_of_freedom: Array

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each penalty."""
        columns = {
            "penalty": self.penalties,
            "score": self.scores,
            "degrees_of_freedom": self.degrees_of_freedom,
        }
        return as_frame(columns, library)


def penalty_path(
    model: SmoothingSpline | KernelRegression, *, criterion: str | None = None, count: int = 60
) -> PenaltyPath:
    """Return the criterion of a fitted model over all penalties among which one is chosen.

    It is the model's own, or any of ``"gcv"``, ``"loo"`` and ``"reml"``. A kernel regression needs
    squared loss, and at most 3 000 points.

    >>> x = np.linspace(0.0, 1.0, 30)
    >>> path = penalty_path(SmoothingSpline().fit(x, np.sin(9.0 * x) + 0.1 * np.cos(99.0 * x)))
    >>> path.criterion, len(path.penalties), bool(np.all(np.diff(path.degrees_of_freedom) < 0))
    ('gcv', 60, True)
    """
    if not isinstance(model, SmoothingSpline | KernelRegression):
        raise InvalidInput(
            "penalties are followed of a SmoothingSpline or a KernelRegression, found "
            f"{type(model).__name__}"
        )
    require_fit(model)
    asked = criterion or (model.criterion if model.criterion in CRITERIA else "gcv")
    if asked not in CRITERIA:
        raise InvalidParameter(f"criterion must be one of {', '.join(CRITERIA)}, found {asked!r}")
    points = whole(count, "count", least=2)
    if isinstance(model, SmoothingSpline):
        return _of_spline(model, asked, points)
    return _of_regression(model, asked, points)


def _of_spline(model: SmoothingSpline, criterion: str, count: int) -> PenaltyPath:
    places = model.curve.places
    if places.at.size == 2:
        raise InvalidInput("a curve through two places is their line, whatever its penalty")
    penalties = np.logspace(*limits_of(places), count)
    score: Callable[[Curve], float] = CRITERIA[criterion]
    curves = (Curve(places, penalty) for penalty in penalties.tolist())
    found = [(score(of), of.degrees_of_freedom) for of in curves]
    scores, freedoms = np.array(found).T
    return PenaltyPath(criterion, penalties * places.unit, scores, freedoms)


def _of_regression(model: KernelRegression, criterion: str, count: int) -> PenaltyPath:
    of = model.decomposition()
    penalties = np.logspace(*of.limits, count)
    score: Callable[[float], float] = getattr(of, criterion)
    scores = np.array([score(p) for p in penalties])
    return PenaltyPath(
        criterion, penalties, scores, np.array([of.degrees_of_freedom(p) for p in penalties])
    )
