r"""What a kernel may say of itself beside its formula, and what is derived where it says nothing.

Bounds say how far a computed value can be from the formula's. An inner product of d terms is off by
at most :math:`\gamma_d \sum |a_i b_i|` with :math:`\gamma_d = du/(1 - du)`, in whatever order a
library adds them; a kernel states what its formula makes of that, and an operation what it makes
of the bounds of its parts. Frequencies are drawn from the law of which a kernel of differences is
the transform.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from mercer.check import Array, chunks
from mercer.errors import InvalidInput, InvalidParameter, NoFeatureMap
from mercer.kernels.pairs import INNER, Scale, Statistic
from mercer.kernels.point_pairs import DISTANCE_ACCURACY

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel


FUNCTION = 8
"""Units of rounding allowed to an elementary function, its argument's scaling included."""

SINGLE_ACCURACY = 1e-3
"""Relative error allowed to a squared distance in single precision with a kink at 0."""


def gamma(terms: int, unit: float) -> float:
    """Return Higham's bound for the relative error of a sum of products, in any order.

    >>> gamma(2, 0.125)
    0.3333333333333333
    """
    return terms * unit / (1.0 - terms * unit)


class Bound(NamedTuple):
    """Bounds for a value's modulus and for its error, and for the value itself if it is lower.

    Where ``relative`` is finite values are never negative, and wrong by at most that share of
    themselves and ``lost``, what numbers too small for the precision may take or add.
    """

    value: float
    error: float
    above: float = np.inf
    is_proved: bool = True
    relative: float = np.inf
    lost: float = 0.0

    @property
    def top(self) -> float:
        """A bound for the value itself, which may be negative or at most zero."""
        return min(self.value, self.above)


@dataclass(frozen=True)
class Arithmetic:
    """The precision at hand, and the sizes of what kernels ask of the points.

    ``largest`` has the largest squared norm of a point, by what is asked of pairs. Where
    ``is_recomputed``, squared distances that cancellation would spoil are sums of squares.
    """

    dtype: Any
    columns: int
    largest: Mapping[Statistic, float]
    is_recomputed: bool = False

    @property
    def unit(self) -> float:
        """The unit roundoff."""
        return float(np.finfo(self.dtype).eps) / 2

    @property
    def underflow(self) -> float:
        """What an operation loses at most where its value is too small to be a number."""
        return float(np.finfo(self.dtype).tiny)

    @property
    def accuracy(self) -> float:
        """The relative error allowed to a squared distance where a function has a kink."""
        return DISTANCE_ACCURACY if self.dtype == np.float64 else SINGLE_ACCURACY

    def inner(self) -> Bound:
        """Return the bounds of an inner product."""
        size = self.largest[INNER]
        return Bound(size, gamma(self.columns + 3, self.unit) * size)

    def squares_error(self, scale: Scale) -> float:
        """Return a bound for the error of a squared distance from a matrix product."""
        return gamma(self.columns + 8, self.unit) * 4.0 * self.largest[scale]

    def distance(self, scale: Scale) -> float:
        """Return a bound for the distances."""
        return 2.0 * sqrt(self.largest[scale])

    def distance_error(self, scale: Scale) -> float:
        """Return a bound for the error of a distance whose square was recomputed where small."""
        # d² is right to `accuracy` or was recomputed, so d² >= error/accuracy where it was not.
        squares = self.squares_error(scale)
        return 0.5 * sqrt(squares * self.accuracy) + FUNCTION * self.unit * self.distance(scale)

    def in_range(self, bound: Bound) -> Bound:
        """Return bounds as they are, infinite where values leave the range of the precision."""
        limits = np.finfo(self.dtype)
        is_small = self.dtype == np.float32 and 0.0 < bound.value <= 1e8 * float(limits.tiny)
        if is_small or bound.value >= float(limits.max) / 8:
            return Bound(np.inf, np.inf, is_proved=bound.is_proved)
        return bound

    def times(self, a: Bound, b: Bound) -> Bound:
        """Return the bounds of a product."""
        value = a.value * b.value
        error = a.value * b.error + b.value * a.error + a.error * b.error
        relative = (1.0 + a.relative) * (1.0 + b.relative) * (1.0 + self.unit) - 1.0
        # What one factor lost is multiplied by the other, which may be large.
        lost = (a.value + a.error) * b.lost + (b.value + b.error) * a.lost + a.lost * b.lost
        lost = (1.0 + self.unit) * lost + self.underflow
        error += self.unit * value + self.underflow
        return Bound(value, error, relative=relative, lost=lost)

    def power(self, base: Bound, exponent: int) -> Bound:
        """Return the bounds of a whole power.

        >>> double = Arithmetic(np.float64, 1, {})
        >>> double.power(Bound(2.0, 1e-9), 3).error < 1.3e-8
        True
        >>> double.power(Bound(1e200, 1e180), 2).value
        inf
        """
        if exponent == 0:
            return Bound(1.0, 0.0)
        with np.errstate(over="ignore"):  # an infinite bound is true
            value = float(np.float64(base.value) ** exponent)
            slope = exponent * float(np.float64(base.value + base.error) ** (exponent - 1))
        error = slope * base.error if base.error > 0.0 else 0.0
        rounding = (exponent + FUNCTION) * self.unit * value
        return Bound(value, error + rounding + self.underflow)


class Frequencies(NamedTuple):
    r"""Waves :math:`\omega_j` with amplitudes, whose cosines of differences average to a kernel.

    .. math:: E \sum_j a_j^2 \cos \omega_j^\top (x - y) = k(x, y)
    """

    waves: Array
    amplitudes: Array


Mixing: TypeAlias = Callable[[int, np.random.Generator], Array]


def mixed_frequencies(
    dimension: int, count: int, rng: np.random.Generator, mixing: Mixing
) -> Array:
    """Return frequencies of a mixture of Gaussians, from draws of their inverse bandwidths.

    They are orthogonal to each other in blocks of as many as there are coordinates, which lowers
    the variance (Yu et al., 2016).
    """
    directions = orthogonal_directions(dimension, count, rng)
    radii = np.sqrt(rng.chisquare(dimension, count)) * mixing(count, rng)
    frequencies: Array = directions * radii[:, None]
    return frequencies


def lengths_of(scale: Scale, dimension: int) -> Array:
    """Return one length for each coordinate."""
    lengths = np.asarray(scale, np.float64)
    if lengths.size not in (1, dimension):
        raise InvalidInput(f"there are {lengths.size} bandwidths for {dimension} coordinates")
    return np.broadcast_to(lengths, (dimension,))


def orthogonal_directions(dimension: int, count: int, rng: np.random.Generator) -> Array:
    """Return unit vectors, each block of ``dimension`` of them orthonormal and uniform."""
    blocks = []
    for rows in chunks(count, dimension):  # of many coordinates no more than are asked for
        q, r = np.linalg.qr(rng.standard_normal((dimension, rows.stop - rows.start)))
        blocks.append((q * np.sign(np.diag(r))).T)
    return np.vstack(blocks)


class Kind(Enum):
    """The definiteness of a kernel that follows from the way it was made.

    >>> from mercer.kernels import Linear, NegativeDistance, Sigmoid
    >>> [k.kind.name for k in (Linear(), NegativeDistance(), Sigmoid())]
    ['POSITIVE', 'CONDITIONAL', 'SIMILARITY']
    """

    POSITIVE = "positive definite"
    CONDITIONAL = "conditionally positive definite"
    SIMILARITY = "a similarity that need not be positive definite"


def weakest(kernels: Sequence[Kernel]) -> Kind:
    """Return the least that is known of any of the kernels."""
    order = list(Kind)
    return max((k.kind for k in kernels), key=order.index, default=Kind.POSITIVE)


class Statements(ABC):
    """The statements of a kernel: a class overrides those in which it differs."""

    __slots__ = ()

    theorem: ClassVar[str] = ""
    """Why the kernel is positive definite; empty when nothing but a test can tell."""
    is_vectorial: ClassVar[bool] = False
    """Whether the formula itself needs points that are rows of numbers."""
    equivalents: ClassVar[Mapping[str, str]] = {}
    """The parameters of other libraries in terms of those of the class."""
    has_exact_values: ClassVar[bool] = False
    """Whether values are given as they are, so that none was ever rounded."""
    reads_places: ClassVar[bool] = False
    """Whether points are rows of a stored matrix, by their numbers."""
    is_of_products: ClassVar[bool] = False
    """Whether the formula asks of vectors only for inner products and Euclidean distances."""
    title: ClassVar[str] = ""
    """The name in prose; empty for the words of the class's name."""
    phrase: ClassVar[str] = ""
    """The kernel in prose, where its title and parameters do not tell it: ``{kernel}`` stands for
    the kernel inside, ``{distance}`` for the distance of its features, others for parameters."""
    distance_phrase: ClassVar[str] = ""
    """The distance of the kernel's features in prose, where it has a name."""
    likeness: ClassVar[str] = ""
    """The points that are alike, in a sentence without its stop, where a reader may wonder."""
    reads_profiles: ClassVar[bool] = False
    """Whether a row of counts stands for its shares of the row's total."""

    @abstractmethod
    def children(self) -> dict[str, Kernel]:
        """Return the kernels this one is made of, by name."""

    @abstractmethod
    def with_children(self, children: Mapping[str, Kernel]) -> Kernel:
        """Return the same operation applied to other kernels."""

    @property
    def formula(self) -> str:
        """The value at x and y in Python's arithmetic, for typesetting; empty if none is stated.

        Parameters and kernels inside stand by their names, of several kernels k0, k1, …, and
        ``kernel(x, x)`` is a value at another pair of points; `mercer.kernels.formulas` knows norm,
        inner, sum and prod over an index, exp and so on.
        """
        return ""

    @property
    def symbols(self) -> Mapping[str, str]:
        """What names in `formula` stand for that are no parameters."""
        return {}

    @property
    def kind(self) -> Kind:
        """What is known of the kernel's definiteness: of an operation, the least of its parts."""
        parts = list(self.children().values())
        return weakest(parts) if parts else Kind.POSITIVE

    @property
    def reads_vectors(self) -> bool:
        """Whether points must be rows of numbers."""
        return self.is_vectorial or any(k.reads_vectors for k in self.children().values())

    @property
    def reads_sparse(self) -> bool:
        """Whether rows of numbers may be sparse."""
        children = self.children().values()
        own = self.is_of_products or (bool(children) and not self.is_vectorial)
        return own and all(k.reads_sparse for k in children)

    @property
    def reads_rows(self) -> bool:
        """Whether points must be rows of a table, whose columns have names."""
        return any(k.reads_rows for k in self.children().values())

    @property
    def reads_aligned(self) -> bool:
        """Whether networks are compared node by node."""
        return any(k.reads_aligned for k in self.children().values())

    @property
    def blocks(self) -> tuple[tuple[Any, Kernel], ...]:
        """The columns of a table that are read together, each with its kernel."""
        return ()

    @property
    def is_sum_of_columns(self) -> bool:
        """Whether the kernel adds up kernels on the columns of a table, times `numbers`."""
        return False

    @property
    def numbers(self) -> Sequence[float]:
        """The weights of the kernels on the columns of a table."""
        return ()

    @property
    def takes_missing(self) -> bool:
        """Whether what is missing is a level of its own."""
        children = self.children().values()
        return bool(children) and all(k.takes_missing for k in children)

    def with_missing_level(self) -> Kernel:
        """Return the kernel whose categories take what is missing for a level."""
        return self.with_children({n: k.with_missing_level() for n, k in self.children().items()})

    @property
    def has_one_length(self) -> bool:
        """Whether the value is a function of the distance of two vectors, divided by one length."""
        return False

    def of_features(self, kernel: Kernel) -> Kernel | None:
        """Return the same function of the distance of a kernel's features, if there is one."""
        return None

    @property
    def is_costly(self) -> bool:
        """Whether values take so long, as calls of a Python function do, that they are kept."""
        return any(k.is_costly for k in self.children().values())

    @property
    def is_counted(self) -> bool:
        """Whether it pays to keep what points count."""
        return False

    @property
    def has_factors(self) -> bool:
        """Whether Gram matrices are products of the thin ones that `sparse_factors` returns."""
        return False

    def sparse_factors(self, pairs: Any) -> list[tuple[Any, Any]]:
        """Return matrices of x and of y with K = Σ A B', dense or sparse, of few columns."""
        raise NoFeatureMap(f"{type(self).__name__} has no sparse factors")

    @property
    def is_linear(self) -> bool:
        """Whether the features of points are their coordinates."""
        return False

    @property
    def is_affine(self) -> bool:
        """Whether the features of points are an affine function of their coordinates.

        A sum of features with weights that sum to 1 is then the feature of the sum of the points.

        >>> from mercer import Gaussian, Linear
        >>> (0.5 * Linear() + 1.0).is_affine, Gaussian(1.0).is_affine
        (True, False)
        """
        return False

    @property
    def is_of_mixed_data(self) -> bool:
        """Whether it is a term of factor analysis of mixed data: a number, or a category over p.

        Its inertia is then what that analysis gives a column, 1 or the number of levels less 1.
        """
        return False

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        """Return what the formula asks of pairs of points with so many coordinates.

        Inner products and squared Euclidean distances, each as often as it is asked for; None
        where the formula asks for anything else.
        """
        return None

    @property
    def is_steep(self) -> bool:
        """Whether the slope in a squared distance is infinite at 0, so that its rounding shows."""
        return any(k.is_steep for k in self.children().values())

    @property
    def is_smooth(self) -> bool:
        """Whether there are values, too, where rounding leaves a squared distance below 0."""
        return all(k.is_smooth for k in self.children().values())

    def bounds(self, arithmetic: Arithmetic) -> Bound | None:
        """Return bounds for the values and for their rounding, None where nothing is known.

        They are infinite where a part of an expression leaves the range of its precision, whatever
        weight follows.
        """
        found = self.evaluate_bounds(arithmetic)
        return None if found is None else arithmetic.in_range(found)

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        """Return the same of the formula alone; override beside `asks`."""
        return None

    def is_fast(self, columns: int) -> bool:
        """Whether matrix products are all that tiles need, and bounds tell what they round."""
        asked = self.asks(columns)
        if asked is None:
            return False
        return self.bounds(Arithmetic(np.float64, columns, dict.fromkeys(asked, 1.0))) is not None

    @property
    def inner_weight(self) -> float | None:
        """How often the kernel holds the inner product, beside parts that no shift changes.

        None where another origin makes another kernel of it.

        >>> from mercer import Gaussian, Linear
        >>> (2.0 * Linear() + Gaussian(1.0)).inner_weight, (Linear() * Linear()).inner_weight
        (2.0, None)
        """
        return None

    @property
    def proof(self) -> str:
        """The rules by which the kernel is of its kind; empty when it is not proved."""
        parts = [child.proof for child in self.children().values()]
        theorem = self.theorem.replace("{kind}", self.kind.value)
        rule = theorem if parts else f"{type(self).__name__}: {theorem}"
        rules = [rule, *(r for part in parts for r in part.split("; "))]
        return "; ".join(dict.fromkeys(rules)) if self.theorem and all(parts) else ""

    @property
    def refutation(self) -> str:
        """Why the kernel is not positive definite; empty when that is not known."""
        return ""

    def frequencies(self, dimension: int, count: int, rng: np.random.Generator) -> Frequencies:
        """Return random frequencies of a kernel of differences on R^dimension; override beside it.

        >>> from mercer import Gaussian
        >>> Gaussian(2.0).frequencies(3, 10, np.random.default_rng(0)).waves.shape
        (10, 3)
        """
        raise InvalidParameter(
            f"{self} has no random Fourier features: it is no kernel of differences, or the law of "
            "its frequencies is not known. Use nystrom"
        )
