"""Kernels on finite sets, all of them functions of how many elements two sets share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Hashable, Iterable
from itertools import chain, combinations
from typing import Any, ClassVar

import numpy as np
from array_api_compat import is_array_api_obj
from scipy.sparse import csr_array

from mercer.check import Array, Points, as_numpy, members
from mercer.errors import InvalidInput, InvalidParameter, NoFeatureMap
from mercer.kernels.base import Domain, value
from mercer.kernels.counts import Counted, Counts, Remembered
from mercer.kernels.features import refuse_too_many
from mercer.kernels.pairs import Pairs

LARGEST_EXPONENT = 1023
"""2 to a larger power than this is not a double."""


def _universe(v: Any, name: str) -> frozenset[Hashable]:
    if isinstance(v, str) or not isinstance(v, Iterable):
        raise InvalidParameter(f"{name} must be a collection of elements, found {v!r}")
    return _frozen(v, name)


def _frozen(elements: Iterable[Any], what: str) -> frozenset[Hashable]:
    try:
        return frozenset(elements)
    except TypeError as error:
        raise InvalidInput(
            f"{what} holds an element that cannot be in a set ({error}); use numbers, strings, "
            "tuples or frozensets"
        ) from None


def _optional_universe(v: Any, name: str) -> frozenset[Hashable] | None:
    return None if v is None else _universe(v, name)


def as_sets(points: Points, universe: Collection[Hashable] | None) -> list[frozenset[Hashable]]:
    """Return points as frozen sets, each inside the universe if there is one."""
    sets = []
    rows = as_numpy(points) if hasattr(points, "ndim") else points
    for i, given in enumerate(members(rows)):
        point = as_numpy(given).tolist() if is_array_api_obj(given) else given
        if isinstance(point, str) or not isinstance(point, Iterable):
            raise InvalidInput(
                f"point {i} is {point!r}, not a set; give sets, frozensets or lists of elements"
            )
        elements = _frozen(point, f"point {i}")
        strangers = in_order(elements.difference(elements if universe is None else universe))
        if strangers:
            raise InvalidInput(f"point {i} holds {strangers[0]!r}, which is not in the universe")
        sets.append(elements)
    return sets


def in_order(elements: Iterable[Hashable]) -> list[Hashable]:
    """Return elements in an order that does not depend on hashing."""
    return sorted(elements, key=lambda e: (type(e).__name__, e if _ordered(e) else repr(e)))


def _ordered(element: Hashable) -> bool:
    return isinstance(element, int | float | str)


def incidence(sets: list[frozenset[Hashable]], columns: dict[Hashable, int]) -> csr_array:
    """Return the sparse 0/1 matrix of which set holds which element."""
    rows = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    members = np.fromiter((columns[e] for s in sets for e in s), np.intp, count=len(rows))
    ones = np.ones(len(rows))
    return csr_array((ones, (rows, members)), shape=(len(sets), len(columns)))


class SetKernel(Counted):
    """A function of |A ∩ B|, |A| and |B|."""

    __slots__ = ()
    is_inner_product: ClassVar[bool] = False
    universe: Collection[Hashable] | None

    @abstractmethod
    def of_sizes(self, shared: Array, left: Array, right: Array) -> Array:
        """Return the kernel from |A ∩ B|, |A| and |B|."""

    def counts(self, points: list[Any]) -> Counts:
        sets = as_sets(points, self.universe)
        columns = {e: j for j, e in enumerate(dict.fromkeys(chain(*sets)))}
        return Counts.of(incidence(sets, columns))

    def sides(self, pairs: Pairs) -> tuple[Counts, Counts]:
        if self.universe is not None:
            for points in (pairs.x, pairs.y):
                if not isinstance(points, Remembered):
                    as_sets(points, self.universe)  # names a point by its number on its own side
        return Counted.sides(self, pairs)

    def evaluate(self, pairs: Pairs) -> Array:
        left, right = self.sides(pairs)
        values = self.of_sizes(
            left.dot(right, pairs), pairs.of_x(left.totals()), pairs.of_y(right.totals())
        )
        return pairs.array(values)

    def known_universe(self) -> list[Hashable]:
        """Return the universe in a fixed order, or say that features need one."""
        if self.universe is None:
            raise NoFeatureMap(
                f"the features of {type(self).__name__} need a universe: "
                f"{type(self).__name__}(universe=...)"
            )
        return in_order(self.universe)

    def indicators(self, x: Points) -> Array:
        """Return the 0/1 matrix of which set holds which element of the universe."""
        columns = {e: j for j, e in enumerate(self.known_universe())}
        return incidence(as_sets(x, self.universe), columns).toarray()


@value
class Intersection(SetKernel):
    r"""The number of elements two sets share.

    .. math:: k(A, B) = |A \cap B|

    Points are finite sets of hashable elements, of the ``universe`` where one is given.

    >>> Intersection()([{1, 2}], [{2, 3}])
    array([[1.]])

    Gallier and Quaintance, chapter 53 (set kernels).
    """

    universe: Collection[Hashable] | None = None
    domain: ClassVar[Domain] = {"universe": _optional_universe}
    theorem: ClassVar[str] = "the inner product of the indicators of the elements"
    formula: ClassVar[str] = "size(x & y)"
    is_inner_product: ClassVar[bool] = True

    def of_sizes(self, shared: Array, left: Array, right: Array) -> Array:
        return shared

    def features(self, x: Points) -> Array:
        return self.indicators(x)


@value
class Jaccard(SetKernel):
    r"""The share of the elements of two sets that both have.

    .. math:: k(A, B) = \frac{|A \cap B|}{|A \cup B|}

    Empty sets share one unit vector of their own: 1 among themselves, 0 with all others. It is
    `mercer.kernels.Tanimoto` of the indicators of the elements.

    Points are finite sets of hashable elements, of the ``universe`` where one is given.

    >>> Jaccard()([{1, 2}, set()], [{2, 3}, set()]).round(3)
    array([[0.333, 0.   ],
           [0.   , 1.   ]])

    Gower, A general coefficient of similarity and some of its properties, Biometrics 27, 1971;
    Bouchard, Jousselme and Doré, A proof for the positive definiteness of the Jaccard index matrix,
    International Journal of Approximate Reasoning 54, 2013.
    """

    universe: Collection[Hashable] | None = None
    domain: ClassVar[Domain] = {"universe": _optional_universe}
    theorem: ClassVar[str] = "the Tanimoto kernel of the indicators of the elements"
    formula: ClassVar[str] = "size(x & y) / size(x | y)"

    def of_sizes(self, shared: Array, left: Array, right: Array) -> Array:
        union = left + right - shared
        return np.where(union > 0, shared / np.maximum(union, 1.0), 1.0)


@value
class UnionComplement(SetKernel):
    r"""The number of elements of a universe D that are in neither of two sets.

    .. math:: k(A, B) = |D \setminus (A \cup B)|

    Points are finite sets of hashable elements of the ``universe``, which is finite.

    >>> UnionComplement({1, 2, 3, 4, 5})([{1, 2}], [{2, 3}])
    array([[2.]])

    Gallier and Quaintance, chapter 53 (set kernels).
    """

    universe: Collection[Hashable]
    domain: ClassVar[Domain] = {"universe": _universe}
    theorem: ClassVar[str] = "the intersection kernel of the complements"

    def of_sizes(self, shared: Array, left: Array, right: Array) -> Array:
        return len(self.universe) - left - right + shared

    def features(self, x: Points) -> Array:
        return 1.0 - self.indicators(x)


@value
class Agreement(SetKernel):
    r"""The number of elements of a universe D on which two sets agree.

    .. math:: k(A, B) = |A \cap B| + |D \setminus (A \cup B)|

    Points are finite sets of hashable elements of the ``universe``, which is finite.

    >>> Agreement({1, 2, 3, 4, 5})([{1, 2}], [{2, 3}])
    array([[3.]])

    Gallier and Quaintance, chapter 53 (set kernels).
    """

    universe: Collection[Hashable]
    domain: ClassVar[Domain] = {"universe": _universe}
    theorem: ClassVar[str] = "the intersection kernel plus that of the complements"

    def of_sizes(self, shared: Array, left: Array, right: Array) -> Array:
        return len(self.universe) - left - right + 2.0 * shared

    def features(self, x: Points) -> Array:
        held = self.indicators(x)
        return np.hstack([held, 1.0 - held])


@value
class AllSubsets(SetKernel):
    r"""The number of subsets two finite sets share.

    .. math:: k(A, B) = 2^{|A \cap B|}

    Its features are the indicators of all subsets, so it is an inner product and needs no
    further proof.

    Points are finite sets of hashable elements, of the ``universe`` where one is given; two may
    share at most 1023.

    >>> AllSubsets()([{1, 2}], [{2, 3}])
    array([[2.]])

    Gallier and Quaintance, Problem 53.3.
    """

    universe: Collection[Hashable] | None = None
    domain: ClassVar[Domain] = {"universe": _optional_universe}
    theorem: ClassVar[str] = "the inner product of the indicators of all subsets"
    formula: ClassVar[str] = "2**size(x & y)"

    def of_sizes(self, shared: Array, left: Array, right: Array) -> Array:
        if np.any(shared > LARGEST_EXPONENT):
            raise InvalidInput(
                f"two sets share {int(shared.max())} elements and 2 to that power is not a "
                "double; use k.normalised() of a smaller universe, or Intersection()"
            )
        return np.exp2(shared)

    def features(self, x: Points) -> Array:
        elements = self.known_universe()
        refuse_too_many(2 ** min(len(elements), 64))
        subsets = chain.from_iterable(
            combinations(elements, size) for size in range(len(elements) + 1)
        )
        sets = as_sets(x, self.universe)
        columns = [[float(s.issuperset(subset)) for s in sets] for subset in subsets]
        return np.array(columns).T
