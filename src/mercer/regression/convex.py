"""Regression with losses other than the squared one: the minimiser with its duality gap.

Newton's method is for smooth losses, also where they are straight in parts; an interior point
method for those with corners.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import linprog
from scipy.special import expit

from mercer.check import Array
from mercer.errors import InvalidInput, InvalidParameter
from mercer.regression.loss_functions import Loss, infeasibility, objective_rounding
from mercer.regression.observations import WeightedTargets
from mercer.solve import Saddle, SaddleSolution
from mercer.solve.steps import Reflections

MOST_STEPS = 100
"""More Newton steps than any problem took; an interior point method takes some twenty."""

TRIVIAL = 1e-4
"""The least unit of a gap, as a share of the objective of the zero function.

A nearly exact fit has an objective near 0, in units of which rounding alone would be a large gap.
"""

BESIDE = 1e-6
"""How far a derivative may lie outside of what the loss can have: for a `convex_loss`, as a share
of the largest."""

YOUNG = 1e-9
"""Share of its terms by which Fenchel and Young's inequality may fail, by rounding of a formula."""

LOST_GAP = 1.0
"""An objective that rounding may have changed by a larger share of it is not known."""


@dataclass(frozen=True)
class ConvexOptimum:
    """Weights with the objective they attain, and how far any function can be below it.

    ``gap`` is that of duality as it was computed, ``rounding`` what rounding can have done to both
    of its sides: together they bound the distance to the least objective. What is known to more
    than `LOST_GAP` of the ``scale`` of objectives is worth a warning.
    """

    weights: Array
    null_weights: Array
    objective: float
    gap: float
    allowed: float
    steps: int
    rounding: float = 0.0
    scale: float = 0.0

    @property
    def is_proved(self) -> bool:
        """Whether the gap is one that was asked for."""
        return self.gap <= self.allowed

    @property
    def is_lost(self) -> bool:
        """Whether rounding leaves next to nothing of the proof."""
        return self.rounding > LOST_GAP * self.scale


@dataclass(frozen=True)
class Problem:
    """The mean loss of f = Kα + Qη with weights p that sum to 1, plus γ αᵀKα."""

    saddle: Saddle
    y: Array
    p: Array
    penalty: float
    loss: Loss
    tol: float

    def optimum(
        self, alpha: Array, eta: Array, steps: int, image: Array | None = None
    ) -> ConvexOptimum:
        r"""Return the weights with their duality gap, given Kα if it is known.

        .. math:: \sum_i p_i (\ell(y_i, f_i) + \ell^*(y_i, s_i)) + 2\gamma\, \alpha^\top K \alpha
        """
        image = self.saddle.product(alpha[:, None])[:, 0] if image is None else image
        f = image + self.saddle.Q @ eta
        low, high = self.loss.box(self.y)
        s = -2.0 * self.penalty * alpha / self.p
        outside = float(np.max(np.maximum(s - high, low - s), initial=0.0))
        roughness = self.penalty * float(alpha @ image)
        objective = float(self.p @ self.loss.value(self.y, f)) + roughness
        conjugates = self.loss.conjugate(self.y, np.clip(s, low, high))
        # What leaves the box, or Qᵀα = 0, by rounding is charged with what it gains.
        gained = outside * float(self.p @ np.abs(f)) if outside <= BESIDE else np.inf
        if self.loss.is_own:
            conjugates, moved = self._reached(f, s, conjugates)
            gained += float(self.p @ (moved * (np.abs(f) + np.abs(image))))
        dual = -float(self.p @ conjugates) - roughness
        gained += infeasibility(self, alpha, eta, objective)
        gap = max(objective - dual, 0.0) + gained
        of_zero = float(self.p @ self.loss.value(self.y, 0.0 * self.y))
        scale = max(abs(objective), TRIVIAL * abs(of_zero))
        unknown = objective_rounding(self, alpha, eta, image, objective, conjugates)
        return ConvexOptimum(alpha, eta, objective, gap, self.tol * scale, steps, unknown, scale)

    def _reached(self, f: Array, s: Array, conjugates: Array) -> tuple[Array, Array]:
        """Return conjugates where the derivative is s but for rounding, and how far s was moved.

        One that is too small is refused: a dual above the objective would prove nothing. Fenchel
        and Young: ℓ(y, f) + ℓ*(y, s) ≥ sf for every f and s.
        """
        assert self.loss.derivatives is not None
        with np.errstate(over="ignore", invalid="ignore"):
            slopes, values = self.loss.derivatives(self.y, f)[0], self.loss.value(self.y, f)
            is_beside = np.abs(slopes - s) <= BESIDE * np.max(np.abs(slopes), initial=0.0)
            is_moved = ~np.isfinite(conjugates) & is_beside
            near = np.where(is_moved, slopes, s)
            if np.any(is_moved):
                conjugates = self.loss.conjugate(self.y, near)
            left = values + conjugates - near * f
            allowed = YOUNG * (np.abs(values) + np.abs(conjugates) + np.abs(near * f))
            is_small = left < -allowed
        if np.any(is_small):
            i = int(np.argmax(is_small))
            raise InvalidParameter(
                f"the conjugate of the {self.loss.name} loss is too small: at y = {self.y[i]:.6g}, "
                f"s = {near[i]:.6g} it is {conjugates[i]:.6g}, less than sf - loss = "
                f"{near[i] * f[i] - values[i]:.6g} at f = {f[i]:.6g}"
            )
        return conjugates, np.abs(near - s)


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
    saddle: Saddle, data: WeightedTargets, penalty: float, loss: Loss, tol: float
) -> list[ConvexOptimum]:
    """Return the minimiser for each output.

    >>> from mercer import Gram, Linear
    >>> from mercer.regression.loss_functions import loss_named
    >>> data = WeightedTargets(np.array([[1.0], [2.0]]), np.array([[1.0], [2.0]]), np.ones(2))
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


def _without_kernel(Q: Array, data: WeightedTargets) -> list[ConvexOptimum]:
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
    if found.status == 0 and float(margins.sum(axis=0) @ np.asarray(found.x)) > SEPARATING * len(y):
        raise InvalidInput(
            "a function of the null space separates the labels -1 and 1, so the logistic loss "
            "falls for ever along it and has no minimum: take a smaller null space or another loss"
        )
