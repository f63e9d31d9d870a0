"""Empirical Bayes: the parameters of the largest likelihood, or posterior density."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count as count_from
from itertools import pairwise

import numpy as np

from mercer.check import Array
from mercer.engines.cpu import Threads
from mercer.errors import InvalidParameter, MercerError
from mercer.gp.evidence import Observations, conditioned, gradient
from mercer.gp.search import STEPS, Objective, Optimum, best_of, curvature, descend, starts
from mercer.gp.tuning import Prior, Tuned
from mercer.progress import Progress

PART = 400
"""Points on which the starts of a search are tried, if there are at least twice as many."""

GROWTH = 3
"""How many times larger the next part is: its factor takes 27 times as long."""

ROUGH = 1e-4
"""The derivative for one observation at which a part has given what it can."""

FAR = 100.0
"""Kernels this many times larger or smaller than the variance of y get one more start."""

UNIT = float(np.finfo(float).eps)


def maximised(
    tuned: Tuned,
    data: Observations,
    bounds: Array,
    priors: Mapping[str, Prior],
    *,
    count: int,
    tol: float,
    seed: int | None,
    progress: Progress | None = None,
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
    parts = list(_parts(data, seed))
    on_part = _objective(tuned, parts[0], priors)
    with Threads(1).session():  # matrices this small gain nothing from several threads
        size = float(np.mean(np.abs(tuned.kernel.diag(parts[0].points)))) or 1.0
        begins = starts(tuned.start, bounds, count, seed)
        factor = variance_of(data.y) / size
        if not 1.0 / FAR < factor < FAR:  # the unit of y is another than that of the kernel
            begins += starts(tuned.scaled(factor), bounds, 1, seed)
        x, values = best_of(on_part, begins, bounds)
        B = curvature(on_part, x, bounds)
    for before, part in pairwise(parts[:-1]):
        size, growth = len(part), len(part) / len(before)
        end = descend(_objective(tuned, part, priors), x, growth * B, bounds, ROUGH * size)
        x, B = end.x, end.curvature
    growth = n / len(parts[-2]) if len(parts) > 1 else 1.0
    objective = _told(_objective(tuned, data, priors), progress)
    end = descend(objective, x, growth * B, bounds, tol * n)
    norm = float(np.max(np.abs(end.gradient), initial=0.0)) / n
    held = tuple(name for name, at in zip(tuned.names, end.is_held, strict=True) if at)
    reached = tuple((-values).tolist())
    return end.x, Optimum(-end.value, norm, end.is_converged, held, end.evaluations, reached)


def _parts(data: Observations, seed: int | None) -> Iterator[Observations]:
    """Yield parts of many points, each within the next and up to three times as large; then all.

    >>> many = Observations([[0.0]] * 3600, np.zeros((3600, 1)), np.zeros((3600, 0)))
    >>> [len(part) for part in _parts(many, 0)]
    [400, 1200, 3600]
    """
    n = len(data)
    count = int(np.ceil(np.log(n / PART) / np.log(GROWTH) - 1e-9)) if n >= 2 * PART else 0
    order = np.random.default_rng(seed).permutation(n)
    for size in np.round(np.geomspace(PART, n, count + 1)[:-1]).astype(int):
        rows = np.sort(order[:size])
        yield data.part(rows)
    yield data


def _objective(tuned: Tuned, data: Observations, priors: Mapping[str, Prior]) -> Objective:
    """Return minus the log likelihood and the log priors, as a function of logarithms."""

    def value(logs: Array) -> tuple[float, Array]:
        kernel, noise = tuned.at(logs)
        try:
            prior, prior_slopes = tuned.log_prior(logs, priors)
            gram = data.gram(kernel)
            state = conditioned(gram, noise, data)
            slopes = tuned.slopes(logs, gradient(gram, state, overwrite=True))
        except MercerError:
            return np.inf, np.zeros_like(logs)
        return -state.log_likelihood - prior, -slopes - prior_slopes

    return value


def _told(objective: Objective, progress: Progress | None) -> Objective:
    """Return an objective that tells of each of its evaluations."""
    if progress is None:
        return objective
    tell, numbers = progress, count_from(1)

    def value(logs: Array) -> tuple[float, Array]:
        found = objective(logs)
        number = next(numbers)
        tell(number, max(STEPS, number))
        return found

    return value


def variance_of(y: Array) -> float:
    """Return the mean square of outputs about their means, of constant ones about 0, or 1.

    >>> variance_of(np.array([[1.0], [3.0]])), variance_of(np.array([[2.0], [2.0]]))
    (1.0, 4.0)
    """
    candidates = float(np.mean((y - y.mean(axis=0)) ** 2)), float(np.mean(y * y)), 1.0
    size = float(np.max(np.abs(y), initial=0.0))
    return next(v for v in candidates if v > (16.0 * UNIT * size) ** 2)
