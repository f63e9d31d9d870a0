"""How much memory a computation may use, and what fits when it asks for more."""

from __future__ import annotations

from math import isqrt
from typing import cast

from mercer.check import Points
from mercer.engines.engine import machine_bytes as machine_bytes
from mercer.errors import Advice
from mercer.errors import NotEnoughMemory as NotEnoughMemory
from mercer.spectrum.approximate import landmarks_for, nystrom_bytes
from mercer.spectrum.dense import EXACT, MOST_DENSE, dense_bytes
from mercer.spectrum.exact import exact_bytes, held_columns, needed_bytes, threads_of
from mercer.spectrum.krylov import krylov_bytes
from mercer.spectrum.proofs import complete_bytes
from mercer.spectrum.values import KernelOperator, Operator


def refuse_beyond_budget(
    operator: Operator,
    count: int,
    method: str,
    landmarks: int | Points | None = None,
    *,
    is_complete: bool = False,
) -> None:
    """Refuse a method that needs more than the engine's budget, or than the machine has."""
    n, d, budget = operator.shape[0], held_columns(operator.base.x), operator.base.engine.memory
    if method == "dense" and n > MOST_DENSE:  # which refuses it itself
        return
    if method == "nystrom":
        needed = nystrom_bytes(n, d, count, landmarks_for(n, count, landmarks))
    else:
        needed = dense_bytes(n)
        if method == "exact":
            needed = krylov_bytes(n, count)
            if operator.offers == "landmarks":
                needed = exact_bytes(cast("KernelOperator", operator), count)
            needed += complete_bytes(n) if is_complete else 0
    allowed = budget if budget is not None else machine_bytes()
    if needed > allowed:
        threads = threads_of(operator.base.engine)
        option, advice = smaller(n, d, count, method, allowed, threads=threads)
        given = Advice("method", method)
        raise NotEnoughMemory(
            f"{given} for {count} axes of {n} points takes {readable(needed)}, and "
            f"{readable(allowed)} may be used: {option}",
            *(given, advice),
        )


def smaller(
    n: int, d: int, count: int, method: str, allowed: int, *, threads: int = 1
) -> tuple[str, Advice]:
    """Return in words the largest computation that fits, and how to ask for it.

    >>> smaller(20_000, 10, 5, "dense", 10**9)[0]
    "method='exact' takes 81.4 MB"
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


def readable(count: int) -> str:
    """Return a number of bytes as a person would say it.

    >>> readable(3_200_000_000), readable(45_000), readable(12)
    ('3.2 GB', '45 kB', '12 bytes')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
