r"""The margin between one class and the origin of the space, with its duality gap.

.. math:: \min_{h, \rho}\; \tfrac{1}{2} \|h\|^2 - \nu w \rho + \sum_i w_i \max(0, \rho - h(x_i))
    \;=\; -\min_\alpha\; \tfrac{1}{2} \alpha^\top K \alpha, \quad
    0 \le \alpha_i \le w_i,\; \textstyle\sum_i \alpha_i = \nu w

where w is the sum of the weights, and h = Σ αᵢ k(xᵢ, ·).
"""

from __future__ import annotations

import numpy as np
from sklearn import svm as libsvm

from mercer.check import Array
from mercer.svm.expansion import (
    START,
    Expansion,
    Found,
    excess_of,
    interval_of,
    largest_value,
    rounding_of,
    scale_of,
    start_of,
)
from mercer.svm.quadratic import Program, polished


def margin_from_origin(K: Array, weights: Array, nu: float, entry: float = 0.0) -> Expansion:
    """Return f = h - ρ, which is negative for the share ν of the points at the most.

    Entries of K are right to ``entry``.

    >>> of = margin_from_origin(np.eye(2), np.ones(2), 0.5)
    >>> of.weights, of.intercept, of.gap < 1e-14
    (array([0.5, 0.5]), -0.5, True)
    """
    scale, total = scale_of(K), nu * float(weights.sum())
    program = Program(
        K / scale,
        np.zeros(len(K)),
        np.zeros(len(K)),
        weights,
        np.zeros(len(K), np.intp),
    )
    point = polished(program, _start(program, nu, total))
    alpha = point.beta
    low, high = interval_of(point, scale)
    rho = -0.5 * (low + high)
    image = K @ alpha
    half_square = 0.5 * float(alpha @ image)
    slacks = np.maximum(0.0, rho - image)
    objective = half_square - total * rho + float(weights @ slacks)
    levels = np.full(len(K), abs(rho))
    found = Found(alpha, image, 0.0)
    unknown, _ = rounding_of(K, entry, found, rho - image, levels, weights)
    # What Σα is away from νw is charged with the ρ of the optimum, a value of its h.
    unknown += excess_of(alpha, total) * (abs(rho) + largest_value(K, abs(objective)))
    return Expansion(
        alpha,
        -rho,
        (low, high),
        objective,
        abs(objective + half_square) + unknown,
        slacks,
        unknown,
        point.steps,
    )


def _start(program: Program, nu: float, total: float) -> Array:
    """Return the variables of libsvm, moved so that they have the sum."""
    weights = program.upper
    peer = libsvm.OneClassSVM(nu=nu, **START)
    alpha = np.clip(start_of(peer, program.K, weights, weights), 0.0, weights)
    missing = total - float(alpha.sum())
    if missing <= 0.0:
        return np.asarray(alpha * (total / float(alpha.sum())))
    room = weights - alpha
    return np.asarray(np.minimum(alpha + room * (missing / float(room.sum())), weights))
