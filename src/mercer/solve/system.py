"""One system (K + γI)α + Qη = b with Q*α = 0, and how good its solution is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from mercer.check import Array, InvalidInput, InvalidParameter, nonnegative, number
from mercer.gram import Gram
from mercer.solve.saddle import TINY, Saddle

METHODS = {"auto": "auto", "direct": "direct", "iterative": "low-rank"}
"""What is asked for, and what it is called where it is done."""


class ToleranceNotMet(UserWarning):
    """An iterative solution whose true residual rounding keeps above the tolerance asked for."""


@dataclass(frozen=True)
class Solution:
    r"""A solution of (K + γI)α + Qη = b with Q*α = 0, and how good it is.

    ``backward_error`` bounds the smallest relative change of the system that the computed solution
    solves exactly,

    .. math:: \frac{\|b - (K + \gamma I)\alpha - Q\eta\|}{(\|K\| + \gamma)\|\alpha\| + \|b\|}

    with the largest norm for K that its diagonal and the products made have shown: the bound is
    never too small.
    """

    weights: Array
    null_weights: Array
    backward_error: float
    iterations: int
    method: str
    seconds: float


def solve(
    gram: Gram,
    b: Array,
    shift: float = 0.0,
    *,
    null_space: Array | None = None,
    tol: float = 1e-10,
    method: str = "auto",
    random_state: int | None = 0,
) -> Solution:
    r"""Solve the saddle system of the representer theorem.

    .. math:: \begin{pmatrix} K + \gamma I & Q \\ Q^* & 0 \end{pmatrix}
        \begin{pmatrix} \alpha \\ \eta \end{pmatrix} = \begin{pmatrix} b \\ 0 \end{pmatrix}

    Without ``null_space`` (the columns of Q) it is (K + γI)α = b. Conditionally positive definite
    kernels need a null space that holds the constants. The weights are sought in the space
    orthogonal to Q, where the matrix is positive definite, so its condition number is never
    squared (Kroese et al., (6.23), does).

    ``method`` is ``"direct"``, by Cholesky, ``"iterative"``, by conjugate gradients that store no
    matrix, or ``"auto"``, by the size (see `Saddle`). An iteration ends when the residual of its
    solution, computed anew, is at most ``tol`` of the right side. It warns with `ToleranceNotMet`
    when rounding does not let it.

    >>> from mercer import Gaussian
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> solution = solve(Gram(Gaussian(bandwidth=1.0), x), np.array([1.0, 0.0, 1.0]), 0.1)
    >>> solution.backward_error < 1e-15
    True
    """
    begun = perf_counter()
    n = gram.shape[0]
    rhs, is_vector = (b[:, None], True) if np.ndim(b) == 1 else (b, False)
    if rhs.shape[0] != n:
        raise InvalidInput(f"the right side has {rhs.shape[0]} rows for {n} points")
    nonnegative(shift, "shift")
    number(tol, "tol", above=0.0)
    if method not in METHODS:
        raise InvalidParameter(f"method must be one of {', '.join(METHODS)}, found {method!r}")
    Q = _columns(null_space, n)
    saddle = Saddle(gram, Q, method=METHODS[method], tol=tol, random_state=random_state)
    answer = saddle.solve(np.ones(n), shift, rhs)
    if answer.method != "direct" and answer.residual > tol:
        warnings.warn(
            f"rounding keeps the residual at {answer.residual:.2g} of the right side, above tol = "
            f"{tol:g}; take a larger shift or tolerance",
            ToleranceNotMet,
            stacklevel=2,
        )
    alpha, eta = answer.weights, answer.null_weights
    left = rhs - answer.images - shift * alpha - Q @ eta
    size = (_norm(gram, alpha, answer.images) + shift) * np.linalg.norm(alpha, axis=0)
    size = np.maximum(size + np.linalg.norm(rhs, axis=0), TINY)
    return Solution(
        alpha[:, 0] if is_vector else alpha,
        eta[:, 0] if is_vector else eta,
        float(np.max(np.linalg.norm(left, axis=0) / size, initial=0.0)),
        answer.iterations,
        "direct" if answer.method == "direct" else "iterative",
        perf_counter() - begun,
    )


def _columns(null_space: Array | None, n: int) -> Array:
    if null_space is None:
        return np.zeros((n, 0))
    if null_space.ndim != 2 or len(null_space) != n:
        raise InvalidInput(f"the null space must have {n} rows, found shape {null_space.shape}")
    return null_space


def _norm(gram: Gram, block: Array, images: Array) -> float:
    """Return a norm that K has at least.

    Entries of one sign are common, and then the image of the constants is nearly as large as K.
    """
    ones = np.ones((gram.shape[0], 1))
    columns = np.hstack([block, ones])
    lengths = np.linalg.norm(columns, axis=0)
    both = np.linalg.norm(np.hstack([images, gram.product(ones)]), axis=0)
    ratios = both / np.where(lengths > 0, lengths, 1.0)
    return float(np.max(np.append(ratios, np.abs(gram.diag()))))
