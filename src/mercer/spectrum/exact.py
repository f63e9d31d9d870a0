"""The exact leading eigenpairs of an operator that is never stored."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from mercer.certificate import Certificate
from mercer.check import Array, Points, as_numpy
from mercer.davidson import Limits, davidson
from mercer.display import warn
from mercer.engines.engine import SINGLE_ENOUGH, SINGLE_ROUNDING
from mercer.engines.held import Held, to_host
from mercer.errors import InvalidInput, MissedAxes, NotConverged
from mercer.gram import Centred, Gram
from mercer.iteration import Iteration, Noise
from mercer.kernels.base import Kind
from mercer.lowrank import LowRank, greedy_pivots, nystrom
from mercer.points import join_points, take
from mercer.spectrum.axes_and_signs import (
    How,
    KernelOperator,
    Spectrum,
    around,
    clusters,
    in_units,
    is_real_table,
    orientation,
    positive_base,
    refuse_too_large,
    rounding_standing,
    scale_operator,
    unit_of,
)
from mercer.spectrum.passes import Checkpoint, Passes
from mercer.spectrum.probes import PROBE_STEPS, Measured, NormProbe, Probed, Sample
from mercer.spectrum.proofs import complete_bytes, prove_axes, remark_rounding, trace_bound
from mercer.spectrum.room import exact_room, free_at_once, in_file, sizes
from mercer.woodbury import LowRankInverse

DOUBLE_ROUNDING = 2 * float(np.finfo(float).eps)
"""The same of double precision, at the least: residuals can be lowered so far."""

CANCELLED = 1e-2
"""The share of its trace below which a centred factor has lost too much to single precision."""

ROUNDS = 4
"""How often points that the axes leave out are taken in before that is given up."""

CANDIDATES = 1_000
"""Points among which landmarks are looked for, of those that the others do not see."""

ALONE = 0.1
"""The squared share of a point outside the axes below which nothing follows from what is left."""

SEEN_ROWS, MORE = 64, 1.25
"""Rows whose means are looked at beforehand, and by how much the largest of all may be larger."""

BLINDNESS = 1e-3
"""The size of the random part of the unit vectors that the iteration starts from."""

PROBING, FILLING = 1, 2
"""Numbers that keep the random vectors of probes and of the start apart from each other."""

WIDE = 64
"""Vectors from which on single precision saves nothing.

Products are then all the work, and those in double precision take twice as long; but passes in
single precision have to be made again.
"""


def exact(
    operator: KernelOperator,
    count: int,
    tol: float,
    random_state: int | None,
    *,
    is_complete: bool = False,
    checkpoint: Checkpoint | None = None,
) -> Spectrum:
    """Iterate on the operator; nothing larger than the low-rank factor is stored.

    Where memory is short of it, the factor lies in a temporary file: the digits are the same.

    Only a ``complete`` proof, that no axis was missed, stores the matrix in the end.
    """
    begun = perf_counter()
    operator.base.refuse_no_kernel()
    unit = unit_of(operator)
    if unit == 1.0:
        refuse_too_large(operator, operator.rounding())
    if unit != 1.0:  # squares of such values leave the range of doubles
        small = scale_operator(operator, 1.0 / unit)
        found = exact(
            small, count, tol, random_state, is_complete=is_complete, checkpoint=checkpoint
        )
        return in_units(found, operator, unit)
    room, budget = exact_room(operator, count), operator.base.engine.memory
    needed = room.memory
    if room.disk:
        free_at_once()
    needed += complete_bytes(operator.shape[0]) if is_complete else 0
    if budget is not None:
        operator.base.cut(single=True).keep(budget - needed)
    with operator.base.engine.session():
        state, probed, approximation = _iterated(operator, count, tol, random_state, checkpoint)
        proof = _certified(probed, state, count, tol, is_complete=is_complete)
    proof = remark_rounding(operator, state, proof, tol)
    kernel, vectors = operator.base.kernel, state.vectors[:, :count]
    kept = operator.base.cut(single=True).kept_bytes
    turn = orientation(vectors, operator)
    vectors, images = vectors * turn, state.images[:, :count] * turn
    if not operator.base.stays:
        vectors, images = to_host(vectors), to_host(images)
    return Spectrum(
        values=state.values[:count],
        vectors=vectors,
        images=images,
        certificate=proof,
        trace=operator.trace,
        threshold=operator.threshold,
        rank=None,
        negative_mass=None,
        psd="by construction" if operator.is_positive else "not verified",
        how=How(
            f"block {'Lanczos' if state.has_lanczos else 'Davidson'} on "
            f"{'kept ' if kernel.is_costly else ''}tiles, {approximation}",
            state.single_passes if operator.base.has_single_tiles else 0,
            state.double_passes + (0 if operator.base.has_single_tiles else state.single_passes),
            perf_counter() - begun,
            random_state,
            tuple(state.history),
            needed + kept if budget is None else max(needed, budget),
        ),
        clusters=clusters(state.values, *around(state.values, proof.errors, count)),
    )


def single_estimate(operator: KernelOperator) -> float:
    """Return what single precision usually adds to a product with a unit vector."""
    rounding = operator.base.entry_rounding(single=True)
    if not np.isfinite(rounding.product):
        return float(np.inf)
    is_centred = isinstance(operator, Centred)
    return operator.base.usual_rounding(is_centred=is_centred) * _total(operator)


def double_estimate(operator: KernelOperator) -> float:
    """Return what double precision usually adds to a product with a unit vector.

    Entries are rounded the same way in every pass: only their sums stand in the way of a residual.
    """
    base = operator.base
    value = base.entry_rounding().value
    if base.kernel.kind is Kind.POSITIVE:
        value = min(value, float(np.max(base.diag(), initial=0.0)))
    return DOUBLE_ROUNDING * value * _total(operator)


def expected_rounding(operator: Centred) -> float:
    """Return the bound for single precision that a pass in double precision will give, about.

    From the means of a few rows: where none is known to be larger, that of all rows is.
    """
    known, n = operator.base.entry_rounding(single=True), operator.shape[0]
    if known.relative == np.inf:
        return known.product
    some = np.linspace(0, n - 1, min(SEEN_ROWS, n)).astype(int)
    weights = operator.weights[:, None]
    means = operator.base.partial_product(some, np.arange(n), weights)
    largest = MORE * float(np.max(np.real(means), initial=0.0))
    return min(known.product, known.relative * largest + known.beside)


def _total(operator: KernelOperator) -> float:
    """Return the sum of the weights, which multiplies an error of every entry."""
    return 1.0 if isinstance(operator, Centred) else float(operator.shape[0])


def _iterated(
    operator: KernelOperator,
    count: int,
    tol: float,
    random_state: int | None,
    checkpoint: Checkpoint | None = None,
) -> tuple[Iteration, Probed, str]:
    """Return converged Ritz pairs, the operator with its probes, and what the start was."""
    n = operator.shape[0]
    block, rank = sizes(n, count, operator.base.engine.landmarks(n))
    preconditioner, how = _preconditioner(operator, count, rank, random_state)
    probe = NormProbe(preconditioner, n, None if random_state is None else [random_state, PROBING])
    start = _filled(preconditioner, block, random_state)
    bound, noise = _noise(operator, block, tol)
    probed = Probed(operator, probe, noise)
    passes = None if checkpoint is None else Passes(checkpoint, operator, probed, count)
    if passes is not None and passes.block is not None:
        start = np.zeros((n, passes.block))  # whose width alone matters
    for turn in range(0 if passes is None else passes.turn, ROUNDS + 1):
        if passes is not None:
            passes.turn = turn
        while True:
            state = davidson(
                probed,
                count,
                start,
                preconditioner,
                tol=tol,
                noise=noise,
                limits=Limits(columns=_columns(operator, count)),
                block=block,
                witnesses=probed.witnesses,
                keeper=passes,
            )
            if noise.single >= bound or _is_measured(probed, state, count, tol):
                break
            noise = replace(noise, single=bound)  # and a pass in double precision
            probed.noise, probed.is_bounded = bound, True
            start = state.vectors[:, :block]
        _refuse_unconverged(state, tol)
        slack = noise.seen if operator.means_are_single else noise.attainable
        left_out, size = points_left_out(operator, state, count, slack, block)
        if not len(left_out):
            break
        if turn == ROUNDS:
            _warn_of_missed(state, count, left_out[0], size)
            break
        start = _with_points(state.vectors[:, :block], left_out)
        state.vectors = state.images = start[:, :0]  # the next iteration takes their memory
    if probed.is_single and noise.found is not None:
        probed.noise = min(probed.noise, noise.sharpened().single)
    if passes is not None and passes.has_new_probes:
        while probe.steps < PROBE_STEPS and not probe.is_spent:
            probe.advance(operator.product(probe.vectors, single=probed.is_single))
    return state, probed, how


def _refuse_unconverged(state: Iteration, tol: float) -> None:
    if not state.has_converged:
        raise NotConverged(
            f"the iteration stopped at residual {state.history[-1]:.3g} of the largest eigenvalue, "
            f"above tol = {tol:g}. Request fewer axes or a larger tol. If all eigenvalues are "
            "nearly equal, as with a very small bandwidth, there are no leading axes"
        )


def _warn_of_missed(state: Iteration, count: int, point: int, size: float) -> None:
    warn(
        f"the iteration missed an axis, on which point {point} lies: its eigenvalue is at least "
        f"{size:.6g}, and the last of the {count} axes has {state.values[count - 1]:.6g}. Others "
        "may be missing too. Request more axes, or use method='dense'",
        MissedAxes,
    )


def _with_points(vectors: Array, points: Array) -> Array:
    """Return vectors beside those of single points: e_i for each."""
    alone = np.zeros((vectors.shape[0], len(points)))
    alone[points, np.arange(len(points))] = 1.0
    return np.hstack([vectors, alone])


def _noise(operator: KernelOperator, block: int, tol: float) -> tuple[float, Noise]:
    """Return the bound for rounding in single precision, and what the iteration is told of it."""
    engine = operator.base.engine
    single = bound = operator.rounding(single=True)
    usual = min(single_estimate(operator), bound)
    if tol >= engine.single_enough:
        single = usual
    if begins_in_double(block, tol, engine.single_enough):
        single = usual = np.inf
    noise = Noise(single, operator.rounding(), usual, double_estimate(operator))
    if not isinstance(operator, Centred) or tol >= engine.single_enough:
        return bound, noise
    # Rounding of single precision alone is more than tol of the largest value there may be.
    operator.means_can_wait = single > tol * operator.base.entry_rounding().value
    if not operator.means_can_wait or single == np.inf:
        return bound, noise
    expected = expected_rounding(operator)
    return bound, replace(noise, expected=expected, found=lambda: operator.rounding(single=True))


def _is_measured(probed: Probed, state: Iteration, count: int, tol: float) -> bool:
    """Whether an estimate of rounding stands: images are as good as asked for, on a sample of rows.

    What is measured is taken for the noise where it is more than was estimated.
    """
    operator = probed.operator
    rows = operator.base.engine.checked_rows
    if not rows or not state.single_passes or not state.has_converged:
        return True
    pairs = [(state.vectors, state.images)]
    pairs += [] if probed.seen is None else [probed.seen]
    measured = Measured(operator, Sample.of(operator, state.vectors, rows), pairs)
    errors = measured.errors[0]
    others = [measured.mean_error, *(float(found.max()) for found in measured.errors)]
    state.noise, probed.noise = np.maximum(state.noise, errors), max(probed.noise, *others)
    residuals = np.linalg.norm(state.residuals[:, :count], axis=0)
    return float(np.max(residuals + state.noise[:count])) <= tol * float(state.values[0])


def begins_in_double(block: int, tol: float, enough: float = SINGLE_ENOUGH) -> bool:
    """Whether no pass of so many vectors is made in single precision."""
    return block > WIDE and tol < enough


def _columns(operator: KernelOperator, count: int) -> int:
    """Return the columns that the basis of a slow iteration may have in the memory there is."""
    budget = operator.base.engine.memory
    if budget is None:
        return Limits.columns
    return max(0, budget - exact_room(operator, count).memory) // (32 * operator.shape[0])


def points_left_out(
    operator: KernelOperator, state: Iteration, count: int, slack: float, most: int
) -> tuple[Array, float]:
    r"""Return the points that show an axis above the last one outside the Ritz vectors Q.

    .. math:: r = (I - QQ^*) e_i, \quad \frac{r^* K r}{r^* r} > \theta_{\text{count}} + \varepsilon

    With r in the basis the last Ritz value would be larger (Courant and Fischer): there is no
    false alarm. An axis that lies on few points is always noticed. The second result is the
    largest of the quotients.
    """
    Q, images = state.vectors, state.images
    shares = to_host(np.einsum("ij,ij->i", Q.conj(), Q)).real
    across = to_host(np.einsum("ij,ij->i", Q.conj(), images)).real
    inside = to_host(np.abs(Q) ** 2 @ state.values)
    outside = np.maximum(1.0 - shares, ALONE)
    quotients = np.where(
        shares <= 1.0 - ALONE, (operator.diag() - 2.0 * across + inside) / outside, 0.0
    )
    limit = state.values[count - 1] + slack / ALONE + max(float(np.max(state.noise[:count])), 0.0)
    found = np.flatnonzero(quotients > limit)
    order = np.argsort(-quotients[found], kind="stable")[:most]
    return found[order], float(np.max(quotients, initial=0.0))


class Chosen(NamedTuple):
    """What an approximation is made on, and in which precision, the ``turn``-th time."""

    landmarks: str | Points
    rank: int
    is_single: bool
    added: int = 0
    turn: int = 0


def _preconditioner(
    operator: KernelOperator, count: int, rank: int, random_state: int | None
) -> tuple[LowRankInverse, str]:
    """Return the low-rank approximation, of rank 0 if there is none, and its name.

    Points whose own share of what it misses is above its last axis become landmarks as well: an
    axis may lie on one of them alone. A factor of which centring leaves little is computed in
    double precision, on half the landmarks. One factor is held at a time.
    """
    base = positive_base(operator)
    is_single = bool(np.isfinite(base.entry_rounding(single=True).entry))
    chosen = Chosen("kmeans" if is_real_table(base.x) else "pivoted", rank, is_single)
    while True:
        found = _approximated(operator, base, chosen, count, random_state)
        if not isinstance(found, Chosen):
            return found
        chosen = found


def _approximated(
    operator: KernelOperator, base: Gram, chosen: Chosen, count: int, random_state: int | None
) -> tuple[LowRankInverse, str] | Chosen:
    """Return an approximation and its name, or what a better one is made on."""
    engine, is_last = base.engine, chosen.turn == ROUNDS - 1
    place = in_file if exact_room(operator, count).disk else np.empty
    try:
        found = nystrom(
            base,
            chosen.rank,
            landmarks=chosen.landmarks,
            random_state=random_state,
            single=chosen.is_single,
            is_held=True,
            place=place,
        )
    except InvalidInput:  # not positive definite: the iteration works without
        empty = np.zeros((base.shape[0], 0), np.float32)
        return LowRankInverse(empty, engine), "no approximation: the kernel is indefinite"
    whole = float(operator.roots[:, 0] ** 2 @ (base.diag() - found.missing))
    factor = operator.project(found.factor)
    is_cancelled = np.linalg.norm(factor) ** 2 < CANCELLED * whole
    following = chosen._replace(turn=chosen.turn + 1)
    if is_cancelled and chosen.is_single and not is_last:
        return following._replace(is_single=False, rank=max(chosen.rank // 2, 1))
    inverse = LowRankInverse(factor.astype(np.result_type(np.float32, factor), copy=False), engine)
    unseen = _unseen(operator, base, found, inverse, count)
    if len(unseen) and not is_last:
        landmarks = join_points(found.features.landmarks, take(base.x, unseen))
        return following._replace(landmarks=landmarks, added=chosen.added + len(unseen))
    alone = f"k-means, and {chosen.added} points that it left alone"
    where = " in a temporary file" if place is in_file else ""
    return inverse, found.how.replace("given landmarks", alone) + where


def _unseen(
    operator: KernelOperator, base: Gram, found: LowRank, inverse: LowRankInverse, count: int
) -> Array:
    """Return points of which the approximation misses more than its last axis has.

    Only of landmarks that were found without looking: random pivots prefer such points anyway.
    """
    if not is_real_table(base.x):
        return np.zeros(0, int)
    weights = operator.roots[:, 0] ** 2
    left = weights * found.missing
    unit = SINGLE_ROUNDING if found.factor.dtype == np.float32 else DOUBLE_ROUNDING
    last = inverse.values[count - 1] if len(inverse.values) >= count else 0.0
    limit = last + unit * float(np.max(weights * np.abs(base.diag()), initial=0.0))
    points = np.asarray(np.flatnonzero(left > limit))
    points = points[np.argsort(-left[points], kind="stable")[:CANDIDATES]]
    if not len(points):
        return points
    some = take(base.x, points)
    some = to_host(some) if isinstance(some, Held) else some  # a few
    F = found.features(some)
    roots = np.sqrt(weights[points])[:, None]
    E = roots * (as_numpy(base.kernel(some)) - F @ F.conj().T) * roots.T
    pivots: Array = points[greedy_pivots(E, limit, sizes(len(weights), count)[0])]
    return pivots


def _filled(approximation: LowRankInverse, block: int, random_state: int | None) -> Array:
    """Return a starting block of full width that is blind to no axis.

    Columns are random where the approximation has no more axes. Each gets a random part, no larger
    than the error it has anyway: an axis orthogonal to all of them would never be found.
    """
    start = approximation.start(block)
    n, found = start.shape
    seed = None if random_state is None else [random_state, FILLING]
    random: Array = approximation.random_vectors(block, seed) / np.sqrt(n)
    random = random.astype(np.result_type(start, float))
    random[:, :found] *= BLINDNESS
    random[:, :found] += start[:, :block]
    return random


def _certified(
    probed: Probed, state: Iteration, count: int, tol: float, *, is_complete: bool = False
) -> Certificate:
    """Prove what can be proved of the Ritz values: the trace and the probes bound the rest."""
    operator, probe, rounding = probed.operator, probed.probe, probed.noise
    kernel, block = operator.base.kernel, sizes(operator.shape[0], count)[0]
    others = []
    if kernel.kind is Kind.POSITIVE:
        of_trace = rounding if operator.means_are_single else operator.rounding()
        why = "by construction" if kernel.proof else "assumed"
        others.append(trace_bound(operator, state, of_trace, why))
    if probe.steps:
        # Of the last vectors of the basis the approximation knows more than they do. The second
        # bound assumes something of single precision.
        found = probe.complements(state.vectors[:, :block], rounding)
        others.extend(found if probed.is_single else found[:1])
    proof = prove_axes(operator, state, count, others, block=block, is_complete=is_complete)
    is_single = tol >= operator.base.engine.single_enough and state.single_passes > 0
    is_single = is_single and not probed.is_bounded
    return replace(proof, rounding=rounding_standing(operator, is_single=is_single))
