r"""The parameters of the largest likelihood of more points than a matrix is stored for.

The search looks for the zero of derivatives that are sampled, with the same probes at each step.
Where the preconditioner is A itself, random signs estimate the trace of :math:`A^{-1} \partial A`
with the variance :math:`2 \operatorname{tr} (A^{-1} \partial A)^2` at most, which is four times
Fisher's information, in every direction. So t probes move the estimates of parameters by about
:math:`1/\sqrt{t}` of the standard errors that they have anyway, or by less: what the approximation
explains is not sampled at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.linalg import eigh

from mercer.check import Array, Points
from mercer.errors import InvalidParameter, MercerError, SingularSystem
from mercer.gp.estimate import (
    LikelihoodInterval,
    Slopes,
    likelihood_of,
    sampled_slopes,
    signs,
    skewness_factor,
)
from mercer.gp.likelihood import NoisyObservations
from mercer.gp.limits import Limits
from mercer.gp.maximum_likelihood import (
    ROUGH,
    Optimum,
    held_by_bounds,
    make_definite,
    maximise_likelihood,
    update_curvature,
)
from mercer.gp.parameters import TOL, Prior, Tuned
from mercer.gp.preconditioner import landmarks_of
from mercer.progress import Progress
from mercer.solve import Saddle

Derivatives: TypeAlias = Callable[[Array], tuple[Array, Array]]
"""The gradient g of a function to be minimised, and H: its part along v is right to √(vᵀHv)."""

LONGEST = 1.5
"""Longest step, in the logarithm of a parameter."""

TURN = 0.5
"""Slope at the end of a step, as a share of that at its start, beyond which it is too long."""

SHORTER = 0.25
"""Share of a step that is tried again where it has left the domain of the function."""

PROBES = 24
"""Random signs. They cost little: with 25 columns a product takes 1.6 times as long as with 5."""

LOOSE = 1e-3
"""Residuals of all steps but the last, which set right what these leave."""


@dataclass(frozen=True)
class Directions:
    r"""Directions in which a gradient has uncorrelated errors and a curvature of 1.

    .. math:: V^\top B V = I, \qquad V^\top H V = \mathrm{diag}(s_1^2, s_2^2, \dots)

    ``slopes`` are the parts of the gradient along the columns of V, ``halves`` their s.

    >>> along = Directions.of(np.array([6.0, 1.0]), np.diag([1.0, 4.0]), np.diag([4.0, 1.0]))
    >>> along.step, along.errors
    (array([-1.5,  0. ]), array([1.75, 3.  ]))
    """

    V: Array
    slopes: Array
    halves: Array

    @staticmethod
    def of(g: Array, H: Array, B: Array) -> Directions:
        """Find them for a gradient g."""
        squares, V = eigh(H, B) if len(g) else (g, B)
        halves = np.sqrt(np.maximum(squares, 0.0))
        return Directions(np.asarray(V), np.asarray(V.T @ g), halves)

    @property
    def is_over(self) -> bool:
        """Whether no slope can be told from 0."""
        return bool(np.all(np.abs(self.slopes) <= self.halves))

    @property
    def step(self) -> Array:
        """Newton's step along the directions whose slope can be told from 0, and no others."""
        return np.asarray(-self.V @ np.where(np.abs(self.slopes) > self.halves, self.slopes, 0.0))

    @property
    def errors(self) -> Array:
        """How far each coordinate can be from the zero of the exact gradient."""
        return np.asarray(np.abs(self.V) @ (np.abs(self.slopes) + self.halves))


@dataclass(frozen=True)
class Settled:
    """Where a search ended: the point, the free derivatives there and what bounds hold.

    It has converged where no slope along any of the `Directions` that bounds leave can be told
    from 0. ``errors`` are how far each coordinate can be off.
    """

    x: Array
    gradient: Array
    curvature: Array
    errors: Array
    is_held: Array
    is_converged: bool


def settle(  # noqa: PLR0913  (where to begin, how far to go and when to stop)
    derivatives: Derivatives,
    x: Array,
    B: Array,
    bounds: Array,
    tol: float,
    steps: int = Limits.sampled_steps,
) -> Settled:
    """Follow quasi-Newton steps from a good guess B of the curvature until derivatives vanish.

    A step that is too long is not taken, but the curvature it has shown makes the next shorter.
    One that meets a bound ends there: cut in one coordinate alone it could lead uphill.
    A sampled value has the noise of its own probes, so that it and the derivatives would be
    lowest at different points: no value is asked for. Nothing below ``tol`` counts either: it is
    added to what is not known of each derivative.

    >>> line = lambda x: (4.0 * (x - 3.0), np.array([[0.01]]))
    >>> settle(line, np.zeros(1), np.eye(1), np.array([[-9.0, 9.0]]), 0.0).x
    array([3.])
    >>> settle(line, np.zeros(1), np.eye(1), np.array([[-9.0, 2.5]]), 0.0).is_held
    array([ True])
    """
    g, H = derivatives(x)
    floor, longest = tol**2 * np.eye(len(x)), LONGEST
    for left in reversed(range(steps + 1)):
        is_held = held_by_bounds(x, g, bounds)
        along = _along(~is_held, g, H + floor, B)
        if along.is_over or left == 0:
            break
        direction = _direction(x, is_held, bounds, g, H + floor, B)
        trial = np.clip(x + _share(x, direction, bounds, longest) * direction, *bounds.T)
        step = trial - x
        try:
            new, new_H = derivatives(trial)
        except MercerError:
            longest = SHORTER * float(np.max(np.abs(step)))
            continue
        longest = min(LONGEST, longest / SHORTER)
        B = update_curvature(B, step, new - g)
        if float(new @ step) <= -TURN * float(g @ step):
            x, g, H = trial, new, new_H
    errors = np.zeros_like(x)
    errors[~is_held] = along.errors
    return Settled(x, np.where(is_held, 0.0, g), B, errors, is_held, along.is_over)


def _along(free: Array, g: Array, H: Array, B: Array) -> Directions:
    """Return the directions of the free coordinates."""
    inside = np.ix_(free, free)
    return Directions.of(g[free], H[inside], B[inside])


def _direction(x: Array, is_held: Array, bounds: Array, g: Array, H: Array, B: Array) -> Array:
    """Return Newton's step of the free coordinates, those at a bound not across it."""
    while True:
        direction = np.zeros_like(x)
        direction[~is_held] = _along(~is_held, g, H, B).step
        leaves = held_by_bounds(x, -direction, bounds)
        if not np.any(leaves):
            return direction
        is_held = is_held | leaves


def _share(x: Array, direction: Array, bounds: Array, longest: float) -> float:
    """Return how much of a direction, at most all, meets no bound and is not too long.

    >>> box = np.array([[0.0, 1.0], [0.0, 9.0]])
    >>> _share(np.zeros(2), np.array([2.0, 3.0]), box, 9.0)
    0.5
    """
    low, high = bounds.T
    room = np.minimum(np.where(direction > 0.0, high - x, x - low), longest)
    moves = direction != 0.0
    return float(np.min(room[moves] / np.abs(direction[moves]), initial=1.0))


@dataclass(frozen=True, repr=False)
class SampledOptimum(Optimum):
    """Where a search on many points ended, known up to intervals of 95 per cent confidence.

    It has converged where no derivative, in any direction that bounds leave, can be told from 0 by
    its interval or the tolerance. ``value`` is that of the interval ``likelihood``, plus the log
    priors. ``gradient`` holds the ends of the derivatives in the logarithms of the parameters,
    for one observation, and ``errors`` how far the sampling of ``probes`` can have moved each
    logarithm from the optimum. The search began at the optimum of a random ``subset`` of so many
    points, to which ``starts`` refer.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "value": "the log likelihood, or log posterior density",
        "gradient_norm": "the largest derivative left",
        "is_converged": "whether the search ended at an optimum",
        "at_bounds": "parameters that a bound holds",
        "evaluations": "on all points",
        "gradient": "ends of the intervals of the derivatives",
        "errors": "of the logarithms of the parameters",
        "probes": "random vectors",
    }

    likelihood: LikelihoodInterval
    gradient: Mapping[str, tuple[float, float]]
    errors: Mapping[str, float]
    probes: int
    subset: int


@dataclass(frozen=True)
class Evaluation:
    """Derivatives in the logarithms of parameters, how well they are known, and where from.

    ``sampling`` is the matrix H with √(vᵀHv) half of the interval for the sampling in a direction
    v; ``solving`` is what residuals can do to each derivative.
    """

    logs: Array
    gradient: Array
    sampling: Array
    solving: Array
    found: Slopes

    def is_of(self, logs: Array, tol: float) -> bool:
        """Return whether it belongs to a point and to residuals."""
        return self.found.saddle.tol == tol and np.array_equal(self.logs, logs)


@dataclass
class Search:
    """The derivatives of the log likelihood and the log priors, on all points."""

    tuned: Tuned
    data: NoisyObservations
    priors: Mapping[str, Prior]
    landmarks: Points
    Z: Array
    progress: Progress | None
    tol: float = LOOSE
    steps: int = Limits.sampled_steps
    evaluations: int = 0
    last: Evaluation | None = None

    def at(self, logs: Array) -> Evaluation:
        """Return the derivatives, those of the point before if it is the same."""
        if self.last is not None and self.last.is_of(logs, self.tol):
            return self.last
        of_priors = self.tuned.log_prior(logs, self.priors)[1]  # first: it may refuse the point
        found = self._sampled(logs)
        value, half, solving = (
            self.tuned.slopes(logs, {name: getattr(of, part) for name, of in found.slopes.items()})
            for part in ("value", "sampling", "solving")
        )
        left = self.tuned.each({name: of.deviations for name, of in found.slopes.items()})
        gradient = value + of_priors
        sampling = np.outer(half, half) * correlations(np.array(left))
        self.last = Evaluation(np.array(logs), gradient, sampling, solving, found)
        self.evaluations += 1
        if self.progress is not None:
            self.progress(self.evaluations, max(self.steps, self.evaluations))
        return self.last

    def _sampled(self, logs: Array) -> Slopes:
        kernel, noise = self.tuned.at(logs)
        given = self.data.gram(kernel), noise, self.data, self.Z, self.landmarks
        try:
            return sampled_slopes(*given, tol=self.tol)
        except SingularSystem as error:
            raise SingularSystem(
                f"the systems of {kernel} with noise_variance = {noise:.3g} cannot be solved by "
                f"iteration ({error}): give bounds={{'noise_variance': (low, high)}} with a larger "
                "low, or fit the parameters to fewer points, whose matrix is stored"
            ) from None

    def __call__(self, logs: Array) -> tuple[Array, Array]:
        """Return the derivatives of what is minimised, and how well sampling knows them."""
        of = self.at(logs)
        return -of.gradient, of.sampling

    def curvature(self, logs: Array) -> Array:
        r"""Return the average information, the mean of the observed and the expected one.

        .. math:: \tfrac{1}{2} (\partial_i A\, \alpha)^\top P\, (\partial_j A\, \alpha)

        Second derivatives of A, whose part is 0 on average, and those of priors are left out. It
        takes one more block of systems and is never negative (Gilmour, Thompson and Cullis,
        Biometrics 51, 1995, 1440-1450).
        """
        found = self.at(logs).found
        columns = np.stack(
            [
                np.exp(log) * (found.images[name] if i is None else found.images[name][:, i])
                for log, (name, i) in zip(logs, self.tuned.entries, strict=True)
            ],
            axis=1,
        )
        n = len(columns)
        rough = Saddle(found.saddle.gram, self.data.Q, method="low-rank", tol=Limits.rough)
        rough.factor = found.saddle.factor
        noise = self.tuned.at(logs)[1]
        solved = rough.solve(np.ones(n), noise, columns.reshape(n, -1)).weights
        return make_definite(0.5 * np.einsum("ipq,ijq->pj", columns, solved.reshape(columns.shape)))


def maximise_by_sampling(  # noqa: PLR0913  (all that a search is told)
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
) -> tuple[Array, SampledOptimum]:
    """Return the logarithms of the best parameters and how the search for them ended.

    All starts are tried on a random subset. The best goes on with all points until the derivatives
    are inside of the intervals that sampling leaves for them; at the end nothing but the sampling
    is approximate. Memory is that of some thousand vectors, most of them the approximation's.
    """
    if data.noise is not None:
        raise InvalidParameter(
            f"{len(data)} points are too many for a stored matrix, and parameters are then fitted "
            "with one noise variance for all points: give optimise=False, or fit them to a sample "
            "of the points"
        )
    if not tuned.noise_variance > 0.0:
        raise InvalidParameter(
            f"noise_variance = 0 is not supported when parameters are fitted to {len(data)} "
            "points: without a stored matrix the systems are solved by iteration, which needs "
            "noise_variance > 0"
        )
    fixed = int(np.random.default_rng(seed).integers(2**31))
    part = _subset(data, fixed, limits.subset)
    x, began = maximise_likelihood(
        tuned, part, bounds, priors, count=count, tol=ROUGH, seed=fixed, limits=limits
    )
    assert began is not None  # there are parameters to fit
    Z = signs(len(data), PROBES, fixed)
    landmarks = landmarks_of(data.gram(tuned.at(x)[0]), fixed)
    search = Search(tuned, data, priors, landmarks, Z, progress, steps=limits.sampled_steps)
    end = settle(search, x, search.curvature(x), bounds, tol * len(data), search.steps)
    search.tol = TOL
    end = settle(search, end.x, end.curvature, bounds, tol * len(data), search.steps)
    found = search.at(end.x).found
    likelihood = likelihood_of(
        found.saddle, tuned.at(end.x)[1], data, found.solved, probes=PROBES, random_state=fixed
    )
    return end.x, _optimum(search, end, likelihood, began, len(part))


def correlations(deviations: Array) -> Array:
    """Return the correlations of rows, which are 0 on average.

    >>> correlations(np.array([[1.0, -1.0], [-2.0, 2.0]])).round(12)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    lengths = np.linalg.norm(deviations, axis=1, keepdims=True)
    unit = deviations / np.where(lengths > 0.0, lengths, 1.0)
    return np.asarray(unit @ unit.T)


def _subset(data: NoisyObservations, seed: int, size: int) -> NoisyObservations:
    """Return some of the observations, drawn at random."""
    rng, n = np.random.default_rng(seed), len(data)
    rows = np.sort(rng.choice(n, min(size, n), replace=False))
    return data.part(rows)


def _optimum(
    search: Search, end: Settled, likelihood: LikelihoodInterval, began: Optimum, subset: int
) -> SampledOptimum:
    tuned, n, last = search.tuned, len(search.data), search.at(end.x)
    half = skewness_factor(PROBES) * np.sqrt(np.diag(last.sampling)) + last.solving
    free, errors = np.flatnonzero(~end.is_held), end.errors.copy()
    inverse = np.linalg.inv(end.curvature[np.ix_(free, free)])
    errors[free] += np.abs(inverse) @ last.solving[free]
    lower, upper = (last.gradient - half) / n, (last.gradient + half) / n
    return SampledOptimum(
        value=likelihood.value + tuned.log_prior(end.x, search.priors)[0],
        gradient_norm=float(np.max(np.abs(end.gradient), initial=0.0)) / n,
        is_converged=end.is_converged,
        at_bounds=tuple(name for name, at in zip(tuned.names, end.is_held, strict=True) if at),
        evaluations=search.evaluations,
        starts=began.starts,
        likelihood=likelihood,
        gradient={
            name: (float(low), float(high))
            for name, low, high in zip(tuned.names, lower, upper, strict=True)
        },
        errors=dict(zip(tuned.names, errors.tolist(), strict=True)),
        probes=PROBES,
        subset=subset,
    )
