"""What Ritz pairs prove of an operator, with the bounds it offers for what they leave out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.certificate import (
    Certificate,
    Complement,
    certify,
    frobenius_complement,
    trace_complement,
)
from mercer.davidson import Iteration
from mercer.engines.held import to_host
from mercer.engines.lapack import run_interruptibly
from mercer.operators import Operator
from mercer.spectrum.dense import outside


def proved(
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
