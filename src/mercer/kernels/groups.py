"""Kernels on groups: positive definite functions of t⁻¹s."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import factorial
from numbers import Real
from typing import Any, ClassVar, cast

import numpy as np

from mercer.check import ASYMMETRY_OF_FORMULAS, EPSILON, Array, Points, as_numpy, members
from mercer.errors import InvalidInput, InvalidParameter, NoFeatureMap, NotPositiveDefinite
from mercer.kernels.base import ATOM, Domain, Kernel, Name, literal, value
from mercer.kernels.definite import EIGENVALUE_ROUNDING
from mercer.kernels.pairs import Pairs
from mercer.settings import number, numbers, whole

MOST_ELEMENTS = 1000
"""A group up to this size is small enough to test p on all of it when the kernel is made."""


class FiniteGroup(ABC):
    """A finite group: its elements and the quotient t⁻¹s.

    >>> Cyclic(3).elements(), Cyclic(3).quotients().tolist()
    ([0, 1, 2], [[0, 2, 1], [1, 0, 2], [2, 1, 0]])

    Gallier and Quaintance, §53.3.
    """

    @abstractmethod
    def order(self) -> int:
        """Return how many elements there are."""

    @abstractmethod
    def elements(self) -> list[Hashable]:
        """Return all elements, the neutral one first."""

    @abstractmethod
    def quotient(self, t: Any, s: Any) -> Hashable:
        """Return t⁻¹s."""

    @abstractmethod
    def __contains__(self, element: object) -> bool: ...

    def quotients(self) -> Array:
        """Return where in `elements` each t⁻¹s stands, one row for each s and column for each t."""
        elements = self.elements()
        place = {e: i for i, e in enumerate(elements)}
        return np.array([[place[self.quotient(t, s)] for t in elements] for s in elements])


@dataclass(frozen=True)
class Cyclic(FiniteGroup):
    """The whole numbers modulo n.

    >>> Cyclic(5).quotient(3, 1)
    3
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", whole(self.n, "n", least=1))

    def __str__(self) -> str:
        return f"the numbers 0 … {self.n - 1}"

    def __contains__(self, element: object) -> bool:
        return isinstance(element, int) and 0 <= element < self.n

    def order(self) -> int:
        return self.n

    def elements(self) -> list[Hashable]:
        return list(range(self.n))

    def quotient(self, t: Any, s: Any) -> int:
        return int(s - t) % self.n

    def quotients(self) -> Array:
        all_of_them = np.arange(self.n)
        return (all_of_them[:, None] - all_of_them[None, :]) % self.n


@dataclass(frozen=True)
class Permutations(FiniteGroup):
    """The permutations of 0 … n-1, each the tuple of its images.

    >>> Permutations(3).quotient((1, 2, 0), (1, 0, 2))
    (0, 2, 1)
    """

    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", whole(self.n, "n", least=1))

    def __str__(self) -> str:
        return f"the permutations of 0 … {self.n - 1}, each the tuple of its images"

    def __contains__(self, element: object) -> bool:
        if not isinstance(element, tuple) or len(element) != self.n:
            return False
        return all(i in element for i in range(self.n))

    def order(self) -> int:
        return factorial(self.n)

    def elements(self) -> list[Hashable]:
        return list(permutations(range(self.n)))

    def quotient(self, t: Any, s: Any) -> tuple[int, ...]:
        inverse = dict(zip(t, range(self.n), strict=True))
        return tuple(inverse[image] for image in s)

    def quotients(self) -> Array:
        images = np.array(self.elements())
        inverses = np.argsort(images, axis=1)
        digits = self.n ** np.arange(self.n)[::-1]
        words = images @ digits  # in increasing order, as itertools lists permutations
        return np.array([np.searchsorted(words, inverses[:, s] @ digits) for s in images])


def _group(v: Any, name: str) -> FiniteGroup | None:
    if v is None or isinstance(v, FiniteGroup):
        return v
    return Cyclic(whole(v, name, least=1))


@value
class Group(Kernel):
    r"""A positive definite function p on a group, at the quotient of two elements.

    .. math:: k(s, t) = p(t^{-1} s) = \langle U(s)\,x_0,\; U(t)\,x_0 \rangle

    ``p`` is the sequence of values p(0), …, p(n-1) on the cyclic group of n elements, or a
    function of an element of another finite group. On groups of up to 1000 elements p is tested
    when the kernel is made; U is the regular representation (Gelfand–Raikov), whose vectors are
    the `features`.

    Points are elements of the ``group``; ``p`` is positive definite on it.

    >>> k = Group([2.0, 1.0, 1.0])
    >>> k([0, 1, 2], [0])
    array([[2.],
           [1.],
           [1.]])

    Gallier and Quaintance, §53.3.
    """

    p: tuple[complex, ...] | Sequence[complex] | Callable[[Any], complex]
    group: FiniteGroup | int | None = None
    domain: ClassVar[Domain] = {
        "p": lambda p, name: p if callable(p) else numbers(p, name, _finite),
        "group": _group,
    }

    def __post_init__(self) -> None:
        Kernel.__post_init__(self)
        if not callable(self.p):
            object.__setattr__(self, "group", self.group or Cyclic(len(self.p)))
            if self.group != Cyclic(len(self.p)):
                raise InvalidParameter(
                    f"{len(self.p)} values belong to the cyclic group of {len(self.p)} elements; "
                    "give a function of an element for another group"
                )
        elif self.group is None:
            raise InvalidParameter("a function p needs its group: Group(p, Permutations(n))")
        if self._structure().order() <= MOST_ELEMENTS:
            self._spectrum()

    @property
    def proof(self) -> str:
        tested = self._structure().order() <= MOST_ELEMENTS
        return "Group: p was tested on the whole group" if tested else ""

    def own_parameters(self) -> dict[str, Any]:
        return {}

    def _structure(self) -> FiniteGroup:
        if not isinstance(self.group, FiniteGroup):  # the domain's check has made it one
            raise InvalidParameter(f"{self.group!r} is not a finite group")
        return self.group

    def _value(self, element: Any) -> complex:
        return self.p(element) if callable(self.p) else self.p[element]

    def _spectrum(self) -> tuple[Array, Array]:
        """Return the eigenpairs of the Gram matrix of the whole group, refusing negative ones."""
        group = self._structure()
        elements = group.elements()
        values = np.array([_finite(self._value(e), f"p at {e!r}") for e in elements])
        gram = values[group.quotients()]
        largest = float(np.max(np.abs(values)))
        if not np.allclose(gram, gram.conj().T, rtol=0.0, atol=ASYMMETRY_OF_FORMULAS * largest):
            raise NotPositiveDefinite("p is not a kernel on the group: p(s⁻¹) must be conj p(s)")
        eigenvalues, axes = np.linalg.eigh(gram)
        norm = largest * len(elements)  # at most: that of a matrix whose entries are all as large
        if eigenvalues[0] < -EIGENVALUE_ROUNDING * len(elements) * EPSILON * norm:
            raise NotPositiveDefinite(
                f"p is not positive definite on the group: its Gram matrix has the eigenvalue "
                f"{eigenvalues[0]:.6g}"
            )
        return np.maximum(eigenvalues, 0.0), axes

    def _elements(self, points: Points) -> list[Hashable]:
        group = self._structure()
        rows = as_numpy(points) if hasattr(points, "ndim") else points
        elements = [_element(point) for point in members(rows)]
        for i, e in enumerate(elements):
            if e not in group:
                raise InvalidInput(f"point {i} is {e!r}, not one of {group}")
        return elements

    @property
    def is_costly(self) -> bool:
        return True

    def evaluate(self, pairs: Pairs) -> Array:
        group = self._structure()
        elements = pairs.mapped(self._elements)
        values = elements.each(lambda s, t: self._value(group.quotient(t, s)))
        return pairs.array(values)

    def features(self, x: Points) -> Array:
        order = self._structure().order()
        if order > MOST_ELEMENTS:
            raise NoFeatureMap(
                f"the features need the eigenvectors of the group's {order} x {order} Gram matrix; "
                f"they are computed up to order {MOST_ELEMENTS}"
            )
        eigenvalues, axes = self._spectrum()
        index = {e: i for i, e in enumerate(self._structure().elements())}
        rows = [index[e] for e in self._elements(x)]
        return (axes * np.sqrt(eigenvalues))[rows]

    def text(self, name: Name) -> tuple[str, int]:
        if callable(self.p):
            return Kernel.text(self, name)
        return f"{name('Group')}(p={literal(self.p, name)})", ATOM


def _finite(v: Any, name: str) -> Any:
    if isinstance(v, complex | np.complexfloating):
        return complex(number(v.real, name), number(v.imag, name))
    return number(v, name)


def _element(point: Any) -> Hashable:
    if hasattr(point, "tolist"):
        return _element(point.tolist())
    if isinstance(point, list | tuple):
        return tuple(_element(part) for part in point)
    is_whole = isinstance(point, Real) and float(point).is_integer()
    return int(point) if is_whole else cast(Hashable, point)
