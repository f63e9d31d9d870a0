"""What a solution is made of: triangles, factors, reflections and conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, blas, cho_factor, cho_solve, lapack, qr

from mercer.check import Array
from mercer.engines.lapack import factor_in_place
from mercer.errors import SingularSystem
from mercer.solve.limits import Limits

FEW = 3
"""Right sides up to which each is solved by itself."""

DEPENDENT = 1e-12
"""Directions whose squared length falls to this share beside the others are rounding."""

Map: TypeAlias = Callable[[Array], Array]


def cholesky_factor(A: Array) -> tuple[Array, bool]:
    """Return Cholesky's factor, or say by how much a matrix is from having one.

    >>> cholesky_factor(np.array([[4.0]]))[0]
    array([[2.]])
    """
    if not np.all(np.isfinite(A)):
        raise SingularSystem(
            "sums of values of the kernel are beyond the largest double, 1.8e308, or no numbers: "
            "give the points, or the kernel, in another unit"
        )
    factor = np.array(A, order="F")
    if not factor_in_place(factor):
        smallest = float(np.linalg.eigvalsh(A)[0])
        least = max(-2.0 * smallest, 0.0) + 1e-12 * float(np.trace(A).real)
        raise SingularSystem(
            f"the matrix is not positive definite to working precision (smallest eigenvalue "
            f"{smallest:.3g}): points repeat, the kernel is very smooth or it is not positive "
            f"definite. Take a larger penalty, or add a shift of at least {least:.1e}"
        )
    return factor, True


def solve_single(factor: Array, b: Array) -> Array:
    """Solve LLᵀx = b in single precision, for a factor in the order of LAPACK.

    LAPACK's solver is made for many right sides; for few, one at a time is several times faster.

    >>> L = np.array([[2.0, 0.0], [1.0, 1.0]], np.float32, order="F")
    >>> solve_single(L, np.array([[4.0], [4.0]], np.float32))[:, 0]
    array([0., 2.], dtype=float32)
    """
    if b.shape[1] > FEW:
        return np.asarray(lapack.spotrs(factor, b, lower=1)[0])
    x = np.empty_like(b)
    for k, column in enumerate(b.T):
        x[:, k] = blas.strsv(factor, blas.strsv(factor, column, lower=1), lower=1, trans=1)
    return x


class Reflections:
    """The unitary matrix H of Householder reflections that takes m columns to a triangle.

    >>> Q = np.array([[3.0], [4.0], [0.0]])
    >>> np.round(Reflections(Q).forth(Q), 12)
    array([[-5.], [ 0.], [ 0.]])
    """

    def __init__(self, Q: Array) -> None:
        self.count = Q.shape[1]
        if self.count >= len(Q):
            raise SingularSystem(
                f"a null space of {self.count} function{'s' * (self.count > 1)} needs more than "
                f"n_samples = {len(Q)}"
            )
        norms = np.linalg.norm(Q, axis=0)  # the unit of a function does not matter
        _, pivoted, _ = qr(Q / np.where(norms > 0, norms, 1.0), mode="economic", pivoting=True)
        if self.count and np.abs(pivoted[-1, -1]) <= len(Q) * np.finfo(float).eps:
            raise SingularSystem(
                "the functions of the null space are linearly dependent on these points: leave one "
                "out"
            )
        (raw, self.scales), self.triangle = qr(Q, mode="raw")
        self.vectors = np.tril(raw, -1)[:, : self.count]
        self.vectors[np.diag_indices(self.count)] = 1.0
        self.triangle = self.triangle[: self.count]

    def forth(self, b: Array) -> Array:
        """Return H*b."""
        result = np.array(b, dtype=np.result_type(b, self.vectors))
        for v, scale in zip(self.vectors.T, self.scales, strict=True):
            result -= np.multiply.outer(np.conj(scale) * v, v.conj() @ result)
        return result

    def back(self, b: Array) -> Array:
        """Return Hb."""
        result = np.array(b, dtype=np.result_type(b, self.vectors))
        for v, scale in zip(self.vectors.T[::-1], self.scales[::-1], strict=True):
            result -= np.multiply.outer(scale * v, v.conj() @ result)
        return result

    def inside(self, b: Array) -> Array:
        """Return the part of columns that is orthogonal to Q."""
        turned = self.forth(b)
        turned[: self.count] = 0.0
        return self.back(turned)

    def inner(self, A: Array) -> Array:
        """Return the part of H*AH in the space orthogonal to the columns, using A's memory."""
        for v, scale in zip(self.vectors.T, self.scales, strict=True):
            image = scale * (A @ v)
            # H*AH = A - v u* - u v* with u = τAv - ½|τ|²(v*Av) v, for H = I - τvv*.
            u = image - 0.5 * np.conj(scale) * (v.conj() @ image) * v
            A -= np.multiply.outer(v, u.conj())
            A -= np.multiply.outer(u, v.conj())
        return A[self.count :, self.count :]


def conjugate_gradients(
    multiply: Map, inverse: Map, rhs: Array, goal: Array, most: int = Limits.iterations
) -> tuple[Array, int]:
    r"""Solve for several right sides at once, each until its residual is at its goal.

    .. math:: X \leftarrow X + P (P^* A P)^{-1} P^* R, \qquad
        P \leftarrow Z - P (P^* A P)^{-1} (A P)^* Z, \quad Z = M^{-1} R

    All right sides search in the directions of all, so that many need fewer steps than one; those
    at their goal give no further directions. ``inverse``, M⁻¹, preconditions, and may be rounded
    to single precision: directions are made conjugate by the products themselves. The residuals
    are those of the recurrence, which drift from the true ones.

    >>> A = np.diag([1.0, 4.0])
    >>> x, steps = conjugate_gradients(lambda v: A @ v, lambda v: v, np.ones((2, 1)), [1e-12])
    >>> np.round(x[:, 0], 9), steps
    (array([1.  , 0.25]), 2)
    >>> conjugate_gradients(lambda v: A @ v, lambda v: v, np.eye(2), [1e-12, 1e-12])[1]
    1

    O'Leary, Linear Algebra and its Applications 29 (1980) 293-322.
    """
    r, goal = np.array(rhs), np.asarray(goal)
    far = np.linalg.norm(r, axis=0) > goal
    x = np.zeros_like(r)
    if not np.any(far):
        return x, 0
    p = independent(inverse(r[:, far]))
    for iteration in range(1, most + 1):
        if not p.shape[1]:  # nowhere to go that rounding can tell from where we were
            return x, iteration - 1
        image = multiply(p)
        curvature = _factored(p.conj().T @ image)
        step = cho_solve(curvature, p.conj().T @ r)
        x, r = x + p @ step, r - image @ step
        far = np.linalg.norm(r, axis=0) > goal
        if not np.any(far):
            return x, iteration
        z = inverse(r[:, far])
        p = independent(z - p @ cho_solve(curvature, image.conj().T @ z))
    left = float(np.max(np.linalg.norm(r, axis=0) / goal))
    raise SingularSystem(
        f"{most} iterations left a residual {left:.2g} times as large as tol allows; "
        "take a larger shift or penalty"
    )


def _factored(curvature: Array) -> tuple[Array, bool]:
    """Return the factor of A among directions, which has one if A is positive definite."""
    try:
        factor, is_lower = cho_factor(curvature)
    except LinAlgError:
        raise SingularSystem(
            "the matrix is not positive definite: conjugate gradients found a direction of no or "
            "negative curvature. Take a larger shift or penalty, or a kernel that is one"
        ) from None
    return factor, bool(is_lower)


def independent(columns: Array) -> Array:
    """Return orthonormal columns that span what columns do, as far as rounding can tell.

    >>> independent(np.array([[3.0, 6.0], [4.0, 8.0]])).round(9)
    array([[0.6],
           [0.8]])
    """
    sizes = np.max(np.abs(columns), axis=0, initial=0.0)  # whose squares need not be doubles
    unit = columns[:, sizes > 0] / sizes[sizes > 0]
    unit /= np.linalg.norm(unit, axis=0)
    values, axes = np.linalg.eigh(unit.conj().T @ unit)
    kept = values > DEPENDENT * max(float(np.max(values, initial=0.0)), 1.0)
    return np.asarray(unit @ (axes[:, kept] / np.sqrt(values[kept])))


def dots(a: Array, b: Array) -> Array:
    """Return the real parts of the inner products of matching columns."""
    products: Array = np.einsum("ij,ij->j", a.conj(), b).real
    return products
