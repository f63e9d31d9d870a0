"""The minimiser of each output: one system for squared loss, a descent for the others."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from mercer.check import Array
from mercer.regression.convex import Optimum, Problem, minimise
from mercer.regression.data import Data
from mercer.regression.losses import Loss
from mercer.solve import Saddle
from mercer.solve.steps import Reflections


def optima_of(saddle: Saddle, data: Data, penalty: float, loss: Loss, tol: float) -> list[Optimum]:
    """Return the minimiser for each output.

    >>> from mercer import Gram, Linear
    >>> from mercer.regression.losses import loss_named
    >>> data = Data(np.array([[1.0], [2.0]]), np.array([[1.0], [2.0]]), np.ones(2))
    >>> saddle = Saddle(Gram(Linear(), data.points), np.zeros((2, 0)))
    >>> (found,) = optima_of(saddle, data, 2.5, loss_named("squared"), 1e-8)
    >>> round(float(found.weights @ data.points[:, 0]), 6), round(found.objective, 6)
    (0.5, 1.25)
    """
    outputs = range(data.y.shape[1])
    problems = [Problem(saddle, data.y[:, j], data.p, penalty, loss, tol) for j in outputs]
    if loss.name != "squared":
        return [minimise(problem) for problem in problems]
    if penalty == np.inf:
        return _without_kernel(saddle.Q, data)
    answer = saddle.solve(np.sqrt(data.p), penalty, data.y)
    columns = (answer.weights.T, answer.null_weights.T, answer.images.T)
    return [
        problem.optimum(alpha, eta, answer.iterations, image)
        for problem, alpha, eta, image in zip(problems, *columns, strict=True)
    ]


def _without_kernel(Q: Array, data: Data) -> list[Optimum]:
    """Return the weighted least squares of the null space alone."""
    s = np.sqrt(data.p)[:, None]
    eta = _least_squares(s * Q, s * data.y)
    values = data.p @ (data.y - Q @ eta) ** 2
    zero = np.zeros(len(data))
    return [Optimum(zero, eta[:, j], float(v), 0.0, 0.0, 0) for j, v in enumerate(values)]


def _least_squares(Q: Array, y: Array) -> Array:
    if Q.shape[1] == 0:
        return np.zeros((0, y.shape[1]))
    reflections = Reflections(Q)
    top = reflections.forth(y)[: reflections.count]
    return np.asarray(solve_triangular(reflections.triangle, top))
