"""The spectrum of a low-rank approximation, with intervals that say what it may have missed."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from mercer.certificate import FAILURE, Certificate
from mercer.check import Array, Points
from mercer.engines.engine import Engine
from mercer.engines.lapack import eigenpairs
from mercer.gram import Centred
from mercer.kernels.base import Kind
from mercer.lowrank import Factored, Features, LowRank, nystrom
from mercer.operators import Barycentre
from mercer.points import as_points
from mercer.settings import whole
from mercer.spectrum.axes_and_signs import (
    How,
    KernelOperator,
    Spectrum,
    clusters,
    in_units,
    is_real_table,
    orientation,
    positive_base,
    rounding_standing,
    scale_operator,
    signs,
    unit_of,
)
from mercer.spectrum.shortfall import Missing, norm_points, sampled_norm, upper_values
from mercer.woodbury import LowRankInverse

LANDMARKS_PER_AXIS = 50
"""Landmarks for each axis, unless a number is given."""

FEWEST_LANDMARKS = 100


def approximate(
    operator: KernelOperator,
    count: int,
    *,
    landmarks: int | Points | None = None,
    random_state: int,
) -> Spectrum:
    r"""Return the eigenpairs of the Nyström approximation in the operator's place.

    .. math:: \hat\lambda_i \le \lambda_i \le \hat\lambda_i + \operatorname{tr}(K - \hat K)

    since the approximation is never larger than the operator (Weyl); the norm of the difference,
    from a sample of points, takes the place of its trace where it is smaller, and what is missing
    along each axis, from another, that of the norm (`upper_values`). ``landmarks`` is their number
    or the points themselves; unless given, they are k-means centres of vectors and random pivots of
    anything else.
    """
    begun = perf_counter()
    unit = unit_of(operator)
    if unit != 1.0:  # squares of such values leave the range of doubles
        small = approximate(
            scale_operator(operator, 1.0 / unit),
            count,
            landmarks=landmarks,
            random_state=random_state,
        )
        return _in_units(small, operator, unit)
    kernel, engine = operator.base.kernel, operator.base.engine
    is_proved = kernel.kind is not Kind.SIMILARITY and bool(kernel.proof)
    with engine.session():
        low_rank = _approximation(operator, count, landmarks, random_state)
        base, weights = positive_base(operator), operator.roots[:, 0] ** 2
        norm = sampled_norm(base, low_rank, weights, random_state)
        found: Factored = low_rank
        if isinstance(operator, Centred):
            found = low_rank.centred(operator.weights, copy=False)
        above = min(found.above, norm.value + found.below)
        missing = Missing(base, low_rank.missing, low_rank.below, weights, above, random_state)
        if norm.is_sampled or missing.is_sampled(found.rank):
            found = replace(found, failure_probability=FAILURE)
        found = replace(found, above=above)
        spectrum = of_factor(
            found, count, engine, is_proved=is_proved, missing=missing, likely=norm.likely
        )
    how = replace(spectrum.how, seconds=perf_counter() - begun, random_state=random_state)
    proof = replace(spectrum.certificate, rounding=rounding_standing(operator))
    return replace(spectrum, how=how, certificate=proof, threshold=operator.threshold)


def _in_units(spectrum: Spectrum, operator: KernelOperator, unit: float) -> Spectrum:
    """Return the spectrum of a multiple of the operator, with features that are as large."""
    features, seen, root = spectrum.features, spectrum.barycentre, float(np.sqrt(unit))
    assert isinstance(features, Features)
    kernel = positive_base(operator).kernel
    return replace(
        in_units(spectrum, operator, unit),
        features=Features(kernel, features.landmarks, features.root / root),
        barycentre=None if seen is None else Barycentre(root * seen.mean, unit * seen.products),
    )


def of_factor(
    operator: Factored,
    count: int,
    engine: Engine | None = None,
    *,
    is_proved: bool = False,
    missing: Missing | None = None,
    likely: float = np.inf,
) -> Spectrum:
    """Return the eigenpairs of F Fᴴ, by the small side, with intervals for what it stands for.

    They are narrower where it is known what is ``missing``, the norm of which is ``likely``.
    """
    inner = LowRankInverse(operator.factor, engine)
    kept = min(count, len(inner.values))
    pairs = 0 if missing is None else missing.pairs(inner.values, kept)
    vectors, seen = inner.start(max(kept, pairs)), None
    if missing is not None:
        energies = missing.along(vectors[:, :pairs], operator)
        rounding, defect = _rounding(inner, vectors[:, :pairs])
        bounds = energies.bounds + 2.0 * defect * operator.above  # of vectors nearly orthonormal
        seen = MissingInertia(
            bounds, energies.likely, rounding, min(operator.above, likely + rounding)
        )
    vectors = vectors[:, :kept]
    turn = orientation(vectors, operator)
    return _spectrum(
        inner.values,
        inner.axes,
        vectors * turn,
        turn,
        operator,
        len(vectors),
        is_proved=is_proved,
        seen=seen,
    )


class MissingInertia(NamedTuple):
    """The shortfall along the first axes, at most and likely, and how far from axes they are."""

    energies: Array
    likely: Array
    rounding: float
    norm: float


def _rounding(inner: LowRankInverse, axes: Array) -> tuple[float, float]:
    r"""Bound the norm of what computed axes U = FA leave: that of FF*U - UΘ, as if orthonormal.

    .. math:: FF^*U - U\Theta = F (F^*F A - A\Theta), \quad \|Q - U\| \le \|U^*U - I\|

    for the nearest orthonormal Q. In the basis of Q and its complement FF* is Θ and a rest, each up
    to twice that norm, and the largest eigenvalue of the rest is at most the first that Θ does not
    have up to as many such errors as there are axes (Ky Fan). ‖Q - U‖ is returned too.
    """
    b = axes.shape[1]
    if not b:
        return 0.0, 0.0
    values, first = inner.values[:b], float(inner.values[0])
    small = inner.axes[:, :b] / np.sqrt(values)
    trace = float(np.trace(inner.squares).real)
    unit = (2 * sum(inner.factor.shape) + 8) * float(np.finfo(float).eps) * trace
    left = float(np.linalg.norm(inner.squares @ small - small * values))
    left += unit * float(np.linalg.norm(small))
    defect = float(np.linalg.norm(axes.conj().T @ axes - np.eye(b)))
    each = 2.0 * float(np.sqrt(first)) * left + 2.0 * defect * first
    return float(2.0 * (b + 2) * each + unit), defect


def of_covariances(
    covariances: Array, operator: Factored, count: int, n: int, *, is_proved: bool = False
) -> Spectrum:
    """Return the same from the covariances of n features that are gone, and their vectors too.

    The largest entry of an axis in the space of features decides its sign.
    """
    values, axes = eigenpairs(covariances)
    keep = values > len(values) * float(np.finfo(float).eps) * values.max(initial=0.0)
    values, axes = values[keep][::-1], axes[:, keep][:, ::-1]
    kept = min(count, len(values))
    turn = signs(axes[:, :kept])
    none = np.empty((0, kept))
    return _spectrum(values, axes, none, turn, operator, n, is_proved=is_proved)


def _spectrum(
    values: Array,
    axes: Array,
    vectors: Array,
    turn: Array,
    operator: Factored,
    n: int,
    *,
    is_proved: bool,
    seen: MissingInertia | None = None,
) -> Spectrum:
    kept, trace = len(turn), float(values.sum())
    proof = _certified(values, kept, operator, seen)
    return Spectrum(
        values=values[:kept],
        vectors=vectors,
        certificate=proof,
        trace=trace,
        trace_error=operator.trace_gap,
        threshold=n * float(np.finfo(float).eps) * trace,
        rank=None,
        negative_mass=None,
        psd="by construction" if is_proved else "not verified",
        how=How(
            f"approximate: {operator.how}",
            memory=approximate_bytes(len(vectors), operator.rank),
        ),
        clusters=clusters(values, proof.lower, _likely(values, kept, operator, seen)),
        features=operator.features,
        feature_axes=axes[:, :kept] * turn,
        barycentre=operator.barycentre,
    )


def landmarks_for(n: int, count: int, landmarks: int | Points | None) -> int:
    """Return how many landmarks an approximation takes.

    >>> landmarks_for(100_000, 10, None), landmarks_for(50, 10, None), landmarks_for(9, 2, [[0.0]])
    (500, 50, 1)
    """
    if landmarks is None:
        return min(n, max(FEWEST_LANDMARKS, LANDMARKS_PER_AXIS * count))
    if isinstance(landmarks, float | int | np.number):
        return min(n, whole(landmarks, "landmarks", least=1))
    return len(as_points(landmarks, "landmarks"))


def approximate_bytes(n: int, rank: int) -> int:
    """Return the memory of an approximation: its factor, and small matrices."""
    return 8 * n * (rank + 8) + 40 * rank * rank


def nystrom_bytes(n: int, d: int, count: int, rank: int) -> int:
    """Return the memory of axes on landmarks: prepared points, and scores with copies, too."""
    return approximate_bytes(n, rank) + 24 * n * (d + 2) + 40 * n * (count - 1)


def certified_bytes(n: int, d: int, count: int, rank: int, budget: int | None) -> int:
    """Return the memory of axes on landmarks with their certificate, which takes what is left.

    >>> certified_bytes(2_000, 20, 10, 500, None), certified_bytes(2_000, 20, 10, 500, 10**6)
    (31184000, 19904000)
    """
    drawn = norm_points(n, rank, budget)
    beside = approximate_bytes(n, rank) + 24 * n * (d + 2) + 12 * drawn * drawn
    return max(nystrom_bytes(n, d, count, rank), beside)


def _approximation(
    operator: KernelOperator, count: int, landmarks: int | Points | None, random_state: int | None
) -> LowRank:
    base = positive_base(operator)
    rank = landmarks_for(operator.shape[0], count, landmarks)
    how: str | Points = "kmeans" if is_real_table(base.x) else "pivoted"
    if landmarks is not None and not isinstance(landmarks, int | np.integer):
        how = landmarks
    return nystrom(base, rank, landmarks=how, random_state=random_state)


def _certified(
    values: Array, count: int, operator: Factored, seen: MissingInertia | None
) -> Certificate:
    """Enclose each eigenvalue by how far the approximation can be off on either side."""
    error = max(operator.below, operator.above)
    # The true leading values are at least the computed ones less `below`.
    gaps = values - np.append(values[1:], 0.0) - operator.below
    with np.errstate(divide="ignore"):
        sines = np.minimum(np.where(gaps > error, error / gaps, 1.0), 1.0)[:count]
    name, widest = f"{operator.how}: what it is missing", values[:count] + operator.above
    upper, bounds = widest, [name] * count
    if seen is not None and len(seen.energies):
        norm = operator.above + operator.below  # of what is missing, made semidefinite
        ends = _ends(values, count, seen.energies, norm, seen.rounding)
        upper = ends[:count]
        bounds = [f"{name} along the axes" if is_so else name for is_so in upper < widest]
        upper = np.minimum(upper, widest)
        sines = np.minimum(sines, _sines(values, ends, seen, norm, operator.below))
    return Certificate(
        lower=values[:count] - operator.below,
        upper=upper,
        sines=sines,
        is_ordered=np.ones(count, bool),
        bounds=tuple(bounds),
        assumptions=(operator.assumption,) * count,
        failure_probability=operator.failure_probability,
    )


def _likely(values: Array, count: int, operator: Factored, seen: MissingInertia | None) -> Array:
    """Return where intervals likely end, and that of the next eigenvalue: what a sample says.

    A certificate holds but once in many millions, and its intervals are as much wider. Axes that it
    does not prove to be apart may be so by forty times their errors: a warning would be wrong.
    """
    if seen is None:
        return np.append(values, 0.0)[: count + 1] + operator.above
    return _ends(values, count, seen.likely, seen.norm, seen.rounding)


def _ends(values: Array, count: int, energies: Array, norm: float, rounding: float) -> Array:
    """Return the upper ends of intervals, and that of the eigenvalue after the last."""
    ends, b = np.append(values, 0.0)[: count + 1] + norm, len(energies)
    if b:
        beyond = float(values[b]) if b < len(values) else 0.0
        sharper = upper_values(values[:b], energies, beyond, norm) + rounding
        ends[:b] = np.minimum(ends[:b], sharper[: count + 1])
    return ends


def _sines(values: Array, upper: Array, seen: MissingInertia, norm: float, below: float) -> Array:
    r"""Bound the angle between the space of the first k axes Q and the true one.

    .. math:: \|EQ\|^2 \le \|E\| \operatorname{tr} Q^*EQ, \quad
        \sin\angle \le \frac{\|EQ\|}{\theta_k - \lambda_{k+1}}

    (E² ⪯ ‖E‖E; Davis and Kahan), where E is semidefinite up to ``below``.
    """
    count = len(upper) - 1
    energies = np.append(seen.energies, np.full(count, norm))[:count]
    residuals = np.sqrt(norm * np.cumsum(energies)) + below + seen.rounding
    gaps = values[:count] - upper[1:] - seen.rounding
    return np.where(gaps > residuals, residuals / np.where(gaps > 0.0, gaps, 1.0), 1.0)
