"""One system (K + γI)α + Qη = b with Q*α = 0, and how good its solution is."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from time import perf_counter

import numpy as np

from mercer.check import TINY, UNIT, Array
from mercer.display import warn
from mercer.errors import InvalidInput, InvalidParameter, ToleranceNotMet
from mercer.gram import Gram
from mercer.kernels.statements import gamma
from mercer.settings import RandomState, nonnegative, number, seed_of
from mercer.solve.saddle import Saddle, SaddleSolution, entry_error

METHODS = {"auto": "auto", "direct": "direct", "iterative": "low-rank"}
"""Methods by the names that callers use, and those of `Saddle`."""


@dataclass(frozen=True)
class Solution:
    r"""A solution of (K + γI)α + Qη = b with Q*α = 0, and how good it is.

    ``backward_error`` bounds the smallest relative change of the system that the computed solution
    solves exactly, which is the larger of

    .. math:: \frac{\|b - (K + \gamma I)\alpha - Q\eta\|}{(\|K\| + \gamma)\|\alpha\| + \|b\|}
        \qquad\text{and}\qquad \frac{\|Q^*\alpha\|}{\|Q\| \|\alpha\|}

    with the least norm for K that its diagonal and the products made have shown. What rounding can
    have done to the values of the kernel (`Gram.entry_rounding`) and to the residual itself is
    counted, so that the bound is never too small for the matrix of exact values: a backward error
    far above 10⁻¹⁶ may be all that can be proved of a better one.
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
    random_state: RandomState = None,
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
    >>> solution.backward_error < 1e-14
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
    saddle = Saddle(gram, Q, method=METHODS[method], tol=tol, seed=seed_of(random_state))
    answer = saddle.solve(np.ones(n), shift, rhs)
    if answer.method != "direct" and answer.residual > tol:
        warn(
            f"rounding keeps the residual at {answer.residual:.2g} of the right side, above tol = "
            f"{tol:g}; take a larger shift or tolerance",
            ToleranceNotMet,
        )
    alpha, eta = answer.weights, answer.null_weights
    return Solution(
        alpha[:, 0] if is_vector else alpha,
        eta[:, 0] if is_vector else eta,
        _backward_error(saddle, shift, rhs, answer),
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


def _backward_error(saddle: Saddle, shift: float, rhs: Array, answer: SaddleSolution) -> float:
    """Bound the backward error of an answer, for the matrix of exact values.

    Lengths are of columns in units of their largest entry, whose squares are doubles.
    """
    gram, Q, alpha, images = saddle.gram, saddle.Q, answer.weights, answer.images
    unit = np.maximum(np.max(np.abs(alpha), axis=0, initial=0.0), TINY)
    eta, added = answer.null_weights, rhs / unit
    with np.errstate(over="ignore", invalid="ignore"):
        alpha, images, eta = alpha / unit, images / unit, eta / unit
        free = Q @ eta
        left = added - images - shift * alpha - free
        summed = np.abs(added) + np.abs(images) + shift * np.abs(alpha)
        beside = np.abs(Q) @ np.abs(eta)
        unknown = saddle.product_error(alpha) + 4 * UNIT * (summed + beside)
        unknown += gamma(Q.shape[1] + 1, 4 * UNIT) * beside
        sizes = (_norm(gram, alpha, images) + shift) * _lengths(alpha)
        sizes = (1.0 - 1e-12) * (sizes + _lengths(added))
        first = (_lengths(left) + _lengths(unknown)) / np.maximum(sizes, TINY)
        is_known = np.isfinite(sizes) & np.isfinite(first)
    # No change is larger than one that takes the right side and the matrix to zero.
    found = float(np.max(np.where(is_known, first, 1.0), initial=0.0))
    return min(max(found, _feasibility(Q, alpha)), 1.0)


def _feasibility(Q: Array, alpha: Array) -> float:
    """Bound ‖Q*α‖ as a share of the norms, by sums that are rounded once."""
    if not Q.shape[1]:
        return 0.0
    units = np.maximum(np.max(np.abs(Q), axis=0), TINY)
    scaled = Q / units
    norm = (1.0 - 1e-12) * float(np.linalg.norm(scaled, 2))
    worst = 0.0
    for column in alpha.T:
        products = [part for q in scaled.T for part in (q.conj() * column)[None, :]]
        sums = [complex(fsum(p.real), fsum(p.imag)) for p in products]
        length = float(np.linalg.norm(column))
        if length > 0.0:
            size = np.linalg.norm(sums) / length + 4 * UNIT * float(np.linalg.norm(scaled))
            worst = max(worst, float(size) / norm)
    return worst


def _lengths(columns: Array) -> Array:
    """Return the lengths of columns, whatever their unit.

    >>> _lengths(np.array([[3e200], [4e200]]))
    array([5.e+200])
    """
    size = np.max(np.abs(columns), axis=0, initial=0.0)
    unit = np.where((size > 0.0) & np.isfinite(size), size, 1.0)
    return np.asarray(unit * np.linalg.norm(columns / unit, axis=0))


def _norm(gram: Gram, block: Array, images: Array) -> float:
    """Return a norm that K has at least.

    Entries of one sign are common, and then the image of the constants is nearly as large as K.
    """
    known = gram.entry_rounding()
    ones = np.ones((gram.shape[0], 1))
    columns = np.hstack([block, ones])
    lengths = _lengths(columns)
    both = _lengths(np.hstack([images, gram.product(ones)]))
    rounding = np.sqrt(gram.shape[0]) * entry_error(gram)
    both = both - rounding * np.sum(np.abs(columns), axis=0)
    ratios = both / np.where(lengths > 0, lengths, 1.0)
    own = np.abs(gram.diag()) - known.entry
    return float(np.max(np.concatenate([ratios, own, [0.0]])))
