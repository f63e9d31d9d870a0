"""The spectrum of a low-rank approximation, with intervals that say what it may have missed."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np

from mercer.certificate import Certificate
from mercer.check import (
    Array,
    Points,
    whole,
)
from mercer.engines.base import Engine
from mercer.gram import Centred
from mercer.kernels.base import Kind
from mercer.lowrank import Factored, nystrom
from mercer.points import as_points
from mercer.spectrum.values import (
    How,
    Operator,
    Spectrum,
    clusters,
    is_real_table,
    orientation,
    positive_base,
    rank_threshold,
    rounding_standing,
)
from mercer.woodbury import LowRankInverse

LANDMARKS_PER_AXIS = 50
"""Landmarks for each axis, unless a number is given."""

FEWEST_LANDMARKS = 100


def approximate(
    operator: Operator,
    count: int,
    *,
    landmarks: int | Points | None = None,
    random_state: int | None = 0,
) -> Spectrum:
    r"""Return the eigenpairs of the Nyström approximation in the operator's place.

    .. math:: \hat\lambda_i \le \lambda_i \le \hat\lambda_i + \operatorname{tr}(K - \hat K)

    since the approximation is never larger than the operator (Weyl). ``landmarks`` is their
    number or the points themselves; unless given, they are k-means centres of vectors and random
    pivots of anything else.
    """
    begun = perf_counter()
    kernel, engine = operator.base.kernel, operator.base.engine
    is_proved = kernel.kind is not Kind.SIMILARITY and bool(kernel.proof)
    with engine.session():
        found = _approximation(operator, count, landmarks, random_state)
        if isinstance(operator, Centred):
            found = found.centred(operator.weights, copy=False)
        spectrum = of_factor(found, count, engine, is_proved=is_proved)
    how = replace(spectrum.how, seconds=perf_counter() - begun, random_state=random_state)
    proof = replace(spectrum.certificate, rounding=rounding_standing(operator))
    return replace(spectrum, how=how, certificate=proof, threshold=rank_threshold(operator))


def of_factor(
    operator: Factored,
    count: int,
    engine: Engine | None = None,
    *,
    is_proved: bool = False,
) -> Spectrum:
    """Return the eigenpairs of F Fᴴ, by the small side, with intervals for what it stands for."""
    inner = LowRankInverse(operator.factor, engine)
    kept = min(count, len(inner.values))
    proof = _certified(inner.values, kept, operator)
    vectors, trace = inner.start(kept), float(inner.values.sum())
    turn = orientation(vectors, operator)
    return Spectrum(
        values=inner.values[:kept],
        vectors=vectors * turn,
        certificate=proof,
        trace=trace,
        trace_error=operator.trace_gap,
        threshold=len(vectors) * float(np.finfo(float).eps) * trace,
        rank=None,
        negative_mass=None,
        psd="by construction" if is_proved else "not verified",
        how=How(
            f"approximate: {operator.how}",
            memory=approximate_bytes(len(vectors), operator.rank),
        ),
        clusters=clusters(inner.values, float(proof.errors.max(initial=0.0)), kept),
        features=operator.features,
        feature_axes=inner.axes[:, :kept] * turn,
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


def _approximation(
    operator: Operator, count: int, landmarks: int | Points | None, random_state: int | None
) -> Factored:
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
