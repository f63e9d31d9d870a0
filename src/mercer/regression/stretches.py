r"""The information filter along a line in numpy: many stretches and rates in step.

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

from math import frexp, prod
from typing import Any

import numpy as np
from scipy.linalg.lapack import dtbtrs

from mercer.check import Array

SHORT = 16
"""Up to this many in a row are taken one by one."""

LARGEST = 100
"""The decimal logarithm of the largest entry that a product of matrices may have."""

NEAREST = 1e-60
"""Shorter gaps, as shares of the range, count as this one, whose powers are still doubles.

At rates up to 1e100 a slope is about 1e50 at most, which over such a gap changes nothing.
"""

FAINTEST = 1e-250
"""Gaps are not so short that h⁴w falls below this, and q²h⁴w below what is a double."""

SIDE_BY_SIDE = 4096
"""So many stretches are swept at once from either side: few steps, and not too much memory."""

PAGE = 2**21
"""The size of a large page of memory."""

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
        [-1.0, 0.0, -1 / 6, -1 / 2, 0.0],
        [0.0, 1 / 2, 1.0, 0.0, 0.0],
        [1.0, -1 / 6, -1 / 2, 0.0, 0.0],
    ]
)
"""The matrix that moves (u, v), column by column, as multiples of (1, a, m, c, d)."""

OBSERVED = np.eye(5)[:, [0, 1, 2, 3, 4, 1, 4]]
"""O: an observation of weight w adds w to a, and wc to d, which stand last."""

STEP = np.vstack([CARRIED, MOVED]) @ OBSERVED
PAIRED = np.array([1.0, 1.0, 2.0, 1.0, 1.0])
"""The weights of :func:`mercer.regression.information.joint_determinant`, as a bilinear form."""


class Stretches:
    """The places of a line cut into stretches of equal length, and these into blocks.

    Arrays go by blocks, steps, rates, and directions with stretches; from the right, blocks, steps
    and stretches go backwards. What is known of a place is in units of the gap behind, over which
    it came; ``ratios`` are those of the gap ahead to that one. Values are multiples of ``unit``, a
    power of two, so that their products with powers of gaps are doubles as well.
    """

    def __init__(self, gaps: Array, weights: Array, values: Array) -> None:
        self.line = gaps, weights, values
        self.size = n = weights.size
        self.length = n if n <= SHORT else max(SHORT // 2, int(np.cbrt(n)))
        count = -(-n // self.length)
        self.blocks = -(-count // SIDE_BY_SIDE)
        self.side = -(-count // self.blocks)
        shape = self.blocks, self.length, self.side
        numbers = room((10, *shape))
        w, self.values, *self.gaps = numbers[:4]
        # Places of weight 0 beyond the last know nothing, and nobody asks what is known of them.
        row = np.zeros(prod(shape))
        self.unit = 2.0 ** frexp(max(float(values.max()), -float(values.min())))[1]
        for part, unit, cut in ((weights, 1.0, w), (values, self.unit, self.values)):
            np.divide(part, unit, out=row[:n])
            cut[:] = self._cut(row)
        row[: n - 1], row[n - 1 :] = gaps, gaps[-1]
        nearest = max(NEAREST, (FAINTEST / float(weights.min())) ** 0.25)
        np.maximum(row, nearest, out=row)
        self.gaps[1][:] = self._cut(row)
        row[1:] = row[:-1].copy()
        self.gaps[0][:] = self._cut(row)
        parts = numbers[4:].reshape(3, self.blocks, self.length, -1)
        for way in (0, 1):
            behind, ahead = self.gaps[way], self.gaps[1 - way]
            ratios, sized, sums = (self.in_order(part, way) for part in parts)
            np.divide(ahead, behind, out=ratios)
            np.multiply(w * ahead * ahead, ahead, out=sized)
            np.multiply(w * self.values * behind * behind, behind, out=sums)
        self.ratios, self.weights, self.sums = parts
        self.largest = float(self.ratios.max()), float(self.weights.max())
        self.spare: dict[tuple[int, ...], list[Array]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "spare": {}}

    def _cut(self, row: Array) -> Array:
        """Return places by blocks, steps and stretches."""
        return np.swapaxes(row.reshape(self.blocks, self.side, self.length), 1, 2)

    def in_order(self, part: Array, way: int) -> Array:
        """Return what one direction meets, in the order of places."""
        part = part.reshape(*part.shape[:-1], 2, self.side)
        return part[::-1, ::-1, ..., 1, ::-1] if way else part[..., 0, :]

    def borrowed(self, shape: tuple[int, ...]) -> Array:
        """Return memory of a shape, that of an earlier sweep if there is any."""
        try:
            return self.spare[shape].pop()  # in one step, lest two threads get the same
        except (KeyError, IndexError):
            return room(shape)

    def give_back(self, array: Array) -> None:
        """Keep memory that nobody uses any more for a later sweep."""
        self.spare.setdefault(array.shape, []).append(array)

    def beginnings(self, q: Array) -> Array:
        """Return what is known where each stretch begins, from the left and from the right."""
        shape = q.size, self.blocks, self.side
        count = self.blocks * self.side
        if count == 1:
            return np.zeros((1, 4, q.size, 2))
        matrices = room((2, q.size, count, 5, 5))
        for block in range(self.blocks):
            here = slice(block * self.side, (block + 1) * self.side)
            matrices[0, :, here] = np.moveaxis(self._products(q, block), (0, 1), (2, 3))
        # From the right a stretch acts by its adjoint, which does not change what both sides know.
        matrices[1] = matrices[0, :, ::-1, ::-1, ::-1].swapaxes(2, 3) * PAIRED / PAIRED[:, None]
        x = np.moveaxis(_before_each(matrices), 3, 0)
        # The adjoint carries before it observes, and so leaves the gap before a stretch to us.
        right = np.tensordot(CARRIED, x[:, 1], 1)
        sides = [side.reshape(4, *shape) for side in (x[1:, 0], right[1:] / right[0])]
        return np.moveaxis(np.concatenate(sides, axis=3), 2, 0)

    def _products(self, q: Array, block: int) -> Array:
        """Return the product of the matrices of each stretch of a block, but for a factor."""
        weight, powers = np.empty((q.size, self.side)), np.empty((4, 1, 1, self.side))
        x, following = room((2, 7, 5, q.size, self.side))
        x[:5] = np.eye(5)[:, :, None, None]
        eased = self._eased(q)
        from_left = slice(0, self.side)
        for i in range(self.length):
            np.multiply(self.weights[block, i, from_left], q, out=weight)
            fill_powers(self.ratios[block, i, from_left], out=powers)
            np.multiply(x[1:5], powers, out=x[1:5])
            np.multiply(x[:4:3], weight, out=x[5:])
            np.matmul(STEP[:5], x.reshape(7, -1), out=following[:5].reshape(5, -1))
            x, following = following, x
            if i % eased == eased - 1 or i == self.length - 1:
                x[:5] /= x[:5].max(axis=(0, 1))
        return np.asarray(x[:5])

    def _eased(self, q: Array) -> int:
        """Return after how many steps a product is divided by its largest entry.

        The first entry never falls, and in a step none grows by more than a known factor: a change
        of unit multiplies by r⁴ at most, an observation adds w, or w times an entry that only
        grew by r, and no row of T has a sum above 5.
        """
        ratio, weight = max(1.0, self.largest[0]), self.largest[1] * float(q.max())
        grown = 5.0 * ratio * (ratio**3 + weight)
        return max(1, int(LARGEST / np.log10(grown)))

    def sweep(self, q: Array, known: Array) -> None:
        """Fill in (a, m, c, d, u, v) at each step, where a to d are there at the first."""
        vectors = np.zeros((q.size, 2, 2))
        maps = self.borrowed((self.length + 1, 2, 2, q.size, 2 * self.side))
        for block in range(self.blocks):
            vectors = self._sweep(q, known[block], maps, vectors, block)
        self.give_back(maps)

    def _sweep(self, q: Array, known: Array, maps: Array, vectors: Array, block: int) -> Array:
        """Sweep a block; return (u, v) at its end from (u, v) where it begins.

        (u, v) is first found, without the factor q, for stretches that begin with nothing; what it
        is where they begin then comes on top by linear maps.
        """
        lanes = q.size, 2 * self.side
        # Room for all that a step needs, and the same memory in the shapes that it needs.
        work = room((33, *lanes))
        x, moved, scales, vector, products = np.split(work, np.cumsum([7, 9, 3, 2]))
        matrix, pairs = moved[5:].reshape(2, 2, *lanes), moved[5:].reshape(2, 2, 1, *lanes)
        once, twice = products[:4].reshape(2, 2, *lanes), products[4:].reshape(2, 2, 2, *lanes)
        columns, flat, flat_moved = vector[:, None], x.reshape(7, -1), moved.reshape(9, -1)
        inverse, powers = scales[0], np.empty((4, 1, lanes[1]))
        x[0], maps[0], known[0, 4:] = 1.0, np.eye(2)[:, :, None, None], 0.0
        steps = zip(self.ratios[block], self.weights[block], self.sums[block], strict=True)
        for i, (ratio, weight, total) in enumerate(steps):
            now, following = known[i], known[i + 1]
            # x = (1, a, m, c, d, w, wc), in units of the gap ahead.
            fill_powers(ratio, out=powers)
            np.multiply(now[:4], powers, out=x[1:5])
            np.multiply(weight, q, out=x[5])
            np.multiply(x[5], x[3], out=x[6])
            # (Δ, Δa, Δm, Δc, Δd) after the gap, and Δ times the matrix that moves (u, v).
            np.matmul(STEP, flat, out=flat_moved)
            np.divide(1.0, moved[0], out=inverse)
            np.multiply(moved[1:5], inverse, out=following[:4])
            # Its columns take u and v, which change their units as a and m do.
            np.multiply(powers[:2], inverse, out=scales[1:])
            np.multiply(matrix, scales[1:, None], out=matrix)
            # The vector with the observation, moved; and what becomes of one at the beginning.
            np.add(now[4], total, out=vector[0])
            vector[1] = now[5]
            np.multiply(matrix, columns, out=once)
            np.add(once[0], once[1], out=following[4:])
            np.multiply(pairs, maps[i][:, None], out=twice)
            np.add(twice[0], twice[1], out=maps[i + 1])
        begins, ends = self._joined(known[-1, 4:], maps[-1], vectors)
        added, linear = known[:-1, 4:], maps[:-1]
        linear *= begins
        added += linear[:, :, 0]
        added += linear[:, :, 1]
        added *= q
        return ends

    def _joined(self, added: Array, maps: Array, vectors: Array) -> tuple[Array, Array]:
        """Return (u, v) at the beginnings of stretches, and at the end of the last.

        That is the solution of a triangular system with three diagonals below the first.
        """
        chains = len(vectors), 2
        band, sums = (np.zeros((*chains, self.side + 1, *k)) for k in ((2, 4), (2,)))
        first, second, other = (
            np.moveaxis(part.reshape(2, *chains, self.side), 0, -1)
            for part in (maps[:, 0], maps[:, 1], added)
        )
        np.negative(first, out=band[..., :-1, 0, 2:])
        np.negative(second, out=band[..., :-1, 1, 1:3])
        sums[..., 0, :], sums[..., 1:, :] = vectors, other
        solved, _ = dtbtrs(band.reshape(-1, 4).T, sums.reshape(-1, 1), uplo="L", diag="U")
        found = solved.reshape(sums.shape)
        begins = np.moveaxis(found[..., :-1, :], -1, 0).reshape(2, len(vectors), -1)
        return begins, found[..., -1, :]


def room(shape: tuple[int, ...]) -> Array:
    """Return an empty array, a large one from the beginning of a large page of memory on.

    The system hands out small pages one by one, which can take as long as a sweep.

    >>> room((3, 2)).shape, room((1000, 1000)).ctypes.data % PAGE
    ((3, 2), 0)
    """
    size = 8 * prod(shape)
    if size < PAGE // 2:
        return np.empty(shape)
    memory = np.empty(size + 2 * PAGE - size % PAGE, np.uint8)
    start = -memory.ctypes.data % PAGE
    return memory[start : start + size].view(float).reshape(shape)


def fill_powers(ratios: Array, out: Array) -> None:
    """Fill in the powers 3, 2, 1 and 4 of ratios, by which a, m, c and d are measured."""
    out[2] = ratios
    np.multiply(ratios, ratios, out=out[1])
    np.multiply(out[1], ratios, out=out[0])
    np.multiply(out[1], out[1], out=out[3])


def _before_each(matrices: Array) -> Array:
    """Return (1, 0, 0, 0, 0) and what matrices make of it one after the other, first number 1.

    Many matrices are cut into rows, whose products are joined first.
    """
    *lanes, count, _, _ = matrices.shape
    length = count if count <= SHORT else int(np.ceil(np.sqrt(count)))
    rows = -(-count // length)
    beyond = np.broadcast_to(np.eye(5), (*lanes, rows * length - count, 5, 5))
    steps = np.concatenate([matrices, beyond], axis=-3).reshape(*lanes, rows, length, 5, 5)
    if rows == 1:
        x = np.broadcast_to(np.eye(5, 1), (*lanes, 1, 5, 1))
    else:
        product = steps[..., 0, :, :]
        for j in range(1, length):
            product = steps[..., j, :, :] @ product
            product /= product.max(axis=(-2, -1), keepdims=True)
        x = _before_each(product)[..., None]
    found = np.empty((*lanes, rows, length, 5))
    for j in range(length):
        found[..., j, :] = x[..., 0]
        x = steps[..., j, :, :] @ x
        x /= x[..., :1, :]
    return found.reshape(*lanes, -1, 5)[..., :count, :]
