"""The spectrum of a low-rank approximation, with intervals that say what it may have missed."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np
from scipy import optimize

from mercer.barycentre import Barycentre
from mercer.certificate import FAILURE, Certificate
from mercer.check import Array, Points, as_numpy, chunks
from mercer.engines.engine import Engine
from mercer.engines.lapack import eigenpairs
from mercer.gram import Centred, Gram, in_doubles
from mercer.kernels.base import Kind
from mercer.kernels.pairs import Aligned
from mercer.lowrank import Factored, Features, LowRank, nystrom
from mercer.points import as_points, take
from mercer.settings import whole
from mercer.spectrum.values import (
    How,
    KernelOperator,
    Spectrum,
    clusters,
    in_units,
    is_real_table,
    orientation,
    positive_base,
    rounding_standing,
    scaled,
    signs,
    unit_of,
)
from mercer.woodbury import LowRankInverse

LANDMARKS_PER_AXIS = 50
"""Landmarks for each axis, unless a number is given."""

FEWEST_LANDMARKS = 100

SAMPLED, SHARE, FEWEST = 35_000, 20, 1_000
"""Entries of the difference that are looked at: these, or one for 20 of the factor's own."""

SAMPLING = 3
"""The number that keeps these draws apart from others with the same seed."""

AT_ONCE = 2048
"""Entries that are looked at together."""


def approximate(
    operator: KernelOperator,
    count: int,
    *,
    landmarks: int | Points | None = None,
    random_state: int,
) -> Spectrum:
    r"""Return the eigenpairs of the Nyström approximation in the operator's place.

    .. math:: \hat\lambda_i \le \lambda_i \le \hat\lambda_i + \operatorname{tr}(K - \hat K)

    since the approximation is never larger than the operator (Weyl); the norm of the difference
    from a sample of its entries takes the place of its trace where it is smaller. ``landmarks`` is
    their number or the points themselves; unless given, they are k-means centres of vectors and
    random pivots of anything else.
    """
    begun = perf_counter()
    unit = unit_of(operator)
    if unit != 1.0:  # squares of such values leave the range of doubles
        small = approximate(
            scaled(operator, 1.0 / unit), count, landmarks=landmarks, random_state=random_state
        )
        return _in_units(small, operator, unit)
    kernel, engine = operator.base.kernel, operator.base.engine
    is_proved = kernel.kind is not Kind.SIMILARITY and bool(kernel.proof)
    with engine.session():
        low_rank = _approximation(operator, count, landmarks, random_state)
        norm = sampled_norm(
            positive_base(operator), low_rank, operator.roots[:, 0] ** 2, random_state
        )
        found: Factored = low_rank
        if isinstance(operator, Centred):
            found = low_rank.centred(operator.weights, copy=False)
        if norm + found.below < found.above:
            found = replace(found, above=norm + found.below, failure_probability=FAILURE)
        spectrum = of_factor(found, count, engine, is_proved=is_proved)
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
) -> Spectrum:
    """Return the eigenpairs of F Fᴴ, by the small side, with intervals for what it stands for."""
    inner = LowRankInverse(operator.factor, engine)
    vectors = inner.start(min(count, len(inner.values)))
    turn = orientation(vectors, operator)
    return _spectrum(
        inner.values, inner.axes, vectors * turn, turn, operator, len(vectors), is_proved=is_proved
    )


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
) -> Spectrum:
    kept, trace = len(turn), float(values.sum())
    proof = _certified(values, kept, operator)
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
        # Intervals begin at the values, so that a gap of one width tells two of them apart.
        clusters=clusters(values, 0.5 * float(proof.errors.max(initial=0.0)), kept),
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


def sampled_norm(gram: Gram, found: LowRank, weights: Array, random_state: int | None) -> float:
    r"""Return a bound for the norm of what an approximation is missing, from a sample of entries.

    The difference E, with the weights, is positive semidefinite, so that

    .. math:: \|E\|_2^2 \le \|E\|_F^2 = t^2\, \mathbb{E} \frac{|E_{ij}|^2}{g_i g_j}, \quad
        g_i \ge E_{ii},\; t = \textstyle\sum_i g_i

    for independent i and j drawn with probabilities g/t. The ratio is at most 1 (Cauchy and
    Schwarz), and its mean at most the p with S·KL(mean of S, p) = log(1/δ) but with probability
    δ (Hoeffding). The rounding of entries is part of g: √(ab) + ε ≤ √((a + ε)(b + ε)).
    """
    n, m = found.factor.shape
    size = min(SAMPLED, n * max(m, 1) // SHARE)
    entry = gram.entry_rounding().entry
    slack = entry + found.below
    g = weights * (np.maximum(found.missing, 0.0) + 2.0 * slack)
    t = float(g.sum())
    if size < FEWEST or not 0.0 < t < np.inf:
        return t
    rng = np.random.default_rng(None if random_state is None else [random_state, SAMPLING])
    drawn = np.searchsorted(np.cumsum(g), rng.random((2, size)) * t).clip(0, n - 1)
    ratios = np.empty(size)
    for part in chunks(size, AT_ONCE):
        i, j = drawn[:, part]
        sides = [in_doubles(take(gram.x, drawn_ones)) for drawn_ones in (i, j)]
        exact = as_numpy(gram.kernel.evaluate(Aligned(*sides)))
        near = np.einsum("ij,ij->i", found.factor[i], found.factor[j].conj())
        ratios[part] = weights[i] * weights[j] * np.abs(exact - near) ** 2 / (g[i] * g[j])
    mean = float(np.mean(np.clip(ratios, 0.0, 1.0)))
    rounding = float(weights.max()) * found.below + float(weights.sum()) * entry
    return t * float(np.sqrt(largest_mean(mean, size))) + rounding


def largest_mean(mean: float, size: int) -> float:
    """Return the largest mean of a law on [0, 1] that a sample's mean does not exclude.

    >>> bool(2.07e-5 < largest_mean(0.0, 10**6) < 2.08e-5), largest_mean(1.0, 10)
    (True, 1.0)
    >>> bool(0.0118 < largest_mean(0.01, 10**5) < 0.0122)
    True
    """
    rate = -np.log(FAILURE) / size
    if mean == 0.0:
        return float(-np.expm1(-rate))

    def excess(p: float) -> float:
        kept = (1.0 - mean) * np.log((1.0 - mean) / (1.0 - p)) if mean < 1.0 else 0.0
        return float(mean * np.log(mean / p) + kept - rate)

    last = 1.0 - 1e-15
    return float(optimize.brentq(excess, mean, last)) if mean < last and excess(last) > 0 else 1.0


def _approximation(
    operator: KernelOperator, count: int, landmarks: int | Points | None, random_state: int | None
) -> LowRank:
    base = positive_base(operator)
    rank = landmarks_for(operator.shape[0], count, landmarks)
    how: str | Points = "kmeans" if is_real_table(base.x) else "pivoted"
    if landmarks is not None and not isinstance(landmarks, int | np.integer):
        how = landmarks
    return nystrom(base, rank, landmarks=how, random_state=random_state)


def _certified(values: Array, count: int, operator: Factored) -> Certificate:
    """Enclose each eigenvalue by how far the approximation can be off on either side."""
    error = max(operator.below, operator.above)
    # The true leading values are at least the computed ones less `below`.
    gaps = values - np.append(values[1:], 0.0) - operator.below
    with np.errstate(divide="ignore"):
        sines = np.minimum(np.where(gaps > error, error / gaps, 1.0), 1.0)
    return Certificate(
        lower=values[:count] - operator.below,
        upper=values[:count] + operator.above,
        sines=sines[:count],
        is_ordered=np.ones(count, bool),
        bounds=(f"{operator.how}: what it is missing",) * count,
        assumptions=(operator.assumption,) * count,
        failure_probability=operator.failure_probability,
    )
