r"""The two forms of the soft margin between two classes, with their duality gaps.

With labels y = ±1 and f = h + b, h in the space H of a kernel,

.. math:: \min \tfrac{1}{2} \|h\|^2 + \sum_i C_i \max(0, 1 - y_i f(x_i))
    \qquad\text{and}\qquad
    \min \tfrac{1}{2} \|h\|^2 - \nu w \rho + \sum_i w_i \max(0, \rho - y_i f(x_i))

where w is the sum of the weights. Both have duals in β = yα with h = Σ βᵢ k(xᵢ, ·).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn import svm as libsvm

from mercer.check import Array
from mercer.errors import InvalidParameter
from mercer.svm.expansion import (
    START,
    Expansion,
    Found,
    excess_of,
    interval_of,
    largest_value,
    rounding_of,
    scale_of,
    start_of,
)
from mercer.svm.quadratic import ROUNDING, Point, Program, Unbounded, polished

START_COST = 1e6
"""The cost with which a hard margin begins, for a matrix with entries up to 1."""


@dataclass(frozen=True, repr=False)
class Separator(Expansion):
    """A function between two classes, whose margins lie at f = ±1.

    ``margin`` is the distance ρ/‖h‖ of the margins from the border, in the space of the kernel.
    """

    facts: ClassVar[Mapping[str, str]] = {
        **Expansion.facts,
        "margin": "distance of the margins from the border",
    }

    margin: float


def separated_by_cost(K: Array, y: Array, costs: Array, entry: float = 0.0) -> Separator:
    """Return the separator of the form with costs C, infinite ones for a hard margin.

    Entries of K are right to ``entry``.

    >>> y = np.array([1.0, -1.0])
    >>> of = separated_by_cost(np.outer(y, y), y, np.full(2, 9.0))
    >>> of.weights, of.intercept, of.margin
    (array([ 0.5, -0.5]), 0.0, 1.0)
    """
    scale = scale_of(K)
    # With h in units of √scale the matrix has entries near 1, which single precision can hold.
    program = Program(
        K / scale,
        y.copy(),
        np.where(y > 0, 0.0, -scale * costs),
        np.where(y > 0, scale * costs, 0.0),
        np.zeros(len(y), dtype=np.intp),
    )
    try:
        point = polished(program, _cost_start(program, y))
    except Unbounded:
        raise _inseparable() from None
    beta = point.beta / scale
    image = K @ beta
    low, high = interval_of(point)
    intercept = 0.5 * (low + high)
    half_square = 0.5 * float(beta @ image)
    slacks = np.maximum(0.0, 1.0 - y * (image + intercept))
    found, dual = Found(beta, image, intercept), float(y @ beta) - half_square
    if np.all(np.isfinite(costs)):
        objective = half_square + float(costs @ slacks)
        unknown, _ = _rounding(K, entry, y, found, 1.0, costs, objective)
    else:
        least = _least_margin(y * (image + intercept))
        objective = half_square / least**2
        unknown, of_f = _rounding(K, entry, y, found, 1.0, np.abs(beta), objective)
        unknown += 4.0 * objective * of_f / least  # of the least margin, by which f is divided
    return Separator(
        beta,
        intercept,
        (low, high),
        objective,
        abs(objective - dual) + unknown,
        slacks,
        unknown,
        point.steps,
        _inverse_root(2.0 * half_square),
    )


def _least_margin(margins: Array) -> float:
    """Return the least of margins: divided by it, the function keeps all of them at 1 or above."""
    least = float(margins.min())
    if not least > 0.0:
        raise _inseparable()
    return least


def _inseparable() -> InvalidParameter:
    return InvalidParameter(
        "C = inf leaves no point inside the margin, and no function of the kernel's space keeps "
        "the classes so far apart: give a finite C, or a kernel with a smaller bandwidth"
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
    scale = scale_of(K)
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
    lost, found = float(weights @ losses) + 0.5 * square, Found(beta, image, intercept)
    unknown, _ = _rounding(K, entry, y, found, rho, weights, lost)
    # Σ|β| = νw decides on ρ, as Σβ = 0 does on the intercept.
    unknown += 2.0 * rho * excess_of(np.abs(beta), nu * total)
    return Separator(
        beta / rho,
        intercept / rho,
        (intercepts[0] / rho, intercepts[1] / rho),
        objective,
        abs(objective + 0.5 * square) + unknown,
        losses / rho,
        unknown,
        point.steps,
        rho * _inverse_root(square),
    )


def _levels(point: Point, scale: float) -> tuple[float, tuple[float, float]]:
    """Return ρ and the interval of b, from -ρ + b of one class and ρ + b of the other."""
    ends = scale * point.intervals
    for row in ends:
        row[~np.isfinite(row)] = row[np.isfinite(row)].mean() if np.any(np.isfinite(row)) else 0.0
    below, above = ends.mean(axis=1)
    half = 0.25 * float(np.sum(np.abs(ends[:, 1] - ends[:, 0])))
    middle = 0.5 * float(below + above)
    return 0.5 * float(above - below), (middle - half, middle + half)


def _rounding(  # noqa: PLR0917  (an objective has so many parts)
    K: Array, entry: float, y: Array, found: Found, level: float, costs: Array, objective: float
) -> tuple[float, float]:
    """Bound what rounding does to an objective and to its dual, and to values of f.

    What Σβ is away from 0 is charged with the intercept b* of the optimum: losses keep it from
    either class, and ‖h‖² is at most twice the objective.
    """
    margins = level - y * (found.image + found.intercept)
    unknown, of_f = rounding_of(K, entry, found, margins, np.full(len(y), level), costs)
    lightest = min(float(costs[y > 0].sum()), float(costs[y < 0].sum()))
    most = level + objective / lightest + largest_value(K, objective)
    return unknown + excess_of(found.beta) * most, of_f


def _inverse_root(square: float) -> float:
    return float(1.0 / np.sqrt(square)) if square > 0 else np.inf


def _cost_start(program: Program, y: Array) -> Array:
    """Return the dual variables of libsvm, whose matrix is in single precision."""
    costs = program.upper - program.lower
    costs = np.where(np.isfinite(costs), costs, START_COST)
    largest = float(costs.max())
    return start_of(libsvm.SVC(C=largest, **START), program.K, y, costs / largest)


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
    peer = libsvm.NuSVC(nu=total / float(widths.sum()), **START)
    found = start_of(peer, program.K, y, np.ones(len(y)))
    sums = [float(np.sum(np.abs(found[y == sign]))) for sign in (1.0, -1.0)]
    if not min(sums) > 0.0:
        return plain
    for sign, size in zip((1.0, -1.0), sums, strict=True):
        found[y == sign] *= 0.5 * total / size
    inside = np.all((found >= program.lower - 1e-9) & (found <= program.upper + 1e-9))
    return found if inside and np.all(np.isfinite(found)) else plain
