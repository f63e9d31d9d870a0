"""Empirical Bayes: the parameters of the largest likelihood, or posterior density.

Several starts are tried on some of the points, and the best goes on with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as count_from
from itertools import pairwise
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.optimize import Bounds, minimize

from mercer.check import EPSILON, Array
from mercer.display import Shown
from mercer.engines.cpu import Threads
from mercer.errors import InvalidParameter, MercerError
from mercer.gp.likelihood import NoisyObservations, condition, gradient, mean_value
from mercer.gp.limits import Limits
from mercer.gp.parameters import Prior, Tuned
from mercer.progress import Progress

Objective: TypeAlias = Callable[[Array], tuple[float, Array]]
"""A function to be minimised with its gradient; it is infinite where there is no likelihood."""

HALVINGS = 20

SPREAD = 3.0
"""Further starts lie within this many powers of e of the first."""

LEAST_GAIN = 1e-12
"""Decrease that a step promises, as a share of the objective, below which it is rounding."""

HIDDEN_GAIN = 1e-8
"""The same where no shorter step lowers the objective at all."""

NEAR = 1e-9
"""Distance of a logarithm from its bound at which it is at the bound."""

DIFFERENCE = 1e-4
"""Of the logarithms, for second derivatives by differences of gradients."""

GROWTH = 3
"""Growth of the part that is searched: three times the points take 27 times as long."""

ROUGH = 1e-4
"""The derivative for one observation at which a part has given what it can."""

FAR = 100.0
"""Kernels this many times larger or smaller than the variance of y get one more start."""


@dataclass(frozen=True, repr=False)
class Optimum(Shown):
    """The end of a search for the largest likelihood, and how far to trust it.

    ``gradient_norm`` is the largest derivative per observation, in the logarithms of the free
    parameters. The search has converged if that is below the tolerance, or if the next step would
    gain less than rounding. ``at_bounds`` names the parameters at their bounds, ``evaluations``
    counts evaluations on all points, and ``starts`` are the values reached from each start on a
    part of the points. With priors the log posterior density takes the place of the likelihood.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "value": "the log likelihood, or log posterior density",
        "gradient_norm": "the largest derivative left",
        "is_converged": "whether the search ended at an optimum",
        "at_bounds": "parameters that a bound holds",
        "evaluations": "on all points",
        "starts": "values that the starts reached",
    }

    value: float
    gradient_norm: float
    is_converged: bool
    at_bounds: tuple[str, ...]
    evaluations: int
    starts: tuple[float, ...]


def starts(first: Array, bounds: Array, count: int, seed: int | None) -> list[Array]:
    """Return the first start and others around it, within the bounds.

    >>> [s.tolist() for s in starts(np.zeros(1), np.array([[0.0, 0.0]]), 2, 0)]
    [[0.0], [0.0]]
    """
    rng = np.random.default_rng(seed)
    others = [first + rng.uniform(-SPREAD, SPREAD, len(first)) for _ in range(count - 1)]
    return [np.clip(start, bounds[:, 0], bounds[:, 1]) for start in (first, *others)]


def best_of(objective: Objective, begins: Sequence[Array], bounds: Array) -> tuple[Array, Array]:
    """Return the best point that any start reaches, and the values of all."""
    box = Bounds(*bounds.T)
    ends = [minimize(objective, start, jac=True, method="L-BFGS-B", bounds=box) for start in begins]
    values = np.array([float(end.fun) for end in ends])
    return np.asarray(ends[int(np.argmin(values))].x), values


def curvature(objective: Objective, x: Array, bounds: Array) -> Array:
    """Return the second derivatives by differences of gradients, made positive definite.

    >>> np.round(curvature(lambda x: (float(x @ x), 2.0 * x), np.ones(2), np.full((2, 2), 9.0)), 6)
    array([[2., 0.],
           [0., 2.]])
    """
    rows = []
    for e in np.eye(len(x)):
        # Towards the inside of the bounds.
        h = DIFFERENCE if float(e @ x) + DIFFERENCE <= float(e @ bounds[:, 1]) else -DIFFERENCE
        rows.append((objective(x + h * e)[1] - objective(x)[1]) / h)
    return make_definite(np.array(rows))


def make_definite(second: Array) -> Array:
    """Return second derivatives made symmetric and positive definite.

    >>> make_definite(np.diag([-4.0, 0.0]))
    array([[4.   , 0.   ],
           [0.   , 0.004]])
    """
    values, axes = np.linalg.eigh(0.5 * (second + second.T))
    least = 1e-3 * max(float(np.max(np.abs(values), initial=0.0)), 1e-12)
    return np.asarray((axes * np.maximum(np.abs(values), least)) @ axes.T)


@dataclass(frozen=True)
class Descent:
    """The end of a descent: the point, its value, free gradient, curvature and what bounds hold.

    It has converged where the gradient is below the tolerance, or a full step would gain nothing
    that rounding does not hide.
    """

    x: Array
    value: float
    gradient: Array
    curvature: Array
    is_held: Array
    is_converged: bool
    evaluations: int


def descend(  # noqa: PLR0913  (where to begin, how far to go and when to stop)
    objective: Objective,
    x: Array,
    B: Array,
    bounds: Array,
    tol: float,
    steps: int = Limits.steps,
) -> Descent:
    """Minimise by the quasi-Newton method of Broyden and others from a good guess B of curvature.

    >>> square = lambda x: (float((x - 3.0) @ (x - 3.0)), 2.0 * (x - 3.0))
    >>> descend(square, np.zeros(1), 2.0 * np.eye(1), np.array([[-9.0, 2.5]]), 1e-9).x
    array([2.5])
    """
    low, high = bounds.T
    value, slope = objective(x)
    evaluations, is_converged = 1, False
    is_held = held_by_bounds(x, slope, bounds)
    for _ in range(steps):
        free = ~is_held
        is_converged = not np.any(free) or float(np.max(np.abs(slope[free]))) <= tol
        if is_converged:
            break
        direction = np.zeros_like(x)
        direction[free] = -np.linalg.solve(B[np.ix_(free, free)], slope[free])
        gain = -0.5 * float(slope @ direction) / (1.0 + abs(value))
        is_converged = gain <= LEAST_GAIN
        if is_converged:
            break
        length = 1.0
        for _ in range(HALVINGS):
            trial = np.clip(x + length * direction, low, high)
            new_value, new_slope = objective(trial)
            evaluations += 1
            if new_value <= value + 1e-4 * float(slope @ (trial - x)):
                break
            length *= 0.5
        else:
            is_converged = gain <= HIDDEN_GAIN
            break
        B = update_curvature(B, trial - x, new_slope - slope)
        x, value, slope = trial, new_value, new_slope
        is_held = held_by_bounds(x, slope, bounds)
    free_slope = np.where(is_held, 0.0, slope)
    return Descent(x, value, free_slope, B, is_held, is_converged, evaluations)


def update_curvature(B: Array, step: Array, change: Array) -> Array:
    """Return the curvature after a step that changed the gradient, where it changed upwards.

    >>> update_curvature(np.eye(2), np.array([2.0, 0.0]), np.array([6.0, 0.0]))
    array([[3., 0.],
           [0., 1.]])
    """
    if float(step @ change) <= 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return B
    image = B @ step
    B = B + np.outer(change, change) / (change @ step)
    return np.asarray(B - np.outer(image, image) / (step @ image))


def held_by_bounds(x: Array, slope: Array, bounds: Array) -> Array:
    """Return which coordinates a bound keeps from going on."""
    low, high = bounds.T
    return np.asarray(((x <= low + NEAR) & (slope > 0)) | ((x >= high - NEAR) & (slope < 0)))


def maximise_likelihood(  # noqa: PLR0913  (all that a search is told)
    tuned: Tuned,
    data: NoisyObservations,
    bounds: Array,
    priors: Mapping[str, Prior],
    *,
    count: int,
    tol: float,
    seed: int | None,
    progress: Progress | None = None,
    limits: Limits = Limits(),  # noqa: B008  (a value)
) -> tuple[Array, Optimum | None]:
    """Return the logarithms of the best parameters and how the search for them ended.

    All starts are tried on a part of many points, and the best goes on with three times as many
    again and again. The likelihood of more points is as much steeper as they are more, so that
    each descent has a good guess of its end and of the curvature there, and is short.
    """
    unknown = set(priors) - {name for name, _ in tuned.entries}
    if unknown:
        raise InvalidParameter(f"a prior of {sorted(unknown)[0]!r}, which is not fitted")
    if not tuned.entries:
        return tuned.start, None
    tuned.log_prior(tuned.start, priors)  # which refuses a start where one has no density
    n = len(data)
    parts = list(_parts(data, seed, limits.part))
    on_part = _objective(tuned, parts[0], priors)
    with Threads(1).session():  # matrices this small gain nothing from several threads
        size = mean_value(np.abs(tuned.kernel.diag(parts[0].points))) or 1.0
        begins = starts(tuned.start, bounds, count, seed)
        factor = variance_of(data.y) / size
        if not 1.0 / FAR < factor < FAR:  # the unit of y is another than that of the kernel
            begins += starts(tuned.scaled(factor), bounds, 1, seed)
        x, values = best_of(on_part, begins, bounds)
        B = curvature(on_part, x, bounds)
    for before, part in pairwise(parts[:-1]):
        size, growth = len(part), len(part) / len(before)
        on_part = _objective(tuned, part, priors)
        end = descend(on_part, x, growth * B, bounds, ROUGH * size, limits.steps)
        x, B = end.x, end.curvature
    growth = n / len(parts[-2]) if len(parts) > 1 else 1.0
    objective = _told(_objective(tuned, data, priors), progress, limits.steps)
    end = descend(objective, x, growth * B, bounds, tol * n, limits.steps)
    norm = float(np.max(np.abs(end.gradient), initial=0.0)) / n
    held = tuple(name for name, at in zip(tuned.names, end.is_held, strict=True) if at)
    reached = tuple((-values).tolist())
    return end.x, Optimum(-end.value, norm, end.is_converged, held, end.evaluations, reached)


def _parts(
    data: NoisyObservations, seed: int | None, first: int = Limits.part
) -> Iterator[NoisyObservations]:
    """Yield parts of many points, each within the next and up to three times as large; then all.

    >>> many = NoisyObservations([[0.0]] * 3600, np.zeros((3600, 1)), np.zeros((3600, 0)))
    >>> [len(part) for part in _parts(many, 0)]
    [400, 1200, 3600]
    """
    n = len(data)
    count = int(np.ceil(np.log(n / first) / np.log(GROWTH) - 1e-9)) if n >= 2 * first else 0
    order = np.random.default_rng(seed).permutation(n)
    for size in np.round(np.geomspace(first, n, count + 1)[:-1]).astype(int):
        rows = np.sort(order[:size])
        yield data.part(rows)
    yield data


def _objective(tuned: Tuned, data: NoisyObservations, priors: Mapping[str, Prior]) -> Objective:
    """Return minus the log likelihood and the log priors, as a function of logarithms."""

    def value(logs: Array) -> tuple[float, Array]:
        kernel, noise = tuned.at(logs)
        try:
            prior, prior_slopes = tuned.log_prior(logs, priors)
            gram = data.gram(kernel)
            state = condition(gram, noise, data)
            slopes = tuned.slopes(logs, gradient(gram, state, overwrite=True))
        except MercerError:
            return np.inf, np.zeros_like(logs)
        return -state.log_likelihood - prior, -slopes - prior_slopes

    return value


def _told(objective: Objective, progress: Progress | None, steps: int) -> Objective:
    """Return an objective that tells of each of its evaluations."""
    if progress is None:
        return objective
    tell, numbers = progress, count_from(1)

    def value(logs: Array) -> tuple[float, Array]:
        found = objective(logs)
        number = next(numbers)
        tell(number, max(steps, number))
        return found

    return value


def variance_of(y: Array) -> float:
    """Return the mean square of outputs about their means, of constant ones about 0, or 1.

    >>> variance_of(np.array([[1.0], [3.0]])), variance_of(np.array([[2.0], [2.0]]))
    (1.0, 4.0)
    """
    candidates = float(np.mean((y - y.mean(axis=0)) ** 2)), float(np.mean(y * y)), 1.0
    size = float(np.max(np.abs(y), initial=0.0))
    return next(v for v in candidates if v > (16.0 * EPSILON * size) ** 2)
