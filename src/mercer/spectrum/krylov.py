"""Both ends of the spectrum of an operator that may be indefinite, by a block Krylov space.

A low-rank approximation, from which block Davidson steps start, needs points and a kernel that is
positive. Of stored distances and of tables only products are known, and how negative an eigenvalue
becomes is part of the answer: a Krylov space finds the largest and the smallest at the same time.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np

from mercer.check import Array
from mercer.davidson import orthonormal
from mercer.engines.engine import Engine, combinations, inner_products
from mercer.engines.lapack import eigenpairs
from mercer.errors import Advice, NotConverged
from mercer.iteration import Iteration
from mercer.operators import Operator
from mercer.spectrum.axes_and_signs import (
    How,
    Spectrum,
    around,
    clusters,
    orient_axes,
    ranks,
    rounding_standing,
)
from mercer.spectrum.limits import Limits
from mercer.spectrum.proofs import prove_axes, trace_bound

NOTHING = 1e-20
"""A direction whose squared norm falls to this when the basis is removed is rounding."""

FEWEST_BLOCKS = 4
"""Blocks of the basis that there must be memory for."""

DENSE = Advice("method", "dense")


def krylov(
    operator: Operator,
    count: int,
    tol: float,
    random_state: int | None,
    *,
    is_complete: bool = False,
    most: int = Limits.krylov_vectors,
) -> Spectrum:
    r"""Return the largest eigenvalues with residuals within tol of the first, and the smallest.

    .. math:: \mathcal{K} = \operatorname{span}(Q, AQ, A^2 Q, \dots), \quad
        V^* A V = Y \Theta Y^*

    The basis V is kept whole and orthonormal, so that nothing found is lost again. It
    has at most ``most`` vectors.
    """
    begun = perf_counter()
    with operator.base.engine.session():
        operator.square_sum  # noqa: B018  (one pass, which finds the means as well)
        state, smallest, error = _iterated(operator, count, tol, random_state, most)
        others = []
        if operator.is_positive:
            others.append(trace_bound(operator, state, operator.rounding(), "by construction"))
        proof = prove_axes(
            operator, state, count, others, block=len(state.values), is_complete=is_complete
        )
    psd = "not verified"
    if operator.is_positive:
        psd = "by construction"
    elif smallest < -max(error, operator.threshold):
        psd = "not positive semidefinite"
    return Spectrum(
        values=state.values[:count],
        vectors=orient_axes(state.vectors[:, :count], operator),
        certificate=replace(proof, rounding=rounding_standing(operator)),
        trace=operator.trace,
        threshold=operator.threshold,
        rank=None,
        negative_mass=None,
        psd=psd,
        how=How(
            "block Krylov steps",
            double_passes=state.double_passes,
            seconds=perf_counter() - begun,
            random_state=random_state,
            history=tuple(state.history),
            memory=krylov_bytes(operator.shape[0], count),
        ),
        clusters=clusters(state.values, *around(state.values, proof.errors, count)),
        smallest=smallest,
    )


def _iterated(
    operator: Operator, count: int, tol: float, random_state: int | None, most: int
) -> tuple[Iteration, float, float]:
    """Return Ritz pairs, a value that the smallest eigenvalue does not exceed, and its error."""
    n, engine = operator.shape[0], operator.base.engine
    block, most = width_of(n, count), _most_vectors(operator, count, most)
    drawn = np.random.default_rng(random_state).standard_normal((n, block))
    noise = operator.rounding()
    basis = images = np.empty((n, 0))
    fresh = orthonormal(operator.roots * drawn[ranks(operator.diag())], engine)
    small = np.empty((0, 0))
    history: list[float] = []
    while True:
        new = operator.product(fresh)
        small = _bordered(small, basis, fresh, new, engine)
        basis, images = np.hstack([basis, fresh]), np.hstack([images, new])
        values, axes = eigenpairs(small)
        top = np.ascontiguousarray(axes[:, ::-1][:, :block])
        vectors, products = (combinations(A, top, engine) for A in (basis, images))
        residuals = products - vectors * values[::-1][:block]
        worst = float(np.max(np.linalg.norm(residuals[:, :count], axis=0)))
        size = max(float(np.max(np.abs(values))), float(np.finfo(float).tiny))
        history.append(worst / size)
        fresh = orthonormal(new, engine, basis, NOTHING)
        if worst + noise <= tol * size or worst <= noise or fresh.shape[1] == 0:
            break
        if basis.shape[1] + fresh.shape[1] > most:
            raise NotConverged(
                f"the residual is still {history[-1]:.3g} of the largest eigenvalue after "
                f"{len(history)} products; use {DENSE}, or ask for fewer axes",
                DENSE,
            )
    lowest = images @ axes[:, 0] - values[0] * (basis @ axes[:, 0])
    state = Iteration(values[::-1][:block], vectors, products, np.full(vectors.shape[1], noise))
    state.double_passes, state.history, state.has_converged = len(history), history, True
    return state, float(values[0]), float(np.linalg.norm(lowest)) + noise


def width_of(n: int, count: int) -> int:
    """Return how many vectors are multiplied at once.

    >>> width_of(1000, 10), width_of(11, 10)
    (12, 11)
    """
    return min(count + max(2, count // 5), n)


def krylov_bytes(n: int, count: int) -> int:
    """Return the memory of a basis of few blocks with its images, and the temporaries of a step."""
    return 8 * n * width_of(n, count) * (2 * FEWEST_BLOCKS + 6)


def _most_vectors(operator: Operator, count: int, most: int) -> int:
    """Return the columns that the basis may have in the memory there is."""
    n, budget = operator.shape[0], operator.base.engine.memory
    if budget is None:
        return most
    more = (int(budget) - krylov_bytes(n, count)) // (24 * n)
    return min(most, FEWEST_BLOCKS * width_of(n, count) + more)


def _bordered(small: Array, basis: Array, fresh: Array, new: Array, engine: Engine) -> Array:
    """Return V*AV with the rows and columns of the fresh vectors added."""
    corner = inner_products(fresh, new, engine)
    side = inner_products(basis, new, engine)
    return np.block([[small, side], [side.conj().T, 0.5 * (corner + corner.conj().T)]])
