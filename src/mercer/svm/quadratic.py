r"""Quadratic programs with a box and groups of fixed sums, solved to rounding by active sets.

.. math:: \min_\beta\; \tfrac{1}{2} \beta^\top K \beta - b^\top \beta, \quad
    l \le \beta \le u, \quad \sum_{i \in g} \beta_i = c_g \text{ for each group } g

Both forms of the soft margin are such programs: one group with sum 0 for C, a group for each
class for ν. So are one class, whose weights sum to ν, and the tube of a regression, in which each
point has a variable for either side. A bound may be infinite. A start that is nearly right, such
as that of a solver in single precision, has nearly the right bounds; each step solves the
optimality conditions on the variables between their bounds exactly, and then lets one that stops
at a bound go or takes a wrong one back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.check import Array

UNIT = float(np.finfo(float).eps)

ROUNDING = 16 * UNIT
"""Gradients are right to this share of the sum of what is added up in them."""

REFINEMENTS = 3
"""Repeated solutions on the same variables: each removes what rounding left of the last."""


class Unbounded(Exception):
    """The objective falls without end along a ray that no bound stops."""


@dataclass(frozen=True)
class Program:
    """The matrices of a program; ``groups`` numbers the group of each variable from 0.

    ``rows`` says which row of K belongs to each variable, where several have one in common.
    """

    K: Array
    b: Array
    lower: Array
    upper: Array
    groups: Array
    rows: Array | None = None

    def gradient(self, beta: Array) -> Array:
        if self.rows is None:
            return np.asarray(self.K @ beta - self.b)
        image = self.K @ np.bincount(self.rows, beta, len(self.K))
        return np.asarray(image[self.rows] - self.b)

    def block(self, variables: Array) -> Array:
        """Return the matrix of some of the variables."""
        rows = variables if self.rows is None else self.rows[variables]
        return np.asarray(self.K[np.ix_(rows, rows)])

    def rounding(self, beta: Array) -> float:
        """Return what rounding may do to a gradient."""
        size = float(np.max(np.abs(self.K), initial=0.0)) * float(np.sum(np.abs(beta)))
        return ROUNDING * (size + float(np.max(np.abs(self.b), initial=0.0)))


@dataclass(frozen=True)
class Point:
    """A solution with an interval for the multiplier of each group.

    The ends of an interval are equal where a variable of the group is between its bounds. A
    negative length, up to rounding, is the violation of the optimality conditions.
    """

    beta: Array
    intervals: Array
    violation: float
    steps: int

    @property
    def multipliers(self) -> Array:
        """The middle of each interval."""
        return np.asarray(self.intervals.mean(axis=1))


def is_free(program: Program, beta: Array) -> Array:
    """Return which variables are between their bounds."""
    return np.asarray((beta > program.lower) & (beta < program.upper))


def intervals(program: Program, beta: Array, gradient: Array, free: Array) -> Array:
    """Return the multipliers η of each group that satisfy G + η ≥ 0 at l, ≤ 0 at u, = 0 between.

    Where a variable is free both ends are the mean of what the free ones ask for.
    """
    count = int(program.groups.max()) + 1
    found = np.empty((count, 2))
    can_move = program.lower < program.upper
    for g in range(count):
        inside = program.groups == g
        if np.any(free & inside):
            found[g] = -float(np.mean(gradient[free & inside]))
            continue
        at_lower = inside & can_move & (beta <= program.lower)
        at_upper = inside & can_move & (beta >= program.upper)
        found[g] = (
            np.max(-gradient[at_lower], initial=-np.inf),
            np.min(-gradient[at_upper], initial=np.inf),
        )
    return found


def _wrong(program: Program, beta: Array, gradient: Array, free: Array, ends: Array) -> Array:
    """Return by how much each variable at a bound violates its condition."""
    low, high = ends[program.groups].T
    can_move = (program.lower < program.upper) & ~free
    # In a group without free variables the extremes of both sides are set against each other.
    at_lower = np.where(np.isfinite(high), -gradient - high, -np.inf)
    at_upper = np.where(np.isfinite(low), gradient + low, -np.inf)
    wrong = np.where(beta <= program.lower, at_lower, at_upper)
    return np.where(can_move, wrong, -np.inf)


def polished(program: Program, beta: Array, most: int | None = None) -> Point:
    """Return the solution, from a feasible start that should be near it.

    >>> one_group = np.zeros(2, dtype=int)
    >>> program = Program(np.eye(2), np.array([3.0, 0.5]), np.zeros(2), np.ones(2), one_group)
    >>> polished(program, np.array([0.5, 0.5])).beta
    array([1., 0.])
    """
    beta = np.clip(beta, program.lower, program.upper)
    free = is_free(program, beta)
    most = 20 * len(beta) + 200 if most is None else most
    is_stuck, refined, step = False, 0, 0
    for step in range(1, most + 1):
        gradient = program.gradient(beta)
        allowed = program.rounding(beta)
        moved = _towards(program, beta, free, gradient, allowed)
        if moved is not None and refined < REFINEMENTS:
            new, stopped = moved
            is_stuck = is_stuck or bool(np.array_equal(new, beta))
            refined = 0 if stopped >= 0 else refined + 1
            beta = new
            if stopped >= 0:
                free[stopped] = False
            continue
        ends = intervals(program, beta, gradient, free)
        wrong = _wrong(program, beta, gradient, free, ends)
        worst = float(np.max(wrong, initial=-np.inf))
        if worst <= allowed:
            return Point(beta, ends, max(worst, 0.0), step)
        # After a step of length zero the lowest number goes first: no cycle can arise.
        chosen = np.flatnonzero(wrong > allowed)[:1] if is_stuck else wrong >= 0.5 * worst
        free[chosen] = True
        _complete(program, beta, gradient, free)
        refined = 0
    gradient = program.gradient(beta)
    ends = intervals(program, beta, gradient, is_free(program, beta))
    worst = float(np.max(_wrong(program, beta, gradient, free, ends), initial=0.0))
    return Point(beta, ends, max(worst, 0.0), step)


def _complete(program: Program, beta: Array, gradient: Array, free: Array) -> None:
    """Give a freed variable that is alone in its group the partner it violates most with."""
    for g in np.unique(program.groups[free]):
        inside = program.groups == g
        mine = np.flatnonzero(inside & free)
        is_at_lower = beta[mine[0]] <= program.lower[mine[0]]
        if len(mine) > 1 or program.lower[mine[0]] < beta[mine[0]] < program.upper[mine[0]]:
            continue
        can_move = inside & (program.lower < program.upper) & ~free
        if is_at_lower:  # it rises, so another one falls
            others = np.flatnonzero(can_move & (beta > program.lower))
            partner = others[np.argmax(gradient[others])] if others.size else None
        else:
            others = np.flatnonzero(can_move & (beta < program.upper))
            partner = others[np.argmin(gradient[others])] if others.size else None
        if partner is not None:
            free[partner] = True


def _towards(
    program: Program, beta: Array, free: Array, gradient: Array, allowed: float
) -> tuple[Array, int] | None:
    """Go to the minimum over the free variables or to the first bound on the way, and name it.

    None says that the minimum is reached already.
    """
    f = np.flatnonzero(free)
    if not f.size:
        return None
    groups = program.groups[f]
    slope = _projected(gradient[f], groups)
    if float(np.max(np.abs(slope))) <= allowed:
        return None
    direction, is_ray = _direction(program.block(f), slope, groups)
    room = np.where(direction > 0, program.upper[f] - beta[f], beta[f] - program.lower[f])
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.where(direction == 0, np.inf, room / np.abs(direction))
    first = int(np.argmin(lengths))
    new = beta.copy()
    if not is_ray and lengths[first] > 1.0:
        new[f] = np.clip(beta[f] + direction, program.lower[f], program.upper[f])
        return new, -1
    if not np.isfinite(lengths[first]):
        raise Unbounded
    new[f] = np.clip(beta[f] + lengths[first] * direction, program.lower[f], program.upper[f])
    stopped = int(f[first])
    new[stopped] = program.upper[stopped] if direction[first] > 0 else program.lower[stopped]
    return new, stopped


def _projected(v: Array, groups: Array) -> Array:
    """Return columns minus their mean in each group."""
    result = np.array(v, dtype=float)
    for g in np.unique(groups):
        result[groups == g] -= result[groups == g].mean(axis=0)
    return result


def _direction(K: Array, slope: Array, groups: Array) -> tuple[Array, bool]:
    """Return the step to the minimum, or a ray along which the objective falls without end.

    The matrix is K between the projections that keep the groups' sums, plus a multiple of the
    complement that makes it invertible and changes no step within.
    """
    centred = _projected(_projected(K, groups).T, groups)
    size = max(float(np.trace(centred)) / len(K), float(np.finfo(float).tiny))
    whole = centred.copy()
    for g in np.unique(groups):
        inside = np.flatnonzero(groups == g)
        whole[np.ix_(inside, inside)] += size / len(inside)
    try:
        factor = cho_factor(whole, lower=True)
        if float(np.min(np.diag(factor[0]))) > np.sqrt(len(K) * UNIT * size):
            step = _projected(-cho_solve(factor, slope), groups)
            return step, False
    except np.linalg.LinAlgError:
        pass
    values, axes = np.linalg.eigh(centred)
    is_flat = values <= len(K) * UNIT * max(float(values[-1]), 0.0)
    parts = -(axes.T @ slope)
    ray = axes[:, is_flat] @ parts[is_flat]
    ray = _projected(ray, groups)
    if float(np.max(np.abs(ray), initial=0.0)) > np.sqrt(UNIT) * float(np.max(np.abs(slope))):
        return ray, True
    step = axes[:, ~is_flat] @ (parts[~is_flat] / values[~is_flat])
    return _projected(step, groups), False
