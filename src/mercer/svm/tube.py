r"""Regression in a tube: errors up to ε cost nothing, with its duality gap.

With f = h + b, h in the space H of a kernel,

.. math:: \min \tfrac{1}{2} \|h\|^2 + \sum_i C_i \max(0, |y_i - f(x_i)| - \varepsilon)
    \;=\; \max_\beta\; y^\top \beta - \varepsilon \|\beta\|_1 - \tfrac{1}{2} \beta^\top K \beta,
    \quad |\beta_i| \le C_i,\; \textstyle\sum_i \beta_i = 0

and h = Σ βᵢ k(xᵢ, ·).
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


def tube_through(K: Array, y: Array, costs: Array, epsilon: float, entry: float = 0.0) -> Expansion:
    """Return the flattest function in whose tube the values lie, but for slacks at a cost.

    Entries of K are right to ``entry``.

    >>> x, y = np.array([-1.0, 1.0]), np.array([4.0, 8.0])
    >>> of = tube_through(np.outer(x, x), y, np.full(2, 9.0), 0.5)
    >>> of.weights, of.intercept, of.gap < 1e-12
    (array([-0.75,  0.75]), 6.0, True)
    """
    centre = float(y.mean())  # weights sum to zero: a constant belongs to the intercept
    scale, unit = scale_of(K), scale_of(y - centre)
    # With K and y near 1 the start, in single precision, loses nothing to their size.
    program = _program(K / scale, (y - centre) / unit, scale / unit * costs, epsilon / unit)
    point = polished(program, _start(program, len(y), epsilon / unit))
    beta = unit / scale * point.beta
    if program.rows is not None:
        beta = beta[: len(y)] + beta[len(y) :]
    low, high = interval_of(point, unit)
    intercept = 0.5 * (low + high)
    image = K @ beta
    half_square = 0.5 * float(beta @ image)
    margins = np.abs(y - centre - image - intercept) - epsilon
    slacks = np.maximum(0.0, margins)
    objective = half_square + float(costs @ slacks)
    dual = float((y - centre) @ beta) - epsilon * float(np.sum(np.abs(beta))) - half_square
    levels = np.abs(y) + abs(centre) + epsilon
    found = Found(beta, image, intercept)
    unknown, _ = rounding_of(K, entry, found, margins, levels, costs)
    # What Σβ is away from 0 is charged with the intercept of the optimum, which losses keep near.
    most = float(levels.max()) + objective / float(costs.sum()) + largest_value(K, objective)
    unknown += excess_of(beta) * most
    return Expansion(
        beta,
        intercept + centre,
        (low + centre, high + centre),
        objective,
        abs(objective - dual) + unknown,
        slacks,
        unknown,
        point.steps,
    )


def _program(K: Array, y: Array, costs: Array, epsilon: float) -> Program:
    """Return the program of β, split into its parts above and below zero where ε costs."""
    n = len(y)
    if epsilon == 0.0:
        return Program(K, y, -costs, costs, np.zeros(n, np.intp))
    none = np.zeros(n)
    return Program(
        K,
        np.concatenate([y - epsilon, y + epsilon]),
        np.concatenate([none, -costs]),
        np.concatenate([costs, none]),
        np.zeros(2 * n, np.intp),
        np.tile(np.arange(n), 2),
    )


def _start(program: Program, n: int, epsilon: float) -> Array:
    """Return the variables of libsvm, whose matrix is in single precision."""
    costs, y = program.upper[:n], program.b[:n] + epsilon
    largest = float(costs.max())
    peer = libsvm.SVR(C=largest, epsilon=epsilon, **START)
    beta = start_of(peer, program.K, y, costs / largest)
    if program.rows is None:
        return beta
    return np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
