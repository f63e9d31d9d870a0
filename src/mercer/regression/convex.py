"""Regression with losses other than the squared one: the minimiser with its duality gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer.check import Array
from mercer.errors import InvalidParameter
from mercer.regression.loss_functions import Loss
from mercer.regression.newton import newton
from mercer.regression.observations import Data
from mercer.regression.problem import MOST_STEPS, ConvexOptimum, Problem
from mercer.solve import Saddle, SaddleSolution
from mercer.solve.steps import Reflections

TO_BOUNDARY = 0.995
"""Longest step, as a share of the way to the nearest bound."""

FLOOR = 1e-15
"""Least addition to K in a step, as a share of n k(x, x): its rounding is as large."""

NEGLIGIBLE, ROUNDING = 1e-6, 1e-18
"""Complementarity below these shares of the gap allowed, and of the squared targets: what is left
of a gap is rounding."""

SHORTEST = 1e-8
"""Steps that are cut to less than this lead nowhere."""

REACH = 1e20
"""Weights of a function that rounding leaves anything of, in units of the targets and of K."""

VANISHING = 1e-100
"""Penalised part of g, as a share of the targets, that is none: its squares are no doubles."""


def minimise(problem: Problem) -> ConvexOptimum:
    """Return the minimiser, by Newton's method for smooth losses and an interior point else."""
    return newton(problem) if problem.loss.is_smooth else _interior_point(problem)


def _interior_point(problem: Problem) -> ConvexOptimum:
    r"""Solve the dual, a quadratic programme with a box, by Mehrotra's method.

    .. math:: \min_\alpha\; \tfrac{1}{2} \alpha^\top (K + C) \alpha - y^\top \alpha,
        \quad Q^\top \alpha = 0, \quad l \le \alpha \le u

    with C = 2γc/p of the loss's curvature c. The multipliers of Qᵀα = 0 are the null weights η.
    """
    saddle, y, p, gamma = problem.saddle, problem.y, problem.p, problem.penalty
    eta = np.zeros(saddle.Q.shape[1])
    best = problem.optimum(np.zeros_like(y), eta, 0)
    if best.is_proved:
        return best  # such as for y = 0
    unit, lower, upper = _bounds(problem)
    C = 2.0 * gamma * problem.loss.curvature / p
    alpha, scale = 0.5 * (lower + upper), float(np.max(np.abs(y)))
    z, w = np.full_like(y, scale), np.full_like(y, scale)
    for step in range(1, MOST_STEPS + 1):
        slacks = a, b, z, w = alpha - lower, upper - alpha, z, w
        if min(float(slack.min()) for slack in slacks) <= 0.0:
            break  # rounding has reached a bound: no step is left
        mu = float(a @ z + b @ w) / (2 * len(y))
        added = np.maximum(C + z / a + w / b, FLOOR * len(y) * scale / unit)
        solve = saddle.solver(1.0 / np.sqrt(added), 1.0)
        # The step itself is solved for, and not its end, as soon as Qᵀα = 0 allows it.
        is_feasible = _is_feasible(saddle.Q, alpha)
        gradient = y - saddle.product(alpha[:, None])[:, 0] - C * alpha
        fixed = gradient if is_feasible else y + (added - C) * alpha
        start = np.zeros_like(alpha) if is_feasible else alpha
        free = _direction(solve, fixed, start, slacks, (0.0 * y, 0.0 * y))
        centre = (_ahead(slacks, free) / mu) ** 3 * mu
        goals = centre - free.alpha * free.z, centre + free.alpha * free.w
        change = _direction(solve, fixed, start, slacks, goals)
        length = min(1.0, TO_BOUNDARY * _longest(slacks, change))
        alpha, eta = alpha + length * change.alpha, eta + length * (change.eta - eta)
        z, w = z + length * change.z, w + length * change.w
        found = problem.optimum(alpha, eta, step)
        best = found if found.gap < best.gap else best
        is_complementary = 4.0 * gamma * len(y) * mu < NEGLIGIBLE * best.allowed
        is_rounding = is_complementary and mu < ROUNDING * scale * unit
        if best.is_proved or length < SHORTEST or is_rounding:
            break
    return best


def _ahead(slacks: tuple[Array, Array, Array, Array], change: Direction) -> float:
    """Return the mean product of slacks and multipliers after the longest part of a step."""
    a, b, z, w = slacks
    reach = min(1.0, _longest(slacks, change))
    below = (a + reach * change.alpha) @ (z + reach * change.z)
    above = (b - reach * change.alpha) @ (w + reach * change.w)
    return max(float(below + above), 0.0) / (2 * len(a))


def _bounds(problem: Problem) -> tuple[float, Array, Array]:
    """Return a unit for α, and the bounds that those of the derivative give, within reach."""
    low, high = problem.loss.box(problem.y)
    size = float(np.max(np.abs(problem.saddle.gram.diag()))) or 1.0
    unit = float(np.max(np.abs(problem.y))) / size
    share = 0.5 * problem.p / problem.penalty
    lower, upper = -share * high, -share * low
    if float(np.max(upper - lower)) < VANISHING * unit:
        raise InvalidParameter(
            f"penalty={problem.penalty:g} leaves less than {VANISHING:g} of y to the penalised "
            "part of the function: give a smaller one"
        )
    return unit, np.maximum(lower, -REACH * unit), np.minimum(upper, REACH * unit)


@dataclass(frozen=True)
class Direction:
    """Changes of α and of the multipliers of its bounds, and the next null weights."""

    alpha: Array
    eta: Array
    z: Array
    w: Array


def _is_feasible(Q: Array, alpha: Array) -> bool:
    unit = alpha / (float(np.max(np.abs(alpha))) or 1.0)
    size = float(np.linalg.norm(Q)) * float(np.linalg.norm(unit))
    return float(np.linalg.norm(Q.T @ unit)) <= 1e-13 * size


def _direction(
    solve: Callable[[Array], SaddleSolution],
    fixed: Array,
    start: Array,
    slacks: tuple[Array, Array, Array, Array],
    goals: tuple[Array, Array],
) -> Direction:
    """Return the Newton step to the products az and bw that are asked for."""
    a, b, z, w = slacks
    for_z, for_w = goals
    answer = solve((fixed + for_z / a - for_w / b)[:, None])
    change = answer.weights[:, 0] - start
    dz, dw = for_z / a - z - z / a * change, for_w / b - w + w / b * change
    return Direction(change, answer.null_weights[:, 0], dz, dw)


def _longest(slacks: tuple[Array, Array, Array, Array], change: Direction) -> float:
    """Return the longest step, up to 2, that keeps slacks and multipliers positive."""
    longest = 2.0
    deltas = change.alpha, -change.alpha, change.z, change.w
    for now, delta in zip(slacks, deltas, strict=True):
        falling = delta < 0
        if np.any(falling):
            longest = min(longest, float(np.min(-now[falling] / delta[falling])))
    return longest


def optima_of(
    saddle: Saddle, data: Data, penalty: float, loss: Loss, tol: float
) -> list[ConvexOptimum]:
    """Return the minimiser for each output.

    >>> from mercer import Gram, Linear
    >>> from mercer.regression.loss_functions import loss_named
    >>> data = Data(np.array([[1.0], [2.0]]), np.array([[1.0], [2.0]]), np.ones(2))
    >>> saddle = Saddle(Gram(Linear(), data.points), np.zeros((2, 0)))
    >>> (found,) = optima_of(saddle, data, 2.5, loss_named("squared"), 1e-8)
    >>> round(float(found.weights @ data.points[:, 0]), 6), round(found.objective, 6)
    (0.5, 1.25)
    """
    outputs = range(data.y.shape[1])
    problems = [Problem(saddle, data.y[:, j], data.p, penalty, loss, tol) for j in outputs]
    if loss.name != "squared":
        return [minimise(problem) for problem in problems]
    if penalty == np.inf:
        return _without_kernel(saddle.Q, data)
    answer = saddle.solve(np.sqrt(data.p), penalty, data.y)
    columns = (answer.weights.T, answer.null_weights.T, answer.images.T)
    return [
        problem.optimum(alpha, eta, answer.iterations, image)
        for problem, alpha, eta, image in zip(problems, *columns, strict=True)
    ]


def _without_kernel(Q: Array, data: Data) -> list[ConvexOptimum]:
    """Return the weighted least squares of the null space alone."""
    s = np.sqrt(data.p)[:, None]
    eta = _least_squares(s * Q, s * data.y)
    values = data.p @ (data.y - Q @ eta) ** 2
    zero = np.zeros(len(data))
    return [ConvexOptimum(zero, eta[:, j], float(v), 0.0, 0.0, 0) for j, v in enumerate(values)]


def _least_squares(Q: Array, y: Array) -> Array:
    if Q.shape[1] == 0:
        return np.zeros((0, y.shape[1]))
    reflections = Reflections(Q)
    top = reflections.forth(y)[: reflections.count]
    return np.asarray(solve_triangular(reflections.triangle, top))
