"""Configurations laid upon each other: rotations, and axes matched with axes."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from mercer.check import Array


def rotation(scores: Array, onto: Array, weights: Array) -> Array:
    r"""Return the orthogonal matrix that brings a configuration nearest to another.

    .. math:: \min_{R^\top R = I} \sum_i w_i \|F_i R - G_i\|^2, \quad
        R = U V^\top, \quad F^\top W G = U S V^\top

    Reflections are allowed: the signs of axes mean nothing.

    >>> F = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> np.allclose(rotation(F, F @ turn, np.ones(3)), turn)
    True

    Schönemann (1966).
    """
    return superposition(scores, onto, weights)[0]


def superposition(scores: Array, onto: Array, weights: Array) -> tuple[Array, float]:
    r"""Return the same matrix R, and how well the configurations then agree.

    .. math:: \operatorname{tr}(S) = \max_{R^\top R = I} \sum_i w_i \langle F_i R, G_i \rangle

    >>> F = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> superposition(F, 3.0 * F, np.ones(2))[1]
    15.0
    """
    left, sizes, right = np.linalg.svd(scores.T @ (weights[:, None] * onto))
    turn: Array = left @ right
    return turn, float(np.sum(sizes))


def match_axes(cosines: Array) -> tuple[Array, Array]:
    """Match axes (rows) with others (columns) so that their squared cosines sum to the most.

    Returned are the column of each row, and the sign that makes the pair point the same way.

    >>> match_axes(np.array([[0.1, -0.9], [0.8, 0.2]]))
    (array([1, 0]), array([-1.,  1.]))
    """
    rows, columns = optimize.linear_sum_assignment(-(cosines**2))
    signs = np.where(cosines[rows, columns] < 0.0, -1.0, 1.0)
    return columns, signs
