r"""The two forms of the soft margin between two classes, with their duality gaps.

With labels y = ±1 and f = h + b, h in the space H of a kernel,

.. math:: \min \tfrac{1}{2} \|h\|^2 + \sum_i C_i \max(0, 1 - y_i f(x_i))
    \qquad\text{and}\qquad
    \min \tfrac{1}{2} \|h\|^2 - \nu w \rho + \sum_i w_i \max(0, \rho - y_i f(x_i))

where w is the sum of the weights. Both have duals in β = yα with h = Σ βᵢ k(xᵢ, ·).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn import svm as libsvm
from sklearn.exceptions import ConvergenceWarning

from mercer.check import Array, InvalidParameter
from mercer.display import Shown
from mercer.engines.prepared import gamma
from mercer.svm.quadratic import ROUNDING, Point, Program, polished

UNIT = float(np.finfo(float).eps) / 2

START_TOL = 1e-6
"""Of the start in single precision: closer than its matrix is exact, and still quick."""

SINGLE = float(np.finfo(np.float32).eps)
"""Matrices that are given may have been rounded so."""

START_STEPS = 200_000
"""Of the start: where it is not enough, the exact steps go on from there."""


@dataclass(frozen=True, repr=False)
class Separator(Shown):
    """A function f = Σ βᵢ k(xᵢ, ·) + b between two classes, whose margins lie at f = ±1.

    Without a support vector at a margin every intercept of ``interval`` is optimal, and the
    middle is taken. No function has an objective lower by more than ``gap``, in which ``rounding``
    is what rounding can have done to the kernel's values and to both sides of the gap. ``margin``
    is the distance ρ/‖h‖ of the margins from the border, in the space of the kernel.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "weights": "of the points",
        "intercept": "b",
        "interval": "of intercepts that are as good",
        "objective": "its least value found",
        "gap": "how far from the least it can be",
        "margin": "distance of the margins from the border",
    }

    weights: Array
    intercept: float
    interval: tuple[float, float]
    objective: float
    gap: float
    margin: float
    rounding: float
    steps: int

    def moved(self, intercept: float) -> Separator:
        """Return the function with something added to its intercept."""
        low, high = (end + intercept for end in self.interval)
        return replace(self, intercept=self.intercept + intercept, interval=(low, high))


class Found(NamedTuple):
    """Weights β with Kβ, an intercept, and the level of the margins."""

    beta: Array
    image: Array
    intercept: float
    level: float


def separated_by_cost(K: Array, y: Array, costs: Array, entry: float = 0.0) -> Separator:
    """Return the separator of the form with costs C; entries of K are right to ``entry``.

    >>> y = np.array([1.0, -1.0])
    >>> of = separated_by_cost(np.outer(y, y), y, np.full(2, 9.0))
    >>> of.weights, of.intercept, of.margin
    (array([ 0.5, -0.5]), 0.0, 1.0)
    """
    scale = _scale(K)
    # With h in units of √scale the matrix has entries near 1, which single precision can hold.
    program = Program(
        K / scale,
        y.copy(),
        np.where(y > 0, 0.0, -scale * costs),
        np.where(y > 0, scale * costs, 0.0),
        np.zeros(len(y), dtype=np.intp),
    )
    point = polished(program, _cost_start(program, y))
    beta = point.beta / scale
    image = K @ beta
    low, high = (float(end) for end in point.intervals[0])
    low, high = (low if np.isfinite(low) else high), (high if np.isfinite(high) else low)
    intercept = 0.5 * (low + high)
    half_square = 0.5 * float(beta @ image)
    losses = np.maximum(0.0, 1.0 - y * (image + intercept))
    objective = half_square + float(costs @ losses)
    dual = float(y @ beta) - half_square
    unknown = _rounding(K, entry, y, Found(beta, image, intercept, 1.0), costs, objective)
    return Separator(
        beta,
        intercept,
        (min(low, high), max(low, high)),
        objective,
        abs(objective - dual) + unknown,
        _inverse_root(2.0 * half_square),
        unknown,
        point.steps,
    )


def separated_by_share(
    K: Array, y: Array, weights: Array, nu: float, entry: float = 0.0
) -> Separator:
    """Return the separator of the form with ν, scaled so that its margins lie at ±1."""
    total = float(weights.sum())
    least = 2.0 * min(float(weights[y > 0].sum()), float(weights[y < 0].sum())) / total
    if nu > least:
        raise InvalidParameter(
            f"nu = {nu:g} is infeasible: the classes are so unequal that it can be {least:g} at "
            "the most"
        )
    scale = _scale(K)
    program = Program(
        K / scale,
        np.zeros(len(y)),
        np.where(y > 0, 0.0, -weights),
        np.where(y > 0, weights, 0.0),
        np.where(y > 0, 0, 1).astype(np.intp),
    )
    point = polished(program, _share_start(program, y, nu * total))
    beta = point.beta
    rho, intercepts = _levels(point, scale)
    image = K @ beta
    if not rho > ROUNDING * scale * float(np.sum(np.abs(beta))):
        raise InvalidParameter(
            f"nu = {nu:g} leaves no margin: the classes overlap in more than that share of the "
            f"points. Take a larger nu, up to {least:g}"
        )
    intercept = 0.5 * sum(intercepts)
    square = float(beta @ image)
    losses = np.maximum(0.0, rho - y * (image + intercept))
    objective = 0.5 * square - nu * total * rho + float(weights @ losses)
    lost = float(weights @ losses) + 0.5 * square
    unknown = _rounding(K, entry, y, Found(beta, image, intercept, rho), weights, lost)
    # Σ|β| = νw decides on ρ, as Σβ = 0 does on the intercept.
    unknown += 2.0 * rho * (abs(fsum(np.abs(beta)) - nu * total) + 4.0 * UNIT * nu * total)
    return Separator(
        beta / rho,
        intercept / rho,
        (intercepts[0] / rho, intercepts[1] / rho),
        objective,
        abs(objective + 0.5 * square) + unknown,
        rho * _inverse_root(square),
        unknown,
        point.steps,
    )


def is_definite(K: Array) -> bool:
    """Say whether weights that sum to zero have no negative square, up to single precision.

    Otherwise the conditions of an optimum hold at points that are none, and no gap proves one.

    >>> is_definite(np.array([[1.0, 0.5], [0.5, 1.0]]))
    True
    >>> is_definite(np.array([[0.0, 2.0], [2.0, 0.0]]))
    False
    """
    means = K.mean(axis=0)
    centred = K - means - means[:, None] + means.mean()
    np.fill_diagonal(centred, centred.diagonal() + len(K) * SINGLE * _scale(K))
    try:
        np.linalg.cholesky(centred)
    except np.linalg.LinAlgError:
        return False
    return True


def _levels(point: Point, scale: float) -> tuple[float, tuple[float, float]]:
    """Return ρ and the interval of b, from -ρ + b of one class and ρ + b of the other."""
    ends = scale * point.intervals
    for row in ends:
        row[~np.isfinite(row)] = row[np.isfinite(row)].mean() if np.any(np.isfinite(row)) else 0.0
    below, above = ends.mean(axis=1)
    half = 0.25 * float(np.sum(np.abs(ends[:, 1] - ends[:, 0])))
    middle = 0.5 * float(below + above)
    return 0.5 * float(above - below), (middle - half, middle + half)


def _scale(K: Array) -> float:
    return float(np.max(np.abs(K), initial=0.0)) or 1.0


def _rounding(
    K: Array, entry: float, y: Array, found: Found, costs: Array, objective: float
) -> float:
    r"""Bound what rounding does to an objective and to its dual, together.

    Values of the kernel are right to ``entry``, so Kβ to :math:`\varepsilon` and the margins of
    points that are or may be inside with it. What Σβ is away from 0 is charged with the intercept
    b* of the optimum: losses keep it from either class, and :math:`\|h\|^2 \le 2P`.
    """
    beta, image, intercept, level = found
    sums = gamma(len(y) + 8, UNIT)
    of_image = entry * float(np.sum(np.abs(beta))) + sums * (np.abs(K) @ np.abs(beta))
    f = image + intercept
    of_f = of_image + 4.0 * UNIT * (level + np.abs(image) + abs(intercept))
    losses = np.maximum(0.0, level - y * f)
    primal = float(costs @ np.where(level - y * f + of_f > 0.0, of_f + sums * losses, 0.0))
    square = 0.5 * float(np.abs(beta) @ (of_image + sums * np.abs(image)))
    dual = sums * level * float(np.sum(np.abs(beta))) + 2.0 * UNIT * float(costs @ np.abs(f))
    lightest = min(float(costs[y > 0].sum()), float(costs[y < 0].sum()))
    size = float(np.max(np.abs(np.diag(K)), initial=0.0))
    most = level + objective / lightest + float(np.sqrt(2.0 * size * max(objective, 0.0)))
    excess = abs(fsum(beta)) + UNIT * float(np.sum(np.abs(beta)))
    return primal + 2.0 * square + dual + excess * most


def _inverse_root(square: float) -> float:
    return float(1.0 / np.sqrt(square)) if square > 0 else np.inf


def _cost_start(program: Program, y: Array) -> Array:
    """Return the dual variables of libsvm, whose matrix is in single precision."""
    costs = program.upper - program.lower
    largest = float(costs.max())
    peer = libsvm.SVC(C=largest, kernel="precomputed", tol=START_TOL, max_iter=START_STEPS)
    return _started(peer, program, y, costs / largest)


def _share_start(program: Program, y: Array, total: float) -> Array:
    """Return the dual variables of libsvm's other form, or plain ones where it has none."""
    plain = np.zeros(len(y))
    for sign in (1.0, -1.0):
        inside = y == sign
        widths = (program.upper - program.lower)[inside]
        plain[inside] = sign * widths * (0.5 * total / float(widths.sum()))
    widths = program.upper - program.lower
    if np.ptp(widths) > 0.0:
        return plain
    peer = libsvm.NuSVC(
        nu=total / float(widths.sum()),
        kernel="precomputed",
        tol=START_TOL,
        max_iter=START_STEPS,
    )
    try:
        found = _started(peer, program, y, np.ones(len(y)))
    except ValueError:
        return plain
    sums = [float(np.sum(np.abs(found[y == sign]))) for sign in (1.0, -1.0)]
    if not min(sums) > 0.0:
        return plain
    for sign, size in zip((1.0, -1.0), sums, strict=True):
        found[y == sign] *= 0.5 * total / size
    inside = np.all((found >= program.lower - 1e-9) & (found <= program.upper + 1e-9))
    return found if inside and np.all(np.isfinite(found)) else plain


def _started(peer: Any, program: Program, y: Array, weights: Array) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(program.K, y, sample_weight=weights)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    return beta if np.all(np.isfinite(beta)) else np.zeros(len(y))
