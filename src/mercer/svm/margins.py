"""The programs of support vector machines, each with its duality gap.

With f = h + b, h in the space H of a kernel, two classes y = ±1 are separated by a margin (with
costs C, or with a share ν), one class from the origin, and the values of a regression lie in a
tube. All have duals in weights β, with h = Σ βᵢ k(xᵢ, ·).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn import svm as libsvm

from mercer.check import Array
from mercer.errors import InvalidParameter
from mercer.svm.quadratic import (
    GRADIENT_ROUNDING,
    START,
    Candidate,
    Expansion,
    Point,
    Program,
    Unbounded,
    excess_of,
    interval_of,
    largest_value,
    polish,
    rounding_of,
    scale_of,
    start_of,
)

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


def separate_by_cost(K: Array, y: Array, costs: Array, entry: float = 0.0) -> Separator:
    r"""Return the separator of the form with costs C, infinite ones for a hard margin.

    .. math:: \min \tfrac{1}{2} \|h\|^2 + \sum_i C_i \max(0, 1 - y_i f(x_i))

    Entries of K are right to ``entry``.

    >>> y = np.array([1.0, -1.0])
    >>> of = separate_by_cost(np.outer(y, y), y, np.full(2, 9.0))
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
        point = polish(program, _cost_start(program, y))
    except Unbounded:
        raise _inseparable() from None
    beta = point.beta / scale
    image = K @ beta
    low, high = interval_of(point)
    intercept = 0.5 * (low + high)
    half_square = 0.5 * float(beta @ image)
    slacks = np.maximum(0.0, 1.0 - y * (image + intercept))
    found, dual = Candidate(beta, image, intercept), float(y @ beta) - half_square
    if np.all(np.isfinite(costs)):
        objective = half_square + float(costs @ slacks)
        unknown, _ = _margin_rounding(K, entry, y, found, 1.0, costs, objective)
    else:
        least = _least_margin(y * (image + intercept))
        objective = half_square / least**2
        unknown, of_f = _margin_rounding(K, entry, y, found, 1.0, np.abs(beta), objective)
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


def separate_by_share(
    K: Array, y: Array, weights: Array, nu: float, entry: float = 0.0
) -> Separator:
    r"""Return the separator of the form with ν, scaled so that its margins lie at ±1.

    .. math:: \min \tfrac{1}{2} \|h\|^2 - \nu w \rho + \sum_i w_i \max(0, \rho - y_i f(x_i))

    where w is the sum of the weights.
    """
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
    point = polish(program, _share_start(program, y, nu * total))
    beta = point.beta
    rho, intercepts = _levels(point, scale)
    image = K @ beta
    if not rho > GRADIENT_ROUNDING * scale * float(np.sum(np.abs(beta))):
        raise InvalidParameter(
            f"nu = {nu:g} leaves no margin: the classes overlap in more than that share of the "
            f"points. Take a larger nu, up to {least:g}"
        )
    intercept = 0.5 * sum(intercepts)
    square = float(beta @ image)
    losses = np.maximum(0.0, rho - y * (image + intercept))
    objective = 0.5 * square - nu * total * rho + float(weights @ losses)
    lost, found = float(weights @ losses) + 0.5 * square, Candidate(beta, image, intercept)
    unknown, _ = _margin_rounding(K, entry, y, found, rho, weights, lost)
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


def _margin_rounding(  # noqa: PLR0917  (an objective has so many parts)
    K: Array, entry: float, y: Array, found: Candidate, level: float, costs: Array, objective: float
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


def margin_from_origin(K: Array, weights: Array, nu: float, entry: float = 0.0) -> Expansion:
    r"""Return f = h - ρ, which is negative for the share ν of the points at the most.

    .. math:: \min_{h, \rho}\; \tfrac{1}{2} \|h\|^2 - \nu w \rho +
        \sum_i w_i \max(0, \rho - h(x_i))
        \;=\; -\min_\alpha\; \tfrac{1}{2} \alpha^\top K \alpha, \quad
        0 \le \alpha_i \le w_i,\; \textstyle\sum_i \alpha_i = \nu w

    where w is the sum of the weights, and h = Σ αᵢ k(xᵢ, ·).
    Entries of K are right to ``entry``.

    >>> of = margin_from_origin(np.eye(2), np.ones(2), 0.5)
    >>> of.weights, of.intercept, of.gap < 1e-14
    (array([0.5, 0.5]), -0.5, True)
    """
    scale, total = scale_of(K), nu * float(weights.sum())
    program = Program(
        K / scale,
        np.zeros(len(K)),
        np.zeros(len(K)),
        weights,
        np.zeros(len(K), np.intp),
    )
    point = polish(program, _origin_start(program, nu, total))
    alpha = point.beta
    low, high = interval_of(point, scale)
    rho = -0.5 * (low + high)
    image = K @ alpha
    half_square = 0.5 * float(alpha @ image)
    slacks = np.maximum(0.0, rho - image)
    objective = half_square - total * rho + float(weights @ slacks)
    levels = np.full(len(K), abs(rho))
    found = Candidate(alpha, image, 0.0)
    unknown, _ = rounding_of(K, entry, found, rho - image, levels, weights)
    # What Σα is away from νw is charged with the ρ of the optimum, a value of its h.
    unknown += excess_of(alpha, total) * (abs(rho) + largest_value(K, abs(objective)))
    return Expansion(
        alpha,
        -rho,
        (low, high),
        objective,
        abs(objective + half_square) + unknown,
        slacks,
        unknown,
        point.steps,
    )


def _origin_start(program: Program, nu: float, total: float) -> Array:
    """Return the variables of libsvm, moved so that they have the sum."""
    weights = program.upper
    peer = libsvm.OneClassSVM(nu=nu, **START)
    alpha = np.clip(start_of(peer, program.K, weights, weights), 0.0, weights)
    missing = total - float(alpha.sum())
    if missing <= 0.0:
        return np.asarray(alpha * (total / float(alpha.sum())))
    room = weights - alpha
    return np.asarray(np.minimum(alpha + room * (missing / float(room.sum())), weights))


def fit_tube(K: Array, y: Array, costs: Array, epsilon: float, entry: float = 0.0) -> Expansion:
    r"""Return the flattest function in whose tube the values lie, but for slacks at a cost.

    .. math:: \min \tfrac{1}{2} \|h\|^2 + \sum_i C_i \max(0, |y_i - f(x_i)| - \varepsilon)
        \;=\; \max_\beta\; y^\top \beta - \varepsilon \|\beta\|_1
        - \tfrac{1}{2} \beta^\top K \beta,
        \quad |\beta_i| \le C_i,\; \textstyle\sum_i \beta_i = 0

    Entries of K are right to ``entry``.

    >>> x, y = np.array([-1.0, 1.0]), np.array([4.0, 8.0])
    >>> of = fit_tube(np.outer(x, x), y, np.full(2, 9.0), 0.5)
    >>> of.weights, of.intercept, of.gap < 1e-12
    (array([-0.75,  0.75]), 6.0, True)
    """
    centre = float(y.mean())  # weights sum to zero: a constant belongs to the intercept
    scale, unit = scale_of(K), scale_of(y - centre)
    # With K and y near 1 the start, in single precision, loses nothing to their size.
    program = _tube_program(K / scale, (y - centre) / unit, scale / unit * costs, epsilon / unit)
    point = polish(program, _tube_start(program, len(y), epsilon / unit))
    beta = unit / scale * point.beta
    if program.rows is not None:
        beta = beta[: len(y)] + beta[len(y) :]
    low, high = interval_of(point, unit)
    intercept = 0.5 * (low + high)
    image = K @ beta
    half_square = 0.5 * float(beta @ image)
    margins = np.abs(y - centre - image - intercept) - epsilon
    slacks = np.maximum(0.0, margins)
    objective = half_square + float(costs @ slacks)
    dual = float((y - centre) @ beta) - epsilon * float(np.sum(np.abs(beta))) - half_square
    levels = np.abs(y) + abs(centre) + epsilon
    found = Candidate(beta, image, intercept)
    unknown, _ = rounding_of(K, entry, found, margins, levels, costs)
    # What Σβ is away from 0 is charged with the intercept of the optimum, which losses keep near.
    most = float(levels.max()) + objective / float(costs.sum()) + largest_value(K, objective)
    unknown += excess_of(beta) * most
    return Expansion(
        beta,
        intercept + centre,
        (low + centre, high + centre),
        objective,
        abs(objective - dual) + unknown,
        slacks,
        unknown,
        point.steps,
    )


def _tube_program(K: Array, y: Array, costs: Array, epsilon: float) -> Program:
    """Return the program of β, split into its parts above and below zero where ε costs."""
    n = len(y)
    if epsilon == 0.0:
        return Program(K, y, -costs, costs, np.zeros(n, np.intp))
    none = np.zeros(n)
    return Program(
        K,
        np.concatenate([y - epsilon, y + epsilon]),
        np.concatenate([none, -costs]),
        np.concatenate([costs, none]),
        np.zeros(2 * n, np.intp),
        np.tile(np.arange(n), 2),
    )


def _tube_start(program: Program, n: int, epsilon: float) -> Array:
    """Return the variables of libsvm, whose matrix is in single precision."""
    costs, y = program.upper[:n], program.b[:n] + epsilon
    largest = float(costs.max())
    peer = libsvm.SVR(C=largest, epsilon=epsilon, **START)
    beta = start_of(peer, program.K, y, costs / largest)
    if program.rows is None:
        return beta
    return np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
