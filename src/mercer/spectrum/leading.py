"""One door to every way of finding leading eigenpairs."""

from __future__ import annotations

import os

from mercer.check import InvalidParameter, MercerError, Points, whole
from mercer.lowrank import Factored
from mercer.spectrum.approximate import approximate, approximate_bytes, of_factor
from mercer.spectrum.dense import MOST_DENSE, dense, dense_bytes
from mercer.spectrum.exact import exact, exact_bytes
from mercer.spectrum.values import Operator, Spectrum

DENSE = 1_000
"""Up to this size the whole matrix is decomposed at once."""

STORED = 3_000
"""Up to this size all axes may be asked for, which takes the whole matrix."""

METHODS = ("auto", "dense", "exact", "nystrom")


def leading(
    operator: Operator | Factored,
    count: int,
    *,
    tol: float = 1e-9,
    method: str = "auto",
    landmarks: int | Points | None = None,
    random_state: int | None = 0,
) -> Spectrum:
    """Return the ``count`` largest eigenvalues with their vectors, residuals within tol of λ₁.

    ``method`` is ``"dense"`` (n² memory), ``"exact"`` (no matrix), ``"nystrom"`` (an approximation
    on ``landmarks``, whose intervals say what it may have missed) or ``"auto"``, which chooses
    between the first two by size. Of an operator that is an approximation itself (`nystrom`,
    `random_fourier`) the small side is decomposed.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.gram import Gram
    >>> x = np.linspace(0.0, 1.0, 40)[:, None]
    >>> spectrum = leading(Gram(Gaussian(bandwidth=0.3), x).centred(), 3)
    >>> bool(np.all(spectrum.errors < 1e-12))
    True
    """
    n = operator.shape[0]
    count = min(whole(count, "count", least=1), n)
    if isinstance(operator, Factored):
        return of_factor(operator, count)
    chosen = chosen_method(n, count, method)
    _refuse_beyond_budget(operator, count, chosen)
    if chosen == "dense":
        return dense(operator, count)
    if chosen == "nystrom":
        return approximate(operator, count, landmarks=landmarks, random_state=random_state)
    return exact(operator, count, tol, random_state)


def chosen_method(n: int, count: int, method: str = "auto") -> str:
    """Return the method that is used for so many points and axes.

    >>> chosen_method(500, 10), chosen_method(50_000, 10), chosen_method(5_000, 4_000)
    ('dense', 'exact', 'dense')
    """
    if method not in METHODS:
        raise InvalidParameter(f"method must be one of {', '.join(METHODS)}, found {method!r}")
    if method != "auto":
        return method
    return "dense" if n <= DENSE or 5 * count > n else "exact"


class NotEnoughMemory(MercerError, MemoryError):
    """A computation that would take more memory than it may; the message names a smaller one."""


def _refuse_beyond_budget(operator: Operator, count: int, method: str) -> None:
    n, budget = operator.shape[0], operator.base.engine.memory
    if method == "nystrom" or (method == "dense" and n > MOST_DENSE):  # which refuses it itself
        return
    needed = dense_bytes(n) if method == "dense" else exact_bytes(operator, count)
    allowed = budget if budget is not None else machine_bytes()
    if needed <= allowed:
        return
    raise NotEnoughMemory(
        f"{method!r} for {count} axes of {n} points takes {readable(needed)}, and "
        f"{readable(allowed)} may be used: {smaller(operator, count, method, allowed)}"
    )


def smaller(operator: Operator, count: int, method: str, allowed: int) -> str:
    """Return in words the largest computation that fits."""
    n = operator.shape[0]
    if method == "dense" and (needed := exact_bytes(operator, count)) <= allowed:
        return f"method='exact' takes {readable(needed)}"
    rank = min(n, (allowed // 8) // n - 8) if n else 0
    while rank > 0 and approximate_bytes(n, rank) > allowed:
        rank -= max(1, rank // 50)
    if rank >= 1:
        return (
            f"method='nystrom' with landmarks={rank} takes {readable(approximate_bytes(n, rank))}"
        )
    return "use fewer points"


def machine_bytes() -> int:
    """Return the memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def readable(count: int) -> str:
    """Return a number of bytes as a person would say it.

    >>> readable(3_200_000_000), readable(45_000)
    ('3.2 GB', '45 kB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
