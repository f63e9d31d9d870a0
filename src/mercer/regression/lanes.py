r"""The sweep of the information filter along a line in numpy: many stretches of it in step.

The places are cut into stretches of equal length, and one step of numpy moves all of them on by
one place. A stretch does not know how it begins, so it is first summarised for every beginning s:
given s its end has mean As + b and covariance C, and its observations know of s the matrix J and
the vector j (Särkkä and García-Fernández, arXiv:1905.13002). Summaries are joined one after the
other, which gives each stretch its beginning; then all are swept at once. That is O(n) work in
O(√n) steps.
"""

from __future__ import annotations

import numpy as np

from mercer.check import Array
from mercer.regression.information import (
    Known,
    carried,
    joint_determinant,
    left_out,
    observed,
    six,
)

SHORT = 64
"""Up to this many places a plain loop takes no longer than stretches."""

STRETCHED = 3.0
"""How many times more stretches than places in each: joining two costs less than a step."""


def sweep(gaps: Array, weights: Array, values: Array, rate: float, left: Array) -> float:
    """Fill ``left`` with what the earlier places know of each, and return Σ log Δ."""
    n = weights.size
    length = n if n <= SHORT else int(np.ceil(np.sqrt(n) / STRETCHED))
    count = -(-n // length)
    # A place of weight 0 at distance 0 changes nothing.
    w, y, h = (
        np.concatenate([part, np.zeros(count * length - part.size)]).reshape(count, length).T.copy()
        for part in (weights, values, gaps)
    )
    beginnings = _beginnings(w, y, h, rate) if count > 1 else np.zeros((6, 1))
    return _together(w, y, h, rate, beginnings, left)


def join(
    gaps: Array, weights: Array, values: Array, rate: float, sides: tuple[Array, Array], out: Array
) -> None:
    """Fill the right side with what the later places know, ``out`` with det⁻, det and residuals."""
    left, right = sides
    sweep(gaps[::-1], weights[::-1], values[::-1], rate, right[:, ::-1])
    before, after = six(left), six(right)
    out[0] = joint_determinant(before, after)
    out[1], out[2] = left_out(before, after, out[0], weights, values)


def _together(w: Array, y: Array, h: Array, rate: float, state: Array, left: Array) -> float:
    """Sweep all stretches from their beginnings, one place of each at a time."""
    length, count = w.shape
    steps = np.empty((length, 6, count))
    ratios = np.empty((length, count))
    at = six(state)
    for i in range(length):
        for row, number in zip(steps[i], at, strict=True):
            row[:] = number
        at, ratios[i] = carried(observed(at, w[i], y[i]), h[i], np.asarray(rate))
    left[:] = steps.transpose(1, 2, 0).reshape(6, -1)[:, : left.shape[1]]
    return float(np.log(ratios).sum())


def _beginnings(w: Array, y: Array, h: Array, rate: float) -> Array:
    """Return what is known at the first place of each stretch, from the places before it."""
    # The first stretch begins with no knowledge at all and needs no summary.
    at = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for wi, yi, hi in zip(w[:, 0].tolist(), y[:, 0].tolist(), h[:, 0].tolist(), strict=True):
        at, _ = carried(observed(at, wi, yi), hi, rate)
    known = [(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), at]
    for summary in _summaries(w, y, h, rate)[:, 1:-1].T.tolist():
        at = _joined(at, *summary)
        known.append(at)
    return np.array(known).T


def _joined(known: Known[float], *summary: float) -> Known[float]:
    r"""Return what is known at the end of a stretch, given what is known at its beginning.

    .. math:: C' = A (I + J)^{-1} A^\top + C, \quad \mu' = A (I + J)^{-1} (i + j) + b

    with the information matrix I and vector i at the beginning.
    """
    a, m, c, d, u, v = known
    A11, A12, A21, A22, b1, b2, C11, C12, C22, J11, J12, J22, j1, j2, det_A, det_C = summary
    P11, P12, P22 = a + J11, J12 - m, c + J22
    # Determinants of sums are summed, since products of their entries may cancel.
    det_J = max(J11 * J22 - J12 * J12, 0.0)
    inverse = 1.0 / (d + det_J + a * J22 + c * J11 + 2.0 * m * J12)
    G11, G12 = (A11 * P22 - A12 * P12) * inverse, (A12 * P11 - A11 * P12) * inverse
    G21, G22 = (A21 * P22 - A22 * P12) * inverse, (A22 * P11 - A21 * P12) * inverse
    X11, X12, X22 = G11 * A11 + G12 * A12, G11 * A21 + G12 * A22, G21 * A21 + G22 * A22
    u, v = u + j1, v + j2
    mean, slope = b1 + G11 * u + G12 * v, b2 + G21 * u + G22 * v
    mixed = max(X11 * C22 + X22 * C11 - 2.0 * X12 * C12, 0.0)
    d = 1.0 / (det_A * det_A * inverse + det_C + mixed)
    a, m, c = (C22 + X22) * d, (C12 + X12) * d, (C11 + X11) * d
    return a, m, c, d, a * mean - m * slope, c * slope - m * mean


def _summaries(w: Array, y: Array, h: Array, q: float) -> Array:
    """Return A, b, C, J, j, det A and det C of each stretch."""
    length, count = w.shape
    zero, one = np.zeros(count), np.ones(count)
    A11, A12, A21, A22, b1, b2 = one, zero, zero, one, zero, zero
    C11, C12, C22, det_C, det_A = zero, zero, zero, zero, one
    J11, J12, J22, j1, j2 = zero, zero, zero, zero, zero
    for i in range(length):
        wi, hi = w[i], h[i]
        shrink = 1.0 / (1.0 + wi * C11)
        weight, error = wi * shrink, y[i] - b1
        w1, w2 = weight * A11, weight * A12
        J11, J12, J22 = J11 + w1 * A11, J12 + w1 * A12, J22 + w2 * A12
        j1, j2 = j1 + w1 * error, j2 + w2 * error
        gain1, gain2 = C11 * weight, C12 * weight
        A21, A22, b2 = A21 - gain2 * A11, A22 - gain2 * A12, b2 + gain2 * error
        A11, A12, b1 = A11 - gain1 * A11, A12 - gain1 * A12, b1 + gain1 * error
        C11, C12 = C11 * shrink, C12 * shrink
        C22, det_C = (C22 + wi * det_C) * shrink, det_C * shrink
        det_A = det_A * shrink
        A11, A12, b1 = A11 + hi * A21, A12 + hi * A22, b1 + hi * b2
        qh = q * hi
        qhh = qh * hi
        det_C = det_C + qh * (C11 + hi * (C12 + hi * C22 / 3.0)) + qhh * qhh / 12.0
        C11 = C11 + hi * (2.0 * C12 + hi * C22) + qhh * hi / 3.0
        C12, C22 = C12 + hi * C22 + qhh / 2.0, C22 + qh
    return np.stack(
        [A11, A12, A21, A22, b1, b2, C11, C12, C22, J11, J12, J22, j1, j2, det_A, det_C]
    )
