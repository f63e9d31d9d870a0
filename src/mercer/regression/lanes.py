r"""The sweep of the information filter along a line in numpy: many stretches and rates in step.

The places are cut into stretches of equal length, and one step of numpy moves all of them on by
one place, from the left and from the right, and for all rates. That works since what is known,
(a, m, c, d), is a point of a projective space in which places act linearly: with a gap h as the
unit, :math:`x = (1,\, qh^3 a,\, qh^2 m,\, qh\, c,\, q^2h^4 d)` becomes a multiple of

.. math:: T O x, \quad T = \begin{pmatrix} 1 & 1/3 & 1 & 1 & 1/12 \\ & 1 & & & 1 \\
    & 1 & 1 & & 1/2 \\ & 1 & 2 & 1 & 1/3 \\ & & & & 1 \end{pmatrix}

where O adds the observation. A stretch is the product of its matrices. No entry of any of them is
negative, so that no product loses digits, whatever the gaps and rates. The products are joined one
after the other, which tells each stretch how it begins; then all are swept at once. Of n places a
stretch has the third root, and the products are joined by rows of as many: that is O(n) work in
O(n^⅓) steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dtbtrs

from mercer.check import Array
from mercer.regression.information import (
    Known,
    carried,
    joint_determinant,
    left_out,
    observed,
    six,
)

SHORT = 16
"""Up to this many in a row are taken one by one."""

EASED = 5
"""After so many steps a product is divided by its largest entry, long before it overflows."""

NEAREST = 1e-40
"""Shorter gaps, as shares of the range, count as this one, whose powers are still doubles."""

BLOCK = 2**15
"""So many places, times rates, are swept at once: what is known of them stays in the cache."""

SLOWEST = 1e-20
"""At this rate a curve is the least squares line, in double precision."""

CARRIED = np.array(
    [
        [1.0, 1 / 3, 1.0, 1.0, 1 / 12],
        [0.0, 1.0, 0.0, 0.0, 1.0],
        [0.0, 1.0, 1.0, 0.0, 1 / 2],
        [0.0, 1.0, 2.0, 1.0, 1 / 3],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ]
)
"""T, how a gap moves (1, a, m, c, d): :func:`mercer.regression.information.carried`."""

MOVED = np.array(
    [
        [1.0, 0.0, 1 / 2, 1.0, 0.0],
        [0.0, 1 / 2, 1.0, 0.0, 0.0],
        [-1.0, 0.0, -1 / 6, -1 / 2, 0.0],
        [1.0, -1 / 6, -1 / 2, 0.0, 0.0],
    ]
)
"""The matrix that moves (u, v), row by row, as multiples of (1, a, m, c, d)."""

OBSERVED = np.eye(5)[:, [0, 1, 2, 3, 4, 1, 4]]
"""O: an observation of weight w adds w to a, and wc to d, which stand last."""

STEP = np.vstack([CARRIED, MOVED]) @ OBSERVED
PAIRED = np.array([1.0, 1.0, 2.0, 1.0, 1.0])
"""The weights of :func:`mercer.regression.information.joint_determinant`, as a bilinear form."""


class Stretches:
    """The places of a line cut into stretches of equal length."""

    def __init__(self, gaps: Array, weights: Array, values: Array) -> None:
        self.line = gaps, weights, values
        self.size = n = weights.size
        self.length = n if n <= SHORT else max(SHORT // 2, int(np.cbrt(n)))
        self.count = -(-n // self.length)
        # Places of weight 0 beyond the last know nothing, and nobody asks what is known of them.
        beyond = np.zeros(self.count * self.length - n)
        self.weights = self._both_ways(np.append(weights, beyond))
        self.values = self._both_ways(np.append(values, beyond))
        # From the right, the gap ahead of a place is the one on its left.
        gaps = np.concatenate([gaps[:1], gaps, gaps[-1:], beyond + gaps[-1]])
        np.maximum(gaps, NEAREST, out=gaps)
        self.gaps = [self._both_ways(part)[way] for way, part in enumerate((gaps[1:], gaps[:-1]))]

    def _both_ways(self, part: Array) -> tuple[Array, Array]:
        """Return the stretches as rows, as they are met from the left and from the right."""
        left, right = (way.reshape(self.count, self.length) for way in (part, part[::-1]))
        return left, right

    def lanes(self, q: Array, ways: tuple[int, ...], some: slice) -> Lanes:
        """Return some of the stretches side by side, for all rates."""
        parts = (
            np.stack([part[way][some].T for way in ways], axis=1)[:, :, None]
            for part in (self.weights, self.values, self.gaps)
        )
        return Lanes(q, *parts)

    def beginnings(self, q: Array) -> Array:
        """Return what is known at the first place of each stretch, from the places before it."""
        rates, count = q.size, self.count
        if count == 1:
            return np.zeros((4, 2, rates, 1))
        products = np.empty((5, 5, rates, count))
        for some in self.blocks(rates):
            products[..., some] = self.lanes(q, (0,), some).products()
        # From the right a stretch acts by its adjoint, which does not change what both sides know.
        turned = products[::-1, ::-1, :, ::-1].swapaxes(0, 1)
        turned = turned * (PAIRED / PAIRED[:, None])[:, :, None, None]
        x = _before_each(np.concatenate([products, turned], axis=2))
        # The adjoint carries before it observes, and so leaves the gap before a stretch to us.
        gaps = np.append(1.0, self.gaps[1][:-1, -1])
        units = _units(gaps)[:, None]
        x[1:, rates:] *= units
        x[:, rates:] = np.tensordot(CARRIED, x[:, rates:], 1)
        x[1:, rates:] /= units
        return np.asarray(x[1:] / x[0]).reshape(4, 2, rates, count)

    def blocks(self, rates: int) -> Iterator[slice]:
        """Yield the stretches in groups that are swept at once."""
        size = -(-BLOCK // (self.length * rates))
        yield from (slice(k, k + size) for k in range(0, self.count, size))


class Lanes:
    """Stretches side by side, as many as directions, rates and stretches of each."""

    def __init__(self, q: Array, weights: Array, values: Array, gaps: Array) -> None:
        self.shape = weights.shape[1], q.size, weights.shape[3]
        self.gaps = self._flat(gaps)
        self.weights = self._flat(weights * q)
        self.sums = self.weights * self._flat(values)

    def _flat(self, part: Array) -> Array:
        """Return an array with directions, rates and stretches in a row."""
        lead = part.shape[:-3]
        return np.broadcast_to(part, (*lead, *self.shape)).reshape(*lead, -1)

    def products(self) -> Array:
        """Return the product of the matrices of each stretch but for a factor."""
        length, lanes = self.weights.shape
        x, moved = np.zeros((7, 5, lanes)), np.empty((5, 5, lanes))
        product, scales = x[:5], np.empty((5, lanes))
        units = _units(self.gaps[0])
        product[0, 0], product[1:] = 1.0, np.eye(5)[1:, :, None] * units[:, None]
        for i, weight in enumerate(self.weights):
            weight = weight * units[0]
            np.multiply(weight, product[0], out=x[5])
            np.multiply(weight, product[3], out=x[6])
            np.matmul(STEP[:5], x.reshape(7, -1), out=moved.reshape(5, -1))
            following = _units(self.gaps[i + 1]) if i + 1 < length else np.ones((4, 1))
            np.divide(1.0, 1.0 + weight, out=scales[0])
            np.divide(following, units, out=scales[1:])
            scales[1:] *= scales[0]
            np.multiply(moved, scales[:, None], out=product)
            if i % EASED == EASED - 1 or i == length - 1:
                product /= product.max(axis=(0, 1))
            units = following
        return product.reshape(5, 5, *self.shape[1:])

    def sweep(self, known: Array, vectors: Array) -> Array:
        """Fill in (qa, qm, qc, q²d, qu, qv) at each step; return (qu, qv) at the end of all.

        At the first step a to d are there. (u, v) is first found as an affine map of what it is
        when a stretch begins, and v in units of the gap ahead.
        """
        (length, lanes), gaps = self.weights.shape, self.gaps
        maps = np.empty((length + 1, 2, 3, lanes))
        maps[0] = np.eye(2, 3, 1)[:, :, None]
        maps[0, 1] /= gaps[0]
        x, moved = np.ones((7, lanes)), np.empty((9, lanes))
        matrix, products = moved[5:].reshape(2, 2, 1, lanes), np.empty((2, 2, 3, lanes))
        for i, weight in enumerate(self.weights):
            units = _units(gaps[i])
            np.multiply(known[i, :4], units, out=x[1:5])
            np.multiply(weight, units[0], out=x[5])
            np.multiply(x[5], x[3], out=x[6])
            np.matmul(STEP, x, out=moved)
            moved[1:] /= moved[0]
            if i + 1 < length:
                np.divide(moved[1:5], units, out=known[i + 1, :4])
            np.multiply(matrix, maps[i], out=products)
            products[:, 0, 0] += matrix[:, 0, 0] * self.sums[i]
            np.add(products[:, 0], products[:, 1], out=maps[i + 1])
            maps[i + 1, 1] *= gaps[i] / gaps[i + 1] if i + 1 < length else gaps[i]
        begins, ends = self._joined(maps[-1], vectors)
        found = np.multiply(maps[:-1, :, 1], begins[0], out=known[:, 4:])
        found += maps[:-1, :, 0]
        found += maps[:-1, :, 2] * begins[1]
        found[:, 1] *= gaps
        return ends

    def _joined(self, maps: Array, vectors: Array) -> tuple[Array, Array]:
        """Return (u, v) at the beginnings of all stretches, and at the end of the last.

        That is the solution of a triangular system with three diagonals below the first.
        """
        count = self.shape[2]
        chains = maps.shape[2] // count
        ends = np.moveaxis(maps.reshape(2, 3, chains, count), 0, 3)
        band, sums = np.zeros((chains, count + 1, 2, 4)), np.empty((chains, count + 1, 2))
        band[:, :-1, 0, 2:], band[:, :-1, 1, 1:3] = -ends[1], -ends[2]
        sums[:, 0], sums[:, 1:] = vectors, ends[0]
        solved, _ = dtbtrs(band.reshape(-1, 4).T, sums.reshape(-1, 1), uplo="L", diag="U")
        found = solved.reshape(chains, count + 1, 2)
        return np.moveaxis(found[:, :-1], 2, 0).reshape(2, -1), found[:, -1]


@dataclass(frozen=True)
class Sweeps:
    """What both sides know of each place, for many rates.

    ``known`` holds (qa, qm, qc, q²d, qu, qv), by steps, directions, rates and stretches.
    """

    line: Stretches
    q: Array
    known: Array

    @property
    def left(self) -> Known[Array]:
        return six(np.moveaxis(self.known[:, :, 0], 1, 0))

    @property
    def right(self) -> Known[Array]:
        return six(np.moveaxis(self.known[::-1, :, 1, :, ::-1], 1, 0))

    @cached_property
    def places(self) -> Array:
        """One minus the leverages, the leverages and the residuals, for each rate."""
        line, q = self.line, self.q
        found = np.empty((3, q.size, line.count, line.length))
        for some in line.blocks(q.size):
            left, right = (six(k[..., some] for k in side) for side in (self.left, self.right))
            w = line.weights[0][some].T[:, None] * q
            y = np.ascontiguousarray(line.values[0][some].T)[:, None]
            without = joint_determinant(left, right)
            determinant, residuals = left_out(left, right, without, w, y)
            leverages = w * (left[2] + right[2]) / determinant
            parts = np.stack([without / determinant, leverages, residuals])
            found[:, :, some] = parts.transpose(0, 2, 3, 1)
        return found.reshape(3, q.size, -1)[..., : line.size]

    def in_order(self, part: Array) -> Array:
        """Return what was found in steps and stretches from place to place, for each rate."""
        return part.transpose(1, 2, 0).reshape(self.q.size, -1)[:, : self.line.size]


@dataclass(frozen=True)
class Swept:
    """One rate of many that were swept together, place by place."""

    sweeps: Sweeps
    number: int

    @property
    def left(self) -> Known[Array]:
        return self._side(self.sweeps.left)

    @property
    def right(self) -> Known[Array]:
        return self._side(self.sweeps.right)

    def _side(self, known: Known[Array]) -> Known[Array]:
        rates = self.sweeps.q[self.number, 0] ** np.array([1, 1, 1, 2, 1, 1])
        parts = (self.sweeps.in_order(part)[self.number] for part in known)
        return six(part / rate for part, rate in zip(parts, rates, strict=True))

    @property
    def remainders(self) -> Array:
        return np.asarray(self.sweeps.places[0, self.number])

    @property
    def leverages(self) -> Array:
        return np.asarray(self.sweeps.places[1, self.number])

    @property
    def residuals(self) -> Array:
        return np.asarray(self.sweeps.places[2, self.number])

    @property
    def log_ratios(self) -> float:
        gaps, weights, values = self.sweeps.line.line
        after = observed(self.left, weights, values)
        rate = np.asarray(self.sweeps.q[self.number, 0])
        _, ratios = carried(six(part[:-1] for part in after), gaps, rate)
        return float(np.log(ratios).sum())


def swept(line: Stretches, rates: Array) -> list[Swept]:
    """Return what both sides know of each place, for each rate."""
    q = np.maximum(rates, SLOWEST)[:, None]
    known = np.empty((line.length, 6, 2, q.size, line.count))
    known[0, :4] = line.beginnings(q)
    if line.size * q.size <= BLOCK:
        everything = known.reshape(line.length, 6, -1)
        line.lanes(q, (0, 1), slice(None)).sweep(everything, np.zeros((2 * q.size, 2)))
    else:
        for way, k in np.ndindex(2, q.size):
            ends = np.zeros((1, 2))
            for some in line.blocks(1):
                lanes = line.lanes(q[[k]], (way,), some)
                ends = lanes.sweep(known[:, :, way, k, some], ends)
    sweeps = Sweeps(line, q, known)
    return [Swept(sweeps, number) for number in range(q.size)]


def _units(gaps: Array) -> Array:
    """Return the powers 3, 2, 1 and 4 of gaps, by which a, m, c and d are measured."""
    found = np.empty((4, *gaps.shape))
    found[2] = gaps
    np.multiply(gaps, gaps, out=found[1])
    np.multiply(found[1], gaps, out=found[0])
    np.multiply(found[1], found[1], out=found[3])
    return found


def _before_each(matrices: Array) -> Array:
    """Return (1, 0, 0, 0, 0) and what the matrices make of it one after the other, but for factors.

    Many matrices are cut into rows, whose products are joined first.
    """
    rates, count = matrices.shape[2:]
    length = count if count <= SHORT else int(np.ceil(np.sqrt(count)))
    rows = -(-count // length)
    beyond = np.broadcast_to(np.eye(5)[:, :, None, None], (5, 5, rates, rows * length - count))
    matrices = np.concatenate([matrices, beyond], axis=3).reshape(5, 5, rates, rows, length)
    steps = np.ascontiguousarray(np.moveaxis(matrices, 4, 0))
    if rows == 1:
        x = np.eye(5)[0][:, None, None] * np.ones((rates, 1))
    else:
        product = steps[0]
        for matrix in steps[1:]:
            product = (matrix[:, :, None] * product).sum(axis=1)
            product /= product.max(axis=(0, 1))
        x = _before_each(product)
    found = np.empty((5, rates, rows, length))
    for j, matrix in enumerate(steps):
        found[..., j] = x
        x = (matrix * x).sum(axis=1)
        x /= x.max(axis=0)
    return found.reshape(5, rates, -1)[..., :count]
