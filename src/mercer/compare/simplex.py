"""The least of a convex quadratic form over weights that sum to one, with a proof of how close."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from mercer.check import Array
from mercer.errors import InvalidInput


class Least(NamedTuple):
    """The minimiser, and a bound for how far its value is above the minimum."""

    weights: Array
    gap: float


def least_on_simplex(Q: Array) -> Least:
    r"""Return the minimiser of a convex quadratic form over the simplex.

    .. math:: \min_\beta\; \beta^\top Q \beta, \quad \beta \ge 0,\; \textstyle\sum_m \beta_m = 1

    With Q = RᵀR it is the point of least norm in the hull of R's columns. Nonnegative least squares
    finds it by an active set: min ‖Ry‖² + (Σy - 1)² over y ≥ 0 has y = tβ, since for a given sum t
    the value is t²·βᵀQβ + (t - 1)². Convexity bounds what is left:

    .. math:: \beta^\top Q \beta - \min \le 2 \Big( \beta^\top Q \beta - \min_m (Q\beta)_m \Big)

    which is zero exactly where the conditions of Karush, Kuhn and Tucker hold.

    >>> least = least_on_simplex(np.array([[1.0, 0.5], [0.5, 2.0]]))
    >>> least.weights, least.gap < 1e-12
    (array([0.75, 0.25]), True)
    """
    unit = float(np.max(np.diag(Q), initial=0.0))
    if unit <= 0.0:
        return Least(np.full(len(Q), 1.0 / len(Q)), 0.0)
    values, vectors = np.linalg.eigh(0.5 * (Q + Q.T) / unit)
    if values[0] < -1e-10 * values[-1]:
        raise InvalidInput(
            f"the quadratic form has the negative eigenvalue {unit * values[0]:.3g}: it is not "
            "convex, and its least value is not found by one descent"
        )
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    target = np.zeros(len(Q) + 1)
    target[-1] = 1.0
    y, _ = nnls(np.vstack([root, np.ones(len(Q))]), target)
    weights: Array = y / y.sum()
    image = Q @ weights
    return Least(weights, 2.0 * float(weights @ image - image.min()))
