"""What Ritz pairs prove of an operator, with the bounds it offers for what they leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_UP, Context

import numpy as np

from mercer.certificate import (
    Certificate,
    Complement,
    certify,
    frobenius_complement,
    trace_complement,
)
from mercer.display import warn
from mercer.engines.held import to_host
from mercer.engines.lapack import run_interruptibly
from mercer.errors import RoundingLimit
from mercer.iteration import TINY, Iteration
from mercer.operators import Operator
from mercer.spectrum.axes_and_signs import (
    KernelOperator,
)
from mercer.spectrum.dense import outside


def prove_axes(
    operator: Operator,
    state: Iteration,
    count: int,
    others: Sequence[Complement] = (),
    *,
    block: int,
    is_complete: bool = False,
) -> Certificate:
    """Prove what can be proved of Ritz values, by every bound on what they leave out.

    ``others`` are bounds besides those of the operator itself. A complete proof rests on Cholesky's
    factors alone where they exist, and on no probability.
    """
    # Q is orthonormal up to rounding: the nearest basis that is has images that differ by this.
    Q = state.vectors
    defect = float(np.linalg.norm(Q.conj().T @ Q - np.eye(Q.shape[1])))
    tilt = 2.0 * defect * float(np.max(np.abs(state.values)))
    complements = []
    if operator.square_sum_is_known:
        error = operator.square_sum_error
        complements.append(
            frobenius_complement(
                operator.square_sum, state.images, state.values, state.noise, error
            )
        )
    whole = factored_complement(operator, state, count, block, tilt) if is_complete else None
    is_proved = whole is not None and np.isfinite(whole.tau)
    complements.extend([whole] if whole is not None and is_proved else others)
    residuals = state.residuals
    coupling = Q.conj().T @ residuals
    return certify(state.values, residuals, state.noise + tilt, count, complements, coupling)


def trace_bound(operator: Operator, state: Iteration, rounding: float, why: str) -> Complement:
    """Return what the trace leaves for other eigenvalues, none of which is negative."""
    rounding += float(state.noise.sum())
    return trace_complement(operator.trace, state.values, rounding, f"positive semidefinite {why}")


def factored_complement(
    operator: Operator, state: Iteration, count: int, most: int, tilt: float
) -> Complement:
    r"""Return what Cholesky's factors of :math:`\sigma I - K + Q\Theta Q^*` prove, ∞ if they fail.

    σ is in the widest gap among the values after the first ``count``. No probability and no
    assumption is in it, but n² numbers and n³/3 operations.
    """
    gaps = -np.diff(state.values[count - 1 : most])
    pairs = count + int(np.argmax(gaps)) if len(gaps) else count
    if pairs >= len(state.values):
        return Complement(np.inf, "Cholesky's factors")
    V, n = to_host(state.vectors[:, :pairs]), operator.shape[0]
    tau = run_interruptibly(lambda: outside(operator.dense(), V, state.values), n)
    return Complement(
        tau + operator.dense_rounding() + tilt, "Cholesky's factors", "none", 0.0, pairs
    )


def complete_bytes(n: int) -> int:
    """Return the memory of a proof by Cholesky's factors: the matrix, the shifted one, one tile."""
    return 24 * n * n


def remark_rounding(
    operator: KernelOperator, state: Iteration, proof: Certificate, tol: float
) -> Certificate:
    """Say where rounding, not the iteration, limits the residual, of which its bound is a part.

    Users are warned where the residual itself shows it; a bound that may never be reached is told
    by the certificate alone.
    """
    count = len(proof.lower)
    sizes = np.linalg.norm(state.residuals[:, :count], axis=0) + state.noise[:count]
    reached = float(np.max(sizes)) / max(float(state.values[0]), TINY)
    if reached <= tol or state.values[0] <= operator.threshold:
        return proof
    if state.history[-1] > tol:
        warn(
            "rounding limits the accuracy in double precision: the residual is "
            f"{state.history[-1]:.2g} of the largest eigenvalue, above tol = {tol:g}. The "
            "intervals are valid; centre or rescale the data to narrow them",
            RoundingLimit,
        )
    limit = f"residuals at most {_rounded_up(reached):.2g} of the largest value"
    return replace(proof, rounding=f"{proof.rounding}; {limit}")


def _rounded_up(bound: float) -> float:
    """Return a bound in two digits that still is one.

    >>> _rounded_up(1.5248e-10), _rounded_up(2.0)
    (1.6e-10, 2.0)
    """
    return float(Context(prec=2, rounding=ROUND_UP).create_decimal(bound))
