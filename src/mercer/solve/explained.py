"""What observations say of new points: the weights of the best linear prediction, and its error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.check import Array
from mercer.solve.saddle import Answer, Saddle

AT_ONCE = 2**22
"""Numbers of a matrix between new points and old ones at a time: an iteration holds eight such."""

ACCURACY = 1e-9
"""Variances are too large by at most this share of k(x, x), where they are found by iteration."""


@dataclass(frozen=True)
class Explained:
    r"""The weights a that predict g(x) from observations, with the least error.

    .. math:: \min_a\; k(x, x) - 2 a^\top k_x + a^\top (K + \gamma S^{-2}) a, \qquad Q^\top a = q_x

    They solve the saddle system of the observations. The minimum is the variance of g(x) given
    them; a residual r of the system (in units of the weights) changes it by its square only, and
    never downwards:

    .. math:: 0 \le r^\top (S K S + \gamma I)^{-1} r \le \|r\|^2 / \gamma

    so that an iteration for variances may end where this is `ACCURACY` of k(x, x).

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
        return max(1, AT_ONCE // len(self.s))

    @cached_property
    def _solve(self) -> Callable[..., Answer]:
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
        allowed = np.sqrt(ACCURACY * self.shift * np.abs(own)) if np.all(own) else None
        a, image = self.weights(k, q, allowed)
        return np.asarray(own + np.sum(a * (image - 2.0 * k), axis=0))
