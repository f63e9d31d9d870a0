"""Both ends of the spectrum of a Gram operator that may be indefinite, by a block Krylov space.

A low-rank approximation, from which `mercer.leading` starts, exists for positive operators
only. What distances define after centring need not be one, and how negative it becomes is part of
the answer; a Krylov space finds the largest and the smallest eigenvalues at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.linalg import eigh

from mercer.certificate import certify, frobenius_complement
from mercer.check import Array
from mercer.engines.cpu import engine_in_use
from mercer.errors import NotConverged
from mercer.mds.distances import CentredDistances, ranks
from mercer.spectrum import How, Spectrum, signs
from mercer.spectrum.values import clusters

MOST_VECTORS = 600
"""The basis is not let grow beyond this: a matrix that needs more has no leading axes."""

DEPENDENT = 1e-20
"""A direction whose squared norm falls to this when the basis is removed is rounding."""

ROUNDING = 1e-14
"""And so is one whose squared norm is this share of the largest: it is known no better."""


@dataclass(frozen=True)
class Ends:
    """The leading eigenpairs, and a value that the smallest eigenvalue does not exceed.

    Within ``smallest_error`` of that value there is an eigenvalue.
    """

    leading: Spectrum
    smallest: float
    smallest_error: float


def ends(
    operator: CentredDistances, count: int, *, tol: float, random_state: int | None = 0
) -> Ends:
    r"""Return the largest eigenvalues with residuals within tol of the first, and the smallest.

    .. math:: \mathcal{K} = \operatorname{span}(Q, BQ, B^2 Q, \dots), \quad
        V^\top B V = Y \Theta Y^\top

    The basis V is kept whole and orthonormal, so that nothing found is lost again. Blocks are
    narrow and their products bound by memory: threads share the rows, and BLAS has one.
    """
    with engine_in_use().session():
        return _ends(operator, count, tol, random_state)


def _ends(operator: CentredDistances, count: int, tol: float, random_state: int | None) -> Ends:
    begun = perf_counter()
    n = operator.shape[0]
    block = min(count + max(2, count // 5), n)
    drawn = np.random.default_rng(random_state).standard_normal((n, block))
    start = drawn[ranks(operator.mean_rows)]
    basis = np.empty((n, 0))
    images = np.empty((n, 0))
    fresh = _orthonormal(operator.roots * start, basis)
    small = np.empty((0, 0))
    history: list[float] = []
    floor = operator.rounding()
    while True:
        new = operator.product(fresh)
        small = _bordered(small, basis, fresh, new)
        basis, images = np.hstack([basis, fresh]), np.hstack([images, new])
        values, axes = eigh(small)
        top = axes[:, ::-1][:, :count]
        vectors, products = basis @ top, images @ top
        residuals = products - vectors * values[::-1][:count]
        worst = float(np.max(np.linalg.norm(residuals, axis=0)))
        size = max(float(np.max(np.abs(values))), float(np.finfo(float).tiny))
        history.append(worst / size)
        fresh = _orthonormal(new, basis)
        if worst <= max(tol * size, floor) or fresh.shape[1] == 0:
            break
        if basis.shape[1] + fresh.shape[1] > MOST_VECTORS:
            raise NotConverged(
                f"the residual is still {history[-1]:.3g} of the largest eigenvalue after "
                f"{len(history)} products; use method='dense', or ask for fewer axes"
            )
    noise = np.full(count, floor)
    lowest = images @ axes[:, 0] - values[0] * (basis @ axes[:, 0])
    error = float(np.linalg.norm(lowest)) + floor
    proof = certify(
        values[::-1][:count],
        residuals,
        noise,
        count,
        [frobenius_complement(operator.square_sum, products, values[::-1][:count], noise)],
        vectors.T @ residuals,
    )
    spectrum = Spectrum(
        values=values[::-1][:count],
        vectors=vectors * signs(_scores(vectors, operator)),
        certificate=proof,
        trace=operator.trace,
        threshold=operator.threshold,
        rank=None,
        negative_mass=None,
        psd=_verdict(float(values[0]), max(error, operator.threshold)),
        how=How(
            "block Krylov on panels",
            double_passes=len(history),
            seconds=perf_counter() - begun,
            random_state=random_state,
            history=tuple(history),
        ),
        clusters=clusters(values[::-1], float(proof.errors.max()), count),
    )
    return Ends(spectrum, float(values[0]), error)


def _verdict(smallest: float, error: float) -> str:
    return "not positive semidefinite" if smallest < -error else "not verified"


def _scores(vectors: Array, operator: CentredDistances) -> Array:
    active = operator.roots[:, 0] > 0
    scores: Array = vectors[active] / operator.roots[active]
    return scores


def _bordered(small: Array, basis: Array, fresh: Array, new: Array) -> Array:
    """Return V'BV with the rows and columns of the fresh vectors added."""
    corner = fresh.T @ new
    side = basis.T @ new
    return np.block([[small, side], [side.T, 0.5 * (corner + corner.T)]])


def _orthonormal(block: Array, basis: Array) -> Array:
    """Return an orthonormal basis of what a block adds to a basis; what adds nothing falls out.

    By the eigenvectors of the block's own Gram matrix, in products only; the second round repairs
    what the squared condition number of the first has lost.
    """
    norms = np.linalg.norm(block, axis=0)
    block = block[:, norms > 0] / norms[norms > 0]
    for _ in range(2):
        block = block - basis @ (basis.T @ block)
        squares = block.T @ block
        values, axes = eigh(squares) if squares.size else (np.zeros(0), squares)
        kept = values > max(DEPENDENT, ROUNDING * values.max(initial=0.0))
        block = block @ (axes[:, kept] / np.sqrt(values[kept]))
    return block
