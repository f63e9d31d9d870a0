"""What a kernel may say of itself beside its formula, and what is derived where it says nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.errors import InvalidParameter, NoFeatureMap
from mercer.kernels.bounds import Arithmetic, Bound
from mercer.kernels.frequencies import Frequencies
from mercer.kernels.pairs import Statistic

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel


class Kind(Enum):
    """What is known of a kernel's definiteness by the way it was made."""

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
    """What the parameters of other libraries are in terms of those of the class."""
    has_exact_values: ClassVar[bool] = False
    """Whether values are given as they are, so that none was ever rounded."""
    reads_places: ClassVar[bool] = False
    """Whether points are rows of a stored matrix, by their numbers."""
    is_of_products: ClassVar[bool] = False
    """Whether the formula asks of vectors only for inner products and Euclidean distances."""

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
