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


class Stretches:
    """The places of a line cut into stretches, from the left and from the right alike.

    The arrays have a row for each step, and a column for each stretch of either direction. What
    does not depend on the rate is laid out once for all of them.
    """

    def __init__(self, gaps: Array, weights: Array, values: Array) -> None:
        self.size = n = weights.size
        length = n if n <= SHORT else int(np.ceil(np.sqrt(n) / STRETCHED))
        self.count = -(-n // length)
        self.weights, self.values, self.gaps = (
            self._laid_out(part, length) for part in (weights, values, gaps)
        )

    def _laid_out(self, part: Array, length: int) -> Array:
        # A place of weight 0 at distance 0 changes nothing.
        both = np.zeros((2, self.count * length))
        both[0, : part.size], both[1, : part.size] = part, part[::-1]
        return np.ascontiguousarray(both.reshape(2 * self.count, length).T)

    def sweep(self, rate: float) -> tuple[Array, Array, float]:
        """Return what the places on the left and on the right of each know of it, and Σ log Δ."""
        length, lanes = self.weights.shape
        found, ratios = np.empty((6, lanes, length)), np.empty((length, self.count))
        at = six(self._beginnings(rate))
        for i in range(length):
            for part, number in zip(found, at, strict=True):
                part[:, i] = number
            seen = observed(at, self.weights[i], self.values[i])
            at, ratio = carried(seen, self.gaps[i], np.asarray(rate))
            ratios[i] = ratio[: self.count]
        sides = found.reshape(6, 2, self.count * length)[:, :, : self.size]
        return sides[:, 0], sides[:, 1, ::-1], float(np.log(ratios).sum())

    def _beginnings(self, rate: float) -> Array:
        """Return what is known at the first place of each stretch, from the places before it."""
        known = np.zeros((6, 2, self.count))
        if self.count > 1:
            summaries = _summaries(self.weights, self.values, self.gaps, rate)
            for side in (0, 1):
                first = side * self.count
                known[:, side, 1] = at = self._after_first(first, rate)
                chain = summaries[:, first + 1 : first + self.count - 1].T.tolist()
                for k, summary in enumerate(chain, 2):
                    known[:, side, k] = at = _joined(at, *summary)
        return known.reshape(6, -1)

    def _after_first(self, lane: int, rate: float) -> Known[float]:
        """Return what a first stretch knows: it begins with nothing, and needs no summary."""
        at = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        parts = (part[:, lane].tolist() for part in (self.weights, self.values, self.gaps))
        for w, y, h in zip(*parts, strict=True):
            at, _ = carried(observed(at, w, y), h, rate)
        return at


def swept(line: Stretches, rate: float) -> tuple[Array, Array, float, Array]:
    """Return what both sides know of each place, Σ log Δ, and det⁻, det and residuals."""
    left, right, logarithms = line.sweep(rate)
    before, after = six(left), six(right)
    places = np.empty((3, line.size))
    w, y = (_in_order(part, line) for part in (line.weights, line.values))
    places[0] = joint_determinant(before, after)
    places[1], places[2] = left_out(before, after, places[0], w, y)
    return left, right, logarithms, places


def _in_order(part: Array, line: Stretches) -> Array:
    """Return what was laid out, place by place from the left."""
    return part[:, : line.count].T.ravel()[: line.size]


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
