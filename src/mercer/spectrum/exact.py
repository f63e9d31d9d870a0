"""The exact leading eigenpairs of an operator that is never stored."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from time import perf_counter

import numpy as np

from mercer.certificate import (
    PROBES,
    Certificate,
    NormProbe,
    certify,
    frobenius_complement,
    trace_complement,
)
from mercer.check import Array, InvalidInput, Points
from mercer.davidson import MOST_BLOCKS, Iteration, Noise, davidson
from mercer.engines.base import Engine
from mercer.engines.tiles import TILE
from mercer.gram import Centred, columns
from mercer.kernels.base import Kind
from mercer.lowrank import nystrom
from mercer.points import lies_on_disk
from mercer.spectrum.values import (
    How,
    NotConverged,
    Operator,
    Spectrum,
    clusters,
    in_units,
    is_real_table,
    orientation,
    positive_base,
    rank_threshold,
    rounding_standing,
    scaled,
    unit_of,
)
from mercer.woodbury import LowRankInverse

MOST_LANDMARKS = 400
POINTS_PER_LANDMARK = 40
"""One landmark for so many points: more cost more than the passes they save."""

HELD_ROWS = 6_000
"""Points on disk that are in memory at one time: samples for landmarks, and those of tiles."""

SINGLE_ENOUGH = 1e-4
"""From this ``tol`` on, single precision is enough and its rounding estimated, not bounded."""

SINGLE_ROUNDING = 2e-6
"""That estimate, relative to the largest value of the kernel: 16 units of single precision."""

PROBING, FILLING = 1, 2
"""Numbers that keep the random vectors of probes and of the start apart from each other."""

PROBE_STEPS = 4
"""Passes that carry the probes along: later ones would sharpen the bound by little."""


def exact(operator: Operator, count: int, tol: float, random_state: int | None) -> Spectrum:
    """Iterate on the operator; nothing larger than the low-rank factor is stored."""
    begun = perf_counter()
    operator.base.refuse_no_kernel()
    unit = unit_of(operator)
    if not np.isfinite(operator.rounding()) and unit == 1.0:
        raise InvalidInput(
            f"the values of {operator.base.kernel} can be so large that sums of them leave the "
            "range of doubles: rescale the data or the kernel's parameters"
        )
    if unit != 1.0:  # squares of such values leave the range of doubles
        return in_units(exact(scaled(operator, 1.0 / unit), count, tol, random_state), unit)
    needed, budget = exact_bytes(operator, count), operator.base.engine.memory
    if budget is not None:
        operator.base.cut(single=True).keep(budget - needed)
    with operator.base.engine.session():
        state, probe, approximation = _iterated(operator, count, tol, random_state)
        proof = _certified(operator, state, count, probe, tol)
    kernel, vectors = operator.base.kernel, state.vectors[:, :count]
    kept = operator.base.cut(single=True).kept_bytes
    is_proved = kernel.kind is Kind.POSITIVE and bool(kernel.proof)
    turn = orientation(vectors, operator)
    return Spectrum(
        values=state.values[:count],
        vectors=vectors * turn,
        images=state.images[:, :count] * turn,
        certificate=proof,
        trace=operator.trace,
        threshold=rank_threshold(operator),
        rank=None,
        negative_mass=None,
        psd="by construction" if is_proved else "not verified",
        how=How(
            f"block Davidson on {'kept ' if kernel.is_costly else ''}tiles, {approximation}",
            state.single_passes if operator.base.has_single_tiles else 0,
            state.double_passes + (0 if operator.base.has_single_tiles else state.single_passes),
            perf_counter() - begun,
            random_state,
            tuple(state.history),
            needed + kept if budget is None else max(needed, budget),
        ),
        clusters=clusters(state.values, float(proof.errors.max()), count),
    )


def single_estimate(operator: Operator) -> float:
    """Return what single precision usually adds to a product with a unit vector."""
    rounding = operator.base.entry_rounding(single=True)
    if not np.isfinite(rounding.product):
        return float(np.inf)
    total = 1.0 if isinstance(operator, Centred) else float(operator.shape[0])
    return SINGLE_ROUNDING * rounding.value * total


def sizes(n: int, count: int) -> tuple[int, int]:
    """Return how many vectors are iterated at once, and the rank of the preconditioner.

    >>> sizes(10_000, 10), sizes(10**6, 10)
    ((12, 250), (12, 400))
    """
    block = min(count + max(2, -(-count // 5)), n)
    return block, min(max(n // POINTS_PER_LANDMARK, 4 * block), MOST_LANDMARKS, n)


def exact_bytes(operator: Operator, count: int) -> int:
    """Return the memory that the iteration holds beside the data and the tiles it may keep."""
    base = operator.base
    return needed_bytes(base.shape[0], held_columns(base.x), count, threads_of(base.engine))


def held_columns(points: Points) -> int:
    """Return how many coordinates of a point are in memory, of those on disk on average."""
    share = min(1.0, HELD_ROWS / max(len(points), 1)) if lies_on_disk(points) else 1.0
    return ceil(share * columns(points))


def threads_of(engine: Engine) -> int:
    """Return how many tiles an engine computes at once."""
    return int(getattr(engine, "count", 1))


def needed_bytes(n: int, d: int, count: int, threads: int) -> int:
    """Return the memory of an iteration on n points of d coordinates with so many threads.

    It holds the points prepared in both precisions, the low-rank factor, basis and images with
    the temporaries of one step, an accumulator and a few tiles for each thread, and the squared
    factor with its eigenvectors.
    """
    block, rank = sizes(n, count)
    points = 24 * n * (d + 2)
    factor = 4 * n * rank
    vectors = 8 * n * block * (2 * MOST_BLOCKS + 8)
    accumulators = threads * (8 * n * (2 * block + PROBES + 1) + 4 * 8 * TILE * TILE)
    return points + factor + vectors + accumulators + 40 * rank * rank


def _iterated(
    operator: Operator, count: int, tol: float, random_state: int | None
) -> tuple[Iteration, NormProbe, str]:
    """Return converged Ritz pairs, the probes that rode along, and what the start was."""
    n, engine = operator.shape[0], operator.base.engine
    block, rank = sizes(n, count)
    factor, how = _approximation(operator, rank, random_state)
    preconditioner = LowRankInverse(operator.project(factor), engine)
    probe = NormProbe(preconditioner, n, None if random_state is None else [random_state, PROBING])
    start = _filled(preconditioner.start(block), block, random_state)
    noise = Noise(operator.rounding(single=True), operator.rounding())
    if tol >= SINGLE_ENOUGH:
        noise = Noise(single_estimate(operator), noise.double)
    state = davidson(Probed(operator, probe), count, start, preconditioner, tol=tol, noise=noise)
    if not state.has_converged:
        raise NotConverged(
            f"the iteration stopped at residual {state.history[-1]:.3g} of the largest eigenvalue, "
            f"above tol = {tol:g}. Ask for fewer axes or a larger tol. Eigenvalues that are all "
            "alike, as a very small bandwidth makes them, have no leading axes; a kernel that is "
            "not positive definite is iterated without a preconditioner, which may not suffice"
        )
    return state, probe, how


def _approximation(operator: Operator, rank: int, random_state: int | None) -> tuple[Array, str]:
    """Return the factor of a low-rank approximation, of rank 0 if there is none, and its name."""
    base = positive_base(operator)
    try:
        approximation = nystrom(
            base,
            rank,
            landmarks="kmeans" if is_real_table(base.x) else "pivoted",
            random_state=random_state,
            single=bool(np.isfinite(base.entry_rounding(single=True).entry)),
        )
    except InvalidInput:  # not positive definite: the iteration works without
        empty = np.zeros((base.shape[0], 0), np.float32)
        return empty, "no approximation: the kernel is indefinite"
    return approximation.factor, approximation.how


def _filled(start: Array, block: int, random_state: int | None) -> Array:
    """Return a starting block of full width, random where the approximation has no more axes."""
    missing = block - start.shape[1]
    if missing <= 0:
        return start
    rng = np.random.default_rng(None if random_state is None else [random_state, FILLING])
    return np.hstack([start, rng.standard_normal((len(start), missing))])


class Probed:
    """An operator whose passes in single precision carry the probes of the certificate along."""

    def __init__(self, operator: Operator, probe: NormProbe) -> None:
        self.operator, self.probe = operator, probe
        self.shape = operator.shape

    def product(self, vectors: Array, *, single: bool = False) -> Array:
        if self.probe.steps >= PROBE_STEPS or not single:
            return self.operator.product(vectors, single=single)
        both = self.operator.product(np.hstack([vectors, self.probe.vectors]), single=single)
        self.probe.advance(both[:, vectors.shape[1] :])
        return both[:, : vectors.shape[1]]


def _certified(
    operator: Operator, state: Iteration, count: int, probe: NormProbe, tol: float
) -> Certificate:
    """Prove what can be proved of the Ritz values, by every bound on what they leave out."""
    kernel = operator.base.kernel
    rounding = operator.rounding(single=True)
    if tol >= SINGLE_ENOUGH:
        rounding = single_estimate(operator)
    complements = []
    if operator.square_sum_is_known:
        complements.append(
            frobenius_complement(
                operator.square_sum,
                state.images,
                state.values,
                state.noise,
                operator.square_sum_error,
            )
        )
    if kernel.kind is Kind.POSITIVE:
        proved = "by construction" if kernel.proof else "assumed"
        of_trace = rounding if operator.means_are_single else operator.rounding()
        of_trace += float(state.noise.sum())
        assumption = f"positive semidefinite {proved}"
        complements.append(trace_complement(operator.trace, state.values, of_trace, assumption))
    if probe.steps:
        complements.extend(probe.complements(state.vectors, rounding))
    proof = certify(state.values, state.residuals, state.noise, count, complements)
    is_single = tol >= SINGLE_ENOUGH and state.single_passes > 0
    return replace(proof, rounding=rounding_standing(operator, is_single=is_single))
