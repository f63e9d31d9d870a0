"""What observations say of new points: the weights of the best linear prediction, and its error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.check import Array
from mercer.solve.saddle import Answer, Saddle

AT_ONCE = 2**21
"""Numbers of a matrix between new points and old ones at a time: an iteration holds eight such."""


@dataclass(frozen=True)
class Explained:
    r"""The weights a that predict g(x) from observations, with the least error.

    .. math:: \min_a\; k(x, x) - 2 a^\top k_x + a^\top (K + \gamma S^{-2}) a, \qquad Q^\top a = q_x

    They solve the saddle system of the observations. The minimum is the variance of g(x) given
    them; a residual of the system changes it by its square only, and never downwards.

    >>> from mercer import Delta, Gram
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
    def _solve(self) -> Callable[[Array], Answer]:
        return self.saddle.solver(self.s, self.shift)

    def weights(self, k: Array, q: Array) -> tuple[Array, Array]:
        """Return a and (K + γS⁻²)a for columns k_x and q_x."""
        ridge = self.shift / self.s[:, None] ** 2
        if not len(q):
            answer = self._solve(k)
            return answer.weights, answer.images + ridge * answer.weights
        # Some weights that reproduce the functions of the null space, and the best from there.
        a = np.linalg.lstsq(self.saddle.Q.T, q, rcond=None)[0]
        image = self.saddle.product(a) + ridge * a
        answer = self._solve(k - image)
        return a + answer.weights, image + answer.images + ridge * answer.weights

    def variances(self, own: Array, k: Array, q: Array) -> Array:
        """Return the least errors, from k(x, x) and the columns of k_x and q_x."""
        a, image = self.weights(k, q)
        return np.asarray(own + np.sum(a * (image - 2.0 * k), axis=0))
