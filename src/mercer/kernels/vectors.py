"""Kernels on vectors that are functions of inner products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from mercer.check import (
    ASYMMETRY_OF_FORMULAS,
    Array,
    Points,
    array_like,
    as_numpy,
    finite,
    namespace,
    square_matrix,
    vectors,
    worst_asymmetry,
)
from mercer.errors import InvalidInput, InvalidParameter, NotDifferentiable, NotPositiveDefinite
from mercer.kernels.base import Domain, Kernel, Kind, value
from mercer.kernels.counts import factors_of_features
from mercer.kernels.features import join, monomials
from mercer.kernels.pairs import (
    INNER,
    LARGEST_SQUARE,
    Aligned,
    Pairs,
    Scale,
    Statistic,
    is_complex,
    real,
)
from mercer.kernels.statements import FUNCTION, Arithmetic, Bound
from mercer.settings import nonnegative, number, whole

AFFINE = {"gamma": "scale", "coef0": "offset"}
"""scikit-learn's names for the affine function of the inner product."""


@value
class Linear(Kernel):
    r"""The inner product of two vectors, conjugate linear in the second for complex ones.

    .. math:: k(x, y) = \langle x, y \rangle = \sum_j x_j \overline{y_j}

    Points are vectors, real or complex.

    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])

    Beeny, Example 3.3; Kroese et al., Example 6.4.
    """

    theorem: ClassVar[str] = "an inner product is positive definite"
    formula: ClassVar[str] = "inner(x, y)"
    is_vectorial: ClassVar[bool] = True
    is_of_products: ClassVar[bool] = True

    @property
    def inner_weight(self) -> float | None:
        return 1.0

    @property
    def is_linear(self) -> bool:
        return True

    @property
    def is_affine(self) -> bool:
        return True

    @property
    def has_factors(self) -> bool:
        return True

    def sparse_factors(self, pairs: Any) -> list[tuple[Any, Any]]:
        return [pairs.rows] if pairs.is_sparse else factors_of_features(self, pairs)

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        return (INNER,)

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        return arithmetic.inner()

    def stretch(self, scale: Scale) -> Kernel:
        if isinstance(scale, tuple):
            return Bilinear(np.diag(np.array(scale) ** -2.0))
        return self * (1.0 / scale / scale)

    def evaluate(self, pairs: Pairs) -> Array:
        return pairs.inner()

    def evaluate_squares(self, pairs: Pairs) -> Array:
        squares = pairs.squared_distance()
        if not bool(pairs.xp.any(squares >= LARGEST_SQUARE)):
            return squares
        distances = pairs.distance(2.0)  # whose squares may overflow, and then say so
        return distances * distances

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        return broadcast_y(pairs, pairs.vectors[1])

    def scaled_squares(self, pairs: Pairs, scale: float) -> Array:
        return pairs.squared_distance(scale)

    def features(self, x: Points) -> Array:
        return vectors(x) + 0.0


def broadcast_y(pairs: Pairs, rows: Array) -> Array:
    """Return one row for each y, repeated over all pairs."""
    if is_complex(rows):
        raise NotDifferentiable("slopes are defined for real vectors only")
    shape = (*pairs.shape, rows.shape[1])
    return namespace(rows).broadcast_to(pairs.of_y(rows), shape) + 0.0


@value
class Tanimoto(Kernel):
    r"""The Tanimoto similarity of vectors, on 0/1 fingerprints the Jaccard index of their bits.

    .. math:: k(x, y) = \frac{\langle x, y \rangle}{\|x\|^2 + \|y\|^2 - \langle x, y \rangle}
        = \sum_{m \ge 1} \Bigl(\frac{\langle x, y \rangle}{\|x\|^2 + \|y\|^2}\Bigr)^m

    The series converges, as :math:`2|\langle x, y \rangle| \le \|x\|^2 + \|y\|^2`, and its terms
    are powers of the product of two kernels: the inner product, and 1/(a + b) of squared norms
    (:math:`\int_0^\infty e^{-ta} e^{-tb}\, dt`). So it is positive definite on all vectors, of
    whatever signs. Vectors of zeros share one unit vector of their own: 1 among themselves, 0 with
    all others.

    Points are vectors, real or complex, whose squared norms are doubles.

    >>> Tanimoto()([[1, 1, 0], [0, 0, 0]], [[0, 1, 1], [0, 0, 0]]).round(3)
    array([[0.333, 0.   ],
           [0.   , 1.   ]])

    Ralaivola, Swamidass, Saigo and Baldi, Graph kernels for chemical informatics, Neural Networks
    18, 2005.
    """

    theorem: ClassVar[str] = "a power series in the inner product times 1/(a + b) of squared norms"
    formula: ClassVar[str] = "inner(x, y) / (norm(x)**2 + norm(y)**2 - inner(x, y))"
    is_vectorial: ClassVar[bool] = True
    is_of_products: ClassVar[bool] = True

    def stretch(self, scale: Scale) -> Kernel:
        return Kernel.stretch(self, scale) if isinstance(scale, tuple) else self

    def _parts(self, pairs: Pairs) -> tuple[Array, Array]:
        """Return inner products, and the denominator, which is 0 for two vectors of zeros."""
        left, right = (_squared_norms(side) for side in (pairs.left(), pairs.right()))
        shared = pairs.inner()
        return shared, pairs.of_x(left) + pairs.of_y(right) - shared

    def evaluate(self, pairs: Pairs) -> Array:
        shared, union = self._parts(pairs)
        xp = namespace(shared)
        is_some = xp.abs(union) > 0
        values = xp.where(is_some, shared / xp.where(is_some, union, 1.0), 1.0)
        if pairs.same and len(pairs.shape) == 2:  # a matrix product may round otherwise than norms
            values = xp.where(xp.eye(pairs.shape[0], dtype=xp.bool, **pairs.place), 1.0, values)
        return values

    def evaluate_squares(self, pairs: Pairs) -> Array:
        r"""Return 2 - 2 Re k, of real vectors without cancellation.

        .. math:: 2 - 2k(x, y) = \frac{4 \|x - y\|^2}{\|x\|^2 + \|y\|^2 + \|x - y\|^2}
        """
        if is_complex(pairs.rows[0]):
            return Kernel.evaluate_squares(self, pairs)
        left, right = (_squared_norms(side) for side in (pairs.left(), pairs.right()))
        gaps = pairs.squared_distance()
        total = pairs.of_x(left) + pairs.of_y(right) + gaps
        xp = namespace(gaps)
        return xp.where(total > 0, 4.0 * gaps / xp.where(total > 0, total, 1.0), 0.0)

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        shared, union = self._parts(pairs)
        xp = namespace(shared)
        unit = xp.where(union > 0, union, 1.0)
        a, b = pairs.vectors
        rows = broadcast_y(pairs, b)
        towards, back = (unit + shared) / unit / unit, 2.0 * shared / unit / unit
        slopes = towards[..., None] * rows - back[..., None] * pairs.of_x(a)
        return xp.where((union > 0)[..., None], slopes, 0.0)


SMALLEST_NORM, LARGEST_NORM = 1e-280, 1e300
"""Squared norms below this have lost digits to underflow, sums of those above may overflow."""


def _squared_norms(own: Aligned) -> Array:
    """Return squared norms, none of which has underflowed or overflowed."""
    norms = real(own.inner())
    is_small = (norms < SMALLEST_NORM) & (own.largest_coordinates() > 0)
    wrong = is_small | ~(norms < LARGEST_NORM)
    if bool(namespace(norms).any(wrong)):
        point = int(as_numpy(wrong).argmax())
        raise InvalidInput(
            f"the squared norm of point {point} of the part at hand leaves the range of double "
            "precision; multiply the data by a constant, which changes nothing in this kernel"
        )
    return norms


@value
class Polynomial(Kernel):
    r"""A power of an affine function of the inner product.

    .. math:: k(x, y) = (s\,\langle x, y \rangle + o)^m,
        \quad m \in \{0, 1, 2, \dots\},\; s \ge 0,\; o \ge 0

    Points are vectors, real or complex; ``degree`` m ≥ 0 is a whole number, ``offset`` o ≥ 0,
    ``scale`` s ≥ 0.

    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])

    Kroese et al., Example 6.10.
    """

    degree: int = 3
    offset: float = 1.0
    scale: float = 1.0
    domain: ClassVar[Domain] = {"degree": whole, "offset": nonnegative, "scale": nonnegative}
    theorem: ClassVar[str] = "a power of an inner product plus a nonnegative constant"
    formula: ClassVar[str] = "(scale * inner(x, y) + offset)**degree"
    equivalents: ClassVar[Mapping[str, str]] = AFFINE
    is_vectorial: ClassVar[bool] = True
    is_of_products: ClassVar[bool] = True

    @property
    def inner_weight(self) -> float | None:
        return None if self.degree > 1 else self.degree * self.scale

    @property
    def is_affine(self) -> bool:
        return self.degree <= 1

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        return (INNER,)

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        inner = arithmetic.inner()
        value = self.scale * inner.value + self.offset
        error = self.scale * inner.error + 2 * arithmetic.unit * value
        return arithmetic.power(Bound(value, error), self.degree)

    def stretch(self, scale: Scale) -> Kernel:
        if isinstance(scale, tuple):
            return Kernel.stretch(self, scale)
        return replace(self, scale=self.scale / scale / scale)

    def _base(self, pairs: Pairs) -> Array:
        base = self.scale * pairs.inner()
        base += self.offset
        return base

    def evaluate(self, pairs: Pairs) -> Array:
        return self._base(pairs) ** self.degree

    def _outer_slope(self, pairs: Pairs) -> Array:
        base = self._base(pairs)
        return 0.0 * base if self.degree == 0 else self.degree * base ** (self.degree - 1)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        outer = self._outer_slope(pairs)
        return {"offset": outer, "scale": outer * pairs.inner()}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        slope = self.scale * self._outer_slope(pairs)
        return slope[..., None] * broadcast_y(pairs, pairs.vectors[1])

    def features(self, x: Points) -> Array:
        rows = vectors(x)
        ones = 0.0 * rows[:, :1] + sqrt(self.offset)
        with np.errstate(over="ignore"):
            scaled = finite(sqrt(self.scale) * rows, f"a feature of {self}")
        return monomials(join([scaled, ones]), self.degree)


@value
class Sigmoid(Kernel):
    r"""The hyperbolic tangent of an affine function of the inner product: not a kernel.

    .. math:: s(x, y) = \tanh(s\,\langle x, y \rangle + o)

    It is a similarity that need not be positive definite and has no valid parameters in
    general; it is here because scripts use it, and it says so.

    Points are vectors, real or complex; ``scale`` s and ``offset`` o are any real numbers.

    >>> Sigmoid()([[1.0]], [[0.0]]), Sigmoid().kind.value
    (array([[0.]]), 'a similarity that need not be positive definite')

    Smola, Óvári and Williamson, Regularization with dot-product kernels, 2001.
    """

    scale: float = 1.0
    offset: float = 0.0
    domain: ClassVar[Domain] = {"scale": number, "offset": number}
    formula: ClassVar[str] = "tanh(scale * inner(x, y) + offset)"
    equivalents: ClassVar[Mapping[str, str]] = AFFINE
    is_vectorial: ClassVar[bool] = True
    is_of_products: ClassVar[bool] = True

    @property
    def kind(self) -> Kind:
        return Kind.SIMILARITY

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        return (INNER,)

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        inner, steepness = arithmetic.inner(), abs(self.scale)
        argument = steepness * inner.value + abs(self.offset)
        rounding = (2 * argument + FUNCTION) * arithmetic.unit
        return Bound(1.0, steepness * inner.error + rounding)

    def stretch(self, scale: Scale) -> Kernel:
        if isinstance(scale, tuple):
            return Kernel.stretch(self, scale)
        return replace(self, scale=self.scale / scale / scale)

    def evaluate(self, pairs: Pairs) -> Array:
        inner = pairs.inner()
        return namespace(inner).tanh(self.scale * inner + self.offset)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        outer = 1.0 - self.evaluate(pairs) ** 2
        return {"scale": outer * pairs.inner(), "offset": outer}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        slope = self.scale * (1.0 - self.evaluate(pairs) ** 2)
        return slope[..., None] * broadcast_y(pairs, pairs.vectors[1])


def _positive_form(B: Any, name: str) -> tuple[tuple[complex, ...], ...]:
    matrix = square_matrix(B, name)
    asymmetry, (i, j) = worst_asymmetry(matrix)
    if asymmetry > ASYMMETRY_OF_FORMULAS:
        raise NotPositiveDefinite(
            f"{name} must be symmetric for x'By to be a kernel: entries ({i}, {j}) and ({j}, {i}) "
            "differ"
        )
    values = np.linalg.eigvalsh(matrix)
    largest = float(np.max(np.abs(values), initial=0.0))
    if values.size and values[0] < -len(values) * np.finfo(float).eps * largest:
        raise NotPositiveDefinite(
            f"{name} has the negative eigenvalue {values[0]:.6g}: x'By is a kernel for positive "
            "semidefinite B only"
        )
    return tuple(tuple(row) for row in matrix.tolist())


@value
class Bilinear(Kernel):
    r"""A positive semidefinite form.

    .. math:: k(x, y) = x^\top B\, \overline{y}, \quad B \succeq 0

    Points are vectors, real or complex; ``B`` is symmetric, or Hermitian, and positive
    semidefinite, with a row for each coordinate.

    >>> Bilinear([[2.0, 0.0], [0.0, 3.0]])([[1.0, 1.0]], [[1.0, 2.0]])
    array([[8.]])

    Gallier and Quaintance, Proposition 53.6.
    """

    B: tuple[tuple[complex, ...], ...] | Sequence[Sequence[complex]] | Array
    domain: ClassVar[Domain] = {"B": _positive_form}
    theorem: ClassVar[str] = "x'By with B positive semidefinite (checked)"
    formula: ClassVar[str] = "inner(x, B @ y)"
    is_vectorial: ClassVar[bool] = True

    @property
    def is_affine(self) -> bool:
        return True

    def stretch(self, scale: Scale) -> Kernel:
        lengths = np.asarray(scale)
        rows = lengths[:, None] if lengths.ndim else lengths
        return Bilinear(np.asarray(self.B) / rows / lengths)

    def _form(self, pairs: Pairs) -> Array:
        form = pairs.array(self.B)
        if form.shape[0] != pairs.columns:
            raise InvalidParameter(
                f"B is {form.shape[0]} x {form.shape[0]} but the points have {pairs.columns} "
                "coordinates"
            )
        return form

    def evaluate(self, pairs: Pairs) -> Array:
        x, y = pairs.vectors
        return pairs.dot(x @ self._form(pairs), y)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        return {}

    def own_parameters(self) -> dict[str, Any]:
        return {}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        form = self._form(pairs)
        return broadcast_y(pairs, pairs.vectors[1] @ form.T)

    def features(self, x: Points) -> Array:
        values, axes = np.linalg.eigh(np.asarray(self.B))
        root = axes * np.sqrt(np.maximum(values, 0.0))
        with np.errstate(over="ignore", invalid="ignore"):
            return finite(vectors(x) @ array_like(root, x), f"a feature of {self}")
