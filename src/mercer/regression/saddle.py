r"""The system of the representer theorem with a weight for every observation.

.. math:: \begin{pmatrix} S K S + \gamma I & S Q \\ Q^\top S & 0 \end{pmatrix}
    \begin{pmatrix} \beta \\ \eta \end{pmatrix} = \begin{pmatrix} S b \\ 0 \end{pmatrix},
    \qquad \alpha = S \beta, \quad S = \mathrm{diag}(s)

Squared loss is one such system, with s the square roots of the weights; other losses are a few of
them. The weights are sought in the space orthogonal to SQ, where the matrix is positive definite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack, qr, solve_triangular

from mercer.check import Array, InvalidInput
from mercer.gram import Gram
from mercer.gram import columns as width
from mercer.kernels.base import Kind
from mercer.lowrank import nystrom
from mercer.solve import DIRECT, LANDMARKS, SingularSystem

SINGLE = 16_000
"""Up to this size (1 GB) a factor in single precision is stored as a preconditioner."""

ITERATIONS = 1_000

Map = Callable[[Array], Array]
Inner = Callable[[Array], tuple[Array, int]]


@dataclass(frozen=True)
class Answer:
    """Weights α and η, the product Kα, and the residual as a share of the right side."""

    weights: Array
    null_weights: Array
    images: Array
    residual: float
    iterations: int
    method: str


class Reflections:
    """The orthogonal matrix H of Householder reflections that takes m columns to a triangle.

    >>> Q = np.array([[3.0], [4.0], [0.0]])
    >>> np.round(Reflections(Q).forth(Q), 12)
    array([[-5.], [ 0.], [ 0.]])
    """

    def __init__(self, Q: Array) -> None:
        self.count = Q.shape[1]
        if self.count >= len(Q):
            raise SingularSystem(
                f"a null space of {self.count} functions needs more than n_samples = {len(Q)}"
            )
        _, pivoted, _ = qr(Q, mode="economic", pivoting=True)
        sizes = np.abs(np.diag(pivoted))
        if self.count and sizes[-1] <= len(Q) * np.finfo(float).eps * sizes[0]:
            raise SingularSystem(
                "the functions of the null space are linearly dependent on these points: leave one "
                "out"
            )
        (raw, self.scales), self.triangle = qr(Q, mode="raw")
        self.vectors = np.tril(raw, -1)[:, : self.count]
        self.vectors[np.diag_indices(self.count)] = 1.0
        self.triangle = self.triangle[: self.count]

    def forth(self, b: Array) -> Array:
        """Return Hᵀb."""
        result = np.array(b)
        for v, scale in zip(self.vectors.T, self.scales, strict=True):
            result -= np.multiply.outer(scale * v, v @ result)
        return result

    def back(self, b: Array) -> Array:
        """Return Hb."""
        result = np.array(b)
        for v, scale in zip(self.vectors.T[::-1], self.scales[::-1], strict=True):
            result -= np.multiply.outer(scale * v, v @ result)
        return result

    def inner(self, A: Array) -> Array:
        """Return the part of HᵀAH in the space orthogonal to the columns, using A's memory."""
        for v, scale in zip(self.vectors.T, self.scales, strict=True):
            image = scale * (A @ v)
            # (I - τvvᵀ) A (I - τvvᵀ) = A - v uᵀ - u vᵀ with u = τAv - (τ/2)(vᵀτAv) v.
            u = image - 0.5 * scale * (v @ image) * v
            A -= np.multiply.outer(v, u)
            A -= np.multiply.outer(u, v)
        return A[self.count :, self.count :]


class Saddle:
    """The systems of one Gram matrix and one null space, for any weights and shift.

    Small matrices are stored and factored. Larger ones are solved by conjugate gradients, whose
    products are in double precision and need no memory; the preconditioner is a Cholesky factor in
    single precision, or beyond `SINGLE` a low-rank inverse.

    >>> from mercer import Gaussian
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> saddle = Saddle(Gram(Gaussian(1.0), x), np.ones((3, 1)))
    >>> answer = saddle.solve(np.ones(3), 0.1, np.array([[1.0], [0.0], [1.0]]))
    >>> answer.residual < 1e-14, bool(abs(answer.weights.sum()) < 1e-14)
    (True, True)
    """

    def __init__(
        self, gram: Gram, null_space: Array, *, method: str = "auto", tol: float = 1e-10
    ) -> None:
        n = gram.shape[0]
        if gram.kernel.kind is Kind.CONDITIONAL and null_space.shape[1] == 0:
            raise SingularSystem(
                f"{gram.kernel} is conditionally positive definite: give a null space that holds "
                "the constants"
            )
        if np.issubdtype(gram.cut().dtype, np.complexfloating):
            raise InvalidInput(f"regression is on real kernels, and {gram.kernel} is complex")
        self.gram, self.Q, self.tol = gram, null_space, tol
        sized = "direct" if n <= DIRECT else "single" if n <= SINGLE else "low-rank"
        self.method = sized if method == "auto" else method

    @cached_property
    def K(self) -> Array:  # noqa: N802  (the texts' name of the matrix)
        """The whole matrix."""
        return self.gram.dense()

    @cached_property
    def factor(self) -> Array:
        """F with FFᵀ near K, for the preconditioner of large systems."""
        landmarks = "kmeans" if width(self.gram.x) else "pivoted"
        rank = max(1, min(LANDMARKS, self.gram.shape[0] // 4))
        return nystrom(self.gram, rank, landmarks=landmarks).factor

    def product(self, block: Array) -> Array:
        """Return K times a block of vectors."""
        return np.asarray(self.K @ block) if self.method == "direct" else self.gram.product(block)

    def solve(self, s: Array, shift: float, b: Array) -> Answer:
        """Solve for a block of right sides, with the square roots s of the weights."""
        return self.solver(s, shift)(b)

    def solver(self, s: Array, shift: float) -> Callable[[Array], Answer]:
        """Return the function that solves for blocks of right sides, the matrix factored once."""
        S, reflections = s[:, None], Reflections(s[:, None] * self.Q)
        prepare = self._direct if self.method == "direct" else self._iterative
        inner = prepare(S, shift, reflections)

        def solved(b: Array) -> Answer:
            rhs = S * b
            beta, iterations = inner(rhs)
            images = self.product(S * beta)
            left = rhs - S * images - shift * beta
            top = reflections.forth(left)
            eta = solve_triangular(reflections.triangle, top[: reflections.count])
            size = max(float(np.linalg.norm(rhs)), float(np.finfo(float).tiny))
            residual = float(np.linalg.norm(top[reflections.count :])) / size
            return Answer(S * beta, np.asarray(eta), images, residual, iterations, self.method)

        return solved

    def inner(self, s: Array) -> tuple[Array, Reflections]:
        """Return SKS in the space orthogonal to SQ, and the reflections that lead there."""
        reflections = Reflections(s[:, None] * self.Q)
        return reflections.inner(s[:, None] * self.K * s), reflections

    def _direct(self, S: Array, shift: float, reflections: Reflections) -> Inner:
        A = reflections.inner(S * self.K * S.T)
        A[np.diag_indices_from(A)] += shift
        factor, m = _factored(A), reflections.count

        def inner(rhs: Array) -> tuple[Array, int]:
            inside = cho_solve(factor, reflections.forth(rhs)[m:])
            return reflections.back(np.vstack([np.zeros((m, rhs.shape[1])), inside])), 0

        return inner

    def _iterative(self, S: Array, shift: float, reflections: Reflections) -> Inner:
        if shift <= 0:
            raise SingularSystem(
                "this many points need a penalty > 0: interpolating them is a singular problem in "
                "double precision"
            )
        inverse = self._single(S, shift) if self.method == "single" else self._low_rank(S, shift)
        columns = S * self.Q
        images = inverse(columns)
        small = columns.T @ images

        def project(v: Array) -> Array:
            inside = reflections.forth(v)
            inside[: reflections.count] = 0.0
            return reflections.back(inside)

        def precondition(v: Array) -> Array:
            # The inverse of the whole saddle matrix, not only of its first block.
            image = inverse(v)
            return project(image - images @ np.linalg.solve(small, columns.T @ image))

        def multiply(v: Array) -> Array:
            return project(S * self.gram.product(S * v) + shift * v)

        return lambda rhs: conjugate_gradients(multiply, precondition, project(rhs), self.tol)

    def _single(self, S: Array, shift: float) -> Map:
        """Return the inverse of SKS + γI by a factor in single precision."""
        s = S[:, 0].astype(np.float32)
        raised = shift
        while True:
            A = np.empty(self.gram.shape, np.float32)
            for block, values in self.gram.engine.each(self.gram.cut(single=True)):
                # Rows of the upper triangle, which LAPACK reads as columns of the lower one.
                A[block.rows, block.columns] = s[block.rows, None] * values * s[block.columns]
            A[np.diag_indices_from(A)] += np.float32(raised)
            factor, failed = lapack.spotrf(A.T, lower=1, clean=0, overwrite_a=1)
            if not failed:
                break
            # A larger shift makes a worse preconditioner, but always one.
            raised = max(10.0 * raised, 1e-6 * float(np.mean(S[:, 0] ** 2 * self.gram.diag())))

        def inverse(v: Array) -> Array:
            solution, _ = lapack.spotrs(factor, v.astype(np.float32), lower=1)
            return np.asarray(solution, np.float64)

        return inverse

    def _low_rank(self, S: Array, shift: float) -> Map:
        """Return the inverse of S FFᵀ S + γI."""
        F = S * self.factor
        small = cho_factor(F.T @ F + shift * np.eye(F.shape[1]))
        return lambda v: np.asarray((v - F @ cho_solve(small, F.T @ v)) / shift)


def conjugate_gradients(multiply: Map, inverse: Map, rhs: Array, tol: float) -> tuple[Array, int]:
    """Solve for several right sides at once, each until its residual is below ``tol`` of it."""
    x, r = np.zeros_like(rhs), np.array(rhs)
    goal = tol * np.maximum(np.linalg.norm(rhs, axis=0), np.finfo(float).tiny)
    z = inverse(r)
    p, rz = z, _dots(r, z)
    for iteration in range(1, ITERATIONS + 1):
        image = multiply(p)
        curvature = _dots(p, image)
        step = np.where(curvature > 0, rz / np.where(curvature > 0, curvature, 1.0), 0.0)
        x, r = x + p * step, r - image * step
        if np.all(np.linalg.norm(r, axis=0) <= goal):
            return x, iteration
        # Polak and Ribière's form tolerates an inverse that is rounded to single precision.
        following = inverse(r)
        turn = np.maximum(_dots(r, following - z) / np.where(rz > 0, rz, 1.0), 0.0)
        p, rz, z = following + p * turn, _dots(r, following), following
    left = float(np.max(np.linalg.norm(r, axis=0) / goal)) * tol
    raise SingularSystem(
        f"{ITERATIONS} iterations left a residual of {left:.2g} of the right side, above {tol:g}; "
        "take a larger penalty"
    )


def _dots(a: Array, b: Array) -> Array:
    dots: Array = np.einsum("ij,ij->j", a, b)
    return dots


def _factored(A: Array) -> tuple[Array, bool]:
    try:
        factor, lower = cho_factor(A, lower=True)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(A)[0])
        raise SingularSystem(
            "the matrix is not positive definite to working precision (smallest eigenvalue "
            f"{smallest:.3g}): points repeat, the kernel is very smooth or it is not positive "
            "definite. Take a larger penalty"
        ) from None
    return np.asarray(factor), bool(lower)
