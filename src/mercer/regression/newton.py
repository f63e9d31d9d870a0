"""Newton's method for smooth losses, also where they are straight in parts."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.special import expit

from mercer.check import Array
from mercer.errors import InvalidInput
from mercer.regression.problem import MOST_STEPS, ConvexOptimum, Problem

LEAST_CURVATURE = 1e-10
"""Second derivative of a loss, as a share of the largest, below which it is raised to this."""

FLAT = 1e-10
"""A Newton step that lowers the objective by less than this share of it was the last."""

SEPARATING = 1e-7
"""A margin, as a share of the largest value of the null space, that is not rounding."""


def newton(problem: Problem) -> ConvexOptimum:
    r"""Minimise a smooth loss by Newton's method with halved steps.

    With q and W the first and second derivatives of the loss at f, a step goes to the solution of
    :math:`(K + 2\gamma W^{-1})\alpha + Q\eta = f - W^{-1} q`.
    """
    saddle, y, p, gamma = problem.saddle, problem.y, problem.p, problem.penalty
    derivatives = problem.loss.derivatives
    assert derivatives is not None
    if problem.loss.is_of_labels:
        _refuse_separable(saddle.Q, y)
    alpha, eta = np.zeros_like(y), np.zeros(saddle.Q.shape[1])
    best = problem.optimum(alpha, eta, 0)
    objective, image, reach = best.objective, np.zeros_like(y), np.inf
    for step in range(1, MOST_STEPS + 1):
        f = image + saddle.Q @ eta
        if problem.loss.is_of_labels:
            second = derivatives(y, f)[1]
            target = f + y / expit(y * f)  # whose terms do not vanish where both derivatives do
        else:
            first, second = _curvature(problem, f, reach)
            target = f - first / second
        roots = np.sqrt(p * second)
        answer = saddle.solve(roots, 2.0 * gamma, target[:, None])
        direction = answer.weights[:, 0] - alpha, answer.null_weights[:, 0] - eta
        moved = saddle.product(direction[0][:, None])[:, 0]
        length = _halved(problem, alpha, eta, image, (*direction, moved))
        alpha, eta = alpha + length * direction[0], eta + length * direction[1]
        image = image + length * moved
        reach = float(np.max(np.abs(image + saddle.Q @ eta - f)))
        found = problem.optimum(alpha, eta, step, image)
        is_flat = found.objective > objective - FLAT * abs(objective)
        is_stuck = length < 1e-6 or (is_flat and found.gap >= best.gap)
        objective = found.objective
        if found.gap <= best.gap or not np.isfinite(best.gap):
            best = found
        if best.is_proved or is_stuck:
            break
    return best


def _curvature(problem: Problem, f: Array, reach: float) -> tuple[Array, Array]:
    """Return the first derivatives at f, and second ones that a step can divide by.

    On straight parts of a loss, those are of secants that reach as far as the last step did, or
    at first as far as it takes: so steps end where the loss bends.
    """
    assert problem.loss.derivatives is not None
    first, second = problem.loss.derivatives(problem.y, f)
    wrong = ~(np.isfinite(first) & np.isfinite(second) & (second >= 0.0))
    if np.any(wrong):
        i = int(np.argmax(wrong))
        raise InvalidInput(
            f"the {problem.loss.name} loss is not convex with finite derivatives at y = "
            f"{problem.y[i]:.6g}, f = {f[i]:.6g}: the first is {first[i]:.6g}, the second "
            f"{second[i]:.6g}"
        )
    is_flat = second <= LEAST_CURVATURE * float(np.max(second))
    if np.any(is_flat):
        if reach == np.inf:
            reach = _bend(problem, f, is_flat)
        secants = _secants(problem, f, reach)
        second = np.where(is_flat, np.maximum(second, secants), second)
    largest = float(np.max(second)) or float(np.max(np.abs(first))) or 1.0
    return first, np.maximum(second, LEAST_CURVATURE * largest)


def _secants(problem: Problem, f: Array, reach: float) -> Array:
    """Return the mean second derivative within a distance of f."""
    assert problem.loss.derivatives is not None
    with np.errstate(all="ignore"):
        ends = [problem.loss.derivatives(problem.y, f + end)[0] for end in (-reach, reach)]
        return np.nan_to_num((ends[1] - ends[0]) / (2.0 * reach), posinf=0.0)


def _bend(problem: Problem, f: Array, is_flat: Array) -> float:
    """Return a distance within which the loss bends at all observations, if there is one."""
    size = float(np.max(np.abs(problem.y))) or 1.0
    reaches = size * 2.0 ** np.arange(-20.0, 21.0)
    bends = (reach for reach in reaches if np.all(_secants(problem, f, reach)[is_flat] > 0.0))
    return float(next(bends, size))


def _halved(
    problem: Problem, alpha: Array, eta: Array, image: Array, direction: tuple[Array, Array, Array]
) -> float:
    """Return the longest of the steps 1, 1/2, 1/4, ... that lowers the objective enough."""
    change, eta_change, moved = direction
    f, df = image + problem.saddle.Q @ eta, moved + problem.saddle.Q @ eta_change
    y, p, gamma = problem.y, problem.p, problem.penalty

    def objective(t: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            loss = float(p @ problem.loss.value(y, f + t * df))
        return loss + gamma * float((alpha + t * change) @ (image + t * moved))

    now = objective(0.0)
    assert problem.loss.derivatives is not None
    first = problem.loss.derivatives(y, f)[0]
    slope = float((p * first) @ df) + 2.0 * gamma * float(alpha @ moved)
    length = 1.0
    while length > 1e-8 and not (
        objective(length) <= now + 1e-4 * length * slope + 1e-15 * abs(now)
    ):
        length /= 2.0  # also where a loss has overflown
    return length


def _refuse_separable(Q: Array, y: Array) -> None:
    """Refuse labels that a function of the null space separates: the loss has no minimum then."""
    if Q.shape[1] == 0:
        return
    sizes = np.max(np.abs(Q), axis=0)
    margins = y[:, None] * (Q / np.where(sizes > 0, sizes, 1.0))
    found = linprog(-margins.sum(axis=0), A_ub=-margins, b_ub=np.zeros(len(y)), bounds=(-1.0, 1.0))
    if found.status == 0 and float(margins.sum(axis=0) @ found.x) > SEPARATING * len(y):
        raise InvalidInput(
            "a function of the null space separates the labels -1 and 1, so the logistic loss "
            "falls for ever along it and has no minimum: take a smaller null space or another loss"
        )
