r"""The systems of a likelihood, with unknown functions of the mean, in one block of right sides.

.. math:: \alpha = P y = A^{-1} y - U S^{-1} Q^\top A^{-1} y, \qquad U = A^{-1} Q, \quad
    S = Q^\top U

for orthonormal Q, which span the functions, and y without its part among them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer.check import Array
from mercer.gp.evidence import Observations, orthonormal
from mercer.solve import Saddle, SaddleSolution

TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Solved:
    """Solutions of all systems with A, and how far columns can be from the exact ones.

    ``answer`` has α and the weights of the functions; ``U``, ``S`` belong to an orthonormal basis
    of them, ``others`` are A⁻¹ times further columns. ``log_determinant`` is that of QᵀA⁻¹Q for
    the functions themselves. ``errors`` bound the columns of α, U and of the others.
    """

    answer: SaddleSolution
    U: Array
    S: Array
    others: Array
    log_determinant: float
    errors: tuple[float, float, float]

    @property
    def slack(self) -> float:
        """How far the logarithm of the determinant can be off."""
        m = len(self.S)
        # |log det S̃ - log det S| is at most m ‖S⁻¹‖ times the error of S.
        return float(m**1.5 * self.errors[1] * self.stretch)

    @property
    def stretch(self) -> float:
        """The norm of S⁻¹."""
        return 1.0 / max(float(np.linalg.norm(self.S, -2)), TINY) if len(self.S) else 0.0


def solved(saddle: Saddle, noise: float, data: Observations, further: Array) -> Solved:
    """Solve for outputs, functions of the mean and further columns; the saddle has no null space.

    >>> from mercer.kernels import Delta
    >>> from mercer.gram import Gram
    >>> data = Observations([0, 1], np.array([[2.0], [0.0]]), np.ones((2, 1)))
    >>> saddle = Saddle(Gram(Delta(), data.points), np.zeros((2, 0)))
    >>> found = solved(saddle, 1.0, data, np.zeros((2, 0)))
    >>> found.answer.weights.ravel(), found.answer.null_weights.ravel()
    (array([ 0.5, -0.5]), array([1.]))
    >>> bool(np.isclose(found.log_determinant, 0.0))
    True
    """
    basis, triangle = orthonormal(data.Q)
    (n, q), m = data.y.shape, basis.shape[1]
    inside = basis.T @ data.y
    rhs = np.hstack([data.y - basis @ inside, basis, further])
    found = saddle.solve(np.ones(n), noise, rhs)
    (a, U, others), left = _split(found.weights, q, m), rhs - found.images - noise * found.weights
    S = basis.T @ U
    c = np.linalg.solve(S, basis.T @ a)  # by this very S, so that Qᵀα = 0
    S = 0.5 * (S + S.T)
    left[:, :q] -= left[:, q : q + m] @ c  # that of α, for which QᵀA⁻¹y - Sc = 0
    errors = tuple(float(np.max(_lengths(part), initial=0.0)) for part in _split(left, q, m))
    sizes = np.maximum(_lengths(rhs[:, :q]), TINY)
    images = found.images[:, :q] - found.images[:, q : q + m] @ c
    answer = SaddleSolution(
        a - U @ c,
        np.asarray(solve_triangular(triangle, inside + c)),
        images,
        float(np.max(_lengths(left[:, :q]) / sizes, initial=0.0)),
        found.iterations,
        found.method,
    )
    value = float(np.linalg.slogdet(S)[1])
    value += 2.0 * float(np.sum(np.log(np.abs(np.diag(triangle)))))
    # No eigenvalue of A is below the noise.
    one, two, three = (error / noise for error in errors)
    return Solved(answer, U, S, others, value, (one, two, three))


def _split(columns: Array, q: int, m: int) -> list[Array]:
    return np.split(columns, [q, q + m], axis=1)


def _lengths(columns: Array) -> Array:
    return np.asarray(np.linalg.norm(columns, axis=0))
