"""Mercer's theorem computed: eigenvalues and eigenfunctions of a kernel's integral operator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import sqrt

import numpy as np

from mercer.check import UNIT, Array, Points, as_numpy, chunks, how_many, vectors
from mercer.errors import InvalidInput, InvalidParameter, NotPositiveDefinite
from mercer.kernels.base import Kernel, Kind
from mercer.kernels.pairs import Aligned, AllPairs, is_complex
from mercer.kernels.text import kernel as read
from mercer.points import as_points
from mercer.rkhs.decompositions import (
    NEGLIGIBLE,
    HowDecomposed,
    Interval,
    Measure,
    MercerDecomposition,
    Normal,
    gauss,
    legendre,
    on_a_rectangle,
)
from mercer.rkhs.feature_distances import KERNEL_ROUNDING, kernel_values
from mercer.rkhs.functions import (
    combination_of_sections,
    orientation_of_columns,
    refuse_negative,
    unchangeable_points,
)
from mercer.settings import whole

FIRST_SIZE, LAST_SIZE = 32, 512
"""Polynomials that are tried first and at most; the last takes seconds."""

MOST_FUNCTIONS = 256
"""As many eigenvalues can be asked for as two sizes of basis can be compared on."""

SIGN_GRID = 1001
"""Points, with both ends, on which a function's sign is chosen; they depend on nothing else."""

BLOCK = 2**16
"""Numbers to which one step of a recurrence is applied: half a megabyte, which a cache holds."""


def mercer_decomposition(
    kernel: Kernel | str, measure: Measure | Points, count: int
) -> MercerDecomposition:
    r"""The leading eigenvalues and eigenfunctions of a kernel's integral operator.

    .. math:: (Tf)(x) = \int k(x, y) f(y)\, d\rho(y), \quad T\xi_i = \lambda_i \xi_i, \quad
        k(x, y) = \sum_i \lambda_i\, \xi_i(x)\, \overline{\xi_i(y)}

    The measure is an `Interval` (of the line, or a rectangle of R^p), a `Normal` law, or a sample
    of points of any kind. For a sample the values are those of K/n and :math:`\xi(x) =
    \frac{1}{n\lambda} \sum_i k(x, x_i)\, \xi(x_i)`. On the line (where the kernel is given
    one-dimensional arrays), T is projected on polynomials, and the integrals are split where y = x:
    they converge faster than any power for a kernel that is smooth on either side of the diagonal,
    such as min(x, y). The number of polynomials doubles until the errors are below 1e-12·λ₁;
    ``how.is_converged`` tells whether that was reached.

    Each error is the sum of the residual ‖Tξ - λξ‖ (within which an eigenvalue of T lies, since T
    is self-adjoint: proved, but for the quadrature), of the change at the last doubling (which
    estimates the quadrature's error), and of rounding. That no eigenvalue between two of the
    values is missed is not proved, except for a sample.

    On a rectangle the operator is that of Gauss and Legendre's nodes in every coordinate (Nyström):
    the errors are the changes from a grid that is coarser by 1.4 in every coordinate, and what is
    left to change if they go on to fall as the last two did: an estimate, good for smooth kernels;
    where the diagonal has a kink they stay large, and ``how.is_converged`` is False.

    The functions are orthonormal to about u·λ₁/λ, and λξ = Tξ defines them everywhere. On the
    sample, or on a fixed grid, the entry of largest modulus of ξ (of √density·ξ for a normal law)
    is positive, the first where several tie.

    >>> from mercer import Linear
    >>> d = mercer_decomposition(1.0 + Linear(), Interval(-1.0, 1.0), 3)
    >>> d.values, len(d.functions), d.trace
    (array([2.        , 0.66666667, 0.        ]), 2, 2.6666667)
    >>> d.functions[1]([0.5]) ** 2, d.features([0.5]) @ d.features([3.0]).T
    (array([0.375]), array([[2.5]]))
    >>> mercer_decomposition(1.0 + Linear(), Interval([-1.0, -1.0], [1.0, 1.0]), 4).values
    array([4.        , 1.33333333, 1.33333333, 0.        ])

    Kroese et al., Theorem 6.4 and Example 6.9; Beeny, Theorem 3.21.
    """
    kernel, wanted = read(kernel), whole(count, "count", least=1)
    if kernel.kind is Kind.CONDITIONAL:
        raise NotPositiveDefinite(
            f"{kernel} is conditionally positive definite and has no Mercer decomposition; centre "
            "it on a sample first: k.centred(x)"
        )
    if isinstance(measure, Interval) and measure.dimension:
        return on_a_rectangle(kernel, measure, wanted)
    if isinstance(measure, Interval | Normal):
        return _on_the_line(kernel, measure, wanted)
    return _on_a_sample(kernel, unchangeable_points(as_points(measure, "measure")), wanted)


def _on_a_sample(kernel: Kernel, points: Points, count: int) -> MercerDecomposition:
    n = how_many(points)
    if count > n:
        raise InvalidParameter(f"a sample of {n} points has {n} eigenvalues, found count = {count}")
    kernel = kernel.resolve(points)
    T = kernel_values(kernel, AllPairs(points)) / n
    T = 0.5 * (T + T.conj().T)
    values, axes = np.linalg.eigh(T)
    largest = float(np.max(np.abs(values)))
    rounding = n * UNIT * largest
    refuse_negative(kernel, float(values[0]), n * KERNEL_ROUNDING * largest)
    values, axes = values[::-1][:count], axes[:, ::-1][:, :count]
    errors = np.linalg.norm(T @ axes - axes * values, axis=0) + rounding
    positive = values > rounding
    leading = (
        axes[:, positive] * orientation_of_columns(axes[:, positive]) / sqrt(n) / values[positive]
    )
    return MercerDecomposition(
        values=np.where(positive, values, 0.0),
        errors=np.where(positive, errors, errors + np.abs(values)),
        trace=float(np.trace(T).real),
        how=HowDecomposed("eigenvectors of K/n", n, True),
        family=partial(combination_of_sections, kernel, points=points, weights=leading),
    )


@dataclass(frozen=True, slots=True)
class _Basis:
    """The first polynomials, orthonormal on the interval of a measure, and T applied to them.

    √density·T·√density⁻¹ acts on functions of the interval with Lebesgue measure and has the
    eigenvalues of T; the polynomials p stand for functions p/√density of L²(ρ).
    """

    kernel: Kernel
    measure: Measure
    size: int

    @property
    def nodes(self) -> int:
        """Enough for products of three functions of the basis, in the outer integral."""
        return 3 * self.size // 2

    @property
    def frame(self) -> tuple[float, float]:
        """The centre of the interval and half its length: x = centre + half·t with |t| ≤ 1."""
        a, b = self.measure.ends
        return 0.5 * (a + b), 0.5 * (b - a)

    def points(self, t: Array) -> Array:
        """Return the points of the interval at t, not one rounding outside of it."""
        centre, half = self.frame
        return np.clip(centre + half * t, *self.measure.ends)

    def polynomials(self, t: Array) -> Array:
        """Return the polynomials at t as columns."""
        return np.stack(list(legendre(t, self.size)), axis=1) / sqrt(self.frame[1])

    def images(self, x: Array) -> Array:
        """Return the columns ∫ k(x, y) √density(y) p(y) dy."""
        rows = chunks(len(x), max(1, BLOCK // (2 * self.nodes)))
        parts = [self._images(x[r]) for r in rows]
        return np.concatenate(parts) if parts else np.zeros((0, self.size))

    def _images(self, x: Array) -> Array:
        centre, half = self.frame
        split = np.clip((x - centre) / half, -1.0, 1.0)[:, None]
        # t = split ± length·s² crowds the nodes at the diagonal and smooths a root |x - y|^½ there.
        # Polynomials see t before it is rounded to a point of the line: they are steep at the ends.
        nodes, w = gauss(self.nodes)
        s = 0.5 * (1.0 + nodes)
        t = np.hstack([split - (split + 1.0) * s * s, split + (1.0 - split) * s * s])
        weights = half * np.hstack([(split + 1.0) * s * w, (1.0 - split) * s * w])
        y = self.points(t)
        values = kernel_values(self.kernel, Aligned(np.repeat(x, y.shape[1]), y.ravel()))
        values = values.reshape(y.shape) * weights * self.measure.root_density(y)
        columns = [np.einsum("iq,iq->i", values, p) for p in legendre(t, self.size)]
        return np.stack(columns, axis=1) / sqrt(half)


@dataclass(frozen=True, slots=True, eq=False)
class _Projection:
    """The eigenpairs of T projected on a basis, decreasing, each with its residual."""

    basis: _Basis
    values: Array
    axes: Array
    residuals: Array

    @property
    def rounding(self) -> float:
        """What rounding may do to an eigenvalue."""
        return self.basis.size * UNIT * float(np.max(np.abs(self.values)))

    def errors(self, before: _Projection, which: slice) -> Array:
        """Return the errors of some eigenvalues, knowing those of a smaller basis."""
        change = np.abs(self.values[which] - before.values[which])
        return np.asarray(self.residuals[which] + change + self.rounding)


def _projected(kernel: Kernel, measure: Measure, size: int) -> _Projection:
    basis = _Basis(kernel, measure, size)
    t, w = gauss(basis.nodes)
    x, w = basis.points(t), basis.frame[1] * w
    p, images = basis.polynomials(t), basis.images(x) * measure.root_density(x)[:, None]
    T = (p * w[:, None]).T @ images
    values, axes = np.linalg.eigh(0.5 * (T + T.conj().T))
    values, axes = values[::-1], axes[:, ::-1]
    gaps = images @ axes - p @ axes * values
    residuals = np.sqrt(np.einsum("qi,q->i", np.abs(gaps) ** 2, w))
    return _Projection(basis, values, axes, residuals)


@dataclass(frozen=True, slots=True)
class _Images:
    """Eigenfunctions on the line as λ⁻¹Tξ, which is smoother than the ξ of the projection.

    At the ends of an interval it has a hundredth of its error, and it does not divide by a
    density that vanishes.
    """

    basis: _Basis
    values: Array
    axes: Array

    def __call__(self, x: Points) -> Array:
        rows = as_numpy(vectors(x))
        if rows.shape[1] != 1 or is_complex(rows):
            raise InvalidInput(
                f"these eigenfunctions are functions on the line, and x has {rows.shape[1]} "
                "coordinates, or complex ones"
            )
        return self.basis.images(rows[:, 0]) @ self.axes / self.values


def _on_the_line(kernel: Kernel, measure: Measure, count: int) -> MercerDecomposition:
    if count > MOST_FUNCTIONS:
        raise InvalidParameter(
            f"at most {MOST_FUNCTIONS} eigenvalues are computed on the line, found count = {count}"
        )
    trace = _trace(kernel, measure)
    found, errors, is_converged = _settled(kernel, measure, count)
    values = found.values[:count]
    positive = values > found.rounding
    return MercerDecomposition(
        values=np.where(positive, values, 0.0),
        errors=np.where(positive, errors, errors + np.abs(values)),
        trace=trace,
        how=HowDecomposed("projection on polynomials", found.basis.nodes, is_converged),
        family=_family(found, int(np.sum(positive))),
    )


def _settled(kernel: Kernel, measure: Measure, count: int) -> tuple[_Projection, Array, bool]:
    """Double the basis until the leading eigenvalues no longer change; return their errors."""
    enough = 2 ** (2 * count - 1).bit_length()
    found = _projected(kernel, measure, min(max(FIRST_SIZE, enough), LAST_SIZE // 2))
    is_converged = False
    while not is_converged and found.basis.size < LAST_SIZE:
        before, found = found, _projected(kernel, measure, 2 * found.basis.size)
        errors = found.errors(before, slice(count))
        is_converged = bool(np.all(errors <= NEGLIGIBLE * np.max(np.abs(found.values))))
    last = found.errors(before, slice(-1, None))[0]
    doubt = found.basis.size * KERNEL_ROUNDING * np.max(np.abs(found.values))
    refuse_negative(kernel, float(found.values[-1]), float(last + doubt))
    return found, errors, is_converged


def _family(found: _Projection, rank: int) -> _Images:
    leading = found.axes[:, :rank]
    grid = found.basis.polynomials(np.linspace(-1.0, 1.0, SIGN_GRID))
    signs = orientation_of_columns(grid @ leading)
    return _Images(found.basis, found.values[:rank], leading * signs)


def _trace(kernel: Kernel, measure: Measure) -> float:
    """Return ∫ k(x, x) dρ(x), or say that it is infinite: then T need not have eigenvalues."""
    basis = _Basis(kernel, measure, LAST_SIZE)
    t, w = gauss(basis.nodes)
    x, ends = basis.points(t), np.array(measure.ends)
    inner, outer = (
        kernel_values(kernel, Aligned(p)).real * measure.root_density(p) ** 2 for p in (x, ends)
    )
    trace = basis.frame[1] * float(np.sum(w * inner))
    if isinstance(measure, Normal) and np.max(outer) * measure.sd > NEGLIGIBLE * abs(trace):
        raise InvalidInput(
            f"k(x, x) of {kernel} grows too fast to be integrated against {measure}: it has no "
            "Mercer decomposition for this law. Take a smaller sd or a bounded kernel"
        )
    return trace
