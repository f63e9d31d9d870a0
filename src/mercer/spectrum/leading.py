"""One door to every way of finding leading eigenpairs, and the memory that each may use."""

from __future__ import annotations

from dataclasses import replace
from math import isqrt
from typing import cast

from mercer.check import Points
from mercer.display import warn
from mercer.errors import (
    Advice,
    InvalidParameter,
    NotConverged,
    NotEnoughMemory,
    SpectrumWarning,
)
from mercer.kernels.definite import LARGEST_MATRIX
from mercer.lowrank import Factored
from mercer.operators import TwoSided
from mercer.settings import RandomState, allowed_bytes, number, readable, seed_of, spelled, whole
from mercer.spectrum.approximate import approximate, landmarks_for, nystrom_bytes, of_factor
from mercer.spectrum.axes_and_signs import KernelOperator, Operator, Spectrum, of_all
from mercer.spectrum.dense import EXACT, dense, dense_bytes
from mercer.spectrum.exact import exact
from mercer.spectrum.krylov import krylov, krylov_bytes
from mercer.spectrum.limits import Limits
from mercer.spectrum.passes import Checkpoint
from mercer.spectrum.proofs import complete_bytes
from mercer.spectrum.room import (
    Room,
    exact_room,
    held_columns,
    needed_bytes,
    threads_of,
)
from mercer.spectrum.two_sides import two_sides

NO_PASSES = {
    "dense": "the whole matrix is decomposed at once",
    "nystrom": "an approximation on landmarks is decomposed at once",
    "exact": "the operator offers products alone",
    "factor": "the smaller side of an approximation is decomposed at once",
    "sides": "the smaller side of a table is decomposed, or Lanczos steps are made with it",
}
"""What is done without passes over the matrix."""

METHODS = ("auto", "dense", "exact", "nystrom")
PROOFS = ("usual", "complete")


@spelled
def leading(  # noqa: PLR0913  (each is one choice, all but the matrix and the count by name)
    operator: Operator | Factored | TwoSided,
    count: int,
    *,
    tol: float = 1e-9,
    method: str = "auto",
    landmarks: int | Points | None = None,
    random_state: RandomState = None,
    proof: str = "usual",
    checkpoint: Checkpoint | None = None,
    limits: Limits = Limits(),  # noqa: B008  (a value)
) -> Spectrum:
    r"""Return the ``count`` largest eigenvalues with their vectors, residuals within tol of λ₁.

    .. math:: \|K u_k - \theta_k u_k\| \le \mathrm{tol}\; \theta_1

    with the rounding of K u included; where double precision cannot promise that,
    ``certificate.rounding`` says what holds instead.
    ``method`` is ``"dense"`` (n² memory), ``"exact"`` (no matrix), ``"nystrom"`` (an approximation
    on ``landmarks``, whose intervals say what it may have missed) or ``"auto"``, which chooses
    between the first two by size, and decomposes the matrix also where the iteration does not
    converge, if it is not too large. Of an operator that is an approximation itself (`nystrom`,
    `random_fourier`) and of a table the smaller side is decomposed; both sides of a table that are
    large, and ``"exact"``, take Lanczos steps with it. The seed is in ``how.random_state``.

    What the iteration proves besides costs less than a tenth of it, and may leave open whether the
    last axes are the leading ones. ``proof="complete"`` settles that without any probability, by
    Cholesky's factors of the whole matrix: 24n² bytes, and about 0.2 s for 2 000
    and 2 s for 5 000 points on one core.

    A ``checkpoint`` keeps the state of ``"exact"`` after each pass; a run that has one goes on from
    there. Other methods have none to keep, and say so. ``limits`` are the sizes that choose.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.gram import Gram
    >>> x = np.linspace(0.0, 1.0, 40)[:, None]
    >>> spectrum = leading(Gram(Gaussian(bandwidth=0.3), x).centred(), 3)
    >>> bool(np.all(spectrum.errors < 1e-12))
    True
    """
    n = min(operator.shape)
    count = min(whole(count, "count", least=1), n)
    tol = number(tol, "tol", above=0.0)
    seed = seed_of(random_state)
    if proof not in PROOFS:
        raise InvalidParameter(f"proof must be one of {', '.join(PROOFS)}, found {proof!r}")
    is_complete = proof == "complete"
    if operator.offers in NO_PASSES:
        _warn_of_checkpoint(checkpoint, operator.offers)
    if operator.offers == "factor":
        return of_factor(operator, count)
    if method == "nystrom" and operator.offers != "landmarks":
        raise InvalidParameter("landmarks are points of a kernel; use method='exact'")
    if operator.offers == "sides":
        return two_sides(operator, count, method="dense" if is_complete else method, limits=limits)
    if operator.active is not operator:
        found = leading(
            operator.active,
            count,
            tol=tol,
            method=method,
            landmarks=landmarks,
            random_state=seed,
            proof=proof,
            checkpoint=checkpoint,
            limits=limits,
        )
        return of_all(found, operator, count)
    chosen = chosen_method(n, count, method, limits)
    refuse_beyond_budget(operator, count, chosen, landmarks, is_complete=is_complete)
    if chosen != "exact" or operator.offers == "products":
        _warn_of_checkpoint(checkpoint, chosen)
    if chosen == "dense":
        return dense(operator, count, is_complete=is_complete)
    try:
        if operator.offers == "products":
            most = limits.krylov_vectors
            return krylov(operator, count, tol, seed, is_complete=is_complete, most=most)
        tiles = cast("KernelOperator", operator)
        if chosen == "nystrom":
            return approximate(tiles, count, landmarks=landmarks, random_state=seed)
        return exact(tiles, count, tol, seed, is_complete=is_complete, checkpoint=checkpoint)
    except NotConverged as stopped:
        if method != "auto" or n > limits.last_resort:
            raise
        refuse_beyond_budget(operator, count, "dense")
        found = dense(operator, count, is_complete=is_complete)
        why = str(stopped).split(",")[0]
        return replace(found, how=replace(found.how, method=f"dense, for {why}"))


def _warn_of_checkpoint(checkpoint: Checkpoint | None, route: str) -> None:
    """Say that a checkpoint would keep nothing, where one is asked for."""
    if checkpoint is not None:
        warn(
            f"checkpoint= keeps nothing here: {NO_PASSES[route]}, so there are no passes to resume "
            "from. method='exact' makes passes over a kernel",
            SpectrumWarning,
        )


def chosen_method(
    n: int,
    count: int,
    method: str = "auto",
    limits: Limits = Limits(),  # noqa: B008  (a value)
) -> str:
    """Return the method that is used for so many points and axes.

    >>> chosen_method(500, 10), chosen_method(50_000, 10), chosen_method(2_000, 300)
    ('dense', 'exact', 'dense')
    """
    if method not in METHODS:
        raise InvalidParameter(f"method must be one of {', '.join(METHODS)}, found {method!r}")
    if method != "auto":
        return method
    has_many_axes = limits.axes_share * count > n
    return "dense" if n <= limits.dense or (has_many_axes and n <= LARGEST_MATRIX) else "exact"


def refuse_beyond_budget(
    operator: Operator,
    count: int,
    method: str,
    landmarks: int | Points | None = None,
    *,
    is_complete: bool = False,
) -> None:
    """Refuse a method that needs more than the engine's budget, or than the machine has."""
    n = operator.shape[0]
    if method == "dense" and n > LARGEST_MATRIX:  # which refuses it itself
        return
    if method == "nystrom":
        d, rank = held_columns(operator.base.x), landmarks_for(n, count, landmarks)
        needed = Room(nystrom_bytes(n, d, count, rank))
    else:
        needed = Room(dense_bytes(n))
        if method == "exact":
            needed = Room(krylov_bytes(n, count))
            if operator.offers == "landmarks":
                needed = exact_room(cast("KernelOperator", operator), count)
            memory = needed.memory + (complete_bytes(n) if is_complete else 0)
            needed = needed._replace(memory=memory)
    budget = operator.base.engine.memory
    if budget is None and needed.memory <= Limits.anywhere:
        return
    allowed = allowed_bytes(budget)
    if needed.memory > allowed:
        threads = threads_of(operator.base.engine)
        d = held_columns(operator.base.x)
        option, advice = smaller(n, d, count, method, allowed, threads=threads)
        given = Advice("method", method)
        raise NotEnoughMemory(
            f"{given} for {count} axes of {n} points takes {needed}, and "
            f"{readable(allowed)} may be used: {option}",
            *(given, advice),
        )


def smaller(
    n: int, d: int, count: int, method: str, allowed: int, *, threads: int = 1
) -> tuple[str, Advice]:
    """Return in words the largest computation that fits, and how to ask for it.

    >>> smaller(20_000, 10, 5, "dense", 10**9)[0]
    "method='exact' takes 79.6 MB"
    >>> smaller(20_000, 10, 5, "exact", 10**5)[0]
    "use fewer points: method='dense' takes up to 49 of them"
    >>> text, advice = smaller(20_000, 10, 5, "exact", 20 * 10**6)
    >>> text, advice.value
    ("method='nystrom' with landmarks=60 takes 20 MB", 60)
    """
    needed = needed_bytes(n, d, count, threads)
    if method == "dense" and needed <= allowed:
        return f"{EXACT} takes {readable(needed)}", EXACT
    rank = min(n, (allowed - nystrom_bytes(n, d, count, 0)) // (8 * n))
    while rank > 0 and nystrom_bytes(n, d, count, rank) > allowed:
        rank -= max(1, rank // 50)
    if rank >= 1:
        size = readable(nystrom_bytes(n, d, count, rank))
        advice = on_landmarks(rank)
        return f"{advice} takes {size}", advice
    advice, most = _on_fewer(n, d, count, allowed)
    return f"use fewer points: {advice} takes up to {most} of them", advice


def on_landmarks(count: int) -> Advice:
    """Return the advice to take so many landmarks."""
    return Advice("landmarks", count, f"method='nystrom' with landmarks={count}")


def _on_fewer(n: int, d: int, count: int, allowed: int) -> tuple[Advice, int]:
    """Return how many points fit, with the usual number of landmarks or all at once."""
    rank = landmarks_for(n, count, None)
    fixed = nystrom_bytes(0, d, count, rank)
    most = (allowed - fixed) // (nystrom_bytes(1, d, count, rank) - fixed)
    if most > rank:
        return on_landmarks(rank), most
    return Advice("method", "dense"), isqrt(allowed // dense_bytes(1))
