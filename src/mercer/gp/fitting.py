"""Empirical Bayes: the parameters of the largest likelihood, or posterior density."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mercer.check import Array, InvalidParameter, MercerError, take
from mercer.engines.cpu import Threads
from mercer.gp.evidence import Observations, conditioned, gradient
from mercer.gp.search import Objective, Optimum, best_of, curvature, descend, starts
from mercer.gp.tuning import Prior, Tuned

PART = 400
"""Points on which the starts of a search are tried, if there are at least twice as many."""

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
) -> tuple[Array, Optimum | None]:
    """Return the logarithms of the best parameters and how the search for them ended.

    All starts are tried on a part of many points. The likelihood of all points is as much steeper
    as they are more, so that the descent from there has a good guess of the curvature and is
    short.
    """
    unknown = set(priors) - {name for name, _ in tuned.entries}
    if unknown:
        raise InvalidParameter(f"a prior of {sorted(unknown)[0]!r}, which is not fitted")
    if not tuned.entries:
        return tuned.start, None
    n, part = len(data), data
    if n >= 2 * PART:
        rows = np.sort(np.random.default_rng(seed).permutation(n)[:PART])
        part = Observations(take(data.points, rows), data.y[rows], data.Q[rows])
    on_part, on_all = (_objective(tuned, which, priors) for which in (part, data))
    with Threads(1).session():  # matrices this small gain nothing from several threads
        begin, values = best_of(on_part, starts(tuned.start, bounds, count, seed), bounds)
        B = n / len(part) * curvature(on_part, begin, bounds)
    end = descend(on_all, begin, B, bounds, tol * n)
    norm = float(np.max(np.abs(end.gradient), initial=0.0)) / n
    held = tuple(name for name, at in zip(tuned.names, end.is_held, strict=True) if at)
    reached = tuple((-values).tolist())
    return end.x, Optimum(-end.value, norm, end.is_converged, held, end.evaluations, reached)


def _objective(tuned: Tuned, data: Observations, priors: Mapping[str, Prior]) -> Objective:
    """Return minus the log likelihood and the log priors, as a function of logarithms."""

    def value(logs: Array) -> tuple[float, Array]:
        kernel, noise = tuned.at(logs)
        try:
            gram = data.gram(kernel)
            state = conditioned(gram, noise, data)
            slopes = tuned.slopes(logs, gradient(gram, state, overwrite=True))
        except MercerError:
            return np.inf, np.zeros_like(logs)
        prior, prior_slopes = tuned.log_prior(logs, priors)
        return -state.log_likelihood - prior, -slopes - prior_slopes

    return value


def variance_of(y: Array) -> float:
    """Return the mean square of outputs about their means, of constant ones about 0, or 1.

    >>> variance_of(np.array([[1.0], [3.0]])), variance_of(np.array([[2.0], [2.0]]))
    (1.0, 4.0)
    """
    candidates = float(np.mean((y - y.mean(axis=0)) ** 2)), float(np.mean(y * y)), 1.0
    size = float(np.max(np.abs(y), initial=0.0))
    return next(v for v in candidates if v > (16.0 * UNIT * size) ** 2)
