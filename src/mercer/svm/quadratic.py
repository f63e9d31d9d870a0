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

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from mercer.check import UNIT, Array
from mercer.display import Shown
from mercer.kernels.statements import gamma

GRADIENT_ROUNDING = 32 * UNIT
"""Error of a gradient, as a share of the sum of the moduli of its terms."""

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
        return GRADIENT_ROUNDING * (size + float(np.max(np.abs(self.b), initial=0.0)))


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


def polish(program: Program, beta: Array, most: int | None = None) -> Point:
    """Return the solution, from a feasible start that should be near it.

    >>> one_group = np.zeros(2, dtype=int)
    >>> program = Program(np.eye(2), np.array([3.0, 0.5]), np.zeros(2), np.ones(2), one_group)
    >>> polish(program, np.array([0.5, 0.5])).beta
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
        if float(np.min(np.diag(factor[0]))) > np.sqrt(2 * len(K) * UNIT * size):
            step = _projected(-cho_solve(factor, slope), groups)
            return step, False
    except np.linalg.LinAlgError:
        pass
    values, axes = np.linalg.eigh(centred)
    is_flat = values <= 2 * len(K) * UNIT * max(float(values[-1]), 0.0)
    parts = -(axes.T @ slope)
    ray = axes[:, is_flat] @ parts[is_flat]
    ray = _projected(ray, groups)
    if float(np.max(np.abs(ray), initial=0.0)) > np.sqrt(2 * UNIT) * float(np.max(np.abs(slope))):
        return ray, True
    step = axes[:, ~is_flat] @ (parts[~is_flat] / values[~is_flat])
    return _projected(step, groups), False


SINGLE = float(np.finfo(np.float32).eps)
"""Matrices that are given may have been rounded so."""

START = {"kernel": "precomputed", "tol": 1e-6, "max_iter": 200_000}
"""Settings of the start in single precision: closer than its matrix is exact, and still quick.

Where its steps are not enough, the exact ones go on from there.
"""


@dataclass(frozen=True, repr=False)
class Expansion(Shown):
    """A function f = Σ βᵢ k(xᵢ, ·) + b that minimises an objective.

    Where no condition fixes the intercept every one of ``interval`` is optimal, and the middle is
    taken. No function has an objective lower by more than ``gap``, in which ``rounding`` is what
    rounding can have done to the kernel's values and to both sides of the gap. ``slacks`` are the
    losses of the points, each for a unit of cost.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "weights": "of the points",
        "intercept": "b",
        "interval": "of intercepts that are as good",
        "objective": "its least value found",
        "gap": "how far from the least it can be",
    }

    weights: Array
    intercept: float
    interval: tuple[float, float]
    objective: float
    gap: float
    slacks: Array
    rounding: float
    steps: int

    def moved(self, intercept: float) -> Self:
        """Return the function with something added to its intercept."""
        low, high = (end + intercept for end in self.interval)
        return replace(self, intercept=self.intercept + intercept, interval=(low, high))


class Candidate(NamedTuple):
    """Weights β with Kβ, and an intercept."""

    beta: Array
    image: Array
    intercept: float


def interval_of(point: Point, unit: float = 1.0) -> tuple[float, float]:
    """Return the multipliers of the first group, an infinite end replaced by the other one."""
    low, high = (unit * float(end) for end in point.intervals[0])
    low, high = (low if np.isfinite(low) else high), (high if np.isfinite(high) else low)
    return min(low, high), max(low, high)


def start_of(peer: Any, K: Array, y: Array, weights: Array) -> Array:
    """Return the dual variables of a machine of libsvm, zeros where it finds none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            peer.fit(K, y, sample_weight=weights)
        except ValueError:
            return np.zeros(len(K))
    beta = np.zeros(len(K))
    beta[peer.support_] = peer.dual_coef_[0]
    return beta if np.all(np.isfinite(beta)) else np.zeros(len(K))


def scale_of(values: Array) -> float:
    """Return the power of two above the largest modulus, 1 of zeros: to divide by it is exact.

    >>> scale_of(np.array([3.0, -5.0]))
    8.0
    """
    return float(np.ldexp(1.0, int(np.frexp(np.max(np.abs(values), initial=0.0))[1])))


def rounding_of(
    K: Array, entry: float, found: Candidate, margins: Array, levels: Array, costs: Array
) -> tuple[float, float]:
    r"""Bound what rounding does to an objective and to its dual, together, and to any value of f.

    Entries of K are right to ``entry``, so Kβ to :math:`\varepsilon` and with it the losses of the
    points whose ``margins``, the loss before it is cut at 0, are or may be positive. ``levels`` are
    the numbers that f is compared with.
    """
    beta, image, intercept = found
    sums = gamma(len(K) + 8, UNIT)
    of_image = entry * float(np.sum(np.abs(beta))) + sums * (np.abs(K) @ np.abs(beta))
    of_f = of_image + 4.0 * UNIT * (levels + np.abs(image) + abs(intercept))
    losses = np.maximum(0.0, margins)
    primal = float(costs @ np.where(margins + of_f > 0.0, of_f + sums * losses, 0.0))
    square = 0.5 * float(np.abs(beta) @ (of_image + sums * np.abs(image)))
    f = image + intercept
    dual = sums * float(levels @ np.abs(beta)) + 2.0 * UNIT * float(costs @ np.abs(f))
    return primal + 2.0 * square + dual, float(np.max(of_f, initial=0.0))


def excess_of(beta: Array, total: float = 0.0) -> float:
    """Return by how much Σβ can differ from what it should be."""
    return abs(fsum(beta) - total) + UNIT * float(np.sum(np.abs(beta))) + 4.0 * UNIT * abs(total)


def largest_value(K: Array, objective: float) -> float:
    """Bound the values at points of any h whose ½‖h‖² is at most the objective."""
    size = float(np.max(np.abs(np.diag(K)), initial=0.0))
    return float(np.sqrt(2.0 * size * max(objective, 0.0)))


def is_definite(K: Array, *, is_centred: bool = True) -> bool:
    """Say whether weights, which sum to zero if centred, have no negative square.

    This is up to single precision. Otherwise the conditions of an optimum hold at points that are
    none, and no gap proves one.

    >>> is_definite(np.array([[1.0, 0.5], [0.5, 1.0]]))
    True
    >>> is_definite(np.array([[0.0, 2.0], [2.0, 0.0]]))
    False
    >>> apart = -np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> is_definite(apart), is_definite(apart, is_centred=False)
    (True, False)
    """
    means = K.mean(axis=0)
    matrix = K - means - means[:, None] + means.mean() if is_centred else K.copy()
    np.fill_diagonal(matrix, matrix.diagonal() + len(K) * SINGLE * scale_of(K))
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
