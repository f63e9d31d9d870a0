r"""The system of the representer theorem with a weight for every observation.

.. math:: \begin{pmatrix} S K S + \gamma I & S Q \\ Q^* S & 0 \end{pmatrix}
    \begin{pmatrix} \beta \\ \eta \end{pmatrix} = \begin{pmatrix} S b \\ 0 \end{pmatrix},
    \qquad \alpha = S \beta, \quad S = \mathrm{diag}(s)

Squared loss is one such system, with s the square roots of the weights; other losses are a few of
them. The weights are sought in the space orthogonal to SQ, where the matrix is positive definite.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from mercer.check import TINY, UNIT, Array
from mercer.engines.held import to_host
from mercer.engines.lapack import factor_in_place
from mercer.errors import SingularSystem
from mercer.gram import Gram, columns, lower_triangle
from mercer.kernels.base import Kind
from mercer.kernels.statements import gamma
from mercer.lowrank import nystrom
from mercer.settings import FIXED
from mercer.solve.limits import Limits
from mercer.solve.steps import (
    Map,
    Reflections,
    cholesky_factor,
    conjugate_gradients,
    solve_single,
)

LANDMARKS = 500
"""Rank of the preconditioner of larger systems."""

RESIDUAL_ROUNDING = 16 * float(np.finfo(float).eps)
"""Smallest residual that is asked for, as a share of a right side: reflections round by as much."""

NOTHING = 1e-12
"""Part outside the null space, as a share of a right side, that is rounding."""

SINGLE_WORTH = 4.0
"""How many times as fast as in double precision passes must be for steps to be made of them."""

SINGLE_REDUCTION, SINGLE_STEPS = 1e-4, 100
"""By how much such steps lower a residual before it is computed anew, and how many they may be."""

Inner = Callable[[Array, Array, bool], tuple[Array, int]]
"""From right sides and the residuals allowed to β, and how many steps it took.

The steps may be made of products in single precision.
"""


@dataclass(frozen=True)
class SaddleSolution:
    """Weights α and η, the product Kα, and the largest residual as a share of its right side."""

    weights: Array
    null_weights: Array
    images: Array
    residual: float
    iterations: int
    method: str


class Saddle:
    """The systems of one Gram matrix and one null space, for any weights and shift.

    Small matrices are stored and factored (``"direct"``). Larger ones are solved by conjugate
    gradients, whose products are in double precision and need no memory; the preconditioner is a
    Cholesky factor in single precision (``"single"``), or beyond ``limits.single`` points a
    low-rank inverse (``"low-rank"``). Of an engine whose products in single precision are much
    faster, those of the steps are; residuals are in double precision always, and so are the steps
    where the others do not lower them.

    >>> from mercer import Gaussian
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> saddle = Saddle(Gram(Gaussian(1.0), x), np.ones((3, 1)))
    >>> answer = saddle.solve(np.ones(3), 0.1, np.array([[1.0], [0.0], [1.0]]))
    >>> answer.residual < 1e-14, bool(abs(answer.weights.sum()) < 1e-14)
    (True, True)
    """

    limits: ClassVar[Limits] = Limits()

    def __init__(
        self,
        gram: Gram,
        null_space: Array,
        *,
        method: str = "auto",
        tol: float = 1e-10,
        seed: int = FIXED,
    ) -> None:
        n = gram.shape[0]
        self.gram, self.Q, self.tol, self.seed = gram, null_space, tol, seed
        if gram.kernel.kind is Kind.CONDITIONAL and not self._holds_constants():
            raise SingularSystem(
                f"{gram.kernel} is conditionally positive definite: give a null space that holds "
                "the constants"
            )
        limits = self.limits
        sized = "direct" if n <= limits.direct else "single" if n <= limits.single else "low-rank"
        self.method = sized if method == "auto" else method

    def _holds_constants(self) -> bool:
        if self.Q.shape[1] == 0:
            return False
        ones = np.ones(len(self.Q))
        nearest = self.Q @ np.linalg.lstsq(self.Q, ones, rcond=None)[0]
        return bool(np.linalg.norm(ones - nearest) <= 1e-8 * np.linalg.norm(ones))

    @cached_property
    def K(self) -> Array:  # noqa: N802  (the texts' name of the matrix)
        """The whole matrix."""
        return self.gram.dense()

    @cached_property
    def near(self) -> Gram:
        """A positive definite matrix that is K on the space orthogonal to the null space."""
        gram = self.gram
        if gram.kernel.kind is not Kind.CONDITIONAL:
            return gram
        # Features seen from one of the points: the same form where weights sum to zero.
        centred = gram.kernel.centred(gram.x[:1])
        return Gram(centred, gram.x, engine=gram.engine, tile=gram.tile)

    @cached_property
    def factor(self) -> Array:
        """F with FF* near K, for the preconditioner of large systems."""
        return to_host(self.held_factor)

    @cached_property
    def held_factor(self) -> Any:
        """The same where the engine computes with it."""
        is_complex = np.issubdtype(self.gram.cut().dtype, np.complexfloating)
        landmarks = "kmeans" if columns(self.gram.x) and not is_complex else "pivoted"
        rank = max(1, min(LANDMARKS, self.gram.shape[0] // 4))
        return nystrom(
            self.near, rank, landmarks=landmarks, random_state=self.seed, is_held=True
        ).factor

    def product(self, block: Array) -> Array:
        """Return K times a block of vectors."""
        return np.asarray(self.K @ block) if self.method == "direct" else self.gram.product(block)

    def product_error(self, block: Array) -> Array:
        """Bound the error of each entry of `product`: of the kernel's values, and of their sums."""
        sums = np.sum(np.abs(block), axis=0)
        if self.method != "direct":
            return np.broadcast_to(entry_error(self.gram) * sums, block.shape)
        known, unit = self.gram.entry_rounding(), 4 * UNIT if np.iscomplexobj(self.K) else UNIT
        within = np.abs(self.K) @ np.abs(block)
        return np.asarray(known.entry * sums + gamma(len(block), unit) * within)

    def solve(self, s: Array, shift: float, b: Array) -> SaddleSolution:
        """Solve for a block of right sides, with the square roots s of the weights."""
        return self.solver(s, shift)(b)

    def solver(self, s: Array, shift: float) -> Callable[..., SaddleSolution]:
        """Return the function that solves for blocks of right sides, the matrix factored once.

        An iteration ends when the residuals, computed anew, are at most ``tol`` of the parts of
        the right sides outside the null space, or as long as a second argument allows, or rounding
        lets them fall no more.
        """
        S, reflections = s[:, None], Reflections(s[:, None] * self.Q)
        prepare = self._direct if self.method == "direct" else self._iterative
        inner = prepare(S, shift, reflections)

        def remaining(rhs: Array, beta: Array) -> tuple[Array, Array]:
            images = self.product(S * beta)
            return images, reflections.forth(rhs - S * images - shift * beta)

        def solved(b: Array, allowed: Array | None = None) -> SaddleSolution:
            rhs, m = S * b, reflections.count
            whole = np.maximum(np.linalg.norm(rhs, axis=0), TINY)
            size = np.linalg.norm(reflections.forth(rhs)[m:], axis=0)
            size = np.where(size > NOTHING * whole, size, whole)
            asked = self.tol * size if allowed is None else allowed
            goal = np.maximum(asked, RESIDUAL_ROUNDING * whole)
            is_single = self._has_fast_singles
            beta, iterations = inner(rhs, goal, is_single)
            largest = np.max(np.abs(beta), axis=0, initial=0.0)
            if not np.all(np.isfinite(largest)) or np.any((largest < TINY) & (size > TINY)):
                raise SingularSystem(
                    f"the weights for a right side of size {float(whole.max()):.3g} leave the "
                    f"range of double precision under {self.gram.kernel}: give the right side, "
                    "or the kernel, in another unit"
                )
            images, left = remaining(rhs, beta)
            reached = np.linalg.norm(left[m:], axis=0)
            while self.method != "direct" and np.any(reached > goal):
                # The recurrence drifts from the true residual: go on from the latter.
                correction, more = inner(reflections.back(left), goal, is_single)
                new_images, new_left = remaining(rhs, beta + correction)
                iterations += more
                now = np.linalg.norm(new_left[m:], axis=0)
                has_stalled = float(np.max(now / goal)) > 0.5 * float(np.max(reached / goal))
                if float(np.max(now / goal)) < float(np.max(reached / goal)):
                    beta, images, left, reached = beta + correction, new_images, new_left, now
                if has_stalled and not is_single:
                    break
                is_single = is_single and not has_stalled
            eta = solve_triangular(reflections.triangle, left[:m])
            share = float(np.max(reached / size, initial=0.0))
            return SaddleSolution(S * beta, np.asarray(eta), images, share, iterations, self.method)

        return solved

    def inner(self, s: Array) -> tuple[Array, Reflections]:
        """Return SKS in the space orthogonal to SQ, and the reflections that lead there."""
        reflections = Reflections(s[:, None] * self.Q)
        return reflections.inner(s[:, None] * self.K * s), reflections

    def _direct(self, S: Array, shift: float, reflections: Reflections) -> Inner:
        with np.errstate(over="ignore", invalid="ignore"):  # which the factor looks for
            A = reflections.inner(_promoted(S * self.K * S.T, self.Q))
        A[np.diag_indices_from(A)] += shift
        factor, m = cholesky_factor(A), reflections.count

        def inner(rhs: Array, goal: Array, is_single: bool) -> tuple[Array, int]:
            inside = cho_solve(factor, reflections.forth(rhs)[m:])
            return reflections.back(np.vstack([np.zeros((m, rhs.shape[1])), inside])), 0

        return inner

    def _iterative(self, S: Array, shift: float, reflections: Reflections) -> Inner:
        if shift <= 0:
            raise SingularSystem(
                "an iterative solution needs a shift or penalty > 0: interpolation of this many "
                "points is a singular problem in double precision"
            )
        inverse = self._single(S, shift) if self.method == "single" else self._low_rank(S, shift)
        basis = S * self.Q
        images = inverse(basis)
        small = basis.conj().T @ images

        def precondition(v: Array) -> Array:
            # The inverse of the whole saddle matrix, not only of its first block.
            image = inverse(v)
            outside = np.linalg.solve(small, basis.conj().T @ image)
            return reflections.inside(image - images @ outside)

        def multiply(v: Array, single: bool = False) -> Array:
            image = self.gram.product(S * v, single=single)
            return reflections.inside(S * image + shift * v)

        def inner(rhs: Array, goal: Array, is_single: bool) -> tuple[Array, int]:
            rhs = reflections.inside(rhs)
            with self.gram.engine.session():
                if is_single:
                    near = np.maximum(goal, SINGLE_REDUCTION * np.linalg.norm(rhs, axis=0))
                    quick = partial(multiply, single=True)
                    with suppress(SingularSystem):  # as single precision sees it
                        return conjugate_gradients(quick, precondition, rhs, near, SINGLE_STEPS)
                return conjugate_gradients(
                    multiply, precondition, rhs, goal, self.limits.iterations
                )

        return inner

    @property
    def _has_fast_singles(self) -> bool:
        """Whether steps are made of products in single precision."""
        gram = self.gram
        is_worth = self.method == "low-rank" and gram.engine.single_gain >= SINGLE_WORTH
        return is_worth and bool(np.isfinite(gram.entry_rounding(single=True).product))

    def _single(self, S: Array, shift: float) -> Map:
        """Return the inverse of SKS + γI by a factor in single precision."""
        gram = self.near
        if np.issubdtype(gram.cut().dtype, np.complexfloating):
            return self._low_rank(S, shift)
        raised = shift
        while True:
            factor = lower_triangle(gram, S[:, 0], single=True)
            factor[np.diag_indices_from(factor)] += np.float32(raised)
            if factor_in_place(factor):
                break
            # A larger shift makes a worse preconditioner, but always one.
            raised = max(10.0 * raised, 1e-6 * float(np.mean(S[:, 0] ** 2 * gram.diag())))

        def inverse(v: Array) -> Array:
            # Scaled to about 1, for the squares of smaller numbers vanish in single precision.
            size = np.maximum(np.max(np.abs(v), axis=0, initial=0.0), TINY)
            solution = solve_single(factor, (v / size).astype(np.float32))
            return np.asarray(size * solution.astype(np.float64))

        return inverse

    def _low_rank(self, S: Array, shift: float) -> Map:
        """Return the inverse of S FF* S + γI."""
        F = S * (self.factor if "factor" in vars(self) else self.held_factor)
        small = cho_factor(F.conj().T @ F + shift * np.eye(F.shape[1]))
        return lambda v: to_host((v - F @ cho_solve(small, F.conj().T @ v)) / shift)


def entry_error(gram: Gram) -> float:
    """Bound the error of an entry of Kα for weights of sum 1, in whichever order it is added up.

    >>> from mercer import Linear
    >>> entry_error(Gram(Linear(), [[1.0], [2.0]])) < 1e-14
    True
    """
    known, tiles = gram.entry_rounding(), gram.cut()
    terms = gram.shape[0] if tiles.factors is None else gram.shape[0] + tiles.factors.width
    unit = 4 * UNIT if np.issubdtype(tiles.dtype, np.complexfloating) else UNIT
    return min(known.product, known.entry + gamma(terms + 1, unit) * known.value)


def _promoted(A: Array, Q: Array) -> Array:
    """Return a matrix in a type that can hold its products with the null space."""
    return A.astype(np.result_type(A, Q), copy=False)


@dataclass(frozen=True)
class Explained:
    r"""The weights a that predict g(x) from observations, with the least error.

    .. math:: \min_a\; k(x, x) - 2 a^\top k_x + a^\top (K + \gamma S^{-2}) a, \qquad Q^\top a = q_x

    They solve the saddle system of the observations. The minimum is the variance of g(x) given
    them; a residual r of the system (in units of the weights) changes it by its square only, and
    never downwards:

    .. math:: 0 \le r^\top (S K S + \gamma I)^{-1} r \le \|r\|^2 / \gamma

    so that an iteration for variances may end where this is ``Limits.accuracy`` of k(x, x).

    >>> from mercer.kernels import Delta
    >>> from mercer import Gram
    >>> saddle = Saddle(Gram(Delta(), [0, 1]), np.ones((2, 1)))
    >>> of = Explained(saddle, np.ones(2), 1.0)
    >>> of.variances(np.ones(1), np.array([[1.0], [0.0]]), np.ones((1, 1)))
    array([0.75])
    """

    saddle: Saddle
    s: Array
    shift: float

    @property
    def count(self) -> int:
        """How many new points to take at a time."""
        return max(1, self.saddle.limits.at_once // len(self.s))

    @cached_property
    def _solve(self) -> Callable[..., SaddleSolution]:
        return self.saddle.solver(self.s, self.shift)

    def weights(self, k: Array, q: Array, allowed: Array | None = None) -> tuple[Array, Array]:
        """Return a and (K + γS⁻²)a for columns k_x and q_x, with residuals as long as allowed."""
        ridge = self.shift / self.s[:, None] ** 2
        if not len(q):
            answer = self._solve(k, allowed)
            return answer.weights, answer.images + ridge * answer.weights
        # Some weights that reproduce the functions of the null space, and the best from there.
        a = np.linalg.lstsq(self.saddle.Q.T, q, rcond=None)[0]
        image = self.saddle.product(a) + ridge * a
        answer = self._solve(k - image, allowed)
        return a + answer.weights, image + answer.images + ridge * answer.weights

    def variances(self, own: Array, k: Array, q: Array) -> Array:
        """Return the least errors, from k(x, x) and the columns of k_x and q_x."""
        accuracy = self.saddle.limits.accuracy
        allowed = np.sqrt(accuracy * self.shift * np.abs(own)) if np.all(own) else None
        a, image = self.weights(k, q, allowed)
        return np.asarray(own + np.sum(a * (image - 2.0 * k), axis=0))
